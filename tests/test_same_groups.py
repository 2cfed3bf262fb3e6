"""Two runs have the same groups wherever their files lie, by whatever name, and equal settings read alike."""

import html
import os
import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from adapted import finish
from typer.testing import CliRunner

from core.cli import app as cli
from core.datasets.embeddings import _groups_in_file
from core.exchange._run_groups import _RunGroups
from core.exchange.run_gains import _gains_in_common, _groups_for
from core.exchange.run_pairs import _ends_now, _other_groups, _Pair
from core.exchange.run_report import _report_of_runs
from core.exchange.run_table import _differing, _groups_said, _settings_said
from core.exchange.runs import export_run, import_run
from core.metrics.groups import outcomes
from core.metrics.statistics import Comparison
from core.runs.store import RunStore
from core.ttm.config import TTMConfig, _whole_thresholds, thresholds
from core.ttm.run import TTMRun, store_embeddings
from core.ttm.seeds import SeedGroup, seeded

OLD = 1e9  # seconds since the epoch: long before any run
SMALL = {"iterations": 2, "epochs": 1}


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path / "home"))
    return RunStore()


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    captions = rng.normal(size=(24, 8))
    np.savez(tmp_path / "own.npz", img=captions + rng.normal(size=(24, 8)), cap=captions)
    os.utime(tmp_path / "own.npz", (OLD, OLD))
    return tmp_path / "own.npz"


def waiting(store, job, without=()):
    """A run that waits. without : what an older version did not note."""
    config = {name: value for name, value in job.written().items() if name not in without}
    return SeedGroup("", [store.create(job.kind, "a run", config)])


def pair(store, *runs):
    both = [SeedGroup.named(store, run) for run in runs]
    return _Pair.of(*both, store, partial(_ends_now, store=store))


def test_the_same_embeddings_under_another_path_have_their_paired_test(store, file):
    kept = store_embeddings("own file.npz", file.read_bytes())
    runs = [
        finish(store, name, TTMRun.of_file(path, options={**SMALL, "lr": lr}))
        for name, path, lr in (("a", kept, 1e-3), ("b", file, 3e-3))
    ]
    found = pair(store, *runs)
    assert not found.other_groups and {"group_match", "group_score"} <= {*found.tested}
    assert found.differing == "They differ in (A / B): learning rate 0.001 / 0.003."
    loaded = {}
    assert _groups_for(store.get(runs[0]), loaded) is _groups_for(store.get(runs[1]), loaded)


def test_an_imported_run_of_embeddings_is_compared_with_one_whose_file_is_here(store, file, tmp_path):
    run = finish(store, "a", TTMRun.of_file(file, options=SMALL))
    brought = import_run(store, export_run(store, run, tmp_path / "run.zip")).id
    assert store.get(brought).config["embeddings"] == "own.npz"
    for both in ((brought, run), (run, brought)):
        found = pair(store, *both)
        assert not found.other_groups and found.tested["group_match"].difference == 0


def test_embeddings_of_older_runs_are_known_by_content_as_long_as_their_file_is_as_it_was(
    store, file, tmp_path
):
    older, own = ("embeddings_content",), TTMRun.of_file(file)
    shutil.copy2(file, tmp_path / "copy.npz")
    copied = TTMRun.of_file(tmp_path / "copy.npz")
    assert not _other_groups(waiting(store, own, older), waiting(store, copied, older))
    assert not _other_groups(waiting(store, own, older), waiting(store, copied))
    kept = TTMRun.of_file(store_embeddings("x.npz", file.read_bytes()))
    assert not _other_groups(waiting(store, kept, older), waiting(store, own))
    before, noted = waiting(store, own, older), waiting(store, own)
    rng = np.random.default_rng(1)
    np.savez(file, img=rng.normal(size=(24, 8)), cap=rng.normal(size=(24, 8)))
    os.utime(file, (4e9, 4e9))  # written since
    assert _other_groups(before, waiting(store, copied)) and _other_groups(
        noted, waiting(store, TTMRun.of_file(file))
    )
    assert not _other_groups(noted, waiting(store, copied))
    assert not _other_groups(before, before)


