"""The run store: SQLite and a folder per run, shared by any number of apps, commands and workers.

A run is a process of its own (core/worker.py) that shares nothing but this store with whoever started it. Every
start of a run is numbered (`attempt`), and a worker writes under its number only: one that was given up for dead
and wakes up after somebody resumed the run can no longer touch it.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from core.base import files, paths, processes
from core.base.database import open_database
from core.base.errors import InputError, printable

if TYPE_CHECKING:  # a queued worker waits without numpy
    import numpy as np

ACTIVE_STATUSES = ("queued", "running", "stopping")
RESUMABLE_STATUSES = ("interrupted", "stopped", "failed")
HEARTBEAT_TIMEOUT = 30.0  # seconds without a heartbeat after which a worker counts as dead
_TITLE_LENGTH = 200

# One tuple of statements per schema version: append one, never change one.
_MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE runs (
            id TEXT PRIMARY KEY, kind TEXT NOT NULL, title TEXT NOT NULL, config TEXT NOT NULL,
            status TEXT NOT NULL, created REAL NOT NULL, started REAL, ended REAL,
            total INTEGER NOT NULL DEFAULT 0, done INTEGER NOT NULL DEFAULT 0, fraction REAL NOT NULL DEFAULT 0,
            message TEXT NOT NULL DEFAULT '', error TEXT, seconds_left REAL, owner TEXT,
            device TEXT NOT NULL, ticket INTEGER NOT NULL DEFAULT 0, attempt INTEGER NOT NULL DEFAULT 0,
            pid INTEGER, pid_created REAL, host TEXT, heartbeat REAL NOT NULL)""",
        """CREATE TABLE steps (
            run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE, iteration INTEGER NOT NULL,
            step TEXT NOT NULL, PRIMARY KEY (run, iteration))""",
        "CREATE INDEX runs_by_status ON runs (status, device, ticket)",
    ),
    ("ALTER TABLE runs ADD COLUMN address TEXT",),
)


class AttemptSuperseded(InputError):
    """The run was deleted, stopped or started anew meanwhile: this worker has nothing left to write."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"Run {run_id} was deleted or restarted in the meantime; list the runs again.")


EXAMPLE_ID = "20261122-000000000-e8a3b1ec7a5d9f10"  # of the run that ships
_EXAMPLE_CONTROLS_ID = "20261122-000000001-3c1f0a9be2d74586"  # and of its controls


@dataclass(frozen=True)
class Run:
    """A row of the store. Times are seconds since the epoch, `fraction` is in [0, 1]."""

    id: str
    kind: str
    title: str
    config: dict[str, Any]
    status: str  # queued, running, stopping, stopped, finished, failed, interrupted
    created: float
    started: float | None
    ended: float | None
    total: int  # iterations to do; 0 until the worker knows
    done: int  # finished iterations; iteration 0, the state before, is not counted
    fraction: float
    message: str
    error: str | None  # one sentence
    seconds_left: float | None
    owner: str | None  # a visitor's id in public mode
    device: str
    attempt: int
    pid: int | None
    address: str | None = None  # in public mode a hash of where it was started (`core.base.gate.hashed`)

    @property
    def live(self) -> bool:
        return self.status in ACTIVE_STATUSES

    @property
    def _axis_end(self) -> int:
        """The iteration that its curves' axis ends at: the last one planned, of a run that is over the last that ran,
        as one that ended early has nothing after it."""
        return self.total if self.live else self.done

    @property
    def is_example(self) -> bool:
        """Whether it ships with Crossmatch (`core.exchange.example`): to be looked at, and nobody's result."""
        return self.id in (EXAMPLE_ID, _EXAMPLE_CONTROLS_ID)

    @property
    def resumable(self) -> bool:
        return self.status in RESUMABLE_STATUSES

    def record(self) -> dict[str, Any]:
        """The run as JSON-safe data."""
        return asdict(self)


# Spelled out here because inside the class `list` is its own method.
_Runs: TypeAlias = list[Run]
_Steps: TypeAlias = list[dict[str, Any]]


