"""Ranks from blocks of rows, against the ranks of the whole matrix."""

import tracemalloc

import numpy as np
import pytest

from core.base.errors import InputError
from core.matching import global_match
from core.metrics.ranks import rank_both_ways
from core.metrics.retrieval import ranks


@pytest.mark.parametrize("levels", [None, 4])
@pytest.mark.parametrize("held", [1, 700, 10**9])
def test_blocks_give_the_ranks_of_the_whole_matrix(monkeypatch, held, levels):
    monkeypatch.setattr(global_match, "_BLOCK_SCORES", held)
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(30, 90)) if levels is None else rng.integers(0, levels, (30, 90)).astype(float)
    own = rng.permutation(np.concatenate([np.arange(30), rng.integers(0, 30, 60)]))
    to_text, to_image = rank_both_ways(lambda part: scores[part], 30, own)
    belongs = own[None, :] == np.arange(30)[:, None]
    for got, wanted in ((to_text, ranks(scores, belongs)), (to_image, ranks(scores.T, own))):
        np.testing.assert_array_equal(got.rank, wanted.rank)
        np.testing.assert_array_equal(got.tied, wanted.tied)


def test_a_constant_scorer_ranks_last():
    to_text, to_image = rank_both_ways(lambda part: np.ones((part.stop - part.start, 6)), 3, np.arange(6) % 3)
    assert to_text.rank.tolist() == [5, 5, 5] and to_text.tied.all()  # four captions of others come first
    assert to_image.rank.tolist() == [3] * 6 and to_image.tied.all()


def test_no_more_than_some_rows_are_held(monkeypatch):
    monkeypatch.setattr(global_match, "_BLOCK_SCORES", 40_000)
    images, captions = np.random.default_rng(1).normal(size=(2, 2000, 8))
    tracemalloc.start()
    try:
        rank_both_ways(lambda part: images[part] @ captions.T, 2000, np.arange(2000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.1 * 8 * 2000 * 2000


@pytest.mark.parametrize(
    ("own", "says"),
    [
        ([0, 1, 3], "one of the 3 images"),
        ([0, 1, -1], "one of the 3 images"),
        ([0, 1, 1], "every image a caption"),
        ([[0, 1, 2]], "one image index"),
    ],
)
def test_a_wrong_truth_is_one_sentence(own, says):
    with pytest.raises(InputError, match=says):
        rank_both_ways(lambda part: np.ones((part.stop - part.start, 3)), 3, np.array(own))


def test_bad_blocks_name_the_image():
    scores = np.ones((3, 3))
    scores[2, 0] = np.nan
    with pytest.raises(InputError, match="Image 2"):
        rank_both_ways(lambda part: scores[part], 3, np.arange(3))
    with pytest.raises(InputError, match="need 3 captions"):
        rank_both_ways(lambda part: scores[part, :2], 3, np.arange(3))
