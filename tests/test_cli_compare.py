"""`crossmatch compare`: two models, two files, or a file and a model on the same groups."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from typer.testing import CliRunner

from core.base.errors import InputError
from core.cli import app
from core.datasets import load
from core.datasets.score_files import write_scores
from core.metrics.statistics import compare

SET = ("--benchmark", "scenes/left-right")


def run(*arguments):
    """What the command prints. A user's mistake is raised."""
    found = CliRunner().invoke(app, ["compare", *map(str, arguments)])
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.stdout


def test_files_of_two_shapes_are_refused_in_one_sentence_before_anything_else(tmp_path, capfd):
    """It counted the groups that are left out, printed two tables, and said then that the two cannot be paired."""
    a, b = tmp_path / "a.npz", tmp_path / "b.npz"
    write_scores(a, np.zeros((4, 2, 2)), ids=["p", "q", "r", "s"])
    write_scores(b, np.zeros((2, 3, 3)), ids=["p", "q"])
    with pytest.raises(InputError) as caught:
        run(a, b)
    assert str(caught.value) == (
        f"{a} has groups of 2x2 and {b} of 3x3, so that they cannot be paired; give two files of one shape."
    )
    assert capfd.readouterr() == ("", "")


def score_file(path, scores, ids):
    """Scores (n, 2, 2) as one long table."""
    rows = [
        {"group": name, "image": i, "caption": j, "score": scores[g, i, j]}
        for g, name in enumerate(ids)
        for i in (0, 1)
        for j in (0, 1)
    ]
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


RIGHT, WRONG = np.eye(2), 1 - np.eye(2)


@pytest.fixture
def files(tmp_path):
    """A has the groups a, b right, B has b, c, d right and lists them in another order."""
    a = score_file(tmp_path / "a.csv", np.array([RIGHT, RIGHT, WRONG, WRONG]), "abcd")
    b = score_file(tmp_path / "b.csv", np.array([RIGHT, RIGHT, RIGHT, WRONG]), "dcba")
    return a, b


@pytest.fixture
def tags(tmp_path):
    """The first two groups of A are of one kind; the table has them in another order, and one more group."""
    path = tmp_path / "tags.csv"
    path.write_text("group,kind,caption_0\nd,y,D\na,x,A\nb,x,B\nc,y,C\nz,y,Z\n")
    return path


def test_files_are_compared_on_groups_that_a_table_of_tags_names(files, tags):
    """Only `evaluate` took such a table, and the command that the page exports could not run."""
    found = json.loads(run(*files, "--tags", tags, "--tag", "kind: x", "--json"))
    metric = found["metrics"]["group_match"]
    assert (found["n_groups"], metric["a"]["value"], metric["b"]["value"]) == (2, 100.0, 50.0)
    both = json.loads(run(*files, "--tags", tags, "--cluster", "kind", "--json"))["metrics"]["group_match"]
    assert {each.get("clustered", {}).get("by") for each in both.values()} == {"kind"}
    with pytest.raises(InputError, match="--tags has no effect without --tag or --cluster"):
        run(*files, "--tags", tags)
    with pytest.raises(InputError, match="has no row for 'd'"):
        tags.write_text(tags.read_text().replace("d,y,D", "e,y,D"))
        run(*files, "--tags", tags, "--tag", "kind: x")


def test_a_table_of_tags_stands_beside_the_columns_of_a_file_and_in_place_of_those_of_its_name(files, tags):
    table = pd.read_csv(files[0])
    of = table["group"].isin(["a", "c"])
    table.assign(side=np.where(of, "l", "r"), kind="own").to_csv(files[0], index=False)
    words = *files, "--tags", tags, "--json", "--tag"
    assert [json.loads(run(*words, tag))["n_groups"] for tag in ("side: l", "kind: y")] == [2, 2]
    with pytest.raises(InputError, match="kind: own"):
        run(*words, "kind: own")


def test_a_shape_is_that_of_the_embeddings_whichever_side_they_are(tmp_path):
    """The page exports it with such a pair, and it was refused for the sake of the scores."""
    rng, files = np.random.default_rng(0), [tmp_path / "e.npz", tmp_path / "s.npz"]
    np.savez(files[0], img=rng.normal(size=(12, 4)), cap=rng.normal(size=(12, 4)))
    np.savez(files[1], scores=rng.normal(size=(6, 2, 2)), truth=np.tile([0, 1], (6, 1)))
    for pair in (files, files[::-1]):
        assert json.loads(run(*pair, "--shape", "2x2", "--json"))["n_groups"] == 6
    with pytest.raises(InputError, match="--split has no effect"):
        run(*files, "--split", "test")


