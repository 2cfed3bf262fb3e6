"""Groups with their images, as a folder, zip or Parquet file that `crossmatch add` (or `datasets`) reads again."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from core.base import files
from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.base.table_formats import WRITTEN, write_table
from core.exchange._packing import packed
from core.groups import BytesImage, FileImage, Group, GroupSet, ImageRef

_MANIFEST, _IMAGES = "manifest.jsonl", "images"


def export_groups(
    groups: GroupSet, out: Path, images: bool = True, progress: Callable[[int, int], None] | None = None
) -> Path:
    """Write groups to `out`, which must not exist: a folder, or a file ending in .zip, .parquet, .csv, .jsonl or .npz.

    Folder, zip and Parquet hold the images and can be added again (`crossmatch add`); the others are tables of
    captions, answers, tags and the content hashes of the images. images : False leaves the pixels out everywhere.
    progress : called with (groups done, groups).
    """
    if out.exists():
        raise InputError(f"{out} exists already; choose another path, nothing is overwritten.")
    suffix = out.suffix.lower()
    if suffix == ".parquet" and images:
        _write_parquet(groups, out, progress)
    elif suffix in WRITTEN:
        write_table(out, _groups_frame(groups))
    elif suffix[1:].isalpha() and suffix != ".zip":  # `set-1.2` is a folder
        raise InputError(
            f"{out} has an unknown ending; choose {', '.join((*WRITTEN, '.zip'))}, or a folder without one."
        )
    elif not images:
        raise InputError(
            f"{out} would hold nothing but images; name a file that ends in {', '.join(WRITTEN)}."
        )
    else:
        with packed(out) as folder:
            (folder / _IMAGES).mkdir()
            lines = "".join(_lines(groups, folder / _IMAGES, progress))
            (folder / _MANIFEST).write_text(lines, encoding="utf-8", newline="\n")
    return out


def _groups_frame(groups: GroupSet) -> pd.DataFrame:
    """One row per group: id, `image_0` ... (content hashes), `caption_0` ..., truth (`1 0`), and one column per tag."""
    rows = []
    for group in groups:
        row: dict[str, Any] = {"id": group.id}
        row |= {f"image_{i}": image.key for i, image in enumerate(group.images)}
        row |= {f"caption_{j}": text for j, text in enumerate(group.captions)}
        row |= _answer_and_tags(group)
        rows.append(row)
    return pd.DataFrame.from_records(rows).fillna("")


def _image_bytes(image: ImageRef) -> tuple[bytes, str]:
    """An image as an encoded file and its ending: as it lies on disk, or its pixels as PNG."""
    if isinstance(image, BytesImage):
        return image.data, _ending(image.data)
    if isinstance(image, FileImage):
        data = _files_bytes(image.path)
        return data, _ending(data)
    out = io.BytesIO()
    image.open().save(out, "PNG")
    return out.getvalue(), ".png"


def _files_bytes(path: Path) -> bytes:
    """A file's bytes; InputError where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"The image {path} cannot be read ({error.strerror}); check the path.") from None


def _ending(data: bytes) -> str:
    return ".jpg" if data[:2] == b"\xff\xd8" else ".webp" if data[8:12] == b"WEBP" else ".png"


def _answer_and_tags(group: Group) -> dict[str, str]:
    clash = {"id", "truth"} & set(group.tags)
    clash |= {tag for tag in group.tags if tag.startswith(("image_", "caption_"))}
    if clash:
        raise InputError(f"A tag cannot be called {min(clash)!r} in a table of groups; give it another name.")
    return {"truth": "" if group.truth is None else " ".join(map(str, group.truth)), **group.tags}


def _write_parquet(groups: GroupSet, out: Path, progress: Callable[[int, int], None] | None) -> None:
    """As Hugging Face stores images: a struct of the encoded file and its name."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if len(groups.shapes) > 1:
        raise InputError(f"The set {groups.name!r} mixes shapes; write it to a folder or zip.")
    m, k = groups.shape
    picture = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    tags = list(groups.tag_values())
    schema = pa.schema(
        [("id", pa.string()), *((f"image_{i}", picture) for i in range(m))]
        + [*((f"caption_{j}", pa.string()) for j in range(k)), ("truth", pa.list_(pa.int64()))]
        + [(tag, pa.string()) for tag in tags]
    )
    aside = out.with_name(f".{out.name}.{os.getpid()}")
    with files.storage_errors(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        try:
            with pq.ParquetWriter(aside, schema) as writer:
                for done, group in enumerate(groups, 1):
                    _answer_and_tags(group)  # refuses tags that would clash
                    writer.write_table(pa.Table.from_pylist([_parquet_row(group, tags)], schema))
                    if progress is not None:
                        progress(done, len(groups))
            files.rename(aside, out)
        finally:
            aside.unlink(missing_ok=True)


def _parquet_row(group: Group, tags: list[str]) -> dict[str, Any]:
    row: dict[str, Any] = {"id": group.id, "truth": None if group.truth is None else list(group.truth)}
    for i, image in enumerate(group.images):
        data, ending = _image_bytes(image)
        row[f"image_{i}"] = {"bytes": data, "path": f"{image.key[:32]}{ending}"}
    row |= {f"caption_{j}": text for j, text in enumerate(group.captions)}
    return row | {tag: group.tags.get(tag) for tag in tags}


def _lines(groups: GroupSet, folder: Path, progress: Callable[[int, int], None] | None) -> Iterator[str]:
    """The manifest line by line, images written as they are met."""
    written: dict[str, str] = {}
    for done, group in enumerate(groups, 1):
        for image in group.images:
            if image.key not in written:
                data, ending = _image_bytes(image)
                written[image.key] = f"{image.key[:32]}{ending}"
                (folder / written[image.key]).write_bytes(data)
        record: dict[str, Any] = {
            "id": group.id,
            "images": [f"{_IMAGES}/{written[image.key]}" for image in group.images],
            "captions": list(group.captions),
            "truth": None
            if group.truth is None
            else list(group.truth),  # unknown is not the same as identity
        }
        yield json.dumps({**record, "tags": dict(group.tags)}, ensure_ascii=False) + "\n"
        if progress is not None:
            progress(done, len(groups))
