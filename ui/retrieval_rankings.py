"""The pictures that a query finds before and after a strategy's training, side by side: shipped rankings of the set's
queries, and a visitor's own words scored by both models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple, Self

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.errors import StreamlitAPIException

from core.base import paths
from core.base.errors import InputError
from core.base.text import _pct, counted
from core.cola.tasks import BUILTIN
from core.figures import retrieval
from core.figures.shared_words import RankedImage, ranked_images
from core.figures.text import escape_markdown
from core.metrics.retrieval import COLA_MAP
from core.scorers.cola_config import STRATEGIES
from core.scoring.retrieval import RetrievalSubset
from ui import retrieval as part
from ui import retrieval_own as own
from ui.formatting import unbroken
from ui.page import show_error
from ui.selection import seed, set_state
from ui.trained import trained_name
from ui.visitor import on_phone

BEFORE = "before"
FEW = 4  # ranks that a phone shows first; its style hides the others


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


class Notes(NamedTuple):
    """How the pictures were ranked, and how near the weights behind them are to the table of all strategies."""

    said: str
    explained: str


def before_and_after(measured: pd.DataFrame) -> Notes | None:
    """A query's first pictures under the model before and after; returns what is to know of them, None where no
    rankings are shipped.

    measured : the rows of the table of all strategies.
    """
    rankings = Rankings.shipped()
    if rankings is None:
        return None
    found = part.load_set(BUILTIN, rankings.images)
    query, name = _fields(rankings, found)
    over_all = st.container(
        key="over-all-queries"
    )  # above: of a query that got worse the headline seemed untrue
    try:
        _side_by_side(rankings, found, query, name)
    except InputError as error:  # the table of all strategies stays
        show_error(error)
    without = [each for each in STRATEGIES if each in {*measured["strategy"]} - {*rankings.strategies}]
    none = f" No pictures yet: {', '.join(map(retrieval.label, without))}." if without else ""
    with st.container() if on_phone() else over_all:
        st.markdown(unbroken(_over_all(rankings, found, name)))
    st.caption(escape_markdown(_why_this_base(rankings)))
    return Notes(f"{_how_ranked(rankings)}{none}", _same_weights(rankings, measured, name))


def _fields(rankings: Rankings, found: RetrievalSubset) -> tuple[str, str]:
    """The query, one of the set's or a visitor's own, and the strategy."""
    queries = list(found.queries)
    first = queries[own.telling(found, [*range(len(queries))])]
    carried, left_out = _carried(found, first)
    usual = carried or first
    # Not as the field's default, which no address says: a link to this view shows what it showed.
    if usual != first and not (st.session_state.get("changed_query") or st.query_params.get("changed_query")):
        seed("changed_query", usual)
    own.answer_typed("changed_query", queries, queries, queries.index(first))
    with st.container(horizontal=True, vertical_alignment="bottom", key="changed-fields"):
        query = st.selectbox(
            "Query: choose one, or type your own", queries, queries.index(first), key="changed_query",
            bind="query-params", accept_new_options=True, width=340,
            help="Your own words are scored by both models now, and judged where they name objects of the built-in "
            "world.",
        )  # fmt: skip
        name = st.segmented_control(
            f"{rankings.model}, trained by",
            rankings.strategies,
            format_func=retrieval.label,
            default=max(rankings.strategies, key=rankings.mean_precision),
            required=True,
            key="changed_by",
            bind="query-params",
        )
    if left_out and (query or first) == usual:
        st.info(escape_markdown(left_out), icon=":material/edit:")
    return query or first, name


def _carried(found: RetrievalSubset, first: str) -> tuple[str, str]:
    """The query that was asked before, "" where none was. For words that nobody can judge a query of the set, the
    nearest one or else `first`, with the sentence that says so: of others it shows what training changes."""
    asked = _asked_before()
    if asked and asked not in found.queries:
        with suppress(InputError):  # too long: said where it is scored
            words = own.own_query(found, asked)
            if words.phrases is None and words.asked is None:
                instead = next(iter(own.nearest_in_set(found, asked)), first)
                return instead, (
                    f"Nobody knows which pictures are right for “{asked}”, so this view shows “{instead}”, a query of "
                    "the set."
                )
    return asked, ""


def _asked_before() -> str:
    """The query that was asked on the page's first view, or that a link has as `query`; "" where none was."""
    state = st.session_state
    if "query" in state:  # gone once the field of that view is
        if state.get("asked_before", state["query"]) != state["query"]:
            _forget_changed_query()
        state["asked_before"] = state["query"]
    elif "query" in st.query_params:
        state["asked_before"] = st.query_params["query"]
        with suppress(StreamlitAPIException):  # of a field that was drawn: Streamlit takes it out by itself
            del st.query_params["query"]
    return state.get("asked_before") or ""


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
        f", {_pct(value)} % for seed {rankings.seed} alone" for value in rows.loc[same, "value"][:1]
    )
    before = f"{rankings.model} before training {_pct(rankings.mean_precision(BEFORE))} %"
    return unbroken(
        f"The run behind the pictures was trained again with seed {rankings.seed}; its Cola mAP over all queries is "
        f"{_pct(rankings.mean_precision(name))} % ({before}). The "
        f"table has {_pct(rows['value'].mean())} %, the mean of {counted(len(rows), 'seed')}{of_seed}."
    )


