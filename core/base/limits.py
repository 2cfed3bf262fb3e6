"""What one file may unfold to and cost: every limit with its name, on one's own machine and on a public server.

They are asked before anything of that size is allocated or computed; a file of some hundred bytes may stand for
gigabytes. What one visitor may start and keep is in `core.base.public_mode`. SECURITY.md lists the numbers and their
tests.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from core.base.errors import InputError
from core.base.public_mode import UPLOAD_MB, is_public


class _Limits(NamedTuple):
    """The most that one file, or one computation on its content, may ask for: here on your own machine."""

    file: int = 2 << 30  # bytes of a file of scores or embeddings
    unfolded: int = 2 << 30  # bytes of a file's content once it is decompressed
    line: int = 256 << 20  # bytes of one line of JSON
    marks: int = 300_000_000  # brackets, braces, commas and colons of JSON that is parsed as one
    columns: int = 10_000  # columns of a table, arrays of an NPZ, different tags
    cells: int = 200_000_000  # rows x columns of a table
    groups: int = 50_000_000  # n
    group: int = 100_000_000  # scores of one group, m x k
    scores: int = 1_000_000_000  # n x m x k
    numbers: int = 4_000_000_000  # of image or of caption embeddings, rows x dimensions
    pairs: int = 100_000_000_000  # all images with all captions, N x M
    multiplications: int = 10**15  # pairs x dimensions
    steps: int = 10**13  # of solving assignments, images x images x captions, added up
    pixels: int = 50_000_000  # of one image
    measured: int = 8 << 30  # bytes that measured uploads hold in memory, all together


LOCAL = _Limits()
PUBLIC = _Limits(
    file=UPLOAD_MB << 20,
    unfolded=64 << 20,
    line=4 << 20,
    marks=3_000_000,
    columns=200,
    cells=2_000_000,
    groups=100_000,
    group=100_000,
    scores=1_000_000,
    numbers=8_000_000,
    pairs=25_000_000,
    multiplications=4_000_000_000,
    steps=600_000_000,
    pixels=25_000_000,
    measured=256 << 20,
)
_WORDS = {
    "file": "bytes",
    "unfolded": "bytes once it is decompressed",
    "line": "bytes in one line",
    "marks": "marks of JSON (brackets, braces, commas, colons)",
    "columns": "columns, tags or arrays",
    "cells": "cells (rows x columns)",
    "groups": "groups",
    "group": "scores in one group (images x captions)",
    "scores": "scores (groups x images x captions)",
    "numbers": "numbers in one array (rows x dimensions)",
    "pairs": "pairs (all images x all captions)",
    "multiplications": "multiplications (all images x all captions x dimensions)",
    "steps": "steps of assignment (images x images x captions)",
    "pixels": "pixels",
    "measured": "bytes of measured files",
}
_SMALL = 64 << 20  # bytes: less than this is never asked about
_SHARE = 0.8  # of the memory that is left
_OWN = 0.95  # of the memory that is left, which a process that bounds itself may take


def limits() -> _Limits:
    """The limits in force."""
    return PUBLIC if is_public() else LOCAL


def refusal(what: object, **asked: int) -> str | None:
    """Why this is too much to be worked on here, in one sentence; None where it is not. Arguments as in `check`."""
    for name, amount in asked.items():
        most = getattr(limits(), name)
        if amount > most:
            hint = (
                "make it smaller, or run Crossmatch on your own machine" if is_public() else "make it smaller"
            )
            return f"{what} comes to {amount:,} {_WORDS[name]}; the limit is {most:,}: {hint}."
    return None


def check(what: object, **asked: int) -> None:
    """Raise InputError for the first amount that is more than its limit. asked : amounts by their names in `_Limits`.

    >>> check("x.npz", groups=10)
    """
    told = refusal(what, **asked)
    if told is not None:
        raise InputError(told)


def check_shape(what: object, n: int, m: int, k: int) -> None:
    """`check` of scores of n groups of m x k: their number, and what it takes to match them."""
    check(what, groups=n, group=m * k, scores=n * m * k, steps=n * m * m * k)
    check_memory(what, 40 * m * k)  # a group's exchanges, and the shortest paths among them


def check_memory(what: object, needed: int) -> None:
    """Raise InputError where so many bytes would not fit into the memory that is left, instead of being killed."""
    if needed < _SMALL:
        return
    left = memory_left()
    if needed > _SHARE * left:
        raise InputError(
            f"{what} needs about {needed / 1e9:.1f} GB of memory, and {left / 1e9:.1f} GB are left; make it "
            "smaller, or use a machine with more memory."
        )


def memory_left() -> int:
    """Bytes that this process may still take: what the machine, its container and its own limit leave it."""
    left, own = [psutil.virtual_memory().available], psutil.Process()
    with suppress(AttributeError, OSError, psutil.Error):  # Linux alone has both
        soft = own.rlimit(psutil.RLIMIT_AS)[0]
        if soft != psutil.RLIM_INFINITY:
            left.append(soft - own.memory_info().vms)
    with suppress(OSError, ValueError, KeyError):  # no container, or one without a limit ("max")
        group = Path("/sys/fs/cgroup")
        most, now = (int((group / name).read_text()) for name in ("memory.max", "memory.current"))
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        left.append(most - now + int(stat["inactive_file"]))  # pages of files give way
    return max(0, min(left))


def _bound_own_memory() -> None:
    """From here on an allocation beyond what the machine has left fails in this process, which becomes a sentence.

    Without this a model too large for the machine takes every page of it, and the whole machine stands still for
    minutes before the process is killed. Linux alone; and not beside an NVIDIA GPU, whose driver maps far more than it
    takes.
    """
    if Path("/proc/driver/nvidia").exists():
        return
    with suppress(ImportError, OSError, ValueError, StopIteration):
        import resource

        lines = Path("/proc/self/status").read_text().splitlines()
        used = next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmData"))
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = used + int(_OWN * memory_left())
        resource.setrlimit(
            resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
        )
