"""The ablations of test-time matching: what a study consists of, what is written down, what the figures show."""

import csv

import numpy as np
import pandas as pd
import pytest

from benchmarks.results import ablations as study
from benchmarks.results import generative, shifts
from benchmarks.results import table as built_in
from core.base.errors import InputError
from core.figures import ablations

CELL = study.Cell("ttm", "builtin/clip", study.LEFT_RIGHT, "preset", 0)


def estimate(value):
    return {"value": value, "low": value - 5, "high": value + 5, "chance": 50.0, "ties": 2}


def record(iteration, match, score=10.0, **more):
    metrics = {"group_match": estimate(match), "group_score": estimate(score)}
    own = {
        "threshold": None,
        "coverage": None,
        "precision": None,
        "fitted": None,
        "loss": None,
        "seconds": 1.5,
    }
    return {"iteration": iteration, "metrics": metrics, "n_groups": 300, **own, **more}


def table(*runs):
    """Runs as (cell, GroupMatch, GroupScore per iteration) -> the file's rows; coverage 0.2, precision 0.8."""
    rows = []
    for cell, matches, scores in runs:
        for i, (match, score) in enumerate(zip(matches, scores, strict=True)):
            shares = {"coverage": 0.2, "precision": 0.8} if i else {}
            rows += study.rows_of(cell, record(i, match, score, **shares))
    return pd.DataFrame(rows, columns=study.COLUMNS)


def line(setting, *seeds, name=study.LEFT_RIGHT, model="builtin/clip"):
    """Runs of one setting: GroupMatch per iteration of every seed; GroupScore is half of it."""
    cells = [study.Cell("ttm", model, name, setting, seed) for seed in range(len(seeds))]
    return [(cell, values, [v / 2 for v in values]) for cell, values in zip(cells, seeds, strict=True)]


# What is run


def test_every_cell_of_every_study_is_a_valid_description_and_differs_from_the_preset_as_it_says():
    for cells in study.STUDIES.values():
        assert len(set(cells)) == len(cells)
        for cell in cells:
            job = study.job_of(cell)
            assert job.seed == cell.seed
    first = study.job_of(CELL._replace(setting="coverage_first=0.3"))
    assert first.settings.coverage_first == 0.3 and not first.oracle
    assert study.job_of(CELL._replace(setting="oracle=1")).oracle is True
    assert study.job_of(CELL._replace(setting="adapt_on=0.5")).adapt_on == 0.5
    assert study.job_of(CELL._replace(setting="iterations=3")).total == 3
    wide = study.job_of(CELL._replace(setting="variant=global threshold_mode=relative")).settings
    assert (wide.variant, wide.threshold_mode, wide.coverage_first) == ("global", "relative", None)
    kept = study.job_of(CELL._replace(setting="keep_optimizer=1")).settings
    assert kept.keep_optimizer is True and not study.job_of(CELL).settings.keep_optimizer


def test_studies_cover_what_the_paper_ablates_with_four_seeds():
    settings = {c.setting for name in ("schedules", "first", "iterations") for c in study.STUDIES[name]}
    assert settings >= {
        "schedule=cosine",
        "schedule=constant",
        "schedule=ascending",
        "oracle=1",
        "iterations=3",
    }
    for cells in study.STUDIES.values():
        assert {c.seed for c in cells} == {0, 1, 2, 3}


def small(cell):
    """The run on eight groups, one epoch, two iterations or rounds at most: its records."""
    job, short = study.job_of(cell), {"epochs": 1, "batch": 4}
    short |= {"rounds": 2} if cell.kind == "simplematch" else {"iterations": min(2, job.total)}
    job = job.model_copy(update={"groups": 8, "settings": job.settings.updated(short)})
    return [done.record for done in job.execute()]


@pytest.mark.parametrize("setting", sorted({c.setting for cells in study.STUDIES.values() for c in cells}))
def test_every_variant_that_is_ablated_runs_on_the_built_in_model(setting):
    records = small(CELL._replace(setting=setting))
    assert [r["iteration"] for r in records] == list(range(len(records))) and len(records) in (2, 3)
    for r in records[1:]:
        assert r["skipped"] or np.isfinite(r["loss"])
        assert 0 <= r["coverage"] <= 1 and (r["skipped"] or 0 <= r["precision"] <= 1)
    if setting == "oracle=1":
        assert all(r["precision"] == 1 for r in records[1:] if not r["skipped"])
    rows = [row for r in records for row in study.rows_of(CELL, r)]
    assert set(rows[0]) <= set(study.COLUMNS)
    assert len(rows) == len(records) * (3 if setting == "adapt_on=0.5" else 1)
    assert ("global_match" in rows[0]) == ("variant=global" in setting)


