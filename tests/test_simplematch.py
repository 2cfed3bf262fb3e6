"""SimpleMatch: what it reaches, when it ends, and that it can be cut short and gone on with."""

import numpy as np
import pytest
from worlds import percent, varied, weights, world

from core.datasets.embeddings import read_embeddings
from core.matching.comparisons import fitted_groups
from core.matching.groups import match
from core.metrics import groups as metrics
from core.scorers.embedding import EmbeddingModel
from core.scoring.load import load_scorer
from core.ttm.config import PRESETS, SimpleMatchConfig
from core.ttm.loop import simple_match

FAST = SimpleMatchConfig(lr=0.01, rounds=6)


@pytest.mark.parametrize("shape", [(1, 4), (2, 2), (2, 4), (3, 3)])
def test_the_strict_test_on_pseudo_labels_is_group_score(shape):
    scores = np.random.default_rng(0).normal(size=(200, *shape)).astype(np.float32)
    labels = match(scores).matching
    expected = metrics.outcomes(scores, labels)["group_score"].value
    np.testing.assert_array_equal(fitted_groups(scores, labels), expected.astype(bool))


def test_simple_match_raises_group_score_to_group_match():
    model, groups = world(60, size=40, useful=8)
    steps = list(simple_match(model, groups, SimpleMatchConfig(lr=0.01)))
    assert percent(steps[0], groups, "group_score") < percent(steps[0], groups) - 10
    assert steps[-1].fitted == 1.0  # every pseudo-label passes, so GroupScore is what GroupMatch was
    assert percent(steps[-1], groups, "group_score") == percent(steps[0], groups)
    for step in steps[1:]:
        np.testing.assert_array_equal(step.matching, steps[0].matches.matching)
        assert step.selected.all()


def test_simple_match_gives_up_when_the_pseudo_labels_fit_no_better():
    model, groups = world(60, size=12)
    steps = list(simple_match(model, groups, SimpleMatchConfig(lr=1e-9, patience=2, rounds=9)))
    assert len(steps) == 1 + 1 + 2
    assert len(list(simple_match(model, groups, SimpleMatchConfig(lr=1e-9, patience=9, rounds=3)))) == 4


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([], False),
        ([0.5], False),
        ([0.5, 1.0], True),
        ([None], True),
        ([float("nan")], True),
        ([0.5, 0.4, 0.5], True),  # twice no rise above 0.5
        ([0.5, 0.4, 0.6, 0.5], False),
        ([0.1, 0.2, 0.3, 0.4, 0.5], True),  # five rounds
    ],
)
def test_it_ends_when_all_pass_nothing_trains_no_rise_comes_or_the_rounds_are_used_up(history, expected):
    assert SimpleMatchConfig(patience=2, rounds=5).is_over(history) is expected


def test_the_winoground_embeddings_go_from_7_5_to_67_without_their_truth(winoground_embeddings):
    file = read_embeddings(winoground_embeddings, "2x2")
    model, groups = EmbeddingModel.of(file), file.groups()
    steps = list(simple_match(model, groups.blind(), PRESETS["simplematch/embeddings"].config))
    before, after = (metrics.outcomes(s.scores, groups.truth) for s in (steps[0], steps[-1]))
    assert 100 * before["group_score"].value.mean() == 7.5
    assert 100 * before["group_match"].value.mean() == 67.5
    assert 100 * after["group_score"].value.mean() >= 60


def test_the_order_of_captions_in_the_groups_changes_nothing():
    model, groups = world(30)
    ends = [list(simple_match(model, each, FAST))[-1] for each in (groups, groups.permute_captions(seed=3))]
    assert weights(ends[0].model) == weights(ends[1].model) != weights(model)


def test_a_pool_is_all_that_is_trained_on():
    model, groups = world(40)
    pool = np.arange(40) % 4 == 0
    steps = list(simple_match(model, groups, FAST, pool=pool))
    np.testing.assert_array_equal(steps[1].selected, pool)
    assert steps[1].coverage == 1.0
    alone = list(simple_match(model, groups.select(pool), FAST))
    assert weights(alone[-1].model) == weights(steps[-1].model)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_resumed_run_is_the_uninterrupted_one(tmp_path, at, kept):
    config = varied(FAST, rounds=4, keep_optimizer=kept)
    model, groups = world(30)
    whole = list(simple_match(model, groups, config))
    for step in simple_match(model, groups, config):
        if step.iteration == at:
            step.model.save(tmp_path / "model")
            state = step.state
            break
    rest = list(simple_match(load_scorer(str(tmp_path / "model"), "cpu"), groups, config, resume=state))
    assert [s.iteration for s in rest] == [s.iteration for s in whole[at + 1 :]]
    for a, b in zip(whole[at + 1 :], rest, strict=True):
        np.testing.assert_array_equal(a.scores, b.scores)
        np.testing.assert_array_equal(a.matching, b.matching)
        assert a.fitted == b.fitted
    assert weights(rest[-1].model) == weights(whole[-1].model)


def test_a_run_that_had_ended_does_nothing_more_when_resumed():
    model, groups = world(60, size=40, useful=8)
    last = list(simple_match(model, groups, FAST))[-1]
    assert last.fitted == 1.0
    assert list(simple_match(last.model, groups, FAST, resume=last.state)) == []


def test_a_stop_in_the_middle_of_a_round_keeps_what_was_reported():
    model, groups = world(30)
    whole = list(simple_match(model, groups, FAST))
    asked, allowed = [], 2 + 5 + 1 + 2  # per round a question, and one per step: 5 epochs of one batch
    steps = list(simple_match(model, groups, FAST, stop=lambda: asked.append(1) or len(asked) > allowed))
    assert [s.iteration for s in steps] == [0, 1]
    np.testing.assert_array_equal(steps[-1].scores, whole[1].scores)
    rest = list(simple_match(steps[-1].model, groups, FAST, resume=steps[-1].state))
    assert weights(rest[-1].model) == weights(whole[-1].model)
