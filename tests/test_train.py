"""Settings, schedules of batches and learning rates, augmentation, and the training loop."""

import json

import numpy as np
import pytest
import torch

from core.base.errors import InputError
from core.datasets.embeddings import RowImage
from core.scorers.base import Prepared, Trainable
from core.scorers.embedding import EmbeddingModel
from core.scoring.load import load_scorer
from core.ttm import _train
from core.ttm.config import PRESETS, SimpleMatchConfig, TrainConfig, TTMConfig

SIZE = 6


def toy_model(rows=40, seed=0, scale=10.0):
    rng = np.random.default_rng(seed)
    names = [[f"{kind} {i}" for i in range(rows)] for kind in ("image", "caption")]
    model = EmbeddingModel(rng.normal(size=(rows, SIZE)), rng.normal(size=(rows, SIZE)), *names, scale=scale)
    return model, model.prepare([RowImage(key) for key in names[0]], names[1])


def toy_pairs(groups=20, images=2):
    index = np.arange(groups * images).reshape(groups, images)
    return index, index[:, ::-1].copy()


def weights(model):
    return b"".join(t.detach().numpy().tobytes() for t in model.module.state_dict().values())


def fitted(config, batch=8, **more):
    model, data = toy_model()
    report = _train.fit(model, data, *toy_pairs(), config, batch=batch, **more)
    return model, report


def test_no_step_hashes_the_weights(monkeypatch):
    # The key of a model in training is a hash of all its weights: for a large one as long as the step itself.
    asked = []
    monkeypatch.setattr(EmbeddingModel, "key", property(lambda model: asked.append(model) or "key"))
    _, report = fitted(TrainConfig(epochs=2))
    assert len(report.losses) > 2 and not asked


