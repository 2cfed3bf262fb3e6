"""Verdicts on the paper's claims: read off records and outcomes, by a rule that is checked here by hand."""

import json

import numpy as np
import pandas as pd
import pytest

from benchmarks.results import cola, cola_verdict
from benchmarks.results.cola_verdict import CLAIMS, MeasuredRun, outcomes_of, verdicts
from benchmarks.results.readme import README
from core.cola import rates, tasks
from core.cola.run import StrategyRun
from core.scenes.retrieval import load_retrieval
from core.scorers.cola_config import STRATEGIES
from core.scoring.retrieval import first_images

EPOCHS = 4


@pytest.fixture(scope="module")
def test_set():
    return first_images(load_retrieval("test"), 60)


def arrays(test_set, right, groups=0.5, seed=0):
    """Outcomes of a scorer: `right` is how far its scores follow the truth; `groups` the share of groups solved."""
    noise = np.random.default_rng(seed).normal(size=test_set.relevant.shape)
    outcome = (np.arange(40) < 40 * groups).astype(float)
    scores = (right * test_set.relevant + noise).astype(np.float32)
    return {"retrieval_scores": scores, "multi_object": outcome, "crepe": outcome, "forgetting": outcome}


def run(test_set, strategy, seed, right, groups=0.5, curve=(1.0, 5.0, 4.0, 3.0, 2.0)):
    before, after = (measured(test_set, *each) for each in ((1.0, 0.5, 99), (right, groups, seed)))
    return MeasuredRun(strategy, seed, curve, before, after)


_MEASURED = {}  # many tests ask for the same ones


def measured(test_set, right, groups, seed):
    """Outcomes by how far scores follow the truth, the share of groups solved, and the seed of the noise."""
    key = right, groups, seed
    if key not in _MEASURED:
        _MEASURED[key] = outcomes_of(arrays(test_set, *key))
    return _MEASURED[key]


def of(found, first, second, measure):
    return next(c for c in found if (c["first"], c["second"], c["measure"]) == (first, second, measure))


def test_without_runs_every_claim_is_open_and_says_that_nothing_is_measured():
    found = verdicts([], EPOCHS, 3)
    assert len(found) == len(CLAIMS) and {c["verdict"] for c in found} == {"left open"}
    assert {c["decided_by"] for c in found} == {"Not measured yet: 0 of 3 seeds."}


def test_a_claim_is_confirmed_refuted_or_open_by_its_interval_and_every_seed(test_set):
    runs = [run(test_set, "mm-adapter", s, 4.0, 0.9) for s in range(3)]
    runs += [run(test_set, "ft-all", s, 1.0, 0.95) for s in range(3)]
    runs += [run(test_set, "linear", s, 4.0 + 0.02 * (s - 1), 0.9) for s in range(3)]
    found = verdicts(runs, EPOCHS, 3)
    full = of(found, "mm-adapter", "ft-all", "cola_map all")
    assert full["verdict"] == "confirmed" and full["low"] > 0 and len(full["by_seed"]) == 3
    assert full["difference"] == pytest.approx(np.mean(full["by_seed"]), abs=2e-3)
    assert of(found, "mm-adapter", "linear", "cola_map all")["verdict"] == "left open"
    pairs = of(found, "mm-adapter", "ft-all", "multi_object")
    # Two groups of forty fewer, in every seed: 5 points less; the interval of two in forty reaches 0.
    assert pairs["by_seed"] == [-5.0] * 3 and pairs["n"] == 40
    assert pairs["verdict"] == ("refuted" if pairs["high"] < 0 else "left open")
    # A loss is claimed, and 16 of 40 groups are gained: the opposite.
    lost = of(found, "mm-adapter", "base", "forgetting")
    assert lost["by_seed"] == [40.0] * 3 and lost["verdict"] == "refuted"


def test_too_few_seeds_leave_a_claim_open_however_large_the_difference(test_set, one_claim):
    runs = [
        run(test_set, name, s, right) for s in range(2) for name, right in (("mm-adapter", 5), ("ft-all", 0))
    ]
    found = of(verdicts(runs, EPOCHS, 3), "mm-adapter", "ft-all", "cola_map all")
    assert min(found["by_seed"]) > 0 and found["verdict"] == "left open"
    assert found["decided_by"].startswith("2 of 3 seeds are measured")


