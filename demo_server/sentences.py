"""What is wrong with a call, in one sentence."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import gradio as gr
from gradio.exceptions import ComponentProcessingError, InvalidPathError
from pydantic import ValidationError

log = logging.getLogger("crossmatch.demo")


def with_sentences(process: Callable, arguments: int) -> Callable:
    """Gradio's `process_api`, which says in one sentence what was wrong with a call: by itself it answers `null`."""

    async def process_api(block_fn: Any, inputs: list[Any], *args: Any, **more: Any) -> dict[str, Any]:
        try:
            return await process(block_fn, inputs, *args, **more)
        except gr.Error:
            raise
        except Exception as error:
            raise gr.Error(_sentence(error, len(inputs), arguments), print_exception=False) from error

    return process_api


def _sentence(error: Exception, count: int, arguments: int) -> str:
    if count < arguments and not isinstance(error, ComponentProcessingError | InvalidPathError):
        return f"{count} of {arguments} arguments came; give two images, two captions and a model, in this order."
    if isinstance(error, InvalidPathError):
        return "Upload the image first and send the path that the upload returns; no other file of the server is read."
    if isinstance(error, ComponentProcessingError | ValidationError):
        return (
            "An argument has the wrong form; send images as uploaded files or as `data:image/png;base64,…`."
        )
    log.error("a call failed", exc_info=error)
    return "An internal error occurred; the server's log has the details."
