"""What generative models learn in a group, and the encodings that they keep where what reads images is frozen."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psutil
import torch
from torch.nn import functional as F

from core.scorers._pairwise import PairScorer
from core.scorers.base import GroupTrainable, Prepared

_SHARE = 0.25  # of the free memory, that what is kept may fill


class Keeper:
    """Things by number, kept as long as they fit into a share of the memory that was free at first."""

    def __init__(self) -> None:
        self.things: dict[int, Any] = {}
        self._room = _SHARE * psutil.virtual_memory().available

    def missing(self, numbers: Sequence[int]) -> list[int]:
        """Those of these numbers that are not kept."""
        return [number for number in numbers if number not in self.things]

    def keep(self, number: int, thing: Any) -> None:
        """Keep a thing where there is room for it."""
        size = _bytes(thing)
        if size <= self._room:
            self.things[number] = thing
            self._room -= size


def _bytes(thing: Any) -> int:
    if isinstance(thing, torch.Tensor):
        return thing.numel() * thing.element_size()
    parts = thing.values() if hasattr(thing, "values") else thing if isinstance(thing, list | tuple) else ()
    return sum(map(_bytes, parts))


class Groupwise(PairScorer, GroupTrainable):
    """A pair model that adapts to groups. A family says how pairs are read, a kind of score what is learned of them."""

    _kept: Keeper | None = None  # encodings of images by their number, where nothing that reads images learns

    @abstractmethod
    def _read_pairs(self, data: Prepared, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        """What is learned of pairs (images[p], captions[p]), int64 (p,) each, with gradients: (p, ...)."""

    @abstractmethod
    def _image_reader(self) -> list[torch.nn.Parameter]:
        """The weights that an image's encoding depends on."""

    def _read_groups(self, data: Prepared, images: torch.Tensor, offered: torch.Tensor) -> torch.Tensor:
        """The same of every image of a group with every caption that it is offered: (g, m, k, ...)."""
        shape = (*images.shape, offered.shape[1])
        i, j = images[:, :, None].expand(shape), offered[:, None, :].expand(shape)
        return self._read_pairs(data, i.flatten(), j.flatten()).unflatten(0, shape)

    @contextmanager
    def keeping_encodings(self) -> Iterator[None]:
        if not any(p.requires_grad for p in self._image_reader()):
            self._kept = Keeper()
        try:
            yield
        finally:
            self._kept = None


class AnswerLearner(Groupwise):
    """VQAScore: "Yes" for an image's pseudo-label, "No" for the other captions of its group."""

    yes: int

    @property
    @abstractmethod
    def no(self) -> int:
        """The token of the other answer."""

    def group_losses(
        self, data: Prepared, images: torch.Tensor, captions: torch.Tensor, offered: torch.Tensor
    ) -> torch.Tensor:
        """Cross-entropy of the answer's first token over the whole vocabulary, averaged over the pairs of a group."""
        logits = self._read_groups(data, images, offered)  # (g, m, k, vocabulary)
        own = captions[:, :, None] == offered[:, None, :]
        answers = torch.where(own, self.yes, self.no).to(logits.device)
        losses = F.cross_entropy(logits.flatten(0, 2), answers.flatten(), reduction="none")
        return losses.view(len(images), -1).mean(dim=1)


class CaptionLearner(Groupwise):
    """VisualGPTScore: the pseudo-label made likelier."""

    contrastive = False  # whether it is made likelier than the other captions of its group

    def group_losses(
        self, data: Prepared, images: torch.Tensor, captions: torch.Tensor, offered: torch.Tensor
    ) -> torch.Tensor:
        """Minus the scores of the pseudo-labels, the mean log-likelihood of their tokens, averaged over images.

        contrastive : cross-entropy of the pseudo-label under a softmax of the scores of the group's captions.
        """
        if self.contrastive:
            scores = self._read_groups(data, images, offered)  # (g, m, k)
            others = (captions[:, :, None] != offered[:, None, :]).to(scores.device)
            own = scores.masked_fill(others, -torch.inf).logsumexp(dim=-1)
            return (scores.logsumexp(dim=-1) - own).mean(dim=1)
        return -self._read_pairs(data, images.flatten(), captions.flatten()).view(captions.shape).mean(dim=1)
