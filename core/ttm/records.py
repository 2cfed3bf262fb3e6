"""The records and arrays of an iteration: what a run writes down, and what command line and pages show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import scipy

from core.base.text import _p_said, _pct, _signed, _signed_range, counted
from core.metrics import groups as metrics
from core.metrics.evaluation import Evaluation
from core.metrics.statistics import Comparison, _square_of_rest, compare

if TYPE_CHECKING:
    from core.ttm.loop import TTMStep

_Changed = TypeVar("_Changed")
BINS = 24  # of a margin histogram
_TELLING_SEEDS = 3  # from which on their deviation says something of another one
_NOTHING = 1e-9  # points: a difference of 0 in the mean over seeds, which are summed as floats


_MEMORISED = (
    "GroupScore rises towards GroupMatch as the model memorises its own matchings; only a rise of GroupMatch is a real "
    "gain."
)
_METRIC_QUOTED = "This is the metric that counts."
_MEAN_QUOTED = "This mean, with its interval, is the gain to quote."
_ONE_SEED = "One seed: its interval is over groups alone."
_QUOTE_MEAN = "Add seeds and quote their mean."
_SEED_OF_SEVERAL = "One seed of several: quote their mean, with its interval over seeds and groups."
_ALSO_RISES = "GroupScore rises, too, as it does while the model memorises its own matchings:"
_CEILING = (
    "GroupMatch was 100 % before and could not rise, so that this set cannot tell memorising from learning; a rise of "
    "GroupScore may be either."
)
_UNDECIDED = "Two seeds cannot decide whether"
_SAME_SEEDS = (
    "All seeds have the same scores to rounding: nothing in this run depends on the seed, so one is enough."
)
# Of the range of the scores. Seeds that only order the sums of one batch were 4e-6 apart at most with the presets for
# embeddings, and with two batches 3e-4 at the least.
_ROUNDING = 5e-5


def step_record(step: TTMStep, truth: np.ndarray | None, pool: np.ndarray | None = None) -> dict[str, Any]:
    """One iteration as JSON-safe data: the line of `crossmatch ttm --json`, and what the pages draw.

    truth : int (n, m), or None where nobody knows it; then `metrics` is empty and `precision` is None. pool : bool
    (n,), of a transfer check; `parts` then holds the metrics of the adapted and of the untouched groups apart.
    Coverage (of the pool) and precision are shares in [0, 1]; metrics are in percent. Iteration 0 has selected nothing.
    """
    n, m, k = step.scores.shape
    # A gradient norm may overflow where the loss does not; JSON has no word for it.
    own = {k: None if isinstance(v, float) and not isfinite(v) else v for k, v in step.record().items()}
    record = {
        **own,
        "coverage": step.coverage if step.iteration else None,
        "precision": None if truth is None else _precision(step, truth),
        "metrics": {} if truth is None else _metrics(step.scores, truth, step.global_scores),
        "n_groups": n,
        "shape": f"{m}x{k}",
        "margins": _histogram(step, truth),
    }
    if pool is not None:
        sides = {"adapted": pool, "untouched": ~pool}
        record["parts"] = {name: _part(step.scores, truth, mask) for name, mask in sides.items()}
    return record


def _part(scores: np.ndarray, truth: np.ndarray | None, mask: np.ndarray) -> dict[str, Any]:
    found = {} if truth is None else _metrics(scores[mask], truth[mask], None)
    return {"n_groups": int(mask.sum()), "metrics": found}


def _metrics(scores: np.ndarray, truth: np.ndarray, everything: np.ndarray | None) -> dict[str, Any]:
    found = Evaluation.of(scores, truth, global_scores=everything)
    return {name: estimate.record() for name, estimate in found.metrics.items()}


def _precision(step: TTMStep, truth: np.ndarray) -> float | None:
    if step.selected.ndim == 1:
        return metrics.precision(step.matching, step.selected, truth)
    # As the global pseudo-labels count captions.
    own = truth + step.scores.shape[2] * np.arange(len(truth))[:, None]
    images = step.matching.size
    return metrics.precision(step.matching.reshape(-1, 1), step.selected.ravel(), own.reshape(images, -1))


def _histogram(step: TTMStep, truth: np.ndarray | None) -> dict[str, Any]:
    """Margins after the step: counts per bin, those of groups matched right (None without truth), and the ties."""
    margin, tied = step.matches.margin, step.matches.tied
    edges = np.linspace(0, float(margin.max()) or 1.0, BINS + 1)
    right = None if truth is None else ~tied & metrics.oracle_mask(truth)(step.matches)
    return {
        "edges": edges.tolist(),
        "counts": np.histogram(margin[~tied], edges)[0].tolist(),
        "right": None if right is None else np.histogram(margin[right], edges)[0].tolist(),
        "tied": int(tied.sum()),
    }


def changes(before: Evaluation, after: Evaluation, parts: Mapping[str, np.ndarray]) -> dict[str, Comparison]:
    """After minus before for the main metrics, paired over the groups, p values corrected for all that are returned.

    parts : what is measured by itself, name -> bool (n,): {"": all of them}, or the two parts of a transfer check.
    Keys are the metric's label, followed by the part's name where it has one. On groups of one image GroupScore and
    GroupMatch are one: the latter.
    """
    names = _headline(after)
    found = {}
    for part, mask in parts.items():
        for name in names:
            first, last = (e.outcomes[name].value[mask] for e in (before, after))
            found[f"{metrics.METRICS[name].label}{f', {part}' if part else ''}"] = compare(first, last)
    return Comparison.holm(found)


def _changes_of_every_metric(
    before: Evaluation, after: Evaluation, parts: Mapping[str, np.ndarray]
) -> dict[str, Comparison]:
    """`changes`, and the same of all other metrics, whose p values are corrected for all that are tested; a metric
    that is a main one by another name, as on groups of one image, has that one's."""
    found, same_as = dict[str, Comparison](), dict[str, str]()
    for part, mask in parts.items():
        ends = {name: [e.outcomes[name].value[mask] for e in (before, after)] for name in after.outcomes}
        labels = {name: f"{metrics.METRICS[name].label}{f', {part}' if part else ''}" for name in ends}
        mains = _headline(after)
        for name, of in ends.items():
            alike = (each for each in mains if name not in mains and np.array_equal(of, ends[each]))
            if after.shape[0] == 1 and (one := next(alike, None)) is not None:
                same_as[labels[name]] = labels[one]
            else:
                found[labels[name]] = compare(*of)
    every = Comparison.holm(found) | changes(before, after, parts)
    return every | {label: every[main] for label, main in same_as.items()}


