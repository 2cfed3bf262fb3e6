"""What a run did to every group: when it was trained on, with which pseudo-label, and when it turned right or wrong.

Works on the arrays that a run stores per iteration (`RunStore.arrays`), after the run: nothing of it reaches training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.groups import image_name
from core.metrics import groups as metrics

# `metric` of `_history` that follows the one assignment over all images and captions.
GLOBAL = metrics.GLOBAL_MATCH


class _GroupHistory(NamedTuple):
    """A run's groups over its iterations 0 ... T; n groups of m images."""

    right: np.ndarray  # bool (T + 1, n), after each iteration; iteration 0 is before adaptation
    # bool (T + 1, n): trained on in that iteration; in the global variant any of its images
    selected: np.ndarray
    labels: np.ndarray  # int64 (T + 1, n, m): pseudo-labels of that iteration, -1 where tied
    label_right: np.ndarray  # bool (T + 1, n): that pseudo-label is the right one
    margin: np.ndarray  # float (T + 1, n), after each iteration


def _history(
    arrays: Sequence[Mapping[str, np.ndarray]], truth: np.ndarray, metric: str = metrics.GROUP_MATCH
) -> _GroupHistory:
    """What happened to every group.

    arrays : of iterations 0 to T, in order, as the run stored them. truth : int (n, m). metric : decides what counts as
    right: a key of `core.metrics.groups.METRICS`, right where its outcome is 1, or `GLOBAL` for the global variant.
    Raises InputError where arrays and truth do not belong together.
    """
    if not arrays or any(
        len(a["scores"]) != len(truth) or a["scores"].shape[1] > truth.shape[1] for a in arrays
    ):
        raise InputError(
            "The run's arrays belong to other groups; load the benchmark and split that it names."
        )
    wide = arrays[0]["selected"].ndim == 2
    n, _, k = arrays[0]["scores"].shape
    own = truth + (k * np.arange(n)[:, None] if wide else 0)  # as the pseudo-labels count captions
    selected = np.stack([a["selected"].reshape(n, -1).any(axis=1) for a in arrays])
    labels = np.stack([a["matching"] for a in arrays])
    if metric == GLOBAL:
        if not wide:
            raise InputError("This run matched within its groups; choose a metric of groups.")
        right = np.stack([(a["labels"] == own).all(axis=1) for a in arrays])
    else:
        right = np.stack([metrics.outcomes(a["scores"], truth, [metric])[metric].value == 1 for a in arrays])
    same = labels == own  # of one image, one of its true captions is enough
    label_right = same.any(axis=2) if labels.shape[2] == 1 else same.all(axis=2)
    return _GroupHistory(right, selected, labels, label_right, np.stack([a["margin"] for a in arrays]))


def explain(
    arrays: Sequence[Mapping[str, np.ndarray]],
    truth: np.ndarray,
    ids: Sequence[str],
    metric: str = metrics.GROUP_MATCH,
) -> pd.DataFrame:
    """One row per group, in their order; arguments as for `_history`.

    id, before and after (bool: right), `change` ("fixed", "broken", "right", "wrong"), `turned_right` and
    `turned_wrong` (last iteration at which it did, missing if never), `selected_first` (iteration, missing if never),
    `selected_times`, `label_first` and `label_last` (pseudo-labels of the first and last iteration that trained on it:
    the caption of every image, such as `1 0`), `label_right` (of that last one), `label_changed`, `margin_before`,
    `margin_after`.
    """
    found = _history(arrays, truth, metric)
    before, after = found.right[0], found.right[-1]
    turns = np.diff(found.right.astype(int), axis=0)  # (T, n): 1 where it turned right, -1 where wrong
    first, last = _first(found.selected), _last(found.selected)
    chosen = np.arange(len(ids))
    names = np.array(["wrong", "broken", "fixed", "right"])
    return pd.DataFrame(
        {
            "id": list(ids),
            "before": before,
            "after": after,
            "change": names[before + 2 * after],
            "turned_right": _number(_last(turns == 1) + 1, np.any(turns == 1, axis=0)),
            "turned_wrong": _number(_last(turns == -1) + 1, np.any(turns == -1, axis=0)),
            "selected_first": _number(first, np.any(found.selected, axis=0)),
            "selected_times": found.selected.sum(axis=0),
            "label_first": _label(found, first, chosen),
            "label_last": _label(found, last, chosen),
            "label_right": pd.array(found.label_right[last, chosen], dtype="boolean").copy(),
            "label_changed": (found.labels[first, chosen] != found.labels[last, chosen]).any(axis=1),
            "margin_before": found.margin[0],
            "margin_after": found.margin[-1],
        }
    ).pipe(_blank_where_never_selected)


