"""Debiasing and its exact curves, against hand calculation, dense grids and the plain metrics."""

import statistics
import time
from fractions import Fraction
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pace import slowness
from scipy.special import logsumexp

import crossmatch as cm
from core.base.errors import InputError
from core.debiasing import debias, study
from core.debiasing.curves import _centre_of_longest_best, alpha_curve, validate_alpha
from core.debiasing.debias import prior_from_samples, prior_from_scores
from core.debiasing.retrieval import RetrievalStudy
from core.metrics.evaluation import Evaluation
from core.metrics.groups import metrics_of_shape, outcomes
from core.metrics.statistics import Clusters

SHAPES = [(1, 2), (1, 4), (2, 2), (2, 4), (3, 3), (3, 5)]


def case(n, m, k, seed=0, levels=None):
    """Scores, prior and truth; `levels` draws from few values, so that ties and common crossing points occur."""
    rng = np.random.default_rng(seed)
    if levels:
        scores, prior = rng.integers(-levels, 1, (n, m, k)) / 1.0, rng.integers(-levels, 1, (n, k)) / 1.0
    else:
        scores, prior = rng.normal(-3, 1, (n, m, k)), rng.normal(-3, 1, (n, k))
    truth = np.stack([rng.permutation(k)[:m] for _ in range(n)])
    return scores, prior, truth


def plain(scores, prior, truth, metric, alpha):
    return 100 * outcomes(debias.debias(scores, prior, alpha), truth, [metric])[metric].value.mean()


def test_a_prior_is_the_log_of_a_mean_of_probabilities():
    probabilities = np.array([[0.2, 0.01], [0.4, 0.03]])
    assert prior_from_samples(np.log(probabilities)) == pytest.approx(np.log([0.3, 0.02]))


def test_a_prior_survives_probabilities_below_the_smallest_float():
    logs = np.array([[-5000.0, -2.0], [-5001.0, -9000.0]])
    assert prior_from_samples(logs) == pytest.approx(logsumexp(logs, axis=0) - np.log(2))


def test_the_test_set_prior_averages_over_a_groups_own_images():
    scores = np.log(np.array([[[0.1, 0.2], [0.3, 0.4]]]))
    assert prior_from_scores(scores) == pytest.approx(np.log([[0.2, 0.3]]))
    assert debias.debias(scores[:, :1], prior_from_scores(scores[:, :1]), 1.0) == pytest.approx(0.0)


def test_alpha_is_subtracted_times_the_captions_prior():
    scores, prior = np.array([[[-1.0, -2.0], [-3.0, -4.0]]]), np.array([[-2.0, -6.0]])
    assert debias.debias(scores, prior, 0.5).tolist() == [[[0.0, 1.0], [-2.0, -1.0]]]
    assert debias.debias(scores, prior, 0.0).tolist() == scores.tolist()


def test_a_retrieval_matrix_of_any_shape_is_debiased_by_columns():
    scores, prior = np.array([[-1.0, -2.0], [-3.0, -4.0], [-5.0, -6.0]]), np.array([-2.0, -6.0])
    assert debias.debias(scores, prior, 0.5).tolist() == [[0.0, 1.0], [-2.0, -1.0], [-4.0, -3.0]]
    with pytest.raises(InputError, match="one prior per column"):
        debias.debias(scores, prior[:1], 0.5)


def test_priors_from_more_images_vary_less():
    samples = np.random.default_rng(0).normal(-3, 1, (400, 20))
    spread = [study._sampled_priors(samples, size, 20).std(axis=0).mean() for size in (3, 30, 300)]
    assert spread[0] > spread[1] > spread[2]
    assert study._sampled_priors(samples, 400, 1)[0] == pytest.approx(prior_from_samples(samples))


@given(st.floats(0.05, 1), st.integers(0, 1000))
def test_debiasing_ranks_captions_as_pmi_k_does(alpha, seed):
    """PMI^k with k = 1/alpha over the captions of one image: log of P(t,i)^k / (P(i) P(t)), [VGPT] Eq. 9-11."""
    rng = np.random.default_rng(seed)
    scores, prior, image = rng.normal(-3, 1, (1, 1, 5)), rng.normal(-3, 1, (1, 5)), rng.normal()
    joint = scores[0, 0] + image  # log P(t, i) = log P(t|i) + log P(i)
    pmi = joint / alpha - image - prior[0]
    assert np.argsort(pmi).tolist() == np.argsort(debias.debias(scores, prior, alpha)[0, 0]).tolist()


