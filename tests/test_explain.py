"""What happened to every group of a run, by hand and on real runs."""

import json

import numpy as np
import pandas as pd
import pytest
from worlds import world

from core.base.errors import InputError
from core.ttm import explain
from core.ttm.config import TTMConfig
from core.ttm.loop import run_ttm

RIGHT, WRONG = [[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]
OWN, OTHER = [0, 1], [1, 0]


def arrays(scores, selected, matching):
    scores = np.array(scores, dtype=np.float32)
    return {
        "scores": scores,
        "selected": np.array(selected),
        "matching": np.array(matching),
        "labels": np.array(matching),
        "margin": np.abs(scores[:, 0, 0] + scores[:, 1, 1] - scores[:, 0, 1] - scores[:, 1, 0]),
    }


@pytest.fixture
def run():
    """Five groups, three iterations: always right, fixed, broken, in between right, always wrong."""
    none = [False] * 5
    start = [OWN, OTHER, OWN, OTHER, OTHER]
    return [
        arrays([RIGHT, WRONG, RIGHT, WRONG, WRONG], none, start),
        arrays([RIGHT, WRONG, RIGHT, RIGHT, WRONG], [True, False, False, False, False], start),
        arrays([RIGHT, RIGHT, RIGHT, WRONG, WRONG], [True, True, False, True, False], [OWN, OTHER, OWN, OWN, OTHER]),
        arrays([RIGHT, RIGHT, WRONG, WRONG, WRONG], [True, True, True, True, False], [OWN, OWN, OTHER, OTHER, OTHER]),
    ]  # fmt: skip


TRUTH = np.tile([0, 1], (5, 1))
IDS = list("abcde")


def test_every_group_is_told_when_it_was_selected_and_when_it_turned(run):
    table = explain.explain(run, TRUTH, IDS).set_index("id")
    assert table["change"].to_dict() == {
        "a": "right",
        "b": "fixed",
        "c": "broken",
        "d": "wrong",
        "e": "wrong",
    }
    assert table["turned_right"].fillna(0).to_list() == [0, 2, 0, 1, 0]
    assert table["turned_wrong"].fillna(0).to_list() == [0, 0, 3, 2, 0]
    assert table["selected_first"].fillna(0).to_list() == [1, 2, 3, 2, 0]
    assert table["selected_times"].to_list() == [3, 2, 1, 2, 0]
    assert table["label_first"].to_list() == ["0 1", "1 0", "1 0", "0 1", ""]
    assert table["label_last"].to_list() == ["0 1", "0 1", "1 0", "1 0", ""]
    assert table["label_right"].to_list()[:4] == [True, True, False, False]
    assert table["label_right"].isna().to_list() == [False] * 4 + [True]
    assert table["label_changed"].to_list() == [False, True, False, True, False]
    assert table["margin_before"].to_list() == [2.0] * 5


def test_lists_and_numbers_follow_from_the_table(run):
    table = explain.explain(run, TRUTH, IDS)
    assert (explain.changed_ids(table, "fixed"), explain.changed_ids(table, "broken")) == (["b"], ["c"])
    assert explain.summary(table) == {
        "fixed": 1, "broken": 1, "right": 1, "wrong": 2, "fixed_own_label": 1, "broken_own_label": 1,
    }  # fmt: skip
    rows = explain.rows(table)
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    assert rows[4]["selected_first"] is None


def test_the_surest_come_first(run):
    run[-1]["scores"][1] *= 3
    run[-1]["margin"][1] *= 3
    run[-1]["scores"][4] = RIGHT
    table = explain.explain(run, TRUTH, IDS)
    assert explain.changed_ids(table, "fixed") == ["b", "e"]


def test_another_metric_counts_other_groups_as_right(run):
    run[-1]["scores"][1] = [[2.0, 1.5], [0.0, 1.0]]  # matched right, but caption 1 prefers image 0
    assert explain.explain(run, TRUTH, IDS, "group_match")["change"][1] == "fixed"
    assert explain.explain(run, TRUTH, IDS, "group_score")["change"][1] == "wrong"


@pytest.mark.parametrize("variant", ["group", "global"])
def test_a_real_run_is_explained_by_what_it_reported(variant):
    model, groups = world(30)
    config = TTMConfig(lr=0.03, epochs=3, iterations=4, coverage_first=0.3, variant=variant)
    steps = list(run_ttm(model, groups, config))
    metric = "group_match" if variant == "group" else explain.GLOBAL
    found = explain._history([s.arrays() for s in steps], groups.truth, metric)
    for i, step in enumerate(steps):
        np.testing.assert_array_equal(found.selected[i], step.selected.reshape(30, -1).any(axis=1))
        np.testing.assert_array_equal(found.labels[i], step.matching)
        if i:  # the labels of an iteration are what the model before it said
            np.testing.assert_array_equal(found.label_right[i], found.right[i - 1])
    table = explain.explain([s.arrays() for s in steps], groups.truth, groups.ids, metric)
    assert table["after"].sum() >= table["before"].sum()


def test_arrays_of_other_groups_and_a_global_question_to_a_group_run_are_one_sentence(run):
    with pytest.raises(InputError, match="belong to other groups"):
        explain.explain(run, TRUTH[:3], IDS[:3])
    with pytest.raises(InputError, match="matched within its groups"):
        explain.explain(run, TRUTH, IDS, explain.GLOBAL)
    with pytest.raises(InputError, match="did you mean 'group_match'"):
        explain.explain(run, TRUTH, IDS, "group_matsh")


# Stories


def row(**more):
    base = {
        "selected_times": 2, "selected_first": 3, "label_first": "1 0", "label_last": "0 1", "label_changed": True,
        "label_right": True, "after": True, "turned_right": 4, "turned_wrong": pd.NA,
    }  # fmt: skip
    return {**base, **more}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, "First trained on in iteration 3 with the pseudo-label A–2, B–1, 2 times in all, last with A–1, B–2; "
             "the last pseudo-label is right. The group became right in iteration 4."),
        ({"selected_times": 1, "label_changed": False, "label_right": False, "after": False, "turned_wrong": 5},
         "First trained on in iteration 3 with the pseudo-label A–2, B–1, 1 time in all; this pseudo-label is wrong. "
         "The group became wrong in iteration 5."),
        ({"label_changed": False, "label_right": False},
         "First trained on in iteration 3 with the pseudo-label A–2, B–1, 2 times in all; this pseudo-label is wrong. "
         "The group became right in iteration 4, against that label: the groups that were trained on beside it changed "
         "the model, too."),
        ({"label_changed": False, "turned_right": 1},
         "First trained on in iteration 3 with the pseudo-label A–2, B–1, 2 times in all; this pseudo-label is right. "
         "The group became right in iteration 1, before it was trained on: the model had changed by other "
         "groups."),
        ({"selected_times": 0, "turned_right": pd.NA},
         "It was never trained on; its scores changed with the model."),
    ],
)  # fmt: skip
def test_a_group_s_story_says_when_it_was_trained_on_with_which_label_and_when_it_turned(change, expected):
    assert explain.group_history_text(row(**change)) == expected


def test_a_story_of_the_global_variant_names_the_group_of_each_caption():
    told = explain.group_history_text(row(label_first="5 0", label_changed=False), captions=2)
    assert "A–2 of group 3, B–1 of group 1" in told
