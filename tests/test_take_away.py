"""What a view lets one take away: its address, the command behind it, LaTeX, citations."""

import re
import shlex
import tomllib
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner
from written import read_latex

from core.cli import app as cli
from core.cola.run import StrategyRun
from core.datasets.paper_results import CITATIONS
from core.exchange.layouts import _latex_rows, latex_table, text_table_latex
from core.exchange.uploads import UploadStore
from core.metrics.evaluation import Evaluation
from core.metrics.groups import METRICS
from core.metrics.paired import differences
from core.metrics.statistics import Estimate, _Clustered, _ClusteredComparison
from core.runs import engine
from core.runs.models import public
from core.runs.store import RunStore
from core.scorers.cola_config import AdaptConfig
from core.ttm.command import command_line
from core.ttm.run import SimpleMatchRun, TTMRun, adaptation, store_embeddings
from ui.export import _where_to_run, bibtex, page_address

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


def test_the_command_of_a_run_on_an_upload_names_the_file_as_it_was_called(tmp_path, monkeypatch):
    """It named the copy in the home of this machine, also in the report that others get."""
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(engine, "launch", lambda store, run_id: store.get(run_id))
    np.savez(tmp_path / "my clip.npz", img=np.eye(8), cap=np.eye(8))
    kept = store_embeddings("my clip.npz", (tmp_path / "my clip.npz").read_bytes())
    run = TTMRun.of_file(kept, options={"iterations": 2})
    note, command = command_line(run).splitlines()
    assert note == "# in the folder of my-clip.npz" and str(tmp_path) not in command
    assert shlex.split(command)[:4] == ["crossmatch", "ttm", "--embeddings", "my-clip.npz"]
    monkeypatch.chdir(kept.parent)
    result = CliRunner().invoke(cli, [*shlex.split(command)[1:], "--background"])
    assert result.exit_code == 0, result.output
    (stored,) = RunStore().list()
    assert adaptation(stored.config) == run
    assert public(stored.config)["embeddings"] == "my-clip.npz"


def test_where_a_command_is_to_be_started_is_said_once(tmp_path, monkeypatch):
    """“in the folder with mine.npz” stood above “# in the folder of mine.npz”."""
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path / "home"))
    np.savez(tmp_path / "mine.npz", img=np.eye(8), cap=np.eye(8))
    content, files = (tmp_path / "mine.npz").read_bytes(), UploadStore()
    files.add("mine.npz", content)
    monkeypatch.setattr("ui.export.upload_store", lambda: files)
    command = command_line(TTMRun.of_file(store_embeddings("mine.npz", content)))
    assert command.startswith("# in the folder of mine.npz\n") and "folder" not in _where_to_run(command)
    assert "in the folder with mine" in _where_to_run("crossmatch evaluate --scores mine.npz")


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
                       ("y", {"group_match": second.metrics["group_match"]})], compared)  # fmt: skip
    # 4 groups with the second alone and 4 with the first: no difference, p = 1
    found = compared["group_match"]
    interval = f"[{found.low:+.2f}, {found.high:+.2f}]".replace("-", "$-$")
    assert rows[4:] == [
        r"chance & 50.00 \\",
        r"\midrule",
        r"y $-$ x & +0.00 \\",
        rf" & {{\scriptsize {interval}}} \\",
        r"p & 1 \\",
    ]


def test_latex_rows_have_every_metric_that_is_shown():
    """IndividualMatch, which may be right on a part of a group, was left out."""
    scores = np.random.default_rng(0).normal(size=(2, 30, 2, 2))
    first, second = (Evaluation.of(each, np.tile([0, 1], (30, 1))) for each in scores)
    results = [("x", first.metrics), ("y", second.metrics)]
    head, *rows = read_latex(latex_table(results, differences(first, second)))
    assert head[1:] == [METRICS[name].label for name in first.metrics]
    assert [row[0] for row in rows] == ["x", "y", "chance", "y $-$ x", "p", "p (Holm)"]
    one = first.metrics["individual_match"]
    assert rf"{one.value:.2f} {{\scriptsize [{one.low:.2f}, {one.high:.2f}]}}" in rows[0]


def test_latex_rows_have_the_numbers_with_their_intervals_and_chance_levels():
    """They stood in comments, which nobody who reads the paper sees."""
    metrics = {
        "text_score": Estimate(41.25, 36.0, 46.5, 25.0, 2),
        "group_score": Estimate(20.0, 15.5, 25.0, 16.67, 0),
    }
    row, intervals, chance = _latex_rows([("a_model & co", metrics)])
    small = r"{\scriptsize [%s]}"
    assert row == r"a\_model \& co & 41.25 & 20.00 \\"
    assert intervals == rf" & {small % '36.00, 46.50'} & {small % '15.50, 25.00'} \\"
    assert chance == r"chance & 25.00 & 16.67 \\"
    latex = latex_table([("a_model & co", metrics)])
    assert r"Tied groups, which count as wrong: a\_model \& co: TextScore 2." in latex