def test_a_curve_steps_at_the_crossing_point():
    """Text score of one image: true -2, other -1; priors -4 and -1. True wins once -2 + 4a > -1 + a: a > 1/3."""
    curve = alpha_curve(np.array([[[-2.0, -1.0]]]), np.array([[-4.0, -1.0]]), np.array([[0]]), "text_score")
    assert curve.edges == pytest.approx([0, 1 / 3, 1])
    assert curve.values.tolist() == [0, 100]
    assert curve.at.tolist() == [0, 0, 100]  # at the crossing point the two tie, which is wrong
    assert curve.ties.tolist() == [0, 1, 0]
    best = curve.best()
    assert (best.value, best.low, best.high) == (100, pytest.approx(1 / 3), 1)
    assert best.alpha == pytest.approx(2 / 3)


def test_two_intervals_with_the_same_best_value_are_both_reported():
    """One group is right below 1/4 and another above 3/4, so half of them are right on both sides."""
    scores = np.array([[[1.0, 0.0]], [[0.0, 3.0]]])
    prior = np.array([[4.0, 0.0], [0.0, 4.0]])
    best = alpha_curve(scores, prior, np.zeros((2, 1), dtype=int), "text_score").best()
    assert best.value == 50
    assert best.intervals.tolist() == [[0, 0.25], [0.75, 1]]


@pytest.mark.parametrize(
    ("shape", "metric", "levels"),
    [(shape, *rest) for shape in SHAPES for rest in product(metrics_of_shape(*shape), [None, 4])],
)
def test_curves_equal_the_plain_metric_on_a_dense_grid(shape, metric, levels):
    scores, prior, truth = case(60, *shape, seed=sum(shape), levels=levels)
    curve = alpha_curve(scores, prior, truth, metric)
    alphas = np.linspace(0, 1, 257)
    if levels:  # on few levels the grid meets crossing points exactly; elsewhere rounding may decide there
        alphas = np.array([0, 0.25, 0.5, 0.75, 1, 0.1, 0.3, 0.62, 0.9])
    expected = [plain(scores, prior, truth, metric, alpha) for alpha in alphas]
    assert curve.value(alphas) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_curves_hold_their_value_between_neighbouring_edges(shape):
    """No step is missing: the plain metric at the middle of every piece is the piece's value."""
    scores, prior, truth = case(25, *shape, seed=7)
    for metric in metrics_of_shape(*shape):
        curve = alpha_curve(scores, prior, truth, metric)
        middles = (curve.edges[1:] + curve.edges[:-1]) / 2
        expected = [plain(scores, prior, truth, metric, alpha) for alpha in middles]
        assert curve.values == pytest.approx(expected, abs=1e-9)
        assert curve.edges[0] == 0 and curve.edges[-1] == 1 and (np.diff(curve.edges) > 0).all()


@pytest.mark.parametrize("metric", ["text_score", "group_score", "group_match"])
def test_ties_on_an_edge_are_the_metrics_own_ties(metric):
    scores, prior, truth = case(200, 2, 3, seed=3, levels=3)
    curve = alpha_curve(scores, prior, truth, metric)
    for alpha in (0.0, 0.5, 1.0):
        tied = outcomes(debias.debias(scores, prior, alpha), truth, [metric])[metric].tied.sum()
        assert curve.ties[np.flatnonzero(curve.edges == alpha)[0]] == tied


def test_a_group_too_large_to_enumerate_has_the_same_span():
    """3 x 11: 990 matchings, more than are enumerated, so its ends are walked to."""
    scores, prior, truth = case(12, 3, 11, seed=5)
    scores[np.arange(12)[:, None], np.arange(3)[None], truth] += 1.5
    curve = alpha_curve(scores, prior, truth, "group_match")
    assert len(curve.edges) > 2
    alphas = np.concatenate([(curve.edges[1:] + curve.edges[:-1]) / 2, np.linspace(0, 1, 101)])
    expected = [plain(scores, prior, truth, "group_match", alpha) for alpha in alphas]
    assert curve.value(alphas) == pytest.approx(expected, abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 4), st.floats(0, 1))
