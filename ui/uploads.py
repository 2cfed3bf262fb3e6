"""Uploaded files as entries of the selection: stored for their visitor, read once, with groups that pages can show."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from core.base import public_mode
from core.base.errors import InputError
from core.base.limits import limits
from core.base.table_formats import open_table
from core.base.text import counted
from core.datasets.packed_tables import _unpacked
from core.datasets.score_files import (
    ScoreFile,
    _caption_columns,
    _CaptionColumns,
    _FitsInPart,
    _OfOtherGroups,
    read_tags,
)
from core.debiasing.priors import Prior
from core.exchange.file_kinds import (
    _EMBEDDINGS,
    _PRIOR,
    _SCORES,
    _is_set_of_images,
    _is_tags,
    _kind_of_file,
    _looks_like_images,
)
from core.exchange.score_columns import _unchosen_match
from core.exchange.uploads import PRIOR, TAGS, Upload, UploadStore
from core.figures.text import escape_markdown
from core.groups import GroupSet
from core.metrics.evaluation import Evaluation
from core.teaching.single_group import evaluate_file, holds_embeddings
from ui.cached import cached_on
from ui.compute_queue import READING
from ui.measured import MeasuredFiles
from ui.visitor import address, owner

PREFIX = "upload/"  # of an entry of the selection: `upload/scores.csv`
FILES = ["npz", "npy", "csv", "jsonl", "parquet", "json"]
FILE_LABEL, EMBEDDINGS_LABEL = "File of scores or embeddings", "File of embeddings"
FORMATS = (
    "Scores: CSV or Parquet `group,image,caption,score`, optional `match` (1: true pair, 0: not); "
    "NPZ `scores` (groups, images, captions), or that array alone as NPY; "
    "JSON lines with `c0_i0`, `c1_i0`, …, or a sample log of lm-eval or lmms-eval; MTEB's predictions (JSON). "
    "Embeddings: NPZ with `img` and `cap` (or `image_embeddings` and `text_embeddings`, `images` and `captions`), "
    "rows in group order. A zip with one such file is read, too."
)
BESIDE = {  # what: label of the field, endings, what its file holds
    TAGS: (
        "Tags",
        ["csv"],
        "CSV with `group` (or `id`) and a column per tag, a row for each group. Such as:",
    ),
    PRIOR: (
        "Language prior: log P(t) of every caption",
        ["csv", "parquet", "npz", "jsonl"],
        "CSV or Parquet `group,caption,log_prob`, a row for each caption; NPZ `prior` (groups, captions) or `samples` "
        "(null images, groups, captions); or a sample log of lm-eval or lmms-eval. For the first group, say:",
    ),
}
SHAPES = ("2x2", "1x2", "1x4", "1x5", "2x4", "3x3")  # that embeddings are read in, the first that fits


def upload_store() -> UploadStore:
    """This visitor's files."""
    return UploadStore(owner(), address())


def is_upload(name: str) -> bool:
    """Whether an entry of the selection is an uploaded file."""
    return name.startswith(PREFIX)


def upload_names() -> list[str]:
    """This visitor's files as entries of the selection, the newest first."""
    return [f"{PREFIX}{upload.name}" for upload in upload_store().list()]


def stored_upload(entry: str) -> Upload:
    """The file of an entry; InputError where this visitor has none of that name."""
    return upload_store().get(entry.removeprefix(PREFIX))


def upload_of(path: str) -> str:
    """The stored file that `core.ttm.run.store_embeddings` kept at a path for a run, as an entry of the selection: of
    several with this content the one of that name; "" where this visitor has none any more."""
    digest, name = Path(path).parent.name, Path(path).name
    same = [each.name for each in upload_store().list() if digest and each.facts["sha256"].startswith(digest)]
    return f"{PREFIX}{name if name in same else same[0]}" if same else ""


def not_stored(entry: str) -> InputError:
    """What is said of an entry that this visitor has not."""
    return UploadStore.missing(entry.removeprefix(PREFIX))


