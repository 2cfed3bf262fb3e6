"""Lessons: predict, then see; every number is computed from the built-in world, here and now."""

from __future__ import annotations

import streamlit as st

import ui
from core.figures.text import escape_markdown
from core.teaching.glossary import glossary
from ui.lessons import LESSONS

LEAD = (
    "Seven short lessons: predict first, then see the result. Each ends with a question and a link to the page "
    "where you can try it yourself."
)


def overview() -> None:
    grid = st.grid(3, min_column_width=260, border=True)
    for number, (name, lesson) in enumerate(LESSONS.items(), 1):
        with grid.cell():
            st.markdown(f"**{number}. {lesson.title}**")
            st.markdown(lesson.asks)
            st.caption(f"about {lesson.minutes} minutes")
            st.button(
                "Open", key=f"open-{name}", on_click=choose, args=(name,), help=f"Open “{lesson.title}”"
            )


def words() -> None:
    """The glossary, searchable."""
    st.header("Glossary", anchor=False)
    wanted = st.text_input(
        "Search the glossary", key="term", bind="query-params", placeholder="margin"
    ).lower()
    found = {term: text for term, text in glossary().items() if wanted in f"{term} {text}".lower()}
    if not found:
        st.info("No term matches; try a shorter word.", icon=":material/search_off:")
    for term, text in found.items():
        st.markdown(f"**{escape_markdown(term)}**: {escape_markdown(text)}")


def choose(name: str | None) -> None:
    st.session_state["lesson"] = name


def page() -> None:
    names = list(LESSONS)
    name = st.segmented_control(
        "Lesson", names, key="lesson", bind="query-params", label_visibility="collapsed"
    )
    if name is None:
        overview()
        words()
        return
    lesson = LESSONS[name]
    st.header(f"{names.index(name) + 1}. {lesson.title}", anchor=False)
    st.markdown(f"*{lesson.asks}*")
    lesson.show()
    following = names[names.index(name) + 1 :]
    with st.container(horizontal=True):
        st.button("All lessons", on_click=choose, args=(None,), icon=":material/menu_book:")
        if following:
            st.button(
                f"Next: {LESSONS[following[0]].title}", on_click=choose, args=(following[0],),
                icon=":material/arrow_forward:",
            )  # fmt: skip


ui.open_page("Lessons", LEAD, pick=False)
with ui.show_errors():
    page()
