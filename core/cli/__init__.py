"""The `crossmatch` command. A command's file, and what it needs, is imported when that command is asked for."""

from __future__ import annotations

import sys
import warnings
from functools import cache
from importlib import import_module
from importlib.metadata import version
from inspect import cleandoc
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand

from core.base.errors import InputError
from core.cli import _given_options

__all__ = ["COMMANDS", "app", "main"]


class _Command(NamedTuple):
    """Where a command is defined, and its line in `crossmatch --help`."""

    module: str  # of core.cli
    function: str  # or the `typer.Typer` of a group of commands
    help: str
    example: str = ""


COMMANDS: dict[str, _Command] = {
    "evaluate": _Command(
        "evaluate",
        "evaluate",
        "Every metric of a model on a benchmark, or of your own scores or embeddings.",
        "evaluate --embeddings clip.npz --shape 2x2 --json",
    ),
    "compare": _Command(
        "_compare",
        "compare",
        "Two models, two files, or a file and a model on the same groups: every metric, and the paired difference.",
        "compare builtin/clip builtin/siglip --benchmark scenes/left-right",
    ),
    "alpha": _Command(
        "alpha",
        "alpha",
        "Remove a language prior from a captioner's scores: every metric at alpha 0, at 1, at its best, and validated.",
        "alpha --benchmark scenes/swap --model builtin/blip-caption --prior train --json",
    ),
    "blind": _Command(
        "alpha",
        "blind",
        "How far a model gets on a benchmark without seeing any image.",
        "blind --benchmark scenes/word-order --model builtin/blind-lm",
    ),
    "recall": _Command(
        "_recall",
        "recall",
        "R@1, R@5 and R@10 both ways, with any number of captions per image; Cola mAP where queries have hard "
        "distractors; accuracy where captions name classes.",
        "recall --benchmark coco --model builtin/siglip --json",
    ),
    "rejudge": _Command(
        "_rejudge",
        "rejudge",
        "A second opinion on results of MTEB, lm-eval or Inspect: groups, ties, chance, what the report hides.",
        "rejudge predictions/Winoground_predictions.json --out opinion.json",
    ),
    "groups-needed": _Command(
        "_compare",
        "groups_needed",
        "How many groups show a difference with 80 % power, and the smallest difference that so many groups show.",
        "groups-needed --difference 5 --differ 13 --groups 400",
    ),
    "audit": _Command(
        "_audit",
        "audit",
        "Is a benchmark sound? Solved without looking, duplicates, contradictions, size: each with a verdict.",
        "audit scenes/relations-1x4 --out audit.html",
    ),
    "ladder": _Command(
        "_ladder",
        "ladder",
        "Where a two-tower model loses the binding: tokens, pooled vectors, one linear map, its scores, the metric.",
        "ladder scenes/left-right --model builtin/clip --out ladder.json",
    ),
    "ttm": _Command(
        "_adapt",
        "ttm",
        "Adapt a model to a benchmark by test-time matching, without labels: a line per iteration, then what changed.",
        "ttm --benchmark scenes/left-right --model builtin/clip --seed 0 --json",
    ),
    "simplematch": _Command(
        "_adapt",
        "simplematch",
        "Fit a model once to its own best matchings, and show its metrics before and after. No label is used.",
        "simplematch --embeddings clip.npz --shape 2x2 --json",
    ),
    "adapt": _Command(
        "cola",
        "adapt",
        "Adapt a model by one of Cola's strategies; test queries before and after, one line per epoch.",
        "adapt --strategy mm-adapter --model builtin/clip --json",
    ),
    "ledger": _Command(
        "_ledger",
        "ledger",
        "How much of a gain of test-time matching comes from the metric, from one-to-one groups, and from training.",
        "ledger scenes/left-right~tinted --model builtin/clip --out ledger.csv",
    ),
    "cost": _Command(
        "cola",
        "cost",
        "What an adaptation costs: an adapted model and its base on sets it was not adapted on, with paired intervals.",
        "cost run/20261121-101500000-abcdef --json",
    ),
    "pretrain": _Command(
        "_listings",
        "pretrain",
        "Train a built-in model on the built-in world, as the shipped one was.",
        "pretrain clip --out clip-again --seed 0",
    ),
    "runs": _Command(
        "runs",
        "runs_app",
        "Stored runs: list, show, seeds, compare, explain, rename, stop, resume, delete, export, push, import.",
    ),
    "sweep": _Command(
        "_sweep",
        "sweep",
        "Models x benchmarks x seeds x settings; finished cells are never repeated, interrupted ones resume.",
        "sweep study.yaml --on ray --address auto --watch",
    ),
    "reproduce": _Command(
        "_tables",
        "reproduce",
        "A paper's table cell by cell: its numbers and yours, what is missing, and how long the rest will take.",
        "reproduce ttm/1",
    ),
    "published": _Command(
        "_published",
        "published",
        "Published results of named systems on one set, with chance, and yours among them: files, of scores too, which "
        "are named behind the set, and finished runs.",
        "published winoground",
    ),
    "report": _Command(
        "_report",
        "report",
        "Models on benchmarks, your own scores, or one or two runs, as one HTML file that opens without network.",
        "report --model builtin/clip --benchmark scenes/left-right --out report.html",
    ),
    "export": _Command(
        "export",
        "export_app",
        "Export groups, scores, matchings, metrics, curves, a run, a figure, rows of the papers' tables.",
    ),
    "list": _Command(
        "_listings",
        "list_command",
        "Models, benchmarks, metrics, presets, tables or shifts: all by name, or with a NAME everything about one.",
        "list benchmarks --json",
    ),
    "add": _Command(
        "_data",
        "add",
        "Check your own images and captions row by row and make them a benchmark, mine/NAME.",
        "add my-photos --name kitchen",
    ),
    "remove": _Command("_data", "remove", "Delete a set of your own and its images.", "remove mine/kitchen"),
    "fetch": _Command(
        "_data",
        "fetch",
        "Download a public benchmark: resumable and verified; none of its code is run, and manual steps are listed.",
        "fetch sugarcrepe",
    ),
    "convert": _Command(
        "_convert",
        "convert",
        "A paper's checkpoint as a model folder: read without running its code, scored under both activations.",
        "convert negclip.pt --arch ViT-B-32-quickgelu --out negclip",
    ),
    "doctor": _Command(
        "_doctor",
        "doctor",
        "What this machine has and lacks: device, memory, caches, data, extras. Works offline; changes nothing.",
        "doctor --json",
    ),
    "cache": _Command(
        "_doctor", "cache_app", "What is cached of scores, features and pictures: show, clear."
    ),
}
# The heads of `crossmatch --help`, and what stands below each.
_SECTIONS = {
    "Measure": ("evaluate", "compare", "alpha", "blind", "recall", "rejudge", "groups-needed"),
    "Look inside a benchmark or a model": ("audit", "ladder"),
    "Adapt, and what it brings and costs": ("ttm", "simplematch", "adapt", "ledger", "cost", "pretrain"),
    "Many runs, and what came out": ("runs", "sweep", "reproduce", "published", "report", "export"),
    "Data and this machine": ("list", "add", "remove", "fetch", "convert", "doctor", "cache"),
}


