"""One group as a picture for a slide or a paper: 16 to 9, on white, drawn without a browser, with its pictures inside.

A sentence says what the model does with it; below are its images, captions and the matching between them as lines,
beside them the scores with what their signs mean, and two verdicts with the numbers that decide.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from html import escape
from typing import NamedTuple

from core.datasets.embeddings import RowImage
from core.figures import group_html
from core.figures._style import OUTCOME_SYMBOLS
from core.groups import Group, ImageRef, image_name
from core.metrics.group_metrics import GROUP_MATCH, GROUP_SCORE, METRICS, GroupData

_WIDE, _HIGH, _EDGE = 1280, 720, 40
_LEFT, _TOP = 740, 116  # room for the pictures, and where they begin
_LINES = 76  # between pictures and captions
_SIDE = 400  # room for the scores
_CELL = 58  # height of a cell
_BESIDE = 3  # pictures and captions that have room side by side
_WHOLE = 580  # width of a half: before, or after
_LEGEND = {"right": "right", "wrong": "wrong", "tie": "a true pair that is missed"}


class _Area(NamedTuple):
    """Where pictures, lines and captions are drawn."""

    left: float
    top: float
    width: float
    bottom: float
    picture: float  # the longest side that one may have
    size: float  # of a caption's letters


def group_svg(group: Group, data: GroupData, model: str) -> str:
    """One group as SVG; the file stands alone. Blue lines are right, dashed orange ones wrong, dotted grey ones the
    true pairs that the model misses."""
    m, k = data.scores.shape
    side = max(_SIDE, 80 * k + 92)
    wide, high = _EDGE + _LEFT + 60 + side + _EDGE, max(_HIGH, _TOP + 34 * max(m, k) + 80)
    sentence = _plain_sentence(data)
    area = _Area(_EDGE, _TOP, _LEFT, high - 70, 380, 21)
    parts = [
        *_paragraph(_EDGE, 58, sentence, wide - 2 * _EDGE, 27, bold=True),
        *_pictures(group, data, area),
        *_scores(data, model, _EDGE + _LEFT + 60, side),
        _text(_EDGE, high - 26, f"{group.id} · {model} · drawn by Crossmatch", 15, fill="#5b5870"),
    ]
    return _svg(wide, high, f"{group.id}: {sentence}", parts)


def change_svg(group: Group, before: GroupData, after: GroupData, sentence: str, model: str) -> str:
    """One group before and after an adaptation, side by side, as SVG; the file stands alone.

    sentence : above both, what has changed.
    """
    m, k = before.scores.shape
    wide = 2 * _EDGE + 2 * _WHOLE + 40
    below = _TOP + 34 + max(412, 34 * max(m, k))
    high = max(_HIGH, below + 46 * m + 150)
    parts = [*_paragraph(_EDGE, 58, sentence, wide - 2 * _EDGE, 27, bold=True)]
    both = {"Before": before.beside([after]), "After": after.beside([before])}
    for n, (when, data) in enumerate(both.items()):
        left = _EDGE + n * (_WHOLE + 40)
        area = _Area(left, _TOP + 34, _WHOLE, below, 220, 18)
        parts += [_text(left, _TOP + 12, when, 22, bold=True), *_pictures(group, data, area)]
        matrix, bottom = _matrix(data, left, below + 40, _WHOLE, 40)
        parts += [*matrix, *_verdict_titles(data, left, bottom + 30)]
    parts.append(_text(_EDGE, high - 26, f"{group.id} · {model} · drawn by Crossmatch", 15, fill="#5b5870"))
    parts += _signs(before, wide - _EDGE - _WHOLE, high - 26)
    return _svg(wide, high, f"{group.id}: {sentence}", parts)


def _svg(wide: float, high: float, name: str, parts: Iterable[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
        f'role="img" aria-label="{escape(name, quote=True)}" '
        f'font-family="\'Source Sans 3\', system-ui, sans-serif" fill="#1d1b3a">'
        f'<rect width="100%" height="100%" fill="#ffffff"/>{"".join(parts)}</svg>'
    )


def _plain_sentence(data: GroupData) -> str:
    """What the model does with the group, in one sentence."""
    if data.matching is None:
        return "Two matchings have the same highest total: a tie, which counts as wrong."
    pairs = [f"image {image_name(i)} caption {j + 1}" for i, j in enumerate(data.matching)]
    told = ", ".join(pairs[:-1]) + " and " * (len(pairs) > 1) + pairs[-1]
    given = f"The model gives {told}"
    if data.kinds[GROUP_MATCH] != "right":
        return f"{given}: wrong."
    if data.kinds.get(GROUP_SCORE, "right") == "right":
        return f"{given}: right, under both metrics."
    return f"{given}: right, and yet GroupScore counts the group as wrong."


# --- pictures, lines, captions


def _pictures(group: Group, data: GroupData, area: _Area) -> Iterator[str]:
    m, k = data.scores.shape
    return (_beside if m > 1 and k <= _BESIDE else _rows)(group, data, area)


def _beside(group: Group, data: GroupData, area: _Area) -> Iterator[str]:
    """Pictures side by side, their captions below them."""
    m, k = data.scores.shape
    box = min(area.width / m - 12, area.picture)
    lines, captions = area.top + box, area.top + box + _LINES
    for i, image in enumerate(group.images):
        yield _picture(image, area.left + (i + 0.5) * area.width / m - box / 2, area.top, box, image_name(i))
    for i, j, kind in group_html.matching_lines(data):
        x1, x2 = (area.left + (n + 0.5) * area.width / count for n, count in ((i, m), (j, k)))
        middle = lines + _LINES / 2
        path = (
            f"M{x1:.0f} {lines + 3:.0f} C{x1:.0f} {middle:.0f} {x2:.0f} {middle:.0f} {x2:.0f} {captions:.0f}"
        )
        yield f'<path d="{path}" fill="none" {group_html.LINES[kind]}/>'
    for j, caption in enumerate(group.captions):
        x = area.left + (j + 0.5) * area.width / k
        yield _number(x, captions + 16, str(j + 1))
        wide = area.width / k - 20
        yield from _paragraph(x, captions + 35 + area.size, caption, wide, area.size, 3, "middle")


def _rows(group: Group, data: GroupData, area: _Area) -> Iterator[str]:
    """Pictures on the left, captions on the right."""
    m, k = data.scores.shape
    room = area.bottom - area.top
    box = min(room / m - 12, 0.8 * area.picture)
    image_y, caption_y = ([area.top + (n + 0.5) * room / count for n in range(count)] for count in (m, k))
    for image, y, name in zip(group.images, image_y, map(image_name, range(m)), strict=True):
        yield _picture(image, area.left, y - box / 2, box, name)
    start = area.left + box + 3
    end = start + 130 * area.width / _LEFT
    for i, j, kind in group_html.matching_lines(data):
        y1, y2, middle = image_y[i], caption_y[j], (start + end) / 2
        path = f"M{start:.0f} {y1:.0f} C{middle:.0f} {y1:.0f} {middle:.0f} {y2:.0f} {end:.0f} {y2:.0f}"
        yield f'<path d="{path}" fill="none" {group_html.LINES[kind]}/>'
    size, lines = (20, 3) if room / k > 70 else (15, 2 if room / k > 36 else 1)
    for j, (y, caption) in enumerate(zip(caption_y, group.captions, strict=True)):
        yield _number(end + 16, y, str(j + 1))
        wide = area.left + area.width - end - 40
        count = min(lines, len(_wrapped(caption, wide, size)))
        first = y + size * 0.35 - (count - 1) * size * 0.65
        yield from _paragraph(end + 40, first, caption, wide, size, lines)


def _picture(image: ImageRef, x: float, y: float, box: float, name: str) -> str:
    """A picture in its box with its letter; its name alone where it has no pixels."""
    place = f'x="{x:.0f}" y="{y:.0f}" width="{box:.0f}" height="{box:.0f}"'
    badge = f'<circle cx="{x + 24:.0f}" cy="{y + 24:.0f}" r="16" fill="#1d1b3a" stroke="#ffffff" stroke-width="1.5"/>'
    badge += _text(x + 24, y + 30, name, 17, "middle", fill="#ffffff")
    if isinstance(image, RowImage):
        label = _paragraph(x + box / 2, y + box / 2, image.label, box - 20, 18, 3, "middle")
        return f'<rect {place} rx="10" fill="#efeee9"/>{"".join(label)}{badge}'
    pixels = round(2 * box)
    return f'<image {place} href="{group_html.picture_uri(image.open(pixels), pixels, "PNG")}"/>{badge}'


def _number(x: float, y: float, number: str) -> str:
    """A caption's number in a circle."""
    circle = f'<circle cx="{x:.0f}" cy="{y:.0f}" r="15" fill="#ffffff" stroke="#1d1b3a" stroke-width="1.5"/>'
    return circle + _text(x, y + 6, number, 17, "middle")


