"""The paper's claims on the built-in world: each the same here, different or open, from the records of runs alone.

A claim compares two strategies on one measure, query by query (group by group), means over seeds, after ever longer
training: the protocol's epochs, which validation may end early, then twice as many and twice those, all of them
trained. The longest that both have trained decides. A claim is the same here where the paired 95 % interval over seeds
and queries (or groups), every seed and, of the unseen queries, every combination they ask for lie on its side of 0
(queries for one colour and shape count as one that was asked several times); different where all lie on the other; and
else open: three seeds that agree by chance are no answer for a fourth.
More training must not undo it: all of this has to hold, too, of what there would be had another doubling changed every
query (or group) of every seed as the last one did, and the length before must not say the opposite.
What decided it is read off the same records: the words of the queries, seen and unseen, and how the training ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from core.cola.table import BASE
from core.metrics.groups import IMAGE_SCORE, chance
from core.metrics.retrieval import COLA_MAP, QUERY_ALL_MAP, RetrievalEvaluation, _by_question, _questions_of
from core.metrics.statistics import Clusters, Comparison, estimate
from core.scenes.retrieval import load_retrieval
from core.scenes.world import HELD_OUT_COMBINATIONS
from core.scorers.cola_config import GROUP_RESULTS, STRATEGIES
from core.scoring.retrieval import first_images

# In the words of the pages: the same here as in the paper, different, or open.
SAME, DIFFERENT, OPEN = "same", "different", "open"
CHANCE = "chance"  # in the place of a strategy: what answers drawn at random are worth
# What queries name, besides a shape; some name both of the last two.
WORDS = ("colours alone", "sizes", "materials")
ATTRIBUTE_COUNTS = ("one attribute", "two attributes", "three attributes")


class _Claim(NamedTuple):
    """`first` is better than `second` on a measure; of a loss (`better` -1) it is worse."""

    says: str
    source: str
    measure: str
    first: str
    second: str
    better: int = 1

    @property
    def trained(self) -> list[str]:
        """The strategies that it compares."""
        return [name for name in (self.first, self.second) if name in STRATEGIES]


_PRED, _PAIRS = "mm-pred", "multi_object"
_ADAPTER, _ALL, _UNSEEN = "mm-adapter", f"{COLA_MAP} all", f"{COLA_MAP} unseen"
_ATTACHED = f"{QUERY_ALL_MAP} all"
HEADLINES = (_ALL, _UNSEEN, _PAIRS)  # the measures of which the page says who is ahead
CLAIMS = (
    _Claim("MM-Adapter finds combinations that training never showed better than the model before.",
           "Cola, Table 1", _UNSEEN, _ADAPTER, BASE),
    _Claim("MM-Adapter finds what queries ask for, all of them, better than the model before.",
           "Cola, Table 1", _ALL, _ADAPTER, BASE),
    _Claim("MM-Adapter beats tuning both encoders.", "Cola, Table 1", _ALL, _ADAPTER, "ft-all"),
    _Claim("MM-Adapter beats tuning both encoders on combinations that training never showed.",
           "Cola, Table 1", _UNSEEN, _ADAPTER, "ft-all"),
    _Claim("MM-Adapter beats Linear.", "Cola, Table 1", _ALL, _ADAPTER, "linear"),
    _Claim("MM-Adapter beats Prompt-tune.", "Cola, Table 1", _ALL, _ADAPTER, "prompt-tune"),
    _Claim("Attention over picture and query together beats attention in each tower alone (FT late).",
           "Cola, section 5.2", _ALL, _ADAPTER, "ft-late"),
    _Claim("Tuning later layers of each tower (FT late) beats tuning both encoders.",
           "Cola, section 6.1", _ALL, "ft-late", "ft-all"),
    _Claim("MM-Pred beats tuning both encoders.", "Cola, section 6.1", _ALL, _PRED, "ft-all"),
    _Claim("MM-Pred beats FT late.", "Cola, section 6.1", _ALL, _PRED, "ft-late"),
    _Claim("MM-Pred beats Linear.", "Cola, section 6.1", _ALL, _PRED, "linear"),
    _Claim("MM-Pred beats Prompt-tune.", "Cola, section 6.1", _ALL, _PRED, "prompt-tune"),
    _Claim("Comparing with the frozen query beats predicting a score (MM-Pred), on all queries.",
           "Cola, section 6.1", _ALL, _ADAPTER, _PRED),
    _Claim("Comparing with the frozen query beats predicting a score (MM-Pred), on combinations never shown.",
           "Cola, section 6.1", _UNSEEN, _ADAPTER, "mm-pred"),
    _Claim("Where all the words are there and wrongly attached, MM-Adapter ranks better than the model before.",
           "Cola, supplement (QueryAll mAP: “all trends remain the same”)", _ATTACHED, _ADAPTER, BASE),
    *(_Claim(f"Where all the words are there and wrongly attached, MM-Adapter ranks better than {label}.",
             "Cola, Table 3", _ATTACHED, _ADAPTER, name)
      for name, label in ((n, STRATEGIES[n].label) for n in ("linear", "prompt-tune", "ft-all", "ft-late", _PRED))),
    *(_Claim(f"MM-Adapter ranks better than the model before, for queries of {part}.",
             "Cola, Figure 5", f"{COLA_MAP} {part}", _ADAPTER, BASE) for part in ATTRIBUTE_COUNTS),
    _Claim("MM-Adapter tells which of two pictures with exchanged attributes is meant, better than the model before.",
           "Cola, Table 2a", "multi_object", _ADAPTER, BASE),
    _Claim("MM-Adapter tells such pictures apart better than tuning both encoders.",
           "Cola, Table 2a", "multi_object", _ADAPTER, "ft-all"),
    _Claim("MM-Adapter tells such pictures apart better than Linear.",
           "Cola, Table 2a", "multi_object", _ADAPTER, "linear"),
    _Claim("MM-Adapter tells such pictures apart better than Prompt-tune.",
           "Cola, Table 2a", "multi_object", _ADAPTER, "prompt-tune"),
    _Claim("MM-Adapter tells such pictures apart better than FT late.",
           "Cola, Table 2a", "multi_object", _ADAPTER, "ft-late"),
    _Claim("MM-Pred tells such pictures apart better than the model before.",
           "Cola, Table 2a", _PAIRS, _PRED, BASE),
    _Claim("MM-Pred tells such pictures apart better than tuning both encoders.",
           "Cola, Table 2a", _PAIRS, _PRED, "ft-all"),
    _Claim("The model before tells such pictures apart worse than chance does.",
           "Cola, section 6.2", "multi_object", BASE, CHANCE, -1),
    _Claim("What MM-Adapter learns carries over to two captions of one picture, in CREPE's manner.",
           "Cola, Table 2a", "crepe", _ADAPTER, BASE),
    _Claim("Tuning both encoders is enough for two captions of one picture, in CREPE's manner.",
           "Cola, section 6.2", "crepe", "ft-all", BASE),
    *(_Claim(f"{STRATEGIES[name].label} is enough for two captions of one picture, in CREPE's manner.",
             "Cola, section 6.2", "crepe", name, BASE) for name in ("linear", "ft-late")),
    _Claim("MM-Adapter loses something on what it was not trained on.",
           "Cola, section 7", "forgetting", _ADAPTER, BASE, -1),
    _Claim("The binding is there, and alignment loses it: one linear map between the tokens tells pictures with "
           "exchanged attributes apart better than the model before.",
           "LABCLIP, arXiv 2502.03566", "multi_object", "token-map", BASE),
)  # fmt: skip


_CHANCE = {"multi_object": 100.0 * chance(IMAGE_SCORE, 2, 2)}  # as `core.cola.run` measures it


class MeasuredRun(NamedTuple):
    """A finished run: its validation mAP by epoch, and the outcomes before and after (`outcomes_of`)."""

    strategy: str
    seed: int
    curve: Sequence[float]
    before: Mapping[str, np.ndarray]
    after: Mapping[str, np.ndarray]


class Length(NamedTuple):
    """Runs of one protocol with so many epochs, all of which they train; of the protocol's own, the first length,
    validation may end a run before.
    """

    epochs: int
    runs: Sequence[MeasuredRun]

    def of(self, strategy: str) -> list[MeasuredRun]:
        return [run for run in self.runs if run.strategy == strategy]


_Outcomes = Mapping[str, Mapping[int, Mapping[str, np.ndarray]]]  # by strategy and seed


def verdicts(lengths: Sequence[Length], seeds: int) -> list[dict[str, Any]]:
    """One JSON-safe record per claim. lengths : the protocol's, then each with more epochs than the one before. seeds :
    that a claim needs to be decided.

    The record's difference is that of the longest of which both strategies have as many runs as are needed (`epochs`
    says which, where it is not the protocol's); what the shorter ones say stands beside it as `shorter`, by epochs.
    """
    measured, usual = _Measured(lengths, seeds), _Measured(lengths, seeds, cautious=False)
    return [_verdict(claim, measured, usual) for claim in CLAIMS]


def ahead(lengths: Sequence[Length], seeds: int, measure: str = _ALL) -> dict[str, Any] | None:
    """By how much the highest strategy of the longest training is ahead of every other one and of the model before, the
    next one first: paired differences in points, means over seeds, with intervals over seeds and questions and p after
    Holm's correction. None where fewer than two are trained. That overlapping intervals do not differ is no test.
    """
    measured = _Measured(lengths, seeds)
    outcomes = measured.outcomes[-1]
    names = [name for name in STRATEGIES if len(lengths[-1].of(name)) >= seeds]
    if len(names) < 2:
        return None
    sides = {name: _values(outcomes[name], measure, sorted(outcomes[names[0]])) for name in (*names, BASE)}
    kept = np.isfinite(np.stack([*sides.values()])).all(axis=(0, 1))
    order = sorted(sides, key=lambda name: -sides[name][:, kept].mean())
    first, *others = order
    if first == BASE:
        return None
    clusters = None if measure in GROUP_RESULTS else query_clusters().select(kept)
    whole = Comparison.holm(
        {n: Comparison.over_seeds(sides[n][:, kept], sides[first][:, kept], clusters) for n in others}
    )
    found = []
    for name, each in whole.items():
        by = each.clustered or each
        numbers = {"difference": each.difference, "low": by.low, "high": by.high}
        found.append(
            {"second": name, **{n: round(v, 3) for n, v in numbers.items()}, "p": round(by.p_holm, 6)}
        )
    return {"measure": measure, "epochs": lengths[-1].epochs, "seeds": seeds, "first": first, "others": found}


class _Measured:
    """What there is to decide claims with: runs by length, and the outcomes of each."""

    def __init__(self, lengths: Sequence[Length], seeds: int, cautious: bool = True) -> None:
        """cautious : see `_difference_of`."""
        self.lengths, self.seeds, self.cautious = lengths, seeds, cautious
        self.outcomes = [_by_seed(length.runs, lengths[0].runs) for length in lengths]

    def shared(self, place: int, claim: _Claim) -> list[int]:
        """The seeds that both sides have trained at a length."""
        outcomes = self.outcomes[place]
        return sorted(set(outcomes.get(claim.first, {})) & set(outcomes.get(claim.second, {})))

    def owed(self, place: int, claim: _Claim) -> list[str]:
        """The strategies of a claim that have too few runs of a length."""
        return [name for name in claim.trained if len(self.lengths[place].of(name)) < self.seeds]

    def trained(self, claim: _Claim) -> list[int]:
        """The places of the lengths that a claim can be asked of: the protocol's, and those that nothing is owed of."""
        longer = range(1, len(self.lengths)) if claim.trained else ()
        return [0, *(place for place in longer if not self.owed(place, claim))]

    def difference(self, place: int, claim: _Claim, measure: str) -> dict[str, Any]:
        shared, outcomes = self.shared(place, claim), self.outcomes[place]
        sides = {name: _values(outcomes[name], measure, shared) for name in (claim.first, claim.second)}
        return _difference_of(sides, claim, measure, self.cautious)

    def doubled_again(self, before: int, place: int, claim: _Claim) -> dict[str, Any]:
        """The difference, had another doubling changed every outcome of every seed as the last one did."""
        shared = sorted({*self.shared(before, claim)} & {*self.shared(place, claim)})
        half, whole = (
            {
                name: _values(self.outcomes[each][name], claim.measure, shared)
                for name in (claim.first, claim.second)
            }
            for each in (before, place)
        )
        return _difference_of(
            {name: 2 * whole[name] - half[name] for name in whole}, claim, claim.measure, self.cautious
        )


