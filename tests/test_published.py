"""Published results of named systems on one set: facts with their source, chance marked, one's own among them."""

from __future__ import annotations

import json
import re
import zipfile

import numpy as np
import pandas as pd
import pytest
from driving import button, fine, html
from scipy.stats import binomtest
from typer.testing import CliRunner

from core import datasets
from core.base.errors import InputError
from core.base.paths import assets
from core.cli import app as command
from core.datasets.paper_results import CITATIONS
from core.datasets.score_files import write_scores
from core.exchange.uploads import UploadStore
from core.figures import _Mark, _standing_figure
from core.papers.published import _BENCHMARKS, PublishedSet, _comparable, _inside, _rows
from core.runs.store import RunStore
from ui.published import _own_lines
from ui.uploads import PREFIX

PAPERS = "pages/7_Papers.py"


def standing(dataset: str, subset: str, metric: str, own: pd.DataFrame | None = None) -> pd.DataFrame:
    return PublishedSet(dataset, subset).standing(metric, own)


def test_every_number_read_elsewhere_has_its_address_day_and_paper():
    rows = pd.read_csv(assets() / "papers" / "other_systems.csv", dtype=str, keep_default_na=False)
    assert rows["address"].str.startswith("https://").all() and rows[["paper", "where"]].ne("").all(axis=None)
    assert pd.to_datetime(rows["read"], format="%Y-%m-%d").notna().all()
    assert rows["value"].astype(float).between(0, 100).all()
    assert not rows.duplicated(["dataset", "subset", "system", "method", "metric"]).any()


def test_winoground_systems_stand_in_order_with_people_chance_and_yours_among_them():
    own = pd.DataFrame({"system": ["mine"], "value": [20.0]})
    table = standing("Winoground", "", "group_score", own).set_index("system")
    assert table.loc["human", "value"] == 85.5 and table.loc["human", "kind"] == "people"
    assert table.loc["VinVL", "value"] == 14.5 and table.loc["mine", "kind"] == "yours"
    assert list(table["value"]) == sorted(table["value"], reverse=True)
    chance = table[table["kind"] == "chance"]["value"]
    assert chance.tolist() == pytest.approx([100 / 6], abs=0.05)  # 1 of 6 as [TTM] derives it


def test_bivlc_s_outcomes_stand_as_counted_with_what_was_trained_for_it_marked():
    """The authors' files of outcomes: 1,439 of 2,933 groups by CLIP ViT-B/32."""
    table = standing("BiVLC", "", "group_score").set_index("method")
    assert table.loc["ITC", "value"] == 49.06 and table.loc["ITC", "caution"] == ""
    assert table.loc["fine-tuned on COCO", "caution"] == "trained for the task"
    assert table[table["kind"] == "chance"]["value"].tolist() == pytest.approx([100 / 6])
    by_words = standing("SugarCrepe", "Swap Object", "text_score").iloc[0]
    assert by_words["system"] == "GPT-4V" and "answers in words" in by_words["caution"]


def test_every_set_with_runs_of_one_s_own_is_a_benchmark_with_published_numbers():
    assert set(_BENCHMARKS.values()) <= set(datasets.names())
    assert set(_BENCHMARKS) <= set(PublishedSet.every())


def test_every_benchmark_with_published_numbers_takes_one_s_own_by_either_name(tmp_path):
    """What is left names parts of a set, means over several, and groups of another form."""
    others = {title for title in PublishedSet.every() if title not in _BENCHMARKS}
    parts = ("NoTag", "NonCompositional", "AmbiguouslyCorrect", "VisuallyDifficult")
    parts += ("UnusualImage", "UnusualText", "ComplexReasoning")
    means = {f"SugarCrepe, {kind}" for kind in ("Replace", "Swap", "Add", "Average")}
    forms = {f"{name}, non-grouped" for name in ("Winoground", "MMVP-VLM", "ColorSwap")} | {"CREPE, 1x2"}
    assert others == {f"Winoground, {part}" for part in parts} | means | forms
    for title, benchmark in _BENCHMARKS.items():
        found = PublishedSet.named(benchmark)
        assert found.title == title or (title, found.title) == ("EqBen", "EqBen, val")
        found = PublishedSet.named(title)
        for metric in found.metrics:
            own = {metric: {"value": 50, "low": 40, "high": 60}}
            path = tmp_path / "own.json"
            saved(path, {"benchmark": found.benchmark(metric), "model": "m", "metrics": own})
            assert found.result(path, metric)["value"].tolist() == [50]
            assert found.standing(metric)["kind"].eq("chance").any()


@pytest.mark.parametrize(
    ("name", "metrics", "chance"),
    [
        ("winoground", ["group_score", "image_score", "text_score", "group_match"], 16.7),
        ("whatsup/a-left-right", ["group_score", "group_match"], 100 / 6),
        ("whatsup/a-1x4", ["text_score"], 25),
        ("colorswap", ["group_score", "group_match"], 16.7),
        ("sugarcrepe/swap_obj", ["text_score"], 50),
        ("CREPE, 1x2", ["text_score"], 50),
        ("EqBen", ["image_score", "text_score"], 25),
    ],
)
def test_without_a_metric_the_strictest_is_shown_and_its_chance(name, metrics, chance):
    """GroupMatch is the laxest: who has a group's TextScore has it."""
    assert PublishedSet.named(name).metrics == metrics
    shown = json.loads(CliRunner().invoke(command, ["published", name, "--json"]).stdout)
    assert shown["metric"] == metrics[0]
    (found,) = {row["value"] for row in shown["rows"] if row["kind"] == "chance"}
    assert found == pytest.approx(chance, abs=0.05)


def test_of_groups_of_one_image_whatever_a_paper_calls_the_number_stands_in_one_table(tmp_path):
    """TTM prints SugarCrepe's GroupScore, others the TextScore: one number."""
    own = {"group_score": {"value": 40, "low": 30, "high": 50}}
    record = {"benchmark": "sugarcrepe/swap_obj", "model": "mine", "n_groups": 245, "metrics": own}
    path = saved(tmp_path / "own.json", record)
    tables = []
    for metric in ((), ("--metric", "text_score"), ("--metric", "group_score"), ("--metric", "group_match")):
        shown = CliRunner().invoke(command, ["published", "sugarcrepe/swap_obj", path, *metric, "--json"])
        tables.append(json.loads(shown.stdout)["rows"])
    assert {"SigLIP-B16", "GPT-4V", "mine"} <= {row["system"] for row in tables[0]}
    assert all(table == tables[0] for table in tables)


def test_an_asterisk_is_explained_where_one_stands(tmp_path):
    path = saved(tmp_path / "metrics.json", evaluated("winoground"))
    for given, explained in (((), False), ((path,), True)):
        shown = CliRunner().invoke(command, ["published", "winoground", *given])
        assert ("* yours" in shown.output) is explained and "No source gives an interval" in shown.output


def test_known_sets_are_parted_by_semicolons_as_their_names_have_commas():
    with pytest.raises(InputError, match="known: ARO, COCO-Order; ARO, Flickr30k-Order; "):
        PublishedSet.named("nothing like it")


