"""Tables cell by cell: which run fills which cell, what is missing, how long it takes, and going on."""

import json

import pytest

from core import datasets, papers
from core.base.errors import InputError
from core.datasets.paper_results import reference
from core.papers import background
from core.papers._tables import SEEDS, TABLES, lines
from core.runs import engine
from core.runs.store import RunStore
from core.ttm import time_left
from core.ttm.config import PRESETS
from core.ttm.run import SimpleMatchRun, TTMRun


def estimate(value):
    return {"value": value, "low": value, "high": value, "chance": 50.0, "ties": 0}


def step(iteration, score, match, seconds=6.0):
    metrics = {
        "group_score": estimate(score),
        "group_match": estimate(match),
        "global_match": estimate(match),
    }
    return {
        "iteration": iteration, "metrics": metrics, "n_groups": 300, "seconds": seconds, "fitted": None,
        "parts": {"adapted": {"metrics": metrics}, "untouched": {"metrics": metrics}},
    }  # fmt: skip


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs")


@pytest.fixture
def quick(monkeypatch):
    """Launched runs finish at once."""

    def launch(store, run_id, module="core.worker", at_once=None):
        attempt = store.queue_up(run_id)
        finish(store, run_id, attempt)
        return store.get(run_id)

    monkeypatch.setattr(engine, "launch", launch)


def finish(store, run_id, attempt=None, first=(10.0, 60.0), last=(70.0, 80.0), upto=None, seconds=6.0):
    run = store.get(run_id)
    attempt = store.queue_up(run_id) if attempt is None else attempt
    kind = run.kind
    total = run.config[kind]["iterations"] if kind == "ttm" else 1
    seed = run.config[kind]["seed"]
    for i in range(total + 1 if upto is None else upto + 1):
        values = first if i == 0 else (last[0] + seed, last[1] + seed)
        store.append_step(run_id, step(i, *values, seconds), attempt)
    store.conclude(run_id, attempt, "finished" if upto is None else "stopped")


def run_of(store, job, seed=0, **more):
    run = store.create(job.kind, "t", job.with_seed(seed).written())
    finish(store, run.id, **more)
    return run


# The tables


def test_every_number_of_the_paper_s_tables_of_results_has_its_cell():
    for number, rows in ((1, 54), (2, 18), (6, 20), (7, 10), (8, 24), (9, 42)):
        cells = [cell for line in lines(f"ttm/{number}") for cell in line.cells]
        table = reference("TTM", f"Table {number}")
        assert len(table) == rows
        paper = {(c.method, c.metric, c.paper) for c in cells}
        assert paper == set(zip(table["method"], table["metric"], table["value"], strict=True))


def test_every_line_of_the_paper_s_tables_is_its_preset_on_a_benchmark_that_exists():
    for name in ("ttm/1", "ttm/2", "ttm/6", "ttm/7", "ttm/8", "ttm/9"):
        for line in lines(name):
            if line.job.kind == "measure":
                assert "GPT-4.1" in line.label and line.job.model == "api:gpt-4.1-2025-04-14"
                continue
            assert line.job.benchmark in datasets.names()
            preset = PRESETS[line.job.preset]
            assert (preset.dataset, preset.model) == (line.job.benchmark, line.job.model)
            changed = {k for k, v in preset.config.to_dict().items() if line.job.settings.to_dict()[k] != v}
            assert changed <= ({"iterations"} if name == "ttm/9" else set())


def test_every_preset_of_the_paper_is_used_by_a_table():
    jobs = [line.job for name in TABLES if name.startswith("ttm/") for line in lines(name)]
    used = {job.preset for job in jobs if job.kind == "ttm"}
    assert used == {name for name, preset in PRESETS.items() if "Table" in preset.source}


def test_table_2_is_the_global_variant_and_table_9_varies_the_iterations():
    assert all(line.job.settings.variant == "global" for line in lines("ttm/2"))
    assert [line.job.settings.iterations for line in lines("ttm/9")] == [3, 5, 10] * 3


