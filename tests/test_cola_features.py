"""Frozen features on disk, and the pairs of a batch a few at a time: the same training in less memory."""

import json

import numpy as np
import pytest
import torch

from core.cli import _doctor
from core.cli import cola as cli
from core.cola import _forecast, _training
from core.cola._feature_store import disk_bytes, stored_features
from core.cola._forecast import _side_needs, step_seconds
from core.cola._training import _training_blocks, train
from core.cola._training_data import builtin_training_queries
from core.scorers import _cola_heads
from core.scorers.cola_adapted import AdaptedModel
from core.scorers.cola_config import STRATEGIES, AdaptConfig
from core.scorers.cola_features import Features
from core.scoring.load import load_base

SMALL = {"epochs": 1, "steps": 3, "batch": 4, "mix": "hard"}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path))
    for name, value in (("IMAGES", 20), ("TWINS", 6), ("WORDINGS", 1), ("TEXTS", 6)):
        monkeypatch.setattr(f"core.cola._training_data.{name}", value)
    return tmp_path


def model(strategy="mm-adapter", **settings):
    return AdaptedModel.of(
        load_base("builtin/clip", "cpu"), AdaptConfig(strategy=strategy, **SMALL | settings)
    )


def losses(one, material):
    return [report.losses for report, _ in train(one, material, one.config)][1]


def blocks(rng):
    """Two blocks of captions of different lengths."""
    for longest in (5, 3):
        mask = torch.arange(longest) < torch.tensor([[longest], [2], [1]])
        draw = lambda *shape: torch.from_numpy(rng.normal(size=shape)).float()  # noqa: E731
        yield Features(draw(3, 4), draw(3, longest, 6), mask, draw(3, longest, 4))


def test_features_come_back_in_half_precision_padded_to_the_longest_that_is_asked_for():
    parts = list(blocks(np.random.default_rng(0)))
    whole = Features.concatenate(parts)
    found = stored_features("a", iter(parts))
    index = torch.tensor([4, 0, 5, 4])
    given, wanted = found.rows(index), whole.rows(index).cut()
    assert given.mask.equal(wanted.mask) and given.tokens.dtype == torch.float32
    for one, other in ((given.tokens, wanted.tokens), (given.words, wanted.words)):
        np.testing.assert_allclose(one[given.mask], other[wanted.mask], rtol=1e-3, atol=1e-3)
        assert not one[~given.mask].any()
    np.testing.assert_allclose(given.pooled, wanted.pooled, rtol=1e-3, atol=1e-3)
    short = found.rows(torch.tensor([2, 5]))
    assert short.tokens.shape == (2, 1, 6)


def test_features_are_computed_once_for_a_key_and_take_the_disk_that_was_foretold():
    parts = list(blocks(np.random.default_rng(0)))
    found = stored_features("a", iter(parts))
    again = stored_features("a", (pytest.fail("computed twice") for _ in range(1)))
    assert again.rows(torch.tensor([1])).pooled.equal(found.rows(torch.tensor([1])).pooled)
    tokens = found.shapes.tokens
    assert sum((found.folder / n).stat().st_size for n in ("pooled", "token", "words", "starts")) == (
        2 * (6 * 4 + tokens * 10) + 8 * 7
    )
    assert disk_bytes(Features.concatenate(parts), 6) == 2 * (6 * 4 + tokens * 10) + 8 * 6


def test_a_folder_that_was_left_half_written_is_not_taken_for_whole(home):
    def broken():
        yield next(blocks(np.random.default_rng(0)))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stored_features("a", broken())
    assert stored_features("a", blocks(np.random.default_rng(0))).shapes.rows == 6


