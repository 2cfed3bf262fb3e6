"""The runs page, driven from app.py: the table, sweeps as one, bulk actions, comparison, export and import."""

import base64
import io
import json
import os
import re
import runpy
import shlex
import shutil
import zipfile
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from adapted import MODEL, SET, SMALL, finish, made, made_home  # noqa: F401  fixtures
from driving import ROOT, button, fine, text
from typer.testing import CliRunner

import ui
from core.base.errors import InputError
from core.base.processes import ProcessIdentity
from core.base.text import _exact_differences, _pct, _signed, _time_left, duration
from core.cli import app as cli
from core.cli.runs import _Listed
from core.exchange.example import ARCHIVE, EXAMPLE_ID, example_run
from core.exchange.run_pairs import _steps_on
from core.exchange.run_report import _report_of_runs
from core.exchange.run_table import _Result
from core.exchange.runs import export_run, import_run
from core.figures import TTMData, ttm_compare_figure
from core.metrics.evaluation import Evaluation
from core.metrics.groups import METRICS, outcomes
from core.metrics.paired import _WHY_ALL, differences
from core.metrics.statistics import Comparison, Estimate, compare, estimate
from core.papers.measurement_run import MeasurementRun
from core.runs import engine
from core.runs.store import _EXAMPLE_CONTROLS_ID, RunStore
from core.sweeps.evaluate import EvaluationRun
from core.ttm.run import SimpleMatchRun, TTMRun, store_embeddings
from core.ttm.seeds import SeedGroup, seed_of, seeded
from ui.formatting import p_text
from ui.runs import _left, _on_a_phone, _working_line, chance_below, imported, labels_in_list, title_of
from ui.ttm_sweep import spread

RUNS = "pages/9_Runs.py"


def listed(test):
    """The ids of the table's rows."""
    return list(test.dataframe[0].value["id"])


def choose(test, *names, swapped=True):
    """Tick the rows of these runs. swapped : the newest is A, as the expected numbers here have it."""
    rows = [listed(test).index(name) for name in names]
    if swapped and len(names) > 1:
        test.session_state["swapped"] = True
    test.session_state["runs_table"] = {"selection": {"rows": rows}}
    return fine(test.run())


def click(test, name):
    """Click on the row of a run."""
    cell = (listed(test).index(name), "set")
    test.session_state["runs_table"] = {"selection": {"rows": [], "cells": [cell]}}
    return test.run()


def test_the_switch_of_seeds_keeps_what_is_ticked(app, made):  # noqa: F811
    """It unticked every run, and said of a link to seeds that they are gone."""
    test = choose(app(RUNS), made.group)
    fine(test.toggle(key="together").set_value(False).run())
    assert {*test.session_state["chosen_runs"]} == {*made.seeds}
    fine(test.toggle(key="together").set_value(True).run())
    assert test.session_state["chosen_runs"] == [made.group]
    linked = fine(app(RUNS, runs=",".join(made.seeds)))
    assert linked.session_state["chosen_runs"] == [made.group] and "not here" not in text(linked)


def test_while_a_seed_stops_no_other_is_resumed(app, made):  # noqa: F811
    """Resume stood beside the seeds that were asked to stop, and started those that had."""
    store, jobs = RunStore(), seeded(TTMRun.of(SET, MODEL, groups=24), 2, "g-0c0c0c0c")
    seeds = [store.create("ttm", f"seed {job.seed}", job.written()).id for job in jobs]
    attempt = store.queue_up(seeds[0])
    store.queue_up(seeds[1])
    store.request_stop(seeds[1])
    try:
        store.claim(seeds[0], attempt, ProcessIdentity.of(os.getpid()))
        store.try_start(seeds[0], attempt, 9)
        with store._database.transaction(write=True) as database:
            store._set(database, seeds[0], pid=None)  # no signal for this test
        assert [store.request_stop(seeds[0]).status, store.get(seeds[1]).status] == ["stopping", "stopped"]
        test = choose(app(RUNS), "g-0c0c0c0c")
        assert not [b.label for b in test.button if b.label.startswith("Resume")]
        store.conclude(seeds[0], attempt, "stopped")
        assert [b.label for b in choose(app(RUNS), "g-0c0c0c0c").button if b.label.startswith("Resume")] == [
            "Resume (2)"
        ]
    finally:
        for name in seeds:
            store.delete(name)


def test_the_newest_runs_are_cards_too(app, made):  # noqa: F811
    """On a phone two of the table's ten columns are in sight; there cards stand in place of the table."""
    test = app(RUNS)
    frame = test.dataframe[0].value.set_index("id")
    for name in frame.index:
        assert test.button(key=f"open-{name}").label.startswith("**")
        said = text(test).replace("\\", "")
        result, score = (frame.loc[name, column] for column in ("result", "GroupScore after"))
        assert result.replace(", chance", " GroupMatch, chance") in said and f"GroupScore {score}" in said
        assert f"{frame.loc[name, 'metric']} gain **{frame.loc[name, 'gain']}** points" in said
    # Three grey lines of four intervals: "before 70.0 %" was GroupMatch's and followed GroupScore's gain.
    details = [c.value for c in test.caption if c.value.startswith("GroupScore ")]
    assert len(details) >= len(frame) - 1 and all(line.count("\n") == 1 for line in details)
    assert not any("before" in line or "gain" in line for line in details)
    # Their headings were the set alone, the same of every run on it; model and seed came last, in grey.
    heads = [test.button(key=f"open-{name}").label.replace("\\", "") for name in frame.index]
    assert len({*heads}) == len(heads)
    for head, (_, row) in zip(heads, frame.iterrows(), strict=True):
        assert (
            f" · {row['model']}" in head
            and " · seed" in head
            and head.startswith(f"**{row['set'].split(' · ')[0][:8]}")
        )
    style = (ROOT / ".streamlit/style.css").read_text()
    assert "@media (min-width: 641px) {.st-key-newest-runs {display: none;}}" in style
    for name in (made.group, made.simplematch):
        test = fine(test.checkbox(key=f"tick-{name}").check().run())
    assert {*test.session_state["chosen_runs"]} == {made.group, made.simplematch} and "B minus A" in text(
        test
    )
    test = fine(test.checkbox(key=f"tick-{made.group}").uncheck().run())
    assert test.session_state["chosen_runs"] == [made.simplematch]
    ticked = choose(app(RUNS), made.wide)  # in the table
    assert (
        ticked.checkbox(key=f"tick-{made.wide}").value and not ticked.checkbox(key=f"tick-{made.group}").value
    )


def test_the_controls_that_ship_say_so_as_the_example_does(app):
    """A card “Ledger of TTM” that nobody had started stood there after “See a finished run”."""
    test = app("pages/4_Test-Time_Matching.py", run="example")
    kinds = (
        {str(said) for said in fine(app(RUNS, columns="true")).dataframe[0].value["kind"]} if test else set()
    )
    assert kinds == {"TTM, the example that ships", "Controls of TTM, the example that ships"}
    names = [*app(RUNS).dataframe[0].value["set"]]
    assert len(names) == 2 and all(name.startswith("Example: ") and "…" not in name for name in names)


def test_that_controls_are_compared_with_no_run_is_said_before_they_are_ticked_and_then(app, made):  # noqa: F811
    """They could be ticked, and only below the comparison stood why nothing came of it."""
    said = "Controls are several trainings and are compared with no run."
    assert said not in text(app(RUNS))
    example_run(RunStore())
    assert said in text(app(RUNS))
    for chosen, is_told in (
        ([made.wide], True),
        ([_EXAMPLE_CONTROLS_ID], True),
        ([made.wide, _EXAMPLE_CONTROLS_ID], True),
        ([made.wide, made.group, _EXAMPLE_CONTROLS_ID], True),
        ([made.wide, made.group], False),
    ):
        lines = [each.value for each in choose(app(RUNS), *chosen).caption if said in each.value]
        assert len(lines) == is_told


def test_the_name_of_the_shipped_controls_leaves_room_for_the_time(app):
    """“Example: left-right · Controls of TTM” took it."""
    example_run(RunStore())
    import_run(RunStore(), ARCHIVE)
    shown = app(RUNS).dataframe[0]
    assert "Example: left-right · controls" in [*shown.value["set"]]
    assert {"groups", "time"} <= {*shown.proto.column_order}  # a run of 40 groups stood above one of 300


def test_differences_of_two_runs_stand_before_chance_and_what_was_before(app, made):  # noqa: F811
    """On a phone “p” and “p (Holm)” were off to the right."""
    test = choose(app(RUNS), made.group, made.simplematch)
    columns = next([*t.value.columns] for t in test.table if "B − A" in t.value.columns)
    assert columns[:4] == ["Metric", "B − A", "p", "p (Holm)"] and columns[4:6] == ["A", "B"]
    assert "Chance" in columns[6:]


def test_runs_are_found_by_the_words_that_their_rows_have(app, made):  # noqa: F811
    test = fine(app(RUNS).text_input(key="find").set_value("simplematch left-right").run())
    assert listed(test) == [made.simplematch]
    assert listed(app(RUNS, find="T = 2 global")) == [made.wide]
    # Rows say left-right, and everything else scenes/left-right.
    assert made.wide in listed(app(RUNS, find="scenes/left")) and made.file not in listed(app(RUNS, find=SET))
    # As the list shows them: it found none of these.
    assert listed(app(RUNS, find="seeds 0-1")) == listed(app(RUNS, find="seeds 0")) == [made.group]
    assert listed(app(RUNS, find="24 groups seeds")) == [made.group]
    alone = listed(app(RUNS, find="Seed 0"))
    assert made.simplematch in alone and made.group not in alone
    assert not app(RUNS, find="seed 1").dataframe and not app(RUNS, find="4 groups").dataframe
    nothing = app(RUNS, find="winoground")
    assert not nothing.dataframe and "No run has all of these words" in text(nothing)


def test_a_run_and_its_seeds_can_have_a_name(app, made):  # noqa: F811
    """wandb and trackio have them."""
    test = choose(app(RUNS), made.group)
    test.text_input(key=f"name-{made.group}").set_value("my *best* idea")
    test = fine(button(test, "Save").click().run())
    store = RunStore()
    assert [store.get(run).title for run in made.seeds] == [f"my *best* idea · seed {i}" for i in (0, 1)]
    assert test.dataframe[0].value.set_index("id").loc[made.group, "set"] == "my *best* idea"
    told = CliRunner().invoke(cli, ["runs", "rename", made.simplematch, "once more"], catch_exceptions=False)
    assert told.stderr == f"renamed: once more ({made.simplematch})\n" and not told.stdout  # it said nothing
    told = CliRunner().invoke(cli, ["runs", "rename", made.group, "both"], catch_exceptions=False)
    assert told.stderr == f"renamed: both · seeds 0–1 ({made.group})\n"
    assert "once more" in list(app(RUNS).dataframe[0].value["set"])
    rows = app(RUNS, columns="true").dataframe[0].value.set_index("id")
    assert (rows.loc[made.simplematch, "name"], rows.loc[made.simplematch, "set"]) == ("once more", SET)
    with pytest.raises(InputError, match="needs a title"):
        SeedGroup(made.simplematch, [store.get(made.simplematch)]).rename(store, " ")


def test_a_name_given_to_one_run_changes_nothing_of_the_others(app):
    """The other row of two was called by its file, cut, once one had a name, and a column was gone."""
    rng, store, ids = np.random.default_rng(0), RunStore(), ("g-0123abcd", "g-4567abcd")
    rows, packed = rng.normal(size=(24, 6)), io.BytesIO()
    np.savez(packed, img=rows, cap=rows + rng.normal(size=rows.shape))
    kept = store_embeddings("clip_vit_b32_laion2b_embeddings.npz", packed.getvalue())
    for group, count in zip(ids, (4, 2), strict=True):
        for job in seeded(TTMRun.of_file(kept, options=SMALL), count, group):
            finish(store, "clip_vit_b32_laion2b_embeddings.npz · embeddings", job)
    table = app(RUNS).dataframe[0]
    columns = list(table.proto.column_order)
    assert dict(zip(table.value["id"], table.value["set"], strict=True)) == {
        ids[0]: "clip_vit_…ings.npz · TTM · seeds 0–3",
        ids[1]: "clip_vit_…ings.npz · TTM · seeds 0–1",
    }
    CliRunner().invoke(cli, ["runs", "rename", ids[1], "short T3"], catch_exceptions=False)
    test = app(RUNS)
    table = test.dataframe[0]
    assert dict(zip(table.value["id"], table.value["set"], strict=True)) == {
        ids[0]: "clip_vit_…ings.npz · TTM · seeds 0–3",
        ids[1]: "short T3",
    }
    assert list(table.proto.column_order) == columns
    # In the command the name had a line of its own above the two of its run.
    lines = CliRunner().invoke(cli, ["runs", "list"], catch_exceptions=False).stdout.partition("\n\n")[0]
    assert len(lines.splitlines()) == 1 + 2 * 2 and "\n    short T3 · seeds 0–1\n" in lines


def test_gain_and_before_name_their_metric(app, made):  # noqa: F811
    """Only “GroupScore gain” did; where rows have several metrics each cell does."""
    test = app(RUNS, columns="true")
    shown = json.loads(app(RUNS).dataframe[0].proto.columns)
    assert shown["gain"]["label"] == "GroupMatch gain"
    assert test.dataframe[0].value["gain"].str.endswith(" GroupMatch").all()
    page = runpy.run_path(str(ROOT / RUNS))
    frame = pd.DataFrame(
        {"metric": ["GroupMatch", "test mAP", ""], "gain": ["+2.0 (0.5 to 3.5)", "–", "–"],
         "before": ["61.7 %", "40.0 %", "–"],
         "result": ["61.7 % GroupMatch, chance 50.0", "40.0 % test mAP, chance 20.2", "–"]}
    )  # fmt: skip
    assert "gain" not in page["result_heads"](frame)
    named = page["named_cells"](frame)
    assert list(named["gain"]) == ["+2.0 (0.5 to 3.5) GroupMatch", "–", "–"]
    assert list(named["before"]) == ["61.7 % GroupMatch", "40.0 % test mAP", "–"]
    same = page["result_heads"](frame.iloc[:1])
    assert (same["gain"], same["before"]) == ("GroupMatch gain", "GroupMatch before")


def test_no_runs_yet_says_what_to_do(app):
    test = app(RUNS)
    assert "No runs yet" in text(test) and button(test, "Run test-time matching")


def test_an_unknown_run_is_named_where_there_are_no_runs_too(app):
    assert "1 run of this link is not here (any more): nope" in text(app(RUNS, runs="nope")).replace("\\", "")
    assert "not here (any more): nope" in text(app(RUNS, run="nope")).replace("\\", "")


def test_the_table_says_kind_and_seed_and_takes_the_seeds_of_a_sweep_as_one(app, made):  # noqa: F811
    frame = app(RUNS).dataframe[0].value
    assert len(frame) == 5
    rows = frame.set_index("id")
    assert rows.loc[made.group, "seed"] == "0–1" and "± " in rows.loc[made.group, "GroupMatch after"]
    assert rows.loc[made.simplematch, "kind"] == "SimpleMatch"
    assert rows.loc[made.transfer, "kind"] == "TTM, transfer check 50 %"
    assert rows.loc[made.wide, "kind"] == "TTM, global" and rows.loc[made.file, "kind"] == "TTM, embeddings"
    assert set(frame["status"]) == {"finished"}
    row = rows.loc[made.simplematch]
    value, interval = row["GroupMatch after"].removesuffix(", chance 50.0)").split(" (")
    assert (
        row["result"] == f"{value} ({interval})"
    )  # the head says metric and chance level that all rows have
    assert len(row["curve"]) == 3 and row["time"].endswith("s")
    value, _, rest = row["GroupMatch before"].partition(" (")
    assert row["before"] == f"{value} ({rest.partition(',')[0]})"  # with its interval


