"""A scorer measured as the language-prior paper does: a run of its own kind, for groups and for retrieval sets.

One record, iteration 0's: every metric of the scores, of a captioner also at alpha 0, at 1, at its best and held out,
and the same for parts of the set by tag. Scores go through the cache on disk, so that another prior costs little and a
run that was cut short goes on where it was. Truth is read here, to measure. Source: [VGPT] sections 4-6.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import Field

from core import datasets
from core.base.errors import InputError
from core.base.settings import Count, Names, Seed, Settings
from core.datasets.base import RETRIEVAL
from core.datasets.shapes import first_groups
from core.debiasing.debias import prior_from_samples
from core.debiasing.priors import PRIORS, check_log_prob, default_count, estimate_prior, null_sample
from core.debiasing.retrieval import RetrievalStudy, retrieval_record, score_table
from core.debiasing.study import AlphaStudy
from core.metrics.evaluation import Evaluation
from core.metrics.groups import IMAGE_TO_TEXT, TEXT_SCORE
from core.runs.description import Iteration, Progress, Remains, RunDescription, Stop
from core.scoring.cache import ScoreCache
from core.scoring.load import lazy_scorer
from core.scoring.scores import score_all, score_groups, score_matrix
from core.sweeps.evaluate import EvaluationStopped, measurement_record
from core.ttm.defaults import absolute_name

if TYPE_CHECKING:
    import numpy as np

    from core.groups import GroupSet

# (what is done, share of the run before it, its own share) -> a progress function, which raises where the run is
# to stop.
_Reporter = Callable[[str, float, float], Callable[[int, int], None]]


class _MeasurementSettings(Settings):
    """What is measured besides the scores as they are."""

    seed: Seed = 0  # of the prior's images
    prior: str | None = None  # of `core.debiasing.priors.PRIORS`, of a captioner
    images: Count | None = None  # that the prior is sampled from; None: the paper's number
    tags: Names = ()  # parts to measure besides: the groups that have `yes` in that column


class MeasurementRun(RunDescription):
    """A scorer on groups or a retrieval set, with and without its prior; `of` makes one from what people choose."""

    kind: ClassVar[str] = "measure"

    groups: int | None = None  # only so many, the first ones
    settings: _MeasurementSettings = Field(default_factory=_MeasurementSettings)

    @classmethod
    def of(
        cls, benchmark: str, model: str, *, split: str = "test", device: str = "auto", **settings: Any
    ) -> Self:
        """The description. settings : those of `_MeasurementSettings`."""
        source: dict[str, Any] = {"benchmark": benchmark, "split": split, "model": absolute_name(model)}
        return cls(**source, device=device, settings=_MeasurementSettings(**settings))

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that it reads: of a retrieval set with a prior also the one that alpha is chosen on."""
        is_retrieval = self.benchmark in datasets.names(RETRIEVAL)
        chooses = self.settings.prior is not None and is_retrieval and self._has_validation
        return (self.split, "validation") if chooses else (self.split,)

    @property
    def needs(self) -> str:
        """What it reads: the data with their splits, the model, and what its prior is from."""
        settings, splits = (
            self.settings,
            f"{' and '.join(self.splits)}{' (for alpha)' * (len(self.splits) > 1)}",
        )
        is_retrieval = self.benchmark in datasets.names(RETRIEVAL)
        if settings.prior is None:
            return f"{self.benchmark}, {splits}; {self.model}"
        count = settings.images or default_count(settings.prior, self.benchmark)
        source = f"{count} {PRIORS[settings.prior].label}"
        if is_retrieval and settings.prior == "test":
            source = "all its own images"
        return f"{self.benchmark}, {splits}; {self.model}; log P(t) from {source}"

    def execute(
        self, remains: Remains | None = None, stop: Stop | None = None, progress: Progress | None = None
    ) -> Iterator[Iteration]:
        """Score and measure."""
        started = time.perf_counter()
        measure = self._retrieval if self.benchmark in datasets.names(RETRIEVAL) else self._groups
        try:
            measured = measure(_reporter(stop, progress))
        except EvaluationStopped:
            return
        count, shape, metrics = (measured.pop(name) for name in ("n_groups", "shape", "metrics"))
        seconds = time.perf_counter() - started
        yield Iteration({**measurement_record(metrics, count, shape, seconds), **measured}, {})

    def _groups(self, reporter: _Reporter) -> dict[str, Any]:
        """A set of groups: metrics, parts by tag, and alpha where a prior is asked for."""
        settings = self.settings
        groups = first_groups(datasets.load(self.benchmark, self.split), self.groups)
        if groups.truth is None:
            raise InputError(f"{self.benchmark} has no ground truth, so no model can be evaluated on it.")
        scorer, cache, blind = lazy_scorer(self.model), ScoreCache(), groups.blind()
        scores = score_groups(scorer, blind, cache, reporter("scoring", 0.0, 0.7))
        prior = None
        if settings.prior is not None:
            check_log_prob(self.model)
            report, how = (
                reporter("sampling the prior", 0.7, 0.3),
                (settings.prior, settings.images, settings.seed),
            )
            prior = estimate_prior(scorer, blind, *how, cache=cache, progress=report).values
        parts = {
            tag: [i for i, g in enumerate(groups.groups) if g.tags.get(tag) == "yes"] for tag in settings.tags
        }
        m, k = groups.shape
        record = {"shape": f"{m}x{k}", **_measured(groups, scores, prior, range(len(groups)))}
        alpha = None if prior is None else record["alpha"][TEXT_SCORE]["one_alpha"]["alpha"]
        tagged = {tag: _measured(groups, scores, prior, rows, alpha) for tag, rows in parts.items() if rows}
        if prior is not None:
            record["alpha_grid"] = AlphaStudy(scores, prior, groups.truth, groups.ids).grid(TEXT_SCORE)
        if groups.name.endswith("@global"):
            all_scores = score_all(
                scorer, blind, cache, reporter("scoring all images with all captions", 0.7, 0.3)
            )
            evaluation = Evaluation.of(scores, groups.truth, groups.ids, global_scores=all_scores)
            record["metrics"] = {name: e.record() for name, e in evaluation.metrics.items()}
        return {**record, "parts": tagged} if tagged else record

    def _retrieval(self, reporter: _Reporter) -> dict[str, Any]:
        """A retrieval set: recall both ways, accuracy where captions name classes, and alpha with a prior."""
        if self.settings.prior is not None:
            check_log_prob(self.model)
            if self._has_validation:  # one that is not there is told before anything is scored
                datasets.load_retrieval(self.benchmark, "validation", images=False)
        cache, report = ScoreCache(), reporter("scoring", 0.0, 0.6)
        retrieval = retrieval_record(self.benchmark, self.split, self.model, cache=cache, progress=report)
        shape = f"{retrieval['images']} images, {retrieval['captions']} captions"
        record = {"n_groups": retrieval["images"], "shape": shape, "metrics": retrieval["metrics"]}
        if self.settings.prior is not None:
            record["alpha"] = self._retrieval_alpha(cache, reporter)
        return record

    @property
    def _has_validation(self) -> bool:
        entry = datasets.benchmark_entry(self.benchmark)
        return self.split == "test" and (entry is None or "validation" in entry.splits)

    def _retrieval_alpha(self, cache: ScoreCache, reporter: _Reporter) -> dict[str, Any]:
        """metric -> alpha_0, alpha_1, best and, where the set has a validation split, `validated` on it ([VGPT] 5)."""
        study = self._retrieval_study(self.split, cache, reporter, 0.6)
        found = study.record()
        by_alpha = {name: found[name] for name in ("alpha_0", "alpha_1", "best")}
        if self._has_validation:
            validation = self._retrieval_study("validation", cache, reporter, 0.8)
            by_alpha["validated"] = validation.transfer_alpha(study)
            about = {name: by_alpha["validated"][name] for name in ("gain", "chosen_on", "correlation")}
            by_alpha["validated"]["metrics"][IMAGE_TO_TEXT] |= about
        names = by_alpha["alpha_0"]["metrics"]
        return {
            name: {at: {**part["metrics"][name], "alpha": part["alpha"]} for at, part in by_alpha.items()}
            for name in names
        }

    def _retrieval_study(
        self, split: str, cache: ScoreCache, reporter: _Reporter, start: float
    ) -> RetrievalStudy:
        """A split with its prior: from its own images, or from noise."""
        settings, report = self.settings, reporter(f"scoring the {split} split", start, 0.1)
        scores, relevant, captions = score_table(
            self.benchmark, split, self.model, cache=cache, progress=report
        )
        if settings.prior != "gaussian":
            return RetrievalStudy(scores, relevant)
        nulls = null_sample(self.model, self.benchmark, settings.images, settings.seed)
        report = reporter(f"sampling the prior of the {split} split", start + 0.1, 0.1)
        samples = score_matrix(lazy_scorer(self.model), nulls, captions, cache, report)
        return RetrievalStudy(scores, relevant, prior_from_samples(samples))