def test_chance_is_computed_where_no_paper_prints_it():
    table = standing("ColorSwap", "", "group_match")
    assert table[table["kind"] == "chance"]["value"].tolist() == [50.0]


@pytest.mark.parametrize(
    ("subset", "choices"),
    [
        ("absolute size", 3),
        ("relative size", 3),
        ("absolute position", 9),
        ("relative position", 4),
        ("existence", 2),
        ("count", 9),
    ],
)
def test_spec_has_chance_in_both_directions(subset, choices):
    part = PublishedSet("SPEC", subset)
    assert part.metrics == ["image_choice", "text_score"]
    for metric in part.metrics:
        table = part.standing(metric)
        assert table[table["kind"] == "chance"]["value"].tolist() == pytest.approx([100 / choices])
    assert part.benchmark("image_choice") == f"{part.benchmark('text_score')}-text-to-image"
    assert part.benchmark("image_choice") in datasets.names(kind="retrieval")


def test_what_was_adapted_tuned_or_sees_no_image_is_marked():
    rows = _rows()
    for method, why in (
        ("TTM", "adapted to these very groups"),
        ("VisualGPTScore alpha=alpha*", "chosen on the test set"),
        ("VisualGPTScore alpha=alpha*_val", "chosen on other groups"),
        ("blind LM", "sees no image"),
    ):
        assert rows[rows["method"] == method]["caution"].str.contains(why).all()
    # SimpleMatch's GroupMatch is that of the model as it is; GPT-4.1, which nobody can train, has it, too.
    assert not rows[rows["method"] == "SimpleMatch"]["caution"].str.contains("adapted").any()
    assert not rows[rows["method"] == "ITC"]["caution"].str.contains("chosen|adapted|sees").any()


def test_how_a_number_is_printed_is_a_note_and_no_reason_not_to_compare_it():
    rows = _rows()
    for note in (
        "also quoted in TTM section 1",
        "Gaussian noise images",
        "mean and std over 5 seeds",
        "printed BLIP-2",
    ):
        assert (rows["note"] == note).any() and not rows["caution"].str.contains(note, regex=False).any()
    for why in ("metric not named", "with the groups known", "answers in words", "a tie counts as right"):
        assert rows["caution"].str.contains(why).any() and not rows["note"].str.contains(why).any()
    assert rows["published"].ne("").all()


def test_finished_runs_on_the_set_are_ones_own_rows_before_and_after(tmp_path):
    """Iteration 0 is the model as it was: comparable, unless another run had adapted it already."""
    store = RunStore(tmp_path)
    for benchmark, model, values in (
        ("winoground", "clip", (31.0, 41.0)),
        ("winoground", "run/1", (50.0, 60.0)),
        ("colorswap", "clip", (98.0, 99.0)),
    ):
        config = {"benchmark": benchmark, "model": model, "groups": 40, "oracle": model == "run/1"}
        run = store.create("ttm", f"{model} on {benchmark}", config)
        attempt = store.queue_up(run.id)
        for i, value in enumerate(values):
            store.append_step(run.id, {"iteration": i, "metrics": {"group_match": {"value": value}}}, attempt)
        store.conclude(run.id, attempt, "finished")
    own = PublishedSet("Winoground").runs(store, "group_match").sort_values("value")
    some = "some of the groups alone"
    assert own[["system", "method", "value", "caution"]].values.tolist() == [
        ["clip on winoground", "ttm, before it", 31.0, some],
        ["clip on winoground", "ttm", 41.0, f"adapted to these very groups, without labels; {some}"],
        [
            "run/1 on winoground",
            "ttm",
            60.0,
            f"an oracle: adapted to these very groups with knowledge of the truth; {some}",
        ],
    ]
    assert PublishedSet("Winoground").runs(store, "text_score").empty
    table = standing("Winoground", "", "group_match", own)
    assert table[table["kind"] == "yours"]["value"].tolist() == [60.0, 41.0, 31.0]


def evaluated(benchmark: str | None, **more: object) -> dict:
    metrics = {"group_score": {"value": 12.5, "low": 9.4, "high": 16.1, "chance": 16.7, "ties": 0}}
    found = {"benchmark": benchmark, "split": "test", "model": "mine", "n_groups": 400, "metrics": metrics}
    return {key: value for key, value in {**found, **more}.items() if value is not None}


def saved(path, record) -> str:
    path.write_text(json.dumps(record))
    return str(path)


@pytest.mark.parametrize(
    ("more", "caution"),
    [
        ({}, ""),
        ({"n_groups": 40}, "40 groups of 400"),
        ({"n_groups": None}, "nobody knows how many groups of 400"),
        ({"split": "validation"}, "of the split validation"),
        ({"text_only": True}, "sees no image"),
    ],
)
def test_what_evaluate_wrote_stands_among_published_results_and_says_what_makes_it_another_thing(
    tmp_path, more, caution
):
    path = saved(tmp_path / "metrics.json", evaluated("winoground", **more))
    shown = CliRunner().invoke(
        command, ["published", "winoground", path, "--metric", "group_score", "--json"]
    )
    rows = json.loads(shown.stdout)["rows"]
    (own,) = [row for row in rows if row["kind"] == "yours"]
    assert (own["value"], own["system"], own["source"]) == (12.5, "mine", "metrics.json")
    assert own["method"] == "as measured" and own["caution"] == caution
    assert (own["low"], own["high"]) == (9.4, 16.1)
    assert [row["value"] for row in rows] == sorted((row["value"] for row in rows), reverse=True)
    text = CliRunner().invoke(command, ["published", "Winoground", path, "--metric", "group_score"]).stdout
    (line,) = [line for line in text.splitlines() if line.startswith("*")]
    assert "12.50 [9.40, 16.10]  mine, as measured" in line and (caution in line)


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ([1], "is no result of Crossmatch"),
        ({"metrics": 3}, "is no result of Crossmatch"),
        (
            evaluated("colorswap"),
            "is of colorswap, not of winoground; write a result of winoground with `crossmatch",
        ),
        (
            evaluated(None, n_groups=40),
            r"names no benchmark and has 40 groups, where Winoground has 400 \(test\) groups of 2x2; choose the set",
        ),
        (
            evaluated(None, n_groups=None),
            "names no benchmark and has groups of unknown number, where Winoground has",
        ),
        (evaluated(None, shape="1x2"), "names no benchmark and has 400 groups of 1x2, where Winoground has"),
        (evaluated("winoground", metrics={}), "has no group_score"),
        (evaluated("winoground", metrics={"group_score": {"value": "x"}}), "has no group_score"),
        (
            evaluated("winoground", metrics={"group_score": {"value": 120, "low": 1, "high": 130}}),
            r"has 120.0 in \[1.0, 130.0\]",
        ),
    ],
)
def test_an_own_result_of_something_else_is_one_sentence(tmp_path, record, says):
    path = saved(tmp_path / "metrics.json", record)
    shown = CliRunner().invoke(command, ["published", "winoground", path, "--metric", "group_score"])
    assert isinstance(shown.exception, InputError)
    with pytest.raises(InputError, match=says):
        raise shown.exception
    assert "crossmatch evaluate winoground --json" in str(shown.exception)


