"""Models that read image and caption together, or caption alone: what they share.

Each image is encoded once and meets its captions in batches; each caption is tokenised once. Streams image by image.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F

from core.base.errors import InputError
from core.groups import ImageRef
from core.scorers._input_loading import prefetch, warn_of_cut_captions
from core.scorers._pretrained import ModelParts
from core.scorers.base import ModelScorer
from core.scorers.gradient_caching import ScoringBatchSearch
from core.scorers.null_images import NullImage
from core.scorers.score_options import ScoreOptions

# An image as a model gets it: opened, or null and thus drawn as pixels.
ImageInput = Image.Image | NullImage


class PairScorer(ModelScorer):
    """A `Scorer` that reads pairs. A family says how captions and images are encoded and how a pair is scored."""

    caption_batch = 32  # captions of one image that are scored at once
    _options = ScoreOptions()

    def __init__(self, parts: ModelParts) -> None:
        self.name, self.module, self.processor, self.device, self._key, self.kind = parts
        self.config = self.module.config
        self.tokenizer = getattr(self.processor, "tokenizer", self.processor)
        size = getattr(getattr(self.config, "vision_config", None), "image_size", None)
        self.side = size if isinstance(size, int) else None
        # Tokenizers keep their padding as state, and some models the last image's positions: one thread at a time.
        self._lock = Lock()

    def take(self, options: ScoreOptions) -> None:
        """Change a twin by the options of its score; what they change is up to the family."""
        own, self._options = self._key, options
        if options.batch is not None:
            self.caption_batch = self.image_batch = options.batch

        def key() -> str | None:
            found = own() if callable(own) else own
            return found and options.key(found)

        self._key = key

    def _settings(self) -> str:
        return " ".join(
            [
                super()._settings(),
                str(self.kind),
                *(f"{name}={value}" for name, value in sorted(self._options.items())),
            ]
        )

    @abstractmethod
    def _tokenize(self, captions: list[str]) -> Sequence[Any]:
        """What the model needs of each caption, in order; called once for all of them."""

    def _texts(self, captions: list[str]) -> Sequence[Any]:
        """The same with the options of the score."""
        return self._tokenize(captions)

    def _encode_image(self, image: ImageInput) -> Any:
        """The image's encoding, whatever the captions; here the vision tower's states (1, patches, d)."""
        return self.module.vision_model(**self._pixels(image)).last_hidden_state

    @abstractmethod
    def _score_pairs(self, encoded: Any, captions: list[Any]) -> torch.Tensor:
        """Scores of one encoded image with a batch of captions, float (b,)."""

    def _encode_captions(self, captions: list[str]) -> Sequence[Any]:
        with self._scoring():
            return self._texts(captions)

    def _encode_images(self, images: Sequence[ImageRef]) -> Iterator[tuple[Any, int]]:
        """The images opened, each ahead of the one before it; they are encoded where they are scored."""

        def opened(part: Sequence[ImageRef]) -> ImageInput:
            return part[0] if isinstance(part[0], NullImage) else part[0].open(self.side)

        return ((image, 1) for image in prefetch(images, opened, 1))

    def _score_block(self, images: Any, captions: Sequence[Any], index: np.ndarray) -> np.ndarray:
        """Scores of one image with some captions; captions of like length share a batch."""
        texts = index[:, 1]
        lengths = [len(captions[j]) if hasattr(captions[j], "__len__") else 0 for j in texts]
        order = np.argsort(lengths, kind="stable")
        values = np.empty(len(texts), dtype=np.float32)
        search = ScoringBatchSearch("captions", self.caption_batch)
        with self._scoring():
            encoded = self._encode_image(images)  # type: ignore[arg-type]

            def score(size: int | None) -> None:
                step = min(size or len(order), self._room(encoded))
                for start in range(0, len(order), step):
                    part = order[start : start + step]
                    scores = self._score_pairs(encoded, [captions[texts[p]] for p in part])
                    values[part] = scores.float().cpu().numpy()

            search.run(score, min(self._room(encoded), max(1, len(order))))
        self.caption_batch = search.size or self.caption_batch  # what fits is kept for the images to come
        return values

    def _room(self, encoded: Any) -> int:
        """Captions per batch for this image at most."""
        return self.caption_batch

    @contextmanager
    def _scoring(self) -> Iterator[None]:
        """As for any model, one thread at a time."""
        with self._lock, super()._scoring():
            yield

    def _pixels(self, image: ImageInput, **more: Any) -> dict[str, torch.Tensor]:
        """The processor's tensors for one image (and more of its arguments), on the device, in the model's type."""
        if isinstance(image, NullImage):
            inputs = self._process(Image.new("RGB", (self.side or 336,) * 2, (128, 128, 128)), **more)
            # One tensor of pixels for most, two resolutions for some.
            inputs |= {
                name: image.draw(tensor.shape)
                for name, tensor in inputs.items()
                if "pixel_values" in name and tensor.is_floating_point()
            }
        else:
            inputs = self._process(image, **more)
        return {name: self._placed(t) if isinstance(t, torch.Tensor) else t for name, t in inputs.items()}

    def _process(self, image: Image.Image, **more: Any) -> dict[str, Any]:
        call = self.processor if more else self.processor.image_processor
        return dict(call(images=image, return_tensors="pt", **more))

    def _placed(self, tensor: torch.Tensor) -> torch.Tensor:
        dtype = self.module.dtype if tensor.is_floating_point() else tensor.dtype
        return tensor.to(self.device, dtype)

    def _ids(self, captions: list[str], **settings: Any) -> list[list[int]]:
        """Token ids of each caption, cut at the context, with a warning that says how many were cut."""
        tokens = self.tokenizer(captions, verbose=False, **settings)["input_ids"] if captions else []
        limit = self.context or max(map(len, tokens), default=0)
        warn_of_cut_captions(self.name, sum(len(ids) > limit for ids in tokens), len(captions), limit)
        empty = next((c for c, ids in zip(captions, tokens, strict=True) if not ids), None)
        if empty is not None:
            raise InputError(
                f"{self.name} has no token for anything in the caption {empty!r}; give it other words."
            )
        return [list(ids[:limit]) for ids in tokens]

    def _caption_tokens(self, captions: Sequence[str]) -> dict[str, torch.Tensor]:
        """Captions as `Prepared` has them: token ids and mask, int64 (captions, length) each, on the CPU."""
        with self._lock:
            ids, mask = self._padded(list(self._texts(list(captions))))
        return {"input_ids": ids.cpu(), "attention_mask": mask.cpu()}

    def _padded(self, ids: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Token ids and mask, int64 (b, length) each, padded on the right, on the device.

        Rows are padded with their own last token: a pad token would make some models guess a mask where none is due.
        """
        length = max(map(len, ids))
        rows = torch.tensor([[*row, *row[-1:] * (length - len(row))] for row in ids], device=self.device)
        sizes = torch.tensor([len(row) for row in ids], device=self.device)
        return rows, (torch.arange(length, device=self.device) < sizes[:, None]).long()


def joining_space(before: str, tokenizer: Any) -> str:
    """What stands between a text and its continuation: nothing after white space or a special token, else a space."""
    bare = not before or before[-1].isspace() or before.endswith(tuple(tokenizer.all_special_tokens))
    return "" if bare else " "


def token_log_probs(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """log P of each token, (b, length), from the logits (b, length, vocabulary) that predict it.

    The softmax runs in float32 at least: half precision would make ties of near equal captions.
    """
    flat = F.cross_entropy(widened(logits).flatten(0, 1), ids.flatten(), reduction="none")
    return -flat.view(ids.shape)


def widened(logits: torch.Tensor) -> torch.Tensor:
    """The same in float32, where they have less."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))
