"""Runs as pages show them: status, settings, controls, accuracies before and after."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import streamlit as st

from core.base.errors import InputError
from core.base.public_mode import shown
from core.base.text import duration
from core.exchange.example import EXAMPLE, EXAMPLE_ID, example_run
from core.figures.text import escape_markdown, label_and_meaning, metric_line
from core.groups import GroupSet
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS, Estimate, headline_metrics
from core.runs.engine import launch
from core.runs.store import Run, RunStore
from core.ttm.run import RUNS, adaptation
from core.ttm.seeds import SeedGroup, group_runs, sweeps
from ui.page import show_errors
from ui.visitor import VisitorStore

TTM_PAGE = "pages/4_Test-Time_Matching.py"
NEW = "new"  # in place of a run's id: none is open
Colour = Literal["gray", "violet", "orange", "blue"]
STATUS: dict[str, tuple[str, Colour]] = {
    "queued": (":material/hourglass_empty:", "gray"),
    "running": (":material/play_arrow:", "violet"),
    "stopping": (":material/pause:", "orange"),
    "stopped": (":material/stop:", "orange"),
    "finished": (":material/check:", "blue"),
    "failed": (":material/error:", "orange"),
    "interrupted": (":material/power_off:", "orange"),
}


def all_groups(store: RunStore, kinds: Collection[str] | None = RUNS.keys()) -> list[SeedGroup]:
    """Every run of these kinds (None: of all), the newest first, the seeds of one group together."""
    return sweeps([run for run in store.list() if kinds is None or run.kind in kinds])


def open_run_id(store: RunStore) -> str:
    """The id of the run or group that the address (or the last page) asks for; `NEW` for none."""
    linked = st.query_params.get("run")
    asked = linked or st.session_state.get("run") or NEW
    if asked in (EXAMPLE, EXAMPLE_ID):
        return example_run(store).id
    if asked == NEW or runs_of(store, asked):
        return asked
    st.session_state["lost_run"] = linked is not None
    return NEW


def runs_of(store: RunStore, name: str) -> list[Run]:
    """The runs that a run's or a group's id stands for; [] where they are gone, or another page's."""
    try:
        found = group_runs(store, name) if name.startswith("g-") else [store.get(name)]
    except InputError:
        return []
    return [run for run in found if run.kind in RUNS]


def open_run(name: str) -> None:
    """Show a run, a group of seeds or the form (`NEW`), and say so in the address."""
    st.session_state["run"] = name
    if name == NEW:
        st.query_params.pop("run", None)
    else:
        st.query_params["run"] = name


def settings_line(store: RunStore, name: str) -> str:
    """What was run: benchmark, split, groups, model, settings; "" where no run is open."""
    found = runs_of(store, name) if name != NEW else []
    if not found:
        return ""
    line = adaptation(found[0].config).describe()
    return line if len(found) == 1 else f"{line.rpartition(' · ')[0]} · {len(found)} seeds"


def group_label(sweep: SeedGroup) -> str:
    """A run, or the seeds of one, in a list."""
    return f"{sweep.title} · {datetime.fromtimestamp(sweep.created):%d %b %H:%M:%S} · {sweep.status}"


def status_badge(status: str) -> None:
    icon, colour = STATUS[status]
    st.badge(status, icon=icon, color=colour)


def kind_badges(config: Mapping[str, Any]) -> None:
    """What makes a run another thing than test-time matching of all groups."""
    if config.get("oracle"):
        st.badge("oracle: uses the truth", icon=":material/visibility:", color="orange")
    if "simplematch" in config:
        st.badge("SimpleMatch", icon=":material/join_inner:", color="gray")
    elif config["ttm"]["variant"] == "global":
        st.badge("global", icon=":material/public:", color="gray")
    if config.get("adapt_on"):
        st.badge(f"transfer check, {config['adapt_on']:.0%}", icon=":material/call_split:", color="gray")


def run_action(action: Callable[[], Any]) -> None:
    """Stop, resume or delete, from a callback; a refusal is shown like any other error."""
    with show_errors():
        action()


