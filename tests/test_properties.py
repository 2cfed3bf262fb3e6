"""What has to hold of every metric, matching and curve at once, whatever the scores."""

import json
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from core.base.errors import InputError
from core.base.text import _rounded
from core.cli._output import format_metrics, format_spread, format_step
from core.debiasing.curves import alpha_curve
from core.debiasing.debias import debias
from core.exchange.layouts import _estimate_cell
from core.exchange.run_table import _Ends, _pair_frame, _pair_said, _result
from core.exchange.seeds import SeedResult
from core.matching.groups import match
from core.metrics.groups import (
    chance,
    evaluate,
    metrics_of_shape,
    outcomes,
    threshold_curve,
)
from core.metrics.statistics import Estimate, compare, estimate
from core.ttm.seeds import spread

SHAPES = [(1, 2), (1, 4), (2, 2), (2, 4), (3, 3), (4, 4), (7, 7)]
KINDS = {
    "continuous": lambda rng, size: rng.normal(size=size),
    "few levels": lambda rng, size: rng.integers(-1, 2, size=size).astype(float),
    "constant": lambda rng, size: np.full(size, 0.1),
    "text-only": lambda rng, size: np.broadcast_to(rng.normal(size=(size[0], 1, size[2])), size),
    "float16": lambda rng, size: rng.normal(size=size).astype(np.float16),
}
cases = given(st.sampled_from(SHAPES), st.sampled_from(sorted(KINDS)), st.integers(0, 2**32 - 1))


def case(shape, kind, seed, n=9):
    rng = np.random.default_rng(seed)
    truth = np.array([rng.permutation(shape[1])[: shape[0]] for _ in range(n)])
    return KINDS[kind](rng, (n, *shape)), truth, rng


def assert_same(first, second, names=None):
    for name in names or first:
        for a, b in zip(first[name], second[name], strict=True):
            np.testing.assert_array_equal(a, b, err_msg=name)


@settings(max_examples=60, deadline=None)
@cases
def test_no_order_of_captions_images_or_groups_matters(shape, kind, seed):
    scores, truth, rng = case(shape, kind, seed)
    plain, matches = outcomes(scores, truth), match(scores)
    captions, images, groups = (rng.permutation(size) for size in (shape[1], shape[0], len(scores)))
    where = np.argsort(captions)
    moved = scores[:, :, captions], where[truth]
    assert_same(plain, outcomes(*moved))
    np.testing.assert_array_equal(matches.tied, match(moved[0]).tied)
    assert_same(plain, outcomes(scores[:, images], truth[:, images]))
    np.testing.assert_allclose(matches.margin, match(scores[:, images]).margin, atol=1e-12)
    for name, found in outcomes(scores[groups], truth[groups]).items():
        np.testing.assert_array_equal(found.value, plain[name].value[groups])
        np.testing.assert_array_equal(found.tied, plain[name].tied[groups])


@settings(max_examples=60, deadline=None)
@cases
def test_comparisons_keep_under_increasing_transforms_and_matchings_under_scaling(shape, kind, seed):
    scores, truth, _ = case(shape, kind, seed)
    plain = outcomes(scores, truth)
    cubed = outcomes(np.asarray(scores, dtype=float) ** 3 + 2 * np.asarray(scores, dtype=float), truth)
    assert_same(plain, cubed, plain.keys() - {"group_match"})
    assert_same(plain, outcomes(4 * np.asarray(scores, dtype=float), truth))
    np.testing.assert_array_equal(match(4 * np.asarray(scores, dtype=float)).margin, 4 * match(scores).margin)


@settings(max_examples=60, deadline=None)
@cases
def test_what_is_added_to_an_image_or_a_caption_moves_only_what_it_may(shape, kind, seed):
    """Integers keep sums exact. A bonus to a caption leaves bijections alone, one to an image any matching."""
    scores, truth, rng = case(shape, "few levels" if kind != "constant" else kind, seed)
    to_image = rng.integers(-3, 4, (len(scores), shape[0], 1))
    to_caption = rng.integers(-3, 4, (len(scores), 1, shape[1]))
    plain = outcomes(scores, truth)
    same = {"text_score", "individual_match", "group_match"} | (
        {"group_score"} if shape[0] < shape[1] else set()
    )
    if kind == "constant":  # 0.1 plus an integer rounds
        same -= {"group_match"}
    assert_same(plain, outcomes(scores + to_image, truth), same)
    if shape[0] > 1:
        assert_same(plain, outcomes(scores + to_caption, truth), {"image_score"})
    if shape[0] == shape[1] and kind != "constant":
        assert_same(plain, outcomes(scores + to_caption, truth), {"group_match"})


