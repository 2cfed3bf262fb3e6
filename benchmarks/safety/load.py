"""Many visitors at once: `python -m benchmarks.safety.load --visitors 50 --minutes 10 --hostile 5`.

Starts the app in public mode on a home of its own and visits it as browsers do, with Streamlit's own messages over web
sockets but without drawing: every visitor opens pages, moves sliders, picks other entries, and now and then launches a
short run of test-time matching. Measured is the time from a click until the page's script is done; where that needs
scores that nobody has computed before, the time includes the model. Between two acts a visitor reads: `--pause` seconds
on average, exponentially distributed, 8 by default. Every visitor has an address of its own on the loopback network, as
Linux has it; `--hostile` adds strangers who take what they can get (hostile.py). One JSON line says how long it took,
what went wrong, how the server's memory went, and how much of the machine's work was the server's.
"""

from __future__ import annotations

import argparse
import asyncio
import ipaddress
import json
import os
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.safety.hostile import Hostile

ROOT = Path(__file__).resolve().parents[2]
PATIENCE, FIRST_PATIENCE = (
    120.0,
    600.0,
)  # seconds until an answer counts as missing; of the very first visitor
START = "Start the run"  # the button that launches
_RAISED = re.compile(
    r"^Traceback \(most.*\n(?:[ \t].*\n)+(\S.{0,150})", re.MULTILINE
)  # what a traceback ends with


