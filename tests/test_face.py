"""The public face, `import crossmatch as cm`: few names, all documented, every example of theirs and of README runs."""

import ast
import doctest
import inspect
import json
import re
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import typer
from commands import crossmatch

import crossmatch as cm
from core.cli import COMMANDS, app
from core.papers import table_plan
from core.papers.table_html import finding
from core.runs.store import RunStore
from core.scoring.retrieval import first_images
from core.ttm import config

ROOT = Path(__file__).resolve().parent.parent
FUNCTIONS = [name for name in cm.__all__ if name != "InputError"]
NEED_TORCH = {"from_embeddings", "run_ttm", "simple_match"}


def in_a_fresh_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---- names


def test_there_are_at_most_25_names_and_dir_shows_them_alone():
    assert len(cm.__all__) <= 25
    assert dir(cm) == sorted(cm.__all__)


def test_the_package_says_what_every_name_is_for():
    assert not [name for name in FUNCTIONS if not re.search(rf"\b{name}\b", cm.__doc__)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_argument_and_error_is_documented_with_an_example(name):
    function = getattr(cm, name)
    text, arguments = function.__doc__, inspect.signature(function).parameters
    undocumented = [a for a in arguments if not re.search(rf"(^|[ ,.]){a}( :|,)", text, re.M)]
    assert not undocumented
    assert "Returns\n" in text
    assert (">>> import crossmatch as cm" in text) and ("Raises\n" in text or not arguments)
    assert all(p.annotation is not p.empty for p in arguments.values())
    assert inspect.signature(function).return_annotation is not inspect.Signature.empty


def test_importing_it_imports_neither_numpy_nor_core():
    loaded = in_a_fresh_python("import sys, crossmatch; print(*sys.modules)").split()
    assert not {"numpy", "pandas", "torch", "core"} & set(loaded)


def test_torch_is_imported_by_the_names_that_need_it_alone():
    light = sorted(set(cm.__all__) - NEED_TORCH)
    code = (
        f"import sys, crossmatch as cm; [getattr(cm, name) for name in {light}]\n"
        "groups = cm.load_benchmark('scenes/left-right')\n"
        "found = cm.evaluate(cm.score('builtin/clip', groups), groups.truth)\n"
        "cm.figure(found); cm.estimate_prior('builtin/blip-caption', cm.load_benchmark('scenes/word-order'))\n"
        "print('torch' in sys.modules)\n"
        "cm.run_ttm; print('torch' in sys.modules)"
    )
    assert in_a_fresh_python(code).split() == ["False", "True"]


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'crossmatch' has no attribute 'evaluat'"):
        cm.evaluat  # noqa: B018


# ---- what a notebook prints


def test_every_result_prints_in_one_short_line(tmp_path):
    groups = cm.load_benchmark("scenes/left-right")
    clip, itm = (
        cm.evaluate(cm.score(f"builtin/{name}", groups), groups.truth) for name in ("clip", "blip-itm")
    )
    scorer, few = cm.from_embeddings(*np.random.default_rng(0).normal(size=(2, 20, 8)))
    steps = [
        *cm.run_ttm(scorer, few, iterations=1, epochs=1),
        *cm.simple_match(scorer, few, rounds=1, epochs=1),
    ]
    study = cm.alpha_study(-np.ones((9, 2, 2)), -np.ones((9, 2)), np.tile([0, 1], (9, 1)))
    retrieval, square = cm.load_retrieval("scenes/retrieval"), np.eye(2)
    alone, queries = cm.recall(square, square > 0), cm.evaluate_retrieval(square, square > 0)
    (tmp_path / "s.csv").write_text("group,image,caption,score,topic\n0,0,0,1,a\n0,0,1,2,a\n")
    results = [
        *(clip, clip.metrics["group_score"], clip.outcomes["group_score"], clip.matches, groups, groups[0]),
        *(
            cm.compare(clip, itm)["group_score"],
            cm.threshold_curve(clip.scores, clip.truth),
            alone,
            retrieval,
        ),
        *(queries["standard_map"]["all"], cm.read_scores(tmp_path / "s.csv"), scorer, *steps, study),
        *(study.curve("text_score"), study.best("text_score"), study.validated("text_score")),
        *(
            cm.estimate_prior("builtin/blip-caption", cm.load_benchmark("scenes/word-order")),
            cm.load_scorer("builtin/clip"),
        ),
    ]
    too_long = {
        type(each).__name__: repr(each) for each in results if len(repr(each)) > 160 or "\n" in repr(each)
    }
    nameless = [repr(each) for each in results if " object at 0x" in repr(each)]
    assert not too_long and not nameless


def test_a_result_prints_its_numbers():
    scores = np.array([[[2.0, 1.0], [0.5, 1.6]], [[2.0, 3.0], [0.0, 1.5]]])
    found = cm.evaluate(scores, np.array([[0, 1], [0, 1]]))
    assert (
        repr(found.metrics["group_score"]) == "50.0 [1.3, 98.7], chance 16.7, 0 tied"
    )  # Clopper-Pearson, 1 of 2
    assert repr(found).startswith(
        "<2 groups of 2x2: group_score 50.0 [1.3, 98.7], chance 16.7, 0 tied; group_match 100.0"
    )
    assert (
        repr(found.matches) == "<matchings of 2 groups of 2 images, 0 tied, median margin 1.3>"
    )  # 2.1 and 0.5
    same = cm.compare(found, found)["group_score"]
    assert repr(same).endswith("0 fixed, 0 broken, p 1") and repr(same).startswith("+0.0 [")


def test_a_prior_is_taken_as_it_was_estimated():
    groups = cm.load_benchmark("scenes/word-order").select(range(20))
    prior, scores = (
        cm.estimate_prior("builtin/blip-caption", groups),
        cm.score("builtin/blip-caption", groups),
    )
    assert (cm.debias(scores, prior, 0.5) == cm.debias(scores, prior.values, 0.5)).all()
    assert (
        cm.alpha_study(scores, prior, groups.truth).best("text_score").value == 100.0
    )  # as of the whole set


# ---- names that are not there


@pytest.mark.parametrize("name", ["clip", "itc:clip", "siglip"])
def test_a_built_in_model_without_its_folder_is_suggested(name):
    last = name.rpartition(":")[2]
    with pytest.raises(cm.InputError, match=f"Unknown model '{last}'; did you mean 'builtin/{last}'"):
        cm.load_scorer(name)


# ---- examples


@pytest.mark.parametrize("name", ["crossmatch", *FUNCTIONS])
def test_the_examples_of_the_documentation_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if name == "score_retrieval":  # to draw all 2,000 images and to read them takes ten seconds
        whole = cm.load_retrieval("scenes/retrieval")
        monkeypatch.setattr(cm, "load_retrieval", lambda _: first_images(whole, 40))
    text = (cm if name == "crossmatch" else getattr(cm, name)).__doc__
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0


def modules_with_examples() -> list[str]:
    files = [ROOT / "hatch_build.py", *(f for room in ("core", "ui") for f in (ROOT / room).rglob("*.py"))]
    shown = sorted(f.relative_to(ROOT) for f in files if ">>> " in f.read_text())
    return [".".join(f.with_suffix("").parts).removesuffix(".__init__") for f in shown]


@pytest.mark.parametrize("name", modules_with_examples())
def test_the_examples_behind_the_face_run(name):
    found = doctest.testmod(import_module(name))
    assert found.attempted
    assert not found.failed


def blocks(path: Path) -> list[str]:
    """The Python of a Markdown file."""
    return re.findall(r"^```python\n(.*?)^```", path.read_text(), re.M | re.S)


def test_readme_opens_with_ten_lines_of_python():
    (first, *_) = blocks(ROOT / "README.md")
    assert len([line for line in first.splitlines() if line and not line.startswith("#")]) <= 10
    assert (ROOT / "README.md").read_text().index(
        "```python"
    ) < 3000  # after the picture and who starts where
    assert {node.attr for node in ast.walk(ast.parse(first)) if isinstance(node, ast.Attribute)} & set(
        cm.__all__
    )


@pytest.mark.parametrize("number", range(len(blocks(ROOT / "README.md"))))
def test_the_python_of_readme_runs_and_prints_what_it_says(number, tmp_path, monkeypatch, capsys):
    """A comment behind a `print` is what it prints; where it has no number, what kind of thing. It trains more briefly:
    what is printed of that has no number."""
    monkeypatch.chdir(tmp_path)
    usual = config.PRESETS["builtin"]
    brief = replace(usual, config=usual.config.updated({"epochs": 1}))
    monkeypatch.setitem(config.PRESETS, "builtin", brief)
    block = blocks(ROOT / "README.md")[number]
    exec(compile(block, f"README.md, block {number}", "exec"), {})
    said = re.findall(r"^print\(.*\)  # (.*)$", block, re.M)
    printed = capsys.readouterr().out.splitlines()
    assert len(said) == len(printed)
    exact = [(text, line) for text, line in zip(said, printed, strict=True) if re.match(r"\d", text)]
    assert exact and all(text == line for text, line in exact)


def commands() -> list[list[str]]:
    """What README types at a prompt, but for what it leaves out with dots."""
    text = (ROOT / "README.md").read_text()
    lines = [line.split("#")[0] for line in re.findall(r"^crossmatch (.*)$", text, re.M)]
    words = [part.split() for line in lines for part in line.split("|")]
    return [each for each in words if "..." not in each]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_the_command_line_of_readme_is_understood(words):
    """Parsed, not run: data and models that it names are not all here."""
    name, *rest = words
    typer.main.get_command(app).get_command(None, name).make_context(name, rest)


def test_what_readme_audits_and_trains_on_ships():
    """It audited a set of SugarCrepe, which a fresh install does not have."""
    of = [words[1] for words in commands() if words[0] in ("audit", "ttm")]
    assert of and all(each.startswith("scenes/") for each in of)


def sessions() -> list[tuple[str, str]]:
    """What README shows of a terminal: a command, and what it prints, dots where lines are left out."""
    text = (ROOT / "README.md").read_text()
    opening = re.search(r"crossmatch (.*?) +#.*?\n```\n.*?\n```\n(.*?)^```", text, re.M | re.S)
    assert opening
    return [opening.groups(), *re.findall(r"^```\n\$ crossmatch (.*?)\n(.*?)^```", text, re.M | re.S)]


@pytest.mark.parametrize(("command", "shown"), sessions(), ids=[command for command, _ in sessions()])
def test_commands_print_what_readme_shows_of_them(command, shown):
    printed = crossmatch(*command.split())
    assert printed.returncode == 0
    lines = iter(printed.stdout.splitlines())
    for line in shown.splitlines():
        assert line == "…" or line in lines, line  # in this order


def test_readme_counts_the_names():
    (count,) = re.findall(r"lists its (\d+) names", (ROOT / "README.md").read_text())
    assert int(count) == len(cm.__all__)
    (count,) = re.findall(r"lists all (\d+) commands", (ROOT / "README.md").read_text())
    assert int(count) == len(COMMANDS)


def test_the_numbers_of_readmes_table_are_those_of_the_shipped_results(tmp_path):
    readme = (ROOT / "README.md").read_text()
    results = ROOT / "assets/results"
    shipped = (
        json.loads((results / f"{name}.json").read_text()) for name in ("paper_claims", "cola_verdict")
    )
    claims = [c for record in shipped for c in record["claims"]]
    of_papers = [c["verdict"] for c in claims if not c.get("source", "Cola,").startswith("LABCLIP")]
    held, not_held, untold = map(of_papers.count, ("same", "different", "open"))
    counts = f"of {len(of_papers)} claims of three papers {held} hold here, {not_held} do not, {untold} cannot be told"
    assert counts in readme
    by_table = {
        "world/retrieval": r"from (\S+) to (\S+) %",
        "world/cola-64": r"queries is (\S+) .*64 .*?highest, (\S+) %",
    }
    for table, pattern in by_table.items():
        said = finding(table, table_plan(RunStore(tmp_path), table).record())
        assert f"{' → '.join(re.search(pattern, said).groups())} %" in readme
    row, *_ = re.findall(r"^\| left-right \| clip \|.*$", (ROOT / "benchmarks/LADDER.md").read_text(), re.M)
    by_map, by_scores = (row.split("|")[column].split()[0] for column in (8, 9))
    assert f"left-right: {by_map} % with one linear map between the towers, {by_scores} % by" in readme
    audits = (ROOT / "benchmarks/AUDITS.md").read_text()
    faults = re.findall(r"^\| ((?:scenes|sugarcrepe)/[^@ ]+) \|[^|]*\|[^|]*\| (.*?) \|", audits, re.M)
    found = {
        of: [fault != "none" for name, fault in faults if name.startswith(of)]
        for of in ("scenes", "sugarcrepe")
    }
    assert (len(found["scenes"]), sum(found["scenes"]), found["sugarcrepe"]) == (12, 1, [True] * 7)


def test_readme_opens_with_what_it_is_a_picture_and_two_commands():
    """Before anything else, and nothing in it is longer than a screen."""
    head, block, _ = (ROOT / "README.md").read_text().split("```", 2)
    assert len(head) < 500 and "![" in head
    assert len(block.strip().splitlines()) == 2
    longest = max(re.findall(r"```.*?```", (ROOT / "README.md").read_text(), re.S), key=len)
    assert len(longest.splitlines()) < 16


# ---- what the face itself decides


def scores_and_truth(n: int = 30, m: int = 2, k: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, m, k)), np.array([rng.permutation(k)[:m] for _ in range(n)])