def test_training_from_disk_is_training_from_memory_and_other_runs_share_the_features(home, monkeypatch):
    material = builtin_training_queries.__wrapped__("hard")
    in_memory = losses(model(), material)
    monkeypatch.setattr(_training, "_FEW", 0)
    monkeypatch.setattr(_training, "_MEMORY", 0)
    from_disk = losses(model(), builtin_training_queries.__wrapped__("hard"))
    np.testing.assert_allclose(from_disk, in_memory, rtol=2e-3)
    assert len(list((home / "cache/features").iterdir())) == 2
    monkeypatch.setattr(AdaptedModel, "features", lambda *given: pytest.fail("computed again"))
    monkeypatch.setattr(_training, "sample_features", lambda *given: None)
    monkeypatch.setattr(_training, "is_large", lambda *given: True)
    again = builtin_training_queries.__wrapped__("hard")
    assert np.isfinite(losses(model(seed=1), again)).all()


def test_a_frozen_base_is_not_held_twice_and_a_tuned_one_is_a_copy():
    loaded = load_base("builtin/clip", "cpu")
    free = [p.requires_grad for p in loaded.module.parameters()]
    for strategy in STRATEGIES:
        one = model(strategy)
        shared = [
            a.data_ptr() == b.data_ptr()
            for a, b in zip(one._base.module.parameters(), loaded.module.parameters(), strict=True)
        ]
        assert set(shared) == {strategy not in ("ft-all", "prompt-tune")}
        assert [p.requires_grad for p in loaded.module.parameters()] == free and not loaded.module.training


def test_no_strategy_holds_the_pixels_of_all_images_where_they_are_many(home, monkeypatch):
    """Frozen encoders read a block at a time; an encoder that is trained reads pixels from disk, which runs share."""
    material = builtin_training_queries.__wrapped__("hard")
    in_memory = losses(model("ft-all"), material)
    monkeypatch.setattr(_training, "_MEMORY", 0)
    monkeypatch.setattr(AdaptedModel, "prepare", lambda *given: pytest.fail("all images at once"))
    assert np.isfinite(losses(model("mm-adapter"), material)).all()
    fresh = builtin_training_queries.__wrapped__("hard")
    from_disk = losses(model("ft-all"), fresh)
    np.testing.assert_allclose(from_disk, in_memory, rtol=2e-3)
    assert len(list((home / "cache/features").iterdir())) == 1
    monkeypatch.setattr(_training, "_training_blocks", lambda *given: pytest.fail("read again"))
    again = builtin_training_queries.__wrapped__("hard")
    assert losses(model("ft-all"), again).tolist() == from_disk.tolist()


def test_a_forecast_counts_the_pixels_and_features_that_are_held(monkeypatch):
    material = builtin_training_queries.__wrapped__("hard")
    count, pixels = len(material.images), 4 * 3 * 64 * 64

    def needs(strategy):
        one = model(strategy)
        return _side_needs(one, "image", next(_training_blocks(one, material.images)), material)

    ahead = 2 * count * pixels  # two blocks, of all images here
    assert needs("ft-all").held == ahead + count * pixels and needs("ft-all").disk == 0
    held = needs("linear").held - ahead
    assert held == count * 4 * (64 + 64 * 128) or held == needs("linear").passing > 0
    monkeypatch.setattr(_training, "_FEW", 0)
    monkeypatch.setattr(_training, "_MEMORY", 0)
    assert needs("ft-all").held == needs("linear").held == ahead
    assert needs("ft-all").disk == count * pixels / 2


def test_a_step_is_timed_without_what_is_computed_once_before_it_and_changes_no_weight(monkeypatch):
    material, calls = builtin_training_queries.__wrapped__("hard"), []
    real = AdaptedModel.features
    monkeypatch.setattr(AdaptedModel, "features", lambda *given: calls.append(given[3]) or real(*given))
    monkeypatch.setattr(_forecast, "_PATIENCE", 0.0)
    for strategy, encoded in (("linear", 2), ("prompt-tune", 1 + 3), ("ft-all", 6)):
        one = model(strategy)
        before = {name: p.clone() for name, p in one.module.state_dict().items()}
        calls.clear()
        assert step_seconds(one, material, one.config) > 0
        assert len(calls) == encoded  # three steps
        assert all(p.equal(before[name]) for name, p in one.module.state_dict().items())


