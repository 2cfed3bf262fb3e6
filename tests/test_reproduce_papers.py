"""The tables of [VGPT] and [Cola] as runs: every number has its cell, and cells read what runs record."""

import json
import re
import sys

import numpy as np
import pytest
import test_readers
from adapted import finish
from tiny_models import build_blip
from typer.testing import CliRunner

from benchmarks.safety import samples
from core import datasets, papers
from core.base.errors import InputError
from core.cli import app
from core.cola.run import StrategyRun
from core.datasets.paper_results import UNITS, reference
from core.debiasing.curves import recall_curve
from core.debiasing.debias import debias, prior_from_samples
from core.debiasing.retrieval import score_table
from core.papers import _cola as cola
from core.papers import _runs, table_html
from core.papers import _vgpt as vgpt
from core.papers._runs import missing_of
from core.papers._shipped_results import measured
from core.papers._tables import lines
from core.papers.measurement_run import MeasurementRun
from core.runs.attempt import RunAttempt
from core.runs.resume import carry_out
from core.runs.store import RunStore
from core.scorers.cola_config import FUSIONS, MIXES, STRATEGIES
from core.scorers.null_images import NULL_COUNTS, null_count
from core.scorers.score_kinds import KINDS
from core.scoring.load import load_scorer
from core.sweeps.evaluate import EvaluationRun

PAPERS = [("VGPT", vgpt, "vgpt"), ("Cola", cola, "cola")]


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs")


@pytest.mark.parametrize(("paper", "module", "short"), PAPERS, ids=["VGPT", "Cola"])
def test_every_number_of_every_table_has_its_cell(paper, module, short):
    assert {table for _, table, _ in module.TABLES} == set(reference(paper)["table"])
    for key, table, _ in module.TABLES:
        rows, cells = reference(paper, table), [c for line in lines(f"{short}/{key}") for c in line.cells]
        cells = [cell for cell in cells if cell.paper is not None]  # the others are of the built-in world
        assert sorted(c.paper for c in cells) == sorted(rows["value"])
        assert {(c.method, c.metric, c.paper) for c in cells} == set(
            zip(rows["method"], rows["metric"], rows["value"], strict=True)
        )


@pytest.mark.parametrize(("paper", "module", "short"), PAPERS, ids=["VGPT", "Cola"])
def test_two_numbers_of_a_line_never_share_a_column(paper, module, short):
    for key, _, _ in module.TABLES:
        for line in lines(f"{short}/{key}"):
            heads = [cell.head for cell in line.cells]
            assert len(heads) == len(set(heads)), (key, line.label)


@pytest.mark.parametrize(("paper", "module", "short"), PAPERS, ids=["VGPT", "Cola"])
def test_a_line_can_be_run_or_says_what_is_missing_or_is_printed_alone(paper, module, short, store):
    for key, _, _ in module.TABLES:
        for status in papers.table_plan(store, f"{short}/{key}").lines:
            alone = status.line.label.split(",")[0] in ("random", "human")
            built_in = status.line.label.startswith("built-in world, ")  # needs no data
            assert status.state == ("printed" if alone else "ready" if built_in else "missing"), (
                status.line.label
            )
            assert bool(status.missing) == (not alone and not built_in)
            assert all(index < len(status.line.jobs) for c in status.line.cells for index, _ in c.source)


def test_every_strategy_mix_and_fusion_of_the_paper_is_one_of_ours():
    options = {method: cola.options_of(method) for method in dict.fromkeys(reference("Cola")["method"])}
    assert {o["strategy"] for o in options.values() if o} == {name for name, s in STRATEGIES.items() if s.row}
    assert {o["mix"] for o in options.values() if o and "mix" in o} == set(MIXES)
    assert {o["fusion"] for o in options.values() if o and "fusion" in o} == set(FUSIONS)
    assert options["chance"] is None and options["zero-shot"]["strategy"] == "linear"


