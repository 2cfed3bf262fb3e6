"""A lazy scorer loads its model when a score is asked of it, and not before."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from core.base.errors import InputError
from core.scoring.load import lazy_scorer, load_scorer, scorer_key


def test_name_and_key_are_known_without_loading():
    def never():
        raise AssertionError("loaded")

    found = lazy_scorer("builtin/clip", never)
    assert (found.name, found.key) == ("builtin/clip", scorer_key("builtin/clip"))


def test_anything_else_comes_from_the_model_and_loading_is_announced(toy_groups):
    said = []

    @contextmanager
    def loading():
        said.append("loading")
        yield

    found = lazy_scorer("builtin/clip", loading)
    assert found.module is load_scorer("builtin/clip").module and said == ["loading"]


def test_a_name_that_stands_for_nothing_is_refused_at_once():
    with pytest.raises(InputError, match="no-such-model"):
        lazy_scorer("builtin/no-such-model")
