"""A file of scores or embeddings that a visitor brought: measured once, one file at a time, kept for the session."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import streamlit as st

from core.figures.text import escape_markdown
from core.metrics.evaluation import Evaluation
from core.teaching.single_group import evaluate_file
from ui.compute_queue import compute_slot


class Upload(NamedTuple):
    """A file that takes the benchmark's place until it is taken away; kept across pages."""

    name: str
    key: str  # content hash
    evaluation: Evaluation


def evaluate_upload(file: Any, shape: str) -> Upload:
    """What an uploaded file holds, measured; from memory where it is the one that was measured last.

    shape : of the groups, for embeddings. Raises InputError as `core.teaching.single_group.evaluate_file` does.
    """
    content = file.getvalue()
    key = hashlib.sha256(content + shape.encode()).hexdigest()
    last: Upload | None = st.session_state.get("upload")
    if last is not None and last.key == key:
        return last
    with compute_slot():  # several at once would not be faster, and would need the memory of all of them
        evaluation = evaluate_file(file.name, content, shape)
        assert evaluation.metrics  # all that is long is done here
    found = Upload(file.name, key, evaluation)
    st.session_state["upload"] = found
    return found


def show_left_out(evaluation: Evaluation) -> None:
    """Why a metric over all images is missing, where one is."""
    for why in dict.fromkeys(evaluation.left_out.values()):
        st.info(
            escape_markdown(f"Recall or GlobalMatch was not computed. {why}"),
            icon=":material/hourglass_disabled:",
        )
