"""A served model: its address, a key that is never stored, what it will cost, and a button that starts it."""

from __future__ import annotations

import streamlit as st

from core.base.errors import InputError
from core.figures.text import escape_markdown
from core.groups import GroupSet
from core.metrics.evaluation import Evaluation, tags_frame
from core.metrics.statistics import Clusters
from core.scorers.api import PUBLIC, ApiScorer, CallEstimate, address_from_environment
from core.scorers.score_options import ScoreOptions
from core.scoring.cache import ScoreCache
from core.scoring.load import scorer_kind
from core.scoring.scores import planned_calls, score_groups
from ui.fields import checked_numbers, number
from ui.formatting import progress

PREFIX = "api:"
_NO_KEY = "none"  # what the official client is given for a server that wants no key


def served_evaluation(name: str, groups: GroupSet) -> Evaluation:
    """The evaluation of `api:MODEL`, once its calls are confirmed and made; until then the page stops here.

    The key stays in this browser's session, goes to the endpoint alone and is in no cache, link or log.
    """
    with st.expander(f"Served model {escape_markdown(name.removeprefix(PREFIX))}", expanded=True):
        with checked_numbers() as wrong:
            scorer, prices = _endpoint_form(name)
        confirmed = _confirmed(scorer, planned_calls(scorer, groups, ScoreCache(), *prices), bool(wrong))
    if not confirmed:
        st.stop()
    with progress("Calling the model") as (_, bar):
        scores = score_groups(scorer, groups, ScoreCache(), lambda done, total: bar(done / total))
    return Evaluation.of(
        scores,
        groups.truth,
        groups.ids,
        tags=tags_frame([g.tags for g in groups]),
        clusters=Clusters.of_groups(groups),
    )


def _endpoint_form(name: str) -> tuple[ApiScorer, tuple[float | None, float | None]]:
    plain, options = ScoreOptions.split(name)
    first, second = st.columns(2)
    default = address_from_environment() or PUBLIC
    base = first.text_input(
        "Address", default, key=f"api_base-{plain}", help="An OpenAI-compatible endpoint."
    )
    key = second.text_input(
        "Key",
        type="password",
        key=f"api_key-{plain}",
        placeholder="from the environment",
        help="Sent to this address only. It stays in this session's memory and is never stored or logged.",
    )
    price_in, price_out = (
        number(
            column, f"Price per million tokens {side}", 0.0, None, None, key=f"api_{side}-{plain}", bind=None
        )
        for column, side in zip(st.columns(2), ("in", "out"), strict=True)
    )
    model = plain.removeprefix(PREFIX)
    if not model:
        raise InputError("Give the served model's name after the colon, such as api:gpt-4.1-2025-04-14.")
    # The environment's key belongs to the environment's address: another address needs its own key, or none.
    other = (base or default).rstrip("/") != default.rstrip("/")
    scorer = ApiScorer(plain, model, base or None, key or (_NO_KEY if other else None))
    options.check(scorer_kind(plain), name)
    asking = options.applied(scorer, name) if options else scorer
    return asking, (price_in, price_out)


def _confirmed(scorer: ApiScorer, estimate: CallEstimate, blocked: bool) -> bool:
    """Whether the remaining calls may be made: there are none, or the button was pressed. blocked : nothing starts."""
    if not estimate.calls:
        st.caption(f"All answers of {escape_markdown(scorer.describe())} are cached.")
        return True
    cost = "" if estimate.cost is None else f", about {estimate.cost:.2f} in the prices' currency"
    st.markdown(
        f"{escape_markdown(scorer.describe())}: **{estimate.calls} calls**, about {estimate.tokens_in:,} tokens in and "
        f"{estimate.tokens_out:,} out{cost}. Answers are cached, so an interrupted run resumes where it stopped."
    )
    label, key = f"Start {estimate.calls} calls", f"api_start-{scorer.name}"
    return st.button(label, type="primary", key=key, disabled=blocked)
