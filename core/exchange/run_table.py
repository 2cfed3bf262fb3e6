"""Runs in a table: how many groups each had, its settings, its results as text and as numbers, and how two differ.

A row is a run, or the seeds of one. The result is the last iteration's, of seeds the mean over those that are complete;
of a strategy of Cola that on the test queries where they have been measured. A ledger, which is several trainings, has
none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from core.base.lazy import pandas as pd
from core.base.text import _half_up, _p_text, _pct, _signed, _signed_end, _true_minus, counted
from core.cola.judged import _judged_by
from core.cola.run import StrategyRun
from core.exchange._run_groups import _batch, _limited, _RunGroups, _whole
from core.metrics.group_metrics import Metric
from core.metrics.groups import description_of
from core.metrics.paired import _interval_named, _paired_interval, _test_named
from core.metrics.retrieval import COLA_MAP
from core.metrics.retrieval import METRICS as RETRIEVAL_METRICS
from core.metrics.statistics import Comparison, Estimate
from core.runs.store import Run
from core.scorers.cola_config import KIND, AdaptConfig
from core.ttm.config import SimpleMatchConfig, TTMConfig, _whole_thresholds
from core.ttm.run import RUNS, LedgerRun, _end, adaptation
from core.ttm.seeds import SeedGroup, seed_of, spread

_Records = Sequence[Mapping[str, Any]]  # of the iterations of a run
_Key = tuple[str, str]  # part of a transfer check, or ""; metric

_KINDS = {
    "ttm": "TTM",
    "simplematch": "SimpleMatch",
    LedgerRun.kind: "ledger of TTM",
    KIND: "Cola",
    "evaluate": "evaluation",
    "measure": "measurement",
}
_ADAPTED = (*RUNS, LedgerRun.kind)
_UNTRAINED = ("evaluate", "measure")
_DEFAULTS = {"ttm": TTMConfig, "simplematch": SimpleMatchConfig, LedgerRun.kind: TTMConfig, KIND: AdaptConfig}
# Of no result: the seed has a column of its own, and the others decide how fast a run is.
_IDLE = ("seed", "shard", "micro_batch")
_THRESHOLDS = ("tau_first", "coverage_first", "tau_last", "coverage_last")
# What `AdaptationRun.describe` says, so that the line of settings need not say it again.
_KIND_PARTS = ("global variant", "oracle", "SimpleMatch", "a ledger", "adapted on")  # what kind of run it is
_DESCRIBED = {
    *("iterations", "rounds", "epochs", "lr", "schedule", "variant", "oracle", "adapt_on", *_THRESHOLDS),
    *("keep_optimizer", "augmentation", "contrastive", "lora_rank"),
}
_LABELS = {
    "iterations": "iterations (T)",
    "rounds": "rounds at most",
    "lr": "learning rate",
    "lr_restart": "learning rate factor per iteration",
    "lr_final": "final share of the learning rate",
    "batch": "batch",
    "keep_optimizer": "optimizer state kept",
    "contrastive": "contrastive loss",
    "clip_norm": "largest gradient norm",
    "lora_rank": "LoRA rank",
    "lora_alpha": "LoRA alpha",
    "lora_targets": "LoRA targets",
    "adapt_on": "share of groups adapted on",
    "oracle": "oracle (uses the truth)",
    "prior": "language prior",
}


# ---- what ran


def _groups_said(config: Mapping[str, Any], records: _Records = ()) -> str:
    """`first 60 of 300 groups`, `all 300 groups`, `24 groups with relation: left of`; of a set of queries its images.

    records : of its iterations, the first of which counts the groups; of a run that waits what its settings say.
    """
    first: Mapping[str, Any] = records[0] if records else {}
    if KIND in config:
        images = (first.get("test") or {}).get("images") or config.get("images")
        return counted(images, "test image") if images else "test images"
    if "images" in str(first.get("shape", "")):
        return str(first["shape"]).partition(",")[0]
    whole = _whole(config)
    asked = _limited(config.get("groups"), whole)
    count: int | None = first.get("n_groups") or asked
    if asked is not None:
        said = f"first {count} of {counted(whole, 'group')}" if whole else f"first {counted(asked, 'group')}"
    elif config.get("tags"):
        said = counted(count, "group") if count else "groups"
    else:
        every = count or whole
        said = f"all {counted(every, 'group')}" if every else "all groups"
    shape = config.get("shape") if not config.get("embeddings") else None
    of_shape = f" of {shape}" if shape else ""
    return f"{said}{of_shape}{' with ' + ', '.join(config['tags']) if config.get('tags') else ''}"


def _settings(run: Run, shape: str = "") -> dict[str, Any]:
    """Every setting that a result may depend on, besides set, groups, model and seed; what the record of an older
    version lacks is as it is by default. shape : of its groups, `2x2`, where that is known."""
    own = dict(run.config.get(run.kind) or {})
    if run.kind in _DEFAULTS:
        own = {**_DEFAULTS[run.kind]().to_dict(), **own}
    if "tau_first" in own:  # what a default stands for, as one run may name it and another one leave it out
        own |= _whole_thresholds(own)
    if own.get("lora_rank") and own.get("lora_alpha") is None:
        own["lora_alpha"] = 2.0 * own["lora_rank"]
    if run.kind in _ADAPTED:
        own["batch"] = _batch(own["batch"], shape)
        about = {
            "oracle": False,
            "adapt_on": None,
            **({"split_seed": 0} if run.config.get("adapt_on") else {}),
        }
        own |= {name: run.config.get(name, default) for name, default in about.items()}
    for name in ("scale", "controls"):
        if run.config.get(name) is not None:
            own[name] = run.config[name]
    return {name: value for name, value in own.items() if name not in _IDLE}


def _settings_said(run: Run, others: bool = False) -> list[str]:
    """The settings of a run, each in a few words and always in this order; [] of a kind that has none.

    others : those too that a description leaves out: weight decay, batch, ...
    """
    own = _settings(run)
    if run.kind == KIND:
        return _cola_said(own)
    if run.kind not in _ADAPTED:
        return [f"{_LABELS.get(n, n)} {_value_said(v)}" for n, v in own.items() if v not in (None, [], ())]
    said = [part.removeprefix("test-time matching, ") for part in adaptation(run.config)._method()]
    said = [part for part in said if part != "group variant"]
    if not others:
        return said
    if own["augmentation"] != "resize-crop":
        own.pop("crop_factor")
    rest = [n for n, v in own.items() if n not in _DESCRIBED and v not in (None, [], (), False)]
    return [*said, *(f"{_label(name)} {_value_said(own[name])}" for name in rest)]


def _cola_said(own: Mapping[str, Any]) -> list[str]:
    """The settings of a strategy of Cola. What a default leaves to the run (learning rate, patience, width) is not
    named."""
    steps = counted(own["steps"], "step") if own["steps"] else "one pass"
    names = (
        "lr",
        "mix",
        "patience",
        "fusion",
        "adapter",
        "batch",
        "layers",
        "width",
        "heads",
        "weight_decay",
    )
    found = [f"{_label(name)} {_value_said(own[name])}" for name in names if own[name] is not None]
    return [f"{counted(own['epochs'], 'epoch')} × {steps}", *found]


def _label(name: str) -> str:
    return _LABELS.get(name, name.replace("_", " "))


def _value_said(value: Any) -> str:
    if value is None or value in ([], ()):
        return "default"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_value_said, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _seeds_said(seeds: Sequence[int]) -> str:
    """`0–3` of 0, 1, 2, 3: those that follow one another by the first and the last."""
    spans: list[list[int]] = []
    for seed in sorted(seeds):
        if spans and seed == spans[-1][-1] + 1:
            spans[-1].append(seed)
        else:
            spans.append([seed])
    return ", ".join(f"{s[0]}–{s[-1]}" if len(s) > 1 else str(s[0]) for s in spans)


# ---- how two differ


def _differing(first: SeedGroup, second: SeedGroup, steps: Sequence[_Records]) -> str:
    """One sentence: in what two runs differ, with the values of A and of B.

    steps : the records of one run of each.
    """
    parts, alike = _differing_settings(first, second, steps), first.runs[0].kind == second.runs[0].kind
    numbers = [sorted(seed_of(run) for run in each.runs) for each in (first, second)]
    seeds = " / ".join(map(_seeds_said, numbers))
    several = "seeds" if max(map(len, numbers)) > 1 else "seed"
    if numbers[0] == numbers[1] and not parts:
        return "They do not differ in any setting, nor in the seed." if several == "seed" else (
            "They do not differ in any setting, nor in the seeds."
        )  # fmt: skip
    if not parts:
        return f"They differ only in the {several} (A / B): {seeds}."
    if numbers[0] != numbers[1]:
        parts.append(f"{several} {seeds}")
    alone = "" if alike else " Settings that only one of the two kinds of run has are not compared."
    return f"They differ in (A / B): {', '.join(parts)}.{alone}"


def _differing_settings(first: SeedGroup, second: SeedGroup, steps: Sequence[_Records]) -> list[str]:
    """The same as `iterations 3 / 10`, setting by setting, without seeds."""
    one, other = (_RunGroups.of(each.runs[0]) for each in (first, second))
    same = one.same(other)
    shapes = [
        _shape_of(each.runs[0].config, records) for each, records in zip((first, second), steps, strict=True)
    ]
    if same:  # what one run does not say the other one does
        shapes = [shape or next(filter(None, shapes), "") for shape in shapes]
    sides = [
        _comparable(each.runs[0], records, shape)
        for each, records, shape in zip((first, second), steps, shapes, strict=True)
    ]
    if same:  # a file by another name, all groups by their number
        for side in sides:
            for name in ("set", "split", "groups"):
                side.pop(name)
    alike = first.runs[0].kind == second.runs[0].kind
    names = dict.fromkeys([*sides[0], *sides[1]])
    shared = [name for name in names if alike or all(name in side for side in sides)]
    values = {name: [side.get(name, "none") for side in sides] for name in shared}
    return [f"{name} {one} / {other}" for name, (one, other) in values.items() if one != other]


def _shape_of(config: Mapping[str, Any], records: _Records) -> str:
    """The shape of a run's groups, `2x2`; "" where nothing says it, and of a set of queries."""
    by_default = "2x2" if config.get("embeddings") else ""
    shape = str(next(iter(records), {}).get("shape") or config.get("shape") or by_default)
    return "" if "images" in shape else shape