def _over_all(rankings: Rankings, found: RetrievalSubset, name: str) -> str:
    """How many of the first pictures are right over the set's queries: one query alone may say otherwise."""
    before, after = (f"{rankings.right(found, which).mean():.2f}" for which in (BEFORE, name))
    shown = rankings.first[BEFORE].shape[1]
    return (
        f"Over the set’s {len(found.queries)} queries **{before}** of the first {shown} pictures are right before, "
        f"**{after}** after."
    )


def _why_this_base(rankings: Rankings) -> str:
    """Why the model before training is another one than that of the other pages."""
    return (
        f"Training begins with {rankings.model}, which has read sizes and materials: many queries ask for them, and "
        "builtin/clip, the first model of the other pages, has never read such words."
    )


def _how_ranked(rankings: Rankings) -> str:
    """Which run stands behind the pictures, and among which they are ranked."""
    return (
        f"The pictures before: {rankings.model}. After: one run, seed {rankings.seed}, {rankings.epochs} epochs. "
        f"{rankings.images} pictures that training never showed, ranked among all of them; precision among those that "
        "share a word with the query (Cola mAP), for several objects among all."
    )


class _Side(NamedTuple):
    """A query's first pictures under one model, and its average precision with the chance level, in percent; None where
    it has none."""

    rows: list[RankedImage]
    precision: tuple[float, float] | None
    ranks: np.ndarray | None = None  # int (n,), of every picture, from 1; of what is scored now

    @property
    def right(self) -> int:
        """How many of the first pictures are right."""
        return sum(row.right for row in self.rows)

    @classmethod
    def shipped(cls, rankings: Rankings, one: RetrievalSubset, query: int, which: str) -> Self:
        """Of a query of the set, `one`, by its number."""
        order = np.full(len(one), -1.0)
        shown = rankings.first[which].shape[1]
        order[rankings.first[which][query]] = np.arange(shown, 0, -1)
        rows = ranked_images(one, 0, order, "everything", shown)
        random_order = part.average_precision(one, 0, order, "any_word")
        value = float(rankings.precision[which][query])
        return cls(rows, None if random_order is None or np.isnan(value) else (value, random_order[1]))

    @classmethod
    def scored(cls, rankings: Rankings, asked: RetrievalSubset, which: str) -> Self:
        """Of a visitor's own query, scored now."""
        model = rankings.model if which == BEFORE else trained_name(which)
        scores = part.query_scores(asked, 0, model)
        pool = "everything" if asked.any_word is None else "any_word"
        rows = ranked_images(asked, 0, scores, "everything", rankings.first[BEFORE].shape[1])
        ranks = part.ranks_of(scores)
        return cls(rows, part.average_precision(asked, 0, scores, pool), ranks)


def _side_by_side(rankings: Rankings, found: RetrievalSubset, query: str, name: str) -> None:
    """The first pictures of a query before training and after; of a visitor's own query what is known of it, with
    its buttons, below them, and above them where a model does not know a word."""
    known = list(found.queries).index(query) if query in found.queries else None
    asked = own.own_query(found, query) if known is None else found.one_query(known)
    is_judged = asked.phrases is not None or asked.asked is not None
    above, pictures, below = st.container(), st.container(), st.container()
    if known is None:
        with above if own.unknown_words([rankings.model], query) else below:
            others = own.say_what_is_known(found, asked, [rankings.model])
            own.ask_buttons(others, own.wording_of_set(found, asked), "changed_query")
    titles = {BEFORE: "Before", name: f"After {retrieval.label(name)}"}
    sides = {
        which: _Side.scored(rankings, asked, which)
        if known is None
        else _Side.shipped(rankings, asked, known, which)
        for which in titles
    }
    with pictures:
        _both_lists(asked, titles, sides, is_judged)
    with below if on_phone() else above:
        if is_judged:
            _same_count(rankings, found, name, [side.right for side in sides.values()])


