"""`crossmatch convert`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from core.base.text import counted
from core.cli import options
from core.cli._evaluation import load_evaluation
from core.cli._output import format_differences, format_metrics, make_folder, print_note, show_json
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, INDIVIDUAL_MATCH
from core.metrics.paired import differences
from core.scorers.conversion import Checkpoint

_FUNCTIONS = {False: "GELU", True: "QuickGELU"}
_METRICS = (GROUP_SCORE, GROUP_MATCH, INDIVIDUAL_MATCH)
_P = 0.05


def convert(
    checkpoint: Annotated[
        Path, typer.Argument(help="Weights: a pickle of tensors (.pt, .pth, .bin, .ckpt) or safetensors.")
    ],
    arch: Annotated[str, typer.Option(help="open_clip's name of the architecture: ViT-B-32, ViT-L-14, ...")],
    out: Annotated[Path, typer.Option(help="Folder for the model; every command takes it as a model.")],
    quick_gelu: Annotated[
        bool | None,
        typer.Option(
            "--quick-gelu/--gelu", help="The activation function (default: as the architecture's name says)."
        ),
    ] = None,
    benchmark: Annotated[
        str, typer.Option(help="Set that is scored under both activation functions.")
    ] = "scenes/attribute-swap",
    as_json: options.Json = False,
) -> None:
    """A paper's checkpoint as a model folder: read without running its code, scored under both activations."""
    found = Checkpoint.read(checkpoint, arch)
    make_folder(out, "--out")
    chosen = found.named_quick if quick_gelu is None else quick_gelu
    print_note(f"scores {benchmark} under GELU and under QuickGELU")
    with TemporaryDirectory() as place:
        folders = {chosen: out, not chosen: Path(place)}
        for quick, folder in folders.items():
            found.model(str(folder), quick).save(folder)
        scored = {
            quick: load_evaluation(None, None, benchmark, str(folder), "test", None)
            for quick, folder in folders.items()
        }
    tests = differences(scored[chosen], scored[not chosen], _METRICS)
    worse = [name for name, each in tests.items() if (each.p_holm or 0) < _P and each.difference > 0]
    record = {
        "architecture": arch,
        "tensors": len(found.weights),
        "prefix": found.prefix,
        "left_out": found.left_out,
        "activation": _FUNCTIONS[chosen],
        "named": _FUNCTIONS[found.named_quick],
        "doubtful": bool(worse),
        "benchmark": benchmark,
        "metrics": {_FUNCTIONS[quick]: each.record()["metrics"] for quick, each in scored.items()},
        "folder": str(out),
    }
    show_json(record) if as_json else _print(record, scored, tests)
    if worse:
        print_note(
            f"{out} has {_FUNCTIONS[chosen]}, and scores better with {_FUNCTIONS[not chosen]}, which its weights were "
            f"probably trained with: convert it again with --{'gelu' if chosen else 'quick-gelu'}."
        )


def _print(record: dict[str, Any], scored: dict[bool, Evaluation], tests: dict[str, Any]) -> None:
    prefix = f", without {record['prefix']!r} before their names" if record["prefix"] else ""
    left = (
        f"; {counted(record['left_out'], 'tensor')} of something else left out" if record["left_out"] else ""
    )
    print(f"{counted(record['tensors'], 'tensor')} of {record['architecture']}{prefix}{left}")
    for quick, each in scored.items():
        own = each.record()
        print(
            f"\n{_FUNCTIONS[quick]} on {record['benchmark']}, {counted(own['n_groups'], 'group')} of {own['shape']}"
        )
        print(format_metrics({**own, "metrics": {name: own["metrics"][name] for name in _METRICS}}))
    first, second = (_FUNCTIONS[quick] for quick in scored)
    sides = f"{first}", f"{second}"
    print(f"\n{format_differences(f'{second} - {first}', tests, sides)}")
    print(f"\nwrote {record['folder']}: crossmatch evaluate scenes/left-right --model {record['folder']}")
