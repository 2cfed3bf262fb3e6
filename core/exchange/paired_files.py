"""Paired comparisons as files: the columns that tables of two sides have, whichever page or command writes them.

`docs/reference/formats.md` says what each column is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.base.lazy import pandas as pd
from core.base.text import _file_columns
from core.exchange.run_table import _software_version
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, METRICS
from core.metrics.paired import _counted_said, _interval_named, _paired_interval, comparison_table


def _comparison_file(
    a: Evaluation, b: Evaluation, names: Sequence[str], in_order: bool = False
) -> pd.DataFrame:
    """`comparison_table` for a file.

    names : of A and B. in_order : whether groups were paired by their order alone.
    """
    table = comparison_table(a, b, ("A", "B"))
    chance = table.pop("chance")
    shares = {METRICS[name].label: name for name in METRICS if METRICS[name].share}
    plain = ", over groups" if a.clusters or b.clusters else ""  # beside those of clusters
    own = [_interval_named(shares.get(label, GROUP_MATCH), a.shape[0]) + plain for label in table["metric"]]
    for side in "AB":
        table.insert(list(table).index(f"{side}: tied") + 1, f"{side}: chance", chance)
        table.insert(list(table).index(f"{side}: high") + 1, f"{side}: interval", own)
    for end in [name for name in map(str, table) if name.startswith("B − A") and name.endswith(": high")]:
        of = end.removesuffix(": high")
        how = plain if of == "B − A" else ", of clusters"
        ends = zip(table[f"{of}: low"], table[end], strict=True)
        table.insert(
            list(table).index(end) + 1, f"{of}: interval", [_paired_interval(*each, how) for each in ends]
        )
    more = {"paired": "in the order of the files"} if in_order else {}
    table = _with_origin(table.assign(**more), names, len(a.ids))
    counted = [
        _counted_said([shares[label]] if label in shares else [], "that one") for label in table["metric"]
    ]
    table["unit"] += [f"; only_a_right and only_b_right: groups, {said}" if said else "" for said in counted]
    return table


def _with_origin(table: pd.DataFrame, names: Sequence[str], groups: int | None) -> pd.DataFrame:
    """A table of two sides with their units, on how many groups they are, what they are, and the version of Crossmatch
    that writes it, by the names that columns of files have.

    groups : that both sides have; None where they have different ones.
    """
    more: dict[str, Any] = {"unit": _UNITS, **({} if groups is None else {"groups": groups})}
    table = table.rename(columns={side: f"{side}: value" for side in "AB"})
    sides = {f"{side}: name": name for side, name in zip("AB", names, strict=True)}
    return _file_columns(table.assign(**more, **sides, crossmatch_version=_software_version()))


_UNITS = "percent; difference and detectable in percentage points"
