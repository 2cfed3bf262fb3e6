"""Real worker processes: they outlive their starter, stop, die at any instant, and go on where they were."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from counting_worker import Counting, CountRun
from gates import VARIABLE, Gate, until
from worlds import varied

from core import worker
from core.base import files, processes
from core.base.errors import InputError
from core.runs import attempt
from core.runs import store as runs
from core.runs.description import _Share
from core.runs.engine import launch
from core.runs.resume import carry_out
from core.runs.store import RunStore
from core.ttm import run as jobs
from core.ttm._progress import ProgressPlan
from core.ttm.records import BINS
from core.ttm.time_left import expected_seconds

TESTS = Path(__file__).resolve().parent
COUNTING = "counting_worker"  # tests/counting_worker.py


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store whose workers can import the tests' own kind; whatever still runs at the end is ended."""
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.chdir(tmp_path)  # not the checkout: a worker must find `core` from anywhere
    store = RunStore(tmp_path / "runs")
    yield store
    for run in store.list():
        store.delete(run.id)


@pytest.fixture(autouse=True)
def gate(tmp_path, monkeypatch):
    """What every run of these tests waits at: none ends before its test opens it."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "gate"))
    return Gate(tmp_path / "gate")


def wait(store, run_id, holds):
    """The run as soon as this holds for it."""
    try:
        until(lambda: holds(store.get(run_id)))
    except TimeoutError:
        raise AssertionError(f"{store.get(run_id)}\n{store.log(run_id)}") from None
    return store.get(run_id)


def ended(run):
    return not run.live


def counting(store, total=6, **config):
    return store.create("count", "counting", CountRun(settings=Counting(total=total, **config)).written())


def expected(total):
    value, values = 1, [1]
    for iteration in range(1, total + 1):
        value = (value * (iteration + 1) + 7) % 1_000_003
        values.append(value)
    return values


def values(store, run_id):
    return [step["value"] for step in store.steps(run_id)]


def test_a_run_finishes_and_its_steps_appear_while_it_works(store, gate):
    run = counting(store)
    assert launch(store, run.id, COUNTING).live
    gate.let(2)
    early = wait(store, run.id, lambda run: run.done == 2)
    assert early.status == "running" and early.total == 6
    gate.open()
    run = wait(store, run.id, ended)
    assert (run.status, run.done, run.fraction) == ("finished", 6, 1.0)
    assert run.error is None and run.seconds_left is None
    assert values(store, run.id) == expected(6)
    assert run.created <= run.started <= run.ended
    assert "iteration 6 done" in store.log(run.id)


def test_a_worker_leaves_no_zombie_and_is_in_a_session_of_its_own(store, gate):
    run = counting(store)
    pid = launch(store, run.id, COUNTING).pid
    assert os.getsid(pid) == pid
    gate.open()
    wait(store, run.id, ended)
    until(lambda: not psutil.pid_exists(pid))


def test_runs_that_are_launched_together_work_together(store, gate):
    """A table's runs were launched two at a time, and the second waited in the queue all the same."""
    together = [launch(store, counting(store).id, COUNTING, at_once=2).id for _ in range(2)]
    gate.let(1)
    for run_id in together:
        wait(store, run_id, lambda run: run.status == "running")
    third = launch(store, counting(store).id, COUNTING, at_once=2).id
    alone = launch(store, counting(store).id, COUNTING).id
    wait(store, third, lambda run: run.message == "waiting for 1 run to end")
    wait(store, alone, lambda run: run.message == "waiting for 3 runs to end")
    gate.open()
    for run_id in (*together, third, alone):
        assert wait(store, run_id, ended).status == "finished"


