"""Tiny twins of the rehearsal with models and data of real size (`benchmarks.safety.rehearsal`), and its forecasts."""

import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from benchmarks.safety import rehearsal_data
from benchmarks.safety.rehearsal import into_cache
from core.base.errors import InputError
from core.cli._adapt import _estimate
from core.cola.tasks import _described
from core.datasets import load, load_graphs, load_retrieval
from core.doctor import rehearsal
from core.runs.store import RunStore
from core.scorers import _random_weights
from core.scorers.base import TwoTower
from core.scoring.load import load_scorer
from core.scoring.scores import score_groups
from core.ttm.config import PRESETS
from core.ttm.run import TTMRun
from core.ttm.time_left import expected_seconds

pytestmark = pytest.mark.slow


def test_a_model_in_the_cache_of_the_hub_is_found_by_its_name_offline(
    make, tmp_path, monkeypatch, toy_groups
):
    shutil.copytree(make("clip"), tmp_path / "made")
    into_cache(tmp_path / "made", "somebody/tiny-clip", tmp_path / "hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    found = score_groups(load_scorer("somebody/tiny-clip", "cpu"), toy_groups)
    np.testing.assert_array_equal(found, score_groups(load_scorer(str(make("clip")), "cpu"), toy_groups))


def test_pictures_as_users_have_them_are_read(tmp_path):
    """Progressive, CMYK, turned by EXIF, grey, palette, alpha, 16 bits, a GIF named .jpg: all are RGB, none is white.

    As the papers' code reads a benchmark, EXIF turns nothing; a user's own pictures are set upright at their import.
    """
    rehearsal_data.winoground(tmp_path, groups=4, large=False)
    groups = load("winoground", folder=tmp_path, partial=True)
    images = [image.open() for group in groups for image in group.images]
    assert [image.mode for image in images] == ["RGB"] * 8
    assert all(image.width >= image.height for image in images)
    assert all(np.asarray(image).std() > 20 for image in images)


SMALL = {
    "mmvp-vlm": (partial(rehearsal_data.mmvp, pairs=1, large=False), 9),
    "sugarcrepe/swap_obj": (partial(rehearsal_data.sugarcrepe, groups=3, images=4, large=False), 3),
    "whatsup/a-left-right": (partial(rehearsal_data.whatsup, sets=2), 2),
    "eqben/full": (partial(rehearsal_data.eqben, share=0.001, distinct=3), 196 + 46 + 2 * 5),
    "cola/multi-object": (partial(rehearsal_data.cola, groups=3, images=8, queries=4), 3),
}


@pytest.mark.parametrize("name", SMALL)
def test_data_of_the_rehearsal_are_found_by_their_names_and_open(name, tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_DATA", str(tmp_path))
    write, count = SMALL[name]
    write(tmp_path / name.partition("/")[0])
    groups = load(name, partial=True)
    assert len(groups) == count
    assert all(image.open().mode == "RGB" for group in groups for image in group.images)


def test_retrieval_sets_and_scene_graphs_of_the_rehearsal_are_found(tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_DATA", str(tmp_path))
    rehearsal_data.coco(tmp_path / "coco", images=4, distinct=3)
    rehearsal_data.cola(tmp_path / "cola", groups=2, images=4, queries=4)
    rehearsal_data.gqa(tmp_path / "gqa", train=2, validation=2)
    assert len(load_retrieval("coco", partial=True).queries) == 20
    assert load_retrieval("cola/single-gqa", partial=True).any_word.shape == (4, 4)
    assert len(load_graphs("gqa", "train", partial=True).graphs) == 2


def test_scene_graphs_without_objects_of_two_attributes_are_not_called_none(tmp_path):
    """As "holds no scene graphs; check the file" it was said of a whole file."""
    rehearsal_data.gqa(tmp_path, train=2, validation=2)
    graphs = load_graphs("gqa", "validation", tmp_path)
    plain = [
        replace(g, objects=tuple(replace(o, attributes=o.attributes[:1]) for o in g.objects))
        for g in graphs.graphs
    ]
    with pytest.raises(
        InputError, match=r"None of the 2 scene graphs of gqa.*shows an object with two attributes"
    ):
        _described(replace(graphs, graphs=tuple(plain)))


def test_a_part_of_a_set_is_refused_by_a_sentence_that_names_what_the_command_line_has(tmp_path):
    """No command has an option `partial`: it is said to be Python's."""
    rehearsal_data.mmvp(tmp_path, pairs=1, large=False)
    with pytest.raises(InputError, match=r"complete the folder, or, in Python, load it with partial=True\.$"):
        load("mmvp-vlm", folder=tmp_path)


def test_a_damaged_picture_is_one_sentence_that_names_it(tmp_path):
    rehearsal_data.whatsup(tmp_path, sets=1)
    last = load("whatsup/b-1x4", folder=tmp_path, partial=True)[-1].images[0]
    with pytest.raises(InputError, match=r"behind.*jpeg does not open \(image file is truncated"):
        last.open()


# ---- forecasts (core/doctor/rehearsal.py)


@pytest.fixture
def small_sizes(monkeypatch):
    """Models of published names, a hundredth as wide."""
    tiny = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    monkeypatch.setattr(_random_weights, "_BASE", tiny)
    monkeypatch.setattr(_random_weights, "_WIDTHS", {"base": tiny})
    monkeypatch.setattr(_random_weights, "_VIT_G", tiny)
    monkeypatch.setattr(_random_weights, "_SMOL", {"256M": (64, 64, 1, 2, 1)})


@pytest.mark.parametrize(
    "name",
    [
        "google/siglip-base-patch16-224",
        "Salesforce/blip2-itm-vit-g",
        "HuggingFaceTB/SmolVLM-256M-Instruct",
    ],
)
def test_a_model_of_a_published_name_with_random_weights_loads_and_scores(
    name, tmp_path, small_sizes, toy_groups
):
    _random_weights.build(name, tmp_path, ["red", "square"])
    scores = score_groups(load_scorer(str(tmp_path), "cpu"), toy_groups[:2])
    assert np.isfinite(scores).all() and len(np.unique(scores)) > 1


def test_a_name_of_no_known_size_is_refused_with_what_to_do(tmp_path, monkeypatch):
    def ended(module, arguments):
        raise InputError("KeyError: 'somebody/large'")

    monkeypatch.setattr(rehearsal, "_run", ended)
    with pytest.raises(InputError, match="hf download somebody/large"):
        rehearsal._build("somebody/large", tmp_path, [])


class Clocked:
    """A scorer whose clock stands still but for so many seconds an image, a caption and a pair."""

    name, key, image_batch = "clocked", "k", 1

    def __init__(self, monkeypatch, image: float, caption: float, pair: float) -> None:
        self.now, self.costs = 0.0, (image, caption, pair)
        for clock in ("perf_counter", "process_time"):
            monkeypatch.setattr(rehearsal, clock, lambda: self.now)

    def score(self, images, captions, pairs):
        used = (len(set(pairs[:, 0])), len(set(pairs[:, 1])), len(pairs))
        self.now += sum(cost * count for cost, count in zip(self.costs, used, strict=True))


class ClockedTowers(Clocked, TwoTower):
    """The same for a model whose captions are encoded apart."""


ClockedTowers.__abstractmethods__ = frozenset()


def test_the_forecast_of_scoring_scales_what_a_few_groups_took(monkeypatch):
    """Of 300 groups a part is measured; the whole takes (pairs, or images and captions) times their cost."""
    groups, counts = rehearsal._groups("scenes/left-right")
    assert counts[:2] == (300, (2, 2)) and counts.images == 600 and counts.pairs == 1200
    by_pair, some = rehearsal._scoring(Clocked(monkeypatch, 0, 0, 0.5), groups, counts)
    assert by_pair.seconds == pytest.approx(0.5 * counts.pairs) and some < 300
    towers, some = rehearsal._scoring(ClockedTowers(monkeypatch, 2.0, 0.5, 0), groups, counts)
    # the one image beside the captions' own cost is counted with them
    whole = 2 * counts.images + 0.5 * counts.captions
    assert towers.seconds == pytest.approx(whole, rel=0.3) and some < 300


def test_of_a_slow_model_one_group_and_one_step_are_measured(monkeypatch, make):
    """SmolVLM-256M takes minutes a group on two cores: five groups and eleven passes more told nobody anything."""
    groups, counts = rehearsal._groups("scenes/left-right")
    scorer = Clocked(monkeypatch, 0, 0, 10.0)
    cost, some = rehearsal._scoring(scorer, groups, counts)
    # two groups of four pairs: the first one has what is done once per process
    assert (some, cost.seconds, scorer.now) == (1, 10.0 * counts.pairs, 80.0)
    steps = []
    monkeypatch.setattr(rehearsal, "_step", lambda _, groups, __: steps.append(groups) or STEP)
    model = load_scorer(str(make("clip")), "cpu")
    found = rehearsal._training(model, groups, counts, "scenes/left-right", "clip", 40.0)
    assert [len(groups) for groups in steps] == [1] == [found["measured_groups"]]
    assert found["seconds_per_group_and_epoch"] == pytest.approx(STEP.train.seconds)


STEP = rehearsal._Step(rehearsal._Cost(90.0, 180.0, 10**9), (40.0, 80.0), (1.0, 2.0), 10, 20, 5, 10)


def test_a_step_of_a_quarter_of_an_hour_is_not_measured_and_said_so(make, monkeypatch):
    monkeypatch.setattr(rehearsal, "_SECONDS", 0.2)
    monkeypatch.setattr(rehearsal, "_MOST", 1e-9)
    monkeypatch.setattr(rehearsal, "_step", None)  # never called
    spec = {"load": str(make("clip")), "model": "m", "benchmark": "scenes/left-right", "device": "cpu"}
    found = rehearsal._measure(spec)
    assert found["ttm"] is None and "a step on a single group would take about" in found["notes"][0]


@pytest.mark.parametrize(
    ("free", "said"),
    [
        (10, None),
        (7, "SimpleMatch needs more memory than is free: close other programs, or take --micro-batch, "),
        (5, "Test-time matching needs"),
        (1, "Scoring needs more memory than is free: close other programs, or take a smaller model."),
    ],
)
def test_what_does_not_fit_into_memory_is_said_with_what_to_do(free, said):
    found = rehearsal._lacking({"scoring": 3, "ttm": 6, "simplematch": 8, "free": free})
    assert found is None if said is None else found.startswith(said)


def test_a_rehearsal_says_what_it_is_doing(make, monkeypatch, tmp_path):
    """Its process was silent for ten minutes."""
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path))
    told = []
    rehearsal.rehearse(str(make("clip")), "scenes/left-right", "cpu", told.append)
    assert told[:2] == ["loading the model", "scoring one group"]
    assert told[-1].startswith("a step of training on ")


def test_memory_of_scoring_is_that_of_one_block_of_pictures(monkeypatch):
    """24 measured pictures tell of a block of 32, not of two: for SigLIP a third too much was forecast."""
    groups, counts = rehearsal._groups("scenes/left-right")
    scorer = ClockedTowers(monkeypatch, 0, 0, 0)
    scorer.image_batch = 32
    monkeypatch.setattr(rehearsal, "_SECONDS", 12.0)
    monkeypatch.setattr(rehearsal, "_held", lambda: 1000)
    monkeypatch.setattr(
        rehearsal,
        "_scored_pairs",
        lambda _, images, *__: rehearsal._Cost(1.0, len(images) / 2, 1000 + 10 * len(images)),
    )
    cost, some = rehearsal._scoring(scorer, groups, counts)
    assert some == 12 and cost.peak == 1000 + 320


def test_a_set_that_is_not_here_counts_as_published(monkeypatch, tmp_path):
    monkeypatch.setenv("CROSSMATCH_DATA", str(tmp_path))
    groups, counts = rehearsal._groups("winoground")
    assert counts == (400, (2, 2), 800, 800, 1600, True)
    assert groups.shape == (2, 2) and groups[0].images[0].open().size == (500, 375)


def test_a_rehearsal_tells_time_and_memory_of_scoring_and_of_an_iteration(make, monkeypatch):
    monkeypatch.setattr(rehearsal, "_SECONDS", 0.2)
    found = rehearsal._measure(
        {
            "load": str(make("clip")),
            "model": "somebody/clip",
            "benchmark": "scenes/left-right",
            "device": "cpu",
        }
    )
    ttm, memory = found["ttm"], found["memory"]
    assert found["scoring"]["processor_seconds"] > 0 and found["notes"] == []
    parts = ("seconds_per_group_and_epoch", "seconds_per_group_and_scoring", "seconds_per_group_before")
    assert all(ttm[part] > 0 for part in (*parts, "start_seconds"))
    iteration = 300 * (20 * ttm[parts[0]] + ttm[parts[1]])
    assert (
        ttm["seconds_per_iteration"] == pytest.approx(iteration, rel=0.01, abs=0.06) and ttm["epochs"] == 20
    )
    assert memory["simplematch"] >= memory["ttm"] > 50e6 and memory["scoring"] > 50e6


def test_what_a_step_keeps_for_its_backward_pass_grows_with_its_groups_alone(make):
    """The weights are not counted, so twice the groups keep twice the bytes (captions of a batch are padded alike)."""
    model, groups = load_scorer(str(make("clip")), "cpu"), load("scenes/left-right")
    few, many = (rehearsal._step(model, groups[:count], PRESETS["default"].config).kept for count in (4, 8))
    assert many == pytest.approx(2 * few, rel=0.1)


def test_the_rehearsed_step_is_no_larger_than_memory_allows(make, monkeypatch):
    """BLIP's matching head keeps 1.4 GB a group: a rehearsal of six groups alone held 8.6 GB."""
    monkeypatch.setattr(rehearsal, "_SECONDS", 5.0)
    model, (groups, counts) = load_scorer(str(make("clip")), "cpu"), rehearsal._groups("scenes/left-right")
    measured = {}
    for left in (100e9, 1e6):
        monkeypatch.setattr(rehearsal, "memory_left", lambda left=left: left)
        measured[left] = rehearsal._training(model, groups[:30], counts, "scenes/left-right", "clip", 0.01)
    assert measured[1e6]["measured_groups"] == 3 < measured[100e9]["measured_groups"]


def test_a_rehearsal_trains_nothing_that_cannot_fit(make, monkeypatch):
    """A step of a model of 2 B parameters would have ended the process, or another one."""
    monkeypatch.setattr(rehearsal, "_SECONDS", 0.2)
    monkeypatch.setattr(rehearsal, "memory_left", lambda: 1000)
    monkeypatch.setattr(rehearsal, "_step", None)  # never called
    spec = {"load": str(make("clip")), "model": "m", "benchmark": "scenes/left-right", "device": "cpu"}
    found = rehearsal._measure(spec)
    assert found["ttm"] is None and found["scoring"]["seconds"] > 0
    assert "not measured: gradients and AdamW's two moments alone take 0.0 GB" in found["notes"][0]


def test_a_run_is_forecast_by_its_rehearsal_until_one_has_finished(monkeypatch, tmp_path):
    """Start, first scoring, and in every iteration its epochs and one scoring, which few epochs do not hide."""
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path))
    (tmp_path / "cache").mkdir()
    parts = {"and_epoch": 0.5, "and_scoring": 2.0, "before": 2.5}
    record = {
        "ttm": {"start_seconds": 7.0, **{f"seconds_per_group_{part}": s for part, s in parts.items()}},
        "memory": {"ttm": 2_000_000_000, "simplematch": 3e9},
    }
    rehearsal._note("openai/clip-vit-base-patch32", "winoground", "auto", record)
    run = TTMRun.of("winoground", "openai/clip-vit-base-patch32", options={"iterations": 2, "epochs": 3})
    seconds, source = expected_seconds(RunStore(), run, 10)
    assert seconds == pytest.approx(7.0 + 10 * (2.5 + 2 * (3 * 0.5 + 2.0))) and "2.0 GB" in source
    other = TTMRun.of("winoground", "openai/clip-vit-base-patch16")
    assert expected_seconds(RunStore(), other, 10) == (None, "no earlier run to go by")


def test_a_run_without_an_estimate_is_told_how_to_get_one(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path))
    job = TTMRun.of("scenes/left-right", "openai/clip-vit-base-patch16")
    _estimate(job, seeds=1, as_json=False)
    wanted = "`crossmatch doctor --rehearse openai/clip-vit-base-patch16 scenes/left-right` makes one"
    assert f"no time estimate (no earlier run to go by; {wanted})" in capsys.readouterr().out
