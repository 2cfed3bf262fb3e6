"""Debiasing one model on one set: priors from images, the study of every metric, the commands."""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tiny_models
from commands import crossmatch
from PIL import Image

from core.base.errors import InputError
from core.debiasing import priors
from core.debiasing import study as alpha
from core.debiasing.debias import debias, prior_from_samples
from core.debiasing.priors import _sample_images, check_log_prob, estimate_prior
from core.debiasing.study import AlphaStudy, pmi_text
from core.groups import GroupSet
from core.metrics.groups import METRICS, evaluate, metrics_of_shape
from core.scorers.null_images import NullImage, null_pixels
from core.scoring.cache import ScoreCache
from core.scoring.load import load_scorer
from core.scoring.scores import score_groups, score_matrix

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def captioner(make):
    """A tiny random captioner, through the product's own path."""
    return load_scorer(str(make("blip-caption")), "cpu")


def study(n=40, m=1, k=3, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.stack([rng.permutation(k)[:m] for _ in range(n)])
    return AlphaStudy(
        rng.normal(-3, 1, (n, m, k)), rng.normal(-3, 1, (n, k)), truth, [str(i) for i in range(n)]
    )


# --- priors ------------------------------------------------------------------------------------------------------


def test_a_matrix_of_scores_equals_scoring_every_pair_and_is_cached(
    captioner, toy_groups, tmp_path, monkeypatch
):
    images, captions = toy_groups.unique_images()[0], toy_groups.unique_captions()[0]
    cache = ScoreCache(tmp_path / "c.sqlite")
    table = score_matrix(captioner, images, captions, cache)
    pairs = np.array([(1, 2), (3, 0)])
    assert table[1, 2] == pytest.approx(captioner.score(images, captions, pairs)[0], abs=1e-5)
    assert table[3, 0] == pytest.approx(captioner.score(images, captions, pairs)[1], abs=1e-5)
    monkeypatch.setattr(type(captioner), "stream", None)  # nothing is scored again
    assert (score_matrix(captioner, images, captions, cache) == table).all()


def test_a_gaussian_prior_is_the_models_own_and_encodes_each_null_image_once(captioner, toy_groups, tmp_path):
    captions, index = toy_groups.unique_captions()
    expected = captioner.prior(captions, 3)[index]
    cache = ScoreCache(tmp_path / "c.sqlite")
    with tiny_models.counted(captioner.module.vision_model) as calls:
        found = estimate_prior(captioner, toy_groups, "gaussian", cache=cache)
        again = estimate_prior(captioner, toy_groups, "gaussian", cache=cache)
    assert len(calls) == 3 and found.samples.shape == (3, len(captions))
    assert found.values == pytest.approx(expected, abs=1e-5)
    assert (again.values == found.values).all()


def test_null_images_have_the_papers_counts_and_the_models_pixels(captioner, toy_groups):
    named = {name: GroupSet(name, toy_groups.groups) for name in ("winoground", "eqben/all", "toy/2x2")}
    counts = {name: len(_sample_images(captioner.name, g, "gaussian")) for name, g in named.items()}
    assert counts == {"winoground": 100, "eqben/all": 30, "toy/2x2": 3}
    first = _sample_images(captioner.name, toy_groups, "gaussian", 2, seed=5)
    assert first == [NullImage(*null_pixels(captioner.config.to_dict()), 5, i) for i in range(2)]
    assert (first[0].mean, first[0].std) == (1.0, 0.25)  # BLIP's, [VGPT] appendix B


def test_a_prior_of_the_sets_own_images_averages_over_all_of_them(captioner, toy_groups):
    images, captions = toy_groups.unique_images()[0], toy_groups.unique_captions()[0]
    expected = prior_from_samples(score_matrix(captioner, images, captions))
    found = estimate_prior(captioner, toy_groups, "test", count=99)
    assert found.values == pytest.approx(expected[found.caption_index])
    few = estimate_prior(captioner, toy_groups, "test", count=4, seed=1)
    assert few.samples.shape[0] == 4
    assert few.line.startswith("4 images of the set")


def test_training_images_come_from_the_built_in_world_or_from_a_folder(captioner, toy_groups, tmp_path):
    scenes = GroupSet("scenes/left-right", toy_groups.groups)
    found = _sample_images(captioner.name, scenes, "train", 5)
    assert len({image.key for image in found}) == 5
    assert all(image.scene.noise % 4 == 0 for image in found)  # the train split, by construction
    for i in range(3):
        Image.new("RGB", (8, 8), (i, 0, 0)).save(tmp_path / f"{i}.png")
    assert len(_sample_images(captioner.name, toy_groups, "train", 2, folder=tmp_path)) == 2
    with pytest.raises(InputError, match="--images"):
        _sample_images(captioner.name, toy_groups, "train", 2)
    with pytest.raises(InputError, match="holds no images"):
        _sample_images(captioner.name, toy_groups, "train", 2, folder=tmp_path / "none")


def test_a_language_models_prior_is_its_own_likelihood(captioner, toy_groups, make):
    folder = str(make("gpt2"))
    found = estimate_prior(captioner, toy_groups, "lm", model=folder)
    captions, index = toy_groups.unique_captions()
    assert found.values == pytest.approx(load_scorer(folder).prior(captions)[index], abs=1e-5)
    assert found.samples is None


def test_the_language_model_of_a_prior_sees_no_image(captioner, toy_groups):
    for name in ("builtin/clip", "itm:builtin/blip-itm", "builtin/blip-caption"):
        with pytest.raises(InputError, match="which uses the image; choose a text-only model"):
            estimate_prior(captioner, toy_groups, "lm", model=name)


def test_permuting_captions_permutes_the_prior_and_changes_no_metric(captioner, toy_groups_1x4):
    def record(groups):
        found = estimate_prior(captioner, groups, "gaussian")
        scores = score_groups(captioner, groups)
        return AlphaStudy(scores, found.values, groups.truth, groups.ids).record()

    one, other = record(toy_groups_1x4), record(toy_groups_1x4.permute_captions(3))
    assert json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s, g: estimate_prior(s, g, "gausian"), "did you mean 'gaussian'"),
        (lambda s, g: estimate_prior(s, g, "gaussian", 0), "at least one"),
        (lambda s, g: check_log_prob("builtin/clip"), "not log P"),
    ],
)
def test_what_a_prior_cannot_be_had_from_is_one_sentence(captioner, toy_groups, call, words):
    with pytest.raises(InputError, match=words):
        call(captioner, toy_groups)


