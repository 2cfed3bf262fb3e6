"""Matching: GroupScore against GroupMatch over a set, margins and thresholds, slices by tag, uploaded files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

import ui
from core import figures
from core.base import public_mode
from core.base.errors import InputError
from core.base.text import _half_up, _pct, counted
from core.figures.text import _unbroken, escape_markdown
from core.ladder.ladder import SETS
from core.metrics import group_filters, statistics
from core.metrics import groups as metrics
from core.metrics.evaluation import MAX_SLICES, Evaluation
from core.metrics.group_metrics import Metric
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS
from ui import ladder
from ui.export import MARGIN_NOTE, bars_note, csv_button, groups_table, row_names, selection_name, tags_table
from ui.formatting import against_chance, anchor, contents_line, say_interval_to_quote
from ui.selection import last_benchmark
from ui.tag_meanings import tag_meanings
from ui.uploads import FORMATS, new_upload, show_left_out, stored_upload
from ui.visitor import on_phone
from ui.worked_group import draw_worked_group, worked_example

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from core.groups import GroupSet

GROUPS_PAGE = "pages/1_Groups.py"
MARGIN = "margin"  # the address of the groups' page has it
ALL_GROUPS: dict[str, object] = {"verdict": [], MARGIN: "", "group": None, "q": "", "page": 1}
_PHONE = 356  # pixels: the table on a phone of 390
_WHOLE = "tau-whole"  # in the session: whether the slider reaches margins far above the others
_START = "tau-at-the-start"  # in the session: where the slider stands until somebody moves it
_TYPED = "tau-typed"  # in the session: the field beside the slider
# In the session, for one run of the page: what was typed into it beyond the slider's ends.
_REFUSED = "tau-refused"
_GROUPS, _METRIC = 64, 98  # its columns, of a metric at least
_LETTER = 8  # pixels of a head
MARGINS, BY_TAG = "Margins, and what a threshold selects", "By tag"
_TO_THE_RIGHT = "for the intervals"
_TWO_LINES = 66  # pixels: Streamlit wraps cells in rows of more than 64
FOLDED = "Intervals, chance levels and ties in numbers"
LEAD = (
    "GroupScore needs every row and column right, GroupMatch only the best matching as a whole; the margin says how "
    "sure the model is of it."
)


def upload(selection: ui.Selection) -> None:
    """The field for a file; a new one becomes the selection."""
    with st.expander("Use your own embeddings or scores"):
        st.markdown(f"{FORMATS} Files stay on the machine that runs this app.")
        try:
            entry = new_upload("file")
        except InputError as error:
            st.error(escape_markdown(public_mode.shown(str(error))), icon=":material/error:")
            entry = None
        if entry is not None:
            ui.select(set=entry, shape=stored_upload(entry).shape, tag=[], group=None)
        if selection.is_file:
            back = last_benchmark()
            st.button(
                "Back to the benchmark", on_click=ui.set_state, args=({"set": back},), icon=":material/undo:"
            )


# --- the sections ------------------------------------------------------------------------------------------------


def headline(evaluation: Evaluation, benchmark: str) -> None:
    """What the two metrics disagree about, which is the page's question, and what can be told from chance: that first
    where GroupMatch may be luck. Of a set that the ladder has, the way to it."""
    match = evaluation.metrics[GROUP_MATCH]
    verdict, _, remark = against_chance(evaluation.metrics, small=True).partition(" :small")
    lines = [(disagreement(evaluation), ""), (verdict, remark and f" :small{remark}")]
    (first, beside), (second, after) = lines if match.bounds[0] > match.chance else lines[::-1]
    with st.container(gap="xsmall", key="headline"):
        with st.container(horizontal=True, horizontal_alignment="distribute", key="answer-and-links"):
            st.markdown(f"**{first}**{beside}", width="content")
            with st.container(width="content"):  # beside it: the figure stays on a laptop's first screen
                contents_line([MARGINS, *([BY_TAG] if shown_tags(evaluation) else [])])
        with st.container(horizontal=True, vertical_alignment="center", key="chance-and-ladder"):
            st.markdown(f"{second}{after}")
            if benchmark in SETS:
                ui.page_button(ladder.TITLE, ladder.PAGE, {}, icon=":material/stairs:")


def disagreement(evaluation: Evaluation) -> str:
    """How many groups GroupMatch alone has right, in a sentence that reads well of none and of one, too."""
    match, score = _right(evaluation)
    gained = int((match & ~score).sum())
    if gained:
        are, them = ("are", "them") if gained > 1 else ("is", "it")
        return (
            f"{gained} of {counted(len(match), 'group')} {are} matched correctly although GroupScore counts {them} as "
            "wrong."
        )
    if (match == score).all():
        return "GroupScore and GroupMatch agree on every group."
    return "No group that GroupScore counts as wrong is matched correctly."


def _right(evaluation: Evaluation) -> tuple[np.ndarray, np.ndarray]:
    """Which groups GroupMatch and GroupScore count as right, bool (n,)."""
    match, score = (evaluation.outcomes[name].value == 1 for name in (GROUP_MATCH, GROUP_SCORE))
    return match, score


def cards(evaluation: Evaluation) -> None:
    """A card per metric; on a phone, where the bars above say the same but for the numbers of their intervals, folded
    until they are asked for."""
    st.html(f'<details class="cm-fold"><summary>{FOLDED}</summary></details>')
    with st.container(key="metric-cards"):
        grid = ui.metric_grid(len(evaluation.metrics))
        for name, estimate in evaluation.metrics.items():
            with grid.cell():
                ui.metric_card(name, estimate)


def overview(evaluation: Evaluation, name: str, groups: GroupSet) -> go.Figure:
    """Every metric as a card and as a bar, the groups under both main metrics, one of them worked through; gives the
    figure. On a laptop the worked group, where there is one, stands beside the bars, on the first screen, and the
    counts below them; on a phone it is a line below the headline, and the style sheet puts the figure above the counts.
    """
    place = worked_example(evaluation)
    with st.container(key="overview"):
        if on_phone():
            worked_group(evaluation, groups, place)
        else:
            cards(evaluation)
        left, right = st.columns(2, gap="large")
        is_beside = place is not None and not on_phone()
        if not is_beside:
            with left:
                outcome_table(evaluation)
        with right:
            data = figures.bars_data({"": evaluation.metrics}, list(evaluation.outcomes))
            bars = ui.cached_on(evaluation, f"bars of {name}", lambda: figures.bars_figure(data, 280))
            text = "All group metrics as bars with intervals and chance levels; the cards say the same."
            ui.chart(bars, text, "metrics")
            st.caption(bars_note(data.metrics, evaluation.metrics))
            with st.container(
                key="which-interval"
            ):  # of the cards, which a phone has folded: their help says it, too
                say_interval_to_quote(evaluation.metrics.values())
            if is_beside:
                outcome_table(evaluation)
        if is_beside:
            with left:  # after the figure, which does not wait for its pictures
                worked_group(evaluation, groups, place)
    return bars


def outcome_table(evaluation: Evaluation) -> None:
    """How many groups are right under both metrics, under one, under none; each count opens its groups."""
    st.header("The same groups under both metrics", anchor=False)
    match, score = _right(evaluation)
    grid = st.container(key="outcomes").grid(2, min_column_width=150)
    for matched in (True, False):
        for scored in (True, False):
            verdicts = [f"{METRICS[name].label} {'right' if right else 'wrong'}" for name, right in (
                (GROUP_MATCH, matched), (GROUP_SCORE, scored))]  # fmt: skip
            count = int(((match == matched) & (score == scored)).sum())
            signs = (figures.OUTCOME_SYMBOLS["right" if right else "wrong"] for right in (matched, scored))
            label = "  \n".join(f"{sign} {verdict}" for sign, verdict in zip(signs, verdicts, strict=True))
            text = f"{label}  \n**{counted(count, 'group')}** ({_pct(100 * count / len(match))} %)"
            with grid.cell():
                groups_button(text, {"verdict": verdicts}, disabled=not count, wrap=True)
    if opposite := int((score & ~match).sum()):
        st.caption(
            f"In {opposite} it is the other way round: the best matching leads by so little that it counts as a tie."
        )


def worked_group(evaluation: Evaluation, groups: GroupSet, place: int | None) -> None:
    """One group that GroupMatch alone has right, with its scores and sums, and the way to it; nothing where there is
    none. place : of `worked_example`."""
    if place is None:
        return
    group = groups[place]
    with st.container(key="worked"):
        draw_worked_group(group, evaluation.group(place))
        groups_button(f"Open {escape_markdown(ui.group_title(group.id))}", {"group": group.id})


def groups_button(label: str, state: Mapping[str, object], **button: Any) -> None:
    """A button that opens some of the groups on their page."""
    if st.button(label, width="stretch", **button):
        open_groups(state)


def open_groups(state: Mapping[str, object]) -> None:
    """Open some of the groups on their page; by a run of the whole page, as a fragment loses what the address holds."""
    st.session_state["groups_to_open"] = {**ALL_GROUPS, **state}
    st.rerun()


@st.fragment
def thresholds(
    evaluation: Evaluation, bars: go.Figure, name: str, model: str, exports: Mapping[str, Any]
) -> None:
    """Margins and the threshold slider, and the export of all that the page shows, which has the threshold in figures
    and link; moving it redraws this alone. bars : the figure of all metrics. name : of the files. model : or file.
    exports : of `ui.evaluation_exports`."""
    with ui.show_errors():
        marked, note, tau = threshold_section(evaluation)
        ui.export_section(
            name,
            partial(groups_table, model, evaluation),
            {"metrics": bars, **marked},
            table_label="Groups (CSV)",
            note={
                "metrics": bars_note(evaluation.outcomes, evaluation.metrics),
                **dict.fromkeys(marked, note),
            },
            moved={"tau": tau},
            then=partial(tags_button, evaluation, name, model) if shown_tags(evaluation) else None,
            **{**exports, "command": exports["command"] + (f" --threshold {tau!r}" if tau else "")},
        )


def threshold_section(evaluation: Evaluation) -> tuple[dict[str, Callable[[], go.Figure]], str, float]:
    """What each threshold would select; gives the figures with its line, how they are read, and the threshold."""
    st.header(MARGINS, anchor=anchor(MARGINS))
    if not len(threshold_curve(evaluation).threshold):
        st.info(
            "Every group is tied, so no margin is above 0 and no threshold selects anything.",
            icon=":material/balance:",
        )
        return {}, "", 0.0
    top = slider_end(evaluation)
    step = 10 ** np.floor(np.log10(top / 100)) if top > 0 else 0.01
    highest = float(np.ceil(top / step) * step)
    start = half_selected(evaluation, float(step))
    if st.session_state.get("tau", 0.0) > highest or st.session_state.get("tau") == st.session_state.get(
        _START
    ):
        st.session_state.pop("tau", None)  # another set has another half, as long as nobody has moved it
    st.session_state[_START] = start
    tau = pick_threshold(highest, start, float(step))
    st.markdown(_unbroken(str(evaluation._at_threshold(tau))))
    margins, steps = threshold_figures(evaluation, highest)
    at = margins_data(evaluation)._place(tau)
    lines = {"margins": (margins, at), "threshold": (steps, tau)}
    ui.moving_lines(
        "tau-lines", {key: ui.axis_position(x, each.layout.xaxis.range) for key, (each, x) in lines.items()}
    )
    left, right = st.columns(2, gap="large")
    with left:
        ui.chart(margins, "Histogram of margins, right and wrong matchings stacked.", "margins")
    with right:
        ui.chart(steps, "Coverage and precision over the threshold.", "threshold")
    reliability(evaluation)
    selected_groups(evaluation, tau)
    marked = {
        key: lambda figure=figure, x=x: figures.with_threshold_line(figure, x)
        for key, (figure, x) in lines.items()
    }
    return (
        marked,
        (
            f"{MARGIN_NOTE} Vertical line: the threshold "
            f"τ = {tau:g}. Coverage: groups from there on; precision: those of them matched right. "
            "Shaded: its 95 % interval."
        ),
        tau,
    )


def pick_threshold(highest: float, start: float, step: float) -> float:
    """The slider of the threshold, and beside it a field that stands where the slider stands, and moves it."""
    digits = f"%.{max(0, round(-np.log10(step)))}f"  # as many as the step has
    with st.container(horizontal=True, vertical_alignment="bottom", key="tau-row"):
        place = st.container(width="stretch")
        tau = ui.slider(
            place, "Threshold τ", 0.0, highest, start, step=step, key="tau", format=digits,
            help="Test-time matching trains on the groups whose margin is at least τ.",
        )  # fmt: skip
        st.session_state[_TYPED] = tau
        st.number_input(  # without limits: beyond them Streamlit colours it red, says nothing and sends nothing
            "or type it",
            step=step,
            format=digits,
            key=_TYPED,
            width=136,
            on_change=move_slider,
            args=(highest,),
        )
    if (typed := st.session_state.pop(_REFUSED, None)) is not None:
        st.error(
            f"The threshold τ takes a number from 0 up to {digits % highest}; {typed:g} is not used, and τ is still "
            f"{digits % tau}."
        )
    return float(tau)


def move_slider(highest: float) -> None:
    """The slider goes to the number that was typed, to the nearest of its steps; of one beyond its ends it is said that
    it does not."""
    typed = st.session_state[_TYPED]
    st.session_state["tau" if 0 <= typed <= highest else _REFUSED] = typed


def slider_end(evaluation: Evaluation) -> float:
    """Where the slider ends: at the largest margin; where a few are far above the others, to which it left a corner, at
    the 99th percentile, until a reader asks for all or has a threshold beyond it."""
    margins = evaluation.matches.margin
    top = float(margins.max())
    if not margins_data(evaluation).has_rest:
        return top
    usual = float(np.quantile(margins[~evaluation.matches.tied], 0.99))
    if _WHOLE not in st.session_state:
        asked = pd.to_numeric(st.query_params.get("tau"), errors="coerce")
        st.session_state[_WHOLE] = bool(st.session_state.get("tau", asked) > usual)
    return top if st.toggle(f"Up to the largest margin, {top:,.4g}", key=_WHOLE) else usual


def half_selected(evaluation: Evaluation, step: float) -> float:
    """The threshold at which the section opens, where about half of the groups are selected: at 0 all are, and nothing
    is to be seen. A whole number of steps."""
    digits = max(0, round(-np.log10(step)))
    return round(float(np.floor(np.median(evaluation.matches.margin) / step)) * step, digits)


def reliability(evaluation: Evaluation) -> None:
    """How well a large margin marks a right matching: area under risk and coverage, and shares right by margin."""
    right, chance = evaluation.outcomes[GROUP_MATCH].value, evaluation.metrics[GROUP_MATCH].chance
    found = ui.cached_on(
        evaluation,
        "reliability",
        lambda: statistics.margin_reliability(evaluation.matches.margin, right, chance),
    )
    said, names = risk_coverage_line(found)
    st.markdown(ui.unbroken(said), help=names)
    section = st.expander(
        "Right matchings by margin (reliability curve)",
        key="by-margin",
        on_change="rerun",
    )
    if not section.open:
        return
    with section:
        figure = ui.cached_on(
            evaluation, "reliability figure", lambda: figures.reliability_figure(found.bins)
        )
        first, last = found.bins[0].right, found.bins[-1].right
        ui.chart(
            figure,
            f"Share of right matchings by margin: {first.value:.0f} % of the groups with the smallest margins, "
            f"{last.value:.0f} % of those with the largest.",
            "reliability",
        )
        st.caption(
            f"{len(found.bins)} bins of about equally many groups; bars are exact 95 % intervals, the dotted line "
            "is what guessing gets."
        )


def risk_coverage_line(found: statistics._MarginReliability) -> tuple[str, str]:
    """How often the surest matchings are wrong, with the interval, or why it has none, and a random order beside it;
    and what that is called in the literature."""
    first = (
        "Select the groups with the largest margins: first one, then two, and so on up to all. On average "
        f"**{_pct(found.aurc)} %** of the selected groups are matched wrong"
    )
    names = (
        "The share that is wrong among the selected groups, averaged over all thresholds: in the literature the area "
        "under the risk-coverage curve (AURC)."
    )
    if found.aurc_bounds is None or found.excess_bounds is None:
        which = "wrong" if found.aurc == 0 else "right"
        return (
            f"{first}; no interval: no group is matched {which}, so resampling cannot vary it. Every order of these "
            "groups has the same.",
            names,
        )
    whole, above = (f"{_pct(low)}–{_pct(high)}" for low, high in (found.aurc_bounds, found.excess_bounds))
    return (
        f"{first} (95 % interval {whole}); in a random order **{_pct(found.chance)} %**.",
        f"{names} The best possible order has {_pct(found.excess)} points ({above}) less: the excess AURC.",
    )


def selected_groups(evaluation: Evaluation, tau: float) -> None:
    """Ways from the figures to the groups behind them: a click on a bar or a curve, and buttons for the threshold."""
    mask = (evaluation.matches.margin >= tau) & ~evaluation.matches.tied
    wrong = int((mask & (evaluation.outcomes[GROUP_MATCH].value < 1)).sum())
    selected = {MARGIN: str(margin_range(evaluation, tau))}
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        groups_button(
            f"Open the {counted(int(mask.sum()), 'selected group')}", selected, disabled=not mask.any()
        )
        groups_button(
            {0: "None of them is matched wrong", 1: "Open the one of them that is matched wrong"}.get(
                wrong, f"Open the {wrong} of them matched wrong"
            ),
            {**selected, "verdict": [f"{METRICS[GROUP_MATCH].label} wrong"]},
            disabled=not wrong,
        )
    st.caption(
        "Press a bar to open its groups, a curve to open the groups that this threshold selects. Shaded: the 95 % "
        "interval of the precision at each threshold by itself; few groups, wide interval."
    )
    bar, step = ui.clicked_point("margins"), ui.clicked_point("threshold")
    if bar is not None:
        open_groups(groups_of_bar(evaluation, bar))
    if step is not None:
        open_groups({MARGIN: str(margin_range(evaluation, step.x))})


def margin_range(evaluation: Evaluation, low: float, high: float = float("inf")) -> group_filters.MarginRange:
    """From a margin up, without the tied groups, whose margin is 0; both ends as short as the same groups allow."""
    margins = evaluation.matches.margin
    untied = margins[~evaluation.matches.tied]
    low = max(low, float(untied.min())) if len(untied) else low
    return group_filters.MarginRange(low, high).shortest(margins)


def groups_of_bar(evaluation: Evaluation, bar: ui.ChartPoint) -> dict[str, object]:
    """What selects the groups of a bar of the histogram on their page."""
    if bar.trace.endswith("tie"):
        return {"verdict": ["tied"]}
    edges = margins_data(evaluation).edges
    place = int(np.searchsorted(edges, bar.x)) - 1
    high = float("inf") if place == len(edges) - 2 else float(edges[place + 1])
    kind = "right" if bar.trace.endswith("right") else "wrong"
    margins = margin_range(evaluation, float(edges[place]), high)
    return {"verdict": [f"{METRICS[GROUP_MATCH].label} {kind}"], MARGIN: str(margins)}


def margins_data(evaluation: Evaluation) -> Any:
    """The histogram of margins, by right and wrong matchings."""
    return figures.margins_data(evaluation.matches, evaluation.outcomes[GROUP_MATCH])


def threshold_figures(evaluation: Evaluation, end: float) -> tuple[go.Figure, go.Figure]:
    """Margins and curves without the threshold, drawn once for all visitors: `ui.moving_line` shows where it stands.
    end : of the slider, and of the curves where a few margins are far above the others."""

    def draw() -> tuple[go.Figure, go.Figure]:
        margins = margins_data(evaluation)
        steps = figures.threshold_data(threshold_curve(evaluation))
        drawn = figures.margins_figure(margins), figures.threshold_figure(steps)
        ends = [figure.layout.xaxis.range for figure in drawn]
        if margins.has_rest:
            drawn[1].update_xaxes(range=[0, 1.01 * end])
        for figure in drawn:
            if (
                not margins.has_rest
            ):  # on a phone one stands above the other: a threshold is at one place in both
                figure.update_xaxes(range=[min(low for low, _ in ends), max(high for _, high in ends)])
            figure.update_yaxes(automargin=False)
            figure.update_layout(margin_l=60)
        return drawn

    return ui.cached_on(evaluation, f"thresholds to {end:g}", draw)


def threshold_curve(evaluation: Evaluation) -> metrics.ThresholdCurve:
    return ui.cached_on(
        evaluation, "curve", lambda: metrics.threshold_curve(evaluation.matches, evaluation.truth)
    )


def shown_tags(evaluation: Evaluation) -> list[str]:
    """The tags that tell groups apart and whose values fit in a table."""
    tags = evaluation.tags
    return [] if tags is None else [str(c) for c in tags.columns if 2 <= tags[c].nunique() <= MAX_SLICES]


def tag_in_sight(evaluation: Evaluation) -> str:
    """The tag of the table below; "" where there is none."""
    names = shown_tags(evaluation)
    chosen = st.session_state.get("by") or st.query_params.get("by")
    return chosen if chosen in names else first_tag(evaluation, names)


def first_tag(evaluation: Evaluation, names: list[str]) -> str:
    """The tag that the table begins with: the first that every group has and whose values have groups enough to be told
    apart; else the first. "" where there is none."""
    for name in names:
        sizes = [int(mask.sum()) for mask in evaluation.slice_masks(evaluation.tags, name)[name].values()]
        column = evaluation.tags[name]
        if min(sizes) >= _ENOUGH and not (column.isna() | (column == "")).any():
            return name
    return next(iter(names), "")


_ENOUGH = 10  # groups of a value: of fewer an interval is wider than half the scale


def tags_button(evaluation: Evaluation, name: str, model: str) -> None:
    """The table by tag as a file, with every metric and all tags."""
    table = lambda: tags_table(row_names([model])[0], evaluation, shown_tags(evaluation))  # noqa: E731
    csv_button("By tag (CSV)", table, f"{name}-by-tag")


def slices(evaluation: Evaluation, groups: GroupSet) -> None:
    """The main metrics, or all, for every value of a tag; a click on a row opens its groups. groups : what the tags say
    is known of those of a built-in set."""
    names = shown_tags(evaluation)
    if not names:
        return
    st.header(BY_TAG, anchor=anchor(BY_TAG))
    if st.session_state.get("by") not in names:
        st.session_state.pop("by", None)
    first = names.index(first_tag(evaluation, names))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        said = tag_meanings(groups, names)
        tag = st.selectbox("Tag", names, first, key="by", bind="query-params", width=320, help=said)
        every = shows_every_metric(evaluation)
    table, columns = slices_table(evaluation, tag, every)
    table, constants = without_constants(table)
    how: dict[str, Any] = {}
    if on_phone():
        table, columns = with_intervals_below(table, columns)
        how = {"row_height": _TWO_LINES}
    key = f"slices-{tag}{'-every' * every}"

    def choose() -> None:
        cells = st.session_state[key].selection.cells
        if cells:
            st.session_state["opened_slice"] = True
            ui.set_state({"tag": [f"{tag}: {table[tag][cells[0][0]]}"]})

    ui.wide_table(
        table,
        _TO_THE_RIGHT,
        column_config=columns,
        key=key,
        on_select=choose,
        selection_mode="single-cell",
        **how,
    )
    st.caption(f"{constants}Press a row to open its groups.")
    if st.session_state.pop("opened_slice", False):
        open_groups({})


def shows_every_metric(evaluation: Evaluation) -> bool:
    """A switch for the metrics that the table by tag leaves out, as it fits a phone; False where there are none."""
    if len(metrics_by_tag(evaluation, True)) <= len(metrics_by_tag(evaluation, False)):
        return False
    return st.toggle("Every metric", key="by_every_metric", bind="query-params")


def metrics_by_tag(evaluation: Evaluation, every: bool) -> tuple[str, ...]:
    """The keys of the metrics of groups in the table by tag: the main ones, or every one that is another number."""
    known = {name: evaluation.metrics[name] for name in evaluation.outcomes if name in METRICS}
    return tuple(Metric.same(known)) if every else metrics.headline_metrics(known)


def _slice_widths(tag: str, values: Iterable[object], count: int) -> tuple[int | None, int]:
    """The widths of the column of a tag and of each of so many metrics, so that on a phone the next column begins at
    its edge: it was cut within a number. None where a tag is too long for that: as wide as its text."""
    of_tag = max(64, 18 + 8 * max(len(str(each)) for each in (tag, *values)))
    if of_tag > _PHONE - _GROUPS - count * _METRIC:
        return None, _METRIC
    return of_tag, max(_METRIC, (_PHONE - _GROUPS - of_tag) // count) if count == 2 else _METRIC


def slices_table(
    evaluation: Evaluation, tag: str, every: bool = False
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """A row per value of a tag, and how its columns are shown: the metrics first and beside each other, so that a phone
    shows the main ones, then the interval, chance level and ties of each. every : metric, in place of the main ones."""
    rows: list[dict[str, object]] = []
    columns: dict[str, Any] = {"groups": st.column_config.NumberColumn(width=_GROUPS)}
    shown = metrics_by_tag(evaluation, every)
    of_tag, of_metric = _slice_widths(tag, evaluation.tags[tag].dropna().unique(), len(shown))
    columns[tag] = st.column_config.Column(width=of_tag)
    for value, subset in ui.cached_on(evaluation, f"by {tag}", lambda: evaluation.slices(tag)[tag]).items():
        found = {METRICS[name].label: subset.metrics[name] for name in shown}
        # Rounded here: the browser made 28.7 of 28.75, which the card beside it has as 28.8.
        row = {tag: value, "groups": len(subset.ids)}
        row |= {label: _half_up(e.value) for label, e in found.items()}
        for label, e in found.items():
            row |= {f"{label} 95 %": f"{_pct(e.low)}–{_pct(e.high)}"}
            row |= {f"{label} chance": e.chance, f"{label} tied": e.ties}
            columns[label] = st.column_config.ProgressColumn(
                format="%.1f %%", min_value=0, max_value=100, width=max(of_metric, _LETTER * len(label))
            )
            columns[f"{label} chance"] = st.column_config.NumberColumn(format="%.1f")
        rows.append(row)
    return pd.DataFrame(rows), columns


def with_intervals_below(
    table: pd.DataFrame, columns: Mapping[str, Any]
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The table for a phone: each interval below its value, in the same cell: beyond the edge nobody saw it."""
    labels = [name.removesuffix(" 95 %") for name in table if str(name).endswith(" 95 %")]
    shown, config = table.copy(), dict(columns)
    for label in labels:
        cells = zip(table[label], table[f"{label} 95 %"], strict=True)
        shown[label] = [f"{_pct(value)}\N{NO-BREAK SPACE}% ({interval})" for value, interval in cells]
        config[label] = st.column_config.TextColumn(width=_METRIC)  # too narrow for one line
    return shown.drop(columns=[f"{label} 95 %" for label in labels]), config


