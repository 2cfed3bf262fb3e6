"""The finished run that ships with Crossmatch, into assets/runs: test-time matching of the built-in CLIP.

    python -m benchmarks.results.example_run

About a minute on two cores. The archive is what `crossmatch runs export` writes, with every score; its model's weights
are rounded to half precision, as those of the built-in models are.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from safetensors.torch import load_file, save_file

from core import worker
from core.base import files
from core.exchange.example import ARCHIVE
from core.exchange.runs import export_run
from core.runs.store import RunStore
from core.ttm.run import TTMRun

TITLE = "Example: scenes/left-right · builtin/clip"


def main() -> None:
    out = ARCHIVE
    out.parent.mkdir(exist_ok=True)
    out.unlink(missing_ok=True)
    job = TTMRun.of("scenes/left-right", "builtin/clip")
    with tempfile.TemporaryDirectory() as place:
        store = RunStore(Path(place))
        run = store.create(job.kind, TITLE, job.written())
        worker.main([place, run.id, str(store.queue_up(run.id))])
        halve(store.folder(run.id) / "model")
        export_run(store, run.id, out)


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
