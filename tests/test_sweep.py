"""Sweeps without a cluster: the file, its cells, what is never repeated, and what nodes hand in, whole or absent."""

import shutil

import numpy as np
import pytest
from adapted import finish as finished

from core import worker
from core.base import files
from core.base.errors import InputError
from core.runs import engine
from core.runs.attempt import RunAttempt
from core.runs.store import AttemptSuperseded, RunStore
from core.scoring.cache import ScoreCache
from core.sweeps import read_plan
from core.sweeps._driver_store import QUEUE, DriverStore
from core.sweeps._node import run_cell, score_part
from core.sweeps._plan import parse_plan
from core.sweeps.cells import _save_plan, run_sweep, saved_plans, states
from core.sweeps.evaluate import EvaluationRun, score_shard, shard_path
from core.sweeps.table import cells_table, progress_of, summary_table
from core.ttm.run import TTMRun

SMALL = """
kind: ttm
models: [builtin/clip, builtin/siglip]
benchmarks: [scenes/left-right, scenes/swap]
seeds: 2
groups: 12
settings: {epochs: 1}
grid: {lr: [1e-5, 1e-4], iterations: [2]}
gpus: 0.5
"""


# ---- the file


def test_a_sweep_is_every_model_with_every_benchmark_seed_and_setting():
    plan = parse_plan(SMALL, "small")
    assert len(plan.cells) == 2 * 2 * 2 * 2 and plan.gpus == 0.5
    found = {(c.model, c.benchmark, c.seed, c.job.settings.lr) for c in plan.cells}
    assert len(found) == 16 and {lr for *_, lr in found} == {1e-5, 1e-4}
    assert all(c.job.total == 2 and c.job.groups == 12 for c in plan.cells)
    assert len({c.key for c in plan.cells}) == 16
    assert len({c.group for c in plan.cells}) == 8  # the seeds of one thing belong together


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (SMALL.replace("benchmarks", "benchmark"), "did you mean 'benchmarks'"),
        (SMALL.replace("kind: ttm", "kind: tmt"), "did you mean 'ttm'"),
        (SMALL.replace("scenes/swap", "scenes/swop"), "did you mean 'scenes/swap'"),
        (SMALL.replace("{epochs: 1}", "{epoch: 1}"), "did you mean 'epochs'"),
        (SMALL.replace("{epochs: 1}", "{epochs: 0}"), "epochs is 0"),
        (SMALL.replace("{epochs: 1}", "{seed: 3}"), "give seeds"),
        (SMALL.replace("{epochs: 1}", "5"), "settings.0 is 5; it must be a mapping"),
        (SMALL.replace("[1e-5, 1e-4]", "1e-5"), "grid.lr is 1e-05; it must be a list"),
        (SMALL.replace("seeds: 2", "seeds: [1, 1]"), "seeds names 1 twice"),
        (SMALL.replace("seeds: 2", "seeds: 2000"), "at most 10,000"),
        (SMALL.replace("seeds: 2", "seeds: 2\nseeds: 3"), "'seeds' is there twice"),
        (SMALL.replace("gpus: 0.5", "gpus: 1.5"), "whole number"),
        (SMALL.replace("gpus: 0.5", "gpus: -1"), "gpus is -1; it must be 0 or more"),
        (SMALL.replace("gpus: 0.5", "gpus: yes"), "gpus is True; it must be a number"),
        (SMALL.replace("gpus: 0.5", "retries: 1.5"), "retries is 1.5; it must be a whole number"),
        (SMALL.replace("groups: 12", "groups: 0"), "groups is 0; it must be 1 or more"),
        (SMALL.replace("seeds: 2", "seeds: [0, -1]"), "seeds.1 is -1; it must be 0 or more"),
        (SMALL.replace("seeds: 2", "seeds: 0"), "seeds is empty; name at least one"),
        (SMALL.replace("kind: ttm", "kind: [ttm]"), "Unknown kind of sweep"),
        (SMALL.replace("builtin/siglip", "builtin/clip"), "twice"),
        (SMALL.replace("{epochs: 1}", "[{epochs: 1}, {epochs: 1, label: b}]"), "are equivalent"),
        (SMALL.replace("kind: ttm", "kind: evaluate"), "Unknown setting 'seeds'"),
        (SMALL.replace("models: [builtin/clip, builtin/siglip]", ""), "models is missing; give it"),
        ("kind: ttm\nmodels: [", "fix the YAML"),
        ("- a\n- b", "must be a mapping"),
        ("a: &x [1]\nb: *x", "aliases"),
        ("a: !!python/object/apply:os.getcwd []", "could not determine a constructor"),
        ("[" * 5000, "not readable YAML"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(tmp_path, text, says):
    path = tmp_path / "sweep.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=says) as error:
        read_plan(path)
    assert "\n" not in str(error.value) and "sweep" in str(error.value)


@pytest.mark.parametrize("seeds", [10**18, 20_000])
def test_a_sweep_is_counted_before_it_is_listed(seeds):
    """A trillion seeds or combinations in a line would fill the memory as a list."""
    with pytest.raises(InputError, match="at most 10,000"):
        parse_plan(SMALL.replace("seeds: 2", f"seeds: {seeds}"), "sweep")
    grid = ", ".join(f"k{i}: [{', '.join('0123456789')}]" for i in range(12))
    with pytest.raises(InputError, match="asks for 1,000,000,000,000 cells"):
        parse_plan(SMALL.replace("lr: [1e-5, 1e-4], iterations: [2]", grid), "sweep")


def test_a_file_that_is_missing_or_huge_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_plan(tmp_path / "none.yaml")
    (tmp_path / "huge.yaml").write_bytes(b"#" * (2 << 20))
    with pytest.raises(InputError, match="larger than"):
        read_plan(tmp_path / "huge.yaml")


def test_a_key_is_of_what_decides_the_result(tmp_path):
    job = TTMRun.of("scenes/left-right", "builtin/clip", options={"epochs": 3})
    for same in ({"device": "cuda"}, {"preset": "other"}, {"group": "g-1"}):
        assert job.model_copy(update=same).key == job.key
    for other in ({"groups": 5}, {"oracle": True}, {"benchmark": "scenes/swap"}, {"adapt_on": 0.5}):
        assert job.model_copy(update=other).key != job.key
    assert job.with_seed(1).key != job.key
    one, other = (EvaluationRun.of("scenes/swap", "builtin/clip", shard=n) for n in (5, 7))
    assert one.key == other.key


def test_a_model_folder_counts_by_its_content(tmp_path):
    folders = [tmp_path / name / "model" for name in ("a", "b")]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "weights.bin").write_bytes(b"one")
    keys = [EvaluationRun.of("scenes/swap", str(folder)).key for folder in folders]
    assert keys[0] == keys[1]
    (folders[0] / "weights.bin").write_bytes(b"other")
    assert EvaluationRun.of("scenes/swap", str(folders[0])).key != keys[1]


