"""Groups: a gallery with filters, and one group in detail."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import streamlit as st

import ui
from core import figures
from core.figures import group_html
from core.figures.text import escape_markdown
from core.groups import Group, GroupSet
from core.metrics import group_filters
from core.metrics import groups as metrics
from core.metrics.evaluation import Evaluation
from core.metrics.groups import METRICS
from core.metrics.table import GroupData
from ui.notable_groups import notable_groups

PER_PAGE = 12


def filters(evaluation: Evaluation, groups: GroupSet) -> np.ndarray:
    """The indices of the groups to show, in order."""
    first, second, third = st.columns([2, 3, 2])
    words = first.text_input("Search captions", key="q", bind="query-params", placeholder="red cube")
    options = list(group_filters.verdict_options(evaluation))
    verdicts = second.multiselect("Verdicts", options, key="verdict", bind="query-params", placeholder="any")
    order = third.selectbox("Sort by", list(group_filters.ORDERS), key="sort", bind="query-params")
    return group_filters.filter_groups(groups, evaluation, words, verdicts, order)


def notable_group_buttons(selection: ui.Selection, evaluation: Evaluation) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("**Surprise me**", width="content")
        for label, mask in notable_groups(selection, evaluation).items():
            ids = [evaluation.ids[i] for i in np.flatnonzero(mask)]
            # Drawn when the button is pressed, not now.
            st.button(
                f"{label} ({len(ids)})",
                on_click=lambda ids=ids: ui.open_group(str(np.random.default_rng().choice(ids))),
                disabled=not ids,
                key=f"surprise-{label}",
            )


def gallery(evaluation: Evaluation, groups: GroupSet) -> None:
    indices = filters(evaluation, groups)
    if not len(indices):
        st.info(
            "No group passes these filters; remove a verdict or a search word.",
            icon=":material/filter_alt_off:",
        )
        return
    count = -(-len(indices) // PER_PAGE)
    if st.session_state.get("page", 1) > count:
        st.session_state["page"] = 1
    start = (st.session_state.get("page", 1) - 1) * PER_PAGE
    grid = st.grid(3, min_column_width=260, border=True)
    for index in indices[start : start + PER_PAGE]:
        with grid.cell():
            card(evaluation, groups[int(index)], int(index))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.pagination(count, key="page", bind="query-params")
        st.caption(f"{len(indices)} of {len(groups)} groups")


def card(evaluation: Evaluation, group: Group, index: int) -> None:
    names = metrics.headline_metrics(evaluation.outcomes)
    marks = [(evaluation.outcomes[name].kind(index), METRICS[name].label) for name in names]
    ui.group_card(group, marks, "Open", "open")
    st.caption(f"margin {evaluation.matches.margin[index]:.2f}")


# --- one group ---------------------------------------------------------------------------------------------------


def toolbar(ids: list[str], index: int) -> bool:
    """Previous, next, close, and whether to predict first."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        before, after = ids[index - 1], ids[(index + 1) % len(ids)]
        st.button("Gallery", on_click=ui.open_group, args=(None,), icon=":material/grid_view:")
        st.button("Previous", on_click=ui.open_group, args=(before,), icon=":material/chevron_left:")
        st.button("Next", on_click=ui.open_group, args=(after,), icon=":material/chevron_right:")
        state = {"group": ids[index], "other": st.session_state.get("model")}
        ui.page_button(
            "Pin and compare", "pages/6_Compare.py", state, icon=":material/push_pin:",
            help="Keep this model as B, then choose another one in the sidebar.",
        )  # fmt: skip
        return st.toggle(
            "Predict first",
            key="predict",
            bind="query-params",
            help="Match the images yourself, then reveal.",
        )


def detail(evaluation: Evaluation, groups: GroupSet, index: int) -> None:
    group, data = groups[index], evaluation.group(index)
    hide = toolbar(list(evaluation.ids), index)
    revealed_ids = st.session_state.setdefault("revealed", set())
    revealed = not hide or group.id in revealed_ids
    st.header(escape_markdown(group.id), anchor=False)
    left, right = st.columns([3, 2], gap="large")
    with left:
        student = guess(group, revealed) if hide else None
        ui.draw_group(group, data, revealed, student)
        if revealed:
            st.markdown("### Verdicts, with this group's numbers")
            st.html(group_html.verdicts_html(data))
    with right:
        if not revealed:
            st.info(
                "Which caption belongs to which image? Choose on the left, then reveal what the model thinks."
            )
            return
        if student is not None:
            judge(student, data)
        matrix(group, data)
    if not evaluation.truth_given:
        st.caption(
            "The data give no ground truth: image A is assumed to belong to caption 1, image B to caption 2, and so on."
        )
    tags = " · ".join(f"{name}: {value}" for name, value in group.tags.items())
    st.caption(escape_markdown(tags))


