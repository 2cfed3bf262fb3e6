"""Opening a page: browser title, look, navigation, heading, the shared selection; errors as one sentence."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.errors import StreamlitAPIException

from core.base.errors import InputError
from core.base.interrupt import interruptible
from core.base.public_mode import is_public, shown
from core.figures.text import escape_markdown
from core.scorers.vocabulary import vocabulary_note
from core.scoring.load import builtin_models
from ui import selection_line
from ui.cached import cached_on
from ui.formatting import EXACT_SAID
from ui.history import remember_page, tidy_history
from ui.images import enlarge_on_click, forget_images
from ui.loaders import model_source
from ui.navigation import PAGES, WITH_SELECTION
from ui.old_links import read_old_links, warn_unknown_parameters
from ui.one_theme import keep_one_theme
from ui.selection import (
    NearestModel,
    Selection,
    available_splits,
    benchmarks,
    model_beside,
    model_names,
    offer_nearest,
    pick_selection,
    put_off_selection,
    read_history,
    restore_carried_state,
    set_state,
    shared_parameters,
    shifted_names,
    warn_unknown,
)
from ui.touch_labels import drop_labels_on_scroll
from ui.uploads import (
    PREFIX,
    form_beside,
    is_upload,
    not_stored,
    put_beside,
    upload_evaluation,
    upload_names,
)
from ui.visitor import on_phone

log = logging.getLogger("crossmatch.pages")

SIDEBAR_WIDTH = 252  # pixels; pictures get what is left
STYLE = Path(__file__).parent.parent / ".streamlit"
_LONGEST = 2000  # characters of an error
_MATCHING = "pages/2_Matching.py"


def open_page(
    title: str,
    lead: str | Callable[[], str] = "",
    pick: bool = True,
    instead: str = "",
    nearest_model: Callable[[str], NearestModel] | None = None,
    sidebar: bool = False,
    heading: str = "",
    shows_files: bool | Callable[[], bool] = False,
    first: int = 0,
    uses_model: bool = True,
    chosen_why: str = "",
) -> Selection | None:
    """Open a page: browser title, look, navigation, heading and, with `pick`, the shared selection.

    lead : below the heading; asked for where it depends on what the browser went back to. heading : above the page,
    where it is not its title.
    instead : what the page shows in place of the selection, in one line (an opened run, shipped results); there is no
    sidebar then, so that figures have its room, and None is returned. nearest_model : of a page that cannot use every
    model, as in `ui.selection.pick_selection`. sidebar : whether a page without the shared selection fills the sidebar
    itself. shows_files : whether such a page shows files of the visitor's own all the same; asked for as `lead` is.
    first : how many of the selected groups the page uses, where it does not use all. uses_model : whether what the page
    shows depends on the selected model, so that words which that one does not know are named. chosen_why : after the
    line of the selection, why the page chose it by itself.
    """
    name = "Crossmatch" if title == "Crossmatch" else f"{title} · Crossmatch"
    icon = str(STYLE / "icon.svg")
    st.set_page_config(page_title=name, page_icon=icon, layout="wide", initial_sidebar_state=SIDEBAR_WIDTH)
    # The style is not sent: it stands in the document that every server of this app hands out (`StyledDocument`).
    st.logo(str(STYLE / "logo.svg"), size="large")
    has_sidebar = sidebar or (pick and not instead)
    if has_sidebar:
        # The sidebar opens with the page, not later beside what is drawn already.
        st.sidebar.container(key="sidebar-title").html('<h2 class="cm-hidden">Selection</h2>')
    remember_page()
    forget_images()
    st.session_state.pop(EXACT_SAID, None)
    restore_carried_state()
    selected = shared_parameters(chosen=True)
    with _links_to_pages(selected):
        # By this the style hides the sidebar of the view before at once: Streamlit keeps its content until the script
        # ends, and the empty sidebar after that.
        st.container(key="with-sidebar" if has_sidebar else "no-sidebar").html("<i></i>")
        _install_scripts()
    st.title(heading or title, anchor=False)
    read_history()
    read_old_links()
    if said := lead() if callable(lead) else lead:
        st.markdown(said)
    warn_unknown_parameters()
    if instead:
        st.caption(escape_markdown(instead))
    if instead or not pick:
        _say_unused_file(sidebar, bool(instead) or (shows_files() if callable(shows_files) else shows_files))
        put_off_selection()
        return None
    with show_errors():
        _warn_unknown_selection()
        selection = pick_selection(title, nearest_model)
        notes = _notes(selection)
    described = escape_markdown(selection.described(first) + _truth_of_file(selection)) + chosen_why
    with st.container(key=selection_line.KEY):
        st.caption(described, help=selection.score_meaning, width="content")
    for note in notes if uses_model else ():
        st.info(escape_markdown(note), icon=":material/info:")
    return selection


def _links_to_pages(selected: Mapping[str, Any]) -> DeltaGenerator:
    """In one line, and in a menu for phones: the style shows one of the two. The place of the line."""
    wide = st.container(key="nav", horizontal=True, gap="xxsmall")
    narrow = st.popover("Pages", icon=":material/menu:", key="menu")
    for place in (wide, narrow):
        for page, (label, icon) in PAGES.items():
            parameters = selected if page in WITH_SELECTION else None
            place.page_link(page, label=label, icon=icon, query_params=parameters)
    return wide


def _install_scripts() -> None:
    """What runs in the browser on every page."""
    enlarge_on_click()
    tidy_history()
    keep_one_theme()
    drop_labels_on_scroll()
    selection_line.open_selection_when_pressed()


def _truth_of_file(selection: Selection) -> str:
    """What stands in place of the ground truth that a file lacks, after the line of the selection; "" where it has
    one."""
    file = selection.file
    if not file or upload_evaluation(file, "x".join(map(str, selection.groups.shape))).truth_given:
        return ""
    if selection.is_file or selection.groups.truth is None:
        return ". The file has no ground truth: image i is assumed to belong to caption i."
    return f". The file has no ground truth; truth: of {selection.groups.name}."


def _notes(selection: Selection) -> list[str]:
    """What to know before any number: words that a built-in model does not know."""
    if selection.file:
        return []
    groups, name, source = selection.groups, selection.model, model_source(selection.model)

    def note() -> str | None:
        return vocabulary_note(
            name, source, selection.benchmark, (c for group in groups for c in group.captions)
        )

    found = cached_on(groups, ("vocabulary", name), note)
    return [] if found is None else [found]


def _warn_unknown_selection() -> None:
    """Say which names of the address are unknown; the fields fall back to their defaults by themselves."""
    files, asked = upload_names(), st.query_params.get("set", "")
    if is_upload(asked) and asked not in files:
        st.warning(escape_markdown(str(not_stored(asked))), icon=":material/link_off:")
    else:
        field = "Set, model" if on_phone() else "Benchmark or file"
        warn_unknown("benchmark", [asked], [*benchmarks(), *shifted_names(), *files], field)
    warn_unknown("split", st.query_params.get_all("split"), available_splits())
    if is_public():  # elsewhere the field takes any name, and says what is wrong with it
        warn_unknown("model", st.query_params.get_all("model"), [*model_names(), *files])


def _say_unused_file(sidebar: bool, is_silent: bool) -> None:
    """On a page without the selection: that it has no use for the file which the address names, or for the selected
    one where the page has a set of its own (`sidebar`).

    is_silent : of a file that is there, since the page shows it or says already that it uses no selection.
    """
    asked, files = st.query_params.get("set", ""), upload_names()
    if is_upload(asked) and asked not in files:
        st.warning(escape_markdown(str(not_stored(asked))), icon=":material/link_off:")
        with suppress(StreamlitAPIException):  # a field of this page has it: it takes another by itself
            del st.query_params["set"]
        return
    name = asked or (shared_parameters().get("set", "") if sidebar else "")
    if name in files and not is_silent:
        line = f"This page does not show {name.removeprefix(PREFIX)}, your file."
        offer_nearest(line, "Show its metrics on Matching", _MATCHING, {"set": name})


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


def _shortened(text: str) -> str:
    """A sentence without the middle, where it quotes megabytes of a file."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 4 :]}"


