"""Estimating log P_train(t) of a set's captions: which images are sampled, and what they give ([VGPT] 3, 4).

[VGPT] section 4 and appendices B and D: Gaussian null images, the test set's own images, or training images; besides, a
blind language model's log P(t). Every image of a sample is encoded once for all captions, and every score goes through
the same cache on disk as any other. Nothing here sees truth, and nothing imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from core.base.errors import InputError, unknown_name
from core.base.text import counted
from core.datasets import names
from core.datasets.base import RETRIEVAL
from core.datasets.score_files import _advice, _not_log_probs, _read_prior_file
from core.debiasing.blind import check_blind
from core.debiasing.debias import group_prior, prior_from_samples
from core.groups import FileImage, GroupSet, ImageRef
from core.metrics.statistics import Clusters
from core.scenes.render import SceneImage
from core.scenes.training_data import training_scenes
from core.scorers.model_folder import read_config
from core.scorers.null_images import NULL_COUNTS, NullImage, null_count, null_images, null_pixels
from core.scorers.score_kinds import KINDS
from core.scorers.score_options import ScoreOptions
from core.scoring.cache import ScoreCache
from core.scoring.load import load_scorer, model_folder, scorer_kind
from core.scoring.scores import score_matrix

if TYPE_CHECKING:
    from core.scorers.base import Scorer
    from core.scorers.null_images import NullImage

_Progress = Callable[[int, int], None]
_Pixels = tuple[float | None, float | None]

# Real images per prior where nobody says. [VGPT] Table 6 takes 3 to 1000 of them; 3 of noise do as well.
_REAL_IMAGES = 30
LANGUAGE_MODEL = "builtin/blind-lm"
_ENDINGS = {".jpg", ".jpeg", ".png", ".webp", ".bmp"}


@dataclass(frozen=True)
class _PriorKind:
    """One way to estimate log P_train(t)."""

    label: str
    meaning: str
    sampled: bool = True  # from images, so that it can be had from more or fewer of them


PRIORS: dict[str, _PriorKind] = {
    "gaussian": _PriorKind(
        "Gaussian noise images",
        "The captioner is shown noise images: log of the mean of P(t | noise) over them.",
    ),
    "test": _PriorKind(
        "images of the set itself",
        "The mean over images of this set, whatever their captions, of P(t | image).",
    ),
    "train": _PriorKind("training images", "The mean over images of the training data of P(t | image)."),
    "lm": _PriorKind(
        "a blind language model",
        "The likelihood of the caption under another model, which sees no image.",
        sampled=False,
    ),
}

# Nats by which two log P(t) of one text may differ, as float32 sums of another batch do; a choice, not a measurement.
_SAME_TEXT = 1e-4


class Prior(NamedTuple):
    """log P_train(t) of a set's captions.

    values : float64 (n, k), one per caption of every group. kind : a name of `PRIORS`, or `file`. line : how it was
    made. samples : float32 (images, captions), log P(t | image) of the distinct captions; None for a language model.
    caption_index : int64 (n, k), the distinct caption of every group's captions. In a file one is known by its name,
    where all of this name are as likely; names which only count a group's captions stand for as many as there are.
    """

    values: np.ndarray
    kind: str
    line: str
    samples: np.ndarray | None
    caption_index: np.ndarray

    def __repr__(self) -> str:
        n, k = self.values.shape
        return f"<prior of {counted(k, 'caption')} in each of {n} groups: {self.line}>"

    @staticmethod
    def line_of(path: Path | str, samples: int, notes: Sequence[str] = ()) -> str:
        """How a prior of a file was made, for `line`. notes : what of it was not used, and what was matched by its
        order, a phrase each."""
        images = f", {samples} null images" if samples > 1 else ""
        return "; ".join([f"your file {Path(path).name}{images}", *notes])

    @classmethod
    def from_file(
        cls,
        path: Path | str,
        scores: np.ndarray,
        ids: Sequence[str],
        captions: np.ndarray | None = None,
        data: bytes | None = None,
    ) -> Prior:
        """log P(t) from a file, or its mean over the null images that the file has (`read_prior`).

        scores : (n, m, k), log P(t | image) of the same groups. captions, data : as in `read_prior`.
        Raises InputError where either is no log-likelihood, or the file is not of these captions; where both are
        wrong, it says both.
        """
        n, _, k = scores.shape
        try:
            cls.check_scores(scores, ids, captions)
        except InputError as wrong:
            try:
                _read_prior_file(path, ids, k, data, captions)
            except InputError as more:
                raise InputError(f"{wrong} {more}") from None
            raise
        held, notes = _read_prior_file(path, ids, k, data, captions)
        samples = held.reshape(-1, n * k)
        line = cls.line_of(path, len(samples), notes)
        values, index = prior_from_samples(samples).reshape(n, k), np.arange(n * k)
        if captions is not None:
            index = _texts(np.ravel(captions), samples)
        return cls(values, "file", line, samples if len(samples) > 1 else None, index.reshape(n, k))

    @staticmethod
    def check_scores(scores: np.ndarray, ids: Sequence[str], captions: np.ndarray | None = None) -> None:
        """Raise InputError for scores (n, m, k) that are not all log P(t | image), with the place of the first."""
        is_wrong = _not_log_probs(scores)
        if not is_wrong.any():
            return
        group, image, caption = map(int, np.unravel_index(int(is_wrong.argmax()), scores.shape))
        value = float(scores[group, image, caption])
        where = f"image {image}, caption {caption} (counted from 0)"
        if captions is not None:
            where = f"image {image} (counted from 0), caption {str(captions[group, caption])!r}"
        rule = (
            "but log P(t | image) is at most 0; give logarithms of likelihoods, which `crossmatch export scores` "
            "writes for a vgpt: model, not probabilities, similarities or losses (of a loss, −log P, turn the sign)"
        )
        if value < 0:
            rule = _advice(value, "pair")
        raise InputError(f"Group {ids[group]!r}, {where}: the score is {value:.4g}{',;'[value < 0]} {rule}.")

    def clusters(self, of_scores: Clusters | None) -> Clusters | None:
        """Groups that hang together once this prior is taken out of their scores: a caption has one for all of them.

        of_scores : groups whose scores hang together already.
        """
        return Clusters.joined(of_scores, Clusters.of_captions(self.caption_index))


def _texts(names: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """The distinct caption of each, int64 (c,), by the place of its first.

    names : str (c,), as a file has them. samples : (images, c), log P(t | image).
    A name is a text where all that have it are as likely: a text is that everywhere. Of "cap0" in every group some are
    equal by chance, the more the fewer decimals a file has, and groups would hang together that share nothing.
    """
    distinct, first, inverse = np.unique(names, return_index=True, return_inverse=True)
    high = np.full((len(distinct), len(samples)), -np.inf)
    low = -high
    np.maximum.at(high, inverse, samples.T)
    np.minimum.at(low, inverse, samples.T)
    is_text = (high - low <= _SAME_TEXT).all(axis=1)[inverse]
    return np.where(is_text, first[inverse], np.arange(len(names)))


def _caption_known_by(of_file: bool) -> str:
    """How it is seen that groups share a caption: as `_texts` has it of a file."""
    return f"its {'name, where all of that name are equally likely' if of_file else 'text'}"


def check_log_prob(name: str) -> None:
    """Raise InputError unless a model's scores are log P(t|i), which is what a prior can be taken from."""
    kind = KINDS[scorer_kind(name)]
    if not kind.log_prob:
        raise InputError(
            f"{name} gives {kind.label}, not log P(t | image), so there is no language prior to remove; choose a "
            "captioner such as builtin/blip-caption, or vgpt:NAME for a model that can caption."
        )


