"""One run on the test-time matching page: its curves while they grow, what it changed, and its model."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import figures as plots
from core.base.public_mode import is_public
from core.base.text import _change_in_points, _pct, counted
from core.exchange.frames import curves_frame
from core.exchange.layouts import latex_table
from core.exchange.report import ReportSection, report_html
from core.exchange.seeds import _HOLM, SeedResult
from core.figures.group_html import _folded_verdicts_html, matrix_html
from core.figures.text import escape_markdown, label_and_meaning
from core.groups import Group, GroupSet
from core.metrics import groups as metrics
from core.metrics.evaluation import Evaluation
from core.metrics.group_metrics import GroupData
from core.metrics.groups import METRICS
from core.metrics.paired import _WHY_MAIN
from core.metrics.statistics import Comparison, Estimate
from core.runs.models import of_same_kind
from core.runs.models import public as publishable
from core.runs.store import Run, RunStore
from core.ttm.command import command_line
from core.ttm.explain import GLOBAL, explain, group_history_text
from core.ttm.forecast import Forecast
from core.ttm.records import (
    _MEMORISED,
    _SEED_OF_SEVERAL,
    _at_ceiling,
    _changes_of_every_metric,
    _changes_told,
    _one_seed_in_short,
    _one_seed_told,
    _rise_told,
    _what_rises_mean,
    divergence,
)
from core.ttm.records import changes as paired_changes
from core.ttm.run import SimpleMatchRun, TTMRun, adaptation
from core.ttm.seeds import SeedGroup, _is_seedless
from ui.export import chart, csv_button, export_section, picture_buttons
from ui.forgetting import TITLE as COSTS
from ui.forgetting import cost_answer
from ui.forgetting import is_measured as cost_is_measured
from ui.formatting import anchor, contents_line, exact_differences_once, p_text, true_minus, unbroken
from ui.images import draw_group, group_row
from ui.ledger import are_measured as controls_are_measured
from ui.ledger import controls_answer, gain_record, gain_section, gain_title, no_controls
from ui.loaders import evaluate
from ui.runs import (
    before_and_after,
    chance_below,
    estimate_of,
    evaluation_at,
    live_section,
    run_groups,
    settings_line,
    waiting_hint,
    what_ran,
    without_knowledge,
)
from ui.selection import group_title, page_button, whole_set
from ui.three_answers import gain_line, luck, not_yet, three_answers
from ui.ttm_example import measured_gains
from ui.uploads import upload_of
from ui.views import came_back_to

CHANGED = "What changed"  # a section's title
OPENED = "changed"  # in the address: the changed group that is opened
DETAILS = "Tests, settings, and how to read the result"
_HEIGHT = 264  # of the curves: on a laptop all of them stand on the first screen
SHOWN = 1  # group at a time, before beside after over the whole page: a lecturer projects it
SHOWN_WITHOUT_PICTURES = 3  # of a file, which has scores alone
ROWS = 5  # groups that a phone lists before one of them is opened
_CURVES = "ttm-metrics"  # the figure's key
_READING = "Accuracy after each iteration; bands are 95 % intervals, dotted lines chance levels."
# Matchings at random, memorised: a chance level of GroupScore far below its curve flattered it.
CHANCE = (
    "Chance levels are those of scores at random. A trained model may have learned its matchings by heart, right and "
    "wrong ones: each image then scores highest with the caption it was trained with. A group whose matching is right "
    "passes both metrics then, and any other group neither, so that GroupScore equals GroupMatch. That is why "
    f"{without_knowledge('the chance level of GroupMatch')}."
)
_WAITING = (
    "The first point of the curves, the accuracy before training, appears when all groups have been scored."
)
_ROUNDED = "≈: a total of the unrounded scores, so it may differ from the sum of those that you see."
RESULT = "The last iteration is the result; choosing the best one from the curve would use the truth."
PANELS = {
    "ttm": {
        "selection": "Coverage and precision of the pseudo-labels",
        "threshold": "Threshold",
        "loss": "Mean training loss",
    },
    "simplematch": {
        "fitted": "Pseudo-labels that pass GroupScore's strict test after the round",
        "loss": "Mean training loss",
    },
}


def view(store: RunStore, run_id: str, files: DeltaGenerator) -> None:
    """A run: live or over. files : the place of what is taken away."""
    run = store.get(run_id)
    live_section([run], _growing, _WAITING, _axes, _answers)
    steps = store.steps(run_id)
    if not run.live and run.done:
        changes(store, run)
        gain_section(store, run)
    if run.status == "finished":
        from ui.ttm_model import adapted_model_section

        adapted_model_section(store, run)
    configuration(store, run)
    if steps:
        data = plots.ttm_data(steps, run._axis_end or 1)
        figures = {
            "accuracy": plots.ttm_metrics_figure(data),
            "selection": plots.ttm_panel_figure(data, "selection"),
        }
        groups = run_groups(run.id, run.config)
        is_measured = groups.truth is not None and not run.live and run.done > 0
        with files:
            export_section(
                f"run-{run.id}",
                curves_frame(steps, run),
                figures,
                latex=partial(_latex, run, steps),
                command=_command(run),
                table_label="Curves, a row per iteration (CSV)",
                report=partial(_report, run) if is_measured else None,
                groups=groups,
                title=run.title,
                note=f"{what_ran([run])}. One curve per metric over the iterations; bands: 95 % intervals; dotted: "
                "chance levels. The last iteration is the result.",
            )


def _sections(run: Run) -> list[str]:
    """The titles below the curves of a finished run, in their order."""
    from ui.ttm_model import ADAPTED

    measured = run.done and run_groups(run.id, run.config).truth is not None
    gain = gain_record(run) if measured else None
    costs = cost_is_measured(RunStore(), run)
    return [CHANGED] * bool(measured) + ([gain_title(gain)] if gain else []) + [ADAPTED] + [COSTS] * costs


def forecast_check(run: Run, steps: Sequence[Mapping[str, Any]]) -> None:
    """What was forecast from the first scores, beside what came; nothing of a run that it does not speak of, nor where
    measured runs of the very set were the expectation before the start, which the verdict judges."""
    job = adaptation(run.config)
    if len(measured_gains(job, _shape(steps))[0]):
        return
    own = evaluation_at(run.id, 0, run.attempt, run)

    def scores_of(model: str) -> np.ndarray:
        return (
            own.scores if model == job.model else evaluate(whole_set(job.benchmark, job.split, model)).scores
        )

    found = Forecast.of(job, scores_of)
    if not found.why:
        before, after = (step["metrics"].get(metrics.GROUP_MATCH) for step in (steps[0], steps[-1]))
        change = _change_in_points(before["value"], after["value"]) if before and after else None
        st.caption(escape_markdown(true_minus(found.sentence(change))))


def _growing(runs: Sequence[Run], steps: Sequence[Sequence[Mapping[str, Any]]]) -> None:
    """Everything that grows while a run works."""
    (run,), (records,) = runs, steps
    compared = {} if run.live or not run.done else run_changes(run)
    warning = divergence(records, run.config)
    if warning:
        st.warning(escape_markdown(warning), icon=":material/trending_down:")
    curves_and_cards(run, records)
    _links(run)
    # What changed comes soon after the curves: on a phone these lines alone took half a screen.
    with st.container() if run.live else st.expander(DETAILS):
        if compared:
            _told_further(run, records, compared)
            change_tests(compared)
        told = RESULT if _at_ceiling(compared) else f"{RESULT} {_MEMORISED}"  # the verdict says the rest
        st.caption(f"{told} {CHANCE}{exact_differences_once('result')}")
        settings_line(runs)
        if run.status == "finished":
            forecast_check(run, records)
    panels(
        records,
        run._axis_end or len(records),
        PANELS["simplematch" if "simplematch" in run.config else "ttm"],
    )
    margins(records)
    for note in _notes(records):
        st.info(escape_markdown(note), icon=":material/info:")


def _links(run: Run) -> None:
    """To the parts of a finished run's page."""
    if run.status == "finished":
        contents_line(_sections(run))


