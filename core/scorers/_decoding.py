"""Decoder-only models: what is read once is kept as keys and values, and continued by any number of texts."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers.modeling_outputs import BaseModelOutput

from core.base.errors import InputError
from core.scorers._pairwise import ImageInput, PairScorer, token_log_probs
from core.scorers._pretrained import ModelParts

# Bytes that the repeated keys and values of one batch may take.
_CACHE_BUDGET = 1 << 30
# How far cached and plain scoring of one text may differ before the cache is given up, by type of the weights.
_TOLERANCE = {torch.float32: 1e-3, torch.float16: 0.1, torch.bfloat16: 0.3}


class Prefix(NamedTuple):
    """What a model has read: keys and values (batch of one), logits of the next token (1, vocabulary), its positions.

    inputs : the tensors that were read, for plain scoring.
    """

    cache: Any
    logits: torch.Tensor
    positions: torch.Tensor | None
    inputs: dict[str, torch.Tensor]


def read_prefix(module: Any, inputs: dict[str, torch.Tensor]) -> Prefix:
    """Read inputs of batch size one and keep what later tokens attend to."""
    last = {"logits_to_keep": 1} if "logits_to_keep" in inspect.signature(module.forward).parameters else {}
    out = module(**inputs, use_cache=True, **last)
    # Qwen-VL and its kin keep in the module how far the last image moved the positions of the text after it.
    positions = getattr(getattr(module, "model", None), "rope_deltas", None)
    return Prefix(out.past_key_values, out.logits[:, -1].float(), positions, inputs)


def next_logits(module: Any, prefix: Prefix, ids: torch.Tensor) -> torch.Tensor:
    """Logits of what follows each token of `ids` int64 (b, length) after a prefix, (b, length, vocabulary).

    `ids` are padded on the right and get no mask: attention is causal, so nothing that counts sees the padding behind.
    """
    cache = deepcopy(prefix.cache)
    cache.batch_repeat_interleave(len(ids))
    if prefix.positions is not None:
        module.model.rope_deltas = prefix.positions
    return module(input_ids=ids, past_key_values=cache, use_cache=True).logits


def plain_logits(module: Any, prefix: Prefix, ids: torch.Tensor) -> torch.Tensor:
    """The same without the kept prefix, one text at a time: everything is read again."""
    rows = []
    start = prefix.inputs["input_ids"].shape[1]
    for row in ids:
        inputs = {name: _longer(name, tensor, start, row) for name, tensor in prefix.inputs.items()}
        rows.append(module(**inputs, use_cache=False).logits[:, start:])
    return torch.cat(rows)


# How logits after a prefix are computed: `next_logits` or `plain_logits`.
Follow = Callable[[Any, Prefix, torch.Tensor], torch.Tensor]


def text_log_probs(
    module: Any, prefix: Prefix, ids: torch.Tensor, follow: Follow = next_logits
) -> torch.Tensor:
    """log P of each token of `ids` (b, length), padded on the right, after a prefix: float32 (b, length)."""
    first = token_log_probs(prefix.logits[:, None].expand(len(ids), -1, -1), ids[:, :1])
    if ids.shape[1] == 1:
        return first
    return torch.cat([first, token_log_probs(follow(module, prefix, ids[:, :-1]), ids[:, 1:])], dim=1)


def _longer(name: str, tensor: torch.Tensor, start: int, row: torch.Tensor) -> torch.Tensor:
    """A tensor of the prefix, longer by the tokens of a text where it has a place for each token."""
    if tensor.shape != (1, start):
        return tensor
    more = row if name == "input_ids" else torch.full_like(row, int(name == "attention_mask"))
    return torch.cat([tensor, more[None].to(tensor.dtype)], dim=1)


def _cache_bytes(cache: Any) -> int:
    """Bytes of the keys and values of a cache."""
    layers = getattr(cache, "layers", ())
    tensors = [t for layer in layers for t in (getattr(layer, "keys", None), getattr(layer, "values", None))]
    return sum(t.numel() * t.element_size() for t in tensors if isinstance(t, torch.Tensor))


class ChatScorer(PairScorer):
    """A model of transformers that reads an image inside a text with a placeholder, mostly from a chat template.

    The text up to the captions is read once for an image, then any number of continuations.
    """

    cached: bool | None = None  # may the kept prefix be used? None until it was compared with plain scoring

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts)
        found = (
            getattr(holder, field, None)
            for holder in (self.config, self.processor)
            for field in ("image_token_id", "image_token_index")
        )
        self.placeholder = next((token for token in found if token is not None), None)

    def _room(self, encoded: Prefix) -> int:
        return max(1, min(self.caption_batch, _CACHE_BUDGET // max(1, _cache_bytes(encoded.cache))))

    def _follow(self, module: Any, encoded: Prefix, ids: torch.Tensor) -> torch.Tensor:
        """`next_logits`, or `plain_logits` for a model that does not continue a cache as it should."""
        if self.cached is None:
            self.cached = self._agrees(encoded, ids[:1])
        return (next_logits if self.cached else plain_logits)(module, encoded, ids)

    def _agrees(self, encoded: Prefix, ids: torch.Tensor) -> bool:
        """Compare the two, once per model, on one text."""
        one, other = (
            f(self.module, encoded, ids).float().log_softmax(-1) for f in (next_logits, plain_logits)
        )
        chosen = other.argmax(dim=-1, keepdim=True)
        if (one - other).gather(-1, chosen).abs().max() <= _TOLERANCE.get(self.module.dtype, 1e-3):
            return True
        warnings.warn(
            f"{self.name} gives other scores with a kept prefix than without; it is scored without, which is slower.",
            stacklevel=2,
        )
        return False

    def prompt(self, question: str | None = None) -> str:
        """The text around the image: the model's chat template, or the image alone for a model without one.

        question : what the user asks; None leaves the answer to begin right after the image ([VGPT] appendix D).
        """
        content: list[dict[str, str]] = [{"type": "image"}]
        if question is not None:
            content.append({"type": "text", "text": question})
        messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
        if system := _SYSTEMS.get(self.config.model_type):
            messages.insert(0, {"role": "system", "content": [{"type": "text", "text": system}]})
        if getattr(self.processor, "chat_template", None):
            return self.processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        token = getattr(self.processor, "image_token", None) or getattr(self.tokenizer, "image_token", None)
        if not token:
            raise InputError(
                f"{self.name} has neither a chat template nor a placeholder for images; Crossmatch cannot prompt it."
            )
        return f"{token}{'' if question is None else question}"

    def _tail(self, texts: list[str]) -> list[list[int]]:
        """Token ids of prompts after the image's placeholder, where a placeholder is one token."""
        found = []
        for ids in self.tokenizer(texts, verbose=False, **self._special(texts))["input_ids"]:
            places = [i for i, token in enumerate(ids) if token == self.placeholder]
            if not places:
                raise InputError(
                    f"{self.name} has no placeholder for the image in its prompt; it cannot be asked."
                )
            found.append(list(ids[places[-1] + 1 :]))
        return found

    def _special(self, texts: list[str]) -> dict[str, bool]:
        """Templates mostly write the begin token themselves; a second one is not wanted."""
        begin = self.tokenizer.bos_token
        return {"add_special_tokens": not (begin and texts and texts[0].startswith(begin))}

    def _head(self, image: ImageInput, prompt: str, tail: int) -> Prefix:
        """The prompt with its image, without its last `tail` tokens, read once."""
        found = self._pixels(image, text=[prompt], **self._special([prompt]))
        length = found["input_ids"].shape[1]
        keep = {
            name: tensor[:, : length - tail]
            if tensor.shape[:2] == (1, length) and tensor.ndim == 2
            else tensor
            for name, tensor in found.items()
        }
        return read_prefix(self.module, keep)


# What the model was told before every conversation of its training; [VGPT] appendix D keeps LLaVA's.
_SYSTEMS = {
    "llava": (
        "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, "
        "detailed, and polite answers to the user's questions."
    )
}


class TokenLogProbs(NamedTuple):
    """A caption token by token: their texts and their log P, float32 (m,), whose mean is the score."""

    tokens: list[str]
    log_probs: np.ndarray


def seq2seq_log_probs(language: Any, states: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """log P of each token of `ids` (b, length) by a decoder over encoder states (1, source, d): (b, length)."""
    start = language.config.decoder_start_token_id
    inputs = torch.cat([torch.full_like(ids[:, :1], start), ids[:, :-1]], dim=1)
    source = BaseModelOutput(last_hidden_state=states.expand(len(ids), -1, -1))
    out = language(encoder_outputs=source, decoder_input_ids=inputs, use_cache=False)
    return token_log_probs(out.logits, ids)