# --- the study ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 3), (2, 2), (2, 3)])
def test_the_record_is_the_plain_metric_at_both_ends_and_at_its_best(shape):
    s = study(50, *shape)
    record = s.record()
    for name, row in record["metrics"].items():
        for key, at in (("alpha_0", 0.0), ("alpha_1", 1.0), ("best", row["best"]["alpha"])):
            plain = evaluate(debias(s.scores, s.prior, at), s.truth)[name]
            assert (row[key]["value"], row[key]["low"]) == (round(plain.value, 8), round(plain.low, 8))
        assert row["best"]["label"] == "tuned on test, per row"
        assert row["best"]["value"] >= max(row["alpha_0"]["value"], row["alpha_1"]["value"]) - 1e-9
        assert row["best"]["alpha_low"] <= row["best"]["alpha"] <= row["best"]["alpha_high"]
        assert row["validated"]["repeats"] == 10 and row["validated"]["step"] == 0.001
    json.dumps(record, allow_nan=False)


def test_square_groups_say_which_metrics_alpha_cannot_move():
    s = study(30, 2, 2)
    fixed = {name for name in metrics_of_shape(2, 2) if not s.depends(name)}
    assert {"image_score", "group_match"} <= fixed and not {"text_score", "group_score"} & fixed
    for name in fixed:
        assert {s.evaluation(a).metrics[name].value for a in np.linspace(0, 1, 11)} == {
            s.evaluation(0).metrics[name].value
        }
        assert s.record()["metrics"][name]["validated"]["alpha"] is None
    wide = study(30, 2, 3)
    assert wide.depends("group_match") and not wide.depends("image_score")


