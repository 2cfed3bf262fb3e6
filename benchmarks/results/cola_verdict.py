"""The paper's claims on the built-in world: each confirmed, refuted or left open, from the records of runs alone.

A claim compares two strategies on one measure, query by query (group by group), means over seeds. It is confirmed where
the paired 95 % interval over seeds and queries (or groups) and every seed lie on its side of 0, refuted where both lie
on the other, and else left open: three seeds that agree by chance are no answer for a fourth.
More training must not undo it: of a strategy that was still improving on validation queries when the protocol's epochs
ended, runs of more epochs have to say the same, and without them the claim is open. What decided it is read off the
same records: the words of the queries, seen and unseen, and how the training ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from core.cola.table import BASE
from core.metrics.retrieval import COLA_MAP, QUERY_ALL_MAP, RetrievalEvaluation
from core.metrics.statistics import Comparison
from core.scenes.retrieval import load_retrieval
from core.scorers.cola_config import GROUP_RESULTS, STRATEGIES
from core.scoring.retrieval import first_images

CONFIRMED, REFUTED, OPEN = "confirmed", "refuted", "left open"
# What queries name, besides a shape; some name both of the last two.
WORDS = ("colours alone", "sizes", "materials")
_LATE = 0.75  # of the epochs asked for: a best validation after it means that training was still improving


class _Claim(NamedTuple):
    """`first` is better than `second` on a measure; of a loss (`better` -1) it is worse."""

    says: str
    source: str
    measure: str
    first: str
    second: str
    better: int = 1


_ADAPTER, _ALL, _UNSEEN = "mm-adapter", f"{COLA_MAP} all", f"{COLA_MAP} unseen"
CLAIMS = (
    _Claim("MM-Adapter finds combinations that training never showed better than the model before.",
           "Cola, Table 1", _UNSEEN, _ADAPTER, BASE),
    _Claim("MM-Adapter beats tuning both encoders.", "Cola, Table 1", _ALL, _ADAPTER, "ft-all"),
    _Claim("MM-Adapter beats tuning both encoders on combinations that training never showed.",
           "Cola, Table 1", _UNSEEN, _ADAPTER, "ft-all"),
    _Claim("MM-Adapter beats Linear.", "Cola, Table 1", _ALL, _ADAPTER, "linear"),
    _Claim("MM-Adapter beats Prompt-tune.", "Cola, Table 1", _ALL, _ADAPTER, "prompt-tune"),
    _Claim("Attention over picture and query together beats attention in each tower alone (FT late).",
           "Cola, section 5.2", _ALL, _ADAPTER, "ft-late"),
    _Claim("Comparing with the frozen query beats predicting a score (MM-Pred).",
           "Cola, section 5.2", _UNSEEN, _ADAPTER, "mm-pred"),
    _Claim("Where all the words are there and wrongly attached, MM-Adapter ranks better than the model before.",
           "Cola, Table 3", f"{QUERY_ALL_MAP} all", _ADAPTER, BASE),
    _Claim("MM-Adapter tells which of two pictures with exchanged attributes is meant, better than the model before.",
           "Cola, Table 2a", "multi_object", _ADAPTER, BASE),
    _Claim("MM-Adapter tells such pictures apart better than tuning both encoders.",
           "Cola, Table 2a", "multi_object", _ADAPTER, "ft-all"),
    _Claim("What MM-Adapter learns carries over to two captions of one picture, in CREPE's manner.",
           "Cola, Table 2a", "crepe", _ADAPTER, BASE),
    _Claim("MM-Adapter loses something on what it was not trained on.",
           "Cola, section 7", "forgetting", _ADAPTER, BASE, -1),
    _Claim("The binding is there, and alignment loses it: one linear map between the tokens tells pictures with "
           "exchanged attributes apart better than the model before.",
           "LABCLIP, arXiv 2502.03566", "multi_object", "token-map", BASE),
)  # fmt: skip


class MeasuredRun(NamedTuple):
    """A finished run: its validation mAP by epoch, and the outcomes before and after (`outcomes_of`)."""

    strategy: str
    seed: int
    curve: Sequence[float]
    before: Mapping[str, np.ndarray]
    after: Mapping[str, np.ndarray]


class Longer(NamedTuple):
    """Runs of the same protocol with more epochs, all of which they train."""

    epochs: int
    runs: Sequence[MeasuredRun]

    def of(self, strategy: str) -> list[MeasuredRun]:
        return [run for run in self.runs if run.strategy == strategy]


_NONE_LONGER = Longer(0, ())


def verdicts(
    runs: Sequence[MeasuredRun], epochs: int, seeds: int, longer: Longer = _NONE_LONGER
) -> list[dict[str, Any]]:
    """One JSON-safe record per claim. epochs : that the protocol asks for. seeds : that a claim needs to be decided."""
    outcomes: dict[str, dict[int, dict[str, np.ndarray]]] = {}
    for run in runs:
        outcomes.setdefault(run.strategy, {})[run.seed] = by_part(run.after)
    if runs:  # the base has no seed: it stands beside every one
        outcomes[BASE] = dict.fromkeys({run.seed for run in runs}, by_part(runs[0].before))
    return [_verdict(claim, outcomes, runs, epochs, seeds, longer) for claim in CLAIMS]


def outcomes_of(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Outcomes of a run's arrays in percent: of queries (q,), NaN where a query is skipped; of groups (g,)."""
    scores = arrays["retrieval_scores"]
    measured = RetrievalEvaluation.of(first_images(load_retrieval("test"), scores.shape[1]), scores)
    found = {metric: 100 * measured.values(metric) for metric in (COLA_MAP, QUERY_ALL_MAP)}
    return found | {n: 100 * np.asarray(arrays[n], dtype=float) for n in GROUP_RESULTS if n in arrays}