def upload_limit() -> int:
    """Megabytes of one file: what the server takes, which refuses more whatever a field says."""
    return public_mode.upload_megabytes(st.get_option("server.maxUploadSize"))


def new_upload(key: str, only_embeddings: bool = False) -> str | None:
    """A field for a file; the entry of one that has just been stored, None on every other run.

    Raises InputError for a file that cannot be read, or with `only_embeddings` for one of scores; it is not stored.
    """
    file = st.file_uploader(
        EMBEDDINGS_LABEL if only_embeddings else FILE_LABEL,
        [*FILES, "zip"],
        key=key,
        max_upload_size=upload_limit(),
    )
    if file is None or st.session_state.get("stored_upload") == file.file_id:
        return None
    try:
        entry = store_file(file.name, file.getvalue(), only_embeddings)
    except InputError:
        if _is_set_of_images(file.name, file.getvalue()):  # else its manifest was told to take scores
            place = (
                "Your data has a place for them" if not public_mode.is_public() else "they are not taken here"
            )
            raise InputError(f"{_looks_like_images(file.name)}, not scores: {place}.") from None
        raise
    st.session_state["stored_upload"] = file.file_id
    return entry


class NewUploads(NamedTuple):
    """What a field for several files holds."""

    entries: list[str]  # of those that have just been stored, [] on every other run
    refused: list[tuple[Any, InputError]]  # files that cannot be read, which are not stored
    older: list[tuple[Any, InputError]]  # such files that one which could be stored came with, and after
    stored: set[str]  # the names under which its files are stored
    aside: list[
        tuple[Any, InputError]
    ]  # such files that came before the last ones or before another choice, and that it still shows
    waiting: set[str]  # of those aside the ids of tags and priors, which wait for the scores they belong to


def new_uploads(key: str) -> NewUploads:
    """A field for several files, of which those that can be read are stored. One that cannot is named until it is taken
    out of the field, or one of its name that follows it there is stored (the same without its mistakes); once the
    visitor brings or chooses another file, aside: what came last is told first. Tags and priors of those that have just
    been stored are put beside them."""
    files = st.file_uploader(
        FILE_LABEL,
        [*FILES, "zip"],
        accept_multiple_files=True,
        key=key,
        max_upload_size=upload_limit(),
    )
    stored = _stored_here()
    entries: list[str] = []
    wrong: list[tuple[Any, InputError]] = []
    older: list[tuple[Any, InputError]] = []
    for file in files:
        if file.file_id not in stored:
            try:
                entries.append(store_file(file.name, file.getvalue()))
                stored[file.file_id] = entries[-1].removeprefix(PREFIX)
            except InputError as error:
                wrong.append((file, error))
        if file.file_id in stored:
            older = [each for each in older + wrong if each[0].name != file.name]
            wrong = []
    placed = _placed_beside([file for file, _ in older + wrong], entries)
    older, wrong = ([each for each in part if each[0].file_id not in placed] for part in (older, wrong))
    last = _came_last({file.file_id for file in files}, is_stored=bool(entries)) - _put_aside()
    st.session_state[_REFUSED] = {f.file_id for f, _ in older + wrong}
    aside = [each for each in older + wrong if each[0].file_id not in last]
    older, wrong = ([each for each in part if each[0].file_id in last] for part in (older, wrong))
    here = {stored[file.file_id] for file in files if file.file_id in stored}
    behind = [f for f, _ in aside if f.file_id not in _put_aside()]
    waiting = {f.file_id for f in behind if what_beside(f.name, f.getvalue())}
    return NewUploads(entries, wrong, older, here, aside, waiting)


def _came_last(ids: set[str], is_stored: bool) -> set[str]:
    """Those of the files in that field that came last, which may be several at once.

    is_stored : whether one of them has just been stored; else the ones that were before them are told no more.
    """
    if ids - st.session_state.get(_IN_FIELD, set()):
        st.session_state[_CAME_LAST] = ids - st.session_state.get(_IN_FIELD, set())
        if not is_stored:
            st.session_state.pop(_TAKEN, None)
    st.session_state[_IN_FIELD] = ids
    return st.session_state.get(_CAME_LAST, set())


