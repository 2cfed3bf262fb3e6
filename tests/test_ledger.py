"""The ledger of a gain: its parts in hand-made cases where each is known, its controls, the runs that measure it."""

import json
from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
import scipy

from core import figures
from core.base import files
from core.base.errors import InputError
from core.base.paths import assets
from core.figures._ledger import ledger_data
from core.groups import BytesImage, Group, GroupSet
from core.matching.groups import match
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE
from core.runs.description import Remains
from core.ttm._controls import CONTROLS, ITSELF, arm, arms
from core.ttm._ledger import PARTS, Ledger, halves
from core.ttm._pseudolabels import ScoredGroups, match_scored, prepare
from core.ttm.config import TTMConfig
from core.ttm.run import LedgerRun, SimpleMatchRun, TTMRun

IDENTITY = np.eye(2)


def parts(ledger):
    """Name of a part -> its points."""
    return {row.name: row.change.difference for row in ledger.rows()}


def evaluation(scores, truth=None):
    n, m, _ = np.shape(scores)
    return Evaluation.of(np.asarray(scores, float), np.tile(np.arange(m), (n, 1)) if truth is None else truth)


def scored(n, signal, bias=0.0, noise=0.0, seed=0):
    """Scores (n, 2, 2): signal on the true pairs, a preference for the first caption, noise."""
    rng = np.random.default_rng(seed)
    return signal * IDENTITY + bias * np.array([1.0, 0.0]) + noise * rng.normal(size=(n, 2, 2))


# ---- the parts


def test_of_scores_that_know_nothing_everything_is_the_metrics_own_luck():
    found = Ledger(evaluation(scored(4000, 0, noise=1.0)))
    (metric, bijections) = found.rows()
    # 2x2: chance levels of a half and a sixth.
    assert metric.change.difference == pytest.approx(100 / 3, abs=2)
    assert metric.change.low <= 100 / 3 <= metric.change.high
    assert bijections.change.low < 0 < bijections.change.high


def test_a_perfect_scorer_has_nothing_to_gain():
    frozen = evaluation(scored(50, 1.0))
    assert parts(Ledger(frozen, frozen)) == {"metric": 0.0, "bijections": 0.0, "training": 0.0}


def test_where_only_the_bijection_helps_it_gets_all_that_luck_leaves():
    # Both images prefer the first caption, and the total alone is right: GroupScore 0, GroupMatch 100. Luck would take
    # GroupMatch to 50 and leave GroupScore at 0.
    assert parts(Ledger(evaluation(scored(40, 0.1, bias=5.0)))) == {"metric": 50.0, "bijections": 50.0}


def test_a_scorer_that_ties_everywhere_gains_nothing():
    found = Ledger(evaluation(np.zeros((6, 2, 2))))
    assert parts(found) == {"metric": 0.0, "bijections": 0.0}
    assert {row.after.estimate.ties for row in found.rows()} == {6}


def test_groups_of_one_image_have_no_bijection_and_no_other_metric():
    frozen = evaluation(np.random.default_rng(0).normal(size=(30, 1, 4)))
    assert parts(Ledger(frozen)) == {"metric": 0.0, "bijections": 0.0}


@pytest.mark.parametrize("shape", [(2, 2), (1, 3), (2, 3), (3, 3)])
def test_luck_is_the_mean_over_every_matching_as_the_right_one(shape):
    m, k = shape
    scores = np.random.default_rng(1).integers(0, 4, size=(40, m, k)).astype(float)  # with ties
    every = [
        evaluation(scores, np.tile(matching, (40, 1))).outcomes for matching in permutations(range(k), m)
    ]
    expected = {metric: np.mean([o[metric].value for o in every]) for metric in (GROUP_SCORE, GROUP_MATCH)}
    row = Ledger(evaluation(scores)).rows()[0]
    assert row.before.estimate.value == pytest.approx(100 * expected[GROUP_SCORE])
    assert row.after.estimate.value == pytest.approx(100 * expected[GROUP_MATCH])


