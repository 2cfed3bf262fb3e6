"""The two sides of a comparison: how they are named, and what they are measured on: the selected groups, or those of
them that both have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from core.base.errors import InputError
from core.base.text import counted
from core.metrics.evaluation import Evaluation
from core.metrics.paired import _completed_by, without_names
from ui.cached import cached_on
from ui.loaders import evaluate, measured_on
from ui.run_names import run_names
from ui.selection import Selection, benchmark_of, model_said
from ui.uploads import PREFIX, is_upload, upload_captions, upload_evaluation, upload_groups

_SHORT = 16  # letters of a name that heads a column


class Compared(NamedTuple):
    """Two sides on the same groups."""

    selection: Selection  # of the groups that both have
    first: Evaluation
    second: Evaluation
    line: str  # which groups these are, "" where they are all that is selected
    is_in_order: bool = False  # paired by their order alone, which `line` says
    shared: str = ""  # `the 300 groups that both have`, "" where no file has more or fewer than these


def compare_sides(selection: Selection, other: str) -> Compared | None:
    """The selected model or file, and `other`, on the groups that both have; None where they have none in common.

    A file may hold some of a benchmark's groups, or more than these. Two files that do not name their groups are
    paired by the numbers of their rows, where both have as many.
    """
    if not _by_row(selection, other):
        return _by_name(selection, other)
    if len({*_sizes(selection, other).values()}) > 1:
        return None  # equal numbers make no equal groups: somebody has to say so
    return compare_in_order(selection, other)


def _by_row(selection: Selection, other: str) -> bool:
    """Whether no file that is compared names its groups, so that only the numbers of their rows can pair them."""
    shape = "x".join(map(str, selection.groups.shape))
    entries = (selection.benchmark, selection.model, other)
    return all(is_upload(each) and not upload_evaluation(each, shape).ids_given for each in entries)


def _by_name(selection: Selection, other: str) -> Compared | None:
    sizes = _sizes(selection, other)
    shape, ids = "x".join(map(str, selection.groups.shape)), selection.groups.ids
    kept = np.ones(len(ids), bool)
    for entry in sizes:
        if is_upload(entry):
            kept &= np.isin(ids, upload_evaluation(entry, shape).ids)
    if not (kept & selection.mask).any() and selection.mask.any():
        return None
    if kept.all() and set(sizes.values()) == {len(ids)}:
        return Compared(selection, evaluate(selection), evaluate(selection, other), "")
    narrowed = selection._replace(mask=selection.mask & kept)
    first, second = (_narrowed(selection, narrowed, entry) for entry in (selection.model, other))
    groups = counted(len(first.ids), "selected group" if selection.tags else "group")
    shared = f"the {groups} that both have"
    have = [f"{name.removeprefix(PREFIX)} has {counted(size, 'group')}" for name, size in sizes.items()]
    return Compared(narrowed, first, second, f"{', '.join(have)}.", shared=shared)


def order_assumed(selection: Selection, other: str) -> str:
    """What is assumed where two sides without a common name of a group are paired in their order, as a sentence; ""
    where they cannot be: one of them has to do nothing but number its groups, and both need as many of one shape."""
    groups, shape = selection.groups, "x".join(map(str, selection.groups.shape))
    if _by_row(selection, other):
        return _row_assumed(selection, other)
    numbered, named = [], groups.title or groups.name
    for entry in (selection.model, other):
        if not is_upload(entry) or entry == selection.benchmark:
            continue
        file = upload_evaluation(entry, shape)
        if set(file.ids) & set(groups.ids):
            continue
        name = entry.removeprefix(PREFIX)
        only = next(
            (n for n, ids in ((name, file.ids), (named, groups.ids)) if without_names(n, ids, False)), ""
        )
        if not only or len(file.ids) != len(groups) or file.shape != groups.shape:
            return ""
        numbered.append((only, name))
    if not numbered:
        return ""
    only, name = numbered[0]
    return (
        f"Paired in order: {only} only numbers its groups, so group i of {name} is taken to be group i of {named}, for "
        f"all {len(groups)}, with images and captions in one order. If the orders differ, no difference and no p "
        "means anything."
    )


def _row_assumed(selection: Selection, other: str) -> str:
    names = [entry.removeprefix(PREFIX) for entry in (selection.benchmark, other)]
    sizes = {*_sizes(selection, other).values()}
    return (
        f"Paired by row number, as neither file names its groups: group i of {names[0]} is taken to be group i of "
        f"{names[1]}, for {'all' if len(sizes) == 1 else 'the first'} {min(sizes)}, with images and captions in one "
        "order. If the orders differ, no difference and no p means anything."
    )


def unnamed_of_other_sizes(selection: Selection, other: str) -> str:
    """What to do about two files of other numbers of groups, none of which has a name, as a sentence; "" elsewhere."""
    if not _by_row(selection, other):
        return ""
    sizes = [*_sizes(selection, other).items()]
    (a, many), (b, more) = sizes[0], sizes[-1]
    return (
        f"Neither file names its groups, and {a.removeprefix(PREFIX)} has {many}, {b.removeprefix(PREFIX)} {more}: "
        f"turn “Pair them in order” on where the first {min(many, more)} of both are the same groups in the same order."
    )


def compare_in_order(selection: Selection, other: str) -> Compared:
    """Both sides, where `order_assumed` says that they can be paired so. InputError where captions or truth differ."""
    if _by_row(selection, other) and (found := _by_name(selection, other)):
        shared = found.shared.replace("that both have", "paired by row number")
        return found._replace(line=order_assumed(selection, other), is_in_order=True, shared=shared)
    names = [model_said(entry).removeprefix(PREFIX) for entry in (selection.model, other)]
    first, second = (_in_order(selection, entry) for entry in (selection.model, other))
    a, b = _completed_by(first, second, names[1]), _completed_by(second, first, names[0])
    return Compared(selection, a, b, order_assumed(selection, other), True)


def _in_order(selection: Selection, entry: str) -> Evaluation:
    groups = selection.groups
    if not is_upload(entry) or entry == selection.benchmark:
        return evaluate(selection, entry)
    file = upload_evaluation(entry, "x".join(map(str, groups.shape)))
    if set(file.ids) & set(groups.ids):
        return evaluate(selection, entry)
    ids = list(groups.ids)
    make = lambda: measured_on(replace(file, ids=ids), groups, upload_captions(entry))  # noqa: E731
    found = cached_on(file, ("in order", groups.name, tuple(ids)), make)
    return found if selection.mask.all() else found.select(selection.mask)


def _sizes(selection: Selection, other: str) -> dict[str, int]:
    """How many groups the selected set has, and each file that is compared on it."""
    shape = "x".join(map(str, selection.groups.shape))
    files = (entry for entry in (selection.model, other) if is_upload(entry))
    sizes = {entry: len(upload_evaluation(entry, shape).ids) for entry in files}
    return {selection.benchmark: len(selection.groups), **sizes}


def _narrowed(selection: Selection, narrowed: Selection, entry: str) -> Evaluation:
    """A model's or a file's evaluation on some of the selected groups."""
    groups, ids = narrowed.selected_groups, narrowed.selected_groups.ids
    if not is_upload(entry) or entry == selection.benchmark:
        whole = evaluate(selection, entry)
        chosen = narrowed.mask[selection.mask]
        return cached_on(whole, ("narrowed", tuple(ids)), lambda: whole.select(chosen))
    file = upload_evaluation(entry, "x".join(map(str, groups.shape)))
    kept, captions = np.isin(file.ids, ids), upload_captions(entry)
    captions = None if captions is None else captions[kept]
    return cached_on(
        file, ("narrowed", groups.name, tuple(ids)), lambda: measured_on(file.select(kept), groups, captions)
    )


def benchmark_of_file(entries: tuple[str, ...]) -> dict[str, str] | None:
    """The benchmark on this machine that the first of these which is a file was made on, as parameters of the address;
    None where it is not known."""
    files = [entry for entry in entries if is_upload(entry)]
    return benchmark_of(upload_groups(files[0])) if files else None


def check_shapes(a: Evaluation, b: Evaluation, sides: tuple[Side, Side]) -> None:
    """Raises InputError where both have groups of one name but of different shapes."""
    if a.shape == b.shape:
        return
    (m, k), (images, captions) = a.shape, b.shape
    raise InputError(
        f"{sides[0].name} has groups of {counted(m, 'image')} × {counted(k, 'caption')}, {sides[1].name} of {images} × "
        f"{captions}: they cannot be compared; choose two of one shape."
    )


class Side(NamedTuple):
    """One of the two as it is named: in a table that is exported, on the page, and at the head of a column."""

    column: str
    name: str
    short: str


def sides_of(first: str, second: str) -> tuple[Side, Side]:
    """Both, told apart by their names: letters are those of images here."""
    plain = [name.removeprefix(PREFIX) for name in (first, second)]
    columns = [f"{letter}: {name}" for letter, name in zip("AB", plain, strict=True)]
    one_run = sum("run/" in name for name in plain) == 1
    # One run beside another model needs none of what sets it apart from other runs, which took two lines of a phone.
    said = [run_names([name]).get(name, name) if one_run else model_said(name) for name in plain]
    a, b = map(Side, columns, said, short_names(plain if one_run else said))
    return a, b


def short_names(names: Sequence[str]) -> Sequence[str]:
    """Two names as short as they stay apart: without `builtin/` and what is before the last slash, the middle left out.
    Of one that a run adapted it says that: its id says nothing."""
    of_runs = ["run/" in name for name in names]
    if sum(of_runs) == 1:
        names = ["the run" if of_run else name for name, of_run in zip(names, of_runs, strict=True)]
    brief = [name.replace("builtin/", "") for name in names]
    for shortened in (str, lambda name: name.rpartition("/")[2], _ends):
        kept = [shortened(name) if len(name) > _SHORT else name for name in brief]
        brief = kept if len({*kept}) == len(names) else brief
    return brief if all(len(name) <= _SHORT for name in brief) else ("the first", "the second")


def _ends(name: str) -> str:
    """`clip-vit-base-patch32` as `clip-vi…-patch32`."""
    half = _SHORT // 2
    return name if len(name) <= _SHORT else f"{name[: half - 1]}…{name[-half:]}"