def quoted(sentence: str) -> str:
    """With quotation marks in the place of backticks, which a page shows as they are: no part of an error is markup."""
    return re.sub(r"`([^`\n]+)`", r"“\1”", sentence)


def error_text(error: object) -> str:
    """What an error says, as Markdown that a page shows as it is."""
    return escape_markdown(quoted(_shortened(shown(str(error)))))


def show_error(error: Exception) -> None:
    """Show an error of any kind as one sentence; what it was goes to the terminal alone."""
    if isinstance(error, InputError):
        st.error(error_text(error), icon=":material/error:")
        _offer_built_in_model(str(error))
        return
    if isinstance(error, MemoryError):
        st.error("This needs more memory than is left; make it smaller, or use a machine with more.")
        return
    log.error("a page failed", exc_info=error)
    st.error(
        "An internal error occurred; the server's log has the details. Reload the page, or reset the selection."
    )


def _offer_built_in_model(error: str) -> None:
    """Below an error about a model that no list has, the selected one or that beside it: the way back to one that ships
    with Crossmatch, to the one that the page would have opened with by itself."""
    for key in ("model", "other"):
        name = str(st.session_state.get(key) or "")
        if not name or name not in error or name in (*model_names(), *upload_names()):
            continue
        selected = st.session_state.get("model")
        back = model_beside(selected) if key == "other" else next(iter(builtin_models()), None)
        if back is None:
            return
        with suppress(StreamlitAPIException):  # another part of the page has said it already
            st.button(
                f"Back to {back}", on_click=set_state, args=({key: back},), key="built-in-model",
                icon=":material/arrow_forward:",
            )  # fmt: skip
        return


def ask_beside(entry: str, what: str) -> None:
    """The field for tags or a prior beside a file, what it takes, and the page again with what was brought. A mistake
    in it is said at once below the field, and the page goes on."""
    field = st.container()
    form_beside(entry, what)
    with field:
        try:
            is_new = put_beside(entry, what)
        except InputError as error:
            show_error(error)
            return
    if is_new:
        st.rerun()
