"""A table of metrics as a phone shows it: a card for each, every number behind its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape

import streamlit as st

from core.base.text import counted
from core.metrics.groups import GROUP_MATCH, METRICS

GROUP_MATCH_LABEL = METRICS[GROUP_MATCH].label  # of the card that is open: five took two screens of a phone


@contextmanager
def table_or_cards(key: str, cards: Mapping[str, Sequence[tuple[str, str]]]) -> Iterator[None]:
    """The place of a table that a phone would cut at its right edge, and below it the cards that a phone has instead.
    The browser, which knows how wide it is, shows one of the two.

    key : of the place. cards : by metric the names and values of its numbers, in the order in which they are read.
    """
    with st.container(key=f"metric-table-{key}"):
        yield
    main = GROUP_MATCH_LABEL if GROUP_MATCH_LABEL in cards else next(iter(cards), "")
    others = [_card(name, rows) for name, rows in cards.items() if name != main]
    _cards_html([_card(main, cards[main])] if main else [], others, "metric")


@contextmanager
def table_or_mistakes(key: str, mistakes: Sequence[tuple[str, Sequence[tuple[str, str]]]]) -> Iterator[None]:
    """As `table_or_cards`, of a table of mistakes: a card for each, the first few open. mistakes : where each is, and
    what is said of it by name."""
    with st.container(key=f"metric-table-{key}"):
        yield
    cards = [_card(*each) for each in mistakes]
    _cards_html(cards[:_OPEN], cards[_OPEN:], "mistake")


_OPEN = 5  # mistakes that stand open on a phone


def _cards_html(shown: Sequence[str], others: Sequence[str], what: str) -> None:
    head = f"<summary>The other {counted(len(others), what)}</summary>"
    fold = f'<details class="cm-fold">{head}{"".join(others)}</details>' if others else ""
    st.html(f'<div class="cm-metric-cards">{"".join(shown)}{fold}</div>')


def _card(metric: str, rows: Sequence[tuple[str, str]]) -> str:
    told = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows if value)
    return f"<section><b>{escape(metric)}</b><dl>{told}</dl></section>"
