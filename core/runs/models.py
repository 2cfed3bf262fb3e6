"""The adapted model as something to take away: its card, a folder or zip of it, and the hub where that is asked for."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.base import files
from core.base.errors import InputError

if TYPE_CHECKING:
    from core.runs.store import RunStore

_METHODS = {"ttm": "test-time matching", "simplematch": "SimpleMatch"}
# A zip's files carry no time of writing: the same model, the same bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def adapted_model(store: RunStore, run_id: str) -> Path:
    """The folder of a run's final model, its checksums verified; InputError where the run has none (yet)."""
    run, folder = store.get(run_id), store.folder(run_id) / "model"
    if run.status != "finished":
        what = "wait for its end" if run.live else "resume it to its end"
        raise InputError(f"Run {run_id} is {run.status} and has no final model yet; {what}.")
    files.unseal(folder)
    return folder


def run_model(run_id: str, config: Mapping[str, Any]) -> str:
    """What a run's model is picked as: `run/ID`, or `itc:run/ID` where that kind of score was named and adapted.

    A folder with a matching head loads as that head, whichever of its scores was trained.
    """
    kind, colon, _ = str(config.get("model", "")).partition(":")
    return f"{kind}:run/{run_id}" if colon and kind in ("itc", "itm") else f"run/{run_id}"


def run_source(name: str) -> str:
    """The folder of a finished run's model, for `run/ID` or `itc:run/ID`, with that prefix; any other name as it is.

    Its checksums are not verified: scoring asks for it again and again.
    """
    prefix, found, run_id = name.rpartition("run/")
    if not found or (prefix and not prefix.endswith(":")):
        return name
    from core.runs.store import RunStore

    folder = RunStore().folder(run_id) / "model"
    if not folder.is_dir():
        raise InputError(f"There is no finished {name}; choose another model.")
    return f"{prefix}{folder}"


def origin(name: str) -> str:
    """The model that a run's model (`run/ID`) was adapted from, run by run; any other name as it is, also of no run."""
    from core.runs.store import RunStore

    seen: set[str] = set()
    while (run_id := name.rpartition("run/")[2]) != name and name not in seen:
        seen.add(name)
        try:
            name = str(RunStore().get(run_id).config.get("model") or name)
        except InputError:  # the run is gone, its model may have been moved
            break
    return name


