"""What leaves comes back: every format gives the same numbers, and a run opens on another machine."""

import json
import re
import shutil
import sqlite3
import zipfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from adapted import finish
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner
from written import read_written

from core import datasets
from core.base import files
from core.base.errors import InputError
from core.base.table_formats import READ, WRITTEN, _result_csv, open_table, write_table
from core.cli import app
from core.cola.forgetting import cached_table
from core.datasets import score_files
from core.datasets.score_files import read_scores, write_scores
from core.exchange import importing
from core.exchange.frames import _groups_file, curves_frame, matchings_frame, metrics_frame
from core.exchange.groups import _groups_frame, export_groups
from core.exchange.layouts import FORMATS, LAYOUTS, Adapted, Result, _difference_notes, layout_table
from core.exchange.runs import _export_group, _import_runs, export_run, import_run
from core.groups import GroupSet
from core.metrics.evaluation import Evaluation, tags_frame
from core.metrics.statistics import Comparison
from core.runs.models import adapted_model
from core.runs.store import RunStore
from core.scoring.cache import ScoreCache
from core.scoring.scores import score_groups
from core.ttm.run import TTMRun
from core.ttm.seeds import SeedGroup, group_runs, seed_of, seeded, sweeps

NAMES = ["007", "b,c", 'with "quotes"', "ünïcode 猫", "", "=1+1"]


def evaluation(groups: GroupSet) -> Evaluation:
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(len(groups), 2, 2)).astype(np.float32)
    return Evaluation.of(scores, groups.truth, groups.ids, tags=tags_frame([g.tags for g in groups]))


class Pixels:
    """Scores from the pixels and the letters: a change of either changes a score."""

    name, key = "pixels", "pixels-1"

    def score(self, images, captions, pairs):
        means = [float(np.asarray(image.open(), dtype=np.float64).mean()) for image in images]
        letters = [sum(map(ord, text)) % 97 for text in captions]
        return np.array([means[i] * (1 + letters[j]) for i, j in pairs], dtype=np.float32)


# --- tables

# Relative: a CSV has ten significant digits, the other formats all.
LOSS = {".csv": 5e-10, **dict.fromkeys([each for each in WRITTEN if each != ".csv"], 0.0)}


@pytest.mark.parametrize("ending", WRITTEN)
def test_a_table_comes_back_with_the_same_numbers_and_texts(tmp_path, ending):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "id": NAMES,
            "numbers like texts": ["1", "2", "3", "nan", "", "1e5"],
            "float": rng.normal(size=6) * 10.0 ** rng.integers(-30, 30, 6),
            "small": np.array([0.1, 1 / 3, np.nan, 5e-324, -0.0, 2.0]),
            "whole": np.array([0, -5, 2**53, 7, 1, 2]),
            "yes": [True, False, True, True, False, False],
            "missing": [np.nan] * 6,
        }
    )
    write_table(tmp_path / f"t{ending}", table)
    found = read_written(tmp_path / f"t{ending}", table)
    assert list(found.columns) == list(table.columns)
    for name in ("id", "numbers like texts"):
        assert found[name].tolist() == table[name].tolist()
    for name in ("float", "small", "missing"):
        np.testing.assert_allclose(found[name].to_numpy(), table[name].to_numpy(), rtol=LOSS[ending], atol=0)
    assert found["whole"].tolist() == table["whole"].tolist()
    assert found["yes"].tolist() == [1, 0, 1, 1, 0, 0]


def test_a_csv_that_a_spreadsheet_saved_again_keeps_its_ids_and_numbers():
    """Without quotation marks, with a byte order mark and Windows line ends."""
    table = open_table("t.csv", "\ufeffid,value,text\r\n007,1.5,a\r\n008,,b\r\n".encode())
    assert [row.cells for row in table.rows()] == [
        {"id": "007", "value": "1.5", "text": "a"},
        {"id": "008", "value": "", "text": "b"},
    ]
    assert table.frame().to_numpy().tolist() == [["007", "1.5", "a"], ["008", "", "b"]]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"a,b\n1\n", "row 2 has 1 cell, the header 2"),
        ("t.csv", b"a,b\n1,2\n\n3,4\n1,2,3\n", "row 5 has 3 cells, the header 2"),
        ("t.csv", b"a,a\n1,2\n", "the column 'a' twice"),
        ("t.csv", b"\xff\xff", "is not UTF-8 text"),
        ("t.parquet", b"PAR1", "is not a complete Parquet file"),
        ("t.arrow", b"PAR1", "is not a complete Arrow file"),
        ("t.jsonl", b"{", "line 1 is not JSON"),
        ("t.jsonl", b'{"a": 1}\n[1]', r"line 2 is not a JSON object but \[1\]"),
        ("t.json", b"{}", "is not a JSON list"),
        ("t.xlsx", b"x", "is not a table"),
    ],
)
def test_a_table_that_is_none_is_one_sentence(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    for read in (lambda: open_table(tmp_path / name), lambda: open_table(name, data)):
        with pytest.raises(InputError, match=message):
            read().frame()


def test_rows_have_the_numbers_that_an_editor_shows_and_blank_ones_none():
    content = b'id,text\n1,"a\nb"\n\n2,c\n3,d,,\n4\n'
    rows = list(open_table("t.csv", content).rows())
    assert [(row.number, row.cells.get("id")) for row in rows] == [(2, "1"), (4, "2"), (5, "3"), (6, None)]
    assert [row.fault for row in rows] == ["", "", "", "has 1 cell, the header 2"]


@pytest.mark.parametrize("ending", READ)
def test_every_format_gives_the_same_rows_and_frame(tmp_path, ending):
    import pyarrow as pa

    table = pd.DataFrame({"a": ["x", "y, z"], "b": ["1", "ü"]})
    path = tmp_path / f"t{ending}"
    records = table.to_dict("records")
    if ending == ".arrow":
        whole = pa.Table.from_pylist(records)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, whole.schema) as stream:
            stream.write_table(whole)
    elif ending == ".json":
        path.write_text(json.dumps(records))
    elif ending == ".tsv":
        table.to_csv(path, sep="\t", index=False)
    else:
        write_table(path, table)
    for found in (open_table(path), open_table(path.name, path.read_bytes())):
        assert found.columns == ("a", "b")
        for _ in range(2):
            assert [row.cells for row in found.rows()] == records
        pd.testing.assert_frame_equal(found.frame(), table)


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"must end in \.csv"):
        write_table(tmp_path / "t.xlsx", pd.DataFrame({"a": [1]}))


