"""Faster and smaller ways to the same scores: streamed images, smaller batches where memory runs out, half precision.

Behaviour alone; what it gains is measured by `benchmarks/`.
"""

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import tiny_models
import torch
from conftest import COLOURS, draw
from worlds import weights

from core.base.errors import InputError
from core.matching.groups import match
from core.scorers import _input_loading, inference_modes
from core.scorers.base import Trainable
from core.scoring.load import load_scorer, scorer_key, scorer_kind
from core.scoring.scores import score_groups
from core.ttm.config import TTMConfig
from core.ttm.loop import run_ttm

FAST = TTMConfig(iterations=2, epochs=2, lr=1e-3, coverage_first=0.5, batch=2, augmentation="jitter")
IMAGES = [
    draw((c, "cube"), (d, "ball"), size) for c in COLOURS for d in COLOURS for size in ((48, 40), (30, 70))
]
CAPTIONS = ["a red cube", "a blue cube next to a red ball", "the ball"]
ALL = np.array([(i, j) for i in range(len(IMAGES)) for j in range(len(CAPTIONS))])


@pytest.fixture(params=["clip", "siglip", "open_clip"])
def model(request):
    return load_scorer(str(request.getfixturevalue(f"tiny_{request.param}_folder")), "cpu").copy()


@pytest.fixture(scope="module")
def blip(tmp_path_factory):
    made = {
        kind: str(tiny_models.build_blip(tmp_path_factory.mktemp("blip") / kind, name))
        for kind, name in (
            ("vgpt", "BlipForConditionalGeneration"),
            ("itm", "BlipForImageTextRetrieval"),
            ("vqa", "BlipForQuestionAnswering"),
        )
    }
    return made | {"itc": f"itc:{made['itm']}"}


@dataclass
class Counted:
    """An image that notes when it is opened."""

    image: object
    log: list = field(repr=False)

    @property
    def key(self):
        return self.image.key

    def open(self, size=None):
        self.log.append(self.key)
        return self.image.open(size)


# Reading


def test_images_read_in_parts_are_those_read_at_once(model):
    whole = model._preprocess([image.open(model.side) for image in IMAGES])
    for size in (1, 5, 64):
        blocks = list(_input_loading.prefetch(IMAGES, model._open, size))
        assert [len(b["pixel_values"]) for b in blocks][:-1] == [size] * (len(blocks) - 1)
        for name, expected in whole.items():
            assert torch.equal(torch.cat([block[name] for block in blocks]), expected)


def test_a_set_without_room_is_read_when_needed_to_the_same_bytes(model, monkeypatch):
    kept = model.prepare(IMAGES, CAPTIONS)
    log: list = []
    monkeypatch.setattr(_input_loading, "_SHARE", 0.0)
    streamed = model.prepare([Counted(image, log) for image in IMAGES], CAPTIONS)
    assert isinstance(streamed, _input_loading.StreamedInputs)
    assert streamed.pixels.numel() == 0
    assert len(streamed.pixels) == len(IMAGES)
    log.clear()
    chosen = torch.tensor([3, 0, 31])
    assert torch.equal(streamed.images(chosen)["pixel_values"], kept.pixels[chosen])
    assert sorted(log) == sorted(IMAGES[i].key for i in chosen)
    np.testing.assert_array_equal(model.score_prepared(streamed, ALL, 5), model.score_prepared(kept, ALL, 5))


def test_a_run_over_a_streamed_set_is_the_run_over_a_kept_one(toy_groups, tiny_clip_folder, monkeypatch):
    source = load_scorer(str(tiny_clip_folder), "cpu")
    kept = list(run_ttm(source, toy_groups, FAST))[-1]
    monkeypatch.setattr(_input_loading, "_SHARE", 0.0)
    streamed = list(run_ttm(source, toy_groups, FAST))[-1]
    np.testing.assert_array_equal(kept.scores, streamed.scores)
    assert weights(kept.model) == weights(streamed.model)


def test_a_set_with_room_is_opened_once_per_run(toy_groups, tiny_clip_folder):
    log: list = []
    groups = replace(
        toy_groups,
        groups=tuple(replace(g, images=tuple(Counted(image, log) for image in g.images)) for g in toy_groups),
    )
    list(run_ttm(load_scorer(str(tiny_clip_folder), "cpu"), groups, FAST))
    assert len(log) == len(set(log)) == len(toy_groups.unique_images()[0])


# Memory


