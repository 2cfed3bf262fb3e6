"""A run of the command that nobody sent into the background: stored as one that was, whatever ends it."""

import numpy as np
import pytest
from typer.testing import CliRunner

from core.base.errors import InputError
from core.cli import app
from core.cola.run import StrategyRun
from core.runs import attempt as attempts
from core.runs.attempt import RunAttempt
from core.runs.engine import PlannedRun
from core.runs.models import adapted_model
from core.runs.resume import carry_out
from core.runs.store import RunStore
from core.ttm.run import TTMRun
from core.ttm.seeds import group_runs

SMALL = ("--iterations", "2", "--epochs", "1", "--lr", "0.01", "--device", "cpu")


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Embeddings of 12 groups; every other file of the command in a folder of its own."""
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path / "home"))
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "mine.npz", img=rng.normal(size=(24, 8)), cap=rng.normal(size=(24, 8)))
    return str(tmp_path / "mine.npz")


def invoke(*words):
    return CliRunner().invoke(app, [*words])


def timeless(records):
    return [
        {name: value for name, value in each.items() if not name.startswith("seconds")} for each in records
    ]


def in_the_worker(store, job, title):
    """What a worker of a run in the background does."""
    run = PlannedRun(title, job).write_down(store)
    attempt = RunAttempt(store, run.id, store.queue_up(run.id))
    attempt.wait_for_turn()
    store.conclude(run.id, attempt.attempt, "finished" if carry_out(attempt, job) else "stopped")
    return store.get(run.id)


def test_a_foreground_run_is_stored_as_one_in_the_background(file):
    done = invoke("ttm", "--embeddings", file, *SMALL)
    assert done.exit_code == 0
    (run,) = RunStore().list()
    assert done.stderr.splitlines()[-1] == f"stored as run {run.id}; see `crossmatch runs show {run.id}`"
    assert f"{run.id[:20]}" in invoke("runs", "list").stdout
    other = in_the_worker(RunStore(), TTMRun.read(run.config), run.title)
    assert (run.status, run.kind, run.title, run.config) == ("finished", "ttm", other.title, other.config)
    assert timeless(RunStore().steps(run.id)) == timeless(RunStore().steps(other.id))
    for i in range(3):
        assert np.array_equal(RunStore().scores(run.id, i), RunStore().scores(other.id, i))
    assert adapted_model(RunStore(), run.id).is_dir()


@pytest.mark.parametrize("command", ["ttm", "simplematch"])
def test_seeds_are_stored_as_a_group(file, command):
    length = SMALL if command == "ttm" else ("--rounds", "1", *SMALL[2:])
    done = invoke(command, "--embeddings", file, "--seeds", "2", "--batch", "4", *length)
    runs = RunStore().list()
    group = runs[0].config["group"]
    assert (
        done.stderr.splitlines()[-1]
        == f"stored as group {group}, 2 runs; see `crossmatch runs seeds {group}`"
    )
    assert [run.status for run in group_runs(RunStore(), group)] == ["finished"] * 2


@pytest.mark.parametrize("command", ["ttm", "simplematch"])
def test_no_store_leaves_no_run_and_says_so(file, command):
    length = SMALL if command == "ttm" else ("--rounds", "1", *SMALL[2:])
    stored, not_stored = (
        invoke(command, "--embeddings", file, *length, *more) for more in ((), ("--no-store",))
    )
    assert len(RunStore().list()) == 1
    assert not_stored.stderr.splitlines()[-1].startswith("not stored; without --no-store")
    assert [
        line.rsplit("  ", 1)[0] for line in stored.stdout.splitlines() if line.startswith("iteration")
    ] == [line.rsplit("  ", 1)[0] for line in not_stored.stdout.splitlines() if line.startswith("iteration")]


@pytest.mark.parametrize(
    ("error", "status", "code"), [(KeyboardInterrupt(), "stopped", 130), (InputError("Odd."), "failed", 1)]
)
def test_what_an_interrupted_run_has_done_is_stored_and_goes_on(file, monkeypatch, error, status, code):
    whole = invoke("ttm", "--embeddings", file, *SMALL)
    assert whole.exit_code == 0
    real = RunAttempt.append

    def append(self, record):
        real(self, record)
        if record["iteration"] == 1:
            raise error

    with monkeypatch.context() as patch:
        patch.setattr(RunAttempt, "append", append)
        done = invoke("ttm", "--embeddings", file, *SMALL)
    assert done.exit_code == code
    run, first = RunStore().list()
    assert run.status == status and run.resumable
    assert f"`crossmatch runs resume {run.id}`" in done.stderr
    again = RunAttempt(RunStore(), run.id, RunStore().queue_up(run.id))
    again.wait_for_turn()
    assert carry_out(again, TTMRun.read(run.config))
    assert timeless(RunStore().steps(run.id)) == timeless(RunStore().steps(first.id))


def test_a_run_that_is_stopped_before_anything_was_computed_says_that_nothing_is_stored(file, monkeypatch):
    """Ctrl-C while the model was loaded: code 130, not a word, and the run was gone from every list."""

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(RunAttempt, "append", stopped)
    done = invoke("ttm", "--embeddings", file, *SMALL)
    assert done.exit_code == 130 and not RunStore().list()
    assert done.stderr.splitlines()[-1].endswith("nothing was computed yet, so no run is stored")


def test_a_run_that_fails_before_its_first_iteration_leaves_nothing(file, tmp_path):
    done = invoke("ttm", "--embeddings", file, *SMALL, "--lora-rank", "2")
    assert isinstance(done.exception, InputError)
    assert not RunStore().list()
    assert not [path for path in (tmp_path / "home" / "runs").iterdir() if path.is_dir()]


def test_a_run_that_is_stopped_from_elsewhere_says_how_it_goes_on(file, monkeypatch):
    real = RunAttempt.append

    def append(self, record):
        real(self, record)
        self.ask_to_stop()

    monkeypatch.setattr(RunAttempt, "append", append)
    done = invoke("ttm", "--embeddings", file, *SMALL)
    (run,) = RunStore().list()
    assert isinstance(done.exception, InputError)
    assert str(done.exception) == (
        f"Run {run.id} was stopped after iteration 0; `crossmatch runs resume {run.id}` goes on."
    )
    assert run.status == "stopped" and run.resumable


def test_a_store_that_cannot_be_written_costs_the_run_nothing_but_its_place(file, monkeypatch):
    def create(*_, **__):
        raise InputError("The disk is full.")

    monkeypatch.setattr(RunStore, "create", create)
    done = invoke("ttm", "--embeddings", file, *SMALL)
    assert done.exit_code == 0 and "iteration  2" in done.stdout
    assert "not stored: The disk is full." in done.stderr.splitlines()


def test_a_foreground_run_does_not_wait_for_those_in_the_background(file, monkeypatch):
    store = RunStore()
    other = store.create("ttm", "works", TTMRun.of_file(file, device="cpu").written())
    number = store.queue_up(other.id)
    assert not store.try_start(other.id, number, 1)
    monkeypatch.setattr(attempts.time, "sleep", lambda _: pytest.fail("it waits"))
    assert invoke("ttm", "--embeddings", file, *SMALL).exit_code == 0


def test_a_ledger_is_stored_and_shown_again_from_its_run(file):
    """It was not: "--background keeps it among the runs"."""
    words = ("--embeddings", file, *SMALL, "--controls", "per-image", "--batch", "4")
    done = invoke("ledger", *words)
    (run,) = RunStore().list()
    assert done.stderr.splitlines()[-1] == f"stored as run {run.id}; see `crossmatch runs show {run.id}`"
    assert (run.kind, run.status) == ("ledger", "finished")
    assert invoke("ledger", f"run/{run.id}").stdout == done.stdout
    again = invoke("ledger", *words, "--no-store")
    assert len(RunStore().list()) == 1 and again.stderr.splitlines()[-1].startswith("not stored; without")


def test_an_adaptation_by_a_strategy_is_stored_with_its_model(tmp_path, monkeypatch):
    """It was not: only --save left a model behind."""
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path / "home"))
    small = ("--strategy", "linear", "--epochs", "1", "--images", "20", "--device", "cpu")
    done = invoke("adapt", *small, "--save", str(tmp_path / "model"))
    (run,) = RunStore().list()
    assert done.stderr.splitlines()[-1] == f"stored as run {run.id}; see `crossmatch runs show {run.id}`"
    assert (run.kind, run.status) == ("adapt", "finished")
    assert run.title == StrategyRun.read(run.config).title
    assert [step["iteration"] for step in RunStore().steps(run.id)] == [0, 1]
    kept = adapted_model(RunStore(), run.id)
    weights = sorted(each.name for each in kept.glob("*.safetensors"))
    assert weights and all(
        (tmp_path / "model" / name).read_bytes() == (kept / name).read_bytes() for name in weights
    )