_ALSO = {"debias": "alpha"}  # its page is called Debias
# What people look for, and the command that has it.
_MEANT = {
    "prior": "alpha",
    "match": "evaluate",
    "matching": "evaluate",
    "score": "evaluate",
    "eval": "evaluate",
    "diff": "compare",
    "retrieval": "recall",
    "train": "ttm",
    "cola": "adapt",
    "import": "add",
    "upload": "add",
    "delete": "remove",
    "download": "fetch",
    "papers": "reproduce",
    "check": "doctor",
    "power": "groups-needed",
}


@cache
def _load(name: str) -> Any:
    """The command of this name; Typer makes one from its function, which takes some milliseconds."""
    entry = COMMANDS[name]
    loaded = target = getattr(import_module(f"core.cli.{entry.module}"), entry.function)
    if not isinstance(target, typer.Typer):
        loaded = _given_options.App()
        loaded.command(name, epilog=f"Example: crossmatch {entry.example}")(target)
    command = typer.main.get_command(loaded)
    # What its function says after its first paragraph stands in its own help alone, not in the list of commands.
    more = "" if isinstance(target, typer.Typer) else cleandoc(target.__doc__ or "").partition("\n\n")[2]
    same = " and ".join(
        f"`crossmatch {each}`" for each in (name, *(s for s, n in _ALSO.items() if n == name))
    )
    two = f"{same} are the same command." if name in _ALSO.values() else ""
    command.help = "\n\n".join(filter(None, [entry.help, two, more]))
    return command


class _Deferred(TyperCommand):
    """A command in the list of commands; its file is imported when more than its line is needed."""

    def __init__(self, name: str, entry: _Command) -> None:
        super().__init__(name, help=entry.help)
        self.entry = entry

    def load(self) -> Any:
        """The command itself."""
        return _load(self.name)

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        return self.load().make_context(*arguments, **options)


class _Commands(_given_options.Group):
    """The commands in the order of `COMMANDS`, under the heads of `_SECTIONS`."""

    sections = _SECTIONS
    meant = _MEANT
    also = _ALSO

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _Deferred(cmd_name, COMMANDS[cmd_name]) if cmd_name in COMMANDS else None


app = _given_options.App(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Which caption belongs to which picture? Measure what a model knows of it, and let it learn without answers.",
    epilog="Example: crossmatch evaluate scenes/left-right",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"crossmatch {version('crossmatch')}")
        raise typer.Exit


@app.callback()
def _top(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and end."),
    ] = False,
) -> None:
    """Typer makes a group of an app that has no command yet only where there is a callback."""


def main() -> None:
    """Entry point: a user's mistake ends with one sentence on standard error and exit status 2."""
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if category is UserWarning:  # without the line of code that it comes from
                print(f"warning: {message}", file=sys.stderr)
            else:
                others(message, category, *where, **more)

        warnings.showwarning = show
        _run()


def _run() -> None:
    try:
        app()
    except InputError as error:
        print("\n  ".join([f"crossmatch: {error}", *error.details]), file=sys.stderr)
        sys.exit(2)
    except MemoryError:
        message = "this needs more memory than is left; make it smaller, or use a machine with more."
        print(f"crossmatch: {message}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(0)
