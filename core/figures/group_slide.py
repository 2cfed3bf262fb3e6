"""One group as a picture for a slide or a paper: 16 to 9, on white, drawn without a browser, with its pictures inside.

A sentence says what the model does with it; below are its images, captions and the matching between them as lines,
beside them the scores with what their signs mean, and two verdicts with the numbers that decide.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from html import escape

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
_LEGEND = {"right": "right", "wrong": "wrong", "tie": "a true pair that is missed"}


def group_svg(group: Group, data: GroupData, model: str) -> str:
    """One group as SVG; the file stands alone. Blue lines are right, dashed orange ones wrong, dotted grey ones the
    true pairs that the model misses."""
    m, k = data.scores.shape
    side = max(_SIDE, 80 * k + 92)
    wide, high = _EDGE + _LEFT + 60 + side + _EDGE, max(_HIGH, _TOP + 34 * max(m, k) + 80)
    sentence = _plain_sentence(data)
    drawn = _beside(group, data) if m > 1 and k <= _BESIDE else _rows(group, data, high)
    parts = [
        *_paragraph(_EDGE, 58, sentence, wide - 2 * _EDGE, 27, bold=True),
        *drawn,
        *_scores(data, model, _EDGE + _LEFT + 60, side),
        _text(_EDGE, high - 26, f"{group.id} · {model} · drawn by Crossmatch", 15, fill="#5b5870"),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
        f'role="img" aria-label="{escape(f"{group.id}: {sentence}", quote=True)}" '
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


def _beside(group: Group, data: GroupData) -> Iterator[str]:
    """Pictures side by side, their captions below them."""
    m, k = data.scores.shape
    box = min(_LEFT / m - 12, 380)
    lines, captions = _TOP + box, _TOP + box + _LINES
    for i, image in enumerate(group.images):
        yield _picture(image, _EDGE + (i + 0.5) * _LEFT / m - box / 2, _TOP, box, image_name(i))
    for i, j, kind in group_html.matching_lines(data):
        x1, x2 = (_EDGE + (n + 0.5) * _LEFT / count for n, count in ((i, m), (j, k)))
        middle = lines + _LINES / 2
        path = (
            f"M{x1:.0f} {lines + 3:.0f} C{x1:.0f} {middle:.0f} {x2:.0f} {middle:.0f} {x2:.0f} {captions:.0f}"
        )
        yield f'<path d="{path}" fill="none" {group_html.LINES[kind]}/>'
    for j, caption in enumerate(group.captions):
        x = _EDGE + (j + 0.5) * _LEFT / k
        yield _number(x, captions + 16, str(j + 1))
        yield from _paragraph(x, captions + 56, caption, _LEFT / k - 20, 21, 3, "middle")


def _rows(group: Group, data: GroupData, high: float) -> Iterator[str]:
    """Pictures on the left, captions on the right."""
    m, k = data.scores.shape
    room = high - _TOP - 70
    box = min(room / m - 12, 300)
    image_y, caption_y = ([_TOP + (n + 0.5) * room / count for n in range(count)] for count in (m, k))
    for image, y, name in zip(group.images, image_y, map(image_name, range(m)), strict=True):
        yield _picture(image, _EDGE, y - box / 2, box, name)
    start = _EDGE + box + 3
    end = start + 130
    for i, j, kind in group_html.matching_lines(data):
        y1, y2, middle = image_y[i], caption_y[j], (start + end) / 2
        path = f"M{start:.0f} {y1:.0f} C{middle:.0f} {y1:.0f} {middle:.0f} {y2:.0f} {end:.0f} {y2:.0f}"
        yield f'<path d="{path}" fill="none" {group_html.LINES[kind]}/>'
    size, lines = (20, 3) if room / k > 70 else (15, 2 if room / k > 36 else 1)
    for j, (y, caption) in enumerate(zip(caption_y, group.captions, strict=True)):
        yield _number(end + 16, y, str(j + 1))
        wide = _EDGE + _LEFT - end - 40
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
    m, k = data.scores.shape
    high = _CELL if m < 5 else 40
    x, y, wide = left + 92, _TOP + 78, min(150, (side - 92) / k)
    size = 20 if wide > 84 else 14
    yield _text(left, _TOP + 18, f"Scores of {model}", 20, bold=True)
    for i, cells in enumerate(group_html.matrix_cells(data)):
        middle = y + i * (high + 6) + high / 2 + size * 0.35
        yield _text(x - 10, middle, f"image {image_name(i)}", 17, "end")
        for j, cell in enumerate(cells):
            centre = x + j * wide + (wide - 6) / 2
            if i == 0:
                yield _text(centre, y - 12, f"caption {j + 1}" if wide > 84 else str(j + 1), 17, "middle")
            yield (
                f'<rect x="{x + j * wide:.0f}" y="{y + i * (high + 6):.0f}" width="{wide - 6:.0f}" height="{high}" '
                f'rx="7" fill="{cell.fill}" stroke="{cell.edge}" stroke-width="4"/>'
            )
            yield _text(centre, middle, f"{cell.score} {cell.signs}".strip(), size, "middle", True, cell.ink)
    below = y + m * (high + 6) + 26
    yield _text(left, below, "● and outlined: the model's matching   ✓ a true pair", 16)
    yield from _legend(data, left, below + 26)
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