def _comparable(run: Run, records: _Records, shape: str) -> dict[str, str]:
    """What ran and every setting, as it is said. shape : of its groups."""
    own = _settings(run, shape)
    found = {
        "set": run.config.get("benchmark", ""),
        "split": run.config.get("split") or "test",
        "groups": _groups_said(run.config, records).replace(" groups", ""),
        "model": _model_said(run.config),
        "kind": _KINDS.get(run.kind, run.kind),
    }
    leading = [name for name in _LEADING if name in own]
    found |= {_label(name): _value_said(own[name]) for name in leading}
    if own.get("adapt_on", 1) is None:
        own["adapt_on"] = "all"
    if "tau_first" in own:
        found |= {f"{end} threshold": _end(own, end) for end in ("first", "last")}
    rest = [name for name in own if name not in {*leading, *_THRESHOLDS}]
    return found | {_label(name): _value_said(own[name]) for name in rest}


_LEADING = ("strategy", "variant", "iterations", "rounds", "epochs", "steps", "lr", "schedule")


def _model_said(config: Mapping[str, Any]) -> str:
    """A model's name; of a folder its last two parts."""
    name = config.get("model", "")
    return "/".join(Path(name).parts[-2:]) if Path(name).is_absolute() else name


# ---- results


class _Result(NamedTuple):
    """A metric at one end of a run in percent, or its mean over seeds.

    low, high : the 95 % interval, of a mean over seeds and groups; None where it is not known. ties : tied groups, of
    several seeds on average; None where nobody counted them. sd : over seeds (n - 1), None of one.
    """

    value: float
    low: float | None
    high: float | None
    chance: float
    ties: float | None
    sd: float | None
    seeds: int


