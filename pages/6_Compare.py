"""Compare: two models on the same groups, or one before and after adaptation; where they differ, group by group."""

from __future__ import annotations

import numpy as np
import streamlit as st

import ui
from core import figures
from core.figures import group_html
from core.figures.text import escape_markdown
from core.groups import GroupSet
from core.metrics import paired
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, METRICS, yes_or_no

PER_PAGE = 6
LEAD = (
    "A is the model in the sidebar, B the one you choose here. Both see the same groups, so the difference is "
    "paired: what counts are the groups on which they differ."
)
DEFAULT_MODELS = ("builtin/siglip", "builtin/clip")  # B by default: two towers, quick on any data


def other_model(first: str) -> str:
    """B: chosen here, by default a contrastive model that is not A."""
    names = ui.model_names()
    if "other" not in st.session_state and "other" not in st.query_params:
        st.session_state["other"] = next(
            (name for name in (*DEFAULT_MODELS, *names) if name != first and name in names), first
        )
    return st.selectbox(
        "Model B", names, key="other", bind="query-params", accept_new_options=True,
        help="For before and after: the built-in model in the sidebar, and `run/…`, the model a run has adapted, here.",
    )  # fmt: skip


def overview(a: Evaluation, b: Evaluation) -> None:
    """All metrics of both, with the paired difference."""
    names = yes_or_no(a.outcomes)
    data = figures.bars_data({"A": a.metrics, "B": b.metrics}, names)
    figure = figures.bars_figure(data)
    values = "; ".join(
        f"{METRICS[name].label}: A {a.metrics[name].value:.1f}, B {b.metrics[name].value:.1f} %"
        for name in names
    )
    ui.chart(figure, f"Bars of A and B with intervals and chance levels. {values}.", "compare-models")
    table = paired.comparison_table(a, b, ("A", "B"))
    number, points, p_value = (
        st.column_config.NumberColumn(format="%.1f"),
        st.column_config.NumberColumn(format="%+.1f"),
        st.column_config.NumberColumn(
            format="%.2g", help="Exact McNemar test on the groups where they differ."
        ),
    )
    columns = {
        "metric": None,
        "A": number,
        "B": number,
        "chance": number,
        "B − A": points,
        "B − A: 95 %": None,
    }
    columns |= {"only B right": None, "only A right": None, "McNemar p": p_value}
    formats = {name: column for name, column in columns.items() if column is not None}
    st.dataframe(table, hide_index=True, column_config=formats, column_order=list(columns))
    st.caption(
        "Percent of groups; B − A in percentage points with its paired 95 % interval. The download below has the "
        "intervals and tie counts of A and B as well."
    )
    ui.export_section("compare", table, {"metrics": figure})


def differing(a: Evaluation, b: Evaluation, groups: GroupSet) -> None:
    """The groups in one class of the comparison, widest margin first."""
    st.header("Where they differ", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = yes_or_no(a.outcomes)
        metric = st.selectbox(
            "By",
            names,
            names.index(GROUP_MATCH),
            format_func=lambda name: METRICS[name].label,
            key="by_metric",
            width=200,
        )
        classes = paired.groups_by_winner(a, b, metric)
        larger = max(("only B right", "only A right"), key=lambda name: int(classes[name].sum()))
        chosen = st.segmented_control(
            "Groups", list(classes), default=larger, key="side", bind="query-params", width="content"
        )
    if chosen is None:
        return
    indices = np.flatnonzero(classes[chosen])
    if not len(indices):
        st.info("No group falls into this class; choose another one.", icon=":material/filter_alt_off:")
        return
    indices = indices[np.argsort(-np.maximum(a.matches.margin, b.matches.margin)[indices], kind="stable")]
    st.caption(f"{len(indices)} of {len(groups)} groups, largest margin first")
    grid = st.grid(3, min_column_width=260, border=True)
    for index in map(int, indices[:PER_PAGE]):
        with grid.cell():
            marks = [
                (e.outcomes[metric].kind(index), f"{letter}: {METRICS[metric].label}")
                for letter, e in (("A", a), ("B", b))
            ]
            ui.group_card(groups[index], marks, "Compare", "side")


def one_group(a: Evaluation, b: Evaluation, groups: GroupSet, index: int, names: tuple[str, str]) -> None:
    """One group under both models, side by side."""
    group = groups[index]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(escape_markdown(group.id), anchor=False, width="content")
        st.button("Close", on_click=ui.open_group, args=(None,), icon=":material/close:")
        ui.page_button(
            "Open in Groups", "pages/1_Groups.py", {"group": group.id}, icon=":material/grid_view:"
        )
    for column, letter, name, evaluation in zip(st.columns(2, gap="large"), "AB", names, (a, b), strict=True):
        with column:
            data = evaluation.group(index)
            st.markdown(f"**{letter}: {escape_markdown(name)}**")
            ui.draw_group(group, data, size=220)
            st.html(group_html.verdicts_html(data, yes_or_no(data.kinds)))


def page(selection: ui.Selection) -> None:
    other = other_model(selection.model)
    a, b = ui.evaluate(selection), ui.evaluate(selection, other)
    groups = selection.selected_groups
    paired.check_same_groups(a, b)
    if other == selection.model:
        st.info("A and B are the same model: choose another one for B.", icon=":material/difference:")
    overview(a, b)
    ids = list(a.ids)
    chosen = ui.pick_group(ids)
    if chosen is not None:
        one_group(a, b, groups, ids.index(chosen), (selection.model, other))
    differing(a, b, groups)
    ui.cite(groups)


selection = ui.open_page("Compare", LEAD)
with ui.show_errors():
    page(selection)