@dataclass
class Result:
    """What all visitors saw together."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    cold: dict[str, float] = field(default_factory=dict)  # page -> seconds of its very first visit
    sentences: Counter[str] = field(
        default_factory=Counter
    )  # refusals that are meant to be: a full queue, say
    answers: Counter[str] = field(default_factory=Counter)  # what strangers were told

    def add(self, what: str, seconds: float) -> None:
        self.seconds.setdefault(what, []).append(seconds)


# --- the server


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def server(
    port: int = 0,
    home: Path | None = None,
    public: bool = True,
    app: Sequence[str] = ("-m", "streamlit", "run", "app.py"),
) -> Iterator[tuple[str, psutil.Process, Path]]:
    """The app, in public mode or not: its address, its process, and its home (a new one, unless one is named).

    `app` is what Python starts; a test may name a program of its own that starts the app.
    """
    port = port or free_port()
    with tempfile.TemporaryDirectory(prefix="crossmatch-load-") as folder:
        place = home or Path(folder)
        environment = {**os.environ, "CROSSMATCH_HOME": str(place), "HF_HUB_OFFLINE": "1"}
        environment["CROSSMATCH_PUBLIC"] = "1" if public else ""
        command = [sys.executable, *app, "--server.port", str(port)]
        command += ["--server.headless", "true", "--server.address", "127.0.0.1"]
        with open(place / "server.log", "wb") as log:
            process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        try:
            _wait(f"http://127.0.0.1:{port}/_stcore/health", process)
            yield f"127.0.0.1:{port}", psutil.Process(process.pid), place
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE)
            if home is None:
                _end_workers(place)


def _wait(address: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + FIRST_PATIENCE
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(address, timeout=5)
            return
        except OSError:
            if process.poll() is not None:
                raise SystemExit("the server did not start") from None
            time.sleep(0.3)
    raise SystemExit("the server did not answer within ten minutes")


def _end_workers(home: Path) -> None:
    """Runs outlive their server by design; those of this measurement end with it."""
    from core.runs.store import RunStore

    store = RunStore(home / "runs")
    for run in store.list():
        store.delete(run.id)


# --- a visitor


class Visitor:
    """One browser: a connection, the page it is on, and the widgets there."""

    def __init__(self, number: int, address: str, result: Result, pause: float, launches: float) -> None:
        self.random = random.Random(number)
        self.address, self.result, self.pause, self.launches = address, result, pause, launches
        self.host = str(ipaddress.ip_address("127.1.0.2") + number)
        self.pages: dict[str, str] = {}  # hash -> name
        self.page = ""
        self.widgets: dict[str, tuple[Any, str]] = {}  # id -> (message, fragment)
        self.states: dict[str, WidgetState] = {}
        self.query = ""
        self.patience = PATIENCE

    async def visit(self, until: float) -> None:
        """Come, look around until the time is over, and go; a connection that breaks is an error, and opened again."""
        await asyncio.sleep(self.random.uniform(0, self.pause))
        while time.monotonic() < until:
            try:
                await self._session(until)
            except (OSError, TimeoutError) as error:
                self.result.errors[type(error).__name__] += 1
            except Exception as error:
                self.result.errors[f"{type(error).__name__}: {str(error)[:80]}"] += 1
            await asyncio.sleep(1)

    async def tour(self) -> None:
        """Open every page once, as the first visitor of a server does: models load, caches fill."""
        self.patience = FIRST_PATIENCE
        async with self._connected() as line:
            await self._act(line, "open", self._rerun())
            for page, name in list(self.pages.items()):
                self.page, self.states, self.query = page, {}, ""
                began = time.monotonic()
                await self._act(line, f"first {name}", self._rerun())
                self.result.cold[name] = round(time.monotonic() - began, 2)

    def _connected(self) -> connect:
        mask, token = self.random.randbytes(4), self.random.randbytes(16)
        masked = bytes(b ^ mask[i % 4] for i, b in enumerate(token))
        cookie = f"_streamlit_xsrf=2|{mask.hex()}|{masked.hex()}|{int(time.time())}"
        headers = {"Origin": f"http://{self.address}", "Cookie": cookie}
        where = f"ws://{self.address}/_stcore/stream"
        look: dict[str, Any] = {
            "subprotocols": ["streamlit"],
            "additional_headers": headers,
            "max_size": None,
        }
        return connect(where, **look, local_addr=(self.host, 0))

    async def _session(self, until: float) -> None:
        async with self._connected() as line:
            await self._act(line, "open", self._rerun())
            while time.monotonic() < until:
                await asyncio.sleep(self.random.expovariate(1 / self.pause))
                await self._step(line)

    async def _step(self, line: ClientConnection) -> None:
        """Another page, another value, or a launch."""
        start = [
            name
            for name, (w, _) in self.widgets.items()
            if getattr(w, "label", "") == START and not w.disabled
        ]
        if start and self.random.random() < self.launches:
            state = WidgetState(id=start[0], trigger_value=True)
            await self._act(line, "launch", self._rerun(state))
            return
        moved = self._moved() if self.random.random() < 0.6 else None
        if moved is None:
            self.states, self.query = {}, ""
            self.page = self.random.choice(list(self.pages))
            await self._act(line, f"page {self.pages[self.page]}", self._rerun())
        else:
            state, fragment = moved
            self.states[state.id] = state
            what = "slide" if state.HasField("double_array_value") else "choose"
            label = self.widgets[state.id][0].label
            await self._act(line, f"{what} {label}", self._rerun(fragment=fragment))

    def _moved(self) -> tuple[WidgetState, str] | None:
        """A new value of a slider, or of a box to choose from."""
        movable = [(w, f) for w, f in self.widgets.values() if _movable(w)]
        if not movable:
            return None
        widget, fragment = self.random.choice(movable)
        state = WidgetState(id=widget.id)
        if widget.DESCRIPTOR.name == "Slider":
            steps = max(1, round((widget.max - widget.min) / (widget.step or 1)))
            at = sorted(self.random.randrange(steps + 1) for _ in widget.default)
            state.double_array_value.data[:] = [widget.min + i * (widget.step or 1) for i in at]
        else:
            state.string_value = self.random.choice(list(widget.options)[:8])
        return state, fragment

    def _rerun(self, press: WidgetState | None = None, fragment: str = "") -> BackMsg:
        message = BackMsg()
        ask = message.rerun_script
        ask.page_script_hash, ask.query_string, ask.fragment_id = self.page, self.query, fragment
        ask.widget_states.widgets.extend([*self.states.values(), *([press] if press else [])])
        return message

    async def _act(self, line: ClientConnection, what: str, message: BackMsg) -> None:
        began = time.monotonic()
        await line.send(message.SerializeToString())
        if message.rerun_script.fragment_id == "":
            self.widgets = {}
        async with asyncio.timeout(self.patience):
            while not self._take(ForwardMsg.FromString(bytes(await line.recv(decode=False)))):
                pass
        self.result.add(what, time.monotonic() - began)

    def _take(self, message: ForwardMsg) -> bool:
        """Note what a message says; True where the script is done."""
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self.page = message.new_session.page_script_hash
        elif kind == "navigation":
            self.pages = {page.page_script_hash: page.page_name for page in message.navigation.app_pages}
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._element(message.delta)
        if kind == "new_session" and not self.pages:
            self.pages = {page.page_script_hash: page.page_name for page in message.new_session.app_pages}
        if kind == "script_finished":
            if message.script_finished not in (ForwardMsg.FINISHED_SUCCESSFULLY, *_PARTLY):
                self.result.errors[ForwardMsg.ScriptFinishedStatus.Name(message.script_finished)] += 1
            return message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN
        return False

    def _element(self, delta: Any) -> None:
        element = delta.new_element
        what = element.WhichOneof("type")
        if what == "exception":
            self.result.errors[f"exception: {element.exception.type}"] += 1
        elif what == "alert" and element.alert.format == element.alert.ERROR:
            known = "internal error" not in element.alert.body
            (self.result.sentences if known else self.result.errors)[element.alert.body[:100]] += 1
        elif what in ("slider", "selectbox", "button"):
            widget = getattr(element, what)
            self.widgets[widget.id] = (widget, delta.fragment_id)


_PARTLY = (ForwardMsg.FINISHED_EARLY_FOR_RERUN, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)


def _movable(widget: Any) -> bool:
    if widget.disabled:
        return False
    if widget.DESCRIPTOR.name == "Slider":
        return widget.max > widget.min and not widget.options
    return widget.DESCRIPTOR.name == "Selectbox" and len(widget.options) > 1


# --- the measurement


async def _all(
    args: argparse.Namespace, address: str, process: psutil.Process
) -> tuple[Result, list[Memory]]:
    first = Result()
    await Visitor(-1, address, first, args.pause, 0.0).tour()
    result, memory = Result(errors=first.errors, cold=first.cold), []
    until = time.monotonic() + 60 * args.minutes
    visitors = [Visitor(i, address, result, args.pause, args.launches) for i in range(args.visitors)]
    jobs = [asyncio.create_task(visitor.visit(until)) for visitor in visitors]
    strangers = [Hostile(i, address, result.answers) for i in range(args.hostile)]
    attacks = [asyncio.create_task(stranger.attack(until)) for stranger in strangers]
    while time.monotonic() < until:
        memory.append(_memory(process))
        await asyncio.sleep(min(5.0, 6 * args.minutes))
    for attack in attacks:
        attack.cancel()
    await asyncio.gather(*attacks, return_exceptions=True)
    _, late = await asyncio.wait(jobs, timeout=PATIENCE)
    for job in late:
        job.cancel()
        result.errors["never came back"] += 1
    memory.append(_memory(process))
    return result, memory


class Memory(NamedTuple):
    """MB of the server, and of it with the processes of all runs; of what they share each has its part."""

    server: float
    whole: float


def _memory(process: psutil.Process) -> Memory:
    whole = 0.0
    for one in process.children(recursive=True):
        with suppress(psutil.Error):  # it has ended meanwhile
            whole += one.memory_full_info().pss / 2**20
    own = process.memory_full_info().pss / 2**20
    return Memory(own, own + whole)


def summary(
    args: argparse.Namespace, result: Result, memory: list[Memory], runs: list[Any]
) -> dict[str, Any]:
    """The figures, rounded."""
    row: dict[str, Any] = {"visitors": args.visitors, "minutes": args.minutes, "pause_s": args.pause}
    row["hostile"] = args.hostile
    row["first_visit_s"] = result.cold
    seconds = dict(sorted(result.seconds.items()))
    for kind in ("choose", "slide", "page"):
        every = [s for what, found in seconds.items() if what.startswith(f"{kind} ") for s in found]
        seconds = {kind: every, **seconds}
    for what, found in seconds.items():
        if not found:
            continue
        ordered = sorted(found)
        p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
        row[what] = {"n": len(found), "p50_s": round(statistics.median(found), 3), "p95_s": round(p95, 3)}
        row[what]["max_s"] = round(ordered[-1], 3)
    row |= {
        f"{name}_mb": _course(values)
        for name, values in zip(Memory._fields, zip(*memory, strict=True), strict=True)
    }
    waits = sorted(run.started - run.created for run in runs if run.started)
    row["runs"] = {"launched": len(runs), "by_status": dict(Counter(run.status for run in runs))}
    row["runs"]["why"] = dict(Counter(run.error for run in runs if run.error))
    if waits:
        row["runs"] |= {
            "addresses": len({run.address for run in runs}),
            "longest_wait_s": round(waits[-1], 1),
        }
        row["runs"]["overtaken"] = overtaken(runs)
    row["answers"] = dict(sorted(result.answers.items()))
    return {**row, "errors": dict(result.errors), "sentences": dict(result.sentences)}


def _course(values: Sequence[float]) -> dict[str, Any]:
    return {
        "start": round(values[0]),
        "half": round(values[len(values) // 2]),
        "end": round(values[-1]),
        "max": round(max(values)),
        "by_tenth": [round(max(part)) for part in np.array_split(values, 10) if len(part)],
    }


def overtaken(runs: list[Any]) -> int:
    """Pairs of addresses with one run each of which the later one began first; 0 where the queue is fair."""
    held = Counter(run.address for run in runs)
    once = sorted((run for run in runs if held[run.address] == 1), key=lambda run: run.created)
    starts = [run.started or float("inf") for run in once]
    return sum(later < first for i, first in enumerate(starts) for later in starts[i + 1 :])


def _busy() -> float:
    """Processor seconds that this machine has worked so far, whoever for."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system)