def test_one_seed_on_the_other_side_leaves_a_claim_open(test_set):
    runs = [run(test_set, "mm-adapter", s, 4.0, g) for s, g in enumerate((1.0, 1.0, 0.45))]
    found = of(verdicts(runs, EPOCHS, 3), "mm-adapter", "base", "multi_object")
    assert found["difference"] > 30 and found["verdict"] == "left open"
    assert found["by_seed"] == [50.0, 50.0, -5.0]


def test_three_seeds_that_agree_by_chance_leave_a_claim_open(test_set):
    """+50, +10, +2.5 points: over the 40 groups alone the mean is clearly above 0; the next seed may be below."""
    runs = [run(test_set, "mm-adapter", s, 4.0, g) for s, g in enumerate((1.0, 0.6, 0.525))]
    found = of(verdicts(runs, EPOCHS, 3), "mm-adapter", "base", "multi_object")
    assert found["by_seed"] == [50.0, 10.0, 2.5]
    # Student's t of three seeds alone: 20.8 -+ 4.303 * 25.5 / sqrt(3) is -42.5 to +84.2.
    assert found["low"] < 0 < found["high"] and found["verdict"] == "left open"
    assert found["decided_by"].startswith("The interval, or a seed")


def test_what_decided_it_names_words_position_and_how_training_ended(test_set, one_claim):
    late, early = (1.0, 2.0, 3.0, 4.0, 5.0), (1.0, 5.0, 4.0)
    runs = [run(test_set, "mm-adapter", s, 4.0, curve=late) for s in range(3)]
    runs += [run(test_set, "ft-all", s, 1.0, curve=early) for s in range(3)]
    found = of(verdicts(runs, EPOCHS, 3), "mm-adapter", "ft-all", "cola_map all")
    said = found["decided_by"]
    assert (
        "it holds of seen" in said.lower()
        and "materials" in said
        and set(found["parts"]) >= {"seen", "sizes"}
    )
    assert "MM-Adapter was still improving on validation when it ended (3 of 3 seeds)" in said
    assert "FT all had stopped improving on validation (after 2 of 4 epochs)" in said


def test_word_kinds_are_those_of_the_queries():
    """24 of 240 queries name a colour and a shape alone: 8 colours, 3 shapes. A size is said by 9 x 3 x 2 x 3."""
    kinds, queries = cola_verdict._parts(), load_retrieval("test").queries
    said = {name: [q for q, kept in zip(queries, mask, strict=True) if kept] for name, mask in kinds.items()}
    assert len(said["colours alone"]) == 24 and len(said["sizes"]) == len(said["materials"]) == 162
    assert not any(
        w in text.split() for text in said["colours alone"] for w in ("big", "small", "metal", "matte")
    )


def test_a_run_that_is_written_and_read_again_says_the_same(test_set, tmp_path):
    first = run(test_set, "linear", 1, 2.0)
    description = StrategyRun.of(options={"strategy": "linear", "seed": 1}).written()
    line = cola.written(description, {"rows": 1}, first)
    job, facts, again = cola.read(json.loads(json.dumps(line)))
    assert job == description and facts == {"rows": 1}
    assert (again.strategy, again.seed, list(again.curve)) == ("linear", 1, list(first.curve))
    for name, values in first.after.items():
        np.testing.assert_allclose(again.after[name], values, atol=5e-5)  # four decimals of a percent
    np.testing.assert_allclose(again.before["cola_map"], first.before["cola_map"], atol=5e-5)


def test_the_first_table_holds_what_the_written_runs_say():
    found = cola.written_runs()
    whole, longer = (
        [run for job, _, run in found if (job["adapt"]["epochs"] == cola.PROTOCOL["epochs"]) is protocol]
        for protocol in (True, False)
    )
    table = cola.summary_table(whole, pd.read_csv(cola.TABLE), longer)
    assert table in cola.PAGE.read_text(encoding="utf-8") and table in README.read_text(encoding="utf-8")
    adapted = [run.after["multi_object"] for run in whole if run.strategy == "linear"]
    (row,) = [line for line in table.splitlines() if line.startswith("| Linear, 3 seeds")]
    assert f"| {np.mean(adapted):.1f} [" in row
    marked = {
        line.split(",")[0].removeprefix("| ") for line in table.splitlines() if ", still improving |" in line
    }
    said = cola.PAGE.read_text(encoding="utf-8")
    assert marked == {s.label for s in STRATEGIES.values() if f"{s.label} was still improving" in said}
    measured = {run.strategy for run in longer}
    assert {n for n in STRATEGIES if f"| {STRATEGIES[n].label}, 32 epochs, " in table} == measured


