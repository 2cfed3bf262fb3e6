"""Uploads: few files a request, deleted when they broke off; and memory goes back to the machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from gradio import route_utils
from gradio.utils import get_upload_folder

from core.base.processes import limit_malloc

FILE_MB, FILES = 10, 10  # one uploaded image, and how many one request brings
KEPT = 600  # seconds that uploads stay on the disk


def take_few_files() -> None:
    """Gradio reads uploads with the reader below."""
    route_utils.GradioMultiPartParser = _FewFiles  # type: ignore[misc, assignment]


class _FewFiles(route_utils.GradioMultiPartParser):
    """Gradio's reader of uploads, with fewer files a request: it holds every one of them open until the last."""

    def __init__(self, headers: Any, stream: Any, *, max_files: float, **more: Any) -> None:
        super().__init__(headers, stream, max_files=min(max_files, FILES), **more)


@asynccontextmanager
async def sweeping(_app: Any) -> AsyncIterator[None]:
    """While the server runs: Gradio deletes uploads when they are old, and forgets those that broke off; and what the
    last calls freed goes back to the machine."""
    trim = limit_malloc(2)  # or images that were decoded stay in the heaps of Gradio's forty threads

    async def sweep() -> None:
        while True:
            await asyncio.sleep(60)
            await asyncio.to_thread(drop_broken_uploads, Path(get_upload_folder()), KEPT)
            await asyncio.to_thread(trim)

    task = asyncio.create_task(sweep())
    try:
        yield
    finally:
        task.cancel()


def drop_broken_uploads(folder: Path, age: float) -> None:
    """Delete what is left of uploads that were not sent to their end, once nothing has been added for `age` seconds.

    Whole ones lie in folders that are named for their content.
    """
    for path in folder.glob("tmp*"):
        with suppress(OSError):  # Gradio may have come first
            if path.is_file() and time.time() - path.stat().st_mtime > age:
                path.unlink()
