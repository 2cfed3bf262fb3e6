"""What the commands say on the way: progress in ten lines, refusals before the work and with the way out."""

import json
import re
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from commands import crossmatch
from scipy.stats import binomtest
from typer.testing import CliRunner

from core.base.errors import InputError
from core.base.files import storage_errors
from core.base.text import _exact_differences
from core.cli import _MEANT, _SECTIONS, COMMANDS, _load, app, cola, main
from core.cli._alpha_text import _gain
from core.cli._output import ProgressPrinter, format_differences
from core.cola.forgetting import cost_table
from core.datasets.embeddings import read_embeddings
from core.datasets.score_faults import ScoreFault
from core.datasets.score_files import read_scores, write_scores
from core.exchange.fetch import _download_keys
from core.metrics.paired import _WHY_ALL, _WHY_MAIN
from core.metrics.statistics import Comparison, compare
from core.runs import engine
from core.runs.store import RunStore
from core.scorers import devices
from core.ttm.run import TTMRun
from core.ttm.seeds import launch_seeds


def test_progress_takes_ten_lines_not_a_hundred(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    progress = ProgressPrinter()
    for done in range(1, 301):
        progress("300 groups", done / 300)
    progress("another piece", 0.0)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "  0%  300 groups" and lines[-2:] == ["100%  300 groups", "  0%  another piece"]
    assert len(lines) == 12


def test_progress_in_a_file_takes_no_line_of_quick_work_and_one_a_minute_of_long_work(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    progress = ProgressPrinter()
    for done in range(1, 301):
        progress("300 groups", done / 300)
    assert not capsys.readouterr().err
    progress = ProgressPrinter()
    for done in range(1, 301):
        now[0] += 0.5  # 150 s in all
        progress("300 groups", done / 300)
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_a_warning_is_a_sentence_without_a_line_of_code(tmp_path, tiny_clip_folder):
    """Python writes the file, the line, the class and the code of it around the sentence."""
    cache = tmp_path / "home" / "cache" / "scores.sqlite"
    cache.parent.mkdir(parents=True)
    cache.write_bytes(b"no database" * 1000)
    asked = crossmatch("evaluate", "scenes/left-right", "--model", tiny_clip_folder)
    said = [line for line in asked.stderr.splitlines() if not re.match(r" *\d+%", line)]
    assert asked.returncode == 0 and len(said) == 1
    assert said[0].startswith(f"warning: The score cache {cache} was damaged")


def test_a_path_of_the_users_own_is_not_answered_with_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path / "home"))
    out = tmp_path / "none" / "row.md"
    with (
        pytest.raises(InputError, match=r"make the folder first, or choose another path\.$"),
        storage_errors(out),
    ):
        out.write_text("x")
    kept = tmp_path / "home" / "none" / "runs.json"
    with pytest.raises(InputError, match="or set CROSSMATCH_HOME to another folder"), storage_errors(kept):
        kept.write_text("x")


def test_the_cost_of_a_model_without_a_base_says_how_to_name_one():
    with pytest.raises(InputError, match=r"name its base with `--base NAME`"):
        cost_table("builtin/clip")


@pytest.mark.parametrize("command", ["ttm", "simplematch"])
def test_parts_of_a_batch_are_refused_for_a_matching_head_before_anything_loads(command, monkeypatch):
    def work(*_, **__):
        pytest.fail("the work began")

    monkeypatch.setattr("core.ttm.run.AdaptationRun.execute", work)
    words = [command, "--benchmark", "scenes/swap", "--model", "builtin/blip-itm", "--micro-batch", "4"]
    with pytest.raises(
        InputError, match="matching head, depends on all pairs of a batch; leave out --micro-batch"
    ):
        CliRunner().invoke(app, words, catch_exceptions=False)


LACKING = [
    ("adapt gqa", "GQA scene graphs is not here; it needs: run `crossmatch fetch gqa`"),
    ("adapt gqa --folder {tmp}/none", "The folder {tmp}/none does not exist; check the path."),
    ("adapt cola/single-clevr", "is not here; it needs: "),
    ("adapt --model {tmp}/none", "There is no folder {tmp}/none; check the path to the model."),
    ("adapt --model run/20250101-000000000-abcdef", "deleted; `crossmatch runs list` has those that are."),
    ("ttm winoground", "Winoground is not here; it needs: run `crossmatch fetch winoground`"),
    ("ttm winoground@global", "Winoground is not here; it needs: run `crossmatch fetch winoground`"),
    ("ttm scenes/left-right --split tests", "Unknown split 'tests'; did you mean 'test'?"),
    ("ttm scenes/left-right --groups 100000", "100000 groups were asked for"),
    ("ttm scenes/left-right --model builtin/clap", "did you mean 'builtin/clip'?"),
    ("ttm --embeddings {tmp}/none.npz", "{tmp}/none.npz"),
    ("ttm winoground --seeds 2", "Winoground is not here; it needs: run `crossmatch fetch winoground`"),
    ("simplematch winogrund", "Unknown benchmark 'winogrund'; did you mean 'winoground'?"),
    ("ledger winoground", "Winoground is not here; it needs: run `crossmatch fetch winoground`"),
]


@pytest.mark.parametrize(("words", "sentence"), LACKING, ids=[words for words, _ in LACKING])
def test_a_run_in_the_background_is_refused_like_one_in_the_foreground(
    words, sentence, tmp_path, monkeypatch
):
    monkeypatch.setattr(engine, "launch", lambda *_: pytest.fail("a run was started"))
    monkeypatch.delenv("CROSSMATCH_DATA", raising=False)
    given = words.format(tmp=tmp_path).split()
    said = []
    for more in ([], ["--background"]):
        with pytest.raises(InputError) as refused:
            CliRunner().invoke(app, [*given, *more], catch_exceptions=False)
        said.append(str(refused.value))
    assert sentence.format(tmp=tmp_path) in said[0] and said[1] == said[0]
    assert not RunStore().list()


