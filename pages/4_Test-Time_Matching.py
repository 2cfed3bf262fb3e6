"""Test-time matching: configure a run, start it in the background, watch it live, see what it changed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import streamlit as st

import ui
from core import drawing, metrics, plots
from core.evaluation import Evaluation
from core.metrics import METRICS
from core.presets import PRESETS, SCHEDULES, TTMConfig, default_preset, thresholds
from core.runs import Run, RunStore, launch, resume
from core.texts import duration, metric_line, plain
from core.worker import ttm_job

LEAD = (
    "The model matches every group, keeps the matchings it is sure of, trains on them, and starts over with a lower "
    "threshold. No label is used. Runs go on when you close this page."
)
STATUS = {
    "queued": (":material/hourglass_empty:", "gray"),
    "running": (":material/play_arrow:", "violet"),
    "stopping": (":material/pause:", "orange"),
    "stopped": (":material/stop:", "orange"),
    "finished": (":material/check:", "blue"),
    "failed": (":material/error:", "orange"),
    "interrupted": (":material/power_off:", "orange"),
}
# Seconds per group and epoch where no earlier run says better: the built-in model on two cores.
GUESS = 0.005
SHOWN = 6


# --- set up ------------------------------------------------------------------------------------------------------


def use_preset() -> None:
    """Another preset: its values in every field of the form, not mine."""
    base = PRESETS[st.session_state["preset"]].config
    assert isinstance(base, TTMConfig)
    fields = {
        "T": base.iterations,
        "epochs": base.epochs,
        "lr": base.lr,
        "schedule": base.schedule,
        "seed": base.seed,
    }
    fields |= {"start": WAYS[0 if base.tau_first is None else 1], "share": first_share(base)}
    st.session_state.update(fields, tau1=base.tau_first or 1.0, tauT=base.tau_last or 0.0)


def first_share(config: TTMConfig) -> int:
    """Percent of the groups that are selected at first, where the preset says it so."""
    return round(100 * (config.coverage_first or 0.2))


HELP = {
    "preset": "Rows of the paper's tables, and one for the built-in model. Choosing one resets the fields below.",
    "schedule": "How τ moves from its first to its last value. Constant and ascending should not help: try them.",
    "oracle": "Trains on exactly the groups that are matched right. An upper bound to compare with, never a result.",
    "n": "Fewer groups make a quicker run.",
}
WAYS = ("share of groups", "margin")


def settings(total: int, suited: str) -> tuple[str, dict[str, Any], int, bool]:
    """The form: preset (at first the one that suits set and model), the settings that the run takes, number of groups,
    oracle."""
    names = [name for name, preset in PRESETS.items() if isinstance(preset.config, TTMConfig)]
    bind: dict[str, Any] = {"bind": "query-params"}
    first, second, third = st.columns(3)
    preset = first.selectbox(
        "Preset", names, names.index(suited), key="preset", on_change=use_preset, help=HELP["preset"], **bind
    )
    base = PRESETS[preset].config
    assert isinstance(base, TTMConfig)
    options: dict[str, Any] = {
        "iterations": second.number_input("Iterations T", 1, 50, base.iterations, key="T", **bind),
        "epochs": third.number_input("Epochs per iteration", 1, 100, base.epochs, key="epochs", **bind),
        "lr": first.number_input("Learning rate", 1e-7, 1e-1, base.lr, 1e-5, "%.1e", key="lr", **bind),
    }
    place = SCHEDULES.index(base.schedule)
    schedule = second.selectbox(
        "Threshold schedule", SCHEDULES, place, key="schedule", help=HELP["schedule"], **bind
    )
    options |= {
        "schedule": schedule,
        "seed": third.number_input("Seed", 0, 2**31 - 1, base.seed, key="seed", **bind),
    }
    place = 0 if base.tau_first is None else 1
    way = first.radio("First threshold τ₁ as", WAYS, place, key="start", horizontal=True, **bind)
    if way == WAYS[0]:
        share = second.slider(
            "Selected at first, % of groups", 1, 100, first_share(base), key="share", **bind
        )
        options["coverage_first"] = share / 100
    else:
        tau = base.tau_first or 1.0
        options["tau_first"] = second.number_input("First threshold τ₁", 0.0, None, tau, key="tau1", **bind)
    last = base.tau_last or 0.0
    options["tau_last"] = third.number_input("Last threshold", 0.0, None, last, key="tauT", **bind)
    count = first.number_input("Use the first … groups", 1, total, total, key="n", help=HELP["n"], **bind)
    oracle = second.toggle("Oracle skyline: **reads the truth**", key="oracle", help=HELP["oracle"], **bind)
    return preset, options, int(count), oracle


def preview(config: TTMConfig, evaluation: Evaluation) -> None:
    """The thresholds that the first scores resolve to, and what they would select today."""
    if config.variant == "global":
        st.caption(
            "This preset matches all images with all captions at once; its thresholds resolve when it starts."
        )
        return
    taus = thresholds(config, evaluation.matches.margin)
    curve = metrics.threshold_curve(evaluation.matches, evaluation.truth)
    data = plots.schedule_data(taus, curve)
    chosen = round(data.coverage[0] * len(evaluation.ids) / 100)
    st.markdown(f"τ₁ resolves to **{taus[0]:.3g}** and selects {chosen} of {len(evaluation.ids)} groups.")
    left, right = st.columns(2, gap="large")
    with left:
        alt = f"The threshold falls from {taus[0]:.3g} to {taus[-1]:.3g} over {len(taus)} iterations."
        st.caption("Threshold per iteration")
        ui.chart(plots.ttm_panel_figure(data, "threshold", 210), alt, "preview-threshold")
    with right:
        alt = f"With today's margins coverage goes from {data.coverage[0]:.0f} to {data.coverage[-1]:.0f} %."
        st.caption("Share of groups above it, with the margins of today")
        ui.chart(plots.ttm_panel_figure(data, "selection", 210), alt, "preview-coverage")


def expected_seconds(store: RunStore, model: str, config: TTMConfig, groups: int) -> float:
    """From the pace of this model's newest finished run, else a guess."""
    pace = GUESS
    for run in store.list("ttm"):
        if run.status == "finished" and run.config["model"] == model and run.done:
            steps = store.steps(run.id)[1:]
            pace = sum(s["seconds"] for s in steps) / sum(
                s["n_groups"] * run.config["ttm"]["epochs"] for s in steps
            )
            break
    return pace * groups * config.epochs * config.iterations


