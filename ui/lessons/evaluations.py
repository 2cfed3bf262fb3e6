"""A model's evaluation on a whole test set, for the lessons: every number is computed here and now, or was cached."""

from __future__ import annotations

import numpy as np

from core.metrics.evaluation import Evaluation
from ui import loaders
from ui.selection import Selection


def whole_test_set(benchmark: str, model: str) -> Selection:
    """All test groups of a set."""
    groups = loaders.load_groups(benchmark, "test")
    return Selection(benchmark, "test", model, (), groups, np.ones(len(groups), bool))


def evaluate(benchmark: str, model: str) -> Evaluation:
    """That model on these groups."""
    return loaders.evaluate(whole_test_set(benchmark, model))