def estimate_prior(
    scorer: Scorer,
    groups: GroupSet,
    kind: str = "gaussian",
    count: int | None = None,
    seed: int = 0,
    model: str = LANGUAGE_MODEL,
    folder: Path | None = None,
    cache: ScoreCache | None = None,
    progress: _Progress | None = None,
    pixels: _Pixels = (None, None),
) -> Prior:
    """log P_train(t) of every caption of a set.

    Parameters
    ----------
    scorer : its scores are log P(t|i); for `lm` it plays no part. groups : of one shape.
    kind : gaussian, test, train or lm (`PRIORS`). count : images sampled; by default the paper's for noise (100
        Winoground, 30 EqBen, 1 ImageNet, 3 elsewhere) and `_REAL_IMAGES` for others, or all there are.
    seed : draws the images. model : the language model of `lm`. folder : training images, where they are the user's.
    pixels : mean and standard deviation of noise in normalised pixels, None for the model's own.

    Raises InputError for an unknown kind, a count below 1, a `model` of `lm` that sees images, or training images
    that are not at hand.
    """
    check_kind(kind)
    captions, index = groups.blind().unique_captions()
    if kind == "lm":
        check_blind(model)
        blind = load_scorer(model)
        never_seen = NullImage(0.0, 0.25)
        samples = score_matrix(blind, [never_seen], captions, cache, progress)
        line = f"log P(t) of {model}, {KINDS[scorer_kind(model)].label.lower()}"
        return Prior(group_prior(samples[0].astype(np.float64), index), kind, line, None, index)
    images = _sample_images(scorer.name, groups, kind, count, seed, folder, pixels)
    samples = score_matrix(scorer, images, captions, cache, progress)
    line = f"{len(images)} {PRIORS[kind].label}"
    return Prior(group_prior(prior_from_samples(samples), index), kind, line, samples, index)


