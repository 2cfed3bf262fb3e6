"""What several seeds have come to, as a table in LaTeX and in a report: mean ± deviation, gain with interval and p."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from core.base.text import (
    _KEPT,
    _change_in_points,
    _pct,
    _signed,
    _signed_end,
    _signed_range,
    _true_minus,
    counted,
    p_digits,
)
from core.exchange.layouts import (
    _chance_rows,
    _difference_rows,
    _estimate_cell,
    _software_note,
    _stacked_line,
    _tabular,
    _with_raised_powers,
)
from core.exchange.run_table import _OVER_SEEDS
from core.metrics.evaluation import Evaluation
from core.metrics.group_metrics import IMAGE_SCORE
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS
from core.metrics.statistics import Comparison, Estimate
from core.ttm.records import _SAME_SEEDS, SeedChange, _headline, _rise_told
from core.ttm.seeds import SeedSpread, spread

if TYPE_CHECKING:
    from core.groups import GroupSet
    from core.ttm.run import AdaptationRun

_READING = (
    "The interval of a mean, and of the gain in it, is over seeds and groups; ± is the standard deviation over seeds "
    "(n − 1), which is no interval. What one more seed may gain "
    "is a 95 % prediction on these same groups. Fixed: wrong before training and right after it; broken: the other way "
    "round; both in the mean over seeds."
)


# Two families: a run is judged by its main metrics, which were chosen before it began and stand alone on its page;
# whoever looks at every metric chooses among all of them afterwards.
_HOLM = (
    "Holm: p of the main metrics (GroupScore, GroupMatch), which a run is judged by, corrected for these alone; of the "
    "others for all metrics of the run."
)
_TESTS = f"Gains in points; p: {_OVER_SEEDS}; an interval whose p is above 0.05 reaches 0 at least."


class SeedResult(NamedTuple):
    """One metric of several seeds on the same groups, before training and after it.

    part : of a transfer check which groups, or "". before : as of one run where all seeds begin alike. after : the
    mean, with its interval over seeds and groups. ties : after each seed. gain : in points. change : the gain with
    interval and p; None where it was not tested.
    """

    metric: str
    part: str
    before: Estimate
    after: Estimate
    spread: SeedSpread
    ties: list[int | None]
    gain: float
    change: SeedChange | None
    family: tuple[str, ...] = ()  # the tests that p is corrected for (Holm), by label

    @classmethod
    def of_seeds(
        cls, before: Sequence[Evaluation], after: Sequence[Evaluation], parts: Mapping[str, np.ndarray]
    ) -> list[SeedResult]:
        """Every metric of every part; before and after have an evaluation for each seed.

        parts : as of `SeedChange.of_seeds`, whose p values of the main metrics are those of the page.
        """
        changes, found = SeedChange._of_every_metric(before, after, parts), []
        mains = _headline(after[0])
        for part, mask in parts.items():
            ends = [[each.select(mask) for each in of] for of in (before, after)]
            for name in ends[0][0].outcomes:
                first, last = (_mean(of, name) for of in ends)
                values = [each.metrics[name] for each in ends[1]]
                change = changes.get(_labelled(name, part))
                family = [
                    _labelled(n, p) for p in parts for n in (mains if name in mains else ends[0][0].outcomes)
                ]
                found.append(
                    cls(
                        name,
                        part,
                        first,
                        last,
                        spread([each.value for each in values]),
                        [each.ties for each in values],
                        _change_in_points(first.value, last.value, digits=_KEPT),
                        change,
                        tuple(family),
                    )
                )
        return found

    @classmethod
    def of_job(
        cls, job: AdaptationRun, groups: GroupSet, before: Sequence[Evaluation], after: Sequence[Evaluation]
    ) -> list[SeedResult]:
        """The same of a run's description on its groups: of a transfer check each part; nothing where no seed is."""
        if not after:
            return []
        pool = job.pool(groups.blind())
        whole = {"": np.ones(len(groups), bool)}
        return cls.of_seeds(before, after, whole if pool is None else {"adapted": pool, "untouched": ~pool})

    def line(self) -> str:
        """As a terminal shows it: before and after with intervals, chance and ties; the gain with interval and p."""
        e, of = self.after, f"{self.part} {METRICS[self.metric].label}".strip()
        gain = f"gain {_signed(self.gain, 2)}"
        if self.change is not None:
            mean = self.change.mean
            tests = counted(len(self.family), "test")
            holm = "" if mean.p_holm is None else f", Holm {p_digits(mean.p_holm)} of {tests}"
            gain += f" [{_signed_end(mean.low, 2)}, {_signed_end(mean.high, 2)}], p {p_digits(mean.p_value)}{holm}"
        return (
            f"{of:<16} before {_estimate_cell(self.before)}  after {self} [{_pct(e.low, 2)}, {_pct(e.high, 2)}], "
            f"chance {_pct(e.chance, 2)}, {_ties(self)}  {gain}"
        )

    def __str__(self) -> str:
        """`74.67 ± 1.12`; without a deviation of one seed."""
        std = "" if self.spread.std is None else f" ± {_pct(self.spread.std, 2)}"
        return f"{_pct(self.spread.mean, 2)}{std}"

    def record(self) -> dict[str, Any]:
        """JSON-safe."""
        head = {"metric": self.metric, "part": self.part, "before": self.before.record()}
        after = {**self.after.record(), "std": self.spread.std, "seeds": self.spread.seeds, "ties": self.ties}
        change = None if self.change is None else self.change.mean.record()
        return {**head, "after": after, "gain": self.gain, "difference": change}

    @staticmethod
    def latex(results: Sequence[SeedResult], about: str = "") -> str:
        """A table for each part: before, the mean ± deviation after, and the gain with its interval and p.

        about : what was run, on how many groups, with which settings.
        """
        return "\n\n".join(_latex_table(part, own, about) for part, own in _by_part(results).items())

    @staticmethod
    def html(results: Sequence[SeedResult]) -> str:
        """The same as a piece of a report; "" of nothing."""
        if not results:
            return ""
        counts = [n for each in results if each.change for n in each.change._mean_counts]
        digits = 2 if any("." in count for count in counts) else 0  # one column, one number of digits
        rows = "".join(_html_row(each, digits) for each in results)
        seeds = counted(results[0].spread.seeds, "seed")
        head = (
            f"<tr><th>Metric</th><th>Before [95&nbsp;%]</th><th>After, mean of {seeds} ± SD [95&nbsp;%]</th>"
            "<th>Gain in points [95&nbsp;%]</th><th>p</th><th>Holm</th><th>One more seed may gain</th><th>Fixed</th>"
            "<th>Broken</th></tr>"
        )
        return (
            f'<h3>Mean of {seeds}</h3><p class="quiet">{" ".join([_READING, _HOLM, *_remarks(results)])}</p>'
            f'<div class="wide"><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>'
        )


