"""What test-time matching does on the built-in world, as figures of shipped measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core.base.text import _pct, _signed
from core.figures import ablations
from core.figures.text import label_and_meaning
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE
from ui.export import chart
from ui.loaders import load_groups
from ui.visitor import on_phone


class _ShippedFigure(NamedTuple):
    """One question: its figure, the figure in words, and what to see in it."""

    figure: Callable[[pd.DataFrame, str], tuple[go.Figure, str]]
    caption: str
    by_set: bool  # measured on several sets, one at a time


def _curves(table: pd.DataFrame, where: str) -> tuple[go.Figure, str]:
    data = ablations.curves_data(table, where=_of(where))
    known = zip(data.names, data.mean, strict=True)
    ends = ", ".join(f"{name} ends at {_pct(mean[~pd.isna(mean)][-1])} %" for name, mean in known)
    return ablations.curves_figure(data), f"GroupMatch over the iterations by schedule: {ends}."


def _first(table: pd.DataFrame, where: str) -> tuple[go.Figure, str]:
    return _ends(ablations.first_threshold_data(table, _of(where), _shape(where)))


def _iterations(table: pd.DataFrame, where: str) -> tuple[go.Figure, str]:
    return _ends(ablations.iterations_data(table, _of(where), _shape(where)))


def _shape(where: str) -> tuple[int, int]:
    return load_groups(where, "test").shape


def _ends(data: ablations.FinalResultsData) -> tuple[go.Figure, str]:
    values = data.metrics[GROUP_MATCH][:, 0]
    values_text = ", ".join(f"{x:g}: {_pct(y)} %" for x, y in zip(data.x, values, strict=True))
    return ablations.ends_figure(data), f"GroupMatch by {data.label}: {values_text}."


def _gains(kind: str, metric: str) -> Callable[[pd.DataFrame, str], tuple[go.Figure, str]]:
    def draw(table: pd.DataFrame, where: str) -> tuple[go.Figure, str]:
        data = ablations.gains_data(table, kind, metric)
        label = label_and_meaning(metric)[0]
        return ablations.gains_figure(
            data
        ), f"Change of {label} on {len(data.sets)} sets: {_gains_text(data)}."

    return draw


def _gains_text(data: ablations.GainsData) -> str:
    return "; ".join(
        f"{name.removeprefix('scenes/')} {_signed(data.gain[i, j])} ({model})"
        for i, model in enumerate(data.models)
        for j, name in enumerate(data.sets)
        if data.seeds[i, j] > 0
    )


def _precision_gain(table: pd.DataFrame, where: str) -> tuple[go.Figure, str]:
    data = ablations.gains_data(table)
    return ablations.precision_gain_figure(
        data
    ), "The gain against how much more often than average the first selection is right."


def _of(where: str) -> dict[str, str]:
    return {"kind": "ttm", "model": "builtin/clip", "benchmark": where}


VIEWS = {
    "Schedules": _ShippedFigure(
        _curves,
        "GroupMatch per iteration with a falling, a constant and a rising threshold, as in Fig. 2 (right) of Test-Time "
        "Matching.",
        True,
    ),
    "First threshold": _ShippedFigure(
        _first,
        "Results by the share of groups that τ₁ selects, as in Fig. 4 of Test-Time Matching; the oracle uses the truth "
        "and is an upper bound.",
        True,
    ),
    "Iterations": _ShippedFigure(
        _iterations, "Results by the number of iterations T, as in Table 9 of Test-Time Matching.", True
    ),
    "Gains": _ShippedFigure(
        _gains("ttm", GROUP_MATCH),
        "What test-time matching changes, in points of GroupMatch, on every built-in set with four models, and on "
        "left-right with a CLIP whose training was stopped early; values left of the line are losses. All models are "
        "built in.",
        False,
    ),
    "SimpleMatch": _ShippedFigure(
        _gains("simplematch", GROUP_SCORE),
        "What SimpleMatch changes, in points of GroupScore: on square sets GroupScore reaches GroupMatch, or "
        "nearly, without labels; on 1×k sets the two metrics are the same.",
        False,
    ),
    "Why": _ShippedFigure(
        _precision_gain,
        "Where a model's most confident matchings are hardly more often right than the rest, it gains little or "
        "learns its own mistakes. Accurate first pseudo-labels are not sufficient: on attribute-swap 93 to 100 % of "
        "them are right and the model still loses, much of it in the first iteration; the reason is not known.",
        False,
    ),
}

_PHONE_TALLER = 1.7  # times a laptop's height

# The figures of the built-in world's tables, of which some have none.
OF_TABLE: dict[str, tuple[str, ...]] = {
    "world": ("Gains", "SimpleMatch", "Why"),
    "world/schedules": ("Schedules",),
    "world/thresholds": ("First threshold",),
    "world/iterations": ("Iterations",),
    "world/oracle": ("First threshold",),
}


@st.cache_resource(max_entries=1, show_spinner=False)
def _table() -> pd.DataFrame:
    return ablations.ablations()


@st.cache_resource(max_entries=1, show_spinner=False)
def _sets() -> list[str]:
    """Sets with more than one setting."""
    table = _table()
    own = table[(table.kind == "ttm") & (table.model == "builtin/clip")]
    several = own.groupby("benchmark").setting.nunique()
    return [s for s in dict.fromkeys(own.benchmark) if several[s] > 1]


@st.cache_resource(max_entries=32, show_spinner=False)
def _drawn(name: str, where: str, phone: bool = False) -> tuple[go.Figure, str]:
    """The figure of a view, and the figure in words: shipped measurements, the same for every visitor. phone : the rows
    of sets are taller there, as the marks of five models lay on each other."""
    figure, alt = VIEWS[name].figure(_table(), where)
    if phone and not VIEWS[name].by_set and figure.layout.yaxis.ticktext:
        figure.update_layout(height=round(_PHONE_TALLER * figure.layout.height))
    return figure, alt


def section(names: Sequence[str] = tuple(VIEWS)) -> dict[str, Any]:
    """One figure of these at a time; returns it by name, for the export."""
    if st.session_state.get("world", names[0]) not in names:  # chosen at another table
        del st.session_state["world"]
    name = names[0]
    # Both choices in one line, and what the figure says below it: on a laptop all of it is on the first screen.
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="world-choices"):
        st.caption("Figure of", width="content")
        if len(names) > 1:
            name = (
                st.segmented_control(
                    "Figure",
                    names,
                    default=names[0],
                    key="world",
                    required=True,
                    bind="query-params",
                    label_visibility="collapsed",
                )
                or names[0]
            )
        view = VIEWS[name]
        where = "scenes/left-right"
        if view.by_set:
            where = st.selectbox(
                "Set of the figure",
                _sets() or [where],
                key="world_set",
                bind="query-params",
                label_visibility="collapsed",
                width=240,
            )
    figure, alt = _drawn(name, where, on_phone())
    chart(figure, alt, "world-figure")
    st.caption(
        f"{view.caption} Bands and bars: one standard deviation over seeds. The last iteration is the result."
    )
    return {f"built-in world, {name.lower()}": figure}
