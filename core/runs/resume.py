"""A run carried out, or gone on with: checkpoints and the final model are complete and checked, or not there.

A checkpoint is a folder with the model in its own format, what its kind of run needs besides, the record of the
iteration and, written last, a manifest of checksums. Knows no kind of run.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.base import files
from core.base.errors import InputError
from core.runs.description import Iteration, Remains, RunDescription
from core.runs.models import public

if TYPE_CHECKING:
    from core.runs.attempt import RunAttempt

_MOMENTS = "optimizer.safetensors"

log = logging.getLogger("crossmatch.worker")


def carry_out(job: RunAttempt, run: RunDescription, seen: Callable[[Iteration], None] | None = None) -> bool:
    """Compute what is described, or what is left of it; True when it came to its end, False when it was stopped.

    seen : gets every iteration once it is written.

    Every iteration is written before its record, with a checkpoint where something is trained: a run that dies at any
    instant goes on after the newest checkpoint and ends as if it had not.
    """
    folder, steps = job.folder, lambda: job.store.steps(job.run.id)
    job.plan(run.total)
    if _is_published(folder):  # killed between the model and its last word
        return True
    checkpoint, note = newest_checkpoint(folder)
    if checkpoint is not None:  # written before its record: that one may be missing
        job.append(json.loads((checkpoint / "step.json").read_text()))
    records = steps() if checkpoint is not None or not run.total else []
    if not run.is_over(records):
        for each in run.execute(Remains(folder, checkpoint, tuple(records)), job.stopping, job.progress):
            each.record["note"], note = " ".join(filter(None, (note, each.record["note"]))), ""
            with files.storage_errors(folder):
                files.write_arrays(job.store.arrays_path(job.run.id, each.record["iteration"]), each.arrays)
                if each.model is not None:
                    _write_checkpoint(folder, each)
            job.append(each.record)
            # From a checkpoint of iteration 0 on, that one may come again.
            records[each.record["iteration"] :] = [each.record]
            if seen is not None:
                seen(each)
    if not run.is_over(records):
        return False
    if run.total:
        with files.storage_errors(folder):
            _publish(folder, job.run.config, lambda model: run.card(model, steps()))
    drop_checkpoints(folder)
    return True


def _write_checkpoint(folder: Path, now: Iteration) -> Path:
    """Write `checkpoint-NNNN` into a run's folder, then drop every other one, whole or half."""
    assert now.model is not None and now.save_state is not None
    final = folder / f"checkpoint-{now.record['iteration']:04d}"
    aside = folder / f".{final.name}.new"
    files.remove(aside)
    aside.mkdir()
    now.model.save(aside / "model")
    now.save_state(aside)
    files.write_json(aside / "step.json", now.record)
    files.write_manifest(aside, iteration=now.record["iteration"])
    files.publish(aside, final)
    drop_checkpoints(folder, but=final)
    return final


def drop_checkpoints(folder: Path, but: Path | None = None) -> None:
    """Remove all checkpoints but one from a run's folder, what else it went on from, and whatever a killed worker left
    half written."""
    rest = [] if but else [*folder.glob("shards")]
    for path in [*rest, *folder.glob("checkpoint-*"), *folder.glob(".*"), *folder.glob("steps/.*")]:
        if path.is_file():
            path.unlink()
        elif path != but:
            files.remove(path)


def save_moments(folder: Path, optimizer: Mapping[str, Any]) -> None:
    """The moments of an optimizer's state dict as safetensors."""
    from safetensors.torch import save_file

    moments = optimizer["state"]
    tensors = {f"{i}.{name}": t.contiguous() for i, one in moments.items() for name, t in one.items()}
    save_file(tensors, folder / _MOMENTS)


def load_moments(folder: Path) -> dict[int, dict[str, Any]]:
    """What `save_moments` wrote."""
    from safetensors.torch import load_file

    moments: dict[int, dict[str, Any]] = {}
    for key, tensor in load_file(folder / _MOMENTS).items():
        index, _, name = key.partition(".")
        moments.setdefault(int(index), {})[name] = tensor
    return moments


def newest_checkpoint(folder: Path) -> tuple[Path | None, str]:
    """The newest checkpoint that passes its checksums, if any, and a note if one had to be passed over."""
    note = ""
    for path in sorted(folder.glob("checkpoint-*"), reverse=True):
        try:
            files.verify_manifest(path)
            return path, note
        except InputError as error:
            log.warning("%s", error)
            note = f"The checkpoint of iteration {int(path.name[-4:])} was damaged; the run started again."
    return None, note


def _publish(folder: Path, config: Mapping[str, Any], card: Callable[[Path], str]) -> None:
    """Put the newest checkpoint's model, with a card and a manifest, at `model` in the run's folder.

    card : gets the folder of the model and gives the card's text.
    """
    checkpoint, _ = newest_checkpoint(folder)
    assert checkpoint is not None
    aside = folder / ".model.new"
    files.remove(aside)
    shutil.copytree(checkpoint / "model", aside)
    (aside / "README.md").write_text(card(aside), encoding="utf-8")
    shown = public(config)
    files.write_manifest(aside, base=shown["model"], benchmark=shown["benchmark"], config=shown)
    files.publish(aside, folder / "model")


def _is_published(folder: Path) -> bool:
    """Whether a run's folder holds its final model, complete; then nothing else is needed of it but the steps."""
    try:
        files.verify_manifest(folder / "model")
    except InputError:
        return False
    drop_checkpoints(folder)
    return True