def test_a_run_may_wait_in_the_queue_for_the_model_of_one_at_work(monkeypatch):
    monkeypatch.setattr(engine, "launch", lambda store, run_id: store.get(run_id))
    store = RunStore()
    first = store.create("ttm", "first", {"benchmark": "scenes/swap", "model": "builtin/clip"})
    words = ["ttm", "scenes/swap", "--model", f"run/{first.id}", "--background"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert len(store.list()) == 2


def test_a_download_is_refused_only_where_no_device_has_room(monkeypatch):
    """16 GB in float32: too much for the GPU of 8 GB, not for the machine's 64; `--device cpu` may ask for it."""
    free = {"auto": 8e9, "cpu": 64e9}
    whole = devices._free_bytes
    monkeypatch.setattr(devices, "_free_bytes", lambda device: free.get(device) or whole(device))
    counts = {"F32": 4_000_000_000}
    assert devices.check_memory("m", counts, "any")
    with pytest.raises(InputError, match=r"8\.0 GB are free"):
        devices.check_memory("m", counts, "auto")


@pytest.mark.parametrize("command", [[], ["evaluate"], ["export", "figure"], ["runs"]])
def test_the_help_of_a_flag_names_no_value(command):
    text = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200"}).stdout
    assert "--help" in text and "<bool>" not in text


def every_command():
    """Each command and each one of a group: its words and its parameters."""
    for name in COMMANDS:
        command = _load(name)
        for last, each in getattr(command, "commands", {"": command}).items():
            yield [name, last] if last else [name], each.params


def test_help_at_80_columns_cuts_no_name_and_speaks_of_no_option_that_the_command_lacks():
    for words, parameters in every_command():
        text = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80"}).stdout
        own = {option for each in parameters for option in (*each.opts, *each.secondary_opts)} | {"--help"}
        head, _, example = text.partition("Example: ")
        said = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", re.sub(r"-\n\s+", "-", head)))
        assert said <= own, words
        assert {option for option in own if option.startswith("--")} <= said, words
        assert "…" not in text and max(map(len, head.splitlines())) <= 80 and "\n" not in example.strip(), (
            words
        )
    columns = CliRunner().invoke(app, ["alpha", "--help"], env={"COLUMNS": "80"}).stdout
    assert "`image,caption,score,match`" in columns and "`group,caption,log_prob`" in columns


def test_the_list_of_commands_says_in_whole_sentences_what_they_do():
    text = " ".join(CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80"}).stdout.split())
    assert all(entry.help in text for entry in COMMANDS.values())


def test_every_command_stands_below_one_head_in_the_order_of_the_commands():
    assert [name for names in _SECTIONS.values() for name in names] == list(COMMANDS)
    text = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80"}).stdout
    assert [f"{line}:" for line in _SECTIONS] == re.findall(r"^[A-Z].*:$", text, re.M)[1:]  # after "Options:"


def test_the_options_of_an_adaptation_stand_below_heads():
    text = CliRunner().invoke(app, ["ttm", "--help"], env={"COLUMNS": "80"}).stdout
    heads = [
        "Arguments:",
        "What is adapted:",
        "Test-time matching:",
        "Training:",
        "The run and what it leaves:",
    ]
    assert re.findall(r"^\S.*:$", text, re.M) == [*heads, "Options:"]
    assert text.index("Training:") < text.index("--lora-rank") < text.index("The run and what it leaves:")


def test_json_lines_with_a_score_each_are_measured_under_other_names_too(tmp_path, monkeypatch):
    """By hand: of the first group both diagonals are higher, of the second the others: GroupMatch 50 %."""
    monkeypatch.chdir(tmp_path)
    scores = {"a": [[2, 1], [1, 2]], "b": [[1, 2], [2, 1]]}
    rows = [
        {"item": g, "img": i, "text": j, "sim": scores[g][i][j]}
        for g in scores
        for i in (0, 1)
        for j in (0, 1)
    ]
    frame = pd.DataFrame(rows)
    frame.to_json("other.jsonl", orient="records", lines=True)
    named = frame.rename(columns={"item": "group", "img": "image", "text": "caption", "sim": "score"})
    named.to_json("own.jsonl", orient="records", lines=True)
    names = "group=item,image=img,caption=text,score=sim"
    for words in (["own.jsonl"], ["other.jsonl", "--columns", names]):
        done = CliRunner().invoke(app, ["evaluate", *words, "--json"])
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["metrics"]["group_match"]["value"] == 50
    refused = CliRunner().invoke(app, ["evaluate", "other.jsonl"])
    assert f"--columns {names}" in str(refused.exception) + refused.output


def test_vectors_given_as_scores_are_answered_with_the_way_to_give_them(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(6, 8))
    tables = {
        "a column a number": pd.DataFrame(vectors).add_prefix("d"),
        "a list a row": pd.DataFrame({"name": range(6), "embedding": [str(row.tolist()) for row in vectors]}),
    }
    for table in tables.values():
        table.to_csv(tmp_path / "my.csv", index=False)
        with pytest.raises(InputError, match=r"seems to hold vectors; .* as --embeddings my\.npz\.$"):
            read_scores(tmp_path / "my.csv")
        with pytest.raises(InputError, match=r"my\.csv is a table; embeddings are read from an NPZ: "):
            read_embeddings(tmp_path / "my.csv")
    np.savez(tmp_path / "my.npz", img=vectors, cap=vectors)
    with pytest.raises(
        InputError, match=r"no array 'scores' .* \(embeddings go to `crossmatch evaluate --emb"
    ):
        read_scores(tmp_path / "my.npz")
    pd.DataFrame({"group": ["a", "b"], "image": [0, 0], "points": [1, 2]}).to_csv(tmp_path / "my.csv")
    with pytest.raises(InputError, match="has no column 'caption'"):
        read_scores(tmp_path / "my.csv")  # a column is missing, and nothing here looks like vectors


def test_simplematch_ends_with_what_changed_as_ttm_does():
    command = ["simplematch", "scenes/left-right", "--groups", "20", "--rounds", "1", "--epochs", "1"]
    text = CliRunner().invoke(app, command).stdout
    heading, columns, *rows = text.split("\n\n")[-1].splitlines()
    assert heading == "round 1, which is the result, minus round 0, on the same 20 groups"
    assert columns.startswith("after minus before") and [row.split()[0] for row in rows[:2]] == [
        "GroupScore",
        "GroupMatch",
    ]
    assert "One seed: its interval is over groups alone. Add seeds and quote their mean." in rows


def test_one_group_is_no_groups_and_one_metric_has_one_row(tmp_path):
    (tmp_path / "one.csv").write_text("group,image,caption,score\na,0,0,2\na,0,1,1\n")
    text = CliRunner().invoke(app, ["evaluate", "--scores", str(tmp_path / "one.csv")]).stdout
    assert ": 1 group of 1x2; " in text
    assert [line.split()[0] for line in text.splitlines()[1:]] == ["metric", "text_score", "A"]
    assert "group_score, group_match, individual_match are text_score by other names" in text


def test_a_difference_has_no_sign_where_groups_are_counted():
    answers = {
        CliRunner().invoke(app, ["groups-needed", "--difference", each]).stdout for each in ("5", "-5")
    }
    assert len(answers) == 1 and "a difference of 5 points" in answers.pop()


def test_evaluate_names_what_it_measured():
    words = ["evaluate", "scenes/left-right", "--model", "builtin/siglip"]
    record = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    named = {"benchmark": "scenes/left-right", "split": "test", "model": "builtin/siglip"}
    assert {name: record[name] for name in named} == named
    assert (
        CliRunner().invoke(app, words).stdout.startswith("builtin/siglip on scenes/left-right, split test: ")
    )


def test_ttm_ends_with_what_changed_paired_over_the_groups():
    command = ["ttm", "scenes/left-right", "--groups", "24", "--iterations", "1", "--epochs", "1"]
    text = CliRunner().invoke(app, command).stdout
    heading, columns, *rows = text.split("\n\n")[1].splitlines()
    assert heading == "iteration 1, which is the result, minus iteration 0, on the same 24 groups"
    assert columns.split() == [
        "after",
        "minus",
        "before",
        "points",
        "95",
        "%",
        "interval",
        "broken",
        "fixed",
        "exact",
        "p",
        "Holm",
        "detectable",
    ]
    for row, label in zip(rows, ("GroupScore", "GroupMatch"), strict=False):
        name, points, _low, _high, broken, fixed = row.split()[:6]
        exact = 100 * (int(fixed) - int(broken)) / 24
        assert name == label and float(points) == pytest.approx(exact, abs=0.0051)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("adapt", "--seed", "-1"), "seed"),
        (("adapt", "--seed", str(2**64)), "seed"),
        (("ttm", "scenes/left-right", "--seed", str(2**64)), "seed"),
        (("recall", "scenes/retrieval", "--batch", "0"), "--batch is 0; it must be 1 or more."),
        (("adapt", "--adapter", "readme", "--fusion", "mdetr"), "leave out --fusion"),
        (("adapt", "--batch", "100000"), "The setting batch is 100000; it must be 4096 or less."),
    ],
)
def test_a_number_out_of_range_and_a_fusion_that_has_no_effect_get_one_sentence(words, sentence):
    result = CliRunner().invoke(app, list(words))
    assert isinstance(result.exception, InputError) and sentence in str(result.exception)
    assert "\n" not in str(result.exception)


