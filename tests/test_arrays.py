"""Matchings, margins and metrics against brute force, for every shape, type of number and library of arrays."""

from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from test_ranks import assert_counted

from core.base.arrays import to_numpy
from core.base.errors import InputError
from core.debiasing.curves import alpha_curve, recall_curve, validate_alpha
from core.debiasing.debias import debias, group_prior, prior_from_samples, prior_from_scores
from core.debiasing.study import AlphaStudy, _sampled_priors
from core.matching import blocks
from core.matching.comparisons import fitted_groups
from core.matching.global_match import match_global
from core.matching.groups import check_scores, match
from core.metrics.evaluation import Evaluation
from core.metrics.groups import (
    evaluate,
    global_match,
    match_and_evaluate,
    metrics_of_shape,
    outcomes,
    precision,
    threshold_curve,
)
from core.metrics.recall import rank_both_ways, recall
from core.metrics.retrieval import _rank_lists

SHAPES = [(m, k) for k in range(2, 6) for m in range(1, k + 1)] + [(1, 7), (1, 8), (1, 40), (2, 9)]
ASSIGNED = [(7, 7), (8, 8), (7, 8), (2, 28)]
TYPES = ["float16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64"]
LIBRARIES = ["numpy", "torch", "torch on a GPU"]
libraries = pytest.mark.parametrize("library", LIBRARIES)


def made(values, library, dtype=None):
    """An array of a library; torch alone knows bfloat16."""
    if library == "numpy":
        return np.asarray(values, dtype=dtype)
    if library == "torch on a GPU" and not torch.cuda.is_available():
        pytest.skip("no GPU here")
    device = "cpu" if library == "torch" else "cuda"
    return torch.asarray(values, dtype=None if dtype is None else getattr(torch, dtype), device=device)


def case(shape, kind, seed, n=7):
    """Scores that float16, int8 and uint8 hold exactly, and a truth, the same for all groups or not."""
    rng = np.random.default_rng(seed)
    m, k = shape
    scores = {
        "many levels": lambda: rng.integers(0, 120, (n, m, k)),
        "few levels": lambda: rng.integers(0, 3, (n, m, k)),
        "constant": lambda: np.full((n, m, k), 5),
        "text-only": lambda: np.repeat(rng.integers(0, 120, (n, 1, k)), m, axis=1),
    }[kind]()
    same = seed % 2
    truth = np.array([rng.permutation(k)[:m] for _ in range(n)])
    return scores, np.tile(truth[0], (n, 1)) if same else truth


def by_hand(group, own):
    """Best matching (None where it ties), margin, and of every metric its value and whether a tie alone made it less.

    In Python's integers, so exact.
    """
    m, k = len(group), len(group[0])
    totals = sorted(
        ((sum(group[i][p[i]] for i in range(m)), p) for p in permutations(range(k), m)), reverse=True
    )
    margin = totals[0][0] - totals[1][0]
    true = sum(group[i][own[i]] for i in range(m))
    rivals = [[group[i][j] for j in range(k) if j != own[i]] for i in range(m)]
    others = [[group[r][own[i]] for r in range(m) if r != i] for i in range(m)]
    row, column = ([[group[i][own[i]] - x for x in xs] for i, xs in enumerate(of)] for of in (rivals, others))

    def judged(leads):
        right = all(x > 0 for xs in leads for x in xs)
        return right, not right and all(x >= 0 for xs in leads for x in xs)

    single = [judged([xs]) for xs in row]
    found = {
        "text_score": judged(row),
        "image_score": judged(column),
        "group_score": judged(row if m < k else row + column),
        "group_match": (margin > 0 and totals[0][0] == true, margin == 0 and totals[0][0] == true),
        "individual_match": (sum(right for right, _ in single) / m, any(tied for _, tied in single)),
    }
    return (totals[0][1] if margin else None), margin, found


def check(scores, truth, matches, found):
    for g, (group, own) in enumerate(zip(scores.tolist(), truth.tolist(), strict=True)):
        best, margin, expected = by_hand(group, own)
        assert tuple(to_numpy(matches.matching)[g]) == (best or (-1,) * len(own))
        assert (float(matches.margin[g]), bool(matches.tied[g])) == (margin, best is None)
        for name, outcome in found.items():
            assert (float(outcome.value[g]), bool(outcome.tied[g])) == expected[name], name


