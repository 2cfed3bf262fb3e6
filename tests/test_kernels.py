"""Blocks and their arithmetic: the fast way against the plain loop, across blocks, threads and types of scores."""

import itertools
import threading
import tracemalloc
from itertools import permutations

import numpy as np
import pytest

from benchmarks.speed.kernels import loop
from core.base.errors import InputError
from core.matching import _search, blocks
from core.matching.groups import match
from core.metrics.groups import match_and_evaluate, outcomes

SHAPES = [(1, 2), (1, 5), (2, 2), (2, 4), (3, 3), (3, 5), (4, 4), (5, 5), (6, 6)]


@pytest.fixture(params=["one thread", "three threads"])
def small_blocks(request, monkeypatch):
    """Blocks of at most five groups, so that a few dozen groups cross many borders and the last block is short."""
    monkeypatch.setattr(blocks, "_FEWEST", 5)
    monkeypatch.setattr(blocks, "_GROUPS", 5)
    monkeypatch.setattr(blocks, "_cores", lambda: 1 if request.param == "one thread" else 3)


LOOPED = ("text_score", "image_score", "group_score", "group_match", "individual_match")  # as `loop` has them


def truths(kind, n, m, k):
    rng = np.random.default_rng(3)
    if kind == "same":
        return np.tile(rng.permutation(k)[:m], (n, 1))
    return np.array([rng.permutation(k)[:m] for _ in range(n)])


@pytest.mark.parametrize("n", [1, 9, 40, 46, 61, 100, 101])
def test_every_thread_gets_as_many_groups_whatever_the_number(n, monkeypatch):
    monkeypatch.setattr(blocks, "_FEWEST", 5)
    monkeypatch.setattr(blocks, "_GROUPS", 20)
    monkeypatch.setattr(blocks, "_cores", lambda: 2)
    parts, threads = [], {}
    lock = threading.Lock()

    def work(part, _):
        with lock:
            parts.append((part.start, part.stop))
            mine = threading.get_ident()
            threads[mine] = threads.get(mine, 0) + part.stop - part.start

    blocks.map_blocks(np.zeros((n, 2, 2)), work)
    parts.sort()
    assert parts[0][0] == 0 and parts[-1][1] == n
    assert all(a[1] == b[0] for a, b in itertools.pairwise(parts))
    assert max(stop - start for start, stop in parts) <= 20
    assert len(threads) == min(2, max(1, n // 5))
    assert max(threads.values()) - min(threads.values()) <= 4  # what rounding up leaves to the last one


@pytest.mark.parametrize("kind", ["same", "mixed"])
@pytest.mark.parametrize("shape", SHAPES)
def test_one_pass_equals_the_plain_loop(shape, kind, small_blocks):
    n = 47 if shape[0] < 6 else 6
    scores, truth = np.random.default_rng(0).normal(size=(n, *shape)), truths(kind, n, *shape)
    matches, found = match_and_evaluate(scores, truth)
    for g, (matching, margin, *outcome) in enumerate(loop(scores, truth)):
        assert tuple(matches.matching[g]) == matching
        assert matches.margin[g] == pytest.approx(margin, abs=1e-12)
        expected = dict(zip(LOOPED, outcome, strict=True))
        assert {name: result.value[g] for name, result in found.items()} == {n: expected[n] for n in found}
    assert not matches.tied.any() and not any(o.tied.any() for o in found.values())


@pytest.mark.parametrize("shape", SHAPES)
def test_blocks_and_threads_change_nothing_where_many_groups_tie(shape, monkeypatch):
    n = 60 if shape[0] < 6 else 12
    scores = np.random.default_rng(1).integers(0, 3, (n, *shape)).astype(float)
    truth = truths("mixed", n, *shape)
    whole = match_and_evaluate(scores, truth)
    monkeypatch.setattr(blocks, "_FEWEST", 7)
    monkeypatch.setattr(blocks, "_GROUPS", 7)
    monkeypatch.setattr(blocks, "_cores", lambda: 3)
    parts = match_and_evaluate(scores, truth)
    for a, b in zip(whole[0], parts[0], strict=True):
        np.testing.assert_array_equal(a, b)
    for name in whole[1]:
        for a, b in zip(whole[1][name], parts[1][name], strict=True):
            np.testing.assert_array_equal(a, b, err_msg=name)


@pytest.mark.parametrize("shape", SHAPES)
def test_matches_at_hand_and_one_pass_give_the_same(shape):
    n = 40
    scores, truth = np.random.default_rng(2).normal(size=(n, *shape)), truths("same", n, *shape)
    scores[::3] = np.round(scores[::3])
    matches, found = match_and_evaluate(scores, truth)
    for a, b in zip(match(scores), matches, strict=True):
        np.testing.assert_array_equal(a, b)
    for name, outcome in outcomes(scores, truth).items():
        for a, b in zip(outcome, found[name], strict=True):
            np.testing.assert_array_equal(a, b, err_msg=name)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.uint64])
