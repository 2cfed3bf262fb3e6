"""Test-time matching: configure a run, start it in the background, watch it live, see what it changed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import ui
from core.base.text import counted
from core.exchange.example import EXAMPLE
from core.figures.text import escape_markdown
from core.runs.engine import prepare, start
from core.runs.store import Run, RunStore
from core.ttm.run import AdaptationRun, LedgerRun, SimpleMatchRun, adaptation
from core.ttm.seeds import _SEEDLESS, SeedGroup, _is_seedless, launch_seeds
from core.ttm.time_left import _span, expected_seconds
from ui import ledger, runs, ttm_example, ttm_form, ttm_preview, ttm_run, ttm_shifts, ttm_sweep
from ui.new_run import forget_settings, new_run_button, run_again_button, settings_said
from ui.old_links import is_first_visit, mark_address
from ui.selection import leave_selection_out

LEAD = "The model matches every group, trains on the matchings it is most sure of, and does so again, without answers."
WITHOUT_SET = {"run"}  # in the address of the form, which “New run” on Runs opens, it chooses no set
EXAMPLE_SET = "left-right"  # what the run that ships is of, which may be another set than the selected one
OPENED = "What a run does while it works, and what it changed."
LIVE = (
    "A run at work continues when you close this page."  # one line on a phone, as the other: no button moves
)
SEEDS = (
    "The same run with other random numbers, to see how much chance decides. Each seed is a run of its own; the result "
    "is their mean and standard deviation."
)


def configure(selection: ui.Selection, store: RunStore) -> None:
    """What is adapted and by which preset, the ways to start, every setting, and what the run would select today."""
    prepare(store)
    runs.unseen_line(store)
    choices = st.container()
    with st.container(key="start-and-example"):  # on a phone the figure follows two buttons, see style.css
        start_place, small_print = st.container(key="start-place"), st.container(key="start-notes")
        example = st.container()
    if "transfer" in st.query_params:  # a link to the transfer check, which is a setting
        st.session_state["settings_open"] = True
    place, is_open = st.container(key="opened-transfer"), st.session_state.get("settings_open", False)
    plan = ttm_form.plan(selection, choices, place.expander("Settings", is_open))
    if plan is None:
        return
    run, evaluation = plan
    with start_place:
        if whose := settings_said(run.job):
            st.caption(escape_markdown(whose))
        warning = "" if run.wrong else ttm_preview.unreached_line(run.job, evaluation)
        is_measured = ttm_example.is_measured(run.job, evaluation)
        forecast = ttm_preview.forecast_line(run.job, selection, is_measured)
        start_buttons(store, run, small_print, forecast, warning)
    with example:
        ttm_example.section(store, run.job, evaluation)
        # The settings are drawn before what stands above them, which is of the run that they describe: until this comes
        # the style hides them, or they would be moved down.
        st.container(key="above-settings").html("<i></i>")
    if not run.wrong:  # the run that was asked for, and no other
        with st.expander("What this run would train on"):
            st.caption(f"**This run:** {escape_markdown(run.job.describe())}")
            ttm_preview.preview(run.job, evaluation)
    ttm_shifts.section()
    ledger.shipped_section()


def start_buttons(
    store: RunStore, run: ttm_form.PlannedRun, small_print: DeltaGenerator, forecast: str, warning: str = ""
) -> None:
    """One run, or several seeds of it; how long that takes, what it is likely to change, and first what is wrong.

    small_print : the place of what that time and that change go by.
    """
    if warning:
        st.warning(escape_markdown(warning), icon=":material/filter_alt_off:")
    seconds, source = expected_seconds(store, run.job, run.groups)
    told = st.container()
    if not run.wrong and not warning:
        st.markdown(what_happens(run, seconds))
    with st.container(horizontal=True, vertical_alignment="bottom", key="start-row"):
        blocked = bool(run.wrong)
        kind = "secondary" if warning else "primary"
        start_one = st.button("Start the run", type=kind, icon=":material/play_arrow:", disabled=blocked)
        start_seeds = repeat(store, run, seconds, told)
        st.button(
            f"See a finished run, {EXAMPLE_SET}",
            on_click=runs.open_run,
            args=(EXAMPLE,),
            icon=":material/visibility:",
        )
    if blocked:
        st.caption(escape_markdown(f"To start, change the settings: {' '.join(run.wrong)}"))
        return
    lines = (_what_time_goes_by(seconds, source), escape_markdown(forecast))
    small_print.caption("  \n".join(filter(None, lines)))
    if start_one:
        with st.spinner("Starting the run …"):
            runs.open_run(start(store, run.title, run.job).id)
        st.rerun()
    if start_seeds is not None:
        with st.spinner("Starting the seeds …"):
            runs.open_run(start_seeds()[0])
        st.rerun()


def repeat(
    store: RunStore, run: ttm_form.PlannedRun, seconds: float | None, told: DeltaGenerator
) -> Callable[[], tuple[str, list[Run]]] | None:
    """Several seeds of a run, of which one that has finished here counts as the first; returned is what starts them,
    once that is pressed.

    told : the place of what is wrong with the number.
    """
    blocked = bool(run.wrong)
    with st.popover("Repeat with several seeds", icon=":material/stacked_line_chart:"):
        st.caption(SEEDS)
        if not blocked and _is_seedless(run.job, run.groups):
            st.info(_SEEDLESS, icon=":material/content_copy:")
        with ui.checked_numbers(told) as wrong:
            seeds = int(ui.number(st, "Seeds", 2, 64, 4, key="seeds") or 4)
        there = None if blocked else _finished_alone(store, run.job)
        count, more = (seeds, "seed") if there is None else (seeds - 1, "more seed")
        if there is not None:
            st.caption(f"Seed {run.job.seed} has finished here with these settings: it is the first of them.")
        if seconds is not None:
            st.caption(f"{_span(seconds, count).capitalize()} for {counted(count, more)}.")
        label = "Run the seeds" if wrong else f"Run {counted(count, more)}"
        if not st.button(label, icon=":material/play_arrow:", disabled=blocked or bool(wrong)) or blocked:
            return None
    if there is not None:
        return partial(SeedGroup.extend, store, there.id, count)
    return partial(launch_seeds, store, run.title, run.job, count)


def _finished_alone(store: RunStore, job: AdaptationRun) -> Run | None:
    """A finished run of the very settings and seed, which stands by itself; None where there is none. The example is
    none: it was computed on another machine, where a seed ends elsewhere."""
    finished = (run for run in store.list(job.kind) if run.status == "finished" and not run.is_example)
    for run in finished:
        same = all(run.config.get(name) == getattr(job, name) for name in ("benchmark", "model"))
        alone = same and not (run.config.get("group") or SeedGroup.of_run(store, run))
        if alone and adaptation(run.config).key == job.key:
            return run
    return None


def _what_time_goes_by(seconds: float | None, source: str) -> str:
    """What the time that a run takes is known by."""
    if seconds is None:
        return (
            "No time estimate: there is no earlier run to go by (`crossmatch doctor --rehearse` makes one)."
        )
    if source == "a rough estimate":
        return "The time is a guess until a run has finished here."
    known = source if source.startswith("a rehearsal") else f"runs of {source}"
    return f"The time goes by {known}, on a machine that does little else."


def what_happens(run: ttm_form.PlannedRun, seconds: float | None) -> str:
    """One sentence for who has never started one: what a run does, and how long that takes; Markdown."""
    job = run.job
    times, groups = "once" if job.total == 1 else f"{job.total} times", counted(run.groups, "group")
    trains = (
        "trains two linear maps, which fit this file alone,"
        if job.embeddings
        else "trains a copy of the model"
    )
    if isinstance(job, SimpleMatchRun):
        what = f"{trains} on its own matchings of {groups}"
    elif job.oracle:
        what = f"{trains} on those of {groups} that it matches correctly, {times}"
    else:
        what = f"matches {groups} and {trains} on the matchings it is surest of, {times}"
    takes = "" if seconds is None else f"; it takes **{_span(seconds)}**"
    return f"A run {what}{takes}. It continues when you close this page."


def fresh_place(shown: str) -> DeltaGenerator:
    """Where the form or a run is drawn: when another one is opened, the last one goes at once, not piece by piece.

    Streamlit keeps what stands below until the script ends. So there are two places, used in turn, and the other one
    is emptied before anything is drawn.
    """
    last, turn = st.session_state.get("drawn_run", (shown, 0))
    turn = turn if last == shown else 1 - turn
    st.session_state["drawn_run"] = (shown, turn)
    places = [st.container() if place == turn else st.empty() for place in (0, 1)]
    return places[turn]


def ways_on(store: RunStore, shown: str) -> DeltaGenerator:
    """Above a run: another one, more seeds of it, and all seeds of its group; returned with the place of its files,
    which are made when all else is drawn."""
    first = runs.runs_of(store, shown)[0]
    group = "" if shown.startswith("g-") else SeedGroup.of_run(store, first)
    with st.container(horizontal=True, vertical_alignment="center", key="ways-on"):
        new_run_button()
        run_again_button(first, runs.title_of(SeedGroup(shown, runs.runs_of(store, shown))))
        if group:
            back = "All seeds of this group"
            st.button(back, on_click=runs.open_run, args=(group,), icon=":material/arrow_back:")
        own = ledger.explained_run(store, first) if first.kind == LedgerRun.kind else None
        if own is not None:
            st.button("Back to the run", on_click=runs.open_run, args=(own.id,), icon=":material/arrow_back:")
        whole = runs.runs_of(store, group or shown)  # of somebody else's group a visitor sees none
        if whole and first.kind != LedgerRun.kind and not any(run.live for run in whole):
            more_seeds(store, group or shown)
        return st.container(key="export-place", width="content")


def more_seeds(store: RunStore, name: str) -> None:
    """Seeds that follow those of a group, or of a run alone, which becomes the first of one."""
    own, told = runs.runs_of(store, name), st.container()
    with st.popover("Add seeds", icon=":material/stacked_line_chart:"):
        st.caption(SEEDS)
        with ui.checked_numbers(told) as wrong:
            count = int(ui.number(st, "More seeds", 1, 63, 3, key="more_seeds") or 3)
        job, groups = adaptation(own[0].config), len(runs.run_groups(own[0].id, own[0].config))
        if _is_seedless(job, groups):
            st.info(_SEEDLESS, icon=":material/content_copy:")
        seconds, _ = expected_seconds(store, job, groups)
        if seconds is not None:
            st.caption(f"{_span(seconds, count).capitalize()}.")
        label = "Run more seeds" if wrong else f"Run {counted(count, 'more seed')}"
        added = st.button(label, icon=":material/play_arrow:", disabled=bool(wrong))
    if added:
        with st.spinner("Starting …"):
            runs.open_run(SeedGroup.extend(store, name, count)[0])
        st.rerun()


def page(selection: ui.Selection | None, store: RunStore, shown: str) -> None:
    runs.lost_run_warning()
    runs.open_run(shown)
    runs.pick_run(store, shown, "shown")
    if selection is not None:
        configure(selection, store)
        ui.cite(selection.groups)
        mark_address(WITHOUT_SET)
        return
    leave_selection_out()
    first = runs.runs_of(store, shown)[0]
    forget_settings()
    runs.note_on_screen(shown, runs.runs_of(store, shown))
    files = ways_on(store, shown)
    single = ledger if first.kind == LedgerRun.kind else ttm_run
    (ttm_sweep if shown.startswith("g-") else single).view(store, shown, files)
    ui.cite(runs.run_groups(first.id, first.config))


def first_groups() -> int:
    """How many groups the form's run takes, as its field or the address says; 0 for all."""
    asked = str(st.session_state.get("n", st.query_params.get("n", "")) or "")
    return int(asked) if asked.isdecimal() and len(asked) < 10 else 0


def what_is_opened(shown_runs: list[Run]) -> str:
    """The line below the title: of runs at work that they go on."""
    return LIVE if any(run.live for run in shown_runs) else OPENED


def first_visit() -> None:
    """Where nothing was selected yet and the address says nothing: a set on which a run with the preset gains."""
    if shown == runs.NEW and is_first_visit(WITHOUT_SET):
        ui.open_by_itself(runs.FIRST_SET)


with ui.show_errors():  # a store of a newer version, say
    store = ui.VisitorStore()
    shown = runs.open_run_id(store)
    opened = "" if shown == runs.NEW else what_is_opened(runs.runs_of(store, shown))
first_visit()
ui.restore_carried_state()  # of “Reuse settings”: the line of the selection has the number of groups
selection = ui.open_page(
    "Test-time matching", "" if opened else LEAD, instead=opened, first=first_groups(),
    chosen_why=ui.chosen_by_page(runs.FIRST_SET, "training gains there"),
)  # fmt: skip
with fresh_place(shown), ui.show_errors():
    page(selection, store, shown)
