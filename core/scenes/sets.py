"""The group sets of the built-in world: `build` draws one from a seed, `load` reads the shipped one."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from core.base.errors import InputError, unknown_name
from core.groups import Group, GroupSet
from core.scenes import builders
from core.scenes.builders import Builder, DraftGroup
from core.scenes.captions import held_out_kinds, is_true_of, is_unambiguous
from core.scenes.render import SceneImage
from core.scenes.shipped_files import asset_path, damaged, read_rows, write_rows
from core.scenes.world import SPLITS, Scene

SHIPPED = (
    "validation",
    "test",
)  # the splits that lie in assets/; a training split is drawn when it is needed
UNSEEN_SHARE = 0.2  # of validation and test groups name a composition that no training scene holds


@dataclass(frozen=True)
class SetSpec:
    """What a set is, and how one of its groups is drawn."""

    title: str
    description: str
    build: Builder
    sizes: dict[str, int] = field(default_factory=lambda: {"train": 1000, "validation": 300, "test": 300})


SETS: dict[str, SetSpec] = {
    "scenes/attribute-swap": SetSpec(
        "Attribute swap",
        "2x2: two objects exchange their colours, as in Cola and ColorSwap.",
        builders.swap_pair("attribute"),
    ),
    "scenes/left-right": SetSpec(
        "Left and right",
        "2x2: two objects exchange their sides, as in WhatsUp.",
        builders.swap_pair("left-right"),
    ),
    "scenes/front-behind": SetSpec(
        "In front and behind",
        "2x2: two objects exchange their depths, as in WhatsUp.",
        builders.swap_pair("front-behind"),
    ),
    "scenes/relations-1x4": SetSpec(
        "Four relations",
        "1x4: left of, right of, in front of or behind, as in WhatsUp; one of the four holds.",
        builders.relations,
    ),
    "scenes/size-swap": SetSpec(
        "Size swap",
        "2x2: a large and a small object exchange their sizes.",
        builders.swap_pair("size"),
    ),
    "scenes/material-swap": SetSpec(
        "Material swap",
        "2x2: a metal and a rubber object exchange their materials.",
        builders.swap_pair("material"),
    ),
    "scenes/replace": SetSpec(
        "Replace",
        "1x2: one word of the caption is replaced by another of its kind, as in SugarCrepe.",
        builders.replaced,
    ),
    "scenes/swap": SetSpec(
        "Swap",
        "1x2: two attributes of the caption, or the sides of its relation, are exchanged, as in SugarCrepe.",
        builders.swapped,
    ),
    "scenes/add": SetSpec(
        "Add",
        "1x2: something true or something false is added to the same start, as in SugarCrepe; here both captions "
        "get an addition, so that length gives nothing away.",
        builders.added,
    ),
    "scenes/word-order": SetSpec(
        "Word order",
        "1x5: a caption and four shuffles of its words that are no English, as in ARO.",
        builders.word_order,
    ),
    "scenes/triples": SetSpec(
        "Triples",
        "3x3: three objects pass their colours round.",
        builders.triples,
    ),
    "scenes/two-of-four": SetSpec(
        "Two of four",
        "2x4: a pair of swapped scenes with its two captions and two more that fit neither.",
        builders.two_of_four,
    ),
}


def build(name: str, split: str, n: int | None = None, seed: int = 0) -> GroupSet:
    """Draw `n` groups (default: the set's own size) of a split from a seed; a pure function of its arguments."""
    return _group_set(name, split, tuple(group for _, group in draw_groups(name, split, n, seed)))


def draw_groups(
    name: str, split: str, n: int | None = None, seed: int = 0
) -> Iterator[tuple[DraftGroup, Group]]:
    """The groups of `build` one by one, each with the draft that knows what its captions mean."""
    spec = _spec(name)
    _check_split(split)
    count = spec.sizes[split] if n is None else n
    if count < 1:
        raise InputError(f"A set of {count} groups cannot be drawn; ask for at least one.")
    rng = np.random.default_rng([seed, SPLITS.index(split), zlib.crc32(name.encode())])
    mark = f"{name.removeprefix('scenes/')}/{split}" + (f"/seed{seed}" if seed else "")
    for i in range(count):
        draft = _draw(spec.build, rng, split)
        yield draft, _group(f"{mark}/{i:04d}", draft, rng)


def load(name: str, split: str = "test") -> GroupSet:
    """The shipped validation or test groups; a train split is drawn."""
    _spec(name)
    _check_split(split)
    if split not in SHIPPED:
        return build(name, split)
    rows = read_rows(asset_path(name, split), name, split)
    try:
        return _group_set(name, split, tuple(_from_row(row) for row in rows))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise damaged(asset_path(name, split), error) from None


def write_sets(folder: Path | None = None) -> list[Path]:
    """Write every shipped split of every set anew; equal bytes as long as sampler and templates are unchanged."""
    written = []
    for name in SETS:
        for split in SHIPPED:
            path = asset_path(name, split, folder)
            write_rows(path, name, split, (to_row(group) for group in build(name, split)))
            written.append(path)
    return written


def _spec(name: str) -> SetSpec:
    if name not in SETS:
        raise unknown_name("set of scenes", name, SETS)
    return SETS[name]


def _check_split(split: str) -> None:
    if split not in SPLITS:
        raise unknown_name("split", split, SPLITS)


def _group_set(name: str, split: str, groups: tuple[Group, ...]) -> GroupSet:
    spec = SETS[name]
    return GroupSet(
        name=name,
        groups=groups,
        title=spec.title,
        description=f"{spec.description} The {split} split.",
        source="Crossmatch's built-in world: scenes drawn and rendered by the project.",
        licence="Apache-2.0",
        citation="Crossmatch, built-in scenes.",
    )


def _draw(make: Builder, rng: np.random.Generator, split: str) -> DraftGroup:
    """The first draft that keeps every promise, seen or unseen as a draw decides."""
    seen = split == "train" or rng.random() >= UNSEEN_SHARE
    while True:
        draft = make(rng, split, seen)
        if draft is not None and _is_valid(draft, seen):
            return draft


def _is_valid(draft: DraftGroup, seen: bool) -> bool:
    """Whether each caption is clearly true of its own scene alone, and all are seen or all unseen alike.

    Were only the true captions seen, a model that knows the training captions could tell without an image.
    """
    if any(bool(held_out_kinds(claim)) is seen for claim in draft.claims):
        return False
    own = list(zip(draft.claims, draft.scenes, strict=False))
    if draft.wording.definite and not all(is_unambiguous(claim, scene) for claim, scene in own):
        return False
    if len(set(draft.captions)) < len(draft.captions):
        return False
    return all(
        is_true_of(claim, scene) is (i == j)
        for i, scene in enumerate(draft.scenes)
        for j, claim in enumerate(draft.claims)
    )


def _group(name: str, draft: DraftGroup, rng: np.random.Generator) -> Group:
    """The draft with its captions in random order."""
    captions = draft.captions
    order = rng.permutation(len(captions)).tolist()
    return Group(
        id=name,
        images=tuple(SceneImage(scene) for scene in draft.scenes),
        captions=tuple(captions[j] for j in order),
        truth=tuple(order.index(i) for i in range(len(draft.scenes))),
        tags=dict(draft.tags) | _common_tags(draft),
    )


def _common_tags(draft: DraftGroup) -> dict[str, str]:
    said = {p for claim in draft.claims[: len(draft.scenes)] for p in claim.phrases}
    kept_out = sorted({kind for claim in draft.claims for kind in held_out_kinds(claim)})
    return {
        "objects": str(len(draft.scenes[0].objects)),
        "colours": "+".join(sorted({p.colour for p in said if p.colour})) or "none",
        "shapes": "+".join(sorted({p.shape for p in said if p.shape})) or "none",
        "unseen": "yes" if kept_out else "no",
        "held_out": "+".join(kept_out) or "none",
    }


def to_row(group: Group) -> dict[str, Any]:
    """A group of scenes as plain data."""
    return {
        "id": group.id,
        "scenes": [image.scene.to_dict() for image in group.images if isinstance(image, SceneImage)],
        "captions": list(group.captions),
        "truth": list(group.truth or ()),
        "tags": dict(group.tags),
    }


def _from_row(row: dict[str, Any]) -> Group:
    return Group(
        id=row["id"],
        images=tuple(SceneImage(Scene.from_dict(scene)) for scene in row["scenes"]),
        captions=tuple(row["captions"]),
        truth=tuple(row["truth"]),
        tags=dict(row["tags"]),
    )
