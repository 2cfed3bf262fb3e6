"""Scoring a benchmark as a run: in shards of groups, each a file that is whole or absent, then measured at once.

On one machine the shards follow one another, on a cluster they are tasks, and whatever shard is there already is not
scored again. Truth is read once all scores are there, to measure.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self
from zipfile import BadZipFile

import numpy as np
from pydantic import Field

from core import datasets
from core.base import files
from core.base.settings import Count, Seed, Settings
from core.datasets.shapes import first_groups
from core.metrics.evaluation import Evaluation
from core.metrics.statistics import Clusters
from core.runs.description import Iteration, Progress, Remains, RunDescription, Stop
from core.scoring.cache import ScoreCache
from core.scoring.load import load_scorer
from core.scoring.pairs import Pairs
from core.scoring.scores import score_all, score_groups
from core.ttm.defaults import absolute_name

if TYPE_CHECKING:
    from core.groups import GroupSet
    from core.scorers.base import Scorer

SHARD = 20_000  # groups


class EvaluationStopped(Exception):
    """Raised from a scorer's progress to end it."""


class _EvaluationSettings(Settings):
    """How a benchmark is scored; no result depends on it."""

    seed: Seed = 0  # that every kind of run has
    shard: Count = SHARD  # groups that are scored at a time


class EvaluationRun(RunDescription):
    """A scorer on a benchmark, as it is; `of` makes one from what people choose."""

    kind: ClassVar[str] = "evaluate"

    groups: int | None = None  # only so many, the first ones
    settings: _EvaluationSettings = Field(default_factory=_EvaluationSettings)

    @classmethod
    def of(cls, benchmark: str, model: str, *, shard: int = SHARD, **more: Any) -> Self:
        """The description. more : split, groups, device, as the class has them."""
        return cls(
            benchmark=benchmark,
            model=absolute_name(model),
            settings=_EvaluationSettings(shard=shard),
            **more,
        )

    def load_groups(self) -> GroupSet:
        """The groups, with their truth."""
        return first_groups(datasets.load(self.benchmark, self.split), self.groups)

    def load_scorer(self) -> Scorer:
        return load_scorer(self.model, self.device)

    def shards(self, n: int) -> list[tuple[int, int]]:
        """(first, end) of every shard of n groups. A flattened set, which is matched as a whole, is one."""
        size = n if self.benchmark.endswith("@global") else self.settings.shard
        return [(start, min(start + size, n)) for start in range(0, n, size)]

    def execute(
        self, remains: Remains | None = None, stop: Stop | None = None, progress: Progress | None = None
    ) -> Iterator[Iteration]:
        """Score and measure; shards that lie in the run's folder are read."""
        started = time.perf_counter()
        groups, scorer = self.load_groups(), None
        blind = groups.blind()
        m, k = blind.shape  # raises for a set of several shapes, before anything is scored
        shards, parts = self.shards(len(blind)), []
        for i, (first, end) in enumerate(shards):
            what = "scoring" if len(shards) == 1 else f"scoring shard {i + 1} of {len(shards)}"

            def report(share: float, i: int = i, what: str = what) -> None:
                if progress is not None:
                    progress((i + share) / len(shards), what)

            scores = (
                None if remains is None else _read_shard(shard_path(remains.folder, first, end), end - first)
            )
            if scores is None:
                scorer = scorer or self.load_scorer()
                scores = _score(scorer, blind.select(range(first, end)), stop, report)
            if scores is None:
                return
            parts.append(scores)
        together = None
        if groups.name.endswith("@global"):
            together = score_all(scorer or self.load_scorer(), blind, ScoreCache())
        scores, metrics = np.concatenate(parts), {}
        if groups.truth is not None:
            result = Evaluation.of(
                scores, groups.truth, groups.ids, global_scores=together, clusters=Clusters.of_groups(groups)
            )
            metrics = {name: estimate.record() for name, estimate in result.metrics.items()}
        record = measurement_record(metrics, len(blind), f"{m}x{k}", time.perf_counter() - started)
        yield Iteration(record, {"scores": scores})


def measurement_record(metrics: Mapping[str, Any], count: int, shape: str, seconds: float) -> dict[str, Any]:
    """The one record of a run that trains nothing, as those of other kinds have it."""
    nothing = dict.fromkeys(("threshold", "coverage", "precision", "loss"))
    own = {"seconds": seconds, "note": "", "metrics": dict(metrics)}
    return {"iteration": 0, **nothing, **own, "n_groups": count, "shape": shape}


def _score(
    scorer: Scorer, groups: GroupSet, stop: Stop | None, progress: Callable[[float], None] | None
) -> np.ndarray | None:
    """Scores (n, m, k) of these groups; None where `stop` said so before the end."""

    def report(done: int, of: int) -> None:
        if stop is not None and stop():
            raise EvaluationStopped
        if progress is not None:
            progress(done / of)

    try:
        report(0, 1)
        return score_groups(scorer, groups, ScoreCache(), report)
    except EvaluationStopped:
        return None


# ---- shards from elsewhere


def shard_path(folder: Path, first: int, end: int) -> Path:
    """Where a run's folder holds the scores of groups first ... end - 1."""
    return folder / "shards" / f"{first:08d}-{end:08d}.npz"


def score_shard(
    scorer: Scorer, groups: GroupSet, first: int, end: int, path: Path, stop: Stop | None = None
) -> bool:
    """Score groups first ... end - 1 and write them to `path`; False where `stop` said so before the end.

    The file has `scores` (r, m, k) and, for whoever keeps a cache elsewhere, `scorer` (its key), `images` (r, m)
    (their keys) and `captions` (r, k).
    """
    part = groups.select(range(first, end))
    scores = _score(scorer, part, stop, None)
    if scores is None:
        return False
    keys = {
        "scorer": np.array(scorer.key),
        "images": np.array([[image.key for image in group.images] for group in part.groups]),
        "captions": np.array([group.captions for group in part.groups]),
    }
    with files.storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_arrays(path, {"scores": scores, **keys})
    return True


def _read_shard(path: Path, rows: int) -> np.ndarray | None:
    """Scores (rows, m, k) of a shard's file; None where it is not there or cannot be read."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            scores = arrays["scores"]
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error):
        return None
    return scores if scores.ndim == 3 and len(scores) == rows else None


def _cache_shard(path: Path, cache: Path | None = None) -> None:
    """Put a shard's scores into a score cache (`core.scoring.scores`), for whatever else asks for them."""
    with np.load(path, allow_pickle=False) as arrays:
        scores, images, captions = arrays["scores"], arrays["images"].tolist(), arrays["captions"].tolist()
        scorer = str(arrays["scorer"])
    keys = ((i, c) for own, texts in zip(images, captions, strict=True) for i in own for c in texts)
    ScoreCache(cache).put(scorer, Pairs.of(keys), scores.ravel())
