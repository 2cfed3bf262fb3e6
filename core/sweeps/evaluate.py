"""Scoring a benchmark as a run: in shards of groups, each a file that is whole or absent, then measured at once.

On one machine the shards follow one another, on a cluster they are tasks; the loop is the same, and whatever shard is
there already is not scored again. Truth is read once all scores are there, to measure.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.base import files
from core.base.errors import InputError
from core.metrics.evaluation import Evaluation
from core.scoring.load import load_scorer
from core.scoring.scores import ScoreCache, score_all, score_groups
from core.ttm.defaults import absolute_name, check_device
from core.ttm.run import load_groups

if TYPE_CHECKING:  # a queued worker waits without numpy
    import numpy as np

    from core.groups import GroupSet
    from core.runs.attempt import RunAttempt
    from core.scorers.base import Scorer

KIND = "evaluate"
SHARD = 20_000  # groups


class EvaluationStopped(Exception):
    """Raised from a scorer's progress to end it."""


def evaluate_job(
    benchmark: str,
    model: str,
    *,
    split: str = "test",
    groups: int | None = None,
    device: str = "auto",
    shard: int = SHARD,
) -> dict[str, Any]:
    """The description of an evaluation: `groups` takes only so many, `shard` is how many are scored at a time."""
    if shard < 1:
        raise InputError(f"A shard of {shard} groups cannot be scored; ask for 1 or more.")

    source = {"benchmark": benchmark, "split": split, "model": absolute_name(model), "groups": groups}
    source |= {"device": check_device(device)}
    return {**source, KIND: {"seed": 0, "shard": shard}}


def load_blind(config: Mapping[str, Any]) -> GroupSet:
    """The groups a description names, without their truth."""
    return load_groups(config).blind()


def shards(config: Mapping[str, Any], n: int) -> list[tuple[int, int]]:
    """(first, end) of every shard of n groups. A flattened set, which is matched as a whole, is one."""
    size = n if config["benchmark"].endswith("@global") else config[KIND]["shard"]
    return [(start, min(start + size, n)) for start in range(0, n, size)]


def shard_path(folder: Path, first: int, end: int) -> Path:
    """Where a run's folder holds the scores of groups first ... end - 1."""
    return folder / "shards" / f"{first:08d}-{end:08d}.npz"


def score_shard(
    scorer: Scorer,
    groups: GroupSet,
    first: int,
    end: int,
    path: Path,
    stop: Callable[[], bool] | None = None,
    progress: Callable[[float], None] | None = None,
) -> bool:
    """Score groups first ... end - 1 and write them to `path`; False where `stop` said so before the end.

    The file has `scores` (r, m, k) and, for whoever keeps a cache elsewhere, `scorer` (its key), `images` (r, m)
    (their keys) and `captions` (r, k).
    """
    import numpy as np

    def told(done: int, of: int) -> None:
        if stop is not None and stop():
            raise EvaluationStopped
        if progress is not None:
            progress(done / of)

    part = groups.select(range(first, end))
    try:
        told(0, 1)
        found = score_groups(scorer, part, ScoreCache(), told)
    except EvaluationStopped:
        return False
    keys = {
        "scorer": np.array(scorer.key),
        "images": np.array([[image.key for image in group.images] for group in part.groups]),
        "captions": np.array([group.captions for group in part.groups]),
    }
    with files.storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_arrays(path, {"scores": found, **keys})
    return True


def read_shard(path: Path, rows: int) -> np.ndarray | None:
    """Scores (rows, m, k) of a shard's file; None where it is not there or cannot be read."""
    import zlib
    from zipfile import BadZipFile

    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as found:
            scores = found["scores"]
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error):
        return None
    return scores if scores.ndim == 3 and len(scores) == rows else None


def cache_shard(path: Path, cache: Path | None = None) -> None:
    """Put a shard's scores into a score cache (`core.scoring.scores`), for whatever else asks for them."""
    import numpy as np

    with np.load(path, allow_pickle=False) as found:
        scores, images, captions = found["scores"], found["images"].tolist(), found["captions"].tolist()
        scorer = str(found["scorer"])
    keys = [(i, c) for own, texts in zip(images, captions, strict=True) for i in own for c in texts]
    ScoreCache(cache).put(scorer, keys, scores.ravel())


def run_evaluate(job: RunAttempt) -> bool:
    """What `core.worker` calls for a run of this kind; True when every group is scored and measured.

    The one record is iteration 0's: nothing is trained.
    """
    import numpy as np

    started = time.perf_counter()
    groups, scorer = load_groups(job.run.config), None
    blind = groups.blind()
    blind.shape  # noqa: B018  raises for a set of several shapes, before anything is scored
    todo, found = shards(job.run.config, len(blind)), []
    for i, (first, end) in enumerate(todo):
        path = shard_path(job.folder, first, end)
        scores = read_shard(path, end - first)
        if scores is None:
            scorer = scorer or load_model(job.run.config)
            told = _teller(job, i, len(todo))
            if not score_shard(scorer, blind, first, end, path, job.stopping, told):
                return False
            scores = read_shard(path, end - first)
            assert scores is not None
        found.append(scores)
    wide = None
    if groups.name.endswith("@global"):
        wide = score_all(scorer or load_model(job.run.config), blind, ScoreCache())
    _conclude(job, groups, np.concatenate(found), wide, time.perf_counter() - started)
    return True


def load_model(config: Mapping[str, Any]) -> Scorer:
    """The scorer a description names."""
    return load_scorer(config["model"], config.get("device") or "auto")


def _teller(job: RunAttempt, i: int, count: int) -> Callable[[float], None]:
    what = "scoring" if count == 1 else f"scoring shard {i + 1} of {count}"
    return lambda share: job.progress((i + share) / count, what)


def _conclude(
    job: RunAttempt, groups: GroupSet, scores: np.ndarray, wide: np.ndarray | None, seconds: float
) -> None:
    """Write scores and record, and drop the shards."""
    n, m, k = scores.shape
    metrics: dict[str, Any] = {}
    if groups.truth is not None:
        found = Evaluation.of(scores, groups.truth, groups.ids, global_scores=wide)
        metrics = {name: estimate.record() for name, estimate in found.metrics.items()}
    record = {
        "iteration": 0,
        **dict.fromkeys(("threshold", "coverage", "precision", "loss")),
        "seconds": seconds,
        "note": "",
        "metrics": metrics,
        "n_groups": n,
        "shape": f"{m}x{k}",
    }
    with files.storage_errors(job.folder):
        files.write_arrays(job.store.arrays_path(job.run.id, 0), {"scores": scores})
    job.append(record)
    files.remove(job.folder / "shards")