def test_flips_are_the_groups_between_which_two_alphas_differ():
    """Group 0 is mended above 1/3 (test_debias), group 1 is broken above 1/2, group 2 never changes."""
    scores = np.array([[[-2.0, -1.0]], [[-1.0, -2.0]], [[-1.0, -9.0]]])
    prior = np.array([[-4.0, -1.0], [-1.0, -3.0], [-1.0, -1.0]])
    s = AlphaStudy(scores, prior, np.zeros((3, 1), dtype=int), list("abc"))
    found = s.flips(0.75, "text_score")
    assert found.fixed.tolist() == [True, False, False]
    assert found.broken.tolist() == [False, True, False]
    assert not s.flips(0.2, "text_score").fixed.any()


def test_the_frequency_chart_splits_captions_by_whether_an_image_has_them():
    """Pairs per group: true -1 against false -2 and -3 (both won), then -2 against -2 (a tie) and -1 (lost)."""
    prior = np.array([[-1.0, -2.0, -3.0], [-2.0, -2.0, -1.0]])
    s = AlphaStudy(np.zeros((2, 1, 3)), prior, np.zeros((2, 1), dtype=int), ["a", "b"])
    found = s.frequency
    assert sorted(found.true.tolist()) == [-2.0, -1.0]
    assert sorted(found.false.tolist()) == [-3.0, -2.0, -2.0, -1.0]
    assert found.likelier.value == pytest.approx(100 * (1.0 + 0.25) / 2)
    assert found.likelier.ties == 1


def test_the_syntax_bias_score_is_the_true_captions_lead_as_text_scaled_to_the_largest():
    prior = np.array([[-1.0, -2.0, -4.0], [-3.0, -1.0, -2.0]])
    s = AlphaStudy(np.full((2, 1, 3), -1.0), prior, np.zeros((2, 1), dtype=int), ["a", "b"])
    # -1 - (-2 - 4) / 2 = 2 and -3 - (-1 - 2) / 2 = -1.5
    assert s.frequency.syntax_bias == pytest.approx([1.0, -0.75])
    assert s.record()["language"]["syntax_bias"] == 0.125
    square = AlphaStudy(np.full((2, 2, 2), -1.0), prior[:, :2], np.array([[0, 1], [1, 0]]), ["a", "b"])
    assert square.frequency.syntax_bias.tolist() == [0, 0]


def test_the_rows_of_the_built_in_sets_keep_their_interval_by_cluster(tmp_path, monkeypatch):
    """A row with clusters ended the measurement after everything was measured, and left an empty file."""
    from benchmarks.results import alpha as measured

    monkeypatch.setattr(measured, "RESULTS", tmp_path)
    base = {
        "benchmark": "b",
        "metric": "text_score",
        "setting": "alpha 0",
        "value": 50.0,
        "low": 40.0,
        "high": 60.0,
    }
    measured.write_rows([base, base | {"clustered": {"by": "caption", "low": 38.12345, "high": 61.0}}])
    found = pd.read_csv(tmp_path / "alpha.csv")
    assert found["low"].tolist() == [40, 40] and found["cluster"].isna().tolist() == [True, False]
    assert found.loc[1, ["cluster", "cluster_low", "cluster_high"]].tolist() == ["caption", 38.1234, 61.0]
    with pytest.raises(ValueError, match="strange"):
        measured.write_rows([base | {"strange": 1}])
    assert len(pd.read_csv(tmp_path / "alpha.csv")) == 2


def test_scenarios_follow_from_the_prior_alone():
    rng = np.random.default_rng(0)
    n, truth = 200, np.zeros((200, 1), dtype=int)
    scores = rng.normal(-3, 1, (n, 1, 2))
    unlikely = np.column_stack([rng.normal(-2, 0.5, n), rng.normal(-5, 0.5, n)])
    level = rng.normal(-2, 1, (n, 2))
    ids = [str(i) for i in range(n)]
    assert AlphaStudy(scores, unlikely, truth, ids).frequency.scenario == 1
    assert AlphaStudy(scores, level, truth, ids).frequency.scenario == 2
    few = AlphaStudy(scores[:8], level[:8], truth[:8], ids[:8]).frequency
    assert few.scenario is None and not few.tied
    assert AlphaStudy(scores, 0 * level, truth, ids).frequency.tied
    square = study(20, 2, 2).frequency
    assert square.scenario == 0 and square.likelier is None and len(square.false) == 0