def test_cola_s_first_table_has_rows_of_the_true_protocol_that_need_no_data(store, monkeypatch, tmp_path):
    built_in = [line for line in lines("cola/1") if line.label.startswith("built-in world, ")]
    assert len(built_in) == 1 + len(STRATEGIES)
    jobs = [line.job for line in built_in]
    assert {job.model for job in jobs} == {"builtin/clip-details"}
    assert {(job.settings.mix, job.settings.epochs * job.settings.steps) for job in jobs} == {("hard", 4000)}
    assert {line.seeds for line in built_in} == {1, 3}
    assert {cell.metric for cell in built_in[1].cells} == {
        "cola_map", "query_all_map", "multi_object", "crepe", "forgetting",
    }  # fmt: skip


def test_a_learning_rate_of_the_protocol_comes_from_a_whole_bracket(monkeypatch, tmp_path):
    import pandas as pd

    facts = {"model": cola.PROTOCOL_BASE, "mix": "hard"}
    rows = [
        {**facts, "strategy": "linear", "lr": 1e-4, "all": 40.0},
        {**facts, "strategy": "linear", "lr": 3e-4, "all": 43.0},
        {**facts, "strategy": "linear", "lr": 1e-3, "all": 42.0},
        {**facts, "strategy": "ft-all", "lr": 3e-4, "all": 50.0},  # the best at an edge: not known yet
        {**facts, "strategy": "ft-all", "lr": 1e-3, "all": 45.0},
        {**facts, "model": "builtin/clip", "strategy": "linear", "lr": 9.0, "all": 99.0},
    ]
    (tmp_path / "results").mkdir()
    pd.DataFrame(rows).to_csv(tmp_path / "results/cola_lr.csv", index=False)
    monkeypatch.setattr(cola, "assets", lambda: tmp_path)
    assert cola._chosen_rates() == {"linear": 3e-4}
    rates = {line.label: line.job.settings.lr for line in cola.protocol_lines()}
    assert rates["built-in world, Linear"] == 3e-4 and rates["built-in world, FT all"] is None


def test_a_dry_run_of_a_strategy_s_row_takes_its_forecast_for_every_seed(store, monkeypatch):
    monkeypatch.setattr(cola.StrategyRun, "forecast", lambda job: {"seconds": 90.0, "measured_in": 10.0})
    plan = papers.table_plan(store, "cola/1", row="built-in world, MM-Adapter").with_trials()
    assert [(s.seconds, s.time_source) for s in plan.lines] == [(300.0, "a trial")]