def test_the_world_s_tables_cover_every_set_and_every_model_that_can_be_adapted():
    built_in = [name for name in datasets.names() if name.startswith("scenes/")]
    sets = [name for name in built_in if not name.endswith("@global")]
    jobs = [line.job for line in lines("world") if line.job.model == "builtin/clip"]
    assert [(j.benchmark, j.kind) for j in jobs] == [(s, k) for s in sets for k in ("ttm", "simplematch")]
    assert not any("blind" in line.label for line in lines("world"))
    assert [line.job.settings.schedule for line in lines("world/schedules")] == [
        "linear", "cosine", "constant", "ascending",
    ]  # fmt: skip
    assert [line.job.settings.iterations for line in lines("world/iterations")] == [1, 3, 5, 10]
    assert [line.job.oracle for line in lines("world/oracle")] == [False, True]
    assert all(line.job.adapt_on == 0.5 for line in lines("world/transfer"))
    wide = [line.job for line in lines("world/global")]
    assert all(job.settings.threshold_mode == "relative" for job in wide)
    assert {job.benchmark for job in wide} == set(built_in) - set(sets)


def test_an_unknown_table_suggests_the_nearest(store):
    with pytest.raises(InputError, match="did you mean 'ttm/1'"):
        papers.table_plan(store, "ttm/11")


# Cells


def cell(line, method, metric):
    return next(c for c in line.cells if (c.method, c.metric) == (method, metric))


def test_gains_are_over_what_the_paper_says_they_are_over():
    records = [step(0, 10.0, 60.0), step(1, 30.0, 80.0)]
    line = lines("ttm/1")[1]
    assert cell(line, "raw", "group_score").read(records) == 10.0
    assert cell(line, "SimpleMatch", "group_match").read(records) == 60.0
    assert cell(line, "TTM", "group_match").read(records) == 80.0
    assert cell(line, "TTM", "absolute_gain").read(records) == 20.0
    assert cell(line, "TTM", "relative_gain").read(records) == pytest.approx(100 * 20 / 60)
    assert cell(line, "TTM", "error_reduction").read(records) == pytest.approx(50.0)
    over_raw = lines("ttm/7")[0]
    assert cell(over_raw, "TTM", "absolute_gain").read(records) == 20.0  # 10 -> 30, GroupScore
    assert cell(over_raw, "TTM", "relative_gain").read(records) == pytest.approx(200.0)


def test_a_gain_over_nothing_or_of_no_error_is_left_empty():
    line = lines("ttm/8")[0]
    assert cell(line, "TTM", "relative_gain").read([step(0, 0, 0.0), step(1, 0, 5.0)]) is None
    assert cell(line, "TTM", "error_reduction").read([step(0, 0, 100.0), step(1, 0, 100.0)]) is None


def test_cells_of_a_part_read_that_part():
    records = [step(0, 1.0, 2.0), step(1, 3.0, 4.0)]
    records[1]["parts"]["untouched"]["metrics"] = {"group_match": estimate(9.0)}
    cells = lines("world/transfer")[0].cells
    found = {(c.part, c.method, c.metric): c.read(records) for c in cells}
    assert found["untouched", "TTM", "group_match"] == 9.0
    assert found["adapted", "TTM", "group_match"] == 4.0
    assert found["untouched", "TTM", "group_score"] is None


def test_the_paper_s_own_gains_follow_from_its_numbers_by_the_same_formulas():
    """The formulas against every row of Table 1, as printed."""
    for line in lines("ttm/1"):
        if line.job.kind == "measure":  # a served model is not adapted
            continue
        base, after = (cell(line, m, "group_match").paper for m in ("SimpleMatch", "TTM"))
        records = [step(0, 0.0, base), step(1, 0.0, after)]
        for metric in ("absolute_gain", "relative_gain", "error_reduction"):
            mine = cell(line, "TTM", metric)
            assert mine.read(records) == pytest.approx(mine.paper, abs=0.11)


