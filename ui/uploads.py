"""An uploaded file of scores or embeddings: evaluated once, one file at a time, cached for the session."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import streamlit as st

from core.figures.text import escape_markdown
from core.metrics.evaluation import Evaluation
from core.teaching.single_group import evaluate_file
from ui.compute_queue import compute_slot


class Upload(NamedTuple):
    """A file that takes the benchmark's place until it is removed; cached across pages."""

    name: str
    key: str  # content hash
    evaluation: Evaluation


def evaluate_upload(file: Any, shape: str) -> Upload:
    """The evaluation of an uploaded file; from memory where it is the last one that was evaluated.

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
    upload = st.session_state["upload"] = Upload(file.name, key, evaluation)
    return upload


def show_left_out(evaluation: Evaluation) -> None:
    """Why a metric over all images is missing, where one is."""
    for reason in dict.fromkeys(evaluation.left_out.values()):
        st.info(
            escape_markdown(f"Recall or GlobalMatch was not computed. {reason}"),
            icon=":material/hourglass_disabled:",
        )
