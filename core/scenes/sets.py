"""The group sets of the built-in world: `build` draws one from a seed, `load` reads the shipped one.

A flattened variant asks for all images of a set with all of its captions, no groups given ([TTM] 3.2.1). Most captions
of the built-in world are true of many images: of the 600 images of `scenes/left-right`, 81 % fit the caption of another
group too, and of `scenes/attribute-swap` 99 %. A matching of all images with all captions would then have no one right
answer. So `scenes/left-right@global` keeps the groups whose captions are clearly false of every image of every other
group that is kept; then each image has one caption, and no caption occurs twice.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from core.base.errors import InputError, unknown_name
from core.groups import Group, GroupSet
from core.scenes._builders import SETS, DraftGroup, SetSpec
from core.scenes._shipped_files import SHIPPED, asset_path, damaged, read_rows
from core.scenes.render import SceneImage
from core.scenes.world import SPLITS, Scene, held_out_kinds

_UNSEEN_SHARE = 0.2  # of validation and test groups name a composition that no training scene holds


GLOBAL_SUFFIX = "@global"
# The flattened variants: of the sets whose groups hold several images or all relations, as in [TTM] Table 2; each keeps
# at least 100 test images. The others ask which of two captions describes one image, or which of five is a sentence.
FLAT = tuple(
    f"scenes/{name}{GLOBAL_SUFFIX}"
    for name in (
        "attribute-swap",
        "left-right",
        "front-behind",
        "relations-1x4",
        "size-swap",
        "material-swap",
        "triples",
        "two-of-four",
    )
)
_FLAT_TRAIN = 300  # groups of a training split that are chosen from; comparing all with all is quadratic


def build(name: str, split: str, n: int | None = None, seed: int = 0) -> GroupSet:
    """Draw `n` groups (default: the set's own size) of a split from a seed; a pure function of its arguments."""
    return _group_set(name, split, (group for _, group in _draw_groups(name, split, n, seed)))


def _draw_groups(
    name: str, split: str, n: int | None = None, seed: int = 0
) -> Iterator[tuple[DraftGroup, Group]]:
    """The groups of `build` one by one, each with the draft that knows what its captions mean."""
    spec = _spec(name, split)
    count = spec.sizes[split] if n is None else n
    if count < 1:
        raise InputError(f"A set of {count} groups cannot be drawn; ask for at least one.")
    rng = np.random.default_rng([seed, SPLITS.index(split), zlib.crc32(name.encode())])
    mark = f"{name.removeprefix('scenes/')}/{split}" + (f"/seed{seed}" if seed else "")
    for i in range(count):
        draft = _draw(spec, rng, split)
        yield draft, _group(f"{mark}/{i:04d}", draft, rng)


def load(name: str, split: str = "test") -> GroupSet:
    """The shipped validation or test groups; a train split is drawn.

    Of a flattened variant the groups still as groups: `core.scoring.scores.score_all` scores all images with all
    captions. Every caption is clearly false of every image but its own, so truth is one matching.
    """
    if name.endswith(GLOBAL_SUFFIX):
        return _load_flat(name, split)
    _spec(name, split)
    if split not in SHIPPED:
        return build(name, split)
    path = asset_path(name, split)
    rows = read_rows(path, name, split)
    try:
        return _group_set(name, split, map(_from_row, rows))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise damaged(path, error) from None


def _load_flat(name: str, split: str) -> GroupSet:
    if name not in FLAT:
        raise unknown_name("flattened set", name, FLAT)
    base = name.removesuffix(GLOBAL_SUFFIX)
    groups = load(base, split)
    if split in SHIPPED:
        path = asset_path(base, f"global-{split}")
        rows = read_rows(path, name, split)
        try:
            kept = {row["id"] for row in rows}
        except (KeyError, TypeError) as error:
            raise damaged(path, error) from None
        if not kept <= set(groups.ids):
            raise damaged(path, ValueError(f"it names groups that {base} does not have"))
        groups = groups.select([i for i, own in enumerate(groups.ids) if own in kept])
    else:
        groups = groups.select(_independent([draft for draft, _ in _draw_groups(base, split, _FLAT_TRAIN)]))
    text = "All images with all captions, no groups given; only groups whose captions fit no other image. "
    title, description = f"{groups.title}, flattened", text + groups.description
    return replace(groups, name=name, title=title, description=description)


def _independent(drafts: Sequence[DraftGroup]) -> np.ndarray:
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
        statement.is_true_of(scene) is not False
        for statement in captions_of.statements
        for scene in images_of.scenes
    ) or bool(set(captions_of.captions) & set(images_of.captions))


def _spec(name: str, split: str) -> SetSpec:
    if name not in SETS:
        raise unknown_name("set of scenes", name, SETS)
    if split not in SPLITS:
        raise unknown_name("split", split, SPLITS)
    return SETS[name]


def _group_set(name: str, split: str, groups: Iterable[Group]) -> GroupSet:
    return GroupSet(
        name=name,
        groups=tuple(groups),
        title=SETS[name].title,
        description=f"{SETS[name].description} The {split} split.",
        source="Crossmatch's built-in world: scenes drawn and rendered by the project.",
        licence="Apache-2.0",
        citation="Crossmatch, built-in scenes.",
    )


def _draw(spec: SetSpec, rng: np.random.Generator, split: str) -> DraftGroup:
    """The first draft that keeps every promise, seen or unseen as a draw decides."""
    seen = split == "train" or rng.random() >= _UNSEEN_SHARE
    while True:
        draft = spec.build(rng, split, seen)
        if draft is not None and _is_valid(draft, seen):
            return draft


def _is_valid(draft: DraftGroup, seen: bool) -> bool:
    """Whether each caption is clearly true of its own scene alone, and all are seen or all unseen alike.

    Were only the true captions seen, a model that knows the training captions could tell without an image.
    """
    if any(bool(held_out_kinds(statement.phrases)) is seen for statement in draft.statements):
        return False
    own = list(zip(draft.statements, draft.scenes, strict=False))
    if draft.wording.definite and not all(statement.is_unambiguous(scene) for statement, scene in own):
        return False
    if len(set(draft.captions)) < len(draft.captions):
        return False
    return all(
        statement.is_true_of(scene) is (i == j)
        for i, scene in enumerate(draft.scenes)
        for j, statement in enumerate(draft.statements)
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
    mentioned = {p for statement in draft.statements[: len(draft.scenes)] for p in statement.phrases}
    kept_out = sorted({kind for statement in draft.statements for kind in held_out_kinds(statement.phrases)})
    return {
        "objects": str(len(draft.scenes[0].objects)),
        "colours": "+".join(sorted({p.colour for p in mentioned if p.colour})) or "none",
        "shapes": "+".join(sorted({p.shape for p in mentioned if p.shape})) or "none",
        "unseen": "yes" if kept_out else "no",
        "held_out": "+".join(kept_out) or "none",
    }


def _from_row(row: dict[str, Any]) -> Group:
    return Group(
        id=row["id"],
        images=tuple(SceneImage(Scene.from_dict(scene)) for scene in row["scenes"]),
        captions=tuple(row["captions"]),
        truth=tuple(row["truth"]),
        tags=dict(row["tags"]),
    )
