"""Compare: two models, two files, or a file and a model on the same groups; where they differ, group by group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
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
UNCORRECTED = "Exact McNemar test on the groups where they differ, of this metric alone."
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
    hanging = a.clusters or b.clusters
    note = (
        f"Percent of groups; B − A in percentage points with its paired 95 % interval; p is McNemar's exact test, "
        f"corrected for these {len(table)} metrics (Holm). A p above 0.05 says that these groups cannot tell, not that "
        f"there is no difference.{'' if hanging is None else cluster_note(hanging)}"
    )
    difference_table(table, names, "" if hanging is None else hanging.by, note)
    groups_needed(len(a.ids), 100 * (match.fixed + match.broken) / len(a.ids))
    ui.export_section("compare", table, {"metrics": figure}, **exports)


def difference_table(table: pd.DataFrame, names: tuple[str, ...], by: str, note: str) -> None:
    """What fits beside the sidebar, and the note on it; the other columns below, closed.

    by : what clusters share, "" without any.
    """
    apart, test = (f"B − A by {by}: 95 %", f"p by {by}, Holm") if by else ("", "p, Holm")
    first = ["metric", *names, "chance", "B − A", "B − A: 95 %", apart, "only B right", "only A right", test]
    more = ["metric", "McNemar p", "p, Holm", test, "detectable", f"detectable by {by}" if by else ""]
    heads = {names[0]: "A", names[1]: "B", "B − A: 95 %": "95 %", apart: f"95 % by {by}"}
    helps = {"McNemar p": UNCORRECTED, "p, Holm": HOLM, test: HOLM, "detectable": DETECTABLE}
    columns = {
        name: st.column_config.Column(heads.get(name), help=helps.get(name)) for name in [*first, *more]
    }
    written = {name: "{:.1f}".format for name in table if table[name].dtype == float}
    written |= {name: p_text for name in table if name.startswith(("p", "McNemar"))}
    written |= {name: signed_text for name in table if name.startswith("B − A")}
    shown = table.style.format(written)
    ui.wide_table(shown, column_config=columns, column_order=[name for name in first if name])
    st.caption(note)
    box = st.expander("p values and detectable differences", key="more-columns", on_change="rerun")
    if box.open:
        with box:
            order = list(dict.fromkeys(name for name in more if name))
            ui.wide_table(shown, column_config=columns, column_order=order)
            st.caption("The exported table has these, and the intervals and tie counts of A and B as well.")


def p_text(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def signed_text(value: float | str) -> str:
    """Points with their sign, or an interval of them."""
    return ui.true_minus(value if isinstance(value, str) else f"{value:+.1f}")


def verdict(match: Comparison, names: tuple[str, ...]) -> str:
    """Which of the two is ahead in GroupMatch, and whether these groups can tell; by cluster where they hang together.
    Markdown."""
    a, b = (escape_markdown(f"{name[0]} ({name.partition(': ')[2]})") for name in names)
    tested, by = (match, "") if match.clustered is None else (match.clustered, f" by {match.clustered.by}")
    if tested.low <= 0 <= tested.high:
        said = f"these groups cannot tell {a} and {b} apart"
    else:
        said = f"{a} is ahead of {b}" if match.difference < 0 else f"{b} is ahead of {a}"
    points = f"{match.difference:+.1f} points (95 % interval{by} {tested.low:+.1f} to {tested.high:+.1f})"
    return (
        f"**GroupMatch: {said}.** B − A is {ui.true_minus(points)}: {counted(match.fixed, 'group')} "
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
