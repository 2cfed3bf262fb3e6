"""What an adaptation costs, by test-time matching or by a strategy: measured against the right base, and kept."""

import time
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from adapted import finish

from core import figures
from core.base import processes
from core.base.errors import InputError
from core.base.paths import assets
from core.cola import cost_process, forgetting
from core.figures.text import escape_markdown
from core.runs import models
from core.runs.cost_file import _COST_COLUMNS
from core.runs.store import RunStore
from core.ttm.run import TTMRun
from ui import forgetting as costs

CLIP = "builtin/clip"


def test_cost_compares_the_kind_of_score_that_was_adapted(tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path / "home"))
    store = RunStore()
    for name, prefix in (("itc:builtin/blip-itm", "itc:"), ("builtin/blip-itm", ""), ("builtin/clip", "")):
        run = store.create("ttm", "t", TTMRun.of("scenes/swap", name, options={"iterations": 1}).written())
        monkeypatch.setattr("core.cola.run.adapted_model", lambda store, run_id: tmp_path / run_id)
        found = forgetting._origin(f"run/{run.id}")
        assert found == (f"{prefix}{tmp_path / run.id}", name, "scenes/swap")
        assert models.of_same_kind(f"run/{run.id}", run.config["model"]) == f"{prefix}run/{run.id}"


def test_what_an_adaptation_of_either_kind_costs_is_kept_in_its_run(tmp_path, monkeypatch):
    """Test-time matching and strategies alike: before is the base's score, after the run's model's."""
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("core.cola.forgetting.unadapted_sets", lambda benchmark: ["scenes/swap"])
    store = RunStore()
    job = TTMRun.of(
        "scenes/left-right", CLIP, groups=12, device="cpu", options={"iterations": 1, "epochs": 1}
    )
    run = store.get(finish(store, "t", job))
    assert forgetting.cached_table(store.folder(run.id)) is None
    shares: list[float] = []
    table = forgetting.run_table(run.id, progress=shares.append, device="cpu")
    assert shares == sorted(shares) and shares[-1] == 1.0
    pd.testing.assert_frame_equal(forgetting.cached_table(store.folder(run.id)), table)
    shipped = pd.read_csv(assets() / "results" / "builtin.csv")
    own = shipped[(shipped.model == CLIP) & (shipped.benchmark == "scenes/swap") & (shipped.part == "all")]
    before = dict(zip(own.metric, own.value, strict=True))
    assert len(table)
    for row in table.itertuples():
        assert row.before == pytest.approx(before[row.metric], abs=1e-3)
        assert row.after - row.before == pytest.approx(row.difference)
        assert (row.fixed - row.broken) * 100 / row.groups == pytest.approx(row.difference)


def test_a_measurement_goes_on_by_itself_starts_once_and_is_stopped(tmp_path, monkeypatch):
    """It was computed inside the page, and ended when that was left."""
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path))
    store = RunStore()
    job = TTMRun.of("scenes/left-right", CLIP, groups=8, device="cpu", options={"iterations": 1, "epochs": 1})
    run = finish(store, "t", job)
    started, start = [], processes.start_module
    monkeypatch.setattr(
        processes, "start_module", lambda *words: started.append(start(*words)) or started[-1]
    )
    assert cost_process._cost_work(store, run) is None
    for _ in range(2):
        cost_process._start_cost(store, run)
    assert len(started) == 1 and started[0].is_alive()
    assert costs.cost_answer(store, store.get(run)).word == "Measuring now"
    deadline = time.monotonic() + 150
    while (work := cost_process._cost_work(store, run)).share == 0 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert 0 < work.share < 1 and not work.error
    cost_process._stop_cost(store, run)
    assert cost_process._cost_work(store, run) is None and not started[0].is_alive()
    assert costs.cost_answer(store, store.get(run)).word == "Not measured"


def test_a_measurement_that_ends_without_a_table_says_why_and_can_be_tried_again(tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path))
    store = RunStore()
    run = store.create("ttm", "t", TTMRun.of("scenes/swap", CLIP, options={"iterations": 1}).written())
    cost_process._main([run.id])  # it has no model yet
    finished = replace(run, status="finished")
    why = cost_process._cost_work(store, run.id).error
    answer = costs.cost_answer(store, finished)
    assert (
        why and answer.word == "Not measured" and answer.said.endswith(f"Last time: {escape_markdown(why)}")
    )
    dead = processes.ProcessIdentity(2**22 + 1, 0.0, processes._boot_id())
    monkeypatch.setattr(processes, "start_module", lambda *words: dead)
    cost_process._start_cost(store, run.id)
    assert cost_process._cost_work(store, run.id).error == "the measurement was interrupted."
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    with pytest.raises(InputError, match="not measured on this server"):
        cost_process._start_cost(store, run.id)


