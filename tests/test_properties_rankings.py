"""What has to hold of every metric over rankings at once, whatever the scores: retrieval, recall, global matching."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from test_ranks import assert_counted

from core.base.errors import InputError
from core.debiasing.curves import recall_curve
from core.metrics.groups import global_match
from core.metrics.recall import rank_both_ways, recall
from core.metrics.retrieval import RetrievalEvaluation, _rank_lists, _RankedLists

KINDS = {
    "continuous": lambda rng, size: rng.normal(size=size),
    "few levels": lambda rng, size: rng.integers(-1, 2, size=size).astype(float),
    "constant": lambda rng, size: np.full(size, 0.1),
    "float16": lambda rng, size: rng.normal(size=size).astype(np.float16),
    "integers": lambda rng, size: rng.integers(0, 200, size=size, dtype=np.uint8),
}
cases = given(st.integers(1, 7), st.integers(2, 9), st.sampled_from(sorted(KINDS)), st.integers(0, 2**32 - 1))


def case(queries, images, kind, seed):
    """Scores (q, n), relevance, lists and unseen queries; some queries have nothing to find."""
    rng = np.random.default_rng(seed)
    relevant = rng.random((queries, images)) < 0.35
    pool = (rng.random((queries, images)) < 0.8) | relevant
    return KINDS[kind](rng, (queries, images)), relevant, pool, rng


def assert_same(first, second, order=slice(None)):
    for name, a, b in zip(_RankedLists._fields, first, second, strict=True):
        np.testing.assert_allclose(
            np.asarray(a, float)[order], np.asarray(b, float), err_msg=name, atol=1e-12
        )


@settings(max_examples=60, deadline=None)
@cases
def test_no_order_of_images_or_queries_matters(queries, images, kind, seed):
    scores, relevant, pool, rng = case(queries, images, kind, seed)
    plain = _rank_lists(scores, relevant, pool)
    columns, rows = rng.permutation(images), rng.permutation(queries)
    assert_same(plain, _rank_lists(scores[:, columns], relevant[:, columns], pool[:, columns]))
    assert_same(plain, _rank_lists(scores[rows], relevant[rows], pool[rows]), rows)


@settings(max_examples=60, deadline=None)
@cases
def test_only_the_order_of_a_querys_scores_counts(queries, images, kind, seed):
    """Any increasing transform of a query's scores changes nothing; what is outside of its list is not looked at."""
    scores, relevant, pool, rng = case(queries, images, kind, seed)
    exact = scores.astype(np.float64)
    plain = _rank_lists(scores, relevant, pool)
    assert_same(plain, _rank_lists(exact**3 + 2 * exact, relevant, pool))
    assert_same(plain, _rank_lists(4 * exact, relevant, pool))
    assert_same(plain, _rank_lists(np.where(pool, exact, 1e6 * rng.normal(size=exact.shape)), relevant, pool))
    wide = RetrievalEvaluation(exact, relevant, pool, pool).metrics()
    narrow = RetrievalEvaluation(scores, relevant, pool, pool).metrics()
    assert wide == narrow


@settings(max_examples=60, deadline=None)
@cases
def test_ranking_equals_counting_rivals_one_by_one(queries, images, kind, seed):
    """Brute force from the definitions: a rival with the same score is before; precision at every relevant place."""
    scores, relevant, pool, _ = case(queries, images, kind, seed)
    found = _rank_lists(scores, relevant, pool)
    for q in range(queries):
        inside = np.flatnonzero(pool[q])
        right = [i for i in inside if relevant[q, i]]
        if not right:
            assert np.isnan(found.precision[q]) and np.isnan(found.f1[q]) and not found.tied[q]
            continue
        wrong = [i for i in inside if not relevant[q, i]]
        worst = sorted(inside, key=lambda i: (-float(scores[q, i]), i in right))
        places = [place for place, i in enumerate(worst, 1) if i in right]
        by_hand = np.mean([sum(p <= place for p in places) / place for place in places])
        assert found.precision[q] == pytest.approx(by_hand)
        assert found.relevant[q] == pytest.approx(np.mean(places))
        assert found.f1[q] == pytest.approx(sum(place <= len(right) for place in places) / len(right))
        met = {(float(scores[q, i]), float(scores[q, j])) for i in right for j in wrong}
        assert found.tied[q] == any(a == b for a, b in met)


@settings(max_examples=60, deadline=None)
@cases
def test_a_constant_scorer_gets_the_worst_of_everything(queries, images, kind, seed):
    scores, relevant, pool, _ = case(queries, images, kind, seed)
    worst = _rank_lists(np.zeros(scores.shape), relevant, pool)
    found = _rank_lists(scores, relevant, pool)
    some = np.isfinite(found.precision)
    assert (worst.precision[some] <= found.precision[some] + 1e-12).all()
    assert (worst.precision[some] <= found.expected[some] + 1e-12).all()
    assert (found.precision[some] <= 1).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 7), st.integers(0, 4), st.sampled_from(sorted(KINDS)), st.integers(0, 2**32 - 1))