def export_model(store: RunStore, run_id: str, out: Path) -> Path:
    """Write a run's final model to `out`, a new folder, or a file where it ends in `.zip`; returns it.

    The folder is the model in its own format with card and manifest, and loads as a scorer (`load_scorer(out)`).
    Raises InputError for a run without a final model, and where something is at `out` already.
    """
    model = adapted_model(store, run_id)
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise InputError(f"{out} exists already; choose another place, nothing is overwritten.")
    with files.storage(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        aside = out.with_name(f".{out.name}.{os.getpid()}")
        try:
            if out.suffix == ".zip":
                _zip(model, aside, out.stem)
                files.rename(aside, out)
            else:
                shutil.copytree(model, aside)
                files.settle(aside)
                files.publish(aside, out)
        finally:
            aside.unlink() if aside.is_file() else shutil.rmtree(aside, ignore_errors=True)
    return out


def _zip(folder: Path, target: Path, top: str) -> None:
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            entry = zipfile.ZipInfo(f"{top}/{path.relative_to(folder).as_posix()}", _EPOCH)
            entry.external_attr = 0o644 << 16
            # Weights do not compress; the rest is small.
            with path.open("rb") as source, archive.open(entry, "w", force_zip64=True) as sink:
                shutil.copyfileobj(source, sink, 1 << 20)


def push_model(folder: Path, repository: str, token: str | None, private: bool = True) -> str:
    """Upload a model folder to a repository of the Hugging Face hub, made if need be; returns its address.

    Happens on explicit request alone, with the user's own token, which is stored nowhere. Raises InputError, in one
    sentence, without a token, offline, and for whatever the hub refuses.
    """
    if not token:
        raise InputError(
            "Pushing a model needs your token of the Hugging Face hub with the right to write; set HF_TOKEN."
        )
    from huggingface_hub import HfApi, constants, errors

    if constants.HF_HUB_OFFLINE:
        raise InputError("Nothing can be pushed while HF_HUB_OFFLINE is set; unset it and try again.")
    api = HfApi(token=token)
    try:
        address = api.create_repo(repository, private=private, exist_ok=True)
        api.upload_folder(
            folder_path=folder, repo_id=repository, commit_message="Model adapted with Crossmatch"
        )
    except errors.HFValidationError:
        raise InputError(
            f"{repository!r} is no name of a hub repository; write USER/NAME, such as ada/clip-adapted."
        ) from None
    except errors.HfHubHTTPError as error:
        status = getattr(error.response, "status_code", "no answer")
        raise InputError(
            f"The Hugging Face hub refused the upload to {repository!r} ({status}); check the name, and that the "
            "token may write there."
        ) from None
    except Exception as error:  # every HTTP library has its own family of network errors
        raise InputError(
            f"The Hugging Face hub cannot be reached ({type(error).__name__}); nothing was pushed, try again later."
        ) from None
    return str(address)


# ---- the card


def public(config: Mapping[str, Any]) -> dict[str, Any]:
    """A run's description as it may be published: of paths on this machine only the last part is left."""
    shown = dict(config)
    for name in ("model", "embeddings"):
        if shown.get(name) and Path(shown[name]).is_absolute():
            shown[name] = Path(shown[name]).name
    return shown


def card(config: Mapping[str, Any], steps: Sequence[Mapping[str, Any]], library: str = "crossmatch") -> str:
    """A model card in the hub's format: what was adapted to what, how, and what it measured before and after.

    steps : records of all iterations, from 0 on. library : what loads the folder by itself.
    """
    shown, first, last = public(config), steps[0], steps[-1]
    kind = next((kind for kind in _METHODS if kind in config), "ttm")
    oracle = "\n\n**Oracle run: it was trained with knowledge of the truth.**" if config.get("oracle") else ""
    settings = json.dumps(shown, indent=1, ensure_ascii=False)
    return f"""{_front_matter(config, library)}
# {shown["model"]} adapted to {shown["benchmark"]} by {_METHODS[kind]}{oracle}

- base model: `{shown["model"]}`
- groups: {last["n_groups"]} of {last["shape"]} from `{shown["benchmark"]}`, split `{config.get("split") or "test"}`
- {"iterations" if kind == "ttm" else "rounds"}: {last["iteration"]}; the last one is the result
- no label was used{", but for the oracle's selection" if config.get("oracle") else ""}

{_results(first, last)}

```json
{settings}
```
"""


def _front_matter(config: Mapping[str, Any], library: str) -> str:
    lines = ["---", f"library_name: {library}", "pipeline_tag: zero-shot-image-classification"]
    model = str(config["model"])
    if model.count("/") == 1 and not model.startswith(("builtin/", "/", ".")) and ":" not in model:
        lines.append(f"base_model: {model}")
    return "\n".join([*lines, "tags: [crossmatch, test-time-matching]", "---"])


def _results(first: Mapping[str, Any], last: Mapping[str, Any]) -> str:
    """Tables of metrics before and after; of a transfer check one for each part."""
    interval = "percent, with 95 % bootstrap intervals over groups."
    if "parts" not in last:
        text = f"The model was adapted to the very groups it is measured on; {interval}"
        return f"{text}\n\n{_table(first['metrics'], last['metrics'])}"
    told = {"adapted": "groups it was adapted to", "untouched": "groups it never trained on"}
    return "\n\n".join(
        f"On the {last['parts'][name]['n_groups']} {what}; {interval}\n\n"
        + _table(first["parts"][name]["metrics"], last["parts"][name]["metrics"])
        for name, what in told.items()
    )


def _table(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    rows = ["| metric | before | after | chance | ties after |", "| --- | --- | --- | --- | --- |"]
    for name, now in after.items():
        cells = [f"{e['value']:.2f} [{e['low']:.2f}, {e['high']:.2f}]" for e in (before[name], now)]
        ties = "–" if now["ties"] is None else now["ties"]
        rows.append(f"| {name} | {cells[0]} | {cells[1]} | {now['chance']:.2f} | {ties} |")
    return "\n".join(rows)
