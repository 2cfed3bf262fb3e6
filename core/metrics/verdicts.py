"""One group's numbers as the metrics compare them, and what the sentences of their verdicts are made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from core.groups import image_name
from core.matching.global_match import match_global

SYMBOLS = {"right": "✓", "wrong": "✗", "tie": "="}


class GroupData(NamedTuple):
    """One group as it is drawn and as the metrics compare it. Arrays are float64 (m,) unless said; NaN: no rival."""

    scores: np.ndarray  # (m, k)
    matching: list[int] | None  # the induced one; None where two matchings tie
    truth: list[int]
    true: np.ndarray  # score of each image with its own caption
    row_rival: np.ndarray  # best other caption of that image
    column_rival: np.ndarray  # best other image of that caption
    true_total: float
    rival_total: float  # of the best other matching
    margin: float


def group_data(scores: np.ndarray, truth: np.ndarray, matching: np.ndarray, margin: float) -> GroupData:
    """scores : float (m, k). truth, matching : int (m,), as metrics and `match` have them; only re-arranged here."""
    table = np.asarray(scores, dtype=np.float64)
    images = np.arange(len(table))
    true, rows, columns = table[images, truth], table.copy(), table[:, truth]
    rows[images, truth] = -np.inf
    columns[images, images] = -np.inf
    induced = None if matching[0] < 0 else [int(j) for j in matching]
    own = [int(j) for j in truth]
    best = float(table[images, match_global(table)].sum())
    rival = best - margin if induced == own else best
    column_rival = columns.max(axis=0) if len(table) > 1 else np.full(1, np.nan)
    return GroupData(
        table,
        induced,
        own,
        true,
        rows.max(axis=1),
        column_rival,
        float(true.sum()),
        float(rival),
        float(margin),
    )


def compare_text(left: float, right: float) -> str:
    """`24.13 > 23.90`, with as many digits as it takes to see a difference that is there."""
    sign = ">" if left > right else "<" if left < right else "="
    for digits in (2, 4, 6):
        texts = f"{left:.{digits}f}", f"{right:.{digits}f}"
        if sign == "=" or texts[0] != texts[1]:
            break
    return f"{texts[0]} {sign} {texts[1]}".replace("-", "−")


def compare_to_rival(data: GroupData, rivals: np.ndarray) -> str:
    """`A–1: 24.13 > 23.90 · B–2: ...`: every true score against its rival (m,)."""
    pairs = zip(data.truth, data.true, rivals, strict=True)
    return " · ".join(f"{image_name(i)}–{j + 1}: {compare_text(t, r)}" for i, (j, t, r) in enumerate(pairs))


def symbol(data: GroupData, rivals: np.ndarray) -> str:
    """Whether every true score is ahead of its rival (m,): the symbol of right, wrong, or a tie."""
    if (data.true > rivals).all():
        return SYMBOLS["right"]
    return SYMBOLS["tie" if (data.true >= rivals).all() else "wrong"]
