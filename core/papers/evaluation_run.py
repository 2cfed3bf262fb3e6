"""A scorer measured as the language-prior paper does: a run of its own kind, for groups and for retrieval sets.

One record, iteration 0's: every metric of the scores, of a captioner also at alpha 0, at 1, at its best and held out,
and the same for parts of the set by tag. Scores go through the cache on disk, so that another prior costs little and a
run that was cut short goes on where it was. Truth is read here, to measure. Source: [VGPT] sections 4-6 (METHODS 5).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from core import datasets
from core.base import files
from core.base.errors import InputError
from core.datasets.base import RETRIEVAL
from core.debiasing.debias import prior_from_samples
from core.debiasing.priors import check_log_prob, estimate_prior, null_sample
from core.debiasing.recall_curves import alpha_record, transferred_alpha_record
from core.debiasing.retrieval import retrieval_record, score_table
from core.debiasing.study import AlphaStudy
from core.metrics.evaluation import Evaluation
from core.scoring.load import lazy_scorer
from core.scoring.scores import ScoreCache, score_groups, score_matrix
from core.ttm.defaults import absolute_name
from core.ttm.run import load_groups

if TYPE_CHECKING:  # a queued worker waits without numpy
    import numpy as np

    from core.groups import GroupSet
    from core.runs.attempt import RunAttempt

KIND = "measure"


class MeasurementStopped(Exception):
    """Raised from a scorer's progress to end it."""


def measure_job(
    benchmark: str,
    model: str,
    *,
    split: str = "test",
    prior: str | None = None,
    images: int | None = None,
    tags: Sequence[str] = (),
    device: str = "auto",
    seed: int = 0,
) -> dict[str, Any]:
    """The description of a measurement.

    prior : a kind of `core.debiasing.priors.PRIORS`, of a captioner; None measures the scores as they are. images :
    how many the
    prior is sampled from (None: the paper's number), with `seed`. tags : parts to measure besides, the groups that have
    `yes` in that column.
    """
    own = {"seed": seed, "prior": prior, "images": images, "tags": list(tags)}
    return {
        "benchmark": benchmark,
        "split": split,
        "model": absolute_name(model),
        "groups": None,
        "device": device,
        KIND: own,
    }


def run_measure(job: RunAttempt) -> bool:
    """What `core.worker` calls for a run of this kind; True when everything is measured."""
    started, config = time.perf_counter(), job.run.config
    wide = config["benchmark"] in datasets.names(RETRIEVAL)
    try:
        record = (_retrieval if wide else _groups)(config, _progress_reporter(job))
    except MeasurementStopped:
        return False
    nothing = dict.fromkeys(("threshold", "coverage", "precision", "loss"))
    with files.storage_errors(job.folder):
        files.write_arrays(job.store.arrays_path(job.run.id, 0), {})
    seconds = time.perf_counter() - started
    job.append({"iteration": 0, **nothing, "seconds": seconds, "note": "", **record})
    return True


def _progress_reporter(job: RunAttempt) -> Callable[[str, float, float], Callable[[int, int], None]]:
    """what, share before, share of it -> a progress function that also notices a stop."""

    def make(what: str, start: float, size: float) -> Callable[[int, int], None]:
        def told(done: int, total: int) -> None:
            if job.stopping():
                raise MeasurementStopped
            job.progress(start + size * done / max(total, 1), what)

        told(0, 1)
        return told

    return make


def _groups(config: Mapping[str, Any], tell: Any) -> dict[str, Any]:
    """A set of groups: metrics, parts by tag, and alpha where a prior is asked for."""
    own, groups = config[KIND], load_groups(config)
    if groups.truth is None:
        raise InputError(f"{config['benchmark']} has no ground truth, so no model can be evaluated on it.")
    scorer, cache = lazy_scorer(config["model"]), ScoreCache()
    scores = score_groups(scorer, groups.blind(), cache, tell("scoring", 0.0, 0.7))
    prior = None
    if own["prior"] is not None:
        check_log_prob(config["model"])
        told, how = tell("sampling the prior", 0.7, 0.3), (own["prior"], own["images"], own["seed"])
        prior = estimate_prior(scorer, groups.blind(), *how, cache=cache, progress=told).values
    parts = {tag: [i for i, g in enumerate(groups.groups) if g.tags.get(tag) == "yes"] for tag in own["tags"]}
    found = {tag: _measured(groups, scores, prior, rows) for tag, rows in parts.items() if rows}
    m, k = groups.shape
    record = {"n_groups": len(groups), "shape": f"{m}x{k}", **_measured(groups, scores, prior)}
    return {**record, "parts": found} if found else record


def _measured(
    groups: GroupSet, scores: np.ndarray, prior: np.ndarray | None, rows: list[int] | None = None
) -> dict[str, Any]:
    """`metrics`, `n_groups` and, with a prior, `alpha` (metric -> alpha_0, alpha_1, best, validated) of some groups."""
    chosen = slice(None) if rows is None else rows
    truth = groups.truth
    assert truth is not None
    ids = list(groups.ids) if rows is None else [groups.ids[i] for i in rows]
    found = Evaluation.of(scores[chosen], truth[chosen], ids)
    record = {
        "n_groups": len(ids),
        "metrics": {name: estimate.record() for name, estimate in found.metrics.items()},
    }
    if prior is None:
        return record
    return {
        **record,
        "alpha": AlphaStudy(scores[chosen], prior[chosen], truth[chosen], ids).record()["metrics"],
    }


def _retrieval(config: Mapping[str, Any], tell: Any) -> dict[str, Any]:
    """A retrieval set: recall both ways, accuracy where captions name classes, and alpha where a prior is asked for."""
    of_set, cache = (config["benchmark"], config["split"], config["model"]), ScoreCache()
    told = tell("scoring", 0.0, 0.7)
    found = retrieval_record(*of_set, cache=cache, progress=told)
    shape = f"{found['images']} images, {found['captions']} captions"
    record = {"n_groups": found["images"], "shape": shape, "metrics": found["metrics"]}
    if config[KIND]["prior"] is not None:
        table = score_table(*of_set, cache=cache, progress=told)
        record["alpha"] = _retrieval_alpha(config, *table, cache, tell)
    return record


def _retrieval_alpha(
    config: Mapping[str, Any],
    scores: np.ndarray,
    relevant: np.ndarray,
    captions: list[str],
    cache: Any,
    tell: Any,
) -> dict[str, Any]:
    """metric -> alpha_0, alpha_1, best and, where the set has a validation split, `validated` on it ([VGPT] 5)."""
    own, model, benchmark = config[KIND], config["model"], config["benchmark"]
    check_log_prob(model)
    prior = None
    if own["prior"] == "gaussian":
        nulls = null_sample(model, benchmark, own["images"], own["seed"])
        told = tell("sampling the prior", 0.7, 0.1)
        prior = prior_from_samples(score_matrix(lazy_scorer(model), nulls, captions, cache, told))
    found = alpha_record(scores, relevant, own["seed"], prior)
    entry = datasets.benchmark_entry(benchmark)
    if prior is None and entry is not None and "validation" in entry.splits:
        told = tell("scoring the validation split", 0.8, 0.2)
        other = score_table(benchmark, "validation", model, cache=cache, progress=told)
        found["validated"] = transferred_alpha_record(other[:2], scores, relevant, own["seed"])
    names = found["alpha_0"]["metrics"]
    return {
        name: {at: {**part["metrics"][name], "alpha": part["alpha"]} for at, part in found.items()}
        for name in names
    }
