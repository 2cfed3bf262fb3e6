"""The command line: numbers, JSON on standard output and nothing else, and one sentence for every mistake."""

import json
import re
import shlex
import subprocess
import sys
from html import unescape
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
import typer
from adapted import finish
from commands import crossmatch, in_a_shell
from gates import until
from typer.testing import CliRunner

from core.base.errors import InputError
from core.cli import COMMANDS, app
from core.cli._output import format_metrics, format_step
from core.cola.run import StrategyRun
from core.datasets import load
from core.datasets.score_files import write_scores
from core.runs.store import RunStore
from core.ttm.run import RUNS
from core.ttm.seeds import seeded
from ui.navigation import CHANGES

NAMES = ["text_score", "image_score", "group_score", "group_match", "individual_match"]


def here(*arguments: object) -> str:
    """Standard output of a command that succeeds; its errors come through as they are."""
    done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


@pytest.fixture
def embeddings(tmp_path):
    """An embeddings file of 12 groups of 2x2."""
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(24, 8))
    path = tmp_path / "small.npz"
    np.savez(path, img=shared + 0.9 * rng.normal(size=(24, 8)), cap=shared)
    return path


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
    assert list(table["matching"]) == ["A–1, B–2", "A–1, B–2"]
    np.testing.assert_allclose(table["margin"], [3.0, 0.8])
    assert list(table["group_score"]) == [1, 0]


def test_without_json_the_output_is_a_table_with_chance_and_ties(score_file):
    done = in_a_shell("evaluate", "--scores", score_file)
    text = done.stdout
    assert done.returncode == 0 and not done.stderr
    assert "group_match" in text
    assert "chance" in text
    assert "ties" in text


@pytest.mark.parametrize("what", ["models", "benchmarks", "metrics", "presets", "tables", "shifts"])
def test_lists(what):
    rows = json.loads(crossmatch("list", what, "--json").stdout)
    assert all("name" in row for row in rows)
    assert rows


def test_listed_lines_are_short_and_aligned_and_one_entry_is_told_in_full():
    lines = here("list", "benchmarks").splitlines()
    assert max(map(len, lines)) <= 100
    starts = {line.index(" built in") for line in lines if line.endswith(" built in")}
    assert len(starts) == 1 and "scenes/left-right@global" in "\n".join(lines)
    assert "needs: " in here("list", "benchmarks", "winoground")
    one = here("list", "benchmarks", "sugarcrepe-pp/swap_obj")
    assert "crossmatch evaluate sugarcrepe-pp/swap_obj --text-only" in one and "licence: CC BY 4.0" in one
    with pytest.raises(InputError, match="did you mean 'winoground'"):
        here("list", "benchmarks", "winogrund")


def test_models_are_listed_with_kinds_parameters_and_size():
    head, *lines = here("list", "models").splitlines()
    assert head.split() == ["name", "kinds", "parameters", "size", "state"]
    rows = {row["name"]: row for row in json.loads(here("list", "models", "--json"))}
    clip = rows["builtin/clip"]
    assert clip["kinds"] == ["itc"] and clip["state"] == "built in"
    assert clip["parameters"] == 1_266_849 and 2e6 < clip["bytes"] < 3e6
    assert rows["builtin/blind-lm"]["kinds"] == ["lm"] and len(lines) == len(rows)


def test_a_flattened_set_is_measured_without_groups_too():
    found = json.loads(here("evaluate", "--benchmark", "scenes/triples@global", "--json"))["metrics"]
    assert {"global_match", "image_to_text_r1", "text_to_image_r1"} <= set(found)
    assert found["global_match"]["chance"] == pytest.approx(100 / 102, abs=1e-3)