def what_beside(name: str, content: bytes) -> str:
    """Whether a file that is no scores is TAGS or PRIOR, by its columns or arrays; "" for another one."""
    if _kind_of_file(name, content) == _PRIOR:
        return PRIOR
    with suppress(InputError):
        return TAGS if _is_tags(open_table(name, content)) else ""
    return ""


def _placed_beside(files: list[Any], entries: list[str]) -> set[str]:
    """Put tags and priors beside those of these entries that they are of; the ids of the files that are stored so.

    One that was offered to other files before goes to none by itself. Of files that came together it is kept what each
    was taken for, and where it is (`taken_together`)."""
    seen = st.session_state.get(_REFUSED, set())
    taken = [Taken(entry.removeprefix(PREFIX), "", [entry]) for entry in entries]
    placed = set()
    for file in files if entries else ():
        content = file.getvalue()
        what = what_beside(file.name, content)
        takes = _takes(what, file.name, content) if what else []
        was_offered = file.file_id in seen and not {*takes} <= {*entries}
        fitting = [] if was_offered else [entry for entry in entries if entry in takes]
        for entry in fitting:
            upload_store().put_beside(stored_upload(entry), what, file.name, content)
        if fitting:
            as_stored(file)
            placed.add(file.file_id)
            taken.append(Taken(file.name, what, fitting))
    if entries:
        st.session_state[_TAKEN] = taken
    return placed


class Taken(NamedTuple):
    """One of several files that came at once. what : TAGS, PRIOR, or "" for one of its own. entries : where it is."""

    name: str
    what: str
    entries: list[str]


def taken_together() -> list[Taken]:
    """Of the files that came last those that are still where they were put."""
    here = upload_names()

    def is_there(each: Taken, entry: str) -> bool:
        beside = stored_upload(entry).facts["beside"].get(each.what, {}) if entry in here else {}
        return entry in here and (not each.what or beside.get("name") == each.name)

    found = (
        each._replace(entries=[entry for entry in each.entries if is_there(each, entry)])
        for each in st.session_state.get(_TAKEN, [])
    )
    return [each for each in found if each.entries]


_TAKEN = "taken_together"  # of the session
_REFUSED = "refused_uploads"  # of the session: the files in that field that could not be read, by their ids
# So, too: all of them, and those of the last time.
_IN_FIELD, _CAME_LAST = "uploads_in_field", "uploads_came_last"


def _put_aside() -> set[str]:
    """Those of them that are named aside alone, as they are still in the field."""
    return st.session_state.setdefault("refused_uploads_aside", set())


def put_refused_aside() -> None:
    """Whoever has chosen another file is told aside alone of those that could not be read, no more of those that
    came together (from a callback)."""
    st.session_state.pop(_TAKEN, None)
    _put_aside().update(st.session_state.get(_REFUSED, set()))


def _stored_here() -> dict[str, str]:
    """The files of that field in this session that are not to be read again, and the names of what is stored."""
    return st.session_state.setdefault("stored_uploads", {})


def as_stored(file: Any, name: str = "") -> None:
    """A file of that field is not read again: what it holds is stored another way, or under this name."""
    _stored_here()[file.file_id] = name or file.name


def read_by_form(file: Any, entry: str) -> None:
    """A file of that field is stored under an entry by what its form says: this, now, is what came last."""
    as_stored(file, entry.removeprefix(PREFIX))
    st.session_state[_CAME_LAST] = set()
    st.session_state[_TAKEN] = [Taken(entry.removeprefix(PREFIX), "", [entry])]


