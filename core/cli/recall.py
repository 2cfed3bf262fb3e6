"""`crossmatch recall`: captions and images found among all of a retrieval set; classification where it is one."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from core.cli.options import Json, Seed
from core.cli.say import Announcer, format_metrics, show_json

Items = Annotated[int | None, typer.Option(help="Only the first so many images.")]


def recall(
    benchmark: Annotated[
        str, typer.Option(help="A retrieval set: coco, flickr30k, imagenet, scenes/retrieval.")
    ],
    model: Annotated[
        str, typer.Option(help="Any model: a built-in or hub name, or a folder.")
    ] = "builtin/clip",
    split: Annotated[str, typer.Option(help="Split of the benchmark.")] = "test",
    items: Items = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """R@1, R@5 and R@10 both ways, with any number of captions per image; accuracy where captions name classes."""
    from core.recall import classify_if_classes
    from core.recall import recall as measure

    scores, relevant, _ = scored(benchmark, split, model, items)
    found = measure(scores, relevant, seed=seed)
    record: dict[str, Any] = {"benchmark": benchmark, "split": split, "model": model}
    record |= {"images": len(scores), "captions": scores.shape[1], **found.record()}
    record["metrics"] |= classify_if_classes(scores, relevant, seed)
    if as_json:
        show_json(record)
        return
    print(f"{len(scores)} images, {scores.shape[1]} captions\n{format_metrics(record)}")


def scored(
    benchmark: str, split: str, model: str, items: int | None
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Scores (images, captions) of a retrieval set, what belongs together (captions, images), and the captions.

    Captions that belong to none of the images are left out.
    """
    from core.datasets import load_retrieval
    from core.scorers.lazy import lazy_scorer
    from core.scores import ScoreCache, score_matrix

    found = load_retrieval(benchmark, split)
    images, relevant = list(found.images)[:items], found.relevant[:, :items]
    asked = np.asarray(relevant.any(axis=1))
    captions = [query for query, keep in zip(found.queries, asked, strict=True) if keep]
    tell = Announcer()
    progress = lambda done, total: tell("scoring", done / total)  # noqa: E731
    return (
        score_matrix(lazy_scorer(model), images, captions, ScoreCache(), progress),
        relevant[asked],
        captions,
    )