def _by_seed(runs: Sequence[MeasuredRun], every: Sequence[MeasuredRun]) -> _Outcomes:
    """Outcomes by strategy and seed; the model before and chance, which have none, stand beside each."""
    found: dict[str, dict[int, dict[str, np.ndarray]]] = {}
    for run in runs:
        found.setdefault(run.strategy, {})[run.seed] = by_part(run.after)
    if every:
        before = by_part(every[0].before)
        at_random = {n: np.full_like(before[n], level) for n, level in _CHANCE.items() if n in before}
        for name, outcomes in ((BASE, before), (CHANCE, at_random)):
            found[name] = dict.fromkeys({run.seed for run in every}, outcomes)
    return found


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


@cache
def query_clusters() -> Clusters:
    """The test queries (q,) by what they ask for: one colour, or any, and one shape, said in up to nine ways."""
    return _questions_of(load_retrieval("test").phrases)


@cache
def _combinations() -> dict[str, np.ndarray]:
    """Which queries ask for each combination that training never showed: `red cube` -> bool (q,)."""
    phrases = load_retrieval("test").phrases
    named = [f"{p.colour} {p.shape}" if (p.colour, p.shape) in HELD_OUT_COMBINATIONS else "" for p in phrases]
    return {name: np.array(named) == name for name in sorted(set(named) - {""})}


