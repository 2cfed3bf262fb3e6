"""Public mode: what a visitor of an open server may do. One environment variable, `CROSSMATCH_PUBLIC=1`, turns it on.

Nothing in a page, an address or a request can turn it off: the variable is read from the process alone.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from core.base import paths
from core.base.errors import InputError

if TYPE_CHECKING:
    from core.runs.store import Run

UPLOAD_MB = 20  # one uploaded file
# The most that one run may ask for: groups to adapt on, iterations, SimpleMatch's rounds, epochs per iteration.
MAX_SETTINGS = {"groups": 300, "iterations": 10, "rounds": 30, "epochs": 20, "lora_rank": 64}
_SPLITS = ("test",)  # the one whose scores ship
_SHIFTED_SETS = (  # whose scores with shifted pictures ship, and by which models
    "scenes/attribute-swap",
    "scenes/left-right",
    "scenes/front-behind",
    "scenes/relations-1x4",
    "scenes/size-swap",
    "scenes/material-swap",
)
_SHIFTED_MODELS = ("builtin/clip", "builtin/siglip")
MAX_LIVE_RUNS = 4  # runs of one visitor that may wait or work at a time
MAX_LIVE_PER_ADDRESS = 8
MAX_QUEUED_RUNS = 12  # runs of all visitors together; one that waits is a process of 15 MB
MAX_FINISHED_RUNS = 12  # ended runs of one visitor; the oldest go first
MAX_FINISHED_PER_ADDRESS = 36
MAX_FINISHED_TOTAL = 600
GAVE_WAY = "It gave its place in the queue to a visitor with fewer runs; resume it later."
RUN_SECONDS = 900  # a run that has worked longer stops after its iteration


class _Bytes(NamedTuple):
    """The most that is held at a time: of a session, of an address, and of everybody together."""

    session: int
    address: int
    together: int


MAX_UPLOAD_BYTES = _Bytes(40 << 20, 80 << 20, 300 << 20)  # uploaded files, in memory and, likewise, on disk
MAX_UPLOADS_PER_ADDRESS = 100  # uploaded files on disk, however small; the oldest go first
MAX_UPLOADS_TOTAL = 1000
UPLOAD_HOURS = 6  # how long a file on disk stays that nobody uses
MAX_RUN_BYTES = _Bytes(200 << 20, 200 << 20, 1 << 30)  # ended runs
MAX_CACHE_BYTES = 256 << 20  # bytes of the score cache


def is_public() -> bool:
    """Whether this process serves the public. `1`, `true`, `yes` and `on` say so, whatever the case."""
    return os.environ.get("CROSSMATCH_PUBLIC", "").strip().lower() in {"1", "true", "yes", "on"}


def upload_megabytes(otherwise: int) -> int:
    """The largest upload, in MB."""
    return min(UPLOAD_MB, otherwise) if is_public() else otherwise


def check_model(name: str, allowed: Iterable[str]) -> str:
    """The name itself; in public mode only built-in models and the models of runs whose link one has.

    Raises InputError for any other: no visitor makes the server download or read what it was not set up with.
    """
    if is_public() and name not in set(allowed) and not name.rpartition(":")[2].startswith("run/"):
        raise _not_offered(f"model {name!r}", "one from the list")
    return name


def check_source(name: str) -> str:
    """A name for `load_scorer`, itself; in public mode only what ships with Crossmatch and what runs have made.

    Asked by whoever resolves a model's name, so that no way through the pages leads around it: not a hub's name, not a
    folder of this machine, no plug-in, no endpoint that is paid for with this server's key, and no options of a score.
    """
    kind, _, source = name.rpartition(":")
    elsewhere = {"open_clip", "python", "api", "mteb"} & set(kind.split(":"))
    if is_public() and (elsewhere or "?" in name or not _is_ours(source)):
        raise _not_offered(f"model {name!r}", "one from the list")
    return name


def _is_ours(source: str) -> bool:
    """Whether a model's name without its kind is a built-in name, or leads to a folder of ours."""
    if source.startswith("builtin/"):
        return True  # looked up among the built-in ones, never as a path
    try:
        folder = Path(source).resolve(strict=True)
        ours = [(paths.assets() / "models").resolve(), (paths.home() / "runs").resolve()]
    except (OSError, ValueError, RuntimeError):  # nothing there, or nothing that a disk could hold
        return False
    return any(root in folder.parents for root in ours)


def check_benchmark(name: str) -> str:
    """The name itself; in public mode only built-in sets, shifted ones only where scores of them ship.

    Raises InputError for any other.
    """
    if is_public() and not (name.startswith("scenes/") and ("~" not in name or may_be_shifted(name))):
        raise _not_offered(f"benchmark {name!r}", "a built-in set")
    return name


def may_be_shifted(name: str, model: str | None = None) -> bool:
    """Whether visitors may see `SET~SHIFT` (or any shift of `SET`), and let a model score it.

    In public mode where scores ship, or fifty visitors would wait for each other's models: of some sets in middle
    strength, by the two-tower models.
    """
    base, _, shift = name.removesuffix("@global").partition("~")
    known = base in _SHIFTED_SETS and "-" not in shift and (model is None or model in _SHIFTED_MODELS)
    return known or not is_public()


