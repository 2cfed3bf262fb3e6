"""One batch's gradient in as little memory as there is: the contrastive loss of the whole batch, a few pairs at a time.

A contrastive loss needs every pair's embedding at once, but not every pair's activations. The embeddings are first
computed without gradients, then the loss and its gradient by embedding, then each part again with gradients, which
take over from there: the same loss and the same gradients as of the whole batch, for a second forward pass.
Source: gradient caching, Gao et al. 2021 (arXiv 2101.06983).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeVar

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.modules.batchnorm import _BatchNorm

from core.base.errors import InputError
from core.scorers._memory import SMALLER, is_out_of_memory
from core.scorers.base import Batch, TwoTower

T = TypeVar("T")
_ROOM = 0.7  # share of the memory that is left, for what a backward pass needs


def backward(model: TwoTower, batch: Batch, size: int | None, reduced: bool = False) -> torch.Tensor:
    """Loss of a batch of b pairs, its gradients added to the parameters'; a scalar without gradients.

    size : pairs that pass the model at once; None: all. reduced : the towers run in bfloat16 (autocast).
    Where the model draws random numbers (dropout), both passes of a part draw the same ones.
    """
    if size is None or size >= len(batch):
        with backward_two_towers(model.device, reduced):
            loss = model.contrast(*model.embed(batch))
        loss.backward()
        return loss.detach()
    _check_divisible(model.module)
    parts, states, embedded = batch.split(size), [], []
    with torch.no_grad(), backward_two_towers(model.device, reduced):
        for part in parts:
            states.append(_random_state(model.device))
            embedded.append(model.embed(part))
    # (b, d) each.
    images, captions = (torch.cat(column).requires_grad_() for column in zip(*embedded, strict=True))
    loss = model.contrast(images, captions)  # the scale and the bias get their gradients here
    loss.backward()
    assert images.grad is not None
    assert captions.grad is not None
    after = _random_state(model.device)
    gradients = zip(images.grad.split(size), captions.grad.split(size), strict=True)
    for part, state, gradient in zip(parts, states, gradients, strict=True):
        _set_random_state(model.device, state)
        with backward_two_towers(model.device, reduced):
            again = model.embed(part)
        # A tower that is not trained has nothing to pass its gradient on to.
        pairs = [(x, g) for x, g in zip(again, gradient, strict=True) if x.requires_grad]
        if pairs:
            torch.autograd.backward([x for x, _ in pairs], [g for _, g in pairs])
    _set_random_state(model.device, after)
    return loss.detach()


@contextmanager
def backward_two_towers(device: torch.device, reduced: bool) -> Iterator[None]:
    """A model's forward pass for training: in bfloat16 (autocast) where `reduced`, as it is otherwise."""
    with ExitStack() as stack:
        if reduced:
            stack.enter_context(torch.autocast(device.type, torch.bfloat16))
            if device.type == "cpu":
                # There the backward pass of torch's fused attention takes as long as all else together in bfloat16.
                stack.enter_context(sdpa_kernel(SDPBackend.MATH))
        yield


class MicroBatchSearch:
    """Halves a number of things that are done at once whenever memory runs out, and remembers what fits."""

    # What to do where not even one fits, for the error.
    advice = "choose a smaller model, or adapt this one with lora_rank (8, say), or with precision 'bfloat16'"

    def __init__(self, what: str, size: int | None = None) -> None:
        """`what` : the things, for the note. `size` : at most so many at once; None: no limit yet."""
        self.what, self.size, self.note = what, size, ""

    def run(self, work: Callable[[int | None], T], total: int, undo: Callable[[], None] | None = None) -> T:
        """`work(size)`, again with half the size while it runs out of memory; `undo` clears what it left behind.

        total : how many things there are. Raises InputError where not even one at a time fits.
        """
        while True:
            failed = False
            try:
                return work(self.size)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                failed = True
            # Outside the handler: the error holds every tensor of the attempt.
            if failed:
                self._halve(min(self.size or total, total))
                if undo is not None:
                    undo()
                _free_memory()

    def limit(self, each: int, total: int, left: int) -> None:
        """Where no size is set, one at which things that take `each` bytes fit into `left`, where all `total` do not.

        For a CPU, whose allocator hands out more than there is: the process would be killed without a word.
        """
        room = int(_ROOM * max(0, left))
        if self.size is None and each * total > room:
            self.size = max(1, room // each)
            self.note = (
                f"Memory is short: {self.what} pass the model {self.size} at a time, to the same result."
            )

    @staticmethod
    @contextmanager
    def kept(module: torch.nn.Module) -> Iterator[dict[int, int]]:
        """While inside, the bytes that are kept for a backward pass, by the place of their storage; weights aside."""
        weights = {parameter.untyped_storage().data_ptr() for parameter in module.parameters()}
        found: dict[int, int] = {}

        def keep(tensor: torch.Tensor) -> torch.Tensor:
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in weights:
                found[storage.data_ptr()] = storage.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            yield found

    def _halve(self, size: int) -> None:
        if size <= 1:
            raise InputError(f"Not even one of the {self.what} fits into memory at a time; {self.advice}.")
        self.size = (size + 1) // 2
        self.note = f"Memory ran out: {self.what} pass the model {self.size} at a time, to the same result."


class ScoringBatchSearch(MicroBatchSearch):
    """The same for a model that scores, with a warning where memory ran out."""

    advice = SMALLER

    def run(self, work: Callable[[int | None], T], total: int, undo: Callable[[], None] | None = None) -> T:
        """As for any; warns once for every new size."""
        before = self.note
        done = super().run(work, total, undo)
        if self.note != before:
            warnings.warn(self.note, stacklevel=2)
        return done


def _check_divisible(module: torch.nn.Module) -> None:
    """Raise InputError for a model whose loss cannot be had in parts: batch normalisation looks at the whole batch."""
    if any(isinstance(m, _BatchNorm) and m.training for m in module.modules()):
        raise InputError(
            "This model normalises over the batch, so its batch cannot pass in parts; leave micro_batch out and lower "
            "batch instead."
        )


@contextmanager
def fixed_random_state(device: torch.device) -> Iterator[Callable[[], None]]:
    """A function that puts the random state back to where it was on entering: for a second attempt."""
    state = _random_state(device)
    yield lambda: _set_random_state(device, state)


def _random_state(device: torch.device) -> tuple[torch.Tensor, torch.Tensor | None]:
    on_device = torch.cuda.get_rng_state(device) if device.type == "cuda" else None
    return torch.get_rng_state(), on_device


def _set_random_state(device: torch.device, state: tuple[torch.Tensor, torch.Tensor | None]) -> None:
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state(state[1], device)


def _free_memory() -> None:
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
