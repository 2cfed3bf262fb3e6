"""The finished run that ships with Crossmatch, into assets/runs: test-time matching of the built-in CLIP, and its
controls.

    python -m benchmarks.results.example_run

About six minutes on two cores. The archives are what `crossmatch runs export` writes, with every score; the model's
weights are rounded to half precision, as those of the built-in models are, before what it costs on other sets is
measured.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from safetensors.torch import load_file, save_file

from core import worker
from core.base import files
from core.cola.forgetting import run_table
from core.exchange.example import _CONTROLS as CONTROLS
from core.exchange.example import ARCHIVE
from core.exchange.runs import export_run
from core.runs.store import Run, RunStore
from core.ttm.run import LedgerRun, TTMRun

TITLE = "Example: scenes/left-right · builtin/clip"


def main() -> None:
    job = TTMRun.of("scenes/left-right", "builtin/clip")
    with tempfile.TemporaryDirectory() as place:
        os.environ["CROSSMATCH_HOME"] = place  # the costs are of a run by its name
        store = RunStore()
        run = done(store, TITLE, job)
        halve(store.folder(run.id) / "model")
        run_table(run.id)
        ship(store, run, ARCHIVE)
        controls = LedgerRun.read({**run.config, "ledger": run.config["ttm"]})
        ship(
            store,
            done(store, f"Controls of the {TITLE[0].lower()}{TITLE[1:]}", controls),
            CONTROLS,
            model=False,
        )


def done(store: RunStore, title: str, job: TTMRun) -> Run:
    """A new run, worked to its end in this process."""
    run = store.create(job.kind, title, job.written())
    worker.main([str(store.root), run.id, str(store.queue_up(run.id))])
    return store.get(run.id)


def ship(store: RunStore, run: Run, out: Path, model: bool = True) -> None:
    out.parent.mkdir(exist_ok=True)
    out.unlink(missing_ok=True)
    export_run(store, run.id, out, model)


def halve(model: Path) -> None:
    """Round the weights in a model's folder, and vouch for the new file."""
    weights, manifest = model / "model.safetensors", files.verify_manifest(model)
    save_file(
        {name: t.half().contiguous() for name, t in load_file(weights).items()}, weights, {"format": "pt"}
    )
    facts = {name: value for name, value in manifest.items() if name != "files"}
    (model / files.MANIFEST).unlink()
    files.write_manifest(model, **facts)


if __name__ == "__main__":
    main()
