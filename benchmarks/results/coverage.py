"""Do 95 % intervals hold the truth in 95 %, do verdicts err in at most 5 %? `python -m benchmarks.results.coverage`.

Rewrites benchmarks/COVERAGE.md. One accuracy without clusters is computed exactly (`binomials.py`); all else is
simulated with fixed seeds. Every line says the least, the mean and the largest share over its settings, and which
settings fall below 93 or lie above 97 %. `--repeats N` draws N sets of each setting (default 2,000, whose own error is
about half a point).
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import scipy

from benchmarks.results import binomials
from core.base.text import counted
from core.debiasing.blind import blind_baseline
from core.debiasing.study import AlphaStudy
from core.metrics import statistics
from core.metrics.statistics import (
    Clusters,
    Comparison,
    Estimate,
    compare,
    estimate,
)

PAGE = Path(__file__).resolve().parents[1] / "COVERAGE.md"
KEPT = PAGE.parents[1] / "build" / "coverage"
SIZES, SHARES = (10, 30, 100, 300, 1000), (0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98)
ALIKE = (0.0, 0.3, 1.0)  # correlation of two groups of a cluster
CLUSTER_SIZES, CLUSTER_COUNTS = (2, 4, 8, 40), (5, 10, 20, 50, 100)
MODELS = ("beta-binomial", "shared draw", "all alike or none")  # of how groups of a cluster are correlated
UNEVEN = {
    "200, 100, 50, 50 of 1": [200, 100, 50] + [1] * 50,
    "60, 30, 12, 6, 4, 3, 2, 2, 4 of 1": [60, 30, 12, 6, 4, 3, 2, 2, 1, 1, 1, 1],
    "80, 11 of 1": [80] + [1] * 11,
    "200, 133 of 3": [200] + [3] * 133,
    "233, 141, 26": [233, 141, 26],
    "6 of 40": [40] * 6,
    "40 of 8": [8] * 40,
}
Rng = np.random.Generator


class Line(NamedTuple):
    """Coverage of one kind of interval at one setting, percent, with its mean width in points."""

    what: str
    setting: str
    n: int
    covered: float
    width: float


class Error(NamedTuple):
    """How often a verdict is given where it is wrong, percent."""

    verdict: str
    where: str
    rate: float


class Rate(NamedTuple):
    """How often a difference is detected, percent."""

    what: str
    percent: float


_TYPES = {each.__name__: each for each in (Line, Error, Rate)}


# --- coverage


def exact() -> Iterator[Line]:
    """One accuracy, every group its own: summed over all outcomes, nothing is drawn."""
    for n in SIZES:
        found = [estimate(np.arange(n) < right, 0.0) for right in range(n + 1)]
        low, high = np.array([e[1:3] for e in found]).T / 100
        for p in SHARES:
            chances = scipy.stats.binom.pmf(np.arange(n + 1), n, p)
            holds = (low <= p) & (p <= high)
            yield Line(
                "accuracy",
                f"n {n}, p {p}",
                n,
                100 * float(chances @ holds),
                100 * float(chances @ (high - low)),
            )


def drawn_clusters(rng: Rng, n: int) -> Clusters:
    """Sizes of 1 to 8, in random order."""
    labels = np.repeat(np.arange(n), rng.integers(1, 9, n))[:n]
    return Clusters("image", rng.permutation(labels))


def alike(rng: Rng, labels: np.ndarray, p: float, correlation: float, model: str = MODELS[0]) -> np.ndarray:
    """Yes or no with probability p; two of a cluster are correlated.

    model : beta-binomial; or each takes the answer that its cluster shares with probability √correlation, else one of
    its own; or all of a cluster have one answer with that probability, else each its own.
    """
    count = labels.max() + 1
    if model != MODELS[0]:
        same = rng.random(len(labels)) < correlation**0.5
        if model == MODELS[2]:
            same = (rng.random(count) < correlation)[labels]
        return np.where(same, (rng.random(count) < p)[labels], rng.random(len(labels)) < p)
    if correlation == 1:
        return (rng.random(count) < p)[labels]
    if not correlation:
        return rng.random(len(labels)) < p
    strength = 1 / correlation - 1
    return rng.random(len(labels)) < rng.beta(p * strength, (1 - p) * strength, count)[labels]


def clustered(repeats: int, rng: Rng) -> Iterator[Line]:
    for n, p, correlation in product(SIZES, SHARES, ALIKE):
        rows = np.zeros((repeats, 4))
        for i in range(repeats):
            clusters = drawn_clusters(rng, n)
            e = estimate(alike(rng, clusters.labels, p, correlation), 0.0, clusters=clusters)
            assert e.clustered is not None
            low, high = e.clustered[2:4]
            rows[i] = low <= 100 * p <= high, high - low, e.low <= 100 * p <= e.high, e.high - e.low
        covered, width, plain, narrow = rows.mean(axis=0)
        setting = f"n {n}, p {p}, correlation {correlation}"
        yield Line(f"accuracy by cluster, correlation {correlation}", setting, n, 100 * covered, width)
        yield Line(f"the same without clusters, correlation {correlation}", setting, n, 100 * plain, narrow)


def few_clusters(repeats: int, rng: Rng) -> Iterator[Line]:
    """By number and by size of clusters, all of one size."""
    for size, count, p, correlation in product(CLUSTER_SIZES, CLUSTER_COUNTS, (0.05, 0.1, 0.25, 0.5), ALIKE):
        labels, rows = np.repeat(np.arange(count), size), np.zeros((repeats, 2))
        clusters = Clusters("image", labels)
        for i in range(repeats):
            found = estimate(alike(rng, labels, p, correlation), 0.0, clusters=clusters).clustered
            assert found is not None
            rows[i] = found.low <= 100 * p <= found.high, found.high - found.low
        covered, width = rows.mean(axis=0)
        setting = f"{count} clusters, p {p}, correlation {correlation}"
        yield Line(f"clusters of {size}", setting, count, 100 * covered, width)


def models(repeats: int, rng: Rng) -> Iterator[Line]:
    """Clusters of 1 to 8, whose groups are correlated in other ways."""
    settings = product(MODELS[1:], SIZES, (0.02, 0.05, 0.1, 0.25, 0.5), (0.3, 0.6))
    for model, n, p, correlation in settings:
        rows = np.zeros((repeats, 2))
        for i in range(repeats):
            clusters = drawn_clusters(rng, n)
            values = alike(rng, clusters.labels, p, correlation, model)
            found = estimate(values, 0.0, clusters=clusters).clustered
            assert found is not None
            rows[i] = found.low <= 100 * p <= found.high, found.high - found.low
        covered, width = rows.mean(axis=0)
        yield Line(
            f"by cluster, {model}", f"n {n}, p {p}, correlation {correlation}", n, 100 * covered, width
        )


def uneven(repeats: int, rng: Rng) -> Iterator[Line]:
    """Clusters of very unequal size, and a few large ones: an accuracy, and a difference of 20 or 40 points."""
    for (name, sizes), model in product(UNEVEN.items(), MODELS):
        labels = np.repeat(np.arange(len(sizes)), sizes)
        clusters = Clusters("image", labels)
        for p, correlation in ((0.05, 0.3), (0.1, 0.6), (0.5, 0.6), (0.9, 0.9)):
            rows = np.zeros((repeats, 2))
            for i in range(repeats):
                values = alike(rng, labels, p, correlation, model)
                found = estimate(values, 0.0, clusters=clusters).clustered
                assert found is not None
                rows[i] = found.low <= 100 * p <= found.high, found.high - found.low
            covered, width = rows.mean(axis=0)
            setting = f"{model}, p {p}, correlation {correlation}"
            yield Line(f"accuracy, clusters of {name}", setting, len(labels), 100 * covered, width)
        for differ, gap in ((0.3, 0.0), (0.3, 0.2), (0.5, 0.4)):
            rows = np.zeros((repeats, 2))
            for i in range(repeats):
                differs = alike(rng, labels, differ, 0.6, model)
                wins = alike(rng, labels, (1 + gap / differ) / 2, 0.6, model)
                test = compare(differs & ~wins, differs & wins, clusters).clustered
                assert test is not None
                rows[i] = test.low <= 100 * gap <= test.high, test.high - test.low
            covered, width = rows.mean(axis=0)
            setting = f"{model}, {100 * differ:g} % differ, gap {100 * gap:g}"
            yield Line(f"difference, clusters of {name}", setting, len(labels), 100 * covered, width)


def shares(repeats: int, rng: Rng) -> Iterator[Line]:
    """IndividualMatch: m images of a group, correlated or not."""
    for n, p, correlation, m in product(SIZES, SHARES, ALIKE, (2, 4)):
        labels, rows = np.repeat(np.arange(n), m), np.zeros((repeats, 2))
        for i in range(repeats):
            e = estimate(alike(rng, labels, p, correlation).reshape(n, m).mean(axis=1), 0.0, parts=m)
            rows[i] = e.low <= 100 * p <= e.high, e.high - e.low
        covered, width = rows.mean(axis=0)
        yield Line(
            f"share of {m} images, correlation {correlation}", f"n {n}, p {p}", n, 100 * covered, width
        )


def paired(repeats: int, rng: Rng) -> Iterator[Line]:
    """Differences of 0 to 20 points between systems that differ on 5 to 50 % of groups, alone and by cluster."""
    for n, differ, gap, correlation in product(SIZES, (0.05, 0.2, 0.5), (0.0, 0.05, 0.2), (None, 0.3, 1.0)):
        if gap > differ:
            continue
        rows = np.zeros((repeats, 2))
        for i in range(repeats):
            clusters = None if correlation is None else drawn_clusters(rng, n)
            labels = np.arange(n) if clusters is None else clusters.labels
            differs = alike(rng, labels, differ, correlation or 0.0)
            wins = (
                alike(rng, labels, (1 + gap / differ) / 2, correlation or 0.0)
                if gap < differ
                else np.ones(n, bool)
            )
            found = compare(differs & ~wins, differs & wins, clusters)
            low, high = (found.low, found.high) if found.clustered is None else found.clustered[2:4]
            rows[i] = low <= 100 * gap <= high, high - low
        covered, width = rows.mean(axis=0)
        kind = "difference" if correlation is None else f"difference by cluster, correlation {correlation}"
        yield Line(kind, f"n {n}, {100 * differ:g} % differ, gap {100 * gap:g}", n, 100 * covered, width)


def seeds(repeats: int, rng: Rng) -> Iterator[Line]:
    """A mean over seeds, where groups and seeds vary (logistic, standard deviations 2 and 0, 0.3 or 0.5)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    for count, n, middle, spread in product((2, 3, 5, 10), (30, 100, 300), (-3.0, 0.0, 2.0), (0.0, 0.3, 0.5)):
        total = np.hypot(2.0, spread)
        truth = 100 * float(weights @ scipy.special.expit(middle + total * nodes) / weights.sum())
        rows = np.zeros((repeats, 4))
        for i in range(repeats):
            logits = middle + 2.0 * rng.normal(size=n) + spread * rng.normal(size=(count, 1))
            right = rng.random((count, n)) < scipy.special.expit(logits)
            e, resampled = Estimate.over_seeds(right, 0.0), (np.nan, np.nan)
            if i < repeats // 4:
                resampled = resample_both(right, rng)
            rows[i] = (
                e.low <= truth <= e.high,
                e.high - e.low,
                resampled[0] <= truth <= resampled[1],
                np.ptp(resampled),
            )
        few = rows[: repeats // 4]
        setting = f"n {n}, {middle:+g}, seeds differ by {spread}"
        yield Line(f"mean over {count} seeds", setting, n, 100 * rows[:, 0].mean(), rows[:, 1].mean())
        name = f"the same, resampling {count} seeds and groups"
        yield Line(name, setting, n, 100 * few[:, 2].mean(), few[:, 3].mean())


def resample_both(right: np.ndarray, rng: Rng, resamples: int = 400) -> np.ndarray:
    """Percentile bootstrap over seeds and over groups at once (Owen 2007)."""
    count, n = right.shape
    some = rng.multinomial(count, np.full(count, 1 / count), resamples) / count
    picked = rng.integers(n, size=(resamples, n)) + n * np.arange(resamples)[:, None]
    others = np.bincount(picked.ravel(), minlength=resamples * n).reshape(resamples, n) / n
    return 100 * np.quantile(((some @ right) * others).sum(axis=1), [0.025, 0.975])


def percentile(repeats: int, rng: Rng) -> Iterator[Line]:
    """What was shown before: the percentile bootstrap of one accuracy."""
    for n, p in product(SIZES, SHARES):
        drawn = rng.binomial(n, p, repeats)
        ends = {
            right: Estimate.bootstrap(np.arange(n) < right, resamples=2000) for right in set(drawn.tolist())
        }
        low, high = np.array([ends[right] for right in drawn.tolist()]).T
        covered = 100 * float(((low <= p) & (p <= high)).mean())
        yield Line(
            "percentile bootstrap, as before", f"n {n}, p {p}", n, covered, 100 * float((high - low).mean())
        )


# --- error rates


def blind(repeats: int, rng: Rng) -> Iterator[Error]:
    """The blind check of sets that nobody solves, and on the edges of its verdicts: summed over all counts of hits."""
    for (m, k), n in product(((1, 2), (1, 4), (2, 4)), (1, 2, 4, 10, 30, 100, 300)):
        truth, floor = np.tile(np.arange(m), (n, 1)), m / k
        verdicts = np.array(
            [blind_baseline(blind_scores(n, m, k, hits), truth).verdict for hits in range(n + 1)]
        )
        for name, way, wrong in (
            ("guessing", 0.0, ("solved", "partly", "against")),
            ("a fifth of the way", 0.2, ("no", "against", "solved")),
            ("four fifths of the way", 0.8, ("solved", "no", "against")),
        ):
            chances = scipy.stats.binom.pmf(np.arange(n + 1), n, floor + way * (1 - floor))
            for verdict in wrong:
                rate = 100 * float(chances[verdicts == verdict].sum())
                yield Error(f"blind check: {verdict} (computed)", f"{name}, {m}x{k}, {n} groups", rate)


def blind_scores(n: int, m: int, k: int, hits: int) -> np.ndarray:
    """Scores that see no image and prefer one of the first m captions in so many groups; float (n, m, k)."""
    scores = np.tile(np.arange(k, 0, -1.0), (n, 1))
    scores[hits:, k - 1] = k + 1
    return np.repeat(scores[:, None], m, axis=1)


def scenarios(repeats: int, rng: Rng) -> Iterator[Error]:
    """Language priors of true and false captions, drawn alike or so that 60 % of pairs favour the true one."""
    apart = float(np.sqrt(2) * scipy.stats.norm.ppf(0.6))
    for k, n, (name, shift, wrong) in product(
        (2, 5), (1, 2, 4, 10, 30, 100, 300), (("alike", 0.0, 1), ("true ones likelier in 60 %", apart, 2))
    ):
        truth, seen = np.zeros((n, 1), dtype=int), 0
        for _ in range(repeats):
            prior = rng.normal(size=(n, k))
            prior[:, 0] += shift
            study = AlphaStudy(np.zeros((n, 1, k)), prior, truth, list(map(str, range(n))))
            seen += study.frequency.scenario == wrong
        yield Error(f"language prior: scenario {wrong}", f"{name}, 1x{k}, {n} groups", 100 * seen / repeats)


def sharing(n: int, k: int) -> Iterator[tuple[str, np.ndarray, Clusters | None]]:
    """Groups that share captions: how, the captions of every group (n, k), and what hangs together by images.

    Sets of captions in equally many groups each; one set, or some of one size, in a part of the groups, the others
    alone; and both captions and images shared, by groups that are no neighbours and by neighbours.
    """
    alone, numbers = np.arange(n * k).reshape(n, k), np.arange(n)
    for sets in (1, 2, 3, 5, 7, 10, 20, 30, 50, 100, 150, 300):
        yield f"{counted(sets, 'set')} of captions", alone[numbers % sets], None
    for part in (0.1, 0.3, 0.5, 0.7, 0.9):
        yield f"one set in {part:.0%} of groups", alone[np.where(numbers < part * n, 0, numbers)], None
    for sets, part in product((3, 4, 5, 6, 8), (0.3, 0.8)):
        which = np.where(numbers < part * n, numbers % sets, numbers)
        yield f"{sets} sets in {part:.0%} of groups", alone[which], None
    for sets in (30, 60, 150):
        images = Clusters.of_image_names(numbers[:, None] // 2 % 145)
        yield f"{sets} sets of captions, images of 2 or 4 groups", alone[numbers % sets], images


def shared(repeats: int, rng: Rng) -> Iterator[Error]:
    """The blind check and the scenario of a prior that guesses, where 300 groups share captions and images.

    The same captions have the same scores and the same true one, so that their groups are right or wrong together.
    """
    n = 300
    truth, ids = np.zeros((n, 1), dtype=int), list(map(str, range(n)))
    for k in (2, 4):
        for how, captions, by_image in sharing(n, k):
            clusters = Clusters.joined(by_image, Clusters.of_captions(captions))
            seen: Counter[str] = Counter()
            for _ in range(repeats):
                scores = rng.normal(size=n * k)[captions]
                seen[blind_baseline(scores[:, None], truth, clusters).verdict] += 1
                study = AlphaStudy(np.zeros((n, 1, k)), scores, truth, ids, clusters=clusters)
                seen["scenario 1"] += study.frequency.scenario == 1
            for name in ("solved", "partly", "against", "scenario 1"):
                what = "language prior" if name == "scenario 1" else "blind check"
                yield Error(
                    f"{what}: {name}, captions shared", f"guessing, 1x{k}, {how}", 100 * seen[name] / repeats
                )


def differences(repeats: int, rng: Rng) -> Iterator[Error]:
    """Two systems that are equally good: p below 0.05, alone, by cluster, and at least one of five after Holm."""
    for n, differ in product(SIZES, (0.05, 0.2, 0.5)):
        size = 100 * statistics._power(n, differ, 0.0)
        yield Error("paired test (computed)", f"n {n}, {100 * differ:g} % differ", size)
    for n, differ, correlation in product(SIZES, (0.05, 0.2, 0.5), (None, 0.3, 1.0)):
        seen = Counter[str]()
        for _ in range(repeats):
            labels = None if correlation is None else drawn_clusters(rng, n).labels
            drawn_by = np.arange(n) if labels is None else labels
            p_values = []
            for _ in range(5):
                differs, wins = (alike(rng, drawn_by, share, correlation or 0) for share in (differ, 0.5))
                p_values.append(statistics._p_value(differs * np.where(wins, 1.0, -1.0), labels))
            seen["one"] += p_values[0] <= 0.05
            seen["Holm"] += min(Comparison.corrected(p_values)) <= 0.05
            seen["uncorrected"] += min(p_values) <= 0.05
        kind = "" if correlation is None else f" by cluster, correlation {correlation}"
        for name, text in (
            ("one", "paired test"),
            ("Holm", "five tests, Holm"),
            ("uncorrected", "five, uncorrected"),
        ):
            yield Error(text + kind, f"n {n}, {100 * differ:g} % differ", 100 * seen[name] / repeats)


def powers(repeats: int, rng: Rng) -> Iterator[Rate]:
    """How often the detectable difference is detected; 80 % by its definition."""
    for n, differ in product((30, 100, 400, 1000), (10.0, 20.0, 50.0)):
        gap = Comparison.detectable_difference(n, differ) or 100.0
        yield Rate(f"n {n}, {differ:g} % differ: {gap:.1f} points", detected(repeats, n, differ, gap, rng))


def needed(repeats: int, rng: Rng) -> Iterator[Rate]:
    """How often so many groups as the calculator names detect the difference that it was asked for."""
    for gap, differ in (
        (2.0, 10.0),
        (5.0, 10.0),
        (5.0, 20.0),
        (10.0, 20.0),
        (10.0, 50.0),
        (20.0, 50.0),
        (30.0, 30.0),
    ):
        n = Comparison.groups_needed(gap, differ)
        what = f"{gap:g} points, {differ:g} % differ: {n:,} groups"
        yield Rate(what, detected(repeats, n, differ, gap, rng))


def detected(repeats: int, n: int, differ: float, gap: float, rng: Rng) -> float:
    """Percent of drawn sets whose p is at most 0.05; systems differ on so many percent, the second wins by a gap."""
    share, seen = max(differ, gap) / 100, 0
    for _ in range(repeats):
        differs, wins = rng.random(n) < share, rng.random(n) < (1 + gap / 100 / share) / 2
        seen += statistics._p_value(differs * np.where(wins, 1.0, -1.0), None) <= 0.05
    return 100 * seen / repeats


# --- the page


def coverage_table(lines: list[Line]) -> str:
    """One row per kind of interval."""
    kinds: dict[str, list[Line]] = {}
    for line in lines:
        kinds.setdefault(line.what, []).append(line)
    head = (
        "interval",
        "settings",
        "least",
        "mean",
        "largest",
        "below 93",
        "93 to 97",
        "above 97",
        "the least is at",
    )
    rows = [head, ("---",) * len(head)]
    for what, some in kinds.items():
        covered = np.array([line.covered for line in some])
        low, high = int((covered < 93).sum()), int((covered > 97).sum())
        numbers = (f"{x:.1f}" for x in (covered.min(), covered.mean(), covered.max()))
        least = some[int(covered.argmin())].setting
        rows.append((what, str(len(some)), *numbers, str(low), str(len(some) - low - high), str(high), least))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def by_size_table(lines: list[Line], sizes: tuple[int, ...], head: str) -> str:
    """Mean coverage and mean width by number of groups, or of clusters."""
    kinds = dict.fromkeys(line.what for line in lines)
    rows = [("interval", *(head.format(n) for n in sizes)), ("---",) * (1 + len(sizes))]
    for what in kinds:
        cells = []
        for n in sizes:
            some = [line for line in lines if line.what == what and line.n == n]
            means = np.mean([(line.covered, line.width) for line in some], axis=0) if some else None
            cells.append("" if means is None else f"{means[0]:.1f} ({means[1]:.1f})")
        rows.append((what, *cells))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def mean_width_table(lines: list[Line]) -> str:
    widths: dict[str, list[float]] = {}
    for line in lines:
        widths.setdefault(line.what, []).append(line.width)
    return "\n".join(f"| {what} | {np.mean(some):.1f} |" for what, some in widths.items())


def error_table(errors: list[Error]) -> str:
    kinds: dict[str, list[Error]] = {}
    for error in errors:
        kinds.setdefault(error.verdict, []).append(error)
    rows = [("verdict", "settings", "mean", "largest", "where"), ("---",) * 5]
    for verdict, some in kinds.items():
        worst = max(some, key=lambda error: error.rate)
        mean = np.mean([error.rate for error in some])
        rows.append((verdict, str(len(some)), f"{mean:.2f}", f"{worst.rate:.2f}", worst.where))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


TEXT = """# Coverage of intervals, and error rates of verdicts

Written by `python -m benchmarks.results.coverage --repeats {repeats}`. Percent; n groups in {sizes};
p in {shares}; clusters of 1 to 8 groups; {repeats:,} sets drawn for
each setting, so that a coverage of 95 has an error of {error:.1f}; one accuracy without clusters is computed.
What is tried: `core/metrics/statistics.py`.

## Coverage of nominal 95 % intervals

{coverage}

## One accuracy: which coverage can be had, and which interval has what

Computed, nothing is drawn (`benchmarks/results/binomials.py`). Of n groups a whole number is right, so that an interval
holds p for some counts and not for others, and its coverage is a sum of their chances: of a run of neighbouring counts
if it has no holes, of the likeliest counts if it leaves out none that is likelier than one it has. Bold: nothing
between 93 and 97 %, but only the two beside; else the one closest to 95 %. 93 to 97 % can be had at {runs} of 45
settings by some run of counts, at {likeliest} by the likeliest. Settings with p above 0.5 mirror those below.

{cells}

{methods}

"Least over all p" and "above p" are over p from 0.0005 to 0.9995 at the five n. The interval shown is Clopper and
Pearson's: it covers at least 95 % everywhere, and all of it lies above chance in at most 2.5 % of the sets of a system
that guesses, on which verdicts such as "solved" or "better than guessing" rest. Blaker's, mid-P, Wilson's and Jeffreys'
are inside 93 to 97 % at two to six settings more and a little narrower, and lie above chance twice (Blaker, mid-P) to
six times as often. Blaker's is not defined for the numbers of answers, not whole, that clusters, shares and seeds are
worth. Where {many} or more right and as many wrong groups are expected, coverage of the interval shown is
{inside}.

## Clusters of one size: how few are too few

{cluster_coverage}

{by_count}

Clusters of 40 are beyond the 1 to 8 that intervals were made for; they hold all the same.

## Clusters of very unequal size

Where one cluster holds a large share of the groups, it is little more than one observation, and the interval says so by
its width: on 200, 100, 50 and 50 of 1, about as much as three groups would tell. From a share of 20 % on, pages and
commands say it in words. Three ways in which groups of a cluster hang together: beta-binomial; each takes its cluster's
answer or its own; all of a cluster are alike, or none are.

{uneven}

| interval | mean width in points |
| --- | --- |
{uneven_width}

## Mean coverage (and mean width in points) by number of groups

{by_size}

## How often a verdict is given where it is wrong

Each should be below 5. A drawn rate of 5 has an error of {error:.1f} (one standard deviation), so the largest of many
lies above what it stands for.

{errors}

## The detectable difference, detected

80 by definition; ten times as many sets are drawn, so that a rate has an error of {power_error:.1f}.

{power}

## As many groups as needed, and the difference detected

At least 80 by definition (`Comparison.groups_needed`), but for the error of drawing.

{enough}
"""


def _drawn(part: str, repeats: int, seed: int) -> list[Any]:
    """What a part draws; kept in build/coverage, so that a command that was interrupted does not draw it again."""
    path = KEPT / f"{part}-{repeats}-{_digest(part)}.json"
    if path.is_file():
        return [
            _TYPES[each["type"]](**each["fields"]) for each in json.loads(path.read_text(encoding="utf-8"))
        ]
    # What a comparison could have shown takes most of its time; `powers` tries it by itself.
    without = {} if part in ("powers", "needed") else {"_detectable": lambda *given: None}
    with patch.multiple(statistics, **without) if without else nullcontext():
        found = list(globals()[part](repeats, np.random.default_rng(seed)))
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = [{"type": type(each).__name__, "fields": each._asdict()} for each in found]
    path.write_text(json.dumps(kept), encoding="utf-8")
    return found


def _digest(part: str) -> str:
    """Of everything a part's numbers depend on: its own code, and the statistics and verdicts that it tries."""
    tried = (
        statistics,
        binomials,
        sys.modules[blind_baseline.__module__],
        sys.modules[AlphaStudy.__module__],
    )
    texts = [inspect.getsource(globals()[part]), *map(inspect.getsource, tried)]
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:12]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    repeats, workers = options.repeats, options.workers
    lines = [*exact()]
    parts = (clustered, few_clusters, models, uneven, shares, paired, seeds, percentile)
    checks = (blind, scenarios, shared, differences)
    with ProcessPoolExecutor(workers) as pool:
        jobs = [("powers", 10 * repeats, 2), ("needed", 10 * repeats, 2)]
        jobs += [(part.__name__, repeats, seed) for seed, part in enumerate((*checks, *parts))]
        waiting = {pool.submit(_drawn, *job): job[0] for job in jobs}
        found = {}
        for job in as_completed(waiting):
            found[waiting[job]] = job.result()
            print(f"{time.strftime('%H:%M:%S')} {waiting[job]}", file=sys.stderr, flush=True)
    found = {name: found[name] for name, *_ in jobs}  # the page's order
    power, enough = (
        "\n".join(f"- {rate.what}, {rate.percent:.1f} %" for rate in found.pop(name))
        for name in ("powers", "needed")
    )
    few, unequal = found.pop("few_clusters"), found.pop("uneven")
    errors = [error for part in checks for error in found.pop(part.__name__)]
    lines += [line for some in found.values() for line in some]
    many = 15
    inside = [
        line.covered
        for line, p in zip(exact(), list(SHARES) * len(SIZES), strict=True)
        if line.n * min(p, 1 - p) >= many
    ]
    page = TEXT.format(
        repeats=repeats,
        error=100 * (0.05 * 0.95 / repeats) ** 0.5, power_error=100 * (0.2 * 0.8 / (10 * repeats)) ** 0.5,
        sizes=", ".join(map(str, SIZES)), shares=", ".join(map(str, SHARES)), many=many,
        inside=f"{min(inside):.1f} to {max(inside):.1f} %", coverage=coverage_table(lines),
        by_size=by_size_table(lines, SIZES, "n {}"), errors=error_table(errors), power=power, enough=enough,
        cells=binomials.cells_table(SIZES, SHARES), methods=binomials.methods_table(SIZES, SHARES),
        runs=binomials.count_attainable(SIZES, SHARES, likeliest=False),
        likeliest=binomials.count_attainable(SIZES, SHARES, likeliest=True),
        uneven=coverage_table(unequal), uneven_width=mean_width_table(unequal),
        cluster_coverage=coverage_table(few), by_count=by_size_table(few, CLUSTER_COUNTS, "{} clusters"),
    )  # fmt: skip
    PAGE.write_text(page)
    print(page)


if __name__ == "__main__":
    main()