def _headline(of: Evaluation) -> Sequence[str]:
    """The main metrics; on groups of one image, where GroupScore and GroupMatch are one, the latter."""
    return metrics.headline_metrics(of.outcomes)[-1 if of.shape[0] == 1 else 0 :]


def _verdict_words(found: Comparison) -> str:
    """Whether a change is more than chance: `rises by more than chance explains`."""
    if abs(found.difference) < _NOTHING:
        return "did not change in sum" if found.fixed or found.broken else "did not change"
    p = found.p_value if found.p_holm is None else found.p_holm
    way = "rises" if found.difference > 0 else "falls"
    if p < 0.05:
        return f"{way} by more than chance explains"
    if found.p_value < 0.05:
        return f"{way}, but not surely: of several comparisons one may look so by chance"
    return "is not shown to change: chance alone could explain the difference"


def _is_undecided(found: Comparison) -> bool:
    """Of a difference over two seeds: whether there is one that they do not show."""
    return abs(found.difference) >= _NOTHING and found.p_value >= 0.05


def _over_groups_said(found: Comparison) -> str:
    """What holds for two seeds by the groups alone: the end of the sentence that begins with `_UNDECIDED`.

    The interval is of the mean change, p of how many groups are better and worse, whatever they change by: each says
    what it is of, or a p of 0.5 stood beside an interval with 0 in its middle.
    """
    return (
        f"over the groups alone, for these two seeds, {_signed_range(found.low, found.high)} (by the sign test "
        f"of {counted(found.fixed, 'group')} better and {found.broken} worse, {_p_said(found.p_value)}), which says "
        "nothing about other seeds"
    )


def _gain_first(compared: Mapping[str, _Changed]) -> dict[str, _Changed]:
    """Results by metric, GroupMatch before the others: a rise of GroupScore is no gain by itself."""
    first = metrics.METRICS[metrics.GROUP_MATCH].label
    return dict(sorted(compared.items(), key=lambda each: each[0].partition(",")[0] != first))


