"""Compare: two models, two files, or a file and a model on the same groups; where they differ, group by group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

import ui
from core import figures
from core.base.errors import InputError
from core.base.text import (
    _change_in_points,
    _pct,
    _signed,
    _signed_end,
    _signed_range,
    counted,
)
from core.exchange.paired_files import _comparison_file
from core.figures import group_html
from core.figures.text import escape_markdown
from core.groups import GroupSet
from core.metrics import paired
from core.metrics.evaluation import Evaluation
from core.metrics.group_metrics import Metric
from core.metrics.groups import GROUP_MATCH, METRICS, yes_or_no
from core.metrics.statistics import Clusters, Comparison
from core.scoring.load import scorer_key
from ui.built_in import built_in_said
from ui.compared import (
    Compared,
    Side,
    benchmark_of_file,
    check_shapes,
    compare_in_order,
    compare_sides,
    order_assumed,
    sides_of,
    unnamed_of_other_sizes,
)
from ui.export import bars_note, by_shared_where, pair_name, row_names
from ui.formatting import (
    _and,
    accuracy_cards,
    against_chance,
    anchor,
    interval_to_quote,
    p_exact,
    rounding_note,
)
from ui.groups_needed import groups_needed
from ui.history import page_is_drawn_again
from ui.images import group_under_several, has_pictures, shades_bar
from ui.metric_cards import table_or_cards
from ui.old_links import seed_widgets_from_address
from ui.run_names import run_names
from ui.selection import model_said, select_on_opening
from ui.uploads import (
    FORMATS,
    PREFIX,
    by_row_number,
    is_upload,
    new_upload,
    not_stored,
    stored_upload,
    upload_evaluation,
    upload_groups,
    upload_names,
)
from ui.views import came_back_to
from ui.visitor import on_phone

PER_PAGE = 4
DIFFERING = "Where they differ"  # a section's title
EVERY_METRIC = "Every metric, with its test"
FAR = 10  # times the spread of the other side's scores: another scale
WINNERS = ("only A right", "only B right")  # of `paired.SIDES`
CLASSES = {  # as the address has them; the page names the two
    "only the first right": "only A right",
    "only the second right": "only B right",
    "both right": "both right",
    "neither right": "both wrong",
}
THIS_PAGE = "pages/6_Compare.py"
CAME_ALONG = "came_along"  # the group that came along from another page
COMPARED_ON = "compared_on"  # in the session: the set, and what was chosen to compare with on it
COMPARED_WITH = (
    "compared_with"  # in the session: of every set that was compared, what it was last compared with
)
REPLACED = (
    "replaced_other"  # in the session: a set, what stands there now, and the file whose place that has taken
)
ARRIVED = "arrived"  # in the session: this page has just been opened
BEGUN_WITH = "class_begun_with"  # in the session: the class that was open before anybody chose one
UNCORRECTED = (
    "McNemar's exact test on the groups where they differ, of this metric alone; of a metric that counts parts of a "
    "group, the exact sign test."
)
ALONE = "p (alone)"
HOLM = "This p, corrected by Holm's method for all metrics of this table."
DETECTABLE = (
    "The smallest difference in points that so many groups would have shown with 80 % power, two systems differing on "
    "as many of them; of one comparison alone, so that after Holm's correction it takes more."
)
LEAD = "Is one better, or only luckier? What counts are the groups that only one of the two has right."
COLOURS = "compared_colours"  # in the session: the two that were drawn last, by colour
SAME_GROUPS = "`group` names the groups: those that both sides have are compared."
PAIRED = "paired_by_upload"  # in the session: the set that was selected, and the two files in its place
KEY_OF_CARDS = "Outlined, with a dot: the matching of each side. ✓: the true pairs."
METRICS_CITED = (
    "The metrics are those of two papers, whose BibTeX stands below: GroupScore of Winoground, GroupMatch of "
    "test-time matching."
)


def pick_other(selection: ui.Selection) -> str | None:
    """B: a model or a file for a benchmark's groups, another file for those of a file; None where there is none."""
    files = [entry for entry in upload_names() if entry != selection.benchmark]
    strangers = [entry for entry in files if not has_groups_of(entry, selection)]
    names = [] if selection.is_file else ui.model_names()
    names += [*(entry for entry in files if entry not in strangers), *strangers]
    if selection.is_file and not files:
        two_ways(selection)
        return None
    if selection.is_file and st.session_state.get("other") not in (None, *files):  # of a benchmark, before
        st.session_state["other"] = None
    fitting = [name for name in names if name not in strangers]
    replace_other_of_another_set(selection, fitting)
    lost = lost_other()
    if lost:
        st.session_state["other"] = None
        del st.query_params["other"]
        seed_widgets_from_address()
    if st.session_state.get("other") is None and "other" not in st.query_params:
        first = default_other(selection, fitting)
        if first is not None:
            if not lost:
                begin_with_the_earlier(selection, first)
            ui.seed("other", first)
        if lost:
            instead = (
                "" if first is None else f" It is compared with {first.removeprefix(PREFIX)} in its place."
            )
            st.warning(escape_markdown(lost + instead), icon=":material/link_off:")
    with st.container(horizontal=True, vertical_alignment="bottom", key="compare-with"):
        other = ui.model_field(
            "Compare with the file" if selection.is_file else "Compare with",
            names,
            "other",
            {
                **run_names(names),
                **{entry: f"{entry} (no group of {set_said(selection)})" for entry in strangers},
            },
            index=None,
            placeholder="a file" if selection.is_file else "a model or a file",
            help="For before and after: the model that a run began with in the sidebar, and `run/…`, what it became, "
            "here. A file may have some of the groups alone; then both are measured on these.",
        )
        is_beside = other not in (None, selection.model, *strangers) and model_fits(selection)
        if is_beside and st.button("Swap the two", icon=":material/swap_horiz:"):
            ui.select(**swapped(selection, other))
        if selection.is_file:
            file_ways(selection)
        else:
            upload_other("Upload a file", selection, other)
    say_what_was_replaced(selection, other)
    say_what_was_paired(selection, other)
    st.session_state[COMPARED_ON] = (selection.benchmark, other)
    if other in fitting:
        st.session_state.setdefault(COMPARED_WITH, {})[selection.benchmark] = other
    return other


