"""The first pictures of every test query before and after a strategy's training: what the Retrieval page shows.

    python -m benchmarks.results.cola_rankings [STRATEGY ...]   -> assets/results/cola_rankings.json and the weights
                                                                   behind it, assets/models/cola/STRATEGY

Seed 0 of the protocol with the epochs that decide the claims (`benchmarks.results.cola --longer`); a run that the
store has is not trained again, and strategies that are not named keep what the file has. Of a tie the wrong pictures
stand first, as on the page. With the weights, `builtin/cola/STRATEGY`, the page scores queries in a visitor's own
words; in half precision 4 of 240 queries had other first pictures after FT all, so they are stored as the run has them.
"""

from __future__ import annotations

import argparse
import json
import shutil
from typing import Any

import numpy as np

from benchmarks.results.cola import _LONGER, RESULTS, _finished, _job, _lines
from core.base import paths
from core.cola.tasks import BUILTIN, IMAGES
from core.datasets import load_retrieval
from core.figures.shared_words import ranked_images
from core.metrics.retrieval import RetrievalEvaluation
from core.runs.engine import PlannedRun, ThisMachine, run_all
from core.runs.models import adapted_model
from core.runs.store import RunStore
from core.scorers.cola_config import PROTOCOL_BASE, STRATEGIES
from core.scoring.retrieval import RetrievalSubset, first_images

OUT = RESULTS / "cola_rankings.json"
MODELS = paths.assets() / "models" / "cola"
SHOWN = 8  # pictures of a query, as many as the page's other view shows first
SEED = 0


def first_pictures(pictures: RetrievalSubset, scores: np.ndarray) -> list[list[int]]:
    """The numbers of the highest pictures of each query, (q, SHOWN) of scores (q, n)."""
    return [
        [each.image for each in ranked_images(pictures, query, row, "everything", SHOWN)]
        for query, row in enumerate(scores)
    ]


def precisions(pictures: RetrievalSubset, scores: np.ndarray) -> list[float | None]:
    """Average precision of each query in percent, as Cola mAP has it; None of a query that has none."""
    ranking = RetrievalEvaluation.of(pictures, scores).ranking("any_word")
    assert ranking is not None  # the built-in set has such lists
    return [None if np.isnan(value) else round(100 * float(value), 1) for value in ranking.precision]


def ship_weights(store: RunStore, run_id: str, strategy: str) -> None:
    """Copy a finished run's model, its checksums verified, to where `builtin/cola/STRATEGY` is found."""
    source, target = adapted_model(store, run_id), MODELS / strategy
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, copy_function=shutil.copyfile)  # not the run's private mode


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("strategies", metavar="STRATEGY", nargs="*", default=[*STRATEGIES])
    names = parser.parse_args().strategies
    for name in names:
        if name not in STRATEGIES:
            parser.error(f"unknown strategy {name}; there are {', '.join(STRATEGIES)}")
    store, options = RunStore(), _LONGER[-1]
    jobs = {
        job.settings.strategy: job.with_seed(SEED) for job in (_job(line, **options) for line in _lines())
    }
    begun = {
        name: next((r for r in store.list("adapt") if r.config == jobs[name].written()), None)
        for name in names
    }
    planned = [PlannedRun(jobs[name].title, jobs[name], begun[name]) for name in names]
    run_all(store, planned, ThisMachine(), lambda text: print(text, flush=True))
    record: dict[str, Any] = json.loads(OUT.read_text()) if OUT.is_file() else {"first": {}, "precision": {}}
    record |= {"model": PROTOCOL_BASE, "epochs": options["epochs"], "seed": SEED, "images": IMAGES}
    pictures = first_images(load_retrieval(BUILTIN), IMAGES)
    for name in names:
        run = next(run for run in _finished(store, jobs[name]) if run.config["adapt"]["seed"] == SEED)
        for which, iteration in (("before", 0), (name, run.done)):
            scores = store.arrays(run.id, iteration)["retrieval_scores"]
            record["first"][which] = first_pictures(pictures, scores)
            record["precision"][which] = precisions(pictures, scores)
        ship_weights(store, run.id, name)
    OUT.write_text(json.dumps(record, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