# --- scores, matchings, metrics, curves


@pytest.mark.parametrize("ending", [e for e, (_, write) in score_files._FORMATS.items() if write])
def test_scores_give_the_same_metrics_after_export_and_import(tmp_path, toy_groups, ending):
    found = evaluation(toy_groups)
    path = tmp_path / f"s{ending}"
    write_scores(path, found.scores, found.ids, found.truth, found.tags)
    back = read_scores(path)
    again = Evaluation.of(back.scores, back.truth, back.ids, tags=back.tags)
    assert again.record() == found.record()


@pytest.mark.parametrize("ending", WRITTEN)
def test_matchings_and_metrics_come_back(tmp_path, toy_groups, ending):
    found = evaluation(toy_groups)
    for name, frame in (("m", matchings_frame(found)), ("e", metrics_frame(found))):
        write_table(tmp_path / f"{name}{ending}", frame)
        back = read_written(tmp_path / f"{name}{ending}", frame)
        assert list(back.columns) == list(frame.columns)
        for column in frame.columns:
            if frame[column].dtype.kind in "fiub":
                np.testing.assert_allclose(back[column], frame[column].astype(float), LOSS[ending], 0)
            else:
                assert back[column].tolist() == frame[column].tolist()
    metrics = read_written(tmp_path / f"e{ending}", frame)
    whole = metrics[metrics["tag"] == ""].set_index("metric")
    for name, e in found.metrics.items():
        row = whole.loc[name]
        found_again = [row[field] for field in ("value", "low", "high", "chance", "ties")]
        np.testing.assert_allclose(found_again, e[:5], LOSS[ending], 0)
    assert set(metrics["tag"]) == {"", "colour", "shape"}


def steps(transfer: bool = False) -> list[dict]:
    def metrics(v: float) -> dict:
        return {"group_match": {"value": v, "low": v - 1 / 3, "high": v + 0.1, "chance": 50.0, "ties": 1}}

    found = []
    for i in range(3):
        step = {
            "iteration": i,
            "threshold": None if i == 0 else 0.1 * i,
            "coverage": None if i == 0 else i / 3,
            "precision": None,
            "selected": i,
            "loss": None if i == 0 else 1 / (i + 1),
            "seconds": 0.5,
            "note": "" if i else "before",
            "skipped": False,
            "n_groups": 6,
            "shape": "2x2",
            "metrics": metrics(60.0 + i / 7),
            "margins": {"edges": [0, 1], "counts": [6], "right": [3], "tied": 0},
        }
        if transfer:
            sides = {"adapted": {"n_groups": 3, "metrics": metrics(70.0)}}
            step["parts"] = {**sides, "untouched": {"n_groups": 3, "metrics": metrics(50.0)}}
        found.append(step)
    return found


@pytest.mark.parametrize("ending", WRITTEN)
def test_the_curves_of_a_run_come_back(tmp_path, ending):
    frame = curves_frame(steps(transfer=True))
    write_table(tmp_path / f"c{ending}", frame)
    back = read_written(tmp_path / f"c{ending}", frame[["note", "shape"]])
    np.testing.assert_allclose(back["group_match"], [60.0, 60.0 + 1 / 7, 60.0 + 2 / 7], LOSS[ending], 0)
    np.testing.assert_array_equal(back["threshold"], [np.nan, 0.1, 0.2])
    assert back["precision"].isna().all()
    assert back["note"].tolist() == ["before", "", ""]
    np.testing.assert_allclose(back["group_match_low"], back["group_match"] - 1 / 3, 2 * LOSS[ending], 0)
    assert back["untouched_group_match"].tolist() == [50.0] * 3


def test_the_curves_of_a_run_say_last_what_they_are_of(tmp_path):
    """The file lacked model, set, seed and version, which LaTeX and report have."""
    store = RunStore(tmp_path)
    config = {
        "benchmark": "scenes/swap",
        "split": "validation",
        "model": "builtin/clip",
        "ttm": {"seed": 3},
    }
    run = store.create("ttm", "a run", config)
    plain, frame = curves_frame(steps()), curves_frame(steps(), run)
    assert list(frame)[: len(plain.columns)] == list(plain)
    own = frame[list(frame)[len(plain.columns) :]].drop_duplicates().to_dict("records")
    origin = {"set": "scenes/swap", "split": "validation", "model": "builtin/clip", "seed": 3}
    assert own == [{**origin, "crossmatch_version": version("crossmatch")}]


# --- groups


@pytest.mark.parametrize("name", ["set", "set.zip", "set.parquet"])
def test_groups_that_are_exported_and_added_again_score_the_same(tmp_path, toy_groups, name):
    out = export_groups(toy_groups, tmp_path / name)
    staged = importing.stage_import(out)
    assert staged.total == 0
    staged.add_benchmark("again")
    back = datasets.load("mine/again")
    assert back.ids == toy_groups.ids
    assert [g.captions for g in back] == [g.captions for g in toy_groups]
    assert [g.tags for g in back] == [g.tags for g in toy_groups]
    np.testing.assert_array_equal(back.truth, toy_groups.truth)
    scores = [
        score_groups(Pixels(), groups, ScoreCache(tmp_path / "c.sqlite")) for groups in (toy_groups, back)
    ]
    np.testing.assert_array_equal(*scores)