def test_every_strategy_at_once_says_what_cannot_be_reproduced_before_it_starts(monkeypatch, capsys):
    said = []
    monkeypatch.setattr(cola, "print_note", said.append)
    monkeypatch.setattr(
        cola, "run_jobs", lambda *given, **more: pytest.fail("before the note") if not said else rows()
    )
    rows = lambda: pd.DataFrame({"strategy": []})  # noqa: E731
    cola.adapt("gqa", everything=True)
    assert len(said) == 1 and "of one pass over the paper's 450,000 training pairs" in said[0]


def refusal_of(words):
    """What a command says to wrong words: an InputError's one sentence, and nothing of Typer's."""
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, InputError) and not done.output, (words, done.output)
    said = str(done.exception)
    assert said.endswith((".", "?")) and "\n" not in said, words
    return said


def test_every_wrong_number_of_every_command_gets_one_sentence_with_its_option():
    """Typer's own answer is four lines, "unable to parse string as an integer" the last of them."""
    numbers = 0
    for words, parameters in every_command():
        for each in parameters:
            kind = each.type_descriptor.annotation if each.name != "help" else None
            if kind in (int, float):
                flag, wanted = each.opts[0], "a whole number" if kind is int else "a number"
                assert refusal_of([*words, flag, "x"]) == f"{flag} is 'x'; it must be {wanted}."
                numbers += 1
    assert numbers > 90


def test_every_command_answers_wrong_words_in_one_sentence_that_says_what_to_do():
    for words, parameters in every_command():
        called = f"`crossmatch {' '.join(words)}`"
        said = refusal_of([*words, "--nosuch"])
        assert said.startswith(f"{called} has no option --nosuch; ") and "--help`" in said
        for each in (p for p in parameters if p.param_type_name == "option" and p.name != "help"):
            flag = each.opts[0]
            if getattr(each, "is_flag", False):
                assert refusal_of([*words, f"{flag}=3"]).startswith(f"{flag} takes no value; ")
            else:
                assert refusal_of([*words, flag]).startswith(f"{flag} needs ")
        if any(each.required for each in parameters):
            assert refusal_of(words).startswith(f"{called} needs ")
            assert f"as in `crossmatch {' '.join(words)} " in refusal_of(words)
        arguments = [each for each in parameters if each.param_type_name == "argument"]
        if all(each.nargs != -1 for each in arguments) and all(
            p in arguments for p in parameters if p.required
        ):
            assert "has no use for" in refusal_of([*words, *"abcdef"])


def test_every_option_that_takes_one_value_is_refused_twice_so_that_none_is_lost():
    once = 0
    for words, parameters in every_command():
        for each in (p for p in parameters if p.param_type_name == "option" and p.name != "help"):
            if each.multiple:
                continue
            given = [each.opts[0], *["1"] * (0 if each.is_flag else each.nargs)]
            assert refusal_of([*words, *given, *given]).startswith(
                f"{max(each.opts, key=len)} is given twice"
            )
            once += 1
    assert once > 300
    assert "--images is given twice" in refusal_of(["report", "--out", "r.html", "--no-images", "--images"])
    many = refusal_of(["evaluate", "--scores", "a.csv", "--scores", "b.csv", "--scores", "c.csv"])
    assert many == (
        "--scores is given 3 times, and `crossmatch evaluate` takes it once; leave all but one out, or run the "
        "command once for each."
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "published winoground --scores mine.csv",
            "`crossmatch published` takes files of scores or embeddings by themselves; leave --scores out.",
        ),
        (
            "compare --embeddings mine.npz theirs.npz",
            "`crossmatch compare` takes files of scores or embeddings by themselves; leave --embeddings out.",
        ),
        ("audit scenes/swap --splt test", "`crossmatch audit` has no option --splt; did you mean --split?"),
        ("ladder scenes/swap --runs 99", "--runs is 99; it must be 20 or less."),
        ("ladder scenes/swap --runs 0", "--runs is 0; it must be 1 or more."),
        (
            "prior scenes/swap",
            "Unknown command 'prior'; did you mean 'alpha'? It does this: Remove a language prior from a captioner's "
            "scores: every metric at alpha 0, at 1, at its best, and validated.",
        ),
        ("runs shwo", "Unknown command of `crossmatch runs` 'shwo'; did you mean 'show'?"),
        (
            "doctor --rehearse builtin/clip",
            "--rehearse needs 2 values after it; give them, or leave --rehearse out.",
        ),
        ("--nosuch", "`crossmatch` has no option --nosuch; `crossmatch --help` lists what it has."),
        (
            "runs push x",
            "`crossmatch runs push` needs REPOSITORY; as in `crossmatch runs push RUN ada/clip-adapted`.",
        ),
    ],
)
def test_wrong_words_are_answered_with_the_way_out(words, said):
    assert refusal_of(words.split()) == said


