"""What a user's file holds, by its columns, keys or arrays: for one that was given where another kind belongs."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Collection, Mapping
from itertools import islice
from pathlib import Path

from core.base.errors import InputError
from core.base.table_formats import Table, open_table, parse_json
from core.datasets.embeddings import _CAPTION_NAMES, _IMAGE_NAMES
from core.datasets.packed_tables import _is_of_tables_alone, _unpacked
from core.datasets.score_files import (
    _CELL,
    _LOG_PROB_NAMES,
    _is_mteb_predictions,
    _is_sample_log,
    _pair_names,
)
from core.exchange.columns import guess_columns

_SCORES, _EMBEDDINGS, _PRIOR, _CAPTIONS = "scores", "embeddings", "a prior", "captions"
_LOG_PROB = re.compile(r"log_prob(_\d+)?")
_ROWS = 1000  # of a table that are looked at


def _kind_of_file(name: str, content: bytes) -> str:
    """What the bytes of a file hold (`_SCORES`, ...), its name's ending deciding the format; "" where nothing tells."""
    try:
        if Path(name).suffix.lower() == ".npz":
            return _kind_of_arrays(content)
        if Path(name).suffix.lower() == ".npy":
            return _SCORES
        if Path(name).suffix.lower() == ".json" and _is_mteb_predictions(parse_json(content, name)):
            return _SCORES
        return _kind_of_table(open_table(name, content))
    except InputError:
        return ""


def _is_set_of_images(name: str, content: bytes) -> bool:
    """Whether a file that cannot be read as scores holds images and captions: a table of them, by itself or in an
    archive, or an archive with more in it than tables."""
    if Path(name).suffix.lower() != ".zip":
        return _kind_of_file(name, content) == _CAPTIONS
    try:
        packed, table = _unpacked(Path(name), content)
        return _kind_of_file(packed.name, table or b"") == _CAPTIONS
    except InputError:
        return zipfile.is_zipfile(io.BytesIO(content)) and not _is_of_tables_alone(content)


def _looks_like_images(name: str) -> str:
    """That a file is such a set, to be followed by where it belongs."""
    return f"{name} looks like images and captions"


def _kind_of_table(table: Table) -> str:
    """The same of a table that is open."""
    names = {name.strip().lower(): name for name in table.columns}
    if "caption" in names and (any(map(_LOG_PROB.fullmatch, names)) or _is_prior(names)):
        return _PRIOR
    if any(map(_CELL.fullmatch, names)) or _pair_names(names) or _is_sample_log(dict.fromkeys(names)):
        return _SCORES
    columns = guess_columns(table.columns)
    is_set = bool(columns.images and columns.captions)
    is_long = "score" in names and len(names.keys() & {"group", "image", "caption"}) > 1
    if is_long and (not is_set or "match" in names or _repeats_images(table, names)):
        return _SCORES
    return _CAPTIONS if is_set else ""


def _is_tags(table: Table) -> bool:
    """Whether a table has one row for each group, by `id` or `group`, but for a few that are there twice, and nothing
    that scores, a prior or images have: such rows are tags. Two columns of fractions would be the scores of two
    pairs."""
    key = next((name for name in ("id", "group") if name in table.columns), None)
    others = [name for name in table.columns if name != key]
    known = {name.strip().lower() for name in others}
    if key is None or not others or _kind_of_table(table) or known & _OF_SCORES:
        return False
    rows = [row.cells for row in islice(table.rows(), _ROWS) if not row.fault]
    fractions = [name for name in others if rows and all(_is_fraction(row.get(name)) for row in rows)]
    return 2 * len({str(row.get(key)) for row in rows}) > len(rows) and len(fractions) < 2


_OF_SCORES = {"group", "image", "caption", "score", "scores", "match", "truth"}


def _is_fraction(cell: object) -> bool:
    return re.fullmatch(r"\s*[-+]?\d*\.\d+(e[-+]?\d+)?\s*", str(cell), re.IGNORECASE) is not None


def _is_prior(names: Collection[str]) -> bool:
    """Whether a column is called a prior or log P(t), in a table that has none of images or scores."""
    return bool({"prior", *_LOG_PROB_NAMES} & {*names}) and not {"image", "score"} & {*names}


def _repeats_images(table: Table, names: Mapping[str, str]) -> bool:
    """Whether an image has a row for each of several captions, as one with scores does and one with its caption does
    not; of a table without a row nothing speaks against it."""
    seen: dict[tuple[str, str], str] = {}
    # A row with other cells than the header, which alone may be at fault, says nothing of them.
    rows = [row for row in islice(table.rows(), _ROWS) if not row.fault]
    if not rows:
        return True
    for row in rows:
        group, image, caption = (
            str(row.cells.get(names.get(key, ""))) for key in ("group", "image", "caption")
        )
        if seen.setdefault((group, image), caption) != caption:
            return True
    return False


def _kind_of_arrays(content: bytes) -> str:
    """By the names of an NPZ's arrays; nothing is unpacked."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = {name.removesuffix(".npy").lower() for name in archive.namelist()}
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return ""
    if "scores" in names:
        return _SCORES
    if names & {"prior", "samples"}:
        return _PRIOR
    return _EMBEDDINGS if names & {*_IMAGE_NAMES} and names & {*_CAPTION_NAMES} else ""