def test_a_run_on_a_file_of_embeddings_goes_beside_one_that_works(store, gate, monkeypatch):
    """One of two seconds waited behind a training run of minutes."""
    long = launch(store, counting(store).id, COUNTING)
    gate.let(1)
    wait(store, long.id, lambda run: run.status == "running")
    assert worker._slots({"embeddings": "e.npz"}) == 2 and worker._slots({"model": "builtin/clip"}) is None
    quick = store.create("count", "quick", CountRun(settings=Counting()).written())
    attempt_of = attempt.RunAttempt(store, quick.id, store.queue_up(quick.id))
    assert attempt_of.wait_for_turn(worker._slots({"embeddings": "e.npz"}))  # at once
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    assert worker._slots({"embeddings": "e.npz"}) is None  # a server's memory is shared out
    monkeypatch.delenv("CROSSMATCH_PUBLIC")
    store.conclude(quick.id, attempt_of.attempt, "finished")
    gate.open()
    wait(store, long.id, ended)


LAUNCH = """
import os, sys
from pathlib import Path
from core.runs.engine import launch
from core.runs.store import RunStore
store = RunStore(Path(sys.argv[1]))
launch(store, sys.argv[2], "counting_worker")
os.kill(os.getpid(), 9)
"""


def test_a_run_outlives_a_starter_that_is_killed(store, gate):
    run = counting(store)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)])}
    starter = subprocess.run(
        [sys.executable, "-c", LAUNCH, str(store.root), run.id], env=environment, check=False
    )
    assert starter.returncode == -signal.SIGKILL
    gate.open()
    assert wait(store, run.id, ended).status == "finished"


def test_a_stopped_run_goes_on_where_it_was(store, gate):
    run = counting(store)
    launch(store, run.id, COUNTING)
    gate.let(2)
    wait(store, run.id, lambda run: run.done == 2)
    assert store.request_stop(run.id).status in ("stopping", "stopped")
    run = wait(store, run.id, ended)
    assert run.status == "stopped" and run.done == 2 and run.ended is not None
    gate.open()
    assert launch(store, run.id, COUNTING).attempt == 2
    assert wait(store, run.id, ended).status == "finished"
    assert values(store, run.id) == expected(6)


def test_sigterm_stops_politely(store, gate):
    run = counting(store)
    launch(store, run.id, COUNTING)
    gate.let(1)
    os.kill(wait(store, run.id, lambda run: run.done == 1).pid, signal.SIGTERM)
    assert wait(store, run.id, ended).status == "stopped"


@pytest.mark.slow
@pytest.mark.parametrize("instant", ["any", "at work"])
def test_a_run_killed_five_times_is_interrupted_and_ends_as_if_it_had_not_been(store, gate, instant):
    """At any instant, while it starts too; and within each of five iterations."""
    run, dice = counting(store), random.Random(0)
    for done in range(5):
        gate.let(done)
        launch(store, run.id, COUNTING)
        if instant == "at work":
            wait(store, run.id, lambda run, done=done: run.total and run.done == done)
        time.sleep(dice.uniform(0.0, 0.3))  # whatever that hits, it is no end: the gate is closed
        os.kill(store.get(run.id).pid, signal.SIGKILL)
        assert wait(store, run.id, ended).status == "interrupted"
    gate.open()
    launch(store, run.id, COUNTING)
    assert wait(store, run.id, ended).status == "finished"
    assert values(store, run.id) == expected(6)


def test_a_second_run_waits_for_the_first_and_starts_when_that_is_killed(store, gate):
    first, second, third = (counting(store, total=1).id for _ in range(3))
    pid = launch(store, first, COUNTING).pid
    wait(store, first, lambda run: run.status == "running")
    launch(store, second, COUNTING)
    launch(store, third, COUNTING)
    waiting = wait(store, third, lambda run: "waiting" in run.message)
    assert waiting.status == "queued" and waiting.message == "waiting for 2 runs to end"
    loaded = {name.path.rpartition("/")[2] for name in psutil.Process(waiting.pid).memory_maps()}
    assert not any("torch" in name or "numpy" in name for name in loaded)
    os.kill(pid, signal.SIGKILL)
    wait(store, first, lambda run: run.status == "interrupted")
    gate.open()
    assert wait(store, second, ended).status == wait(store, third, ended).status == "finished"
    assert store.get(second).ended <= store.get(third).started


