"""Two runs beside each other, or the seeds of each: every metric of both, and the paired difference on the same groups.

A run is given as a `SeedGroup`, by itself or with its seeds; the results are those of the last iterations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from core.base.errors import InputError
from core.base.paths import is_file
from core.base.text import _exact_differences, _p_text, _pct, _signed, _signed_range, _true_minus, counted
from core.exchange._run_groups import _InCommon, _RunGroups
from core.exchange.layouts import _software_note, text_table_latex
from core.exchange.run_table import (
    _differing,
    _differing_settings,
    _Ends,
    _ends_of,
    _is_over,
    _pair_frame,
    _pair_said,
    _Result,
    _seeds_said,
)
from core.exchange.seeds import SeedResult
from core.metrics import groups as metrics
from core.metrics.evaluation import Evaluation
from core.metrics.group_metrics import Metric
from core.metrics.paired import (
    _PAIRED_INTERVALS,
    _after_holm,
    _ahead_said,
    _exact_tests,
    _interval_head,
    _interval_note,
    _is_unproven,
    differences,
)
from core.metrics.retrieval import COLA_MAP
from core.metrics.statistics import Comparison, compare
from core.runs.store import Run, RunStore
from core.sweeps.evaluate import EvaluationRun
from core.ttm.records import _UNDECIDED, _is_undecided, _over_groups_said
from core.ttm.run import RUNS, LedgerRun, adaptation
from core.ttm.seeds import SeedGroup, _is_seedless, seed_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from core.groups import GroupSet

_ADAPTED = (*RUNS,)  # a ledger is several trainings: `_controls_said`
_SCORED = (*_ADAPTED, EvaluationRun.kind)  # the kinds of run that leave the scores of every group
# `Comparison.over_seeds` takes run i of A and of B for one draw; of unlike seeds that order would be made up.
_NO_SHARED_SEED = (
    "no complete seed in common, so there is no paired difference: the test pairs each seed of A with the same seed of "
    "B, so run the same seeds of both"
)
_FIRST = (
    "metric",
    "B − A",
    "p",
    "p (Holm)",
    "A",
    "B",
)  # columns of the table of two runs: a phone shows no more


class _Pair(NamedTuple):
    """Two runs, A and B, as far as they can be compared."""

    runs: tuple[SeedGroup, SeedGroup]
    sides: tuple[_Ends, _Ends]
    other_groups: str  # that their groups are different; "" where they are the same
    differing: str  # in which settings they differ
    ends: tuple[Evaluation, ...]  # of two single runs whose groups were scored; else ()
    complete: tuple[list[int], ...]  # of each which seeds have come to their end
    measured: list[str]  # metrics that both have
    tested: dict[str, Comparison]  # B minus A where there is a paired test, p values corrected together
    given: dict[str, Comparison]  # of just two seeds that both have: the same over the groups alone
    n_groups: int | None = None  # that both have; None where they have different ones, or none were counted
    compared: tuple[
        SeedGroup, ...
    ] = ()  # what `sides` are of: both with the seeds alone that both have complete
    in_common: _InCommon | None = (
        None  # where one has the first groups of the other, which `sides` are of then
    )
    every: tuple[_Ends, ...] = ()  # both with all their complete seeds, where `sides` are of fewer

    @classmethod
    def of(
        cls, first: SeedGroup, second: SeedGroup, store: RunStore, ends_now: Callable[[SeedGroup], _Ends]
    ) -> _Pair:
        """ends_now : the results of a run, or of its seeds."""
        runs = (first, second)
        steps = [store.steps(each.runs[0].id) for each in runs]
        apart, common = _groups_of_both(runs, steps, store)
        if common is not None:
            ends_now = partial(_ends_on, count=common.size, store=store, same=runs)
        sides = (ends_now(first), ends_now(second))
        single = len(first.runs) == len(second.runs) == 1
        kinds = {run.runs[0].kind for run in runs}
        at_work = single and any(
            run.runs[0].live for run in runs
        )  # a p of a result that is none yet misleads
        scored = not apart and single and kinds <= {*_SCORED} and all(side.after for side in sides)
        counts = [int(r[0]["n_groups"]) for r in steps if r and r[0].get("n_groups")]
        count = None if apart or not counts else min(counts)
        ends = _last_iterations(runs, store, count) if scored and not at_work else ()
        names = [name for part, name in sides[0].after if not part and ("", name) in sides[1].after]
        tested, given = ({}, {}) if apart or at_work else _paired_tests(runs, ends, names, store, count)
        whole = tuple(_complete_seeds(run, store) for run in runs)
        shared = {*whole[0]} & {*whole[1]}
        same, every = runs, tuple[_Ends, ...]()
        if tested and not ends and shared < {*whole[0]} | {*whole[1]}:
            # A and B are of the seeds that B − A is of: of others they were 0.5 points apart beside a difference of 0.
            one, other = (run._replace(runs=[r for r in run.runs if seed_of(r) in shared]) for run in runs)
            same, every, sides = (one, other), sides, (ends_now(one), ends_now(other))
        differing = _differing(first, second, steps)
        return cls(
            runs, sides, apart, differing, ends, whole, names, tested, given, count, same, common, every
        )

    @property
    def groups_line(self) -> str:
        """That the two have different groups, or on which that both have they are compared; "" of the same groups."""
        return self.other_groups or (self.in_common.line if self.in_common is not None else "")

    @property
    def _refusal(self) -> str:
        """Why the two have nothing that is compared, where `measured` is empty."""
        beside = filter(None, (_controls_said(sweep.runs[0]) for sweep in self.runs))
        return next(beside, "") or _no_metric_in_common(self.sides)

    @property
    def _shared(self) -> list[int]:
        """The complete seeds that both have, over which they are compared where one of them has several."""
        return sorted({*self.complete[0]} & {*self.complete[1]})

    @property
    def _is_of_one_of_several_seeds(self) -> bool:
        return max(len(run.runs) for run in self.runs) > 1 and len(self._shared) == 1

    @property
    def _on_more_groups(self) -> dict[str, SeedGroup]:
        """By its letter each run that has other groups than those that both have."""
        sizes = (1, 1) if self.in_common is None else self.in_common.counts
        least = 0 if self.in_common is None else self.in_common.size
        return {side: run for side, run, size in zip("AB", self.runs, sizes, strict=True) if size > least}

    @property
    def _own_groups_said(self) -> str:
        """Which groups the gain of each of those is on."""
        return (
            "each on its own groups"
            if self.in_common is None
            else f"on all its {max(self.in_common.counts)} groups"
        )

    @property
    def _at_work(self) -> str:
        """Which of two single runs is still at work, and where: `B is at iteration 3 of 30`; "" where both are over."""
        if max(len(run.runs) for run in self.runs) > 1:
            return ""
        live = ((side, run.runs[0]) for side, run in zip("AB", self.runs, strict=True) if run.runs[0].live)
        return ", ".join(
            f"{side} is at iteration {run.done}{f' of {run.total}' if run.total else ''}"
            for side, run in live
        )

    @property
    def _seeds_so_far(self) -> str:
        """Before a verdict over seeds while some are at work: `So far, with 1 seed of B at work, `; else ""."""
        counts = (
            (side, sum(run.live for run in each.runs)) for side, each in zip("AB", self.runs, strict=True)
        )
        told = [f"{counted(live, 'seed')} of {side}" for side, live in counts if live]
        return f"So far, with {' and '.join(told)} at work, " if told else ""

    def _so_far(self, metric: str) -> str:
        """What two runs have come to in a metric while one is still at work, which is no result: without a test; ""
        where both are over."""
        if not self._at_work:
            return ""
        found = [side.after["", metric] for side in self.sides if ("", metric) in side.after]
        levels = (_level_said(each).removesuffix(" over 1 seed") for each in found)
        told = ", ".join(map(" ".join, zip("AB", levels, strict=False)))
        known = f" {_label_of(metric)} {told}." if len(found) == 2 else " nothing to compare yet."
        when = "Once it is over" if self._at_work.count(" is at ") == 1 else "Once both are over"
        tested = "" if self.other_groups else f" {when}, it is tested whether one is ahead."
        return f"So far ({self._at_work}):{known}{tested}"

    @property
    def _one_seed_line(self) -> str:
        """What a test of one seed of each leaves open; "" where it is of several, nothing depends on the seed,
        or both have the same result, which has no p."""
        adapted = {run.runs[0].kind for run in self.runs} <= {*_ADAPTED}
        if not (self.tested and adapted) or not (self.ends or len(self._shared) == 1) or self._is_same:
            return ""
        if all(_is_seedless(adaptation(run.runs[0].config), self.n_groups or 0) for run in self.runs):
            return ""
        return "One seed of each: p is over the groups alone, and another seed may change the difference."

    @property
    def _missing_seeds(self) -> dict[str, list[int]]:
        """By its letter the seeds that only the other side has, which a paired test lacks; {} of groups that are
        different ones, and of other kinds of run."""
        several = max(len(run.runs) for run in self.runs) > 1
        if not several or self.other_groups or not {run.runs[0].kind for run in self.runs} <= {*_ADAPTED}:
            return {}
        one, other = ({*map(seed_of, run.runs)} for run in self.runs)
        return {side: sorted(lacks) for side, lacks in (("A", other - one), ("B", one - other)) if lacks}

    @property
    def _seeds_line(self) -> str:
        """Which seeds the comparison is of, where it is not of all that either has: `A: 2 seeds; B: 1 of 3 seeds
        complete; compared over seed 0 alone.`; "" of two single runs, and where it is."""
        if max(len(run.runs) for run in self.runs) == 1:
            return ""
        own = [sorted(map(seed_of, run.runs)) for run in self.runs]
        is_whole = [len(whole) == len(seeds) for seeds, whole in zip(own, self.complete, strict=True)]
        shared, every = self._shared, own[0] == own[1] and all(is_whole)
        parts = [
            f"{side}: {counted(len(seeds), 'seed')}"
            if known
            else f"{side}: {len(whole)} of {counted(len(seeds), 'seed')} complete"
            for side, seeds, whole, known in zip("AB", own, self.complete, is_whole, strict=True)
            if not known or (self.tested and not every)
        ]
        if self.tested and not every:
            alone, said = " alone" * (len(shared) == 1), _seeds_said(shared)
            parts.append(f"compared over seed{'s' * (len(shared) > 1)} {said}{alone}, complete in both")
        elif not (self.other_groups or shared) and {run.runs[0].kind for run in self.runs} <= {*_ADAPTED}:
            parts.append(_NO_SHARED_SEED)
        said = "; ".join(parts)
        return f"{said[:1].upper()}{said[1:]}." if said else ""

    def _all_seeds_line(self, metric: str) -> str:
        """What both have come to over all their complete seeds, and the difference of that, which nothing tests; ""
        where the comparison is of all of them."""
        found = [side.after["", metric] for side in self.every if ("", metric) in side.after]
        if len(found) < 2:
            return ""
        told = (f"{side} {_level_said(each)}" for side, each in zip("AB", found, strict=True))
        difference = _signed(found[1].value - found[0].value)
        said = f"All complete seeds: {', '.join(told)}; B − A {difference} points, which is not tested."
        return _true_minus(said)

    @property
    def frame(self) -> pd.DataFrame:
        """A row per metric of both, in numbers."""
        return self._frame(over_seeds=not self.ends and len(self._shared) > 1, digits=None)

    @property
    def table(self) -> pd.DataFrame:
        """The same as a page shows it: in the form of the results on the cards of the runs, what tells the two apart
        first; without differences where all are 0, which `_table_note` says once."""
        said = _pair_said(self._frame(digits=None), as_on_cards=True)
        if self._is_same:
            return said.drop(columns=["B − A", "p", "p (Holm)"])
        first = [name for name in _FIRST if name in said]
        return said[[*first, *(name for name in said if name not in first)]]

    @property
    def _is_same(self) -> bool:
        """Whether both have the same result in every group, by every metric."""
        found = self.tested.values()
        return bool(found) and not any(each.fixed or each.broken or each.difference for each in found)

    def _frame(self, **shown: Any) -> pd.DataFrame:
        """With the results before adaptation where those of the runs' pages are of other groups. shown : of
        `_pair_frame`."""
        return _pair_frame(self.sides, self.measured, self.tested, before=self.in_common is not None, **shown)

    @property
    def note(self) -> str:
        """How the table of all metrics is read."""
        return self._note(with_differences=bool(self.tested))

    @property
    def _table_note(self) -> str:
        """How `table` is read."""
        if not self._is_same:
            return self.note
        same = "B − A is 0 by every metric; exported tables have its intervals and p."
        return f"{self._note(with_differences=False)} {same}"

    def _note(self, with_differences: bool) -> str:
        counts = [len(run.runs) for run in self.runs]
        several = max(counts) > 1
        ends = [max(each.done for each in run.runs) for run in self.runs]
        lengths = f" (A after {ends[0]}, B after {ends[1]})" if ends[0] != ends[1] else ""
        where = "" if self.in_common is None else f", {self.in_common.where}"
        parts = [
            f"In percent{where}, last iterations{lengths}; brackets: 95 % intervals"
            + (
                ", of a mean over seeds and groups, ±: standard deviation over seeds (n − 1)."
                if several
                else "."
            )
        ]
        if self.in_common is not None and any(side.before for side in self.sides):
            parts.append("Before: before adaptation, on the same groups.")
        if with_differences:
            over = (
                "of the same groups"
                if not several
                else f"of seed {self._shared[0]}, which both have, over groups"
                if len(self._shared) == 1
                else "of the seeds that both have, as A and B, over seeds and groups"
            )
            parts.append(
                f"B − A in points, {over}; p of the paired test; p (Holm): corrected for "
                f"{self.tests} metrics; the intervals are uncorrected."
            )
        if 2 in counts:
            parts.append("Two seeds cannot tell how much seeds matter, so intervals over them are wide.")
        return " ".join(parts)

    def latex(self, about: Sequence[str]) -> str:
        """The table of all metrics in LaTeX. about : which runs they are, a sentence each."""
        notes = [
            *about,
            self.differing,
            *filter(None, [self.in_common and self.in_common.line, self._one_seed_line, self._seeds_line]),
            *filter(None, [self._all_seeds_line(next(iter(self.in_order), ""))]),
            *filter(None, [self._so_far(next(iter(self.in_order), ""))]),
            self.note,
            *filter(None, [self.two_seeds(next(iter(self.in_order), ""))]),
            *[_made(self.tested)] * bool(self.tested and self.ends),
            *[_exact_differences(2)] * bool(self.tested),
        ]
        frame = self.frame
        said = _pair_said(frame.drop(columns=[name for name in frame if str(name).endswith(": tied")]))
        return text_table_latex(said, [*notes, _ties_said(frame), *_software_note()])

    def record(self) -> dict[str, Any]:
        """JSON-safe: both results of every metric, and the test where there is one."""
        rows = {
            name: {
                **{side: of.after["", name]._asdict() for side, of in zip("ab", self.sides, strict=True)},
                **self._before(name),
                "difference": self.tested[name].record() if name in self.tested else None,
            }
            for name in self.measured
        }
        main = next(iter(self.in_order), "")
        said = self.verdict(main).replace("**", "") if main in self.tested else None
        known: dict[str, Any] = {"a": self.runs[0].id, "b": self.runs[1].id, "verdict": said}
        if max(len(run.runs) for run in self.runs) > 1:
            known |= {"seeds": {**dict(zip("ab", self.complete, strict=True)), "compared": self._shared}}
            known |= {"seeds_line": self._seeds_line}
            known |= {"all_seeds_line": told} if (told := self._all_seeds_line(main)) else {}
        known |= {"one_seed": told} if (told := self._one_seed_line) else {}
        known |= {"so_far": told} if (told := self._so_far(main)) else {}
        known |= {"two_seeds": told} if (told := self.two_seeds(main)) else {}
        if self.in_common is not None:
            known |= {"groups_in_common": self.in_common.size, "groups_line": self.groups_line}
        return {**known, "other_groups": self.other_groups, "differing": self.differing, "metrics": rows}

    def _before(self, metric: str) -> dict[str, Any]:
        """JSON-safe: a metric before adaptation on the groups that both have, where these are not all that each has."""
        sides = {} if self.in_common is None else dict(zip("ab", self.sides, strict=True))
        return {
            f"{side}_before": of.before["", metric]._asdict()
            for side, of in sides.items()
            if ("", metric) in of.before
        }

    def two_seeds(self, metric: str) -> str:
        """What two seeds leave open of the difference in a metric, and what holds by the groups alone; "" where the
        comparison is not over two."""
        if metric not in self.given:
            return ""
        found = self.tested[metric]
        return _true_minus(" ".join(_two_seeds_told(_label_of(metric), found, self.given[metric])))

    @property
    def in_order(self) -> list[str]:
        """The metrics that both have, what the runs are about first."""
        main = _main_metric(self.sides[0])
        return sorted(self.measured, key=lambda name: name != main)

    def verdict(self, metric: str, first: str = "A", second: str = "B") -> str:
        """Whether B is ahead of A in a metric that was tested, where both interval and p, corrected, say so; the words
        that say which, then the numbers. first, second : what the two are called in the words."""
        found, name = self.tested[metric], _label_of(metric)
        name += "" if self.in_common is None else f" {self.in_common.where}"
        name = f"{self._seeds_so_far}{name}"
        name += f": with seed {self._shared[0]} alone, " if self._is_of_one_of_several_seeds else ": "
        if not (found.fixed or found.broken):
            mean = "" if self.ends or len(self._shared) < 2 else ", in the mean over seeds"
            return f"**{name}{first} and {second} have the same result in every group**{mean}."
        said = _ahead_said(found, first, second, self.tests, what="this comparison")
        p = found.p_value if found.p_holm is None else found.p_holm
        after = f"{_p_text(p)} {_after_holm(self.tests)}" if self.tests > 1 else _p_text(p)
        if _is_unproven(
            found
        ):  # the corrected p stands in the verdict, beside the interval that of the interval
            after = f"{_p_text(found.p_value)} by itself"
        return _true_minus(
            f"**{name}{said}**, B − A {_signed(found.difference)} points ({_interval_head(self.tests)} "
            f"{_signed_range(found.low, found.high)}, p {after})."
        )

    @property
    def tests(self) -> int:
        """For how many tests the p values are corrected: metrics that are one, as on groups of one image, are one."""
        return len(Metric.same(self.tested))


def _level_said(found: _Result) -> str:
    """`66.8 ± 1.0 % (60.2–73.0) over 4 seeds`"""
    sd = "" if found.sd is None else f" ± {_pct(found.sd)}"
    interval = "" if found.low is None else f" ({_pct(found.low)}–{_pct(found.high)})"
    return f"{_pct(found.value)}{sd} %{interval} over {counted(found.seeds, 'seed')}"


def _label_of(metric: str) -> str:
    return "mAP" if metric == COLA_MAP else metrics.description_of(metric).label


def _two_seeds_told(label: str, found: Comparison, over_groups: Comparison) -> tuple[str, str]:
    """What two seeds leave open of a difference between A and B, and what holds by the groups alone: the head of a
    sentence and its rest."""
    over = f"{_over_groups_said(over_groups)}."
    if not _is_undecided(found):
        return "Two seeds cannot tell how much seeds matter;", over
    return f"{_UNDECIDED} A and B differ in {label}:", f"B − A {_signed(found.difference)} points; {over}"


def _made(tested: Mapping[str, Comparison]) -> str:
    """How the intervals and p of two single runs are made."""
    tested = {name: tested[name] for name in Metric.same(tested)}
    return (
        f"Intervals: Clopper-Pearson, of differences {_PAIRED_INTERVALS}; p by {_exact_tests(tested)}. "
        f"{_interval_note(tested)}"
    )


def _ties_said(frame: pd.DataFrame) -> str:
    """`Tied groups, which count as wrong: A: GroupScore 3.`; of seeds their mean."""
    found = [
        f"{side}: {row['metric']} {row[f'{side}: tied']:.3g}"
        for row in frame.to_dict("records")
        for side in ("A", "B", "A before", "B before")
        if row.get(f"{side}: tied") == row.get(f"{side}: tied") and row.get(f"{side}: tied")
    ]
    return f"Tied groups, which count as wrong: {'; '.join(found) or 'none'}."


def _other_groups(first: SeedGroup, second: SeedGroup) -> str:
    """That two runs have different groups, and which; "" where they have the same."""
    runs = [sweep.runs[0] for sweep in (first, second)]
    if _RunGroups.of(runs[0]).same(_RunGroups.of(runs[1])):
        return ""
    sets = [run.config.get("benchmark", "") for run in runs]
    names = f", {sets[0]} and {sets[1]}" if sets[0] != sets[1] else ""
    return (
        f"These two runs have different groups{names}. That alone can set their curves apart, so there is no paired "
        "difference."
    )


def _one_within(first: SeedGroup, second: SeedGroup) -> bool:
    """Whether one of two runs has the first groups of the other, or the same, and the scores of every group are kept of
    both."""
    one, other = (_RunGroups.of(sweep.runs[0]) for sweep in (first, second))
    return one.within(other) and {sweep.runs[0].kind for sweep in (first, second)} <= {*_SCORED}


def _groups_of_both(
    both: Sequence[SeedGroup], steps: Sequence[Sequence[Mapping[str, Any]]], store: RunStore
) -> tuple[str, _InCommon | None]:
    """That two runs have different groups, with why they cannot be compared on those that both have; "" where they are
    compared. And the groups that both have, where one has the first of the other.

    steps : the records of one run of each.
    """
    apart, kinds = _other_groups(*both), {sweep.runs[0].kind for sweep in both}
    one, other = (_RunGroups.of(sweep.runs[0]) for sweep in both)
    if not apart or not one.within(other):
        return apart, None
    if not _one_within(*both):
        return (
            f"{apart} Some of their groups are the same, but of a run of this kind only a summary of all is kept."
        ), None
    a, b = (int(records[0]["n_groups"]) if records else 0 for records in steps)
    if not (a and b):
        return apart, None
    if a == b:  # a limit of more than there are
        return "", None
    try:
        _groups_of(*_runs_in(*both))
        for run in (run for sweep in both for run in sweep.runs if run.done):
            store.scores(run.id, run.done)
    except InputError as error:
        return f"{apart} Those that both have cannot be compared alone: {error}", None
    others = (said for said in _differing_settings(both[0], both[1], steps) if not said.startswith("groups "))
    return "", _InCommon((a, b), kinds <= {*_ADAPTED}, tuple(others))


def _ends_on(sweep: SeedGroup, store: RunStore, same: Sequence[SeedGroup], count: int) -> _Ends:
    """What a run has come to on its first `count` groups alone, measured anew from its scores.

    same : the two that are compared, whose data serve where its own are not here.
    """
    whole = _complete(sweep.runs, store)
    taken = whole or [run for run in sweep.runs if store.steps(run.id)]
    before, after = _evaluations_on(taken, store, (sweep, *same), count)
    if not after:
        return _Ends({}, {}, "", len(whole))
    known = {}
    if len(whole) > 1:
        found = SeedResult.of_seeds(before, after, {"": np.ones(count, bool)})
        known = {("", each.metric): (each.before, each.after) for each in found}
    records = [
        [{"metrics": {name: end.record() for name, end in each.metrics.items()}} for each in ends]
        for ends in zip(before, after, strict=True)
    ]
    return _ends_of(sweep._replace(runs=taken), records, known)._replace(complete=len(whole))


def _evaluations_on(
    taken: Sequence[Run], store: RunStore, same: Sequence[SeedGroup], count: int
) -> tuple[list[Evaluation], list[Evaluation]]:
    """Some runs before their first iteration and after their last one, on their first `count` groups alone; nothing of
    groups without a ground truth. same : as of `_ends_on`."""
    truth = _groups_of(*_runs_in(*same)).truth
    before, after = (
        [Evaluation.of(store.scores(run.id, run.done if last else 0)[:count], truth[:count]) for run in taken]
        if truth is not None
        else []
        for last in (False, True)
    )
    return before, after


def _steps_on(run: Run, store: RunStore, same: Sequence[SeedGroup], count: int) -> list[dict[str, Any]]:
    """The records of a run's iterations with what they measure on its first `count` groups alone, from the scores that
    each has left; [] of groups without a ground truth. same : as of `_ends_on`."""
    truth = _groups_of(run, *_runs_in(*same)).truth
    if truth is None:
        return []
    found = []
    for step in store.steps(run.id):
        measured = Evaluation.of(store.scores(run.id, step["iteration"])[:count], truth[:count])
        found.append({**step, "metrics": {name: end.record() for name, end in measured.metrics.items()}})
    return found


def _groups_of(*runs: Run) -> GroupSet:
    """The groups that these runs, which leave the scores of every group, have in common: of the first whose data are on
    this machine, as one that was imported knows a file by its name alone. InputError where none are."""
    missing = None
    for run in runs:
        of = EvaluationRun.read if run.kind == EvaluationRun.kind else adaptation
        try:
            return of(run.config).load_groups()
        except InputError as error:
            missing = missing or _file_is_gone(run) or error
    raise missing or InputError("No run is given.")


def _runs_in(*sweeps: SeedGroup) -> list[Run]:
    return [run for sweep in sweeps for run in sweep.runs]


def _file_is_gone(run: Run) -> InputError | None:
    """That a run's file of embeddings is not where it says, why, and what to do; None where it is."""
    path = Path(run.config.get("embeddings") or "")
    if not path.name or is_file(path):
        return None
    if path.is_absolute():
        return InputError(f"The embeddings of run {run.id} are no longer at {path}; put the file back there.")
    return InputError(
        f"The embeddings of run {run.id}, {path}, are not here: a run that was imported knows its file by name alone. "
        "Start this in the folder where that file lies."
    )


