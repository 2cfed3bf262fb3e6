"""One architecture per family: how it is built, what its training loss is, and how it scores pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.nn import functional as F
from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPProcessor

from core.pretrain.recipes import Recipe, Tower
from core.pretrain.tokens import BOS, EOS, LENGTH, PAD, image_settings
from core.scenes import MODEL_SIZE


class Batch(NamedTuple):
    """Matched pictures and captions. The last 2 * pairs rows are twins: all first ones, then all second ones."""

    pixels: torch.Tensor  # (b, 3, H, W), normalised
    ids: torch.Tensor  # (b, length)
    pairs: int


class Passed(NamedTuple):
    """A forward pass in training."""

    loss: torch.Tensor  # scalar
    pooled: torch.Tensor | None  # (b, d), the vision tower's summary; None where there is no vision
    patches: torch.Tensor | None  # (b, patches, d), its tokens
    told: torch.Tensor | None = None  # (b, d), the text tower's summary


@dataclass(frozen=True)
class Family:
    """What the training loop asks of an architecture."""

    build: Callable[[Recipe, int], Any]  # (recipe, vocabulary size) -> module with random weights
    loss: Callable[[Any, Batch], Passed]
    scores: Callable[
        [Any, torch.Tensor, torch.Tensor], torch.Tensor
    ]  # (b, m, 3, H, W), (b, k, length) -> (b, m, k)
    processor: Callable[[Any], Any]  # tokenizer -> what is saved beside the weights
    pooled: Callable[[Recipe], int]  # width of the vision tower's summary


def sincos_grid(side: int, width: int) -> torch.Tensor:
    """Sine and cosine of both coordinates of a side x side grid, float32 (side * side, width)."""
    frequency = 1.0 / 100 ** (
        torch.arange(width // 4) / (width // 4)
    )  # a grid of few cells needs few octaves
    y, x = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    angles = [coordinate.flatten()[:, None] * frequency[None] for coordinate in (y, x)]
    return torch.cat([wave(angle) for angle in angles for wave in (torch.sin, torch.cos)], dim=1)


def tower(size: Tower) -> dict[str, int]:
    """A transformer's settings by transformers' names."""
    return {
        "hidden_size": size.width,
        "intermediate_size": 4 * size.width,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
    }


def lengths(ids: torch.Tensor) -> torch.Tensor:
    """Tokens up to and including the end, int64 (...)."""
    return (ids != PAD).sum(dim=-1)


def trimmed(ids: torch.Tensor) -> torch.Tensor:
    """Without the columns that are padding in every row."""
    return ids[..., : int(lengths(ids).max())]


def _place(positions: torch.Tensor, patches: torch.Tensor, recipe: Recipe) -> None:
    """Start from positions that mean places, and from patches about as loud as they: small data need both."""
    with torch.no_grad():
        positions[1:] = 0.5 * sincos_grid(MODEL_SIZE // recipe.patch, recipe.vision.width)
        torch.nn.init.normal_(patches, std=2.0 * patches[0].numel() ** -0.5)


# CLIP


def _build_clip(recipe: Recipe, words: int) -> CLIPModel:
    text = tower(recipe.text) | {"vocab_size": words, "max_position_embeddings": LENGTH}
    text |= {"bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD}
    vision = tower(recipe.vision) | {"image_size": MODEL_SIZE, "patch_size": recipe.patch}
    module = CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=recipe.projection))
    seen = module.vision_model.embeddings
    _place(seen.position_embedding.weight.data, seen.patch_embedding.weight.data, recipe)
    return module


def _clip_captions(module: CLIPModel, ids: torch.Tensor) -> torch.Tensor:
    ids = trimmed(ids)
    pooled = module.text_model(input_ids=ids, attention_mask=(ids != PAD).long()).pooler_output
    return module.text_projection(pooled)


def _clip_loss(module: CLIPModel, batch: Batch) -> Passed:
    seen = module.vision_model(pixel_values=batch.pixels)
    pooled = module.visual_projection(seen.pooler_output)
    told = _clip_captions(module, batch.ids)
    logits = module.logit_scale.exp() * F.normalize(pooled, dim=-1) @ F.normalize(told, dim=-1).T
    own = torch.arange(len(logits), device=logits.device)
    loss = (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2
    return Passed(loss, pooled, seen.last_hidden_state[:, 1:], told)


def _clip_scores(module: CLIPModel, pixels: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    pooled = module.vision_model(pixel_values=pixels.flatten(0, 1)).pooler_output
    images = F.normalize(module.visual_projection(pooled), dim=-1).unflatten(0, pixels.shape[:2])
    captions = F.normalize(_clip_captions(module, ids.flatten(0, 1)), dim=-1).unflatten(0, ids.shape[:2])
    return module.logit_scale.exp() * images @ captions.transpose(1, 2)


def _clip_processor(tokenizer: Any) -> CLIPProcessor:
    return CLIPProcessor(CLIPImageProcessor(**image_settings(MODEL_SIZE)), tokenizer)


FAMILIES: dict[str, Family] = {
    "clip": Family(_build_clip, _clip_loss, _clip_scores, _clip_processor, lambda r: r.projection),
}