def _same_count(rankings: Rankings, found: RetrievalSubset, name: str, rights: Sequence[int]) -> None:
    """Of a query that has as many right pictures after training as before: that it has, and the query of the set whose
    first pictures change most; of one that has fewer, that this is against the trend. rights : of this query, before
    and after."""
    before, after = rights
    was, now = (rankings.right(found, which) for which in (BEFORE, name))
    if after < before and now.mean() > was.mean():
        st.markdown(
            f"**Against the trend:** of this query fewer are right after training, {after} instead of {before}."
        )
    if before != after:
        return
    most, shown = int(np.abs(now - was).argmax()), rankings.first[BEFORE].shape[1]
    query = found.queries[most]
    same = f"After {retrieval.label(name)} {before} of the first {shown} are right, as before."
    if was[most] == now[most]:
        st.markdown(same)
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="same-count"):
        of, ends = f"Of the set’s {len(found.queries)} queries", f"from {was[most]} to {now[most]}"
        st.markdown(f"{same} {of} “{escape_markdown(query)}” changes most, {ends}.", width="content")
        st.button(
            "Ask for it", on_click=set_state, args=({"changed_query": query},),
            key="ask-most-changed", icon=":material/arrow_forward:",
        )  # fmt: skip


def _both_lists(
    asked: RetrievalSubset, titles: dict[str, str], sides: dict[str, _Side], is_judged: bool
) -> None:
    """The pictures before and after, with how many of each are right: of a phone rank by rank in two columns, the first
    few of them until the others are asked for. titles : of the sides, by their names."""
    if not is_judged:
        st.caption(part.ranks_compared(*(side.rows for side in sides.values())))
    is_short = on_phone()
    is_few = not st.session_state.get("changed_whole", False)
    with st.container(key="rank-by-rank-few" if is_few else "rank-by-rank"):
        for column, (which, title) in zip(st.columns(2, gap="medium"), titles.items(), strict=True):
            with column:
                said = (_short_head if is_short else _side_line)(title, asked, sides[which], is_judged)
                st.markdown(unbroken(said))
                ranks = None if is_judged else _other_ranks(sides, which)
                with st.container(key=f"changed-{which}"):
                    st.html(part.ranked_html(asked, sides[which].rows, True if is_judged else None, ranks))
    if is_few:
        with st.container(key="more-pictures-changed"):
            shown = len(sides[BEFORE].rows)
            st.button(
                f"Ranks {FEW + 1} to {shown}", icon=":material/expand_more:", key="more-changed",
                on_click=set_state, args=({"changed_whole": True},),
            )  # fmt: skip
    if is_short and is_judged:
        st.markdown(unbroken(_both_precisions(asked, [*sides.values()])))
    both = [(title, sides[which].rows, sides[which].precision) for which, title in titles.items()]
    if is_judged and (note := part.why_precision_differs(both)):
        st.caption(escape_markdown(note))


def _other_ranks(sides: dict[str, _Side], which: str) -> list[str]:
    """`rank 57 before training`, of each of a side's first pictures."""
    (other,) = (side for name, side in sides.items() if name != which)
    when = "after" if which == BEFORE else "before"
    ranks = np.zeros(0, dtype=int) if other.ranks is None else other.ranks
    return [f"rank {ranks[row.image]} {when} training" for row in sides[which].rows]


def _side_line(title: str, asked: RetrievalSubset, side: _Side, is_judged: bool) -> str:
    """`**After Linear: 3 of the first 6 show a red cube**; average precision 45.3 % (chance 9.1 %).`"""
    said, shown = part.as_object(asked, 0), len(side.rows)
    if not is_judged:
        return f"**{title}: the first {shown} of {len(asked)} pictures for {said}.**"
    if not asked.relevant.any():
        return f"**{title}.** None of these {len(asked)} pictures shows {said}: no metric counts this query."
    first = f"**{title}: {side.right} of the first {shown} show{'s' * (side.right == 1)} {said}**"
    if side.precision is None:
        return f"{first}."
    return f"{first}; average precision {_pct(side.precision[0])} % (chance {_pct(side.precision[1])} %)."


def _short_head(title: str, asked: RetrievalSubset, side: _Side, is_judged: bool) -> str:
    """`**After Linear:**` and in the next line `**3 of 6 right**`, which half a phone has room for."""
    if not is_judged or not asked.relevant.any():
        return f"**{title}**"
    return f"**{title}:**  \n**{side.right} of {len(side.rows)} right**"


def _both_precisions(asked: RetrievalSubset, sides: Sequence[_Side]) -> str:
    """`Average precision for a red cube: 37.8 % before, 54.5 % after (chance 20.2 %).`, or why there is none."""
    said = part.as_object(asked, 0)
    if not asked.relevant.any():
        return f"None of these {len(asked)} pictures shows {said}: no metric counts this query."
    before, after = (side.precision for side in sides)
    if before is None or after is None:
        return ""
    return (
        f"Average precision for {said}: {_pct(before[0])} % before, {_pct(after[0])} % after (chance "
        f"{_pct(after[1])} %)."
    )
