"""`crossmatch compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core.base.errors import InputError
from core.cli import options
from core.cli._evaluation import load_evaluation
from core.cli._given_options import refuse_unused
from core.cli._output import format_metrics, print_note, show_json, writing
from core.metrics.evaluation import Evaluation
from core.metrics.groups import METRICS
from core.metrics.paired import comparison_table, differences, in_order_of
from core.teaching.single_group import holds_embeddings
from core.ttm.defaults import full_name

_FILES = (".csv", ".parquet", ".npz", ".jsonl")

_Side = Annotated[
    str, typer.Argument(help="A file of scores or embeddings, or a model that scores --benchmark.")
]


def compare(
    a: _Side,
    b: _Side,
    benchmark: options.Benchmark = None,
    split: options.Split = "test",
    shape: Annotated[
        str | None,
        typer.Option(help="Only groups of this shape, images x captions; of embeddings 2x2 by default."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="CSV for the table.")] = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Two models, two files, or a file and a model on the same groups: every metric, and the difference paired."""
    models, embedded = (
        [side for side in (a, b) if not _is_file(side)],
        [_is_embeddings(side) for side in (a, b)],
    )
    if models and benchmark is None:
        raise InputError(
            f"{models[0]!r} is not a file of scores or embeddings, so it is taken for a model; "
            "name its benchmark with --benchmark, or give an existing file."
        )
    if not models:
        refuse_unused("with two files", "benchmark", "split")
    if not models and not any(embedded):
        refuse_unused("with two files of scores", "shape")
    first, second = (
        _evaluate(side, is_embedded, benchmark, split, shape, seed)
        for side, is_embedded in zip((a, b), embedded, strict=True)
    )
    second = in_order_of(second, first.ids)
    if out is not None:
        with writing(out):
            comparison_table(first, second, ("A", "B")).to_csv(out, index=False)
        print_note(f"wrote {out}")
    if as_json:
        show_json(_record(a, b, first, second))
        return
    for name, source, side in (("A", a, first), ("B", b, second)):
        record = side.record()
        print(
            f"{name}: {source}; {record['n_groups']} groups of {record['shape']}; truth: {record['truth']}\n"
            f"{format_metrics(record)}\n"
        )
    print(_text(first, second))


def _is_file(side: str) -> bool:
    return Path(side).suffix.lower() in _FILES or Path(side).is_file()


def _is_embeddings(side: str) -> bool:
    path = Path(side)
    return path.is_file() and holds_embeddings(path.name, path.read_bytes())


def _evaluate(
    side: str, is_embedded: bool, benchmark: str | None, split: str, shape: str | None, seed: int
) -> Evaluation:
    if not _is_file(side):
        return load_evaluation(None, None, benchmark, full_name(side), split, shape, seed)
    if is_embedded:
        return load_evaluation(Path(side), None, None, "", split, shape, seed)
    return load_evaluation(None, Path(side), None, "", split, None, seed)


def _record(name_a: str, name_b: str, a: Evaluation, b: Evaluation) -> dict[str, Any]:
    return {
        "a": name_a,
        "b": name_b,
        "n_groups": len(a.ids),
        "shape": "x".join(map(str, a.shape)),
        "metrics": {
            name: {
                "a": a.metrics[name].record(),
                "b": b.metrics[name].record(),
                "difference": difference._asdict(),
            }
            for name, difference in differences(a, b).items()
        },
    }


def _text(a: Evaluation, b: Evaluation) -> str:
    """B minus A as aligned text: points with their interval, the groups where either is better, the exact p."""
    head = (
        f"{'B minus A':<18}{'points':>8}{'95 % interval':>18}{'A better':>10}{'B better':>10}{'exact p':>9}"
    )
    lines = [head]
    for name, difference in differences(a, b).items():
        interval = f"[{difference.low:+.2f}, {difference.high:+.2f}]"
        lines.append(
            f"{METRICS[name].label:<18}{difference.difference:>+8.2f}{interval:>18}"
            f"{difference.broken:>10}{difference.fixed:>10}{difference.p_value:>9.2g}"
        )
    return "\n".join(lines)
