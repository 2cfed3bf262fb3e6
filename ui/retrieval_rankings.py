"""The pictures that a query finds before and after a strategy's training, side by side: shipped rankings."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import NamedTuple, Self

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.errors import StreamlitAPIException

from core.base import paths
from core.base.errors import InputError
from core.base.text import counted
from core.cola.tasks import BUILTIN
from core.figures import retrieval
from core.figures.shared_words import ranked_images
from core.figures.text import escape_markdown
from core.metrics.retrieval import COLA_MAP
from core.scorers.cola_config import STRATEGIES
from core.scoring.retrieval import RetrievalSubset
from ui import retrieval as part
from ui.formatting import unbroken
from ui.selection import seed, set_state

_TELLING = "a green sphere"  # its first pictures have both words, on different objects


class Rankings(NamedTuple):
    """The first pictures of every test query, int (queries, shown), and average precision in percent, (queries,), NaN
    where a query has none: of the model before, then of what each strategy made of it, by its name."""

    model: str
    epochs: int
    seed: int
    images: int
    first: dict[str, np.ndarray]
    precision: dict[str, np.ndarray]

    @classmethod
    def shipped(cls) -> Self | None:
        """Those of `benchmarks.results.cola_rankings`; None where none are shipped."""
        path = paths.assets() / "results" / "cola_rankings.json"
        if not path.is_file():
            return None
        record = json.loads(path.read_text(encoding="utf-8"))
        first = {name: np.array(rows) for name, rows in record["first"].items()}
        precision = {name: np.array(values, dtype=float) for name, values in record["precision"].items()}
        return cls(record["model"], record["epochs"], record["seed"], record["images"], first, precision)

    @property
    def strategies(self) -> list[str]:
        """In the order of the table of all strategies."""
        return [name for name in STRATEGIES if name in self.first]

    def mean_precision(self, name: str) -> float:
        """Cola mAP over all queries, in percent, of the weights that these pictures are from."""
        return float(np.nanmean(self.precision[name]))

    def right(self, found: RetrievalSubset, name: str) -> np.ndarray:
        """How many of the first pictures of each query are right, int (queries,)."""
        return np.take_along_axis(found.relevant, self.first[name], axis=1).sum(axis=1)


BEFORE = "before"


def before_and_after(measured: pd.DataFrame) -> None:
    """A query's first pictures under the model before and after; nothing where no rankings are shipped.

    measured : the rows of the table of all strategies.
    """
    rankings = Rankings.shipped()
    if rankings is None:
        return
    found = part.load_set(BUILTIN, rankings.images)
    nearest, line = _asked_before(found)
    usual, queries = nearest[0], list(found.queries)
    # Not as the field's default, which no address says: a link to this view shows what it showed.
    chosen = st.session_state.get("changed_query") or st.query_params.get("changed_query")
    if usual != _first_query(found) and chosen not in queries:
        seed("changed_query", usual)
    with st.container(horizontal=True, vertical_alignment="bottom", key="changed-fields"):
        asked = st.selectbox(
            "Query", queries, queries.index(_first_query(found)), key="changed_query", bind="query-params",
            width=340,
        )  # fmt: skip
        name = st.segmented_control(
            "Trained by",
            rankings.strategies,
            format_func=retrieval.label,
            default=max(rankings.strategies, key=rankings.mean_precision),
            required=True,
            key="changed_by",
            bind="query-params",
        )
    if line and asked in nearest:
        _nearest_line(line, nearest, asked)
    _side_by_side(rankings, found, asked, name)
    without = [each for each in STRATEGIES if each in {*measured["strategy"]} - {*rankings.strategies}]
    none = f" No pictures yet: {', '.join(map(retrieval.label, without))}." if without else ""
    st.caption(
        unbroken(f"{_over_all(rankings, found, name)}{none}"), help=_same_weights(rankings, measured, name)
    )


def _nearest_line(line: str, nearest: list[str], asked: str) -> None:
    """Why the query that somebody asked is not among these, and a button for each of several that come near."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="nearest-queries"):
        st.caption(escape_markdown(line), width="content")
        for place, query in enumerate(nearest if len(nearest) > 1 else ()):
            st.button(
                escape_markdown(query), on_click=set_state, args=({"changed_query": query},),
                key=f"nearest-{place}", type="primary" if query == asked else "secondary",
            )  # fmt: skip


def _first_query(found: RetrievalSubset) -> str:
    """The query of a first visit: one that shows much."""
    return _TELLING if _TELLING in found.queries else found.queries[0]


