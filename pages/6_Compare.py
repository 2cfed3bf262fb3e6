"""Compare: two models, two files, or a file and a model on the same groups; where they differ, group by group."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

import ui
from core import figures
from core.base.text import counted
from core.figures import group_html
from core.figures.text import escape_markdown
from core.groups import GroupSet
from core.metrics import paired
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, METRICS, yes_or_no
from core.metrics.statistics import Clusters, Comparison
from ui.groups_needed import groups_needed
from ui.uploads import PREFIX, new_upload, upload_names

PER_PAGE = 6
THIS_PAGE = "pages/6_Compare.py"
HOLM = "McNemar's p, corrected by Holm's method for all metrics of this table."
DETECTABLE = (
    "The smallest difference in points that so many groups would have shown with 80 % power, two systems differing on "
    "as many of them."
)
LEAD = (
    "A is the model or file in the sidebar, B the one you choose here. Both are measured on the same groups, so the "
    "difference is paired: what counts are the groups on which they differ."
)


def pick_other(selection: ui.Selection) -> str | None:
    """B: a model or a file for a benchmark's groups, another file for those of a file; None where there is none."""
    files = [entry for entry in upload_names() if entry != selection.benchmark]
    names = files if selection.is_file else [*ui.model_names(), *files]
    if selection.is_file:
        file_ways(selection, files)
        if not files:
            return None
        if st.session_state.get("other") not in (None, *files):  # of a benchmark, before
            st.session_state["other"] = None
    if st.session_state.get("other") is None and "other" not in st.query_params:
        first = ui.another_model(selection)
        if first is not None:
            ui.seed("other", first)
    return ui.pick_model(
        "File B" if selection.is_file else "Model or file B",
        names,
        "other",
        index=None,
        placeholder="choose what to compare it with",
        help="For before and after: the model that a run began with in the sidebar, and `run/…`, what it became, here.",
    )


def file_ways(selection: ui.Selection, files: list[str]) -> None:
    """What a file can be compared with: a model on the benchmark that it was made on, or another file."""
    name = str(selection.groups.title)
    with st.container(horizontal=True, vertical_alignment="center"):
        benchmark = ui.benchmark_of(selection.groups)
        if benchmark is not None:
            state = {**benchmark, "model": selection.benchmark, "other": None}
            label = f"Compare {name} with a model"
            ui.page_button(label, THIS_PAGE, state, icon=":material/compare:")
        with st.popover("Upload another file", icon=":material/upload_file:"):
            entry = new_upload("other_file")
            if entry is not None:
                ui.select(other=entry)
    if not files:
        more = "" if benchmark else ", or select the benchmark that it was made on, and the file as its model"
        st.info(escape_markdown(f"To compare {name}, upload another file{more}."), icon=":material/compare:")


def labels(*names: str) -> tuple[str, ...]:
    """A and B with their names."""
    return tuple(f"{letter}: {name.removeprefix(PREFIX)}" for letter, name in zip("AB", names, strict=True))


def overview(a: Evaluation, b: Evaluation, names: tuple[str, ...], exports: dict[str, Any]) -> None:
    """All metrics of both, with the paired difference. exports : what `ui.export_section` takes besides."""
    first, second = names
    match = paired.differences(a, b, [GROUP_MATCH])[GROUP_MATCH]
    st.markdown(verdict(match, names))
    data = figures.bars_data({first: a.metrics, second: b.metrics}, yes_or_no(a.outcomes))
    figure = figures.paired_bars_figure(data)
    values = "; ".join(
        f"{METRICS[name].label}: A {a.metrics[name].value:.1f}, B {b.metrics[name].value:.1f} %"
        for name in data.metrics
    )
    ui.chart(figure, f"Bars of {first} and {second} at every metric. {values}.", "compare-models")
    table = paired.comparison_table(a, b, names)
    number, points, p_value = (
        st.column_config.NumberColumn(format="%.1f"),
        st.column_config.NumberColumn(format="%+.1f"),
        st.column_config.NumberColumn(
            format="%.2g", help="Exact McNemar test on the groups where they differ."
        ),
    )
    columns = {"metric": None, first: number, second: number, "chance": number, "B − A": points}
    columns |= {"B − A: 95 %": None, "only B right": None, "only A right": None, "McNemar p": p_value}
    columns |= {"p, Holm": st.column_config.NumberColumn(format="%.2g", help=HOLM)}
    columns |= {"detectable": st.column_config.NumberColumn(format="%.1f", help=DETECTABLE)}
    hanging = a.clusters or b.clusters
    if hanging is not None:
        by = hanging.by
        columns |= {f"B − A by {by}: 95 %": None, f"p by {by}, Holm": p_value, f"detectable by {by}": number}
    formats = {name: column for name, column in columns.items() if column is not None}
    st.dataframe(table, hide_index=True, column_config=formats, column_order=list(columns))
    st.caption(
        f"Percent of groups; B − A in percentage points with its paired 95 % interval. “p, Holm” is corrected for "
        f"these {len(table)} metrics; a p above 0.05 says that these groups cannot tell, not that there is no "
        f"difference.{'' if hanging is None else cluster_note(hanging)} The exported table has the intervals and tie "
        "counts of A and B as well."
    )
    groups_needed(len(a.ids), 100 * (match.fixed + match.broken) / len(a.ids))
    ui.export_section("compare", table, {"metrics": figure}, **exports)


