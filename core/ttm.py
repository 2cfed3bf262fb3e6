"""Test-time matching and SimpleMatch: adapt a model to the matchings that it induces itself, right or wrong.

Captions are kept in an order of their own (by hash), and so are scored pairs and batches: the order of the captions
within a group cannot reach a score, a selection or a training batch. A group whose best matching is tied carries no
information, and picking one of the tied matchings could favour the order of the file, so it is never selected.
Sources: [TTM] sections 3.1, 3.2, 3.2.1, Algorithm 1, C.1 (METHODS 3).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from core.errors import InputError
from core.groups import GroupSet
from core.matching import Matches, match, match_global
from core.presets import SimpleMatchConfig, TrainConfig, TTMConfig, share_of, thresholds
from core.scorers.base import Prepared, Trainable
from core.train import FitReport, Stopped, fit

Selector = Callable[[Matches], np.ndarray]
Progress = Callable[[float, str], None]
Stop = Callable[[], bool]

# Share of an iteration that training takes on a progress bar; scoring takes the rest.
_TRAINING = 0.95


@dataclass(frozen=True)
class TTMState:
    """What a run needs, besides the adapted model, to go on after a finished iteration."""

    iteration: int
    thresholds: np.ndarray  # float64 (T,), resolved
    scores: np.ndarray  # float32 (n, m, k) after that iteration
    global_scores: np.ndarray | None = None  # float32 (n m, n k), global variant
    optimizer: dict[str, Any] | None = None  # AdamW's state, where it is kept


@dataclass(frozen=True)
class TTMStep:
    """One finished iteration; iteration 0 is the model before adaptation (scores alone).

    `model` is the run's own and changes with the next step: save or copy it before asking for that.
    """

    iteration: int
    threshold: float | None  # tau_t; None at iteration 0 and where a selector decides
    selected: np.ndarray  # what was trained on: bool (n,) groups; global variant (n, m) images
    coverage: float  # share of the groups (images) that could have been selected
    matching: (
        np.ndarray
    )  # int64 (n, m), the pseudo-labels, -1 where tied; global: caption j of group g is g k + j
    scores: np.ndarray  # float32 (n, m, k) after training, the model's own logits
    matches: Matches  # induced by them: evaluates this iteration and labels the next
    global_scores: np.ndarray | None  # float32 (n m, n k), global variant
    report: FitReport | None  # losses, lr, gradient norms; None where nothing was trained
    fitted: float | None  # share of the trained groups whose pseudo-label now passes GroupScore's strict test
    skipped: bool  # nothing was selected, so nothing was trained
    note: str
    seconds: float
    seconds_in_model: float  # forward, backward, optimizer step and scoring
    thresholds: np.ndarray  # float64 (T,), of the whole run
    model: Trainable
    optimizer: dict[str, Any] | None  # AdamW's state, where it is kept

    @property
    def state(self) -> TTMState:
        """What `run_ttm(resume=...)` needs, with the model saved beside it."""
        return TTMState(self.iteration, self.thresholds, self.scores, self.global_scores, self.optimizer)

    def record(self) -> dict[str, Any]:
        """The numbers of this step, ready for JSON; what needs to know the right answers is added elsewhere."""
        found = {
            name: getattr(self, name)
            for name in ("iteration", "threshold", "coverage", "fitted", "skipped", "note")
        }
        trained = {name: None if self.report is None else getattr(self.report, name) for name in _TRAINED}
        times = {"seconds": round(self.seconds, 4), "seconds_in_model": round(self.seconds_in_model, 4)}
        return {**found, "selected": int(self.selected.sum()), **trained, **times}


_TRAINED = ("loss", "lr", "gradient_norm", "gradient_norm_max")


class _Inputs(NamedTuple):
    """Everything about the groups that training and scoring need, prepared once per run."""

    data: Prepared
    images: np.ndarray  # (n, m) into data
    captions: np.ndarray  # (n, k) into data, whose captions are in the order of their hashes
    pairs: np.ndarray  # (p, 2) to score: distinct, sorted
    place: np.ndarray  # (n, m, k) into pairs; global variant (n m, n k)


def _prepare(model: Trainable, groups: GroupSet, config: TrainConfig) -> _Inputs:
    blind = groups.blind()
    pictures, images = blind.unique_images()
    texts, captions = blind.unique_captions()
    # By hash: an alphabetical order may be the file's own, and would then break ties in favour of what is right.
    digests = [hashlib.sha256(text.encode(errors="replace")).digest() for text in texts]
    order = sorted(range(len(texts)), key=digests.__getitem__)
    captions = np.argsort(order)[captions]
    width = len(texts)
    if _is_global(config):
        place = images.ravel()[:, None] * width + captions.ravel()[None, :]
        wanted = np.arange(len(pictures) * width)
    else:
        wanted, place = np.unique(images[:, :, None] * width + captions[:, None, :], return_inverse=True)
    pairs = np.stack([wanted // width, wanted % width], axis=1)
    data = model.prepare(pictures, [texts[i] for i in order])
    shape = (*images.shape, captions.shape[1])
    return _Inputs(data, images, captions, pairs, place if _is_global(config) else place.reshape(shape))


def _is_global(config: TrainConfig) -> bool:
    return isinstance(config, TTMConfig) and config.variant == "global"


class _Seen(NamedTuple):
    """One scoring pass: it evaluates an iteration and labels the next."""

    scores: np.ndarray  # (n, m, k)
    matches: Matches
    global_scores: np.ndarray | None
    labels: np.ndarray  # (n, m) pseudo-labels, as TTMStep.matching
    confidence: np.ndarray  # (n,) margins, or (n, m) scores of the matched pairs
    usable: np.ndarray  # as confidence, bool
    seconds: float  # in the model


def _look(model: Trainable, inputs: _Inputs, config: TrainConfig) -> _Seen:
    started = perf_counter()
    found = model.score_prepared(inputs.data, inputs.pairs)
    seconds = perf_counter() - started
    scores = found[inputs.place]
    return _seen(inputs, scores, scores if _is_global(config) else None, seconds)


def _seen(inputs: _Inputs, scores: np.ndarray, everything: np.ndarray | None, seconds: float = 0.0) -> _Seen:
    if everything is None:
        matches = match(scores)
        return _Seen(scores, matches, None, matches.matching, matches.margin, ~matches.tied, seconds)
    (n, m), k = inputs.images.shape, inputs.captions.shape[1]
    own = everything.reshape(n, m, n, k)[np.arange(n), :, np.arange(n)]  # (n, m, k)
    # Columns in the hashes' order, so that equal totals are not decided by the place in the file or in a group.
    order = np.argsort(inputs.captions.ravel(), kind="stable")
    labels = order[match_global(everything[:, order])]
    confidence = everything[np.arange(n * m), labels].reshape(n, m)
    usable = np.ones((n, m), dtype=bool)
    return _Seen(own, match(own), everything, labels.reshape(n, m), confidence, usable, seconds)


def _select(config: TTMConfig, tau: float, seen: _Seen) -> np.ndarray:
    """S_t as a mask like `seen.confidence`: at or above the threshold, or among the top 1 - tau in relative mode."""
    level = tau
    if config.threshold_mode == "relative":
        keep = share_of(1.0 - tau, seen.confidence.size)
        level = np.sort(seen.confidence, axis=None)[-keep] if keep else np.inf
    return seen.usable & (seen.confidence >= level)


def _pairs(inputs: _Inputs, labels: np.ndarray, selected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Images and captions to train on, each (s, r): whole groups, or single pairs in the global variant."""
    if selected.ndim == 2:
        captions = inputs.captions.ravel()[labels[selected]]
        return inputs.images[selected][:, None], captions[:, None]
    return inputs.images[selected], np.take_along_axis(inputs.captions[selected], labels[selected], axis=1)