def test_other_content_shape_or_number_of_groups_are_other_groups(store, file, tmp_path):
    rng = np.random.default_rng(1)
    (tmp_path / "other").mkdir()
    np.savez(tmp_path / "other" / "own.npz", img=rng.normal(size=(24, 8)), cap=rng.normal(size=(24, 8)))
    one = waiting(store, TTMRun.of_file(file))
    for job in (
        TTMRun.of_file(tmp_path / "other" / "own.npz"),
        TTMRun.of_file(file, "4x4"),
        TTMRun.of_file(file, groups=6),
    ):
        assert _other_groups(one, waiting(store, job))


def test_all_groups_of_a_set_are_the_same_by_number_or_without_one(store):
    every, counted, fewer = (
        waiting(store, TTMRun.of("scenes/left-right", "builtin/clip", groups=n)) for n in (None, 300, 60)
    )
    assert not _other_groups(every, counted) and _other_groups(every, fewer)
    assert "do not differ" in _differing(every, counted, [[], []])
    assert _RunGroups.of(every.runs[0]).limit is None


def test_defaults_and_the_same_values_chosen_read_alike(store, file):
    chosen = TTMRun.of_file(file, options={"coverage_first": 0.2, "tau_last": 0.0})
    plain = TTMRun.of_file(file)
    sides = [waiting(store, job) for job in (chosen, plain)]
    assert _differing(*sides, [[], []]) == "They do not differ in any setting, nor in the seed."
    assert _settings_said(sides[0].runs[0]) == _settings_said(sides[1].runs[0])
    assert "linear threshold, 20 % selected to τ = 0" in plain.describe()


@pytest.mark.parametrize(
    ("given", "whole"),
    [
        ({}, (None, 0.2, 0.0, None)),
        ({"tau_first": 2.0, "coverage_last": 0.9}, (2.0, None, None, 0.9)),
        ({"variant": "global"}, (None, 0.5, None, 1.0)),
        ({"variant": "global", "threshold_mode": "relative"}, (0.5, None, 0.0, None)),
        (
            {"variant": "global", "threshold_mode": "relative", "coverage_first": 0.25},
            (0.75, None, 0.0, None),
        ),
    ],
)
def test_what_a_default_threshold_stands_for_is_what_runs_use(given, whole):
    """[TTM] C.1: a fifth of the groups, half of the pairs at first; all at the end."""
    names = ("tau_first", "coverage_first", "tau_last", "coverage_last")
    found = _whole_thresholds(TTMConfig(**given).to_dict())
    assert tuple(found[name] for name in names) == whole
    first = np.linspace(0.5, 10, 20)
    named = TTMConfig(
        **{**given, **dict.fromkeys(names), **{k: v for k, v in found.items() if v is not None}}
    )
    assert thresholds(named, first).tolist() == thresholds(TTMConfig(**given), first).tolist()


def test_a_limit_of_all_groups_of_a_file_is_no_limit(store, file, tmp_path):
    """24 rows are 12 groups of 2x2."""
    every, whole, more, fewer = (waiting(store, TTMRun.of_file(file, groups=n)) for n in (None, 12, 90, 11))
    for one, other in ((every, whole), (whole, every), (whole, more), (more, every)):
        assert not _other_groups(one, other)
        assert _differing(one, other, [[], []]) == "They do not differ in any setting, nor in the seed."
    assert _other_groups(every, fewer) and _other_groups(more, fewer)
    assert "groups first 11 of 12 / all" in _differing(fewer, every, [[], []])
    assert [_groups_said(each.runs[0].config) for each in (whole, more, fewer)] == [
        *["all 12 groups"] * 2, "first 11 of 12 groups",
    ]  # fmt: skip
    own = whole.runs[0]  # imported: its file is not here
    brought = SeedGroup("", [replace(own, config={**own.config, "embeddings": "own.npz"})])
    assert not _other_groups(brought, every) and not _other_groups(every, brought)
    three = np.random.default_rng(2).normal(size=(5, 2, 8))
    np.savez(tmp_path / "three.npz", images=three, texts=three)
    assert _groups_in_file(tmp_path / "three.npz", "2x2") == 5
    (tmp_path / "no.npz").write_bytes(b"PK nothing")
    assert {_groups_in_file(tmp_path / name, "2x2") for name in ("no.npz", "gone.npz")} == {None}


