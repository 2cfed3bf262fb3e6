"""Image-text-to-text models adapted to groups: an image is encoded once, and read with every caption by itself."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from core.base.errors import InputError
from core.groups import ImageRef
from core.scorers._decoding import ChatScorer, last_logits, longer
from core.scorers._groupwise import Groupwise, Keeper
from core.scorers._input_loading import Vision
from core.scorers._pretrained import save_parts
from core.scorers.base import Prepared, by_block, collect, used_inputs

_NO_SIZE = "The pictures of this model differ in size as it reads them; set augmentation to 'none'."


@dataclass(kw_only=True)
class _ChatInputs(Prepared):
    """Prepared input of images whose tensors differ in size: what is read of one before its captions, by name."""

    load: Callable[[int], Vision]

    def images(self, index: torch.Tensor) -> Vision:
        """Of one image alone."""
        if len(index) != 1:  # which only augmentation asks for
            raise InputError(_NO_SIZE)
        return self.load(int(index))


class ChatLearner(ChatScorer, Groupwise):
    """A chat model that adapts. What is learned of a caption is read without a kept prefix: that has no gradient."""

    @abstractmethod
    def _learned(self, logits: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
        """What is learned of one caption's tokens (length,), from the logits (length + 1, vocabulary) that predict
        them and what follows."""

    def save(self, folder: Path) -> None:
        """Write the whole model; `load_scorer(folder)` reads it again."""
        save_parts(self.module, self.processor, folder)

    def prepare(
        self, images: Sequence[ImageRef], captions: Sequence[str], crop_factor: float | None = None
    ) -> Prepared:
        """Every caption tokenised; an image is opened when it is first asked for, and kept where there is room."""
        if crop_factor is not None:
            raise InputError(_NO_SIZE)
        kept = Keeper()

        def load(index: int) -> Vision:
            if kept.missing([index]):
                image = images[index].open(self.side)
                with self._lock, self._prompted():
                    head = self._head(image)
                inputs = {name: t.cpu() if isinstance(t, torch.Tensor) else t for name, t in head.items()}
                kept.keep(index, inputs)
                return inputs
            return kept.things[index]

        return _ChatInputs(torch.empty((len(images), 0)), self._caption_tokens(captions), load=load)

    def score_prepared(self, data: Prepared, pairs: np.ndarray, batch: int = 256) -> np.ndarray:
        """As `score`, on prepared input: float32 (p,). An image is read once, a few of them at a time."""
        first, texts, index = used_inputs(pairs)
        captions, size = [self._row(data, int(text)).tolist() for text in texts], min(batch, self.image_batch)
        starts = range(0, len(first), size)
        parts = (first[start : start + size].tolist() for start in starts)
        blocks = (([self._inputs(data, image) for image in part], len(part)) for part in parts)
        return collect(
            (
                (rows, self._score_heads(heads, captions, part))
                for heads, rows, part in by_block(blocks, index)
            ),
            len(index),
        )

    def _inputs(self, data: Prepared, image: int) -> dict[str, Any]:
        found = data.images(torch.tensor([image]))
        return {name: self._placed(t) if isinstance(t, torch.Tensor) else t for name, t in found.items()}

    def _row(self, data: Prepared, caption: int) -> torch.Tensor:
        """The token ids (length,) of a prepared caption."""
        return data.tokens["input_ids"][caption, : int(data.tokens["attention_mask"][caption].sum())]

    def _read_pairs(self, data: Prepared, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        inputs = {image: self._encoded(data, image) for image in images.unique().tolist()}
        pairs = zip(images.tolist(), captions.tolist(), strict=True)
        return torch.stack([self._read_one(inputs[i], self._row(data, j)) for i, j in pairs])

    def _read_one(self, inputs: dict[str, Any], row: torch.Tensor) -> torch.Tensor:
        row, start = row.to(self.device), inputs["input_ids"].shape[1]
        whole = {name: longer(name, part, start, row, not self.asked) for name, part in inputs.items()}
        out = self.module(**whole, use_cache=False, **last_logits(self.module, len(row) + 1))
        return self._learned(out.logits[0, -len(row) - 1 :], row)

    def _encoded(self, data: Prepared, image: int) -> dict[str, Any]:
        """The inputs of an image, its encoding in the place of its pixels where the model takes one."""
        inputs = self._inputs(data, image)
        encoder = getattr(getattr(self.module, "model", None), "get_image_features", None)
        if encoder is None or "mm_encoder_outputs" not in inspect.signature(self.module.forward).parameters:
            return inputs
        known = inspect.signature(encoder).parameters
        encode = partial(
            encoder, return_dict=True, **{name: t for name, t in inputs.items() if name in known}
        )
        if self._kept is None:
            found = encode()
        elif self._kept.missing([image]):
            with self._scoring():
                found = encode()
            self._kept.keep(image, found)
        else:
            found = self._kept.things[image]
        others = {name: part for name, part in inputs.items() if "pixel_values" not in name}
        return {**others, "mm_encoder_outputs": {"image": found}}

    def _image_reader(self) -> list[torch.nn.Parameter]:
        language = self.module.get_decoder(), self.module.get_output_embeddings()
        written = {id(p) for part in language for p in part.parameters()}
        return [p for p in self.module.parameters() if id(p) not in written]