def test_set_and_result_are_the_first_columns_so_that_a_phone_shows_both(app, made):  # noqa: F811
    """The result alone was in sight there, of nobody knew which run."""
    order = list(app(RUNS).dataframe[0].proto.column_order)
    assert order[:2] == ["set", "result"]


def test_the_table_names_the_settings_that_tell_runs_apart(app, made):  # noqa: F811
    rows = app(RUNS, columns="true").dataframe[0].value.set_index("id")
    assert rows.loc[made.wide, "settings"].startswith("TTM, global · ")
    assert "threshold mode relative" in rows.loc[made.wide, "settings"]
    assert "threshold mode absolute" in rows.loc[made.group, "settings"]
    assert not rows["settings"].str.contains("seed|builtin/|groups").any()


def test_groups_and_all_settings_stand_there_even_where_they_do_not_tell_runs_apart(app, made):  # noqa: F811
    """Nobody could see that a run had 24 groups of 300, nor its T, where every run of the table shared them."""
    rows = app(RUNS).dataframe[0].value.set_index("id")
    assert rows.loc[made.group, "groups"] == "24 of 300" and rows.loc[made.file, "groups"] == "all 12"
    said = rows.loc[made.group, "all settings"]
    assert said.startswith(
        "T = 2 · 1 epoch · learning rate 0.0003 · linear threshold, 20 % selected to τ = 0"
    )
    assert "weight decay 0.05" in said and "batch 50" in said
    order = list(app(RUNS, columns="true").dataframe[0].proto.column_order)
    assert "all settings" in order and order.index("groups") < order.index("kind")


def test_a_run_is_chosen_by_what_tells_it_apart_which_stands_before_what_all_have(tmp_path, monkeypatch):
    """A phone showed "left-right · clip · 22 Nov 14:05:09 · seed 0 · first 100 o…": the time alone told runs apart."""
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path))
    store, at = RunStore(), datetime(2026, 11, 22, 14, 5, 9).timestamp()

    def labels(*asked):
        sweeps = []
        for count, seconds in asked:
            job = TTMRun.of("scenes/left-right", "builtin/clip", groups=count)
            run = store.create("ttm", "scenes/left-right · builtin/clip", job.written())
            sweeps.append(SeedGroup(run.id, [replace(run, created=at + seconds)]))
        found = labels_in_list(sweeps)
        assert [*found] == [sweep.id for sweep in sweeps]
        return [*found.values()]

    few, every = labels((100, 0), (None, 120))
    # The seed stood last, behind what a field cuts.
    assert few.startswith("left-right · clip · 100 groups · seed 0 · 22 Nov 14:05 · ")
    assert every.startswith("left-right · clip · all 300 groups · seed 0 · 22 Nov 14:07 · ")
    # Two of one minute have its seconds, and what both have stands at the end.
    first, second = labels((100, 0), (100, 30))
    assert first.startswith("left-right · clip · seed 0 · 22 Nov 14:05:09 · 100 groups · ")
    assert second.startswith("left-right · clip · seed 0 · 22 Nov 14:05:39 · 100 groups · ")
    assert labels((100, 0))[0].startswith("left-right · clip · seed 0 · 22 Nov 14:05 · 100 groups · ")
    mixed = labels((100, 0), (100, 30), (None, 120))
    assert mixed[0].startswith("left-right · clip · seed 0 · 22 Nov 14:05:09 · 100 groups · ")
    assert len({label[:50] for label in mixed}) == 3


def test_run_pickers_and_the_command_say_groups_and_settings(app, made, capsys):  # noqa: F811
    said = "first 24 of 300 groups · T = 2 · 1 epoch · learning rate 0.0003 · linear threshold, 20 % selected to τ = 0"
    labels = app("pages/4_Test-Time_Matching.py", run=made.group).selectbox(key="shown").options
    settings = said.partition(" · ")[2].split(" · ")
    ran = [label for label in labels if {"24 groups", *settings} <= {*label.split(" · ")}]
    assert len(ran) == 2  # the seeds, and the transfer check
    assert sum("all 12 groups" in label for label in labels) == 1
    # A phone shows the first 40 letters: of all runs on one set the same.
    assert not any("scenes/" in label or "builtin/" in label for label in labels)
    runs = [label for label in labels if "TTM" in label or " · T = " in label]
    assert len(runs) > 3 and len({label[:50] for label in runs}) == len(runs)
    cli(["runs", "list", "--all"], standalone_mode=False)
    out = capsys.readouterr().out
    told = " ".join(out.split())
    assert "global variant · T = 2" in told and "all 12 groups" in told
    assert told.count("first 24 of 300 groups · T = 2 ·") == 3
    # A run took six lines; what all runs share stands once, below them.
    rows = out.partition("\n\n")[0].splitlines()[1:]
    (line,) = (line for line in out.splitlines() if line.startswith("All of them: "))
    assert "finished · GroupMatch" in line and "finished" not in "\n".join(rows)


def test_the_command_says_once_what_two_seeds_leave_open(made, capsys):  # noqa: F811
    """Each run of two seeds had the whole explanation in its lines."""
    cli(["runs", "list"], standalone_mode=False)
    told = " ".join(capsys.readouterr().out.split())
    assert (
        told.count("wo seeds cannot decide") <= 1 and "over the groups alone, for these two seeds" not in told
    )


def test_the_command_lists_the_seeds_of_a_run_as_one_with_interval_chance_and_gain(app, made, capsys):  # noqa: F811
    """It had a line for each seed, and no interval, no chance level and no gain."""

    def told(*more):
        cli(["runs", "list", *more], standalone_mode=False)
        return capsys.readouterr().out

    lines = told().splitlines()
    assert max(map(len, lines)) <= 100 and not any(seed in line for seed in made.seeds for line in lines)
    table = app(RUNS).dataframe[0]
    rows, chance = table.value.set_index("id"), json.loads(table.proto.columns)["result"]["label"].split()[-1]

    def on_the_page(name):
        result, _, rest = rows.loc[name, "result"].partition(" % (")
        gain, _, ends = rows.loc[name, "gain"].partition(" (")
        inside = rest.partition(")")[0].replace("–", ", ")
        numbers = [rows.loc[name, "before"].partition(" %")[0], f"{result} [{inside}]", chance]
        return " ".join([name, *numbers, f"{gain} [{ends.rstrip(')').replace(' to ', ', ')}]"])

    for name in (made.group, made.simplematch, made.wide, made.file):
        (line,) = (line for line in lines if line.startswith(name))
        assert " ".join(line.split()) == on_the_page(name)
    assert " ± " in on_the_page(made.group) and "`--all` lists every seed" in " ".join(lines)
    every = told("--all")
    assert all(f"\n{seed}  " in every for seed in made.seeds) and "--all" not in every
    (record,) = (each for each in json.loads(told("--json")) if each["id"] == made.seeds[0])
    assert record["metric"] == "group_match" and record["after"]["low"] < record["after"]["value"]
    assert record["gain"]["difference"] == pytest.approx(
        record["after"]["value"] - record["before"]["value"], abs=1e-3
    )


def test_the_command_compares_runs_on_different_groups_by_the_gain_of_each(made, capsys):  # noqa: F811
    """It said that there was no test, and nothing else of them."""
    cli(["runs", "compare", made.file, made.group], standalone_mode=False)
    said = capsys.readouterr().out
    assert "Gains, after minus before in points, each on its own groups" in said
    a, b = (line for line in said.splitlines() if line.startswith(("A  ", "B  ")))
    assert all(
        re.match(r"[AB]  GroupMatch [+−][\d.]+ \[[+−][\d.]+, [+−][\d.]+\], p ", line) for line in (a, b)
    )
    cli(["runs", "compare", made.seeds[0], made.wide], standalone_mode=False)
    assert "its own groups" not in capsys.readouterr().out


def test_the_parts_of_the_settings_stand_in_one_order_in_every_row(app, made):  # noqa: F811
    """They stood the rarest first: `T = 2 · 1 epoch` above `3 epochs · T = 2`."""
    store, config = RunStore(), RunStore().get(made.seeds[0]).config
    for number, change in enumerate(
        ({"epochs": 3}, {"iterations": 5}, {"epochs": 3, "iterations": 5, "batch": 7})
    ):
        store.create("ttm", str(number), {**config, "group": None, "ttm": {**config["ttm"], **change}})
    for said in app(RUNS, columns="true").dataframe[0].value["settings"]:
        parts = [part.partition(" =")[0].rstrip("s").lstrip("0123456789 ") for part in said.split(" · ")]
        order = ["T", "epoch"]
        assert [part for part in parts if part in order] == [part for part in order if part in parts]


def test_the_table_is_taken_away_as_numbers(app, made, monkeypatch):  # noqa: F811
    """Its cells were sentences: `62.5 % (40.6–81.2, chance 50.0)`."""
    given = []
    monkeypatch.setattr("ui.export_section", lambda name, table, *_, **more: given.append(table))
    app(RUNS)
    back = pd.read_csv(io.StringIO(given[-1]().to_csv(index=False))).set_index("id")
    assert list(back)[-1] == "crossmatch_version" and back["crossmatch_version"].unique() == [
        version("crossmatch")
    ]
    # What people read first stood behind twenty columns of settings and counts, and no unit was said.
    begun = list(back)[: list(back).index("unit") + 1]
    assert begun[:4] == ["title", "set", "split", "model"] and {*back["unit"].dropna()} == {"percent"}
    assert {"group_match", "group_match_low", "group_match_high"} <= {*begun}
    assert all(name.endswith(("_low", "_high", "score", "match")) for name in begun[4:-1]), begun
    fields = [f"group_match{end}" for end in ("", "_low", "_high", "_chance", "_ties", "_sd")]
    fields += [f"group_match_before{end}" for end in ("", "_low", "_high", "_ties", "_sd")]
    fields += [
        "n_groups",
        "n_groups_of_set",
        "n_seeds",
        "n_seeds_complete",
        "seconds",
        "iterations",
        "epochs",
        "lr",
    ]
    for name in [*fields, "oracle", "keep_optimizer", "rounds", "untouched_group_match_low"]:
        assert pd.api.types.is_numeric_dtype(back[name]), name
    store = RunStore()
    ends = [store.steps(run_id)[-1]["metrics"]["group_match"] for run_id in made.seeds]
    row, values = back.loc[made.group], [end["value"] for end in ends]
    assert row["group_match"] == pytest.approx(np.mean(values), abs=0.005)
    assert row["group_match_sd"] == pytest.approx(np.std(values, ddof=1), abs=0.005)
    assert row["group_match_low"] < row["group_match"] < row["group_match_high"]  # over seeds and groups
    alone, last = back.loc[made.simplematch], store.steps(made.simplematch)[-1]["metrics"]["group_match"]
    assert [alone[f"group_match{end}"] for end in ("", "_low", "_high", "_ties")] == [
        pytest.approx(last[end], rel=1e-9) for end in ("value", "low", "high", "ties")
    ]
    assert (alone["n_groups"], alone["n_groups_of_set"], alone["rounds"]) == (24, 300, 2)
    assert np.isnan(alone["iterations"]) and np.isnan(alone["group_match_sd"]) and row["iterations"] == 2
    assert (row["status"], row["kind"], row["schedule"], row["seeds"]) == ("finished", "ttm", "linear", "0;1")
    assert (back["seconds"] == back["seconds"].round(1)).all()
    prose = [name for name in back if back[name].astype(str).str.contains(" %|chance|±").any()]
    assert not prose


def test_a_comparison_says_in_which_settings_the_two_differ(app, made):  # noqa: F811
    test = choose(app(RUNS, together="false"), *made.seeds)
    assert "They differ only in the seed (A / B): 1 / 0." in text(test).replace("\\", "")
    store, config = RunStore(), RunStore().get(made.seeds[0]).config
    longer = {**config["ttm"], "iterations": 4, "epochs": 5, "tau_last": 1.5}
    other = store.create("ttm", "longer", {**config, "group": None, "ttm": longer})
    twin = store.create("ttm", "twin", {**config, "group": None})
    for run in (other, twin):
        attempt = store.queue_up(run.id)
        for record in store.steps(made.seeds[0]):
            store.append_step(run.id, record, attempt)
        shutil.copytree(
            store.folder(made.seeds[0]) / "steps", store.folder(run.id) / "steps", dirs_exist_ok=True
        )
    test = choose(app(RUNS, together="false"), made.seeds[0], other.id)
    said = "They differ in (A / B): iterations (T) 4 / 2, epochs 5 / 1, last threshold τ = 1.5 / τ = 0."
    assert said in text(test).replace("\\", "")
    test = choose(app(RUNS, together="false"), made.seeds[0], twin.id)
    assert "They do not differ in any setting, nor in the seed." in text(test).replace("\\", "")
    assert "kinds of run" in text(choose(app(RUNS), made.simplematch, made.wide))


def test_what_trains_nothing_has_no_before_and_a_ledger_no_result_of_its_own(app, made):  # noqa: F811
    store, (first, *_, last) = RunStore(), RunStore().steps(made.seeds[0])
    measured = store.create(
        "evaluate", "scored", {"benchmark": SET, "model": MODEL, "groups": 24, "evaluate": {}}
    )
    store.append_step(measured.id, first, store.queue_up(measured.id))
    own = store.get(made.seeds[0]).config
    ledger = store.create(
        "ledger", "of", {**own, "group": None, "controls": ["per-image"], "ledger": own["ttm"]}
    )
    attempt = store.queue_up(ledger.id)
    for i, (control, record) in enumerate(
        (("", first), ("per-image", {**last, "metrics": {}}), ("itself", last))
    ):
        store.append_step(ledger.id, {**record, "iteration": i, "control": control}, attempt)
    rows = app(RUNS).dataframe[0].value.set_index("id")
    assert rows.loc[measured.id, "before"] == "–" and rows.loc[measured.id, "groups"] == "24 of 300"
    assert list(rows.loc[measured.id, "curve"]) == []
    assert rows.loc[measured.id, "result"].endswith("), so far")
    assert rows.loc[ledger.id, ["result", "gain", "before"]].tolist() == ["–"] * 3  # it is several trainings
    assert list(rows.loc[ledger.id, "curve"]) == []


def test_evaluations_and_strategies_are_compared_as_far_as_they_can_be(app, made):  # noqa: F811
    """Two evaluations on the same groups ended in an internal error, two strategies in “no finished iteration”."""
    store = RunStore()
    jobs = [
        EvaluationRun.of(SET, MODEL, groups=24),
        MeasurementRun.of(SET, MODEL).model_copy(update={"groups": 24}),
    ]
    scored, measured = (finish(store, job.kind, job) for job in jobs)
    test = choose(app(RUNS), made.simplematch, scored)
    said = text(test).replace("\\", "")
    assert "McNemar" in said and "same 24 groups" in said
    before = store.steps(made.simplematch)[0]["metrics"]["group_match"]
    told = f"GroupMatch {before['value']:.1f} % ({before['low']:.1f}–{before['high']:.1f}, chance 50.0)"
    said = text(choose(app(RUNS), measured, scored)).replace("\\", "")
    assert said.count(told) == 2 and "McNemar" not in said  # a measurement leaves no scores
    assert f"{told}" in text(choose(app(RUNS), measured, made.group)).replace("\\", "")
    value = {"value": 20.0, "low": 19.0, "high": 21.0, "chance": 1.0, "ties": 0}
    strategies = []
    for seed in (0, 1):
        own = {"benchmark": "scenes/retrieval", "model": MODEL, "adapt": {"strategy": "linear", "seed": seed}}
        strategies.append(store.create("adapt", f"cola {seed}", own).id)
        record = {"iteration": 0, "metrics": {"cola_map": value}, "seconds": 2.0}
        store.append_step(strategies[-1], record, store.queue_up(strategies[-1]))
    said = text(choose(app(RUNS), *strategies)).replace("\\", "")
    assert said.count("validation Cola mAP 20.0 % (19.0–21.0, chance 1.0)") == 2
    assert "no common curve" in said and "They differ only in the seed (A / B): 1 / 0." in said


