"""Groups, scores and models, loaded once and cached."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from core import datasets
from core.base import public_mode
from core.base.errors import InputError
from core.figures.text import escape_markdown
from core.groups import GroupSet
from core.metrics.evaluation import Evaluation, tags_frame
from core.metrics.paired import on_groups
from core.metrics.statistics import Clusters
from core.runs.models import run_source
from core.scoring import load as scorers
from core.scoring.cache import ScoreCache
from core.scoring.load import scorer_key, scorer_kind, scorer_names
from core.scoring.scores import score_all, score_groups
from core.ttm.defaults import full_name
from ui import endpoint
from ui.cached import cached_on
from ui.compute_queue import queued
from ui.formatting import progress
from ui.models_ready import limit_threads
from ui.uploads import is_upload, upload_captions, upload_evaluation

if TYPE_CHECKING:
    from ui.selection import Selection


_ONLY_SHIPPED = (
    "On this server shifted pictures are scored by builtin/clip and builtin/siglip; choose one of these as model, or "
    "run Crossmatch yourself."
)


@st.cache_resource(max_entries=16, show_spinner="Loading groups …")
def load_groups(benchmark: str, split: str) -> GroupSet:
    return datasets.load(public_mode.check_benchmark(benchmark), split)


def model_source(name: str) -> str:
    """What loads a selected model: the folder of a run's model, the hub's name of a short one; else the name itself."""
    return full_name(run_source(name))


@st.cache_resource(ttl=30, max_entries=1, show_spinner=False)
def scorer_list() -> dict[str, str]:
    """`scorer_names()`, which looks into every model's folder; pages ask several times."""
    return scorer_names()


def evaluate(selection: Selection, model: str | None = None) -> Evaluation:
    """The selected model's (or another one's, or a file's) evaluation on the selected groups: from memory, the score
    cache, or the model itself."""
    name = model or selection.model
    if not selection.mask.any():
        raise InputError("No group has all of these tags; remove one from the sidebar's filter.")
    if is_upload(name):
        return _of_file(selection, name)
    if selection.is_file:
        raise InputError(
            f"{name} scores images and captions, and {selection.groups.title} has neither: select the benchmark that "
            "the file was made on, and the file as its model."
        )
    name = public_mode.check_model(name, scorer_list())
    if name.startswith(endpoint.PREFIX):
        evaluation = endpoint.served_evaluation(name, selection.groups)
        return evaluation if selection.mask.all() else evaluation.select(selection.mask)
    groups, source = selection.groups, model_source(name)
    key = (selection.benchmark, selection.split, groups.shape, name, scorer_key(source))
    evaluation = _score(key, groups, source)
    if selection.mask.all():
        return evaluation
    return _filter((*key, selection.tags), evaluation, selection.mask)


def _of_file(selection: Selection, entry: str) -> Evaluation:
    """A file's scores of the selected groups, in their order; InputError where it has others, or another truth."""
    groups = selection.groups
    found = upload_evaluation(entry, "x".join(map(str, groups.shape)))
    if entry != selection.benchmark:
        whole = found
        found = cached_on(whole, groups.name, lambda: measured_on(whole, groups, upload_captions(entry)))
    if selection.mask.all():
        return found
    return cached_on(found, selection.tags, lambda: found.select(selection.mask))


def measured_on(whole: Evaluation, groups: GroupSet, captions: np.ndarray | None) -> Evaluation:
    """A file's evaluation as one of these groups: in their order, by their truth; InputError where it has others.

    captions : of the file, in its own order, text (n, k); None where it names none.
    """
    theirs = [group.captions for group in groups]
    found = on_groups(whole, groups.ids, groups.truth, groups.name, (captions, theirs))
    return replace(found, clusters=Clusters.of_groups(groups))


class LazyScorer(scorers.LazyScorer):
    """A lazy scorer that says in `container` that it loads, and scores for one visitor at a time."""

    def __init__(self, source: str, container: Any) -> None:
        super().__init__(source, lambda: _loading(source, container))

    def __getattr__(self, name: str) -> Any:
        attribute = super().__getattr__(name)
        return queued(attribute) if callable(attribute) else attribute


@contextmanager
def _loading(source: str, container: Any) -> Iterator[None]:
    # The first one waits for the import of its libraries, which may have begun in the background.
    once = "" if scorers._cached else " (some seconds, once after the app has started)"
    with container, st.spinner(f"Loading the model {escape_markdown(source)}{once} …"):
        yield
    limit_threads()


@st.cache_resource(max_entries=64, show_spinner=False)
def _score(key: tuple, _groups: GroupSet, _source: str) -> Evaluation:
    if (
        _groups.name.startswith("scenes/")
        and "~" in _groups.name
        and not public_mode.may_be_shifted(_groups.name, _source)
    ):
        raise InputError(_ONLY_SHIPPED)
    global_scores = None
    with progress("Scoring") as (container, bar):
        scorer, cache = LazyScorer(_source, container), ScoreCache()
        scores = score_groups(scorer, _groups, cache, lambda done, total: bar(done / total))
        # All images with all captions: seconds for two towers, many minutes for a model that reads pair by pair.
        if _groups.name.endswith("@global") and scorer_kind(_source) == "itc":
            global_scores = score_all(scorer, _groups, cache, lambda done, total: bar(done / total))
    tags = tags_frame([g.tags for g in _groups])
    return Evaluation.of(
        scores, _groups.truth, _groups.ids, tags=tags, global_scores=global_scores,
        clusters=Clusters.of_groups(_groups),
    )  # fmt: skip


@st.cache_resource(max_entries=64, show_spinner=False)
def _filter(key: tuple, _evaluation: Evaluation, _mask: np.ndarray) -> Evaluation:
    return _evaluation.select(_mask)
