"""Where a model's files are: built in, in a folder, or in the Hugging Face hub's cache. Imports no torch."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from core.base import paths
from core.base.errors import InputError, unknown_name
from core.base.hub import hub_request
from core.scorers.devices import check_memory
from core.scorers.model_folder import OPEN_CLIP_FILES, TRANSFORMERS_FILES, has_weights, read_config

if TYPE_CHECKING:
    from huggingface_hub import ModelInfo

# Seconds to wait for the hub's first answer: a firewall that swallows packets must not look like a hang.
_TIMEOUT = 5


def builtin_models() -> dict[str, Path]:
    """The models in `assets/models`, by name, each with its folder; `builtin/clip` first, which pages open with."""
    configs = (paths.assets() / "models").glob("*/config.json")
    folders = sorted(configs, key=lambda config: (config.parent.name != "clip", config.parent.name))
    return {f"builtin/{config.parent.name}": config.parent for config in folders}


def _trained_strategies() -> dict[str, Path]:
    """What Cola's strategies made of a built-in model (`benchmarks.results.cola_rankings`), by name, each with its
    folder: `builtin/cola/mm-pred`. They need their base, and stand in no list of built-in models."""
    configs = sorted((paths.assets() / "models" / "cola").glob("*/config.json"))
    return {f"builtin/cola/{config.parent.name}": config.parent for config in configs}


def locate(name: str) -> Path:
    """The folder with a model's files.

    name : a built-in name (`builtin/clip`, `builtin/cola/mm-pred`), a folder, or a hub name
    (`openai/clip-vit-base-patch32`). A hub name that is in the hub's cache is used from there without a network call;
    otherwise it is downloaded.
    Raises InputError for an unknown built-in name, a missing folder, or a hub model that cannot be had.
    """
    if name.startswith("builtin/"):
        known = builtin_models() | _trained_strategies()
        if name not in known:
            raise unknown_name("built-in model", name, known)
        return known[name]
    if (
        f"builtin/{name}" in builtin_models() and not Path(name).exists()
    ):  # nobody's on the hub: those are USER/NAME
        raise unknown_name("model", name, [f"builtin/{name}"])
    try:
        folder = Path(name).expanduser()
        if folder.is_dir():
            return folder
        exists = folder.exists()
    except (OSError, ValueError, RuntimeError):  # too long, not even text, or the home of nobody
        raise InputError(
            f"{name!r} is neither a valid folder nor a valid hub name; check its spelling."
        ) from None
    if exists:
        raise InputError(
            f"{name} is a file; give the folder that holds the model's configuration and weights."
        )
    if name.startswith((".", "~", os.sep)) or name.count("/") > 1 or "\\" in name:
        raise InputError(f"There is no folder {name}; check the path to the model.")
    return _from_hub(name)


def _from_hub(name: str) -> Path:
    try:
        folder = snapshot(name, (*TRANSFORMERS_FILES, "open_clip_config.json"), "*.safetensors")
    except InputError as error:
        if "/" in name:
            raise
        raise _called_by_nobody(name, error) from None
    if has_weights(folder) or not (folder / "open_clip_config.json").is_file():
        return folder
    return snapshot(name, OPEN_CLIP_FILES, "open_clip_*.safetensors")


def _called_by_nobody(name: str, of_hub: InputError) -> InputError:
    """Of a name without a user, as few models of the hub have: rather one of the built-in models was meant. of_hub :
    why the hub was of no help, as it said it."""
    known = [*builtin_models(), *_trained_strategies()]
    hint = str(unknown_name("model", f"builtin/{name}", known)).partition("; ")[2]
    reason = str(of_hub).partition("; ")[0].partition(", or ")[0]
    return InputError(f"No model is called {name!r} here, and {reason.replace('The ', 'the ', 1)}; {hint}")


def snapshot(name: str, patterns: Sequence[str], need: str) -> Path:
    """The hub cache's folder for a repository, once the files that fit `patterns` are in it.

    need : pattern of a file without which the folder is no use; where it is there, the network is left alone.
    Raises InputError, in one sentence, where the repository is not on this disk and cannot be fetched, or holds a model
    that does not fit into memory.
    """
    from huggingface_hub import HfApi, errors, snapshot_download

    try:
        folder = Path(snapshot_download(name, allow_patterns=list(patterns), local_files_only=True))
        if any(folder.glob(need)):
            return folder
    except errors.LocalEntryNotFoundError:
        pass
    except errors.HFValidationError:
        raise InputError(
            f"{name!r} is neither an existing folder nor a valid hub name; check its spelling."
        ) from None
    with hub_request(name, f"choose a listed model: none on this machine is called {name!r}"):
        _check_fits(name, HfApi().model_info(name, timeout=_TIMEOUT, files_metadata=True), patterns)
        return Path(snapshot_download(name, allow_patterns=list(patterns)))


def _check_fits(name: str, info: ModelInfo, patterns: Sequence[str]) -> None:
    """Raise InputError where the files that fit `patterns` are too much for this memory or this disk.

    The device that was asked for is checked when the model loads.
    """
    from huggingface_hub.constants import HF_HUB_CACHE

    files = [f for f in info.siblings or () if any(fnmatch(f.rfilename, pattern) for pattern in patterns)]
    sizes = {file.rfilename: file.size or 0 for file in files}
    weights = sum(size for file, size in sizes.items() if file.endswith(".safetensors"))
    if info.safetensors is not None and (weights or not any(sizes.values())):
        check_memory(name, dict(info.safetensors.parameters), "any")
    else:  # the hub does not say of which type the numbers are: they take at least as much as the files
        check_memory(name, {"F32": weights // 4}, "any")
    total, free = sum(sizes.values()), _free_disk(Path(HF_HUB_CACHE))
    if total > free:
        raise InputError(
            f"The model {name} takes {total / 1e9:.1f} GB on the disk and {free / 1e9:.1f} GB are free in "
            f"{HF_HUB_CACHE}; make room, or set HF_HOME to a folder on another disk."
        )


def _free_disk(folder: Path) -> int:
    """Bytes; of the disk that a folder is or will be on."""
    return shutil.disk_usage(next(place for place in (folder, *folder.parents) if place.is_dir())).free


def family(folder: Path, known: Collection[str]) -> str:
    """The family of the model in a folder: `model_type` of its config.json, or `open_clip`.

    Raises InputError for a folder that is no model, or a model that is in no known family.
    """
    configured = (folder / "config.json").is_file()
    kind = str(read_config(folder).get("model_type", "")) if configured else ""
    if kind in known:
        return kind
    if (folder / "open_clip_config.json").is_file():
        return "open_clip"
    if not configured:
        raise InputError(
            f"{folder} is not a model folder: it has neither config.json nor open_clip_config.json; give the folder "
            "that holds the model's configuration and weights."
        )
    raise InputError(
        f"The model in {folder} is of type {kind!r}, which Crossmatch cannot score images and captions with; "
        f"choose one of type {', '.join(sorted(known))}."
    )
