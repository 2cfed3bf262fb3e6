"""`crossmatch evaluate`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.cli import options
from core.cli._evaluation import check_slices, cluster_by, load_evaluation
from core.cli._given_options import benchmark_argument
from core.cli._output import format_metrics, print_note, show_json, writing
from core.datasets.score_files import read_tags

if TYPE_CHECKING:
    pass


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
    cluster: options.Cluster = None,
    _seed: options.OldSeed = 0,
    as_json: options.Json = False,
) -> None:
    """Measure scores, embeddings or a model on a benchmark."""
    benchmark = benchmark_argument(name, benchmark)
    evaluation = load_evaluation(embeddings, scores, benchmark, model, split, shape)
    if tags is not None:
        evaluation.tags = _align_tags(read_tags(tags), evaluation.ids)
    check_slices(evaluation, by, tags)
    cluster_by(evaluation, cluster)
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


def _align_tags(table: pd.DataFrame, ids: Sequence[str]) -> pd.DataFrame:
    """Rows of a tag table (column `id`) in the order of these groups; an error names the first group without one."""
    indexed = table.assign(id=table["id"].astype(str)).set_index("id")
    missing = [name for name in ids if name not in indexed.index]
    if missing:
        raise InputError(
            f"The tag file has no row for group {missing[0]!r}; its `id` column must name every group."
        )
    return indexed.loc[list(ids)].reset_index(drop=True)
