"""Benchmarks by name: what is listed loads, what is not is suggested."""

import gc
from dataclasses import replace
from pathlib import Path

import pytest

from core import datasets
from core.base.errors import InputError, unknown_name
from core.datasets.base import _collection_paused
from core.groups import GroupSet

BUILT_IN = ["scenes/attribute-swap", "scenes/left-right", "scenes/front-behind", "scenes/relations-1x4"]


def test_the_built_in_sets_are_listed_and_every_name_has_a_reader():
    names = datasets.names()
    assert set(BUILT_IN) <= set(names)
    assert len(set(names)) == len(names)
    assert {name.partition("/")[0] for name in names} <= set(datasets.DATASETS)


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_set_loads_with_its_truth_and_another_split_has_other_groups(name):
    test, validation = datasets.load(name), datasets.load(name, "validation")
    assert isinstance(test, GroupSet)
    assert test.name.startswith(name)
    assert test.shape == ((1, 4) if name.endswith("1x4") else (2, 2))
    assert test.truth is not None
    assert not set(test.ids) & set(validation.ids)


def test_a_name_that_shares_but_its_folder_is_no_suggestion():
    with pytest.raises(InputError, match="'swap'; did you mean 'scenes/swap' or 'crepe/swap'"):
        datasets.load("swap")
    for name in ("scenes/nothere", "scenes/nothing", "scenes/lr"):
        with pytest.raises(InputError, match=f"Unknown benchmark '{name}'; known: "):
            datasets.load(name, "test")


def test_an_unknown_name_in_a_folder_is_told_what_begins_with_it_or_what_that_folder_has():
    """Of sixty names it listed the first twelve of the alphabet, and none of the folder that was named."""
    known = ["aro/a", "scenes/left-right", "scenes/swap", "winoground"]
    assert str(unknown_name("benchmark", "scenes/left", known)).endswith("did you mean 'scenes/left-right'?")
    said = str(unknown_name("benchmark", "scenes/foo", known))
    assert said.endswith("known: scenes/left-right, scenes/swap, aro/a, winoground.")


def test_an_unknown_name_or_split_suggests_the_nearest():
    with pytest.raises(
        InputError, match=r"Unknown benchmark 'scenes/left-rigth'; did you mean 'scenes/left-right'\?"
    ):
        datasets.load("scenes/left-rigth")
    with pytest.raises(InputError, match="Unknown benchmark 'nothing/like-it'"):
        datasets.load("nothing/like-it")
    with pytest.raises(InputError, match=r"Unknown split 'tset'; did you mean 'test'\?"):
        datasets.load("scenes/left-right", "tset")


def test_no_garbage_is_looked_for_while_a_benchmark_is_read_and_it_is_again_afterwards(monkeypatch):
    """Two thirds of the time that GQA's graphs took."""
    seen = []

    def read(folder, split):
        seen.append(gc.isenabled())
        with _collection_paused():
            pass
        seen.append(gc.isenabled())
        raise InputError("damaged")

    broken = replace(datasets.benchmark_entry("winoground"), read=read)
    with pytest.raises(InputError, match="damaged"):
        broken.load(None, Path.cwd(), True, True)
    assert seen == [False, False] and gc.isenabled()
