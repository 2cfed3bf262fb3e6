"""A model's folder, read and written: what goes wrong is one sentence about the folder. Imports no torch."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from core.base.errors import InputError
from core.base.files import storage_errors
from core.scorers.model_folder import (
    WEIGHTS,
    WEIGHTS_INDEX,
    WEIGHTS_PART,
    file_states,
    files_key,
    has_weights,
    read_config,
)

if TYPE_CHECKING:
    import torch


def key_while_unchanged(
    files: Sequence[Path], key: Callable[[Sequence[Path]], str] = files_key
) -> Callable[[], str | None]:
    """A function that gives the files' key as long as they are as at this moment, and None after that.

    Hashing takes seconds for a large model and waits until somebody asks; by then they may be another model's.
    """
    before = file_states(files)
    return lambda: key(files) if file_states(files) == before else None


def check_weights(folder: Path) -> None:
    """Raise InputError for a folder without safetensors, and for an index of parts that names files of other places.

    transformers opens whatever the index names; a key that stands for the weights covers the folder's own parts alone.
    """
    if not has_weights(folder):
        raise InputError(
            f"{folder} has no {WEIGHTS}; other weight files are never loaded, because they can run code: "
            "fetch the model again or convert its weights."
        )
    if (folder / WEIGHTS).is_file():  # then transformers asks no index
        return
    try:
        parts = set(json.loads((folder / WEIGHTS_INDEX).read_text(encoding="utf-8"))["weight_map"].values())
        foreign = sorted(
            part for part in parts if "/" in part or "\\" in part or not fnmatch(part, WEIGHTS_PART)
        )
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
        raise InputError(
            f"{folder / WEIGHTS_INDEX} is not an index of weights; fetch the model again."
        ) from None
    if foreign:
        raise InputError(
            f"{folder / WEIGHTS_INDEX} names {foreign[0]!r}; every part must lie beside it and be named as "
            f"{WEIGHTS_PART}."
        )


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
        if found := re.match(r"Unrecognized configuration class .*?(\w+)'>", reason):
            raise InputError(
                f"The model in {folder} is of another kind than the prefix says ({found[1]}); leave the prefix out or "
                "choose another model."
            ) from error
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
        with TemporaryDirectory(dir=folder, prefix=".") as staging:
            try:
                yield Path(staging)
            except SafetensorError as error:
                raise OSError(str(error)) from None
            for path in sorted(Path(staging).iterdir()):
                os.replace(path, folder / path.name)


def write_model(folder: Path, settings: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> None:
    """Write a model of Crossmatch's own: its settings, with the `model_type` that it is known by, and its tensors."""
    from safetensors.torch import save_file

    with replaced_files(folder) as staging:
        save_file(
            {name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}, staging / WEIGHTS
        )
        text = json.dumps(settings, ensure_ascii=False, indent=1)
        (staging / "config.json").write_text(text, encoding="utf-8")


@contextmanager
def read_model(folder: Path) -> Iterator[tuple[dict[str, Any], dict[str, torch.Tensor]]]:
    """Settings and tensors that `write_model` wrote; what they lack inside becomes one sentence about the folder."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    settings = read_config(folder)
    try:
        tensors = load_file(folder / WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise InputError(f"The model in {folder} does not open ({error}); save it again.") from None
    try:
        yield settings, tensors
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"The model in {folder} is incomplete ({reason}); save it again.") from None


# Bytes of one number in a safetensors file.
_SIZES = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2, "I16": 2, "F8_E4M3": 1, "F8_E5M2": 1}


def weight_counts(folder: Path) -> dict[str, int]:
    """How many numbers of each type the safetensors files of a folder hold; their headers alone are read."""
    counts: dict[str, int] = {}
    for path in sorted(folder.glob("model*.safetensors")):
        try:
            with open(path, "rb") as file:
                length = int.from_bytes(file.read(8), "little")
                if length > path.stat().st_size:
                    raise ValueError("its header is longer than the file")
                header = json.loads(file.read(length))
            for tensor in (header[name] for name in header if name != "__metadata__"):
                (start, stop), kind = tensor["data_offsets"], tensor["dtype"]
                counts[kind] = counts.get(kind, 0) + (stop - start) // _SIZES.get(kind, 1)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path} cannot be read ({error}); fetch the model again.") from None
    return counts