def test_the_parts_add_up_and_training_is_the_sum_of_its_own():
    frozen, adapted, first, second = (evaluation(scored(60, 0.3, noise=1.0, seed=i)) for i in range(4))
    pool = np.arange(60) < 25
    found = Ledger(frozen, adapted, {}, halves(first, second, pool))
    of = parts(found)
    start, end = frozen.metrics[GROUP_SCORE].value, adapted.metrics[GROUP_MATCH].value
    assert start + of["metric"] + of["bijections"] + of["training"] == pytest.approx(end)
    assert of["task"] + of["set"] + of["size"] == pytest.approx(of["training"])
    assert set(of) == set(PARTS)


def test_every_group_is_untouched_once_and_trained_on_once():
    right, wrong = evaluation(scored(10, 1.0)), evaluation(scored(10, -1.0))
    pool = np.arange(10) < 3
    # The first model, trained on the three groups of the pool, has all right, the second none.
    untouched, trained = halves(right, wrong, pool)
    assert untouched.outcomes[GROUP_MATCH].value.tolist() == (~pool).tolist()
    assert trained.outcomes[GROUP_MATCH].value.tolist() == pool.tolist()


def test_a_controls_row_says_its_gain_and_what_the_run_has_beyond_it():
    frozen, adapted = evaluation(scored(8, -1.0)), evaluation(scored(8, 1.0))
    half = evaluation(np.concatenate([scored(4, 1.0), scored(4, -1.0)]))
    row = Ledger(frozen, adapted, {"random-matchings": half}).rows()[-1]
    assert (row.kind, row.change.difference, row.beyond.difference) == ("control", 50.0, 50.0)
    assert Ledger(frozen, None, {"random-matchings": half}).rows()[-1].beyond is None


# ---- the controls


def distinct(n, m=2, k=2):
    """Groups of which none shares an image or a caption with another."""
    return GroupSet(
        "distinct",
        tuple(
            Group(
                f"g{i}",
                tuple(BytesImage(f"{i}-{a}".encode()) for a in range(m)),
                tuple(f"caption {i} {j}" for j in range(k)),
                tuple(range(m)),
            )
            for i in range(n)
        ),
    )


@pytest.mark.parametrize(
    ("name", "shape", "in_common"),
    [
        ("no-right-caption", (2, 2), (2, 0)),
        ("one-right-caption", (2, 2), (2, 1)),
        ("other-images", (2, 2), (0, 2)),
        ("no-right-caption", (1, 4), (1, 0)),
        ("one-right-caption", (1, 4), (1, 1)),
        ("other-images", (3, 3), (0, 3)),
    ],
)
def test_a_control_of_the_groups_breaks_what_it_says_and_trains_on_nothing_else(name, shape, in_common):
    groups = distinct(9, *shape)
    found = arm(name, groups, seed=3)
    changed = found.groups.groups[9:]
    assert found.groups.groups[:9] == groups.blind().groups and found.groups.truth is None
    assert found.pool.tolist() == [False] * 9 + [True] * 9 and found.relabel is None
    for own, other in zip(groups, changed, strict=True):
        images = {i.key for i in own.images} & {i.key for i in other.images}
        captions = set(own.captions) & set(other.captions)
        assert (len(images), len(captions)) == in_common and other.shape == shape
    # Nothing is seen more or less often than in the set itself.
    seen = lambda these: sorted(i.key for g in these for i in g.images)  # noqa: E731
    assert seen(changed) == seen(groups)
    if name == "other-images":
        of = {image.key: g for g, group in enumerate(groups) for image in group.images}
        assert all(len({of[i.key] for i in other.images}) == shape[0] for other in changed)
    assert arm(name, groups, seed=3).groups == found.groups != arm(name, groups, seed=4).groups


def test_what_a_control_draws_does_not_depend_on_the_order_of_captions():
    groups = distinct(8, 1, 4)
    for name in ("no-right-caption", "one-right-caption", "other-images"):
        first, second = (arm(name, g, seed=1).groups.groups[8:] for g in (groups, groups.permute_captions(5)))
        assert [set(g.captions) for g in first] == [set(g.captions) for g in second]
        assert [g.images for g in first] == [g.images for g in second]


def test_groups_that_share_everything_leave_no_control():
    groups = GroupSet("twins", tuple(Group(f"g{i}", distinct(1)[0].images, ("a", "b")) for i in range(4)))
    with pytest.raises(InputError, match="in common to exchange them"):
        arm("other-images", groups)


