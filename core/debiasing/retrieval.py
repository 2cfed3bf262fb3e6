"""A retrieval set and a model by name, to scores, metrics and the best alpha: what the commands and the papers' tables
both ask for.

Large sets of a two-tower model are measured from embeddings, some rows of scores at a time; all others from a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from core.base.arrays import Array
from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.datasets import Retrieval, load_retrieval
from core.datasets.sets import RetrievalSet
from core.debiasing.curves import AlphaCurve, BestAlpha, RecallCurve, recall_curve
from core.debiasing.debias import _rounding_of, debias, prior_from_samples
from core.debiasing.study import TUNED_ON_TEST, TUNED_PER_ROW, _BestGain
from core.matching.global_match import AllPairs
from core.metrics.evaluation import Evaluation
from core.metrics.groups import IMAGE_TO_TEXT
from core.metrics.recall import RecallResult, recall
from core.metrics.retrieval import RetrievalEvaluation
from core.metrics.statistics import Clusters, Estimate, compare
from core.scoring.cache import ScoreCache
from core.scoring.load import lazy_scorer
from core.scoring.scores import _score_choices, score_matrix

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

    Raises InputError for fewer than one image, and for a set whose captions choose among a few images of their own:
    what a prior takes from a caption it takes from all of them alike.
    """
    found = _first(benchmark, split, items)
    if found.choices is not None:
        raise InputError(
            f"In {benchmark} every caption chooses among images of its own, and alpha takes the same from all of them: "
            f"there is nothing to debias. `crossmatch recall {benchmark}` measures the choice."
        )
    return _table(found, model, cache, progress)


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
    two towers. Arguments and errors as for `score_table`. A set with Cola's lists has its metrics under `cola`; one
    whose captions choose among images of their own has that choice alone (`RecallResult.of_choices`).
    """
    found, scorer = _first(benchmark, split, items), lazy_scorer(model)
    images, captions = len(found.images), len(found.queries)
    if found.choices is not None:
        asked = found.images, found.queries, found.choices
        chosen = _score_choices(scorer, *asked, cache, progress)
        clusters = Clusters.of_choices(found.choices)
        measured = RecallResult.of_choices(chosen, found.right_choices, found.choices >= 0, clusters)
        return {"images": images, "captions": captions, **measured.record()}
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
    if isinstance(found, RetrievalSet) and found.choices is not None:
        return found.first_choices(items)
    links = found.links if isinstance(found, RetrievalSet) else np.argwhere(found.relevant)
    links = links[links[:, 1] < len(found.images[:items])]
    asked, query = np.unique(links[:, 0], return_inverse=True)
    queries = tuple(found.queries[j] for j in asked)
    lists: dict[str, Any] = {
        name: None if (mask := getattr(found, name)) is None else mask[asked][:, :items]
        for name in ("any_word", "all_words")
    }
    facts: dict[str, Any] = {
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


@dataclass(eq=False)
class RetrievalStudy:
    """Scores of all images with all captions, debiased: recall both ways at every alpha.

    scores : float (N, M), log P(t|i). relevant : bool (M, N). prior : float (M,), log P_train(t); by default the mean
    over the set's own images, which costs nothing ([VGPT] appendix B, Table 7). ids : of the images. tags : a row per
    image, or None. alpha is chosen for R@1 from image to text and holds for every metric; from text to image it changes
    nothing: it takes the same from all images.
    """

    scores: Array
    relevant: Array
    prior: Array | None = None
    ids: Sequence[str] = ()
    tags: pd.DataFrame | None = None
    seed: int = 0  # of the random halves

    def __post_init__(self) -> None:
        if self.prior is None:
            self.prior = prior_from_samples(self.scores)

    def select(self, mask: np.ndarray) -> RetrievalStudy:
        """The set of some of the images, bool (N,), with the captions that belong to one of them."""
        assert self.prior is not None
        asked = self.relevant[:, mask].any(axis=1)
        ids = [name for name, kept in zip(self.ids, mask, strict=True) if kept]
        tags = None if self.tags is None else self.tags[mask].reset_index(drop=True)
        return RetrievalStudy(
            self.scores[np.ix_(mask, asked)],
            self.relevant[np.ix_(asked, mask)],
            self.prior[asked],
            ids,
            tags,
            self.seed,
        )

    def slices(self, column: str | None = None) -> dict[str, dict[str, RetrievalStudy]]:
        """Tag -> value -> the study of the images that have it (`Evaluation.slices`)."""
        found = Evaluation.slice_masks(self.tags, column)
        return {name: {v: self.select(mask) for v, mask in values.items()} for name, values in found.items()}

    @cached_property
    def recall_at_1(self) -> RecallCurve:
        """R@1 from image to text over alpha, exact."""
        assert self.prior is not None
        return recall_curve(self.scores, self.prior, self.relevant)

    @property
    def curve(self) -> AlphaCurve:
        """The same as steps."""
        return self.recall_at_1.curve

    @cached_property
    def best(self) -> BestAlpha:
        """Where it is highest: `TUNED_ON_TEST`."""
        return self.curve.best()

    @property
    def alpha(self) -> float:
        """Its best alpha: `TUNED_ON_TEST` where it is measured on these images."""
        return self.best.alpha

    @property
    def gains(self) -> dict[str, _BestGain]:
        """What is tested, as `AlphaStudy.gains`: R@1 from image to text, at its best alpha against 0."""
        return {IMAGE_TO_TEXT: self._gain}

    @cached_property
    def _gain(self) -> _BestGain:
        return _BestGain(*self.recall_at_1.gain(self.alpha))

    def record(
        self, alpha: float | None = None, gains: Mapping[str, _BestGain] | None = None
    ) -> dict[str, Any]:
        """The numbers of images and captions, and every metric at alpha 0, at 1, at the best one and validated.

        alpha : the one of the whole set, where these are some of its images; they are then measured at it, too.
        gains : `gains` as corrected for all that they are shown with. JSON-safe.
        """
        images, captions = self.scores.shape
        best = self.best
        label = TUNED_ON_TEST if alpha is None else TUNED_PER_ROW
        of_set = {} if alpha is None else {"one_alpha": {**self._at(alpha), "label": TUNED_ON_TEST}}
        where: dict[str, Any] = {
            "alpha_low": best.low,
            "alpha_high": best.high,
            "intervals": best.intervals.tolist(),
        }
        where |= (gains or self.gains)[IMAGE_TO_TEXT].record()
        return {
            "images": images,
            "captions": captions,
            "to_quote": self._to_quote(),
            "depends_on_alpha": bool(np.ptp(self.curve.values)),
            "alpha_0": self._at(0.0),
            "alpha_1": self._at(1.0),
            **of_set,
            "best": {**self._at(best.alpha), "label": label, **where},
            "validated": self._protocol(),
        }

    def _protocol(self) -> dict[str, Any] | None:
        """alpha of one half of the images on the other half, for R@1 from image to text; None for a single image."""
        if self.recall_at_1.count < 2:
            return None
        return {"metric": IMAGE_TO_TEXT, **self.recall_at_1.validated(seed=self.seed).record()}

    def _to_quote(self) -> dict[str, Any] | None:
        """The gain in R@1 from image to text that may be quoted, and its line; None for a single image."""
        if self.recall_at_1.count < 2:
            return None
        found = self.recall_at_1.validated(seed=self.seed)
        return found._to_quote(IMAGE_TO_TEXT, "R@1 from image to text")

    def transfer_alpha(self, other: RetrievalStudy) -> dict[str, Any]:
        """The best alpha of these images and captions, measured on others; JSON-safe ([VGPT] Tables 3, 7 and 8).

        `gain` is the paired comparison of R@1 from image to text with alpha 0, image by image; `chosen_on` R@1 and the
        best alphas where alpha was chosen; `correlation` that of the two curves over alpha 0, 0.001, ..., 1, None where
        one is flat.
        """
        best = self.best
        gain = compare(other.recall_at_1.hits(0.0), other.recall_at_1.hits(best.alpha))
        both = np.stack([each.curve.on_grid() for each in (self, other)])
        correlation = None if not np.ptp(both, axis=1).all() else round(float(np.corrcoef(both)[0, 1]), 4)
        own = self._at(best.alpha)["metrics"][IMAGE_TO_TEXT]
        chosen_on = {**own, "alpha_low": best.low, "alpha_high": best.high}
        found = {"gain": gain.record(), "chosen_on": chosen_on, "correlation": correlation}
        return {**other._at(best.alpha), **found}

    def curve_table(self) -> pd.DataFrame:
        """The exact curve of R@1 from image to text with its 95 % interval, percent: `AlphaCurve.table`.

        `alpha` : the middle of every step.
        """
        found = self.curve.table(IMAGE_TO_TEXT)
        shares = found["percent"].to_numpy() / 100
        low, high = Estimate.interval_of_moments(shares, shares, self.recall_at_1.count)
        found.insert(1, "alpha", (found["alpha_from"] + found["alpha_to"]) / 2)
        return found.assign(low=(100 * low).round(4), high=(100 * high).round(4))

    def _at(self, alpha: float) -> dict[str, Any]:
        """Every metric at one alpha."""
        assert self.prior is not None
        rounding = _rounding_of(self.scores, self.prior, alpha)
        found = recall(debias(self.scores, self.prior, alpha), self.relevant, rounding=rounding).metrics
        return {"alpha": alpha, "metrics": {name: e.record() for name, e in found.items()}}