def by_part(outcomes: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same by measure: of queries (q,) of each part, NaN elsewhere; of groups as they are."""
    found = {name: values for name, values in outcomes.items() if name in GROUP_RESULTS}
    for metric in (COLA_MAP, QUERY_ALL_MAP):
        found |= {f"{metric} {p}": np.where(mask, outcomes[metric], np.nan) for p, mask in _parts().items()}
    return found


@cache  # every run is measured on the same queries
def _parts() -> dict[str, np.ndarray]:
    """Which queries of the built-in test set are seen, unseen, name colours alone, sizes, materials: bool (q,) each."""
    test = load_retrieval("test")
    sizes, materials = (
        np.array([getattr(p, n) is not None for p in test.phrases]) for n in ("size", "material")
    )
    kinds = dict(zip(WORDS, (~sizes & ~materials, sizes, materials), strict=True))
    return {
        "all": np.ones(len(test.queries), dtype=bool),
        "seen": ~test.unseen,
        "unseen": test.unseen,
        **kinds,
    }


def _verdict(
    claim: _Claim,
    outcomes: Mapping[str, Mapping[int, Mapping[str, np.ndarray]]],
    runs: Sequence[MeasuredRun],
    epochs: int,
    seeds: int,
    longer: Longer,
) -> dict[str, Any]:
    record: dict[str, Any] = claim._asdict()
    shared = sorted(set(outcomes.get(claim.first, {})) & set(outcomes.get(claim.second, {})))
    if not shared:
        said = f"Not measured yet: 0 of {seeds} seeds."
        return {**record, "seeds": 0, "verdict": OPEN, "decided_by": said}
    whole = _difference(claim, claim.measure, outcomes, shared)
    record |= {"seeds": len(shared), **whole}
    found = _side(claim, whole) if len(shared) >= seeds else 0
    reasons = [] if len(shared) >= seeds else [f"{len(shared)} of {seeds} seeds are measured"]
    if len(shared) >= seeds and not found:
        reasons.append("the interval, or a seed, lies on the other side of 0")
    trained = [name for name in (claim.first, claim.second) if name != BASE]
    improving = [name for name in trained if still_improving(name, runs, epochs)]
    owed = [name for name in improving if len(longer.of(name)) < seeds]
    if improving and not owed:
        record["longer"] = _difference(
            claim, claim.measure, *_with_longer(claim, improving, outcomes, longer)
        )
        reasons.append(
            _said_of_longer(record["longer"], found, _side(claim, record["longer"]), improving, longer)
        )
        found = found if found == _side(claim, record["longer"]) else 0
    elif owed and found:
        outcome = "it holds" if found > 0 else "the opposite holds"
        labels = " and ".join(STRATEGIES[name].label for name in owed)
        reasons.append(f"{outcome} with the protocol's epochs, but runs of more epochs are owed of {labels}")
        found = 0
    record["verdict"] = {1: CONFIRMED, -1: REFUTED, 0: OPEN}[found]
    metric, _, part = claim.measure.partition(" ")
    if part:
        others = (*(("seen", "unseen") if part == "all" else ()), *WORDS)
        parts = {name: _difference(claim, f"{metric} {name}", outcomes, shared) for name in others}
        record["parts"] = parts
        where = "with the protocol's epochs " if "longer" in record else ""
        reasons += [f"{where}{text}" for text in _by_part(claim, parts)]
    reasons += [_ending(name, runs, epochs, longer) for name in trained]
    return {**record, "decided_by": _sentence("; ".join(reasons))}


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _difference(
    claim: _Claim,
    measure: str,
    outcomes: Mapping[str, Mapping[int, Mapping[str, np.ndarray]]],
    shared: Sequence[int],
) -> dict[str, Any]:
    """First minus second in points: mean over seeds and queries, paired 95 % interval over both, and of every seed.

    The model before has one run, which stands beside every seed.
    """
    first, second = (
        np.stack([outcomes[name][seed][measure] for seed in shared]) / 100
        for name in (claim.first, claim.second)
    )
    kept = np.isfinite(first - second).all(axis=0)
    found = Comparison.over_seeds(second[:, kept], first[:, kept])
    numbers = {"difference": found.difference, "low": found.low, "high": found.high}
    by_seed = 100 * (first - second)[:, kept].mean(axis=1)
    each = [round(float(value), 3) for value in by_seed]
    return {**{n: round(value, 3) for n, value in numbers.items()}, "n": int(kept.sum()), "by_seed": each}


def _side(claim: _Claim, found: Mapping[str, Any]) -> int:
    """1 where a difference is clearly on the claim's side, -1 where on the other, 0 where it cannot be told."""
    low, high, *each = (claim.better * value for value in (found["low"], found["high"], *found["by_seed"]))
    if min(low, high, *each) > 0:
        return 1
    return -1 if max(low, high, *each) < 0 else 0


def _by_part(claim: _Claim, parts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Of which queries it holds, and of which not."""
    texts = []
    for side, said in ((1, "it holds of"), (-1, "the opposite holds of"), (0, "it cannot be told of")):
        names = [
            f"{n} ({found['difference']:+.1f})" for n, found in parts.items() if _side(claim, found) == side
        ]
        if names:
            texts.append(f"{said} {', '.join(names)}")
    return texts


def _with_longer(
    claim: _Claim,
    improving: Sequence[str],
    outcomes: Mapping[str, Mapping[int, Mapping[str, np.ndarray]]],
    longer: Longer,
) -> tuple[dict[str, Mapping[int, Mapping[str, np.ndarray]]], list[int]]:
    """The outcomes with the longer runs of what was still improving, and the seeds that both of a claim's have."""
    after = {
        **outcomes,
        **{name: {run.seed: by_part(run.after) for run in longer.of(name)} for name in improving},
    }
    return after, sorted(set(after[claim.first]) & set(after[claim.second]))


def _said_of_longer(
    whole: Mapping[str, Any], found: int, side: int, improving: Sequence[str], longer: Longer
) -> str:
    """`with 32 epochs of MM-Adapter, too: -8.6 [-14.4, -2.8]`"""
    labels = " and ".join(STRATEGIES[name].label for name in improving)
    number = f"{whole['difference']:+.1f} [{whole['low']:+.1f}, {whole['high']:+.1f}]"
    if found and side == found:
        return f"with {longer.epochs} epochs of {labels}, too: {number}"
    undone = ", so more training undoes it" if found else ""
    return f"with {longer.epochs} epochs of {labels}: {number}{undone}"


def still_improving(strategy: str, runs: Sequence[MeasuredRun], epochs: int) -> int:
    """Of how many seeds the best epoch on validation came late, so that more of them may be better."""
    mine = [run for run in runs if run.strategy == strategy]
    return sum(len(run.curve) > epochs and int(np.argmax(run.curve)) > _LATE * epochs for run in mine)


def _ending(strategy: str, runs: Sequence[MeasuredRun], epochs: int, longer: Longer) -> str:
    """How the training of a strategy ended, over its seeds: by validation, or with its last epoch, still improving;
    and what more epochs changed on validation, where such runs are measured.
    """
    mine, label = {run.seed: run for run in runs if run.strategy == strategy}, STRATEGIES[strategy].label
    still = still_improving(strategy, runs, epochs)
    if not still:
        ended = [len(run.curve) - 1 for run in mine.values()]
        after = " to ".join(map(str, sorted({min(ended), max(ended)})))
        return f"{label} had stopped improving on validation (after {after} of {epochs} epochs)"
    said = f"{label} was still improving on validation when it ended ({still} of {len(mine)} seeds)"
    gains = [run.curve[-1] - mine[run.seed].curve[-1] for run in longer.of(strategy) if run.seed in mine]
    if not gains:
        return f"{said}: more steps may change it"
    some = "" if len(gains) == len(mine) else f" ({len(gains)} of {len(mine)} seeds)"
    return f"{said}; {longer.epochs} epochs change its validation mAP by {np.mean(gains):+.1f} points{some}"
