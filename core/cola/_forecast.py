"""What a training will take on this machine: measured on one block of each side, one batch and one block of pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from resource import RUSAGE_SELF, getrusage
from time import perf_counter, process_time
from typing import Any, NamedTuple

import torch

from core.cola._feature_store import disk_bytes
from core.cola._training import _optimizer, _pixels_are_large, _training_blocks, is_large
from core.cola._training_data import TrainingQueries
from core.cola.tasks import AdaptationTask
from core.scorers.base import Prepared
from core.scorers.cola_adapted import AdaptedModel
from core.scorers.cola_config import AdaptConfig
from core.scorers.cola_features import Features

# Of memory, for what allocators keep to themselves and what measuring on test queries adds; seen: 7 to 23 %.
_SLACK = 1.3
_CAPTIONS = 256  # that are encoded to time them
_PAIRS = 1024  # that a head scores at once
_PATIENCE = 1.0  # seconds of repeated steps


class _Side(NamedTuple):
    """What the images or the captions of a training take. Bytes: `held` all the time, `passing` while they are made."""

    each: float  # seconds to encode one of them
    once: float  # seconds before the first step
    disk: float
    held: float
    passing: float


def _training_needs(model: AdaptedModel, task: AdaptationTask, settings: AdaptConfig) -> dict[str, float]:
    """As `core.cola.run.StrategyRun.forecast`; the weights stay as they are."""
    material = task.material.drawn(settings)
    images = next(_training_blocks(model, material.images))
    captions = model.caption_block(list(material.captions[:_CAPTIONS]))
    first, second = (
        _side_needs(model, s, d, material) for s, d in (("image", images), ("caption", captions))
    )
    steps = settings.epochs * material.steps(settings)
    each_pair = _seconds(model, lambda: _score_pairs(model, images, captions))[0] / _PAIRS
    pictures, pairs = _measured(task, settings.epochs)
    seconds = first.once + second.once + steps * step_seconds(model, material, settings)
    # Features that are held are copied once, when they are put together: one side after the other.
    copied = max(first.passing, second.passing)
    peak = 1024 * getrusage(RUSAGE_SELF).ru_maxrss + first.held + second.held + copied
    peak *= _SLACK
    return {
        "images": len(task.material.images),
        "queries": len(task.material.captions),
        "steps": steps,
        "disk": int(first.disk + second.disk),
        "memory": int(peak),
        "seconds": seconds,
        "measured_in": pictures * first.each + pairs * each_pair,
    }


def step_seconds(model: AdaptedModel, material: TrainingQueries, config: AdaptConfig) -> float:
    """How long a step of training takes, its optimizer's part too: the mean of several, all at learning rate 0.

    Features that a training computes once, before its first step, are ready here as well.
    """
    image_rows, query_rows, labels = next(material.batches(config, 1))
    images, captions = ([items[i] for i in rows] for items, rows in (
        (material.images, image_rows), (material.captions, query_rows),
    ))  # fmt: skip
    data, every = model.prepare(images, captions), torch.arange(len(images))
    wanted = torch.from_numpy(labels)
    ready = {side: model.features(data, every, side) for side, frozen in model.frozen.items() if frozen}
    optimizer = _optimizer(model, config)
    for group in optimizer.param_groups:
        group["lr"] = 0.0

    def drawn() -> Iterator[Any]:
        while True:
            yield from material.batches(config, 1)

    batches = drawn()

    def step() -> None:
        next(batches)  # what to train on is drawn at every step, too
        sides = [
            ready[side].rows(every) if side in ready else model.features(data, every, side)
            for side in model.frozen
        ]
        loss = model.pair_loss(
            model.head.image(sides[0]), model.head.caption(sides[1]), wanted.to(model.device)
        )
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        float(loss.detach())

    model.module.train()
    try:
        step()  # the first makes the optimizer's moments
        return _mean(model, step)
    finally:
        model.module.zero_grad(set_to_none=True)
        model.module.eval()


def _side_needs(model: AdaptedModel, side: str, block: Prepared, material: TrainingQueries) -> _Side:
    """From one block of its images or captions."""
    items: Sequence[Any] = material.images if side == "image" else material.captions
    sample, each = _encoded(model, side, block)
    rows = len(sample.pooled)
    if side == "image":
        read = _seconds(model, lambda: next(model.image_blocks(items[:rows], rows)))[0] / rows
        each, inputs = each + read, 4.0 * block.pixels[0].numel()
        fixed = 2 * rows * inputs  # two blocks are read ahead of the one that is encoded
    else:
        read, inputs = 0.0, 8.0 * block.tokens["input_ids"].shape[1]
        fixed = inputs * len(items)
    if model.frozen[side]:
        disk, large = disk_bytes(sample, len(items)), is_large(sample, len(items))
        held = 4.0 * sum(part.numel() for part in (sample.pooled, sample.tokens, sample.words)) / rows
        size = 0.0 if large else held * len(items)
        return _Side(each, each * len(items), disk if large else 0.0, fixed + size, size)
    if side == "caption":
        return _Side(each, 0.0, 0.0, fixed, 0.0)
    large = _pixels_are_large(block, len(items))
    pixels = inputs * len(items)
    return _Side(each, read * len(items), pixels / 2 if large else 0.0, fixed + (0 if large else pixels), 0.0)


def _encoded(model: AdaptedModel, side: str, block: Prepared) -> tuple[Features, float]:
    """Features of a block, and seconds for each of its images or captions."""
    rows = torch.arange(len(block.pixels) if side == "image" else len(block.tokens["input_ids"]))

    def encode() -> Features:
        with torch.no_grad():
            return model.features(block, rows, side)

    seconds, features = _seconds(model, encode)
    return features, seconds / len(rows)


def _score_pairs(model: AdaptedModel, images: Prepared, captions: Prepared) -> None:
    """Score as many pairs as pass a head at once when a model is measured."""
    ids = captions.tokens["input_ids"]
    of_images = model.encode(images, torch.arange(len(images.pixels)), "image")
    of_captions = model.encode(captions, torch.arange(len(ids)), "caption")
    index = torch.stack([torch.arange(_PAIRS) % len(images.pixels), torch.arange(_PAIRS) % len(ids)], dim=1)
    with torch.no_grad():
        model.head.scores(of_images, of_captions, index.to(model.device))


def _measured(task: AdaptationTask, epochs: int) -> tuple[int, int]:
    """Images that are encoded, and pairs that are scored, to measure: validation after every epoch, tests at the end.

    The base's tests before compare vectors, which takes next to nothing beside the encoding.
    """
    pictures, pairs = 2 * len(task.test.images), len(task.test.images) * len(task.test.queries)
    if task.validation is not None:
        pictures += (epochs + 1) * len(task.validation.images)
        pairs += (epochs + 1) * len(task.validation.images) * len(task.validation.queries)
    for groups in (task.multi_object, task.crepe, task.relations, task.cifar10):
        if groups is not None:
            m, k = groups.shape
            pictures, pairs = pictures + 2 * len(groups) * m, pairs + len(groups) * m * k
    return pictures, pairs


def _mean(model: AdaptedModel, work: Callable[[], Any]) -> float:
    """Seconds of one of at least two, and of a second's work, on average."""
    spent, done = 0.0, 0
    while done < 2 or spent < _PATIENCE:
        spent += _seconds(model, work)[0]
        done += 1
    return spent / done


def _seconds(model: AdaptedModel, work: Callable[[], Any]) -> tuple[float, Any]:
    """How long some work takes where little else runs, and its result.

    The clock says so; on processors that others use too, the time that this process worked is nearer, and less.
    """
    clock, worked = perf_counter(), process_time()
    result = work()
    clock, worked = perf_counter() - clock, process_time() - worked
    return (min(clock, worked) if model.device.type == "cpu" else clock), result