def test_a_row_of_seeds_has_the_result_of_those_that_are_complete(app, made):  # noqa: F811
    """A seed that was stopped half way stood in the mean of the results."""
    store, config = RunStore(), RunStore().get(made.seeds[0]).config
    ended = [store.steps(run_id)[-1]["metrics"]["group_match"]["value"] for run_id in made.seeds]
    cut = store.create("ttm", "cut", {**config, "ttm": {**config["ttm"], "seed": 2}})
    attempt = store.queue_up(cut.id)
    record = store.steps(made.seeds[0])[0]
    wrong = {**record["metrics"]["group_match"], "value": 0.0}
    store.append_step(cut.id, {**record, "metrics": {**record["metrics"], "group_match": wrong}}, attempt)
    store.conclude(cut.id, attempt, "stopped")
    row = app(RUNS).dataframe[0].value.set_index("id").loc[made.group]
    assert row["result"].startswith(f"{np.mean(ended):.1f} ± {np.std(ended, ddof=1):.1f} % (")
    assert row["status"] == "stopped 2/3 seeds" and "2 of 3 seeds" in row["GroupMatch after"]


def test_seeds_by_themselves_have_their_intervals_and_a_paired_test(app, made):  # noqa: F811
    test = app(RUNS, together="false")
    frame = test.dataframe[0].value
    assert len(frame) == 6 and frame["GroupMatch after"].str.contains("–").all()
    choose(test, *made.seeds)
    assert (
        "**B minus A** is of the last iterations" in text(test)
        and "McNemar" in text(test)
        and len(test.get("plotly_chart")) == 1
    )
    assert {"A: left-right · TTM · seed 1", "B: left-right · TTM · seed 0"} <= {
        *filter(None, drawn(test))
    }  # the upper run is A, however they were ticked: B stood above A
    fine(test.selectbox(key="compared_metric").set_value("group_score").run())
    assert test.query_params["runs"] in (",".join(made.seeds), [",".join(made.seeds)])


def test_the_difference_is_that_of_the_last_iterations(app, made):  # noqa: F811
    test = choose(app(RUNS, together="false"), *made.seeds)
    ends = [RunStore().steps(run_id)[-1]["metrics"]["group_match"]["value"] for run_id in made.seeds]
    b, a = ends
    said = text(test).replace("\u00a0", " ").replace("\u2060", "")
    assert f", B − A {_signed(b - a)} points".replace("-", "−") in said
    for side, value in (("A", a), ("B", b)):
        assert re.search(rf"\*\*{side}\*\* .*: {re.escape(_pct(value))}", said.replace("\\", ""))
    assert _exact_differences() in text(test)


def test_groups_of_seeds_have_the_paired_difference_of_the_seeds_that_both_have(app, made):  # noqa: F811
    """It sent the reader to single seeds; SimpleMatch has seed 0 alone, the sweep 0 and 1."""
    test = choose(app(RUNS), made.group, made.simplematch)
    a, b = (
        RunStore().steps(run_id)[-1]["metrics"]["group_match"]["value"]
        for run_id in (made.simplematch, made.seeds[0])
    )
    said = text(test).replace("\u00a0", " ").replace("\u2060", "")
    assert f", B − A {_signed(b - a)} points (".replace("-", "−") in said
    assert "of the last iterations of seed 0 alone, which both have, on the same 24 groups;" in said
    # Beside a test of seed 0 alone the list had other numbers, of all seeds.
    every = np.mean([RunStore().steps(run)[-1]["metrics"]["group_match"]["value"] for run in made.seeds])
    line = next(each.value for each in test.markdown if "All complete seeds" in each.value)
    line = line.replace("\\", "").replace("\u00a0", " ").replace("\u2060", "")
    assert "A: 1 seed; B: 2 seeds; compared over seed 0 alone, complete in both." in said.replace("\\", "")
    assert line.startswith("All complete seeds")  # folded: above the fold stands the tested difference alone
    assert f"B − A {_signed(every - a)} points, which is not tested.".replace("-", "−") in line
    assert f"A {_pct(a)} % (" in line and f"B {_pct(every)} ± " in line and "over 2 seeds" in line


def test_two_common_seeds_cannot_tell_how_much_seeds_matter_and_have_their_interval_over_groups(app, made):  # noqa: F811
    """It printed an interval from −75 to +73 points and nothing else."""
    options = {**SMALL, "lr": 1e-5}
    jobs = seeded(TTMRun.of(SET, MODEL, groups=24, options=options), 2, "g-0a0a0a0a")
    other = [finish(RunStore(), "slower", job) for job in jobs]
    said = text(choose(app(RUNS), made.group, "g-0a0a0a0a")).replace("\\", "")
    truth = TTMRun.read(RunStore().get(other[0]).config).load_groups().truth
    a, b = (
        np.mean(
            [
                outcomes(RunStore().scores(run, 2), truth, ["group_match"])["group_match"].value
                for run in runs
            ],
            0,
        )
        for runs in (other, made.seeds)
    )
    paired = compare(a, b)
    wanted = (
        f"points; over the groups alone, for these two seeds, {paired.low:+.1f} to {paired.high:+.1f} (by the"
    )
    assert "**Two seeds cannot decide whether A and B differ in GroupMatch:**" in said
    assert wanted.replace("-", "−") in said
    # The command left it out.
    printed = (
        CliRunner().invoke(cli, ["runs", "compare", "g-0a0a0a0a", made.group], catch_exceptions=False).stdout
    )
    assert "\nTwo seeds cannot decide whether A and B differ in GroupMatch: B − A " in printed
    assert wanted.replace("-", "−") in printed
    own = estimate(b, np.nan, parts=2)
    assert f"{own.low:.1f}–{own.high:.1f}, over groups, for these two seeds" in said
    one = text(choose(app(RUNS), made.group, made.simplematch)).split("same 24 groups")[0]
    assert "Two seeds cannot" not in one


def test_a_comparison_begins_with_what_its_corrected_p_says(app, made):  # noqa: F811
    """Six lines of numbers came first, with the p before its correction."""
    test = choose(app(RUNS, together="false"), *made.seeds)
    first = next(
        each.value for each in test.markdown if "GroupMatch: this comparison cannot tell" in each.value
    )
    every = test.table[0].value.set_index("Metric")
    table, tests = every.loc["**GroupMatch**"], int((every["p (Holm)"] != "–").sum())
    assert tests > 1 and f"after Holm's correction for {tests} metrics" in first.replace("\u00a0", " ")
    assert table["p (Holm)"] in first
    # Further down stood the same difference once more, with another p, which nothing told apart from the first.
    said = [each.value for each in test.markdown]
    assert sum("B − A " in each for each in said) == 1
    (folded,) = test.expander
    (below,) = (each.value for each in folded.markdown)
    assert folded.label == "How B − A was tested" and below.startswith("**B minus A** is of the last")
    assert " p " not in below.replace("p is", "") and "points" not in below.partition(" These groups")[0]


def test_a_single_run_stands_among_all_seeds_of_another(app, made):  # noqa: F811
    """Of four seeds against one run the test was of the common seed alone, and nothing was said with the others."""
    store = RunStore()
    of = choose(app(RUNS), made.group, made.simplematch)
    assert "seeds counted" not in text(of)  # two seeds say nothing of a third
    seeds = [seeded(TTMRun.of(SET, MODEL, groups=24, options=SMALL), 4, made.group)[i] for i in (2, 3)]
    third = [*made.seeds, *(finish(store, "one more", job) for job in seeds)]
    ends = [store.steps(run)[-1]["metrics"]["group_match"]["value"] for run in third]
    reach = 3.1824 * np.std(ends, ddof=1) * np.sqrt(1 + 1 / 4)  # Student's t of three degrees of freedom
    low, high = max(0, np.mean(ends) - reach), min(100, np.mean(ends) + reach)
    value = store.steps(made.simplematch)[-1]["metrics"]["group_match"]["value"]
    side = "inside" if low <= value <= high else "outside"
    said = text(choose(app(RUNS), made.group, made.simplematch)).replace("\\", "")
    assert f"would likely end at {low:.1f} to {high:.1f} % on these groups (95 % prediction)" in said
    assert f"ended at {value:.1f} %, {side}:" in said and "All 4 seeds counted" in said
    job = SimpleMatchRun.of(SET, MODEL, groups=24, options={"rounds": 1, "epochs": 1, "seed": 9})
    other = finish(store, "another seed", job)
    said = text(choose(app(RUNS), made.group, other)).replace("\\", "")
    assert (
        "no complete seed in common" in said
        and "so run the same seeds of both" in said
        and "All 4 seeds counted" in said
    )


def numbers_in(values):
    """The numbers of an axis, which plotly may have packed."""
    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
    return values


def both_results(test):
    """The table of all metrics of two runs."""
    (table,) = [each.value for each in test.table if "A" in each.value]
    # No interval is broken over two lines.
    assert (
        not table[["A", "B"]]
        .map(lambda cell: re.search(r"\([^)]* |\d–\d", cell) is not None)
        .to_numpy()
        .any()
    )
    return table.replace({"\u00a0": " ", "\u2060": ""}, regex=True).set_index("Metric")


def test_all_metrics_of_two_runs_stand_in_one_table_with_their_tests(app, made):  # noqa: F811
    """They were shown one at a time, in prose; then with two decimals in square brackets, unlike the cards above."""
    test = choose(app(RUNS, together="false"), *made.seeds)
    table = both_results(test)
    job = TTMRun.read(RunStore().get(made.seeds[0]).config)
    groups = job.load_groups()
    b, a = (Evaluation.of(RunStore().scores(run, 2), groups.truth, groups.ids) for run in made.seeds)
    for name, found in differences(a, b).items():
        row, e = table.loc[f"**{METRICS[name].label}**"], b.metrics[name]
        assert row["B"].startswith(f"{_pct(e.value)} ({_pct(e.low)}–{_pct(e.high)})")
        assert row["Chance"] == _pct(e.chance)
        ends = f"({_signed(found.low)} to {_signed(found.high)})"
        said = f"{_signed(found.difference)} {ends}".replace("-", "−")
        assert (row["B − A"], row["p (Holm)"]) == (said, p_text(found.p_holm))
    assert len(test.selectbox(key="compared_metric").options) == len(table)
    tests = len(differences(a, b))
    told = f"p (Holm): corrected for {tests} metrics"
    assert any(told in each.value.replace("\\", "").replace("\u00a0", " ") for each in test.caption)


def test_both_sides_are_of_the_seeds_that_are_compared_and_of_other_groups_there_is_no_test(app, made):  # noqa: F811
    """67.3 and 66.8 stood beside a difference of 0.0: A and B were of all seeds, the difference of those of both."""
    test = choose(app(RUNS), made.group, made.simplematch)  # the newer one is A
    row = both_results(test).loc["**GroupMatch**"]
    values = [RunStore().steps(run)[-1]["metrics"]["group_match"]["value"] for run in made.seeds]
    assert row["B"].startswith(f"{_pct(values[0])} (")  # of the common seed alone
    one = RunStore().steps(made.simplematch)[-1]["metrics"]["group_match"]["value"]
    assert row["B − A"].startswith(
        f"{_signed(values[0] - one)} (".replace("-", "−")
    )  # of the common seed alone
    table = both_results(choose(app(RUNS), made.simplematch, made.file))
    assert "p" not in table and "B − A" not in table and table["A"].str.contains("(", regex=False).all()


def test_the_export_of_two_runs_has_the_command_that_prints_their_table(app, made, monkeypatch):  # noqa: F811
    """`crossmatch runs compare` was there, and this page alone did not offer it."""
    given = {}
    monkeypatch.setattr("ui.export_section", lambda *args, **more: given.update(more))
    app(RUNS)
    assert given["command"] == ""  # of no two runs
    for state, chosen in (({"together": "false"}, made.seeds), ({}, [made.group, made.simplematch])):
        for swapped in ("false", "true"):
            table = choose(app(RUNS, swapped=swapped, **state), *chosen).table[0].value
            name, *words = shlex.split(given["command"])
            assert name == "crossmatch" and words[:2] == ["runs", "compare"] and {*words[2:]} == {*chosen}
            printed = CliRunner().invoke(cli, words, catch_exceptions=False).stdout
            row = next(line for line in printed.splitlines() if line.strip().startswith("GroupMatch "))
            cells = [str(cell) for cell in table.set_index("Metric").loc["**GroupMatch**"]]
            assert row.split()[1:] == re.sub("[*\u2060]", "", " ".join(cells)).split()


def test_all_metrics_of_two_runs_are_taken_away_as_csv_latex_and_report(app, made, monkeypatch):  # noqa: F811
    given = {}
    monkeypatch.setattr("ui.export_section", lambda *args, **more: given.update(more))
    choose(app(RUNS, together="false"), *made.seeds)
    latex, report = given["latex"], given["report"]().decode()
    for part in (
        "\\toprule",
        "GroupMatch",
        "A: ",
        "B: ",
        "learning rate 0.0003",
        "They differ only in the seed",
        "of differences Bonett and Price's, paired, with Student's t; p by McNemar's exact test",
        "Holm",
    ):
        assert part in latex
    assert (
        "A: left-right · TTM · seed 1" in report
        and "B: left-right · TTM · seed 0" in report
        and "only in the seed" in report
    )
    choose(app(RUNS), made.group, made.simplematch)
    report = given["report"]().decode()  # of several seeds there was none
    assert "McNemar" not in given["latex"]
    assert "over seeds and groups" in given["latex"] and "over seeds and groups" in report
    assert "Mean of 2 seeds" in report and "B − A" in report and "Accuracy by iteration" in report
    assert made.group in report and "They differ in (A / B): " in report and "<b>x</b>" not in report
    choose(app(RUNS), made.file, made.group)
    report = given["report"]().decode()
    assert "These two runs have different groups" in report and report.count("Gain, after minus before") == 2
    choose(app(RUNS), made.simplematch)
    assert not given["latex"] and given["report"] is None


def test_a_comparison_is_taken_away_as_tables(app, made):  # noqa: F811
    test = choose(app(RUNS, together="false"), *made.seeds)
    labels = [each.label for each in test.get("download_button")]
    assert {"All metrics of both (CSV)", "Both curves (CSV)", "Paired differences (CSV)", "Table (CSV)"} <= {
        *labels
    }
    labels = [each.label for each in choose(app(RUNS), made.simplematch, made.file).get("download_button")]
    assert "Both curves (CSV)" in labels and "Paired differences (CSV)" not in labels  # other groups


