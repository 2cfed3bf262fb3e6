"""Figures of runs, sweeps and the papers' tables: what their data say, and that nothing of it is lost in the figure."""

from pathlib import Path

import numpy as np
import pytest

from core import figures
from core.base.table_formats import _result_csv
from core.ttm.seeds import summary


def estimate(value, chance=50.0):
    return {"value": value, "low": value - 5, "high": value + 5, "chance": chance, "ties": 0}


def step(iteration, match, score=10.0, **more):
    metrics = {"group_match": estimate(match), "group_score": estimate(score, 16.7)}
    own = {"coverage": 0.5, "precision": 0.75, "loss": 1.0, "threshold": 0.2, "fitted": 0.25, "seconds": 1.0}
    return {"iteration": iteration, "metrics": metrics, **own, **more}


def parts(match, other):
    return {
        "adapted": {"n_groups": 3, "metrics": {"group_match": estimate(match)}},
        "untouched": {"n_groups": 5, "metrics": {"group_match": estimate(other)}},
    }


def test_the_parts_of_a_transfer_check_are_curves_of_their_own():
    steps = [step(0, 50, parts=parts(50, 40)), step(1, 60, parts=parts(70, 45))]
    found = figures.transfer_data(steps, 5)
    assert found["adapted"].metrics["group_match"][:, 0].tolist() == [50, 70]
    assert found["untouched"].metrics["group_match"][:, 0].tolist() == [40, 45]
    assert figures.transfer_data([step(0, 50)], 5) == figures.transfer_data([], 5) == {}


def test_the_global_variant_s_metrics_are_drawn_too():
    wide = step(0, 50)
    wide["metrics"]["global_match"] = estimate(30.0, 1.0)
    data = figures.ttm_data([wide], 3)
    assert list(data.metrics) == ["group_score", "group_match", "global_match"]
    assert "Global match" in [trace.name for trace in figures.ttm_metrics_figure(data).data]


def test_fitted_pseudo_labels_have_their_panel_in_percent():
    data = figures.ttm_data([step(0, 50, fitted=None), step(1, 60)], 2)
    assert np.isnan(data.fitted[0]) and data.fitted[1] == 25
    figure = figures.ttm_panel_figure(data, "fitted")
    assert figure.layout.yaxis.range == (0, 104) and figure.data[0].y[1] == 25


def test_a_step_s_margins_are_split_into_right_and_wrong():
    margins = {"edges": [0.0, 1.0, 2.0], "counts": [5, 3], "right": [2, 3], "tied": 4}
    right, wrong, tied = figures.step_margins_figure(step(1, 50, margins=margins)).data
    assert [list(bars.y) for bars in (right, wrong, tied)] == [[2, 3], [3, 0], [4]]
    blind = step(1, 50, margins={**margins, "right": None})
    assert figures.step_margins_figure(blind).data[0].y == (5, 3)


def test_a_sweep_s_bands_are_one_standard_deviation():
    rows = summary([[step(0, 50), step(1, 60)], [step(0, 50), step(1, 70)]])
    data = figures.spread_data(rows, 4)
    mean, low, high, chance = data.metrics["group_match"][1]
    assert (mean, chance, data.seeds.tolist()) == (65, 50, [2, 2])
    std = np.sqrt(50)
    assert (mean - low, high - mean) == (pytest.approx(std, abs=1e-3), pytest.approx(std, abs=1e-3))
    band, line = figures.ttm_metrics_figure(data).data[2:4]
    assert line.name == "GroupMatch" and list(line.y) == [50, 65]
    assert (band.y[1], band.y[2]) == (high, low)
    table = figures.ttm_table(data)
    assert table["group_match_sd"].tolist() == [0, pytest.approx(std, abs=1e-3)]
    assert table["group_match_mean"].tolist() == [50, 65] and table["seeds"].tolist() == [2, 2]
    written = _result_csv(table).decode().splitlines()[-1].split(",")  # ten digits: no float noise
    assert all(len(cell.replace(".", "")) <= 10 for cell in written)