def test_before_any_run_a_table_of_strategies_says_about_the_time_that_was_measured(store, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_PARALLEL_RUNS", "2")
    plan = papers.table_plan(store, "cola/1", row="built-in world")
    assert {s.time_source for s in plan.lines} == {"a rough estimate"}
    assert plan.seconds == pytest.approx(46 * 60, rel=0.1)  # README: 21 runs, two cores


def test_seeds_that_are_asked_for_count_for_lines_with_a_number_of_their_own(store):
    row = "built-in world, Linear"
    own, asked = (papers.table_plan(store, "cola/1", 1, row, all_lines=given) for given in (False, True))
    assert [plan.lines[0].seeds_needed for plan in (own, asked)] == [3, 1]
    assert (own.seeds_text, asked.seeds_text) == ("3 seeds per line", "1 seed per line")
    before = papers.table_plan(store, "cola/1", 2, "built-in world, before", all_lines=True)
    assert before.lines[0].seeds_needed == 1  # measured once, whatever is asked for


def test_a_table_takes_as_long_as_its_different_runs_side_by_side(store, monkeypatch):
    monkeypatch.setattr(cola.StrategyRun, "forecast", lambda job: {"seconds": 90.0, "measured_in": 10.0})
    monkeypatch.setenv("CROSSMATCH_PARALLEL_RUNS", "2")
    plan = papers.table_plan(store, "cola/1", row="built-in world").with_trials()
    strategies = len(STRATEGIES)  # the line before is a run of Linear's
    assert plan.seconds == strategies * 3 * 100.0 / 2
    assert plan.seeds_text == "1 or 3 seeds per line"


def test_a_strategy_needs_the_scene_graphs_that_it_trains_on_besides_the_queries():
    names = [text.partition(": ")[0] for text in missing_of("cola/single-gqa", "builtin/clip", True)]
    assert names == ["data of cola/single-gqa", "data of gqa"]
    assert len(missing_of("cola/single-gqa", "builtin/clip", False)) == 1
    assert missing_of("scenes/retrieval", "builtin/clip", True) == ()


def test_scorers_are_names_that_are_understood():
    for name, _ in vgpt.SCORERS.values():
        prefix, colon, _ = name.partition(":")
        assert not colon or prefix in KINDS or prefix == "open_clip"


# --- cells


def test_means_over_subsets_weigh_kinds_alike_and_subsets_within_a_kind():
    line = next(each for each in lines("vgpt/13") if each.label == "BLIP, ITM")
    average = next(cell for cell in line.cells if "Average" in cell.head)
    assert sum(weight for _, weight in average.source) == pytest.approx(1)
    names = {line.jobs[index].benchmark: weight for index, weight in average.source}
    assert names["sugarcrepe/replace_rel"] == pytest.approx(1 / 9)
    assert names["sugarcrepe/swap_obj"] == pytest.approx(1 / 6)
    # The paper's own average is that mean of its kinds.
    paper = {cell.head.split()[1]: cell.paper for cell in line.cells}
    assert np.mean([paper[kind] for kind in ("Replace", "Swap", "Add")]) == pytest.approx(
        paper["Average"], abs=0.01
    )


def test_an_alpha_cell_reads_its_alpha_of_its_part():
    record = {
        "metrics": {},
        "alpha": {"text_score": {"alpha_0": {"value": 27.0}, "best": {"value": 36.5, "alpha": 0.836}}},
        "parts": {
            "NoTag": {"n_groups": 172, "alpha": {"text_score": {"best": {"value": 40.0, "alpha": 0.9}}}}
        },
    }
    held = {"value": {"mean": 35.5, "std": 1.0}, "alpha": {"mean": 0.8, "std": 0.1}}
    record["alpha"]["text_score"]["validated"] = held

    def read(base, metric="text_score", part=""):
        return vgpt.AlphaCell("m", metric, "after", "text_score", base, part=part).read([record])

    assert (read("alpha_0"), read("best"), read("best", "alpha")) == (27.0, 36.5, 0.836)
    assert (read("validated"), read("validated", "alpha"), read("alpha_1")) == (35.5, 0.8, None)
    assert read("best", part="NoTag") == 40.0
    assert vgpt.CountCell("", "groups", "after", "groups", part="NoTag").read([record]) == 172


def test_a_strategy_s_cell_reads_the_test_results_before_or_after():
    records = [
        {"test": {"retrieval": {"cola_map": {"seen": {"value": 10.0}}}, "multi_object": {"value": 20.0}}},
        {
            "test": {"retrieval": {"cola_map": {"seen": {"value": 30.0}}}, "multi_object": {"value": 40.0}},
            "parameters": {"trained": 1_500_000},
        },
    ]
    make = cola.TestCell
    assert make("m", "cola_map", "before", "cola_map", part="seen").read(records) == 10.0
    assert make("m", "cola_map", "after", "cola_map", part="seen").read(records) == 30.0
    assert make("m", "cola_map", "after", "cola_map", part="unseen").read(records) is None
    assert make("m", "image_score", "after", "multi_object").read(records) == 40.0
    assert make("m", "parameters", "after", "parameters").read(records) == 1.5


def test_a_cell_s_chance_level_is_that_of_its_records_by_the_weight_of_each_job():
    sides = [{"retrieval": {"cola_map": {"all": {"value": 5.0, "chance": level}}}} for level in (10.0, 20.0)]
    records = {job: [{"test": side}] for job, side in enumerate(sides)}
    cell = cola.TestCell("Linear", "cola_map", "after", "cola_map", part="all", source=((0, 0.25), (1, 0.75)))
    assert cell.chance(records) == 17.5
    assert cell.chance({**records, 1: [{"test": {}}]}) is None  # a record without it says nothing
    gain = cola.TestCell("Linear", "absolute_gain", "after", "cola_map", part="all")
    assert gain.chance(records) is None


def test_another_strategy_s_pace_says_nothing_of_this_one_s_time(store):
    """A step of MM-Adapter takes forty of Linear's; a finished run of Linear must not foretell it."""
    slow = StrategyRun.of(options={"strategy": "mm-adapter"})
    before = _runs.expected_time(store, slow, 3)
    run = store.create("adapt", "t", StrategyRun.of(options={"strategy": "linear"}).written())
    work = RunAttempt(store, run.id, store.queue_up(run.id))
    work.wait_for_turn()
    work.append({"iteration": 0, "seconds": 0.01})
    store.conclude(run.id, work.attempt, "finished")
    assert store.get(run.id).status == "finished"
    assert _runs.expected_time(store, slow, 3) == before


def test_runs_of_other_kinds_and_settings_do_not_count():
    mine = StrategyRun.of(options={"strategy": "linear", "seed": 3})
    plain = StrategyRun.of(options={"strategy": "linear"})
    assert plain.same(mine.written())
    assert not StrategyRun.of(options={"strategy": "linear", "mix": "hard"}).same(mine.written())
    assert not plain.same(StrategyRun.of(images=20, options={"strategy": "linear"}).written())
    scored = EvaluationRun.of("winoground", "a")
    assert scored.same(EvaluationRun.of("winoground", "a", shard=5).written())
    assert not MeasurementRun.of("winoground", "a").same(scored.written())


# --- measuring


def run(store, job):
    return store.steps(finish(store, "t", job))


def test_a_line_of_the_paper_is_measured_on_its_data_and_stands_beside_the_printed_number(
    store, tmp_path, monkeypatch, request
):
    """Winoground's layout with three groups, and a tiny BLIP in the place of the released one."""
    monkeypatch.setenv("CROSSMATCH_DATA", str(tmp_path / "data"))
    test_readers.winoground(tmp_path / "data" / "winoground")
    blip = str(build_blip(tmp_path / "blip", "BlipForConditionalGeneration"))
    monkeypatch.setitem(vgpt.SCORERS, ("BLIP", "VisualGPTScore"), (f"vgpt:{blip}", ""))
    monkeypatch.setitem(NULL_COUNTS, "winoground", 3)
    monkeypatch.setattr("core.datasets.base.Benchmark._check", lambda *a: None)
    vgpt.lines.cache_clear()
    request.addfinalizer(vgpt.lines.cache_clear)
    by_label = {line.label: line for line in lines("vgpt/10")}
    zero, best = by_label["BLIP, VisualGPTScore α=0"], by_label["BLIP, VisualGPTScore α=α*"]
    assert zero.jobs[0] == best.jobs[0]  # one run serves both
    steps = run(store, zero.jobs[0])
    status = {s.line.label: s for s in papers.table_plan(store, "vgpt/10").lines}["BLIP, VisualGPTScore α=0"]
    found = dict(zip([c.head for c in status.line.cells], status.values, strict=True))
    alpha = steps[-1]["alpha"]["text_score"]
    assert found["Winoground TextScore"].mean == pytest.approx(alpha["alpha_0"]["value"], abs=1e-3)
    assert found["EqBen val TextScore"] is None and status.state == "missing"  # the line's other half
    assert alpha["alpha_0"]["value"] == steps[-1]["metrics"]["text_score"]["value"]
    assert alpha["best"]["value"] >= max(alpha["alpha_0"]["value"], alpha["alpha_1"]["value"])


def test_parts_by_tag_are_measured_apart(store, tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_DATA", str(tmp_path / "data"))
    test_readers.winoground(tmp_path / "data" / "winoground")
    monkeypatch.setattr("core.datasets.base.Benchmark._check", lambda *a: None)
    steps = run(store, MeasurementRun.of("winoground", "builtin/clip", tags=["UnusualText", "NoTag"]))
    parts = steps[-1]["parts"]
    assert {name: part["n_groups"] for name, part in parts.items()} == {"UnusualText": 1, "NoTag": 1}
    assert "alpha" not in parts["NoTag"] and "text_score" in parts["NoTag"]["metrics"]


def test_a_retrieval_set_is_measured_with_and_without_its_prior(store, monkeypatch):
    from core.debiasing import retrieval
    from core.scenes.retrieval import load_retrieval
    from core.scoring.retrieval import first_images

    small = first_images(load_retrieval("test"), 8, 30)
    monkeypatch.setattr(retrieval, "load_retrieval", lambda name, split="test": small)
    steps = run(store, MeasurementRun.of("scenes/retrieval", "builtin/blip-caption", prior="test"))
    record = steps[-1]
    assert (
        record["alpha"]["image_to_text_r1"]["alpha_0"]["value"]
        == record["metrics"]["image_to_text_r1"]["value"]
    )
    best = record["alpha"]["image_to_text_r1"]["best"]
    assert 0 <= best["alpha"] <= 1 and best["value"] >= record["metrics"]["image_to_text_r1"]["value"]
    # From text to image a prior takes the same from every image.
    side = record["alpha"]["text_to_image_r5"]
    assert side["alpha_0"]["value"] == side["alpha_1"]["value"]


def test_a_measurement_stops_when_it_is_asked_to(store):
    job = MeasurementRun.of("scenes/swap", "builtin/blind-lm")
    made = store.create(job.kind, "t", job.written())
    work = RunAttempt(store, made.id, store.queue_up(made.id))
    work.ask_to_stop()
    assert not carry_out(work, job) and store.steps(made.id) == []


# --- the paper's protocols


def test_table_4_takes_one_noise_image_and_imagenet_too():
    four = next(each for each in lines("vgpt/4") if each.label == "LLaVA-1.5, VisualGPTScore α=1")
    assert [(job.benchmark, job.settings.images) for job in four.jobs] == [
        ("winoground", 1),
        ("eqben/mini", 1),
    ]
    three = next(each for each in lines("vgpt/3a") if each.label == "BLIP, VisualGPTScore α=α*_val")
    how = {job.benchmark: (job.settings.prior, job.settings.images) for job in three.jobs}
    assert how["imagenet"] == ("gaussian", None) and null_count("imagenet") == 1
    assert how["coco"] == how["flickr30k"] == ("test", None) and how["winoground"] == ("gaussian", None)


def test_table_3a_has_the_mean_over_the_held_out_halves_where_it_prints_one():
    zero = next(each for each in lines("vgpt/3a") if each.label == "BLIP, VisualGPTScore α=0")
    cells = {cell.head: cell.base for cell in zero.cells}
    assert (
        cells["Winoground TextScore"] == "validated alpha_0" and cells["COCO image to text R@1"] == "alpha_0"
    )
    held = {"alpha_0": {"mean": 27.5, "std": 2.3}, "value": {"mean": 36.6, "std": 2.6}}
    record = {"alpha": {"text_score": {"validated": held, "alpha_0": {"value": 27.0}}}}
    cell = next(c for c in zero.cells if c.head == "Winoground TextScore")
    assert cell.read([record]) == 27.5


def test_metrics_and_tags_of_a_table_share_one_alpha_that_is_tuned_on_test():
    tables = {"vgpt/11": "BLIP, VisualGPTScore α=α*", "vgpt/12": "BLIP, VisualGPTScore α=α*"}
    for table, label in tables.items():
        line = next(each for each in lines(table) if each.label == label)
        assert {cell.base for cell in line.cells} == {"one_alpha"}
        assert all("one alpha, tuned on test" in cell.note for cell in line.cells)
    one, best = {"value": 11.7, "alpha": 0.98}, {"value": 13.0, "alpha": 0.7}
    cell = vgpt.AlphaCell("m", "group_score", "after", "group_score", "one_alpha")
    assert cell.read([{"alpha": {"group_score": {"one_alpha": one, "best": best}}}]) == 11.7
    # A run from before has each metric's own best alone, which is the table's for TextScore and for no other.
    assert cell.read([{"alpha": {"group_score": {"best": best}}}]) is None
    cell = vgpt.AlphaCell("m", "text_score", "after", "text_score", "one_alpha")
    assert cell.read([{"alpha": {"text_score": {"best": best}}}]) == 13.0


def test_subsets_that_the_paper_counts_as_one_set_have_one_alpha():
    """Replace: three subsets, whose mean is best where none of them is; Average: the mean of the kinds at theirs."""
    line = next(each for each in lines("vgpt/13") if each.label == "BLIP, VisualGPTScore α=α*")
    grids = {
        "replace_obj": [60, 66, 90], "replace_att": [90, 66, 60], "replace_rel": [60, 66, 30],
        "swap_obj": [10, 20, 30], "swap_att": [30, 20, 30], "add_obj": [50, 50, 50], "add_att": [70, 60, 50],
    }  # fmt: skip
    records = {i: [{"alpha_grid": grids[job.benchmark.partition("/")[2]]}] for i, job in enumerate(line.jobs)}
    found = {cell.head.split()[1]: cell.read_mean(records) for cell in line.cells}
    assert found == pytest.approx({"Replace": 70, "Swap": 30, "Add": 60, "Average": 160 / 3})
    assert next(iter(line.cells)).read_mean({i: [{"alpha": {}}] for i in records}) is None


def test_a_row_says_what_it_reads(store):
    def needs(table, label):
        return next(s.needs for s in papers.table_plan(store, table).lines if s.line.label == label)

    large = "vgpt:Salesforce/blip-image-captioning-large"
    assert needs("vgpt/7", "BLIP, VisualGPTScore α=α*_val, 3 null images") == [
        f"{name}, test and validation (for alpha); {large}; log P(t) from 3 Gaussian noise images"
        for name in ("coco", "flickr30k")
    ]
    assert needs("vgpt/8", "COCO, BLIP, VisualGPTScore") == [
        f"coco, test and validation (for alpha); {large}; log P(t) from all its own images"
    ]
    noise = needs("vgpt/4", "LLaVA-1.5, VisualGPTScore α=1")
    assert (
        noise[0] == "winoground, test; vgpt:llava-hf/llava-1.5-13b-hf; log P(t) from 1 Gaussian noise images"
    )
    assert needs("vgpt/10", "BLIP, ITC")[0] == "winoground, test; itc:Salesforce/blip-itm-large-coco"


def small_captioner(tmp_path, monkeypatch, *samples):
    """The data folders of `samples`, and a tiny captioner."""
    monkeypatch.setenv("CROSSMATCH_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("core.datasets.base.Benchmark._check", lambda *a: None)
    for make in samples:
        make(tmp_path / "data" / make.__name__)
    return f"vgpt:{build_blip(tmp_path / 'blip', 'BlipForConditionalGeneration')}"


def test_imagenet_is_measured_with_one_noise_image_and_the_alpha_of_the_one_shot_sample(
    tmp_path, monkeypatch
):
    model = small_captioner(tmp_path, monkeypatch, samples.imagenet)
    job = MeasurementRun.of("imagenet", model, prior="gaussian")
    with pytest.raises(InputError, match=r"holds no shot_1-seed_1\.json"):  # before anything is scored
        next(job.execute())
    samples.imagenet_one_shot(tmp_path / "data" / "imagenet")
    record = next(job.execute()).record
    by_alpha = record["alpha"]["accuracy_top1"]
    scores, relevant, captions = score_table("imagenet", "test", model)
    prior = load_scorer(model).prior(captions, 1)
    validation = score_table("imagenet", "validation", model)
    curve = recall_curve(validation.scores, prior, validation.relevant)
    alpha = by_alpha["validated"]["alpha"]
    assert alpha == curve.curve.best().alpha
    debiased, own = debias(scores, prior, alpha), relevant.T
    right = (debiased[own] > debiased[~own]).mean()  # two classes: one of each row is the image's own
    assert by_alpha["validated"]["value"] == pytest.approx(100 * right, abs=1e-3)


def test_a_dry_run_says_which_files_of_the_validation_split_are_missing(tmp_path, monkeypatch):
    small_captioner(tmp_path, monkeypatch, samples.imagenet)
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path / "home"))
    flickr = tmp_path / "data" / "flickr30k"
    samples.picture(flickr / "flickr30k-images/1.jpg")
    (flickr / "flickr30k_test.json").write_text('[{"image": "1.jpg", "caption": ["a", "b"]}]')
    row = "BLIP, VisualGPTScore α=α*_val"

    def told(name):
        words = ["reproduce", "vgpt/3a", "--dry-run", "--row", row]
        output = CliRunner().invoke(app, words).output
        return re.findall(rf"data of {name}: ([^;]*);", output)

    assert datasets.state("imagenet").startswith("found at")  # the test split is complete
    assert told("imagenet") == ["shot_1-seed_1.json and images/train"]
    assert datasets.state("flickr30k").startswith("found at")
    assert told("flickr30k") == ["flickr30k_val.json"]
    samples.imagenet_one_shot(tmp_path / "data" / "imagenet")
    (flickr / "flickr30k_val.json").write_text("[]")
    assert told("imagenet") == told("flickr30k") == []


def test_what_a_table_waits_for_is_said_once_and_its_rows_refer_to_it(tmp_path, monkeypatch):
    """`reproduce cola/1 --dry-run` repeated seven paragraphs under each of twelve rows, 345 lines in all."""
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path / "home"))
    output = CliRunner().invoke(app, ["reproduce", "cola/1"]).output
    blocks = output.split("\n\n")
    (first,) = (block for block in blocks if block.startswith("To get first:"))
    named = [line.partition(": ")[0] for line in first.splitlines()[1:]]
    assert len({*named}) == len(named) and "data of gqa" in output
    assert all(output.count(f"{name.partition('] ')[2]}: ") == 1 for name in named)
    numbers = {number for number, _, _ in (name[1:].partition("]") for name in named)}
    (linear,) = (block for block in blocks if block.startswith("CLIP, Linear"))
    asked = re.findall(r"\[(\d+)\]", linear.splitlines()[-1])
    assert asked and {*asked} <= numbers and len(output.splitlines()) < 250


