"""From a model's scores to what it is trained on: one scoring pass, its pseudo-labels and the selection among them.

Captions are kept in an order of their own (by hash), and so are scored pairs and batches: the order of the captions
within a group cannot reach a score, a selection or a training batch. A group whose best matching is tied carries no
information, and picking one of the tied matchings could favour the order of the file, so it is never selected.
Sources: [TTM] sections 3.2, 3.2.1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

import numpy as np

from core.groups import GroupSet
from core.matching.global_match import match_global
from core.matching.groups import Matches, match
from core.scorers.base import Prepared, Trainable
from core.scorers.gradient_caching import MicroBatchSearch
from core.ttm.config import TrainConfig, TTMConfig

# Images that pass a model at once when it scores, before memory runs out for the first time.
_SCORED = 256


class PreparedGroups(NamedTuple):
    """Everything about the groups that training and scoring need, prepared once per run."""

    data: Prepared
    images: np.ndarray  # (n, m) into data
    captions: np.ndarray  # (n, k) into data, whose captions are in the order of their hashes
    pairs: np.ndarray  # (p, 2) to score: distinct, sorted
    place: np.ndarray  # (n, m, k) into pairs; global variant (n m, n k)


def prepare(model: Trainable, groups: GroupSet, config: TrainConfig) -> PreparedGroups:
    blind = groups.blind()
    pictures, images = blind.unique_images()
    texts, captions = blind.unique_captions()
    # By hash: an alphabetical order may be the file's own, and would then break ties in favour of what is right.
    digests = [hashlib.sha256(text.encode(errors="replace")).digest() for text in texts]
    order = sorted(range(len(texts)), key=digests.__getitem__)
    captions = np.argsort(order)[captions]
    width = len(texts)
    if is_global(config):
        place = images.ravel()[:, None] * width + captions.ravel()[None, :]
        wanted = np.arange(len(pictures) * width)
    else:
        wanted, place = np.unique(images[:, :, None] * width + captions[:, None, :], return_inverse=True)
    pairs = np.stack([wanted // width, wanted % width], axis=1)
    cropped = config.augmentation == "resize-crop"
    more = {"crop_factor": config.crop_factor} if cropped else {}  # a plugin's model may know no crops
    data = model.prepare(pictures, [texts[i] for i in order], **more)
    shape = (*images.shape, captions.shape[1])
    return PreparedGroups(data, images, captions, pairs, place if is_global(config) else place.reshape(shape))


def is_global(config: TrainConfig) -> bool:
    return isinstance(config, TTMConfig) and config.variant == "global"


class ScoredGroups(NamedTuple):
    """One scoring pass: it evaluates an iteration and labels the next."""

    scores: np.ndarray  # (n, m, k)
    matches: Matches
    global_scores: np.ndarray | None
    labels: np.ndarray  # (n, m) pseudo-labels, as TTMStep.matching
    confidence: np.ndarray  # (n,) margins, or (n, m) scores of the matched pairs
    usable: np.ndarray  # as confidence, bool
    seconds: float  # in the model
    fits: int | None = (
        None  # images that pass the model at once, where memory ran out; None: as many as usual
    )
    note: str = ""  # where memory ran out


# Another rule for what is trained on, in place of the induced matchings: of a ledger's controls (`_controls.py`).
# Labels and confidences are of whole groups, or of single images as in the global variant.
Relabel = Callable[[PreparedGroups, ScoredGroups], ScoredGroups]


def score_and_match(
    model: Trainable, inputs: PreparedGroups, config: TrainConfig, fits: int | None = None
) -> ScoredGroups:
    """Score every pair once. fits : images that pass the model at once, found by a look before."""
    started, fitting = perf_counter(), MicroBatchSearch("images", fits)

    def score(size: int | None) -> np.ndarray:
        return model.score_prepared(inputs.data, inputs.pairs, **({} if size is None else {"batch": size}))

    found = fitting.run(score, _SCORED)
    seconds = perf_counter() - started
    scores = found[inputs.place]
    seen = match_scored(inputs, scores, scores if is_global(config) else None, seconds)
    return seen._replace(fits=fitting.size, note=fitting.note)


def match_scored(
    inputs: PreparedGroups, scores: np.ndarray, everything: np.ndarray | None, seconds: float = 0.0
) -> ScoredGroups:
    if everything is None:
        matches = match(scores)
        return ScoredGroups(scores, matches, None, matches.matching, matches.margin, ~matches.tied, seconds)
    (n, m), k = inputs.images.shape, inputs.captions.shape[1]
    own = everything.reshape(n, m, n, k)[np.arange(n), :, np.arange(n)]  # (n, m, k)
    # Columns in the hashes' order, so that equal totals are not decided by the place in the file or in a group.
    order = np.argsort(inputs.captions.ravel(), kind="stable")
    labels = order[match_global(everything[:, order])]
    confidence = everything[np.arange(n * m), labels].reshape(n, m)
    usable = np.ones((n, m), dtype=bool)
    return ScoredGroups(own, match(own), everything, labels.reshape(n, m), confidence, usable, seconds)


def select(config: TTMConfig, tau: float, seen: ScoredGroups) -> np.ndarray:
    """S_t as a mask like `seen.confidence`: at or above the threshold, or among the top 1 - tau in relative mode."""
    level = tau
    if config.threshold_mode == "relative":
        keep = TTMConfig.count_of(1.0 - tau, seen.confidence.size)
        level = np.sort(seen.confidence, axis=None)[-keep] if keep else np.inf
    return seen.usable & (seen.confidence >= level)


class TrainingRows(NamedTuple):
    """What to train on, indices into the prepared input: whole groups, or single pairs in the global variant."""

    images: np.ndarray  # (s, r)
    captions: np.ndarray  # (s, r), their pseudo-labels
    offered: np.ndarray | None  # (s, k), all captions of a group; None for pairs


def rows_of(inputs: PreparedGroups, labels: np.ndarray, selected: np.ndarray) -> TrainingRows:
    if selected.ndim == 2:
        captions = inputs.captions.ravel()[labels[selected]]
        return TrainingRows(inputs.images[selected][:, None], captions[:, None], None)
    offered = inputs.captions[selected]
    own = np.take_along_axis(offered, labels[selected], axis=1)
    # In the order of the hashes: not even a sum may depend on the captions' order in the file.
    return TrainingRows(inputs.images[selected], own, np.sort(offered, axis=1))