@pytest.mark.parametrize("ending", [".json", ".csv", ".npz", ".jsonl", ".parquet"])
def test_a_score_file_or_a_result_without_a_benchmark_is_taken_as_one_of_the_set(tmp_path, ending):
    """Who has a score file alone could only name the benchmark where the gated set had been downloaded."""
    scores = np.tile([[1.0, 0.0], [0.0, 1.0]], (400, 1, 1))
    scores[:100] = [[0.0, 1.0], [1.0, 0.0]]
    scores[100:101] = 1.0  # a tie counts as wrong
    path = tmp_path / f"mine{ending}"
    if ending == ".json":  # as `evaluate --scores` prints it
        file = tmp_path / "mine.csv"
        write_scores(file, scores)
        shown = CliRunner().invoke(command, ["evaluate", "--scores", str(file), "--json"])
        path.write_text(shown.stdout)
    else:
        write_scores(path, scores)
    row = PublishedSet("Winoground").result(path, "group_score").iloc[0]
    packed = path.with_suffix(".zip")
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(path, path.name)
    assert PublishedSet("Winoground").result(packed, "group_score").iloc[0].equals(row)
    assert row["value"] == 100 * 299 / 400 and row["source"] == path.name and row["caution"] == ""
    assert (
        row["method"] == "of your file, as measured"
        and row["low"] < row["value"] < row["high"]
        and row["system"].startswith("mine.")
    )
    assert (
        "with its 400 groups of 2×2 it is taken as one of winoground; image i is taken to belong to caption i"
        in row["note"]
    )
    with pytest.raises(
        InputError, match=r"400 groups of 2x2, where ColorSwap has 300 \(test\) or 700 \(train\) groups"
    ):
        PublishedSet("ColorSwap").result(path, "group_score")


