"""Score files as NPZ, and NPZ files in general: plain arrays, never pickled objects."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.base.limits import check, check_memory, check_shape
from core.base.parquet import too_large
from core.datasets.score_files.common import ScoreFile, check_cells, max_bytes, read_bytes


def load_npz(path: Path | str, data: bytes | None = None) -> dict[str, np.ndarray]:
    """The arrays of an NPZ file. Pickled content is refused, a truncated file is an error, and so is a bomb."""
    content = read_bytes(path, data)
    sizes = _sizes(content)
    check(path, columns=len(sizes))
    if sum(sizes) > max_bytes(content):
        raise too_large(path)
    check_memory(path, 2 * sum(sizes))
    try:
        file = np.load(io.BytesIO(content), allow_pickle=False)
        arrays = {"": file} if isinstance(file, np.ndarray) else {name: file[name] for name in file.files}
    except (
        Exception
    ) as error:  # zip, zlib, NumPy and the tokenizer of its headers: each fails in its own ways
        if "pickle" in str(error):
            raise InputError(
                f"{path} holds pickled objects or is not an NPZ file; pickles can run code and are never loaded: save "
                "plain number arrays with numpy.savez."
            ) from None
        raise InputError(f"{path} is damaged or not an NPZ file ({error}); save or fetch it again.") from None
    if "" in arrays:
        raise InputError(f"{path} is a single array, not an NPZ of named ones; save it with numpy.savez.")
    return {name: _characters(array) for name, array in arrays.items()}


def _characters(array: np.ndarray) -> np.ndarray:
    """Texts with a mark in place of what is no character: NumPy takes any four bytes of a file for one, and fails
    later."""
    if array.dtype.kind != "U" or not array.dtype.itemsize:
        return array
    codes = np.frombuffer(array.tobytes(), array.dtype.str[0] + "u4").copy()
    wrong = (codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF))
    codes[wrong] = 0xFFFD
    return codes.view(array.dtype).reshape(array.shape) if wrong.any() else array


def _sizes(content: bytes) -> list[int]:
    """Bytes of each array of an NPZ, as its directory says; no more than that is ever read. [] for no zip."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return [entry.file_size for entry in archive.infolist()]
    except Exception:  # told where it is read
        return []


def read(path: Path | str, content: bytes) -> ScoreFile:
    """A score file from an NPZ's bytes."""
    arrays = load_npz(path, content)
    if "scores" not in arrays:
        raise InputError(f"{path} has no array 'scores' among: {', '.join(arrays) or 'no arrays'}; add it.")
    scores = arrays["scores"]
    if scores.ndim != 3:
        raise InputError(f"{path}: scores have shape {scores.shape}; they need (groups, images, captions).")
    n = len(scores)
    check_shape(path, *scores.shape)
    texts = {name: arrays[name] for name in arrays if name == "ids" or name.startswith("tag_")}
    check_cells(path, n, len(texts))
    for name, values in texts.items():
        if values.shape != (n,):
            raise InputError(
                f"{path}: {name!r} has shape {values.shape}; it needs one entry per group, ({n},)."
            )
        if values.dtype.kind not in "USiufb":
            raise InputError(f"{path}: {name!r} is {values.dtype}; it needs texts or numbers.")
    texts = {
        name: np.char.decode(v, "utf-8", "replace") if v.dtype.kind == "S" else v for name, v in texts.items()
    }
    ids = [str(name) for name in texts.pop("ids", np.arange(n))]
    tags = pd.DataFrame({name.removeprefix("tag_"): values.astype(str) for name, values in texts.items()})
    return ScoreFile(scores, arrays.get("truth"), ids, tags if len(tags.columns) else None)


def write(file: ScoreFile) -> bytes:
    """An NPZ's bytes of a score file."""
    arrays: dict[str, Any] = {"scores": file.scores, "ids": np.array(file.ids, dtype=str)}
    if file.truth is not None:
        arrays["truth"] = file.truth
    for name, values in {} if file.tags is None else file.tags.items():
        arrays[f"tag_{name}"] = values.to_numpy(dtype=str)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()
