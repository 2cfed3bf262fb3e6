"""The command line: numbers, JSON on standard output and nothing else, and one sentence for every mistake."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from core.cli import app, format_step

NAMES = ["text_score", "image_score", "group_score", "group_match", "individual_match"]


def crossmatch(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "core.cli", *map(str, arguments)], capture_output=True, text=True, check=False
    )


@pytest.fixture
def score_file(tmp_path):
    """Two 2x2 groups: one right everywhere, one that only GroupMatch accepts."""
    path = tmp_path / "scores.npz"
    np.savez(path, scores=np.array([[[2.0, 1.0], [0.0, 2.0]], [[2.0, 2.1], [1.0, 1.9]]]))
    return path


def test_winoground_embeddings_by_command_line(winoground_embeddings):
    done = crossmatch("evaluate", "--embeddings", winoground_embeddings, "--shape", "2x2", "--json")
    record = json.loads(done.stdout)
    assert (record["n_groups"], record["shape"]) == (400, "2x2")
    assert "identity" in record["truth"]
    values = {name: e["value"] for name, e in record["metrics"].items()}
    assert [values[n] for n in NAMES[:4]] == [34.75, 11.0, 7.5, 67.5]
    assert (values["image_to_text_r1"], values["text_to_image_r1"]) == (34.0, 30.375)
    assert "global_match" in values
    for e in record["metrics"].values():
        assert e["low"] <= e["value"] <= e["high"]
        assert e.keys() == {"value", "low", "high", "chance", "ties"}


def test_winoground_tags_slice_the_metrics(winoground_embeddings):
    tags = winoground_embeddings.parent / "captions_and_tags.csv"
    done = crossmatch(
        "evaluate", "--embeddings", winoground_embeddings, "--tags", tags, "--by", "collapsed_tag", "--json"
    )
    slices = json.loads(done.stdout)["slices"]["collapsed_tag"]
    assert {value: part["n_groups"] for value, part in slices.items()} == {
        "Relation": 233,
        "Object": 141,
        "Both": 26,
    }


def test_a_score_file_with_groups_csv(score_file, tmp_path):
    out = tmp_path / "out"
    done = crossmatch("evaluate", "--scores", score_file, "--json", "--out", out)
    values = {name: e["value"] for name, e in json.loads(done.stdout)["metrics"].items()}
    # group 1 is right everywhere; in group 2 row 0 and column 1 prefer the 2.1, yet 2.0 + 1.9 > 2.1 + 1.0
    assert [values[name] for name in NAMES] == [50, 50, 50, 100, 75]
    table = pd.read_csv(out / "groups.csv")
    assert list(table["matching"]) == ["0 1", "0 1"]
    np.testing.assert_allclose(table["margin"], [3.0, 0.8])
    assert list(table["group_score"]) == [1, 0]


def test_without_json_the_output_is_a_table_with_chance_and_ties(score_file):
    text = crossmatch("evaluate", "--scores", score_file).stdout
    assert "group_match" in text
    assert "chance" in text
    assert "ties" in text


@pytest.mark.parametrize("what", ["models", "benchmarks", "metrics", "presets"])
def test_lists(what):
    rows = json.loads(crossmatch("list", what, "--json").stdout)
    assert all("name" in row for row in rows)
    assert rows


def test_no_runs_yet_is_an_empty_list():
    assert json.loads(crossmatch("runs", "list", "--json").stdout) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["evaluate"], "exactly one of"),
        (["evaluate", "--benchmark", "scenes/left-rihgt"], "did you mean 'scenes/left-right'"),
        (["evaluate", "--benchmark", "scenes/left-right", "--split", "tset"], "split"),
        (
            ["evaluate", "--benchmark", "scenes/left-right", "--model", "builtin/klip"],
            "did you mean 'builtin/clip'",
        ),
        (["evaluate", "--scores", "absent.csv"], "absent.csv"),
        (["evaluate", "--embeddings", "absent.npz", "--shape", "two"], "two"),
        (["list", "metricz"], "did you mean 'metrics'"),
        (["ttm", "--benchmark", "scenes/left-right", "--schedule", "liner"], "linear"),
        (["ttm", "--benchmark", "scenes/left-right", "--preset", "bultin"], "did you mean 'builtin'"),
        (["runs", "show", "nothing"], "nothing"),
        (["pretrain", "klip", "--out", "x"], "clip"),
    ],
)
def test_a_mistake_is_one_sentence_and_no_traceback(arguments, says):
    done = crossmatch(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_score_file_cannot_be_sliced_without_tags(score_file):
    assert "--by needs tags" in crossmatch("evaluate", "--scores", score_file, "--by", "colour").stderr


def test_a_truncated_npz_and_a_pickle_are_refused(score_file, tmp_path):
    broken = tmp_path / "broken.npz"
    broken.write_bytes(score_file.read_bytes()[:-40])
    pickled = tmp_path / "pickled.npz"
    np.savez(pickled, scores=np.array([{"a": 1}], dtype=object))
    for path in (broken, pickled):
        done = crossmatch("evaluate", "--scores", path, "--json")
        assert (done.returncode, done.stdout) == (2, "")
        assert path.name in done.stderr
        assert "Traceback" not in done.stderr


def test_every_command_has_help_with_an_example():
    for command in (["evaluate"], ["ttm"], ["runs", "list"], ["runs", "show"], ["pretrain"], ["list"]):
        assert "Example: crossmatch" in " ".join(crossmatch(*command, "--help").stdout.split())


def test_ttm_prints_one_json_line_per_iteration_with_iteration_zero_first():
    done = crossmatch(
        *("ttm", "--benchmark", "scenes/left-right", "--model", "builtin/clip", "--seed", 0, "--json"),
        *("--groups", 20, "--iterations", 2, "--epochs", 1),
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["iteration"] for line in lines] == [0, 1, 2]
    assert lines[0]["threshold"] is None
    for line in lines:
        assert {"iteration", "threshold", "coverage", "precision", "metrics", "seconds"} <= line.keys()
        assert set(NAMES) <= line["metrics"].keys()
    assert lines[1]["coverage"] == pytest.approx(0.2)
    assert "group_match" in format_step(lines[1])


def test_the_app_object_offers_the_documented_commands():
    assert {c.callback.__name__ for c in app.registered_commands} == {
        "evaluate",
        "ttm",
        "pretrain",
        "list_things",
    }
