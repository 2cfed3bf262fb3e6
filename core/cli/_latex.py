"""The tables in LaTeX that evaluate and compare print, in the layout that the pages export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from core.base.errors import InputError
from core.base.text import counted
from core.cli._evaluation import _assumed_of
from core.exchange.layouts import latex_table
from core.metrics.evaluation import Evaluation
from core.metrics.statistics import Comparison


def _refuse_two_forms(latex: bool, as_json: bool) -> None:
    """InputError where a result is asked for in LaTeX and in JSON."""
    if latex and as_json:
        raise InputError("--json and --latex are two forms of one table; give one of them.")


def _row_names(sources: Sequence[str], are_files: Sequence[bool]) -> list[str]:
    """What models and files are called in a table: a file without its folder and ending, where that tells all apart."""
    stems = [Path(name).stem if is_file else name for name, is_file in zip(sources, are_files, strict=True)]
    return stems if len({*stems}) == len(stems) else [*sources]


def _of_groups(
    names: Sequence[str],
    first: Evaluation,
    where: Mapping[str, str],
    tags: Sequence[str] = (),
    head: str = "",
) -> str:
    """`clip on scenes/left-right, split test, 300 groups of 2×2 with colour: red`

    where : `benchmark` and `split`; empty of groups of a file's own. head : what stands before the number of groups.
    """
    on = f"{where['benchmark']}, split {where['split']}" if where else "own groups"
    m, k = first.shape
    tagged = f" with {'; '.join(tags)}" if tags else ""
    return f"{' and '.join(names)} on {on}, {head}{counted(len(first.ids), 'group')} of {m}×{k}{tagged}"


def _latex_of(
    sides: Mapping[str, Evaluation],
    about: Sequence[str],
    parts: Mapping[str, Mapping[str, Evaluation]] | None = None,
    compared: Mapping[str, Comparison] | None = None,
) -> str:
    """A row for each of `sides`, by name, and below each its interval; chance, ties and methods as notes.

    about : sentences on what was measured, "" left out. parts : groups by the values of a tag, a row each. compared :
    the second side against the first.
    """
    rows = [(name, side.metrics) for name, side in sides.items()]
    for column, values in (parts or {}).items():
        for value, part in values.items():
            rows.append((f"{column} = {value} ({counted(len(part.ids), 'group')})", part.metrics))
    said = ". ".join(filter(None, [*about, _assumed_of(sides)]))
    return latex_table(rows, compared, said)
