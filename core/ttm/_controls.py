"""The controls of a ledger: test-time matching by the same code, with one assumption taken away. Never sees truth.

A control changes either the groups that are trained on or the rule that labels them; the set's own groups are always
scored by the adapted model, and measured. Whatever is drawn depends on the seed and on the captions' hashes, never on
the order of the captions within a group.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from core.base.errors import InputError, unknown_name
from core.groups import Group, GroupSet
from core.ttm.transfer import adapted_pool

if TYPE_CHECKING:  # torch
    from core.ttm._pseudolabels import PreparedGroups, Relabel, ScoredGroups

ITSELF = "itself"  # the run whose gain is explained
TRANSFER = "transfer"  # two runs, each on one half of the groups
HALVES = ("first-half", "second-half")

_Regroup = Callable[[GroupSet, np.random.Generator], list[Group]]


class Control(NamedTuple):
    """What a control is for people, and what it changes."""

    label: str
    change: str  # what differs from the run itself
    reading: str  # what its gain says
    regroup: _Regroup | None = None  # the groups to train on in place of the set's own
    relabel: Callable[[int], Relabel] | None = (
        None  # from a seed: the labels in place of the induced matchings
    )


class Arm(NamedTuple):
    """One of the runs of a ledger: the set's own groups, then those of the control that it trains on."""

    groups: GroupSet
    pool: np.ndarray | None  # bool, which may be trained on; None: all
    relabel: Relabel | None


def arms(controls: Sequence[str]) -> tuple[str, ...]:
    """The runs that these controls take, in order; the run itself is the last. Raises InputError for an unknown one."""
    for name in controls:
        if name not in CONTROLS:
            raise unknown_name("control", name, CONTROLS)
    chosen = [name for name in CONTROLS if name in controls]
    runs = [run for name in chosen for run in (HALVES if name == TRANSFER else (name,))]
    return (*runs, ITSELF)


def arm(name: str, groups: GroupSet, seed: int = 0, split_seed: int = 0) -> Arm:
    """What one of `arms` trains on.

    seed : draws matchings, donors and captions. split_seed : draws the first half of the groups, as
    `core.ttm.transfer.adapted_pool` does. Raises InputError where the groups leave no such control.
    """
    blind = groups.blind()
    if name == ITSELF:
        return Arm(blind, None, None)
    if name in HALVES:
        first = adapted_pool(blind, 0.5, split_seed)
        return Arm(blind, first if name == HALVES[0] else ~first, None)
    control = CONTROLS[name]
    if control.regroup is None:
        return Arm(blind, None, None if control.relabel is None else control.relabel(seed))
    changed = control.regroup(blind, np.random.default_rng(seed))
    both = replace(blind, groups=(*blind.groups, *changed))
    return Arm(both, np.arange(len(both)) >= len(blind), None)


# ---- other groups


def _no_right_caption(groups: GroupSet, rng: np.random.Generator) -> list[Group]:
    """Every group's images with all captions of another group."""
    donors = _donors(groups, rng)
    return [_changed(g, "none", g.images, groups[d].captions) for g, d in zip(groups, donors, strict=True)]


def _one_right_caption(groups: GroupSet, rng: np.random.Generator) -> list[Group]:
    """Every group's images with one caption of its own, drawn at random, and all but one of another group's."""
    found = []
    for group, donor in zip(groups, _donors(groups, rng), strict=True):
        own, others = (_in_hash_order(g.captions) for g in (group, groups[donor]))
        left_out = rng.integers(len(others))
        captions = (own[rng.integers(len(own))], *np.delete(others, left_out))
        found.append(_changed(group, "one", group.images, tuple(map(str, captions))))
    return found


def _other_images(groups: GroupSet, rng: np.random.Generator) -> list[Group]:
    """Every group's captions with as many images, each of another group: all images are dealt anew."""
    dealt: list[np.ndarray] = []
    for _ in range(groups.shape[0]):
        dealt.append(_donors(groups, rng, dealt))
    return [
        _changed(group, "dealt", tuple(groups[d[g]].images[i] for i, d in enumerate(dealt)), group.captions)
        for g, group in enumerate(groups)
    ]


