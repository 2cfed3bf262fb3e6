"""The built-in captioner with and without its language prior, as the tables Alpha and Retrieval of the built-in world
need it: `python -m benchmarks.results.measured`.

Writes assets/results/measured.jsonl: one line per run of those tables, its description and its record. Scores are
cached: a run that was cut short goes on.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core.base.files import write_bytes
from core.papers import lines

TABLES = ("world/alpha", "world/retrieval")
OUT = Path(__file__).resolve().parents[2] / "assets" / "results" / "measured.jsonl"


def main() -> None:
    jobs = [job for table in TABLES for line in lines(table) for job in line.jobs]
    write_bytes(OUT, "".join(f"{json.dumps(measure(job))}\n" for job in jobs).encode())


def measure(job: Any) -> dict[str, Any]:
    """A run's description and its one record, without what no cell of these tables reads."""
    (done,) = job.execute()
    record = {name: value for name, value in done.record.items() if name != "alpha_grid"}
    print(job.benchmark, job.settings.prior, flush=True)
    return {"run": job.written(), "record": record}


if __name__ == "__main__":
    main()