def test_no_runs_yet_is_an_empty_list():
    assert json.loads(crossmatch("runs", "list", "--json").stdout) == []
    # The app lists two once one of them was opened, and nothing said so.
    said = crossmatch("runs", "list").stdout
    assert said.startswith("no runs yet; ") and "Two ship as examples" in said


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
        (["list", "scenes/left-right"], "write `crossmatch list benchmarks scenes/left-right`"),
        (["evalute"], "did you mean 'evaluate'"),
        (["ttm", "scenes/left-right", "--limit", "40"], "has no option --limit; did you mean --groups?"),
        (["ttm", "--benchmark", "scenes/left-right", "--schedule", "liner"], "linear"),
        (["ttm", "--benchmark", "scenes/left-right", "--preset", "bultin"], "did you mean 'builtin'"),
        (["ttm"], "exactly one of --benchmark NAME or --embeddings FILE"),
        (["ttm", "--benchmark", "scenes/add", "--adapt-on", "1.5"], "below 1"),
        (["ttm", "--benchmark", "scenes/add", "--seeds", "0"], "0 seeds"),
        (["simplematch", "--embeddings", "absent.npz"], "absent.npz"),
        (["simplematch", "--benchmark", "scenes/add", "--preset", "builtin"], "not one of SimpleMatch"),
        (["reproduce", "ttm/3"], "did you mean"),
        (["runs", "seeds", "g-none"], "no group of runs"),
        (["runs", "export", "nothing", "x.zip"], "nothing"),
        (["runs", "show", "nothing"], "nothing"),
        (["pretrain", "klip", "--out", "x"], "clip"),
    ],
)
def test_a_mistake_is_one_sentence_and_no_traceback(arguments, says):
    assert_one_sentence(crossmatch(*arguments), says)


def assert_one_sentence(done, says):
    assert done.returncode == 2
    assert done.stdout == ""
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_shell_gets_the_same_sentence_and_nothing_of_what_is_imported():
    done = in_a_shell("evaluate", "--benchmark", "scenes/left-right", "--model", "builtin/klip")
    assert_one_sentence(done, "did you mean 'builtin/clip'")


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
    found = {name: typer.main.get_group(app).get_command(None, name).load() for name in COMMANDS}
    inner = [[name, one] for name, group in found.items() for one in getattr(group, "commands", ())]
    top = [[name] for name, command in found.items() if not hasattr(command, "commands")]
    assert {"runs", "export", "cache"} == {group for group, _ in inner}
    for command in [*top, *inner]:
        text = " ".join(here(*command, "--help").split())
        assert "Example: " in text and f"crossmatch {' '.join(command)}" in text


def test_no_help_and_no_list_of_benchmarks_waits_for_torch_or_for_tables_or_statistics():
    """All of them in one process, so that none loads any; `scipy` alone is quick, its parts are not."""
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from core.cli import COMMANDS, app\n"
        "for command in [*([name, '--help'] for name in COMMANDS), ['export', 'figure', '--help'],\n"
        "                ['runs', 'list', '--help'], ['list', 'benchmarks']]:\n"
        "    assert CliRunner().invoke(app, command).exit_code == 0, command\n"
        "loaded = {'.'.join(name.split('.')[:2]) for name in sys.modules}\n"
        "print(*sorted(loaded & {'torch', 'transformers', 'pandas', 'pyarrow', 'scipy.linalg', 'scipy.optimize',"
        " 'scipy.sparse', 'scipy.special', 'scipy.stats'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


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


def test_simplematch_on_the_winoground_embeddings_by_command_line(winoground_embeddings):
    done = crossmatch("simplematch", "--embeddings", winoground_embeddings, "--shape", "2x2", "--json")
    found = json.loads(done.stdout)
    for when in ("before", "after"):
        assert (found[when]["n_groups"], found[when]["shape"]) == (400, "2x2")
        assert "identity" in found[when]["truth"]
        assert found[when]["metrics"].keys() == set(NAMES)
    assert found["before"]["metrics"]["group_score"]["value"] == 7.5
    assert found["before"]["metrics"]["group_match"]["value"] == 67.5
    assert found["after"]["metrics"]["group_score"]["value"] >= 60
    assert found["fitted"] > 0.9


def test_simplematch_on_a_benchmark_and_model(tiny_clip_folder, tmp_path):
    out = here(
        *("simplematch", "--benchmark", "scenes/left-right", "--model", tiny_clip_folder, "--groups", 8),
        *("--rounds", 1, "--epochs", 1, "--json", "--save", tmp_path / "model"),
    )
    found = json.loads(out)
    assert found["before"]["truth"] == "given"
    assert found["rounds"] == 1
    assert (tmp_path / "model" / "config.json").exists()


