"""Groups: a gallery with filters, and one group in detail."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, Self

import altair as alt
import numpy as np
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import ui
from core import figures
from core.base.errors import InputError
from core.base.public_mode import is_public
from core.figures import group_html
from core.figures.text import escape_markdown
from core.groups import Group, GroupSet
from core.metrics import group_filters
from core.metrics import groups as metrics
from core.metrics.evaluation import Evaluation
from core.metrics.group_metrics import GroupData, _margin_decimals
from core.metrics.groups import METRICS
from core.scorers.vocabulary import _never_read_note
from ui.export import bars_note, groups_table, selection_name
from ui.fields import warn_number
from ui.group_table import CARDS, TABLE, choose_layout, group_table
from ui.group_table import PER_PAGE as ROWS
from ui.images import has_captions, has_pictures, shades_key
from ui.misplaced import WAY_IMAGES
from ui.notable_groups import notable_groups
from ui.tag_meanings import shown_tag, tag_meanings
from ui.text_only import text_only_section
from ui.uploads import PREFIX
from ui.views import came_back_to
from ui.visitor import on_phone

PER_PAGE = 12
CARDS_IN_A_ROW = 2  # with two images of 240 pixels each beside the sidebar of a laptop
SMALL_CARDS_IN_A_ROW = 4
WALK = {"Previous": ":material/chevron_left:", "Next": ":material/chevron_right:"}
LEAD = "Every group, with verdicts. Open one for its scores."
SHOWN = "gallery_shows"  # of the session: which groups, in which order
MARGINS = "margin"  # the field, which a click on Matching fills
# The fields of the gallery that an opened group leaves in the address, each as no address says it.
GALLERY_FIELDS = {
    "q": "",
    "verdict": [],
    MARGINS: "",
    "sort": next(iter(group_filters.ORDERS)),
    "page": 1,
    "compact": False,
    "layout": CARDS,
    "file_layout": TABLE,
}


WORDS = (
    "Finds them side by side, as you type them: “red cube” finds “a red cube on a table”. Where no caption has them "
    "side by side, it finds the groups that have all of them."
)


NEAR_TIE = "Near tie: one of the tenth with the smallest margins, ties aside."
RANGE = "From one margin to below another, as 0.2..0.25, or 0.2.. without an end. A bar pressed on Matching fills it."


def asked_margins() -> group_filters.MarginRange | None:
    """The margins that the field asks for, or the address where it is not drawn; InputError for what is no range."""
    margins = str(st.session_state.get(MARGINS, st.query_params.get(MARGINS)) or "").strip()
    return group_filters.MarginRange.parse(margins) if margins else None


def margins_wrong() -> InputError | None:
    """What is wrong with them; None where nothing is."""
    try:
        asked_margins()
    except InputError as error:
        return error
    return None


class Filters(NamedTuple):
    """What the gallery shows: groups with these words, of these verdicts and margins, in this order."""

    words: str
    verdicts: list[str]
    order: str
    margins: group_filters.MarginRange | None

    @classmethod
    def kept(cls, groups: GroupSet, evaluation: Evaluation) -> Self:
        """Those of the fields, or of the address where none is drawn; what it says wrongly is left out, and so are
        words where there are no captions."""
        words = st.session_state.get("q", st.query_params.get("q")) or ""
        words = words if has_captions(groups[0]) else ""
        asked = st.session_state.get("verdict", st.query_params.get_all("verdict"))
        verdicts = [name for name in asked if name in group_filters.verdict_options(evaluation)]
        order = st.session_state.get("sort", st.query_params.get("sort"))
        margins = None
        with suppress(InputError):  # the gallery says it
            margins = asked_margins()
        order = order if order in group_filters.ORDERS else GALLERY_FIELDS["sort"]
        return cls(words, verdicts, order, margins)

    def described(self, groups: GroupSet) -> list[str]:
        """Each filter in a word or two."""
        words = [f"“{term}”" for term in group_filters._search_terms(groups, self.words)]
        return [*words, *self.verdicts, *([self.margins.description] if self.margins else [])]

    def indices(self, groups: GroupSet, evaluation: Evaluation) -> np.ndarray:
        """The numbers of the groups that pass, in order, (s,)."""
        return group_filters.filter_groups(
            groups, evaluation, self.words, self.verdicts, self.order, self.margins
        )


def filters(groups: GroupSet, evaluation: Evaluation) -> Filters:
    """The fields of the gallery, and what they say."""
    # The button stands before its fields, which are in the address alone when a link opens the page.
    before = Filters.kept(groups, evaluation)
    count = len(before.described(groups))
    # Of a wrong margin the button says so, too: a link may have it, and the panel is closed then.
    label = f"Filters ({count})" if count else "Filters"
    icon = ":material/filter_alt:" if margins_wrong() is None else ":material/error:"
    with st.popover(label, icon=icon, key="filters"):
        words = before.words
        if has_captions(groups[0]):
            words = st.text_input(
                "Words in the captions", key="q", bind="query-params", placeholder="red cube", help=WORDS
            )
        verdicts = st.multiselect(
            "Verdicts", list(group_filters.verdict_options(evaluation)), key="verdict", bind="query-params",
            placeholder="any", select_all=False,  # they exclude each other: no group has all
        )  # fmt: skip
        st.text_input("Margins", key=MARGINS, bind="query-params", placeholder="0.2..0.25", help=RANGE)
        wrong = margins_wrong()
        if wrong is not None:  # the other filters hold all the same
            ui.show_error(wrong)
        order = st.selectbox("Sort by", list(group_filters.ORDERS), key="sort", bind="query-params")
        chosen = before._replace(words=words, verdicts=verdicts, order=order)
        # On a phone the panel covers the line below it, which says so, too.
        st.caption(f"{len(chosen.indices(groups, evaluation))} of {len(groups)} groups")
    return chosen


def notable_group_buttons(selection: ui.Selection, evaluation: Evaluation, key: str) -> None:
    """Opens a random group of a kind that is worth a look; of any where a student predicts, as a kind says how the
    model did."""
    kinds = notable_groups(selection, evaluation)
    kept = Filters.kept(selection.selected_groups, evaluation)
    if kept.described(selection.selected_groups):
        passing = np.zeros(len(evaluation.ids), bool)
        passing[kept.indices(selection.selected_groups, evaluation)] = True
        kinds = {"passes the filters": passing, **kinds}
    hidden = is_predicting()
    if hidden:
        kinds = {"any group": np.ones(len(evaluation.ids), bool)}
    with st.popover("Surprise me", icon=":material/casino:", key=key):
        st.caption("Opens a random group." if hidden else f"Opens a random group of one kind. {NEAR_TIE}")
        for label, mask in kinds.items():
            ids = [evaluation.ids[i] for i in np.flatnonzero(mask)]
            # Drawn when the button is pressed, not now.
            st.button(
                f"{label} ({len(ids)})",
                on_click=lambda ids=ids: ui.open_group(str(np.random.default_rng().choice(ids))),
                disabled=not ids,
                key=f"surprise-{label}",
                width="stretch",
            )


def clear_filters() -> None:
    st.session_state.update({"q": "", "verdict": [], MARGINS: ""})


def first_page_of_others(selection: ui.Selection, chosen: Filters) -> None:
    """Where other groups are chosen than the gallery showed before, or in another order, it opens at its first page;
    what a link or the browser's Back asks for stays."""
    state, address = st.session_state, selection.address
    # Not by the model: the same page of the same groups under another one is worth a look.
    shown = ({key: address[key] for key in address if key != "model"}, chosen)
    if state.setdefault(SHOWN, shown) != shown and came_back_to("page") is None:
        state["page"] = 1
    state[SHOWN] = shown


