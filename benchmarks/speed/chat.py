"""Chat models over groups: pairs of many images in one forward pass, against one image at a time and the bare model.

The bare model reads every pair's whole sequence (image, prompt, caption) in batches of one length, as it is without a
kept prefix; the other two read an image's prompt once. All on the same random LLaVA, so that a ratio is what counts.
The last figure is of the same passes: how much of the processor time the model takes by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
import torch

from benchmarks.results.chat_models import build
from benchmarks.speed.scoring import taken
from core.datasets import load
from core.scoring.load import load_scorer

_WIDE = {
    "text_config.hidden_size": 768,
    "text_config.intermediate_size": 2048,
    "text_config.num_hidden_layers": 8,
    "text_config.num_attention_heads": 12,
    "text_config.num_key_value_heads": 12,
    "text_config.head_dim": 64,
    "vision_config.hidden_size": 256,
    "vision_config.intermediate_size": 1024,
    "vision_config.num_hidden_layers": 4,
    "vision_config.num_attention_heads": 4,
    "vision_config.image_size": 64,
}


def measure(groups: int = 24, repeats: int = 3) -> Iterator[dict[str, object]]:
    """Pairs per second of 2x2 groups on this machine, with a LLaVA of about 0.06 B random weights."""
    found = load("scenes/attribute-swap", "test").select(range(groups))
    (images, first), (captions, second) = found.unique_images(), found.unique_captions()
    pairs = np.unique(
        [(i, j) for own, texts in zip(first, second, strict=True) for i in own for j in texts], axis=0
    )
    with TemporaryDirectory() as place:
        size = {"size": {"shortest_edge": 64}, "crop_size": {"height": 64, "width": 64}}
        scorer: Any = load_scorer(f"vgpt:{build('llava', Path(place) / 'llava', config=_WIDE, images=size)}")
        single = copy(scorer)
        single.image_batch = 1
        scorer.score(images[:2], captions[:2], np.array([(0, 0), (1, 1)]))  # once before the clock starts
        single.cached = scorer.cached
        work = {
            "together": lambda: scorer.score(images, captions, pairs),
            "one image at a time": lambda: single.score(images, captions, pairs),
            "bare": lambda: _bare(scorer, images, captions, pairs),
        }
        wall, busy = taken(work, repeats)
        share = own_share(scorer.module, work["together"])
    yield {
        "model": f"LLaVA, {sum(p.numel() for p in scorer.module.parameters()) / 1e6:.0f} M random weights",
        "threads": torch.get_num_threads(),
        "pairs": len(pairs),
        **{f"pairs per second, {name}": round(len(pairs) / seconds, 1) for name, seconds in wall.items()},
        "together over one image at a time": round(wall["one image at a time"] / wall["together"], 2),
        "together over bare": round(wall["bare"] / wall["together"], 2),
        "the same by processor time": round(busy["bare"] / busy["together"], 2),
        "share of the model's own passes": round(share, 3),
    }


def own_share(module: Any, work: Callable[[], object]) -> float:
    """The share of some work's processor time that a module's forward passes take."""
    plain, spent = module.forward, 0.0

    @wraps(plain)
    def timed(*args: Any, **more: Any) -> Any:
        nonlocal spent
        started = process_time()
        try:
            return plain(*args, **more)
        finally:
            spent += process_time() - started

    module.forward = timed
    try:
        started = process_time()
        work()
        return spent / (process_time() - started)
    finally:
        del module.forward


def _bare(scorer: Any, images: list[Any], captions: list[str], pairs: np.ndarray) -> None:
    """Every pair's whole sequence through the module, 32 of one length at a time."""
    ids = scorer._tokenize(captions)
    with torch.no_grad():
        for length in sorted({len(row) for row in ids}):
            own = [(i, j) for i, j in pairs if len(ids[j]) == length]
            for start in range(0, len(own), 32):
                part = own[start : start + 32]
                heads = [scorer._head(images[i].open()) for i, _ in part]
                whole = {name: torch.cat([head[name] for head in heads]) for name in heads[0]}
                texts = torch.tensor([ids[j] for _, j in part])
                whole["input_ids"] = torch.cat([whole["input_ids"], texts], dim=1)
                whole["attention_mask"] = torch.ones_like(whole["input_ids"])
                scorer.module(**whole, use_cache=False)