@pytest.mark.parametrize("adapter", ["text", "readme"])
def test_pairs_a_few_at_a_time_give_the_same_loss_and_gradients(adapter, monkeypatch):
    one = model(adapter=adapter)
    rng = torch.Generator().manual_seed(0)
    patches, words, d = one._base.sizes
    images = Features.of(torch.randn(3, d, generator=rng), torch.randn(3, 6, patches, generator=rng))
    texts = torch.randn(4, 5, words, generator=rng)
    captions = Features(
        torch.randn(4, d), texts, torch.ones(4, 5, dtype=torch.bool), torch.randn(4, 5, d, generator=rng)
    )
    results = []
    for most in (1 << 21, 1500):
        monkeypatch.setattr(_cola_heads, "_MICRO", most)
        one.head.zero_grad()
        loss = one.pair_loss(one.head.image(images), one.head.caption(captions), torch.eye(3, 4))
        loss.backward()
        results.append(
            (loss.detach(), {n: p.grad.clone() for n, p in one.head.named_parameters() if p.grad is not None})
        )
    torch.testing.assert_close(results[0], results[1], rtol=1e-4, atol=1e-6)


def test_a_dry_run_says_disk_memory_and_time_and_trains_nothing(home, monkeypatch, capsys):
    monkeypatch.setattr("core.cola.tasks.builtin_training_queries", builtin_training_queries.__wrapped__)
    monkeypatch.setattr(_training, "_FEW", 0)
    monkeypatch.setattr(_training, "_MEMORY", 0)
    cli.adapt(
        "scenes/retrieval", mix="hard", epochs=2, steps=5, batch=4, device="cpu", dry_run=True, as_json=True
    )
    needs = json.loads(capsys.readouterr().out)
    material = builtin_training_queries.__wrapped__("hard")
    assert needs["images"] == len(material.images) and needs["steps"] == 10
    assert needs["seconds"] > 0 and needs["measured_in"] > 0 and needs["memory"] > 1e8
    losses(model(), material)
    taken = sum(file.stat().st_size for file in home.rglob("cache/features/*/*") if file.suffix != ".json")
    assert needs["disk"] == pytest.approx(taken, rel=0.1)  # foretold from the first 256 queries


def test_the_cache_commands_count_and_delete_features(home, capsys):
    found = stored_features("a", blocks(np.random.default_rng(0)))
    _doctor._cache_show(as_json=True)
    assert json.loads(capsys.readouterr().out)["feature_bytes"] == found.bytes > 0
    _doctor._cache_clear()
    assert not found.folder.exists()
    assert "of features" in capsys.readouterr().err


@pytest.mark.parametrize("strategy", ["linear", "mm-adapter", "ft-late"])
def test_of_many_images_those_alone_are_encoded_that_a_batch_draws_and_the_training_is_the_same(
    strategy, monkeypatch
):
    """Of GQA's 74,942 images and 50,000 queries all were read before three steps that use a few dozen."""
    material, settings = builtin_training_queries.__wrapped__("hard"), {"epochs": 2, "steps": 2}
    assert material.drawn(model(strategy, **settings).config) is material  # few
    whole = losses(model(strategy, **settings), material)
    monkeypatch.setattr("core.cola._training_data._FEW_IMAGES", 0)
    one = model(strategy, **settings)
    few = material.drawn(one.config)
    assert few is material.drawn(one.config) and few is not material
    assert len(few.images) < len(material.images) and len(few.captions) < len(material.captions)
    for epoch in range(3):
        for own, all_ in zip(
            few.batches(one.config, epoch), material.batches(one.config, epoch), strict=True
        ):
            assert [few.images[i] for i in own[0]] == [material.images[i] for i in all_[0]]
            assert [few.captions[i] for i in own[1]] == [material.captions[i] for i in all_[1]]
            assert np.array_equal(own[2], all_[2])
            assert np.array_equal(few.links[own[1]][:, own[0]].toarray().T, own[2])
    assert few.steps(one.config) == material.steps(one.config)
    np.testing.assert_allclose(losses(one, material), whole, rtol=1e-5)
    assert material.drawn(model(strategy, steps=0).config) is material  # a pass takes all
    assert material.drawn(model(strategy, steps=500).config) is material
