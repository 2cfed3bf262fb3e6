"""Sweeps as the Runs page shows them: how far, and every model, benchmark and setting over its seeds."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.base.text import _pct, _time_left, tie_count
from core.figures.text import escape_markdown
from core.metrics.groups import description_of, headline_metrics
from core.runs.store import RunStore
from core.sweeps.cells import saved_plans
from core.sweeps.table import cells_table, progress_of, summary_table
from ui.page import error_text


def draw_sweeps(store: RunStore) -> None:
    """A chosen sweep's table, filling while it runs; nothing where no sweep was started here."""
    plans = saved_plans(store)
    if not plans:
        return
    name = st.selectbox("Sweep", list(plans), key="sweep", bind="query-params")
    plan = plans[name]
    found = progress_of(store, plan)
    left = "" if found.seconds_left is None else f", about {_time_left(found.seconds_left)}"
    told = f"{found.finished} of {found.cells} cells done, {found.live} running"
    st.progress(found.share, told + (left if found.finished < found.cells else ""))
    cells = cells_table(store, plan)
    st.dataframe(shown(summary_table(cells)), hide_index=True)
    for row in cells[cells["error"].notna()].itertuples():
        st.caption(
            f"{escape_markdown(str(row.model))} on {escape_markdown(str(row.benchmark))}: "
            f"{error_text(row.error)}"
        )


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """`summary_table` in words: mean ± deviation over seeds, 95 % interval over groups, chance, ties."""
    out = table[["benchmark", "model", "setting", "state"]].copy()
    out["seeds"] = [f"{row.finished} of {row.seeds}" for row in table.itertuples()]
    for name in headline_metrics(table.columns):
        label = description_of(name).label
        if f"{name}_before" in table:
            out[f"{label} before"] = table[f"{name}_before"].round(1)
        out[label] = [_value(row, name) for _, row in table.iterrows()]
    return out


def _value(row: pd.Series, name: str) -> str:
    if pd.isna(row[name]):
        return "–"
    deviation = "" if pd.isna(row[f"{name}_sd"]) else f" ± {_pct(row[f'{name}_sd'])}"
    interval = f"({_pct(row[f'{name}_low'])}–{_pct(row[f'{name}_high'])})"
    count = tie_count(row[f"{name}_ties"])
    tied = {"0": "", "–": ", ties not counted"}.get(count, f", {count} tied")
    return f"{_pct(row[name])}{deviation} % {interval}, chance {_pct(row[f'{name}_chance'])} %{tied}"
