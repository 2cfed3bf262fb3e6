"""Runs: all of them, two laid over each other, deletion."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pandas as pd
import streamlit as st

import ui
from core import metrics, plots
from core.evaluation import Evaluation
from core.metrics import METRICS
from core.runs import Run, RunStore
from core.texts import duration, metric_line, plain

TTM_PAGE = "pages/4_Test-Time_Matching.py"
COMPARABLE = ("benchmark", "split", "groups")  # two runs with these in common have the same groups


def table(runs: list[Run], store: RunStore) -> pd.DataFrame:
    """One row per run: what, how far, GroupMatch before and after, how long."""
    rows = []
    for run in runs:
        steps = store.steps(run.id)
        first, last = (_match(steps[i]) if steps else "–" for i in (0, -1))
        rows.append(
            {
                "started": datetime.fromtimestamp(run.created),
                "status": run.status,
                "set": run.config.get("benchmark", ""),
                "model": run.config.get("model", ""),
                "iterations": f"{run.done} of {run.total or run.config['ttm']['iterations']}",
                "GroupMatch before": first,
                "GroupMatch after": last,
                "time": duration(sum(s["seconds"] for s in steps)) if steps else "–",
                "oracle": "reads the truth" if run.config.get("oracle") else "",
                "id": run.id,
            }
        )
    return pd.DataFrame(rows)


def _match(step: dict[str, Any]) -> str:
    found = step["metrics"].get("group_match")
    return f"{found['value']:.1f} % ({found['low']:.1f}–{found['high']:.1f})" if found else "no truth"


def choose(runs: dict[str, Run]) -> list[str]:
    """The chosen runs; in the address, so that a comparison can be linked."""
    asked = st.query_params.get("runs", "").split(",")
    kept = st.session_state.get("chosen_runs", asked)
    st.session_state["chosen_runs"] = [i for i in kept if i in runs][:2]
    chosen = st.multiselect(
        "Choose one run to open, or two to compare",
        list(runs),
        format_func=lambda i: ui.run_label(runs[i]),
        key="chosen_runs",
        max_selections=2,
        placeholder="choose runs",
    )
    if chosen:
        st.query_params["runs"] = ",".join(chosen)
    else:
        st.query_params.pop("runs", None)
    return chosen


def actions(chosen: list[str], runs: dict[str, Run]) -> None:
    with st.container(horizontal=True):
        if len(chosen) == 1:
            ui.jump("Open", TTM_PAGE, {"run": chosen[0]}, icon=":material/open_in_full:", type="primary")
        if st.button(
            "Delete",
            icon=":material/delete:",
            disabled=not chosen,
            help="Choose runs first." if not chosen else None,
        ):
            confirm([runs[i] for i in chosen])


@st.dialog("Delete for good?")
def confirm(runs: list[Run]) -> None:
    st.write(f"{len(runs)} run{'s' if len(runs) > 1 else ''} with all curves, scores and the adapted model:")
    for run in runs:
        st.text(ui.run_label(run) + (" (it is still running and will be ended)" if run.live else ""))
    with st.container(horizontal=True):
        ids = [run.id for run in runs]
        sure = st.button(
            "Delete",
            type="primary",
            icon=":material/delete_forever:",
            key="really",
            on_click=delete,
            args=(ids,),
        )
        if st.button("Keep") or sure:
            st.rerun()


def delete(ids: list[str]) -> None:
    """From a callback, so that the list is drawn again without them."""
    with ui.guard():
        for run_id in ids:
            RunStore().delete(run_id)
    if st.session_state.get("run") in ids:
        st.session_state["run"] = None
    st.session_state["chosen_runs"] = []


def compare(first: Run, second: Run, store: RunStore) -> None:
    """Two runs: curves laid over each other, and the paired difference on the same groups."""
    st.subheader("Compared", anchor=False)
    names = {
        run.id: f"{letter}: {ui.run_label(run)}" for letter, run in zip("AB", (first, second), strict=True)
    }
    for name in names.values():
        st.text(name)
    data = {
        letter: plots.ttm_data(store.steps(run.id), run.total or 1)
        for letter, run in zip("AB", (first, second), strict=True)
    }
    known = [name for name in METRICS if all(name in d.metrics for d in data.values())]
    if not known:
        st.info(
            "One of the two has no finished iteration or no truth yet; come back when it has.",
            icon=":material/hourglass_top:",
        )
        return
    order = sorted(known, key=lambda n: (n != "group_match", n != "group_score"))
    metric = st.selectbox("Metric", order, format_func=lambda n: METRICS[n].label, key="compared_metric")
    figure = plots.ttm_compare_figure(data, metric)
    ends = ", ".join(f"{name} ends at {d.metrics[metric][-1, 0]:.1f} %" for name, d in data.items())
    ui.chart(figure, f"{METRICS[metric].label} per iteration of both runs: {ends}.", "compare")
    if any(first.config.get(k) != second.config.get(k) for k in COMPARABLE):
        st.info(
            "The two runs have different groups, so there is no paired difference.",
            icon=":material/difference:",
        )
    else:
        difference(first, second, metric, store)
    ui.take_away("compare", None, {metric: figure})


def difference(first: Run, second: Run, metric: str, store: RunStore) -> None:
    groups = ui.load_groups(first.config["benchmark"], first.config["split"])
    truth = None if groups.truth is None else groups.truth[: first.config["groups"]]
    ends = [Evaluation.of(store.scores(run.id, run.done), truth) for run in (first, second)]
    found = metrics.compare(*(e.outcomes[metric].value for e in ends))
    st.markdown(
        f"**B minus A, last iterations, same {len(ends[0].ids)} groups:** {found.difference:+.1f} points "
        f"(95 % interval {found.low:+.1f} to {found.high:+.1f}); {found.fixed} groups only B has right, {found.broken} "
        f"only A; McNemar p = {found.p_value:.2g}."
    )
    for letter, e in zip("AB", ends, strict=True):
        st.caption(f"{letter}: {plain(metric_line(e.metrics[metric]))}")


def page() -> None:
    store = RunStore()
    runs = {run.id: run for run in store.list("ttm")}
    if not runs:
        st.info(
            "No runs yet. Start one: it takes about a minute with the built-in model.",
            icon=":material/directions_run:",
        )
        ui.jump(
            "Run test-time matching", TTM_PAGE, {"run": None}, type="primary", icon=":material/trending_up:"
        )
        return
    frame = table(list(runs.values()), store)
    started = st.column_config.DatetimeColumn(format="D MMM YYYY, HH:mm")
    st.dataframe(frame, hide_index=True, column_config={"started": started})
    chosen = choose(runs)
    actions(chosen, runs)
    if len(chosen) == 2:
        compare(runs[chosen[0]], runs[chosen[1]], store)
    ui.take_away("runs", frame)


ui.start(
    "Runs",
    "Every run on this machine, newest first. They live in a store of their own and outlast the app.",
    pick=False,
)
with ui.guard():
    page()
