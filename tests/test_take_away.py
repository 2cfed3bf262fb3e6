"""What a view lets one take away: its address, the command behind it, LaTeX, citations."""

import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from core.cli import app as cli
from core.cola.run import StrategyRun
from core.datasets.paper_results import CITATIONS
from core.exchange.layouts import _latex_rows, latex_table, text_table_latex
from core.metrics.evaluation import Evaluation
from core.metrics.groups import METRICS
from core.metrics.paired import differences
from core.metrics.statistics import Estimate
from core.runs import engine
from core.runs.store import RunStore
from core.scorers.cola_config import AdaptConfig
from core.ttm.command import command_line
from core.ttm.run import SimpleMatchRun, TTMRun, adaptation
from ui.export import bibtex, page_address

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    ("said", "address"),
    [
        ("http://x/Test-Time_/Test-Time_Matching", "http://x/Test-Time_Matching"),
        ("http://x/Test-Time_/Compare", "http://x/Compare"),
        ("http://x/Test-Time_", "http://x/"),
        ("http://x/app/Test-Time_/Matching", "http://x/app/Matching"),
        ("https://x:8501/Groups", "https://x:8501/Groups"),
        ("http://x", "http://x"),
    ],
)
def test_the_address_of_a_page_is_that_page_whatever_page_was_open_before(said, address):
    assert page_address(said).rstrip("/") == address.rstrip("/")


LORA = {"lora_rank": 4, "lora_alpha": 8.0, "lora_targets": ["q_proj", "v_proj"]}
RUNS = [
    TTMRun.of("scenes/left-right", "builtin/clip"),
    TTMRun.of("scenes/left-right", "builtin/clip", tags=["relation: left of"]),
    TTMRun.of(
        "scenes/left-right", "builtin/clip", groups=40, adapt_on=0.5, split_seed=3, options={"seed": 7}
    ),
    TTMRun.of("scenes/left-right", "builtin/clip", oracle=True, options={"iterations": 2, "lr": 3.3e-5}),
    TTMRun.of(
        "scenes/left-right",
        "builtin/siglip",
        options={"schedule": "constant", "tau_first": 0.75, "keep_optimizer": True, **LORA},
    ),
    TTMRun.of("scenes/left-right", "builtin/clip", options={"iterations": 1, "batch": 10}),
    TTMRun.of(
        "scenes/left-right", "builtin/clip", options={"variant": "global", "threshold_mode": "absolute"}
    ),
    TTMRun.of(
        "scenes/swap",
        "builtin/clip",
        preset="winoground/clip-b16",
        options={"tau_first": 1.0, "tau_last": 0.1},
    ),
    SimpleMatchRun.of(
        "scenes/relations-1x4", "builtin/clip", device="cpu", options={"rounds": 3, "patience": 2}
    ),
]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.describe()[:60])
def test_the_command_of_a_run_describes_the_same_run(run, tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path))
    monkeypatch.setattr(engine, "launch", lambda store, run_id: store.get(run_id))
    words = shlex.split(command_line(run))
    assert words[0] == "crossmatch"
    result = CliRunner().invoke(cli, [*words[1:], "--background"])
    assert result.exit_code == 0, result.output
    (stored,) = RunStore().list()
    assert adaptation(stored.config) == run


STRATEGIES = [
    StrategyRun.of(),
    StrategyRun.of(
        "scenes/retrieval", "builtin/siglip", images=40, device="cpu", options={"epochs": 2, "seed": 3}
    ),
    StrategyRun.of(options={"strategy": "mm-pred", "fusion": "albef", "mix": "hard", "lr": 2e-4, "batch": 6}),
]


@pytest.mark.parametrize("run", STRATEGIES, ids=lambda run: run.title)
def test_the_command_of_a_strategy_describes_the_same_run(run, tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path))
    monkeypatch.setattr(engine, "launch", lambda store, run_id: store.get(run_id))
    words = run.command_line.split()
    result = CliRunner().invoke(cli, [*words[1:], "--background"])
    assert (words[0], result.exit_code) == ("crossmatch", 0), result.output
    (stored,) = RunStore().list()
    assert StrategyRun.read(stored.config) == run


def test_a_setting_without_an_option_has_no_command():
    assert StrategyRun(model="builtin/clip", settings=AdaptConfig(layers=3)).command_line == ""


