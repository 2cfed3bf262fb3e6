"""Tables of scores under other headers: which column is which, and the same table with the names that are read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import islice
from math import isfinite
from typing import Any, NamedTuple

from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.base.table_formats import Table
from core.base.text import counted
from core.datasets.score_files import _CELL, _pair_names, _PairNames, _read_names
from core.exchange.file_kinds import _CAPTIONS, _PRIOR, _SCORES, _kind_of_table

_ROWS = 1000  # of a table that are looked at
_ID = r"(?:[_ ]?(?:id|name|file|path|no|nr|number|idx|index))?"
_MEANINGS = {  # in the order in which columns are given away
    "image": rf"(?:image|img|picture|photo|pic|file){_ID}",
    "caption": rf"(?:caption|cap|text|txt|sentence|description|prompt){_ID}",
    "match": r"(?:is_)?(?:match|label|truth|correct|gt|target|positive)",
    "group": rf"(?:group|item|pair|set|example|sample|question|case|id|idx|index){_ID}",
}
_SCORE = r"(?:.*[_ ])?(?:score|sim|similarity|cos|cosine|logit|prob|probability)s?"
_NAMES = ("group", "image", "caption", "score")
_ALIKE = 0.8  # of names that differ by one slip: `scor` and `score` are 0.89 alike, `socre` 0.8
_FEWEST_WORDS = 2.0  # of a column of sentences, on average
_MOST_CAPTIONS = 7  # with a column each: more numbers are a vector
_PICTURE = re.compile(r".+\.(?:png|jpe?g|webp|gif|bmp|tiff?)", re.IGNORECASE)


class _ScoreColumns(NamedTuple):
    """What the columns of a table of scores mean; "" for what it has not.

    scores : the one column of a table with a row per score; or one for each caption, whose names then are the captions;
    or, of a table with a row per group, one for each pair, whose names say which: `clip_c0_i1`, caption 0 with image 1.
    """

    group: str = ""
    image: str = ""
    caption: str = ""
    scores: tuple[str, ...] = ()
    match: str = ""

    @classmethod
    def guessed(cls, table: Table, or_images: bool = True) -> _ScoreColumns | None:
        """By names and by what is in the first rows; None for a table that has the right names, is a language prior or
        does not look like scores.

        or_images : whether it may as well be images and captions, so that names of pictures and sentences say that it
        is. Where somebody says that it is scores, whole numbers of any name will do too.
        """
        kind = _kind_of_table(table)
        if {*_NAMES} <= {*table.columns} or kind == _PRIOR:
            return None
        rows = [row.cells for row in islice(table.rows(), _ROWS) if not row.fault]
        if not rows or any(isinstance(cell, bytes | dict | list) for row in rows for cell in row.values()):
            return None  # pictures, say
        models = [] if "score" in table.columns else _pair_names(table.columns)
        if models:  # one model's are read without being asked about
            whole = [each for each in models if each.shape is not None]
            if not whole or "c0_i0" in table.columns or _read_names(table.columns) is not None:
                return None
            rest = [name for name in table.columns if not any(name in each.cells for each in models)]
            return cls(scores=tuple(whole[0].cells), group=_by_name(rest, True).get("group", ""))
        cells = {name: [_text(row.get(name)) for row in rows] for name in table.columns}
        if or_images and any(map(_is_picture_or_sentence, cells.values())):
            return None
        scores = _score_columns(cells, any_number=not or_images and kind != _SCORES)
        if not scores:
            return None
        found = _by_name([name for name in table.columns if name not in scores], len(scores) > 1)
        if "match" not in found and {"group", "caption"} <= {*found} and len(scores) == 1:
            found["match"] = _match_by_values(cells, {**found, "score": scores[0]})
        return cls(scores=scores, **found)

    @classmethod
    def likely(cls, table: Table) -> _ScoreColumns | None:
        """The guess for a table that somebody gave as scores, on the page as in commands; None too where it has images
        and captions, and no column that is called a score, or nearly so."""
        guess = cls.guessed(table, or_images=False)
        if guess is None or (_kind_of_table(table) == _CAPTIONS and not guess._is_called_scores):
            return None
        return guess

    @classmethod
    def read(cls, text: str, table: Table) -> _ScoreColumns:
        """As written by `written`; what is not named has its own name, where the table has it.

        Raises InputError for another meaning, a meaning twice, and a column that the table has not.
        """
        found: dict[str, list[str]] = {}
        for part in text.split(","):
            meaning, has_name, name = (each.strip() for each in part.partition("="))
            if not has_name or not name or meaning not in (*_NAMES, "match"):
                raise InputError(
                    f"--columns has {part.strip()!r}; give it as group=NAME,image=NAME,caption=NAME,score=NAME, and "
                    "match=NAME if there is one."
                )
            found.setdefault(meaning, []).append(name)
        twice = next((each for each in found if each != "score" and len(found[each]) > 1), None)
        if twice is not None:
            raise InputError(f"--columns names {twice} twice; name one column.")
        missing = [name for names in found.values() for name in names if name not in table.columns]
        if missing:
            raise InputError(
                f"{table.name} has no column {missing[0]!r} among: {', '.join(table.columns)}; name one of them in "
                "--columns."
            )
        used = {name for names in found.values() for name in names}
        for own in (*_NAMES, "match"):
            wide = own in ("caption", "match") and len(found.get("score", ())) > 1
            if own in table.columns and own not in used and not wide:
                found.setdefault(own, [own])
        one = {name: found[name][0] for name in ("group", "image", "caption", "match") if name in found}
        return cls(scores=tuple(found.get("score", ())), **one)

    @property
    def written(self) -> str:
        """`group=item,image=img,caption=cap,score=sim`; of several columns of scores each."""
        named = [*zip(("group", "image", "caption"), self[:3], strict=True)]
        named += [*(("score", name) for name in self.scores), ("match", self.match)]
        return ",".join(f"{meaning}={name}" for meaning, name in named if name)

    def renamed(self, table: Table) -> bytes:
        """The table as CSV with a row per score under the names that are read; further columns stay.

        Raises InputError, a sentence, for a column that is not chosen, has two meanings or holds no numbers.
        """
        self._check()
        frame = table.frame()
        if self._pairs is not None:
            return self._with_a_row_per_group(self._pairs, frame)
        for name in self.scores:
            numbers = pd.to_numeric(frame[name], errors="coerce")
            if numbers.isna().any():
                row = int(numbers.isna().to_numpy().argmax())
                raise InputError(
                    f"{table.name}: column {name!r} holds {str(frame[name].iloc[row])!r} in row {row + 2}, which is no "
                    "number; choose the column that has the scores."
                )
        images: Any = 0
        if self.image:
            images = frame[self.image]
        elif self._is_wide:  # each row is an image
            images = frame.groupby(self.group).cumcount()
        used = {self.group, self.image, self.caption, self.match, *self.scores}
        more = [name for name in frame if name not in {*used, *_NAMES, "match"}]
        base = frame[more].assign(group=frame[self.group], image=images)
        if self.match:
            base["match"] = frame[self.match]
        caption = frame[self.caption] if self.caption else None
        parts = [
            base.assign(caption=name if caption is None else caption, score=frame[name])
            for name in self.scores
        ]
        long = pd.concat(parts).sort_index(kind="stable")
        ordered = [*_NAMES, *(["match"] if self.match else []), *more]
        return long[ordered].to_csv(index=False).encode()

    @property
    def _lacking(self) -> str:
        """The meaning that no column has, without which it is not read: `group` or `caption`; "" of a whole choice."""
        if not self.group:
            return "group"
        return "caption" if self._is_wide and len(self.scores) == 1 and self._pairs is None else ""

    def _looks(self, name: str, columns: Sequence[str]) -> str:
        """That a file looks like scores, under other headers or without one of the columns: the beginning of a sentence
        that says what to do."""
        if self._lacking:
            return f"The column “{self._lacking}” is missing: {name} has {', '.join(columns)}"
        return _looks_renamed(name, columns)

    @property
    def _is_called_scores(self) -> bool:
        """Whether the column of scores has a name of one, and is not merely the one with numbers."""
        return any(_is_score_name(name) or "score" in _misspelt([name]).values() for name in self.scores)

    @property
    def _by_position(self) -> list[str]:
        """Which of group, image, caption and match are guessed by the place of their columns or by what is in them
        alone, which no name says."""
        held = ((meaning, getattr(self, meaning)) for meaning in ("group", "image", "caption", "match"))
        return [m for m, name in held if name and not re.fullmatch(_MEANINGS[m], name.strip().lower())]

    @property
    def _is_wide(self) -> bool:
        return not self.caption

    @property
    def _pairs(self) -> _PairNames | None:
        """The columns of scores as the pairs that their names say; None where they say none."""
        found = _pair_names(self.scores) if self._is_wide else []
        return found[0] if found else None

    @property
    def read_as(self) -> str:
        """What several columns of scores are taken for, a sentence; "" of one column."""
        if self._pairs is not None:
            return self._pairs.read_as
        if not self._is_wide:
            return ""
        count, each = counted(len(self.scores), "caption"), f"{self.scores[0]} to {self.scores[-1]}"
        first = "the first image of a group belongs to the first caption"
        return f"The columns {each} are read as {count}, and each row as an image; {first}."

    def _with_a_row_per_group(self, pairs: _PairNames, frame: pd.DataFrame) -> bytes:
        """The table as CSV with the group as `id` and each score under the name that is read."""
        new = {**pairs.cells, self.group: "id"}
        clash = [name for name in frame if name not in new and (name == "id" or _CELL.fullmatch(str(name)))]
        return frame.drop(columns=clash).rename(columns=new).to_csv(index=False).encode()

    def _check_pairs(self) -> None:
        """Raise InputError where columns of scores say pairs of caption and image, and not all of one model's."""
        pairs = self._pairs
        if pairs is None:
            return
        others = [name for name in self.scores if name not in pairs.cells]
        if others:
            raise InputError(
                f"{next(iter(pairs.cells))} names a caption and an image, and {others[0]} is not of the same kind; "
                "choose the scores of one model."
            )
        if pairs.shape is None:
            raise InputError(f"Of the chosen scores {pairs.fault}.")
        if self.image or self.match:
            raise InputError(
                f"The columns of scores name the images, {next(iter(pairs.cells))} …; choose none under Image and "
                "Match."
            )

    def _check(self) -> None:
        used = [*filter(None, (self.group, self.image, self.caption, self.match)), *self.scores]
        twice = next((name for i, name in enumerate(used) if name in used[:i]), None)
        if twice is not None:
            raise InputError(f"The column {twice!r} has two meanings; choose another column for one of them.")
        if not self.group or not self.scores:
            what = "names the group" if not self.group else "has the scores"
            raise InputError(f"No column {what}; choose one.")
        if self.caption and len(self.scores) > 1:
            raise InputError(
                f"With {len(self.scores)} columns of scores each is a caption; choose none under Caption, or one "
                "column of scores."
            )
        if self._is_wide and len(self.scores) == 1:
            raise InputError(
                "No column names the caption; choose one, or a column of scores for each caption."
            )
        self._check_pairs()
        if self.match and self._is_wide:
            raise InputError(
                "A match needs a row per score; choose none, and image i of a group belongs to its column of scores i."
            )


