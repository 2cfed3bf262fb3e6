"""Ranks and recall by hand and against sorting."""

import numpy as np
import pytest

from core.errors import InputError
from core.retrieval import ranks, recall_at


def test_rank_counts_better_and_tied_rivals():
    scores = np.array([[0.9, 0.5, 0.9], [0.1, 0.2, 0.3], [0.4, 0.4, 0.1]])
    found = ranks(scores, np.array([0, 0, 2]))
    np.testing.assert_array_equal(found.rank, [2, 3, 3])  # a tie is lost
    np.testing.assert_array_equal(found.tied, [True, False, False])


def test_with_several_relevant_items_the_best_counts_and_they_are_no_rivals_of_each_other():
    scores = np.array([[0.9, 0.8, 0.85, 0.1]])
    found = ranks(scores, np.array([[False, True, True, False]]))
    assert found.rank.tolist() == [2]
    np.testing.assert_array_equal(recall_at(found, 1), [0.0])
    np.testing.assert_array_equal(recall_at(found, 5), [1.0])


def test_ranks_equal_sorting_across_blocks():
    rng = np.random.default_rng(0)
    scores, wanted = rng.normal(size=(2500, 40)), rng.integers(0, 40, 2500)
    order = np.argsort(-scores, axis=1)
    np.testing.assert_array_equal(ranks(scores, wanted).rank, 1 + (order == wanted[:, None]).argmax(axis=1))


def test_a_query_without_relevant_item_and_a_wrong_shape_are_refused():
    with pytest.raises(InputError, match="Query 1"):
        ranks(np.ones((2, 2)), np.array([[True, False], [False, False]]))
    with pytest.raises(InputError, match="queries, candidates"):
        ranks(np.ones((2, 2)), np.array([0]))


def test_winoground_recalls(winoground_embeddings):
    arrays = np.load(winoground_embeddings)
    images, captions = (a / np.linalg.norm(a, axis=1, keepdims=True) for a in (arrays["img"], arrays["cap"]))
    scores, own = images @ captions.T, np.arange(800)
    assert 100 * recall_at(ranks(scores, own), 1).mean() == pytest.approx(34.0)
    assert 100 * recall_at(ranks(scores.T, own), 1).mean() == pytest.approx(30.375)