def store_file(name: str, content: bytes, only_embeddings: bool = False) -> str:
    """Store a file of scores or embeddings, or the one in a zip; its entry. Raises InputError for an unreadable one,
    and with `only_embeddings` for scores, which nothing can be trained on."""
    packed, table = _unpacked(Path(name), content)
    if table is not None and packed != Path(name):
        name, content = packed.name, table
    if only_embeddings and not holds_embeddings(name, content):
        raise InputError(
            f"{name} holds no embeddings, and test-time matching trains on them; choose an NPZ with img and cap here, "
            "or add scores on Your data."
        )
    shape = _first_shape(name, content)
    return f"{PREFIX}{upload_store().add(name, content, shape).name}"


def _first_shape(name: str, content: bytes) -> str:
    """The first of `SHAPES` that embeddings have rows for, "" for scores; InputError for what cannot be read."""
    digest = Upload.digest(content)
    if not holds_embeddings(name, content):
        _measure((digest, ""), name, content, "")
        return ""
    errors = []
    for shape in SHAPES:
        try:
            _measure((digest, shape), name, content, shape)
            return shape
        except InputError as error:
            errors.append(error)
    raise errors[0]


def pick_shape(entry: str) -> str:
    """The shape in which a file's embeddings are read; "" for scores, which have their own."""
    shape = stored_upload(entry).shape
    if not shape:
        return ""
    shapes = list(dict.fromkeys((shape, *SHAPES)))
    more: dict[str, Any] = {"bind": "query-params", "accept_new_options": True}
    return st.selectbox("Shape (images x captions)", shapes, key="shape", **more)


def upload_evaluation(entry: str, shape: str = "") -> Evaluation:
    """Scores and metrics of a stored file. shape : of the groups of embeddings, by default the one that was stored."""
    upload, found = stored_upload(entry), _file(entry, shape)[0]
    tags = upload.beside(TAGS)
    return (
        found if tags is None else cached_on(found, (TAGS, upload.version), lambda: _with_tags(found, *tags))
    )


def _file(entry: str, shape: str = "") -> tuple[Evaluation, ScoreFile | None]:
    upload = stored_upload(entry)
    shape = (shape or upload.shape) if upload.shape else ""
    return _measure((upload.facts["sha256"], shape), upload.name, upload.content, shape)


def _with_tags(evaluation: Evaluation, name: str, content: bytes) -> Evaluation:
    """With the columns of a tag table, beside the file's own; those that name captions are kept apart."""
    table = _tags(evaluation, name, content)
    named = _caption_columns(table, evaluation.shape[1])
    captions = table[named.used].fillna("").astype(str).to_numpy() if named.used else None
    table = table.drop(columns=named.all)
    if evaluation.tags is not None:
        table = pd.concat([evaluation.tags.drop(columns=table.columns, errors="ignore"), table], axis=1)
    tagged = copy(evaluation)  # with all that is computed already, but for what follows from the tags
    vars(tagged).pop("_kept", None)
    vars(tagged)[_EVALUATION] = evaluation
    vars(tagged)[_CAPTIONS] = None if captions is None else (name, captions)
    tagged.tags = table if len(table.columns) else None
    return tagged


def _tags(evaluation: Evaluation, name: str, content: bytes) -> pd.DataFrame:
    """A table of tags for the groups of a file, read in turn."""
    with READING.one():
        return read_tags(name, content, evaluation.ids)


# Keys of what is kept with an object: of an evaluation its file, and the captions of its table of tags with the name of
# that; of groups their evaluation.
_TABLE, _EVALUATION, _CAPTIONS = "_table", "_evaluation", "_captions"
_measured = MeasuredFiles(lambda: limits().measured)


def _measure(
    key: tuple[str, str], name: str, content: Any, shape: str
) -> tuple[Evaluation, ScoreFile | None]:
    """key : hash of the content, and the shape. content : bytes, or what reads them."""
    found = _measured.find(key)
    if found is None:
        with st.spinner("Reading the file …"), READING.one():
            found = _measured.find(key)  # somebody may have brought the same one
            if found is None:
                _measured.check_room(address())
                found, table = evaluate_file(name, content() if callable(content) else content, shape)
                assert found.metrics  # all that is long is done here
                vars(found)[_TABLE] = table
                _measured.keep(key, found, address())
    return found, vars(found)[_TABLE]


