"""`crossmatch ttm` and `crossmatch simplematch`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from math import isnan
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from core.base.limits import _bound_own_memory
from core.base.text import _pct, counted
from core.cli import options
from core.cli._adaptation import _warn_of_copies, described, start_in_background
from core.cli._foreground import _Foreground
from core.cli._given_options import refuse_unused, takes
from core.cli._output import (
    format_differences,
    format_metrics,
    format_spread,
    format_step,
    make_folder,
    print_note,
    show_json,
)
from core.exchange.seeds import SeedResult, _below_lines
from core.matching.groups import match
from core.metrics.evaluation import Evaluation
from core.metrics.paired import _WHY_MAIN
from core.runs.description import Iteration
from core.runs.store import RunStore
from core.scoring.cache import ScoreCache
from core.scoring.load import load_scorer
from core.scoring.scores import score_groups
from core.ttm.config import _unreached, thresholds
from core.ttm.forecast import Forecast
from core.ttm.records import _one_seed_told, changes, divergence
from core.ttm.run import AdaptationRun, SimpleMatchRun, TTMRun
from core.ttm.seeds import _is_seedless, final_values, seeded, summary
from core.ttm.time_left import _span, expected_seconds


@dataclass(frozen=True)
class _Subject:
    """What is adapted, and to what."""

    head: ClassVar = "What is adapted"
    name: options._SetOrEmbeddings = None
    benchmark: options.Benchmark = None
    embeddings: options.Embeddings = None
    shape: options.Shape = None
    scale: options.Scale = 100.0
    model: options.AdaptedModel = None
    split: options.Split = "test"
    tag: options.Tag = None
    groups: options.Groups = None
    preset: options.Preset = None


@dataclass(frozen=True)
class _Thresholds:
    """Which pseudo-labels an iteration of test-time matching trains on."""

    head: ClassVar = "Test-time matching"
    variant: options.Variant = None
    threshold_mode: options.Mode = None
    iterations: options.Iterations = None
    schedule: options.Schedule = None
    tau_first: options.TauFirst = None
    coverage_first: options.CoverageFirst = None
    tau_last: options.TauLast = None
    coverage_last: options.CoverageLast = None
    keep_optimizer: options.KeepOptimizer = None


@dataclass(frozen=True)
class _Rounds:
    """How long SimpleMatch fits."""

    head: ClassVar = "SimpleMatch"
    rounds: options.Rounds = None
    patience: options.Patience = None


@dataclass(frozen=True)
class _Training:
    """How a model is trained."""

    head: ClassVar = "Training"
    epochs: options.Epochs = None
    lr: options.Rate = None
    batch: options.Batch = None
    micro_batch: options.MicroBatch = None
    augmentation: options.Augmentation = None
    precision: options.Precision = None
    crop_factor: options.CropFactor = None
    weight_decay: options.WeightDecay = None
    betas: options.Betas = None
    lr_restart: options.RateRestart = None
    lr_final: options.RateFinal = None
    clip_norm: options.ClipNorm = None
    parameters: options.Parameters = None
    contrastive: options.Contrastive = None
    lora_rank: options.LoraRank = None
    lora_alpha: options.LoraAlpha = None
    lora_targets: options.LoraTargets = None
    seed: options.Seed = 0


@dataclass(frozen=True)
class _Running:
    """Where it runs, how often, and what is left of it."""

    head: ClassVar = "The run and what it leaves"
    adapt_on: options.AdaptOn = None
    split_seed: options.SplitSeed = None
    device: options.Device = "auto"
    seeds: options.Seeds = 1
    save: options.Save = None
    background: options.Background = False
    no_store: options.NoStore = False


@takes(_Subject, _Thresholds, _Training, _Running, None)
def ttm(
    oracle: options.Oracle = False,
    dry_run: options.DryRun = False,
    as_json: options._JsonLines = False,
    **given: Any,
) -> None:
    """Adapt a model to a benchmark by test-time matching, without labels: a line per iteration, then what changed."""
    job = described(TTMRun, given, _names(_Thresholds, _Training), {"oracle": oracle})
    seeds: int = given["seeds"]
    if dry_run:
        refuse_unused("with --dry-run, which starts nothing", "background", "save", "no_store")
        _estimate(job, seeds, as_json)
        return
    if given["background"]:
        start_in_background(job, seeds, as_json)
        return
    _warn_of_copies(job, seeds)
    runs, done, stored = _Foreground.of(job, seeds, not given["no_store"]), [], []
    for each, save_to in _with_folders(runs.jobs, given["save"]):
        found = _run(runs, each, save_to, as_json)
        done.append(found)
        stored.append(found.stored)
        _warn_of_nothing(found.records, each)
        _warn_of_divergence(found.records, each)
    if seeds > 1:
        _show_summary(done, job, as_json)
    runs.say(stored)


@takes(_Subject, _Rounds, _Training, _Running, None)
def simplematch(as_json: options.Json = False, **given: Any) -> None:
    """Fit a model once to its own best matchings, and show its metrics before and after. No label is used."""
    job = described(SimpleMatchRun, given, _names(_Rounds, _Training), {})
    seeds: int = given["seeds"]
    if given["background"]:
        start_in_background(job, seeds, as_json)
        return
    _warn_of_copies(job, seeds)
    runs = _Foreground.of(job, seeds, not given["no_store"])
    records, done, stored = [], [], []
    for each, save_to in _with_folders(runs.jobs, given["save"]):
        found = _before_and_after(runs, each, save_to)
        stored.append(found.stored)
        records.append(found.record)
        done.append(_ends_of(found.first, found.last))
        if not as_json:
            _print_simplematch(each, found, seeds > 1)
    if as_json:
        results = {} if seeds == 1 else {"results": [each.record() for each in _results(job, done)]}
        show_json(records[0] if seeds == 1 else {"seeds": records, **results})
    elif seeds > 1:
        _print_results(job, done)
    runs.say(stored)


def _names(*parts: type) -> tuple[str, ...]:
    return tuple(field.name for part in parts for field in fields(part))


def _print_simplematch(job: AdaptationRun, found: _BeforeAndAfter, several: bool) -> None:
    record = found.record
    head = f"seed {record['seed']}: " if several else ""
    share = "nothing" if record["fitted"] is None else f"{_pct(100 * record['fitted'])} %"
    rounds = counted(record["rounds"], "round")
    print(f"{head}{rounds}, {record['seconds']:.1f} s; {share} of the pseudo-labels pass GroupScore's test")
    for when in ("before", "after"):
        print(f"\n{when}: {counted(record[when]['n_groups'], 'group')} of {record[when]['shape']}")
        print(format_metrics(record[when]))
        for name, part in record[when].get("parts", {}).items():
            print(f"\n{when}, {name}: {counted(part['n_groups'], 'group')}\n{format_metrics(part)}")
    if found.last is not found.first:
        _print_change(job, found.first, found.last, "round", several)
    if several:
        print()


def _with_folders(
    jobs: Sequence[AdaptationRun], save: Path | None
) -> Iterator[tuple[AdaptationRun, Path | None]]:
    """The description of every seed, and the folder for its model."""
    if save is not None:
        make_folder(save, "--save")
    for each in jobs:
        yield each, save and (save if len(jobs) == 1 else save / f"seed-{each.seed}")


def _estimate(job: AdaptationRun, seeds: int, as_json: bool) -> None:
    """How long a run would take and what it is likely to change."""
    _warn_of_copies(job, seeds)
    groups = job.load_groups()
    seconds, source = expected_seconds(RunStore(), job, len(groups))
    blind, cache = groups.blind(), ScoreCache()
    scored: dict[str, np.ndarray] = {}

    def scores_of(model: str) -> np.ndarray:
        scored[model] = score_groups(load_scorer(model, job.device), blind, cache)
        return scored[model]

    found = Forecast.of(job, scores_of)
    quick = job.model in scored or job.model.startswith("builtin/")  # of others scores may take long
    if quick and _has_margin_thresholds(job):
        scores = scored[job.model] if job.model in scored else scores_of(job.model)
        margin, pool = match(scores).margin, job.pool(blind)
        margin = margin if pool is None else margin[pool]
        _warn_of_thresholds(job, thresholds(job.settings, margin), margin)
    if as_json:
        numbers = {name: None if isnan(value) else round(value, 2) for name, value in found.numbers().items()}
        total = None if seconds is None else round(seconds * seeds, 1)
        found_time = {"seeds": seeds, "seconds": total, "source": source}
        show_json({**found_time, "verdict": found.verdict, **numbers, "why": found.why})
        return
    several = f" for {seeds} seeds, one after the other," if seeds > 1 else ""
    known = "no time estimate"
    if seconds is None and not job.embeddings:
        source += f"; `crossmatch doctor --rehearse {job.model} {job.benchmark}` makes one"
    elif seconds is not None:
        known = f"{_span(seconds, seeds)}{several} where little else runs"
    print(f"{_described(job, seeds)}\n{known} ({source})\n{found.sentence()}")


def _described(job: AdaptationRun, count: int) -> str:
    """`describe` with the seed and those that follow, `count` in all: `… · seeds 0–3`."""
    *_, last = seeded(job, count)
    own = f"seed {job.seed}" if count == 1 else f"seeds {job.seed}–{last.seed}"
    return job.describe().removesuffix(f"seed {job.seed}") + own


_Ends = tuple[np.ndarray, np.ndarray]  # scores (n, m, k) before and after; no model stays in memory for them


def _ends_of(first: Iteration, last: Iteration) -> _Ends:
    return first.arrays["scores"], last.arrays["scores"]


class _Ran(NamedTuple):
    """A foreground run of test-time matching: its records, the scores (n, m, k) before and after, and its id."""

    records: list[dict[str, Any]]
    ends: _Ends
    stored: str | None


class _Seen:
    """The records of a run as it goes on, its first iteration and its last."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self._first: Iteration | None = None
        self._last: Iteration | None = None

    def add(self, now: Iteration) -> None:
        self.records.append(now.record)
        self._first, self._last = self._first or now, now

    @property
    def ends(self) -> tuple[Iteration, Iteration]:
        assert self._first is not None and self._last is not None  # iteration 0 is the model as it is
        return self._first, self._last


