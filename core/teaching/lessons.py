"""What the lessons compute besides the usual: random guessing, and adaptation of frozen embeddings in seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.groups import GroupSet
from core.metrics import groups as metrics
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS
from core.metrics.statistics import Estimate
from core.scoring.load import load_scorer
from core.ttm.config import SimpleMatchConfig
from core.ttm.transfer import adapted_pool

if TYPE_CHECKING:
    from core.scorers.embedding import EmbeddingModel

_SUBJECTS = (GROUP_SCORE, GROUP_MATCH)  # of the propositions
_MAX_SIMULATED = 2_000_000  # scores that one simulation may draw


def simulate(m: int, k: int, n: int, seed: int = 0) -> dict[str, Estimate]:
    """GroupScore and GroupMatch of n groups of m images and k captions with independent normal scores, by metric.

    [TTM] Propositions 1 and 2 (m = k), 3 and 4 (m < k). Raises InputError for a shape that is none, or too many scores.
    """
    if not 1 <= m <= k or k < 2:
        raise InputError(f"A group has 1 to k images and at least 2 captions, not {m} and {k}.")
    if n * m * k > _MAX_SIMULATED:
        raise InputError(
            f"{n} groups of {m}x{k} are more than the lesson draws at once; choose fewer groups."
        )
    scores = np.random.default_rng(seed).standard_normal((n, m, k))
    return metrics.evaluate(scores, np.tile(np.arange(m), (n, 1)), _SUBJECTS)


def guessing_table(shapes: list[tuple[int, int]]) -> pd.DataFrame:
    """Chance levels of every shape, in percent: one row per shape."""
    rows = [
        {
            "images × captions": f"{m}×{k}",
            **{METRICS[name].label: 100 * metrics.chance(name, m, k) for name in _SUBJECTS},
        }
        for m, k in shapes
    ]
    return pd.DataFrame(rows)


class AdaptedPart(NamedTuple):
    """One side of a transfer check: its evaluation before the first round of training, and after each."""

    rounds: list[Evaluation]

    @property
    def before(self) -> Evaluation:
        return self.rounds[0]

    @property
    def after(self) -> Evaluation:
        return self.rounds[-1]


def simplematch_transfer(groups: GroupSet, model: str, share: float) -> tuple[AdaptedPart, AdaptedPart]:
    """SimpleMatch on frozen embeddings of a share of the groups: the adapted part, and the untouched one.

    A square map per modality is trained on the induced matchings of the adapted part alone, until GroupScore's test
    holds for all of them; both parts are then scored by the same maps. Seconds on a CPU. Source: [TTM] 3.1;
    that it is trained on frozen features and transferred is not the paper's.
    """
    from core.ttm.loop import simple_match  # torch

    pool = adapted_pool(groups, share, 0)
    config = SimpleMatchConfig(lr=3e-4, seed=0)  # the preset "simplematch/embeddings"
    steps = simple_match(_frozen(model, groups), groups.blind(), config, pool=pool)
    rounds = [Evaluation.of(step.scores, groups.truth, groups.ids) for step in steps]
    adapted, untouched = (AdaptedPart([each.select(part) for each in rounds]) for part in (pool, ~pool))
    return adapted, untouched


def _frozen(name: str, groups: GroupSet) -> EmbeddingModel:
    """A built-in contrastive model's embeddings of a set, with one trainable map per modality."""
    import torch

    from core.scorers.embedding import EmbeddingModel  # torch

    model: Any = load_scorer(name)
    images, _ = groups.unique_images()
    captions, _ = groups.unique_captions()
    rows = torch.arange(max(len(images), len(captions)))  # as pairs, because that is how a batch is made
    with torch.inference_mode():
        batch = model.batch(model.prepare(images, captions), rows % len(images), rows % len(captions))
        pictures, texts = (vectors.float().cpu().numpy() for vectors in model.embed(batch))
    keys, scale = [image.key for image in images], float(model.scale.detach().exp())
    return EmbeddingModel(pictures[: len(images)], texts[: len(captions)], keys, list(captions), scale, name)