# Plans


def test_a_plan_sets_yours_beside_the_paper_s_and_says_what_is_missing(store):
    line = lines("ttm/1")[1]
    for seed in (0, 1):
        run_of(store, line.job, seed)
    found = papers.table_plan(store, "ttm/1")
    status = found.lines[1]
    assert (status.state, status.complete) == ("missing", (0, 1))  # neither data nor weights are here
    assert (
        status.missing[0].startswith("data of winoground: ") and "accept the conditions" in status.missing[0]
    )
    assert "run `hf download openai/clip-vit-base-patch16`" in status.missing[1]
    mine = dict(zip([(c.method, c.metric) for c in status.line.cells], status.values, strict=True))
    assert mine["TTM", "group_match"] == (80.5, 0.5, 2)  # 80 and 81, divided by n as the paper does
    assert mine["raw", "group_score"] == (10.0, 0.0, 2)
    assert "an endpoint for gpt-4.1" in found.lines[0].missing[1]
    record = found.record()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["lines"][1]["cells"][2]["paper"] == 65.44


@pytest.mark.parametrize(
    "change",
    [
        {"oracle": True}, {"groups": 100}, {"adapt_on": 0.5}, {"model": "builtin/other"}, {"split": "validation"},
        {"settings": {"lr": 1.0}}, {"settings": {"iterations": 3}}, {"settings": {"lora_rank": 4}},
    ],
)  # fmt: skip
def test_runs_with_other_settings_do_not_count(store, change):
    job = TTMRun.of("scenes/left-right", "builtin/clip")
    other = job.model_copy(update={**change, "settings": job.settings.updated(change.get("settings", {}))})
    run_of(store, other)
    assert papers.table_plan(store, "world/oracle").lines[0].complete == ()
    assert not job.same(other.written())
    settings = job.settings.updated({"seed": 9, "micro_batch": 10})
    same = job.model_copy(update={"group": "g-1", "device": "cpu", "settings": settings})
    assert job.same(same.written())


def test_a_stopped_run_counts_for_nothing_yet_and_a_line_is_done_with_all_seeds(store):
    job = lines("world/schedules")[0].job
    run_of(store, job, 0, upto=3)
    first = papers.table_plan(store, "world/schedules").lines[0]
    assert (first.state, first.complete, first.values[0]) == ("stopped", (), None)
    for seed in range(SEEDS):
        run_of(store, job, seed)
    done = papers.table_plan(store, "world/schedules").lines[0]
    assert (done.state, done.seconds, done.values[2].seeds) == ("done", None, 4)
    # The same run is a line of other tables too.
    assert papers.table_plan(store, "world/oracle").lines[0].state == "done"


def test_a_table_is_worked_through_and_goes_on_where_it_was(store, quick):
    job = lines("world/schedules")[0].job
    cut = run_of(store, job, 1, upto=3)
    told = []
    found = papers.run_table(store, "world/schedules", seeds=2, report=told.append, pause=0)
    assert [status.state for status in found.lines] == ["done"] * 4
    assert store.get(cut.id).attempt == 2  # resumed, not begun anew
    assert len(store.list()) == 8
    assert sum(line.startswith("finished") for line in told) == 8
    groups = [{store.get(i).config.get("group") for i in status.runs} for status in found.lines]
    assert all(len(g - {None}) == 1 for g in groups)  # a line's seeds belong together
    again = papers.run_table(store, "world/schedules", seeds=2, report=told.append, pause=0)
    assert again.record()["lines"] == found.record()["lines"] and len(store.list()) == 8


def test_a_run_that_is_deleted_meanwhile_does_not_hold_up_its_table(store, monkeypatch):
    """As in a sweep: whoever deletes a run that is at work ends the wait for it, and nothing else."""

    def launch(store, run_id, at_once=None):
        store.delete(run_id) if not deleted else finish(store, run_id)
        deleted.append(run_id)

    deleted: list[str] = []
    monkeypatch.setattr(engine, "launch", launch)
    found = papers.run_table(store, "world/oracle", seeds=1, pause=0)
    assert [status.state for status in found.lines] == ["ready", "done"]


