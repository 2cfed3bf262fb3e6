"""Score files in and out: CSV, Parquet and JSONL in long form, NPZ, NPY; and tables of tags. Priors: `_prior_files.py`.

| format | content |
| --- | --- |
| .csv, .parquet | one row per cell: `group`, `image`, `caption`, `score`; optional `match`; further columns are tags |
| .csv, .parquet | one row per group: the columns of JSON lines below, under any prefix (`_pair_names.py`) |
| .npz | `scores` (n, m, k); optional `truth` (n, m), `ids` (n,), and one text array (n,) `tag_NAME` per tag |
| .npy | one array of scores (n, m, k), or (n, m*m) of groups with as many captions as images |
| .jsonl | one object per group: `c0_i0`, `c1_i0`, ... (caption, image), optional `id` and `truth`; others are tags |
| .jsonl | one object per cell, with the keys of the long form |
| .jsonl | a sample log of lm-eval or lmms-eval, one multiple-choice document per line (`_sample_logs.py`) |
| .json | MTEB's predictions for a task of compositionality (`_mteb_predictions.py`), or a list of such objects |

In the long form, images and captions are numbered where a group's labels are 0, 1, ... or 1, 2, ..., and otherwise
counted as they first appear in the group. `match` is 1 (or true, yes) where the caption belongs to the image and 0
elsewhere: exactly one 1 per image, or, where groups have one image, several (as many in every group). A column counts
as a tag if it has one value per group.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from core.base.errors import InputError, printable
from core.base.files import storage_errors, write_bytes
from core.base.interrupt import between_blocks
from core.base.lazy import pandas as pd
from core.base.limits import check, check_shape
from core.base.table_formats import (
    Table,
    _read_array,
    arrays_bytes,
    check_cells,
    open_table,
    parse_json,
    read_arrays,
    read_bytes,
    table_bytes,
)
from core.base.text import counted
from core.datasets._mteb_predictions import is_mteb_predictions, read_mteb_predictions
from core.datasets._pair_names import _CELL as _CELL
from core.datasets._pair_names import _meaning
from core.datasets._pair_names import _pair_names as _pair_names
from core.datasets._pair_names import _PairNames as _PairNames
from core.datasets._pair_names import _read_names as _read_names  # other rooms take the four from here
from core.datasets._prior_files import _LOG_PROB_NAMES as _LOG_PROB_NAMES
from core.datasets._prior_files import PRIOR_ENDINGS as PRIOR_ENDINGS
from core.datasets._prior_files import _advice as _advice
from core.datasets._prior_files import _FitsInPart as _FitsInPart
from core.datasets._prior_files import _not_log_probs as _not_log_probs
from core.datasets._prior_files import _OfOtherGroups as _OfOtherGroups
from core.datasets._prior_files import _read_prior_file as _read_prior_file
from core.datasets._prior_files import numbered
from core.datasets._prior_files import read_prior as read_prior  # other rooms take the seven from here
from core.datasets._sample_logs import is_sample_log, read_sample_log
from core.datasets._score_lines import _frame_of_lines as _frame_of_lines
from core.datasets._score_lines import _has_a_score_per_line as _has_a_score_per_line
from core.datasets.embeddings import RowImage
from core.datasets.packed_tables import _unpacked
from core.groups import Group, GroupSet, check_truth, image_name
from core.matching.groups import check_scores

_is_mteb_predictions, _is_sample_log = is_mteb_predictions, is_sample_log  # other rooms take them from here
_LABELS = ("group", "image", "caption")
_LONG = (*_LABELS, "score")
_MATCHES = {
    **dict.fromkeys(("1", "1.0", "true", "yes"), True),
    **dict.fromkeys(("0", "0.0", "false", "no"), False),
}
_CONTENTS = {  # by whether it names captions
    False: "The file has no pictures and no captions of its own.",
    True: "The file has captions and no pictures.",
}
_NAMES_ALONE = "The file has names of captions alone, such as {!r}: no texts and no pictures."
_NAME = r"\S*\d\S*"  # what names a caption and is no text: one word with a digit, as cap0


@dataclass(frozen=True)
class ScoreFile:
    """What a score file holds.

    scores : float32 or float64 (n, m, k), finite. truth : int64 (n, m), or None where the file has none.
    ids : n distinct names. tags : one row per group, text; or None.
    images, captions : what the file calls them, text (n, m) and (n, k); None where it numbers them.
    read_as : what columns were taken for, where another order would look alike; "" where each is named.
    ids_given : False where the file does not name its groups, whose ids are the numbers of its rows.
    """

    scores: np.ndarray
    truth: np.ndarray | None
    ids: list[str]
    tags: pd.DataFrame | None = None
    images: np.ndarray | None = None
    captions: np.ndarray | None = None
    read_as: str = ""
    ids_given: bool = True

    def __repr__(self) -> str:
        n, m, k = self.scores.shape
        truth = "without truth" if self.truth is None else "with truth"
        tags = "" if self.tags is None else f", {counted(len(self.tags.columns), 'tag')}"
        return f"<scores of {n} groups of {m}x{k}, {truth}{tags}>"

    def groups(self, name: str, **about: str) -> GroupSet:
        """The groups as a set without truth: ids, tags, and what the file calls images and captions; no pictures.

        Images without names are each its own, and captions are numbered from 1. about : title, source, licence,
        citation and description of the set.
        """
        n, m, k = self.scores.shape
        if self.images is not None:
            images = [tuple(map(RowImage, names)) for names in self.images.tolist()]
        else:  # groups that shared a name would count as one
            images = [
                tuple(RowImage(f"{each}, image {image_name(i)}", f"image {image_name(i)}") for i in range(m))
                for each in self.ids
            ]
        captions = [tuple(f"caption {j + 1}" for j in range(k))] * n
        if self.captions is not None:
            captions = [tuple(text or "no text" for text in texts) for texts in self.captions.tolist()]
        rows = [{}] * n if self.tags is None else _tag_rows(self.tags)
        groups = tuple(
            Group(str(each), shown, texts, None, row)
            for each, shown, texts, row in zip(self.ids, images, captions, rows, strict=True)
        )
        return GroupSet(name, groups, **{"description": self._contents(), **about})

    def _contents(self) -> str:
        """What there is to see beside the scores, a sentence."""
        if self.captions is not None and self._only_names_captions():
            return _NAMES_ALONE.format(str(self.captions[0, 0]))
        return _CONTENTS[self.captions is not None]

    def _only_names_captions(self) -> bool:
        """Whether every caption is a name such as cap0, and no text."""
        names = None if self.captions is None else np.unique(self.captions)
        return names is not None and all(re.fullmatch(_NAME, name) for name in names.tolist())


class _Tags(Mapping[str, str]):
    """The tags of one group: its values, and the names that all groups share."""

    __slots__ = ("_places", "_values")

    def __init__(self, places: Mapping[str, int], values: tuple[str, ...]) -> None:
        self._places, self._values = places, values

    def __getitem__(self, name: str) -> str:
        return self._values[self._places[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _tag_rows(tags: pd.DataFrame) -> Sequence[Mapping[str, str]]:
    """A row of tags for each group, every text once: as dictionaries of texts 10,000 rows of 195 took 190 MB."""
    places = {str(name): i for i, name in enumerate(tags)}
    same: dict[str, str] = {}
    columns = [[same.setdefault(v, v) for v in tags[name].fillna("").astype(str).tolist()] for name in tags]
    return [_Tags(places, values) for values in zip(*columns, strict=True)]


def read_scores(path: Path | str, data: bytes | None = None) -> ScoreFile:
    """Scores of groups from a file in one of the formats above, or a zip with one such file; its name's ending decides.

    `data` : the file's bytes, where it is an upload. Raises InputError, in one sentence, for anything wrong in it.
    """
    if Path(path).suffix.lower() == ".zip":
        path, data = _unpacked(Path(path), data)
    suffix = Path(path).suffix.lower()
    if suffix not in _FORMATS:
        raise InputError(f"{path} is not a score file; its name must end in {', '.join(_FORMATS)}.")
    file = _FORMATS[suffix][0](path, read_bytes(path, data))
    repeated = pd.Index(file.ids)[pd.Index(file.ids).duplicated()]
    if len(repeated):
        raise InputError(f"{path} has several groups with id {repeated[0]!r}; make ids distinct.")
    try:
        scores = check_scores(file.scores, file.ids)
        n, m, k = scores.shape
        truth = None if file.truth is None else check_truth(file.truth, n, m, k, ids=file.ids)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return replace(file, scores=scores, truth=truth)


def write_scores(
    path: Path | str,
    scores: np.ndarray,
    ids: Sequence[str] | None = None,
    truth: np.ndarray | None = None,
    tags: pd.DataFrame | None = None,
) -> None:
    """Write scores (n, m, k) so that `read_scores` gives back the same numbers; see there for the formats."""
    suffix = Path(path).suffix.lower()
    write = _FORMATS[suffix][1] if suffix in _FORMATS else None
    if write is None:
        endings = ", ".join(ending for ending, (_, writes) in _FORMATS.items() if writes is not None)
        raise InputError(f"Scores cannot be written to {path}; its name must end in {endings}.")
    array = check_scores(scores)
    names = [str(i) for i in range(len(array))] if ids is None else [str(name) for name in ids]
    assert len(names) == len(array) and (tags is None or len(tags) == len(array))
    file = ScoreFile(array, truth, names, None if tags is None else tags.astype(str))
    with storage_errors(Path(path)):
        write_bytes(Path(path), write(file))


def read_tags(path: Path | str, data: bytes | None = None, ids: Sequence[str] | None = None) -> pd.DataFrame:
    """A table of tags: column `id` (or `group`, as in score files), one further column per tag, all text.

    ids : of groups; the tags alone, a row for each of these in their order. Raises InputError for a repeated id and
    for a group without a row.
    """
    table = open_table(path, read_bytes(path, data)).frame()
    if "id" not in table and "group" in table:
        table = table.rename(columns={"group": "id"})
    if "id" not in table:
        columns = ", ".join(map(repr, table.columns))
        raise InputError(f"{path} has neither a column 'id' nor 'group' among: {columns}; add one of them.")
    repeated = table["id"][table["id"].duplicated()]
    if len(repeated):
        raise InputError(
            f"{path} has several rows with id {repeated.iloc[0]!r}; leave all but one of them out."
        )
    if ids is None:
        return table
    indexed = table.assign(id=table["id"].astype(str)).set_index("id")
    missing = [name for name in ids if name not in indexed.index]
    if len(missing) == len(ids) and list(ids) == [str(i) for i in range(len(ids))]:
        raise InputError(
            f"{path} has no row for {_first_few([repr(name) for name in missing[:_LISTED]], len(missing))}: the file "
            f"that it belongs to only numbers its groups, 0 to {len(ids) - 1}. Name the rows of the tags by these "
            "numbers, or give the groups their names: in an NPZ of scores add an array 'ids' with the name of each "
            "group, in the order of its scores: numpy.savez('named.npz', scores=..., ids=...)."
        )
    if missing:
        raise InputError(
            f"{path} has no row for {_first_few([repr(name) for name in missing[:_LISTED]], len(missing))}; its column "
            "`group` (or `id`) must name every group, or every image of a retrieval set."
        )
    return indexed.loc[list(ids)].reset_index(drop=True)


class _CaptionColumns(NamedTuple):
    """The columns `caption_0`, `caption_1`, ... of a table of tags, as Winoground's own has them."""

    all: list[str]  # none of which is a tag: each group has a text of its own there
    used: list[str]  # in the order of the captions; [] unless there is one for each


