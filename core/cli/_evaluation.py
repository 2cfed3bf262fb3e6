"""What evaluate, compare and export measure: scores, embeddings or a model on a benchmark, as the options say."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from core import datasets
from core.base.errors import InputError
from core.cli._given_options import refuse_unused
from core.cli._output import print_note
from core.datasets.embeddings import parse_shape, read_embeddings
from core.datasets.score_files import read_scores
from core.datasets.shapes import of_shape
from core.metrics.evaluation import Evaluation, tags_frame
from core.metrics.statistics import Clusters
from core.runs.models import run_source
from core.scorers.api import ApiScorer
from core.scorers.vocabulary import vocabulary_note
from core.scoring.cache import ScoreCache
from core.scoring.load import lazy_scorer
from core.scoring.scores import planned_calls, score_all, score_groups

if TYPE_CHECKING:
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
        raise InputError("--cluster needs tags: give a tag file with --tags, or groups that carry tags.")
    evaluation.clusters = Clusters.of_tag(evaluation.tags, tag)


def load_evaluation(
    embeddings: Path | None,
    scores: Path | None,
    benchmark: str | None,
    model: str,
    split: str,
    shape: str | None,
) -> Evaluation:
    """The Evaluation of whichever one source was given; an option of another source is refused."""
    if sum(source is not None for source in (embeddings, scores, benchmark)) != 1:
        raise InputError("Give exactly one of --embeddings FILE, --scores FILE or --benchmark NAME.")
    if embeddings is not None:
        refuse_unused("with --embeddings", "model", "split")
        file = read_embeddings(embeddings, parse_shape(shape or "2x2"))
        return Evaluation.of(file.group_scores(), None, global_scores=file.all_pairs())
    if scores is not None:
        refuse_unused("with --scores", "model", "split", "shape")
        table = read_scores(scores)
        return Evaluation.of(table.scores, table.truth, table.ids, tags=table.tags)

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
        group_scores,
        groups.truth,
        groups.ids,
        tags=tags,
        global_scores=global_scores,
        clusters=Clusters.of_groups(groups),
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