def test_what_is_missing_is_not_started(store, quick):
    status = papers.table_plan(store, "ttm/7").lines[0]
    status.start(store)
    assert papers.run_table(store, "ttm/7", pause=0).lines[0].state == "missing"
    assert store.list() == []


# Time


def test_time_comes_from_the_most_similar_finished_run(store):
    job = TTMRun.of("scenes/left-right", "builtin/clip", options={"iterations": 2, "epochs": 3})
    assert time_left._seconds_per_iteration(store, job).source == "a rough estimate"
    # A run on embeddings is mostly the start of its process, which every seed has: one and four had one estimate.
    small = TTMRun.of_file("mine.npz", options={"iterations": 2, "epochs": 3})
    assert time_left.expected_seconds(store, small, 10)[0] == pytest.approx(3.0 + 0.0001 * 10 * 6)
    assert time_left.expected_seconds(store, TTMRun.of("b", "openai/nothing-here"), 10) == (
        None,
        "no earlier run to go by",
    )
    other = TTMRun.of("scenes/add", "builtin/clip", options={"iterations": 2, "epochs": 1})
    run_of(store, other)
    # 2 iterations of 6 s, 300 groups, 1 epoch: 0.02 s for a group and epoch.
    assert time_left._seconds_per_iteration(store, job)[:2] == (pytest.approx(0.02), "this model")
    run_of(store, job)
    assert time_left._seconds_per_iteration(store, job)[:2] == (pytest.approx(0.02 / 3), "this model and set")
    assert time_left.expected_seconds(store, job, 150) == (pytest.approx(3.0 + 6.0), "this model and set")
    assert (
        time_left._seconds_per_iteration(store, SimpleMatchRun.of("scenes/add", "builtin/clip")).source
        == "a rough estimate"
    )


def test_time_is_that_of_the_median_of_several_runs_and_of_seconds_says_no_more_than_a_minute(store):
    """“1 s to 3 s” of a run that took 15 s, as earlier ones had a quiet machine; then “10 s to 35 s” of one of 4 s."""
    job = TTMRun.of("scenes/left-right", "builtin/clip", options={"iterations": 2, "epochs": 3})
    for seed, seconds in enumerate((6.0, 60.0, 9.0)):  # one of a busy machine
        run_of(store, job, seed, seconds=seconds)
    # 2 iterations of 9 s, on 300 groups; half of them take half. The process starts in 3 s.
    assert time_left.expected_seconds(store, job, 150)[0] == pytest.approx(3.0 + 9.0)
    file = TTMRun.of_file("mine.npz", options={"iterations": 3, "epochs": 5})
    for seed in (0, 1):
        run_of(store, file, seed, seconds=0.2)
    seconds = time_left.expected_seconds(store, file, 300)[0]
    assert seconds == pytest.approx(3.0 + 3 * 0.2)
    assert time_left._span(seconds) == "under a minute"
    assert time_left._span(20.0) == "under a minute"
    assert time_left._span(25.0) == "about 10 s to 2 min"  # 12.5 s, and three times 25


