"""Finding and parsing a data set's files: every fault in them is one sentence that names the file."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from core.base.errors import InputError
from core.base.paths import home, is_file
from core.datasets.images import CroppedImage, ParquetImage
from core.groups import FileImage, ImageRef

VARIABLE = "CROSSMATCH_DATA"


def data_roots() -> list[Path]:
    """Folders that hold data sets, one folder each: `$CROSSMATCH_DATA`, then `data` in the user's own folder."""
    chosen = os.environ.get(VARIABLE)
    return [*([Path(chosen).expanduser()] if chosen else []), home() / "data"]


def candidate_folders(folder: Path, where: str) -> list[Path]:
    """Where something may lie: alternatives separated by `|`, inside `folder`.

    `coco:val2017` is `val2017` of the data set `coco`: beside `folder`, or in a data root. A last part may hold `*`.
    """
    found: list[Path] = []
    for option in (part.strip() for part in where.split("|")):
        shared, colon, inner = option.partition(":")
        bases = [root / shared for root in (folder.parent, *data_roots())] if colon else [folder]
        for base in bases:
            path = base / (inner if colon else option)
            found += sorted(path.parent.glob(path.name)) if "*" in path.name else [path]
    return found


def find_file(folder: Path, where: str) -> Path | None:
    """The first of the `candidate_folders` that exists."""
    return next((path for path in candidate_folders(folder, where) if path.exists()), None)


def require(folder: Path, where: str) -> Path:
    """The first of the `candidate_folders` that exists; otherwise a sentence that names the file."""
    path = find_file(folder, where)
    if path is None:
        options = " or ".join(part.strip() for part in where.split("|"))
        raise InputError(f"{folder} holds no {options}; put it there, or choose the folder that has it.")
    return path


@contextmanager
def find_layout(path: Path, what: str) -> Iterator[None]:
    """Turn what a reader trips over in `path` into one sentence; `what` names the layout that was expected."""
    try:
        yield
    except InputError:
        raise
    except (
        KeyError,
        IndexError,
        TypeError,
        ValueError,
        OverflowError,
        AttributeError,
        SyntaxError,
        RecursionError,
    ) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"{path} is not {what} ({reason}); it is damaged or another file, download it again."
        ) from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}); check the file and its permissions."
        ) from None


def read_json(path: Path) -> Any:
    """The value of a JSON file."""
    with find_layout(path, "a complete JSON file"):
        return json.loads(_read(path))


def read_jsonl(path: Path) -> list[Any]:
    """The values of a JSON-lines file; blank lines are skipped."""
    with find_layout(path, "a complete JSON-lines file"):
        return [json.loads(line) for line in _read(path).splitlines() if line.strip()]


def read_csv(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a CSV file with a header; every one of `columns` must be there, in every row."""
    with find_layout(path, "a CSV file in UTF-8"):
        reader = csv.DictReader(io.StringIO(_read(path).decode("utf-8-sig"), newline=""))
        try:
            rows = list(reader)
        except csv.Error as error:
            raise ValueError(str(error)) from None
        for column in columns:
            if column not in (reader.fieldnames or ()):
                raise ValueError(f"no column {column!r}")
        short = [i for i, row in enumerate(rows) if any(row[column] is None for column in columns)]
        if short:
            raise ValueError(f"row {short[0] + 1} has too few cells")
        return rows


def read_parquet(paths: Iterable[Path], texts: Sequence[str], images: Sequence[str]) -> list[dict[str, Any]]:
    """Rows with the columns `texts` as values and `images` as images that are read when they are opened."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = []
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                missing = {*texts, *images} - set(file.schema_arrow.names)
                if missing:
                    raise InputError(f"{path} has no column {min(missing)!r}; it is another file.")
                for group in range(file.num_row_groups):
                    values = file.read_row_group(group, columns=list(texts)).to_pylist()
                    for i, row in enumerate(values):
                        rows.append({**row, **{c: ParquetImage(path, c, group, i) for c in images}})
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{path} is not a complete Parquet file ({error}); download it again.") from None
    return rows


class ImageFolder:
    """A data set's images by name, wherever its folders lie (`candidate_folders`).

    `required=False` accepts images that are not there: captions can be scored alone, opening such an image fails.
    """

    def __init__(self, folder: Path, where: str, required: bool = True) -> None:
        self.options = candidate_folders(folder, where)
        self.roots = [path for path in self.options if path.is_dir()]
        self.required = required

    def path(self, name: str) -> Path:
        """The file of an image; an image that must be there and is not is a sentence that names it."""
        inside = PurePosixPath(name)
        if inside.is_absolute() or ".." in inside.parts or not inside.parts:
            raise InputError(
                f"The image name {name!r} leads out of its folder; the annotation file is damaged."
            )
        for root in self.roots:
            if is_file(root / inside):
                return root / inside
        expected = (self.roots or self.options)[0] / inside
        if self.required:
            raise InputError(
                f"The image {expected} is missing; put the data set's images there, or ask for captions alone."
            )
        return expected

    def __call__(self, name: str, crop: tuple[int, int, int, int] | None = None) -> ImageRef:
        """An image, or its part `crop` (left, top, right, bottom)."""
        path = self.path(name)
        return FileImage(path) if crop is None else CroppedImage(path, crop)


def caption(value: Any) -> str:
    """A caption exactly as the file has it; anything but text is refused."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value
