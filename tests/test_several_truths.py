"""Several captions that are true of one image: what every piece makes of truth int (n, t), against brute force."""

import json
from dataclasses import replace
from itertools import product
from math import comb

import numpy as np
import pytest

from benchmarks.safety.samples import png
from core import datasets
from core.audit import Audit, _facts
from core.base.errors import InputError
from core.datasets.embeddings import RowImage
from core.datasets.score_files import read_scores, write_scores
from core.debiasing.blind import blind_baseline
from core.debiasing.study import AlphaStudy
from core.exchange import importing
from core.exchange.groups import export_groups
from core.figures import group_html
from core.groups import BytesImage, Group, GroupSet
from core.metrics import groups as metrics
from core.metrics.evaluation import Evaluation
from core.scoring.load import load_scorer
from core.ttm.config import TTMConfig
from core.ttm.explain import explain
from core.ttm.loop import run_ttm
from core.ttm.records import step_record

RNG = np.random.default_rng(3)


def all_ahead(scores: np.ndarray, truth: np.ndarray) -> list[bool]:
    """Each true caption beats each other one, pair by pair."""
    return [
        all(row[j] > row[o] for j, o in product(own, set(range(len(row))) - set(own)))
        for row, own in zip(scores[:, 0].tolist(), truth.tolist(), strict=True)
    ]


