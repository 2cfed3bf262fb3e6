"""Figure data against numbers worked out by hand; figures only for what a reader must not miss."""

import numpy as np
import pytest
import scipy.stats

from core import figures
from core.figures import _style, retrieval
from core.matching.groups import Matches
from core.metrics.groups import GLOBAL, METRICS, Outcome, ThresholdCurve, threshold_curve
from core.metrics.statistics import Estimate

# Five groups: margins 3, 2, 2, 1 and one tie; the matching of the first, the third and the fourth is right.
MATCHES = Matches(
    np.array([[0, 1], [1, 0], [0, 1], [0, 1], [-1, -1]]),
    np.array([3.0, 2.0, 2.0, 1.0, 0.0]),
    np.array([False, False, False, False, True]),
)
TRUTH = np.tile([0, 1], (5, 1))
OUTCOME = Outcome(np.array([1.0, 0.0, 1.0, 1.0, 0.0]), MATCHES.tied)


def step(iteration, value, **more):
    metrics = {
        "group_match": {"value": value, "low": value - 5, "high": value + 5, "chance": 50.0, "ties": 0}
    }
    return {"iteration": iteration, "metrics": metrics, **more}


STEPS = [
    step(0, 60.0, coverage=None, precision=None, loss=None, threshold=None),
    step(1, 70.0, coverage=0.2, precision=0.9, loss=1.5, threshold=2.0),
]


def test_margins_are_counted_by_right_and_wrong_and_ties_apart():
    data = figures.margins_data(MATCHES, OUTCOME, bins=3)  # edges 0, 1, 2, 3; the last bin includes 3
    assert data.edges.tolist() == [0, 1, 2, 3]
    assert data.right.tolist() == [0, 1, 2]
    assert data.wrong.tolist() == [0, 0, 1]
    assert data.tied == 1


def test_a_few_margins_far_above_the_others_share_the_last_bar_which_says_so():
    """One of 400 was ten times as wide as most others, which stood in the first bar of all."""
    margin = np.r_[np.linspace(0.01, 1, 100), 40, 50]
    data = figures.margins_data(
        Matches(np.zeros((102, 2), int), margin, np.zeros(102, bool)),
        Outcome(np.r_[np.ones(101), 0], np.zeros(102, bool)),
    )
    usual = float(f"{np.quantile(margin, 0.95):.2g}")  # 0.97
    assert (
        data.has_rest
        and data.edges[-2:].tolist() == [usual, 50]
        and data.right.sum() + data.wrong.sum() == 102
    )
    assert data.wrong[-1] == 1 and data.right[-1] == (margin[:-1] >= usual).sum()
    assert data.right[:-1].max() < 8
    figure = figures.margins_figure(data)
    assert figure.layout.xaxis.title.text == "margin; last bar: all above 0.97, up to 50"
    high = figure.layout.xaxis.range[1]
    assert high < 1.1 and [each.text for each in figure.layout.annotations] == ["> 0.97"]
    marked = figures.margins_figure(data, 50.0).layout.shapes[0].x0  # a threshold stays in the figure
    assert marked == pytest.approx(usual + data.edges[1]) and marked <= high
    assert figures.margins_figure(data, 0.5).layout.shapes[0].x0 == 0.5


def test_margins_of_ties_alone_make_an_empty_histogram():
    tied = Matches(np.full((2, 2), -1), np.zeros(2), np.ones(2, bool))
    data = figures.margins_data(tied, Outcome(np.zeros(2), np.ones(2, bool)))
    assert data.edges[-1] == 1 and data.right.sum() == data.wrong.sum() == 0 and data.tied == 2


def test_threshold_steps_ascend_and_are_those_of_the_exact_curve():
    data = figures.threshold_data(threshold_curve(MATCHES, TRUTH))
    # at 3: 1 of 5 groups, right; at 2: 3 of 5, two right; at 1: 4 of 5, three right
    assert data.threshold.tolist() == [1, 2, 3]
    assert data.coverage == pytest.approx([80, 60, 20])
    assert data.precision == pytest.approx([75, 200 / 3, 100])
    exact = [scipy.stats.binomtest(k, n).proportion_ci(0.95, "exact") for k, n in ((3, 4), (2, 3), (1, 1))]
    assert data.low == pytest.approx([100 * each.low for each in exact])
    assert data.high == pytest.approx([100 * each.high for each in exact])


