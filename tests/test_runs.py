"""The run store: what it keeps, what it notices, what it refuses. What all stores do: test_store_contract.py."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest
from gates import until

from core.base import files, processes
from core.base.database import _Database
from core.base.errors import InputError
from core.runs import store as runs
from core.runs.store import AttemptSuperseded, RunStore, parallel_runs

ROOT = Path(__file__).resolve().parent.parent
ME = processes.ProcessIdentity.of(os.getpid())


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs")


def new(store, **config):
    return store.create("ttm", "a run", config)


def started(store, **config):
    """A run that this very process works for."""
    run = new(store, **config)
    attempt = store.queue_up(run.id)
    store.claim(run.id, attempt, ME)
    assert store.try_start(run.id, attempt, limit=100) == 0
    return store.get(run.id)


def write(store, run_id, **values):
    with store._database.transaction(write=True) as connection:
        store._set(connection, run_id, **values)


def stored_status(store, run_id):
    with store._database.transaction() as connection:
        return connection.execute("SELECT status FROM runs WHERE id = ?", [run_id]).fetchone()[0]


# ---- what it keeps


def test_the_default_store_is_in_the_home_folder(tmp_path):
    assert RunStore().root == tmp_path / "home" / "runs"


def test_a_new_run_is_queued_and_has_a_folder_with_its_config(store):
    run = store.create("ttm", "  left \n and right ", {"ttm": {"iterations": 3}}, owner="visitor-1")
    assert (run.status, run.title, run.owner, run.done) == ("queued", "left and right", "visitor-1", 0)
    assert store.get(run.id) == run
    assert json.loads((store.folder(run.id) / "config.json").read_text()) == run.config
    assert json.loads(json.dumps(run.record()))["id"] == run.id


def test_runs_are_listed_newest_first_by_kind_and_by_owner(store):
    ids = [
        store.create(kind, "t", {}, owner).id for kind, owner in [("ttm", "a"), ("sweep", "a"), ("ttm", "b")]
    ]
    assert [run.id for run in store.list()] == ids[::-1]
    assert [run.id for run in store.list("ttm")] == [ids[2], ids[0]]
    assert [run.id for run in store.list(owner="a")] == [ids[1], ids[0]]
    assert [run.id for run in store.list("ttm", "a")] == [ids[0]]
    moments = [run_id.rpartition("-")[0] for run_id in ids]  # to the millisecond
    assert sorted(moments) == moments


@pytest.mark.parametrize("bad", ["../../etc", "", "x" * 500, "20250101-000000000-zzzzzz", "%2e%2e", "a\0b"])
def test_an_id_from_an_address_never_becomes_a_path(store, bad):
    with pytest.raises(InputError, match="run id"):
        store.folder(bad)
    with pytest.raises(InputError, match="There is no run"):
        store.get(bad)
    for act in (store.delete, store.request_stop, store.queue_up, lambda run_id: store.rename(run_id, "t")):
        with pytest.raises(InputError):
            act(bad)


def test_whether_anybody_works_is_asked_without_reading_the_runs(store):
    done = store.create("x", "done", {})
    store.conclude(done.id, store.queue_up(done.id), "finished")
    with store._database.transaction(write=True) as database:  # whoever reads it fails
        database.execute("UPDATE runs SET config = 'no JSON' WHERE id = ?", [done.id])
    assert not store.is_busy()
    other = store.create("x", "other", {}, owner="somebody")
    assert store.is_busy() and not store.is_busy(but_for=other.id)


def test_a_run_is_renamed_but_not_to_nothing(store):
    run = new(store)
    store.rename(run.id, "x" * 1000)
    assert store.get(run.id).title == "x" * 200
    with pytest.raises(InputError, match="title"):
        store.rename(run.id, " \t ")


def test_half_characters_in_a_title_or_an_error_are_replaced(store):
    """A command line in another encoding has them, so has a file's name in an error."""
    run = store.create("ttm", "caf\udce9 1", {"note": "\ud800"})
    store.rename(run.id, "caf\udce9 2")
    store.conclude(run.id, store.queue_up(run.id), "failed", "OSError: \ud800.png is gone")
    found = store.get(run.id)
    assert (found.title, found.error) == ("caf? 2", "OSError: ?.png is gone")