def test_recall_is_the_same_in_blocks_by_counting_and_in_any_order(images, more, kind, seed):
    rng = np.random.default_rng(seed)
    owner = np.concatenate([np.arange(images), rng.integers(0, images, more)])
    scores = KINDS[kind](rng, (images, len(owner)))
    relevant = owner[:, None] == np.arange(images)
    to_text, to_image = rank_both_ways(scores, relevant)
    assert_counted((to_text, to_image), scores, relevant)
    found = recall(scores, relevant, (1, 2, 5))
    for top in (1, 2, 5):
        assert found.recall[f"image_to_text_r{top}"].value == pytest.approx(
            100 * (to_text.rank <= top).mean()
        )
        assert found.recall[f"text_to_image_r{top}"].value == pytest.approx(
            100 * (to_image.rank <= top).mean()
        )
    rows, columns = rng.permutation(images), rng.permutation(len(owner))
    moved = recall(scores[rows][:, columns], relevant[columns][:, rows], (1, 2, 5))
    assert {n: e.value for n, e in moved.recall.items()} == {n: e.value for n, e in found.recall.items()}
    cubed = recall(scores.astype(float) ** 3 + 2 * scores.astype(float), relevant, (1, 2, 5))
    assert cubed.recall == found.recall


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), st.sampled_from(sorted(KINDS)), st.integers(0, 2**32 - 1))
def test_the_global_matching_is_as_right_as_its_best_assignments_are(images, kind, seed):
    """Between the images whose caption every best assignment gives them and those to whom some best one does; these
    are the same where nothing ties, and then no order of images or captions matters."""
    rng = np.random.default_rng(seed)
    scores, truth = KINDS[kind](rng, (images, images)), rng.permutation(images)
    rows, columns = rng.permutation(images), rng.permutation(images)
    moved = (scores[rows][:, columns], np.argsort(columns)[truth][rows])
    exact = scores.astype(np.float64)
    best, always, once = total(exact), 0, 0
    for i in range(images):
        without, only = exact.copy(), np.delete(np.delete(exact, i, axis=0), truth[i], axis=1)
        without[i, truth[i]] = -1e6
        always += total(without) < best - 1e-9
        once += total(only) + exact[i, truth[i]] > best - 1e-9
    for found in (global_match(scores, truth), global_match(*moved), global_match(4 * exact, truth)):
        assert 100 * always / images - 1e-9 <= found.value <= 100 * once / images + 1e-9


def total(scores):
    return scores[linear_sum_assignment(scores, maximize=True)].sum()


def test_a_constant_scorer_matches_globally_at_chance():
    """Over many seeds a tie gives an image its caption as often as any other."""
    values = [global_match(np.zeros((5, 5)), np.arange(5), seed=seed).value for seed in range(2000)]
    assert abs(np.mean(values) - 20) < 5 * np.std(values) / np.sqrt(2000)


def test_no_queries_no_images_and_scores_that_are_no_numbers_are_errors_of_every_entry():
    nothing, broken = np.zeros((0, 3)), np.array([[0.0, np.nan, 1.0]] * 3)
    own = np.eye(3, dtype=bool)
    for scores, wanted in ((nothing, nothing.astype(bool)), (np.zeros((3, 0)), np.zeros((3, 0), bool))):
        for act in (_rank_lists, lambda s, r: recall(s, r.T)):
            with pytest.raises(InputError):
                act(scores, wanted)
    for value in (np.nan, np.inf, -np.inf):
        spoiled = np.where(np.isnan(broken), value, broken)
        acts = [
            lambda s: _rank_lists(s, own),
            lambda s: recall(s, own),
            lambda s: rank_both_ways(s, own),
            lambda s: global_match(s, np.arange(3)),
            lambda s: recall_curve(s, np.zeros(3), own),
        ]
        for act in acts:
            with pytest.raises(InputError):
                act(spoiled)


def test_one_query_over_one_kind_of_image():
    """All of its list right: precision 1 whatever the scores, nothing to confuse; and alone it is its own interval."""
    found = RetrievalEvaluation(
        np.zeros((1, 4)), np.ones((1, 4), bool), np.ones((1, 4), bool), np.ones((1, 4), bool)
    )
    part = found.metrics()["cola_map"]["all"]
    assert (part.estimate.value, part.estimate.low, part.estimate.high) == (100, 100, 100)
    assert (part.estimate.chance, part.estimate.ties, part.queries) == (100, 0, 1)


@pytest.mark.parametrize("images", [2, 3, 6, 11])
def test_chance_levels_of_lists_hold_for_random_scores(images):
    rng = np.random.default_rng(images)
    relevant = rng.random((20_000, images)) < 0.3
    found = _rank_lists(rng.random(relevant.shape, dtype=np.float32), relevant)
    some = np.isfinite(found.precision)
    for values, level in (
        (found.precision, found.expected),
        (found.f1, found.share),
        (found.relevant, found.middle),
    ):
        error = (values - level)[some]
        assert abs(error.mean()) < 5 * error.std() / np.sqrt(some.sum())
