"""The line over figures: where it stands, that figures stay as they are, and what is kept for all visitors."""

import json
import threading

import numpy as np
import pytest
from driving import fine

from core import figures
from core.metrics.evaluation import Evaluation
from ui.cached import cached_on
from ui.moving_line import axis_position

MATCHING = "pages/2_Matching.py"


def lines(test, key):
    """What the page tells the line: key of a chart -> share of its width."""
    found = [e.proto for e in test.get("bidi_component") if key in e.proto.id]
    assert len(found) == 1
    return json.loads(found[0].json)["lines"]


def charts(test):
    return [chart.proto.spec for chart in test.get("plotly_chart")]


def test_a_share_is_linear_and_leaves_the_axis_beyond_its_ends():
    assert axis_position(-0.01, (-0.01, 1.01)) == 0 and axis_position(1.01, (-0.01, 1.01)) == 1
    assert axis_position(0.5, (-0.01, 1.01)) == pytest.approx(0.5)
    assert axis_position(3, (0.0, 2.0)) > 1 and axis_position(-1, (0.0, 2.0)) < 0


def test_the_threshold_moves_the_line_and_draws_no_chart_again(app):
    test = app(MATCHING, set="scenes/left-right")
    before, at = charts(test), lines(test, "tau-lines")
    slider = test.slider(key="tau")
    fine(slider.set_value(slider.max / 2).run())
    after = lines(test, "tau-lines")
    assert charts(test) == before
    assert set(after) == {"margins", "threshold"}
    assert all(0 <= at[key] < after[key] <= 1 for key in after)
    margins = next(spec for spec in before if "matching right" in spec)
    low, high = np.array(json.loads(margins)["layout"]["xaxis"]["range"], float)
    assert after["margins"] == pytest.approx((slider.max / 2 - low) / (high - low))


def test_a_figure_with_a_line_is_another_figure():
    scores = np.random.default_rng(0).normal(size=(40, 2, 2))
    found = Evaluation.of(scores, None)
    plain = figures.margins_figure(figures.margins_data(found.matches, found.outcomes["group_match"]))
    marked = figures.with_threshold_line(plain, 0.25)
    assert len(plain.layout.shapes) == 0 and len(marked.layout.shapes) == 1
    assert marked.layout.shapes[0].x0 == marked.layout.shapes[0].x1 == 0.25
    low, high = plain.layout.xaxis.range
    assert low <= 0 and high >= found.matches.margin.max()


def test_what_is_kept_is_made_once_and_belongs_to_its_object():
    class Owner:
        pass

    first, second, made = Owner(), Owner(), []

    def make():
        made.append(1)
        return object()

    found = []
    jobs = [threading.Thread(target=lambda: found.append(cached_on(first, "a", make))) for _ in range(8)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert len({id(x) for x in found}) == 1
    count = len(made)
    assert cached_on(first, "a", make) is found[0] and len(made) == count
    assert cached_on(first, "b", make) is not found[0] and cached_on(second, "a", make) is not found[0]


def test_a_preset_of_the_run_form_leaves_the_alpha_slider_alone(app):
    test = app("pages/4_Test-Time_Matching.py", set="scenes/attribute-swap", run="new")
    other = next(
        name for name in test.selectbox(key="preset").options if name != test.selectbox(key="preset").value
    )
    fine(test.selectbox(key="preset").set_value(other).run())
    test.query_params.clear()
    test.query_params["model"] = "vgpt:builtin/blip-caption"
    test.switch_page("pages/3_Debias.py")
    assert fine(test.run()).slider(key="alpha").value == 0.0