# --- scores, what the signs mean, verdicts


def _scores(data: GroupData, model: str, left: float, side: float) -> Iterator[str]:
    """The score matrix with the names of its axes, a legend, and two verdicts with their numbers."""
    yield _text(left, _TOP + 18, f"Scores of {model}", 20, bold=True)
    matrix, bottom = _matrix(data, left, _TOP + 78, side, _CELL if len(data.scores) < 5 else 40)
    yield from matrix
    below = bottom + 26
    yield from _signs(data, left, below, 26)
    below += 78
    for name in (GROUP_MATCH, GROUP_SCORE):
        if name not in data.kinds:
            continue
        kind = data.kinds[name]
        title = f"{OUTCOME_SYMBOLS[kind]} {METRICS[name].label} {kind}"
        yield _text(left, below, title, 19, bold=True, fill=_INK[kind])
        verdict = list(_paragraph(left, below + 24, METRICS[name].verdict(data), side, 17, 4))
        yield from verdict
        below += 24 + 22 * len(verdict) + 18


def _matrix(data: GroupData, left: float, y: float, side: float, high: float) -> tuple[list[str], float]:
    """The score matrix with the names of its axes, its first row at y; and where it ends."""
    x, wide = left + 92, min(150, (side - 92) / data.scores.shape[1])
    size, drawn = 20 if wide > 84 else 14, []
    for i, cells in enumerate(group_html.matrix_cells(data)):
        middle = y + i * (high + 6) + high / 2 + size * 0.35
        drawn.append(_text(x - 10, middle, f"image {image_name(i)}", 17, "end"))
        for j, cell in enumerate(cells):
            centre = x + j * wide + (wide - 6) / 2
            if i == 0:
                caption = f"caption {j + 1}" if wide > 84 else str(j + 1)
                drawn.append(_text(centre, y - 12, caption, 17, "middle"))
            drawn.append(
                f'<rect x="{x + j * wide:.0f}" y="{y + i * (high + 6):.0f}" width="{wide - 6:.0f}" height="{high}" '
                f'rx="7" fill="{cell.fill}" stroke="{cell.edge}" stroke-width="4"/>'
            )
            score = f"{cell.score} {cell.signs}".strip()
            drawn.append(_text(centre, middle, score, size, "middle", True, cell.ink))
    return drawn, y + len(data.scores) * (high + 6)


