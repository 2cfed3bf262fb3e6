"""The table of shifted sets and the judge of the forecast: what is measured first, what is written, what is counted."""

import csv
import operator
import time

import numpy as np
import pytest

from benchmarks.results import forecast, shifts
from benchmarks.results._several import several
from benchmarks.results.shifts import Cell


def test_the_core_sets_come_first_and_nothing_is_asked_twice():
    found = shifts.cells()
    assert len(found) == len(set(found)) == 3 * 12 * 24 * 4
    first = found[: 3 * 8 * 4]
    assert {cell.seed for cell in found[:24]} == {0} and {cell.seed for cell in first} == {0, 1, 2, 3}
    assert len({cell.shift for cell in found[:24]}) == 8 and {cell.model for cell in first} == {
        "builtin/clip"
    }
    core = found[: 6 * 8 * 2 * 4]
    assert {cell.model for cell in core} == {"builtin/clip", "builtin/siglip"}
    assert not any("-" in cell.shift for cell in core)
    assert (
        Cell("m", "scenes/a", "fog", 0).set == "scenes/a~fog"
        and Cell("m", "scenes/a", "", 0).set == "scenes/a"
    )


def row(seed, when, part, match, shift="dark", score=10.0):
    numbers = {"group_match": match, "group_match_low": match - 5, "group_match_high": match + 5}
    own = {"model": "builtin/clip", "benchmark": "scenes/left-right", "shift": shift, "seed": seed}
    return own | {"when": when, "part": part, "groups": 300, "group_score": score, **numbers}


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """Two seeds of one cell, with parts, and one seed of another."""
    monkeypatch.setattr(shifts, "OUT", tmp_path / "shifts.csv")
    rows = [row(seed, "before", part, 60.0) for seed in (0, 1) for part in ("all", "seen", "unseen")]
    rows += [
        row(s, "after", p, v)
        for s, p, v in ((0, "all", 70), (1, "all", 74), (0, "unseen", 50), (1, "unseen", 52))
    ]
    rows += [row(s, "after", "seen", 75.0) for s in (0, 1)]
    rows += [row(0, "before", "all", 66.0, ""), row(0, "after", "all", 68.0, "", 50.0)]
    shifts.append(shifts.OUT, shifts.COLUMNS, rows)
    monkeypatch.setattr(shifts.ablations, "OUT", tmp_path / "none.csv")


def test_lines_are_means_over_seeds_with_parts_apart(measured):
    found = shifts.lines()["builtin/clip", "scenes/left-right", "dark"]
    assert found.gain == pytest.approx(12) and found.told == "72.0 ± 2.8"
    assert shifts.lines("unseen")["builtin/clip", "scenes/left-right", "dark"].gain == pytest.approx(-9)
    page = shifts.page()
    plain, dark = (
        line for line in page[page.index("## builtin/clip") :].splitlines() if line[:6] == "| left"
    )
    assert plain == "| left-right | none | 1 | 10.0 | 50.0 | 66.0 [61, 71] | 68.0 [63, 73] | +2.0 |  |  |"
    assert dark.endswith("| 72.0 ± 2.8 | +12.0 | +15.0 | -9.0 |")
    table = (
        shifts.short_table()
    )  # what is not measured takes no room: one column of eight, one line of twelve
    assert "| as they are | clip |\n| --- | --- |\n| left-right | 66 → 68 |\n" in table
    assert "| shifted | dark |\n| --- | --- |\n| clip, left-right | **60 → 72** |\n" in table
    assert (
        "Measured so far: as they are 1 of 12 cells (1 seed each), shifted 1 of 96 cells (2 seeds each)."
        in table
    )


def test_a_run_that_is_there_is_not_repeated(measured, monkeypatch, capsys):
    asked = []

    def measure(cell):
        asked.append(cell)
        return [row(cell.seed, when, "all", 50.0, cell.shift) for when in ("before", "after")], []

    monkeypatch.setattr(shifts, "measure", measure)
    monkeypatch.setattr(shifts, "SIGNALS", shifts.OUT.with_name("signals.csv"))
    monkeypatch.setattr(
        shifts, "cells", lambda: [Cell("builtin/clip", "scenes/left-right", s, 0) for s in ("dark", "fog")]
    )
    shifts.main([])
    assert [cell.shift for cell in asked] == ["fog"] and "50.0 -> 50.0" in capsys.readouterr().out
    with shifts.OUT.open() as file:
        assert len(list(csv.DictReader(file))) == 16


@pytest.mark.slow
def test_several_at_once_give_what_one_after_the_other_gives():
    """With a function of Python's own: of one that stands here, each process would import what this file imports."""
    cells = [3, 1, 2]
    alone = list(several(operator.neg, cells))
    assert alone == [(3, -3), (1, -1), (2, -2)]
    assert sorted(several(operator.neg, cells, jobs=2)) == sorted(alone)


def test_nothing_begins_that_would_not_end_in_time():
    begun = []

    def slow(cell):
        begun.append(cell)
        time.sleep(0.05)

    assert len(list(several(slow, range(9), minutes=0.02 / 60))) == len(begun) == 1


# --- the forecast's judge


def cells(gain, consistency, sets=None):
    count = len(gain)
    names = sets or [f"scenes/{i % 6}" for i in range(count)]
    keys = [("builtin/clip", names[i], f"shift {i % 5}") for i in range(count)]
    other = np.linspace(0, 1, count)
    x = np.column_stack([consistency, other, *2 * [np.zeros(count)]])
    return forecast.Cells(keys, x, np.asarray(gain, float), np.ones(count))


def test_a_law_is_found_on_left_out_sets():
    rng = np.random.default_rng(0)
    consistency = rng.random(60)
    found = forecast.judge(cells(20 - 40 * consistency + rng.normal(size=60), consistency), 1)
    assert found["rank correlation"] > 0.95 and found["of that right"] > 0.95
    assert found["mean error"] < 2 < 5 < found["mean error, constant"]
    assert 0.65 <= found["inside the interval"] <= 0.95
    assert found["regret"] < 0.5 < found["regret, always"] and found["regret, never"] > 3


def test_noise_is_called_noise():
    rng = np.random.default_rng(1)
    found = forecast.judge(cells(rng.normal(size=60), rng.random(60)), 1)
    assert abs(found["rank correlation"]) < 0.4 and found["says something"] < 0.1


def test_ridge_is_that_of_scikit_learn():
    linear = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(2)
    found = cells(rng.normal(size=30), rng.random(30))
    fit = forecast.Fit.of(found)
    z = (found.x - fit.centre) / fit.scale
    ridge = linear.Ridge(alpha=forecast.PENALTY).fit(z, found.gain)
    np.testing.assert_allclose(fit(found.x), ridge.predict(z))


def test_a_rule_stops_where_its_signal_says_so():
    run = forecast.Trace(("m", "s", ""), np.array([5.0, 7, 6]), {"moved": np.array([0.3, 0.02, 0.0])})
    assert forecast.stopped(run, "few matchings moved", 0.05) == 2
    assert forecast.stopped(run, "many matchings moved", 0.3) == 1
    assert forecast.stopped(run, "many matchings moved", 1.1) == 3
    others = [forecast.Trace(("m", f"s{i}", ""), run.match, run.signals) for i in range(3)]
    found = forecast.judge_rule(others, "few matchings moved")
    assert found["change of GroupMatch, points"] == 1.0 and found["share of iterations"] == pytest.approx(
        2 / 3
    )
