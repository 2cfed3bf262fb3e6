"""Descriptions of runs, and the loop that executes them: embeddings files, SimpleMatch, parts, variants, adapters."""

import json

import numpy as np
import pytest
from worlds import checkpointed, weights, world

from core.base.errors import InputError
from core.datasets.embeddings import read_embeddings
from core.runs.description import Remains
from core.runs.resume import _write_checkpoint
from core.scorers import lora
from core.scoring.load import load_scorer
from core.ttm import run as jobs
from core.ttm._checkpoint import load_state
from core.ttm._progress import projected_coverage
from core.ttm.config import PRESETS, TTMConfig, default_preset, thresholds
from core.ttm.defaults import full_name
from core.ttm.loop import run_ttm

SMALL = {"iterations": 2, "epochs": 1}


@pytest.fixture
def file(tmp_path):
    """An embeddings file of 12 groups of 2x2."""
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(24, 8))
    path = tmp_path / "small.npz"
    np.savez(path, img=shared + 0.9 * rng.normal(size=(24, 8)), cap=shared)
    return path


def ends(job, **more):
    items = list(job.execute(**more))
    return [item.record for item in items], items[-1]


# Descriptions


@pytest.mark.parametrize(
    ("kind", "dataset", "model", "expected"),
    [
        ("ttm", "scenes/left-right", "builtin/clip", "builtin"),
        ("ttm", "scenes/left-right@global", "builtin/clip", "builtin/global"),
        ("ttm", "scenes/left-right@global", "openai/clip-vit-base-patch32", "default/global"),
        ("simplematch", "scenes/left-right@global", "builtin/clip", "simplematch/builtin"),
        ("ttm", "winoground", "google/siglip-base-patch16-224", "winoground/siglip-b16"),
        ("ttm", "winoground", "openai/clip-vit-large-patch14", "default"),
        ("ttm", None, "embeddings", "embeddings"),
        ("simplematch", "scenes/left-right", "builtin/clip", "simplematch/builtin"),
        ("simplematch", None, "embeddings", "simplematch/embeddings"),
        ("simplematch", "winoground", "google/siglip-base-patch16-224", "simplematch"),
    ],
)
def test_settings_start_from_what_suits_data_and_model(kind, dataset, model, expected):
    assert default_preset(kind, dataset, model) == expected
    assert (expected in PRESETS) and isinstance(PRESETS[expected].config, TTMConfig) is (kind == "ttm")


def test_a_description_is_json_and_holds_its_whole_configuration(file):
    made = jobs.SimpleMatchRun.of_file(file, options={"rounds": 3}, adapt_on=0.5)
    assert jobs.SimpleMatchRun.read(json.loads(json.dumps(made.written()))) == made
    assert made.total == 3 and jobs.adaptation(made.written()) == made
    assert made.embeddings == str(file)  # absolute: it may be resumed from elsewhere
    assert made.settings.lr == PRESETS["simplematch/embeddings"].config.lr


def ends_of(made):
    return tuple(
        getattr(made.settings, name)
        for name in ("threshold_mode", "tau_first", "coverage_first", "tau_last", "lr")
    )


def test_another_variant_starts_from_its_own_preset_and_drops_thresholds_of_other_units():
    made = jobs.TTMRun.of("scenes/add", "builtin/clip", options={"variant": "global"})
    assert made.preset == "builtin/global" and ends_of(made) == ("relative", 0.5, None, 0.0, 3e-4)
    own = {"variant": "global", "coverage_first": 0.4}
    assert ends_of(jobs.TTMRun.of("scenes/add", "builtin/clip", options=own))[:3] == ("relative", None, 0.4)
    own = {"variant": "global", "threshold_mode": "absolute"}
    assert ends_of(jobs.TTMRun.of("scenes/add", "builtin/clip", options=own))[:4] == (
        "absolute",
        None,
        None,
        None,
    )
    made = jobs.TTMRun.of("scenes/add@global", "builtin/clip", options={"variant": "group"})
    assert made.preset == "builtin" and ends_of(made)[:4] == ("absolute", None, 0.2, 0.0)


@pytest.mark.parametrize("preset", [None, "winoground/siglip-b16", "winoground/siglip-b16/global"])
def test_the_global_variant_on_winoground_has_the_thresholds_of_table_5(preset):
    model = "google/siglip-base-patch16-224"
    made = jobs.TTMRun.of("winoground", model, preset=preset, options={"variant": "global"})
    assert made.preset == "winoground/siglip-b16/global"
    assert ends_of(made) == ("relative", 0.5, None, 0.0, 1e-5)


