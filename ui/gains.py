"""What runs that have come to their end have gained, paired over the groups as their own pages have it; each measured
once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import streamlit as st

from core.base.errors import InputError
from core.base.text import _change_in_points
from core.exchange.run_table import _complete, _itself
from core.groups import GroupSet
from core.metrics.evaluation import Evaluation
from core.metrics.retrieval import COLA_MAP
from core.metrics.statistics import Comparison
from core.runs.store import Run, RunStore
from core.ttm.records import SeedChange, changes
from core.ttm.run import RUNS, LedgerRun, adaptation
from core.ttm.seeds import SeedGroup
from ui.formatting import true_minus

_Records = Sequence[dict[str, Any]]  # of the iterations of a run
MAP = "mAP"
_COLA = "adapt"
_SAME_GROUPS = ("benchmark", "split", "groups", "tags", "embeddings", "shape")


def gains(
    sweep: SeedGroup, steps: Sequence[_Records], loaded: dict[str, GroupSet] | None = None
) -> Mapping[str, Comparison]:
    """After minus before over all groups by the label of the main metric, of several seeds in the mean over those that
    are complete; of a strategy of Cola by `mAP` over the test queries. {} of a run that has not come to its end or
    trains nothing, and where there is no ground truth, or no data here.

    steps : the records of every run. loaded : groups that were loaded for other runs, which are kept here.
    """
    kind, whole = sweep.runs[0].kind, _complete(sweep.runs, steps)
    if not whole or kind not in (*RUNS, LedgerRun.kind, _COLA):
        return {}
    ends = [(sweep.runs[i], int(_itself(kind, steps[i])[-1]["iteration"])) for i in whole]
    if any(not last for _, last in ends):
        return {}
    key = tuple((run.id, run.attempt, last) for run, last in ends)
    with suppress(InputError):  # data that are not on this machine, as of a run that was imported
        return (
            _strategy(key, ends) if kind == _COLA else _adapted(key, ends, {} if loaded is None else loaded)
        )
    return {}


@st.cache_resource(max_entries=2048, show_spinner=False)
def _adapted(
    key: tuple[tuple[str, int, int], ...], _ends: Sequence[tuple[Run, int]], _loaded: dict[str, GroupSet]
) -> Mapping[str, Comparison]:
    config, store = _ends[0][0].config, RunStore()
    groups = _groups(config, _loaded)
    if groups.truth is None:
        return {}
    before, after = (
        [Evaluation.of(store.scores(run.id, last if ended else 0), groups.truth) for run, last in _ends]
        for ended in (False, True)
    )
    whole = {"": np.ones(len(groups), bool)}
    if len(_ends) == 1:
        return changes(before[0], after[0], whole)
    return {label: change.mean for label, change in SeedChange.of_seeds(before, after, whole).items()}


def _groups(config: Mapping[str, Any], loaded: dict[str, GroupSet]) -> GroupSet:
    of = repr([config.get(name) for name in _SAME_GROUPS])
    if of not in loaded:
        loaded[of] = adaptation(config).load_groups()
    return loaded[of]


@st.cache_resource(max_entries=256, show_spinner=False)
def _strategy(
    key: tuple[tuple[str, int, int], ...], _ends: Sequence[tuple[Run, int]]
) -> Mapping[str, Comparison]:
    from ui.retrieval import paired_changes  # with all that a page of its own draws

    if len(_ends) > 1:
        return {}
    ((run, last),) = _ends
    found = paired_changes(run.id, last, run.attempt, run).get((COLA_MAP, "all"))
    return {} if found is None else {MAP: found}


def gain_text(found: Comparison | None) -> str:
    """`+8.3 (−3.4 to +19.5)`, in points; a dash where nothing was tested."""
    if found is None:
        return "–"
    return true_minus(
        f"{_change_in_points(0.0, found.difference):+.1f} ({found.low + 0.0:+.1f} to {found.high + 0.0:+.1f})"
    )
