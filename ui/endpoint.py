"""A served model: its address, a key that is kept nowhere, what it will cost, and a button that starts it."""

from __future__ import annotations

import streamlit as st

from core.base.errors import InputError
from core.figures.text import escape_markdown
from core.groups import GroupSet
from core.metrics.evaluation import Evaluation, tags_frame
from core.scorers.api import PUBLIC, ApiScorer, CallEstimate, address_from_environment
from core.scoring.scores import ScoreCache, planned_calls, score_groups
from ui.formatting import progress_bar

PREFIX = "api:"
NO_KEY = "none"  # what the official client is given for a server that wants no key


def served_evaluation(name: str, groups: GroupSet) -> Evaluation:
    """The evaluation of `api:MODEL`, once its calls are wanted and made; until then the page stops here.

    The key stays in this browser's session, goes to the endpoint alone and is in no cache, link or log.
    """
    with st.expander(
        f"Served model {escape_markdown(name.removeprefix(PREFIX))}", icon=":material/cloud:", expanded=True
    ):
        scorer, prices = _endpoint_form(name)
        found = planned_calls(scorer, groups, ScoreCache(), *prices)
        asked = _confirmed(scorer, found)
    if not asked:
        st.stop()
    place = st.empty()
    bar = progress_bar(place, "Asking")
    scores = score_groups(scorer, groups, ScoreCache(), lambda done, total: bar(done / total))
    place.empty()
    return Evaluation.of(scores, groups.truth, groups.ids, tags=tags_frame([g.tags for g in groups]))


def _endpoint_form(name: str) -> tuple[ApiScorer, tuple[float | None, float | None]]:
    first, second = st.columns(2)
    usual = address_from_environment() or PUBLIC
    base = first.text_input("Address", usual, key=f"api_base-{name}", help="An OpenAI-compatible endpoint.")
    key = second.text_input(
        "Key",
        type="password",
        key=f"api_key-{name}",
        placeholder="from the environment",
        help="Sent to this address only. It stays in this session's memory and is never stored or logged.",
    )
    price_in, price_out = (
        column.number_input(f"Price per million tokens {way}", 0.0, None, None, key=f"api_{way}-{name}")
        for column, way in zip(st.columns(2), ("in", "out"), strict=True)
    )
    model = name.removeprefix(PREFIX)
    if not model:
        raise InputError("Give the served model's name after the colon, such as api:gpt-4.1-2025-04-14.")
    # The environment's key belongs to the environment's address: whoever types another one brings a key, or none.
    other = (base or usual).rstrip("/") != usual.rstrip("/")
    return ApiScorer(name, model, base or None, key or (NO_KEY if other else None)), (price_in, price_out)


def _confirmed(scorer: ApiScorer, found: CallEstimate) -> bool:
    """Whether the calls that are left may be made: there are none, or the button says so."""
    if not found.calls:
        st.caption(f"All answers of {escape_markdown(scorer.describe())} are cached.")
        return True
    cost = "" if found.cost is None else f", about {found.cost:.2f} in the prices' currency"
    st.markdown(
        f"{escape_markdown(scorer.describe())}: **{found.calls} calls**, about {found.tokens_in:,} tokens in and "
        f"{found.tokens_out:,} out{cost}. Answers are cached, so an interrupted run resumes where it stopped."
    )
    return st.button(f"Start {found.calls} calls", type="primary", key=f"api_start-{scorer.name}")
