"""kill -9 at random instants of real runs: `python -m benchmarks.safety.kills --kills 50`.

A run of test-time matching with a built-in model is killed again and again, at random instants from its process's
first moment on, and resumed each time until it ends; then the next run, until there were enough kills. Every kill must
be noticed within the store's limit, and every run must end with the records of one that was left alone.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from core.runs.engine import launch, start
from core.runs.store import HEARTBEAT_TIMEOUT, Run, RunStore
from core.ttm.run import TTMRun

JOB = {"iterations": 5, "epochs": 2, "seed": 0}
WITHIN = 8.0  # seconds until a kill, at most; the process needs some of them to import


def timeless(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what differs between two equal runs."""
    return json.loads(
        json.dumps({k: v for k, v in record.items() if k != "note" and not k.startswith("seconds")})
    )


def killed(store: RunStore, run: Run, dice: random.Random, within: float) -> float | None:
    """Kill the run's process after a while; seconds until the store says so, None where it had ended before."""
    until = time.monotonic() + dice.uniform(0, within)
    while time.monotonic() < until and store.get(run.id).live:
        time.sleep(0.02)
    now = store.get(run.id)
    if not now.live or now.pid is None:
        return None
    try:
        os.kill(now.pid, signal.SIGKILL)
    except ProcessLookupError:
        return None
    began = time.monotonic()
    while store.get(run.id).live and time.monotonic() - began < HEARTBEAT_TIMEOUT + 5:
        time.sleep(0.02)
    return time.monotonic() - began


def main() -> int:
    """Measure; 1 where a run did not end as it should."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--within", type=float, default=WITHIN, help="seconds until a kill, at most")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    dice, noticed, wrong = random.Random(args.seed), [], []
    runs = leftovers = (
        0  # files of writes that were cut short: nobody reads them, deleting the run removes them
    )
    job = TTMRun.of("scenes/left-right", "builtin/clip", groups=24, options=JOB, device="cpu")
    expected = [timeless(item.record) for item in job.execute()]
    with tempfile.TemporaryDirectory(prefix="crossmatch-kills-") as place:
        store = RunStore(Path(place) / "runs")
        while len(noticed) < args.kills:
            run = start(store, "killed", job)
            runs += 1
            while run.status != "finished":
                took = killed(store, run, dice, args.within) if len(noticed) < args.kills else None
                noticed += [] if took is None else [took]
                run = store.get(run.id)
                if run.resumable:
                    run = launch(store, run.id)
                elif len(noticed) >= args.kills:
                    time.sleep(0.2)
            if [timeless(step) for step in store.steps(run.id)] != expected:
                found = [timeless(step) for step in store.steps(run.id)]
                wrong.append(
                    {
                        k: (a.get(k), b.get(k))
                        for a, b in zip(found, expected, strict=False)
                        for k in b
                        if a.get(k) != b[k]
                    }
                )
            leftovers += sum(p.name.startswith(".") for p in store.folder(run.id).rglob("*"))
    _, left = psutil.wait_procs(psutil.Process().children(recursive=True), timeout=10)
    row = {
        "kills": len(noticed),
        "runs": runs,
        "noticed_s": {"max": round(max(noticed), 2)},
        "wrong": wrong,
        "leftovers": leftovers,
    }
    print(json.dumps({**row, "processes_left": len(left)}))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
