"""Streams of events begin for sessions and calls that wait; for anybody else Gradio began one, and failed inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

from starlette.responses import PlainTextResponse


class KnownStreams:
    """An app whose streams of events begin for what waits alone: Gradio begins one for anybody, then fails inside."""

    def __init__(self, app: Callable) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["method"] == "GET" and not _has_events(scope):
            answer = PlainTextResponse("Nothing waits under this name; send the call again.", 404)
            await answer(scope, receive, send)
            return
        await self.app(scope, receive, send)


def _has_events(scope: Any) -> bool:
    """Whether a request asks for anything but a stream of events of a session, or of a call, that does not exist."""
    path = scope["path"].removeprefix("/gradio_api").rstrip("/")
    queue = scope["app"].get_blocks()._queue
    if path == "/queue/data":
        named = parse_qs(scope["query_string"].decode("latin1"), keep_blank_values=True)
        names = named.get("session_hash", [])
        return all(name in queue.pending_messages_per_session for name in names[-1:])
    if path.startswith("/call/"):
        event = path.rpartition("/")[2]
        return (
            event in queue.event_ids_to_events
            or event in queue.pending_messages_per_session
            or any(event in events for events in list(queue.pending_event_ids_session.values()))
        )
    return True
