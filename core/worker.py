"""The process of one run, `python -m core.worker ROOT RUN ATTEMPT`, and the one loop of test-time matching that it
shares with the command line.

Torch, numpy and the rest are imported inside functions: a worker that waits in the queue is 20 MB, not 400.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from core import files, processes
from core.checkpoints import (
    drop_checkpoints,
    is_published,
    load_record,
    load_state,
    newest_checkpoint,
    publish_model,
    save_checkpoint,
)
from core.errors import InputError, unknown_name
from core.runs import RunStore, Superseded, parallel_runs

if TYPE_CHECKING:
    import numpy as np

    from core.groups import GroupSet
    from core.scorers.base import Trainable
    from core.ttm import TTMStep

BEAT = 1.0  # seconds between heartbeats; core.runs.SILENCE is many of them
BINS = 24  # of a margin histogram

log = logging.getLogger("crossmatch.worker")


# ---- test-time matching: one loop for command line, worker and sweeps


class Executed(NamedTuple):
    """One finished iteration: its JSON-safe record, and the step itself with scores and model."""

    record: dict[str, Any]
    step: TTMStep

    @property
    def model(self) -> Trainable:
        return self.step.model


def ttm_job(
    benchmark: str,
    model: str,
    *,
    split: str = "test",
    groups: int | None = None,
    preset: str = "builtin",
    oracle: bool = False,
    device: str = "auto",
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The JSON-safe description of a run that `execute_ttm` takes, checked as far as that needs no model.

    groups : only so many, the first ones. oracle : the skyline, which trains on what truth says is right.
    options : settings of `TTMConfig` that differ from the preset's; None leaves a setting as it is.
    """
    from core.presets import PRESETS, TTMConfig

    if preset not in PRESETS:
        raise unknown_name("preset", preset, PRESETS)
    base = PRESETS[preset].config
    if not isinstance(base, TTMConfig):
        raise InputError(
            f"The preset {preset!r} is not one of test-time matching; choose another (`list presets`)."
        )
    chosen = {name: value for name, value in (options or {}).items() if value is not None}
    settings = base.to_dict()
    for end in ("first", "last"):  # a threshold given one way replaces the preset's, given the other way
        if {f"tau_{end}", f"coverage_{end}"} & set(chosen):
            settings |= {f"tau_{end}": None, f"coverage_{end}": None}
    config = TTMConfig.from_dict({**settings, **chosen})
    # A folder is named for good: the run may be resumed from another working directory.
    name = str(Path(model).resolve()) if Path(model).is_dir() else model
    common = {"benchmark": benchmark, "split": split, "model": name, "groups": groups, "oracle": oracle}
    return {**common, "device": device, "preset": preset, "ttm": config.to_dict()}


