"""What one brings oneself, judged at once: one group of images and captions, or a file of scores or embeddings."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from core.base.errors import InputError
from core.base.image_files import _on_white
from core.base.limits import check
from core.datasets.embeddings import _holds_embeddings, read_embeddings
from core.datasets.score_files import ScoreFile, read_scores
from core.groups import BytesImage, Group, GroupSet, ImageRef, image_name
from core.metrics.evaluation import Evaluation
from core.metrics.groups import METRICS, chance
from core.scoring.scores import score_groups

MAX_SIDE = 2048  # pixels a side; larger pictures are shrunk before they are kept


def user_group(images: Sequence[Image.Image | ImageRef], captions: Sequence[str]) -> Group:
    """A group of one's own: image i belongs to caption i. Pixels are kept as a file would be, images as they are.

    Raises InputError for a shape that is no group or an empty caption.
    """
    for j, caption in enumerate(captions):
        if not caption.strip():
            raise InputError(f"Caption {j + 1} is empty; describe image {image_name(j)} in it.")
    return Group(
        "yours",
        tuple(_stored_image(image, f"image {i + 1}") for i, image in enumerate(images)),
        tuple(" ".join(caption.split()) for caption in captions),
        tuple(range(len(images))),
    )


def _stored_image(image: Image.Image | ImageRef, name: str) -> ImageRef:
    if not isinstance(image, Image.Image):
        return image
    picture = _on_white(image)
    picture.thumbnail((MAX_SIDE, MAX_SIDE))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", compress_level=1)  # of noise the usual level takes a second
    return BytesImage(buffer.getvalue(), name)


def evaluate_group(group: Group, scorer: Any) -> Evaluation:
    """Scores of one group, measured. scorer : as `load_scorer` gives it."""
    groups = GroupSet("yours", (group,))
    return Evaluation.of(score_groups(scorer, groups), groups.truth, groups.ids)


def evaluate_file(name: str, content: bytes, shape: str = "2x2") -> tuple[Evaluation, ScoreFile | None]:
    """Scores, or embeddings where an NPZ holds no array `scores`, measured; and the former as the file has them.

    shape : of the groups of embeddings.
    Raises InputError, in one sentence, for a file that cannot be read or is too large to be measured here.
    """
    check(name, file=len(content))  # browsers are told, but whoever is not one can send more
    if holds_embeddings(name, content):
        file = read_embeddings(name, shape, content)
        return Evaluation.of(file.group_scores(), None, global_scores=file.all_pairs()), None
    table = read_scores(name, content)
    found = Evaluation.of(table.scores, table.truth, table.ids, tags=table.tags, ids_given=table.ids_given)
    return found, table


def holds_embeddings(name: str, content: bytes) -> bool:
    """Whether a file is an NPZ without an array named `scores`; a damaged one is left to its reader to refuse."""
    return _holds_embeddings(name, content)


def record(evaluation: Evaluation) -> dict[str, Any]:
    """One evaluated group as JSON: scores (m rows of k), matching, margin, and each metric with its chance level.

    `matching` lists the caption index of every image, or is null where two matchings tie; `verdicts` are `right`,
    `wrong` or `tie`; `chance` is in percent.
    """
    data = evaluation.group(0)
    m, k = evaluation.shape
    return {
        "scores": np.round(data.scores, 6).tolist(),
        "matching": data.matching,
        "margin": round(data.margin, 6),
        "verdicts": data.kinds,
        "chance": {name: round(100 * chance(name, m, k, len(data.truth)), 4) for name in data.kinds},
        "meaning": {name: METRICS[name].meaning_for(m, k) for name in data.kinds},
    }