@pytest.mark.parametrize("prior", ["test", "gaussian"])
def test_coco_and_flickr_have_their_alpha_from_validation_whatever_the_prior(tmp_path, monkeypatch, prior):
    model = small_captioner(tmp_path, monkeypatch, samples.flickr30k)
    record = next(MeasurementRun.of("flickr30k", model, prior=prior).execute()).record
    nulls = {s: score_table("flickr30k", s, model) for s in ("test", "validation")}
    priors = {
        split: prior_from_samples(table.scores)
        if prior == "test"
        else load_scorer(model).prior(table.captions, 3)
        for split, table in nulls.items()
    }
    curves = {s: recall_curve(t.scores, priors[s], t.relevant).curve for s, t in nulls.items()}
    chosen = curves["validation"].best()
    validated = record["alpha"]["image_to_text_r1"]["validated"]
    assert validated["alpha"] == chosen.alpha
    assert validated["value"] == pytest.approx(float(curves["test"].value(chosen.alpha)), abs=1e-3)
    assert record["alpha"]["image_to_text_r5"]["validated"]["alpha"] == validated["alpha"]
    read = {cell.head: cell.read([record]) for cell in lines("vgpt/8")[0].cells}
    assert read["α from validation"] == validated["alpha"]
    assert read["validation R@1 there (tuned on validation)"] == pytest.approx(chosen.value, abs=1e-3)
    assert read["test R@1, best α (tuned on test)"] == pytest.approx(curves["test"].values.max(), abs=1e-3)
    assert read["test R@1, α from validation"] == pytest.approx(validated["value"])