def verdict(match: Comparison, names: tuple[str, ...]) -> str:
    """Which of the two is ahead in GroupMatch, and whether these groups can tell; Markdown."""
    ahead, behind = names if match.difference < 0 else names[::-1]
    interval = f"95 % interval {match.low:+.1f} to {match.high:+.1f} for B − A"
    if match.low <= 0 <= match.high:
        said = f"these groups cannot tell {escape_markdown(names[0])} and {escape_markdown(names[1])} apart"
    else:
        said = f"{escape_markdown(ahead)} is ahead of {escape_markdown(behind)}"
    return (
        f"**GroupMatch: {said}** ({abs(match.difference):.1f} points, {interval}). {counted(match.fixed, 'group')} "
        f"{'is' if match.fixed == 1 else 'are'} right with B alone, {match.broken} with A alone."
    )


def cluster_note(clusters: Clusters) -> str:
    """What “by image” means in the table."""
    return (
        f" By {clusters.by}: groups that share one count together, {clusters.count} clusters in place of "
        f"{len(clusters.labels)} groups."
    )


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
    grid = st.grid(2, min_column_width=300, border=True)
    for index in map(int, indices[:PER_PAGE]):
        with grid.cell():
            marks = [
                (e.outcomes[metric].kind(index), f"{letter}: {METRICS[metric].label}")
                for letter, e in (("A", a), ("B", b))
            ]
            ui.group_card(groups[index], marks, "Compare", "side")


def one_group(a: Evaluation, b: Evaluation, groups: GroupSet, index: int, names: tuple[str, ...]) -> None:
    """One group under both models, side by side."""
    group = groups[index]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(escape_markdown(group.id), anchor=False, width="content")
        st.button("Close", on_click=ui.open_group, args=(None,), icon=":material/close:")
        ui.page_button(
            "Open in Groups", "pages/1_Groups.py", {"group": group.id}, icon=":material/grid_view:"
        )
    for column, name, evaluation in zip(st.columns(2, gap="large"), names, (a, b), strict=True):
        with column:
            data = evaluation.group(index)
            st.markdown(f"**{escape_markdown(name)}**")
            with st.container(key=f"drawn-{name}"):
                ui.draw_group(group, data)
            st.html(group_html.verdicts_html(data, yes_or_no(data.kinds)))


def page(selection: ui.Selection) -> None:
    other = pick_other(selection)
    if not other:
        return
    a, b = ui.evaluate(selection), ui.evaluate(selection, other)
    groups, names = selection.selected_groups, labels(selection.model, other)
    paired.check_same_groups(a, b)
    if other == selection.model:
        st.info("A and B are the same: choose another one for B.", icon=":material/difference:")
    overview(a, b, names, ui.evaluation_exports(selection, {selection.model: a, other: b}))
    ids = list(a.ids)
    chosen = ui.pick_group(ids)
    if chosen is not None:
        one_group(a, b, groups, ids.index(chosen), names)
    differing(a, b, groups)
    ui.cite(groups)


selection = ui.open_page("Compare", LEAD)
with ui.show_errors():
    page(selection)