def test_a_file_of_embeddings_is_one_s_own_result_as_evaluate_reads_it(tmp_path):
    """The help said “in a form that `evaluate` reads”, and it ended with “has no array 'scores' among: img, cap”."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(800, 8))
    path = tmp_path / "mine.npz"
    np.savez(path, img=rows, cap=rows + random.normal(size=rows.shape))
    shown = CliRunner().invoke(command, ["evaluate", str(path), "--json"])
    wanted = json.loads(shown.stdout)["metrics"]["group_score"]
    row = PublishedSet("Winoground").result(path, "group_score").iloc[0]
    assert [row[key] for key in ("value", "low", "high")] == [wanted[key] for key in ("value", "low", "high")]
    assert row["system"] == "mine.npz" and row["caution"] == ""
    told = CliRunner().invoke(
        command, ["published", "winoground", str(path), "--json"], catch_exceptions=False
    )
    assert json.loads(told.stdout)["rows"][0]["kind"] and "mine.npz" in told.stdout
    with pytest.raises(InputError, match=r"400 groups of 2x2, where ColorSwap has 300 \(test\) or 700"):
        PublishedSet("ColorSwap").result(path, "group_score")
    one = tmp_path / "one.npz"  # a set of groups of one image
    count = datasets.benchmark_entry("sugarcrepe/add_obj").counts["test"][0]
    np.savez(one, img=random.normal(size=(count, 8)), cap=random.normal(size=(2 * count, 8)))
    assert PublishedSet.named("sugarcrepe/add_obj").result(one, "group_match")["value"].between(0, 100).all()


@pytest.mark.parametrize("arrays", [{"sims": np.ones((4, 2, 2))}, {}])
def test_an_npz_that_is_neither_is_told_both_forms(tmp_path, arrays):
    """Scores under another name were told first that the file “needs one array named 'img'”."""
    path = tmp_path / "mine.npz"
    np.savez(path, **arrays)
    with pytest.raises(InputError, match=r"an array named 'scores' .* or two named 'img' and 'cap'"):
        PublishedSet("Winoground").result(path, "group_score")
    with pytest.raises(InputError, match=r"an array named 'scores' .* or two named 'img' and 'cap'"):
        command(["evaluate", str(path)], standalone_mode=False)


def test_a_file_that_names_no_benchmark_has_the_split_of_its_number_of_groups(tmp_path):
    path = tmp_path / "scores.csv"
    write_scores(path, np.random.default_rng(0).normal(size=(700, 2, 2)))
    assert PublishedSet("ColorSwap").result(path, "group_score")["caution"][0] == "of the split train"


def test_a_set_that_is_no_benchmark_here_takes_no_own_result(tmp_path):
    path = saved(tmp_path / "metrics.json", evaluated("winoground"))
    with pytest.raises(
        InputError, match="Winoground, non-grouped is no benchmark here: no result of yours can"
    ):
        PublishedSet("Winoground", "non-grouped").result(tmp_path / path, "group_score")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (json.dumps(evaluated("winoground"))[:120], "is not complete JSON"),
        (json.dumps(evaluated("winoground")) * 2, "is not complete JSON"),
        ("group,image,caption,score\n0,0,0,1\n", "is not complete JSON"),
        ("[" * 100_000, "is not complete JSON"),
        ("", "is empty"),
        (None, "cannot be read"),
    ],
    ids=["half", "two", "scores", "deep", "empty", "gone"],
)
def test_half_a_result_or_another_file_is_one_sentence(tmp_path, content, says):
    path = tmp_path / "metrics.json"
    if content is not None:
        path.write_text(content)
    shown = CliRunner().invoke(command, ["published", "winoground", str(path)])
    said = str(shown.exception)
    assert isinstance(shown.exception, InputError) and said.startswith(f"{path} {says}") and "\n" not in said
    if says == "is not complete JSON":
        assert said.endswith("; write one with `crossmatch evaluate winoground --json`.")


def test_an_own_row_is_one_line_whatever_the_file_calls_the_model(tmp_path):
    record = evaluated("winoground", model="a\n<script>" + "x" * 500)
    path = saved(tmp_path / "metrics.json", record)
    shown = CliRunner().invoke(command, ["published", "winoground", path, "--metric", "group_score"]).stdout
    (line,) = [line for line in shown.splitlines() if line.startswith("*") and "12.50" in line]
    assert line.endswith("metrics.json") and len(line) < 150


def test_the_command_says_the_place_of_ones_own_file_and_names_it_once(tmp_path):
    """Its row named it as system and as source, and only the page said that it is 14th of 17."""
    path = tmp_path / "mine.csv"
    write_scores(path, np.tile(np.eye(2), (400, 1, 1)))
    shown = (
        CliRunner().invoke(command, ["published", "winoground", str(path), "--metric", "group_score"]).stdout
    )
    (row,) = [line for line in shown.splitlines() if line.startswith("*") and "100.00" in line]
    assert row.count("mine.csv") == 1
    others = len(_comparable(PublishedSet("Winoground").standing("group_score")))
    assert (
        f"\nmine.csv, 1st of {others + 1}: 0 of the {others} comparable published results are higher; none of the "
        f"{others} lies inside your interval.\n" in shown
    )
    part = saved(tmp_path / "part.json", {**evaluated("winoground"), "n_groups": 40})
    shown = CliRunner().invoke(command, ["published", "winoground", part, "--metric", "group_score"]).stdout
    assert "40 groups of 400" in shown and f" of {others + 1}: " not in shown  # which has no place


def test_sets_and_metrics_without_published_numbers_are_named(tmp_path):
    for words, says in (
        (("published", "winogrund"), "Unknown set with published numbers 'winogrund'"),
        (("published", "bivlc", "--metric", "accuracy"), "metric that was published of BiVLC"),
    ):
        shown = CliRunner().invoke(command, list(words))
        assert isinstance(shown.exception, InputError) and says in str(shown.exception)
    sets = json.loads(CliRunner().invoke(command, ["published", "--json"]).stdout)
    assert {"set": "SPEC, count", "metrics": ["image_choice", "text_score"]} in sets


def test_a_choice_among_images_takes_what_recall_writes(tmp_path):
    metrics = {"image_choice": {"value": 30, "low": 28.7, "high": 31.4, "chance": 11.1, "ties": 0}}
    record = {"benchmark": "spec/count-text-to-image", "model": "mine", "images": 9, "metrics": metrics}
    path = saved(tmp_path / "recall.json", record)
    shown = CliRunner().invoke(
        command, ["published", "spec/count", path, "--metric", "image_choice", "--json"]
    )
    assert [r["value"] for r in json.loads(shown.stdout)["rows"]] == pytest.approx([37.4, 30, 23.62, 100 / 9])


def test_the_page_takes_an_own_result_too(app, tmp_path):
    test = app(PAPERS)
    test.session_state["paper"] = "Your own result"
    test.session_state["published_set"] = "Winoground"
    fine(test.run())
    fine(test.selectbox(key="published_metric").set_value("group_score").run())
    (field,) = [each for each in test.get("file_uploader") if "Your own result" in each.label]
    fine(field.upload("metrics.json", json.dumps(evaluated("winoground")).encode()).run())
    table = systems(test)
    assert table[table["What it is"] == "yours"]["Value (%)"].tolist() == ["12.50 [9.40, 16.10]"]
    # Neither people, nor chance, nor what has a mark stands among what a number is compared with.
    others = table[(table["What it is"] == "published") & (table["Mark"] == "")]["Value (%)"].astype(float)
    assert 85.5 not in others.tolist() and others.max() == 69.75 and len(others) < len(table) - 5
    above = int((others > 12.5).sum())
    wanted = f"**: 12.50 % [9.40, 16.10] (mine, as measured); {above} of the {len(others)} comparable "
    wanted += "published results are higher;"
    assert any(wanted in each.value.replace("\\", "") for each in test.markdown)


def test_before_anybody_gives_a_result_an_example_shows_what_is_said_of_one_and_fills_the_fields(app):
    """The page showed a form alone. The middle one of MMVP-VLM's three published numbers of GroupScore (TTM, Table 1):
    68.15, 22.96 and 5.19; 31 of 135 groups are 22.96 %, with the interval of scipy."""
    test = app(PAPERS, paper="Your own result", published_set="MMVP-VLM", published_metric="GroupScore")
    (said,) = [each.value for each in test.caption if each.value.startswith("**Example**")]
    assert said.replace("\\", "") == "**Example**: SigLIP-B16's 22.96 % would be 2nd of 4."
    button(test, "Fill in this example").click()
    fine(test.run())
    assert test.text_input(key="published_value").value == "22.96"
    assert test.text_input(key="published_groups").value == "135"
    assert test.text_input(key="published_system").value == "example: SigLIP-B16"
    assert not [each for each in test.caption if each.value.startswith("**Example**")]
    (said,) = [each.value.replace("\\", "") for each in test.markdown if each.value.startswith("**Yours")]
    ends = binomtest(31, 135).proportion_ci()
    assert said.startswith("**Yours, 2nd of 4, not distinguishable from chance (16.7 %)**: 22.96 % ")
    assert f"{100 * ends.low:.2f}" in said


def test_an_own_result_that_is_not_comparable_is_said_to_be_so_first_and_has_no_rank(app):
    """ "1 of the 16 comparable published results is higher. Yours is not comparable: 40 groups of 400." """
    test = opened(app, "group_score")
    (field,) = [each for each in test.get("file_uploader") if "Your own result" in each.label]
    fine(field.upload("few.json", json.dumps(evaluated("winoground", n_groups=40)).encode()).run())
    (said,) = [each.value.replace("\\", "") for each in test.markdown if each.value.startswith("**Yours")]
    assert said.startswith("**Yours is not comparable**: ") and "40 groups of 400" in said
    assert "It is 12.50 % [9.40, 16.10]" in said and "higher" not in said and "Not counted" not in said


def test_the_page_measures_a_score_file_as_one_of_the_set_that_is_chosen(app, tmp_path):
    """A CSV was "not allowed", and its result "names no benchmark"."""
    path = tmp_path / "a.csv"
    write_scores(path, np.tile(np.eye(2), (400, 1, 1)))
    test = opened(app, "group_score")
    assert any("is taken as one of Winoground" in each.value for each in test.caption)
    (field,) = [each for each in test.get("file_uploader") if "Your own result" in each.label]
    fine(field.upload("a.csv", path.read_bytes()).run())
    table = systems(test)
    own = table[table["What it is"] == "yours"].iloc[0]
    assert own["Method"] == "of your file, as measured"
    assert own["Value (%)"] == "100.00 [99.08, 100.00]"  # Clopper and Pearson's of 400 of 400


def typed(app, **state):
    return fine(
        app(
            PAPERS,
            paper="Your own result",
            published_set="Winoground",
            published_metric="group_score",
            **state,
        )
    )


def test_a_file_that_was_uploaded_on_another_page_is_offered(app, tmp_path):
    """It had to be uploaded again."""
    path = tmp_path / "mine.csv"
    write_scores(path, np.tile(np.eye(2), (400, 1, 1)))
    assert not any(each.key == "published_stored" for each in opened(app, "group_score").selectbox)
    UploadStore().add("mine.csv", path.read_bytes())
    test = opened(app, "group_score")
    fine(test.selectbox(key="published_stored").set_value("mine.csv").run())
    table = systems(test)
    own = table[table["What it is"] == "yours"].iloc[0]
    assert own["Value (%)"] == "100.00 [99.08, 100.00]"


def test_a_file_that_is_uploaded_here_takes_the_place_of_one_that_was_chosen(open_page, tmp_path):
    """The field went on naming the old file, whose refusal was gone, beside the result of the new one."""
    alone, whole = tmp_path / "alone.csv", tmp_path / "whole.csv"
    write_scores(alone, np.tile(np.eye(2), (3, 1, 1)))
    write_scores(whole, np.tile(np.eye(2), (400, 1, 1)))
    UploadStore().add("alone.csv", alone.read_bytes())
    state = {"published_set": "Winoground", "published_metric": "group_score"}
    test = open_page(PAPERS, paper="Your own result", **state)
    test.selectbox(key="published_stored").set_value("alone.csv").run()
    assert "alone.csv is not used" in test.error[0].value.replace("\\", "")
    fine(field_of(test).upload("whole.csv", whole.read_bytes()).run())
    stored = test.selectbox(key="published_stored")
    assert not test.error and own_row(test)["Value (%)"] == "100.00 [99.08, 100.00]"
    assert stored.value is None and stored.disabled and stored.placeholder == "first remove the file above"


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_file_of_groups_of_ones_own_has_the_way_to_where_it_is_measured(
    open_page, monkeypatch, tmp_path, is_stored
):
    """“Measure it by itself” had no link."""
    path = tmp_path / "alone.csv"
    write_scores(path, np.tile(np.eye(2), (3, 1, 1)))
    UploadStore().add("alone.csv", path.read_bytes())
    state = {"published_set": "Winoground", "published_metric": "group_score"}
    test = open_page(PAPERS, paper="Your own result", **state)
    assert not any(each.key == "measure-by-itself" for each in test.button)
    if is_stored:
        test.selectbox(key="published_stored").set_value("alone.csv").run()
    else:
        field_of(test).upload("here.csv", path.read_bytes()).run()
    assert "measure it by itself" in test.error[0].value
    opened_with = []
    monkeypatch.setattr("ui.selection.switch_page", lambda *to: opened_with.append(to))
    test.button(key="measure-by-itself").click().run()
    held = {"set": f"{PREFIX}alone.csv", "shape": ""} if is_stored else {}
    assert opened_with == [("pages/8_Your_Data.py", {"way": "Scores or embeddings", **held})]


def test_beside_a_chosen_file_the_number_of_groups_has_no_say(open_page, tmp_path):
    """A red "A number of groups alone is no result" stood beside a valid file: the field still had 400."""
    alone, path = "A number of groups alone is no result", tmp_path / "mine.csv"
    write_scores(path, np.tile(np.eye(2), (400, 1, 1)))
    UploadStore().add("mine.csv", path.read_bytes())
    state = {"published_set": "Winoground", "published_metric": "group_score", "published_groups": "400"}
    test = open_page(PAPERS, paper="Your own result", **state)
    assert alone in test.error[0].value
    fine(test.selectbox(key="published_stored").set_value("mine.csv").run())
    assert not test.error and own_row(test)["Value (%)"] == "100.00 [99.08, 100.00]"
    fresh = open_page(PAPERS, paper="Your own result", **state)
    fine(field_of(fresh).upload("here.csv", path.read_bytes()).run())
    assert not fresh.error and own_row(fresh)["Value (%)"] == "100.00 [99.08, 100.00]"


def test_the_page_takes_embeddings_uploaded_here_or_before(app, tmp_path):
    """A red box said “has no array 'scores' among: img, cap” of a file that its own list offered."""
    path = tmp_path / "mine.npz"
    rows = np.random.default_rng(0).normal(size=(800, 8))
    np.savez(path, img=rows, cap=rows)
    UploadStore().add("mine.npz", path.read_bytes(), "2x2")
    test = opened(app, "group_score")
    fine(test.selectbox(key="published_stored").set_value("mine.npz").run())
    assert own_row(test)["Value (%)"] == "100.00 [99.08, 100.00]"
    fresh = opened(app, "group_score")
    fine(field_of(fresh).upload("here.npz", path.read_bytes()).run())
    assert own_row(fresh)["Value (%)"] == "100.00 [99.08, 100.00]"


def test_ones_own_row_stands_in_the_order_of_values_marked_with_its_place_and_coloured(app):
    """It was one of 26 grey rows of a box that scrolls, and its mark was empty."""
    test = opened(app, "group_score")
    fine(
        field_of(test)
        .upload("metrics.json", json.dumps({**evaluated("winoground"), "n_groups": 400}).encode())
        .run()
    )
    table = systems(test)
    first, others = own_row(test), table[(table["What it is"] == "published") & (table["Mark"] == "")]
    values = table["Value (%)"].str.split().str[0].astype(float)
    assert values.is_monotonic_decreasing  # it stood first, above twice its value
    above = int((others["Value (%)"].astype(float) > 12.5).sum())
    assert first["System"] == "mine" and table["What it is"].tolist().count("yours") == 1
    assert first["Mark"].startswith(f":violet-background[**yours** {above + 1}")
    assert first["Mark"].endswith(f" of {len(others) + 1}]")
    said = next(each.value for each in test.markdown if each.value.startswith("**Yours")).replace("\\", "")
    assert said.startswith(f"**Yours, {above + 1}") and "12.50 %" in said
    fine(test.text_input(key="published_filter").set_value("vinvl").run())  # which is for the others
    assert systems(test)["System"].tolist() == ["VinVL", "mine"]


def test_what_is_above_ones_own_value_and_is_not_counted_is_named(app):
    """A value below five others was the second of 17, and no word said why."""

    def box(value):
        said = [each.value for each in typed(app, published_value=value).markdown]
        return next(each for each in said if each.startswith("**Yours")).replace("\\", "")

    assert box("31.5").endswith(" Not counted above you: human, 3 × GPT-4V [1].")
    assert "Not counted" not in box("99")


def test_an_own_place_is_told_with_the_places_that_its_interval_allows(app):
    """ "Yours, 2nd of 17: 31.50 % [26.97, 36.30]; 1 of the 16 is higher": a bare rank, though others lie inside."""

    def box(**state):
        test = typed(app, **state)
        table = systems(test)
        rows = table[(table["What it is"] == "published") & (table["Mark"] == "")]
        said = next(each.value for each in test.markdown if each.value.startswith("**Yours"))
        return said.replace("\\", ""), rows["Value (%)"].astype(float)

    for value, right in (("31.5", 126), ("12.5", 50)):
        said, others = box(published_value=value, published_groups="400")
        low, high = (100 * end for end in binomtest(right, 400).proportion_ci())
        inside, above, below = (
            ((others > low) & (others < high)).sum(),
            (others > high).sum(),
            (others > low).sum(),
        )
        assert inside and len(others) == 16
        first, last = (
            {1: "1st", 2: "2nd", 3: "3rd"}.get(n, f"{n}th") for n in (int(above) + 1, int(below) + 1)
        )
        counted = f"{inside} of the 16 {'lies' if inside == 1 else 'lie'} inside your interval"
        assert f"higher; {counted}, so that it may stand anywhere from {first} to {last}." in said
    assert "inside your interval" not in box(published_value="31.5")[0]
    assert "none of the 16 lies inside your interval." in box(published_value="99", published_groups="400")[0]


def test_a_number_below_chance_is_called_so_beside_its_rank():
    """7.5 of GroupScore, whose chance level is 1/6, had a rank like any other."""
    rows = [
        *({"kind": "published", "value": value} for value in (30.0, 10.0, 5.0)),
        {"kind": "chance", "value": 100 / 6},
        {"kind": "yours", "value": 7.5, "place": "3rd of 4"},
        {"kind": "yours", "value": 17.0, "place": "2nd of 4"},
        {"kind": "yours", "value": 16.5, "place": "2nd of 4", "low": 13.0, "high": 20.51},
        {"kind": "yours", "value": 12.5, "place": "2nd of 4", "low": 9.42, "high": 16.15},
        {"kind": "yours", "value": 17.0, "place": "2nd of 4", "low": 16.8, "high": 20.0},
    ]
    blank = dict.fromkeys(("system", "method", "caution", "low", "high", "place"), "")
    lines = _own_lines(pd.DataFrame([{**blank, **row} for row in rows]), {})
    below, above, *measured = (line.replace("\\", "") for line in lines)
    assert below.startswith("**Yours, 3rd of 4, below chance (16.7 %)**: 7.50 %")
    assert above.startswith("**Yours, 2nd of 4**: 17.00 %")
    # 16.50 [13.00, 20.51] was called below 16.70, which its interval holds
    said = ", not distinguishable from chance (16.7 %)", ", below chance (16.7 %)", ""
    for line, told in zip(measured, said, strict=True):
        assert line.startswith(f"**Yours, 2nd of 4{told}**: ")


def test_one_published_result_inside_an_interval_is_told_in_the_singular():
    others = pd.Series([10.0, 20.0, 30.0])
    row = {"value": 21.0, "low": 19.0, "high": 24.0}
    told = "; 1 of the 3 lies inside your interval, so that it may stand anywhere from 2nd to 3rd"
    assert _inside(others, row) == told
    assert _inside(others, {**row, "low": ""}) == "" and _inside(others[:0], row) == ""


def test_the_verdict_says_for_which_set_a_number_is_taken_why_and_where_to_change_it(app, tmp_path):
    """A caption and a note said so: 400 groups of 2×2 of something else stood among Winoground's. Of a number that was
    typed it said that it was “taken for” a set, as if it were a file."""
    way = " ([choose another set ↑](#published-set))"
    because = f", taken for Winoground, as it has 400 groups of 2×2{way}; "
    as_many = f"; 400 groups, as Winoground has: compared with it{way}; "

    def box(test):
        return next(m.value for m in test.markdown if m.value.startswith("**Yours")).replace("\\", "")

    assert f"(your number, as typed){as_many}" in box(
        typed(app, published_value="31.5", published_groups="400")
    )
    assert f"(your number, as typed); compared with Winoground{way}; " in box(
        typed(app, published_value="31.5")
    )
    assert f"; compared with Winoground{way}." in box(
        typed(app, published_value="31", published_groups="100")
    )
    path = tmp_path / "a.csv"
    write_scores(path, np.tile(np.eye(2), (400, 1, 1)))
    test = opened(app, "group_score")
    assert 'id="published-set"' in html(test)
    assert because in box(fine(field_of(test).upload("a.csv", path.read_bytes()).run()))


def test_a_value_that_may_be_a_share_of_1_says_as_what_it_is_taken_and_is_a_percentage_in_one_click(app):
    """0.31 was taken as 0.31 % without a word."""

    def asked(test):
        return [each.label for each in test.button if each.label.startswith("I mean")]

    for value, taken, meant in (
        ("0.31", "Taken as 0.31 %.", "31"),
        (" .3125", "Taken as .3125 %.", "31.25"),
        ("0,5", "Taken as 0.5 %.", "50"),
        ("0.10", "Taken as 0.10 %.", "10"),
    ):
        test = typed(app, published_value=value)
        assert taken in [each.value for each in test.caption] and asked(test) == [f"I mean {meant} %"]
    # no count of so many groups, which the refusal alone did not explain
    test = typed(app, published_groups="400", published_value="31").text_input(key="published_value")
    test = test.set_value("0.31").run()
    assert test.error and asked(test) == ["I mean 31 %"]
    (button,) = [each for each in test.button if each.label.startswith("I mean")]
    test = fine(button.click().run())
    assert test.text_input(key="published_value").value == "31" and not test.error and not asked(test)
    assert own_row(test)["Value (%)"].startswith("31.00 [")
    for value in ("", "0", "0.0", "1", "1.0", "31", "0.31 %"):
        assert not asked(typed(app, published_value=value))


def test_yours_is_drawn_with_its_interval_among_what_it_is_compared_with_and_chance(app):
    assert not typed(app).get("plotly_chart")
    assert not typed(app, published_value="31", published_groups="100").get("plotly_chart")  # not comparable
    (drawn,) = typed(app, published_value="31.5", published_groups="400").get("plotly_chart")
    assert (
        drawn.proto.alt
        == "GroupScore in percent: yours with its 95 % interval among the 16 comparable published "
        "results, and chance."
    )
    marks = [_Mark("a", 20.0), _Mark("b", 40.0)], [_Mark("mine", 31.5, 27.0, 36.5)]
    figure = _standing_figure(*marks, 100 / 6)
    published, yours = figure.data
    assert list(published.x) == [20.0, 40.0] and list(yours.x) == [31.5] and yours.y[0] > published.y[0]
    assert (yours.error_x.array[0], yours.error_x.arrayminus[0]) == pytest.approx((5.0, 4.5))
    assert figure.layout.shapes[0].x0 == pytest.approx(100 / 6) and figure.layout.height < 150
    assert figure.layout.annotations[0].text == "chance 16.7 %"
    assert list(figure.layout.yaxis.ticktext) == ["published", "yours"]


def test_the_figure_of_ones_own_result_has_whole_names_and_is_among_the_exports(app):
    """Two models whose names begin alike were cut to the same letters, and Export had no figure."""
    names = "a model with a long name, first way", "a model with a long name, second <way>"
    figure = _standing_figure([_Mark("a", 20.0)], [_Mark(name, 30.0) for name in names], None)
    lines = ["a model with a long<br>name, first way", "a model with a long<br>name, second &lt;way&gt;"]
    assert list(figure.layout.yaxis.ticktext) == ["published", *lines]
    high = _standing_figure([_Mark("a", 20.0)], [_Mark("word " * 16, 30.0), _Mark("b", 31.0)], None)
    assert high.layout.height > figure.layout.height  # four lines of a name

    def exported(test):
        return [each.label for each in test.get("download_button") if each.label.startswith("standing")]

    assert exported(typed(app, published_value="31.5", published_groups="400"))
    assert not exported(
        typed(app, published_value="31", published_groups="100")
    )  # nothing to compare, none drawn


def test_a_number_can_be_typed_has_its_exact_interval_and_stays_in_the_address(app):
    test = typed(app, published_value="31.5 %", published_groups="400")
    first = own_row(test)
    interval = binomtest(126, 400).proportion_ci()
    low, high = (100 * end for end in interval)
    assert first["Value (%)"] == f"31.50 [{low:.2f}, {high:.2f}]" and first["Method"] == "as typed"
    assert first["Note"] == "exact interval of 126 right of 400 groups"
    assert not any("no page knows" in each.value for each in test.warning)
    assert own_row(typed(app, published_value="31,5"))["Value (%)"] == "31.50"
    (box,) = [each.value for each in typed(app, published_value="31", published_groups="100").markdown
              if each.value.startswith("**Yours")]  # fmt: skip
    assert "100 groups of 400" in box  # and so has no place


@pytest.mark.parametrize(
    ("value", "groups", "says"),
    [
        ("130 %", "", "130 % cannot be: a share lies between 0 and 100 %"),
        ("-1", "", "-1 % cannot be"),
        ("abc", "", "'abc' is no number; type your value in percent, such as 31.5."),
        ("1e1", "", "is no number"),
        ("31.5", "10", "31.5 % of 10 groups cannot be: 3 right are 30.00 %, 4 are 40.00 %"),
        ("31.5", "0", "'0' is no number of groups"),
        ("31.5", "12.5", "'12.5' is no number of groups"),
        ("31.5", "9" * 30, "is no number of groups"),
        ("", "400", "A number of groups alone is no result"),
    ],
)
def test_a_typed_number_that_cannot_be_is_one_sentence_and_the_table_stays(open_page, value, groups, says):
    test = open_page(PAPERS, paper="Your own result", published_set="Winoground", published_value=value,
               published_groups=groups)  # fmt: skip
    (error,) = test.error
    assert says in error.value.replace("\\", "") and "yours" not in systems(test)["What it is"].tolist()
    # An example's place stood above it, as if it were one's own.
    assert not any("**Example**" in each.value for each in test.caption)


@pytest.mark.parametrize("count", [1, 3, 7, 400])
@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_every_share_of_some_groups_is_taken_as_it_is_printed(count, decimals):
    chosen = PublishedSet.named("winoground")
    for right in range(count + 1):
        (row,) = chosen._typed("group_score", f"{100 * right / count:.{decimals}f}", str(count)).to_dict(
            "records"
        )
        if count <= 7 or decimals:  # else several counts have one print
            low, high = binomtest(right, count).proportion_ci()
            assert (row["low"], row["high"]) == pytest.approx((100 * low, 100 * high), abs=1e-6)


def field_of(test):
    (field,) = [each for each in test.get("file_uploader") if "Your own result" in each.label]
    return field


def test_scores_under_other_headers_are_asked_for_their_columns_and_measured(app, tmp_path):
    """Papers said that the columns were missing; Your data asked which is which."""
    path = tmp_path / "a.csv"
    write_scores(path, np.tile(np.eye(2), (400, 1, 1)))
    other = pd.read_csv(path).rename(
        columns={"group": "item", "image": "img", "caption": "text", "score": "sim"}
    )
    test = opened(app, "group_score")
    fine(field_of(test).upload("b.csv", other.to_csv(index=False).encode()).run())
    assert any("looks like scores under other headers" in each.value for each in test.info)
    (send,) = [each for each in test.button if each.label == "Read it as scores"]
    fine(send.click().run())
    own = systems(test)
    own = own[own["What it is"] == "yours"].iloc[0]
    assert (own["Value (%)"], own["Source"]) == ("100.00 [99.08, 100.00]", "b.csv")


def test_a_file_of_too_few_groups_for_the_chosen_set_is_told_so_and_has_no_place(app, tmp_path):
    """A file of scores names no benchmark: of 120 groups it is none of Winoground's 400."""
    path = tmp_path / "a.csv"
    write_scores(path, np.tile(np.eye(2), (120, 1, 1)))
    test = opened(app, "group_score")
    field_of(test).upload("a.csv", path.read_bytes()).run()
    (said,) = [each.value.replace("\\", "") for each in test.error]
    assert said.startswith(
        "a.csv is not used: it names no benchmark and has 120 groups of 2x2, where Winoground "
    )
    assert said.endswith(
        "or measure it by itself where its groups are your own, of which nothing is published."
    )
    both = opened(app, "group_score")
    fine(both.text_input(key="published_value").set_value("31,5").run())
    field_of(both).upload("a.csv", path.read_bytes()).run()
    (said,) = [each.value.replace("\\", "") for each in both.error]
    assert said.startswith("a.csv is not used; the number that is typed counts: it names no benchmark")
    assert "yours" not in set(systems(test)["What it is"])


