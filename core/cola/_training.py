"""The training loop of the strategies, as a generator: sigmoid cross-entropy over all image-query pairs ([Cola] 11.1).

Frozen features are computed once, before the first step, and indexed ever after: in memory where they are few, else on
disk (core/cola/_feature_store.py). Everything random comes from
(seed, epoch), so a run that is resumed needs no stored generator state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import cos, pi
from time import perf_counter
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch

from core.base.errors import InputError, NotFiniteError
from core.cola._feature_store import StoredFeatures, disk_bytes, features_key, in_blocks, stored_features
from core.cola._training_data import TrainingQueries
from core.scorers.base import Prepared, Scorer
from core.scorers.cola_adapted import AdaptedModel
from core.scorers.cola_config import AdaptConfig
from core.scorers.cola_features import Features

# The two numbers of the calibration learn at a rate of their own: they rank nothing, and start far from their optimum.
_CALIBRATION_LR = 1e-2
_BLOCK = 256  # images or captions that are encoded at a time, of large images fewer
_BLOCK_PIXELS = 1 << 21  # of one colour: 256 images of 64 x 64, 41 of 224 x 224


class TrainingStopped(Exception):
    """Training was asked to stop between two steps."""


class TrainingDivergedError(InputError):
    """The loss is no longer a finite number."""


@contextmanager
def training_that_scores(scorer: Scorer) -> Iterator[None]:
    """Scores that are not finite within are the fault of the training, where `scorer` was trained here."""
    try:
        yield
    except NotFiniteError:
        if not isinstance(scorer, AdaptedModel):
            raise
        raise TrainingDivergedError(
            f"After training at a learning rate of {scorer.rate:g} scores are no longer finite numbers; lower lr."
        ) from None


class EpochReport(NamedTuple):
    """What one epoch did; epoch 0 is the state before."""

    epoch: int
    losses: np.ndarray  # float64 (steps,)
    lr: float
    seconds: float


@dataclass
class TrainingState:
    """What a checkpoint keeps besides the weights."""

    epoch: int = 0
    optimizer: dict[str, Any] | None = None
    losses: list[float] = field(default_factory=list)


class EncoderInputs:
    """A side's inputs, and its features where they never change: computed once, whatever the epochs ask for."""

    def __init__(self, model: AdaptedModel, data: Prepared, side: str) -> None:
        self.model, self.data, self.side = model, data, side
        self.frozen: Features | StoredFeatures | None = None

    def freeze(self, count: int, progress: Callable[[float], None] | None = None) -> None:
        """Compute all `count` features now; they stay on the CPU."""
        parts = []
        with torch.no_grad():
            for block in torch.arange(count).split(_BLOCK):
                parts.append(self.model.features(self.data, block, self.side).to(torch.device("cpu")))
                if progress is not None:
                    progress(min(1.0, _BLOCK * len(parts) / count))
        self.frozen = Features.concatenate(parts)

    def features(self, index: np.ndarray) -> Features:
        """Features of some images or captions, on the model's device."""
        chosen = torch.from_numpy(np.asarray(index))
        if self.frozen is None:
            return self.model.features(self.data, chosen, self.side)
        features = self.frozen.rows(chosen)
        if self.side == "caption":
            features = features.cut()
        return features.to(self.model.device)