@pytest.fixture
def embedded():
    vectors = np.random.default_rng(1).normal(size=(80, 8))
    return cm.from_embeddings(vectors[:40], vectors[:40] + 3 * vectors[40:])


def test_own_groups_are_scored_and_measured_like_a_benchmark(toy_groups):
    """The same pictures as files, Pillow images and arrays: pixels and results are the same."""
    pictures = [[image.open() for image in group.images] for group in toy_groups]
    captions, truth = [group.captions for group in toy_groups], toy_groups.truth
    tags = [group.tags for group in toy_groups]
    ours = cm.make_groups(pictures, captions, truth, ids=toy_groups.ids, tags=tags)
    arrays = cm.make_groups([[np.asarray(p) for p in row] for row in pictures], captions, truth)
    assert ours.ids == toy_groups.ids
    assert (ours.truth == truth).all()
    wanted = cm.score("builtin/clip", toy_groups)
    assert (cm.score("builtin/clip", ours) == wanted).all()
    assert (cm.score("builtin/clip", arrays) == wanted).all()


def test_own_groups_may_be_files(tmp_path, toy_groups):
    image = toy_groups[0].images[0].open()
    image.save(tmp_path / "a.png")
    groups = cm.make_groups([[tmp_path / "a.png"], [str(tmp_path / "a.png")]], [["a", "b"], ["c", "d"]])
    assert groups.truth is None
    assert list(groups[1].images[0].open().getdata()) == list(image.getdata())


