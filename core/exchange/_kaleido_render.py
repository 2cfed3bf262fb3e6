"""Pictures of figures, drawn by a browser of this machine that reaches no network; kaleido drives it."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import kaleido
from choreographer.browsers import Chromium
from choreographer.errors import DevtoolsProtocolError
from kaleido.errors import KaleidoError

from core.base.errors import InputError

START_TIMEOUT = 60.0  # seconds a browser may take to start, and to draw one figure
STOP_TIMEOUT = 5.0  # seconds it may take to answer that it ends; then it is killed
_SIGNATURES = {"svg": b"<svg", "png": b"\x89PNG"}
# What a browser that fails, ends early or does not answer makes kaleido raise.
_FAILURES = (
    RuntimeError,
    OSError,
    UnicodeError,
    KaleidoError,
    DevtoolsProtocolError,
    asyncio.CancelledError,
    asyncio.InvalidStateError,  # its channel closes while it is being told so
)

logging.getLogger("choreographer").setLevel(logging.CRITICAL)  # a browser that fails is told in one sentence


class OfflineChromium(Chromium):
    """A browser for which every name and every address leads nowhere, whatever a figure asks for."""

    def get_cli(self) -> Sequence[str]:
        return [
            *super().get_cli(),
            "--disable-background-networking",
            "--host-resolver-rules=MAP * ~NOTFOUND",
        ]


class FigureRenderer(kaleido.Kaleido):
    """One browser with one page, on which every figure is drawn."""

    def __init__(self, program: str) -> None:
        # Chromium refuses its sandbox to root; MathJax would come from the network.
        root = sys.platform == "linux" and os.geteuid() == 0
        given = {"path": program, "browser_cls": OfflineChromium, "enable_sandbox": not root}
        super().__init__(timeout=START_TIMEOUT, mathjax=False, **given)

    async def _return_kaleido_tab(self, tab: Any) -> None:
        # kaleido loads plotly.js anew after every figure, six sevenths of the time; a picture leaves nothing behind.
        await self.tabs_ready.put(tab)


def render_figures(program: str, figures: Sequence[tuple[dict[str, Any], str]], scale: float) -> list[bytes]:
    """Pictures of figures (data and layout) as `svg` or `png`, all by one browser that has ended afterwards.

    scale : pixels of a PNG for each of the layout's width and height.
    Raises InputError where the browser does not start, does not answer in time or draws no picture.
    """
    # An event loop in a thread of its own: who calls may be inside one, as in a notebook.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, _rendered(program, figures, scale)).result()


async def _rendered(program: str, figures: Sequence[tuple[dict[str, Any], str]], scale: float) -> list[bytes]:
    easel = await _started_browser(program)
    try:
        return [await _picture(easel, program, figure, kind, scale) for figure, kind in figures]
    finally:
        await _end(easel)


async def _started_browser(program: str) -> FigureRenderer:
    """A browser that is ready; one that ended at its start is started again, twice.

    On a busy machine kaleido may wait for one that has ended until the time is over: the first starts get less of it.
    """
    for share in (4, 2, 1):
        easel = FigureRenderer(program)
        try:
            async with asyncio.timeout(START_TIMEOUT / share):
                await easel.open()
            return easel
        except _FAILURES as error:
            failure = type(error).__name__
            await _end(easel)
    raise InputError(
        f"The browser {program} does not start ({failure}); set CROSSMATCH_BROWSER to the path of another, or "
        "write .html."
    )


async def _end(easel: FigureRenderer) -> None:
    async with asyncio.timeout(STOP_TIMEOUT):
        await easel.close()


async def _picture(
    easel: FigureRenderer, program: str, figure: dict[str, Any], kind: str, scale: float
) -> bytes:
    """One picture; a browser answers with a few bytes of nothing where a PNG is larger than it can draw."""
    width, height = figure["layout"]["width"], figure["layout"]["height"]
    times = scale if kind == "png" else 1
    try:
        data = await easel.calc_fig(
            figure, {"format": kind, "width": width, "height": height, "scale": times}
        )
    except _FAILURES as error:
        reason = str(error)[:200] or type(error).__name__
        raise InputError(
            f"The browser {program} did not draw the figure ({reason}); write .html instead."
        ) from None
    if not data.startswith(_SIGNATURES[kind]):
        pixels = f"{width * times:g} x {height * times:g}"
        raise InputError(f"The browser {program} draws no {pixels} pixels; make the figure smaller.")
    return data
