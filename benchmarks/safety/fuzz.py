"""Spoiled files for every reader: each ends in a result or in one sentence (`InputError`), in time and in bounds.

    python -m benchmarks.safety.fuzz --format csv --cases 10000

The cases of a format are numbered and repeatable (`--first N --cases 1` is case N again). They run in a process with
bounded memory that says which case it is at; one that hangs or takes that process along is counted, and the next case
goes on in a new one.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from select import select
from typing import Any, NamedTuple

import core
from benchmarks.safety import mutations as change
from benchmarks.safety.fuzz_folders import check_sentence
from benchmarks.safety.fuzz_formats import FORMATS
from core.base.errors import InputError

_CORE = str(Path(core.__file__).parent)
SECONDS = 60.0  # wall clock of one case before it counts as a hang; the machine may be busy
SLOW = 5.0  # seconds of processor time of one case that count as slow
MEMORY = 2 << 30  # bytes that the process may allocate beyond what it starts with


# --- the cases


class Case(NamedTuple):
    """How one case ended: read, refused, or with what nobody may see."""

    number: int
    outcome: str  # read, refused, slow, or the name of an exception
    detail: str = ""
    cpu: float = 0.0


def cases(name: str, first: int, count: int, place: Path, seed: int = 0) -> Iterator[Case]:
    """Run cases of a format in this process."""
    form = FORMATS[name]
    place.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(dir=place))
    valid = form.valid(place)
    for data in valid:
        form.read(data, place)
    for number in range(first, first + count):
        random = Random(f"{seed}-{name}-{number}")
        data = form.change(random, change.pick(random, valid))
        yield _case(number, functools.partial(form.read, data, place))


def _case(number: int, act: Callable[[], Any]) -> Case:
    start = time.process_time()
    try:
        act()
        outcome, detail = "read", ""
    except InputError as error:
        outcome, detail = "refused", ""
        try:
            check_sentence(error)
        except AssertionError as wrong:
            outcome, detail = "no sentence", str(wrong)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)
        ours = next((f for f in reversed(where) if f.filename.startswith(_CORE)), where[-1])
        outcome = type(error).__name__
        detail = f"{Path(ours.filename).name}:{ours.lineno} {str(error)[:200]!r}"
    cpu = time.process_time() - start
    return Case(number, "slow" if cpu > SLOW and outcome in ("read", "refused") else outcome, detail, cpu)


# --- a process for many cases


def main() -> int:
    """Run the cases; 1 where any of them ended as none may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--format", action="append", choices=list(FORMATS), help="default: every one")
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return _child(args)
    failed = False
    for name in args.format or FORMATS:
        row = _run(name, args.first, args.cases, args.seed)
        print(json.dumps(row, ensure_ascii=False), flush=True)
        failed |= bool(row["failures"])
    return int(failed)


def _child(args: argparse.Namespace) -> int:
    """Cases in this process, with bounded memory; each is announced before it starts."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    results = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no result
    next(iter(cases(args.format[0], args.first, 1, args.child, args.seed)))  # imports what is needed
    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY, used + MEMORY))
    for case in cases(args.format[0], args.first, args.cases, args.child, args.seed):
        print(
            json.dumps([*case, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]), file=results, flush=True
        )
    return 0


def _run(name: str, first: int, count: int, seed: int) -> dict[str, Any]:
    """Cases of a format in processes of their own, counted by how they ended."""
    outcomes: Counter[str] = Counter()
    failures: dict[str, str] = {}
    slowest, peak, began, number = 0.0, 0, time.monotonic(), first
    place = Path(tempfile.mkdtemp(prefix="crossmatch-fuzz-"))
    try:
        while number < first + count:
            for case, kilobytes in _from_child(name, number, first + count - number, seed, place):
                outcomes[case.outcome] += 1
                if case.outcome not in ("read", "refused"):
                    failures.setdefault(
                        f"{case.outcome} {case.detail.split(' ')[0]}", f"case {case.number}: {case.detail}"
                    )
                slowest, peak, number = max(slowest, case.cpu), max(peak, kilobytes), case.number + 1
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return {
        "format": name,
        "cases": sum(outcomes.values()),
        "outcomes": dict(outcomes),
        "failures": failures,
        "slowest_case_s": round(slowest, 2),
        "peak_mb": peak // 1024,
        "seconds": round(time.monotonic() - began, 1),
    }


def _from_child(name: str, first: int, count: int, seed: int, place: Path) -> Iterator[tuple[Case, int]]:
    """What a child reports; the case that hangs or kills it comes last."""
    options = ["--format", name, "--first", first, "--cases", count, "--seed", seed, "--child", place]
    environment = {**os.environ, "CROSSMATCH_HOME": str(place / "home"), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.safety.fuzz", *map(str, options)],
        stdout=subprocess.PIPE,
        env=environment,
    )
    assert process.stdout is not None
    done = 0
    try:
        while done < count:
            patient = SECONDS if done else 3 * SECONDS  # the first one imports everything
            ready = select([process.stdout], [], [], patient)[0]
            line = process.stdout.readline() if ready else b""
            if not line:
                outcome = "died" if ready else "hang"
                yield Case(first + done, outcome, f"exit status {process.poll()}"), 0
                return
            *fields, kilobytes = json.loads(line)
            yield Case(*fields), kilobytes
            done += 1
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    sys.exit(main())
