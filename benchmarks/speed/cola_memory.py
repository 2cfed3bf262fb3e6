"""Peak memory of Cola's MM-Adapter at the paper's size: random features of many images, a random CLIP ViT-B/32.

    python -m benchmarks.speed.cola_memory --images 100000 --steps 40

Images and captions are numbers alone; features lie on disk as a run leaves them (7.7 GB for 100,000 images) and are
removed afterwards. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import scipy
import torch

from core.base import paths
from core.cola import _training
from core.cola._feature_store import StoredFeatures, stored_features
from core.cola._training_data import TrainingQueries
from core.scorers.cola_adapted import AdaptedModel
from core.scorers.cola_config import AdaptConfig
from core.scorers.cola_features import Features
from core.scoring.load import load_base

QUERIES, PAIRS, BLOCK = 27_078, 450_000, 256  # of the paper's training on GQA
READ = 20_000  # images


def base_folder(folder: Path) -> Path:
    """CLIP ViT-B/32 with random weights, with the built-in model's way of reading images and captions."""
    from transformers import AutoProcessor, CLIPConfig, CLIPModel

    processor = AutoProcessor.from_pretrained(paths.assets() / "models/clip")
    config = CLIPConfig()
    config.text_config.eos_token_id = processor.tokenizer.eos_token_id
    CLIPModel(config).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def blocks(count: int, length: int, widths: tuple[int, int], words: bool) -> Iterator[Features]:
    """Random features; every block holds the same numbers, which nobody looks at."""
    rng = torch.Generator().manual_seed(0)
    tokens, pooled = (torch.randn(BLOCK, *s, generator=rng) for s in ((length, widths[0]), (widths[1],)))
    for start in range(0, count, BLOCK):
        part = slice(0, min(BLOCK, count - start))
        features = Features.of(pooled[part], tokens[part])
        yield features._replace(words=tokens[part, :, : widths[1]].contiguous()) if words else features


def training_queries(images: int) -> TrainingQueries:
    rng = np.random.default_rng(0)
    rows = np.concatenate([np.arange(QUERIES), rng.integers(QUERIES, size=PAIRS - QUERIES)])
    columns = rng.integers(images, size=PAIRS)
    links = scipy.sparse.csr_array((np.ones(PAIRS, dtype=bool), (rows, columns)), shape=(QUERIES, images))
    nobody = np.full(QUERIES, -1)
    pictures: Any = tuple(SimpleNamespace(key=str(i)) for i in range(images))
    kinds = np.full(QUERIES, "single")
    return TrainingQueries("random", pictures, tuple(map(str, range(QUERIES))), links, kinds, nobody, nobody)


def memory(name: str) -> int:
    """A line of this process' status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def measure(images: int, steps: int, batch: int, strategy: str, folder: Path) -> dict[str, Any]:
    """Peak memory, disk and time of `steps` steps."""
    widths = (768, 512)
    stores: dict[str, StoredFeatures] = {
        "image": stored_features("images", blocks(images, 49, widths, False)),
        "caption": stored_features("captions", blocks(QUERIES, 8, (512, 512), True)),
    }
    written = memory("VmHWM")
    config = AdaptConfig(strategy=strategy, epochs=1, steps=steps, batch=batch)
    model = AdaptedModel.of(load_base(str(folder / "clip"), "cpu"), config, str(folder / "clip"))
    loaded, material = memory("VmHWM"), training_queries(images)
    started = time.perf_counter()
    with (
        mock.patch.object(_training, "sample_features", lambda *given: None),
        mock.patch.object(_training, "is_large", lambda *given: True),
        mock.patch.object(_training, "_stored", lambda model, side, items, told: stores[side]),
    ):
        for _ in _training.train(model, material, config):
            pass
    seconds = (time.perf_counter() - started) / steps
    for rows in torch.randperm(images)[:READ].split(batch):  # what many more steps would read
        stores["image"].rows(rows)
    return {
        "images": images,
        "strategy": strategy,
        "batch": batch,
        "disk_gb": round(sum(store.bytes for store in stores.values()) / 1e9, 2),
        "peak_gb": round(memory("VmHWM") / 1e9, 2),
        "peak_after_writing_gb": round(written / 1e9, 2),
        "peak_after_loading_gb": round(loaded / 1e9, 2),
        "seconds_a_step": round(seconds, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=100_000)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--strategy", default="mm-adapter")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ["CROSSMATCH_HOME"] = name
        pid = os.fork()  # making the base takes memory that a run does not
        if not pid:
            base_folder(Path(name) / "clip")
            os._exit(0)
        os.waitpid(pid, 0)
        print(json.dumps(measure(given.images, given.steps, given.batch, given.strategy, Path(name))))


if __name__ == "__main__":
    main()
