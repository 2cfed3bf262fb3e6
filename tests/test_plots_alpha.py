"""Data of the figures on alpha: they are the exact curves, histograms and records, thinned at most."""

import tomllib
from pathlib import Path

import numpy as np
import pytest
from test_page_look import contrast

from core.debiasing.curves import alpha_curve
from core.debiasing.study import PriorStability
from core.figures import alpha
from core.figures._style import MAX_STEPS
from core.metrics.groups import METRICS, chance, metrics_of_shape

NAMES = metrics_of_shape(1, 3)


def curves(n=40, seed=0):
    rng = np.random.default_rng(seed)
    scores, prior = rng.normal(-3, 1, (n, 1, 3)), rng.normal(-3, 1, (n, 3))
    return {name: alpha_curve(scores, prior, rng.integers(0, 3, (n, 1)), name) for name in NAMES}


def data(n=40):
    levels = {name: 100 * chance(name, 1, 3) for name in NAMES}
    return alpha.alpha_data(curves(n), n, levels, "text_score")


def test_a_curve_is_drawn_piece_by_piece():
    found, exact = data(), curves()["text_score"]
    assert found.x["text_score"].tolist() == exact.edges.tolist()
    assert found.y["text_score"].tolist() == exact.values.tolist()
    low, high = found.bands["text_score"]
    assert (low <= exact.values).all() and (exact.values <= high).all()
    figure = alpha.alpha_figure(found, 0.3)
    line = next(trace for trace in figure.data if trace.name == "TextScore")
    assert line.line.shape == "hv" and len(line.x) == len(line.y)
    assert [shape.x0 for shape in figure.layout.shapes if shape.x0 == shape.x1][-1] == 0.3


def test_the_shaded_stretch_is_the_best_interval():
    found, exact = data(), curves()["text_score"]
    assert (exact.value(found.best.mean(axis=1)) == exact.values.max()).all()
    rects = [s for s in alpha.alpha_figure(found).layout.shapes if s.type == "rect"]
    assert [[rect.x0, rect.x1] for rect in rects] == found.best.tolist() == exact.best().intervals.tolist()
    # Bands as high as the figure, of fragments a few thousandths wide, looked like a fault and hid the curves.
    assert all(rect.yref == "paper" and rect.y0 == 0 and rect.y1 < 0.05 for rect in rects)


def test_the_legend_names_the_chance_level_and_the_shaded_stretch():
    figure = alpha.alpha_figure(data())
    named = [shape.name for shape in figure.layout.shapes if shape.showlegend]
    # Short names: with that of the metric before each, the legend took half of the figure on a phone.
    assert named == ["chance 33.3 %", "highest"]
    assert "95 % band" in {trace.name for trace in figure.data if trace.showlegend}


def test_the_axis_is_that_of_the_curves_and_a_chance_level_far_below_is_a_number_in_the_legend():
    """Seven points were ten pixels on an axis from 0 to 100 %."""
    found = data()
    near = alpha.alpha_figure(found._replace(chance={**found.chance, "text_score": 3.0}))
    low = min(min(v.min() for v in found.y.values()), found.bands["text_score"][0].min())
    bottom, top = near.layout.yaxis.range
    assert low - 10 <= bottom < low and top <= max(104, found.bands["text_score"][1].max() + 10)
    high = found._replace(
        y={name: values / 4 + 60 for name, values in found.y.items()},
        bands={name: (low / 4 + 58, high / 4 + 62) for name, (low, high) in found.bands.items()},
        chance={**found.chance, "text_score": 3.7},
    )
    figure = alpha.alpha_figure(high)
    bottom, top = figure.layout.yaxis.range
    assert bottom >= 45 and top < 100
    assert "chance 3.7 % ↓" in [shape.name for shape in figure.layout.shapes if shape.showlegend]