@pytest.mark.parametrize("kind", ["ttm", "simplematch"])
@pytest.mark.parametrize("name", ["two-of-four", "triples", "relations-1x4", "word-order", "add"])
def test_every_shape_of_the_built_in_sets_runs_on_the_sigmoid_model(name, kind):
    records = small(study.Cell(kind, "builtin/siglip", f"scenes/{name}", "preset", 0))
    assert len(records) > 1 and np.isfinite(records[1]["loss"])


# What is written down


def test_a_transfer_check_has_a_row_for_each_part():
    part = {"n_groups": 150, "metrics": record(0, 80.0)["metrics"]}
    rows = list(study.rows_of(CELL, record(3, 70.0, parts={"adapted": part, "untouched": part})))
    assert [(r["part"], r["groups"], r["group_match"]) for r in rows] == [
        ("all", 300, 70.0),
        ("adapted", 150, 80.0),
        ("untouched", 150, 80.0),
    ]
    assert (rows[0]["group_match_low"], rows[0]["group_match_high"], rows[0]["chance"], rows[0]["ties"]) == (
        *(65.0, 75.0),
        *(50.0, 2),
    )


def test_a_run_that_is_there_is_not_repeated_and_a_killed_one_is(tmp_path, monkeypatch):
    done = []

    def measure(cell):
        done.append(cell)
        if len(done) == 3:
            raise KeyboardInterrupt
        return list(study.rows_of(cell, record(0, 60.0)))

    cells = [CELL._replace(seed=seed) for seed in range(4)]
    monkeypatch.setattr(study, "OUT", tmp_path / "out.csv")
    monkeypatch.setattr(study, "STUDIES", {"few": cells})
    monkeypatch.setattr(study, "measure", measure)
    study.append(list(study.rows_of(cells[1], record(0, 60.0))))
    monkeypatch.setattr("sys.argv", ["ablations"])
    with pytest.raises(KeyboardInterrupt):
        study.main()
    study.main()
    # Seed 1 was there, seed 3 was begun first in vain.
    assert [c.seed for c in done] == [0, 2, 3, 3]
    assert study.measured() == set(cells)
    with (tmp_path / "out.csv").open(newline="") as file:
        assert csv.DictReader(file).fieldnames == study.COLUMNS


def test_tables_say_how_many_seeds_there_are_and_leave_out_what_was_not_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "OUT", tmp_path / "out.csv")
    runs = [*line("preset", [60.0, 70.0], [60.0, 74.0]), *line("iterations=1", [60.0, 62.0])]
    study.append(table(*runs).to_dict("records"))
    found = study.tables()
    assert (
        "| ttm builtin/clip scenes/left-right preset | 2 | 60.0 [55.0, 65.0], chance 50.0 | 72.0 ± 2.8 |"
        in found
    )
    assert "+10.0 +14.0 | 2 | 30.0 | 36.0 ± 1.4 | 80.0 ± 0.0 to 80.0 ± 0.0 |" in found
    assert "iterations=1 | 1 |" in found and "62.0 | +2.0 |" in found
    assert "siglip" not in found and "oracle=1" not in found


def test_the_shipped_rows_are_whole_runs_of_known_cells():
    found = ablations.ablations()
    assert list(found.columns) == study.COLUMNS
    known = {cell for cells in study.STUDIES.values() for cell in cells}
    assert study.measured() <= known
    for run, rows in found[found.part == "all"].groupby(list(study.RUN)):
        assert rows.iteration.tolist() == list(range(len(rows))), run
        cell = study.Cell(*run)
        if cell.kind == "ttm":
            assert len(rows) == 1 + study.job_of(cell).total, run
    assert (found.group_match_low <= found.group_match).all() and (
        found.group_match <= found.group_match_high
    ).all()
    # Nothing is adapted before iteration 1: all runs of a model on a set start from the same number.
    starts = found[(found.iteration == 0) & (found.part == "all")].groupby(["model", "benchmark"]).group_match
    assert (starts.nunique() == 1).all()


