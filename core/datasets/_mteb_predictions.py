"""MTEB's predictions for tasks of compositionality: the scores of every group, one JSON file per task and model.

Source: `AbsTask._save_task_predictions` and `AbsTaskImageTextPairClassification` of embeddings-benchmark/mteb 2.26.24
(`TASK_predictions.json` in `mteb.evaluate(..., prediction_folder=...)`):

    {"mteb_model_meta": {"model_name": ..., "revision": ...}, SUBSET: {SPLIT: [[[score, ...], ...], ...]}}

A group is a list of its images' rows, cosines with its captions. MTEB's sets store what belongs together first: image i
with caption i. The file names no groups: they are numbered within their subset and split, which become tags where there
are several.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.base.limits import check, check_shape

_ABOUT = "mteb_model_meta"


class MtebPredictions(NamedTuple):
    """What one file holds.

    model : as MTEB names it. scores : float64 (n, m, k), m images and k captions. ids : n names. parts : subset and
    split of each group, a row each; None where there is one of both.
    """

    model: str
    scores: np.ndarray
    ids: list[str]
    parts: pd.DataFrame | None


def is_mteb_predictions(value: Any) -> bool:
    """Whether a JSON value is a file of predictions of MTEB."""
    return isinstance(value, dict) and isinstance(value.get(_ABOUT), dict)


def read_mteb_predictions(path: Any, value: dict[str, Any]) -> MtebPredictions:
    """The groups of such a file. InputError, in one sentence, for another kind of task and for groups of several
    shapes."""
    parts = [
        (str(subset), str(split), found)
        for subset, splits in value.items()
        if subset != _ABOUT
        for split, found in (splits.items() if isinstance(splits, dict) else [("", splits)])
    ]
    if not parts:
        raise InputError(f"{path} holds no predictions; run MTEB again with a prediction folder.")
    check(path, groups=len(parts))  # one each at least
    arrays = [_scores(path, subset, split, found) for subset, split, found in parts]
    shapes = {array.shape[1:] for array in arrays}
    if len(shapes) > 1:
        told = " and ".join(f"{m}x{k}" for m, k in sorted(shapes))
        raise InputError(
            f"{path} holds groups of {told}; put groups of different shapes into separate files."
        )
    check_shape(path, sum(map(len, arrays)), *arrays[0].shape[1:])
    several = len(parts) > 1
    rows = [
        (subset, split, i) for (subset, split, _), a in zip(parts, arrays, strict=True) for i in range(len(a))
    ]
    ids = [f"{subset}/{split}/{i}" if several else str(i) for subset, split, i in rows]
    tags = pd.DataFrame([row[:2] for row in rows], columns=["subset", "split"]) if several else None
    return MtebPredictions(str(value[_ABOUT].get("model_name")), np.concatenate(arrays), ids, tags)


def _are_numbers(groups: list[list[list[Any]]]) -> bool:
    """Whether all scores of nested lists are numbers of JSON, or null; neither text nor true or false."""
    return {type(score) for group in groups for row in group for score in row} <= {int, float, type(None)}


def _scores(path: Any, subset: str, split: str, found: Any) -> np.ndarray:
    try:
        scores = np.array(found, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        scores = np.empty(0)
    # NumPy turns text and truth values into numbers.
    if scores.ndim != 3 or not scores.size or not _are_numbers(found):
        raise InputError(
            f"{path}: the predictions of {subset!r}, split {split!r}, are no scores of groups (images x captions, of "
            "one shape); choose a task of MTEB's type Compositionality."
        )
    return scores
