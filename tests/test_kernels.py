"""Blocks and their arithmetic: the fast way against the plain loop, across blocks, threads and types of scores."""

import itertools
import sys
import threading
import time
import tracemalloc
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.kernels import loop
from core import compiled, compiled_pairs, kernels, machine
from core import matching as module
from core.errors import InputError
from core.matching import match
from core.metrics import METRICS, outcomes, solve

SHAPES = [(1, 2), (1, 5), (2, 2), (2, 4), (3, 3), (3, 5), (4, 4), (5, 5), (6, 6)]


@pytest.fixture
def machine_code(monkeypatch):
    """`core.compiled` does the work: in machine code where numba is installed, else the same file as plain Python."""
    monkeypatch.setattr(module, "compiled", lambda: compiled)
    if not kernels._has_numba():
        for file in (compiled, compiled_pairs):  # plain Python is slow, and three groups cross borders too
            monkeypatch.setattr(file, "_LANES", 3)


@pytest.fixture(params=["one thread", "three threads", "machine code"])
def small_blocks(request, monkeypatch):
    """Blocks of at most five groups, so that a few dozen groups cross many borders and the last block is short."""
    monkeypatch.setattr(kernels, "_FEWEST", 5)
    monkeypatch.setattr(kernels, "_MOST", 5)
    monkeypatch.setattr(kernels, "_MACHINE", 5)
    monkeypatch.setattr(kernels, "_cores", lambda: 1 if request.param == "one thread" else 3)
    if request.param == "machine code":
        request.getfixturevalue("machine_code")


def truths(kind, n, m, k):
    rng = np.random.default_rng(3)
    if kind == "same":
        return np.tile(rng.permutation(k)[:m], (n, 1))
    return np.array([rng.permutation(k)[:m] for _ in range(n)])


@pytest.mark.parametrize("machine", [False, True])
@pytest.mark.parametrize("n", [1, 9, 40, 46, 61, 100, 101])
def test_every_thread_gets_as_many_groups_whatever_the_number(n, machine, monkeypatch):
    monkeypatch.setattr(kernels, "_FEWEST", 5)
    monkeypatch.setattr(kernels, "_MOST", 20)
    monkeypatch.setattr(kernels, "_MACHINE", 20)
    monkeypatch.setattr(kernels, "_cores", lambda: 2)
    parts, threads = [], {}
    lock = threading.Lock()

    def work(part, _):
        with lock:
            parts.append((part.start, part.stop))
            mine = threading.get_ident()
            threads[mine] = threads.get(mine, 0) + part.stop - part.start
        time.sleep(0.001)

    kernels.in_blocks(np.zeros((n, 2, 2)), work, machine)
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
    matches, found = solve(scores, truth)
    for g, (matching, margin, *outcome) in enumerate(loop(scores, truth)):
        assert tuple(matches.matching[g]) == matching
        assert matches.margin[g] == pytest.approx(margin, abs=1e-12)
        assert [found[name].value[g] for name in METRICS] == outcome
    assert not matches.tied.any() and not any(o.tied.any() for o in found.values())


@pytest.mark.parametrize("shape", SHAPES)
def test_blocks_and_threads_change_nothing_where_many_groups_tie(shape, monkeypatch):
    n = 60 if shape[0] < 6 else 12
    scores = np.random.default_rng(1).integers(0, 3, (n, *shape)).astype(float)
    truth = truths("mixed", n, *shape)
    whole = solve(scores, truth)
    monkeypatch.setattr(kernels, "_FEWEST", 7)
    monkeypatch.setattr(kernels, "_MOST", 7)
    monkeypatch.setattr(kernels, "_cores", lambda: 3)
    parts = solve(scores, truth)
    for a, b in zip(whole[0], parts[0], strict=True):
        np.testing.assert_array_equal(a, b)
    for name in METRICS:
        for a, b in zip(whole[1][name], parts[1][name], strict=True):
            np.testing.assert_array_equal(a, b, err_msg=name)


