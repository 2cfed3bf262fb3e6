"""One group of one's own, judged at once: score matrix, induced matching and verdicts as one JSON-safe record."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from core.figures.group_html import group_view
from core.groups import BytesImage, Group, GroupSet
from core.metrics.evaluation import Evaluation
from core.metrics.groups import METRICS, chance
from core.scoring.scores import score_groups

LARGEST = 2048  # pixels a side; larger pictures are shrunk before they are kept


def own_group(images: Sequence[Image.Image], captions: Sequence[str], name: str = "yours") -> Group:
    """A group of one's own: image i belongs to caption i.

    Raises InputError for a shape that is no group or an empty caption.
    """
    return Group(
        name,
        tuple(_keep(image, f"image {i + 1}") for i, image in enumerate(images)),
        tuple(" ".join(caption.split()) for caption in captions),
        tuple(range(len(images))),
    )


def _keep(image: Image.Image, name: str) -> BytesImage:
    picture = image.convert("RGB")
    picture.thumbnail((LARGEST, LARGEST))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return BytesImage(buffer.getvalue(), name)


def evaluate_group(group: Group, scorer: Any) -> Evaluation:
    """Scores of one group, measured. scorer : as `load_scorer` gives it."""
    groups = GroupSet("yours", (group,))
    return Evaluation.of(score_groups(scorer, groups), groups.truth, groups.ids)


def record(evaluation: Evaluation) -> dict[str, Any]:
    """One evaluated group as JSON: scores (m rows of k), matching, margin, and each metric with its chance level.

    `matching` lists the caption index of every image, or is null where two matchings tie; `verdicts` are `right`,
    `wrong` or `tie`; `chance` is in percent.
    """
    data, kinds = group_view(evaluation, 0)
    m, k = evaluation.shape
    return {
        "scores": np.round(data.scores, 6).tolist(),
        "matching": data.matching,
        "margin": round(data.margin, 6),
        "verdicts": kinds,
        "chance": {name: round(100 * chance(name, m, k), 4) for name in kinds},
        "meaning": {name: METRICS[name].meaning for name in kinds},
    }