def _not_offered(what: str, instead: str) -> InputError:
    return InputError(
        f"The {what} is not available on this server; choose {instead}, or run Crossmatch yourself."
    )


def check_quota(
    runs: Sequence[Run], owner: str | None, job: Mapping[str, Any], address: str | None = None
) -> list[Run]:
    """Whether a visitor may start this run now; raises InputError, in one sentence, if not.

    runs : everybody's, newest first. job : the new run's settings, as `core.worker` reads them. Outside public mode
    everything is admitted. Where the queue is full, returns the run that leaves it: the oldest waiting one of the
    address with most runs, if that address has more than the new run's would have.
    """
    if not is_public():
        return []
    _check_job(job)
    live = [run for run in runs if run.live]
    if len([run for run in live if run.owner == owner]) >= MAX_LIVE_RUNS:
        raise InputError(
            f"You have {MAX_LIVE_RUNS} runs queued or running already; stop one, or wait until one finishes."
        )
    held, mine = Counter(map(_who, live)), address or owner
    if held[mine] >= MAX_LIVE_PER_ADDRESS:
        raise InputError(
            f"{MAX_LIVE_PER_ADDRESS} runs from your address are queued or running already; try again when one finishes."
        )
    return _give_way(live, held, held[mine] + 1) if len(live) >= MAX_QUEUED_RUNS else []


def _give_way(live: Sequence[Run], held: Counter[str | None], least: int) -> list[Run]:
    """The oldest run that waits, of whoever has most and more than `least`."""
    waiting = [run for run in reversed(live) if run.status == "queued" and held[_who(run)] > least]
    if not waiting:
        raise InputError(
            "The queue of this server is full; try again in a few minutes, or run Crossmatch yourself."
        )
    return [max(waiting, key=lambda run: held[_who(run)])]  # of several the first


def _who(run: Run) -> str | None:
    return run.address or run.owner


def _check_job(job: Mapping[str, Any]) -> None:
    """Raises InputError for a run that is not for visitors, or too large for them."""
    check_benchmark(str(job.get("benchmark", "")))
    check_source(str(job.get("model", "")))
    if job.get("split") not in (None, "", *_SPLITS):
        raise InputError(f"The split {job['split']!r} is not available on this server; choose {_SPLITS[0]}.")
    if job.get("device") not in (None, "auto"):  # every device has a queue of its own
        raise InputError("On this server every run uses the server's device; leave it at auto.")
    _check_size(job)


_PATH = re.compile(r"""(?<![\w/:.~%-])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\'"`()\[\]{}<>,;:]+[/\\])+""")


def shown(text: str) -> str:
    """A sentence as a visitor sees it: in public mode of a path only its last part, as no folder of the server is a
    stranger's business.
    """
    return _PATH.sub("", text) if is_public() else text


def _check_size(job: Mapping[str, Any]) -> None:
    """Raises InputError for a number above its limit, in the description itself or in the settings of its kind."""
    for settings in (job, *(value for value in job.values() if isinstance(value, Mapping))):
        for key, limit in MAX_SETTINGS.items():
            value = settings.get(key)
            if isinstance(value, int | float) and not value <= limit:
                raise InputError(
                    f"On this server a run may have at most {limit} {key}, this one has {value:g}; choose fewer."
                )


class Held(NamedTuple):
    """Something that takes room: what it is, whose, and how much."""

    key: Hashable
    who: str
    size: int


def beyond(items: Sequence[Held], each: float, together: float | None) -> list[Any]:
    """The keys of what has to be given up, the oldest first, until nobody has more than `each`, and all of them no more
    than `together` (None: any); for the latter whoever has most gives.

    items : the oldest first.
    """
    sizes: Counter[str] = Counter()
    for item in items:
        sizes[item.who] += item.size
    gone: dict[Hashable, None] = {}
    most = float("inf") if together is None else together

    def give(item: Held) -> None:
        gone[item.key] = None
        sizes[item.who] -= item.size

    for item in items:
        if sizes[item.who] > each:
            give(item)
    while sizes.total() > most:
        who = sizes.most_common(1)[0][0]
        give(next(item for item in items if item.who == who and item.key not in gone))
    return list(gone)


def runs_over_quota(runs: Sequence[Run], size: Callable[[Run], int]) -> list[str]:
    """The ids of visitors' ended runs that are to be deleted: the oldest beyond what a visitor, an address and all of
    them may keep. None outside public mode, and none that belongs to nobody.

    runs : newest first. size : bytes on disk.
    """
    if not is_public():
        return []
    ended = [run for run in reversed(runs) if run.owner is not None and not run.live]
    gone = set(beyond([Held(run.id, str(run.owner), 1) for run in ended], MAX_FINISHED_RUNS, None))
    for each, together, room in (
        (MAX_FINISHED_PER_ADDRESS, MAX_FINISHED_TOTAL, lambda run: 1),
        (MAX_RUN_BYTES.address, MAX_RUN_BYTES.together, size),
    ):
        items = [Held(run.id, str(_who(run)), room(run)) for run in ended if run.id not in gone]
        gone |= set(beyond(items, each, together))
    return [run.id for run in ended if run.id in gone]
