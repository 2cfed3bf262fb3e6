"""Where a gain comes from, on the test-time matching page: of a run, and of a ledger with its controls."""

import re
from dataclasses import replace
from urllib.parse import parse_qsl

import numpy as np
import pytest
from adapted import finish
from driving import button, fine, text

from core.runs import engine
from core.runs.store import RunStore
from core.ttm._ledger import PARTS
from core.ttm.run import LedgerRun, TTMRun
from ui.ledger import _beyond, _sums_note, _where_measured, controls_answer, gain_title, points_text

TTM, RUNS = "pages/4_Test-Time_Matching.py", "pages/9_Runs.py"
MAIN = ("metric", "bijections", "training")
SMALL = {"iterations": 1, "epochs": 1}
TITLE = "Where does the gain come from?"
QUESTIONS = ("Beyond luck?", "Beyond controls?", "Costs elsewhere?")


@pytest.fixture
def file(tmp_path):
    path, rng = tmp_path / "mine.npz", np.random.default_rng(0)
    rows = rng.normal(size=(24, 6))
    np.savez(path, img=rows, cap=rows + 0.5 * rng.normal(size=rows.shape))
    return path


def test_a_run_shows_its_parts_and_starts_its_controls_once(app, file, monkeypatch):
    launched = []
    monkeypatch.setattr(
        engine, "launch", lambda store, run_id, *_: launched.append(run_id) or store.get(run_id)
    )
    store = RunStore()
    run = finish(store, "of a file", TTMRun.of_file(file, options=SMALL))
    test = app(TTM, run=run)
    assert TITLE in [h.value for h in test.header]
    assert "drawn at random" in text(test) and "chance 16.7 %" in text(test)
    assert len(test.get("plotly_chart")) > 3
    # The bars' names alone said nothing to who sees them first.
    assert all(f"**{PARTS[name][0]}:** {PARTS[name][1]}" in text(test) for name in PARTS if name in MAIN)
    assert "From GroupScore of the frozen model" in text(test) and "under each control" not in text(test)
    fine(button(test, "Run the controls").click().run())
    (found,) = launched
    assert store.get(found).kind == "ledger"
    assert LedgerRun.read(store.get(found).config).settings == TTMRun.read(store.get(run).config).settings
    again = app(TTM, run=run)
    assert not [b for b in again.button if b.label == "Run the controls"]
    assert button(again, "Open the controls")


def test_a_stopped_run_is_offered_no_controls(app, file):
    """The line below said that the run had not finished; the one above offered to run its controls."""
    store = RunStore()
    whole = store.get(finish(store, "of a file", TTMRun.of_file(file, options=SMALL)))
    answer = controls_answer(store, replace(whole, status="stopped"))
    assert answer.word == "Not measured" and answer.offer is None
    assert answer.said == "the run has not finished, so there is no result to compare."
    assert controls_answer(store, whole).offer is not None


def test_a_ledger_is_gone_through_part_by_part(app, file):
    job = LedgerRun.of_file(file, options=SMALL, controls=["random-matchings", "transfer"])
    run = finish(RunStore(), "controls", job)
    test = app(TTM, run=run)
    assert "a ledger of 4 runs" in text(test) and "below, GroupMatch under each control" in text(test)
    parts = test.get("button_group")[-1]
    assert len(parts.options) == 7
    for name in ("task", "set", "size"):
        fine(test.get("button_group")[-1].set_value(name).run())
    assert "twice as many groups" in text(test)
    fine(test.get("button_group")[-1].set_value("random-matchings").run())
    assert "The run itself has" in text(test) and "matching drawn at random" in text(test)
    assert "Controls of TTM" in str(app(RUNS).dataframe[0].value["kind"].tolist())


def test_an_interval_that_ends_at_the_most_there_can_be_says_so():
    """`GroupMatch against random answers: 50.0 % (interval 47.0–50.0)` stood there unexplained."""
    from ui.ledger import _most_by_chance, shipped_record

    (row,) = (row for row in shipped_record("scenes/left-right~tinted")["rows"] if row["name"] == "metric")
    assert row["after"]["high"] == row["after"]["chance"] == row["after"]["value"] == 50
    said = _most_by_chance(row["after"]).replace("\u00a0", " ")
    assert said.startswith("- 50.0 % is the most there can be") and "one of a group's 2 matchings" in said
    assert _most_by_chance({**row["after"], "value": 45.0, "high": 49.0}) == ""  # with ties it may be lower
    many = {**row["after"], "chance": 100 / 24, "high": 100 / 24}
    assert "24 matchings" in _most_by_chance(many)


def test_an_oracle_has_no_ledger(app, file):
    run = finish(RunStore(), "skyline", TTMRun.of_file(file, oracle=True, options=SMALL))
    assert TITLE not in [h.value for h in app(TTM, run=run).header]


def test_a_public_server_starts_no_controls(app, file, monkeypatch):
    run = finish(RunStore(), "of a file", TTMRun.of_file(file, options=SMALL))
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    test = app(TTM, run=run)
    assert "too many for this server" in text(test)
    assert not [b for b in test.button if b.label == "Run the controls"]