@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04 cut short", b"no zip at all"])
def test_unreadable_arrays_are_one_sentence(store, content):
    run = new(store)
    if content is not None:
        store.arrays_path(run.id, 1).write_bytes(content)
    with pytest.raises(InputError, match="no readable arrays of iteration 1"):
        store.scores(run.id, 1)


def test_a_pickle_in_place_of_arrays_is_refused(store):
    run = new(store)
    np.savez(store.arrays_path(run.id, 1), scores=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match="no readable arrays"):
        store.scores(run.id, 1)


def test_the_log_is_its_end_and_empty_where_there_is_none(store):
    run = new(store)
    assert store.log(run.id) == ""
    (store.folder(run.id) / "log.txt").write_text("first line\n" + "x" * 100)
    assert store.log(run.id, 10) == "x" * 10


def test_a_deleted_run_leaves_nothing(store):
    run, other = new(store), new(store)
    store.append_step(run.id, {"iteration": 0})
    store.delete(run.id)
    assert [r.id for r in store.list()] == [other.id] and store.steps(run.id) == []
    assert {path.name for path in store.root.iterdir() if path.is_dir()} == {other.id}
    with pytest.raises(InputError, match="no run"):
        store.delete(run.id)


# ---- what it notices


def test_a_run_whose_worker_lives_is_running(store):
    assert started(store).status == "running"


