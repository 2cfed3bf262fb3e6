"""The binding ladder: where a model loses which attribute belongs to which object, rung by rung."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pandas as pd
import streamlit as st

from core import figures
from core.base.public_mode import is_public
from core.base.text import _exact_differences
from core.figures.text import escape_markdown
from core.ladder.ladder import MORE, RUNGS, Ladder
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS
from core.metrics.statistics import Estimate
from ui.chart_clicks import ChartPoint, clicked_point
from ui.export import chart, export_section
from ui.formatting import estimate_columns, p_text, true_minus, unbroken
from ui.old_links import own_parameters
from ui.selection import offer_nearest, page_button, seed

TITLE = "Where is the binding lost?"
HEADING = f"Ladder: {TITLE[0].lower()}{TITLE[1:]}"  # with the name that the menu has
PAGE = "pages/11_Ladder.py"
FIRST_SET = "scenes/left-right"  # of a visit that asks for nothing
READING = (
    "All rungs are of the same test groups. A probe reads one tower and is given what the other side says, without "
    "error; probes and map are trained on fresh groups of the training split, {runs}. "
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
    state = st.session_state
    if not (own_parameters() or {"set", "carried"} & {*state} or "set" in state.get("selected", {})):
        seed("set", FIRST_SET)


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
            label="Export the ladder",
            title=f"{TITLE} {model} on {benchmark}",
            note=signs,
        )
    elif is_public():
        st.info("It has not been measured for this model; those of the built-in models have.")
    else:
        st.info("It has not been measured for this model yet. A few minutes, and the result appears here:")
        st.code(f"crossmatch ladder {benchmark} --model {model}", language=None)


@cache
def shipped() -> dict[tuple[str, str], dict[str, Any]]:
    """The ladders that ship with Crossmatch, by set and model."""
    return {(record["benchmark"], record["model"]): record for record in Ladder.shipped()}


def _record(benchmark: str, model: str) -> dict[str, Any] | None:
    return shipped().get((benchmark, model)) or (None if is_public() else Ladder.stored(benchmark, model))


def draw(record: Mapping[str, Any], key: str) -> None:
    """The verdict in one sentence, the figure, and every number."""
    where, _, numbers = Ladder.headline(record).partition(". ")
    st.markdown(f"**{escape_markdown(where)}.** {escape_markdown(unbroken(numbers))}")
    _offer_loss(record)
    there = [row for row in record["rungs"] if "missing" not in row]
    summary = "; ".join(f"{row['label']} {row[GROUP_MATCH]['value']:.1f} %" for row in there)
    chart(figures.ladder_figure(record), f"{TITLE} GroupMatch by rung: {summary}.", f"{key}-figure")
    st.caption(_signs(there))
    _one_rung(record, f"{key}-figure")
    st.caption(READING.format(runs=_runs(record)))
    absent: dict[str, list[str]] = {}
    for row in record["rungs"]:
        if "missing" in row:
            absent.setdefault(row["missing"], []).append(row["label"])
    for why, labels in absent.items():
        st.caption(f"**{', '.join(labels)}**: {escape_markdown(why)}")
    if any(row["name"] == "ttm" for row in there):
        st.caption(f"**{RUNGS['ttm'].label}**: {RUNGS['ttm'].meaning}")
    with st.expander("What this shows, in words", icon=":material/notes:"):
        st.markdown(
            "\n".join(f"- {escape_markdown(unbroken(true_minus(said)))}" for said in record["verdict"])
        )
        st.caption(LIMITS)
    with st.expander("Every rung in numbers", icon=":material/table_rows:"):
        st.dataframe(_table(record), hide_index=True)
        if record["steps"]:
            st.dataframe(_steps(record), hide_index=True)


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


def _table(record: Mapping[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "rung": row["label"],
                **{METRICS[m].label: _cell(row.get(m)) for m in (GROUP_MATCH, GROUP_SCORE)},
                **{
                    f"GroupMatch, {name}": _cell(row.get(kind, {}).get(which, {}).get(GROUP_MATCH))
                    for kind, which, name in MORE
                },
            }
            for row in record["rungs"]
        ]
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
    return pd.DataFrame(rows).convert_dtypes()


def _steps(record: Mapping[str, Any]) -> pd.DataFrame:
    label = {row["name"]: row["label"] for row in record["rungs"]}
    steps = [*record["steps"]]
    if record.get("recovery"):
        steps.append({"before": "own", "after": "ttm", "lost": None, **record["recovery"]})
    return pd.DataFrame(
        [
            {
                "from": label[step["before"]],
                "to": label[step["after"]],
                "points of GroupMatch": Ladder.points(record, step),
                "95 %": f"{step['low']:+.1f} to {step['high']:+.1f}",
                "p (Holm)": p_text(Ladder.p_value(step)),
                "what can be told": _told(step),
            }
            for step in steps
        ]
    )


def _told(step: Mapping[str, Any]) -> str:
    if Ladder.p_value(step) >= 0.05:
        return "cannot tell"
    return "lost" if step["difference"] < 0 else "gained"