def summary(table: pd.DataFrame) -> dict[str, Any]:
    """How many groups are fixed, broken, right and wrong, and how the fixed and broken ones came to be so. JSON-safe.

    `own_label` : trained on their own pseudo-label in the last iteration that took them; the others changed because
    the model did.
    """
    counts = table["change"].value_counts()
    found: dict[str, Any] = {name: int(counts.get(name, 0)) for name in ("fixed", "broken", "right", "wrong")}
    for name, hit in (("fixed", True), ("broken", False)):
        part = table[table["change"] == name]
        own = (part["label_right"] == hit).fillna(False)
        found[f"{name}_own_label"] = int(own.sum())
    return found


def group_history_text(row: Mapping[str, Any], captions: int | None = None) -> str:
    """What happened to one group, as a sentence or two: a row of `explain`'s table.

    Images are A, B, ... and captions 1, 2, ..., as groups are drawn. captions : of a group, for a run of the global
    variant, whose pseudo-labels count the captions of the whole set; the group of each is then named too, from 1 on.
    """
    if not row["selected_times"]:
        trained = "It was never trained on; its scores changed with the model"
    else:
        times = row["selected_times"]
        trained = (
            f"First trained on in iteration {row['selected_first']} with the pseudo-label "
            f"{_pairs(row['label_first'], captions)}, {times} time{'s' if times > 1 else ''} in all"
        )
        if row["label_changed"]:
            trained += f", last with {_pairs(row['label_last'], captions)}"
        which = "the last pseudo-label" if row["label_changed"] else "this pseudo-label"
        trained += f"; {which} is {'right' if row['label_right'] else 'wrong'}"
    turned = row["turned_right"] if row["after"] else row["turned_wrong"]
    if turned is None or pd.isna(turned):
        return f"{trained}."
    untrained = bool(row["selected_times"]) and turned < row["selected_first"]
    before = ", before it was trained on: the model had changed by other groups" if untrained else ""
    if row["selected_times"] and not untrained and bool(row["label_right"]) != bool(row["after"]):
        before = ", against that label: the groups that were trained on beside it changed the model, too"
    return (
        f"{trained}. The group became {'right' if row['after'] else 'wrong'} in iteration {turned}{before}."
    )


def _pairs(label: str, captions: int | None) -> str:
    """`1 0` as `A–2, B–1`."""
    found = []
    for i, caption in enumerate(map(int, label.split())):
        group, own = divmod(caption, captions) if captions else (0, caption)
        found.append(f"{image_name(i)}–{own + 1}" + (f" of group {group + 1}" if captions else ""))
    return ", ".join(found)


def rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The table as JSON-safe rows, None where a value is missing."""
    objects = table.astype(object)
    return [
        {str(k): v for k, v in row.items()} for row in objects.where(table.notna(), None).to_dict("records")
    ]


def changed_ids(table: pd.DataFrame, change: str) -> list[str]:
    """Ids of the groups with a `change` ("fixed", "broken", ...), the surest first."""
    part = table[table["change"] == change]
    return part.sort_values("margin_after", ascending=False, kind="stable")["id"].tolist()


def _first(mask: np.ndarray) -> np.ndarray:
    """Index of the first true row of every column, int (n,); 0 for none."""
    return mask.argmax(axis=0)


def _last(mask: np.ndarray) -> np.ndarray:
    """Index of the last true row of every column, int (n,); the last row for none."""
    return len(mask) - 1 - mask[::-1].argmax(axis=0)


def _number(values: np.ndarray, there: np.ndarray) -> pd.Series:
    return pd.Series(values, dtype="Int64").where(there)


def _label(found: _GroupHistory, at: np.ndarray, chosen: np.ndarray) -> list[str]:
    return [" ".join(map(str, row)) for row in found.labels[at, chosen]]


def _blank_where_never_selected(table: pd.DataFrame) -> pd.DataFrame:
    never = table["selected_times"] == 0
    table.loc[never, ["label_first", "label_last"]] = ""
    table.loc[never, "label_right"] = pd.NA
    table.loc[never, "label_changed"] = False
    return table