def test_an_alpha_is_carried_over_from_other_groups():
    """The chosen set is best above 1/3 alone, so its alpha is 2/3; there group 1 of the other set is broken."""
    chosen = AlphaStudy(np.array([[[-2.0, -1.0]]]), np.array([[-4.0, -1.0]]), np.array([[0]]), ["a"])
    scores = np.array([[[-2.0, -1.0]], [[-1.0, -2.0]]])
    other = AlphaStudy(
        scores, np.array([[-4.0, -1.0], [-1.0, -3.0]]), np.zeros((2, 1), dtype=int), list("ab")
    )
    found = chosen.transfer_alpha(other, "text_score")
    assert found["alpha"] == pytest.approx(2 / 3, abs=1e-4)
    assert found["value"] == 50
    assert (found["gain"]["fixed"], found["gain"]["broken"], found["gain"]["difference"]) == (1, 1, 0)


def test_more_images_make_a_steadier_prior_and_a_steadier_alpha():
    rng = np.random.default_rng(1)
    n, k = 150, 3
    likely = rng.normal(-3, 1, (n, k))  # what the texts are worth
    samples = likely.reshape(1, -1) + rng.normal(0, 0.8, (100, n * k))
    truth = rng.integers(0, k, (n, 1))
    scores = 0.6 * likely[:, None, :] + rng.normal(0, 0.5, (n, 1, k))
    np.put_along_axis(scores, truth[:, None, :], np.take_along_axis(scores, truth[:, None, :], 2) + 0.6, 2)
    s = AlphaStudy(scores, likely, truth, [str(i) for i in range(n)])
    rows = s.stability(samples, np.arange(n * k).reshape(n, k), (1, 10, 100, 1000), repeats=4)
    assert [row.size for row in rows] == [1, 10, 100]
    assert rows[0].spread > rows[1].spread > rows[2].spread
    drawn = np.random.default_rng(s.seed)
    ones = np.stack([samples[drawn.choice(100, 1, replace=False)][0] for _ in range(4)])
    assert rows[0].spread == pytest.approx(ones.std(axis=0, ddof=1).mean())  # n - 1, as of seeds
    # All images: one and the same prior.
    assert (rows[2].spread, rows[2].value[1], rows[2].alpha[1]) == pytest.approx((0, 0, 0), abs=1e-12)
    whole = AlphaStudy(scores, prior_from_samples(samples).reshape(n, k), truth, s.ids)
    assert rows[2].value[0] == pytest.approx(whole.best("text_score").value)


def test_pmi_in_words():
    assert pmi_text(1.0) == "PMI^k with k = 1, plain pointwise mutual information"
    assert pmi_text(0.5) == "PMI^k with k = 2"
    assert pmi_text(0.0) == "the likelihood itself"


# --- the commands ------------------------------------------------------------------------------------------------


def test_the_command_shows_every_metric_with_its_intervals(captioner, monkeypatch):
    from typer.testing import CliRunner

    from core import cli
    from core.datasets import load

    sets = {split: load("scenes/swap", split).select(range(6)) for split in ("test", "validation")}
    monkeypatch.setattr("core.datasets.load", lambda name, split, **more: sets[split])
    words = ["alpha", "--benchmark", "scenes/swap", "--model", captioner.name, "--tune-on", "validation"]
    plain = CliRunner().invoke(cli.app, words)
    assert plain.exit_code == 0, plain.output
    assert "tuned on test" in plain.stdout and "held out" in plain.stdout
    found = CliRunner().invoke(cli.app, [*words, "--prior", "test", "--samples", "2", "--json"])
    record = json.loads(found.stdout)
    assert set(record["metrics"]) == set(metrics_of_shape(1, 2))
    assert record["prior"] == {"kind": "test", "line": "2 images of the set itself", "images": 2}
    row = record["metrics"]["text_score"]
    assert {"value", "low", "high", "chance", "ties"} <= row["alpha_0"].keys() & row["best"].keys()
    assert row["alpha_0"]["chance"] == 50 and record["n_groups"] == 6
    assert record["tuned_on"]["metrics"]["text_score"]["gain"]["p_value"] <= 1
    assert "image_score" not in record["tuned_on"]["metrics"]


