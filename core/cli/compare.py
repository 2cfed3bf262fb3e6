"""`crossmatch compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core.base.errors import InputError
from core.cli import options
from core.cli.evaluate import load_evaluation
from core.cli.given_options import refuse_unused
from core.cli.output import print_note, show_json, writing
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
    models = [side for side in (a, b) if not _is_file(side)]
    if models and benchmark is None:
        raise InputError(
            f"{models[0]!r} is not a file of scores or embeddings, so it is taken for a model; "
            "name its benchmark with --benchmark, or give an existing file."
        )
    if not models:
        refuse_unused("with two files", "benchmark", "split")
    if not models and not any(map(_is_embeddings, (a, b))):
        refuse_unused("with two files of scores", "shape")
    first, second = (_evaluate(side, benchmark, split, shape, seed) for side in (a, b))
    second = in_order_of(second, first.ids)
    if out is not None:
        with writing(out):
            comparison_table(first, second, ("A", "B")).to_csv(out, index=False)
        print_note(f"wrote {out}")
    if as_json:
        show_json(_record(a, b, first, second))
        return
    m, k = first.shape
    print(f"A: {a}\nB: {b}\n{len(first.ids)} groups of {m}x{k}\n{_text(first, second)}")


def _is_file(side: str) -> bool:
    return Path(side).suffix.lower() in _FILES or Path(side).is_file()


def _is_embeddings(side: str) -> bool:
    path = Path(side)
    return path.is_file() and holds_embeddings(path.name, path.read_bytes())


def _evaluate(side: str, benchmark: str | None, split: str, shape: str | None, seed: int) -> Evaluation:
    if not _is_file(side):
        return load_evaluation(None, None, benchmark, full_name(side), split, shape, seed)
    path = Path(side)
    if _is_embeddings(side):
        return load_evaluation(path, None, None, "", split, shape, seed)
    return load_evaluation(None, path, None, "", split, None, seed)


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
                "difference": found._asdict(),
            }
            for name, found in differences(a, b).items()
        },
    }


def _text(a: Evaluation, b: Evaluation) -> str:
    """The table as aligned text: both values, chance, the paired difference with its interval, both counts and p."""
    head = f"{'metric':<18}{'A':>8}{'B':>8}{'chance':>9}{'B - A':>8}{'95 % interval':>18}"
    lines = [head + f"{'only A':>8}{'only B':>8}{'McNemar p':>11}"]
    for name, found in differences(a, b).items():
        interval = f"[{found.low:+.2f}, {found.high:+.2f}]"
        lines.append(
            f"{METRICS[name].label:<18}{a.metrics[name].value:>8.2f}{b.metrics[name].value:>8.2f}"
            f"{a.metrics[name].chance:>9.2f}{found.difference:>+8.2f}{interval:>18}"
            f"{found.broken:>8}{found.fixed:>8}{found.p_value:>11.2g}"
        )
    return "\n".join(lines)
