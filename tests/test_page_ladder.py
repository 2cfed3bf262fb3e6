"""The binding ladder on the matching page: the shipped record, a model without two towers, a set without scenes."""

import pytest
from driving import fine, text

from core.ladder.ladder import SETS, Ladder

MATCHING = "pages/2_Matching.py"


def test_the_ladder_is_drawn_when_it_is_open_and_of_what_is_selected(app):
    where = {"set": "scenes/left-right", "model": "builtin/clip"}
    assert "What a linear probe finds is there" not in text(app(MATCHING, **where))
    test = app(MATCHING, ladder="true", **where)
    shown = text(test)
    assert "inding is in the image tokens" in shown and "hat is lost first" in shown
    assert "chance 50.0 %" in shown
    assert "has its ties written down, so none are counted" in shown
    fine(test.selectbox(key="model").set_value("builtin/blip-itm").run())
    assert "only together with the image" in text(test)


@pytest.mark.parametrize(
    ("name", "said"), [("scenes/relations-1x4", "needs scene graphs"), ("scenes/size-swap", "inding is ")]
)
def test_a_set_without_known_scenes_says_so(app, name, said):
    assert said in text(app(MATCHING, ladder="true", set=name, model="builtin/clip"))


def test_the_shipped_ladders_are_of_the_shipped_models():
    found = Ladder.shipped()
    assert {record["benchmark"] for record in found} <= set(SETS)
    assert len({(record["benchmark"], record["model"]) for record in found}) == len(found) >= 21
    for record in found:
        assert Ladder.stored(record["benchmark"], record["model"]) == record