def test_all_mistakes_of_a_file_are_listed_and_gone_with_the_next_one(app, tmp_path):
    path = tmp_path / "a.csv"
    write_scores(path, np.tile(np.eye(2), (400, 1, 1)))
    faulty = pd.read_csv(path, dtype=str)
    faulty.loc[[0, 4, 8], "score"] = ["", "0,5", "x"]
    test = opened(app, "group_score")
    test = field_of(test).upload("a.csv", faulty.to_csv(index=False).encode()).run()
    (error,) = test.error
    assert error.value.replace("\\", "").startswith("a.csv has 3 mistakes; the table below lists each")
    (table,) = [each.value for each in test.dataframe if "what is wrong" in each.value.columns]
    assert table["row"].tolist() == ["2", "6", "10"]
    fine(field_of(test).upload("b.csv", path.read_bytes()).run())
    assert not test.error and not any("what is wrong" in each.value.columns for each in test.dataframe)
    shown = CliRunner().invoke(command, ["published", "winoground", write(tmp_path / "c.csv", faulty)])
    assert "3 mistakes in all" in str(shown.exception)


def write(path, table) -> str:
    table.to_csv(path, index=False)
    return str(path)


@pytest.mark.parametrize(
    ("name", "says"), [("a.zip", "is damaged or not an archive"), ("a.txt", "is neither a result")]
)
def test_a_file_of_another_ending_is_one_sentence_of_the_page(app, name, says):
    """The browser said "application/zip files are not allowed", with no next step."""
    test = opened(app, "group_score")
    assert not field_of(test).allowed_type
    test = field_of(test).upload(name, b"PK").run()
    (error,) = test.error
    assert says in error.value and len(systems(test))