def default_other(selection: ui.Selection, names: Sequence[str]) -> str | None:
    """What the page compares with where nothing is chosen: what was chosen for this set before in the visit, whatever
    was looked at since; for a file also the one that was compared with it. Else what a set begins with.

    names : of those that are here and have groups of the set."""
    before: dict[str, str] = st.session_state.get(COMPARED_WITH, {})
    kept = [before.get(selection.benchmark, "")]
    kept += [on for on, other in reversed(before.items()) if other == selection.benchmark]
    there = (name for name in kept if name in names and name != selection.model)
    return next(there, None) or ui.another_model(selection) or only_other(selection, names)


def begin_with_the_earlier(selection: ui.Selection, other: str) -> None:
    """Of two files whose sides nobody has chosen, the one that came first is A, so that B − A is what has changed. Only
    where the page has just been opened: what is chosen on it stays."""
    state, files = st.session_state, upload_names()  # the newest first
    chosen = state.get(COMPARED_WITH, {}).get(selection.benchmark) == other
    if chosen or not (selection.is_file and state.get(ARRIVED)) or selection.tags:
        return
    if files.index(other) > files.index(selection.benchmark):
        came_along = {"group": state[CAME_ALONG]} if state.get(CAME_ALONG) else {}
        select_on_opening(**swapped(selection, other), **came_along)


def only_other(selection: ui.Selection, names: Sequence[str]) -> str | None:
    """Of a file, the one other that fits it, though it has other groups besides or has to be paired in order; None
    where both only number their groups and have not as many: that they share numbers says nothing."""
    if not selection.is_file or len(names) != 1:
        return None
    both = [selection.benchmark, *names]
    numbered = all(map(naming_hint, both))
    return None if numbered and len({len(upload_groups(entry)) for entry in both}) > 1 else names[0]


def replace_other_of_another_set(selection: ui.Selection, names: Sequence[str]) -> None:
    """A file that was chosen for the set selected before, and has none of the groups of this one: what a set is
    compared with by default takes its place. One that the address names beside this set stays, and is told.

    names : as of `default_other`."""
    state = st.session_state
    on, other = state.get(COMPARED_ON, (None, None))
    if other is None or on in (None, selection.benchmark) or state.get("other", other) != other:
        return
    if not is_upload(other) or other not in upload_names() or has_groups_of(other, selection):
        return
    state["other"] = default_other(selection, names)
    state[REPLACED] = (selection.benchmark, state["other"], other)


def has_groups_of(entry: str, selection: ui.Selection) -> bool:
    """Whether a file can stand beside the selected groups, by their names or in their order."""
    shape = "x".join(map(str, selection.groups.shape))
    try:
        found = {*upload_evaluation(entry, shape).ids}
        return not found.isdisjoint(selection.groups.ids) or bool(order_assumed(selection, entry))
    except InputError:  # of another shape
        return False


def model_fits(selection: ui.Selection) -> bool:
    """Whether what is selected in a model's place has groups of the selected set; a model can score any."""
    return not is_upload(selection.model) or has_groups_of(selection.model, selection)


def set_said(selection: ui.Selection) -> str:
    """The selected set or file as its field in the sidebar has it."""
    return selection.benchmark.removeprefix(PREFIX)


def say_what_was_replaced(selection: ui.Selection, other: str | None) -> None:
    """As long as what took its place is compared: which file has none of these groups."""
    on, instead, before = st.session_state.get(REPLACED, (None, None, ""))
    if (on, instead) == (selection.benchmark, other):
        st.caption(escape_markdown(f"{before.removeprefix(PREFIX)} has none of these groups."))


def say_what_was_paired(selection: ui.Selection, other: str | None) -> None:
    """As long as they are compared: why two files stand in the place of the set that was selected."""
    before, *both = st.session_state.get(PAIRED, ("", "", ""))
    if both == [selection.benchmark, other]:
        first, second = (entry.removeprefix(PREFIX) for entry in both)
        said = f"{first} and {second} are compared with each other: neither has a group of {before}."
        st.caption(escape_markdown(said))


def swapped(selection: ui.Selection, other: str) -> dict[str, str]:
    """What is selected when the two change places: the chosen groups stay the same ones, those of the other side."""
    state = {"set" if selection.is_file else "model": other, "other": selection.model}
    chosen = st.session_state.get("side") or st.query_params.get("side", "")
    alone = [name for name, side in CLASSES.items() if side in WINNERS]
    if chosen in alone:
        state["side"] = alone[1 - alone.index(chosen)]
    return state


def say_what_to_choose(selection: ui.Selection) -> None:
    """Where nothing is chosen to compare with, though there is something; a file that is alone says it already."""
    name = model_said(selection.model).removeprefix(PREFIX)
    if not selection.is_file:
        line = f"Choose above the model or the file that {name} is compared with."
    elif [entry for entry in upload_names() if entry != selection.benchmark]:
        line = f"Choose above the file that {name} is compared with, or upload another one."
    else:
        return
    st.info(escape_markdown(line), icon=":material/compare:")


def lost_other() -> str:
    """Why the run or file that the address compares with is not here; "" where it is."""
    asked = st.query_params.get("other", "")
    if is_upload(asked):
        return "" if asked in upload_names() else str(not_stored(asked))
    try:
        if asked.rpartition(":")[2].startswith("run/"):
            ui.model_source(asked)
    except InputError:
        return f"The address compares with {asked}, a run that is not here."
    return ""


def beside_itself(selection: ui.Selection) -> None:
    """Say that a model is not compared with itself, and offer another one."""
    name = model_said(selection.model).removeprefix(PREFIX)
    st.info(
        escape_markdown(f"{name} beside {name}: that is no comparison. Choose another one above."),
        icon=":material/difference:",
    )
    another = ui.another_model(selection)
    if another is not None and st.button(
        f"Compare with {escape_markdown(another.removeprefix(PREFIX))}", icon=":material/compare:"
    ):
        ui.select(other=another)


def by_itself(selection: ui.Selection) -> None:
    """What a file reaches that is compared with nothing yet."""
    found = ui.evaluate(selection)
    st.subheader(escape_markdown(f"{selection.groups.title} by itself"), anchor=False)
    st.markdown(against_chance(found.metrics))
    accuracy_cards(found.metrics)


def two_ways(selection: ui.Selection) -> None:
    """Of a file beside which there is no other yet: a field for one, and a model on the set that it was made on."""
    name = escape_markdown(selection.groups.title)
    with st.container(key="compare-ways"):
        grid = st.grid(2, min_column_width=280, border=True)
    with grid.cell():
        st.markdown(f"**Compare {name} with a second file**  \nScores or embeddings of the same groups.")
        file_field(selection)
    with grid.cell():
        way_to_a_model(selection)