def _looks_renamed(name: str, columns: Sequence[str]) -> str:
    """That a file looks like scores under other headers, and which of these is probably misspelt: the beginning of a
    sentence that says what to do."""
    slips = [f"{column} is probably {meant}, misspelt" for column, meant in _misspelt(columns).items()]
    headers = f"{name} looks like scores under other headers ({', '.join(columns)})"
    return f"{headers}: {'; '.join(slips)}" if slips else headers


def _misspelt(columns: Sequence[str]) -> dict[str, str]:
    """Columns that are nearly called what is read, and mean nothing else by their name, each with the name it is near
    to, which no column has."""
    known = "|".join([*_MEANINGS.values(), _SCORE])
    others = {name.strip().lower(): name for name in columns if not re.fullmatch(known, name.strip().lower())}
    near = ((name, get_close_matches(name, others, 1, _ALIKE)) for name in _NAMES if name not in columns)
    return {others[found[0]]: name for name, found in near if found}


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()


def _is_picture_or_sentence(values: Sequence[str]) -> bool:
    filled = [value for value in values if value]
    if not filled:
        return False
    pictures = sum(_PICTURE.fullmatch(value) is not None for value in filled)
    words = sum(len(value.split()) for value in filled)
    return 2 * pictures >= len(filled) or words >= _FEWEST_WORDS * len(filled)


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if isfinite(found) else None


