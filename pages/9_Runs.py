"""Runs: all of them, the seeds of a sweep as one, two laid over each other, and what is done with many at once."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

import ui
from core import figures as plots
from core.base.public_mode import is_public
from core.base.text import duration
from core.exchange.runs import export_run, import_run
from core.figures.text import escape_markdown, label_and_meaning, metric_line
from core.metrics import groups as metrics
from core.metrics.evaluation import Evaluation
from core.metrics.retrieval import COLA_MAP
from core.runs.engine import launch
from core.runs.store import Run, RunStore
from core.ttm.run import adaptation
from core.ttm.seeds import SeedGroup, final_values, seed_of, summary
from ui import runs as shared
from ui.sweep import draw_sweeps

LEAD = "Runs on this machine, newest first. They continue when the app is closed and are kept until you delete them."
COLA = "adapt"  # the kind of a run of the Retrieval page
COMPARABLE = (
    "benchmark",
    "split",
    "groups",
    "tags",
    "embeddings",
)  # with these in common, two runs have the same groups


# --- the table -----------------------------------------------------------------------------------------------------


def table(sweeps: Sequence[SeedGroup], store: RunStore) -> pd.DataFrame:
    """One row per sweep: what, which seeds, how far, the main metrics before and after, how long."""
    results = {name: metrics.METRICS[name].label for name in metrics.headline_metrics()}
    if any(run.kind == COLA for sweep in sweeps for run in sweep.runs):
        results[COLA_MAP] = "mAP"
    rows = []
    for sweep in sweeps:
        first = sweep.runs[0]
        steps = [store.steps(run.id) for run in sweep.runs]
        before, after = [own[:1] for own in steps], [own[-1:] for own in steps]
        rows.append(
            {
                "started": datetime.fromtimestamp(sweep.created),
                "status": sweep.status,
                "kind": kind(first),
                "set": first.config.get("benchmark", ""),
                "model": "/".join(Path(first.config.get("model", "")).parts[-2:]),
                "seed": ", ".join(str(seed_of(run)) for run in sweep.runs),
                "iterations": f"{min(run.done for run in sweep.runs)} of {first.total or '–'}",
                **{
                    f"{label} {when}": accuracy(own, name)
                    for name, label in results.items()
                    for when, own in (("before", before), ("after", after))
                },
                "time": duration(sum(step["seconds"] for own in steps for step in own))
                if any(steps)
                else "–",
                "id": sweep.id,
            }
        )
    return pd.DataFrame(rows)


def kind(run: Run) -> str:
    """What a run is, in a few words."""
    if run.kind == COLA:
        return f"Cola, {run.config[COLA].get('strategy', '')}"
    if run.kind in ("evaluate", "measure"):
        return "Evaluation" if run.kind == "evaluate" else "Measurement"
    words = ["SimpleMatch" if "simplematch" in run.config else "TTM"]
    if run.config.get("ttm", {}).get("variant") == "global":
        words.append("global")
    if run.config.get("oracle"):
        words.append("oracle (uses the truth)")
    if run.config.get("adapt_on"):
        words.append(f"transfer check {run.config['adapt_on']:.0%}")
    if run.config.get("embeddings"):
        words.append("embeddings")
    return ", ".join(words)


def accuracy(steps: Sequence[Sequence[dict[str, Any]]], name: str) -> str:
    """One run's value with its interval, or the mean and deviation over seeds; a dash where it has none."""
    known = [own[0] for own in steps if own]
    found = [step["metrics"][name] for step in known if name in step["metrics"]]
    if not found:
        return "–"
    if len(found) == 1:
        tied = f", {found[0]['ties']} tied" if found[0]["ties"] else ""
        return f"{found[0]['value']:.1f} % ({found[0]['low']:.1f}–{found[0]['high']:.1f}{tied})"
    row = summary([[step] for step in known])[0]["metrics"][name]
    return f"{row['mean']:.1f} ± {row['std']:.1f} % ({row['seeds']} seeds)"


# --- choosing and acting -------------------------------------------------------------------------------------------


def choose(found: dict[str, SeedGroup]) -> list[str]:
    """The chosen runs; in the address, so that a comparison can be linked."""
    asked = st.query_params.get("runs", "").split(",")
    kept = st.session_state.get("chosen_runs", asked)
    st.session_state["chosen_runs"] = [name for name in kept if name in found]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.multiselect(
            "Choose one to open, two to compare, any number to stop, resume, export or delete",
            list(found),
            format_func=lambda name: shared.group_label(found[name]),
            key="chosen_runs",
            placeholder="choose runs",
        )
        st.button("All", on_click=pick, args=(list(found),), icon=":material/select_all:")
        st.button("None", on_click=pick, args=([],), icon=":material/deselect:", disabled=not chosen)
    if chosen:
        st.query_params["runs"] = ",".join(chosen)
    else:
        st.query_params.pop("runs", None)
    return chosen


