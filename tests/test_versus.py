"""Two scorers on the same groups, counted by hand."""

import numpy as np
import pytest

from core.base.errors import InputError
from core.base.text import p_digits
from core.metrics.evaluation import Evaluation
from core.metrics.paired import SIDES, _printed_comparison, comparison_table, differences, groups_by_winner

RIGHT, WRONG = [[2.0, 0.0], [0.0, 2.0]], [[0.0, 2.0], [2.0, 0.0]]
TRUTH = np.tile([0, 1], (4, 1))


def evaluation(*groups, ids=("p", "q", "r", "s")):
    return Evaluation.of(np.array(groups), TRUTH, ids)


@pytest.fixture
def two():
    return evaluation(RIGHT, RIGHT, WRONG, WRONG), evaluation(RIGHT, WRONG, RIGHT, RIGHT)


def test_every_group_is_on_one_side(two):
    found = groups_by_winner(*two, "group_match")
    assert {name: np.flatnonzero(mask).tolist() for name, mask in found.items()} == {
        "both right": [0],
        "only A right": [1],
        "only B right": [2, 3],
        "both wrong": [],
    }
    assert (sum(mask.astype(int) for mask in found.values()) == 1).all() and list(found) == list(SIDES)


def test_the_difference_is_b_minus_a_in_points(two):
    found = differences(*two)["group_match"]
    assert (found.difference, found.fixed, found.broken) == (25.0, 2, 1)
    assert found.p_value == 1.0  # two-sided binomial test of 2 in 3
    assert differences(*two[::-1])["group_match"].difference == -25.0


def test_the_table_says_values_intervals_chance_and_ties_of_both(two):
    row = comparison_table(*two, ("A", "B")).set_index("metric").loc["GroupMatch"]
    assert (row["A"], row["B"], row["chance"], row["B − A"]) == (50.0, 75.0, 50.0, 25.0)
    assert row["A: tied"] == row["B: tied"] == 0
    found = differences(*two)["group_match"]
    assert (row["B − A: low"], row["B − A: high"]) == pytest.approx((found.low, found.high))
    assert row["A: low"] < row["A"] < row["A: high"]


def test_an_exported_table_has_numbers_alone_without_the_noise_of_their_sums(two):
    table = comparison_table(*two, ("A", "B")).drop(columns="metric").dropna(axis=1)
    assert table.select_dtypes(exclude="number").empty
    assert all(len(f"{value:.15g}") <= 14 for value in table.to_numpy(float).ravel())


def test_a_file_of_a_comparison_has_the_digits_that_are_printed():
    """`21.3333333333` and `0.0784196248158` stood in a table for a paper."""
    rng = np.random.default_rng(1)
    pair = [
        Evaluation.of(
            rng.normal(size=(70, 2, 2)) + shift * np.eye(2),
            np.tile([0, 1], (70, 1)),
            list(map(str, range(70))),
        )
        for shift in (0.0, 2.0)
    ]
    table = comparison_table(*pair, ("A", "B"))
    shown = _printed_comparison(table)
    for name in shown.select_dtypes("float"):
        if name in ("McNemar p", "p (Holm)"):
            assert [p_digits(p) for p in table[name]] == [p_digits(p) for p in shown[name]]
            assert all(p == float(p_digits(p)) for p in shown[name])
        else:
            assert shown[name].dropna().tolist() == table[name].dropna().round(2).tolist()
    assert shown["McNemar p"].min() < 1e-4 and len(shown.columns) == len(table.columns)


def test_a_tie_is_right_for_nobody():
    tied = evaluation(*[[[1.0, 1.0], [1.0, 1.0]]] * 4)
    assert groups_by_winner(tied, tied, "group_score")["both wrong"].all()


def test_different_groups_are_refused_with_a_sentence(two):
    other = evaluation(RIGHT, RIGHT, RIGHT, RIGHT, ids=("p", "q", "r", "t"))
    with pytest.raises(InputError, match="different groups"):
        differences(two[0], other)