class _Ends(NamedTuple):
    """What a run has come to: `before` is empty of one that trains nothing."""

    before: dict[_Key, _Result]
    after: dict[_Key, _Result]
    queries: str  # of Cola, `test` or `validation`
    complete: int  # seeds that the results are of; 0 while none has come to its end


def _complete(runs: Sequence[Run], steps: Sequence[_Records]) -> list[int]:
    """The places of those runs that have come to their end."""
    return [
        i
        for i, (run, records) in enumerate(zip(runs, steps, strict=True))
        if not run.live and _is_over(run, records)
    ]


def _is_over(run: Run, records: _Records) -> bool:
    if not records or run.kind in _UNTRAINED:
        return bool(records)
    if run.kind == KIND:
        return StrategyRun.read(run.config).is_over(records)
    return adaptation(run.config).is_over(records) if run.kind in _ADAPTED else True


def _judged(kind: str, steps: Sequence[_Records]) -> tuple[str, list[list[Mapping[str, Any]]]]:
    """Of Cola the queries that count; and the first and the last record of each run; none of a ledger, whose
    iterations are of several trainings."""
    if kind == KIND:
        queries, ends = _judged_by(steps)
        return queries, [list(records) for records in ends]
    if kind == LedgerRun.kind:
        return "", []
    return "", [[*records[:1], *records[1:][-1:]] for records in steps]


