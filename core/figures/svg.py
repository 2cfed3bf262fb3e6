"""Plain SVG: accuracies with their intervals, margins, and one group with its matching as a picture for a slide.

The same typed data as Plotly's figures (`core.figures`), drawn without a browser; colours of the charts follow the page
(CSS), a group's picture is on white.
"""

from __future__ import annotations

import textwrap
from html import escape
from typing import Any

from core.datasets.embeddings import RowImage
from core.figures import group_html
from core.figures._bars import BarsData
from core.figures._margins import MarginsData
from core.figures._style import OUTCOME_COLOURS, OUTCOME_SYMBOLS
from core.groups import Group, ImageRef, image_name
from core.metrics.group_metrics import GroupData
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS, description_of

_LEFT, _RIGHT, _ROW, _WIDE = 150, 70, 26, 720
_GREY = "#868c9b"


def bars_svg(data: BarsData) -> str:
    """Horizontal bars, one per row and metric: value, 95 % interval as a whisker, chance level as a dashed mark."""
    parts: list[str] = []
    y = 8.0
    for r, row in enumerate(data.rows):
        if len(data.rows) > 1:
            parts.append(_text(4, y + 12, row, "start", True))
            y += 20
        for i, metric in enumerate(data.metrics):
            numbers = (float(a[i, r]) for a in (data.value, data.low, data.high, data.chance))
            parts.append(_bar(y, metric, *numbers))
            y += _ROW
    axis = _axis(y)
    alt = "; ".join(
        f"{row}: {description_of(metric).label} {data.value[i, r]:.1f} percent, chance {data.chance[i, r]:.1f}"
        for r, row in enumerate(data.rows)
        for i, metric in enumerate(data.metrics)
    )
    return _svg("".join(parts) + axis, y + 24, alt)


def _x(percent: float) -> float:
    return _LEFT + percent / 100 * (_WIDE - _LEFT - _RIGHT)


def _bar(y: float, metric: str, value: float, low: float, high: float, chance: float) -> str:
    colour, middle = description_of(metric).colour, y + 8
    return (
        _text(_LEFT - 8, middle + 4, description_of(metric).label, "end")
        + f'<rect x="{_LEFT}" y="{y}" width="{_x(value) - _LEFT:.1f}" height="16" rx="2" fill="{colour}"/>'
        + f'<path d="M{_x(low):.1f} {middle}H{_x(high):.1f}M{_x(low):.1f} {y + 3}v10M{_x(high):.1f} {y + 3}v10" '
        'stroke="currentColor" stroke-width="1.6" fill="none"/>'
        + f'<path d="M{_x(chance):.1f} {y - 2}v20" stroke="#c67c12" stroke-width="2" stroke-dasharray="3 2"/>'
        + _text(_x(max(high, chance, value)) + 6, middle + 4, f"{value:.1f}", "start", True)
    )


def _axis(y: float) -> str:
    marks = "".join(
        f'<path d="M{_x(p):.1f} 4V{y}" stroke="{_GREY}" stroke-opacity=".25"/>'
        + _text(_x(p), y + 16, f"{p} %", "middle")
        for p in (0, 25, 50, 75, 100)
    )
    return f"<g>{marks}</g>"


def margins_svg(data: MarginsData) -> str:
    """How many groups have which margin: those matched right, and on top of them, hatched, those matched wrong."""
    height, top = 170.0, max(1, int((data.right + data.wrong).max()))
    edges, last = data.edges, float(data.edges[-1])
    span = _WIDE - 60
    parts = [
        '<defs><pattern id="cm-hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect width="6" height="6" fill="#d9730d"/>'
        '<path d="M0 0V6" stroke="#fff" stroke-opacity=".6" stroke-width="2"/></pattern></defs>'
    ]
    for i, (right, wrong) in enumerate(zip(data.right, data.wrong, strict=True)):
        x = 44 + float(edges[i]) / last * span
        width = (float(edges[i + 1]) - float(edges[i])) / last * span - 1
        low, high = right / top * (height - 20), wrong / top * (height - 20)
        fills = ((height - low, low, OUTCOME_COLOURS["right"]), (height - low - high, high, "url(#cm-hatch)"))
        for y, tall, fill in fills:
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{tall:.1f}" fill="{fill}"/>'
            )
    parts.append(f'<path d="M44 {height}H{_WIDE - 16}" stroke="currentColor"/>')
    parts += [_text(44, height + 16, "0", "middle"), _text(44 + span, height + 16, f"{last:.3g}", "middle")]
    parts += [_text(_WIDE / 2, height + 16, "margin", "middle"), _text(40, 24, str(top), "end")]
    alt = f"Margins of {int(data.right.sum())} groups matched right and {int(data.wrong.sum())} matched wrong"
    return _svg("".join(parts), height + 24, f"{alt}; {data.tied} tied")


