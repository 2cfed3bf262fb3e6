"""What every score file has in common: its content, and bytes from a path or an upload."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from core.errors import InputError
from core.public import public

MOST_BYTES, PUBLIC_BYTES = 2 << 30, 256 << 20  # that a file may hold once it is decompressed
SLACK, MOST_RATIO = 64 << 20, 100  # or this much, and a hundred times its size, whichever is less


@dataclass(frozen=True)
class ScoreFile:
    """What a score file holds.

    scores : float32 or float64 (n, m, k), finite. truth : int64 (n, m), or None where the file has none.
    ids : n distinct names. tags : one row per group, text; or None.
    """

    scores: np.ndarray
    truth: np.ndarray | None
    ids: list[str]
    tags: pd.DataFrame | None = None


def read_bytes(path: Path | str, data: bytes | None = None) -> bytes:
    """A file's bytes; InputError where it cannot be read or is empty."""
    try:
        content = Path(path).read_bytes() if data is None else data
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the path.") from None
    if not content.strip():
        raise InputError(f"{path} is empty; choose another file.")
    return content


def most_bytes(content: bytes) -> int:
    """Bytes that a file may hold once it is decompressed: a small file that claims far more is a trap."""
    return min(PUBLIC_BYTES if public() else MOST_BYTES, SLACK + MOST_RATIO * len(content))


def too_large(path: Path | str) -> InputError:
    """The error for a file that would be larger than that."""
    return InputError(
        f"{path} holds far more than its size says; do not trust it, or split it into several files."
    )


def parquet_frame(path: Path | str, content: bytes) -> pd.DataFrame:
    """The table in a Parquet file's bytes, decoded piece by piece so that a small file never fills the memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pieces, size = [], 0
    try:
        with pq.ParquetFile(io.BytesIO(content)) as file:
            schema = file.schema_arrow
            for piece in file.iter_batches(4096):
                size += piece.nbytes
                if size > most_bytes(content):
                    break
                pieces.append(piece)
        if size <= most_bytes(content):
            table = pa.Table.from_batches(pieces, schema)
            table.validate(full=True)  # texts may be any bytes until somebody looks
            return table.to_pandas()
    except Exception as error:  # pyarrow's own family of errors
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(f"{path} is no Parquet file ({reason}); save or fetch it again.") from None
    raise too_large(path)
