"""What the registry of benchmarks holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from core.datasets.base import GROUPS


class Source(Protocol):
    """What the registry holds: a family of benchmarks, or the module of the built-in ones."""

    def names(self, kind: str = GROUPS) -> list[str]: ...
    def state(self, name: str) -> str: ...
    def load(
        self,
        name: str,
        split: str | None,
        folder: Path | None = None,
        images: bool = True,
        partial: bool = False,
    ) -> Any: ...
