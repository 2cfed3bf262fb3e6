"""Verdicts on the paper's claims: read off records and outcomes, by a rule that is checked here by hand."""

import json

import numpy as np
import pandas as pd
import pytest

from benchmarks.results import cola, cola_verdict
from benchmarks.results.cola_verdict import CLAIMS, MeasuredRun, outcomes_of, verdicts
from benchmarks.results.readme import README
from core.cola.run import StrategyRun
from core.scenes.retrieval import load_retrieval
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
    before = outcomes_of(arrays(test_set, 1.0, 0.5, 99))
    return MeasuredRun(strategy, seed, curve, before, outcomes_of(arrays(test_set, right, groups, seed)))


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
    assert found["low"] > 0 and found["verdict"] == "left open"
    assert found["decided_by"].startswith("2 of 3 seeds are measured")


def test_one_seed_on_the_other_side_leaves_a_claim_open(test_set):
    runs = [run(test_set, "mm-adapter", s, 4.0, g) for s, g in enumerate((1.0, 1.0, 0.45))]
    found = of(verdicts(runs, EPOCHS, 3), "mm-adapter", "base", "multi_object")
    assert found["low"] > 0 and found["verdict"] == "left open"
    assert found["by_seed"] == [50.0, 50.0, -5.0]


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


def test_readmes_table_holds_what_the_written_runs_say():
    found = cola.written_runs()
    whole, longer = (
        [run for job, _, run in found if (job["adapt"]["epochs"] == cola.PROTOCOL["epochs"]) is protocol]
        for protocol in (True, False)
    )
    table = cola.readme_table(whole, pd.read_csv(cola.TABLE), longer)
    assert table in README.read_text(encoding="utf-8")
    adapted = [run.after["multi_object"] for run in whole if run.strategy == "linear"]
    (row,) = [line for line in table.splitlines() if line.startswith("| Linear, 3 seeds")]
    assert f"| {np.mean(adapted):.1f} [" in row


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


def test_nothing_is_refuted_before_what_comes_off_worse_has_stopped_improving(test_set, one_claim):
    assert of_longer(test_set, 0, curve=EARLY)["verdict"] == "refuted"
    found = of_longer(test_set, 0)
    assert found["verdict"] == "left open" and found["high"] < 0 and found["longer"] is None
    assert found["decided_by"].startswith(
        "The opposite holds, but MM-Adapter comes off worse before it has stopped"
    )


def test_more_epochs_decide_a_claim_whose_loser_was_still_improving(test_set, one_claim):
    flat = (1.0, 5.0, *[4.0] * 15)
    still = [run(test_set, "mm-adapter", s, 1.0, curve=flat) for s in range(3)]
    found = of_longer(test_set, 16, *still)
    assert found["verdict"] == "refuted" and found["longer"]["high"] < 0
    assert found["decided_by"].startswith("With up to 16 epochs of MM-Adapter: -")
    assert of_longer(test_set, 16, *still[:2])["verdict"] == "left open"  # two of three seeds
    turned = [run(test_set, "mm-adapter", s, 8.0, curve=flat) for s in range(3)]
    found = of_longer(test_set, 16, *turned)  # FT all, which comes off worse now, was still improving
    assert found["verdict"] == "left open" and found["longer"]["low"] > 0
    assert "what comes off worse was still improving" in found["decided_by"]
    assert of_longer(test_set, 16, *turned, other=EARLY)["verdict"] == "confirmed"
    rising = [run(test_set, "mm-adapter", s, 1.0, curve=tuple(map(float, range(17)))) for s in range(3)]
    found = of_longer(test_set, 16, *rising)
    assert found["verdict"] == "left open" and "still improving" in found["decided_by"]
