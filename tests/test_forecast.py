"""The forecast of test-time matching: what it reads, what it says, and how it is judged."""

import json
from math import isnan

import numpy as np
import pytest

from core.matching.groups import match
from core.ttm import forecast as room
from core.ttm._signals import first_signals, moved
from core.ttm.forecast import Forecast
from core.ttm.run import SimpleMatchRun, TTMRun

# Induced matchings: identity, identity, swapped, tied. The first passes GroupScore's test, the others do not: in the
# second caption 0 wins in both rows, in the third caption 1.
SCORES = np.array(
    [
        [[2.0, 0.0], [0.0, 2.0]],
        [[3.0, 1.0], [2.5, 1.0]],
        [[1.0, 3.0], [1.0, 2.0]],
        [[1.0, 1.0], [1.0, 1.0]],
    ]
)


def test_signals_by_hand():
    found = first_signals(SCORES, None, {"other": SCORES[:, :, ::-1]})
    assert found["chance"] == 0.5 and found["tied"] == 0.25
    assert found["consistency"] == 0.25
    # margins 4, 0.5, 1, 0; mean variance within groups: (1 + 0.796875 + 0.6875 + 0) / 4
    spread = np.sqrt((1 + 0.796875 + 0.6875) / 4)
    assert found["margin"] == pytest.approx(0.75 / spread)
    assert found["other"] == -1.0  # it matches every group the other way round: (0 - 1/2) / (1 - 1/2)


def test_agreement_is_of_clear_groups_and_of_the_surest_fifth():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(50, 2, 2))
    order = np.argsort(-match(scores).margin)
    other = scores.copy()
    other[order[10:]] = other[order[10:], :, ::-1]
    found = first_signals(scores, (scores, scores), {"other": other})
    assert found["views"] == found["views_sure"] == found["other_sure"] == 1.0
    assert found["other"] == pytest.approx((10 / 50 - 0.5) / 0.5)
    assert moved(match(scores), match(other)) == pytest.approx(0.8)


def test_signals_depend_neither_on_units_nor_on_the_order_of_captions():
    rng = np.random.default_rng(1)
    scores, other = rng.normal(size=(2, 40, 2, 4))
    order = np.array([2, 0, 3, 1])
    found = first_signals(scores, None, {"other": other})
    again = first_signals(7 * scores[:, :, order] + 3, None, {"other": 2 * other[:, :, order]})
    assert again == pytest.approx(found)


FITTED = {
    "models": ["builtin/clip"],
    "signals": ["consistency", "other"],
    "centre": {"consistency": 0.2, "other": 0.5},
    "scale": {"consistency": 0.1, "other": 0.25},
    "weights": {"consistency": -4.0, "other": 2.0},
    "intercept": 3.0,
    "below": -5.0,
    "above": 6.0,
    "coverage": 0.8,
    "range": {"consistency": [0.0, 1.0], "other": [-1.0, 1.0]},
}
RUN = TTMRun.of("scenes/left-right", "builtin/clip")


@pytest.fixture
def fitted(monkeypatch):
    monkeypatch.setattr(room, "_fitted", lambda: FITTED)


def test_a_forecast_by_hand(fitted):
    # consistency 0.25 and full agreement but for the tied group: (3/4 - 1/2) / (1/2) = 0.5
    found = Forecast.of(RUN, lambda model: SCORES)
    assert found.gain == pytest.approx(3 - 4 * 0.5 + 0)
    assert (found.low, found.high) == pytest.approx((-4, 7)) and found.verdict == "cannot tell"
    assert "GroupMatch may rise or fall, -4 to +7 points." in found.sentence()
    assert "In tests on other sets the mean of a few runs ended inside in 80 % of cases." in found.sentence()
    assert "changed by +8.0, outside of the interval" in found.sentence(8.0)


def test_a_forecast_that_fails_on_the_set_says_so(fitted, monkeypatch):
    """It said -4 to +12 beside an example of +12.6, where four measured runs had +12.9 in the mean."""
    for change, verdict in ((12.92, "outside"), (3.0, "inside")):
        runs = "4 runs of this model on this set changed GroupMatch"
        said = f"Measured: {runs} by {change:+.1f} points on average, {verdict} the forecast. "
        cell = {RUN.model: {RUN.benchmark: {"change": change, "runs": 4}}}
        monkeypatch.setitem(FITTED, "measured", cell)
        assert Forecast.of(RUN, lambda model: SCORES).sentence().startswith(said)
    monkeypatch.setitem(FITTED, "measured", {RUN.model: {}})
    assert "Measured" not in Forecast.of(RUN, lambda model: SCORES).sentence()


@pytest.mark.parametrize(
    ("low", "high", "says"),
    [
        (5, 15, "likely +5 to +15"),
        (-8, -2, "likely to harm (-8 to -2)"),
        (-1, 9, "cannot tell"),
        (0, 9, "cannot tell"),
    ],
)
def test_the_verdict_is_read_off_the_interval(low, high, says):
    assert Forecast((low + high) / 2, low, high, 0.8).verdict == says


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (
            TTMRun.of("scenes/left-right", "builtin/siglip"),
            "builtin/clip on the built-in sets, and",
        ),
        (TTMRun.of("scenes/left-right", "builtin/clip", options={"epochs": 7}), "preset 'builtin'"),
        (TTMRun.of("scenes/left-right", "builtin/clip", oracle=True), "preset 'builtin'"),
        (
            TTMRun.of("scenes/left-right", "builtin/clip", groups=20),
            "forecasts are based on runs with all groups alone",
        ),
        (
            TTMRun.of("scenes/left-right", "builtin/clip", groups=20, options={"epochs": 7}),
            "runs with the unchanged preset 'builtin' and all groups alone",
        ),
        (SimpleMatchRun.of("scenes/left-right", "builtin/clip"), "test-time matching"),
    ],
)
def test_of_what_was_not_measured_nothing_is_said_and_no_model_is_asked(fitted, run, why):
    found = Forecast.of(run, lambda model: pytest.fail(f"{model} was asked"))
    assert isnan(found.gain) and found.verdict == "cannot tell" and why in found.sentence()


def test_any_seed_is_forecast(fitted):
    assert not Forecast.of(
        TTMRun.of("scenes/left-right", "builtin/clip", options={"seed": 3}), lambda model: SCORES
    ).why


def test_signals_out_of_the_measured_range_are_not_forecast(fitted, monkeypatch):
    monkeypatch.setitem(FITTED["range"], "consistency", [0.5, 1.0])
    found = Forecast.of(RUN, lambda model: SCORES)
    assert (
        "self-consistency of 0.25, and the runs that forecasts are based on had 0.50 to 1.00"
        in found.sentence()
    )


def test_what_ships_is_complete_and_says_how_it_was_judged():
    path = room.assets() / "results" / "ttm_forecast.json"
    fitted = json.loads(path.read_text())
    assert {*fitted["signals"]} == {*fitted["centre"], *fitted["weights"], *fitted["range"]} <= {*room._WORDS}
    assert fitted["below"] < 0 < fitted["above"] and "sets" in fitted["judged"]
    assert fitted["command"] == "python -m benchmarks.results.forecast"
