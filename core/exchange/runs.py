"""A whole run as a folder or zip that another machine opens: description, iterations, arrays, final model.

Layout: `run.json` (what it was), `steps.jsonl` (one record per iteration), `steps/0000.npz` ... (scores, selections,
matchings), `model/` where the run has a final one, `cost.csv` where it was measured what that costs on other sets, and
a manifest of checksums. Of paths on this machine only the last part goes along. Nothing that comes in is run; what its
manifest does not vouch for is not looked at.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from core.base import files
from core.base.errors import InputError
from core.base.paths import is_file, is_folder
from core.base.text import counted
from core.datasets.downloads import unpack
from core.exchange._packing import packed
from core.runs.cost_file import _COST_FILE, _read_cost
from core.runs.models import public
from core.ttm.seeds import _GROUP, _new_group, group_runs, seed_of

if TYPE_CHECKING:
    from core.runs.store import Run, RunStore

_FORMAT = 1
_MOST_BYTES, _MOST_FILES = 8 << 30, 10_000
_STATUS = ("finished", "stopped", "failed", "interrupted")
_LARGEST = 1e12  # seconds since the epoch, or iterations
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)  # what a zip raises
_ARRAYS = re.compile(r"[0-9]{4}\.npz")


def export_run(store: RunStore, run_id: str, out: Path, model: bool = True) -> Path:
    """Write a run that is over to `out`, a new folder, or a file where it ends in .zip; returns it.

    model : False leaves the adapted model out. Raises InputError for a run that still works, and where something is at
    `out` already.
    """
    run = store.get(run_id)
    if run.live:
        raise InputError(f"Run {run_id} is {run.status}; wait until it finishes, or stop it.")
    with packed(out) as folder:
        _write_archive(store, run, folder, model)
        files.write_manifest(folder, kind="crossmatch run", format=_FORMAT)
    return out


def _archive_name(run: Run, of_seeds: bool) -> str:
    """What the archive of a run is called: `seed-0-crossmatch-run-….zip`, the seed where it is one of several."""
    return f"{f'seed-{seed_of(run)}-' * of_seeds}crossmatch-run-{run.id}.zip"


def _export_together(store: RunStore, names: Mapping[str, str], out: Path, model: bool = True) -> Path:
    """Write the archives of several runs to `out`, a new folder, or one file where it ends in .zip; returns it.

    names : of each archive, and the run that it is of. Raises InputError as `export_run`, and leaves nothing then.
    """
    with packed(out) as folder:
        for name, run_id in names.items():
            export_run(store, run_id, folder / name, model)
    return out


def _export_group(store: RunStore, group: str, out: Path, model: bool = True) -> Path:
    """The same of the seeds of a group (`g-...`)."""
    runs = group_runs(store, group)
    if live := [run.id for run in runs if run.live]:
        raise InputError(
            f"{counted(len(live), 'seed')} of {group} {'has' if len(live) == 1 else 'have'} not ended ({live[0]}); "
            f"wait, or stop them with `crossmatch runs stop {group}`."
        )
    return _export_together(store, {_archive_name(run, True): run.id for run in runs}, out, model)


def _archives_within(whole: zipfile.ZipFile, size: int) -> list[zipfile.ZipInfo]:
    """The archives of several runs that were exported together; [] of a file that is none of these.

    What was packed already hardly shrinks: a file whose archives would fill far more than itself is refused as an
    archive of one run. size : of the file, in bytes.
    """
    inside = whole.infolist()
    are_archives = bool(inside) and all(each.filename.endswith(".zip") for each in inside)
    return inside if are_archives and sum(each.file_size for each in inside) <= 2 * size else []


class _Brought(NamedTuple):
    """The run of an archive: a new one, or the one that was here already, with the same content."""

    run: Run
    is_new: bool


def _import_runs(store: RunStore, source: Path) -> list[_Brought]:
    """The run of a folder or zip, or those of several that were exported together: all, or none where one of them is
    damaged."""
    with tempfile.TemporaryDirectory(prefix="crossmatch-") as place:
        archives = _archives_at(source, Path(place))
        found: list[_Brought] = []
        groups: dict[str, str] = {}
        try:
            for each in archives or [source]:
                found.append(_import_once(store, each, groups))
        except BaseException:
            for brought in found:
                if brought.is_new:
                    store.delete(brought.run.id)
            raise
    return found


def _import_once(store: RunStore, source: Path, groups: dict[str, str]) -> _Brought:
    """The run of one archive, where it is not here already; no second one is made then.

    groups : of the archives that are imported together the groups, by what each was called where it was exported; what
    they are called here is added.
    """
    with tempfile.TemporaryDirectory(prefix="crossmatch-") as place:
        folder = _opened(source, Path(place))
        record, steps = _read(folder)
        if (here := _already_here(store, folder, record, steps)) is not None:
            return _Brought(here, False)
        return _Brought(_created(store, folder, record, steps, groups), True)


def _already_here(
    store: RunStore, folder: Path, record: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]
) -> Run | None:
    """The run with the same settings, iterations and scores, whatever it is called and whichever group it is in; not
    one that lacks the model that the archive has."""
    arrays = {
        name: found
        for name, found in files.verify_manifest(folder)["files"].items()
        if name.startswith("steps/")
    }
    for run in store.list(record["kind"]):
        if _content(run.config) != _content(record["config"]) or store.steps(run.id) != steps:
            continue
        own = store.folder(run.id)
        if (folder / "model").is_dir() and not (own / "model").is_dir():
            continue
        with suppress(OSError):
            if all(files.checksum(own / name) == found for name, found in arrays.items()):
                return run
    return None


def _content(config: Mapping[str, Any]) -> dict[str, Any]:
    """What a run computed, as any machine writes it: without paths and without its group."""
    return {name: value for name, value in public(config).items() if name != "group"}


def _place_in_group(store: RunStore, record: Mapping[str, Any], groups: dict[str, str]) -> dict[str, Any]:
    """The settings of a new run with a group that nobody here belongs to, the same for all that come in together.

    Seeds that were added to a single run are in a group that is named for that run, which itself names none.
    """
    config = dict(record["config"])
    if asked := config.get("group"):
        if asked not in groups:
            here = {name for run in store.list() for name in (run.config.get("group"), f"{_GROUP}{run.id}")}
            groups[asked] = _new_group() if asked in here else asked
        config["group"] = groups[asked]
    elif f"{_GROUP}{record.get('id')}" in groups:
        config["group"] = groups[f"{_GROUP}{record['id']}"]
    return config


def _archives_at(source: Path, place: Path) -> list[Path]:
    """The archives of several runs in a folder or zip; [] of what is the run itself. place : where to unpack them."""
    if is_folder(source):
        return [] if (source / files.MANIFEST).exists() else sorted(source.glob("*crossmatch-run-*.zip"))
    if not is_file(source) or not zipfile.is_zipfile(source):
        return []
    with (
        suppress(*_DAMAGED),
        zipfile.ZipFile(source) as whole,
    ):
        found = []
        for i, each in enumerate(_archives_within(whole, source.stat().st_size)):
            found.append(place / f"{i}-{PurePosixPath(each.filename).name}")
            with whole.open(each) as packed_run, found[-1].open("wb") as target:
                shutil.copyfileobj(packed_run, target, 1 << 20)
        return found
    return []


def _write_archive(store: RunStore, run: Run, folder: Path, model: bool) -> None:
    (folder / "steps").mkdir()
    steps = store.steps(run.id)
    for step in steps:
        source = store.arrays_path(run.id, step["iteration"])
        if source.is_file():
            shutil.copyfile(source, folder / "steps" / source.name)
    lines = (json.dumps(step, allow_nan=False) + "\n" for step in steps)
    (folder / "steps.jsonl").write_text("".join(lines), encoding="utf-8", newline="\n")
    kept = ("id", "kind", "title", "status", "created", "started", "ended", "total", "error")
    record = {name: value for name, value in run.record().items() if name in kept}
    files.write_json(folder / "run.json", {**record, "config": public(run.config)})
    final = store.folder(run.id) / "model"
    if model and run.status == "finished" and final.is_dir():
        shutil.copytree(final, folder / "model")
    if (cost := store.folder(run.id) / _COST_FILE).is_file():
        shutil.copyfile(cost, folder / _COST_FILE)


def import_run(store: RunStore, source: Path, run_id: str | None = None) -> Run:
    """A run from a folder or zip that `export_run` wrote, under a new id, or this one; its numbers and date are the
    same.

    Raises InputError for what is damaged, of another kind or a later format, and leaves nothing behind then.
    """
    with tempfile.TemporaryDirectory(prefix="crossmatch-") as place:
        folder = _opened(source, Path(place))
        return _created(store, folder, *_read(folder), {}, run_id)


def _created(
    store: RunStore,
    folder: Path,
    record: dict[str, Any],
    steps: list[dict[str, Any]],
    groups: dict[str, str],
    run_id: str | None = None,
) -> Run:
    """A new run of what was brought; nothing is left behind where that fails. groups : as of `_import_once`."""
    config = _place_in_group(store, record, groups)
    run = store.create(record["kind"], record["title"], config, run_id=run_id, created=record.get("created"))
    try:
        _install_run(store, run.id, folder, record, steps)
    except BaseException:
        store.delete(run.id)
        raise
    if not config.get("group"):  # seeds that were added to it name it
        groups[f"{_GROUP}{record.get('id')}"] = f"{_GROUP}{run.id}"
    return store.get(run.id)


def _opened(source: Path, place: Path) -> Path:
    """The folder of a run: `source` itself, or what its zip holds."""
    if is_folder(source):
        return source
    if not is_file(source):
        raise InputError(f"{source} does not exist; check the path.")
    if not zipfile.is_zipfile(source):
        raise InputError(f"{source} is not a zip; give the folder or zip that `crossmatch export run` wrote.")
    unpack(source, place / "run", _MOST_BYTES, _MOST_FILES)
    found = sorted((place / "run").rglob(files.MANIFEST), key=lambda path: len(path.parts))
    if not found:
        raise InputError(f"{source} holds no run; give the folder or zip that `crossmatch export run` wrote.")
    return found[0].parent


def _read(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What the run was, and its iterations, checked."""
    manifest = files.verify_manifest(folder)
    if manifest.get("kind") != "crossmatch run":
        raise InputError(
            f"{folder.name} is not a run; give the folder or zip that `crossmatch export run` wrote."
        )
    if manifest.get("format") != _FORMAT:
        raise InputError(
            f"{folder.name} was written by another version of Crossmatch; use that version or a newer one."
        )
    vouched = set(manifest["files"])
    if _COST_FILE in vouched:
        _read_cost(folder)
    try:
        if not {"run.json", "steps.jsonl"} <= vouched:
            raise ValueError("its manifest does not list run.json and steps.jsonl")
        record = json.loads((folder / "run.json").read_text("utf-8"))
        lines = (folder / "steps.jsonl").read_text("utf-8").splitlines()
        steps = [json.loads(line, parse_constant=_refuse) for line in lines if line.strip()]
        _check(record, steps)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{folder.name} is not a complete run ({error}); export it again.") from None
    return record, steps


