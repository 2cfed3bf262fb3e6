"""Metrics on groups: definitions by hand, chance levels by simulation, the permutation rule over all at once."""

from itertools import permutations
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from core.base.errors import InputError
from core.matching.groups import match
from core.metrics.evaluation import Evaluation
from core.metrics.groups import (
    chance,
    evaluate,
    global_match,
    oracle_mask,
    outcomes,
    precision,
    threshold_curve,
)
from core.metrics.statistics import Estimate, compare, estimate


def identity(n: int, m: int) -> np.ndarray:
    return np.tile(np.arange(m), (n, 1))


def by_definition(s: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """The formulas of METHODS 2, one group at a time, in plain Python."""
    m, k = s.shape
    rows = [all(s[i, truth[i]] > s[i, j] for j in range(k) if j != truth[i]) for i in range(m)]
    columns = [all(s[i, truth[i]] > s[r, truth[i]] for r in range(m) if r != i) for i in range(m)]
    total = {p: sum(s[i, p[i]] for i in range(m)) for p in permutations(range(k), m)}
    mine = total.pop(tuple(truth))
    return {
        "text_score": all(rows),
        "image_score": all(columns),
        "group_score": all(rows) and (all(columns) or m < k),
        "group_match": all(mine > other + 1e-12 for other in total.values()),
        "individual_match": np.mean(rows),
    }


@pytest.mark.parametrize("shape", [(1, 2), (1, 4), (2, 2), (2, 4), (3, 3), (4, 4)])
@pytest.mark.parametrize("coarse", [False, True])
def test_every_metric_equals_its_definition(shape, coarse):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(40, *shape))
    scores = np.round(2 * scores) / 2 if coarse else scores
    truth = np.array([rng.permutation(shape[1])[: shape[0]] for _ in range(40)])
    found = outcomes(scores, truth)
    for g in range(40):
        expected = by_definition(scores[g], truth[g])
        assert {*expected} - {*found} == ({"image_score"} if shape[0] == 1 else set())
        for name, outcome in found.items():
            assert outcome.value[g] == expected[name], (name, scores[g], truth[g])


def test_a_group_that_group_score_rejects_and_group_match_accepts():
    result = evaluate(np.array([[[2.0, 2.1], [1.0, 1.9]]]), identity(1, 2))
    # row 0 prefers the wrong caption (2.1 > 2.0), yet 2.0 + 1.9 > 2.1 + 1.0
    assert result["text_score"].value == 0
    assert result["group_score"].value == 0
    assert result["group_match"].value == 100
    assert result["individual_match"].value == 50


def test_a_tie_is_wrong_and_is_counted():
    scores = np.array([[[1.0, 1.0], [0.0, 2.0]], [[3.0, 1.0], [0.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]])
    result = evaluate(scores, identity(3, 2))
    assert (result["text_score"].value, result["text_score"].ties) == (pytest.approx(100 / 3), 1)
    assert (result["individual_match"].value, result["individual_match"].ties) == (pytest.approx(50), 1)
    assert result["group_match"].ties == 0  # 3 against 1, 5 against 1, 2 against 4: none tied


@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (1, 3)])
def test_a_constant_scorer_scores_zero_everywhere_with_every_group_tied(shape):
    result = evaluate(np.ones((7, *shape)), identity(7, shape[0]))
    for name, value in result.items():
        assert (value.value, value.ties) == (0, 7), name


def test_a_tie_between_wrong_matchings_is_no_tie_of_the_true_one():
    scores = np.array([[[0.0, 5.0, 5.0]]])  # captions 1 and 2 tie above the true caption 0
    assert evaluate(scores, np.array([[0]]))["group_match"].ties == 0


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([(1, 2), (1, 4), (2, 2), (2, 4), (3, 3)]),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["continuous", "coarse", "constant", "text-only"]),
)
def test_permuting_captions_changes_no_metric(shape, seed, kind):
    m, k = shape
    rng = np.random.default_rng(seed)
    scores = {
        "continuous": lambda: rng.normal(size=(6, m, k)),
        "coarse": lambda: rng.integers(0, 3, size=(6, m, k)).astype(float),
        "constant": lambda: np.ones((6, m, k)),
        "text-only": lambda: np.repeat(rng.normal(size=(6, 1, k)), m, axis=1),
    }[kind]()
    truth = np.array([rng.permutation(k)[:m] for _ in range(6)])
    order = rng.permutation(k)
    where = np.argsort(order)
    plain, permuted = outcomes(scores, truth), outcomes(scores[:, :, order], where[truth])
    for name in plain:
        np.testing.assert_array_equal(plain[name].value, permuted[name].value, err_msg=name)
        np.testing.assert_array_equal(plain[name].tied, permuted[name].tied, err_msg=name)
    a = threshold_curve(match(scores), truth)
    b = threshold_curve(match(scores[:, :, order]), where[truth])
    for left, right in zip(a, b, strict=True):
        np.testing.assert_array_equal(left, right)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([(1, 3), (2, 2), (3, 3)]), st.integers(0, 2**32 - 1))
