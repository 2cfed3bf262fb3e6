"""How wide a table in LaTeX is in Computer Modern of 10 pt, and what makes it fit into the text of a paper."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_TEXT = 397.0  # pt: the width of the text of NeurIPS and ICLR
# cmr10, thousandths of 10 pt: a digit has 500.
_GLYPHS = {
    **dict.fromkeys("0123456789/*", 500),
    **dict(
        zip("abcdefghijklm", (500, 556, 444, 556, 444, 306, 500, 556, 278, 306, 528, 278, 833), strict=True)
    ),
    **dict(
        zip("nopqrstuvwxyz", (556, 500, 556, 528, 392, 394, 389, 556, 528, 722, 528, 528, 444), strict=True)
    ),
    **dict(
        zip("ABCDEFGHIJKLM", (750, 708, 722, 764, 681, 653, 785, 750, 361, 514, 778, 625, 917), strict=True)
    ),
    **dict(
        zip("NOPQRSTUVWXYZ", (750, 778, 681, 778, 736, 556, 722, 750, 750, 1028, 750, 750, 611), strict=True)
    ),
    **dict.fromkeys(".,:;'[]!|", 278),
    **dict.fromkeys("() ", 389),
    " ": 333,
    "~": 333,
    "-": 333,
    **dict.fromkeys("+=<>@&±−×≤≥", 778),
    "%": 833,
    "#": 833,
    "→": 1000,
    "α": 640,
    "τ": 437,
    "Δ": 833,
    "·": 278,
    "–": 500,
    "_": 300,
}
_WIDEST = 1000  # of a glyph that is not listed
# A smaller face is a little wider than its size says.
_SIZES = {r"\scriptsize": 0.797, r"\footnotesize": 0.85, r"\small": 0.925, "": 1.0}
_BOLD = 1.15
_NAMES = {
    r"\pm": "±", r"\Delta": "Δ", r"\times": "×", r"\cdot": "·", r"\alpha": "α", r"\tau": "τ", r"\geq": "≥",
    r"\leq": "≤", r"\rightarrow": "→", r"\textbackslash": "/", r"\textasciitilde": "x", r"\textasciicircum": "x",
}  # fmt: skip
_STACK = r"\shortstack{"
_SMALL = re.compile(r"\{\\scriptsize ([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}")
_CITE = re.compile(r"\\cite(?:\[([^\]]*)\])?\{([^{}]*)\}")


def _cell_width(cell: str) -> float:
    """pt of one cell of a table, which is LaTeX already; a source is taken to be a number in brackets."""
    cell = cell.strip()
    if cell.startswith(_STACK):
        return max(map(_letters, cell.removeprefix(_STACK).removesuffix("}").split(r"\\")))
    if cell.startswith(r"\textbf{"):
        return _BOLD * _cell_width(cell.removeprefix(r"\textbf{").removesuffix("}"))
    small = sum(map(_letters, _SMALL.findall(cell)))
    return _letters(_SMALL.sub("", cell)) + _SIZES[r"\scriptsize"] * small


def _letters(latex: str) -> float:
    """pt of LaTeX without sizes."""
    plain = _CITE.sub(_as_number, latex)
    raised = sum(map(_letters, re.findall(r"\^\{([^{}]*)\}", plain)))
    plain = re.sub(r"\^\{[^{}]*\}", "", plain)
    for name, glyph in _NAMES.items():
        plain = re.sub(re.escape(name) + r"(?![a-zA-Z])\s*", glyph, plain)
    plain = re.sub(r"\$([^$]*)\$", lambda hit: hit[1].replace("-", "−"), plain).replace("--", "–")
    plain = re.sub(r"\\[a-zA-Z]+\s*", "", plain)
    plain = re.sub(r"\\(.)", r"\1", plain) if "\\" in plain else plain
    return sum(_GLYPHS.get(c, _WIDEST) for c in plain if c not in "{}$^") / 100 + 0.75 * raised


def _as_number(cite: re.Match[str]) -> str:
    """`[00, 00, Table 1]`"""
    return f"[{', '.join(['00'] * len(cite[2].split(',')) + [cite[1]] * bool(cite[1]))}]"


class _Fit(NamedTuple):
    """A table that fits: room between columns in pt, size, and the letters of its columns, a wide one as `p{...pt}`."""

    room: float
    size: str
    columns: str

    @property
    def opening(self) -> str:
        """What stands before the table and opens a group; "" where nothing is to be changed."""
        room = "" if self.room == 6 else rf"\setlength{{\tabcolsep}}{{{self.room:g}pt}}"
        return f"{{{self.size}{room}" if self.size or room else ""


_STEPS = ((6, ""), (4, ""), (3, ""), (3, r"\small"), (3, r"\footnotesize"))
_LEAST = 60.0  # pt of a column whose lines break


def _columns_width(lines: Sequence[str], columns: str) -> list[float]:
    """pt of every column in the lines of a table."""
    rows = [line.removesuffix(r"\\").split(" & ") for line in lines if "&" in line]
    rows = [row for row in rows if len(row) == len(columns)]
    return [max(map(_cell_width, column)) for column in zip(*rows, strict=True)] or [0.0] * len(columns)


def _fits(lines: Sequence[str], columns: str, size: str = "") -> bool:
    """Whether a table needs no size smaller than this."""
    return _SIZES[size] * sum(_columns_width(lines, columns)) + 2 * 3 * len(columns) <= _TEXT


def _fitted(lines: Sequence[str], columns: str) -> _Fit:
    """The mildest of `_STEPS` with which a table fits; where none is enough, columns at the left break their lines."""
    widths = _columns_width(lines, columns)
    for room, size in _STEPS:
        if _SIZES[size] * sum(widths) + 2 * room * len(columns) <= _TEXT:
            return _Fit(room, size, columns)
    left = [i for i, letter in enumerate(columns) if letter == "l" and _SIZES[size] * widths[i] > _LEAST]
    fixed = sum(width for i, width in enumerate(widths) if i not in left)
    free = max(_TEXT - 2 * room * len(columns) - _SIZES[size] * fixed, _LEAST * len(left))
    shares = _shared([_SIZES[size] * widths[i] for i in left], free)
    broken = dict(zip(left, shares, strict=True))
    letters = (rf"p{{{int(broken[i])}pt}}" if i in broken else c for i, c in enumerate(columns))
    return _Fit(room, size, "".join(letters))


def _shared(wanted: Sequence[float], free: float) -> list[float]:
    """Room for columns that want more than there is: the narrow get what they want, the wide ones the same each."""
    given, left = dict.fromkeys(range(len(wanted)), 0.0), free
    for count, i in enumerate(sorted(given, key=lambda i: wanted[i])):
        given[i] = min(wanted[i], left / (len(wanted) - count))
        left -= given[i]
    return [given[i] for i in range(len(wanted))]
