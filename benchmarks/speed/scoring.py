"""Scoring from image files against the bare model on preloaded batches, and how often images are encoded.

The bare model is what `score` calls, with the same batches, on tensors that are there already: what it is faster by is
decoding and preprocessing that did not hide behind the model. On a CPU nothing can hide: both want the same cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch

from benchmarks.speed.overhead import counted
from benchmarks.speed.sized import JPEG, PNG, clip_b32, on_disk
from core.datasets import load
from core.scorers._generative import BlipCaptioner
from core.scorers._input_loading import prefetch
from core.scorers.contrastive import ContrastiveModel
from core.scoring.load import load_scorer
from core.scoring.scores import score_groups


def measure() -> Iterator[dict[str, object]]:
    """Rows for the built-in CLIP and a CLIP-B/32 of random weights on CPU, and for generative scoring of 1x4 groups."""
    model: Any = load_scorer("builtin/clip", "cpu")
    yield from throughput("builtin/clip, PNG files of 64 px", model, 64, PNG, 2400)
    yield from throughput("CLIP-B/32 of random weights, JPEG files of 224 px", clip_b32(), 224, JPEG, 192)
    yield encodings()


def throughput(
    name: str, model: ContrastiveModel, side: int, ending: str, count: int, repeats: int = 3
) -> Iterator[dict[str, object]]:
    """Images per second from files and of the bare model; shares are of medians, taken in turn."""
    with on_disk(50, side, ending) as groups:
        files, captions = groups.unique_images()[0], groups.unique_captions()[0]
        images = [files[i % len(files)] for i in range(count)]
        pairs = np.column_stack([np.arange(count), np.arange(count) % len(captions)])
        blocks = [dict(block) for block in prefetch(images, model._open, model.image_batch)]
        ids = model.tokens(captions)

        def bare() -> np.ndarray:
            texts = model._caption_features(ids, model.caption_batch)
            encoded = torch.cat([model._image_features(block, model.image_batch) for block in blocks])
            return model._score_block(encoded, texts, pairs)

        # Once before the clock starts; and both are the same work.
        np.testing.assert_allclose(bare(), model.score(images, captions, pairs), rtol=1e-2, atol=1e-2)
        wall, busy = taken({"bare": bare, "files": lambda: model.score(images, captions, pairs)}, repeats)
    yield {
        "model": name,
        "threads": torch.get_num_threads(),
        "images per second": round(count / wall["files"], 1),
        "bare model": round(count / wall["bare"], 1),
        "share of the bare model": round(wall["bare"] / wall["files"], 3),
        "the same by processor time": round(busy["bare"] / busy["files"], 3),
    }


def taken(
    work: Mapping[str, Callable[[], object]], repeats: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Median wall-clock and processor seconds of some works, done in turn."""
    wall: dict[str, list[float]] = {name: [] for name in work}
    busy: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(repeats):
        for name, do in work.items():
            started, before = perf_counter(), process_time()
            do()
            wall[name].append(perf_counter() - started)
            busy[name].append(process_time() - before)
    return {k: median(v) for k, v in wall.items()}, {k: median(v) for k, v in busy.items()}


def encodings(groups: int = 100) -> dict[str, object]:
    """How often the captioner encodes an image of 1x4 groups."""
    found = load("scenes/relations-1x4", "test").select(range(groups))
    with counted(BlipCaptioner, "_encode_image") as encodings:
        score_groups(load_scorer("builtin/blip-caption", "cpu"), found)
    return {
        "model": "builtin/blip-caption, 1x4",
        "images": len(found.unique_images()[0]),
        "encodings": encodings["_encode_image"],
        "scores": 4 * groups,
    }