def test_groups_that_a_file_only_numbers_have_the_tags_of_these_numbers(tmp_path, files):
    """Paired in order they are called as the other file calls them."""
    np.savez(tmp_path / "n.npz", scores=np.array([RIGHT, WRONG, WRONG, WRONG]), truth=np.tile([0, 1], (4, 1)))
    (tmp_path / "t.csv").write_text("group,kind\n0,x\n1,x\n2,x\n3,y\n")
    words = (
        tmp_path / "n.npz",
        files[1],
        "--by-order",
        "--tags",
        tmp_path / "t.csv",
        "--tag",
        "kind: x",
        "--json",
    )
    assert json.loads(run(*words))["n_groups"] == 3


def test_two_files_are_compared_group_by_group_whatever_their_order(files):
    found = json.loads(run(*files, "--json"))
    metric = found["metrics"]["group_match"]
    assert (metric["a"]["value"], metric["b"]["value"]) == (50.0, 75.0)
    assert (metric["difference"]["only_b_right"], metric["difference"]["only_a_right"]) == (2, 1)
    assert not {"fixed", "broken"} & {*metric["difference"]}  # the table called them otherwise
    assert metric["difference"]["unit"] == "percentage points"
    run(*files, "--out", files[0].with_name("table.csv"))
    row = pd.read_csv(files[0].with_name("table.csv")).set_index("metric").loc["GroupMatch"]
    assert metric["difference"]["test"] == row["test"] == "McNemar's exact test"
    assert metric["difference"]["interval"] == row["difference_interval"]
    assert metric["difference"]["difference"] == 25.0 and metric["difference"]["p_value"] == 1.0


def test_a_file_and_a_model_give_what_the_two_give_alone(tmp_path):
    out = tmp_path / "clip.csv"
    exported = CliRunner().invoke(app, ["export", "scores", *SET, "--out", str(out)])
    assert exported.exit_code == 0
    models = json.loads(run("builtin/clip", "builtin/siglip", *SET, "--json"))
    mixed = json.loads(run(out, "builtin/siglip", *SET, "--json"))
    assert mixed["metrics"]["group_score"] == models["metrics"]["group_score"]
    assert mixed["n_groups"] == 300


