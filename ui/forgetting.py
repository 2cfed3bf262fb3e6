"""What an adaptation cost: the adapted model and its base on every set at hand that it was not adapted on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import streamlit as st

from core import figures
from core.base.public_mode import is_public
from core.base.text import _pct, _signed, _signed_range, _time_left, counted
from core.cola.cost_process import _cost_work, _start_cost, _stop_cost
from core.cola.forgetting import cached_table, unadapted_sets
from core.figures.text import escape_markdown, label_and_meaning
from core.metrics.groups import GROUP_MATCH, METRICS
from core.runs.store import Run, RunStore
from ui.export import chart
from ui.formatting import _and, anchor, p_text, true_minus, unbroken
from ui.page import show_errors
from ui.three_answers import COST, MEASURING, NOT_MEASURED, NOT_PROVEN, YES, Answer

TITLE = "What adaptation costs"
_EXPLANATION = (
    "After minus before in points, with paired 95 % intervals over groups, on groups that training never "
    "saw: an interval right of 0 is a gain, left of 0 a loss. [Cola] reports a fall from 87 to 83 % on CIFAR-10, "
    "and 92 % with 5 % of its training data besides."
)

_MEASURES = (
    "Evaluates the model and its base on every set here that it was not adapted on; scores are cached."
)
_LEGEND = (
    "Filled dot: the 95 % interval leaves 0 out; hollow: it does not. Of 20 sets without a change, about one is filled "
    "by luck."
)
_OF_A_FILE = (
    "a file of embeddings has no other sets to be tried on. Trained were two small linear maps, which fit this file "
    "alone."
)


def forgetting_section(store: RunStore, run: Run) -> None:
    """The table and its figure; nothing as long as nobody has measured it, which the box of answers offers."""
    table = _measured(store, run)
    if table is not None:
        st.header(TITLE, anchor=anchor(TITLE))
        show(table, f"cost-{run.id}")


def is_measured(store: RunStore, run: Run) -> bool:
    """Whether it is known what a finished run costs elsewhere."""
    return _measured(store, run) is not None


def _measured(store: RunStore, run: Run) -> pd.DataFrame | None:
    """What a finished run costs elsewhere; None where nobody has measured it, or there is nothing to measure it on."""
    if run.status != "finished" or run.config.get("embeddings"):
        return None
    table = cached_table(store.folder(run.id))
    return None if table is None or table.empty else table


def cost_answer(store: RunStore, run: Run, of: str = "") -> Answer:
    """Whether a run has made its model worse on other sets, for the box of answers. of : which seed it is."""
    if run.config.get("embeddings"):
        return Answer(COST, NOT_MEASURED, _OF_A_FILE)
    if (table := _measured(store, run)) is not None:
        return measured_answer(table, of, run.id if of else "")
    if run.status != "finished":
        return Answer(COST, NOT_MEASURED, "the run has not finished, so there is no model yet.")
    if is_public():
        return Answer(COST, NOT_MEASURED, "run Crossmatch on your own machine to measure it.")
    work = _cost_work(store, run.id)
    if work is not None and not work.error:
        return Answer(
            COST, MEASURING, f"{of}it continues when you close this page.", lambda: _watch(store, run)
        )
    sets = counted(len(unadapted_sets(str(run.config["benchmark"]))), "set")
    failed = "" if work is None else f" Last time: {escape_markdown(work.error)}"
    return Answer(
        COST, NOT_MEASURED, f"{of}it takes {sets} and a minute.{failed}", lambda: _measure(store, run)
    )


def _measure(store: RunStore, run: Run) -> None:
    """The button that has a process measure it."""
    if st.button("Measure it now", icon=":material/balance:", key=f"cost-{run.id}", help=_MEASURES):
        with show_errors():
            _start_cost(store, run.id)
            st.rerun()


def _watch(store: RunStore, run: Run) -> None:
    """How far the measurement is, in every tab that shows the run, until it has ended."""
    st.fragment(_at_work, run_every=1.0)(store, run.id)


def _at_work(store: RunStore, run_id: str) -> None:
    work = _cost_work(store, run_id)
    if work is None or work.error:
        st.rerun()
    left = "" if work.seconds_left is None else f", {_time_left(work.seconds_left)}"
    with st.container(horizontal=True, vertical_alignment="center", width="content"):
        st.markdown(f"{100 * work.share:.0f} %{left}", width="content")
        if st.button("Stop", icon=":material/stop:", key=f"stop-cost-{run_id}"):
            _stop_cost(store, run_id)
            st.rerun()


def measured_answer(table: pd.DataFrame, of: str = "", elsewhere: str = "") -> Answer:
    """What was measured of a run: on how many sets it is clearly worse, and where the most.

    of : which seed it is. elsewhere : the run, where its figure stands on its own page, not on the one of all seeds.
    """
    is_worse, said = worse_elsewhere(table)
    page = f"Test-Time_Matching?{urlencode({'run': elsewhere})}" if elsewhere else ""
    link = f"[See all of them]({page}#{anchor(TITLE)})"
    return Answer(COST, YES if is_worse else NOT_PROVEN, f"{of}{said} {link}")


def worse_elsewhere(table: pd.DataFrame) -> tuple[bool, str]:
    """Whether one model is clearly worse on a set of the table, and on how many, and where the most, in words."""
    data = figures.cost_data(table, GROUP_MATCH)
    difference, low, high = (each[0] for each in (data.difference, data.low, data.high))
    sets = counted(len(data.sets), "other set")
    worst = int(np.argmin(np.where(high < 0, difference, np.inf) if (high < 0).any() else difference))
    most = (
        f"{data.sets[worst].removeprefix('scenes/')}: {_signed(difference[worst])} points of GroupMatch "
        f"(95 % interval {_signed_range(low[worst], high[worst])})"
    )
    if (high < 0).any():
        return True, f"clearly worse on {int((high < 0).sum())} of {sets}, most on {most}."
    return False, f"clearly worse on none of {sets}; lowest on {most}."


def _verdict(data: Any) -> str:
    """`Clearly worse on triples (−21.0) and swap (−6.5), clearly better on two-of-four (+3.0); the other 9
    cannot be told from 0.`, the largest first. Clearly: the interval leaves 0 out, as in a filled dot."""
    difference, low, high = (each[0] for each in (data.difference, data.low, data.high))
    parts = []
    for word, clear in (("worse", high < 0), ("better", low > 0)):
        order = sorted(np.flatnonzero(clear), key=lambda j: -abs(difference[j]))
        named = [f"{data.sets[j].removeprefix('scenes/')} ({_signed(difference[j])})" for j in order]
        if named:
            parts.append(f"clearly {word} on {_and(named)}")
    rest = int(((low <= 0) & (high >= 0)).sum())
    if not parts:
        which = "the one set cannot" if rest == 1 else f"none of the {rest} sets can"
        return f"No clear change: {which} be told from 0."
    said = ", ".join(parts)
    more = f"; the other {rest if rest > 1 else 'one'} cannot be told from 0" if rest else ""
    return true_minus(f"{said[0].upper()}{said[1:]}{more}.")


def show(table: pd.DataFrame, key: str, by: str | None = None) -> None:
    """One metric's changes as a figure, everything as a table; `by` names a column that tells models apart."""
    names = [name for name in METRICS if name in set(table["metric"])]
    metric = st.segmented_control(
        "Metric",
        names,
        default=GROUP_MATCH if GROUP_MATCH in names else names[0],
        key="costmetric",
        required=True,
        format_func=lambda name: label_and_meaning(name)[0],
        bind="query-params",
        label_visibility="collapsed",
    )
    data = figures.cost_data(table, metric or names[0], by)
    one = len(data.models) == 1
    names, changes = (data.sets, data.difference[0]) if one else (data.models, data.difference.mean(axis=1))
    listed = "; ".join(f"{name} {_signed(change)}" for name, change in zip(names, changes, strict=True))
    what = "by set" if one else f"over {len(data.sets)} sets, their mean"
    if one:
        st.markdown(f"**{unbroken(_verdict(data))}**")
    st.caption(_LEGEND)
    chart(figures.cost_figure(data), f"Change of {label_and_meaning(data.metric)[0]} {what}: {listed}.", key)
    with st.expander("All numbers, and how to read them"):
        st.caption(_EXPLANATION)
        st.dataframe(_readable(table, by), hide_index=True, key=f"{key}-table")


def _readable(table: pd.DataFrame, by: str | None) -> pd.DataFrame:
    """The table as text: before, after and their difference, each with its interval, and what decides it."""
    interval: Callable[[Any], str] = lambda v: f"{_pct(v[0])} ({_pct(v[1])}–{_pct(v[2])})"  # noqa: E731
    columns: dict[str, Any] = {} if by is None else {by: table[by]}
    columns |= {
        "set": table["set"],
        "metric": [label_and_meaning(name)[0] for name in table["metric"]],
        "groups": table["groups"],
        "before": [interval(v) for v in table[["before", "before_low", "before_high"]].to_numpy()],
        "after": [interval(v) for v in table[["after", "after_low", "after_high"]].to_numpy()],
        "change": [
            f"{_signed(d)} ({_signed_range(a, b)})"
            for d, a, b in table[["difference", "low", "high"]].to_numpy()
        ],
        "fixed": table["fixed"],
        "broken": table["broken"],
        "p (McNemar)": [p_text(p) for p in table["p_value"]],
        "chance": table["chance"].round(1),
        "ties": [f"{a} → {b}" for a, b in table[["ties_before", "ties_after"]].to_numpy()],
    }
    return pd.DataFrame(columns)