def test_both_files_of_two_runs_have_one_vocabulary_whole_p_values_and_the_version(app, made, monkeypatch):  # noqa: F811
    """One said “McNemar p” and `chance`, the other `p` and `A: chance`, and both rounded p."""
    files = {}
    monkeypatch.setattr("ui.export._file_button", lambda label, data, *_, **__: files.update({label: data}))
    choose(app(RUNS, together="false"), *made.seeds)
    whole, tested = (
        pd.read_csv(io.BytesIO(files[f"{name} (CSV)"]())).set_index("metric")
        for name in ("All metrics of both", "Paired differences")
    )
    assert {*whole} <= {*tested} and {"p", "p_holm", "test", "a_name", "a_chance"} <= {*whole}
    same = [
        name for name in whole if name != "unit"
    ]  # one says what is counted, too, which the other has no column of
    pd.testing.assert_frame_equal(whole[same], tested.loc[whole.index, same], check_dtype=False)
    assert all(
        whole_unit == unit.partition("; only_a_right")[0]
        for whole_unit, unit in zip(whole["unit"], tested["unit"], strict=True)
    )
    assert not {"only_a_right", "only_b_right"} & {*whole} and "only_a_right" in {*tested}
    assert list(whole)[-1] == list(tested)[-1] == "crossmatch_version"
    assert whole.loc["IndividualMatch", "test"] == "exact sign test"
    files.clear()
    choose(app(RUNS), made.group, made.simplematch)
    seeds = pd.read_csv(io.BytesIO(files["All metrics of both (CSV)"]()))
    assert {"a_name", "b_name", "crossmatch_version"} <= {*seeds} and "b_sd" not in seeds  # one common seed


def test_the_files_of_a_comparison_are_called_by_both_runs(app, made, monkeypatch):  # noqa: F811
    """They were both-curves.csv and compared-runs-report.html, whichever the two runs were."""
    names = []
    monkeypatch.setattr("ui.export._file_button", lambda label, data, file, *_, **__: names.append(file))
    choose(app(RUNS, together="false"), *made.seeds)
    both = f"{made.seeds[1]}-vs-{made.seeds[0]}"  # the newest is A
    tables = {f"{each}-{both}.csv" for each in ("all-metrics-of-both", "both-curves", "paired-differences")}
    assert {name for name in names if "-vs-" in name} == {*tables, f"compared-runs-{both}-report.html"}


def test_a_run_that_has_not_ended_has_no_result_yet(app, made):  # noqa: F811
    store = RunStore()
    rows = app(RUNS, together="false").dataframe[0].value.set_index("id")
    assert not rows["result"].str.contains("so far").any()
    assert set(rows["status"]) == {"finished"}
    run = store.create("ttm", "half way", store.get(made.seeds[0]).config | {"group": None})
    attempt = store.queue_up(run.id)
    store.append_step(run.id, store.steps(made.seeds[0])[0], attempt)
    rows = app(RUNS, together="false").dataframe[0].value.set_index("id")
    assert (
        rows.loc[run.id, "result"].endswith(", so far") and rows["result"].str.contains("so far").sum() == 1
    )


def test_a_run_that_has_not_come_to_its_end_says_how_far_it_is(app, made):  # noqa: F811
    """The result of a run that was stopped before its first iteration looked like that of a finished one."""
    store = RunStore()
    run = store.create("ttm", "cut", {**store.get(made.seeds[0]).config, "group": None})
    attempt = store.queue_up(run.id)
    store.beat(run.id, attempt, "training", total=10)
    store.append_step(run.id, store.steps(made.seeds[0])[0], attempt)
    store.conclude(run.id, attempt, "stopped")
    row = app(RUNS).dataframe[0].value.set_index("id").loc[run.id]
    assert row["status"] == "stopped 0/10" and row["result"].endswith(", not finished")


def test_all_curves_of_the_table_have_one_scale_that_shows_their_shape(app, made):  # noqa: F811
    table = app(RUNS).dataframe[0]
    column = json.loads(table.proto.columns)["curve"]
    values = [value for curve in table.value["curve"] for value in curve]
    low, high = (column["type_config"][name] for name in ("y_min", "y_max"))
    assert low <= min(values) < low + 10 and high - 10 <= max(values) <= high
    assert column["label"] == "curve" and column["help"].startswith("GroupMatch after every iteration")
    assert f"the lower edge is {low} %, the upper edge {high} %" in column["help"]


def test_a_sweep_beside_a_run_is_compared_by_their_common_seed_without_a_test_of_two_runs(app, made):  # noqa: F811
    test = choose(app(RUNS), made.group, made.simplematch)
    said = text(test).replace("\\", "")
    assert "last iterations" in said and "1 complete seed that both have" in said
    assert "95 % interval" in said and ", over groups), 1 complete seed that" in said
    assert "McNemar" not in said
    assert any("(here seed 0)" in (name or "") for name in drawn(test))  # the curve is not that of two seeds
    (bands,) = (
        found for each in test.caption if (found := each.value.replace("\\", "")).startswith("Bands: ")
    )
    assert bands.startswith("Bands: 95 % interval over groups;") and "standard deviation" not in bands


def test_chart_text_and_table_of_a_comparison_are_of_the_seeds_that_both_have(app, made):  # noqa: F811
    """The text gave the mean of four seeds with the interval of two, the chart drew four, the table had two."""
    store, options = RunStore(), {**SMALL, "lr": 2e-3}
    jobs = seeded(TTMRun.of(SET, MODEL, groups=24, options=options), 4, "g-0e0e0e0e")
    more = [finish(store, "more", job) for job in jobs]
    truth = TTMRun.read(store.get(more[0]).config).load_groups().truth
    ends = np.stack(
        [outcomes(store.scores(run, 2), truth, ["group_match"])["group_match"].value for run in more]
    )
    assert ends[:2].mean() != ends.mean()  # or this would show nothing
    found = Estimate.over_seeds(ends[:2], 50.0)
    test = choose(app(RUNS), made.group, "g-0e0e0e0e")
    said = text(test).replace("\\", "")
    value, low, high = (f"{each:.1f}" for each in (found.value, found.low, found.high))
    line = next(each for each in said.splitlines() if "(here seeds 0–1), last iterations:**" in each)
    assert f"last iterations:** {value} ± " in line and f"(95 % interval {low}–{high}, over seeds" in line
    assert "2 complete seeds that both have" in line
    cell = test.table[0].value.set_index("Metric").loc["**GroupMatch**", "A"].replace("\u2060", "")
    assert cell.startswith(f"{value} ± ") and f"({low}–{high})" in cell
    traces = json.loads(test.get("plotly_chart")[0].proto.spec)["data"]
    (curve,) = (each for each in traces if "(here seeds 0–1)" in (each.get("name") or ""))
    y = curve["y"]
    y = np.frombuffer(base64.b64decode(y["bdata"]), y["dtype"]) if isinstance(y, dict) else y
    assert y[-1] == pytest.approx(found.value)


def test_runs_with_other_groups_have_no_difference(app, made):  # noqa: F811
    test = choose(app(RUNS), made.simplematch, made.file)
    assert "different groups" in text(test)


def test_a_run_on_fewer_groups_of_one_set_is_compared_on_those_of_both(app, made, capsys):  # noqa: F811
    """“Different groups”, though the 12 of one were the first of the 24 of the other."""
    few = finish(RunStore(), "few", TTMRun.of(SET, MODEL, groups=12, options=SMALL))
    for other in (made.simplematch, made.group):
        test = choose(app(RUNS), few, other)
        (warning,) = (each.value.replace("\\", "") for each in test.warning)
        assert "A has 12 groups and B 24 groups; those of A are the first of B." in warning
        assert "on the 12 shared groups" in warning and "adapted on different numbers of groups" in warning
        assert "Each curve" not in warning
        said, shown = text(test).replace("\u2060", ""), both_results(test).loc["**GroupMatch**"]
        assert "GroupMatch on the 12 shared groups: " in said and "same 12 groups" in said
        # The answer stood below a warning and six lines, of which two said one gain.
        heads = [each.value for each in test.markdown if each.value.startswith("**GroupMatch on")]
        assert len(heads) == 1 and said.count("Gains") == 2 and "Gains on the 12 shared groups" in said
        (folded,) = test.expander
        gained = "\n".join(each.value for each in folded.markdown)
        assert "points, on all its 24 groups (in" in gained and "[" not in gained.replace("**", "")
        assert folded.label == "How each of the two gained, and how B − A was tested"
        own = gained.partition("on all its 24 groups")[2].partition("B minus A")[0]
        assert "**B** GroupMatch" in own and "**A** " not in own
        assert said.count("last iterations, on the 12 shared groups:") == (2 if other == made.group else 0)
        assert said.count("(on the 12 shared groups): ") == (0 if other == made.group else 2)
        cli(["runs", "compare", few, other], standalone_mode=False)
        printed = [x for x in capsys.readouterr().out.splitlines() if x.split()[:1] == ["GroupMatch"]][-1]
        for column in ("A", "B", "B − A"):
            assert re.sub("[*\u2060]", "", str(shown[column])).replace("\u00a0", " ") in printed
    said = [
        option.rpartition(" · ")[2] for option in choose(app(RUNS), few).selectbox(key="second_run").options
    ]
    assert said == ["paired test"] * 4 + ["curves only"]  # of the file


ROOM = 1366 - 40 - 15 - 35  # less margins, scroll bar, ticks and frame


def test_the_figure_of_two_runs_that_share_some_groups_ends_where_headline_and_table_do(app, made):  # noqa: F811
    """A ended at 83.3 % in the figure, of all groups, under a headline of 87.5 %, of those that both have."""
    few = finish(RunStore(), "few", TTMRun.of(SET, MODEL, groups=12, options=SMALL))
    for other in (made.simplematch, made.group):
        test = choose(app(RUNS), few, other)
        table = both_results(test)
        (figure,) = test.get("plotly_chart")
        of = {
            trace.get("name"): trace for trace in json.loads(figure.proto.spec)["data"] if trace.get("name")
        }
        for side in "AB":
            (trace,) = (trace for name, trace in of.items() if name.startswith(f"{side}: "))
            assert table.loc["**GroupMatch**", side].startswith(_pct(numbers_in(trace["y"])[-1]))
        order = [str(getattr(each, "value", "")) or each.type for each in test.main]
        title = next(
            i for i, said in enumerate(order) if said.endswith("by iteration on the 12 shared groups**")
        )
        warned = next(i for i, said in enumerate(order) if "those of A are the first of B" in said)
        assert warned < title < [each.type for each in test.main].index("plotly_chart")
        assert any(
            each.label == "Both curves on the 12 shared groups (CSV)" for each in test.get("download_button")
        )
    scores, truth = RunStore().scores(few, 1), TTMRun.read(RunStore().get(few).config).load_groups().truth
    steps = _steps_on(RunStore().get(few), RunStore(), [], 5)
    right = outcomes(scores[:5], truth[:5], ["group_match"])["group_match"].value
    assert steps[1]["metrics"]["group_match"]["value"] == pytest.approx(100 * right.mean())


def test_a_difference_of_one_seed_each_says_that_another_seed_may_change_it(app, made, capsys):  # noqa: F811
    """“B is behind A … p 0.023” of two single seeds stood there as if it were of the settings."""
    told = "One seed of each: p is over the groups alone, and another seed may change the difference."
    other = finish(RunStore(), "lr", TTMRun.of(SET, MODEL, groups=24, options={**SMALL, "lr": 1e-4}))
    for one, second in ((made.simplematch, other), (made.group, other)):  # seed 0 is all that both have
        said = text(choose(app(RUNS), one, second)).replace("\\", "")
        assert said.count(told) == 1 and said.index(told) < said.index("Bands: ")
        cli(["runs", "compare", one, second], standalone_mode=False)
        assert told in capsys.readouterr().out
        cli(["runs", "compare", one, second, "--json"], standalone_mode=False)
        assert json.loads(capsys.readouterr().out)["one_seed"] == told
    job = EvaluationRun.of(SET, MODEL, groups=24)  # a measurement has no seed
    measured = [finish(RunStore(), "measured", job) for _ in range(2)]
    assert "one seed" not in text(choose(app(RUNS), *measured))


def test_the_command_says_a_gain_on_shared_groups_once(made, capsys):  # noqa: F811
    few = finish(RunStore(), "few", TTMRun.of(SET, MODEL, groups=12, options=SMALL))
    cli(["runs", "compare", few, made.simplematch], standalone_mode=False)
    out = capsys.readouterr().out
    assert "Gains, after minus before in points, on all its 24 groups (" in out
    own = out.partition("on all its 24 groups")[2].partition("\n\n")[0].splitlines()[1:]
    assert [line[:3] for line in own] == ["B  "]
    shared = out.partition("Gains on the 12 shared groups")[2].partition("\n\n")[0].splitlines()[1:]
    assert [line[:3] for line in shared] == ["A  ", "B  "]


def test_the_difference_stands_first_in_the_table_of_two_runs_and_what_both_began_with_last(app, made):  # noqa: F811
    """A phone showed “A before, A, B before”, two of them the same, and neither B nor the difference."""
    few = finish(RunStore(), "few", TTMRun.of(SET, MODEL, groups=12, options=SMALL))
    table = both_results(choose(app(RUNS), few, made.simplematch))
    assert list(table) == ["B − A", "p", "p (Holm)", "A", "B", "Chance", "Before"]
    assert list(both_results(choose(app(RUNS), made.group, made.simplematch)))[:3] == [
        "B − A",
        "p",
        "p (Holm)",
    ]


def test_no_column_is_cut_where_runs_are_ticked(app, made):  # noqa: F811
    """“first 100 of 300” was cut to “first 100 of 30”, “TTM, embeddings” by its last letter, and “seed” lay below the
    scroll bar of the page, as did half of the last row below that of the table."""
    for ticked in (0, 1, 2):
        table = choose(app(RUNS, together="false"), *made.seeds[:ticked]).dataframe[0]
        shown, order = json.loads(table.proto.columns), list(table.proto.column_order)
        assert order[:2] == ["set", "result"]  # ticking one had added a column, and taken “before” away
        assert sum(shown[name]["width"] for name in order) <= ROOM
        for name in {"settings", "groups", "seed", "status", "model"} & {*order}:
            whole = [name, *(said for said in table.value[name] if not said.endswith("…"))]
            assert max(map(len, whole)) * 5.6 + 16 <= shown[name]["width"]


@pytest.mark.parametrize("address", [{}, {"columns": "true"}])
def test_the_last_row_lies_above_the_bar_that_scrolls_the_table_sideways(app, made, monkeypatch, address):  # noqa: F811
    """And no sliver of an empty row lies below it where nothing scrolls."""
    given, draw = {}, ui.wide_table
    monkeypatch.setattr("ui.wide_table", lambda *args, **more: (given.update(more), draw(*args, **more))[1])
    rows = len(listed(app(RUNS, **address)))
    assert given["height"] - 35 * (rows + 1) in ([10, 11] if address else [1, 2])


def letters(test) -> dict[str, str]:
    """Of each run in the table the letter that its row begins with."""
    table = test.dataframe[0].value
    begun = zip(table["id"], table["set"], strict=True)
    return {name: said.partition(": ")[0] if ": " in said else "" for name, said in begun}


def test_the_table_marks_the_two_that_are_compared_and_a_list_says_what_one_can_be_compared_by(app, made):  # noqa: F811
    """A and B stood below the table alone, and nothing said which runs have a paired test; then the table had a column
    for it, which moved all others, and which knew of no test over seeds."""
    test = app(RUNS, together="false")
    assert not any(letters(test).values())
    columns = list(test.dataframe[0].proto.column_order)
    test = choose(test, made.seeds[0])
    assert list(test.dataframe[0].proto.column_order) == columns
    assert "Tick a second run" in text(test)
    options = test.selectbox(key="second_run").options
    assert options[0].endswith("paired test") and options[-1].endswith("curves only")
    test = choose(test, *made.seeds)
    kinds = [each.type for each in test.main]
    verdict = next(i for i, each in enumerate(test.main) if "B − A" in str(getattr(each, "value", "")))
    assert verdict < kinds.index("plotly_chart")  # the figure filled the first screen before it
    two = letters(test)
    assert [two[name] for name in made.seeds] == ["B", "A"] and list(two.values()).count("") == len(two) - 2
    assert list(test.dataframe[0].proto.column_order) == columns
    cards = [each.label for each in test.button if each.key and each.key.startswith("open-")]
    marked = [label[2] for label in cards if label[2:5] in ("A\\:", "B\\:")]
    assert marked == ["A", "B"]  # a phone has cards alone
    three = letters(choose(test, *made.seeds, made.wide))
    assert sorted(three[name] for name in (*made.seeds, made.wide)) == ["A", "B", "C"]
    grouped = choose(app(RUNS), made.group).selectbox(key="second_run").options
    assert next(each for each in grouped if "SimpleMatch" in each).endswith("paired test")
    assert "B minus A" in text(choose(app(RUNS), made.group, made.simplematch))