@cache  # every run is measured on the same queries
def _parts() -> dict[str, np.ndarray]:
    """Which queries of the built-in test set are seen, unseen, name colours alone, sizes, materials: bool (q,) each."""
    test = load_retrieval("test")
    sizes, materials = (
        np.array([getattr(p, n) is not None for p in test.phrases]) for n in ("size", "material")
    )
    kinds = dict(zip(WORDS, (~sizes & ~materials, sizes, materials), strict=True))
    named = sizes.astype(int) + materials + [phrase.colour is not None for phrase in test.phrases]
    kinds |= {name: named == count for count, name in enumerate(ATTRIBUTE_COUNTS, 1)}
    return {
        "all": np.ones(len(test.queries), dtype=bool),
        "seen": ~test.unseen,
        "unseen": test.unseen,
        **kinds,
    }


def _verdict(claim: _Claim, measured: _Measured, usual: _Measured) -> dict[str, Any]:
    """usual : the same with intervals that are not cautious, whose verdict stands beside as `usual`."""
    record: dict[str, Any] = claim._asdict()
    if not measured.shared(0, claim):
        said = f"Not measured yet: 0 of {measured.seeds} seeds."
        return {**record, "seeds": 0, "verdict": OPEN, "decided_by": said}
    found, reason = _decided(claim, measured)
    without, _ = _decided(claim, usual)
    record |= found
    record["usual"] = {name: without[name] for name in ("low", "high", "verdict", "turned")}
    place, reasons = measured.trained(claim)[-1], [reason]
    metric, _, part = claim.measure.partition(" ")
    if part == "all":
        others = ("seen", "unseen", *WORDS)
        record["parts"] = {name: measured.difference(place, claim, f"{metric} {name}") for name in others}
        reasons += _by_part(claim, record["parts"])
    if "by_combination" in found:
        each = ", ".join(f"{name} {value:+.1f}" for name, value in found["by_combination"].items())
        reasons.append(f"by combination {each}")
    reasons += [_ending(name, measured) for name in claim.trained]
    return {**record, "decided_by": _sentence("; ".join(filter(None, reasons)))}