def test_one_seed_has_no_band_and_parts_have_their_own_means():
    rows = summary([[step(0, 50, parts=parts(60, 40))]])
    assert np.isnan(figures.spread_data(rows, 1).metrics["group_match"][0, 1])
    assert figures.spread_data(rows, 1, "untouched").metrics["group_match"][0, 0] == 40
    assert len(figures.ttm_metrics_figure(figures.spread_data(rows, 1)).data) == 4


def cell(method, metric, paper=None, yours=None, **more):
    none = dict.fromkeys(("paper_std", "yours_std", "shipped", "shipped_std"))
    return {"method": method, "metric": metric, "part": "", "paper": paper, "yours": yours, **none, **more}


def test_a_table_s_figure_has_the_paper_s_marks_hollow_and_yours_filled():
    lines = [
        {
            "line": "A, x",
            "cells": [cell("raw", "group_score", 10.0, 11.0), cell("TTM", "absolute_gain", 5.0)],
        },
        {"line": "B, y", "cells": [cell("TTM T=3", "group_match", 70.0, paper_std=0.5)]},
    ]
    data = figures.papers_data({"lines": lines})
    assert data.results == ["raw GroupScore", "TTM GroupMatch"]
    np.testing.assert_array_equal(data.paper, [[10, np.nan], [np.nan, 70]])
    marks = {trace.name: trace.marker.symbol for trace in figures.papers_figure(data).data}
    assert marks == {
        "raw GroupScore, paper": "square-open",
        "raw GroupScore, yours": "square",
        "TTM GroupMatch, paper": "circle-open",
    }


def test_a_few_published_numbers_lie_on_their_line_with_chance_and_what_a_method_adds():
    """Marks lay beside the lines that they belong to, and nothing said what luck gives."""
    chance = {"chance": 50.0}
    simple, ttm = (
        cell(f"{name}", "group_match", value) for name, value in (("SimpleMatch", 60.0), ("TTM", 65.0))
    )
    raw = cell("raw", "group_score", 7.0) | {"chance": 16.7}
    record = {"lines": [{"line": "A", "cells": [raw, simple | chance, ttm | chance]}]}
    drawn = {trace.name: trace for trace in figures.papers_figure(figures.papers_data(record)).data}
    assert {y for name, trace in drawn.items() if name and "chance" not in name for y in trace.y} == {0.0}
    levels = {name: {*trace.x[:3]} for name, trace in drawn.items() if name and name.startswith("chance")}
    # Two different lines were both called "chance".
    assert levels == {"chance: GroupScore 16.7 %": {16.7}, "chance: GroupMatch 50 %": {50.0}}
    assert list(drawn[None].x[:2]) == [60.0, 65.0]  # the bar between the two of one metric
    yours = {"lines": [{"line": "A", "cells": [simple | {"yours": 61.0}, ttm]}]}
    compared = figures.papers_figure(figures.papers_data(yours)).data
    assert len({trace.y[0] for trace in compared}) == 3 and None not in {trace.name for trace in compared}
    by_set = [cell("TTM", "text_score", value, head=f"set {value}") for value in (20.0, 30.0)]
    data = figures.papers_data({"lines": [{"line": "A", "cells": by_set}]})
    assert None not in {trace.name for trace in figures.papers_figure(data).data}  # two sets are no gain