def test_a_queued_run_can_be_stopped_and_its_process_goes_away(store):
    first, second = (counting(store, total=1).id for _ in range(2))
    launch(store, first, COUNTING)
    wait(store, first, lambda run: run.status == "running")
    launch(store, second, COUNTING)
    pid = wait(store, second, lambda run: "waiting" in run.message).pid
    assert store.request_stop(second).status == "stopped"
    until(lambda: not psutil.pid_exists(pid))
    assert store.get(second).status == "stopped"


def test_deleting_a_running_run_ends_its_process_and_leaves_nothing(store):
    run = counting(store)
    pid = launch(store, run.id, COUNTING).pid
    wait(store, run.id, lambda run: run.status == "running")
    process = processes.ProcessIdentity.of(pid)
    store.delete(run.id)
    assert not process.is_alive()
    assert store.list() == [] and [path for path in store.root.iterdir() if path.is_dir()] == []


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"fail_at": 2}, "Seven is too many; use six."),
        ({"crash_at": 2}, "ZeroDivisionError: one over nothing"),
    ],
)
def test_a_failure_is_one_sentence_in_the_store_and_a_traceback_in_the_log(store, gate, config, sentence):
    gate.open()
    run = counting(store, **config)
    launch(store, run.id, COUNTING)
    run = wait(store, run.id, ended)
    assert (run.status, run.error, run.done) == ("failed", sentence, 1)
    assert "Traceback" in store.log(run.id)


def test_a_kind_that_nobody_knows_fails_with_a_suggestion(store):
    run = store.create("ttn", "t", {})
    launch(store, run.id)
    assert "did you mean 'ttm'?" in wait(store, run.id, ended).error