def test_a_positive_affine_transform_changes_no_metric_and_a_row_order_change_neither(shape, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(8, *shape)).astype(np.float32)
    truth = np.array([rng.permutation(shape[1])[: shape[0]] for _ in range(8)])
    shuffled = rng.permutation(8)
    for other in (outcomes(4 * scores.astype(float) + 2, truth), outcomes(scores[shuffled], truth[shuffled])):
        for name, outcome in outcomes(scores, truth).items():
            assert outcome.value.mean() == pytest.approx(other[name].value.mean(), abs=1e-12)


@pytest.mark.parametrize("shape", [(1, 2), (1, 4), (2, 2), (2, 4), (3, 3)])
def test_chance_levels_hold_for_random_scores(shape):
    n = 40_000
    scores = np.random.default_rng(5).random((n, *shape))
    for name, outcome in outcomes(scores, identity(n, shape[0])).items():
        level = chance(name, *shape)
        low, high = binom.ppf([1e-5, 1 - 1e-5], n, level) / n
        assert low <= outcome.value.mean() <= high, name


def test_chance_levels_of_two_by_two_are_those_of_the_paper():
    assert [chance(n, 2, 2) for n in ("text_score", "image_score", "group_score", "group_match")] == [
        1 / 4,
        1 / 4,
        pytest.approx(1 / 6),
        1 / 2,
    ]
    assert chance("group_score", 3, 3) == factorial(2) / factorial(5)
    assert chance("group_match", 2, 4) == 1 / 12
    assert chance("group_score", 2, 4) == 1 / 16


def test_on_one_image_groups_all_metrics_coincide_and_image_score_is_none_of_them():
    """One image has no rival in its column: ImageScore would be 100 % of a chance level of 100."""
    scores, truth = np.random.default_rng(6).normal(size=(200, 1, 4)), np.zeros((200, 1), dtype=int)
    found = outcomes(scores, truth)
    assert list(found) == ["text_score", "group_score", "group_match", "individual_match"]
    for name in ("group_score", "group_match", "individual_match"):
        np.testing.assert_array_equal(found[name].value, found["text_score"].value)
    with pytest.raises(InputError, match="Groups of 1x4 have no ImageScore; choose one of text_score, group"):
        outcomes(scores, truth, ["image_score"])


@pytest.mark.parametrize("distinct", [3, 60])
def test_the_bootstrap_interval_is_that_of_resampled_groups(distinct):
    values = np.repeat([0.0, 0.5, 1.0], [20, 10, 30]) if distinct == 3 else np.linspace(0, 1, 60) ** 2
    rng = np.random.default_rng(0)
    means = [rng.choice(values, size=60).mean() for _ in range(20_000)]
    np.testing.assert_allclose(Estimate.bootstrap(values), np.quantile(means, [0.025, 0.975]), atol=0.01)


def test_intervals_are_seeded_and_contain_the_value():
    values = (np.random.default_rng(1).random(300) < 0.3).astype(float)
    assert Estimate.bootstrap(values, seed=4) == Estimate.bootstrap(values, seed=4)
    result = estimate(values, 50.0)
    assert result.low <= result.value <= result.high


def test_a_comparison_counts_what_was_fixed_and_broken():
    first = np.array([1, 1, 0, 0, 0, 0, 1.0])
    second = np.array([1, 0, 1, 1, 1, 0, 1.0])
    result = compare(first, second)
    assert (result.fixed, result.broken) == (3, 1)
    assert result.difference == pytest.approx(200 / 7)
    assert result.p_value == pytest.approx(2 * (1 + 4) / 2**4)  # P(at most 1 of 4 heads), two-sided
    assert result.low < result.difference < result.high


def test_a_comparison_of_equal_runs_has_p_one_and_other_lengths_are_refused():
    assert compare(np.ones(4), np.ones(4)).p_value == 1.0
    with pytest.raises(InputError, match="same groups"):
        compare(np.ones(4), np.ones(5))


