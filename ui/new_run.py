"""What the form of a new run begins with: what the run on screen was of, unless another was chosen since."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.base.public_mode import is_public
from core.ttm.defaults import absolute_name
from ui.loaders import model_source
from ui.selection import model_names, shared_parameters
from ui.uploads import upload_of

_ON_SCREEN = "run_on_screen"  # in the session
_CHOSEN = ("set", "split", "model")


class _RunOnScreen(NamedTuple):
    name: str  # of a run, or of a group of seeds
    of: dict[str, Any]  # what it was of, as widgets of the selection have it
    selected: dict[str, Any]  # what was selected when it was opened


def note_run_on_screen(name: str, config: Mapping[str, Any]) -> None:
    """A run is shown. config : its own, or that of the first of its group."""
    last = st.session_state.get(_ON_SCREEN)
    if last is None or last.name != name:
        st.session_state[_ON_SCREEN] = _RunOnScreen(name, _what_it_was_of(config), _selected())


def begin_with_run_on_screen() -> None:
    """Before the page with the form is opened: its fields get what the last run on screen was of. What somebody has
    selected since then stays, and so does what a button or a step back brings."""
    state, context = st.session_state, get_script_run_ctx()
    last = state.pop(_ON_SCREEN, None)
    brought = "carried" in state or (context is not None and context.is_history_navigation)
    if last is None or not last.of or brought or _selected() != last.selected:
        return
    state.pop("replaced_model", None)  # of a page that could not use the model selected there
    state["carried"] = last.of


def _selected() -> dict[str, Any]:
    shared = shared_parameters(chosen=True)
    return {key: shared[key] for key in _CHOSEN if key in shared}


def _what_it_was_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """{} where that cannot be selected any more."""
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