def test_group_match_on_square_groups_and_image_score_do_not_depend_on_alpha(seed, k, alpha):
    scores, prior, truth = case(8, k, k, seed)
    moved = debias.debias(scores, prior, alpha)
    for metric in ("group_match", "image_score"):
        before, after = (outcomes(s, truth, [metric])[metric].value for s in (scores, moved))
        assert before.tolist() == after.tolist()
        assert len(alpha_curve(scores, prior, truth, metric).values) == 1
    if k > 2:
        image = [
            outcomes(s[:, :2], truth[:, :2], ["image_score"])["image_score"].value for s in (scores, moved)
        ]
        assert image[0].tolist() == image[1].tolist()  # m < k as well


def test_group_match_with_fewer_images_than_captions_does_depend_on_alpha():
    scores, prior = np.array([[[0.0, 0.0, 1.0], [0.0, 2.0, 0.0]]]), np.array([[0.0, 0.0, 4.0]])
    curve = alpha_curve(scores, prior, np.array([[0, 1]]), "group_match")
    assert curve.edges.tolist() == [0, 0.25, 1] and curve.values.tolist() == [0, 100]


def test_group_match_does_depend_on_alpha_outside_log_space():
    scores, prior = np.log([[[0.9, 0.5], [0.7, 0.31]]]), np.log([[0.9, 0.1]])
    found = [
        outcomes(np.exp(debias.debias(scores, prior, a)), np.array([[0, 1]]), ["group_match"]) for a in (0, 1)
    ]
    assert [f["group_match"].value[0] for f in found] == [1, 0]


def on_paper(number):
    """The decimal that a float was read from."""
    return Fraction(repr(float(number)))


def decimals(rng, shape, digits):
    pool = [float(f"{x:.{digits}f}") for x in rng.uniform(-12, 0, 6)]
    return rng.choice(pool, shape)


@pytest.mark.parametrize("shape", [(1, 3), (2, 2), (2, 3), (3, 3)])
@pytest.mark.parametrize("digits", [1, 2])
def test_decimals_tie_as_on_paper_in_curves_and_evaluations(shape, digits):
    """Exact fractions decide, on crossing points and between them; at alpha 1 TextScore was 100, GroupMatch 83.3."""
    rng, (m, k), n = np.random.default_rng(digits), shape, 6
    scores, prior = decimals(rng, (n, m, k), digits), decimals(rng, (n, k), digits)
    truth = np.stack([rng.permutation(k)[:m] for _ in range(n)])
    found = study.AlphaStudy(scores, prior, truth, list(map(str, range(n))))
    crossings = {Fraction(a, b) for a in range(8) for b in (3, 7, 10) if a <= b}
    for g, i, j, h in product(range(n), range(m), range(k), range(k)):
        q = on_paper(prior[g, j]) - on_paper(prior[g, h])
        if q and 0 < (alpha := (on_paper(scores[g, i, j]) - on_paper(scores[g, i, h])) / q) < 1:
            crossings.add(alpha)
    alphas = sorted(crossings)
    for alpha in [*alphas, *((a + b) / 2 for a, b in pairwise(alphas[:9]))]:
        rows, totals = [], []
        for g, own in enumerate(truth):
            exact = [
                [on_paper(s) - alpha * on_paper(p) for s, p in zip(row, prior[g], strict=True)]
                for row in scores[g]
            ]
            lead = [min(exact[i][t] - x for j, x in enumerate(exact[i]) if j != t) for i, t in enumerate(own)]
            rows.append(min(lead))
            total = {p: sum(exact[i][p[i]] for i in range(m)) for p in permutations(range(k), m)}
            mine = total.pop(tuple(own.tolist()))
            totals.append(mine - max(total.values()))
        evaluation = found.evaluation(float(alpha))
        for metric, leads in (("text_score", rows), ("group_match", totals)):
            right, tied = [x > 0 for x in leads], [x == 0 for x in leads]
            assert evaluation.outcomes[metric].value.tolist() == right
            assert evaluation.outcomes[metric].tied.tolist() == tied
            assert found.curve(metric).value(float(alpha)) == pytest.approx(100 * np.mean(right))