@pytest.mark.parametrize(
    ("threshold", "coverage", "precision"),
    [(0.0, 80, 75), (1.0, 80, 75), (1.5, 60, 200 / 3), (2.0, 60, 200 / 3), (3.0, 20, 100), (3.1, 0, None)],
)
def test_a_threshold_selects_the_groups_at_or_above_it(threshold, coverage, precision):
    found = figures.at_threshold(threshold_curve(MATCHES, TRUTH), threshold)
    assert found[0] == pytest.approx(coverage)
    assert found[1] == (None if precision is None else pytest.approx(precision))


def test_a_long_curve_is_thinned_but_keeps_its_ends_and_its_first_hundred_steps():
    n = 10_000
    chosen = np.arange(1, n + 1)
    curve = ThresholdCurve(np.arange(n, 0, -1.0), chosen / n, np.full(n, 0.5), chosen)
    data = figures.threshold_data(curve)
    assert len(data.threshold) <= _style.MAX_STEPS
    assert data.threshold[0] == 1 and data.coverage[0] == 100
    assert data.threshold[-100:].tolist() == np.arange(n - 99, n + 1.0).tolist()


def test_bars_hold_value_interval_chance_and_ties_by_metric_and_row():
    rows = {
        "a": {"group_match": Estimate(60, 50, 70, 50, 2)},
        "b": {"group_match": Estimate(80, 75, 85, 50, 0)},
    }
    data = figures.bars_data(rows, ["group_match"])
    assert (data.rows, data.metrics) == (["a", "b"], ["group_match"])
    assert data.value.tolist() == [[60, 80]] and data.low.tolist() == [[50, 75]]
    assert (
        data.high.tolist() == [[70, 85]]
        and data.chance.tolist() == [[50, 50]]
        and data.ties.tolist() == [[2, 0]]
    )


def test_every_bar_shows_its_interval_and_its_chance_level():
    estimates = {name: Estimate(60, 50, 75, 25, 1) for name in METRICS}
    figure = figures.bars_figure(figures.bars_data({"a": estimates, "b": estimates}, list(METRICS)))
    bars = [trace for trace in figure.data if trace.type == "bar"]
    assert len(bars) == len(METRICS)
    whiskers = [trace.error_y for trace in figure.select_traces({"mode": "markers"})]
    for dark, edge in zip(whiskers[1::2], whiskers[::2], strict=True):  # one of each per metric
        for error in (dark, edge):
            assert list(error.array) == [15, 15] and list(error.arrayminus) == [10, 10]
        assert dark.thickness < edge.thickness and dark.color != edge.color not in {
            b.marker.color for b in bars
        }
    assert len(whiskers) == 2 * len(METRICS)
    chance = next(trace for trace in figure.data if trace.name == "chance level")
    assert sum(y == 25 for y in chance.y) == 2 * 2 * len(METRICS)  # two ends per bar
    drawn = [*figure.data]
    intervals = [*figure.select_traces({"mode": "markers"})]
    assert all(
        drawn.index(chance) < drawn.index(each) for each in intervals
    )  # an interval lies above the level, whose dots had hidden its end


def test_metrics_stand_in_one_order_whatever_order_they_are_asked_for_in():
    estimates = {name: Estimate(60, 50, 75, 25, 1) for name in METRICS}
    assert figures.bars_data({"a": estimates}, list(METRICS)[::-1]).metrics == list(METRICS)


