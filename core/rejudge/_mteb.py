"""MTEB: the predictions of a task, and what MTEB's metrics make of them.

Source: `AbsTaskImageTextPairClassification._compute_metrics` of embeddings-benchmark/mteb 2.26.24.
MTEB compares `argmax` over captions with `arange(images)` and `argmax` over images with `arange(captions)`: a tie goes
to the first, which its sets store as the true one, and with one image the second comparison cannot hold.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from core.base.text import _pct
from core.datasets.score_files import ScoreFile, read_scores
from core.metrics.statistics import Estimate
from core.rejudge._submission import MTEB, Submission, name_of_part

_NAMES = ("text_acc", "image_acc", "accuracy")


def read_predictions(path: Path, value: dict[str, Any], content: bytes) -> list[Submission]:
    """The scores of a file of predictions, those of each subset and split alone."""
    model = str(value["mteb_model_meta"].get("model_name") or "")
    name = path.name.removesuffix(".json").removesuffix("_predictions")
    file = read_scores(path, content)
    if file.tags is None:
        return [Submission(path, MTEB, model, name, file)]
    parts: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, (subset, split) in enumerate(file.tags.itertuples(index=False, name=None)):
        parts[subset, split].append(place)
    return [
        Submission(
            path,
            MTEB,
            model,
            name_of_part(name, *part),
            ScoreFile(file.scores[rows], None, [file.ids[i] for i in rows]),
            findings=(
                f"The file has {len(parts)} subsets and splits; these numbers are of {'/'.join(part)} alone.",
            ),
        )
        for part, rows in parts.items()
    ]


def as_mteb_measures(scores: np.ndarray) -> dict[str, float]:
    """MTEB's metrics of scores (n, m, k), in percent."""
    m, k = scores.shape[1:]
    text = (scores.argmax(axis=2) == np.arange(m)).all(axis=1)
    image = (scores.argmax(axis=1) == np.arange(k)).all(axis=1)
    return dict(zip(_NAMES, (100 * float(x.mean()) for x in (text, image, text & image)), strict=True))


def findings(scores: np.ndarray, reported: Mapping[str, float], text: Estimate) -> list[str]:
    """What MTEB's report of scores (n, m, k) gets wrong. text : TextScore, where a tie is wrong."""
    k, measured, told = scores.shape[2], as_mteb_measures(scores), []
    differ = [name for name in _NAMES if name in reported and abs(reported[name] - measured[name]) > 0.01]
    if differ:
        told.append(
            f"The report's {differ[0]} is {_pct(reported[differ[0]], 2)}, and its own metric on these scores gives "
            f"{_pct(measured[differ[0]], 2)}: scores and report are not of one run, or of different versions."
        )
    if scores.shape[1] == 1:
        told.append(
            f"image_acc and accuracy are 0 by construction: of 1 image, MTEB asks that each of the {k} captions have "
            "another one as its best; nothing that a model does can raise them."
        )
    if (scores == scores[:, :1, :1]).all():
        told.append("All scores of a group are equal: this system tells nothing apart.")
    if measured["text_acc"] > text.value:
        told.append(
            f"MTEB gives a tie to the first caption, which is the true one: its text_acc is "
            f"{_pct(measured['text_acc'], 2)}, and {_pct(text.value, 2)} without the {text.ties} tied groups."
        )
    return told
