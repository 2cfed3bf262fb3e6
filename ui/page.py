"""Opening a page: browser title, look, navigation, heading, the shared selection; errors as one sentence."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from core.base.errors import InputError, unknown_name
from core.base.interrupt import interruptible
from core.base.public_mode import is_public, shown
from core.figures.text import escape_markdown
from ui.images import enlarge_on_click, forget_images
from ui.old_links import read_old_links
from ui.selection import (
    Selection,
    available_splits,
    benchmarks,
    model_names,
    pick_selection,
    restore_carried_state,
    restore_selection,
)

log = logging.getLogger("crossmatch.pages")

PAGES = {
    "app.py": ("Home", ":material/home:"),
    "pages/0_Lessons.py": ("Lessons", ":material/school:"),
    "pages/1_Groups.py": ("Groups", ":material/grid_view:"),
    "pages/2_Matching.py": ("Matching", ":material/join_inner:"),
    "pages/3_Debias.py": ("Debias", ":material/balance:"),
    "pages/4_Test-Time_Matching.py": ("Test-time matching", ":material/trending_up:"),
    "pages/5_Retrieval.py": ("Retrieval", ":material/image_search:"),
    "pages/6_Compare.py": ("Compare", ":material/compare:"),
    "pages/7_Papers.py": ("Papers", ":material/article:"),
    "pages/8_Your_Data.py": ("Your data", ":material/add_photo_alternate:"),
    "pages/9_Runs.py": ("Runs", ":material/list_alt:"),
}
STYLE = Path(__file__).parent.parent / ".streamlit"


def open_page(title: str, lead: str = "", pick: bool = True, line: str = "") -> Selection | None:
    """Open a page: browser title, look, navigation, heading and, with `pick`, the shared selection.

    line : what the page shows, where that is not the selection (an opened run).
    """
    name = "Crossmatch" if title == "Crossmatch" else f"{title} · Crossmatch"
    st.set_page_config(page_title=name, page_icon=str(STYLE / "icon.svg"), layout="wide")
    st.html(STYLE / "style.css")
    st.logo(str(STYLE / "logo.svg"), size="large")
    if pick:
        # The sidebar opens with the page, not later beside what is drawn already.
        st.sidebar.container(key="sidebar-title").html('<h2 class="cm-hidden">Selection</h2>')
    forget_images()
    wide = st.container(key="nav", horizontal=True, gap="xxsmall")
    narrow = st.popover(
        "Menu", icon=":material/menu:", key="menu"
    )  # on a phone; the style shows one of the two
    for place in (wide, narrow):
        for page, (label, icon) in PAGES.items():
            place.page_link(page, label=label, icon=icon)
    with wide:
        enlarge_on_click()
    st.title(title, anchor=False)
    read_old_links()
    restore_carried_state()
    if lead:
        st.markdown(lead)
    if not pick:
        return None
    with show_errors():
        restore_selection(title)
        choices = [("set", "benchmark", benchmarks()), ("split", "split", available_splits())]
        if is_public():  # elsewhere the widget takes any name, and says what is wrong with it
            choices.append(("model", "model", model_names()))
        for key, kind, known in choices:
            asked = st.query_params.get(key)  # the widget falls back by itself
            if asked is not None and asked not in known:
                st.warning(escape_markdown(str(unknown_name(kind, asked, known))), icon=":material/link_off:")
        selection = pick_selection()
    st.caption(escape_markdown(line or selection.description))
    return selection


def _check_rerun() -> None:
    """Ends this script where Streamlit has been told to stop or to rerun it: to look at the session's state does."""
    _ = "page" in st.session_state


@contextmanager
def show_errors() -> Iterator[None]:
    """A user's mistake becomes one sentence; a mistake of ours too, and its traceback goes to the terminal alone.

    Long arithmetic inside ends with the script: where its visitor has left, or has asked for something else.
    """
    try:
        with interruptible(_check_rerun):
            yield
    except Exception as error:
        show_error(error)
        st.stop()


def show_error(error: Exception) -> None:
    """Show an error of any kind as one sentence; what it was goes to the terminal alone."""
    if isinstance(error, InputError):
        st.error(escape_markdown(shown(str(error))), icon=":material/error:")
        return
    if isinstance(error, MemoryError):
        st.error("This needs more memory than is left; make it smaller, or use a machine with more.")
        return
    log.error("a page failed", exc_info=error)
    st.error(
        "An internal error occurred; the server's log has the details. Reload the page, or reset the selection."
    )