def upload_groups(entry: str, shape: str = "") -> GroupSet:
    """The groups of a stored file: ids, tags, and what it calls images and captions; it has no pictures."""
    evaluation = upload_evaluation(entry, shape)
    return cached_on(
        evaluation, ("groups", entry), lambda: _groups(entry, evaluation, _file(entry, shape)[1])
    )


def _groups(entry: str, evaluation: Evaluation, table: ScoreFile | None) -> GroupSet:
    """table : of a score file; None of embeddings, which name neither images nor captions."""
    images, captions = (None, None) if table is None else (table.images, table.captions)
    name = entry.removeprefix(PREFIX)
    about = {"title": name, "source": "your file", "licence": "yours", "citation": name}
    beside = vars(evaluation).get(_CAPTIONS)
    if captions is None and beside is not None:
        tags, captions = beside
        about["description"] = f"The file has no pictures; its captions are those of {tags}."
    file = ScoreFile(evaluation.scores, None, list(evaluation.ids), evaluation.tags, images, captions)
    found = file.groups(entry, **about)
    vars(found)[_EVALUATION] = evaluation
    return found


def upload_read_as(entry: str) -> str:
    """What the columns of a stored file were taken for, a sentence; "" where each has its name."""
    table = _file(entry)[1]
    return "" if table is None else table.read_as


def how_to_say_truth(entry: str) -> str:
    """How a stored score file says which caption belongs to which image, a sentence; "" of other files, which cannot.

    `docs/reference/formats.md` has the forms.
    """
    upload, evaluation = stored_upload(entry), _file(entry)[0]
    if column := match_left_out(entry):
        return escape_markdown(
            f" If {column} says which belong together, call that column match and upload it again."
        )

    def form() -> str:
        if upload.shape or Path(upload.name).suffix.lower() == ".json":  # embeddings, MTEB's predictions
            return ""
        if Path(upload.name).suffix.lower() in (".npz", ".npy"):
            named = "an array `truth`: for each group the caption of each image, counted from 0"
            return named if upload.name.lower().endswith(".npz") else f"{named}; an NPZ holds both"
        if b"c0_i0" in (content := upload.content())[:_HEAD]:  # a row, or line, for each group
            return "`truth` to each group: the caption of each image, counted from 0, such as `[1, 0]`"
        with suppress(InputError):
            if "score" in open_table(upload.name, content).columns:
                return "a column `match`: 1 where the caption belongs to the image, 0 elsewhere"
        return ""

    found = cached_on(evaluation, ("how-to-say-truth", upload.name), form)
    return f" Where that is wrong, add {found}." if found else ""


def match_left_out(entry: str) -> str:
    """The column of a stored table of scores that could be its match, which it has not; "" where none could."""
    upload = stored_upload(entry)

    def look() -> str:
        if upload.shape or Path(upload.name).suffix.lower() not in (".csv", ".parquet"):
            return ""
        with suppress(InputError):
            return _unchosen_match(open_table(upload.name, upload.content()))
        return ""

    return cached_on(_file(entry)[0], ("match-left-out", upload.name), look)


_HEAD = 4096  # bytes in which the first row of a table says what its columns are


def upload_captions(entry: str) -> np.ndarray | None:
    """What a stored file calls its captions, in its own order, text (n, k); None where it numbers them."""
    table = _file(entry)[1]
    return None if table is None else table.captions


def upload_prior(entry: str, evaluation: Evaluation) -> Prior | None:
    """The prior beside a file; None where there is none. evaluation : of all groups of the file."""
    upload = stored_upload(entry)
    found = upload.beside(PRIOR)
    if found is None:
        return None
    make = lambda: _prior(entry, evaluation, *found)  # noqa: E731
    # The name, too: it is said beside the numbers, and the same content may come under another one.
    return cached_on(evaluation, (PRIOR, found[0], upload.version), make)