def test_a_box_answers_whether_a_run_is_beyond_luck_and_controls_and_what_it_costs(app, file):
    """All three were said, in six places of four screens."""
    store = RunStore()
    run = finish(store, "of a file", TTMRun.of_file(file, options=SMALL))
    lines = [m.value for m in app(TTM, run=run).markdown if m.value.startswith(QUESTIONS)]
    assert [line.partition("?")[0] for line in lines] == ["Beyond luck", "Beyond controls", "Costs elsewhere"]
    assert "GroupMatch was 100" in lines[0]  # of this file, so that it could not rise
    assert "it takes 8 runs on other labels, about " in lines[1] and "this file alone" in lines[2]
    assert "are measured" not in lines[1]  # those of another set say nothing of a file
    own_set = replace(store.get(run), config={**store.get(run).config, "benchmark": "scenes/left-right"})
    shown = _where_measured(own_set).replace("\\", "")
    name, link = re.search(
        r"Those of \[([^]]+)\]\(Test-Time_Matching\?(\S+)\) are measured\.", shown
    ).groups()
    there = dict(parse_qsl(link))
    assert there["ledger_set"] == f"scenes/{name.replace(', ', '~')}" and name.startswith("left-right")
    form = app(TTM, **there)
    assert form.selectbox(key="ledger_set").value == there["ledger_set"]
    assert "Dashed: GroupMatch of the frozen model" in text(form)
    job = LedgerRun.read({**store.get(run).config, "ledger": store.get(run).config["ttm"], "group": None})
    controls = finish(store, "controls", job)
    test = app(TTM, run=run)
    (line,) = (m.value for m in test.markdown if m.value.startswith("Beyond controls?"))
    assert "of 5 own controls (seed 0), “" in line.replace("\u00a0", " ") and "Not measured" not in line
    fine(button(test, "Open the controls").click().run())
    assert test.session_state["run"] == controls


@pytest.mark.parametrize(
    ("beyond", "word", "closest"),
    [
        ([(8.0, 1.4, 14.5), (20.7, 14.5, 26.5)], "Yes", "+8.0"),
        ([(8.0, 1.4, 14.5), (5.0, -0.1, 9.9)], "Not proven", "+5.0"),  # one that it does not beat is enough
        ([(8.0, 1.4, 14.5), (-5.0, -9.0, -1.0)], "No", "−5.0"),
    ],
)
def test_a_run_is_beyond_controls_where_it_clearly_beats_each_of_them(beyond, word, closest):
    rows = [
        {"name": name, "kind": "control", "label": name,
         "beyond": dict(zip(("difference", "low", "high"), ends, strict=True))}
        for name, ends in zip(("random-matchings", "other-images"), beyond, strict=True)
    ]  # fmt: skip
    found, said = _beyond({"rows": rows})
    assert found == word and said.replace("\u00a0", " ").replace("\u2060", "").startswith(f"{closest} points")
    assert _beyond({"rows": []})[0] == "Not measured"


def test_the_page_of_controls_begins_with_what_the_closest_one_leaves():
    """There was no sentence above the figure."""
    from ui.ledger import _shipped, _verdict

    record = _shipped()[0]
    rows = {row["name"]: row for row in record["rows"]}
    said = _verdict(record).replace("\u00a0", " ").replace("\u2060", "")
    controls = [row for row in rows.values() if row["kind"] == "control"]
    closest = min(controls, key=lambda row: row["beyond"]["low"])
    assert f"“{closest['label']}” gives" in said and f"the closest of {len(controls)} controls" in said
    for row in (rows["training"], closest, closest["beyond"]):
        assert f"{row['difference']:+.1f}".replace("-", "−") in said
    assert said.count("95 % interval") == 3
    assert _verdict({"rows": [rows["training"]]}) == ""


@pytest.mark.parametrize(
    ("by_caption", "said"), [(21.9, "also by caption"), (22.0, "by caption +9.2 to +22.0")]
)
def test_an_interval_that_is_the_same_by_caption_is_printed_once(by_caption, said):
    """“95 % interval +9.2 to +21.9, by caption +9.2 to +21.9” stood in the box."""
    row = {"difference": 15.7, "low": 9.2, "high": 21.9}
    row["clustered"] = {"by": "caption", "low": 9.2, "high": by_caption}
    told = points_text(row).replace("\u00a0", " ").replace("\u2060", "")
    assert told == f"+15.7 points (95 % interval +9.2 to +21.9, {said})"


def test_parts_that_do_not_add_up_as_printed_say_so_and_a_loss_is_no_gain():
    """10.7 + 44.2 + 11.8 + 16.7 stood beside 83.3; a run that lost 7.5 points asked where its gain comes from."""

    def record(metric, bijections, frozen, adapted):
        ends = {"before": {"value": frozen}, "after": {"value": adapted}}
        parts = ("metric", metric), ("bijections", bijections), ("training", adapted - frozen)
        return {"rows": [{"name": name, "difference": value, **ends} for name, value in parts]}

    gained, lost = record(44.1667, 11.8333, 66.6667, 83.3333), record(40.0, 10.0, 60.0, 52.5)
    assert "do not add up" in _sums_note(gained) and _sums_note(lost) == ""
    # 10.7 + 44.2 + 11.8 + 8.3 is 75.0, as printed.
    assert _sums_note(record(44.1667, 11.8333, 66.6667, 75.0)) == ""
    assert gain_title(gained) == TITLE and "gain" not in gain_title(lost)
