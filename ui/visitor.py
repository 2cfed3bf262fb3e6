"""Whose browser this is, in public mode: a visitor sees, stops and deletes only the runs that this browser started."""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from core.base import files
from core.base.errors import InputError
from core.base.gate import LOCAL, hashed
from core.base.public_mode import GAVE_WAY, check_quota, is_public, runs_over_quota
from core.runs.store import Run, RunStore

# Two tabs that start a run at the same instant are admitted one after the other.
_admission = threading.RLock()
_COOKIE = "_streamlit_xsrf"  # Streamlit sets it in every browser; it lives as long as the browser is open
_NARROW = "crossmatch_narrow"


def owner() -> str | None:
    """An opaque name for this browser; None outside public mode, where all runs are everybody's."""
    if not is_public():
        return None
    token = _token(st.context.cookies.get(_COOKIE, ""))
    if token is None:  # a browser without cookies: at least this session keeps its own runs
        token = st.session_state.setdefault("visitor", secrets.token_hex(16)).encode()
    return hashlib.sha256(b"visitor " + token).hexdigest()[:20]


def _token(cookie: str) -> bytes | None:
    """The token inside the cookie, which is masked anew on every page load (`2|mask|masked token|time`)."""
    try:
        _, mask, masked, _ = cookie.split("|")
        key, token = bytes.fromhex(mask), bytes.fromhex(masked)
    except ValueError:
        return None
    return bytes(byte ^ key[i % len(key)] for i, byte in enumerate(token)) if key and token else None


def address() -> str | None:
    """An opaque name for where this browser is (`core.base.gate` decides whom to believe); None outside public mode."""
    if not is_public():
        return None
    host = st.context.ip_address
    return hashed(host if isinstance(host, str) else LOCAL)  # of this machine Streamlit says none


def on_phone() -> bool:
    """Whether the page is for a phone: the browser says that it is one's, or its window was as narrow when the page was
    loaded (.streamlit/start.js tells so by a cookie)."""
    is_mobile = "Mobi" in str(st.context.headers.get("User-Agent", ""))
    return is_mobile or st.context.cookies.get(_NARROW) == "1"


class VisitorStore(RunStore):
    """The run store as this visitor may use it: sees the own runs in lists, opens any by its link, changes the own."""

    def __init__(self) -> None:
        super().__init__()
        self._owner, self._address = owner(), address()

    def list(self, kind: str | None = None, owner: str | None = None) -> list[Run]:
        return super().list(kind, owner or self._owner)

    def create(
        self,
        kind: str,
        title: str,
        config: dict[str, Any],
        owner: str | None = None,
        address: str | None = None,
        **more: Any,
    ) -> Run:
        with _admission:
            self._admit(super().list(), config)
            who = owner or self._owner
            made = super().create(kind, title, config, who, self._address, **more)
            for run_id in runs_over_quota(super().list(), lambda run: files.folder_size(self.folder(run.id))):
                super().delete(run_id)
        return made

    def _admit(self, others: Sequence[Run], config: Mapping[str, Any]) -> None:
        for run in check_quota(others, self._owner, config, self._address):
            super().give_up(run.id, GAVE_WAY)

    def queue_up(self, run_id: str, queue: str | None = None) -> int:
        self._check_mine(run_id)
        with _admission:  # a run that is resumed is one more, as a new one would be
            others = [run for run in super().list() if run.id != run_id]
            self._admit(others, self.get(run_id).config)
            return super().queue_up(run_id, queue)

    def request_stop(self, run_id: str) -> Run:
        self._check_mine(run_id)
        return super().request_stop(run_id)

    def rename(self, run_id: str, title: str) -> None:
        self._check_mine(run_id)
        super().rename(run_id, title)

    def delete(self, run_id: str) -> None:
        self._check_mine(run_id)
        super().delete(run_id)

    def owns(self, run: Run) -> bool:
        """Whether this visitor may change the run: stop, resume, rename or delete it."""
        return not is_public() or run.owner == self._owner

    def _check_mine(self, run_id: str) -> None:
        if not self.owns(self.get(run_id)):
            raise InputError("This run was started in another browser; here you can only view it.")
