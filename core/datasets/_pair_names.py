"""Columns named by caption and image, `clip_c0_i1` or `i1_c0`: the whole grid of a group's scores, a row per group."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from core.base.text import counted

_CELL = re.compile(r"c(0|[1-9][0-9]{0,8})_i(0|[1-9][0-9]{0,8})")  # caption, image
_BEFORE, _BETWEEN = r"(?P<before>|.*[^a-z0-9])", r"[^a-z0-9]?"
_CAPTION, _IMAGE = r"(?:c|cap|caption|t|txt|text)_?(?P<c>\d{1,3})", r"(?:i|im|img|image)_?(?P<i>\d{1,3})"
_NAMES = [
    re.compile(_BEFORE + pair + "(?:_score)?", re.IGNORECASE)
    for pair in (_CAPTION + _BETWEEN + _IMAGE, _IMAGE + _BETWEEN + _CAPTION)
]


class _PairNames(NamedTuple):
    """Columns of one model, each with the score of one caption and one image.

    cells : the name of a column -> the name that is read, `c0_i1`, counted from 0. shape : images and captions; None
    where a pair has no column, or two. absent : then the first such pair, as these columns would call it.
    """

    cells: dict[str, str]
    shape: tuple[int, int] | None
    absent: str = ""

    @property
    def read_as(self) -> str:
        """What the columns are taken for, a sentence."""
        assert self.shape is not None
        m, k = self.shape
        first, last = next(iter(self.cells)), next(reversed(self.cells))
        return (
            f"The columns {first} to {last} are read as the scores of {counted(k, 'caption')} with "
            f"{counted(m, 'image')}: a group of {m}x{k} in each row. {_meaning(first)}"
        )

    @property
    def fault(self) -> str:
        """Why they are not read, without a full stop."""
        return (
            f"the columns {', '.join(list(self.cells)[:4])}{' …' if len(self.cells) > 4 else ''} name a caption and an "
            f"image each, and {self.absent} is missing or there twice; give every pair of caption and image one column"
        )

    def renamed(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row under the names that are read; `group` is its id where it has none."""
        new = self.cells if "id" in row or self.is_plain else {**self.cells, "group": "id"}
        return {new.get(name, name): value for name, value in row.items()}

    @property
    def is_plain(self) -> bool:
        """Whether they are called as they are read."""
        return all(name == cell for name, cell in self.cells.items())


def _meaning(name: str) -> str:
    """Which number in a column's name is the caption's and which the image's: tables of the other order look alike."""
    hit = next(filter(None, (pattern.fullmatch(name.strip()) for pattern in _NAMES)), None)
    assert hit is not None
    ends = sorted((hit.span(which), letter) for which, letter in (("c", "N"), ("i", "M")))
    called = name.strip()
    for (start, end), letter in reversed(ends):
        called = called[:start] + letter + called[end:]
    return f"Read as: {called} = caption N, image M."


def _pair_names(columns: Iterable[str]) -> list[_PairNames]:
    """Those among some columns, an entry for each model (`clip_c0_i0`, `siglip_c0_i0`) that has two at least."""
    families: dict[tuple[str, int], list[tuple[str, int, int]]] = {}
    for name in columns:
        for order, pattern in enumerate(_NAMES):
            hit = pattern.fullmatch(name.strip())
            if hit is not None:
                key = (hit["before"].lower(), order)
                families.setdefault(key, []).append((name, int(hit["c"]), int(hit["i"])))
                break
    return [_as_grid(family) for family in families.values() if len(family) > 1]


def _as_grid(family: Sequence[tuple[str, int, int]]) -> _PairNames:
    """One model's columns with their caption and image, counted from 0 or from 1."""
    captions, images = [c for _, c, _ in family], [i for _, _, i in family]
    base = 1 if min(captions) == min(images) == 1 else 0
    cells = {name: f"c{c - base}_i{i - base}" for name, c, i in family}
    k, m = (max(each) + 1 - base for each in (captions, images))
    if len(family) == m * k == len({*cells.values()}) and all(min(c, i) >= base for _, c, i in family):
        return _PairNames(cells, (m, k))
    there = list(cells.values())
    wanted = ((c, i) for i in range(m) for c in range(k))
    c, i = next((c, i) for c, i in wanted if there.count(f"c{c}_i{i}") != 1)
    return _PairNames(cells, None, f"the score of caption {c + base} with image {i + base}")


def _read_names(columns: Sequence[str]) -> _PairNames | None:
    """The columns of a table that are read without being asked about: those that have the names that are read, counted
    from 0; else those of the only model. None where there are none, or several models'."""
    if "c0_i0" in columns:
        return None
    found = _pair_names(columns)
    if (
        len(found) != 1
        or found[0].shape is None
        or any(_CELL.fullmatch(c) for c in columns if c not in found[0].cells)
    ):
        return None
    return found[0]