def test_a_wrong_setting_of_the_environment_fails_with_a_sentence(store, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_PARALLEL_RUNS", "many")
    run = counting(store)
    launch(store, run.id, COUNTING)
    assert "CROSSMATCH_PARALLEL_RUNS" in wait(store, run.id, ended).error


def test_a_worker_s_threads_sleep_early_unless_the_environment_says_how_they_wait(monkeypatch):
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    assert processes.module_command("core.worker", ())[1]["GOMP_SPINCOUNT"] == "5000"
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    assert "GOMP_SPINCOUNT" not in processes.module_command("core.worker", ())[1]
    monkeypatch.setenv("GOMP_SPINCOUNT", "7")
    assert processes.module_command("core.worker", ())[1]["GOMP_SPINCOUNT"] == "7"


def test_a_worker_that_dies_before_its_first_word_is_noticed_at_once(store):
    run = counting(store)
    launch(store, run.id, "no_such_module")
    assert wait(store, run.id, ended).status == "interrupted"
    assert "no_such_module" in store.log(run.id)


def test_a_launched_run_is_not_launched_again(store):
    run = counting(store)
    launch(store, run.id, COUNTING)
    with pytest.raises(InputError, match="resume it once"):
        launch(store, run.id, COUNTING)


def given_up(store, run, monkeypatch):
    """Freeze a run's worker, and look until that counts as dead; its process."""
    process = processes.ProcessIdentity.of(wait(store, run.id, lambda run: run.total and run.live).pid)
    with store._database.transaction(
        write=True
    ):  # not while it holds the database's lock, and with it everybody
        os.kill(process.pid, signal.SIGSTOP)
    with monkeypatch.context() as patch:
        patch.setattr(runs, "HEARTBEAT_TIMEOUT", 1.5)
        assert wait(store, run.id, ended).status == "interrupted"
    return process


def test_a_frozen_worker_is_interrupted_and_running_again_when_it_thaws(store, monkeypatch):
    monkeypatch.setenv("TEST_BEAT", "0.2")
    run = counting(store)
    launch(store, run.id, COUNTING)
    os.kill(given_up(store, run, monkeypatch).pid, signal.SIGCONT)
    assert wait(store, run.id, lambda run: run.live).status == "running"


def test_resuming_ends_a_worker_that_was_given_up_but_lives(store, gate, monkeypatch):
    run = counting(store)
    launch(store, run.id, COUNTING)
    process = given_up(store, run, monkeypatch)
    gate.open()
    assert process.is_alive()
    launch(store, run.id, COUNTING)
    assert not process.is_alive()
    assert wait(store, run.id, ended).status == "finished"
    assert values(store, run.id) == expected(6)


def test_a_worker_that_waits_has_imported_neither_torch_nor_numpy():
    code = "import core.worker, sys; sys.exit(bool({'torch', 'numpy', 'pandas', 'transformers'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], cwd=TESTS.parent, check=False).returncode == 0


# ---- test-time matching, with a tiny model


@pytest.fixture(scope="module")
def job(tiny_clip_folder):
    """Three short iterations; AdamW's moments are kept, so that they too must survive a restart."""
    options = {"iterations": 3, "epochs": 2, "lr": 1e-3, "keep_optimizer": True}
    return jobs.TTMRun.of("scenes/left-right", str(tiny_clip_folder), groups=12, options=options)


@pytest.fixture(scope="module")
def uninterrupted(job):
    """The records of the loop itself, as the command line prints them."""
    return [timeless(item.record) for item in job.execute()]


def timeless(record):
    return {
        name: value
        for name, value in json.loads(json.dumps(record)).items()
        if not name.startswith("seconds")
    }


def records(store, run_id):
    return [timeless(step) for step in store.steps(run_id)]


def queued_job(store, run_id):
    """A job of this very process."""
    return attempt.RunAttempt(store, run_id, store.queue_up(run_id))


def begin(store, run_id):
    """The same, past the queue."""
    job = queued_job(store, run_id)
    assert job.wait_for_turn()
    return job


def test_ttm_as_a_run_has_the_records_of_the_foreground_and_keeps_arrays_and_model(store, job, uninterrupted):
    run = store.create("ttm", "t", job.written())
    assert carry_out(begin(store, run.id), job)
    assert records(store, run.id) == uninterrupted and [step["iteration"] for step in uninterrupted] == [
        0,
        1,
        2,
        3,
    ]
    arrays = store.arrays(run.id, 3)
    assert {
        name: arrays[name].shape for name in ("scores", "selected", "matching", "margin", "thresholds")
    } == {
        "scores": (12, 2, 2),
        "selected": (12,),
        "matching": (12, 2),
        "margin": (12,),
        "thresholds": (3,),
    }
    folder = store.folder(run.id)
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model", "steps"]
    assert files.verify_manifest(folder / "model")["benchmark"] == "scenes/left-right"
    assert "adapted to scenes/left-right" in (folder / "model" / "README.md").read_text()
    assert np.array_equal(scored(folder / "model", job), arrays["scores"])


def scored(folder, job):
    from core.scoring.load import load_scorer
    from core.scoring.scores import score_groups

    return score_groups(load_scorer(str(folder)), job.load_groups().blind())


def test_a_record_says_what_the_command_line_promises(uninterrupted):
    first, last = uninterrupted[0], uninterrupted[-1]
    assert (first["threshold"], first["coverage"], first["precision"], first["selected"]) == (
        None,
        None,
        None,
        0,
    )
    assert (last["n_groups"], last["shape"]) == (12, "2x2") and 0 <= last["precision"] <= 1
    assert last["coverage"] == last["selected"] / 12
    assert set(last["metrics"]["group_match"]) == {"value", "low", "high", "chance", "ties"}
    margins = last["margins"]
    assert len(margins["edges"]) == BINS + 1 and sum(margins["counts"]) + margins["tied"] == 12
    assert sum(margins["right"]) / 12 == pytest.approx(
        last["metrics"]["group_match"]["value"] / 100, abs=1e-4
    )


def test_a_stop_in_the_middle_of_an_iteration_drops_that_iteration_only(store, job, uninterrupted):
    run = store.create("ttm", "t", job.written())
    first = begin(store, run.id)
    tell = first.progress

    def progress(fraction, message):
        first.asked = first.asked or message.startswith("iteration 2 of 3: epoch 1")
        tell(fraction, message)

    first.progress = progress
    assert not carry_out(first, job)
    assert records(store, run.id) == uninterrupted[:2]
    store.conclude(run.id, first.attempt, "stopped")
    assert carry_out(begin(store, run.id), job)
    assert records(store, run.id) == uninterrupted


def test_what_comes_before_the_first_iteration_is_said(store, job):
    """Nothing but "loading" was said until the first point of the curve, nor where a run goes on."""
    run, told = store.create("ttm", "t", job.written()), []
    first = begin(store, run.id)
    assert store.get(run.id).message == "loading the libraries"

    def note(attempt_now, stop_at):
        def progress(fraction, message):
            told.append((fraction, message))
            attempt_now.asked = attempt_now.asked or message.startswith(stop_at)

        attempt_now.progress = progress
        return attempt_now

    assert not carry_out(note(first, "iteration 2 of 3: epoch 1"), job)
    before = [
        (0.0, "loading the groups"),
        (0.0, "loading the model"),
        (0.0, "scoring before training"),
        (0.0, "iteration 1 of 3: training"),
    ]
    assert told[:4] == before
    told.clear()
    store.conclude(run.id, first.attempt, "stopped")
    assert carry_out(note(begin(store, run.id), "never"), job)
    assert [text for _, text in told[:3]] == [
        f"continues at iteration 2 of 3: {what}"
        for what in ("loading the groups", "loading the model", "reading the groups")
    ]
    assert told[0][0] == pytest.approx(1 / 3)


def test_a_damaged_checkpoint_is_noticed_and_the_run_starts_again_with_a_note(store, job, uninterrupted):
    run = store.create("ttm", "t", job.written())
    first = begin(store, run.id)
    first.stopping = lambda: store.get(run.id).done >= 2
    assert not carry_out(first, job)
    store.conclude(run.id, first.attempt, "stopped")
    weights = store.folder(run.id) / "checkpoint-0002" / "model" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    assert carry_out(begin(store, run.id), job)
    found = records(store, run.id)
    assert found[0].pop("note") == "The checkpoint of iteration 2 was damaged; the run started again."
    assert found[0] == {name: value for name, value in uninterrupted[0].items() if name != "note"}
    assert found[1:] == uninterrupted[1:]


def test_simple_match_as_a_run_ends_when_it_is_over_and_not_before(store, tiny_clip_folder):
    job = jobs.SimpleMatchRun.of(
        "scenes/left-right",
        str(tiny_clip_folder),
        groups=12,
        options={"rounds": 9, "patience": 1, "lr": 1e-9},
    )
    run = store.create("simplematch", "t", job.written())
    assert worker.work(queued_job(store, run.id)) == ("finished", None)
    assert [step["iteration"] for step in store.steps(run.id)] == [0, 1, 2]
    assert store.get(run.id).total == 9


def test_a_full_disk_fails_the_run_with_one_sentence_and_the_run_goes_on_when_there_is_room(
    store, job, uninterrupted, monkeypatch
):
    run = store.create("ttm", "t", job.written())

    def full(path, arrays):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "write_arrays", full)
        status, error = worker.work(queued_job(store, run.id))
    assert status == "failed" and "No space left on device" in error and "free some space" in error
    store.conclude(run.id, 1, status, error)
    assert carry_out(begin(store, run.id), job)
    assert records(store, run.id) == uninterrupted


