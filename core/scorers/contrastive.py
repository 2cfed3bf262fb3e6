"""Two-tower models, scored by scaled cosine: what the families share.

The families are `_huggingface.py` (CLIP, SigLIP, FLAVA and BLIP of transformers) and `_openclip.py`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Lock

import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F

from core.groups import ImageRef
from core.scorers._cropping import Cropping
from core.scorers._input_loading import Vision, prefetch, prepare, warn_of_cut_captions
from core.scorers._memory import memory_errors
from core.scorers._similarity import cosines, symmetric_cross_entropy
from core.scorers.base import Batch, Prepared, TwoTower, collect, used_inputs
from core.scorers.gradient_caching import ScoringBatchSearch

_PAIR_BLOCK = 65_536


class ContrastiveModel(TwoTower):
    """A model with an image tower and a text tower: score = exp(logit_scale) * cosine (+ logit_bias), float32.

    A model with a bias was trained with SigLIP's pairwise sigmoid loss, one without with CLIP's softmax loss.
    """

    context: int
    precision = "float32"  # of the towers when they score; cosines are float32 whatever it is

    def __init__(
        self, name: str, module: torch.nn.Module, device: torch.device, key: Callable[[], str | None]
    ) -> None:
        """`key` : computes the key, called when first asked for; None stands for "hash the weights in memory"."""
        self.name, self.device, self._key = name, device, key
        self.module = module.float().to(device).eval()
        # Fast tokenizers keep their padding as state and fail when two threads use one at once.
        self._tokenizing = Lock()

    @abstractmethod
    def _preprocess(self, images: list[Image.Image]) -> Vision:
        """RGB images -> the vision tower's inputs, each (images, ...), on the CPU."""

    @abstractmethod
    def _cropping(self, factor: float) -> Cropping:
        """How `_preprocess` enlarges images by a factor, and ends; InputError where it has no fixed size."""

    @abstractmethod
    def _tokenize(self, captions: list[str]) -> torch.Tensor:
        """Captions -> token ids, int64 (captions, length), cut at the context."""

    @abstractmethod
    def _token_count(self, caption: str) -> int:
        """Tokens of a caption before it is cut."""

    @abstractmethod
    def _lengths(self, ids: torch.Tensor) -> torch.Tensor:
        """How many leading tokens of each caption decide its embedding, int64 (captions,)."""

    @abstractmethod
    def _embed_images(self, inputs: Vision) -> torch.Tensor:
        """Pooled, projected image embeddings (b, d), not normalised."""

    @abstractmethod
    def _embed_captions(self, ids: torch.Tensor) -> torch.Tensor:
        """Pooled, projected caption embeddings (b, d), not normalised."""

    @property
    def scale(self) -> torch.Tensor:
        """Logarithm of the factor on the cosine; a parameter."""
        return self.module.logit_scale

    @property
    def bias(self) -> torch.Tensor | None:
        """The logit bias of a SigLIP-like model; None for a CLIP-like one."""
        return getattr(self.module, "logit_bias", None)

    def _encode_captions(self, captions: list[str]) -> torch.Tensor:
        ids = self.tokens(captions)
        search = ScoringBatchSearch("captions", self.caption_batch)
        return search.run(partial(self._caption_features, ids), len(ids))

    def _encode_images(self, images: Sequence[ImageRef]) -> Iterator[tuple[torch.Tensor, int]]:
        search = ScoringBatchSearch("images", self.image_batch)
        for block in prefetch(images, self._open, self.image_batch):
            count = len(block["pixel_values"])
            yield search.run(partial(self._image_features, block), count), count

    @torch.no_grad()
    def _score_block(self, images: torch.Tensor, captions: torch.Tensor, index: np.ndarray) -> np.ndarray:
        """Scores of pairs of normalised features, each by its own dot product: no pair depends on the others."""
        parts = [
            (images[part[:, 0]] * captions[part[:, 1]]).sum(dim=-1)
            for part in torch.from_numpy(index).split(_PAIR_BLOCK)
        ]
        return self._scaled(torch.cat(parts).to(self.device)).cpu().numpy()

    def caption_similarities(self, captions: Sequence[str], pairs: np.ndarray) -> np.ndarray:
        """Cosines of pairs (p, 2) of captions, float32 (p,), without the scale; each caption is encoded once."""
        with memory_errors(self.name):
            texts = self._encode_captions(list(captions))
        return (texts[pairs[:, 0]] * texts[pairs[:, 1]]).sum(dim=-1).numpy()

    def rows(self, images: Sequence[ImageRef], captions: Sequence[str]) -> Callable[[slice], np.ndarray]:
        """Scores of all pairs without a table of them: from a slice of the images to scores float32 (b, captions).

        Everything is encoded now, once; what stays are embeddings. The same slice gives the same numbers; those of
        `score` differ from them by rounding.
        """
        texts = self._encode_captions(list(captions))
        encoded = torch.cat([block for block, _ in self._encode_images(images)])

        @torch.no_grad()
        def block(part: slice) -> np.ndarray:
            return self._scaled((encoded[part] @ texts.T).to(self.device)).cpu().numpy()

        return block

    def prepare(
        self, images: Sequence[ImageRef], captions: Sequence[str], crop_factor: float | None = None
    ) -> Prepared:
        """Every image preprocessed and every caption tokenised, in the order given.

        More images than memory holds are read again whenever they are needed; few are kept on the GPU.
        """
        tokens = {"input_ids": self.tokens(list(captions))}
        cropping = None if crop_factor is None else self._cropping(crop_factor)
        return prepare(
            images, self._opened, self._preprocess, self.image_batch, self.device, tokens, cropping
        )

    def score_prepared(self, data: Prepared, pairs: np.ndarray, batch: int = 256) -> np.ndarray:
        if not len(pairs):
            return np.empty(0, dtype=np.float32)
        first, second, index = used_inputs(pairs)
        ids = data.tokens["input_ids"][torch.from_numpy(second)]
        texts = self._caption_features(ids, min(batch, self.caption_batch))
        blocks = data.blocks(torch.from_numpy(first), batch)
        encoded = ((self._image_features(block, batch), len(block["pixel_values"])) for block in blocks)
        return collect(self._scored_blocks(encoded, texts, index), len(index))

    def batch(self, data: Prepared, images: torch.Tensor, captions: torch.Tensor) -> Batch:
        """As for any `TwoTower`; captions are cut to the batch's longest."""
        inputs = self._to_device(data.images(images))
        ids = data.tokens["input_ids"][captions]
        return Batch(inputs, {"input_ids": ids[:, : int(self._lengths(ids).max())].to(self.device)})

    def embed(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Pooled, projected embeddings of a batch's images and captions, (b, d) each, not normalised."""
        return self._embed_images(batch.images), self._embed_captions(batch.captions["input_ids"])

    def contrast(self, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        """CLIP: mean of the cross-entropies over rows and columns (Radford et al. 2021). SigLIP: sigmoid loss over all
        b*b pairs, summed and divided by b (Zhai et al. 2023, Algorithm 1).
        """
        logits = self._logits(images, captions)  # (b, b)
        if self.bias is None:
            return symmetric_cross_entropy(logits)
        signs = 2 * torch.eye(len(logits), device=logits.device) - 1
        return -F.logsigmoid(signs * logits).sum() / len(logits)

    def _logits(self, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        """Scores of all pairs (a, b) with gradients; float32 even where the towers ran in lower precision."""
        with torch.autocast(self.device.type, enabled=False):
            return self._scaled(cosines(images, captions))

    def _scaled(self, cosine: torch.Tensor) -> torch.Tensor:
        logits = cosine * self.scale.float().exp()
        return logits if self.bias is None else logits + self.bias.float()

    def _image_features(self, block: Vision, size: int | None) -> torch.Tensor:
        """Normalised features (b, d) of a block of images, `size` of them at a time; None: all."""
        step, parts = size or len(block["pixel_values"]), []
        with self._scoring():
            for start in range(0, len(block["pixel_values"]), step):
                part = self._to_device({name: t[start : start + step] for name, t in block.items()})
                parts.append(F.normalize(self._embed_images(part).float(), dim=-1).cpu())
        return torch.cat(parts)

    def _caption_features(self, ids: torch.Tensor, size: int | None) -> torch.Tensor:
        """Normalised features (c, d); captions of like length share a batch, so that short ones stay cheap."""
        lengths = self._lengths(ids)
        order, parts = lengths.argsort(stable=True), []
        with self._scoring():
            for part in order.split(size or len(ids)):
                trimmed = ids[part, : int(lengths[part].max())].to(self.device)
                parts.append(F.normalize(self._embed_captions(trimmed).float(), dim=-1).cpu())
        features = torch.cat(parts)
        return torch.empty_like(features).index_copy_(0, order, features)

    @contextmanager
    def _scoring(self) -> Iterator[None]:
        """As for any model, in the precision asked for."""
        reduced = self.precision != "float32"
        dtype = getattr(torch, self.precision) if reduced else torch.bfloat16
        with super()._scoring(), torch.autocast(self.device.type, dtype, enabled=reduced):
            yield

    def _to_device(self, block: Vision) -> Vision:
        return {name: tensor.to(self.device, non_blocking=True) for name, tensor in block.items()}

    def _open(self, images: Sequence[ImageRef]) -> Vision:
        """The vision tower's inputs of some images, opened and preprocessed."""
        return self._preprocess(self._opened(images))

    def _opened(self, images: Sequence[ImageRef]) -> list[Image.Image]:
        return [image.open(self.side) for image in images]

    def tokens(self, captions: list[str]) -> torch.Tensor:
        """Token ids of captions, with a warning that says how many of them are too long for the model."""
        if not captions:
            return torch.empty((0, 0), dtype=torch.int64)
        with self._tokenizing:
            # No tokenizer makes more tokens than bytes, up to a few special ones.
            suspects = [c for c in captions if len(c.encode("utf-8", "replace")) + 4 > self.context]
            longer = sum(self._token_count(caption) > self.context for caption in suspects)
            ids = self._tokenize(captions)
        warn_of_cut_captions(self.name, longer, len(captions), self.context)
        return ids
