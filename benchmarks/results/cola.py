"""Cola's strategies on the built-in world: the whole table, and the learning rates it uses.

    python -m benchmarks.results.cola              all strategies, three seeds -> assets/results/cola.csv, and with
                                           intervals cola_claims.csv (the paper's claim) and cola_cost.csv
    python -m benchmarks.results.cola --tune       learning rates on validation queries -> assets/results/cola_lr.csv
    python -m benchmarks.results.cola --only mm-adapter --seed 1    one run into the cache, for a queue of short jobs

Results are kept per run (core/cola/table.py): what is there is not made again. Learning rates are chosen on the
validation split alone, with a seed that no row of the table has.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from core.base.paths import assets
from core.cola import table
from core.cola.forgetting import cost_table, unadapted_sets
from core.cola.rates import _RateTrial, find_rate
from core.cola.run import StrategyRun, _evaluation
from core.metrics.retrieval import COLA_MAP
from core.metrics.statistics import Estimate
from core.scenes.retrieval import load_retrieval
from core.scorers.cola_config import STRATEGIES
from core.scoring.retrieval import first_images

RESULTS = assets() / "results"
# The paper's claim: a multimodal adapter on frozen features beats tuning the encoders.
COMPARED = ("mm-adapter", ("linear", "prompt-tune", "ft-all", "ft-late", "mm-pred", table.BASE))
MIX = "multi"  # what every strategy trains on


def tune(
    strategies: list[str], options: dict[str, Any], say: Any, model: str = "builtin/clip"
) -> pd.DataFrame:
    """Cola mAP on validation queries for every learning rate of each strategy's bracket, appended to what is known."""
    path = RESULTS / "cola_lr.csv"
    known = (
        pd.read_csv(path)
        if path.is_file()
        else pd.DataFrame(columns=["strategy", "base_key", "steps", "mix"])
    )
    key = table._base_key(model)[:12]
    for strategy in strategies:
        job = StrategyRun.of(model=model, options={"mix": MIX, **options, "strategy": strategy})
        facts = {
            "strategy": strategy,
            "base_key": key,
            "steps": job.settings.steps * job.settings.epochs,
            "mix": job.settings.mix,
        }

        def keep(trial: _RateTrial, facts: dict[str, Any] = facts) -> None:
            nonlocal known
            if not _of(known, facts)["lr"].eq(trial.lr).any():
                known = pd.concat([known, pd.DataFrame([facts | _trial_row(trial)])], ignore_index=True)
                known.to_csv(path, index=False)
                say(f"{facts['strategy']} lr {trial.lr:g}: {trial.value:.1f}")

        earlier = (
            {row["lr"]: _read_trial(row) for _, row in _of(known, facts).iterrows()} if len(known) else {}
        )
        find_rate(job, keep, earlier)
    return known


def _of(known: pd.DataFrame, facts: Mapping[str, Any]) -> pd.DataFrame:
    """The rows of one strategy, base, number of steps and mix; tables before mixes were written have `multi` alone."""
    known = known.assign(**{n: known.get(n) for n in ("lr", "mix")})
    known["mix"] = known["mix"].fillna("multi")
    return known[(known[list(facts)] == pd.Series(facts)).all(axis=1)]


def _trial_row(trial: _RateTrial) -> dict[str, Any]:
    row: dict[str, Any] = {"lr": trial.lr}
    for part in ("all", "seen", "unseen"):
        of_part = trial.metrics.get(part, {"value": trial.value})
        row |= {f"{part}{'' if n == 'value' else '_' + n}": of_part.get(n) for n in ("value", "low", "high")}
    return row | {"loss": None if trial.loss is None else round(trial.loss, 4)}


def _read_trial(row: pd.Series) -> _RateTrial:
    metrics = {
        part: {n: float(row[f"{part}{'' if n == 'value' else '_' + n}"]) for n in ("value", "low", "high")}
        for part in ("all", "seen", "unseen")
    }
    return _RateTrial(float(row["lr"]), float(row["all"]), metrics, float(row["loss"]))


def best_rates() -> dict[str, float]:
    """The rate with the best validation mAP of each strategy, for this base; the settled one where none was tried."""
    path, key = RESULTS / "cola_lr.csv", table._base_key("builtin/clip")[:12]
    found = {name: strategy.lr for name, strategy in STRATEGIES.items()}
    if path.is_file():
        known = pd.read_csv(path)
        known = known[known["base_key"] == key]
        for name, rows in known.groupby("strategy"):
            found[str(name)] = float(rows.sort_values("all")["lr"].iloc[-1])
    return found