def main() -> int:
    """Measure; 1 where a visitor saw an error."""
    from core.runs.store import RunStore

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visitors", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument(
        "--pause", type=float, default=8.0, help="seconds between two acts of a visitor, on average"
    )
    parser.add_argument(
        "--launches", type=float, default=0.05, help="share of acts on its page that start a run"
    )
    parser.add_argument("--hostile", type=int, default=0, help="strangers who take what they can get")
    parser.add_argument("--port", type=int, default=0)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # server and runs end with it
    with server(args.port) as (address, process, home):
        before, ours = _busy(), sum(process.cpu_times()[:2])
        result, memory = asyncio.run(_all(args, address, process))
        whole, ours = _busy() - before, sum(process.cpu_times()[:2]) - ours
        row = summary(args, result, memory, RunStore(home / "runs").list())
        log = (home / "server.log").read_text(errors="replace")
        row["cpu_s"] = {
            "server": round(ours),
            "visitors": round(time.process_time()),
            "machine": round(whole),
        }
        row["tracebacks_in_log"] = log.count("Traceback (most recent call last)")
        row["raised"] = dict(Counter(_RAISED.findall(log)))
        for begin in ("a page failed", "Traceback (most"):  # of our own pages first
            if begin in log:
                print(log[log.index(begin) :][:8000], file=sys.stderr)
    print(json.dumps(row, ensure_ascii=False))
    return int(bool(result.errors))


if __name__ == "__main__":
    sys.exit(main())
