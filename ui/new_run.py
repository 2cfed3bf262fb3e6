"""What the form of a new run begins with: the selection and its preset, or every setting of a run that is run again."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import streamlit as st
from streamlit.errors import StreamlitAPIException

from core.base.public_mode import is_public
from core.runs.store import Run
from core.ttm.config import PRESETS
from core.ttm.defaults import absolute_name
from core.ttm.run import AdaptationRun, LedgerRun, SimpleMatchRun, adaptation
from ui.loaders import model_source
from ui.runs import NEW, open_run
from ui.selection import model_names
from ui.ttm_form import METHODS
from ui.ttm_preset import VARIANTS, values_of
from ui.uploads import upload_of

AGAIN = "Reuse settings"  # the button
_AGAIN = "settings_of"  # in the session: the run whose settings the form has


class _Again(NamedTuple):
    title: str
    job: AdaptationRun


def new_run_button() -> None:
    """The form with the selection and the settings of its preset."""
    st.button("New run", on_click=_open_form, icon=":material/add:")


def run_again_button(run: Run, title: str) -> None:
    """The form with all that this run was of; nothing where that cannot be selected here any more.

    run : itself, or the first of several seeds. title : of the run, or of all its seeds.
    """
    if run.kind == LedgerRun.kind or not _what_it_was_of(run.config):
        return
    st.button(
        AGAIN,
        on_click=_open_form,
        args=(run.config, title),
        icon=":material/tune:",
        help="Opens the form with these settings: set, model, method and numbers. “Add seeds” runs it again at once.",
    )


def _open_form(config: Mapping[str, Any] | None = None, title: str = "") -> None:
    """From a callback. config : of the run whose settings it gets; None: the preset's."""
    open_run(NEW)
    forget_settings()
    if config is None:
        return
    job = adaptation(config)
    st.session_state.pop("suited", None)  # else another set than the form's last one resets the preset
    st.session_state["carried"] = {**_what_it_was_of(config), **_settings_of(job)}
    st.session_state[_AGAIN] = _Again(title, job)


def forget_settings() -> None:
    """A run is on screen, or the form is asked for by itself: no field and no address has them any more."""
    again = st.session_state.pop(_AGAIN, None)
    for key in {} if again is None else _settings_of(again.job):
        st.session_state.pop(key, None)
        with suppress(StreamlitAPIException):  # a field that the page still draws takes it out itself
            st.query_params.pop(key, None)


def settings_said(job: AdaptationRun) -> str:
    """Whose settings the form has, "" where it has the preset's. job : what it describes."""
    again = st.session_state.get(_AGAIN)
    if again is None:
        return ""
    if job.key == again.job.key:
        return f"Settings of {again.title}, with seed {job.settings.seed}."
    return f"Begun with the settings of {again.title}, and changed since."


def _settings_of(job: AdaptationRun) -> dict[str, Any]:
    """Every widget of the form, by key, as this run has it."""
    kind = "simplematch" if isinstance(job, SimpleMatchRun) else "ttm"
    values = {key: value for key, value in values_of(job.settings).items() if (key, value) != ("tau1", None)}
    values |= {"method": next(name for name, method in METHODS.items() if method == kind), "n": job.groups}
    values |= {"device": job.device, "transfer": job.adapt_on is not None}
    if job.preset in PRESETS:
        values["preset"] = job.preset
    if job.oracle:
        values["variant"] = VARIANTS[2]
    if job.adapt_on is not None:
        values |= {"adapt_on": round(100 * job.adapt_on), "split_seed": job.split_seed}
    return values | ({"scale": job.scale} if job.embeddings else {})


def _what_it_was_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """What the sidebar has to select; {} where that cannot be selected any more."""
    shape = {"shape": config["shape"]} if config.get("shape") else {}
    if config.get("embeddings"):
        file = upload_of(config["embeddings"])
        return {"set": file, "tag": [], **shape} if file else {}
    if not config.get("benchmark"):
        return {}
    split, tags = config.get("split", "test"), list(config.get("tags") or [])
    model = _as_selected(config.get("model", ""))
    named = {"model": model} if model else {}
    return {"set": config["benchmark"], "split": split, "tag": tags, **named, **shape}


def _as_selected(source: str) -> str:
    """The name in the sidebar of a run's model: a run knows a folder by its path. "" where nobody may select it."""
    names = model_names()
    listed = (name for name in names if absolute_name(model_source(name)) == source)
    return source if source in names else next(listed, "" if is_public() else source)