def _decided(claim: _Claim, measured: _Measured) -> tuple[dict[str, Any], str]:
    """A claim's difference by the length that decides, what is beside it, and the verdict; and why it is that."""
    *before, place = measured.trained(claim)
    record: dict[str, Any] = {"seeds": len(measured.shared(place, claim))}
    record |= measured.difference(place, claim, claim.measure)
    if before:
        shorter = {
            measured.lengths[each].epochs: measured.difference(each, claim, claim.measure) for each in before
        }
        more = measured.doubled_again(before[-1], place, claim)
        record |= {"epochs": measured.lengths[place].epochs, "shorter": shorter, "doubled_again": more}
    side, reason = _decision(claim, measured, record)
    first = next(iter(record.get("shorter", {}).values()), None)
    turned = bool(side) and first is not None and _side(claim, first) == -side
    return {**record, "verdict": {1: SAME, -1: DIFFERENT, 0: OPEN}[side], "turned": turned}, reason


def _decision(claim: _Claim, measured: _Measured, found: Mapping[str, Any]) -> tuple[int, str]:
    """1 the same, -1 different, 0 open, and why. found : the claim's record so far."""
    if len(found["by_seed"]) < measured.seeds:
        return 0, f"{len(found['by_seed'])} of {measured.seeds} seeds are measured"
    side = _side(claim, found)
    if not claim.trained:
        return side, "nothing is trained for it" if side else _undecided(found)
    if "shorter" not in found:
        names = measured.owed(1, claim) if len(measured.lengths) > 1 else claim.trained
        owed = " and ".join(STRATEGIES[name].label for name in names)
        return 0, f"{_HOLDS[side]} with the protocol's epochs, but runs of more epochs are owed of {owed}"
    *_, half = found["shorter"].values()
    beside = _beside(claim, found["shorter"], side)
    if not side:
        return 0, f"{_undecided(found)}; {beside}"
    if _side(claim, half) == -side:
        return 0, f"{_HOLDS[side]}, but the opposite before the last doubling; {beside}"
    if _side(claim, found["doubled_again"]) != side:
        more = interval_text(found["doubled_again"])
        return 0, f"{_HOLDS[side]}, but another doubling like the last might undo it ({more}); {beside}"
    return side, beside


