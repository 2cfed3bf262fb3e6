"""Shared fixtures: tiny models of the real classes, toy groups, and a home folder that no test shares.

Nothing here imports torch or transformers before a test asks for a model, and nothing reaches the network.
"""

from __future__ import annotations

import gc
import io
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

# Read once, when the libraries are imported: two xdist workers on two cores must not fight over threads.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"

import pytest
from driving import (  # noqa: F401  fixtures of the page tests
    app,
    drawn_folder,
    fresh_pages,
    open_page,
    scored_home,
)
from needed import (  # noqa: F401  what not every machine has
    every_eval_ever,
    mteb,
    pytest_collection_modifyitems,
    pytest_terminal_summary,
    real_data,
    sentence_transformers,
    winoground_embeddings,
)
from PIL import Image, ImageDraw

from core.groups import BytesImage, Group, GroupSet

COLOURS = {"red": (210, 40, 40), "green": (40, 170, 60), "blue": (40, 80, 210), "yellow": (230, 200, 40)}
SHAPES = ("cube", "ball", "cone")
WORDS = [
    "a",
    "an",
    "the",
    *COLOURS,
    *SHAPES,
    "left",
    "right",
    "of",
    "in",
    "front",
    "behind",
    "next",
    "to",
    "and",
]
SIDE = 32  # pixels, the tiny models' image side
CONTEXT = 24  # tokens, the tiny models' context length


def pytest_configure() -> None:
    """Temporary folders are in memory where that has room (a container may have 64 MB).

    On a disk the tests would wait: 20 ms for every commit to a store, 1 ms for every folder that is removed.
    """
    memory = Path("/dev/shm")
    if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 4 << 30:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))


def pytest_collection_finish() -> None:
    """The libraries stay: Python's search for cyclic garbage need not walk their half a million objects each time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs and caches of a test go to its own folder; subprocesses inherit this and stay offline."""
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    if (
        "ui" in sys.modules
    ):  # its lists of what there is last half a minute: they were made for another test's home
        from ui import loaders, selection

        selection.benchmarks.clear()
        loaders.scorer_list.clear()


def draw(left: tuple[str, str], right: tuple[str, str], size: tuple[int, int] = (48, 40)) -> BytesImage:
    """A PNG with two shapes, (colour, shape) each; not square, so that resizing and cropping matter."""
    image = Image.new("RGB", size, (200, 200, 195))
    pen = ImageDraw.Draw(image)
    for place, (colour, shape) in enumerate((left, right)):
        x, y, r = size[0] * (1 + 2 * place) // 4, size[1] // 2, size[1] // 4
        fill = COLOURS[colour]
        if shape == "ball":
            pen.ellipse((x - r, y - r, x + r, y + r), fill=fill)
        elif shape == "cube":
            pen.rectangle((x - r, y - r, x + r, y + r), fill=fill)
        else:
            pen.polygon(((x, y - r), (x - r, y + r), (x + r, y + r)), fill=fill)
    data = io.BytesIO()
    image.save(data, "PNG")
    return BytesImage(data.getvalue(), f"{'-'.join(left)}_{'-'.join(right)}.png")


