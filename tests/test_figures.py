"""A figure leaves as a whole file in four formats; its browser reaches no network and has ended afterwards.

What draws is skipped with one line where there is no browser, unless CI=true: then that is a failure.
"""

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import plotly.graph_objects as go
import psutil
import pytest
from gates import until
from PIL import Image

from core import figures as plots
from core.base.errors import InputError
from core.exchange import _kaleido_render, figures
from core.exchange.figures import _write_figures, browser, write_figure
from core.metrics.evaluation import Evaluation

TEXTS = ["größe 猫 →", "</script><b>x</b>", "100 % “END” & <i>END</i>", "Übergänge " * 30, ""]


def bars(**layout) -> go.Figure:
    return go.Figure(go.Bar(x=["</script><b>x</b>", "größe"], y=[1, 2]), layout)


def test_an_exported_figure_says_what_it_shows_in_as_much_more_height():
    from ui.export import _titled

    plain = bars(height=300, margin={"t": 12})
    title = "a <b>file</b> · 300 groups"
    titled = _titled(lambda: plain, title, "Dotted: chance. " * 12)
    assert titled.layout.title.text == "a &lt;b&gt;file&lt;/b&gt; · 300 groups"
    assert titled.layout.title.subtitle.text.count("<br>") == 1  # as many lines as 900 pixels need
    plot = 300 - 12
    assert (
        titled.layout.height - titled.layout.margin.t == plot and titled.layout.margin.t >= 24 + 22 + 2 * 18
    )
    assert (plain.layout.title.text, plain.layout.height) == (None, 300)  # the page draws it still
    assert _titled(plain, "", "") is plain


@pytest.fixture
def aside(tmp_path, monkeypatch) -> Path:
    """Where the browsers of a test keep their profiles; what they leave and who still runs is seen there."""
    folder = tmp_path / "aside"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def drawn(aside) -> Iterator[None]:
    """A browser to draw with, none of which is left after the test."""
    if browser() is None:
        missing = "needs Chromium, Chrome or Edge (Debian: apt-get install chromium)"
        pytest.fail(missing) if os.environ.get("CI") == "true" else pytest.skip(missing)
    yield
    until(lambda: not running(aside))  # a process that was ended is seen for a moment
    assert not list(aside.iterdir())


def running(folder: Path) -> list[str]:
    """Commands of the processes that were started to use this folder."""
    found = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    return [" ".join(command) for command in found if any(str(folder) in part for part in command)]


# --- without a browser


def test_html_and_json_need_no_browser_and_load_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "browser", lambda: None)
    page = write_figure(bars(), tmp_path / "f.html").read_text()
    assert "</script><b>" not in page
    assert 'src="http' not in page
    record = json.loads(write_figure(bars(), tmp_path / "f.json").read_text())
    assert record["layout"]["paper_bgcolor"] == "#fff"
    with pytest.raises(InputError, match="no Chromium, Chrome or Edge is installed; install one"):
        write_figure(bars(), tmp_path / "f.svg")
    with pytest.raises(InputError, match=r"must end in \.svg, \.png"):
        write_figure(bars(), tmp_path / "f.gif")


def test_a_figure_keeps_its_size_unless_another_is_named(tmp_path):
    given = {tmp_path / "own.json": bars(width=300, height=200), tmp_path / "none.json": bars()}
    sizes = [json.loads(path.read_text())["layout"] for path in _write_figures(given)]
    assert [(size["width"], size["height"]) for size in sizes] == [(300, 200), (900, 400)]
    named = json.loads(write_figure(bars(width=300, height=200), tmp_path / "n.json", 500, 250).read_text())
    assert (named["layout"]["width"], named["layout"]["height"]) == (500, 250)


def test_a_browser_that_does_not_start_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv(figures.VARIABLE, shutil.which("true") or "true")
    with pytest.raises(InputError, match=r"does not start .*; set CROSSMATCH_BROWSER to the path of another"):
        write_figure(bars(), tmp_path / "f.svg")
    monkeypatch.setenv(figures.VARIABLE, "no-such-browser")
    with pytest.raises(InputError, match="no Chromium"):
        write_figure(bars(), tmp_path / "f.png")


