"""Recall both ways, classification and alpha over all images and captions, against hand and brute-force results."""

from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from test_ranks import by_counting

from core.base.errors import InputError
from core.debiasing.curves import recall_curve
from core.debiasing.debias import debias, prior_from_samples
from core.debiasing.retrieval import RetrievalStudy
from core.matching.global_match import AllPairs
from core.metrics.recall import RecallResult, recall
from core.metrics.statistics import Clusters


def several(n=12, m=30, seed=0):
    """Scores in log space and a relation with one to three captions per image, some captions of no image."""
    rng = np.random.default_rng(seed)
    relevant = np.zeros((m, n), dtype=bool)
    for i in range(n):
        relevant[rng.choice(m, rng.integers(1, 4), replace=False), i] = True
    return rng.normal(-3, 1, (n, m)) + relevant.T, relevant


def test_any_of_an_images_captions_counts_as_a_hit():
    """Image 0 has captions 0 and 1; caption 1 is first. Image 1 has caption 2, which is second behind caption 0."""
    scores = np.array([[1.0, 3.0, 2.0], [5.0, 1.0, 4.0]])
    relevant = np.array([[True, False], [True, False], [False, True]])
    found = recall(scores, relevant, (1, 2))
    assert found.recall["image_to_text_r1"].value == 50
    assert found.recall["image_to_text_r2"].value == 100
    assert found.recall["text_to_image_r1"].value == pytest.approx(100 * 2 / 3)  # caption 0 finds image 1
    assert found.mean_rank == {"image_to_text": 1.5, "text_to_image": pytest.approx(4 / 3)}
    assert found.median_rank["image_to_text"] == 1.5


def test_recall_equals_the_ranks_of_each_side():
    scores, relevant = several()
    found = recall(scores, relevant)
    forth, _ = by_counting(scores, relevant.T)
    assert found.recall["image_to_text_r5"].value == pytest.approx(100 * np.mean(np.array(forth) <= 5))
    back, _ = by_counting(scores.T, relevant)
    assert found.recall["text_to_image_r1"].value == pytest.approx(100 * np.mean(np.array(back) == 1))
    assert found.left_out == {"image_to_text": 0, "text_to_image": len(relevant) - len(back)}


def test_the_chance_level_is_that_of_a_random_order():
    relevant = np.array([[True, False], [True, False], [False, True], [False, False]])
    found = recall(np.arange(8.0).reshape(2, 4), relevant, (1, 2)).recall
    # Image 0 has 2 of 4 captions, image 1 has 1 of 4; by counting all orders:
    hits = [
        np.mean([bool(set(order[:2]) & own) for order in permutations(range(4))]) for own in ({0, 1}, {2})
    ]
    assert found["image_to_text_r2"].chance == pytest.approx(100 * np.mean(hits))
    assert found["image_to_text_r1"].chance == pytest.approx(100 * (1 / 2 + 1 / 4) / 2)
    assert found["text_to_image_r2"].chance == 100


def test_ties_are_lost_and_counted():
    found = recall(np.zeros((2, 2)), np.eye(2, dtype=bool), (1,)).recall["image_to_text_r1"]
    assert (found.value, found.ties, found.chance) == (0, 2, 50)


def test_classification_is_retrieval_of_the_classes_captions():
    rng = np.random.default_rng(0)
    scores, label = rng.normal(size=(50, 8)), rng.integers(0, 8, 50)
    found = recall(scores, label == np.arange(8)[:, None]).metrics
    assert found["accuracy_top1"].value == 100 * (scores.argmax(axis=1) == label).mean()
    second = np.argsort(-scores, axis=1)[:, :5] == label[:, None]
    assert found["accuracy_top5"].value == 100 * second.any(axis=1).mean()
    assert found["accuracy_top1"].chance == pytest.approx(12.5)
    assert found["accuracy_top5"].chance == pytest.approx(62.5)


def exactly(scores, prior, relevant, alpha: Fraction) -> Fraction:
    """R@1 from image to text of whole numbers at one alpha, without rounding; a tie is lost."""
    right = []
    for i, row in enumerate(scores.tolist()):
        own, others = [], [Fraction(-(10**9))]
        for j, score in enumerate(row):
            (own if relevant[j, i] else others).append(score - alpha * int(prior[j]))
        right += [max(own) > max(others)] if own else []
    return Fraction(100 * sum(right), len(right))


