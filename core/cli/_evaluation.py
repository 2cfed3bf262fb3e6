"""What evaluate, compare and export measure: scores, embeddings or a model on a benchmark, as the options say."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from core import datasets
from core.base.errors import InputError
from core.base.table_formats import open_table, read_bytes
from core.base.text import counted
from core.cli._given_options import refuse_unused
from core.cli._output import print_note
from core.datasets.embeddings import parse_shape, read_embeddings
from core.datasets.packed_tables import _unpacked
from core.datasets.score_faults import LISTED, ScoreFault
from core.datasets.score_files import ScoreFile, read_scores
from core.datasets.shapes import of_shape
from core.exchange.file_kinds import _PRIOR, _is_set_of_images, _is_tags, _kind_of_table, _looks_like_images
from core.exchange.score_columns import _looks_renamed, _ScoreColumns
from core.metrics.evaluation import Evaluation, tags_frame
from core.metrics.paired import on_groups, without_names
from core.metrics.statistics import Clusters
from core.runs.models import run_source
from core.scenes.world import SPLITS
from core.scorers.api import ApiScorer
from core.scorers.vocabulary import vocabulary_note
from core.scoring.cache import ScoreCache
from core.scoring.load import lazy_scorer
from core.scoring.scores import planned_calls, score_all, score_groups
from core.scoring.text_only import _score_text_only

if TYPE_CHECKING:
    import pandas as pd

    from core.debiasing.retrieval import RetrievalStudy
    from core.groups import GroupSet


def check_slices(evaluation: Evaluation | RetrievalStudy, by: str | None, tags: Path | None = None) -> None:
    """Raise InputError where tags were asked for and would slice nothing."""
    if by is not None and evaluation.tags is None:
        raise InputError(
            "--by needs tags: give a tag file with --tags, or a benchmark whose groups carry tags."
        )
    if tags is not None and not evaluation.slices(by):
        raise InputError(f"No column of {tags} has few values to slice by; name one with --by.")


def cluster_by(evaluation: Evaluation, tag: str | None) -> None:
    """Intervals and tests by a tag, where one was asked for, in place of shared images or captions."""
    if tag is None:
        return
    if evaluation.tags is None:
        raise InputError(
            f"--cluster names a tag, and these groups have none to be called {tag!r}; a score file carries tags in "
            "columns of its own, and a file of them goes with --tags to `crossmatch evaluate` or `compare`."
        )
    evaluation.clusters = Clusters.of_tag(evaluation.tags, tag)


def tags_beside(own: pd.DataFrame | None, table: pd.DataFrame) -> pd.DataFrame:
    """The tags of groups with those of a table, which stand for columns of the same name; says of which they do."""
    if own is None:
        return table
    if same := [str(name) for name in table.columns if name in own.columns]:
        print_note(f"--tags stands for what the groups themselves have as {', '.join(same)}")
    return table.assign(**own.drop(columns=table.columns, errors="ignore"))


def read_score_file(
    path: Path, columns: str | None = None, command: str = "", data: bytes | None = None
) -> ScoreFile:
    """As `read_scores`; of a file with several mistakes the error lists them, not the first kind alone.

    columns : what its columns are called (`_ScoreColumns.read`). command : that read it and takes --columns, for the
    error of a file with other headers. data : what is in the file, where that has been read.
    """
    given = path, data
    try:
        path, data = _unpacked(path, data)
    except InputError as error:
        raise _set_of_images(*given) or error from None
    name, content = str(path), None
    if columns is not None:
        table = open_table(path, data)
        named = _ScoreColumns.read(columns, table)
        name, content = str(path.with_suffix(".csv")), named.renamed(table)
    try:
        found = read_scores(name, data if content is None else content)
        if read_as := found.read_as if content is None else named.read_as:
            print_note(f"{path}: {read_as}")
        return found
    except InputError as error:
        if content is None and (said := _headers_said(path, data, command)) is not None:
            raise InputError(said) from None
        if content is None and (belongs := _set_of_images(*given, command)) is not None:
            raise belongs from None
        raise _with_all_faults(error, path, content, data) from None


def _set_of_images(path: Path, data: bytes | None, command: str = "") -> InputError | None:
    """That a file which cannot be read as scores is a set of images and captions, and what takes it; None of others.

    command : takes --columns, for a table with a column of numbers that may be scores all the same.
    """
    if data is None and not path.is_file():
        return None
    if not _is_set_of_images(path.name, read_bytes(path, data)):
        return None
    added = shlex.join(["crossmatch", "add", str(path)])
    line = f"{_looks_like_images(str(path))}, without a column of scores; `{added} --name NAME` adds it as a set."
    guess = None
    with suppress(InputError):
        guess = (
            _ScoreColumns.guessed(open_table(*_unpacked(path, data)), or_images=False) if command else None
        )
    if guess is None or guess._lacking:
        return InputError(line)
    one = guess.scores[0]
    return InputError(f"{line} If {one} holds scores, {_read_by(guess, command)}.")


def _read_by(guess: _ScoreColumns, command: str) -> str:
    """What reads a table so. command : takes --columns."""
    return f"`{command} --columns {shlex.quote(guess.written)}` reads them"


def _with_all_faults(
    error: InputError, path: Path, content: bytes | None = None, data: bytes | None = None
) -> InputError:
    """The error with every mistake of the file that it is about, where there are several.

    content : of a CSV, where the file was read under other names. data : what is in the file, where that has been read.
    """
    if content is not None:
        path = path.with_suffix(".csv")
    elif data is not None or path.is_file():
        content = path.read_bytes() if data is None else data
    faults = [] if content is None else ScoreFault.of_file(path, content)
    if len(faults) < 2:
        return error
    more = "or more " if len(faults) == LISTED else ""
    lines = [*map(_fault_text, faults[:_TOLD])]
    if path.suffix.lower() == ".jsonl":
        lines = [re.sub("^row ", "line ", line) for line in lines]
    if (rest := len(faults) - _TOLD) > 0:
        least = "at least " if len(faults) == LISTED else ""
        lines.append(f"and {least}{rest} more; the page Your data lists them and gives them as a CSV file")
    head = f"{path} has {len(faults)} {more}mistakes in all:"
    if not any(fault.row is not None and f"row {fault.row} " in f"{error} " for fault in faults[:_TOLD]):
        head = f"{error} {len(faults)} {more}mistakes in all:"  # the list may not have it
    return InputError(head, lines)


_TOLD = 20  # mistakes of a score file


def _headers_said(path: Path, data: bytes | None, command: str) -> str | None:
    """What a table that looks like scores under other headers, or like a prior, needs; None for any other file."""
    try:
        table = open_table(path, data)
        if _kind_of_table(table) == _PRIOR:
            beside = f"`crossmatch alpha --scores FILE --prior {path}`"
            return f"{path} looks like a language prior; give it beside its scores: {beside}."
        if _is_tags(table):
            beside = f"`crossmatch evaluate --scores FILE --tags {path}`"
            return f"{path} looks like a table of tags; give it beside its scores: {beside}."
        guess = _ScoreColumns.likely(table)
    except InputError:
        return None
    if guess is None:
        return None
    if guess._lacking:
        do = "add it: a row per score has the columns group, image, caption and score"
        return f"{guess._looks(str(path), table.columns)}; {do}."
    if command:
        do = f"if that is what they are, {_read_by(guess, command)}"
    elif guess.caption:
        names = {
            guess.image: "image",
            guess.caption: "caption",
            guess.scores[0]: "score",
            guess.match: "match",
        }
        new = [
            f"{old} to {name}" for old, name in {guess.group: "group", **names}.items() if old and old != name
        ]
        do = f"rename {', '.join(new)} if that is what they are"
    else:
        do = "write a row per score with the columns group, image, caption and score"
    looks = _looks_renamed(str(path), table.columns)
    return f"{looks}; {do}, or upload it to the page Your data, which asks which column is which."


def _fault_text(fault: ScoreFault) -> str:
    return f"{fault._where}: {fault.what} ({fault.fix})"


def load_evaluation(
    embeddings: Path | None,
    scores: Path | None,
    benchmark: str | None,
    model: str,
    split: str,
    shape: str | None,
    common: bool = False,
    text_only: bool = False,
    choose: Callable[[GroupSet], GroupSet] = lambda groups: groups,
    columns: str | None = None,
    command: str = "",
    data: bytes | None = None,
) -> Evaluation:
    """The Evaluation of whichever one source was given, or of scores by a benchmark's truth; an option of another
    source is refused.

    common : of scores, leave out the groups that the benchmark lacks, in place of refusing them. text_only : of a
    benchmark and a model, SugarCrepe++'s text-only test, which is TextScore (`core/scoring/text_only.py`).
    choose : of a benchmark and a model, the groups that are scored at all. columns, command, data : of scores, as of
    `read_score_file`.
    """
    if scores is None:
        refuse_unused("without --scores, whose columns it names", "columns")
    if scores is not None or embeddings is not None:
        refuse_unused("with a file, which holds no text tower", "text_only")
    given = sum(source is not None for source in (embeddings, scores, benchmark))
    if given != 1 and (embeddings is not None or not given):
        raise InputError(
            "Name a file first, as in `crossmatch evaluate FILE`, or give exactly one of --embeddings FILE, --scores "
            "FILE or --benchmark NAME; --scores alone may have --benchmark beside it, whose truth it takes."
        )
    if embeddings is not None:
        refuse_unused("with --embeddings", "model", "split")
        return _of_embeddings(embeddings, shape)
    if scores is not None:
        refuse_unused("with --scores", "model")
        table = read_score_file(scores, columns, command, data)
        found = _of_table(table)
        if benchmark is not None:
            groups = of_shape(datasets.load(benchmark, split), shape)
            return _by_truth_of(benchmark, groups, found, table.captions, str(scores), common)
        if not common:  # `compare` has refused them: its other file may be of embeddings, which have a shape
            refuse_unused("with --scores", "split", "shape")
        _name_set(found, scores)
        return found

    groups = choose(of_shape(datasets.load(benchmark or "", split, images=not text_only), shape))
    scorer = lazy_scorer(model)
    note = vocabulary_note(model, run_source(model), benchmark or "", (c for g in groups for c in g.captions))
    if note is not None:
        print_note(note)
    if text_only:
        return Evaluation.of_text_only(_score_text_only(scorer, groups), groups)
    _confirm_calls(scorer, groups)
    # A flattened set is matched as a whole; what its groups need is then in the cache.
    is_global = groups.name.endswith("@global")
    global_scores = score_all(scorer, groups, ScoreCache()) if is_global else None
    group_scores, tags = score_groups(scorer, groups, ScoreCache()), tags_frame([g.tags for g in groups])
    return Evaluation.of(
        group_scores,
        groups.truth,
        groups.ids,
        tags=tags,
        global_scores=global_scores,
        clusters=Clusters.of_groups(groups),
    )


def _of_table(table: ScoreFile) -> Evaluation:
    """The Evaluation of a file of scores, by its own truth and names."""
    return Evaluation.of(
        table.scores,
        table.truth,
        table.ids,
        tags=table.tags,
        clusters=Clusters.of_names(table.images, table.captions),
        ids_given=table.ids_given,
    )


def _of_embeddings(path: Path, shape: str | None) -> Evaluation:
    """Groups of a shape, by default 2x2, and the flattened set of a file; the error names all of its mistakes."""
    groups_of = parse_shape(shape or "2x2")
    path, data = _unpacked(path)
    try:
        file = read_embeddings(path, groups_of, data)
    except InputError as error:
        raise _with_all_faults(error, path, data=data) from None
    return Evaluation.of(file.group_scores(), None, global_scores=file.all_pairs())


def _of_all(count: int, total: int) -> str:
    """`1 of the 2 groups`, `any of the 400 groups`: how many a set does not have."""
    return f"{'any' if count == total else count} of the {counted(total, 'group')}"


def _way_to_common_groups(file: Evaluation, groups: GroupSet, compared: bool) -> str:
    """What to do about a file whose groups a benchmark lacks. compared : with a model, which needs a benchmark."""
    if without_names("", file.ids, False):
        return (
            f"the file only numbers its groups, whose names there begin with {groups.ids[0]!r}: give it these names, "
            "in a column `group`, or in an array `ids` of an NPZ"
        )
    made_on = _made_on(file.ids)
    if made_on is not None:
        return f"the file has groups of {made_on[0]}: name it with --split {made_on[1]}"
    leave = "" if compared else ", or leave the benchmark out"
    return f"its own begin with {groups.ids[0]!r}: name the benchmark and --split that the file was made on{leave}"


def _made_on(ids: Sequence[str]) -> tuple[str, str] | None:
    """The built-in set and the split that all these groups are of; None of others."""
    name, _, split = str(ids[0]).rpartition("/")[0].rpartition("/")
    benchmark = f"scenes/{name}"
    if benchmark not in datasets.names() or split not in SPLITS:
        return None
    return (benchmark, split) if {*ids} <= {*datasets.load(benchmark, split).ids} else None


def _by_truth_of(
    benchmark: str,
    groups: GroupSet,
    file: Evaluation,
    captions: np.ndarray | None,
    path: str,
    common: bool,
) -> Evaluation:
    """A file's scores as a benchmark's: in its order, by its truth, its clusters and, where the file has none, tags."""
    known = set(groups.ids)
    others = [name for name in file.ids if name not in known]
    if len(others) == len(file.ids) or (others and not common):
        raise InputError(
            f"{benchmark} does not have {_of_all(len(others), len(file.ids))} of {path} here, the first {others[0]!r}; "
            f"{_way_to_common_groups(file, groups, common)}."
        )
    if others:
        kept = np.isin(file.ids, groups.ids)
        file, captions = file.select(kept), None if captions is None else captions[kept]
    if len(known) > len(file.ids) and not common:
        print_note(
            f"{path} has {len(file.ids)} of the {len(known)} groups of {benchmark}; measured on these."
        )
    groups = groups.select(np.isin(groups.ids, file.ids))
    if groups.shape != file.shape:
        own, theirs = ("x".join(map(str, each)) for each in (file.shape, groups.shape))
        raise InputError(
            f"{path} has groups of {own} and {benchmark} of {theirs}; name the benchmark that the file was made on."
        )
    texts = [group.captions for group in groups]
    found = on_groups(file, groups.ids, groups.truth, benchmark, (captions, texts))
    tags = found.tags if found.tags is not None else tags_frame([group.tags for group in groups])
    return replace(found, tags=tags, clusters=Clusters.of_groups(groups))


def _assumed_of(sides: Mapping[str, Evaluation]) -> str:
    """What is assumed of those without ground truth, as a sentence; "" where all have it."""
    unknown = [name for name, side in sides.items() if not side.truth_given]
    has = "has" if len(unknown) == 1 else "have"
    assumed = "no ground truth: image i is assumed to belong to caption i"
    return f"{' and '.join(unknown)} {has} {assumed}" if unknown else ""


def _name_set(file: Evaluation, path: Path) -> None:
    """Say that a file without truth has the groups of a built-in set, and how it takes the set's truth."""
    made_on = None if file.truth_given else _made_on(file.ids)
    if made_on is None:
        return
    benchmark, split = made_on
    more = "" if split == SPLITS[-1] else f" --split {split}"
    print_note(
        f"These are groups of {benchmark}, split {split}, measured here as if image i belonged to caption i; "
        f"--benchmark {benchmark}{more} takes its truth."
    )


def _confirm_calls(scorer: Any, groups: GroupSet) -> None:
    """Say what a served model will be asked beyond what is cached, and at a terminal ask whether to start."""
    if not isinstance(scorer, ApiScorer):
        return
    estimate = planned_calls(scorer, groups, ScoreCache())
    tokens = f"about {estimate.tokens_in:,} tokens in, {estimate.tokens_out:,} out"
    print_note(f"{scorer.describe()}: {estimate.calls} calls, {tokens}")
    if estimate.calls and sys.stdin.isatty():
        typer.confirm("Start?", abort=True, err=True)