def _told_further(run: Run, records: Sequence[Mapping[str, Any]], compared: Mapping[str, Comparison]) -> None:
    """What a run that is over has changed beside GroupMatch, which its box has, and what its one seed leaves open."""
    said = METRICS[metrics.GROUP_MATCH].label, _what_rises_mean(compared)
    told = [
        (head, rest)
        for head, rest in _changes_told(compared)
        if not head.startswith(said[0]) and rest != said[1]
    ]
    more = filter(None, (_ended_early(run, records), _of_one_seed(run, records)))
    lines = [*head_and_rest(told), *map(escape_markdown, more)]
    st.markdown(unbroken(true_minus("  \n".join(lines))))


def _answers(runs: Sequence[Run]) -> None:
    """The box above all details: while a run works its questions."""
    (run,), store = runs, RunStore()
    if run.live:
        measurable = run_groups(run.id, run.config).truth is not None and not run.config.get("adapt_on")
        line = _so_far(store.steps(run.id)) if measurable else ""
        three_answers(not_yet(no_controls(run)), line, bool(line) and controls_are_measured(store, run))
    elif run.done:
        found, records, cut = run_changes(run), store.steps(run.id), _cut_short(run)
        before, after = (estimate_of(each, metrics.GROUP_MATCH) for each in (records[0], records[-1]))
        beside = after and f"chance {_pct(after.chance)} %, {after.tied}"
        line = gain_line(found, before.value, after.value, beside) if before and after and beside else ""
        first = luck(found, _one_seed_note(run, records), cut and _until_then(cut, line), bool(line))
        three_answers([first, controls_answer(store, run), cost_answer(store, run)], "" if cut else line)