def test_a_set_of_several_shapes_comes_back_by_shape(tmp_path, toy_groups_mixed):
    importing.stage_import(export_groups(toy_groups_mixed, tmp_path / "set.zip")).add_benchmark("mixed")
    assert len(datasets.load("mine/mixed/2x2")) == 6
    assert len(datasets.load("mine/mixed/1x4")) == 5
    with pytest.raises(InputError, match="mixes shapes; write it to a folder or zip"):
        export_groups(toy_groups_mixed, tmp_path / "set.parquet")


def test_built_in_pictures_are_the_same_after_a_trip(tmp_path):
    groups = datasets.load("scenes/left-right", "validation").select([0, 1, 2])
    importing.stage_import(export_groups(groups, tmp_path / "scenes")).add_benchmark("scenes")
    for one, other in zip(groups, datasets.load("mine/scenes"), strict=True):
        for before, after in zip(one.images, other.images, strict=True):
            np.testing.assert_array_equal(np.asarray(before.open()), np.asarray(after.open()))


@pytest.mark.parametrize("ending", WRITTEN)
def test_a_table_of_groups_has_captions_answers_tags_and_content_hashes(tmp_path, toy_groups, ending):
    export_groups(toy_groups, tmp_path / f"g{ending}", images=False)
    found = read_written(tmp_path / f"g{ending}", _groups_frame(toy_groups))
    assert found["id"].tolist() == toy_groups.ids
    assert found["image_1"].tolist() == [g.images[1].key for g in toy_groups]
    assert found["caption_0"].tolist() == [g.captions[0] for g in toy_groups]
    assert [tuple(map(int, row.split())) for row in found["truth"]] == [g.truth for g in toy_groups]
    assert found["colour"].tolist() == [g.tags["colour"] for g in toy_groups]


def test_unknown_answers_do_not_come_back_as_the_identity(tmp_path, toy_groups):
    staged = importing.stage_import(export_groups(toy_groups.blind(), tmp_path / "blind"))
    assert staged.groups == 0
    assert staged.problems[0].what == "the answer is missing"
    assert set(_groups_frame(toy_groups.blind())["truth"]) == {""}


def test_nothing_is_overwritten_and_a_clash_of_names_is_told(tmp_path, toy_groups):
    (tmp_path / "set").mkdir()
    with pytest.raises(InputError, match="exists already"):
        export_groups(toy_groups, tmp_path / "set")
    clash = GroupSet(
        "x", tuple(type(g)(g.id, g.images, g.captions, g.truth, {"truth": "1"}) for g in toy_groups)
    )
    with pytest.raises(InputError, match="A tag cannot be called 'truth'"):
        export_groups(clash, tmp_path / "x.csv")


def test_the_same_groups_give_the_same_zip(tmp_path, toy_groups):
    one, two = (export_groups(toy_groups, tmp_path / place / "set.zip").read_bytes() for place in ("a", "b"))
    assert one == two


# --- runs


@pytest.fixture
def run(tmp_path):
    """A finished run with three iterations, arrays and a small sealed model, in a store of its own."""
    store = RunStore(tmp_path / "here")
    config = {
        "model": str(tmp_path / "models/mine"),
        "benchmark": "scenes/swap",
        "ttm": {"seed": 1, "iterations": 2},
    }
    run = store.create("ttm", "a run", {**config, "device": "cpu"})
    attempt = store.queue_up(run.id)
    for step in steps():
        array = np.random.default_rng(step["iteration"]).normal(size=(6, 2, 2)).astype(np.float32)
        files.write_arrays(store.arrays_path(run.id, step["iteration"]), {"scores": array})
        store.append_step(run.id, step, attempt, total=2, started=1000.0)
    model = store.folder(run.id) / "model"
    (model / "deep").mkdir(parents=True)
    (model / "deep/weights.bin").write_bytes(bytes(range(256)))
    files.write_manifest(model, kind="model")
    store.conclude(run.id, attempt, "finished")
    return store, run.id


@pytest.mark.parametrize("name", ["run", "run.zip"])
def test_a_run_opens_on_another_machine_with_the_same_numbers(tmp_path, run, name):
    store, run_id = run
    out = export_run(store, run_id, tmp_path / "out" / name)
    there = RunStore(tmp_path / "there")
    found = import_run(there, out)
    before = store.get(run_id)
    assert found.id != run_id
    assert (found.kind, found.title, found.status, found.total, found.done) == (
        "ttm",
        "a run",
        "finished",
        2,
        2,
    )
    assert found.started == 1000.0
    assert there.steps(found.id) == store.steps(run_id)
    for i in range(3):
        np.testing.assert_array_equal(there.scores(found.id, i), store.scores(run_id, i))
    assert files.verify_manifest(there.folder(found.id) / "model")["kind"] == "model"
    assert (there.folder(found.id) / "model/deep/weights.bin").read_bytes() == bytes(range(256))
    assert found.config["model"] == "mine"  # no path of this machine goes along
    assert before.config["model"] != "mine"
    assert [r.id for r in there.list()] == [found.id]


def test_a_run_without_its_model_and_one_that_still_works(tmp_path, run):
    store, run_id = run
    found = import_run(
        RunStore(tmp_path / "there"), export_run(store, run_id, tmp_path / "r.zip", model=False)
    )
    assert not (RunStore(tmp_path / "there").folder(found.id) / "model").exists()
    with pytest.raises(InputError, match="exists already"):
        export_run(store, run_id, tmp_path / "r.zip")
    busy = store.create("ttm", "busy", {"device": "cpu"})
    store.queue_up(busy.id)
    with pytest.raises(InputError, match="is queued; wait until it finishes"):
        export_run(store, busy.id, tmp_path / "b.zip")