@pytest.mark.parametrize("seed", range(12))
def test_the_curve_is_exact_on_every_step_and_edge(seed):
    """Small whole numbers tie often, three lines cross at one point, and captions belong to 0, 1 or several images."""
    rng = np.random.default_rng(seed)
    n, m, most = rng.integers(1, 7), rng.integers(2, 9), rng.choice([3, 12])
    scores, prior = -rng.integers(0, most, (n, m)), -rng.integers(0, most, m)
    relevant = rng.random((m, n)) < 0.4
    relevant[0, 0] = True
    curve = recall_curve(scores.astype(float), prior.astype(float), relevant).curve
    edges = [Fraction(float(x)).limit_denominator(int(most)) for x in curve.edges]
    assert curve.edges.tolist() == [float(x) for x in edges]
    middles = [(a + b) / 2 for a, b in pairwise(edges)]
    for points, found in ((edges, curve.at), (middles, curve.values)):
        wanted = [float(exactly(scores, prior, relevant, x)) for x in points]
        assert found == pytest.approx(wanted)
    assert curve.value(np.array([float(x) for x in middles])) == pytest.approx(curve.values)
    # and every change has its edge
    for x in {Fraction(a, b) for b in range(1, 8) for a in range(b + 1)} - set(edges):
        assert float(curve.value(float(x))) == pytest.approx(float(exactly(scores, prior, relevant, x)))


def test_a_best_alpha_between_two_thousandths_is_found():
    """One image is right above 0.5002, another below 0.5008: both only between the points of the paper's grid."""
    scores = np.array([[-15.002, -10.0, -90.0, -90.0], [-90.0, -90.0, -10.0, -15.008]])
    prior, relevant = np.array([-20.0, -10.0, -10.0, -20.0]), np.zeros((4, 2), dtype=bool)
    relevant[0, 0] = relevant[2, 1] = True
    found = recall_curve(scores, prior, relevant)
    best = found.curve.best()
    assert best.value == 100 and (best.low, best.high) == pytest.approx((0.5002, 0.5008))
    assert found.hits(best.alpha).all() and found.hits(0.5).tolist() == [False, True]


def test_the_best_interval_of_a_curve_and_its_ends():
    """One image: true -2, other -1, priors -4 and -1: right above 1/3, as in test_debias."""
    found = recall_curve(np.array([[-2.0, -1.0]]), np.array([-4.0, -1.0]), np.array([[True], [False]]))
    assert found.curve.values.tolist() == [0, 100] and found.curve.at.tolist() == [0, 0, 100]
    best = found.curve.best()
    assert (best.low, best.high, best.alpha) == pytest.approx((1 / 3, 1, 2 / 3))