def _so_far(records: Sequence[Mapping[str, Any]]) -> str:
    """GroupMatch of a run at work, in the place of `gain_line`, so that nothing moves when that comes."""
    label = METRICS[metrics.GROUP_MATCH].label
    if not records:
        return f"**{label}** before → after training, with its gain, comes here."
    before, now = (estimate_of(records[at], metrics.GROUP_MATCH) for at in (0, -1))
    if before is None or now is None:
        return ""
    values = f"{_pct(before.value)} → {_pct(now.value)}" if len(records) > 1 else _pct(now.value)
    when = "so far" if len(records) > 1 else "before training"
    return f"**{label} {values} %** {when} (chance {_pct(now.chance)} %, {now.tied})."


def _until_then(cut: str, line: str) -> str:
    """That a run ended early, and only behind that what it had come to."""
    return f"{cut} Until then: {line.replace('**', '')}" if line else cut


def _cut_short(run: Run) -> str:
    """That a run did not come to its end, as a gain is too easily had by whoever stops where it looks good; "" of one
    that did."""
    if run.status == "finished" or not run.total or run.done >= run.total:
        return ""
    return (
        f"**It ended after {run.done} of {run.total} iterations: no result to quote**, as stopping where the curve "
        "looks good finds gains by luck."
    )


def _ended_early(run: Run, records: Sequence[Mapping[str, Any]]) -> str:
    """Why SimpleMatch ended before its last round, where its axis ends, too; "" where it did not."""
    job = adaptation(run.config)
    if run.status != "finished" or not isinstance(job, SimpleMatchRun) or run.done >= job.settings.rounds:
        return ""
    waited = counted(job.settings.patience, "round")
    why = (
        "every matching that is trained on is fitted"
        if records[-1].get("fitted") == 1
        else f"for {waited} no more of the matchings that are trained on were fitted"
    )
    return f"It ended after {run.done} of at most {counted(job.settings.rounds, 'round')}: {why}."


def _of_one_seed(run: Run, records: Sequence[Mapping[str, Any]]) -> str:
    """That a finished run is one seed alone, which is not enough to quote, and what another would have; "" where
    nothing depends on the seed."""
    job = adaptation(run.config)
    if run.status != "finished" or _is_seedless(job, records[0]["n_groups"]):
        return ""
    before, after = (step["metrics"].get(metrics.GROUP_MATCH) for step in (records[0], records[-1]))
    if not (before and after):
        return ""
    if SeedGroup.of_run(RunStore(), run):
        return _SEED_OF_SEVERAL
    gains, start = measured_gains(job, _shape(records))
    return _one_seed_told(gains, start, _change_in_points(before["value"], after["value"]))


def _one_seed_note(run: Run, records: Sequence[Mapping[str, Any]]) -> str:
    """`_of_one_seed` as the end of the box's first line, with what is typical where runs like it were measured."""
    said = _of_one_seed(run, records)
    if not said or said == _SEED_OF_SEVERAL:
        return said and _one_seed_in_short()
    first, last = (step["metrics"][metrics.GROUP_MATCH]["value"] for step in (records[0], records[-1]))
    gains, start = measured_gains(adaptation(run.config), _shape(records))
    return _one_seed_in_short(gains, start, _change_in_points(first, last))