@pytest.mark.parametrize(
    "change",
    [
        {"heartbeat": 31},  # seconds ago
        {"pid": 2**22 + 1},  # no such process
        {"pid_created": 1.0},  # the number went to another process
        {"host": "another-boot/pid:[1]"},  # the machine was restarted
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_run_without_its_worker_is_interrupted_and_whoever_looks_writes_it_down(store, change):
    run = started(store)
    if "heartbeat" in change:
        change = {"heartbeat": time.time() - change["heartbeat"]}
    write(store, run.id, **change, seconds_left=5.0)
    assert stored_status(store, run.id) == "running"
    found = store.list()[0]
    assert (found.status, found.resumable, found.live, found.seconds_left) == (
        "interrupted",
        True,
        False,
        None,
    )
    assert found.ended is not None
    assert stored_status(store, run.id) == "interrupted"


def test_a_zombie_does_not_work(store):
    run = started(store)
    child = subprocess.Popen([sys.executable, "-c", ""])
    write(store, run.id, pid=child.pid, pid_created=psutil.Process(child.pid).create_time())
    until(lambda: psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE)
    assert store.get(run.id).status == "interrupted"
    child.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the time of creation has to do")
def test_a_process_is_told_apart_by_boot_and_container():
    boot, _, namespace = processes.ProcessIdentity.of(os.getpid()).host.partition("/")
    assert boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert namespace == os.readlink("/proc/self/ns/pid")


def test_a_worker_in_another_container_counts_by_its_heartbeat(store):
    run = started(store)
    boot = processes.ProcessIdentity.of(os.getpid()).host.partition("/")[0]
    write(store, run.id, host=f"{boot}/pid:[1]", pid=2**22 + 1, heartbeat=time.time())
    assert store.get(run.id).status == "running"
    write(store, run.id, heartbeat=time.time() - 31)
    assert store.get(run.id).status == "interrupted"


def test_a_run_that_was_to_stop_and_lost_its_worker_has_stopped(store):
    run = started(store)
    write(store, run.id, status="stopping", pid=2**22 + 1)
    assert store.get(run.id).status == "stopped"


def test_a_run_that_was_never_started_can_be_started_later(store):
    run = new(store)
    write(store, run.id, heartbeat=time.time() - 3600)
    assert store.get(run.id).status == "interrupted"
    assert store.queue_up(run.id) == 1


def test_seconds_left_count_down_between_heartbeats(store, monkeypatch):
    run, now = started(store), time.time()
    monkeypatch.setattr(runs.time, "time", lambda: now)
    store.beat(run.id, run.attempt, "running", seconds_left=10.0)
    now += 4
    assert store.get(run.id).seconds_left == pytest.approx(6.0)
    now += 16
    assert store.get(run.id).seconds_left == 0.0


# ---- stop, resume, queue


def test_a_queued_run_stops_at_once_and_a_running_one_is_asked(store):
    waiting, working = new(store), started(store)
    attempt = store.queue_up(waiting.id)
    assert store.request_stop(waiting.id).status == "stopped"
    for act in (lambda: store.try_start(waiting.id, attempt, 1), lambda: store.claim(waiting.id, 0, ME)):
        with pytest.raises(AttemptSuperseded):
            act()
    write(store, working.id, pid=None)  # no signal for this test
    assert store.request_stop(working.id).status == "stopping"
    assert store.beat(working.id, working.attempt, "running") == "stopping"
    store.conclude(working.id, working.attempt, "stopped")
    assert store.request_stop(working.id).status == "stopped"


@pytest.mark.parametrize("status", ["queued", "running", "stopping", "finished"])
def test_only_what_has_ended_early_is_resumed(store, status):
    run = started(store)
    write(store, run.id, status=status)
    with pytest.raises(InputError, match=f"is {status}; resume it once it is interrupted, stopped, failed"):
        store.queue_up(run.id)


def test_a_run_that_was_on_a_cluster_waits_for_its_device_when_it_is_resumed_here(store):
    run = new(store, device="cuda:0")
    attempt = store.queue_up(run.id, "ray")
    assert store.get(run.id).device == "ray"
    store.conclude(run.id, attempt, "interrupted")
    store.queue_up(run.id)
    assert store.get(run.id).device == "cuda:0"


def test_resuming_clears_the_error_and_keeps_the_steps(store):
    run = started(store)
    store.append_step(run.id, {"iteration": 0}, run.attempt)
    store.conclude(run.id, run.attempt, "failed", "It broke; mend it.")
    assert store.get(run.id).error == "It broke; mend it."
    store.queue_up(run.id)
    found = store.get(run.id)
    assert (found.status, found.error, found.ended, found.attempt) == ("queued", None, None, 2)
    assert len(store.steps(run.id)) == 1


def queued(store, **config):
    run = new(store, **config)
    attempt = store.queue_up(run.id)
    store.claim(run.id, attempt, ME)
    return lambda limit=1: store.try_start(run.id, attempt, limit), run.id


def test_first_come_first_served(store):
    (first, one), (second, _), (third, _) = (queued(store) for _ in range(3))
    assert (third(), second(), first()) == (2, 1, 0)
    assert (third(), second()) == (2, 1)
    store.conclude(one, 1, "finished")
    assert (third(), second(), third()) == (1, 0, 1)


def test_owners_take_turns_whoever_asked_first(store):
    def waiting(owner):
        run = store.create("ttm", "t", {}, owner)
        attempt = store.queue_up(run.id)
        store.claim(run.id, attempt, ME)
        return run.id, lambda: store.try_start(run.id, attempt, 1)

    runs = {
        f"{owner}{i}": waiting(owner)
        for owner, i in (("ann", 0), ("ann", 1), ("ann", 2), ("bob", 0), ("cem", 0))
    }
    runs["bob1"] = waiting("bob")
    order = []
    while len(order) < len(runs):
        (now,) = [name for name, (_, act) in runs.items() if name not in order and act() == 0]
        order.append(now)
        store.conclude(runs[now][0], 1, "finished")
    assert order == ["ann0", "bob0", "cem0", "ann1", "bob1", "ann2"]


def test_a_visitor_with_many_runs_does_not_keep_another_waiting(store):
    def waiting(owner):
        run = store.create("ttm", "t", {}, owner)
        attempt = store.queue_up(run.id)
        store.claim(run.id, attempt, ME)
        return run.id, lambda: store.try_start(run.id, attempt, 1)

    many = [waiting("ann") for _ in range(4)]
    assert many[0][1]() == 0
    late, later = waiting("bob"), waiting("bob")
    assert [act() for _, act in (late, later, many[1], many[2], many[3])] == [1, 2, 3, 4, 5]


def test_addresses_take_turns_and_at_each_of_them_its_owners(store):
    """Four cookies at one address are no more to the others than one."""

    def waiting(owner, address):
        run = store.create("ttm", "t", {}, owner, address)
        attempt = store.queue_up(run.id)
        store.claim(run.id, attempt, ME)
        return run.id, lambda: store.try_start(run.id, attempt, 1)

    asked = [
        ("a1", "here"),
        ("a1", "here"),
        ("a2", "here"),
        ("a3", "here"),
        ("b", "there"),
        ("b", "there"),
        ("c", None),
    ]
    runs = [(owner, *waiting(owner, address)) for owner, address in asked]
    order = []
    while len(order) < len(runs):
        (now,) = [i for i, (*_, act) in enumerate(runs) if i not in order and act() == 0]
        order.append(now)
        store.conclude(runs[now][1], 1, "finished")
    assert [runs[i][0] for i in order] == ["a1", "b", "c", "a2", "b", "a3", "a1"]


def test_two_slots_hold_two_runs_and_devices_have_queues_of_their_own(store):
    a, b, c = (queued(store, device="cuda:0")[0] for _ in range(3))
    other, _ = queued(store, device="cpu")
    assert (b(2), a(2), c(2), other(1)) == (0, 0, 1, 0)
    configs = ({"device": "cuda:0"}, {"device": None}, {})
    assert [new(store, **config).device for config in configs] == ["cuda:0", "auto", "auto"]


@pytest.mark.parametrize("status", ["queued", "running", "stopping"])
def test_the_slot_of_a_dead_worker_is_free(store, status):
    (first, one), (second, _) = queued(store), queued(store)
    assert first() == 0
    write(store, one, status=status)
    assert second() == 1
    write(store, one, pid=2**22 + 1)
    assert second() == 0


def test_a_run_that_nobody_has_launched_holds_no_place(store):
    new(store)
    assert queued(store)[0]() == 0


def test_many_starters_at_once_share_one_slot(store):
    tries, won = [queued(store)[0] for _ in range(8)], []
    threads = [threading.Thread(target=lambda act=act: won.append(act() == 0)) for act in tries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(won) <= 1
    assert sum(act() == 0 for act in tries if not sum(won)) <= 1


def test_the_number_of_parallel_runs_is_set_by_the_environment(monkeypatch):
    monkeypatch.delenv("CROSSMATCH_PARALLEL_RUNS", raising=False)
    assert parallel_runs() == 1 and parallel_runs(2) == 2
    monkeypatch.setenv("CROSSMATCH_PARALLEL_RUNS", "3")
    assert parallel_runs() == parallel_runs(2) == 3
    for bad in ("0", "-1", "two", "1.5", ""):
        monkeypatch.setenv("CROSSMATCH_PARALLEL_RUNS", bad)
        with pytest.raises(InputError, match="CROSSMATCH_PARALLEL_RUNS"):
            parallel_runs()


# ---- what it refuses, and what it survives


def test_a_store_of_a_newer_version_is_one_sentence(store):
    with sqlite3.connect(store.root / "runs.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(InputError, match="newer Crossmatch"):
        RunStore(store.root)


def test_a_store_of_an_older_version_is_migrated_and_keeps_its_runs(store, monkeypatch):
    run = new(store)
    monkeypatch.setattr(
        runs, "_MIGRATIONS", (*runs._MIGRATIONS, ("ALTER TABLE runs ADD COLUMN colour TEXT DEFAULT 'red'",))
    )
    again = RunStore(store.root)
    assert again.get(run.id).title == "a run"
    with again._database.transaction() as connection:
        assert connection.execute("SELECT colour FROM runs").fetchone()[0] == "red"
        assert connection.execute("PRAGMA user_version").fetchone()[0] == len(runs._MIGRATIONS)


def test_a_store_that_another_process_writes_to_says_so(store):
    said = r"Another process has been writing .* for 0\.01 s; try again"
    write = partial(store._database.transaction, write=True)
    with write(), pytest.raises(InputError, match=said), write(patience=0.01):
        pass


def test_a_migration_that_fails_leaves_the_old_version(tmp_path):
    _Database(tmp_path / "x.db", [["CREATE TABLE a (b)"]])
    with pytest.raises(InputError, match="cannot be used"):
        _Database(tmp_path / "x.db", [["CREATE TABLE a (b)"], ["CREATE TABLE c (d)", "NO SQL"]])
    _Database(tmp_path / "x.db", [["CREATE TABLE a (b)"], ["CREATE TABLE c (d)"]])


def test_a_file_that_is_no_store_is_one_sentence(tmp_path):
    (tmp_path / "runs.db").write_bytes(b"not a database, but long enough to be taken for one" * 100)
    with pytest.raises(InputError, match="cannot be used"):
        RunStore(tmp_path)
    (tmp_path / "file").write_text("")
    store = RunStore(tmp_path / "file" / "runs")
    assert store.list() == []  # a page that looks for runs goes on without any
    with pytest.raises(InputError, match="There is no run"):
        store.get("20250101-000000000-aaaaaa")
    with pytest.raises(InputError, match="cannot be written"):
        new(store)


def test_a_store_that_stays_locked_is_one_sentence(store, monkeypatch):
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, timeout, **how: connect(path, timeout=0.1, **how))
    with store._database.transaction(write=True), pytest.raises(InputError, match="locked"):
        new(store)
    assert new(store).status == "queued"


def run_python(code, *arguments, **how):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False, **how)


FULL = """
import resource, signal, sys
from pathlib import Path
from core.base.errors import InputError
from core.runs.store import RunStore
store = RunStore(Path(sys.argv[1]))
run = store.create("ttm", "before", {})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # as a disk that takes no more
large = {"iteration": 0, "text": "x" * 9000}
for act in (lambda: store.create("ttm", "after", large), lambda: store.append_step(run.id, large)):
    try:
        act()
    except InputError as error:
        print(error)
"""


def test_a_full_disk_is_one_sentence_and_the_store_stays_whole(tmp_path):
    result = run_python(FULL, tmp_path)
    assert result.returncode == 0, result.stderr
    sentences = result.stdout.splitlines()
    assert len(sentences) == 2 and all("free some space" in sentence for sentence in sentences)
    store = RunStore(tmp_path)
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 1
    assert [run.title for run in store.list()] == ["before"]
    store.append_step(store.list()[0].id, {"iteration": 0})


READ_ONLY = """
import os, sys, urllib.parse  # imported before the home of the interpreter may be closed to us
from pathlib import Path
from core.base.errors import InputError
from core.runs.store import RunStore
if os.geteuid() == 0:  # root may write anywhere
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
try:
    print(RunStore(Path(sys.argv[1])).create("ttm", "x", {}).id)
except InputError as error:
    print(error)
"""


LOOK = """
import os, sys, urllib.parse  # imported before the home of the interpreter may be closed to us
from pathlib import Path
from core.base.errors import InputError
from core.runs.store import RunStore
import sqlite3
if os.geteuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
store = RunStore(Path(sys.argv[1]))
for run in store.list():
    print(run.title, run.status, [step["value"] for step in store.steps(run.id)])
try:
    store.rename(run.id, "other")
except InputError as error:
    print(error)
"""


@pytest.mark.parametrize(("at_work", "older"), [(True, False), (False, False), (False, True)])
def test_a_read_only_store_shows_what_it_holds(at_work, older):
    """Whether somebody else is writing there meanwhile, or nobody has for long, since an older version did."""
    folder = Path(tempfile.mkdtemp())
    try:
        store = RunStore(folder / "my runs?")  # a name that an address would have to escape
        run = new(store)
        store.append_step(run.id, {"iteration": 0, "value": 7})
        write(store, run.id, heartbeat=0.0)  # interrupted: whoever looks would write that down
        if older:
            with store._database.transaction() as connection:
                connection.execute("ALTER TABLE runs DROP COLUMN address")
                connection.execute("PRAGMA user_version = 1")
        if at_work:
            other = sqlite3.connect(store.root / "runs.db")
            other.execute("SELECT * FROM runs").fetchall()
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o555)
        result = run_python(LOOK, store.root)
        assert result.returncode == 0, result.stderr
        shown, told = result.stdout.splitlines()
        assert shown == "a run interrupted [7]" and "make its folder writable" in told
    finally:
        folder.chmod(0o755)
        store.root.chmod(0o755)
        shutil.rmtree(folder)


@pytest.mark.parametrize("used_before", [True, False])
def test_a_read_only_store_is_one_sentence(used_before):
    folder = Path(tempfile.mkdtemp())  # below tmp_path another user may not even look
    try:
        store = folder / "runs"
        store.mkdir()
        if used_before:
            RunStore(store)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o555)
        result = run_python(READ_ONLY, store)
        assert result.returncode == 0, result.stderr
        assert str(store) in result.stdout and "writable" in result.stdout
        assert len(result.stdout.splitlines()) == 1
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


