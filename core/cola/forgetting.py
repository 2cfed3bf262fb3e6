"""What adaptation costs: an adapted model against its base on sets that it was not adapted on ([Cola] 7).

The paper measures CIFAR-10 (87 % before, 83 % after); here it is whatever sets are at hand, with a paired interval.
Works for strategies and for runs of test-time matching alike. Reads what is right, to measure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from core import datasets
from core.base.errors import InputError
from core.cola.run import _base_source
from core.metrics import groups as metrics
from core.metrics import statistics
from core.metrics.evaluation import Evaluation
from core.metrics.groups import TEXT_SCORE
from core.runs.cost_file import _COST_COLUMNS, _read_cost, _write_cost
from core.runs.models import of_same_kind
from core.runs.store import RunStore
from core.scoring.cache import ScoreCache
from core.scoring.load import load_scorer
from core.scoring.scores import score_groups

if TYPE_CHECKING:
    import pandas as pd


class _AdaptedOrigin(NamedTuple):
    """Where an adapted model comes from: what loads it, its base, and the benchmark it was adapted on ("": unknown)."""

    source: str
    base: str
    benchmark: str


def _origin(model: str, base: str | None = None) -> _AdaptedOrigin:
    """An adapted model by `run/ID` or folder; the run, the manifest or the configuration names the base unless given.

    The same kind of score is compared: a base `itc:NAME` makes `itc:` of a folder that would load as a matching head.
    """
    source = _base_source(model)
    if model.startswith("run/"):
        return _origin_of_run(model, source, base)
    facts: dict[str, Any] = {}
    for name in ("config.json", "manifest.json"):
        path = Path(source) / name
        if path.is_file():
            description = json.loads(path.read_text(encoding="utf-8"))
            facts = {**{k: description[k] for k in ("base", "benchmark") if k in description}, **facts}
    known = base or facts.get("base")
    if not known:
        raise InputError(f"{model} does not say what it was adapted from; name its base with `--base NAME`.")
    return _AdaptedOrigin(
        _with_score_kind(source, known), _base_source(known), str(facts.get("benchmark", ""))
    )


def _origin_of_run(model: str, source: str, base: str | None) -> _AdaptedOrigin:
    """From the run's own description: the published manifest leaves paths of this machine out."""
    config = RunStore().get(model.removeprefix("run/")).config
    if config.get("embeddings"):
        raise InputError(
            f"{model} scores its embeddings file alone; there are no other sets to measure it on."
        )
    known = base or config["model"]
    return _AdaptedOrigin(_with_score_kind(source, known), _base_source(known), str(config["benchmark"]))


def _with_score_kind(source: str, base: str) -> str:
    """The adapted folder by the kind of score that its base has by name."""
    return source if ":" in source else of_same_kind(source, base)


def unadapted_sets(benchmark: str) -> list[str]:
    """The group sets at hand on which a model adapted to `benchmark` was not adapted.

    Flattened sets hold the groups of others again: they are left out, and so are the groups of a flattened benchmark.
    """
    adapted_on = benchmark.partition("@")[0]
    names = [name for name in datasets.names() if "@" not in name and name != adapted_on]
    return [name for name in names if not datasets.state(name).startswith("needs")]


def cost_table(
    model: str,
    base: str | None = None,
    sets: Sequence[str] | None = None,
    *,
    groups: int | None = None,
    device: str = "auto",
    say: Callable[[str], None] | None = None,
    progress: Callable[[float], None] | None = None,
) -> pd.DataFrame:
    """One row per set and metric: before, after (percent, 95 % intervals), and their paired difference.

    model : `run/ID` or a folder. base : by the names of `load_scorer`; None: what the model's folder names. sets : None
    takes all that are at hand but the one it was adapted on. groups : only the first so many of each set.
    say : told which set is measured. progress : the share done, in [0, 1].
    difference : after minus before in percentage points with its paired interval, groups fixed and broken,
    exact McNemar p. Raises InputError where the base is unknown.
    """
    import pandas as pd

    origin = _origin(model, base)
    chosen = list(sets) if sets is not None else unadapted_sets(origin.benchmark)
    before, after = load_scorer(origin.base, device), load_scorer(origin.source, device)
    rows = []
    for done, name in enumerate(chosen):
        if say is not None:
            say(f"measuring {name}")
        rows += _set_rows(name, before, after, groups, _within(progress, done, len(chosen)))
    return pd.DataFrame(rows, columns=list(_COST_COLUMNS))


def _within(
    progress: Callable[[float], None] | None, done: int, total: int
) -> Callable[[float], None] | None:
    return None if progress is None else lambda share: progress((done + share) / total)


def run_table(
    run_id: str,
    say: Callable[[str], None] | None = None,
    progress: Callable[[float], None] | None = None,
    device: str = "auto",
) -> pd.DataFrame:
    """`cost_table` of a finished run on every other set at hand, kept in the run's folder for whoever looks next."""
    table = cost_table(f"run/{run_id}", say=say, progress=progress, device=device)
    _write_cost(RunStore().folder(run_id), table)
    return table


def cached_table(folder: Path) -> pd.DataFrame | None:
    """What `run_table` left in a run's folder; None where nobody has measured it yet."""
    return _read_cost(folder)


def _set_rows(
    name: str,
    before: Any,
    after: Any,
    groups: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[dict[str, Any]]:
    """The rows of one set, one per shape and metric."""
    rows = []
    for (m, k), part in datasets.load(name).buckets().items():
        chosen = part if groups is None else part.select(range(min(groups, len(part))))
        if chosen.truth is not None:
            compared = _compared(chosen, before, after, progress)
            rows += [{"set": name, "shape": f"{m}x{k}", **row} for row in compared]
    return rows


def _compared(
    groups: Any, before: Any, after: Any, progress: Callable[[float], None] | None = None
) -> list[dict[str, Any]]:
    def told(first: float) -> Callable[[int, int], None]:
        return lambda done, total: None if progress is None else progress(first + done / total / 2)

    first, second = (
        Evaluation.of(
            score_groups(scorer, groups.blind(), ScoreCache(), told(start)), groups.truth, groups.ids
        )
        for scorer, start in ((before, 0.0), (after, 0.5))
    )
    m, _ = groups.shape
    rows = []
    # With one image they all ask the same: its own caption first ([TTM] B.2).
    for metric in (TEXT_SCORE,) if m == 1 else (*metrics.headline_metrics(first.outcomes), TEXT_SCORE):
        was, now = first.metrics[metric], second.metrics[metric]
        paired = statistics.compare(first.outcomes[metric].value, second.outcomes[metric].value)
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
                **{k: v for k, v in paired._asdict().items() if k != "at_ceiling"},
                "ties_before": was.ties,
                "ties_after": now.ties,
            }
        )
    return rows