def test_the_table_that_is_written_has_ten_digits_of_every_number(tmp_path):
    """A has the first two of three groups right, B all: 66.66666667 % and 33.33333333 points."""
    pair = [[[2.0, 1.0], [1.0, 2.0]], [[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]]
    for name, scores in (("a", pair), ("b", [pair[0]] * 3)):
        np.savez(tmp_path / f"{name}.npz", scores=scores, truth=[[0, 1]] * 3)
    run(tmp_path / "a.npz", tmp_path / "b.npz", "--out", tmp_path / "table.csv")
    row = pd.read_csv(tmp_path / "table.csv", dtype=str).iloc[0]
    assert (row["a_value"], row["b_value"], row["difference"]) == ("66.66666667", "100.0", "33.33333333")
    assert all(len(row[name].lstrip("-0.").replace(".", "")) <= 10 for name in ("a_low", "a_high", "p"))


def test_the_table_is_written(files, tmp_path):
    run(*files, "--out", tmp_path / "table.csv")
    table = pd.read_csv(tmp_path / "table.csv")
    assert list(table["metric"])[:1] == ["TextScore"] and table["difference"].iloc[0] == 25.0
    assert {*table["a_name"]} == {"a"} and {*table["b_name"]} == {"b"} and "crossmatch_version" in table


def test_two_files_are_compared_on_the_groups_that_both_have(files, tmp_path):
    other = score_file(tmp_path / "c.csv", np.array([WRONG, RIGHT, RIGHT]), ["e", "d", "b"])
    found = json.loads(run(files[0], other, "--json"))
    assert (found["n_groups"], found["groups_of"]) == (2, {"a": 4, "b": 3})
    metric = found["metrics"]["group_match"]  # of b and d: A has b right, the other both
    assert (metric["a"]["value"], metric["b"]["value"]) == (50.0, 100.0)
    assert (metric["difference"]["only_b_right"], metric["difference"]["only_a_right"]) == (1, 0)
    assert "A has 4, B 3" in run(files[0], other) and "A has 4" not in run(*files)
    assert run(files[0], other, "--common") == run(files[0], other)  # said in commands of before
    with pytest.raises(InputError, match="A and B have no group in common: A's first is 'a', B's 'z'"):
        run(files[0], score_file(tmp_path / "z.csv", np.array([RIGHT]), "z"))


def test_how_many_groups_are_left_out_is_a_warning(files, tmp_path):
    """Two files that share a few groups were compared as if these were all."""
    a, b = files
    some = score_file(tmp_path / "some.csv", np.array([RIGHT, WRONG, RIGHT]), "bcx")
    found = CliRunner().invoke(app, ["compare", str(a), str(some), "--json"])
    assert found.stderr.splitlines() == [
        "warning: 2 of the 4 groups of A are left out, as B does not have them",
        "warning: 1 of the 3 groups of B is left out, as A does not have it",
    ]
    assert "warning" not in CliRunner().invoke(app, ["compare", str(a), str(b)]).stderr


def test_one_thing_beside_itself_is_refused(files, tmp_path):
    for sides in ((files[0], files[0]), (files[0], f"{tmp_path}/./a.csv"), ("builtin/clip",) * 2):
        with pytest.raises(InputError, match="that is no comparison; give another file or model"):
            run(*sides, *SET)


@pytest.fixture(scope="module")
def shipped():
    return load(SET[1], "test")


@pytest.fixture
def by_truth(tmp_path, shipped):
    """A file without truth that has every pair of the shipped groups right, as their truth says; in another order."""
    scores = np.eye(2)[shipped.truth]  # row i of a group: 1 at the caption of image i
    return score_file(tmp_path / "mine.csv", scores[::-1], shipped.ids[::-1])


def test_a_file_without_truth_is_measured_by_that_of_the_set_it_is_compared_on(by_truth, shipped, tmp_path):
    text = run(by_truth, "builtin/clip", *SET)
    assert f"A: {by_truth}; 300 groups of 2x2; truth: of scenes/left-right" in text
    other = score_file(tmp_path / "part.csv", np.tile(RIGHT, (10, 1, 1)), shipped.ids[:10])
    found = json.loads(run(by_truth, other, *SET, "--json"))
    identity = 100 * np.mean((shipped.truth[:10] == [0, 1]).all(axis=1))
    both = found["metrics"]["group_match"]
    assert found["groups_of"] == {"a": 300, "b": 10} and 0 < identity < 100
    assert (both["a"]["value"], both["b"]["value"]) == (100.0, identity)


def test_scores_beside_a_set_are_measured_by_its_truth(by_truth, shipped, tmp_path):
    evaluate = lambda *given: CliRunner().invoke(app, ["evaluate", *map(str, given)])  # noqa: E731
    found = evaluate("scenes/left-right", "--scores", by_truth)
    assert f"{by_truth} on scenes/left-right, split test: 300 groups of 2x2; truth: of scenes" in found.stdout
    record = json.loads(evaluate("scenes/left-right", "--scores", by_truth, "--json").stdout)
    assert record["metrics"]["group_match"]["value"] == 100.0 and record["file"] == str(by_truth)
    alone = evaluate("--scores", by_truth)
    assert "truth: identity" in alone.stdout
    assert "These are groups of scenes/left-right, split test" in alone.stderr
    assert "--benchmark scenes/left-right takes its truth" in alone.stderr
    part = score_file(tmp_path / "part.csv", np.tile(RIGHT, (2, 1, 1)), shipped.ids[:2])
    assert "has 2 of the 300 groups" in evaluate("scenes/left-right", "--scores", part).stderr
    foreign = score_file(tmp_path / "foreign.csv", np.tile(RIGHT, (2, 1, 1)), [shipped.ids[0], "x"])
    error = evaluate("scenes/left-right", "--scores", foreign).exception
    assert f"does not have 1 of the 2 groups of {foreign} here, the first 'x'" in str(error)
    # “has 400 groups of its 400 that scenes/left-right lacks here”
    foreign = score_file(tmp_path / "foreign.csv", np.tile(RIGHT, (2, 1, 1)), ["x", "y"])
    error = evaluate("scenes/left-right", "--scores", foreign).exception
    assert f"does not have any of the 2 groups of {foreign} here, the first 'x'" in str(error)


def test_captions_of_a_file_must_be_those_of_the_set_whose_truth_it_takes(by_truth, shipped):
    table = pd.read_csv(by_truth)
    captions = {group.id: group.captions for group in shipped}
    table["caption"] = [captions[row.group][row.caption] for row in table.itertuples()]
    table.to_csv(by_truth, index=False)
    assert "truth: of scenes/left-right" in run(by_truth, "builtin/clip", *SET)
    first = table["group"] == shipped.ids[5]
    table.loc[first, "caption"] = (
        table.loc[first, "caption"].iloc[::-1].to_numpy()
    )  # the other one comes first
    table.to_csv(by_truth, index=False)
    with pytest.raises(InputError, match=f"Caption 1 of group '{shipped.ids[5]}' is .* column `match`"):
        run(by_truth, "builtin/clip", *SET)


def test_groups_of_one_image_have_one_row_and_one_test():
    words = ("builtin/clip", "builtin/siglip", "--benchmark", "scenes/replace")
    text = run(*words)
    assert "A: builtin/clip on scenes/replace, split test; 300 groups of 1x2" in text
    rows = text.split("B minus A")[1].splitlines()
    assert [row.split()[0] for row in rows[1:]] == ["text_score", "by", "Intervals:", "Detectable:"]
    found = json.loads(run(*words, "--json"))
    assert found["benchmark"] == "scenes/replace" and set(found["metrics"]) > {"text_score", "group_match"}
    assert {
        m["difference"]["p_holm"] for m in found["metrics"].values()
    } == {  # one test: nothing to correct for
        found["metrics"]["text_score"]["difference"]["p_value"]
    }


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("builtin/clip", "builtin/siglip"), "name its benchmark"),
        (("nothing.csv", "builtin/clip", *SET), "nothing.csv"),
        (("builtin/clip", "builtin/clipp", *SET), "builtin/clipp"),
    ],
)
def test_what_is_missing_is_one_sentence(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        run(*arguments)


def test_an_outcome_in_parts_is_better_worse_or_equal():
    """IndividualMatch counts halves: three groups better (one from 0 to a half), one worse, one equal."""
    first, second = np.array([0, 0.5, 0.5, 1, 0.5]), np.array([0.5, 1, 1, 0.5, 0.5])
    found = compare(first, second)
    assert (found.fixed, found.broken) == (3, 1)
    assert found.p_value == pytest.approx(scipy.stats.binomtest(3, 4).pvalue)


def test_a_metric_of_parts_says_that_its_interval_and_its_p_ask_different_things(files):
    """Two of three groups gain half a point, one loses a whole one: the mean is 0, more groups gain than lose."""
    text, told = run(*files), " ".join(run("--help").split())
    assert "of IndividualMatch the exact sign test.\n" in text
    assert "An interval holds 0 where its p, before any correction, is above 0.05" in told
    assert "p of IndividualMatch counts groups and its interval is of points, so that this may hold 0" in told
    found = compare(np.array([0.5, 0.5, 1.0]), np.array([1.0, 1.0, 0.0]))
    assert found.difference == 0 and (found.fixed, found.broken) == (2, 1)
    # Two paragraphs of small print ended every call.
    assert len(text.rpartition("\n\n")[2].splitlines()) == 1 + 5 + 3
    assert all(len(line) <= 130 for line in text.rpartition("\n\n")[2].splitlines())


def test_the_benchmark_may_stand_behind_both_without_its_flag():
    models = ("builtin/clip", "builtin/siglip")
    assert run(*models, "scenes/replace") == run(*models, "--benchmark", "scenes/replace")
    with pytest.raises(InputError, match="named twice"):
        run(*models, "scenes/replace", "--benchmark", "scenes/swap")
    with pytest.raises(InputError, match="two sides are compared"):
        run(*models, __file__)


def test_the_version_is_printed():
    found = CliRunner().invoke(app, ["--version"])
    assert found.exit_code == 0 and found.stdout.startswith("crossmatch ")


def test_both_sides_are_shown_with_interval_chance_ties_and_where_their_truth_is_from(files):
    shown = run(*files)
    assert shown.count("95 % interval") == 3 and shown.count("chance") == shown.count("ties") == 2
    assert shown.count("truth: identity") == 2 and "exact p" in shown


def test_sides_that_differ_in_what_is_right_are_refused(files, tmp_path):
    """The same scores, with the truth turned round for the group `b`."""
    table = pd.read_csv(files[0])
    table["match"] = [int((row.caption == row.image) != (row.group == "b")) for row in table.itertuples()]
    table.to_csv(tmp_path / "turned.csv", index=False)
    with pytest.raises(InputError, match="differ in what is right for the group 'b'"):
        run(files[0], tmp_path / "turned.csv")


def test_a_file_that_is_not_of_the_models_set_says_what_it_is_of_and_what_to_do(shipped, tmp_path):
    """“or leave the benchmark out” was the advice, which no model can be scored without; and of a file with a truth of
    its own that it had none."""
    ids, every = list(shipped.ids), np.tile(RIGHT, (len(shipped.ids), 1, 1))
    path, end = tmp_path / "a.csv", "name the benchmark that the file was made on."

    def refused(*words):
        error = CliRunner().invoke(app, ["compare", str(path), "builtin/clip", *(words or SET)]).exception
        assert isinstance(error, InputError)
        return str(error)

    score_file(path, every, [str(g) for g in range(len(ids))])
    assert (
        "the file only numbers its groups, whose names there begin with 'left-right/test/0000'" in refused()
    )
    score_file(path, every, [f"x{g}" for g in range(len(ids))])
    assert refused().endswith(
        "the first 'x0'; its own begin with 'left-right/test/0000': name the benchmark and --split that the file was "
        "made on."
    )
    score_file(path, every, ids)
    said = "the file has groups of scenes/left-right: name it with --split test."
    assert refused(*SET, "--split", "validation").endswith(said)
    write_scores(path, np.tile(np.eye(3), (len(ids), 1, 1)), ids)
    assert refused() == f"{path} has groups of 3x3 and scenes/left-right of 2x2; {end}"
    write_scores(path, every, ids, 1 - shipped.truth)
    assert "The file and scenes/left-right differ in what is right for 300 groups, the first" in refused()


def test_a_file_that_only_numbers_its_groups_says_how_it_gets_names(tmp_path):
    """`compare a.csv a.npz` said that names do not fit, and not how an NPZ carries any."""
    named, scores, rows = (tmp_path / name for name in ("a.csv", "b.npz", "e.npz"))
    write_scores(named, np.tile(np.eye(2), (5, 1, 1)), [f"g{i}" for i in range(5)])
    np.savez(scores, scores=np.tile(np.eye(2), (5, 1, 1)))
    np.savez(rows, img=np.eye(10), cap=np.eye(10))
    for file, said in (
        (scores, "add an array 'ids' with the name of each group"),
        (rows, "as embeddings do:"),
    ):
        for words in ([named, file], [file, named]):
            result = CliRunner().invoke(app, ["compare", *map(str, words)])
            assert isinstance(result.exception, InputError)
            assert f"{file} only numbers its groups, 0 to 4" in str(result.exception)
            assert said in str(result.exception) and f"{'AB'[words.index(named)]} names 'g0'" in str(
                result.exception
            )
    np.savez(scores, scores=np.tile(np.eye(2), (5, 1, 1)), ids=[f"g{i}" for i in range(5)])
    assert CliRunner().invoke(app, ["compare", str(named), str(scores)]).exit_code == 0


def test_a_file_that_only_numbers_its_groups_is_paired_by_order_where_somebody_asks(tmp_path):
    """The page offers it; the command refused."""
    named, plain, same = (tmp_path / name for name in ("a.csv", "b.npz", "c.csv"))
    ids, right = [f"g{i}" for i in range(5)], np.tile(np.eye(2), (5, 1, 1))
    wrong = np.array([1 - each if i < 2 else each for i, each in enumerate(right)])
    write_scores(named, right, ids, np.tile([0, 1], (5, 1)))
    write_scores(same, wrong, ids)
    np.savez(plain, scores=wrong)
    with pytest.raises(
        InputError, match="Or add --by-order, where both have the same groups in the same order"
    ):
        run(named, plain)
    by_order, by_name = (
        json.loads(run(*each, "--json")) for each in ((named, plain, "--by-order"), (named, same))
    )
    assert by_order["paired"] == "in order" and "paired" not in by_name
    assert by_order["metrics"] == by_name["metrics"]
    for words in ((named, plain), (plain, named)):
        said = run(*words, "--by-order", "--out", tmp_path / "t.csv")
        assert (
            f"Paired in order: group i of {words[0]} is taken to be group i of {words[1]}, for all 5" in said
        )
        assert set(pd.read_csv(tmp_path / "t.csv")["paired"]) == {"in the order of the files"}


@pytest.mark.parametrize(
    ("ids", "count", "says"),
    [
        (["g0", "g1"], 2, "--by-order has no effect: 2 groups of A and B have the same names"),
        (["h0", "h1"], 2, "--by-order needs a file that only numbers its groups: A names 'g0' and B 'h0'"),
        (None, 3, "as many groups of one shape in both: A has 2 of 2x2 and B 3 of 2x2"),
    ],
)
def test_files_that_order_cannot_pair_are_refused_in_one_sentence(tmp_path, ids, count, says):
    write_scores(tmp_path / "a.csv", np.tile(np.eye(2), (2, 1, 1)), ["g0", "g1"])
    more = {} if ids is None else {"ids": ids}
    np.savez(tmp_path / "b.npz", scores=np.tile(np.eye(2), (count, 1, 1)), **more)
    with pytest.raises(InputError, match=says):
        run(tmp_path / "a.csv", tmp_path / "b.npz", "--by-order")


@pytest.fixture
def numbered(tmp_path):
    """Scores of two groups in an NPY, and embeddings of two and of three, which name no group; all are right but the
    first group of the scores."""
    np.save(tmp_path / "a.npy", np.array([WRONG, RIGHT]))
    for name, groups in (("two", 2), ("three", 3)):
        rows = np.tile(np.eye(2), (groups, 1))
        np.savez(tmp_path / f"{name}.npz", img=rows, cap=rows)
    return [tmp_path / name for name in ("a.npy", "two.npz", "three.npz")]


def test_files_that_name_no_group_are_said_to_be_paired_by_row_number(numbered):
    """They were compared as if equal numbers of rows were names that both have."""
    a, two, _ = numbered
    said = run(a, two, "--common", "--latex")
    assert "Paired by row number, as neither file names its groups: group i of" in said
    assert "for all 2, with images" in said and "that both have" not in said
    found = json.loads(run(a, two, "--json"))
    assert (
        found["paired"] == "by row number"
        and found["metrics"] == json.loads(run(a, two, "--by-order", "--json"))["metrics"]
    )


@pytest.mark.parametrize("swapped", [False, True])
def test_files_of_other_counts_that_name_no_group_are_refused_until_somebody_says_the_order(
    numbered, swapped
):
    """Rows 0 and 1 of both were called "the groups that both have"."""
    a, _, three = numbered
    sides = (three, a) if swapped else (a, three)
    had = "A has 3, B 2" if swapped else "A has 2, B 3"
    with pytest.raises(
        InputError, match=f"Neither file names its groups, and {had}: .* add --by-order where"
    ):
        run(*sides)
    said = run(*sides, "--by-order")
    assert "Paired by row number" in said and "for the first 2, with" in said and "that both have" not in said


def test_numbers_that_a_file_gives_its_groups_as_names_are_names(numbered, tmp_path):
    """As embeddings ask for, and as Winoground numbers its groups."""
    score_file(tmp_path / "named.csv", np.array([WRONG, RIGHT]), "01")
    said = run(tmp_path / "named.csv", numbered[2])
    assert "On the groups that both have: A has 2, B 3." in said and "row number" not in said


def test_a_file_whose_columns_are_named_is_read_once(files, monkeypatch):
    """It was opened for its columns and once more for its scores, and its bytes before that for what it holds."""
    for path in files:
        pd.read_csv(path).rename(columns={"score": "sim"}).to_csv(path, index=False)
    read, real = [], Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path.name) or real(path))
    assert "B minus A" in run(*files, "--columns", "score=sim")
    assert [name for name in read if name.endswith(".csv")] == ["a.csv", "b.csv"]


def test_a_file_that_lacks_the_named_columns_is_read_by_its_own(files):
    table = pd.read_csv(files[0])
    table.rename(columns={"score": "sim"}).to_csv(files[0], index=False)
    assert "B minus A" in run(*files, "--columns", "score=sim")


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["scenes/left-right", "builtin/clip"], "builtin/clip MODEL scenes/left-right"),
        (["builtin/clip", "scenes/left-right~fog"], "builtin/clip MODEL 'scenes/left-right~fog'"),
        (["scenes/left-right", "a.csv", "builtin/clip"], "a.csv builtin/clip scenes/left-right"),
    ],
)
def test_a_benchmark_in_the_place_of_a_side_is_called_one_with_the_right_command(words, command):
    """It was taken for a model, and the sentence asked for a benchmark."""
    found = CliRunner().invoke(app, ["compare", *words])
    said = "is a benchmark, which comes behind the two that are compared on it"
    assert found.exit_code and f"{said}: `crossmatch compare {command}`" in str(found.exception)
