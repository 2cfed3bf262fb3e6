"""The finished run that ships with Crossmatch."""

import re

import numpy as np
import pandas as pd
import pytest
from driving import button, fine, text
from typer.testing import CliRunner

from core.base.errors import InputError
from core.base.paths import assets
from core.cli import app as command
from core.cola.forgetting import cached_table, unadapted_sets
from core.datasets import load
from core.exchange.example import ARCHIVE, EXAMPLE, _shipped_with, example_run
from core.exchange.run_pairs import _ends_now, _Pair
from core.exchange.run_report import _report_of_runs
from core.exchange.runs import import_run
from core.metrics.evaluation import Evaluation
from core.papers import table_plan
from core.runs.engine import runs_that_count
from core.runs.store import EXAMPLE_ID, RunStore
from core.scoring.cache import ScoreCache
from core.scoring.load import load_scorer
from core.scoring.scores import score_groups
from core.ttm.run import adaptation
from core.ttm.seeds import SeedGroup
from core.ttm.time_left import expected_seconds
from ui.ttm_shifts import _iterations, measured_before

TTM, RUNS = "pages/4_Test-Time_Matching.py", "pages/9_Runs.py"


def test_it_is_finished_complete_and_small(tmp_path):
    assert ARCHIVE.stat().st_size < 3_000_000
    store = RunStore(tmp_path)
    run = example_run(store)
    assert (run.id, run.status, run.done, run.owner) == (EXAMPLE_ID, "finished", run.total, None)
    steps, truth = store.steps(run.id), adaptation(run.config).load_groups().truth
    assert len(steps) == run.total + 1
    for step in (steps[0], steps[-1]):  # the scores beside the records are theirs
        measured = Evaluation.of(store.scores(run.id, step["iteration"]), truth).metrics
        assert {*measured} == {*step["metrics"]}
        for name, estimate in measured.items():  # four decimals, when the run was made
            stored = step["metrics"][name]
            told = {key: estimate.record()[key] for key in ("value", "low", "high", "chance")}
            assert told == pytest.approx({key: stored[key] for key in told}, abs=5e-5)
            assert estimate.record()["ties"] == stored["ties"]
    assert (store.folder(run.id) / "model" / "model.safetensors").is_file()
    assert example_run(store).id == run.id and {each.kind for each in store.list()} == {"ttm", "ledger"}
    assert runs_that_count(store.list(), lambda run: run.kind) == {}  # it is nobody's result
    settings = adaptation(run.config)
    assert expected_seconds(store, settings, 300)[1] == "a rough estimate"  # nor this machine's pace
    assert not any(status.runs for status in table_plan(store, "world", seeds=1).lines)
    store.delete(run.id)  # whoever deletes it has it again when a link asks for it
    assert example_run(store).status == "finished"


def test_its_controls_and_its_costs_ship_and_are_of_this_run(tmp_path):
    store = RunStore(tmp_path)
    run = example_run(store)
    (controls,) = _shipped_with(store, run)
    assert controls.is_example and (controls.status, controls.done) == ("finished", controls.total)
    # Their last part is the run once more.
    np.testing.assert_allclose(
        store.scores(controls.id, controls.done), store.scores(run.id, run.done), atol=1e-3
    )
    table = cached_table(store.folder(run.id)).set_index(["set", "metric"])
    assert {name for name, _ in table.index} == set(unadapted_sets("scenes/left-right"))
    # What it costs is measured with the model that ships: by this machine's own scores on one of the sets.
    groups = load("scenes/triples")
    model = load_scorer(str(store.folder(run.id) / "model"))
    after = Evaluation.of(score_groups(model, groups.blind(), ScoreCache()), groups.truth).metrics[
        "group_match"
    ]
    assert table.loc[("scenes/triples", "group_match"), "after"] == pytest.approx(after.value, abs=0.4)
    store.delete(controls.id)
    assert _shipped_with(store, run) == []
    assert _shipped_with(store, example_run(store))


@pytest.mark.parametrize("public", [False, True])
def test_its_page_opens_with_three_answers_that_are_measured(app, monkeypatch, public):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1" if public else "0")
    said = text(app(TTM, run=EXAMPLE)).replace("\u00a0", " ")
    assert re.search(
        r"\*\*GroupMatch 66\.7 → 83\.3 %\*\* \(chance 50\.0 %, no ties\), \+16\.7 points \(95 % interval",
        said,
    )
    assert re.search(r"Beyond luck\? \*\*Yes:\*\* corrected p < 0\.001\.", said)
    assert re.search(r"Costs elsewhere\? .*\[See all of them\]\(#what-adaptation-costs\)", said)
    assert re.search(
        r"Beyond controls\? \*\*Yes:\*\* \+\d+\.\d points .+ closest of 5 shipped controls \(seed 0\), “No right",
        said,
    )
    assert re.search(r"Costs elsewhere\? \*\*Yes:\*\* clearly worse on \d+ of 11 other sets", said)
    assert "Not measured" not in said
    test = fine(button(app(TTM, run=EXAMPLE), "Open the controls").click().run())
    assert "Which part of it is knowledge?" in text(test)
    test = fine(button(test, "Back to the run").click().run())
    assert "Beyond luck?" in text(test)


