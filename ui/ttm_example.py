"""What comes out, on the form of the test-time matching page: measured runs of the selected set and model where such
ship, else a finished run as an example, before one of one's own has ended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from zipfile import ZipFile

import numpy as np
import streamlit as st

from core import figures as plots
from core.base.text import _change_in_points, _pct, _signed, _signed_range, counted
from core.exchange.example import ARCHIVE
from core.figures.text import escape_markdown, metric_line
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS
from core.metrics.statistics import Comparison, Estimate
from core.runs.store import RunStore
from core.ttm.records import _next_gain
from core.ttm.run import AdaptationRun, TTMRun
from core.ttm.seeds import summary
from ui.export import chart
from ui.formatting import by_shared, exact_differences_once, rounding_note, true_minus
from ui.runs import KINDS, estimate_of
from ui.ttm_shifts import measured_before, measured_runs, of_all

_HEIGHT = 260


def section(store: RunStore, job: AdaptationRun, evaluation: Evaluation) -> None:
    """Curves of what was measured on the selected set with the selected model; where nothing was, those of the run that
    ships, for whoever has no finished run.

    job : the run that the form describes. evaluation : of all groups, before adaptation.
    """
    runs = _measured(job, evaluation)
    if runs:
        _of_selection(runs, *_before(job), job.groups, _shipped_end(job), _other_interval(evaluation))
    elif not any(
        run.status == "finished" and run.kind in KINDS and not run.is_example for run in store.list()
    ):
        _of_another(job.benchmark, job.model)


def is_measured(job: AdaptationRun, evaluation: Evaluation) -> bool:
    """Whether runs of this set and model ship."""
    return bool(_measured(job, evaluation))


def group_match_ends(runs: Sequence[Sequence[Mapping[str, Any]]]) -> np.ndarray:
    """GroupMatch in percent before and after each of these runs, (runs, 2)."""
    ends = [[steps[at]["metrics"][GROUP_MATCH]["value"] for at in (0, -1)] for steps in runs]
    return np.array(ends).reshape(-1, 2)


def measured_gains(job: AdaptationRun, shape: tuple[int, int]) -> tuple[np.ndarray, float]:
    """Points of GroupMatch that each of the runs that ship has gained, where a finished run is one like them, and their
    GroupMatch in percent before; none of another run."""
    none = np.empty(0), 0.0
    if (
        not isinstance(job, TTMRun)
        or job.benchmark is None
        or job.tags
        or job.groups
        or job.adapt_on
        or job.oracle
    ):
        return none
    usual, any_seed = TTMRun.of(job.benchmark, job.model), {"seed": 0}
    settings = [each.settings.model_copy(update=any_seed) for each in (job, usual)]
    if job.split != usual.split or settings[0] != settings[1]:
        return none
    ends = group_match_ends(measured_runs(job.model, job.benchmark, shape))
    return (ends[:, 1] - ends[:, 0], float(ends[:, 0].mean())) if len(ends) else none


def _measured(job: AdaptationRun, evaluation: Evaluation) -> list[list[dict[str, Any]]]:
    """The shipped runs of its set and model, by seed; [] for another kind of run, a file, another split or a part
    of the groups."""
    if not isinstance(job, TTMRun) or job.benchmark is None or job.split != "test" or job.tags:
        return []
    m, k = evaluation.shape
    return measured_runs(job.model, job.benchmark, (m, k))


def _before(job: AdaptationRun) -> tuple[Estimate, int]:
    found = measured_before(job.model, job.benchmark or "")
    assert found is not None  # where runs ship, the scores before them do too
    return found


def few_groups_line(job: AdaptationRun, evaluation: Evaluation) -> str:
    """Of a run of fewer groups than those that were measured: what it can show, before what the others did; "" of a run
    of all of them. Markdown.

    Two models differ on at least as many groups as the measured gain is of, all of them to one side: the best case.
    """
    runs = _measured(job, evaluation)
    if not runs or not job.groups:
        return ""
    ends = group_match_ends(runs)
    least = Comparison.detectable_difference(job.groups, abs(float((ends[:, 1] - ends[:, 0]).mean())))
    groups, label = counted(job.groups, "group"), METRICS[GROUP_MATCH].label
    shown = (
        f"{groups} cannot tell any change of {label} from chance"
        if least is None
        else f"With {groups} only a change of {label} of about {least:.0f} points or more can be told from chance"
    )
    return f"**{shown}** (McNemar's exact test at 5 %, 80 % power, at best). No shipped run is so small."


def _of_selection(
    runs: Sequence[Sequence[Mapping[str, Any]]],
    before: Estimate,
    groups: int,
    few: int | None,
    shipped: float | None = None,
    interval: str = "",
) -> None:
    """Mean curves with one standard deviation over seeds, and what they come to, whatever the form now asks for.

    before : of those runs; groups : how many they are of. few : how many a run of fewer has, of which this is no
    promise: folded, and named as what it is. shipped : where the example ended, if it is of this set and model.
    interval : what that before is, where Matching has another one.
    """
    place = st.expander(f"What came out with all {groups} groups, not {few}") if few else st.container()
    with place:
        _figure_and_words(runs, before, groups, shipped, interval)


def _other_interval(evaluation: Evaluation) -> str:
    """What the interval before is, where Matching shows the one to quote, by caption; "" where both are one."""
    found = evaluation.metrics[GROUP_MATCH]
    if found.clustered is None or not by_shared(found):
        return ""
    return f" Interval before: over groups; the one to quote, by {found.clustered.by}, is on Matching."


def _shipped_end(job: AdaptationRun) -> float | None:
    """GroupMatch in percent where the example that ships ended, if it is of this set and model; it is none of the
    measured runs."""
    title, steps = _shipped()
    return group_match_ends([steps])[0, 1] if title == f"{job.benchmark} · {job.model}" else None


def _figure_and_words(
    runs: Sequence[Sequence[Mapping[str, Any]]],
    before: Estimate,
    groups: int,
    shipped: float | None,
    interval: str,
) -> None:
    values = np.array([[step["metrics"][GROUP_MATCH]["value"] for step in steps] for steps in runs])
    iterations = values.shape[1] - 1
    seeds = [int(steps[0]["seed"]) for steps in runs]
    said = "  \n".join(filter(None, (*_measured_lines(values, before), _memorised_line(runs))))
    with st.container(border=True, key="measured-runs"):
        left, right = st.columns([3, 2], gap="medium")
        with left:
            data = plots.spread_data(summary(runs), iterations)
            chart(plots.ttm_metrics_figure(data, _HEIGHT), said.replace("  \n", " "), "measured-metrics")
        with right:
            st.markdown(
                f"**What came out with all {groups} groups**  \n{counted(len(runs), 'measured run')} of this set and "
                f"model, preset builtin, {iterations} iterations",
                help=_by_seed_line(seeds, values[:, -1], shipped) or None,
            )
            st.markdown(true_minus(said))
        several = "Means over seeds, bands: one standard deviation. " if len(runs) > 1 else ""
        read = f"The last iteration is the result; no label was used for training. {several}Dotted: chance.{interval}"
        st.caption(  # below both: beside the curves it was higher than they are
            "  \n".join(filter(None, (of_all(), read))),
            help=rounding_note([(before.value, float(values[:, -1].mean()))]) or None,
        )


def _measured_lines(values: np.ndarray, before: Estimate) -> list[str]:
    """What the seeds come to, a statement a line; values : of GroupMatch in percent, (seeds, iterations)."""
    ends, gains = values[:, -1], values[:, -1] - values[:, 0]
    label = METRICS[GROUP_MATCH].label
    if (ends > before.high).all():
        verdict = f"{label} gains" + (" in every run." if len(values) > 1 else ".")
    elif (ends < before.low).all():
        verdict = f"{label} loses" + (" in every run." if len(values) > 1 else ".")
    else:
        verdict = f"No clear change of {label}."
    deviation = f" ± {_pct(ends.std(ddof=1))}" if len(ends) > 1 else ""
    one_more = _next_gain(gains, float(values[:, 0].mean()))
    more = (
        ()
        if one_more is None
        else (f"Another run from the start likely gains {_signed_range(*one_more)} points.",)
    )
    return [
        f"**{verdict}**",
        f"Before: {metric_line(before)}.",
        f"After: {_pct(ends.mean())}{deviation} %, **{_signed(gains.mean())} points**.",
        *more,
    ]


def _by_seed_line(seeds: Sequence[int], ends: np.ndarray, shipped: float | None = None) -> str:
    """Where each seed ended, and that it need not end there on the reader's machine: training amplifies how processors
    round. shipped : where the example ended, which has the first of these seeds and ended elsewhere."""
    if len(seeds) < 2:
        return ""
    each = ", ".join(map(_pct, ends))
    other = (
        ""
        if shipped is None
        else f": the finished run that ships, seed {seeds[0]} as well, is none of these and ended at {_pct(shipped)} %"
    )
    return (
        f"Seeds {seeds[0]} to {seeds[-1]}, on another machine: {each} %. Here the same seed may end several points "
        f"higher or lower{other}."
    )


def _memorised_line(runs: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    """That GroupScore, whose curve rises the most, does so without GroupMatch; "" where a further run of either would
    likely do otherwise, and on groups of one image, where they are one."""
    score, match = (
        np.array([[step["metrics"][name]["value"] for step in steps] for steps in runs])
        for name in (GROUP_SCORE, GROUP_MATCH)
    )
    gains = score[:, -1] - score[:, 0]
    likely = _next_gain(gains, float(score[:, 0].mean()))
    if likely is None or likely[0] <= 0 or (match[:, -1] > match[:, 0]).all():
        return ""
    deviation, chance = _pct(score[:, -1].std(ddof=1)), _pct(runs[0][0]["metrics"][GROUP_SCORE]["chance"])
    label = METRICS[GROUP_SCORE].label
    return (
        f"**{label} rises** from {_pct(score[:, 0].mean())} to {_pct(score[:, -1].mean())} ± {deviation} % (chance "
        f"{chance} %): the model learns its own matchings by heart, right and wrong ones."
    )


def _of_another(benchmark: str | None, model: str) -> None:
    """The curves of the run that ships, and what they say."""
    title, steps = _shipped()
    with st.container(border=True):
        left, right = st.columns([3, 2], gap="medium")
        with left:
            data = plots.ttm_data(steps, steps[-1]["iteration"])
            chart(plots.ttm_metrics_figure(data, _HEIGHT), _line(steps), "example-metrics")
        with right:
            of = _other(title, benchmark, model)
            st.markdown(f"**An example of a finished run{of}**  \n{escape_markdown(title)}")
            st.markdown(_line(steps))
            st.caption(
                "One curve per metric, iteration 0 is before the run; no label was used for training. This run gained; "
                "others lose, see “Where it helps and where it harms”."
                f"{exact_differences_once('example')}"
            )


def _other(title: str, benchmark: str | None, model: str) -> str:
    """`, of another set than the selected one`; "" of the run's own set and model."""
    parts = [
        name
        for name, selected in (("set", benchmark), ("model", model))
        if selected not in title.split(" · ")
    ]
    return f", of another {' and '.join(parts)} than the selected one" if parts else ""


def _line(steps: Sequence[Mapping[str, Any]]) -> str:
    """GroupMatch before and after, and what it changed by."""
    before, after = (estimate_of(step, GROUP_MATCH) for step in (steps[0], steps[-1]))
    assert before is not None and after is not None
    change = true_minus(_signed(_change_in_points(before.value, after.value)))
    label = METRICS[GROUP_MATCH].label
    return f"{label} before: {metric_line(before)}. After: {metric_line(after)}; {change} points."


@st.cache_resource(max_entries=1, show_spinner=False)
def _shipped() -> tuple[str, list[dict[str, Any]]]:
    """Title and records of the run, read from its archive: only who opens it has it among his runs."""
    with ZipFile(ARCHIVE) as archive:
        title = json.loads(archive.read("example/run.json"))["title"]
        lines = archive.read("example/steps.jsonl").decode().splitlines()
    return str(title).removeprefix("Example: "), [json.loads(line) for line in lines]
