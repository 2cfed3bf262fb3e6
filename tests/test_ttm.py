"""Thresholds, selection, test-time matching in its variants, resume and stop."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from worlds import percent, varied, weights, world

from core.base.errors import InputError
from core.datasets.embeddings import RowImage
from core.groups import Group, GroupSet
from core.matching.groups import match
from core.metrics import groups as metrics
from core.scorers.embedding import EmbeddingModel
from core.scoring.load import load_scorer
from core.ttm.config import SimpleMatchConfig, TTMConfig, thresholds
from core.ttm.loop import run_ttm, simple_match
from core.ttm.records import divergence

# A setting under which TTM works on `world`: 2x2 GroupMatch from about 84 to 100.
GOOD = TTMConfig(lr=0.03, epochs=10, iterations=5, coverage_first=0.3)
FAST = TTMConfig(lr=0.01, epochs=2, iterations=3, coverage_first=0.3, batch=10)


def texts(groups, matching):
    """The captions that a matching gives, as texts: comparable whatever the order of the captions."""
    return [[g.captions[j] if j >= 0 else None for j in row] for g, row in zip(groups, matching, strict=True)]


# Thresholds, by hand

MARGINS = np.array([0.0, 5.0, 1.0, 4.0, 3.0, 2.0, 0.5, 0.0, 0.25, 0.125])  # two of ten are tied


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"iterations": 5, "tau_first": 2.0}, [2.0, 1.5, 1.0, 0.5, 0.0]),
        ({"iterations": 5, "tau_first": 2.0, "tau_last": 1.0}, [2.0, 1.75, 1.5, 1.25, 1.0]),
        # (1 + cos(0, 60, 120, 180 degrees)) / 2 = 1, 3/4, 1/4, 0
        ({"iterations": 4, "tau_first": 2.0, "schedule": "cosine"}, [2.0, 1.5, 0.5, 0.0]),
        ({"iterations": 3, "tau_first": 2.0, "schedule": "constant"}, [2.0, 2.0, 2.0]),
        ({"iterations": 3, "tau_first": 2.0, "schedule": "ascending"}, [0.0, 1.0, 2.0]),
        ({"iterations": 1, "tau_first": 2.0}, [2.0]),
        ({"iterations": 1, "tau_first": 2.0, "schedule": "ascending"}, [2.0]),
        ({"iterations": 2, "coverage_first": 0.3}, [3.0, 0.0]),
        ({"iterations": 2}, [4.0, 0.0]),  # 20 % of ten groups
        ({"iterations": 2, "coverage_first": 0.1, "coverage_last": 0.5}, [5.0, 1.0]),
        ({"iterations": 2, "coverage_first": 0.01}, [5.0, 0.0]),  # one group at least
        ({"iterations": 2, "coverage_first": 1.0}, [0.125, 0.0]),  # tied groups cannot be selected
        ({"iterations": 3, "variant": "global", "threshold_mode": "relative"}, [0.5, 0.25, 0.0]),
        (
            {"iterations": 2, "variant": "global", "threshold_mode": "relative", "coverage_first": 0.3},
            [0.7, 0.0],
        ),
        ({"iterations": 2, "variant": "global"}, [1.0, 0.0]),  # half of the pairs, then the lowest score
    ],
)
def test_thresholds_follow_their_formula(settings, expected):
    assert thresholds(TTMConfig(**settings), MARGINS) == pytest.approx(expected)


def test_ends_of_the_schedule_are_exact():
    first = np.array([0.1, 0.7, 0.3])
    for schedule in ("linear", "cosine"):
        tau = thresholds(
            TTMConfig(coverage_first=1 / 3, coverage_last=1.0, schedule=schedule, iterations=7), first
        )
        assert (tau[0], tau[-1]) == (0.7, 0.1)


def test_all_tied_margins_give_a_threshold_all_the_same():
    assert thresholds(TTMConfig(iterations=2), np.zeros(4)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("share", [0.05, 0.2, 0.35, 0.5, 0.9, 1.0])
def test_a_coverage_selects_exactly_that_share_at_first(share):
    model, groups = world(60)
    _, step = list(run_ttm(model, groups, varied(FAST, iterations=1, coverage_first=share)))
    assert step.selected.sum() == int(60 * share + 1e-9)
    assert step.coverage == step.selected.mean()


# The loop


@pytest.mark.parametrize("shape", [(1, 2), (1, 4), (2, 2), (2, 4), (3, 3)])
def test_every_step_is_consistent_for_every_shape(shape):
    model, groups = world(24, *shape)
    before = weights(model)
    steps = list(run_ttm(model, groups, FAST))
    assert [s.iteration for s in steps] == [0, 1, 2, 3]
    first = steps[0]
    assert not first.selected.any()
    assert (first.threshold, first.report, first.fitted, first.skipped, first.note) == (
        None,
        None,
        None,
        False,
        "",
    )
    for last, step in pairwise(steps):
        assert step.scores.shape == (24, *shape)
        assert step.scores.dtype == np.float32
        np.testing.assert_array_equal(step.matching, last.matches.matching)
        np.testing.assert_array_equal(step.selected, last.matches.margin >= step.threshold)
        np.testing.assert_array_equal(step.matches.margin, match(step.scores).margin)
        assert step.report.losses.shape == (2 * -(-step.selected.sum() // 10),)
        assert 0 <= step.fitted <= 1
        assert 0 < step.seconds_in_model < step.seconds
        json.dumps(step.record(), allow_nan=False)
    assert [s.threshold for s in steps[1:]] == steps[0].thresholds.tolist()
    assert [s.report.lr for s in steps[1:]] == pytest.approx([0.01, 0.0095, 0.009025])
    assert weights(model) == before  # the model that was given is never trained
    assert weights(steps[-1].model) != before


def test_ttm_improves_where_margins_are_informative_and_the_oracle_reaches_the_top():
    model, groups = world(150)
    steps = list(run_ttm(model, groups, GOOD))
    before, after = percent(steps[0], groups), percent(steps[-1], groups)
    assert before < 90
    assert after > before + 10
    oracle = list(run_ttm(model, groups, GOOD, selector=metrics.oracle_mask(groups.truth)))
    assert percent(oracle[-1], groups) > 99
    for last, step in pairwise(oracle):
        assert step.threshold is None
        assert step.coverage == pytest.approx(percent(last, groups) / 100)
        assert metrics.precision(step.matching, step.selected, groups.truth) == 1.0


def test_one_iteration_uses_the_first_threshold():
    model, groups = world(30)
    steps = list(run_ttm(model, groups, varied(FAST, iterations=1)))
    assert len(steps) == 2
    assert steps[1].selected.sum() == 9


@pytest.mark.parametrize("variant", ["group", "global"])
@pytest.mark.parametrize("shape", [(2, 2), (1, 4), (2, 4)])
def test_permuting_captions_changes_nothing(shape, variant):
    config = varied(FAST, variant=variant, coverage_first=0.5)
    model, groups = world(20, *shape)
    shuffled = groups.permute_captions(seed=5)
    assert [g.captions for g in groups] != [g.captions for g in shuffled]
    plain, other = list(run_ttm(model, groups, config)), list(run_ttm(model, shuffled, config))
    flat = [[c for g in each for c in g.captions] for each in (groups, shuffled)]
    for a, b in zip(plain, other, strict=True):
        np.testing.assert_array_equal(a.selected, b.selected)
        if variant == "group":
            assert texts(groups, a.matching) == texts(shuffled, b.matching)
        else:
            assert [flat[0][j] for j in a.matching.ravel()] == [flat[1][j] for j in b.matching.ravel()]
        assert percent(a, groups) == percent(b, shuffled)
    assert weights(plain[-1].model) == weights(other[-1].model)


class Spy(EmbeddingModel):
    """Writes down every caption list, scored pair and training batch, in a list that its copies share."""

    log: list

    def prepare(self, images, captions):
        self.log.append(list(captions))
        return super().prepare(images, captions)

    def score_prepared(self, data, pairs, batch=65_536):
        self.log.append(pairs.tolist())
        return super().score_prepared(data, pairs, batch)

    def batch(self, data, images, captions):
        self.log.append((images.tolist(), captions.tolist()))
        return super().batch(data, images, captions)


@pytest.mark.parametrize("variant", ["group", "global"])
@pytest.mark.parametrize("informed", [True, False])
def test_permuting_captions_changes_nothing_that_the_model_is_given(variant, informed):
    model, groups = world(20)
    if not informed:  # every score is equal: only the order of the captions could tell them apart
        keys, names = model._keys["images"], model._keys["captions"]
        model = EmbeddingModel(np.ones((len(keys), 12)), np.ones((len(names), 12)), keys, names)
    logs: list[list] = []
    model.__class__ = Spy
    for each in (groups, groups.permute_captions(seed=1), groups.permute_captions(seed=2)):
        model.log = []
        list(run_ttm(model, each, varied(FAST, variant=variant, coverage_first=0.5)))
        logs.append(model.log)
    assert len(logs[0]) > 5 or (variant == "group" and not informed)  # all tied: nothing to train on
    assert logs[0] == logs[1] == logs[2]


@pytest.mark.parametrize("variant", ["group", "global"])
def test_a_batch_grows_with_the_data_set_and_not_with_what_is_selected(variant):
    """[TTM] C.1, footnote 6: 42 groups in batches of 20 make it 21, also where 22 of them are selected (21 and 1)."""
    model, groups = world(42)
    config = varied(FAST, variant=variant, iterations=1, epochs=1, batch=20, coverage_first=22 / 42)
    _, step = run_ttm(model, groups, config)
    assert step.selected.sum() == (22 if variant == "group" else 44)
    assert len(step.report.losses) == 2
    _, step = run_ttm(model, groups, varied(config, coverage_first=21 / 42))
    assert len(step.report.losses) == 1


def test_permuting_captions_of_real_models_gives_the_same_bytes(toy_groups, tiny_clip_folder):
    from core.scoring.load import load_scorer

    model = load_scorer(str(tiny_clip_folder), device="cpu")
    config = varied(FAST, lr=1e-3, coverage_first=0.5, augmentation="jitter", batch=2)
    ends = [
        list(run_ttm(model, each, config))[-1] for each in (toy_groups, toy_groups.permute_captions(seed=1))
    ]
    assert weights(ends[0].model) == weights(ends[1].model) != weights(model)


def test_hidden_answers_change_nothing():
    model, groups = world(30)
    known, blind = list(run_ttm(model, groups, FAST)), list(run_ttm(model, groups.blind(), FAST))
    assert weights(known[-1].model) == weights(blind[-1].model)


def test_a_seed_decides_everything():
    model, groups = world(30)
    ends = [weights(list(run_ttm(model, groups, varied(FAST, seed=s)))[-1].model) for s in (0, 0, 1)]
    assert ends[0] == ends[1] != ends[2]


def test_an_empty_selection_trains_nothing_and_says_so():
    model, groups = world(30)
    steps = list(run_ttm(model, groups, varied(FAST, coverage_first=None, tau_first=1e6, iterations=2)))
    assert steps[1].skipped
    assert steps[1].note == "Nothing reaches the threshold 1e+06; nothing was trained."
    assert steps[1].coverage == 0.0
    np.testing.assert_array_equal(steps[1].scores, steps[0].scores)
    assert not steps[2].skipped


def test_tied_groups_are_never_selected():
    model, groups = world(10)
    twin = replace(groups[0], captions=("caption 0", "caption 0"))
    tied = GroupSet("tied", (twin, *groups.groups[1:]))
    everything = varied(FAST, coverage_first=1.0)
    for selector in (None, lambda matches: np.ones(10, dtype=bool)):
        steps = list(run_ttm(model, tied, everything, selector=selector))
        assert steps[0].matches.tied.tolist() == [True] + [False] * 9
        assert all(s.selected.tolist() == [False] + [True] * 9 for s in steps[1:2])
    only = list(run_ttm(model, GroupSet("one", (twin,)), everything))
    assert all(s.skipped for s in only[1:])
    ended = list(simple_match(model, GroupSet("one", (twin,)), SimpleMatchConfig()))
    assert ended[-1].note == "Every group is tied; nothing was trained."


def test_a_pool_trains_on_its_groups_only_and_scores_all():
    model, groups = world(40)
    pool = np.arange(40) % 2 == 0
    steps = list(run_ttm(model, groups, varied(FAST, coverage_first=0.5), pool=pool))
    assert steps[1].selected.sum() == 10  # half of the pool
    assert steps[1].coverage == 0.5
    assert not any((s.selected & ~pool).any() for s in steps)
    alone = list(run_ttm(model, groups.select(pool), varied(FAST, coverage_first=0.5)))
    assert weights(alone[-1].model) == weights(steps[-1].model)


@pytest.mark.parametrize("change", [{}, {"keep_optimizer": True}, {"variant": "global"}])
@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_resumed_run_is_the_uninterrupted_one(tmp_path, change, at):
    config = varied(FAST, iterations=4, **change)
    model, groups = world(30)
    whole = list(run_ttm(model, groups, config))
    for step in run_ttm(model, groups, config):
        if step.iteration == at:
            step.model.save(tmp_path / "model")
            state = step.state
            break
    loaded = load_scorer(str(tmp_path / "model"), "cpu")
    rest = list(run_ttm(loaded, groups, config, resume=state))
    assert [s.iteration for s in rest] == list(range(at + 1, 5))
    for a, b in zip(whole[at + 1 :], rest, strict=True):
        np.testing.assert_array_equal(a.scores, b.scores)
        np.testing.assert_array_equal(a.selected, b.selected)
        np.testing.assert_array_equal(a.report.losses, b.report.losses)
        assert a.threshold == b.threshold
    if rest:
        assert weights(rest[-1].model) == weights(whole[-1].model)


@pytest.mark.parametrize("family", ["clip", "siglip", "open_clip"])
def test_a_resumed_run_of_a_real_model_is_the_uninterrupted_one(toy_groups, tmp_path, request, family):
    from core.scoring.load import load_scorer

    model = load_scorer(str(request.getfixturevalue(f"tiny_{family}_folder")), device="cpu")
    config = varied(
        FAST, lr=1e-3, coverage_first=0.5, augmentation="resize-crop", batch=2, keep_optimizer=True
    )
    steps = []
    for step in run_ttm(model, toy_groups, config):
        steps.append(step)
        if step.iteration == 1:
            step.model.save(tmp_path / "model")
            state = step.state
    rest = list(run_ttm(load_scorer(str(tmp_path / "model"), device="cpu"), toy_groups, config, resume=state))
    for a, b in zip(steps[2:], rest, strict=True):
        np.testing.assert_array_equal(a.scores, b.scores)
    assert weights(rest[-1].model) == weights(steps[-1].model)


def test_resuming_with_other_groups_or_settings_is_one_sentence():
    model, groups = world(30)
    state = next(run_ttm(model, groups, FAST)).state
    for other, config in [
        (groups.select(range(20)), FAST),
        (groups, varied(FAST, iterations=7)),
        (groups, varied(FAST, variant="global")),
    ]:
        with pytest.raises(InputError, match="The saved state belongs to other groups or other settings"):
            next(run_ttm(model, other, config, resume=state))


@pytest.mark.parametrize("kept", [False, True])
def test_a_stop_drops_what_was_begun_and_keeps_what_was_reported(kept):
    model, groups = world(30)
    config = varied(FAST, keep_optimizer=kept)
    whole = {s.iteration: (s.scores, weights(s.model), s.report) for s in run_ttm(model, groups, config)}
    # One question per iteration and one per training step: stop at the second step of iteration 3.
    allowed = 1 + len(whole[1][2].losses) + 1 + len(whole[2][2].losses) + 1 + 1
    asked, last = [], None
    for step in run_ttm(model, groups, config, stop=lambda: asked.append(1) or len(asked) > allowed):
        last = step
    assert last.iteration == 2
    np.testing.assert_array_equal(last.scores, whole[2][0])
    assert weights(last.model) == whole[2][1]
    rest = list(run_ttm(last.model, groups, config, resume=last.state))
    assert weights(rest[-1].model) == whole[3][1]


def test_a_stop_from_the_start_leaves_iteration_0():
    model, groups = world(30)
    assert [s.iteration for s in run_ttm(model, groups, FAST, stop=lambda: True)] == [0]
    assert [s.iteration for s in simple_match(model, groups, SimpleMatchConfig(), stop=lambda: True)] == [0]


def test_progress_rises_to_one_with_a_message():
    told = []
    model, groups = world(30)
    list(run_ttm(model, groups, FAST, progress=lambda share, message: told.append((share, message))))
    shares = [s for s, _ in told]
    assert shares == sorted(shares)
    assert (shares[0] > 0, shares[-1]) == (True, 1.0)
    assert told[0][1] == "iteration 1 of 3: epoch 1 of 2"


def test_groups_of_several_shapes_are_refused(toy_groups_mixed):
    model, _ = world(5)
    with pytest.raises(InputError, match="mixes the shapes"):
        next(run_ttm(model, toy_groups_mixed, FAST))


def test_a_pool_of_the_wrong_length_is_refused():
    model, groups = world(5)
    with pytest.raises(InputError, match=r"The pool has shape \(3,\)"):
        next(run_ttm(model, groups, FAST, pool=np.ones(3, dtype=bool)))


# The global variant


@pytest.mark.parametrize("mode", ["absolute", "relative"])
def test_global_selection_takes_the_best_pairs_of_one_assignment(mode):
    model, groups = world(20, 2, 3)
    config = varied(FAST, variant="global", threshold_mode=mode, coverage_first=0.25)
    steps = list(run_ttm(model, groups, config))
    first, step = steps[0], steps[1]
    assert first.global_scores.shape == (40, 60)
    np.testing.assert_array_equal(first.global_scores[2:4, 3:6], first.scores[1])
    assert step.matching.shape == step.selected.shape == (20, 2)
    flat = step.matching.ravel()
    assert len(set(flat)) == 40
    matched = first.global_scores[np.arange(40), flat]
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(first.global_scores, maximize=True)
    assert matched.sum() == pytest.approx(first.global_scores[rows, columns].sum())
    best = np.zeros(40, dtype=bool)
    best[np.argsort(-matched)[:10]] = True
    np.testing.assert_array_equal(step.selected.ravel(), best)
    assert steps[-1].selected.all()
    assert step.report.losses.shape == (2,)  # ten pairs, batches of 10 groups' pairs = 20


def test_global_ttm_improves_the_assignment():
    model, groups = world(100, signal=1.5, useful=8, size=16)
    config = varied(GOOD, variant="global", threshold_mode="relative", coverage_first=0.5)
    own = (groups.truth + 2 * np.arange(100)[:, None]).ravel()
    steps = list(run_ttm(model, groups, config))
    before, after = (metrics.global_match(s.global_scores, own).value for s in (steps[0], steps[-1]))
    assert after > before + 20


def test_equal_scores_are_not_assigned_in_the_order_of_the_file():
    keys, names = ([f"{kind} {i:03}" for i in range(60)] for kind in ("image", "caption"))
    model = EmbeddingModel(np.ones((60, 3)), np.ones((60, 3)), keys, names)
    groups = [
        Group(str(g), (RowImage(keys[2 * g]), RowImage(keys[2 * g + 1])), tuple(names[2 * g : 2 * g + 2]))
        for g in range(30)
    ]
    first = next(run_ttm(model, GroupSet("equal", tuple(groups)), varied(FAST, variant="global")))
    assert (first.matching.ravel() == np.arange(60)).sum() < 10


def test_the_global_variant_has_no_selector_and_no_pool():
    model, groups = world(5)
    wide = varied(FAST, variant="global")
    for more in ({"selector": lambda matches: ~matches.tied}, {"pool": np.ones(5, dtype=bool)}):
        with pytest.raises(InputError, match="the global variant has none"):
            next(run_ttm(model, groups, wide, **more))


def _ended(match, tied=0):
    value, low, high = match
    metric = {"value": value, "low": low, "high": high, "chance": 50.0, "ties": 0}
    return {"metrics": {"group_match": metric}, "margins": {"counts": [20 - tied], "tied": tied}}


def test_a_run_that_has_diverged_says_so_and_what_to_do():
    good, bad = _ended((80.0, 70.0, 90.0)), _ended((52.0, 42.0, 62.0))
    config = {"ttm": {"lr": 0.01}}
    assert divergence([good, good], config) is None
    said = divergence([good, good, bad], config)
    assert said == (
        "GroupMatch fell from 80.0 to 52.0 %, which cannot be told from chance (50.0 %): training has diverged. Start "
        "again with a lower learning rate than 0.01, such as 0.001."
    )
    assert divergence([bad, bad], config) is None  # it never was above chance
    # of 40 groups: within the interval before, and called diverged beside a gain of GroupScore
    assert divergence([_ended((70.0, 53.5, 83.4)), _ended((62.5, 45.8, 77.3))], config) is None
    blind = [{"metrics": {}, "margins": {"counts": [20 - tied], "tied": tied}} for tied in (1, 15)]
    assert "scores of 75 % of the groups are tied" in divergence(blind, {"simplematch": {"lr": 0.1}})
    assert divergence(blind[:1], config) is None


def test_a_threshold_of_groups_below_0_is_refused():
    """`--tau-first -3` was taken, and did what 0 does: no margin is below 0. Scores of pairs may be."""
    with pytest.raises(InputError, match=r"tau_first is -3, and no margin is below 0; 0 selects every group"):
        TTMConfig(tau_first=-3.0)
    with pytest.raises(InputError, match="tau_last is -1"):
        TTMConfig().updated({"tau_last": -1.0})
    assert TTMConfig(variant="global", tau_first=-3.0).tau_first == -3
