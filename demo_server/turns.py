"""One queue for the calls of pages, of the API and of tools: an address has its share, and addresses take turns."""

from __future__ import annotations

from collections import Counter
from typing import Any

import gradio as gr

from core.base.gate import Share

WAITING = Share(12, 60)  # calls in the queue


def queued(demo: gr.Blocks) -> gr.Blocks:
    """The demo, whose calls all wait in one queue, in which an address has its share, and addresses take turns."""
    demo.queue(default_concurrency_limit=1, max_size=WAITING.together, api_open=False)
    queue, push = demo._queue, demo._queue.push

    async def push_share(body: Any, request: Any, username: str | None) -> tuple[bool, Any, Any]:
        who = _address(request)
        waiting = (event for each in queue.event_queue_per_concurrency_id.values() for event in each.queue)
        count = sum(_address(event.request) == who for event in waiting)
        if count >= WAITING.each:
            said = f"{count} calls from your address wait already; try again in a minute."
            return False, said, "queue_full"
        pushed = await push(body, request, username)
        for each in queue.event_queue_per_concurrency_id.values():
            _take_turns(each.queue)
        return pushed

    queue.push = push_share  # type: ignore[method-assign]
    return demo


def _address(request: Any) -> str:
    return request.client.host if request.client else ""


def _take_turns(waiting: list[Any]) -> None:
    """Order calls so that addresses take turns, each with its oldest call first."""
    seen: Counter[str] = Counter()
    turns = []
    for event in waiting:
        who = _address(event.request)
        seen[who] += 1
        turns.append(seen[who])
    waiting[:] = [waiting[i] for i in sorted(range(len(waiting)), key=turns.__getitem__)]
