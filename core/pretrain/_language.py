"""The blind language model: it knows how captions sound and never sees a picture."""

from __future__ import annotations

import torch
from torch.nn import functional as F
from transformers import GPT2Config, GPT2LMHeadModel

from core.pretrain._layers import Batch, ForwardResult, ModelFamily, trimmed
from core.pretrain._recipes import Recipe
from core.pretrain._tokens import BOS, EOS, PAD


def _build_language(recipe: Recipe, words: int) -> GPT2LMHeadModel:
    """Random weights."""
    size = recipe.text
    config = GPT2Config(
        vocab_size=words,
        n_positions=recipe.length,
        n_embd=size.width,
        n_layer=size.layers,
        n_head=size.heads,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=BOS,
        eos_token_id=EOS,
        pad_token_id=PAD,
    )
    return GPT2LMHeadModel(config)


def _logits(module: GPT2LMHeadModel, ids: torch.Tensor) -> torch.Tensor:
    return module(input_ids=ids, attention_mask=(ids != PAD).long()).logits


def mean_log_probability(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Mean log-probability of the tokens after the first, end included, padding left out: (p,)."""
    following, kept = ids[:, 1:], (ids[:, 1:] != PAD).float()
    found = F.log_softmax(logits[:, :-1].float(), dim=-1).gather(-1, following[..., None]).squeeze(-1)
    return (found * kept).sum(dim=-1) / kept.sum(dim=-1)


def next_word_loss(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of every token after the first, over all captions of the batch alike."""
    following = ids[:, 1:].masked_fill(ids[:, 1:] == PAD, -100)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), following.flatten(), ignore_index=-100)


def _language_loss(module: GPT2LMHeadModel, batch: Batch) -> ForwardResult:
    """Cross-entropy of the captions' words; the pictures are not looked at."""
    ids = trimmed(batch.ids)
    return ForwardResult(next_word_loss(_logits(module, ids), ids))


def _language_scores(module: GPT2LMHeadModel, pixels: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Mean log P(token | tokens before), (b, m, k): the same for every image."""
    flat = trimmed(ids.flatten(0, 1))
    found = mean_log_probability(_logits(module, flat), flat).view(len(ids), 1, -1)
    return found.expand(-1, pixels.shape[1], -1)


FAMILIES = {
    "language": ModelFamily(
        _build_language,
        _language_loss,
        {"blind": _language_scores},
        processor=lambda tokenizer: tokenizer,
        sees=False,
    )
}
