"""Blind language models: how likely a caption is as text, whatever the image (METHODS 4).

Score = mean over the caption's tokens of log P(t_k | t_<k), float32. A causal model starts from its begin (or end of
text) token; a sequence-to-sequence model writes the caption from an empty source, and what its tokenizer puts around a
text (T5 an end, BART a begin and an end) counts as it does in the model's own loss.
Source: [VGPT] section 4, P_LLM(t): BART, FLAN-T5, OPT.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from core.base.errors import InputError
from core.groups import ImageRef
from core.scorers.decoding import Prefix, read_prefix, text_log_probs
from core.scorers.generative import CaptionScorer, TokenLogProbs, seq2seq_log_probs
from core.scorers.hub import read_json
from core.scorers.pairwise import ImageInput, ModelParts, load_parts

# Captions per block of a stream.
_BLOCK = 1024


class LanguageScorer(CaptionScorer):
    """A captioner that never opens an image; what it reads before every caption, it reads once."""

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts)
        self.label = type(self.module).__name__
        self.context = getattr(self.config, "max_position_embeddings", None)
        self._begun: Any = None

    def _look(self, image: ImageInput | None = None) -> Any:
        if self._begun is None:
            self._begun = self._begin()
        return self._begun

    def _begin(self) -> Any:
        """What the model has read before any caption."""
        raise NotImplementedError

    def stream(
        self, images: Sequence[ImageRef], captions: Sequence[str], pairs: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """As `score`, in blocks of captions; each distinct one is scored once, and the images are never opened."""
        texts = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)[:, 1]
        order = np.argsort(texts, kind="stable")
        wanted, starts = np.unique(texts[order], return_index=True)
        bounds = np.append(starts, len(order))
        for start in range(0, len(wanted), _BLOCK):
            part = wanted[start : start + _BLOCK]
            with self._lock, torch.no_grad():
                read = self._read([captions[j] for j in part])
                values = self._scored(None, read, np.arange(len(part)))
            rows = order[bounds[start] : bounds[start + len(part)]]
            yield rows, values[np.searchsorted(part, texts[rows])]

    def caption_log_probs(self, captions: Sequence[str]) -> np.ndarray:
        """log P(t) of each caption, float32 (captions,)."""
        pairs = np.column_stack([np.zeros(len(captions), dtype=int), np.arange(len(captions))])
        return self.score([], list(captions), pairs)

    def blind_token_log_probs(self, caption: str, count: int = 1, seed: int = 0) -> TokenLogProbs:
        """Every token of a caption with its log P; `count` and `seed` play no part."""
        with self._lock, torch.no_grad():
            ids = self._read([caption])[0]
            values = self._token_log_probs(self._look(), [ids])[0][0].float().cpu().numpy()
        return TokenLogProbs(self._words(ids), values)

    def token_log_probs(self, image: ImageRef | None, caption: str) -> TokenLogProbs:
        """The same whatever the image."""
        return self.blind_token_log_probs(caption)


class CausalScorer(LanguageScorer):
    """GPT-2, OPT and any other causal language model."""

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts)
        begin = next(
            (t for t in (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id) if t is not None), None
        )
        if begin is None:
            raise InputError(
                f"{self.name} has no begin token, so its first word has no probability; use another."
            )
        self.begin = int(begin)
        if self.context:
            self.context -= 1

    def _read(self, captions: list[str]) -> list[list[int]]:
        """Tokens after the begin token, which is read beforehand; an end token, where one is written, counts."""
        return [ids[1:] if ids[0] == self.begin and len(ids) > 1 else ids for ids in self._ids(captions)]

    def _begin(self) -> Prefix:
        return read_prefix(self.module, {"input_ids": torch.tensor([[self.begin]], device=self.device)})

    def _token_log_probs(self, seen: Prefix, ids: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        rows, mask = self._padded(ids)
        return text_log_probs(self.module, seen, rows), mask


class Seq2SeqScorer(LanguageScorer):
    """BART, FLAN-T5 and any other sequence-to-sequence model, writing from an empty source."""

    def _read(self, captions: list[str]) -> list[list[int]]:
        return self._ids(captions)

    def _begin(self) -> torch.Tensor:
        empty = self.tokenizer("")["input_ids"] or [self.tokenizer.eos_token_id]
        source = torch.tensor([empty], dtype=torch.long, device=self.device)
        return self.module.get_encoder()(input_ids=source).last_hidden_state

    def _token_log_probs(self, seen: torch.Tensor, ids: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        rows, mask = self._padded(ids)
        return seq2seq_log_probs(self.module, seen, rows), mask


def load_language(name: str, folder: Path, device: str = "auto") -> LanguageScorer:
    """The language model in a folder as a blind scorer.

    Raises InputError where it does not fit into memory, does not load, or is no language model.
    """
    config = read_json(folder / "config.json")
    seq2seq = config.get("is_encoder_decoder", config.get("model_type") in ("t5", "bart", "mt5", "umt5"))
    made, auto = (
        (Seq2SeqScorer, "AutoModelForSeq2SeqLM") if seq2seq else (CausalScorer, "AutoModelForCausalLM")
    )
    return made(load_parts(name, folder, device, "lm", auto, "AutoTokenizer"))
