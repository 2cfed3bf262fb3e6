"""Matching heads (ITM) and the contrastive scores of the same models (ITC): BLIP, BLIP-2's Q-Former, FLAVA (METHODS 4).

ITM: the logit of a match minus that of no match; its sigmoid is P(match), which saturates and would tie. ITC: cosine of
the embeddings, times FLAVA's own logit scale; BLIP and BLIP-2 keep none in their checkpoints, so their cosine is plain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional as F

from core.scorers.generative import BLIP_VOCABULARY
from core.scorers.pairwise import CAPTION_BATCH, ImageInput, ModelParts, PairScorer

# The released BLIP checkpoints were trained with [ENC] in the place of [CLS] wherever the text encoder sees an image.
# transformers leaves [CLS] there (its issues 22732 and 25629).
BLIP_ENC = 30_523


class Matcher(PairScorer):
    """A matching head over image and caption."""

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts)
        self.context = self._limit()

    def _read(self, captions: list[str]) -> Sequence[Any]:
        return self._ids(captions)

    def _limit(self) -> int:
        return self.config.text_config.max_position_embeddings


def probability(scores: torch.Tensor) -> torch.Tensor:
    """P(match) of ITM scores, in [0, 1]."""
    return torch.sigmoid(scores)


def _difference(logits: torch.Tensor) -> torch.Tensor:
    """Logits (b, 2) of no match and match -> their difference (b,)."""
    return logits[:, 1] - logits[:, 0]


class BlipMatcher(Matcher):
    """BlipForImageTextRetrieval with its matching head."""

    label = "BLIP ITM"

    def _look(self, image: ImageInput) -> torch.Tensor:
        return self.module.vision_model(**self._pixels(image)).last_hidden_state

    def _match(self, seen: torch.Tensor, read: list[list[int]]) -> torch.Tensor:
        ids, mask = self._padded(with_first_token(read, self.config))
        # One image, many captions: its keys and values are computed once and broadcast.
        out = self.module.text_encoder(input_ids=ids, attention_mask=mask, encoder_hidden_states=seen)
        return _difference(self.module.itm_head(out.last_hidden_state[:, 0]))


def with_first_token(ids: list[list[int]], config: Any) -> list[list[int]]:
    """Captions as BLIP's text encoder was trained to read them together with an image."""
    if config.text_config.vocab_size != BLIP_VOCABULARY:
        return ids
    return [[BLIP_ENC, *row[1:]] for row in ids]


class Blip2Matcher(Matcher):
    """Blip2ForImageTextRetrieval with its matching head: queries and caption in one Q-Former, logits averaged."""

    label = "BLIP-2 ITM"

    def _limit(self) -> int:
        return self.config.qformer_config.max_position_embeddings

    def _look(self, image: ImageInput) -> torch.Tensor:
        return self.module.vision_model(**self._pixels(image)).last_hidden_state

    def _match(self, seen: torch.Tensor, read: list[list[int]]) -> torch.Tensor:
        ids, mask = self._padded(read)
        b, queries = len(read), self.module.query_tokens.expand(len(read), -1, -1)
        ones = torch.ones(queries.shape[:2], dtype=mask.dtype, device=mask.device)
        out = self.module.qformer(
            query_embeds=self.module.embeddings(input_ids=ids, query_embeds=queries),
            query_length=queries.shape[1],
            attention_mask=torch.cat([ones, mask], dim=1),
            encoder_hidden_states=seen.expand(b, -1, -1),
        )
        return _difference(self.module.itm_head(out.last_hidden_state[:, : queries.shape[1]]).mean(dim=1))