def configure(selection: ui.Selection, store: RunStore) -> None:
    evaluation = ui.evaluate(selection._replace(mask=np.ones(len(selection.groups), bool), tags=()))
    if selection.tags:
        st.caption("A run uses all groups of the split; the tag filter of the sidebar is for looking only.")
    preset, options, count, oracle = settings(
        len(selection.groups), default_preset("ttm", selection.benchmark, selection.model)
    )
    job = ttm_job(
        selection.benchmark, ui.model_source(selection.model), split=selection.split, preset=preset,
        groups=None if count == len(selection.groups) else int(count), oracle=oracle, options=options,
    )  # fmt: skip
    config = TTMConfig.from_dict(job["ttm"])
    first = np.arange(len(evaluation.ids)) < count
    preview(config, evaluation if first.all() else evaluation.select(first))
    seconds = expected_seconds(store, job["model"], config, int(count))
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Start the run", type="primary", icon=":material/play_arrow:"):
            title = f"{selection.benchmark} · {selection.model}" + (" · oracle" if oracle else "")
            run = store.create("ttm", title, job)
            launch(store, run.id)
            open_run(run.id)
            st.rerun()
        st.caption(f"About {duration(seconds)} on this machine.")


def open_run(run_id: str | None) -> None:
    """Show a run (or the form), and say so in the address."""
    st.session_state["run"] = run_id
    if run_id is None:
        st.query_params.pop("run", None)
    else:
        st.query_params["run"] = run_id