def test_a_gpu_gets_the_next_batch_ready_and_never_more():
    made = []
    items = _train._prefetched(lambda item: made.append(item) or -item, range(4), torch.device("cuda"))
    assert next(items) == 0
    assert 2 not in made  # the second is under way or done, the third waits for the first to be used
    assert list(items) == [-1, -2, -3] and made == [0, 1, 2, 3]
    assert list(_train._prefetched(str, [], torch.device("cuda"))) == []
    failing = _train._prefetched(lambda item: 1 // item, [1, 0, 1], torch.device("cuda"))
    assert next(failing) == 1
    with pytest.raises(ZeroDivisionError):
        next(failing)


# Settings


@pytest.mark.parametrize(
    "config", [TrainConfig(), TTMConfig(tau_first=2.0), SimpleMatchConfig(betas=(0.8, 0.9))]
)
def test_settings_survive_json(config):
    assert type(config)(**json.loads(json.dumps(config.to_dict()))) == config


def test_an_unknown_setting_suggests_the_nearest():
    with pytest.raises(InputError, match=r"'epoch'; did you mean 'epochs'\?"):
        TTMConfig(epoch=3)


@pytest.mark.parametrize(
    "settings",
    [
        {"epochs": 0},
        {"epochs": "5"},
        {"epochs": True},
        {"lr": 0},
        {"lr": float("nan")},
        {"lr": "fast"},
        {"lr_final": 0},
        {"lr_restart": 1.5},
        {"weight_decay": -1},
        {"betas": [0.9]},
        {"betas": [0.9, 1.0]},
        {"batch": 0},
        {"batch": 2.5},
        {"augmentation": "resize"},
        {"precision": "float16"},
        {"clip_norm": 0},
        {"crop_factor": 1.0},
        {"crop_factor": 4.5},
        {"keep_optimizer": 1},
        {"parameters": "all"},
        {"seed": -1},
        {"iterations": 0},
        {"schedule": "step"},
        {"variant": "pairs"},
        {"threshold_mode": "relative"},
        {"tau_first": 1.0, "coverage_first": 0.2},
        {"tau_first": float("inf")},
        {"coverage_first": 0.0},
        {"coverage_last": 1.1},
        {"variant": "global", "threshold_mode": "relative", "tau_first": 1.2},
    ],
)
def test_a_senseless_setting_is_one_sentence(settings):
    with pytest.raises(InputError, match=r"^[A-Z][^\n]*[.?]$"):
        TTMConfig(**settings)


def test_updating_one_end_of_the_schedule_clears_its_rival():
    config = TTMConfig(coverage_first=0.2, tau_last=0.0)
    assert config.updated({"tau_first": 3.0, "lr": None}) == TTMConfig(tau_first=3.0, tau_last=0.0)
    assert config.updated({"coverage_last": 0.9}) == TTMConfig(coverage_first=0.2, coverage_last=0.9)


def test_the_paper_s_presets_hold_its_tables():
    assert sum("Table 3" in p.source for p in PRESETS.values()) == 8
    assert sum("Table 4" in p.source for p in PRESETS.values()) == 10
    assert sum("Table 5" in p.source for p in PRESETS.values()) == 3
    preset = PRESETS["winoground/siglip-b16"].config
    assert (preset.tau_first, preset.tau_last, preset.lr, preset.epochs) == (2.0, 0.0, 1e-5, 30)
    assert preset.keep_optimizer
    assert preset.augmentation == "none"
    wide = PRESETS["mmvp-vlm/siglip-b16/global"].config
    assert (wide.variant, wide.threshold_mode, wide.tau_first) == ("global", "relative", 0.55)
    cropped = sorted(n for n, p in PRESETS.items() if p.config.augmentation == "resize-crop")
    assert cropped == [
        "colorswap/siglip-b16",
        "mmvp-vlm/siglip-b16",
        "mmvp-vlm/siglip-b16/global",
        "whatsup/a-left-right/clip-b32",
        "winoground/siglip-l16",
    ]
    for preset in PRESETS.values():
        json.dumps(preset.record())


# Schedules


def test_the_learning_rate_falls_to_a_tenth_and_restarts_lower():
    config = TrainConfig(lr=1.0)
    assert [config.learning_rate(1, s, 3) for s in range(3)] == pytest.approx([1.0, 0.55, 0.1])
    assert [config.learning_rate(3, s, 3) for s in range(3)] == pytest.approx([0.9025, 0.496375, 0.09025])
    # 5 steps: a quarter of the way is (1 + cos 45 degrees) / 2 of the range above the floor.
    assert config.learning_rate(1, 1, 5) == pytest.approx(0.1 + 0.9 * (1 + 0.5**0.5) / 2)
    assert config.learning_rate(1, 0, 1) == 1.0
    assert TrainConfig(lr=2.0, lr_final=1.0).learning_rate(1, 7, 9) == 2.0


@pytest.mark.parametrize(
    ("count", "batch", "size"),
    [
        (102, 50, 51),
        (100, 50, 50),
        (105, 50, 53),
        (110, 50, 55),
        (111, 50, 50),
        (75, 50, 50),
        (20, 50, 20),
        (1, 50, 1),
    ],
)
def test_a_batch_grows_by_a_tenth_at_most_to_spare_a_small_last_one(count, batch, size):
    assert _train.batch_size(count, batch) == size


def test_batches_hold_every_index_once_and_depend_on_seed_iteration_and_epoch():
    indices = np.arange(100, 202)

    def order(*key):
        return np.concatenate(_train.batches(indices, 50, _train.generator_for(*key)))

    assert [len(b) for b in _train.batches(indices, 50, _train.generator_for(0, 1, 0))] == [50, 50, 2]
    assert sorted(order(0, 1, 0)) == indices.tolist()
    assert (order(0, 1, 0) == order(0, 1, 0)).all()
    for other in [(1, 1, 0), (0, 2, 0), (0, 1, 1)]:
        assert (order(0, 1, 0) != order(*other)).any()


# Augmentation (what each does: test_augmentation.py)


@pytest.mark.parametrize("name", ["jitter", "resize-crop"])
def test_augmentation_of_a_model_without_pixels_is_refused(name):
    with pytest.raises(InputError, match="set augmentation to 'none'"):
        fitted(TrainConfig(augmentation=name))


# The loop


def test_training_lowers_the_loss_and_reports_it():
    _, report = fitted(TrainConfig(epochs=20, lr=0.1), batch=10)
    assert report.losses.shape == (40,)
    assert report.loss == pytest.approx(report.losses.mean())
    assert report.losses[-2:].mean() < 0.5 * report.losses[:2].mean()
    assert report.lr == 0.1
    assert 0 < report.gradient_norm <= report.gradient_norm_max
    assert 0 < report.seconds_in_model <= report.seconds
    assert report.optimizer is None


@pytest.mark.parametrize("mode", [True, False])
def test_training_leaves_the_module_in_the_mode_it_found(mode):
    model, data = toy_model()
    model.module.train(mode)
    _train.fit(model, data, *toy_pairs(), TrainConfig(epochs=1), batch=8)
    assert model.module.training is mode


def test_same_seed_same_bytes_and_another_seed_other_bytes():
    one, other, third = (fitted(TrainConfig(lr=1e-2, epochs=3, seed=s))[0] for s in (0, 0, 1))
    assert weights(one) == weights(other) != weights(third)


def test_training_leaves_the_global_random_state_alone():
    before = torch.random.get_rng_state()
    fitted(TrainConfig(epochs=1))
    assert torch.equal(before, torch.random.get_rng_state())


class Recorder:
    """A Trainable that only writes down which pairs it is asked to train on."""

    def __init__(self):
        self.module, self.device, self.seen = torch.nn.Linear(1, 1), torch.device("cpu"), []

    def loss(self, data, images, captions):
        self.seen.append((images.tolist(), captions.tolist()))
        return self.module(torch.ones(1)).sum()


def test_a_group_s_pairs_share_a_batch_in_image_order():
    model = Recorder()
    images = np.arange(21).reshape(7, 3)
    captions = images + 100
    _train.fit(model, Prepared(torch.zeros(0), {}), images, captions, TrainConfig(epochs=2), batch=2)
    assert [len(seen) for seen, _ in model.seen] == [6, 6, 6, 3] * 2
    for seen, read in model.seen:
        assert [i + 100 for i in seen] == read
        assert all(seen[s : s + 3] == list(range(seen[s], seen[s] + 3)) for s in range(0, len(seen), 3))
    assert sorted(i for seen, _ in model.seen[:4] for i in seen) == list(range(21))


def test_only_the_chosen_parameters_move_and_all_are_free_again_afterwards():
    model, _ = fitted(TrainConfig(lr=1e-2, epochs=1, parameters=("cap*",)))
    assert torch.equal(model.module.image, torch.eye(SIZE))
    assert not torch.equal(model.module.caption, torch.eye(SIZE))
    assert all(p.requires_grad and p.grad is None for p in model.module.parameters())
    with pytest.raises(InputError, match=r"No parameter of this model fits \['head'\]"):
        fitted(TrainConfig(parameters=("head",)))


def test_kept_optimizer_state_makes_the_next_iteration_differ():
    config = TrainConfig(lr=1e-2, epochs=2, keep_optimizer=True)
    _, first = fitted(config)
    moments = first.optimizer["state"][0]
    assert moments["exp_avg"].shape == (SIZE, SIZE)
    fresh, kept = fitted(config, iteration=2)[0], fitted(config, iteration=2, optimizer=first.optimizer)[0]
    assert weights(fresh) != weights(kept)


def test_a_loss_that_is_not_finite_stops_with_a_sentence():
    model, data = toy_model()
    data.pixels[3] = float("nan")
    with pytest.raises(InputError, match="no longer a finite number at a learning rate of 1e-05; lower lr"):
        _train.fit(model, data, *toy_pairs(), TrainConfig(), batch=8)


def test_stop_ends_before_the_next_step():
    asked = []
    with pytest.raises(_train.TrainingStopped):
        fitted(TrainConfig(), stop=lambda: asked.append(1) or len(asked) > 3)
    assert len(asked) == 4


def test_progress_rises_to_one():
    shares = []
    fitted(TrainConfig(epochs=2), batch=5, progress=lambda share, message: shares.append((share, message)))
    assert [s for s, _ in shares] == [i / 8 for i in range(1, 9)]
    assert shares[0][1] == "epoch 1 of 2"


def test_clipping_bounds_the_step_and_reports_the_norm_before_it():
    _, free = fitted(TrainConfig(lr=1e-3, epochs=1))
    _, clipped = fitted(TrainConfig(lr=1e-3, epochs=1, clip_norm=1e-3))
    assert clipped.gradient_norm_max > 1e-3
    assert clipped.losses[0] == free.losses[0]


def test_bfloat16_trains_float32_weights():
    model, report = fitted(TrainConfig(lr=1e-2, epochs=2, precision="bfloat16"))
    exact, _ = fitted(TrainConfig(lr=1e-2, epochs=2))
    assert model.module.image.dtype == torch.float32
    assert weights(model) != weights(exact)
    assert np.isfinite(report.losses).all()


# Embeddings


def test_an_embedding_model_is_trainable_scores_cosines_and_survives_saving(tmp_path):
    model, data = toy_model(rows=5, scale=7.0)
    assert isinstance(model, Trainable)
    pairs = np.array([[0, 0], [3, 1], [4, 4]])
    unit = [t / t.norm(dim=1, keepdim=True) for t in (data.pixels, data.tokens["features"])]
    expected = [7.0 * float(unit[0][i] @ unit[1][j]) for i, j in pairs]
    np.testing.assert_allclose(model.score_prepared(data, pairs), expected, rtol=1e-5)
    key = model.key
    _train.fit(
        model, data, np.arange(5)[:, None], np.arange(5)[:, None], TrainConfig(lr=0.1, epochs=2), batch=5
    )
    assert model.key != key
    model.save(tmp_path / "saved")
    again = load_scorer(str(tmp_path / "saved"), "cpu")
    assert again.key == model.key
    np.testing.assert_array_equal(again.score_prepared(data, pairs), model.score_prepared(data, pairs))


def test_a_copy_of_an_embedding_model_is_independent():
    model, data = toy_model()
    before = weights(model)
    _train.fit(model.copy(), data, *toy_pairs(), TrainConfig(lr=0.1, epochs=1), batch=8)
    assert weights(model) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"images": np.zeros((2, 3))}, "Row 0 of the image embeddings is zero"),
        ({"captions": np.full((2, 3), np.nan)}, "Row 0 of the caption embeddings"),
        ({"captions": np.ones((2, 4))}, "Image embeddings have 3 numbers, caption embeddings 4"),
        ({"images": np.ones(3)}, "have shape"),
        ({"image_keys": ["a"]}, "There are 2 image embeddings and 1 names"),
    ],
)
def test_senseless_embeddings_are_one_sentence(change, message):
    good = {"images": np.ones((2, 3)), "captions": np.ones((2, 3)), "image_keys": "ab", "caption_keys": "cd"}
    with pytest.raises(InputError, match=message):
        EmbeddingModel(**{**good, **change})


def test_embeddings_of_other_groups_and_broken_folders_are_one_sentence(tmp_path):
    model, _ = toy_model(rows=3)
    with pytest.raises(InputError, match="no image 'stranger'"):
        model.prepare([RowImage("stranger")], [])
    with pytest.raises(InputError, match="no pixels"):
        RowImage("image 0").open()
    with pytest.raises(InputError, match="is not a model folder"):
        load_scorer(str(tmp_path), "cpu")
    model.save(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "crossmatch-embedding"}')
    with pytest.raises(InputError, match=r"is incomplete \('keys'\)"):
        load_scorer(str(tmp_path), "cpu")
