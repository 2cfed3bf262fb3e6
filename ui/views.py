"""The views of a page: which one is shown is in the address, and every change of it is a step of the back button.

Streamlit changes the address of a field with `bind` in the browser and makes no step of it, and such a field writes
its view over the address that Back leads to. These fields are not bound: the page reads and writes the address.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ui.old_links import present_name


class View(NamedTuple):
    """The view to show, and what the address named in place of one, if anything."""

    name: str
    unknown: str = ""


def read_view(key: str, views: Sequence[str], default: str = "", elsewhere: Collection[str] = ()) -> View:
    """The view to show, before its field is drawn; the address says it from now on, unless it is the default.

    key : of the field and in the address. default : the first view unless given. elsewhere : views of other pages by
    the same key, which a reader may come with: they count as none.
    """
    state, default = st.session_state, default or views[0]
    asked = present_name(key, _in_address(key))
    chosen = present_name(key, state.get(key) or "")
    if chosen not in views or _came_back() is not None:
        chosen = asked if asked in views else default
    state[key] = chosen
    if chosen == default:
        st.query_params.pop(key, None)
    elif st.query_params.get(key) != chosen:
        st.query_params[key] = chosen
    return View(chosen, "" if asked in ("", *views, *elsewhere) else asked)


def view_field(key: str, views: Sequence[str], label: str = "View", **layout: Any) -> str:
    """The field of a page's views, whose state `read_view` has set. layout : what else `st.segmented_control` takes."""
    return str(st.segmented_control(label, views, key=key, required=True, **layout))


def came_back_to(key: str) -> str | None:
    """What the address says of something where a step back, or forward, led to it; None of every other run."""
    return None if _came_back() is None else _in_address(key)


def _in_address(key: str) -> str:
    """What the address says; after a step back that of the step, which `st.query_params` may lack still."""
    query = _came_back()
    return st.query_params.get(key, "") if query is None else parse_qs(query).get(key, [""])[-1]


def _came_back() -> str | None:
    """The query of the address that a step back, or forward, led to; None of every other run of the page."""
    context = get_script_run_ctx()
    return context.query_string if context is not None and context.is_history_navigation else None