def group_svg(group: Group, data: GroupData, model: str) -> str:
    """One group on white: its images, the model's matching as lines, the captions, the scores and two verdicts.

    The pictures are inside, so the file stands alone. Blue lines are right, dashed orange ones wrong, dotted grey ones
    the true pairs that the model misses.
    """
    m, k = data.scores.shape
    side, gap, row = 240, 14, 62
    height = max(m * (side + gap), k * row) - gap
    image_y = [(i + 0.5) * height / m for i in range(m)]
    caption_y = [(j + 0.5) * height / k for j in range(k)]
    parts = [_image(group.images[i], side, y, image_name(i)) for i, y in enumerate(image_y)]
    for i, j, kind in group_html.matching_lines(data):
        y1, y2 = image_y[i], caption_y[j]
        curve = f"M{side + 6} {y1:.1f} C{side + 80} {y1:.1f} {side + 80} {y2:.1f} {side + 154} {y2:.1f}"
        parts.append(f'<path d="{curve}" fill="none" {group_html.LINES[kind]}/>')
    for j, (y, caption) in enumerate(zip(caption_y, group.captions, strict=True)):
        lines = textwrap.wrap(f"{j + 1}. {caption}", 34)[:3]
        parts += [
            _text(side + 164, y + 5 + 19 * (n - (len(lines) - 1) / 2), text, "start")
            for n, text in enumerate(lines)
        ]
    left = side + 470
    parts += [_score(cell, left, height, i, j) for i, cells in enumerate(group_html.matrix_cells(data))
              for j, cell in enumerate(cells)]  # fmt: skip
    names = [name for name in (GROUP_SCORE, GROUP_MATCH) if name in data.kinds]
    told = ", ".join(f"{OUTCOME_SYMBOLS[data.kinds[n]]} {METRICS[n].label} {data.kinds[n]}" for n in names)
    parts.append(_text(0, height + 28, f"{group.id}, {model}: {told}", "start", bold=True))
    wide = left + _CELL_WIDE * k + 20
    alt = f"{group.id}: {told}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-16 -16 {wide + 16} {height + 56:.0f}" '
        f'width="{wide + 16}" height="{height + 56:.0f}" role="img" aria-label="{escape(alt)}" font-size="16" '
        f'font-family="system-ui, sans-serif" fill="#1d1b3a">'
        f'<rect x="-16" y="-16" width="100%" height="100%" fill="#ffffff"/>{"".join(parts)}</svg>'
    )


_CELL_WIDE, _CELL_HIGH = 96, 44


def _image(image: ImageRef, side: int, middle: float, name: str) -> str:
    """A picture in its box with its letter; its name alone where it has no pixels."""
    top = middle - side / 2
    badge = f'<circle cx="20" cy="{top + 20:.1f}" r="13" fill="#1d1b3a"/>'
    badge += f'<text x="20" y="{top + 25:.1f}" text-anchor="middle" fill="#ffffff">{name}</text>'
    if isinstance(image, RowImage):
        box = f'<rect x="0" y="{top:.1f}" width="{side}" height="{side}" rx="8" fill="#efeee9"/>'
        return box + _text(side / 2, middle + 5, image.label, "middle") + badge
    address = group_html.picture_uri(image.open(2 * side), 2 * side, "PNG")
    return f'<image x="0" y="{top:.1f}" width="{side}" height="{side}" href="{address}"/>{badge}'


def _score(cell: Any, left: float, height: float, i: int, j: int) -> str:
    """One cell of the score matrix, which stands in the middle of the height."""
    x, y = left + j * _CELL_WIDE, max(24.0, height / 2 - _CELL_HIGH) + i * (_CELL_HIGH + 6)
    heads = _text(left - 14, y + 27, cell.image, "middle") if j == 0 else ""
    heads += _text(x + _CELL_WIDE / 2 - 4, y - 8, cell.caption, "middle") if i == 0 else ""
    box = (
        f'<rect x="{x}" y="{y:.1f}" width="{_CELL_WIDE - 8}" height="{_CELL_HIGH}" rx="6" fill="{cell.fill}" '
    )
    box += f'stroke="{cell.edge}" stroke-width="3"/>'
    text = f'<text x="{x + _CELL_WIDE / 2 - 4}" y="{y + 28:.1f}" text-anchor="middle" fill="{cell.ink}">'
    return f"{heads}{box}{text}{cell.score} {cell.signs}</text>"


def _text(x: float, y: float, text: str, anchor: str, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{weight}>{escape(text)}</text>'


def _svg(body: str, height: float, alt: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {height:.0f}" role="img" '
        f'aria-label="{escape(alt)}" font-size="13" font-family="system-ui, sans-serif" '
        f'fill="currentColor">{body}</svg>'
    )
