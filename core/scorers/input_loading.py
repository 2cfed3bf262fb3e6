"""Images from disk into a model: decoded and preprocessed ahead of it, and kept only while there is room."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

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


@dataclass
class PreparedInputs(Prepared):
    """Prepared input of models that need more than pixels (SigLIP 2 NaFlex: patch masks and grid sizes)."""

    extra: Vision = field(default_factory=dict)  # each (images, ...)


@dataclass
class StreamedInputs(Prepared):
    """Prepared input of more images than fit into memory: read from disk whenever they are asked for.

    `pixels` (images, 0) holds nothing; what is read is the same, bit for bit, as what would be kept.
    """

    read: Callable[[torch.Tensor], Vision]  # indices (b,) -> the inputs of these images
    blocks: Callable[[torch.Tensor, int], Iterator[Vision]]  # the same, so many at a time and one block ahead


def prefetch(images: Sequence[ImageRef], reader: Reader, size: int, device: torch.device) -> Iterator[Vision]:
    """Inputs of images in order, `size` at a time; the next block is read while this one is used.

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
    whole: Vision = {}
    start = 0
    for block in prefetch(images, reader, size, device):
        if start == 0:
            needed = len(images) * _bytes(block) / len(block["pixel_values"])
            if needed > _SHARE * psutil.virtual_memory().available:
                return _streamed(images, reader, device, tokens)
            whole = {name: part.new_empty((len(images), *part.shape[1:])) for name, part in block.items()}
        for name, part in block.items():
            whole[name][start : start + len(part)] = part
        start += len(block["pixel_values"])
    whole = _near(whole, device)
    return PreparedInputs(whole.pop("pixel_values"), tokens, whole)


def _streamed(
    images: Sequence[ImageRef], reader: Reader, device: torch.device, tokens: dict[str, torch.Tensor]
) -> StreamedInputs:
    def blocks(index: torch.Tensor, size: int) -> Iterator[Vision]:
        return prefetch([images[i] for i in index.tolist()], reader, size, device)

    def read(index: torch.Tensor) -> Vision:
        return next(blocks(index, len(index)))

    return StreamedInputs(torch.empty((len(images), 0)), tokens, read, blocks)


def _near(whole: Vision, device: torch.device) -> Vision:
    """The inputs on the GPU where they take little of its memory."""
    if device.type != "cuda" or _bytes(whole) > _CUDA_SHARE * torch.cuda.mem_get_info(device)[0]:
        return whole
    return {name: part.to(device) for name, part in whole.items()}


def _bytes(block: Vision) -> int:
    return sum(part.numel() * part.element_size() for part in block.values())


def image_inputs(data: Prepared, images: torch.Tensor) -> Vision:
    """The vision inputs of some prepared images (b,)."""
    if isinstance(data, StreamedInputs):
        return data.read(images)
    extra = data.extra if isinstance(data, PreparedInputs) else {}
    return {"pixel_values": data.pixels[images], **{name: part[images] for name, part in extra.items()}}


def blocks_of(data: Prepared, images: torch.Tensor, size: int) -> Iterator[Vision]:
    """The same for many images, so many at a time."""
    if not len(images):
        return iter(())
    if isinstance(data, StreamedInputs):
        return data.blocks(images, size)
    return (image_inputs(data, part) for part in images.split(size))