def test_where_the_paper_has_no_global_row_the_row_s_training_goes_with_relative_thresholds():
    made = jobs.TTMRun.of("winoground", "openai/clip-vit-base-patch16", options={"variant": "global"})
    assert made.preset == "winoground/clip-b16"
    assert ends_of(made) == ("relative", None, None, None, 2e-5)  # resolved to ranks 0.5 and 0
    config = made.settings
    assert thresholds(config, np.ones(4))[[0, -1]].tolist() == [0.5, 0.0]


def test_a_preset_s_absolute_thresholds_are_refused_for_another_model():
    preset, model = "winoground/siglip-l16", "builtin/clip"
    with pytest.raises(InputError, match="units of the scores of google/siglip-large-patch16-256"):
        jobs.TTMRun.of("winoground", model, preset=preset)
    with pytest.raises(InputError, match=r"set tau_last \(or a coverage\) yourself"):
        jobs.TTMRun.of("winoground", model, preset=preset, options={"coverage_first": 0.2})
    own = {"coverage_first": 0.2, "tau_last": 0.0}
    made = jobs.TTMRun.of("winoground", model, preset=preset, options=own)
    assert ends_of(made) == ("absolute", None, 0.2, 0.0, 4e-5)
    # What it has no units for is taken: ranks, and the model itself by whichever of its scores.
    jobs.TTMRun.of("winoground", model, preset="winoground/siglip-b16/global")
    jobs.TTMRun.of("winoground", "itc:siglip-l16", preset=preset)
    with pytest.raises(InputError, match="mean nothing for embeddings"):
        jobs.TTMRun.of_file("f.npz", preset=preset)


def test_a_short_name_of_a_model_is_the_hub_s_and_brings_its_preset(tmp_path, monkeypatch):
    made = jobs.TTMRun.of("winoground", "siglip-b16")
    assert (made.model, made.preset) == ("google/siglip-base-patch16-224", "winoground/siglip-b16")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clip-b16").mkdir()  # a folder of that name comes first
    assert jobs.TTMRun.of("winoground", "clip-b16").model == str(tmp_path / "clip-b16")
    assert full_name("open_clip:clip-b16") == "open_clip:clip-b16"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: jobs.TTMRun.of("b", "m", adapt_on=1.0), "adapt_on is 1.0"),
        (lambda: jobs.TTMRun.of("b", "m", adapt_on=0.5, options={"variant": "global"}), "ignores groups"),
        (lambda: jobs.TTMRun.of("b", "m", oracle=True, options={"variant": "global"}), "ignores groups"),
        (lambda: jobs.TTMRun.of("b", "m", options={"lora_alpha": 8.0}), "set lora_rank too"),
        (lambda: jobs.SimpleMatchRun.of("b", "m", preset="builtin"), "not one of SimpleMatch"),
        (lambda: jobs.TTMRun.of("b", "m", split_seed=1), "set adapt_on too"),
        (lambda: jobs.TTMRun.of("b", "m", device="gpu"), "Unknown device 'gpu'"),
        (
            lambda: jobs.TTMRun.of("b", "m", oracle=True, options={"tau_first": 1.0}),
            "tau_first has no effect",
        ),
        (
            lambda: jobs.TTMRun.of("b", "m", options={"schedule": "constant", "tau_last": 0.0}),
            "tau_last has no",
        ),
        (lambda: jobs.TTMRun.of_file("f", options={"augmentation": "jitter"}), "no pixels"),
        (lambda: jobs.TTMRun.of_file("f", options={"lora_rank": 2}), "no layers"),
    ],
)
def test_a_description_that_makes_no_sense_is_one_sentence(make, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=sentence):
        make()


@pytest.mark.parametrize(("shape", "scale"), [("2x", 100.0), ("2x2", 0.0), ("2x2", float("nan"))])
def test_a_wrong_shape_or_scale_of_embeddings_is_one_sentence(file, shape, scale):
    with pytest.raises(InputError):
        jobs.TTMRun.of_file(file, shape, scale=scale)


# Execution


@pytest.mark.parametrize("kind", jobs.RUNS)
def test_an_embeddings_file_is_adapted_and_its_model_loads_as_a_scorer(kind, file, tmp_path):
    options = SMALL if kind == "ttm" else {"rounds": 2, "epochs": 1}
    records, last = ends(jobs.RUNS[kind].of_file(file, options=options))
    assert [r["iteration"] for r in records] == [0, 1, 2]
    assert jobs.RUNS[kind].of_file(file, options=options).is_over(records)
    last.model.save(tmp_path / "model")
    groups = read_embeddings(file, "2x2").groups()
    from core.scoring.scores import score_groups

    again = score_groups(load_scorer(str(tmp_path / "model")), groups.blind())
    np.testing.assert_array_equal(again, last.arrays["scores"])