def _donors(groups: GroupSet, rng: np.random.Generator, taken: Sequence[np.ndarray] = ()) -> np.ndarray:
    """For every group another one that shares no image and no caption with it, each once: int (n,).

    taken : donors that were found before; none is a group's donor twice. Raises InputError where there are none.
    """
    n = len(groups)
    parts = [{*(image.key for image in group.images), *group.captions} for group in groups]
    donors = rng.permutation(n)

    def fits(group: int, donor: int) -> bool:
        return parts[group].isdisjoint(parts[donor]) and all(d[group] != donor for d in taken)

    for g in range(n):
        if fits(g, donors[g]):
            continue
        other = next((h for h in rng.permutation(n) if fits(g, donors[h]) and fits(h, donors[g])), None)
        if other is None:
            raise InputError(
                f"The groups of {groups.name} have too many images or captions in common to exchange them; "
                "leave out the controls that do."
            )
        donors[g], donors[other] = donors[other], donors[g]
    return donors


def _changed(group: Group, how: str, images: tuple, captions: tuple[str, ...]) -> Group:
    return Group(f"{group.id}~{how}", images, captions)


def _in_hash_order(captions: Sequence[str]) -> list[str]:
    return sorted(captions, key=lambda text: hashlib.sha256(text.encode(errors="replace")).digest())


# ---- other labels


def _random_matchings(seed: int) -> Relabel:
    """Every group's label is a matching drawn at random, the same in all iterations; margins select as ever."""

    def relabel(inputs: PreparedGroups, seen: ScoredGroups) -> ScoredGroups:
        n, m, k = seen.scores.shape
        drawn = np.random.default_rng(seed).permuted(np.tile(np.arange(k), (n, 1)), axis=1)[:, :m]
        # Captions are numbered by their hashes: what is drawn does not depend on their order in the file.
        by_hash = np.argsort(inputs.captions, axis=1, kind="stable")
        return seen._replace(labels=np.take_along_axis(by_hash, drawn, axis=1))

    return relabel


def _per_image(seed: int) -> Relabel:
    """Every image's label is its own best caption, the same for two images of a group or not; what the best has over
    the second best selects. An image whose best captions tie is never selected."""

    def relabel(inputs: PreparedGroups, seen: ScoredGroups) -> ScoredGroups:
        n, _, k = seen.scores.shape
        best = np.sort(seen.scores.astype(np.float64), axis=2)[:, :, -2:]
        confidence = best[:, :, 1] - best[:, :, 0]
        labels = seen.scores.argmax(axis=2) + k * np.arange(n)[:, None]
        return seen._replace(labels=labels, confidence=confidence, usable=confidence > 0)

    return relabel


CONTROLS = {
    "random-matchings": Control(
        "Random matchings",
        "Every group is trained on a matching drawn at random, not on the one that the model induces.",
        "Training on any matching makes GroupScore pass; only knowledge of the right one can raise GroupMatch.",
        relabel=_random_matchings,
    ),
    "no-right-caption": Control(
        "No right caption",
        "It trains on the same images with all captions of another group: no matching can be right.",
        "A gain here comes from seeing such pictures and sentences, not from what belongs together.",
        regroup=_no_right_caption,
    ),
    "one-right-caption": Control(
        "One right caption at most",
        "It trains on the same images with one caption of their own; the others are another group's.",
        "A gain here comes from single images with single captions; that groups are bijections does not hold.",
        regroup=_one_right_caption,
    ),
    "other-images": Control(
        "Images dealt anew",
        "It trains on the same captions, each group with images of several other groups.",
        "A gain here comes from seeing such pictures and sentences, not from what belongs together.",
        regroup=_other_images,
    ),
    "per-image": Control(
        "Labels without the bijection",
        "Every image is trained on its own best caption, even where another image of the group has the same.",
        "What the run itself has over this is owed to the knowledge that groups are bijections, used as it trains.",
        relabel=_per_image,
    ),
    TRANSFER: Control(
        "Untouched groups",
        "Two runs train on one half of the groups each; every group is measured by the run that never saw it.",
        "This part of the gain is about the task and the look of the pictures, not about these very groups.",
    ),
}
