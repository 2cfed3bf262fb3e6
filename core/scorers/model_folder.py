"""A model's folder: the files that count, the key made of them, and how one is read and written. Imports no torch."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from core.base.errors import InputError
from core.base.files import storage_errors

if TYPE_CHECKING:
    import torch

VOCABULARIES = ("tokenizer.json", "vocab.json", "vocab.txt", "spiece.model", "tokenizer.model")
TOKENIZER_FILES = (
    *VOCABULARIES,
    *("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "merges.txt"),
)
_WEIGHTS = "model.safetensors"
_INDEX, _PART = "model.safetensors.index.json", "model-*-of-*.safetensors"
# What a model in transformers' format consists of. Only these are fetched and hashed: never a pickle, never code.
TRANSFORMERS_FILES = (
    *("config.json", _WEIGHTS, _PART, _INDEX, "preprocessor_config.json", "processor_config.json"),
    *("chat_template.jinja", "chat_template.json", "qformer_tokenizer/*", "video_preprocessor_config.json"),
    *TOKENIZER_FILES,
)
OPEN_CLIP_WEIGHTS = ("open_clip_model.safetensors", "open_clip_pytorch_model.safetensors")
OPEN_CLIP_FILES = ("open_clip_config.json", *OPEN_CLIP_WEIGHTS, *TOKENIZER_FILES)


def has_weights(folder: Path) -> bool:
    """Whether a folder holds weights in transformers' safetensors format."""
    return any((folder / file).is_file() for file in (_WEIGHTS, _INDEX))


def check_weights(folder: Path) -> None:
    """Raise InputError for a folder without safetensors, and for an index of parts that names files of other places.

    transformers opens whatever the index names; a key that stands for the weights covers the folder's own parts alone.
    """
    if not has_weights(folder):
        raise InputError(
            f"{folder} has no {_WEIGHTS}; other weight files are never loaded, because they can run code: "
            "fetch the model again or convert its weights."
        )
    if (folder / _WEIGHTS).is_file():  # then transformers asks no index
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


def read_config(folder: Path, file: str = "config.json") -> dict[str, Any]:
    """A JSON object from a model folder: its configuration. Raises InputError where there is none."""
    path = folder / file
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read ({error}); fetch the model again.") from None
    if not isinstance(value, dict):
        raise InputError(f"{path} holds no JSON object; fetch the model again.")
    return value


@contextmanager
def load_errors(folder: Path) -> Iterator[None]:
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
def replaced_files(folder: Path) -> Iterator[Path]:
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


def write_model(folder: Path, settings: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> None:
    """Write a model of Crossmatch's own: its settings, with the `model_type` that it is known by, and its tensors."""
    from safetensors.torch import save_file

    with replaced_files(folder) as aside:
        save_file(
            {name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}, aside / _WEIGHTS
        )
        text = json.dumps(settings, ensure_ascii=False, indent=1)
        (aside / "config.json").write_text(text, encoding="utf-8")


@contextmanager
def read_model(folder: Path) -> Iterator[tuple[dict[str, Any], dict[str, torch.Tensor]]]:
    """Settings and tensors that `write_model` wrote; what they lack inside becomes one sentence about the folder."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    settings = read_config(folder)
    try:
        tensors = load_file(folder / _WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise InputError(f"The model in {folder} does not open ({error}); save it again.") from None
    try:
        yield settings, tensors
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"The model in {folder} is incomplete ({reason}); save it again.") from None


def model_files(folder: Path) -> list[Path]:
    """The files of a folder that decide its model's scores: weights, preprocessing, tokenizer."""
    patterns = {*TRANSFORMERS_FILES, *OPEN_CLIP_FILES}
    return [p for p in sorted(folder.iterdir()) if any(fnmatch(p.name, pattern) for pattern in patterns)]


def files_key(files: Sequence[Path], settings: str = "") -> str:
    """Content hash (hex) of files and of settings that are in no file."""
    total = hashlib.sha256(settings.encode())
    for path in files:
        with open(path, "rb") as file:
            total.update(path.name.encode() + b"\0" + hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()


def key_while_unchanged(
    files: Sequence[Path], key: Callable[[Sequence[Path]], str] = files_key
) -> Callable[[], str | None]:
    """A function that gives the files' key as long as they are as at this moment, and None after that.

    Hashing takes seconds for a large model and waits until somebody asks; by then they may be another model's.
    """
    before = file_states(files)
    return lambda: key(files) if file_states(files) == before else None


def file_states(files: Sequence[Path]) -> tuple:
    """Names, sizes and times of files: differs once one of them was written anew."""
    states = [(p, p.stat() if p.exists() else None) for p in files]
    return tuple((p.name, state and (state.st_size, state.st_mtime_ns, state.st_ino)) for p, state in states)
