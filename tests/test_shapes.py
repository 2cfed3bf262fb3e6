"""Benchmarks that mix shapes: said before a run is launched, and a run of one shape takes that shape's groups."""

import numpy as np
import pytest
import test_readers

from core.base.errors import InputError
from core.datasets.shapes import check_one_shape, of_shape
from core.runs.store import RunStore
from core.ttm import run as jobs

NAME = "crepe/systematicity-atom-cc12m"  # two groups, of 6 and of 3 captions, in the sample


@pytest.fixture
def mixed(tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("core.datasets.base.Benchmark._check", lambda *a: None)
    test_readers.crepe(tmp_path / "data" / "crepe")
    from core import datasets

    shapes = sorted(datasets.load(NAME).shapes)
    assert len(shapes) > 1
    return [f"{m}x{k}" for m, k in shapes]


def test_the_description_of_a_run_names_the_shapes_before_anything_is_launched(mixed):
    for run in jobs.RUNS.values():
        with pytest.raises(
            InputError, match=rf"mixes groups of {mixed[0]} \(\d+\).*such as shape {mixed[0]}"
        ):
            run.of(NAME, "builtin/clip")


def test_a_run_of_one_shape_takes_its_groups_alone(mixed):
    job = jobs.TTMRun.of(NAME, "builtin/clip", shape=mixed[0], options={"iterations": 1, "epochs": 1})
    groups = job.load_groups()
    assert set(groups.shapes) == {tuple(map(int, mixed[0].split("x")))}
    records = [item.record for item in job.execute()]
    assert len(records) == 2 and records[0]["n_groups"] == len(groups)
    assert f"groups of {mixed[0]}" in job.describe()


def test_a_shape_that_no_group_has_lists_those_there_are(mixed, toy_groups_mixed):
    with pytest.raises(InputError, match=r"1x4 \(\d+\) and 2x2 \(\d+\), none of 3x3"):
        of_shape(toy_groups_mixed, "3x3")
    assert of_shape(toy_groups_mixed, None) is toy_groups_mixed
    assert of_shape(toy_groups_mixed, "1 x 4").shape == (1, 4)
    with pytest.raises(InputError, match="not a group shape"):
        of_shape(toy_groups_mixed, "many")


def test_what_has_one_shape_or_is_not_here_needs_no_name():
    for name in ("scenes/left-right", "winoground", "nobody/knows"):
        check_one_shape(name)
    assert "shape" not in jobs.TTMRun.of("scenes/left-right", "builtin/clip")


def test_the_command_line_says_so_and_takes_a_shape(mixed, capsys, monkeypatch):
    import sys

    from core.cli import main

    def run(*more):
        monkeypatch.setattr(sys, "argv", ["crossmatch", "ttm", "--benchmark", NAME, *more])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, capsys.readouterr()

    code, told = run()
    assert code == 2 and "mixes groups of" in told.err
    code, told = run("--shape", mixed[0], "--iterations", "1", "--epochs", "1")
    assert code == 0 and "iteration  1" in told.out


def test_the_page_s_run_is_of_the_shape_that_was_picked(mixed, app, monkeypatch):
    from driving import button, fine, text

    monkeypatch.setattr("core.runs.engine.launch", lambda store, run_id: store.get(run_id))
    test = app("pages/4_Test-Time_Matching.py", set=NAME, model="builtin/clip", shape=mixed[-1])
    assert "This set mixes shapes" in text(test)
    button(test, "Run 4 seeds").click().run()
    found = RunStore().list()
    assert len(found) == 4 and {run.config["shape"] for run in found} == {mixed[-1]}
    assert np.all([mixed[-1] in run.title for run in found])
    fine(test)