def _change_told(label: str, found: Comparison) -> tuple[str, str]:
    """Whether a metric changed by more than chance, as the head of a sentence and its rest."""
    points = f"{_signed(found.difference)} points (95 % interval {_signed_range(found.low, found.high)})."
    return f"{label} {_verdict_words(found)}:", points


def _changes_told(
    compared: Mapping[str, Comparison], told: Mapping[str, tuple[str, str]] | None = None
) -> list[tuple[str, str]]:
    """What a run has changed, a sentence for each metric as its head and its rest, and what a rise of GroupScore is
    worth; pages and reports have them. The metric to quote comes first; a rise of GroupScore beside it has no head.

    told : the head and the rest of each, where they are those of several seeds.
    """
    quoted = _MEAN_QUOTED if told else _METRIC_QUOTED
    told = told or {label: _change_told(label, found) for label, found in compared.items()}
    names = (metrics.GROUP_MATCH, metrics.GROUP_SCORE)
    match, score = (metrics.METRICS[name].label for name in names)
    lines = []
    for label, (head, rest) in _gain_first(told).items():
        metric, comma, part = label.partition(",")
        both = [compared.get(f"{of}{comma}{part}") for of in (match, score)]
        if metric not in (match, score) or not all(found and _rises(found) for found in both):
            lines.append((head, rest))
        elif metric == match:
            lines.append((head, f"{rest} {quoted}"))
        else:
            lines.append(("", f"{_ALSO_RISES.replace(score, label, 1)} {rest}"))
    meant = _what_rises_mean(compared)
    return lines + [("", meant)] * bool(meant)


def _one_seed_told(
    gains: Sequence[float] | np.ndarray = (), before: float = 0.0, change: float | None = None
) -> str:
    """What a run of one seed leaves open, and what another seed would have, where runs like it were measured.

    gains : of those in points of GroupMatch, by seed; before : their GroupMatch in percent. change : of this run.
    """
    one_more = _next_gain(np.asarray(gains), before)
    if one_more is None:
        return f"{_ONE_SEED} {_QUOTE_MEAN}"
    low, high = one_more
    mean = f"mean of {len(gains)} measured: {_signed(float(np.mean(gains)))}"
    judged = (
        "" if change is None else f"; this one is {'inside' if low <= change <= high else 'outside'} of that"
    )
    return (
        f"{_ONE_SEED} A seed would probably have {_signed_range(low, high)} points of GroupMatch, by runs of this set "
        f"that were measured before ({mean}{judged}). {_QUOTE_MEAN}"
    )


def _one_seed_in_short(
    gains: Sequence[float] | np.ndarray = (), before: float = 0.0, change: float | None = None
) -> str:
    """The same for the end of a line: `One seed; 4 runs like it gained +12.9 points on average, none as much.`"""
    one_more = _next_gain(np.asarray(gains), before)
    one = _ONE_SEED.partition(":")[0]
    if one_more is None:
        return f"{one}."
    mean, apart = _signed(float(np.mean(gains))), ""
    if change is not None and not min(gains) <= change <= max(gains):
        apart = f", none as {'much' if change > max(gains) else 'little'}"
    return (
        f"{one}; {len(gains)} runs like it gained {mean} points on average{apart}. Another would probably gain "
        f"{_signed_range(*one_more)}."
    )


def _rises(found: Comparison) -> bool:
    """Whether a metric rises by more than chance explains."""
    return "rises by" in _verdict_words(found)


def _what_rises_mean(compared: Mapping[str, Comparison]) -> str:
    """That GroupMatch could not rise, or what a rise of GroupScore is worth that GroupMatch does not show; "" where it
    has not risen, or GroupMatch has, too."""
    if _at_ceiling(compared):
        return _CEILING
    score, match = (
        compared.get(metrics.METRICS[name].label) for name in (metrics.GROUP_SCORE, metrics.GROUP_MATCH)
    )
    if score is None or match is None or not _rises(score) or _rises(match):
        return ""
    # "Without" would say that GroupMatch stood still, beside its gain.
    if match.difference <= 0:
        rise = "GroupScore rises without GroupMatch"
    else:
        rise = "GroupScore rises, but GroupMatch is not proven to"
    return f"{rise}: a model that memorises its own matchings, right or wrong, does the same."


def _rise_told(compared: Mapping[str, Comparison]) -> str:
    """What a rise of GroupScore and one of GroupMatch is worth, or that the latter could not rise."""
    return _CEILING if _at_ceiling(compared) else _MEMORISED


