"""What the speed benchmarks work on: models of real size with random weights, and the built-in scenes as files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from PIL import Image

from core.datasets import load
from core.groups import FileImage, GroupSet
from core.scorers._huggingface import SiglipTowers, TransformersModel
from core.scorers._pretrained import ModelParts
from core.scorers.devices import pick_device
from core.scoring.load import load_scorer

PNG, JPEG = ".png", ".jpg"
SET = "scenes/left-right"


@contextmanager
def on_disk(groups: int, side: int = 64, ending: str = PNG, benchmark: str = SET) -> Iterator[GroupSet]:
    """The first groups of a benchmark with their images as files of `side` pixels, for as long as it lasts."""
    with TemporaryDirectory() as folder:
        yield written(load(benchmark, "test").select(range(groups)), Path(folder), side, ending)


def written(groups: GroupSet, folder: Path, side: int, ending: str) -> GroupSet:
    """The same groups with their images written to a folder."""
    files: dict[str, FileImage] = {}
    for image in groups.unique_images()[0]:
        path = folder / f"{len(files)}{ending}"
        image.open(64).resize((side, side), Image.Resampling.BICUBIC).save(path, quality=90)
        files[image.key] = FileImage(path)
    found = [replace(g, images=tuple(files[image.key] for image in g.images)) for g in groups]
    return replace(groups, groups=tuple(found))


def clip_b32(device: str = "cpu") -> TransformersModel:
    """A CLIP of the size of ViT-B/32, weights random (seed 0), with the built-in model's words."""
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel

    return _random(CLIPConfig, CLIPModel, CLIPImageProcessor, {}, 77, device)


def siglip_b16(device: str = "cpu") -> TransformersModel:
    """A SigLIP of the size of ViT-B/16 at 224 pixels, weights random (seed 0), with the built-in model's words."""
    from transformers import SiglipConfig, SiglipImageProcessor, SiglipModel

    return _random(SiglipConfig, SiglipModel, SiglipImageProcessor, {"vocab_size": 32_000}, 64, device)


def _random(config: Any, model: Any, reader: Any, text: dict[str, Any], length: int, device: str) -> Any:
    from transformers import CLIPProcessor

    known = load_scorer("builtin/clip", "cpu")
    assert isinstance(known, TransformersModel)
    words = known.processor.tokenizer
    ends = {k: getattr(known.config.text_config, k) for k in ("bos_token_id", "eos_token_id", "pad_token_id")}
    torch.manual_seed(0)
    module = model(config(text_config={**text, **ends, "max_position_embeddings": length}))
    side = module.config.vision_config.image_size
    images = reader(size={"height": side, "width": side})
    name = f"random {model.__name__}"
    made = SiglipTowers if length == 64 else TransformersModel
    return made(ModelParts(name, module, CLIPProcessor(images, words), pick_device(device), lambda: None))
