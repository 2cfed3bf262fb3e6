"""The built-in world's group sets (`core/scenes`)."""

from __future__ import annotations

from core.groups import GroupSet


def names() -> list[str]:
    """`scenes/attribute-swap`, `scenes/left-right`, ..."""
    from core.scenes import SETS

    return list(SETS)


def load(name: str, split: str) -> GroupSet:
    """The shipped validation or test groups; the train split is drawn from its seed."""
    from core.scenes import load as load_scenes

    return load_scenes(name, split)
