"""A figure as SVG, PNG, HTML or JSON, without network.

Plotly draws in a browser, so SVG and PNG are drawn by the Chromium, Chrome or Edge of this machine, headless, with the
plotly.js that the library ships (`_kaleido_render.py`): nothing is fetched. `$CROSSMATCH_BROWSER` names another.
Without a browser HTML and JSON still work, and the camera of every figure in the app saves SVG.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.base.errors import InputError
from core.base.files import storage_errors, write_bytes

if TYPE_CHECKING:
    import plotly.graph_objects as go

_ENDINGS = (".svg", ".png", ".html", ".json")
VARIABLE = "CROSSMATCH_BROWSER"


def browser() -> str | None:
    """The browser that draws: `$CROSSMATCH_BROWSER`, else the first that is installed; None where there is none."""
    from choreographer.browsers import Chromium

    chosen = os.environ.get(VARIABLE) or Chromium.find_browser(skip_local=False)
    return shutil.which(chosen) if chosen else None


def write_figure(figure: go.Figure, path: Path, width: int | None = None, height: int | None = None) -> Path:
    """Write a figure; see `_write_figures`."""
    return _write_figures({path: figure}, width, height)[0]


def _write_figures(
    figures: Mapping[Path, go.Figure],
    width: int | None = None,
    height: int | None = None,
    scale: float = 2,
) -> list[Path]:
    """Write figures by path, all drawn by one browser and then written: none where one cannot be drawn.

    A path's ending decides the format. width, height : CSS pixels, by default the figure's own, else 900 x 400; a PNG
    has `scale` times as many.
    Raises InputError for another ending, and for SVG and PNG where no browser is installed or it does not draw.
    """
    for path in figures:
        if path.suffix.lower() not in _ENDINGS:
            raise InputError(f"{path} cannot be written; its name must end in {', '.join(_ENDINGS)}.")
    shown = {path: _with_white_background(figure, width, height) for path, figure in figures.items()}
    for path, data in {**_texts(shown), **_pictures(shown, scale)}.items():
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, data)
    return list(figures)


def _texts(figures: Mapping[Path, dict[str, Any]]) -> dict[Path, bytes]:
    """HTML, with all that it needs, and JSON."""
    import plotly.io

    found = {}
    for path, figure in figures.items():
        if path.suffix.lower() == ".json":
            found[path] = plotly.io.to_json(figure, validate=False).encode()
        if path.suffix.lower() == ".html":
            config = {"displaylogo": False}
            found[path] = plotly.io.to_html(figure, config, include_plotlyjs=True, validate=False).encode()
    return found


def _pictures(figures: Mapping[Path, dict[str, Any]], scale: float) -> dict[Path, bytes]:
    """SVG and PNG."""
    wanted = {path: path.suffix.lower()[1:] for path in figures if path.suffix.lower() in (".svg", ".png")}
    if not wanted:
        return {}
    program = browser()
    if program is None:
        raise InputError(
            "SVG and PNG are drawn by a browser, and no Chromium, Chrome or Edge is installed; install one, set "
            f"{VARIABLE} to its path, or write .html."
        )
    from core.exchange._kaleido_render import render_figures  # plotly

    pictures = render_figures(program, [(figures[path], kind) for path, kind in wanted.items()], scale)
    return dict(zip(wanted, pictures, strict=True))


def _with_white_background(figure: go.Figure, width: int | None, height: int | None) -> dict[str, Any]:
    """Data and layout of a copy as a paper shows it: white ground, dark text, a size of its own.

    Plain dictionaries: Plotly would check each of the template's two thousand entries again, 20 ms a figure.
    """
    import plotly.io

    shown = figure.to_dict()
    given = shown["layout"]
    shown["layout"] = {
        **given,
        "template": plotly.io.templates["plotly_white"].to_plotly_json(),
        "paper_bgcolor": "#fff",
        "plot_bgcolor": "#fff",
        "font": {**given.get("font", {}), "color": "#1c1e26"},
        "width": width or given.get("width") or 900,
        "height": height or given.get("height") or 400,
    }
    return shown