@pytest.mark.parametrize(
    ("images", "captions", "more", "sentence"),
    [
        ([["a.png"]], [], {}, "images of 1 groups and captions of 0"),
        ([["a.png"]], [["x", "y"]], {"truth": [[0], [1]]}, "images of 1 groups and truth of 2"),
        ([[np.zeros((4, 4, 3))]], [["x", "y"]], {}, "group 0 is an array of float64"),
        ([[np.zeros((4, 4), np.uint8)]], [["x", "y"]], {}, r"of shape \(4, 4\)"),
        ([[7]], [["x", "y"]], {}, "group 0 is a int; give a path"),
        ([["a.png"]], [["x", "y"]], {"truth": [[2]]}, "distinct caption indices from 0 to 1"),
    ],
)
def test_groups_that_make_no_sense_are_refused_in_one_sentence(images, captions, more, sentence):
    with pytest.raises(cm.InputError, match=sentence):
        cm.make_groups(images, captions, **more)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda g: cm.evaluate("a.csv"), "'a.csv' is a name, not an array of scores.*cm.read_scores"),
        (lambda g: cm.match("builtin/clip"), "cm.score.'builtin/clip', groups"),
        (lambda g: cm.threshold_curve("a.csv", g.truth), "cm.read_scores"),
        (lambda g: cm.evaluate(g), "These are groups.*cm.score"),
        (lambda g: cm.evaluate(cm.evaluate(np.eye(2)[None])), "an evaluation already"),
        (lambda g: cm.compare("a.csv", "b.csv"), "cm.read_scores.'a.csv'"),
        (
            lambda g: cm.compare(np.eye(2)[None], np.eye(2)[None]),
            "A value of type ndarray is no evaluation.*cm.evaluate",
        ),
        (lambda g: cm.score("builtin/clip", "scenes/swap"), "cm.load_benchmark.'scenes/swap'"),
        (
            lambda g: cm.score("builtin/clip", None),
            "as groups is of type NoneType; load groups with cm.load_benchmark",
        ),
        (lambda g: cm.compare(1, 2), "A value of type int is no evaluation; make one first: cm.evaluate"),
        (lambda g: cm.load_benchmark(3), "name of a benchmark is text, and 3 is of type int; cm.benchmarks"),
        (lambda g: cm.load_retrieval(None), "name of a benchmark is text, and None is of type NoneType"),
        (lambda g: cm.run_ttm("builtin/clip", "scenes/swap"), "cm.load_benchmark.'scenes/swap'"),
        (lambda g: cm.simple_match("builtin/clip", "scenes/swap"), "cm.load_benchmark.'scenes/swap'"),
    ],
)
def test_a_name_in_place_of_a_thing_is_answered_with_how_to_get_the_thing(toy_groups, call, sentence):
    with pytest.raises(cm.InputError, match=sentence):
        call(toy_groups)


