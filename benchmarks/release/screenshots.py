"""Images of every page, and README's with `--readme`.

    python -m benchmarks.release.screenshots [--out DIR] [--only NAME] [--readme]

Starts the app on a home of its own, runs test-time matching once so that there is something to see, and photographs
every page at laptop and phone width, in light and dark: `<page>-<width>-<scheme>.png`. For README a few of them, at
laptop width in light, into assets/figures.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]
SIZES = {"laptop": (1366, 768), "phone": (390, 844)}
SCHEMES = ("light", "dark")
TALLEST = 5000
SET = "scenes/left-right"
PAGES = {
    "home": "/",
    "groups": f"/Groups?set={SET}",
    "group": f"/Groups?set={SET}&group=left-right/test/0123",
    "group-pair": f"/Groups?set={SET}&group=left-right/test/0123&pair=B–2",
    "group-1x4": "/Groups?set=scenes/relations-1x4&group=relations-1x4/test/0002",
    "group-3x3": "/Groups?set=scenes/triples&group=triples/test/0004",
    "group-2x4": "/Groups?set=scenes/two-of-four&group=two-of-four/test/0002",
    "group-predict": f"/Groups?set={SET}&group=left-right/test/0005&predict=true",
    "matching": f"/Matching?set={SET}&tau=0.3",
    "lessons": "/Lessons",
    **{f"lesson-{name}": f"/Lessons?lesson={name}" for name in ("matrix", "chance", "alpha")},
    "debias": "/Debias?set=scenes/relations-1x4&model=builtin/blip-caption&alpha=0.2",
    "retrieval": "/Retrieval",
    "retrieval-strategies": "/Retrieval?view=strategies",
    "papers": "/Papers",
    "your-data": "/Your_Data",
    "compare": f"/Compare?set={SET}&model=builtin/clip&other=vgpt:builtin/blip-caption",
    "compare-group": f"/Compare?set={SET}&other=builtin/siglip&group=left-right/test/0003",
    "ttm-form": f"/Test-Time_Matching?set={SET}",
    "ttm-run": "/Test-Time_Matching?run=example",
    "runs": "/Runs?runs={first},{second}",
}


FIGURES = {"home": 1650, "group": 770, "matching": 1650, "ttm-run": 1650}  # README's, and how tall at most


@contextmanager
def server(home: Path) -> Iterator[str]:
    """The app on a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        "app.py",
        f"--server.port={port}",
        "--server.headless=true",
    ]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "CROSSMATCH_HOME": str(home)})
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5).close()
                break
            except OSError:
                time.sleep(0.25)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=20)


def runs(home: Path) -> list[str]:
    """Two finished runs with different seeds."""
    os.environ["CROSSMATCH_HOME"] = str(home)
    from core.runs.engine import launch
    from core.runs.store import RunStore
    from core.ttm.run import TTMRun

    store, ids = RunStore(), []
    for seed in (0, 1):
        job = TTMRun.of(SET, "builtin/clip", options={"seed": seed})
        ids.append(store.create("ttm", f"{SET} · builtin/clip · seed {seed}", job.written()).id)
        launch(store, ids[-1])
    while any(store.get(i).live for i in ids):
        time.sleep(1)
    return ids


def photograph(page: Any, address: str, path: Path, size: tuple[int, int], tallest: int = TALLEST) -> None:
    """The whole page, or so much of it from the top."""
    page.goto(address)
    page.get_by_test_id("stHeading").first.wait_for(timeout=120_000)
    for _ in range(3):  # a first run may start another one
        page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=300_000)
        page.wait_for_timeout(700)
    tall = page.evaluate("() => document.querySelector('[data-testid=stMainBlockContainer]').scrollHeight")
    page.set_viewport_size({"width": size[0], "height": min(max(size[1], tall + 70), tallest)})
    page.wait_for_timeout(900)
    page.screenshot(path=path)


def shrink(path: Path) -> None:
    """With 256 colours, half of the bytes: 192 where most pixels are, as in rendered scenes, and 64 spread over all, as
    the colours of verdicts and lines."""
    from PIL import Image

    with Image.open(path) as picture:
        whole = picture.convert("RGB")
    kinds = {Image.Quantize.MEDIANCUT: 192, Image.Quantize.MAXCOVERAGE: 64}
    colours = [
        c for kind, count in kinds.items() for c in whole.quantize(count, kind).getpalette()[: 3 * count]
    ]
    palette = Image.new("P", (1, 1))
    palette.putpalette(colours)
    whole.quantize(palette=palette, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "screenshots", help="folder for the pictures")
    parser.add_argument("--only", default="", help="pages whose name contains this")
    parser.add_argument("--readme", action="store_true", help="README's figures alone, into assets/figures")
    options = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("screenshots need Chromium (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    wanted = {name: path for name, path in PAGES.items() if options.only in name}
    shots = [(size, scheme, f"-{size}-{scheme}") for size in SIZES for scheme in SCHEMES]
    out = options.out
    if options.readme:
        wanted, shots = {name: PAGES[name] for name in FIGURES}, [("laptop", "light", "")]
        out = ROOT / "assets" / "figures"
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        needs_runs = any("{first}" in path for path in wanted.values())
        ids = runs(home) if needs_runs else ["", ""]
        with server(home) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            for name, path in wanted.items():
                for size, scheme, end in shots:
                    width, height = SIZES[size]
                    view = {"width": width, "height": height}
                    context = browser.new_context(viewport=view, color_scheme=scheme)  # type: ignore[arg-type]
                    where = address + path.format(first=ids[0], second=ids[1])
                    tallest = FIGURES[name] if options.readme else TALLEST
                    photograph(context.new_page(), where, out / f"{name}{end}.png", (width, height), tallest)
                    if options.readme:
                        shrink(out / f"{name}{end}.png")
                    context.close()
                    print(out / f"{name}{end}.png")
            browser.close()


if __name__ == "__main__":
    main()
