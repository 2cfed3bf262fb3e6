"""The finished run that ships with Crossmatch."""

from driving import button, fine, text

from core.exchange.example import ARCHIVE, EXAMPLE, example_run
from core.metrics.evaluation import Evaluation
from core.papers import table_plan
from core.runs.engine import runs_that_count
from core.runs.store import EXAMPLE_ID, RunStore
from core.ttm.run import adaptation
from core.ttm.time_left import expected_seconds

TTM = "pages/4_Test-Time_Matching.py"


def test_it_is_finished_complete_and_small(tmp_path):
    assert ARCHIVE.stat().st_size < 3_000_000
    store = RunStore(tmp_path)
    run = example_run(store)
    assert (run.id, run.status, run.done, run.owner) == (EXAMPLE_ID, "finished", run.total, None)
    steps, truth = store.steps(run.id), adaptation(run.config).load_groups().truth
    assert len(steps) == run.total + 1
    for step in (steps[0], steps[-1]):  # the scores beside the records are theirs
        measured = Evaluation.of(store.scores(run.id, step["iteration"]), truth).metrics
        assert {name: estimate.record() for name, estimate in measured.items()} == step["metrics"]
    assert (store.folder(run.id) / "model" / "model.safetensors").is_file()
    assert example_run(store).id == run.id and len(store.list()) == 1
    assert runs_that_count(store.list(), lambda run: run.kind) == {}  # it is nobody's result
    settings = adaptation(run.config)
    assert expected_seconds(store, settings, 300)[1] == "a rough estimate"  # nor this machine's pace
    assert not any(status.runs for status in table_plan(store, "world", seeds=1).lines)
    store.delete(run.id)  # whoever deletes it has it again when a link asks for it
    assert example_run(store).status == "finished"


def test_a_link_and_a_button_open_it(app, monkeypatch):
    given = []
    monkeypatch.setattr("ui.ttm_run.export_section", lambda *args, **more: given.append(more))
    test = app(TTM, run=EXAMPLE)
    assert any(
        "Forecast from the scores" in each.value and "changed by" in each.value for each in test.caption
    )
    report = given[-1]["report"]().decode()
    assert (
        "before" in report and "Differences" in report and given[-1]["command"].startswith("crossmatch ttm")
    )
    assert "finished" in text(test) and "What changed" in text(test)
    assert test.query_params["run"] in (EXAMPLE_ID, [EXAMPLE_ID])
    test = app(TTM)
    assert not RunStore().list("simplematch")
    fine(button(test, "See a finished run").click().run())
    assert "What changed" in text(test)


def test_the_form_shows_its_curves_while_there_is_no_run_of_one_s_own(app):
    assert "An example of a finished run" in text(app(TTM)) and not RunStore().list()  # in nobody's list
    steps = RunStore().steps(example_run(RunStore()).id)
    before, after = (step["metrics"]["group_match"]["value"] for step in (steps[0], steps[-1]))
    said = text(app(TTM))  # also beside the example itself, once somebody has opened it
    assert f"GroupMatch before: {before:.1f} %" in said and f"After: {after:.1f} %" in said