def test_a_metric_is_found_however_it_is_spelt():
    first, second = (cm.evaluate(scores) for scores in (np.eye(2)[None], 1 - np.eye(2)[None]))
    for name in ("group_match", "groupmatch", "GroupMatch", "Group-Match", "GROUP MATCH"):
        assert first.metrics[name].value == 100
        assert cm.compare(first, second)[name].difference == -100
    assert "GroupMatch" not in first.metrics  # the names that it holds are the exact ones
    assert list(first.metrics)[:2] == ["text_score", "image_score"]
    for error in (cm.InputError, KeyError):
        with pytest.raises(error, match="did you mean 'group_match'"):
            first.metrics["grupmatch"]
    with pytest.raises(cm.InputError, match=r"^Unknown metric 'accuracy'; known: group_match, group_score"):
        first.metrics["accuracy"]


def test_a_kind_of_benchmark_that_is_not_there_suggests_one():
    with pytest.raises(cm.InputError, match="did you mean 'groups'"):
        cm.benchmarks("group")


@pytest.mark.parametrize("form", [list, dict, "frame"])
def test_evaluations_take_tags_in_any_form(form):
    import pandas as pd

    scores, truth = scores_and_truth(4)
    values = ["a", "b", "a", "b"]
    forms = {list: [{"topic": v} for v in values], dict: {"topic": np.array(values)}}
    tags = pd.DataFrame({"topic": values}) if form == "frame" else forms[form]
    slices = cm.evaluate(scores, truth, tags=tags).slices("topic")["topic"]
    assert {value: len(part.scores) for value, part in slices.items()} == {"a": 2, "b": 2}