def _shape(records: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    m, k = map(int, records[0]["shape"].split("x"))
    return m, k


def _notes(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """What was noted of iterations, with their numbers where it is not true of all of them."""
    said: dict[str, list[int]] = {}
    for record in records:
        if record.get("note"):
            said.setdefault(record["note"], []).append(record["iteration"])
    after = records[-1]["iteration"]  # so many iterations; the state before the first one has number 0
    return [
        note
        if len(of) >= after
        else f"Iteration{'s' if len(of) > 1 else ''} {', '.join(map(str, of))} of {after}: {note}"
        for note, of in said.items()
    ]


def _axes(runs: Sequence[Run], waiting: str) -> None:
    """The place of curves and cards before there is a point: the figure with its chance levels, and what is waited for.

    The figure stands where that of the curves will and keeps its key, so that points come into it and nothing moves.
    """
    (run,) = runs
    job, groups = adaptation(run.config), run_groups(run.id, run.config)
    if groups.truth is None or job.adapt_on is not None:  # nothing is measured, or two figures come
        waiting_hint(waiting)
        return
    left, right = st.columns([3, 1], gap="medium")
    with left:
        data = plots.TTMData.unmeasured(*groups.shape, job.total)
        chart(plots.ttm_metrics_figure(data, _HEIGHT), "Accuracy per iteration, not measured yet.", _CURVES)
        st.caption(_READING)
    with right:
        waiting_hint(waiting)


def curves_and_cards(run: Run, records: Sequence[Mapping[str, Any]]) -> None:
    """The curves first, and beside them on a laptop what they have come to; below the two of a transfer check."""
    total, last = run._axis_end or len(records), records[-1]
    if not last["metrics"] or "parts" in last:
        curves(records, total)
        before_and_after(records)
        return
    left, right = st.columns([3, 1], gap="medium")
    with left:
        curves(records, total)
        if short := _short_line(run):
            st.caption(short)
    with right:
        before_and_after(records)


def _short_line(run: Run) -> str:
    """That a finished run has fewer iterations than the preset of its set and model, so that its verdict is of those
    alone; "" of any other."""
    job = adaptation(run.config)
    if run.status != "finished" or not isinstance(job, TTMRun) or job.benchmark is None:
        return ""
    usual = TTMRun.of(job.benchmark, job.model).settings.iterations
    if job.settings.iterations >= usual:
        return ""
    own = counted(job.settings.iterations, "iteration")
    return f"A short run: {own}, the preset has {usual}. A longer one may end otherwise."


def curves(steps: Sequence[Mapping[str, Any]], total: int) -> None:
    """Accuracy per iteration, of a transfer check once for each part."""
    parts = plots.transfer_data(steps, total)
    data = plots.ttm_data(steps, total)
    if parts:
        sides = {f"{name} groups": part for name, part in parts.items()}
        names = metrics.headline_metrics(next(iter(parts.values())).metrics)
        for column, metric in zip(st.columns(len(names), gap="medium"), names, strict=True):
            with column:
                figure = plots.ttm_compare_figure(sides, metric, 300)
                below = chance_below(figure, sides, metric)
                st.caption(
                    f"{label_and_meaning(metric)[0]} of both parts; bands are 95 % intervals.{below}".removesuffix(
                        "."
                    )
                )
                chart(
                    figure,
                    _curves_text(sides, metric),
                    f"parts-{metric}",
                )
    elif data.metrics:
        changes = ", ".join(
            f"{label_and_meaning(n)[0]} {_pct(v[0, 0])} to {_pct(v[-1, 0])} %"
            for n, v in data.metrics.items()
        )
        chart(
            plots.ttm_metrics_figure(data, _HEIGHT),
            f"Accuracy over {len(steps) - 1} iterations: {changes}.",
            _CURVES,
        )
        st.caption(_READING)


def panels(steps: Sequence[Mapping[str, Any]], total: int, shown: Mapping[str, str]) -> None:
    """What was trained on in each iteration."""
    data = plots.ttm_data(steps, total)
    place = st.container(key="opened-trained")  # which the history's script scrolls to
    with place.expander("What was trained on in each iteration", key="trained", bind="query-params"):
        for column, (panel, what) in zip(st.columns(len(shown), gap="medium"), shown.items(), strict=True):
            with column:
                st.caption(what)
                chart(plots.ttm_panel_figure(data, panel), f"{what} per iteration.", f"ttm-{panel}")


def _curves_text(sides: Mapping[str, plots.TTMData], metric: str) -> str:
    ends = (
        f"{name} {_pct(d.metrics[metric][0, 0])} to {_pct(d.metrics[metric][-1, 0])} %"
        for name, d in sides.items()
    )
    return f"{label_and_meaning(metric)[0]} over the iterations: {', '.join(ends)}."


def margins(steps: Sequence[Mapping[str, Any]]) -> None:
    """The margin histogram after any iteration."""
    measured = [step for step in steps if step.get("margins")]
    if not measured:
        return
    with st.expander("Margins per iteration"):
        last = len(measured) - 1
        at = st.slider("After iteration", 0, last, last, key="margins_at") if last else 0
        step = measured[at]
        text = f"{sum(step['margins']['counts'])} groups with a margin, {step['margins']['tied']} tied"
        if step.get("threshold") is not None:
            text += f"; the line is the threshold that iteration {at} used, {step['threshold']:.3g}"
        st.caption(escape_markdown(text))
        chart(
            plots.step_margins_figure(step), f"Histogram of margins after iteration {at}: {text}.", "margins"
        )


# ---- what changed


def run_changes(run: Run, every_metric: bool = False) -> dict[str, Comparison]:
    """What a run that is over has changed in the main metrics or in every one, of a transfer check in each part; {}
    without a truth."""
    return _compared(run.id, run.done, run.attempt, every_metric, run)


# Kept: verdict, sentences, tests and files of one page ask for it, and a run that ends draws them twice.
@st.cache_resource(max_entries=32, show_spinner=False)
def _compared(run_id: str, done: int, attempt: int, every_metric: bool, _run: Run) -> dict[str, Comparison]:
    groups = run_groups(run_id, _run.config)
    if groups.truth is None:
        return {}
    before, after = (evaluation_at(run_id, i, attempt, _run) for i in (0, done))
    parts = {side and f"{side} groups": mask for side, mask in measured_parts(_run, groups).items()}
    of = _changes_of_every_metric if every_metric else paired_changes
    return of(before, after, parts)


def head_and_rest(told: Sequence[tuple[str, str]]) -> list[str]:
    """Sentences as Markdown; the head of each is bold."""
    return [f"**{head}** {rest}" if head else rest for head, rest in told]


def change_tests(compared: Mapping[str, Comparison]) -> None:
    """Below the curves: how many groups each metric's change rests on, and its test."""
    several = f", corrected for {len(compared)} tests {{}}" if len(compared) > 1 else ""
    told = [
        f"{label} {counted(change.fixed, 'group')} fixed, {change.broken} broken, p {p_text(change.p_value)}"
        f"{several.format(p_text(change.p_holm))}"
        for label, change in compared.items()
    ]
    how = "McNemar's test, corrected by Holm's method" if several else "McNemar's test"
    why = f" {_WHY_MAIN}" if several else ""
    st.caption(unbroken(f"{how}: {'; '.join(told)}.{why}"))


def changes(store: RunStore, run: Run) -> None:
    """Groups that the run fixed and broke, and why."""
    if run_groups(run.id, run.config).truth is None:
        return
    st.header(CHANGED, anchor=anchor(CHANGED))
    explanations(store, run, *(evaluation_at(run.id, i, run.attempt, run) for i in (0, run.done)))


def measured_parts(run: Run, groups: GroupSet) -> dict[str, np.ndarray]:
    """The groups that are measured by themselves, bool (n,): of a transfer check the adapted and the untouched ones."""
    pool = adaptation(run.config).pool(groups.blind())
    return {"": np.ones(len(groups), bool)} if pool is None else {"adapted": pool, "untouched": ~pool}


def _latex(run: Run, steps: Sequence[Mapping[str, Any]]) -> str:
    """Before and after, and of a run that is over the difference with its interval and p; a table for each part."""
    compared = {} if run.live or not run.done else run_changes(run, every_metric=True)
    sides = steps[-1].get("parts") or {"": {}}
    return "\n\n".join(_part_latex(side, steps, compared, what_ran([run])) for side in sides)


def _part_latex(
    side: str, steps: Sequence[Mapping[str, Any]], compared: Mapping[str, Comparison], about: str
) -> str:
    where = f", {side} groups" if side else ""
    rows = []
    for when, step in (("before", steps[0]), ("after", steps[-1])):
        found = step["parts"][side]["metrics"] if side else step["metrics"]
        known = {name: Estimate.of_record(value) for name, value in found.items() if name in METRICS}
        rows.append((f"{when}{where}", known))
    labels = {f"{entry.label}{where}": name for name, entry in METRICS.items()}
    own = {labels[label]: change for label, change in compared.items() if label in labels}
    return latex_table(rows, own, _with_caution(about, own, compared), _HOLM)


def _report(run: Run) -> bytes:
    """Before and after as a report, each part by itself."""
    ends = [("before", run, 0), (f"after {what_was_done(run)}", run, run.done)]
    steps, total = RunStore().steps(run.id), run._axis_end or 1
    curves = plots.transfer_data(steps, total) or {"": plots.ttm_data(steps, total)}
    about, compared = what_ran([run]), {} if run.live or not run.done else run_changes(run)
    if not _at_ceiling(compared):  # which its verdict says
        about = _with_caution(about, steps[-1]["metrics"], compared)
    seed = _of_one_seed(run, steps)
    return report_of(ends, about=about, command=_command(run), curves=curves, left_open=seed)


def _with_caution(about: str, names: Container[str], compared: Mapping[str, Comparison]) -> str:
    """Where both main metrics are told, what a rise of one of them is."""
    both = metrics.GROUP_SCORE in names and metrics.GROUP_MATCH in names
    return f"{about.rstrip('.')}. {_rise_told(compared)}" if both else about


def _command(run: Run) -> str:
    return "" if is_public() else command_line(adaptation(run.config))


def report_of(ends: Sequence[tuple[str, Run, int]], seeds: Sequence[SeedResult] = (), **said: Any) -> bytes:
    """A report of runs on the same groups, each after an iteration of its own, and each part by itself.

    ends : what each is called, the run, the iteration. seeds : what they have come to, where they are seeds. said :
    title, note, about, command, curves and left_open, as `report_html` takes them.
    """
    _, first, _ = ends[0]
    job, groups = adaptation(first.config), run_groups(first.id, first.config)
    name = job._model if seeds else first.title
    sections = [
        ReportSection(
            ", ".join(filter(None, (name, side and f"{side} groups", when))),
            groups.select(mask),
            evaluation_at(run.id, iteration, run.attempt, run).select(mask),
            job.benchmark,
            "" if job.embeddings else job.split,
        )
        for side, mask in measured_parts(first, groups).items()
        for when, run, iteration in ends
    ]
    # Those of the page, so that a p corrected for them is the same there.
    own = sections[0].evaluation
    tested = metrics.headline_metrics(own.outcomes)[-1 if own.shape[0] == 1 else 0 :]
    return report_html(sections, seeds=seeds, tested=tested, **said).encode()


@st.cache_data(max_entries=16, show_spinner="Reading what every iteration did …")
def explained(run_id: str, done: int, attempt: int, metric: str, _run: Run) -> pd.DataFrame:
    """`core.ttm.explain` of a run up to an iteration."""
    store, groups = RunStore(), run_groups(run_id, _run.config)
    assert groups.truth is not None
    return explain([store.arrays(run_id, i) for i in range(done + 1)], groups.truth, groups.ids, metric)


def explanations(store: RunStore, run: Run, before: Evaluation, after: Evaluation) -> None:
    """Fixed and broken groups: which iteration took them, with which pseudo-label, and when they turned."""
    metric = counted_as_right(run, [(before, after)])
    table = explained(run.id, run.done, run.attempt, metric, run)
    order = table.sort_values("margin_after", ascending=False, kind="stable")
    found = {
        name: [ChangedGroup(run, int(str(index)), name) for index in order.index[order["change"] == name]]
        for name in ("fixed", "broken")
    }
    marks, method = {"fixed": "✓ Fixed by", "broken": "✗ Broken by"}, method_of(run)
    changed_tabs({f"{marks[name]} {method}": (name, groups) for name, groups in found.items()}, metric)
    csv_button("Explanations of all groups (CSV)", table, f"run-{run.id}-explained-{metric}")


def counted_as_right(run: Run, ends: Sequence[tuple[Evaluation, Evaluation]]) -> str:
    """By which metric a group counts as right, of those that a run has; at first one by which groups have changed.

    ends : before and after, of each seed.
    """
    is_global = run.config.get("ttm", {}).get("variant") == "global"
    outcomes = ends[0][1].outcomes
    names = [*outcomes, GLOBAL] if is_global else list(outcomes)
    return st.selectbox(
        "What counts as right",
        names,
        names.index(_first_changed(ends)),
        format_func=lambda name: label_and_meaning(name)[0],
        key="explain_by",
        bind="query-params",
        width=280,
    )


def _first_changed(ends: Sequence[tuple[Evaluation, Evaluation]]) -> str:
    """The first of GroupMatch and GroupScore by which any group was fixed or broken; GroupMatch where none was."""

    def turned(name: str) -> bool:
        values = ([each.outcomes[name].value == 1 for each in pair] for pair in ends)
        return any(not np.array_equal(before, after) for before, after in values)

    mains = [name for name in (metrics.GROUP_MATCH, metrics.GROUP_SCORE) if name in ends[0][1].outcomes]
    return next(filter(turned, mains), metrics.GROUP_MATCH)


class ChangedGroup(NamedTuple):
    """A group that a run has fixed or broken, as a card shows it."""

    run: Run
    group: int  # its place in the set
    change: str  # "fixed" or "broken"
    told: str = ""  # before its story


def changed_tabs(found: Mapping[str, tuple[str, Sequence[ChangedGroup]]], metric: str) -> None:
    """A tab for each kind of change, with the number of its groups; opened is the first that has any.

    found : by the head of the tab its key and its groups, in their order.
    """
    heads = {head: f"{head} ({len(groups)})" for head, (_, groups) in found.items()}
    asked = _asked_change()
    some = next((heads[head] for head, (_, groups) in found.items() if groups), None)
    some = next((heads[head] for head, (key, groups) in found.items() if _place(asked, key, groups)), some)
    for tab, (key, groups) in zip(st.tabs([*heads.values()], default=some), found.values(), strict=True):
        with tab:
            changed(groups, key, metric, _place(asked, key, groups))


def _asked_change() -> str:
    """The changed group that the address opens, as `_name_of` has it; "" where none."""
    back = came_back_to(OPENED)
    if back:
        st.query_params[OPENED] = back
    elif back is not None:
        st.query_params.pop(OPENED, None)
    return st.query_params.get(OPENED, "")


def _name_of(key: str, group: ChangedGroup) -> str:
    """A changed group in the address: its tab and its place in the set, `fixed.17`."""
    return f"{key}.{group.group}"


def _place(asked: str, key: str, groups: Sequence[ChangedGroup]) -> int:
    """The number, from 1 on, of the group that is asked for; 0 where it is none of these."""
    return next((number for number, each in enumerate(groups, 1) if _name_of(key, each) == asked), 0)


def changed(groups: Sequence[ChangedGroup], key: str, metric: str, asked: int) -> None:
    """A page of cards: the group, its story, and the way to the Groups page. On a phone, where a card is higher than
    the screen, first a list of groups, of which one is pressed. asked : the number of the group that the address opens;
    0 for none."""
    if not groups:
        st.caption("None.")
        return
    per_page = SHOWN_WITHOUT_PICTURES if groups[0].run.config.get("embeddings") else SHOWN
    count = -(-len(groups) // per_page)
    listed = per_page == 1 and count > 1  # who has pictures, and several of them
    opened = not listed or asked > 0
    if asked:
        st.session_state[f"page_{key}"] = (asked - 1) // per_page + 1
    # Which the history's script scrolls to: the one when a link opens a group, the other when one turns on below it.
    with st.container(key=f"opened-{OPENED}" if asked else None), st.container(key=f"turned-{key}"):
        if listed and opened:
            way_back(key, count)
        # The style shows a card that was not asked for on wide screens alone, and the list on phones.
        with st.container(key=f"{'opened' if opened else 'unopened'}-card-{key}"):
            turned = partial(_open_change, groups, key, per_page)
            page = min(_pages(count, key, turned), count)
            for each in groups[(page - 1) * per_page : page * per_page]:
                with st.container(border=True, key=f"before-after-{key}-{each.group}"):
                    card(each, metric)
            if count > 1:
                turn_on(key, page, count, turned=turned)
        if not opened:
            rows(groups, key, page)


def _pages(count: int, key: str, turned: Callable[[], None]) -> int:
    """The way to another page of cards where there are several, and which one is shown."""
    return st.pagination(count, key=f"page_{key}", on_change=turned) if count > 1 else 1


def _open_change(groups: Sequence[ChangedGroup], key: str, per_page: int = SHOWN) -> None:
    """From a callback: the first group of the page of cards that was turned to is in the address, so that Back, a
    reload and a link lead to it."""
    first = (st.session_state[f"page_{key}"] - 1) * per_page
    if first < len(groups):  # of a message made by hand it may be any number
        st.query_params[OPENED] = _name_of(key, groups[first])


def way_back(key: str, count: int) -> None:
    """Above a card on a phone: to the list that it was opened from."""

    def close() -> None:
        st.query_params.pop(OPENED, None)

    with st.container(key=f"turn-back-{key}"):
        st.button(f"List of all {count}", on_click=close, icon=":material/list:", key=f"list-{key}")


def rows(groups: Sequence[ChangedGroup], key: str, page: int) -> None:
    """Some groups one below the other, small, that with this number among them. For phones alone."""

    def show(number: int) -> None:
        st.session_state[f"page_{key}"] = number
        _open_change(groups, key)

    first = page - (page - 1) % ROWS
    with st.container(key=f"turn-rows-{key}"):
        st.caption("Press a group to see it before and after.")
        with st.container(key=f"compact-gallery-{key}"):
            grid = st.grid(1, border=True)
            for number, each in enumerate(groups[first - 1 : first - 1 + ROWS], first):
                with grid.cell():
                    group = run_groups(each.run.id, each.run.config)[each.group]
                    group_row(group, f"row-{key}-{each.group}", show, number)
        turn_on(f"{key}-rows", first, len(groups), ROWS)


_TURNS = {"Previous": (-1, ":material/chevron_left:"), "Next": (1, ":material/chevron_right:")}


def turn_on(
    key: str, page: int, count: int, step: int = 1, turned: Callable[[], None] = lambda: None
) -> None:
    """Below cards or rows the way to those before and after them: on a phone the pages above are two screens back.

    step : how many are shown; the number of the first one is the page. turned : called once another page is chosen.
    """

    def turn(to: int) -> None:
        st.session_state[f"page_{key.removesuffix('-rows')}"] = to
        turned()

    last = min(page + step - 1, count)
    with st.container(horizontal=True, vertical_alignment="center", key=f"turn-{key}"):
        for label, (way, icon) in _TURNS.items():
            to = page + way * step
            st.button(
                label, on_click=turn, args=(to,), icon=icon, key=f"{label.lower()}-{key}", disabled=not 0 < to <= count
            )  # fmt: skip
        st.caption(f"{page if step == 1 else f'{page}–{last}'} of {count}", width="content")


def card(changed: ChangedGroup, metric: str) -> None:
    """A group before the run beside the same after it: pictures and matching, scores, verdicts; and its story."""
    run, index = changed.run, changed.group
    group = run_groups(run.id, run.config)[index]
    is_global = run.config.get("ttm", {}).get("variant") == "global"
    found = explained(run.id, run.done, run.attempt, metric, run).loc[index]
    row = {str(key): value for key, value in found.items()}
    history = group_history_text(row, len(group.captions) if is_global else None)
    name = escape_markdown(group_title(group.id))
    st.markdown(f"**{name}.** {changed.told}{escape_markdown(history)}")
    ends = [evaluation_at(run.id, i, run.attempt, run).group(index) for i in (0, run.done)]
    both = [data.beside(ends, exact=False) for data in ends]  # six decimals, which add up, are read by nobody
    for column, when, data in zip(
        st.columns(2, gap="large"), ("Before", f"After {what_was_done(run)}"), both, strict=True
    ):
        with column:
            _side(run, group, when, data)
    with st.container(horizontal=True, vertical_alignment="center"):
        _ways_on(run, group, name)
        if not run.config.get("embeddings"):
            sentence = f"{group_title(group.id)}: {changed.change} by {method_of(run)}."
            picture = partial(_change_picture, group, both[0], both[1], sentence, run.config["model"])
            picture_buttons(
                f"{group_title(group.id.rpartition('/')[2])}, before and after",  # its end alone: the rest is cut
                f"{run.id}-{group.id}".replace("/", "-"),
                picture,
            )


def _side(run: Run, group: Group, when: str, data: GroupData) -> None:
    """One side of a card."""
    verdicts = _folded_verdicts_html(data, metrics.headline_metrics(data.kinds))
    st.markdown(f"**{when}**", help=_ROUNDED if "≈" in verdicts else None)
    if not run.config.get("embeddings"):
        draw_group(group, data)
    st.html(matrix_html(data, f"Scores {when.lower()}"))
    st.html(verdicts)


def _change_picture(group: Group, before: GroupData, after: GroupData, sentence: str, model: str) -> bytes:
    from core.figures.group_slide import change_svg

    return change_svg(group, before, after, sentence, model).encode()


def method_of(run: Run) -> str:
    return "SimpleMatch" if "simplematch" in run.config else "TTM"


def what_was_done(run: Run) -> str:
    return counted(run.done, "round" if "simplematch" in run.config else "iteration")


def _ways_on(run: Run, group: Group, name: str) -> None:
    """To the group with the adapted model, or to it in the file that the run was on."""
    if run.config.get("embeddings"):
        file = upload_of(run.config["embeddings"])
        if file:
            state = {"set": file, "shape": run.config["shape"], "tag": [], "group": group.id}
            page_button(f"Open {name} in your file", "pages/1_Groups.py", state, key=f"open-{group.id}")
    elif run.status == "finished":
        state = {
            "set": run.config["benchmark"],
            "split": run.config["split"],
            **({"shape": run.config["shape"]} if run.config.get("shape") else {}),
            "model": of_same_kind(f"run/{run.id}", run.config["model"]),
            "tag": [],
            "predict": False,
        }
        label = f"Open {name} with this model"
        page_button(label, "pages/1_Groups.py", {**state, "group": group.id}, key=f"open-{group.id}")


def configuration(store: RunStore, run: Run) -> None:
    with st.expander("Configuration" if is_public() else "Configuration and log"):
        text = json.dumps(publishable(run.config), indent=1)
        st.download_button(
            "Configuration (JSON)", text, f"{run.id}.json", "application/json", on_click="ignore"
        )
        st.code(text, language="json")
        if not is_public():  # it may hold a traceback, with paths of this machine
            st.code(store.log(run.id) or "The log is empty.", language=None, height=180)
