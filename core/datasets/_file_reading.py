"""Finding and parsing a data set's files: every fault in them is one sentence that names the file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from core.base.errors import InputError
from core.base.paths import data_roots, is_file
from core.base.table_formats import open_table, parse_json, read_bytes
from core.datasets._images import CroppedImage, TableImage
from core.groups import FileImage, Group, ImageRef


class DatasetFolder:
    """A data set's folder as its reader sees it; every fault of its files is one sentence that names the file.

    Files are named by where they may lie: alternatives separated by `|`. `coco:val2017` is `val2017` of the data set
    `coco`: beside this folder, or in a data root. A last part may hold `*`.
    """

    def __init__(self, path: Path, images: bool = True) -> None:
        """images : False accepts image files that are not there: captions can be scored alone, opening one fails."""
        self.path, self._images = path, images

    def find(self, where: str) -> Path | None:
        """The first alternative that exists."""
        return next((path for path in self._options(where) if path.exists()), None)

    def require(self, where: str) -> Path:
        """The first alternative that exists; otherwise a sentence that names them."""
        path = self.find(where)
        if path is None:
            options = " or ".join(part.strip() for part in where.split("|"))
            raise InputError(
                f"{self.path} holds no {options}; put it there, or choose the folder that has it."
            )
        return path

    @contextmanager
    def json(self, where: str, what: str) -> Iterator[Any]:
        """The value of a JSON file; `what` names the layout that it is read by inside (`expecting`)."""
        path = self.require(where)
        value = parse_json(read_bytes(path), path)
        with expecting(path, what):
            yield value

    @contextmanager
    def table(
        self, where: str, what: str, columns: Sequence[str] = (), images: Sequence[str] = ()
    ) -> Iterator[list[dict[str, Any]]]:
        """The rows of a table (`read_rows`); `what` names the layout that they are read by inside (`expecting`)."""
        path = self.require(where)
        rows = read_rows(path, columns, images)
        with expecting(path, what):
            yield rows

    def images(self, where: str) -> ImageFolder:
        """Images by name."""
        return ImageFolder(self._options(where), self._images)

    def _options(self, where: str) -> list[Path]:
        paths: list[Path] = []
        for option in (part.strip() for part in where.split("|")):
            shared, colon, inner = option.partition(":")
            bases = [root / shared for root in (self.path.parent, *data_roots())] if colon else [self.path]
            for base in bases:
                path = base / (inner if colon else option)
                paths += sorted(path.parent.glob(path.name)) if "*" in path.name else [path]
        return paths


@contextmanager
def expecting(path: Path, what: str) -> Iterator[None]:
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


def read_rows(path: Path, columns: Sequence[str] = (), images: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The rows of a table that has these columns; those of `images` are read from the file when they are opened.

    path : of a Parquet file or a stream of Arrow's, where there are `images`. Of one in parts
        (`test-00000-of-00002.parquet`), its first: the others beside it follow.
    """
    rows: list[dict[str, Any]] = []
    like = f"{path.name.partition('-')[0]}-*{path.suffix}"
    parts = sorted(path.parent.glob(like)) if images else [path]
    for part in parts:
        table = open_table(part)
        table.require_columns((*columns, *images))
        for i, row in enumerate(table.sound_rows(columns)):
            rows.append({**row.cells, **{name: TableImage(part, name, i) for name in images}})
    return rows


class ImageFolder:
    """A data set's images by name, in the first of these folders that has each."""

    def __init__(self, options: Sequence[Path], required: bool) -> None:
        self.options, self.required = options, required
        self.roots = [path for path in options if path.is_dir()]

    def path(self, name: str) -> Path:
        """The file of an image; an image that must be there and is not is a sentence that names it."""
        parts = name.split("/")  # text, not paths: EqBen has half a million
        if name.startswith("/") or ".." in parts or not any(part not in ("", ".") for part in parts):
            raise InputError(
                f"The image name {name!r} leads out of its folder; the annotation file is damaged."
            )
        for root in self.roots:
            if os.path.isfile(f"{root}/{name}"):
                return root / name
        expected = (self.roots or self.options)[0] / name
        if self.required:
            raise InputError(
                f"The image {expected} is missing; put the data set's images there, or ask for captions alone."
            )
        return expected

    def has(self, name: str) -> bool:
        """Whether an image is there, or need not be."""
        return not self.required or any(is_file(root / name) for root in self.roots)

    def __call__(self, name: str, crop: tuple[int, int, int, int] | None = None) -> ImageRef:
        """An image, or its part `crop` (left, top, right, bottom)."""
        path = self.path(name)
        return FileImage(path) if crop is None else CroppedImage(path, crop)


def matched_group(
    name: str, images: Iterable[ImageRef], captions: Iterable[Any], tags: Mapping[str, str] | None = None
) -> Group:
    """A group whose image i belongs to caption i, as most benchmarks store theirs; captions are checked to be text."""
    pictures, texts = tuple(images), tuple(map(caption, captions))
    return Group(name, pictures, texts, tuple(range(len(pictures))), dict(tags or {}))


def caption(value: Any) -> str:
    """A caption exactly as the file has it; anything but text is refused."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value
