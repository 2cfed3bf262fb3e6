"""SimpleMatch: overfit a model to the matchings that it induces once, so that GroupScore can reach GroupMatch.

Nothing here needs to know which matchings are right. Source: [TTM] section 3.1; B.2 for m < k.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import nan

import numpy as np

from core.groups import GroupSet
from core.scorers.base import Trainable
from core.ttm.config import SimpleMatchConfig
from core.ttm.loop import Adaptation, Progress, Stop, TrainingRound, TTMState, TTMStep


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
    run, none = Adaptation(model, groups, config, config.rounds, resume), np.zeros(0)
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
        plan = TrainingRound(
            len(shares) + 1, none, None, labels, chosen, int(allowed.sum()), "Every group is tied"
        )
        step = run.iterate(plan, stop, progress)
        if step is None:
            return
        shares.append(nan if step.fitted is None else step.fitted)
        run.kept = {**step.kept, "history": np.array(shares)}
        yield replace(step, kept=run.kept)
