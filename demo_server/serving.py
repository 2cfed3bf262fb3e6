"""How the demo is launched: with an API, tools, and limits for strangers."""

from __future__ import annotations

from typing import Any

from starlette.middleware import Middleware

from core.base.gate import Gate, Limits, Share
from demo_server.streams import KnownStreams
from demo_server.uploads import FILE_MB, KEPT, sweeping

# Of strangers. Whatever is sent counts as an upload: images also come as text, inside of a call.
LIMITS = Limits(
    uploads=Share(20, 100),
    quota=Share(100 << 20, 400 << 20),
    window=KEPT,
    file=16 << 20,
    body=4 << 20,  # a call, with its images as text
    patience=120.0,
)
# What no page and no client of this demo asks for: it would write to the disk, fetch from elsewhere for anybody, or
# stay open without end.
_UNUSED = (
    "component_server",
    "process_recording",
    "run-history",
    "runs",
    "deep_link",
    "proxy=",
    "stream/",
    "dev/",
    "monitoring",
    "heartbeat/",
)
CLOSED = f"(/gradio_api)?/({'|'.join(_UNUSED)}|file[=/](?i:https?):)"


def served() -> dict[str, Any]:
    """How the demo is launched: with an API, tools, and limits for strangers."""
    gate = Middleware(
        Gate,
        uploads=".*",
        limits=LIMITS,
        closed=CLOSED,
        files="/gradio_api/upload$",
        asks_itself=True,
    )
    return {
        "mcp_server": True,
        "max_file_size": f"{FILE_MB}mb",
        "run_history": False,  # of the hub, with a visitor's key
        "state_session_capacity": 500,
        "_frontend": False,  # or a page that takes three seconds, on a slow machine, ends what has just started
        "app_kwargs": {"middleware": [gate, Middleware(KnownStreams)], "lifespan": sweeping},
    }