def _at_ceiling(compared: Mapping[str, Comparison]) -> bool:
    """Whether GroupMatch was 100 % before, in each part that is compared, and GroupScore is told beside it."""
    score, match = (
        [found for label, found in compared.items() if label.partition(",")[0] == metrics.METRICS[name].label]
        for name in (metrics.GROUP_SCORE, metrics.GROUP_MATCH)
    )
    return bool(score and match) and all(found.at_ceiling for found in match)


class SeedChange(NamedTuple):
    """What several seeds of a run have changed in one metric, in percentage points."""

    mean: Comparison  # of the mean over seeds, paired over the groups; its interval counts seeds and groups
    gains: list[float]  # of each seed
    fixed: list[int]  # groups, of each seed
    broken: list[int]
    always_fixed: int  # groups that every seed has fixed
    always_broken: int
    # 95 % prediction interval of one more seed's gain; None of fewer than three, and where all are the same
    next_gain: tuple[float, float] | None
    same: bool = False  # all seeds have the same scores, to rounding, and so the same groups right
    over_groups: Comparison | None = (
        None  # the mean gain by groups alone, as if these seeds were all there are
    )

    @property
    def _wants_seeds(self) -> bool:
        """Whether these groups show a change, and only the seeds are too few, or too different, to do so."""
        p = self.mean.p_value if self.mean.p_holm is None else self.mean.p_holm
        return self.over_groups is not None and self.over_groups.p_value < 0.05 <= p

    @property
    def _is_undecided(self) -> bool:
        """Whether there are just two seeds, which differ, and a change that they do not show."""
        return len(self.gains) == 2 and not self.same and _is_undecided(self.mean)

    def _told(self, label: str) -> tuple[str, str]:
        """Whether a metric changed in the mean over seeds by more than chance, as the head of a sentence and its rest;
        page, report, commands and LaTeX have it."""
        found = self.mean
        said = (
            f"{_signed(found.difference)} points in the mean of {counted(len(self.gains), 'seed')} (95 % interval "
            f"{_signed_range(found.low, found.high)})"
        )
        if not self._is_undecided or self.over_groups is None:
            return f"{label} {_verdict_words(found)}:", f"{said}."
        head = f"{_UNDECIDED} {label} changes:"
        said = f"{said.removesuffix(')')}, {_p_said(found.p_value)})"
        return head, f"{said}; {_over_groups_said(self.over_groups)}."

    @property
    def _mean_counts(self) -> tuple[str, str]:
        """How many groups a seed fixes and breaks on average, with the same digits: of four seeds 0.75 and 5.25, which
        one digit would round to 0.8 and 5.2."""
        means = [float(np.mean(counts)) for counts in (self.fixed, self.broken)]
        digits = 0 if all(mean.is_integer() for mean in means) else 2
        fixed, broken = (f"{mean:.{digits}f}" for mean in means)
        return fixed, broken

    @classmethod
    def of_seeds(
        cls, before: Sequence[Evaluation], after: Sequence[Evaluation], parts: Mapping[str, np.ndarray]
    ) -> dict[str, SeedChange]:
        """`changes` for several seeds on the same groups: before and after have an evaluation for each seed."""
        return cls._of_metrics(before, after, parts, _headline(after[0]))

    @classmethod
    def _of_every_metric(
        cls, before: Sequence[Evaluation], after: Sequence[Evaluation], parts: Mapping[str, np.ndarray]
    ) -> dict[str, SeedChange]:
        """`of_seeds`, and the same of all other metrics. What a run is about are the main ones: their p values are
        corrected for each other alone, those of the others for all that are returned."""
        every = cls._of_metrics(before, after, parts, list(after[0].outcomes))
        return every | cls.of_seeds(before, after, parts)

    @classmethod
    def _of_metrics(
        cls,
        before: Sequence[Evaluation],
        after: Sequence[Evaluation],
        parts: Mapping[str, np.ndarray],
        names: Sequence[str],
    ) -> dict[str, SeedChange]:
        found = {}
        same = len(after) > 1 and all(_is_same(after[0], each) for each in after[1:])
        for part, mask in parts.items():
            for name in names:
                ends = [np.array([e.outcomes[name].value[mask] for e in of]) for of in (before, after)]
                found[f"{metrics.METRICS[name].label}{f', {part}' if part else ''}"] = _seed_change(*ends)
        corrected = Comparison.holm({label: change.mean for label, change in found.items()})
        if same:
            found = {label: change._replace(same=True, next_gain=None) for label, change in found.items()}
        return {label: change._replace(mean=corrected[label]) for label, change in found.items()}