def guess(group: Group, revealed: bool) -> list[int | None]:
    """The student's own matching, one caption number per image."""
    numbers = [str(j + 1) for j in range(len(group.captions))]
    chosen = []
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for i in range(len(group.images)):
            label, key = f"Image {group_html.image_name(i)} belongs to caption", f"guess-{group.id}-{i}"
            chosen.append(st.segmented_control(label, numbers, key=key, disabled=revealed, width="content"))
        if not revealed:
            complete = None not in chosen and len(set(chosen)) == len(chosen)
            hint = None if complete else "Give every image a different caption first."
            st.button(
                "Reveal", type="primary", disabled=not complete, help=hint, on_click=reveal, args=(group.id,)
            )
    return [None if value is None else int(value) - 1 for value in chosen]


def reveal(group: str) -> None:
    st.session_state["revealed"].add(group)


def judge(student: list[int | None], data: GroupData) -> None:
    """The student beside the model."""
    matching = np.array([[-1 if j is None else j for j in student]])
    right = metrics.precision(matching, np.ones(1, bool), np.array([data.truth])) == 1
    kind = "right" if right else "wrong"
    st.markdown(f"**You:** {figures.OUTCOME_SYMBOLS[kind]} {kind} (the wide pink lines)")


def matrix(group: Group, data: GroupData) -> None:
    """The score matrix; a click on a cell (or the list below it) explains the pair."""
    m, k = data.scores.shape
    pairs = [f"{group_html.image_name(i)}–{j + 1}" for i in range(m) for j in range(k)]
    chart_key = f"cells-{group.id}"

    def clicked() -> None:
        cells = st.session_state[chart_key].selection.get("cell") or []
        st.session_state["pair"] = f"{cells[0]['image']}–{cells[0]['caption']}" if cells else None

    st.markdown("### Scores: images × captions")
    st.altair_chart(
        heatmap(data),
        key=chart_key,
        on_select=clicked,
        selection_mode="cell",
        alt=f"Score matrix of {m} images and {k} captions; the list below describes every cell.",
    )
    st.caption("Outlined: the model's matching. ✓: the true pairs. Click a cell to explain it.")
    if st.session_state.get("pair") not in (None, *pairs):
        st.session_state["pair"] = None
    pair = st.selectbox(
        "Explain a pair", pairs, index=None, key="pair", bind="query-params", placeholder="choose or click"
    )
    if pair:
        explain(group, data, *divmod(pairs.index(pair), k))


def explain(group: Group, data: GroupData, i: int, j: int) -> None:
    score, (m, k) = data.scores[i, j], data.scores.shape
    row = 1 + int((data.scores[i] > score).sum())
    column = 1 + int((data.scores[:, j] > score).sum())
    chosen = data.matching is not None and data.matching[i] == j
    st.markdown(
        f"**Image {group_html.image_name(i)} with caption {j + 1}: {score:.3f}**, rank {row} of {k} for this image, "
        f"rank {column} of {m} for this caption. "
        f"{'In' if chosen else 'Not in'} the model's matching; {'' if data.truth[i] == j else 'not '}a true pair."
    )
    st.text(f"“{group.captions[j]}”")


def heatmap(data: GroupData) -> alt.Chart:
    """Clickable cells: selection `cell` names image and caption."""
    cells = [cell for row in group_html.matrix_cells(data) for cell in row]
    rows = [
        {**cell._asdict(), "text": f"{cell.score:.2f} {cell.signs}", "said": cell.description}
        for cell in cells
    ]
    cell = alt.selection_point(name="cell", fields=["image", "caption"], on="click", empty=False)
    x = alt.X(
        "caption:N",
        title="caption",
        axis=alt.Axis(orient="top", labelAngle=0),
        scale=alt.Scale(paddingInner=0.06),
    )
    y = alt.Y("image:N", title="image", scale=alt.Scale(paddingInner=0.06))
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y)
    hand: dict[str, Any] = {"cursor": "pointer", "strokeWidth": 4, "cornerRadius": 5}
    rects = base.mark_rect(**hand).encode(
        fill=alt.Fill("fill:N", scale=None),
        stroke=alt.Stroke("edge:N", scale=None),
        tooltip=alt.value(None),
        description="said:N",
    )
    texts = base.mark_text(fontSize=15, fontWeight=600, aria=False).encode(
        text="text:N", color=alt.Color("ink:N", scale=None)
    )
    return alt.layer(rects.add_params(cell), texts).properties(height=max(56 * len(data.scores) + 30, 110))


# --- the page ----------------------------------------------------------------------------------------------------


def page(selection: ui.Selection) -> None:
    evaluation = ui.evaluate(selection)
    groups, ids = selection.selected_groups, list(evaluation.ids)
    notable_group_buttons(selection, evaluation)
    chosen = ui.pick_group(ids)
    if chosen is None:
        gallery(evaluation, groups)
    else:
        detail(evaluation, groups, ids.index(chosen))
    ui.export_section("groups", evaluation.table)
    ui.cite(groups)


selection = ui.open_page(
    "Groups", "Every group of the set: the model's scores, its matching, and which metrics count it as right."
)
with ui.show_errors():
    page(selection)