@pytest.mark.parametrize("digits", [1, 3])
def test_retrieval_of_decimals_ties_as_on_paper(digits):
    rng, (n, m) = np.random.default_rng(digits), (4, 7)
    scores, prior = decimals(rng, (n, m), digits), decimals(rng, m, digits)
    belongs = np.eye(n, dtype=bool)[rng.integers(n, size=m)]
    found = RetrievalStudy(scores, belongs, prior, list(map(str, range(n))))
    for alpha in [*(Fraction(a, 10) for a in range(11)), *map(on_paper, found.curve.edges)]:
        exact = [
            [
                on_paper(s) - alpha.limit_denominator(10**5) * on_paper(p)
                for s, p in zip(row, prior, strict=True)
            ]
            for row in scores
        ]
        right = [
            max(x for x, own in zip(exact[i], belongs[:, i], strict=True) if own)
            > max(x for x, own in zip(exact[i], belongs[:, i], strict=True) if not own)
            for i in range(n)
            if belongs[:, i].any()
        ]
        at = found._at(float(alpha))["metrics"]["image_to_text_r1"]["value"]
        assert at == pytest.approx(found.curve.value(float(alpha)), abs=1e-3)
        assert at == pytest.approx(100 * np.mean(right), abs=1e-3)
        assert found.recall_at_1.hits(float(alpha)).tolist() == right


def test_what_ties_by_decimals_is_shown_as_equal():
    study_of = study.AlphaStudy(
        np.array([[[-0.3, -0.4]]]), np.array([[-0.1, -0.2]]), np.array([[0]]), ["one"]
    )
    group = study_of.evaluation(1.0).group(0)  # -0.2 either way
    assert group.kinds["text_score"] == "tie" and group.true[0] == group.row_rival[0]
    assert group.true_total == group.rival_total and group.matching is None


def test_permuting_captions_changes_no_curve():
    scores, prior, truth = case(40, 2, 4, seed=2, levels=5)
    order = np.random.default_rng(1).permutation(4)
    for metric in metrics_of_shape(2, 4):
        one = alpha_curve(scores, prior, truth, metric)
        other = alpha_curve(scores[:, :, order], prior[:, order], np.argsort(order)[truth], metric)
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_intervals_equal_those_of_an_evaluation():
    scores, prior, truth = case(300, 2, 2, seed=4)
    alphas = np.linspace(0.05, 0.95, 7)
    for metric in metrics_of_shape(2, 2):
        curve = alpha_curve(scores, prior, truth, metric)
        low, high = curve.interval(300)
        place = np.searchsorted(curve.edges, alphas) - 1
        for alpha, i in zip(alphas, place, strict=True):
            found = Evaluation.of(debias.debias(scores, prior, alpha), truth).metrics[metric]
            assert (found.low, found.high) == pytest.approx((low[i], high[i]))


def test_intervals_of_certain_outcomes_have_a_width():
    curve = alpha_curve(np.array([[[0.0, -1.0]]] * 5), np.zeros((5, 2)), np.zeros((5, 1), int), "text_score")
    low, high = curve.interval(5)
    assert low[0] == pytest.approx(100 * 0.025 ** (1 / 5)) and high[0] == 100


def test_validation_finds_the_alpha_that_a_biased_model_needs():
    """Scores are a clean signal plus 0.6 of the prior, so the best alpha is near 0.6 and 0 and 1 are worse."""
    rng = np.random.default_rng(0)
    n, truth = 1000, np.zeros((1000, 1), dtype=int)
    prior = rng.normal(-20, 4, (n, 4))
    scores = 0.6 * prior[:, None, :] + rng.normal(0, 0.5, (n, 1, 4))
    scores[:, 0, 0] += 1.2
    found = validate_alpha(scores, prior, truth, "text_score", step=0.01)
    summary = found.summary
    assert summary["values"] == pytest.approx((np.mean(found.values), statistics.stdev(found.values)))
    assert found.record()["value"]["std"] == pytest.approx(statistics.stdev(found.values), abs=1e-4)
    assert summary["alphas"][0] == pytest.approx(0.6, abs=0.05) and summary["alphas"][1] < 0.05
    assert summary["values"][0] > max(summary["zero"][0], summary["one"][0]) + 10
    best = alpha_curve(scores, prior, truth, "text_score").best()
    assert best.alpha == pytest.approx(0.6, abs=0.05) and best.value >= summary["values"][0]
    again = validate_alpha(scores, prior, truth, "text_score", step=0.01)
    assert all(np.array_equal(a, b) for a, b in zip(found, again, strict=True))
    assert len(found.alphas) == 10