def test_alpha_of_one_half_of_the_images_is_measured_on_the_other():
    """By the definition, on the paper's grid; images keep all captions as rivals."""
    scores, relevant = several(seed=5)
    prior = np.random.default_rng(1).normal(-6, 3, len(relevant))
    study = RetrievalStudy(scores, relevant, prior, seed=7)
    grid, rng = np.arange(1001) / 1000, np.random.default_rng(7)
    hits = np.stack([study.recall_at_1.hits(alpha) for alpha in grid])
    for alpha, value, zero, one in zip(*study.recall_at_1.validated(seed=7), strict=True):
        order = rng.permutation(hits.shape[1])
        chosen_on, rest = order[: len(order) // 2], order[len(order) // 2 :]
        shares = hits[:, chosen_on].mean(axis=1)
        place = round(alpha * 1000)
        assert shares[place] == shares.max()
        wanted = 100 * hits[:, rest][[place, 0, 1000]].mean(axis=1)
        assert (value, zero, one) == pytest.approx(tuple(wanted))
    held = study.record()["validated"]
    assert held["label"] == "held out" and held["metric"] == "image_to_text_r1"
    assert held["value"]["mean"] == pytest.approx(study.recall_at_1.validated(seed=7).values.mean(), abs=1e-4)


def test_alpha_moves_no_caption_to_image_retrieval():
    scores, relevant = several(seed=3)
    record = RetrievalStudy(scores, relevant).record()
    back = [record[name]["metrics"]["text_to_image_r1"]["value"] for name in ("alpha_0", "alpha_1", "best")]
    assert len(set(back)) == 1
    best = record["best"]["metrics"]["image_to_text_r1"]["value"]
    assert best >= max(record[n]["metrics"]["image_to_text_r1"]["value"] for n in ("alpha_0", "alpha_1"))
    assert record["best"]["label"] == "tuned on test"


@pytest.mark.parametrize(
    ("scores", "relevant", "words"),
    [
        (np.zeros((2, 3)), np.zeros((2, 3), dtype=bool), "do not fit"),
        (np.full((2, 3), np.nan), np.ones((3, 2), dtype=bool), "not a finite number"),
        (np.zeros((2, 3)), np.zeros((3, 2), dtype=bool), "nothing to retrieve"),
    ],
)
def test_bad_input_is_one_sentence(scores, relevant, words):
    with pytest.raises(InputError, match=words):
        recall(scores, relevant)


def test_an_alpha_from_other_images_is_measured_on_these_image_by_image():
    chosen, here = several(seed=1), several(seed=2)
    found = RetrievalStudy(*chosen).transfer_alpha(RetrievalStudy(*here))
    other = recall_curve(chosen[0], prior_from_samples(chosen[0]), chosen[1])
    assert found["alpha"] == other.curve.best().alpha
    plain = recall(debias(here[0], prior_from_samples(here[0]), found["alpha"]), here[1]).recall
    assert found["metrics"]["image_to_text_r1"]["value"] == pytest.approx(
        plain["image_to_text_r1"].value, abs=1e-3
    )
    before = recall(here[0], here[1], (1,)).recall["image_to_text_r1"].value
    gain = found["gain"]
    assert gain["difference"] == pytest.approx(plain["image_to_text_r1"].value - before)
    assert gain["fixed"] - gain["broken"] == round(gain["difference"] / 100 * 12)


def test_captions_that_name_classes_give_an_accuracy_and_others_do_not():
    label = np.array([0, 1, 1, 0, 2])
    scores = np.eye(3)[label]
    found = recall(scores, label == np.arange(3)[:, None]).record()["metrics"]
    assert (found["accuracy_top1"]["value"], found["accuracy_top1"]["chance"]) == (100, 33.33333333)
    assert "accuracy_top5" not in found  # of three classes
    assert recall(*several()).metrics.keys() == recall(*several()).recall.keys()


def test_the_command_finds_both_ways_for_any_model(tiny_clip_folder, monkeypatch):
    import json

    from typer.testing import CliRunner

    from core import cli
    from core.datasets import load_retrieval

    some = load_retrieval("scenes/retrieval", "test")
    monkeypatch.setattr("core.debiasing.retrieval.load_retrieval", lambda *args: some)
    words = [
        "recall",
        "--benchmark",
        "scenes/retrieval",
        "--model",
        str(tiny_clip_folder),
        "--items",
        "5",
        "--json",
    ]
    done = CliRunner().invoke(cli.app, words)
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert record["images"] == 5 and record["captions"] == int(some.relevant[:, :5].any(axis=1).sum())
    assert {"image_to_text_r1", "text_to_image_r5"} <= record["metrics"].keys()
    assert record["metrics"]["image_to_text_r1"]["chance"] > 0


@pytest.mark.parametrize("levels", [None, 4])
def test_recall_from_blocks_is_that_of_the_matrix(levels):
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(12, 40)) if levels is None else rng.integers(0, levels, (12, 40)).astype(float)
    relevant = rng.random((40, 12)) < 0.1
    found = recall(AllPairs(lambda part: scores[part], 12, 40), np.nonzero(relevant))
    assert found.record() == recall(scores, relevant).record()


def test_a_large_set_is_measured_from_embeddings_to_the_same_recall(
    tiny_clip_folder, toy_groups, monkeypatch
):
    from core.datasets.sets import RetrievalSet
    from core.debiasing import retrieval

    images = tuple(toy_groups.unique_images()[0])[:10]
    queries = tuple(f"a {colour} thing number {i}" for colour in ("red", "blue") for i in range(len(images)))
    links = np.column_stack([np.arange(len(queries)), np.tile(np.arange(len(images)), 2)])
    some = RetrievalSet("toy", "test", images, queries, links)
    monkeypatch.setattr(retrieval, "load_retrieval", lambda *args: some)
    for items in (None, 4):
        whole = retrieval.retrieval_record("toy", "test", str(tiny_clip_folder), items)
        with monkeypatch.context() as patch:
            patch.setattr(retrieval, "MAX_TABLE_SCORES", 3)
            patch.setattr(retrieval, "score_matrix", None)  # no table
            blocks = retrieval.retrieval_record("toy", "test", str(tiny_clip_folder), items)
        assert blocks == whole
        assert blocks["images"] == (items or len(images)) and blocks["captions"] == 2 * blocks["images"]


