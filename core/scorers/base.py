"""What a scorer is, what one that can be adapted offers besides, and how models score in blocks.

A family of models says how captions are read and how a block of images is scored (`ModelScorer`). Imports no torch.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from core.groups import ImageRef
from core.scorers._memory import memory_errors

if TYPE_CHECKING:
    import torch

    from core.scorers._cropping import EnlargedPictures

T = TypeVar("T")
ScoredRows = tuple[np.ndarray, np.ndarray]  # rows of `pairs` int (r,), their scores float32 (r,)


@runtime_checkable
class Scorer(Protocol):
    """Scores image-caption pairs. Never sees groups, and so never truth."""

    name: str  # as the user wrote it: "builtin/clip", "openai/clip-vit-base-patch32", a folder

    @property
    def key(self) -> str:
        """Hash of weights and settings: together with image and caption it identifies a score."""
        ...

    def score(self, images: Sequence[ImageRef], captions: Sequence[str], pairs: np.ndarray) -> np.ndarray:
        """Scores of the requested pairs, float32 (p,).

        images, captions : distinct ones. pairs : int (p, 2), columns are indices into `images` and `captions`.
        """
        ...


@dataclass
class Prepared:
    """Images and captions as the model's own input tensors: made once per run, indexed ever after."""

    pixels: torch.Tensor  # (images, 3, H, W) float32, preprocessed; kept on the CPU
    tokens: dict[str, torch.Tensor]  # each (captions, length); padded as the model's family needs
    extra: dict[str, torch.Tensor] = field(default_factory=dict)  # SigLIP 2's patch masks: each (images, ...)
    enlarged: EnlargedPictures | None = None  # to crop from, where that was asked for

    def images(self, index: torch.Tensor) -> dict[str, torch.Tensor]:
        """The vision tower's inputs of some images (b,)."""
        return {
            "pixel_values": self.pixels[index],
            **{name: part[index] for name, part in self.extra.items()},
        }

    def blocks(self, index: torch.Tensor, size: int) -> Iterator[dict[str, torch.Tensor]]:
        """The same for many images, `size` at a time."""
        return map(self.images, index.split(size))


@dataclass
class Batch:
    """Matched pairs as a two-tower model's inputs, on its device: pair b is image b with caption b."""

    images: dict[str, torch.Tensor]  # each (b, ...)
    captions: dict[str, torch.Tensor]  # each (b, ...)

    def __len__(self) -> int:
        return len(next(iter(self.images.values())))

    def split(self, size: int) -> list[Batch]:
        """The same pairs in order, at most `size` in each part."""
        parts = [slice(start, start + size) for start in range(0, len(self), size)]
        return [
            Batch({k: t[p] for k, t in self.images.items()}, {k: t[p] for k, t in self.captions.items()})
            for p in parts
        ]


class StreamingScorer(ABC):
    """A `Scorer` whose scores come in parts: a family says how they come."""

    name: str

    def __repr__(self) -> str:
        return f"<scorer {self.name}, {type(self).__name__}>"

    @abstractmethod
    def stream(
        self, images: Sequence[ImageRef], captions: Sequence[str], pairs: np.ndarray
    ) -> Iterator[ScoredRows]:
        """As `score`, as it goes: rows of `pairs` and their scores, one part after the other."""

    def score(self, images: Sequence[ImageRef], captions: Sequence[str], pairs: np.ndarray) -> np.ndarray:
        """Scores of the requested pairs, float32 (p,).

        images, captions : distinct ones; those that a pair names are read, once. pairs : int (p, 2), indices.
        Neither the order of pairs nor what else is in them changes a score. Captions longer than the model reads are
        cut, with a warning. Raises InputError for an image that does not open.
        """
        return collect(self.stream(images, captions, pairs), len(pairs))


class ModelScorer(StreamingScorer):
    """A model on this machine: captions are encoded once, then images block by block, and each block is scored.

    Memory does not grow with the number of images.
    """

    module: Any
    device: torch.device
    context: int | None = None  # tokens of a caption at most; None: no limit
    side: int | None = None  # pixels of an image's side; None where the model takes any
    # Images per block: what is decoded, preprocessed and encoded at once, and all that is held of the pixels.
    image_batch = 64
    caption_batch = 256
    # The key, a function that computes it when first asked, or None: the key of the weights at this moment.
    _key: str | Callable[[], str | None] | None = None

    @abstractmethod
    def _encode_captions(self, captions: list[str]) -> Any:
        """What scoring needs of the captions, in order; called once for all of them."""

    @abstractmethod
    def _encode_images(self, images: list[ImageRef]) -> Iterator[tuple[Any, int]]:
        """The images in blocks, encoded, each with the number of its images."""

    @abstractmethod
    def _score_block(self, images: Any, captions: Any, index: np.ndarray) -> np.ndarray:
        """Scores float32 (p,) of pairs `index` (p, 2) into one block of images and all captions."""

    def stream(
        self, images: Sequence[ImageRef], captions: Sequence[str], pairs: np.ndarray
    ) -> Iterator[ScoredRows]:
        """As `score`, as it goes: rows of `pairs` and their scores, one block of images after the other."""
        first, second, index = used_inputs(pairs)
        if not len(index):
            return
        with memory_errors(self.name):
            texts = self._encode_captions([captions[j] for j in second])
            yield from self._scored_blocks(self._encode_images([images[i] for i in first]), texts, index)

    def _scored_blocks(
        self, blocks: Iterable[tuple[Any, int]], captions: Any, index: np.ndarray
    ) -> Iterator[ScoredRows]:
        for block, rows, part in by_block(blocks, index):
            yield rows, self._score_block(block, captions, part)

    @contextmanager
    def _scoring(self) -> Iterator[None]:
        """Evaluation mode without gradients; a module that was training goes back to it."""
        import torch

        training = self.module.training
        if training:
            self.module.eval()
        try:
            with torch.no_grad():
                yield
        finally:
            if training:
                self.module.train()

    @property
    def key(self) -> str:
        """Content hash (hex): of the files and settings as long as they are what was loaded, else of the weights.

        A copy's is that of its weights at this moment.
        """
        if callable(self._key):
            self._key = self._key() or self._current_key()
        return self._key or self._current_key()

    def _current_key(self) -> str:
        import torch

        total = hashlib.sha256(self._settings().encode())
        for name, tensor in sorted(self._weights().items()):
            total.update(f"{name} {tuple(tensor.shape)}".encode())
            total.update(tensor.detach().cpu().flatten().view(torch.uint8).numpy().tobytes())
        return total.hexdigest()

    def _settings(self) -> str:
        """What decides the scores besides the weights."""
        return f"{type(self).__name__} {self.context} {self.side}"

    def _weights(self) -> dict[str, torch.Tensor]:
        """Every tensor that decides the scores, by name."""
        return self.module.state_dict()

    def copy(self) -> Self:
        """An independent copy of the weights, in float32; tokenizer and preprocessing are shared."""
        twin = copy(self)
        twin.module, twin._key = deepcopy(self.module).float(), None  # its weights may change at any time
        return twin