@pytest.mark.parametrize("shape", SHAPES)
def test_matches_at_hand_and_one_pass_give_the_same(shape):
    n = 40
    scores, truth = np.random.default_rng(2).normal(size=(n, *shape)), truths("same", n, *shape)
    scores[::3] = np.round(scores[::3])
    matches, found = solve(scores, truth)
    for a, b in zip(match(scores), matches, strict=True):
        np.testing.assert_array_equal(a, b)
    for name, outcome in outcomes(scores, truth, matches=matches).items():
        for a, b in zip(outcome, found[name], strict=True):
            np.testing.assert_array_equal(a, b, err_msg=name)


def same(first, second):
    """Two answers of `solve`, to the last bit and to the types of their arrays."""
    for a, b in zip(first[0], second[0], strict=True):
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes()
    assert first[1].keys() == second[1].keys()
    for name in first[1]:
        for a, b in zip(first[1][name], second[1][name], strict=True):
            assert a.dtype == b.dtype and a.tobytes() == b.tobytes(), name


WIDE = 10.0 ** np.random.default_rng(9).integers(-30, 30, 40)  # sums that round
KINDS = {
    "float32": lambda normal: normal.astype(np.float32),
    "float64 that rounds": lambda normal: normal * WIDE[:, None, None],
    "float32 that rounds": lambda normal: (normal * WIDE[:, None, None]).astype(np.float32),
    "float16": lambda normal: normal.astype(np.float16),
    "ties": np.round,
    "constant": lambda normal: np.full(normal.shape, 0.1, dtype=np.float32),
    "turned": lambda normal: normal.transpose(2, 1, 0).copy().transpose(2, 1, 0),
    "other byte order": lambda normal: normal.astype(">f4"),
    "large integers": lambda normal: (2**60 + 1000 * normal).astype(np.int64),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 3), (1, 5), (2, 2), (2, 3), (3, 3), (3, 4), (4, 4), (5, 5)])
def test_machine_code_and_numpy_agree_to_the_last_bit(shape, kind, request):
    scores = KINDS[kind](np.random.default_rng(7).normal(size=(40, *shape)))
    cases = [(scores, truths(same_or_not, 40, *shape)) for same_or_not in ("same", "mixed")]
    by_numpy = [(solve(s, t), match(s), outcomes(s, t, matches=match(s))) for s, t in cases]
    request.getfixturevalue("machine_code")
    for (s, t), (solved, matched, judged) in zip(cases, by_numpy, strict=True):
        same(solve(s, t), solved)
        same((match(s), {}), (matched, {}))
        same((matched, outcomes(s, t, matches=matched)), (matched, judged))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n", [127, 128, 1300])
@pytest.mark.parametrize("shape", [(1, 3), (2, 2), (2, 4), (3, 3), (4, 4)])
def test_machine_code_that_works_on_many_groups_at_once_gives_the_same(shape, n, ties, request):
    # Compilers have made wrong code of loops that were right, and only for enough groups to fill vectors.
    scores = np.random.default_rng(n).normal(size=(n, *shape)).astype(np.float32)
    scores = np.round(scores, 1) if ties else scores
    cases = [(scores, truths(kind, n, *shape)) for kind in ("same", "mixed")]
    by_numpy = [(solve(s, t), match(s)) for s, t in cases]
    request.getfixturevalue("machine_code")
    for (s, t), (solved, matched) in zip(cases, by_numpy, strict=True):
        same(solve(s, t), solved)
        same((match(s), {}), (matched, {}))


@pytest.mark.parametrize("shape", [(2, 2), (2, 3)])
def test_machine_code_takes_matches_of_any_layout(shape, request):
    scores, truth = np.random.default_rng(4).normal(size=(40, *shape)), truths("mixed", 40, *shape)
    found = match(scores)
    turned = found._replace(
        matching=np.asfortranarray(found.matching.astype(np.int32)), margin=found.margin[:]
    )
    expected = outcomes(scores, truth, matches=found)
    request.getfixturevalue("machine_code")
    same((found, outcomes(scores, truth, matches=turned)), (found, expected))


@pytest.mark.filterwarnings("ignore:invalid value")  # as below
@pytest.mark.parametrize("place", [0, 3, 200])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_machine_code_finds_a_score_that_is_not_finite(place, wrong, request):
    scores = np.random.default_rng(5).normal(size=(201, 2, 2))
    scores[place, 1, 0] = wrong
    request.getfixturevalue("machine_code")
    for work in (match, lambda s: solve(s, truths("same", 201, 2, 2))):
        with pytest.raises(InputError, match=f"Group {place} has a score that is not a finite number"):
            work(scores)


