"""The web server around the pages: limits for strangers, spellings of pages, and errors outside of any page."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import streamlit as st
from google.protobuf.message import DecodeError
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import runtime
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

from core.base.errors import InputError
from core.base.gate import Gate
from core.base.processes import limit_malloc
from core.base.public_mode import MAX_UPLOAD_BYTES, Held, beyond, is_public
from core.exchange.uploads import UploadStore
from core.runs.standby import standby_worker
from ui.models_ready import models_ready
from ui.navigation import NO_PAGE, PAGES
from ui.page import STYLE, show_error

UPLOAD = r".*/_stcore/upload_file/"
CLOSED = r".*/_stcore/(metrics|agent)"  # what only whoever runs the server has a use for
# Messages for whoever runs the server: the first one empties the caches of all visitors.
_OWNERS = {"clear_cache", "set_run_on_save", "debug_disconnect_websocket", "debug_shutdown_runtime"}
_TRIM_SECONDS = 15.0  # between peaks the heaps of many visitors keep about 100 MB that nobody uses
log = logging.getLogger("crossmatch.server")


def options() -> dict[str, Any]:
    """What `st.App` is made with; in public mode a gate stands before everything."""
    gate = Middleware(Gate, uploads=UPLOAD, closed=CLOSED, brought=Uploads().brought, states=widget_states)
    return {
        "middleware": [
            *([gate] if is_public() else []),
            Middleware(EndedEarly),
            Middleware(PageNames),
            Middleware(StyledDocument),
        ],
        "on_script_error": show_outside_error,
        "lifespan": _started,
    }


def widget_states(message: bytes) -> int:
    """How many values of widgets a browser's message holds; more than any page has for what no visitor has to send.

    That is what is no message, of which Streamlit would write a traceback, and what would be done to everybody.
    """
    try:
        found = BackMsg.FromString(message)
    except DecodeError:
        return sys.maxsize
    if found.WhichOneof("type") in _OWNERS:
        return sys.maxsize
    return len(found.rerun_script.widget_states.widgets)


def show_outside_error(error: Exception) -> bool:
    """Show an error that no page's guard has seen, of what a browser sent or of a button; True: that is all to show."""
    if isinstance(error, InputError):
        show_error(error)
    else:
        # One line: whoever sends such values by the thousand fills no log with tracebacks.
        log.error("outside of a page: %s", error, exc_info=None if is_public() else error)
        st.error("A field of this page received a value that it does not accept; reload the page.")
    return True


@asynccontextmanager
async def _started(_app: st.App) -> AsyncIterator[None]:
    """At the start: what a public server writes is its owner's alone; anywhere else a browser opens, as usual.

    As long as it runs, a worker may stand by for the next run.
    """
    trimming: asyncio.Task[None] | None = None
    tidying: asyncio.Task[None] | None = None
    if is_public():
        os.umask(0o077)
        trimming = asyncio.create_task(_every(_TRIM_SECONDS, limit_malloc(2)))
        tidying = asyncio.create_task(asyncio.to_thread(_tidy))
    elif not st.get_option("server.headless"):
        webbrowser.open(f"http://localhost:{st.get_option('server.port')}")
    with standby_worker(), models_ready():
        yield
    if tidying is not None:
        await tidying
    if trimming is not None:
        trimming.cancel()


def _tidy() -> None:
    try:
        UploadStore().tidy()
    except OSError:  # a disk that does not let; the next upload says so
        log.exception("old uploads could not be deleted")


async def _every(seconds: float, work: Callable[[], object]) -> None:
    while True:
        await asyncio.sleep(seconds)
        await asyncio.to_thread(work)