def show_chosen() -> None:
    open_run(st.session_state["shown"])


# --- live --------------------------------------------------------------------------------------------------------


def live(run_id: str, polled: bool) -> None:
    """Everything that grows. Polled while the run lives; one full rerun when it ends, or lives again."""
    with ui.guard():
        store = RunStore()
        run, steps = store.get(run_id), store.steps(run_id)
        if polled != run.live:
            st.rerun()
        controls(store, run)
        if not steps:
            st.info(
                "The curves start when the model has been scored for the first time.",
                icon=":material/hourglass_top:",
            )
            return
        curves(plots.ttm_data(steps, run.total or run.config["ttm"]["iterations"]), steps)


def controls(store: RunStore, run: Run) -> None:
    icon, colour = STATUS[run.status]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(run.status, icon=icon, color=colour)  # type: ignore[arg-type]
        if run.config.get("oracle"):
            st.badge("oracle: reads the truth", icon=":material/visibility:", color="orange")
        if run.status in ("queued", "running"):
            st.button("Stop", icon=":material/stop:", on_click=act, args=(store.request_stop, run.id))
        if run.resumable:
            again = (lambda run_id: resume(store, run_id), run.id)
            st.button("Resume", icon=":material/play_arrow:", type="primary", on_click=act, args=again)
    if run.live:
        left = f", {duration(run.seconds_left)} left" if run.seconds_left is not None else ""
        text = f"{run.message or 'starting'}{left}"
        st.progress(min(max(run.fraction, 0.0), 1.0), text=plain(text))
    if run.error:
        st.error(plain(run.error), icon=":material/error:")


def act(action: Any, run_id: str) -> None:
    """Stop or resume, from a callback; a refusal is shown like any other error."""
    with ui.guard():
        action(run_id)


def curves(data: plots.TTMData, steps: list[dict[str, Any]]) -> None:
    said = ", ".join(f"{METRICS[n].label} {v[0, 0]:.1f} to {v[-1, 0]:.1f} %" for n, v in data.metrics.items())
    ui.chart(
        plots.ttm_metrics_figure(data), f"Accuracy over {len(steps) - 1} iterations: {said}.", "ttm-metrics"
    )
    columns = st.columns(3, gap="medium")
    told = {
        "selection": "Coverage and precision of the pseudo-labels per iteration.",
        "threshold": "Threshold per iteration.",
        "loss": "Mean training loss per iteration.",
    }
    for column, (panel, alt) in zip(columns, told.items(), strict=True):
        with column:
            st.caption(alt)
            ui.chart(plots.ttm_panel_figure(data, panel), alt, f"ttm-{panel}")
    if steps[-1]["metrics"]:
        for column, name in zip(st.columns(2, gap="medium"), ("group_match", "group_score"), strict=True):
            first, now = (metrics.Estimate(**steps[i]["metrics"][name]) for i in (0, -1))
            with column.container(border=True, gap="xxsmall"):
                change = f"{now.value - first.value:+.1f} points"
                st.metric(
                    METRICS[name].label,
                    f"{now.value:.1f} %",
                    change,
                    delta_color="off",
                    help=METRICS[name].meaning,
                )
                st.caption(f"Now {metric_line(now)}.  \nBefore {metric_line(first)}.")


# --- what changed ------------------------------------------------------------------------------------------------


@st.cache_resource(max_entries=32, show_spinner=False)
def evaluation_at(run_id: str, iteration: int, _run: Run) -> Evaluation:
    groups = run_groups(_run)
    return Evaluation.of(RunStore().scores(run_id, iteration), groups.truth, groups.ids)


def run_groups(run: Run) -> Any:
    groups = ui.load_groups(run.config["benchmark"], run.config["split"])
    return groups if run.config["groups"] is None else groups.select(range(run.config["groups"]))


