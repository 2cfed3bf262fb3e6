"""Ranks both ways, of a matrix and from blocks of its rows, against counting rivals one by one."""

import tracemalloc

import numpy as np
import pytest

from core.base.errors import InputError
from core.matching import global_match
from core.matching.global_match import AllPairs
from core.metrics.recall import rank_both_ways, recall


def by_counting(scores, relevant):
    """Rank and tie of the best relevant column of each row that has one; the rest that is no worse goes before it."""
    ranks, ties = [], []
    for row, right in zip(np.asarray(scores).tolist(), relevant.tolist(), strict=True):
        if any(right):
            own = max(s for s, r in zip(row, right, strict=True) if r)
            rivals = [s for s, r in zip(row, right, strict=True) if not r]
            ranks.append(1 + sum(s >= own for s in rivals))
            ties.append(own in rivals)
    return ranks, ties


def assert_counted(found, scores, relevant):
    """relevant : bool (captions, images)."""
    for ranks, table, wanted in zip(
        found, (scores, np.asarray(scores).T), (relevant.T, relevant), strict=True
    ):
        assert (ranks.rank.tolist(), ranks.tied.tolist()) == by_counting(table, wanted)


def owned(owner, images):
    """One image for every caption: bool (captions, images)."""
    return np.asarray(owner)[:, None] == np.arange(images)


def test_better_and_tied_rivals_count_and_a_tie_is_lost():
    scores = np.array([[0.9, 0.5, 0.9], [0.1, 0.2, 0.3], [0.4, 0.4, 0.1]])
    found, _ = rank_both_ways(scores, (np.array([0, 2]), np.array([0, 2])))  # image 1 has no caption
    assert (found.rank.tolist(), found.tied.tolist()) == ([2, 3], [True, False])


def test_with_several_relevant_items_the_best_counts_and_they_are_no_rivals_of_each_other():
    found, _ = rank_both_ways(np.array([[0.9, 0.8, 0.85, 0.1]]), (np.array([1, 2]), np.array([0, 0])))
    assert found.rank.tolist() == [2]
    found, _ = rank_both_ways(np.array([[0.9, 0.8, 0.85, 0.1]]), (np.array([2, 1, 2]), np.array([0, 0, 0])))
    assert found.rank.tolist() == [2]  # a pair that is named twice is one pair


@pytest.mark.parametrize("levels", [None, 4])
@pytest.mark.parametrize("held", [1, 700, 10**9])
def test_blocks_give_the_ranks_of_the_whole_matrix(monkeypatch, held, levels):
    monkeypatch.setattr(global_match, "_BLOCK_SCORES", held)
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(30, 90)) if levels is None else rng.integers(0, levels, (30, 90)).astype(float)
    any_number = rng.random((90, 30)) < 0.05  # some captions and images have none, some several
    for relevant in (owned(rng.integers(0, 30, 90), 30), any_number):
        assert_counted(rank_both_ways(scores, relevant), scores, relevant)
        assert_counted(rank_both_ways(AllPairs.of(scores), np.nonzero(relevant)), scores, relevant)


def test_a_constant_scorer_ranks_last():
    to_text, to_image = rank_both_ways(np.ones((3, 6)), owned(np.arange(6) % 3, 3))
    assert to_text.rank.tolist() == [5, 5, 5] and to_text.tied.all()  # four captions of others come first
    assert to_image.rank.tolist() == [3] * 6 and to_image.tied.all()


def test_no_more_than_some_rows_are_held(monkeypatch):
    monkeypatch.setattr(global_match, "_BLOCK_SCORES", 40_000)
    images, captions = np.random.default_rng(1).normal(size=(2, 2000, 8))
    pairs = AllPairs(lambda part: images[part] @ captions.T, 2000, 2000)
    tracemalloc.start()
    try:
        rank_both_ways(pairs, (np.arange(2000), np.arange(2000)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.1 * 8 * 2000 * 2000


def test_winoground_recalls(winoground_embeddings):
    arrays = np.load(winoground_embeddings)
    images, captions = (a / np.linalg.norm(a, axis=1, keepdims=True) for a in (arrays["img"], arrays["cap"]))
    found = recall(images @ captions.T, np.eye(800, dtype=bool)).recall
    assert found["image_to_text_r1"].value == pytest.approx(34.0)
    assert found["text_to_image_r1"].value == pytest.approx(30.375)


@pytest.mark.parametrize(
    ("relevant", "says"),
    [
        ((np.array([0, 1]), np.array([0, 3])), "names an image that is none of the 3"),
        ((np.array([0, 1]), np.array([0, -1])), "names an image that is none of the 3"),
        ((np.array([0, 4]), np.array([0, 1])), "names a caption that is none of the 4"),
        ((np.empty(0, int), np.empty(0, int)), "nothing to retrieve"),
        (np.zeros((4, 3), dtype=bool), "nothing to retrieve"),
        (np.ones((3, 4), dtype=bool), r"shape \(3, 4\) \(captions, images\) do not fit"),
    ],
)
def test_what_does_not_belong_together_is_one_sentence(relevant, says):
    with pytest.raises(InputError, match=says):
        rank_both_ways(np.ones((3, 4)), relevant)


def test_bad_scores_are_one_sentence():
    own = np.eye(3, dtype=bool)
    for value in (np.nan, np.inf, -np.inf):
        scores = np.ones((3, 3))
        scores[2, 0] = value
        with pytest.raises(InputError, match="Image 2 has a score that is not a finite number"):
            rank_both_ways(scores, own)
    with pytest.raises(InputError, match="need 3 captions"):
        rank_both_ways(AllPairs(lambda part: np.ones((3, 2)), 3, 3), own)
    with pytest.raises(InputError, match=r"\(images, captions\), one or more of each"):
        rank_both_ways(np.ones((0, 3)), own)
