"""Open pages whose visitors wait for nothing, emptied of what they hold; it is read again when somebody returns.

A session holds its page's fragments, the callbacks of its fields, those of earlier pages among them, and the functions
behind its downloads; each of them leads to all that the page has in memory. Streamlit gives none of them up before the
session ends, and has no public way to ask for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.base.errors import InputError

_AGAIN = (
    "This page had made room for other visitors' files and has been read again; repeat what you did last."
)


def session_id() -> str | None:
    """Of the page that asks; None outside of a page."""
    ctx = get_script_run_ctx(suppress_warning=True)
    return None if ctx is None else ctx.session_id


def put_aside(sessions: Iterable[str]) -> None:
    """Empty the pages of these sessions, but for those whose script is at work and for the one that asks."""
    if not runtime.exists():
        return
    server, own = runtime.get_instance(), session_id()
    for name in sessions:
        info = server._session_mgr.get_session_info(name)
        session = None if info is None or name == own else info.session
        if isinstance(session, AppSession) and session._state != AppSessionState.APP_IS_RUNNING:
            _empty(session, server.media_file_mgr)


def _empty(session: AppSession, downloads: MediaFileManager) -> None:
    fragments: Any = session._fragment_storage
    with fragments._lock:
        for name in fragments._fragments:
            fragments._fragments[name] = _read_again
    fields = session.session_state._new_widget_state.widget_metadata
    for name, field in list(fields.items()):
        if field.callback is not None:
            fields[name] = replace(field, callback=_say_so, callback_args=None, callback_kwargs=None)
    with downloads._lock:
        for name in downloads._deferred_ids_by_session.get(session.id, ()):
            with suppress(KeyError):
                downloads._deferred_callables[name]["callable"] = _not_there


def _read_again() -> None:
    """In place of a fragment: the whole page."""
    st.rerun()


def _say_so(*args: object, **more: object) -> None:
    """In place of what a field would do: its page runs all the same."""
    st.toast(_AGAIN)


def _not_there() -> bytes:
    """In place of a download."""
    raise InputError("This page has made room for other visitors' files; reload it, then download.")
