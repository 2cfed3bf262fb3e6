"""A file that was given where another kind belongs: what it looks like, and one click that opens it there."""

from __future__ import annotations

import io
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import streamlit as st

from core.base import public_mode
from core.base.errors import InputError
from core.base.paths import is_file
from core.base.table_formats import Table, _result_csv, open_table
from core.base.text import counted
from core.datasets.packed_tables import _unpacked
from core.datasets.score_faults import LISTED, ScoreFault
from core.exchange.file_kinds import (
    _CAPTIONS,
    _EMBEDDINGS,
    _PRIOR,
    _SCORES,
    _is_set_of_images,
    _kind_of_file,
    _kind_of_table,
    _looks_like_images,
)
from core.exchange.importing import _no_archive
from core.exchange.score_columns import _ScoreColumns
from core.exchange.uploads import Upload
from core.figures.text import escape_markdown
from ui import import_workbench
from ui.formatting import wide_table
from ui.import_workbench import ImportSession
from ui.page import error_text, show_error
from ui.selection import select
from ui.uploads import (
    FILES,
    PREFIX,
    PRIOR,
    TAGS,
    _takes,
    add_beside,
    as_stored,
    fits_in_part,
    groups_without_tags,
    read_by_form,
    store_file,
    stored_upload,
    what_beside,
)

WAY_IMAGES, WAY_SCORES = "Images and captions", "Scores or embeddings"  # the tabs, as the page calls them
_LOOKS = {_SCORES: "a score file", _EMBEDDINGS: "a file of embeddings", _PRIOR: "a language prior"}

_COLUMNS = "score_columns"
_NEEDED = "Needed are a group, an image, a caption and the score of each pair; say which column is which."


def scores_of_other_names(name: str, table: Table, or_images: bool, file: Any = None) -> bool:
    """Where a table looks like scores under other headers: which columns are needed, and a form that says which is
    which; whether it showed that.

    or_images : as of `_ScoreColumns.guessed`. file : of the field of score files, which then does not read it again: it
    stands under the names that are read.
    """
    guess = _ScoreColumns.guessed(table, or_images)
    if guess is None:
        return False
    _say(_needed_said(guess, name, table))
    _read_renamed(guess, name, table, file)
    return True


def _read_renamed(guess: _ScoreColumns, name: str, table: Table, file: Any = None) -> None:
    """The form; once it is sent, the table is stored as a score file and shown."""
    content = _renamed(guess, name, table, "" if file is None else file.file_id)
    if content is None:
        return
    entry = store_file(f"{Path(name).stem}.csv", content)
    import_workbench.clear()
    if file is not None:
        read_by_form(file, entry)
    way = {"way": WAY_SCORES} if st.session_state.get("way") == WAY_IMAGES else {}
    select(**way, set=entry, shape=stored_upload(entry).shape, tag=[])


def renamed_scores(name: str, content: bytes, key: str) -> tuple[bool, bytes | None]:
    """The same form for a file that is not stored: whether it was shown, and the file under the names that are read,
    once they are said. key : of the file, which no other has."""
    guess = None
    with suppress(InputError):
        table = open_table(name, content)
        guess = _ScoreColumns.guessed(table, or_images=False)
    if guess is None:
        return False, None
    _say(_needed_said(guess, name, table))
    return True, _renamed(guess, name, table, key)


def _needed_said(guess: _ScoreColumns, name: str, table: Table, is_said: bool = False) -> str:
    """That a table looks like scores, and what has to be said about its columns. is_said : without the former."""
    needed = "Add it, or choose below the column that holds it." if guess._lacking else _NEEDED
    if guess._pairs is not None:
        needed = f"It has scores of several models; choose those of one. {guess.read_as}"
    if guess._by_position and not guess._lacking:
        *more, last = guess._by_position
        which = f"{', '.join(more)} and {last}" if more else last
        how = (
            "by its values"
            if which == "match"
            else "by position"
            if last != "match"
            else "by position and values"
        )
        needed += f" What is chosen for {which} is a guess {how}; please check."
    return f"{name}: {needed}" if is_said else f"{guess._looks(name, table.columns)}. {needed}"