@settings(max_examples=60, deadline=None)
@cases
def test_metrics_imply_each_other_as_their_definitions_do(shape, kind, seed):
    scores, truth, _ = case(shape, kind, seed)
    found = outcomes(scores, truth)
    names = ("text_score", "group_score", "group_match", "individual_match")
    text, group, matched, single = (found[name].value for name in names)
    assert (group <= text).all() and (text == (single == 1)).all()
    if shape[0] == shape[1]:
        np.testing.assert_array_equal(group, text & found["image_score"].value)
    assert not (
        text & ~matched
    ).any()  # the best of every row: no matching has a higher total, nor as high a one
    for name, outcome in found.items():
        assert not (outcome.tied & (outcome.value == 1)).any(), name


@settings(max_examples=40, deadline=None)
@cases
def test_a_group_alone_has_the_outcome_it_has_among_others(shape, kind, seed):
    scores, truth, _ = case(shape, kind, seed, n=4)
    together = outcomes(scores, truth)
    for g in range(4):
        for name, alone in outcomes(scores[g : g + 1], truth[g : g + 1]).items():
            assert alone.value[0] == together[name].value[g]
            assert alone.tied[0] == together[name].tied[g]
        estimates = evaluate(scores[g : g + 1], truth[g : g + 1], ["group_match"])
        assert estimates["group_match"].low <= estimates["group_match"].value <= estimates["group_match"].high


@pytest.mark.parametrize("shape", SHAPES)
def test_no_groups_and_scores_that_are_no_numbers_are_errors_of_every_entry(shape):
    empty, nothing = np.zeros((0, *shape)), np.zeros((0, shape[0]), dtype=int)
    broken, truth = np.zeros((3, *shape)), np.tile(np.arange(shape[0]), (3, 1))
    broken[1, 0, 0] = np.nan
    for work in (lambda s, t: match(s), outcomes, evaluate):
        with pytest.raises(InputError, match="no groups"):
            work(empty, nothing)
        with pytest.raises(InputError, match="Group 1 "):
            work(broken, truth)
    for name in metrics_of_shape(*shape):
        with pytest.raises(InputError, match="Group 1 "):
            alpha_curve(broken, np.zeros((3, shape[1])), truth, name)


@pytest.mark.parametrize("shape", [(1, 5), (2, 3), (2, 5), (3, 4), (4, 4), (5, 5)])
def test_chance_levels_hold_for_random_scores_of_further_shapes(shape):
    n = 30_000
    scores = np.random.default_rng(11).random((n, *shape), dtype=np.float32)
    for name, outcome in outcomes(scores, np.tile(np.arange(shape[0]), (n, 1))).items():
        level = chance(name, *shape)
        units = n * shape[0] if name == "individual_match" else n
        low, high = binom.ppf([1e-6, 1 - 1e-6], units, level) / units
        assert low <= outcome.value.mean() <= high, name


@settings(max_examples=40, deadline=None)
@cases
def test_the_threshold_curve_is_what_a_dense_grid_of_thresholds_gives(shape, kind, seed):
    scores, truth, _ = case(shape, kind, seed, n=30)
    found = match(scores)
    curve = threshold_curve(found, truth)
    right = (found.matching == truth).all(axis=1)
    grid = np.concatenate([np.linspace(0, found.margin.max() * 1.1 + 1, 97), found.margin])
    for tau in grid:
        selected = (found.margin >= tau) & ~found.tied
        at = np.flatnonzero(curve.threshold >= tau)
        coverage = curve.coverage[at[-1]] if len(at) else 0.0
        assert coverage == pytest.approx(selected.mean())
        if len(at):
            assert curve.precision[at[-1]] == pytest.approx(right[selected].mean())


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([(shape, name) for shape in SHAPES[:-1] for name in metrics_of_shape(*shape)]),
    st.integers(0, 2**32 - 1),
)
def test_the_alpha_curve_is_what_a_dense_grid_of_alphas_gives(which, seed):
    shape, name = which
    scores, truth, rng = case(shape, "continuous", seed, n=12)
    prior = rng.normal(size=(12, shape[1]))
    curve = alpha_curve(scores, prior, truth, name)
    for alpha in np.linspace(0, 1, 41):
        plain = outcomes(debias(scores, prior, alpha), truth, [name])[name].value.mean()
        assert curve.value(alpha) == pytest.approx(100 * plain)