def _ends_of(
    sweep: SeedGroup, steps: Sequence[_Records], known: Mapping[_Key, tuple[Estimate, Estimate]] | None = None
) -> _Ends:
    """The results of a run, or of the complete seeds of one; while none is complete of those at work.

    steps : the records of every run. known : before and after in the mean over seeds, from `SeedResult`.
    """
    kind, whole = sweep.runs[0].kind, _complete(sweep.runs, steps)
    taken = [steps[i] for i in whole] or [records for records in steps if records]
    queries, ends = _judged(kind, taken)
    known = known or {}
    before = [records[0] for records in ends if records and kind not in _UNTRAINED]
    after = [records[-1] for records in ends if records]
    return _Ends(
        _results(before, {key: pair[0] for key, pair in known.items()}, untrained=True),
        _results(after, {key: pair[1] for key, pair in known.items()}),
        queries,
        len(whole),
    )


def _results(
    records: _Records, known: Mapping[_Key, Estimate], untrained: bool = False
) -> dict[_Key, _Result]:
    """Every metric that all records have. untrained : before training, where all seeds are one model."""
    every = [_by_part(record) for record in records]
    keys = [key for key in every[0] if all(key in each for each in every)] if every else []
    return {key: _result([each[key] for each in every], known.get(key), untrained) for key in keys}


def _by_part(record: Mapping[str, Any]) -> dict[_Key, Mapping[str, Any]]:
    """Metrics of a record, of a transfer check also of both parts."""
    sides = {"": record.get("metrics") or {}}
    # A measurement's parts are by tag; they are not what the run is about.
    sides |= {
        s: p["metrics"] for s, p in (record.get("parts") or {}).items() if s in ("adapted", "untouched")
    }
    return {(side, name): value for side, found in sides.items() for name, value in found.items()}


def _result(values: Sequence[Mapping[str, Any]], known: Estimate | None, untrained: bool) -> _Result:
    one, over = values[0], spread([value["value"] for value in values])
    low: float | None
    high: float | None
    if known is not None and len(values) > 1:
        low, high = known.low, known.high
    elif len(values) == 1 or (untrained and all(value == one for value in values)):
        low, high = one.get("low"), one.get("high")
    else:  # trained seeds that agree in a value need not agree in the groups: an interval of one is not theirs
        low, high = None, None
    ties = [value.get("ties") for value in values]
    counts = [count for count in ties if count is not None]
    mean = None if len(counts) < len(ties) else sum(counts) / len(counts)
    return _Result(over.mean, low, high, one["chance"], mean, over.std, over.seeds)


# ---- two of them, metric by metric


_OVER_SEEDS = "larger p of the exact test over groups and of the one over seeds and groups"


_INTERVAL_OVER_SEEDS = "95 % over seeds and groups"


