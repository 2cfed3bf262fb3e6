"""The one training loop: adaptation of a `Trainable` to matched pairs or groups, reproducible to the byte.

Everything random comes from (seed, iteration, epoch), so a run that is resumed needs no stored generator state.
Sources: [TTM] section 4.1 and appendix C.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from math import ceil
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch.nn.modules.batchnorm import _BatchNorm

from core.base.errors import InputError
from core.base.limits import memory_left
from core.base.public_mode import is_public
from core.scorers.base import Batch, GroupTrainable, Prepared, Trainable, TwoTower
from core.scorers.gradient_caching import (
    MicroBatchSearch,
    backward,
    backward_two_towers,
    fixed_random_state,
)
from core.ttm._augmentation import AugmentedInputs, Inputs, augmented, drawn_once
from core.ttm.config import TrainConfig

# A batch may grow by this share to spare a tiny last one: for 102 groups it is 51 in place of 50 ([TTM] C.1).
_ENLARGE = 0.1
_FUSED = {"cpu", "cuda"}
_PAIRS = "pairs of a batch"
_PUBLIC_PAIRS = 64  # at once on a public server: a third of a run's memory less
_LARGE = 64 << 20  # bytes of weights: the batches of smaller models fit
_WHOLE = (
    "The loss of this model depends on all pairs of a batch; leave micro_batch out and lower batch instead."
)


class TrainingStopped(Exception):
    """Training was asked to stop; the model is somewhere between two iterations."""


# Batches and what is trained


def batch_size(count: int, batch: int) -> int:
    """The batch to use for a data set of `count` groups: enlarged by at most 10 % where that spares a small last one.

    It stays the same in all iterations, however many groups they select ([TTM] C.1, footnote 6).

    >>> [batch_size(102, 50), batch_size(100, 50), batch_size(75, 50), batch_size(20, 50)]
    [51, 50, 50, 20]
    """
    if count <= batch:
        return count
    enlarged = ceil(count / (count // batch))
    return enlarged if enlarged <= (1 + _ENLARGE) * batch else batch


def batches(indices: np.ndarray, batch: int, generator: torch.Generator) -> list[np.ndarray]:
    """The indices (s,) in a random order, cut into batches; the last may be smaller."""
    order = torch.randperm(len(indices), generator=generator).numpy()
    return [indices[order[start : start + batch]] for start in range(0, len(indices), batch)]


def generator_for(seed: int, iteration: int, epoch: int) -> torch.Generator:
    """A generator that depends on these three numbers alone (epoch -1: what the model itself draws, as dropout)."""
    state = np.random.SeedSequence((seed, iteration, epoch + 1)).generate_state(1)[0]
    return torch.Generator().manual_seed(int(state))


def trained_parameters(module: torch.nn.Module, patterns: Sequence[str]) -> list[torch.nn.Parameter]:
    """The trainable parameters whose names fit one of the patterns; all of them for no pattern."""
    free = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
    chosen = [
        p for name, p in free if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
    ]
    if not chosen:
        some = ", ".join(name for name, _ in free[:3])
        raise InputError(
            f"No parameter of this model fits {list(patterns)}; its parameters are named as {some}, ..."
        )
    return chosen


class FitReport(NamedTuple):
    """What one iteration of training did."""

    losses: np.ndarray  # float64 (steps,)
    loss: float  # their mean
    lr: float  # at the first step
    gradient_norm: float  # mean over steps, before clipping
    gradient_norm_max: float
    seconds: float
    seconds_in_model: float  # forward, backward and optimizer step alone
    optimizer: dict[str, Any] | None  # AdamW's state where it is kept; its tensors live on in the next call
    micro_batch: int | None  # pairs that passed the model at once; None: whole batches
    note: str  # where memory ran out


def fit(
    model: Trainable,
    data: Prepared,
    images: np.ndarray,
    captions: np.ndarray,
    config: TrainConfig,
    *,
    batch: int,
    offered: np.ndarray | None = None,
    iteration: int = 1,
    optimizer: dict[str, Any] | None = None,
    micro: int | None = None,
    progress: Callable[[float, str], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> FitReport:
    """Train `model` in place on matched pairs for `config.epochs` epochs.

    Parameters
    ----------
    images, captions : int (n, r), indices into `data`; caption [g, i] is image [g, i]'s pseudo-label. A row (a group,
        or one pair in the global variant) is never torn apart: its r pairs share a batch, in image order.
    batch : rows per batch.
    offered : int (n, k), all captions of a row's group, for a model that learns what to tell apart (`GroupTrainable`);
        None where there are no groups.
    optimizer : AdamW's state from the iteration before, where it is kept.
    micro : pairs that pass the model at once, found in an iteration before; None: `config.micro_batch`, on a public
        server 64, on a CPU what fits into its memory, and half of it for as long as memory runs out. The loss is that
        of the whole batch all the same.
    progress : called after every step with the share done and a message. stop : asked before every step.

    Raises InputError where the loss is not finite, Stopped where `stop` says so. Same seed, same machine: same bytes.
    Source: [TTM] Algorithm 1, line 8, and C.1.
    """
    started, clock = perf_counter(), _Clock()
    rows = np.arange(len(images))
    steps = config.epochs * ceil(len(rows) / batch)
    fitting = MicroBatchSearch(
        _PAIRS, micro or config.micro_batch or (_PUBLIC_PAIRS if is_public() else None)
    )
    grouped = model if isinstance(model, GroupTrainable) else None
    losses: list[torch.Tensor] = []
    norms: list[torch.Tensor] = []
    limited = False
    with _training(model, config, iteration) as parameters, _keeping(grouped, config):
        adam = _adamw(parameters, config, model.device, optimizer)
        for epoch in range(config.epochs):
            generator = generator_for(config.seed, iteration, epoch)
            shown = augmented(data, config.augmentation, generator, model.device)
            read = partial(_read, model, shown, (images, captions, offered))
            for pairs, inputs in _prefetched(read, batches(rows, batch, generator), model.device):
                if stop is not None and stop():
                    raise TrainingStopped
                for group in adam.param_groups:
                    group["lr"] = config.learning_rate(iteration, len(losses), steps)
                if inputs is not None and isinstance(model, TwoTower):
                    if not limited:
                        _limit(model, inputs, fitting, batch * images.shape[1])
                        limited = True
                    losses.append(_backward(model, inputs, config, clock, fitting))
                elif grouped is not None:
                    losses.append(_backward_groups(grouped, shown, pairs, config, clock, fitting))
                else:
                    losses.append(_backward_whole(model, shown, pairs, config, clock))
                norms.append(_gradient_norm(parameters, config.clip_norm))
                with clock:
                    adam.step()
                    adam.zero_grad(set_to_none=True)
                if progress is not None:
                    progress(len(losses) / steps, f"epoch {epoch + 1} of {config.epochs}")
            _check_finite(losses[-ceil(steps / config.epochs) :], config, clock)
        state = adam.state_dict() if config.keep_optimizer else None
    loss, norm = (torch.stack(values).double().cpu().numpy() for values in (losses, norms))
    first, seconds = config.learning_rate(iteration, 0, steps), perf_counter() - started
    times = (seconds, clock.seconds)
    return FitReport(
        loss, loss.mean(), first, norm.mean(), norm.max(), *times, state, fitting.size, fitting.note
    )


class _Clock:
    """Sums the time inside `with clock:`; augmentation of what a model reads inside its loss is taken out."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self._entered = perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds += perf_counter() - self._entered

    def without_augmentation(self, data: Prepared) -> Prepared:
        """`data`, the time of its augmentation not counted."""
        if not isinstance(data, AugmentedInputs):
            return data
        draw = data.draw

        def timed(index: torch.Tensor) -> Inputs:
            started = perf_counter()
            drawn = draw(index)
            self.seconds -= perf_counter() - started
            return drawn

        return replace(data, draw=timed)