def _renamed(guess: _ScoreColumns, name: str, table: Table, of: str) -> bytes | None:
    """A form that says which column is which; the table under the names that are read, once it is sent. What is wrong
    with the choice is said below it.

    of : the file; with another one, or other columns, the form begins anew with what is guessed then.
    """
    key = f"{_COLUMNS}-{Upload.digest(repr((of, name, table.columns)).encode())[:12]}"
    with st.form(key, border=True):
        columns = _column_fields(guess, list(table.columns), key)
        weight: Literal["primary", "secondary"] = "secondary" if guess._lacking else "primary"
        sent = st.form_submit_button("Read it as scores", type=weight, icon=":material/arrow_forward:")
    if not sent:
        return None
    try:
        return columns.renamed(table)
    except InputError as error:
        show_error(error)
    return None


def has_several_mistakes(file: Any) -> bool:
    """Whether a file of scores has more than the one mistake that its sentence is about."""
    return len(ScoreFault.of_file(file.name, file.getvalue())) > 1


def show_mistakes(error: InputError, name: str, content: bytes, so: str, is_said: bool = False) -> None:
    """What is wrong with a file of scores or embeddings: all of its mistakes, as of a manifest; or the sentence of
    whoever read it.

    so : begins what is to be done, `... mend`. is_said : a red box above says already that it is not stored.
    """
    faults = ScoreFault.of_file(name, content)
    if len(faults) < 2:
        show_error(error)
        return
    place = {".npz": "cell", ".npy": "cell", ".jsonl": "line"}.get(Path(name).suffix.lower(), "row")
    first = f"at least {LISTED} mistakes; the table below lists the first of them, each"
    every = f"{len(faults)} mistakes; the table below lists each"
    told = f"{name} has {first if len(faults) == LISTED else every} with its {place} and what to do."
    told = f"{told} {so} them, and upload it again."
    if is_said:
        st.caption(escape_markdown(told))
    else:
        show_error(InputError(told))
    table = pd.DataFrame(faults, columns=["row", "column", "what is wrong", "what to do"])
    table["row"] = ["" if row is None or pd.isna(row) else str(int(row)) for row in table["row"]]
    if place == "cell":
        table = table.drop(columns="row").rename(columns={"column": "cell"})
    elif place == "line":
        table = table.rename(columns={"row": "line", "column": "key"})
    wide_table(table, height=min(38 + 35 * len(table), 320), key="score-faults")
    data = lambda: _result_csv(table)  # noqa: E731
    st.download_button("Mistakes (CSV)", data, "mistakes.csv", "text/csv", on_click="ignore")


def _column_fields(guess: _ScoreColumns, names: list[str], form: str) -> _ScoreColumns:
    """A field for each meaning, filled with the guess. form : its key."""
    none = import_workbench.NONE

    def pick(place: Any, label: str, chosen: str, told: str) -> str:
        options = [none, *names]
        key = f"{form}_{label.split()[0].lower()}"
        found = place.selectbox(label, options, options.index(chosen) if chosen else 0, key=key, help=told)
        return "" if found == none else found

    one, two, three, four = st.columns(4)
    group = pick(one, "Group", guess.group, "Rows with the same value are one group.")
    image = pick(
        two,
        "Image",
        guess.image,
        "None: a group has one image; or each row is one, with a score column for each caption.",
    )
    told = "None: there is a column of scores for each caption, or for each caption with each image."
    caption = pick(three, "Caption", guess.caption, told)
    told = (
        "One column, or one for each caption; or, in a row per group, one for each caption with each image, whose "
        "names end in c0_i0, c0_i1, …"
    )
    scores = four.multiselect("Score", names, list(guess.scores), key=f"{form}_score", help=told)
    told = "1 where the caption belongs to the image, else 0. None: image i belongs to caption i."
    match = pick(st.container(width=260), "Match (optional)", guess.match, told)
    return _ScoreColumns(group, image, caption, tuple(scores), match)


def not_images(name: str, kind: str, content: bytes | None) -> bool:
    """Say that a file holds no images and captions, with a button that opens it where it belongs; whether it said so.

    kind : of `core.exchange.file_kinds`. content : None where the file cannot be handed on.
    """
    if kind not in _LOOKS:
        return False
    if kind == _PRIOR:
        _say(
            f"{name} looks like a language prior: open “{WAY_SCORES}”, and add it below the result of its scores."
        )
        if st.button(f"Open “{WAY_SCORES}”", icon=":material/arrow_forward:"):
            select(way=WAY_SCORES)
        return True
    _say(f"{name} looks like {_LOOKS[kind]}: open “{WAY_SCORES}”.")
    label = f"Open {escape_markdown(name)} there"
    if content is not None and st.button(label, type="primary", icon=":material/arrow_forward:"):
        entry = store_file(name, content)
        import_workbench.clear()
        select(way=WAY_SCORES, set=entry, shape=stored_upload(entry).shape, tag=[])
    return True


