"""The run store's interface on a node that has no store: `core.worker` works there with the loop it has at home.

Files are written to a scratch folder and handed to the driver's store before the record that names them.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.base import files
from core.runs.store import Run

# call("beat", ...) asks the driver's store; raises InputError and AttemptSuperseded as the store does.
Call = Callable[..., Any]

CHUNK = 8 << 20  # bytes that travel at a time
# Seconds between heartbeats that travel; core.runs.store.HEARTBEAT_TIMEOUT is many of them.
HEARTBEAT_SECONDS = 5.0


class RemoteStore:
    """One run: the `core.runs.open_store.AttemptStore` of a node."""

    def __init__(self, call: Call, run: Run, attempt: int, scratch: Path) -> None:
        self.call, self.attempt, self.scratch = call, attempt, scratch
        self.run = run
        self._sent: set[str] = set()
        self._told, self._status = 0.0, run.status
        self._lock = threading.Lock()
        (self.folder(run.id) / "steps").mkdir(parents=True)

    def fetch(self) -> None:
        """Get what an earlier attempt left: newest checkpoint, model, shards; and the model, if it is a folder."""
        folder = self.folder(self.run.id)
        for name, size in self.call("resumable", self.run.id).items():
            get_file(folder / name, size, lambda *piece, n=name: self.call("read", self.run.id, n, *piece))
            self._sent.add(name if name.startswith("shards/") else name.partition("/")[0])
        self.run = replace(self.run, config=local_model(self.call, self.run.config, self.scratch))

    # ---- what a worker asks

    def get(self, run_id: str) -> Run:
        return self.run

    def folder(self, run_id: str) -> Path:
        return self.scratch / run_id

    def arrays_path(self, run_id: str, iteration: int) -> Path:
        return self.folder(run_id) / "steps" / f"{int(iteration):04d}.npz"

    def steps(self, run_id: str) -> list[dict[str, Any]]:
        return self.call("steps", run_id)

    def try_start(self, run_id: str, attempt: int, limit: int) -> int:
        """The cluster's scheduler has given this run its turn."""
        return 0

    def beat(self, run_id: str, attempt: int, phase: str, **progress: Any) -> str:
        """A heartbeat; only one in `HEARTBEAT_SECONDS` seconds travels."""
        with self._lock:
            if time.monotonic() - self._told < HEARTBEAT_SECONDS and "total" not in progress:
                return self._status
            self._told = time.monotonic()
        self._status = self.call("beat", run_id, attempt, phase, progress)
        return self._status

    def append_step(self, run_id: str, step: dict[str, Any], attempt: int, **progress: Any) -> None:
        self.push()
        self.call("append", run_id, step, attempt, progress)

    def conclude(self, run_id: str, attempt: int, status: str, error: str | None = None) -> None:
        if status == "finished":
            self.push()
        self.call("conclude", run_id, attempt, status, error)

    # ---- files

    def push(self) -> None:
        """Hand in what is new in the run's folder: arrays, newest checkpoint, final model."""
        folder = self.folder(self.run.id)
        for path in sorted(folder.glob("steps/*.npz")):
            self._once(f"steps/{path.name}", self.push_file)
        for path in sorted([*folder.glob("checkpoint-*"), *folder.glob("model")]):
            self._once(path.name, self._push_folder)

    def _once(self, name: str, push: Callable[[str], None]) -> None:
        if name not in self._sent:
            push(name)
            self._sent.add(name)

    def push_file(self, name: str) -> None:
        """Hand in one file of the run's folder, by its path there."""
        path, token = self.folder(self.run.id) / name, secrets.token_hex(4)
        self._send(path, token, name)
        self.call("settle_file", self.run.id, self.attempt, token, name, files.checksum(path))

    def _push_folder(self, name: str) -> None:
        folder, token = self.folder(self.run.id) / name, secrets.token_hex(4)
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            self._send(path, token, path.relative_to(folder).as_posix())
        self.call("settle_folder", self.run.id, self.attempt, token, name)

    def _send(self, path: Path, token: str, name: str) -> None:
        with open(path, "rb") as file:
            offset = 0
            while True:
                data = file.read(CHUNK)
                if data or not offset:  # an empty file is sent too
                    self.call("receive", self.run.id, token, name, offset, data)
                offset += len(data)
                if len(data) < CHUNK:
                    return


def local_model(call: Call, config: dict[str, Any], scratch: Path) -> dict[str, Any]:
    """A description whose model, if it is a folder on the driver's machine, is a copy of it here."""
    source = Path(config["model"])
    if not source.is_absolute():
        return config
    folder = scratch / "base" / source.name
    for name, size in call("model_files", str(source)).items():
        get_file(folder / name, size, lambda *piece, n=name: call("read_model", str(source), n, *piece))
    return {**config, "model": str(folder)}


def get_file(path: Path, size: int, read: Callable[[int, int], bytes]) -> None:
    """Write a file from its pieces; `read` gets an offset and a length."""
    with files.storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "wb") as file:
            while file.tell() < size:
                data = read(file.tell(), CHUNK)
                if not data:
                    break
                file.write(data)
