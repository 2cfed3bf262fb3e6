"""The lessons: simulation against the propositions, the transfer check, and every lesson driven from app.py."""

import numpy as np
import pytest
from driving import button, fine, html, text

from core import datasets
from core.base.errors import InputError
from core.teaching import lessons
from ui.lessons import LESSONS

PAGE = "pages/0_Lessons.py"


@pytest.mark.parametrize(
    ("shape", "group_score", "group_match"),
    [((2, 2), 1 / 6, 1 / 2), ((3, 3), 2 / 120, 1 / 6), ((1, 4), 1 / 4, 1 / 4), ((2, 4), 1 / 16, 1 / 12)],
)
def test_random_guessing_agrees_with_the_propositions(shape, group_score, group_match):
    found = {one.metric: one for one in lessons.simulate(*shape, 20_000, seed=3)}
    for name, exact in (("group_score", group_score), ("group_match", group_match)):
        assert found[name].estimate.chance == pytest.approx(100 * exact)
        assert abs(found[name].estimate.value - 100 * exact) < 100 * 4 * np.sqrt(exact * (1 - exact) / 20_000)


def test_a_shape_that_is_none_is_refused():
    for m, k in ((3, 2), (0, 2), (1, 1)):
        with pytest.raises(InputError, match="A group has"):
            lessons.simulate(m, k, 10)
    with pytest.raises(InputError, match="fewer groups"):
        lessons.simulate(2, 2, 10**9)


def test_memorising_lifts_the_adapted_part_and_leaves_each_group_on_one_side():
    groups = datasets.load("scenes/left-right", "test")
    groups = groups.select(np.arange(len(groups)) < 60)
    adapted, untouched = lessons.simplematch_transfer(groups, "builtin/clip", 0.5)
    ids = [set(half.before.ids) for half in (adapted, untouched)]
    assert ids[0].isdisjoint(ids[1]) and len(ids[0] | ids[1]) == 60 and len(ids[0]) == 30
    rise = [
        h.after.metrics["group_score"].value - h.before.metrics["group_score"].value
        for h in (adapted, untouched)
    ]
    assert rise[0] > rise[1] + 20


def test_the_overview_lists_every_lesson_and_opens_it(app):
    test = app(PAGE)
    for lesson in LESSONS.values():
        assert lesson.title in text(test)
    fine(test.button(key="open-matrix").click().run())
    assert test.header[0].value.endswith(LESSONS["matrix"].title)
    fine(button(test, f"Next: {LESSONS['chance'].title}").click().run())
    assert test.header[0].value.endswith(LESSONS["chance"].title)


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_asks_first_then_answers_and_ends_with_a_question(app, name):
    test = app(PAGE, lesson=name)
    (prediction,) = test.radio
    assert not test.get("plotly_chart") and "A question to end with" not in text(test)
    fine(prediction.set_value(prediction.options[0]).run())
    assert test.success or test.warning
    assert "A question to end with" in text(test)
    last = test.radio[-1]
    said = set()
    for option in last.options:
        fine(test.radio(key=last.key).set_value(option).run())
        said |= {s.value[:6] for s in test.success if s.value.startswith("Right.")}
    assert said == {"Right."}


@pytest.mark.parametrize("name", LESSONS)
def test_a_visitor_of_a_public_server_takes_every_lesson(app, monkeypatch, name):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    test = app(PAGE, lesson=name)
    fine(test.radio[0].set_value(test.radio[0].options[0]).run())
    assert "A question to end with" in text(test)


def test_the_first_lesson_judges_the_numbers_of_the_matrix(app):
    test = app(PAGE, lesson="matrix")
    fine(test.radio[0].set_value(test.radio[0].options[0]).run())
    assert "wrong</span></th><td><b>GroupScore" in html(
        test
    ) and "right</span></th><td><b>GroupMatch" in html(test)


def test_chance_can_be_drawn_again_in_another_shape(app):
    test = app(PAGE, lesson="chance", shape_drawn="1×4")
    fine(test.radio[0].set_value(test.radio[0].options[0]).run())
    first = text(test)
    fine(button(test, "Draw again").click().run())
    assert "25.00" in first and text(test) != first


def test_the_glossary_is_searched_and_every_metric_is_in_it(app):
    test = app(PAGE)
    assert "induced matching" in text(test) and "GroupMatch" in text(test)
    fine(test.text_input(key="term").set_value("margin").run())
    assert "**margin**" in text(test) and "**truth**" not in text(test)
    fine(test.text_input(key="term").set_value("no such word").run())
    assert "try a shorter word" in text(test)


def test_the_lesson_on_binding_shows_what_the_strategies_measured_once_it_ships(app, monkeypatch, tmp_path):
    import pandas as pd

    from core.base import paths
    from core.scorers.cola_config import STRATEGIES

    for path in paths.assets().iterdir():
        if path.name != "results":
            (tmp_path / path.name).symlink_to(path)
    (tmp_path / "results").mkdir()
    monkeypatch.setattr("core.base.paths.assets", lambda: tmp_path)

    def opened():
        test = app(PAGE, lesson="binding")
        return fine(test.radio[0].set_value(test.radio[0].options[0]).run())

    assert "no results are shipped yet" in text(opened())
    rows = [
        {"strategy": name, "fusion": "mdetr", "mix": "multi", "seed": 0, "metric": "cola_map", "part": "unseen",
         "value": 20.0 + i, "low": 15.0, "high": 30.0, "chance": 12.0, "ties": 0}
        for i, name in enumerate(("base", *STRATEGIES))
    ]  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "results/cola.csv", index=False)
    test = opened()
    assert "**MM-Adapter** has the highest mAP, 26.0 %" in text(
        test
    ) and "the unadapted model has 20.0 %" in text(test)
    assert len(test.get("plotly_chart")) == 2
