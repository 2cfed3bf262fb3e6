"""The built-in world's sets (`core/scenes`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core.datasets.base import GROUPS, RETRIEVAL
from core.errors import InputError


def names(kind: str = GROUPS) -> list[str]:
    """`scenes/attribute-swap`, `scenes/left-right`, ...; of kind retrieval `scenes/retrieval`."""
    from core.scenes import SETS
    from core.scenes.retrieval import NAME

    return {GROUPS: list(SETS), RETRIEVAL: [NAME]}.get(kind, [])


def state(name: str) -> str:
    """They ship with Crossmatch."""
    return "built in"


def load(
    name: str, split: str | None, folder: Path | None = None, images: bool = True, partial: bool = False
) -> Any:
    """The shipped validation or test set; the train split is drawn from its seed."""
    from core.scenes import load as load_scenes
    from core.scenes.retrieval import NAME, load_retrieval

    if folder is not None:
        raise InputError(f"{name} is built in and reads no folder; leave the folder out.")
    split = split or "test"
    return load_retrieval(split) if name == NAME else load_scenes(name, split)