# ---- the store


@pytest.fixture
def store(tmp_path):
    store = RunStore(tmp_path / "runs")
    yield store
    for run in store.list():
        store.delete(run.id)


def new_run(store, cell):
    return store.create(cell.kind, cell.title, cell.job.written())


def finish(store, run, value=70.0, before=60.0):
    attempt = store.queue_up(run.id)
    store.try_start(run.id, attempt, 100)
    for i, v in enumerate((before, value)):
        metric = {"value": v, "low": v - 5, "high": v + 5, "chance": 50.0, "ties": i}
        store.append_step(run.id, {"iteration": i, "metrics": {"group_match": metric}}, attempt)
    store.conclude(run.id, attempt, "finished")


def test_a_finished_cell_is_never_repeated_and_the_others_go_on(store, monkeypatch):
    plan = parse_plan(SMALL.replace("[builtin/clip, builtin/siglip]", "builtin/clip"), "small")
    started = []

    def fake(store, run_id, at_once):  # a worker that ends at once
        run = store.get(run_id)
        started.append((run_id, run.resumable))
        finish(store, run)
        return store.get(run_id)

    monkeypatch.setattr(engine, "launch", fake)
    done, cut = (new_run(store, cell) for cell in plan.cells[:2])
    finish(store, done)
    attempt = store.queue_up(cut.id)
    store.conclude(cut.id, attempt, "failed", "a sentence")
    told = []
    found = run_sweep(store, plan, engine.ThisMachine(2), told.append, pause=0)
    assert all(state.done for state in found) and len(started) == 7
    assert done.id not in dict(started) and dict(started)[cut.id] is True  # resumed, not made anew
    assert told[0] == "1 of 8 cells are done, 0 at work"
    started.clear()
    run_sweep(store, plan, engine.ThisMachine(2), pause=0)
    assert started == []