def test_the_chosen_metric_stands_out_and_its_highest_point_is_named_on_its_curve():
    found, exact = data(), curves()["text_score"].best()
    traces = {trace.name: trace for trace in alpha.alpha_figure(found).data}
    chosen, others = traces["TextScore"], [traces[n] for n in ("ImageScore", "GroupScore") if n in traces]
    assert others and all(o.line.width <= 2 < 3 < chosen.line.width and o.opacity < 1 for o in others)
    (star,) = [trace for trace in traces.values() if trace.mode == "markers+text"]
    assert (star.x[0], star.y[0]) == (exact._written, exact.value)
    assert star.text[1] == f"{exact.value:.1f} % (tuned)"  # not to be quoted, so not bold
    flat = found._replace(y={**found.y, "text_score": np.full(3, 50.0)}, peak=(0.5, 50.0))
    at_zero = found._replace(
        peak=(0.0, exact.value)
    )  # where nothing is removed: there is no best alpha to mark
    for unmarked in (flat, at_zero):
        assert not [t for t in alpha.alpha_figure(unmarked).data if t.mode == "markers+text"]


@pytest.mark.parametrize("above", [3.0, 8.0, 15.0])
def test_no_curve_runs_through_the_numbers_of_the_highest_point(above):
    """The label of 80.0 % at alpha 0.989 lay on the curve next to it."""
    edges = np.array([0.0, 0.98, 0.998, 1.0])
    x, y = (
        dict.fromkeys(("text_score", "individual_match"), edges),
        {"text_score": np.array([60.0, 80.0, 79.0])},
    )
    y["individual_match"] = np.array([80.0 + above, 80.5 + above, 80.0 + above])
    bands = {"text_score": (y["text_score"] - 5, y["text_score"] + 5)}
    found = alpha._AlphaData(
        x, y, bands, {"text_score": 50.0}, "text_score", np.array([[0.98, 0.998]]), (0.989, 80.0)
    )
    figure = alpha.alpha_figure(found, height=318)
    (star,) = [trace for trace in figure.data if trace.mode == "markers+text"]
    bottom, top = figure.layout.yaxis.range
    line = 16 * (top - bottom) / (318 - 90)
    assert star.textposition == "middle left" and abs(star.y[1] - (80 + above)) > 0.6 * line
    assert bottom < star.y[1] - line / 2 and star.y[1] + line / 2 < top


@pytest.mark.parametrize(("peak", "side"), [(0.208, "right"), (0.7, "left")])
def test_the_numbers_of_the_highest_point_stand_beside_the_line_at_its_alpha(peak, side):
    """The line, which opens at the best alpha, ran through the middle of `49.7 % at α = 0.208`."""
    edges = np.array([0.0, peak - 0.1, peak + 0.1, 1.0])
    y = {"text_score": np.array([40.0, 50.0, 45.0])}
    bands = {"text_score": (y["text_score"] - 5, y["text_score"] + 5)}
    best = np.array([[peak - 0.1, peak + 0.1]])
    found = alpha._AlphaData(
        {"text_score": edges}, y, bands, {"text_score": 25.0}, "text_score", best, (peak, 50.0)
    )
    (star,) = [trace for trace in alpha.alpha_figure(found).data if trace.mode == "markers+text"]
    assert star.textposition == f"middle {side}" and star.x[1] == peak


def test_the_star_says_what_is_tuned_and_what_may_be_quoted():
    """The sentence above the figure had 46.2 %, and the star 49.7 % alone."""
    edges, values = np.array([0.0, 0.2, 0.3, 1.0]), np.array([42.0, 50.0, 40.0])
    bands = {"text_score": (values - 6, values + 6)}
    best = np.array([[0.2, 0.3]])
    found = alpha._AlphaData(
        {"text_score": edges},
        {"text_score": values},
        bands,
        {"text_score": 4.0},
        "text_score",
        best,
        (0.25, 50.0),
        46.2,
    )
    (star,) = [trace for trace in alpha.alpha_figure(found).data if trace.mode == "markers+text"]
    assert star.text[1] == "50.0 % tuned<br>46.2 % held out"
    bottom, top = alpha._percent_range(found)
    line = alpha._LETTERS * (top - bottom) / (380 - alpha._AROUND)
    assert np.abs(np.subtract.outer(alpha._peak_heights(found, star.y[1], line), values)).min() > line / 2
    bare = alpha.alpha_figure(found._replace(held=None)).data
    assert [trace.text[1] for trace in bare if trace.mode == "markers+text"] == ["50.0 % (tuned)"]


