"""Where a model's files are: built in, in a folder, or in the Hugging Face hub's cache. Imports no torch."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory

from core.base import paths
from core.base.errors import InputError, unknown_name
from core.base.files import storage_errors
from core.scorers import device_memory
from core.scorers.device_memory import HUB_TIMEOUT

VOCABULARIES = ("tokenizer.json", "vocab.json", "vocab.txt", "spiece.model", "tokenizer.model")
TOKENIZER_FILES = (
    *VOCABULARIES,
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "merges.txt",
)
_INDEX, _PART = "model.safetensors.index.json", "model-*-of-*.safetensors"
# What a model in transformers' format consists of. Only these are fetched and hashed: never a pickle, never code.
TRANSFORMERS_FILES = (
    "config.json",
    "model.safetensors",
    _PART,
    _INDEX,
    "preprocessor_config.json",
    "processor_config.json",
    "chat_template.jinja",
    "chat_template.json",
    "qformer_tokenizer/*",
    "video_preprocessor_config.json",
    *TOKENIZER_FILES,
)
OPEN_CLIP_WEIGHTS = ("open_clip_model.safetensors", "open_clip_pytorch_model.safetensors")
OPEN_CLIP_FILES = ("open_clip_config.json", *OPEN_CLIP_WEIGHTS, *TOKENIZER_FILES)


def builtin_models() -> dict[str, Path]:
    """The models in `assets/models`, by name, each with its folder; `builtin/clip` first, which pages open with."""
    found = (paths.assets() / "models").glob("*/config.json")
    folders = sorted(found, key=lambda config: (config.parent.name != "clip", config.parent.name))
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
        there = folder.exists()
    except (OSError, ValueError, RuntimeError):  # too long, not even text, or the home of nobody
        raise InputError(
            f"{name!r} is neither a valid folder nor a valid hub name; check its spelling."
        ) from None
    if there:
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


def has_weights(folder: Path) -> bool:
    """Whether a folder holds weights in transformers' safetensors format."""
    return any((folder / file).is_file() for file in ("model.safetensors", _INDEX))


def check_weights(folder: Path) -> None:
    """Raise InputError for a folder without safetensors, and for an index of parts that names files of other places.

    transformers opens whatever the index names; a key that stands for the weights covers the folder's own parts alone.
    """
    if not has_weights(folder):
        raise InputError(
            f"{folder} has no model.safetensors; other weight files are never loaded, because they can run code: "
            "fetch the model again or convert its weights."
        )
    if (folder / "model.safetensors").is_file():  # then transformers asks no index
        return
    try:
        parts = set(json.loads((folder / _INDEX).read_text(encoding="utf-8"))["weight_map"].values())
        foreign = sorted(part for part in parts if "/" in part or "\\" in part or not fnmatch(part, _PART))
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
        raise InputError(f"{folder / _INDEX} is not an index of weights; fetch the model again.") from None
    if foreign:
        raise InputError(
            f"{folder / _INDEX} names {foreign[0]!r}; every part must lie beside it and be named as {_PART}."
        )


