"""One group as HTML: numbers by hand, nothing from data gets through unescaped."""

import base64

import numpy as np
import pytest

from core.figures import group_html
from core.metrics.evaluation import Evaluation
from core.metrics.groups import Outcome
from core.metrics.verdicts import compare_text

# Image 0 belongs to caption 0. The matching is right (1 + 4 > 3 + 1.5), every row and column is not.
SCORES = np.array([[1.0, 3.0], [1.5, 4.0]])
TRUTH = np.array([0, 1])


def view(scores, truth, matching, margin):
    return group_html.group_data(np.array(scores), np.array(truth), np.array(matching), margin)


def test_a_group_is_compared_with_its_best_rivals():
    data = view(SCORES, TRUTH, [0, 1], 0.5)
    assert data.true.tolist() == [1, 4]
    assert data.row_rival.tolist() == [3, 1.5]
    assert data.column_rival.tolist() == [1.5, 3]
    assert (data.true_total, data.rival_total) == (5, 4.5)


def test_the_rival_of_a_wrong_matching_is_the_matching_the_model_prefers():
    data = view(SCORES[::-1], TRUTH, [1, 0], 0.5)  # totals: true 1.5 + 3, other 4 + 1
    assert (data.true_total, data.rival_total) == (4.5, 5)


def test_a_tie_has_no_matching_and_equal_totals():
    data = view(np.ones((2, 2)), TRUTH, [-1, -1], 0.0)
    assert data.matching is None and data.true_total == data.rival_total == 2
    assert "tie" in group_html.matching_alt(data, True)


@pytest.mark.parametrize(
    ("scores", "truth", "rivals"),
    [
        ([[1, 5, 2, 3]], [1], [3]),  # 1x4: one row
        ([[9, 1, 2, 3], [1, 2, 8, 4]], [0, 2], [3, 4]),  # 2x4
        ([[3, 1, 2], [0, 9, 5], [1, 2, 7]], [0, 1, 2], [2, 5, 2]),  # 3x3
    ],
)
def test_every_shape_has_its_row_rivals(scores, truth, rivals):
    assert view(scores, truth, truth, 1.0).row_rival.tolist() == rivals


def test_verdicts_carry_the_live_numbers():
    evaluation = Evaluation.of(SCORES[None], TRUTH[None], ["g"])
    data, kinds = group_html.group_data_of(evaluation, 0)
    assert kinds["group_match"] == "right"
    assert all(kinds[n] == "wrong" for n in ("text_score", "image_score", "group_score", "individual_match"))
    numbers = {v.label: v.numbers for v in group_html.verdicts(data, kinds)}
    assert "A–1: 1.00 < 3.00 · B–2: 4.00 > 1.50" in numbers["TextScore"]
    assert "A–1: 1.00 < 1.50 · B–2: 4.00 > 3.00" in numbers["ImageScore"]
    assert numbers["GroupScore"] == "TextScore ✗ and ImageScore ✗"
    assert "5.00 > 4.50" in numbers["GroupMatch"]
    assert numbers["IndividualMatch"] == "1 of 2 images"


def test_a_tie_that_decides_is_called_a_tie():
    outcome = Outcome(np.array([1.0, 0.0, 0.0]), np.array([False, True, False]))
    assert [group_html.outcome_kind(outcome, i) for i in range(3)] == ["right", "tie", "wrong"]


@pytest.mark.parametrize(
    ("left", "right", "text"),
    [
        (2.0, 1.5, "2.00 > 1.50"),
        (1.0, 1.0, "1.00 = 1.00"),
        (1.00001, 1.00002, "1.000010 < 1.000020"),
        (-1.0, 2.0, "−1.00 < 2.00"),
    ],
)
def test_numbers_show_the_difference_that_decides(left, right, text):
    assert compare_text(left, right) == text


def test_lines_before_and_after_the_reveal():
    data = view(SCORES[::-1], TRUTH, [1, 0], 0.5)
    assert group_html.edges(data, revealed=False, student=[0, None]) == [group_html.Edge(0, 0, "student")]
    shown = group_html.edges(data, revealed=True)
    assert group_html.Edge(0, 1, "wrong") in shown and group_html.Edge(0, 0, "tie") in shown
    assert "hidden" in group_html.matching_alt(data, False)
    assert "wrong for image A, B" in group_html.matching_alt(data, True)


HOSTILE = "<img src=x onerror=alert(1)> & *bold* \"quoted\" 'single'"


def test_captions_from_data_are_text_never_markup():
    data = view(SCORES, TRUTH, [0, 1], 0.5)
    markup = group_html.matching_html(
        ["<img a>", "<img b>"], [HOSTILE, "plain"], group_html.edges(data, True), HOSTILE
    )
    markup += group_html.card_html(["<img a>"], [HOSTILE], [("right", HOSTILE)])
    assert "onerror" in markup and "<img src=x" not in markup and "&lt;img src=x" in markup
    assert 'alt="<' not in markup


def test_lines_are_drawn_from_each_image_to_its_caption():
    picture = base64.b64decode(
        group_html.lines_uri([group_html.Edge(0, 3, "right")], 1, 4).split(",")[1]
    ).decode()
    assert (
        "M1 50.00" in picture and "99 87.50" in picture
    )  # middle of the only image, middle of the fourth caption


def test_images_are_lettered_without_end():
    assert [group_html.image_name(i) for i in (0, 25, 26, 27)] == ["A", "Z", "A1", "B1"]