def _asked_before(found: RetrievalSubset) -> tuple[list[str], str]:
    """The query to begin with, first of those that come as near: the one that was asked on the page's first view, or
    that a link has as `query`, in the words of this set, else one that shows much; and in one line why it is another
    one, "" where it is the same."""
    state = st.session_state
    if "query" in state:  # gone once the field of that view is
        if state.get("asked_before", state["query"]) != state["query"]:
            _forget_changed_query()
        state["asked_before"] = state["query"]
    elif "query" in st.query_params:
        state["asked_before"] = st.query_params["query"]
        with suppress(StreamlitAPIException):  # of a field that was drawn: Streamlit takes it out by itself
            del st.query_params["query"]
    usual = _first_query(found)
    asked = state.get("asked_before") or usual
    return ([asked], "") if asked in found.queries else _in_words_of_set(found, asked)


_SCORED = (
    "Before and after training only the set’s queries were scored, and the trained weights are not shipped"
)


def _in_words_of_set(found: RetrievalSubset, asked: str) -> tuple[list[str], str]:
    """Of a query that the set does not have its queries that come nearest, the first one to be shown, and the line that
    says so: that for the same object, else those for its objects, else those that share the most words."""
    same, nearest = "", []
    with suppress(InputError):
        own = part.with_own_query(BUILTIN, len(found), asked)
        same, nearest = part.wording_of_set(found, own), part.queries_for_objects(found, own)
    short = f"{asked[:40]}…" if len(asked) > 40 else asked
    if same:
        return [same], f"You asked for “{short}”; the query for the same object is “{same}” here."
    nearest = nearest or part.nearest_queries(asked, found.queries)
    if not nearest:
        usual = _first_query(found)
        return [
            usual
        ], f"You asked for “{short}”. {_SCORED}. None shares a word with yours; shown: “{usual}”."
    which = "nearest to yours:" if len(nearest) > 1 else f"shown is the nearest to yours, “{nearest[0]}”."
    return nearest, f"You asked for “{short}”. {_SCORED}; {which}"


def _forget_changed_query() -> None:
    """What was chosen here goes with the query that it was chosen after."""
    st.session_state.pop("changed_query", None)
    with suppress(StreamlitAPIException):  # a field that is drawn already takes it out by itself
        st.query_params.pop("changed_query", None)


def _same_weights(rankings: Rankings, measured: pd.DataFrame, name: str) -> str:
    """Cola mAP of the weights that the pictures are from, beside the table's mean and its run of the same seed: three
    numbers for nearly the same, of which the page shows the mean."""
    rows = measured[
        (measured["strategy"] == name) & (measured["metric"] == COLA_MAP) & (measured["part"] == "all")
    ]
    same = (rows["seed"] == rankings.seed) & (rows["epochs"] == rankings.epochs)
    of_seed = "".join(
        f", {value:.1f} % for seed {rankings.seed} alone" for value in rows.loc[same, "value"][:1]
    )
    return unbroken(
        f"The run behind the pictures was trained again with seed {rankings.seed}; its Cola mAP over all queries is "
        f"{rankings.mean_precision(name):.1f} % (before training {rankings.mean_precision(BEFORE):.1f} %). The table "
        f"has {rows['value'].mean():.1f} %, the mean of {counted(len(rows), 'seed')}{of_seed}."
    )


def _over_all(rankings: Rankings, found: RetrievalSubset, name: str) -> str:
    """How many of the first pictures are right over all queries, before and after, and how they were ranked."""
    before, after = (f"{rankings.right(found, which).mean():.2f}" for which in (BEFORE, name))
    shown = rankings.first[BEFORE].shape[1]
    return (
        f"Over all {len(found.queries)} queries {before} of the first {shown} pictures are right before, {after} "
        f"after. One run: seed {rankings.seed}, {rankings.epochs} epochs; {rankings.images} pictures that training "
        "never showed, ranked among all of them; precision among those that share a word with the query (Cola mAP)."
    )


def _side_by_side(rankings: Rankings, found: RetrievalSubset, asked: str, name: str) -> None:
    """The first pictures of a query before training and after."""
    query, shown = list(found.queries).index(asked), rankings.first[BEFORE].shape[1]
    sides = ((BEFORE, f"Before, {rankings.model}"), (name, f"After {retrieval.label(name)}"))
    for column, (which, title) in zip(st.columns(2, gap="medium"), sides, strict=True):
        order = np.full(len(found), -np.inf)
        order[rankings.first[which][query]] = np.arange(shown, 0, -1)
        rows = ranked_images(found, query, order, "everything", shown)
        said = f"**{title}: {sum(row.right for row in rows)} of the first {shown} show {escape_markdown(asked)}**"
        precision = rankings.precision[which][query]
        if not np.isnan(precision):
            said += f"; average precision {precision:.1f} %"
        with column:
            st.markdown(unbroken(f"{said}."))
            with st.container(key=f"changed-{which}"):
                st.html(part.ranked_html(found, rows, True))
