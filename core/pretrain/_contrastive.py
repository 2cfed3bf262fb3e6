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

from core.pretrain._layers import (
    Batch,
    ForwardResult,
    ModelFamily,
    contrastive_loss,
    cosines,
    set_positions,
    text_settings,
    trimmed,
    vision_settings,
)
from core.pretrain._recipes import Recipe
from core.pretrain._tokens import PAD, image_settings
from core.scenes.render import MODEL_SIZE

# CLIP


def _build_clip(recipe: Recipe, words: int) -> CLIPModel:
    """Random weights, except for the positions."""
    text, vision = text_settings(recipe, words), vision_settings(recipe)
    module = CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=recipe.projection))
    embeddings = module.vision_model.embeddings
    set_positions(
        embeddings.position_embedding.weight.data[1:], embeddings.patch_embedding.weight.data, recipe
    )
    return module


def _clip_captions(module: CLIPModel, ids: torch.Tensor) -> torch.Tensor:
    ids = trimmed(ids)
    pooled = module.text_model(input_ids=ids, attention_mask=(ids != PAD).long()).pooler_output
    return module.text_projection(pooled)


def _clip_loss(module: CLIPModel, batch: Batch) -> ForwardResult:
    vision = module.vision_model(pixel_values=batch.pixels)
    pooled, caption = module.visual_projection(vision.pooler_output), _clip_captions(module, batch.ids)
    logits = module.logit_scale.exp() * F.normalize(pooled, dim=-1) @ F.normalize(caption, dim=-1).T
    return ForwardResult(contrastive_loss(logits), pooled, vision.last_hidden_state[:, 1:], caption)


def _clip_scores(module: CLIPModel, pixels: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Scaled cosines, (b, m, k)."""
    pooled = module.vision_model(pixel_values=pixels.flatten(0, 1)).pooler_output
    images = module.visual_projection(pooled).unflatten(0, pixels.shape[:2])
    captions = _clip_captions(module, ids.flatten(0, 1)).unflatten(0, ids.shape[:2])
    return module.logit_scale.exp() * cosines(images, captions)


def _clip_processor(tokenizer: Any) -> CLIPProcessor:
    return CLIPProcessor(CLIPImageProcessor(**image_settings()), tokenizer)


# SigLIP


def _build_siglip(recipe: Recipe, words: int) -> SiglipModel:
    """Random weights, except for the positions, and the temperature and bias of the paper."""
    text = text_settings(recipe, words) | {"projection_size": recipe.vision.width}
    module = SiglipModel(SiglipConfig(text_config=text, vision_config=vision_settings(recipe)))
    with torch.no_grad():
        module.logit_scale.fill_(log(10.0))
        module.logit_bias.fill_(-10.0)
    embeddings = module.vision_model.embeddings
    set_positions(embeddings.position_embedding.weight.data, embeddings.patch_embedding.weight.data, recipe)
    return module


def _siglip_loss(module: SiglipModel, batch: Batch) -> ForwardResult:
    """Sigmoid loss over all pairs of the batch (Zhai et al. 2023, Algorithm 1)."""
    vision = module.vision_model(pixel_values=batch.pixels)
    caption = module.text_model(input_ids=batch.ids).pooler_output
    logits = module.logit_scale.exp() * cosines(vision.pooler_output, caption) + module.logit_bias
    signs = 2 * torch.eye(len(logits), device=logits.device) - 1
    loss = -F.logsigmoid(signs * logits).sum() / len(logits)
    return ForwardResult(loss, vision.pooler_output, vision.last_hidden_state, caption)


def _siglip_scores(module: SiglipModel, pixels: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Scaled cosines plus bias, (b, m, k)."""
    images = module.vision_model(pixel_values=pixels.flatten(0, 1)).pooler_output
    captions = module.text_model(input_ids=ids.flatten(0, 1)).pooler_output
    similarity = cosines(images.unflatten(0, pixels.shape[:2]), captions.unflatten(0, ids.shape[:2]))
    return module.logit_scale.exp() * similarity + module.logit_bias


def _siglip_processor(tokenizer: Any) -> SiglipProcessor:
    """Image processor and tokenizer; captions are padded to the full length, as SigLIP wants them."""
    square = {"height": MODEL_SIZE, "width": MODEL_SIZE}
    return SiglipProcessor(SiglipImageProcessor(size=square), tokenizer)


FAMILIES = {
    "clip": ModelFamily(
        _build_clip, _clip_loss, {"itc": _clip_scores}, _clip_processor, lambda recipe: recipe.projection
    ),
    "siglip": ModelFamily(_build_siglip, _siglip_loss, {"itc": _siglip_scores}, _siglip_processor),
}
