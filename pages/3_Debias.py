"""Debias: the language prior in a captioner's scores, alpha that takes it out, and text-only baselines."""

from __future__ import annotations

import streamlit as st

import ui
from ui import debias, debias_alpha, debias_views

LEAD = (
    "A captioner scores a caption by how likely it is to write it: log P(t | image). Part of that is how common the "
    "words are, whatever the image shows. **Alpha** removes that part: log P(t | image) − α · log P(t)."
)
# As the page shows them and as the address has them.
ALPHA, PRIOR, BLIND, WORDS, SAMPLES, RETRIEVAL, TRAINSET = VIEWS = (
    "alpha",
    "language prior",
    "blind check",
    "words",
    "samples",
    "retrieval",
    "training set",
)


def page(selection: ui.Selection) -> None:
    view = st.segmented_control(
        "View",
        VIEWS,
        default=ALPHA,
        key="view",
        bind="query-params",
        required=True,
        label_visibility="collapsed",
    )
    groups = selection.selected_groups
    if view in (TRAINSET, RETRIEVAL):
        st.caption("These results are shipped with Crossmatch; the sidebar's selection does not change them.")
    if view == TRAINSET:
        debias_views.trainset_view()
    elif view == RETRIEVAL:
        debias_views.retrieval_view()
    elif view == BLIND:
        debias_views.blind_view(selection)
    else:
        debiased(selection, view or ALPHA)
    ui.cite(groups, ("VGPT",))


def debiased(selection: ui.Selection, view: str) -> None:
    """The views that need a captioner and its prior."""
    model, groups = debias.captioner(selection), selection.selected_groups
    if view == WORDS:
        debias_views.tokens_view(model, groups)
        return
    inputs = debias.debias_inputs(selection, model, *debias.pick_prior(selection.benchmark))
    if view == PRIOR:
        debias_views.prior_view(inputs)
    elif view == SAMPLES:
        debias_views.samples_view(inputs)
    else:
        debias_alpha.alpha_section(inputs.study, groups)
        debias_alpha.protocol(inputs.study)


selection = ui.open_page("Debias", LEAD)
with ui.show_errors():
    page(selection)