@pytest.fixture
def files(tmp_path):
    """log P(t | image) and log P(t) of four groups 1x2; the common caption, the second, hides the true one in two."""
    scores, prior = [], []
    for group, lead in zip("abcd", (1, 1, -1, -1), strict=True):
        for caption, (value, likely) in {"rare": (-5 + lead / 2, -9), "common": (-5 - lead / 2, -1)}.items():
            own = int(caption == "rare")
            scores.append((group, "i", caption, value, own, "left" if group in "ac" else "right"))
            prior.insert(0, (group, caption, likely))  # in another order
    columns = ["group", "image", "caption", "score", "match", "side"]
    pd.DataFrame(scores, columns=columns).to_csv(tmp_path / "s.csv", index=False)
    pd.DataFrame(prior, columns=["group", "caption", "log_prob"]).to_csv(tmp_path / "p.csv", index=False)
    return tmp_path


def alpha_of(folder, *words):
    """What the command prints of a file of scores and, where no prior is given, one of priors."""
    from typer.testing import CliRunner

    from core import cli

    files = ["--scores", str(folder / "s.csv")]
    files += [] if "--prior" in words else ["--prior", str(folder / "p.csv")]
    found = CliRunner().invoke(cli.app, ["alpha", *files, *words])
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.stdout


def test_two_files_give_the_exact_curve_in_one_command(files):
    record = json.loads(alpha_of(files, "--json", "--out", str(files / "out")))
    row = record["metrics"]["text_score"]
    # the true caption leads by 1 or by -1, and alpha adds 8 alpha: all are right from 1/8 on
    assert (row["alpha_0"]["value"], row["alpha_1"]["value"], row["best"]["value"]) == (50.0, 100.0, 100.0)
    assert row["best"]["alpha_low"] == pytest.approx(1 / 8) and row["best"]["alpha_high"] == 1
    assert (record["n_groups"], record["shape"]) == (4, "1x2") and record["prior"]["kind"] == "file"
    curves = pd.read_csv(files / "out" / "curves.csv").query("metric == 'text_score'")
    assert curves[["alpha_from", "alpha_to", "percent"]].to_numpy().tolist() == [
        [0, 0, 50],
        [0, 0.125, 50],
        [0.125, 0.125, 50],  # a tie is wrong
        [0.125, 1, 100],
        [1, 1, 100],
    ]
    assert curves["ends"].tolist() == ["closed", "open", "closed", "open", "closed"]
    assert json.loads((files / "out" / "alpha.json").read_text()) == record
    assert "text_score" in alpha_of(files)


def test_an_alpha_of_a_narrow_span_is_printed_with_the_digits_that_keep_it_within(tmp_path):
    """Highest between 0.1231 and 0.1234 alone: at 0.123, as it was printed, the value is another."""
    scores = [("a", "i", "x", -0.8769, 0, "left"), ("a", "i", "y", -1.0, 1, "left")]
    scores += [("b", "i", "x", -1.0, 0, "right"), ("b", "i", "y", -0.8766, 1, "right")]
    prior = [("a", "x", -1.0), ("a", "y", -2.0), ("b", "x", -2.0), ("b", "y", -1.0)]
    columns = ["group", "image", "caption", "score", "match", "side"]
    pd.DataFrame(scores, columns=columns).to_csv(tmp_path / "s.csv", index=False)
    pd.DataFrame(prior, columns=["group", "caption", "log_prob"]).to_csv(tmp_path / "p.csv", index=False)
    plain = alpha_of(tmp_path, "--by", "side")
    assert "best, 0.1232 " in plain and plain.count("one alpha: 0.1232, ") == 3


