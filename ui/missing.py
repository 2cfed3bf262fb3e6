"""What is not on this machine, data or weights: each way to get it, step by step, with commands that can be copied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from core.base.public_mode import shown
from core.figures.text import escape_markdown
from core.papers import table_html


def missing_set(name: str, needs: str, instead: str = "", use: Callable[[], None] | None = None) -> None:
    """In place of what a set would show: that it is not here, the way to get it, and a set that works.

    needs : as `core.datasets.state` says it. instead : a set that is here, which the button `use`s.
    """
    (item,) = table_html.missing_resources([f"data of {name}: {needs.removeprefix('needs: ')}"])
    st.info(escape_markdown(f"{name} is not on this machine."), icon=":material/download:")
    _first_way(item.ways[0])
    if item.ways[1:]:
        with st.expander("Get it by hand", key=f"by-hand-{name}"):
            for i, way in enumerate(item.ways[1:]):
                _by_hand(way, "Or in another way" if i else "")
    if instead:
        st.button(
            f"Use {instead}, which is here",
            on_click=use,
            icon=":material/arrow_forward:",
            key="set_that_is_here",
        )


def ways_to_get(ways: Any) -> None:
    """The ways to get something that is not here, one of which is enough: one command first, else step by step.

    ways : of an entry of `core.papers.table_html.missing_resources`.
    """
    _first_way(ways[0])
    for i, way in enumerate(ways[1:]):
        _by_hand(way, "Or by hand in another way" if i else "Or by hand")


def _first_way(steps: Any) -> None:
    """One command with what there is to know; where there is none, by hand."""
    first, *rest = steps
    if not first.command:
        _by_hand(steps)
        return
    fetched = first.command.startswith("crossmatch fetch")
    _step("One command, which says what it cannot get" if fetched else "One command", first)
    for step in rest:
        _step("", step)


def _by_hand(way: Any, begin: str = "") -> None:
    """The steps of a way in order, then what there is to know. begin : "Or by hand" after another way."""
    steps, remarks = ([step for step in way if _is_remark(step) is kind] for kind in (False, True))
    if len(steps) == 1:
        _step(f"{begin}:" if begin else "", steps[0])
    else:
        st.caption(f"{begin or 'By hand'}:")
        for place, step in enumerate(steps, 1):
            _step(f"{place}.", step if step.text else step._replace(text="run"))
    for step in remarks:
        _step("", step)


def _is_remark(step: Any) -> bool:
    """Whether a step is what there is to know, and nothing to do."""
    return step.text.startswith(("it ", "its ", "the "))


def _step(begin: str, step: Any) -> None:
    """A step in words, its command in a block that can be copied. begin : a number with its point, or words."""
    said = f"{begin} {shown(step.text)}".strip() + (":" if step.command and not begin.endswith(":") else "")
    if said.strip(":"):
        st.caption(escape_markdown(said[:1].upper() + said[1:]).replace("\\.", "."))
    if step.command:
        st.code(shown(step.command), language="bash", wrap_lines=True)
