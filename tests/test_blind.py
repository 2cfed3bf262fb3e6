"""The blind check and the token view: what a model knows without the image, and what each image adds."""

import json
import re

import numpy as np
import pytest
from scipy.stats import binom

from core.base.errors import InputError
from core.debiasing.blind import METRIC, VERDICTS, blind_baseline, check_blind
from core.figures.tokens import TokenView
from core.groups import BytesImage, FileImage, Group, GroupSet
from core.metrics.statistics import Clusters
from core.scoring.load import load_scorer
from core.scoring.scores import score_groups


def texts(n, k, lead, m=1, seed=0):
    """Scores of a model that sees no image: the true captions (the first m) lead by `lead`, on average."""
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 1, (n, k))
    values[:, :m] += lead
    return np.repeat(values[:, None, :], m, axis=1), np.tile(np.arange(m), (n, 1))


@pytest.mark.parametrize(
    ("lead", "verdict"), [(9.0, "solved"), (1.0, "partly"), (0.0, "no"), (-2.0, "against")]
)
def test_the_verdict_compares_the_interval_with_chance(lead, verdict):
    check = blind_baseline(*texts(300, 2, lead))
    assert check.verdict == verdict
    assert check.found == check.metrics["text_score"] == check.metrics[METRIC]
    said = check.explain("some model", (1, 2))
    assert VERDICTS[verdict] in said and f"{check.found.value:.1f} %" in said and "chance 50.0 %" in said


@pytest.mark.parametrize(("n", "k"), [(1, 2), (1, 5), (3, 2), (4, 2)])
def test_few_groups_cannot_tell(n, k):
    """Pure chance has one group of two right half of the time: no verdict follows from that."""
    for lead in (9.0, -9.0):
        check = blind_baseline(*texts(n, k, lead))
        assert check.verdict == "unclear" and check.found.high - check.found.low > 30
        assert "measure more groups" in check.explain("x", (1, k))


def test_a_model_that_prefers_nothing_gets_its_own_sentence():
    check = blind_baseline(np.zeros((300, 1, 3)), np.zeros((300, 1), dtype=int))
    assert check.verdict == "tied" and check.found.value == 0
    assert "all 3 captions of every group the same score" in check.explain("x", (1, 3))


def test_ties_count_as_wrong_where_it_does_well_and_as_right_where_it_does_badly():
    """Half of the groups tie, a quarter is right and a quarter wrong: neither above nor below guessing."""
    scores = np.tile([[[1.0, 1.0]], [[1.0, 1.0]], [[1.0, 0.0]], [[0.0, 1.0]]], (75, 1, 1))
    check = blind_baseline(scores, np.zeros((300, 1), dtype=int))
    assert check.found.high < 50 and check.verdict == "unclear"