def test_a_browser_that_ends_while_it_is_asked_is_a_sentence(tmp_path, monkeypatch):
    """On a busy machine choreographer told of the closed channel twice, the second time by an error of asyncio's."""

    async def ended(easel):
        raise asyncio.InvalidStateError("invalid state")

    monkeypatch.setenv(figures.VARIABLE, shutil.which("true") or "true")
    monkeypatch.setattr(_kaleido_render.FigureRenderer, "open", ended)
    with pytest.raises(InputError, match=r"does not start \(InvalidStateError\)"):
        write_figure(bars(), tmp_path / "f.svg")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="the program that never answers is a script")
def test_a_browser_that_never_answers_is_given_up_and_ended(tmp_path, aside, monkeypatch):
    program = aside / "silent"
    program.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(600)\n")
    program.chmod(0o755)
    monkeypatch.setenv(figures.VARIABLE, str(program))
    monkeypatch.setattr(_kaleido_render, "START_TIMEOUT", 0.5)
    monkeypatch.setattr(_kaleido_render, "STOP_TIMEOUT", 0.1)
    with pytest.raises(InputError, match="does not start"):
        write_figure(bars(), tmp_path / "f.svg")
    assert not running(aside)


# --- drawn by the browser that is here


@pytest.mark.browser
def test_svg_and_png_have_the_size_and_the_letters_they_were_given(tmp_path, drawn):
    both = {tmp_path / "f.svg": bars(), tmp_path / "f.PNG": bars()}
    svg, png = _write_figures(both, 500, 300)
    text = svg.read_text()
    assert text.startswith("<svg")
    assert 'width="500" height="300"' in text
    assert "größe" in text
    image = Image.open(png)
    assert image.size == (1000, 600)
    assert len(image.convert("RGB").getcolors(100_000)) > 10  # something is drawn


def kinds(rng: np.random.Generator, text: str) -> list[go.Figure]:
    """Figures of twenty kinds with data from `rng`, marked with `text`: two as users export them, the rest Plotly's."""
    scores = rng.normal(size=(60, 2, 2))
    found = Evaluation.of(scores, None)
    x, y = rng.normal(size=(2, 40))
    names = [f"{text[:20]} {i}" for i in range(6)]
    y[3], table = np.nan, rng.random((6, 6))
    traces = [
        go.Bar(x=names, y=y[:6], error_y={"array": table[0]}),
        go.Bar(y=names, x=y[:6], orientation="h", marker={"pattern": {"shape": "/"}}),
        go.Scatter(x=x, y=y, mode="markers", name=text),
        go.Scatter(x=np.sort(x), y=y, fill="tozeroy", line={"dash": "dot"}),
        go.Scatter(x=x[:6], y=y[:6], text=names, mode="lines+text"),
        go.Heatmap(z=table, x=names, y=names, texttemplate="%{z:.2f}"),
        go.Contour(z=table),
        go.Histogram(x=x),
        go.Histogram2d(x=x, y=y),
        go.Box(y=y, name=text),
        go.Violin(y=y, name=text, box={"visible": True}),
        go.Pie(labels=names, values=table[0]),
        go.Sunburst(labels=["root", *names], parents=["", *["root"] * 6], values=[0, *table[0]]),
        go.Treemap(labels=["root", *names], parents=["", *["root"] * 6], values=[0, *table[0]]),
        go.Sankey(node={"label": names}, link={"source": [0, 1, 2], "target": [3, 4, 5], "value": table[0][:3]}),
        go.Scatterpolar(r=table[0], theta=names, fill="toself"),
        go.Funnel(y=names, x=table[0]),
        go.Table(header={"values": names}, cells={"values": table}),
    ]  # fmt: skip
    ours = [
        plots.bars_figure(plots.bars_data({text: found.metrics}, list(found.outcomes))),
        plots.margins_figure(plots.margins_data(found.matches, found.outcomes["group_match"])),
    ]
    return [*ours, *map(go.Figure, traces)]