def test_a_choice_among_a_query_s_own_images_is_lost_in_a_tie_and_chance_is_by_its_size():
    """Right, lost, tied; the third query has two images, so that chance is the mean of 1/3, 1/3 and 1/2."""
    scores = np.array([[3.0, 1.0, 2.0], [0.0, 1.0, -1.0], [2.0, 2.0, 9.0]])
    right = np.array([[True, False, False]] * 3)
    offered = np.array([[True] * 3, [True] * 3, [True, True, False]])
    found = RecallResult.of_choices(scores, right, offered)
    assert found.record()["metrics"]["image_choice"]["value"] == pytest.approx(100 / 3, abs=1e-3)
    assert found.recall["image_choice"].chance == pytest.approx(100 * (1 / 3 + 1 / 3 + 1 / 2) / 3)
    assert found.recall["image_choice"].ties == 1
    assert found.mean_rank == {"text_to_image": pytest.approx((1 + 2 + 2) / 3)}
    ranks, tied = RecallResult.choice_ranks(scores, right, offered)
    assert ranks.tolist() == [1, 2, 2] and tied.tolist() == [False, False, True]


def test_captions_that_share_an_image_hang_together_and_a_filled_place_is_no_image():
    assert Clusters.of_choices(np.array([[0, 1, -1], [2, 3, -1], [4, 5, 6]])) is None
    found = Clusters.of_choices(np.array([[0, 1, -1], [2, 3, -1], [3, 4, 5], [6, 7, -1]]))
    assert found is not None and found.by == "image"
    assert found.labels[1] == found.labels[2] and found.count == 3


def test_the_first_images_keep_the_choices_among_them_and_which_image_is_right():
    from core.datasets.sets import RetrievalSet

    items = [("a", "xyz", 1), ("b", "zvw", 2), ("c", "xy", 0), ("d", "yz", 1)]
    whole = RetrievalSet.of_choices("toy", "test", items)
    assert whole.right_choices.tolist() == [
        [False, True, False],
        [False, False, True],
        [True, False, False],
        [False, True, False],
    ]
    assert whole.first_choices(None) is whole
    some = whole.first_choices(3)
    assert (some.images, some.queries) == (("x", "y", "z"), ("a", "c", "d"))
    assert np.array_equal(some.right_choices, whole.right_choices[[0, 2, 3]])
    assert some.links.tolist() == [[0, 1], [1, 0], [2, 2]]


def test_a_set_of_choices_scores_its_own_pairs_alone_and_has_nothing_to_debias(
    tiny_clip_folder, toy_groups, monkeypatch
):
    from core.datasets.sets import RetrievalSet
    from core.debiasing import retrieval

    images = tuple(toy_groups.unique_images()[0])[:5]
    items = [("a red thing", images[:3], 1), ("a blue thing", images[3:], 0), ("a red thing", images[2:4], 0)]
    some = RetrievalSet.of_choices("toy", "test", items)
    monkeypatch.setattr(retrieval, "load_retrieval", lambda *args: some)
    model = str(tiny_clip_folder)
    table = retrieval.score_matrix(retrieval.lazy_scorer(model), list(images), list(some.queries))
    monkeypatch.setattr(retrieval, "score_matrix", None)  # no table of all with all
    asked = []
    record = retrieval.retrieval_record(
        "toy", "test", model, progress=lambda done, total: asked.append(total)
    )
    assert set(asked) == {6}  # one pair is asked for twice
    wins = [table[1, 0] > max(table[0, 0], table[2, 0]), table[3, 1] > table[4, 1], table[2, 2] > table[3, 2]]
    assert record["metrics"]["image_choice"]["value"] == pytest.approx(100 * np.mean(wins), abs=1e-3)
    clustered = record["metrics"]["image_choice"][
        "clustered"
    ]  # the third shares an image with each of the others
    assert (clustered["by"], clustered["clusters"], clustered["largest"]) == ("image", 1, 100)
    assert (record["images"], record["captions"], record["left_out"]) == (5, 3, {})
    first = retrieval.retrieval_record("toy", "test", model, 4)
    assert (first["images"], first["captions"]) == (4, 2)
    with pytest.raises(
        InputError, match="No caption of toy chooses among its first 2 images alone; ask for 3"
    ):
        retrieval.retrieval_record("toy", "test", model, 2)
    with pytest.raises(
        InputError, match=r"there is nothing to debias\. `crossmatch recall toy` measures the choice"
    ):
        retrieval.score_table("toy", "test", model)