def _prior(entry: str, evaluation: Evaluation, name: str, content: bytes) -> Prior:
    """Read in turn. evaluation : of all groups of the file, in whatever order."""
    captions = _captions(entry, evaluation)
    with READING.one():
        return Prior.from_file(name, evaluation.scores, evaluation.ids, captions, content)


def _captions(entry: str, evaluation: Evaluation) -> np.ndarray | None:
    """What a file calls its captions, text (n, k), in the order of an evaluation; None where it numbers them."""
    table = _file(entry)[1]
    if table is None or table.captions is None:
        return None
    row = {group: i for i, group in enumerate(table.ids)}
    return table.captions[[row[group] for group in evaluation.ids]]


def _takes(what: str, name: str, content: bytes, in_view: str = "") -> list[str]:
    """The stored files whose groups tags are of, or whose groups and captions a prior is of, and that have none yet:
    the one in view first, which may have one, then the newest."""
    return [entry for entry, wrong in _tried(what, name, content, in_view) if wrong is None]


def fits_in_part(what: str, name: str, content: bytes, in_view: str = "") -> tuple[str, InputError] | None:
    """The stored file that a prior is probably of, and why it is not taken: the first in the order of `_takes` of which
    it has some groups or captions, else the first of whose groups it is; None without one."""
    if what != PRIOR:
        return None
    wrong = [(entry, error) for entry, error in _tried(what, name, content, in_view) if error is not None]
    kinds = (lambda e: isinstance(e, _FitsInPart), lambda e: not isinstance(e, _OfOtherGroups))
    return next((each for is_kind in kinds for each in wrong if is_kind(each[1])), None)


def _tried(what: str, name: str, content: bytes, in_view: str) -> list[tuple[str, InputError | None]]:
    """The stored files that may have tags or a prior, with why this one is not theirs; None where it is."""
    digest = Upload.digest(content)

    def may_have(entry: str) -> bool:
        is_free = entry == in_view or stored_upload(entry).beside(what) is None
        return is_free and not (what == PRIOR and why_no_prior(entry))

    def why_not(entry: str) -> InputError | None:
        try:
            _check_beside(entry, what, name, content)
        except InputError as error:
            error.__context__ = None
            return error.with_traceback(
                None
            )  # it is kept, and with it the file in every frame that it came through
        return None

    found = []
    for entry in sorted(upload_names(), key=lambda entry: entry != in_view):
        with suppress(InputError):  # one that cannot be read just now
            if may_have(entry):
                key = f"takes-{what}", name, digest
                found.append((entry, cached_on(upload_evaluation(entry), key, partial(why_not, entry))))
    return found


def add_beside(entry: str, what: str, name: str, content: bytes) -> None:
    """Store tags or a prior beside a file, as one of `taken_together`. Raises InputError for one that does not fit."""
    _check_beside(entry, what, name, content)
    upload_store().put_beside(stored_upload(entry), what, name, content)
    st.session_state[_TAKEN] = [Taken(name, what, [entry])]


def remove_prior(entry: str) -> None:
    """Delete the prior beside a file."""
    upload_store().remove_beside(stored_upload(entry), PRIOR)


def why_no_prior(entry: str) -> str:
    """Why a file's scores are no log P(t | image), which alone have a language prior; "" where they are."""
    evaluation = upload_evaluation(entry)

    def check() -> str:
        try:
            Prior.check_scores(evaluation.scores, evaluation.ids, _captions(entry, evaluation))
        except InputError as error:
            return str(error)
        return ""

    return cached_on(evaluation, "why-no-prior", check)