def test_latex_rows_of_two_end_with_their_difference_and_its_p():
    truth = np.tile([0, 1], (40, 1))
    right, wrong = np.eye(2), 1 - np.eye(2)
    first = Evaluation.of(np.array([wrong] * 30 + [right] * 10), truth)
    second = Evaluation.of(np.array([right] * 4 + [wrong] * 30 + [right] * 6), truth)
    compared = differences(first, second, ["group_match"])
    rows = _latex_rows([("x", {"group_match": first.metrics["group_match"]}),
                       ("y", {"group_match": second.metrics["group_match"]})], compared).splitlines()  # fmt: skip
    # 4 groups with the second alone and 4 with the first: no difference, p = 1
    assert rows[5:8:2] == [r"y $-$ x & +0.00 \\", r"p (Holm) & 1 \\"]
    assert rows[6].startswith("% 95 % GroupMatch [") and rows[8] == "% p of each metric alone: GroupMatch 1"


def test_latex_rows_have_every_metric_that_is_shown():
    """IndividualMatch, which may be right on a part of a group, was left out."""
    scores = np.random.default_rng(0).normal(size=(2, 30, 2, 2))
    first, second = (Evaluation.of(each, np.tile([0, 1], (30, 1))) for each in scores)
    rows = _latex_rows([("x", first.metrics), ("y", second.metrics)], differences(first, second)).splitlines()
    assert rows[0].split(", ")[1:] == [METRICS[name].label for name in first.metrics]
    assert all(row.count("&") == len(first.metrics) for row in rows[1::2])
    assert f"{first.metrics['individual_match'].value:.2f}" in rows[1] and "IndividualMatch [" in rows[2]


def test_latex_rows_have_the_numbers_and_their_intervals():
    metrics = {
        "text_score": Estimate(41.25, 36.0, 46.5, 25.0, 2),
        "group_score": Estimate(20.0, 15.5, 25.0, 16.67, 0),
    }
    head, row, remark = _latex_rows([("a_model & co", metrics)]).splitlines()
    assert head == "% model, TextScore, GroupScore"
    assert row == r"a\_model \& co & 41.25 & 20.00 \\"
    assert "TextScore [36.00, 46.50] (chance 25.00, 2 tied)" in remark and remark.startswith("% ")


def read_latex(latex):
    """What a small reader of LaTeX makes of a table: its columns and rows; it fails where a table is not whole."""
    lines = [line for line in latex.splitlines() if not line.startswith("%")]
    assert r"\usepackage{booktabs}" in latex.splitlines()[0]
    columns = lines[0].removeprefix(r"\begin{tabular}{").removesuffix("}")
    assert lines[1] == r"\toprule" and lines[3] == r"\midrule"
    assert lines[-2:] == [r"\bottomrule", r"\end{tabular}"]
    rows = [line.removesuffix(r" \\").split(" & ") for line in (lines[2], *lines[4:-2])]
    assert all(len(row) == len(columns) for row in rows)
    return rows


def test_a_latex_table_is_whole_and_has_the_rows_of_its_results():
    """Pasted into a paper, rows alone did not compile."""
    truth = np.tile([0, 1], (40, 1))
    first, second = (
        Evaluation.of(np.array([np.eye(2)] * right + [1 - np.eye(2)] * (40 - right)), truth)
        for right in (10, 30)
    )
    results = [("a_model & co", first.metrics), ("y", second.metrics)]
    head, *rows = read_latex(latex_table(results, differences(first, second)))
    assert head[1:] == [METRICS[name].label for name in first.metrics]
    assert [row[0] for row in rows[:2]] == [r"a\_model \& co", "y"] and rows[0][1] == "25.00"
    assert _latex_rows(results).splitlines()[1] in latex_table(results).splitlines()


def test_any_table_of_texts_is_a_latex_table():
    table = pd.DataFrame({"a_b": ["x & y", None], "n %": [1.5, np.nan]})
    assert read_latex(text_table_latex(table)) == [
        [r"a\_b", r"n \%"],
        [r"x \& y", "1.5"],
        ["--", "--"],
    ]


def test_crossmatch_is_cited_first_and_every_entry_once():
    text = bibtex(None, ("TTM", "Winoground", "TTM"))
    keys = re.findall(r"@\w+\{(\w+),", text)
    assert keys == ["crossmatch2026", "zhu2026ttm", "thrush2022winoground"]


def test_the_citation_file_is_valid_and_of_this_version():
    """Required keys and types of the Citation File Format 1.2.0."""
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert cff["cff-version"] == "1.2.0" and isinstance(cff["message"], str) and cff["type"] == "software"
    assert (str(cff["version"]), cff["license"]) == (project["version"], project["license"])
    for entry in (cff, *cff["references"]):
        assert entry["title"] and entry["authors"]
        for author in entry["authors"]:
            assert set(author) in ({"name"}, {"family-names", "given-names"})
    own = CITATIONS["Crossmatch"]
    assert f"title = {{{cff['title']}}}" in own and f"version = {{{project['version']}}}" in own