def test_an_option_that_a_command_needs_is_not_offered_to_be_left_out():
    """“give it, or leave --out out” was said of the --out without which there is no report."""
    needed = 0
    for words, parameters in every_command():
        for each in (p for p in parameters if p.param_type_name == "option" and p.required):
            flag, begun = each.opts[0], f"`crossmatch {' '.join(words)} "
            said = refusal_of([*words, flag])
            assert (
                said.startswith(f"{flag} needs a value after it; as in {begun}") and f" {flag} " in said[5:]
            )
            assert "leave" not in said
            needed += 1
    assert needed > 8


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        ("help", "--help"),
        ("help --help", "--help"),
        ("help alpha", "alpha --help"),
        ("help debias", "debias --help"),
        ("help alpha --help", "alpha --help"),
        ("help runs list", "runs list --help"),
        ("runs help", "runs --help"),
    ],
)
def test_help_as_a_word_is_answered_as_the_option_is(asked, same):
    """“Unknown command 'help'; known: adapt, add …” named everything but --help."""
    said, wanted = (crossmatch(*words.split()) for words in (asked, same))
    assert wanted.stdout.startswith("Usage: ") and said.stdout == wanted.stdout
    assert said.returncode == wanted.returncode == 0 and not said.stderr


def test_help_of_what_is_no_command_says_so_and_help_is_in_no_list():
    assert refusal_of(["help", "evalute"]) == "Unknown command 'evalute'; did you mean 'evaluate'?"
    assert "help" not in COMMANDS and not re.search(r"^ +help ", crossmatch("--help").stdout, re.M)


def test_every_word_that_leads_to_a_command_is_none_itself_and_leads_to_one():
    assert not {*_MEANT} & {*COMMANDS} and {*_MEANT.values()} <= {*COMMANDS}
    for word, command in _MEANT.items():
        assert f"Unknown command {word!r}; did you mean {command!r}?" in refusal_of([word])


@pytest.mark.parametrize("command", ["ttm", "ttm --dry-run", "ttm --background", "simplematch"])
def test_seeds_that_are_copies_are_said_before_the_start(command, tmp_path, monkeypatch, capsys):
    """It was said after all of them had run."""
    rows = np.random.default_rng(0).normal(size=(24, 6))
    np.savez(tmp_path / "mine.npz", img=rows, cap=rows)

    def started(*_, **__):
        raise InputError("started")

    for name in (
        "core.cli._adapt._run",
        "core.cli._adapt._before_and_after",
        "core.cli._adaptation.launch_seeds",
    ):
        monkeypatch.setattr(name, started)
    words = [*command.split(), "--embeddings", str(tmp_path / "mine.npz"), "--seeds"]
    for seeds, batch, copies in (("3", (), True), ("1", (), False), ("3", ("--batch", "4"), False)):
        said = CliRunner().invoke(app, [*words, seeds, *batch]).stderr
        assert ("warning: Nothing in this run depends on the seed" in said) == copies, (seeds, batch)


def test_a_dry_run_of_several_seeds_says_how_many_its_time_is_for(monkeypatch):
    monkeypatch.setattr("core.cli._adapt.expected_seconds", lambda *_: (90.0, "measured before"))
    words = ["ttm", "scenes/left-right", "--groups", "10", "--dry-run"]
    said = [CliRunner().invoke(app, [*words, *more]).stdout for more in ([], ["--seeds", "4"])]
    assert (
        "about 45 s to 3 min where little else runs (measured before)" in said[0]
        and "seeds" not in said[0].splitlines()[1]
    )
    assert "about 3 min to 9 min for 4 seeds, one after the other, where little else runs" in said[1]
    assert said[0].splitlines()[0].endswith("seed 0") and said[1].splitlines()[0].endswith("seeds 0–3")


def test_every_command_prints_exact_differences_and_says_so():
    """66.67 from 33.33 is +33.33 points, as one of three groups is: not +33.34."""
    rows = {
        name: {"value": value, "low": 0.0, "high": 100.0, "chance": 50.0, "ties": 0}
        for name, value in (("a", 100 / 3), ("b", 200 / 3))
    }
    found = compare(np.array([0, 1, 0]), np.array([1, 1, 0]))
    text = format_differences("b minus a", {"text_score": found}, ("a", "b"))
    assert "+33.33" in text and "Differences are of unrounded values" in text
    told = CliRunner().invoke(app, ["compare", "--help"], catch_exceptions=False).stdout
    assert _exact_differences(2) in " ".join(told.split())
    assert _gain(found.record(), rows["a"], rows["b"]).startswith(
        "+33.33 points against alpha 0 (95 % interval"
    )


def test_an_audit_of_a_score_file_says_that_it_takes_captions_and_images(tmp_path):
    file = tmp_path / "scores.npz"
    file.write_bytes(b"")
    with pytest.raises(
        InputError, match="is a file; an audit looks at captions and images, so name the benchmark"
    ):
        CliRunner().invoke(app, ["audit", str(file)], catch_exceptions=False)


def test_the_list_of_runs_names_the_group_of_a_seed_and_no_total_before_it_is_known(monkeypatch):
    monkeypatch.setattr(engine, "launch", lambda *_, **__: None)
    store = RunStore()
    group = launch_seeds(store, "mine", TTMRun.of("scenes/left-right", "builtin/clip"), 2)[0]
    text = CliRunner().invoke(app, ["runs", "list", "--all"], catch_exceptions=False).stdout
    abouts = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    named = f"mine · one of {group} · queued"  # what both share stands once, below
    assert abouts == [f"{named} · seed 1", f"{named} · seed 0"]
    assert text.count("scenes/left-right · builtin/clip · all 300 groups · T = 10") == 1
    assert "\nAll of them: scenes/left-right · builtin/clip · " in text
    text = CliRunner().invoke(app, ["runs", "list"], catch_exceptions=False).stdout
    assert f"\n{group} " in text and "queued, 0 of 2 seeds complete · scenes/left-right" in text
    assert text.count("mine") == 1


