"""The workbench of the page Your data: what was brought, its columns, what is wrong with it, its preview, its name."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from core.base.errors import InputError
from core.base.table_formats import Table, _result_csv
from core.base.text import counted
from core.datasets import user_sets
from core.exchange import importing
from core.exchange.columns import ColumnMapping, guess_columns
from core.exchange.importing import (
    Staged,
    open_manifest,
    save_upload,
    table_choices,
    unpack_source,
)
from core.figures import group_html
from core.figures.text import escape_markdown
from core.groups import Group, image_name
from ui import audit
from ui.cached import cached_on
from ui.images import image_tags
from ui.loaders import load_groups
from ui.metric_cards import table_or_mistakes
from ui.page import show_error
from ui.selection import benchmarks, page_button

NONE = "(none)"
PREVIEWED = 10


@dataclass
class ImportSession:
    """What this session has brought: an open table, and once it was checked, the staged set."""

    origin: str  # what it came from, to notice that something else was brought
    source: Path | None  # folder or file; None for a table of the hub
    table: Table | None  # None while a folder has several and none is chosen
    place: Path | None = None  # a folder of ours to throw away with it
    name: str = ""  # of an upload, as its visitor calls it
    staged: Staged | None = None
    meant: ColumnMapping | None = None  # the columns that were checked


def import_session() -> ImportSession | None:
    return st.session_state.get("bench")


def clear() -> None:
    """Throw away what was brought."""
    old = st.session_state.pop("bench", None)
    if old is not None:
        if old.staged is not None:
            old.staged.discard()
        if old.place is not None:
            shutil.rmtree(old.place, ignore_errors=True)


def open_source(origin: str, what: Path | Table, place: Path | None = None, name: str = "") -> None:
    """Put something else on the workbench: a folder or file, or a table that is open. name : of an upload."""
    clear()
    forget_origin()
    if isinstance(what, Table):
        st.session_state["bench"] = ImportSession(origin, None, what, place)
        return
    table = None if len(table_choices(what)) > 1 else open_manifest(what, name=name)
    st.session_state["bench"] = ImportSession(origin, what, table, place, name)


def choices(now: ImportSession) -> list[str]:
    """Tables to choose from; [] where there is one alone."""
    names = table_choices(now.source) if now.source is not None else []
    return names if len(names) > 1 else []


def choose_table(now: ImportSession) -> Table | None:
    """The table; where a folder has several, the one that is chosen."""
    names = choices(now)
    if now.source is None or not names:
        return now.table
    chosen = st.selectbox("Which table or split", names, key="set_table")
    if now.table is None or st.session_state.get("set_opened") != (now.origin, chosen):
        now.table, now.meant = open_manifest(now.source, chosen), None
        st.session_state["set_opened"] = (now.origin, chosen)
    return now.table


def open_upload(upload: Any) -> None:
    """An uploaded zip or table; nothing is read twice."""
    origin = f"{upload.file_id}/{upload.name}"
    if is_added(origin) or ((now := import_session()) is not None and now.origin == origin):
        return
    path = save_upload(upload.name, upload)
    try:
        source = unpack_source(path, path.parent / "unpacked" / path.name)
        open_source(origin, source, path.parent, upload.name)
    except InputError as error:  # as its visitor calls it, not as it was stored
        shutil.rmtree(path.parent, ignore_errors=True)
        raise InputError(str(error).replace(path.name, upload.name)) from None
    except BaseException:
        shutil.rmtree(path.parent, ignore_errors=True)
        raise


# --- columns ---------------------------------------------------------------------------------------------------------


def choose_columns(table: Table) -> ColumnMapping:
    """What each column means, by its name at first; folded where the names say it all, so that the result is near."""
    first = guess_columns(table.columns)
    is_known = bool(first.images and first.captions)
    found = f" ({_in_words(first)})" if is_known else ""
    label = escape_markdown(f"What the columns mean{found}")
    with st.expander(label, expanded=not is_known, key="columns"):
        st.dataframe(_sample(table), hide_index=True, height=145)
        chosen = _column_fields(first, list(table.columns))
        st.caption("Every other column becomes a tag.")
    return chosen


def _in_words(columns: ColumnMapping) -> str:
    """`images: image_0, image_1; captions: caption_0, caption_1; id: id`."""
    named = {
        "images": ", ".join(columns.images),
        "captions": ", ".join(columns.captions),
        "answer": columns.truth,
        "group": columns.group,
        "id": columns.id,
    }
    return "; ".join(f"{what}: {names}" for what, names in named.items() if names)


def _column_fields(first: ColumnMapping, names: list[str]) -> ColumnMapping:
    """A field for each meaning, filled with the first guess."""
    left, right = st.columns(2)
    images = left.multiselect("Images, in order", names, list(first.images), key="col_images")
    captions = right.multiselect("Captions, in order", names, list(first.captions), key="col_captions")
    one, two, three = st.columns(3)
    told = "Caption number of each image, from 0. None: image i belongs to caption i."
    answer = one.selectbox("Answer", _options(names), _index(names, first.truth), key="col_answer", help=told)
    told = "Rows with the same value are one group: each row is an image with its caption."
    group = two.selectbox("Group", _options(names), _index(names, first.group), key="col_group", help=told)
    told = "Column that names each group. None: the groups are numbered."
    name = three.selectbox("Id", _options(names), _index(names, first.id), key="col_id", help=told)
    return ColumnMapping(tuple(images), tuple(captions), _value(answer), _value(name), _value(group))


def _options(names: list[str]) -> list[str]:
    return [NONE, *names]


def _index(names: list[str], name: str) -> int:
    return 1 + names.index(name) if name in names else 0


def _value(choice: str | None) -> str:
    return "" if choice in (None, NONE) else str(choice)


def _sample(table: Table) -> pd.DataFrame:
    """The first rows as text; images inside a file are only mentioned."""
    rows = []
    for row, _ in zip(table.rows(), range(3), strict=False):
        rows.append({name: _short(row.cells.get(name)) for name in table.columns})
    return pd.DataFrame(rows, columns=list(table.columns))


def _short(value: Any) -> str:
    if isinstance(value, bytes) or (isinstance(value, dict) and isinstance(value.get("bytes"), bytes)):
        return "[image]"
    text = "" if value is None else str(value)
    return text if len(text) < 120 else text[:119] + "…"


# --- checking --------------------------------------------------------------------------------------------------------


def check(now: ImportSession, columns: ColumnMapping) -> None:
    """Read and check everything, with progress."""
    assert now.table is not None
    if now.source is not None:  # somebody may have mended the file meanwhile
        chosen = st.session_state.get("set_table") if choices(now) else None
        now.table = open_manifest(now.source, chosen, now.name)
    if now.staged is not None:
        now.staged.discard()
        now.staged = None
    place = st.empty()

    def tell(count: int) -> None:
        if count % 25 == 0:
            place.caption(f"{count} groups read …")

    with st.spinner("Checking every row and every image …"):
        now.staged, now.meant = importing.stage_import(now.table, columns, progress=tell), columns
    place.empty()


def show_result(staged: Staged) -> None:
    """How many groups there are, what is wrong row by row, and the first groups."""
    shapes = ", ".join(
        f"{count} of {shape.replace('x', '×')}" for shape, count in sorted(staged.shapes.items())
    )
    line = f"{counted(staged.groups, 'usable group')} ({shapes})" if shapes else "No usable group"
    if not staged.total:
        st.success(f"{line}; no problems found.", icon=":material/check:")
    else:
        some, remarks = counted(staged.fatal, "problem"), counted(staged.total - staged.fatal, "warning")
        st.warning(f"{line}; {some} to fix, {remarks}.", icon=":material/rule:")
        show_problems(staged)


def show_problems(staged: Staged) -> None:
    rows = staged.problem_rows()
    table = pd.DataFrame(rows)
    with table_or_mistakes("problems", [_place_and_rest(row) for row in rows]):
        st.dataframe(table, hide_index=True, height=min(38 + 35 * len(table), 320), key="problems")
    with st.container(horizontal=True, vertical_alignment="center"):
        data = lambda: _result_csv(table)  # noqa: E731
        st.download_button("Problems (CSV)", data, "problems.csv", "text/csv", on_click="ignore")
        if staged.total > len(table):
            st.caption(f"The first {len(table)} of {staged.total}.")


def _place_and_rest(row: dict[str, str]) -> tuple[str, list[tuple[str, str]]]:
    """A problem as a phone's card: `Row 3, image_1`, and what is said of it."""
    where = ", ".join(filter(None, (row["row"] and f"Row {row['row']}", row["column"])))
    return where or "The file", [*row.items()][2:]