def _beside(claim: _Claim, shorter: Mapping[int, Mapping[str, Any]], side: int) -> str:
    """`with 32 epochs, too: +6.1 [+2.1, +9.3], with 16 epochs, the opposite: -6.0 [-9.5, -1.7]`, the longest first."""
    texts = []
    for epochs, found in reversed([*shorter.items()]):
        then = _side(claim, found)
        said = {0: "", side: ", too", -side: ", the opposite"}[then] if side else ""
        texts.append(f"{epochs} epochs{said}: {interval_text(found)}")
    return f"with {', with '.join(texts)}"


def _undecided(found: Mapping[str, Any]) -> str:
    """What lies on both sides of 0: `the interval and seeds lie on both sides of 0`."""
    parts = {
        "the interval": (found["low"], found["high"]),
        "seeds": found["by_seed"],
        "combinations": found.get("by_combination", {}).values(),
    }
    both = [name for name, values in parts.items() if values and not (min(values) > 0 or max(values) < 0)]
    *others, last = both or ["what was measured"]
    lie = "lies" if both == ["the interval"] else "lie"
    return f"{' and '.join(filter(None, (', '.join(others), last)))} {lie} on both sides of 0"


_HOLDS = {1: "it holds", -1: "the opposite holds", 0: "it cannot be told"}


def interval_text(found: Mapping[str, Any]) -> str:
    """`-8.6 [-14.4, -2.8]`"""
    return f"{found['difference']:+.1f} [{found['low']:+.1f}, {found['high']:+.1f}]"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _values(
    by_seed: Mapping[int, Mapping[str, np.ndarray]], measure: str, seeds: Sequence[int]
) -> np.ndarray:
    """Outcomes 0 to 1 of some seeds (seeds, n)."""
    return np.stack([by_seed[seed][measure] for seed in seeds]) / 100