def test_the_batch_that_a_default_stands_for_is_no_difference(store, file):
    """50 groups, 100 of one image."""
    plain, chosen, other = (
        waiting(store, TTMRun.of_file(file, options={"batch": batch})) for batch in (None, 50, 100)
    )
    assert _differing(plain, chosen, [[], []]) == "They do not differ in any setting, nor in the seed."
    assert "batch 50 / 100" in _differing(plain, other, [[], []])
    one, two = (
        waiting(store, TTMRun.of_file(file, "1x2", options={"batch": batch})) for batch in (None, 100)
    )
    assert _differing(one, two, [[], []]) == "They do not differ in any setting, nor in the seed."
    sets = [
        waiting(
            store, TTMRun.of("scenes/relations-1x4", "openai/clip-vit-base-patch32", options={"batch": batch})
        )
        for batch in (None, 100)
    ]
    assert "do not differ" in _differing(*sets, [[{"shape": "1x4", "n_groups": 300}], []])


def test_runs_on_the_first_groups_of_one_set_are_compared_on_those_of_both(store, file):
    """A run on the first 6 groups and one on all 12 had "different groups", though the 6 are part of the 12."""
    few, every = (finish(store, "a", TTMRun.of_file(file, groups=n, options=SMALL)) for n in (6, None))
    found = pair(store, few, every)
    assert not found.other_groups and found.n_groups == 6
    truth = np.tile([0, 1], (6, 1))
    a, b = (outcomes(store.scores(run, 2)[:6], truth)["group_match"].value for run in (few, every))
    tested, row = found.tested["group_match"], found.table.set_index("metric").loc["GroupMatch"]
    assert tested.difference == pytest.approx(100 * (b.mean() - a.mean()))
    assert row["A"].startswith(f"{100 * a.mean():.1f} (") and row["B"].startswith(f"{100 * b.mean():.1f} (")
    assert "on the 6 shared groups" in found.verdict("group_match") and "on the 6 shared groups" in found.note
    assert found.groups_line == (
        "A has 6 groups and B 12 groups; those of A are the first of B. They are compared on the 6 shared groups, "
        "each with its last scores. The models were adapted on different numbers of groups, which alone can make a "
        "difference."
    )
    record, turned = found.record(), pair(store, every, few)
    assert record["groups_in_common"] == 6 and "on the 6 shared groups" in found.latex([])
    assert turned.tested["group_match"].difference == -tested.difference
    assert "those of B are the first of A" in turned.groups_line
    report = _report_of_runs(found.runs, store)
    assert "on the 6 shared groups" in report and found.groups_line in report


def test_whatever_else_differs_is_named_beside_the_number_of_groups(store, file):
    """The sentence blamed the number of groups alone, though one run had fewer iterations, too."""
    few = finish(store, "a", TTMRun.of_file(file, groups=6, options=SMALL))
    every = finish(store, "b", TTMRun.of_file(file, options={**SMALL, "iterations": 3}))
    assert pair(store, few, every).groups_line.endswith(
        "The models were adapted on different numbers of groups and also differ in (A / B) iterations (T) 2 / 3: each "
        "of these can make a difference."
    )