def pick(names: list[str]) -> None:
    st.session_state["chosen_runs"] = names


def actions(chosen: Sequence[SeedGroup], store: RunStore) -> None:
    """What can be done with the chosen ones, all at once."""
    every = [run for sweep in chosen for run in sweep.runs]
    live = [run for run in every if run.status in ("queued", "running")]
    again = [run for run in every if run.resumable]
    with st.container(horizontal=True, vertical_alignment="center"):
        if len(chosen) == 1:
            look: dict[str, Any] = {"icon": ":material/open_in_full:", "type": "primary"}
            cola = chosen[0].runs[0].kind == COLA
            page, more = ("pages/5_Retrieval.py", {"view": "train"}) if cola else (shared.TTM_PAGE, {})
            ui.page_button("Open", page, {"run": chosen[0].id, **more}, **look)
        stop = lambda: [store.request_stop(run.id) for run in live]  # noqa: E731
        go_on = lambda: [launch(store, run.id) for run in again]  # noqa: E731
        some = f" ({len(live)})" if live else ""
        st.button(
            f"Stop{some}", icon=":material/stop:", disabled=not live, on_click=shared.run_action, args=(stop,)
        )
        some = f" ({len(again)})" if again else ""
        button: dict[str, Any] = {"icon": ":material/play_arrow:", "disabled": not again}
        st.button(f"Resume{some}", on_click=shared.run_action, args=(go_on,), **button)
        with st.popover("Export", icon=":material/archive:", disabled=not every):
            export(every)
        if st.button("Delete", icon=":material/delete:", disabled=not every):
            confirm(every)


def export(every: Sequence[Run]) -> None:
    """One archive per run: its settings, iterations, scores and model."""
    st.caption("A run as one file, with everything it recorded and its model; import it on any machine.")
    for run in every:
        st.download_button(
            escape_markdown(f"{run.title} ({run.status})"),
            lambda run_id=run.id: packed(run_id),
            f"crossmatch-run-{run.id}.zip",
            "application/zip",
            key=f"export-{run.id}",
            on_click="ignore",
            icon=":material/folder_zip:",
            disabled=run.live,
        )


def packed(run_id: str) -> bytes:
    with tempfile.TemporaryDirectory() as place:
        return export_run(RunStore(), run_id, Path(place) / f"crossmatch-run-{run_id}.zip").read_bytes()


def bring_in(store: RunStore) -> None:
    """Runs of another machine; nobody brings files to a public server."""
    if is_public():
        return
    with (
        st.expander("Import runs", icon=":material/unarchive:"),
        st.form("import", clear_on_submit=True, border=False),
    ):
        found = st.file_uploader(
            "Archives exported from a Runs page", type="zip", accept_multiple_files=True, key="archives"
        )
        if st.form_submit_button("Import", icon=":material/unarchive:"):
            for file in found:
                with ui.show_errors(), tempfile.TemporaryDirectory() as place:
                    path = Path(place) / "run.zip"
                    path.write_bytes(file.getvalue())
                    run = import_run(store, path)
                st.toast(escape_markdown(f"Imported {run.title}"), icon=":material/check:")
            if found:
                st.rerun()


@st.dialog("Delete permanently?")
def confirm(every: list[Run]) -> None:
    st.write(
        f"{len(every)} run{'s' if len(every) > 1 else ''} with all curves, scores and the adapted model:"
    )
    for run in every:
        st.text(ui.run_label(run) + (" (still running; it will be stopped)" if run.live else ""))
    with st.container(horizontal=True):
        ids = [run.id for run in every]
        look: dict[str, Any] = {"type": "primary", "icon": ":material/delete_forever:", "key": "really"}
        sure = st.button("Delete", on_click=delete, args=(ids,), **look)
        if st.button("Cancel") or sure:
            st.rerun()


def delete(ids: list[str]) -> None:
    """From a callback, so that the list is drawn again without them."""
    with ui.show_errors():
        for run_id in ids:
            ui.VisitorStore().delete(run_id)
    if st.session_state.get("run") in ids:
        st.session_state["run"] = shared.NEW
    st.session_state["chosen_runs"] = []


# --- two of them ---------------------------------------------------------------------------------------------------


def curves(sweep: SeedGroup, store: RunStore) -> plots.TTMData:
    """A run's curves, or the means over the seeds of a sweep."""
    steps = [store.steps(run.id) for run in sweep.runs]
    total = max(run.total for run in sweep.runs) or 1
    if len(steps) == 1:
        return plots.ttm_data(steps[0], total)
    return plots.spread_data(summary(steps), total)


