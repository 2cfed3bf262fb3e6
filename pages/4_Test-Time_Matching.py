"""Test-time matching: configure a run, start it in the background, watch it live, see what it changed."""

from __future__ import annotations

import streamlit as st

import ui
from core.base.text import duration
from core.runs.engine import start
from core.runs.store import RunStore
from core.ttm.seeds import launch_seeds
from core.ttm.time_left import expected_seconds
from ui import runs, ttm_form, ttm_preview, ttm_run, ttm_sweep

LEAD = (
    "The model matches every group, trains on the matchings it is confident of, and repeats this with a lower "
    "threshold. Only the oracle, a variant for comparison, uses labels. Runs continue when you close this page."
)
SEEDS = "Each seed is a separate run; the result is their mean and standard deviation."


def configure(selection: ui.Selection, store: RunStore) -> None:
    """The form, what it would do today, and the two ways to start."""
    found = ttm_form.plan(selection)
    if found is None:
        return
    planned, evaluation = found
    ttm_preview.preview(planned.job, evaluation)
    seconds, source = expected_seconds(store, planned.job, planned.groups)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        one = st.button("Start the run", type="primary", icon=":material/play_arrow:")
        seeds = int(ui.number(st, "Seeds", 2, 64, 4, key="seeds", help=SEEDS, width=140) or 4)
        several = st.button(f"Run {seeds} seeds", icon=":material/stacked_line_chart:")
    if seconds is None:
        st.caption("No time estimate: there is no earlier run to go by.")
    else:
        told = f"{duration(seconds)} at most, {duration(seconds * seeds)} for {seeds} seeds"
        st.caption(f"About {told} (based on {source}).")
    if one:
        runs.open_run(start(store, planned.title, planned.job).id)
        st.rerun()
    if several:
        runs.open_run(launch_seeds(store, planned.title, planned.job, seeds)[0])
        st.rerun()


def show_chosen() -> None:
    runs.open_run(st.session_state["shown"])


def choose(store: RunStore, asked: str) -> None:
    """All runs, a sweep's seeds as one, and a new one on top."""
    found = {sweep.id: sweep for sweep in runs.all_sweeps(store)}
    if not found:
        return
    labels = {runs.NEW: "+ a new run", **{name: runs.sweep_label(sweep) for name, sweep in found.items()}}
    if asked not in labels:  # a seed of a sweep
        labels[asked] = ui.run_label(store.get(asked))
    st.session_state["shown"] = asked
    st.selectbox("Run", list(labels), format_func=labels.__getitem__, key="shown", on_change=show_chosen)
    group = "" if asked == runs.NEW or asked.startswith("g-") else store.get(asked).config.get("group")
    if group:
        st.button(
            "All seeds of this group", on_click=runs.open_run, args=(group,), icon=":material/arrow_back:"
        )


def page(selection: ui.Selection, store: RunStore, asked: str) -> None:
    if st.session_state.pop("lost_run", False):
        st.warning(
            "The run of this link is not on this machine; it may have been deleted.",
            icon=":material/search_off:",
        )
    runs.open_run(asked)
    choose(store, asked)
    if asked == runs.NEW:
        configure(selection, store)
        ui.cite(selection.groups)
        return
    (ttm_sweep if asked.startswith("g-") else ttm_run).view(store, asked)
    first = runs.runs_of(store, asked)[0]
    ui.cite(runs.run_groups(first.id, first.config))


with ui.show_errors():  # a store of a newer version, say
    here = ui.VisitorStore()
    wanted = runs.open_run_id(here)
picked = ui.open_page("Test-time matching", LEAD, line=runs.settings_line(here, wanted))
with ui.show_errors():
    page(picked, here, wanted)
