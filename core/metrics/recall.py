"""Captions and images found by score among all of a set: recall both ways, classification, and alpha (METHODS 2, 5).

A member of the metrics family: it reads what belongs together. Scores are (images, captions) as scorers give them;
`relevant` is bool (captions, images) as retrieval sets hold it, with any number of captions per image. A tie with
something irrelevant counts as ranked behind it. Source: [VGPT] section 5, Tables 3, 5, 7 and 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from core.base.errors import InputError
from core.matching.global_match import Rows
from core.metrics.evaluation import percent_record
from core.metrics.groups import Estimate, estimate
from core.metrics.ranks import rank_both_ways
from core.metrics.retrieval import Ranks, ranks

TOPS = (1, 5, 10)
_CELLS = 4_000_000  # scores per block of rows


class RecallResult(NamedTuple):
    """Recall at K both ways in percent, mean and median rank; `left_out` queries have nothing relevant."""

    recall: dict[str, Estimate]  # image_to_text_r1, ..., text_to_image_r10
    mean_rank: dict[str, float]  # image_to_text, text_to_image
    median_rank: dict[str, float]
    left_out: dict[str, int]

    def record(self) -> dict[str, Any]:
        """JSON-safe."""
        return {
            "metrics": {name: percent_record(e) for name, e in self.recall.items()},
            "mean_rank": self.mean_rank,
            "median_rank": self.median_rank,
            "left_out": self.left_out,
        }


def recall(
    scores: np.ndarray, relevant: np.ndarray, tops: Sequence[int] = TOPS, seed: int = 0
) -> RecallResult:
    """Recall at K from image to text and from text to image.

    Parameters
    ----------
    scores : float (N, M), images x captions, finite. relevant : bool (M, N).
    tops : the K; a query is a hit if any relevant item is among the first K. Intervals resample queries; the chance
        level is that of a random order, averaged over queries. Queries with nothing relevant are left out and counted.
    """
    array, belongs = _checked(scores, relevant)
    sides = {"image_to_text": (array, belongs.T), "text_to_image": (array.T, belongs)}
    found = RecallResult({}, {}, {}, {})
    for name, (table, wanted) in sides.items():
        asked = wanted.any(axis=1)
        if not asked.any():
            raise InputError(
                "No caption belongs to any image, so there is nothing to retrieve; check the set."
            )
        of_side = ranks(np.ascontiguousarray(table[asked]), wanted[asked])
        _add_side(found, name, of_side, (wanted[asked].sum(axis=1), wanted.shape[1]), tops, seed)
        found.left_out[name] = int((~asked).sum())
    return found


def recall_in_blocks(
    rows: Rows, images: int, image_of: np.ndarray, tops: Sequence[int] = TOPS, seed: int = 0
) -> RecallResult:
    """`recall` from blocks of scores, which are asked for twice: the whole matrix is never held.

    rows : gives the scores of a slice of the images with all captions, float (b, M). image_of : int (M,), the image of
    every caption. Other arguments and the result as in `recall`; nothing is left out, because every caption needs an
    image and every image a caption. Raises InputError where that fails, and for a score that is not finite.
    """
    found = RecallResult({}, {}, {}, {})
    to_text, to_image = rank_both_ways(rows, images, image_of)
    own = np.bincount(image_of, minlength=images)
    _add_side(found, "image_to_text", to_text, (own, len(image_of)), tops, seed)
    _add_side(found, "text_to_image", to_image, (np.ones(len(image_of)), images), tops, seed)
    found.left_out.update(image_to_text=0, text_to_image=0)
    return found


def _add_side(
    found: RecallResult,
    name: str,
    of_side: Ranks,
    sizes: tuple[np.ndarray, int],
    tops: Sequence[int],
    seed: int,
) -> None:
    """What follows from the ranks of one side; `sizes` are relevant items of each query, and all that it ranks."""
    rank, tied = of_side
    for top in tops:
        hits = (rank <= top).astype(float)
        # A tie matters where winning it would bring the query into the first `top`.
        lost = int((tied & (rank > top)).sum())
        found.recall[f"{name}_r{top}"] = estimate(hits, _chance(*sizes, top), lost, seed)
    found.mean_rank[name], found.median_rank[name] = float(rank.mean()), float(np.median(rank))


def _chance(relevant: np.ndarray, candidates: int, top: int) -> float:
    """Percent of queries with one of their relevant items (q,) among the first `top` candidates in random order."""
    others = candidates - np.asarray(relevant, dtype=float)
    miss = np.ones_like(others)  # each of the first `top` is another one
    for place in range(min(top, candidates)):
        miss *= np.maximum(others - place, 0) / (candidates - place)
    return 100 * float((1 - miss).mean())


def classify(
    scores: np.ndarray, label: np.ndarray, class_of: np.ndarray | None = None, seed: int = 0
) -> dict[str, Estimate]:
    """Zero-shot classification as caption retrieval: top-1 and top-5 accuracy over images, percent.

    scores : float (N, M). label : int (N,), the class of each image. class_of : int (M,), the class that each caption
    names; by default caption c names class c. A class with several captions (prompts) scores their mean.
    Source: [VGPT] section 5, ImageNet.
    """
    array = np.asarray(scores, dtype=np.float64)
    named = np.arange(array.shape[1]) if class_of is None else np.asarray(class_of)
    classes = int(named.max()) + 1
    members = np.zeros((array.shape[1], classes))
    members[np.arange(array.shape[1]), named] = 1
    if (members.sum(axis=0) == 0).any() or np.max(label) >= classes or np.min(label) < 0:
        raise InputError("A class has no caption; give every class at least one.")
    per_class = array if class_of is None else array @ (members / members.sum(axis=0))
    rank, tied = ranks(per_class, np.asarray(label))
    return {
        f"accuracy_top{top}": estimate(
            (rank <= top).astype(float), 100 * top / classes, int((tied & (rank > top)).sum()), seed
        )
        for top in (1, 5)
        if top <= classes
    }


def classify_if_classes(scores: np.ndarray, relevant: np.ndarray, seed: int = 0) -> dict[str, Any]:
    """Records of `classify` where every image has one caption and captions are fewer (they name classes), else none."""
    if len(relevant) >= relevant.shape[1] or (relevant.sum(axis=0) != 1).any():
        return {}
    return {
        name: percent_record(e) for name, e in classify(scores, relevant.argmax(axis=0), seed=seed).items()
    }


def _checked(scores: np.ndarray, relevant: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    array, belongs = np.asarray(scores, dtype=np.float64), np.asarray(relevant, dtype=bool)
    if array.ndim != 2 or belongs.shape != array.shape[::-1]:
        raise InputError(
            f"Scores of shape {array.shape} (images, captions) and what belongs together of shape {belongs.shape} "
            "(captions, images) do not fit."
        )
    if not np.isfinite(array).all():
        raise InputError("A score is not a finite number; score the images again.")
    return array, belongs