CREATE = """
import sys
from pathlib import Path
from core.runs.store import RunStore
for i in range(10):
    RunStore(Path(sys.argv[1])).create("ttm", f"{sys.argv[2]}-{i}", {})
"""


def test_several_apps_create_one_store_at_once(tmp_path):
    command = [sys.executable, "-c", CREATE, str(tmp_path / "runs")]
    apps = [
        subprocess.Popen([*command, str(i)], cwd=ROOT, stderr=subprocess.PIPE, text=True) for i in range(4)
    ]
    assert [app.communicate(timeout=600)[1] for app in apps] == [""] * 4
    store = RunStore(tmp_path / "runs")
    assert len({run.id for run in store.list()}) == 40
    with store._database.transaction() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_a_store_that_cannot_be_written_still_shows_who_was_interrupted(store, monkeypatch):
    run = started(store)
    write(store, run.id, pid=2**22 + 1)
    transaction = store._database.transaction

    def full(write=False, patience=0.0):
        if write:
            raise InputError("The disk is full.")
        return transaction()

    monkeypatch.setattr(store._database, "transaction", full)
    assert store.get(run.id).status == "interrupted"


# ---- files and folders that are whole or absent


def test_a_write_that_is_cut_short_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    files.write_json(path, {"old": 1})
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(InputError, match="No space left on device"), files.storage_errors(path):
        files.write_json(path, {"new": 2})
    assert json.loads(path.read_text()) == {"old": 1} and os.listdir(tmp_path) == ["a.json"]


