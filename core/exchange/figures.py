"""A figure as SVG, PNG, HTML or JSON, without network.

Plotly draws in a browser, so SVG and PNG are drawn by the Chromium, Chrome or Edge of this machine, headless, from the
plotly.js that the library ships: nothing is installed for it and nothing is fetched. `$CROSSMATCH_BROWSER` names
another. Without a browser HTML and JSON still work, and the camera of every figure in the app saves SVG.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from core.errors import InputError
from core.files import storage, write_bytes

if TYPE_CHECKING:
    import plotly.graph_objects as go

ENDINGS = (".svg", ".png", ".html", ".json")
VARIABLE = "CROSSMATCH_BROWSER"
PATIENCE = 60.0  # seconds a browser may take to draw
_COMMANDS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "microsoft-edge",
)
_APPS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)


def browser() -> str | None:
    """The browser that draws: `$CROSSMATCH_BROWSER`, else the first that is installed; None where there is none."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return shutil.which(chosen)
    found = (shutil.which(name) for name in _COMMANDS)
    return next((path for path in found if path), next((app for app in _APPS if Path(app).is_file()), None))


def write_figure(
    figure: go.Figure, path: Path, width: int = 900, height: int | None = None, scale: float = 2
) -> Path:
    """Write a figure; the ending decides the format. width, height : CSS pixels; a PNG has `scale` times as many.

    Raises InputError for another ending, and for SVG and PNG where no browser is installed or it does not answer.
    """
    suffix = path.suffix.lower()
    if suffix not in ENDINGS:
        raise InputError(f"{path} cannot be written; its name must end in {', '.join(ENDINGS)}.")
    shown = on_white(figure, width, height)
    if suffix == ".json":
        data = shown.to_json().encode()
    elif suffix == ".html":
        data = shown.to_html(include_plotlyjs=True, config={"displaylogo": False}).encode()
    else:
        data = _draw(shown, suffix[1:], scale)
    with storage(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, data)
    return path


def on_white(figure: go.Figure, width: int, height: int | None) -> go.Figure:
    """A copy as a paper shows it: white ground, dark text, a size of its own."""
    import plotly.graph_objects as go

    copy = go.Figure(figure)
    copy.update_layout(
        template="plotly_white",
        paper_bgcolor="#fff",
        plot_bgcolor="#fff",
        font={"color": "#1c1e26"},
        width=width,
        height=height or copy.layout.height or 400,
    )
    return copy


def _draw(figure: go.Figure, kind: str, scale: float) -> bytes:
    program = browser()
    if program is None:
        raise InputError(
            f"SVG and PNG are drawn by a browser, and no Chromium, Chrome or Edge is here; install one, set {VARIABLE} "
            "to its path, or write .html."
        )
    with tempfile.TemporaryDirectory(prefix="crossmatch-") as place:
        page = Path(place) / "figure.html"
        page.write_text(_page(figure, kind, scale), encoding="utf-8")
        address = _ask(program, page, Path(place) / "profile")
    head, _, body = address.partition(",")
    return base64.b64decode(body) if head.endswith(";base64") else unquote(body).encode()


def _page(figure: go.Figure, kind: str, scale: float) -> str:
    """A page that draws the figure and leaves it, as a data address, in its own text."""
    from plotly.offline import get_plotlyjs

    # "</" would end the script element wherever it stands in a text of the figure.
    described = json.dumps(json.loads(figure.to_json())).replace("</", "<\\/")
    options = json.dumps(
        {
            "format": kind,
            "width": figure.layout.width,
            "height": figure.layout.height,
            "scale": scale if kind == "png" else 1,
        }
    )
    return f"""<!doctype html><meta charset="utf-8"><body><div id="figure"></div><pre id="out"></pre>
<script>{get_plotlyjs()}</script><script>
const figure = {described};
Plotly.newPlot("figure", figure.data, figure.layout, {{staticPlot: true}})
  .then(() => Plotly.toImage("figure", {options}))
  .then(address => {{ document.body.textContent = "DRAWN" + address + "END"; }})
  .catch(error => {{ document.body.textContent = "FAILED" + error + "END"; }});
</script></body>"""


def _ask(program: str, page: Path, profile: Path) -> str:
    command = [
        program,
        "--headless=new",
        "--disable-gpu",
        "--disable-extensions",
        "--disable-background-networking",
        "--no-first-run",
        *(
            ["--no-sandbox"] if sys.platform == "linux" and os.geteuid() == 0 else []
        ),  # Chromium insists, as root
        f"--user-data-dir={profile}",
        "--virtual-time-budget=20000",
        "--dump-dom",
        page.as_uri(),
    ]
    try:
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(
            f"The browser {program} does not draw ({type(error).__name__}); write .html instead."
        ) from None
    text = done.stdout.decode("utf-8", "replace")
    found = re.search(r"DRAWN(data:.*?)END", text, re.DOTALL)
    if found is None:
        failed = re.search(r"FAILED(.*?)END", text, re.DOTALL)
        reason = html.unescape(failed[1])[:200] if failed else f"exit status {done.returncode}"
        raise InputError(f"The browser {program} did not draw the figure ({reason}); write .html instead.")
    return html.unescape(found[1])
