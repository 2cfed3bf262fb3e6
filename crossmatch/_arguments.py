"""What is often given in place of an argument: the name of a thing where the thing itself is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core.base.errors import InputError
from core.groups import GroupSet
from core.metrics.evaluation import Evaluation

_ENDINGS = {".csv", ".parquet", ".npz", ".npy", ".jsonl"}  # as `read_scores` takes them


def check_scores(value: Any) -> None:
    """Raises InputError for the name of a file, groups or an evaluation in place of scores."""
    if isinstance(value, str | Path):
        raise InputError(f"{str(value)!r} is a name, not an array of scores; {_read(str(value))}")
    if isinstance(value, GroupSet):
        raise InputError(
            "These are groups, not scores; score them first: "
            "cm.evaluate(cm.score('builtin/clip', groups), groups.truth)."
        )
    if isinstance(value, Evaluation):
        raise InputError(
            "This is an evaluation already; its scores are in `.scores`, its metrics in `.metrics`."
        )


def check_groups(value: Any) -> None:
    """Raises InputError for the name of a benchmark, or anything else, in place of groups."""
    if isinstance(value, str | Path):
        raise InputError(
            f"{str(value)!r} is a name, not groups; load them first: cm.load_benchmark({str(value)!r})."
        )
    if not isinstance(value, GroupSet):
        raise InputError(
            f"What was given as groups is of type {type(value).__name__}; load groups with cm.load_benchmark, or make "
            "your own with cm.make_groups."
        )


def check_name(value: Any) -> None:
    """Raises InputError for what is no name of a benchmark."""
    if not isinstance(value, str):
        raise InputError(
            f"The name of a benchmark is text, and {value!r:.60} is of type {type(value).__name__}; "
            "cm.benchmarks() lists the names."
        )


def check_evaluation(value: Any) -> None:
    """Raises InputError for a file, a model or scores in place of an evaluation."""
    if isinstance(value, str | Path):
        raise InputError(f"{str(value)!r} is a name, not an evaluation; {_read(str(value))}")
    if not isinstance(value, Evaluation):
        raise InputError(
            f"A value of type {type(value).__name__} is no evaluation; make one first: cm.evaluate(scores, truth)."
        )


def _read(name: str) -> str:
    """How scores come from a file, or from a model."""
    if Path(name).suffix.lower() in _ENDINGS:
        return f"read the file first: f = cm.read_scores({name!r}), then cm.evaluate(f.scores, f.truth, ids=f.ids)."
    return f"score groups first: cm.evaluate(cm.score({name!r}, groups), groups.truth)."