def test_a_number_that_is_printed_in_two_places_stands_once_with_both(app):
    """SigLIP-B16's 10.25 stood in two rows, of Table 1 and of Table 9."""
    table = standing("Winoground", "", "group_score")
    (own,) = table[table["system"].eq("SigLIP-B16") & table["method"].eq("raw")].to_dict("records")
    assert own["value"] == 10.25 and own["source"] == "TTM, Table 1; TTM, Table 9"
    assert own["note"] == "the same in the rows T=3, 5 and 10"
    for found in PublishedSet.every().values():
        for metric in found.metrics:
            rows = found.standing(metric)
            assert not rows.duplicated(["system", "method", "value", "caution"]).any()


def test_latex_has_marks_reasons_sources_and_years_and_bibtex_all_that_is_quoted(app):
    test = opened(app, "group_score")
    fine(
        field_of(test).upload("metrics.json", json.dumps(evaluated("winoground", n_groups=40)).encode()).run()
    )
    latex, bibtex = (
        next(each.value for each in test.code if start in each.value)
        for start in ("\\begin{tabular}", "@software")
    )
    rows = {line.split(" & ")[1]: line for line in latex.splitlines() if line.count(" & ") == 5}
    assert r"\textbf{12.50} &" in rows[r"\textbf{mine (yours)}"] and r"{\scriptsize [9.40, 16.10]}" in latex
    assert re.search(r"\\begin\{tabular\}\{l(l|p\{\d+pt\})(l|p\{\d+pt\})r(l|p\{\d+pt\})r\}", latex)
    assert r"UNITER large & as published & 10.50 & \cite{thrush2022winoground} & 2022" in rows["UNITER large"]
    assert r" & \cite[Table 11]{lin2024visualgptscore} & " in rows["BLIP"]
    assert "human (people)" in rows and rows["GPT-4"].startswith("{}[")
    for page_note in [
        each.value.replace("\\", "") for each in test.caption if "Not comparable" in each.value
    ]:
        assert page_note in latex
    assert "; Thrush et al. 2022, by a list of results (read 2026-11-22)" in latex
    for key in ("zhu2026ttm", "thrush2022winoground", "lin2024visualgptscore", "ossowski2024keycomp"):
        assert bibtex.count(f"{{{key},") == 1
    cited = {key for keys in re.findall(r"\\cite(?:\[[^]]*\])?\{([^}]+)\}", latex) for key in keys.split(",")}
    assert cited and all(f"{{{key}," in bibtex for key in cited)
    fine(test.checkbox(key="published_cite").uncheck().run())
    latex = next(each.value for each in test.code if "\\begin{tabular}" in each.value)
    assert "\\cite" not in latex and re.search("as published & [0-9.]+ & Thrush et al. 2022 & 2022", latex)