def changes(run: Run) -> None:
    """Groups that the run fixed and broke, and whether the difference is more than noise."""
    st.subheader("What changed", anchor=False)
    before, after = evaluation_at(run.id, 0, run), evaluation_at(run.id, run.done, run)
    for name in ("group_match", "group_score"):
        found = metrics.compare(before.outcomes[name].value, after.outcomes[name].value)
        st.markdown(
            f"**{METRICS[name].label}** {found.difference:+.1f} points "
            f"(95 % interval {found.low:+.1f} to {found.high:+.1f}): {found.fixed} groups fixed, "
            f"{found.broken} broken, McNemar p = {found.p_value:.2g}."
        )
    st.caption(
        "The last iteration is the result; picking the best one from the curve would read the truth. GroupScore climbs "
        "towards GroupMatch as the model memorises its own matchings: only a rise of GroupMatch is something new."
    )
    was, now = (e.outcomes["group_match"].value == 1 for e in (before, after))
    tabs = st.tabs([f"✓ Fixed ({int((~was & now).sum())})", f"✗ Broken ({int((was & ~now).sum())})"])
    for tab, mask in zip(tabs, (~was & now, was & ~now), strict=True):
        with tab:
            changed(run, after, np.flatnonzero(mask))


def changed(run: Run, after: Evaluation, indices: np.ndarray) -> None:
    if not len(indices):
        st.caption("None.")
        return
    groups = run_groups(run)
    order = indices[np.argsort(-after.matches.margin[indices])][:SHOWN]
    grid = st.grid(3, min_column_width=250, border=True)
    for index in order:
        group = groups[int(index)]
        with grid.cell():
            data, _ = drawing.group_view(after, int(index))
            ui.draw_group(group, data, size=160)
            if run.status == "finished":
                state = {
                    "set": run.config["benchmark"],
                    "split": run.config["split"],
                    "model": f"run/{run.id}",
                    "tag": [],
                }
                ui.jump("Open", "pages/1_Groups.py", {**state, "group": group.id}, key=f"open-{group.id}")


def view(run_id: str, store: RunStore) -> None:
    """A run: live or over."""
    run = store.get(run_id)
    st.subheader(plain(run.title), anchor=False)
    st.fragment(live, run_every=1.0 if run.live else None)(run_id, run.live)
    if not run.live and run.done:
        changes(run)
    with st.expander("Configuration and log", icon=":material/settings:"):
        text = json.dumps(run.config, indent=1)
        st.download_button(
            "Configuration (JSON)", text, f"{run.id}.json", "application/json", on_click="ignore"
        )
        st.code(text, language="json")
        st.code(store.log(run.id) or "The log is empty.", language=None, height=180)
    steps = store.steps(run_id)
    if steps:
        data = plots.ttm_data(steps, run.total or 1)
        figures = {
            "accuracy": plots.ttm_metrics_figure(data),
            "selection": plots.ttm_panel_figure(data, "selection"),
        }
        ui.take_away(f"run-{run.id}", plots.ttm_table(data), figures)


def page(selection: ui.Selection) -> None:
    store = RunStore()
    asked = st.query_params.get("run") or st.session_state.get("run")
    runs = {run.id: run for run in store.list("ttm")}
    if asked and asked not in runs:
        st.warning(
            "The run of this link is not on this machine; it may have been deleted.",
            icon=":material/search_off:",
        )
        asked = None
    open_run(asked)
    if runs:
        labels = {None: "＋ a new run", **{i: ui.run_label(run) for i, run in runs.items()}}
        st.session_state["shown"] = asked
        st.selectbox("Run", list(labels), format_func=labels.__getitem__, key="shown", on_change=show_chosen)
    if asked is None:
        configure(selection, store)
    else:
        view(asked, store)
    ui.cite(selection.groups)


picked = ui.start("Test-time matching", LEAD)
with ui.guard():
    page(picked)