def edited(folder: Path, name: str, change) -> Path:
    """An exported run whose file was changed and whose manifest vouches for the change."""
    path = folder / name
    path.write_text(change(path.read_text()))
    facts = json.loads((folder / files.MANIFEST).read_text())
    facts.pop("files")
    files.write_manifest(folder, **facts)
    return folder


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("steps.jsonl", lambda t: t.replace("60.0", "NaN", 1), "NaN is not JSON"),
        ("steps.jsonl", lambda t: t[: len(t) // 2], "is not a complete run"),
        ("steps.jsonl", lambda t: "".join(reversed(t.splitlines(True))), "are not 0, 1, 2"),
        ("run.json", lambda t: "{}", "is not a complete run"),
        ("run.json", lambda t: t.replace('"ttm"', '"../x"', 1), "its description is damaged"),
        ("run.json", lambda t: t.replace("finished", "running"), "its status or title is damaged"),
        ("run.json", lambda t: t.replace('"a run"', '{"a": 1}'), "its status or title is damaged"),
        ("run.json", lambda t: t.replace('"total": 2', '"total": 1e99'), "'total' is not a valid number"),
        ("run.json", lambda t: t.replace('"total": 2', '"total": "x"'), "'total' is not a valid number"),
        ("run.json", lambda t: t.replace('"scenes/swap"', "[1]"), "is not a name"),
        (
            "run.json",
            lambda t: t.replace('"ttm": {', '"group": 3, "ttm": {'),
            "the group of its description is",
        ),
        ("run.json", lambda t: t.replace('"ttm": {', '"ttm": [], "x": {'), "its settings are invalid"),
        ("run.json", lambda t: "[" * 100_000, "is not a complete run"),
    ],
)
def test_a_run_that_was_tampered_with_is_a_sentence_and_leaves_nothing(tmp_path, run, name, change, message):
    folder = edited(export_run(*run, tmp_path / "out"), name, change)
    there = RunStore(tmp_path / "there")
    with pytest.raises(InputError, match=message):
        import_run(there, folder)
    assert there.list() == []
    assert [p.name for p in there.root.iterdir() if p.is_dir()] == []


COST = (
    "set,shape,metric,groups,before,before_low,before_high,after,after_low,after_high,chance,difference,low,high,fixed,"
    "broken,p_value,ties_before,ties_after\nscenes/swap,1x2,text_score,300,65,59,70,62,56,67,50,-3,-10,4,56,65,0.46,0,0\n"
)


def test_what_a_run_costs_on_other_sets_goes_along_with_it(tmp_path, run):
    store, run_id = run
    (store.folder(run_id) / "cost.csv").write_text(COST)
    found = import_run(RunStore(tmp_path / "there"), export_run(store, run_id, tmp_path / "out.zip"))
    table = cached_table(RunStore(tmp_path / "there").folder(found.id))
    assert table["difference"].tolist() == [-3] and table["set"].tolist() == ["scenes/swap"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "set,shape\na,b\n",
        COST.replace("65,59", "x,59"),
        COST.replace("65,59", ",59"),
        "\0" * 9,
        COST[:300] + '"',
    ],
)
def test_costs_that_are_no_table_are_a_sentence_and_leave_nothing(tmp_path, run, text):
    store, run_id = run
    (store.folder(run_id) / "cost.csv").write_text(text)
    there = RunStore(tmp_path / "there")
    with pytest.raises(InputError, match=r"cost\.csv of a run is damaged"):
        import_run(there, export_run(store, run_id, tmp_path / "out"))
    assert there.list() == []


def test_a_run_that_says_not_when_it_began_comes_in_all_the_same(tmp_path, run):
    folder = edited(
        export_run(*run, tmp_path / "out"), "run.json", lambda t: t.replace('"started"', '"begun"')
    )
    found = import_run(RunStore(tmp_path / "there"), folder)
    assert (found.started, found.done) == (None, 2)


def test_what_is_no_run_or_damaged_is_a_sentence(tmp_path, run):
    folder = export_run(*run, tmp_path / "out")
    there = RunStore(tmp_path / "there")
    (folder / "steps/0001.npz").write_bytes(b"x")
    with pytest.raises(InputError, match="is damaged or missing"):
        import_run(there, folder)
    with pytest.raises(InputError, match="does not exist"):
        import_run(there, tmp_path / "nowhere")
    (tmp_path / "x.zip").write_bytes(b"no zip")
    with pytest.raises(InputError, match="is not a zip"):
        import_run(there, tmp_path / "x.zip")
    with zipfile.ZipFile(tmp_path / "y.zip", "w") as archive:
        archive.writestr("a.txt", "a")
    with pytest.raises(InputError, match="holds no run"):
        import_run(there, tmp_path / "y.zip")
    other = tmp_path / "other"
    other.mkdir()
    files.write_manifest(other, kind="something else")
    with pytest.raises(InputError, match="is not a run"):
        import_run(there, other)
    files.write_manifest(other, kind="crossmatch run", format=99)
    with pytest.raises(InputError, match="written by another version"):
        import_run(there, other)


def test_files_that_lead_out_of_a_run_are_not_copied(tmp_path, run):
    folder = export_run(*run, tmp_path / "out")
    (tmp_path / "secret.npz").write_bytes(b"secret")
    manifest = json.loads((folder / files.MANIFEST).read_text())
    for name in ("model/../../secret.npz", "steps/../../secret.npz"):
        manifest["files"][name] = files.checksum(tmp_path / "secret.npz")
    (folder / files.MANIFEST).write_text(json.dumps(manifest))
    there = RunStore(tmp_path / "there")
    found = import_run(there, folder)
    copied = {p.name for p in there.root.rglob("*")}
    assert "secret.npz" not in copied
    assert found.done == 2


# --- rows of the papers' tables


def result(model: str, benchmark: str, title: str, adapted: Adapted | None = None) -> Result:
    scores = np.array([[[2.0, 1.0], [0.0, 2.0]], [[2.0, 2.1], [1.0, 1.9]]])  # GroupScore 50, GroupMatch 100
    metrics = Evaluation.of(scores, None).metrics
    return Result(model, benchmark, title, metrics, 2, (2, 2), adapted)


