"""Checkpoints of a run and its final model: complete and checked, or not there.

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
from core.runs.models import public

if TYPE_CHECKING:  # a queued worker waits without numpy and torch
    from core.scorers.base import Trainable

_MOMENTS = "optimizer.safetensors"

log = logging.getLogger("crossmatch.worker")


def write_checkpoint(
    folder: Path, record: Mapping[str, Any], model: Trainable, save_state: Callable[[Path], None]
) -> Path:
    """The checkpoint of any kind of run: the model, what `save_state` writes beside it, the record, the checksums."""
    final = folder / f"checkpoint-{record['iteration']:04d}"
    aside = folder / f".{final.name}.new"
    files.remove(aside)
    aside.mkdir()
    model.save(aside / "model")
    save_state(aside)
    files.write_json(aside / "step.json", dict(record))
    files.write_manifest(aside, iteration=record["iteration"])
    files.publish(aside, final)
    drop_checkpoints(folder, but=final)
    return final


def drop_checkpoints(folder: Path, but: Path | None = None) -> None:
    """Remove all checkpoints but one from a run's folder, and whatever a killed worker left half written."""
    for path in [*folder.glob("checkpoint-*"), *folder.glob(".*"), *folder.glob("steps/.*")]:
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


def load_record(folder: Path) -> dict[str, Any]:
    """The record of a checkpoint's iteration."""
    return json.loads((folder / "step.json").read_text())


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


def publish_with(folder: Path, config: Mapping[str, Any], told: Callable[[Path], str]) -> Path:
    """Put the newest checkpoint's model, with a card and a manifest, at `model` in the run's folder.

    told : gets the folder of the model and gives the card's text.
    """
    checkpoint, _ = newest_checkpoint(folder)
    assert checkpoint is not None
    aside, final = folder / ".model.new", folder / "model"
    files.remove(aside)
    shutil.copytree(checkpoint / "model", aside)
    (aside / "README.md").write_text(told(aside), encoding="utf-8")
    shown = public(config)
    files.write_manifest(aside, base=shown["model"], benchmark=shown["benchmark"], config=shown)
    files.publish(aside, final)
    return final


def is_published(folder: Path) -> bool:
    """Whether a run's folder holds its final model, complete; then nothing else is needed of it but the steps."""
    try:
        files.verify_manifest(folder / "model")
    except InputError:
        return False
    drop_checkpoints(folder)
    return True
