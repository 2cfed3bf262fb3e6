"""What runs that have come to their end have gained, paired over the groups as their own pages have it; each measured
once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import streamlit as st

from core.base.errors import InputError
from core.base.text import _signed, _signed_range
from core.exchange.run_gains import _evaluations, _gains, _trained_ends, _truth_for
from core.groups import GroupSet
from core.metrics.retrieval import COLA_MAP
from core.metrics.statistics import Comparison
from core.runs.store import Run, RunStore
from core.ttm.seeds import SeedGroup
from ui.formatting import true_minus

_Records = Sequence[dict[str, Any]]  # of the iterations of a run
MAP = "mAP"
_COLA = "adapt"


def gains(
    sweep: SeedGroup, steps: Sequence[_Records], loaded: dict[str, GroupSet] | None = None
) -> Mapping[str, Comparison]:
    """After minus before over all groups by the label of the main metric, of several seeds in the mean over those that
    are complete; of a strategy of Cola by `mAP` over the test queries. {} of a run that has not come to its end or
    trains nothing, and where there is no ground truth, or no data here.

    steps : the records of every run. loaded : groups that were loaded for other runs, which are kept here.
    """
    ends = _trained_ends(sweep, steps)
    if not ends:
        return {}
    key = tuple((run.id, run.attempt, last) for run, last in ends)
    with suppress(InputError):  # data that are not on this machine, as of a run that was imported
        return (
            _strategy(key, ends)
            if sweep.runs[0].kind == _COLA
            else _adapted(key, ends, {} if loaded is None else loaded)
        )
    return {}


@st.cache_resource(max_entries=2048, show_spinner=False)
def _adapted(
    key: tuple[tuple[str, int, int], ...], _ends: Sequence[tuple[Run, int]], _loaded: dict[str, GroupSet]
) -> Mapping[str, Comparison]:
    store = RunStore()
    return _gains(*_evaluations(_ends, store, _truth_for(_ends[0][0], store, _loaded)))[0]


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
    return true_minus(f"{_signed(found.difference)} ({_signed_range(found.low, found.high)})")