def test_the_older_of_two_is_a_unless_they_are_swapped(app, made):  # noqa: F811
    """The newest was A, so that B minus A below 0 meant that the older one is worse."""
    test = choose(app(RUNS, together="false"), *made.seeds, swapped=False)
    assert [letters(test)[name] for name in made.seeds] == ["A", "B"]
    assert {name for name in drawn(test) if name} == {
        "A: left-right · TTM · seed 0",
        "B: left-right · TTM · seed 1",
    }
    before = next(each.value for each in test.markdown if "B − A" in each.value)
    test = fine(test.toggle(key="swapped").set_value(True).run())
    assert [letters(test)[name] for name in made.seeds] == ["B", "A"]
    after = next(each.value for each in test.markdown if "B − A" in each.value)
    (one, other) = (
        re.search(r"B − A.([+−])([0-9.]+)", said.replace("\u2060", "")) for said in (before, after)
    )
    assert one[2] == other[2] and one[1] != other[1]


def test_a_new_run_begins_here_too(app, made):  # noqa: F811
    """On a phone the way led through the menu of pages alone."""
    test = fine(button(app(RUNS), "New run").click().run())
    assert test.title[0].value == "Test-time matching" and button(test, "Start the run")


def test_a_new_run_from_a_fresh_list_is_on_the_set_where_training_gains(app, made):  # noqa: F811
    """From a bookmark it was on attribute-swap, where nothing is gained; from the menu on left-right."""
    test = fine(button(app(RUNS), "New run").click().run())
    assert test.session_state["set"] == "scenes/left-right" and "Chosen here: training gains there" in text(
        test
    )
    test = app("pages/1_Groups.py", set="scenes/size-swap")
    test = fine(test.switch_page(RUNS).run())
    assert fine(button(test, "New run").click().run()).session_state["set"] == "scenes/size-swap"


def test_the_run_that_ships_can_be_listed_beside_ones_own(app, made):  # noqa: F811
    """The commands list it once it was opened; the page had nothing to compare a first run with."""
    test = app(RUNS)
    before = len(RunStore().list())
    test = fine(button(test, "List the shipped example").click().run())
    assert len(RunStore().list()) == before + 2  # and its controls
    assert not [each for each in test.button if each.label == "List the shipped example"]


def test_a_comparison_says_a_set_once_a_line_and_stands_before_export_and_import(app, made):  # noqa: F811
    test = choose(app(RUNS), made.simplematch, made.file)
    lines = next(each.value for each in test.markdown if each.value.startswith("**A** "))
    for line in lines.splitlines():
        words = line.replace("\\", "").split(" · ")
        assert len({*words}) == len(words)
    said = [each.value if each.type == "header" else getattr(each, "label", "") for each in test.main]
    assert said.index("Compared") < said.index("Metric") < said.index("Table (CSV)")


def test_many_are_chosen_and_deleted_at_once_after_a_question(app, made):  # noqa: F811
    test = choose(app(RUNS), made.group, made.wide, swapped=False)
    fine(button(test, "Delete").click().run())
    assert len(RunStore().list()) == 6
    # They were told apart by their time alone, and the cards have a letter, groups and a seed.
    asked = [each.value for each in test.get("text") if " · seed " in each.value]
    of = letters(test)
    assert len(asked) == 3
    assert sorted(line[:3] for line in asked) == sorted(
        f"{of[name]}: " for name in [made.group] * 2 + [made.wide]
    )
    assert all("groups" in line and datetime.now().strftime(" · %d %b ") in line for line in asked)
    assert "A is the oldest of the ticked runs, the last in this list." in text(test)
    fine(test.button(key="really").click().run())
    assert {run.id for run in RunStore().list()} == {made.simplematch, made.transfer, made.file}
    assert not test.session_state["chosen_runs"] and "runs" not in test.query_params


def test_stop_and_resume_take_those_that_they_apply_to(app, made, monkeypatch):  # noqa: F811
    store = RunStore()
    jobs = [store.get(run_id).config for run_id in made.seeds]
    waiting = store.create("ttm", "waiting", {**jobs[0], "group": None})
    store.queue_up(waiting.id)
    cut = store.create("ttm", "cut", {**jobs[0], "group": None})
    store.conclude(cut.id, store.queue_up(cut.id), "stopped")
    resumed = []
    monkeypatch.setattr("ui.runs.launch", lambda store, run_id, module="": resumed.append(run_id))
    test = choose(app(RUNS), waiting.id, cut.id, made.group)
    fine(button(test, "Stop (1)").click().run())
    assert store.get(waiting.id).status == "stopped"
    fine(button(test, "Resume (2)").click().run())
    assert set(resumed) == {waiting.id, cut.id}


def test_a_run_that_changes_elsewhere_is_drawn_anew_but_not_under_an_open_question(app, made, monkeypatch):  # noqa: F811
    """“stopping” stood in the table for good, and nothing to resume it with."""
    polled = []
    real = st.fragment

    def fragment(function=None, *, run_every=None):
        polled.append((getattr(function, "__name__", ""), run_every))
        return real(function, run_every=run_every) if function else real(run_every=run_every)

    monkeypatch.setattr(st, "fragment", fragment)
    app(RUNS)
    assert "watch" not in dict(polled)  # all have ended, and none can be resumed
    store = RunStore()
    waiting = store.create("ttm", "waiting", {**store.get(made.seeds[0]).config, "group": None})
    attempt = store.queue_up(waiting.id)
    test = app(RUNS)
    assert dict(polled)["watch"] == 2.0
    assert any("waiting" in bar.proto.text for bar in test.get("progress"))
    test = choose(test, waiting.id)
    fine(button(test, "Delete").click().run())
    assert test.session_state["confirming"]
    fine(button(test, "Cancel").click().run())
    assert not test.session_state["confirming"]
    store.conclude(waiting.id, attempt, "stopped")
    assert button(fine(test.run()), "Resume (1)")


def test_the_bars_are_of_the_runs_at_work_before_those_that_wait_for_them(app, made):  # noqa: F811
    """Three newer runs that only waited hid the one that they waited for."""
    store = RunStore()
    config = {**store.get(made.seeds[0]).config, "group": None}
    for number in range(4):
        run = store.create("ttm", f"run {number}", config)
        turn = store.queue_up(run.id)
        if not number:
            assert store.try_start(run.id, turn, 1) == 0
        store.beat(run.id, turn, "queued" if number else "running", message="waits" if number else "training")
    said = [bar.proto.text for bar in app(RUNS).get("progress")]
    assert len(said) == 3 and "training" in said[0] and "waits" in said[1]


def test_a_run_leaves_as_one_file_and_comes_back(app, made, tmp_path):  # noqa: F811
    test = choose(app(RUNS), made.transfer)
    assert any("half" in b.label for b in test.get("download_button"))
    store = RunStore()
    archive = export_run(store, made.transfer, tmp_path / "out.zip")
    steps, scores = store.steps(made.transfer), store.scores(made.transfer, 2)
    store.delete(made.transfer)
    test = app(RUNS)
    test.get("file_uploader")[0].upload("out.zip", archive.read_bytes())
    fine(button(test, "Import").click().run())
    back = next(run for run in RunStore().list() if run.title == "half")
    assert RunStore().steps(back.id) == steps
    np.testing.assert_array_equal(RunStore().scores(back.id, 2), scores)


def test_a_run_that_is_here_is_not_brought_in_a_second_time(app, made, tmp_path):  # noqa: F811
    """Seeds joined the group that they were exported from, which then had each of them twice."""
    archives = [export_run(RunStore(), run, tmp_path / f"{run}.zip").read_bytes() for run in made.seeds]
    runs = {run.id for run in RunStore().list()}
    test = app(RUNS)
    test.get("file_uploader")[0].upload("seeds.zip", archives[0])
    test = fine(button(test, "Import").click().run())
    assert {run.id for run in RunStore().list()} == runs
    for run in made.seeds:
        RunStore().delete(run)
    groups = {}  # of one press
    back = [imported(RunStore(), "seed.zip", archive, groups) for archive in archives]
    assert all(each.is_new for each in back) and len({each.run.config["group"] for each in back}) == 1


def test_a_file_that_is_no_run_is_one_sentence(app, made):  # noqa: F811
    test = app(RUNS)
    test.get("file_uploader")[0].upload("x.zip", b"PK\x03\x04 half of it")
    test = button(test, "Import").click().run()
    assert not test.exception and len(test.error) == 1 and "Traceback" not in test.error[0].value


def test_what_is_ticked_stays_ticked_when_a_new_run_moves_the_rows(app, made):  # noqa: F811
    test = choose(app(RUNS), made.wide)
    config = RunStore().get(made.seeds[0]).config
    RunStore().create("ttm", "newer", {**config, "group": None})
    fine(test.run())
    assert len(listed(test)) == 6 and test.session_state["chosen_runs"] == [made.wide]
    assert app(RUNS, runs=made.wide).session_state["chosen_runs"] == [made.wide]


def test_a_link_to_runs_that_are_gone_says_so_in_one_line(app, made):  # noqa: F811
    gone = "20260101-000000000-0123456789abcdef"
    test = app(RUNS, runs=f"{made.wide},{gone}")
    assert f"1 run of this link is not here (any more): {gone}" in text(test).replace("\\", "")
    assert test.session_state["chosen_runs"] == [made.wide]


def test_two_runs_stand_as_they_do_after_a_reload_below_the_list_which_no_tick_moves(app, made):  # noqa: F811
    """After a reload the comparison stood above the list; a link opens the page at it, see test_browser.py."""

    def order(test):
        return [getattr(each, "label", "") or str(getattr(each, "value", "")) for each in test.main]

    linked = order(app(RUNS, runs=f"{made.group},{made.simplematch}"))
    assert linked == order(choose(app(RUNS), made.group, made.simplematch, swapped=False))
    assert linked.index("New run") < linked.index("Swap A and B")


def test_a_click_on_a_row_opens_the_run(app, made):  # noqa: F811
    test = click(app(RUNS), made.simplematch)
    assert not test.exception and test.session_state["run"] == made.simplematch


def test_there_is_one_export_and_it_holds_the_archives(app, made):  # noqa: F811
    test = app(RUNS)
    assert "Tick runs in the table for more: the whole runs with their models; of two, also" in text(test)
    labels = [b.label for b in choose(test, made.transfer).get("download_button")]
    assert "Table (CSV)" in labels and any("half" in label for label in labels)


def test_one_chosen_run_is_compared_with_a_second_one_that_is_picked(app, made):  # noqa: F811
    test = choose(app(RUNS), made.simplematch)
    labels = [b.label.replace("\\", "") for b in test.get("download_button")]
    assert labels.count("Export this whole run (ZIP)") == 1
    fine(test.selectbox(key="second_run").set_value(made.wide).run())
    assert {*test.session_state["chosen_runs"]} == {made.simplematch, made.wide}
    assert "Compared" in text(test)
    test = choose(app(RUNS), made.simplematch)
    button(test, "Before and after, group by group").click().run()
    assert test.title[0].value == "Compare"
    assert test.selectbox(key="other").value == f"run/{made.simplematch}"


def test_a_run_on_embeddings_has_no_way_to_a_page_that_cannot_show_its_model(app, made):  # noqa: F811
    """Compare opened with two errors: the model scores the rows of its file alone, and no file is compared with it."""
    test = choose(app(RUNS), made.file)
    assert "Before and after, group by group" not in [each.label for each in test.button]


def test_a_model_that_a_run_has_adapted_is_chosen_by_a_name_and_the_address_has_its_id(app, made):  # noqa: F811
    """`run/20261124-031522-…` said to nobody which run it was; only the line below the chosen one did."""
    first, second, name = made.seeds[0], f"run/{made.seeds[1]}", "TTM · left-right · seed {}"
    test = app("pages/2_Matching.py", set=SET, model=f"run/{first}")
    field = test.selectbox(key="model")
    assert field.value == f"run/{first}" and {name.format(s) for s in (0, 1)} <= {*field.options}
    assert not [each for each in field.options if each.startswith("run/")]
    fine(field.set_value(second).run())
    assert "".join(test.query_params["model"]) == second and test.session_state["model"] == second
    fine(test.switch_page("pages/6_Compare.py").run())
    assert test.selectbox(key="model").value == second
    assert {name.format(s) for s in (0, 1)} <= {*test.selectbox(key="other").options}
    fine(test.selectbox(key="other").set_value(f"run/{first}").run())
    said = text(test).replace("\\", "")  # sentences had the id, twice in one of them
    assert name.format(1) in said and name.format(0) in said and "run/2" not in said and first not in said
    captioner = app("pages/3_Debias.py", set=SET, model=second)
    told = text(captioner).replace("\\", "")
    assert f"{name.format(1)} is no captioner" in told and f"the others keep {name.format(1)}." in told
    assert second not in told
    assert "".join(test.query_params["other"]) == f"run/{first}"
    store = RunStore()
    store.rename(first, "My best run")
    store.rename(second.removeprefix("run/"), "My best run")  # which run it is stays clear
    options = fine(test.run()).selectbox(key="model").options
    assert len([each for each in options if each.startswith("My best run · ")]) == 2
    assert len({*options}) == len(options)


def test_one_chosen_run_opens_on_the_test_time_matching_page(app, made):  # noqa: F811
    test = choose(app(RUNS), made.group)
    assert button(test, "Open").click().run().session_state["run"] == made.group
    assert SET in text(app("pages/4_Test-Time_Matching.py", run=made.group)).replace("\\", "")


def test_seeds_of_a_row_are_written_as_spans_and_runs_of_cola_say_what_differs(app):
    store, own = RunStore(), {"benchmark": "scenes/retrieval", "model": "builtin/clip"}
    for seed in (0, 1, 2, 3, 7):
        adapt = {"strategy": "mm-adapter", "epochs": 1, "steps": 20, "seed": seed}
        store.create("adapt", "short", {**own, "adapt": adapt, "group": "g-0123abcd"})
    adapt = {"strategy": "mm-adapter", "epochs": 8, "steps": 150, "lr": 0.001, "mix": "multi", "seed": 0}
    store.create("adapt", "long", {**own, "adapt": adapt})
    table = app(RUNS, columns="true").dataframe[0].value.set_index("seed")
    assert {*table.index} == {"0–3, 7", "0"}
    parts = {seed: set(table.loc[seed, "settings"].split(" · ")) for seed in table.index}
    assert parts["0–3, 7"] == {"1 epoch × 20 steps", "mix single"}
    assert parts["0"] == {"8 epochs × 150 steps", "mix multi", "lr 0.001"}


