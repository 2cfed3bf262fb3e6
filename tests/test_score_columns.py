"""Tables of scores under other headers: what is guessed, what is read, what is refused."""

import json
import shlex
import zipfile

import numpy as np
import pytest
from typer.testing import CliRunner

from core.base.errors import InputError
from core.base.table_formats import open_table
from core.cli import app
from core.cli._evaluation import read_score_file
from core.datasets.score_faults import ScoreFault
from core.datasets.score_files import read_scores
from core.exchange.score_columns import _ScoreColumns

LONG = "item,img,cap,sim\na,x,c1,0.9\na,x,c2,0.1\na,y,c1,0.2\na,y,c2,0.5\n"
WIDE = "qid,cap0,cap1,cap2,topic\na,0.3,0.1,0.2,k\nb,0.2,0.4,0.9,l\n"


def table(text: str):
    return open_table("mine.csv", text.encode())


def test_the_columns_are_guessed_by_name_and_content():
    assert _ScoreColumns.guessed(table(LONG)) == ("item", "img", "cap", ("sim",), "")
    assert _ScoreColumns.guessed(table(WIDE)) == ("qid", "", "", ("cap0", "cap1", "cap2"), "")
    labelled = LONG.replace("sim\n", "logit,label\n").replace("0.9\n", "0.9,1\n").replace("0.1\n", "0.1,0\n")
    rows = labelled.splitlines()[:3]
    assert _ScoreColumns.guessed(table("\n".join(rows))) == ("item", "img", "cap", ("logit",), "label")
    unknown = LONG.replace("item,img,cap,sim", "p,q,r,s")  # in their order
    assert _ScoreColumns.guessed(table(unknown)) == ("p", "q", "r", ("s",), "")


@pytest.mark.parametrize(
    "text",
    [
        "group,image,caption,score\na,0,0,0.5\n",
        "id,image_0,caption_0,caption_1,weight\na,1.png,dog,cat,0.5\n",  # names of pictures
        "id,picture,one,two,weight\na,1,a dog runs,a cat sleeps,0.5\n",  # sentences
        "a,b,c\n1,2,3\n",  # whole numbers of no name
        "x," + ",".join(f"v{i}" for i in range(20)) + "\na," + ",".join(["0.5"] * 20) + "\n",  # a vector
    ],
)
def test_other_tables_are_not_taken_for_scores(text):
    assert _ScoreColumns.guessed(table(text)) is None


def test_a_table_with_a_row_per_score_is_read_as_if_it_had_the_names(tmp_path):
    found = read_scores("mine.csv", _ScoreColumns("item", "img", "cap", ("sim",)).renamed(table(LONG)))
    np.testing.assert_array_equal(found.scores, [[[0.9, 0.1], [0.2, 0.5]]])
    assert found.ids == ["a"] and found.captions.tolist() == [["c1", "c2"]]
    matched = LONG.replace("sim\n", "sim,label\n")
    matched = "".join(
        f"{line},{int(line in ('a,x,c2,0.1', 'a,y,c1,0.2'))}\n"
        if "," in line and "sim" not in line
        else f"{line}\n"
        for line in matched.splitlines()
    )
    found = read_scores(
        "mine.csv", _ScoreColumns("item", "img", "cap", ("sim",), "label").renamed(table(matched))
    )
    assert found.truth.tolist() == [[1, 0]]


def test_a_table_with_a_column_per_caption_is_read_and_its_further_columns_are_tags():
    found = read_scores(
        "mine.csv", _ScoreColumns("qid", scores=("cap0", "cap1", "cap2")).renamed(table(WIDE))
    )
    np.testing.assert_array_equal(found.scores, [[[0.3, 0.1, 0.2]], [[0.2, 0.4, 0.9]]])
    assert found.tags["topic"].tolist() == ["k", "l"]
    images = "pair,one,two\na,0.3,0.1\na,0.2,0.4\n"  # the rows of a group are its images
    found = read_scores("mine.csv", _ScoreColumns("pair", scores=("one", "two")).renamed(table(images)))
    np.testing.assert_array_equal(found.scores, [[[0.3, 0.1], [0.2, 0.4]]])


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (_ScoreColumns("item", "img", "cap", ("cap",)), "The column 'cap' has two meanings"),
        (_ScoreColumns("", "img", "cap", ("sim",)), "No column names the group; choose one."),
        (_ScoreColumns("item", "img", "cap", ()), "No column has the scores; choose one."),
        (_ScoreColumns("item", "img", "", ("sim",)), "No column names the caption"),
        (_ScoreColumns("item", "", "cap", ("sim", "img")), "With 2 columns of scores each is a caption"),
        (_ScoreColumns("item", "", "", ("sim", "img"), "cap"), "A match needs a row per score"),
        (_ScoreColumns("item", "cap", "sim", ("img",)), "mine.csv: column 'img' holds 'x' in row 2"),
    ],
)
def test_a_wrong_choice_is_one_sentence(columns, told):
    with pytest.raises(InputError) as caught:
        columns.renamed(table(LONG))
    assert str(caught.value).startswith(told) and str(caught.value).endswith(".")