def test_the_seed_of_retrieval_metrics_draws_their_intervals_and_nothing_else():
    """It once landed in the place of a mask over queries."""
    rng = np.random.default_rng(0)
    scores, relevant, unseen = rng.normal(size=(30, 8)), rng.random((30, 8)) < 0.4, np.arange(30) < 12
    first, second = (cm.evaluate_retrieval(scores, relevant, unseen=unseen, seed=seed) for seed in (0, 7))
    for part in ("all", "seen", "unseen"):
        one, other = (found["standard_map"][part].estimate for found in (first, second))
        assert one.value == other.value and one.low != other.low


def test_recall_takes_captions_by_images_as_retrieval_sets_hold_them():
    """Two captions of image 0, one of image 1, by hand."""
    scores = np.array([[5.0, 4.0], [1.0, 6.0], [3.0, 2.0]])  # captions x images
    relevant = np.array([[True, False], [True, False], [False, True]])
    found = cm.recall(scores, relevant, tops=[1])
    # Image 0 finds caption 0 (5 > 3 > 1). Image 1: caption 2 (2) behind captions 1 (6) and 0 (4).
    assert found.recall["image_to_text_r1"].value == 50.0
    # Caption 0 finds image 0; caption 1 prefers image 1; caption 2 prefers image 0.
    assert found.recall["text_to_image_r1"].value == pytest.approx(100 / 3)
    assert found.mean_rank == {"image_to_text": 2.0, "text_to_image": pytest.approx(5 / 3)}


def test_a_threshold_curve_refuses_a_truth_that_does_not_fit():
    scores, truth = scores_and_truth()
    with pytest.raises(cm.InputError, match="Truth has shape"):
        cm.threshold_curve(scores, truth[:-1])


