"""The binding ladder of a model on a set: where is it lost which attribute belongs to which object?

Every rung answers one question on the same test groups: which caption belongs to which picture, where the pictures of a
group differ in nothing but one exchange. So every rung is a table of scores (n, m, m) and is judged by the same two
metrics with the same chance levels. What differs is what the scores are read from:

- tokens and pooled vectors of one tower: a linear probe reads that tower, the other side is known exactly from the
  scenes. A probe that fails has not found the binding; a richer one might.
- one linear map between the pooled vectors of both towers (as in LABCLIP, arXiv 2502.03566): contrasted with the
  swapped pictures and captions of the same group alone, as most captions of these worlds are true of many pictures.
- the model's own scores: GroupMatch, and GroupScore, which asks more.
- test-time matching: the last iteration of a run that ships with Crossmatch, where there is one.

Probes and map are trained on fresh groups of the training split, never on test groups, by one loss (`_probes.py`).
Combinations that no training scene holds were seen neither by model nor probe, and are shown apart. Two controls go
through the same code: labels dealt at random, which end at chance on average over deals, and an untrained model of
the same architecture, which shows how much a probe finds where nothing was learned.

What a probe finds depends on its training groups too. So every rung is the mean over several runs, each with training
groups, probes and shuffled labels of its own (`_runs.py`), and its interval knows runs and groups as two sources of
variance. Steps between rungs are paired tests over groups and runs, corrected together (Holm). Source: issue 22 C.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from core import datasets
from core.base import paths
from core.base.files import write_json
from core.base.lazy import pandas as pd
from core.base.text import _KEPT, _change_in_points, _p_said, _pct, _signed, _signed_end, _signed_range
from core.groups import GroupSet
from core.ladder._facts import Questions
from core.ladder._runs import TRAINED_ON, Progress, Run, cache_path
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, chance
from core.metrics.statistics import Clusters, Comparison, Estimate
from core.scoring.load import scorer_key

# Sets whose pictures differ by one exchange.
SETS = tuple(
    f"scenes/{name}"
    for name in ("attribute-swap", "left-right", "size-swap", "material-swap", "front-behind", "triples")
)
RUNS = 5
_BOTH = (GROUP_MATCH, GROUP_SCORE)
_Runs = Sequence[Evaluation]  # a rung, once for every run


class _Rung(NamedTuple):
    label: str
    within: str  # as in "binding is in the image tokens"
    meaning: str


RUNGS: dict[str, _Rung] = {
    "image-tokens": _Rung(
        "Image tokens",
        "the image tokens",
        "A linear probe of every image patch, before the last layer; what the captions say is known.",
    ),
    "image-pooled": _Rung(
        "Pooled image vector",
        "the pooled image vector",
        "A linear probe of the one vector that stands for the image; what the captions say is known.",
    ),
    "caption-tokens": _Rung(
        "Caption tokens",
        "the caption tokens",
        "A linear probe of every word, before the last layer; what the images show is known.",
    ),
    "caption-pooled": _Rung(
        "Pooled caption vector",
        "the pooled caption vector",
        "A linear probe of the one vector that stands for the caption; what the images show is known.",
    ),
    "map": _Rung(
        "One linear map between the towers",
        "what one linear map makes of both vectors",
        "Both vectors of the model, the caption's turned by one linear map that was trained on swapped pairs.",
    ),
    "own": _Rung(
        "The model's own scores", "the model's own scores", "Both vectors as they are: the metric itself."
    ),
    "ttm": _Rung(
        "After test-time matching",
        "the scores after test-time matching",
        "The whole model adapted to these groups without labels; the last iteration, mean over the runs that ship. "
        "Some of these runs stored no count of ties, so none is given.",
    ),
}

# What else a record says of a rung: where, under which name, and in words.
MORE = (
    ("combinations", "seen", "seen combinations"),
    ("combinations", "unseen", "unseen combinations"),
    ("controls", "untrained", "untrained model"),
    ("controls", "shuffled", "labels at random"),
)


class _Step(NamedTuple):
    """From one rung to the next; of several `before` the one with the least GroupMatch."""

    before: tuple[str, ...]
    after: str
    where: str
    said: str  # as in "most is lost ...", for who does not know the parts of a model


_STEPS: dict[str, _Step] = {
    "image-pooling": _Step(
        ("image-tokens",),
        "image-pooled",
        "pooling in the image tower",
        "where the picture becomes one vector",
    ),
    "caption-pooling": _Step(
        ("caption-tokens",),
        "caption-pooled",
        "pooling in the caption tower",
        "where the caption becomes one vector",
    ),
    "map": _Step(
        ("image-pooled", "caption-pooled"),
        "map",
        "the comparison of the two vectors, where even a trained linear map does not match what each of them holds",
        "between picture and caption: what one vector says has no counterpart in the other",
    ),
    "alignment": _Step(
        ("map",),
        "own",
        "the alignment of the towers, which one trained linear map would repair",
        "where picture and caption are compared: both vectors have it, but in different directions",
    ),
}


@dataclass(frozen=True)
class Ladder:
    """The rungs of a model on a set, bottom first.

    attribute : what the objects of a group exchange. rungs : by name, those that there are, once for every run; the
    model's own scores once. controls : the same by name ("shuffled", "untrained") and rung. missing : why there is no
    rung, by its name. recovered : both metrics after test-time matching, bool (runs, n), of groups in no known order.
    """

    benchmark: str
    model: str
    attribute: str
    rungs: Mapping[str, _Runs]
    controls: Mapping[str, Mapping[str, _Runs]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    recovered: Mapping[str, np.ndarray] = field(default_factory=dict)
    seeds: Sequence[int] = (0,)

    @classmethod
    def measure(
        cls,
        benchmark: str,
        model: str,
        device: str = "auto",
        seed: int = 0,
        runs: int = RUNS,
        progress: Progress = lambda what, share: None,
    ) -> Self:
        """Train and judge every rung in so many runs, the first of this seed; half a minute a run on a quiet core.

        Runs that this machine has measured before are read. Raises InputError for a set whose pictures have no known
        scenes, or that differ by no exchange.
        """
        test = datasets.load(benchmark, "test")
        asked = Questions.of(test)
        seeds = range(seed, seed + runs)
        found = []
        for number, each in enumerate(seeds, 1):
            told = partial(_told, progress, number, runs)
            found.append(Run.of(benchmark, model, device, each, told))
        controls = {
            name: judged
            for name in ("shuffled", "untrained")
            if (judged := _judged_runs([getattr(run, name) for run in found], test))
        }
        rungs = _judged_runs([run.rungs for run in found], test)
        return cls(
            benchmark,
            model,
            asked.attribute,
            {**rungs, "own": [_judged(found[0].own, test)]},
            controls,
            found[0].missing,
            _recovered(benchmark, model),
            seeds,
        )

    def steps(self) -> dict[str, Comparison]:
        """GroupMatch of every rung minus that of the one before, corrected for each other."""
        there = {
            name: (self.rungs[self.weaker(before)], self.rungs[after])
            for name, (before, after, *_) in _STEPS.items()
            if after in self.rungs and all(each in self.rungs for each in before)
        }
        tests = len(there) + (GROUP_MATCH in self.recovered)
        found = {}
        for name, (first, second) in there.items():
            a, b = (_outcomes(each, GROUP_MATCH) for each in (first, second))
            found[name] = Comparison.over_seeds(a, b, second[0].clusters, tests)
        if GROUP_MATCH in self.recovered:
            own = _outcomes(self.rungs["own"], GROUP_MATCH)[0]
            found["ttm"] = _apart(own, self.recovered[GROUP_MATCH], tests)
        return Comparison.holm(found)

    def weaker(self, names: tuple[str, ...]) -> str:
        """The rung with the least GroupMatch."""
        return min(names, key=lambda name: _mean(self.rungs[name], GROUP_MATCH).value)

    def record(self) -> dict[str, Any]:
        """JSON-safe: `rungs`, bottom first, each with both metrics, on seen and unseen combinations and under the
        controls, or why there is none; `steps`, points of GroupMatch with paired 95 % intervals; `recovery`, the
        same of test-time matching; the verdict. All are means over the runs; `by_run` has GroupMatch of each.
        tests : for how many the p values and detectable differences of the steps are corrected; older ones have none,
        and their detectable differences are of groups alone, uncorrected."""
        own, steps = self.rungs["own"][0], self.steps()
        recovery = steps.pop("ttm", None)
        found = {
            "benchmark": self.benchmark,
            "model": self.model,
            "attribute": self.attribute,
            "n_groups": len(own.ids),
            "shape": "x".join(map(str, own.shape)),
            "trained_on": TRAINED_ON,
            "seed": self.seeds[0],
            "runs": len(self.seeds),
            "tests": len(steps) + (recovery is not None),
            "rungs": [self._written(name) for name in RUNGS],
            "steps": [
                {"name": name, "where": _STEPS[name].where, "before": self.weaker(_STEPS[name].before)}
                | {"after": _STEPS[name].after, "lost": _lost(change.record()), **change.record()}
                for name, change in steps.items()
            ],
            "recovery": None if recovery is None else recovery.record(),
        }
        return found | {"verdict": _verdict(found)}

    def _written(self, name: str) -> dict[str, Any]:
        row: dict[str, Any] = {"name": name, "label": RUNGS[name].label, "meaning": RUNGS[name].meaning}
        if name == "ttm" and self.recovered:
            return row | {metric: self._after(metric).record() for metric in _BOTH}
        if name not in self.rungs:
            return row | {"missing": self.missing.get(name, _NO_RUN)}
        row |= _metrics(self.rungs[name])
        if len(self.rungs[name]) > 1:
            row["by_run"] = [round(e.metrics[GROUP_MATCH].value, _KEPT) for e in self.rungs[name]]
        sliced = [e.slices("unseen").get("unseen", {}) for e in self.rungs[name]]
        row["combinations"] = {
            {"no": "seen", "yes": "unseen"}[value]: {"n_groups": len(part.ids)}
            | _metrics([each[value] for each in sliced])
            for value, part in sliced[0].items()
        }
        row["controls"] = {c: _metrics(of[name]) for c, of in self.controls.items() if name in of}
        return row

    def _after(self, metric: str) -> Estimate:
        """A metric after test-time matching, with its interval over runs and groups."""
        m, k = self.rungs["own"][0].shape
        return Estimate.over_seeds(self.recovered[metric], 100 * chance(metric, m, k))

    @classmethod
    def measured(
        cls,
        benchmark: str,
        model: str,
        device: str = "auto",
        seed: int = 0,
        runs: int = RUNS,
        progress: Progress = lambda what, share: None,
    ) -> dict[str, Any]:
        """The record of a ladder: measured now, or by an earlier call with the same model, set, seed and runs."""
        path = _record_path(benchmark, model, seed, runs)
        if path is not None and path.is_file():
            return json.loads(path.read_text())
        measured = cls.measure(benchmark, model, device, seed, runs, progress)
        record = {**measured.record(), "key": scorer_key(model)}
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, record)
        return record

    @classmethod
    def stored(cls, benchmark: str, model: str) -> dict[str, Any] | None:
        """The record of an earlier measurement of this very model: the shipped one, or this machine's; else None."""
        for record in cls.shipped():
            if (record["benchmark"], record["model"]) == (benchmark, model) and record["key"] == scorer_key(
                model
            ):
                return record
        path = _record_path(benchmark, model, 0, RUNS)
        return json.loads(path.read_text()) if path is not None and path.is_file() else None

    @staticmethod
    def p_value(step: Mapping[str, Any]) -> float:
        """Of a step of a record after correction: the larger of both, by group and by cluster."""
        return max(step["p_holm"], (step.get("clustered") or {}).get("p_holm", 0.0))

    @staticmethod
    def points(record: Mapping[str, Any], step: Mapping[str, Any]) -> float:
        """Points of GroupMatch of a step or of the recovery of a record: the exact difference of its two rungs."""
        rows = {row["name"]: row.get(GROUP_MATCH) for row in record["rungs"]}
        ends = (step.get("before", "own"), step.get("after", "ttm"))
        before, after = (rows[name]["value"] for name in ends)
        return _change_in_points(before, after)

    @staticmethod
    def loses(record: Mapping[str, Any]) -> bool:
        """Whether some step of a record is shown to lose anything."""
        return any(map(_lost, record["steps"]))

    @staticmethod
    def headline(record: Mapping[str, Any]) -> str:
        """Of a record, in plain words: where most is lost and how much, or why that cannot be told."""
        rows = {row["name"]: row[GROUP_MATCH] for row in record["rungs"] if GROUP_MATCH in row}
        own = Estimate.of_record(rows["own"])
        lost = [step for step in record["steps"] if _lost(step)]
        if not record["steps"]:
            return (
                "This model has no ladder: it has no two towers, one for pictures and one for captions, whose steps "
                f"could be compared. Its own scores reach GroupMatch {own}."
            )
        if not lost:
            before, none = _before_steps(rows), "No step of this model is shown to lose anything."
            later = "No later step is shown to lose anything."
            return f"{f'{before} {later}' if before else none} Its own scores reach GroupMatch {own}."
        most = min(lost, key=lambda step: step["difference"])
        before, after = (rows[most[end]]["value"] for end in ("before", "after"))
        fall, least = -_change_in_points(before, after), _signed_end(-most["high"])
        return (
            f"{'Most of the' if len(lost) > 1 else 'The'} binding is lost {_STEPS[most['name']].said}. GroupMatch "
            f"falls from {_pct(before)} to {_pct(after)} %, by {_pct(fall)} points (95 % interval "
            f"{least.removeprefix('+')} to {_pct(-most['low'])}); chance is {_pct(own.chance)} %."
        )

    @staticmethod
    def shipped() -> list[dict[str, Any]]:
        """The records that ship with Crossmatch, with what is said of them today."""
        path = paths.assets() / "results" / "ladder.jsonl"
        found = [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
        return [record | {"verdict": _verdict(record)} for record in found]


def _record_path(benchmark: str, model: str, seed: int, runs: int) -> Any:
    return cache_path(benchmark, model, f"record {seed} {runs}", "json")


def _judged_runs(runs: Sequence[Mapping[str, np.ndarray]], test: GroupSet) -> dict[str, _Runs]:
    """Of every rung, those runs that have it."""
    return {name: [_judged(run[name], test) for run in runs if name in run] for name in runs[0]}


def _judged(scores: np.ndarray, test: GroupSet) -> Evaluation:
    tags = pd.DataFrame({"unseen": [group.tags.get("unseen", "no") for group in test]})
    return Evaluation.of(scores, test.truth, test.ids, tags=tags, clusters=Clusters.of_groups(test))


def _outcomes(runs: _Runs, metric: str) -> np.ndarray:
    """Which groups are right in which run, (runs, n)."""
    return np.stack([each.outcomes[metric].value for each in runs])


def _mean(runs: _Runs, metric: str) -> Estimate:
    """The mean over runs; its ties are the mean number of them, rounded up, so that none means none."""
    found = [each.metrics[metric] for each in runs]
    if len(found) == 1:
        return found[0]
    ties = math.ceil(np.mean([each.ties or 0 for each in found]))
    chance_percent = found[0].chance
    return Estimate.over_seeds(_outcomes(runs, metric), chance_percent, ties=ties, clusters=runs[0].clusters)


def _metrics(runs: _Runs) -> dict[str, Any]:
    return {name: _mean(runs, name).record() for name in _BOTH}


def _apart(own: np.ndarray, after: np.ndarray, tests: int) -> Comparison:
    """From the model's own outcomes, bool (n,), to those of runs whose groups are not known one by one, (runs, n).

    The runs ship as numbers alone: so the groups that own and after have right are taken to overlap as little as their
    counts allow, the case in which a difference is hardest to show.
    """
    return Comparison.over_seeds(np.sort(own)[None, ::-1], after, tests=tests)


def _told(progress: Progress, number: int, runs: int, what: str, share: float) -> None:
    """Progress of one run as that of all of them."""
    progress(f"run {number} of {runs}: {what}", (number - 1 + share) / runs)


# --- what a record says


def _verdict(record: Mapping[str, Any]) -> list[str]:
    """What the rungs and steps of a record say, and what they cannot."""
    rows = {row["name"]: row for row in record["rungs"] if GROUP_MATCH in row and row["name"] != "ttm"}
    values = {name: Estimate.of_record(row[GROUP_MATCH]) for name, row in rows.items()}
    there = [name for name, e in values.items() if _shown(e)]
    parts = [
        f"in {RUNGS[name].within} ({_pct(e.value)} %)" if name in there else _not_shown(name, e)
        for name, e in values.items()
    ]
    once = len(values) > 1 and record.get("runs", 1) == 1
    head = "In this run binding is" if once else "Binding is"
    found = [f"{head} {'; '.join(parts)}; chance is {_pct(values['own'].chance)} %.", *_unlearned(rows)]
    found += [*_where_lost(record, once), *_metric(rows["own"]), *_after_ttm(record)]
    if once:
        found.append("The probes are of one run: with other training groups they may say something else.")
    return found


def _not_shown(name: str, e: Estimate) -> str:
    """Of a rung whose interval reaches the chance level: by cluster where there are clusters, as the verdict is."""
    by = f" by {e.clustered.by}" if e.clustered else ""
    low, high = e.bounds
    return f"not shown to be in {RUNGS[name].within} ({_pct(e.value)} %, 95 % interval{by} {_pct(low)}–{_pct(high)})"


def _shown(e: Estimate) -> bool:
    """Whether there is more than chance."""
    return e.bounds[0] > e.chance


def _unlearned(rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What a probe finds in an untrained model, above chance."""
    controls = {name: row.get("controls", {}).get("untrained") for name, row in rows.items()}
    control = {name: Estimate.of_record(of[GROUP_MATCH]) for name, of in controls.items() if of}
    parts = [f"{_pct(e.value)} % in {RUNGS[n].within}" for n, e in control.items() if _shown(e)]
    return (
        [f"Some of that takes no training: in an untrained model it is {', '.join(parts)}."] if parts else []
    )


def _where_lost(record: Mapping[str, Any], once: bool) -> list[str]:
    steps = record["steps"]
    if not steps:
        return ["Where anything is lost cannot be told: this model has no two rungs to compare."]
    lost, head = [step for step in steps if _lost(step)], "In this run the" if once else "The"
    if not lost:
        known = {row["name"]: row[GROUP_MATCH] for row in record["rungs"] if GROUP_MATCH in row}
        none = (
            f"{'In this run no' if once else 'No'} step from one rung to the next is shown to lose anything."
        )
        return [*filter(None, [_before_steps(known)]), f"{none} {_missed(record, once)}"]
    first, most = lost[0], min(lost, key=lambda step: step["difference"])
    of = "only" if len(lost) == 1 else "first"
    found = [f"{head} {of} loss that is shown is in {_STEPS[first['name']].where}: {_points(record, first)}."]
    if most is first:
        return found
    return [*found, f"{head} largest loss is in {_STEPS[most['name']].where}: {_points(record, most)}."]


def _missed(record: Mapping[str, Any], once: bool) -> str:
    """How large a loss could go unnoticed, where it can be told: as p is, the larger by group and by cluster."""
    tests = [each for step in record["steps"] for each in (step, step.get("clustered")) if each]
    least = [each["detectable"] for each in tests]
    if "tests" not in record or None in least:
        return "How large a loss could go unnoticed cannot be told."
    of = "the groups of this run alone" if once else "these groups and runs"
    return (
        f"With {of} a loss of less than {max(least):.0f} points could go unnoticed (80 % power after Holm's "
        "correction)."
    )


def _metric(own: Mapping[str, Any]) -> list[str]:
    """What the stricter metric hides."""
    match, score = (Estimate.of_record(own[name]) for name in _BOTH)
    if not _shown(match) or score.value >= match.value:
        return []
    return [
        f"By GroupScore, the stricter metric, the same scores are right on {_pct(score.value)} % of the groups (chance "
        f"{_pct(score.chance)} %)."
    ]


def _after_ttm(record: Mapping[str, Any]) -> list[str]:
    change = record.get("recovery")
    if change is None:
        return []
    if Ladder.p_value(change) >= 0.05:
        said = "is not shown to change anything"
    else:
        said = "recovers some of what was lost" if change["difference"] > 0 else "loses more"
    return [f"Test-time matching {said}: {_points(record, change)}. {_CAUTIOUS}"]


_CAUTIOUS = (
    "Its shipped runs say how many groups are right, not which; interval and p assume the smallest overlap with the "
    "groups that the model has right by itself, the case in which a change is hardest to show."
)


def _before_steps(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Where no step loses anything: that a probe finds less in the tokens of one tower than in the other's, where the
    ladder begins.

    rows : GroupMatch by rung. "" where their intervals overlap.
    """
    estimates = {name: Estimate.of_record(rows[name]) for name in _TOKENS if name in rows}
    if len(estimates) < 2:
        return ""
    low, high = sorted(estimates, key=lambda name: estimates[name].value)
    if estimates[low].bounds[1] >= estimates[high].bounds[0]:
        return ""
    return (
        f"Before the first step a linear probe finds less in {RUNGS[low].within} than in {RUNGS[high].within}. It is "
        f"right in {_pct(estimates[low].value)} % of the groups against {_pct(estimates[high].value)} %; what it does "
        "not find may be missing there, or be there in another form."
    )


_TOKENS = ("image-tokens", "caption-tokens")  # where the ladder begins


def _lost(change: Mapping[str, Any]) -> bool:
    """Whether something is lost in this step: fewer groups are right, by clusters too, after correction."""
    return change["difference"] < 0 and Ladder.p_value(change) < 0.05


def _points(record: Mapping[str, Any], change: Mapping[str, Any]) -> str:
    interval = f"95 % interval {_signed_range(change['low'], change['high'])}"
    p = _p_said(Ladder.p_value(change))
    return f"{_signed(Ladder.points(record, change))} points of GroupMatch ({interval}, {p} after Holm's correction)"


_NO_RUN = "No run of test-time matching ships for this model and set; start one on its page, or with `crossmatch ttm`."


def _recovered(benchmark: str, model: str) -> dict[str, np.ndarray]:
    """Which of n groups both metrics have right after the last iteration of the shipped runs with the preset, bool
    (runs, n), the right ones last; none where there is none."""
    path = paths.assets() / "results" / "ttm_ablations.csv"
    if not path.is_file():
        return {}
    table = pd.read_csv(path)
    asked = {"kind": "ttm", "model": model, "benchmark": benchmark, "setting": "preset", "part": "all"}
    for column, value in asked.items():
        table = table[table[column] == value]
    if table.empty:
        return {}
    last = table.sort_values("iteration").groupby("seed").tail(1)
    n = int(last.groups.iloc[0])
    wrong = {name: n - np.round(last[name].to_numpy() * n / 100) for name in _BOTH}
    return {name: np.arange(n) >= count[:, None] for name, count in wrong.items()}