def test_a_typed_value_has_its_own_names_which_are_in_the_address_the_table_and_the_exports(app):
    """Its row was "your number (yours), as typed" in a table for a paper."""
    test = typed(app, published_value="31.5", published_system="OurCLIP", published_method="hard negatives")
    first = own_row(test)
    assert (first["System"], first["Method"]) == ("OurCLIP", "hard negatives")
    place = re.search(r"\*\*yours\*\* (\w+ of \d+)", first["Mark"])[1]
    latex = next(each.value for each in test.code if "\\begin{tabular}" in each.value)
    assert r"\textbf{OurCLIP (yours)} & \textbf{hard negatives} & \textbf{31.50} &" in latex
    assert f"Bold: yours, {place} comparable results." in latex
    assert not any("no page knows" in each.value for each in test.warning)
    unnamed = own_row(typed(app, published_value="31.5"))
    assert (unnamed["System"], unnamed["Method"]) == ("your number", "as typed")


def test_a_file_has_the_names_that_are_typed_where_no_value_is(app):
    test = typed(app, published_system="OurCLIP")
    fine(field_of(test).upload("metrics.json", json.dumps(evaluated("winoground")).encode()).run())
    first = own_row(test)
    assert (first["System"], first["Method"]) == ("OurCLIP", "as measured")