# --- the built-in world


def test_what_ships_of_the_captioner_stands_in_its_lines(store):
    import pandas as pd

    from core.base.paths import assets

    table = pd.read_csv(assets() / "results" / "alpha.csv")
    own = table[
        (table.prior == "gaussian") & (table.benchmark == "scenes/swap") & (table.metric == "text_score")
    ]
    wanted = dict(zip(own.setting, own.value, strict=True))
    status = next(s for s in papers.table_plan(store, "world/alpha").lines if "scenes/swap," in s.line.label)
    found = [spread.mean for spread in status.shipped]
    names = ("alpha 0", "alpha 1", "tuned on test, per row", "half/half x 10")
    assert found[:-1] == pytest.approx([wanted[name] for name in names])
    # Last what is quoted: of both halves alone, for alpha 0 above is of all groups.
    runs = map(json.loads, (assets() / "results" / "measured.jsonl").read_text("utf-8").splitlines())
    (held,) = (
        each["record"]["alpha"]["text_score"]["validated"]
        for each in runs
        if (each["run"]["benchmark"], each["run"]["model"]) == ("scenes/swap", "builtin/blip-caption")
    )
    assert found[-1] == pytest.approx(held["value"]["mean"] - held["alpha_0"]["mean"])
    assert held["value"]["mean"] == pytest.approx(wanted["half/half x 10"])
    assert status.seeds_needed == 1 and status.state == "ready"


