"""Two scorers on the same groups, counted by hand."""

import numpy as np
import pandas as pd
import pytest

from core.base.errors import InputError
from core.base.text import _file_columns
from core.exchange.paired_files import _comparison_file
from core.metrics.evaluation import Evaluation
from core.metrics.paired import SIDES, comparison_table, differences, groups_by_winner
from core.metrics.statistics import Clusters

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
    table = comparison_table(*two, ("A", "B")).drop(columns=["metric", "test"]).dropna(axis=1)
    assert table.select_dtypes(exclude="number").empty
    assert all(len(f"{value:.15g}") <= 14 for value in table.to_numpy(float).ravel())


def test_a_file_of_a_comparison_has_whole_p_values_their_test_what_is_compared_and_the_version():
    """`21.3333333333` stood in a table for a paper, p had two digits, and “McNemar p” headed a sign test's."""
    rng = np.random.default_rng(1)
    pair = [
        Evaluation.of(
            rng.normal(size=(70, 2, 2)) + shift * np.eye(2),
            np.tile([0, 1], (70, 1)),
            list(map(str, range(70))),
        )
        for shift in (0.0, 2.0)
    ]
    table, shown = comparison_table(*pair, ("A", "B")), _comparison_file(*pair, ("one", "two"))
    found = differences(*pair)
    assert shown["p"].tolist() == [each.p_value for each in found.values()] and shown["p"].min() < 1e-4
    assert shown["p_holm"].tolist() == [each.p_holm for each in found.values()]
    written = _file_columns(table)
    assert {"a_low", "b_high", "difference_low", "only_b_right"} <= {*shown} & {*written}
    for name in {*shown.select_dtypes("float")} & {*written} - {"p", "p_holm"}:
        assert shown[name].dropna().tolist() == pytest.approx(written[name].dropna().tolist(), rel=1e-9)
    named = shown.set_index("metric")["test"]
    assert named["GroupMatch"] == "McNemar's exact test"
    assert named["IndividualMatch"] == "exact sign test"  # it counts images
    assert {*shown["a_name"]} == {"one"} and {*shown["b_name"]} == {"two"}
    assert shown["a_chance"].tolist() == shown["b_chance"].tolist() == pytest.approx(table["chance"].tolist())
    assert list(shown)[-1] == "crossmatch_version" and shown["crossmatch_version"].iloc[0]
    assert "paired" not in shown
    by = shown.set_index("metric")  # `low` and `high` did not say of which level or kind they are
    assert {*shown["difference_interval"]} == {"95 % Bonett-Price, Student's t"}
    assert by.loc["GroupMatch", "a_interval"] == by.loc["GroupMatch", "b_interval"] == "95 % Clopper-Pearson"
    assert by.loc["IndividualMatch", "a_interval"] == "95 % Clopper-Pearson, of effective answers"
    assert list(shown).index("a_interval") == list(shown).index("a_high") + 1
    halves = Clusters("topic", np.arange(70) // 2)  # of which kind each is, where there are two
    two = [Evaluation.of(each.scores, each.truth, list(each.ids), clusters=halves) for each in pair]
    two = _comparison_file(*two, ("one", "two")).set_index("metric").loc["GroupMatch"]
    assert two["a_interval"] == two["b_interval"] == "95 % Clopper-Pearson, over groups"
    assert two["difference_interval"] == "95 % Bonett-Price, Student's t, over groups"
    assert two["difference_by_topic_interval"] == "95 % Bonett-Price, Student's t, of clusters"
    assert {*shown["groups"]} == {70}
    assert by.loc["GroupMatch", "unit"] == "percent; difference and detectable in percentage points"
    assert {*_comparison_file(*pair, ("one", "two"), True)["paired"]} == {"in the order of the files"}


def test_a_file_of_a_comparison_says_what_it_counts_by_a_metric_of_images():
    """101 and 38 beside IndividualMatch were groups with more images right, and stood as groups that are right."""
    three, two, none = np.eye(3), np.eye(3)[[0, 2, 1]], np.eye(3)[[1, 2, 0]]
    truth = np.tile(np.arange(3), (4, 1))
    # matched: A has 3, 0, 1, 1 images right, B 1, 3, 3, 1: one group has more with A, of which it is not all others
    pair = [
        Evaluation.of(np.array(groups, float), truth, ("p", "q", "r", "s"))
        for groups in ([three, none, two, two], [two, three, three, two])
    ]
    rows = _comparison_file(*pair, ("one", "two")).set_index("metric")
    assert rows.loc["IndividualMatch", ["only_a_right", "only_b_right"]].tolist() == [1, 2]
    said = "only_a_right and only_b_right: groups, by IndividualMatch those of which that one has more images right"
    assert {name for name, unit in rows["unit"].items() if said in unit} == {"IndividualMatch"}


def test_of_groups_of_one_image_no_file_speaks_of_more_images_right():
    pair = [Evaluation.of(np.array([[row]]), [[0]], ("p",)) for row in ([1.0, 0.0], [0.0, 1.0])]
    assert not _comparison_file(*pair, ("one", "two"))["unit"].str.contains("images").any()


def test_a_tie_is_right_for_nobody():
    tied = evaluation(*[[[1.0, 1.0], [1.0, 1.0]]] * 4)
    assert groups_by_winner(tied, tied, "group_score")["both wrong"].all()


def test_different_groups_are_refused_with_a_sentence(two):
    other = evaluation(RIGHT, RIGHT, RIGHT, RIGHT, ids=("p", "q", "r", "t"))
    with pytest.raises(InputError, match="different groups"):
        differences(two[0], other)


def test_columns_of_files_are_lower_case_words_joined_by_underscores():
    names = {
        "metric": "metric", "A": "a", "A: low": "a_low", "B before: tied": "b_before_ties", "p (Holm)": "p_holm",
        "B − A by shared caption: high": "difference_by_shared_caption_high", "GroupMatch: tied": "group_match_ties",
        "held out, alpha 0: sd": "held_out_alpha_0_sd", "by Größe: low": "by_größe_low", "p_value": "p_value",
    }  # fmt: skip
    assert list(_file_columns(pd.DataFrame(columns=list(names)))) == list(names.values())