def compare(first: SeedGroup, second: SeedGroup, store: RunStore) -> dict[str, Any]:
    """Two laid over each other, and the difference on the same groups; the figure to take away."""
    st.header("Compared", anchor=False)
    both = dict(zip("AB", (first, second), strict=True))
    for letter, sweep in both.items():
        st.text(f"{letter}: {shared.group_label(sweep)}")
    data = {letter: curves(sweep, store) for letter, sweep in both.items()}
    known = [name for name in data["A"].metrics if name in data["B"].metrics]
    if not known:
        text = "One of the two has no finished iteration yet, or no ground truth."
        st.info(text, icon=":material/hourglass_top:")
        return {}
    order = sorted(
        known, key=lambda name: (name != metrics.GROUP_MATCH, not metrics.description_of(name).headline)
    )
    label = lambda name: label_and_meaning(name)[0]  # noqa: E731
    metric = st.selectbox("Metric", order, format_func=label, key="compared_metric", bind="query-params")
    figure = plots.ttm_compare_figure(data, metric)
    ends = ", ".join(f"{name} ends at {d.metrics[metric][-1, 0]:.1f} %" for name, d in data.items())
    ui.chart(figure, f"{label(metric)} per iteration of both: {ends}.", "compare")
    bands = ["95 % interval" if len(s.runs) == 1 else "standard deviation over seeds" for s in both.values()]
    st.caption(f"Bands: A {bands[0]}, B {bands[1]}.")
    if any(first.runs[0].config.get(k) != second.runs[0].config.get(k) for k in COMPARABLE):
        text = "The two have different groups, so there is no paired difference."
        st.info(text, icon=":material/difference:")
    elif len(first.runs) == len(second.runs) == 1 and metric in metrics.METRICS:
        difference(first.runs[0], second.runs[0], metric, store)
    else:
        means(both, metric, store)
    return {metric: figure}


def difference(first: Run, second: Run, metric: str, store: RunStore) -> None:
    """The paired test on the last iterations of two runs."""
    truth = adaptation(first.config).load_groups().truth
    ends = [Evaluation.of(store.scores(run.id, run.done), truth) for run in (first, second)]
    found = metrics.compare(*(e.outcomes[metric].value for e in ends))
    st.markdown(
        f"**B minus A, last iterations, same {len(ends[0].ids)} groups:** {found.difference:+.1f} points "
        f"(95 % interval {found.low:+.1f} to {found.high:+.1f}); {found.fixed} groups only B has right, {found.broken} "
        f"only A; McNemar p = {found.p_value:.2g}."
    )
    for letter, e in zip("AB", ends, strict=True):
        st.caption(f"{letter}: {escape_markdown(metric_line(e.metrics[metric]))}")


def means(both: dict[str, SeedGroup], metric: str, store: RunStore) -> None:
    """The results of sweeps beside each other; choose single seeds for the paired test."""
    for letter, sweep in both.items():
        row = final_values([store.steps(run.id) for run in sweep.runs], [run.config for run in sweep.runs])
        if row is None:
            st.markdown(f"**{letter}** has no complete seed yet.")
            continue
        found = row["metrics"][metric]
        std = "" if found["std"] is None else f" ± {found['std']:.1f}"
        st.markdown(
            f"**{letter}, last iterations:** {found['mean']:.1f}{std} %, {found['seeds']} complete "
            f"seed{'s' if found['seeds'] > 1 else ''}, chance {found['chance']:.1f} %."
        )
    st.caption("Turn off “Group the seeds of one run” and choose two runs for the paired test.")


def page() -> None:
    store = ui.VisitorStore()
    sweeps = shared.all_groups(store, None)
    if not sweeps:
        st.info(
            "No runs yet. Start one: it takes about a minute with the built-in model.",
            icon=":material/directions_run:",
        )
        look: dict[str, Any] = {"type": "primary", "icon": ":material/trending_up:"}
        ui.page_button("Run test-time matching", shared.TTM_PAGE, {"run": shared.NEW}, **look)
        bring_in(store)
        return
    if any(len(sweep.runs) > 1 for sweep in sweeps) and not st.toggle(
        "Group the seeds of one run", True, key="together", bind="query-params"
    ):
        single = [SeedGroup(run.id, [run]) for sweep in sweeps for run in sweep.runs]
        sweeps = sorted(single, key=lambda sweep: sweep.created, reverse=True)
    frame = table(sweeps, store)
    started = st.column_config.DatetimeColumn(format="D MMM YYYY, HH:mm")
    st.dataframe(frame, hide_index=True, column_config={"started": started}, key="runs_table")
    found = {sweep.id: sweep for sweep in sweeps}
    chosen = [found[name] for name in choose(found)]
    actions(chosen, store)
    figures = compare(chosen[0], chosen[1], store) if len(chosen) == 2 else {}
    if not is_public():
        live_sweeps()
    bring_in(store)
    ui.export_section("runs", frame, figures)


@st.fragment(run_every=5)
def live_sweeps() -> None:
    """What `crossmatch sweep` has started, filling while it works."""
    with ui.show_errors():
        draw_sweeps(RunStore())


ui.open_page("Runs", LEAD, pick=False)
with ui.show_errors():
    page()