def show_preview(staged: Staged) -> None:
    groups = staged.preview(PREVIEWED)
    st.header("The first group" if len(groups) == 1 else f"The first {len(groups)} groups", anchor=False)
    st.caption("Are the images and captions paired as you intended? The mark shows each image's caption.")
    columns = st.columns(2)
    for i, group in enumerate(groups):
        with columns[i % 2].container(border=True):
            st.caption(escape_markdown(group.id))
            marks = [("right", _answer_text(group))]
            st.html(group_html.card_html(image_tags(group), group.captions, marks))


# --- a name ----------------------------------------------------------------------------------------------------------


def name_form(now: ImportSession) -> None:
    """The form that makes the staged set a benchmark."""
    staged = now.staged
    assert staged is not None
    st.header("Give it a name", anchor=False)
    with st.form("register", border=True, enter_to_submit=False):  # a licence and a title come after the name
        left, right = st.columns(2)
        name = left.text_input("Name", placeholder="kitchen-pairs", help="The benchmark will be mine/NAME.")
        place = left.container()  # of what is wrong with the name: below the button it was off the screen
        title = right.text_input("Title", placeholder="Kitchen pairs")
        licence = left.text_input("Licence", placeholder="CC BY 4.0")
        citation = right.text_input("Cite as")
        agreed = not staged.fatal or st.checkbox(f"Leave out the groups with problems ({staged.fatal})")
        rest = st.container()
        sent = st.form_submit_button("Add it to the benchmarks", type="primary", icon=":material/add:")
    if sent:
        try:
            staged.check_addable(name)
            place = rest
            added = staged.add_benchmark(name, agreed, title=title, licence=licence, citation=citation)
        except InputError as error:
            with place:
                show_error(error)
            return
        st.session_state[_ADDED_FROM] = now.origin
        clear()
        clear_caches()
        st.session_state["added"] = added
        st.session_state["added_repeats"] = (staged.repeated, staged.groups)
        st.rerun()