def way_to_a_model(selection: ui.Selection) -> None:
    """For a file that is alone a model on the set that it was made on, or how to get there."""
    name, benchmark = escape_markdown(selection.groups.title), ui.benchmark_of(selection.groups)
    if benchmark is None:
        st.markdown(
            f"**Compare {name} with a model**  \nIts groups have the names of no set here. If it was made on one, "
            "select that set, and this file as its model."
        )
        return
    on = escape_markdown(benchmark["set"])
    st.markdown(
        f"**Compare {name} with a built-in model**  \nIt has groups of {on}: the model scores them, too."
    )
    state = {**benchmark, "model": selection.benchmark, "other": None}
    label = f"Compare {selection.groups.title} with a model"
    ui.page_button(label, THIS_PAGE, state, icon=":material/compare:", type="primary")


def file_field(selection: ui.Selection, before: str | None = None) -> None:
    """A field for a file, which becomes what the selection is compared with; one that cannot be read is said below.
    Where the set shares no group with it nor with the file before, which the new one would put aside, but the two share
    groups, they are compared with each other. before : what is compared with the selection now."""
    try:
        entry = new_upload("other_file")
    except InputError as error:
        ui.show_error(error)
        return
    if entry is None:
        return
    first = before if before and is_upload(before) else selection.model
    apart = first != entry and not any(has_groups_of(each, selection) for each in (first, entry))
    if not selection.is_file and is_upload(first) and apart and share_groups(first, entry):
        st.session_state[PAIRED] = (set_said(selection), first, entry)
        ui.select(**two_files(first, entry))
    ui.select(other=entry)


def share_groups(entry: str, other: str) -> bool:
    """Whether two files can be compared with each other, by the names of their groups."""
    try:
        a, b = upload_evaluation(entry), upload_evaluation(other)
    except InputError:  # one that cannot be read just now
        return False
    is_same = a.shape == b.shape and not {*a.ids}.isdisjoint(b.ids)
    return is_same and (len(a.ids) == len(b.ids) or not by_row_number(entry, other))


def two_files(first: str, second: str | None) -> dict[str, Any]:
    """What is selected where two files are compared with each other, or one with another that is still to come."""
    return {"set": first, "other": second, "tag": []}


def upload_other(label: str, selection: ui.Selection, before: str | None = None) -> None:
    """A button below which a file can be uploaded; it becomes what the selection is compared with. One that cannot be
    read is said below its field, and what is compared stays. before : what is compared with it now."""
    # With another key it closes over the file that has just come.
    stored = st.session_state.get("stored_upload")
    with st.popover(label, icon=":material/upload_file:", key=f"another-file-{stored}"):
        st.caption(f"{FORMATS} {SAME_GROUPS}")
        file_field(selection, before)


def file_ways(selection: ui.Selection) -> None:
    """What a file can be compared with besides those in the list: another file, or a model on the benchmark that it was
    made on."""
    upload_other("Upload another file", selection)
    benchmark = ui.benchmark_of(selection.groups)
    if benchmark is not None:
        state = {**benchmark, "model": selection.benchmark, "other": None}
        label = f"Compare {selection.groups.title} with a model"
        ui.page_button(label, THIS_PAGE, state, icon=":material/compare:")


def overview(a: Evaluation, b: Evaluation, sides: tuple[Side, Side], found: Compared) -> Any:
    """Who is ahead, and every metric of both as bars; gives the figure. What decides how the numbers are read, how many
    groups each has and what is taken for true, stands above the figure."""
    first, second = (side.name for side in sides)
    compared = paired.differences(a, b)
    match = compared[GROUP_MATCH]
    apart = {name: compared[name] for name in Metric.same(compared)}
    said = verdict(match, (a, b), first, second, len(apart), found.shared) + others_apart(
        apart, first, second
    )
    st.markdown(
        f"{said}  \n{alone_right(match, first, second)}",
        help=of_the_headline(match, len(apart)) or None,
    )
    above, below = ("", found.line) if found.is_in_order else (found.line, "")
    if above := f"{above} {truth_line(b, sides[1])}".strip():
        st.caption(escape_markdown(above))
    data = figures.bars_data({first: a.metrics, second: b.metrics}, list(apart))
    figure = figures.paired_bars_figure(data, kept_colours(data.rows))
    values = "; ".join(
        f"{METRICS[name].label}: {_pct(a.metrics[name].value)} and {_pct(b.metrics[name].value)} %"
        for name in data.metrics
    )
    ui.chart(figure, f"Bars of {first} and {second} at every metric. {values}.", "compare-models")
    how = by_shared_where([of.metrics[name] for of in (a, b) for name in data.metrics])
    # What the selected one is stands in the help of the line above.
    what = built_in_said(sides[1].name)
    st.caption(escape_markdown(f"Thin lines: 95 % intervals{how}. {what} {below}"))
    return figure


def truth_line(b: Evaluation, side: Side) -> str:
    """What is taken for true of the second one, where its file does not say it; "" where it does. Of the selected one
    it stands above, in the line of the selection."""
    if b.truth_of:
        return f"{side.name} has no ground truth; truth: of {b.truth_of}."
    assumed = f"{side.name} has no ground truth: image i is assumed to belong to caption i."
    return "" if b.truth_given else assumed


def kept_colours(names: Sequence[str]) -> list[str]:
    """Two names in the order of their colours: one that was drawn before in this visit keeps its colour, whether the
    two are swapped or the other one is replaced."""
    before = st.session_state.get(COLOURS, [])
    kept = [name if name in names else "" for name in before] or [""] * len(names)
    new = (name for name in names if name not in kept)
    st.session_state[COLOURS] = [name or next(new) for name in kept]
    return st.session_state[COLOURS]


