"""A retrieval set and a model by name, to scores, metrics and the best alpha: what the commands and the papers' tables
both ask for.

Large sets of a two-tower model are measured from embeddings, some rows of scores at a time; all others from a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from core.base.arrays import Array
from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.datasets import Retrieval, load_retrieval
from core.datasets.sets import RetrievalSet
from core.debiasing.curves import recall_curve
from core.debiasing.debias import debias, prior_from_samples
from core.matching.global_match import AllPairs
from core.metrics.evaluation import Evaluation
from core.metrics.recall import recall
from core.metrics.retrieval import RetrievalEvaluation
from core.metrics.statistics import compare
from core.scoring.load import lazy_scorer
from core.scoring.scores import ScoreCache, score_matrix

_Progress = Callable[[int, int], None]
# Scores up to which a table is held, 80 MB, and kept in the cache.
MAX_TABLE_SCORES = 20_000_000


class _ScoreTable(NamedTuple):
    """scores : float32 (images, captions). relevant : bool (captions, images). captions : those of any image."""

    scores: np.ndarray
    relevant: np.ndarray
    captions: list[str]


def score_table(
    benchmark: str,
    split: str,
    model: str,
    items: int | None = None,
    cache: ScoreCache | None = None,
    progress: _Progress | None = None,
) -> _ScoreTable:
    """Scores of the first `items` images of a set (None: all) with every caption that belongs to one of them.

    Raises InputError for fewer than one image.
    """
    return _table(_first(benchmark, split, items), model, cache, progress)


def retrieval_record(
    benchmark: str,
    split: str,
    model: str,
    items: int | None = None,
    cache: ScoreCache | None = None,
    progress: _Progress | None = None,
) -> dict[str, Any]:
    """Recall both ways, and accuracy where captions name classes: the record of `core.metrics.recall.RecallResult` with
    `images` and `captions`, JSON-safe. A set of more than `MAX_TABLE_SCORES` scores is never held, where the model has
    two towers. Arguments and errors as for `score_table`. A set with Cola's lists has its metrics under `cola`.
    """
    found, scorer = _first(benchmark, split, items), lazy_scorer(model)
    images, captions = len(found.images), len(found.queries)
    if images * captions > MAX_TABLE_SCORES and hasattr(scorer, "rows"):
        rows = scorer.rows(found.images, found.queries)
        measured = recall(AllPairs(rows, images, captions), (found.links[:, 0], found.links[:, 1]))
    else:
        scores, relevant, _ = _table(found, model, cache, progress)
        measured = recall(scores, relevant)
    record = {"images": images, "captions": captions, **measured.record()}
    if found.any_word is not None and images * captions <= MAX_TABLE_SCORES:
        lists = (found.any_word, found.all_words, found.unseen, found.attributes)
        record["cola"] = RetrievalEvaluation(scores.T, relevant, *lists, compared=found.compared).record()
    return record


def _first(benchmark: str, split: str, items: int | None) -> RetrievalSet:
    """The first `items` images of a set (None: all) with the captions that belong to one of them."""
    if items is not None and items < 1:
        raise InputError(
            f"{items} images were asked for; ask for 1 or more, or leave the number out for all."
        )
    found: Retrieval = load_retrieval(benchmark, split)
    links = found.links if isinstance(found, RetrievalSet) else np.argwhere(found.relevant)
    links = links[links[:, 1] < len(found.images[:items])]
    asked, query = np.unique(links[:, 0], return_inverse=True)
    queries = tuple(found.queries[j] for j in asked)
    lists = {
        name: None if (mask := getattr(found, name)) is None else mask[asked][:, :items]
        for name in ("any_word", "all_words")
    }
    facts = {
        name: None if (values := getattr(found, name)) is None else values[asked]
        for name in ("unseen", "attributes", "compared")
    }
    pairs = np.column_stack([query, links[:, 1]])
    return RetrievalSet(found.name, found.split, found.images[:items], queries, pairs, **lists, **facts)


def _table(
    found: RetrievalSet, model: str, cache: ScoreCache | None, progress: _Progress | None
) -> _ScoreTable:
    captions = list(found.queries)
    scores = score_matrix(lazy_scorer(model), list(found.images), captions, cache, progress)
    return _ScoreTable(scores, found.relevant, captions)


def alpha_record(scores: Array, relevant: Array, prior: Array | None = None) -> dict[str, Any]:
    """Recall both ways at alpha 0, at 1 and at the best alpha for R@1 from image to text; JSON-safe.

    prior : float (M,), log P_train(t); by default the mean over the set's own images, which costs nothing ([VGPT]
        appendix B, Table 7). From text to image alpha changes nothing: it takes the same from all images.
    Other arguments as in `recall_curve`.
    """
    prior = prior_from_samples(scores) if prior is None else prior
    curve = recall_curve(scores, prior, relevant)
    best, (low, high) = float(curve.alphas[curve.best]), curve.interval()
    ends = {"alpha_0": 0.0, "alpha_1": 1.0, "best": best}
    record = {name: _metrics_at(scores, prior, relevant, a) for name, a in ends.items()}
    record["best"] |= {"label": "tuned on test", "alpha_low": low, "alpha_high": high}
    return record


def transferred_alpha_record(
    chosen_on: tuple[Array, Array],
    scores: Array,
    relevant: Array,
    priors: tuple[Array, Array] | None = None,
) -> dict[str, Any]:
    """The best alpha of other images and captions (scores, relevant), measured on these; JSON-safe.

    priors : float (M',) of the other captions and (M,) of these; by default the means over each set's own images.
    `gain` is the paired comparison of R@1 from image to text with alpha 0, image by image ([VGPT] Table 8).
    """
    other_prior, prior = priors or (prior_from_samples(chosen_on[0]), prior_from_samples(scores))
    other = recall_curve(chosen_on[0], other_prior, chosen_on[1])
    curve = recall_curve(scores, prior, relevant)
    gain = compare(curve.hits[0], curve.hits[other.best])
    found = _metrics_at(scores, prior, relevant, float(other.alphas[other.best]))
    return {**found, "gain": gain.record()}


@dataclass(eq=False)
class RetrievalStudy:
    """Scores of all images with all captions, debiased: recall both ways at every alpha.

    scores : float (N, M), log P(t|i). relevant : bool (M, N). prior : float (M,), log P_train(t). ids : of the images.
    tags : a row per image, or None.
    """

    scores: np.ndarray
    relevant: np.ndarray
    prior: np.ndarray
    ids: Sequence[str]
    tags: pd.DataFrame | None = None

    def select(self, mask: np.ndarray) -> RetrievalStudy:
        """The set of some of the images, bool (N,), with the captions that belong to one of them."""
        asked = self.relevant[:, mask].any(axis=1)
        ids = [name for name, kept in zip(self.ids, mask, strict=True) if kept]
        tags = None if self.tags is None else self.tags[mask].reset_index(drop=True)
        return RetrievalStudy(
            self.scores[np.ix_(mask, asked)], self.relevant[np.ix_(asked, mask)], self.prior[asked], ids, tags
        )

    def slices(self, column: str | None = None) -> dict[str, dict[str, RetrievalStudy]]:
        """Tag -> value -> the study of the images that have it (`Evaluation.slices`)."""
        found = Evaluation.slice_masks(self.tags, column)
        return {name: {v: self.select(mask) for v, mask in values.items()} for name, values in found.items()}

    def record(self) -> dict[str, Any]:
        """`alpha_record` with the number of images and captions."""
        images, captions = self.scores.shape
        return {
            "images": images,
            "captions": captions,
            **alpha_record(self.scores, self.relevant, self.prior),
        }

    def transfer_alpha(self, other: RetrievalStudy) -> dict[str, Any]:
        """The best alpha of these images, measured on others: `transferred_alpha_record`."""
        return transferred_alpha_record(
            (self.scores, self.relevant), other.scores, other.relevant, (self.prior, other.prior)
        )

    def curve_table(self) -> pd.DataFrame:
        """R@1 from image to text, percent, at every alpha of the grid: a row per alpha."""
        curve = recall_curve(self.scores, self.prior, self.relevant)
        return pd.DataFrame({"metric": "image_to_text_r1", "alpha": curve.alphas, "percent": curve.values})


def _metrics_at(scores: Array, prior: Array, relevant: Array, alpha: float) -> dict[str, Any]:
    """Every metric at one alpha."""
    found = recall(debias(scores, prior, alpha), relevant).metrics
    return {"alpha": alpha, "metrics": {name: e.record() for name, e in found.items()}}
