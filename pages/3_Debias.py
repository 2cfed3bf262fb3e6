"""Debias: the language prior in a captioner's scores, alpha that takes it out, and text-only baselines."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import ui
from core.figures.text import escape_markdown
from core.groups import GroupSet
from ui import debias, debias_alpha, debias_views
from ui.navigation import DEBIAS_VIEWS, RETRIEVAL_VIEWS
from ui.old_links import mark_address, warn_without_effect
from ui.retrieval_files import own_retrieval_set
from ui.selection import shared_parameters
from ui.uploads import is_upload
from ui.views import read_view, view_field

LEAD = (  # one line of a laptop and two of a phone, whose figure has the height of another one
    "A captioner's score favours sentences that are common anyway: **alpha** takes that out "
    "([lesson 4](Lessons?lesson=alpha))."
)
# As the page shows them and as the address has them; `ui.old_links` has what they were called before.
ALPHA, PRIOR, BLIND, WORDS, SAMPLES, RETRIEVAL, TRAINSET = VIEWS = DEBIAS_VIEWS
_FIELD = "view-on-a-phone"
_ASKS = {  # a view as one line of a phone's field, whole at 390 pixels beside its number and both arrows
    ALPHA: "What does alpha gain?",
    PRIOR: "Which captions are common?",
    BLIND: "Is text alone enough?",
    WORDS: "Where does the image count?",
    SAMPLES: "How many images needed?",
    RETRIEVAL: "Among all captions",
    TRAINSET: "On its training set",
}


def usable_views(selection: ui.Selection | None, asked: str) -> list[str]:
    """What the control offers: of a file not what reads captions, unless a link asks for it, which then says what it
    needs. A view that shows no selection offers the same for the one that waits."""
    is_file = selection.is_file if selection else _waits("set")
    has_file = bool(selection.file) if selection else _waits("model")
    left_out = {WORDS, BLIND} if is_file else {WORDS} if has_file else set()
    return [view for view in VIEWS if view not in left_out or view == asked]


def _waits(field: str) -> bool:
    """Whether a file is chosen in a field of the selection, which this view does not show."""
    said = shared_parameters().get(field) or ""
    return is_upload(said if isinstance(said, str) else said[-1])


def views_or_field(views: list[str]) -> str:
    """The views as buttons, and as one field in their place on a phone, where seven buttons took two lines."""
    view = view_field("view", views, label_visibility="collapsed", width="content")
    st.session_state[_FIELD] = view
    with st.container(horizontal=True, gap="xxsmall", key="views-on-a-phone"):
        step_button("Previous view", "left", views, view, -1)
        st.selectbox(
            "View",
            views,
            format_func=lambda name: f"{views.index(name) + 1}/{len(views)} {_ASKS[name]}",
            key=_FIELD,
            on_change=lambda: st.session_state.update(view=st.session_state[_FIELD]),
            label_visibility="collapsed",
            filter_mode=None,  # nor a keyboard, which covers half of a phone
        )
        step_button("Next view", "right", views, view, 1)
    return view


def step_button(label: str, side: str, views: list[str], view: str, step: int) -> None:
    """Beside a phone's field, which alone looked like one of a form: the view before or after this one."""
    place = views.index(view) + step
    is_there = 0 <= place < len(views)
    st.button(
        label,
        icon=f":material/chevron_{side}:",
        key=f"view-to-the-{side}",
        disabled=not is_there,
        on_click=st.session_state.update,
        kwargs={"view": views[place]} if is_there else {},
    )


def page(selection: ui.Selection | None) -> None:
    ui.warn_unknown("view", [asked.unknown], VIEWS)
    # One line on a laptop; on a phone the style has the views above all else, as one field.
    bar = st.container(horizontal=True, vertical_alignment="center", gap="small", key="debias-views")
    with bar:
        view = views_or_field(usable_views(selection, asked.name))
    if selection is None:
        (debias_views.trainset_view if view == TRAINSET else debias_views.retrieval_view)()
        if view == RETRIEVAL:
            own_retrieval_set()
        ui.cite(None, ("VGPT",))
        return
    if view == BLIND:
        blind(selection)
    elif selection.file:
        file_debiased(selection, view, bar)
    else:
        debiased(selection, view, bar)
    ui.cite(selection.selected_groups, ("VGPT",))


def blind(selection: ui.Selection) -> None:
    """What a text-only model makes of the captions; a file has none."""
    if selection.is_file:
        line = f"A text-only model reads captions, and {selection.groups.title} has none."
        ui.offer_nearest(line, "Show its metrics on Matching", "pages/2_Matching.py", {})
    else:
        if line := debias.other_views_line(selection.model):
            st.caption(f":material/swap_horiz: {escape_markdown(line)}")
        debias_views.blind_view(selection)


def file_debiased(selection: ui.Selection, view: str, bar: DeltaGenerator) -> None:
    """The views of a file of log P(t | image) with its language prior, which can be changed beside them."""
    if view == WORDS:
        line = "Words are scored by a captioner that is shown the image; a file holds the scores of whole captions."
        ui.offer_nearest(line, f"Show {debias.CAPTIONER}", "pages/3_Debias.py", debias.captioner_state())
        return
    inputs = debias.file_inputs(selection, bar)
    if inputs is not None:
        debiased_views(inputs, selection.selected_groups, view)


def debiased(selection: ui.Selection, view: str, bar: DeltaGenerator) -> None:
    """The views that need a captioner and its prior, whose source is chosen beside them."""
    model, groups = debias.captioner(selection), selection.selected_groups
    if view == WORDS:
        debias_views.tokens_view(model, groups)
        return
    told = st.container()
    with bar.popover("Source of log P(t)", icon=":material/tune:"), ui.checked_numbers(told) as wrong:
        prior = debias.pick_prior(selection.benchmark)
    if wrong:
        line = f"To see a result, change the source of log P(t): {' '.join(wrong)}"
        st.info(escape_markdown(line), icon=":material/tune:")
        return
    inputs = debias.debias_inputs(selection, model, prior)
    debiased_views(inputs, groups, view)


def debiased_views(inputs: debias.DebiasInputs, groups: GroupSet, view: str) -> None:
    if view == PRIOR:
        debias_views.prior_view(inputs, groups)
    elif view == SAMPLES:
        debias_views.samples_view(inputs, groups)
    else:
        debias_alpha.alpha_section(inputs, groups)
        debias_alpha.protocol(inputs, groups)
        debias_views.other_methods()


debias.first_visit()
ui.restore_carried_state()  # by a button of another view: the selection depends on the view
asked = read_view("view", VIEWS, elsewhere=RETRIEVAL_VIEWS)
shipped = "Shipped results, which no selection changes" if asked.name in (TRAINSET, RETRIEVAL) else ""
if not shipped:
    debias.keep_first_set()
selection = ui.open_page(
    "Debias",
    LEAD,
    instead=shipped,
    nearest_model=None if asked.name == BLIND else debias.nearest_captioner,
    chosen_why="" if asked.name == BLIND else debias.opening_line(),
)
warn_without_effect(
    dict.fromkeys(("batch", "end"), "it is an option of the model's score; choose it beside the model")
)
with ui.show_errors(), st.container(key="debias-page"):
    page(selection)
    mark_address(debias.WITHOUT_SET)