def _is_score_name(name: str) -> bool:
    return re.fullmatch(_SCORE, name.strip().lower()) is not None


def _score_columns(cells: dict[str, list[str]], any_number: bool) -> tuple[str, ...]:
    """The column that is called a score; else all with numbers that are not whole.

    any_number : else the last with whole numbers, beside some text, that has none of the other meanings' names.
    """
    numbers = {name: [_number(v) for v in values if v] for name, values in cells.items()}
    numeric = {name: found for name, found in numbers.items() if found and None not in found}
    named = [*filter(_is_score_name, numeric)]
    if len(named) == 1:
        return (named[0],)
    broken = [name for name, found in numeric.items() if any(v is not None and v != round(v) for v in found)]
    if not broken and any_number and len(numeric) < len(cells):
        others = "|".join(_MEANINGS.values())
        return tuple([name for name in numeric if not re.fullmatch(others, name.strip().lower())][-1:])
    return tuple(broken) if len(broken) <= _MOST_CAPTIONS else ()


_ONES_AND_ZEROS = {"1", "1.0", "true", "0", "0.0", "false"}


def _match_by_values(cells: dict[str, list[str]], found: dict[str, str]) -> str:
    """The one column left over that holds only 0 and 1, or true and false, and both in every group: a tag is alike
    throughout a group. "" where there is none, or several are. found : the columns by meaning."""
    groups = cells[found["group"]]
    if len(groups) == _ROWS:  # the last group may go on below
        groups = groups[: groups.index(groups[-1])]

    def is_match(values: list[str]) -> bool:
        lower = [value.lower() for value in values[: len(groups)]]
        true = {(group, value[:1] in "1t") for group, value in zip(groups, lower, strict=True)}
        return {*lower} <= _ONES_AND_ZEROS and bool(groups) and len(true) == 2 * len({*groups})

    fitting = [name for name in cells if name not in found.values() and is_match(cells[name])]
    return fitting[0] if len(fitting) == 1 else ""


def _unchosen_match(table: Table) -> str:
    """The column of a table of scores under the names that are read which could be its match and is not called so; ""
    where there is none."""
    if "match" in table.columns or not {*_NAMES} <= {*table.columns}:
        return ""
    rows = [row.cells for row in islice(table.rows(), _ROWS) if not row.fault]
    cells = {name: [_text(row.get(name)) for row in rows] for name in table.columns}
    return _match_by_values(cells, {name: name for name in _NAMES}) if rows else ""


def _by_name(columns: list[str], is_wide: bool) -> dict[str, str]:
    """Columns by their names, and then, of group, image and caption, in their order."""
    found: dict[str, str] = {}
    for meaning, pattern in _MEANINGS.items():
        for name in columns:
            if name not in found.values() and re.fullmatch(pattern, name.strip().lower()):
                found[meaning] = name
                break
    needed = ("group",) if is_wide else ("group", "image", "caption")
    rest = [name for name in columns if name not in found.values()]
    for meaning in needed:
        if meaning not in found and rest:
            found[meaning] = rest.pop(0)
    if is_wide:
        found = {meaning: name for meaning, name in found.items() if meaning not in ("caption", "match")}
    return found