def drawn(n: int, k: int, t: int, levels: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Scores with many ties, and t true captions of k in any order."""
    truth = np.stack([RNG.permutation(k)[:t] for _ in range(n)])
    return RNG.integers(0, levels, (n, 1, k)).astype(float), truth


def any_ahead(scores: np.ndarray, truth: np.ndarray) -> list[bool]:
    """Some true caption beats every other one that is not true."""
    return [
        max(row[j] for j in own) > max(row[o] for o in set(range(len(row))) - set(own))
        for row, own in zip(scores[:, 0].tolist(), truth.tolist(), strict=True)
    ]


@pytest.mark.parametrize(("k", "t"), [(3, 2), (4, 2), (4, 3), (9, 5), (12, 2)])
def test_a_metric_asks_for_each_true_caption_and_the_matching_for_any(k, t):
    scores, truth = drawn(400, k, t)
    found = metrics.outcomes(scores, truth)
    assert set(found) == {"text_score", "group_score", "group_match", "individual_match"}
    helped = scores + 1e-9 * np.eye(k)[truth].sum(axis=1)[:, None]
    for name, outcome in found.items():
        rule = any_ahead if name == "group_match" else all_ahead
        assert outcome.value.tolist() == rule(scores, truth)
        loose = np.array(rule(helped, truth))
        assert outcome.tied.tolist() == (loose & ~outcome.value.astype(bool)).tolist()


@pytest.mark.parametrize(("k", "t"), [(3, 1), (3, 2), (5, 2)])
def test_chance_is_one_over_the_choices_of_true_captions_and_of_a_matching_their_share(k, t):
    scores, truth = RNG.random((40_000, 1, k)), np.tile(np.arange(t), (40_000, 1))
    for name, found in metrics.evaluate(scores, truth).items():
        level = t / k if name == "group_match" else 1 / comb(k, t)
        assert found.chance == pytest.approx(100 * level)
        assert metrics.chance(name, 1, k, t) == pytest.approx(level)
        assert found.value == pytest.approx(found.chance, abs=1)


def test_the_order_in_which_truth_is_named_and_captions_stand_changes_nothing():
    scores, truth = drawn(200, 4, 2)
    order = RNG.permutation(4)
    there = np.argsort(order)
    for other, own in ((scores, truth[:, ::-1]), (scores[:, :, order], there[truth])):
        a, b = (metrics.outcomes(s, t)["group_match"] for s, t in ((scores, truth), (other, own)))
        assert np.array_equal(a.value, b.value)
        assert np.array_equal(a.tied, b.tied)


def test_torch_gives_what_numpy_gives():
    torch = pytest.importorskip("torch")
    scores, truth = drawn(100, 4, 2)
    ours, theirs = (metrics.outcomes(as_(scores), as_(truth)) for as_ in (np.asarray, torch.from_numpy))
    for name in ours:
        assert np.array_equal(ours[name].value, theirs[name].value.numpy())
        assert np.array_equal(ours[name].tied, theirs[name].tied.numpy())


def test_a_matching_is_right_where_it_gives_the_image_one_of_its_captions():
    scores = np.array([[[3.0, 1.0, 2.0]], [[1.0, 3.0, 2.0]], [[1.0, 2.0, 3.0]]])
    truth = np.array([[0, 1]] * 3)
    matches = metrics.match_and_evaluate(scores, truth)[0]
    assert metrics.oracle_mask(truth)(matches).tolist() == [True, True, False]
    assert metrics.precision(matches.matching, np.ones(3, bool), truth) == pytest.approx(2 / 3)
    assert metrics.threshold_curve(matches, truth).precision[-1] == pytest.approx(2 / 3)


@pytest.mark.parametrize("name", ["text_score", "group_match", "individual_match"])
def test_a_curve_over_alpha_is_what_each_alpha_gives(name):
    scores, prior = RNG.normal(size=(60, 1, 4)), RNG.normal(size=(60, 4))
    truth = np.stack([RNG.permutation(4)[:2] for _ in range(60)])
    study = AlphaStudy(scores, prior, truth, [str(i) for i in range(60)])
    curve = study.curve(name)
    for alpha in np.linspace(0.013, 0.987, 40):
        rule = any_ahead if name == "group_match" else all_ahead
        direct = 100 * np.mean(rule(scores - alpha * prior[:, None], truth))
        assert float(curve.value(np.array([alpha]))[0]) == pytest.approx(direct)
    assert study.frequency.true.shape == (120,)


def test_an_evaluation_shows_every_true_caption_of_a_group():
    evaluation = Evaluation.of(np.array([[[3.0, 1.0, 2.0]]]), np.array([[0, 1]]))
    data = evaluation.group(0)
    assert data.truth_pairs == [(0, 0), (0, 1)]
    assert (data.true.tolist(), data.row_rival.tolist()) == ([3.0, 1.0], [2.0, 2.0])
    assert (data.true_total, data.rival_total) == (3.0, 2.0)
    assert metrics.METRICS["text_score"].verdict(data).endswith("A–1: 3.00 > 2.00 · A–2: 1.00 < 2.00")
    assert metrics.METRICS["group_match"].verdict(data).endswith("3.00 > 2.00")
    assert data.kinds == dict.fromkeys(data.kinds, "wrong") | {"group_match": "right"}
    assert metrics.METRICS["individual_match"].verdict(data).startswith("1 of its 2 true captions")
    levels = {name: e["chance"] for name, e in evaluation.record()["metrics"].items()}
    assert levels["text_score"] == pytest.approx(100 / 3, abs=1e-3)
    assert levels["group_match"] == pytest.approx(200 / 3, abs=1e-3)


def test_all_images_with_all_captions_is_left_out_and_says_why():
    scores, truth = drawn(4, 3, 2)
    evaluation = Evaluation.of(scores, truth, global_scores=RNG.random((4, 12)))
    assert "global_match" not in evaluation.metrics
    assert "Several captions are true of an image" in evaluation.left_out["global_match"]


def test_a_blind_check_compares_with_the_chance_of_all_true_captions():
    scores, truth = RNG.random((300, 1, 3)), np.tile([0, 1], (300, 1))
    scores[:, 0, 2] -= 2  # the false caption is never likelier
    found = blind_baseline(scores, truth)
    assert found.verdict == "solved"
    assert found.found.chance == pytest.approx(100 / 3)
    assert found.found.value == 100
    assert blind_baseline(RNG.random((3000, 1, 3)), np.tile([0, 1], (3000, 1))).verdict == "no"


def picture(i: int) -> BytesImage:
    return BytesImage(bytes([i]), f"{i}")


def triple(i: int, truth: tuple[int, ...] | None) -> Group:
    return Group(f"g{i}", (picture(i),), (f"one {i}", f"two {i}", f"three {i}"), truth)


def test_groups_name_several_captions_of_one_image_and_keep_them():
    groups = GroupSet("set", tuple(triple(i, (0, 1)) for i in range(5)))
    assert groups.truth.tolist() == [[0, 1]] * 5
    assert groups[0].truth_pairs == [(0, 0), (0, 1)]
    assert groups.blind().truth is None
    shuffled = groups.permute_captions(1)
    for group in shuffled:
        assert {group.captions[j][:3] for j in group.truth} == {"one", "two"}


@pytest.mark.parametrize("truth", [(0, 1, 2), (0, 0), (0, 3), ()])
def test_a_truth_that_leaves_no_false_caption_or_names_one_twice_is_refused(truth):
    with pytest.raises(InputError, match="Truth"):
        triple(0, truth)


def test_groups_of_several_images_have_one_caption_each():
    with pytest.raises(InputError, match=r"Truth has shape \(1, 3\)"):
        Group("g", (picture(0), picture(1)), ("a", "b", "c", "d"), (0, 1, 2))


def test_a_set_whose_groups_name_different_numbers_says_so():
    groups = GroupSet("set", (triple(0, (0, 1)), triple(1, (2,))))
    with pytest.raises(InputError, match="'set' name 1 to 2 captions as true of an image"):
        _ = groups.truth


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        # By their number of true captions; the first group's is not what the others are held to.
        (
            [1, 2, 2, 2],
            "group 'g0' has 1 caption with match = 1; other groups have 2, and all need as many, so put",
        ),
        (
            [2, 2, 1, 2],
            "group 'g2' has 1 caption with match = 1; other groups have 2, and all need as many, so put",
        ),
        ([2, 2, 0, 2], "group 'g2' has 0 captions with match = 1; other groups have 2, and all need as many"),
        (
            [1, 1, 2, 1],
            "group 'g2' has 2 captions with match = 1; it needs exactly one, or every group as many",
        ),
        (
            [0, 0, 0, 0],
            "group 'g0' has 0 captions with match = 1; it needs exactly one, or every group as many",
        ),
        ([3, 3, 3, 3], "group 'g0' has 3 captions with match = 1; all 3 cannot be true"),
    ],
)
def test_the_group_whose_number_of_true_captions_differs_is_blamed(tmp_path, counts, says):
    rows = [f"g{g},0,{j},{j + g / 10},{int(j < count)}\n" for g, count in enumerate(counts) for j in range(3)]
    (tmp_path / "s.csv").write_text("group,image,caption,score,match\n" + "".join(rows))
    with pytest.raises(InputError) as caught:
        read_scores(tmp_path / "s.csv")
    assert f"image '0' of {says}" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npz", ".jsonl"])
def test_every_score_file_keeps_several_truths(tmp_path, ending):
    scores, truth = drawn(7, 4, 2)
    truth = np.sort(truth, axis=1)
    path = tmp_path / f"scores{ending}"
    write_scores(path, scores, truth=truth)
    found = read_scores(path)
    assert found.truth.tolist() == truth.tolist()
    assert np.array_equal(found.scores, scores)


def test_a_score_file_with_different_numbers_of_truths_is_one_sentence(tmp_path):
    rows = [{"c0_i0": 1, "c1_i0": 2, "c2_i0": 3, "truth": truth} for truth in ([2], [0, 1], [1, 2])]
    path = tmp_path / "scores.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InputError, match="`truth` of group '0' names 1 caption, that of other groups 2; all"):
        read_scores(path)


def test_a_run_s_history_counts_a_label_of_any_true_caption_as_right():
    scores = np.array([[[3.0, 1.0, 2.0]], [[1.0, 2.0, 3.0]]])
    arrays = [
        {
            "scores": scores,
            "selected": np.array([True, True]),
            "matching": np.array([[0], [2]]),
            "margin": np.ones(2),
        }
    ] * 2
    table = explain(arrays, np.array([[0, 1], [0, 1]]), ["a", "b"])
    assert table["label_right"].tolist() == [True, False]
    assert table["after"].tolist() == [True, False]
    assert explain(arrays, np.array([[0, 1]] * 2), ["a", "b"], "text_score")["after"].tolist() == [
        False,
        False,
    ]


# --- the same through pages' and commands' pieces


@pytest.fixture
def pictured() -> GroupSet:
    """Groups of one image and three captions, of which two are true, at changing places."""
    orders = [RNG.permutation(3) for _ in range(40)]
    texts = ["a {} dog on grass", "on grass a {} dog", "a {} cat on some white sand"]
    words = ["red", "tall", "wet", "old", "shy"]
    groups = []
    for i, order in enumerate(orders):
        captions = tuple(f"{texts[j].format(words[i % 5])} {i}" for j in order)
        truth = tuple(int(np.flatnonzero(order == j)[0]) for j in range(2))
        groups.append(Group(f"g{i}", (BytesImage(png(i)),), captions, truth))
    return GroupSet("pictured", tuple(groups))


@pytest.mark.parametrize("name", ["set", "set.zip", "set.parquet"])
def test_groups_come_back_with_all_their_truths(tmp_path, monkeypatch, pictured, name):
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path / "home"))
    staged = importing.stage_import(export_groups(pictured, tmp_path / name))
    assert staged.total == 0
    staged.add_benchmark("again")
    assert [g.truth for g in datasets.load("mine/again")] == [g.truth for g in pictured]


def test_a_table_that_names_every_caption_of_an_image_as_true_is_refused(tmp_path, pictured):
    (tmp_path / "images").mkdir()
    (tmp_path / "images/0.png").write_bytes(png(0))
    row = {"images": ["images/0.png"], "captions": ["a", "b", "c"], "truth": [0, 1, 2]}
    (tmp_path / "groups.jsonl").write_text(json.dumps(row))
    staged = importing.stage_import(tmp_path)
    assert staged.groups == 0
    assert "does not say which caption belongs to which image" in staged.problems[0].what


def test_an_audit_takes_both_true_captions_for_right(pictured):
    """A rule that chooses one of three captions, two of them true, is right in two of three groups by chance."""
    unlike = tuple(
        replace(g, images=(RowImage(g.id),)) for g in pictured
    )  # its pictures are one red after another
    findings = {f.key: f for f in Audit.of(replace(pictured, groups=unlike)).findings}
    assert findings["length"].found.chance == pytest.approx(200 / 3)
    assert findings["position"].found.chance == pytest.approx(100 / 3)
    assert findings["words"].found.value == pytest.approx(100, abs=15)  # dogs are right, cats are wrong
    assert findings["contradictions"].verdict == "cannot tell"  # no picture is in two groups


def test_a_blind_word_order_ceiling_counts_ways_to_choose_both():
    """Both true captions have the words of the false one: one way of three to name the two."""
    texts = ("a dog sees a cat", "sees a cat a dog", "a cat sees a dog")
    groups = GroupSet("s", tuple(Group(f"{i}", (BytesImage(png(i)),), texts, (0, 1)) for i in range(3)))
    assert _facts.word_order(groups).found.value == pytest.approx(100 / 3)


def test_a_group_is_drawn_with_every_true_pair(pictured):
    data = Evaluation.of(np.array([[[3.0, 1.0, 2.0]]]), np.array([[0, 1]])).group(0)
    assert [cell.true for cell in group_html.matrix_cells(data)[0]] == [True, True, False]
    assert list(group_html.matching_lines(data)) == [(0, 0, "right")]
    wrong = Evaluation.of(np.array([[[1.0, 2.0, 3.0]]]), np.array([[0, 1]])).group(0)
    assert list(group_html.matching_lines(wrong)) == [(0, 0, "tie"), (0, 1, "tie"), (0, 2, "wrong")]
    group = pictured[0]
    told = group_html.image_descriptions(group)[0]
    assert all(group.captions[j] in told for j in group.truth)
    # Of an enlarged picture nobody saw what the model had chosen; not where a student predicts first.
    assert group_html.image_descriptions(group, data=wrong)[0] == f"{told}; the model gives it caption 3"
    assert "gives" not in group_html.image_descriptions(group, described=False, data=wrong)[0]


def test_test_time_matching_runs_and_measures_both(make, pictured):
    steps = list(
        run_ttm(load_scorer(str(make("clip")), "cpu"), pictured.blind(), TTMConfig(iterations=1, epochs=1))
    )
    record = step_record(steps[-1], pictured.truth)
    for name, rule, level in (("group_match", any_ahead, 200 / 3), ("text_score", all_ahead, 100 / 3)):
        direct = 100 * np.mean(rule(steps[-1].scores, pictured.truth))
        assert record["metrics"][name]["value"] == pytest.approx(direct, abs=1e-3)
        assert record["metrics"][name]["chance"] == pytest.approx(level, abs=1e-3)
    assert 0 <= record["precision"] <= 1
    assert sum(record["margins"]["right"]) == int(
        metrics.oracle_mask(pictured.truth)(steps[-1].matches).sum()
    )


def test_the_text_only_accuracy_of_sugarcrepe_plus_plus_is_text_score_of_summed_similarities():
    """TOT (evaluate_ulms.py of its authors): the true captions are more alike than either is like the negative one."""
    first, second, negative = RNG.normal(size=(3, 500, 4))
    both, one, other = (
        (a * b).sum(axis=1) for a, b in ((first, second), (first, negative), (second, negative))
    )
    expected = (both > one) & (both > other)
    scores = np.stack([both + one, both + other, one + other], axis=1)[:, None]
    found = metrics.outcomes(scores, np.tile([0, 1], (500, 1)))["text_score"]
    assert found.value.tolist() == expected.tolist()


def test_a_matching_may_be_right_on_two_stretches_of_alpha():
    """One true caption leads at alpha 0, the other at alpha 1, and the false one between."""
    scores, prior = np.array([[[4.0, 0.0, 3.0]]]), np.array([[9.0, 0.0, 3.5]])
    study = AlphaStudy(scores, prior, np.array([[0, 1]]), ["a"])
    curve = study.curve("group_match")
    # 4 - 9a against 3 - 3.5a: until 2/11; 0 against 3 - 3.5a: from 6/7
    assert curve.edges.tolist() == pytest.approx([0, 2 / 11, 6 / 7, 1])
    assert curve.values.tolist() == [100, 0, 100]
    assert curve.at.tolist() == [100, 0, 0, 100]
    assert curve.ties.tolist() == [0, 1, 1, 0]
    assert study.curve("text_score").values.max() == 0


def test_curves_with_many_ties_count_a_group_once():
    scores, truth = drawn(200, 4, 2, levels=3)
    prior = RNG.integers(0, 3, (200, 4)).astype(float)
    study = AlphaStudy(scores, prior, truth, [str(i) for i in range(200)])
    for name in ("group_match", "text_score"):
        curve = study.curve(name)
        assert 0 <= curve.values.min() <= curve.values.max() <= 100
        for alpha, at, ties in zip(curve.edges, curve.at, curve.ties, strict=True):
            if float(alpha) in (0.0, 0.5, 1.0):  # exact in floats
                outcome = study.evaluation(float(alpha)).outcomes[name]
                assert at == pytest.approx(100 * outcome.value.mean())
                assert ties == outcome.tied.sum()
