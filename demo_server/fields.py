"""Image fields that take files alone: nothing is decoded or fetched before its call is at work."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.data_classes import ImageData
from gradio_client.utils import is_http_url_like


def take_files_alone() -> None:
    """No `gr.Image` of this process decodes what it is given, or fetches it from an address that somebody names.

    Of the class, not of a field: once an example is chosen, Gradio makes a visitor new fields from the class. A class
    of its own it would write a stub for, into this folder.
    """
    keep = gr.Image.async_move_resource_to_block_cache

    async def keep_uploads(self: gr.Image, path: str | Path | None) -> str | None:
        if path is not None and is_http_url_like(str(path)):
            raise gr.Error("Send the image itself; web addresses are not fetched.", print_exception=False)
        return await keep(self, path)

    def as_file(self: gr.Image, payload: ImageData | None) -> Any:
        if payload is None:
            return None
        if (payload.url or "").startswith("data:"):
            return _of_data_address(str(payload.url))
        return payload.path  # not even looked at here

    def own_picture(self: gr.Image) -> dict[str, Any]:
        """What the API's page names in its examples: a file of the reader's, where Gradio has one of the web."""
        name = f"{str(self.label or 'image').lower().replace(' ', '_')}.png"
        return {"path": name, "url": name, "orig_name": name, "meta": {"_type": "gradio.FileData"}}

    gr.Image.example_payload = own_picture  # type: ignore[method-assign]
    gr.Image.example_value = lambda self: own_picture(self)["path"]  # type: ignore[method-assign]
    gr.Image.preprocess = as_file  # type: ignore[method-assign]
    gr.Image.async_move_resource_to_block_cache = keep_uploads  # type: ignore[method-assign, assignment]


def _of_data_address(address: str) -> bytes:
    """The file that an address holds itself; nobody decodes it before its call is at work."""
    try:
        return base64.b64decode(address.partition(",")[2], validate=False)
    except ValueError as error:
        raise gr.Error(
            f"The data address of an image is no base64 ({error}).", print_exception=False
        ) from None