def _labelled(metric: str, part: str) -> str:
    """As `SeedChange.of_seeds` calls what it tests."""
    return f"{METRICS[metric].label}{f', {part}' if part else ''}"


def _mean(seeds: Sequence[Evaluation], name: str) -> Estimate:
    """The mean over seeds; where all have the same outcomes the estimate that one of them has by itself."""
    first, outcomes = seeds[0], np.array([each.outcomes[name].value for each in seeds])
    if (outcomes == outcomes[0]).all():
        return first.metrics[name]
    return Estimate.over_seeds(outcomes, first.metrics[name].chance, METRICS[name].parts(first.shape[0]))


def _by_part(results: Sequence[SeedResult]) -> dict[str, list[SeedResult]]:
    found: dict[str, list[SeedResult]] = {}
    for each in results:
        found.setdefault(each.part, []).append(each)
    return found


def _latex_table(part: str, results: Sequence[SeedResult], about: str) -> str:
    where, seeds = f", {part}" if part else "", counted(results[0].spread.seeds, "seed")
    names, label = [each.metric for each in results], f"after, mean of {seeds}{where}"
    tested = {each.metric: each.change.mean for each in results if each.change is not None}
    rows = [
        *_stacked_line([f"before{where}", *(_estimate_cell(each.before) for each in results)]),
        *_stacked_line(
            [label, *(f"{each} [{_pct(each.after.low, 2)}, {_pct(each.after.high, 2)}]" for each in results)]
        ),
        *_chance_rows([(label, {each.metric: each.after for each in results})], names),
        r"\midrule",
        *_difference_rows(
            "mean gain", names, [_true_minus(_signed(each.gain, 2)) for each in results], tested
        ),
    ]
    notes = [f"{about.rstrip('.')}."] * bool(about) + _latex_notes(results, tested)
    return "\n".join(_tabular(["In percent", *(METRICS[name].label for name in names)], rows, notes))


