"""From a user's table to groups: every cell checked, every fault with its row and column."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from core.base.table_formats import Row, Table
from core.base.text import counted
from core.exchange._import_images import ImageFinder, ImageStore, RowError
from core.exchange.columns import ColumnMapping

MAX_GROUPS = 200_000
_MAX_SIDE = 64  # images or captions of a group
_MAX_CAPTION = 2000  # characters
_MAX_LISTED = 1000  # problems that are listed word by word; all are counted


class Problem(NamedTuple):
    """One thing that is wrong."""

    row: int | None  # as a spreadsheet counts: the header is row 1; a line of JSONL; None: the whole file
    column: str  # "" where it is the whole row
    what: str
    fix: str
    fatal: bool = True  # its group is left out; otherwise the group is kept as it is


@dataclass
class _Problems:
    """A bounded list of problems that knows how many there were."""

    kept: list[Problem] = field(default_factory=list)
    fatal: int = 0
    total: int = 0

    def add(self, problem: Problem) -> None:
        """Count a problem, and keep it while there is room; fatal ones displace remarks."""
        self.total += 1
        self.fatal += problem.fatal
        if len(self.kept) < _MAX_LISTED:
            self.kept.append(problem)
        elif problem.fatal:
            spare = next((i for i in reversed(range(_MAX_LISTED)) if not self.kept[i].fatal), None)
            if spare is not None:
                self.kept[spare] = problem


# --- groups


@dataclass
class DraftGroup:
    """A group as far as it is known: names of stored images, captions, the answer, tags."""

    row: int
    id: str
    images: list[str] = field(default_factory=list)
    captions: list[str] = field(default_factory=list)
    truth: list[int] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    is_whole: bool = True  # whether every cell of its row can be used
    empty: str = ""  # the first column behind its last caption, whose cell is empty

    def record(self) -> dict[str, Any]:
        """As a line of groups.jsonl."""
        return {name: value for name, value in asdict(self).items() if name not in _OF_ROW}


_OF_ROW = ("row", "is_whole", "empty")  # of a draft, not of its group


class RowReader:
    """Goes through a table once and yields the groups that are right; what is not is in `problems`."""

    def __init__(self, table: Table, columns: ColumnMapping, keeper: ImageStore) -> None:
        self.table, self.columns, self.keeper = table, columns, keeper
        self.finder = ImageFinder(table.folder, self._names_of_images)
        self.problems = _Problems()
        self._ids: dict[str, int] = {}
        self.repeated = 0  # groups with the images and captions of an earlier one
        self._contents: dict[int, str] = {}  # hash of images and captions -> the group that had them first

    def groups(self) -> Iterator[DraftGroup]:
        """Groups in the order of the table (of their first rows, where a row is an image with its caption)."""
        rows = self._sound_rows()
        drafts = self._long(rows) if self.columns.group else map(self._wide, rows)
        for draft in drafts:
            if draft is not None and self._sound(draft):
                yield draft

    def _names_of_images(self) -> Iterator[str]:
        """What all rows call their images."""
        for row in islice(self.table.rows(self.columns.images), MAX_GROUPS):
            values = (value for _, cell in _cells(row, self.columns.images) for value in cell)
            yield from (value.strip() for value in values if isinstance(value, str))

    def _sound_rows(self) -> Iterator[Row]:
        for count, row in enumerate(self.table.rows()):
            if count >= MAX_GROUPS:
                what = f"the table has more than {MAX_GROUPS} rows"
                self.problems.add(Problem(row.number, "", what, "split it into several sets"))
                return
            if row.fault:
                self.problems.add(Problem(row.number, "", f"the {self.table.unit} {row.fault}", row.fix))
            elif self.table.of_texts:  # spaces beside a comma mean nothing
                yield row._replace(cells={name: text.strip() for name, text in row.cells.items()})
            else:
                yield row

    def _tell(self, row: int, column: str, wrong: RowError, fatal: bool = True) -> None:
        self.problems.add(Problem(row, column, wrong.what, wrong.fix, fatal))

    # --- one row, one group

    def _wide(self, row: Row) -> DraftGroup:
        draft = DraftGroup(row.number, self._id(row))
        for names, made, use in (
            (self.columns.images, draft.images, self._image),
            (self.columns.captions, draft.captions, _caption),
        ):
            for column, values in _cells(row, names):
                try:
                    made += [use(value) for value in values]
                except RowError as wrong:
                    draft.is_whole = False
                    made += [""] * len(values)  # so that the row's answer and its size are checked, too
                    self._tell(row.number, column, wrong)
        draft.tags = self._tags(row)
        m, k = len(draft.images), len(draft.captions)
        draft.empty = next(iter(self.columns.captions[len(_cells(row, self.columns.captions)) :]), "")
        if not 1 <= m <= k or k < 2:
            return draft  # told as what it is, before anybody asks for its answer
        try:
            draft.truth = self._answer(row, m, k)
        except RowError as wrong:
            draft.is_whole = False
            self._tell(row.number, self.columns.truth, wrong)
        return draft

    def _id(self, row: Row) -> str:
        value = row.cells.get(self.columns.id) if self.columns.id else None
        text = "" if value is None else str(value).strip()
        return text if text and _encodable(text) else f"{row.number}"

    def _image(self, value: Any) -> str:
        """The stored name of what a cell holds: a file's name, or an image as Hugging Face stores it."""
        if isinstance(value, dict) and ("bytes" in value or "path" in value):
            value = value.get("bytes") or value.get("path")
        if isinstance(value, bytes):
            return self.keeper.add(value, "the image in this cell")
        if not isinstance(value, str) or not value.strip():
            what = "there is no image" if value is None or value == "" else f"{value!r} is not an image"
            raise RowError(what, "name a file")
        return self.keeper.add(self.finder.read(value.strip()), value.strip())

    def _image_if_any(self, value: Any) -> str | None:
        return None if value in (None, "") else self._image(value)

    def _answer(self, row: Row, m: int, k: int) -> list[int]:
        if not self.columns.truth:
            return list(range(m))
        return _indices(row.cells.get(self.columns.truth), m, k)

    def _tags(self, row: Row) -> dict[str, str]:
        tags: dict[str, str] = {}
        for column in self.columns.tags or ():
            value = row.cells.get(column)
            if column == "tags" and isinstance(value, dict):
                tags |= {_word(str(name)): _word(each) for name, each in value.items()}
            elif value is not None and _word(value):
                tags[_word(column)] = _word(value)
        return tags

    # --- one row, one image with its caption

    def _long(self, rows: Iterator[Row]) -> Iterator[DraftGroup | None]:
        drafts: dict[str, DraftGroup | None] = {}
        (picture,), (text,) = self.columns.images, self.columns.captions
        for row in rows:
            name = _word(row.cells.get(self.columns.group))
            if not name:
                self._tell(
                    row.number, self.columns.group, RowError("no group is named", "write the group's name")
                )
                continue
            draft = drafts.setdefault(name, DraftGroup(row.number, name))
            made: list[Any] = []
            for column, use in ((text, _caption), (picture, self._image_if_any)):
                try:
                    made.append(use(row.cells.get(column)))
                except RowError as wrong:
                    self._tell(row.number, column, wrong)
            if len(made) < 2:
                drafts[name] = None
            elif draft is not None:
                caption, image = made
                _join(draft, image, caption)
                draft.tags = _common(draft, self._tags(row))
        yield from drafts.values()

    # --- whole groups

    def _sound(self, draft: DraftGroup) -> bool:
        """Whether a group can be scored; remarks on one that can. Of one with a cell that cannot be used its size and
        its id are checked, too: whoever mends a row hears all of it at once."""
        is_sized, is_new = self._is_sized(draft), self._has_own_id(draft)
        if not (draft.is_whole and is_sized and is_new):
            return False
        self._remark(draft)
        return True

    def _is_sized(self, draft: DraftGroup) -> bool:
        """Whether a group has images and captions enough, and not too many."""
        m, k = len(draft.images), len(draft.captions)
        few = (
            f"the group has {counted(k, 'caption')}" if any(draft.captions) else "a second caption is missing"
        )
        more = f"the group has {m} images and {k} captions"
        faults = [
            (m < 1, "", "the group has no image", "add one"),
            (k < 2, draft.empty, few, "add another: a group needs at least two"),
            (m > k, draft.empty, more, "add captions, or leave images out"),
            (
                max(m, k) > _MAX_SIDE,
                "",
                f"the group has {max(m, k)} images or captions",
                f"use at most {_MAX_SIDE}",
            ),
        ]
        for wrong, column, what, fix in faults:
            if wrong:
                self._tell(draft.row, column, RowError(what, fix))
                return False
        return True

    def _has_own_id(self, draft: DraftGroup) -> bool:
        first = self._ids.setdefault(draft.id, draft.row)
        if first == draft.row:
            return True
        what = f"the id {draft.id!r} is used by row {first} already"
        self._tell(draft.row, self.columns.id, RowError(what, "give this one another id, or leave it out"))
        return False

    def _remark(self, draft: DraftGroup) -> None:
        """What is odd about a group that can be scored."""
        m, k = len(draft.images), len(draft.captions)
        if len(set(draft.captions)) < k:
            self._tell(
                draft.row,
                ", ".join(self.columns.captions),
                RowError("two captions are identical, so they always tie", "change one of them"),
                False,
            )
        if len(set(draft.images)) < m:
            self._tell(
                draft.row,
                ", ".join(self.columns.images),
                RowError("two images are identical, so they always tie", "change one of them"),
                False,
            )
        content = hash((tuple(sorted(draft.images)), tuple(sorted(draft.captions))))
        first = self._contents.setdefault(content, draft.id)
        if first != draft.id:
            self.repeated += 1
            what = f"group {draft.id!r} has the images and captions of group {first!r}, and counts twice"
            places = ", ".join((*self.columns.images, *self.columns.captions))
            self._tell(draft.row, places, RowError(what, "leave one of them out"), False)