def test_groups_that_hang_together_are_no_evidence_each():
    scores, truth = texts(40, 2, 0.8, seed=1)
    assert blind_baseline(scores, truth).verdict == "partly"
    together = Clusters("image", np.arange(40) // 20)
    check = blind_baseline(scores, truth, together)
    assert check.verdict == "unclear" and "by image" in check.explain("x", (1, 2))


def shared(clusters, size, alone=0):
    """Groups of one image and two captions: so many pairs of captions, each in so many groups, and others alone."""
    pairs = np.concatenate([np.repeat(np.arange(clusters), size), clusters + np.arange(alone)])
    images = (BytesImage(str(i).encode()) for i in range(len(pairs)))
    rows = enumerate(zip(images, pairs, strict=True))
    return GroupSet(
        "x", tuple(Group(str(i), (x,), (f"right {p}", f"wrong {p}")) for i, (x, p) in rows)
    ), pairs


@pytest.mark.parametrize(("clusters", "size"), [(1, 300), (2, 150), (5, 60), (7, 40), (30, 10), (150, 2)])
def test_groups_that_share_their_captions_are_one_observation(clusters, size):
    """Such groups are right or wrong together: by the binomial over the pairs, each verdict errs in at most 5 %."""
    groups, pairs = shared(clusters, size)
    together, truth = Clusters.of_blind(groups), np.zeros((len(groups), 1), dtype=int)
    found = {}
    for right in range(clusters + 1):
        hits = (pairs < right)[:, None]
        verdict = blind_baseline(np.hstack([hits, ~hits])[:, None] * 1.0, truth, together).verdict
        found[verdict] = found.get(verdict, 0) + binom.pmf(right, clusters, 0.5)
    assert all(found.get(verdict, 0) <= 0.05 for verdict in ("solved", "partly", "against")), found


@pytest.mark.slow
@pytest.mark.parametrize(("together", "alone"), [(270, 30), (60, 240), (150, 150)])
def test_one_set_of_captions_in_many_groups_decides_nothing_by_itself(together, alone):
    groups, pairs = shared(1, together, alone)
    clusters, truth = Clusters.of_blind(groups), np.zeros((len(groups), 1), dtype=int)
    found = {}
    for most, right in ((m, x) for m in (0, 1) for x in range(alone + 1)):
        hits = np.where(pairs == 0, most, pairs <= right)[:, None] == 1
        verdict = blind_baseline(np.hstack([hits, ~hits])[:, None] * 1.0, truth, clusters).verdict
        found[verdict] = found.get(verdict, 0) + binom.pmf(right, alone, 0.5) / 2
    assert all(found.get(verdict, 0) <= 0.05 for verdict in ("solved", "partly", "against")), found


def test_a_check_without_images_sees_the_captions_that_groups_share(tmp_path):
    away = FileImage(tmp_path / "away.png")
    groups = GroupSet("x", tuple(Group(str(i), (away,), ("one", "two")) for i in range(3)))
    assert Clusters.of_blind(groups).count == 1


def test_the_way_from_chance_is_a_share_of_what_is_left():
    scores, truth = np.zeros((4, 1, 2)), np.zeros((4, 1), dtype=int)
    scores[:3, 0, 0] = 1
    scores[3, 0, 1] = 1
    check = blind_baseline(scores, truth)
    assert check.found.value == 75 and check.way[0] == pytest.approx(0.5)


@pytest.mark.parametrize("k", [2, 3])
def test_square_groups_cannot_be_solved_blind_whatever_the_model_prefers(k):
    check = blind_baseline(*texts(200, k, 9.0, m=k))
    assert check.verdict == "design"
    assert check.metrics[METRIC].value == pytest.approx(100 / k)
    assert {check.metrics[n].value for n in ("text_score", "image_score", "group_score", "group_match")} == {
        0.0
    }
    assert check.metrics["group_match"].ties == 200
    assert "a tie is wrong" in check.explain("x", (k, k))


def test_two_of_four_shows_whether_false_captions_are_told_from_true_ones():
    """Both true captions lead: one of the two images finds its own, which is all that a blind model can do."""
    found = blind_baseline(*texts(200, 4, 9.0, m=2))
    assert found.verdict == "solved" and found.ceiling == 50 == found.found.value and found.way[0] == 1
    assert found.found.low == pytest.approx(50 * 0.025 ** (1 / 200)) and found.found.high == 50
    assert "at most 50.0 %" in found.explain("x", (2, 4))
    assert blind_baseline(*texts(200, 4, 1.0, m=2)).verdict == "partly"
    assert blind_baseline(*texts(600, 4, 0.0, m=2)).verdict == "no"


def test_a_model_that_looks_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="uses the image"):
        blind_baseline(rng.normal(size=(5, 2, 2)), np.tile([0, 1], (5, 1)))
    with pytest.raises(InputError, match="uses the image"):
        check_blind("builtin/clip")
    check_blind("builtin/blind-lm")


def test_the_built_in_sets_that_were_made_plausible_are_not_solved_by_words_and_the_shuffled_one_is():
    from core.datasets import load

    scorer = load_scorer("builtin/blind-lm")

    def verdict(name):
        groups = load(name, "test")
        return blind_baseline(score_groups(scorer, groups), groups.truth).verdict

    assert {name: verdict(f"scenes/{name}") for name in ("word-order", "swap", "replace", "left-right")} == {
        "word-order": "solved",
        "swap": "no",
        "replace": "no",
        "left-right": "design",
    }


