"""What adaptation costs: an adapted model against its base on sets that it was not adapted on ([Cola] 7).

The paper measures CIFAR-10 (87 % before, 83 % after); here it is whatever sets are at hand, with a paired interval.
Works for strategies and for runs of test-time matching alike. Reads what is right, to measure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from core.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "set", "shape", "metric", "groups", "before", "before_low", "before_high", "after", "after_low", "after_high",
    "chance", "difference", "low", "high", "fixed", "broken", "p_value", "ties_before", "ties_after",
)  # fmt: skip
METRICS = ("group_score", "group_match", "text_score")


class Origin(NamedTuple):
    """Where an adapted model comes from: what loads it, its base, and the benchmark it was adapted on ("": unknown)."""

    source: str
    base: str
    benchmark: str


def origin(model: str, base: str | None = None) -> Origin:
    """An adapted model by `run/ID` or folder; its manifest or configuration names the base unless it is given."""
    from core.adapt.jobs import base_source

    source = base_source(model)
    facts: dict[str, Any] = {}
    for name in ("config.json", "manifest.json"):
        path = Path(source) / name
        if path.is_file():
            found = json.loads(path.read_text(encoding="utf-8"))
            facts = {**{k: found[k] for k in ("base", "benchmark") if k in found}, **facts}
    known = base or facts.get("base")
    if not known:
        raise InputError(f"{model} does not say what it was adapted from; name its base.")
    return Origin(source, base_source(known), str(facts.get("benchmark", "")))


def other_sets(benchmark: str) -> list[str]:
    """The group sets at hand on which a model adapted to `benchmark` was not adapted."""
    from core import datasets

    here = [name for name in datasets.names() if not datasets.state(name).startswith("needs")]
    return [name for name in here if name != benchmark]


def cost_table(
    model: str,
    base: str | None = None,
    sets: Sequence[str] | None = None,
    *,
    groups: int | None = None,
    device: str = "auto",
    say: Callable[[str], None] | None = None,
) -> pd.DataFrame:
    """One row per set and metric: before, after (percent, 95 % intervals), and their paired difference.

    model : `run/ID` or a folder. base : by the names of `load_scorer`; None: what the model's folder names. sets : None
    takes all that are at hand but the one it was adapted on. groups : only the first so many of each set.
    difference : after minus before in percentage points with its paired bootstrap interval, groups fixed and broken,
    exact McNemar p. Raises InputError where the base is unknown.
    """
    import pandas as pd

    from core.scorers import load_scorer

    found = origin(model, base)
    chosen = list(sets) if sets is not None else other_sets(found.benchmark)
    before, after = load_scorer(found.base, device), load_scorer(found.source, device)
    rows = []
    for name in chosen:
        if say is not None:
            say(f"measuring {name}")
        rows += set_rows(name, before, after, groups)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def set_rows(name: str, before: Any, after: Any, groups: int | None = None) -> list[dict[str, Any]]:
    """The rows of one set, one per shape and metric."""
    from core import datasets

    rows = []
    for (m, k), part in datasets.load(name).buckets().items():
        some = part if groups is None else part.select(range(min(groups, len(part))))
        if some.truth is not None:
            rows += [{"set": name, "shape": f"{m}x{k}", **row} for row in _compared(some, before, after)]
    return rows


def _compared(groups: Any, before: Any, after: Any) -> list[dict[str, Any]]:
    from core import metrics
    from core.evaluation import Evaluation
    from core.scores import ScoreCache, score_groups

    first, second = (
        Evaluation.of(score_groups(scorer, groups, ScoreCache()), groups.truth, groups.ids)
        for scorer in (before, after)
    )
    m, _ = groups.shape
    rows = []
    for metric in METRICS if m > 1 else ("text_score",):
        was, now = first.metrics[metric], second.metrics[metric]
        paired = metrics.compare(first.outcomes[metric].value, second.outcomes[metric].value)
        rows.append(
            {
                "metric": metric,
                "groups": len(groups),
                "before": was.value,
                "before_low": was.low,
                "before_high": was.high,
                "after": now.value,
                "after_low": now.low,
                "after_high": now.high,
                "chance": now.chance,
                **paired._asdict(),
                "ties_before": was.ties,
                "ties_after": now.ties,
            }
        )
    return rows