def snapshot(name: str, patterns: Sequence[str], need: str) -> Path:
    """The hub cache's folder for a repository, once the files that fit `patterns` are in it.

    need : pattern of a file without which the folder is no use; where it is there, the network is left alone.

    Raises InputError, in one sentence, where the repository is not on this disk and cannot be fetched.
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
    try:
        info = HfApi().model_info(name, timeout=HUB_TIMEOUT)
        if info.safetensors is not None:
            counts = dict(info.safetensors.parameters)
            device_memory.check_free_memory(
                name, device_memory.plan(counts), device_memory.free_bytes("auto")
            )
        return Path(snapshot_download(name, allow_patterns=list(patterns)))
    except InputError:
        raise
    except errors.GatedRepoError:
        raise InputError(
            f"The hub gives {name!r} only to users who accepted its terms; accept them on "
            f"https://huggingface.co/{name}, set HF_TOKEN, and try again."
        ) from None
    except errors.RepositoryNotFoundError:
        raise InputError(
            f"The Hugging Face hub has no model {name!r}; check its spelling, or set HF_TOKEN."
        ) from None
    except Exception as error:  # every HTTP library has its own family of network errors
        raise InputError(
            f"The model {name!r} is not on this disk and the Hugging Face hub cannot be reached "
            f"({type(error).__name__}); connect once to fetch it, give a folder, or use a built-in model."
        ) from None


def family(folder: Path, known: Collection[str]) -> str:
    """The family of the model in a folder: `model_type` of its config.json, or `open_clip`.

    Raises InputError for a folder that is no model, or a model that is in no known family.
    """
    config = folder / "config.json"
    kind = str(read_json(config).get("model_type", "")) if config.is_file() else ""
    if kind in known:
        return kind
    if (folder / "open_clip_config.json").is_file():
        return "open_clip"
    if not config.is_file():
        raise InputError(
            f"{folder} is not a model folder: it has neither config.json nor open_clip_config.json; give the folder "
            "that holds the model's configuration and weights."
        )
    raise InputError(
        f"The model in {folder} is of type {kind!r}, which Crossmatch cannot score images and captions with; "
        f"choose one of type {', '.join(sorted(known))}."
    )


def read_json(path: Path) -> dict:
    """A JSON object from a model folder."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read ({error}); fetch the model again.") from None
    if not isinstance(value, dict):
        raise InputError(f"{path} holds no JSON object; fetch the model again.")
    return value


@contextmanager
def first_sentence(folder: Path) -> Iterator[None]:
    """Whatever goes wrong inside becomes one sentence about a model folder."""
    try:
        yield
    except InputError:
        raise
    except ImportError as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"The model in {folder} needs a library that is not installed: {reason}") from error
    except Exception as error:  # configuration, weights and tokenizer each fail in their own ways
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(
            f"The model in {folder} does not load ({reason}); fetch it again or choose another."
        ) from error


@contextmanager
def saved_json(folder: Path) -> Iterator[Path]:
    """A folder to write a model into, whose files then replace those in `folder`.

    Never over the old files: the weights of a model that was loaded from there may still be mapped into memory.
    """
    from safetensors import SafetensorError

    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder, prefix=".") as aside:
            try:
                yield Path(aside)
            except SafetensorError as error:
                raise OSError(str(error)) from None
            for path in sorted(Path(aside).iterdir()):
                os.replace(path, folder / path.name)


def folder_key(folder: Path) -> str:
    """Content hash (hex) of the files that decide a model's scores: weights, preprocessing, tokenizer."""
    return files_key(model_files(folder))


def model_files(folder: Path) -> list[Path]:
    """The files of a folder that decide its model's scores."""
    wanted = {*TRANSFORMERS_FILES, *OPEN_CLIP_FILES}
    return [p for p in sorted(folder.iterdir()) if any(fnmatch(p.name, pattern) for pattern in wanted)]


def key_of_unchanged(files: Sequence[Path], settings: str = "") -> Callable[[], str | None]:
    """A function that gives the files' key as long as they are as at this moment, and None after that.

    Hashing takes seconds for a large model and waits until somebody asks; by then they may be another model's.
    """
    before = _states(files)
    return lambda: files_key(files, settings) if _states(files) == before else None


def files_key(files: Sequence[Path], settings: str = "") -> str:
    """Content hash (hex) of files and of settings that are in no file."""
    total = hashlib.sha256(settings.encode())
    for path in files:
        with open(path, "rb") as file:
            total.update(path.name.encode() + b"\0" + hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()


def file_stamp(folder: Path) -> tuple:
    """Names, sizes and times of a folder's files: differs once a model was written anew."""
    return _states([p for p in sorted(folder.iterdir()) if p.is_file()])


def _states(files: Sequence[Path]) -> tuple:
    states = [(p, p.stat() if p.exists() else None) for p in files]
    return tuple((p.name, state and (state.st_size, state.st_mtime_ns, state.st_ino)) for p, state in states)
