"""Images of data sets that are not simply a file: a crop, an array, a cell of a table. All open lazily."""

from __future__ import annotations

import hashlib
import io
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from core.base.errors import InputError
from core.base.table_formats import arrow_errors
from core.groups import BytesImage, FileImage


@dataclass(frozen=True)
class CroppedImage:
    """Part of an image file. Parts outside the image are black, as in the ARO and CREPE code."""

    path: Path
    box: tuple[int, int, int, int]  # left, top, right, bottom in pixels of the file's image
    _is_image_file = True  # what is checked before anything is scored

    @cached_property
    def key(self) -> str:
        return hashlib.sha256(f"{FileImage(self.path).key}{self.box}".encode()).hexdigest()

    def open(self, size: int | None = None) -> Image.Image:
        try:
            return FileImage(self.path).open().crop(self.box)
        except (Image.DecompressionBombError, OverflowError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"The part {self.box} of {self.path} is too large to be cut out; the annotation file is damaged."
            ) from None


@dataclass(frozen=True)
class ArrayImage:
    """A NumPy file of a video frame, uint8 (height, width, 3), channels blue, green, red (EqBen's YouCook2 part)."""

    path: Path

    @cached_property
    def key(self) -> str:
        return FileImage(self.path).key

    def open(self, size: int | None = None) -> Image.Image:
        try:
            pixels = np.load(io.BytesIO(self.path.read_bytes()), allow_pickle=False)
            return Image.fromarray(np.ascontiguousarray(pixels[:, :, ::-1]), "RGB")
        except Exception as error:  # NumPy and its tokenizer of headers fail in ways of their own
            raise InputError(
                f"The image array {self.path} does not open ({error}); replace it or leave its group out."
            ) from None


@dataclass(frozen=True)
class TableImage:
    """An image in a Parquet file, or in a stream of Arrow's, as Hugging Face writes it: a struct with the encoded file
    under `bytes`."""

    path: Path
    column: str
    row: int  # of the file, from 0

    @cached_property
    def key(self) -> str:
        return self._image().key

    def open(self, size: int | None = None) -> Image.Image:
        return self._image().open(size)

    def _image(self) -> BytesImage:
        where = f"{self.column!r} of row {self.row + 1} of {self.path}"
        streamed = self.path.suffix == ".arrow"
        with arrow_errors(self.path, "Arrow" if streamed else "Parquet"):
            cell = (_streamed_cell if streamed else _parquet_cell)(self.path, self.column, self.row)
        data = cell.get("bytes") if isinstance(cell, dict) else None
        if not isinstance(data, bytes):
            raise InputError(f"{where} holds no image; download the file again.")
        return BytesImage(data, where)


def _parquet_cell(path: Path, column: str, row: int) -> Any:
    starts = _group_starts(path)
    group = bisect_right(starts, row) - 1
    return _column(path, column, group)[row - starts[group]].as_py()


def _streamed_cell(path: Path, column: str, row: int) -> Any:
    """Of a stream that is mapped: batches that are passed over are not read."""
    import pyarrow as pa

    with pa.memory_map(str(path)) as file, pa.ipc.open_stream(file) as stream:
        for batch in stream:
            if row < len(batch):
                found = batch.column(column).slice(row, 1)
                found.validate(full=True)  # offsets point anywhere until somebody follows them
                return found[0].as_py()
            row -= len(batch)
    return None


@lru_cache(maxsize=32)
def _group_starts(path: Path) -> list[int]:
    """The first row of every row group."""
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(path)
    return [0, *accumulate(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))]


@lru_cache(maxsize=2)  # neighbouring rows are read one after the other; a group holds some 100 images
def _column(path: Path, column: str, group: int) -> Any:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        return file.read_row_group(group, columns=[column]).column(0)