# What the figures show


def test_curves_are_means_and_deviations_over_seeds_by_setting():
    data = ablations.curves_data(
        table(*line("preset", [60.0, 70.0], [60.0, 74.0]), *line("schedule=constant", [60.0, 62.0]))
    )
    assert data.names == ["linear", "constant"] and data.seeds == [2, 1]
    assert data.mean.tolist() == [[60, 72], [60, 62]]
    assert data.std[0].tolist() == pytest.approx([0, np.sqrt(8)])  # of 70 and 74: ((-2)^2 + 2^2) / 1
    assert np.isnan(data.std[1]).all()
    assert data.coverage[0, 1] == pytest.approx(20) and data.precision[0, 1] == pytest.approx(80)
    assert np.isnan(data.coverage[0, 0]) and data.chance == 50
    drawn = ablations.curves_figure(data).data
    assert len(drawn) == 5 and drawn[-1].name == "chance: GroupMatch 50 %"  # a band and a line each


def test_a_shorter_run_ends_where_it_ends():
    data = ablations.curves_data(
        table(*line("preset", [60.0, 70.0, 75.0]), *line("schedule=cosine", [60.0, 80.0]))
    )
    assert data.mean[1, :2].tolist() == [60, 80] and np.isnan(data.mean[1, 2])


def test_results_by_first_coverage_hold_the_preset_at_its_place_and_the_oracle_as_a_line():
    data = ablations.first_threshold_data(
        table(
            *line("preset", [60.0, 70.0], [60.0, 74.0]),
            *line("coverage_first=0.1", [60.0, 66.0]),
            *line("coverage_first=0.5", [60.0, 50.0]),
            *line("oracle=1", [60.0, 80.0], [60.0, 90.0]),
        )
    )
    assert data.x.tolist() == [10, 20, 50]
    assert data.metrics["group_match"][:, 0].tolist() == [66, 72, 50]
    assert data.metrics["group_score"][:, 0].tolist() == [33, 36, 25]
    assert data.seeds.tolist() == [1, 2, 1] and data.before == {"group_match": 60, "group_score": 30}
    assert data.skyline["group_match"] == pytest.approx((85, np.sqrt(50)))
    names = [trace.name for trace in ablations.ends_figure(data).data]
    assert "GroupMatch, oracle (uses the truth)" in names and "GroupScore, before" in names
    levels = {t.name: t.y[0] for t in ablations.ends_figure(data).data if t.name.startswith("chance")}
    named = {"chance: GroupMatch 50 %": 50, "chance: GroupScore 16.7 %": 100 / 6}
    assert levels == pytest.approx(named)


def test_results_by_number_of_iterations_are_the_last_ones_and_never_the_best():
    data = ablations.iterations_data(
        table(*line("iterations=1", [60.0, 65.0]), *line("iterations=3", [60.0, 90.0, 80.0, 70.0]))
    )
    assert data.x.tolist() == [1, 3] and data.metrics["group_match"][:, 0].tolist() == [65, 70]
    assert data.skyline == {}


def test_gains_are_sorted_and_hold_nothing_where_nothing_was_measured():
    other = "scenes/swap"
    data = ablations.gains_data(
        table(
            *line("preset", [60.0, 50.0], [60.0, 54.0]),
            *line("preset", [55.0, 65.0], name=other),
            *line("preset", [40.0, 60.0], name=other, model="builtin/siglip"),
            *line("schedule=cosine", [60.0, 99.0]),
        )
    )
    assert data.models == ["builtin/clip", "builtin/siglip"] and data.sets == [other, study.LEFT_RIGHT]
    assert data.gain[0].tolist() == [10, -8] and data.gain[1, 0] == 20 and np.isnan(data.gain[1, 1])
    assert data.before[0, 1].tolist() == [60, 55, 65] and data.std[0, 1] == pytest.approx(np.sqrt(8))
    assert data.precision[0, 1] == pytest.approx(80) and data.seeds[0].tolist() == [1, 2]
    assert np.nan_to_num(data.seeds).tolist() == [[1, 2], [1, 0]]
    figure = ablations.gains_figure(data)
    assert [len(trace.x) for trace in figure.data] == [2, 1]
    assert ablations.precision_gain_figure(data).data[0].x.tolist() == pytest.approx([80 - 55, 80 - 60])