@pytest.mark.parametrize(
    ("first", "rest", "chance_at"),
    [(25.0, 40.0, 25.0), (40.0, 26.0, 25.0), (22.0, 28.0, 25.0), (60.0, 50.0, 3.7)],
)
def test_no_curve_runs_through_the_name_of_the_chance_level(first, rest, chance_at):
    """It stood at alpha 0, where a curve began: `chance 25.0 %` could not be read."""
    x = {"text_score": np.array([0.0, 0.4, 1.0])}
    y = {"text_score": np.array([first, rest])}
    bands = {"text_score": (y["text_score"] - 5, y["text_score"] + 5)}
    best = np.array([[0.0, 0.4] if first > rest else [0.4, 1.0]])
    peak = (0.0, first) if first > rest else (0.7, rest)
    found = alpha._AlphaData(x, y, bands, {"text_score": chance_at}, "text_score", best, peak)
    figure = alpha._name_chance(alpha.alpha_figure(found, height=318), found, 318, ["text_score"])
    assert not [s.name for s in figure.layout.shapes if s.showlegend][1:]
    name, second = figure.layout.annotations
    assert (
        name.text == second.text
        and name.text.startswith("chance")
        and (name.opacity, second.opacity) == (1, 0)
    )
    # A line at alpha ran through it: there is a place at other alphas, and no curve runs through that, either.
    assert name.xanchor != second.xanchor
    for place in figure.layout.annotations:
        _is_clear(place, figure, first, rest, chance_at)


def test_the_name_of_the_chance_level_keeps_no_room_for_a_curve_that_is_not_drawn():
    """It floated at 34 % above a line at 25, as GroupScore, which the page leaves out, lay between them."""
    x = dict.fromkeys(("text_score", "group_score"), np.array([0.0, 1.0]))
    y = {"text_score": np.array([45.0]), "group_score": np.array([27.0])}
    bands = {"text_score": (y["text_score"] - 5, y["text_score"] + 5)}
    found = alpha._AlphaData(
        x, y, bands, {"text_score": 25.0}, "text_score", np.array([[0.0, 1.0]]), (0.0, 45.0)
    )
    heights = []
    for drawn in (["text_score"], ["text_score", "group_score"]):
        figure = alpha._name_chance(alpha.alpha_figure(found, height=318), found, 318, drawn)
        heights.append(figure.layout.annotations[0].y)
    line = 16 * np.ptp(figure.layout.yaxis.range) / (318 - 90)
    assert 0 < heights[0] - 25 <= line and heights[1] < 25


def test_the_chance_level_runs_through_no_number_of_the_highest_point():
    """`53.7 % held out` was struck through by the dotted line at 25 %."""
    edges = np.array([0.0, 0.2, 0.5, 0.8, 0.9, 1.0])
    values = np.array([30.0, 42.0, 50.0, 55.8, 53.0])
    bands = {"text_score": (values - 6, values + 6)}
    for level in (25.0, 70.0):
        found = alpha._AlphaData(
            {"text_score": edges},
            {"text_score": values},
            bands,
            {"text_score": level},
            "text_score",
            np.array([[0.8, 0.9]]),
            (0.85, 55.8),
            53.7,
        )
        (star,) = [t for t in alpha.alpha_figure(found, height=318).data if t.mode == "markers+text"]
        bottom, top = alpha._percent_range(found)
        line = alpha._LETTERS * (top - bottom) / (318 - alpha._AROUND)
        assert np.abs(alpha._peak_heights(found, star.y[1], line) - level).min() > line / 2


