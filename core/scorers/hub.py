"""Where a model's files are: built in, in a folder, or in the Hugging Face hub's cache. Imports no torch."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from core.base import paths
from core.base.errors import InputError, unknown_name
from core.base.hub import hub_request
from core.scorers.devices import check_memory
from core.scorers.model_folder import OPEN_CLIP_FILES, TRANSFORMERS_FILES, has_weights, read_config

# Seconds to wait for the hub's first answer: a firewall that swallows packets must not look like a hang.
_TIMEOUT = 5


def builtin_models() -> dict[str, Path]:
    """The models in `assets/models`, by name, each with its folder; `builtin/clip` first, which pages open with."""
    configs = (paths.assets() / "models").glob("*/config.json")
    folders = sorted(configs, key=lambda config: (config.parent.name != "clip", config.parent.name))
    return {f"builtin/{config.parent.name}": config.parent for config in folders}


def locate(name: str) -> Path:
    """The folder with a model's files.

    name : a built-in name (`builtin/clip`), a folder, or a hub name (`openai/clip-vit-base-patch32`). A hub name that
    is in the hub's cache is used from there without a network call; otherwise it is downloaded.
    Raises InputError for an unknown built-in name, a missing folder, or a hub model that cannot be had.
    """
    if name.startswith("builtin/"):
        known = builtin_models()
        if name not in known:
            raise unknown_name("built-in model", name, known)
        return known[name]
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
    folder = snapshot(name, (*TRANSFORMERS_FILES, "open_clip_config.json"), "*.safetensors")
    if has_weights(folder) or not (folder / "open_clip_config.json").is_file():
        return folder
    return snapshot(name, OPEN_CLIP_FILES, "open_clip_*.safetensors")


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
    with hub_request(name, "use a built-in model, or one on this disk"):
        weights = HfApi().model_info(name, timeout=_TIMEOUT).safetensors
        if weights is not None:  # the device that was asked for is checked when it loads
            check_memory(name, dict(weights.parameters), "any")
        return Path(snapshot_download(name, allow_patterns=list(patterns)))


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
