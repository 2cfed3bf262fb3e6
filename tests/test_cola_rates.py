"""Early stopping on validation queries, and learning rates bracketed on both sides."""

from math import inf

import pytest
from small_cola import SMALL_COLA

from core.base.errors import InputError
from core.cli.cola import adapt
from core.cola import rates
from core.cola._training_data import builtin_training_queries
from core.cola.rates import _order, _RateTrial, find_rate
from core.cola.run import StrategyRun
from core.runs.description import Remains
from core.scorers.cola_config import AdaptConfig


@pytest.fixture
def small_world(monkeypatch):
    """Small material, small sets: a whole run in a second."""
    monkeypatch.setattr("core.cola.tasks.builtin_training_queries", builtin_training_queries.__wrapped__)
    for path, value in SMALL_COLA.items():
        monkeypatch.setattr(path, value)


def trial(values):
    """A measure whose values by rate are these, and which notes what it is asked for."""
    asked = []

    def measure(lr):
        asked.append(lr)
        return _RateTrial(lr, values(lr), {}, None)

    return asked, measure


@pytest.mark.parametrize(
    ("best", "expected"),
    [
        (1e-3, [3e-4, 1e-3, 3e-3]),  # the middle one: nothing more is tried
        (1e-2, [3e-4, 1e-3, 3e-3, 1e-2, 3e-2]),  # it grows until a worse one lies above
        (1e-4, [3e-5, 1e-4, 3e-4, 1e-3, 3e-3]),
    ],
)
def test_a_bracket_grows_until_the_best_rate_has_a_worse_one_on_both_sides(best, expected):
    asked, measure = trial(lambda lr: -abs(rates.log10(lr / best)))
    trials = rates._bracketed(measure, 1e-3)
    assert [each.lr for each in trials] == pytest.approx(expected)
    assert min(trials, key=_order).lr == pytest.approx(best)
    assert len(asked) == len(set(asked)) == len(expected)


def test_a_bracket_ends_and_a_rate_that_diverges_is_worse_than_any():
    asked, measure = trial(lambda lr: lr)  # higher is always better
    assert len(rates._bracketed(measure, 1e-3)) == len(asked) == 9
    _, measure = trial(lambda lr: -inf if lr > 1e-3 else lr)
    trials = rates._bracketed(measure, 1e-3)
    assert min(trials, key=_order).lr == 1e-3 and trials[-1].value == -inf


def test_of_equal_rates_the_lowest_is_the_best():
    _, measure = trial(lambda lr: 5.0 if lr <= 3e-3 else 0.0)
    assert len(rates._bracketed(measure, 1e-3)) == 9  # equal ones below: the bracket goes on there to its end
    assert min([_RateTrial(lr, 5.0, {}, None) for lr in (3e-3, 1e-3)], key=_order).lr == 1e-3


def test_rates_are_measured_on_validation_queries_with_a_seed_of_their_own(small_world, monkeypatch):
    monkeypatch.setattr(rates, "_IMAGES", 10)
    monkeypatch.setattr(rates, "_STEP", 40)
    seeds = []
    real = StrategyRun.execute
    monkeypatch.setattr(StrategyRun, "execute", lambda self, **k: seeds.append(self.seed) or real(self, **k))
    job = StrategyRun.of(options={"strategy": "linear", "epochs": 1, "steps": 1, "batch": 4})
    known = {1e-3: _RateTrial(1e-3, 101.0, {}, 0.5)}  # more than any measurement: its neighbours are worse
    trials = find_rate(job, known=known)
    assert trials[0].lr == 1e-3 and {each.lr for each in trials} == {3e-4, 1e-3, 3e-3}
    assert seeds == [rates.SEED] * 2
    assert all(0 <= each.value <= 100 and "all" in each.metrics for each in trials[1:])


def test_what_has_no_validation_queries_can_neither_stop_by_them_nor_choose_a_rate():
    with pytest.raises(InputError, match="no validation queries to stop by"):
        StrategyRun.of("gqa", options={"patience": 2})
    with pytest.raises(InputError, match="no validation queries to choose"):
        find_rate(StrategyRun.of("gqa"))


def test_a_patience_that_can_end_nothing_is_refused():
    said = "A patience of 2 ends no training of 2 epochs; choose a smaller one, more epochs, or leave the patience out."
    with pytest.raises(InputError) as refused:
        StrategyRun.of(options={"epochs": 2, "patience": 2})
    assert str(refused.value) == said
    assert StrategyRun.of(options={"epochs": 3, "patience": 2}).settings.patience == 2


@pytest.mark.parametrize(
    ("history", "over"),
    [([], False), ([5], False), ([5, 4], False), ([5, 4, 5], True), ([5, 6, 4], False), ([5, 6, 4, 6], True)],
)
def test_patience_counts_epochs_since_the_best_validation(history, over):
    assert AdaptConfig(patience=2).is_over(history) is over
    assert AdaptConfig().is_over(history) is False


def test_a_run_that_stops_improving_ends_early_is_measured_and_is_complete(small_world, monkeypatch):
    values = iter([10.0, 12.0, 11.0, 12.0, 20.0])
    monkeypatch.setattr(
        "core.cola.run._validation", lambda model, task: {"cola_map": {"all": {"value": next(values)}}}
    )
    job = StrategyRun.of(
        options={"strategy": "linear", "epochs": 6, "steps": 1, "batch": 4, "patience": 2}, images=6
    )
    records = [each.record for each in job.execute()]
    assert [r["iteration"] for r in records] == [0, 1, 2, 3]
    assert ["test" in r for r in records] == [True, False, False, True]
    assert job.is_over(records) and not job.is_over(records[:3])


def test_the_command_says_that_patience_ended_a_training_and_over_what_its_intervals_are(
    small_world, monkeypatch, capsys
):
    values = iter([{"value": value, "low": 0.0, "high": 90.0} for value in (10.0, 12.0, 11.0)])
    monkeypatch.setattr("core.cola.run._validation", lambda model, task: {"cola_map": {"all": next(values)}})
    adapt(strategy="linear", epochs=4, steps=1, batch=4, patience=1, images=6)
    text, notes = capsys.readouterr()
    said = "training ended after epoch 2 of 4: validation mAP has not risen for 1 epoch; the last epoch is the result"
    assert said in notes
    assert text.splitlines()[-1].startswith("intervals: over queries, each wording for itself")


def test_patience_counts_on_over_an_interruption(small_world, monkeypatch, tmp_path):
    """What was measured before the checkpoint counts: the resumed run stops where the whole one does."""
    values = [10.0, 12.0, 11.0, 12.0, 20.0, 21.0]
    told = iter(values)
    monkeypatch.setattr(
        "core.cola.run._validation", lambda model, task: {"cola_map": {"all": {"value": next(told)}}}
    )
    job = StrategyRun.of(
        options={"strategy": "linear", "epochs": 6, "steps": 1, "batch": 4, "patience": 2}, images=6
    )
    first, steps = [], job.execute()
    for each in steps:
        first.append(each.record)
        if len(first) == 3:
            each.model.save(tmp_path / "model")
            each.save_state(tmp_path)
            break
    steps.close()
    told = iter(values[3:])
    rest = [each.record for each in job.execute(Remains(tmp_path, tmp_path, tuple(first)))]
    assert [r["iteration"] for r in rest] == [3] and "test" in rest[0]