def every_metric(a: Evaluation, b: Evaluation, sides: tuple[Side, Side]) -> pd.DataFrame:
    """The paired differences of all metrics, with their tests; gives the table."""
    first, second = (side.name for side in sides)
    compared = paired.differences(a, b)
    compared = {name: compared[name] for name in Metric.same(compared)}
    table = paired.comparison_table(a, b, [side.column for side in sides])
    table = as_drawn(table, dict(zip(sides, (a, b), strict=True)), compared)
    shown = with_intervals(table)
    st.header(EVERY_METRIC, anchor=anchor(EVERY_METRIC))
    columns = columns_of(shown, sides, (a.clusters, b.clusters), compared)
    tests = [name for name in columns.measured if name == "p" or name.startswith(("p (", "p by "))]
    with table_or_cards("compare", cards_of(shown, sides, columns.interval, tests)):
        difference_table(shown, columns, columns.measured)
    hanging = a.clusters or b.clusters
    corrected = (
        f". Intervals and {'p' if hanging else ALONE} are of each metric alone; p (Holm) is corrected for these "
        f"{len(table)} metrics. {paired._WHY_ALL} A p"
        if len(table) > 1
        else "; one"
    )
    shares = [METRICS[name].label for name in compared if METRICS[name].share]
    of = f"Percent of groups; {shares[0]}: of images." if shares else "Percent of groups."
    counted_so = paired._counted_said(compared, "that one")
    alone = " The intervals are uncorrected." if len(table) > 1 else ""
    only = f" “Only”: groups, {counted_so}." if counted_so else ""
    st.caption(
        escape_markdown(
            f"{of} Difference: {second} − {first} in percentage points, with its 95 % interval"
            f"{'' if hanging is None else f' by {hanging.by}'}.{alone}{only}"
            f"{'' if hanging is None else f' {interval_to_quote(hanging.by)}'} {off_by_rounding((a, b), compared)}"
        )
    )
    with st.expander("How intervals and p are made"):
        match = paired.differences(a, b)[GROUP_MATCH]
        told = [detectable(match, len(a.ids), len(compared)), scales_line(a, b, sides)]
        st.markdown(escape_markdown(" ".join(told)))
        st.markdown(
            escape_markdown(
                f"Intervals: {paired._PAIRED_INTERVALS}. {paired._interval_note(compared)} "
                f"p: {paired._exact_tests(compared)}{corrected} above 0.05 says that these groups cannot tell, not "
                f"that there is no difference.{'' if hanging is None else cluster_note(hanging)}"
            )
        )
    return table


def as_drawn(table: pd.DataFrame, both: Mapping[Side, Evaluation], compared: Iterable[str]) -> pd.DataFrame:
    """The table with each side's own intervals as the figure draws them: by cluster where groups hang together, as that
    of the difference beside them is. compared : the keys of the metrics, a row each."""
    ends = {
        f"{side.column}: {end}": [each.metrics[name].bounds[i] for name in compared]
        for side, each in both.items()
        for i, end in enumerate(("low", "high"))
    }
    return table.assign(**ends)


def with_intervals(table: pd.DataFrame) -> pd.DataFrame:
    """The table with each pair of columns `low` and `high` as one of texts, `95 %`: points with their signs."""
    found: dict[str, Any] = {}
    for name in map(str, table):
        of, _, end = name.rpartition(": ")
        if end == "low":
            shown, to = (_signed_end, " to ") if of.startswith("B − A") else (_pct, "–")
            ends = zip(table[name], table[f"{of}: high"], strict=True)
            found[f"{of}: 95 %"] = [f"{shown(low)}{to}{shown(high)}" for low, high in ends]
        elif end != "high":
            found[name] = table[name]
    return pd.DataFrame(found)


def more_on_the_test(a: Evaluation, b: Evaluation, sides: tuple[Side, Side], table: pd.DataFrame) -> None:
    """The columns that do not fit beside the sidebar, and how many groups a difference needs; both closed."""
    box = st.expander(
        "Intervals, ties, p values and detectable differences", key="more-columns", on_change="rerun"
    )
    if box.open:
        with box:
            shown = with_intervals(table)
            columns = columns_of(shown, sides, (a.clusters, b.clusters), ())
            difference_table(shown, columns, columns.rest)
    match = paired.differences(a, b, [GROUP_MATCH])[GROUP_MATCH]
    by = "" if match.clustered is None else match.clustered.by
    groups_needed(len(a.ids), 100 * (match.fixed + match.broken) / len(a.ids), by)


PAIRED_INTERVAL = (
    "The 95 % interval of the paired difference. Its end is moved to 0 where the exact test says otherwise of 0; the "
    "lines below the table say of which metrics."
)


class Columns(NamedTuple):
    """The columns of the table of differences: how each is headed, which fit beside the sidebar, the others, and that
    of the interval to quote, which stands in the cell of the difference."""

    config: dict[str, Any]
    measured: list[str]
    rest: list[str]
    interval: str


def columns_of(
    table: pd.DataFrame,
    sides: tuple[Side, Side],
    hanging: tuple[Clusters | None, Clusters | None],
    compared: Iterable[str],
) -> Columns:
    """hanging : what groups of each side share, None where each stands by itself. compared : keys of the metrics."""
    by = next((each.by for each in hanging if each is not None), "")
    apart, alone, test = (
        (f"B − A by {by}: 95 %", f"p by {by}", f"p by {by} (Holm)") if by else ("", "p", "p (Holm)")
    )
    a, b = sides
    # For a phone, which shows four columns: both results and the difference, whose cell has its interval to quote, by
    # cluster where groups hang together; then both p.
    measured = ["metric", a.column, b.column, "B − A", test, alone, "chance", *WINNERS]
    own = [f"{side.column}: {what}" for side in sides for what in ("95 %", "tied")]
    every = ["B − A: 95 %"] if by else []  # as if each group stood by itself
    rest = [
        "metric",
        *own,
        *every,
        "p",
        "p (Holm)",
        "test",
        "detectable",
        f"detectable by {by}" if by else "",
    ]
    heads = {a.column: a.short, b.column: b.short, "B − A": "difference"}
    heads |= {"B − A: 95 %": "difference: 95 % over groups" if by else "95 %"}
    for side, each in zip(sides, hanging, strict=True):
        of = "" if each is None else f" by {each.by}"
        heads |= {
            f"{side.column}: 95 %": f"{side.short}: 95 %{of}",
            f"{side.column}: tied": f"{side.short}: tied",
        }
    heads |= {"p": "p over groups", "p (Holm)": "p over groups (Holm)"} if by else {}
    heads |= {
        apart: f"95 % by {by}",
        alone: f"p by {by}" if by else ALONE,
        test: "p (Holm)",
        **{key: winner_text(key, sides).removesuffix(" right") for key in WINNERS},
    }
    helps = helps_of(sides, by, (alone, test), compared)
    left: dict[str, Any] = dict.fromkeys(
        ("B − A", apart, "B − A: 95 %", test, alone), "left"
    )  # the end of a p was cut on a phone
    longest = 50 if on_phone() else 92  # of a file's name; else the difference lay beyond a phone's edge
    widths = {"metric": 112, "B − A": 144} | {
        side.column: max(50, min(6 * len(side.short) + 18, longest)) for side in sides
    }
    config = {
        name: st.column_config.Column(
            heads.get(name), help=helps.get(name), alignment=left.get(name), width=widths.get(name)
        )
        for name in [*measured, *rest]
    }
    orders = ([name for name in dict.fromkeys(order) if name in table] for order in (measured, rest))
    return Columns(config, *orders, apart or "B − A: 95 %")