def _run(runs: _Foreground, job: AdaptationRun, save: Path | None, as_json: bool) -> _Ran:
    """One foreground run of test-time matching."""
    _bound_own_memory()
    several, seen = len(runs.jobs) > 1, _Seen()
    head = f"seed {job.seed}  " if several else ""

    def show(now: Iteration) -> None:
        if not seen.records:
            _warn_of_thresholds(job, now.arrays["thresholds"], now.arrays["margin"])
        seen.add(now)
        record = {**now.record, "seed": job.seed} if several else now.record
        show_json(record) if as_json else print(head + format_step(now.record), flush=True)

    stored = runs.carry_out(job, show)
    first, last = seen.ends
    if last is not first and not several and not as_json:
        _print_change(job, first, last)
    _save(last, save)
    return _Ran(seen.records, _ends_of(first, last), stored)


def _print_change(
    job: AdaptationRun, first: Iteration, last: Iteration, what: str = "iteration", several: bool = False
) -> None:
    """What a run has changed, paired over the groups, and what it leaves open where it is not one of several seeds;
    nothing where the truth is unknown."""
    groups = job.load_groups()
    if groups.truth is None:
        return
    before, after = (Evaluation.of(step.arrays["scores"], groups.truth) for step in (first, last))
    pool = job.pool(groups.blind())
    parts = {"": np.ones(len(groups), bool)} if pool is None else {"adapted": pool, "untouched": ~pool}
    number = last.record["iteration"]
    print(
        f"\n{what} {number}, which is the result, minus {what} 0, on the same {counted(len(groups), 'group')}"
    )
    found = changes(before, after, parts)
    print(format_differences("after minus before", found, ("broken", "fixed"), why=_WHY_MAIN))
    if not several and not _is_seedless(job, len(groups)):
        print(_one_seed_told())