def test_what_ships_of_the_strategies_stands_in_their_lines(store, tmp_path, monkeypatch):
    import pandas as pd

    rate = next(e.job.settings.lr for e in papers.lines("world/cola") if e.label.endswith("Linear"))
    facts = {"fusion": "mdetr", "mix": "hard", "trained": 10, "model": cola.PROTOCOL_BASE, "base_key": "x"}
    rows = [
        {**facts, "strategy": "base", "seed": -1, "lr": None, "metric": "cola_map", "part": "all", "value": 30.0},
        *(
            {**facts, "strategy": "linear", "seed": s, "lr": rate, "metric": m, "part": "all", "value": v}
            for s, m, v in ((0, "cola_map", 32.0), (1, "cola_map", 34.0), (0, "crepe", 60.0), (1, "crepe", 62.0))
        ),
    ]  # fmt: skip
    (tmp_path / "results").mkdir()
    pd.DataFrame(rows).to_csv(tmp_path / "results" / "cola.csv", index=False)
    monkeypatch.setattr(sys.modules[measured.__module__], "assets", lambda: tmp_path)
    measured.cache_clear()
    try:
        found = {s.line.label: s.shipped for s in papers.table_plan(store, "world/cola").lines}
    finally:
        measured.cache_clear()
    before, linear = found["built-in world, before (builtin/clip-details)"], found["built-in world, Linear"]
    assert before[0].mean == 30.0
    assert (linear[0].mean, linear[0].seeds) == (33.0, 2)
    assert [e.mean for e in linear if e][-1] == 61.0
    assert found["built-in world, FT all"] == (None,) * len(linear)


