"""BLIP's pair models, whose images have one size: what they prepare once, score in batches and adapt."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from core.groups import ImageRef
from core.scorers._cropping import processor_cropping
from core.scorers._groupwise import Groupwise
from core.scorers._input_loading import Vision, prepare
from core.scorers._pairwise import PairScorer
from core.scorers._pretrained import save_parts
from core.scorers.base import Prepared, ScoredRows, Trainable, by_block, collect, used_inputs


class BlipPairs(PairScorer, Trainable):
    """A vision tower, and whatever reads its states together with a caption."""

    @abstractmethod
    def _paired_scores(self, states: torch.Tensor, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Scores (b,) of image states (1 or b, t, d) with captions (b, length)."""

    def save(self, folder: Path) -> None:
        """Write the whole model; `load_scorer(folder)` reads it again."""
        save_parts(self.module, self.processor, folder)

    def prepare(
        self, images: Sequence[ImageRef], captions: Sequence[str], crop_factor: float | None = None
    ) -> Prepared:
        """Every image preprocessed and every caption tokenised, on the CPU, in the order given.

        More images than memory holds are read again whenever they are needed.
        """
        tokens, processor = self._caption_tokens(captions), self.processor.image_processor
        cropping = None if crop_factor is None else processor_cropping(processor, crop_factor, self.side)
        return prepare(
            images, self._opened, self._preprocess, self.image_batch, self.device, tokens, cropping
        )

    def _opened(self, images: Sequence[ImageRef]) -> list[Image.Image]:
        return [image.open(self.side) for image in images]

    def _preprocess(self, pictures: list[Image.Image]) -> Vision:
        return dict(self.processor.image_processor(pictures, return_tensors="pt"))

    def score_prepared(self, data: Prepared, pairs: np.ndarray, batch: int = 256) -> np.ndarray:
        """As `score`, on prepared input: float32 (p,). An image is encoded once, `batch` images at a time."""
        first, texts, index = used_inputs(pairs)
        with self._scoring():
            return collect(self._prepared_scores(data, first, texts, index, batch), len(index))

    def _prepared_scores(
        self, data: Prepared, first: np.ndarray, texts: np.ndarray, index: np.ndarray, batch: int
    ) -> Iterator[ScoredRows]:
        """Scores of blocks of images, whose pairs come in batches of captions of like length."""
        lengths = data.tokens["attention_mask"].sum(dim=1).numpy()
        prepared = data.blocks(torch.from_numpy(first), batch)
        blocks = ((self._states(block), len(block["pixel_values"])) for block in prepared)
        for states, rows, inside in by_block(blocks, index):
            order = np.argsort(lengths[texts[inside[:, 1]]], kind="stable")
            for start in range(0, len(order), self.caption_batch):
                part = order[start : start + self.caption_batch]
                words = self._words(data, torch.from_numpy(texts[inside[part, 1]]))
                scores = self._paired_scores(states[torch.from_numpy(inside[part, 0])], *words)
                yield rows[part], scores.float().cpu().numpy()

    def _words(self, data: Prepared, captions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Token ids and mask of some prepared captions, (b, length) each, cut to their longest, on the device."""
        ids, mask = (data.tokens[name][captions] for name in ("input_ids", "attention_mask"))
        longest = int(mask.sum(dim=1).max())
        return ids[:, :longest].to(self.device), mask[:, :longest].to(self.device)

    def _states(self, inputs: Vision) -> torch.Tensor:
        """The vision tower's states (b, t, d) of prepared images."""
        return self.module.vision_model(pixel_values=self._placed(inputs["pixel_values"])).last_hidden_state


class BlipGroups(BlipPairs, Groupwise):
    """The same, adapted to whole groups."""

    @abstractmethod
    def _read(self, states: torch.Tensor, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """What is learned of image states (1 or b, t, d) with captions (b, length): (b, ...)."""

    def _read_pairs(self, data: Prepared, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        distinct, rows = images.unique(return_inverse=True)
        return self._read(self._image_states(data, distinct)[rows], *self._words(data, captions))

    def _image_states(self, data: Prepared, images: torch.Tensor) -> torch.Tensor:
        """States (b, t, d) of distinct images (b,); those of a frozen tower that were kept are not computed again."""
        if self._kept is None:
            return self._states(data.images(images))
        new: dict[int, torch.Tensor] = {}
        if missing := self._kept.missing(images.tolist()):
            with self._scoring():
                new = dict(zip(missing, self._states(data.images(torch.tensor(missing))), strict=True))
            for image, states in new.items():
                self._kept.keep(image, states)
        found = self._kept.things | new
        return torch.stack([found[image] for image in images.tolist()])

    def _image_reader(self) -> list[torch.nn.Parameter]:
        return list(self.module.vision_model.parameters())
