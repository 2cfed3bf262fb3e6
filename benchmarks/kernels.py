"""Matching and metrics on large arrays, against one copy of the scores and against a per-group Python loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import permutations

import numpy as np

from core.matching import match
from core.metrics import outcomes

SHAPES = {(2, 2): 1_000_000, (1, 4): 1_000_000, (3, 3): 200_000, (4, 4): 50_000, (5, 5): 10_000}


def loop(scores: np.ndarray) -> list[tuple[tuple[int, ...], float]]:
    """The straightforward way: every group on its own, every matching summed in Python."""
    _, m, k = scores.shape
    found = []
    for group in scores.tolist():
        totals = sorted(
            ((sum(group[i][p[i]] for i in range(m)), p) for p in permutations(range(k), m)), reverse=True
        )
        found.append((totals[0][1], totals[0][0] - totals[1][0]))
    return found


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The best of a few runs: the machine is shared."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def measure() -> Iterator[dict[str, object]]:
    rng = np.random.default_rng(0)
    for (m, k), n in SHAPES.items():
        scores = rng.normal(size=(n, m, k)).astype(np.float32)
        truth = np.tile(np.arange(m), (n, 1))
        few = max(200, n // 200)
        copy, matching = seconds(scores.copy), seconds(lambda s=scores: match(s))
        everything = seconds(lambda s=scores, t=truth: outcomes(s, t))
        plain = seconds(lambda s=scores[:few]: loop(s), 1) * n / few
        yield {
            "shape": f"{m}x{k}",
            "groups": n,
            "match_seconds": round(matching, 4),
            "match_over_copy": round(matching / copy, 1),
            "all_metrics_over_copy": round(everything / copy, 1),
            "loop_over_match": round(plain / matching),
        }