def check_kind(kind: str) -> _PriorKind:
    """Validate the name of a kind of prior."""
    if kind not in PRIORS:
        raise unknown_name("prior", kind, PRIORS)
    return PRIORS[kind]


def _sample_images(
    name: str,
    groups: GroupSet,
    kind: str,
    count: int | None = None,
    seed: int = 0,
    folder: Path | None = None,
    pixels: _Pixels = (None, None),
) -> Sequence[ImageRef]:
    """The images that a prior of a kind is estimated from; arguments as in `estimate_prior`, `name` the model's."""
    if kind == "gaussian":
        return null_sample(name, groups.name, count, seed, pixels)
    wanted = _check_positive(default_count(kind, groups.name) if count is None else count)
    pool = (
        groups.unique_images()[0] if kind == "test" else _training_images(groups.name, wanted, seed, folder)
    )
    if len(pool) <= wanted:
        return pool
    chosen = np.random.default_rng(seed).choice(len(pool), wanted, replace=False)
    return [pool[i] for i in np.sort(chosen)]


def null_sample(
    name: str,
    benchmark: str,
    count: int | None = None,
    seed: int = 0,
    pixels: _Pixels = (None, None),
) -> Sequence[NullImage]:
    """Gaussian noise in the pixels of the model `name`, as many as the paper takes for a benchmark, or `count`.

    pixels : as in `estimate_prior`.
    """
    wanted = _check_positive(null_count(benchmark) if count is None else count)
    own = null_pixels(read_config(model_folder(name)))
    given = {option: str(v) for option, v in zip(("mean", "std"), pixels, strict=True) if v is not None}
    mean, std, _ = ScoreOptions(given).nulls(own, 1)
    return null_images(wanted, mean, std, seed)


def _check_positive(wanted: int) -> int:
    if wanted < 1:
        raise InputError(f"A prior needs at least one image, not {wanted}.")
    return wanted


def default_kind(benchmark: str) -> str:
    """The paper's prior of a benchmark: noise, but of a retrieval set its own images, whose scores exist.

    ImageNet, with one caption per class, has its one noise image. Source: [VGPT] appendix B.
    """
    return "test" if benchmark in names(RETRIEVAL) and benchmark not in NULL_COUNTS else "gaussian"


def default_count(kind: str, benchmark: str) -> int:
    """How many images a prior takes where nobody says."""
    return null_count(benchmark) if kind == "gaussian" else _REAL_IMAGES


def _training_images(benchmark: str, count: int, seed: int, folder: Path | None) -> Sequence[ImageRef]:
    if folder is not None:
        files = (
            sorted(p for p in folder.rglob("*") if p.suffix.lower() in _ENDINGS) if folder.is_dir() else []
        )
        if not files:
            raise InputError(
                f"{folder} holds no images ({', '.join(sorted(_ENDINGS))}); give another folder."
            )
        return [FileImage(path) for path in files]
    if not benchmark.startswith("scenes/"):
        raise InputError(
            f"The training images behind {benchmark} are not shipped with Crossmatch; give a folder of some with "
            "--images, or use another prior (gaussian, test, lm)."
        )

    # As many objects as in the training data of the built-in models (core/scenes/training_data.py).
    return [SceneImage(scene) for scene in training_scenes(count, seed, (2, 2, 2, 3))]