def _of_a_group(name: str) -> str:
    """That an id is a group's, where one run is wanted, and what lists its runs; "" of any other."""
    if not re.fullmatch(r"g-[0-9a-f-]+", name):
        return ""
    return f"{name} is the id of a group of seeds, not of one run; `crossmatch runs seeds {name}` lists its runs."


class RunStore:
    """All runs below one folder. Opens a connection per call: safe from any thread and any process."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = (paths.home() / "runs" if root is None else Path(root)).absolute()
        self._database = open_database(self.root / "runs.db", _MIGRATIONS)

    # ---- reading

    def get(self, run_id: str) -> Run:
        return self._read(self._row(run_id))

    def _row(self, run_id: str) -> sqlite3.Row:
        with self._database.transaction() as database:
            row = database.execute("SELECT * FROM runs WHERE id = ?", [run_id]).fetchone()
        if row is None:
            raise InputError(
                _of_a_group(run_id)
                or f"There is no run {run_id!r} here; it may have been deleted; `crossmatch runs list` has those that "
                "are."
            )
        return row

    def list(self, kind: str | None = None, owner: str | None = None) -> _Runs:
        """Newest first; of one kind and one owner if given."""
        with self._database.transaction() as database:
            rows = database.execute(
                "SELECT * FROM runs WHERE kind = coalesce(?, kind) AND (?2 IS NULL OR owner = ?2)"
                " ORDER BY created DESC, id DESC",
                [kind, owner],
            ).fetchall()
        return [self._read(row) for row in rows]

    def is_busy(self, but_for: str | None = None) -> bool:
        """Whether any run, whosever it is, works or waits besides this one; reads nothing of the others."""
        with self._database.transaction() as database:
            rows = database.execute(
                "SELECT status, heartbeat, pid, pid_created, host FROM runs"
                " WHERE status IN ('queued', 'running', 'stopping') AND id IS NOT ?",
                [but_for],
            ).fetchall()
        return any(_status(row) in ACTIVE_STATUSES for row in rows)

    def steps(self, run_id: str) -> _Steps:
        """The records of all finished iterations, in order; iteration 0 is the state before."""
        with self._database.transaction() as database:
            rows = database.execute(
                "SELECT step FROM steps WHERE run = ? ORDER BY iteration", [run_id]
            ).fetchall()
        return [json.loads(row["step"]) for row in rows]

    def arrays(self, run_id: str, iteration: int) -> dict[str, np.ndarray]:
        """Per-group arrays of an iteration: scores (n, m, k), selected (n,), matching (n, m)."""
        import numpy as np

        path = self.arrays_path(run_id, iteration)
        try:
            with np.load(path, allow_pickle=False) as found:
                return {name: found[name] for name in found.files}
        except (
            Exception
        ) as error:  # zip, zlib, NumPy and the tokenizer of its headers: each fails in its own ways
            raise InputError(
                f"Run {run_id} has no readable arrays of iteration {iteration} ({type(error).__name__} at {path}); "
                "choose an iteration that is finished."
            ) from None

    def scores(self, run_id: str, iteration: int) -> np.ndarray:
        """Scores of all groups after an iteration, float32 (n, m, k)."""
        return self.arrays(run_id, iteration)["scores"]

    def log(self, run_id: str, characters: int = 20_000) -> str:
        """The end of the worker's log."""
        with suppress(OSError), open(self.folder(run_id) / "log.txt", "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - characters))
            return file.read().decode(errors="replace")
        return ""

    def folder(self, run_id: str) -> Path:
        """A run's folder. Ids come from addresses: nothing but an id ever becomes a path."""
        if not re.fullmatch(r"[0-9]{8}-[0-9]{9}-([0-9a-f]{6}|[0-9a-f]{16})", run_id):
            raise InputError(
                _of_a_group(run_id) or f"{run_id!r} is not a run id; take one from the list of runs."
            )
        return self.root / run_id

    def arrays_path(self, run_id: str, iteration: int) -> Path:
        return self.folder(run_id) / "steps" / f"{int(iteration):04d}.npz"

    # ---- what people do

    def create(
        self,
        kind: str,
        title: str,
        config: dict[str, Any],
        owner: str | None = None,
        address: str | None = None,
        *,
        run_id: str | None = None,
        created: float | None = None,
    ) -> Run:
        """Write a new run down; `core.runs.engine.launch` starts it. `config["device"]` decides which queue it joins.

        run_id : of the run that ships with Crossmatch. Any other's cannot be guessed: on a public server it is the key
        to the run. created : seconds since the epoch, of one that was made elsewhere; None for now.
        """
        now = time.time()
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now)) + f"{int(now % 1 * 1000):03d}"
        run_id = run_id or f"{stamp}-{secrets.token_hex(8)}"
        row = (
            run_id,
            kind,
            _title(title),
            json.dumps(config),
            created or now,
            now,
            owner,
            _device(config),
            address,
        )
        folder = self.folder(run_id)
        try:
            with files.storage_errors(self.root):
                for made in (folder, folder / "steps"):
                    files.private_folder(made)
                files.write_json(folder / "config.json", config)
            with self._database.transaction(write=True) as database:
                database.execute(
                    "INSERT INTO runs (id, kind, title, config, status, created, heartbeat, owner, device, address)"
                    " VALUES (?, ?, ?, ?, 'queued', ?, ?, ?, ?, ?)",
                    row,
                )
        except InputError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return self.get(run_id)

    def rename(self, run_id: str, title: str) -> None:
        self.get(run_id)
        with self._database.transaction(write=True) as database:
            self._set(database, run_id, title=_title(title))

    def request_stop(self, run_id: str) -> Run:
        """Ask a run to stop after its current training step; one that waits in the queue leaves it at once."""
        if self.get(run_id).live:
            with self._database.transaction(write=True) as database:
                row = self._mine(database, run_id, None)
                if row["status"] == "queued":
                    self._set(database, run_id, status="stopped", message="", ended=time.time())
                elif row["status"] == "running":
                    self._set(database, run_id, status="stopping", message="stopping")
            if row["status"] == "running" and row["pid"]:
                _identity(row).terminate()  # it would notice by itself at its next heartbeat
        return self.get(run_id)

    def give_up(self, run_id: str, why: str) -> None:
        """Take a run that waits out of the queue, for somebody else's sake; it can be resumed."""
        with self._database.transaction(write=True) as database:
            row = self._mine(database, run_id, None)
            if row["status"] == "queued":  # under a new number: its worker has no last word
                last: dict[str, Any] = {"attempt": row["attempt"] + 1, "ended": time.time(), "message": ""}
                self._set(database, run_id, **last, status="stopped", error=why)

    def delete(self, run_id: str) -> None:
        """End the run's process if it has one, then remove the run and its folder."""
        folder = self.folder(self.get(run_id).id)
        _end(self._row(run_id))
        with self._database.transaction(write=True) as database:
            row = self._mine(database, run_id, None)
            self._set(database, run_id, attempt=row["attempt"] + 1)  # whoever works for it can write no more
        _end(row)  # somebody may have resumed it a moment ago
        with files.storage_errors(folder):
            files.remove(folder)
        with self._database.transaction(write=True) as database:
            database.execute("DELETE FROM runs WHERE id = ?", [run_id])

    def queue_up(self, run_id: str, queue: str | None = None) -> int:
        """Put a new or a resumable run at the end of its queue; returns the number of this attempt.

        queue : None is its device's; a cluster's runs have one of their own and hold no slot of this machine.
        """
        now, run = time.time(), self.get(run_id)
        if run.resumable:  # its worker may have been silent for too long, and yet live
            _end(self._row(run_id))
        with self._database.transaction(write=True) as database:
            row = self._mine(database, run_id, None)
            status = _status(row)
            if row["attempt"] and status not in RESUMABLE_STATUSES:
                raise InputError(
                    f"Run {run_id} is {status}; resume it once it is {', '.join(RESUMABLE_STATUSES)}."
                )
            last = database.execute("SELECT max(ticket) FROM runs").fetchone()[0]
            values = {"status": "queued", "attempt": row["attempt"] + 1, "ticket": last + 1, "heartbeat": now}
            values["device"] = queue or _device(run.config)
            cleared = dict.fromkeys(("pid", "pid_created", "host", "error", "ended", "seconds_left"))
            self._set(database, run_id, **values, **cleared, message="starting")
        return row["attempt"] + 1

    # ---- what workers do, under the number of their attempt

    def claim(self, run_id: str, attempt: int, process: processes.ProcessIdentity) -> None:
        """Note which process works for this attempt."""
        pid, created, host = process
        with self._database.transaction(write=True) as database:
            self._mine(database, run_id, attempt)
            self._set(database, run_id, pid=pid, pid_created=created, host=host, heartbeat=time.time())

    def try_start(self, run_id: str, attempt: int, limit: int) -> int:
        """Take one of `limit` slots of the device: 0 when the run may start, else how many runs it waits for.

        First come, first served, but owners take turns (`_runs_ahead`); a run whose worker is dead holds no slot.
        """
        with self._database.transaction(write=True) as database:
            mine = self._mine(database, run_id, attempt)
            if mine["status"] not in ("queued", "interrupted"):
                raise AttemptSuperseded(run_id)
            others = database.execute(
                "SELECT * FROM runs WHERE device = ? AND id != ? AND (status IN ('running', 'stopping')"
                " OR (status = 'queued' AND attempt > 0))",
                [mine["device"], run_id],
            ).fetchall()
            last = " UNION ALL ".join(
                f"SELECT {who}, max(started) FROM runs WHERE device = ?1 GROUP BY {who}"
                for who in ("owner", "address")
            )
            served = dict(map(tuple, database.execute(last, [mine["device"]])))
            ahead = _runs_ahead(others, mine, served)
            if len(ahead) >= limit:  # only then is it worth asking who of them lives
                living = [row for row in others if _status(row) in ACTIVE_STATUSES]
                ahead = _runs_ahead(living, mine, served)
            if len(ahead) < limit:
                now = time.time()
                started = mine["started"] or now
                values = {"status": "running", "started": started, "heartbeat": now}
                self._set(database, run_id, **values, message="loading the libraries", ended=None)
        return max(0, len(ahead) - limit + 1)

    def beat(self, run_id: str, attempt: int, phase: str, **progress: Any) -> str:
        """Record life and progress; returns the status. `phase` is what a run given up for dead wakes up as."""
        with self._database.transaction(write=True) as database:
            status = self._mine(database, run_id, attempt)["status"]
            if status == "interrupted":
                status, progress = phase, {**progress, "status": phase, "ended": None}
            self._set(database, run_id, heartbeat=time.time(), **progress)
        return status

    def append_step(
        self, run_id: str, step: dict[str, Any], attempt: int | None = None, **progress: Any
    ) -> None:
        """Add an iteration's record; the same iteration again replaces it and drops all later ones."""
        iteration, text = int(step["iteration"]), json.dumps(step, allow_nan=False)
        with self._database.transaction(write=True) as database:
            self._mine(database, run_id, attempt)
            database.execute("DELETE FROM steps WHERE run = ? AND iteration >= ?", [run_id, iteration])
            database.execute("INSERT INTO steps VALUES (?, ?, ?)", [run_id, iteration, text])
            self._set(database, run_id, done=iteration, **progress)

    def conclude(self, run_id: str, attempt: int, status: str, error: str | None = None) -> None:
        """The last word of a worker: finished, stopped or failed (with one sentence)."""
        more: dict[str, Any] = {"fraction": 1.0} if status == "finished" else {}
        with self._database.transaction(write=True) as database:
            self._mine(database, run_id, attempt)
            more |= {"error": printable(error or "") or None, "ended": time.time(), "seconds_left": None}
            self._set(database, run_id, **more, status=status, message="")

    # ---- the database

    def _read(self, row: sqlite3.Row) -> Run:
        """A row as people see it. Whoever notices that a worker has died writes it down."""
        values, status = dict(row), _status(row)
        if status != row["status"]:
            values.update(status=status, ended=row["heartbeat"], seconds_left=None, message="")
            # A store that cannot be written is still read; and nothing is recorded if the worker has moved since.
            with suppress(InputError), self._database.transaction(write=True, patience=0.2) as database:
                database.execute(
                    "UPDATE runs SET status = ?, ended = heartbeat, seconds_left = NULL, message = ''"
                    " WHERE id = ? AND attempt = ? AND heartbeat = ? AND status = ?",
                    [status, row["id"], row["attempt"], row["heartbeat"], row["status"]],
                )
        if values["seconds_left"] is not None:
            values["seconds_left"] = max(0.0, row["seconds_left"] - (time.time() - row["heartbeat"]))
        values["config"] = json.loads(row["config"])
        return Run(**{field.name: values[field.name] for field in fields(Run) if field.name in values})

    def _mine(self, database: sqlite3.Connection, run_id: str, attempt: int | None) -> sqlite3.Row:
        """The run's row, unless it is gone or belongs to another attempt by now."""
        row = database.execute("SELECT * FROM runs WHERE id = ?", [run_id]).fetchone()
        if row is None or attempt not in (None, row["attempt"]):
            raise AttemptSuperseded(run_id)
        return row

    def _set(self, database: sqlite3.Connection, run_id: str, **values: Any) -> None:
        columns = ", ".join(f"{name} = ?" for name in values)
        database.execute(f"UPDATE runs SET {columns} WHERE id = ?", [*values.values(), run_id])


