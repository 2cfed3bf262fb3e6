"""Imports every module that keeps `assets`, which finds the shipped files, or a path from it.

A test that puts another function in its place must not be the first to import one of them: that one would keep it.
"""

import importlib
from pathlib import Path

ROOT = Path(__file__).parents[1]

for folder in ("core", "ui"):
    for path in sorted((ROOT / folder).rglob("*.py")):
        if "paths import assets" in path.read_text(encoding="utf-8"):
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