def test_a_run_of_the_retrieval_page_is_listed_with_its_own_metric_and_opens_there(app, made):  # noqa: F811
    store = RunStore()
    config = {
        "benchmark": "scenes/retrieval",
        "model": "builtin/clip",
        "adapt": {"strategy": "linear", "seed": 3},
    }
    run = store.create("adapt", "cola", config)
    attempt = store.queue_up(run.id)
    for i, value in enumerate((20.0, 31.5)):
        metric = {"value": value, "low": value - 1, "high": value + 1, "chance": 1.0, "ties": 0}
        store.append_step(run.id, {"iteration": i, "metrics": {"cola_map": metric}, "seconds": 2.0}, attempt)
    store.conclude(run.id, attempt, "finished")
    test = app(RUNS)
    row = test.dataframe[0].value.set_index("id").loc[run.id]
    assert (row["kind"], row["seed"], row["mAP after"]) == (
        "Cola, linear",
        "3",
        "31.5 % (30.5–32.5, chance 1.0)",
    )
    assert row["GroupMatch after"] == "–"
    choose(test, run.id)
    state = button(test, "Open").click().run().session_state
    assert state["run"] == run.id and state["view"] == "Train a model"
    assert button(app("pages/4_Test-Time_Matching.py"), "Start the run")


def test_a_strategys_result_is_that_of_the_test_queries_and_says_so(app, made, capsys):  # noqa: F811
    store = RunStore()
    config = {"benchmark": "scenes/retrieval", "model": "builtin/clip", "adapt": {"strategy": "mm-adapter"}}
    run = store.create("adapt", "cola", config)
    attempt = store.queue_up(run.id)

    def of(value):
        return {"value": value, "low": value - 1, "high": value + 1, "chance": 1.0, "ties": 0}

    def record(i, validation, test):
        more = {"test": {"retrieval": {"cola_map": {"all": of(test)}}}} if test else {}
        return {"iteration": i, "metrics": {"cola_map": of(validation)}, "seconds": 2.0, **more}

    def told():
        row = app(RUNS).dataframe[0].value.set_index("id").loc[run.id]
        cli(["runs", "list"], standalone_mode=False)
        lines = capsys.readouterr().out.splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith(run.id))
        return row["before"], row["result"], " ".join(lines[at : at + 2])

    store.append_step(run.id, record(0, 18.6, 26.1), attempt)
    store.append_step(run.id, record(1, 38.0, None), attempt)
    before, result, line = told()
    assert (before, result) == (
        "18.6 % (17.6–19.6) validation mAP",
        "38.0 % (37.0–39.0) validation mAP, chance 1.0, so far",
    )
    assert "18.6  38.0 [37.0, 39.0]" in line and " queued · validation mAP · scenes/retrieval" in line
    store.append_step(run.id, record(2, 41.1, 29.2), attempt)
    store.conclude(run.id, attempt, "finished")
    before, result, line = told()
    assert (before, result) == ("26.1 % (25.1–27.1) test mAP", "29.2 % (28.2–30.2) test mAP, chance 1.0")
    assert "26.1  29.2 [28.2, 30.2]" in line and " test mAP · scenes/retrieval" in line


def test_a_sweep_is_shown_with_all_its_cells(app):
    from core.sweeps._plan import parse_plan
    from core.sweeps.cells import _save_plan

    store = RunStore()
    models = "[builtin/clip, builtin/siglip]"
    plan = parse_plan(f"kind: evaluate\nmodels: {models}\nbenchmarks: [{SET}]\n", "first look")
    _save_plan(store, plan)
    run = store.create("evaluate", "the first cell", plan.cells[0].job.written())
    store.conclude(run.id, store.queue_up(run.id), "failed", "No access; run `hf auth login`.")
    test = app(RUNS)
    assert any(
        each.value.replace("\\", "").endswith("No access; run “hf auth login”.") for each in test.caption
    )
    assert list(test.dataframe[0].value["kind"]) == ["Evaluation"]
    cells = test.dataframe[-1].value
    assert list(cells["model"]) == ["builtin/clip", "builtin/siglip"] and set(cells["seeds"]) == {"0 of 1"}


def test_the_example_says_so_and_keeps_its_date(app, made):  # noqa: F811
    run = example_run(RunStore())
    row = app(RUNS).dataframe[0].value.set_index("id").loc[run.id]
    assert row["kind"] == "TTM, the example that ships"
    with zipfile.ZipFile(ARCHIVE) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith("run.json"))
        assert run.created == json.loads(archive.read(name))["created"]
    assert row["started"] == f"{datetime.fromtimestamp(run.created):%d %b %H:%M}"


def drawn(test):
    """The names of the lines of the first chart."""
    return [trace.get("name") for trace in json.loads(test.get("plotly_chart")[0].proto.spec)["data"]]


def test_a_chance_level_that_the_axis_leaves_out_is_said_below_the_curves():
    values = np.array([[80.0, 76.0, 84.0, 50.0], [81.0, 77.0, 85.0, 50.0]])
    blank = np.full(2, np.nan)
    data = {"A": TTMData(np.arange(2), {"group_match": values}, blank, blank, blank, blank, 1, blank)}
    figure = ttm_compare_figure(data, "group_match")
    assert chance_below(figure, data, "group_match") == (
        " The axis begins at 70 %: the chance level, 50.0 %, is below it."
    )
    near = {"A": data["A"]._replace(metrics={"group_match": values - [20, 20, 20, 0]})}
    assert chance_below(ttm_compare_figure(near, "group_match"), near, "group_match") == ""


def test_the_curves_of_three_runs_lie_over_each_other_with_a_letter_and_a_name_each(app, made):  # noqa: F811
    chosen = [*made.seeds, made.simplematch]
    test = choose(app(RUNS, together="false"), *chosen)
    names = [name for name in drawn(test) if name and ": " in name]
    assert len({*names}) == 3 and sorted(name[0] for name in names) == ["A", "B", "C"]
    # The paired comparison of two went without a word when a third was ticked.
    assert "a paired comparison takes two runs. For one, untick one." in text(test)
    assert "All curves (CSV)" in [d.label for d in test.get("download_button")]
    assert sorted(letters(test)[name] for name in chosen) == ["A", "B", "C"]


def test_curves_of_two_runs_are_named_by_what_sets_them_apart(app, made):  # noqa: F811
    example_run(RunStore())
    names = drawn(choose(app(RUNS), made.simplematch, EXAMPLE_ID))
    assert {name for name in names if name} == {
        "A: once",
        "B: left-right · TTM · seed 0",
    }  # the one was given a name
    names = drawn(choose(app(RUNS, together="false"), *made.seeds))
    assert {name for name in names if name} == {
        "A: left-right · TTM · seed 1",
        "B: left-right · TTM · seed 0",
    }


def test_curves_are_named_by_the_names_that_runs_were_given_and_those_alike_by_what_differs_too(app, made):  # noqa: F811
    store = RunStore()
    for run_id, name in zip((*made.seeds, made.simplematch), ("my idea", "my idea", "baseline"), strict=True):
        store.rename(run_id, name)
    names = drawn(choose(app(RUNS, together="false"), *made.seeds))
    assert {name for name in names if name} == {"A: my idea, seed 1", "B: my idea, seed 0"}
    names = drawn(choose(app(RUNS, together="false"), made.seeds[0], made.simplematch))
    assert {name for name in names if name} == {"A: baseline", "B: my idea"}
    test = choose(app(RUNS, together="false"), *made.seeds, made.simplematch)
    assert {name for name in drawn(test) if name and ": " in name} == {
        "A: baseline, seed 0",
        "B: my idea, TTM, seed 1",
        "C: my idea, TTM, seed 0",
    }


def test_an_export_says_that_runs_at_work_are_not_in_it(app, made):  # noqa: F811
    """“Export 11 runs” left out those at work without a word."""
    store = RunStore()
    waiting = store.create("ttm", "waiting", {**store.get(made.seeds[0]).config, "group": None})
    store.queue_up(waiting.id)
    test = choose(app(RUNS), waiting.id, made.group)
    assert [b.label for b in test.get("download_button") if "3" in b.label] == [
        "Export 2 of 3 whole runs (1 still at work)"
    ]
    assert "Without 1 run that is still at work." in text(test)
    store.request_stop(waiting.id)
    assert "Export 3 whole runs (ZIP)" in [
        b.label for b in choose(app(RUNS), waiting.id, made.group).get("download_button")
    ]


def test_the_final_groupscore_stands_beside_the_result_with_interval_and_chance(app, made, capsys):  # noqa: F811
    """GroupScore was in the table as a gain alone, which has no chance level, and the command had none of it."""
    table, store = app(RUNS).dataframe[0], RunStore()
    shown, rows = json.loads(table.proto.columns), table.value.set_index("id")
    assert shown["result"]["label"] == "GroupMatch, chance 50.0"
    assert shown["GroupScore after"]["label"] == "GroupScore, chance 16.7"
    last = store.steps(made.wide)[-1]["metrics"]["group_score"]
    value, low, high = (f"{last[each]:.1f}" for each in ("value", "low", "high"))
    assert rows.loc[made.wide, "GroupScore after"] == f"{value} % ({low}–{high})"
    assert " ± " in rows.loc[made.group, "GroupScore after"]
    cli(["runs", "list"], standalone_mode=False)
    assert f"GroupScore {value} [{low}, {high}], chance 16.7" in " ".join(capsys.readouterr().out.split())
    cli(["runs", "list", "--json"], standalone_mode=False)
    records = {each["id"]: each for each in json.loads(capsys.readouterr().out)}
    assert records[made.wide]["group_score"]["low"] == last["low"]


def test_a_result_names_its_metric_where_not_all_have_the_same():
    page = runpy.run_path(str(ROOT / RUNS))

    def head(*results):
        frame = pd.DataFrame(results, columns=["metric", "result"])
        return page["result_heads"](frame)["result"]

    run, other, none = (
        ("GroupMatch", "61.7 % (50–72), chance 50.0"),
        ("GroupMatch", "80.0 %, chance 25.0"),
        ("", "–"),
    )
    assert head(run, none, run) == "GroupMatch, chance 50.0"
    assert head(run, other) == "GroupMatch" and head(none) == "result"
    assert head(run, ("test mAP", "40.0 % test mAP, chance 20.2")) == "result"


def test_the_table_fits_a_laptop_and_shows_every_column_on_demand(app, made):  # noqa: F811
    test = app(RUNS)
    shown = json.loads(test.dataframe[0].proto.columns)
    order = list(test.dataframe[0].proto.column_order)
    assert tuple(order[:6]) == FIXED
    assert "settings" not in order and "GroupMatch before" not in order
    assert sum(shown[name]["width"] for name in order) <= ROOM
    order = list(fine(test.toggle(key="columns").set_value(True).run()).dataframe[0].proto.column_order)
    assert {"before", "GroupScore gain", "GroupMatch before", "GroupScore after", "kind", "id"} <= {*order}


def test_a_name_too_long_for_its_column_says_that_it_goes_on_and_all_columns_show_it_whole(app, made):  # noqa: F811
    store = RunStore()
    config = {
        **store.get(made.file).config,
        "group": None,
        "benchmark": "clip_vit_b32_laion2b_embeddings.npz",
    }
    long = store.create("ttm", f"{config['benchmark']} · {config['model']}", config)
    test = app(RUNS)
    assert (
        test.dataframe[0].value.set_index("id").loc[long.id, "set"] == "clip_vit_b…ddings.npz · TTM · seed 0"
    )
    assert any(each.startswith("left-right · ") for each in test.dataframe[0].value["set"])
    rows = fine(test.toggle(key="columns").set_value(True).run()).dataframe[0].value.set_index("id")
    assert rows.loc[long.id, "set"] == "clip_vit_b32_laion2b_embeddings.npz"


def test_every_row_begins_with_the_set_and_what_tells_it_apart_from_others_of_that_set(app, made):  # noqa: F811
    """On a phone all rows began with "scenes/left-right"; on a laptop it was "scenes/attribute-sw…"."""
    plain, config = f"{SET} · {MODEL}", RunStore().get(made.seeds[0]).config | {"group": None}
    for _ in range(2):  # of the same second, too
        RunStore().create("ttm", plain, config)
    begun = list(app(RUNS).dataframe[0].value["set"])
    assert len({*begun}) == len(begun) == 7 and not any("scenes/" in name or "…" in name for name in begun)
    store, config = RunStore(), RunStore().get(made.seeds[0]).config
    other = {**config, "benchmark": "scenes/attribute-swap", "group": None}
    title = f"scenes/attribute-swap · {MODEL}"
    made_now = [store.create("ttm", title, {**other, "groups": count}).id for count in (24, 60)]
    rows = app(RUNS).dataframe[0].value.set_index("id")["set"]
    said = [f"attribute-swap · TTM · seed 0 · {count} groups" for count in (24, 60)]
    assert list(rows[made_now]) == said
    whole = app(RUNS, columns="true").dataframe[0].value.set_index("id")["set"]
    assert {*whole[made_now]} == {"scenes/attribute-swap"}


def test_a_run_has_one_name_whatever_stands_beside_it(app, made):  # noqa: F811
    """It was “left-right”, then “TTM”, then “300 groups, TTM”."""
    store, config = RunStore(), RunStore().get(made.seeds[0]).config | {"group": None}
    for name in (run.id for run in store.list()):
        store.delete(name)
    one = store.create("ttm", f"{SET} · {MODEL}", config).id
    name = "left-right · TTM · seed 0"
    assert app(RUNS).dataframe[0].value.set_index("id").loc[one, "set"] == name
    for other in (config, {**config, "groups": 60}, {**config, "benchmark": "scenes/swap"}):
        store.create("ttm", f"{other['benchmark']} · {MODEL}", other)
        table = app(RUNS).dataframe[0].value.set_index("id")
        assert table.loc[one, "set"].startswith(name) and "…" not in table.loc[one, "set"]
        assert "TTM" not in table.get("settings", pd.Series("")).str.cat()  # the name has it


def test_runs_of_one_set_and_model_are_headed_by_what_tells_them_apart(app, made):  # noqa: F811
    """Two had the heading “left-right · builtin/clip · seed 0 · date”; groups and learning rate stood in small grey
    print."""
    store, own = RunStore(), RunStore().get(made.simplematch).config
    job = {"epochs": 3, "lr": 1e-4}
    config = TTMRun.of(SET, MODEL, groups=40, options={**SMALL, **job}).written()
    ids = [
        store.create("ttm", f"{SET} · {MODEL}", c).id
        for c in (config, {**config, "groups": 60}, {**config, "ttm": {**config["ttm"], "lr": 3e-4}})
    ]
    assert own["benchmark"] == SET
    test = app(RUNS)
    heads = [test.button(key=f"open-{name}").label.replace("\\", "") for name in ids]
    assert ["40 groups" in heads[0], "60 groups" in heads[1], "40 groups" in heads[2]] == [True] * 3
    assert "lr 0.0001" in heads[0] and "lr 0.0003" in heads[2]
    assert not any(re.search(r"\d\d:\d\d", head) for head in heads)  # no date is needed


FIXED = ("set", "result", "gain", "GroupScore after", "GroupScore gain", "started")


def test_the_first_columns_are_the_same_in_every_state(app, made, tmp_path, monkeypatch):  # noqa: F811
    """One more run took gain, state and seed away and brought settings that were empty; one at work took the date."""
    order = lambda: list(app(RUNS).dataframe[0].proto.column_order)  # noqa: E731
    finished = order()
    store, one = RunStore(), RunStore().get(made.simplematch)
    store.create("ttm", f"{SET} · {MODEL}", one.config | {"group": None})  # that waits
    waiting = order()
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path))
    example_run(RunStore())
    shipped = order()
    RunStore().create("ttm", f"{SET} · {MODEL}", one.config | {"group": None})
    assert {tuple(each[:6]) for each in (finished, waiting, shipped, order())} == {FIXED}
    assert "status" in waiting and "status" not in shipped