def parallel_runs(default: int = 1) -> int:
    """How many runs may work on one device at a time: `$CROSSMATCH_PARALLEL_RUNS`."""
    text = os.environ.get("CROSSMATCH_PARALLEL_RUNS", str(default))
    if not text.isdecimal() or not int(text):
        raise InputError(f"CROSSMATCH_PARALLEL_RUNS is {text!r}; set it to a whole number, 1 or more.")
    return int(text)


def _status(row: sqlite3.Row) -> str:
    """The status as it is now: what has lost its worker is interrupted, or stopped if that was asked for."""
    if row["status"] not in ACTIVE_STATUSES:
        return row["status"]
    living = time.time() - row["heartbeat"] <= HEARTBEAT_TIMEOUT
    if living and row["pid"] is not None:
        living = _identity(row).is_alive() is not False
    gone = "stopped" if row["status"] == "stopping" else "interrupted"
    return row["status"] if living else gone


def _identity(row: sqlite3.Row) -> processes.ProcessIdentity:
    return processes.ProcessIdentity(row["pid"], row["pid_created"], row["host"])


def _runs_ahead(
    others: Sequence[sqlite3.Row], mine: sqlite3.Row, served: Mapping[str | None, float | None]
) -> list[sqlite3.Row]:
    """The runs that go before `mine`: those at work, and of those that wait the ones whose turn comes first.

    others : the device's other runs that work or wait. served : when each owner's and each address's last run began.

    An address's first waiting run goes before anybody's second, where a run at work counts as its address's first;
    among equals the address that was served longest ago is next, and then who asked first. Owners at one address take
    turns in the same way. A run without an address is at one of its owner's; runs without owners are one's.
    """
    every = [*others, mine]

    def own_turn(run: sqlite3.Row) -> tuple[int, float, int]:
        own = (row for row in every if row["owner"] == run["owner"] and _who(row) == _who(run))
        before = sum(_works(row) or row["ticket"] < run["ticket"] for row in own)
        return before, served.get(run["owner"]) or 0.0, run["ticket"]

    def turn(run: sqlite3.Row) -> tuple[int, float, int]:
        own = (row for row in every if _who(row) == _who(run) and row["id"] != run["id"])
        before = sum(_works(row) or own_turn(row) < own_turn(run) for row in own)
        return before, served.get(_who(run)) or 0.0, run["ticket"]

    return [row for row in others if _works(row) or turn(row) < turn(mine)]


def _who(run: sqlite3.Row) -> str | None:
    return run["address"] or run["owner"]


def _works(run: sqlite3.Row) -> bool:
    return run["status"] in ("running", "stopping")


def _end(row: sqlite3.Row) -> None:
    if row["pid"] is not None:
        _identity(row).kill_tree()


def _device(config: Mapping[str, Any]) -> str:
    """The queue that a run joins on this machine; to say which device `auto` is would mean importing torch."""
    return str(config.get("device") or "auto")


def _title(text: str) -> str:
    title = printable(" ".join(text.split())[:_TITLE_LENGTH])
    if not title:
        raise InputError("A run needs a title; give it some text.")
    return title
