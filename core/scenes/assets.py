"""Everything of the built-in world that lies in assets/scenes/."""

from __future__ import annotations

from pathlib import Path

from core.scenes.flattened import write_flat
from core.scenes.retrieval import write_retrieval
from core.scenes.sets import write_sets


def write_assets(folder: Path | None = None) -> list[Path]:
    """Write all shipped files anew (into `folder` instead of assets/scenes/ if one is given)."""
    return [*write_sets(folder), *write_flat(folder), *write_retrieval(folder)]
