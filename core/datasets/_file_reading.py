"""Finding and parsing a data set's files: every fault in them is one sentence that names the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from core.base.errors import InputError
from core.base.paths import data_roots, is_file
from core.base.tables import open_table, parse_json, read_bytes
from core.datasets._images import CroppedImage, ParquetImage
from core.groups import FileImage, ImageRef


def _candidate_folders(folder: Path, where: str) -> list[Path]:
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
    """The first of the `_candidate_folders` that exists."""
    return next((path for path in _candidate_folders(folder, where) if path.exists()), None)


def require(folder: Path, where: str) -> Path:
    """The first of the `_candidate_folders` that exists; otherwise a sentence that names the file."""
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


def read_json(path: Path) -> Any:
    """The value of a JSON file."""
    return parse_json(read_bytes(path), path)


def read_rows(path: Path, columns: Sequence[str] = (), images: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The rows of a table that has these columns; those of `images`, of a Parquet file, are read when they are opened.

    path : of a Parquet file in parts (`test-00000-of-00002.parquet`), its first: the others beside it follow.
    """
    rows: list[dict[str, Any]] = []
    parts = sorted(path.parent.glob(f"{path.name.partition('-')[0]}-*.parquet")) if images else [path]
    for part in parts:
        table = open_table(part)
        table.require_columns((*columns, *images))
        for place, row in enumerate(table.sound_rows(columns)):
            rows.append({**row.cells, **{name: ParquetImage(part, name, place) for name in images}})
    return rows


class ImageFolder:
    """A data set's images by name, wherever its folders lie (`_candidate_folders`).

    `required=False` accepts images that are not there: captions can be scored alone, opening such an image fails.
    """

    def __init__(self, folder: Path, where: str, required: bool = True) -> None:
        self.options = _candidate_folders(folder, where)
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
