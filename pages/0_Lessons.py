"""Lessons: predict, then see; every number is computed from the built-in world, here and now."""

from __future__ import annotations

import html

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import ui
from core.figures.text import escape_markdown
from core.teaching.glossary import glossary
from ui.built_in import SMALL_MODELS
from ui.images import thumbnail
from ui.lessons import LESSONS, answers, elements

LEAD = (
    "Nine short lessons: predict first, then see the result. Each ends with a question and a link to the page "
    "where you can try it yourself. The address of this page remembers your answers. " + SMALL_MODELS
)
TITLES = {name: f"{number}. {lesson.title}" for number, (name, lesson) in enumerate(LESSONS.items(), 1)}


def progress() -> None:
    """How many of all questions are answered, and how many were right at once; nothing before the first answer."""
    answered, right = answers.progress(LESSONS)
    if not answered:
        return
    said = f"{answered} of {len(answers.PARTS) * len(LESSONS)} questions answered"
    if right is not None:
        said += f", {right} right first time"
    st.caption(f"{said}. A guess that turns out wrong is no harm: it is what you learn most from.")


def say_done(place: DeltaGenerator, name: str) -> None:
    """That a lesson is answered, and how much of it was right at once; nothing before."""
    if answers.is_complete(name):
        right = answers.progress([name])[1]
        known = "" if right is None else f", {right} of {len(answers.PARTS)} right first time"
        place.caption(f"✓ done{known}", width="content")


def overview() -> None:
    progress()
    grid = st.container(key="lesson-cards").grid(5, min_column_width=240, border=True)
    for name, lesson in LESSONS.items():
        with grid.cell():
            pictures = "".join(thumbnail(image) for image in elements.example_images(lesson))
            st.html(f'<div class="cm-thumbs{" cm-unseen" if lesson.unseen else ""}">{pictures}</div>')
            st.markdown(f"**{TITLES[name]}**  \n{lesson.asks}")
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                label = f"Open lesson {TITLES[name].split('.')[0]}"
                st.button(label, key=f"open-{name}", on_click=choose, args=(name,))
                # One of the three: beside the button two were wider than a card of a laptop.
                done = answers.progress([name])[0]
                begun = f"{done} of {len(answers.PARTS)} done" if done else f"{lesson.minutes} minutes"
                st.caption("✓ done" if answers.is_complete(name) else begun, width="content")


def words() -> None:
    """The glossary, searchable; closed, for it is long."""
    terms = glossary()
    with st.expander(f"Glossary: {len(terms)} terms", expanded="term" in st.query_params):
        wanted = st.text_input(
            "Search the glossary", key="term", bind="query-params", placeholder="margin"
        ).lower()
        matching = {term: text for term, text in terms.items() if wanted in f"{term} {text}".lower()}
        if not matching:
            st.info("No term matches; try a shorter word.", icon=":material/search_off:")
        rows = "".join(
            f"<dt>{html.escape(term)}</dt><dd>{html.escape(text)}</dd>" for term, text in matching.items()
        )
        st.html(f'<dl class="cm-terms">{rows}</dl>')


def choose(name: str | None) -> None:
    """Open a lesson, or the list of all; the address says which."""
    if name is None:
        st.query_params.pop("lesson", None)
    else:
        st.query_params["lesson"] = name


def chosen_lesson() -> str | None:
    """The lesson of the address; a name that is none is said to be."""
    name = st.query_params.get("lesson")
    if name is not None and name not in LESSONS:
        line = f"Unknown lesson {name[:40]!r}; choose one by its title below, or write its number, 1 to {len(LESSONS)}."
        st.warning(escape_markdown(line), icon=":material/link_off:")
        return None
    return name


def picker(name: str) -> None:
    """All lessons by number and title; the one that is open is selected.

    No label changes with what is answered: a browser that still has the former one has chosen none of them then, which
    closed a lesson whose slider was moved after its last answer.
    """
    labels = {title: each for each, title in TITLES.items()}
    st.session_state["lesson_title"] = TITLES[name]
    st.selectbox(  # one is always chosen: the ✕ of a field that may be empty left the lesson without a word
        "Lesson", list(labels), key="lesson_title",
        on_change=lambda: choose(labels.get(st.session_state["lesson_title"])),
        label_visibility="collapsed", width=330,
    )  # fmt: skip


def page() -> None:
    name = chosen_lesson()
    answers.restore()
    if name is None:
        overview()
        words()
        return
    with st.container(horizontal=True, vertical_alignment="center", key="lesson-bar"):
        st.markdown(f"*{LESSONS[name].asks}*", width="content")
        number = list(LESSONS).index(name) + 1
        st.container(key="lesson-number").markdown(f"Lesson {number} of {len(LESSONS)}", width="content")
        place = st.empty()
        say_done(place, name)
        picker(name)
    LESSONS[name].show()
    say_done(place, name)  # again: by the answer that was given now
    names = list(LESSONS)
    following = names[names.index(name) + 1 :]
    with st.container(horizontal=True):
        st.button("All lessons", on_click=choose, args=(None,), icon=":material/menu_book:")
        if following:
            st.button(
                f"Next: {TITLES[following[0]]}", on_click=choose, args=(following[0],),
                icon=":material/arrow_forward:",
            )  # fmt: skip


asked = st.query_params.get("lesson", "")
if asked in (numbers := {str(number): name for number, name in enumerate(LESSONS, 1)}):
    asked = st.query_params["lesson"] = numbers[asked]  # they are known by their numbers, too
ui.open_page("Lessons", "" if asked else LEAD, pick=False, heading=TITLES.get(asked, ""))
with ui.show_errors():
    page()
