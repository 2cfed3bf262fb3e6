"""Notable groups: by the scores alone, and by what another scorer makes of them."""

from __future__ import annotations

import numpy as np

from core.base.errors import InputError
from core.debiasing.debias import prior_from_scores
from core.debiasing.study import AlphaStudy
from core.metrics import group_filters, paired
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, TEXT_SCORE
from core.runs.store import RunStore
from ui.loaders import evaluate, scorer_list
from ui.selection import Selection

BLIND = "builtin/blind-lm"


def notable_groups(selection: Selection, evaluation: Evaluation) -> dict[str, np.ndarray]:
    """Label -> groups, bool (n,). Only what the shipped models and the run's own base can tell without a wait."""
    kinds = group_filters.notable_groups(evaluation)
    if selection.model.startswith("run/"):
        kinds |= _adapted(selection, evaluation)
    if scorer_list().get(selection.model) == "vgpt":
        kinds |= _flipped(selection, evaluation)
    if selection.benchmark.startswith("scenes/") and evaluation.shape[0] == 1 and selection.model != BLIND:
        blind = evaluate(selection, BLIND)
        kinds["solved by a text-only model"] = blind.outcomes[TEXT_SCORE].value == 1
    return kinds


def _adapted(selection: Selection, evaluation: Evaluation) -> dict[str, np.ndarray]:
    """What adaptation has mended and broken, against the model that the run began with."""
    try:
        base = RunStore().get(selection.model.removeprefix("run/")).config.get("model", "")
        before = evaluate(selection, str(base))
        sides = paired.groups_by_winner(before, evaluation, GROUP_MATCH)
    except InputError:  # the base is gone, or scores other groups
        return {}
    return {"fixed by adaptation": sides["only B right"], "broken by adaptation": sides["only A right"]}


def _flipped(selection: Selection, evaluation: Evaluation) -> dict[str, np.ndarray]:
    """Groups whose GroupScore changes between alpha = 0 and alpha = 1, with the model's own blind scores as prior."""
    blind = f"blind:{selection.model.removeprefix('vgpt:')}"
    if blind not in scorer_list():
        return {}
    prior = prior_from_scores(evaluate(selection, blind).scores)
    flips = AlphaStudy(evaluation.scores, prior, evaluation.truth, evaluation.ids).flips(1.0, GROUP_SCORE)
    return {"flipped by α": flips.fixed | flips.broken}
