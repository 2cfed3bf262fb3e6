"""`crossmatch recall`: captions and images found among all of a retrieval set; classification where it is one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from core.cli import options
from core.cli._given_options import require_benchmark
from core.cli._output import count_progress, format_metrics, show_json
from core.debiasing.retrieval import retrieval_record
from core.scoring.scores import ScoreCache


def recall(
    name: options.Positional = None,
    benchmark: Annotated[
        str | None, typer.Option(help="A retrieval set: coco, flickr30k, imagenet, scenes/retrieval.")
    ] = None,
    model: options.Model = "builtin/clip",
    split: options.Split = "test",
    items: options.Images = None,
    as_json: options.Json = False,
) -> None:
    """R@1, R@5 and R@10 both ways, with any number of captions per image; accuracy where captions name classes."""
    benchmark = require_benchmark(name, benchmark)
    record: dict[str, Any] = {"benchmark": benchmark, "split": split, "model": model}
    record |= retrieval_record(benchmark, split, model, items, ScoreCache(), count_progress("scoring"))
    if as_json:
        show_json(record)
        return
    print(f"{record['images']} images, {record['captions']} captions\n{format_metrics(record)}")
