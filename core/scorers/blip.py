"""BLIP's retrieval model as something that can be adapted: its contrastive towers (ITC) and its matching head (ITM).

Losses are BLIP's own (Li et al. 2022, section 3.2): ITC contrasts the pairs of a batch, ITM tells them from the hardest
false pairs of the batch. Its checkpoints keep no temperature: scores are plain cosines, and the loss divides by the
configuration's initial one (1 / exp(logit_scale_init_value), 0.07 as released).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from copy import copy, deepcopy
from math import exp
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F

from core.groups import ImageRef
from core.scorers.base import Prepared
from core.scorers.contrastive import ContrastiveModel, Vision
from core.scorers.hub import saved_json
from core.scorers.lora import merged_state
from core.scorers.matching_head import BlipMatcher, with_first_token
from core.scorers.pairwise import CAPTION_BATCH, ModelParts, used_inputs


def _caption_states(module: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Embeddings (b, d) of captions alone."""
    return module.text_proj(module.text_encoder(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0])


def _contrast(images: torch.Tensor, captions: torch.Tensor, scale: float) -> torch.Tensor:
    """Symmetric cross-entropy of the scaled cosines of (b, d) and (b, d): a scalar."""
    logits = _cosines(images, captions) * scale
    own = torch.arange(len(logits), device=logits.device)
    return (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2


def _cosines(images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
    with torch.autocast(images.device.type, enabled=False):
        return F.normalize(images.float(), dim=-1) @ F.normalize(captions.float(), dim=-1).T


def _save(module: Any, processor: Any, folder: Path) -> None:
    """Write config, safetensors, preprocessing and tokenizer as `from_pretrained` reads them."""
    with saved_json(folder) as aside:
        module.save_pretrained(aside, state_dict=merged_state(module))
        processor.save_pretrained(aside)


class BlipTowers(ContrastiveModel):
    """ITC of BlipForImageTextRetrieval: the cosine of its image and caption embeddings; a `TwoTower`."""

    label = "BLIP ITC"

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts.name, parts.module, parts.device, parts.key)
        self.processor, self.tokenizer, self.config = (
            parts.processor,
            parts.processor.tokenizer,
            parts.module.config,
        )
        self.context = self.config.text_config.max_position_embeddings
        self.side = self.config.vision_config.image_size

    @property
    def scale(self) -> torch.Tensor:
        """No factor on the cosine."""
        return torch.zeros((), device=self.device)

    def _preprocess(self, images: list[Image.Image]) -> Vision:
        return dict(self.processor.image_processor(images, return_tensors="pt"))

    def _tokenize(self, captions: list[str]) -> torch.Tensor:
        settings: dict[str, Any] = {"truncation": True, "max_length": self.context, "padding": True}
        # Right padding by the pad token; `_lengths` finds it again.
        return self.tokenizer(captions, padding_side="right", return_tensors="pt", **settings)["input_ids"]

    def _token_count(self, caption: str) -> int:
        return len(self.tokenizer(caption, verbose=False)["input_ids"])

    def _lengths(self, ids: torch.Tensor) -> torch.Tensor:
        return (ids != self.tokenizer.pad_token_id).sum(dim=1)

    def _embed_images(self, inputs: Vision) -> torch.Tensor:
        return self.module.vision_proj(self.module.vision_model(**inputs).last_hidden_state[:, 0])  # type: ignore[operator]

    def _embed_captions(self, ids: torch.Tensor) -> torch.Tensor:
        return _caption_states(self.module, ids, (ids != self.tokenizer.pad_token_id).long())

    def contrast(self, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        """ITC loss of embeddings (b, d) and (b, d) that belong together row by row: a scalar."""
        return _contrast(images, captions, exp(self.config.logit_scale_init_value))

    def save(self, folder: Path) -> None:
        """Write the whole retrieval model; `load_scorer("itc:FOLDER")` reads it again."""
        _save(self.module, self.processor, folder)


class TrainableMatcher(BlipMatcher):
    """ITM of BlipForImageTextRetrieval, which can be adapted: a `Trainable`."""

    _adapted = False

    @property
    def key(self) -> str:
        """Content hash (hex) of weights, kind of score and settings; a copy's is that of its weights at this moment."""
        if not self._adapted:
            return super().key
        total = hashlib.sha256(f"{self.label} {self.context} {self.side}".encode())
        for name, tensor in sorted(self.module.state_dict().items()):
            total.update(f"{name} {tuple(tensor.shape)}".encode() + tensor.detach().cpu().numpy().tobytes())
        return total.hexdigest()

    def copy(self) -> Self:
        """An independent copy of the weights, in float32; tokenizer and preprocessing are shared."""
        twin = copy(self)
        twin.module, twin._adapted = deepcopy(self.module).float(), True
        return twin

    def save(self, folder: Path) -> None:
        """Write the whole retrieval model; `load_scorer(folder)` reads it again."""
        _save(self.module, self.processor, folder)

    def prepare(self, images: Sequence[ImageRef], captions: Sequence[str]) -> Prepared:
        """Every image preprocessed and every caption tokenised, on the CPU, in the order given."""
        pixels = torch.cat([self._process(image)["pixel_values"] for image in self._opened(list(images))])  # type: ignore[arg-type]
        with self._lock:
            ids, mask = (part.cpu() for part in self._padded(self._ids(list(captions))))
        return Prepared(pixels, {"input_ids": ids, "attention_mask": mask})

    @torch.no_grad()
    def score_prepared(self, data: Prepared, pairs: np.ndarray, batch: int = 256) -> np.ndarray:
        """As `score`, on prepared input: float32 (p,). An image is encoded once, `batch` images at a time."""
        wanted, texts, index = used_inputs(pairs, len(data.pixels), len(data.tokens["input_ids"]))
        training = self.module.training
        self.module.eval()
        scores = np.empty(len(index), dtype=np.float32)
        for start in range(0, len(wanted), batch):
            pixels = data.pixels[torch.from_numpy(wanted[start : start + batch])]
            seen = self.module.vision_model(pixel_values=self._placed(pixels)).last_hidden_state
            inside = np.flatnonzero((index[:, 0] >= start) & (index[:, 0] < start + batch))
            for rows in self._blocks(data, inside, texts[index[inside, 1]]):
                told = torch.from_numpy(texts[index[rows, 1]])
                logits = self._logits(
                    seen[torch.from_numpy(index[rows, 0] - start)], *self._words(data, told)
                )
                scores[rows] = logits.float().cpu().numpy()
        self.module.train(training)
        return scores

    def _blocks(self, data: Prepared, rows: np.ndarray, captions: np.ndarray) -> Iterator[np.ndarray]:
        """Pairs in batches whose captions are of like length."""
        lengths = data.tokens["attention_mask"].sum(dim=1).numpy()[captions]
        order = rows[np.argsort(lengths, kind="stable")]
        for start in range(0, len(order), CAPTION_BATCH):
            yield order[start : start + CAPTION_BATCH]

    def _words(self, data: Prepared, captions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Token ids and mask of some prepared captions, (b, length) each, cut to their longest, on the device."""
        mask = data.tokens["attention_mask"][captions]
        longest = int(mask.sum(dim=1).max())
        ids = data.tokens["input_ids"][captions]
        return ids[:, :longest].to(self.device), mask[:, :longest].to(self.device)

    def _logits(self, seen: torch.Tensor, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Logit of a match minus that of none, (b,), of image states (b, t, d) with captions (b, length)."""
        ids = torch.tensor(with_first_token(ids.tolist(), self.config), device=self.device)
        out = self.module.text_encoder(input_ids=ids, attention_mask=mask, encoder_hidden_states=seen)
        no, yes = self.module.itm_head(out.last_hidden_state[:, 0]).unbind(-1)
        return yes - no

    def loss(
        self,
        data: Prepared,
        images: torch.Tensor,
        captions: torch.Tensor,
        augment: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> torch.Tensor:
        """ITC plus ITM over matched pairs (images[b], captions[b]), int64 (b,): a scalar.

        ITM is the binary cross-entropy over the b true pairs and two false ones for each: a caption drawn for its
        image and an image for its caption, likelier the more alike ITC finds them. A batch of one pair has no false
        one and ITM alone of the true one.
        """
        pixels = self._placed(data.pixels[images])
        states = self.module.vision_model(
            pixel_values=pixels if augment is None else augment(pixels)
        ).last_hidden_state
        ids, mask = self._words(data, captions)
        seen, told = self.module.vision_proj(states[:, 0]), _caption_states(self.module, ids, mask)
        scale = exp(self.config.logit_scale_init_value)
        own = torch.arange(len(ids), device=self.device)
        wrong = (_cosines(seen, told) * scale).detach()
        wrong = wrong.masked_fill(torch.eye(len(own), dtype=torch.bool, device=self.device), float("-inf"))
        i, j = own, own
        if len(own) > 1:
            i, j = torch.cat([own, own, _draw(wrong.T)]), torch.cat([own, _draw(wrong), own])
        match = F.binary_cross_entropy_with_logits(
            self._logits(states[i], ids[j], mask[j]).float(), (i == j).float()
        )
        return _contrast(seen, told, scale) + match


def _draw(logits: torch.Tensor) -> torch.Tensor:
    """One column per row with the softmax's probabilities."""
    return torch.multinomial(logits.softmax(dim=-1), 1).squeeze(1)