def test_results_on_other_groups_have_a_row_of_chance_levels_each_and_intervals_by_cluster_one_too():
    one = Estimate(41.25, 36.0, 46.5, 25.0, 0, _Clustered("image", 20, 30.0, 52.0, 4))
    rows = read_latex(
        latex_table([("x", {"text_score": one}), ("y", {"text_score": Estimate(1, 0, 2, 50.0, 0)})])
    )
    assert [row[0] for row in rows[1:]] == ["x", "by image", "y", "chance, x", "chance, y"]
    assert rows[2][1] == r"{\scriptsize [30.00, 52.00]}" and [row[1] for row in rows[4:]] == [
        "25.00",
        "50.00",
    ]


def test_a_table_in_latex_says_how_each_interval_is_made_and_with_which_version():
    """“Clopper-Pearson” stood below IndividualMatch too, whose answers in one group depend on each other."""
    scores = np.array([np.eye(2)] * 10 + [1 - np.eye(2)] * 30)
    found = Evaluation.of(scores, np.tile([0, 1], (40, 1))).metrics
    worth = "for as many independent answers as these, which depend on each other, are worth"
    assert f"(Clopper-Pearson; of IndividualMatch {worth})." in latex_table([("x", found)])
    assert "(Clopper-Pearson)." in latex_table([("x", {"text_score": found["text_score"]})])
    one = Estimate(41.25, 36.0, 46.5, 25.0, 0, _Clustered("image", 20, 30.0, 52.0, 4))
    assert f"(Clopper-Pearson; by image {worth})." in latex_table([("x", {"text_score": one})])
    assert f"Made with Crossmatch {version('crossmatch')}." in latex_table([("x", found)])


def test_a_table_of_two_says_how_the_intervals_and_p_of_differences_are_made():
    """The row of differences has brackets, too, and the note named Clopper-Pearson alone and “an exact paired test”."""
    truth = np.tile([0, 1], (40, 1))
    first, second = (
        Evaluation.of(np.array([np.eye(2)] * right + [1 - np.eye(2)] * (40 - right)), truth)
        for right in (10, 30)
    )
    compared = differences(first, second, ["group_match"])
    results = [(name, {"group_match": e.metrics["group_match"]}) for name, e in (("x", first), ("y", second))]
    said = latex_table(results, compared)
    assert (
        "95 \\% intervals (Clopper-Pearson; of differences Bonett and Price's, paired, with Student's t)."
        in said
    )
    assert (
        "p by McNemar's exact test. An interval holds 0 where its p, before any correction, is above 0.05"
        in said
    )
    by = _ClusteredComparison("image", 20, 40.0, 5.0, 75.0, 0.02, None)
    clustered = {"group_match": compared["group_match"]._replace(clustered=by)}
    said = latex_table(results, clustered)
    assert "p by the test that flips the signs of all groups of one image at once. An" in said
    assert "McNemar" not in said
    assert "Bonett" not in latex_table(results)


def test_a_dash_for_p_is_explained_below_the_table():
    truth = np.tile([0, 1], (40, 1))
    first, second = (
        Evaluation.of(np.array([np.eye(2)] * right + [1 - np.eye(2)] * (40 - right)), truth)
        for right in (10, 30)
    )
    results = [("x", first.metrics), ("y", second.metrics)]
    some = latex_table(results, differences(first, second, ["group_match"]))
    assert "-- for p: TextScore, ImageScore, GroupScore, IndividualMatch are not tested." in some
    assert "-- for p" not in latex_table(results, differences(first, second))
    assert "--: not measured" in latex_table(
        [("x", first.metrics), ("y", {"text_score": Estimate(1, 0, 2, 25, 0)})]
    )


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
    assert [row[0] for row in rows[:2]] == [r"a\_model \& co", "y"] and rows[0][1].startswith("25.00 ")
    assert _latex_rows(results)[0] in latex_table(results).splitlines()


def test_any_table_of_texts_is_a_latex_table():
    table = pd.DataFrame({"a_b": ["x & y", None], "n %": [1.5, np.nan]})
    assert read_latex(text_table_latex(table)) == [
        [r"a\_b", r"n \%"],
        [r"x \& y", "1.5"],
        ["--", "--"],
    ]
    numbered = pd.DataFrame({"[a": ["71.47 [1]", "[x", "74.7 ± 1.1 [70.2, 79.0] at α = 1"]})
    latex = text_table_latex(numbered, ["a note [1]", "50 %"])
    assert [row[0] for row in read_latex(latex)] == [
        "{}[a",
        "71.47 [1]",
        "{}[x",
        r"74.7 $\pm$ 1.1 {\scriptsize [70.2, 79.0]} at $\alpha$ = 1",
    ]
    assert latex.splitlines()[-1] == r"{\footnotesize a note [1] 50 \%\par}"


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