def test_lines_that_share_a_run_launch_it_once(store, monkeypatch):
    launched = []

    def launch(store, run_id, module="core.worker", at_once=None):
        attempt = store.queue_up(run_id)
        launched.append(store.get(run_id).config["adapt"]["strategy"])
        test = {"retrieval": {"cola_map": {"all": {"value": 1.0}}}}
        for i in range(store.get(run_id).config["adapt"]["epochs"] + 1):
            record = {
                "iteration": i,
                "metrics": {},
                "seconds": 1.0,
                "test": test,
                "parameters": {"trained": 1},
            }
            store.append_step(run_id, record, attempt)
        store.conclude(run_id, attempt, "finished")
        return store.get(run_id)

    monkeypatch.setattr("core.runs.engine.launch", launch)
    found = papers.run_table(store, "world/cola", seeds=1, pause=0.01)
    assert sorted(set(launched)) == sorted(STRATEGIES)  # `before` is one of Linear's
    assert {launched.count(name) for name in STRATEGIES} == {3}  # a protocol of three seeds
    assert {s.state for s in found.lines} == {"done"}
    assert found.lines[0].values[0].mean == 1.0


def test_only_what_is_in_percent_is_drawn():
    from core import figures

    record = papers.table_plan(RunStore(), "cola/3").record()
    data = figures.papers_data(record)
    assert all(UNITS[metric] == "percent" for metric in data.metrics) and len(data.results) == 3
    looks = {trace.marker.symbol.removesuffix("-open") for trace in figures.papers_figure(data).data}
    assert len(looks) == 3
    assert table_html._heading(record["lines"][0]["cells"][0]) == data.results[0]


@pytest.mark.parametrize("name", [*papers.TABLES])
def test_no_two_columns_of_a_table_s_figure_look_alike_and_none_of_its_rows_is_blank(name):
    from core import figures
    from core.figures._papers import _looks

    data = figures.papers_data(papers.table_plan(RunStore(), name).record())
    looks = _looks(data)
    assert len(set(looks)) == len(looks) == len(data.results)
    drawn = figures.papers_figure(data).data
    rows = {
        text for trace in drawn if not (trace.name or "chance").startswith("chance") for text in trace.text
    }
    assert not drawn or rows == set(data.lines)


def test_in_the_figure_of_cola_a_colour_is_a_data_set_and_a_mark_a_part_of_its_queries():
    from core import figures

    data = figures.papers_data(papers.table_plan(RunStore(), "cola/1").record())
    drawn = {trace.name: trace.marker for trace in figures.papers_figure(data).data}
    assert len({(marker.color, marker.symbol) for marker in drawn.values()}) == len(drawn) == 12
    colours = {marker.color for name, marker in drawn.items() if name.startswith("PACO ")}
    marks = {m.symbol for name, m in drawn.items() if "unseen" in name}
    assert len(colours) == len(marks) == 1