def test_the_longest_run_of_best_values_gives_its_centre():
    assert _centre_of_longest_best(np.array([1, 2, 2, 2, 0, 2])) == 2
    assert _centre_of_longest_best(np.array([5, 1, 1, 5, 1, 1, 5])) == 3  # runs of one: the middle one
    assert _centre_of_longest_best(np.array([3, 3, 3, 3, 3])) == 2


@pytest.mark.parametrize("shape", [(2, 2), (1, 4)])
def test_a_quarter_of_a_million_groups_take_under_a_second(shape):
    scores, prior, truth = case(1, *shape)
    rng = np.random.default_rng(0)
    scores, prior = rng.normal(-3, 1, (250_000, *shape)), rng.normal(-3, 1, (250_000, shape[1]))
    truth = np.tile(np.arange(shape[0]), (250_000, 1))
    slowest = 0.0
    for metric in metrics_of_shape(*shape):
        start = time.process_time()
        alpha_curve(scores, prior, truth, metric)
        slowest = max(slowest, time.process_time() - start)
    assert slowest < 1.5 * slowness()  # 1 s on a machine that does nothing else


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: prior_from_samples(np.zeros(3)), "(images, captions)"),
        (lambda: prior_from_samples(np.array([[0.0, -np.inf]])), "caption 1"),
        (lambda: debias.debias(np.zeros((2, 2, 2)), np.zeros((2, 3)), 0.5), "(2, 2)"),
        (lambda: debias.debias(np.zeros((2, 2, 2)), np.zeros((2, 2)), 1.5), "from 0"),
        (lambda: debias.debias(np.zeros((1, 2, 2)), np.array([[0, np.nan]]), 0.5), "Group 0"),
        (lambda: study._sampled_priors(np.zeros((3, 2)), 4), "fewer images"),
        (lambda: validate_alpha(*case(1, 2, 2), "text_score"), "use more"),
        (lambda: debias.group_prior(np.zeros(2), np.array([[0, 2]])), "distinct caption"),
        (lambda: alpha_curve(*case(2, 2, 2), "text_scor"), "text_score"),
    ],
)
def test_bad_input_is_one_sentence(call, words):
    with pytest.raises(InputError) as error:
        call()
    assert words in str(error.value) and "\n" not in str(error.value)


def test_that_alpha_helps_is_said_by_chance_in_few_sets():
    """Scores and priors that know nothing: the best of all alphas is ahead in most sets, and seldom called better."""
    rng, n, said, ahead = np.random.default_rng(0), 60, 0, 0
    for _ in range(200):
        scores, prior = rng.normal(size=(n, 1, 2)), rng.normal(size=(n, 2))
        found = study.AlphaStudy(scores, prior, np.zeros((n, 1), int), list(map(str, range(n))))
        gain = found.best_gain("text_score")
        said, ahead = said + gain.helps, ahead + (gain.gain.difference > 0)
    assert ahead > 120 and said <= 8  # 2.5 % of 200, and what chance adds


def test_that_alpha_helps_is_said_where_a_prior_misleads():
    rng, n = np.random.default_rng(1), 80
    prior = rng.normal(size=(n, 2))
    scores = prior[:, None] + [0.5, 0.0] + 0.2 * rng.normal(size=(n, 1, 2))
    found = study.AlphaStudy(scores, prior, np.zeros((n, 1), int), list(map(str, range(n))))
    gain = found.best_gain("text_score")
    assert gain.helps and gain.p_any <= 0.002 and "p over all alphas" in gain.says
    assert not found.best_gain("image_score").helps if "image_score" in metrics_of_shape(1, 2) else True