def _is_same(one: Evaluation, other: Evaluation) -> bool:
    """Whether two seeds on the same groups have the same scores to rounding, and every outcome alike."""
    reach = _ROUNDING * float(np.ptp(one.scores))
    return np.allclose(one.scores, other.scores, rtol=0, atol=reach) and all(
        np.array_equal(found.value, other.outcomes[name].value) for name, found in one.outcomes.items()
    )


def _seed_change(before: np.ndarray, after: np.ndarray) -> SeedChange:
    """Of outcomes (seeds, n), 0 to 1."""
    change = after.astype(np.float64) - before
    gains = 100 * change.mean(axis=1)
    fixed, broken = change > 0, change < 0
    return SeedChange(
        Comparison.over_seeds(before, after),
        gains.tolist(),
        fixed.sum(axis=1).tolist(),
        broken.sum(axis=1).tolist(),
        int(fixed.all(axis=0).sum()),
        int(broken.all(axis=0).sum()),
        _next_gain(gains, 100 * float(before.mean()), _least_deviation(100 * change)),
        over_groups=compare(np.zeros(before.shape[1]), change.mean(axis=0)),
    )


def _least_deviation(change: np.ndarray) -> float:
    """By how much means of seeds differ, at the least, whose groups change by (seeds, n): as in `_two_sources`, seeds
    that gain equally much on other groups do so by luck."""
    seeds, n = change.shape
    if seeds < 2 or n < 2:
        return 0.0
    return float(np.sqrt(_square_of_rest(change) / n))


def _next_gain(gains: np.ndarray, before: float, least: float = 0.0) -> tuple[float, float] | None:
    """Where one more gain falls in 95 of 100 cases: mean ± t s √(1 + 1/n), and never beyond 0 and 100 % right.

    least : what s is at least (`_least_deviation`); 0 where only the means are known.
    """
    if len(gains) < _TELLING_SEEDS:
        return None
    found = _one_more(float(gains.mean()), max(float(gains.std(ddof=1)), least), len(gains))
    return None if found is None else (max(found[0], -before), min(found[1], 100 - before))


def _one_more(mean: float, deviation: float, n: int) -> tuple[float, float] | None:
    """Where one more value falls in 95 of 100 cases, by mean and sample deviation of n; None of too few."""
    if n < _TELLING_SEEDS:
        return None
    reach = float(scipy.special.stdtrit(n - 1, 0.975) * deviation * np.sqrt(1 + 1 / n))
    return mean - reach, mean + reach


def divergence(records: Sequence[Mapping[str, Any]], config: Mapping[str, Any]) -> str | None:
    """One sentence where training has destroyed the model, None where it has not; config : the run's, as stored.

    With truth: GroupMatch's interval was above the chance level before, and is not any more; and the value has fallen
    out of the interval before, which on few groups reaches far down. Without: most groups are tied, and were not
    before.
    """
    first, last = records[0], records[-1]
    before, after = (record["metrics"].get(metrics.GROUP_MATCH) for record in (first, last))
    if before and after:
        if (
            before["low"] <= before["chance"]
            or after["low"] > after["chance"]
            or after["value"] >= before["low"]
        ):
            return None
        what = (
            f"GroupMatch fell from {_pct(before['value'])} to {_pct(after['value'])} %, which cannot be told from "
            f"chance ({_pct(after['chance'])} %)"
        )
    else:
        tied_before, tied = (_tied_share(record) for record in (first, last))
        if tied_before > 0.5 or tied <= 0.5:
            return None
        what = f"The scores of {100 * tied:.0f} % of the groups are tied"
    lr = next(config[kind]["lr"] for kind in ("ttm", "simplematch") if kind in config)
    return f"{what}: training has diverged. Start again with a lower learning rate than {lr:g}, such as {lr / 10:.1g}."


def _tied_share(record: Mapping[str, Any]) -> float:
    margins = record.get("margins") or {"counts": [], "tied": 0}
    return margins["tied"] / max(1, margins["tied"] + sum(margins["counts"]))