def put_beside(entry: str, what: str) -> bool:
    """A field for tags or a prior beside a file, as `form_beside` shows it; whether one has just been stored.

    Raises InputError for one that does not fit the file's groups.
    """
    label, kinds, _ = BESIDE[what]
    # A field of its own for what is stored now: what was brought before is no longer in it.
    key = f"{what}-{entry}-{stored_upload(entry).version}"
    file = st.file_uploader(label, kinds, key=key, max_upload_size=upload_limit())
    if file is None or st.session_state.get(f"stored_{what}") == file.file_id:
        return False
    content = file.getvalue()
    _check_beside(entry, what, file.name, content)
    upload_store().put_beside(stored_upload(entry), what, file.name, content)
    st.session_state[f"stored_{what}"] = file.file_id
    return True


def tags_elsewhere(entry: str) -> list[str]:
    """The files whose tags a file without any can take, as they have exactly its groups: the newest first, one of each
    table of tags."""
    if stored_upload(entry).beside(TAGS) is not None:
        return []
    ids, found = {*upload_evaluation(entry).ids}, {}
    for other in upload_names():
        beside = stored_upload(other).facts["beside"].get(TAGS)
        if beside is None or beside["sha256"] in found:
            continue
        with suppress(InputError):  # one that cannot be read just now
            if {*upload_evaluation(other).ids} == ids:
                found[beside["sha256"]] = other
    return [*found.values()]


def files_without_tags(entry: str) -> list[str]:
    """The files without tags that the tags of a file have a row for every group of; the newest first. A file that does
    not name its groups, or beside one that does not, needs as many: a number alone makes no equal groups."""
    tags, found = stored_upload(entry).beside(TAGS), []
    if tags is None:
        return []
    ids = {*read_tags(*tags)["id"].astype(str)}
    for other in upload_names():
        with suppress(InputError):  # one that cannot be read just now
            fits = stored_upload(other).beside(TAGS) is None and {*upload_evaluation(other).ids} <= ids
            if fits and (not by_row_number(entry, other) or _has_as_many(entry, other)):
                found.append(other)
    return found


def by_row_number(*entries: str) -> bool:
    """Whether one of these files does not name its groups, so that only the numbers of rows pair it with another."""
    return not all(upload_evaluation(entry).ids_given for entry in entries)


def _has_as_many(entry: str, other: str) -> bool:
    return len(upload_evaluation(entry).ids) == len(upload_evaluation(other).ids)


def groups_without_tags(entry: str, name: str, content: bytes) -> int:
    """How many groups of a file a table of tags has no row for."""
    return len({*upload_evaluation(entry).ids} - {*read_tags(name, content)["id"].astype(str)})


def take_tags(entry: str, other: str) -> None:
    """Store the tags of another file beside a file, too (a callback)."""
    hand_tags_on(other, [entry])


def hand_tags_on(entry: str, others: list[str]) -> None:
    """Store the tags of a file beside other files, too (a callback)."""
    tags = stored_upload(entry).beside(TAGS)
    if tags is not None:
        for other in others:
            upload_store().put_beside(stored_upload(other), TAGS, *tags)


_INSTEAD = {  # what was given for tags or a prior: what it looks like
    _SCORES: "a score file",
    _EMBEDDINGS: "a file of embeddings",
}
_TAKEN_HERE = {  # what the field takes, which is what whoever gave it something else has to bring
    TAGS: "upload tags here: a column group, and one for each tag",
    PRIOR: "upload a language prior here: the columns group, caption and log_prob",
}
_PRIOR_FOR_TAGS = (
    "a language prior; add it under “Language prior”, which scores that are log-likelihoods have"
)


def _check_beside(entry: str, what: str, name: str, content: bytes) -> None:
    """Raise InputError for tags or a prior that do not fit a file's groups, or that are something else."""
    evaluation = upload_evaluation(entry)
    try:
        if what == TAGS:
            _tags(evaluation, name, content)
        else:
            _prior(entry, evaluation, name, content)
    except InputError:
        kind = _kind_of_file(name, content)
        if (what, kind) == (TAGS, _PRIOR):
            raise InputError(f"{name} looks like {_PRIOR_FOR_TAGS}.") from None
        if kind not in _INSTEAD:
            raise
        if what == PRIOR and kind == _SCORES and _has_a_row_per_caption(name, content):
            raise  # which says how its column has to be called
        raise InputError(f"{name} looks like {_INSTEAD[kind]}; {_TAKEN_HERE[what]}.") from None