def helps_of(
    sides: tuple[Side, Side], by: str, clustered: tuple[str, str], compared: Iterable[str]
) -> dict[str, str]:
    """What heads of the table say when they are pointed at. clustered : the columns of p and corrected p."""
    alone, test = clustered
    a, b = sides
    helps = {
        "B − A: 95 %": PAIRED_INTERVAL,
        "p": UNCORRECTED,
        alone: UNCORRECTED,
        "p (Holm)": HOLM,
        test: HOLM,
        "detectable": DETECTABLE,
    }
    names = [escape_markdown(side.name) for side in (a, b)]
    counted_so = [f"; {said}" if (said := paired._counted_said(compared, name)) else "" for name in names]
    helps |= {
        key: f"Groups that {name} alone has right{said}."
        for key, name, said in zip(WINNERS, names, counted_so, strict=True)
    }
    # The interval stands in the cell of the difference.
    quoted = interval_to_quote(by) if by else PAIRED_INTERVAL
    helps["B − A"] = f"{names[1]} − {names[0]}, with its 95 % interval. {quoted}"
    return helps | {a.column: names[0], b.column: names[1]}


def difference_table(table: pd.DataFrame, columns: Columns, order: list[str]) -> None:
    """Some columns of the table of differences; a difference with its interval in one cell."""
    written = {name: _pct for name in table if table[name].dtype == float}
    written |= {name: p_exact for name in table if name == "p" or name.startswith(("p (", "p by "))}
    written |= {name: signed_text for name in table if name.startswith("B − A")}
    styled = table.style.format(written)
    for row, (value, interval) in enumerate(zip(table["B − A"], table[columns.interval], strict=True)):
        said = f"{signed_text(value)} ({signed_text(interval)})"
        styled = styled.format(lambda _, said=said: said, subset=([table.index[row]], ["B − A"]))
    ui.wide_table(styled, column_config=columns.config, column_order=order)


def cards_of(
    shown: pd.DataFrame, sides: tuple[Side, Side], interval: str, p: Sequence[str]
) -> dict[str, list[tuple[str, str]]]:
    """The same table as a phone reads it, by metric. interval : the column of the difference's. p : the columns of the
    corrected p and of that of each metric alone, or the one there is."""
    cards = {}
    for row in shown.to_dict("records"):
        told = []
        for side in sides:
            ties = row.get(f"{side.column}: tied")
            tied = f", {ties:g} tied" if ties else ""
            told.append((side.short, f"{_pct(row[side.column])} ({row[f'{side.column}: 95 %']}){tied}"))
        told.append(("Difference", f"{signed_text(row['B − A'])} ({signed_text(row[interval])})"))
        what = ["", " alone"] if len(p) > 1 else [""]
        known = [f"{p_exact(row[name])}{of}" for name, of in zip(p, what, strict=True)]
        told += [("p (Holm)" if len(p) > 1 else "p", ", ".join(known)), ("Chance", _pct(row["chance"]))]
        only = (f"{winner_text(key, sides)} {row[key]:g}" for key in WINNERS if key in row)
        cards[str(row["metric"])] = [*told, ("Groups", ", ".join(only))]
    return cards


def signed_text(value: float | str) -> str:
    """Points with their sign, or an interval of them."""
    return ui.true_minus(value if isinstance(value, str) else _signed(value))


def winner_text(key: str, sides: tuple[Side, Side]) -> str:
    """A side of `paired.SIDES` with the names of the two: `only B right` as `only clip right`."""
    a, b = sides
    named = {
        "only B right": f"only {b.short} right",
        "only A right": f"only {a.short} right",
    }
    return {**named, "both wrong": "neither right"}.get(key, key)


def class_text(key: str, sides: tuple[Side, Side]) -> str:
    """A side of `paired.SIDES` in words: `right with builtin/siglip, wrong with builtin/clip`."""
    if key == "both right":
        return "right with both"
    if key == "both wrong":
        return "wrong with both"
    loser, winner = sides if key == "only B right" else sides[::-1]
    return f"right with {winner.name}, wrong with {loser.name}"


def verdict(
    match: Comparison,
    both: tuple[Evaluation, Evaluation],
    first: str,
    second: str,
    tests: int = 1,
    shared: str = "",
) -> str:
    """Which of the two is ahead in GroupMatch, or that these groups cannot tell; by cluster where they hang together.
    The sentence is of the second beside the first, as the differences of the table are; p is the table's, corrected
    for so many metrics, and one is ahead where both interval and p say so. Markdown.

    shared : the groups that both have, where some are dropped: each side alone has another number then.
    """
    tested = match if match.clustered is None else match.clustered
    a, b = (escape_markdown(name) for name in (first, second))
    x, y = (f"{_pct(each.metrics[GROUP_MATCH].value)} %" for each in both)
    low, high = tested.low, tested.high
    is_unproven = paired._is_unproven(match)
    levels = f"{y} against {x}" if match._ahead or is_unproven else f"{x} and {y}"
    on = f" on {shared}" if shared else ""
    said = f"{paired._ahead_said(match, a, b, tests)}**, with {levels}{on}"
    led = _change_in_points(*(each.metrics[GROUP_MATCH].value for each in both))
    # The interval is uncorrected, and so is the p beside it; the corrected one is named, here or in the verdict.
    alone, corrected = p_exact(tested.p_value), p_exact(tested.p_holm or tested.p_value)
    after = f", {'also' if corrected == alone else corrected} {paired._after_holm(tests)}"
    beside = " by itself" if is_unproven else after if tests > 1 else ""
    by = "" if match.clustered is None else match.clustered.by  # `crossmatch compare` has the other one too
    interval = f"{paired._interval_head(1, by)} {_signed_range(low, high)}"
    interval += f", {paired._moved_end(tested)} by the exact test" if paired._moved_end(tested) else ""
    of = "" if match._ahead or is_unproven else ", the second minus the first"
    off = "of the unrounded values; " if off_by_rounding(both, [GROUP_MATCH]) else ""
    difference = f"{_signed(led)} points{of} ({off}{interval}; p\u00a0=\u00a0{alone}{beside})"
    return ui.unbroken(ui.true_minus(f"**GroupMatch: {said}. The difference is {difference}."))


