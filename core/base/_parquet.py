"""Parquet files and Arrow streams as tables: decoded piece by piece, and on a public server in a process apart.

A kilobyte of Parquet may name one long text for a million rows, and what its directory says of its sizes need not be
true: Arrow believes it and fills the memory. So on a public server a process of its own decodes it, with a bounded
memory and a bounded time of a processor, and only the table comes back.
"""

from __future__ import annotations

import io
import json
import math
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from core.base.errors import InputError
from core.base.limits import check
from core.base.processes import module_command
from core.base.public_mode import is_public

if TYPE_CHECKING:
    import pyarrow as pa

_APART_BYTES = 384 << 20  # that the process apart may take beyond what it needs to start
_APART_SECONDS = 60  # of processor, beyond what it needs to start
_APART_WAIT = 600.0  # seconds by the clock: on a server that is busy it may get little of a processor
_REFUSED = 2  # its exit status where it says why in a sentence


def read_parquet(path: Path | str, content: bytes, most: int, kind: str = "Parquet") -> pa.Table:
    """The table in a Parquet file's bytes, its texts and numbers valid.

    most : bytes that the table may take. kind : "Arrow" for the bytes of a stream of Arrow's. Raises InputError, in
    one sentence, for what is damaged, too large, or has columns that are no cells.
    """
    return (_read_apart if is_public() else _read_here)(path, content, most, kind)


@contextmanager
def arrow_errors(path: Path | str, kind: str = "Parquet") -> Iterator[None]:
    """Whatever Arrow says of a damaged file of a kind (Parquet, Arrow, CSV) as an InputError."""
    try:
        yield
    except InputError:
        raise
    except MemoryError:
        raise too_large(path) from None
    except Exception as error:  # pyarrow's own family of errors, and Python's where names are no texts
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(
            f"{path} is not a complete {kind} file ({reason}); save or fetch it again."
        ) from None


def too_large(path: Path | str) -> InputError:
    """The error for a file that would be larger than it may be."""
    return InputError(
        f"{path} holds far more than its size says; do not trust it, or split it into several files."
    )


def _read_apart(path: Path | str, content: bytes, most: int, kind: str) -> pa.Table:
    """`_read_here` in a process with a bounded memory of its own."""
    import pyarrow as pa

    command, environment = module_command("core.base._parquet", [])
    asked = json.dumps([str(path), most, _APART_BYTES, _APART_SECONDS, kind]).encode() + b"\n" + content
    try:
        done = subprocess.run(
            command, input=asked, capture_output=True, env=environment, timeout=_APART_WAIT, check=False
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"The server is too busy to read {path} now; try again in some minutes.") from None
    if done.returncode == -getattr(signal, "SIGXCPU", 0) != 0:
        raise InputError(
            f"{path} takes more than {_APART_SECONDS} s of processor to read; "
            "do not trust it, or split it into several files."
        )
    if done.returncode == _REFUSED:
        raise InputError(done.stderr.decode())
    if done.returncode:  # out of memory, or ended by what it read
        raise too_large(path)
    with pa.ipc.open_stream(done.stdout) as stream:
        return stream.read_all()


def _read_here(path: Path | str, content: bytes, most: int, kind: str) -> pa.Table:
    with arrow_errors(path, kind):
        return (_decode_stream if kind == "Arrow" else _decode)(path, content, most)


def _decode_stream(path: Path | str, content: bytes, most: int) -> pa.Table:
    """Its dictionaries unfolded. A batch is decoded before its size is known: only the process apart bounds one."""
    import pyarrow as pa

    pieces, size, rows = [], 0, 0
    with pa.ipc.open_stream(content) as stream:
        whole = stream.schema
        for field in whole:
            _holds_texts(path, field)
        check(path, columns=len(whole))
        plain = pa.schema(
            (field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
            for field in whole
        )
        for piece in stream:
            rows += len(piece)
            check(path, cells=len(whole) * rows)
            piece.validate(full=True)  # offsets point anywhere until somebody follows them
            size += sum(map(_unfolded, piece.columns))
            if size > most:
                raise too_large(path)
            pieces.append(piece.cast(plain))
    return pa.Table.from_batches(pieces, plain)


def _decode(path: Path | str, content: bytes, most: int) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(io.BytesIO(content)) as file:
        schema, directory = file.schema_arrow, file.metadata
    texts = [field.name for field in schema if _holds_texts(path, field)]
    check(path, columns=len(schema), cells=len(schema) * directory.num_rows)
    chunks = (
        directory.row_group(i).column(j) for i in range(directory.num_row_groups) for j in range(len(schema))
    )
    if sum(chunk.total_uncompressed_size for chunk in chunks) > most:
        raise too_large(path)
    pieces, size = [], 0
    # Texts stay numbers of a dictionary until their unfolded size is known.
    with pq.ParquetFile(io.BytesIO(content), read_dictionary=texts) as file:
        for piece in file.iter_batches(4096):
            size += sum(map(_unfolded, piece.columns))
            if size > most:
                raise too_large(path)
            pieces.append(piece.cast(schema))
    table = pa.Table.from_batches(pieces, schema)
    table.validate(full=True)  # texts may be any bytes until somebody looks
    return table


def _holds_texts(path: Path | str, field: pa.Field) -> bool:
    """Whether a column holds texts; InputError for lists, images and whatever else is no cell of a table."""
    import pyarrow.types as kinds

    kind = field.type.value_type if kinds.is_dictionary(field.type) else field.type
    if any(
        is_kind(kind)
        for is_kind in (kinds.is_string, kinds.is_large_string, kinds.is_binary, kinds.is_large_binary)
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
    if pa.types.is_primitive(column.type.value_type) or pa.types.is_decimal(column.type.value_type):
        return 32 * len(column)  # the widest of them
    lengths = pc.binary_length(column.dictionary.cast(pa.large_binary())).cast(pa.int64())
    return 4 * len(column) + (pc.sum(lengths.take(column.indices)).as_py() or 0)


def _bound(more: int, seconds: int) -> None:
    """Let this process take so many bytes and seconds of processor more and no further, where the platform can."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        end = math.ceil(time.process_time()) + seconds
        resource.setrlimit(resource.RLIMIT_CPU, (end, end + 1))  # SIGXCPU, which says why
        most = psutil.Process().memory_info().vms + more
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _main() -> None:
    """The process apart: what is asked and the file on standard input, its table as a stream on standard output."""
    import pyarrow as pa
    import pyarrow.parquet  # all that is loaded is loaded before memory is bounded

    path, most, more, seconds, kind = json.loads(sys.stdin.buffer.readline())
    _bound(more, seconds)
    try:
        table = _read_here(path, sys.stdin.buffer.read(), most, kind)
    except InputError as error:
        sys.stderr.write(str(error))
        sys.exit(_REFUSED)
    with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as stream:
        stream.write_table(table)


if __name__ == "__main__":
    _main()