def _reporter(stop: Stop | None, progress: Progress | None) -> _Reporter:
    def make(what: str, start: float, size: float) -> Callable[[int, int], None]:
        def told(done: int, total: int) -> None:
            if stop is not None and stop():
                raise EvaluationStopped
            if progress is not None:
                progress(start + size * done / max(total, 1), what)

        told(0, 1)
        return told

    return make


def _measured(
    groups: GroupSet,
    scores: np.ndarray,
    prior: np.ndarray | None,
    rows: Sequence[int],
    alpha: float | None = None,
) -> dict[str, Any]:
    """`metrics`, `n_groups` and, with a prior, `alpha` (metric -> alpha_0, alpha_1, one_alpha, best, validated) of some
    groups. alpha : the one of the whole table; by default their own."""
    assert groups.truth is not None
    chosen, ids = list(rows), [groups.ids[i] for i in rows]
    evaluation = Evaluation.of(scores[chosen], groups.truth[chosen], ids)
    metrics = {name: estimate.record() for name, estimate in evaluation.metrics.items()}
    record = {"n_groups": len(ids), "metrics": metrics}
    if prior is not None:
        study = AlphaStudy(scores[chosen], prior[chosen], groups.truth[chosen], ids)
        record["alpha"] = study.record(alpha)["metrics"]
    return record