def changed(job, **settings):
    return job.model_copy(update={"settings": varied(job.settings, **settings)})


def test_the_oracle_trains_on_exactly_the_right_groups(job):
    steps = list(job.model_copy(update={"oracle": True}).execute())
    assert [item.record["threshold"] for item in steps] == [None] * 4
    assert all(item.record["precision"] in (1.0, None) for item in steps)
    assert steps[1].record["selected"] == round(12 * steps[0].record["metrics"]["group_match"]["value"] / 100)


def test_the_global_variant_is_recorded_with_its_own_metrics_and_precision(job):
    options = {"variant": "global", "iterations": 1, "coverage_first": 1.0}
    item = list(changed(job, **options, tau_last=None).execute())[-1]
    truth = job.load_groups().truth
    right = item.arrays["matching"] == truth + 2 * np.arange(12)[:, None]
    assert item.record["selected"] == 24 and item.record["precision"] == right.mean()
    assert {"global_match", "image_to_text_r1", "text_to_image_r1"} <= set(item.record["metrics"])


def test_a_job_names_its_settings_its_model_folder_for_good_and_refuses_what_makes_no_sense(
    tmp_path, monkeypatch
):
    (tmp_path / "models" / "mine").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    made = jobs.TTMRun.of(
        "scenes/left-right", "models/mine", options={"tau_first": 2.0, "lr": None, "seed": 3}
    )
    assert made.model == str(tmp_path / "models" / "mine")
    assert (made.settings.tau_first, made.settings.coverage_first, made.seed) == (2.0, None, 3)
    assert jobs.TTMRun.of("b", "openai/clip").model == "openai/clip"
    for wrong, sentence in [
        ({"preset": "builtim"}, "did you mean 'builtin'"),
        ({"preset": "simplematch/builtin"}, "not one of test-time matching"),
        ({"options": {"epochz": 1}}, "did you mean 'epochs'"),
        ({"options": {"lr": -1.0}}, "lr"),
    ]:
        with pytest.raises(InputError, match=sentence):
            jobs.TTMRun.of("b", "m", **wrong)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"benchmark": "scenes/left-rigt"}, "did you mean 'scenes/left-right'"),
        ({"groups": 10**6}, "1000000 groups were asked for"),
        ({"groups": 0}, "0 groups were asked for"),
        ({"model": "builtin/nothing"}, "nknown built-in model"),
    ],
)
def test_what_cannot_be_loaded_is_one_sentence(job, change, sentence):
    with pytest.raises(InputError, match=sentence):
        next(job.model_copy(update=change).execute())