def no_table_of_images(now: ImportSession) -> bool:
    """The same of the open table of a folder, an archive or a file."""
    table = now.table
    if table is None:
        return False
    kind = _kind_of_table(table)
    if kind not in (_PRIOR, _EMBEDDINGS) and scores_of_other_names(
        table.name, table, or_images=kind != _SCORES
    ):
        return True
    if kind not in _LOOKS:
        return False
    path, name = table.folder / table.name, table.name
    if now.source is not None and is_file(now.source):  # an upload has another name on disk
        path = now.source
    if path.suffix.lower() == ".tsv":  # one reader takes both
        name = str(Path(name).with_suffix(".csv"))
    readable = Path(name).suffix.lower()[1:] in FILES and path.is_file()
    return not_images(name, kind, path.read_bytes() if readable else None)


def why_not_stored(file: Any, error: InputError, in_view: str) -> str:
    """Of an upload that could not be read as scores what it looks like, or what is wrong with it: a sentence, where
    `not_scores` has what can be done about it. in_view : the file that is shown, "" of none."""
    name, content = file.name, file.getvalue()
    if name.lower().endswith(".zip"):
        return (
            escape_markdown(f"{_looks_like_images(name)}.")
            if _is_set_of_images(name, content)
            else error_text(error)
        )
    kind = _kind_of_file(name, content)
    what = what_beside(name, content)
    if what == PRIOR or (what and not in_view):
        return escape_markdown(_waits(what, name, content, in_view))
    if what == TAGS:
        try:
            lacking = counted(groups_without_tags(in_view, name, content), "group")
            do = "complete it, or upload the scores that it belongs to"
            has_not = f"has no row for {lacking} of {in_view.removeprefix(PREFIX)}"
            return escape_markdown(f"{name} {_IS_BESIDE[TAGS]} and {has_not}; {do}.")
        except InputError as wrong:  # a group is there twice
            return error_text(wrong)
    with suppress(InputError):
        table = open_table(name, content)
        if (guess := _ScoreColumns.likely(table)) is not None:
            return escape_markdown(f"{guess._looks(name, table.columns)}.")
    if kind == _CAPTIONS:
        return escape_markdown(f"{_looks_like_images(name)}; of scores it lacks the column “score”.")
    return error_text(error)


def is_not_read(file: Any) -> bool:
    """Whether an upload is called an archive and is none, holds several tables or is tags or a prior of other groups:
    its sentence says all there is."""
    content = file.getvalue()
    if what_beside(file.name, content):
        return True
    if not file.name.lower().endswith(".zip") or _is_set_of_images(file.name, content):
        return False
    try:
        return _unpacked(Path(file.name), content)[1] is None
    except InputError:
        return True


def not_scores(file: Any, is_said: bool = False) -> bool:
    """Say that an upload which could not be read as scores looks like something else; whether it said so. is_said : a
    red box above says already what it looks like: it is no second box then."""
    name, content = file.name, file.getvalue()
    if name.lower().endswith(".zip"):
        _archive_among_scores(file)
        return True
    kind = _kind_of_file(name, content)
    if what := what_beside(name, content):
        if not offer_beside(file):
            _say(_waits(what, name, content))
        return True
    guess = None
    with suppress(InputError):
        table = open_table(name, content)
        guess = _ScoreColumns.guessed(table, or_images=False)  # it was uploaded as scores
    if guess is None:
        return kind == _CAPTIONS and _offer_images(file, " Of scores it lacks the column “score”.")
    if _ScoreColumns.likely(table) is not None:
        needed = _needed_said(guess, name, table, is_said)
        if is_said:
            st.caption(escape_markdown(needed))
        else:
            _say(needed)
        _read_renamed(guess, name, table, file)
        if kind == _CAPTIONS and not public_mode.is_public():
            st.caption(f"If it holds images and captions without scores, open it under “{WAY_IMAGES}”.")
            _open_there(file)
        return True
    _offer_images(file)
    with st.expander("These are scores"):
        st.caption(escape_markdown(_NEEDED))
        _read_renamed(guess, name, table, file)
    return True


