"""What an older Crossmatch wrote still opens: runs, a stopped one that goes on, exported files, a user's set, links.

`samples/old` was written by the code of commit 93dfe1a, before modules, functions, columns and pages were renamed:
`home.zip` is its home folder (`{HOME}` stands for where it lay), `exported` what `crossmatch export` and `report`
made of it, and `written.json` what that code said: the last record of every run, how the stopped one ended there, and
what its pages showed for the addresses that they had written into a browser.
"""

import ast
import json
import shutil
import sqlite3
import zipfile
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np
import pandas as pd
import pytest
from driving import ROOT, fine, whole_app
from written import read_report, read_written

from core import datasets, worker
from core.base.table_formats import write_table
from core.datasets.score_files import read_scores
from core.exchange.groups import _groups_frame
from core.exchange.importing import stage_import
from core.exchange.runs import import_run
from core.papers.table_html import WORLD, table_choices
from core.runs.attempt import RunAttempt
from core.runs.models import adapted_model
from core.runs.store import RunStore
from core.scoring.load import load_scorer
from core.sweeps._plan import read_plan
from core.sweeps.cells import states
from core.ttm.config import SimpleMatchConfig, TTMConfig
from ui.lessons import LESSONS
from ui.old_links import _PARAMETERS, RENAMED
from ui.shipped_results import OF_TABLE
from ui.ttm_preset import values_of

OLD = Path(__file__).parent / "samples" / "old"
EXPORTED = OLD / "exported"
WRITTEN = json.loads((OLD / "written.json").read_text("utf-8"))
IDS, ENDS = WRITTEN["ids"], WRITTEN["ends"]
STUDY = """
kind: ttm
models: [builtin/clip]
benchmarks: [mine/pairs]
groups: 4
settings: {iterations: 1, epochs: 1}
"""


def unpack_home(place: Path) -> None:
    """The old home, its paths as if it had always lain here."""
    with zipfile.ZipFile(OLD / "home.zip") as archive:
        archive.extractall(place)
    for file in place.glob("runs/*/config.json"):
        file.write_text(file.read_text().replace("{HOME}", str(place)))
    with sqlite3.connect(place / "runs" / "runs.db") as database:
        database.execute("UPDATE runs SET config = replace(config, '{HOME}', ?)", [str(place)])
    database.close()


@pytest.fixture
def old_home(tmp_path, monkeypatch):
    home = tmp_path / "old"
    unpack_home(home)
    monkeypatch.setenv("CROSSMATCH_HOME", str(home))
    return home


def one(name):
    """The id of a run, of several seeds the first."""
    return IDS[name] if isinstance(IDS[name], str) else IDS[name][0]


def values(metrics):
    """What was measured, without the words."""
    return {(name, field): found[field] for name, found in metrics.items() for field in ("value", "ties")}


# --- runs


@pytest.mark.parametrize("name", ENDS)
def test_a_stored_run_tells_what_it_told(old_home, name):
    store, end = RunStore(), ENDS[name]
    step = store.steps(one(name))[-1]
    assert {key: step[key] for key in end} == end
    assert store.get(one(name)).status == ("stopped" if name == "stopped" else "finished")
    if name != "cola":
        n = 8 if name == "embeddings" else 4 if name == "builtin" else 12
        assert store.scores(one(name), step["iteration"]).shape == (n, 2, 2)


def test_a_stopped_run_goes_on_and_ends_as_it_did(old_home):
    store, expected = RunStore(), WRITTEN["resumed"]
    run = store.get(IDS["stopped"])
    attempt = store.queue_up(run.id)
    assert worker.work(RunAttempt(store, run.id, attempt)) == ("finished", None)
    end = store.steps(run.id)[-1]
    assert [step["iteration"] for step in store.steps(run.id)] == [0, 1, 2, 3]
    assert end["coverage"] == expected["coverage"] and values(end["metrics"]) == pytest.approx(
        values(expected["metrics"]), abs=5e-5
    )  # of four decimals then
    assert end["threshold"] == pytest.approx(expected["threshold"], rel=1e-4)
    assert end["loss"] == pytest.approx(expected["loss"], rel=1e-4)


def test_a_sweep_finds_its_finished_cell(old_home, tmp_path):
    file = tmp_path / "study.yaml"
    file.write_text(STUDY)
    (state,) = states(RunStore(), read_plan(file))
    assert state.status == "finished" and state.run.id == IDS["builtin"]