def test_yes_or_no_outcomes_and_shares_have_the_same_interval_as_the_numbers_they_are():
    right = np.random.default_rng(12).random(500) < 0.3
    assert Estimate.bootstrap(right) == Estimate.bootstrap(right.astype(float))
    assert compare(right, ~right) == compare(right.astype(float), 1.0 - right)
    assert estimate(right, 0.0) == estimate(right.astype(float), 0.0)


def test_the_bootstrap_of_yes_or_no_is_binomial():
    """The resampled count of successes is binomial, so the interval's ends are its quantiles."""
    n, successes = 400, 120
    low, high = Estimate.bootstrap(np.arange(n) < successes, resamples=200_000)
    expected = binom.ppf([0.025, 0.975], n, successes / n) / n
    np.testing.assert_allclose([low, high], expected, atol=1.01 / n)


@pytest.mark.parametrize("name", ["text_score", "group_score", "group_match"])
def test_the_interval_of_a_curve_is_exact_on_every_piece(name):
    rng = np.random.default_rng(13)
    scores, prior = rng.normal(size=(333, 2, 3)), rng.normal(size=(333, 3))
    curve = alpha_curve(scores, prior, np.tile([0, 1], (333, 1)), name)
    assert len(curve.values) > 20
    for value, low, high in zip(curve.values, *curve.interval(333), strict=True):
        wanted = binomtest(round(value / 100 * 333), 333).proportion_ci()
        assert (low, high) == pytest.approx((100 * wanted.low, 100 * wanted.high))


# ---- one number is printed the same everywhere


@given(
    st.integers(0, 99),
    st.integers(0, 99),
    st.floats(0.4975, 0.5025, exclude_min=True, exclude_max=True),
    st.sampled_from([0.1, 0.01]),
)
@example(4, 47, 0.5044, 0.01)  # 4.475044 is 4.48, though its four decimals, 4.4750, are 4.47 in floats
@example(4, 47, 0.496, 0.01)  # 4.47496 is 4.47, though its four decimals, 4.4750, are 4.48 by hand
@example(12, 12, 0.5, 0.01)  # 12.125 is half, and Python would round it to even
@settings(max_examples=200, deadline=None)
def test_a_number_near_a_half_is_printed_the_same_by_every_command_page_and_file(whole, part, rest, unit):
    """Expected: the number itself, rounded once, a half up. What was rounded to four decimals first had another last
    digit."""
    value = round(whole + unit * (part % (100 if unit == 0.01 else 10) + rest), 8)
    two, one = (str(Decimal(repr(value)).quantize(Decimal(to), ROUND_HALF_UP)) for to in ("0.01", "0.1"))
    found = Estimate(value, value, value, value, 0)
    stored = json.loads(json.dumps(found.record()))  # as a run writes it down
    step = {"iteration": 1, "threshold": None, "coverage": None, "seconds": 0.0, "note": ""}
    step |= {"metrics": {"group_match": stored}, "parts": {}}
    interval = f"{two} [{two}, {two}]"
    assert f"group_match {interval} (chance {one}, ties 0)" in format_step(step)
    assert format_metrics({"metrics": {"group_match": stored}}).splitlines()[1].split() == [
        "group_match", two, f"[{two},", f"{two}]", two, "0",
    ]  # fmt: skip
    seeds = {"iteration": 1, "seeds": 2, "metrics": {"group_match": spread([value, value])._asdict()}}
    assert f"group_match {two} ± 0.00" in format_spread(seeds)
    assert _estimate_cell(found) == _estimate_cell(Estimate.of_record(stored)) == interval
    assert SeedResult("group_match", "", found, found, spread([value]), [0], value, None).line() == (
        f"GroupMatch       before {interval}  after {interval}, chance {two}, no ties  gain +{two}"
    )
    assert str(Estimate.of_record(stored)) == str(found)
    assert str(found) == f"{one} % (95 % interval {one}–{one}), chance {one} %, no ties"
    ends = _Ends({}, {("", "group_match"): _result([stored], None, False)}, "", 1)
    frame = _pair_frame((ends, ends), ["group_match"], {})
    assert frame["A"].tolist() == [float(two)] and frame["B: low"].tolist() == [float(two)]
    whole_table = _pair_frame((ends, ends), ["group_match"], {}, digits=None)
    assert _pair_said(whole_table)["A"].tolist() == _pair_said(frame)["A"].tolist() == [interval]
    assert _pair_said(whole_table, as_on_cards=True)["A"].tolist() == [f"{one} ({one}–{one})"]
    assert _rounded(pd.DataFrame({"v": [value]}), {"v": 2})["v"].tolist() == [float(two)]