def gallery(selection: ui.Selection, evaluation: Evaluation) -> None:
    """The groups that pass the filters, as cards or as a table."""
    groups = selection.selected_groups
    ui.warn_unknown_group(evaluation.ids)
    ui.warn_unknown("verdict", st.query_params.get_all("verdict"), group_filters.verdict_options(evaluation))
    ui.warn_unknown("order", st.query_params.get_all("sort"), group_filters.ORDERS)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="gallery-toolbar"):
        chosen = filters(groups, evaluation)
        notable_group_buttons(selection, evaluation, "surprises")
        export = export_place()
        ui.pick_group(list(evaluation.ids), warn=False, label_visibility="collapsed", width=260)
        pictures = has_pictures(groups[0])
        as_table = choose_layout(pictures) == TABLE
        compact = pictures and not as_table and st.toggle("Compact", key="compact", bind="query-params")
    indices, active = chosen.indices(groups, evaluation), chosen.described(groups)
    first_page_of_others(selection, chosen)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="gallery-count"):
        order = [] if chosen.order == GALLERY_FIELDS["sort"] else [f"sorted by {chosen.order}"]
        shown = escape_markdown(" · ".join([f"{len(indices)} of {len(groups)} groups", *active, *order]))
        st.caption(shown, width="content", help=what_a_margin_is(evaluation))
        if active and len(indices):
            st.button("Clear filters", on_click=clear_filters, type="tertiary", icon=":material/close:")
        # On a phone there is room for it in place of the key, which a student does not see.
        if (is_predicting() or not on_phone()) and predict_switch():
            st.caption("Verdicts are hidden.", width="content")
        if pictures and not as_table and len(indices):
            ui.card_key(any_tie(evaluation, indices))
    if not len(indices):
        st.info(
            "No group passes these filters; remove a verdict, a search word or the margins.",
            icon=":material/filter_alt_off:",
        )
        st.button("Clear filters", on_click=clear_filters, icon=":material/close:")
        export_groups(selection, evaluation, export)
        return
    in_page = PER_PAGE // 2 if on_phone() else PER_PAGE  # twelve are 4,900 pixels of a phone
    per_page = ROWS if as_table else in_page * (2 if compact else 1)
    count = -(-len(indices) // per_page)
    if "page" not in st.session_state:  # of the address, not of filters that have just left fewer
        warn_number("page", "Page", 1, count, whole=True)
    if st.session_state.get("page", 1) > count:
        st.session_state["page"] = 1
    place = st.container(key="compact-gallery" if compact else "gallery")
    # Drawn before what is above it: of an address the field alone knows the page.
    page = 1 if as_table and count == 1 else st.pagination(count, key="page", bind="query-params")
    shown_now = indices[(page - 1) * per_page : page * per_page]
    with place:
        if as_table:
            group_table(evaluation, shown_now, groups)
        else:
            cards(selection, evaluation, shown_now, compact)
    export_groups(selection, evaluation, export)


def cards(selection: ui.Selection, evaluation: Evaluation, indices: np.ndarray, compact: bool) -> None:
    """The groups with these numbers, a card each."""
    groups = selection.selected_groups
    if has_pictures(groups[0]) and not compact:
        grid = st.grid(CARDS_IN_A_ROW, min_column_width=300, border=True)
    else:
        least = 150 if compact else 220  # on a phone two pairs of pictures beside each other
        grid = st.grid(SMALL_CARDS_IN_A_ROW, min_column_width=least, border=True)
    for index in indices:
        with grid.cell():
            card(selection.model, evaluation, groups[int(index)], int(index))


def export_place() -> DeltaGenerator:
    """Where Export stands. It is filled when all else is drawn: its link holds what every field has written into the
    address."""
    return st.container(key="export-place", width="content")


def export_groups(selection: ui.Selection, evaluation: Evaluation, place: DeltaGenerator) -> None:
    """The files of all groups."""
    with place:
        exports = ui.evaluation_exports(selection, {selection.model: evaluation})
        bars = {"metrics": lambda: metrics_figure(evaluation)}
        name = f"groups-{selection_name(selection)}"
        table = partial(groups_table, selection.model, evaluation)
        note = bars_note(evaluation.outcomes, evaluation.metrics)
        ui.export_section(name, table, bars, table_label="Groups (CSV)", note=note, **exports)


def card(model: str, evaluation: Evaluation, group: Group, index: int) -> None:
    """A group of the gallery, without what the model makes of it where a student is to guess that first."""
    if is_hidden(group):
        ui.group_card(group, [], "Open", "open", {})
        return
    scores = {model: evaluation.group(index)}
    ui.group_card(
        group,
        headline_marks(evaluation, index),
        "Open",
        "open",
        scores,
        margin_text(evaluation, index),
    )


def predict_switch() -> bool:
    """Whether a student is to predict before seeing: in the gallery as in an opened group, so that either keeps it in
    the address."""
    return st.toggle(
        "Predict first", key="predict", bind="query-params", help="Match the images yourself, then reveal."
    )


def is_predicting() -> bool:
    """Whether that switch is on, or the address says so where it is not drawn yet."""
    return bool(st.session_state.get("predict", st.query_params.get("predict") == "true"))


def is_hidden(group: Group) -> bool:
    """Whether a student predicts and has not revealed this group yet."""
    return is_predicting() and group.id not in st.session_state.get("revealed", ())


def headline_marks(evaluation: Evaluation, index: int) -> list[tuple[str, str]]:
    """A group's verdicts by the main metrics, on its card as where it is opened: outcome, metric."""
    names = metrics.headline_metrics(evaluation.outcomes)
    return [(evaluation.outcomes[name].kind(index), METRICS[name].label) for name in names]


def any_tie(evaluation: Evaluation, indices: np.ndarray) -> bool:
    """Whether the card of one of these groups has a tie among its verdicts."""
    return any(kind == "tie" for index in indices for kind, _ in headline_marks(evaluation, int(index)))


def margin_text(evaluation: Evaluation, index: int, digits: int = 0) -> str:
    """A group's margin, on its card as where it is opened, and how large that is on this set.

    It has as many decimals as that of every other group of the set, whichever are in view.
    digits : those of the totals beside it, from which a reader subtracts.
    """
    margins = evaluation.matches.margin
    if evaluation.matches.tied[index]:
        return "margin 0: two matchings tie"
    smaller = 100 * float(np.mean(margins < margins[index]))
    shown = f"{margins[index]:.{max(_margin_decimals(margins), digits)}f}"
    if not float(shown):
        shown = evaluation.group(index).shown_margin
    return f"margin {shown}; {smaller:.0f} % of the groups have a smaller one"


def what_a_margin_is(evaluation: Evaluation) -> str:
    """What the margin says, with the range of the middle half of the groups as its scale."""
    low, high = np.quantile(evaluation.matches.margin, (0.25, 0.75))
    return (
        "The margin of a group is how far the total of the model's matching leads that of the next best one, in the "
        f"units of the scores. Half of these groups have one between {low:.3g} and {high:.3g}."
    )


# --- one group ---------------------------------------------------------------------------------------------------


class Walk(NamedTuple):
    """The groups of the gallery in its order, one of which is open. The first has none before it, the last none after
    it."""

    ids: list[str]
    place: int  # of the open one, from 0
    verdicts: list[str]  # that all of them have: of a gallery that is filtered so

    @property
    def said(self) -> str:
        """`4 of 60`"""
        return f"{self.place + 1} of {len(self.ids)}"

    def buttons(self, suffix: str = "") -> None:
        """The steps to the group before and after. suffix : of their keys."""
        for label, at in (("Previous", self.place - 1), ("Next", self.place + 1)):
            step = self.ids[at] if 0 <= at < len(self.ids) else None
            st.button(
                label, on_click=ui.open_group, args=(step,), icon=WALK[label], key=f"{label.lower()}{suffix}",
                disabled=step is None,
            )  # fmt: skip


def toolbar(selection: ui.Selection, evaluation: Evaluation, index: int) -> tuple[bool, DeltaGenerator, Walk]:
    """Ways to other groups, and whether to predict first; returned with the place for this one's files, and the walk
    through the gallery."""
    ids, groups = list(evaluation.ids), selection.selected_groups
    kept = Filters.kept(groups, evaluation)
    walked, verdicts = kept.indices(groups, evaluation), kept.verdicts  # in the gallery's order
    if index not in walked:  # opened by its id
        walked, verdicts = np.arange(len(ids)), []
    place = int(np.flatnonzero(walked == index)[0])
    walk = Walk([ids[each] for each in walked], place, verdicts)
    row: dict[str, Any] = {"horizontal": True, "vertical_alignment": "center", "gap": "small"}
    with st.container(key="group-toolbar", **row):
        with st.container(key="group-walk", width="content", **row):
            st.button(
                f"Gallery ({walk.said})", on_click=ui.open_group, args=(None,), icon=":material/grid_view:",
                key="to-gallery", help="Previous and Next walk the groups of the gallery in its order.",
            )  # fmt: skip
            walk.buttons()
            ui.pick_group(ids, warn=False, label_visibility="collapsed", width=245)
        with st.container(key="group-more", width="content", **row):  # on a phone below the pictures
            notable_group_buttons(selection, evaluation, "more-surprises")
            hide = predict_switch()
            export = export_place()
    return hide, export, walk


def detail(selection: ui.Selection, evaluation: Evaluation, index: int) -> None:
    """Images, matching and matrix side by side; below them the verdicts, which stand first where there are no
    pictures."""
    group, data = selection.selected_groups[index], evaluation.group(index)
    hide, export, walk = toolbar(selection, evaluation, index)
    revealed_ids = st.session_state.setdefault("revealed", set())
    revealed, pictures = not hide or group.id in revealed_ids, has_pictures(group)
    title = escape_markdown(ui.group_title(group.id))
    asked, drawn, beside = places(hide, pictures)
    with asked:
        if not pictures and not revealed:
            st.header(title, anchor=False)
        if not revealed and walk.verdicts:
            st.caption("The gallery is filtered by verdict, which says how the model did here.")
        student = guess(group, revealed) if hide else None
        if student is not None and revealed:  # where Reveal was
            judge(student, data, selection.model, group.id)
        if not pictures and revealed:
            verdicts(f"{title}: verdicts, with its numbers", data)
    with drawn:
        ui.draw_group(group, data, revealed, student)
    with beside:
        if pictures:
            st.header(title, anchor=False)
            if revealed:
                st.html(
                    f'<div class="cm-marks">{group_html.card_html([], [], headline_marks(evaluation, index))}</div>'
                )
        if revealed:
            matrix(group, data)
        about(selection, evaluation, group, index, revealed)
    if revealed and pictures:
        verdicts("Verdicts, with this group's numbers", data)
    with st.container(
        horizontal=True, vertical_alignment="center", key="walk-on"
    ):  # on a phone, where the toolbar is two screens up
        walk.buttons("-below")
        st.caption(walk.said, width="content")
    with export:
        name = f"group-{group.id.replace('/', '-')}"
        ui.export_section(name, **ui.group_exports(selection, evaluation, index))


def places(hide: bool, pictures: bool) -> tuple[DeltaGenerator, DeltaGenerator, DeltaGenerator]:
    """Where the question to a student, the group and all else about it stand. Beside the pictures of a group that a
    student predicts there is room for the question; the style sheet puts it there, on a phone around them."""
    if hide and pictures:
        with st.container(key="predicted"):
            return st.container(key="asked"), st.container(key="drawn-group"), st.container(key="said-beside")
    left, right = st.columns([3, 2], gap="large")
    return left, (left if pictures else right).container(key="drawn-group"), right


def verdicts(title: str, data: GroupData) -> None:
    st.header(title, anchor=False)
    st.html(group_html.verdicts_html(data))


def about(selection: ui.Selection, evaluation: Evaluation, group: Group, index: int, revealed: bool) -> None:
    """Where the group's truth comes from, its margin and tags, and the way to compare its model with another one, which
    shows the matching. To a student who has not revealed it margin and tags would give the answer away: `left of` is
    what the true caption says."""
    if not evaluation.truth_given:
        st.caption(
            "The data give no ground truth: image A is assumed to belong to caption 1, image B to caption 2, and so on."
        )
    if not revealed:
        return
    tags = [f"{shown_tag(name)}: {value}" for name, value in group.tags.items()]
    tags = [margin_text(evaluation, index, evaluation.group(index).digits), *tags]
    if unread := _never_read_note(selection.model, group.captions):
        tags.append(unread)
    st.caption(escape_markdown(" · ".join(tags)), help=tag_meanings(selection.groups, group.tags))
    other = ui.another_model(selection)
    what = "another file or model" if selection.is_file else "another model"
    ui.page_button(
        f"Compare with {(other or what).removeprefix(PREFIX)}", "pages/6_Compare.py",
        {"group": group.id, "other": None if selection.is_file else other}, icon=":material/compare:",
        help="This group under both side by side, on the page Compare.",
    )  # fmt: skip


def guess(group: Group, revealed: bool) -> list[int | None]:
    """The student's own matching, one caption number per image, with the question directly above it."""
    numbers = [str(j + 1) for j in range(len(group.captions))]
    keys = [f"guess-{group.id}-{i}" for i in range(len(group.images))]
    pair = len(keys) == len(numbers) == 2
    chosen = [st.session_state.get(key) for key in keys]
    twice = sorted({value for value in chosen if value is not None and chosen.count(value) > 1})
    if not revealed:
        st.markdown(question(len(keys), pair, twice))
    chosen = []
    with st.container(horizontal=True, vertical_alignment="bottom", key="own-matching"):
        for i, key in enumerate(keys):
            label = f"Image {group_html.image_name(i)} belongs to caption"
            other = {"on_change": choose_other, "args": (key, keys[1 - i])} if pair else {}
            chosen.append(
                st.segmented_control(label, numbers, key=key, disabled=revealed, width="content", **other)
            )
        if not revealed:
            complete = None not in chosen and not twice
            hint = None if complete else "Give every image a different caption first."
            st.button(
                "Reveal", type="primary", disabled=not complete, help=hint, on_click=reveal, args=(group.id,)
            )
    return [None if value is None else int(value) - 1 for value in chosen]


def question(images: int, pair: bool, twice: list[str]) -> str:
    """What the student is asked, as Markdown; instead of how to answer it, what is wrong. twice : captions that were
    chosen for more than one image."""
    if images == 1:
        return "**Which caption belongs to the image?** Choose one, then reveal what the model thinks."
    if twice:
        named = f"{'caption' if len(twice) == 1 else 'captions'} {' and '.join(twice)}"
        what = f"you chose {named} more than once: choose another one, then reveal what the model thinks."
    elif pair:
        what = "choose one, and the other follows; then reveal what the model thinks."
    else:
        what = "choose one for each, then reveal what the model thinks."
    return f"**Which caption belongs to which image?** Each caption belongs to one image; {what}"


def choose_other(key: str, other: str) -> None:
    """In a group of two images and two captions the second choice follows from the first (a callback)."""
    value = st.session_state.get(key)
    st.session_state[other] = None if value is None else str(3 - int(value))


def reveal(group: str) -> None:
    st.session_state["revealed"].add(group)


def judge(student: list[int | None], data: GroupData, model: str, group: str) -> None:
    """The student beside the model, in one line: of this group, and of all that were revealed in this session."""
    matching = np.array([[-1 if j is None else j for j in student]])
    right = metrics.precision(matching, np.ones(1, bool), np.array([data.truth])) == 1
    judged = st.session_state.setdefault(
        "judged", {}
    )  # kept: of a group that is opened again no choice is known
    kinds = judged.setdefault(
        (model, group), ("right" if right else "wrong", data.kinds[metrics.GROUP_MATCH])
    )
    said = [
        f"**{who}:** {figures.OUTCOME_SYMBOLS[kind]} {kind}"
        for who, kind in zip(("You", "The model"), kinds, strict=True)
    ]
    shown = [[kind == "right" for kind in each] for (whose, _), each in judged.items() if whose == model]
    line = f"{said[0]} (the wide pink lines) · {said[1]}"
    if len(shown) > 1:
        yours, models = (sum(each) for each in zip(*shown, strict=True))
        line += f". You {yours} of {len(shown)}, the model {models} of {len(shown)}, over the groups that you revealed."
    st.markdown(line)


def matrix(group: Group, data: GroupData) -> None:
    """The score matrix; a click on a cell (or the list below it) shows the details of its pair."""
    m, k = data.scores.shape
    pairs = [f"{group_html.image_name(i)}–{j + 1}" for i in range(m) for j in range(k)]
    chart_key = f"cells-{group.id}"

    def clicked() -> None:
        cells = st.session_state[chart_key].selection.get("cell") or []
        st.session_state["pair"] = f"{cells[0]['image']}–{cells[0]['caption']}" if cells else None

    if (back := came_back_to("pair")) is not None:  # a step back closes what the step before it opened
        st.session_state["pair"] = back or None
    if st.session_state.get("pair", st.query_params.get("pair")) not in (None, *pairs):
        st.session_state["pair"] = None
    pair = st.session_state.get("pair", st.query_params.get("pair"))
    with st.container(key=f"matrix-{m}"):  # as high as the chart before it comes: see style.css
        st.altair_chart(
            heatmap(data, pair),
            key=chart_key,
            on_select=clicked,
            selection_mode="cell",
            alt=f"Score matrix of {m} images and {k} captions; the list below describes every cell.",
        )
    if pair:
        with st.container(key="pair-details"):  # which comes into sight: see ui.history
            pair_details(group, data, *divmod(pairs.index(pair), k))
    st.caption(
        f"{shades_key()} {group_html._matching_key(data)} ✓: the true pairs. Press a cell for its details. "
        "Lines: the matching, dashed where wrong; dotted: true pairs that it misses."
    )
    st.selectbox(
        "Details of a pair",
        pairs,
        index=None,
        key="pair",
        bind="query-params",
        placeholder="details of a pair",
        label_visibility="collapsed",
    )


def pair_details(group: Group, data: GroupData, i: int, j: int) -> None:
    """A pair's score, its ranks, and how far it is from its rivals in its row and its column."""
    score, (m, k) = data.scores[i, j], data.scores.shape
    row = 1 + int((data.scores[i] > score).sum())
    column = 1 + int((data.scores[:, j] > score).sum())
    chosen, true = data.matching is not None and data.matching[i] == j, (i, j) in data.truth_pairs
    pair = (
        f"**Image {group_html.image_name(i)} with caption {j + 1}: {score:z.{data.digits}f}**, rank {row} of {k} for "
        f"this image, rank {column} of {m} for this caption. "
        f"{'In' if chosen else 'Not in'} the model's matching; {'' if true else 'not '}a true pair."
    )
    shown, images = data.scores.round(data.digits), [f"image {group_html.image_name(r)}" for r in range(m)]
    captions = [f"caption {c + 1}" for c in range(k)]
    said = (
        _distance(shown[i], j, data.digits, captions, f"caption of {images[i]}"),
        _distance(shown[:, j], i, data.digits, images, f"image for {captions[j]}"),
    )
    st.markdown(f"{pair} It scores {' and '.join(filter(None, said)).rstrip(',')}.")
    st.text(f"“{group.captions[j]}”")


def _distance(scores: np.ndarray, index: int, digits: int, names: list[str], what: str) -> str:
    """How far one score of a row or a column is from the best of the others; "" where there is no other.

    scores : as they are shown. what : what the others are, `caption of image A`.
    """
    if len(scores) < 2:
        return ""
    others = np.delete(np.arange(len(scores)), index)
    top = scores[others].max()
    best = " and ".join(names[other] for other in others if scores[other] == top)
    distance = abs(scores[index] - top)
    if scores[index] > top:
        return f"**{distance:.{digits}f} above {best}**, the next best {what},"
    way = f"{distance:.{digits}f} below" if scores[index] < top else "the same as"
    return f"**{way} {best}**, the best {'' if scores[index] < top else 'other '}{what},"


def heatmap(data: GroupData, pair: str | None) -> alt.Chart:
    """Clickable cells: selection `cell` names image and caption.

    pair : `A–1`, whose cell has a ring; None for no ring.
    """
    dark = st.context.theme.type == "dark"
    cells = [cell for row in group_html.matrix_cells(data, dark) for cell in row]
    rows = [
        {
            **cell._asdict(),
            "text": f"{cell.score} {cell.signs}",
            "description": cell.description,
            "ring": cell.ink if f"{cell.image}–{cell.caption}" == pair else "transparent",
        }
        for cell in cells
    ]
    cell = alt.selection_point(name="cell", fields=["image", "caption"], on="click", empty=False)
    x = alt.X(
        "caption:N",
        title="caption",
        axis=alt.Axis(orient="top", labelAngle=0),
        scale=alt.Scale(paddingInner=0.06, paddingOuter=0.02),  # outlines are not cut at the edge
    )
    y = alt.Y("image:N", title="image", scale=alt.Scale(paddingInner=0.06, paddingOuter=0.05))
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y)
    hand: dict[str, Any] = {"cursor": "pointer", "strokeWidth": 4, "cornerRadius": 5}
    rects = base.mark_rect(**hand).encode(
        fill=alt.Fill("fill:N", scale=None),
        stroke=alt.Stroke("edge:N", scale=None),
        tooltip=alt.value(None),
        description="description:N",
    )
    texts = base.mark_text(fontSize=15, fontWeight=600, aria=False).encode(
        text="text:N", color=alt.Color("ink:N", scale=None)
    )
    inside: dict[str, Any] = {"width": alt.RelativeBandSize(0.86), "height": alt.RelativeBandSize(0.78)}
    ring = base.mark_rect(fill=None, strokeWidth=2, cornerRadius=4, aria=False, **inside).encode(
        stroke=alt.Stroke("ring:N", scale=None), tooltip=alt.value(None)
    )
    return alt.layer(rects.add_params(cell), ring, texts).properties(height=42 * len(data.scores) + 82)


