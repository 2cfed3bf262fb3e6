"""The binding ladder: where a model loses which attribute belongs to which object, rung by rung."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from core import figures
from core.base.public_mode import is_public
from core.base.text import _exact_differences, _file_columns, _pct, _signed, _signed_range, counted
from core.exchange.layouts import text_table_latex
from core.figures.text import escape_markdown
from core.ladder.ladder import MORE, RUNGS, RUNS, SETS, Ladder
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS
from core.metrics.statistics import Estimate
from ui.chart_clicks import ChartPoint, clicked_point
from ui.export import chart, export_section
from ui.formatting import estimate_columns, p_text, true_minus, unbroken
from ui.old_links import is_first_visit
from ui.selection import (
    Selection,
    benchmarks,
    chosen_by_page,
    offer_nearest,
    open_by_itself,
    page_button,
    selected_model,
    warn_unknown,
)

TITLE = "Where is the binding lost?"
HEADING = f"Ladder: {TITLE[0].lower()}{TITLE[1:]}"  # with the name that the menu has
PAGE = "pages/11_Ladder.py"
IN_NUMBERS = "Every rung in numbers"
FIRST_SET = "scenes/left-right"  # of a visit that asks for nothing
READING = (
    "All rungs are of the same test groups. A linear probe reads what one side of the model holds, picture or text, "
    "and is told what the other side says. Probes and map are trained on fresh groups of the training split, {runs}. "
    f"{_exact_differences()}"
)
# Of the signs below a bar: what has to be there for one, and what it is.
SIGNS = {
    (
        "combinations",
        "unseen",
    ): "○ on combinations of colour and shape that no training picture had",
    ("controls", "untrained"): "✕ of such a model before any training",
}
_SIGNS_BELOW = 0.15  # of a bar's height: its signs stand from 0.23 below it
LIMITS = (
    "What a linear probe finds is there; what it does not find may be there in another form. An untrained model of "
    "the same architecture, drawn once, shows how much a probe finds without learning; labels dealt at random end at "
    "chance on average over deals. "
    "Unseen combinations of colour and shape are in the training data of neither model nor probe. A loss is named "
    "where a paired test over groups and runs finds one after Holm's correction; elsewhere nothing can be told."
)


def first_visit() -> None:
    """Where nothing was selected yet and the address says nothing: a set on which a loss is found."""
    if is_first_visit():
        open_by_itself(FIRST_SET)


def opening_line() -> str:
    """Why a visit that asks for nothing begins with this set, and where the set of the other pages is; "" where
    somebody chose a set, or a model that is not shown to lose anything on this one."""
    model = selected_model()
    record = shipped().get((FIRST_SET, model))
    if record is None or not Ladder.loses(record):
        return ""
    elsewhere = f"; the other pages begin with {next(iter(benchmarks()))}"
    return chosen_by_page(FIRST_SET, f"{model} loses the binding there{elsewhere}")


def why_not(selection: Selection) -> str:
    """Why there is no ladder of the selected set; "" where there is one."""
    name, (m, k) = selection.benchmark, selection.groups.shape
    if name in SETS:
        return ""
    listed = ", ".join(SETS)
    if selection.is_file or not name.startswith("scenes/"):
        return (
            f"The ladder needs to know what every picture shows, as on {listed}. For other sets it needs scene graphs, "
            "which Crossmatch does not read yet."
        )
    if m != k:
        return (
            "The ladder needs groups whose pictures differ by one exchange, each picture with a caption of its own, as "
            f"on {listed}. A group of {name} has {counted(m, 'picture')} and {k} captions."
        )
    return f"The ladder is measured on sets as they are: {listed}. {name} is made of one of them."


def section(benchmark: str, model: str) -> None:
    """The ladder of a model on one of `SETS`, or how to measure it."""
    record = _record(benchmark, model)
    if record is not None and not record["steps"]:
        _without_ladder(record)
    elif record is not None:
        draw(record, "ladder")
        shown = {"ladder": lambda: figures.ladder_figure(record)}
        signs = _signs([row for row in record["rungs"] if "missing" not in row])
        export_section(
            "ladder",
            lambda: _numbers(record),
            shown,
            latex=lambda: _latex(record),
            command=_command(record),
            label="Export the ladder",
            title=f"{TITLE} {model} on {benchmark}",
            note=signs,
        )
    elif is_public():
        st.info("It has not been measured for this model; those of the built-in models have.")
    else:
        st.info("It has not been measured for this model yet. A few minutes, and the result appears here:")
        st.code(shlex.join(["crossmatch", "ladder", benchmark, "--model", model]), language=None)


@cache
def shipped() -> dict[tuple[str, str], dict[str, Any]]:
    """The ladders that ship with Crossmatch, by set and model."""
    return {(record["benchmark"], record["model"]): record for record in Ladder.shipped()}


def _record(benchmark: str, model: str) -> dict[str, Any] | None:
    return shipped().get((benchmark, model)) or (None if is_public() else Ladder.stored(benchmark, model))


# Names of marks that begin so wait in the legend: with all of them three marks stand below each bar.
_BEHIND = ("GroupScore", "GroupMatch, unseen")


def draw(record: Mapping[str, Any], key: str) -> None:
    """The verdict in one sentence, the figure, and every number."""
    where, _, numbers = Ladder.headline(record).partition(". ")
    whose = f"{record['model']} on {record['benchmark']}: {where[0].lower()}{where[1:]}"
    st.markdown(f"**{escape_markdown(whose)}.** {escape_markdown(unbroken(true_minus(numbers)))}")
    _offer_loss(record)
    there = [row for row in record["rungs"] if "missing" not in row]
    summary = "; ".join(f"{row['label']} {_pct(row[GROUP_MATCH]['value'])} %" for row in there)
    figure = figures.ladder_figure(record)
    behind = [trace.name for trace in figure.data if trace.name and trace.name.startswith(_BEHIND)]
    if not st.session_state.get(f"{key}-signs"):
        figure.for_each_trace(
            lambda trace: trace.update(visible="legendonly"), lambda trace: trace.name in behind
        )
    chart(figure, f"{TITLE} GroupMatch by rung: {summary}.", f"{key}-figure")
    st.caption(_signs(there))
    if behind:  # the names above the bars, which do the same, are too low for a finger
        st.toggle(f"Show {' and '.join(f'“{name}”' for name in behind)}, too", key=f"{key}-signs")
    _one_rung(record, f"{key}-figure")
    st.caption(READING.format(runs=_runs(record)))
    absent: dict[str, list[str]] = {}
    for row in record["rungs"]:
        if "missing" in row:
            absent.setdefault(row["missing"], []).append(row["label"])
    for why, labels in absent.items():
        st.caption(f"**{', '.join(labels)}**: {escape_markdown(why)}")
    with st.expander("What this shows, in words"):
        st.markdown(
            "\n".join(f"- {escape_markdown(unbroken(true_minus(said)))}" for said in record["verdict"])
        )
        st.caption(LIMITS)
    with st.expander(IN_NUMBERS):
        st.html(_table_html(record))
        st.caption(_READING_TABLE)
        if record["steps"]:
            st.html(_steps_html(record))


def _without_ladder(record: Mapping[str, Any]) -> None:
    """Of a model without two towers: why there is nothing to draw, what its scores reach, and one that has a ladder."""
    said = unbroken(f"{Ladder.headline(record)}{_token_line(record)}")
    nearest = next(
        model for (name, model), r in shipped().items() if name == record["benchmark"] and r["steps"]
    )
    offer_nearest(said, f"Show the ladder of {nearest}", PAGE, {"set": record["benchmark"], "model": nearest})


def _token_line(record: Mapping[str, Any]) -> str:
    """What a probe finds in the image tokens of a model that has them."""
    found = next(
        (row for row in record["rungs"] if row["name"] == "image-tokens" and GROUP_MATCH in row), None
    )
    return "" if found is None else f" A linear probe of its image tokens: {line(found[GROUP_MATCH])}."


def _offer_loss(record: Mapping[str, Any]) -> None:
    """Where no step loses anything: the way to a set where a step of this model loses much."""
    other = shipped().get((FIRST_SET, record["model"]))
    if other is None or Ladder.loses(record) or not Ladder.loses(other):
        return
    state = {"set": FIRST_SET, "model": record["model"]}
    page_button(
        f"Show a set where a step loses much: {FIRST_SET}", PAGE, state, icon=":material/arrow_forward:"
    )


def _signs(rungs: Sequence[Mapping[str, Any]]) -> str:
    """What the bars and the signs of the figure are, as far as these rungs have them."""
    signs = [
        said for (kind, which), said in SIGNS.items() if any(which in row.get(kind, {}) for row in rungs)
    ]
    told = "; ".join([f"◆ {METRICS[GROUP_SCORE].label}, the stricter metric", *signs])
    drawn = ["Bars", *(said[0] for said in signs)]
    of = f"{', '.join(drawn[:-1])} and {drawn[-1]}" if signs else drawn[0]
    return f"{of}: GroupMatch; bars with 95 % interval; dotted: chance. {told}."


def _one_rung(record: Mapping[str, Any], figure: str) -> None:
    """A rung in words and with all of its numbers: chosen by its name, or by a click on its bar."""
    rows = {row["name"]: row for row in record["rungs"] if "missing" not in row}
    places = list(rows)  # the figure has no place for a rung that is missing

    def open_clicked(point: ChartPoint) -> None:
        name = places[min(max(round(point.y - _SIGNS_BELOW), 0), len(places) - 1)]
        if name in rows:
            st.session_state["rung"] = name

    clicked_point(figure, open_clicked)
    if st.session_state.get("rung", "own") not in rows:  # of another model
        st.session_state.pop("rung")
    labels = [row["label"] for row in rows.values()]  # as the address has them
    warn_unknown("rung", st.query_params.get_all("rung"), labels)
    name = st.pills(
        "One rung, in words: choose it here or press its bar", list(rows), default="own",
        format_func=lambda each: rows[each]["label"], key="rung", bind="query-params", required=True,
    )  # fmt: skip
    row = rows[name or "own"]
    lines = [f"**{row['label']}.** {RUNGS[row['name']].meaning}"]
    lines += [f"- {METRICS[m].label}: {line(row[m])}" for m in (GROUP_MATCH, GROUP_SCORE)]
    for kind, which, said in (
        ("combinations", "unseen", "on combinations that were never trained on"),
        ("controls", "untrained", "of a model that was never trained"),
    ):
        if found := row.get(kind, {}).get(which):
            lines.append(f"- GroupMatch {said}: {line(found[GROUP_MATCH])}")
    with st.container(border=True):
        st.markdown("\n".join(lines))


def _runs(record: Mapping[str, Any]) -> str:
    runs = record.get("runs", 1)
    if runs == 1:
        return "once: with other training groups they may say something else, which the intervals leave out"
    return f"{runs} times, each on other groups; the intervals allow for the choice of these and of the test groups"


def line(estimate: Mapping[str, Any] | None) -> str:
    """An estimate of a record with its interval, chance and ties; a dash for none."""
    return unbroken(_cell(estimate))


def _cell(estimate: Mapping[str, Any] | None) -> str:
    """The same as tables and files have it, with spaces as they are."""
    return "–" if estimate is None else str(Estimate.of_record(estimate))


_READING_TABLE = (
    "Percent of the groups; below each value its 95 % interval. No group ties but where a cell says so."
)


def _table_html(record: Mapping[str, Any]) -> str:
    """Every rung with its metrics, parts and controls, each value above its interval; chance last. On a phone the first
    metric is seen beside the rungs, and a line says that there is more."""
    columns = _columns(record)
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join(
        f'<tr><th scope="row">{escape(row["label"])}</th>'
        f"{''.join(_cell_html(found(row)) for found in columns.values())}</tr>"
        for row in record["rungs"]
    )
    levels = "".join(f"<td><div>{level}</div></td>" for level in _chance_levels(record))
    return _scrolling(f"<td></td>{head}", f'{body}<tr><th scope="row">chance</th>{levels}</tr>', "Every rung")


_Found = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]  # a rung of a record -> one of its estimates


def _columns(record: Mapping[str, Any]) -> dict[str, _Found]:
    """What there is to read of a rung, by its name; parts and controls that some rung has."""

    def metric(name: str) -> _Found:
        return lambda row: row.get(name)

    def more(kind: str, which: str) -> _Found:
        return lambda row: row.get(kind, {}).get(which, {}).get(GROUP_MATCH)

    columns = {METRICS[name].label: metric(name) for name in (GROUP_MATCH, GROUP_SCORE)}
    columns |= {f"GroupMatch, {name}": more(kind, which) for kind, which, name in MORE}
    return {name: found for name, found in columns.items() if any(map(found, record["rungs"]))}


def _chance_levels(record: Mapping[str, Any]) -> list[str]:
    """The chance level of each column, which all rungs share."""
    found = ([of(row) for row in record["rungs"]] for of in _columns(record).values())
    return [next(_pct(each["chance"]) for each in column if each) for column in found]


def _scrolling(head: str, body: str, name: str) -> str:
    """A table in a place of its own, whose first column stays where it is scrolled sideways."""
    return (
        '<div class="cm-wide"><p class="cm-more">This table is wider than the page: scroll it sideways.</p>'
        f'<div class="cm-scroll" tabindex="0" role="region" aria-label="{name}"><table class="cm-cells">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></div>"
    )


def _cell_html(found: Mapping[str, Any] | None) -> str:
    """A value above its intervals, and above its ties where it has any."""
    if found is None:
        return "<td><div>–</div></td>"
    e, notes = Estimate.of_record(found), [f"{_pct(found['low'])}–{_pct(found['high'])}"]
    if e.clustered is not None:
        notes.append(
            f"by {e.clustered.by} {_pct(e.clustered.low)}–{_pct(e.clustered.high)}{e.clustered.dominated}"
        )
    notes += [e.tied] if e.ties != 0 else []
    return (
        f"<td><div>{_pct(e.value)} %{''.join(f'<small>{escape(note)}</small>' for note in notes)}</div></td>"
    )


def _numbers(record: Mapping[str, Any]) -> pd.DataFrame:
    """The same as numbers alone, for a file: value, interval, chance level and ties in columns of their own."""
    rows = []
    for row in record["rungs"]:
        columns = {"rung": row["label"]}
        for metric in (GROUP_MATCH, GROUP_SCORE):
            columns |= estimate_columns(METRICS[metric].label, row.get(metric))
        for kind, which, name in MORE:
            found = row.get(kind, {}).get(which, {}).get(GROUP_MATCH)
            columns |= estimate_columns(f"GroupMatch, {name}", found)
        rows.append(columns)
    return _file_columns(pd.DataFrame(rows).convert_dtypes())


def _steps(record: Mapping[str, Any]) -> list[dict[str, str]]:
    """From each rung to the next, in texts."""
    label = {row["name"]: row["label"] for row in record["rungs"]}
    steps = [*record["steps"]]
    if record.get("recovery"):
        steps.append({"before": "own", "after": "ttm", "lost": None, **record["recovery"]})
    return [
        {
            "from one rung to the next": f"{label[step['before']]} → {label[step['after']]}",
            "points": true_minus(_signed(Ladder.points(record, step))),
            "95 %": true_minus(f"{_signed_range(step['low'], step['high'])}"),
            "p (Holm)": p_text(Ladder.p_value(step)),
            "told": _told(step),
        }
        for step in steps
    ]


def _steps_html(record: Mapping[str, Any]) -> str:
    """The steps, points of GroupMatch above their interval."""
    head = "".join(
        f'<th scope="col">{name}</th>' for name in ("points of GroupMatch", "p (Holm)", "what can be told")
    )
    body = "".join(
        f'<tr><th scope="row">{escape(step["from one rung to the next"])}</th><td><div>{step["points"]}'
        f"<small>{step['95 %']}</small></div></td><td><div>{escape(step['p (Holm)'])}</div></td>"
        f"<td><div>{step['told']}</div></td></tr>"
        for step in _steps(record)
    )
    return _scrolling(f"<td></td>{head}", body, "Every step")


def _latex(record: Mapping[str, Any]) -> str:
    """Every rung and every step in LaTeX, a table each, with what they are of and how they are read below them."""
    columns = _columns(record)
    rungs = [
        {"rung": row["label"], **{name: _bracketed(found(row)) for name, found in columns.items()}}
        for row in record["rungs"]
    ]
    rungs.append({"rung": "chance", **dict(zip(columns, _chance_levels(record), strict=True))})
    tied = [
        f"{row['label']}: {name} {estimate.tied}"
        for row in record["rungs"]
        for name, found in columns.items()
        if (of := found(row)) and (estimate := Estimate.of_record(of)).ties != 0
    ]
    what = f"{record['model']} on {record['benchmark']}, {record['n_groups']} groups of {record['shape']}."
    ties = f"Ties, which count as wrong: {'; '.join(tied) or 'none'}."
    reading = f"Percent of the groups; brackets: 95 % intervals. {ties}"
    tables = [
        text_table_latex(pd.DataFrame(rungs), [what, reading, READING.format(runs=_runs(record)), _DASH])
    ]
    if record["steps"]:
        note = f"{what} Points of GroupMatch, paired over the same groups. Holm: p corrected for all steps."
        steps = pd.DataFrame(_steps(record)).rename(columns={"95 %": "95 % interval"})
        tables.append(text_table_latex(steps, [note, _exact_differences()]))
    return "\n\n".join(tables)


_DASH = "–: the model has no such rung, or it was not measured there."


def _bracketed(found: Mapping[str, Any] | None) -> str:
    return "–" if found is None else f"{_pct(found['value'])} [{_pct(found['low'])}, {_pct(found['high'])}]"


def _command(record: Mapping[str, Any]) -> str:
    """What measures and prints this ladder; runs and seed where they are not the command's own."""
    words = ["crossmatch", "ladder", record["benchmark"], "--model", record["model"]]
    words += ["--runs", str(record.get("runs", 1))] if record.get("runs", 1) != RUNS else []
    words += ["--seed", str(record["seed"])] if record.get("seed", 0) else []
    return shlex.join(words)


def _told(step: Mapping[str, Any]) -> str:
    if Ladder.p_value(step) >= 0.05:
        return "cannot tell"
    return "lost" if step["difference"] < 0 else "gained"
