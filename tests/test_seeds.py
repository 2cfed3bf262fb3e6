"""Several seeds as one thing: started together, summed up by mean and standard deviation, never by the best."""

import itertools
import json
import re

import numpy as np
import pytest
from commands import crossmatch
from scipy.stats import binomtest

from core.base.errors import InputError
from core.exchange.run_table import _ends_of
from core.exchange.seeds import SeedResult, _below_lines
from core.metrics.evaluation import Evaluation
from core.metrics.statistics import Comparison, Estimate, compare, estimate
from core.runs import engine
from core.runs.store import RunStore
from core.ttm import seeds
from core.ttm.records import SeedChange, _seed_change, _what_rises_mean, changes
from core.ttm.run import SimpleMatchRun, TTMRun
from core.ttm.seeds import _is_seedless, seeded, spread
from ui.ttm_sweep import _more_seeds


def record(iteration, value, part=None, **more):
    def metrics(v):
        return {"group_match": {"value": v, "low": 0.0, "high": 100.0, "chance": 50.0, "ties": 0}}

    own = {"coverage": 0.5, "precision": None, "loss": None, "fitted": None, "seconds": 1.0, "threshold": 1.0}
    found = {"iteration": iteration, "metrics": metrics(value), **own, **more}
    if part is not None:
        found["parts"] = {"adapted": {"metrics": metrics(part)}, "untouched": {"metrics": metrics(value)}}
    return found


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store whose runs are written down and queued, but have no worker."""
    store = RunStore(tmp_path / "runs")

    def launch(store, run_id, module="core.worker"):
        store.queue_up(run_id)
        return store.get(run_id)

    monkeypatch.setattr(engine, "launch", launch)
    return store


JOB = TTMRun.of("scenes/add", "builtin/clip", options={"iterations": 2, "seed": 5})


def test_mean_and_deviation_by_hand():
    rows = seeds.summary([[record(0, 50), record(1, v)] for v in (60, 70, 80, 90)])
    match = rows[1]["metrics"]["group_match"]
    assert match == {"mean": 75.0, "std": 12.90994449, "seeds": 4, "chance": 50.0}  # sqrt(500 / 3)
    assert rows[0]["metrics"]["group_match"]["std"] == 0.0
    assert rows[1]["coverage"] == {"mean": 0.5, "std": 0.0, "seeds": 4}
    assert rows[1]["loss"] is None
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


def test_one_seed_has_no_deviation_and_no_seed_no_rows():
    assert seeds.summary([[record(0, 50)]])[0]["metrics"]["group_match"]["std"] is None
    assert seeds.summary([]) == seeds.summary([[]]) == []


def test_seeds_at_work_count_as_far_as_they_have_come():
    rows = seeds.summary([[record(0, 50), record(1, 60)], [record(0, 50)]])
    assert [row["seeds"] for row in rows] == [2, 1]


def test_seeds_that_agree_by_chance_have_the_interval_over_seeds_not_that_of_one_of_them(store):
    """Two seeds that both had 43 of 60 right, not the same 43, had the Clopper-Pearson interval of one."""
    name, records = ("", "group_match"), [[record(0, 50), record(1, 70)]] * 2
    _, runs = seeds.launch_seeds(store, "x", JOB, 2)
    pair = seeds.SeedGroup("g-1", runs)
    before, after = (np.tile(np.arange(60) % 2, (2, 1)), np.eye(2, dtype=bool).repeat(30, axis=1))
    known = {name: (estimate(before[0], 50.0), Estimate.over_seeds(after, 50.0))}
    ends = _ends_of(pair, records, known)
    assert (ends.after[name].sd, ends.after[name].low) == (0.0, known[name][1].low)
    assert ends.before[name].low == known[name][0].low
    untold = _ends_of(pair, records)  # groups that are not on this machine
    assert untold.after[name].low is None and untold.before[name].low == 0.0


def test_parts_of_a_transfer_check_are_summed_up_apart():
    row = seeds.summary([[record(0, 40, 60)], [record(0, 50, 80)]])[0]
    assert row["parts"]["adapted"]["group_match"]["mean"] == 70.0
    assert row["parts"]["untouched"]["group_match"]["mean"] == 45.0


def test_the_result_is_the_last_iteration_of_complete_seeds_not_the_best():
    falling = [record(0, 50), record(1, 99), record(2, 60)]
    half = [record(0, 50), record(1, 90)]
    found = seeds.final_values([falling, half], [JOB.written()] * 2)
    assert (found["iteration"], found["seeds"], found["metrics"]["group_match"]["mean"]) == (2, 1, 60.0)
    assert seeds.final_values([half], [JOB.written()]) is None


def test_simple_match_seeds_may_end_after_different_rounds():
    job = SimpleMatchRun.of("scenes/add", "builtin/clip", options={"rounds": 5})
    runs = [
        [record(0, 50), record(1, 70, fitted=1.0)],
        [record(0, 50), record(1, 60, fitted=0.9), record(2, 80, fitted=1.0)],
    ]
    assert seeds.final_values(runs, [job.written()] * 2)["metrics"]["group_match"]["mean"] == 75.0


def test_one_action_starts_consecutive_seeds_that_know_their_group(store):
    group, runs = seeds.launch_seeds(store, "t", JOB, 4)
    assert [run.config["ttm"]["seed"] for run in runs] == [5, 6, 7, 8]
    assert {run.config["group"] for run in runs} == {group}
    assert all(run.status == "queued" for run in runs)
    assert runs[0].title == "t · seed 5"
    store.create("ttm", "another", JOB.written())
    assert [run.id for run in seeds.group_runs(store, group)] == [run.id for run in runs]
    same = {k: v for k, v in runs[1].config.items() if k != "group"}
    assert same == JOB.with_seed(6).written()


def test_a_group_goes_on_where_its_runs_were_stopped(tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path))
    launched = []
    monkeypatch.setattr(engine, "launch", lambda store, run_id: store.get(run_id))
    group, runs = seeds.launch_seeds(RunStore(), "t", JOB, 3)
    for run in runs:
        RunStore().queue_up(run.id)
    for run in runs[1:]:
        RunStore().request_stop(run.id)
    monkeypatch.setattr("core.cli.runs.launch", lambda store, run_id: launched.append(run_id))
    assert crossmatch("runs", "resume", group).returncode == 0
    assert launched == [run.id for run in runs[1:]]


def test_an_unknown_group_and_a_senseless_number_are_one_sentence(store):
    with pytest.raises(InputError, match="no group of runs 'g-none'"):
        seeds.group_runs(store, "g-none")
    for count in (0, seeds._MAX_SEEDS + 1):
        with pytest.raises(InputError, match="seeds were asked for"):
            seeds.seeded(JOB, count)


# What is shown as one


def test_seeds_of_a_group_are_one_sweep_and_other_runs_stay_alone(store):
    alone = store.create("ttm", "alone", JOB.written())
    group, runs = seeds.launch_seeds(store, "many", JOB, 3)
    last = store.create("ttm", "last", JOB.written())
    found = seeds.sweeps(store.list())
    assert [sweep.id for sweep in found] == [last.id, group, alone.id]
    assert [run.id for run in found[1].runs] == [run.id for run in runs]
    assert [sweep.title for sweep in found] == ["last", "many · seeds 5–7", "alone"]


def test_a_sweep_has_the_status_that_needs_attention(store):
    _, runs = seeds.launch_seeds(store, "many", JOB, 3)
    for run, status in zip(runs, ("finished", "failed", "finished"), strict=True):
        store.conclude(run.id, 1, status)
    assert seeds.sweeps(store.list())[0].status == "failed"


# More seeds of what has ended


def test_seeds_are_added_to_a_group_after_its_last_one(store):
    group, runs = seeds.launch_seeds(store, "t", JOB, 2)
    same, more = seeds.SeedGroup.extend(store, group, 2)
    assert same == group
    assert [seeds.seed_of(run) for run in more] == [7, 8]
    assert [run.title for run in more] == ["t · seed 7", "t · seed 8"]
    assert [run.id for run in seeds.group_runs(store, group)] == [run.id for run in [*runs, *more]]
    (sweep,) = seeds.sweeps(store.list())
    assert sweep.title == "t · seeds 5–8"


def test_a_single_run_becomes_the_first_seed_of_a_group(store):
    alone = store.create("ttm", "t", JOB.written())
    assert seeds.SeedGroup.of_run(store, alone) == ""
    group, more = seeds.SeedGroup.extend(store, alone.id, 3)
    assert [seeds.seed_of(run) for run in seeds.group_runs(store, group)] == [5, 6, 7, 8]
    assert (
        seeds.SeedGroup.of_run(store, store.get(alone.id)) == seeds.SeedGroup.of_run(store, more[0]) == group
    )
    (sweep,) = seeds.sweeps(store.list())
    assert (sweep.id, sweep.title) == (group, "t · seeds 5–8")
    settings = {k: v for k, v in more[0].config.items() if k != "group"}
    assert settings == JOB.with_seed(6).written()
    store.delete(alone.id)  # the others stay together
    assert [seeds.seed_of(run) for run in seeds.group_runs(store, group)] == [6, 7, 8]


def test_more_seeds_than_a_group_may_have_are_refused(store):
    group, _ = seeds.launch_seeds(store, "t", JOB, 2)
    for count in (0, seeds._MAX_SEEDS - 1):
        with pytest.raises(InputError, match="cannot be added to 2 seeds: 64 is the most"):
            seeds.SeedGroup.extend(store, group, count)


# What several seeds have changed


def evaluated(right):
    """Groups of two by two that are matched right or wrong."""
    good, bad = [[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]
    return Evaluation.of(
        np.array([good if each else bad for each in right]), np.tile([0, 1], (len(right), 1))
    )


def test_the_mean_gain_of_seeds_counts_fixed_and_broken_groups_by_hand():
    before = [evaluated([1, 0, 0, 0, 1])] * 3
    after = [evaluated(right) for right in ([1, 1, 1, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 1, 0])]
    change = SeedChange.of_seeds(before, after, {"": np.ones(5, bool)})["GroupMatch"]
    assert change.gains == pytest.approx([20, 0, 40])
    assert (change.fixed, change.broken) == ([2, 1, 3], [1, 1, 1])
    assert (change.always_fixed, change.always_broken) == (1, 1)
    assert change.mean.difference == pytest.approx(20) and (change.mean.fixed, change.mean.broken) == (3, 1)
    assert change.mean.low <= 20 <= change.mean.high
    assert change.next_gain == (-40, 60)  # 20 ± 4.303 * 20 * sqrt(4/3), cut where none or all would be right


def test_what_one_more_seed_may_gain_is_student_s_prediction_interval():
    n = 1000
    before = [evaluated(np.arange(n) < 500)] * 4
    after = [evaluated(np.arange(n) < end) for end in (600, 610, 620, 630)]
    change = SeedChange.of_seeds(before, after, {"": np.ones(n, bool)})["GroupMatch"]
    reach = 3.182446 * 1.290994 * 1.25**0.5  # t of 3 degrees, deviation of 10, 11, 12, 13, sqrt(1 + 1/4)
    assert change.next_gain == pytest.approx((11.5 - reach, 11.5 + reach), abs=1e-4)
    assert SeedChange.of_seeds(before[:2], after[:2], {"": np.ones(n, bool)})["GroupMatch"].next_gain is None


def test_seeds_that_gain_equally_much_on_other_groups_do_not_foretell_the_next_one_to_the_point():
    """Three seeds each fix another ten of 100 groups: a deviation of 0 would say that the next gains +10.0 to +10.0.
    By hand: in 30 groups one seed differs, squares in all 2/3; 20 over 2 · 99, of a mean of 100."""
    before, after = np.zeros((3, 100)), np.zeros((3, 100))
    for seed in range(3):
        after[seed, 10 * seed : 10 * seed + 10] = 1
    reach = 4.302653 * 100 * (20 / (2 * 99) / 100) ** 0.5 * (4 / 3) ** 0.5
    assert _seed_change(before, after).next_gain == pytest.approx((max(10 - reach, 0), 10 + reach), abs=1e-4)


def test_seeds_with_the_same_scores_are_named_and_predict_nothing():
    """Four seeds on embeddings that fit one batch are one run: "one more seed may gain +5.0 to +5.0"."""
    before, after = [evaluated([1, 0, 0, 0, 1])] * 3, [evaluated([1, 1, 0, 0, 1])] * 3
    change = SeedChange.of_seeds(before, after, {"": np.ones(5, bool)})["GroupMatch"]
    assert change.same and change.next_gain is None and change.gains == pytest.approx([20] * 3)
    other = [*after[:2], evaluated([1, 0, 1, 0, 1])]
    assert not SeedChange.of_seeds(before, other, {"": np.ones(5, bool)})["GroupMatch"].same
    assert not SeedChange.of_seeds(before[:1], after[:1], {"": np.ones(5, bool)})["GroupMatch"].same
    for results, told in ((after, True), (other, False)):
        found = SeedResult.of_seeds(before, results, {"": np.ones(5, bool)})
        for text in (SeedResult.html(found), SeedResult.latex(found)):
            assert ("All seeds have the same scores" in text) == told
            assert "only a rise of GroupMatch is a real gain" in text


def test_seeds_that_differ_by_the_rounding_of_sums_are_the_same():
    """Four seeds of 40 groups of embeddings differed in the last bits: "one more seed may gain -2.5 to -2.5"."""
    before, whole = [evaluated([1, 0, 0, 0, 1])] * 2, {"": np.ones(5, bool)}

    def nudged(by):
        moved = after.scores + by * np.arange(after.scores.size).reshape(after.scores.shape)
        return [after, Evaluation.of(moved, np.tile([0, 1], (5, 1)))]

    after = evaluated([1, 1, 0, 0, 1])
    rounded = SeedChange.of_seeds(before, nudged(2e-7), whole)["GroupMatch"]
    assert rounded.same and rounded.next_gain is None
    assert not SeedChange.of_seeds(before, nudged(2e-5), whole)["GroupMatch"].same
    tie = Evaluation.of(np.where(after.scores == 1, 1 + 1e-7, after.scores), np.tile([0, 1], (5, 1)))
    assert SeedChange.of_seeds(before, [after, tie], whole)["GroupMatch"].same
    # Rounding that breaks a tie leaves two results.
    tied = after.scores.copy()
    tied[0] = 0
    broken = tied.copy()
    broken[0, 0, 0] = 1e-7
    ends = [Evaluation.of(each, np.tile([0, 1], (5, 1))) for each in (tied, broken)]
    assert not SeedChange.of_seeds(before, ends, whole)["GroupMatch"].same


def test_seeds_on_embeddings_that_fit_one_batch_are_known_to_be_copies_and_are_found_to_be(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(80, 8))
    img, cap = (truth + 0.8 * rng.normal(size=truth.shape) for _ in range(2))
    np.savez(tmp_path / "e.npz", img=img, cap=cap)

    def found(**more):
        job = TTMRun.of_file(tmp_path / "e.npz", options={"iterations": 2, "epochs": 2, **more})
        groups, done = job.load_groups(), []
        for each in seeded(job, 3):
            common = {"pool": None, "resume": None, "stop": None, "progress": lambda *_: None}
            first, *_, last = each._steps(each._load_model(None, None), groups.blind(), None, common)
            done.append([Evaluation.of(step.scores, groups.truth) for step in (first, last)])
        change = SeedChange.of_seeds(*zip(*done, strict=True), {"": np.ones(40, bool)})["GroupMatch"]
        return _is_seedless(job, len(groups)), change.same

    assert found() == (True, True)
    assert found(batch=10) == (False, False)
    model = TTMRun.of("scenes/left-right", "builtin/clip", groups=10)
    assert not _is_seedless(model, 10)  # its augmentation is drawn


def test_two_seeds_cannot_decide_and_say_what_holds_by_the_groups_alone():
    """“GroupScore is not shown to change: chance alone could explain the difference: +17.0 points”, of two seeds that
    both gain, on groups that show it with p < 0.001."""
    after = np.zeros((2, 100))
    after[0, :30] = after[1, :4] = 1
    found = _seed_change(np.zeros((2, 100)), after)
    alone = compare(np.zeros(100), after.mean(axis=0))
    ends = [f"{each.low:+.1f} to {each.high:+.1f}" for each in (found.mean, alone)]
    assert found._told("GroupScore") == (
        "Two seeds cannot decide whether GroupScore changes:",
        f"+17.0 points in the mean of 2 seeds (95 % interval {ends[0]}, p = {found.mean.p_value:.2g}); over the groups "
        f"alone, for these two seeds, {ends[1]} (by the sign test of 30 groups better and 0 worse, p < 0.001), which "
        "says nothing about other seeds.",
    )
    three = _seed_change(np.zeros((3, 100)), np.vstack([after, np.zeros((1, 100))]))
    assert three._told("GroupScore")[0] == (
        "GroupScore is not shown to change: chance alone could explain the difference:"
    )
    alike = np.zeros((2, 100))
    alike[:, :30] = 1
    alike[0, 40] = alike[1, 41] = 1
    assert _seed_change(np.zeros((2, 100)), alike)._told("x")[0] == "x rises by more than chance explains:"
    assert _seed_change(np.zeros((2, 100)), np.zeros((2, 100)))._told("x")[0] == "x did not change:"


def test_an_interval_and_a_p_of_two_seeds_belong_to_one_another_and_the_other_p_has_its_name():
    """“+0.13 [−2.89, +3.14], p 0.93” and below it “over the groups alone −2.9 to +3.1, p = 0.52”: the second is of the
    sign test, which counts groups and not points. Here by brute force: every way in which the 12 groups may go."""
    after, before = np.zeros((2, 40)), np.zeros((2, 40))
    after[:, :4] = 1  # four groups gain a whole point, eight lose half of one: 0 in the mean
    before[0, 4:12] = 1
    found = _seed_change(before, after)
    assert found.mean.difference == pytest.approx(0)
    after[1, 20] = 1
    found = _seed_change(before, after)
    signs = np.array(list(itertools.product((-1, 1), repeat=13)))
    p = (np.abs(signs.sum(axis=1)) >= abs(5 - 8)).mean()
    assert found.over_groups.p_value == pytest.approx(p) and p < found.mean.p_value
    said = " ".join(found._told("GroupMatch"))
    mean, alone = (f"{each.low:+.1f} to {each.high:+.1f}" for each in (found.mean, found.over_groups))
    assert f"(95 % interval {mean}, p = {found.mean.p_value:.2g})" in said
    assert f"{alone} (by the sign test of 5 groups better and 8 worse, p = {p:.2g})" in said
    assert found.over_groups.low < 0 < found.over_groups.high


def test_few_seeds_that_differ_show_less_than_their_groups_and_it_is_said():
    """One seed rose "by more than chance explains", and several of the same run did not, without a word of why."""
    before, after = np.zeros((2, 100)), np.zeros((2, 100))
    after[0, :30] = after[1, :4] = (
        1  # gains of 30 and 4 points; in the mean 30 groups are better and none is worse
    )
    found = _seed_change(before, after)
    assert found.over_groups.p_value == pytest.approx(binomtest(30, 30).pvalue)
    assert found.mean.p_value > 0.05 and found._wants_seeds
    line = _more_seeds("GroupScore", found)
    assert "the 2 seeds gain +4.0 to +30.0 points" in line and "more seeds decide it" in line
    alike = np.zeros((4, 100))
    alike[:, :30] = 1
    alike[1, 0] = alike[2, 1] = alike[3, 2] = 0
    assert not _seed_change(np.zeros((4, 100)), alike)._wants_seeds  # surely more
    assert not _seed_change(np.zeros((2, 100)), np.zeros((2, 100)))._wants_seeds  # nothing at all


def test_where_groupmatch_is_full_before_no_text_takes_its_standstill_for_memorising():
    """ "GroupScore alone rises, as it does where a model memorises": GroupMatch was 100 % and could not rise."""
    own = np.tile([0, 1], (12, 1))
    matched = np.array(
        [[0.5, 0.9], [0.0, 0.6]]
    )  # 1.1 against 0.9, and the first image prefers the other caption
    before = Evaluation.of(np.tile(matched, (12, 1, 1)), own)
    after = Evaluation.of(np.tile(np.eye(2), (12, 1, 1)), own)
    whole = {"": np.ones(12, bool)}
    ceiling = "GroupMatch was 100 % before and could not rise, so that this set cannot tell memorising from learning"
    several = SeedChange.of_seeds([before] * 2, [after] * 2, whole)
    for compared in (changes(before, after, whole), {label: each.mean for label, each in several.items()}):
        assert compared["GroupScore"].difference == 100 and compared["GroupMatch"].at_ceiling
        assert _what_rises_mean(compared).startswith(ceiling)
    halves = {"adapted": np.arange(12) < 6, "untouched": np.arange(12) >= 6}
    assert _what_rises_mean(changes(before, after, halves)).startswith(ceiling)
    assert "at_ceiling" not in compared["GroupMatch"].record()
    results = SeedResult.of_seeds([before] * 2, [after] * 2, whole)
    for text in (SeedResult.html(results), SeedResult.latex(results).replace(r"\%", "%")):
        assert ceiling in text and "real gain" not in text


def test_a_reports_table_of_seeds_has_one_number_of_digits_in_a_column_and_short_lines():
    """It had “0.00” and “0” in one column, and was wider than its page: the gain and its interval were one line."""
    change = lambda fixed: SeedChange(  # noqa: E731
        Comparison(1.0, -1.0, 3.0, 1, 0, 0.5, p_holm=0.5), [1.0, 1.0], fixed, [0, 0], 0, 0, None
    )
    end = Estimate(50.0, 40.0, 60.0, 25.0, 0)
    results = [
        SeedResult(name, "", end, end, spread([50.0, 51.0]), [0, 0], 1.0, change(fixed))
        for name, fixed in (("group_score", [1, 2]), ("group_match", [1, 1]))
    ]
    cells = re.findall(
        r'<td class="num">([\d.]+)</td><td class="num">([\d.]+)</td></tr>', SeedResult.html(results)
    )
    assert cells == [("1.50", "0.00"), ("1.00", "0.00")]
    assert "</b><br>[" in SeedResult.html(results)


def test_every_corrected_p_says_how_many_tests_it_is_corrected_for():
    """GroupScore's p was doubled beside ImageScore's times five, and nothing said so."""
    before = [evaluated([1, 0, 0, 0, 1])] * 3
    after = [evaluated(right) for right in ([1, 1, 1, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 1, 0])]
    found = SeedResult.of_seeds(before, after, {"": np.ones(5, bool)})
    families = {each.metric: each.family for each in found}
    assert families["group_score"] == families["group_match"] == ("GroupScore", "GroupMatch")
    assert len(families["text_score"]) == len(found) == 5
    for each in found:
        assert f" of {len(families[each.metric])} tests" in each.line()
    which, corrected = _below_lines(found)[:2]
    assert which.startswith("p: larger p of the exact test") and corrected.startswith("Holm: p of the main")
    halves = {"adapted": np.arange(5) < 3, "untouched": np.arange(5) >= 3}
    parts = SeedResult.of_seeds(before, after, halves)
    assert next(each for each in parts if each.metric == "group_match").family == (
        *("GroupScore, adapted", "GroupMatch, adapted"),
        *("GroupScore, untouched", "GroupMatch, untouched"),
    )


def test_two_runs_of_one_seed_in_a_group_are_one_result(store):
    """Archives that older versions imported beside their group: n doubled, each seed twice."""
    runs = {}
    for name, seed in (("first", 5), ("twin", 5), ("second", 6)):
        job = JOB.with_seed(seed, "g-0123abcd")
        runs[name] = store.create("ttm", name, job.written(), created=1000.0)
        store.conclude(runs[name].id, store.queue_up(runs[name].id), "finished")
    kept = [runs["first"].id, runs["second"].id]
    assert [run.id for run in seeds.group_runs(store, "g-0123abcd")] == kept
    shown = {group.id: [run.id for run in group.runs] for group in seeds.sweeps(store.list())}
    assert shown == {"g-0123abcd": kept, runs["twin"].id: [runs["twin"].id]}
    assert seeds.SeedGroup.of_run(store, runs["twin"]) == ""
    assert seeds.SeedGroup.of_run(store, runs["first"]) == "g-0123abcd"