def _has_a_row_per_caption(name: str, content: bytes) -> bool:
    """Whether a table has groups and captions and no images, as a prior does and scores do not."""
    try:
        columns = {column.strip().lower() for column in open_table(name, content).columns}
    except InputError:  # an NPZ, say
        return False
    return {"group", "caption"} <= columns and "image" not in columns


def form_beside(entry: str, what: str) -> None:
    """What a file of tags or of a prior holds, its first rows for a stored file, and all of its rows to fill in."""
    show_form(BESIDE[what][2], _rows_beside(entry, what, 1).to_csv(index=False))
    st.download_button(
        f"Download {what}.csv with all rows, to fill in",
        lambda: _rows_beside(entry, what).to_csv(index=False).encode(),
        f"{what}.csv",
        "text/csv",
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
        key=f"form-{what}-{entry}",
    )


def show_form(holds: str, example: str, place: Any = st) -> None:
    """What a file holds, and below it the first lines of one. holds : Markdown."""
    place.caption(holds)
    place.code(example.strip(), language="text", wrap_lines=True)


def _rows_beside(entry: str, what: str, groups: int | None = None) -> pd.DataFrame:
    """The rows of a file of tags or of a prior for the groups of a stored file, by their ids: all of them with what is
    to be filled in left empty, or so many first groups with a value for show."""
    evaluation, captions = upload_evaluation(entry), upload_captions(entry)
    ids, k = list(evaluation.ids)[:groups], evaluation.shape[1]
    if what == TAGS:
        return pd.DataFrame({"group": ids, "topic": "" if groups is None else "kitchen"})
    names = np.tile(np.arange(k), (len(ids), 1)) if captions is None else captions[: len(ids)]
    shown = [""] * len(ids) * k if groups is None else [-9.5 - 0.7 * j for _ in ids for j in range(k)]
    return pd.DataFrame({"group": np.repeat(ids, k), "caption": names.ravel(), "log_prob": shown}).round(1)


def beside_line(entry: str, what: str) -> str:
    """What lies beside a file and how it fits its groups; "" where nothing does."""
    found = stored_upload(entry).beside(what)
    if found is None:
        return ""
    name, content = found
    n, _, k = upload_evaluation(entry).scores.shape
    if what == PRIOR:
        return f"Language prior: {name}, {n * k} of {counted(n * k, 'caption')} matched."
    table = read_tags(name, content)
    named = _caption_columns(table, k)
    tags = ", ".join(column for column in table.columns if column != "id" and column not in named.all)
    more = len(table) - n
    left = f" {counted(more, 'row')} of other groups left out." if more > 0 else ""
    matched = f"Tags: {name}, {n} of {counted(n, 'group')} matched{f' ({tags})' if tags else ''}."
    return f"{matched}{left}{_said_of_captions(entry, named, k)}"


def _said_of_captions(entry: str, named: _CaptionColumns, captions: int) -> str:
    """What became of the columns of a table of tags that name captions; "" where there are none."""
    if not named.all:
        return ""
    names, is_are = " and ".join(named.all), "is" if len(named.all) == 1 else "are"
    if upload_captions(entry) is not None:
        return f" {names} {is_are} left out: the file names its captions itself."
    if not named.used:
        return f" {names} {is_are} left out: each group has {counted(captions, 'caption')}, numbered from 0."
    return f" {names} {is_are} shown as the captions."


def show_left_out(evaluation: Evaluation) -> None:
    """Why a metric over all images is missing, where one is."""
    for reason in dict.fromkeys(evaluation.left_out.values()):
        st.info(
            escape_markdown(f"Recall or GlobalMatch was not computed. {reason}"),
            icon=":material/hourglass_disabled:",
        )
