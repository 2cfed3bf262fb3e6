"""Options of a model's score beside the field that names it: a form whose answer is the name with its options."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.base import public_mode
from core.base.errors import InputError
from core.scorers.null_images import DEFAULT_NULL_COUNT, MASS_NULL_COUNT
from core.scorers.score_kinds import QUESTION
from core.scorers.score_options import ScoreOptions
from core.scoring.load import scorer_kind
from ui.loaders import model_source
from ui.uploads import is_upload

_OWN = "its family's own"
_END = "end"
# Option -> its field: label, what an empty one stands for, help.
_FIELDS = {
    "prompt": ("Caption prompt", _OWN, "What stands before the caption."),
    "image_prompt": ("Image prompt", "the model's own", "Words, or the name of one of the model's prompts."),
    _END: ("End token counts", _OWN, "BLIP and T5: yes; others: no."),
    "question": ("VQA question", QUESTION, f"{{caption}} stands for the caption. Empty: {QUESTION}"),
    "mean": ("Mean of noise images", "the model's own", "In the model's normalised pixels."),
    "std": ("Standard deviation of noise images", "the model's own", "In the model's normalised pixels."),
    "count": ("Noise images", f"{DEFAULT_NULL_COUNT}, of MASS {MASS_NULL_COUNT}", "How many are averaged."),
    "device": ("Device", "auto, cpu, cuda:1", "Where the model runs."),
    "batch": ("Batch", "as many as fit", "Captions and images that pass the model at once at most."),
}


def score_options(model: str | None, key: str) -> str | None:
    """The form, closed at first, where the model's score has options; the name with those that were chosen just now.

    key : of the field that names the model. Visitors of a public server choose no options, and files have none.
    """
    if model is None or is_upload(model) or public_mode.is_public():
        return None
    try:
        plain, options = ScoreOptions.split(model)
        kind = scorer_kind(model_source(plain))
    except InputError:  # the page says what is wrong with the name
        return None
    names = [name for name in _FIELDS if ScoreOptions.changes(name, kind)]
    if not names:
        return None
    box = st.expander("Score options", key=f"{key}-options", on_change="rerun")
    if not box.open:
        return None
    with box, st.form(f"{key}-options-form", border=False):
        given = {name: _field(name, options) for name in names}
        if not st.form_submit_button("Use these options"):
            return None
    return ScoreOptions.named(plain, **{name: value for name, value in given.items() if value})


def _field(name: str, options: ScoreOptions) -> Any:
    """One field with what the name says now; an empty one is left out of the name."""
    label, empty, about = _FIELDS[name]
    now = options.get(name, "")
    if name == _END:
        choices = [empty, "yes", "no"]
        chosen = st.selectbox(label, choices, choices.index(now) if now in choices else 0, help=about)
        return "" if chosen == empty else chosen
    return st.text_input(label, now, placeholder=empty, help=about).strip()
