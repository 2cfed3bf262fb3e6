"""Groups on embeddings that test-time matching can work on in milliseconds, and what tests ask about them."""

from __future__ import annotations

from functools import partial

import numpy as np

from core.datasets.embeddings import RowImage
from core.groups import Group, GroupSet
from core.metrics import groups as metrics
from core.runs.description import Iteration
from core.runs.resume import _write_checkpoint
from core.scorers.embedding import EmbeddingModel
from core.ttm import _checkpoint


def world(n=60, m=2, k=2, seed=0, size=12, useful=4, signal=0.6):
    """Groups on embeddings whose first `useful` numbers say what belongs together, and the rest is noise.

    A map that turns the noise down is better on every group: the case test-time matching is made for.
    """
    rng = np.random.default_rng(seed)
    meaning = rng.normal(size=(n, k, useful))
    if (m, k) == (2, 2):
        meaning[:, 1] = -meaning[:, 0]

    def rows(part):
        noise = rng.normal(size=(n, part.shape[1], size - useful))
        return np.concatenate([signal * part, noise], axis=2).reshape(-1, size)

    captions, images = rows(meaning), rows(meaning[:, :m])
    names = [f"caption {i}" for i in rng.permutation(n * k)]
    keys = [f"image {i}" for i in range(n * m)]
    groups = []
    for g in range(n):
        order = rng.permutation(k)
        texts = tuple(names[g * k + j] for j in order)
        own = tuple(int(np.flatnonzero(order == i)[0]) for i in range(m))
        groups.append(Group(str(g), tuple(RowImage(key) for key in keys[g * m : (g + 1) * m]), texts, own))
    return EmbeddingModel(images, captions, keys, names, scale=10.0), GroupSet("world", tuple(groups))


def percent(step, groups, name="group_match"):
    return 100 * metrics.outcomes(step.scores, groups.truth)[name].value.mean()


def weights(model):
    return b"".join(t.detach().cpu().numpy().tobytes() for t in model.module.state_dict().values())


def checkpointed(folder, step):
    """The checkpoint of a step of `run_ttm` in a run's folder."""
    save = partial(_checkpoint.save_state, state=step.state)
    return _write_checkpoint(folder, Iteration({"iteration": step.iteration}, {}, step.model, save))


def varied(config, **changes):
    """Settings with these in their place, None too."""
    return type(config)(**{**config.to_dict(), **changes})
