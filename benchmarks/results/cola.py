"""Cola's strategies on the built-in world: the whole table, and the learning rates it uses.

    python -m benchmarks.results.cola              all strategies, three seeds -> assets/results/cola.csv, and with
                                           intervals cola_claims.csv (the paper's claim) and cola_cost.csv
    python -m benchmarks.results.cola --tune       learning rates on validation queries -> assets/results/cola_lr.csv
    python -m benchmarks.results.cola --only mm-adapter --seed 1    one run into the cache, for a queue of short jobs
    python -m benchmarks.results.cola --protocol   the true protocol (core/cola/_verdict.py): learning rates on the base
                                           that knows the words, then the rows of `crossmatch reproduce cola/1` on the
                                           built-in world; after each run it writes what there is so far
    python -m benchmarks.results.cola --verdict    only writes what the store has: assets/results/cola_protocol.csv,
                                           cola_verdict.json and benchmarks/COLA.md

All of it resumes. Results are kept per run (core/cola/table.py): what is there is not made again. Learning rates are
chosen on the validation split alone, with a seed that no row of the table has.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from core import papers
from core.base.paths import assets
from core.cola import table
from core.cola._verdict import WORDS, MeasuredRun, query_outcomes, verdicts
from core.cola.forgetting import cost_table, unadapted_sets
from core.cola.rates import _RateTrial, find_rate
from core.cola.run import StrategyRun, _evaluation
from core.metrics.retrieval import COLA_MAP, QUERY_ALL_MAP
from core.metrics.statistics import Estimate
from core.runs.store import RunStore
from core.scenes.retrieval import load_retrieval
from core.scorers.cola_config import GROUP_RESULTS, PROTOCOL, PROTOCOL_BASE, STRATEGIES
from core.scoring.retrieval import first_images

RESULTS = assets() / "results"
PAGE = Path(__file__).parents[1] / "COLA.md"
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
        else pd.DataFrame(columns=["strategy", "model", "base_key", "steps", "mix"])
    )
    key = table._base_key(model)[:12]
    for strategy in strategies:
        job = StrategyRun.of(model=model, options={"mix": MIX, **options, "strategy": strategy})
        facts = {
            "strategy": strategy,
            "model": model,
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
    """The rows of one strategy, base, number of steps and mix; the first ones named neither base nor mix."""
    known = known.assign(**{n: known.get(n) for n in ("lr", "model", "mix")})
    known = known.fillna({"model": "builtin/clip", "mix": "multi"})
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
        known = _of(known, {"base_key": key, "mix": MIX})
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


# ---- the true protocol

VERDICT, PROTOCOL_TABLE = RESULTS / "cola_verdict.json", RESULTS / "cola_protocol.csv"
_TUNING = {"epochs": 4}  # of a learning rate; the rest is the protocol's
ROW = "built-in world"  # begins the labels of its lines


def protocol(say: Any) -> None:
    """Choose learning rates, run every line of the table that has no paper's number, and write after each run."""
    tune(list(STRATEGIES), {**PROTOCOL, **_TUNING, "patience": None}, say, PROTOCOL_BASE)
    store = RunStore()

    def report(text: str) -> None:
        say(text)
        write_verdict(store)

    papers.run_table(store, "cola/1", report=report, row=ROW)
    write_verdict(store)


def write_verdict(store: RunStore) -> dict[str, Any]:
    """The protocol's table and verdict from the finished runs of a store; what is not measured is said to be open."""
    found, rows = [], []
    lines = [line for line in papers.lines("cola/1") if line.label.startswith(ROW) and line.seeds != 1]
    for line in lines:
        for run in [r for r in store.list("adapt") if line.job is not None and line.job.same(r.config)]:
            records = store.steps(run.id)
            if run.status != "finished" or not line.job.is_over(records):
                continue
            arrays = [store.arrays(run.id, record["iteration"]) for record in (records[0], records[-1])]
            found.append(
                MeasuredRun(run.config["adapt"]["strategy"], run.config["adapt"]["seed"], records, *arrays)
            )
            ends = {"before": records[0]["test"], "after": records[-1]["test"]}
            facts = {"lr": records[-1]["lr"], "parameters": records[-1]["parameters"]}
            of_run = table._rows_of({"job": run.config, **facts, **ends})
            rows += [*of_run, *by_words(of_run, found[-1])]
    wanted = sum(line.seeds or 0 for line in lines)
    claims = verdicts(found, int(PROTOCOL["epochs"]), max((line.seeds or 0 for line in lines), default=0))
    record = {
        "base": PROTOCOL_BASE,
        "protocol": PROTOCOL,
        "runs": len(found),
        "wanted": wanted,
        "claims": claims,
    }
    VERDICT.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    measured = pd.DataFrame(rows)
    if len(measured):
        measured = measured.drop_duplicates(["strategy", "seed", "metric", "part"], ignore_index=True)
        measured.to_csv(PROTOCOL_TABLE, index=False)
    PAGE.write_text(verdict_page(record, measured), encoding="utf-8")
    return record