def test_the_list_of_runs_is_aligned_and_fits_100_columns(monkeypatch):
    """Its lines were about 200 characters long, and none stood below the other."""
    monkeypatch.setattr(engine, "launch", lambda *_, **__: None)
    names = [
        "mine",
        "a name of my own that says at length what was tried and why nobody should be surprised by it",
    ]
    for name in names:
        launch_seeds(RunStore(), name, TTMRun.of("scenes/left-right", "builtin/clip"), 2)
    text = CliRunner().invoke(app, ["runs", "list", "--all"], catch_exceptions=False).stdout
    head, *lines = text.partition("\n\n")[0].splitlines()
    assert max(map(len, lines)) <= 100 and head.split() == ["run", "before", "result", "chance", "gain"]
    firsts = [line for line in lines if re.match("[0-9]{8}-", line)]
    assert [line.split()[0] for line in firsts] == [run.id for run in RunStore().list()]
    places = [head.index(name) for name in ("result", "gain")]
    assert all(line[at - 1] == " " != line[at] for line in firsts for at in places)
    whole = " ".join(text.split())  # nothing is cut
    assert all(whole.count(f"{name} · one of g-") == 2 for name in names)
    assert all(re.search(r"T = \d", line) for line in lines if "T =" in line)  # no setting is divided


@pytest.mark.parametrize("command", ["evaluate", "report --out {tmp}/r.html"])
def test_every_mistake_of_a_score_file_is_told_at_once(command, tmp_path):
    """It named the first kind alone, and after mending that the next."""
    rows = ["group,image,caption,score", "g,0,0,1", "g,0,1,x", "g,1,0,2", "g,1,0,3", "h,0,0,1"]
    (tmp_path / "bad.csv").write_text("\n".join(rows) + "\n")
    words = [*command.format(tmp=tmp_path).split(), "--scores", str(tmp_path / "bad.csv")]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, InputError) and str(result.exception).endswith(" mistakes in all:")
    said = result.exception.details
    assert "row 3, score: 'x' is no finite number (write a finite number)" in said
    assert "row 5: group 'g', image '1', caption '0' is there twice (leave one of them out)" in said
    lines = ['{"c0_i0": 1, "c1_i0": "x"}', '{"c0_i0": 1, "c1_i0": null}']
    (tmp_path / "bad.jsonl").write_text("\n".join(lines))
    words[-1] = str(tmp_path / "bad.jsonl")
    assert CliRunner().invoke(app, words).exception.details == [
        "line 1, c1_i0: 'x' is no finite number (write a finite number)",
        "line 2, c1_i0: None is no finite number (write a finite number)",
    ]


@pytest.mark.parametrize(("faults", "lines"), [(11, 11), (20, 20), (33, 21)])
def test_every_mistake_has_a_line_of_its_own_and_what_is_left_out_is_counted(
    faults, lines, tmp_path, monkeypatch, capsys
):
    """Six of eleven stood in one paragraph, and nothing said where the others are."""
    rows = ["group,image,caption,score"]
    rows += [f"g{i // 4},{i % 4 // 2},{i % 2},{'x' if i < faults else 1}" for i in range(40)]
    (tmp_path / "bad.csv").write_text("\n".join(rows) + "\n")
    monkeypatch.setattr("sys.argv", ["crossmatch", "evaluate", "--scores", str(tmp_path / "bad.csv")])
    with pytest.raises(SystemExit) as end:
        main()
    head, *said = capsys.readouterr().err.splitlines()
    assert end.value.code == 2 and head.endswith(f" {faults} mistakes in all:") and len(said) == lines
    assert said[0] == "  row 2, score: 'x' is no finite number (write a finite number)"
    if faults > 20:
        assert said[-1] == "  and 13 more; the page Your data lists them and gives them as a CSV file"


def test_every_faulty_cell_of_an_npz_is_told_by_the_command(tmp_path):
    """It named the first group alone, where of a CSV it named every row."""
    scores = np.tile(np.eye(2), (12, 1, 1))
    scores[[3, 10, 11], 1, 0] = np.nan
    images = np.eye(24)
    images[[2, 9]] = np.nan
    np.savez(tmp_path / "bad.npz", scores=scores)
    np.savez(tmp_path / "emb.npz", img=images, cap=np.eye(24))
    for option, file, line in (
        ("--scores", "bad.npz", "scores[10, 1, 0]: group '10', image 1, caption 0: nan is no finite number (score "
         "the group again, or leave it out)"),
        ("--embeddings", "emb.npz", "img[9]: this row of the image embeddings holds what is no finite number (compute "
         "it again, or leave its group out)"),
    ):  # fmt: skip
        result = CliRunner().invoke(app, ["evaluate", option, str(tmp_path / file)])
        assert isinstance(result.exception, InputError) and line in result.exception.details
        assert str(result.exception).endswith(f"{len(result.exception.details)} mistakes in all:")
    scores[[3, 11]] = 0
    np.savez(tmp_path / "bad.npz", scores=scores)  # one alone is a sentence, which names its cell
    result = CliRunner().invoke(app, ["evaluate", "--scores", str(tmp_path / "bad.npz")])
    assert "the score in scores[10, 1, 0] (group '10', image 1, caption 0) is nan" in str(result.exception)


def test_tags_of_a_file_that_only_numbers_its_groups_are_told_both_remedies(tmp_path):
    """It named three of the numbers, and not where they come from."""
    file, tags = str(tmp_path / "b.npz"), str(tmp_path / "tags.csv")
    words = ["evaluate", "--scores", file, "--tags", tags, "--by", "topic"]
    np.savez(file, scores=np.tile(np.eye(2), (4, 1, 1)))
    (tmp_path / "tags.csv").write_text("group,topic\n" + "".join(f"g{g},{'xy'[g % 2]}\n" for g in range(4)))
    said = str(CliRunner().invoke(app, words).exception)
    assert "only numbers its groups, 0 to 3" in said and "Name the rows of the tags by these numbers" in said
    assert "add an array 'ids'" in said
    np.savez(file, scores=np.tile(np.eye(2), (4, 1, 1)), ids=[f"g{g}" for g in range(4)])
    assert CliRunner().invoke(app, words).exit_code == 0
    np.savez(file, scores=np.tile(np.eye(2), (4, 1, 1)))
    (tmp_path / "tags.csv").write_text("group,topic\n0,x\n1,y\n2,x\n3,y\n")
    assert CliRunner().invoke(app, words).exit_code == 0