def _has_margin_thresholds(job: AdaptationRun) -> bool:
    """Whether the thresholds of a run are margins of groups, and choose what it trains on."""
    return isinstance(job, TTMRun) and not job.oracle and job.settings.variant == "group"


def _warn_of_thresholds(job: AdaptationRun, taus: np.ndarray, margin: np.ndarray) -> None:
    """A remark before anything is trained, where some iteration would train nothing."""
    if _has_margin_thresholds(job) and (warning := _unreached(taus, margin)):
        print_note(f"warning: seed {job.seed}: {warning}")


def _warn_of_nothing(records: list[dict[str, Any]], job: AdaptationRun) -> None:
    """A last remark which iterations trained nothing, as no group was selected."""
    empty = [str(r["iteration"]) for r in records if r["iteration"] and r["coverage"] == 0]
    if empty:
        word = "iteration" if len(empty) == 1 else "iterations"
        of = records[-1]["iteration"]
        print_note(
            f"warning: seed {job.seed}: {word} {', '.join(empty)} of {of} selected no group and trained nothing."
        )


def _warn_of_divergence(records: list[dict[str, Any]], job: AdaptationRun) -> None:
    """A last remark where training has destroyed the model."""
    warning = divergence(records, job.written())
    if warning is not None:
        print_note(f"warning: seed {job.seed}: {warning}")