def test_two_work_at_a_time_unless_a_card_or_the_environment_says_otherwise(monkeypatch):
    monkeypatch.delenv("CROSSMATCH_PARALLEL_RUNS", raising=False)
    room = lambda *at_once: [engine.ThisMachine(*at_once).has_room(working) for working in range(4)]  # noqa: E731
    monkeypatch.setattr(engine.shutil, "which", lambda name: None)
    assert room() == [True, True, False, False] and room(3) == [True, True, True, False]
    monkeypatch.setattr(engine.shutil, "which", lambda name: name)
    assert room() == [True, False, False, False] and room(2) == [True, True, False, False]
    monkeypatch.setenv("CROSSMATCH_PARALLEL_RUNS", "3")
    assert room() == [True, True, True, False] and room(1) == [True, False, False, False]


def test_a_run_that_was_started_elsewhere_counts_for_its_cell(store):
    plan = parse_plan(SMALL, "small")
    cell = plan.cells[3]
    plain = cell.job.model_copy(update={"cell": None, "group": None}).written()
    run = store.create("ttm", "by hand", plain)
    assert [s.run.id for s in states(store, plan) if s.run] == [run.id]
    assert next(s for s in states(store, plan) if s.run).cell.key == cell.key
    store.create("ttm", "another", {**plain, "groups": 13})
    store.create("ttm", "embeddings", TTMRun.of_file("x.npz").written())
    assert sum(s.run is not None for s in states(store, plan)) == 1


def test_a_saved_sweep_can_be_read_again_without_its_file(store):
    plan = parse_plan(SMALL, "small")
    _save_plan(store, plan)
    (store.root / "sweeps" / "damaged.json").write_text("{")
    found = saved_plans(store)
    assert list(found) == ["small"] and [c.key for c in found["small"].cells] == [c.key for c in plan.cells]


def test_the_table_has_every_cell_and_mean_and_deviation_over_seeds(store):
    plan = parse_plan(SMALL, "small")
    for cell, value in zip(plan.cells[:3], (70.0, 80.0, 90.0), strict=True):
        finish(store, new_run(store, cell), value)
    cells = cells_table(store, plan)
    assert list(cells["state"]) == ["finished"] * 3 + ["missing"] * 13
    assert cells.loc[1, "group_match"] == 80 and cells.loc[1, "group_match_before"] == 60
    rows = summary_table(cells)
    first = rows.iloc[0]
    assert (first["seeds"], first["finished"], first["state"]) == (2, 2, "finished")
    assert first["group_match"] == 75 and first["group_match_sd"] == pytest.approx(50**0.5)
    assert (first["group_match_low"], first["group_match_high"]) == (70, 80)
    assert rows.iloc[1]["state"] == "missing" and np.isnan(rows.iloc[1]["group_match_sd"])
    progress = progress_of(store, plan)
    assert (progress.cells, progress.finished, progress.share) == (16, 3, 3 / 16)
    assert progress.seconds_left is not None


def test_a_sweep_without_results_has_a_table_and_no_guess_of_the_time(store):
    plan = parse_plan(SMALL, "small")
    assert len(summary_table(cells_table(store, plan))) == 8
    assert progress_of(store, plan).seconds_left is None


# ---- scoring in shards


def plain_run(store, job):
    """The run as a local worker leaves it, in this process."""
    return store.get(finished(store, "plain", job))


def test_shards_cover_every_group_once():
    assert EvaluationRun.of("scenes/swap", "m", shard=4).shards(10) == [(0, 4), (4, 8), (8, 10)]
    assert EvaluationRun.of("scenes/swap@global", "m", shard=4).shards(10) == [(0, 10)]


@pytest.fixture(scope="module")
def clip():
    from core.scoring.load import load_scorer

    return load_scorer("builtin/clip", "cpu")


@pytest.fixture
def unshipped(monkeypatch):
    """As if no scores shipped with Crossmatch: everything is scored."""
    monkeypatch.setattr(
        "core.scoring._shipped.find_scores", lambda scorer, keys: np.full(len(keys), np.nan, dtype=np.float32)
    )


def test_scoring_in_shards_equals_plain_scoring(store, unshipped, tmp_path, monkeypatch):
    found = []
    for i, shard in enumerate((100, 5)):
        monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path / f"home-{i}"))
        config = EvaluationRun.of("scenes/left-right", "builtin/clip", groups=12, shard=shard, device="cpu")
        run = plain_run(store, config)
        assert not (store.folder(run.id) / "shards").exists()
        found.append((store.scores(run.id, 0), store.steps(run.id)[0]["metrics"]))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
    assert found[0][1] == found[1][1]