def test_what_a_mark_says_is_one_label_with_the_name_of_its_result_in_it():
    """The name stood in a white box of its own beside the label, on the row's own mark."""
    raw = cell("raw", "group_score", 7.0) | {"chance": 16.7}
    record = {"lines": [{"line": "A", "cells": [raw, cell("TTM", "group_match", 65.0)]}]}
    drawn = figures.papers_figure(figures.papers_data(record)).data
    assert {trace.name: trace.hovertemplate for trace in drawn} == {
        "raw GroupScore, paper": "raw GroupScore, paper<br>%{text}: %{x:.2f} %<extra></extra>",
        "TTM GroupMatch, paper": "TTM GroupMatch, paper<br>%{text}: %{x:.2f} %<extra></extra>",
        "chance: GroupScore 16.7 %": "chance: GroupScore 16.7 %<br>%{text}: chance %{x:.2f} %<extra></extra>",
    }


def test_every_figure_in_which_the_nearest_mark_speaks_has_one_label_for_it():
    sources = sorted((Path(__file__).parents[1] / "core" / "figures").glob("*.py"))
    assert [path.name for path in sources if 'hovermode="closest"' in path.read_text(encoding="utf-8")] == [
        "_style.py"
    ]


@pytest.mark.parametrize("rows", [1, 11, 40])
def test_chance_levels_stay_in_their_rows_and_their_signs_in_the_legend_lie_flat_and_apart(rows):
    """The legend's signs stood upright on top of the first row's lines, and on a phone were read as data."""
    one = cell("raw", "group_score", 7.0) | {"chance": 16.7}
    record = {
        "lines": [{"line": f"{i}", "cells": [one, cell("TTM", "group_match", 9.0)]} for i in range(rows)]
    }
    figure = figures.papers_figure(figures.papers_data(record))
    (trace,) = [each for each in figure.data if each.name.startswith("chance")]
    assert trace.mode == "lines"  # whose sign in a legend is a flat one
    low, middle, high, gap = np.asarray(trace.y).reshape(rows, 4).T
    np.testing.assert_array_equal(middle, np.arange(rows))
    assert ((high - low) > 0.4).all() and ((high - low) < 1).all() and np.isnan(gap).all()
    assert list(trace.text[:4]) == ["0"] * 4
    layout = figure.layout
    drawn = layout.height - 30 - 24 - 14  # pixels of the rows
    above = 24 if layout.xaxis.side == "top" else 0
    assert (layout.legend.y - 1) * drawn - above >= 12


def test_chance_levels_have_one_name_each_by_row_and_by_column():
    """A level that differs by row has its range; one that two metrics share, both; of one metric, its columns."""

    def named(*lines):
        record = {"lines": [{"line": f"{i}", "cells": list(cells)} for i, cells in enumerate(lines)]}
        traces = figures.papers_figure(figures.papers_data(record)).data
        return [t.name for t in traces if t.name and t.name.startswith("chance")]

    def level(metric, chance, **more):
        return cell("raw", metric, 40.0, **more) | {"chance": chance}

    assert named([level("group_score", 25.0)], [level("group_score", 6.25)]) == [
        "chance: GroupScore 6.2 to 25 %, by row"
    ]
    assert named([level("text_score", 25.0), level("image_score", 25.0)]) == [
        "chance: TextScore, ImageScore 25 %"
    ]
    two = [level("cola_map", x, head=f"{n} attributes") for n, x in ((1, 30.4), (2, 11.6))]
    assert named(two) == ["chance: 1 attributes 30.4 %", "chance: 2 attributes 11.6 %"]