def test_what_all_runs_share_stands_in_a_line_below_the_table_where_no_column_has_it(app, made):  # noqa: F811
    """Columns of one value took the room of time and iterations."""
    test = app(RUNS)
    order, said = list(test.dataframe[0].proto.column_order), text(test).replace("\\", "")
    assert "All of them: finished" in said and "status" not in order
    assert (f"model {MODEL}" in said.partition("All of them: ")[2].partition(".")[0]) == (
        "model" not in order
    )
    config = RunStore().get(made.seeds[0]).config | {"group": None}
    begun = RunStore().create("ttm", f"{SET} · {MODEL}", config)
    test = app(RUNS)
    RunStore().delete(begun.id)  # of the runs that other tests count
    assert "status" in [*test.dataframe[0].proto.column_order]  # one that has not ended is looked for
    assert "All of them: finished" not in text(test)


@pytest.mark.parametrize(
    ("models", "seeds", "without"),
    [
        ((MODEL, MODEL), (0, 0), {"model", "seed", "status"}),
        ((MODEL, f"{MODEL}-details"), (0, 0), {"model", "seed", "status"}),  # the names have it
        ((MODEL, f"{MODEL}-details", *[MODEL] * 6), range(8), {"status"}),
    ],
)
def test_groups_time_and_iterations_have_their_columns_on_a_laptop(models, seeds, without):
    """They were seen on a wide screen alone, while a column said of every run that it was finished."""
    page = runpy.run_path(str(ROOT / RUNS), run_name="runs")
    result = "62.5 % (45.8–77.3){}, chance {}"
    rows = [
        {"status": "finished", "groups": "40 of 300", "gain": "−7.5 (−19.7 to +5.4)", "metric": "GroupMatch",
         "GroupScore gain": "+27.5 (+10.9 to +41.5)", "before": "70.0 % (53.5–83.4)", "curve": [1.0, 2.0],
         "result": result.format(" GroupMatch", "50.0"), "GroupScore after": result.format("", "16.7"),
         "time": "1 min 20 s", "iterations": "10 of 10", "seed": str(seed), "set": SET, "model": model,
         "called": f"left-right · TTM · seed {seed}", "started": datetime(2026, 11, 28, 7, 10, at)}
        for at, (model, seed) in enumerate(zip(models, seeds, strict=True))
    ]  # fmt: skip
    _, widths = page["fitted"](pd.DataFrame(rows))
    assert {"groups", "time", "iterations", "curve"} <= {*widths} and sum(widths.values()) <= ROOM
    assert not without & {*widths}


def test_a_mean_of_seeds_that_agree_has_its_deviation_of_0():
    """Beside neighbours with “±” it had none, as if it were of one seed."""
    found = _Result(60.0, None, None, 50.0, 0, 0.0, 2)
    assert [spread(found), spread(found._replace(sd=None))] == ["60.0 ± 0.0 %", "60.0 %"]


def test_every_archive_in_the_export_has_its_letter_and_what_tells_it_apart(app, made):  # noqa: F811
    """Two runs of one set had two buttons of one name."""
    store, config = RunStore(), RunStore().get(made.seeds[0]).config
    title = f"{MODEL} on {SET}"  # as a command named it
    for lr in (3e-4, 7e-5):
        store.create("ttm", title, {**config, "group": None, "ttm": {**config["ttm"], "lr": lr}})
    newer, older, *_ = listed(app(RUNS))
    said = text(choose(app(RUNS), newer, older)).replace("\\", "")
    assert f"A: {SET} · {MODEL} · lr 7e-05" in said and f"B: {SET} · {MODEL} · lr 0.0003" in said
    assert "Without 2 runs that are still at work" in said


def test_archives_of_several_runs_are_one_file_below_the_others_and_come_back(app, made):  # noqa: F811
    """Two groups of seeds had seven buttons, above the table and the pictures."""
    test = choose(app(RUNS), made.group, made.simplematch)
    labels = [each.label for each in test.get("download_button")]
    (archives,) = [label for label in labels if "rchive" in label]
    assert archives == "Archives of 3 runs, one file (ZIP)"
    assert labels.index(archives) > labels.index("Table (CSV)") and labels.index(archives) == len(labels) - 1
    page = runpy.run_path(str(ROOT / RUNS), run_name="runs")
    names = page["_archive_names"](
        [SeedGroup(made.group, [RunStore().get(each) for each in made.seeds]),
         SeedGroup(made.simplematch, [RunStore().get(made.simplematch)])]
    )  # fmt: skip
    first = f"A-seed-0-crossmatch-run-{made.seeds[0]}.zip"
    assert next(iter(names)) == first and f"B-crossmatch-run-{made.simplematch}.zip" in names
    whole, store = page["packed_together"](names), RunStore()
    test, count = app(RUNS), len(store.list())
    test.get("file_uploader")[0].upload("crossmatch-3-runs.zip", whole)
    fine(button(test, "Import").click().run())
    assert len(RunStore().list()) == count  # they are here already: imported again, a seed would count twice
    one = page["packed"](made.simplematch)
    assert page["archives_in"]("one.zip", one) == [("one.zip", one)]
    assert page["archives_in"]("no.zip", b"no zip") == [("no.zip", b"no zip")]
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as whole:
        whole.writestr("run.zip", bytes(1 << 20))
    assert page["archives_in"]("bomb.zip", bomb.getvalue()) == [("bomb.zip", bomb.getvalue())]


def test_every_finished_run_has_its_gain_with_the_interval_of_its_page(app, made, monkeypatch):  # noqa: F811
    """A run was read as a plain loss: the table had before and after, and their intervals overlap in any case."""
    rows, store = app(RUNS).dataframe[0].value.set_index("id"), RunStore()

    def expected(runs, metric):
        truth = TTMRun.read(store.get(made.seeds[0]).config).load_groups().truth
        ends = [
            [outcomes(store.scores(run, at), truth)[metric].value.astype(float) for run in runs]
            for at in (0, 2)
        ]
        found = Comparison.over_seeds(*map(np.stack, ends))
        return f"{_signed(found.difference)} ({_signed(found.low)} to {_signed(found.high)})".replace(
            "-", "−"
        )

    for name, runs in ((made.wide, [made.wide]), (made.group, made.seeds)):
        assert rows.loc[name, "gain"] == expected(runs, "group_match")
    whole = app(RUNS, columns="true").dataframe[0].value.set_index("id")
    assert whole.loc[made.group, "GroupScore gain"] == expected(made.seeds, "group_score")
    untrained = finish(store, "measured", EvaluationRun.of(SET, MODEL, groups=24))
    cut = store.create("ttm", "cut", {**store.get(made.wide).config, "group": None})
    measured = []
    monkeypatch.setattr("core.exchange.run_gains.changes", lambda *args: measured.append(args))
    rows = app(RUNS).dataframe[0].value.set_index("id")
    assert rows.loc[untrained, "gain"] == rows.loc[cut.id, "gain"] == "–"
    assert rows.loc[made.wide, "gain"] != "–" and not measured  # each is measured once


def test_runs_on_files_with_long_names_begin_with_both_ends_of_the_name_and_their_settings(app, made):  # noqa: F811
    """Two runs on one file were "clip_vit_b32_laio… · 23:58:51" and the like."""
    store, name = RunStore(), "clip_vit_b32_laion2b_embeddings.npz"
    config = {**store.get(made.file).config, "group": None, "benchmark": name}
    for lr in (1e-3, 3e-3):
        store.create("ttm", f"{name} · embeddings", {**config, "ttm": {**config["ttm"], "lr": lr}})
    begun = [each for each in app(RUNS).dataframe[0].value["set"] if each.startswith("clip")]
    assert begun == [f"clip_vit_b…ddings.npz · TTM · seed 0 · lr {lr}" for lr in (0.003, 0.001)]


def test_a_run_at_work_has_no_gain_yet_and_says_that_it_is_still_running(app, made, capsys):  # noqa: F811
    store = RunStore()
    config = {**store.get(made.seeds[0]).config, "benchmark": "scenes/swap", "group": None}
    run = store.create("ttm", "scenes/swap · builtin/clip", config)
    attempt = store.queue_up(run.id)
    for step in store.steps(made.seeds[0])[:2]:
        store.append_step(run.id, step, attempt, total=2, started=0.0)
    test = choose(app(RUNS), run.id, made.simplematch)
    said = "no gain yet: waits for its turn"
    assert said in text(test) and "no gain that is tested" not in text(test)
    cli(["runs", "compare", made.simplematch, run.id], standalone_mode=False)
    assert said in capsys.readouterr().out


def test_two_runs_on_different_groups_have_their_gains_side_by_side(app, made):  # noqa: F811
    test = choose(app(RUNS), made.wide, made.file)
    rows = test.dataframe[0].value.set_index("id")
    said = next(each.value for each in test.markdown if each.value.startswith("Gains, after minus before"))
    a, b = (rows.loc[name, "gain"] for name in (made.file, made.wide))
    assert f"**A** GroupMatch {a}; GroupScore" in said and f"**B** GroupMatch {b}; GroupScore" in said
    same = choose(app(RUNS), made.wide, made.simplematch)
    assert not any(each.value.startswith("Gains, after") for each in same.markdown)


def test_titles_of_commands_and_strategies_are_said_in_the_order_of_the_pages():
    config = {"benchmark": SET, "model": MODEL}
    titles = {
        f"{MODEL} on {SET}": f"{SET} · {MODEL}",
        f"{MODEL} · {SET} · ttm · seed 0": f"{SET} · {MODEL} · ttm · seed 0",
        f"{SET} · {MODEL}": f"{SET} · {MODEL}",
        "mine": "mine",
    }
    for given, said in titles.items():
        assert title_of(SeedGroup("x", [SimpleNamespace(title=given, config=config)])) == said
    own = SimpleNamespace(
        title=f"linear on {MODEL}, {SET}", config={**config, "adapt": {"strategy": "linear"}}
    )
    assert title_of(SeedGroup("x", [own])) == f"{SET} · {MODEL} · linear"


def test_settings_name_the_kind_where_there_are_several(app, made):  # noqa: F811
    store = RunStore()
    config = store.get(made.seeds[0]).config
    rare = store.create("ttm", "rare", {**config, "group": None, "ttm": {**config["ttm"], "lr": 7e-5}})
    rows = app(RUNS, columns="true").dataframe[0].value.set_index("id")
    assert rows.loc[rare.id, "settings"].startswith("TTM · lr 7e-05")  # what tells runs apart is first
    assert rows.loc[made.simplematch, "settings"].startswith("SimpleMatch")


def test_two_runs_of_different_sets_say_so_first_and_are_named_by_their_sets(app, made):  # noqa: F811
    store = RunStore()
    config = {**store.get(made.seeds[0]).config, "benchmark": "scenes/attribute-swap", "group": None}
    other = store.create("ttm", f"{config['model']} on scenes/attribute-swap", config)
    attempt = store.queue_up(other.id)
    for record in store.steps(made.seeds[0]):
        store.append_step(other.id, record, attempt)
    test = choose(app(RUNS, together="false"), made.seeds[0], other.id)
    (warning,) = (each.value.replace("\\", "") for each in test.warning)
    assert f"different groups, scenes/attribute-swap and {SET}." in warning
    assert {name for name in drawn(test) if name} == {
        "A: attribute-swap · TTM · seed 0",
        "B: left-right · TTM · seed 0",
    }


def test_the_table_of_both_curves_says_which_spread_it_has(made):  # noqa: F811
    """Standard deviations of seeds stood in the columns of intervals."""
    table = runpy.run_path(str(ROOT / RUNS), run_name="runs")["curve_table"]
    at, nothing = np.arange(2), np.full(2, np.nan)
    one = TTMData(
        at, {"group_match": np.array([[60, 50, 70, 50], [200 / 3, 55, 75, 50]])}, *(nothing,) * 4, 1, nothing
    )
    several = TTMData(at, {"group_match": np.array([[60, 60, 60, 50], [62, 60, 64, 50]])}, *(nothing,) * 4, 1, nothing,
                      np.array([3, 3]))  # fmt: skip
    both = {"A": one, "B": several}
    drawn = several._replace(metrics={"group_match": np.array([[60, 51, 69, 50], [62, 53, 71, 50]])})
    told = table(both, {"A": one, "B": drawn}).set_index(["run", "iteration"])
    assert told.loc[("B", 1), ["low", "high", "sd"]].tolist() == [53, 71, 2]
    found = table(both, both).set_index(["run", "iteration"])  # without a truth
    assert found.loc[("A", 1), ["value", "low", "high", "seeds"]].tolist() == [200 / 3, 55, 75, 1]
    assert found.loc["A", "sd"].isna().all() and found.loc["B", ["low", "high"]].isna().all().all()
    assert found.loc[("B", 1), ["value", "sd", "chance", "seeds"]].tolist() == [62, 2, 50, 3]