def _check(record: dict[str, Any], steps: list[dict[str, Any]]) -> None:
    """ValueError and the like where a record is not what `export_run` writes."""
    config = record["config"]
    if not re.fullmatch(r"[a-z]{1,20}", record["kind"]) or not isinstance(config, dict):
        raise ValueError("its description is damaged")
    if any(not isinstance(config.get(key, ""), str) for key in ("model", "benchmark", "split", "device")):
        raise ValueError("the model or benchmark of its description is not a name")
    if not isinstance(config.get("group"), str | None):
        raise ValueError("the group of its description is not a name")
    if not isinstance(config.get(record["kind"], {}), dict):
        raise ValueError("its settings are invalid")
    if record["status"] not in _STATUS or not isinstance(record["title"], str) or not record["title"].strip():
        raise ValueError("its status or title is damaged")
    if not isinstance(record.get("error"), str | None):
        raise ValueError("its error is not a sentence")
    if [step["iteration"] for step in steps] != list(range(len(steps))):
        raise ValueError("its iterations are not 0, 1, 2, ...")
    for step in steps:
        if not all(isinstance(found, dict) for found in dict(step.get("metrics") or {}).values()):
            raise ValueError("its metrics are damaged")
    for name in ("created", "started", "ended", "total"):
        value = record.get(name)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (number and 0 <= value < _LARGEST):
            raise ValueError(f"{name!r} is not a valid number")


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _install_run(
    store: RunStore, run_id: str, folder: Path, record: dict[str, Any], steps: list[dict[str, Any]]
) -> None:
    """Fill a new run with what was brought."""
    target = store.folder(run_id)
    with files.storage_errors(target):
        for name in filter(
            _archive_members, [*files.verify_manifest(folder)["files"], f"model/{files.MANIFEST}"]
        ):
            source = folder / name
            if source.is_file() and not source.is_symlink():
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target / name)
        files.sync_tree(target)
    attempt = store.queue_up(run_id)
    total = int(record.get("total") or max(len(steps) - 1, 0))
    for step in steps:
        store.append_step(run_id, step, attempt, total=total, started=record.get("started"))
    store.conclude(run_id, attempt, record["status"], record.get("error"))


def _archive_members(name: str) -> bool:
    """Whether a file belongs to a run: arrays of an iteration, a part of its model, or its costs; no name that leads
    out."""
    parts = PurePosixPath(name).parts
    if ".." in parts or PurePosixPath(name).is_absolute() or set(name) & set("\\:\0"):
        return False
    return (
        (parts[0] == "steps" and len(parts) == 2 and bool(_ARRAYS.fullmatch(parts[1])))
        or (parts[0] == "model" and len(parts) > 1)
        or name == _COST_FILE
    )