def test_an_adapted_model_scores_as_it_did(old_home):
    groups = datasets.load("mine/pairs")
    last = RunStore().scores(IDS["ttm"], 3)
    scorer = load_scorer(f"run/{IDS['ttm']}")
    pairs = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    for group, expected in zip(groups, last, strict=True):
        found = scorer.score(group.images, group.captions, pairs).reshape(2, 2)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert adapted_model(RunStore(), IDS["ttm"]).is_dir()


@pytest.mark.parametrize(("file", "name"), [("run.zip", "ttm"), ("run-cola.zip", "cola")])
def test_an_exported_run_is_imported_with_the_same_numbers(file, name):
    run = import_run(RunStore(), EXPORTED / file)
    step = RunStore().steps(run.id)[-1]
    assert {key: step[key] for key in ENDS[name]} == ENDS[name]


def test_an_exported_model_is_a_scorer(tmp_path, old_home):
    with zipfile.ZipFile(EXPORTED / "model.zip") as archive:
        archive.extractall(tmp_path)
    assert load_scorer(str(tmp_path / "model")).key == load_scorer(f"run/{IDS['ttm']}").key


# --- a user's set, exported groups


def test_a_users_set_loads_with_its_facts(old_home):
    groups = datasets.load("mine/pairs")
    assert (groups.title, groups.licence, groups.citation) == ("Swapped colours", "CC0", "us")
    assert len(groups) == 12 and groups.shape == (2, 2) and groups.groups[1].truth == (1, 0)
    assert groups.groups[0].images[0].open().size == (48, 40)


def as_hub_folder(place):
    (place / "data").mkdir(parents=True)
    (place / "data" / "test-00000-of-00001.parquet").write_bytes((EXPORTED / "groups.parquet").read_bytes())
    return place


@pytest.mark.parametrize("layout", ["zip", "parquet", "hub folder"])
def test_exported_groups_are_added_again(old_home, tmp_path, layout):
    source = as_hub_folder(tmp_path / "hub") if layout == "hub folder" else EXPORTED / f"groups.{layout}"
    (name,) = stage_import(source).add_benchmark("again")
    first, again = datasets.load("mine/pairs"), datasets.load(name)
    assert [g.id for g in again] == [g.id for g in first] and again.truth.tolist() == first.truth.tolist()
    assert [g.captions for g in again] == [g.captions for g in first]
    assert [[i.key for i in g.images] for g in again] == [[i.key for i in g.images] for g in first]
    assert [g.tags for g in again] == [g.tags for g in first]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "npz"])
def test_exported_tables_of_groups_read_as_they_would_be_written(old_home, tmp_path, ending):
    now = _groups_frame(datasets.load("mine/pairs"))
    old = EXPORTED / f"groups.{ending}"
    pd.testing.assert_frame_equal(read_written(old, now), now, check_dtype=False)
    write_table(tmp_path / old.name, now)
    assert ending == "npz" or (tmp_path / old.name).read_bytes() == old.read_bytes()


# --- scores and tables


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "npz"])
def test_exported_scores_are_those_of_the_run(old_home, ending):
    found = read_scores(EXPORTED / f"scores.{ending}")
    np.testing.assert_allclose(found.scores, RunStore().scores(IDS["ttm"], 0), rtol=1e-6)  # batched otherwise
    groups = datasets.load("mine/pairs")
    assert found.ids == list(groups.ids) and found.truth.tolist() == groups.truth.tolist()
    assert found.tags.to_dict("records") == [g.tags for g in groups]


@pytest.mark.parametrize("what", ["matchings", "metrics", "curves-ttm"])
def test_a_table_is_the_same_in_every_format(what):
    first = read_written(EXPORTED / f"{what}.parquet").drop(
        columns="note", errors="ignore"
    )  # empty texts alone
    others = [
        read_written(EXPORTED / f"{what}.{ending}", first)[list(first)] for ending in ("csv", "jsonl", "npz")
    ]
    for other in others:
        pd.testing.assert_frame_equal(first, other, check_dtype=False)
    if what == "matchings":
        assert list(first["matching"][:2]) != ["", ""] and first["group_match"].isin([0, 1]).all()
    if what == "curves-ttm":
        end = ENDS["ttm"]["metrics"]["group_match"]
        assert first["group_match"].iloc[-1] == end["value"] and first["iteration"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["simplematch", "transfer", "global"])
def test_curves_of_other_runs_read(name):
    table = read_written(EXPORTED / f"curves-{name}.csv")
    assert table["coverage"].iloc[-1] == pytest.approx(ENDS[name]["coverage"])