def test_every_other_system_has_the_citation_of_its_paper():
    assert _rows()["cited"].isin(set(CITATIONS)).all()


def own_row(test):
    """The first of the visitor's own."""
    table = systems(test)
    return table[table["What it is"] == "yours"].iloc[0]


def systems(test):
    """The table of systems as it is read: without what keeps Markdown from acting."""
    (table,) = [each.value for each in test.table if "System" in each.value.columns]
    return table.map(lambda cell: cell.replace("\\", ""))


def test_no_cell_of_the_published_results_is_cut_and_a_source_links_to_where_it_was_read(app):
    """Reasons, addresses and notes ended at the edges of their cells."""
    table = systems(opened(app, "group_score"))
    assert not {"Not comparable because", "Read at"} & {
        *table.columns
    }  # below the table; a link of its source
    (source,) = table[table["System"] == "VinVL"]["Source"]
    assert re.fullmatch(r"\[Thrush et al\. 2022, by a list of results .*\]\(https://\S+\)", source)


def opened(app, metric: str):
    test = app(PAPERS)
    test.session_state["paper"] = "Your own result"
    test.session_state["published_set"] = "Winoground"
    fine(test.run())
    return fine(test.selectbox(key="published_metric").set_value(metric).run())


def test_a_row_that_is_not_comparable_has_a_mark_first_and_its_reason_below_the_table(app):
    """On a phone the column with the reason lay off the screen, and nothing else marked the row."""
    test = opened(app, "group_score")
    table = systems(test)
    assert next(iter(table.columns)) == "Mark"
    assert list(dict.fromkeys(table["Mark"])) == ["", "[1]", "[2]", "[3]"]
    notes = [each.value.replace("\\", "") for each in test.caption if "Not comparable" in each.value]
    assert [note[:3] for note in notes] == ["[1]", "[2]", "[3]"]
    assert notes[2] == "[3] Not comparable: its alpha was chosen on the test set."
    assert table[table["Mark"] == "[3]"]["Method"].tolist() == ["VisualGPTScore alpha=alpha*"]
    fine(test.text_input(key="published_filter").set_value("vinvl").run())  # nothing is left to mark
    table = systems(test)
    assert next(iter(table.columns)) == "Value (%)"
    assert not any("Not comparable" in each.value for each in test.caption)


def test_a_file_of_another_set_is_an_error_without_backticks(app):
    test = opened(app, "group_score")
    (field,) = [each for each in test.get("file_uploader") if "Your own result" in each.label]
    test = field.upload("metrics.json", json.dumps(evaluated("colorswap")).encode()).run()
    (error,) = test.error
    assert error.value.replace("\\", "") == (
        "metrics.json is not used: it is of colorswap, not of winoground; write a result of winoground with "
        "“crossmatch evaluate winoground --json”."
    )
    assert len(systems(test))  # the others' results stay


def test_the_section_opens_filters_and_is_not_drawn_while_it_is_closed(app):
    test = app(PAPERS)
    assert "published_set" not in {box.key for box in test.selectbox}
    test.session_state["paper"] = "Your own result"
    fine(test.run())
    fine(test.selectbox(key="published_set").set_value("Winoground").run())
    assert len(test.selectbox(key="published_metric").options) == 4
    fine(test.selectbox(key="published_metric").set_value("group_score").run())
    fine(test.text_input(key="published_filter").set_value("vinvl").run())
    table = systems(test)
    assert table["System"].tolist() == ["VinVL"] and table["Value (%)"].tolist() == ["14.50"]


@pytest.mark.parametrize(("names", "row"), [
    ({}, r"\textbf{Ours} & \textbf{--}"),
    ({"published_system": "our_clip & co", "published_method": "50 % negatives"},
     r"\textbf{our\_clip \& co (yours)} & \textbf{50 \% negatives}"),
    ({"published_system": "mine"}, r"\textbf{mine (yours)} & \textbf{--}"),
])  # fmt: skip
def test_ones_own_row_in_latex_has_its_names_escaped_and_no_words_of_the_page(app, names, row):
    """It was “your number (yours)”, “as typed”, in a table for a paper."""
    test = typed(app, published_value="31.5", **names)
    latex = next(each.value for each in test.code if "\\begin{tabular}" in each.value)
    assert row in latex and "as typed" not in latex and "your number" not in latex


@pytest.mark.parametrize(
    ("shapes", "says"),
    [
        (((9, 6), (9, 6)), "9 images and 9 captions, which cannot form groups of 2 images and 2 captions, those of "
         "Winoground; choose the set that the file is of or complete the file"),
        (((5, 3, 6), (5, 3, 6)), "3 images in each group, where Winoground has 2; choose the set that the file is of"),
    ],
)  # fmt: skip
def test_embeddings_of_another_shape_than_the_set_s_name_it_and_ask_for_no_shape(tmp_path, shapes, says):
    """“give the right shape”, and nobody can give one here: it is the set's."""
    rng = np.random.default_rng(0)
    img, cap = (rng.normal(size=shape) for shape in shapes)
    np.savez(tmp_path / "own.npz", img=img, cap=cap)
    with pytest.raises(InputError, match=says) as error:
        PublishedSet.named("winoground").result(tmp_path / "own.npz", "group_score")
    assert "give the" not in str(error.value)
