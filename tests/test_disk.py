"""What a disk can do to files: it takes no more, it may not be written, it loses what was not synced."""

import io
import json
import os
import resource
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from driving import fine, whole_app
from gates import until
from PIL import Image

from core.base import files
from core.base.errors import InputError
from core.base.table_formats import write_table
from core.datasets import user_sets as mine
from core.datasets.score_files import write_scores
from core.exchange import importing
from core.exchange.groups import export_groups
from core.exchange.importing import save_upload
from core.exchange.model import export_model
from core.exchange.runs import export_run, import_run
from core.runs.store import RunStore
from core.scenes.pictures import draw_ahead
from core.scenes.training_data import training_scenes
from core.scoring.cache import ScoreCache
from core.scoring.pairs import Pairs
from core.ttm.run import store_embeddings

ROOM = 3000  # bytes that a file may have on the disk that is full


@contextmanager
def full_disk():
    """No file grows beyond ROOM: the kernel refuses further bytes in the middle of a write, as where space runs out."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_pictures_that_are_drawn_ahead_leave_nothing_on_a_full_disk(tmp_path):
    with full_disk(), pytest.raises(InputError, match=r"cannot be written .*; free some space"):
        draw_ahead(training_scenes(6, seed=5), cache=tmp_path / "pictures")
    assert not list((tmp_path / "pictures").iterdir())


def noise(size=64):
    data = io.BytesIO()
    Image.fromarray(np.random.default_rng(size).integers(0, 255, (size, size, 3), np.uint8)).save(data, "PNG")
    return data.getvalue()


@pytest.fixture
def source(tmp_path):
    """A folder that can be added: two pictures, larger than what the full disk takes, and their captions."""
    folder = tmp_path / "source"
    folder.mkdir()
    for i in range(2):
        (folder / f"{i}.png").write_bytes(noise(64 + i))
    rows = [{"images": ["0.png", "1.png"], "captions": ["one", "two"]}]
    (folder / "manifest.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


@pytest.fixture
def store(tmp_path):
    """A store with a finished run, `store.finished`."""
    store = RunStore(tmp_path / "runs")
    run = store.create("ttm", "a run", {"model": "m", "benchmark": "b", "ttm": {"seed": 1}})
    attempt = store.queue_up(run.id)
    scores = np.random.default_rng(0).normal(size=(900, 2, 2)).astype(np.float32)
    files.write_arrays(store.arrays_path(run.id, 0), {"scores": scores})
    store.append_step(run.id, {"iteration": 0}, attempt)
    model = store.folder(run.id) / "model"
    model.mkdir()
    (model / "weights").write_bytes(os.urandom(5000))
    files.write_manifest(model, kind="model")
    store.conclude(run.id, attempt, "finished")
    store.finished = run.id
    return store


@pytest.fixture
def acts(tmp_path, source, store, toy_groups):
    """Everything that writes files for somebody, by name: a function that writes into a folder."""
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(500, 2, 2))
    groups = mine.read_folder(importing.stage_import(source).folder, "mine/x")
    table = toy_frame(scores)
    brought = export_run(store, store.finished, tmp_path / "brought.zip")
    return {
        "a run": lambda out: export_run(store, store.finished, out / "run"),
        "a run's zip": lambda out: export_run(store, store.finished, out / "run.zip"),
        "a model": lambda out: export_model(store, store.finished, out / "model"),
        "a model's zip": lambda out: export_model(store, store.finished, out / "model.zip"),
        "groups": lambda out: export_groups(groups, out / "groups"),
        "groups' zip": lambda out: export_groups(groups, out / "groups.zip"),
        "groups' Parquet": lambda out: export_groups(groups, out / "groups.parquet"),
        "a table": lambda out: write_table(out / "table.csv", table),
        "a Parquet table": lambda out: write_table(out / "table.parquet", table),
        "scores": lambda out: write_scores(out / "scores.npz", scores),
        "an import": lambda out: import_run(RunStore(out), brought),
        "an added set": lambda out: importing.stage_import(source).add_benchmark("added"),
        "an upload": lambda out: save_upload("x.zip", io.BytesIO(noise())),
        "embeddings": lambda out: store_embeddings("x.npz", noise()),
    }


def toy_frame(scores):
    import pandas as pd

    return pd.DataFrame({"a": scores[:, 0, 0], "b": scores[:, 1, 1]})


NAMES = [
    *("a run", "a run's zip", "a model", "a model's zip", "groups", "groups' zip", "groups' Parquet"),
    *("a table", "a Parquet table", "scores", "an import", "an added set", "an upload", "embeddings"),
]


def left(*folders):
    """Files of any name below folders, but for the databases of stores and their empty folders."""
    found = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in found if not path.name.startswith("runs.db"))


@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk_is_one_sentence_and_leaves_no_half_of_anything(tmp_path, acts, name):
    out = tmp_path / "out"
    out.mkdir()
    if name == "an import":
        RunStore(out)  # the disk fills up later
    before = left(tmp_path)
    with full_disk(), pytest.raises(InputError) as told:
        acts[name](out)
    assert "free some space" in str(told.value)
    assert left(tmp_path) == before
    acts[name](out)  # there is room again
    assert left(tmp_path) != before


def test_scores_are_used_though_no_cache_takes_them(tmp_path):
    cache, keys = ScoreCache(), [(f"image {i}", "a caption " * 20) for i in range(500)]
    cache.put("scorer", Pairs.of(keys[:1]), np.zeros(1))
    with full_disk(), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        cache.put("scorer", Pairs.of(keys), np.ones(500))
    assert any("scores are computed again" in str(w.message) for w in told)
    found = cache.get("scorer", Pairs.of(keys))
    assert found[0] == 0 and np.isnan(found[1:]).all()  # all of them or none
    cache.put("scorer", Pairs.of(keys), np.ones(500))
    assert (cache.get("scorer", Pairs.of(keys)) == 1).all()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "an upload"])  # that one is not kept
def test_nothing_gets_its_name_before_it_is_on_the_disk(tmp_path, acts, name, monkeypatch):
    """A rename may reach the disk before the bytes do: after a power cut a whole name would hold half a file."""
    synced, unsynced = set(), []
    sync, moves = os.fsync, {name: getattr(os, name) for name in ("replace", "rename")}

    def fsync(descriptor):
        sync(descriptor)
        found = os.fstat(descriptor)
        synced.add((found.st_ino, found.st_size))

    def moving(move):
        def act(source, target):
            source, target = Path(source), Path(target)
            if target.is_relative_to(tmp_path) and not target.name.startswith("."):
                parts = [source] if source.is_file() else [p for p in source.rglob("*") if p.is_file()]
                assert parts
                state = {path: (path.stat().st_ino, path.stat().st_size) for path in parts}
                unsynced.extend(str(path) for path, found in state.items() if found not in synced)
            move(source, target)

        return act

    monkeypatch.setattr(os, "fsync", fsync)
    for each, move in moves.items():
        monkeypatch.setattr(os, each, moving(move))
    (tmp_path / "out").mkdir()
    made = acts[name](tmp_path / "out")
    if name == "an import":  # there the database says that the files are there
        moving(lambda *_: None)(tmp_path / "out" / made.id, tmp_path / "x")
    assert unsynced == [] and synced


# --- pages


STORED = ["4_Test-Time_Matching.py", "9_Runs.py"]


@pytest.mark.parametrize("page", STORED)
def test_a_page_shows_what_it_can_where_nothing_can_be_written(open_page, tmp_path, monkeypatch, page):
    (tmp_path / "file").write_text("")  # in place of the folder that would hold everything
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path / "file" / "home"))
    test = whole_app()
    test.switch_page(f"pages/{page}")
    fine(test.run())


@pytest.mark.parametrize("page", STORED)
def test_a_page_says_what_is_wrong_with_a_store_that_it_cannot_read(open_page, tmp_path, page):
    import sqlite3

    store = RunStore(tmp_path / "home" / "runs")
    with sqlite3.connect(store.root / "runs.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    test = open_page(f"pages/{page}")
    assert not test.exception
    assert [error for error in test.error if "newer Crossmatch" in error.value]


# --- for their owner alone


def open_to_others(folder):
    """Everything at and below a folder that somebody else could read, write or enter."""
    return [path for path in (folder, *folder.rglob("*")) if path.stat().st_mode & 0o077]


def test_the_store_and_the_score_cache_are_for_their_owner_alone(store, monkeypatch):
    home = Path(os.environ["CROSSMATCH_HOME"])
    ScoreCache().put("model", Pairs.of([("image", "caption")]), np.ones(1, np.float32))
    mine = RunStore()
    run = mine.create("ttm", "a run", {"model": "m", "benchmark": "b", "ttm": {"seed": 1}})
    files.write_arrays(mine.arrays_path(run.id, 0), {"scores": np.zeros((1, 2, 2), np.float32)})
    store_embeddings("e.npz", b"content")
    for folder in (home / "runs", home / "cache", home / "embeddings"):
        assert folder.is_dir() and not open_to_others(folder)


def test_a_worker_writes_for_its_owner_alone(tmp_path):
    from core.runs.engine import launch

    store = RunStore()
    run = launch(store, store.create("ttm", "t", {"model": "no such model", "benchmark": "scenes/swap"}).id)
    until(lambda: not store.get(run.id).live)
    assert store.log(run.id)
    assert not open_to_others(store.root)


def test_an_older_store_that_everybody_could_read_is_closed_when_it_is_opened(store, tmp_path):
    for path in (store.root, *store.root.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    (store.root / "link").symlink_to(outside)
    assert RunStore(store.root).get(store.finished).status == "finished"
    assert open_to_others(store.root) == [store.root / "link"] and outside.stat().st_mode & 0o055
    assert os.access(store.folder(store.finished), os.X_OK)


def test_a_folder_of_others_is_not_closed_for_a_file_of_ours(tmp_path):
    tmp_path.chmod(0o755)
    ScoreCache(tmp_path / "scores.sqlite").put(
        "model", Pairs.of([("image", "caption")]), np.ones(1, np.float32)
    )
    RunStore(tmp_path)
    assert tmp_path.stat().st_mode & 0o777 == 0o755
    assert not (tmp_path / "scores.sqlite").stat().st_mode & 0o077
    assert not (tmp_path / "runs.db").stat().st_mode & 0o077
