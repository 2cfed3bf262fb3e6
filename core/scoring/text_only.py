"""SugarCrepe++'s text-only test (TOT): do a group's two true captions mean the same to a model's text tower?

A group is right where the two true captions are closer to each other than each of them is to the false one: both
comparisons of the authors' code (github.com/Sri-Harsha/scpp), of cosines; a tie is wrong. Of three independent
similarities the right one is the largest in 1/3 of the cases: that is the chance level. No image is opened.

The score of a caption is the similarity of the other two, negated. So it orders as the sum of its own similarities to
the other two, which is that number plus the sum of all three; without the sum no rounding makes or hides a tie. Each
true caption scores above the false one just where both comparisons hold, and that is TextScore.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from core.base.errors import InputError
from core.groups import GroupSet
from core.matching.groups import check_scores

_OTHERS = ((1, 2), (0, 2), (0, 1))  # of each of three captions


def _score_text_only(scorer: Any, groups: GroupSet) -> np.ndarray:
    """Scores of captions by each other, float32 (n, 1, 3): minus the similarity of the other two.

    scorer : one with `caption_similarities`, as models of two towers have it. groups : of one image and three captions;
    each distinct caption is encoded once. Which captions are true is not asked.
    Raises InputError for groups of another shape, and for a model that reads no caption by itself.
    """
    if set(groups.shapes) != {(1, 3)}:
        shapes = " and ".join(f"{m}x{k}" for m, k in groups.shapes)
        raise InputError(
            f"The text-only test compares three captions of an image, of which two are true, and {groups.name} has "
            f"groups of {shapes}; choose a set of 1x3 such as sugarcrepe-pp/swap_obj."
        )
    if not hasattr(scorer, "caption_similarities"):
        raise InputError(
            f"{scorer.name} has no text tower that reads a caption by itself, so that captions cannot be compared "
            "without the image; choose a model of two towers, such as builtin/clip."
        )
    captions, place = groups.blind().unique_captions()  # (n, 3)
    pairs = np.sort(place[:, _OTHERS], axis=-1).reshape(-1, 2)  # (n * 3, 2)
    distinct, back = np.unique(pairs, axis=0, return_inverse=True)
    values = np.asarray(scorer.caption_similarities(captions, distinct), dtype=np.float32)
    return check_scores(-values[back].reshape(len(groups), 1, 3), groups.ids)