def test_the_plan_knows_that_late_iterations_take_longer():
    plan = ProgressPlan(4)
    assert [plan.fraction(share) for share in (0.0, 0.25, 0.5, 1.0)] == [0.0, 0.25, 0.5, 1.0]
    plan = ProgressPlan(4)
    # One of four groups was trained on; the next thresholds take two, three and four of them.
    plan.update(0.25, [0.5, 0.75, 1.0])
    scoring = ProgressPlan.SCORING
    assert plan.fraction(0.25) == pytest.approx((scoring + 0.25) / (4 * scoring + 2.5))
    assert plan.fraction(0.5) == pytest.approx((2 * scoring + 0.75) / (4 * scoring + 2.5))
    assert plan.fraction(0.1) == plan.fraction(0.5)  # a bar never goes back
    assert plan.fraction(1.0) == pytest.approx(1.0)


def test_time_left_comes_from_the_pace_of_this_attempt(store, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(attempt.time, "monotonic", lambda: clock[0])
    job = attempt.RunAttempt(store, counting(store).id, 0)
    job.progress(0.5, "resumed half way")
    assert job._progress["seconds_left"] is None
    clock[0] += 10
    job.progress(0.75, "ten seconds for a quarter")
    assert job._progress["seconds_left"] == pytest.approx(10.0)


def test_the_bar_follows_finished_iterations_and_the_time_left_the_work(store, job, monkeypatch):
    """The bar stood at 29 % in iteration 2 of 4: it counted time as it was foretold."""
    told, clock = [], [100.0]
    list(job.execute(progress=lambda share, text: told.append((share, text))))
    of = [(share, int(said[1])) for share, text in told if (said := re.match(r"iteration (\d) of 3: ", text))]
    assert all((number - 1) / 3 <= share <= number / 3 + 1e-9 for share, number in of) and len(of) > 6
    shown = [share for share, _ in told]
    assert shown == sorted(shown) and {share.work for share in shown} != {*shown}
    monkeypatch.setattr(attempt.time, "monotonic", lambda: clock[0])
    now = attempt.RunAttempt(store, counting(store).id, 0)
    now.progress(_Share.of(0.0, 0.0), "iteration 1 of 2: training")
    clock[0] += 10
    now.progress(_Share.of(0.5, 0.25), "iteration 2 of 2: training")
    assert now._progress["fraction"] == 0.5 and now._progress["seconds_left"] == pytest.approx(30.0)


def test_time_left_does_not_count_what_comes_before_the_first_iteration(store, monkeypatch):
    """A run that had loaded for twenty seconds foretold a minute too much while its first iteration began."""
    clock = [100.0]
    monkeypatch.setattr(attempt.time, "monotonic", lambda: clock[0])
    job = attempt.RunAttempt(store, counting(store).id, 0)
    job.progress(0.0, "loading the model")
    clock[0] += 20
    job.progress(0.0, "iteration 1 of 2: training")
    clock[0] += 10
    job.progress(0.5, "iteration 2 of 2")
    assert job._progress["seconds_left"] == pytest.approx(10.0)


def test_an_early_estimate_of_the_time_left_is_between_what_was_expected_and_what_was_seen(
    store, monkeypatch
):
    """Runs of a minute said "16 s left" at first and "28 s left" later: the first steps alone told the pace."""
    clock = [100.0]
    monkeypatch.setattr(attempt.time, "monotonic", lambda: clock[0])
    job = attempt.RunAttempt(store, counting(store).id, 0)
    job.progress(0.0, "iteration 1 of 4: training")
    job.expected = 80.0
    job.progress(0.0, "iteration 1 of 4: training")
    assert job._progress["seconds_left"] == 80.0
    told, real = [], []
    # 60 s in all; the first tenths of the work take a third of the time that an equal pace would.
    for work, at in ((0.05, 1), (0.1, 2), (0.2, 5), (0.3, 10), (0.5, 24), (0.7, 39), (0.9, 54)):
        clock[0] = 100.0 + at
        job.progress(work, "training")
        told.append(job._progress["seconds_left"])
        real.append(60 - at)
    assert told == sorted(told, reverse=True)  # no jump up
    assert all(0.5 < one / other < 1.6 for one, other in zip(told, real, strict=True)), told
    assert told[4] == pytest.approx(24.0)  # from half of the work on by what was seen alone
    assert told[1] == pytest.approx(18**0.2 * 72**0.8)


def test_a_run_knows_from_its_first_iteration_on_how_long_such_runs_take(store, job, monkeypatch):
    run = store.create("ttm", "t", job.written())
    work, seen, progress = queued_job(store, run.id), [], attempt.RunAttempt.progress

    def keep(self, fraction, text):
        progress(self, fraction, text)
        seen.append((text, self.expected, self._progress["seconds_left"]))

    monkeypatch.setattr(attempt.RunAttempt, "progress", keep)
    assert worker.work(work) == ("finished", None)
    expected = expected_seconds(RunStore(store.root / "other"), job, store.steps(run.id)[0]["n_groups"])[0]
    first = next(i for i, (text, *_) in enumerate(seen) if text == "iteration 1 of 3: training")
    assert {each[1] for each in seen[:first]} == {None} and {each[1] for each in seen[first:]} == {expected}
    assert seen[first][2] == expected  # at once, not after the first steps
