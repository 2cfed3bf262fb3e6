"""Images from disk into a model: decoded and preprocessed ahead of it, and kept only while there is room."""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import psutil
import torch
from PIL import Image

from core.groups import ImageRef, _check_whole
from core.scorers._cropping import Cropping, EnlargedPictures
from core.scorers.base import Prepared

# The vision tower's inputs by name; `pixel_values` always, further ones for models that take patches.
Vision = dict[str, torch.Tensor]
Opener = Callable[[Sequence[ImageRef]], list[Image.Image]]
# RGB images -> inputs, each (images, ...), on the CPU; an image's inputs do not depend on the others.
Preprocessor = Callable[[list[Image.Image]], Vision]

# Images that one thread reads at a time, at most: they share what a call of a preprocessor costs.
_CHUNK = 32
# That read. More of them wait for Python's lock rather than work: on 16 cores 1,111 images/s with 4, 834 with 16.
_THREADS = 4
# Share of the free memory that prepared images may fill; larger sets are read again whenever they are needed.
_SHARE = 0.5
_CUDA_SHARE = 0.1  # of a GPU's, where they spare the way from the CPU at every step


@dataclass(kw_only=True)
class StreamedInputs(Prepared):
    """Prepared input of more images than fit into memory: read from disk whenever they are asked for.

    `pixels` (images, 0) holds nothing; what is read is the same, bit for bit, as what would be held.
    """

    load: Callable[[torch.Tensor, int], Iterator[Vision]]  # indices (b,), so many at a time, one block ahead

    def images(self, index: torch.Tensor) -> Vision:
        return next(self.load(index, len(index)))

    def blocks(self, index: torch.Tensor, size: int) -> Iterator[Vision]:
        return self.load(index, size)


def prefetch(
    images: Sequence[ImageRef], reader: Callable[[Sequence[ImageRef]], Any], size: int
) -> Iterator[Any]:
    """What `reader` makes of images in order, `size` at a time; the next block is read while this one is used.

    Decoding and preprocessing both run in threads, so that a model on a GPU does not wait for either. Of several blocks
    files that are cut short are an InputError before the first.
    """
    if len(images) > size:
        _check_whole(images)
    workers = min(_THREADS, os.cpu_count() or 1)
    step = min(_CHUNK, max(1, size // workers))
    waiting: deque[list[Future[Vision]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for start in range(0, len(images), size):
            block = images[start : start + size]
            waiting.append([pool.submit(reader, block[i : i + step]) for i in range(0, len(block), step)])
            if len(waiting) > 1:
                yield _joined(waiting.popleft())
        while waiting:
            yield _joined(waiting.popleft())


def _joined(parts: list[Future[Any]]) -> Any:
    return _concatenated([part.result() for part in parts])


def _concatenated(blocks: list[Any]) -> Any:
    """Parts of one thing in order: tensors, lists, or the same by name or place."""
    first = blocks[0]
    if len(blocks) == 1:
        return first
    if isinstance(first, dict):
        return {name: _concatenated([part[name] for part in blocks]) for name in first}
    if isinstance(first, tuple):
        return tuple(_concatenated(list(parts)) for parts in zip(*blocks, strict=True))
    return (
        torch.cat(blocks) if isinstance(first, torch.Tensor) else [item for part in blocks for item in part]
    )


def prepare(
    images: Sequence[ImageRef],
    opened: Opener,
    preprocess: Preprocessor,
    size: int,
    device: torch.device,
    tokens: dict[str, torch.Tensor],
    cropping: Cropping | None = None,
) -> Prepared:
    """Every image as a model's input, kept in memory where there is room for all of them, else read when needed.

    cropping : also keep every image enlarged, from the same decoding.
    """

    def read(part: Sequence[ImageRef]) -> tuple[Vision, list[torch.Tensor]]:
        pictures = opened(part)
        return preprocess(pictures), [] if cropping is None else cropping.enlarged(part, pictures)

    tensors: Vision = {}
    pictures: list[torch.Tensor] = []
    start = 0
    for block, larger in prefetch(images, read, size):
        count = len(block["pixel_values"])
        if not tensors:
            needed = len(images) * (_bytes(block.values()) + _bytes(larger)) / count
            if needed > _SHARE * psutil.virtual_memory().available:
                return _streamed(images, opened, preprocess, tokens, cropping)
            tensors = {name: part.new_empty((len(images), *part.shape[1:])) for name, part in block.items()}
        for name, part in block.items():
            tensors[name][start : start + count] = part
        pictures += larger
        start += count
    if device.type == "cuda" and _bytes(tensors.values()) <= _CUDA_SHARE * torch.cuda.mem_get_info(device)[0]:
        tensors = {name: part.to(device) for name, part in tensors.items()}
    prepared = Prepared(tensors.pop("pixel_values"), tokens, tensors)
    if cropping is not None:
        prepared.enlarged = EnlargedPictures(lambda index: [pictures[i] for i in index.tolist()], cropping)
    return prepared


def _streamed(
    images: Sequence[ImageRef],
    opened: Opener,
    preprocess: Preprocessor,
    tokens: dict[str, torch.Tensor],
    cropping: Cropping | None,
) -> StreamedInputs:
    def chosen(index: torch.Tensor) -> list[ImageRef]:
        return [images[i] for i in index.tolist()]

    def load(index: torch.Tensor, size: int) -> Iterator[Vision]:
        return prefetch(chosen(index), lambda part: preprocess(opened(part)), size)

    streamed = StreamedInputs(torch.empty((len(images), 0)), tokens, load=load)
    if cropping is not None:

        def larger(index: torch.Tensor) -> list[torch.Tensor]:
            return next(
                prefetch(chosen(index), lambda part: cropping.enlarged(part, opened(part)), len(index))
            )

        streamed.enlarged = EnlargedPictures(larger, cropping)
    return streamed


def _bytes(tensors: Iterable[torch.Tensor]) -> int:
    return sum(part.numel() * part.element_size() for part in tensors)


def warn_of_cut_captions(name: str, longer: int, total: int, limit: int) -> None:
    """Say how many captions are longer than a model reads."""
    if longer:
        warnings.warn(
            f"{longer} of {total} captions are longer than the {limit} tokens that {name} reads; the rest of them was "
            "cut off.",
            stacklevel=4,
        )
