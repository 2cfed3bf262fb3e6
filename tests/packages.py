"""What `pip install` leaves of a package with scorers, for tests of `python:NAME`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

WORD_COUNT = """
import numpy as np

class WordCount:
    key = "1"

    def score(self, images, captions, pairs):
        pixels = [np.asarray(image.open().resize((8, 8))).mean() for image in images]
        return np.array([pixels[i] + len(captions[j]) for i, j in pairs], dtype=np.float32)
"""


def install(site: Path, code: str, scorers: Mapping[str, str]) -> Path:
    """A module `ten_lines_of_scorer` and its metadata in a folder for `sys.path`. scorers : name -> entry point."""
    info = site / "ten_lines-1.2.dist-info"
    info.mkdir(parents=True)
    (site / "ten_lines_of_scorer.py").write_text(code)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ten-lines\nVersion: 1.2\n")
    lines = [f"{name} = {entry}" for name, entry in scorers.items()]
    (info / "entry_points.txt").write_text("[crossmatch.scorers]\n" + "\n".join(lines) + "\n")
    return site