def _caption_columns(table: pd.DataFrame, captions: int) -> _CaptionColumns:
    named = [name for name in map(str, table.columns) if re.fullmatch(r"caption_\d+", name)]
    wanted = [f"caption_{j}" for j in range(captions)]
    return _CaptionColumns(named, wanted if {*named} == {*wanted} else [])


def _tags_without_captions(path: Path | str, ids: Sequence[str]) -> pd.DataFrame:
    """`read_tags` of a table whose captions, if it has any, nobody asks for: they are no tags."""
    table = read_tags(path, ids=ids)
    return table.drop(columns=_caption_columns(table, 0).all)


# --- the long form: CSV and Parquet

_VECTOR = r"\[?\s*[-+.\de]+(?:[\s,;]+[-+.\de]+){3,}\s*\]?"  # four numbers or more
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*,\d+\s*")
_Where = Callable[[int], str]  # a row of the table, named for people
_Shape = tuple[int, int, int]  # (n, m, k)


def _read_long(path: Path | str, content: bytes) -> ScoreFile:
    opened = open_table(path, content)
    if "score" not in opened.columns and any(map(_CELL.fullmatch, opened.columns)):
        return _read_groups(path, opened)
    if "score" not in opened.columns and (models := _pair_names(opened.columns)):
        broken = next((each for each in models if each.shape is None), None)
        if broken is not None:
            raise InputError(f"{path}: {broken.fault}.")
        if len(models) > 1:
            firsts = ", ".join(next(iter(each.cells)) for each in models)
            raise InputError(
                f"{path} has scores of {len(models)} models, whose columns begin with {firsts}; leave one model's in "
                "the file, or name its columns."
            )
        return _read_groups(path, opened)
    if "score" not in opened.columns and _holds_vectors(opened.frame()):
        raise InputError(
            f"{path} has no column 'score' and seems to hold vectors; embeddings are read from an NPZ, "
            "numpy.savez('my.npz', img=..., cap=...), which commands take as --embeddings my.npz."
        )
    return _read_cells(path, opened.frame(_LONG))


