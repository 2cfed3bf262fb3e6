"""The seeds of one sweep as one result: curves with bands, mean and standard deviation, every seed by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core import figures
from core.base.public_mode import is_public
from core.base.text import counted, duration
from core.figures.text import label_and_meaning
from core.metrics.groups import headline_metrics
from core.runs.store import Run, RunStore
from core.ttm.command import command_line
from core.ttm.run import adaptation
from core.ttm.seeds import SeedGroup, final_values, group_runs, seed_of, summary
from ui.export import chart, export_section
from ui.formatting import change_text
from ui.runs import live_section, open_run, run_groups, settings_line, what_ran

_HEIGHT = 340  # of the curves: on a laptop all of them stand on the first screen
RESULT = (
    "Mean ± standard deviation over seeds (n − 1). The result of a seed is its last iteration, never its best one: "
    "choosing that would use the truth."
)


def view(store: RunStore, group: str) -> None:
    """All seeds of a group: live or over."""
    runs = group_runs(store, group)
    live_section(runs, _growing, "The curves appear once the first seed has been evaluated.")
    rows = summary([store.steps(run.id) for run in runs])
    if rows:
        command = command_line(adaptation(runs[0].config))
        data = figures.spread_data(rows, max(run.total for run in runs) or 1)
        export_section(
            f"seeds-{group}",
            figures.ttm_table(data),
            {"accuracy": figures.ttm_metrics_figure(data)},
            command="" if is_public() or not command else f"{command} --seeds {len(runs)}",
            groups=run_groups(runs[0].id, runs[0].config),
            title=SeedGroup(group, list(runs)).title,
            note=f"{what_ran(runs)}. Mean over seeds; bands: one standard deviation; dotted: chance levels. The last "
            "iteration is the result.",
        )


def _growing(runs: Sequence[Run], steps: Sequence[Sequence[Mapping[str, Any]]]) -> None:
    """Everything that grows while the seeds work."""
    rows = summary(steps)
    curves(runs, rows)
    result(runs, steps, rows)
    settings_line(runs)
    table(runs, steps)


def result(runs: Sequence[Run], steps: Sequence[Any], rows: Sequence[Mapping[str, Any]]) -> None:
    """Before, after and their deviation, of every part."""
    end = final_values(steps, [run.config for run in runs])
    if end is None:
        st.caption("The result appears when the first seed is complete.")
        return
    sides = end.get("parts") or {"": end["metrics"]}
    for side, metrics in sides.items():
        names = headline_metrics(metrics)
        first = rows[0]["parts"][side] if side else rows[0]["metrics"]
        for column, name in zip(st.columns(max(len(names), 1), gap="medium"), names, strict=False):
            with column.container(border=True, gap="xxsmall"):
                label, meaning = label_and_meaning(name)
                now, was = metrics[name], first[name]
                where = f", {side} groups" if side else ""
                change = change_text(was["mean"], now["mean"])
                st.metric(f"{label}{where}", spread(now), help=meaning, **change)
                st.caption(
                    f"{counted(now['seeds'], 'seed')}; before {spread(was)}; chance {now['chance']:.1f} %"
                )
    st.caption(RESULT)


def spread(metric: Mapping[str, Any]) -> str:
    """`79.6 ± 1.5 %`; `79.6 %` where all seeds have the same, as before training."""
    std = "" if not metric["std"] else f" ± {metric['std']:.1f}"
    return f"{metric['mean']:.1f}{std} %"


def curves(runs: Sequence[Run], rows: Sequence[Mapping[str, Any]]) -> None:
    total = max(run.total for run in runs) or len(rows)
    for side in rows[0].get("parts", {"": None}):
        data = figures.spread_data(rows, total, side)
        where = f" of the {side} groups" if side else ""
        changes = ", ".join(
            f"{label_and_meaning(n)[0]} {v[0, 0]:.1f} to {v[-1, 0]:.1f} %" for n, v in data.metrics.items()
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
        rows.append(
            {**row, "time": duration(sum(record["seconds"] for record in records)) if records else "–"}
        )
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="seeds_table")
    with st.container(horizontal=True):
        for run in runs:
            st.button(
                f"Open seed {seed_of(run)}",
                key=f"seed-{run.id}",
                on_click=open_run,
                args=(run.id,),
                icon=":material/open_in_full:",
            )


def accuracy(steps: Sequence[Mapping[str, Any]], name: str) -> str:
    """The last of these records' value with its interval and ties."""
    metric = steps[-1]["metrics"].get(name) if steps else None
    if not metric:
        return "–"
    tied = f", {metric['ties']} tied" if metric["ties"] else ""
    return f"{metric['value']:.1f} % ({metric['low']:.1f}–{metric['high']:.1f}{tied})"