def by_words(rows: Sequence[Mapping[str, Any]], run: MeasuredRun) -> list[dict[str, Any]]:
    """Rows of a run's Cola mAP, and of its base's, over the queries that name colours alone, sizes, materials."""
    found = []
    for strategy, arrays in ((table.BASE, run.before), (run.strategy, run.after)):
        first = next(row for row in rows if row["strategy"] == strategy and row["metric"] == COLA_MAP)
        facts = {n: first[n] for n in table._FACTS} | {"metric": COLA_MAP}
        values = query_outcomes(arrays)
        found += [{**facts, "part": p, "value": float(np.nanmean(values[f"{COLA_MAP} {p}"]))} for p in WORDS]
    return found


def verdict_page(record: Mapping[str, Any], measured: pd.DataFrame) -> str:
    """benchmarks/COLA.md: how much is measured, a line per claim, and the table of strategies."""
    settings = ", ".join(f"{name} {value}" for name, value in record["protocol"].items())
    parts = [
        "# Cola's claims on the built-in world",
        "Written by `python -m benchmarks.results.cola --verdict` from the records of the runs; not by hand.",
        f"**{record['runs']} of {record['wanted']} runs are measured.** Base {record['base']}; every strategy: "
        f"{settings}; learning "
        "rates from brackets on validation queries. Differences in points, with paired 95 % intervals over "
        "queries or groups; a claim is decided where three seeds and the interval agree.",
        "| claim | where | measure | difference | verdict | what decided it |\n| --- | --- | --- | --- | --- | --- |\n"
        + "\n".join(map(_claim_row, record["claims"])),
    ]
    if len(measured):
        parts.append(strategies_table(measured))
    return "\n\n".join(parts) + "\n"


def strategies_table(measured: pd.DataFrame) -> str:
    """Mean and deviation over seeds of every strategy: Cola mAP by part and by words of the queries, and the rest."""
    columns = [(COLA_MAP, part) for part in ("all", "seen", "unseen", *WORDS)]
    columns += [(QUERY_ALL_MAP, "all"), *((name, "all") for name in GROUP_RESULTS)]
    heads = [f"{metric.replace('_', ' ')}, {part}".removesuffix(", all") for metric, part in columns]
    lines = [["strategy", "seeds", "weights", *heads], ["---"] * (3 + len(heads))]
    for name in (table.BASE, *STRATEGIES):
        mine = measured[measured["strategy"] == name]
        if len(mine):
            cells = [mine[(mine["metric"] == m) & (mine["part"] == p)]["value"] for m, p in columns]
            facts = [name, str(mine["seed"].nunique()), f"{int(mine['trained'].max()):,}"]
            lines.append([*facts, *map(_mean, cells)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _mean(values: pd.Series) -> str:
    spread = f" ± {values.std(ddof=1):.1f}" if len(values) > 1 else ""
    return f"{values.mean():.1f}{spread}" if len(values) else "–"


def _claim_row(claim: Mapping[str, Any]) -> str:
    number = "–"
    if "difference" in claim:
        number = f"{claim['difference']:+.1f} [{claim['low']:+.1f}, {claim['high']:+.1f}]"
    measure = claim["measure"].replace("_", " ")
    cells = (claim["says"], claim["source"], measure, number, claim["verdict"], claim["decided_by"])
    return f"| {' | '.join(cells)} |"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tune", action="store_true", help="find learning rates on validation queries")
    parser.add_argument(
        "--only", choices=STRATEGIES, action="append", help="only this strategy, into the cache"
    )
    parser.add_argument("--seed", type=int, help="only this seed, into the cache")
    parser.add_argument(
        "--protocol", action="store_true", help="the true protocol, as far as it is not run yet"
    )
    parser.add_argument(
        "--verdict", action="store_true", help="write what the runs of the protocol say so far"
    )
    for name in ("epochs", "steps", "batch"):
        parser.add_argument(f"--{name}", type=int)
    given = parser.parse_args(arguments)
    say = lambda text: print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)  # noqa: E731
    options = {name: getattr(given, name) for name in ("epochs", "steps", "batch")}
    RESULTS.mkdir(parents=True, exist_ok=True)
    names = given.only or list(STRATEGIES)
    if given.protocol:
        protocol(say)
    elif given.verdict:
        write_verdict(RunStore())
    elif given.tune:
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
