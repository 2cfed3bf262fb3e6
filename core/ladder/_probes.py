"""Linear probes of what a tower gives, and one linear map between two towers: scores (n, m, m) of held-out groups.

All of them are trained by one loss, on groups of the training split: every picture is told from the others of its
group by caption, and every caption by picture. A probe knows one side of the pair exactly, as facts, and reads the
other from a tower: a linear score of every fact, of a pooled vector, or of every token and then their soft maximum
(logsumexp), summed over the facts that are asked for. The map knows neither side: it turns the caption vectors before
their cosines with the image vectors, and starts as the identity, which is the model itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional as F

# Half as many steps at twice these rates find less: 70 % in place of 84 in clip's caption tokens on size-swap.
_STEPS, _BATCH = 300, 256
_PROBE_RATE, _MAP_RATE = 1e-2, 3e-3
# Times the squared weights of a probe, and the squared distance of a map from the identity. On validation groups a
# third or three times as much moves a rung by a point.
_DECAY, _MAP_DECAY = 3e-3, 1e-3


class Problem(NamedTuple):
    """Groups as what is known of them.

    asked : int64 (n, u), the facts of the vocabulary that are asked for in a group; shorter rows end in others that no
    picture of the group has. facts : float32 (n, m, u), 1 where a picture has one of them. captions : int64 (n, m), the
    caption that tells them. size : how many facts the vocabulary has.
    """

    asked: torch.Tensor
    facts: torch.Tensor
    captions: torch.Tensor
    size: int

    @classmethod
    def of(cls, facts: np.ndarray, captions: np.ndarray) -> Problem:
        """facts : float32 (n, m, size), over the whole vocabulary."""
        occurs = facts.max(axis=1)
        asked = np.argsort(-occurs, axis=1, kind="stable")[:, : int(occurs.sum(axis=1).max())]
        few = np.take_along_axis(facts, asked[:, None], axis=2)
        known = torch.from_numpy(captions.astype(np.int64))
        return cls(torch.from_numpy(asked), torch.from_numpy(few), known, facts.shape[2])

    def rows(self, index: torch.Tensor) -> Problem:
        return Problem(self.asked[index], self.facts[index], self.captions[index], self.size)

    def shuffled(self, seed: int) -> Problem:
        """With the facts, and the captions, of every group dealt anew to its pictures: labels that know nothing."""
        generator = _generator(seed)
        first, second = (
            torch.rand(self.captions.shape, generator=generator).argsort(dim=1) for _ in range(2)
        )
        facts = self.facts.gather(1, first[:, :, None].expand_as(self.facts))
        return self._replace(facts=facts, captions=self.captions.gather(1, second))

    @property
    def told(self) -> torch.Tensor:
        """Facts by caption, (n, m, u)."""
        pictures = self.captions.argsort(dim=1)
        return self.facts.gather(1, pictures[:, :, None].expand_as(self.facts))


_Scores = Callable[[Problem, tuple[torch.Tensor, ...], torch.Tensor], torch.Tensor]


def probe(
    side: str,
    train: Problem,
    test: Problem,
    features: torch.Tensor,
    held_out: torch.Tensor,
    masks: tuple[torch.Tensor, torch.Tensor] | None = None,
    seed: int = 0,
) -> np.ndarray:
    """Scores float32 (n, m, m) of the test groups, pictures by captions, with one `side` known exactly.

    side : "image" or "caption", what is read from features (n, m, d) or (n, m, length, h) of the training groups; the
    other is known. held_out : those of the test groups. masks : of the tokens of both, False where there is padding.
    """
    used = features.reshape(-1, features.shape[-1]) if masks is None else features[masks[0]]
    mean, spread = used.mean(dim=0), used.std(dim=0) + 1e-5
    inputs, others = ((part - mean) / spread for part in (features, held_out))
    of_train, of_test = (None, None) if masks is None else masks

    def scores(problem: Problem, x: tuple[torch.Tensor, ...], weights: torch.Tensor) -> torch.Tensor:
        columns = F.embedding(problem.asked, weights)  # (b, u, h): of the facts that are asked for alone
        found = x[0].flatten(1, -2) @ columns.transpose(1, 2)
        found = found.unflatten(1, x[0].shape[1:-1])  # (b, m, u) or (b, m, length, u)
        if found.ndim == 4:
            found = _soft_maximum(found, x[1] if len(x) > 1 else None)
        if side == "image":
            return found @ problem.told.transpose(1, 2)
        return problem.facts @ found.transpose(1, 2)

    start = torch.zeros(train.size, features.shape[-1])
    parts = (inputs,) if of_train is None else (inputs, of_train)
    weights = _trained(scores, train, parts, start, _PROBE_RATE, _DECAY, seed)
    with torch.no_grad():
        return scores(test, (others,) if of_test is None else (others, of_test), weights).numpy()


def linear_map(
    train: Problem,
    test: Problem,
    features: tuple[torch.Tensor, torch.Tensor],
    held_out: tuple[torch.Tensor, torch.Tensor],
    scale: float,
    seed: int = 0,
) -> np.ndarray:
    """Scores float32 (n, m, m) of the test groups: cosines of image vectors with linearly mapped caption vectors.

    features, held_out : pooled vectors of images and captions, (n, m, d) each. scale : of the model's cosines.
    """

    def scores(problem: Problem, x: tuple[torch.Tensor, ...], weights: torch.Tensor) -> torch.Tensor:
        images, captions = F.normalize(x[0], dim=-1), F.normalize(x[1] @ weights, dim=-1)
        return scale * images @ captions.transpose(1, 2)

    inputs, others = (tuple(F.normalize(part, dim=-1) for part in each) for each in (features, held_out))
    start = torch.eye(inputs[1].shape[-1])
    weights = _trained(scores, train, inputs, start, _MAP_RATE, _MAP_DECAY, seed)
    with torch.no_grad():
        return scores(test, others, weights).numpy()


def _soft_maximum(values: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """Over the tokens (b, m, length, facts) that are no padding; of equal values that value, however many there are."""
    if mask is None:
        return values.logsumexp(dim=2) - float(np.log(values.shape[2]))
    found = values.masked_fill(~mask[..., None], float("-inf")).logsumexp(dim=2)
    return found - mask.sum(dim=2, keepdim=True).log()


def _trained(
    scores: _Scores,
    problem: Problem,
    inputs: tuple[torch.Tensor, ...],
    start: torch.Tensor,
    rate: float,
    decay: float,
    seed: int,
) -> torch.Tensor:
    """Weights that tell pictures and captions of the training groups apart, near `start`."""
    weights, generator = start.clone().requires_grad_(), _generator(seed)
    optimizer = torch.optim.Adam([weights], rate)
    for _ in range(_STEPS):
        rows = torch.randint(len(problem.facts), (_BATCH,), generator=generator)
        batch = problem.rows(rows)
        loss = _pair_loss(scores(batch, tuple(part[rows] for part in inputs), weights), batch.captions)
        optimizer.zero_grad()
        (loss + decay * ((weights - start) ** 2).sum()).backward()
        optimizer.step()
    return weights.detach()


def _pair_loss(scores: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
    """Cross-entropies of every picture's caption and every caption's picture, scores (b, m, m), captions (b, m)."""
    rows = F.cross_entropy(scores.flatten(0, 1), captions.flatten())
    columns = F.cross_entropy(scores.transpose(1, 2).flatten(0, 1), captions.argsort(dim=1).flatten())
    return rows + columns


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