def test_the_main_table_of_ttm_has_the_papers_rows_and_ours_with_gains(tmp_path):
    table = layout_table(
        [result("me", "winoground", "Winoground", Adapted(100.0, 0.5, 4, (90.0, 100.0)))], "ttm/1"
    )
    assert table.head == ["Dataset / Model", "Raw", "SimpleMatch", "TTM", "Δ", "Error Red."]
    rows = {row[0]: row[1:] for row in table.rows}
    # [TTM] Table 1, as printed
    assert rows["SigLIP-B16 (TTM paper)"][:3] == ["10.25", "67.00", "72.50 ± 0.64"]
    assert rows["SigLIP-B16 (TTM paper)"][3:] == ["+5.5 (8.2 %)", "16.7 %"]
    assert rows["GPT-4.1 (TTM paper)"] == ["69.75 ± 0.56", "91.38 ± 0.80", "–", "–", "–"]
    ours = [
        "50.00 [1.26, 98.74]",
        "100.00 [15.81, 100.00]",
        "100.00 ± 0.50 [90.00, 100.00]",
    ]  # Clopper-Pearson of 2
    assert rows["me"] == [*ours, "+0.0 (0.0 %)", "–"]
    assert rows["chance"] == ["16.67", "50.00", "50.00", "", ""]
    assert "95 % intervals" in table.notes[0] and "prints no intervals" in table.notes[1]
    assert "chance 16.67" in table.notes[2]


def test_groups_of_one_image_and_whatsups_pairs_show_the_papers_gains():
    table = layout_table([result("me", "sugarcrepe/swap_att", "SugarCrepe: Swap Attribute")], "ttm/6")
    assert table.rows[0][1:] == ["SigLIP-B16 (TTM paper)", "71.47", "77.36 ± 0.71", "+5.9 (8.2 %)", "20.6 %"]
    pairs = layout_table([result("me", "whatsup/a-left-right", "A-LR")], "ttm/1")
    assert pairs.rows[1] == [
        "CLIP-B32 (TTM paper)",
        "0.00",
        "40.78",
        "95.87 ± 4.42",
        "+55.1 (135.1 %)",
        "93.0 %",
    ]


def test_the_wide_layouts_have_a_column_per_set_and_metric():
    results = [result("me", "winoground", "Winoground"), result("me", "eqben/mini", "EqBen-Mini")]
    table = layout_table(results, "vgpt/4")
    assert table.head[:4] == ["Method", "Winoground Text", "Winoground Image", "Winoground Group"]
    assert table.rows[-2][0] == "me"
    assert table.rows[-2][1:4] == ["50.00 [1.26, 98.74]"] * 3
    assert table.rows[-1][:4] == ["chance", "25.00", "25.00", "16.67"]
    assert any("(paper)" in row[0] for row in table.rows)
    assert layout_table(results, "vgpt/4", paper=False).rows == table.rows[-2:]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_written_in_markdown_and_latex_with_texts_from_data_escaped(layout):
    table = layout_table([result("a_b|<i>&%", "mine/x", "50 % of {it}")], layout)
    text = FORMATS["markdown"](table)
    width = len(table.head)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.replace("\\|", "").count("|") == width + 1 for line in lines)
    assert "<i>" not in text
    code = FORMATS["latex"](table).partition("\n\\par")[0]
    assert r"a\_b|<i>\&\%" in code
    assert code.count("&") - code.count(r"\&") == (width - 1) * (len(table.rows) + 1)
    package, code = code.split("\n", 1)
    assert package.startswith("%") and r"\usepackage{booktabs}" in package
    columns = re.search(r"\\begin\{tabular\}\{(l[lr]+)\}", code)  # texts left, numbers right
    assert columns and len(columns[1]) == width and columns[1].endswith("r")


def test_an_unknown_layout_and_no_results_are_sentences():
    with pytest.raises(InputError, match="Unknown layout 'ttm/2'; did you mean 'ttm/1'"):
        layout_table([result("m", "b", "t")], "ttm/2")
    with pytest.raises(InputError, match="needs at least one result"):
        layout_table([], "ttm/1")


# --- the commands


def here(*arguments: object) -> str:
    done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_file_of_groups_has_whole_verdicts_every_digit_its_model_and_the_version():
    """It had verdicts 1.0, and nothing said whose they were; its margins were rounded, where other files keep all."""
    tags = pd.DataFrame({"model": ["old", "new", "old"]})
    scores = np.array([[[0.7, 0.1], [0.2, 0.5]], [[0.0, 1e-9], [0.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]]])
    table = _groups_file(Evaluation.of(scores, np.tile([0, 1], (3, 1)), list("abc"), tags=tags), "mine")
    assert table["group_match"].tolist() == [1, 0, 0] and table["group_match"].dtype == int
    assert table["margin"].tolist() == [
        1.2 - (0.1 + 0.2),
        1e-9,
        0.0,
    ]  # 0.7 + 0.5 = 1.2; a small one is no tie
    # Verdicts were 0 and 1, ties True and False; “0 1” was counted from 0, and the page says A–1, B–2.
    assert table["matching_tied"].tolist() == [0, 0, 1] and table["matching_tied"].dtype == int
    assert table["matching"].tolist() == ["A–1, B–2", "A–2, B–1", ""] and "matched" not in table
    # The same matching is right in one group and wrong in the next, whose true one is another.
    assert list(table).index("true_matching") == list(table).index("matching") + 1
    turned = _groups_file(Evaluation.of(scores, np.array([[0, 1], [0, 1], [1, 0]]), list("abc")), "mine")
    assert turned["true_matching"].tolist() == ["A–1, B–2", "A–1, B–2", "A–2, B–1"]
    several = _groups_file(Evaluation.of(np.array([[[1.0, 0.5, 0.2]]]), np.array([[0, 2]]), ["a"]), "mine")
    assert several["true_matching"].tolist() == ["A–1, A–3"]
    assert table["tag model"].tolist() == ["old", "new", "old"] and {*table["model"]} == {"mine"}
    assert list(table)[-1] == "crossmatch_version" and {*table["crossmatch_version"]} == {
        version("crossmatch")
    }
    assert table["true_pairs_sum"].tolist() == [1.2, 0.0, 1.0]
    assert table["best_other_sum"].tolist() == pytest.approx([0.3, 1e-9, 1.0], rel=1e-15)