def _read_cells(path: Path | str, table: pd.DataFrame, unit: str = "row") -> ScoreFile:
    """A row of the table for each score. unit : what it is in the file; a row counts the header as the first."""
    missing = (
        table[[*_LONG, *({"match"} & {*table.columns})]].isna().any()
        if unit == "line"
        else table.isna().any()
    )
    if missing.any():
        raise InputError(
            f"{path} has an empty cell in column {missing.idxmax()!r}; fill it or leave its group out."
        )
    labels = {name: table[name].astype(str).str.strip() for name in _LABELS}

    def where(row: int) -> str:
        # A CSV with line breaks inside its cells has other line numbers; the labels are right in any case.
        return (
            f"{unit} {row + (2 if unit == 'row' else 1)} ("
            + ", ".join(f"{n} {c.iloc[row]!r}" for n, c in labels.items())
            + ")"
        )

    values = _numbers(path, table["score"], where)
    group, ids = pd.factorize(labels["group"])
    image, m, image_names = numbered(group, labels["image"])
    caption, k, caption_names = numbered(group, labels["caption"])
    _check_one_shape(path, ids, {"images": m, "captions": k})
    shape = (len(ids), int(m[0]), int(k[0]))
    check_shape(path, *shape)
    cell = (group * shape[1] + image) * shape[2] + caption
    repeated = np.flatnonzero(pd.Series(cell).duplicated())
    if len(repeated):
        if len(repeated) == 1:
            raise InputError(f"{path}: {where(int(repeated[0]))} is there twice; leave one of them out.")
        listed = _first_few([where(int(row)) for row in repeated[:_LISTED]], len(repeated))
        raise InputError(f"{path}: {len(repeated)} {unit}s are there twice: {listed}; leave one of each out.")
    _check_complete(path, cell, shape, labels)
    scores = np.empty(len(cell))
    scores[cell] = values
    match = (
        _matches(path, table["match"], cell, shape, ids, labels["image"], where) if "match" in table else None
    )
    tags = table[[c for c in table.columns if c not in {*_LONG, "match"}]]
    names = [None if texts is None else texts.reshape(len(ids), -1) for texts in (image_names, caption_names)]
    image_texts, caption_texts = names
    return ScoreFile(
        scores.reshape(shape), match, list(ids), _constant(tags, group), image_texts, caption_texts
    )