@pytest.mark.parametrize("items", [[("a", "xx", 0)], [("a", "x", 0)], [("a", "xy", 2)]])
def test_a_choice_without_two_images_or_a_right_one_is_an_error(items):
    from core.datasets.sets import RetrievalSet

    with pytest.raises((ValueError, IndexError), match=r"for 'a'|'a' has not two or more"):
        RetrievalSet.of_choices("toy", "test", items)


@pytest.mark.parametrize("items", [0, -5])
def test_fewer_than_one_image_is_one_sentence(items):
    from core.debiasing import retrieval

    for ask in (retrieval.retrieval_record, retrieval.score_table):
        with pytest.raises(InputError, match=f"{items} images were asked for; ask for 1 or more"):
            ask("scenes/retrieval", "test", "builtin/clip", items)


def test_a_retrieval_set_is_debiased_on_the_command_line(make, monkeypatch):
    import json

    from typer.testing import CliRunner

    from core import cli
    from core.datasets import load_retrieval

    some = load_retrieval("scenes/retrieval", "test")
    monkeypatch.setattr("core.debiasing.retrieval.load_retrieval", lambda *args: some)
    folder = str(make("blip-caption"))
    words = ["alpha", "--benchmark", "scenes/retrieval", "--model", folder, "--items", "3", "--json"]
    own, noise = (
        json.loads(CliRunner().invoke(cli.app, [*words, *more]).stdout)
        for more in ((), ("--prior", "gaussian"))
    )
    assert own["prior"]["line"] == "the set's own 3 images"
    assert noise["prior"]["line"] == "3 Gaussian noise images"
    assert own["alpha_0"] == noise["alpha_0"] and own["best"]["label"] == "tuned on test"
    wrong = CliRunner().invoke(cli.app, [*words, "--prior", "train"])
    assert isinstance(wrong.exception, InputError)


def test_alpha_of_the_validation_split_is_written_with_both_curves(make, monkeypatch, tmp_path):
    import json

    import pandas as pd
    from typer.testing import CliRunner

    from core import cli
    from core.datasets import load_retrieval

    sets = {split: load_retrieval("scenes/retrieval", split) for split in ("test", "validation")}
    monkeypatch.setattr("core.debiasing.retrieval.load_retrieval", lambda name, split: sets[split])
    words = ["alpha", "--benchmark", "scenes/retrieval", "--model", str(make("blip-caption")), "--items", "4"]
    words += ["--tune-on", "validation", "--out", str(tmp_path)]
    found = CliRunner().invoke(cli.app, words)
    record = json.loads((tmp_path / "alpha.json").read_text())["tuned_on"]
    assert record["split"] == "validation" and f"alpha = {record['alpha']:.3f}, chosen on" in found.stdout
    assert "R@1 from image to text with the alpha of validation: " in found.stdout
    curves = {name: pd.read_csv(tmp_path / f"{name}.csv") for name in ("curves", "curves_tune_on")}

    def at_alpha(table):
        inside = (table["alpha_from"] < record["alpha"]) & (record["alpha"] < table["alpha_to"])
        return table[inside].iloc[0]

    chosen = curves["curves_tune_on"]["percent"].max()
    assert at_alpha(curves["curves_tune_on"])["percent"] == chosen
    assert chosen == pytest.approx(record["chosen_on"]["value"], abs=1e-3)
    here, value = at_alpha(curves["curves"]), record["metrics"]["image_to_text_r1"]
    assert here[["percent", "low", "high"]].tolist() == pytest.approx(
        [value["value"], value["low"], value["high"]], abs=1e-3
    )


# --- inside the training set -------------------------------------------------------------------------------------


def test_training_pairs_are_scenes_and_captions_of_the_models_own_training_data(tmp_path):
    from benchmarks.results.training_set import training_pairs
    from core.scenes.training_data import DataRecipe, TrainingData

    recipe = DataRecipe(singles=30, twins=0, detail=0.15)
    data = TrainingData.of(recipe, 0, cache=tmp_path)
    pairs = training_pairs(recipe, 12)
    assert len(set(pairs.captions)) == 12
    said = {caption: row for row, captions in enumerate(data.captions) for caption in captions}
    rows = [said[caption] for caption in pairs.captions]
    assert rows == sorted(rows)
    for row, image in zip(rows, pairs.images, strict=True):
        assert (np.asarray(image.open(data.images.shape[1])) == data.images[row]).all()
    assert pairs.relevant.diagonal().all() and not pairs.relevant.all()