def test_a_report_says_its_whole_path_and_the_folder_that_it_made(tmp_path, monkeypatch):
    """It made folders without a word, and said the path as it was typed."""
    (tmp_path / "s.csv").write_text("group,image,caption,score\ng,0,0,2\ng,0,1,1\ng,1,0,1\ng,1,1,2\n")
    monkeypatch.chdir(tmp_path)
    for note in (f"; made the folder {tmp_path / 'new' / 'deep'}", ""):
        found = CliRunner().invoke(app, ["report", "--scores", "s.csv", "--out", "new/deep/r.html"])
        assert found.stderr.splitlines()[-1] == f"wrote {tmp_path / 'new' / 'deep' / 'r.html'}{note}"


def test_thresholds_above_every_margin_are_said_before_training_and_after_it():
    words = [
        "ttm",
        "scenes/left-right",
        "--groups",
        "12",
        "--iterations",
        "2",
        "--epochs",
        "1",
        "--tau-last",
        "99",
    ]
    found = CliRunner().invoke(app, words, catch_exceptions=False)
    first, last, stored = found.stderr.splitlines()
    assert stored.startswith("stored as run ")
    assert first.startswith(
        "warning: seed 0: In the last iteration no group is selected, as the margins are now: τ 99"
    )
    assert "above every margin (largest " in first
    assert last == "warning: seed 0: iteration 2 of 2 selected no group and trained nothing."
    none = CliRunner().invoke(app, [*words[:-1], "0"], catch_exceptions=False)
    assert "warning" not in none.stderr
    dry = CliRunner().invoke(
        app, ["ttm", "scenes/left-right", "--tau-first", "99", "--dry-run"], catch_exceptions=False
    )
    assert "no group is selected, and nothing is trained: τ " in dry.stderr


def refused_with(*words):
    with pytest.raises(InputError) as refused:
        CliRunner().invoke(app, [*words], catch_exceptions=False)
    return str(refused.value)