def without_constants(table: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The table without the chance levels and ties that are the same in all rows, which took the last column off a
    laptop's screen; and the sentence that says them."""
    kinds = {kind: [name for name in table if str(name).endswith(f" {kind}")] for kind in ("chance", "tied")}
    same = {kind: [name for name in names if table[name].nunique() == 1] for kind, names in kinds.items()}
    chance = [f"{name.removesuffix(' chance')} {_pct(table[name].iloc[0])} %" for name in same["chance"]]
    said = [f"chance {', '.join(chance)}"] if chance else []
    if same["tied"] and not table[kinds["tied"]].to_numpy().any():
        said.append("no ties")
    else:
        same["tied"] = []
    line = f"In every row: {'; '.join(said)}. " if said else ""
    return table.drop(columns=[*same["chance"], *same["tied"]]), line


def page(selection: ui.Selection) -> None:
    asked: dict[str, object] | None = st.session_state.pop("groups_to_open", None)
    if asked is not None:
        st.session_state.update(asked)
        ui.switch_page(GROUPS_PAGE, asked)
    if st.query_params.get("ladder") == "true":  # of a link made when the ladder was a part of this page
        st.query_params.pop("ladder")
        ui.switch_page(ladder.PAGE, {})
    try:
        evaluation, name = ui.evaluate(selection), selection.benchmark.replace("/", "-")
    except InputError:
        upload(selection)  # another file may do
        raise
    show_left_out(evaluation)
    headline(evaluation, selection.benchmark)
    bars = overview(evaluation, name, selection.selected_groups)
    exports = ui.evaluation_exports(selection, {selection.model: evaluation}, by=tag_in_sight(evaluation))
    thresholds(evaluation, bars, f"matching-{selection_name(selection)}", selection.model, exports)
    slices(evaluation, selection.groups)
    if on_phone():  # the margins are the page's main point
        with st.container(key="cards-last"):
            cards(evaluation)
    upload(selection)
    ui.cite(selection.groups)


selection = ui.open_page("Matching", LEAD)
with ui.show_errors():
    page(selection)