def _is_clear(name, figure, first, rest, chance_at):
    bottom, top = figure.layout.yaxis.range
    line = 16 * (top - bottom) / (318 - 90)
    left, right = {"left": (0, 0.3), "right": (0.69, 1), "center": (0.35, 0.65)}[name.xanchor]
    here = ([first] if left < 0.4 else []) + ([rest] if right > 0.4 else [])
    if left < 0.4 < right:  # the upright step
        here = list(np.linspace(first, rest, 50))
    assert all(abs(value - name.y) > 0.6 * line for value in [*here, max(chance_at, bottom)])
    assert bottom + line / 2 < name.y < top - line / 2


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("shape", [(1, 3), (2, 2)])
def test_the_curves_that_are_not_chosen_stand_out_from_both_pages(theme, shape):
    """They had 2.1 to 2.5 : 1, as faint as a grid."""
    config = tomllib.loads((Path(__file__).parents[1] / ".streamlit" / "config.toml").read_text())
    page = config["theme"][theme]["backgroundColor"]
    rng = np.random.default_rng(0)
    scores, prior, truth = rng.normal(size=(9, *shape)), rng.normal(size=(9, shape[1])), np.arange(shape[0])
    names = metrics_of_shape(*shape)
    found = {name: alpha_curve(scores, prior, np.tile(truth, (9, 1)), name) for name in names}
    figure = alpha.alpha_figure(alpha.alpha_data(found, 9, dict.fromkeys(names, 25.0), "text_score"))
    drawn = {trace.name: trace for trace in figure.data}
    for name in names:
        trace = drawn[METRICS[name].label]
        assert contrast(_over(trace.line.color, page, trace.opacity), page) >= 3, (name, theme)
    (level,) = [s for s in figure.layout.shapes if str(s.name).startswith("chance")]
    assert contrast(level.line.color, page) >= 3


def _over(colour, page, opacity):
    """The colour `#rrggbb` as it looks on a page where it lets some of it through."""
    parts = ((int(c[i : i + 2], 16) for c in (colour, page)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(opacity * top + (1 - opacity) * under):02x}" for top, under in parts)


def test_long_curves_are_thinned_for_the_screen_alone():
    found = data(20_000)
    assert len(found.y["text_score"]) <= MAX_STEPS < len(curves(20_000)["text_score"].values)
    assert len(found.x["text_score"]) == len(found.y["text_score"]) + 1
    assert found.x["text_score"][-1] == 1


def test_histograms_share_bins_and_sum_to_a_hundred():
    found = alpha.frequency_data(np.array([-1.0, -2.0, -2.0]), np.array([-5.0, -4.0]), bins=4)
    assert found.edges.tolist() == [-5, -4, -3, -2, -1]
    assert found.true.sum() == pytest.approx(100) and found.false.sum() == pytest.approx(100)
    assert found.false.tolist() == [50, 50, 0, 0]
    figure = alpha.frequency_figure(found)
    assert len(figure.data) == 2 and figure.layout.yaxis.title.text == "% of the captions of each kind"


def test_without_false_captions_there_is_one_histogram():
    found = alpha.frequency_data(np.array([-1.0, -1.0]), np.array([]))
    figure = alpha.frequency_figure(found)
    assert len(found.false) == 0 and len(figure.data) == 1
    assert figure.layout.yaxis.title.text == "% of the captions"


def test_stability_has_one_line_per_kind_of_image_with_its_deviation():
    rows = [PriorStability(s, (80.0 + s, 2.0 / s), (0.5, 0.1 / s), (70.0, 0.0), 0.3) for s in (1, 10)]
    found = {"noise": rows, "training": rows}
    assert list(alpha.stability_figure(found).data[0].y) == [81, 90]
    figure = alpha.stability_figure(found, "alpha")
    assert [trace.name for trace in figure.data] == ["noise", "training"]
    assert figure.data[0].line.dash != figure.data[1].line.dash
    assert list(figure.data[0].error_y.array) == [0.1, 0.01]


def test_the_training_set_has_one_curve_per_size_and_a_mark_at_its_best():
    curve = {"alpha": [0.0, 0.5, 1.0], "value": [40.0, 60.0, 50.0]}
    records = [{"size": n, "curve": curve, "alpha": 0.5, "best": {"value": 60.0}} for n in (50, 100)]
    found = alpha.trainset_data(records)
    assert found.best == {50: (0.5, 60.0), 100: (0.5, 60.0)}
    figure = alpha.trainset_figure(found)
    assert [t.mode for t in figure.data] == ["lines", "markers"] * 2
    assert figure.layout.yaxis.title.text == "R@1, image to text"  # of what, the axis did not say