@libraries
@pytest.mark.parametrize("dtype", TYPES)
@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(SHAPES),
    st.sampled_from(["many levels", "few levels", "constant", "text-only"]),
    st.integers(0, 2**32 - 1),
)
def test_every_shape_type_and_library_gives_what_brute_force_gives(library, dtype, shape, kind, seed):
    scores, truth = case(shape, kind, seed)
    array, own = made(scores, library, dtype), made(truth, library)
    matches, found = match_and_evaluate(array, own)
    check(scores, truth, matches, found)
    check(scores, truth, match(array), outcomes(array, own))
    group_score = to_numpy(found["group_score"].value)
    np.testing.assert_array_equal(to_numpy(fitted_groups(array, own)), group_score)


@pytest.mark.parametrize("library", LIBRARIES[1:])
@settings(max_examples=25, deadline=None)
@given(st.sampled_from(SHAPES + ASSIGNED), st.integers(0, 2**32 - 1), st.booleans())
def test_tensors_give_what_numpy_gives_to_the_last_bit(library, shape, seed, coarse):
    scores = np.random.default_rng(seed).normal(size=(5, *shape))
    scores, (_, truth) = np.round(scores) if coarse else scores, case(shape, "constant", seed, 5)
    expected, by_numpy = match_and_evaluate(scores, truth)
    matches, found = match_and_evaluate(made(scores, library), made(truth, library))
    for a, b in zip(matches, expected, strict=True):
        np.testing.assert_array_equal(to_numpy(a), b, strict=True)
    assert list(found) == list(by_numpy)
    for name in by_numpy:
        for a, b in zip(found[name], by_numpy[name], strict=True):
            np.testing.assert_array_equal(to_numpy(a), b, strict=True, err_msg=name)


@libraries
@pytest.mark.parametrize("shape", ASSIGNED)
def test_groups_with_many_matchings_are_solved_by_assignment(library, shape):
    scores = np.random.default_rng(4).normal(size=(4, *shape))
    found = match(made(scores, library))
    for g, group in enumerate(scores):
        rows, chosen = linear_sum_assignment(group, maximize=True)
        others = []
        for i in rows:  # any other matching lacks one of its pairs
            without = group.copy()
            without[i, chosen[i]] = -1e9
            others.append(without[linear_sum_assignment(without, maximize=True)].sum())
        assert to_numpy(found.matching)[g].tolist() == chosen.tolist()
        assert float(found.margin[g]) == pytest.approx(group[rows, chosen].sum() - max(others), abs=1e-12)


@libraries
@pytest.mark.parametrize("shape", [(2, 2), (1, 4), (2, 3), (3, 3), (7, 7)])
def test_what_comes_out_is_of_the_library_and_on_the_device_of_what_went_in(library, shape):
    scores, truth = case(shape, "many levels", 0)
    array = made(scores, library, "float32")
    matches, found = match_and_evaluate(array, truth)  # truth is numpy's, as every set of groups has it
    of_groups = [*matches, *(x for outcome in found.values() for x in outcome)]
    assert all(type(x) is type(array) and x.device == array.device for x in of_groups)
    xp = np if library == "numpy" else torch
    assert [x.dtype for x in matches] == [xp.int64, xp.float64, xp.bool]
    shares = {name: outcome.value.dtype for name, outcome in found.items()}
    assert shares.pop("individual_match") == (xp.bool if shape[0] == 1 else xp.float64)
    assert all(dtype == xp.bool for dtype in shares.values())
    assert check_scores(array).dtype == xp.float32 and check_scores(made(scores, library)).dtype == xp.float64


@libraries
def test_estimates_and_threshold_curves_take_any_library(library):
    scores, truth = case((2, 2), "few levels", 1, n=60)
    array, own = made(scores, library), made(truth, library)
    assert evaluate(array, own) == evaluate(scores, truth)
    found, matches = match(array), match(scores)
    for a, b in zip(threshold_curve(found, own), threshold_curve(matches, truth), strict=True):
        np.testing.assert_array_equal(to_numpy(a), b)
    chosen = found.margin > 1
    expected = precision(matches.matching, matches.margin > 1, truth)
    assert precision(found.matching, chosen, own) == pytest.approx(expected)
    assert precision(found.matching, chosen & ~chosen, own) is None


