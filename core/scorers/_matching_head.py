"""Matching heads (ITM) of BLIP, BLIP-2's Q-Former and FLAVA, and BLIP-2's contrastive score.

ITM: the logit of a match minus that of no match; its sigmoid is P(match), which saturates and would tie. ITC of BLIP
and FLAVA, which have plain towers, is in `_huggingface.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import Any

import torch
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from core.base.errors import InputError
from core.base.public_mode import is_public
from core.scorers import _huggingface
from core.scorers._blip import BlipPairs
from core.scorers._generative import BLIP_VOCABULARY
from core.scorers._huggingface import blip_caption_embeddings, blip_contrast
from core.scorers._pairwise import ImageInput, PairScorer
from core.scorers._pretrained import ModelParts, load_parts
from core.scorers._similarity import cosines
from core.scorers.base import Prepared, Scorer
from core.scorers.hub import locate
from core.scorers.model_folder import read_config

# The released BLIP checkpoints were trained with [ENC] in the place of [CLS] wherever the text encoder sees an image.
# transformers leaves [CLS] there (its issues 22732 and 25629).
BLIP_ENC = 30_523
_PUBLIC_PAIRS = 96  # of a training batch's, three for each of its images, in memory at a time


def with_first_token(ids: list[list[int]], config: Any) -> list[list[int]]:
    """Captions as BLIP's text encoder was trained to read them together with an image."""
    if config.text_config.vocab_size != BLIP_VOCABULARY:
        return ids
    return [[BLIP_ENC, *row[1:]] for row in ids]


class Matcher(PairScorer):
    """A matching head over image and caption."""

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts)
        text = self.config.qformer_config if self.config.model_type == "blip-2" else self.config.text_config
        self.context = text.max_position_embeddings

    def _tokenize(self, captions: list[str]) -> Sequence[Any]:
        return self._ids(captions)


def _difference(logits: torch.Tensor) -> torch.Tensor:
    """Logits (b, 2) of no match and match -> their difference (b,)."""
    return logits[:, 1] - logits[:, 0]


