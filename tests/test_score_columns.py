"""Tables of scores under other headers: what is guessed, what is read, what is refused."""

import numpy as np
import pytest
from typer.testing import CliRunner

from core.base.errors import InputError
from core.base.table_formats import open_table
from core.cli import app
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


def test_the_command_says_how_to_name_the_columns(tmp_path):
    file = tmp_path / "mine.csv"
    for text, told in (
        (LONG, "rename item to group, img to image, cap to caption, sim to score if that is what they are"),
        (WIDE, "write a row per score with the columns group, image, caption and score"),
    ):
        file.write_text(text)
        found = CliRunner().invoke(app, ["evaluate", "--scores", str(file)])
        assert found.exit_code and told in str(found.exception)