def _signs(data: GroupData, left: float, y: float, legend: float = 0) -> Iterator[str]:
    """What the signs of the matrix mean, and `legend` below it what the lines mean."""
    yield _text(left, y, "● and outlined: the model's matching   ✓ a true pair", 16)
    if legend:
        yield from _legend(data, left, y + legend)


def _verdict_titles(data: GroupData, left: float, y: float) -> Iterator[str]:
    """`✓ GroupMatch right` and the same of GroupScore, one below the other."""
    for name in (name for name in (GROUP_MATCH, GROUP_SCORE) if name in data.kinds):
        kind = data.kinds[name]
        title = f"{OUTCOME_SYMBOLS[kind]} {METRICS[name].label} {kind}"
        yield _text(left, y, title, 19, bold=True, fill=_INK[kind])
        y += 28


# The outcomes' colours, dark enough to read.
_INK = {"right": "#1f5fa3", "wrong": "#a8560a", "tie": "#5b5870"}


def _legend(data: GroupData, x: float, y: float) -> Iterator[str]:
    """What the lines mean that are drawn."""
    kinds = {kind for *_, kind in group_html.matching_lines(data)}
    for kind, text in _LEGEND.items():
        if kind in kinds:
            yield f'<path d="M{x:.0f} {y - 5:.0f} h44" fill="none" {group_html.LINES[kind]}/>'
            yield _text(x + 54, y, text, 16)
            x += 70 + 9 * len(text)


# --- text


def _wrapped(text: str, wide: float, size: float, bold: bool = False) -> list[str]:
    # A letter is about half as wide as it is high, and wider in the fonts of some machines.
    return textwrap.wrap(text, max(8, int(wide / ((0.62 if bold else 0.54) * size))))


def _paragraph(
    x: float,
    y: float,
    text: str,
    wide: float,
    size: float,
    most: int = 2,
    anchor: str = "start",
    bold: bool = False,
) -> Iterator[str]:
    """A text in at most so many lines, the last one cut with an ellipsis."""
    lines = _wrapped(text, wide, size, bold)
    if len(lines) > most:
        lines = [*lines[: most - 1], lines[most - 1].rstrip(" .,") + " …"]
    for n, line in enumerate(lines):
        yield _text(x, y + n * size * 1.28, line, size, anchor, bold)


def _text(
    x: float, y: float, text: str, size: float, anchor: str = "start", bold: bool = False, fill: str = ""
) -> str:
    style = (' font-weight="600"' if bold else "") + (f' fill="{fill}"' if fill else "")
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size:g}" text-anchor="{anchor}"{style}>{escape(text)}</text>'