def _last_iterations(
    both: Sequence[SeedGroup], store: RunStore, count: int | None = None
) -> tuple[Evaluation, ...]:
    """The results of two single runs on the same groups, the first `count` of each; () where these have no ground
    truth."""
    runs = [sweep.runs[0] for sweep in both]
    groups = _groups_of(*runs)
    if groups.truth is None:
        return ()
    of = partial(Evaluation.of, truth=groups.truth[:count], ids=groups.ids[:count])
    return tuple(of(store.scores(run.id, run.done)[:count]) for run in runs)


def _complete(runs: Sequence[Run], store: RunStore) -> list[Run]:
    """The seeds of a run that have come to their end."""
    return [run for run in runs if not run.live and _is_over(run, store.steps(run.id))]


def _complete_seeds(sweep: SeedGroup, store: RunStore) -> list[int]:
    return [*map(seed_of, _complete(sweep.runs, store))]


def _ends_by_seed(
    sweep: SeedGroup, store: RunStore, *same: SeedGroup, count: int | None = None
) -> dict[int, Evaluation]:
    """Every complete seed after its last iteration; {} where the groups have no ground truth.

    same : others that have the same groups, whose data serve where its own are not here. count : only the first so many
    groups, those that all of them have.
    """
    groups = _groups_of(*_runs_in(sweep, *same))
    if groups.truth is None:
        return {}
    of = partial(Evaluation.of, truth=groups.truth[:count], ids=groups.ids[:count])
    return {seed_of(run): of(store.scores(run.id, run.done)[:count]) for run in _complete(sweep.runs, store)}


