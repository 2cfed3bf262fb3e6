"""The adapted model of a finished run as something to use, to take home and, on request, to push."""

from __future__ import annotations

import tempfile
from pathlib import Path

import streamlit as st

from core.base.errors import InputError
from core.base.files import folder_size
from core.base.public_mode import is_public, shown
from core.exchange.model import export_model, push_model
from core.figures.text import escape_markdown
from core.runs.models import adapted_model, of_same_kind
from core.runs.store import Run, RunStore
from ui.forgetting import forgetting_section
from ui.formatting import anchor
from ui.page import show_errors
from ui.selection import page_button

ADAPTED = "The adapted model"  # the section's title
BIGGEST_ZIP = 1_500_000_000  # bytes of a model that a browser is handed as one file


def adapted_model_section(store: RunStore, run: Run) -> None:
    """Name, use, download, push."""
    st.header(ADAPTED, anchor=anchor(ADAPTED))
    try:
        folder = adapted_model(store, run.id)
    except InputError as error:
        st.warning(escape_markdown(shown(str(error))), icon=":material/broken_image:")
        return
    size = folder_size(folder)
    usable, name = not run.config.get("embeddings"), of_same_kind(f"run/{run.id}", run.config["model"])
    if usable:
        st.markdown(f"It is available on every page as the model `{name}` ({size / 1e6:.1f} MB).")
    else:
        st.markdown(
            f"Two linear maps over the file's embeddings ({size / 1e6:.1f} MB); they score the rows of that file only."
        )
    with st.container(horizontal=True, vertical_alignment="center"):
        if usable:
            state = {"set": run.config["benchmark"], "split": run.config["split"], "tag": [], "group": None}
            state |= {"shape": run.config["shape"]} if run.config.get("shape") else {}
            page_button(
                "Use this model on every page",
                "pages/1_Groups.py",
                {**state, "model": name},
                icon=":material/swap_horiz:",
                type="primary",
            )
        if size <= BIGGEST_ZIP:
            st.download_button(
                "Model, card and weights (ZIP)",
                lambda: zipped(run.id),
                f"crossmatch-{run.id}.zip",
                "application/zip",
                on_click="ignore",
                icon=":material/folder_zip:",
            )
    if size > BIGGEST_ZIP:
        st.caption("It is too large to download through the browser; on this machine run")
        st.code(f"crossmatch runs export {run.id} --out adapted", language="bash")
    forgetting_section(store, run)
    publication(folder)


def publication(folder: Path) -> None:
    """The card that goes along with the model, and the way to the Hugging Face hub."""
    card = folder / "README.md"
    parts = ["model card"] if card.is_file() else []
    if not is_public():  # nobody types a token into a server of somebody else's
        parts.append("push to the Hugging Face hub")
    if not parts:
        return
    label = " and ".join(parts)
    with st.expander(f"{label[0].upper()}{label[1:]}"):
        if not is_public():
            push(folder)
        if card.is_file():
            st.code(card.read_text(encoding="utf-8"), language=None, wrap_lines=True)


def zipped(run_id: str) -> bytes:
    """The model as a zip, made when it is asked for."""
    with tempfile.TemporaryDirectory() as place:
        return export_model(RunStore(), run_id, Path(place) / f"crossmatch-{run_id}.zip").read_bytes()


def push(folder: Path) -> None:
    """To the Hugging Face hub, with a token that is used once and kept nowhere."""
    with st.form("push", clear_on_submit=True, border=False):
        left, right = st.columns(2)
        repository = left.text_input("Repository", placeholder="ada/clip-adapted")
        token = right.text_input(
            "Your token, with the right to write",
            type="password",
            autocomplete="off",
            help="Sent to huggingface.co for this upload, and not stored.",
        )
        public = st.toggle("Public repository")
        pressed = st.form_submit_button("Push", icon=":material/cloud_upload:")
    if pressed:
        with show_errors(), st.spinner("Uploading …"):
            address = push_model(folder, repository.strip(), token or None, private=not public)
            st.success(f"Uploaded: {escape_markdown(address)}", icon=":material/check:")
