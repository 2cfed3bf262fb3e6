"""alpha-debiasing of the built-in captioner: `python -m benchmarks.results.alpha [retrieval sets stability trainset]`.

Writes into assets/results: alpha_retrieval.json (Tables 3, 7 and 8 of [VGPT]), alpha.csv (every set and prior: alpha
0, 1, the best one, the validation protocol, an alpha that was chosen on the validation split, and how far a blind
model gets), alpha_stability.json (Table 6) and alpha_trainset.json (Table 5, appendix A). Scores are cached: a run
that was cut short goes on.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results.training_set import SIZES, training_pairs, training_retrieval
from core.base.files import write_bytes, write_json
from core.datasets import load
from core.debiasing.blind import blind_baseline
from core.debiasing.debias import prior_from_samples
from core.debiasing.priors import estimate_prior, null_sample
from core.debiasing.retrieval import RetrievalStudy, score_table
from core.debiasing.study import TUNED_PER_ROW, AlphaStudy
from core.metrics.statistics import Clusters
from core.pretrain._recipes import RECIPES
from core.scoring.cache import ScoreCache
from core.scoring.load import load_scorer
from core.scoring.scores import score_groups, score_matrix

RESULTS = Path(__file__).resolve().parents[2] / "assets" / "results"
MODEL, LANGUAGE = "builtin/blip-caption", "builtin/blind-lm"
UNGRAMMATICAL, PLAUSIBLE = ("scenes/word-order",), ("scenes/replace", "scenes/swap", "scenes/add")
SETS = (*UNGRAMMATICAL, *PLAUSIBLE, "scenes/relations-1x4", "scenes/left-right", "scenes/attribute-swap")
PRIORS = {"gaussian": None, "test": 30, "train": 30, "lm": None}  # kind -> images
RETRIEVAL = "scenes/retrieval"
STABILITY_SET, DRAWN = "scenes/swap", 100
COLUMNS = [
    "model",
    "benchmark",
    "shape",
    "groups",
    "prior",
    "images",
    "metric",
    "setting",
    "alpha",
    "alpha_low",
]
COLUMNS += [
    "alpha_high",
    "value",
    "low",
    "high",
    "chance",
    "ties",
    "std",
    "gain",
    "gain_low",
    "gain_high",
    "p_value",
    "cluster",
    "cluster_low",
    "cluster_high",
]


def study(name: str, split: str, kind: str, count: int | None) -> tuple[AlphaStudy, Any]:
    scorer, groups, cache = load_scorer(MODEL), load(name, split), ScoreCache()
    scores = score_groups(scorer, groups, cache)
    prior = estimate_prior(scorer, groups, kind, count, model=LANGUAGE, cache=cache)
    clusters = prior.clusters(Clusters.of_groups(groups))
    return AlphaStudy(scores, prior.values, groups.truth, groups.ids, clusters=clusters), prior


def rows_of(name: str, kind: str, count: int | None) -> list[dict[str, Any]]:
    """One row per metric and setting."""
    test, prior = study(name, "test", kind, count)
    other, _ = study(name, "validation", kind, count)
    record, found = test.record(), []
    images = "" if prior.samples is None else len(prior.samples)
    head = {"model": MODEL, "benchmark": name, "shape": record["shape"], "groups": record["n_groups"]}
    for metric, row in record["metrics"].items():
        base = {**head, "prior": kind, "images": images, "metric": metric}
        found += [{**base, "setting": f"alpha {a}", "alpha": a, **row[f"alpha_{a}"]} for a in (0, 1)]
        if not test.depends(metric):
            continue
        kept = (*COLUMNS, "clustered")
        held, best = row["validated"], {k: v for k, v in row["best"].items() if k in kept}
        found.append({**base, "setting": TUNED_PER_ROW, **best})
        both = {"value": held["value"]["mean"], "std": held["value"]["std"], "alpha": held["alpha"]["mean"]}
        found.append({**base, "setting": "half/half x 10", **both, "chance": row["alpha_0"]["chance"]})
        carried = other.transfer_alpha(test, metric)
        gain = carried.pop("gain")
        tested = gain.get("clustered") or gain
        more = {"gain": gain["difference"], "gain_low": tested["low"], "gain_high": tested["high"]}
        found.append({**base, "setting": "from validation", **carried, **more, "p_value": tested["p_value"]})
    return found


def blind_rows() -> list[dict[str, Any]]:
    """How far the blind language model gets by itself."""
    found = []
    for name in SETS:
        groups = load(name, "test")
        scores = score_groups(load_scorer(LANGUAGE), groups, ScoreCache())
        check = blind_baseline(scores, groups.truth, Clusters.of_blind(groups))
        shape = "x".join(map(str, groups.shape))
        head = {"model": LANGUAGE, "benchmark": name, "shape": shape, "groups": len(groups), "prior": ""}
        found += [
            {**head, "metric": metric, "setting": f"blind: {check.verdict}", **e.record()}
            for metric, e in check.metrics.items()
        ]
    return found


def measure_sets() -> None:
    rows = []
    for name in SETS:
        for kind, count in PRIORS.items():
            rows += rows_of(name, kind, count)
            print(f"{name} {kind} done", flush=True)
    write_rows([*rows, *blind_rows()])


def write_rows(rows: list[dict[str, Any]]) -> None:
    """alpha.csv. The interval by cluster, where groups hang together, has columns of its own."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        flat = {name: value for name, value in row.items() if name != "clustered"}
        if (by := row.get("clustered")) is not None:
            flat |= {"cluster": by["by"], "cluster_low": by["low"], "cluster_high": by["high"]}
        writer.writerow({k: round(v, 4) if isinstance(v, float) else v for k, v in flat.items()})
    write_bytes(RESULTS / "alpha.csv", text.getvalue().encode())  # whole, or as it was


