"""The options of a score that evaluate, alpha and `export scores` share, and the name of the model that has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar

import typer

from core.base.errors import InputError
from core.cli._given_options import refuse_unused, signed
from core.scorers.score_kinds import KINDS
from core.scorers.score_options import ScoreOptions
from core.scoring.load import scorer_kind

Prompt = Annotated[
    str | None,
    typer.Option(
        help="What a captioner is asked, or continues, before the caption (default: its family's own); of st: what "
        "stands before captions, word for word or by its name among the model's prompts."
    ),
]
ImagePrompt = Annotated[str | None, typer.Option(help="Of st: what stands before images, likewise.")]
EndToken = Annotated[
    bool | None,
    typer.Option(
        "--end-token/--no-end-token",
        help="Whether the end token counts in a caption's likelihood (default: where the tokenizer writes one).",
    ),
]
Question = Annotated[str | None, typer.Option(help="What VQAScore asks; {caption} stands for the caption.")]
NullMean = Annotated[
    float | None,
    typer.Option(help="Mean of null images, in the model's normalised pixels (default: its own)."),
]
NullStd = Annotated[float | None, typer.Option(help="Standard deviation of null images (default: its own).")]
NullCount = Annotated[
    int | None, typer.Option(help="Null images of a blind: score (default: 3) or of mass: (1).")
]
Device = Annotated[
    str | None,
    typer.Option(
        help="Where a model that reads image and caption together runs: auto, cpu, cuda, cuda:1 or mps."
    ),
]
Batch = Annotated[
    int | None,
    typer.Option(help="Captions and images that pass it at once at most (default: as many as fit)."),
]
# Option of the command line -> of a score's name
_NAMES = {"end_token": "end", "null_mean": "mean", "null_std": "std", "null_count": "count"}


@dataclass(frozen=True)
class _Given:
    """Every option, with its default."""

    head: ClassVar = "The score of a model"
    prompt: Prompt = None
    image_prompt: ImagePrompt = None
    end_token: EndToken = None
    question: Question = None
    null_mean: NullMean = None
    null_std: NullStd = None
    null_count: NullCount = None
    device: Device = None
    batch: Batch = None


def with_options(model: str, **given: Any) -> str:
    """A model's name with the options that were given, by the names of the command line.

    Raises InputError for one that does not change the model's kind of score.
    """
    asked = {name: value for name, value in given.items() if value is not None}
    if not asked:
        return model
    kind = scorer_kind(model)
    for name in ("null_count", "batch"):
        if asked.get(name, 1) < 1:
            raise InputError(f"--{name.replace('_', '-')} is {asked[name]}; it must be 1 or more.")
    for name in asked:
        if not ScoreOptions.changes(_NAMES.get(name, name), kind):
            raise InputError(
                f"--{name.replace('_', '-')} has no effect on {model}, which gives {KINDS[kind].label}; leave it out, "
                "or name another of its scores (vgpt:NAME, vqa:NAME, blind:NAME)."
            )
    if "end_token" in asked:
        asked["end_token"] = "yes" if asked["end_token"] else "no"
    return ScoreOptions.named(model, **{_NAMES.get(name, name): value for name, value in asked.items()})


def takes_score_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command of a `model` with all of these options besides its own; they have no effect on files."""
    names = [field.name for field in fields(_Given)]

    def run(**given: Any) -> None:
        asked = {name: given.pop(name) for name in names}
        for source in ("embeddings", "scores"):
            if given.get(source) is not None:
                refuse_unused(f"with --{source}", *names)
        command(**{**given, "model": with_options(given["model"], **asked)})

    return signed(run, command, None, _Given)
