"""Several runs of a benchmark at once: two of one thread each end sooner than two after the other with both cores."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, ProcessPoolExecutor, ThreadPoolExecutor, wait
from multiprocessing import get_context
from typing import TypeVar

import torch

Cell = TypeVar("Cell")
Found = TypeVar("Found")


def several(
    measure: Callable[[Cell], Found], cells: Sequence[Cell], jobs: int = 1, minutes: float | None = None
) -> Iterator[tuple[Cell, Found]]:
    """Each cell with what is measured of it, as they end; `jobs` at once, which share the cores.

    Nothing begins that would not end within `minutes` at the pace so far.
    """
    started, left, done = time.monotonic(), list(cells), 0
    with _places(jobs) as pool:
        waiting = {}
        while left or waiting:
            while left and len(waiting) < jobs:
                cell = left.pop(0)
                waiting[pool.submit(measure, cell)] = cell
            for ended in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(ended), ended.result()
                done += 1
            passed = time.monotonic() - started
            if minutes is not None and passed + jobs * passed / done > 60 * minutes:
                left = []


def _places(jobs: int) -> Executor:
    """Processes for as many runs; a single run is in this one, with every core."""
    if jobs == 1:
        return ThreadPoolExecutor(1)
    threads = max(1, (os.cpu_count() or 1) // jobs)
    return ProcessPoolExecutor(
        jobs, get_context("spawn"), initializer=torch.set_num_threads, initargs=(threads,)
    )