LATE, EARLY = (1.0, 2.0, 3.0, 4.0, 5.0), (1.0, 5.0, 4.0, 3.0, 2.0)


@pytest.fixture
def one_claim(monkeypatch):
    """The claim that these tests are about, alone: all of them take ten times as long."""
    claim = next(
        c for c in CLAIMS if (c.first, c.second, c.measure) == ("mm-adapter", "ft-all", "cola_map all")
    )
    monkeypatch.setattr(cola_verdict, "CLAIMS", (claim,))


def of_longer(test_set, epochs, *longer, curve=LATE, other=LATE):
    """The verdict on MM-Adapter against FT all when the adapter is worse and its training ends with this curve."""
    runs = [run(test_set, "mm-adapter", s, 1.0, curve=curve) for s in range(3)]
    runs += [run(test_set, "ft-all", s, 4.0, curve=other) for s in range(3)]
    found = verdicts(runs, EPOCHS, 3, cola_verdict.Longer(epochs, longer))
    return of(found, "mm-adapter", "ft-all", "cola_map all")


def seeds_of(test_set, name, right, last=9.0):
    """Three runs of 16 epochs whose validation ends with `last`."""
    return [run(test_set, name, s, right, curve=(*map(float, range(16)), last)) for s in range(3)]


def test_nothing_is_decided_before_what_was_still_improving_has_trained_for_longer(test_set, one_claim):
    assert of_longer(test_set, 0, curve=EARLY, other=EARLY)["verdict"] == "refuted"
    for curve, other, owed in (
        (LATE, EARLY, "MM-Adapter"),
        (EARLY, LATE, "FT all"),
        (LATE, LATE, "MM-Adapter and FT all"),
    ):
        found = of_longer(test_set, 0, curve=curve, other=other)
        assert found["verdict"] == "left open" and found["high"] < 0 and "longer" not in found
        assert found["decided_by"].startswith(
            f"The opposite holds with the protocol's epochs, but runs of more epochs are owed of {owed};"
        )


def test_a_claim_is_decided_where_twice_the_training_says_the_same(test_set, one_claim):
    adapter = seeds_of(test_set, "mm-adapter", 1.5)
    found = of_longer(test_set, 16, *adapter, other=EARLY)
    assert found["verdict"] == "refuted" and found["longer"]["high"] < 0
    said = found["decided_by"]
    assert said.startswith("With 16 epochs of MM-Adapter, too: -")
    # The protocol's curves end with 5, these with 9.
    assert "(3 of 3 seeds); 16 epochs change its validation mAP by +4.0 points" in said
    assert of_longer(test_set, 16, *adapter[:2], other=EARLY)["verdict"] == "left open"  # two of three seeds
    assert of_longer(test_set, 16, *adapter)["verdict"] == "left open"  # FT all improved as well, and is owed
    both = of_longer(test_set, 16, *adapter, *seeds_of(test_set, "ft-all", 6.0))
    assert both["verdict"] == "refuted" and both["decided_by"].startswith(
        "With 16 epochs of MM-Adapter and FT all, too: -"
    )


@pytest.mark.parametrize("right", [4.0, 9.0])  # as good as FT all, and better
def test_what_twice_the_training_undoes_is_left_open(test_set, one_claim, right):
    found = of_longer(test_set, 16, *seeds_of(test_set, "mm-adapter", right), other=EARLY)
    assert found["verdict"] == "left open" and found["high"] < 0 < found["longer"]["high"]
    assert "so more training undoes it" in found["decided_by"]


def test_runs_of_more_epochs_do_not_count_of_what_had_stopped_improving(test_set, one_claim):
    turned = seeds_of(test_set, "mm-adapter", 9.0)
    assert of_longer(test_set, 16, *turned, curve=EARLY, other=EARLY)["verdict"] == "refuted"


def test_more_epochs_are_said_of_a_claim_that_the_protocols_epochs_leave_undecided(test_set, one_claim):
    runs = [run(test_set, "mm-adapter", s, 4.0, curve=LATE) for s in range(3)]
    runs += [run(test_set, "ft-all", s, 4.0 + 0.02 * (s - 1), curve=EARLY) for s in range(3)]
    (found,) = verdicts(runs, EPOCHS, 3)
    assert found["verdict"] == "left open" and "longer" not in found
    better = cola_verdict.Longer(16, seeds_of(test_set, "mm-adapter", 9.0))
    (found,) = verdicts(runs, EPOCHS, 3, better)
    assert found["verdict"] == "left open" and found["longer"]["low"] > 0
    assert "with 16 epochs of MM-Adapter: +" in found["decided_by"]