@libraries
@pytest.mark.parametrize("shape", [(1, 3), (2, 2), (3, 4), (7, 7)])
def test_blocks_change_nothing_and_a_fault_names_its_group_in_any_of_them(library, shape, monkeypatch):
    scores, truth = case(shape, "few levels", 2, n=23)
    array, own = made(scores, library, "float32"), made(truth, library)
    whole = match_and_evaluate(array, own)
    for limit in ("_SCORES", "_SCORES_GPU"):
        monkeypatch.setattr(blocks, limit, 5 * shape[0] * shape[1])
    parts = match_and_evaluate(array, own)
    for a, b in zip([*whole[0], *whole[1].values()], [*parts[0], *parts[1].values()], strict=True):
        np.testing.assert_array_equal(
            *(np.stack([to_numpy(x) for x in y]) if isinstance(y, tuple) else to_numpy(y) for y in (a, b))
        )
    array[17, 0, 1] = float("nan")
    for work in (match, lambda s: outcomes(s, own)):
        with pytest.raises(InputError, match="Group 17 has a score that is not a finite number"):
            work(array)
    own[12] = -1
    with pytest.raises(InputError, match=r"group 12 .*distinct"):
        outcomes(made(scores, library), own)


@libraries
@settings(max_examples=25, deadline=None)
@given(st.sampled_from([*SHAPES, (3, 7), (2, 28)]), st.integers(0, 2**32 - 1), st.booleans())
def test_exact_curves_are_what_debiased_scores_give_on_every_piece_and_edge(library, shape, seed, coarse):
    rng, (m, k) = np.random.default_rng(seed), shape
    scores, prior = rng.normal(-3, 1, (4, m, k)), rng.normal(-3, 1, (4, k))
    scores, prior = (np.round(scores), np.round(prior)) if coarse else (scores, prior)
    truth = case(shape, "constant", seed, 4)[1]
    of_groups = [made(x, library) for x in (scores, prior, truth)]
    for name in metrics_of_shape(m, k):
        curve, expected = alpha_curve(*of_groups, name), alpha_curve(scores, prior, truth, name)
        assert curve.parts == expected.parts == (m if name == "individual_match" else 1)
        for a, b in zip(curve[:-1], expected[:-1], strict=True):
            assert type(a) is type(of_groups[0])
            np.testing.assert_array_equal(to_numpy(a), b)
        edges = expected.edges
        between = (edges[1:] + edges[:-1]) / 2
        for alpha, value in zip(between[::7], to_numpy(curve.value(between[::7])), strict=True):
            plain = outcomes(debias(*of_groups[:2], alpha), truth, [name])[name].value
            assert value == pytest.approx(100 * to_numpy(plain).astype(float).mean())
        assert curve.best().intervals.tolist() == expected.best().intervals.tolist()
    assert (
        validate_alpha(*of_groups, name, 2).alphas.tolist()
        == validate_alpha(scores, prior, truth, name, 2).alphas.tolist()
    )


@libraries
def test_priors_and_debiased_scores_take_any_library(library):
    rng = np.random.default_rng(0)
    samples, scores = rng.normal(-3, 1, (9, 6)), rng.normal(-3, 1, (5, 2, 3))
    index = rng.integers(0, 6, (5, 3))
    there = made(samples, library), made(scores, library)

    def all_of_it(samples, scores):
        prior = prior_from_samples(samples)
        of_groups = group_prior(prior, index)
        yield from (prior, of_groups, prior_from_scores(scores), _sampled_priors(samples, 4))
        yield from (debias(scores, of_groups, 0.5), debias(samples, prior, 0.5))

    for a, b in zip(all_of_it(*there), all_of_it(samples, scores), strict=True):
        assert type(a) is type(there[0]) and a.device == there[0].device
        np.testing.assert_allclose(to_numpy(a), b, rtol=1e-12)
    broken = made(np.where(np.arange(5)[:, None] == 3, np.inf, 0.0) + np.zeros((5, 3)), library)
    with pytest.raises(InputError, match="Group 3 has a prior that is not a finite number"):
        debias(there[1], broken, 1.0)


def pairs_of(kind, seed, dtype="float32", images=6, captions=9):
    """Scores of all images with all captions, and a relation; some images and captions belong to nothing."""
    rng = np.random.default_rng(seed)
    levels = {"many levels": 120, "few levels": 3, "constant": 1}[kind]
    scores = rng.integers(0, levels, (images, captions)).astype(dtype)
    relevant = rng.random((captions, images)) < 0.3
    relevant[0, 0] = True
    return scores, relevant


