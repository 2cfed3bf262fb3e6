"""Cola's metrics over ranked lists, by hand, by brute force and against scikit-learn."""

import numpy as np
import pytest

from core.base.errors import InputError
from core.metrics.retrieval import RetrievalEvaluation, _rank_lists


def random_lists(seed=0, q=40, n=60, levels=None):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(q, n)) if levels is None else rng.integers(0, levels, (q, n)).astype(float)
    return scores, rng.random((q, n)) < 0.15, rng.random((q, n)) < 0.7


def test_average_precision_is_scikit_learns_within_every_list():
    from sklearn.metrics import average_precision_score

    scores, relevant, pool = random_lists()
    found = _rank_lists(scores, relevant, pool)
    for row in range(len(scores)):
        kept = pool[row]
        if relevant[row, kept].any():
            expected = average_precision_score(relevant[row, kept], scores[row, kept])
            assert found.precision[row] == pytest.approx(expected)
        else:
            assert np.isnan(found.precision[row])
    assert not found.tied.any()


def test_average_precision_by_hand():
    found = _rank_lists(np.array([[4.0, 3.0, 2.0, 1.0]]), np.array([[True, False, True, False]]))
    assert found.precision.tolist() == [pytest.approx((1 + 2 / 3) / 2)]
    assert found.relevant.tolist() == [2.0]
    assert found.distractor.tolist() == [3.0]
    assert found.f1.tolist() == [0.5]  # one of the first two is right
    assert found.share.tolist() == [0.5]


def test_a_tie_never_favours_the_relevant_image_and_is_counted():
    relevant = np.array([[True, False, False], [False, True, False]])
    found = _rank_lists(np.array([[1.0, 1.0, 0.0], [0.0, 2.0, 0.0]]), relevant)
    assert found.precision.tolist() == [0.5, 1.0]
    assert found.tied.tolist() == [True, False]
    assert found.relevant.tolist() == [2.0, 1.0]


def test_a_constant_scorer_gets_the_worst_order_and_ties_everywhere():
    _, relevant, _ = random_lists(1)
    found = _rank_lists(np.zeros(relevant.shape), relevant)
    last = np.sort(relevant, axis=1)
    np.testing.assert_allclose(
        found.precision, _rank_lists(-np.arange(60.0) + np.zeros((40, 1)), last).precision
    )
    assert found.tied.all()


def test_ties_are_the_worst_of_all_orders():
    """Brute force over every order of equal scores."""
    from itertools import permutations

    scores = np.array([2.0, 1.0, 1.0, 1.0, 0.0])
    relevant = np.array([False, True, False, True, True])
    orders = [
        _rank_lists(-np.argsort([0, *(1 + np.array(p)), 4])[None].astype(float), relevant[None]).precision[0]
        for p in permutations(range(3))
    ]
    assert _rank_lists(scores[None], relevant[None]).precision[0] == pytest.approx(min(orders))


def test_expected_precision_is_the_mean_over_all_orders():
    from itertools import permutations

    for hits, size in ((1, 4), (2, 5), (3, 5), (5, 5)):
        relevant = np.arange(size) < hits
        orders = np.array(list(permutations(range(size))), dtype=float)
        found = _rank_lists(orders, np.tile(relevant, (len(orders), 1)))
        assert found.expected.tolist() == [pytest.approx(found.precision.mean())] * len(orders)


def test_permuting_the_images_changes_nothing_even_with_ties():
    scores, relevant, pool = random_lists(2, levels=4)
    order = np.random.default_rng(9).permutation(scores.shape[1])
    one, other = (
        _rank_lists(s, r, p)
        for s, r, p in ((scores, relevant, pool), (scores[:, order], relevant[:, order], pool[:, order]))
    )
    for first, second in zip(one, other, strict=True):
        np.testing.assert_allclose(first, second)


def test_scores_outside_the_list_do_not_count():
    scores, relevant, pool = random_lists(3)
    other = np.where(pool, scores, np.inf)
    np.testing.assert_allclose(
        _rank_lists(scores, relevant, pool).precision, _rank_lists(other, relevant, pool).precision
    )


def test_queries_without_a_relevant_image_are_left_out_and_counted():
    scores, relevant, pool = random_lists(4)
    relevant[:3] = False
    pool[3] = False
    found = RetrievalEvaluation(scores, relevant, pool, unseen=np.arange(40) < 10).metrics()
    assert found["standard_map"]["all"].queries == 37
    assert found["standard_map"]["all"].skipped == 3
    assert found["cola_map"]["unseen"].skipped >= 4
    assert "query_all_map" not in found  # no such lists were given


def test_parts_split_the_queries_by_what_was_unseen_and_by_attributes():
    scores, relevant, pool = random_lists(5)
    unseen, attributes = np.arange(40) % 2 == 0, np.arange(40) % 3 + 1
    found = RetrievalEvaluation(scores, relevant, pool, pool, unseen, attributes).metrics()["cola_map"]
    assert set(found) == {"all", "seen", "unseen", "attributes-1", "attributes-2", "attributes-3"}
    whole = _rank_lists(scores, relevant, pool)
    assert found["unseen"].estimate.value == pytest.approx(100 * np.nanmean(whole.precision[::2]))
    assert found["attributes-2"].estimate.chance == pytest.approx(100 * np.nanmean(whole.expected[1::3]))
    low, value, high = (getattr(found["all"].estimate, name) for name in ("low", "value", "high"))
    assert low < value < high


def test_random_scores_stay_within_reach_of_the_chance_level():
    rng = np.random.default_rng(6)
    relevant = rng.random((400, 80)) < 0.2
    found = RetrievalEvaluation(rng.normal(size=(400, 80)), relevant, np.ones_like(relevant)).metrics()
    for name in ("cola_map", "f1"):
        estimate = found[name]["all"].estimate
        assert estimate.low - 1 < estimate.chance < estimate.high + 1


def test_lists_of_another_shape_and_scores_that_are_not_finite_are_refused():
    with pytest.raises(InputError, match="one shape"):
        _rank_lists(np.ones((2, 3)), np.ones((2, 4), dtype=bool))
    with pytest.raises(InputError, match="Query 1"):
        _rank_lists(np.array([[1.0], [np.nan]]), np.ones((2, 1), dtype=bool))
