"""`--latex` of evaluate and compare: the numbers of `--json` in a table, with what a reader has to know below it."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner
from written import read_latex

from core.base.errors import InputError
from core.cli import app
from core.datasets.score_files import write_scores

SET = ("scenes/left-right", "--groups", "40")


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False).stdout


@pytest.fixture
def files(tmp_path, monkeypatch):
    """a.csv and b.csv of the same thirty groups."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(30, 2, 2))
    ids = [f"item {i}" for i in range(30)]
    for name in ("a.csv", "b.csv"):
        write_scores(name, scores, ids)
        scores = scores + 0.7 * rng.normal(size=scores.shape)


def cell(estimate):
    return f"{estimate['value']:.2f} {{\\scriptsize [{estimate['low']:.2f}, {estimate['high']:.2f}]}}"


def test_evaluate_writes_every_metric_with_interval_chance_and_what_was_measured():
    record, latex = (
        json.loads(run("evaluate", "scenes/left-right", "--json")),
        run("evaluate", "scenes/left-right", "--latex"),
    )
    head, row, by, chance = read_latex(latex)
    metrics = record["metrics"].values()
    assert len(head) == 1 + len(metrics) and head[-1] == "IndividualMatch"
    assert row == ["builtin/clip", *map(cell, metrics)]
    assert by[0] == "by caption"
    assert chance == ["chance", *(f"{each['chance']:.2f}" for each in metrics)]
    assert (
        r"builtin/clip on scenes/left-right, split test, 300 groups of 2$\times$2. Brackets: 95 \%" in latex
    )
    assert "Clopper-Pearson" in latex and "Tied groups, which count as wrong: none." in latex
    assert "ground truth" not in latex


def test_evaluate_writes_a_row_for_each_value_of_the_tag_that_by_names():
    words = ("evaluate", *SET[:1], "--by", "relation")
    parts, rows = json.loads(run(*words, "--json"))["slices"]["relation"], read_latex(run(*words, "--latex"))
    found = {row[0]: row[1:] for row in rows}
    assert len(parts) > 1
    for value, part in parts.items():
        name = f"relation = {value} ({part['n_groups']} groups)"
        assert found[name] == [*map(cell, part["metrics"].values())]


def test_evaluate_says_which_groups_of_a_set_and_which_scores_a_table_is_of(files):
    assert ", split validation, the first 40 groups of " in run(
        "evaluate", *SET, "--split", "validation", "--latex"
    )
    of_tag = run("evaluate", SET[0], "--tag", "relation: left of", "--latex")
    assert "with relation: left of" in of_tag
    own = run("evaluate", "a.csv", "--latex")
    assert read_latex(own)[1][0] == "a" and r"a on own groups, 30 groups of 2$\times$2." in own
    assert "a has no ground truth: image i is assumed to belong to caption i." in own


def test_compare_writes_both_and_their_difference_with_its_interval_and_p(files):
    record, latex = (
        json.loads(run("compare", "a.csv", "b.csv", "--json")),
        run("compare", "a.csv", "b.csv", "--latex"),
    )
    rows = {row[0]: row[1:] for row in read_latex(latex)}
    metrics = record["metrics"].values()
    assert rows["a"] == [cell(each["a"]) for each in metrics]
    assert rows["b"] == [cell(each["b"]) for each in metrics]
    changes = [cell.replace("$-$", "-").partition(" ")[0] for cell in rows["b $-$ a"]]
    assert changes == [f"{each['difference']['difference']:+.2f}" for each in metrics]
    assert {"p", "p (Holm)", "chance"} <= {*rows}
    assert r"a and b on own groups, 30 groups of 2$\times$2. a and b have no ground truth" in latex
    for said in ("Bonett and Price's, paired", "McNemar's exact test", "Holm: p corrected for 5 metrics"):
        assert said in latex


def test_compare_in_latex_says_of_how_many_groups_and_that_they_are_paired_in_order(files, tmp_path):
    write_scores("c.npz", np.random.default_rng(2).normal(size=(30, 2, 2)))
    told = run("compare", "a.csv", "c.npz", "--by-order", "--latex")
    assert "Paired in order: group i of a.csv is taken to be group i of c.npz, for all 30" in told
    assert "On the groups that both have: A has 30, B 30." in run(
        "compare", "a.csv", "b.csv", "--common", "--latex"
    )


def test_files_of_one_name_are_told_apart_by_their_folders(files, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "b.csv").rename(tmp_path / "other/a.csv")
    assert {"a.csv", "other/a.csv"} <= {
        row[0] for row in read_latex(run("compare", "a.csv", "other/a.csv", "--latex"))
    }


@pytest.mark.parametrize("words", [("evaluate", "a.csv"), ("compare", "a.csv", "b.csv")])
def test_one_table_has_one_form(files, words):
    with pytest.raises(InputError, match="two forms of one table"):
        run(*words, "--latex", "--json")