@libraries
@pytest.mark.parametrize("dtype", TYPES)
@settings(max_examples=10, deadline=None)
@given(st.sampled_from(["many levels", "few levels", "constant"]), st.integers(0, 2**32 - 1))
def test_ranks_recall_and_lists_give_what_counting_gives(library, dtype, kind, seed):
    scores, relevant = pairs_of(kind, seed, dtype)
    there, wanted = made(scores, library), made(relevant, library)
    assert_counted(rank_both_ways(there, wanted), scores, relevant)
    assert recall(there, wanted) == recall(scores, relevant)
    lists = _rank_lists(there, wanted.T), _rank_lists(scores, relevant.T)
    for a, b in zip(*lists, strict=True):
        assert type(a) is type(there) and a.device == there.device
        np.testing.assert_allclose(to_numpy(a), b, rtol=1e-14)
    rows = zip(scores, relevant.T, strict=True)
    places = [[1 + sum(before) for before in _before(*row)] for row in rows]
    means = [np.mean(row) if row else np.nan for row in places]
    np.testing.assert_allclose(lists[1].relevant, means)


def _before(scores, right):
    """Of each relevant item, whether each other one is ranked before it: better ones, level ones that are not relevant,
    and of level relevant ones those that come first in the list."""
    for i in np.flatnonzero(right):
        yield [
            scores[j] > scores[i] or (scores[j] == scores[i] and (not right[j] or j < i))
            for j in range(len(scores))
            if j != i
        ]


@libraries
@settings(max_examples=20, deadline=None)
@given(st.integers(1, 5), st.integers(0, 2), st.booleans(), st.integers(0, 2**32 - 1))
def test_the_global_assignment_takes_any_library_and_is_what_brute_force_gives(
    library, n, more, coarse, seed
):
    scores = np.random.default_rng(seed).normal(size=(n, n + more))
    scores = np.round(scores) if coarse else scores
    array = made(scores, library)
    found = match_global(array)
    assert type(found) is type(array) and found.device == array.device
    best = max(sum(scores[i, p[i]] for i in range(n)) for p in permutations(range(n + more), n))
    assert scores[np.arange(n), to_numpy(found)].sum() == pytest.approx(best)
    truth = np.arange(n)
    assert global_match(array, made(truth, library)) == global_match(scores, truth)


@libraries
def test_evaluations_studies_and_recall_curves_take_any_library(library):
    scores, truth = case((2, 3), "few levels", 1, n=20)
    prior = np.random.default_rng(0).normal(size=(20, 3))
    there = [made(x, library) for x in (scores, prior, truth)]
    record = Evaluation.of(there[0], there[2]).record()
    assert record == Evaluation.of(scores, truth).record()
    ids = [str(i) for i in range(20)]
    assert AlphaStudy(*there, ids).record() == AlphaStudy(scores, prior, truth, ids).record()
    table, relevant = pairs_of("many levels", 0)
    curve = recall_curve(made(table, library), made(prior[:3].ravel(), library), made(relevant, library))
    assert (
        curve.curve.values.tolist() == recall_curve(table, prior[:3].ravel(), relevant).curve.values.tolist()
    )


@libraries
@pytest.mark.parametrize("values", ["bool", "complex64"])
def test_what_is_no_real_number_is_refused(library, values):
    with pytest.raises(InputError, match="need numbers"):
        match(made(np.zeros((1, 2, 2)), library, values))


def test_bfloat16_scores_are_the_numbers_that_they_hold():
    scores, truth = case((3, 3), "many levels", 3)
    matches, found = match_and_evaluate(made(scores, "torch", "bfloat16"), truth)
    check(scores, truth, matches, found)


def test_scores_with_a_gradient_are_matched_and_keep_it():
    scores = torch.tensor([[[2.0, 1.0], [0.0, 3.0]]], requires_grad=True)
    found = match(scores)
    assert to_numpy(found.matching).tolist() == [[0, 1]] and not found.margin.requires_grad
    assert scores.requires_grad


def test_a_list_is_taken_as_numpy_takes_it():
    assert match([[[2, 1], [0, 3]]]).matching.tolist() == [[0, 1]]