def test_a_table_that_a_page_hands_out_says_57_5_for_what_is_computed_as_57_49999999999999():
    """Rounding errors stood in every file: 0.575 x 100 is 57.49999999999999, 0.1 + 0.2 is 0.30000000000000004."""
    table = pd.DataFrame(
        {
            "id": ["007", "b", "c"],
            "value": [0.575 * 100, 0.1 + 0.2, float("nan")],
            "margin": [1e-9, -0.8999999999999999, 1234567.25],
            "low": [0.575 * 100, None, "none"],
            "p": [1 / 3, 0.1 + 0.2, 1.0],
            "ties": [1, 2, 3],
            "right": [True, False, True],
            "single": np.array([0.1, 0.2, 0.3], np.float32),
        }
    )
    assert _result_csv(table).decode().splitlines() == [
        "id,value,margin,low,p,ties,right,single",
        "007,57.5,1e-09,57.5,0.3333333333,1,True,0.1",
        "b,0.3,-0.9,,0.3,2,False,0.2",
        "c,,1234567.25,none,1.0,3,True,0.3",
    ]


def test_commands_write_their_csv_files_with_the_digits_of_pages(tmp_path):
    """By hand: the margin is 0.2959 − 0.7949 + 1.1591 − 0.0624 = 0.5977, which in floats is 0.59769…99."""
    np.savez(tmp_path / "s.npz", scores=[[[-0.7949, -1.1591], [0.0624, 0.2959]]], truth=[[0, 1]])
    here("export", "matchings", "--scores", tmp_path / "s.npz", "--out", tmp_path / "m.csv")
    here("evaluate", "--scores", tmp_path / "s.npz", "--out", tmp_path / "e")
    for path in (tmp_path / "m.csv", tmp_path / "e/groups.csv"):
        assert pd.read_csv(path, dtype=str)["margin"].tolist() == ["0.5977"]


def test_a_group_that_ties_in_text_score_alone_is_told_from_a_miss_in_every_file_of_groups(tmp_path):
    """One column `tied`, of the matchings, stood beside every metric: such a group read `text_score 0, tied False`."""
    # a: picture 1 scores both captions alike, the matchings do not tie; b: it prefers the other's caption by far
    scores = np.array([[[1.0, 1.0], [0.0, 2.0]], [[1.0, 3.0], [0.0, 1.0]], [[2.0, 1.0], [0.0, 2.0]]])
    found = Evaluation.of(scores, np.tile([0, 1], (3, 1)), list("abc"))
    np.savez(tmp_path / "s.npz", scores=scores, truth=np.tile([0, 1], (3, 1)))
    here("export", "matchings", "--scores", tmp_path / "s.npz", "--out", tmp_path / "m.csv")
    here("evaluate", tmp_path / "s.npz", "--out", tmp_path / "e")
    for table in (
        _groups_file(found, "mine"),
        *map(pd.read_csv, (tmp_path / "m.csv", tmp_path / "e/groups.csv")),
    ):
        assert table["text_score"].tolist() == [0, 0, 1]
        assert table["text_score_tied"].tolist() == [True, False, False]
        assert table["matching_tied"].tolist() == [False] * 3 and "tied" not in table
        for name, estimate in found.metrics.items():
            assert table[f"{name}_tied"].sum() == estimate.ties


def test_scores_matchings_metrics_and_rows_by_command(tmp_path):
    path = tmp_path / "in.npz"
    np.savez(path, scores=np.array([[[2.0, 1.0], [0.0, 2.0]], [[2.0, 2.1], [1.0, 1.9]]]))
    here("export", "scores", "--scores", path, "--out", tmp_path / "s.csv")
    here("export", "matchings", "--scores", path, "--out", tmp_path / "m.jsonl")
    here("export", "metrics", "--scores", path, "--out", tmp_path / "e.parquet")
    np.testing.assert_array_equal(read_scores(tmp_path / "s.csv").scores, np.load(path)["scores"])
    assert read_scores(tmp_path / "s.csv").truth is None  # the file named none, and none is made up
    assert read_written(tmp_path / "m.jsonl")["matching"].tolist() == ["A–1, B–2", "A–1, B–2"]
    metrics = read_written(tmp_path / "e.parquet").set_index("metric")
    assert metrics.loc["group_score", "value"] == 50.0
    assert metrics.loc["group_match", "value"] == 100.0
    here("export", "metrics", "--scores", path, "--out", tmp_path / "e.csv")
    plain = pd.read_csv(tmp_path / "e.csv", dtype=str).set_index("metric")
    assert plain.loc["group_match", "ties"] == "0"  # it was 0.0
    assert plain.loc["group_match", "interval"] == "95 % Clopper-Pearson"
    rows = np.random.default_rng(0).normal(size=(12, 4))  # embeddings: of Global match nobody counts ties
    np.savez(tmp_path / "emb.npz", img=rows, cap=rows[::-1])
    for ending in WRITTEN:
        here("export", "metrics", "--embeddings", tmp_path / "emb.npz", "--out", tmp_path / f"g{ending}")
        ties = read_written(tmp_path / f"g{ending}").set_index("metric")["ties"]
        assert ties["group_match"] == 0 and pd.isna(ties["global_match"])
    assert pd.read_csv(tmp_path / "g.csv", dtype=str).set_index("metric").loc["group_match", "ties"] == "0"
    assert list(plain)[-1] == "crossmatch_version" and {*plain["crossmatch_version"]} == {
        version("crossmatch")
    }


def test_a_run_travels_by_command(tmp_path, run, monkeypatch):
    store, run_id = run
    home = tmp_path / "home1"
    shutil.copytree(store.root, home / "runs")
    monkeypatch.setenv("CROSSMATCH_HOME", str(home))
    here("export", "run", run_id, "--out", tmp_path / "r.zip")
    here("export", "curves", run_id, "--out", tmp_path / "c.csv")
    assert len(read_written(tmp_path / "c.csv")) == 3
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path / "home2"))
    new = here("runs", "import", tmp_path / "r.zip").strip()
    assert RunStore().get(new).title == "a run"
    assert RunStore().steps(new) == store.steps(run_id)


