"""The architectures: how each is built, what its training loss is, how it scores pairs, what is saved with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from core.pretrain import blip, contrastive, language
from core.pretrain.layers import Batch, ForwardResult
from core.pretrain.recipes import Recipe


@dataclass(frozen=True)
class ModelFamily:
    """What the training loop asks of an architecture."""

    build: Callable[[Recipe, int], Any]  # (recipe, vocabulary size) -> module with random weights
    loss: Callable[[Any, Batch], ForwardResult]
    # Each kind of score, the first one first: (module, pixels (b, m, 3, H, W), ids (b, k, length)) -> (b, m, k).
    scores: dict[str, Callable[[Any, torch.Tensor, torch.Tensor], torch.Tensor]]
    processor: Callable[[Any], Any]  # tokenizer -> what is saved beside the weights
    pooled: Callable[[Recipe], int]  # width of the towers' summaries
    sees: bool = True  # whether pictures play a part
    asks: bool = False  # whether captions become questions


def _projection(recipe: Recipe) -> int:
    return recipe.projection


def _width(recipe: Recipe) -> int:
    return recipe.vision.width


FAMILIES: dict[str, ModelFamily] = {
    "clip": ModelFamily(
        contrastive.build_clip,
        contrastive.clip_loss,
        {"itc": contrastive.clip_scores},
        contrastive.clip_processor,
        _projection,
    ),
    "siglip": ModelFamily(
        contrastive.build_siglip,
        contrastive.siglip_loss,
        {"itc": contrastive.siglip_scores},
        contrastive.siglip_processor,
        _width,
    ),
    "blip-retrieval": ModelFamily(
        blip.build_retrieval,
        blip.retrieval_loss,
        {"itm": blip.itm_scores, "itc": blip.itc_scores},
        blip.blip_processor,
        _projection,
    ),
    "blip-captioner": ModelFamily(
        blip.build_captioner,
        blip.captioner_loss,
        {"visualgptscore": blip.captioner_scores},
        blip.blip_processor,
        _width,
    ),
    "blip-vqa": ModelFamily(
        blip.build_vqa, blip.vqa_loss, {"vqascore": blip.vqa_scores}, blip.blip_processor, _width, asks=True
    ),
    "language": ModelFamily(
        language.build_language,
        language.language_loss,
        {"blind": language.language_scores},
        language.language_processor,
        _width,
        sees=False,
    ),
}