def of_the_headline(match: Comparison, tests: int) -> str:
    """What interval and p of the headline are, in its help; "" where they are the plain ones."""
    by = "" if match.clustered is None else match.clustered.by
    said = [f"Both count groups that share one {by} as one."] if by else []
    if tests > 1:
        said.append(
            f"Interval and p are of this metric alone; the corrected p counts that {tests} metrics are tested."
        )
    return " ".join(said)


def off_by_rounding(both: tuple[Evaluation, Evaluation], metrics: Iterable[str]) -> str:
    """`rounding_note` of the differences of these metrics."""
    a, b = (each.metrics for each in both)
    return rounding_note((a[name].value, b[name].value) for name in metrics)


def others_apart(found: Mapping[str, Comparison], first: str, second: str) -> str:
    """Where GroupMatch cannot tell two apart, the metrics that do, each with who is ahead; "" where none. Markdown."""

    def ahead(each: Comparison) -> str:
        return {0: "", 1: second, -1: first}[each._ahead]

    if GROUP_MATCH not in found or ahead(found[GROUP_MATCH]):  # of groups of one image all metrics are one
        return ""
    of: dict[str, list[str]] = {}
    for name, each in found.items():
        of.setdefault(ahead(each), []).append(METRICS[name].label)
    of.pop("", None)
    told = [f"{escape_markdown(side)} is ahead in {_and(labels)}" for side, labels in of.items()]
    return f"  \nCorrected for several tests, {ui.unbroken('; '.join(told))}." if told else ""


def alone_right(match: Comparison, first: str, second: str) -> str:
    """On how many groups the two differ in GroupMatch, with the way to them and to the table of all metrics: before the
    figure, which fills the first screen. Markdown."""
    more, of = max((match.broken, first), (match.fixed, second), key=lambda side: side[0])
    apart = match.fixed + match.broken
    where = f"; on {more} of them only {escape_markdown(of)} is right: [see where](#{anchor(DIFFERING)})"
    return ui.unbroken(
        f"They differ on {counted(apart, 'group') if apart else 'no group'}{where if apart else ''}. "
        f"[Every\N{NO-BREAK SPACE}metric\N{NO-BREAK SPACE}↓](#{anchor(EVERY_METRIC)})"
    )


def detectable(match: Comparison, n: int, tests: int) -> str:
    """What difference so many groups would have shown, in one comparison alone, where p is corrected for so many: with
    80 % power, in words that need no statistics; "" where none."""
    tested = match.clustered or match
    if tested.detectable is None:
        return ""
    by = "" if match.clustered is None else f", by {match.clustered.by},"
    return ui.unbroken(
        f"With {counted(n, 'group')} like these{by or ','} a true difference of {_pct(tested.detectable)} points is "
        f"found four times in five, a smaller one less often{' (by one metric alone)' if tests > 1 else ''}."
    )


def cluster_note(clusters: Clusters) -> str:
    """What “by image” means in the table."""
    of = f"{clusters.count} clusters in place of {len(clusters.labels)} groups"
    return f" {interval_to_quote(clusters.by, of).removesuffix('.')}{clusters.dominated}."


def differing(a: Evaluation, b: Evaluation, groups: GroupSet, sides: tuple[Side, Side]) -> None:
    """The groups in one class of the comparison, widest margin first, below the one that is open."""
    st.header(DIFFERING, anchor=anchor(DIFFERING))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = yes_or_no(a.outcomes)
        metric = st.selectbox(
            "By",
            names,
            names.index(GROUP_MATCH),
            format_func=lambda name: METRICS[name].label,
            key="by_metric",
            width=140,
            on_change=first_cards,
        )
        with st.container(width=190, key="differing-group"):
            opened = ui.pick_group(list(a.ids))
        classes = paired.groups_by_winner(a, b, metric)
        alone = [name for name, side in CLASSES.items() if side in WINNERS]
        sizes = {side: int(right.sum()) for side, right in classes.items()}
        larger = max(alone, key=lambda name: sizes[CLASSES[name]])
        # Two that agree on every group: what they agree on.
        first = next((name for name in (larger, *CLASSES) if sizes[CLASSES[name]]), larger)
        if st.session_state.pop(ARRIVED, False) and opened and opened == st.session_state.get(CAME_ALONG):
            at = list(a.ids).index(opened)
            st.session_state["side"] = next(
                (name for name in alone if classes[CLASSES[name]][at]), st.session_state.get("side")
            )
        chosen = pick_class(first, sides, sizes)
    if opened is None:
        st.session_state[CAME_ALONG] = None  # opened again, it is asked for
    else:
        at = list(a.ids).index(opened)
        side = next(side for side in CLASSES.values() if classes[side][at])
        opened_group(a, b, groups, opened, (side, CLASSES[chosen]), sides)
    cards((a, b), groups, np.flatnonzero(classes[CLASSES[chosen]]), metric, chosen, sides)


def note_what_came_along() -> None:
    """Before the page is opened: the group that comes along by a button of another page, or by the menu from one where
    it is open. Scrolled to, it hid who is better and which groups differ; of one that only one side has right, that
    side's groups are chosen, whatever was chosen here before."""
    here = page_is_drawn_again() or came_back_to("side") is not None
    st.session_state[ARRIVED] = "carried" in st.session_state or not here
    if "carried" in st.session_state:
        st.session_state[CAME_ALONG] = st.session_state["carried"].get("group")
    elif st.session_state.get("drawn_page") and not page_is_drawn_again():
        group = st.query_params.get("group") or st.session_state.get("group")  # the menu's links name none
        st.session_state[CAME_ALONG] = group
        if group and "group" not in st.query_params:
            st.session_state["group"] = group  # else the field here has it from its second run on


def opened_group(
    a: Evaluation,
    b: Evaluation,
    groups: GroupSet,
    group: str,
    classes: tuple[str, str],
    sides: tuple[Side, Side],
) -> None:
    """The group that is open; of one that came along from another page, and on which the two do not differ or that is
    not of the chosen class, a line with a button. classes : its own and the chosen one, of `paired.SIDES`."""
    came_along, (side, chosen) = group == st.session_state.get(CAME_ALONG), classes
    if came_along and (side not in WINNERS or side != chosen):
        open_before(group, class_text(side, sides))
        return
    # What was opened here is scrolled to by its key (ui.history).
    with st.container(key="came-along" if came_along else "opened", border=True):
        one_group(a, b, groups, list(a.ids).index(group), sides)


