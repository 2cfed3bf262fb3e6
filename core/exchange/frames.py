"""Matchings, metrics and the curves of a run as tables that any program reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from core.base.lazy import pandas as pd
from core.exchange.run_table import _origin, _software_version
from core.metrics.paired import _interval_named

if TYPE_CHECKING:
    from core.metrics.evaluation import Evaluation
    from core.runs.store import Run

_FIELDS = ("value", "low", "high", "chance", "ties")
# What an iteration's record holds besides its metrics and margins, in the order of reading.
_CURVES = (
    "iteration",
    "threshold",
    "coverage",
    "precision",
    "selected",
    "fitted",
    "loss",
    "lr",
    "gradient_norm",
    "gradient_norm_max",
    "seconds",
    "seconds_in_model",
    "skipped",
    "note",
    "n_groups",
    "shape",
)


def matchings_frame(evaluation: Evaluation) -> pd.DataFrame:
    """One row per group: id, tags, each metric's outcome and tie, induced matching (`A–2, B–1`), the true one,
    margin."""
    return evaluation.table()


def _groups_file(evaluation: Evaluation, model: str) -> pd.DataFrame:
    """`matchings_frame` with both totals, whose scores these are and the version of Crossmatch that writes it.

    model : or file, as other exported tables call it. A tag of one of these names keeps its values as `tag NAME`.
    """
    totals = evaluation._totals(np.arange(len(evaluation.ids)))
    origin: dict[str, Any] = dict(zip(("true_pairs_sum", "best_other_sum"), totals, strict=True))
    origin |= {"model": model, "crossmatch_version": _software_version()}
    table = evaluation.table().rename(columns={name: f"tag {name}" for name in origin})
    return table.assign(**origin)


def metrics_frame(evaluation: Evaluation, by: str | None = None) -> pd.DataFrame:
    """One row per metric, for all groups and for each slice: value, 95 % interval, chance in percent, tied groups.

    by : the tag column to slice by; None takes every column with few values. Where groups hang together there are also
    `clustered_by`, `clustered_clusters`, `clustered_low`, `clustered_high` and `clustered_largest`. `interval` names
    how `low` and `high` are made; the last column is the version of Crossmatch that writes it.
    """
    rows = [_row("", "", evaluation, name) for name in evaluation.metrics]
    for column, parts in evaluation.slices(by).items():
        rows += [_row(column, value, part, name) for value, part in parts.items() for name in part.metrics]
    return pd.DataFrame(rows).astype({"ties": "Int64"}).assign(crossmatch_version=_software_version())


def _row(tag: str, value: str, part: Evaluation, name: str) -> dict[str, Any]:
    found = part.metrics[name]
    m, k = part.shape
    head = {"tag": tag, "tag_value": value, "n_groups": len(part.scores), "shape": f"{m}x{k}", "metric": name}
    row = {
        **head,
        **{field: getattr(found, field) for field in _FIELDS},
        "interval": _interval_named(name, m),
    }
    if found.clustered is None:
        return row
    return row | {f"clustered_{field}": value for field, value in found.clustered._asdict().items()}


def curves_frame(steps: Sequence[Mapping[str, Any]], run: Run | None = None) -> pd.DataFrame:
    """One row per iteration of a run: thresholds, coverage, precision, training, and every metric with its interval.

    Metrics are columns such as `group_match`, `group_match_low`, `group_match_high`, `group_match_chance`,
    `group_match_ties`; of a transfer check also `adapted_group_match`, `untouched_group_match`, ...

    run : whose they are; its set, split, model and seed, and the version of Crossmatch, are the last columns, the same
    in every row.
    """
    return pd.DataFrame([_curve_row(step) for step in steps]).assign(
        **({} if run is None else _origin([run]))
    )


def _curve_row(step: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: step[name] for name in _CURVES if name in step}
    sides = {"": step.get("metrics", {})}
    sides |= {f"{side}_": part["metrics"] for side, part in step.get("parts", {}).items()}
    for prefix, metrics in sides.items():
        for name, found in metrics.items():
            row[f"{prefix}{name}"] = found["value"]
            row |= {f"{prefix}{name}_{field}": found[field] for field in _FIELDS[1:]}
    return row