class BlipMatcher(Matcher, BlipPairs):
    """ITM of BlipForImageTextRetrieval; its losses are BLIP's own (Li et al. 2022, section 3.2)."""

    def _score_pairs(self, encoded: torch.Tensor, captions: list[list[int]]) -> torch.Tensor:
        # One image, many captions: its keys and values are computed once and broadcast.
        return self._paired_scores(encoded, *self._padded(captions))

    def _paired_scores(self, states: torch.Tensor, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Logit of a match minus that of none, (b,), of image states (1 or b, t, d) with captions (b, length)."""
        ids = torch.tensor(with_first_token(ids.tolist(), self.config), device=self.device)
        out = self.module.text_encoder(input_ids=ids, attention_mask=mask, encoder_hidden_states=states)
        return _difference(self.module.itm_head(out.last_hidden_state[:, 0]))

    def loss(self, data: Prepared, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        """ITC plus ITM over matched pairs (images[b], captions[b]), int64 (b,): a scalar.

        ITM is the binary cross-entropy over the b true pairs and two false ones for each: a caption drawn for its
        image and an image for its caption, likelier the more alike ITC finds them. A batch of one pair has no false
        one and ITM alone of the true one.
        """
        states = self._states(data.images(images))
        ids, mask = self._words(data, captions)
        first = self.module.vision_proj(states[:, 0])
        second = blip_caption_embeddings(self.module, ids, mask)
        diagonal = torch.arange(len(ids), device=self.device)
        i, j = diagonal, diagonal
        if len(diagonal) > 1:
            with torch.autocast(self.device.type, enabled=False):
                alike = (cosines(first, second) * exp(self.config.logit_scale_init_value)).detach()
            alike.fill_diagonal_(float("-inf"))
            i, j = (
                torch.cat([diagonal, diagonal, _draw(alike.T)]),
                torch.cat([diagonal, _draw(alike), diagonal]),
            )
        logits = self._training_logits(states, ids, mask, i, j)
        match = F.binary_cross_entropy_with_logits(logits.float(), (i == j).float())
        return blip_contrast(self.config, first, second) + match

    def _training_logits(
        self, states: torch.Tensor, ids: torch.Tensor, mask: torch.Tensor, i: torch.Tensor, j: torch.Tensor
    ) -> torch.Tensor:
        """Logits (p,) of images i (p,) with captions j (p,).

        On a public server few pairs at a time, computed once more for the gradient: a quarter slower, and a quarter of
        the memory of a run less.
        """

        def logits(i: torch.Tensor, j: torch.Tensor) -> torch.Tensor:
            return self._paired_scores(states[i], ids[j], mask[j])

        if not is_public():
            return logits(i, j)
        parts = zip(i.split(_PUBLIC_PAIRS), j.split(_PUBLIC_PAIRS), strict=True)
        return torch.cat([checkpoint(logits, *part, use_reentrant=False) for part in parts])


def _draw(logits: torch.Tensor) -> torch.Tensor:
    """One column per row with the softmax's probabilities."""
    return torch.multinomial(logits.softmax(dim=-1), 1).squeeze(1)


class Blip2Matcher(Matcher):
    """Blip2ForImageTextRetrieval with its matching head: queries and caption in one Q-Former, logits averaged."""

    def _score_pairs(self, encoded: torch.Tensor, captions: list[list[int]]) -> torch.Tensor:
        ids, mask = self._padded(captions)
        queries = self.module.query_tokens.expand(len(ids), -1, -1)
        ones = torch.ones(queries.shape[:2], dtype=mask.dtype, device=mask.device)
        out = self.module.qformer(
            query_embeds=self.module.embeddings(input_ids=ids, query_embeds=queries),
            query_length=queries.shape[1],
            attention_mask=torch.cat([ones, mask], dim=1),
            encoder_hidden_states=encoded.expand(len(ids), -1, -1),
        )
        return _difference(self.module.itm_head(out.last_hidden_state[:, : queries.shape[1]]).mean(dim=1))


class Blip2Contrast(Matcher):
    """ITC of Blip2ForImageTextRetrieval: every caption and every image embedded once, their plain cosine."""

    def _tokenize(self, captions: list[str]) -> list[torch.Tensor]:
        ids = self._ids(captions)
        features: list[torch.Tensor] = []
        for start in range(0, len(ids), self.caption_batch):
            rows, mask = self._padded(ids[start : start + self.caption_batch])
            embeddings = self.module.embeddings(input_ids=rows)
            out = self.module.qformer(query_embeds=embeddings, query_length=0, attention_mask=mask)
            states = self.module.text_projection(out.last_hidden_state[:, 0])
            features += F.normalize(states, dim=-1).cpu()
        return features

    def _encode_image(self, image: ImageInput) -> torch.Tensor:
        states = super()._encode_image(image)
        out = self.module.qformer(query_embeds=self.module.query_tokens, encoder_hidden_states=states)
        return F.normalize(self.module.vision_projection(out.last_hidden_state)[0], dim=-1)  # (queries, d)

    def _score_pairs(self, encoded: torch.Tensor, captions: list[torch.Tensor]) -> torch.Tensor:
        # One dot product per pair: what else is in the batch must not decide how it rounds. The best query counts.
        texts = torch.stack(captions).to(self.device)
        return (texts[:, None] * encoded[None]).sum(dim=-1).max(dim=1).values


class FlavaMatcher(Matcher):
    """FlavaForPreTraining with its matching head over the multimodal encoder; image and text are read unmasked."""

    def _tokenize(self, captions: list[str]) -> Sequence[torch.Tensor]:
        """Projected states of each caption, (length, d) each, on the CPU: every caption is encoded once."""
        ids = self._ids(captions)
        encoded: list[torch.Tensor] = []
        for start in range(0, len(ids), self.caption_batch):
            part = ids[start : start + self.caption_batch]
            rows, mask = self._padded(part)
            out = self.module.flava.text_model(rows, attention_mask=mask, output_hidden_states=True)
            states = self.module.flava.text_to_mm_projection(out.hidden_states[-1]).cpu()
            encoded += [states[i, : len(row)] for i, row in enumerate(part)]
        return encoded

    def _encode_image(self, image: ImageInput) -> torch.Tensor:
        out = self.module.flava.image_model(**self._pixels(image), output_hidden_states=True)
        return self.module.flava.image_to_mm_projection(out.hidden_states[-1])

    def _score_pairs(self, encoded: torch.Tensor, captions: list[torch.Tensor]) -> torch.Tensor:
        texts = torch.nn.utils.rnn.pad_sequence(captions, batch_first=True).to(self.device)
        lengths = torch.tensor([len(states) for states in captions], device=self.device)
        text = torch.arange(texts.shape[1], device=self.device) < lengths[:, None]
        patches = encoded.shape[1] + int(self.module.flava.multimodal_model.use_cls_token)
        mask = F.pad(text, (patches, 0), value=True)
        both = torch.cat([encoded.expand(len(captions), -1, -1), texts], dim=1)
        out = self.module.flava.multimodal_model(both, attention_mask=mask.long())
        return _difference(self.module.itm_head(out.last_hidden_state))


# Model type and kind -> class, and the class of transformers that has both heads.
_CLASSES: dict[tuple[str, str], tuple[type[Matcher], str]] = {
    ("blip", "itm"): (BlipMatcher, "BlipForImageTextRetrieval"),
    ("blip-2", "itm"): (Blip2Matcher, "Blip2ForImageTextRetrieval"),
    ("blip-2", "itc"): (Blip2Contrast, "Blip2ForImageTextRetrieval"),
    ("flava", "itm"): (FlavaMatcher, "FlavaForPreTraining"),
}


def load(name: str, source: str, device: str = "auto", kind: str = "itm") -> Scorer:
    """ITM (`kind` "itm") or ITC ("itc") of a BLIP, BLIP-2 or FLAVA model in a folder, built in or on the hub.

    Raises InputError where the model has no matching head, does not fit into memory or does not load.
    """
    folder = locate(source)
    config = read_config(folder)
    model = str(config.get("model_type", ""))
    if model not in ("blip", "blip-2", "flava"):
        advice = (
            "whose one score needs no itc: before its name" if kind == "itc" else "without a matching head"
        )
        raise InputError(
            f"The model in {folder} is of type {model!r}, {advice}; {kind}: takes a BLIP, BLIP-2 or FLAVA one."
        )
    if kind == "itc" and model != "blip-2":
        return _huggingface.load(name, source, device, kind)
    if "FlavaModel" in (config.get("architectures") or ()):
        raise InputError(f"The FLAVA model in {folder} has no matching head; use itc:{name} instead.")
    scorer_class, auto = _CLASSES[model, kind]
    return scorer_class(load_parts(name, folder, device, kind, auto))
