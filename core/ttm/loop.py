"""Test-time matching and SimpleMatch: adapt a model to the matchings that it induces itself, right or wrong.

What is scored, labelled and selected is in `_pseudolabels.py`; nothing here needs to know which matchings are right.
Sources: [TTM] sections 3.1, 3.2, 3.2.1, Algorithm 1, B.2 for m < k, C.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from math import nan
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch

from core.base.errors import InputError
from core.groups import GroupSet
from core.matching.comparisons import fitted_groups
from core.matching.groups import Matches
from core.scorers import lora
from core.scorers.base import Trainable
from core.scorers.inference_modes import split_prefix
from core.ttm._pseudolabels import (
    PreparedGroups,
    Relabel,
    ScoredGroups,
    is_global,
    match_scored,
    prepare,
    rows_of,
    score_and_match,
    select,
)
from core.ttm._train import FitReport, TrainingStopped, batch_size, fit, generator_for
from core.ttm.config import SimpleMatchConfig, TrainConfig, TTMConfig, thresholds

_Selector = Callable[[Matches], np.ndarray]
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
    # Low-rank adapters; to resume takes the first model then, not the merged one that was saved beside them.
    adapter: dict[str, torch.Tensor] | None = None
    kept: dict[str, np.ndarray] = field(default_factory=dict)  # what the algorithm itself remembers


@dataclass(frozen=True)
class TTMStep:
    """One finished iteration; iteration 0 is the model before adaptation (scores alone).

    `model` is the run's own and changes with the next step: save or copy it before asking for that.
    """

    iteration: int
    threshold: float | None  # tau_t; None at iteration 0 and where a selector decides
    selected: np.ndarray  # what was trained on: bool (n,) groups; global variant (n, m) images
    coverage: float  # share of the groups (images) that could have been selected
    # int64 (n, m), the pseudo-labels, -1 where tied; in the global variant caption j of group g is g k + j.
    matching: np.ndarray
    scores: np.ndarray  # float32 (n, m, k) after training, the model's own logits
    matches: Matches  # induced by them: evaluates this iteration and labels the next
    labels: np.ndarray  # int64 (n, m), induced by `scores`: the pseudo-labels of the next iteration
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
    kept: dict[str, np.ndarray]  # see TTMState

    def __repr__(self) -> str:
        what = "groups" if self.selected.ndim == 1 else "images"
        chosen = f"{int(self.selected.sum())} of {self.selected.size} {what} selected"
        threshold = "" if self.threshold is None else f", threshold {self.threshold:.4g}"
        said = "before training" if self.iteration == 0 else chosen + threshold
        return f"<iteration {self.iteration}: {said}, {self.seconds:.1f} s>"

    @property
    def state(self) -> TTMState:
        """What `resume` needs, with the model saved beside it, or with the first one where `adapter` is not None."""
        adapter, scores = lora.adapter_state(self.model.module), (self.scores, self.global_scores)
        return TTMState(self.iteration, self.thresholds, *scores, self.optimizer, adapter, self.kept)

    def record(self) -> dict[str, Any]:
        """The numbers of this step, ready for JSON; what needs to know the right answers is added elsewhere."""
        found = {
            name: getattr(self, name)
            for name in ("iteration", "threshold", "coverage", "fitted", "skipped", "note")
        }
        trained = {name: None if self.report is None else getattr(self.report, name) for name in _TRAINED}
        times = {"seconds": round(self.seconds, 4), "seconds_in_model": round(self.seconds_in_model, 4)}
        return {**found, "selected": int(self.selected.sum()), **trained, **times}

    def arrays(self) -> dict[str, np.ndarray]:
        """Per-group arrays of an iteration (`core.ttm.explain` reads them), and its loss curve."""
        return {
            "scores": self.scores,
            "selected": self.selected,
            "matching": self.matching,
            "labels": self.labels,
            "margin": self.matches.margin,
            "thresholds": self.thresholds,
            "losses": self.thresholds[:0] if self.report is None else self.report.losses,
        }


_TRAINED = ("loss", "lr", "gradient_norm", "gradient_norm_max")


class _TrainingRound(NamedTuple):
    """What one iteration is to train on."""

    iteration: int
    thresholds: np.ndarray
    threshold: float | None
    labels: np.ndarray
    selected: np.ndarray
    pool: int  # how many could have been selected
    empty: str  # the note where none was


class _Adaptation:
    """The adapted copy of the model and what it last scored; one `iterate` per iteration.

    What the algorithms share: `run_ttm` and `simple_match` only decide what each `_TrainingRound` trains on.
    """

    def __init__(
        self,
        model: Trainable,
        groups: GroupSet,
        config: TrainConfig,
        total: int,
        resume: TTMState | None = None,
        relabel: Relabel | None = None,
    ) -> None:
        self.started, self.config, self.total = perf_counter(), config, total
        self.relabel = relabel or _as_induced
        self.model, self.inputs = _adapted(model, config, resume), prepare(model, groups, config)
        self.optimizer = None if resume is None else resume.optimizer
        self.kept = {} if resume is None else dict(resume.kept)
        if resume is None:
            seen = score_and_match(self.model, self.inputs, config)
        else:
            _check_resume(resume, self.inputs, config)
            seen = match_scored(self.inputs, resume.scores, resume.global_scores)
        self.seen = self.relabel(self.inputs, seen)

    def pool(self, wanted: np.ndarray | None) -> np.ndarray:
        """The groups that may be trained on, as a mask like the confidences."""
        allowed = np.ones_like(self.seen.usable) if wanted is None else np.asarray(wanted, dtype=bool)
        if allowed.shape != self.seen.usable.shape:
            raise InputError(
                f"The pool has shape {allowed.shape}; it needs one true or false for each of "
                f"{len(self.seen.usable)} groups."
            )
        return allowed

    def first(self, taus: np.ndarray) -> TTMStep:
        """The step before adaptation."""
        nothing = np.zeros_like(self.seen.usable)
        return self._step(
            _TrainingRound(0, taus, None, self.seen.labels, nothing, nothing.size, ""),
            None,
            self.seen.seconds,
        )

    def iterate(self, plan: _TrainingRound, stop: Stop | None, progress: Progress | None) -> TTMStep | None:
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
        seen = score_and_match(self.model, self.inputs, self.config, self.seen.fits)
        self.seen = self.relabel(self.inputs, seen)
        self.optimizer = report.optimizer
        if report.micro_batch is not None:  # what fits now fits in all iterations to come
            self.kept = {**self.kept, "micro_batch": np.array(report.micro_batch)}
        tell(1.0, "done")
        return self._step(plan, report, report.seconds_in_model + self.seen.seconds)

    def _train(self, plan: _TrainingRound, stop: Stop | None, progress: Progress) -> FitReport | None:
        module = self.model.module
        # A stop may come in the middle: the last step's model and optimizer must then still be what it reported.
        before = None if stop is None else _snapshot(module)
        rows = rows_of(self.inputs, plan.labels, plan.selected)
        micro = self.kept.get("micro_batch")
        try:
            return fit(
                self.model,
                self.inputs.data,
                rows.images,
                rows.captions,
                self.config,
                offered=rows.offered,
                batch=self._rows(plan.pool),
                iteration=plan.iteration,
                optimizer=deepcopy(self.optimizer),
                micro=None if micro is None else int(micro),
                progress=progress,
                stop=stop,
            )
        except TrainingStopped:
            assert before is not None
            module.load_state_dict(before, strict=False)
            return None

    def _rows(self, pool: int) -> int:
        """Groups of a batch, or as many groups' pairs where images are labelled one by one; of `pool`."""
        m = self.inputs.images.shape[1]
        joined = m if self.seen.usable.ndim == 2 else 1
        return batch_size(pool // joined, self.config.units(m)) * joined

    def _step(self, plan: _TrainingRound, report: FitReport | None, seconds_in_model: float) -> TTMStep:
        seen, chosen = self.seen, plan.selected
        fitted = None
        if report is not None and chosen.ndim == 1:
            fitted = float(fitted_groups(seen.scores[chosen], plan.labels[chosen]).mean())
        skipped = plan.iteration > 0 and report is None
        told = " ".join(filter(None, ("" if report is None else report.note, seen.note)))
        return TTMStep(
            iteration=plan.iteration,
            threshold=plan.threshold,
            selected=chosen,
            coverage=float(chosen.sum() / plan.pool) if plan.pool else 0.0,
            matching=plan.labels,
            scores=seen.scores,
            matches=seen.matches,
            labels=seen.labels,
            global_scores=seen.global_scores,
            report=report,
            fitted=fitted,
            skipped=skipped,
            note=f"{plan.empty}; nothing was trained." if skipped else told,
            seconds=perf_counter() - self.started,
            seconds_in_model=seconds_in_model,
            thresholds=plan.thresholds,
            model=self.model,
            optimizer=self.optimizer,
            kept=self.kept,
        )


def _as_induced(inputs: PreparedGroups, seen: ScoredGroups) -> ScoredGroups:
    """The rule of the paper: a group's label is its induced matching, or the global assignment's part of it."""
    return seen


def _adapted(model: Trainable, config: TrainConfig, resume: TTMState | None) -> Trainable:
    """The copy that is trained, with the low-rank adapters that the settings ask for."""
    if split_prefix(model.name)[0]:
        raise InputError(
            f"{model.name} runs faster than it can be trained; adapt {split_prefix(model.name)[1]}, with the setting "
            "precision 'bfloat16' where that is wanted."
        )
    own = model.copy()
    if config.contrastive:
        if not hasattr(own, "contrastive"):
            raise InputError(f"{model.name} learns from one loss alone; leave contrastive out.")
        own.contrastive = True
    if config.lora_rank is not None:
        seed = generator_for(config.seed, 0, -1).initial_seed()
        lora.attach(own.module, config.lora_rank, config.lora_alpha, config.lora_targets, seed)
        if resume is not None:
            lora.load_adapter(own.module, resume.adapter or {})
    return own


def _snapshot(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """A copy of whatever training can change."""
    frozen = {name for name, p in module.named_parameters() if not p.requires_grad}
    return {k: v.clone() for k, v in module.state_dict().items() if k not in frozen}


def _check_resume(state: TTMState, inputs: PreparedGroups, config: TrainConfig) -> None:
    total = config.iterations if isinstance(config, TTMConfig) else 0
    shape = (*inputs.images.shape, inputs.captions.shape[1])
    fits = state.scores.shape == shape and len(state.thresholds) == total
    if not fits or is_global(config) != (state.global_scores is not None):
        raise InputError(
            "The saved state belongs to other groups or other settings; resume the run with its original settings."
        )


def run_ttm(
    model: Trainable,
    groups: GroupSet,
    config: TTMConfig,
    *,
    selector: _Selector | None = None,
    pool: np.ndarray | None = None,
    relabel: Relabel | None = None,
    resume: TTMState | None = None,
    stop: Stop | None = None,
    progress: Progress | None = None,
) -> Iterator[TTMStep]:
    """Test-time matching as a generator: iteration 0 as it is, then one step for each of `config.iterations`.

    Parameters
    ----------
    model : copied; the copy is adapted and is each step's `model`. To resume: the model saved beside `resume`, or the
        first one again where low-rank adapters are trained.
    groups : of one shape (m, k); only their blind version is looked at.
    selector : decides, in place of the threshold, which groups are trained on: from the induced matchings to bool
        (n,). The oracle skyline passes the one that the metrics make ([TTM] 4.5). Tied groups stay out.
    pool : bool (n,), groups that may be trained on; the others are only scored (what transfers, what is memorised).
        Coverages are shares of the pool.
    relabel : replaces the induced matchings by other labels, in what a ledger compares a run with (`_controls.py`).
    resume : goes on after that iteration; on the same machine the further steps are those of an uninterrupted run.
    stop : asked before every iteration and every training step. When it says so the generator ends; an iteration
        that was begun is dropped, and the last step's model is again what that step reported.
    progress : called at every training step with the share done in [0, 1] and a message.

    An iteration whose set is empty trains nothing and says so in `note`. One scoring pass per iteration both
    evaluates it and induces the next pseudo-labels. Raises InputError for settings and groups that make no sense.
    Source: [TTM] Algorithm 1; 3.2.1 for the global variant.
    """
    if config.variant == "global" and (selector is not None or pool is not None):
        raise InputError(
            "A selector or pool chooses groups, the global variant has none; set variant to 'group'."
        )
    run = _Adaptation(model, groups, config, config.iterations, resume, relabel)
    allowed = run.pool(pool)
    taus = thresholds(config, run.seen.confidence[allowed]) if resume is None else resume.thresholds
    if resume is None:
        yield run.first(taus)
    for iteration in range(1 if resume is None else resume.iteration + 1, config.iterations + 1):
        tau, seen = float(taus[iteration - 1]), run.seen
        if selector is None:
            chosen, empty = select(config, tau, seen), f"Nothing reaches the threshold {tau:.4g}"
        else:
            chosen, empty = seen.usable & selector(seen.matches), "The selector chose no group"
        threshold = tau if selector is None else None
        plan = _TrainingRound(
            iteration, taus, threshold, seen.labels, chosen & allowed, int(allowed.sum()), empty
        )
        step = None if stop is not None and stop() else run.iterate(plan, stop, progress)
        if step is None:
            return
        yield step


def simple_match(
    model: Trainable,
    groups: GroupSet,
    config: SimpleMatchConfig,
    *,
    pool: np.ndarray | None = None,
    resume: TTMState | None = None,
    stop: Stop | None = None,
    progress: Progress | None = None,
) -> Iterator[TTMStep]:
    """SimpleMatch as a generator: induce the matchings once and overfit to all of them that are not tied.

    Step 0 is the model before; every further step is a round of `config.epochs` epochs, until
    `SimpleMatchConfig.is_over`; the last one is the result. `TTMStep.fitted`: the share of the pseudo-labels that pass
    GroupScore's strict test. `pool`, `resume`, `stop` and `progress` as in `run_ttm`.
    """
    run, none = _Adaptation(model, groups, config, config.rounds, resume), np.zeros(0)
    allowed = run.pool(pool)
    if resume is None:
        run.kept = {"labels": run.seen.labels, "history": none}
        yield run.first(none)
    # Tied groups are labelled -1, and never trained on.
    labels, shares = run.kept["labels"], run.kept["history"].tolist()
    chosen = (labels[:, 0] >= 0) & allowed
    while not config.is_over(shares):
        if stop is not None and stop():
            return
        plan = _TrainingRound(
            len(shares) + 1, none, None, labels, chosen, int(allowed.sum()), "Every group is tied"
        )
        step = run.iterate(plan, stop, progress)
        if step is None:
            return
        shares.append(nan if step.fitted is None else step.fitted)
        run.kept = {**step.kept, "history": np.array(shares)}
        yield replace(step, kept=run.kept)