# --- anything at all


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=200))
@pytest.mark.parametrize("ending", [*READ, ".npz"])
def test_any_bytes_are_a_table_and_scores_or_one_sentence(ending, data):
    for read in (
        lambda *file: open_table(*file).frame(),
        lambda *file: list(open_table(*file).rows()),
        read_scores,
    ):
        try:
            read(f"x{ending}", data)
        except InputError as error:
            assert "\n" not in str(error)


NUMBER = st.one_of(st.floats(), st.integers(), st.booleans(), st.none(), st.text(max_size=3))
ROW = st.dictionaries(st.sampled_from(["c0_i0", "c1_i0", "c0_i1", "id", "truth", "tag"]), NUMBER, max_size=6)


@settings(max_examples=150, deadline=None)
@given(st.lists(ROW, max_size=3))
def test_any_json_lines_are_scores_or_one_sentence(records):
    data = "\r\n".join(map(json.dumps, records)).encode("utf-8-sig")
    try:
        found = read_scores("x.jsonl", data)
    except InputError as error:
        assert "\n" not in str(error)
    else:
        assert np.isfinite(found.scores).all()


def test_groups_are_not_written_to_a_folder_that_is_meant_as_a_file(tmp_path, toy_groups):
    with pytest.raises(InputError, match=r"has an unknown ending; choose \.csv"):
        export_groups(toy_groups, tmp_path / "groups.xyz")
    assert export_groups(toy_groups, tmp_path / "set-1.2").is_dir()


def test_a_note_on_p_leaves_out_the_metric_whose_interval_it_does_not_decide():
    """IndividualMatch had an interval that held 0 beside p 0.029, below “p decides whether an interval holds 0”."""
    change = Comparison(3.0, -0.2, 6.0, 9, 2, 0.03)
    (first, _) = _difference_notes(["group_match"], {"group_match": change})
    assert "where its p, before any correction, is above 0.05, and elsewhere does not." in first
    both = {"group_match": change, "individual_match": change}
    (first, _) = _difference_notes([*both], both)
    own = "whose p counts groups and whose interval is of points, may hold 0 there too."
    assert f"elsewhere does not; that of IndividualMatch, {own}" in first
    assert "p by McNemar's exact test, of IndividualMatch the exact sign test." in first


@pytest.fixture
def group_of_seeds(tmp_path, monkeypatch):
    """The store with two finished seeds, and the id of their group."""
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path / "home"))
    rows = np.random.default_rng(0).normal(size=(8, 6))
    np.savez(tmp_path / "own.npz", img=rows, cap=rows + 1)
    job = TTMRun.of_file(tmp_path / "own.npz", options={"iterations": 1, "epochs": 1, "batch": 2})
    for each in seeded(job, 2, "g-0123abcd"):
        finish(RunStore(), f"own · seed {each.seed}", each)
    return RunStore(), "g-0123abcd"


def test_an_export_without_out_is_named_by_the_run_here_and_never_overwrites(
    group_of_seeds, tmp_path, monkeypatch
):
    _, group = group_of_seeds
    monkeypatch.chdir(tmp_path)
    for code in (0, 1):
        assert bool(CliRunner().invoke(app, ["export", "run", group]).exit_code) == bool(code)
    assert [path.name for path in tmp_path.glob("*.zip")] == [f"{group}.zip"]


@pytest.mark.parametrize("name", ["seeds.zip", "seeds"])
def test_the_seeds_of_a_group_are_one_file_or_folder_that_comes_back(group_of_seeds, tmp_path, name):
    """`export run g-…` said that there is no such run; the page Runs packed them."""
    store, group = group_of_seeds
    out = tmp_path / name
    CliRunner().invoke(app, ["export", "run", group, "--out", str(out)], catch_exceptions=False)
    scores = {run.config["ttm"]["seed"]: store.scores(run.id, 1) for run in store.list()}
    for run in store.list():
        store.delete(run.id)
    done = CliRunner().invoke(app, ["runs", "import", str(out)], catch_exceptions=False)
    runs = store.list()
    assert sorted(done.stdout.split()) == sorted(run.id for run in runs) and len(runs) == 2
    for run in runs:
        assert np.array_equal(store.scores(run.id, 1), scores[run.config["ttm"]["seed"]])
        assert run.config["group"] == group and adapted_model(store, run.id).is_dir()


def said_of_group(group):
    return CliRunner().invoke(app, ["runs", "seeds", group], catch_exceptions=False).stdout


def test_imported_seeds_on_an_own_file_keep_their_intervals_and_gain_where_that_file_is_not(
    group_of_seeds, tmp_path, monkeypatch
):
    """`66.8 ± 1.0 [62.1, 71.3]` became `66.8 ± 1.0`, and its gain a dash: the truth was looked for in the file, though
    it is the order of the file, which the stored scores are in."""
    store, group = group_of_seeds
    runner = CliRunner()

    def listed(*more):
        shown = runner.invoke(app, ["runs", "list", *more], catch_exceptions=False).stdout
        return re.sub(r"g-[0-9a-f]+|2[0-9]{7}-[0-9]{9}-[0-9a-f]+", "ID", shown)

    before = listed(), sorted(listed("--all").splitlines()), said_of_group(group).splitlines()[2:]
    assert before[0].splitlines()[1].count("[") == 2  # of the result and of the gain
    folder = _export_group(store, group, tmp_path / "seeds")
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path / "other"))
    runner.invoke(app, ["runs", "import", str(folder)], catch_exceptions=False)
    (tmp_path / "own.npz").unlink()
    after = listed(), sorted(listed("--all").splitlines()), said_of_group(group).splitlines()[2:]
    assert after == before
    assert " of ID" not in listed("--all").replace("· one of ID", "")  # `embeddings of g-…` read as a model