def crowded(function, room, count, tried):
    """`function` for at most `room` rows at a time."""

    def attempt(*args):
        rows = count(*args)
        tried.append(rows)
        if rows > room:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return function(*args)

    return attempt


@pytest.mark.parametrize("tower", ["images", "captions"])
def test_scoring_goes_on_with_smaller_batches_where_memory_runs_out(model, tower, monkeypatch):
    expected, tried = model.score(IMAGES, CAPTIONS, ALL), []
    inner = getattr(model, f"_embed_{tower}")
    room, most = (8, len(IMAGES)) if tower == "images" else (1, len(CAPTIONS))
    rows = (lambda inputs: len(inputs["pixel_values"])) if tower == "images" else len
    monkeypatch.setattr(model, f"_embed_{tower}", crowded(inner, room, rows, tried))
    with pytest.warns(UserWarning, match=f"Memory ran out: {tower} pass the model {room} at a time"):
        found = model.score(IMAGES, CAPTIONS, ALL)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert tried[0] == most
    assert max(tried[-len(tried) // 2 :]) <= room


def test_not_even_one_image_is_one_sentence(model, monkeypatch):
    monkeypatch.setattr(model, "_embed_images", crowded(model._embed_images, 0, lambda _: 1, []))
    with pytest.raises(InputError, match=r"Not even one of the images fits .* put bfloat16: before its name"):
        model.score(IMAGES, CAPTIONS, ALL)


def test_a_model_that_reads_pairs_takes_fewer_captions_at_a_time_from_then_on(blip, monkeypatch):
    scorer, tried = load_scorer(blip["vgpt"], "cpu"), []
    expected = scorer.score(IMAGES[:4], CAPTIONS, ALL[:12])
    monkeypatch.setattr(scorer, "caption_batch", 32)
    monkeypatch.setattr(
        scorer, "_score_pairs", crowded(scorer._score_pairs, 2, lambda image, texts: len(texts), tried)
    )
    with pytest.warns(UserWarning, match="Memory ran out: captions pass the model 2 at a time") as told:
        found = scorer.score(IMAGES[:4], CAPTIONS, ALL[:12])
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert tried == [3, *[2, 1] * 4]
    assert len(told) == 1


def test_a_run_whose_scoring_runs_out_of_memory_says_so_and_remembers_what_fits(
    toy_groups, tiny_clip_folder, monkeypatch
):
    source = load_scorer(str(tiny_clip_folder), "cpu").copy()
    expected = list(run_ttm(source, toy_groups, FAST))
    tried: list = []
    plain = type(source).score_prepared

    def score(self, data, pairs, batch=256):
        tried.append(batch)
        if batch > 64:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return plain(self, data, pairs, batch)

    monkeypatch.setattr(type(source), "score_prepared", score)
    steps = list(run_ttm(source, toy_groups, FAST))
    assert tried == [256, 128, 64, 64, 64]
    assert steps[0].note == "Memory ran out: images pass the model 64 at a time, to the same result."
    np.testing.assert_allclose(steps[-1].scores, expected[-1].scores, atol=1e-5)
    assert all(step.note == "" for step in expected)


# Half precision, compiled


def test_names_say_how_a_scorer_runs():
    assert inference_modes.split_prefix("builtin/clip") == ((), "builtin/clip")
    assert inference_modes.split_prefix("bfloat16:vgpt:some/model") == (("bfloat16",), "vgpt:some/model")
    assert inference_modes.split_prefix("compiled:float16:open_clip:ViT-B-32/tag") == (
        ("compiled", "float16"),
        "open_clip:ViT-B-32/tag",
    )
    for name in ("bfloat16:float16:a", "compiled:bfloat16:compiled:a"):
        with pytest.raises(InputError, match="asks for one thing twice"):
            inference_modes.split_prefix(name)


def test_half_precision_keeps_rankings_and_multiplies_in_float32(model, toy_groups, monkeypatch):
    exact = score_groups(model, toy_groups)
    half = inference_modes.converted_copy(model, ("bfloat16",), "bfloat16:model")
    seen: list = []
    inner = model._embed_images
    monkeypatch.setattr(half, "_embed_images", lambda inputs: seen.append(inner(inputs)) or seen[-1])
    found = score_groups(half, toy_groups)
    assert {tensor.dtype for tensor in seen} == {torch.bfloat16}
    assert 0 < np.abs(found - exact).max() < 0.05 * np.ptp(exact)
    assert len(np.unique(found)) == len(np.unique(exact))  # bfloat16 has 8 bits: cosines made in it would tie
    sure = match(exact).margin > 0.1 * np.ptp(exact)
    assert sure.any()
    np.testing.assert_array_equal(match(found).matching[sure], match(exact).matching[sure])
    np.testing.assert_array_equal(score_groups(model, toy_groups), exact)


def test_a_copy_has_a_twin_of_its_own_weights(model):
    half, copied = inference_modes.converted_copy(model, ("bfloat16",), "bfloat16:model"), model.copy()
    with torch.no_grad():
        for parameter in copied.module.parameters():
            parameter.mul_(1.5)
    other = inference_modes.converted_copy(copied, ("bfloat16",), "bfloat16:copied")
    assert (half.name, other.name) == ("bfloat16:model", "bfloat16:copied")
    assert not np.array_equal(half.score(IMAGES, CAPTIONS, ALL), other.score(IMAGES, CAPTIONS, ALL))
    assert inference_modes.converted_copy(model, ("bfloat16",), "bfloat16:model") is half


@pytest.mark.parametrize("kind", ["vgpt", "itm", "itc", "vqa"])
def test_every_kind_of_blip_runs_in_half_precision_under_a_key_of_its_own(blip, kind):
    name = blip[kind]
    plain, half = load_scorer(name, "cpu"), load_scorer(f"bfloat16:{name}", "cpu")
    assert half is load_scorer(f"bfloat16:{name}", "cpu")
    assert half.key == scorer_key(f"bfloat16:{name}") != plain.key == scorer_key(name)
    assert scorer_kind(f"bfloat16:{name}") == kind
    exact, found = (s.score(IMAGES[:4], CAPTIONS, ALL[:12]) for s in (plain, half))
    assert found.dtype == np.float32
    assert 0 < np.abs(found - exact).max() < 0.1 * max(1.0, np.abs(exact).max())
    np.testing.assert_array_equal(plain.score(IMAGES[:4], CAPTIONS, ALL[:12]), exact)


def test_last_layers_stay_in_float32(blip):
    half = load_scorer(f"bfloat16:{blip['itm']}", "cpu")
    seen: list = []
    half.module.itm_head.register_forward_hook(lambda layer, inputs, output: seen.append(output.dtype))
    half.score(IMAGES[:1], CAPTIONS, ALL[:3])
    assert half.module.dtype == torch.bfloat16
    assert set(seen) == {torch.float32}


def test_compiled_models_encode_images_with_compiled_code(model, monkeypatch):
    asked: list = []

    def compiler(function, **settings):
        asked.append(settings)
        return function

    monkeypatch.setattr(torch, "compile", compiler)
    monkeypatch.setenv("CXX", "c++")
    twin = inference_modes.converted_copy(model, ("compiled",), "compiled:model")
    assert asked == [{"dynamic": True}]
    assert twin.key != model.key
    np.testing.assert_array_equal(twin.score(IMAGES, CAPTIONS, ALL), model.score(IMAGES, CAPTIONS, ALL))


def test_what_cannot_run_is_one_sentence(tiny_clip_folder, blip, monkeypatch):
    with pytest.raises(InputError, match="float16 is slower than float32 on a CPU; use bfloat16"):
        load_scorer(f"float16:{tiny_clip_folder}", "cpu")
    with pytest.raises(InputError, match="Only two-tower models can be compiled"):
        load_scorer(f"compiled:{blip['vgpt']}", "cpu")
    with pytest.raises(InputError, match="has no precision to choose; leave bfloat16: out"):
        load_scorer(f"bfloat16:blind:{blip['vgpt']}", "cpu")
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(InputError, match=r"needs a C\+\+ compiler"):
        load_scorer(f"compiled:{tiny_clip_folder}", "cpu")


def test_a_scorer_in_half_precision_is_not_adapted(tiny_clip_folder, toy_groups):
    half = load_scorer(f"bfloat16:{tiny_clip_folder}", "cpu")
    assert isinstance(half, Trainable)
    with pytest.raises(InputError, match=rf"adapt {tiny_clip_folder}, with the setting precision 'bfloat16'"):
        list(run_ttm(half, toy_groups, FAST))


def test_scoring_in_any_way_warns_of_nothing_where_memory_suffices(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.score(IMAGES, CAPTIONS, ALL)
        inference_modes.converted_copy(model, ("bfloat16",), "bfloat16:model").score(IMAGES, CAPTIONS, ALL)
