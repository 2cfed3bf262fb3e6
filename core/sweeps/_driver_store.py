"""The run store as seen from a cluster: a node asks for its run, reports, and hands files in; no shared file system.

It lives on the driver's node, beside the store (`core.sweeps.ray` makes it a Ray actor; it is a plain
class). What arrives is written aside, checked against its checksum and given its name: whole or absent, as what a
local worker writes. Only the newest attempt at a run may write; a node that was given up for lost and wakes up finds
itself superseded.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any

from core.base import files
from core.base.errors import InputError, printable
from core.runs.resume import drop_checkpoints, newest_checkpoint
from core.runs.store import AttemptSuperseded, RunStore
from core.sweeps.evaluate import _cache_shard

SLOTS = 1_000_000  # the cluster's scheduler decides how many runs work at a time
QUEUE = "ray"  # the store's queue of cluster runs: they hold no slot of this machine
_FILES = re.compile(r"steps/\d{4}\.npz|shards/\d{8}-\d{8}\.npz")
_FOLDERS = re.compile(r"checkpoint-\d{4}|model")
_TOKEN = re.compile(r"[0-9a-f]{8}")


class DriverStore:
    """Every method takes and returns plain data and may be called again with the same result."""

    def __init__(self, root: str, version: str, models: Sequence[str] = (), cache: str | None = None) -> None:
        """root : of the run store. models : the folders that nodes may ask for. cache : the score cache's file."""
        self.store = RunStore(Path(root))
        self.version, self.models = version, frozenset(models)
        self.cache = None if cache is None else Path(cache)
        self._lock = threading.Lock()

    # ---- a run's life

    def begin(self, run_id: str, where: str, version: str) -> tuple[int, dict[str, Any]] | None:
        """A node takes a run up: the number of its attempt and the run; None where nothing is left to do.

        A run that somebody else works for was lost with its node: that attempt ends here and can write no more.
        """
        if version != self.version:
            raise InputError(
                f"{where} has Crossmatch {version} and the driver {self.version}; install one version everywhere."
            )
        with self._lock:
            run = self.store.get(run_id)
            if run.status == "stopping":
                self.store.conclude(run_id, run.attempt, "stopped")
            if run.status not in ("queued", "running", "interrupted"):
                return None
            attempt = run.attempt
            if run.status != "queued":
                if run.live:
                    self.store.conclude(run_id, attempt, "interrupted")
                attempt = self.store.queue_up(run_id, QUEUE)
            self.store.try_start(run_id, attempt, SLOTS)
        self._log(run_id, f"attempt {attempt} on {where}, after {len(self.store.steps(run_id))} iterations")
        return attempt, asdict(self.store.get(run_id))

    def beat(self, run_id: str, attempt: int, phase: str, progress: dict[str, Any]) -> str:
        """A heartbeat; answers with the status, which may ask the node to stop."""
        return self.store.beat(run_id, attempt, phase, **progress)

    def wanted(self, run_id: str, attempt: int) -> bool:
        """Whether this attempt should go on."""
        try:
            run = self.store.get(run_id)
        except InputError:
            return False
        return run.attempt == attempt and run.status in ("queued", "running", "interrupted")

    def steps(self, run_id: str) -> list[dict[str, Any]]:
        return self.store.steps(run_id)

    def append(self, run_id: str, record: dict[str, Any], attempt: int, progress: dict[str, Any]) -> None:
        """A finished iteration; its files have been handed in before."""
        known = len(self.store.steps(run_id))
        self.store.append_step(run_id, record, attempt, **progress)
        # An attempt that goes on after a checkpoint repeats that iteration's record, in case it had not arrived.
        what = "done" if record["iteration"] >= known else "recorded again"
        self._log(run_id, f"attempt {attempt}: iteration {record['iteration']} {what}")

    def conclude(self, run_id: str, attempt: int, status: str, error: str | None) -> None:
        """A node's last word."""
        if status == "finished":
            self._mine(run_id, attempt)
            folder = self.store.folder(run_id)
            drop_checkpoints(folder)
            files.remove(folder / "shards")
        self.store.conclude(run_id, attempt, status, error)
        self._log(run_id, f"attempt {attempt}: {status}" + (f": {error}" if error else ""))

    def _mine(self, run_id: str, attempt: int) -> None:
        """Raise AttemptSuperseded for an attempt that is not the newest, and where the run was deleted."""
        try:
            newest = self.store.get(run_id).attempt
        except InputError:
            newest = None
        if newest != attempt:
            raise AttemptSuperseded(run_id)

    def _log(self, run_id: str, line: str) -> None:
        with suppress(OSError), open(self.store.folder(run_id) / "log.txt", "a", encoding="utf-8") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {printable(line)}\n")

    # ---- files out: what a node needs to go on

    def resumable(self, run_id: str) -> dict[str, int]:
        """Path (in the run's folder) and bytes of what the next attempt needs: newest checkpoint, model, shards."""
        folder = self.store.folder(run_id)
        checkpoint, _ = newest_checkpoint(folder)
        parts = [folder / "model", folder / "shards", *([checkpoint] if checkpoint else [])]
        return {f"{part.name}/{name}": size for part in parts for name, size in _sizes(part).items()}

    def read(self, run_id: str, name: str, offset: int, length: int) -> bytes:
        """A piece of one of those files."""
        return _piece(self.store.folder(run_id), name, offset, length)

    def model_files(self, folder: str) -> dict[str, int]:
        """Path and bytes of a model folder's files, of those that the sweep names."""
        if folder not in self.models:
            raise InputError(f"The model folder {folder} is not part of this sweep; name it in its file.")
        return _sizes(Path(folder))

    def read_model(self, folder: str, name: str, offset: int, length: int) -> bytes:
        """A piece of one of them."""
        self.model_files(folder)
        return _piece(Path(folder), name, offset, length)

    # ---- files in: whole or absent

    def receive(self, run_id: str, token: str, name: str, offset: int, data: bytes) -> None:
        """Write a piece of a file aside; `token` keeps what two nodes send apart."""
        path = _inside(self._aside(run_id, token), name)
        with files.storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "r+b" if path.exists() else "wb") as file:
                file.seek(offset)
                file.write(data)

    def settle_file(self, run_id: str, attempt: int, token: str, name: str, checksum: str) -> None:
        """Give a file that has arrived its name, if it is whole."""
        aside = self._aside(run_id, token)
        path, final = _inside(aside, name), self.store.folder(run_id) / name
        if not _FILES.fullmatch(name):
            raise InputError(f"{name} is not a file of a run; nodes send arrays and shards.")
        self._mine(run_id, attempt)
        with files.storage_errors(final):
            if path.is_file():  # else it was settled before, and this is a repeated call
                if files.checksum(path) != checksum:
                    raise InputError(f"{name} arrived incomplete; the attempt has to be repeated.")
                with open(path, "r+b") as file:
                    os.fsync(file.fileno())
                final.parent.mkdir(exist_ok=True)
                os.replace(path, final)
                files.sync_folder(final.parent)
            files.remove(aside)
        if name.startswith("shards/"):
            _cache_shard(final, self.cache)

    def settle_folder(self, run_id: str, attempt: int, token: str, name: str) -> None:
        """Give a sealed folder that has arrived its name, if it is whole; older checkpoints go."""
        folder, aside = self.store.folder(run_id), self._aside(run_id, token)
        if not _FOLDERS.fullmatch(name):
            raise InputError(f"{name} is not a folder of a run; nodes send checkpoints and the model.")
        self._mine(run_id, attempt)
        final = folder / name
        with files.storage_errors(final):
            if aside.is_dir():
                files.verify_manifest(aside)
                files.publish(aside, final)
            drop_checkpoints(folder, but=final)

    def _aside(self, run_id: str, token: str) -> Path:
        if not _TOKEN.fullmatch(token):
            raise InputError(f"{token!r} is not a token; send files through a RemoteStore.")
        return self.store.folder(run_id) / f".incoming-{token}"


def _sizes(folder: Path) -> dict[str, int]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in found}


def _piece(folder: Path, name: str, offset: int, length: int) -> bytes:
    try:
        with open(_inside(folder, name), "rb") as file:
            file.seek(offset)
            return file.read(length)
    except OSError as error:
        raise InputError(f"{name} cannot be read ({error.strerror}); run the sweep again.") from None


def _inside(folder: Path, name: str) -> Path:
    """A path below a folder; names come from other machines."""
    path = PurePosixPath(name)
    if path.is_absolute() or not path.parts or ".." in path.parts:
        raise InputError(f"{name!r} is not a path inside a run's folder.")
    return folder / path
