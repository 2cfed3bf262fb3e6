"""VQAScore: P("Yes") given the image and a question that quotes the caption (Lin et al. 2024).

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
from core.scorers._blip import BlipGroups
from core.scorers._chat import ChatLearner
from core.scorers._decoding import Prefix, reads_both_ways
from core.scorers._generative import QueryScorer
from core.scorers._groupwise import AnswerLearner
from core.scorers._matching_head import with_first_token
from core.scorers._pairwise import ImageInput, PairScorer, joining_space, widened
from core.scorers._pretrained import ModelParts, load_parts
from core.scorers.hub import locate
from core.scorers.model_folder import read_config
from core.scorers.score_kinds import QUESTION
from core.scorers.score_options import ScoreOptions


class Answerer(PairScorer):
    """VQAScore of any family: `_answer_logits` is what a family adds."""

    answers = ("Yes", "No")
    before = ""  # `_preface`, once the family is ready
    form = QUESTION  # what the model is asked about a caption
    _begun: tuple[list[int], str] | None = None  # how a chat model begins its answer, once that is known

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts)
        self.yes = self._answer_token(self.answers[0])

    def take(self, options: ScoreOptions) -> None:
        """Ask another question."""
        super().take(options)
        self.form, self._begun = options.get("question", self.form), None
        self.before = self._preface()
        self.yes = self._answer_token(self.answers[0])

    def question(self, caption: str) -> str:
        """What the model is asked about a caption."""
        return self.form.replace("{caption}", caption)

    def _preface(self) -> str:
        """What the answer follows, as far as its tokens depend on it."""
        return ""

    def _ended(self, text: str) -> str:
        """The text before an answer as the model reads it."""
        return text

    @property
    def no(self) -> int:
        """The first token of the other answer, which adaptation alone asks for."""
        return self._answer_token(self.answers[1])

    def _answer_token(self, answer: str) -> int:
        """The token of an answer after `before`: byte-level tokenizers tell " Yes" from "Yes"."""
        before = self._ended(self.before) if self.before else ""
        plain: dict[str, Any] = {"add_special_tokens": False}
        known = self.tokenizer(before, **plain)["input_ids"] if before else []
        text = f"{before}{joining_space(before, self.tokenizer)}{answer}"
        whole, alone = (self.tokenizer(t, **plain)["input_ids"] for t in (text, answer))
        found = whole[len(known) :] if whole[: len(known)] == known and len(whole) > len(known) else alone
        if len(found) != 1 or found[0] == self.tokenizer.unk_token_id:
            raise InputError(
                f"{self.name} has no single token for {answer!r}, so its answer has no probability at one place; "
                "use vgpt: instead."
            )
        return int(found[0])

    @abstractmethod
    def _answer_logits(self, encoded: Any, captions: list[Any]) -> torch.Tensor:
        """Logits of the answer's first token, (b, vocabulary)."""

    def _score_pairs(self, encoded: Any, captions: list[Any]) -> torch.Tensor:
        return self._answer_scores(self._answer_logits(encoded, captions))

    def _answer_scores(self, logits: torch.Tensor) -> torch.Tensor:
        """Scores (b,) from the logits of the answer's first token, (b, vocabulary)."""
        logits = logits.double()
        others = logits.clone()
        others[:, self.yes] = -torch.inf
        # log P / (1 - P): exact however close P is to 1
        odds = logits[:, self.yes] - others.logsumexp(dim=-1)
        return F.logsigmoid(odds) if self.kind == "vqa-log" else torch.sigmoid(odds)


class BlipAnswerer(Answerer, BlipGroups, AnswerLearner):
    """BlipForQuestionAnswering: the question is encoded with the image, a decoder answers."""

    answers = ("yes", "no")

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts)
        self.context = self.config.text_config.max_position_embeddings

    def _tokenize(self, captions: list[str]) -> Sequence[list[int]]:
        return with_first_token(self._ids([self.question(caption) for caption in captions]), self.config)

    def _answer_logits(self, encoded: torch.Tensor, captions: list[list[int]]) -> torch.Tensor:
        return self._read(encoded, *self._padded(captions))

    def _paired_scores(self, states: torch.Tensor, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self._answer_scores(self._read(states, ids, mask))

    def _read(self, states: torch.Tensor, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Logits of the answer's first token, (b, vocabulary)."""
        asked = self.module.text_encoder(input_ids=ids, attention_mask=mask, encoder_hidden_states=states)
        lengths, parts, places = mask.sum(dim=1), [], []
        # transformers loses the mask of BLIP's cross-attention, so its decoder would attend to the padding: it gets
        # questions of one length at a time, cut there.
        for length in lengths.unique():
            rows = (lengths == length).nonzero().squeeze(1)
            begin = torch.full((len(rows), 1), self.config.text_config.bos_token_id, device=self.device)
            own = asked.last_hidden_state[rows, : int(length)]
            out = self.module.text_decoder(input_ids=begin, encoder_hidden_states=own, use_cache=False)
            parts.append(widened(out.logits[:, -1]))
            places.append(rows)
        return torch.cat(parts)[torch.cat(places).argsort()]


class Blip2Answerer(QueryScorer, Answerer):
    """InstructBLIP, whose Q-Former reads the question too, and BLIP-2, asked in its papers' form."""

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts)
        self.frame = "{}" if self.instructed else "Question: {} Answer:"
        if self.decoder_only:
            self.before = self._preface()
            self.yes = self._answer_token(self.answers[0])

    def _preface(self) -> str:
        return self.frame.format(self.question("a")) if self.decoder_only else ""

    def _tokenize(self, captions: list[str]) -> Sequence[str]:
        return [self.frame.format(self.question(caption)) for caption in captions]

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


class ChatAnswerer(ChatLearner, Answerer, AnswerLearner):
    """Any image-text-to-text model: all up to the image is read once, then each caption's question."""

    asked = True

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts)
        self.before = self._preface()
        self.yes = self._answer_token(self.answers[0])

    def _preface(self) -> str:
        return self.prompt(self.question("a"))

    def _tokenize(self, captions: list[str]) -> Sequence[list[int]]:
        return self._tail([self.prompt(self.question(caption)) for caption in captions])

    def _beginning_of(self, prompt: str) -> tuple[list[int], str]:
        """What every question begins with is read once, too, but for the token that may merge with a caption."""
        head, end = super()._beginning_of(prompt)
        texts = [self.prompt(self.question(caption)) + end for caption in ("a", "7", "-")]
        found = self.tokenizer(texts, verbose=False, **self._special(texts))["input_ids"]
        same = sum(1 for _ in takewhile(lambda tokens: len(set(tokens)) == 1, zip(*found, strict=False)))
        return list(found[0][: max(len(head), same - 1)]), end

    def _head(self, image: ImageInput) -> dict[str, torch.Tensor]:
        return self._beginning(image, self.before, len(self._tail([self.before])[0]))

    def _learned(self, logits: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
        return widened(logits[-1])

    def _answer_logits(self, encoded: Prefix, captions: list[list[int]]) -> torch.Tensor:
        if len(captions) > 1 and reads_both_ways(encoded.inputs[0]):  # it would see the padding
            rows = encoded.chosen(len(captions))
            alone = zip(rows.split(1), captions, strict=True)
            return torch.cat([self._answer_logits(encoded._replace(rows=row), [ids]) for row, ids in alone])
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