def test_one_column_has_its_lines_its_chance_level_and_all_its_highest_models_named():
    """A figure of four data sets had four kinds of mark, one upon the other, in rows of which one was luck."""
    rows = {"random, chance": (50.0, 20.0), "human": (99.0, 99.0), "A": (60.0, None), "B": (60.0, 30.0)}
    heads = ("ARO VG-Relation TextScore", "ARO COCO-Order TextScore")
    lines = [
        {
            "line": line,
            "cells": [cell("", "text_score", x, head=h) for h, x in zip(heads, of, strict=True)],
        }
        for line, of in rows.items()
    ]
    data = figures.papers_data({"lines": lines})
    choices = data._choices()
    assert list(choices) == ["VG-Relation", "COCO-Order", "all"] and choices["all"] is data
    first, second = choices["VG-Relation"], choices["COCO-Order"]
    assert first.lines == ["human", "A", "B"] and second.lines == ["human", "B"]
    drawn = figures.papers_figure(first, highest=True)
    assert [t.name for t in drawn.data] == ["ARO VG-Relation TextScore, paper", "chance: TextScore 50 %"]
    assert [note.text for note in drawn.layout.annotations] == ["<b>60.0</b>"] * 2
    assert data.lines[0] == "random, chance" and np.isnan(data.chance).all()  # what was given is as it was
    by_method = [cell("raw", "text_score", 1.0), cell("TTM", "text_score", 2.0)]
    assert figures.papers_data({"lines": [{"line": "A", "cells": by_method}]})._choices() == {}


def test_where_there_is_no_paper_the_shipped_numbers_take_its_place():
    record = {"lines": [{"line": "A", "cells": [cell("TTM", "group_match", shipped=80.0, shipped_std=1.0)]}]}
    data = figures.papers_data(record)
    assert data.shipped.tolist() == [[80]] and data.shipped_std.tolist() == [[1]]
    assert [trace.name for trace in figures.papers_figure(data).data] == ["TTM GroupMatch, ours"]


def test_beside_the_paper_s_what_ships_is_drawn_of_the_same_metric_and_no_row_stands_blank():
    shipped = [
        cell("MM-Pred", "cola_map", shipped=30.0, part="all", head="Cola mAP, all"),
        cell("MM-Pred", "forgetting", shipped=48.0, head="GroupMatch on untrained relations"),
    ]
    of_paper = [cell("MM-Pred", "cola_map", 40.0, part="all", head="GQA all, Cola mAP")]
    lines = [
        {"line": "CLIP", "cells": of_paper},
        {"line": "built-in world, MM-Pred", "cells": shipped},
        {"line": "built-in world, Linear", "cells": [cell("Linear", "cola_map", head="Cola mAP, all")]},
    ]
    data = figures.papers_data({"lines": lines})
    assert data.lines == ["CLIP", "built-in world, MM-Pred"]
    drawn = {trace.name: list(trace.x) for trace in figures.papers_figure(data).data}
    assert drawn == {"GQA all, Cola mAP, paper": [40], "Cola mAP, all, ours": [30]}


def test_lines_of_the_built_in_world_stand_below_a_papers_where_all_of_its_columns_are_measured_there():
    def cell(method, **numbers):
        none = dict.fromkeys(("paper", "paper_std", "shipped", "shipped_std", "yours", "yours_std"))
        return {"method": method, "metric": "group_match", "part": "", "chance": 50.0, **none, **numbers}

    paper = {
        "lines": [{"line": "Winoground", "cells": [cell("SimpleMatch", paper=60.0), cell("TTM", paper=65.0)]}]
    }
    both = [
        cell("SimpleMatch", shipped=66.0),
        cell("TTM", shipped=79.0, shipped_std=1.5),
        cell("other", shipped=1.0),
    ]
    here = [{"line": "scenes/left-right, builtin/clip", "cells": both}]
    data = figures.papers_data(paper, here)
    assert data.lines == ["Winoground", "here: left-right, clip"]
    assert data.results == ["GroupMatch before TTM", "TTM GroupMatch"]
    assert data.shipped[1].tolist() == [66.0, 79.0] and data.paper[0].tolist() == [60.0, 65.0]
    drawn = [trace for trace in figures.papers_figure(data).data if trace.marker.symbol]
    assert {trace.name for trace in drawn if trace.showlegend is not False} >= {*data.results}
    assert (
        len([trace for trace in drawn if trace.name == "TTM GroupMatch"]) == 2
    )  # the same mark above and below
    assert figures.papers_data(paper, [{"line": "x", "cells": both[:1]}]).lines == ["Winoground"]
