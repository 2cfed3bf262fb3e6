"""Crossmatch: does a vision-language model match the right images with the right captions, and can it be made to?

numpy arrays go in, plain typed results come out. S, float (n, m, k), holds the scores of n groups of m images and k
captions, 1 <= m <= k; truth, int (n, m), the caption that belongs to each image. Every test for "right" is strict: a
tie counts as wrong, and is counted. A mistake in what you give raises `InputError`, one sentence that says what is
wrong, where, and what to do.

    data        benchmarks  load_benchmark  load_retrieval  make_groups  read_scores
    scores      scorers  load_scorer  score  score_retrieval  from_embeddings
    matching    match  match_global
    metrics     evaluate  compare  threshold_curve  recall  evaluate_retrieval
    debiasing   estimate_prior  debias  alpha_study
    adaptation  run_ttm  simple_match
    figures     figure

>>> import crossmatch as cm
>>> groups = cm.load_benchmark("scenes/left-right")
>>> found = cm.evaluate(cm.score("builtin/clip", groups), groups.truth)
>>> round(found.metrics["group_score"].value, 1), round(found.metrics["group_match"].value, 1)
(10.7, 66.7)

These names are the public face; whatever lies behind them may move. Names are looked up when they are first used, so
that importing Crossmatch is quick, and torch is imported by `from_embeddings`, `run_ttm`, `simple_match`, and where a
model has to be loaded. Papers: [TTM] Zhu et al., Test-Time Matching; [VGPT] Lin et al., Revisiting the Role of Language
Priors; [Cola] Ray et al., COLA.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crossmatch._adapting import from_embeddings, run_ttm, simple_match
    from crossmatch._data import (
        InputError,
        benchmarks,
        load_benchmark,
        load_retrieval,
        make_groups,
        read_scores,
    )
    from crossmatch._debiasing import alpha_study, debias, estimate_prior
    from crossmatch._drawing import figure
    from crossmatch._measuring import (
        compare,
        evaluate,
        evaluate_retrieval,
        match,
        match_global,
        recall,
        threshold_curve,
    )
    from crossmatch._scoring import load_scorer, score, score_retrieval, scorers

__all__ = [
    "InputError",
    "alpha_study",
    "benchmarks",
    "compare",
    "debias",
    "estimate_prior",
    "evaluate",
    "evaluate_retrieval",
    "figure",
    "from_embeddings",
    "load_benchmark",
    "load_retrieval",
    "load_scorer",
    "make_groups",
    "match",
    "match_global",
    "read_scores",
    "recall",
    "run_ttm",
    "score",
    "score_retrieval",
    "scorers",
    "simple_match",
    "threshold_curve",
]

_MODULES = {
    "_data": ("InputError", "benchmarks", "load_benchmark", "load_retrieval", "make_groups", "read_scores"),
    "_scoring": ("load_scorer", "score", "score_retrieval", "scorers"),
    "_measuring": ("match", "match_global", "evaluate", "compare", "threshold_curve", "recall", "evaluate_retrieval"),
    "_debiasing": ("alpha_study", "debias", "estimate_prior"),
    "_adapting": ("from_embeddings", "run_ttm", "simple_match"),
    "_drawing": ("figure",),
}  # fmt: skip
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """A public name, found when it is first asked for (PEP 562)."""
    if name not in _HOME:
        here = sys.modules[__name__]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=here)
    found = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__]
