"""Options of a captioner's score: a form whose answer is another name of the model, and the noise of its prior."""

from __future__ import annotations

import streamlit as st

from core.base import public_mode
from core.scorers.score_options import ScoreOptions
from core.scoring.load import scorer_kind
from ui.loaders import model_source
from ui.selection import select

_OWN = "its family's own"
_NOISE = ("noise_mean", "noise_std")  # in the address


def score_options(model: str) -> None:
    """The form, closed at first; visitors of a public server choose no options."""
    if public_mode.is_public():
        return
    box = st.expander("Score options", icon=":material/tune:", key="score-options", on_change="rerun")
    if box.open:
        with box:
            _form(model)


def noise_pixels() -> tuple[float | None, float | None]:
    """Mean and standard deviation of noise images as the form or the address says; None for the model's own."""
    mean, std = (_number(name) for name in _NOISE)
    return mean, std


def _number(name: str) -> float | None:
    if public_mode.is_public():
        return None
    try:
        return float(st.query_params.get(name, ""))
    except ValueError:
        return None


def _form(model: str) -> None:
    plain, options = ScoreOptions.split(model)
    kind = scorer_kind(model_source(plain))
    with st.form("score-options-form", border=False):
        given: dict[str, object] = {}
        first, second = st.columns(2)
        given["prompt"] = first.text_input(
            "Caption prompt",
            options.get("prompt", ""),
            placeholder=_OWN,
            help="What stands before the caption.",
        )
        ends = [_OWN, "yes", "no"]
        end = second.selectbox(
            "End token counts",
            ends,
            ends.index(options.get("end", _OWN)),
            help="BLIP and T5: yes; others: no.",
        )
        given["end"] = "" if end == _OWN else end
        given["device"] = first.text_input(
            "Device", options.get("device", ""), placeholder="auto, cpu, cuda:1"
        )
        given["batch"] = second.text_input("Batch", options.get("batch", ""), placeholder="as many as fit")
        labels = zip(_NOISE, ("Mean of noise images", "Standard deviation of noise images"), strict=True)
        noise = {
            name: column.number_input(label, value=_number(name), step=None, placeholder="the model's own")
            for column, (name, label) in zip((first, second), labels, strict=True)
        }
        if not st.form_submit_button("Use these options"):
            return
    for name, value in noise.items():
        st.query_params.pop(name, None)
        if value is not None:
            st.query_params[name] = str(value)
    rest = {name: value for name, value in options.items() if name not in given}
    asked = {name: value for name, value in given.items() if value and ScoreOptions.changes(name, kind)}
    select(model=ScoreOptions.named(plain, **rest, **asked))
