"""The final model of a run: where it lies, what it is picked as, and what it was adapted from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.base import files
from core.base.errors import InputError
from core.runs.store import RunStore

# The kinds of score that a name may begin with (`itc:NAME`) and whose models can be adapted.
ADAPTED_KINDS = ("itc", "itm", "vgpt", "vqa", "vqa-log", "st")


def adapted_model(store: RunStore, run_id: str) -> Path:
    """The folder of a run's final model, its checksums verified; InputError where the run has none (yet)."""
    run, folder = store.get(run_id), store.folder(run_id) / "model"
    if run.status != "finished":
        what = "wait until it finishes" if run.live else "resume it until it finishes"
        raise InputError(f"Run {run_id} is {run.status} and has no final model yet; {what}.")
    files.verify_manifest(folder)
    return folder


def of_same_kind(folder: str, model: str) -> str:
    """What a model's adapted weights, a folder or `run/ID`, are picked as: with the score that its name says.

    By themselves they load as their architecture's own kind, whichever was adapted.

    >>> of_same_kind("run/7", "itc:builtin/blip-itm"), of_same_kind("run/7", "builtin/blip-caption?prompt=see")
    ('itc:run/7', 'run/7?prompt=see')
    """
    name, mark, options = model.partition("?")
    kind, colon, _ = name.partition(":")
    return f"{f'{kind}:' if colon and kind in ADAPTED_KINDS else ''}{folder}{mark}{options}"


def run_source(name: str) -> str:
    """The folder of a finished run's model, for `run/ID` or `itc:run/ID`, with that prefix; any other name as it is.

    Its checksums are not verified: scoring asks for it again and again.
    """
    prefix, found, run_id = name.rpartition("run/")
    if not found or (prefix and not prefix.endswith(":")):
        return name
    folder = RunStore().folder(run_id) / "model"
    if not folder.is_dir():
        raise InputError(f"There is no finished {name}; choose another model.")
    return f"{prefix}{folder}"


def origin(name: str) -> str:
    """The model that a run's model (`run/ID`) was adapted from, run by run; any other name as it is, also of no run."""
    seen: set[str] = set()
    while (run_id := name.rpartition("run/")[2]) != name and name not in seen:
        seen.add(name)
        try:
            name = str(RunStore().get(run_id).config.get("model") or name)
        except InputError:  # the run is gone, its model may have been moved
            break
    return name


def public(config: Mapping[str, Any]) -> dict[str, Any]:
    """A run's description as it may be published: of paths on this machine only the last part is left."""
    shown = dict(config)
    for name in ("model", "embeddings"):
        if shown.get(name) and Path(shown[name]).is_absolute():
            shown[name] = Path(shown[name]).name
    return shown
