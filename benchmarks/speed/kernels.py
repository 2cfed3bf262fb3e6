"""Matchings, metrics, curves and ranks on large arrays: what they cost, against limits measured in the same run.

Limits: one copy of the scores; a plain Python loop over groups that does the same work (`loop`); the operations that a
method needs (`operations`), each at the speed of one addition; one assignment per group. Times are the best of several.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import permutations
from math import log2, perm
from typing import Any

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment

from core.debiasing.curves import alpha_curve
from core.matching._search import _Part
from core.matching.global_match import AllPairs, match_global
from core.matching.groups import match
from core.metrics.groups import METRICS, evaluate, match_and_evaluate, threshold_curve
from core.metrics.recall import rank_both_ways
from core.metrics.statistics import Estimate, compare

SHAPES = {
    (2, 2): 1_000_000,
    (1, 2): 1_000_000,
    (1, 4): 1_000_000,
    (1, 8): 500_000,
    (2, 4): 300_000,
    (3, 3): 200_000,
    (4, 4): 100_000,
    (5, 5): 50_000,
}
ASSIGNED = {8: 1000, 16: 300, 32: 100}
CURVE = 250_000


def loop(scores: np.ndarray, truth: np.ndarray) -> list[tuple[Any, ...]]:
    """The straightforward way: every group on its own in plain Python, all matchings summed, all metrics tested."""
    _, m, k = scores.shape
    found = []
    for group, own in zip(scores.tolist(), truth.tolist(), strict=True):
        totals = sorted(
            ((sum(group[i][p[i]] for i in range(m)), p) for p in permutations(range(k), m)), reverse=True
        )
        rows = [all(group[i][own[i]] > group[i][j] for j in range(k) if j != own[i]) for i in range(m)]
        columns = all(group[i][own[i]] > group[r][own[i]] for i in range(m) for r in range(m) if r != i)
        margin = totals[0][0] - totals[1][0]
        right = margin > 0 and totals[0][1] == tuple(own)
        text = all(rows)
        found.append((totals[0][1], margin, text, columns, text and (columns or m < k), right, sum(rows) / m))
    return found


def operations(m: int, k: int) -> int:
    """Operations for one group, each on one number.

    Bounds (2) and columns (2) of every score; the matching (`_matching_operations`); for each image the strongest
    rivals in row and column and two comparisons with each; writing the results (16 for the group, 1 for each image).
    """
    tests = m * (k - 2 + 2) + m * (max(m - 2, 0) + 2)
    return 4 * m * k + _matching_operations(m, k) + tests + 16 + m


def _matching_operations(m: int, k: int) -> int:
    """What `best_two` does: two kinds of steps, each more where there is a second best total already."""
    solved: dict[_Part, int] = {}

    def over(part: _Part) -> int:
        """Operations that a part takes when it comes up for the first time."""
        if part in solved or len(part.captions) == 1:
            return 0
        steps = list(part.halves()) if part.last - part.first > 1 else []
        solved[part] = sum(over(half) for step in steps for half in step)
        seconds = [[perm(len(x.captions), x.last - x.first) > 1 for x in step] for step in steps]
        solved[part] += sum(
            1 + 2 * sum(known) + all(known) for known in seconds
        )  # sums, their maximum, places
        # A comparison, a minimum, a maximum and the place (2), then one of seconds and one of places.
        options = len(steps) or len(part.captions)
        more = sum(2 * any(known) for known in seconds[1:])
        return solved[part] + 5 * (options - 1) + 2 * max(options - 2, 0) + more

    return over(_Part(0, m, tuple(range(k))))


def seconds(
    work: Callable[[], object], repeats: int = 5, clock: Callable[[], float] = time.perf_counter
) -> float:
    """The best of a few runs: the machine is shared."""
    times = []
    for _ in range(repeats):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def row(what: str, value: float, unit: str, limit: float, least: bool = False) -> dict[str, object]:
    """A figure with its target, and whether it is met; `least` where more is better."""
    met = value >= limit if least else value <= limit
    shown = round(value, 1 if abs(value) >= 10 else 3)
    return {
        "what": what,
        "value": shown,
        "unit": unit,
        "target": f"{'>=' if least else '<='} {limit:g}",
        "met": met,
    }


def measure() -> Iterator[dict[str, object]]:
    rng = np.random.default_rng(0)
    for part in (groups, tensors, assigned, curves, retrieval):
        yield from part(rng)


def groups(rng: np.random.Generator) -> Iterator[dict[str, object]]:
    """Every metric, matching and margin of many groups."""
    vector, total = rng.normal(size=(2, 32_768)), np.empty(32_768)
    unit = seconds(lambda: np.add(*vector, out=total), 50) / total.size
    for (m, k), n in SHAPES.items():
        scores = rng.normal(size=(n, m, k)).astype(np.float32)
        truth = np.tile(np.arange(m), (n, 1))
        copy, all_of_it = (
            seconds(scores.copy, 30),
            seconds(lambda s=scores, t=truth: match_and_evaluate(s, t), 30),
        )
        few = min(n // 100, 2000)
        plain = seconds(lambda s=scores[:few], t=truth[:few]: loop(s, t), 3) * n / few
        what = f"all metrics, matchings, margins of {n:,} groups of {m}x{k}"
        if (m, k) == (2, 2):
            mixed = np.argsort(rng.random((n, k)), axis=1)
            of_any = seconds(lambda s=scores, t=mixed: match_and_evaluate(s, t), 10)
            yield row(what, 1000 * all_of_it, "milliseconds", 50)
            yield row(what, all_of_it / copy, "times the copy of their scores", 10)
            # Others use the cores too: what the processor does is a lower bound that they disturb less.
            busy = [
                seconds(w, 30, time.process_time)
                for w in (lambda s=scores, t=truth: match_and_evaluate(s, t), scores.copy)
            ]
            yield row(what, busy[0] / 2 / busy[1], "times the copy by processor time, over two cores", 10)
            yield row(f"{what}, truth differs by group", of_any / copy, "times the copy of their scores", 20)
        counted = operations(m, k) * unit * n
        yield row(what, all_of_it / counted, f"of {operations(m, k)} additions a group on one core", 1)
        yield row(what, plain / all_of_it, "times faster than a Python loop", 500, least=True)
        yield row(
            what,
            _memory(lambda s=scores, t=truth: match_and_evaluate(s, t)) / scores.nbytes,
            "of the input",
            3,
        )


def tensors(rng: np.random.Generator) -> Iterator[dict[str, object]]:
    """The same lines on torch tensors, against numpy."""
    for (m, k), n in {(2, 2): 1_000_000, (3, 3): 200_000}.items():
        scores, truth = rng.normal(size=(n, m, k)).astype(np.float32), np.tile(np.arange(m), (n, 1))
        by_numpy = seconds(lambda s=scores, t=truth: match_and_evaluate(s, t), 10)
        for device in ["cpu"] + ["cuda"] * torch.cuda.is_available():
            there = [torch.asarray(x, device=device) for x in (scores, truth)]
            # The last number is asked for: until then a GPU is still at work.
            took = seconds(lambda x=there: float(match_and_evaluate(*x)[0].margin[-1]), 10)
            what = f"all metrics, matchings, margins of {n:,} groups of {m}x{k}, torch on {device}"
            yield row(what, took / by_numpy, "times as long as numpy", 10 if device == "cpu" else 1)


def _memory(work: Callable[[], object]) -> int:
    """The most bytes in use at once, results included."""
    tracemalloc.start()
    try:
        kept = work()
        return tracemalloc.get_traced_memory()[1] if kept is not None else 0
    finally:
        tracemalloc.stop()


def assigned(rng: np.random.Generator) -> Iterator[dict[str, object]]:
    """Groups with too many matchings to try: matchings and exact margins by assignment; then one large assignment."""
    for k, n in ASSIGNED.items():
        scores = rng.normal(size=(n, k, k))
        once = seconds(lambda s=scores: [linear_sum_assignment(g, maximize=True) for g in s], 3)
        what = f"matchings and exact margins of {n} groups of {k}x{k}"
        yield row(what, seconds(lambda s=scores: match(s), 3) / once, "times one assignment per group", 4)
    sizes, times = (1250, 2500, 5000), []
    for size in sizes:
        scores = rng.normal(size=(size, size)).astype(np.float32)
        times.append(seconds(lambda s=scores: match_global(s), 1))
        yield row(f"global assignment of {size} x {size}", times[-1], "seconds", 60)
    growth = log2(times[-1] / times[0]) / log2(sizes[-1] / sizes[0])
    yield row("growth of the assignment's time with size", growth, "as its power", 3)


def curves(rng: np.random.Generator) -> Iterator[dict[str, object]]:
    """Exact curves over alpha and over the threshold, and intervals."""
    scores, prior = rng.normal(-3, 1, (CURVE, 2, 2)), rng.normal(-3, 1, (CURVE, 2))
    truth = np.tile(np.arange(2), (CURVE, 1))
    for name in METRICS:
        took = seconds(lambda name=name: alpha_curve(scores, prior, truth, name), 3)
        yield row(f"exact alpha curve of {name}, {CURVE:,} groups of 2x2", took, "seconds", 1)
    curve = alpha_curve(scores, prior, truth, "group_score")
    took = seconds(lambda: curve.interval(CURVE), 3)
    yield row(f"its interval on each of {len(curve.values):,} pieces", took, "seconds", 1)
    found = match(scores)
    took = seconds(lambda: threshold_curve(found, truth), 3)
    yield row(f"exact threshold curve, {CURVE:,} groups of 2x2", took, "seconds", 1)
    values = match_and_evaluate(scores, truth)[1]
    first, second = (values[name].value for name in ("group_score", "group_match"))
    yield row("bootstrap interval", seconds(lambda: Estimate.bootstrap(first)), "seconds", 1)
    yield row("paired interval and McNemar", seconds(lambda: compare(first, second)), "seconds", 1)
    took = seconds(lambda: evaluate(scores, truth))
    yield row(f"every metric with its interval, {CURVE:,} groups of 2x2", took, "seconds", 1)


def retrieval(rng: np.random.Generator) -> Iterator[dict[str, object]]:
    """Ranks both ways of 5,000 images and 25,000 captions from embeddings, never the whole matrix."""
    images, captions = (rng.normal(size=(n, 64)).astype(np.float32) for n in (5000, 25_000))
    own = np.arange(25_000), np.repeat(np.arange(5000), 5)
    whole = 4 * len(images) * len(captions)

    def ranked() -> object:
        return rank_both_ways(_products(images, captions), own)

    def multiply() -> None:
        for start in range(0, len(images), 128):
            images[start : start + 128] @ captions.T

    what = "R@K of 5,000 x 25,000 both ways"
    yield row(what, _memory(ranked) / whole, "of the score matrix", 0.05)
    yield row(what, seconds(ranked, 1) / seconds(multiply, 1), "times scoring all pairs once", 6)
    yield from _matched(images, np.repeat(images, 5, axis=0) + 2 * captions)


def _products(images: np.ndarray, captions: np.ndarray, asked: list[slice] | None = None) -> AllPairs:
    """Scores of embeddings, which `asked` lists as they are asked for."""

    def rows(part: slice) -> np.ndarray:
        if asked is not None:
            asked.append(part)
        return images[part] @ captions.T

    return AllPairs(rows, len(images), len(captions))


def _matched(images: np.ndarray, captions: np.ndarray) -> Iterator[dict[str, object]]:
    """One assignment of all images from blocks of scores, against that of the matrix in memory."""
    scores, asked = images @ captions.T, list[slice]()
    what = f"global matching of {len(images):,} x {len(captions):,} from blocks"
    pairs = _products(images, captions)
    yield row(what, _memory(lambda: match_global(pairs)) / scores.nbytes, "of the score matrix", 0.05)
    whole = seconds(lambda: match_global(scores), 1)
    yield row(
        what,
        seconds(lambda: match_global(pairs), 1) / whole,
        "times the assignment of the matrix in memory",
        1,
    )
    best, found = (
        scores[np.arange(len(images)), matching].sum(dtype=np.float64)
        for matching in (match_global(scores), match_global(_products(images, captions, asked)))
    )
    yield row(what, float(abs(found / best - 1)), "between its total and the best, relatively", 1e-12)
    yield row(what, sum(part.start == 0 for part in asked), "times every score is asked for", 5)
