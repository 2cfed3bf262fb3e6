"""The seeds of one sweep as one result: curves with bands, mean and standard deviation, every seed by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import figures
from core.base.errors import InputError
from core.base.public_mode import is_public
from core.base.text import _pct, _signed_range, counted, duration
from core.exchange.run_table import (
    _KIND_PARTS,
    _ends_of,
    _groups_said,
    _origin,
    _Result,
    _seeds_said,
    _settings_said,
)
from core.exchange.seeds import SeedResult
from core.figures.text import label_and_meaning
from core.metrics import groups as metrics
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS, headline_metrics
from core.metrics.statistics import Estimate, estimate
from core.runs.store import Run, RunStore
from core.ttm.command import command_line
from core.ttm.records import _MEMORISED, _SAME_SEEDS, SeedChange, _at_ceiling, _changes_told
from core.ttm.run import RUNS, adaptation
from core.ttm.seeds import SeedGroup, group_runs, seed_of, summary
from ui.export import chart, csv_button, export_section
from ui.forgetting import cost_answer
from ui.formatting import anchor, change_text, p_text, true_minus, unbroken, wide_table
from ui.ledger import controls_answer, no_controls
from ui.runs import (
    estimate_of,
    evaluation_at,
    live_section,
    memorised_meaning,
    memorised_words,
    open_run,
    run_groups,
    settings_line,
    what_ran,
)
from ui.three_answers import gain_line, luck, not_yet, three_answers
from ui.ttm_run import (
    CHANCE,
    DETAILS,
    ChangedGroup,
    changed_tabs,
    counted_as_right,
    explained,
    head_and_rest,
    measured_parts,
    report_of,
    run_changes,
)

_HEIGHT = 340  # of the curves: on a laptop all of them stand on the first screen
RESULT = (
    "Mean ± standard deviation over seeds (n − 1); the interval of a mean is over seeds and groups, its ties are the "
    "average of a seed. The result of a seed is its last iteration, never its best one: "
    "choosing that would use the truth."
)


def view(store: RunStore, group: str, files: DeltaGenerator) -> None:
    """All seeds of a group: live or over. files : the place of what is taken away."""
    runs = group_runs(store, group)
    waiting = "The curves appear once the first seed has been evaluated."
    live_section(runs, _growing, waiting, verdict=_answers)
    steps = [store.steps(run.id) for run in runs]
    if not any(run.live for run in runs):
        changed_groups(complete(runs, steps))
    rows = summary(steps)
    if rows:
        whole, missing = complete(runs, steps), pending(runs, steps)
        is_measured = bool(whole) and run_groups(whole[0].id, whole[0].config).truth is not None
        data = figures.spread_data(rows, max(run._axis_end for run in runs) or 1)
        with files:
            export_section(
                f"seeds-{group}{f'-{len(whole)}-of-{len(runs)}' if missing else ''}",
                lambda: _table_of(runs, data, is_measured).assign(
                    n_seeds_complete=len(whole), n_seeds=len(runs), **_origin(runs)
                ),
                {"accuracy": figures.ttm_metrics_figure(data)},
                command=_command(runs),
                latex=partial(_latex, whole, missing) if is_measured else "",
                table_label="Curves, a row per iteration (CSV)",
                report=partial(_report, whole, missing) if is_measured else None,
                groups=run_groups(runs[0].id, runs[0].config),
                more=partial(_first_files, group, whole, missing),
                title=SeedGroup(group, list(runs)).title,
                note=f"{missing} {what_ran(runs)}. Mean over seeds; bands: one standard deviation; dotted: chance "
                "levels. The last iteration is the result.".strip(),
            )


def with_interval_of_means(
    runs: Sequence[Run], data: figures.TTMData, count: int | None = None
) -> dict[str, np.ndarray]:
    """The metrics of several seeds' curves, each (iterations, 4), with the 95 % interval of each mean, over seeds and
    groups, in place of one deviation to either side. The groups have a ground truth. count : of the first groups, so
    many, which the curves are then of; None of all."""
    return _with_interval_of_means(tuple((run.id, run.done, run.attempt) for run in runs), count, runs, data)


@st.cache_resource(max_entries=16, show_spinner="Measuring every iteration …")
def _with_interval_of_means(
    key: tuple[tuple[str, int, int], ...], count: int | None, _runs: Sequence[Run], _data: figures.TTMData
) -> dict[str, np.ndarray]:
    store, truth = RunStore(), run_groups(_runs[0].id, _runs[0].config).truth
    truth = None if truth is None else truth[:count]
    there = {run.id: {step["iteration"] for step in store.steps(run.id)} for run in _runs}
    names = [name for name in _data.metrics if name in METRICS]
    found = {name: _data.metrics[name].copy() for name in names}
    for place, iteration in enumerate(_data.iteration.tolist()):
        scores = [store.scores(run.id, iteration)[:count] for run in _runs if iteration in there[run.id]]
        outcomes = [metrics.outcomes(each, truth, names) for each in scores]
        for name in names:
            whole = np.stack([each[name].value for each in outcomes])
            parts = METRICS[name].parts(scores[0].shape[1])
            alike = (whole == whole[0]).all()  # before training, where the seeds are one model
            e = (
                estimate(whole[0], np.nan, parts=parts)
                if alike
                else Estimate.over_seeds(whole, np.nan, parts)
            )
            found[name][place, 1:3] = e.low, e.high
    return found


def _table_of(runs: Sequence[Run], data: figures.TTMData, is_measured: bool) -> pd.DataFrame:
    """The curves as a table; with the intervals of the means where the groups have a ground truth."""
    table = figures.ttm_table(data)
    if is_measured:
        for name, values in with_interval_of_means(runs, data).items():
            place = list(table.columns).index(f"{name}_sd") + 1
            for end, column in (("high", 2), ("low", 1)):
                table.insert(place, f"{name}_{end}", values[:, column].tolist())
    return table


def pending(runs: Sequence[Run], steps: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    """How many seeds are complete, what the others are, and what is of which; "" where all are."""
    whole = complete(runs, steps)
    if len(whole) == len(runs):
        return ""
    ended = {run.id for run in whole}
    counts = Counter(run.status for run in runs if run.id not in ended)
    others = ", ".join(f"{count} {status}" for status, count in counts.items())
    of = (
        f"results are of {'this one' if len(whole) == 1 else f'these {len(whole)}'}"
        if whole
        else "no result yet"
    )
    return (
        f"{len(whole)} of {len(runs)} seeds finished, {others}: {of}; curves count the iterations that the others have "
        "finished too."
    )


def _growing(runs: Sequence[Run], steps: Sequence[Sequence[Mapping[str, Any]]]) -> None:
    """Everything that grows while the seeds work."""
    rows = summary(steps)
    whole = complete(runs, steps)
    found = changes(whole) if len(whole) > 1 else {}
    is_over = not any(run.live for run in runs)
    if not is_over:
        if found:
            st.markdown(f"**So far,** of {len(whole)} of {len(runs)} seeds; the others are still to come:")
        verdict(found)
    curves(runs, rows)
    result(runs, steps)
    if found and is_over:
        st.caption(f"[See these groups](#{anchor(CHANGED)})")
    with st.expander(DETAILS) if is_over else st.container():
        if is_over:
            verdict(found)
        if whole:
            ceiling = _at_ceiling({label: change.mean for label, change in found.items()})
            st.caption(
                f"{RESULT if ceiling else f'{RESULT} {_MEMORISED}'} {CHANCE}"
            )  # the verdict says the rest
        verdict_details(found)
        settings_line(runs)
    table(runs, steps)


def _answers(runs: Sequence[Run]) -> None:
    """The box above all details. Controls and costs are of one seed, as a model is: of the first complete one."""
    if any(run.live for run in runs):
        three_answers(not_yet(no_controls(runs[0])))
        return
    store = RunStore()
    whole = complete(runs, [store.steps(run.id) for run in runs])
    if whole:
        first, found = whole[0], changes(whole) if len(whole) > 1 else run_changes(whole[0])
        of = f"with seed {seed_of(first)} "
        line = _gain_line(found, [store.steps(run.id) for run in whole])
        answers = [controls_answer(store, first, of), cost_answer(store, first, of)]
        three_answers([luck(found, is_said=bool(line)), *answers], line)


def _gain_line(found: Mapping[str, Any], steps: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    """`gain_line` of the means over complete seeds, whose ties the cards have."""
    before, after = ([estimate_of(each[at], GROUP_MATCH) for each in steps] for at in (0, -1))
    was, now = (float(np.mean([e.value for e in each if e] or [np.nan])) for each in (before, after))
    first = after[0]
    return "" if first is None else gain_line(found, was, now, f"chance {_pct(first.chance)} %")


def complete(runs: Sequence[Run], steps: Sequence[Sequence[Mapping[str, Any]]]) -> list[Run]:
    """The seeds that have come to their end."""
    return [
        run
        for run, records in zip(runs, steps, strict=True)
        if records and not run.live and adaptation(run.config).is_over(records)
    ]


def changes(runs: Sequence[Run]) -> dict[str, SeedChange]:
    """What these seeds have changed in the main metrics, of a transfer check in each part; {} without a truth."""
    groups = run_groups(runs[0].id, runs[0].config) if runs else None
    if groups is None or groups.truth is None:
        return {}
    return SeedChange.of_seeds(*_ends(runs), _masks(runs[0]))


def _ends(runs: Sequence[Run]) -> tuple[list[Evaluation], list[Evaluation]]:
    """Every seed before training and after it."""
    before, after = (
        [evaluation_at(run.id, run.done if ended else 0, run.attempt, run) for run in runs]
        for ended in (False, True)
    )
    return before, after


def _masks(run: Run) -> dict[str, np.ndarray]:
    """The groups that are measured by themselves, by the name that a verdict gives them."""
    parts = measured_parts(run, run_groups(run.id, run.config))
    return {side and f"{side} groups": mask for side, mask in parts.items()}


def verdict(found: Mapping[str, SeedChange]) -> None:
    """What the seeds have come to, in a sentence for each metric: whether it is more than chance, and the mean gain."""
    means = {label: change.mean for label, change in found.items()}
    told = {label: change._told(label) for label, change in found.items()}
    lines = head_and_rest(_changes_told(means, told))
    wanting = {label: each for label, each in found.items() if each._wants_seeds and not each._is_undecided}
    lines += [_more_seeds(label, change) for label, change in wanting.items()]
    lines += [_SAME_SEEDS] * any(change.same for change in found.values())
    st.markdown(unbroken(true_minus("  \n".join(lines))))


def verdict_details(found: Mapping[str, SeedChange]) -> None:
    """Below the curves: the test of each metric, what one more seed may gain, how many groups are fixed and broken."""
    lines = [_details(label, change, len(found)) for label, change in found.items()]
    if lines:
        st.caption(unbroken(true_minus("  \n".join([*lines, _READING]))))


_READING = (
    "The interval is that of the mean, over seeds and groups. p is the larger, more careful one of two tests: one over "
    "groups, and one over seeds and groups, for which few seeds show little; where it is above 0.05 the "
    "interval reaches 0. Holm's correction counts the tests of these metrics alone, which a run is judged by; files "
    "with every metric correct the others for all of them. What one more seed may gain is a 95 % "
    "prediction on these same groups. Fixed: wrong before training and right after it. Broken: right before and wrong "
    "after."
)


def _more_seeds(label: str, change: SeedChange) -> str:
    """Why several seeds may show less than each of them does."""
    low, high = min(change.gains), max(change.gains)
    p = "" if change.over_groups is None else f" (sign test, p {p_text(change.over_groups.p_value)})"
    return (
        f"By the groups alone {label} would change by more than chance explains{p}; but "
        f"the {counted(len(change.gains), 'seed')} gain {_signed_range(low, high)} points, too few to say what "
        "further runs would gain: more seeds decide it."
    )


def _details(label: str, change: SeedChange, tests: int) -> str:
    """tests : that p is corrected for."""
    found = change.mean
    corrected = f", {p_text(found.p_holm)} after Holm's correction for {tests} tests" if tests > 1 else ""
    more = (
        "one more seed would change nothing"
        if change.same
        else "three seeds at least are needed to say what one more may gain"
        if change.next_gain is None
        else f"one more seed may gain {_signed_range(change.next_gain[0], change.next_gain[1])}"
    )
    fixed, broken = (_about(float(np.mean(counts))) for counts in (change.fixed, change.broken))
    return (
        f"{label}: p {p_text(found.p_value)}{corrected}; {more}. On average a seed fixes {fixed} groups and breaks "
        f"{broken}; {change.always_fixed} are fixed and {change.always_broken} broken by every seed."
    )


def _about(groups: float) -> str:
    """`about 201` of 201.33 groups; as it is where it is a whole number."""
    if groups.is_integer():
        return f"{groups:.0f}"
    return "fewer than 1" if groups < 1 else f"about {int(groups + 0.5)}"


CHANGED = "What changed over the seeds"  # a section's title


def changed_groups(runs: Sequence[Run]) -> None:
    """The groups that every complete seed has fixed, or broken, and those that only some have changed, as cards."""
    if len(runs) < 2 or run_groups(runs[0].id, runs[0].config).truth is None:
        return
    st.header(CHANGED, anchor=anchor(CHANGED))
    metric = counted_as_right(runs[0], [*zip(*_ends(runs), strict=True)])
    tables = [explained(run.id, run.done, run.attempt, metric, run) for run in runs]
    # The surest first; all seeds begin as one model, so that none breaks what another one fixes.
    order = np.argsort(-np.mean([table["margin_after"] for table in tables], axis=0), kind="stable")
    found: dict[str, list[ChangedGroup]] = {"fixed": [], "broken": [], "some": []}
    for index in order.tolist():
        turns = [str(table["change"].iloc[index]) for table in tables]
        seeds = [run for run, turn in zip(runs, turns, strict=True) if turn in ("fixed", "broken")]
        if seeds:
            change = turns[runs.index(seeds[0])]
            told = _by_which(change, seeds, len(runs))
            key = change if len(seeds) == len(runs) else "some"
            found[key].append(ChangedGroup(seeds[0], index, change, told))
    heads = {"fixed": "✓ Fixed by every seed", "broken": "✗ Broken by every seed", "some": "Changed by some"}
    changed_tabs({heads[key]: (key, groups) for key, groups in found.items()}, metric)


def _by_which(change: str, runs: Sequence[Run], of: int) -> str:
    """Which seeds have fixed or broken a group, and which one the card shows; Markdown."""
    numbers = [seed_of(run) for run in runs]
    by = (
        f"every one of {of} seeds"
        if len(runs) == of
        else f"{len(runs)} of {of} seeds ({_seeds_said(numbers)})"
    )
    return f"{change.capitalize()} by {by}; here seed {numbers[0]}. "


def _results(runs: Sequence[Run]) -> list[SeedResult]:
    """Every metric before and after, of a transfer check of each part."""
    return SeedResult.of_seeds(*_ends(runs), _masks(runs[0]))


def estimates_over_seeds(
    runs: Sequence[Run], steps: Sequence[Sequence[Mapping[str, Any]]]
) -> Mapping[tuple[str, str], tuple[Estimate, Estimate]]:
    """Every metric before and after in the mean over the complete seeds, with its interval over seeds and groups, by
    part ("" of all groups) and name; {} of one seed, of other kinds of run, and where the groups are not here."""
    if len(runs) < 2 or runs[0].kind not in RUNS:
        return {}
    own = complete(runs, steps)
    return _estimates(tuple((run.id, run.attempt, run.done) for run in own), own) if len(own) > 1 else {}


@st.cache_resource(max_entries=128, show_spinner=False)
def _estimates(
    names: tuple[tuple[str, int, int], ...], _runs: Sequence[Run]
) -> Mapping[tuple[str, str], tuple[Estimate, Estimate]]:
    with suppress(InputError):  # data that are not on this machine, as of a run that was imported
        if run_groups(_runs[0].id, _runs[0].config).truth is not None:
            return {
                (found.part.removesuffix(" groups"), found.metric): (found.before, found.after)
                for found in _results(_runs)
            }
    return {}


def _first_files(group: str, runs: Sequence[Run], missing: str) -> None:
    """What the seeds have come to as a table, above that of their curves; missing : that there will be more."""
    if missing:
        st.caption(f"**{missing}**")
    if runs and run_groups(runs[0].id, runs[0].config).truth is not None:
        csv_button("Results, gains and settings (CSV)", partial(_results_table, runs), f"results-{group}")


def _results_table(runs: Sequence[Run]) -> pd.DataFrame:
    """A row per metric: before, the mean after, the gain with interval and p as the page tests it, every seed's gain,
    and what was run."""
    return pd.DataFrame([_result_row(each, runs) for each in _results(runs)])


def _result_row(result: SeedResult, runs: Sequence[Run]) -> dict[str, Any]:
    before, after, change = result.before, result.after, result.change
    row: dict[str, Any] = {"metric": result.metric, "part": result.part or "all"}
    row |= {f"before{end}": value for end, value in _bounded(before.value, before.low, before.high).items()}
    row |= {f"after{end}": value for end, value in _bounded(after.value, after.low, after.high).items()}
    row |= {"after_sd": result.spread.std}
    row |= {"chance": after.chance, "gain": result.gain}
    if change is not None:
        mean, reach = change.mean, change.next_gain or (None, None)
        row |= {"gain_low": mean.low, "gain_high": mean.high}
        row |= {"p": mean.p_value, "p_holm": mean.p_value if mean.p_holm is None else mean.p_holm}
        row["p_holm_corrected_for"] = "; ".join(result.family)
        row |= {f"one_more_seed_{end}": value for end, value in zip(("low", "high"), reach, strict=True)}
        row |= {f"gain_seed_{seed_of(run)}": g for run, g in zip(runs, change.gains, strict=True)}
    groups = _groups_said(runs[0].config, RunStore().steps(runs[0].id)[:1])
    return row | {"groups": groups, "settings": " · ".join(_settings_said(runs[0])), **_origin(runs)}


def _bounded(value: float, low: float, high: float) -> dict[str, float]:
    return {"": value, "_low": low, "_high": high}


def _latex(runs: Sequence[Run], missing: str = "") -> str:
    """Before, the mean ± deviation after, and the gain with its interval and p. missing : that there will be more."""
    return f"{f'% {missing}' if missing else ''}\n{SeedResult.latex(_results(runs), what_ran(runs))}".lstrip(
        "\n"
    )


def _report(runs: Sequence[Run], missing: str = "") -> bytes:
    """What the seeds have come to, and the groups before, and after each seed."""
    ends = [("before", runs[0], 0), *((f"after, seed {seed_of(run)}", run, run.done) for run in runs)]
    job = adaptation(runs[0].config)
    what = [part for part in _settings_said(runs[0]) if part.startswith(_KIND_PARTS)]
    method = ", ".join(what if "SimpleMatch" in what else ["TTM", *what])
    seeds = _seeds_said([seed_of(run) for run in runs])
    title = f"{job._model} on {job.benchmark}, {method}, {'seeds' if len(runs) > 1 else 'seed'} {seeds}"
    note = f"{_groups_said(runs[0].config, RunStore().steps(runs[0].id)[:1])}."
    said = f"{missing} {note[0].upper()}{note[1:]}".strip()
    rows, total = summary([RunStore().steps(run.id) for run in runs]), max(run._axis_end for run in runs) or 1
    curves = {part: figures.spread_data(rows, total, part) for part in rows[0].get("parts") or [""]}
    told = {"title": title, "note": said, "about": what_ran(runs), "command": _command(runs)}
    return report_of(ends, _results(runs), curves=curves, **told)


def _command(runs: Sequence[Run]) -> str:
    command = "" if is_public() else command_line(adaptation(runs[0].config))
    return f"{command} --seeds {len(runs)}" if command else ""


def result(runs: Sequence[Run], steps: Sequence[Sequence[Mapping[str, Any]]]) -> None:
    """After, with its deviation, interval, chance level and ties, and before, of every part."""
    ends = _ends_of(SeedGroup("", list(runs)), steps, estimates_over_seeds(runs, steps))
    if not ends.complete:
        st.caption("The result appears when the first seed is complete.")
        return
    parts = dict.fromkeys(side for side, _ in ends.after)
    for side in [side for side in parts if side] or [""]:
        names = headline_metrics([name for part, name in ends.after if part == side])
        for column, name in zip(st.columns(max(len(names), 1), gap="medium"), names, strict=False):
            with column.container(border=True, gap="xxsmall"):
                trained = name == GROUP_SCORE and side != "untouched" and (side, GROUP_MATCH) in ends.after
                memorised = ends.after[side, GROUP_MATCH].chance if trained else None
                _card(name, side, ends.before[side, name], ends.after[side, name], len(runs), memorised)


def _card(name: str, side: str, was: _Result, now: _Result, seeds: int, memorised: float | None) -> None:
    label, meaning = label_and_meaning(name)
    where = f", {side} groups" if side else ""
    told = memorised_meaning(meaning, memorised)
    st.metric(f"{label}{where}", spread(now), help=told, **change_text(was.value, now.value))
    of = counted(seeds, "seed") if now.seeds == seeds else f"{now.seeds} of {counted(seeds, 'seed')}"
    began = spread(was._replace(sd=was.sd or None))  # before training all seeds are one model
    facts = unbroken(f"Mean of {of}: {_facts(now)}.  \nBefore {began}: {_facts(was)}.")
    st.caption(facts + memorised_words(memorised))


def _facts(found: _Result) -> str:
    """`95 % interval 50.8–74.7, chance 50.0 %, no ties`."""
    interval = "" if found.low is None else f"95 % interval {_pct(found.low)}–{_pct(found.high)}, "
    ties = (
        "ties not counted"
        if found.ties is None
        else "no ties"
        if not found.ties
        else f"{found.ties:.3g} tied"
    )
    return f"{interval}chance {_pct(found.chance)} %, {ties}"


def spread(found: _Result) -> str:
    """`79.6 ± 1.5 %`, of seeds that all have the same `79.6 ± 0.0 %`; `79.6 %` of one seed."""
    return f"{_pct(found.value)}{'' if found.sd is None else f' ± {_pct(found.sd)}'} %"


def curves(runs: Sequence[Run], rows: Sequence[Mapping[str, Any]]) -> None:
    total = max(run._axis_end for run in runs) or len(rows)
    for side in rows[0].get("parts", {"": None}):
        data = figures.spread_data(rows, total, side)
        where = f" of the {side} groups" if side else ""
        changes = ", ".join(
            f"{label_and_meaning(n)[0]} {_pct(v[0, 0])} to {_pct(v[-1, 0])} %"
            for n, v in data.metrics.items()
        )
        alt = f"Means over seeds{where}: {changes}."
        chart(figures.ttm_metrics_figure(data, _HEIGHT), alt, f"sweep-{side}")
        st.caption(f"Mean over seeds{where}; bands are one standard deviation, dotted lines chance levels.")


def table(runs: Sequence[Run], steps: Sequence[Sequence[Mapping[str, Any]]]) -> None:
    """Every seed: how far it is, its main metrics with interval and ties, and the way to it."""
    names = headline_metrics(
        {name for records in steps for record in records[-1:] for name in record["metrics"]}
    )
    rows: list[dict[str, Any]] = []
    total = max(run.total for run in runs) or "–"  # one that waits does not know its own yet
    for run, records in zip(runs, steps, strict=True):
        row = {"seed": seed_of(run), "status": run.status, "iterations": f"{run.done} of {total}"}
        for name in names:
            label = label_and_meaning(name)[0]
            row |= {
                f"{label} before": accuracy(records[:1], name),
                f"{label} after": accuracy(records[-1:], name),
            }
        row |= _counts(run, records)
        rows.append(
            {**row, "time": duration(sum(record["seconds"] for record in records)) if records else "–"}
        )
    wide_table(pd.DataFrame(rows), key="seeds_table")
    with st.container(horizontal=True):
        for run in runs:
            label, icon = f"Open seed {seed_of(run)}", ":material/open_in_full:"
            if st.button(label, key=f"seed-{run.id}", icon=icon):
                # Drawn in a part that is redrawn by itself: a callback would change the address and nothing else.
                open_run(run.id)
                st.rerun()


def _counts(run: Run, records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """How many groups a seed that is over has fixed and broken, by GroupMatch."""
    label = METRICS[GROUP_MATCH].label
    own = complete([run], [records])
    found = next((c for name, c in changes(own).items() if name == label), None)
    fixed, broken = ("–", "–") if found is None else (str(found.fixed[0]), str(found.broken[0]))
    return {f"{label} fixed": fixed, f"{label} broken": broken}


def accuracy(steps: Sequence[Mapping[str, Any]], name: str) -> str:
    """The last of these records' value with its interval and ties."""
    metric = steps[-1]["metrics"].get(name) if steps else None
    if not metric:
        return "–"
    tied = f", {metric['ties']} tied" if metric["ties"] else ""
    return f"{_pct(metric['value'])} % ({_pct(metric['low'])}–{_pct(metric['high'])}{tied})"