def measure_stability() -> None:
    """Table 6: the same set with priors of 1 to 30 images out of a hundred, five draws each."""
    found = {}
    for kind in ("gaussian", "train"):
        test, prior = study(STABILITY_SET, "test", kind, DRAWN)
        rows = test.stability(prior.samples, prior.caption_index, (1, 3, 10, 30))
        found[kind] = [row._asdict() for row in rows]
        print(f"stability {kind} done", flush=True)
    head = {
        "model": MODEL,
        "benchmark": STABILITY_SET,
        "metric": "text_score",
        "drawn_from": DRAWN,
        "draws": 5,
    }
    write_json(RESULTS / "alpha_stability.json", {**head, "rows": found})


def measure_trainset() -> None:
    """Table 5: retrieval inside the training set."""
    pairs = training_pairs(RECIPES["blip-caption"].data, max(SIZES))
    records = training_retrieval(load_scorer(MODEL), pairs, SIZES, ScoreCache())
    for record in records:
        print(json.dumps({k: v for k, v in record.items() if k != "curve"}), flush=True)
    write_json(
        RESULTS / "alpha_trainset.json", {"model": MODEL, "prior": "the set's own images", "rows": records}
    )


def measure_retrieval() -> None:
    """Tables 3, 7 and 8: R@1 and R@5 both ways among all queries and images, alpha from the validation split."""
    scores, relevant, captions = score_table(RETRIEVAL, "test", MODEL)
    validation = RetrievalStudy(*score_table(RETRIEVAL, "validation", MODEL)[:2])
    study = RetrievalStudy(scores, relevant)
    nulls = score_matrix(load_scorer(MODEL), null_sample(MODEL, RETRIEVAL), captions, ScoreCache())
    record = {
        **study.record(),
        "from_validation": validation.transfer_alpha(study),
        "gaussian": RetrievalStudy(scores, relevant, prior_from_samples(nulls)).record(),
    }
    grid = np.linspace(0, 1, 101)
    shown = {"alpha": grid.tolist(), "value": study.curve.value(grid).round(4).tolist()}
    head = {"model": MODEL, "benchmark": RETRIEVAL, "images": len(scores), "captions": scores.shape[1]}
    write_json(RESULTS / "alpha_retrieval.json", {**head, **record, "curve": shown})


PARTS = {
    "retrieval": measure_retrieval,
    "sets": measure_sets,
    "stability": measure_stability,
    "trainset": measure_trainset,
}


def main() -> None:
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main()
