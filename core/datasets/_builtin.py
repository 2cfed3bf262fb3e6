"""The built-in world's sets (`core/scenes`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core.base.errors import InputError
from core.datasets.base import GROUPS, RETRIEVAL
from core.scenes import sets
from core.scenes.retrieval import NAME, load_retrieval


def names(kind: str = GROUPS) -> list[str]:
    """`scenes/attribute-swap`, ..., then the flattened `scenes/attribute-swap@global`, ...; one retrieval set."""
    return {GROUPS: [*sets.SETS, *sets.FLAT], RETRIEVAL: [NAME]}.get(kind, [])


def state(name: str) -> str:
    """They ship with Crossmatch."""
    return "built in"


def load(
    name: str, split: str | None, folder: Path | None = None, images: bool = True, partial: bool = False
) -> Any:
    """The shipped validation or test set; the train split is drawn from its seed."""
    if folder is not None:
        raise InputError(f"{name} is built in and reads no folder; leave the folder out.")
    split = split or "test"
    return load_retrieval(split) if name == NAME else sets.load(name, split)
