"""`crossmatch evaluate`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.base.errors import InputError
from core.base.table_formats import _result_csv
from core.base.text import counted
from core.cli import options
from core.cli._evaluation import check_slices, cluster_by, load_evaluation, tags_beside
from core.cli._files import _refuse_file, _scores_or_embeddings
from core.cli._given_options import benchmark_argument, refuse_unused
from core.cli._latex import _latex_of, _of_groups, _refuse_two_forms, _row_names
from core.cli._output import format_metrics, print_note, show_json, writing
from core.cli._score_options import takes_score_options
from core.datasets.score_files import _tags_without_captions
from core.datasets.shapes import first_groups
from core.metrics.evaluation import Evaluation
from core.metrics.group_filters import with_tags

if TYPE_CHECKING:
    from core.groups import GroupSet


@takes_score_options
def evaluate(
    name: options._SetOrFile = None,
    embeddings: options.Embeddings = None,
    scores: options.Scores = None,
    columns: options.Columns = None,
    benchmark: options.Benchmark = None,
    model: options.Model = "builtin/clip",
    split: options.Split = "test",
    shape: options.Shape = None,
    tag: options.Tag = None,
    groups: options.Groups = None,
    tags: options.TagFile = None,
    by: options.By = None,
    out: Annotated[Path | None, typer.Option(help="Folder for groups.csv and metrics.json.")] = None,
    cluster: options.Cluster = None,
    text_only: options.TextOnly = False,
    threshold: options._Threshold = None,
    latex: options._Latex = False,
    as_json: options.Json = False,
) -> None:
    """Every metric of a model on a benchmark, or of your own scores or embeddings.

    A file that is named first is read as what it holds. Scores beside a benchmark are measured by its truth.
    """
    _refuse_two_forms(latex, as_json)
    name, scores, embeddings = _scores_or_embeddings(name, scores, embeddings)
    benchmark = benchmark_argument(name, benchmark)
    _refuse_file(benchmark, "--benchmark takes a set by name")
    if groups is not None and (embeddings or scores or tags):
        refuse_unused("with a file of scores, embeddings or tags: all of it is measured", "groups")
    evaluation = load_evaluation(
        embeddings, scores, benchmark, model, split, shape, text_only=text_only,
        choose=partial(_chosen, tags=tag or (), count=groups), columns=columns,
        command=_command(scores, benchmark, split),
    )  # fmt: skip
    if tags is not None:
        evaluation.tags = tags_beside(evaluation.tags, _tags_without_captions(tags, evaluation.ids))
    check_slices(evaluation, by, tags)
    _check_threshold(threshold, text_only, latex)
    if groups is None:
        evaluation = with_tags(evaluation, tag or ())
    cluster_by(evaluation, cluster)
    file, of = scores or embeddings, {"benchmark": benchmark, "split": split} if benchmark else {}
    if out is not None or as_json:
        named: dict[str, Any] = {**of, "model": model} if file is None else {"file": str(file), **of}
        record = {**named, **_record(evaluation, by, text_only, groups, threshold)}
        if out is not None:
            _write(out, evaluation, record)
        if as_json:
            show_json(record)
            return
    first, only = "the first " * (groups is not None), ", text only (TOT, as TextScore)" * text_only
    if latex:
        (row,) = _row_names([str(file or model)], [file is not None])
        about = _of_groups([f"{row}{only}"], evaluation, of, tag or (), first)
        print(_latex_of({row: evaluation}, [about], evaluation.slices(by) if by else None))
        return
    asked = [by] if by else []
    if tags is not None and not (by or tag or cluster or out):
        asked = _short_columns(evaluation)
    on = f" on {benchmark}, split {split}" if benchmark else ""
    _print_metrics(f"{file or model}{on}{only}: {first}", evaluation, asked)
    if threshold is not None:
        _print_threshold(threshold, evaluation)


def _check_threshold(threshold: float | None, text_only: bool, latex: bool) -> None:
    """Raises InputError where a threshold is none, or nothing would be said of it."""
    if threshold is None:
        return
    if text_only or latex:
        why = (
            "with --text-only, which has no matchings"
            if text_only
            else "with --latex: its table has no threshold"
        )
        refuse_unused(why, "threshold")
    if not 0 <= threshold < inf:
        raise InputError(f"--threshold {threshold:g} is no margin; give a number from 0 on.")


def _record(
    evaluation: Evaluation, by: str | None, text_only: bool, groups: int | None, threshold: float | None
) -> dict[str, Any]:
    """JSON-safe: what was measured, and of which groups and captions."""
    of = ({"text_only": True} if text_only else {}) | ({} if groups is None else {"first_groups": groups})
    at = {} if threshold is None else {"at_threshold": evaluation._at_threshold(threshold).record()}
    return {**of, **evaluation.record(by), **at}


def _print_threshold(threshold: float, evaluation: Evaluation) -> None:
    """How many groups have a margin of at least this, and how many of them are right; the largest where none has."""
    selected = evaluation._at_threshold(threshold)
    none = "" if len(selected.right) else f" The largest margin is {evaluation.matches.margin.max():.3g}."
    print(f"\nthreshold {threshold:g}: {str(selected).replace('**', '')}{none}")


def _print_metrics(begun: str, evaluation: Evaluation, columns: Sequence[str]) -> None:
    """Every metric of all groups, and of those with each value of these tags. begun : begins the first line."""
    shown = evaluation.record(columns[0] if len(columns) == 1 else None)
    print(f"{begun}{counted(shown['n_groups'], 'group')} of {shown['shape']}; truth: {shown['truth']}")
    print(format_metrics(shown))
    for column in columns:
        for value, subset in shown["slices"][column].items():
            print(f"\n{column} = {value} ({counted(subset['n_groups'], 'group')})\n{format_metrics(subset)}")


_MOST_TABLES = 12  # below that of all groups, where nobody named a tag


def _short_columns(evaluation: Evaluation) -> list[str]:
    """The tags with few values, as many as fit; says which are left out and the option that prints one."""
    counts = {column: len(values) for column, values in Evaluation.slice_masks(evaluation.tags).items()}
    shown: list[str] = []
    for column, count in counts.items():
        if sum(counts[name] for name in shown) + count <= _MOST_TABLES:
            shown.append(column)
    if rest := [column for column in counts if column not in shown]:
        names = ", ".join(f"{column} ({counts[column]} values)" for column in rest[:6])
        more = f" and {len(rest) - 6} more" if len(rest) > 6 else ""
        print_note(f"not printed: {names}{more}; `--by {shlex.quote(rest[0])}` measures each value of one")
    return shown


def _write(folder: Path, evaluation: Evaluation, record: Mapping[str, Any]) -> None:
    """The groups as a table, and what is measured of them."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "groups.csv").write_bytes(_result_csv(evaluation.table()))
        (folder / "metrics.json").write_text(json.dumps(record, indent=2, allow_nan=False) + "\n")
    print_note(f"wrote {folder / 'groups.csv'} and {folder / 'metrics.json'}")


def _command(scores: Path | str | None, benchmark: str | None, split: str) -> str:
    """The command that measures this file."""
    on = ["--benchmark", benchmark, *(["--split", split] * (split != "test"))] if benchmark else []
    return shlex.join(["crossmatch", "evaluate", "--scores", str(scores), *on])


def _chosen(groups: GroupSet, tags: Sequence[str], count: int | None) -> GroupSet:
    """The first so many groups, of those with the tags; all where nobody asked for a number."""
    return groups if count is None else first_groups(with_tags(groups, tags), count)