class FlavaMatcher(Matcher):
    """FlavaForPreTraining with its matching head over the multimodal encoder; image and text are read unmasked."""

    label = "FLAVA ITM"

    def _read(self, captions: list[str]) -> Sequence[torch.Tensor]:
        """Projected states of each caption, (length, d) each, on the CPU: every caption is encoded once."""
        ids = self._ids(captions)
        found: list[torch.Tensor] = []
        for start in range(0, len(ids), CAPTION_BATCH):
            rows, mask = self._padded(ids[start : start + CAPTION_BATCH])
            out = self.module.flava.text_model(rows, attention_mask=mask, output_hidden_states=True)
            states = self.module.flava.text_to_mm_projection(out.hidden_states[-1]).cpu()
            found += [states[i, : len(row)] for i, row in enumerate(ids[start : start + CAPTION_BATCH])]
        return found

    def _look(self, image: ImageInput) -> torch.Tensor:
        out = self.module.flava.image_model(**self._pixels(image), output_hidden_states=True)
        return self.module.flava.image_to_mm_projection(out.hidden_states[-1])

    def _match(self, seen: torch.Tensor, read: list[torch.Tensor]) -> torch.Tensor:
        captions = torch.nn.utils.rnn.pad_sequence(read, batch_first=True).to(self.device)
        lengths = torch.tensor([len(states) for states in read], device=self.device)
        text = torch.arange(captions.shape[1], device=self.device) < lengths[:, None]
        whole = seen.shape[1] + int(self.module.flava.multimodal_model.use_cls_token)
        mask = torch.cat([torch.ones((len(read), whole), dtype=torch.bool, device=self.device), text], dim=1)
        both = torch.cat([seen.expand(len(read), -1, -1), captions], dim=1)
        out = self.module.flava.multimodal_model(both, attention_mask=mask.long())
        return _difference(self.module.itm_head(out.last_hidden_state))


class ContrastiveHead(Matcher):
    """ITC of the same models: every caption embedded once, every image once, their cosine (times a scale)."""

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts)
        self._image, self._text, self.label = _HEADS[self.config.model_type]

    def _limit(self) -> int:
        text = self.config.qformer_config if self.config.model_type == "blip-2" else self.config.text_config
        return text.max_position_embeddings

    def _read(self, captions: list[str]) -> Sequence[torch.Tensor]:
        ids = self._ids(captions)
        parts = [
            F.normalize(self._text(self.module, *self._padded(ids[start : start + CAPTION_BATCH])), dim=-1)
            for start in range(0, len(ids), CAPTION_BATCH)
        ]
        return list(torch.cat(parts).cpu())

    def _look(self, image: ImageInput) -> torch.Tensor:
        return F.normalize(self._image(self.module, self._pixels(image)), dim=-1)  # (views, d)

    def _match(self, seen: torch.Tensor, read: list[torch.Tensor]) -> torch.Tensor:
        # One dot product per pair: what else is in the batch must not decide how it rounds. BLIP-2 looks at an image
        # with many queries and takes the best.
        captions = torch.stack(read).to(self.device)
        cosine = (captions[:, None] * seen[None]).sum(dim=-1).max(dim=1).values
        scale = getattr(getattr(self.module, "flava", self.module), "logit_scale", None)
        return cosine if scale is None else cosine * scale.exp()


def _blip_image(module: Any, pixels: dict[str, torch.Tensor]) -> torch.Tensor:
    return module.vision_proj(module.vision_model(**pixels).last_hidden_state[:, 0])


def _blip_text(module: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return module.text_proj(module.text_encoder(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0])


def _blip2_image(module: Any, pixels: dict[str, torch.Tensor]) -> torch.Tensor:
    states = module.vision_model(**pixels).last_hidden_state
    out = module.qformer(query_embeds=module.query_tokens, encoder_hidden_states=states)
    return module.vision_projection(out.last_hidden_state)[0]


def _blip2_text(module: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    out = module.qformer(query_embeds=module.embeddings(input_ids=ids), query_length=0, attention_mask=mask)
    return module.text_projection(out.last_hidden_state[:, 0])


def _flava_image(module: Any, pixels: dict[str, torch.Tensor]) -> torch.Tensor:
    flava = getattr(module, "flava", module)
    return flava.image_projection(flava.image_model(**pixels).last_hidden_state[:, 0])


def _flava_text(module: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    flava = getattr(module, "flava", module)
    return flava.text_projection(flava.text_model(ids, attention_mask=mask).last_hidden_state[:, 0])


Embed = Callable[..., torch.Tensor]
# Model type -> how an image and how captions are embedded, and the name for people.
_HEADS: dict[str, tuple[Embed, Embed, str]] = {
    "blip": (_blip_image, _blip_text, "BLIP ITC"),
    "blip-2": (_blip2_image, _blip2_text, "BLIP-2 ITC"),
    "flava": (_flava_image, _flava_text, "FLAVA contrastive"),
}