def test_every_measured_model_has_a_look_of_its_own_and_only_large_changes_are_named():
    data = ablations.gains_data(ablations.ablations())
    for figure in (ablations.gains_figure(data), ablations.precision_gain_figure(data)):
        looks = [(trace.marker.symbol, trace.marker.color) for trace in figure.data]
        assert len({symbol for symbol, _ in looks}) == len({c for _, c in looks}) == len(data.models) > 4
    told = {
        trace.name: dict(zip(trace.customdata, zip(trace.text, trace.y, strict=True), strict=True))
        for trace in ablations.precision_gain_figure(data).data
    }
    assert told["builtin/clip"]["left-right"][0] == "left-right" and told["builtin/clip"]["add"][0] == ""


def test_nothing_measured_is_an_empty_figure_and_no_file_a_sentence(tmp_path):
    empty = table()
    for data, figure in (
        (ablations.curves_data(empty), ablations.curves_figure),
        (ablations.first_threshold_data(empty), ablations.ends_figure),
        (ablations.gains_data(empty), ablations.gains_figure),
    ):
        figure(data)
    with pytest.raises(InputError, match="creates it"):
        ablations.ablations(tmp_path / "none.csv")


def test_a_model_looks_the_same_in_every_figure_whatever_else_was_measured():
    measured = ablations.ablations()
    few = measured[(measured.kind != "simplematch") | (measured.model == "itc:builtin/blip-itm")]
    looks = [
        {trace.name: (trace.marker.symbol, trace.marker.color) for trace in figure.data}
        for kind, metric in (("ttm", "group_match"), ("simplematch", "group_score"))
        for figure in (ablations.gains_figure(ablations.gains_data(few, kind, metric)),)
    ]
    assert list(looks[1]) == ["itc:blip-itm"]
    assert looks[1].items() <= looks[0].items()


def test_the_pages_hold_what_the_shipped_runs_say():
    assert study.PAGE.read_text(encoding="utf-8") == study.tables()
    readme = (study.ROOT / "README.md").read_text(encoding="utf-8")
    assert study.short_table() in readme
    assert readme.count("begin -->") == 1
    assert len(readme.split()) < 2100  # what is longer belongs to a page of its own
    assert built_in.results_page(built_in.measured_rows()) in built_in.PAGE.read_text(encoding="utf-8")
    assert shifts.in_short() in shifts.PAGE.read_text(encoding="utf-8")
    assert shifts.short_table() in shifts.PAGE.read_text(encoding="utf-8")


def test_where_one_more_run_ends_is_the_prediction_interval_of_a_normal_distribution():
    """By hand: mean 2, s 1, t of two degrees of freedom 4.303, sqrt(4/3); one of many draws misses it in 5 %."""
    assert study.one_more([1.0, 2.0, 3.0]) == pytest.approx((2 - 4.9683, 2 + 4.9683), abs=1e-3)
    draws = np.random.default_rng(0).normal(size=(4000, 5))
    inside = [low < last < high for *few, last in draws for low, high in [study.one_more(few)]]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.011)  # three standard errors


def test_the_page_of_generative_models_says_what_their_runs_came_to():
    """Every number by hand from the runs' rows: mean and deviation over four seeds."""
    part = generative.PAGE.read_text(encoding="utf-8")
    assert part == generative.page()
    rows = pd.read_csv(generative.OUT).query("when == 'after'").groupby(["model", "benchmark"])
    assert len(rows) == 8 and set(rows["seed"].nunique()) == {4}
    for (model, benchmark), values in rows["group_match"]:
        line = (
            f"| {model.removeprefix('builtin/')} | {benchmark.removeprefix('scenes/').replace('~', ', ')} | "
        )
        (own,) = [each for each in part.splitlines() if each.startswith(line)]
        assert f"| {values.mean():.1f} ± {values.std():.1f} |" in own
    assert pd.read_csv(generative.OUT)["group_match_ties"].sum() == 0  # as the page says
