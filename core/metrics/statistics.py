"""Intervals and tests: one of each, for every number that a page, a file or a command shows.

An accuracy has an exact interval (Clopper-Pearson), which is never of zero width and covers at least its 95 %. Means
of shares, groups that hang together (`Clusters`) and repeated runs enter it through the number of independent answers,
yes or no, that they are worth, with Student's t as their variance is estimated (Korn and Graubard, Survey Methodology
24, 1998; Dean and Pagano, J. Survey Stat. Methodol. 3, 2015). `benchmarks.results.coverage` simulates coverage and
error rates. A p value that is not below 0.05 says that these groups cannot tell, not that there is no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy

from core.base.arrays import Array, to_numpy
from core.base.errors import InputError, unknown_name
from core.base.lazy import pandas as pd
from core.base.text import _KEPT, _pct, _signed, _signed_end, _signed_range, p_digits

if TYPE_CHECKING:
    from core.groups import GroupSet

_LEVEL, _POWER = 0.95, 0.8
_RESAMPLES = 10_000
# Found by simulation (COVERAGE.md). Degrees of freedom of a variance, at most, by cluster that holds the rarer answer;
# and what is allowed for a cluster all alike that was not drawn: half of one.
_HOLDER_FREEDOM, _UNSEEN = 3, 0.5
_TELLING = 20.0  # percent of all groups: a cluster that holds more is named beside its interval
_TELLING_RUNS = 3  # what fewer could detect is not told
_HAIR = 1e-6  # how far from 0 an interval of differences ends that would hold 0 against its test
_FLIPS = 1_999  # random signs
_SETS = 100  # of groups, drawn to see how often a test finds a gain
_STAKES = np.linspace(0.1, 1.0, 10)  # what is bet on gains, as a share of what the largest loss could take
_FLIPPED = 10**9  # fewer of them for more numbers than this
_BLOCK = 10**7  # numbers at a time
_ENUMERATED = 20_000  # sign flips of clusters are summed exactly up to so many differing groups
_ENUMERATED_PAIRS = (
    1_000  # up to so many differing groups power is summed exactly; beyond, the normal one is as good
)


# --- clusters


@dataclass(frozen=True, eq=False)
class Clusters:
    """Groups that hang together, because they share an image, a caption or a tag.

    by : what they share, as in "by image". labels : int (n,), the cluster of every group, 0 to `count` - 1.
    """

    by: str
    labels: np.ndarray

    @property
    def count(self) -> int:
        return int(self.labels.max(initial=-1)) + 1

    @property
    def largest(self) -> int:
        """How many groups the largest one holds."""
        return int(np.bincount(self.labels).max(initial=0))

    def select(self, which: np.ndarray) -> Clusters | None:
        """Those of some of the groups (mask or indices); None where each of them is its own."""
        return _clusters(self.by, self.labels[which])

    @property
    def largest_percent(self) -> float:
        """How many percent of the groups the largest one holds."""
        return 100 * self.largest / len(self.labels)

    @property
    def dominated(self) -> str:
        """As of an interval: that so many groups are of one cluster that little can be told; or nothing."""
        return _dominated(self.largest_percent, self.by)

    @classmethod
    def of_groups(cls, groups: GroupSet) -> Clusters | None:
        """Groups with an image, found by its content, or a caption in common.

        Sharing carries over: two groups that share nothing with each other may both share with a third. None where
        each group is its own. Captions that tie more than half of the groups together are the fixed answers of a task,
        such as the names of its classes: then images alone count. What depends on captions alone takes `of_captions`.
        Images of which a file has only names count as in `of_image_names`.
        """
        keys = [[image.key for image in g.images] for g in groups]
        named = all(getattr(image, "_is_row", False) for g in groups for image in g.images)
        by_image = cls.of_image_names(keys) if named else cls._sharing("image", keys)
        together = cls.joined(by_image, cls.of_captions([g.captions for g in groups]))
        return by_image if together is not None and together.largest > len(groups) / 2 else together

    @classmethod
    def of_captions(cls, captions: Sequence[Sequence[Any]] | np.ndarray) -> Clusters | None:
        """Groups with a caption in common, whatever their number: for priors and models that see no image.

        captions : of every group, (n, k), texts or numbers that stand for them.
        """
        return cls._sharing("caption", captions)

    @classmethod
    def of_blind(cls, groups: GroupSet) -> Clusters | None:
        """Groups that a model without images cannot tell apart: those that share a caption, and those that share an
        image.

        Groups with the same captions have the very same outcome, however many they are. Images that are not here are
        not needed: captions of one image are then taken for independent unless one of them is the same.
        """
        by_caption = cls.of_captions([group.captions for group in groups])
        try:
            return cls.joined(cls.of_groups(groups), by_caption)
        except InputError:
            return by_caption

    @classmethod
    def of_image_names(cls, names: Sequence[Sequence[str]] | np.ndarray | None) -> Clusters | None:
        """Groups with an image in common, by the names of a file, (n, m).

        None also where they tie more than half of the groups together: then they are places in a group, as "A" and "B".
        """
        found = None if names is None else cls._sharing("image", names)
        return None if found is None or found.largest > len(found.labels) / 2 else found

    @classmethod
    def of_names(
        cls, images: Sequence[Sequence[str]] | np.ndarray | None, captions: np.ndarray | None
    ) -> Clusters | None:
        """Groups with an image or a caption in common, by what a file calls them, (n, m) and (n, k).

        As of `of_image_names` names that tie more than half of the groups together only count them.
        """
        by_caption = None if captions is None else cls.of_captions(captions)
        if by_caption is not None and by_caption.largest > len(by_caption.labels) / 2:
            by_caption = None
        joined = cls.joined(by_image := cls.of_image_names(images), by_caption)
        return by_image if joined is not None and joined.largest > len(joined.labels) / 2 else joined

    @classmethod
    def of_choices(cls, choices: np.ndarray) -> Clusters | None:
        """Captions that choose among an image in common: int (q, c), the images of each; -1 is none."""
        return cls._sharing("image", [[image for image in row if image >= 0] for row in choices.tolist()])

    @classmethod
    def joined(cls, one: Clusters | None, other: Clusters | None) -> Clusters | None:
        """Groups that hang together in either way."""
        if one is None or other is None:
            return one or other
        pairs = [[("", a), (" ", b)] for a, b in zip(one.labels.tolist(), other.labels.tolist(), strict=True)]
        found = cls._sharing(f"{one.by} and {other.by}", pairs)
        assert found is not None
        # Where one way holds all of the other, it alone is named.
        return next((each for each in (one, other) if each.count == found.count), found)

    @classmethod
    def _sharing(cls, by: str, items: Sequence[Sequence[Any]] | np.ndarray) -> Clusters | None:
        """Connected parts of the graph that joins every group with its items."""
        place: dict[Any, int] = {}
        column = [place.setdefault(item, len(place)) for group in items for item in group]
        if len(place) == len(column):
            return None
        n, size = len(items), len(items) + len(place)
        row = np.repeat(np.arange(n), [len(group) for group in items])
        holds = scipy.sparse.coo_array(
            (np.ones(len(column)), (row, n + np.array(column))), shape=(size, size)
        )
        return _clusters(by, scipy.sparse.csgraph.connected_components(holds, directed=False)[1][:n])

    @classmethod
    def of_tag(cls, tags: pd.DataFrame | None, name: str) -> Clusters | None:
        """Groups with the same value of a tag; a group without one is its own. InputError for an unknown tag."""
        if tags is None or name not in tags.columns:
            raise unknown_name("tag column", name, [] if tags is None else map(str, tags.columns))
        alone = pd.Series([f"\0{i}" for i in range(len(tags))], index=tags.index)
        return _clusters(
            name, tags[name].astype(object).where(tags[name].notna(), alone).astype(str).to_numpy()
        )


def _clusters(by: str, values: np.ndarray) -> Clusters | None:
    distinct, labels = np.unique(values, return_inverse=True)
    return None if len(distinct) == len(values) else Clusters(by, labels)


def _sums(labels: np.ndarray | None, values: np.ndarray) -> np.ndarray:
    """The total of each cluster, float64 (G,); the values themselves where every group is its own."""
    return values if labels is None else np.bincount(labels, weights=values)


# --- one accuracy


class _Clustered(NamedTuple):
    """The interval that holds where groups of a cluster are not independent: by image, so many clusters, percent.

    largest : percent of all groups that the largest cluster holds; None in records of before.
    """

    by: str
    clusters: int
    low: float
    high: float
    largest: float | None = None

    @property
    def dominated(self) -> str:
        """` (57 % of the groups hang together by image, so that little can be told)`; empty where so many do not."""
        return _dominated(self.largest, self.by)


def _dominated(largest: float | None, by: str) -> str:
    if largest is None or largest <= _TELLING:
        return ""
    return f" ({largest:.0f} % of the groups hang together by {by}, so that little can be told)"


class Estimate(NamedTuple):
    """A mean over groups in percent, its 95 % interval, its chance level in percent and its count of tied groups.

    ties : None where nobody counted them, which is another thing than none. clustered : None where each group is its
    own.
    """

    value: float
    low: float
    high: float
    chance: float
    ties: int | None
    clustered: _Clustered | None = None

    def record(self) -> dict[str, Any]:
        """JSON-safe: value, low, high and chance to 8 decimals, of which what is printed is rounded, and ties;
        `clustered` where there are clusters."""
        found = {name: round(getattr(self, name), _KEPT) for name in self._fields[:4]} | {"ties": self.ties}
        return found | _clustered_record(self.clustered)

    def __str__(self) -> str:
        """An accuracy as it is always shown: with its interval, its chance level and its ties."""
        return f"{_pct(self.value)} % ({self.interval}), chance {_pct(self.chance)} %, {self.tied}"

    def __repr__(self) -> str:
        """`10.7 [7.4, 14.7], chance 16.7, 0 tied`: a notebook prints dicts of them; a mean rank is no percentage."""
        apart = self._by_cluster(form="[{}, {}]")
        by = f", {apart}" if apart else ""
        ties = "ties not counted" if self.ties is None else f"{self.ties} tied"
        return f"{_pct(self.value)} [{_pct(self.low)}, {_pct(self.high)}]{by}, chance {_pct(self.chance)}, {ties}"

    @property
    def bounds(self) -> tuple[float, float]:
        """The interval that a verdict rests on: by cluster where there are clusters."""
        return (self.low, self.high) if self.clustered is None else (self.clustered.low, self.clustered.high)

    @property
    def interval(self) -> str:
        """`95 % interval 61.2–71.9`; with clusters also `, by image 58.0–74.1`, or `, also by image` where that is the
        same."""
        by = self._by_cluster()
        return f"95 % interval {_pct(self.low)}–{_pct(self.high)}{f', {by}' if by else ''}"

    def _by_cluster(self, digits: int = 1, form: str = "{}–{}") -> str:
        """`by image 58.0–74.1`, to be said after the interval; `also by image` where both are the same as printed, ""
        where each group is its own."""
        c = self.clustered
        if c is None:
            return ""
        ends, apart = (form.format(_pct(e.low, digits), _pct(e.high, digits)) for e in (self, c))
        return f"also by {c.by}" if apart + c.dominated == ends else f"by {c.by} {apart}{c.dominated}"

    @property
    def tied(self) -> str:
        """`3 tied`, `no ties`, or that nobody counted them."""
        if self.ties is None:
            return "ties not counted"
        return f"{self.ties} tied" if self.ties else "no ties"

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Estimate:
        """From what `record` wrote, now or before there were clusters."""
        clustered = record.get("clustered")
        known = {name: record[name] for name in cls._fields[:5]}
        return cls(**known, clustered=None if clustered is None else _Clustered(**clustered))

    @classmethod
    def over_seeds(
        cls,
        outcomes: Array,
        chance_percent: float,
        parts: int = 1,
        ties: int | None = None,
        clusters: Clusters | None = None,
    ) -> Estimate:
        """The mean over repeated runs on the same groups, with seeds and groups as two sources of variance.

        outcomes : bool or float (seeds, n). The interval is that of the mean over all seeds and all such groups (see
        `_two_sources`), which with two or three seeds is wide. Resampling seeds and groups (Owen, Ann. Appl. Stat. 1,
        2007) takes the seeds at hand for all there are, and covers too little. Where all outcomes are right, or all
        wrong, no variance is seen: it ends where it would if one of them were not, or where that of one run does. Of
        shares around 5 or 95 %, with three or five seeds 1.5 apart in logits, 91 to 93 % of intervals hold the mean.
        """
        array = to_numpy(outcomes).astype(np.float64)
        if array.ndim != 2 or 0 in array.shape:
            raise InputError(f"A mean over seeds needs outcomes of shape (seeds, groups), got {array.shape}.")
        seeds, n = array.shape
        if seeds == 1:
            return estimate(array[0], chance_percent, ties, parts, clusters)
        if array.min() == array.max() and array[0, 0] in (0, 1):
            return cls._of_one_answer(array, chance_percent, parts, ties, clusters)
        mean, most = float(array.mean()), seeds * n * parts
        alone = np.ones(n, dtype=int)
        low, high = _interval_by_side(mean, _two_sources(array - mean, None), alone, 0.0, most, seeds)
        clustered = None
        if clusters is not None:
            sizes = np.bincount(clusters.labels)
            variance = _two_sources(array - mean, clusters.labels)
            ends = _interval_by_side(mean, variance, sizes, _UNSEEN, most, seeds)
            clustered = _clustered(clusters, *ends)
        return cls(100 * mean, 100 * low, 100 * high, chance_percent, ties, clustered)

    @classmethod
    def _of_one_answer(
        cls, array: np.ndarray, chance_percent: float, parts: int, ties: int | None, clusters: Clusters | None
    ) -> Estimate:
        """Of outcomes (seeds, n) that are all 0 or all 1; never narrower than of one run."""
        other = array.copy()
        other[0, 0] = 1 - array[0, 0]
        alone = estimate(array[0], chance_percent, ties, parts, clusters)
        found = cls.over_seeds(other, chance_percent, parts, ties, clusters)

        def wider(one: Any, two: Any) -> dict[str, Any]:
            return (
                {"low": min(one.low, two.low), "high": 100.0}
                if alone.value
                else {"low": 0.0, "high": max(one.high, two.high)}
            )

        by = alone.clustered and alone.clustered._replace(**wider(alone.clustered, found.clustered))
        return alone._replace(clustered=by, **wider(alone, found))

    @staticmethod
    def interval_of_moments(
        mean: float | np.ndarray, square: float | np.ndarray, n: int, parts: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        """95 % intervals of means in [0, 1] from the mean and the mean square of n outcomes in [0, 1], elementwise.

        Outcomes of 0 and 1 are their own squares, and their interval is Clopper and Pearson's. Shares vary less, so
        that n of them are worth more than n yes-or-no answers; never more than n * parts.
        """
        variance = np.maximum(np.asarray(square) - np.asarray(mean) ** 2, 0) / max(n - 1, 1)
        return _clopper_pearson(mean, _worth(mean, variance, n - 1, n, n * parts))

    @staticmethod
    def bootstrap(values: Array, resamples: int = _RESAMPLES, seed: int = 0) -> tuple[float, float]:
        """Percentile bootstrap interval of the mean of `values` (n,): ranks and precisions, which are no proportions.

        Few distinct values make a resample one multinomial draw of their counts: the same distribution as drawing with
        replacement, which is faster for many.
        """
        array, random = _one_per_group(values), np.random.default_rng(seed)
        n = len(array)
        levels, counts = np.unique(array, return_counts=True)
        if 16 * len(levels) < n:
            means = random.multinomial(n, counts / n, size=resamples) @ levels / n
        else:  # about a million draws at a time
            rows = max(1, 1_000_000 // n)
            sizes = [min(rows, resamples - start) for start in range(0, resamples, rows)]
            means = np.concatenate([array[random.integers(n, size=(size, n))].mean(axis=1) for size in sizes])
        low, high = np.quantile(means, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
        return float(low), float(high)


def _clustered_record(found: NamedTuple | None) -> dict[str, Any]:
    if found is None:
        return {}
    rounded = {
        k: round(v, _KEPT) if isinstance(v, float) and k[0] != "p" else v for k, v in found._asdict().items()
    }
    return {"clustered": rounded}


def estimate(
    values: Array,
    chance_percent: float,
    ties: int | None = 0,
    parts: int = 1,
    clusters: Clusters | None = None,
    alike: bool = False,
) -> Estimate:
    """Mean of per-group outcomes in [0, 1] as a percentage with its 95 % interval.

    values : bool or float (n,). parts : of how many yes-or-no answers a value is the mean (IndividualMatch: m).
    alike : groups of a cluster may be one question asked again, so that all are right or none; the interval by cluster
    then holds that of such answers, too.

    >>> found = estimate(np.array([True] * 10), 50.0)
    >>> round(found.low, 2), found.high  # of ten right out of ten, scipy.stats.binomtest(10, 10).proportion_ci()
    (69.15, 100.0)
    """
    array = _one_per_group(values)
    mean, square = float(array.mean()), float((array**2).mean())
    low, high = Estimate.interval_of_moments(mean, square, len(array), parts)
    clustered = None if clusters is None else _clustered_interval(array, mean, parts, clusters, alike)
    return Estimate(100 * mean, 100 * float(low), 100 * float(high), chance_percent, ties, clustered)


def _one_per_group(values: Array) -> np.ndarray:
    array = to_numpy(values).astype(np.float64)
    if array.ndim != 1 or not len(array):
        raise InputError(f"An interval needs one value per group, got shape {array.shape}.")
    return array


def _clustered_interval(
    values: np.ndarray, mean: float, parts: int, clusters: Clusters, alike: bool
) -> _Clustered:
    sizes, n = np.bincount(clusters.labels), len(values)
    off = _sums(clusters.labels, values - mean)
    variance = clusters.count / max(clusters.count - 1, 1) * float(off @ off) / n**2
    # The variance of a rare answer rests on the clusters that hold it, which may be few of many.
    rare = _sums(clusters.labels, values if mean <= 0.5 else 1 - values)
    holders = float(rare.sum() ** 2 / max(rare @ rare, 1e-12))
    freedom = min(_effective(sizes) - 1, _HOLDER_FREEDOM * holders)
    cautious = variance * _caution(freedom)
    low, high = _interval_by_side(mean, cautious, sizes, _UNSEEN, n * parts)
    if alike:
        least, most = _interval_of_alike(float(values.sum()), sizes)
        low, high = min(low, least), max(high, most)
    return _clustered(clusters, low, high)


def _interval_of_alike(right: float, sizes: np.ndarray) -> tuple[float, float]:
    """Exact 95 % interval of a share where all groups of a cluster have one answer; `right` groups have it right.

    Of a few equal clusters all may be right by chance, and nothing in them shows it. So the share p reaches to where
    so many right groups, or more, and so few, or fewer, have a chance of 2.5 %: the sum of the sizes of clusters that
    are right with probability p each, by its characteristic function. Shares in between are rounded away from p.
    """
    total, tail = int(sizes.sum()), (1 - _LEVEL) / 2
    each, counts = np.unique(sizes, return_counts=True)
    turns = np.exp(-2j * np.pi * each[:, None] * np.arange((total + 1) // 2 + 1) / (total + 1))

    def chances(p: float) -> np.ndarray:
        return np.fft.irfft(np.prod((1 - p + p * turns) ** counts[:, None], axis=0), total + 1)

    fewest, most = int(np.floor(right + 1e-9)), int(np.ceil(right - 1e-9))
    low = 0.0 if fewest <= 0 else _root(lambda p: chances(p)[fewest:].sum() - tail, 0.0, 1.0)
    high = 1.0 if most >= total else _root(lambda p: chances(p)[: most + 1].sum() - tail, 0.0, 1.0)
    return low, high


def _clustered(clusters: Clusters, low: float, high: float) -> _Clustered:
    return _Clustered(clusters.by, clusters.count, 100 * low, 100 * high, clusters.largest_percent)


def _effective(sizes: np.ndarray) -> float:
    """Of how many clusters of one size these are worth (Kish's formula)."""
    return float(sizes.sum() ** 2 / (sizes @ sizes))


def _typical(sizes: np.ndarray) -> float:
    """The size of the cluster that a group is in, by mean square over groups; a large one counts most."""
    return float(np.sqrt((sizes.astype(np.float64) ** 3).sum() / sizes.sum()))


def _caution(freedom: float, tail: float = (1 + _LEVEL) / 2) -> float:
    """By how much a variance estimated with so many degrees of freedom counts more than a known one."""
    if freedom <= 0:
        return np.inf
    return float(scipy.special.stdtrit(freedom, tail) / scipy.special.ndtri(tail)) ** 2


def _interval_by_side(
    mean: float, variance: float, sizes: np.ndarray, unseen: float, most: float, least: float = np.inf
) -> tuple[float, float]:
    """95 % interval of a mean in [0, 1] of groups in clusters of these sizes; `variance` has its caution in it.

    Whether a cluster all right, or all wrong, was not drawn by chance cannot be seen in those that were; where few
    answers are right it would move the mean far upwards and hardly downwards. So each end allows for it by itself.
    Never worth fewer answers than `least`, or than there would be clusters of the typical size.
    """
    n, typical = sizes.sum(), _typical(sizes)
    least, ends = min(least, n / typical), []
    for reach in (mean, 1 - mean):  # how far a cluster all wrong, all right lies from the mean
        total = variance + unseen * (reach * typical / n) ** 2
        answers = mean * (1 - mean) / total if mean * (1 - mean) > 1e-12 and total > 0 else least
        ends.append(_clopper_pearson(mean, np.clip(answers, least, most)))
    return float(ends[0][0]), float(ends[1][1])


def _two_sources(
    off: np.ndarray, labels: np.ndarray | None, caution: Callable[[float], float] = _caution
) -> float:
    """Variance, with its caution, of a mean over seeds and groups, from (seeds, n) distances to that mean.

    Mean squares of a two-way layout without repetition (Searle, Casella and McCulloch, Variance Components, 1992,
    chapter 4), both effects random: over s seeds and n groups the mean has the variance

        (max(MS_seeds, MS_rest) + max(MS_groups - MS_rest, 0)) / (s n).

    MS_seeds has the mean n var_seeds + var_rest, and so never one below that of MS_rest; where it comes out below, the
    seeds' means agree by luck, as two seeds do that have other groups right but equally many. Its degrees of freedom
    stay s - 1 then, so that luck does not pass for precision. Where no group differs between seeds both are 0, and the
    variance is that over groups. Each source has the quantile of its own degrees of freedom (Graybill and Wang, JASA
    75, 1980): one quantile for their sum (Satterthwaite, Biometrics Bulletin 2, 1946) takes two seeds that agree by
    chance for many.
    """
    seeds, n = off.shape
    sums = off if labels is None else np.stack([_sums(labels, row) for row in off]) * (labels.max() + 1) / n
    units = sums.shape[1]
    freedom = units - 1 if labels is None else _effective(np.bincount(labels)) - 1
    of_seeds, of_units = sums.mean(axis=1), sums.mean(axis=0)
    square_rest = _square_of_rest(sums)
    square_seeds = units * of_seeds @ of_seeds / (seeds - 1)
    square_units = seeds * of_units @ of_units / max(units - 1, 1)
    beyond = max(
        square_units - square_rest, 0.0
    )  # what units differ by beside the rest, which seeds have too
    wide = caution(freedom) if square_units else 0.0
    apart = max(square_seeds, square_rest)
    both = caution(seeds - 1) * apart + (wide * beyond if beyond else 0.0)
    return float(max(both, wide * square_units)) / (seeds * units)


def _square_of_rest(values: np.ndarray) -> float:
    """Mean square of what neither the mean of a row nor that of a column explains, of (s, n) values with s > 1."""
    seeds, n = values.shape
    rest = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
    return float((rest**2).sum() / ((seeds - 1) * max(n - 1, 1)))


def _worth(
    mean: float | np.ndarray, variance: float | np.ndarray, freedom: float, least: float, most: float
) -> np.ndarray:
    """How many independent yes-or-no answers have a mean of this variance, estimated with so many degrees of freedom.

    `least` also where nothing varies: all right, or all wrong, says nothing about how groups hang together.
    """
    mean, variance = np.asarray(mean, dtype=np.float64), np.asarray(variance)
    if freedom <= 0:
        return np.full(mean.shape, least, dtype=np.float64)
    varies = mean * (1 - mean) > 1e-12
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(varies, mean * (1 - mean) / (variance * _caution(freedom)), least)
    return np.clip(found, least, most)


def _clopper_pearson(share: float | np.ndarray, n: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Exact interval of a share of n answers; n need not be whole."""
    tail, n = (1 - _LEVEL) / 2, np.asarray(n, dtype=np.float64)
    right = np.clip(np.asarray(share) * n, 0, n)
    wrong = n - right
    none, all_of_them = right <= 1e-9, wrong <= 1e-9
    low = scipy.special.betaincinv(np.where(none, 1, right), wrong + 1, tail)
    high = scipy.special.betaincinv(right + 1, np.where(all_of_them, 1, wrong), 1 - tail)
    return np.where(none, 0.0, low), np.where(all_of_them, 1.0, high)


# --- two on the same groups


class _ClusteredComparison(NamedTuple):
    """A paired comparison in which whole clusters are the units; points, as in `Comparison`."""

    by: str
    clusters: int
    low: float
    high: float
    p_value: float
    detectable: float | None
    p_holm: float | None = None
    largest: float | None = None  # percent of all groups that the largest cluster holds

    @property
    def dominated(self) -> str:
        """As of one accuracy's interval."""
        return _dominated(self.largest, self.by)


class Comparison(NamedTuple):
    """Two runs on the same groups: difference second minus first in percentage points, and an exact p.

    The p value is that of the sign test over the groups where the two differ, which for outcomes of 0 and 1 is
    McNemar's exact test (a group that a metric counts in parts, as IndividualMatch, is better, worse or equal).
    detectable : the smallest difference that these groups would have shown with 80 % power, two systems differing on
    as many of them (over runs: `over_seeds`); None where no difference would, or where it cannot be told. p_holm :
    corrected for the comparisons that it is shown with (`holm`), None of one alone. clustered : None where each group
    is its own. at_ceiling : whether the first has everything right, so that no difference can be above 0.
    """

    difference: float
    low: float
    high: float
    fixed: int  # groups where the second is better: only it has them right
    broken: int  # groups where the first is better
    p_value: float
    detectable: float | None = None
    p_holm: float | None = None
    clustered: _ClusteredComparison | None = None
    at_ceiling: bool = False

    @property
    def _ahead(self) -> int:
        """1 where the second is ahead of the first, -1 where it is behind, by both interval and p (corrected where that
        was done, by cluster where groups hang together); 0 where these groups cannot tell."""
        tested = self.clustered or self
        p = tested.p_value if tested.p_holm is None else tested.p_holm
        return 0 if tested.low <= 0 <= tested.high or p > 0.05 else 1 if self.difference > 0 else -1

    def __str__(self) -> str:
        """`+12.7 points (95 % interval +8.0 to +17.3), 42 groups fixed, 4 broken, p 3e-05`."""
        interval = f"95 % interval {_signed_range(self.low, self.high)}"
        counts = f"{self.fixed} groups fixed, {self.broken} broken"
        return f"{_signed(self.difference)} points ({interval}), {counts}, p {p_digits(self.p_value)}"

    def __repr__(self) -> str:
        """`+46.0 [+39.3, +52.0], 147 fixed, 9 broken, p 2.8e-33`; by cluster too, where there are clusters."""
        c = self.clustered
        by = f", by {c.by} [{_signed_end(c.low)}, {_signed_end(c.high)}] p {p_digits(c.p_value)}" if c else ""
        counts = f"{self.fixed} fixed, {self.broken} broken, p {p_digits(self.p_value)}"
        return f"{_signed(self.difference)} [{_signed_end(self.low)}, {_signed_end(self.high)}], {counts}{by}"

    @staticmethod
    def over_seeds(
        first: Array, second: Array, clusters: Clusters | None = None, tests: int = 1
    ) -> Comparison:
        """Two on the same groups, each the mean over repeated runs: outcomes (seeds, n), of one run (1, n).

        A difference has to hold over groups, by the exact test of `compare` on the mean changes, and over groups and
        runs at once: p is the larger of the two, and the interval holds both. So it holds 0 where p is above 0.05;
        where p is not it may hold 0 all the same, as the test over groups counts them and the interval sizes mean
        changes, which are shares. fixed, broken : groups that are better, or worse, in the mean over runs.
        tests : among how many tests that are corrected together this is one; `detectable` is what it finds even as
        the first of Holm's method, at 5 % divided by them.
        """
        a, b = np.broadcast_arrays(*(to_numpy(values).astype(np.float64) for values in (first, second)))
        if len(a) == 1:
            return compare(a[0], b[0], clusters, tests)
        found = compare(np.zeros(a.shape[1]), (b - a).mean(axis=0), clusters, tests)
        low, high, p = _over_runs(b - a, None, found)
        clustered = found.clustered
        if clusters is not None and clustered is not None:
            ends = _over_runs(b - a, clusters.labels, clustered)
            least = _least_over_runs(b - a, clusters.labels, clustered.detectable, tests)
            clustered = clustered._replace(low=ends[0], high=ends[1], p_value=ends[2], detectable=least)
        least = _least_over_runs(b - a, None, found.detectable, tests)
        return found._replace(
            low=low,
            high=high,
            p_value=p,
            detectable=least,
            clustered=clustered,
            at_ceiling=bool((a == 1).all()),
        )

    @staticmethod
    def of_best(
        before: Array, after: Array, best: Array, clusters: Clusters | None = None
    ) -> tuple[Comparison, float, float, int, float]:
        """The best of many choices, made on these very groups, against what was before; a p that allows for it; how
        many independent units the groups are worth (clusters of one size, by Kish's formula, or groups); how many
        groups the largest cluster holds; and the p of random signs alone.

        before, best : outcomes (n,), 0 to 1. after : (n, a), with each of the choices that there were. The comparison
        is that of `compare`, whose interval and p are on the hopeful side: the best of many is ahead by chance. The
        second p is two-sided, over all choices at once: how often the largest of their differences, each by its
        standard error, is as far above 0 where the changes of each group, or cluster, have a random sign (Westfall and
        Young, Resampling-Based Multiple Testing, 1993). Random signs take a loss for as likely as a gain of its size.
        Clusters, and outcomes that are shares, may gain little often and lose much seldom; of them p is never below
        `_p_of_any_distribution`; what random signs say of them is the last value. `detectable` is what a test that
        allows for the choice finds.
        """
        changes = to_numpy(after).astype(np.float32) - to_numpy(before).astype(np.float32)[:, None]
        labels, largest = (None, 1) if clusters is None else (clusters.labels, clusters.largest)
        units = len(changes) if labels is None else _effective(np.bincount(labels))
        signs, level = _p_of_largest(changes, labels)
        p = signs
        found = compare(before, best, clusters, max(1, round((1 - _LEVEL) / level)))
        if labels is not None or not np.isin(changes, (-1, 0, 1)).all():
            p = max(p, _p_of_any_distribution(changes, labels, largest))
            found = _detectable_by_bets(found, largest / len(changes))
        return found, p, float(units), largest, signs

    @staticmethod
    def detectable_difference(n: int, differ: float, tests: int = 1) -> float | None:
        """The smallest difference in points that McNemar's exact test finds on n groups with 80 % power.

        differ : percent of groups on which only one of the two is right. Where even a difference on all of those would
        stay unseen, that of two systems which differ on more, always to the same side. None where no difference would.
        tests : at 5 % divided by so many, as the first of Holm's method.
        """
        return _detectable(n, differ / 100, (1 - _LEVEL) / tests)

    @staticmethod
    def groups_needed(difference: float, differ: float) -> int:
        """How many groups show a difference in points with 80 % power, at the least.

        differ : percent of groups on which only one of the two is right. InputError where they do not go together. By
        the exact test, and by the normal distribution where more than 1,000 groups would differ.
        """
        for name, value in (("difference", difference), ("share of groups that differ", differ)):
            if not abs(value) <= 100:
                raise InputError(f"The {name} is {value:g}; give a percentage from 0 to 100.")
        gap, share = abs(difference) / 100, differ / 100
        if not 0 < gap <= share <= 1:
            raise InputError(
                f"Two systems that differ on {differ:g} % of groups cannot be {difference:g} points apart; give a "
                "difference above 0 and at most as large as that share."
            )
        many = _normal_groups(gap, share)
        if many * share > _ENUMERATED_PAIRS:
            return ceil(many)
        enough = 1
        while _power(enough, share, gap) < _POWER:
            enough *= 2
        low = enough // 2
        while enough - low > 1:
            middle = (low + enough) // 2
            low, enough = (low, middle) if _power(middle, share, gap) >= _POWER else (middle, enough)
        return enough

    @staticmethod
    def holm(found: Mapping[str, Comparison]) -> dict[str, Comparison]:
        """Comparisons shown together, corrected so that with no difference anywhere 5 % show one (Holm 1979)."""
        corrected = dict(zip(found, Comparison.corrected([c.p_value for c in found.values()]), strict=True))
        hanging = {name: c.clustered for name, c in found.items() if c.clustered is not None}
        for name, p in zip(hanging, Comparison.corrected([c.p_value for c in hanging.values()]), strict=True):
            hanging[name] = hanging[name]._replace(p_holm=p)
        return {n: c._replace(p_holm=corrected[n], clustered=hanging.get(n)) for n, c in found.items()}

    @staticmethod
    def corrected(p_values: Sequence[float]) -> list[float]:
        """p values of tests shown together, so that with no effect anywhere 5 % show one (Holm 1979)."""
        array = np.asarray(p_values, dtype=np.float64)
        order = np.argsort(array, kind="stable")
        stepped = np.maximum.accumulate(array[order] * np.arange(len(array), 0, -1))
        found = np.empty_like(array)
        found[order] = np.minimum(stepped, 1.0)
        return found.tolist()

    def record(self) -> dict[str, Any]:
        """JSON-safe; `clustered` where there are clusters."""
        told = self._fields[: self._fields.index("clustered")]
        return {name: getattr(self, name) for name in told} | _clustered_record(self.clustered)


def compare(first: Array, second: Array, clusters: Clusters | None = None, tests: int = 1) -> Comparison:
    """Paired comparison of outcomes (n,), 0 to 1, on the same groups: interval, exact test, detectable difference.

    The interval is Bonett and Price's (J. Educ. Behav. Stat. 37, 2012): one more group for either side, which gives
    it a width where the two never differ; of shares it differs as far as the largest change that was seen. With
    clusters it is one more of typical size for either side, with Student's t for as many clusters of one size as these
    are worth, and the test flips whole clusters. Of 0 the interval says what the exact test says: it reaches to 0
    where p is above 0.05, and ends just short of 0 where p is not (of shares, whose test counts groups and not points,
    it may still hold 0 then). tests : see `over_seeds`.
    """
    a, b = (to_numpy(values).astype(np.float64) for values in (first, second))
    if a.shape != b.shape:
        raise InputError(
            f"Two runs can only be compared on the same groups; they have {a.shape} and {b.shape}."
        )
    change = _one_per_group(b - a)
    n, fixed, broken = len(change), int((change > 0).sum()), int((change < 0).sum())
    p = _p_value(change, None)
    low, high = _tested_interval(change, None, p)
    return Comparison(
        100 * float(change.mean()), 100 * low, 100 * high, fixed, broken, p, _least(change, n, tests),
        clustered=None if clusters is None else _clustered_comparison(change, clusters, tests),
        at_ceiling=bool((a == 1).all()),
    )  # fmt: skip


def _over_runs(
    change: np.ndarray, labels: np.ndarray | None, by_groups: Comparison | _ClusteredComparison
) -> tuple[float, float, float]:
    """Interval in points and p of the mean change (seeds, n) over runs and groups; never surer than over groups."""
    mean = float(change.mean())

    def reach(tail: float) -> float:
        variance = _two_sources(change - mean, labels, lambda freedom: _caution(freedom, tail))
        return float(scipy.special.ndtri(tail) * np.sqrt(variance))

    wide, tail, surest = 100 * reach((1 + _LEVEL) / 2), 0.5, 1 - 1e-12
    if mean:  # the level at which the interval would end at 0
        sure = abs(mean) > reach(surest)
        tail = surest if sure else _root(lambda t: reach(t) - abs(mean), 0.5 + 1e-9, surest, 1e-13)
    p = max(2 * (1 - tail), by_groups.p_value)
    # Two runs have one degree of freedom, whose reach goes beyond what a difference of shares can be.
    low, high = max(-100.0, 100 * mean - wide), min(100.0, 100 * mean + wide)
    low, high = min(by_groups.low, low), max(by_groups.high, high)
    return (min(low, 0.0), max(high, 0.0), p) if p > 1 - _LEVEL else (low, high, p)


def _least_over_runs(
    change: np.ndarray, labels: np.ndarray | None, least: float | None, tests: int
) -> float | None:
    """The detectable difference of changes (seeds, n) over runs and groups; at least that over groups, `least`.

    As the test does, it takes each source with its own degrees of freedom: the shift of a noncentral t that is beyond
    the quantile of that test with 80 % power, and a deviation without the bias of few runs. None of two runs: a
    variance with one degree of freedom says nothing about another draw.
    """
    if least is None or len(change) < _TELLING_RUNS:
        return None

    def shift(freedom: float) -> float:
        if freedom <= 0:
            return np.inf
        beyond = scipy.special.stdtrit(freedom, 1 - (1 - _LEVEL) / 2 / tests)
        unbiased = np.sqrt(2 / freedom) * scipy.special.poch(freedom / 2, 0.5)  # E s = this times sigma
        return float(scipy.special.nctdtrinc(freedom, 1 - _POWER, beyond) / unbiased) ** 2

    found = 100 * float(np.sqrt(_two_sources(change - change.mean(), labels, shift)))
    return max(least, found) if found <= 100 else None


def _least(change: np.ndarray, n: int, tests: int) -> float | None:
    """The detectable difference of as many groups as n independent ones; of shares in the size that changes have."""
    differ = float(np.mean(change != 0))
    found = Comparison.detectable_difference(n, 100 * differ, tests)
    return found if found is None or not differ else found * float(np.abs(change).mean()) / differ


def _clustered_comparison(change: np.ndarray, clusters: Clusters, tests: int) -> _ClusteredComparison:
    p = _p_value(change, clusters.labels)
    low, high = _tested_interval(change, clusters.labels, p)
    variance, alone = (_paired_interval(change, labels)[2] for labels in (clusters.labels, None))
    effect = max(variance / alone, 1.0)  # of the design: what clusters cost
    return _ClusteredComparison(
        clusters.by, clusters.count, 100 * low, 100 * high, p,
        _least(change, max(round(len(change) / effect), 1), tests), largest=clusters.largest_percent,
    )  # fmt: skip


def _tested_interval(change: np.ndarray, labels: np.ndarray | None, p: float) -> tuple[float, float]:
    """Interval of the mean change in [-1, 1] that says of 0 what the exact test says, whose p is given.

    Which of two good tests judges one value leaves the others as they are: at 0 coverage is that of the exact test.
    """
    low, high, _ = _paired_interval(change, labels)
    if p > 1 - _LEVEL:
        return min(low, 0.0), max(high, 0.0)
    if low <= 0 <= high and np.isin(change, (-1, 0, 1)).all():
        return (_HAIR, high) if change.sum() > 0 else (low, -_HAIR)
    return low, high


def _paired_interval(change: np.ndarray, labels: np.ndarray | None) -> tuple[float, float, float]:
    """Interval of the mean change in [-1, 1], and the variance that it rests on."""
    sums, sizes = _sums(labels, change), _sums(labels, np.ones(len(change)))
    typical = _typical(sizes)
    more = typical * _size_of(change)
    sums, sizes = np.append(sums, [more, -more]), np.append(sizes, [typical, typical])
    mean = sums.sum() / sizes.sum()
    off = sums - mean * sizes
    variance = float(off @ off) / sizes.sum() ** 2
    reach = scipy.special.stdtrit(_effective(sizes) - 1, (1 + _LEVEL) / 2) * np.sqrt(variance)
    return max(float(mean - reach), -1.0), min(float(mean + reach), 1.0), variance


def _size_of(change: np.ndarray) -> float:
    """The largest change; 1 of outcomes of 0 and 1 that differ anywhere, and where nothing changes.

    One more group for either side then changes as much as any that was seen: of shares that hardly vary, such as
    average precisions, a change of the whole range would be worth a hundred of theirs.
    """
    return float(np.abs(change).max(initial=0.0)) or 1.0


def _p_value(change: np.ndarray, labels: np.ndarray | None) -> float:
    """Two-sided exact p: how often the wins minus losses of clusters with random signs are as far from 0."""
    net = np.abs(_sums(labels, np.sign(change)))
    seen, total = abs(int(_sums(labels, np.sign(change)).sum())), int(net.sum())
    if labels is None:
        return float(min(1.0, 2 * scipy.special.bdtr((total - seen) // 2, total, 0.5))) if total else 1.0
    if total > _ENUMERATED:
        return float(2 * scipy.special.ndtr(-seen / np.sqrt(float(net @ net))))
    chances = np.ones(1)  # of every sum from -total to total, in steps of 1
    for size, count in zip(*np.unique(net[net > 0].astype(int), return_counts=True), strict=True):
        steps = np.zeros(2 * size * count + 1)
        steps[:: 2 * size] = scipy.stats.binom.pmf(np.arange(count + 1), count, 0.5)
        chances = np.convolve(chances, steps)
    return float(min(1.0, chances[np.abs(np.arange(len(chances)) - total) >= seen].sum()))


def _p_of_largest(changes: np.ndarray, labels: np.ndarray | None) -> tuple[float, float]:
    """Two-sided p of the largest mean of changes (n, a), and the level of a single test that is as strict at 5 %."""
    changes = _of_units(changes, labels)
    changes = changes[:, changes.any(axis=0)][changes.any(axis=1)]
    if not changes.size:
        return 1.0, 1 - _LEVEL
    parts = changes / np.sqrt((changes**2).sum(axis=0))
    seen, random = float(parts.sum(axis=0).max()), np.random.default_rng(0)
    flips = _FLIPS if parts.size * _FLIPS < _FLIPPED else _FLIPS // 4
    largest = []
    for start in range(0, flips, rows := max(1, _BLOCK // len(parts))):
        signs = random.integers(0, 2, (min(rows, flips - start), len(parts)), dtype=np.int8)
        largest.append(((2 * signs - 1).astype(np.float32) @ parts).max(axis=1))
    drawn = np.concatenate(largest)
    p = min(1.0, 2 * (1 + int((drawn >= seen - 1e-4).sum())) / (flips + 1))
    # Hoeffding's bound for random signs, summed over all choices: below what so few draws can show.
    if seen > 0:
        p = min(p, 2 * parts.shape[1] * float(np.exp(-(seen**2) / 2)))
    strict = np.quantile(drawn, (1 + _LEVEL) / 2)
    return p, float(np.clip(2 * scipy.special.ndtr(-strict), 1e-4, 1 - _LEVEL))


def _of_units(changes: np.ndarray, labels: np.ndarray | None) -> np.ndarray:
    """The total change of each cluster, (G, a); the changes (n, a) themselves where every group is its own."""
    if labels is None:
        return changes
    whole = np.zeros((labels.max() + 1, changes.shape[1]), np.float32)
    np.add.at(whole, labels, changes)
    return whole


def _p_of_any_distribution(changes: np.ndarray, labels: np.ndarray | None, largest: int) -> float:
    """p of no gain by any choice, changes (n, a), that asks nothing of independent units but a bound of their loss.

    A bet on every unit's gain, of some share of all that the largest possible loss could take, multiplies what is
    there by 1 + share * change / largest: on average by 1 at most where there is no gain, so that the mean over shares
    and choices is 20 in at most 5 % of sets (Ville 1939; Waudby-Smith and Ramdas, J. R. Stat. Soc. B 86, 2024).
    """
    parts = _of_units(changes, labels).astype(np.float64) / largest
    parts = parts[parts.any(axis=1)]
    with np.errstate(divide="ignore"):  # all is lost where all was bet on a unit that lost all
        logs = np.stack([np.log1p(share * parts).sum(axis=0) for share in _STAKES])
    return float(min(1.0, np.exp(np.log(logs.size) - scipy.special.logsumexp(logs))))


def _power_of_bets(before: Array, after: Array, clusters: Clusters | None, level: float) -> float:
    """How often `_p_of_any_distribution` is at most `level` on sets of as many units, drawn with replacement from
    these, so that these groups' own gain is there: the share of `_SETS` such sets."""
    changes = to_numpy(after).astype(np.float32) - to_numpy(before).astype(np.float32)[:, None]
    labels, largest = (None, 1) if clusters is None else (clusters.labels, clusters.largest)
    units, random = _of_units(changes, labels), np.random.default_rng(0)
    drawn = (units[random.integers(0, len(units), len(units))] for _ in range(_SETS))
    return float(np.mean([_p_of_any_distribution(each, None, largest) <= level for each in drawn]))


def _detectable_by_bets(found: Comparison, largest: float) -> Comparison:
    """Bets grow by exp(gain / largest) at most: a total gain below log(20) largest clusters, each this share of all
    groups, is never told."""
    floor = 100 * float(np.log(1 / (1 - _LEVEL))) * largest

    def at_least(least: float | None) -> float | None:
        return None if least is None or floor > 100 else max(least, floor)

    if found.clustered is None:
        return found._replace(detectable=at_least(found.detectable))
    clustered = found.clustered._replace(detectable=at_least(found.clustered.detectable))
    return found._replace(clustered=clustered)


# --- how many groups


@lru_cache(maxsize=256)
def _detectable(n: int, share: float, level: float) -> float | None:
    if n * share > _ENUMERATED_PAIRS:
        return 100 * _normal_detectable(n, share, level)
    power = _power_over_gap(n, share, level)
    if share > 0 and power(share) >= _POWER:
        return 100 * _root(lambda gap: power(gap) - _POWER, 0.0, share)
    if _power(n, 1.0, 1.0, level) < _POWER:
        return None
    return 100 * _root(lambda gap: _power(n, gap, gap, level) - _POWER, max(share, 1e-12), 1.0)


def _normal_detectable(n: int, share: float, level: float) -> float:
    """By the normal distribution (Connor, Biometrics 43, 1987): n gap² = (z √share + z_power √(share - gap²))²."""
    z, z_power = scipy.special.ndtri([1 - level / 2, _POWER])
    a, b, c = 1 + z_power**2 / n, -2 * z * np.sqrt(share), share * (z**2 - z_power**2)
    return float((-b + np.sqrt(b**2 - 4 * a * c)) / (2 * a) / np.sqrt(n))


def _normal_groups(gap: float, share: float) -> float:
    """The groups of which `_normal_detectable` is the difference `gap`."""
    z, z_power = scipy.special.ndtri([(1 + _LEVEL) / 2, _POWER])
    return float((z * np.sqrt(share) + z_power * np.sqrt(share - gap**2)) ** 2 / gap**2)


def _power(n: int, differ: float, gap: float, level: float = 1 - _LEVEL) -> float:
    return _power_over_gap(n, differ, level)(gap)


def _power_over_gap(n: int, differ: float, level: float) -> Callable[[float], float]:
    """Probability that McNemar's exact test rejects at `level`, by how much more often the second is right alone."""
    reach = 8 * np.sqrt(n * differ * (1 - differ)) + 1
    counts = np.arange(max(int(n * differ - reach), 0), min(int(n * differ + reach), n) + 1)
    chances, tail = scipy.stats.binom.pmf(counts, n, differ), level / 2
    last = np.floor(np.nan_to_num(scipy.special.bdtrik(tail, counts, 0.5)))
    # The most losses, or wins, with which it rejects; -1: none.
    last -= scipy.special.bdtr(last, counts, 0.5) > tail
    some = last >= 0
    chances, counts, last = chances[some], counts[some], last[some]

    def power(gap: float) -> float:
        wins = (1 + gap / differ) / 2
        rejects = scipy.special.bdtr(last, counts, wins) + scipy.special.bdtr(last, counts, 1 - wins)
        return float(chances @ rejects)

    return power


def _root(function: Callable[[float], float], low: float, high: float, within: float = 1e-5) -> float:
    return float(scipy.optimize.brentq(function, low, high, xtol=within))


# --- what margins are worth


class _MarginBin(NamedTuple):
    """Groups with margins from `low` to `high`, their mean margin, and how many of them are right."""

    low: float
    high: float
    mean: float
    right: Estimate


class _MarginReliability(NamedTuple):
    """How well large margins mark right matchings, percent.

    aurc : area under the risk-coverage curve, the mean share of wrong ones among the surest 1, 2, ... n groups; of
    equal margins in random order. excess : above the least that any order of these groups could have (Geifman, Uziel
    and El-Yaniv, ICLR 2019). bins : the reliability curve, ten bins of about equally many groups, smallest margins
    first; equal margins are never apart. aurc_bounds, excess_bounds : percentile bootstrap intervals over groups, low
    and high; None where no group or every group is wrong, which no resample can vary. chance : the
    area that a random order has on average, which is the share of wrong groups.
    """

    aurc: float
    excess: float
    bins: list[_MarginBin]
    aurc_bounds: tuple[float, float] | None
    excess_bounds: tuple[float, float] | None
    chance: float


def margin_reliability(margin: Array, right: Array, chance_percent: float) -> _MarginReliability:
    """Risk-coverage area and reliability curve of margins, float (n,), with right, bool (n,)."""
    margins, hits = to_numpy(margin).astype(np.float64), _one_per_group(right)
    n = len(hits)
    _values, block = np.unique(-margins, return_inverse=True)  # the surest first
    risk = np.bincount(block, weights=1 - hits) / np.bincount(block)
    surest = np.arange(1, n + 1)
    found = np.cumsum(risk[np.sort(block)]) / surest
    best = np.maximum(surest - hits.sum(), 0) / surest
    ends = np.unique(np.quantile(margins, np.arange(1, 11) / 10, method="inverted_cdf"))
    place = np.searchsorted(ends, margins)
    parts = [(margins[place == b], hits[place == b]) for b in np.unique(place)]
    rows = [_MarginBin(x.min(), x.max(), float(x.mean()), estimate(y, chance_percent)) for x, y in parts]
    area, excess = float(found.mean()), float((found - best).mean())
    bounds = _area_bounds(block, hits, area, excess) if 0 < hits.sum() < n else (None, None)
    return _MarginReliability(
        100 * area, 100 * excess, rows, bounds[0], bounds[1], 100 * (1 - float(hits.mean()))
    )


# Cells of groups with one margin and one outcome, of which a resample draws the counts, and resamples: a page waits.
_MOST_CELLS, _AREA_RESAMPLES = 500, 2000


def _area_bounds(
    block: np.ndarray, hits: np.ndarray, area: float, excess: float, seed: int = 0
) -> list[tuple[float, float]]:
    """Percentile bootstrap intervals over groups of the area under risk and coverage and of its excess, percent.

    block : place of each group's margin, largest first, int (n,), equal margins one. Where there are more than
    `_MOST_CELLS` margins, neighbours count as one, and the interval is moved by what that moves the area.
    """
    n, places = len(hits), int(block.max()) + 1
    block = block * min(places, _MOST_CELLS) // places
    cells, counts = np.unique(np.stack([block, hits > 0]), axis=1, return_counts=True)
    starts = np.flatnonzero(np.diff(cells[0], prepend=-1))
    harmonic = np.append(0.0, np.cumsum(1 / np.arange(1, n + 1)))
    # A wrong group at place j is in the shares of the surest j, ..., n: it weighs 1 / j + ... + 1 / n; summed over j.
    weight = np.append(0.0, np.cumsum(harmonic[n] - harmonic[:n]))

    def areas(drawn: np.ndarray) -> np.ndarray:
        """Area and excess, (2, r), of resamples whose cells have these counts, (r, c)."""
        sizes = np.add.reduceat(drawn, starts, axis=1)
        wrong = np.add.reduceat(drawn * (cells[1] == 0), starts, axis=1)
        ends = np.cumsum(sizes, axis=1)
        found = (wrong / np.maximum(sizes, 1) * (weight[ends] - weight[ends - sizes])).sum(axis=1) / n
        right = n - wrong.sum(axis=1)
        best = 1 - (right + right * (harmonic[n] - harmonic[right])) / n
        return np.stack([found, found - best])

    random, rows = np.random.default_rng(seed), max(1, 1_000_000 // len(counts))
    sizes = [min(rows, _AREA_RESAMPLES - start) for start in range(0, _AREA_RESAMPLES, rows)]
    found = np.concatenate([areas(random.multinomial(n, counts / n, size)) for size in sizes], axis=1)
    moved = np.array([[area], [excess]]) - areas(counts[None])
    ends = np.quantile(found + moved, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2], axis=1).T
    return [(100 * float(low), 100 * float(high)) for low, high in ends]