def test_models_that_are_compared_stand_side_by_side_at_each_metric():
    rows = {
        "clip": {"group_score": Estimate(10, 5, 15, 16, 0), "group_match": Estimate(60, 50, 70, 50, 2)},
        "siglip": {"group_score": Estimate(20, 15, 25, 16, 0), "group_match": Estimate(80, 75, 85, 50, 0)},
    }
    figure = figures.paired_bars_figure(figures.bars_data(rows, ["group_score", "group_match"]))
    said = [
        bar.hovertext[0] for bar in figure.data if bar.type == "bar"
    ]  # "1.8", the bar's place, stood above it
    assert [text.partition("<br>")[0] for text in said] == [f"GroupScore, {name}" for name in rows]
    assert figure.layout.hovermode == "closest"
    bars = [trace for trace in figure.data if trace.type == "bar"]
    assert [(bar.name, list(bar.y)) for bar in bars] == [("clip", [10, 60]), ("siglip", [20, 80])]
    assert bars[0].marker.pattern.shape != bars[1].marker.pattern.shape
    assert list(figure.layout.xaxis.ticktext) == ["Group<br>Score", "Group<br>Match"]


def test_the_number_of_a_bar_stands_above_its_interval_and_its_chance_level():
    figure = figures.bars_figure(
        figures.bars_data({"a": {"group_match": Estimate(10, 5, 15, 50, 0)}}, ["group_match"])
    )
    number = next(trace for trace in figure.data if trace.type == "scatter" and trace.mode == "text")
    assert number.text == ("10.0",) and number.y[0] > 50


def test_ttm_records_become_percent_with_gaps_where_nothing_was_trained():
    data = figures.ttm_data(STEPS, total=10)
    assert data.iteration.tolist() == [0, 1] and data.total == 10
    assert data.metrics["group_match"].tolist() == [[60, 55, 65, 50], [70, 65, 75, 50]]
    assert np.isnan(data.coverage[0]) and data.coverage[1] == pytest.approx(20)
    assert np.isnan(data.precision[0]) and data.precision[1] == pytest.approx(90)
    assert data.loss[1] == 1.5 and data.threshold[1] == 2.0
    first, *rest = STEPS  # begun by an older version, which had one more metric on 1xk
    older = {**first, "metrics": {**first["metrics"], "image_score": first["metrics"]["group_match"]}}
    assert list(figures.ttm_data([older, *rest], total=10).metrics) == list(data.metrics)


def test_a_run_without_truth_or_without_steps_still_has_data():
    assert figures.ttm_data([], total=3).metrics == {}
    blind = [{"iteration": 0, "metrics": {}, "coverage": None}]
    assert figures.ttm_data(blind, total=3).metrics == {}
    assert len(figures.ttm_metrics_figure(figures.ttm_data(blind, 3)).data) == 0


def test_the_width_of_a_live_figure_is_the_planned_one():
    for figure in (
        figures.ttm_metrics_figure(figures.ttm_data(STEPS, 10)),
        figures.ttm_panel_figure(figures.ttm_data(STEPS, 10), "loss"),
        figures.ttm_compare_figure(
            {"A": figures.ttm_data(STEPS, 10), "B": figures.ttm_data(STEPS, 3)}, "group_match"
        ),
    ):
        assert figure.layout.xaxis.range == (-0.3, 10.3)


def test_the_axis_of_compared_runs_fits_their_curves_and_bands_and_leaves_out_a_chance_level_far_below():
    """Curves within two points of each other stood on an axis from 0 to 100 %."""

    def axis(*values):
        data = figures.ttm_data(STEPS, 3)
        runs = {
            name: data._replace(metrics={"group_match": np.array([value, value])})
            for name, value in zip("ABCD", values, strict=False)
        }
        return figures.ttm_compare_figure(runs, "group_match").layout.yaxis.range

    assert axis((80.0, 76.0, 84.0, 50.0), (81.0, 77.0, 85.0, 50.0)) == (70.0, 90.0)
    assert axis((62.0, 58.0, 66.0, 50.0), (63.0, 59.0, 67.0, 50.0)) == (45.0, 75.0)  # chance is near: in view
    # Of more than three no bands are drawn.
    four = [(80.0 + n, 10.0, 99.0, 50.0) for n in range(4)]
    assert axis(*four) == (75.0, 90.0)


def test_the_table_of_a_run_has_one_row_per_iteration():
    table = figures.ttm_table(figures.ttm_data(STEPS, 10))
    assert table["group_match"].tolist() == [60, 70] and table["group_match_low"].tolist() == [55, 65]