def _holds_vectors(table: pd.DataFrame) -> bool:
    """Whether a table has eight columns of numbers or more, or a column of lists of numbers."""
    numbers = table.head().apply(pd.to_numeric, errors="coerce").notna().all()
    lists = table.head().astype(str).apply(lambda column: column.str.fullmatch(_VECTOR).all())
    return bool(len(table)) and (int(numbers.sum()) >= 8 or bool(lists.any()))


def _check_one_shape(path: Path | str, ids: pd.Index, sizes: dict[str, np.ndarray]) -> None:
    for what, counts in sizes.items():
        odd = np.flatnonzero(counts != counts[0])
        if len(odd):
            several = f"{len(odd)} groups have other {what} than the first: " if len(odd) > 1 else ""
            name, first, own = ids[odd[0]], ids[0], counted(int(counts[odd[0]]), what.removesuffix("s"))
            raise InputError(
                f"{path}: {several}group {name!r} has {own} and group {first!r} has {counts[0]}; "
                "add what is missing, or put groups of different shapes into separate files."
            )


def _check_complete(
    path: Path | str, cells: np.ndarray, shape: _Shape, labels: Mapping[str, pd.Series]
) -> None:
    """Raise InputError where distinct cell numbers leave some out; it names the first few as the file does."""
    n, m, k = shape
    count = n * m * k - len(cells)
    if not count:
        return
    ordered = np.concatenate([[-1], np.sort(cells), [n * m * k]])
    before = np.flatnonzero(np.diff(ordered) > 1)[:_LISTED]  # a gap at least behind each
    gaps = [range(int(ordered[place]) + 1, int(ordered[place + 1])) for place in before]
    absent = list(islice(chain.from_iterable(gaps), _LISTED))
    missing = []
    for cell in absent:
        rows = ((cells // (m * k) == cell // (m * k)), (cells // k == cell // k), (cells % k == cell % k))
        group, image = rows[0], rows[1]
        known = zip(_LABELS, (group, image, group & rows[2]), strict=True)  # a row with this label
        missing.append(", ".join(f"{name} {labels[name].iloc[mask.argmax()]!r}" for name, mask in known))
    if count == 1:
        raise InputError(f"{path}: the score of {missing[0]} is missing; add its row.")
    raise InputError(
        f"{path}: {count} scores are missing, those of {_first_few(missing, count, '; ')}; add their rows."
    )


_LISTED = 3  # faults that one sentence names


def _first_few(faults: Sequence[str], count: int, mark: str = ", ") -> str:
    return mark.join(faults) + (f"{mark}…" if count > len(faults) else "")


def _shown(value: Any, empty: str = "empty") -> str:
    """What stands in a file, for people: two quotes with nothing between them were taken for a misprint."""
    return empty if isinstance(value, str) and not value.strip() else repr(value)


def _numbers(path: Path | str, column: pd.Series, where: _Where) -> np.ndarray:
    bad = np.flatnonzero(~np.isfinite(pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)))
    if len(bad):
        texts = [str(column.iloc[row]) for row in bad[:_LISTED]]
        raise _not_finite(
            path,
            [_shown(text) for text in texts],
            [where(int(row)) for row in bad[:_LISTED]],
            len(bad),
            all(map(_DECIMAL_COMMA.fullmatch, texts)),
        )
    # Python's own conversion: pandas' may be a last digit off, and what was written must come back.
    return column.astype(object).to_numpy().astype(np.float64)


def _not_finite(
    path: Path | str, values: Sequence[str], places: Sequence[str], count: int, is_comma: bool = False
) -> InputError:
    """The error of scores that are no finite numbers. values, places : the first of them; count : of all. is_comma :
    they are decimal commas."""
    if count == 1:
        hint = "write the decimal comma as a point" if is_comma else "it must be a finite number"
        return InputError(f"{path}: the score in {places[0]} is {values[0]}; {hint}.")
    what, hint = "are no finite numbers", "mend them"
    if is_comma:
        what, hint = "have a decimal comma", "write a point (spreadsheets do in an English locale)"
    listed = [f"{value} in {place}" for value, place in zip(values, places, strict=True)]
    return InputError(f"{path}: {count} scores {what}: {_first_few(listed, count)}; {hint}.")


def _matches(
    path: Path | str,
    column: pd.Series,
    cell: np.ndarray,
    shape: _Shape,
    ids: pd.Index,
    images: pd.Series,
    where: _Where,
) -> np.ndarray:
    """The caption of each image, int64 (n, m), from a column that is 1 where they belong together; of groups of one
    image all that are true of it, (n, t)."""
    known = column.astype(str).str.strip().str.lower().map(_MATCHES)
    if known.isna().any():
        row = int(known.isna().to_numpy().argmax())
        raise InputError(f"{path}: `match` in {where(row)} is {_shown(str(column.iloc[row]))}; write 1 or 0.")
    matrix = np.zeros(len(cell), dtype=bool)
    matrix[cell] = known.to_numpy(dtype=bool)
    matrix = matrix.reshape(shape)
    counts = matrix.sum(axis=2)
    usual = int(np.bincount(counts[:, 0]).argmax()) if shape[1] == 1 else 1
    several = 1 < usual < shape[2]
    wrong = np.argwhere(counts != (usual if several else 1))
    if len(wrong):
        g, i = wrong[0]
        name = images.iloc[int((cell // shape[2] == g * shape[1] + i).argmax())]  # as the file calls it
        raise InputError(
            f"{path}: image {name!r} of group {ids[g]!r} has {counted(int(counts[g, i]), 'caption')} with match = 1; "
            f"{_needed(shape, usual)}."
        )
    if several:
        return np.nonzero(matrix)[2].reshape(len(matrix), -1)  # they are true of the one image
    return matrix.argmax(axis=2)


def _needed(shape: _Shape, usual: int) -> str:
    """How many captions may be true of each image: truth holds as many in every group, and several of one image."""
    _, m, k = shape
    if m > 1:
        return "where a group has several images each needs exactly one"
    if usual < 2:
        return "it needs exactly one" + (", or every group as many" if k > 2 else "")
    if usual == k:
        return f"all {k} cannot be true, so leave at least one caption of each group at 0"
    return f"other groups have {usual}, and all need as many, so put the others into a file of their own"


def _constant(columns: pd.DataFrame, group: np.ndarray) -> pd.DataFrame | None:
    """The columns with one value per group, one row per group, as text; None if there are none."""
    if not len(columns.columns):
        return None
    grouped = columns.astype(str).groupby(group)
    tags = grouped.first().loc[:, (grouped.nunique() == 1).all()].reset_index(drop=True)
    return tags if len(tags.columns) else None


def _to_long(file: ScoreFile) -> pd.DataFrame:
    g, i, j = (axis.ravel() for axis in np.indices(file.scores.shape))
    columns = {"group": np.array(file.ids, dtype=object)[g], "image": i, "caption": j}
    table = pd.DataFrame({**columns, "score": file.scores.ravel().astype(np.float64)})
    if file.truth is not None:
        own = file.truth[g] if file.scores.shape[1] == 1 else file.truth[g, i][:, None]
        table["match"] = (own == j[:, None]).any(axis=1).astype(int)
    if file.tags is None:
        return table
    clash = {*_LONG, "match"} & set(map(str, file.tags.columns))
    if clash:
        raise InputError(f"A tag cannot be called {min(clash)!r} in a score table; give it another name.")
    return pd.concat([table, file.tags.iloc[g].reset_index(drop=True)], axis=1)


def _write_long(suffix: str) -> Callable[[ScoreFile], bytes]:
    return lambda file: table_bytes(_to_long(file), suffix)


# --- JSON lines


def _read_json(path: Path | str, content: bytes) -> ScoreFile:
    value = parse_json(content, path)
    if isinstance(value, list):
        del value  # parsed again: never twice in memory
        return _read_lines(path, content)
    if not is_mteb_predictions(value):
        raise InputError(
            f"{path} holds no scores of groups: neither predictions of MTEB (`mteb_model_meta`) nor a list of objects "
            "with `c0_i0`, `c1_i0`, ...; choose another file."
        )
    found = read_mteb_predictions(path, value)
    n, m, _ = found.scores.shape
    return ScoreFile(found.scores, np.tile(np.arange(m), (n, 1)), found.ids, found.parts)


class _Line(NamedTuple):
    """One group: its scores (m, k), its id, the caption of each image or None, and what else it holds, as text."""

    cells: np.ndarray
    id: str
    truth: np.ndarray | None
    tags: dict[str, str]


def _read_lines(path: Path | str, content: bytes) -> ScoreFile:
    opened = open_table(path, content)
    first = next(opened.sound_rows(), None)
    if first is not None and is_sample_log(first.cells):
        log = read_sample_log(path, content)
        return ScoreFile(log.log_probs, log.own, log.ids, log.tags, None, log.captions)
    if first is not None and _has_a_score_per_line(first.cells):
        return _read_cells(path, _frame_of_lines(opened, _LONG), opened.unit)
    return _read_groups(path, opened)


def _read_groups(path: Path | str, opened: Table) -> ScoreFile:
    """A group for each line or row, one by one: objects take many times their text."""
    lines: list[_Line] = []
    names: set[str] = set()
    pairs, ids_given = _read_names(opened.columns), False
    for row in opened.sound_rows():
        cells = row.cells if pairs is None else pairs.renamed(row.cells)
        ids_given |= "id" in cells
        if opened.of_texts:
            cells = {key: _value(key, text) for key, text in cells.items()}
        line = _line(f"{path}: {opened.unit} {row.number}", cells, len(lines))
        lines.append(line)
        m, k = line.cells.shape
        if (m, k) != (first := lines[0].cells.shape):
            raise InputError(
                f"{path}: {opened.unit} {row.number} has {m} images and {k} captions, the first {opened.unit} "
                f"{first[0]} and {first[1]}; put groups of different shapes into separate files."
            )
        names.update(line.tags)
        if len(lines) % 1000 == 1:
            between_blocks()
            check_shape(path, len(lines), m, k)
            check(path, columns=len(names), cells=len(lines) * len(names))
    if not lines:
        raise InputError(f"{path} has no {opened.unit}s; choose another file.")
    check_shape(path, len(lines), *lines[0].cells.shape)
    check_cells(path, len(lines), len(names))
    tags = pd.DataFrame.from_records([line.tags for line in lines]).fillna("") if names else None
    scores = np.stack([line.cells for line in lines])
    read_as = _meaning("c0_i0") if pairs is None or pairs.is_plain else pairs.read_as
    ids, truth = [line.id for line in lines], _truth(path, lines)
    return ScoreFile(scores, truth, ids, tags, read_as=read_as, ids_given=ids_given)


def _value(key: str, text: str) -> Any:
    """What a text in a table says: of a score its number, of `truth` its list; the text where it is none."""
    try:
        if _CELL.fullmatch(key):
            return float(text)
        return json.loads(text) if key == "truth" else text
    except (ValueError, RecursionError):
        return text


def _line(where: str, cells: dict[str, Any], index: int) -> _Line:
    row = {printable(key): printable(v) if isinstance(v, str) else v for key, v in cells.items()}
    scores = _cells(where, row)
    name = str(row.pop("id", index))
    truth = row.pop("truth", None)
    if truth is not None and (
        not isinstance(truth, list)
        or not (len(truth) == len(scores) or (len(scores) == 1 < len(truth) < scores.shape[1]))
        or any(type(j) is not int or abs(j) > 10**9 for j in truth)
    ):
        raise _truth_error(where, name, truth, len(scores))
    tags = {key: value if isinstance(value, str) else json.dumps(value) for key, value in row.items()}
    return _Line(scores, name, None if truth is None else np.array(truth, dtype=np.int64), tags)


def _cells(where: str, row: dict[str, Any]) -> np.ndarray:
    """Take the scores (m, k) out of an object."""
    hits = {key: hit for key in row if (hit := _CELL.fullmatch(key))}
    positions = {(int(hit[2]), int(hit[1])): key for key, hit in hits.items()}  # (image, caption)
    if not positions:
        has = "a list of scores" if isinstance(row.get("scores"), list) else "no scores"
        raise InputError(
            f"{where} has {has}; name them c0_i0, c1_i0, ... (caption, image), or write a line per score with "
            "group, image, caption and score."
        )
    m, k = (max(position[axis] for position in positions) + 1 for axis in (0, 1))
    check(where, group=len(positions))
    if m * k > len(positions):
        absent = next(f"c{j}_i{i}" for i in range(m) for j in range(k) if (i, j) not in positions)
        raise InputError(f"{where} has no {absent!r}; add it.")
    cells = np.empty((m, k))
    for position, key in positions.items():
        value = row.pop(key)
        # Also false for NaN, and for integers that no float can hold.
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e308:
            raise InputError(
                f"{where} has {_shown(value, 'nothing')} for {key!r}; it must be a finite number."
            )
        cells[position] = value
    return cells


def _truth_error(where: Path | str, name: str, truth: Any, m: int) -> InputError:
    return InputError(
        f"{where}: `truth` of group {name!r} is {json.dumps(truth)}; list the caption index of each of its {m} images, "
        "for all groups or for none."
    )


def _truth(path: Path | str, lines: list[_Line]) -> np.ndarray | None:
    """The caption of each image, (n, m); None where no line tells it, InputError where only some do."""
    truths = [line.truth for line in lines if line.truth is not None]
    if not truths:
        return None
    if len(truths) < len(lines):
        without = next(line for line in lines if line.truth is None)
        raise _truth_error(path, without.id, None, len(without.cells))
    usual = Counter(map(len, truths)).most_common(1)[0][0]
    for line, truth in zip(lines, truths, strict=True):
        if len(truth) != usual:
            raise InputError(
                f"{path}: `truth` of group {line.id!r} names {counted(len(truth), 'caption')}, that of other groups "
                f"{usual}; all need as many, so put the others into a file of their own."
            )
    return np.stack(truths)


def _write_lines(file: ScoreFile) -> bytes:
    cells = [f"c{j}_i{i}" for i, j in np.ndindex(file.scores.shape[1:])]
    tags = [] if file.tags is None else list(map(str, file.tags.columns))
    wrong = next((name for name in tags if name in ("id", "truth") or _CELL.fullmatch(name)), None)
    if wrong is not None:
        raise InputError(f"A tag cannot be called {wrong!r} in a score file; give it another name.")
    lines = []
    for g, name in enumerate(file.ids):
        row: dict[str, Any] = {"id": name}
        row |= zip(cells, file.scores[g].ravel().tolist(), strict=True)
        if file.truth is not None:
            row["truth"] = file.truth[g].tolist()
        lines.append(row)
    if file.tags is not None:
        for row, values in zip(lines, file.tags.itertuples(index=False, name=None), strict=True):
            row |= zip(tags, map(str, values), strict=True)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in lines).encode()


# --- NPZ


def _read_npz(path: Path | str, content: bytes) -> ScoreFile:
    arrays = read_arrays(path, content)
    if "scores" not in arrays:
        hint = "add it" if len(arrays) < 2 else "add it (embeddings go to `crossmatch evaluate --embeddings`)"
        raise InputError(f"{path} has no array 'scores' among: {', '.join(arrays) or 'no arrays'}; {hint}.")
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
    check(path, unfolded=sum(map(_letters_bytes, texts.values())))
    ids_given = "ids" in texts
    ids = _texts(texts.pop("ids", np.arange(n))).tolist()
    if scores.dtype.kind == "f":
        _check_finite(path, scores, ids)
    columns = {name.removeprefix("tag_"): pd.Series(_texts(texts[name]), dtype="str") for name in texts}
    tags = pd.DataFrame(columns) if columns else None
    return ScoreFile(scores, arrays.get("truth"), ids, tags, ids_given=ids_given)


_MOST_SIDE = 5  # images of a group whose scores may lie in one row: a longer row may as well be an embedding


def _read_npy(path: Path | str, content: bytes) -> ScoreFile:
    array, read_as = _read_array(path, content), ""
    side = math.isqrt(array.shape[1]) if array.ndim == 2 else 0
    if 2 <= side <= _MOST_SIDE and side * side == array.shape[1]:
        array = array.reshape(-1, side, side)
        read_as = (
            f"Each row of {side * side} is read as a group of {side} images and {side} captions: first the scores of "
            "image A with every caption."
        )
    if array.ndim != 3:
        raise InputError(
            f"{path}: the array has shape {array.shape}; scores need (groups, images, captions), and embeddings two "
            "arrays in an NPZ: numpy.savez('my.npz', img=..., cap=...)."
        )
    check_shape(path, *array.shape)
    ids = [str(g) for g in range(len(array))]
    if array.dtype.kind == "f":
        _check_finite(path, array, ids)
    return ScoreFile(array, None, ids, read_as=read_as, ids_given=False)


def _check_finite(path: Path | str, scores: np.ndarray, ids: Sequence[str]) -> None:
    """Raise InputError with the first cells of an array that are no finite numbers."""
    finite = np.isfinite(scores)
    if finite.all():
        return
    cells = np.argwhere(~finite)
    first = cells[:_LISTED].tolist()
    places = [f"scores[{g}, {i}, {j}] (group {ids[g]!r}, image {i}, caption {j})" for g, i, j in first]
    raise _not_finite(path, [str(scores[g, i, j]) for g, i, j in first], places, len(cells))


def _letters_bytes(values: np.ndarray) -> int:
    """Bytes of an array as text: four for a letter, of which a byte of an array of bytes may be one."""
    return values.nbytes * (4 if values.dtype.kind == "S" else 1)


def _texts(values: np.ndarray) -> np.ndarray:
    return np.char.decode(values, "utf-8", "replace") if values.dtype.kind == "S" else values.astype(str)


def _write_npz(file: ScoreFile) -> bytes:
    arrays: dict[str, Any] = {"scores": file.scores, "ids": np.array(file.ids, dtype=str)}
    if file.truth is not None:
        arrays["truth"] = file.truth
    for name, values in {} if file.tags is None else file.tags.items():
        arrays[f"tag_{name}"] = values.to_numpy(dtype=str)
    return arrays_bytes(arrays)


# Ending -> reader of (path, bytes), writer to bytes; None where others' tools alone write it
_FORMATS: dict[str, tuple[Callable[[Path | str, bytes], ScoreFile], Callable[[ScoreFile], bytes] | None]] = {
    ".csv": (_read_long, _write_long(".csv")),
    ".parquet": (_read_long, _write_long(".parquet")),
    ".npz": (_read_npz, _write_npz),
    ".npy": (_read_npy, None),
    ".jsonl": (_read_lines, _write_lines),
    ".json": (_read_json, None),
}
