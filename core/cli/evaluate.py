"""`crossmatch evaluate`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core import datasets
from core.base.errors import InputError
from core.cli import options
from core.cli._given_options import benchmark_argument, refuse_unused
from core.cli._output import format_metrics, print_note, show_json, writing
from core.datasets.embeddings import parse_shape, read_embeddings
from core.datasets.score_files import read_scores, read_tags
from core.datasets.shapes import of_shape
from core.metrics.evaluation import Evaluation, align_tags, tags_frame
from core.runs.models import run_source
from core.scorers.api import ApiScorer
from core.scorers.vocabulary import vocabulary_note
from core.scoring.load import lazy_scorer
from core.scoring.scores import ScoreCache, planned_calls, score_all, score_groups

if TYPE_CHECKING:
    from core.groups import GroupSet


def evaluate(
    name: options.Positional = None,
    embeddings: options.Embeddings = None,
    scores: options.Scores = None,
    benchmark: options.Benchmark = None,
    model: options.Model = "builtin/clip",
    split: options.Split = "test",
    shape: options.Shape = None,
    tags: Annotated[Path | None, typer.Option(help="CSV with an `id` column; slices the metrics.")] = None,
    by: Annotated[
        str | None, typer.Option(help="The tag column to slice by (default: every column with few values).")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for groups.csv and metrics.json.")] = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Measure scores, embeddings or a model on a benchmark."""
    benchmark = benchmark_argument(name, benchmark)
    evaluation = load_evaluation(embeddings, scores, benchmark, model, split, shape, seed)
    if tags is not None:
        evaluation.tags = align_tags(read_tags(tags), evaluation.ids)
    check_slices(evaluation, by, tags)
    record = evaluation.record(by)
    if out is not None:
        with writing(out):
            out.mkdir(parents=True, exist_ok=True)
            evaluation.table().to_csv(out / "groups.csv", index=False)
            (out / "metrics.json").write_text(json.dumps(record, indent=2, allow_nan=False) + "\n")
        print_note(f"wrote {out / 'groups.csv'} and {out / 'metrics.json'}")
    if as_json:
        show_json(record)
        return
    print(f"{record['n_groups']} groups of {record['shape']}; truth: {record['truth']}")
    print(format_metrics(record))
    for column, values in record.get("slices", {}).items():
        for value, subset in values.items():
            print(f"\n{column} = {value} ({subset['n_groups']} groups)\n{format_metrics(subset)}")


def check_slices(evaluation: Evaluation, by: str | None, tags: Path | None = None) -> None:
    """Raise InputError where tags were asked for and would slice nothing."""
    if by is not None and evaluation.tags is None:
        raise InputError(
            "--by needs tags: give a tag file with --tags, or a benchmark whose groups carry tags."
        )
    if tags is not None and not evaluation.slices(by):
        raise InputError(f"No column of {tags} has few values to slice by; name one with --by.")


def load_evaluation(
    embeddings: Path | None,
    scores: Path | None,
    benchmark: str | None,
    model: str,
    split: str,
    shape: str | None,
    seed: int,
) -> Evaluation:
    """The Evaluation of whichever one source was given; an option of another source is refused."""
    if sum(source is not None for source in (embeddings, scores, benchmark)) != 1:
        raise InputError("Give exactly one of --embeddings FILE, --scores FILE or --benchmark NAME.")
    if embeddings is not None:
        refuse_unused("with --embeddings", "model", "split")
        file = read_embeddings(embeddings, parse_shape(shape or "2x2"))
        return Evaluation.of(file.group_scores(), None, seed=seed, global_scores=file.all_pairs())
    if scores is not None:
        refuse_unused("with --scores", "model", "split", "shape")
        table = read_scores(scores)
        return Evaluation.of(table.scores, table.truth, table.ids, tags=table.tags, seed=seed)

    groups, scorer = of_shape(datasets.load(benchmark or "", split), shape), lazy_scorer(model)
    captions = (caption for group in groups for caption in group.captions)
    note = vocabulary_note(model, run_source(model), benchmark or "", captions)
    if note is not None:
        print_note(note)
    _confirm_calls(scorer, groups)
    # A flattened set is matched as a whole; what its groups need is then in the cache.
    is_global = groups.name.endswith("@global")
    global_scores = score_all(scorer, groups, ScoreCache()) if is_global else None
    group_scores, tags = score_groups(scorer, groups, ScoreCache()), tags_frame([g.tags for g in groups])
    return Evaluation.of(
        group_scores, groups.truth, groups.ids, tags=tags, seed=seed, global_scores=global_scores
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
