"""Induced matchings, exact margins and global assignment, against brute force over all matchings."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from core.base.errors import InputError
from core.matching.global_match import match_global
from core.matching.groups import check_scores, match

SHAPES = [
    (1, 2),
    (1, 4),
    (1, 5),
    (2, 2),
    (2, 4),
    (3, 3),
    (3, 5),
    (4, 4),
    (5, 5),
    (6, 6),
    (2, 28),
    (7, 7),
    (3, 12),
]


def brute_force(group: np.ndarray) -> tuple[tuple[int, ...] | None, float]:
    """The best matching (None if tied) and its margin, by summing every one of them."""
    m, k = group.shape
    totals = sorted(
        ((sum(group[i, p[i]] for i in range(m)), p) for p in permutations(range(k), m)), key=lambda t: -t[0]
    )
    margin = totals[0][0] - totals[1][0]
    return (totals[0][1] if margin > 1e-12 else None), margin


@pytest.mark.parametrize("shape", SHAPES)
def test_matching_and_margin_equal_brute_force(shape):
    scores = np.random.default_rng(0).normal(size=(4, *shape))
    found = match(scores)
    for g, group in enumerate(scores):
        best, margin = brute_force(group)
        assert tuple(found.matching[g]) == best
        assert found.margin[g] == pytest.approx(margin, abs=1e-12)
    assert not found.tied.any()


@pytest.mark.parametrize("shape", [(4, 4), (5, 5), (6, 6), (3, 6)])
def test_assignment_and_enumeration_agree(shape, monkeypatch):
    scores = np.random.default_rng(1).normal(size=(20, *shape))
    by_trial = match(scores)
    monkeypatch.setattr("core.matching.groups.MAX_ENUMERATED", 1)
    by_assignment = match(scores)
    np.testing.assert_array_equal(by_trial.matching, by_assignment.matching)
    np.testing.assert_allclose(by_trial.margin, by_assignment.margin, atol=1e-12)


@pytest.mark.parametrize("shape", [(8, 8), (16, 16), (32, 32), (7, 11), (2, 40)])
def test_the_margin_of_large_groups_is_that_of_the_best_assignment_without_one_edge_of_the_best(shape):
    scores = np.random.default_rng(8).normal(size=(3, *shape))
    found = match(scores)
    for group, matching, margin in zip(scores, found.matching, found.margin, strict=True):
        rows, chosen = linear_sum_assignment(group, maximize=True)
        others = []
        for i in rows:
            without = group.copy()
            without[i, chosen[i]] = -1e9
            others.append(without[linear_sum_assignment(without, maximize=True)].sum())
        assert matching.tolist() == chosen.tolist()
        assert margin == pytest.approx(group[rows, chosen].sum() - max(others), abs=1e-12)


@pytest.mark.parametrize("shape", [(7, 7), (7, 9), (8, 8)])
def test_large_groups_of_few_levels_tie_where_another_matching_has_the_best_total(shape):
    scores = np.random.default_rng(9).integers(0, 3, (30, *shape)).astype(float)
    found = match(scores)
    assert found.tied.any()
    # A best matching without one of its edges is as good: found by forbidding each in turn.
    for group, tied in zip(scores, found.tied, strict=True):
        rows, chosen = linear_sum_assignment(group, maximize=True)
        best = group[rows, chosen].sum()
        again = []
        for i in rows:
            without = group.copy()
            without[i, chosen[i]] = -1e9
            again.append(without[linear_sum_assignment(without, maximize=True)].sum() == best)
        assert tied == any(again)


@pytest.mark.parametrize("shape", [(7, 7), (7, 9), (12, 12), (2, 40)])
@pytest.mark.parametrize("kind", ["random", "levels", "text only", "zeros", "nearly tied"])
def test_a_tie_that_is_found_without_all_paths_is_the_same_tie(monkeypatch, shape, kind):
    rng, (m, k) = np.random.default_rng(10), shape
    scores = {
        "random": rng.normal(size=(30, m, k)),
        "levels": rng.integers(0, 3, (30, m, k)) / 3,
        "text only": np.repeat(rng.normal(size=(30, 1, k)), m, axis=1),
        "zeros": np.zeros((30, m, k)),
        "nearly tied": np.ones((30, m, k)) + 1e-14 * rng.integers(0, 3, (30, m, k)),
    }[kind]
    wanted = match(scores)
    monkeypatch.setattr("core.matching.groups._LARGE", 0)
    found = match(scores)
    for got, plain in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, plain)
    assert found.tied.all() or kind not in ("zeros", "text only")
    assert not (found.tied.any() and kind == "random")


def test_margin_of_two_by_two_is_the_difference_of_the_diagonals():
    found = match(np.array([[[2.0, 1.9], [1.5, 1.6]], [[0.1, 0.9], [0.4, 0.3]]]))
    np.testing.assert_array_equal(found.matching, [[0, 1], [1, 0]])  # 3.6 > 3.4; 1.3 > 0.4
    np.testing.assert_allclose(found.margin, [0.2, 0.9])


@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (1, 4), (2, 4), (7, 7)])
def test_a_constant_scorer_ties_everywhere_and_gets_no_matching(shape):
    found = match(np.full((3, *shape), 0.1))
    assert found.tied.all()
    assert (found.matching == -1).all()
    assert (found.margin == 0).all()


@pytest.mark.parametrize("k", [2, 3, 4, 7])
def test_a_text_only_scorer_ties_on_square_groups_despite_rounding(k):
    column = np.random.default_rng(2).normal(
        size=(50, 1, k)
    )  # float64: sums in another order round differently
    assert match(np.repeat(column, k, axis=1)).tied.all()


def test_a_large_common_offset_does_not_hide_a_float32_difference():
    scores = np.full((1, 2, 2), 1e4, dtype=np.float32)
    scores[0, 0, 0] = np.nextafter(np.float32(1e4), np.float32(2e4))
    assert tuple(match(scores).matching[0]) == (0, 1)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 3).flatmap(lambda m: st.tuples(st.just(m), st.integers(max(m, 2), 4))),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_permuting_captions_permutes_the_matching_and_keeps_the_margin(shape, seed, coarse):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(5, *shape))
    if coarse:
        scores = np.round(scores)  # many exact ties
    order = rng.permutation(shape[1])
    plain, permuted = match(scores), match(scores[:, :, order])
    np.testing.assert_array_equal(permuted.margin, plain.margin)
    np.testing.assert_array_equal(permuted.tied, plain.tied)
    back = np.where(permuted.tied[:, None], -1, order[permuted.matching])
    np.testing.assert_array_equal(back, plain.matching)


def test_float16_and_integer_scores_are_accepted():
    scores = [[[3, 1], [1, 2]]]
    for dtype in (np.float16, np.int32):
        assert tuple(match(np.array(scores, dtype=dtype)).matching[0]) == (0, 1)


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        (np.zeros((2, 2)), "three axes"),
        (np.zeros((0, 2, 2)), "no groups"),
        (np.zeros((1, 3, 2)), "no more images than captions"),
        (np.zeros((1, 1, 1)), "two captions"),
        (np.array([[[1.0, np.nan], [0.0, 1.0]]]), "Group 0"),
        (np.array([[["a", "b"]]]), "numbers"),
    ],
)
def test_bad_scores_are_one_sentence(scores, says):
    with pytest.raises(InputError, match=says):
        check_scores(scores)


def test_a_non_finite_score_names_the_group():
    scores = np.zeros((3, 2, 2))
    scores[1, 0, 0] = np.inf
    with pytest.raises(InputError, match="'second'"):
        check_scores(scores, ids=["first", "second", "third"])


def test_global_assignment_equals_brute_force():
    scores = np.random.default_rng(3).normal(size=(4, 6))
    best = max(permutations(range(6), 4), key=lambda p: sum(scores[i, p[i]] for i in range(4)))
    assert tuple(match_global(scores)) == best


def test_global_assignment_refuses_more_images_than_captions_and_nan():
    with pytest.raises(InputError, match="images <= captions"):
        match_global(np.zeros((3, 2)))
    with pytest.raises(InputError, match="Image 1"):
        match_global(np.array([[0.0, 1.0], [np.nan, 1.0]]))