def execute_ttm(
    config: Mapping[str, Any],
    checkpoint: Path | None = None,
    stop: Callable[[], bool] | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> Iterator[Executed]:
    """Load what the config names (see `ttm_job`) and run test-time matching, one item per finished iteration.

    checkpoint : a folder of `save_checkpoint`, to go on after its iteration. stop, progress : as in `run_ttm`.
    Truth is read here, to measure, and never passed on: but for the oracle's mask.
    """
    from core import metrics
    from core.presets import TTMConfig
    from core.scorers import load_scorer
    from core.scorers.base import Trainable
    from core.ttm import run_ttm

    settings = TTMConfig.from_dict(config["ttm"])
    groups = load_groups(config)
    truth = groups.truth
    if config.get("oracle") and truth is None:
        raise InputError(f"The oracle needs to know what is right, and {config['benchmark']!r} has no truth.")
    selector = metrics.oracle_mask(truth) if config.get("oracle") and truth is not None else None
    source = config["model"] if checkpoint is None else str(checkpoint / "model")
    model = load_scorer(source, config.get("device") or "auto")
    if not isinstance(model, Trainable):
        raise InputError(
            f"The model {config['model']!r} has no weights to adapt; choose a contrastive model."
        )
    state = None if checkpoint is None else load_state(checkpoint)
    for step in run_ttm(
        model, groups.blind(), settings, selector=selector, resume=state, stop=stop, progress=progress
    ):
        yield Executed(step_record(step, truth), step)


def load_groups(config: Mapping[str, Any]) -> GroupSet:
    """The groups a config names: all of a benchmark's split, or only the first so many."""
    from core.datasets import load

    groups, wanted = load(config["benchmark"], config.get("split") or "test"), config.get("groups")
    if wanted is None:
        return groups
    if not 1 <= wanted <= len(groups):
        raise InputError(f"{wanted} groups were asked for; {groups.name} has 1 to {len(groups)} to give.")
    return groups.select(range(wanted))


def step_record(step: TTMStep, truth: np.ndarray | None) -> dict[str, Any]:
    """One iteration as JSON-safe data: the line of `crossmatch ttm --json`, and what the pages draw.

    truth : int (n, m), or None where nobody knows it; then `metrics` is empty and `precision` is None.
    Coverage and precision are shares in [0, 1]; metrics are in percent. Iteration 0 has selected nothing.
    """
    from core.evaluation import Evaluation, percent_record

    metrics = {}
    if truth is not None:
        found = Evaluation.of(step.scores, truth, global_scores=step.global_scores)
        metrics = {name: percent_record(estimate) for name, estimate in found.metrics.items()}
    n, m, k = step.scores.shape
    # A gradient norm may overflow where the loss does not; JSON has no word for it.
    own = {k: None if isinstance(v, float) and not isfinite(v) else v for k, v in step.record().items()}
    return {
        **own,
        "coverage": step.coverage if step.iteration else None,
        "precision": None if truth is None else _precision(step, truth),
        "metrics": metrics,
        "n_groups": n,
        "shape": f"{m}x{k}",
        "margins": _histogram(step, truth),
    }


def _precision(step: TTMStep, truth: np.ndarray) -> float | None:
    import numpy as np

    from core import metrics

    if step.selected.ndim == 1:
        return metrics.precision(step.matching, step.selected, truth)
    own = (
        truth + step.scores.shape[2] * np.arange(len(truth))[:, None]
    )  # as the global pseudo-labels count captions
    return metrics.precision(step.matching.reshape(-1, 1), step.selected.ravel(), own.reshape(-1, 1))


def _histogram(step: TTMStep, truth: np.ndarray | None) -> dict[str, Any]:
    """Margins after the step: counts per bin, those of groups matched right (None without truth), and the ties."""
    import numpy as np

    margin, tied = step.matches.margin, step.matches.tied
    edges = np.linspace(0, float(margin.max()) or 1.0, BINS + 1)
    right = None if truth is None else ~tied & (step.matches.matching == truth).all(axis=1)
    return {
        "edges": edges.tolist(),
        "counts": np.histogram(margin[~tied], edges)[0].tolist(),
        "right": None if right is None else np.histogram(margin[right], edges)[0].tolist(),
        "tied": int(tied.sum()),
    }


def step_arrays(step: TTMStep) -> dict[str, np.ndarray]:
    """Per-group arrays of an iteration, and its loss curve."""
    return {
        "scores": step.scores,
        "selected": step.selected,
        "matching": step.matching,
        "margin": step.matches.margin,
        "thresholds": step.thresholds,
        "losses": step.thresholds[:0] if step.report is None else step.report.losses,
    }


# ---- the process


class Job:
    """One attempt at a run: what the function of its kind gets to read and to report with."""

    def __init__(self, store: RunStore, run_id: str, attempt: int) -> None:
        self.store, self.run, self.attempt = store, store.get(run_id), attempt
        self.folder = store.folder(run_id)
        self.phase = "queued"
        # Plain values, set by a signal or by the heartbeat: an Event must not be set from a signal handler.
        self.asked, self.lost = False, False
        self._progress: dict[str, Any] = {}
        # When, and at which fraction, this attempt began to work.
        self._since: tuple[float, float] | None = None

    def stopping(self) -> bool:
        """Whether the run should end now; cheap enough to be asked before every training step."""
        return self.asked or self.lost

    def ask_to_stop(self, *_: object) -> None:
        """As a signal handler: remember it, the work notices."""
        self.asked = True

    def progress(self, fraction: float, message: str) -> None:
        """Share of the run that is done, in [0, 1]; reaches the store with the next heartbeat."""
        now = time.monotonic()
        if self._since is None:
            self._since = (now, fraction)
        began, first = self._since
        left = (now - began) * (1 - fraction) / (fraction - first) if fraction > first else None
        self._progress = {"fraction": fraction, "message": message, "seconds_left": left}

    def plan(self, total: int) -> None:
        """Say how many iterations there will be."""
        self.store.beat(self.run.id, self.attempt, self.phase, total=total)

    def append(self, record: dict[str, Any]) -> None:
        """Write a finished iteration down."""
        self.store.append_step(self.run.id, record, self.attempt, **self._progress)
        log.info("iteration %s done", record["iteration"])

    def beat(self) -> None:
        """One heartbeat; learns from the store whether to stop."""
        try:
            status = self.store.beat(self.run.id, self.attempt, self.phase, **self._progress)
        except Superseded:
            self.lost = True
        except InputError as error:  # a full disk may have room again at the next beat
            log.warning("%s", error)
        else:
            self.asked = self.asked or status not in ("queued", "running")

    def wait_for_turn(self) -> bool:
        """Wait in the queue of the device; False if the run was stopped there."""
        limit = parallel_runs()
        while not self.stopping():
            ahead = self.store.try_start(self.run.id, self.attempt, limit)
            if not ahead:
                self.phase, self._progress = "running", {"message": "loading"}
                return True
            self._progress = {"message": f"waiting for {ahead} run{'s' if ahead > 1 else ''} to end"}
            # The far end of a long queue asks less often.
            pause_until = time.monotonic() + min(0.5 * ahead, 5.0)
            while time.monotonic() < pause_until and not self.stopping():
                time.sleep(0.1)
        return False


@contextmanager
def heartbeats(job: Job) -> Iterator[None]:
    """Beat from a thread of its own, whatever the work is busy with."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(BEAT):
            job.beat()

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class Plan:
    """How the work spreads over the iterations: training takes time in proportion to what is selected.

    The first iterations of a falling threshold are the short ones; a plain share of iterations would promise an end
    several times too early.
    """

    SCORING = 0.05  # of the time that training on every group takes

    def __init__(self, total: int) -> None:
        self.work = [1.0] * total
        self.shown = 0.0

    def update(self, past: Sequence[float], thresholds: np.ndarray, margins: np.ndarray) -> None:
        """past : coverage of the iterations that are done. The others would select by today's margins."""
        ahead = [float((margins >= tau).mean()) for tau in thresholds[len(past) :]]
        self.work = [self.SCORING + share for share in (*past, *ahead)]

    def fraction(self, share: float) -> float:
        """Share of the work that is done when `share` of the iterations is; never falls."""
        whole = min(int(share * len(self.work)), len(self.work) - 1)
        part = (share * len(self.work) - whole) * self.work[whole]
        self.shown = max(self.shown, (sum(self.work[:whole]) + part) / sum(self.work))
        return self.shown


def run_ttm_job(job: Job) -> bool:
    """Test-time matching; True when all iterations are done and the model is saved."""
    config, folder = job.run.config, job.folder
    plan = Plan(config["ttm"]["iterations"])
    job.plan(len(plan.work))
    if is_published(folder):  # killed between the model and its last word
        return True
    checkpoint, note = newest_checkpoint(folder)
    if checkpoint is not None:  # written before its record: that one may be missing
        job.append(load_record(checkpoint))
    coverage = [step["coverage"] for step in job.store.steps(job.run.id)[1:]] if checkpoint else []
    if len(coverage) < len(plan.work):
        steps = execute_ttm(
            config, checkpoint, job.stopping, lambda f, text: job.progress(plan.fraction(f), text)
        )
        for record, step in steps:
            record["note"], note = " ".join(filter(None, (note, record["note"]))), ""
            with files.storage(folder):
                files.write_arrays(job.store.arrays_path(job.run.id, step.iteration), step_arrays(step))
                save_checkpoint(folder, step, record)
            job.append(record)
            coverage += [step.coverage] if step.iteration else []
            if step.threshold is not None:
                plan.update(coverage, step.thresholds, step.matches.margin)
    if len(coverage) < len(plan.work):
        return False
    with files.storage(folder):
        publish_model(folder, config, job.store.steps(job.run.id))
    drop_checkpoints(folder)
    return True


# What a run can be. A function gets its Job and returns whether it came to its end (False: it was stopped).
KINDS: dict[str, Callable[[Job], bool]] = {"ttm": run_ttm_job}


def work(job: Job) -> tuple[str, str | None]:
    """Wait for a slot, then do what the run's kind does; the final status, and the sentence if it failed."""
    try:
        if job.run.kind not in KINDS:
            raise unknown_name("kind of run", job.run.kind, KINDS)
        if not job.wait_for_turn():
            return "stopped", None
        return ("finished" if KINDS[job.run.kind](job) else "stopped"), None
    except Superseded:
        raise
    except InputError as error:
        log.exception("failed")
        return "failed", str(error)
    except Exception as error:
        log.exception("failed")
        first = str(error).strip().splitlines()[:1]
        return "failed", ": ".join([type(error).__name__, *first])


def main(arguments: Sequence[str]) -> int:
    """Claim the run, work, and leave a last word in the store."""
    root, run_id, attempt = arguments
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        job = Job(RunStore(Path(root)), run_id, int(attempt))
        signal.signal(signal.SIGTERM, job.ask_to_stop)
        job.store.claim(run_id, job.attempt, processes.identify(os.getpid()))
        with heartbeats(job):
            status, error = work(job)
        job.store.conclude(run_id, job.attempt, status, error)
    except Superseded:
        log.info("this run was deleted, stopped or started anew; nothing left to do")
    except InputError as error:  # not even the store can be written: whoever looks finds the run interrupted
        log.error("%s", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