def _list(value: Any) -> list[Any]:
    """A cell as the list of what it holds; an empty one holds nothing (groups may have fewer than the widest)."""
    if isinstance(value, list | tuple):
        return list(value)
    return [] if value is None or value == "" else [value]


def _cells(row: Row, names: tuple[str, ...]) -> list[tuple[str, list[Any]]]:
    """Columns with what their cells hold, up to the last that holds anything; a gap before it is an empty cell."""
    found = [(name, _list(row.cells.get(name))) for name in names]
    while len(found) > 1 and not found[-1][1]:
        found.pop()
    return [(name, values or [None]) for name, values in found]


def _caption(value: Any) -> str:
    if value is None or (isinstance(value, str) and not value.strip()):
        raise RowError("there is no caption", "write one")
    if not isinstance(value, str):
        raise RowError(f"{value!r} is not text", "write the caption as text")
    if len(value) > _MAX_CAPTION:
        raise RowError(f"the caption has {len(value)} characters", f"use at most {_MAX_CAPTION}")
    if any(ord(c) < 32 and c not in "\t\r\n" for c in value) or not _encodable(value):
        raise RowError("the caption holds characters that are not text", "save the table as UTF-8 again")
    return value


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates, which JSON can spell
        return False
    return True


def _word(value: Any) -> str:
    """A tag's or a group's name as text."""
    if isinstance(value, str):
        return value.strip() if _encodable(value) else ""
    if value is None or isinstance(value, bytes):
        return ""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if _encodable(text) else json.dumps(value, default=str)