def test_a_shard_that_is_there_is_not_scored_again(store, clip, monkeypatch):
    config = EvaluationRun.of("scenes/left-right", "builtin/clip", groups=8, shard=5, device="cpu")
    run = store.create("evaluate", "cut short", config.written())
    path = shard_path(store.folder(run.id), 0, 5)
    assert score_shard(clip, config.load_groups().blind(), 0, 5, path)
    with np.load(path) as made:
        kept = {name: made[name] for name in made.files}
    files.write_arrays(path, {**kept, "scores": kept["scores"] + 1000})  # to be recognised by
    worker.work(RunAttempt(store, run.id, store.queue_up(run.id)))
    scores = store.scores(run.id, 0)
    assert (scores[:5] > 900).all() and (scores[5:] < 900).all() and len(scores) == 8


# ---- the driver's store


@pytest.fixture
def embeddings(tmp_path):
    """Thirty 2x2 groups whose first numbers say what belongs together."""
    rng = np.random.default_rng(0)
    meaning = rng.normal(size=(30, 2, 3))
    parts = {
        name: np.concatenate([0.6 * meaning, rng.normal(size=(30, 2, 5))], axis=2).reshape(60, 8)
        for name in ("img", "cap")
    }
    path = tmp_path / "embeddings.npz"
    np.savez(path, **{name: part.astype(np.float32) for name, part in parts.items()})
    return path


@pytest.fixture
def job(embeddings):
    options = {"iterations": 4, "epochs": 2, "lr": 1e-2, "seed": 3}
    return TTMRun.of_file(embeddings, options=options, device="cpu")


class Lost(BaseException):
    """The node is gone in the middle."""


def caller(driver_store, after=None):
    """`call` without Ray; the node is lost when it has handed in so many iterations."""
    count = [0]

    def call(method, *arguments):
        if method == "append":
            if count[0] == after:
                raise Lost
            count[0] += 1
        return getattr(driver_store, method)(*arguments)

    return call


def handed_over(store, job):
    run = store.create(job.kind, "far away", job.written())
    store.queue_up(run.id, QUEUE)
    return run.id


def test_a_run_whose_node_is_lost_goes_on_elsewhere_and_its_log_tells_who_did_what(store, job, monkeypatch):
    """What it ends with is the contract of every store (test_store_contract.py)."""
    monkeypatch.setattr("core.sweeps._node.code_version", lambda: "1")
    run_id = handed_over(store, job)
    driver_store = DriverStore(str(store.root), "1")
    with pytest.raises(Lost):  # two records are in, and the third one's files
        run_cell(caller(driver_store, after=2), run_id, "one node", worker.work)
    assert len(store.steps(run_id)) == 2 and store.get(run_id).status == "running"
    assert run_cell(caller(driver_store), run_id, "another node", worker.work) == ("finished", None)
    run, log = store.get(run_id), store.log(run_id)
    assert (run.status, run.done, run.attempt) == ("finished", 4, 2)
    # No iteration twice: iteration 2's checkpoint had arrived, only its record had not.
    assert "one node, after 0 iterations" in log and "another node, after 2 iterations" in log
    assert [log.count(f"iteration {i} done") for i in range(5)] == [1] * 5


def test_taking_a_run_up_ends_the_attempt_of_a_node_that_was_given_up(store, job):
    run_id = handed_over(store, job)
    driver_store = DriverStore(str(store.root), "1")
    first, _ = driver_store.begin(run_id, "one", "1")
    second, _ = driver_store.begin(run_id, "two", "1")
    assert second > first
    with pytest.raises(AttemptSuperseded):
        driver_store.beat(run_id, first, "running", {})
    assert driver_store.beat(run_id, second, "running", {}) == "running"
    assert driver_store.wanted(run_id, second) and not driver_store.wanted(run_id, first)


def test_a_run_that_is_deleted_under_its_node_ends_there_without_a_word(store, job, monkeypatch):
    monkeypatch.setattr("core.sweeps._node.code_version", lambda: "1")
    run_id = handed_over(store, job)
    driver_store = DriverStore(str(store.root), "1")

    def call(method, *arguments):
        if method == "settle_file":
            store.delete(run_id)
        return getattr(driver_store, method)(*arguments)

    assert run_cell(call, run_id, "one", worker.work) == ("superseded", None)
    assert store.list() == []


def test_what_does_not_arrive_whole_is_not_there(store, job, tmp_path):
    run_id = handed_over(store, job)
    driver_store = DriverStore(str(store.root), "1")
    attempt, _ = driver_store.begin(run_id, "one", "1")
    driver_store.receive(run_id, "00000001", "steps/0000.npz", 0, b"half")
    with pytest.raises(InputError, match="arrived incomplete"):
        driver_store.settle_file(run_id, attempt, "00000001", "steps/0000.npz", "0" * 64)
    driver_store.receive(run_id, "00000002", "manifest.json", 0, b'{"files": {"model": "00"}}')
    with pytest.raises(InputError, match="damaged or missing"):
        driver_store.settle_folder(run_id, attempt, "00000002", "checkpoint-0001")
    assert not store.arrays_path(run_id, 0).exists()
    assert not list(store.folder(run_id).glob("checkpoint-*"))