def test_a_command_without_the_option_says_how_to_name_the_columns(tmp_path):
    file = tmp_path / "mine.csv"
    for text, told in (
        (LONG, "rename item to group, img to image, cap to caption, sim to score if that is what they are"),
        (WIDE, "write a row per score with the columns group, image, caption and score"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=told):
            read_score_file(file)


# --- the option


def test_a_misspelt_column_is_named_and_the_table_is_no_set_of_images(tmp_path):
    """The command called it scores, and the page images and captions; neither said which column was meant."""
    path = tmp_path / "s.csv"
    path.write_text("group,image,caption,scor\na,0,0,1\na,0,1,0\na,1,0,0\na,1,1,1\n")
    for given, told in (
        ("group,image,caption,scor", "scor is probably score, misspelt; "),
        (
            "gruop,image,capton,score",
            "gruop is probably group, misspelt; capton is probably caption, misspelt; ",
        ),
    ):
        path.write_text(f"{given}\na,0,0,1\na,0,1,0\na,1,0,0\na,1,1,1\n")
        with pytest.raises(InputError) as error:
            read_score_file(path, command="crossmatch evaluate --scores s.csv")
        assert f"other headers ({given.replace(',', ', ')}): {told}" in str(error.value)
        assert _ScoreColumns.likely(open_table(path)) is not None
    path.write_text("group,image,caption,year\na,0,0,1\na,0,1,0\na,1,0,0\na,1,1,1\n")
    assert _ScoreColumns.likely(open_table(path)) is None
    with pytest.raises(
        InputError, match=r"looks like images and captions.*If year holds scores, .*score=year"
    ):
        read_score_file(path, command="crossmatch evaluate --scores s.csv")


def run(*words):
    return CliRunner().invoke(app, [*map(str, words)])


LABELLED = "item,img,cap,sim,label\n" + "".join(
    f"{g},{i},{j},{i + 2 * j if g == 'a' else i == j:d},{i == j:d}\n"
    for g in "ab"
    for i in (0, 1)
    for j in (0, 1)
)


def test_the_command_that_an_error_prints_reads_the_file_as_its_own_names_do(tmp_path):
    other, own = tmp_path / "other file.csv", tmp_path / "own.csv"
    other.write_text(LABELLED)
    own.write_text(LABELLED.replace("item,img,cap,sim,label", "group,image,caption,score,match"))
    said = str(run("evaluate", "--scores", other).exception)
    printed = said.partition("`")[2].partition("`")[0]
    assert printed.endswith("--columns group=item,image=img,caption=cap,score=sim,match=label")
    found = run(*shlex.split(printed)[1:], "--json")
    assert found.exit_code == 0, found.exception
    without_file = lambda text: {k: v for k, v in json.loads(text).items() if k != "file"}  # noqa: E731
    assert without_file(found.stdout) == without_file(run("evaluate", "--scores", own, "--json").stdout)
    said = str(run("compare", own, other).exception)
    printed = said.partition("`")[2].partition("`")[0]
    found = run(*shlex.split(printed)[1:])
    assert found.exit_code == 0 and "B minus A" in found.stdout  # the first file is read by its own names


def test_a_column_of_scores_for_each_caption_is_named_by_the_option_too(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(WIDE)
    said = str(run("evaluate", "--scores", path).exception)
    printed = said.partition("`")[2].partition("`")[0]
    assert printed.endswith("--columns group=qid,score=cap0,score=cap1,score=cap2")
    found = run(*shlex.split(printed)[1:])
    assert found.exit_code == 0 and "2 groups of 1x3" in found.stdout


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ("item", "--columns has 'item'; give it as group=NAME,image=NAME,caption=NAME,score=NAME"),
        ("set=item", "--columns has 'set=item'; give it as"),
        ("group=item,group=img", "--columns names group twice; name one column."),
        (
            "group=items",
            "other.csv has no column 'items' among: item, img, cap, sim, label; name one of them in",
        ),
        ("group=item,image=img,caption=cap", "No column has the scores; choose one."),
        ("group=item,image=img,caption=cap,score=cap", "The column 'cap' has two meanings"),
    ],
)
def test_an_option_that_names_no_columns_is_refused_in_one_sentence(columns, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.csv").write_text(LABELLED)
    for words in (("evaluate", "--scores", "other.csv"), ("compare", "other.csv", "none.csv")):
        found = run(*words, "--columns", columns)
        assert isinstance(found.exception, InputError)
        assert words[0] == "compare" or str(found.exception).startswith(says)


def test_the_mistakes_of_a_file_with_other_headers_are_listed_by_row(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text(LABELLED.replace("a,0,0,0", "a,0,0,?").replace("b,1,1,1", "b,1,1,?"))
    columns = "group=item,image=img,caption=cap,score=sim,match=label"
    assert "which is no number" in str(run("evaluate", "--scores", path, "--columns", columns).exception)


def test_an_error_names_the_row_of_each_mistake_once(tmp_path):
    path = tmp_path / "own.csv"
    text = LABELLED.replace("item,img,cap,sim,label", "group,image,caption,score,match")
    path.write_text(text.replace("a,0,0,0", "a,0,0,x").replace("b,1,1,1", "b,1,1,y"))
    error = run("evaluate", "--scores", path).exception
    assert str(error) == f"{path} has 2 mistakes in all:"
    assert [line.partition(":")[0] for line in error.details] == ["row 2, score", "row 9, score"]


def test_a_prior_is_called_one_wherever_scores_are_asked_for(tmp_path):
    path = tmp_path / "prior.csv"
    path.write_text("group,caption,prior\na,0,-1.5\na,1,-2.5\n")
    assert _ScoreColumns.guessed(table(path.read_text())) is None
    said, command = (
        str(run("evaluate", "--scores", path).exception),
        f"crossmatch alpha --scores FILE --prior {path}",
    )
    assert said == f"{path} looks like a language prior; give it beside its scores: `{command}`."


def test_a_table_of_tags_where_scores_are_asked_for_is_called_one(tmp_path):
    path = tmp_path / "tags.csv"
    path.write_text("group,topic,length\na,hall,3\nb,garden,4\n")
    command = f"crossmatch evaluate --scores FILE --tags {path}"
    said = str(run("evaluate", "--scores", path).exception)
    assert said == f"{path} looks like a table of tags; give it beside its scores: `{command}`."


def test_without_a_column_for_the_caption_no_command_is_advised(tmp_path):
    """`--columns group=group,image=image,score=score` reads them, it said, and that was refused."""
    path = tmp_path / "s.csv"
    path.write_text("group,image,score\na,0,0.5\na,1,0.25\n")
    for command in ("crossmatch evaluate --scores s.csv", ""):
        with pytest.raises(InputError) as error:
            read_score_file(path, command=command)
        assert str(error.value) == (
            f"The column “caption” is missing: {path} has group, image, score; add it: a row per score has the columns "
            "group, image, caption and score."
        )


def test_a_list_of_scores_in_a_line_is_refused_as_scores_and_no_tag(tmp_path):
    """It was taken for a table of tags."""
    path = tmp_path / "s.jsonl"
    path.write_text('{"group": "g0", "scores": [[1.0, 0.5], [0.25, 1.5]]}\n')
    said = str(run("evaluate", "--scores", path).exception)
    assert said.startswith(
        f"{path}: line 1 has a list of scores; name them c0_i0, c1_i0, ... (caption, image)"
    )


# --- columns that name a caption and an image, a row per group

PAIRS = {
    (0, 0): "0.9",
    (0, 1): "0.4",
    (1, 0): "0.3",
    (1, 1): "0.8",
}  # (caption, image); of the second group 1 - score
SEEN = np.array([[[0.9, 0.3], [0.4, 0.8]], [[0.1, 0.7], [0.6, 0.2]]])  # (group, image, caption)


def pairs_table(name, order=tuple(PAIRS), ident="id"):
    """name : of (caption, image) the column."""
    rows = [[ident, *(name(*pair) for pair in order)]]
    rows += [["a", *(PAIRS[pair] for pair in order)]]
    rows += [["b", *(f"{1 - float(PAIRS[pair]):.1f}" for pair in order)]]
    return "".join(",".join(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    "name",
    [
        lambda c, i: f"c{c}_i{i}",
        lambda c, i: f"s_c{c}_i{i}",
        lambda c, i: f"i{i}_c{c}",
        lambda c, i: f"clip_i{i}_c{c}",
        lambda c, i: f"c{c + 1}_i{i + 1}",  # counted from 1
        lambda c, i: f"clip.I{i + 1}_C{c + 1}",
        lambda c, i: f"caption_{c}_image_{i}",
        lambda c, i: f"t{c}i{i}_score",
    ],
)
@pytest.mark.parametrize("order", [tuple(PAIRS), tuple(reversed(PAIRS))])
def test_columns_that_name_caption_and_image_are_read_as_such_in_either_order_from_0_or_1(name, order):
    text = pairs_table(name, order)
    assert _ScoreColumns.guessed(table(text)) is None  # there is nothing to ask
    found = read_scores("mine.csv", text.encode())
    np.testing.assert_array_equal(found.scores, SEEN)
    assert found.ids == ["a", "b"] and found.tags is None
    first, last = name(*order[0]), name(*order[-1])
    meaning = found.read_as[found.read_as.index("Read as: ") :]
    called = meaning.removeprefix("Read as: ").removesuffix(" = caption N, image M.")
    base = 1 if "1" in name(0, 0) else 0
    assert [called.replace("N", f"{c + base}").replace("M", f"{i + base}") for c, i in order] == [
        name(c, i) for c, i in order
    ]
    if {first, last} != {"c0_i0", "c1_i1"}:
        assert found.read_as == (
            f"The columns {first} to {last} are read as the scores of 2 captions with 2 images: a group of 2x2 in "
            f"each row. {meaning}"
        )


def test_a_grid_that_is_no_square_keeps_images_and_captions_apart():
    row = "id," + ",".join(f"s_c{c}_i{i}" for c in range(3) for i in range(2)) + "\na,1.5,2,3,4,5,6\n"
    found = read_scores("mine.csv", row.encode())
    np.testing.assert_array_equal(found.scores, [[[1.5, 3, 5], [2, 4, 6]]])


def test_columns_that_name_some_pairs_alone_are_refused_and_no_columns_are_suggested(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("id,s_c0_i0,s_c0_i1,s_c1_i1\na,0.5,0.25,0.75\n")
    said = str(run("evaluate", "--scores", path).exception)
    assert said == (
        f"{path}: the columns s_c0_i0, s_c0_i1, s_c1_i1 name a caption and an image each, and the score of caption 1 "
        "with image 0 is missing or there twice; give every pair of caption and image one column."
    )
    columns = "group=id,score=s_c0_i0,score=s_c0_i1,score=s_c1_i1"
    said = str(run("evaluate", "--scores", path, "--columns", columns).exception)
    assert said.startswith("Of the chosen scores the columns s_c0_i0") and said.endswith("one column.")


def test_options_that_name_such_columns_read_images_and_captions(tmp_path):
    """It was read as four captions of one image, with another TextScore."""
    path, plain = tmp_path / "mine.csv", tmp_path / "plain.csv"
    two = pairs_table(lambda c, i: f"clip_c{c}_i{i}").splitlines()
    other = pairs_table(lambda c, i: f"siglip_c{c}_i{i}").splitlines()
    path.write_text("".join(f"{a},{b.partition(',')[2]}\n" for a, b in zip(two, other, strict=True)))
    plain.write_text(pairs_table(lambda c, i: f"c{c}_i{i}"))
    said = str(run("evaluate", "--scores", path).exception)
    printed = said.partition("`")[2].partition("`")[0]
    assert printed.endswith(
        "--columns group=id,score=clip_c0_i0,score=clip_c0_i1,score=clip_c1_i0,score=clip_c1_i1"
    )
    found = run(*shlex.split(printed)[1:], "--json")
    assert "2 captions with 2 images: a group of 2x2 in each row" in found.stderr
    metrics = lambda text: {k: v for k, v in json.loads(text).items() if k not in ("file", "tags", "slices")}  # noqa: E731
    assert metrics(found.stdout) == metrics(run("evaluate", "--scores", plain, "--json").stdout)
    mixed = "group=id,score=clip_c0_i0,score=siglip_c0_i1,score=clip_c1_i0,score=clip_c1_i1"
    assert isinstance(run("evaluate", "--scores", path, "--columns", mixed).exception, InputError)
    imaged = "group=id,image=siglip_c0_i0,score=clip_c0_i0,score=clip_c0_i1,score=clip_c1_i0,score=clip_c1_i1"
    told = str(run("evaluate", "--scores", path, "--columns", imaged).exception)
    assert told == "The columns of scores name the images, clip_c0_i0 …; choose none under Image and Match."


def test_a_column_for_each_caption_is_said_to_be_one(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(WIDE)
    found = run("evaluate", "--scores", path, "--columns", "group=qid,score=cap0,score=cap1,score=cap2")
    assert (
        f"{path}: The columns cap0 to cap2 are read as 3 captions, and each row as an image; the first image of a "
        "group belongs to the first caption." in found.stderr
    )


def test_a_mistake_in_such_a_column_is_named_as_the_file_names_it():
    text = pairs_table(lambda c, i: f"s_c{c}_i{i}").replace("0.9", "x")
    (fault,) = ScoreFault.of_file("mine.csv", text.encode())
    assert (fault.row, fault.column) == (2, "s_c0_i0")


def test_commands_read_the_only_table_of_a_zip(tmp_path):
    """Three groups by hand: two right, one wrong by GroupMatch."""
    rows = "group,image,caption,score\n" + "".join(
        f"{g},{i},{j},{(i == j if g != 'c' else i != j) - 3.0}\n"
        for g in "abc"
        for i in (0, 1)
        for j in (0, 1)
    )
    path, other = tmp_path / "my.zip", tmp_path / "two.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("out/scores.csv", rows)
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("a.csv", rows)
        archive.writestr("b.csv", rows)
    found = read_scores(path)
    assert found.ids == ["a", "b", "c"] and found.scores[2].tolist() == [[-3, -2], [-2, -3]]
    record = json.loads(run("evaluate", path, "--json").stdout)
    assert record["metrics"]["group_match"]["value"] == pytest.approx(200 / 3, abs=0.01)
    plain, prior = tmp_path / "plain.csv", tmp_path / "prior.csv"
    plain.write_text(rows)
    prior.write_text(
        "group,caption,log_prob\n" + "".join(f"{g},{j},{-j - 1}\n" for g in "abc" for j in (0, 1))
    )
    assert "3 groups of 2x2" in run("compare", path, plain).stdout
    debiased = [run("alpha", "--scores", each, "--prior", prior, "--json").stdout for each in (path, plain)]
    assert debiased[0] and debiased[0].replace("my.zip", "plain.csv") == debiased[1]
    with pytest.raises(InputError, match=r"two\.zip holds several tables \(a\.csv, b\.csv\); unpack it"):
        read_scores(other)


def test_page_and_command_say_which_number_of_a_wide_table_is_the_caption(tmp_path):
    """Nothing said that c0_i1 is caption 0 with image 1, though the transposed table looks the same."""
    path, npz = tmp_path / "wide.csv", tmp_path / "s.npz"
    path.write_text("id,c0_i0,c0_i1,c1_i0,c1_i1\na,4,3,2,1\n")
    assert read_scores(path).scores.tolist() == [[[4, 2], [3, 1]]]  # by image, then caption
    assert read_scores(path).read_as == "Read as: cN_iM = caption N, image M."
    assert "Read as: cN_iM = caption N, image M." in run("evaluate", path).stderr
    path.write_text("id,img_1_cap_1,img_1_cap_2,img_2_cap_1,img_2_cap_2\na,4,3,2,1\n")
    assert read_scores(path).read_as.endswith("Read as: img_M_cap_N = caption N, image M.")
    np.savez(npz, scores=np.eye(2)[None])
    assert not run("evaluate", npz).stderr  # its axes are documented: nothing was chosen in reading it
    path.write_text("group,image,caption,score\na,0,0,1\na,0,1,0\n")
    assert read_scores(path).read_as == ""


def test_a_zip_that_unfolds_to_too_much_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("scores.csv", b"0" * (100 << 20))
    with pytest.raises(InputError, match="far more than its size says"):
        read_scores(path)


def test_the_one_spare_column_of_0_and_1_or_true_and_false_is_guessed_as_match_and_no_tag_is():
    """A file with a column m of 0 and 1 was read without its ground truth."""

    def guessed(header, *more):
        rows = [f"{g},{i},{j},{g + (i == j)}.5" for g in range(3) for i in (0, 1) for j in (0, 1)]
        values = [[f(g, i, j) for f in more] for g in range(3) for i in (0, 1) for j in (0, 1)]
        lines = [",".join([row, *map(str, own)]) for row, own in zip(rows, values, strict=True)]
        return _ScoreColumns.guessed(table("\n".join([header, *lines]) + "\n"), or_images=False)

    match, tag = (lambda g, i, j: int(i == j)), (lambda g, i, j: g % 2)
    found = guessed("grp,img,cap,sc,m", match)
    assert (found.group, found.match) == ("grp", "m") and found._by_position == ["group", "match"]
    assert guessed("grp,img,cap,sc,m", lambda g, i, j: i == j).match == "m"
    assert guessed("grp,img,cap,sc,t,m", tag, match).match == "m"
    assert guessed("grp,img,cap,sc,t", tag).match == ""
    assert guessed("grp,img,cap,sc,m,n", match, match).match == ""