class Copier:
    """Scores with a bias towards common captions: log P(t|i) + beta log P(t), all in the open."""

    name = key = "copier"

    def __init__(self, table):
        self.table = table

    def score(self, images, captions, pairs):
        return self.table[pairs[:, 0], pairs[:, 1]].astype(np.float32)


def test_a_model_biased_towards_common_captions_has_a_best_alpha_above_zero_on_its_training_set():
    from benchmarks.results.training_set import TrainingPairs, training_retrieval

    rng = np.random.default_rng(0)
    n = 120
    common = rng.normal(0, 2.0, n)
    table = np.where(np.eye(n, dtype=bool), 2.5, 0) + rng.normal(0, 0.7, (n, n)) + common
    images = [type("Ref", (), {"key": str(i)})() for i in range(n)]
    pairs = TrainingPairs(images, [f"caption {i}" for i in range(n)], np.eye(n, dtype=bool))
    rows = training_retrieval(Copier(table), pairs, (30, n))
    assert [row["size"] for row in rows] == [30, n]
    for row in rows:
        assert row["alpha"] > 0.3 and row["beta"] == pytest.approx(row["alpha"] / (1 - row["alpha"]))
        assert row["best"]["value"] >= max(row["alpha_0"]["value"], row["alpha_1"]["value"])
        assert row["gain"]["value"] == pytest.approx(row["best"]["value"] - row["alpha_0"]["value"], abs=1e-3)
        assert row["gain"]["low"] > 0
        assert len(row["curve"]["alpha"]) == len(row["curve"]["value"]) == 101
    assert rows[1]["alpha_0"]["value"] < rows[0]["alpha_0"]["value"]  # more texts, more rivals


def test_a_transferred_alpha_is_the_best_one_with_the_other_set_s_own_prior():
    """By the curve of the other set, with priors that are given and with the default ones."""
    other, scores = several(seed=3), several(seed=4)
    rng = np.random.default_rng(0)
    priors = (rng.normal(-3, 2, len(other[1])), rng.normal(-3, 2, len(scores[1])))
    for given in (None, priors):
        used = (prior_from_samples(other[0]), prior_from_samples(scores[0])) if given is None else given
        curve = recall_curve(other[0], used[0], other[1])
        studies = [
            RetrievalStudy(*each, p) for each, p in zip((other, scores), given or (None, None), strict=True)
        ]
        found = studies[0].transfer_alpha(studies[1])
        best = curve.curve.best()
        assert found["alpha"] == best.alpha
        here = recall_curve(scores[0], used[1], scores[1])
        wanted = 100 * (here.hits(best.alpha).mean() - here.hits(0.0).mean())
        assert found["gain"]["difference"] == pytest.approx(wanted)
        chosen_on = found["chosen_on"]
        assert chosen_on["value"] == pytest.approx(best.value, abs=1e-3)
        assert (chosen_on["alpha_low"], chosen_on["alpha_high"]) == (best.low, best.high)
        if given is not None:  # with its own images' prior one of the two curves is flat
            grid = np.linspace(0, 1, 1001)
            expected = np.corrcoef(curve.curve.value(grid), here.curve.value(grid))[0, 1]
            assert found["correlation"] == pytest.approx(expected, abs=1e-4)


def test_a_flat_curve_correlates_with_nothing_and_the_curves_have_exact_intervals():
    """One image of one caption is right at every alpha; R@1 of 1 of 1 is at least 2.5 %, by Clopper and Pearson."""
    sure, other = (
        RetrievalStudy(np.zeros((1, 1)), np.ones((1, 1), dtype=bool)),
        RetrievalStudy(*several(seed=3)),
    )
    assert sure.transfer_alpha(other)["correlation"] is None
    table = sure.curve_table()
    assert table["alpha"].tolist() == [0, 0.5, 1] and table["ends"].tolist() == ["closed", "open", "closed"]
    assert table[["percent", "low", "high"]].drop_duplicates().values.tolist() == [[100, 2.5, 100]]