def open_before(group: str, said: str) -> None:
    """The button that shows a group which came along from another page. said : its class."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            f"Show {escape_markdown(ui.group_title(group))}", icon=":material/visibility:",
            on_click=ui.set_state, args=({CAME_ALONG: None},),
        )  # fmt: skip
        st.caption(f"You came from this group: {escape_markdown(said)}.", width="content")


def pick_class(first: str, sides: tuple[Side, Side], sizes: Mapping[str, int]) -> str:
    """A class of `CLASSES`, named with the two and its number of groups; `first` unless the address has another.
    sizes : by side of `paired.SIDES`.

    A widget that is bound to the address would write the names of the two into it.
    """
    before, st.session_state[BEGUN_WITH] = st.session_state.get(BEGUN_WITH), first
    # A step back, or forward, leads to what the address has.
    if came_back_to("side") is not None or st.session_state.get("side") not in CLASSES:
        asked = st.query_params.get("side", "")
        st.session_state["side"] = asked if asked in CLASSES else first
    elif st.session_state["side"] == before and not sizes[CLASSES[before]]:  # nobody chose what is empty now
        st.session_state["side"] = first
    chosen = st.segmented_control(
        "Groups",
        list(CLASSES),
        format_func=lambda name: (
            f"{escape_markdown(winner_text(CLASSES[name], sides))} **{sizes[CLASSES[name]]}**"
        ),
        required=True,
        key="side",
        width="content",
        on_change=first_cards,
    )
    if chosen != first:
        st.query_params["side"] = chosen
    else:
        st.query_params.pop("side", None)
    return str(chosen)


def first_cards() -> None:
    """Another class begins with its first groups."""
    st.session_state["cards"] = 1


def cards(
    both: tuple[Evaluation, Evaluation],
    groups: GroupSet,
    indices: np.ndarray,
    metric: str,
    chosen: str,
    sides: tuple[Side, Side],
) -> None:
    """The groups of a class, some at a time. indices : int (c,) of the groups."""
    if not len(indices):
        st.info("No group falls into this class; choose another one.", icon=":material/filter_alt_off:")
        return
    widest = np.maximum(*(each.matches.margin for each in both))
    indices = indices[np.argsort(-widest[indices], kind="stable")]
    said = escape_markdown(class_text(CLASSES[chosen], sides))
    # How many they are stands in the button of the class.
    st.caption(
        f"Of {counted(len(groups), 'group')}: {said} by {METRICS[metric].label}, largest margin of either first"
    )
    count = -(-len(indices) // PER_PAGE)
    if st.session_state.get("cards", 1) > count:
        st.session_state["cards"] = 1
    start = (st.session_state.get("cards", 1) - 1) * PER_PAGE
    shown = [*map(int, indices[start : start + PER_PAGE])]
    if not any(has_pictures(groups[index]) for index in shown):  # what cards have in the place of pictures
        shades_bar(KEY_OF_CARDS)
    with st.container(key="side-cards"):  # rows with small pictures on a phone
        grid = st.grid(2, min_column_width=300, border=True)
    for index in shown:
        with grid.cell():
            marks = [
                (e.outcomes[metric].kind(index), f"{side.short}: {METRICS[metric].label}")
                for side, e in zip(sides, both, strict=True)
            ]
            ends = [each.group(index) for each in both]  # the same decimals on all cards, but for a near tie
            scores = {
                side.short: data.beside(ends, totals=False) for side, data in zip(sides, ends, strict=True)
            }
            ui.group_card(groups[index], marks, "Compare", "side", scores)
    if count > 1:
        st.pagination(count, key="cards")


def one_group(a: Evaluation, b: Evaluation, groups: GroupSet, index: int, sides: tuple[Side, Side]) -> None:
    """One group under both models: its pictures and captions once, both matrices, verdicts folded."""
    group = groups[index]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(escape_markdown(ui.group_title(group.id)), anchor=False, width="content")
        st.button("Close", on_click=ui.open_group, args=(None,), icon=":material/close:")
        ui.page_button(
            "Open in Groups", "pages/1_Groups.py", {"group": group.id}, icon=":material/grid_view:"
        )
    both = [evaluation.group(index) for evaluation in (a, b)]
    names = yes_or_no(both[0].kinds)
    group_under_several(group, {side.name: data for side, data in zip(sides, both, strict=True)}, names)
    told = (
        "Scores. Outlined, with a dot, and as lines: the matching of each model, dashed where wrong; dotted: true "
        "pairs that it misses. ✓: the true pairs. Each model's scores have a scale of their own: compare them within "
        "a matrix."
    )
    if not on_phone():
        st.caption(told)
    with st.expander("What each metric compares, in numbers" if not on_phone() else "How to read this"):
        if on_phone():  # five lines there
            st.caption(told)
        for column, side, data in zip(st.columns(2, gap="large"), sides, both, strict=True):
            column.markdown(f"**{escape_markdown(side.name)}**")
            column.html(group_html.verdicts_html(data.beside(both), names))


def page(selection: ui.Selection) -> None:
    other = pick_other(selection)
    if not other:
        say_what_to_choose(selection)
        if selection.is_file:
            by_itself(selection)
        return
    if other == selection.model:
        beside_itself(selection)
        return
    head = st.container()
    ui.model_options(other, "other")  # below the figure: not every model has them, and they would move it
    with head:
        found = compare_sides(selection, other) or in_order(selection, other)
        if found is None:
            return
        a, b, groups = found.first, found.second, found.selection.selected_groups
        sides = sides_of(selection.model, other)
        check_shapes(a, b, sides)
        figure = overview(a, b, sides, found)
    differing(a, b, groups, sides)
    table = every_metric(a, b, sides)
    if found.is_in_order:
        st.caption(escape_markdown(found.line))
    more_on_the_test(a, b, sides, table)
    name = f"compare-{pair_name([found.selection.model, other])}"
    given = exports(found, other)
    ui.export_section(
        name, partial(printed, found, other), {"metrics": figure}, table_label="Metrics (CSV)", **given
    )
    cite(groups, selection, other)


def cite(groups: GroupSet, selection: ui.Selection, other: str) -> None:
    """Where data and metrics come from; of two files both are the data, and no data of Winoground's is used."""
    if not selection.is_file:
        ui.cite(groups)
        return
    both = _and([entry.removeprefix(PREFIX) for entry in (selection.benchmark, other)])
    ui.cite(replace(groups, title=both, source="your files", citation=both), note=METRICS_CITED)