class Trainable(ModelScorer):
    """A model whose weights can be adapted: what `core/ttm/loop.py` and `core/ttm/_train.py` work on."""

    @abstractmethod
    def prepare(
        self, images: Sequence[ImageRef], captions: Sequence[str], crop_factor: float | None = None
    ) -> Prepared:
        """Decode and preprocess every image, tokenise every caption, once, in the order given.

        crop_factor : also keep every original at so many times the model's size, to crop from (`Prepared.enlarged`);
        of a model without pixels it stays None.
        """

    @abstractmethod
    def score_prepared(self, data: Prepared, pairs: np.ndarray, batch: int = 256) -> np.ndarray:
        """As `score`, on prepared input, in evaluation mode without gradients: float32 (p,).

        Each image and caption is encoded once and multiplied in float32, whatever `pairs` repeats.
        """

    @abstractmethod
    def loss(self, data: Prepared, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        """The model's own loss over matched pairs (images[b], captions[b]), int64 (b,): a scalar with gradients.

        Only the batch moves to the device; an image or caption that occurs twice in it is encoded twice.
        """

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the model in its own format (weights as safetensors); `load_scorer(folder)` reads it again."""


class GroupTrainable(Trainable):
    """A trainable that learns what to tell apart: the caption of an image from the other captions of its group."""

    @abstractmethod
    def group_losses(
        self, data: Prepared, images: torch.Tensor, captions: torch.Tensor, offered: torch.Tensor
    ) -> torch.Tensor:
        """One loss for each of g groups, (g,), with gradients; no group looks at another.

        images, captions : int64 (g, m); captions[g, i] is the pseudo-label of images[g, i]. offered : int64 (g, k), all
        captions of the group: those that are not an image's own are wrong for it.
        """

    @staticmethod
    def neighbours(captions: torch.Tensor) -> torch.Tensor:
        """What pairs without groups are told apart from: captions (b,), each with the one before it, (b, 2)."""
        import torch

        return torch.stack([captions, captions.roll(1)], dim=1)

    def loss(self, data: Prepared, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        """As for any trainable, over pairs without groups: the mean, each beside its neighbour's caption."""
        offered = self.neighbours(captions)
        return self.group_losses(data, images[:, None], captions[:, None], offered).mean()

    @contextmanager
    def keeping_encodings(self) -> Iterator[None]:
        """While inside, an image is encoded once where nothing that reads images can learn."""
        yield


class TwoTower(Trainable):
    """A trainable whose loss needs nothing of a pair but its two embeddings.

    So the loss of a large batch can be had in parts (`core/scorers/gradient_caching.py`).
    """

    @abstractmethod
    def batch(self, data: Prepared, images: torch.Tensor, captions: torch.Tensor) -> Batch:
        """The inputs of these pairs on the device, each image read once; arguments as for `loss`."""

    @abstractmethod
    def embed(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Embeddings of a batch's images and captions, (b, d) each, with gradients; no pair looks at another."""

    @abstractmethod
    def contrast(self, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        """The contrastive loss of embeddings (b, d) and (b, d) that belong together row by row: a scalar."""

    def loss(self, data: Prepared, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        return self.contrast(*self.embed(self.batch(data, images, captions)))


def collect(parts: Iterable[ScoredRows], count: int) -> np.ndarray:
    """Scores that come in parts as one array, float32 (count,)."""
    scores = np.empty(count, dtype=np.float32)
    for rows, values in parts:
        scores[rows] = values
    return scores


def used_inputs(pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The images and captions that pairs (p, 2) name, and the pairs as indices into those."""
    array = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    images, first = np.unique(array[:, 0], return_inverse=True)
    captions, second = np.unique(array[:, 1], return_inverse=True)
    return images, captions, np.column_stack([first, second])


def by_block(
    blocks: Iterable[tuple[T, int]], index: np.ndarray
) -> Iterator[tuple[T, np.ndarray, np.ndarray]]:
    """Blocks of images, the rows of `index` (p, 2) that name them, and those counted from the block's first image."""
    order = np.argsort(index[:, 0], kind="stable")
    ranked, start = index[order, 0], 0
    for block, count in blocks:
        low, high = np.searchsorted(ranked, [start, start + count])
        rows = order[low:high]
        yield block, rows, index[rows] - [start, 0]
        start += count