def _outcomes(ends: Mapping[int, Evaluation], metric: str) -> dict[int, np.ndarray]:
    """The outcomes (n,) of a metric by seed; {} of one that has none per group."""
    return {seed: each.outcomes[metric].value for seed, each in ends.items() if metric in each.outcomes}


def _paired_tests(
    both: Sequence[SeedGroup],
    ends: Sequence[Evaluation],
    names: Sequence[str],
    store: RunStore,
    count: int | None = None,
) -> tuple[dict[str, Comparison], dict[str, Comparison]]:
    """B minus A in every metric with a paired test, p values corrected together: of two results on the same groups, or
    of the seeds that both have complete; {} where there is none. And of just two seeds the same over groups alone.

    ends : the two results, () of several seeds. count : the first groups, so many, that both have.
    """
    if ends:
        return dict(differences(ends[0], ends[1])), {}
    if not {sweep.runs[0].kind for sweep in both} <= {*_ADAPTED}:
        return {}, {}
    first, second = (_ends_by_seed(sweep, store, *both, count=count) for sweep in both)
    found, given = {}, {}
    for name in names:
        a, b = (_outcomes(side, name) for side in (first, second))
        if seeds := sorted({*a} & {*b}):
            one, other = (np.stack([side[seed] for seed in seeds]).astype(float) for side in (a, b))
            found[name] = Comparison.over_seeds(one, other)
            if len(seeds) == 2:
                given[name] = compare(np.zeros(one.shape[1]), (other - one).mean(axis=0))
    same = Metric.same(found)
    once = Comparison.holm({name: found[name] for name in same})
    return {name: once[one] for one, alike in same.items() for name in alike}, given