def test_simplematch_in_words(embeddings):
    text = here("simplematch", "--embeddings", embeddings, "--rounds", 2, "--adapt-on", 0.5)
    for part in ("before: 12 groups of 2x2", "after, untouched: 6 groups", "pseudo-labels pass"):
        assert part in text


def test_ttm_over_seeds_ends_with_mean_and_deviation(embeddings, tmp_path):
    out = here(
        *("ttm", "--embeddings", embeddings, "--seeds", 2, "--iterations", 2, "--epochs", 1, "--json"),
        *("--save", tmp_path / "models"),
    )
    lines = [json.loads(line) for line in out.splitlines()]
    assert [(line["seed"], line["iteration"]) for line in lines[:-1]] == [
        (s, i) for s in (0, 1) for i in (0, 1, 2)
    ]
    last = [line["metrics"]["group_match"]["value"] for line in lines[:-1] if line["iteration"] == 2]
    final = lines[-1]["final"]["metrics"]["group_match"]
    assert final["mean"] == pytest.approx(np.mean(last), abs=1e-3)
    assert final["std"] == pytest.approx(np.std(last, ddof=1), abs=1e-3)
    assert len(lines[-1]["summary"]) == 3
    assert {p.name for p in (tmp_path / "models").iterdir()} == {"seed-0", "seed-1"}
    assert "± " in here("ttm", "--embeddings", embeddings, "--seeds", 2, "--iterations", 1, "--epochs", 1)


@pytest.mark.parametrize(
    "kind", [("ttm", "--iterations", 2, "--epochs", 1), ("simplematch", "--rounds", 1, "--epochs", 1)]
)
def test_seeds_in_the_foreground_end_with_the_gain_as_a_stored_group_has_it(embeddings, kind):
    """The page names this command for its numbers, and it ended with means and deviations."""
    own = (*kind, "--embeddings", embeddings, "--seeds", 2, "--adapt-on", 0.5)
    shown = json.loads(here(*own, "--json").splitlines()[-1])["results"]
    said = [line for line in here(*own).splitlines() if "before" in line and "  gain " in line]
    job = RUNS[kind[0]]
    names = dict(zip([word.strip("-") for word in kind[1::2]], kind[2::2], strict=True))
    store = RunStore()
    for each in seeded(job.of_file(embeddings, options=names, adapt_on=0.5), 2, "g-2"):
        finish(store, "small", each)
    stored = json.loads(here("runs", "seeds", "g-2", "--json"))["results"]
    assert shown == stored and {each["part"] for each in shown} == {"adapted", "untouched"}
    assert said == [line for line in here("runs", "seeds", "g-2").splitlines() if "  gain " in line]
    assert any("Holm" in line and ", p " in line for line in said)
    named = "\np: larger p of the exact test over groups and of the one over seeds and groups.\n"
    assert named in here(*own) and named in here("runs", "seeds", "g-2")
    # The list of runs prints the group's id, and `show` answered that it may have been deleted.
    for more in ((), ("--json",)):
        assert here("runs", "show", "g-2", *more) == here("runs", "seeds", "g-2", *more)


@pytest.mark.parametrize(("words", "answer"), [
    ("export", "There is no group of runs 'g-d1aa0e35' here"),  # of one that is here it names the seeds
    ("push", "a group of seeds, not of one run; `crossmatch runs seeds g-d1aa0e35`"),
])  # fmt: skip
def test_a_group_where_one_run_is_wanted_is_named_as_a_group(words, answer, tmp_path):
    """It "may have been deleted", said the answer to an id that the list of runs has just printed."""
    given = {"export": ("--out", tmp_path / "model.zip"), "push": ("ada/clip",)}.get(words, ())
    with pytest.raises(InputError, match=answer):
        here("runs", words, "g-d1aa0e35", *given)
    for name in ("g-none", "d1aa0e35"):
        with pytest.raises(InputError, match=f"There is no (run|group of runs) '{name}'"):
            here("runs", words, name, *given)


