"""CLIP and SigLIP: two towers and a cosine."""

from __future__ import annotations

from math import log
from typing import Any

import torch
from torch.nn import functional as F
from transformers import (
    CLIPConfig,
    CLIPImageProcessor,
    CLIPModel,
    CLIPProcessor,
    SiglipConfig,
    SiglipImageProcessor,
    SiglipModel,
    SiglipProcessor,
)

from core.pretrain.layers import Batch, ForwardResult, place, sincos_grid, tower, trimmed
from core.pretrain.recipes import Recipe
from core.pretrain.tokens import BOS, EOS, PAD, image_settings
from core.scenes.render import MODEL_SIZE


def _text(recipe: Recipe, words: int) -> dict[str, int]:
    ids = {"bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD}
    return tower(recipe.text) | ids | {"vocab_size": words, "max_position_embeddings": recipe.length}


def _vision(recipe: Recipe) -> dict[str, int]:
    return tower(recipe.vision) | {"image_size": MODEL_SIZE, "patch_size": recipe.patch}


# CLIP


def build_clip(recipe: Recipe, words: int) -> CLIPModel:
    """Random weights, except for the positions."""
    config = CLIPConfig(
        text_config=_text(recipe, words), vision_config=_vision(recipe), projection_dim=recipe.projection
    )
    module = CLIPModel(config)
    seen = module.vision_model.embeddings
    place(seen.position_embedding.weight.data, seen.patch_embedding.weight.data, recipe)
    return module


def _clip_captions(module: CLIPModel, ids: torch.Tensor) -> torch.Tensor:
    ids = trimmed(ids)
    pooled = module.text_model(input_ids=ids, attention_mask=(ids != PAD).long()).pooler_output
    return module.text_projection(pooled)


def clip_loss(module: CLIPModel, batch: Batch) -> ForwardResult:
    """Cross-entropy over the rows and the columns of the batch's similarities (Radford et al. 2021)."""
    seen = module.vision_model(pixel_values=batch.pixels)
    pooled, told = module.visual_projection(seen.pooler_output), _clip_captions(module, batch.ids)
    logits = module.logit_scale.exp() * F.normalize(pooled, dim=-1) @ F.normalize(told, dim=-1).T
    own = torch.arange(len(logits), device=logits.device)
    loss = (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2
    return ForwardResult(loss, pooled, seen.last_hidden_state[:, 1:], told)


def clip_scores(module: CLIPModel, pixels: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Scaled cosines, (b, m, k)."""
    pooled = module.vision_model(pixel_values=pixels.flatten(0, 1)).pooler_output
    images = module.visual_projection(pooled).unflatten(0, pixels.shape[:2])
    captions = _clip_captions(module, ids.flatten(0, 1)).unflatten(0, ids.shape[:2])
    return module.logit_scale.exp() * _cosines(images, captions)


def clip_processor(tokenizer: Any) -> CLIPProcessor:
    """Image processor and tokenizer."""
    return CLIPProcessor(CLIPImageProcessor(**image_settings(MODEL_SIZE)), tokenizer)


def _cosines(images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
    return F.normalize(images, dim=-1) @ F.normalize(captions, dim=-1).transpose(-1, -2)


# SigLIP


def build_siglip(recipe: Recipe, words: int) -> SiglipModel:
    """Random weights, except for the positions, and the temperature and bias of the paper."""
    text = _text(recipe, words) | {"projection_size": recipe.vision.width}
    module = SiglipModel(SiglipConfig(text_config=text, vision_config=_vision(recipe)))
    seen = module.vision_model.embeddings
    with torch.no_grad():
        module.logit_scale.fill_(log(10.0))
        module.logit_bias.fill_(-10.0)
        grid = sincos_grid(MODEL_SIZE // recipe.patch, recipe.vision.width)
        seen.position_embedding.weight.copy_(0.5 * grid)
        patches = seen.patch_embedding.weight
        torch.nn.init.normal_(patches, std=2.0 * patches[0].numel() ** -0.5)
    return module


def siglip_loss(module: SiglipModel, batch: Batch) -> ForwardResult:
    """Sigmoid loss over all pairs of the batch (Zhai et al. 2023, Algorithm 1)."""
    seen = module.vision_model(pixel_values=batch.pixels)
    told = module.text_model(input_ids=batch.ids).pooler_output
    logits = module.logit_scale.exp() * _cosines(seen.pooler_output, told) + module.logit_bias
    signs = 2 * torch.eye(len(logits), device=logits.device) - 1
    loss = -F.logsigmoid(signs * logits).sum() / len(logits)
    return ForwardResult(loss, seen.pooler_output, seen.last_hidden_state, told)


def siglip_scores(module: SiglipModel, pixels: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Scaled cosines plus bias, (b, m, k)."""
    images = module.vision_model(pixel_values=pixels.flatten(0, 1)).pooler_output
    captions = module.text_model(input_ids=ids.flatten(0, 1)).pooler_output
    cosines = _cosines(images.unflatten(0, pixels.shape[:2]), captions.unflatten(0, ids.shape[:2]))
    return module.logit_scale.exp() * cosines + module.logit_bias


def siglip_processor(tokenizer: Any) -> SiglipProcessor:
    """Image processor and tokenizer; captions are padded to the full length, as SigLIP wants them."""
    square = {"height": MODEL_SIZE, "width": MODEL_SIZE}
    return SiglipProcessor(SiglipImageProcessor(size=square), tokenizer)