def test_the_cost_figure_marks_what_is_settled_and_falls_back_on_textscore_for_single_images():
    from core.figures import cost_data, cost_figure

    row = {"shape": "2x2", "metric": "group_match"}
    rows = pd.DataFrame(
        [
            {**row, "set": "a", "difference": -5.0, "low": -9.0, "high": -1.0},
            {**row, "set": "a", "metric": "text_score", "difference": 7.0, "low": 6.0, "high": 8.0},
            {"set": "b", "shape": "1x4", "metric": "text_score", "difference": 1.0, "low": -2.0, "high": 4.0},
        ]
    )
    data = cost_data(rows, "group_match")
    assert data.sets == ["a", "b"] and data.difference.tolist() == [[-5.0, 1.0]]
    trace = cost_figure(data).data[0]
    assert list(trace.marker.symbol) == ["circle", "circle-open"] and list(trace.x) == [-5.0, 1.0]
    two = cost_data(
        pd.concat([rows.assign(strategy="x"), rows.assign(strategy="y")]), "text_score", "strategy"
    )
    assert two.models == ["x", "y"] and two.difference.tolist() == [[7.0, 1.0]] * 2


def test_a_run_s_model_goes_by_its_name_wherever_a_model_is_named(tmp_path, monkeypatch):
    import shutil

    from core.scorers.hub import builtin_models
    from core.scoring.load import scorer_key, scorer_kind

    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path / "home"))
    store = RunStore()
    run = store.create("ttm", "t", TTMRun.of("scenes/swap", "itc:builtin/blip-itm").written())
    shutil.copytree(builtin_models()["builtin/blip-itm"], store.folder(run.id) / "model")
    name = models.of_same_kind(f"run/{run.id}", run.config["model"])
    assert scorer_key(name) == scorer_key("itc:builtin/blip-itm") and scorer_kind(name) == "itc"
    assert scorer_kind(f"run/{run.id}") == "itm"
    with pytest.raises(InputError, match="There is no finished run"):
        scorer_key("run/20260101-000000000-000000")


def _costs(changes: dict[str, tuple[float, float, float]]) -> pd.DataFrame:
    rows = [
        {
            "set": f"scenes/{name}",
            "shape": "2x2",
            "metric": "group_match",
            "difference": d,
            "low": a,
            "high": b,
        }
        for name, (d, a, b) in changes.items()
    ]
    return pd.DataFrame(rows).reindex(columns=list(_COST_COLUMNS), fill_value=0)


def test_what_adaptation_costs_is_said_in_a_sentence_of_what_is_clear(tmp_path):
    """The figure showed −21 points, clear of 0, and no sentence said so."""
    told = _costs(
        {
            "swap": (-6.5, -11.0, -2.0),
            "triples": (-21.0, -27.0, -15.0),
            "replace": (-1.0, -3.0, 0.0),  # an interval that ends at 0 does not leave it out
            "two-of-four": (4.0, 1.0, 7.0),
        }
    )
    said = costs._verdict(figures.cost_data(told, "group_match"))
    assert said == (
        "Clearly worse on triples (−21.0) and swap (−6.5), clearly better on two-of-four (+4.0); the other one cannot "
        "be told from 0."
    )
    none = _costs({"a": (0.0, -1.0, 1.0), "b": (2.0, -1.0, 5.0)})
    said = costs._verdict(figures.cost_data(none, "group_match"))
    assert said == "No clear change: none of the 2 sets can be told from 0."
    told.to_csv(tmp_path / "cost.csv", index=False)
    answer = costs.measured_answer(costs.cached_table(tmp_path))
    link = "[See all of them](#what-adaptation-costs)"  # in the page's box alone: no report has this answer
    assert answer.word == "Yes" and answer.said == (
        "clearly worse on 2 of 4 other sets, most on triples: -21.0 points of GroupMatch (95 % interval -27.0 to "
        f"-15.0). {link}"
    )
    # The page of several seeds has no such figure: its link led nowhere.
    of_seed = costs.measured_answer(costs.cached_table(tmp_path), "with seed 2 ", "20260101-000000-abcd")
    page = "Test-Time_Matching?run=20260101-000000-abcd#what-adaptation-costs"
    assert (
        of_seed.said.startswith("with seed 2 clearly worse") and f"[See all of them]({page})" in of_seed.said
    )
    none.to_csv(tmp_path / "cost.csv", index=False)
    answer = costs.measured_answer(
        costs.cached_table(tmp_path)
    )  # that no set is clearly worse is no proof that none is
    assert answer.word == "Not proven" and answer.said == (
        "clearly worse on none of 2 other sets; lowest on a: +0.0 points of GroupMatch (95 % interval -1.0 to +1.0). "
        f"{link}"
    )


def test_an_answer_reads_the_table_of_costs_once(tmp_path, monkeypatch):
    read = []
    table = _costs({"a": (0.0, -1.0, 1.0), "b": (2.0, -1.0, 5.0)})
    monkeypatch.setattr(costs, "cached_table", lambda folder: read.append(folder) or table)
    run, store = (
        SimpleNamespace(id="r", config={}, status="finished"),
        SimpleNamespace(folder=lambda name: tmp_path),
    )
    assert costs.cost_answer(store, run).word == "Not proven" and read == [tmp_path]