def test_the_global_variant_by_command_line(embeddings):
    out = here(
        *("ttm", "--embeddings", embeddings, "--variant", "global", "--threshold-mode", "relative"),
        *("--tau-first", 0.5, "--tau-last", 0, "--iterations", 3, "--epochs", 1, "--json"),
    )
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["threshold"] for line in lines] == [None, 0.5, 0.25, 0.0]
    assert [line["selected"] for line in lines] == [0, 12, 18, 24]
    assert "global_match" in lines[-1]["metrics"]
    assert "global_match" in format_step(lines[-1])


@pytest.mark.slow
def test_a_group_of_seeds_runs_in_the_background_and_is_reported_explained_and_exported(
    embeddings, tmp_path, monkeypatch
):
    monkeypatch.setenv("CROSSMATCH_PARALLEL_RUNS", "2")
    made = json.loads(
        here(
            *("ttm", "--embeddings", embeddings, "--seeds", 2, "--iterations", 2, "--epochs", 1),
            *("--adapt-on", 0.5, "--background", "--json"),
        )
    )
    runs = made["runs"]
    until(lambda: not any(run.live for run in RunStore().list()))
    found = json.loads(here("runs", "seeds", made["group"], "--json"))
    assert [run["status"] for run in found["runs"]] == ["finished", "finished"]
    assert found["final"]["seeds"] == 2
    assert found["final"]["parts"]["untouched"]["group_match"]["seeds"] == 2
    said = here("runs", "seeds", made["group"])
    assert "result of 2 complete seeds" in said
    # Mean and deviation were all that it had of a result.
    of = {(each["part"], each["metric"]): each for each in found["results"]}
    own = of["untouched", "group_match"]
    assert own["after"]["value"] == pytest.approx(found["final"]["parts"]["untouched"]["group_match"]["mean"])
    line = next(line for line in said.splitlines() if line.startswith("untouched GroupMatch"))
    for part in ("[{after[low]:.2f}, {after[high]:.2f}], chance 50.00, ", "], p "):
        assert part.format(**own) in line
    table = tmp_path / "groups.csv"
    told = json.loads(here("runs", "explain", runs[0], "--json", "--out", table))
    assert len(told["groups"]) == len(pd.read_csv(table)) == 12
    assert told["fixed"] == len(told["fixed_ids"])
    assert "wrong before and after" in here("runs", "explain", runs[0])
    here("runs", "export", runs[1], tmp_path / "model.zip")
    assert (tmp_path / "model.zip").stat().st_size > 1000
    steps = [
        step["metrics"]["group_match"]["value"]
        for step in json.loads(here("runs", "show", runs[0], "--json"))["steps"]
    ]
    line = next(line for line in here("runs", "list", "--all").splitlines() if line.startswith(runs[0]))
    assert line.split()[1:3] == [f"{steps[0]:.1f}", f"{steps[-1]:.1f}"]
    here("runs", "delete", made["group"])
    assert json.loads(here("runs", "list", "--json")) == []


def test_a_table_of_the_paper_without_data_says_what_to_do():
    text = here("reproduce", "ttm/7")
    for part in (
        "WhatsUp, A, CLIP-B32: cannot run yet",
        "paper 56.80 ± 1.84",
        "hf download openai/",
        "nothing can run",
    ):
        assert part in text
    record = json.loads(here("reproduce", "ttm/1", "--json"))
    assert (record["table"], record["seeds"], len(record["lines"])) == ("ttm/1", 4, 11)


def test_a_table_of_the_built_in_world_has_a_time():
    text = here("reproduce", "world/oracle")
    assert "ready to run, about" in text and "(a rough estimate)" in text
    assert re.search(r"what can run takes about .*, 2 runs of built-in models at a time$", text.strip())


def test_what_a_reader_of_colas_lines_of_the_built_in_world_must_know_is_said():
    text = here("reproduce", "cola/1", "--row", "built-in world")
    assert "training takes 16 epochs" in text and f"see “{CHANGES}” on the Retrieval page" in text
    assert "training takes 16 epochs" not in here("reproduce", "cola/1", "--row", "CLIP, Linear")


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if command.example])
def test_the_list_of_commands_says_of_each_what_the_command_itself_says(name):
    module = import_module(f"core.cli.{COMMANDS[name].module}")
    text = getattr(module, COMMANDS[name].function).__doc__
    assert COMMANDS[name].help == " ".join(text.strip().split("\n\n")[0].split())