def _latex_notes(results: Sequence[SeedResult], tested: Mapping[str, Comparison]) -> list[str]:
    """What the cells of the table leave out: how its intervals are made, its ties, what has no p."""
    notes = [
        "Brackets: 95 % intervals, after training over seeds and groups; ±: standard deviation over seeds (n − 1), "
        "which is no interval."
    ]
    for when, ties in (
        ("before", {each.metric: each.before.tied for each in results}),
        ("after", {each.metric: _ties(each) for each in results}),
    ):
        found = [f"{METRICS[name].label} {tied}" for name, tied in ties.items() if tied != "no ties"]
        notes.append(f"Tied groups, which count as wrong, {when}: {', '.join(found) or 'none'}.")
    if tested:
        notes.append(_TESTS)
    if len(tested) > 1:
        notes.append(_HOLM)
    if untested := [METRICS[each.metric].label for each in results if each.metric not in tested]:
        notes.append(f"– for p: {', '.join(untested)} {'is' if len(untested) == 1 else 'are'} not tested.")
    return notes + _cautions(results) + _software_note()


def _below_lines(results: Sequence[SeedResult]) -> list[str]:
    """What a terminal says below the line of every metric: which test p is of and what it is corrected for, and what
    the numbers leave open."""
    tested = sum(each.change is not None for each in results)
    return [f"p: {_OVER_SEEDS}."] * bool(tested) + [_HOLM] * (tested > 1) + _cautions(results)


def _cautions(results: Sequence[SeedResult]) -> list[str]:
    """What the numbers of seeds do not say by themselves: what two of them leave open, and what a rise is worth."""
    mains = (GROUP_SCORE, GROUP_MATCH) if IMAGE_SCORE in {r.metric for r in results} else (GROUP_MATCH,)
    told = [
        " ".join(r.change._told(_labelled(r.metric, r.part)))
        for r in results
        if r.change and r.change._is_undecided and r.metric in mains
    ]
    return [*map(_true_minus, told), *_remarks(results)]


def _remarks(results: Sequence[SeedResult]) -> list[str]:
    tested = [each for each in results if each.change is not None]
    same = any(each.change.same for each in tested if each.change)
    both = {GROUP_SCORE, GROUP_MATCH} <= {each.metric for each in tested}
    means = {f"{METRICS[e.metric].label}, {e.part}": e.change.mean for e in tested if e.change}
    return [_rise_told(means)] * both + [_SAME_SEEDS] * same


def _ties(found: SeedResult) -> str:
    """`no ties`, or how many each seed has."""
    if None in found.ties:
        return "ties not counted"
    return f"tied by seed {', '.join(map(str, found.ties))}" if any(found.ties) else "no ties"


def _html_row(found: SeedResult, digits: int) -> str:
    label = f"{METRICS[found.metric].label}{f', {found.part}' if found.part else ''}"
    first, last = found.before, found.after
    return (
        f"<tr><th>{escape(label)}</th>"
        f'<td class="num"><b>{_pct(first.value, 2)}</b> [{_pct(first.low, 2)}, {_pct(first.high, 2)}]<br>'
        f'<span class="quiet">chance {_pct(first.chance)}, {first.tied}</span></td>'
        f'<td class="num"><b>{found}</b> [{_pct(last.low, 2)}, {_pct(last.high, 2)}]<br>'
        f'<span class="quiet">chance {_pct(last.chance)}, {_ties(found)}</span></td>{_gain_cells(found, digits)}</tr>'
    )


def _gain_cells(found: SeedResult, digits: int) -> str:
    """digits : of the groups that a seed fixes and breaks on average."""
    if found.change is None:
        return f'<td class="num">{_true_minus(_signed(found.gain, 2))}, not tested</td>' + "<td>–</td>" * 5
    mean, more = found.change.mean, found.change.next_gain
    cells = [
        f"<b>{_signed(found.gain, 2)}</b><br>[{_signed_end(mean.low, 2)}, {_signed_end(mean.high, 2)}]",
        _with_raised_powers(p_digits(mean.p_value)),
        _with_raised_powers(p_digits(mean.p_holm)),
        "–" if more is None else f"{_signed_range(more[0], more[1], 2)}",
        *(f"{np.mean(counts):.{digits}f}" for counts in (found.change.fixed, found.change.broken)),
    ]
    return "".join(f'<td class="num">{_true_minus(cell)}</td>' for cell in cells)