_ADDED_FROM = "added_from"  # of the session: what the last set came from, which its field still shows


def is_added(origin: str) -> bool:
    """Whether what a field shows has just become a set: it is not opened once more by itself."""
    return st.session_state.get(_ADDED_FROM) == origin


def forget_origin() -> None:
    """Its field is empty: what is brought next is opened, the same once more, too."""
    st.session_state.pop(_ADDED_FROM, None)


def forget_added() -> None:
    """Another tab says no more what was added on the one before (a callback)."""
    st.session_state.pop("added", None)


def show_added() -> None:
    """What was added a moment ago, and where to go on with it."""
    added = [name for name in st.session_state.get("added", ()) if name.split("/")[1] in user_sets.sets()]
    if not added:
        return
    line = f"Added {', '.join(added)}. It is in every list of benchmarks now."
    repeated, groups = st.session_state.get("added_repeats", (0, 0))
    if repeated:
        repeat = "repeats another group and counts" if repeated == 1 else "repeat another group and count"
        line += f" {repeated} of its {counted(groups, 'group')} {repeat} twice: its audit names them."
    (st.warning if repeated else st.success)(escape_markdown(line), icon=":material/check:")
    with st.container(horizontal=True):
        state = {"set": added[0], "split": "test"}
        page_button(
            "Browse its groups", "pages/1_Groups.py", state, icon=":material/grid_view:", type="primary"
        )
        page_button("Measure a model on it", "pages/2_Matching.py", state, icon=":material/join_inner:")
        if repeated:
            page_button("Open its audit", "pages/10_Audit.py", state, icon=":material/fact_check:")
    for name in added:
        groups = load_groups(name, "test")
        for part in cached_on(groups, "shapes", groups.buckets).values():
            audit.summary_line(part, "test")


def clear_caches() -> None:
    """Lists and groups that pages keep in memory are read again."""
    with suppress(AttributeError):  # in tests without a running app
        benchmarks.clear()
        load_groups.clear()


def _answer_text(group: Group) -> str:
    """Which caption the user says belongs to which image: `A–2, B–1`; `A–1, A–2` where both are true of it."""
    return ", ".join(f"{image_name(i)}–{j + 1}" for i, j in group.truth_pairs)