def controls(store: VisitorStore, runs: Sequence[Run]) -> None:
    """Status, stop, resume and progress of a run or of several seeds."""
    with st.container(horizontal=True, vertical_alignment="center"):
        for status in STATUS:
            count = sum(run.status == status for run in runs)
            if count and len(runs) == 1:
                status_badge(status)
            elif count:
                icon, colour = STATUS[status]
                st.badge(f"{count} {status}", icon=icon, color=colour)
        kind_badges(runs[0].config)
        own = [run for run in runs if store.owns(run)]
        stoppable = [run for run in own if run.status in ("queued", "running")]
        again = [run for run in own if run.resumable]
        if stoppable:
            stop = lambda: [store.request_stop(run.id) for run in stoppable]  # noqa: E731
            st.button("Stop", icon=":material/stop:", on_click=run_action, args=(stop,))
        if again:
            go_on = lambda: [launch(store, run.id) for run in again]  # noqa: E731
            st.button(
                "Resume", icon=":material/play_arrow:", type="primary", on_click=run_action, args=(go_on,)
            )
    _progress(runs)
    for run in runs:
        if run.error:
            st.error(escape_markdown(shown(run.error)), icon=":material/error:")


def _progress(runs: Sequence[Run]) -> None:
    live = [run for run in runs if run.live]
    if not live:
        return
    share = sum(1.0 if run.status == "finished" else min(max(run.fraction, 0.0), 1.0) for run in runs) / len(
        runs
    )
    working = next((run for run in live if run.status != "queued"), live[0])
    left = f", {duration(working.seconds_left)} left" if working.seconds_left is not None else ""
    several = f"{len(runs) - len(live)} of {len(runs)} seeds are done; " if len(runs) > 1 else ""
    st.progress(share, text=escape_markdown(f"{several}{working.message or 'starting'}{left}"))


# ---- accuracies


def accuracy_card(label: str, metric: str, now: Estimate, before: Estimate | None = None) -> None:
    """An accuracy of a run with interval, chance level and ties; and what it was before."""
    with st.container(border=True, gap="xxsmall"):
        change = None if before is None else f"{now.value - before.value:+.1f} points"
        meaning = label_and_meaning(metric)[1]
        st.metric(label, f"{now.value:.1f} %", change, delta_color="off", help=meaning)
        text = (
            metric_line(now)
            if before is None
            else f"Now {metric_line(now)}.  \nBefore {metric_line(before)}."
        )
        st.caption(text)


def estimate_of(step: Mapping[str, Any], metric: str, part: str = "") -> Estimate | None:
    """A metric of a step's record, or of a part of it; None where it has none."""
    found = step["parts"][part]["metrics"] if part else step["metrics"]
    return Estimate(**found[metric]) if metric in found else None


def before_and_after(config: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]) -> None:
    """The cards of a run: of SimpleMatch its three numbers, of a transfer check those of both parts."""
    if not steps[-1]["metrics"]:
        st.caption("These groups have no ground truth, so there is no accuracy to show.")
        return
    first, last = steps[0], steps[-1]
    for part, groups in (
        {name: f", {name} groups ({p['n_groups']})" for name, p in last["parts"].items()}
        if "parts" in last
        else {"": ""}
    ).items():
        cards = _simplematch_cards if "simplematch" in config else _cards
        cards(config, first, last, part, groups)


def _cards(config: Mapping[str, Any], first: Any, last: Any, part: str, groups: str) -> None:
    names = headline_metrics(last["parts"][part]["metrics"] if part else last["metrics"])
    if not names:  # of an imported run, measured by metrics that are not known here
        return
    for column, name in zip(st.columns(len(names), gap="medium"), names, strict=True):
        now = estimate_of(last, name, part)
        if now is not None:
            with column:
                accuracy_card(
                    f"{label_and_meaning(name)[0]}{groups}", name, now, estimate_of(first, name, part)
                )


def _simplematch_cards(config: Mapping[str, Any], first: Any, last: Any, part: str, groups: str) -> None:
    """GroupScore before, GroupMatch before, GroupScore after: the last can reach the second ([TTM] 3.1)."""
    wanted = (
        (first, GROUP_SCORE, "before"),
        (first, GROUP_MATCH, "before"),
        (last, GROUP_SCORE, "after"),
    )
    for column, (step, name, when) in zip(st.columns(3, gap="medium"), wanted, strict=True):
        found = estimate_of(step, name, part)
        if found is not None:
            with column:
                accuracy_card(f"{METRICS[name].label} {when}{groups}", name, found)


# ---- groups and scores of a run


@st.cache_resource(max_entries=16, show_spinner="Loading groups …")
def run_groups(run_id: str, _config: Mapping[str, Any]) -> GroupSet:
    """The groups of a run, with their truth."""
    return adaptation(_config).load_groups()


@st.cache_resource(max_entries=32, show_spinner=False)
def evaluation_at(run_id: str, iteration: int, attempt: int, _run: Run) -> Evaluation:
    """The run's groups with the scores after an iteration."""
    groups = run_groups(run_id, _run.config)
    return Evaluation.of(RunStore().scores(run_id, iteration), groups.truth, groups.ids)