def test_one_alpha_of_all_groups_stands_beside_each_metric_s_and_each_tag_s_own(files):
    """By hand: of either side's two groups one is right from the start and the other from 1/8 on."""
    record = json.loads(alpha_of(files, "--json", "--by", "side", "--out", str(files / "out")))
    one = record["metrics"]["text_score"]["one_alpha"]
    assert one["label"] == "tuned on test" and one["alpha"] == pytest.approx((1 / 8 + 1) / 2)
    table = pd.read_csv(files / "out" / "metrics.csv", keep_default_na=False, na_values={"low": [""]})
    rows = table[(table["metric"] == "text_score") & (table["tag_value"] == "left")].set_index("chosen")
    assert float(rows.loc["tuned on test", "alpha"]) == pytest.approx(one["alpha"])
    part = record["slices"]["side"]["left"]["metrics"]["text_score"]
    assert float(rows.loc["tuned on test, per row", "alpha"]) == pytest.approx(part["best"]["alpha"])
    assert part["one_alpha"]["value"] == rows.loc["tuned on test", "value"]
    assert rows.loc["held out, per row", "low"] != rows.loc["held out, per row", "low"]  # none: a deviation
    assert rows.loc["tuned on test", "interval"] == "95 % Clopper-Pearson"
    assert not rows.loc["held out, per row", "interval"]
    for name in ("metrics.csv", "curves.csv"):
        written = pd.read_csv(files / "out" / name)
        assert list(written)[-1] == "crossmatch_version" and {*written["crossmatch_version"]} == {
            version("crossmatch")
        }
    plain = alpha_of(files, "--by", "side")
    assert (
        "best, 0.125–1.000" in plain and "best: of 0 to 1, its widest span, tuned on test, per row" in plain
    )
    assert "one alpha: 0.562, the best of 0 to 1 for TextScore of all groups, tuned on test" in plain


def test_verdicts_of_one_output_are_corrected_for_one_another_and_one_test_is_said_once(files):
    """Alpha mends 12 of the 30 groups of either colour, which are right at every larger alpha, and breaks none."""
    rows = [(f"{c}{i}", c, 1 if i < 12 else -1) for c in ("red", "blue") for i in range(30)]
    scores = [
        (
            group,
            group,
            f"{caption} {group}",
            -5.0 - (caption == "rare") * lead,
            int(caption == "rare"),
            colour,
        )
        for group, colour, lead in rows
        for caption in ("rare", "common")
    ]
    columns = ["group", "image", "caption", "score", "match", "colour"]
    pd.DataFrame(scores, columns=columns).to_csv(files / "s.csv", index=False)
    prior = [(g, f"{c} {g}", -9 if c == "rare" else -1) for g, _, _ in rows for c in ("common", "rare")]
    pd.DataFrame(prior, columns=["group", "caption", "log_prob"]).to_csv(files / "p.csv", index=False)
    alone, apart = (json.loads(alpha_of(files, "--json", *by)) for by in ([], ["--by", "colour"]))
    best = [alone["metrics"][name]["best"] for name in ("text_score", "individual_match")]
    assert alone["verdicts"] == 1 and "p_any_alpha_holm" not in best[0] and best[0]["gain"] == best[1]["gain"]
    assert alpha_of(files).count(
        "Removing the language prior helps here: held-out TextScore 59.3 → 100.0 % (chance 50.0 %)."
    ) == 1 and "after Holm" not in alpha_of(files)
    said = [apart["metrics"]["text_score"]["best"]]
    said += [part["metrics"]["text_score"]["best"] for part in apart["slices"]["colour"].values()]
    p = [each["p_any_alpha"] for each in said]
    # The whole is one verdict, which its slices do not change; Holm of the two slices: the smallest times 2, and the
    # other never below it
    assert (apart["verdicts"], apart["slice_verdicts"]) == (1, 2) and p[0] < p[1] == p[2]
    assert said[0] == best[0]
    assert [each["p_any_alpha_holm"] for each in said[1:]] == pytest.approx([2 * p[1], 2 * p[1]], abs=2e-4)
    plain = alpha_of(files, "--by", "colour")
    assert (
        plain.count(", one test: ") == 3
        and plain.count(
            "p values over all alphas: of the whole, one verdict, uncorrected; of its slices, after Holm "
            "over 2 verdicts of their own"
        )
        == 1
    )


def test_a_tag_file_that_is_filtered_by_its_own_tag_says_each_number_once(files):
    """Captions in the table are no tags: they made a slice of every group."""
    (files / "tags.csv").write_text("group,kind,caption_0\na,x,A\nb,x,B\nc,y,C\nd,y,D\n")
    words = ["--tags", str(files / "tags.csv"), "--tag", "kind: x"]
    for more, own in (([], ["side"]), (["--by", "kind"], [])):  # the scores' own tag is no reason to lose it
        record = json.loads(alpha_of(files, *words, *more, "--json"))
        assert record["n_groups"] == 2 and list(record.get("slices", {})) == own


