"""SugarCrepe++'s text-only test on the page of groups: a model's text tower alone, beside its scores of the images."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core.base.errors import InputError
from core.base.text import counted
from core.figures.text import escape_markdown, metric_line
from core.groups import GroupSet
from core.metrics.evaluation import Evaluation
from core.metrics.groups import TEXT_SCORE
from core.scoring.load import scorer_key
from core.scoring.text_only import _score_text_only
from ui.formatting import progress
from ui.loaders import LazyScorer, model_source
from ui.page import error_text
from ui.selection import Selection


def text_only_section(selection: Selection, evaluation: Evaluation) -> None:
    """An expander, closed at first, where a model scores groups of one image with two true captions of three."""
    groups = selection.selected_groups
    has_two_true = groups.shape == (1, 3) and evaluation.truth.shape[1] == 2
    if selection.is_file or selection.file or not has_two_true:
        return
    part = st.expander("The captions alone (TOT)", key="text-only", on_change="rerun")
    if not part.open:
        return
    with part:
        st.caption(
            "SugarCrepe++'s text-only test: are the two true captions closer to each other than each is to the false "
            "one, for the model's text tower? No image is read; a tie is wrong."
        )
        source = model_source(selection.model)
        key = (selection.benchmark, selection.split, selection.tags, selection.model, scorer_key(source))
        try:
            found = _measured(key, groups, source)
        except InputError as error:
            st.info(error_text(error), icon=":material/block:")
            return
        st.markdown(f"**{escape_markdown(metric_line(found.metrics[TEXT_SCORE]))}**")
        st.caption(_beside(evaluation.outcomes[TEXT_SCORE].value, found.outcomes[TEXT_SCORE].value))


def _beside(with_image: np.ndarray, alone: np.ndarray) -> str:
    """How many groups are right with the image, by the captions alone, both ways and neither."""
    both, first, second = (
        int(x.sum()) for x in (with_image & alone, with_image & ~alone, alone & ~with_image)
    )
    return (
        f"Of {counted(len(alone), 'group')}, {both} are right with the image (TextScore) and by the captions alone, "
        f"{first} with the image only, {second} by the captions only, {len(alone) - both - first - second} neither way."
    )


@st.cache_resource(max_entries=16, show_spinner=False)
def _measured(key: tuple, _groups: GroupSet, _source: str) -> Evaluation:
    with progress("Reading the captions") as (container, _):
        return Evaluation.of_text_only(_score_text_only(LazyScorer(_source, container), _groups), _groups)
