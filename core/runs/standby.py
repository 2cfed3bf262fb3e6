"""A worker that waits with its libraries imported, so that a run started from a page begins at once.

A server has at most one. It is started when somebody opens the page that starts runs, is handed the next run through
its standard input, and ends when nobody has opened that page for some minutes, or with the server: its input closes.
Commands and sweeps have none; without one, `core.runs.engine.launch` starts a process as ever.
"""

from __future__ import annotations

import json
import logging
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from core.base import limits, processes
from core.base.public_mode import is_public

log = logging.getLogger("crossmatch.worker")

_IDLE_SECONDS = 300.0
# A worker with torch and transformers takes about 0.8 GB (measured), and visitors' pages must keep theirs.
_LEAST_MEMORY = {False: 2 << 30, True: 3 << 30}  # bytes that must be left, by public mode


class _StandbyWorker:
    """At most one waiting process of `module --standby`; safe from any thread."""

    def __init__(self, module: str = "core.worker", idle_seconds: float = _IDLE_SECONDS) -> None:
        self.module, self._idle_seconds = module, idle_seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._timer: threading.Timer | None = None

    def prepare(self) -> None:
        """Have a worker wait, where memory allows one; if one waits already, its time begins anew."""
        with self._lock:
            self._stop_timer()
            if self._process is None or self._process.poll() is not None:
                self._process = self._started()
            if self._process is not None:
                self._timer = threading.Timer(self._idle_seconds, self.close)
                self._timer.daemon = True
                self._timer.start()

    def hand_over(self, arguments: Sequence[str]) -> processes.ProcessIdentity | None:
        """Give the waiting worker its run, as the arguments of `core.worker`; None where none waits."""
        with self._lock:
            process, self._process = self._process, None
            self._stop_timer()
        if process is None or process.stdin is None or process.poll() is not None:
            return None
        try:
            identity = processes.ProcessIdentity.of(process.pid)
            process.stdin.write(json.dumps(list(arguments)).encode() + b"\n")
            process.stdin.close()
        except (OSError, processes.NoSuchProcess):  # it has died a moment ago
            return None
        processes.collect(process)
        return identity

    def close(self) -> None:
        """End the waiting worker, if any."""
        with self._lock:
            process, self._process = self._process, None
            self._stop_timer()
        if process is not None and process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
            processes.collect(process)

    @property
    def pid(self) -> int | None:
        """Of the process that waits now."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def _started(self) -> subprocess.Popen[bytes] | None:
        if limits.memory_left() < _LEAST_MEMORY[is_public()]:
            return None
        try:
            return processes.start_waiting(self.module, ["--standby"])
        except OSError as error:
            log.warning("no worker on standby: %s", error)
            return None

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


_servers: list[_StandbyWorker] = []  # of this process: one while a server runs


@contextmanager
def standby_worker(worker: _StandbyWorker | None = None) -> Iterator[_StandbyWorker]:
    """While a server runs: `prepare` and `hand_over` below use its worker."""
    own = worker or _StandbyWorker()
    _servers.append(own)
    try:
        yield own
    finally:
        _servers.remove(own)
        own.close()


def prepare() -> None:
    """Have a worker wait for the next run; nothing where no server runs."""
    for own in _servers[-1:]:
        own.prepare()


def close() -> None:
    """End the worker that waits, if one does."""
    for own in _servers[-1:]:
        own.close()


def hand_over(module: str, arguments: Sequence[str]) -> processes.ProcessIdentity | None:
    """Give a run to the worker that waits; None where none of this module does."""
    for own in _servers[-1:]:
        if own.module == module:
            return own.hand_over(arguments)
    return None