@pytest.mark.parametrize("public", [False, True])
def test_a_run_of_ones_own_like_it_has_its_controls(app, monkeypatch, public):
    """“Beyond controls? Not measured: it takes 8 runs”, of the same set, model, settings and seed."""
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1" if public else "0")
    store = RunStore()
    own = import_run(store, ARCHIVE)
    assert own.id != EXAMPLE_ID
    test = app(TTM, run=own.id)
    (line,) = (
        m.value.replace("\u00a0", " ") for m in test.markdown if m.value.startswith("Beyond controls?")
    )
    assert re.search(
        r"\*\*Yes:\*\* \+\d+\.\d points .+ closest of 5 shipped controls \(seed 0\), “No right caption”", line
    )
    assert "these are the example's controls" in line
    assert [run.id for run in store.list()] == [own.id]  # only who opens them has them in the list
    test = fine(button(test, "Open the controls").click().run())
    assert "Which part of it is knowledge?" in text(test)


def test_a_link_and_a_button_open_it(app, monkeypatch):
    given = []
    monkeypatch.setattr("ui.ttm_run.export_section", lambda *args, **more: given.append(more))
    test = app(TTM, run=EXAMPLE)
    # One expectation, that of measured runs of the set, and judged.
    assert "this one is inside of that" in text(test) and "Forecast from the scores" not in text(test)
    report = given[-1]["report"]().decode()
    assert (
        "before" in report and "Differences" in report and given[-1]["command"].startswith("crossmatch ttm")
    )
    assert "finished" in text(test) and "What changed" in text(test)
    assert test.query_params["run"] in (EXAMPLE_ID, [EXAMPLE_ID])
    test = app(TTM)
    assert not RunStore().list("simplematch")
    fine(button(test, "See a finished run, left-right").click().run())
    assert RunStore().get(EXAMPLE_ID).config["benchmark"] == "scenes/left-right"  # the button says so
    assert "What changed" in text(test)


def test_the_form_shows_its_curves_while_there_is_no_run_of_one_s_own(app):
    of = {"set": "scenes/left-right", "split": "validation"}  # nothing is measured of this split
    assert (
        "An example of a finished run" in text(app(TTM, **of)) and not RunStore().list()
    )  # in nobody's list
    steps = RunStore().steps(example_run(RunStore()).id)
    before, after = (step["metrics"]["group_match"]["value"] for step in (steps[0], steps[-1]))
    said = text(app(TTM, **of))  # also beside the example itself, once somebody has opened it
    assert f"GroupMatch before: {before:.1f} %" in said and f"After: {after:.1f} %" in said


def test_the_form_shows_what_was_measured_on_the_selected_set(app):
    """The shipped tables, read by themselves: of a set as it is, and of a shifted one."""
    study, signals = (
        pd.read_csv(assets() / "results" / f"ttm_{name}.csv") for name in ("ablations", "signals")
    )
    plain = study[(study.kind == "ttm") & (study.setting == "preset") & (study.part == "all")]
    for rows, of, name in (
        (plain[plain.benchmark == "scenes/attribute-swap"], plain, "scenes/attribute-swap"),
        (signals[(signals.benchmark == "scenes/left-right") & (signals["shift"] == "tinted")], signals,
         "scenes/left-right~tinted"),
    ):  # fmt: skip
        assert len(of) > len(rows)
        own = rows[rows.model == "builtin/clip"]
        last = own[own.iteration == 10].group_match
        gains = last.to_numpy() - own[own.iteration == 0].group_match.to_numpy()
        said = text(app(TTM, set=name)).replace("−", "-")
        assert f"{len(last)} measured runs of this set and model" in said and "An example" not in said
        assert f"After: {last.mean():.1f} ± {last.std():.1f} %, **{gains.mean():+.1f} points**." in said
        assert "this model on this set changed" not in said  # the forecast does not say it again


def test_every_measured_run_begins_where_the_shipped_scores_are():
    steps = _iterations()
    first = steps[steps.iteration == 0].groupby(["model", "set"])["group_match"].first()
    assert len(first) > 100
    for (model, name), value in first.items():
        before, groups = measured_before(model, name)
        assert before.value == pytest.approx(value, abs=0.01), (model, name)
        assert (groups, before.ties) == (300, 0) and before.low < before.value < before.high


