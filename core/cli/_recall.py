"""`crossmatch recall`: captions and images found among all of a retrieval set; classification where it is one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from core.base.text import _pct
from core.cli import options
from core.cli._files import _refuse_file
from core.cli._given_options import require_benchmark
from core.cli._output import count_progress, format_metrics, show_json
from core.cli._score_options import takes_score_options
from core.debiasing.retrieval import retrieval_record
from core.metrics.retrieval import METRICS
from core.scoring.cache import ScoreCache


@takes_score_options
def recall(
    name: options.Positional = None,
    benchmark: Annotated[
        str | None,
        typer.Option(help="A retrieval set: coco, flickr30k, imagenet, scenes/retrieval, cola/single-gqa."),
    ] = None,
    model: options.Model = "builtin/clip",
    split: options.Split = "test",
    items: options.Images = None,
    as_json: options.Json = False,
) -> None:
    """R@1, R@5 and R@10 both ways, with any number of captions per image; Cola mAP where queries have hard distractors;
    accuracy where captions name classes.

    A set whose captions choose among a few images of their own (imagecode/full, spec/count-text-to-image,
    svo-probes/verb) has image_choice alone: the share of captions whose right image scores above the others.

    A set with Cola's lists of distractors (cola/single-gqa, scenes/retrieval) has Cola mAP and its other metrics too.
    """
    benchmark = require_benchmark(name, benchmark)
    _refuse_file(
        benchmark,
        "recall scores a model on a retrieval set by name, such as coco (`crossmatch list benchmarks`)",
    )
    record: dict[str, Any] = {"benchmark": benchmark, "split": split, "model": model}
    record |= retrieval_record(benchmark, split, model, items, ScoreCache(), count_progress("scoring"))
    if as_json:
        show_json(record)
        return
    print(f"{record['images']} images, {record['captions']} captions\n{format_metrics(record)}")
    if "cola" in record:
        print(f"\nCola's metrics, each query by itself\n{_format_lists(record['cola'])}")


def _format_lists(metrics: dict[str, Any]) -> str:
    """Cola's metrics as an aligned table, one line for every part of the queries."""
    lines = [
        f"{'metric':<28}{'part':<14}{'value':>8}{'95 % interval':>18}{'chance':>8}{'queries':>9}{'ties':>6}"
    ]
    for name, parts in metrics.items():
        for part, e in parts.items():
            interval = f"[{_pct(e['low'])}, {_pct(e['high'])}]"
            facts = f"{_pct(e['chance']):>8}{e['queries']:>9}{e['ties']:>6}"
            lines.append(f"{METRICS[name].label:<28}{part:<14}{_pct(e['value']):>8}{interval:>18}{facts}")
    return "\n".join(lines)