def _interval_of(name: str, found: _Result) -> str | None:
    """How the interval of a result is made; None of what has none, and of Cola's mAP, whose records do not say."""
    if found.low is None or name == COLA_MAP:
        return None
    return _interval_named(name) if found.sd is None else _INTERVAL_OVER_SEEDS


def _pair_frame(
    sides: Sequence[_Ends],
    names: Sequence[str],
    compared: Mapping[str, Comparison],
    over_seeds: bool = False,
    digits: int | None = 2,
    before: bool = False,
) -> pd.DataFrame:
    """A row per metric that both runs have, in numbers: the results of A and of B with their intervals, the chance
    levels, and where it was tested how far B is ahead, with interval, p, p corrected by Holm's method, and the test.

    Metrics that are one, as on groups of one image, have one row with all their names. compared : by metric.
    over_seeds : whether seeds were compared, not two single runs. digits : None for unrounded values, of which what is
    shown with one decimal is rounded once. before : also the results before adaptation, `A before`, `B before`.
    """
    found = {name: tuple(side.after["", name] for side in sides) for name in names}
    rows = []
    for name, same in Metric.same(found).items():
        labels = ("mAP" if each == COLA_MAP else description_of(each).label for each in same)
        row: _Cells = {"metric": ", ".join(labels)}
        for side, of in _sides_of(sides, name, before):
            ends = {"low": of.low, "high": of.high, "interval": _interval_of(name, of)}
            ends |= {"sd": of.sd, "tied": of.ties, "chance": of.chance}
            row |= {side: of.value, **{f"{side}: {key}": value for key, value in ends.items()}}
        test = compared.get(name)
        ends_of_difference = ("B − A", "B − A: low", "B − A: high", "B − A: interval")
        row |= dict.fromkeys((*ends_of_difference, "p", "p (Holm)", "test"))
        if test is not None:
            how = _INTERVAL_OVER_SEEDS if over_seeds else _paired_interval(test.low, test.high)
            row |= dict(zip(ends_of_difference, (test.difference, test.low, test.high, how), strict=True))
            row |= {"p": test.p_value, "p (Holm)": test.p_holm}
            row["test"] = _OVER_SEEDS if over_seeds else _test_named(name)
        whole = digits is None
        rows.append(
            {
                key: value if whole or key.startswith("p") else _printed(value, digits or 2)
                for key, value in row.items()
            }
        )
    return pd.DataFrame(rows).dropna(axis="columns", how="all")


def _sides_of(sides: Sequence[_Ends], name: str, before: bool) -> list[tuple[str, _Result]]:
    """The results of A and of B in a metric by the name of their column. before : each after the one before
    adaptation, where it has one."""
    found = list[tuple[str, _Result]]()
    for side, ends in zip("AB", sides, strict=True):
        if before and ("", name) in ends.before:
            found.append((f"{side} before", ends.before["", name]))
        found.append((side, ends.after["", name]))
    return found


def _pair_said(frame: pd.DataFrame, as_on_cards: bool = False) -> pd.DataFrame:
    """`_pair_frame` as it is read, a cell per result: `74.33 ± 2.50 [68.90, 79.20], 3 tied`; chance of A and of B where
    they differ; without the columns of a test where nothing was tested.

    The difference stands before both results, which a narrow screen cuts; those before adaptation, in one column where
    they are the same, come last.

    as_on_cards : as pages and the command show results, `74.3 ± 2.5 (68.9–79.2), 3 tied`; files have two decimals.
    """
    rows = []
    for row in frame.astype(object).where(frame.notna(), None).to_dict("records"):
        digits = 1 if as_on_cards else 2
        chances = dict.fromkeys(_pct(row[f"{side}: chance"], digits) for side in "AB")
        cells: dict[str, str] = {"metric": row["metric"]}
        if "B − A" in row:
            has = row["B − A"] is not None
            low, high = (_signed_end(row[f"B − A: {end}"], digits) if has else "" for end in ("low", "high"))
            ends = f" ({low} to {high})" if as_on_cards else f" [{low}, {high}]"
            cells["B − A"] = _true_minus(f"{_signed(row['B − A'], digits)}{ends}") if has else "–"
        cells |= {side: _side_said(row, side, as_on_cards) for side in "AB"}
        if "B − A" in row:
            cells |= {name: _p_text(row[name]) if has else "–" for name in ("p", "p (Holm)")}
        cells["chance"] = " / ".join(chances)
        before = [side for side in ("A before", "B before") if side in row]
        rows.append(cells | {side: _side_said(row, side, as_on_cards) for side in before})
    return _one_before(pd.DataFrame(rows))