def test_the_threshold_curve_is_exact_at_every_margin():
    scores = np.array(
        [[[3.0, 0], [0, 0]], [[0, 2.0], [0, 0]], [[2.0, 0], [0, 0]], [[1.0, 0], [0, 0]], [[0.0, 0], [0, 0]]]
    )
    curve = threshold_curve(match(scores), identity(5, 2))  # margins 3 right, 2 wrong, 2 right, 1 right, tied
    np.testing.assert_array_equal(curve.threshold, [3, 2, 1])
    np.testing.assert_allclose(curve.coverage, [1 / 5, 3 / 5, 4 / 5])
    np.testing.assert_allclose(curve.precision, [1, 2 / 3, 3 / 4])


def test_precision_counts_selected_groups_only_and_is_none_without_any():
    matching, truth = np.array([[0, 1], [1, 0], [0, 1]]), identity(3, 2)
    assert precision(matching, np.array([True, True, False]), truth) == 0.5
    assert precision(matching, np.zeros(3, dtype=bool), truth) is None


def test_the_oracle_selects_exactly_the_right_matchings():
    scores = np.array([[[3.0, 0], [0, 0]], [[0, 2.0], [0, 0]], [[0.0, 0], [0, 0]]])
    np.testing.assert_array_equal(oracle_mask(identity(3, 2))(match(scores)), [True, False, False])


def test_global_match_by_hand():
    scores = np.array(
        [[0.9, 0.8, 0.0], [0.8, 0.1, 0.0]]
    )  # argmax collides on column 0; 0.8 + 0.8 beats 0.9 + 0.1
    result = global_match(scores, np.array([1, 0]))
    assert result.value == 100
    assert result.chance == pytest.approx(100 / 3)


def test_ties_of_a_global_assignment_are_said_to_be_uncounted_and_never_to_be_none():
    from core.base.text import tie_count
    from core.cli._output import format_metrics
    from core.figures.text import metric_line

    found = global_match(np.ones((4, 4)), np.arange(4))  # everything ties
    assert found.ties is None and metric_line(found).endswith("ties not counted")
    record = {"metrics": {"global_match": found.record()}}
    assert format_metrics(record).splitlines()[1].split()[-1] == "–"
    assert [tie_count(n) for n in (None, float("nan"), 0, 12.0)] == ["–", "–", "0", "12"]


def test_a_global_tie_is_not_resolved_in_favour_of_the_file_order():
    assert global_match(np.ones((200, 200)), np.arange(200)).value < 5


def test_wrong_truth_and_unknown_metric_are_one_sentence():
    scores = np.zeros((2, 2, 2))
    with pytest.raises(InputError, match="distinct caption indices"):
        evaluate(scores, np.array([[0, 1], [1, 1]]))
    with pytest.raises(InputError, match="shape"):
        evaluate(scores, np.array([0, 1]))
    with pytest.raises(InputError, match="did you mean 'group_match'"):
        chance("groupmatch", 2, 2)


def test_winoground_embeddings_give_the_published_numbers(winoground_embeddings):
    arrays = np.load(winoground_embeddings)
    images, captions = (a / np.linalg.norm(a, axis=1, keepdims=True) for a in (arrays["img"], arrays["cap"]))
    scores = np.einsum("nid,njd->nij", images.reshape(400, 2, -1), captions.reshape(400, 2, -1))
    result = evaluate(scores, identity(400, 2))
    assert [result[n].value for n in ("text_score", "image_score", "group_score", "group_match")] == [
        34.75,
        11.0,
        7.5,
        67.5,
    ]


def test_at_a_threshold_tied_groups_are_said_to_be_left_out():
    """“no ties” stood below a card that said “1 tied”. By hand: 10 + 8 = 9 + 9, so the first group is tied."""
    scores = np.array([[[10.0, 9.0], [9.0, 8.0]], [[2.0, 0.0], [0.0, 2.0]]])
    found = Evaluation.of(scores, np.array([[0, 1]] * 2), ["a", "b"])
    said = str(found._at_threshold(0.0))
    assert said.startswith("**1 of 2 groups** selected (coverage 50.0 %)") and "no ties" not in said
    assert said.endswith(", 1 tied group left out.")
    alone = Evaluation.of(scores[1:], np.array([[0, 1]]), ["b"])
    assert str(alone._at_threshold(0.0)).endswith(", no ties.")