def _archive_among_scores(file: Any) -> None:
    """What an upload is that is called an archive: a table of scores that has to be mended or named, images and
    captions, several tables, or no archive at all."""
    try:
        if _is_set_of_images(file.name, file.getvalue()):
            _offer_images(file)
            return
        packed, table = _unpacked(Path(file.name), file.getvalue())
        inside = _Handed(packed.name, table or b"", file.file_id)
        if not not_scores(inside):
            _show_wrong(inside)
    except InputError as error:
        show_error(error if zipfile.is_zipfile(io.BytesIO(file.getvalue())) else _no_archive(file.name))


def _show_wrong(file: Any) -> None:
    """What is wrong with the only table of an archive."""
    try:
        store_file(file.name, file.getvalue())
    except InputError as error:
        show_mistakes(error, file.name, file.getvalue(), "Nothing of it is stored: mend")


def _offer_images(file: Any, more: str = "") -> bool:
    """Say that an upload looks like images and captions, with a button that opens it there; true, as it said so.
    more : a sentence behind it."""
    if public_mode.is_public():
        _say(f"{_looks_like_images(file.name)}, which this public server does not take.{more}")
        return True
    _say(f"{_looks_like_images(file.name)}: open “{WAY_IMAGES}”, which also reads tables in archives.{more}")
    _open_there(file, "primary")
    return True


def _open_there(file: Any, weight: Literal["primary", "secondary"] = "secondary") -> None:
    label, key = f"Open {escape_markdown(file.name)} there", f"open-there-{file.file_id}"
    if st.button(label, key=key, type=weight, icon=":material/arrow_forward:"):
        import_workbench.open_upload(_Handed(file.name, file.getvalue()))
        select(way=WAY_IMAGES)


_MOST_OFFERED = 4  # files that tags or a prior may be added to by a button
_IS_BESIDE = {TAGS: "looks like a table of tags", PRIOR: "looks like a language prior"}
_WAITS = {  # what to do where no stored file is of its groups
    TAGS: "upload the scores that it belongs to, and they get these tags.",
    PRIOR: "upload the scores that it belongs to, and add it below their result. It needs scores that are "
    "log-likelihoods, of the same groups and captions, without a prior yet.",
}


def _waits(what: str, name: str, content: bytes, in_view: str = "") -> str:
    """What is to be done with tags or a prior that no stored file takes, as one with losses in place of log P(t)."""
    found = fits_in_part(what, name, content, in_view)
    if found is None:
        return f"{name} {_IS_BESIDE[what]}: {_WAITS[what]}"
    entry, wrong = found
    of, lacks = entry.removeprefix(PREFIX), str(wrong).removeprefix(f"{name} ")
    return f"{name} {_IS_BESIDE[what]} of {of}, but {lacks} Or upload the scores that it belongs to."


def offer_beside(file: Any, in_view: str = "") -> bool:
    """Of an upload that is tags or a language prior a button for each stored file of its groups; whether there is any.

    in_view : the file that is shown, which is offered first, and though it has such a file already.
    """
    name, content = file.name, file.getvalue()
    what = what_beside(name, content)
    entries = _takes(what, name, content, in_view)[:_MOST_OFFERED] if what else []
    there = stored_upload(in_view).beside(what) if what and in_view else None
    if there is not None and there[1] == content:  # brought again
        entries = [entry for entry in entries if entry != in_view]
        if not entries:
            _say(f"{name} is stored beside {in_view.removeprefix(PREFIX)} already.")
            return True
    if not entries:
        return False
    _say(f"{name} {_IS_BESIDE[what]}: add it to the scores that it belongs to.")
    with st.container(horizontal=True):
        for entry in entries:
            before = stored_upload(entry).facts["beside"].get(what)
            instead = "" if before is None else f", in place of {before['name']}"
            label = escape_markdown(f"Add it to {entry.removeprefix(PREFIX)}{instead}")
            key = f"add-{what}-{file.file_id}-{entry}"
            if st.button(label, key=key, type="primary", icon=":material/add:"):
                add_beside(entry, what, name, content)
                as_stored(file)
                st.toast(escape_markdown(f"{name} is added to {entry.removeprefix(PREFIX)}."))
                select(set=entry, shape=stored_upload(entry).shape, tag=[])
    return True


class _Handed(io.BytesIO):
    """A file of another field, as an upload of this one."""

    def __init__(self, name: str, content: bytes, file_id: str = "") -> None:
        super().__init__(content)
        self.name, self.file_id = name, file_id or f"handed-{id(self)}"


def _say(line: str) -> None:
    st.info(escape_markdown(line), icon=":material/swap_horiz:")
