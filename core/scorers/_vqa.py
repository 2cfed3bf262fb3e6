"""VQAScore: P("Yes") given the image and a question that quotes the caption (METHODS 4; Lin et al. 2024).

Softmax over the whole vocabulary at the answer's first place, in float64. Kind `vqa` is that probability in [0, 1],
as published; `vqa-log` its logarithm, which stays apart where probabilities near 1 round to the same float32.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import torch
from torch.nn import functional as F

from core.base.errors import InputError
from core.scorers._decoding import ChatScorer, Prefix
from core.scorers._generative import QueryScorer
from core.scorers._matching_head import with_first_token
from core.scorers._pairwise import ImageInput, PairScorer, joining_space
from core.scorers._pretrained import ModelParts, load_parts
from core.scorers.hub import locate
from core.scorers.model_folder import read_config
from core.scorers.score_kinds import QUESTION


def question(caption: str) -> str:
    """What the model is asked about a caption."""
    return QUESTION.format(caption=caption)


class Answerer(PairScorer):
    """VQAScore of any family: `_answer_logits` is what a family adds."""

    answer = "Yes"

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts)
        self.yes = self._answer_token("")

    def _answer_token(self, before: str) -> int:
        """The first token of the answer where it follows a text: byte-level tokenizers tell " Yes" from "Yes"."""
        plain: dict[str, Any] = {"add_special_tokens": False}
        known = self.tokenizer(before, **plain)["input_ids"] if before else []
        text = f"{before}{joining_space(before, self.tokenizer)}{self.answer}"
        whole, alone = (self.tokenizer(t, **plain)["input_ids"] for t in (text, self.answer))
        found = whole[len(known) :] if whole[: len(known)] == known and len(whole) > len(known) else alone
        if not found or found[0] == self.tokenizer.unk_token_id:
            raise InputError(f"{self.name} has no token for {self.answer!r}; it cannot answer the question.")
        return int(found[0])

    @abstractmethod
    def _answer_logits(self, encoded: Any, captions: list[Any]) -> torch.Tensor:
        """Logits of the answer's first token, (b, vocabulary)."""

    def _score_pairs(self, encoded: Any, captions: list[Any]) -> torch.Tensor:
        logits = self._answer_logits(encoded, captions).double()
        others = logits.clone()
        others[:, self.yes] = -torch.inf
        # log P / (1 - P): exact however close P is to 1
        odds = logits[:, self.yes] - others.logsumexp(dim=-1)
        return F.logsigmoid(odds) if self.kind == "vqa-log" else torch.sigmoid(odds)


class BlipAnswerer(Answerer):
    """BlipForQuestionAnswering: the question is encoded with the image, a decoder answers."""

    answer = "yes"

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts)
        self.context = self.config.text_config.max_position_embeddings

    def _tokenize(self, captions: list[str]) -> Sequence[list[int]]:
        return with_first_token(self._ids([question(caption) for caption in captions]), self.config)

    def _answer_logits(self, encoded: torch.Tensor, captions: list[list[int]]) -> torch.Tensor:
        ids, mask = self._padded(captions)
        asked = self.module.text_encoder(input_ids=ids, attention_mask=mask, encoder_hidden_states=encoded)
        lengths = mask.sum(dim=1)
        logits = torch.empty((len(captions), self.config.text_config.vocab_size), device=self.device)
        # transformers loses the mask of BLIP's cross-attention, so its decoder would attend to the padding: it gets
        # questions of one length at a time, cut there.
        for length in lengths.unique():
            rows = lengths == length
            begin = torch.full((int(rows.sum()), 1), self.config.text_config.bos_token_id, device=self.device)
            states = asked.last_hidden_state[rows, : int(length)]
            out = self.module.text_decoder(input_ids=begin, encoder_hidden_states=states, use_cache=False)
            logits[rows] = out.logits[:, -1].float()
        return logits


class Blip2Answerer(QueryScorer, Answerer):
    """InstructBLIP, whose Q-Former reads the question too, and BLIP-2, asked in its papers' form."""

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts)
        self.form = "{}" if self.instructed else "Question: {} Answer:"
        if self.decoder_only:
            self.yes = self._answer_token(self.form.format(question("a")))

    def _tokenize(self, captions: list[str]) -> Sequence[str]:
        return [self.form.format(question(caption)) for caption in captions]

    def _answer_logits(self, encoded: torch.Tensor, captions: list[str]) -> torch.Tensor:
        ids, mask = self._padded(self.tokenizer(captions)["input_ids"])
        words = self.language.get_input_embeddings()(ids)
        features = self._query_features(encoded, captions).to(words.dtype).expand(len(captions), -1, -1)
        embeds = torch.cat([features, words], dim=1)
        mask = torch.cat([torch.ones_like(mask[:, :1]).expand(-1, features.shape[1]), mask], dim=1)
        if self.decoder_only:
            logits = self.language(inputs_embeds=embeds, attention_mask=mask, use_cache=False).logits
            return logits[torch.arange(len(captions)), mask.sum(dim=1) - 1]
        begin = torch.full_like(ids[:, :1], self.language.config.decoder_start_token_id)
        out = self.language(
            inputs_embeds=embeds, attention_mask=mask, decoder_input_ids=begin, use_cache=False
        )
        return out.logits[:, -1]


class ChatAnswerer(ChatScorer, Answerer):
    """Any image-text-to-text model: all up to the image is read once, then each caption's question."""

    asked = True

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts)
        self.yes = self._answer_token(self.prompt(question("a")))

    def _tokenize(self, captions: list[str]) -> Sequence[list[int]]:
        return self._tail([self.prompt(question(caption)) for caption in captions])

    def _beginning_of(self, prompt: str) -> tuple[list[int], str]:
        """What every question begins with is read once, too, but for the token that may merge with a caption."""
        head, end = super()._beginning_of(prompt)
        texts = [self.prompt(question(caption)) + end for caption in ("a", "7", "-")]
        found = self.tokenizer(texts, verbose=False, **self._special(texts))["input_ids"]
        same = sum(1 for _ in takewhile(lambda tokens: len(set(tokens)) == 1, zip(*found, strict=False)))
        return list(found[0][: max(len(head), same - 1)]), end

    def _head(self, image: ImageInput) -> dict[str, torch.Tensor]:
        prompt = self.prompt(question("a"))
        return self._beginning(image, prompt, len(self._tail([prompt])[0]))

    def _answer_logits(self, encoded: Prefix, captions: list[list[int]]) -> torch.Tensor:
        ids, mask = self._padded(captions)
        return self._follow(self.module, encoded, ids)[torch.arange(len(captions)), mask.sum(dim=1) - 1]


_CLASSES: dict[str, tuple[type[Answerer], str]] = {
    "blip": (BlipAnswerer, "BlipForQuestionAnswering"),
    "blip-2": (Blip2Answerer, "Blip2ForConditionalGeneration"),
    "instructblip": (Blip2Answerer, "InstructBlipForConditionalGeneration"),
}


def load(name: str, source: str, device: str = "auto", kind: str = "vqa") -> Answerer:
    """VQAScore of a model in a folder, built in or on the hub: BLIP-VQA, InstructBLIP, BLIP-2 or a chat model.

    kind : "vqa" for P("Yes"), "vqa-log" for its logarithm. Raises InputError where the model does not fit into memory,
    does not load or cannot be asked.
    """
    folder = locate(source)
    model = str(read_config(folder).get("model_type", ""))
    made, auto = _CLASSES.get(model, (ChatAnswerer, "AutoModelForImageTextToText"))
    return made(load_parts(name, folder, device, kind, auto))