@pytest.mark.parametrize("shape", [(1, 3), (2, 2), (3, 3), (2, 4)])
def test_truth_of_any_integer_type_is_the_same_truth(shape, dtype):
    n = 40_000  # places in a block that int16 cannot count
    scores = np.random.default_rng(8).normal(size=(n, *shape))
    truth = np.argsort(np.random.default_rng(9).random((n, shape[1])), axis=1)[:, : shape[0]]
    (matches, found), (expected, wanted) = (
        match_and_evaluate(scores, truth.astype(dtype)),
        match_and_evaluate(scores, truth),
    )
    for a, b in zip(matches, expected, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)
    for name in wanted:
        for a, b in zip(found[name], wanted[name], strict=True):
            np.testing.assert_array_equal(a, b, strict=True, err_msg=name)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.int64, np.uint16])
def test_scores_of_any_type_are_those_numbers_in_float64(dtype):
    scores = np.random.default_rng(4).integers(0, 9, (50, 2, 2)).astype(dtype)
    truth = truths("mixed", 50, 2, 2)
    for a, b in zip(
        match_and_evaluate(scores, truth)[0], match_and_evaluate(scores.astype(float), truth)[0], strict=True
    ):
        np.testing.assert_array_equal(a, b)


def test_scores_that_lie_otherwise_in_memory_are_the_same_scores():
    scores = np.random.default_rng(5).normal(size=(2, 30, 2)).astype(np.float32)
    turned = scores.transpose(1, 0, 2)
    for a, b in zip(match(turned), match(np.ascontiguousarray(turned)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("work", [match, lambda s: outcomes(s, truths("same", len(s), 2, 2))])
def test_a_score_that_is_no_number_names_its_group_in_whatever_block(work, value, small_blocks):
    scores = np.zeros((40, 2, 2), dtype=np.float32)
    scores[33, 1, 0] = value
    with pytest.raises(InputError, match="Group 33 "):
        work(scores)


@pytest.mark.parametrize("row", [[0, 0], [0, 2], [-1, 0]])
def test_a_wrong_truth_names_its_group_in_whatever_block(row, small_blocks):
    truth = np.tile([0, 1], (40, 1))
    truth[33] = row
    with pytest.raises(InputError, match=r"group 33 .*distinct"):
        outcomes(np.zeros((40, 2, 2)), truth)
    with pytest.raises(InputError, match=r"group 0 .*distinct"):
        outcomes(np.zeros((40, 2, 2)), np.tile(row, (40, 1)))


@pytest.mark.parametrize("shape", SHAPES)
def test_every_matching_is_listed_once(shape):
    listed = [tuple(row) for row in _search.matchings(*shape)]
    assert sorted(listed) == sorted(permutations(range(shape[1]), shape[0]))


@pytest.mark.parametrize("shape", [(2, 2), (1, 4), (3, 3), (4, 4)])
def test_memory_stays_within_three_times_the_input(shape):
    scores = np.random.default_rng(6).normal(size=(150_000, *shape)).astype(np.float32)
    truth = truths("same", len(scores), *shape)
    tracemalloc.start()
    try:
        found = match_and_evaluate(scores, truth)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found[0].margin) == len(scores)
    # Working vectors do not grow with the input: two blocks of them belong to the machine, not to the scores.
    working = 2 * 8 * blocks._block_size(scores) * (shape[0] * shape[1] + shape[0] + 12)
    assert peak <= 3 * scores.nbytes + working