def test_shuffled_captions_of_an_embeddings_file_give_the_same_model_bytes(file, tmp_path):
    """Only the file's order says what is right; nothing of it may reach the model."""
    with np.load(file) as arrays:
        images, captions = arrays["img"], arrays["cap"]
    order = np.arange(24).reshape(12, 2)
    order[::2] = order[::2, ::-1]
    shuffled = tmp_path / "shuffled.npz"
    np.savez(shuffled, img=images, cap=captions[order.ravel()])
    for kind in jobs.RUNS:
        last = [ends(jobs.RUNS[kind].of_file(path))[1] for path in (file, shuffled)]
        assert weights(last[0].model) == weights(last[1].model)


def test_a_transfer_check_reports_both_parts_and_trains_on_one(file):
    job = jobs.TTMRun.of_file(file, options=SMALL, adapt_on=0.5)
    pool = job.pool(job.load_groups())
    assert pool.sum() == 6
    items = list(job.execute())
    for record, arrays, *_ in items:
        assert record["parts"]["adapted"]["n_groups"] == record["parts"]["untouched"]["n_groups"] == 6
        assert not (arrays["selected"] & ~pool).any()
        whole = record["metrics"]["group_match"]["value"]
        sides = [record["parts"][name]["metrics"]["group_match"]["value"] for name in record["parts"]]
        assert whole == pytest.approx(np.mean(sides), abs=1e-3)
    assert items[-1].record["coverage"] == 1.0
    assert "parts" not in ends(jobs.TTMRun.of_file(file, options=SMALL))[0][0]


@pytest.mark.parametrize("mode", ["absolute", "relative"])
def test_what_is_still_to_come_is_foreseen_in_every_variant(file, mode):
    options = {"variant": "global", "threshold_mode": mode, "coverage_first": 0.25, **SMALL}
    job = jobs.TTMRun.of_file(file, options={**options, "iterations": 3})
    config = job.settings
    steps = list(run_ttm(job._load_model(None, None), job.load_groups().blind(), config))
    assert (
        len(projected_coverage(config, steps[0])) == 3
    )  # the first iteration's share of the work is not a third
    assert len(projected_coverage(config, steps[1])) == 2
    if mode == "relative":
        assert projected_coverage(config, steps[1]) == pytest.approx(
            [s.coverage for s in steps[2:]], abs=0.05
        )
    # The thresholds of an absolute run meet the scores of today: exact for the very next iteration.
    assert projected_coverage(config, steps[1])[0] == pytest.approx(steps[2].coverage, abs=0.05)


@pytest.mark.parametrize("schedule", ["linear", "cosine", "constant", "ascending"])
@pytest.mark.parametrize("iterations", [1, 3])
def test_every_schedule_runs_for_every_number_of_iterations(file, schedule, iterations):
    shape = {"schedule": schedule} if iterations > 1 else {}  # a single iteration takes none
    job = jobs.TTMRun.of_file(file, options={**shape, "iterations": iterations, "epochs": 1})
    records, last = ends(job)
    assert len(records) == iterations + 1
    assert [r["threshold"] for r in records[1:]] == last.arrays["thresholds"].tolist()


# Low-rank adapters


LORA = {"lora_rank": 2, "lr": 1e-2, "batch": 3, "coverage_first": 0.5, "iterations": 3, "epochs": 2}


@pytest.mark.parametrize("family", ["clip", "siglip", "open_clip"])
@pytest.mark.parametrize("kept", [True, False])
def test_a_run_with_adapters_goes_on_from_a_checkpoint_to_the_same_bytes(
    request, toy_groups, tmp_path, family, kept
):
    model = load_scorer(str(request.getfixturevalue(f"tiny_{family}_folder")), device="cpu")
    config = TTMConfig(keep_optimizer=kept, **LORA)
    steps, saved = [], None
    for step in run_ttm(model, toy_groups, config):
        steps.append(step)
        if step.iteration == 1:
            saved = checkpointed(tmp_path, step)
            scores = step.scores
    state = load_state(saved)
    assert state.adapter.keys() == lora.adapter_state(steps[-1].model.module).keys()
    rest = list(run_ttm(model, toy_groups, config, resume=state))
    assert weights(rest[-1].model) == weights(steps[-1].model)
    # What was saved for use is merged: it scores as the model with its adapters did.
    merged = load_scorer(str(saved / "model"), device="cpu")
    first = next(run_ttm(merged, toy_groups, config.model_copy(update={"lora_rank": None})))
    np.testing.assert_allclose(first.scores, scores, atol=1e-4)
    with pytest.raises(InputError, match="another model or rank"):
        next(run_ttm(model, toy_groups, config.updated({"lora_rank": 3}), resume=state))