def _main_metric(ends: _Ends) -> str | None:
    """The metric that a run is about; None where it has none that is known here."""
    known = (metrics.GROUP_MATCH, COLA_MAP, *metrics.METRICS, *metrics.GLOBAL)
    return next((name for name in known if ("", name) in ends.after), None)


def _controls_said(run: Run) -> str:
    """What a ledger is, which is no result of its own and so compared with none; "" of any other run."""
    if run.kind != LedgerRun.kind:
        return ""
    job = adaptation(run.config)
    each = job.settings.iterations
    return (
        f"Controls of TTM: {counted(job.total // each, 'training')} of {counted(each, 'iteration')} each, the last of "
        "them TTM itself, the others on other pseudo-labels or groups; they stand beside a TTM run, not against it."
    )


def _no_metric_in_common(sides: Sequence[_Ends]) -> str:
    """Why two runs have no metric in common."""
    names = [[name for part, name in ends.after if not part] for ends in sides]
    if not all(names):
        return "One of the two has no finished iteration yet, or no ground truth."
    known = ({*metrics.METRICS, *metrics.GLOBAL, COLA_MAP} & {*each} for each in names)
    labels = lambda each: "mAP" if each == COLA_MAP else metrics.description_of(each).label  # noqa: E731
    measured = (", ".join(sorted(map(labels, each))) for each in known)
    return "They measure different things: {}, and {}; choose two runs of one kind.".format(*measured)


def _ends_now(sweep: SeedGroup, store: RunStore, others: Sequence[SeedGroup] = ()) -> _Ends:
    """What a run has come to so far; of seeds the mean over those that are complete, with its interval over seeds and
    groups where there are several and the groups have a ground truth.

    others : runs whose data serve where its own are not here, those of them that have the same groups.
    """
    own = _RunGroups.of(sweep.runs[0])
    same = [run for run in _runs_in(*others) if own.same(_RunGroups.of(run))]
    steps, job = [store.steps(run.id) for run in sweep.runs], sweep.runs[0].kind in RUNS
    known = {}
    if job and len(whole := _complete(sweep.runs, store)) > 1:
        groups = None
        with suppress(InputError):  # data that are not on this machine, as of a run that was imported
            groups = _groups_of(*whole, *same)
        if groups is not None and groups.truth is not None:
            before, after = (
                [Evaluation.of(store.scores(run.id, run.done if last else 0), groups.truth) for run in whole]
                for last in (False, True)
            )
            found = SeedResult.of_job(adaptation(whole[0].config), groups, before, after)
            known = {(each.part, each.metric): (each.before, each.after) for each in found}
    return _ends_of(sweep, steps, known)
