"""Test-time matching and SimpleMatch. Imports torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from core.base.errors import InputError
from core.datasets.embeddings import EmbeddingFile
from core.groups import GroupSet
from core.metrics.groups import oracle_mask
from core.runs.models import origin
from core.scorers.base import Scorer, Trainable
from core.scorers.embedding import EmbeddingModel
from core.ttm import loop
from core.ttm.defaults import configured
from core.ttm.run import AdaptationRun
from crossmatch._arguments import check_groups
from crossmatch._scoring import load_scorer

Progress = Callable[[float, str], None]


class Embedded(NamedTuple):
    """Embeddings as a scorer, and the groups that it scores."""

    scorer: EmbeddingModel
    groups: GroupSet


def from_embeddings(
    images: np.ndarray, captions: np.ndarray, shape: tuple[int, int] = (2, 2), *, scale: float = 100.0
) -> Embedded:
    """A scorer and groups from the embeddings of any two-tower model; the model itself is not needed.

    Parameters
    ----------
    images : float (n m, d), the m images of group 0, then those of group 1, ...; rows of any length but 0.
    captions : float (n k, d), likewise.
    shape : (m, k).
    scale : factor on the cosine, exp(logit_scale) of the model, 100 for most.

    Returns
    -------
    scorer : for `score`, `run_ttm` and `simple_match`. Adaptation trains one d x d map for images and one for captions,
        which takes seconds.
    groups : n groups, whose truth is their order: image i belongs to caption i. There are no pixels to open.

    Raises
    ------
    InputError : shapes that do not fit, a row that is zero or not finite (it is named).

    Source: [TTM] section 3.1, on features.

    Examples
    --------
    >>> import crossmatch as cm, numpy as np
    >>> vectors = np.random.default_rng(0).normal(size=(20, 8))
    >>> scorer, groups = cm.from_embeddings(vectors, vectors + 0.1, (2, 2))
    >>> len(groups), cm.score(scorer, groups).shape, groups.truth[0].tolist()
    (10, (10, 2, 2), [0, 1])
    """
    file = EmbeddingFile.of(images, captions, shape, "this call")
    return Embedded(EmbeddingModel.of(file, scale), file.groups())


def run_ttm(
    model: str | Trainable,
    groups: GroupSet,
    *,
    preset: str | None = None,
    pool: np.ndarray | None = None,
    oracle: bool = False,
    progress: Progress | None = None,
    **settings: Any,
) -> Iterator[loop.TTMStep]:
    """Test-time matching: adapt a model to the matchings that it induces itself, the surest first. No label is read.

    Parameters
    ----------
    model : a name as `load_scorer` takes it, or a loaded scorer, with weights to train: contrastive models, BLIP's
        other models, image-text-to-text models, `from_embeddings`. It is copied; yours stays as it is.
    groups : of one shape; the model is shown them without truth.
    preset : settings to start from, such as "winoground/siglip-b16"; by default those for this benchmark and model.
    pool : bool (n,), the groups that may be trained on. The others are only scored: what transfers to them?
    oracle : train on exactly the groups that truth says are matched right, a skyline. Say so beside its result.
    progress : called at every training step with the share done, in [0, 1], and a message.
    settings : in place of the preset's.
        iterations : T.
        variant : "group", or "global": one assignment over all images and captions.
        schedule : of the threshold, "linear", "cosine", "constant" or "ascending".
        tau_first, tau_last : thresholds on the margin, in the units of the scores; or
        coverage_first, coverage_last : shares of the groups that they should select, in (0, 1].
        threshold_mode : "absolute", or "relative" (global): keep the top 1 - tau of the pairs.
        epochs, lr, lr_restart, lr_final, weight_decay, betas, batch, augmentation ("none", "resize-crop", "jitter"),
            crop_factor, keep_optimizer, clip_norm, precision ("float32", "bfloat16"), parameters, micro_batch,
            lora_rank, lora_alpha, lora_targets, contrastive (captioners), seed : of the training in an iteration.

    Returns
    -------
    An iterator over steps: step 0 is the model before, then one for each iteration, computed when it is asked for. The
    last step is the result, whatever came before it.
        iteration, threshold : int; float, None at step 0 and for the oracle.
        selected : bool (n,), the groups that were trained on; "global": bool (n, m), images.
        coverage : their share of those that could have been selected, in [0, 1].
        matching : int64 (n, m), the pseudo-labels; -1 where tied. A tied group is never trained on.
        scores : float32 (n, m, k), after training, for `evaluate`; matches : as `match` returns, of these scores.
        skipped, note : whether nothing was selected, so that nothing was trained; and what else is to be said.
        seconds : float.
        model : the adapted one, until the next step is asked for; `step.model.save(folder)` keeps it.

    Raises
    ------
    InputError : at once for a model without weights, an unknown setting, a value out of range or without effect; with
        step 0 for mixed shapes and images that do not open.

    Source: [TTM] Algorithm 1 and section 3.2; 3.2.1 for "global"; 4.5 for the oracle.

    Examples
    --------
    >>> import crossmatch as cm, numpy as np
    >>> vectors = np.random.default_rng(0).normal(size=(40, 8))
    >>> scorer, groups = cm.from_embeddings(vectors[:20], vectors[20:])
    >>> [step.iteration for step in cm.run_ttm(scorer, groups, iterations=2, epochs=1)]
    [0, 1, 2]
    """
    check_groups(groups)
    trainable = _trainable(model)
    config = _configured("ttm", trainable, groups, preset, settings, oracle)
    selector = None
    if oracle:
        if groups.truth is None:
            raise InputError(f"The oracle needs to know what is right, and {groups.name!r} has no truth.")
        selector = oracle_mask(groups.truth)
    return loop.run_ttm(trainable, groups.blind(), config, selector=selector, pool=pool, progress=progress)


def simple_match(
    model: str | Trainable,
    groups: GroupSet,
    *,
    preset: str | None = None,
    pool: np.ndarray | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Iterator[loop.TTMStep]:
    """SimpleMatch: overfit a model to the matchings that it induces once, so that GroupScore can reach GroupMatch.

    Parameters
    ----------
    model, groups, preset, pool, progress : as for `run_ttm`.
    settings : in place of the preset's.
        rounds : at most.
        epochs : of a round.
        patience : rounds without a rise of `fitted` before it ends.
        lr : constant; and the other training settings of `run_ttm`.

    Returns
    -------
    An iterator over steps, as `run_ttm` returns it: step 0 is the model before, then one for each round.
        fitted : share in [0, 1] of the pseudo-labels that now pass GroupScore's strict test; None at step 0.
    It ends when all of them do, when `fitted` has not risen for `patience` rounds, or after `rounds`. The last step is
    the result. A tied group is never trained on.

    Raises
    ------
    InputError : as `run_ttm`.

    Source: [TTM] section 3.1; B.2 for m < k.

    Examples
    --------
    >>> import crossmatch as cm, numpy as np
    >>> vectors = np.random.default_rng(0).normal(size=(40, 8))
    >>> scorer, groups = cm.from_embeddings(vectors[:20], vectors[20:])
    >>> *_, last = cm.simple_match(scorer, groups, rounds=2)
    >>> last.iteration, last.scores.shape
    (2, (10, 2, 2))
    """
    check_groups(groups)
    trainable = _trainable(model)
    config = _configured("simplematch", trainable, groups, preset, settings)
    return loop.simple_match(trainable, groups.blind(), config, pool=pool, progress=progress)


def _trainable(model: str | Scorer) -> Trainable:
    found = load_scorer(model) if isinstance(model, str) else model
    if not isinstance(found, Trainable):
        raise AdaptationRun.refused(found.name)
    return found


def _configured(
    kind: str,
    model: Trainable,
    groups: GroupSet,
    preset: str | None,
    settings: Mapping[str, Any],
    oracle: bool = False,
) -> Any:
    """The preset's settings with the caller's in their place."""
    dataset = None if isinstance(model, EmbeddingModel) else groups.name
    return configured(kind, dataset, origin(model.name), preset, settings, oracle).config