def wanted(
    strategies: list[str], seeds: Sequence[int], options: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """The descriptions of these runs, each with its strategy's rate."""
    rates = best_rates()
    return [
        job
        for name in strategies
        for job in table.jobs(
            strategies=[name], seeds=seeds, options={"mix": MIX, **(options or {}), "lr": rates[name]}
        )
    ]


def write(say: Any, options: Mapping[str, Any] | None = None) -> None:
    """The table, its short form, and the paper's claims with intervals."""
    asked = wanted(list(STRATEGIES), table.SEEDS, options)
    rows = table.run_jobs(asked, say=say)
    rows.to_csv(RESULTS / "cola.csv", index=False)
    found = paired_differences(asked)
    found.round(3).to_csv(RESULTS / "cola_claims.csv", index=False)
    print(table.summary(rows).to_string(index=False))
    print(found.round(2).to_string(index=False))


def paired_differences(asked: Sequence[StrategyRun], cache: Path | None = None) -> pd.DataFrame:
    """The adapter minus every other strategy: mean difference over seeds, with its paired 95 % bootstrap interval.

    asked : descriptions of runs on the built-in world, of the adapter and whatever it is compared with. Outcomes of a
    query (average precision) or group (0 or 1) are averaged over seeds, then queries are resampled. "lead on unseen"
    is the unseen difference minus the seen one; against FT all the paper's Table 1 has 0.0 on GQA, 41.5 on CLEVR,
    2.0 on PACO.
    """
    first, others = COMPARED
    by_name: dict[str, list[StrategyRun]] = {}
    for job in asked:
        by_name.setdefault(job.settings.strategy, []).append(job)
    outcomes = {name: _outcomes(some, cache) for name, some in by_name.items()}
    outcomes[table.BASE] = _outcomes(by_name[first][:1], cache, "before")
    rows = []
    for other in (name for name in others if name in outcomes):
        differences = {m: 100 * (mine - outcomes[other][m]) for m, mine in outcomes[first].items()}
        for measure, values in differences.items():
            kept = values[np.isfinite(values)]
            rows.append({"versus": other, "measure": measure, "queries": len(kept), **_interval(kept)})
        lead = _gap(differences["cola_map unseen"], differences["cola_map seen"])
        rows.append({"versus": other, "measure": "lead on unseen", "queries": None, **lead})
    return pd.DataFrame(rows)


def _outcomes(asked: Sequence[StrategyRun], cache: Path | None, when: str = "after") -> dict[str, np.ndarray]:
    """Per-query and per-group outcomes, averaged over runs: measure -> (q,), NaN where not measured."""
    found: dict[str, list[np.ndarray]] = {}
    for job in asked:
        with np.load(table._cached_result(job, cache)["arrays"][when], allow_pickle=False) as arrays:
            kept = {name: arrays[name] for name in arrays.files}
        images = kept["retrieval_scores"].shape[1]
        test = first_images(load_retrieval("test"), images)
        measured = _evaluation(test, kept["retrieval_scores"])
        for name, mask in measured.parts().items():
            if name in ("all", "seen", "unseen"):
                values = measured.values(COLA_MAP)
                found.setdefault(f"{COLA_MAP} {name}", []).append(values[mask])
        for name in ("multi_object", "crepe"):
            found.setdefault(name, []).append(kept[name])
    return {name: np.mean(values, axis=0) for name, values in found.items()}


def _interval(values: np.ndarray) -> dict[str, float]:
    low, high = Estimate.bootstrap(values)
    return {"difference": float(values.mean()), "low": low, "high": high}


def _gap(unseen: np.ndarray, seen: np.ndarray, resamples: int = 10_000) -> dict[str, float]:
    """Mean of `unseen` minus mean of `seen` with the percentile bootstrap of two independent sets of queries."""
    rng = np.random.default_rng(0)
    means = []
    for values in (unseen, seen):
        kept = values[np.isfinite(values)]
        means.append((kept.mean(), kept[rng.integers(len(kept), size=(resamples, len(kept)))].mean(axis=1)))
    low, high = np.quantile(means[0][1] - means[1][1], [0.025, 0.975])
    return {"difference": float(means[0][0] - means[1][0]), "low": float(low), "high": float(high)}


def costs(say: Any, options: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """What each strategy (first seed) costs on the built-in group sets, none of which it was trained on."""
    parts = []
    for job in wanted(list(STRATEGIES), table.SEEDS[:1], options):
        name = job.settings.strategy
        say(f"cost of {name}")
        sets = [s for s in unadapted_sets(job.benchmark) if s.startswith("scenes/")]
        parts.append(cost_table(table._cached_result(job)["model"], sets=sets).assign(strategy=name))
    found = pd.concat(parts, ignore_index=True)
    found.round(3).to_csv(RESULTS / "cola_cost.csv", index=False)
    return found


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tune", action="store_true", help="find learning rates on validation queries")
    parser.add_argument(
        "--only", choices=STRATEGIES, action="append", help="only this strategy, into the cache"
    )
    parser.add_argument("--seed", type=int, help="only this seed, into the cache")
    for name in ("epochs", "steps", "batch"):
        parser.add_argument(f"--{name}", type=int)
    given = parser.parse_args(arguments)
    say = lambda text: print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)  # noqa: E731
    options = {name: getattr(given, name) for name in ("epochs", "steps", "batch")}
    RESULTS.mkdir(parents=True, exist_ok=True)
    names = given.only or list(STRATEGIES)
    if given.tune:
        print(tune(names, options, say).to_string(index=False))
    elif given.only or given.seed is not None:
        for job in wanted(names, table.SEEDS if given.seed is None else (given.seed,), options):
            started = time.perf_counter()
            after = table._cached_result(job)["after"]["retrieval"]["cola_map"]["all"]["value"]
            say(
                f"{job.settings.strategy} seed {job.seed}: {after:.1f}, {time.perf_counter() - started:.0f} s"
            )
    else:
        write(say, options)
        costs(say, options)


if __name__ == "__main__":
    main(sys.argv[1:])
