"""Intervals and tests against scipy, against closed forms, and against brute force."""

import re
from itertools import combinations_with_replacement, pairwise, permutations, product
from pathlib import Path

import numpy as np
import pytest
import scipy

from benchmarks.results import binomials
from core.base.errors import InputError
from core.base.text import _change_in_points, _pct, _signed, _signed_end
from core.cli._output import format_metrics
from core.groups import BytesImage, Group, GroupSet
from core.metrics.statistics import (
    Clusters,
    Comparison,
    Estimate,
    _detectable,
    _interval_of_alike,
    _least_over_runs,
    _paired_interval,
    compare,
    estimate,
    margin_reliability,
)

ROOT = Path(__file__).resolve().parent.parent


def answers(right, n):
    return np.arange(n) < right


def clusters(labels):
    return Clusters("image", np.asarray(labels))


# --- one accuracy


@pytest.mark.parametrize("n", [1, 2, 10, 37, 400])
def test_an_accuracy_has_the_exact_interval_of_scipy(n):
    for right in {0, 1, n // 3, n - 1, n}:
        found = estimate(answers(right, n), 50.0)
        wanted = scipy.stats.binomtest(right, n).proportion_ci(method="exact")
        assert (found.low, found.high) == pytest.approx((100 * wanted.low, 100 * wanted.high), abs=1e-9)
        assert found.value == pytest.approx(100 * right / n) and found.clustered is None


def test_no_interval_is_without_width():
    for values in ([1.0], [0.0], [0.5], [1.0] * 5, [0.5] * 5, [0.0] * 500):
        found = estimate(np.array(values), 50.0, parts=2, clusters=clusters(np.arange(len(values)) // 2))
        assert found.high - found.low > 0.5 and found.clustered.high - found.clustered.low > 0.5


def test_shares_are_worth_more_than_yes_or_no_and_never_more_than_their_parts():
    halves = estimate(np.full(50, 0.5), 50.0, parts=2)
    assert (halves.low, halves.high) == pytest.approx((e := estimate(answers(50, 100), 50.0))[1:3])
    mixed = estimate(np.repeat([0.0, 0.5, 1.0], [18, 14, 18]), 50.0, parts=2)
    assert e.low > mixed.low > estimate(answers(25, 50), 50.0).low


def test_moments_make_the_same_interval_elementwise():
    low, high = Estimate.interval_of_moments(np.array([0.2, 0.5]), np.array([0.2, 0.3]), 50, 2)
    values = np.repeat([0.0, 0.5, 1.0], [10, 20 + 10, 10])  # mean 0.5, mean square (30 / 4 + 10) / 50 = 0.35
    assert (100 * low[0], 100 * high[0]) == pytest.approx(estimate(answers(10, 50), 0)[1:3])
    assert [100 * float(x) for x in Estimate.interval_of_moments(0.5, 0.35, 50, 2)] == pytest.approx(
        estimate(values, 0, 0, 2)[1:3]
    )


def test_groups_that_are_copies_count_once():
    right = answers(13, 40)
    found = estimate(np.repeat(right, 5), 50.0, clusters=clusters(np.repeat(np.arange(40), 5)))
    once = estimate(right, 50.0)
    assert found.clustered[:2] == ("image", 40)
    assert found.clustered[2:4] == pytest.approx((once.low, once.high))
    assert found.high - found.low < 0.6 * (once.high - once.low)
    assert found.bounds == found.clustered[2:4] and "by image" in found.interval


def test_clusters_that_mean_nothing_cost_little():
    rng = np.random.default_rng(0)
    values = rng.random(1200) < 0.3
    found = estimate(values, 50.0, clusters=clusters(rng.permutation(np.arange(1200) // 4)))
    assert found.clustered.high - found.clustered.low == pytest.approx(found.high - found.low, rel=0.12)


def test_a_record_is_read_back_with_and_without_clusters():
    plain = estimate(answers(3, 7), 25.0, 2)
    hanging = estimate(answers(3, 7), 25.0, None, clusters=clusters([0, 0, 1, 1, 2, 3, 4]))
    assert set(plain.record()) == {"value", "low", "high", "chance", "ties"}
    assert hanging.record()["clustered"]["by"] == "image"
    for found in (plain, hanging):
        assert Estimate.of_record(found.record()).record() == found.record()


def attainable(n, p):
    """Every coverage that a run of neighbouring counts out of n can have where the share is p."""
    ends = np.concatenate([[0], np.cumsum(scipy.stats.binom.pmf(np.arange(n + 1), n, p))])
    return (ends[None, :] - ends[:, None])[np.triu_indices(n + 2, 1)]


def test_exact_coverage_is_never_below_95_and_inside_93_to_97_where_counts_are_not_few():
    for n, p in product((10, 30, 100, 300, 1000), (0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98)):
        counts = np.arange(n + 1)
        low, high = Estimate.interval_of_moments(counts / n, counts / n, n)
        covered = scipy.stats.binom.pmf(counts, n, p) @ ((low <= p) & (p <= high))
        assert covered >= 0.95
        assert covered <= 0.97 or n * min(p, 1 - p) < 15
    none = [(n, p) for n in (10, 30) for p in (0.02, 0.05, 0.1) if not _inside(attainable(n, p))]
    assert none == [(10, 0.02), (10, 0.05), (10, 0.1), (30, 0.02)]  # where no interval has 93 to 97 %


def _inside(shares):
    return bool(((shares >= 0.93) & (shares <= 0.97)).any())


def test_the_published_table_of_six_intervals_holds_what_these_intervals_hold():
    n, p = 30, np.array([0.02, 0.1, 0.25, 0.5, 0.77])
    counts = np.arange(n + 1)
    for name, method in (("Clopper-Pearson", "exact"), ("Wilson", "wilson")):
        ends = [scipy.stats.binomtest(k, n).proportion_ci(method=method) for k in range(n + 1)]
        wanted = np.array([(low <= p) & (p <= high) for low, high in ends])
        assert (binomials.INTERVALS[name](counts[:, None], n, p) == wanted).all()
    sizes, shares = (10, 30), (0.02, 0.05, 0.1, 0.25)
    found = binomials.count_attainable(sizes, shares, likeliest=False)
    assert found == sum(_inside(attainable(n, p)) for n in sizes for p in shares) == 4
    blaker = binomials.INTERVALS["Blaker"](counts[:, None], n, p)
    assert not (
        blaker & ~binomials.INTERVALS["Clopper-Pearson"](counts[:, None], n, p)
    ).any()  # it lies inside


@pytest.mark.parametrize(("clusters_of", "size"), [(5, 8), (6, 6), (10, 3), (4, 12)])
def test_an_interval_by_cluster_covers_93_percent_by_enumeration(clusters_of, size):
    totals = np.array(list(combinations_with_replacement(range(size + 1), clusters_of)))
    labels = clusters(np.repeat(np.arange(clusters_of), size))
    found = [estimate((np.arange(size) < row[:, None]).ravel(), 50.0, clusters=labels) for row in totals]
    low, high = np.array([e.clustered[2:4] for e in found]).T / 100
    counts = (totals[:, :, None] == np.arange(size + 1)).sum(axis=1)
    orders = scipy.special.gammaln(clusters_of + 1) - scipy.special.gammaln(counts + 1).sum(axis=1)
    for p, correlation in product(np.arange(0.02, 0.51, 0.04), (0.1, 0.3, 0.6)):
        strength = 1 / correlation - 1
        one = scipy.stats.betabinom.logpmf(np.arange(size + 1), size, p * strength, (1 - p) * strength)
        assert np.exp(orders + counts @ one) @ ((low <= p) & (p <= high)) >= 0.93


def hanging(rng, sizes, shares, model):
    """Which of several outcomes each group has, int (n,): groups of a cluster take its outcome, or one of their own."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    same = rng.random(len(labels)) < 0.6**0.5 if model == "shared" else (rng.random(len(sizes)) < 0.6)[labels]
    theirs, own = (rng.choice(len(shares), count, p=shares) for count in (len(sizes), len(labels)))
    return np.where(same, theirs[labels], own), clusters(labels)


@pytest.mark.parametrize("model", ["shared", "all alike"])
@pytest.mark.parametrize("sizes", [[8] * 40, [200, 100, 50] + [1] * 50, [80] + [1] * 11, [40] * 6])
def test_intervals_by_cluster_cover_where_few_clusters_hold_most_groups_or_most_right_ones(sizes, model):
    rng = np.random.default_rng(len(sizes))
    covered, paired, repeats = np.zeros(3), 0, 150
    for _ in range(repeats):
        for i, p in enumerate((0.05, 0.1, 0.5)):
            values, by = hanging(rng, sizes, (1 - p, p), model)
            found = estimate(values, 50.0, clusters=by).clustered
            covered[i] += found.low <= 100 * p <= found.high
        change, by = hanging(rng, sizes, (0.5, 0.05, 0.45), model)
        found = _paired_interval(np.array([0, -1, 1])[change], by.labels)
        paired += found[0] <= 0.4 <= found[1]
    assert min(*covered, paired) >= 0.92 * repeats  # of 93 % a drawn share this low has a chance of 1 in 3


def test_a_cluster_that_holds_much_of_the_groups_is_named_beside_the_interval():
    right, labels = answers(40, 100), np.r_[np.zeros(57, int), np.arange(1, 44)]
    found = estimate(right, 50.0, clusters=clusters(labels))
    said = " (57 % of the groups hang together by image, so that little can be told)"
    assert found.interval.endswith(said) and found.clustered.dominated == said
    assert Estimate.of_record(found.record()).interval == found.interval
    older = {k: v for k, v in found.record()["clustered"].items() if k != "largest"}  # written before
    assert Estimate.of_record(found.record() | {"clustered": older}).clustered.dominated == ""
    assert compare(right, ~right, clusters(labels)).clustered.dominated == said
    other = estimate(~right, 50.0, clusters=clusters(labels))
    record = {"metrics": {"text_score": found.record(), "group_match": other.record()}}
    printed = format_metrics(record)  # each line of the table ended with it
    assert printed.count("so that little can be told") == 1
    assert printed.splitlines()[3] == "57 % of the groups hang together by image, so that little can be told."
    assert all(line.endswith("]") for line in printed.splitlines()[1:3])
    assert estimate(right, 50.0, clusters=clusters(np.arange(100) // 2)).clustered.dominated == ""


# --- clusters


def group(name, images, captions=("one", "two")):
    return Group(name, tuple(BytesImage(x) for x in images), tuple(captions))


def test_groups_hang_together_by_the_content_of_their_images():
    named = [("a", b"1"), ("b", b"2"), ("c", b"1"), ("d", b"3")]
    found = Clusters.of_groups(GroupSet("x", tuple(group(n, [x]) for n, x in named)))
    assert found.by == "image" and found.count == 3 and found.labels[0] == found.labels[2] != found.labels[1]
    alone = found.select(np.array([0, 1, 3]))
    assert alone is None and found.select(np.array([2, 0])).count == 1


def test_sharing_carries_over():
    groups = GroupSet("x", (group("a", [b"1", b"2"]), group("b", [b"2", b"3"]), group("c", [b"3", b"4"])))
    assert Clusters.of_groups(groups).count == 1


def captioned(texts, images=None):
    """Groups with one text of their own and one of `texts`; with an image of their own, or one of `images`."""
    seen = range(len(texts)) if images is None else images
    named = enumerate(zip(texts, seen, strict=True))
    return GroupSet("x", tuple(group(str(i), [str(x).encode()], (t, f"own {i}")) for i, (t, x) in named))


@pytest.mark.parametrize("texts", [5, 9, 20, 30])
def test_captions_make_clusters_up_to_half_of_all_groups(texts):
    found = Clusters.of_groups(captioned([f"text {i % texts}" for i in range(40)]))
    assert found.by == "caption" and found.count == texts


def test_captions_that_tie_most_groups_are_the_answers_of_a_task_but_not_to_a_model_that_sees_no_image():
    groups = captioned(["the same"] * 40)
    assert Clusters.of_groups(groups) is None
    assert Clusters.of_captions([g.captions for g in groups]).largest == 40
    shared = Clusters.of_groups(captioned(["the same"] * 40, [i // 2 for i in range(40)]))
    assert shared.by == "image" and shared.count == 20
    assert Clusters.of_groups(captioned(list(map(str, range(40))))) is None


def test_groups_hang_together_by_images_and_by_captions_at_once():
    """Two groups with one image leave the captions that twenty groups share two by two as they are."""
    texts, images = [f"text {i // 2}" for i in range(40)], [0, 1, 0, *range(3, 40)]
    found = Clusters.of_groups(captioned(texts, images))
    assert found.by == "image and caption" and found.count == 19 and found.largest == 4
    inside = Clusters.of_groups(captioned(texts, [0, 0, *range(2, 40)]))
    assert inside.by == "caption" and inside.count == 20


def test_any_tag_makes_clusters():
    import pandas as pd

    tags = pd.DataFrame({"scene": ["p", "q", "p", None, None]})
    found = Clusters.of_tag(tags, "scene")
    assert found.count == 4 and found.labels[0] == found.labels[2] and found.by == "scene"
    with pytest.raises(InputError, match="scene"):
        Clusters.of_tag(tags, "scenes")


# --- two on the same groups


def outcomes(fixed, broken, same):
    change = np.repeat([1.0, -1.0, 0.0], [fixed, broken, same])
    return np.maximum(-change, 0), np.maximum(change, 0)


@pytest.mark.parametrize(("fixed", "broken", "same"), [(12, 5, 83), (6, 0, 394), (0, 0, 10), (1, 0, 0)])
def test_the_paired_test_is_mcnemars_and_the_interval_counts_one_more_for_either_side(fixed, broken, same):
    found = compare(*outcomes(fixed, broken, same))
    n = fixed + broken + same
    p = scipy.stats.binomtest(fixed, fixed + broken).pvalue if fixed + broken else 1.0
    assert found.p_value == pytest.approx(p) and found.difference == pytest.approx(100 * (fixed - broken) / n)
    a, b = (fixed + 1) / (n + 2), (broken + 1) / (n + 2)  # Bonett and Price, with Student's quantile
    reach = scipy.stats.t.ppf(0.975, n + 1) * np.sqrt((a + b - (a - b) ** 2) / (n + 2))
    wanted = max(a - b - reach, -1), min(a - b + reach, 1)
    assert (found.low, found.high) == pytest.approx((100 * wanted[0], 100 * wanted[1]))
    assert found.clustered is None and "clustered" not in found.record()


@pytest.mark.parametrize("n", [24, 36, 200])
@pytest.mark.parametrize("shape", ["normal", "skewed", "halves"])
def test_the_paired_interval_of_shares_covers_and_is_no_wider_than_their_spread_asks(n, shape):
    """Of average precisions, which change by a few points each, two of 100 points made it twice Student's width."""
    draws = {
        "normal": lambda random: random.normal(0.03, 0.089, (400, n)),
        "skewed": lambda random: random.exponential(0.1, (400, n)) - 0.07,
        "halves": lambda random: random.choice(
            [-1, -0.5, 0, 0.5, 1], (400, n), p=[0.03, 0.1, 0.67, 0.15, 0.05]
        ),
    }
    changes = np.clip(draws[shape](np.random.default_rng(0)), -1, 1)
    true = {"normal": 3.0, "skewed": 3.0, "halves": 4.5}[shape]
    found = [compare(np.maximum(-change, 0), np.maximum(change, 0)) for change in changes]
    assert np.mean([c.low <= true <= c.high for c in found]) > 0.93
    student = 100 * scipy.stats.t.ppf(0.975, n - 1) * changes.std(axis=1, ddof=1).mean() / np.sqrt(n)
    assert np.mean([c.high - c.low for c in found]) / 2 < 1.75 * student


@pytest.mark.parametrize("n", [6, 12, 40])
def test_the_interval_excludes_zero_exactly_where_the_exact_test_rejects_it(n):
    for differ in range(min(n, 30) + 1):
        for fixed in range(differ + 1):
            change = np.repeat([1, -1, 0], [fixed, differ - fixed, n - differ])
            found = compare(change < 0, change > 0)
            assert (found.low > 0 or found.high < 0) == (found.p_value <= 0.05), (fixed, differ)
            assert found.low <= found.difference <= found.high
    stretched = compare(np.arange(30) < 2, (np.arange(30) >= 2) & (np.arange(30) < 11))
    assert stretched.p_value > 0.05 and stretched.low == 0.0  # 9 to 2 of 30: +0.3 without the test


def test_clusters_have_an_interval_that_agrees_with_their_test_too():
    labels = np.repeat(np.arange(10), 3)
    change = np.repeat([1, 1, 1, 1, 1, 0, 0, 0, 0, 0], 3)  # five clusters to none: exact p 2 / 2 ** 5
    found = compare(change < 0, change > 0, Clusters("image", labels)).clustered
    assert found.p_value == pytest.approx(0.0625) and found.low <= 0
    rng = np.random.default_rng(0)
    for _ in range(200):
        labels = np.repeat(np.arange(30), rng.integers(1, 6, 30))
        change = rng.choice([-1, 0, 1], 30, p=[0.15, 0.45, 0.4])[labels]
        found = compare(change < 0, change > 0, clusters(labels)).clustered
        assert (found.low <= 0 <= found.high) == (found.p_value > 0.05)


def test_a_paired_interval_covers_by_enumeration(monkeypatch):
    monkeypatch.setattr("core.metrics.statistics._detectable", lambda *given: None)
    n = 30
    counts = np.array([(f, b, n - f - b) for f in range(n + 1) for b in range(n + 1 - f)])
    low, high = np.array([compare(*outcomes(*row))[1:3] for row in counts]).T / 100
    for differ, part in product((0.05, 0.2, 0.5, 0.9), (0, 0.25, 0.5, 1)):
        gap = differ * part
        chances = scipy.stats.multinomial.pmf(counts, n, [(differ + gap) / 2, (differ - gap) / 2, 1 - differ])
        assert chances @ ((low <= gap + 1e-12) & (gap <= high + 1e-12)) >= 0.95


def test_the_test_by_cluster_flips_whole_clusters():
    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(9), [1, 2, 3, 1, 4, 2, 2, 1, 3])
    first, second = (rng.random(len(labels)) < p for p in (0.4, 0.8))
    net = np.bincount(labels, weights=second.astype(float) - first)
    sums = [abs(np.dot(signs, net)) for signs in product((1, -1), repeat=9)]
    found = compare(first, second, clusters(labels))
    assert found.clustered.p_value == pytest.approx(np.mean(np.array(sums) >= abs(net.sum())))
    alone = compare(first, second, clusters(np.arange(len(labels))))
    assert alone.clustered.p_value == pytest.approx(alone.p_value)
    assert alone.clustered[2:4] == pytest.approx((alone.low, alone.high))


def test_shares_are_detected_in_the_size_that_their_changes_have():
    first, second = outcomes(40, 20, 240)
    halves = compare(first / 2, second / 2)
    assert halves.detectable == pytest.approx(compare(first, second).detectable / 2)


def test_copies_do_not_make_a_difference_surer():
    first, second = outcomes(9, 2, 29)
    once = compare(first, second)
    often = compare(*(np.repeat(x, 6) for x in (first, second)), clusters(np.repeat(np.arange(40), 6)))
    assert often.p_value < 1e-4 < once.p_value == pytest.approx(often.clustered.p_value)
    assert often.clustered[2:4] == pytest.approx((once.low, once.high))
    assert often.clustered.detectable > 1.5 * often.detectable


def test_many_clusters_take_the_normal_distribution_and_agree_with_the_exact_one(monkeypatch):
    rng = np.random.default_rng(1)
    labels = np.arange(4000) // 4
    first, second = (rng.random(4000) < p for p in (0.5, 0.51))
    exact = compare(first, second, clusters(labels)).clustered.p_value
    monkeypatch.setattr("core.metrics.statistics._ENUMERATED", 0)
    assert compare(first, second, clusters(labels)).clustered.p_value == pytest.approx(exact, abs=0.02)


def test_holm_rejects_as_its_steps_do():
    rng = np.random.default_rng(0)
    for _ in range(50):
        p = rng.random(6) ** 3
        rejected, order = np.zeros(6, bool), np.argsort(p)
        for step, i in enumerate(order):
            if p[i] > 0.05 / (6 - step):
                break
            rejected[i] = True
        found = Comparison.holm({str(i): Comparison(1.0, 0.0, 2.0, 3, 2, float(x)) for i, x in enumerate(p)})
        assert [c.p_holm <= 0.05 for c in found.values()] == rejected.tolist()
    assert Comparison.holm({}) == {}


# --- how many groups


def power(n, differ, gap, level=0.05):
    """By enumeration of all counts of groups that only one of the two has right."""
    wins, losses = (differ + gap) / 2, (differ - gap) / 2
    total = 0.0
    for fixed in range(n + 1):
        for broken in range(n + 1 - fixed):
            if fixed + broken and scipy.stats.binomtest(fixed, fixed + broken).pvalue <= level:
                total += scipy.stats.multinomial.pmf(
                    [fixed, broken, n - fixed - broken], n, [wins, losses, 1 - differ]
                )
    return total


def test_the_detectable_difference_has_a_power_of_80_percent():
    found = Comparison.detectable_difference(25, 60.0)
    assert power(25, 0.6, found / 100) == pytest.approx(0.8, abs=1e-4)
    few = Comparison.detectable_difference(25, 4.0)  # no difference on 4 % of 25 groups is ever seen
    assert few > 4 and power(25, few / 100, few / 100) == pytest.approx(0.8, abs=1e-4)
    assert (
        Comparison.detectable_difference(5, 100.0) is None
        and Comparison.detectable_difference(6, 100.0) < 100
    )
    assert Comparison.detectable_difference(400, 13.0) == pytest.approx(
        5.2, abs=0.2
    )  # GroupScore on Winoground


def test_the_detectable_difference_of_several_tests_has_its_power_after_holm():
    first = Comparison.detectable_difference(25, 60.0, tests=5)
    assert power(25, 0.6, first / 100, 0.05 / 5) == pytest.approx(0.8, abs=1e-4)
    assert power(25, 0.6, Comparison.detectable_difference(25, 60.0) / 100, 0.05 / 5) < 0.6


def test_a_detectable_difference_over_runs_is_that_of_runs_and_groups():
    """By simulation (seed fixed): the difference over groups alone had a power of 0.17 here."""
    rng = np.random.default_rng(5)

    def drawn(gap, tests):
        effects = np.clip(gap + 0.04 * rng.normal(size=3), 0, 0.45)
        first = rng.random((3, 300)) < 0.5
        return Comparison.over_seeds(
            first, first | (rng.random((3, 300)) < 2 * effects[:, None]), None, tests
        )

    for tests in (1, 5):
        least = np.mean([drawn(0.1, tests).detectable for _ in range(40)]) / 100
        assert 0.68 < np.mean([drawn(least, tests).p_value * tests < 0.05 for _ in range(100)]) < 0.95
    one, two = rng.random((2, 2, 300)) < 0.5
    assert Comparison.over_seeds(one, two).detectable is None  # nothing can be told of two runs


def test_an_exact_shift_over_runs():
    """Groups all alike in every run: a one-sample t test of three runs, whose power scipy knows."""
    change = np.repeat([[0.1], [0.3], [0.2]], 4000, axis=1)
    found = _least_over_runs(change, None, 0.0, 1) / 100
    sigma = 0.1 / (
        np.sqrt(np.pi) / 2
    )  # the mean of a standard deviation of three is sqrt(pi) / 2 of the true one
    beyond = scipy.stats.t.ppf(0.975, 2)
    assert scipy.stats.nct.sf(beyond, 2, found / (sigma / np.sqrt(3))) == pytest.approx(0.8, abs=1e-6)


def test_the_normal_detectable_difference_goes_on_where_the_exact_one_ends(monkeypatch):
    exact = [Comparison.detectable_difference(3000, share) for share in (25.0, 33.0)]
    monkeypatch.setattr("core.metrics.statistics._ENUMERATED_PAIRS", 0)
    _detectable.cache_clear()
    assert [Comparison.detectable_difference(3000, share) for share in (25.0, 33.0)] == pytest.approx(
        exact, rel=0.02
    )
    _detectable.cache_clear()


def test_so_many_groups_are_needed_and_one_fewer_is_too_few():
    n = Comparison.groups_needed(30, 50)
    assert power(n, 0.5, 0.3) >= 0.8 > power(n - 1, 0.5, 0.3)
    assert Comparison.groups_needed(-30, 50) == n
    assert Comparison.groups_needed(5, 13) == pytest.approx(
        7.85 * 0.13 / 0.05**2, rel=0.1
    )  # the normal approximation
    # (1.96 + 0.8416)^2 for a share of 100 % and a millionth of it: 2^31 is not enough to count in.
    assert Comparison.groups_needed(1e-4, 100) == pytest.approx(7.849 * 1e12, rel=1e-3)
    assert Comparison.groups_needed(1e-9, 20) > 1e21
    for wrong, said in (
        ((5, 3), "points apart"),
        ((0, 10), "points apart"),
        ((5, 101), "percentage from 0 to 100"),
    ):
        with pytest.raises(InputError, match=said):
            Comparison.groups_needed(*wrong)
    with pytest.raises(InputError, match="difference is nan"):
        Comparison.groups_needed(float("nan"), 20)


def test_the_groups_needed_by_the_normal_distribution_go_on_where_the_exact_ones_end(monkeypatch):
    exact = [Comparison.groups_needed(gap, share) for gap, share in ((3, 20), (2, 12), (5, 40))]
    monkeypatch.setattr("core.metrics.statistics._ENUMERATED_PAIRS", 0)
    assert [
        Comparison.groups_needed(gap, share) for gap, share in ((3, 20), (2, 12), (5, 40))
    ] == pytest.approx(exact, rel=0.05)


# --- margins, seeds


def test_the_area_under_risk_and_coverage_is_the_mean_over_orders_of_equal_margins():
    margin, right = np.array([3.0, 2.0, 2.0, 2.0, 1.0]), np.array([True, False, True, False, True])
    areas = []
    for middle in permutations([1, 2, 3]):
        wrong = ~right[[0, *middle, 4]]
        areas.append(np.mean(np.cumsum(wrong) / np.arange(1, 6)))
    found = margin_reliability(margin, right, 50.0)
    assert found.aurc == pytest.approx(100 * np.mean(areas))
    best = np.mean([0, 0, 0, 1 / 4, 2 / 5])
    assert found.excess == pytest.approx(100 * (np.mean(areas) - best))
    assert margin_reliability(np.arange(5), np.array([0, 0, 1, 1, 1]), 50.0).excess == pytest.approx(0)


@pytest.mark.parametrize("ties", [False, True])
def test_the_interval_of_the_area_is_that_of_groups_drawn_one_by_one(ties):
    """1,000 resamples, each measured like a set of its own; the function has 2,000."""
    rng = np.random.default_rng(5)
    margin = rng.integers(1, 6, 40).astype(float) if ties else rng.random(40)
    right = rng.random(40) < 0.4 + 0.1 * margin
    found = margin_reliability(margin, right, 50.0)
    assert found == margin_reliability(margin, right, 50.0)  # seeded
    assert found.chance == pytest.approx(100 * np.mean(~right))
    drawn = rng.integers(40, size=(1000, 40))
    each = np.array([area_and_excess(margin[row], right[row]) for row in drawn])
    for bounds, values in zip((found.aurc_bounds, found.excess_bounds), each.T, strict=True):
        assert bounds == pytest.approx(np.quantile(values, [0.025, 0.975]), abs=1.5)
    assert found.aurc_bounds[0] < found.aurc < found.aurc_bounds[1]


def area_and_excess(margin, right):
    """Of one order, a position at a time; of equal margins each position has the mean of all orders."""
    wrong = np.array([np.mean(~right[margin == value]) for value in -np.sort(-margin)])
    places = np.arange(1, len(wrong) + 1)
    area, best = (np.mean(np.cumsum(row) / places) for row in (wrong, np.sort(~right)))
    return 100 * area, 100 * (area - best)


def test_the_interval_of_the_area_of_many_groups_takes_a_moment():
    rng = np.random.default_rng(6)
    margin = rng.random(200_000)
    found = margin_reliability(margin, rng.random(200_000) < margin, 50.0)
    assert 0.1 < found.aurc_bounds[1] - found.aurc_bounds[0] < 1
    assert found.aurc_bounds[0] < found.aurc < found.aurc_bounds[1]


@pytest.mark.parametrize(("right", "area"), [(True, 0), (False, 100)])
@pytest.mark.parametrize("n", [1, 40])
def test_the_area_has_no_interval_where_no_group_or_every_group_is_wrong(right, area, n):
    """It was 0.0-0.0: no resample varies it, which is no certainty."""
    found = margin_reliability(np.arange(n, dtype=float), np.full(n, right), 50.0)
    assert found.aurc == area and found.excess == 0
    assert found.aurc_bounds is None and found.excess_bounds is None


def test_the_reliability_curve_keeps_equal_margins_together():
    margin = np.repeat([0.0, 1.0, 2.0, 5.0], [40, 30, 20, 10])
    rows = margin_reliability(margin, margin > 1, 50.0).bins
    assert [(r.low, r.high, r.right.value) for r in rows] == [(0, 0, 0), (1, 1, 0), (2, 2, 100), (5, 5, 100)]
    rng = np.random.default_rng(0)
    rows = margin_reliability(rng.random(1000), rng.random(1000) < 0.5, 50.0).bins
    assert len(rows) == 10 and all(a.high < b.low for a, b in pairwise(rows))
    assert all(0.04 < b.high - b.low < 0.16 for b in rows)


def test_a_mean_over_seeds_that_are_all_right_is_about_as_sure_as_one_with_one_answer_wrong():
    """Not worth as few answers as there are runs (47.8 to 100), nor more groups than there are (Clopper-Pearson)."""
    right, one_wrong = np.ones((5, 300)), np.ones((5, 300))
    one_wrong[2, 7] = 0
    found, near = (Estimate.over_seeds(each, 50.0) for each in (right, one_wrong))
    exact = scipy.stats.binomtest(300, 300).proportion_ci().low
    assert found[:3] == pytest.approx((100, min(near.low, 100 * exact), 100)) and found.low > 95
    none = Estimate.over_seeds(1 - right, 50.0)
    assert none[:3] == pytest.approx((0, 0, 100 - found.low))
    fours = clusters(np.arange(300) // 4)
    by = Estimate.over_seeds(right, 50.0, clusters=fours).clustered
    alone = estimate(right[0], 50.0, clusters=fours).clustered
    assert by.low <= alone.low and by.high == 100


def test_a_difference_over_two_runs_ends_where_shares_end():
    """Two seeds on 24 groups had an interval from −105.89 points."""
    outcomes = np.random.default_rng(0).random((2, 24))
    before = (outcomes < [[0.5], [0.5]]).astype(float)
    after = np.stack([np.zeros(24), before[1]])  # one run loses all that it had, the other nothing
    found = Comparison.over_seeds(before, after)
    assert found.low == -100.0 and found.low < found.difference < found.high <= 100.0


def test_a_mean_over_seeds_knows_both_sources():
    rng = np.random.default_rng(0)
    one = rng.random((1, 200)) < 0.6
    assert Estimate.over_seeds(one, 50.0)[:4] == estimate(one[0], 50.0)[:4]
    same = Estimate.over_seeds(np.repeat(one, 4, axis=0), 50.0)  # further seeds that add nothing
    assert (same.low, same.high) == pytest.approx(estimate(one[0], 50.0)[1:3], abs=0.2)
    seeds = rng.random((3, 5000)) < np.array(
        [[0.4], [0.5], [0.6]]
    )  # nearly all of the variance is between seeds
    found = Estimate.over_seeds(seeds, 50.0)
    reach = 100 * scipy.stats.t.ppf(0.975, 2) * seeds.mean(axis=1).std(ddof=1) / np.sqrt(3)
    assert found.high - found.low == pytest.approx(2 * reach, rel=0.1)
    by_cluster = Estimate.over_seeds(np.repeat(one, 4, axis=0), 50.0, clusters=clusters(np.arange(200) // 4))
    once = estimate(one[0], 50.0, clusters=clusters(np.arange(200) // 4)).clustered
    assert by_cluster.clustered[2:4] == pytest.approx(once[2:4], abs=0.3) and by_cluster[:3] == same[:3]
    with pytest.raises(InputError, match="seeds, groups"):
        Estimate.over_seeds(np.zeros(4), 50.0)


def test_two_seeds_that_agree_by_chance_are_not_taken_for_many():
    rng, covered, repeats = np.random.default_rng(1), 0, 300
    truth = 100 * scipy.special.expit(0.5 * rng.normal(size=100_000) + rng.normal(size=100_000) - 3).mean()
    for _ in range(repeats):
        logits = 0.5 * rng.normal(size=(2, 1)) + rng.normal(size=300) - 3
        found = Estimate.over_seeds(rng.random((2, 300)) < scipy.special.expit(logits), 50.0)
        covered += found.low <= truth <= found.high
    assert covered >= 0.93 * repeats  # until now 89.5 %


def test_seeds_with_the_same_mean_are_no_surer_than_their_groups_differ():
    """“55.00 ± 0.00 [50.09, 59.84], gain p 2e-12” of two seeds beside “± 1.41 [45.07, 73.26], p 0.013”.

    By hand: four kinds of groups, 100 each, right in both, one, the other, none of two seeds. Deviations 0.5 of 200
    groups for both mean squares, 100 / 399; of the seeds 0. So the standard error is √(100 / 399 / 800) with one degree
    of freedom: t of 0.975 is 12.7062, and p by the arc tangent, as t with one degree is Cauchy's."""
    seeds = np.repeat([[1, 1, 0, 0], [1, 0, 1, 0]], 100, axis=1)
    error = np.sqrt(100 / 399 / 800)
    found = Comparison.over_seeds(np.zeros((2, 400)), seeds)
    assert found[:3] == pytest.approx((50, 50 - 1270.62 * error, 50 + 1270.62 * error), abs=1e-3)
    assert found.p_value == pytest.approx(2 * np.arctan(error / 0.5) / np.pi, rel=1e-6)
    answers = 0.25 / (12.7062 / 1.959964 * error) ** 2  # so many, half of them right, vary as much
    exact = scipy.stats.beta.ppf(0.025, answers / 2, answers / 2 + 1)
    accuracy = Estimate.over_seeds(seeds, 50.0)
    assert accuracy[:3] == pytest.approx((50, 100 * exact, 100 - 100 * exact), abs=1e-3)
    pairs = Clusters("image", np.repeat(np.arange(200), 2))  # of one kind each: everything counts twice
    by_pairs = Comparison.over_seeds(np.zeros((2, 400)), seeds, pairs).clustered
    assert by_pairs.high == pytest.approx(50 + 1270.62 * np.sqrt(50 / 199 / 400), abs=1e-3)


def test_seeds_whose_means_differ_by_more_than_their_groups_are_as_they_were():
    """By hand: of 400 groups the first seed has 210 right, the second 200 of these."""
    few = np.stack([np.arange(400) < 210, np.arange(400) < 200])
    found, wide = Comparison.over_seeds(np.zeros((2, 400)), few), scipy.stats.t.ppf(0.975, 399) ** 2
    seeds = 400 * 2 * 0.0125**2
    units = 2 * (200 * 0.4875**2 + 10 * 0.0125**2 + 190 * 0.5125**2) / 399
    rest = 2 * (390 * 0.0125**2 + 10 * 0.4875**2) / 399
    assert seeds > rest
    reach = 100 * np.sqrt((12.7062**2 * seeds + wide * (units - rest)) / 800)
    assert found.high == pytest.approx(51.25 + reach, abs=1e-3)


def test_seeds_that_never_differ_have_the_interval_over_their_groups():
    one = np.arange(400) < 220
    found = Comparison.over_seeds(np.zeros((2, 400)), np.stack([one, one]))
    alone = compare(np.zeros(400), one)
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high), abs=0.3)
    assert found.p_value == pytest.approx(alone.p_value, abs=1e-9)


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("common", [0.0, 0.06])
def test_intervals_and_tests_of_few_seeds_keep_their_level(count, common):
    """Groups gain with a chance of their own, every seed draws each anew, and all of a seed's may shift together."""
    rng, repeats = np.random.default_rng(count), 400
    covered = missed = 0
    for _ in range(repeats):
        up = np.clip(rng.beta(1, 3, 100) + common * rng.normal(size=(count, 1)), 0, 1)
        found = Comparison.over_seeds(np.zeros((count, 100)), rng.random((count, 100)) < up)
        covered += found.low <= 25 <= found.high
        even = np.where(rng.random((count, 100)) < 0.5 + common * rng.normal(size=(count, 1)), 1, -1)
        even = even * (rng.random(100) < 0.3)  # gains and losses alike: nothing changes in the mean
        missed += Comparison.over_seeds(np.maximum(-even, 0), np.maximum(even, 0)).p_value <= 0.05
    noise = 2.5 * np.sqrt(0.05 * 0.95 / repeats)
    assert covered / repeats >= 0.95 - noise and missed / repeats <= 0.05 + noise


def test_a_few_questions_asked_again_are_told_from_chance_by_chance_in_2_5_percent():
    """Six questions of fifteen groups each among 110 of one, one caption of four: summed over all outcomes. The
    interval by cluster that trusts the clusters' own variance lay below chance in 6.0 %."""
    sizes, p = np.array([15] * 6 + [1] * 110), 0.25
    clusters, rates = (
        Clusters("caption", np.repeat(np.arange(116), sizes)),
        {False: [0.0, 0.0], True: [0.0, 0.0]},
    )
    of_many, of_one = (scipy.stats.binom.pmf(np.arange(c + 1), c, p) for c in (6, 110))
    chances = of_many[:, None] * of_one
    for many, few in zip(*np.nonzero(chances > 1e-5), strict=True):
        right = np.concatenate([np.arange(6) < many, np.arange(110) < few])[clusters.labels]
        for alike in (False, True):
            found = estimate(right, 25.0, clusters=clusters, alike=alike).clustered
            rates[alike][0] += 100 * chances[many, few] * (found.low > 25)
            rates[alike][1] += 100 * chances[many, few] * (found.high < 25)
    assert max(rates[False]) > 5 and max(rates[True]) <= 2.5


def test_where_no_question_is_asked_again_the_interval_is_clopper_and_pearsons():
    alone = Clusters("caption", np.arange(20))
    for right in (0, 3, 13, 20):
        found = _interval_of_alike(right, np.bincount(alone.labels))
        exact = scipy.stats.binomtest(right, 20).proportion_ci()
        assert found == pytest.approx((exact.low, exact.high), abs=1e-4)


def test_groups_of_a_file_hang_together_by_the_names_of_their_images_and_captions():
    images = np.array([["a"], ["a"], ["b"], ["c"], ["d"], ["e"]])
    captions = np.array([["p", "q"], ["r", "s"], ["t", "u"], ["u", "v"], ["w", "x"], ["y", "z"]])
    found = Clusters.of_names(images, captions)
    assert (
        found is not None and found.labels.tolist() == [0, 0, 1, 1, 2, 3] and found.by == "image and caption"
    )
    only_counted = np.array([["1", "2"]] * 6)
    assert Clusters.of_names(images, only_counted).by == "image"
    assert Clusters.of_names(None, only_counted) is None and Clusters.of_names(None, None) is None


def test_a_difference_is_that_of_the_unrounded_values_rounded_once():
    """200 and 238 of 300 groups are 66.7 and 79.3 %: 38 of 300 are 12.67 points, and +12.6 was printed."""
    first, second = np.arange(300) < 200, np.arange(300) < 238
    ends = 100 * first.mean(), 100 * second.mean()
    assert compare(first, second).difference == pytest.approx(38 / 3)
    assert [_change_in_points(*ends, digits=digits) for digits in (1, 2)] == [12.7, 12.67]
    assert [_change_in_points(*ends[::-1], digits=digits) for digits in (1, 2)] == [-12.7, -12.67]
    assert f"{_change_in_points(50.0, 49.97):+.1f}" == "+0.0"


def test_a_difference_that_ends_in_a_five_is_rounded_alike_however_it_was_summed():
    """12.25 points between counts, 78.75 and 66.5 %; their shares may differ by 12.250000000000004."""
    assert _change_in_points(66.5, 78.75) == _change_in_points(66.5, 78.75000000000004) == 12.3


@pytest.mark.parametrize(
    ("value", "shown"),
    [(12.25, "12.3"), (61.25, "61.3"), (56.55, "56.6"), (0.05, "0.1"), (99.95, "100.0"), (61.24, "61.2")],
)
def test_a_half_is_rounded_up_whether_it_was_summed_read_back_or_stored(value, shown):
    """61.25 was 61.3 on a card, as the mean of 80 outcomes is 61.250000000000007, and 61.2 in a table."""
    for each in (value, np.nextafter(value, 0), np.nextafter(value, 100), round(value, 4)):
        assert _pct(each) == shown and _pct(-each) == f"-{shown}"
        assert _signed(each) == f"+{shown}" and _signed(-each) == f"-{shown}"
    assert _pct(-0.04) == "0.0" and _pct(float("nan")) == "nan" and _pct(2.345, 2) == "2.35"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.04, "+0.04"),
        (-0.04, "-0.04"),
        (0.005, "+0.01"),
        (0.004, "just above 0"),
        (-0.0001, "just below 0"),
        (0.05, "+0.1"),
        (1e-12, "0.0"),  # the rest of a sum
        (-0.0, "0.0"),
    ],
)
def test_an_end_of_an_interval_that_is_rounded_to_0_says_on_which_side_of_it_it_is(value, shown):
    """`+0.0 to +21.0` stood beside a p below 0.05, and above it."""
    assert _signed_end(value) == shown


def test_an_interval_that_a_test_moved_off_0_is_not_printed_as_if_it_held_0():
    first, second = np.zeros(40), np.zeros(40)
    second[:6] = 1.0  # six better, none worse: McNemar's exact p is 2 / 2^6 = 0.03125
    found = compare(first, second)._replace(low=1e-4)
    assert "95 % interval just above 0 to" in str(found) and "[just above 0, " in repr(found)


def test_every_estimate_is_shown_as_its_record_is():
    """Of every count of 80 and of 400 groups."""
    for n in (80, 400):
        for right in range(n + 1):
            found = estimate(np.arange(n) < right, 50)
            assert str(found) == str(Estimate.of_record(found.record()))


def test_no_percentage_is_rounded_by_a_rule_of_its_own():
    """Python rounds a half to even, a browser up: 61.25 stood as 61.2 beside 61.3. What a figure's hover says is the
    browser's."""
    files = [
        ROOT / "app.py",
        *(path for room in ("core", "ui", "pages") for path in (ROOT / room).rglob("*.py")),
    ]
    lines = [(path.name, line.strip()) for path in files for line in path.read_text().splitlines()]
    assert not [each for each in lines if re.search(r"(?<!%)\{[^{}%]*\.1f\}\s?(%|points|–)", each[1])]