def test_a_report_still_tells_its_numbers(old_home):
    (record,) = read_report(EXPORTED / "report.html")
    assert (record["benchmark"], record["n_groups"], record["shape"]) == ("mine/pairs", 12, "2x2")
    first = RunStore().steps(IDS["ttm"])[0]["metrics"]["group_match"]["value"]
    assert record["metrics"]["group_match"]["value"] == first


# --- links


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted({link["page"] for link in WRITTEN["links"]}))
def test_a_link_gives_the_same_selection(scored_home, old_home, page):
    """Each link in a session of its own, as when it is opened from a mail."""
    shutil.copytree(scored_home, old_home, dirs_exist_ok=True)
    for link in (link for link in WRITTEN["links"] if link["page"] == page):
        test = whole_app()
        for name, given in parse_qs(link["query"]).items():
            test.query_params[name] = given if len(given) > 1 else given[0]
        test.switch_page(str(ROOT / "pages" / f"{page}.py"))
        fine(test.run())
        expected = {
            key: RENAMED.get(key, {}).get(value, value) if isinstance(value, str) else value
            for key, value in link["state"].items()
        }
        if (
            expected.get("source") == "embeddings file"
        ):  # then a field; now an uploaded file is what is selected
            expected = {key: value for key, value in expected.items() if key not in ("source", "scale")}
        now = {key: test.session_state[key] for key in expected if key in test.session_state}
        if "lesson" in expected:  # no field holds it: it is in the address alone, and its lesson is open
            now["lesson"] = next(name for name in LESSONS if LESSONS[name].title in test.title[0].value)
        if (
            "world" in expected and "world" not in now
        ):  # the only figure of the table that is open has no field
            chosen = table_choices(WORLD)[test.session_state["table"]]
            (now["world"],) = OF_TABLE[chosen.key]
        assert now == expected, link["query"]


# --- what an address may say


MARGINS = "margin"  # of Groups, set by a click on Matching


LINKS = (
    *("page_button", "switch_page", "offer_nearest", "ui.page_button", "ui.switch_page", "ui.offer_nearest"),
    "elements.link_to_page",
)


def fields_in_addresses():
    """The literal names under which pages bind fields to the address, read it, or open each other."""
    named = set()
    for file in [ROOT / "app.py", *(ROOT / "pages").glob("*.py"), *(ROOT / "ui").rglob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                said = {each.arg: each.value for each in node.keywords}
                called = ast.unparse(node.func)
                # None: `**bind`, options that several fields share
                is_field = not called.endswith("container")  # a container has a key for its style alone
                if (is_field and {"bind", None} & {*said}) or called in (
                    "ui.number",
                    "number",
                    "ui.pick_model",
                    "ui.model_field",
                ):
                    named |= {key.value for key in [said.get("key")] if isinstance(key, ast.Constant)}
                if called in LINKS:  # with the values that it opens a page with
                    given = (key for d in ast.walk(node) if isinstance(d, ast.Dict) for key in d.keys)
                    named |= {key.value for key in given if isinstance(key, ast.Constant)}
                if called in (
                    "ui.seed",
                    "seed",
                    *(f"st.query_params.{how}" for how in ("get", "get_all", "pop")),
                ):
                    named |= {a.value for a in node.args[:1] if isinstance(a, ast.Constant)}
            if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "st.query_params":
                named |= {node.slice.value} if isinstance(node.slice, ast.Constant) else set()
    return named


def test_every_parameter_that_a_page_or_an_old_link_has_is_known():
    of_forms = {*values_of(TTMConfig()), *values_of(SimpleMatchConfig())}
    of_links = {name for link in WRITTEN["links"] for name in parse_qs(link["query"])}
    asked = fields_in_addresses() | of_forms | of_links | {MARGINS}
    assert {"set", "tau", "T", "lesson", "runs"} <= asked
    assert not asked - _PARAMETERS


def test_an_unknown_parameter_is_named_in_one_sentence_and_leaves_the_address(app):
    test = app("pages/7_Papers.py", foo="1", table="Table 2", utm_source="mail", __theme="dark")
    (warning,) = test.warning
    assert warning.value.replace("\\", "") == "The address had “foo”, which no page knows; it is left out."
    assert "foo" not in test.query_params and test.selectbox(key="table").value == "Table 2"
    assert {"utm_source", "__theme"} <= {*test.query_params}
    assert not fine(test.run()).warning
