"""The `crossmatch` command, one file per family of commands."""

from __future__ import annotations

import sys

import typer

from core.base.errors import InputError
from core.cli.adapt import simplematch, ttm
from core.cli.alpha import alpha, blind
from core.cli.cola import adapt, cost
from core.cli.data import add, fetch, remove
from core.cli.doctor import cache_app, doctor
from core.cli.evaluate import evaluate
from core.cli.exporting import export_app
from core.cli.lists import list_things, pretrain
from core.cli.recall import recall
from core.cli.report import report
from core.cli.runs import runs_app
from core.cli.say import format_step
from core.cli.sweep import sweep
from core.cli.tables import reproduce

__all__ = ["app", "format_step", "main"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Compositional image-text matching: metrics, induced matchings, test-time matching.",
)
app.command(epilog="Example: crossmatch evaluate --embeddings clip.npz --shape 2x2 --json")(evaluate)
app.command(epilog="Example: crossmatch simplematch --embeddings clip.npz --shape 2x2 --json")(simplematch)
app.command(
    epilog="Example: crossmatch ttm --benchmark scenes/left-right --model builtin/clip --seed 0 --json"
)(ttm)
app.command(
    epilog="Example: crossmatch alpha --benchmark scenes/swap --model builtin/blip-caption --prior train --json"
)(alpha)
app.command(epilog="Example: crossmatch recall --benchmark coco --model builtin/siglip --json")(recall)
app.command(epilog="Example: crossmatch blind --benchmark scenes/word-order --model builtin/blind-lm")(blind)
app.command(epilog="Example: crossmatch adapt --strategy mm-adapter --model builtin/clip --json")(adapt)
app.command(epilog="Example: crossmatch cost run/20261121-101500000-abcdef --json")(cost)
app.command(epilog="Example: crossmatch reproduce ttm/1")(reproduce)
app.command(epilog="Example: crossmatch sweep study.yaml --on ray --address auto --watch")(sweep)
app.command(epilog="Example: crossmatch pretrain clip --out clip-again --seed 0")(pretrain)
app.command("list", epilog="Example: crossmatch list benchmarks --json")(list_things)
app.command(epilog="Example: crossmatch add my-photos --name kitchen")(add)
app.command(epilog="Example: crossmatch remove mine/kitchen")(remove)
app.command(epilog="Example: crossmatch fetch sugarcrepe")(fetch)
app.command(
    epilog="Example: crossmatch report --model builtin/clip --benchmark scenes/left-right --out report.html"
)(report)
app.command(epilog="Example: crossmatch doctor --json")(doctor)
app.add_typer(cache_app, name="cache")
app.add_typer(export_app, name="export")
app.add_typer(runs_app, name="runs")


def main() -> None:
    """Entry point: a user's mistake ends with one sentence on standard error and exit status 2."""
    try:
        app()
    except InputError as error:
        print(f"crossmatch: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(0)