def test_a_planned_schedule_says_what_each_threshold_would_select_today():
    data = figures.schedule_data(np.array([3.0, 1.5, 0.0]), threshold_curve(MATCHES, TRUTH))
    assert data.iteration.tolist() == [1, 2, 3]
    assert data.coverage == pytest.approx([20, 60, 80])
    assert np.isnan(data.precision).all()


def contrast(colour, ground):
    def luminance(text):
        parts = [int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(colour), luminance(ground)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("ground", ["#fcfbf8", "#12111f"])
def test_the_palette_is_readable_on_the_light_and_on_the_dark_page(ground):
    single = [_style.COVERAGE_COLOUR, _style.PRECISION_COLOUR, _style.THRESHOLD_COLOUR]
    metrics = [entry.colour for entry in (*METRICS.values(), *GLOBAL.values())]
    several = [*_style.OUTCOME_COLOURS.values(), *metrics, *(c for c, _ in _style.SERIES)]
    weak = {c: round(contrast(c, ground), 2) for c in (*single, *several) if contrast(c, ground) < 3}
    assert not weak


def test_the_bar_of_ties_says_so_left_of_0_where_no_margin_can_be():
    figure = figures.margins_figure(figures.margins_data(MATCHES, OUTCOME))
    (bar,) = [trace for trace in figure.data if trace.name == "= tie"]
    (said,) = [each for each in figure.layout.annotations if each.text == "tied"]
    assert (said.x, said.y) == (bar.x[0], bar.y[0]) == (-3 / 24, 1)  # 24 bins up to the largest margin, 3
    untied = figures.margins_data(MATCHES, OUTCOME)._replace(tied=0)
    assert not figures.margins_figure(untied).layout.annotations


def test_right_and_wrong_differ_by_more_than_colour():
    figure = figures.margins_figure(figures.margins_data(MATCHES, OUTCOME), threshold=1.0)
    assert (
        figure.layout.xaxis.title.text == "margin: lead over the next best matching"
    )  # of the induced matching
    bars = {trace.name: trace for trace in figure.data}
    assert set(bars) == {"✓ matching right", "✗ matching wrong", "= tie"}
    assert (
        bars["✗ matching wrong"].marker.pattern.shape == "/" != bars["✓ matching right"].marker.pattern.shape
    )
    assert len(figure.layout.shapes) == 1  # the threshold


def test_the_shades_of_a_score_matrix_run_from_light_to_dark():
    assert _style.score_colour(0) == "#e9e7fb" and _style.score_colour(1) == "#2f2880"


def test_a_name_below_bars_keeps_its_hyphens():
    """“attribute swap” and “test time matching” stood beside “left-right”."""
    one = {"group_match": Estimate(60.0, 55.0, 65.0, 50.0, 0)}
    rows = dict.fromkeys(("left-right", "attribute-swap", "test-time matching", "relations-1x4"), one)
    axis = figures.bars_figure(figures.bars_data(rows, ["group_match"])).layout.xaxis
    joined = [text.replace("-<br>", "-").replace("<br>", " ") for text in axis.ticktext]
    assert joined == list(rows)


def test_the_lowest_of_captions_says_so_though_its_bar_has_no_length():
    from core.figures.teaching import caption_bars_data, caption_bars_figure

    figure = caption_bars_figure(caption_bars_data(["a ball", "a cube"], np.array([1.0, 3.5]), 1))
    assert [note.text[2:] for note in figure.layout.annotations] == ["a cube · +2.50", "a ball · lowest"]
    assert figure.layout.showlegend is False  # it promised a colour that is not seen


def test_every_strategy_keeps_its_label_where_there_is_little_room():
    table = retrieval.paper_data()
    axis = retrieval.strategies_figure(table).layout.xaxis
    names = [text.replace("-<br>", "-").replace("<br>", " ") for text in axis.ticktext]
    assert names[0] == "before" and names[-1] == "MM-Adapter" and len(names) == len(table.strategies)
    assert axis.tickangle == 0  # Plotly turns labels that touch, and drops the last one
