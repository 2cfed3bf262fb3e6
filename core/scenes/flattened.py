"""The flattened global variants: all images of a set with all of its captions, no groups given ([TTM] 3.2.1).

Most captions of the built-in world are true of many pictures: of the 600 images of `scenes/left-right`, 81 % fit the
caption of another group too, and of `scenes/attribute-swap` 99 %. A matching of all images with all captions would then
have no one right answer. So `scenes/left-right@global` keeps the groups whose captions are clearly false of every image
of every other group that is kept; then each image has one caption, and no caption occurs twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np

from core.base.errors import InputError, unknown_name
from core.groups import GroupSet
from core.scenes import sets
from core.scenes.builders import DraftGroup
from core.scenes.captions import is_true_of
from core.scenes.sets import SHIPPED, draw_groups, load
from core.scenes.shipped_files import asset_path, damaged, read_rows, write_rows

GLOBAL_SUFFIX = "@global"
# Those whose groups hold several images or all relations, as in [TTM] Table 2; each keeps at least 100 test images. The
# others ask which of two captions describes one image, or which of five is a sentence.
BASES = (
    "scenes/attribute-swap",
    "scenes/left-right",
    "scenes/front-behind",
    "scenes/relations-1x4",
    "scenes/size-swap",
    "scenes/material-swap",
    "scenes/triples",
    "scenes/two-of-four",
)
FLAT = tuple(base + GLOBAL_SUFFIX for base in BASES)
_TRAIN = 300  # groups of a training split that are chosen from; comparing all with all is quadratic


def is_flat(name: str) -> bool:
    """Whether a benchmark's name is that of a flattened variant."""
    return name.endswith(GLOBAL_SUFFIX)


def load_flat(name: str, split: str = "test") -> GroupSet:
    """The groups of a flattened variant, still as groups: `scores.score_all` scores all images with all captions.

    name : one of `FLAT`. Every caption is clearly false of every image but its own, so truth is one matching.
    """
    if name not in FLAT:
        raise unknown_name("flattened set", name, FLAT)
    base = name.removesuffix(GLOBAL_SUFFIX)
    if split not in SHIPPED:
        groups = load(base, split).select(range(_TRAIN))
        return _described(groups.select(independent_groups(base, split, _TRAIN)), name)
    groups, path = load(base, split), asset_path(base, f"global-{split}")
    try:
        kept = {row["id"] for row in read_rows(path, name, split)}
        found = groups.select([i for i, own in enumerate(groups.ids) if own in kept])
        if len(found) < len(kept):
            raise ValueError(f"it names groups that {base} does not have")
    except (KeyError, TypeError, ValueError, InputError) as error:
        raise error if isinstance(error, InputError) else damaged(path, error) from None
    return _described(found, name)


def _described(groups: GroupSet, name: str) -> GroupSet:
    text = "All images with all captions, no groups given; only groups whose captions fit no other image. "
    return replace(
        groups, name=name, title=f"{groups.title}, flattened", description=text + groups.description
    )


def independent_groups(base: str, split: str, n: int | None = None) -> np.ndarray:
    """Indices (ascending) of the groups of a built set that stay in its flattened variant; a pure function."""
    return independent([draft for draft, _ in draw_groups(base, split, n)])


def independent(drafts: Sequence[DraftGroup]) -> np.ndarray:
    """A largest-as-found set of drafts without conflicts, greedily by fewest conflicts, int (kept,) ascending."""
    conflict = np.zeros((len(drafts), len(drafts)), dtype=bool)
    for a, b in combinations(range(len(drafts)), 2):
        conflict[a, b] = conflict[b, a] = _fits(drafts[a], drafts[b]) or _fits(drafts[b], drafts[a])
    alive, kept = np.ones(len(drafts), dtype=bool), []
    while alive.any():
        rivals = np.where(alive, conflict[:, alive].sum(axis=1), len(drafts))
        chosen = int(rivals.argmin())
        kept.append(chosen)
        alive[chosen] = False
        alive &= ~conflict[chosen]
    return np.sort(np.array(kept, dtype=np.int64))


def _fits(captions_of: DraftGroup, images_of: DraftGroup) -> bool:
    """Whether some caption of the one draft is true, or arguable, of some image of the other."""
    return any(
        is_true_of(claim, scene) is not False for claim in captions_of.claims for scene in images_of.scenes
    ) or bool(set(captions_of.captions) & set(images_of.captions))


def write_flat(folder: Path | None = None) -> list[Path]:
    """Write anew which groups the flattened variants keep."""
    written = []
    for base in [base for base in BASES if base in sets.SETS]:
        for split in SHIPPED:
            path = asset_path(base, f"global-{split}", folder)
            made = list(draw_groups(base, split))
            rows = ({"id": made[i][1].id} for i in independent([draft for draft, _ in made]))
            write_rows(path, base + GLOBAL_SUFFIX, split, rows)
            written.append(path)
    return written