@pytest.mark.parametrize("files", [None, {"a.txt": "a"}, {"run/manifest.json": "{}"}, {"../a": "a"}])
def test_a_broken_archive_is_named_as_its_visitor_named_it(files):
    """It was the server's temporary path, and what a command wrote."""
    content = io.BytesIO(b"no zip")
    if files is not None:
        with zipfile.ZipFile(content, "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
    with pytest.raises(InputError) as raised:
        imported(RunStore(), "mine.zip", content.getvalue(), {})
    said = str(raised.value)
    assert (
        "mine.zip" in said and "tmp" not in said and "run.zip" not in said and "crossmatch export" not in said
    )


def test_while_something_is_to_come_no_0_seconds_are_left():
    assert _time_left(0.3) == "a moment left" and _time_left(1.2) == "1 s left"
    assert _left(0.2) == ", a moment left" and _left(130.0, " for all") == ", about 2 min 10 s left for all"
    assert _left(7.4) == ", about 7 s left" and _left(57.0) == ", about 55 s left"


def test_a_run_that_begins_says_how_long_it_takes(made, monkeypatch):  # noqa: F811
    """“queued, starting” was all for a minute."""
    store = RunStore()
    run = replace(store.get(made.seeds[0]), id="fresh", status="queued", done=0, message="starting")
    said = _working_line([replace(run, seconds_left=None)], [replace(run, seconds_left=None)])
    assert re.fullmatch(r"starting; it takes (under a minute|about \d+ (s|min) to \d+ (s|min))", said)
    later = replace(run, done=1, message="iteration 1", seconds_left=None)
    assert _working_line([later], [later]) == "iteration 1"


def test_a_phone_s_field_of_runs_keeps_what_tells_them_apart(made):  # noqa: F811
    """“… · all 300…” and “· seed …” were cut, and stood behind a model that all had; then “learning rate 0…”."""
    one = RunStore().get(made.seeds[0])
    runs = [replace(one, id=name) for name in "abcd"]
    listed = [SeedGroup(run.id, [run]) for run in runs]
    short = one.config["model"].removeprefix("builtin/")
    labels = {
        "a": f"swap · {short} · T 4 · 27 Nov 20:41 · all 300 groups · seed 0",
        "b": f"swap · {short} · T 4 · 27 Nov 20:42 · all 300 groups · seed 1",
        "c": f"swap · {short} · T 4 · 27 Nov 20:43 · 100 groups · seed 1",
        "d": f"swap · {short} · T 4 · 27 Nov 20:44 · 100 groups · seed 1",
    }
    assert _on_a_phone(labels, listed) == {
        "a": "swap · seed 0 · 27 Nov 20:41",
        "b": "swap · seed 1 · 27 Nov 20:42",
        "c": "swap · seed 1 · 27 Nov 20:43",
        "d": "swap · seed 1 · 27 Nov 20:44",
    }


def test_a_run_that_took_less_than_a_second_did_not_take_0_seconds():
    """A run on embeddings had “0 s” in the table."""
    assert [duration(s) for s in (0.02, 0.31, 0.94, 0.96, 0.0, 61)] == [
        "under 0.1 s", "0.3 s", "0.9 s", "1 s", "0 s", "1 min 1 s",
    ]  # fmt: skip


def test_the_legend_names_the_seeds_wherever_they_differ(app, made):  # noqa: F811
    """Four seeds with one threshold and one seed with another one were told apart by the threshold alone."""
    job = TTMRun.of(SET, MODEL, groups=24, options={**SMALL, "lr": 1e-4, "seed": 1})
    other = finish(RunStore(), f"{SET} · {MODEL}", job)
    names = [name for name in drawn(choose(app(RUNS), made.group, other)) if name]
    assert any("seeds 0–1" in name for name in names) and any("seed 1" in name for name in names)
    assert all("lr" in name and "epoch" not in name for name in names), names  # and nothing that both have


def test_the_command_compares_two_as_the_page_does(app, made, capsys):  # noqa: F811
    test = choose(app(RUNS), made.group, made.simplematch)  # the newer one is A
    shown = both_results(test).loc["**GroupMatch**"]

    def told(*names):
        cli(["runs", "compare", *names], standalone_mode=False)
        return capsys.readouterr().out

    plain = told(made.simplematch, made.group)
    verdict = next(each.value for each in test.markdown if each.value.startswith("**GroupMatch: "))
    verdict = re.sub(
        r"\b([AB]) \([^)]*\)", r"\1", verdict
    )  # the page names both, the command in lines of their own
    assert plain.splitlines()[0] == re.sub("[*\u2060]", "", verdict).replace("\u00a0", " ")
    row = next(line for line in plain.splitlines() if line.lstrip().startswith("GroupMatch "))
    for column in ("A", "B", "B − A", "p (Holm)"):
        assert shown[column].replace("\u00a0", " ") in row
    found = json.loads(told(made.simplematch, made.group, "--json"))
    assert _pct(found["metrics"]["group_match"]["b"]["low"]) in shown["B"]
    assert "\\toprule" in told(*made.seeds, "--latex")
    apart = told(made.simplematch, made.file)
    assert apart.startswith("These two runs have different groups") and "p (Holm)" not in apart
    for names in ((made.group, made.group), (made.group, "g-none")):
        with pytest.raises(InputError):
            told(*names)


def test_seeds_that_are_not_complete_are_counted_out_of_a_comparison_and_it_is_said(app, made, capsys):  # noqa: F811
    """“seeds 0–2” stood above a verdict of seed 0 alone: the others had been stopped."""
    store, job = RunStore(), TTMRun.of(SET, MODEL, groups=24, options={**SMALL, "lr": 1e-5})
    first, second, third = seeded(job, 3, "g-0c0c0c0c")
    finish(store, f"{SET} · {MODEL} · seed 0", first)
    for each in (second, third):
        cut = store.create("ttm", f"{SET} · {MODEL} · seed {each.seed}", each.written())
        attempt = store.queue_up(cut.id)
        store.append_step(cut.id, store.steps(made.seeds[0])[0], attempt)
        store.arrays_path(cut.id, 0).parent.mkdir(exist_ok=True)
        shutil.copy(store.arrays_path(made.seeds[0], 0), store.arrays_path(cut.id, 0))
        store.conclude(cut.id, attempt, "stopped")

    def told(*names):
        cli(["runs", "compare", *names], standalone_mode=False)
        return capsys.readouterr().out

    line = "A: 2 seeds; B: 1 of 3 seeds complete; compared over seed 0 alone, complete in both."
    plain = told(made.group, "g-0c0c0c0c")
    assert line in plain and "of seed 0, which both have, over groups" in plain
    assert line in told(made.group, "g-0c0c0c0c", "--latex")
    found = json.loads(told(made.group, "g-0c0c0c0c", "--json"))
    assert found["seeds"] == {"a": [0, 1], "b": [0], "compared": [0]} and found["seeds_line"] == line
    # “A and B have the same result in every group” stood two lines above +0.5 points over all seeds.
    assert plain.startswith("GroupMatch: with seed 0 alone, ") and found["verdict"].startswith(
        "GroupMatch: with seed 0 alone, "
    )
    assert "seed 0 alone" not in told(*made.seeds)
    shown = text(choose(app(RUNS), made.group, "g-0c0c0c0c")).replace("\\", "")
    assert "**GroupMatch: with seed 0 alone, " in shown
    assert "A: 1 of 3 seeds complete; B: 2 seeds; compared over seed 0 alone" in shown
    # Nothing in common, everything, and two runs that are no seeds.
    alone = next(run.id for run in store.list() if run.config.get("group") == "g-0c0c0c0c" and not run.done)
    nothing = told(made.group, alone)
    assert nothing.startswith("There is no paired test") and "no complete seed in common" in nothing
    assert "seed 0 alone, complete in both" in told(made.group, made.simplematch)
    longer = finish(store, "longer", TTMRun.of(SET, MODEL, groups=24, options={**SMALL, "iterations": 3}))
    assert "last iterations (A after 2, B after 3)" in told(made.seeds[0], longer)
    assert "after 2" not in told(*made.seeds)
    assert "complete" not in told(*made.seeds)


def test_seeds_that_one_side_lacks_are_run_by_a_button_and_both_stay_ticked(app, made, monkeypatch):  # noqa: F811
    """It said only that the test is of the shared ones."""
    started = []
    monkeypatch.setattr(
        engine, "launch", lambda store, run_id, *_: started.append(run_id) or store.get(run_id)
    )
    test = choose(app(RUNS), made.group, made.simplematch, swapped=False)
    labels = [each.label for each in test.button if each.label.startswith("Run seed")]
    (label,) = labels  # SimpleMatch has seed 0 alone
    assert re.fullmatch("Run seed 1 of [AB]", label)
    test = fine(button(test, label).click().run())
    store = RunStore()
    (new,) = map(store.get, started)
    assert new.kind == "simplematch" and seed_of(new) == 1
    assert {*test.session_state["chosen_runs"]} == {made.group, f"g-{made.simplematch}"}
    assert not [each for each in test.button if each.label.startswith("Run seed")]
    other = store.create(
        "ttm", "not here", {**store.get(made.seeds[0]).config, "group": None, "model": "/gone/model"}
    )
    assert not [
        each for each in choose(app(RUNS), made.group, other.id).button if each.label.startswith("Run seed")
    ]


def test_a_verdict_over_seeds_says_so_far_while_some_are_at_work(app, made):  # noqa: F811
    """It stood there as if all seeds had ended."""
    store = RunStore()
    config = json.loads(json.dumps(store.get(made.seeds[0]).config))
    config["ttm"]["seed"] = 2
    run = store.create("ttm", f"{SET} · {MODEL} · seed 2", config)
    attempt = store.queue_up(run.id)
    page = "pages/4_Test-Time_Matching.py"
    said = [text(choose(app(RUNS), made.group, made.simplematch)), text(app(page, run=made.group))]
    assert re.search(r"\*\*So far, with 1 seed of [AB] at work, GroupMatch: with seed 0 alone, ", said[0])
    assert "**So far,** of 2 of 3 seeds; the others are still to come:" in said[1]
    store.conclude(run.id, attempt, "stopped")
    for test in (choose(app(RUNS), made.group, made.simplematch), app(page, run=made.group)):
        assert "So far" not in text(test)


def test_a_run_s_rename_field_is_closed_once_its_name_is_saved(app, made):  # noqa: F811
    """It stayed open above the list that had the new name already."""
    test = choose(app(RUNS), made.simplematch)
    test.session_state[opened := f"rename-opened-{made.simplematch}"] = True
    test.text_input(key=f"name-{made.simplematch}").set_value("renamed here")
    fine(next(each for each in test.button if each.label == "Save").click().run())
    assert RunStore().get(made.simplematch).title == "renamed here"
    assert test.session_state[opened] is False


def test_a_run_that_was_repeated_is_said_to_be_the_same_and_not_only_not_told_apart(app, made, capsys):  # noqa: F811
    """“This comparison cannot tell A and B apart”, with an interval of ±0.7, of one run and its copy."""
    store = RunStore()
    again = finish(store, "again", TTMRun.read(store.get(made.seeds[0]).config))
    cli(["runs", "compare", made.seeds[0], again], standalone_mode=False)
    said = capsys.readouterr().out
    assert "GroupMatch: A and B have the same result in every group" in said and "apart" not in said
    assert "another seed may change the difference" not in said  # there is no p, and no difference
    # Below it stood a column of “+0.0 (−2.8 to +2.8)” and p = 1.
    assert "p (Holm)" not in said and "B − A is 0 by every metric" in said and "95 % intervals" in said
    test = choose(app(RUNS, together="false"), made.seeds[0], again)
    assert list(both_results(test))[:3] == ["A", "B", "Chance"]
    assert any("B − A is 0 by every metric" in each.value for each in test.caption)
    # A run's own p is corrected for 2 tests, this one for 5, and no page said why.
    assert any(each.value == f"p is corrected for 5 metrics. {_WHY_ALL}" for each in test.caption)


def test_a_legend_names_a_file_once_and_whole():
    """“A: clip_vit_…ings.npz · TTM · seeds 0–1 · clip_vit_b32_laion2b_embeddings.npz” it was."""
    with_own = runpy.run_path(str(ROOT / RUNS), run_name="runs")["_with_own"]
    whole = "clip_vit_b32_laion2b_embeddings.npz"
    assert with_own("clip_vit_…ings.npz · TTM · seeds 0–1", whole) == f"{whole} · TTM · seeds 0–1"
    assert with_own("left-right · TTM", "scenes/left-right, 5 epochs") == "left-right · TTM · 5 epochs"


def test_several_ticked_runs_are_exported_beside_the_other_ways_on(app, made):  # noqa: F811
    """Their archives lay in the menu below the comparison alone."""
    test = choose(app(RUNS), made.simplematch, made.wide)
    assert "[See them compared ↓](#compared)" in text(test)
    labels = [each.proto.label for each in test.get("download_button")]
    assert "Export 2 whole runs (ZIP)" in labels
    one = choose(app(RUNS), made.wide)
    labels = [each.proto.label.replace("\\", "") for each in one.get("download_button")]
    assert "Export this whole run (ZIP)" in labels and not any(
        label.startswith("Export 2") for label in labels
    )


def cards(test):
    """By metric the names and values of its card, as a phone shows it."""
    (drawn,) = [each.body for each in test.get("html") if "cm-metric-cards" in each.body]
    found = {}
    for part in drawn.split("<section>")[1:]:
        pairs = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", part)
        clean = {name: value.replace("\u00a0", " ").replace("\u2060", "") for name, value in pairs}
        found[re.search("<b>(.*?)</b>", part)[1]] = clean
    return found


def test_on_a_phone_two_runs_have_a_card_per_metric_with_b_and_chance_in_sight(app, made):  # noqa: F811
    """The table was cut on A's values: B and chance took a swipe, and two columns of p the room."""
    test = choose(app(RUNS, together="false"), *made.seeds)
    row, card = both_results(test).loc["**GroupMatch**"], cards(test)["GroupMatch"]
    assert list(card)[:5] == ["A", "B", "B − A", "p", "Chance"]
    assert [card[name] for name in ("A", "B", "B − A", "Chance")] == list(row[["A", "B", "B − A", "Chance"]])
    assert card["p"] == f"{row['p (Holm)']} after Holm’s correction, {row['p']} alone"
    apart = cards(choose(app(RUNS), made.simplematch, made.file))  # nothing is tested
    assert list(apart["GroupMatch"])[:3] == ["A", "B", "Chance"]


def test_that_a_result_is_not_the_last_one_stands_whole_in_its_cell(app, made):  # noqa: F811
    """“, so far” was cut: the column had the width that finished results need."""
    store, words = RunStore(), "GroupMatch, chance 16.7, so far"
    begun = store.create("ttm", "half", {**store.get(made.seeds[0]).config, "group": ""})
    attempt = store.queue_up(begun.id)
    for step in store.steps(made.seeds[0])[:2]:
        store.append_step(begun.id, step, attempt)
    table = app(RUNS, together="false").dataframe[0]
    store.delete(begun.id)  # of the runs that other tests count
    row = table.value.set_index("id").loc[begun.id]
    shown = json.loads(table.proto.columns)
    assert words[-8:] in row["result"] or "not finished" in row["result"]
    assert shown["result"]["width"] >= max(map(len, table.value["result"])) * 5.6 + 16
    assert sum(shown[name]["width"] for name in table.proto.column_order) <= ROOM


def test_a_group_of_seeds_that_is_to_be_explained_is_told_its_runs(made):  # noqa: F811
    with pytest.raises(InputError, match="one run is explained at a time") as error:
        cli(["runs", "explain", made.group], standalone_mode=False)
    assert all(f"{run} (seed {i})" in str(error.value) for i, run in enumerate(made.seeds))


def test_the_command_says_of_a_stopped_run_that_its_number_is_no_result(made):  # noqa: F811
    """`runs list` printed “70.7 [65.2, 75.8]” in the column “result” of a run that was stopped at 1 of 10."""
    store = RunStore()
    whole = store.get(made.seeds[0])
    cut = store.create("ttm", "cut short", {**whole.config, "group": None})
    attempt = store.queue_up(cut.id)
    for record in store.steps(whole.id)[:2]:
        store.append_step(cut.id, record, attempt)
    store.request_stop(cut.id)
    listed = replace(store.get(cut.id), status="stopped", done=1, total=10)
    found = _Listed.of(SeedGroup(cut.id, [listed]), store, {})
    assert re.fullmatch(r"stopped at 1: \d+\.\d( \[.+\])?", found.cells[2])
    done = _Listed.of(SeedGroup(whole.id, [whole]), store, {})
    assert "stopped" not in done.cells[2]


def test_two_runs_are_not_judged_while_one_of_them_is_at_work(app, made, capsys):  # noqa: F811
    """At iteration 1 of 30, B was “behind A … p < 0.001 after Holm's correction”."""
    store = RunStore()
    config = {**store.get(made.seeds[0]).config, "seed": 7, "group": None}
    run = store.create("ttm", "half way", config)
    attempt = store.queue_up(run.id)
    source = store.folder(made.seeds[0])
    for step in store.steps(made.seeds[0])[:2]:
        shutil.copytree(source, store.folder(run.id), dirs_exist_ok=True)
        store.append_step(run.id, step, attempt, total=30, started=0.0)
    test = choose(app(RUNS), made.simplematch, run.id, swapped=False)
    said = text(test).replace("\\", "")
    levels = [
        store.steps(each)[at]["metrics"]["group_match"]["value"]
        for each, at in ((made.simplematch, -1), (run.id, 1))
    ]
    assert f"So far (B is at iteration 1 of 30): GroupMatch A {_pct(levels[0])} %" in said
    assert f", B {_pct(levels[1])} %" in said and "Once it is over, it is tested" in said
    assert not {"p", "p (Holm)", "B − A"} & {*test.table[0].value.columns}
    assert "corrected" not in said and "cannot tell" not in said and "B minus A" not in said

    def told(*options):
        cli(["runs", "compare", made.simplematch, run.id, *options], standalone_mode=False)
        return capsys.readouterr().out

    assert told().startswith("So far (B is at iteration 1 of 30): GroupMatch A ")
    assert "Holm" not in told() and "p of the paired test" not in told()
    record = json.loads(told("--json"))
    assert record["verdict"] is None and record["so_far"].startswith("So far (B is")
    latex = told("--latex")
    assert "So far (B is at iteration 1 of 30)" in latex and "Holm" not in latex
    page = _report_of_runs([SeedGroup.named(store, name) for name in (made.simplematch, run.id)], store)
    assert "So far (B is at iteration 1 of 30)" in page and "B − A" not in page
    store.delete(run.id)