def scales_line(a: Evaluation, b: Evaluation, sides: tuple[Side, Side]) -> str:
    """That both have scales of their own and that this does not matter, where they plainly have: their scores do not
    overlap, or those of one spread over more than `FAR` times as much; "" elsewhere. The outermost hundredths of the
    scores count for nothing."""
    ranges = [np.percentile(each.scores, (1, 99)) for each in (a, b)]
    (low, high), (other_low, other_high) = ranges
    spreads = sorted(float(end - start) for start, end in ranges)
    if max(low, other_low) <= min(high, other_high) and spreads[1] <= FAR * spreads[0]:
        return ""
    return (
        f"The scores of {sides[0].name} and of {sides[1].name} have different scales; that does not matter, as every "
        "metric compares scores within one side only."
    )


def printed(found: Compared, other: str) -> pd.DataFrame:
    """The table as it is exported, its sides called as `row_names` has them; where groups were paired by their order
    alone, it says so."""
    names = row_names((found.selection.model, other))
    return _comparison_file(found.first, found.second, names, found.is_in_order)


def in_order(selection: ui.Selection, other: str) -> Compared | None:
    """Two sides that have no name of a group in common, paired in their order where somebody says so; None where nobody
    does, or where they cannot be, which the page says."""
    assumed = order_assumed(selection, other)
    if not assumed:
        nothing_in_common(selection, other)
        return None
    told = "Turn this on where both have the same groups in the same order."
    if st.toggle("Pair them in order", key="in_order", bind="query-params", help=told):
        return compare_in_order(selection, other)
    names = " and ".join(model_said(name).removeprefix(PREFIX) for name in (selection.model, other))
    line = f"{names} have no name of a group in common: one only numbers its groups. Each has {len(selection.groups)}."
    do = "Turn “Pair them in order” on where both have the same groups in the same order."
    said = unnamed_of_other_sizes(selection, other) or f"{line} {do}"
    st.info(escape_markdown(said), icon=":material/compare:")
    return None


def exports(found: Compared, other: str) -> dict[str, Any]:
    """What `ui.export_section` takes besides: of both, with their difference."""
    model = found.selection.model
    assumed = found.line if found.is_in_order else ""
    given = ui.evaluation_exports(found.selection, {model: found.first, other: found.second}, assumed)
    names = " and ".join(name.removeprefix(PREFIX) for name in (model, other))
    on = set_of(found.selection)
    title = f"{names}{f' on {on}' if on else ''}, {counted(len(found.first.ids), 'group')}"
    given |= {
        "title": title,
        "note": (note := bars_note(found.first.outcomes, found.first.metrics, found.second.metrics)),
    }
    if found.is_in_order:  # which the command does for two files
        both = is_upload(model) and is_upload(other)
        command = f"{given['command']} --by-order" if both else ""
        given |= {"command": command, "note": f"{found.line} {note}"}
    elif found.line and given["command"]:
        given["command"] += " --common"
    return given


def set_of(selection: ui.Selection) -> str:
    """The set that both are measured on, of files that of their groups; "" where it is not known."""
    if not selection.is_file:
        return selection.groups.title or selection.benchmark
    return (ui.benchmark_of(selection.groups) or {"set": ""})["set"]


def nothing_in_common(selection: ui.Selection, other: str) -> None:
    """Say that the two have no group in common, and offer the benchmark that the file was made on, or to compare the
    visitor's files with each other. Raises InputError for a model that is none."""
    names = selection.model, other
    for name in names:
        if not is_upload(name):
            scorer_key(ui.model_source(name))
    line, where = no_group_line(selection, other), benchmark_of_file(names)
    hint = next(filter(None, map(naming_hint, filter(is_upload, names))), "")
    if not hint and where is not None:
        ui.offer_nearest(
            f"{line} The file has groups of {where['set']}, split {where['split']}.",
            f"Compare them on {where['set']}",
            THIS_PAGE,
            {**where, "model": selection.model, "other": other, "tag": []},
        )
        return
    file = next(filter(is_upload, reversed(names)))
    do = hint or f"Compare {file.removeprefix(PREFIX)} with a file of the same groups."
    ui.show_error(InputError(f"{line} {do}"))
    ways_of_files(file)


def no_group_line(selection: ui.Selection, other: str) -> str:
    """Which of the two has no group of what: of the selected set, or of the selected file."""
    files = [entry for entry in dict.fromkeys((selection.model, other)) if is_upload(entry)]
    strangers = [entry.removeprefix(PREFIX) for entry in files if not has_groups_of(entry, selection)]
    on = f"the selected groups of {set_said(selection)}" if selection.tags else set_said(selection)
    if len(strangers) == 2:
        return f"Neither {strangers[0]} nor {strangers[1]} has a group of {on}."
    if len(strangers) == 1:
        return f"{strangers[0]} has no group of {on}."
    names = " and ".join(model_said(name).removeprefix(PREFIX) for name in (selection.model, other))
    return f"{names} have no group in common on {on}."


def ways_of_files(entry: str) -> None:
    """Where a file cannot be compared with what is selected: each other file of the visitor's that shares groups with
    it, the earlier one first; of a file that is alone the page on which another one can be brought."""
    files = upload_names()[::-1]  # the oldest first
    fitting = [other for other in files if other != entry and share_groups(entry, other)]
    pairs = [sorted((entry, other), key=files.index) for other in fitting]
    with st.container(horizontal=True, key="compare-files"):
        for first, second in pairs or [(entry, None)]:
            a, b = (each.removeprefix(PREFIX) if each else "another file" for each in (first, second))
            label = escape_markdown(f"Compare {a} with {b}")
            ui.page_button(
                label, THIS_PAGE, two_files(first, second), icon=":material/compare:", type="primary"
            )


def naming_hint(entry: str) -> str:
    """How the groups of a file that only numbers them get names; "" for one that has names."""
    ids, file = upload_groups(entry).ids, stored_upload(entry)
    return paired.without_names(file.name, ids, bool(file.shape))


note_what_came_along()
selection = ui.open_page("Compare", LEAD)
with ui.show_errors():
    page(selection)
