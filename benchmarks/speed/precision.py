"""Half precision and `torch.compile`: how far scores and rankings are those of float32, and how fast they come.

A matching is equal where the same captions go to the same images and neither side is tied. Ratios of times are medians
of runs in turn, on prepared input where the model has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch

from core.base.errors import InputError
from core.datasets import load
from core.groups import GroupSet
from core.matching.groups import match
from core.metrics import groups as metrics
from core.scoring.load import load_scorer
from core.scoring.scores import score_groups

MODELS = (
    *("builtin/clip", "builtin/siglip", "itc:builtin/blip-itm", "builtin/blip-itm"),
    *("builtin/blip-caption", "builtin/blip-vqa"),
)
SETS = ("scenes/left-right", "scenes/relations-1x4")
REPEATS = 3


def measure() -> Iterator[dict[str, object]]:
    """One row per model, set and way."""
    ways = ["bfloat16", *(["float16"] if torch.cuda.is_available() else [])]
    for name in SETS:
        groups = load(name, "test")
        for model in MODELS:
            plain = score_groups(load_scorer(model), groups)
            compiled = ["compiled"] if (model, name) == (MODELS[0], SETS[0]) else []
            for way in [*ways, *compiled]:
                yield {"set": name, "model": model, "way": way} | agreement(f"{way}:{model}", groups, plain)
    yield from speed(load(SETS[0], "test"))


def agreement(name: str, groups: GroupSet, plain: np.ndarray) -> dict[str, object]:
    """Scores in another way against those of float32 (n, m, k)."""
    try:
        other = score_groups(load_scorer(name), groups)
    except InputError as error:
        return {"note": str(error)}
    assert groups.truth is not None
    one, two = match(plain), match(other)
    same = (one.matching == two.matching).all(axis=1) & ~one.tied & ~two.tied
    before, after = (metrics.evaluate(scores, groups.truth) for scores in (plain, other))
    moved = {f"{key}, points": round(after[key].value - before[key].value, 2) for key in before}
    scale = float(np.median(np.abs(plain - plain.mean())))
    return {
        "groups": len(groups),
        "equal matchings": round(float(same.mean()), 4),
        "largest difference of a score": float(f"{np.abs(plain - other).max():.3g}"),
        "typical size of a score": float(f"{scale:.3g}"),
        "ties": f"{int(one.tied.sum())} and {int(two.tied.sum())}",
        **moved,
    }


def speed(groups: GroupSet) -> Iterator[dict[str, object]]:
    """How many times as fast the two-tower model scores prepared images in each way."""
    plain: Any = load_scorer("builtin/clip")
    data = plain.prepare(groups.unique_images()[0], groups.unique_captions()[0])
    pairs = np.column_stack([np.arange(len(data.pixels)), np.zeros(len(data.pixels), dtype=int)])
    scorers = {"float32": plain}
    for way in ("bfloat16", "compiled", "compiled:bfloat16"):
        try:
            scorers[way] = load_scorer(f"{way}:builtin/clip")
            scorers[way].score_prepared(data, pairs)  # type: ignore[attr-defined]
        except InputError as error:
            yield {"model": "builtin/clip", "way": way, "note": str(error)}
            scorers.pop(way, None)
    times: dict[str, list[float]] = {way: [] for way in scorers}
    for _ in range(REPEATS):
        for way, scorer in scorers.items():
            started = perf_counter()
            for _ in range(5):
                scorer.score_prepared(data, pairs)
            times[way].append(perf_counter() - started)
    for way in list(times)[1:]:
        ratio = median(times["float32"]) / median(times[way])
        yield {"model": "builtin/clip", "way": way, "times as fast as float32": round(ratio, 2)}
