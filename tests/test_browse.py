"""Choosing groups: masks and orders on the toy groups."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import InputError
from core.metrics import group_filters
from core.metrics.evaluation import Evaluation

# Matching and GroupScore right; matching alone right; both wrong; a tie; matching alone right by more; both right.
TABLES = [
    [[4, 1], [1, 4]],
    [[1, 3], [1.5, 4]],
    [[1, 4], [4, 1]],
    [[1, 1], [1, 1]],
    [[1, 2], [2.5, 9]],
    [[2, 1], [1, 2]],
]


@pytest.fixture
def evaluation(toy_groups):
    truth = np.array(toy_groups.truth)
    scores = np.array(TABLES, dtype=float)
    for i, order in enumerate(truth):  # the columns in the order in which each group's captions stand
        scores[i] = scores[i][:, np.argsort(order)]
    return Evaluation.of(scores, truth, toy_groups.ids)


def test_tags_are_joined_by_or_within_a_tag_and_by_and_across(toy_groups):
    options = group_filters.tag_options(toy_groups)
    assert set(options) >= {"colour: red", "colour: blue", "shape: cube"}
    both = group_filters.tag_mask(options, ["colour: red", "colour: blue"], 6)
    assert both.tolist() == (options["colour: red"] | options["colour: blue"]).tolist()
    narrow = group_filters.tag_mask(options, ["colour: red", "shape: cube"], 6)
    assert narrow.tolist() == (options["colour: red"] & options["shape: cube"]).tolist()
    assert group_filters.tag_mask(options, [], 6).all()


def test_verdicts_select_groups(evaluation):
    options = group_filters.verdict_options(evaluation)
    assert np.flatnonzero(options["GroupMatch right"]).tolist() == [0, 1, 4, 5]
    assert np.flatnonzero(options["GroupScore right"]).tolist() == [0, 5]
    assert np.flatnonzero(options["tied"]).tolist() == [3]


def test_words_verdicts_and_order_work_together(toy_groups, evaluation):
    assert group_filters.filter_groups(toy_groups, evaluation).tolist() == list(range(6))
    word = toy_groups[2].captions[0].split()[1].upper()
    expected = [i for i, g in enumerate(toy_groups) if word.lower() in " ".join(g.captions)]
    assert group_filters.filter_groups(toy_groups, evaluation, words=word).tolist() == expected
    wanted = ["GroupMatch right", "GroupScore wrong"]
    # margins: group 1 has 0.5, group 4 has 5.5
    assert group_filters.filter_groups(
        toy_groups, evaluation, verdicts=wanted, order="margin, largest first"
    ).tolist() == [
        4,
        1,
    ]
    assert group_filters.filter_groups(toy_groups, evaluation, words="no such word").tolist() == []


def test_words_are_found_side_by_side_as_typed_and_else_all_of_them(toy_groups, evaluation):
    """“red cube” found “a red ball and a blue cube”; no caption has “ball cube” side by side, some have both."""
    captions = [
        ["a red cube"],
        ["a red ball and a blue cube"],
        ["a RED  cube again"],
        ["one red", "cube two"],
    ]
    texts = itertools.chain(captions, itertools.repeat(["nothing"]))
    groups = replace(
        toy_groups,
        groups=tuple(
            replace(g, captions=(*(t := next(texts)), *["x"] * (len(g.captions) - len(t))))
            for g in toy_groups
        ),
    )
    found = lambda words: group_filters.filter_groups(groups, evaluation, words=words).tolist()  # noqa: E731
    assert found("red cube") == found(" Red   CUBE ") == [0, 2]
    assert found("ball cube") == [1] and found("cube") == [0, 1, 2, 3]


def test_a_range_of_margins_holds_its_low_end_and_not_its_high_end(toy_groups, evaluation):
    # margins of the six groups: 6, 0.5, 6, 0, 6.5 - 1 = 5.5, 2
    margins = evaluation.matches.margin.tolist()
    for text in ("0.5..5.5", f"{margins[4]}..", "0.0.."):
        chosen = group_filters.MarginRange.parse(text)
        assert group_filters.MarginRange.parse(str(chosen)) == chosen
        found = group_filters.filter_groups(toy_groups, evaluation, margins=chosen).tolist()
        assert found == [i for i, x in enumerate(margins) if chosen.low <= x < chosen.high]
    assert group_filters.MarginRange(0.5, 2.0).description == "margin 0.5 to 2"
    assert group_filters.MarginRange(0.5).description == "margin 0.5 or larger"


def test_a_range_of_margins_is_written_as_short_as_the_groups_in_it_allow():
    """0.57 would leave 0.5697 out: three digits; an end on a margin itself needs all of it."""
    margins = np.array([0.0, 0.5612, 0.5697, 0.58, 1.2])
    between = group_filters.MarginRange(0.56915528355280558, 1.1393105671056112)
    assert str(between.shortest(margins)) == "0.569..1.1"
    assert (between.shortest(margins).holds(margins) == between.holds(margins)).all()
    assert str(group_filters.MarginRange(0.5697).shortest(margins)) == "0.5697.."


@pytest.mark.parametrize("text", ["", "wide", "0.2-0.3", "..", "a..b", "0.25..0.2", "0.2..0.2", "nan..1"])
def test_what_is_no_range_of_margins_is_one_sentence(text):
    with pytest.raises(InputError, match=r"write it as 0\.2\.\.0\.25"):
        group_filters.MarginRange.parse(text)


def test_surprises_and_the_clearest_disagreement(evaluation):
    found = group_filters.notable_groups(evaluation)
    assert np.flatnonzero(found["GroupMatch right, GroupScore wrong"]).tolist() == [1, 4]
    assert (
        np.flatnonzero(found["GroupMatch wrong"]).tolist()
        == np.flatnonzero(evaluation.outcomes["group_match"].value < 1).tolist()
    )
    assert np.flatnonzero(found["tie"]).tolist() == [3]
    assert np.flatnonzero(found["near tie"]).tolist() == [1]
    index, share = group_filters.clearest_disagreement(evaluation)
    assert index == 4 and share == pytest.approx(5.5 / 6)


def test_no_disagreement_is_none():
    agreed = Evaluation.of(np.array([[[2.0, 1.0], [1.0, 2.0]]]), np.array([[0, 1]]))
    assert group_filters.clearest_disagreement(agreed) == (None, 0.0)