def test_a_run_that_fell_back_to_smaller_parts_starts_with_them_when_resumed(tmp_path):
    model, groups = world(20)
    config = TTMConfig(iterations=2, epochs=1, lr=0.01, coverage_first=0.9, micro_batch=7)
    steps = list(run_ttm(model, groups, config))
    checkpointed(tmp_path, steps[1])
    assert int(load_state(tmp_path / "checkpoint-0001").kept["micro_batch"]) == 7


# Descriptions in words, uploads, resuming


def test_a_description_reads_as_one_line():
    job = jobs.TTMRun.of(
        "scenes/add", "builtin/clip", groups=40, adapt_on=0.5, options={"seed": 3, "lora_rank": 4}
    )
    assert job.describe() == (
        "scenes/add · test · first 40 groups · builtin/clip · test-time matching, group variant · T = 10 · 5 epochs · "
        "learning rate 0.0003 · linear threshold, 20 % selected to τ = 0 · augmentation jitter · LoRA of rank 4 · "
        "adapted on 50 % of the groups · seed 3"
    )
    oracle = jobs.TTMRun.of("scenes/add", "builtin/clip", oracle=True).describe()
    assert "oracle (uses the truth)" in oracle and "threshold" not in oracle
    once = jobs.SimpleMatchRun.of("scenes/add", "builtin/clip").describe()
    assert "SimpleMatch · at most 30 rounds · 5 epochs" in once


def test_every_preset_has_its_line():
    for name, preset in PRESETS.items():
        run = jobs.TTMRun if isinstance(preset.config, TTMConfig) else jobs.SimpleMatchRun
        model = preset.model if "/" in preset.model else "builtin/clip"
        line = run.of("scenes/add", model, preset=name).describe()
        assert line.endswith("seed 0") and "None" not in line


def test_an_upload_is_kept_by_its_content_and_its_name_leads_nowhere():
    first = jobs.store_embeddings("../../my file.npz", b"abc")
    assert first.name == "my-file.npz" and first.read_bytes() == b"abc"
    assert jobs.store_embeddings("my file.npz", b"abc") == first
    assert jobs.store_embeddings("my file.npz", b"abd").parent != first.parent
    assert jobs.store_embeddings("...", b"abc").name == "embeddings.npz"


@pytest.mark.parametrize("kind", jobs.RUNS)
def test_a_run_on_embeddings_goes_on_from_a_checkpoint_to_the_same_bytes(kind, tmp_path):
    """Rows that were brought to length 1 once stay as they are: normalised again, some differ in their last bit."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(400, 8)).astype(np.float32)
    np.savez(tmp_path / "rows.npz", img=rows, cap=0.5 * rows + rng.normal(size=rows.shape))
    options = {"iterations": 3, "epochs": 2} if kind == "ttm" else {"rounds": 3, "epochs": 1, "lr": 1e-5}
    job = jobs.RUNS[kind].of_file(tmp_path / "rows.npz", options=options)
    whole, saved = [], None
    for item in job.execute():
        whole.append((item.arrays["scores"], weights(item.model)))
        if item.record["iteration"] == 1:
            saved = _write_checkpoint(tmp_path, item)
    assert len(whole) > 2
    remains = Remains(tmp_path, saved)
    rest = [(item.arrays["scores"], weights(item.model)) for item in job.execute(remains)]
    assert len(rest) == len(whole) - 2
    for (scores, model), (again, same) in zip(whole[2:], rest, strict=True):
        np.testing.assert_array_equal(scores, again)
        assert model == same
    from core.scorers.embedding import EmbeddingModel

    file = read_embeddings(tmp_path / "rows.npz", "2x2")
    model = load_scorer(str(saved / "model"), "cpu")
    np.testing.assert_array_equal(model._images.numpy(), EmbeddingModel.of(file)._images.numpy())


@pytest.mark.parametrize("model", ["builtin/blind-lm", "blind:builtin/blip-caption", "api:gpt-4o"])
def test_a_score_that_nothing_adapts_is_refused_before_there_is_a_run(model):
    with pytest.raises(InputError, match=f"Crossmatch cannot adapt '{model}'; choose a two-tower model"):
        jobs.TTMRun.of("scenes/left-right", model)


def test_describing_a_run_downloads_no_model(monkeypatch):
    asked = []
    monkeypatch.setattr("core.scorers.hub._from_hub", asked.append)
    for model in ("openai/clip-vit-base-patch32", "itc:Salesforce/blip-itm-base-coco"):
        jobs.TTMRun.of("scenes/left-right", model)
    assert asked == []