def train(
    model: AdaptedModel,
    material: TrainingQueries,
    config: AdaptConfig,
    *,
    state: TrainingState | None = None,
    stop: Callable[[], bool] | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> Iterator[tuple[EpochReport, TrainingState]]:
    """Train `model` in place; one item per epoch, from 0, the state before the first step, on.

    state : to go on after its epoch (the model is that of the checkpoint). stop : asked before every step; then the
    generator ends. Same seed, same machine: same bytes. Raises InputError where the loss is not finite.
    """
    report = progress or (lambda share, text: None)
    material = material.drawn(config)
    images, captions = _inputs_of(model, material, report)
    optimizer, steps = _optimizer(model, config), material.steps(config)
    if state is None or state.epoch == 0:
        _centre(model, material, config, images, captions)
        state = TrainingState()
        yield EpochReport(0, np.array([]), model.rate, 0.0), state
    elif state.optimizer is not None:
        optimizer.load_state_dict(state.optimizer)
    for epoch in range(state.epoch + 1, config.epochs + 1):
        started = perf_counter()
        losses = []
        try:
            for loss in _epoch(model, material, config, epoch, (images, captions), optimizer, stop):
                losses.append(loss)
                done = (epoch - 1 + len(losses) / steps) / config.epochs
                report(done, f"epoch {epoch} of {config.epochs}")
        except TrainingStopped:
            return
        state = TrainingState(epoch, optimizer.state_dict(), [*state.losses, *losses])
        yield EpochReport(epoch, np.array(losses), model.rate, perf_counter() - started), state


@dataclass
class _SharedFeatures:
    """What runs of one base on one material have in common: tokens, features of encoders left alone, and pixels for
    those that are not."""

    tokens: Prepared
    features: dict[str, Features | StoredFeatures] = field(default_factory=dict)
    pixels: Prepared | None = None


@dataclass(kw_only=True)
class _StoredPixels(Prepared):
    """Prepared images on disk, in half precision; `pixels` (images, 0) holds nothing."""

    stored: StoredFeatures
    shape: tuple[int, ...]  # of one image

    def images(self, index: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"pixel_values": self.stored.rows(index).pooled.view(len(index), *self.shape)}


# Material -> base weights and how they are read -> what is shared; forgotten with the material.
_shared: WeakKeyDictionary[TrainingQueries, dict[str, _SharedFeatures]] = WeakKeyDictionary()
_FEW = 2000  # images, or captions, whose features are kept in memory whatever their size
_MEMORY = 1 << 29  # bytes of float32 features, or pixels, that are kept in memory for each side


def _inputs_of(
    model: AdaptedModel, material: TrainingQueries, report: Callable[[float, str], None]
) -> tuple[EncoderInputs, EncoderInputs]:
    """Both sides, frozen where the strategy leaves the encoder alone; several strategies share them in a process."""
    known = _shared.setdefault(material, {})
    key = model.features_key
    if key not in known:
        report(0.0, "preparing images")
        known.clear()  # one base at a time
        known[key] = _SharedFeatures(model.caption_block(list(material.captions)))
    shared = known[key]
    sides = (EncoderInputs(model, shared.tokens, "image"), EncoderInputs(model, shared.tokens, "caption"))

    def told(share: float) -> None:
        report(0.0, f"reading images and queries: {100 * share:.0f} %")

    for side, items in zip(sides, (material.images, material.captions), strict=True):
        if model.frozen[side.side]:
            if side.side not in shared.features:
                shared.features[side.side] = _frozen(side, items, told)
            side.frozen = shared.features[side.side]
        elif side.side == "image":
            shared.pixels = shared.pixels or _pixels(model, material.images, told)
            side.data = shared.pixels
    return sides


def _frozen(
    side: EncoderInputs, items: Sequence[Any], progress: Callable[[float], None]
) -> Features | StoredFeatures:
    """Features that never change: in memory where they are few, else on disk; of pixels a block is held at a time."""
    model = side.model
    if len(items) > _FEW and is_large(sample_features(model, side.side, items), len(items)):
        return _stored(model, side.side, items, progress)
    if side.side == "caption":
        side.freeze(len(items), progress)
        assert isinstance(side.frozen, Features)
        return side.frozen
    parts, done = [], 0
    for data in _training_blocks(model, items):
        count = _count(data, "image")
        with torch.no_grad():
            parts.append(model.features(data, torch.arange(count), "image").to(torch.device("cpu")))
        done += count
        progress(done / len(items))
    return Features.concatenate(parts)


def _training_blocks(model: AdaptedModel, images: Sequence[Any]) -> Iterator[Prepared]:
    """Images preprocessed, as many at a time as bounded memory allows, the next ones read meanwhile."""
    side = model.image_side
    return model.image_blocks(images, max(1, min(_BLOCK, _BLOCK_PIXELS // side**2)))


def _pixels_are_large(first: Prepared, count: int) -> bool:
    """Whether the pixels of `count` images like these are too many to be kept in memory."""
    return 4 * first.pixels[0].numel() * count > _MEMORY


def _pixels(model: AdaptedModel, images: Sequence[Any], progress: Callable[[float], None]) -> Prepared:
    """Prepared images for an encoder that is trained: in memory where they are few, else on disk."""
    first = next(model.image_blocks(images[:1]))
    if not _pixels_are_large(first, len(images)):
        return model.prepare(images, [])

    def blocks() -> Iterator[Features]:
        done = 0
        for data in _training_blocks(model, images):
            assert not data.extra, "CLIP, SigLIP and FLAVA read pixels alone"
            yield Features.of(data.pixels.flatten(1))
            done += len(data.pixels)
            progress(done / len(images))

    key = features_key(f"{model.features_key} pixels", "image", (image.key for image in images))
    nothing = torch.empty((len(images), 0))
    return _StoredPixels(nothing, {}, stored=stored_features(key, blocks()), shape=first.pixels.shape[1:])


def sample_features(model: AdaptedModel, side: str, items: Sequence[Any]) -> Features:
    """Features of the first of some images or captions, without gradients."""
    with torch.no_grad():
        data = (
            next(model.image_blocks(items[:8]))
            if side == "image"
            else model.caption_block(list(items[:_BLOCK]))
        )
        return model.features(data, torch.arange(_count(data, side)), side)


def _count(data: Prepared, side: str) -> int:
    return len(data.pixels) if side == "image" else len(data.tokens["input_ids"])


def is_large(sample: Features, count: int) -> bool:
    """Whether `count` features like these are too many to be kept in memory."""
    return count > _FEW and 2 * disk_bytes(sample, count) > _MEMORY


def _stored(
    model: AdaptedModel, side: str, items: Sequence[Any], progress: Callable[[float], None]
) -> StoredFeatures:
    """Features on disk, computed a block at a time where nobody has before."""
    contents = (item if side == "caption" else item.key for item in items)

    def blocks() -> Iterator[Features]:
        done = 0
        prepared = (
            _training_blocks(model, items)
            if side == "image"
            else map(model.caption_block, in_blocks(items, _BLOCK))
        )
        for data in prepared:
            count = _count(data, side)
            with torch.no_grad():
                yield model.features(data, torch.arange(count), side)
            done += count
            progress(done / len(items))

    return stored_features(features_key(model.features_key, side, contents), blocks())


def _optimizer(model: AdaptedModel, config: AdaptConfig) -> torch.optim.AdamW:
    two = list(model.head.calibration.parameters())
    apart = {id(p) for p in two}
    base = [p for p in model.module.parameters() if p.requires_grad and id(p) not in apart]
    groups: list[dict[str, Any]] = [{"params": two, "lr": _CALIBRATION_LR, "weight_decay": 0.0}]
    if base:
        groups.append({"params": base, "lr": model.rate, "weight_decay": config.weight_decay})
    adam = torch.optim.AdamW(groups)
    for group in adam.param_groups:
        group["first_lr"] = group["lr"]
    return adam


def schedule(step: int, steps: int) -> float:
    """Share of the learning rate that a step uses: up in a straight line for 5 % of the run, then a cosine down to 5 %.

    The paper names a learning rate and no schedule; from scratch a transformer wants one.
    """
    warm = max(1, steps // 20)
    if step < warm:
        return (step + 1) / warm
    return 0.05 + 0.95 * (1 + cos(pi * (step - warm) / max(1, steps - warm))) / 2


def _centre(
    model: AdaptedModel,
    material: TrainingQueries,
    config: AdaptConfig,
    images: EncoderInputs,
    captions: EncoderInputs,
) -> None:
    """Start the bias where the mean logit of a first batch is the log odds of a pair that belongs together."""
    image_rows, query_rows, labels = next(material.batches(config, 0))
    with torch.no_grad():
        table = model.head.table(
            model.head.image(images.features(image_rows)), model.head.caption(captions.features(query_rows))
        )
        share = float(labels.mean())
        odds = float(np.log(share / (1 - share)))
        calibration = model.head.calibration
        calibration.bias.fill_(odds - float((calibration.log_scale.exp() * table).mean()))


def _epoch(
    model: AdaptedModel,
    material: TrainingQueries,
    config: AdaptConfig,
    epoch: int,
    inputs: tuple[EncoderInputs, EncoderInputs],
    optimizer: torch.optim.AdamW,
    stop: Callable[[], bool] | None,
) -> Iterator[float]:
    """The losses of an epoch's steps."""
    images, captions = inputs
    steps = material.steps(config)
    done = (epoch - 1) * steps
    # Dropout draws from the generator of torch: a resumed run must draw the same.
    torch.manual_seed(int(np.random.default_rng([config.seed, epoch, 9]).integers(2**31)))
    model.module.train()
    try:
        for image_rows, query_rows, labels in material.batches(config, epoch):
            if stop is not None and stop():
                raise TrainingStopped
            first = model.head.image(images.features(image_rows))
            second = model.head.caption(captions.features(query_rows))
            loss = model.pair_loss(first, second, torch.from_numpy(labels).to(model.device))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            for group in optimizer.param_groups:
                group["lr"] = group["first_lr"] * schedule(done, config.epochs * steps)
            done += 1
            optimizer.step()
            value = float(loss.detach())
            if not np.isfinite(value):
                raise TrainingDivergedError(
                    f"The training loss is no longer a finite number at a learning rate of {model.rate:g}; lower lr."
                )
            yield value
    finally:
        model.module.zero_grad(set_to_none=True)
        model.module.eval()
