"""The `crossmatch` command: evaluate, simplematch, ttm, reproduce, runs, pretrain, list."""

from __future__ import annotations

import sys

import typer

from core.cli.adapt import simplematch, ttm
from core.cli.evaluate import evaluate
from core.cli.lists import list_things, pretrain
from core.cli.runs import runs_app
from core.cli.say import format_step
from core.cli.tables import reproduce
from core.errors import InputError

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
app.command(epilog="Example: crossmatch reproduce ttm/1")(reproduce)
app.command(epilog="Example: crossmatch pretrain clip --out clip-again --seed 0")(pretrain)
app.command("list", epilog="Example: crossmatch list benchmarks --json")(list_things)
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