def _one_before(said: pd.DataFrame) -> pd.DataFrame:
    """The table of two runs with one column `before` where both began with the same results."""
    both = ["A before", "B before"]
    if not {*both} <= {*said} or not said["A before"].equals(said["B before"]):
        return said
    return said.drop(columns="B before").rename(columns={"A before": "before"})


def _side_said(row: Mapping[Any, Any], side: str, as_on_cards: bool) -> str:
    value, *others = (row.get(f"{side}: {key}" if key else side) for key in ("", "low", "high", "sd"))
    if value is None:
        return "–"
    tied, digits = row.get(f"{side}: tied"), 1 if as_on_cards else 2
    low, high, sd = ("" if each is None else _pct(each, digits) for each in others)
    spread = f" ± {sd}" if sd else ""
    inside = f" ({low}–{high})" if as_on_cards else f" [{low}, {high}]"
    return f"{_pct(value, digits)}{spread}{inside if low else ''}{f', {tied:.3g} tied' if tied else ''}"


# ---- numbers


def _runs_frame(
    sweeps: Sequence[SeedGroup],
    steps: Sequence[Sequence[_Records]],
    known: Sequence[Mapping[_Key, tuple[Estimate, Estimate]]],
) -> pd.DataFrame:
    """A row per run, or per seeds of one, in numbers: the run, its set and model, values with intervals and their unit,
    which are read first; then what else ran, chance levels, ties and results before, settings.

    Results are columns such as `group_match` (after), `group_match_low`, `_high`, `_chance`, `_ties`, `_sd`, and
    `group_match_before`, `_before_low`, ...; of a transfer check also `adapted_group_match`, `untouched_group_match`.
    Yes and no are 1 and 0, lists are joined by semicolons, and what a run does not have is empty. The last column is
    the version of Crossmatch that writes the table.
    """
    rows = [_row(*each) for each in zip(sweeps, steps, known, strict=True)]
    # Each part's columns together, though not every run has all of them.
    names = [name for part in range(_PARTS) for row in rows for name in row[part]]
    merged = [{name: value for part in row for name, value in part.items()} for row in rows]
    frame = pd.DataFrame(merged, columns=list(dict.fromkeys(names)))
    for name in frame:
        if name in _COUNTS:  # whole numbers stay whole beside an empty cell
            frame[name] = frame[name].astype("Int64")
    return frame.assign(crossmatch_version=_software_version())


_COUNTS = ("n_groups", "n_groups_of_set", "n_images", "n_seeds", "n_seeds_measured", "n_seeds_complete")
_FIRST = ("id", "title", "set", "split", "model")  # columns that people read first, before the results
_PARTS = 5  # of a row
_Cells = dict[str, Any]


def _row(
    sweep: SeedGroup, steps: Sequence[_Records], known: Mapping[_Key, tuple[Estimate, Estimate]]
) -> tuple[_Cells, ...]:
    """What ran, values with intervals and their unit, what else is known of the run, further results, settings."""
    ends = _ends_of(sweep, steps, known)
    values: _Cells = {}
    results: _Cells = {}
    for key, after in ends.after.items():
        cells = _cells(key, after)
        values |= {name: cells.pop(name) for name in list(cells)[:3]}  # and both ends of the interval
        results |= cells
        if key in ends.before:
            results |= _cells(key, ends.before[key], "_before")
    own = _settings(sweep.runs[0], _shape_of(sweep.runs[0].config, next(filter(None, steps), ())))
    settings = {name: _cell(value) for name, value in own.items()}
    betas = own.get("betas")
    if betas is not None:
        settings.pop("betas")
        settings |= {"beta1": betas[0], "beta2": betas[1]}
    if (
        "tags" in settings
    ):  # the parts of a measurement; the column `tags` is that of the groups that were taken
        settings["measured_tags"] = settings.pop("tags")
    about = _about(sweep, steps, ends)
    first = {name: about.pop(name) for name in _FIRST}
    return first, values | {"unit": _unit_of(list(ends.after))}, about, results, settings


