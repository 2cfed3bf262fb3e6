"""Blocks of groups as long vectors: the arithmetic under matchings and metrics. Never receives truth.

A block of scores (b, m, k) is worked on as columns (m, k, b): one vector over its groups for each image and caption,
so that every operation runs along groups. Numpy arrays or torch tensors.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from array_api_compat import array_namespace, device, is_numpy_array

from core.base.arrays import Array
from core.base.interrupt import between_blocks

# Scores of a block, and its most groups: it has to fit the processor's cache, and with shorter vectors threads mostly
# wait for the interpreter. A GPU has room for more.
_SCORES, _SCORES_GPU, _GROUPS = 3 * 2**17, 2**24, 3 * 2**15
_FEWEST = 2_048  # groups that are worth a thread
_MAX_THREADS = 8


def map_blocks(scores: Array, work: Callable[[slice, Array], None]) -> None:
    """Call work(groups, columns) for blocks of scores (n, m, k), on all cores; the first error is raised.

    columns : (m, k, b), float32 or float64, overwritten by the next block. Threads share numpy's arrays where a block
    needs few and long operations, inside of which numpy lets go of the interpreter; torch has threads of its own.
    """
    n, m, k = scores.shape
    threads = max(1, min(_cores(), n // _FEWEST)) if is_numpy_array(scores) and _simple(m, k) else 1
    blocks = -(-n // (threads * _block_size(scores)))  # of each thread
    size = -(-n // (threads * blocks))
    each = blocks * size

    def run(first: int) -> None:
        room = _room(scores, size)
        for start in range(first, min(n, first + each), size):
            between_blocks()
            part = slice(start, min(n, start + size))
            work(part, _fill(room, scores[part]))

    here, *others = range(0, n, each)
    with ThreadPoolExecutor(max(1, len(others))) as pool:  # starts no thread before it is asked for one
        waiting = [pool.submit(run, first) for first in others]
        run(here)
        for one in waiting:
            one.result()


def columns_of(scores: Array) -> Array:
    """Scores (b, m, k) as columns (m, k, b), float32 or float64."""
    return _fill(_room(scores, len(scores)), scores)


def _room(scores: Array, size: int) -> Array:
    xp = array_namespace(scores)
    narrow = scores.dtype == xp.float32 and _simple(*scores.shape[1:])
    dtype = xp.float32 if narrow else xp.float64
    return xp.empty((*scores.shape[1:], size), dtype=dtype, device=device(scores))


def _fill(room: Array, block: Array) -> Array:
    columns = room[:, :, : len(block)]
    columns[...] = array_namespace(block).permute_dims(block, (1, 2, 0))
    return columns


def _block_size(scores: Array) -> int:
    """The most groups of a block of scores (n, m, k)."""
    _, m, k = scores.shape
    if not _on_cpu(scores):
        return max(1, _SCORES_GPU // (m * k))
    return max(1, min(_GROUPS, _SCORES // (m * k)))


def _simple(m: int, k: int) -> bool:
    """Whether a total is at most one addition and few are compared."""
    return m == 1 or m == k == 2


def _cores() -> int:
    """Cores that this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, _MAX_THREADS)


def _on_cpu(array: Array) -> bool:
    """Whether an array lies in the memory of the CPU."""
    place = device(array)
    return getattr(place, "type", place) == "cpu"
