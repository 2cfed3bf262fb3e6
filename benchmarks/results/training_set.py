"""Retrieval inside the training set of the built-in captioner ([VGPT] appendix A, Table 5).

Test captions are then distributed as in training, so that an unbiased model's best alpha would be 0; a best alpha
above 0 says that the model overrates common captions: beta = alpha / (1 - alpha).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from core.debiasing.curves import recall_curve
from core.debiasing.debias import debias, prior_from_samples
from core.metrics.groups import IMAGE_TO_TEXT, TEXT_TO_IMAGE
from core.metrics.recall import recall
from core.metrics.statistics import compare
from core.scenes.captions import CaptionTemplate, statement_about
from core.scenes.render import SceneImage
from core.scenes.training_data import DataRecipe, training_scenes
from core.scorers.base import Scorer
from core.scoring.cache import ScoreCache
from core.scoring.scores import score_matrix

SIZES = (50, 100, 200, 400)
SHOWN = 101  # alphas of a stored curve


class TrainingPairs(NamedTuple):
    """Images of the training data, one training caption each (distinct), and which captions hold of which image.

    relevant : bool (captions, images). A caption is relevant to every image that it is true of, not only to its own.
    """

    images: list[SceneImage]
    captions: list[str]
    relevant: np.ndarray


def training_pairs(recipe: DataRecipe, n: int, seed: int = 0) -> TrainingPairs:
    """The first `n` training scenes, in the order of the data, whose last caption no scene before them has.

    recipe, seed : of the model (`core.pretrain._recipes`); the captions are those that it was trained on. Where a
    relation can be argued about, the caption counts as relevant, so that no model is blamed for it.
    """
    rng, taken = np.random.default_rng([seed, 1]), set()
    scenes, claims, texts = [], [], []
    for scene in training_scenes(recipe.singles, seed, recipe.counts):
        for variant in range(recipe.captions):  # every draw in the order of the training data
            kind = "pair" if variant < recipe.captions // 2 else "relation"
            claim = statement_about(scene, rng, {kind: 1.0}, recipe.detail, recipe.omit)
            text = claim.caption(CaptionTemplate.draw(rng, definite=claim.is_unambiguous(scene)))
        if text not in taken:
            taken.add(text)
            scenes.append(scene)
            claims.append(claim)
            texts.append(text)
        if len(texts) == n:
            break
    relevant = np.array([[claim.is_true_of(scene) is not False for scene in scenes] for claim in claims])
    return TrainingPairs([SceneImage(scene) for scene in scenes], texts, relevant)


def training_retrieval(
    scorer: Scorer,
    pairs: TrainingPairs,
    sizes: Sequence[int] = SIZES,
    cache: ScoreCache | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[dict[str, Any]]:
    """Table 5 for a captioner: one record per size of the set, which holds the first so many pairs.

    The prior is the mean over the set's own images, as in [VGPT] Table 7 (free: those scores exist). Keys: size, R@1
    both ways with interval, chance and ties at alpha 0, 1 and the best one ("tuned on test", exact), the best
    alpha with its interval, the beta that it means, and the curve at `SHOWN` alphas.
    """
    table = score_matrix(scorer, pairs.images, pairs.captions, cache, progress)
    return [_at_size(table[:n, :n], pairs.relevant[:n, :n]) for n in sizes if n <= len(table)]


def _at_size(scores: np.ndarray, relevant: np.ndarray) -> dict[str, Any]:
    prior = prior_from_samples(scores)
    found_at = recall_curve(scores, prior, relevant)
    curve, grid = found_at.curve, np.linspace(0, 1, SHOWN)
    best, low, high = (getattr(curve.best(), name) for name in ("alpha", "low", "high"))
    record: dict[str, Any] = {"size": len(scores)}
    for name, alpha in (("alpha_0", 0.0), ("alpha_1", 1.0), ("best", best)):
        found = recall(debias(scores, prior, alpha), relevant, (1,)).recall
        record[name] = found[IMAGE_TO_TEXT].record()
        if alpha == 0:
            record["text_to_image"] = found[TEXT_TO_IMAGE].record()
    gain = compare(found_at.hits(0.0), found_at.hits(best))
    record["gain"] = {"value": gain.difference, **gain.record()}
    return record | {
        "alpha": best,
        "alpha_low": low,
        "alpha_high": high,
        "beta": best / (1 - best) if best < 1 else None,  # without bound
        "curve": {"alpha": grid.tolist(), "value": curve.value(grid).round(4).tolist()},
    }