@pytest.mark.parametrize("damage", ["flip", "cut", "delete", "manifest", "no manifest"])
def test_a_sealed_folder_that_is_damaged_is_noticed(tmp_path, damage):
    folder = tmp_path / "sealed"
    (folder / "inner").mkdir(parents=True)
    path, manifest = folder / "inner" / "weights", folder / files.MANIFEST
    path.write_bytes(bytes(1000))
    files.write_manifest(folder, iteration=3)
    assert files.verify_manifest(folder)["iteration"] == 3
    {
        "flip": lambda: path.write_bytes(bytes(500) + b"\1" + bytes(499)),
        "cut": lambda: path.write_bytes(bytes(999)),
        "delete": path.unlink,
        "manifest": lambda: manifest.write_bytes(manifest.read_bytes()[:-20]),
        "no manifest": manifest.unlink,
    }[damage]()
    with pytest.raises(InputError, match="manifest" if "manifest" in damage else "weights"):
        files.verify_manifest(folder)


def test_publishing_replaces_a_folder_as_a_whole(tmp_path):
    for text in ("old", "new"):
        aside = tmp_path / "aside"
        aside.mkdir()
        (aside / text).write_text(text)
        files.publish(aside, tmp_path / "final")
    assert [path.name for path in (tmp_path / "final").iterdir()] == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["final"]