def test_simplematch_is_not_expected_to_go_on_to_its_last_round(store):
    """It ends when all pseudo-labels pass. Of 30 rounds "2 to 7 min" were told, and 6 rounds took 39 s."""
    job = SimpleMatchRun.of("scenes/left-right", "builtin/clip", preset="simplematch/builtin")
    assert (job.settings.rounds, job.settings.epochs) == (30, 5)
    seconds, _ = time_left.expected_seconds(store, job, 300)
    assert seconds == pytest.approx(3 + 300 * 0.006 * 5 * 6)
    assert time_left._span(seconds) == "about 25 s to 2 min"  # 39 s on a quiet machine, 79 s on a busy one
    few = SimpleMatchRun.of("scenes/left-right", "builtin/clip", options={"rounds": 2})
    assert time_left.expected_seconds(store, few, 300)[0] == pytest.approx(3 + 300 * 0.006 * 5 * 2)
    run_of(store, job, upto=0)  # one that was stopped says nothing
    assert time_left.expected_seconds(store, job, 300)[0] == seconds
    run_of(store, job)  # which ended after its first round of 6 s
    assert time_left.expected_seconds(store, job, 300)[0] == pytest.approx(3.0 + 6.0, abs=0.5)
    twice = SimpleMatchRun.of(
        "scenes/left-right", "builtin/clip", options={"epochs": 2}
    )  # 5 epochs: 3 rounds of 2
    assert time_left.expected_seconds(store, twice, 300)[0] == pytest.approx(3.0 + 6.0 * 6 / 5, abs=0.5)


