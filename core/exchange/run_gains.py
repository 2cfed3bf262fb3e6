"""What runs that have come to their end have gained, after minus before on the same groups or queries; of several seeds
in the mean over those that are complete."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from core import datasets
from core.base.errors import InputError
from core.base.text import _change_in_points, _p_text, _pct, _signed, _signed_end, _true_minus
from core.cola.run import StrategyRun
from core.cola.tasks import BUILTIN, IMAGES
from core.datasets.embeddings import _by_order
from core.exchange._run_groups import _RunGroups
from core.exchange.run_pairs import _evaluations_on, _main_metric, _Pair
from core.exchange.run_table import _complete, _Ends, _ends_of, _Key
from core.exchange.seeds import SeedResult
from core.metrics.evaluation import Evaluation
from core.metrics.groups import description_of
from core.metrics.retrieval import COLA_MAP, RetrievalEvaluation
from core.metrics.statistics import Comparison, Estimate, compare
from core.runs.store import Run, RunStore
from core.scorers.cola_config import GROUP_RESULTS, KIND
from core.scoring.retrieval import first_images
from core.ttm.records import SeedChange, changes
from core.ttm.run import RUNS, adaptation
from core.ttm.seeds import SeedGroup, seed_of

if TYPE_CHECKING:
    from core.groups import GroupSet

_Records = Sequence[Mapping[str, Any]]  # of the iterations of a run
_RunEnds = Sequence[tuple[Run, int]]  # complete seeds, each with its last iteration
_MAP = "mAP"


class _Measured(NamedTuple):
    """What a run, or the seeds of one, has come to, and what it has gained."""

    ends: _Ends
    gains: Mapping[str, Comparison]  # by the label of the main metric; {} where nothing was tested
    undecided: Mapping[str, str]  # of two seeds what they leave open, in a sentence, by that label

    @classmethod
    def of(
        cls,
        sweep: SeedGroup,
        steps: Sequence[_Records],
        store: RunStore,
        loaded: MutableMapping[str, GroupSet],
    ) -> _Measured:
        """Results with their intervals, of several seeds over seeds and groups, and gains, as far as the groups are on
        this machine and have a ground truth.

        steps : the records of every run. loaded : groups that were loaded for other runs, which are kept here.
        """
        ends, gained = _trained_ends(sweep, steps), dict[str, Comparison]()
        undecided = dict[str, str]()
        known: dict[_Key, tuple[Estimate, Estimate]] = {}
        with suppress(InputError):  # data that are not on this machine, as of a run that was imported
            if ends and sweep.runs[0].kind == KIND:
                gained = _strategy_gain(ends, store)
            elif ends:
                results = _evaluations(ends, store, _truth_for(ends[0][0], store, loaded))
                gained, undecided = _gains(*results)
                if len(ends) > 1:
                    every = SeedResult.of_seeds(*results, _whole(results[1]))
                    known = {(each.part, each.metric): (each.before, each.after) for each in every}
        return cls(_ends_of(sweep, steps, known), gained, undecided)

    @property
    def two_seeds(self) -> str:
        """What two seeds leave open of the gain in the metric which the run is about, a sentence; "" where nothing."""
        main = _main_metric(self.ends)
        return "" if main is None else _true_minus(self.undecided.get(_metric_label(main), ""))

    @property
    def gain(self) -> Comparison | None:
        """That in the metric which the run is about."""
        main = _main_metric(self.ends)
        return None if main is None else self.gains.get(_metric_label(main))


def _metric_label(name: str) -> str:
    return _MAP if name == COLA_MAP else description_of(name).label


def _trained_ends(sweep: SeedGroup, steps: Sequence[_Records]) -> list[tuple[Run, int]]:
    """The complete seeds of a run that trains, each with its last iteration; [] where one of them trained nothing,
    and of a ledger, which is several trainings."""
    kind = sweep.runs[0].kind
    if kind not in (*RUNS, KIND):
        return []
    ends = [(sweep.runs[i], int(steps[i][-1]["iteration"])) for i in _complete(sweep.runs, steps)]
    return ends if all(last for _, last in ends) else []


def _groups_for(run: Run, loaded: MutableMapping[str, GroupSet]) -> GroupSet:
    """The groups of a run. loaded : those of other runs, to which they are added."""
    of = repr(_RunGroups.of(run))
    if of not in loaded:
        loaded[of] = adaptation(run.config).load_groups()
    return loaded[of]


def _truth_for(run: Run, store: RunStore, loaded: MutableMapping[str, GroupSet]) -> np.ndarray | None:
    """Which captions belong to the images of a run's groups; None where nothing says it. Of a file of embeddings its
    order says it, so that file need not be here, as where a run was imported. loaded : as of `_groups_for`."""
    if run.config.get("embeddings"):
        n, m, _ = store.scores(run.id, 0).shape
        return np.tile(_by_order(m), (n, 1))
    return _groups_for(run, loaded).truth


def _evaluations(
    ends: _RunEnds, store: RunStore, truth: np.ndarray | None
) -> tuple[list[Evaluation], list[Evaluation]]:
    """Every seed before training and after it; nothing without a ground truth."""
    before, after = (
        [Evaluation.of(store.scores(run.id, last if ended else 0), truth) for run, last in ends]
        if truth is not None
        else []
        for ended in (False, True)
    )
    return before, after


def _whole(of: Sequence[Evaluation]) -> dict[str, np.ndarray]:
    return {"": np.ones(len(of[0].scores), bool)} if of else {}


def _gains(
    before: Sequence[Evaluation], after: Sequence[Evaluation]
) -> tuple[dict[str, Comparison], dict[str, str]]:
    """After minus before in the main metrics over all groups by their labels, of several seeds in their mean; and what
    two seeds leave open of it."""
    if len(after) < 2:
        return changes(before[0], after[0], _whole(after)) if after else {}, {}
    changed = SeedChange.of_seeds(before, after, _whole(after))
    open_yet = {label: " ".join(each._told(label)) for label, each in changed.items() if each._is_undecided}
    return {label: change.mean for label, change in changed.items()}, open_yet


def _strategy_gain(ends: _RunEnds, store: RunStore) -> dict[str, Comparison]:
    """The gain of a strategy of Cola in mAP over the built-in test queries; {} of several seeds."""
    if len(ends) > 1:
        return {}
    ((run, last),) = ends
    found = _strategy_changes(run, last, store, _queries).get((COLA_MAP, "all"))
    return {} if found is None else {_MAP: found}


def _queries(name: str, images: int) -> Any:
    found = datasets.load_retrieval(name)
    return first_images(found, min(images, len(found.images)))


def _strategy_changes(
    run: Run, done: int, store: RunStore, load: Callable[[str, int], Any]
) -> dict[tuple[str, str], Comparison]:
    """Cola mAP of each part of the built-in test queries, and the groups' metrics, after training minus before, paired
    over queries or groups; without what the run's arrays do not hold.

    load : the queries of a set over its first so many images.
    """
    try:
        first, last = (store.arrays(run.id, i) for i in (0, done))
    except InputError:  # of an imported run
        return {}
    found = {
        (name, "all"): compare(first[name], last[name])
        for name in GROUP_RESULTS
        if name in first and name in last and first[name].shape == last[name].shape
    }
    job = StrategyRun.read(run.config)
    scores = [each["retrieval_scores"] for each in (first, last) if "retrieval_scores" in each]
    if job.benchmark != BUILTIN or len(scores) < 2:
        return found
    queries = load(BUILTIN, job.images or IMAGES)
    if any(each.shape != queries.relevant.shape for each in scores):
        return found
    sides = [RetrievalEvaluation.of(queries, each) for each in scores]
    before, after = (side.values(COLA_MAP) for side in sides)
    if before is None or after is None:
        return found
    for name, mask in sides[0].parts().items():
        kept = mask & np.isfinite(before)
        if kept.any():
            found[COLA_MAP, name] = compare(before[kept], after[kept])
    return found


def _gain_said(found: Comparison | None) -> str:
    """`+12.9 [+8.3, +17.5]`, in points; a dash where nothing was tested."""
    if found is None:
        return "–"
    difference = _change_in_points(0.0, found.difference) + 0.0
    return _true_minus(
        f"{_signed(difference)} [{_signed_end(found.low + 0.0)}, {_signed_end(found.high + 0.0)}]"
    )


def _gain_line(measured: _Measured) -> str:
    """Every gain of a run: `GroupMatch +12.9 [+8.3, +17.5], p < 0.001; GroupScore …`; of several with what p is
    corrected for; "" where none was tested."""
    main = _main_metric(measured.ends)
    first = "" if main is None else _metric_label(main)
    gains = sorted(measured.gains.items(), key=lambda item: item[0] != first)
    said = "; ".join(f"{label} {_gain_said(found)}, p {_p_text(_corrected(found))}" for label, found in gains)
    return (
        f"{said} (p after Holm's correction for these {len(gains)} tests; intervals uncorrected)"
        if len(gains) > 1
        else said
    )


def _gains_in_common(
    pair: _Pair, store: RunStore, gain_said: Callable[[Comparison | None], str] = _gain_said
) -> list[str]:
    """What each of two runs has gained on the groups that both have: a line that says so and one for each; [] where
    the two have the same groups, and where neither has a gain there. gain_said : how an interval is written there."""
    if pair.in_common is None:
        return []
    lines, count = [], pair.in_common.size
    for side, sweep, ends, seeds in zip("AB", pair.compared, pair.sides, pair.complete, strict=True):
        found = dict[str, Comparison]()
        if ends.complete and ends.before:
            whole = [run for run in sweep.runs if seed_of(run) in seeds]
            found, _ = _gains(*_evaluations_on(whole, store, (sweep, *pair.runs), count))
        levels = {
            _metric_label(name): f"{_pct(ends.before[part, name].value)} → {_pct(after.value)} %, "
            for (part, name), after in ends.after.items()
            if (part, name) in ends.before
        }
        order = sorted(found, key=lambda label: label != _metric_label(_main_metric(ends) or ""))
        told = [f"{label} {levels.get(label, '')}{gain_said(found[label])}" for label in order]
        lines.append(f"{side}  {'; '.join(told) or 'no gain that is tested'}")
    if all(line.endswith("no gain that is tested") for line in lines):
        return []
    return [
        f"Gains {pair.in_common.where}, before → after, then points (brackets: 95 % intervals, paired, uncorrected):",
        *lines,
    ]


def _no_gain_said(sweep: SeedGroup) -> str:
    """Why a run has no gain."""
    if any(run.live for run in sweep.runs):
        return f"no gain yet: {_AT_WORK.get(sweep.status, sweep.status)}"
    return (
        "no gain that is tested" if sweep.status == "finished" else f"no gain: {sweep.status} before its end"
    )


_AT_WORK = {"running": "still running", "queued": "waits for its turn", "stopping": "is being stopped"}


def _corrected(found: Comparison) -> float:
    return found.p_value if found.p_holm is None else found.p_holm
