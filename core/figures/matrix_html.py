"""A group's score matrix as a table in HTML: shades, the model's matching outlined, the true pairs ticked.

Pure, for any page that shows HTML; every colour comes with a sign and a number, so that none is told by it alone.
"""

from __future__ import annotations

import numpy as np

from core.figures import score_colour
from core.figures.group_html import GroupData
from core.figures.style import MARK_COLOUR
from core.groups import image_name

_TABLE = "border-collapse:separate;border-spacing:4px;font-variant-numeric:tabular-nums"
_CELL = "padding:.4rem .55rem;border-radius:.4rem;text-align:right;white-space:nowrap;font-weight:600"


def matrix_html(data: GroupData, caption: str) -> str:
    """Images down, captions across. Outlined and with a dot: the induced matching. Ticked: the true pairs."""
    low, spread = float(data.scores.min()), float(np.ptp(data.scores)) or 1.0
    m, k = data.scores.shape
    head = "".join(f'<th scope="col" style="font-weight:500">{j + 1}</th>' for j in range(k))
    body = "".join(
        f'<tr><th scope="row" style="font-weight:500">{image_name(i)}</th>'
        + "".join(_cell(data, i, j, (data.scores[i, j] - low) / spread) for j in range(k))
        + "</tr>"
        for i in range(m)
    )
    return (
        f'<div class="cm-scroll"><table style="{_TABLE}"><caption class="cm-hidden">{caption}</caption>'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(data: GroupData, i: int, j: int, level: float) -> str:
    matched, true = data.matching is not None and data.matching[i] == j, data.truth[i] == j
    ink = "#ffffff" if level > 0.45 else "#1d1b3a"
    edge = f"outline:3px solid {MARK_COLOUR}" if matched else "outline:none"
    signs = ("●" if matched else "") + ("✓" if true else "")
    said = ", ".join(
        [f"image {image_name(i)}, caption {j + 1}", *["matched"] * matched, *["a true pair"] * true]
    )
    style = f"{_CELL};background:{score_colour(level)};color:{ink};{edge}"
    return f'<td style="{style}" title="{said}">{data.scores[i, j]:.2f} {signs}</td>'
