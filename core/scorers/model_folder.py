"""A model's folder: the files that count, its configuration, and the key made of them. Imports no torch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from core.base.errors import InputError
from core.base.files import _checksum_while_unchanged

VOCABULARIES = ("tokenizer.json", "vocab.json", "vocab.txt", "spiece.model", "tokenizer.model")
TOKENIZER_FILES = (
    *VOCABULARIES,
    *("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "merges.txt"),
)
WEIGHTS = "model.safetensors"
WEIGHTS_INDEX, WEIGHTS_PART = "model.safetensors.index.json", "model-*-of-*.safetensors"
# What a model in transformers' format consists of. Only these are fetched and hashed: never a pickle, never code.
TRANSFORMERS_FILES = (
    *(
        "config.json",
        WEIGHTS,
        WEIGHTS_PART,
        WEIGHTS_INDEX,
        "preprocessor_config.json",
        "processor_config.json",
    ),
    *("chat_template.jinja", "chat_template.json", "qformer_tokenizer/*", "video_preprocessor_config.json"),
    *TOKENIZER_FILES,
)
OPEN_CLIP_WEIGHTS = ("open_clip_model.safetensors", "open_clip_pytorch_model.safetensors")
SENTENCE_MODULES = "modules.json"  # what a model of sentence-transformers has and no other
OPEN_CLIP_FILES = ("open_clip_config.json", *OPEN_CLIP_WEIGHTS, *TOKENIZER_FILES)


def has_weights(folder: Path) -> bool:
    """Whether a folder holds weights in transformers' safetensors format."""
    return any((folder / file).is_file() for file in (WEIGHTS, WEIGHTS_INDEX))


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


def model_files(folder: Path, modules: bool = False) -> list[Path]:
    """The files of a folder that decide its model's scores: weights, preprocessing, tokenizer.

    modules : of a model of sentence-transformers, whose modules lie in folders of their own.
    """
    if modules:
        kept = (".json", ".safetensors", ".txt", ".model", ".jinja")
        return [path for path in sorted(folder.rglob("*")) if path.suffix in kept and path.is_file()]
    patterns = {*TRANSFORMERS_FILES, *OPEN_CLIP_FILES}
    return [p for p in sorted(folder.iterdir()) if any(fnmatch(p.name, pattern) for pattern in patterns)]


def files_key(files: Sequence[Path], settings: str = "") -> str:
    """Content hash (hex) of files and of settings that are in no file."""
    total = hashlib.sha256(settings.encode())
    for path in files:
        total.update(path.name.encode() + b"\0" + bytes.fromhex(_checksum_while_unchanged(path)))
    return total.hexdigest()


def file_states(files: Sequence[Path]) -> tuple:
    """Names, sizes and times of files: differs once one of them was written anew."""
    states = [(p, p.stat() if p.exists() else None) for p in files]
    return tuple((p.name, state and (state.st_size, state.st_mtime_ns, state.st_ino)) for p, state in states)