def test_seeds_on_the_first_groups_of_one_set_are_compared_on_those_of_both(store, file):
    few = [
        finish(store, f"a · seed {job.seed}", job)
        for job in seeded(TTMRun.of_file(file, groups=6, options={**SMALL, "batch": 2}), 2, "g-0123abcd")
    ]
    one = finish(store, "b", TTMRun.of_file(file, options={**SMALL, "batch": 2}))
    found, truth = pair(store, "g-0123abcd", one), np.tile([0, 1], (6, 1))
    own = [outcomes(store.scores(run, 2)[:6], truth)["group_match"].value for run in (few[0], one)]
    assert found._shared == [0] and found.n_groups == 6
    assert found.tested["group_match"].difference == pytest.approx(100 * (own[1].mean() - own[0].mean()))
    assert [side.after["", "group_match"].value for side in found.sides] == pytest.approx(
        [100 * each.mean() for each in own]
    )


def test_runs_without_the_scores_of_every_group_say_why_they_have_no_comparison(store, file):
    few, every = (finish(store, "a", TTMRun.of_file(file, groups=n, options=SMALL)) for n in (6, None))
    store.arrays_path(every, 2).unlink()
    found = pair(store, few, every)
    assert not found.tested and found.in_common is None
    assert "have different groups" in found.other_groups and "cannot be compared alone" in found.other_groups


def test_a_verdict_that_an_interval_contradicts_says_that_only_the_correction_leaves_it_open(store, file):
    """“Cannot tell A and B apart” stood beside an interval without 0, and a p of the same difference below 0.05."""
    few, every = (
        finish(store, "a", TTMRun.of_file(file, options={**SMALL, "lr": lr})) for lr in (1e-3, 3e-3)
    )
    found = pair(store, few, every)
    alone = Comparison(-10.0, -17.3, -2.3, 10, 27, 0.013, p_holm=0.052)
    alike = {
        name: alone._replace(difference=value) for value, name in enumerate(("text_score", "image_score"))
    }
    said = found._replace(tested={"group_match": alone, **alike}).verdict("group_match")
    assert said == (
        "**GroupMatch: B is behind A on these groups, not proven after correction for 3 metrics (p 0.052)**, B − A "
        "−10.0 points (95 % interval, uncorrected: −17.3 to −2.3, p 0.013 by itself)."
    )
    for agree in (alone._replace(p_value=0.06), alone._replace(p_holm=0.04), alone._replace(high=0.2)):
        assert "not proven" not in found._replace(tested={"group_match": agree, **alike}).verdict(
            "group_match"
        )


def test_runs_on_different_numbers_of_groups_say_what_each_has_gained_on_those_of_both(store, file):
    """Only the gains "each on its own groups" stood there, of 6 groups beside 12, which are no fair comparison."""
    few, every = (finish(store, "a", TTMRun.of_file(file, groups=n, options=SMALL)) for n in (6, None))
    found, truth = pair(store, few, every), np.tile([0, 1], (6, 1))
    ends = [
        [100 * outcomes(store.scores(run, i)[:6], truth)["group_match"].value.mean() for i in (0, 2)]
        for run in (few, every)
    ]
    head, *lines = _gains_in_common(found, store)
    assert head.startswith("Gains on the 6 shared groups, before → after")
    for side, line, (before, after) in zip("AB", lines, ends, strict=True):
        gain = f"{after - before:+.1f}".replace("-", "−")
        assert line.startswith(f"{side}  GroupMatch {before:.1f} → {after:.1f} %, {gain} [")
        assert "; GroupScore " in line
        said = found.table.set_index("metric").loc["GroupMatch", "before"]
        assert said.startswith(f"{before:.1f} (")
        assert found.record()["metrics"]["group_match"][f"{side.lower()}_before"]["value"] == pytest.approx(
            before
        )
        assert found.frame.set_index("metric").loc["GroupMatch", f"{side} before"] == pytest.approx(before)
    printed = CliRunner().invoke(cli, ["runs", "compare", few, every], catch_exceptions=False).stdout
    assert head in printed and lines[1] in printed and " before" in printed
    assert lines[0] in html.unescape(_report_of_runs(found.runs, store)) and "before" in found.latex([])
    same = pair(store, every, finish(store, "c", TTMRun.of_file(file, options={**SMALL, "lr": 3e-3})))
    assert not _gains_in_common(same, store) and "before" not in same.table