def test_an_unknown_control_is_one_sentence():
    with pytest.raises(InputError, match="random-matchings"):
        arms(["random-matching"])
    assert arms(CONTROLS)[-1] == ITSELF and arms([]) == (ITSELF,)


# ---- the runs

SMALL = {"iterations": 2, "epochs": 1, "lr": 0.01, "batch": 8, "coverage_first": 0.5}


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory):
    """A file of 24 groups with some signal, none of which shares a row with another."""
    path, rng = tmp_path_factory.mktemp("ledger") / "embeddings.npz", np.random.default_rng(0)
    common = rng.normal(size=(48, 8))
    np.savez(path, img=common + 0.8 * rng.normal(size=(48, 8)), cap=common)
    return path


@pytest.fixture(scope="module")
def finished(embeddings):
    job = LedgerRun.of_file(embeddings, options=SMALL)
    return job, list(job.execute())


def ledger_of(job, steps):
    return job.ledger(job.load_groups(), lambda i: steps[i].arrays["scores"], len(steps) - 1)


def test_a_ledger_runs_every_control_and_the_run_itself_last(finished, embeddings):
    job, steps = finished
    assert len(steps) == job.total + 1 == 2 * 8 + 1
    assert [s.record["iteration"] for s in steps] == list(range(17))
    assert [s.record["control"] for s in steps[2::2]] == list(arms(CONTROLS))
    assert all(s.arrays["scores"].shape == (24, 2, 2) for s in steps)
    alone = list(TTMRun.of_file(embeddings, options=SMALL).execute())
    assert np.array_equal(alone[-1].arrays["scores"], steps[-1].arrays["scores"])
    transfer = list(TTMRun.of_file(embeddings, options=SMALL, adapt_on=0.5).execute())
    at = 2 * (list(arms(CONTROLS)).index("first-half") + 1)
    assert np.array_equal(transfer[-1].arrays["scores"], steps[at].arrays["scores"])


def test_a_ledgers_record_has_every_row_with_interval_chance_and_ties(finished):
    record = ledger_of(*finished).record()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    names = [row["name"] for row in record["rows"]]
    assert names == [*PARTS, *(name for name in CONTROLS if name != "transfer")]
    for row in record["rows"]:
        assert row["low"] <= row["difference"] <= row["high"]
        assert {"value", "low", "high", "chance", "ties"} <= row["after"].keys() & row["before"].keys()
    assert {"frozen", "adapted", "untouched", "trained"} <= record["figures"].keys()
    table = ledger_of(*finished).table()
    assert list(table["name"]) == names and "after_chance" in table and "beyond_difference" in table


def test_an_unfinished_ledger_has_the_rows_that_are_known(finished):
    job, steps = finished
    found = job.ledger(job.load_groups(), lambda i: steps[i].arrays["scores"], 3)
    assert [row.name for row in found.rows()] == ["metric", "bijections", "random-matchings"]


def test_a_ledger_resumed_after_any_iteration_ends_the_same(finished, tmp_path):
    job, steps = finished
    for at in (0, 1, 2, 13):  # before, within a run, between two, within a half
        again = job.execute()
        step = next(each for each in again if each.record["iteration"] == at)
        folder = tmp_path / str(at)
        step.model.save(folder / "model")
        step.save_state(folder)
        files.write_manifest(folder, iteration=at)
        records = tuple(each.record for each in steps[: at + 1])
        rest = list(job.execute(Remains(tmp_path, folder, records)))
        assert [each.record["iteration"] for each in rest] == list(range(at + 1, 17))
        assert all(
            np.array_equal(a.arrays["scores"], b.arrays["scores"])
            for a, b in zip(rest, steps[at + 1 :], strict=True)
        )


def test_a_stopped_ledger_goes_no_further(finished):
    job, _ = finished
    seen = []
    for each in job.execute(stop=lambda: len(seen) > 3):
        seen.append(each)
    assert len(seen) == 4