Item = TypeVar("Item")
Made = TypeVar("Made")


class _Rows(NamedTuple):
    """Rows of a batch, indices into the prepared input, int64."""

    images: torch.Tensor  # (b, r)
    captions: torch.Tensor  # (b, r), those that belong to them
    offered: torch.Tensor | None  # (b, k), all captions of a row's group

    @property
    def pairs(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self.images.flatten(), self.captions.flatten()


def _prefetched(make: Callable[[Item], Made], items: Iterable[Item], device: torch.device) -> Iterator[Made]:
    """make(item) of each in order; for a GPU the next one is made while it works on this one.

    A CPU works on it itself: a further thread cost more than it hid, because OpenMP's threads, then more than cores,
    no longer wait for each other awake (1.45 times as long, benchmarks/LOG.md).
    """
    if device.type == "cpu":
        yield from map(make, items)
        return
    waiting: list[Future[Made]] = []
    with ThreadPoolExecutor(1) as pool:
        for item in items:
            waiting.append(pool.submit(make, item))
            if len(waiting) > 1:
                yield waiting.pop(0).result()
        if waiting:
            yield waiting.pop().result()


def _read(
    model: Trainable,
    data: Prepared,
    index: tuple[np.ndarray, np.ndarray, np.ndarray | None],
    chosen: np.ndarray,
) -> tuple[_Rows, Batch | None]:
    """Some rows of `index`, and the inputs of their pairs on the device; none for models that read pairs themselves."""
    rows = _Rows(*(None if part is None else torch.from_numpy(part[chosen]) for part in index))  # type: ignore[arg-type]
    inputs = model.batch(data, *rows.pairs) if isinstance(model, TwoTower) else None
    return rows, inputs


def _backward_whole(
    model: Trainable,
    data: Prepared,
    rows: _Rows,
    config: TrainConfig,
    clock: _Clock,
) -> torch.Tensor:
    """Loss of one batch of a model whose pairs look at each other, its gradients left on the parameters."""
    if config.micro_batch is not None:
        raise InputError(_WHOLE)
    with clock:
        with backward_two_towers(model.device, config.precision == "bfloat16"):
            loss = model.loss(clock.without_augmentation(data), *rows.pairs)
        loss.backward()
        return loss.detach()


def _backward_groups(
    model: GroupTrainable,
    data: Prepared,
    rows: _Rows,
    config: TrainConfig,
    clock: _Clock,
    fitting: MicroBatchSearch,
) -> torch.Tensor:
    """Loss of one batch of a model that learns from whole groups, its gradients left on the parameters.

    A mean over groups that do not look at each other: as many of them at a time as there is memory for.
    """
    data, reduced = drawn_once(data, rows.images.flatten()), config.precision == "bfloat16"
    offered, images, captions = rows.offered, rows.images, rows.captions
    if offered is None:
        images, captions = (part[:, None] for part in rows.pairs)
        offered = model.neighbours(captions.flatten())
    pairs = images.shape[1] * offered.shape[1]  # of a group

    def attempt(size: int | None) -> torch.Tensor:
        step = len(images) if size is None else max(1, size // pairs)
        found = []
        for part in zip(images.split(step), captions.split(step), offered.split(step), strict=True):
            with backward_two_towers(model.device, reduced):
                loss = model.group_losses(data, *part).sum() / len(images)
            loss.backward()
            found.append(loss.detach())
        return torch.stack(found).sum()

    with clock, fixed_random_state(model.device) as again:

        def undo() -> None:
            again()
            model.module.zero_grad(set_to_none=True)

        return fitting.run(attempt, len(images) * pairs, undo)


def _keeping(model: GroupTrainable | None, config: TrainConfig) -> AbstractContextManager[None]:
    """What is encoded of a picture is kept while it comes as it is."""
    if model is None or config.augmentation != "none":
        return nullcontext()
    return model.keeping_encodings()


def _backward(
    model: TwoTower, batch: Batch, config: TrainConfig, clock: _Clock, fitting: MicroBatchSearch
) -> torch.Tensor:
    """Loss of one batch of a two-tower model, its gradients left on the parameters."""
    reduced = config.precision == "bfloat16"

    def attempt(size: int | None) -> torch.Tensor:
        return backward(model, batch, size, reduced)

    with clock, fixed_random_state(model.device) as again:

        def undo() -> None:
            again()
            model.module.zero_grad(set_to_none=True)

        return fitting.run(attempt, len(batch), undo)


def _limit(model: TwoTower, batch: Batch, fitting: MicroBatchSearch, pairs: int) -> None:
    """Let fewer pairs pass a large model at once where a batch would not fit into the memory of this machine.

    Counted on the first two; the random state stays. Normalisation over the batch could not be undone.
    """
    weights = sum(p.numel() * p.element_size() for p in model.module.parameters())
    whole = any(isinstance(m, _BatchNorm) for m in model.module.modules())
    if model.device.type != "cpu" or weights < _LARGE or fitting.size is not None or whole:
        return
    few = batch.split(2)[0]
    with fixed_random_state(model.device) as again, MicroBatchSearch.kept(model.module) as kept:
        model.embed(few)
        again()
    # Gradients and AdamW's two moments come with the first step.
    fitting.limit(max(1, sum(kept.values()) // len(few)), pairs, memory_left() - 3 * weights)


def _gradient_norm(parameters: list[torch.nn.Parameter], limit: float | None) -> torch.Tensor:
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(gradients)
    if limit is not None:
        torch.nn.utils.clip_grads_with_norm_(parameters, limit, norm)
    return norm


def _check_finite(losses: list[torch.Tensor], config: TrainConfig, clock: _Clock) -> None:
    # Once per epoch: reading the loss waits for an accelerator, and that wait is the model's own time.
    with clock:
        finite = bool(torch.isfinite(torch.stack(losses)).all())
    if not finite:
        raise InputError(
            f"The training loss is no longer a finite number at a learning rate of {config.lr:g}; "
            "lower lr, or set clip_norm."
        )


def _adamw(
    parameters: list[torch.nn.Parameter],
    config: TrainConfig,
    device: torch.device,
    state: dict[str, Any] | None,
) -> torch.optim.AdamW:
    fused = device.type in _FUSED
    adam = torch.optim.AdamW(
        parameters, lr=config.lr, betas=config.betas, weight_decay=config.weight_decay, fused=fused
    )
    if state is not None:
        adam.load_state_dict(state)
    return adam


@contextmanager
def _training(model: Trainable, config: TrainConfig, iteration: int) -> Iterator[list[torch.nn.Parameter]]:
    """Training mode with only the chosen parameters free and the model's own randomness seeded; undone at the end."""
    module, before = model.module, model.module.training
    chosen = trained_parameters(module, config.parameters)
    kept = {id(p) for p in chosen}
    frozen = [p for p in module.parameters() if p.requires_grad and id(p) not in kept]
    accelerators = [model.device] if model.device.type == "cuda" else []
    with torch.random.fork_rng(accelerators):
        torch.manual_seed(generator_for(config.seed, iteration, -1).initial_seed())
        module.train()
        for parameter in frozen:
            parameter.requires_grad_(False)
        try:
            yield chosen
        finally:
            module.zero_grad(set_to_none=True)
            module.train(before)
            for parameter in frozen:
                parameter.requires_grad_(True)
