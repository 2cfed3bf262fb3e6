"""Calls of the MCP tool, which Gradio makes by asking itself: whose they are, what they hold, what refuses them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import gradio as gr
import gradio.mcp
import httpx
from gradio.mcp import GradioMCPServer
from gradio_client import Client

log = logging.getLogger("crossmatch.demo")

INNER_SECONDS = 120.0  # that a request of the server to itself, for a tool call, may wait


def refuse_in_a_sentence() -> None:
    """A tool call that does not come through has no text of httpx, which names an address of this machine."""

    def with_sentence(keep: Callable) -> Callable:
        async def execute(*given: Any) -> Any:
            try:
                return await keep(*given)
            except httpx.HTTPError as error:
                log.error("a tool call did not come through: %s", error)
                raise gr.Error("The server refused this call; try again in a minute.") from None

        return execute

    for name in ("_execute_tool_without_progress", "_execute_tool_with_progress"):
        setattr(GradioMCPServer, name, with_sentence(getattr(GradioMCPServer, name)))


def wait_without_a_thread() -> None:
    """A tool call that waits for its result holds no thread: forty of them held all there were, for good, as the call
    at work needs one to end."""

    async def result(self: GradioMCPServer, job: Any) -> list[Any]:
        return [await asyncio.wrap_future(job.future)]

    GradioMCPServer._execute_tool_without_progress = result  # type: ignore[method-assign]


def make_one_client() -> None:
    """Gradio's client, by which a server asks itself for tool calls, is made once, in one thread, while the calls that
    wait for it hold none: each of the first calls made one of its own, in threads that these needed to be answered."""
    in_a_thread = gradio.mcp.run_sync
    making: WeakKeyDictionary[GradioMCPServer, asyncio.Lock] = WeakKeyDictionary()

    async def made(make: Callable[[], Client]) -> Client:
        server: GradioMCPServer = make.__self__  # type: ignore[attr-defined]
        async with making.setdefault(server, asyncio.Lock()):
            if server._client_instance is not None:
                return server._client_instance
            try:
                return await in_a_thread(make)
            except Exception as error:
                log.error("the client for tool calls could not be made: %s", error)
                raise gr.Error("The server has just started; try again in a minute.") from None

    gradio.mcp.run_sync = made  # type: ignore[assignment]  # called for this alone
    gradio.mcp.Client = partial(Client, httpx_kwargs={"timeout": INNER_SECONDS})  # type: ignore[assignment, misc]


def hand_on_images_as_text() -> None:
    """An image that a tool call holds stays text until its call is at work: Gradio uploaded it to itself, as a visitor
    of this machine whose share of uploads all tool calls had together."""
    keep = GradioMCPServer.convert_strings_to_filedata

    def handed_on(
        self: GradioMCPServer, value: dict[str, Any], filedata_positions: list[list[str | int]]
    ) -> dict[str, Any]:
        texts = {
            name: {"url": given, "meta": {"_type": "gradio.FileData"}}
            for name, given in value.items()
            if [name] in filedata_positions and isinstance(given, str) and given.startswith("data:")
        }
        others = {name: given for name, given in value.items() if name not in texts}
        return {**keep(self, others, filedata_positions), **texts}

    GradioMCPServer.convert_strings_to_filedata = handed_on  # type: ignore[method-assign]