def test_what_is_right_reaches_no_control(finished, embeddings, monkeypatch):
    """The same scores after every iteration, whatever the truth says."""
    job, steps = finished
    plain = LedgerRun.load_groups

    def turned(self):
        groups = plain(self)
        return replace(groups, groups=tuple(replace(g, truth=g.truth[::-1]) for g in groups))

    monkeypatch.setattr(LedgerRun, "load_groups", turned)
    for a, b in zip(steps, job.execute(), strict=True):
        assert np.array_equal(a.arrays["scores"], b.arrays["scores"])
        assert a.record["coverage"] == b.record["coverage"]


def test_random_matchings_are_learned_and_know_nothing(tmp_path):
    """Enough training on matchings that are drawn: GroupScore against them passes, against the truth it is luck."""
    rng = np.random.default_rng(0)
    path = tmp_path / "e.npz"
    common = rng.normal(size=(160, 32))
    np.savez(path, img=common + 0.3 * rng.normal(size=(160, 32)), cap=common)
    options = {**SMALL, "iterations": 1, "coverage_first": 1.0, "epochs": 60}
    job = LedgerRun.of_file(path, options=options, controls=["random-matchings"])
    steps = list(job.execute())
    assert steps[1].record["fitted"] == 1.0
    found = ledger_of(job, steps)
    frozen, drawn = (found.figures()[name] for name in ("frozen", "random-matchings"))
    assert frozen[GROUP_MATCH].value > 90 and 25 < drawn[GROUP_MATCH].value < 75  # 80 draws of a half
    assert drawn[GROUP_SCORE].value == drawn[GROUP_MATCH].value
    row = found.rows()[-1]
    assert row.change.high < 0 < row.beyond.low


def test_random_matchings_are_matchings_each_as_likely_and_the_same_every_time():
    scores = np.random.default_rng(0).normal(size=(3000, 2, 3))
    seen = ScoredGroups(scores, match(scores), None, np.zeros((3000, 2)), np.ones(3000), np.ones(3000), 0.0)
    relabel = CONTROLS["random-matchings"].relabel(7)
    inputs = SimpleNamespace(captions=np.arange(9000).reshape(3000, 3))
    found = relabel(inputs, seen)
    _, counts = np.unique(found.labels, axis=0, return_counts=True)
    assert len(counts) == 6 and np.abs(counts / 3000 - 1 / 6).max() < 0.03
    assert np.array_equal(relabel(inputs, seen).labels, found.labels)
    assert found.confidence is seen.confidence and found.usable is seen.usable
    # With the captions of every group the other way round the same captions are drawn.
    turned = relabel(SimpleNamespace(captions=inputs.captions[:, ::-1]), seen)
    assert np.array_equal(2 - turned.labels, found.labels)


def test_labels_without_the_bijection_may_give_two_images_one_caption(embeddings):
    job = LedgerRun.of_file(embeddings, options=SMALL)
    groups = job.load_groups()
    inputs = prepare(job._load_model(None, None), groups, TTMConfig())
    scores = np.array([[[3.0, 1.0], [2.5, 1.0]], [[1.0, 1.0], [0.0, 4.0]]])
    seen = match_scored(inputs, scores, None)
    found = CONTROLS["per-image"].relabel(0)(inputs, seen)
    assert found.labels[0].tolist() == [0, 0] and found.labels[1, 1] == 3
    assert found.confidence.tolist() == [[2.0, 1.5], [0.0, 4.0]]
    assert found.usable.tolist() == [[True, True], [False, True]]


@pytest.mark.parametrize(
    "more", [{"oracle": True}, {"adapt_on": 0.5}, {"options": {"variant": "global"}}], ids=str
)
def test_what_a_ledger_does_not_explain_is_refused(embeddings, more):
    short = {"options": {"iterations": 1, "epochs": 1}}
    with pytest.raises(InputError):
        LedgerRun.of_file(embeddings, **short | more)
    job = TTMRun.of_file(embeddings, **short | more)
    with pytest.raises(InputError, match="A ledger explains"):
        job.ledger(job.load_groups(), lambda i: np.zeros((24, 2, 2)), 1)


def test_any_run_has_the_first_three_parts(embeddings):
    job = SimpleMatchRun.of_file(embeddings, options={"rounds": 1, "epochs": 1})
    assert set(parts(ledger_of(job, list(job.execute())))) == {"metric", "bijections", "training"}