def _fitted(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Where the labelled pairs pass GroupScore's strict test ([TTM] Eq. 1; rows alone for m < k), bool (n,)."""
    n, m, k = scores.shape
    at = np.arange(n)[:, None], np.arange(m)[None, :], labels
    own, rest = scores[at], scores.copy()
    rest[at] = -np.inf
    rows = own > rest.max(axis=2)
    if m < k:
        return rows.all(axis=1)
    columns = own > np.take_along_axis(rest.max(axis=1), labels, axis=1)
    return (rows & columns).all(axis=1)


class _Plan(NamedTuple):
    """What one iteration is to train on."""

    iteration: int
    thresholds: np.ndarray
    threshold: float | None
    labels: np.ndarray
    selected: np.ndarray
    pool: int  # how many could have been selected
    empty: str  # the note where none was


class _Run:
    """The adapted copy of the model and what it last scored; one `iterate` per iteration."""

    def __init__(
        self,
        model: Trainable,
        groups: GroupSet,
        config: TrainConfig,
        total: int,
        resume: TTMState | None = None,
    ) -> None:
        self.started, self.config, self.total = perf_counter(), config, total
        self.model, self.inputs = model.copy(), _prepare(model, groups, config)
        self.optimizer = None if resume is None else resume.optimizer
        if resume is None:
            self.seen = _look(self.model, self.inputs, config)
        else:
            _check_resume(resume, self.inputs, _is_global(config), total)
            self.seen = _seen(self.inputs, resume.scores, resume.global_scores)
        m = self.inputs.images.shape[1]
        self.batch = config.units(m) * (m if _is_global(config) else 1)  # the pairs of as many groups

    def first(self, taus: np.ndarray) -> TTMStep:
        """The step before adaptation."""
        nothing = np.zeros_like(self.seen.usable)
        return self._step(
            _Plan(0, taus, None, self.seen.labels, nothing, nothing.size, ""), None, self.seen.seconds
        )

    def iterate(self, plan: _Plan, stop: Stop | None, progress: Progress | None) -> TTMStep | None:
        """Train on the plan's pseudo-labels and score once; None if stopped, the model then as it was before."""
        self.started = perf_counter()

        def tell(share: float, message: str) -> None:
            if progress is not None:
                done = (plan.iteration - 1 + share) / self.total
                progress(done, f"iteration {plan.iteration} of {self.total}: {message}")

        if not plan.selected.any():
            tell(1.0, "nothing to train on")
            return self._step(plan, None, 0.0)
        report = self._train(plan, stop, lambda share, message: tell(_TRAINING * share, message))
        if report is None:
            return None
        tell(_TRAINING, "scoring")
        self.seen, self.optimizer = _look(self.model, self.inputs, self.config), report.optimizer
        tell(1.0, "done")
        return self._step(plan, report, report.seconds_in_model + self.seen.seconds)

    def _train(self, plan: _Plan, stop: Stop | None, progress: Progress) -> FitReport | None:
        module = self.model.module
        # A stop may come in the middle: the last step's model and optimizer must then still be what it reported.
        before = None if stop is None else {k: v.clone() for k, v in module.state_dict().items()}
        images, captions = _pairs(self.inputs, plan.labels, plan.selected)
        try:
            return fit(
                self.model,
                self.inputs.data,
                images,
                captions,
                self.config,
                batch=self.batch,
                iteration=plan.iteration,
                optimizer=deepcopy(self.optimizer),
                progress=progress,
                stop=stop,
            )
        except Stopped:
            assert before is not None
            module.load_state_dict(before)
            return None

    def _step(self, plan: _Plan, report: FitReport | None, seconds_in_model: float) -> TTMStep:
        seen, chosen = self.seen, plan.selected
        fitted = None
        if report is not None and chosen.ndim == 1:
            fitted = float(_fitted(seen.scores[chosen], plan.labels[chosen]).mean())
        skipped = plan.iteration > 0 and report is None
        return TTMStep(
            iteration=plan.iteration,
            threshold=plan.threshold,
            selected=chosen,
            coverage=float(chosen.sum() / plan.pool) if plan.pool else 0.0,
            matching=plan.labels,
            scores=seen.scores,
            matches=seen.matches,
            global_scores=seen.global_scores,
            report=report,
            fitted=fitted,
            skipped=skipped,
            note=f"{plan.empty}; nothing was trained." if skipped else "",
            seconds=perf_counter() - self.started,
            seconds_in_model=seconds_in_model,
            thresholds=plan.thresholds,
            model=self.model,
            optimizer=self.optimizer,
        )


def _check_resume(state: TTMState, inputs: _Inputs, everything: bool, total: int) -> None:
    shape = (*inputs.images.shape, inputs.captions.shape[1])
    fits = state.scores.shape == shape and len(state.thresholds) == total and 0 <= state.iteration <= total
    if not fits or everything != (state.global_scores is not None):
        raise InputError(
            "The saved state belongs to other groups or other settings; resume with those the run was started with."
        )


def run_ttm(
    model: Trainable,
    groups: GroupSet,
    config: TTMConfig,
    *,
    selector: Selector | None = None,
    pool: np.ndarray | None = None,
    resume: TTMState | None = None,
    stop: Stop | None = None,
    progress: Progress | None = None,
) -> Iterator[TTMStep]:
    """Test-time matching as a generator: iteration 0 as it is, then one step for each of `config.iterations`.

    Parameters
    ----------
    model : copied; the copy is adapted and is each step's `model`. To resume: the model saved beside `resume`.
    groups : of one shape (m, k); only their blind version is looked at.
    selector : decides, in place of the threshold, which groups are trained on: from the induced matchings to bool
        (n,). The oracle skyline passes the one that the metrics make ([TTM] 4.5). Tied groups stay out.
    pool : bool (n,), groups that may be trained on; the others are only scored (what transfers, what is memorised).
        Coverages are shares of the pool.
    resume : goes on after that iteration; on the same machine the further steps are those of an uninterrupted run.
    stop : asked before every iteration and every training step. When it says so the generator ends; an iteration
        that was begun is dropped, and the last step's model is again what that step reported.
    progress : called at every training step with the share done in [0, 1] and a message.

    An iteration whose set is empty trains nothing and says so in `note`. One scoring pass per iteration both
    evaluates it and induces the next pseudo-labels. Raises InputError for settings and groups that make no sense.
    Source: [TTM] Algorithm 1; 3.2.1 for the global variant.
    """
    config.validate()
    if config.variant == "global" and (selector is not None or pool is not None):
        raise InputError(
            "A selector or pool chooses groups, the global variant has none; set variant to 'group'."
        )
    run = _Run(model, groups, config, config.iterations, resume)
    allowed = np.ones_like(run.seen.usable) if pool is None else np.asarray(pool, dtype=bool)
    if allowed.shape != run.seen.usable.shape:
        raise InputError(
            f"The pool has shape {allowed.shape}; it needs one true or false for each of {len(groups)} groups."
        )
    taus = thresholds(config, run.seen.confidence[allowed]) if resume is None else resume.thresholds
    if resume is None:
        yield run.first(taus)
    for iteration in range(1 if resume is None else resume.iteration + 1, config.iterations + 1):
        tau, seen = float(taus[iteration - 1]), run.seen
        if selector is None:
            chosen, empty = _select(config, tau, seen), f"Nothing reaches the threshold {tau:.4g}"
        else:
            chosen, empty = seen.usable & selector(seen.matches), "The selector chose no group"
        threshold = tau if selector is None else None
        plan = _Plan(iteration, taus, threshold, seen.labels, chosen & allowed, int(allowed.sum()), empty)
        step = None if stop is not None and stop() else run.iterate(plan, stop, progress)
        if step is None:
            return
        yield step


def simple_match(
    model: Trainable,
    groups: GroupSet,
    config: SimpleMatchConfig,
    *,
    stop: Stop | None = None,
    progress: Progress | None = None,
) -> Iterator[TTMStep]:
    """SimpleMatch as a generator: induce the matchings once and overfit to all of them that are not tied.

    Ends when every pseudo-label passes GroupScore's strict test, when their share (`TTMStep.fitted`) has not risen for
    `config.patience` rounds, or after `config.rounds`; none of it needs to know which matchings are right. Step 0 is
    the model before; every further step is a round of `config.epochs` epochs; the last one is the result. `stop` and
    `progress` as in `run_ttm`. Source: [TTM] section 3.1; B.2 for m < k.
    """
    config.validate()
    run, none = _Run(model, groups, config, config.rounds), np.zeros(0)
    labels, usable = run.seen.labels, run.seen.usable
    yield run.first(none)
    best, waited = -1.0, 0
    for iteration in range(1, config.rounds + 1):
        plan = _Plan(iteration, none, None, labels, usable, len(usable), "Every group is tied")
        step = None if stop is not None and stop() else run.iterate(plan, stop, progress)
        if step is None:
            return
        yield step
        if step.fitted is None or step.fitted == 1.0:
            return
        best, waited = (step.fitted, 0) if step.fitted > best else (best, waited + 1)
        if waited >= config.patience:
            return
