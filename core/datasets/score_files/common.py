"""What every score file has in common: its content, and bytes from a path or an upload."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from core.base.errors import InputError
from core.base.limits import check, check_memory, limits

if TYPE_CHECKING:
    import pyarrow as pa

SLACK, MOST_RATIO = 64 << 20, 100  # a file may unfold to this much and a hundred times its size


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
    return min(limits().unfolded, SLACK + MOST_RATIO * len(content))


def too_large(path: Path | str) -> InputError:
    """The error for a file that would be larger than that."""
    return InputError(
        f"{path} holds far more than its size says; do not trust it, or split it into several files."
    )


def check_cells(path: Path | str, rows: int, columns: int) -> None:
    """Raise InputError where a table of texts or numbers is too large, by its rows and columns."""
    check(path, columns=columns, cells=rows * columns)
    check_memory(
        path, 200 * rows * columns
    )  # a short text in pandas, and copies of it while groups are found


def parquet_frame(path: Path | str, content: bytes) -> pd.DataFrame:
    """The table in a Parquet file's bytes, decoded piece by piece so that a small file never fills the memory.

    Texts stay numbers of a dictionary until their unfolded size is known: a kilobyte may name one long text for a
    million rows.
    """
    try:
        return _parquet_table(path, content).to_pandas()
    except InputError:
        raise
    except Exception as error:  # pyarrow's own family of errors
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(f"{path} is no Parquet file ({reason}); save or fetch it again.") from None


def _parquet_table(path: Path | str, content: bytes) -> pa.Table:
    """The same as an Arrow table; raises InputError for what is too large, and for columns that are no cells."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(io.BytesIO(content)) as file:
        schema, chunks = file.schema_arrow, file.metadata
        groups = [chunks.row_group(i) for i in range(chunks.num_row_groups)]
        claimed = sum(
            group.column(i).total_uncompressed_size for group in groups for i in range(group.num_columns)
        )
    texts = [field.name for field in schema if _of_texts(path, field)]
    check_cells(path, chunks.num_rows, len(schema))
    pieces, size, rows = [], claimed, 0
    with pq.ParquetFile(io.BytesIO(content), read_dictionary=texts) as file:
        for piece in file.iter_batches(4096) if size <= most_bytes(content) else ():
            rows, size = rows + len(piece), size + sum(map(_unfolded, piece.columns))
            check_cells(path, rows, len(schema))
            if size > most_bytes(content):
                break
            pieces.append(piece.cast(schema))
    if size > most_bytes(content):
        raise too_large(path)
    table = pa.Table.from_batches(pieces, schema)
    table.validate(full=True)  # texts may be any bytes until somebody looks
    return table


def _of_texts(path: Path | str, field: pa.Field) -> bool:
    """Whether a column holds texts; InputError for lists, images and whatever else is no cell of a table."""
    import pyarrow.types as kinds

    kind = field.type.value_type if kinds.is_dictionary(field.type) else field.type
    if (
        kinds.is_string(kind)
        or kinds.is_large_string(kind)
        or kinds.is_binary(kind)
        or kinds.is_large_binary(kind)
    ):
        return True
    if kinds.is_primitive(kind) or kinds.is_decimal(kind) or kinds.is_null(kind):
        return False
    raise InputError(
        f"{path}: column {field.name!r} holds {kind}; leave it out, a table holds texts and numbers."
    )


def _unfolded(column: pa.Array) -> int:
    """Bytes of a column's values once every row has its own."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary.cast(pa.large_binary())).cast(pa.int64())
    return 4 * len(column) + (pc.sum(lengths.take(column.indices)).as_py() or 0)