def test_the_command_gives_verdict_and_numbers(make, monkeypatch, toy_groups_1x4):
    from typer.testing import CliRunner

    from core import cli

    folder = str(make("gpt2"))
    monkeypatch.setattr("core.datasets.load", lambda *args, **more: toy_groups_1x4)
    words = ["blind", "--benchmark", "toy", "--model", folder]
    assert any(CliRunner().invoke(cli.app, words).stdout.startswith(v) for v in VERDICTS.values())
    record = json.loads(CliRunner().invoke(cli.app, [*words, "--json"]).stdout)
    assert record["verdict"] in VERDICTS and record["metrics"]["text_score"]["chance"] == 25


@pytest.mark.parametrize("kind", ["lm:", "blind:"])
def test_every_blind_scorer_scores_all_images_of_a_group_alike(make, toy_groups, kind):
    folder = make("gpt2" if kind == "lm:" else "blip-caption")
    scores = score_groups(load_scorer(f"{kind}{folder}", "cpu"), toy_groups)
    assert blind_baseline(scores, toy_groups.truth).verdict == "design"


# --- tokens ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["blip-caption", "blip2-opt", "llava"])
def test_tokens_average_to_the_scores_with_and_without_the_image(make, toy_groups, name):
    scorer = load_scorer(f"vgpt:{make(name)}", "cpu")
    image, caption = toy_groups[0].images[0], toy_groups[0].captions[0]
    view = TokenView.of(scorer, image, caption, count=1)
    pair = np.array([(0, 0)])
    assert view.seeing.mean() == pytest.approx(scorer.score([image], [caption], pair)[0], abs=1e-5)
    assert view.blind.mean() == pytest.approx(scorer.prior([caption], 1)[0], abs=1e-5)
    assert len(view.tokens) == len(view.gain) == len(view.seeing)


def test_tokens_without_the_image_average_to_the_prior_of_several_images(make, toy_groups):
    scorer = load_scorer(f"vgpt:{make('blip-caption')}", "cpu")
    image, caption = toy_groups[0].images[0], toy_groups[0].captions[0]
    view = TokenView.of(scorer, image, caption, count=3)
    prior = scorer.prior([caption], 3)[0]
    assert view.blind.mean() == pytest.approx(prior, abs=1e-5)
    assert (view.blind <= 0).all()
    score = scorer.score([image], [caption], np.array([(0, 0)]))[0]
    assert view.gain.mean() == pytest.approx(score - prior, abs=1e-5)  # the debiased score at alpha 1


def test_a_token_adds_to_the_prior_what_the_images_say_of_it_given_the_tokens_before(make, toy_groups):
    """Token by token: the mean of p^(1/m) over images, each weighed by the product of those before; then to the m."""
    scorer = load_scorer(f"vgpt:{make('blip-caption')}", "cpu")
    caption = toy_groups[0].captions[0]
    each = np.exp([scorer.token_log_probs(null, caption).log_probs.astype(float) for null in scorer.nulls(3)])
    m, weight, expected = each.shape[1], np.ones(3), []
    for p in each.T:
        expected.append((weight * p ** (1 / m)).sum() / weight.sum())
        weight = weight * p ** (1 / m)
    found = scorer.blind_token_log_probs(caption, 3).log_probs
    assert np.exp(found) == pytest.approx(np.array(expected) ** m, rel=1e-4)


def test_tokens_are_told_by_sign_and_number_and_not_by_colour_alone():
    view = TokenView(["red", "cube", "a"], np.array([-0.5, -4.0, -1.0]), np.array([-2.0, -1.0, -1.0]))
    markup = view.html()
    assert re.findall(r"[▲▼=] [+−]\d\.\d\d", markup) == ["▲ +1.50", "▼ −3.00"]
    assert "= 0.00<" in markup  # which has no sign, however the two differ far behind the point
    assert "= 0.00<" in TokenView(["<end>"], np.array([-1.003]), np.array([-1.0])).html()
    assert markup.count("<li") == 3 and "−0.50 | −2.00" in markup
    assert markup.count('title="log P') == 3 and "makes it less likely" in markup


def test_tokens_are_never_markup():
    view = TokenView(["<img src=x onerror=alert(1)>", " "], np.array([-1.0, -1.0]), np.array([-1.0, -1.0]))
    markup = view.html()
    assert "<img" not in markup and "&lt;img" in markup
    assert "␣" in markup