def test_the_figures_bars_start_where_the_one_before_ends(finished):
    record = ledger_of(*finished).record()
    data = ledger_data(record)
    kinds = ["score", "metric", "bijections", "training", *["detail"] * 3, "match", *["control"] * 5]
    assert data.kind == kinds
    assert np.allclose(data.start[2:4], data.end[1:3]) and data.start[4] == pytest.approx(data.start[3])
    assert np.allclose(data.start[5:7], data.end[4:6])
    assert data.end[[3, 6]] == pytest.approx(data.end[[7, 7]], abs=1e-3)
    assert np.allclose(data.start[8:], data.frozen)
    assert len([trace for trace in figures.ledger_figure(record).data if trace.type == "bar"]) == 7


def test_what_the_shipped_ledgers_show_is_exact():
    """Each difference is that of its two figures before they are rounded; the parts add up but for rounding."""
    lines = (assets() / "results" / "ledger.jsonl").read_text().splitlines()
    for record in map(json.loads, lines):
        rows = {row["name"]: row for row in record["rows"]}
        points = {name: row["difference"] for name, row in rows.items()}
        start = record["figures"]["frozen"]["group_score"]["value"]
        end = record["figures"]["adapted"]["group_match"]["value"]
        assert start + points["metric"] + points["bijections"] + points["training"] == pytest.approx(
            end, abs=1e-3
        )
        assert points["task"] + points["set"] + points["size"] == pytest.approx(points["training"], abs=1e-3)
        labels = ledger_data(record).label
        for name, row in rows.items():
            exact = row["after"]["value"] - row["before"]["value"]
            assert points[name] == pytest.approx(exact, abs=1e-3)
            assert f"{row['label']}: {points[name]:+.1f}".replace("-", "−") in {
                each.replace("-", "−") for each in labels
            }
    assert lines


def test_what_training_is_the_sum_of_stands_below_it_and_further_in(finished):
    figure = figures.ledger_figure(ledger_of(*finished).record())
    labels = [each.text.partition(":")[0] for each in figure.layout.annotations]
    at = labels.index("Training on the test set")
    assert labels[at - 1] == "One caption per image" and labels[at + 1].startswith("of which")
    assert [bool(each.xshift) for each in figure.layout.annotations[at : at + 5]] == [
        False,
        *[True] * 3,
        False,
    ]
    assert figure.layout.margin.l >= 16  # half of “0 %”, which is left out where it has no room


def test_what_random_answers_give_has_no_more_uncertainty_than_the_groups_that_decide_it():
    """50.0 % of 100 groups without a tie had 42.9 to 57.1: both matchings of a group were counted as independent. Of
    a share of groups divided by two, the interval is that of the share, divided by two (Clopper-Pearson)."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((100, 2, 2))
    score, match = (
        Ledger(evaluation(scores))._drawn("group_score"),
        Ledger(evaluation(scores))._drawn("group_match"),
    )
    assert match.estimate.value == 50 and match.estimate.high == 50 and match.estimate.low > 48
    passing = round(2 * float(score.values.sum()))  # groups in which some matching passes GroupScore's test
    found = scipy.stats.binomtest(passing, 100).proportion_ci()
    assert (score.estimate.low, score.estimate.high) == pytest.approx((50 * found.low, 50 * found.high))


def test_the_lines_of_levels_leave_out_the_labels(finished):
    """On a phone the dotted one ran through “79.3 %”: a label of 16 pixels stands 0.42 of a row of 46 above its bar."""
    figure = figures.ledger_figure(ledger_of(*finished).record())
    bars = np.array([y for trace in figure.data if trace.type == "bar" for y in trace.y])
    high, low = -0.42 - 8 / 46, -0.42 + 8 / 46  # of a label, in rows from its bar
    lines = [trace for trace in figure.data if trace.type == "scatter" and trace.mode == "lines"]
    assert len(lines) == 2
    for start, end in (pair for line in lines for pair in np.array(line.y, float).reshape(-1, 3)[:, :2]):
        assert all(end <= bar + high or start >= bar + low for bar in bars)