class EndedEarly:
    """A browser that has gone is no mistake of the app, whenever it went.

    Before its connection was accepted, uvicorn passes over the acceptance and takes the first message for a mistake, of
    which Streamlit would write a traceback for each. An OSError is how the protocol says that nobody listens any more;
    what is asked of the connection after that is no mistake either.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = False

        async def send_if_there(message: Message) -> None:
            nonlocal gone
            try:
                await send(message)
            except OSError:
                gone = True
                raise
            except RuntimeError as error:
                if message["type"] != "websocket.send":
                    raise
                gone = True
                raise OSError("the connection has ended") from error

        try:
            await self._app(scope, receive, send_if_there)
        except RuntimeError:
            if not gone:
                raise


class PageNames:
    """The address of a page in other letters, `/lessons` or `/your-data`, leads to that page; Streamlit knows one
    spelling of each. That of no page leads to Home, which says so: Streamlit would cover it with a dialog."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        names = (
            Path(file).stem.partition("_")[2] for file in PAGES
        )  # "" for Home, which is no file of its own
        self._pages = {_plain(name or "Home"): name for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope["type"] == "http"
            and scope["method"] == "GET"
            and "text/html" in Headers(scope=scope).get("accept", "")
        ):
            path = scope["path"].rstrip("/")
            asked = path.rpartition("/")[2]
            name = self._pages.get(_plain(asked), "" if self._is_no_page(path) else asked)
            if name != asked:
                up = (
                    "../" if scope["path"] != path else "./"
                )  # relative: a proxy may have taken a prefix away
                query = scope["query_string"].decode("latin-1")
                if _plain(asked) not in self._pages:
                    query = urlencode({NO_PAGE: asked[:40]})
                await RedirectResponse(f"{up}{name}{f'?{query}' if query else ''}")(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _is_no_page(self, path: str) -> bool:
        """Whether somebody looks for a page under a name that none has, and for no file of the server."""
        base = str(st.get_option("server.baseUrlPath") or "").strip("/")
        name = path.strip("/").removeprefix(base).strip("/")
        return bool(re.fullmatch(r"[\w-]+", name)) and _plain(name) not in self._pages


def _plain(name: str) -> str:
    """A page's name without what people write in several ways."""
    return re.sub(r"[\W_]", "", name).casefold()


class StyledDocument:
    """The look of the pages, and what is to happen before they are drawn, are in the document that the browser loads
    first: a style that is sent with a page's first elements would move those that are already drawn."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        style, script = ((STYLE / name).read_bytes() for name in ("style.css", "start.js"))
        # In the body: Streamlit adds its own rules to the head, and of two that weigh the same the later one wins.
        self._look = b"<style>" + style + b"</style><script>" + script + b"</script>"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or "text/html" not in Headers(scope=scope).get("accept", ""):
            await self._app(scope, receive, send)
            return
        plain = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
        start: Message = {}
        body = b""

        async def send_styled(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and _is_document(message):
                start = message
            elif start and message["type"] == "http.response.body":
                body += message.get("body", b"")
                if not message.get("more_body"):
                    styled = re.sub(rb"<body[^>]*>", lambda found: found[0] + self._look, body, count=1)
                    headers = MutableHeaders(raw=start["headers"])
                    headers["content-length"] = str(len(styled))
                    await send(start)
                    await send({"type": "http.response.body", "body": styled})
            else:
                await send(message)

        await self._app({**scope, "headers": plain}, receive, send_styled)


def _is_document(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    return start["status"] == 200 and headers.get("content-type", "").startswith("text/html")


class Uploads:
    """Uploaded files, which Streamlit holds in memory for as long as their session lives: the oldest are given up for
    newer ones, of a session, of an address and of everybody together.
    """

    def __init__(self) -> None:
        self._whose: dict[tuple[str, str], str] = {}  # (session, file) -> address, in the order of arrival

    def brought(self, scope: Scope, who: str) -> None:
        """A file has come in from an address."""
        session, file = scope["path"].rstrip("/").split("/")[-2:]
        self._whose.pop((session, file), None)
        self._whose[session, file] = who
        manager = runtime.get_instance().uploaded_file_mgr
        assert isinstance(manager, MemoryUploadedFileManager)
        self._whose = {key: name for key, name in self._whose.items() if _size(manager, key) is not None}
        for session_id, file_id in self._surplus(manager):
            manager.remove_file(session_id, file_id)

    def _surplus(self, manager: MemoryUploadedFileManager) -> list[tuple[str, str]]:
        sizes = {key: _size(manager, key) or 0 for key in self._whose}
        own = [Held(key, key[0], size) for key, size in sizes.items()]
        gone = beyond(own, MAX_UPLOAD_BYTES.session, None)
        left = [Held(key, self._whose[key], size) for key, size in sizes.items() if key not in gone]
        return [*gone, *beyond(left, MAX_UPLOAD_BYTES.address, MAX_UPLOAD_BYTES.together)]


def _size(manager: MemoryUploadedFileManager, key: tuple[str, str]) -> int | None:
    """Bytes of a file; None where it is gone, with its session or by hand."""
    session, file = key
    found = manager.get_files(session, [file])
    return len(found[0].data) if found else None