@pytest.mark.parametrize(
    "command",
    [
        ["alpha", "scenes/left-right", "--seed"],
        ["ttm", "scenes/left-right", "--adapt-on", "0.5", "--split-seed"],
    ],
)
def test_a_seed_below_zero_is_refused_before_any_work(command):
    done = CliRunner().invoke(app, [*command, "-1"])
    assert str(done.exception) == f"{command[-1]} is -1; it must be 0 or more."


@pytest.mark.parametrize("command", ["evaluate", "blind", "recall", "compare"])
def test_a_seed_is_refused_where_nothing_is_random(command):
    done = CliRunner().invoke(app, [command, "--seed", "3"])
    assert "has no option --seed" in str(done.exception)


@pytest.mark.parametrize(
    "command",
    [
        ["ttm", "scenes/left-right", "--save"],
        ["simplematch", "scenes/left-right", "--save"],
        ["adapt", "--save"],
        ["pretrain", "clip", "--out"],
    ],
)
def test_a_folder_that_cannot_be_made_is_refused_before_the_work_that_would_be_lost(
    command, tmp_path, monkeypatch
):
    def work(*_, **__):
        pytest.fail("the work began")

    for kind in (*RUNS.values(), StrategyRun):
        monkeypatch.setattr(kind, "execute", work)
    monkeypatch.setattr("core.pretrain.model_folder.train", work)
    file = tmp_path / "taken"
    file.write_text("a file")
    with pytest.raises(InputError, match="taken/below cannot be written"):
        CliRunner().invoke(app, [*command, str(file / "below")], catch_exceptions=False)


def test_a_report_is_html_and_is_called_so(tmp_path):
    with pytest.raises(InputError, match=r"must end in \.html"):
        here(
            "report",
            *("--model", "builtin/clip"),
            *("--benchmark", "scenes/left-right"),
            *("--out", tmp_path / "r.pdf"),
        )


def test_a_report_of_a_score_file_has_the_numbers_that_evaluate_has_of_it(tmp_path, score_file):
    out = tmp_path / "r.html"
    here("report", "--scores", score_file, "--out", out)
    page = out.read_text()
    (found,) = json.loads(re.search(r'id="crossmatch">(.*)</script>', page)[1])["sections"]
    same = json.loads(here("evaluate", "--scores", score_file, "--json"))
    assert found["metrics"] == same["metrics"] and found["metrics"]["group_match"]["value"] == 100.0
    assert (
        "<h1>scores.npz</h1>" in page and "no ground truth: image A is assumed to belong to caption 1" in page
    )