@pytest.fixture
def own_files(tmp_path, monkeypatch):
    """Scores a.csv of four groups, and embeddings e.npz of as many, where commands run."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    write_scores("a.csv", rng.normal(size=(4, 2, 2)), list("abcd"))
    np.savez("e.npz", img=rng.normal(size=(8, 4)), cap=rng.normal(size=(8, 4)))


@pytest.mark.parametrize(("file", "option"), [("a.csv", "--scores"), ("e.npz", "--embeddings")])
def test_evaluate_reads_a_file_that_is_named_first_as_what_it_holds(own_files, file, option):
    """It was "a.csv is a file, not a benchmark", and before that "Unknown benchmark 'a.csv'"."""
    first, flagged = (
        CliRunner().invoke(app, ["evaluate", *words], catch_exceptions=False).stdout
        for words in ([file], [option, file])
    )
    assert first == flagged and "4 groups of 2x2" in first
    assert "--scores names another, b.csv" in refused_with("evaluate", file, "--scores", "b.csv")
    by_flag = refused_with("evaluate", "--benchmark", file)
    assert by_flag.endswith(f"`crossmatch evaluate {file}` measures scores or embeddings.")


def test_a_file_of_captions_in_words_under_another_header_of_scores_is_told_how_to_be_read(own_files):
    """It was "has no column 'score'; add it": words in a column made it look like images and captions."""
    rows = [(g, i, f"some words {j}", 0.5 * i - j) for g in "ab" for i in (0, 1) for j in (0, 1)]
    pd.DataFrame(rows, columns=["group", "image", "caption", "sim"]).to_csv("other.csv", index=False)
    said = refused_with("evaluate", "other.csv")
    assert "--columns group=group,image=image,caption=caption,score=sim" in said


def test_a_file_that_is_not_there_is_no_unknown_benchmark(own_files):
    assert refused_with("evaluate", "none.csv").startswith("none.csv cannot be read")
    for command in ("ttm", "simplematch", "ledger", "recall", "blind", "ladder", "adapt"):
        assert (
            refused_with(command, "none.npz")
            == "There is no file none.npz; check the path, or name a benchmark."
        )


@pytest.mark.parametrize(("file", "kind"), [("a.csv", "scores"), ("e.npz", "embeddings")])
def test_an_option_that_a_file_leaves_nothing_to_do_names_what_was_typed(own_files, file, kind):
    """It was refused “with --scores”, an option that nobody had typed."""
    said = f"--split has no effect with {file}, a file of {kind}; leave it out."
    assert refused_with("evaluate", file, "--split", "test") == said
    typed = f"--split has no effect with --{kind}; leave it out."
    assert refused_with("evaluate", f"--{kind}", file, "--split", "test") == typed


@pytest.mark.parametrize("command", ["ttm", "simplematch", "ledger"])
def test_what_trains_takes_embeddings_that_are_named_first_and_says_why_it_takes_no_scores(
    own_files, command, monkeypatch
):
    """It was "Unknown benchmark 'a.csv'"."""
    said = refused_with(command, "a.csv")
    assert said.startswith("a.csv is a file, and ") and "--embeddings FILE.npz" in said
    assert "`crossmatch evaluate a.csv` measures them" in said
    assert "name it with --embeddings" in refused_with(command, "--benchmark", "e.npz")
    jobs = []
    monkeypatch.setattr(f"core.cli.{'_ledger' if command == 'ledger' else '_adapt'}.start_in_background",
                        lambda job, seeds, as_json: jobs.append(job))  # fmt: skip
    for words in (["e.npz"], ["--embeddings", "e.npz"]):
        CliRunner().invoke(app, [command, *words, "--background"], catch_exceptions=False)
    assert jobs[0] == jobs[1] and jobs[0].embeddings


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("recall", "a retrieval set by name"),
        ("blind", "captions"),
        ("ladder", "layers"),
        ("adapt", "queries"),
    ],
)
def test_what_takes_a_set_alone_says_which_command_measures_a_file(own_files, command, says):
    """It was "Unknown benchmark 'a.csv'"."""
    said = refused_with(command, "a.csv")
    assert says in said and said.endswith("`crossmatch evaluate a.csv` measures scores or embeddings.")


def test_alpha_takes_scores_that_are_named_first_and_asks_for_their_prior(own_files):
    """It was "Unknown benchmark 'a.csv'"."""
    said = refused_with("alpha", "a.csv")
    assert "name it with --prior" in said and "`crossmatch evaluate a.csv`" in said
    rows = [(g, i, f"{g}{j}", -5.0 - (i != j)) for g in "abcd" for i in (0, 1) for j in (0, 1)]
    pd.DataFrame(rows, columns=["group", "image", "caption", "score"]).to_csv("log.csv", index=False)
    priors = [(g, f"{g}{j}", -3.0 - j) for g in "abcd" for j in (0, 1)]
    pd.DataFrame(priors, columns=["group", "caption", "log_prob"]).to_csv("prior.csv", index=False)
    prior = ["--prior", "prior.csv", "--json"]
    first, flagged = (
        CliRunner().invoke(app, ["alpha", *words, *prior], catch_exceptions=False).stdout
        for words in (["log.csv"], ["--scores", "log.csv"])
    )
    assert first == flagged and json.loads(first)["metrics"]


def test_a_file_of_tags_is_measured_by_those_of_few_values_and_the_rest_is_named(tmp_path):
    """They were read, and no slice was printed; the hint named a column of sentences."""
    rows = [f"g{g},{i},{c},{float(i == c)}" for g in range(40) for i in range(2) for c in range(2)]
    (tmp_path / "s.csv").write_text("\n".join(["group,image,caption,score", *rows]))
    tags = [f"g{g},sentence {g},{'abc'[g % 3]},{g % 2},{g % 20}" for g in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["id,caption_0,topic,hard,place", *tags]))
    words = ["evaluate", str(tmp_path / "s.csv"), "--tags", str(tmp_path / "t.csv")]
    said = CliRunner().invoke(app, words)
    assert not said.exit_code
    heads = re.findall(r"^(\w+ = \w+ \(\d+ groups?\))$", said.stdout, re.MULTILINE)
    assert heads == [
        "topic = a (14 groups)", "topic = b (13 groups)", "topic = c (13 groups)",
        "hard = 0 (20 groups)", "hard = 1 (20 groups)",
    ]  # fmt: skip
    assert said.stderr.strip() == "not printed: place (20 values); `--by place` measures each value of one"
    assert said.stdout.count("GroupMatch") == 6 or said.stdout.count("group_match") == 6
    folder = str(tmp_path / "out")
    for more in (
        ["--by", "topic"],
        ["--cluster", "topic"],
        ["--tag", "topic: a"],
        ["--json"],
        ["--out", folder],
    ):
        done = CliRunner().invoke(app, [*words, *more])  # each of these has or uses them
        assert not done.exit_code and "not printed" not in done.stderr, more
        assert ("topic = a" in done.stdout) == (more[0] == "--by")


def test_a_printed_interval_is_rounded_once(tmp_path):
    """12 of 141 have 4.475044 as the lower end, which was recorded as 4.475 and printed as 4.47."""
    right = np.arange(141) < 12
    scores = np.where(right[:, None, None], np.eye(2), 1 - np.eye(2))
    write_scores(tmp_path / "s.csv", scores)
    low = 100 * binomtest(12, 141).proportion_ci(0.95, "exact").low
    for more in ([], ["--latex"]):
        said = CliRunner().invoke(app, ["evaluate", str(tmp_path / "s.csv"), *more]).stdout
        assert f"{low:.2f}" == "4.48" and "4.48" in said and "4.47" not in said


def test_a_file_that_a_command_takes_by_an_option_alone_is_refused_with_that_option(tmp_path):
    """ "has no use for 'clip.npz'; leave it out" was said of the file that was to be exported."""
    (tmp_path / "clip.npz").write_bytes(b"")
    assert refusal_of(["report", str(tmp_path / "clip.npz"), "--out", "m.html"]) == (
        f"This command takes no file by itself; write --scores before {tmp_path / 'clip.npz'}."
    )


def test_two_files_of_debias_are_told_that_the_second_is_named_by_prior(tmp_path):
    """“takes no file by itself; write --scores before prior.csv” led to a second refusal."""
    scores, prior = tmp_path / "gen.csv", tmp_path / "prior.csv"
    for each in (scores, prior):
        each.write_text("")
    assert refusal_of(["debias", str(scores), str(prior)]) == (
        f"`crossmatch debias` takes one file by itself; write `crossmatch debias {scores} --prior {prior}`."
    )


def test_two_files_of_evaluate_are_told_what_compares_them(tmp_path):
    """“takes no file by itself; write --scores or --embeddings before b.csv” led to a second refusal."""
    first, second = tmp_path / "a.csv", tmp_path / "my b.csv"
    for each in (first, second):
        each.write_text("")
    assert refusal_of(["evaluate", str(first), str(second)]) == (
        f"`crossmatch evaluate` takes one file; two are compared by `crossmatch compare {first} '{second}'`."
    )
    assert refusal_of(["export", "metrics", str(first), str(second), "--out", "m.csv"]) == (
        f"`crossmatch export metrics` takes one file; leave {first} or {second} out, or run the command once for each."
    )
    assert refusal_of(["evaluate", "scenes/swap", str(second)]).endswith(
        f"write --scores or --embeddings before {second}."
    )
    assert "write --scores before" in refusal_of(["report", str(first), str(second), "--out", "m.html"])


def test_evaluate_without_anything_names_its_plain_form():
    assert "`crossmatch evaluate FILE`" in refusal_of(["evaluate"])


def test_a_path_without_an_ending_where_nothing_is_is_a_missing_file_and_no_unknown_benchmark(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "scenes").mkdir()
    for name in (f"{tmp_path}/nope", "./nope", "~/no-such-file-here", "mine/nope"):
        for command in ("evaluate", "debias"):
            said = refusal_of([command, name])
            assert said == f"There is no file {name}; check the path, or name a benchmark."
    assert refusal_of(["evaluate", "scenes/lft-right"]).startswith("Unknown benchmark 'scenes/lft-right'")
    assert refusal_of(["evaluate", "nope"]).startswith("Unknown benchmark 'nope'")


def test_a_run_in_place_of_a_group_of_seeds_is_told_what_shows_it(tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path))
    said = refusal_of(["runs", "seeds", "20261127-1"])
    assert "is no group of seeds" in said and "`crossmatch runs show 20261127-1` shows one run" in said


def test_a_benchmark_without_its_option_is_told_the_option(tmp_path):
    """“has no use for 'scenes/left-right'; leave it out” sent people away from what they had right."""
    said = refusal_of(
        ["convert", "vqa.pth", "scenes/left-right", "--arch", "x", "--out", str(tmp_path / "s")]
    )
    assert said.endswith("takes the benchmark as an option; write --benchmark scenes/left-right.")
    assert "has no use for" in refusal_of(
        ["convert", "vqa.pth", "nonsense", "--arch", "x", "--out", str(tmp_path / "s")]
    )
    report = ["report", "scenes/swap", "--model", "builtin/clip", "--out", str(tmp_path / "s.html")]
    assert "--benchmark before each" in refusal_of([*report, "--benchmark", "scenes/left-right"])


def test_what_is_exported_may_be_named_first_as_for_evaluate(tmp_path):
    """`export scores scenes/left-right` was refused, where `evaluate scenes/left-right` was not."""
    write_scores(tmp_path / "a.csv", np.random.default_rng(0).normal(size=(6, 2, 2)))
    files = {}
    for words in (["--scores", str(tmp_path / "a.csv")], [str(tmp_path / "a.csv")]):
        out = tmp_path / f"{len(words)}.csv"
        done = CliRunner().invoke(
            app, ["export", "metrics", *words, "--out", str(out)], catch_exceptions=False
        )
        assert done.exit_code == 0, done.output
        files[len(words)] = out.read_text()
    assert files[1] == files[2]
    said = refusal_of(["export", "figure", "curves", "scenes/swap", "--out", str(tmp_path / "c.svg")])
    assert said == "scenes/swap has no effect on `curves`, which shows a run; leave it out."


def test_the_two_exports_of_a_run_say_what_each_writes_and_name_the_other():
    for words, writes, other in (
        (["runs", "export"], "Only a finished run's adapted model", "`crossmatch export run`"),
        (["export", "run"], "A whole run, or all seeds of a group", "`crossmatch runs export`"),
    ):
        said = " ".join(CliRunner().invoke(app, [*words, "--help"], catch_exceptions=False).stdout.split())
        assert writes in said.partition("Arguments:")[0] and other in said.partition("Arguments:")[0]


def test_a_tag_of_groups_without_tags_names_the_option_for_them_and_a_blank_may_be_missing(tmp_path):
    """“Unknown tag 'topic:spatial'; known: none”."""
    path, tags = tmp_path / "a.csv", tmp_path / "tags.csv"
    write_scores(path, np.random.default_rng(0).normal(size=(6, 2, 2)))
    tags.write_text("group,topic\n" + "".join(f"{i},{'spatial' if i < 4 else 'other'}\n" for i in range(6)))
    said = refusal_of(["evaluate", str(path), "--tag", "topic:spatial"])
    assert "no tags" in said and "--tags" in said
    for tag in ("topic:spatial", "topic: spatial"):
        words = ["evaluate", str(path), "--tags", str(tags), "--tag", tag, "--json"]
        done = CliRunner().invoke(app, words, catch_exceptions=False)
        assert json.loads(done.stdout)["n_groups"] == 4


def test_the_help_of_a_second_name_is_of_that_name():
    """`crossmatch debias --help` was headed “Usage: … alpha”."""
    for name in ("debias", "alpha"):
        said = CliRunner().invoke(app, [name, "--help"], catch_exceptions=False).stdout
        assert said.splitlines()[0].split(" [OPTIONS]")[0].endswith(f" {name}")
        assert f"Example: crossmatch {name} --benchmark" in said


def test_it_is_said_why_p_of_one_difference_is_corrected_for_two_metrics_here_and_for_all_there():
    """`crossmatch ttm` corrected p for two metrics and `crossmatch compare` for five: each said so, and neither why."""
    ends = {"group_score": np.ones(9), "group_match": np.arange(9) > 1}
    found = Comparison.holm({name: compare(np.zeros(9), each) for name, each in ends.items()})
    for why, word in ((_WHY_MAIN, "larger"), (_WHY_ALL, "smaller")):
        said = format_differences("B minus A", found, ("A", "B"), why=why)
        assert (
            f"corrected for these 2 metrics; the intervals are uncorrected. {why}\n" in said and word in why
        )
    assert _WHY_MAIN not in format_differences("B minus A", found, ("A", "B"))
    told = CliRunner().invoke(app, ["compare", "--help"], catch_exceptions=False).stdout
    assert _WHY_ALL.partition("; ")[2] in " ".join(told.split())


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "has no rows; choose another file"),
        (["a,0,0,1.5,1", "b,0,0,0.5,1"], "Groups of 1 image and 1 caption cannot be matched; leave"),
    ],
)
def test_scores_are_said_to_be_scores_though_no_image_has_two_captions(tmp_path, rows, said):
    """They were called images and captions without scores."""
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(["group,image,caption,score,match", *rows]) + "\n")
    with pytest.raises(InputError, match=said):
        CliRunner().invoke(app, ["evaluate", str(path)], catch_exceptions=False)


@pytest.mark.parametrize("name", ["pictures.zip", "two.zip", "captions.csv"])
def test_evaluate_says_of_images_and_captions_that_they_are_a_set_and_which_command_adds_it(name, tmp_path):
    """It said that captions.csv has no column 'score'; the page Your data said what the file is."""
    table = "group,image,caption\na,0.png,one\na,1.png,two\n"
    if name == "captions.csv":
        (tmp_path / name).write_text(table)
    else:
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("0.png", b"picture")
            archive.writestr("captions.csv", table)
            if name == "two.zip":
                archive.writestr("licences.csv", "image,licence\n0.png,CC0\n")
    with pytest.raises(InputError) as said:
        CliRunner().invoke(app, ["evaluate", str(tmp_path / name)], catch_exceptions=False)
    path = tmp_path / name
    assert str(said.value) == (
        f"{path} looks like images and captions, without a column of scores; "
        f"`crossmatch add {path} --name NAME` adds it as a set."
    )


def test_fetch_names_what_can_be_fetched_where_it_knows_nothing_of_that_name():
    """Its list began with twelve built-in sets, of which it says that there is nothing to download."""
    with pytest.raises(InputError, match="Unknown benchmark 'nope'; known: ") as error:
        _download_keys("nope")
    listed = str(error.value).partition("known: ")[2].removesuffix(" ….").split(", ")
    assert len(listed) > 5 and not [name for name in listed if name.startswith(("scenes/", "mine/"))]
    assert "nothing to download" not in str(error.value) and _download_keys(listed[0])


def test_a_header_of_scores_that_lacks_a_name_is_no_set_of_images(tmp_path):
    """Without the word `match` in its header a file of scores was to be added as images and captions."""
    file = tmp_path / "ragged.csv"
    rows = [f"{g},{i},{j},{-1.5 - (i != j)},{int(i == j)}" for g in range(3) for i in (0, 1) for j in (0, 1)]
    file.write_text("group,image,caption,score\n" + "\n".join(rows))
    said = str(CliRunner().invoke(app, ["evaluate", str(file)]).exception)
    assert "looks like images" not in said and "mistakes" not in said
    assert "5 cells, the header 4" in said and "add the name that the header lacks" in said
    (fault,) = ScoreFault.of_file(file, file.read_bytes())
    assert (fault.row, fault.what) == (1, "the header has 4 names, every row 5 cells")