def of_clusters(sizes, changes):
    """A study in which alpha changes so many groups of each cluster from wrong to right, or, below 0, to wrong."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    parts = [np.sign(x) * (np.arange(size) < abs(x)) for size, x in zip(sizes, changes, strict=True)]
    lead = np.select([np.concatenate(parts) > 0, np.concatenate(parts) < 0], [-1.0, 1.0], 9.0)
    prior = np.select(
        [lead == -1, lead == 1], [-4.0, 4.0], 0.0
    )  # of the true caption, less that of the other
    scores, n = np.stack([lead - 20, 0 * lead - 20], axis=1)[:, None], len(labels)
    log_probs = np.stack([prior - 20, 0 * prior - 20], axis=1)
    ids, truth = list(map(str, range(n))), np.zeros((n, 1), int)
    clusters = None if max(sizes) == 1 else Clusters("caption", labels)
    return study.AlphaStudy(scores, log_probs, truth, ids, 0, clusters).best_gain("text_score")


def test_of_few_clusters_it_is_not_told_whether_alpha_helps():
    """Ten clusters that all gain: one in ten that loses more than they gain is missing from 35 % of such sets."""
    few, many = (of_clusters([2] * count, [2] * count) for count in (10, 40))
    assert few.p_any <= 0.05 and not few.helps and few.record()["better_than_0"] is None
    assert "worth 10.0 clusters of one size by caption" in few.says and "fewer than 30" in few.says
    assert many.helps and many.says.endswith("for clusters by caption of at most 2 groups")
    uneven = of_clusters([40] + [1] * 60, [40] + [1] * 60)  # 100^2 / (40^2 + 60) = 6.0
    assert uneven.units == pytest.approx(100**2 / 1660) and uneven.record()["better_than_0"] is None
    alone = of_clusters([1] * 20, [1] * 20)
    assert not alone.helps and alone.says.startswith("20 groups or images, and of fewer than 30")


def test_a_gain_that_a_few_clusters_of_their_size_could_undo_is_no_verdict():
    """One group in each of 40 clusters of 8: five clusters that lose all would undo it, and may be one in nine."""
    small, large = of_clusters([8] * 40, [1] * 40), of_clusters([8] * 40, [6] * 40)
    assert not small.helps and small.p_any > 0.05 and large.helps
    assert small.gain.clustered.detectable >= 100 * np.log(20) / 40


def test_without_a_gain_few_sets_of_clusters_say_that_alpha_helps():
    """Without a gain on average, and small gains far more often than large losses; a third of these would be said to
    gain by signs alone."""
    rng = np.random.default_rng(0)
    for count in (10, 30):
        said = 0
        for _ in range(100):
            lost = rng.random(count) < 1 / 9
            said += of_clusters(np.where(lost, 8, 2), np.where(lost, -8, 1)).helps
        assert said <= 8


def test_a_prior_that_prefers_no_caption_of_a_group_is_said_to_change_nothing():
    scores, prior, truth = case(12, 1, 3, seed=1)
    flat = np.repeat(prior[:, :1], 3, axis=1)
    found = study.AlphaStudy(scores, flat, truth, list(map(str, range(12))))
    assert not found.record()["metrics"]["text_score"]["depends_on_alpha"]
    assert study.AlphaStudy(scores, prior, truth, found.ids).depends("text_score")


def test_scores_measured_with_their_prior_in_python_tie_as_the_curve_does():
    """-0.7 - 0.6 * -0.9 is -0.16 on paper, as is -0.4 - 0.6 * -0.4: the captions tie, and a tie is wrong."""
    scores, prior = np.array([[[-0.7, -0.4]], [[-0.4, -0.7]]]), np.array([[-0.9, -0.4], [-0.4, -0.9]])
    truth = np.array([[0], [0]])
    by_hand = cm.evaluate(cm.debias(scores, prior, 0.6), truth).metrics["text_score"]
    assert by_hand.value == 50 and by_hand.ties == 0  # rounding keeps them apart
    curve = cm.alpha_study(scores, prior, truth).curve("text_score")
    for alpha in (0.0, 0.1, 0.6, 1.0):
        found = cm.evaluate(scores, truth, prior=prior, alpha=alpha).metrics["text_score"]
        assert found.value == curve.value(alpha) and found.ties == 2 * (alpha == 0.6)
    with pytest.raises(InputError, match="give `prior` as well"):
        cm.evaluate(scores, truth, alpha=0.5)
    with pytest.raises(InputError, match="leave `global_scores` out"):
        cm.evaluate(scores, truth, prior=prior, alpha=0.5, global_scores=np.zeros((2, 4)))