def test_progress_of_scoring_ends_at_the_number_of_pairs(embedded):
    told = []
    cm.score(*embedded, cache=False, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (80, 80)


def test_scores_without_a_cache_are_those_that_ship():
    groups = cm.load_benchmark("scenes/left-right").select(range(3))
    assert cm.score("builtin/clip", groups, cache=False) == pytest.approx(
        cm.score("builtin/clip", groups), abs=1e-4
    )


def test_a_prior_of_a_model_without_likelihoods_is_refused():
    with pytest.raises(cm.InputError, match="not log P"):
        cm.estimate_prior("builtin/clip", cm.load_benchmark("scenes/left-right"))


def test_adaptation_is_the_same_whatever_truth_says(embedded):
    scorer, groups = embedded
    other = replace(groups, groups=tuple(replace(g, truth=(1, 0)) for g in groups))
    first, second = (
        [step.scores for step in cm.run_ttm(scorer, each, iterations=2, epochs=2)] for each in (groups, other)
    )
    assert all((a == b).all() for a, b in zip(first, second, strict=True))


def test_the_oracle_trains_on_what_is_matched_right(embedded):
    scorer, groups = embedded
    before = cm.match(cm.score(scorer, groups))
    right = (before.matching == groups.truth).all(axis=1)
    assert 0 < right.sum() < len(groups)
    _, step = cm.run_ttm(scorer, groups, oracle=True, iterations=1, epochs=1)
    assert (step.selected == right).all()
    with pytest.raises(cm.InputError, match="no truth"):
        cm.run_ttm(scorer, groups.blind(), oracle=True)


def test_a_model_that_is_adapted_stays_as_it_was(embedded):
    scorer, groups = embedded
    before = cm.score(scorer, groups, cache=False)
    *_, last = cm.simple_match(scorer, groups, rounds=3, lr=1e-2)
    assert (cm.score(scorer, groups, cache=False) == before).all()
    assert (last.scores != before).any()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"iteration": 3}, "did you mean 'iterations'"),
        ({"lr": -1.0}, "it must be above 0"),
        ({"preset": "nothing"}, "Unknown preset"),
        ({"augmentation": "jitter"}, "no pixels to augment"),
    ],
)
def test_a_wrong_setting_is_refused_before_anything_runs(embedded, settings, sentence):
    with pytest.raises(cm.InputError, match=sentence):
        cm.run_ttm(*embedded, **settings)


def test_a_model_without_weights_is_refused():
    with pytest.raises(cm.InputError, match="Crossmatch cannot adapt 'builtin/blind-lm'"):
        cm.simple_match("builtin/blind-lm", cm.load_benchmark("scenes/left-right"))


def test_embeddings_that_do_not_fit_are_refused_in_one_sentence():
    with pytest.raises(cm.InputError, match="5 images and 4 captions, which cannot form groups"):
        cm.from_embeddings(np.ones((5, 3)), np.ones((4, 3)))


def test_there_is_a_figure_of_every_result(embedded):
    scorer, groups = embedded
    scores = cm.score(scorer, groups)
    found = cm.evaluate(scores, groups.truth)
    steps = list(cm.run_ttm(scorer, groups, iterations=1, epochs=1))
    study = cm.alpha_study(-np.abs(scores), np.full((len(scores), 2), -1.0), groups.truth)
    results = [found, {"a": found, "b": found}, cm.threshold_curve(scores, groups.truth), study]
    drawn = [*map(cm.figure, results), cm.figure(steps, truth=groups.truth)]
    assert all(json.loads(figure.to_json())["data"] for figure in drawn)
    lines = cm.figure(steps, truth=groups.truth, metrics=["text_score"]).data
    assert [line.name for line in lines] == ["TextScore"]


@pytest.mark.parametrize(
    ("result", "options", "sentence"),
    [
        (3.0, {}, "no figure of a float"),
        ([], {}, "no figure of a list"),
        ("steps", {}, "hold no truth"),
        ("evaluation", {"metrics": ["text_scor"]}, "did you mean 'text_score'"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_sentence(embedded, result, options, sentence):
    scorer, groups = embedded
    if result == "steps":
        result = [next(cm.run_ttm(scorer, groups))]
    elif result == "evaluation":
        result = cm.evaluate(*scores_and_truth())
    with pytest.raises(cm.InputError, match=sentence):
        cm.figure(result, **options)