@pytest.mark.parametrize("changed", [{"n": "60"}, {"T": "2"}])
def test_what_was_measured_stays_what_it_was_where_the_run_is_another(app, changed):
    """With 60 groups “before” was of those, “after” and the gain of all 300: gains had become no clear change."""
    line = re.compile(
        r"\*\*GroupMatch gains.*? points\*\*.*?Another run from the start likely gains [^\n]*", re.DOTALL
    )
    (whole,) = line.findall(text(app(TTM, set="scenes/left-right")))
    test = app(TTM, set="scenes/left-right", **changed)
    assert line.findall(text(test)) == [whole]
    assert "with all 300 groups" in text(test)


def test_what_was_measured_is_of_all_groups_and_of_this_method_alone(app):
    assert "measured runs" not in text(app(TTM, set="scenes/attribute-swap", tag="objects: 4"))
    simple = app(TTM, set="scenes/attribute-swap", method="SimpleMatch")
    assert simple.segmented_control(key="method").value == "SimpleMatch" and "measured runs" not in text(
        simple
    )


def form_after(test, label):
    """The form that a button above a run opens: its set, model and split."""
    fine(button(test, label).click().run())
    return [test.selectbox(key=key).value for key in ("set", "model", "split")]


def test_a_run_is_run_again_on_its_own_set_and_a_new_run_takes_the_selection(app):
    """“New run” took the set of the run on screen, but neither its method nor its number of groups."""
    test = app(TTM, run=EXAMPLE)
    fine(test.switch_page("pages/6_Compare.py").run())
    assert test.selectbox(key="set").value == "scenes/attribute-swap"
    fine(test.switch_page(TTM).run())
    assert "What changed" in text(test)
    assert form_after(test, "Reuse settings") == ["scenes/left-right", "builtin/clip", "test"]
    assert test.query_params["set"] in ("scenes/left-right", ["scenes/left-right"])
    assert "Settings of Example: scenes/left-right · builtin/clip, with seed 0." in text(test).replace(
        "\\", ""
    )
    fine(test.selectbox(key="set").set_value("scenes/size-swap").run())  # and it can be changed
    assert test.selectbox(key="set").value == "scenes/size-swap" and "Begun with the settings of" in text(
        test
    )
    fine(test.selectbox(key="shown").set_value(EXAMPLE_ID).run())
    assert form_after(test, "New run")[0] == "scenes/size-swap" and "ettings of Example" not in text(test)


def test_the_list_of_runs_opens_the_form_of_a_first_visit(app):
    test = app(TTM, run=EXAMPLE)
    fine(test.selectbox(key="shown").set_value("new").run())
    assert test.selectbox(key="set").value == "scenes/left-right"


def test_the_address_of_a_run_names_no_other_set(app):
    """`benchmark=scenes/attribute-swap` stood before the left-right run."""
    test = app(TTM, set="scenes/attribute-swap", model="builtin/siglip")
    fine(button(test, "See a finished run, left-right").click().run())
    assert {*test.query_params} == {"run"}
    test = app(TTM, set="scenes/swap", model="builtin/siglip", tag="objects: 2", run=EXAMPLE)
    assert {*test.query_params} == {"run"}
    fine(test.switch_page("pages/6_Compare.py").run())  # elsewhere it is still selected
    assert [test.selectbox(key=key).value for key in ("set", "model")] == [
        "scenes/swap",
        "builtin/siglip",
    ]


def test_the_controls_are_never_compared_as_one_result(app):
    """They are 8 trainings of 10 iterations, the last of them the run once more: “the same result in every group”,
    it said, and their list's row had the run's own gain and one curve of 80 iterations."""
    store = RunStore()
    run = example_run(store)
    (controls,) = _shipped_with(store, run)
    test = fine(app(RUNS, runs=f"{run.id},{controls.id}"))
    said = text(test)
    assert "Controls of TTM: 8 trainings of 10 iterations each" in said
    assert "they stand beside a TTM run, not against it" in said
    assert "same result" not in said and "B − A" not in said and not test.get("plotly_chart")
    row = test.dataframe[0].value.set_index("kind").loc["Controls of TTM, the example that ships"]
    assert (row["gain"], row["result"], list(row["curve"])) == ("–", "–", [])
    button(test, "Open the controls").click()
    assert fine(test.run()).session_state["run"] == controls.id
    both = [SeedGroup(each.id, [each]) for each in (run, controls)]
    with pytest.raises(InputError, match=r"8 trainings of 10 iterations.*beside a TTM run"):
        _report_of_runs(both, store)
    pair = _Pair.of(*both, store, lambda of: _ends_now(of, store))
    assert not pair.measured and not pair.tested
    result = CliRunner().invoke(command, ["runs", "compare", run.id, controls.id])
    assert result.exit_code and "beside a TTM run" in str(result.exception or result.output)
    listed = CliRunner().invoke(command, ["runs", "list"]).output
    assert next(line for line in listed.splitlines() if line.startswith(controls.id)).endswith("–")
