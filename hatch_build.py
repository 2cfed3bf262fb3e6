"""Build hook: the wheel holds one top-level package, `crossmatch`, with `core` and the assets inside it.

A checkout keeps `core` at its root. Installed under that name it would replace any other package named `core`, so a
wheel gets it as `crossmatch.core`, with every mention of it changed: imports, the modules that processes are started
with (`python -m core.worker`), and what comments refer to. An editable install gets nothing but the checkout's path.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

INSIDE = "crossmatch"
_MENTION = re.compile(r"(?<![\w./-])core(?=[./]\w)|(?<=from )core(?= import)")


def moved(text: str) -> str:
    """Python source that imports the package `core` from inside `crossmatch`.

    >>> moved("from core.runs.engine import launch; launch(store, run, 'core.worker')")
    "from crossmatch.core.runs.engine import launch; launch(store, run, 'crossmatch.core.worker')"
    """
    return _MENTION.sub(f"{INSIDE}.core", text)


class CustomBuildHook(BuildHookInterface):
    """Found by hatchling under this name."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        root, package = Path(self.root), Path(self._folder.name) / INSIDE
        for source, target in ((root / INSIDE, package), (root / "core", package / "core")):
            for file in sorted(source.rglob("*.py")):
                copy = target / file.relative_to(source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(moved(file.read_text(encoding="utf-8")), encoding="utf-8")
        (package / "py.typed").touch()
        build_data["force_include"] |= {str(package): INSIDE, str(root / "assets"): f"{INSIDE}/core/assets"}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._folder.cleanup()