def _unit_of(keys: Sequence[_Key]) -> str | None:
    """The unit of values, intervals, chance levels and standard deviations; ties are counts. None without a value."""
    ranks = [
        "_".join(filter(None, key))
        for key in keys
        if key[1] in RETRIEVAL_METRICS and RETRIEVAL_METRICS[key[1]].unit == "rank"
    ]
    apart = f"; {' and '.join(ranks)}: mean ranks" if ranks else ""
    return f"percent{apart}" if keys else None


def _software_version() -> str:
    """The version of Crossmatch that writes a file; "" of a checkout on the path, which has none."""
    try:
        return version("crossmatch")
    except PackageNotFoundError:
        return ""


def _origin(runs: Sequence[Run]) -> dict[str, Any]:
    """What a table of one run, or of several seeds of one, is of: set, split, model, seeds; and the version of
    Crossmatch that writes it."""
    config, seeds = runs[0].config, sorted(map(seed_of, runs))
    return {
        "set": config.get("benchmark", ""),
        "split": config.get("split") or "test",
        "model": _model_said(config),
        **({"seed": seeds[0]} if len(seeds) == 1 else {"seed_numbers": ";".join(map(str, seeds))}),
        "crossmatch_version": _software_version(),
    }


def _about(sweep: SeedGroup, steps: Sequence[_Records], ends: _Ends) -> _Cells:
    first, config = sweep.runs[0], sweep.runs[0].config
    seeds = sorted(seed_of(run) for run in sweep.runs)
    measured = next(iter(ends.after.values()), None)
    return {
        "id": sweep.id,
        "title": sweep.title,
        "kind": first.kind,
        "set": config.get("benchmark", ""),
        "split": config.get("split") or "test",
        "model": _model_said(config),
        **_sizes(config, next((records[0] for records in steps if records), {})),
        "tags": _cell(config.get("tags")),
        "queries": ends.queries or None,
        "seeds": ";".join(map(str, seeds)),
        "n_seeds": len(seeds),
        "n_seeds_measured": 0 if measured is None else measured.seeds,
        "n_seeds_complete": ends.complete,
        "status": sweep.status,
        "iterations_done": min(run.done for run in sweep.runs),
        "seconds": _printed(sum(each.get("seconds") or 0.0 for records in steps for each in records), 1)
        if any(steps)
        else None,
        "preset": config.get("preset") or None,
        "created": datetime.fromtimestamp(sweep.created, UTC).isoformat(timespec="seconds"),
    }


def _sizes(config: Mapping[str, Any], record: Mapping[str, Any]) -> _Cells:
    """How many groups there were, of how many, or images of a set of queries. record : of the first iteration."""
    shape, count = record.get("shape") or config.get("shape"), record.get("n_groups")
    images = None
    if KIND in config:
        images = (record.get("test") or {}).get("images") or config.get("images")
    elif "images" in str(shape):
        images, count, shape = count, None, None
    else:
        count = count or config.get("groups")
    whole = None if images else _whole(config)
    return {"n_groups": count, "n_groups_of_set": whole, "n_images": images, "shape": shape}


def _cells(key: _Key, found: _Result, when: str = "") -> _Cells:
    name = f"{'_'.join(filter(None, key))}{when}"
    fields = ("low", "high", "ties", "sd") if when else ("low", "high", "chance", "ties", "sd")
    return {
        name: found.value,
        **{f"{name}_{each}": getattr(found, each) for each in fields},
    }


def _printed(value: float | None, digits: int = 2) -> float | None:
    """A percentage as papers print it: 62.93, not 62.93333333333333; a count, or nothing, as it is."""
    return _half_up(value, digits) if isinstance(value, float) else value


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    return ";".join(map(str, value)) or None if isinstance(value, list | tuple) else value