# --- the page ----------------------------------------------------------------------------------------------------


def page(selection: ui.Selection) -> None:
    evaluation = ui.evaluate(selection)
    if selection.is_file:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(escape_markdown(selection.groups.description), width="content")
            way_to_texts(selection.groups)
    ids = list(evaluation.ids)
    group = asked_group()
    if group in ids:
        ui.keep_in_address(GALLERY_FIELDS)
        keep_filters_of_link(evaluation)
        detail(selection, evaluation, ids.index(group))
    else:
        gallery(selection, evaluation)
        text_only_section(selection, evaluation)
    ui.cite(selection.selected_groups)


def way_to_texts(groups: GroupSet) -> None:
    """Where a file only names its captions, the way to add texts and pictures."""
    if has_captions(groups[0]) or is_public():  # which takes no pictures
        return
    ui.page_button(
        "Add captions and pictures", "pages/8_Your_Data.py", {"way": WAY_IMAGES}, icon=":material/add_photo_alternate:",
        type="tertiary",
        help="Add them as a set with the same ids under “Images and captions”; then select that set, and this file as "
        "the model.",
    )  # fmt: skip


def keep_filters_of_link(evaluation: Evaluation) -> None:
    """Where a link opened the group, no field of the gallery has been drawn: what the address says of them is kept as
    theirs is, beyond a visit to other pages. What a field does not know stays for the gallery to say."""
    options = {
        "verdict": group_filters.verdict_options(evaluation),
        "sort": group_filters.ORDERS,
        "layout": (CARDS, TABLE),
        "file_layout": (CARDS, TABLE),
    }
    for key, default in GALLERY_FIELDS.items():
        said = st.query_params.get_all(key)
        if not said or key in st.session_state or not all(name in options.get(key, said) for name in said):
            continue
        if isinstance(default, bool):
            st.session_state[key] = said[-1] == "true"
        elif not isinstance(default, int):
            st.session_state[key] = said if isinstance(default, list) else said[-1]
        elif said[-1].isdecimal() and len(said[-1]) < 7:
            st.session_state[key] = max(1, int(said[-1]))


def metrics_figure(evaluation: Evaluation) -> go.Figure:
    """Every metric of the selected groups as bars."""
    return figures.bars_figure(figures.bars_data({"": evaluation.metrics}, list(evaluation.metrics)))


def asked_group() -> str | None:
    """The group that was clicked, or that the address names."""
    return st.session_state.get("group", st.query_params.get("group"))


selection = ui.open_page("Groups", lambda: "" if asked_group() else LEAD)
with ui.show_errors():
    page(selection)