def _save(last: Any, folder: Path | None) -> None:
    """Write the last iteration's model, where that is asked for."""
    if folder is not None and last is not None:
        last.model.save(folder)
        print_note(f"wrote the adapted model to {folder}")


def _show_summary(done: Sequence[_Ran], job: AdaptationRun, as_json: bool) -> None:
    records = [each.records for each in done]
    rows = summary(records)
    if as_json:
        final = final_values(records, [job.written()] * len(done))
        results = [each.record() for each in _results(job, [each.ends for each in done])]
        show_json({"summary": rows, "final": final, "results": results})
        return
    print(f"\nmean and standard deviation over {len(done)} seeds; the last iteration is the result")
    for row in rows:
        print(format_spread(row))
    _print_results(job, [each.ends for each in done])


def _print_results(job: AdaptationRun, done: Sequence[_Ends]) -> None:
    """What the seeds have come to, as `crossmatch runs seeds` prints it; nothing where the truth is unknown."""
    results = _results(job, done)
    if results:
        print(f"result of {counted(len(done), 'complete seed')}:")
    for each in results:
        print(each.line())
    for line in _below_lines(results):
        print(line)


def _results(job: AdaptationRun, done: Sequence[_Ends]) -> list[SeedResult]:
    """Every metric of all seeds, of a transfer check of each part; nothing where the truth is unknown."""
    groups = job.load_groups()
    if groups.truth is None:
        return []
    before, after = (
        [Evaluation.of(scores, groups.truth) for scores in end] for end in zip(*done, strict=True)
    )
    return SeedResult.of_job(job, groups, before, after)


def _round_line(record: dict[str, Any]) -> str:
    line = f"round {record['iteration']}: {record['seconds']:.1f} s"
    if record["fitted"] is None:
        return f"{line}, the model as it is"
    return f"{line}, {_pct(100 * record['fitted'])} % of the pseudo-labels pass GroupScore's test"


class _BeforeAndAfter(NamedTuple):
    """A SimpleMatch: what is said of it, the model as it was, its last round, and its id."""

    record: dict[str, Any]
    first: Iteration
    last: Iteration
    stored: str | None


def _before_and_after(runs: _Foreground, job: AdaptationRun, save: Path | None) -> _BeforeAndAfter:
    """One foreground SimpleMatch."""
    _bound_own_memory()
    seen = _Seen()

    def show(now: Iteration) -> None:
        seen.add(now)
        print_note(_round_line(now.record))

    stored = runs.carry_out(job, show)
    (first, last), records = seen.ends, seen.records
    _save(last, save)
    _warn_of_divergence(records, job)
    truth = _truth(job, records[0])
    found = {
        "before": _metrics_record(records[0], truth),
        "after": _metrics_record(records[-1], truth),
        "rounds": records[-1]["iteration"],
        "fitted": records[-1]["fitted"],
        "seconds": round(sum(record["seconds"] for record in records), 2),
        "seed": job.seed,
        "note": " ".join(dict.fromkeys(r["note"] for r in records if r["note"])),
    }
    return _BeforeAndAfter(found, first, last, stored)


def _metrics_record(record: Mapping[str, Any], truth: str) -> dict[str, Any]:
    """As `crossmatch evaluate` reports scores."""
    names = [name for name in ("n_groups", "shape", "metrics", "parts") if name in record]
    return {"truth": truth, **{name: record[name] for name in names}}


def _truth(job: AdaptationRun, record: Mapping[str, Any]) -> str:
    if job.embeddings:
        return "identity (the file names none: image i belongs to caption i)"
    return "given" if record["metrics"] else "unknown"
