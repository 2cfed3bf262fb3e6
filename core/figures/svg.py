"""Plain SVG: accuracies with their intervals, their curves over the iterations of a run, and margins.

The same typed data as Plotly's figures (`core.figures`), drawn without a browser; colours follow the page (CSS).
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import numpy as np

from core.base.text import _pct
from core.figures._bars import BarsData
from core.figures._margins import MarginsData
from core.figures._style import OUTCOME_COLOURS
from core.figures._ttm import TTMData
from core.metrics.groups import description_of

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
        f"{row}: {description_of(metric).label} {_pct(data.value[i, r])} percent, "
        f"chance {_pct(data.chance[i, r])}"
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
        + _text(_x(max(high, chance, value)) + 6, middle + 4, _pct(value), "start", True)
    )


def _axis(y: float) -> str:
    marks = "".join(
        f'<path d="M{_x(p):.1f} 4V{y}" stroke="{_GREY}" stroke-opacity=".25"/>'
        + _text(_x(p), y + 16, f"{p} %", "middle")
        for p in (0, 25, 50, 75, 100)
    )
    return f"<g>{marks}</g>"


_CURVE_LEFT, _CURVE_RIGHT, _CURVE_TOP, _CURVE_HEIGHT = 52, 170, 10, 250
_DASHES = {  # Plotly's names as lengths
    "solid": "",
    "dot": "2 4",
    "dash": "8 5",
    "longdash": "14 6",
    "dashdot": "8 4 2 4",
    "longdashdot": "14 5 2 5",
}
_TICKS = 10  # iterations with a number, at most


def _curves_svg(data: TTMData) -> str:
    """Every metric per iteration, its name and last value at its end; of the main ones a band and, dotted, the chance
    level, as `ttm_metrics_figure` draws them."""
    last = max(int(data.iteration.max()), 1)
    x = _CURVE_LEFT + data.iteration / last * (_WIDE - _CURVE_LEFT - _CURVE_RIGHT)
    under, lines = [], []
    for name, values in data.metrics.items():
        entry = description_of(name)
        if entry.headline:
            under.append(_band(x, values, entry.colour))
        lines.append(_curve(x, _y(values[:, 0]), entry.colour, entry.dash, 3 if entry.headline else 1.6))
    ends = {name: float(values[-1, 0]) for name, values in data.metrics.items()}
    alt = "; ".join(
        f"{description_of(name).label} from {_pct(values[0, 0])} to {_pct(ends[name])} percent, "
        f"chance {_pct(values[0, 3])}"
        for name, values in data.metrics.items()
    )
    body = [_curve_axes(data.iteration, x), *under, *lines, _curve_labels(float(x[-1]), ends)]
    return _svg("".join(body), _CURVE_TOP + _CURVE_HEIGHT + 40, f"Accuracy by iteration. {alt}")


def _y(percent: np.ndarray | float) -> np.ndarray:
    return np.asarray(_CURVE_TOP + (1 - np.asarray(percent) / 100) * _CURVE_HEIGHT)


def _path(x: np.ndarray, y: np.ndarray) -> str:
    return "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))


def _curve(x: np.ndarray, y: np.ndarray, colour: str, dash: str, width: float) -> str:
    marks = "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{width}"/>' for a, b in zip(x, y, strict=True))
    return (
        f'<path d="M{_path(x, y)}" stroke="{colour}" stroke-width="{width}" fill="none" '
        f'stroke-dasharray="{_DASHES[dash]}"/><g fill="{colour}">{marks}</g>'
    )


def _band(x: np.ndarray, values: np.ndarray, colour: str) -> str:
    """The band from low to high, and the chance level from side to side."""
    value, *edges = values.T[:3]
    low, high = (_y(np.clip(np.where(np.isnan(edge), value, edge), 0, 100)) for edge in edges)
    chance = float(_y(values[0, 3]))
    return (
        f'<path d="M{_path(x, low)}L{_path(x[::-1], high[::-1])}Z" fill="{colour}" fill-opacity=".16"/>'
        f'<path d="M{_CURVE_LEFT} {chance:.1f}H{_WIDE - _CURVE_RIGHT}" stroke="{colour}" stroke-width="1.5" '
        'stroke-dasharray="1.5 3"/>'
    )


def _curve_axes(iteration: np.ndarray, x: np.ndarray) -> str:
    right, bottom = _WIDE - _CURVE_RIGHT, _CURVE_TOP + _CURVE_HEIGHT
    parts = [
        f'<path d="M{_CURVE_LEFT} {float(_y(p)):.1f}H{right}" stroke="{_GREY}" stroke-opacity=".25"/>'
        + _text(_CURVE_LEFT - 8, float(_y(p)) + 4, f"{p} %", "end")
        for p in (0, 25, 50, 75, 100)
    ]
    step = -(-len(iteration) // _TICKS)
    parts += [
        _text(float(at), bottom + 18, str(int(number)), "middle")
        for number, at in zip(iteration[::step], x[::step], strict=True)
    ]
    return "".join([*parts, _text((_CURVE_LEFT + right) / 2, bottom + 36, "iteration", "middle")])


def _curve_labels(x: float, ends: Mapping[str, float]) -> str:
    """Names and last values beside the ends of the curves, from top to bottom and each a line apart."""
    found, y = [], -1e9
    room = _CURVE_TOP + _CURVE_HEIGHT + 16 - 16 * len(ends)  # that the lowest one stays in the figure
    for i, name in enumerate(sorted(ends, key=lambda each: -ends[each])):
        entry, y = description_of(name), max(y + 16, min(float(_y(ends[name])) + 4, room + 16 * i))
        label = _text(x + 10, y, f"{entry.label} {_pct(ends[name])}", "start", entry.headline)
        found.append(f'<g fill="{entry.colour}">{label}</g>')
    return "".join(found)


def margins_svg(data: MarginsData, hatch: str = "cm-hatch") -> str:
    """How many groups have which margin: those matched right, and on top of them, hatched, those matched wrong.

    hatch : the name of the pattern, another one for each figure of a page: that of a figure that is not displayed
    draws nothing.
    """
    height, top = 170.0, max(1, int((data.right + data.wrong).max()))
    edges, last = data._drawn_edges, float(data._drawn_edges[-1])
    left, span = 64, _WIDE - 64 - 40  # the numbers stand below both ends, each as wide as `1.23e+03`
    parts = [
        f'<defs><pattern id="{hatch}" width="6" height="6" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect width="6" height="6" fill="#d9730d"/>'
        '<path d="M0 0V6" stroke="#fff" stroke-opacity=".6" stroke-width="2"/></pattern></defs>'
    ]
    for i, (right, wrong) in enumerate(zip(data.right, data.wrong, strict=True)):
        x = left + float(edges[i]) / last * span
        width = (float(edges[i + 1]) - float(edges[i])) / last * span - 1
        low, high = right / top * (height - 20), wrong / top * (height - 20)
        fills = ((height - low, low, OUTCOME_COLOURS["right"]), (height - low - high, high, f"url(#{hatch})"))
        for y, tall, fill in fills:
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{tall:.1f}" fill="{fill}"/>'
            )
    parts.append(f'<path d="M{left} {height}H{left + span}" stroke="currentColor"/>')
    parts += [
        _text(left, height + 16, "0", "middle"),
        _text(left + span, height + 16, f"> {edges[-2]:.2g}" if data.has_rest else f"{last:.3g}", "middle"),
    ]
    title = f"margin; {data._rest_text}" if data.has_rest else "margin"
    parts += [_text(left + span / 2, height + 16, title, "middle"), _text(left - 6, 24, str(top), "end")]
    parts.append(
        f'<g transform="translate(14 {height / 2 + 10}) rotate(-90)">{_text(0, 0, "groups", "middle")}</g>'
    )
    alt = f"Margins of {int(data.right.sum())} groups matched right and {int(data.wrong.sum())} matched wrong"
    return _svg("".join(parts), height + 24, f"{alt}; {data.tied} tied")


def _text(x: float, y: float, text: str, anchor: str, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{weight}>{escape(text)}</text>'


def _svg(body: str, height: float, alt: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {height:.0f}" role="img" '
        f'aria-label="{escape(alt)}" font-size="13" font-family="system-ui, sans-serif" '
        f'fill="currentColor">{body}</svg>'
    )