@pytest.mark.slow
@pytest.mark.browser
def test_two_hundred_pictures_of_all_kinds_and_sizes_are_whole(tmp_path, drawn):
    rng = np.random.default_rng(0)
    varied = [figure for i in range(10) for figure in kinds(rng, TEXTS[i % len(TEXTS)])]
    sizes = [tuple(map(int, rng.integers((240, 200), (420, 340)))) for _ in varied]
    given = {}
    for i, (figure, (width, height)) in enumerate(zip(varied, sizes, strict=True)):
        figure.update_layout(width=width, height=height, title=TEXTS[i % len(TEXTS)])
        given[tmp_path / f"{i}.png"] = figure
    assert len(given) == 200
    for path, size in zip(_write_figures(given, scale=1), sizes, strict=True):
        with Image.open(path) as image:
            image.load()  # reads to the end; raises where the file stops before
            assert image.size == size
            assert len(image.convert("RGB").getcolors(200_000)) > 10


class Asked(BaseHTTPRequestHandler):
    """A picture that every site may load; writes down who asks."""

    def __init__(self, seen: list[str], *given) -> None:
        self.seen = seen
        super().__init__(*given)

    def do_GET(self) -> None:
        self.seen.append(self.path)
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Type", "image/svg+xml")
        self.end_headers()
        self.wfile.write(b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')

    def log_message(self, *_) -> None:
        """Nothing on the terminal."""


@pytest.mark.browser
def test_the_browser_asks_no_address_not_even_one_of_this_machine(tmp_path, drawn):
    seen: list[str] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Asked, seen)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        figure = bars()
        for host in ("127.0.0.1", "localhost", "0.0.0.0"):
            source = f"http://{host}:{server.server_port}/{host}"
            figure.add_layout_image(source=source, x=0, y=1, sizex=1, sizey=1)
        svg = write_figure(figure, tmp_path / "f.svg").read_text()
        server.shutdown()
    assert "größe" in svg
    assert not seen


@pytest.mark.slow
@pytest.mark.browser
def test_of_several_figures_none_is_written_where_one_cannot_be_drawn(tmp_path, drawn):
    borders = go.Figure(go.Choropleth(locations=["DEU"], z=[1]))  # Plotly would fetch them
    with pytest.raises(InputError, match=r"did not draw the figure \(.*fetching"):
        _write_figures({tmp_path / "f.svg": bars(), tmp_path / "map.svg": borders})
    with pytest.raises(InputError, match="draws no 80000 x 80000 pixels; make the figure smaller"):
        _write_figures({tmp_path / "f.png": bars(), tmp_path / "large.png": bars()}, 40_000, 40_000)
    assert not list(tmp_path.glob("*.*g"))


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.skipif(os.name != "posix", reason="the program that ends at once is a script")
def test_a_browser_that_ends_at_its_first_start_is_started_again(tmp_path, drawn, monkeypatch):
    once = tmp_path / "once"
    script = f'#!/bin/sh\n[ -e "{once}" ] || {{ touch "{once}"; exit 1; }}\nexec "{figures.browser()}" "$@"\n'
    program = tmp_path / "program"
    program.write_text(script)
    program.chmod(0o755)
    monkeypatch.setenv(figures.VARIABLE, str(program))
    with Image.open(write_figure(bars(width=300), tmp_path / "f.png")) as image:
        assert image.size[0] == 600
    assert once.exists()


@pytest.mark.slow
@pytest.mark.browser
def test_two_exports_at_once_do_not_meet(tmp_path, drawn):
    paths = [tmp_path / "one.png", tmp_path / "other.png"]
    with ThreadPoolExecutor(2) as both:
        list(both.map(write_figure, [bars(width=300), bars(width=500)], paths))
    assert [Image.open(path).size[0] for path in paths] == [600, 1000]
