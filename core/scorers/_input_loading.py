"""Images from disk into a model: decoded and preprocessed ahead of it, and kept only while there is room."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import psutil
import torch

from core.groups import ImageRef
from core.scorers.base import Prepared

# The vision tower's inputs by name; `pixel_values` always, further ones for models that take patches.
Vision = dict[str, torch.Tensor]
# Images -> inputs, each (images, ...), on the CPU; an image's inputs do not depend on the others.
Reader = Callable[[Sequence[ImageRef]], Vision]

# Images that one thread reads at a time, at most: they share what a call of a preprocessor costs.
_CHUNK = 32
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
    images: Sequence[ImageRef], reader: Callable[[Sequence[ImageRef]], Any], size: int, device: torch.device
) -> Iterator[Any]:
    """What `reader` makes of images in order, `size` at a time; the next block is read while this one is used.

    Decoding and preprocessing both run in threads, so that a model on a GPU does not wait for either.
    """
    most = 4 if device.type == "cpu" else 16  # a model on the CPU wants the cores for itself
    workers = min(most, os.cpu_count() or 1)
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


def _joined(parts: list[Future[Vision]]) -> Vision:
    found = [part.result() for part in parts]
    if len(found) == 1:
        return found[0]
    return {name: torch.cat([part[name] for part in found]) for name in found[0]}


def prepare(
    images: Sequence[ImageRef],
    reader: Reader,
    size: int,
    device: torch.device,
    tokens: dict[str, torch.Tensor],
) -> Prepared:
    """Every image as a model's input, kept in memory where there is room for all of them, else read when needed."""

    def load(index: torch.Tensor, size: int) -> Iterator[Vision]:
        return prefetch([images[i] for i in index.tolist()], reader, size, device)

    whole: Vision = {}
    start = 0
    for block in prefetch(images, reader, size, device):
        if start == 0:
            needed = len(images) * _bytes(block) / len(block["pixel_values"])
            if needed > _SHARE * psutil.virtual_memory().available:
                return StreamedInputs(torch.empty((len(images), 0)), tokens, load=load)
            whole = {name: part.new_empty((len(images), *part.shape[1:])) for name, part in block.items()}
        for name, part in block.items():
            whole[name][start : start + len(part)] = part
        start += len(block["pixel_values"])
    if device.type == "cuda" and _bytes(whole) <= _CUDA_SHARE * torch.cuda.mem_get_info(device)[0]:
        whole = {name: part.to(device) for name, part in whole.items()}
    return Prepared(whole.pop("pixel_values"), tokens, whole)


def _bytes(block: Vision) -> int:
    return sum(part.numel() * part.element_size() for part in block.values())
