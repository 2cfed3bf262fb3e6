"""Papers: every table's numbers beside one's own runs, what is missing for the rest, and running it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

import ui
from core import figures as plots
from core import papers
from core.base.public_mode import is_public, shown
from core.base.text import duration
from core.datasets.published import CITATIONS
from core.figures.text import escape_markdown
from core.papers import table_html
from core.papers.background import is_working, start_table, stop_table
from core.runs.store import RunStore
from ui import runs, shipped_results

LEAD = (
    "The papers' numbers, cell by cell, beside yours. Your run counts where data, model and every setting are the "
    "table's; its last iteration is the result."
)
STATES = {
    "done": (":material/check:", "blue", "done"),
    "running": (":material/play_arrow:", "violet", "running"),
    "stopped": (":material/stop:", "orange", "interrupted"),
    "ready": (":material/circle:", "gray", "ready to run"),
    "missing": (":material/download:", "orange", "missing data or weights"),
    "printed": (":material/article:", "gray", "published numbers only"),
}
# Where else a paper's numbers are measured, on data that are here.
ELSEWHERE = {
    "vgpt": ("pages/3_Debias.py", "Debias: the same measurement on your selection"),
    "cola": ("pages/5_Retrieval.py", "Retrieval: the same measurement on the built-in world"),
}
OWN_FIGURES = ("world/cola", "world/alpha")  # not about test-time matching
# Where a run of a kind is opened; the others in the list of all runs.
RUN_PAGES = {
    "ttm": (runs.TTM_PAGE, {}),
    "simplematch": (runs.TTM_PAGE, {}),
    "adapt": ("pages/5_Retrieval.py", {"view": "train"}),
}


def choose() -> tuple[str, table_html.TableChoice]:
    """Paper and table."""
    left, right = st.columns([2, 3])
    paper = left.selectbox("Paper", [*table_html.PAPERS, table_html.WORLD], key="paper", bind="query-params")
    tables = table_html.table_choices(paper)
    if st.session_state.get("table", next(iter(tables))) not in tables:
        st.session_state["table"] = next(iter(tables))
    table = right.selectbox("Table", list(tables), key="table", bind="query-params")
    st.caption(escape_markdown(f"{paper}, {table}: {tables[table].title}"))
    return paper, tables[table]


# --- tables that can be run ----------------------------------------------------------------------------------------


def runnable(name: str) -> None:
    """A table of runs: numbers, what is missing, and the way to run the rest."""
    seeds = 1
    if any(line.job is not None and line.seeds is None for line in papers.lines(name)):
        seeds = int(
            ui.number(st, "Seeds per line", 1, 64, papers.SEEDS, key="seeds", width=160) or papers.SEEDS
        )
    else:
        st.caption("Nothing is trained for these numbers: every line is measured once.")
    store = ui.VisitorStore()
    busy = under_way(store, name, seeds)
    st.fragment(standing, run_every=3.0 if busy else None)(name, seeds, busy)
    record = papers.table_plan(store, name, seeds).record()
    needs(record)
    other = table_html.COUNTERPARTS.get(name)
    if other:
        state_of_page = {"paper": table_html.WORLD, "table": other}
        ui.page_button(
            "This kind of table on the built-in world",
            "pages/7_Papers.py",
            state_of_page,
            icon=":material/public:",
        )
    page = ELSEWHERE.get(name.partition("/")[0])
    if page is not None:
        ui.page_button(page[1], page[0], {}, icon=":material/straighten:")
    figures = {"numbers": lambda: plots.papers_figure(plots.papers_data(record))}
    if name.startswith(("ttm/", "world")) and name not in OWN_FIGURES:
        figures |= shipped_results.section()
    ui.export_section(f"table-{name.replace('/', '-')}", table_html.plan_frame(record), figures)


def under_way(store: RunStore, name: str, seeds: int) -> bool:
    return is_working(store, name) or any(
        s.state == "running" for s in papers.table_plan(store, name, seeds).lines
    )


def standing(name: str, seeds: int, polled: bool) -> None:
    """How far the table is; polled while it is worked on."""
    with ui.show_errors():
        store = ui.VisitorStore()
        if polled != under_way(store, name, seeds):
            st.rerun()
        found = papers.table_plan(store, name, seeds)
        record = found.record()
        actions(store, found, polled)
        told = "Upper number: the paper's. Lower: yours, mean ± standard deviation over complete seeds."
        if name.startswith("world"):
            told = "Upper number: the shipped result. Lower: yours, mean ± standard deviation over complete seeds."
        st.caption(f"{told} Percent; gains in points or percent. Standard deviation: {found.deviation}.")
        st.html(table_html.table_html(record))
        data = plots.papers_data(record)
        few = len(data.lines) <= 12 and len(data.results) <= 6
        with st.expander("As a figure", icon=":material/scatter_plot:", expanded=few):
            alt = f"Numbers of the table {found.title}, the reference hollow and yours filled, one row per line."
            ui.chart(plots.papers_figure(data), alt, "papers-figure")
        lines(store, found)


def actions(store: RunStore, found: papers.TablePlan, busy: bool) -> None:
    """Counts, the time it takes, and run or stop everything."""
    states = [status.state for status in found.lines]
    ready = [s for s in found.lines if s.state in ("ready", "stopped")]
    with st.container(horizontal=True, vertical_alignment="center"):
        for name, (icon, colour, label) in STATES.items():
            if name in states:
                st.badge(f"{states.count(name)} {label}", icon=icon, color=colour)  # type: ignore[arg-type]
        if busy and not is_public():
            stop = lambda: stop_table(store, found.name, found.seeds)  # noqa: E731
            st.button("Stop", icon=":material/stop:", on_click=runs.run_action, args=(stop,))
        elif ready and is_public():
            st.caption(f"{len(ready)} lines can run on your own installation.")
        elif ready:
            begin = lambda: start_table(store, found.name, found.seeds)  # noqa: E731
            label = "Resume what was interrupted" if "stopped" in states else "Run all available lines"
            st.button(
                label, type="primary", icon=":material/play_arrow:", on_click=runs.run_action, args=(begin,)
            )
            known = [s.seconds for s in ready if s.seconds is not None]
            left = f"about {duration(sum(known))} at most" if known else "no time estimate yet"
            each = "once each" if all(s.wanted == 1 for s in ready) else f"{found.seeds} seeds each"
            st.caption(f"{len(ready)} lines, {each}: {left}. It continues when you close this page.")
        elif not busy and "missing" in states:
            st.caption("No more lines of this table can run yet; what is missing is listed below.")


def lines(store: RunStore, found: papers.TablePlan) -> None:
    """Every line by itself: state, seeds, time, its runs."""
    with st.expander(f"Plan: {len(found.lines)} lines", icon=":material/checklist:"):
        rows = []
        for status in found.lines:
            known = status.seconds is not None and status.state != "done"
            rows.append(
                {
                    "line": status.line.label,
                    "state": STATES[status.state][2],
                    "seeds": f"{len(status.complete)} of {status.wanted}" if status.line.jobs else "–",
                    "time": f"{duration(status.seconds)} ({status.pace})" if known else "–",
                    "runs": len(status.runs),
                }
            )
        st.dataframe(pd.DataFrame(rows), hide_index=True, key="plan_lines")
        one(store, found)


def one(store: RunStore, found: papers.TablePlan) -> None:
    """Start a single line, or open one of its runs."""
    names = [status.line.label for status in found.lines]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        label = st.selectbox("Line", names, key="line", width=380)
        status = next(s for s in found.lines if s.line.label == label)
        if status.state in ("ready", "stopped") and not is_public():
            begin = lambda: papers.start_line(store, status)  # noqa: E731
            st.button("Run this line", icon=":material/play_arrow:", on_click=runs.run_action, args=(begin,))
        if status.runs:
            newest = store.get(next(iter(status.runs)))
            page, state = RUN_PAGES.get(newest.kind, ("pages/9_Runs.py", {}))
            # Only the page of test-time matching shows the seeds of a group as one.
            name = newest.config.get("group") if page == runs.TTM_PAGE else None
            key = "run" if newest.kind in RUN_PAGES else "runs"
            ui.page_button(
                "Open its runs", page, {**state, key: name or newest.id}, icon=":material/open_in_full:"
            )


def needs(record: Mapping[str, Any]) -> None:
    """Data and weights that are not here, each with the exact next step."""
    found = table_html.missing_resources(record)
    if not found:
        return
    st.header("What is missing", anchor=False)
    grid = st.grid(2, min_column_width=380, border=True)
    for item in found:
        with grid.cell():
            lines = f"{item.lines} line{'s' if item.lines > 1 else ''}"
            st.markdown(f"**{escape_markdown(item.what)}**, needed by {lines}")
            if item.step.removeprefix("run ") not in item.commands:
                st.caption(escape_markdown(shown(item.step)))
            for command in item.commands:
                st.code(shown(command), language="bash", wrap_lines=True)
    left = "Once data and weights are available, `crossmatch reproduce` or the button above runs the rest."
    st.caption(left)


# --- tables of other kinds -----------------------------------------------------------------------------------------


def printed(paper: str, table: str) -> None:
    """A table that is no run of adaptation: its numbers, its notes, and how to measure the same."""
    frame = table_html.paper_frame(paper, table)
    st.dataframe(frame, hide_index=True, key="printed")
    for number, note in enumerate(table_html.table_notes(paper, table), 1):
        st.caption(escape_markdown(f"[{number}] {note}"))
    ui.page_button(
        "Matching: the same measurement on your selection",
        "pages/2_Matching.py",
        {},
        icon=":material/straighten:",
    )
    known = table_html.data_states(paper, table)
    if known:
        st.header("Its data", anchor=False)
        for name, found in known.items():
            with st.expander(f"{name}: {'available' if not found.startswith('needs') else 'not available'}"):
                st.caption(escape_markdown(shown(found)))
                st.code(f"crossmatch evaluate --benchmark {name} --model MODEL", language="bash")
    ui.export_section(f"{paper}-{table}".replace(" ", "-"), frame, {})


def cite(paper: str) -> None:
    with st.expander("Source, licence, citation", icon=":material/format_quote:"):
        st.text(
            "The numbers are the papers' own, as printed; assets/papers/results.csv lists each with its table."
        )
        for name in dict.fromkeys((paper if paper in CITATIONS else "TTM", "Winoground")):
            st.text(CITATIONS[name])


ui.open_page("Papers", LEAD, pick=False)
with ui.show_errors():
    picked, chosen = choose()
    short = table_html.PAPERS.get(picked, "TTM")
    if chosen.key in papers.TABLES:
        runnable(chosen.key)
    else:
        printed(short, chosen.key)
    cite(short)