def test_another_model_s_pace_is_scaled_by_the_size_of_the_weights(store, tmp_path):
    for name, size in (("small", 1000), ("large", 5000)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes(b"0" * size)
    small, large = (
        TTMRun.of("b", str(tmp_path / n), options={"iterations": 2, "epochs": 1}) for n in ("small", "large")
    )
    run_of(store, small)
    assert time_left._seconds_per_iteration(store, large)[:2] == (
        pytest.approx(0.1),
        "another model, by size",
    )


# In the background


def test_a_table_is_worked_through_by_a_process_of_its_own_once(store, monkeypatch):
    import os

    started = []
    me = background.processes.ProcessIdentity.of(os.getpid())
    monkeypatch.setattr(background.processes, "start_module", lambda *a: started.append(a) or me)
    assert not background.is_working(store, "world/oracle")
    background.start_table(store, "world/oracle", 2)
    assert background.is_working(store, "world/oracle") and not background.is_working(store, "world")
    background.start_table(store, "world/oracle", 2)
    assert [(a[0], a[1]) for a in started] == [
        ("core.papers.background", [str(store.root), "world/oracle", "2"])
    ]
    with pytest.raises(InputError, match="did you mean"):
        background.start_table(store, "world/oracles", 2)


def test_stopping_a_table_stops_its_runs_and_launches_no_more(store, monkeypatch):
    nudged = []
    monkeypatch.setattr(
        background.processes.ProcessIdentity, "terminate", lambda process: nudged.append(process)
    )
    path = store.root / "tables" / "world-schedules.json"
    path.parent.mkdir()
    path.write_text('{"pid": 1, "created": 0.0, "host": "h"}')
    job = lines("world/schedules")[0].job
    waiting = store.create("ttm", "t", job.written())
    store.queue_up(waiting.id)
    background.stop_table(store, "world/schedules", 4)
    assert store.get(waiting.id).status == "stopped" and nudged[0].pid == 1


def test_the_process_works_through_what_can_run(store, quick):
    background._main([str(store.root), "world/oracle", "1"])
    assert [s.state for s in papers.table_plan(store, "world/oracle", 1).lines] == ["done", "done"]


# What stands beside a paper's number; one row; what it takes


def test_beside_the_paper_s_deviation_stands_the_same_statistic_and_it_is_named(store):
    """[TTM] Table 1 divides by n: 0.43 of ColorSwap over 1,200 pairs fits no division by n - 1."""
    line = lines("ttm/1")[1]
    ours = lines("world/oracle")[0]
    for seed in range(SEEDS):
        run_of(store, line.job, seed)  # GroupMatch 80, 81, 82, 83 after
        run_of(store, ours.job, seed)
    plan = papers.table_plan(store, "ttm/1")
    assert plan.lines[1].values[line.cells.index(cell(line, "TTM", "group_match"))].std == pytest.approx(
        1.25**0.5
    )
    assert plan.record()["deviation"] == "population (divided by n), as the paper's"
    plan = papers.table_plan(store, "world/oracle")
    assert plan.lines[0].values[ours.cells.index(cell(ours, "TTM", "group_match"))].std == pytest.approx(
        (5 / 3) ** 0.5
    )
    assert plan.record()["deviation"] == "sample (divided by n − 1)"


def test_a_row_is_chosen_by_its_label_or_how_it_begins(store):
    plan = papers.table_plan(store, "ttm/1", row="winoground, siglip-b16")
    assert [status.line.label for status in plan.lines] == ["Winoground, SigLIP-B16"]
    assert len(papers.table_plan(store, "ttm/1", row="MMVP").lines) == 3
    with pytest.raises(
        InputError, match=r"Unknown row of ttm/1 'Winogroud, SigLIP-B16'; did you mean 'Winoground"
    ):
        papers.table_plan(store, "ttm/1", row="Winogroud, SigLIP-B16")


def test_a_served_model_s_row_is_a_measurement_that_waits_for_an_endpoint(store, monkeypatch):
    for name in ("OPENAI_API_KEY", "CROSSMATCH_API_KEY", "OPENAI_BASE_URL", "CROSSMATCH_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    status = papers.table_plan(store, "ttm/1").lines[0]
    assert (status.line.label, status.line.job.kind, status.seeds_needed) == (
        "Winoground, GPT-4.1",
        "measure",
        1,
    )
    assert any("an endpoint for gpt-4.1-2025-04-14: set OPENAI_API_KEY" in what for what in status.missing)
    monkeypatch.setenv("CROSSMATCH_API_BASE", "http://localhost:9/v1")
    assert not any("endpoint" in what for what in papers.table_plan(store, "ttm/1").lines[0].missing)
    run = store.create("measure", "t", status.line.job.written())
    attempt = store.queue_up(run.id)
    store.append_step(run.id, step(0, 69.0, 91.0), attempt)
    store.conclude(run.id, attempt, "finished")
    done = papers.table_plan(store, "ttm/1").lines[0]
    assert done.state == "done" and [value.mean for value in done.values] == [69.0, 91.0]


def test_the_paper_s_figures_are_runs_on_real_sets():
    schedules = [line.job.settings.schedule for line in lines("ttm/fig2")]
    assert schedules == ["linear", "constant", "ascending"]
    assert all(line.job.benchmark == "winoground" for line in lines("ttm/fig2"))
    raw, skyline, first = lines("ttm/fig4")[:2], lines("ttm/fig4")[2:4], lines("ttm/fig4")[4:]
    assert [[job.benchmark for job in line.jobs] for line in raw] == [["winoground", "winoground@global"]] * 2
    assert [line.job.oracle for line in skyline] == [False, True]
    assert [line.job.settings.tau_first for line in first] == [2.5, 2.0, 1.5]
    assert [cell(line, "TTM", "coverage").paper for line in first] == [18, 21, 30]
    records = [{**step(i, 1.0, 2.0), "coverage": share} for i, share in enumerate((None, 0.18, 0.6))]
    assert cell(first[0], "TTM", "coverage").read(records) == 18.0


def test_a_dry_run_says_how_long_a_row_takes_by_a_trial(store, monkeypatch):
    from core.runs.description import Iteration
    from core.ttm.run import AdaptationRun

    tried = []

    def execute(job):
        tried.append((job.groups, job.settings.epochs, job.settings.iterations, job.oracle))
        return iter([Iteration(step(0, 1.0, 2.0), {}), Iteration(step(1, 1.0, 2.0, seconds=4.0), {})])

    monkeypatch.setattr(AdaptationRun, "execute", execute)
    plan = papers.table_plan(store, "world/oracle", seeds=2).with_trials()
    assert tried == [(8, 1, 1, False)] * 2
    assert plan.lines[0].needs == ["scenes/left-right, test; builtin/clip"]
    # 4 s for 8 groups and an epoch: 300 groups, 5 epochs, 10 iterations, 2 seeds
    assert [(s.seconds, s.time_source) for s in plan.lines] == [(4 / 8 * 300 * 5 * 10 * 2, "a trial")] * 2