@pytest.mark.parametrize("shape", [(6, 6), (2, 20), (3, 8)])
def test_machine_code_adds_up_every_matching_once(shape):
    sums, (m, k) = compiled.sums(*shape), shape
    names = [{(q // k, q % k)} for q in range(m * k)]
    for first, second in sums.partial:
        assert not names[first] & names[second]
        names.append(names[first] | names[second])
    for (first, second), captions in zip(sums.total, sums.captions, strict=True):
        assert names[first] | names[second] == {(i, j) for i, j in enumerate(captions)}


def test_machine_code_is_loaded_only_once_as_much_time_was_spent_without_it(monkeypatch):
    monkeypatch.setattr(kernels._Spent, "seconds", 0.0)
    monkeypatch.setattr(kernels, "_has_numba", lambda: True)
    assert kernels.compiled() is None
    solve(np.random.default_rng(0).normal(size=(5000, 2, 2)), truths("same", 5000, 2, 2))
    assert 0 < kernels._Spent.seconds < kernels.WORTH
    monkeypatch.setattr(kernels._Spent, "seconds", kernels.WORTH)
    assert kernels.compiled() is compiled


def test_without_numba_there_is_no_machine_code_to_load(monkeypatch):
    monkeypatch.setattr(kernels._Spent, "seconds", kernels.WORTH)
    monkeypatch.setattr(kernels, "_has_numba", lambda: False)
    assert kernels.compiled() is None


def test_where_no_folder_can_be_written_machine_code_is_made_anew(monkeypatch):
    asked = []

    def njit(**how):
        asked.append(how)
        if how.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: ("compiled", function)

    monkeypatch.setitem(sys.modules, "numba", SimpleNamespace(njit=njit))
    assert machine.jit(len) == ("compiled", len)
    assert [how.get("cache", False) for how in asked] == [True, False]
    assert all(how["nogil"] and "fastmath" not in how for how in asked)  # fastmath would change results


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.uint64])
@pytest.mark.parametrize("shape", [(1, 3), (2, 2), (3, 3), (2, 4)])
def test_truth_of_any_integer_type_is_the_same_truth(shape, dtype):
    n = 40_000  # places in a block that int16 cannot count
    scores = np.random.default_rng(8).normal(size=(n, *shape))
    truth = np.argsort(np.random.default_rng(9).random((n, shape[1])), axis=1)[:, : shape[0]]
    same(solve(scores, truth.astype(dtype)), solve(scores, truth))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.int64, np.uint16])
def test_scores_of_any_type_are_those_numbers_in_float64(dtype):
    scores = np.random.default_rng(4).integers(0, 9, (50, 2, 2)).astype(dtype)
    truth = truths("mixed", 50, 2, 2)
    for a, b in zip(solve(scores, truth)[0], solve(scores.astype(float), truth)[0], strict=True):
        np.testing.assert_array_equal(a, b)


def test_scores_that_lie_otherwise_in_memory_are_the_same_scores():
    scores = np.random.default_rng(5).normal(size=(2, 30, 2)).astype(np.float32)
    turned = scores.transpose(1, 0, 2)
    for a, b in zip(match(turned), match(np.ascontiguousarray(turned)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.filterwarnings(
    "ignore:invalid value"
)  # plain Python in place of machine code multiplies inf by 0
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
    listed = [tuple(row) for row in kernels.matchings(*shape)]
    assert sorted(listed) == sorted(permutations(range(shape[1]), shape[0]))


@pytest.mark.parametrize("shape", [(2, 2), (1, 4), (3, 3), (4, 4)])
def test_memory_stays_within_three_times_the_input(shape):
    scores = np.random.default_rng(6).normal(size=(150_000, *shape)).astype(np.float32)
    truth = truths("same", len(scores), *shape)
    tracemalloc.start()
    try:
        found = solve(scores, truth)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found[0].margin) == len(scores)
    # Working vectors do not grow with the input: two blocks of them belong to the machine, not to the scores.
    working = 2 * 8 * kernels.block_size(*shape) * (shape[0] * shape[1] + shape[0] + 12)
    assert peak <= 3 * scores.nbytes + working