def test_a_report_of_two_score_files_compares_them(tmp_path):
    rng, ids = np.random.default_rng(0), [f"g{i}" for i in range(12)]
    files = [tmp_path / "a.npz", tmp_path / "b.npz"]
    write_scores(files[0], rng.normal(size=(12, 2, 2)), ids)
    write_scores(files[1], rng.normal(size=(12, 2, 2)), ids[::-1])
    here("report", "--scores", files[0], "--scores", files[1], "--out", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "<h1>a.npz compared with b.npz, 12 groups</h1>" in page
    assert "b.npz − a.npz" in page and "b.npz on a.npz" not in page
    record = json.loads(re.search(r'id="crossmatch">(.*)</script>', page)[1])
    assert [each["model"] for each in record["sections"]] == ["a.npz", "b.npz"]
    same = json.loads(here("compare", *files, "--json"))["metrics"]["group_match"]["difference"]
    assert record["differences"][0]["metrics"]["group_match"]["difference"] == same["difference"]


def test_a_report_has_the_command_that_writes_it_again(tmp_path, monkeypatch):
    """The app's had, and that of the command line had not; it names no folder of this machine."""
    files = [tmp_path / "a b.npz", tmp_path / "b.npz"]
    for seed, file in enumerate(files):
        write_scores(file, np.random.default_rng(seed).normal(size=(12, 2, 2)), [f"g{i}" for i in range(12)])
    options = ["--scores", files[0], "--scores", files[1], "--examples", "2"]
    here("report", *options, "--out", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    note, command = unescape(re.search(r"<p>The same again:</p><pre>(.*?)</pre>", page, re.S)[1]).splitlines()
    assert note == "# in the folder with a b.npz and b.npz" and str(tmp_path) not in page
    (tmp_path / "r.html").unlink()
    monkeypatch.chdir(tmp_path)
    here(*shlex.split(command)[1:])
    assert (tmp_path / "r.html").read_text() == page
    (tmp_path / "other").mkdir()
    files[1].rename(tmp_path / "other" / files[0].name)
    here("report", *options[:3], tmp_path / "other" / files[0].name, "--out", tmp_path / "r.html")
    assert "The same again" not in (tmp_path / "r.html").read_text()  # both have one name


def test_a_report_of_a_file_beside_a_benchmark_takes_its_truth_and_shows_its_images(tmp_path):
    groups = load("scenes/left-right", "test")[:12]
    file = tmp_path / "s.npz"
    write_scores(file, np.random.default_rng(0).normal(size=(12, 2, 2)), groups.ids)
    beside = ("--scores", file, "--benchmark", "scenes/left-right")
    here("report", *beside, "--out", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    (found,) = json.loads(re.search(r'id="crossmatch">(.*)</script>', page)[1])["sections"]
    assert found["metrics"] == json.loads(here("evaluate", *beside, "--json"))["metrics"]
    assert "s.npz on " in page and "data:image/" in page


def test_a_report_of_nothing_says_what_it_can_be_of(tmp_path):
    with pytest.raises(
        InputError, match=r"Give --model NAME and --benchmark NAME, --scores FILE, or --run RUN\."
    ):
        here("report", "--out", tmp_path / "r.html")


def test_a_name_that_a_set_cannot_have_is_refused_before_its_images_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr("core.cli._data.stage_import", lambda *_: pytest.fail("images were read"))
    (tmp_path / "manifest.csv").write_text("id,image_0,caption_0\n")
    with pytest.raises(InputError, match="name for a set"):
        here("add", tmp_path, "--name", "../up")


@pytest.mark.parametrize(("count", "says"), [(0, ""), (1, "1 query"), (3, "3 queries")])
def test_queries_that_recall_leaves_out_are_counted_where_there_are_any(count, says):
    told = format_metrics({"metrics": {}, "left_out": {"text_to_image": count}})
    assert (says in told) if says else ("text_to_image" not in told)


def test_an_unknown_name_is_told_every_known_one_once():
    with pytest.raises(InputError) as error:
        here("fetch", "nope")
    known = re.search("known: (.*)", str(error.value))[1].removesuffix(" ….").split(", ")
    assert len(known) == len(set(known))


@pytest.mark.parametrize("group", ["runs", "export", "cache"])
def test_a_group_of_commands_names_all_of_them_and_offers_what_works(group):
    text = here(group, "--help")
    assert "completion" not in text  # the shell completes `crossmatch`, no part of it


def test_the_line_of_runs_names_every_command_of_it():
    line = COMMANDS["runs"].help.removeprefix("Stored runs: ").removesuffix(".").split(", ")
    assert set(line) == {each.name for each in import_module("core.cli.runs").runs_app.registered_commands}


def test_debias_and_alpha_are_listed_and_said_to_be_the_same_command():
    """The page is called Debias, and only the help of `crossmatch debias` itself knew that there is one."""
    run = lambda *words: CliRunner().invoke(app, words)  # noqa: E731
    said, same = (
        run("debias", "--help").stdout,
        "`crossmatch alpha` and `crossmatch debias` are the same command.",
    )
    # It was headed “Usage: … alpha”.
    assert "debias [OPTIONS]" in said and " alpha [OPTIONS]" not in said
    for name in ("debias", "alpha"):
        assert same in " ".join(run(name, "--help").stdout.split())
    words = ("--benchmark", "scenes/swap", "--model", "builtin/blip-caption", "--json")
    given, known = run("debias", *words), run("alpha", *words)
    assert given.exit_code == known.exit_code == 0 and given.stdout == known.stdout
    assert re.search(r"^ +debias +The same command as alpha\.$", run("--help").stdout, re.MULTILINE)


def test_a_threshold_counts_the_groups_of_at_least_that_margin_and_those_of_them_that_are_right(tmp_path):
    """By hand: margins 3, 2, 1 and a tie; at 2 there are two groups, one of which is matched right."""
    scores = np.array([[[3, 0], [0, 0]], [[0, 2], [0, 0]], [[1, 0], [0, 0]], [[0, 0], [0, 0]]], dtype=float)
    write_scores(tmp_path / "s.csv", scores)
    invoke = lambda *more: CliRunner().invoke(app, ["evaluate", str(tmp_path / "s.csv"), *more])  # noqa: E731
    last = invoke("--threshold", "2").stdout.splitlines()[-1]
    start = (
        "threshold 2: 2 of 4 groups selected (coverage 50.0 %); 1 of them matched correctly: precision 50.0 %"
    )
    assert last.startswith(start) and last.endswith("chance 50.0 %, 1 tied group left out.")
    assert json.loads(invoke("--threshold", "2", "--json").stdout)["at_threshold"]["matched_correctly"] == 1
    assert invoke("--threshold", "0").stdout.splitlines()[-1].startswith("threshold 0: 3 of 4 groups")
    assert "no group would be trained on. The largest margin is 3." in invoke("--threshold", "9").stdout
    for wrong in (("--threshold", "-1"), ("--threshold", "nan"), ("--threshold", "1", "--latex")):
        assert invoke(*wrong).exit_code and invoke(*wrong).stdout == ""


def test_columns_of_captions_in_a_table_of_tags_are_no_tags(tmp_path):
    """The app takes `caption_0`, `caption_1` for captions; the command printed each text as a tag with one group."""
    rows = ["group,image,caption,score"]
    tags = ["group,colour,caption_0,caption_1"]
    for g in range(4):
        rows += [f"g{g},{i},{j},{float(i == j)}" for i in (0, 1) for j in (0, 1)]
        tags += [f"g{g},{('red', 'blue')[g % 2]},a cat on a mat,a mat on a cat"]
    (tmp_path / "scores.csv").write_text("\n".join(rows))
    (tmp_path / "tags.csv").write_text("\n".join(tags))
    files = "--scores", tmp_path / "scores.csv", "--tags", tmp_path / "tags.csv"
    sliced = json.loads(crossmatch("evaluate", *files, "--json").stdout)
    assert "a mat on a cat" not in json.dumps(sliced) and "blue" in json.dumps(sliced)
    refused = crossmatch("evaluate", *files, "--by", "caption_0")
    assert refused.returncode and "colour" in refused.stderr


def test_a_table_of_tags_leaves_the_columns_that_a_file_brings(tmp_path):
    """They were gone: `--by` did not know a column of the very file that was measured."""
    rows = ["group,image,caption,score,side,colour"]
    for g in range(4):
        own = f"{'lr'[g // 2]},grey"
        rows += [f"g{g},{i},{j},{float(i == j)},{own}" for i in (0, 1) for j in (0, 1)]
    (tmp_path / "scores.csv").write_text("\n".join(rows))
    tags = ["group,colour", *(f"g{g},{('red', 'blue')[g % 2]}" for g in reversed(range(4)))]
    (tmp_path / "tags.csv").write_text("\n".join(tags))
    files = "--scores", tmp_path / "scores.csv", "--tags", tmp_path / "tags.csv"
    both = crossmatch("evaluate", *files, "--json")
    sliced = json.loads(both.stdout)["slices"]
    assert {name: sorted(values) for name, values in sliced.items()} == {
        "colour": ["blue", "red"], "side": ["l", "r"],
    }  # fmt: skip
    assert "--tags stands for what the groups themselves have as colour" in both.stderr
    assert json.loads(crossmatch("evaluate", *files, "--tag", "side: l", "--json").stdout)["n_groups"] == 2
