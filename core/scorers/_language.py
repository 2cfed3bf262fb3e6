"""Blind language models: how likely a caption is as text, whatever the image.

Score = mean over the caption's tokens of log P(t_k | t_<k), float32. A causal model starts from its begin (or end of
text) token; a sequence-to-sequence model writes the caption from an empty source, and what its tokenizer puts around a
text (T5 an end, BART a begin and an end) counts as it does in the model's own loss.
Source: [VGPT] section 4, P_LLM(t): BART, FLAN-T5, OPT.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from core.base.errors import InputError
from core.groups import ImageRef
from core.scorers._decoding import Prefix, TokenLogProbs, read_prefix, seq2seq_log_probs, text_log_probs
from core.scorers._generative import CaptionScorer
from core.scorers._memory import memory_errors
from core.scorers._pairwise import ImageInput
from core.scorers._pretrained import ModelParts, load_parts
from core.scorers.base import ScoredRows, by_block, used_inputs
from core.scorers.hub import locate
from core.scorers.model_folder import read_config
from core.scorers.null_images import NullImage

# Captions per block of a stream.
_BLOCK = 1024


class LanguageScorer(CaptionScorer):
    """A captioner that never opens an image; what it reads before every caption, it reads once."""

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts)
        self.context = getattr(self.config, "max_position_embeddings", None)
        self._begun: Any = None

    def _encode_image(self, image: ImageInput | None = None) -> Any:
        if self._begun is None:
            self._begun = self._begin()
        return self._begun

    def _begin(self) -> Any:
        """What the model has read before any caption."""
        raise NotImplementedError

    def stream(
        self, images: Sequence[ImageRef], captions: Sequence[str], pairs: np.ndarray
    ) -> Iterator[ScoredRows]:
        """As `score`, in blocks of captions; each distinct one is scored once, and the images are never opened."""
        _, texts, index = used_inputs(pairs)
        parts = (texts[start : start + _BLOCK] for start in range(0, len(texts), _BLOCK))
        with memory_errors(self.name):
            for part, rows, numbers in by_block(((part, len(part)) for part in parts), index[:, ::-1]):
                read = self._encode_captions([captions[j] for j in part])
                values = self._score_block(None, read, np.column_stack([np.arange(len(part))] * 2))
                yield rows, values[numbers[:, 0]]

    def token_log_probs(self, image: ImageRef | None, caption: str) -> TokenLogProbs:
        """Every token of a caption with its log P, the same whatever the image."""
        return super().token_log_probs(NullImage(0.0, 0.0), caption)

    def blind_token_log_probs(self, caption: str, count: int = 1, seed: int = 0) -> TokenLogProbs:
        """The same; `count` and `seed` play no part."""
        return self.token_log_probs(None, caption)


class CausalScorer(LanguageScorer):
    """GPT-2, OPT and any other causal language model."""

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts)
        tokens = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id)
        begin = next((token for token in tokens if token is not None), None)
        if begin is None:
            raise InputError(
                f"{self.name} has no begin token, so its first word has no probability; use another."
            )
        self.begin = int(begin)
        if self.context:
            self.context -= 1

    def _tokenize(self, captions: list[str]) -> list[list[int]]:
        """Tokens after the begin token, which is read beforehand; an end token, where one is written, counts."""
        return [ids[1:] if ids[0] == self.begin and len(ids) > 1 else ids for ids in self._ids(captions)]

    def _begin(self) -> Prefix:
        return read_prefix(self.module, [{"input_ids": torch.tensor([[self.begin]], device=self.device)}])

    def _token_log_probs(self, encoded: Prefix, ids: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        rows, mask = self._padded(ids)
        return text_log_probs(self.module, encoded, rows), mask


class Seq2SeqScorer(LanguageScorer):
    """BART, FLAN-T5 and any other sequence-to-sequence model, writing from an empty source."""

    def _tokenize(self, captions: list[str]) -> list[list[int]]:
        return self._ids(captions)

    def _begin(self) -> torch.Tensor:
        empty = self.tokenizer("")["input_ids"] or [self.tokenizer.eos_token_id]
        source = torch.tensor([empty], dtype=torch.long, device=self.device)
        return self.module.get_encoder()(input_ids=source).last_hidden_state

    def _token_log_probs(
        self, encoded: torch.Tensor, ids: list[list[int]]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        rows, mask = self._padded(ids)
        return seq2seq_log_probs(self.module, encoded, rows), mask


def load(name: str, source: str, device: str = "auto", kind: str = "lm") -> LanguageScorer:
    """The language model in a folder, built in or on the hub, as a blind scorer.

    Raises InputError where it does not fit into memory, does not load, or is no language model.
    """
    folder = locate(source)
    config = read_config(folder)
    seq2seq = config.get("is_encoder_decoder", config.get("model_type") in ("t5", "bart", "mt5", "umt5"))
    scorer_class, auto = (
        (Seq2SeqScorer, "AutoModelForSeq2SeqLM") if seq2seq else (CausalScorer, "AutoModelForCausalLM")
    )
    return scorer_class(load_parts(name, folder, device, kind, auto, "AutoTokenizer"))