def test_stop_and_resume_say_what_they_did(tmp_path, monkeypatch):
    """Both were silent, and one who resumed a second time was told that the run had finished."""
    from typer.testing import CliRunner

    from core.cli import app

    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path))
    started = []
    monkeypatch.setattr("core.cli.runs.launch", lambda store, run: started.append(run))
    store = RunStore()
    made = store.create("ttm", "t", {"group": "g-0a0a0a0a"})
    attempt = store.queue_up(made.id)
    said = CliRunner().invoke(app, ["runs", "stop", made.id])
    assert said.exit_code == 0 and f"`crossmatch runs resume {made.id}` lets it go on" in said.stderr
    store.conclude(made.id, attempt, "stopped")
    said = CliRunner().invoke(app, ["runs", "stop", made.id]).stderr  # it said that it stops
    assert said == f"{made.id} is not at work: it is stopped\n"
    for name in (made.id, "g-0a0a0a0a"):
        said = CliRunner().invoke(app, ["runs", "resume", name])
        assert f"{name} goes on in the background; `crossmatch runs list` says how far" in said.stderr
    assert started == [made.id, made.id]
    store.queue_up(made.id)
    assert "none is resumed" in CliRunner().invoke(app, ["runs", "resume", "g-0a0a0a0a"]).stderr
