"""Processes that outlive whoever started them: start one, tell whether it still lives, end it."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import psutil

NoSuchProcess = psutil.NoSuchProcess

# What `import` finds this package in: the checkout, or where the wheel was installed, one package further up.
_ROOT = Path(__file__).resolve().parents[__name__.count(".")]
_LINUX = (
    lambda: Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
    lambda: os.readlink("/proc/self/ns/pid"),
)


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # glibc, malloc.h


class ProcessIdentity(NamedTuple):
    """A process, told apart from any later one that gets the same number."""

    pid: int
    created: float  # seconds since the epoch, as psutil tells it
    host: str  # where the number means something, see `_boot_id`

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity:
        """The identity of a running process; psutil.NoSuchProcess if there is none."""
        return cls(pid, psutil.Process(pid).create_time(), _boot_id())

    def is_alive(self) -> bool | None:
        """Whether a process still runs; None where that cannot be seen from here (another container).

        A zombie is dead: its number is taken until its parent looks, but it will never do anything again.
        """
        boot, _, namespace = self.host.partition("/")
        my_boot, _, my_namespace = _boot_id().partition("/")
        if boot != my_boot:
            return False
        if namespace != my_namespace:
            return None
        try:
            found = psutil.Process(self.pid)
            # psutil derives the time from the boot time, which moves by a little when the clock is adjusted.
            return found.status() != psutil.STATUS_ZOMBIE and abs(found.create_time() - self.created) < 1
        except psutil.NoSuchProcess:
            return False
        except psutil.AccessDenied:
            return True

    def kill_tree(self, patience: float = 5.0) -> None:
        """Kill a process and its children, if it is still that process, and wait until they are gone."""
        if self.pid == os.getpid() or not self.is_alive():  # a job may run in our own process: never end that
            return
        with suppress(psutil.Error):
            found = psutil.Process(self.pid)
            family = [found, *found.children(recursive=True)]
            for member in family:
                with suppress(psutil.Error):
                    member.kill()
            psutil.wait_procs(family, timeout=patience)

    def terminate(self) -> None:
        """Ask a process to end (SIGTERM), where the platform has a polite way of asking."""
        if os.name == "posix" and self.is_alive():
            with suppress(psutil.Error):
                psutil.Process(self.pid).terminate()


@cache
def _boot_id() -> str:
    """`boot/namespace`: this boot of this machine, and the container whose process numbers these are."""
    parts = []
    for read in _LINUX:
        try:
            parts.append(read())
        except OSError:  # another system: there the time of creation has to do
            parts.append("")
    return "/".join(parts)


def start_module(module: str, arguments: Sequence[str], log: Path) -> ProcessIdentity:
    """Run `python -m module` in a session of its own, output appended to `log`.

    It survives the death of its starter, of the terminal and of the web server. It is a plain child all the same,
    and a thread here waits for it: double forking would hand it to process 1, which in a container is often the web
    server itself and collects nobody.
    """
    with open(log, "ab", opener=lambda path, flags: os.open(path, flags, 0o600)) as output:
        process = _start(module, arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    # Nobody waits for it yet: even if it has died, its number is still its own.
    identity = ProcessIdentity.of(process.pid)
    collect(process)
    return identity


def start_waiting(module: str, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    """The same with a pipe to its standard input, which closes when we end; `collect` it once it has what it waits for.

    Until it opens a log of its own, errors go to ours.
    """
    return _start(module, arguments, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=None)


def collect(process: subprocess.Popen[bytes]) -> None:
    """Have a thread wait for the end of a child, so that it leaves no zombie."""
    threading.Thread(target=process.wait, name=f"wait-{process.pid}", daemon=True).start()


def _start(module: str, arguments: Sequence[str], **streams: Any) -> subprocess.Popen[bytes]:
    command, environment = module_command(module, arguments)
    return subprocess.Popen(command, **streams, start_new_session=True, env=environment)


def module_command(module: str, arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Command and environment for `python -m module` of this very `core`, from any working directory.

    The environment is ours, without progress bars in the log.
    """
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "TQDM_DISABLE": "1"}
    if "OMP_WAIT_POLICY" not in environment:
        # Where the app wants a core too, threads that spin for each other take it from the very one they wait for.
        # Sleeping sooner: 1.3 times as fast beside one busy process, 3 % slower alone (benchmarks/LOG.md).
        environment.setdefault("GOMP_SPINCOUNT", "5000")
    if _ROOT.name not in (
        "site-packages",
        "dist-packages",
    ):  # those are searched behind the standard library anyway
        inherited = os.environ.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([str(_ROOT), *([inherited] if inherited else [])])
    return [sys.executable, "-P", "-m", module, *arguments], environment  # -P: no other `core` that lies here


def limit_malloc(arenas: int) -> Callable[[], None]:
    """Have the C library hold little of what is free, where it is glibc; nothing happens elsewhere.

    By default glibc gives a thread a heap of its own, up to eight for each core, and puts arrays of up to 32 MB into
    them once one of that size has been freed; a server of many visitors, who are threads, then holds about a quarter
    more. Here all threads share `arenas` heaps, and arrays from 256 KiB lie outside and return. To be called before
    threads begin. Returns what gives back the memory that is free in the middle of the heaps, to be called at times.
    """
    with suppress(AttributeError, OSError):
        library = ctypes.CDLL(None)
        for parameter, value in (
            (_M_ARENA_MAX, arenas),
            (_M_MMAP_THRESHOLD, 256 << 10),
            (_M_TRIM_THRESHOLD, 128 << 10),
        ):
            library.mallopt(parameter, value)
        return partial(library.malloc_trim, 0)
    return lambda: None