def _indices(value: Any, m: int, k: int) -> list[int]:
    """The caption of each image from `1 0`, `[1, 0]`, `1,0` or a number; of one image all that are true of it."""
    want = f"write {m} caption number{'s' * (m != 1)} from 0 to {k - 1}, such as {' '.join(map(str, range(m)))!r}"
    if value is None or value == "" or value == []:
        raise RowError("the answer is missing", want)
    parts = value if isinstance(value, list) else re.findall(r"[^\s,;\[\]()]+", str(value))
    numbers = [_whole(part) for part in parts]
    if None in numbers or not (len(numbers) == m or (m == 1 < len(numbers) < k)):
        raise RowError(f"{value!r} does not say which caption belongs to which image", want)
    found = [n for n in numbers if n is not None]
    if len(set(found)) < len(found) or not all(0 <= n < k for n in found):
        raise RowError(f"{value!r} names captions that do not exist, or names one twice", want)
    return found


def _whole(part: Any) -> int | None:
    if isinstance(part, bool) or not re.fullmatch(r"\d{1,4}(?:\.0)?", str(part)):
        return None
    return int(float(part))


def _join(draft: DraftGroup, image: str | None, caption: str) -> None:
    """Add an image with its caption, or a caption that belongs to no image."""
    if caption in draft.captions and image is None:
        return  # a distractor that is said twice
    draft.captions.append(caption)
    if image is not None:
        draft.images.append(image)
        draft.truth.append(len(draft.captions) - 1)


def _common(draft: DraftGroup, tags: dict[str, str]) -> dict[str, str]:
    """Tags that all of a group's rows agree on."""
    if len(draft.captions) == 1:
        return tags
    return {name: value for name, value in draft.tags.items() if tags.get(name) == value}