def test_names_from_a_node_stay_inside_the_run(store, job, tmp_path):
    run_id = handed_over(store, job)
    driver_store = DriverStore(str(store.root), "1")
    attempt, _ = driver_store.begin(run_id, "one", "1")
    for name in ("../evil", "/evil", "a/../../evil", ""):
        with pytest.raises(InputError):
            driver_store.receive(run_id, "00000001", name, 0, b"x")
        with pytest.raises(InputError):
            driver_store.read(run_id, name, 0, 10)
    with pytest.raises(InputError, match="not a token"):
        driver_store.receive(run_id, "../../up", "a", 0, b"x")
    with pytest.raises(InputError, match="not a file of a run"):
        driver_store.settle_file(run_id, attempt, "00000001", "config.json", "")
    with pytest.raises(InputError, match="not a folder of a run"):
        driver_store.settle_folder(run_id, attempt, "00000001", "steps")
    with pytest.raises(InputError, match="not part of this sweep"):
        driver_store.model_files(str(tmp_path))


def test_a_run_that_was_stopped_in_the_queue_is_not_begun(store, job, monkeypatch):
    monkeypatch.setattr("core.sweeps._node.code_version", lambda: "1")
    run_id = handed_over(store, job)
    store.request_stop(run_id)
    assert run_cell(caller(DriverStore(str(store.root), "1")), run_id, "one", worker.work) == ("ended", None)
    assert store.get(run_id).status == "stopped"


def test_a_failure_on_a_node_is_a_sentence_in_the_store(store, job, monkeypatch):
    monkeypatch.setattr("core.sweeps._node.code_version", lambda: "1")
    driver_store = DriverStore(str(store.root), "1")
    run_id = handed_over(store, job.model_copy(update={"groups": 31}))
    assert run_cell(caller(driver_store), run_id, "one", worker.work)[0] == "failed"
    assert "31 groups were asked for" in store.get(run_id).error
    run_id = handed_over(store, job)
    driver_store = DriverStore(str(store.root), "2")
    status, error = run_cell(caller(driver_store), run_id, "one", worker.work)
    assert status == "failed" and "one has Crossmatch 1 and the driver 2" in error


def test_a_model_folder_travels_to_the_node(store, tiny_clip_folder, monkeypatch, unshipped):
    """The node's copy scores as the original does, and nothing of the original's path is needed."""
    monkeypatch.setattr("core.sweeps._node.code_version", lambda: "1")
    folder = store.root.parent / "mine" / "clip"
    shutil.copytree(tiny_clip_folder, folder)
    config = EvaluationRun.of("scenes/left-right", str(folder), groups=4, device="cpu")
    home = plain_run(store, config)
    driver_store = DriverStore(str(store.root), "1", [str(folder)], str(store.root.parent / "cache.sqlite"))
    run_id = handed_over(store, config)
    assert run_cell(caller(driver_store), run_id, "far", worker.work) == ("finished", None)
    assert store.scores(run_id, 0).tobytes() == store.scores(home.id, 0).tobytes()


def test_a_shard_that_is_handed_in_fills_the_cache_and_is_used(store, tmp_path, monkeypatch, unshipped):
    monkeypatch.setattr("core.sweeps._node.code_version", lambda: "1")
    config = EvaluationRun.of("scenes/left-right", "builtin/clip", groups=6, shard=3, device="cpu")
    run_id = handed_over(store, config)
    cache = tmp_path / "elsewhere.sqlite"
    driver_store = DriverStore(str(store.root), "1", [], str(cache))
    run, attempt = store.get(run_id), store.get(run_id).attempt
    store.try_start(run_id, attempt, 1)
    for part in ((0, 3), (3, 6)):
        assert score_part(caller(driver_store), run.record(), attempt, *part) == ("finished", None)
    assert ScoreCache(cache).size().scores == 6 * 4
    monkeypatch.setattr("core.sweeps.evaluate.score_shard", None)  # nothing is left to score
    assert run_cell(caller(driver_store), run_id, "far", worker.work) == ("finished", None)
    monkeypatch.undo()
    home = plain_run(store, config)
    assert store.steps(run_id)[0]["metrics"] == store.steps(home.id)[0]["metrics"]
    assert not (store.folder(run_id) / "shards").exists()