def planned(monkeypatch, *arguments, epochs=32):
    """Strategy and seed of every run that the command would carry out; nothing is trained, nothing written."""
    found = []
    monkeypatch.setattr(cola, "_LONGER", cola._LONGER | {"epochs": epochs})
    monkeypatch.setattr(cola, "run_all", lambda store, runs, *rest: found.extend(each.job for each in runs))
    monkeypatch.setattr(cola, "write_verdict", lambda store: {})
    cola.main(list(arguments))
    assert {job.settings.epochs for job in found} <= {epochs}
    return [(job.settings.strategy, job.settings.seed) for job in found]


def test_runs_of_more_epochs_are_ended_by_no_patience(monkeypatch):
    found = []
    monkeypatch.setattr(cola, "run_all", lambda store, runs, *rest: found.extend(each.job for each in runs))
    monkeypatch.setattr(cola, "write_verdict", lambda store: {})
    monkeypatch.setattr(cola, "_measured", lambda store, job: {})
    cola.main(["--longer", *STRATEGIES])
    assert len(found) == 3 * len(STRATEGIES)
    assert {(job.settings.epochs, job.settings.patience) for job in found} == {(32, None)}


def test_what_is_written_of_more_epochs_has_trained_all_of_them():
    """The page says "all of them trained"."""
    longer = [run for job, _, run in cola.written_runs() if job["adapt"]["epochs"] == 32]
    assert longer and {len(run.curve) - 1 for run in longer} == {32}


def test_a_patience_that_ended_nothing_makes_no_other_run():
    job = cola._job(cola._lines()[0], **cola._LONGER)
    config = job.written()
    cut = {**config, "adapt": {**config["adapt"], "patience": 5}}
    assert job.same(config) and not job.same(cut)
    assert cola._is_run_of(job, cut, 32) and not cola._is_run_of(job, cut, 31)


def test_longer_trains_the_strategies_that_are_named(monkeypatch):
    every = [(name, seed) for name in ("linear", "ft-late") for seed in range(3)]
    assert planned(monkeypatch, "--longer", "linear", "ft-late", epochs=65) == every  # measured nowhere


def test_longer_alone_trains_what_the_page_says_was_still_improving(monkeypatch):
    said = cola.PAGE.read_text(encoding="utf-8")
    written = cola.written_runs()
    measured = {(run.strategy, run.seed) for job, _, run in written if job["adapt"]["epochs"] == 32}
    improving = [n for n in STRATEGIES if f"{STRATEGIES[n].label} was still improving" in said]
    assert "mm-adapter" in improving and "linear" not in improving
    every = [(name, seed) for name in improving for seed in range(3)]
    assert planned(monkeypatch, "--longer", epochs=65) == every
    assert planned(monkeypatch, "--longer") == [each for each in every if each not in measured]


def test_longer_refuses_a_strategy_that_there_is_not(monkeypatch, capsys):
    with pytest.raises(SystemExit):
        planned(monkeypatch, "--longer", "mm-adaptor")
    assert "mm-adaptor" in capsys.readouterr().err


def test_the_page_says_what_validation_and_crepe_hold():
    """Counted from what a run validates on, a learning rate is chosen on, and a run measured."""
    validation = load_retrieval("validation")
    sets = (
        first_images(validation, tasks._CURVE_IMAGES, tasks._CURVE_STEP),
        first_images(validation, rates._IMAGES, rates._STEP),
    )
    said = cola._VALIDATED
    for found in sets:
        assert f"{len(found.queries)} validation queries over {len(found.images)} images" in said
    unseen = [f"{int(found.unseen.sum())} of the {len(found.queries)}" for found in sets]
    assert f"{' and '.join(unseen)} ask for combinations" in said
    tests = load_retrieval("test")
    asked, shown = (
        {str(p) for p, new in zip(s.phrases, s.unseen, strict=True) if new} for s in (tests, sets[1])
    )
    assert shown <= asked
    (pairs,) = {len(run.after["crepe"]) for *_, run in cola.written_runs()}
    assert f"“crepe” is {pairs} pairs" in said and f"after {cola.PROTOCOL['patience']} epochs" in said