def _difference_of(
    sides: Mapping[str, np.ndarray], claim: _Claim, measure: str, cautious: bool
) -> dict[str, Any]:
    """First minus second in points: mean over seeds and queries, paired 95 % interval over both, and of every seed; of
    the unseen queries also of every combination of words they ask for.

    sides : outcomes (seeds, n) of a claim's two sides, by name; of the model before, which has one run, it stands for
    every seed. Queries for one colour and shape, which differ in size and material, hang together (`query_clusters`).
    cautious : as of yes-or-no answers, the interval allows for one question more on either side, all of whose queries
    change as much as the one that changed most; else for one that changes as much as the question that did.
    """
    first, second = sides[claim.first], sides[claim.second]
    kept = np.isfinite(first - second).all(axis=0)
    if claim.second == CHANCE:  # of which only the first has an error
        level = 100 * float(second[0, 0])
        one = estimate(first[0, kept], level, 0)
        numbers = {"difference": one.value - level, "low": one.low - level, "high": one.high - level}
    else:
        clusters = None if measure in GROUP_RESULTS else query_clusters().select(kept)
        before, after = second[:, kept], first[:, kept]
        if clusters is not None and not cautious:
            before, after, clusters = _by_question(before, clusters), _by_question(after, clusters), None
        whole = Comparison.over_seeds(before, after, clusters)
        ends = whole.clustered or whole
        numbers = {"difference": whole.difference, "low": ends.low, "high": ends.high}
    change = 100 * (first - second)
    record: dict[str, Any] = {n: round(value, 3) for n, value in numbers.items()}
    record |= {"n": int(kept.sum()), "by_seed": [round(float(v), 3) for v in change[:, kept].mean(axis=1)]}
    if measure.endswith(" unseen"):
        record["by_combination"] = {
            name: round(float(change[:, kept & mask].mean()), 3) for name, mask in _combinations().items()
        }
    return record


def _side(claim: _Claim, found: Mapping[str, Any]) -> int:
    """1 where a difference is clearly on the claim's side, -1 where on the other, 0 where it cannot be told."""
    numbers = (found["low"], found["high"], *found["by_seed"], *found.get("by_combination", {}).values())
    values = [claim.better * value for value in numbers]
    if min(values) > 0:
        return 1
    return -1 if max(values) < 0 else 0


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


def still_improving(strategy: str, runs: Sequence[MeasuredRun], epochs: int) -> bool:
    """Whether, of every seed, validation mAP was higher in the last quarter of its epochs than in the quarter before.

    Of runs that patience ended: no, which does not say that more epochs would not help.
    """
    curves = [np.asarray(run.curve[1:]) for run in runs if run.strategy == strategy]
    quarter = max(1, epochs // 4)
    return bool(curves) and all(
        len(curve) == epochs and curve[-quarter:].mean() > curve[-2 * quarter : -quarter].mean()
        for curve in curves
    )


def _ending(strategy: str, measured: _Measured) -> str:
    """How a strategy's training went on: what its longest changed on validation, and whether it rose to the end."""
    for shorter, longer in reversed([*pairwise(measured.lengths)]):
        half = {run.seed: run for run in shorter.of(strategy)}
        if twice := [run for run in longer.of(strategy) if run.seed in half]:
            some = "" if len(twice) == len(half) else f", {len(twice)} of {len(half)} seeds"
            gain = np.mean([run.curve[-1] - half[run.seed].curve[-1] for run in twice])
            said = (
                f"{longer.epochs} epochs instead of {shorter.epochs} change {STRATEGIES[strategy].label}'s "
            )
            said += f"validation mAP by {gain:+.1f} points{some}"
            late = still_improving(strategy, twice, longer.epochs)
            return f"{said}, and it still rises then" if late else said
    return ""