def test_tags_of_the_scores_slice_and_filter(files):
    record = json.loads(alpha_of(files, "--json", "--by", "side"))
    assert {v: part["n_groups"] for v, part in record["slices"]["side"].items()} == {"left": 2, "right": 2}
    assert record["slices"]["side"]["left"]["metrics"]["text_score"]["alpha_0"]["value"] == 50.0
    assert "side = left (2 groups)" in alpha_of(files, "--by", "side")
    only = json.loads(alpha_of(files, "--json", "--tag", "side: right"))
    assert "the best of 0 to 1 for TextScore of the groups with side: right, tuned" in alpha_of(
        files, "--tag", "side: right"
    )
    assert only["n_groups"] == 2 and "slices" not in only


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--prior", "gaussian"], "need a file of log P"),
        (["--benchmark", "scenes/swap"], "--benchmark has no effect with --scores"),
        (["--tag", "side: up"], "Unknown tag 'side: up'"),
    ],
)
def test_what_does_not_go_with_two_files_is_one_sentence(files, words, said):
    with pytest.raises(InputError, match=said):
        alpha_of(files, *words)


def test_the_command_refuses_a_model_without_likelihoods_in_one_sentence():
    done = crossmatch("alpha", "--benchmark", "scenes/swap", "--model", "builtin/clip")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("crossmatch: builtin/clip gives ITCScore") and done.stderr.count("\n") == 1


def test_public_names_are_documented():
    for module in (alpha, priors):
        for name, thing in vars(module).items():
            if callable(thing) and getattr(thing, "__module__", "") == module.__name__ and name[0] != "_":
                assert thing.__doc__, name


def test_on_square_groups_all_matchings_move_by_the_same_amount():
    s = study(5, 3, 3)
    for index in range(5):
        found = s.matching_totals(index, 0.7)
        moves = [total.after - total.before for total in found]
        assert len(found) == 6 and moves == pytest.approx([-0.7 * s.prior[index].sum()] * 6)
        order = [total.matching for total in sorted(found, key=lambda total: -total.after)]
        assert order == [total.matching for total in found]
    wide = study(1, 1, 3).matching_totals(0, 0.7)
    assert len({round(total.after - total.before, 9) for total in wide}) == 3
    with pytest.raises(InputError, match="too many"):
        study(1, 7, 9).matching_totals(0, 0.5)


def test_a_matrix_tells_matching_and_truth_by_signs():
    from core.figures.group_html import matrix_html
    from core.metrics.evaluation import Evaluation

    found = Evaluation.of(np.array([[[-1.0, -2.0], [-3.0, -0.5]]]), np.array([[1, 0]]))
    markup = matrix_html(found.group(0), "scores")
    assert markup.count("●") == 2 and markup.count("✓") == 2 and "●✓" not in markup
    assert "−1.00 ●" in markup and "−2.00 ✓" in markup
    assert 'title="image A, caption 2: −2.00, a true pair"' in markup


@pytest.mark.parametrize(("m", "k"), [(2, 2), (2, 3), (1, 3), (3, 3)])
def test_the_whole_curve_has_each_value_with_the_interval_chance_and_ties_of_the_metrics_at_its_alpha(m, k):
    """Exported was the percentage alone, of one metric. Scores of small whole numbers tie, also at every alpha."""
    rng = np.random.default_rng(m + k)
    scores, prior = rng.integers(-3, 1, (30, m, k)) / 1.0, rng.integers(-3, 1, (30, k)) / 1.0
    study = AlphaStudy(scores, prior, np.tile(range(m), (30, 1)), [*map(str, range(30))])
    table = study.curve_table()
    columns = "metric alpha alpha_from alpha_to percent low high chance ties ends"
    assert list(table) == columns.split() and [*table["metric"].unique()] == [*study.evaluation(0).metrics]
    for row in table.itertuples():
        found = study.evaluation(row.alpha).metrics[row.metric]
        assert (row.percent, row.low, row.high) == pytest.approx(
            (found.value, found.low, found.high), abs=1e-3
        )
        assert row.chance == pytest.approx(found.chance, abs=1e-3)
        images = METRICS[row.metric].share * (m - 1)  # of which the table counts each, and a metric its group
        assert found.ties <= row.ties <= found.ties * (1 + images)
    assert table["ties"].max() > 0 and {*table["ends"]} == {"open", "closed"}