def swap_group(index: int, truth: tuple[int, int]) -> Group:
    """A 2x2 group whose two scenes swap their colours; `truth` decides the order of the captions."""
    names = list(COLOURS)
    one, other = names[index % 4], names[(index + 1 + index // 4) % 4]
    here, there = SHAPES[index % 3], SHAPES[(index + 1) % 3]
    images = (draw((one, here), (other, there)), draw((other, here), (one, there)))
    texts = (f"a {one} {here} and a {other} {there}", f"a {other} {here} and a {one} {there}")
    captions = tuple(texts[truth.index(j)] for j in range(2))
    return Group(f"swap-{index}", images, captions, truth, {"colour": one, "shape": here})


def relation_group(index: int, truth: int) -> Group:
    """A 1x4 group: one image, four relations."""
    names = list(COLOURS)
    one, other, here = names[index % 4], names[(index + 1) % 4], SHAPES[index % 3]
    phrases = ["left of", "right of", "in front of", "behind"]
    phrases.insert(truth, phrases.pop(0))
    captions = tuple(f"a {one} {here} {phrase} a {other} {here}" for phrase in phrases)
    return Group(
        f"relation-{index}", (draw((one, here), (other, here)),), captions, (truth,), {"colour": one}
    )


@pytest.fixture
def toy_groups() -> GroupSet:
    """Six 2x2 groups with images; truth is not the identity everywhere; tags `colour` and `shape`."""
    return GroupSet("toy/2x2", tuple(swap_group(i, (1, 0) if i % 3 else (0, 1)) for i in range(6)))


@pytest.fixture
def toy_groups_1x4() -> GroupSet:
    """Five 1x4 groups with images; the true caption's place varies; tag `colour`."""
    return GroupSet("toy/1x4", tuple(relation_group(i, (3 * i + 1) % 4) for i in range(5)))


@pytest.fixture
def toy_groups_mixed(toy_groups: GroupSet, toy_groups_1x4: GroupSet) -> GroupSet:
    """Both in one set: two shapes."""
    return GroupSet("toy/mixed", (*toy_groups.groups, *toy_groups_1x4.groups))


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Builds each tiny model of `tiny_models.BUILDERS` once, in a folder that no test may change."""
    from tiny_models import BUILDERS

    root = tmp_path_factory.mktemp("models")
    return lambda name: root / name if (root / name).is_dir() else BUILDERS[name](root / name)


@pytest.fixture(scope="session")
def tiny_clip_folder(make) -> Path:
    """A CLIPModel (60,000 random weights, 32 px) with processor and word-level tokenizer, as saved by HF."""
    return make("clip")


@pytest.fixture(scope="session")
def tiny_siglip_folder(make) -> Path:
    """A SiglipModel of the same size, with processor and word-level tokenizer."""
    return make("siglip")


@pytest.fixture(scope="session")
def tiny_open_clip_folder(make) -> Path:
    """An open_clip folder: open_clip_config.json and open_clip_model.safetensors, open_clip's tokenizer."""
    return make("open_clip")


def word_tokenizer(kind: str, lower: bool = True):
    """A transformers tokenizer over WORDS: `clip` frames a caption with begin and end, `siglip` ends it."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    begin, end = "<|startoftext|>", "<|endoftext|>"
    vocabulary = {word: i for i, word in enumerate(["<pad>", "<unk>", *WORDS, begin, end])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    if lower:
        tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    frame = f"{begin} $A {end}" if kind == "clip" else f"$A {end}"
    special = [(token, vocabulary[token]) for token in (begin, end) if token in frame]
    tokenizer.post_processor = processors.TemplateProcessing(single=frame, special_tokens=special)
    # CLIP pads with its end token: the first end, not the last, is the caption's.
    pad = end if kind == "clip" else "<pad>"
    names = {"bos_token": begin, "eos_token": end, "unk_token": "<unk>", "pad_token": pad}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=CONTEXT, **names)


def towers(tokenizer) -> dict[str, dict]:
    """Configuration of the two towers, common to the tiny models."""
    common = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    ids = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    text = {**common, **ids, "vocab_size": len(tokenizer), "max_position_embeddings": CONTEXT}
    return {"text_config": text, "vision_config": {**common, "image_size": SIDE, "patch_size": 16}}


def randomise(module, seed: int = 0) -> None:
    """Weights large enough that scores of different pairs differ clearly."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.ndim > 1:
                parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator))


def build_clip(folder: Path, seed: int = 0, **text: object) -> Path:
    """Write a tiny CLIP; `text` overrides settings of the text tower, such as eos_token_id=2."""
    import torch
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPProcessor

    tokenizer = word_tokenizer("clip")
    parts = towers(tokenizer)
    torch.manual_seed(seed)
    model = CLIPModel(
        CLIPConfig(**{**parts, "text_config": {**parts["text_config"], **text}}, projection_dim=32)
    )
    randomise(model, seed)
    images = CLIPImageProcessor(size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE})
    model.save_pretrained(folder)
    CLIPProcessor(images, tokenizer).save_pretrained(folder)
    return folder


def build_siglip(folder: Path, seed: int = 0) -> Path:
    import torch
    from transformers import SiglipConfig, SiglipImageProcessor, SiglipModel, SiglipProcessor

    tokenizer = word_tokenizer("siglip")
    torch.manual_seed(seed)
    model = SiglipModel(SiglipConfig(**towers(tokenizer)))
    randomise(model, seed)
    with torch.no_grad():
        model.logit_scale.fill_(2.0)
        model.logit_bias.fill_(-3.0)
    model.save_pretrained(folder)
    SiglipProcessor(SiglipImageProcessor(size={"height": SIDE, "width": SIDE}), tokenizer).save_pretrained(
        folder
    )
    return folder


def build_open_clip(folder: Path, seed: int = 0, **settings: object) -> Path:
    """Write a tiny open_clip model; `settings` overrides its model_cfg, such as init_logit_bias=-3.0."""
    import open_clip
    import torch
    from safetensors.torch import save_file

    text = {"context_length": CONTEXT, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2}
    vision = {"image_size": SIDE, "layers": 2, "width": 32, "head_width": 16, "patch_size": 16}
    config = {"embed_dim": 32, "vision_cfg": vision, "text_cfg": text, **settings}
    torch.manual_seed(seed)
    model = (open_clip.model.CustomTextCLIP if config.pop("custom_text", False) else open_clip.CLIP)(**config)
    randomise(model, seed)
    folder.mkdir(parents=True)
    save_file(model.state_dict(), folder / "open_clip_model.safetensors")
    model_cfg = {"embed_dim": 32, "vision_cfg": vision, "text_cfg": text, **settings}
    written = {"model_cfg": model_cfg, "preprocess_cfg": {}}
    (folder / "open_clip_config.json").write_text(json.dumps(written))
    return folder
