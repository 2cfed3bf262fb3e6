"""Test-time matching or SimpleMatch as a background run: a checkpoint after every iteration, and at the end
a model that loads as a scorer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.base import files
from core.runs.attempt import RunAttempt
from core.runs.checkpoints import drop_checkpoints, is_published, load_record, newest_checkpoint
from core.ttm.checkpoint import publish_model, save_checkpoint
from core.ttm.records import projected_coverage, step_arrays
from core.ttm.run import execute, is_over, total_of


class ProgressPlan:
    """How the work spreads over the iterations: training takes time in proportion to what is selected.

    The first iterations of a falling threshold are the short ones; a plain share of iterations would promise an end
    several times too early.
    """

    SCORING = 0.05  # of the time that training on every group takes

    def __init__(self, total: int) -> None:
        self.work = [1.0] * total
        self.shown = 0.0

    def update(self, past: Sequence[float], ahead: Sequence[float]) -> None:
        """past : coverage of the iterations that are done. ahead : what the others would select by today's scores."""
        self.work = [self.SCORING + share for share in (*past, *ahead)]

    def fraction(self, share: float) -> float:
        """Share of the work that is done when `share` of the iterations is; never falls."""
        whole = min(int(share * len(self.work)), len(self.work) - 1)
        part = (share * len(self.work) - whole) * self.work[whole]
        self.shown = max(self.shown, (sum(self.work[:whole]) + part) / sum(self.work))
        return self.shown


def run_job(job: RunAttempt) -> bool:
    """Test-time matching or SimpleMatch; True when it came to its end and the model is saved."""
    config, folder = job.run.config, job.folder
    plan = ProgressPlan(total_of(config))
    job.plan(len(plan.work))
    if is_published(folder):  # killed between the model and its last word
        return True
    checkpoint, note = newest_checkpoint(folder)
    records: list[dict[str, Any]] = []
    if checkpoint is not None:  # written before its record: that one may be missing
        job.append(load_record(checkpoint))
        records = job.store.steps(job.run.id)
    if not is_over(config, records):
        steps = execute(
            config, checkpoint, job.stopping, lambda f, text: job.progress(plan.fraction(f), text)
        )
        for record, step in steps:
            record["note"], note = " ".join(filter(None, (note, record["note"]))), ""
            with files.storage_errors(folder):
                files.write_arrays(job.store.arrays_path(job.run.id, step.iteration), step_arrays(step))
                save_checkpoint(folder, step, record)
            job.append(record)
            records.append(record)
            ahead = projected_coverage(config, step)
            if ahead:
                plan.update([done["coverage"] for done in records[1:]], ahead)
    if not is_over(config, records):
        return False
    with files.storage_errors(folder):
        publish_model(folder, config, job.store.steps(job.run.id))
    drop_checkpoints(folder)
    return True
