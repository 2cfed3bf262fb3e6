"""`crossmatch evaluate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from core import datasets
from core.base.errors import InputError
from core.cli.api_calls import confirm_calls
from core.cli.given_options import benchmark_argument, refuse_unused
from core.cli.options import Json, Positional, Seed, named
from core.cli.output import format_metrics, print_note, show_json
from core.datasets.shapes import of_shape
from core.metrics.evaluation import Evaluation, align_tags, tags_frame
from core.scoring.load import lazy_scorer
from core.scoring.scores import (
    ScoreCache,
    parse_shape,
    read_embeddings,
    read_scores,
    read_tags,
    score_all,
    score_groups,
)

Tags = Annotated[Path | None, typer.Option(help="CSV with an `id` column; slices the metrics.")]
Model = Annotated[
    str,
    typer.Option(
        help="Model for a benchmark: a built-in, hub or short name (`siglip-l16`), or a folder.", **named
    ),
]
Shape = Annotated[
    str | None,
    typer.Option(help="Groups of this shape alone, images x captions; of --embeddings 2x2 by default."),
]


def evaluate(
    name: Positional = None,
    embeddings: Annotated[
        Path | None, typer.Option(help="NPZ with `img` and `cap`, rows in group order.")
    ] = None,
    scores: Annotated[Path | None, typer.Option(help="Score file: CSV, Parquet, NPZ or JSONL.")] = None,
    benchmark: Annotated[
        str | None, typer.Option(help="A benchmark by name, such as scenes/left-right.")
    ] = None,
    model: Model = "builtin/clip",
    split: Annotated[str, typer.Option(help="Split of the benchmark.")] = "test",
    shape: Shape = None,
    tags: Tags = None,
    by: Annotated[
        str | None, typer.Option(help="The tag column to slice by (default: every column with few values).")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for groups.csv and metrics.json.")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Measure scores, embeddings or a model on a benchmark."""
    found = load_evaluation(
        embeddings, scores, benchmark_argument(name, benchmark), model, split, shape, seed
    )
    if tags is not None:
        found.tags = align_tags(read_tags(tags), found.ids)
    check_slices(found, by, tags)
    record = found.record(by)
    if out is not None:
        write_evaluation(found, record, out)
    if as_json:
        show_json(record)
    else:
        print(
            f"{record['n_groups']} groups of {record['shape']}; truth: {record['truth']}\n{format_metrics(record)}"
        )
        for column, values in record.get("slices", {}).items():
            for value, part in values.items():
                print(f"\n{column} = {value} ({part['n_groups']} groups)\n{format_metrics(part)}")


def check_slices(found: Any, by: str | None, tags: Path | None = None) -> None:
    """Raise InputError where tags were asked for and would slice nothing."""
    if by is not None and found.tags is None:
        raise InputError(
            "--by needs tags: give a tag file with --tags, or a benchmark whose groups carry tags."
        )
    if tags is not None and not found.slices(by):
        raise InputError(f"No column of {tags} has few values to slice by; name one with --by.")


def load_evaluation(
    embeddings: Path | None,
    scores: Path | None,
    benchmark: str | None,
    model: str,
    split: str,
    shape: str | None,
    seed: int,
) -> Any:
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
    confirm_calls(scorer, groups)
    # A flattened set is matched as a whole; what its groups need is then in the cache.
    wide = score_all(scorer, groups, ScoreCache()) if groups.name.endswith("@global") else None
    found, tags = score_groups(scorer, groups, ScoreCache()), tags_frame([g.tags for g in groups])
    return Evaluation.of(found, groups.truth, groups.ids, tags=tags, seed=seed, global_scores=wide)


def write_evaluation(found: Any, record: dict[str, Any], out: Path) -> None:
    """groups.csv (one row per group) and metrics.json in a folder that is made if need be."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        found.table().to_csv(out / "groups.csv", index=False)
        (out / "metrics.json").write_text(json.dumps(record, indent=2, allow_nan=False) + "\n")
    except OSError as error:
        raise InputError(
            f"The folder {out} cannot be written ({error.strerror}); choose another --out."
        ) from None
    print_note(f"wrote {out / 'groups.csv'} and {out / 'metrics.json'}")