def test_a_group_that_is_here_is_not_imported_a_second_time(group_of_seeds, tmp_path):
    """Its seeds joined it: n doubled, seeds 0, 0, 1, 1, no interval and no p."""
    store, group = group_of_seeds
    before, runs = said_of_group(group), sorted(run.id for run in store.list())
    folder = _export_group(store, group, tmp_path / "seeds")
    for source in (folder, *sorted(folder.iterdir())):
        done = CliRunner().invoke(app, ["runs", "import", str(source)], catch_exceptions=False)
        assert set(done.stdout.split()) <= {*runs}
        assert all(f"already here as {run}, nothing imported" in done.stderr for run in done.stdout.split())
    assert sorted(run.id for run in store.list()) == runs and said_of_group(group) == before


def test_seeds_whose_group_has_gone_on_here_are_a_group_of_their_own(group_of_seeds, tmp_path):
    store, group = group_of_seeds
    own = {run.id for run in store.list()}
    folder = _export_group(store, group, tmp_path / "seeds")
    for archive in sorted(folder.iterdir()):  # other scores of the same seeds, as of another machine
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(tmp_path / archive.stem)
        place = next((tmp_path / archive.stem).rglob("run.json")).parent
        edited(place, "steps.jsonl", lambda t: t.replace('"seconds": ', '"seconds": 1'))
        archive.unlink()
        shutil.make_archive(str(folder / archive.stem), "zip", place)
    brought = _import_runs(store, folder)
    assert all(each.is_new for each in brought) and len(brought) == 2
    (new,) = {each.run.config["group"] for each in brought}
    assert new != group and {run.id for run in group_runs(store, group)} == own
    assert [seed_of(run) for run in group_runs(store, new)] == [0, 1]
    each_alone = import_run(store, sorted(folder.iterdir())[0]).config["group"]
    assert each_alone not in (group, new)


def test_seeds_that_were_added_to_a_run_come_back_as_its_group(group_of_seeds, tmp_path):
    """The first of them names no group, so the others were left without it."""
    store, group = group_of_seeds
    first, second = group_runs(store, group)
    for run, own in ((first, None), (second, f"g-{first.id}")):
        with sqlite3.connect(store.root / "runs.db") as database:
            config = json.dumps({**run.config, "group": own})
            database.execute("UPDATE runs SET config = ? WHERE id = ?", [config, run.id])
    folder = _export_group(store, f"g-{first.id}", tmp_path / "seeds")
    store.delete(first.id), store.delete(second.id)
    brought = [each.run for each in _import_runs(store, folder)]
    (together,) = sweeps(store.list())
    assert [run.id for run in together.runs] == [run.id for run in brought]
    assert SeedGroup.of_run(store, brought[0]) == SeedGroup.of_run(store, brought[1]) == together.id


def test_a_run_without_its_model_is_here_once_more_with_it(tmp_path, run):
    store, run_id = run
    there, bare = RunStore(tmp_path / "there"), export_run(store, run_id, tmp_path / "b.zip", model=False)
    whole = export_run(store, run_id, tmp_path / "w.zip")
    assert [_import_runs(there, bare)[0].is_new for _ in range(2)] == [True, False]
    assert [_import_runs(there, whole)[0].is_new for _ in range(2)] == [True, False]
    assert not _import_runs(there, bare)[0].is_new


def test_of_archives_that_were_exported_together_all_come_back_or_none(group_of_seeds, tmp_path):
    store, group = group_of_seeds
    folder = _export_group(store, group, tmp_path / "seeds")
    last = sorted(folder.iterdir())[-1]
    last.write_bytes(last.read_bytes()[:300])
    with pytest.raises(InputError):
        _import_runs(store, folder)
    assert len(store.list()) == 2
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as whole:
        whole.writestr("run.zip", bytes(1 << 20))
    with pytest.raises(InputError, match="holds no run"):
        _import_runs(store, tmp_path / "bomb.zip")


def test_the_models_of_a_group_are_taken_one_by_one_and_it_says_how(group_of_seeds, tmp_path):
    store, group = group_of_seeds
    said = CliRunner().invoke(app, ["runs", "export", group, "--out", str(tmp_path / "m.zip")]).exception
    assert isinstance(said, InputError) and all(f"{run.id} (seed " in str(said) for run in store.list())
    assert f"crossmatch export run {group} --out FILE.zip" in str(said)


def test_seeds_that_were_imported_are_compared_by_the_file_of_those_that_were_not(group_of_seeds, tmp_path):
    """The imported ones know their file by name alone, and `runs compare` looked for that name where it was called."""
    store, group = group_of_seeds
    folder = _export_group(store, group, tmp_path / "seeds")
    brought = [import_run(store, archive) for archive in sorted(folder.iterdir())]
    for run in brought:
        with sqlite3.connect(store.root / "runs.db") as database:
            config = json.dumps({**run.config, "group": "g-00000001"})
            database.execute("UPDATE runs SET config = ? WHERE id = ?", [config, run.id])
    for both in ((group, "g-00000001"), ("g-00000001", group)):
        done = CliRunner().invoke(app, ["runs", "compare", *both], catch_exceptions=False)
        assert "GroupMatch: A and B have the same result in every group" in done.stdout, done.output
    (tmp_path / "own.npz").unlink()
    gone = CliRunner().invoke(app, ["runs", "compare", "g-00000001", group]).exception
    first = group_runs(store, "g-00000001")[0].id
    assert isinstance(gone, InputError)
    assert str(gone) == (
        f"The embeddings of run {first}, own.npz, are not here: a run that was imported knows its file by name alone. "
        "Start this in the folder where that file lies."
    )
    gone = CliRunner().invoke(app, ["runs", "compare", group, "g-00000001"]).exception
    assert str(gone) == (
        f"The embeddings of run {group_runs(store, group)[0].id} are no longer at {tmp_path / 'own.npz'}; put the file "
        "back there."
    )
