"""The page that lays two models over each other, driven from app.py."""

from driving import button, fine, html, text

COMPARE = "pages/6_Compare.py"
SET = "scenes/left-right"


def test_two_models_are_compared_with_paired_intervals(app):
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip")
    assert test.title[0].value == "Compare"
    table = test.dataframe[0].value
    assert list(table["metric"])[:2] and {"A", "B", "chance", "B − A", "B − A: 95 %", "McNemar p"} <= set(
        table
    )
    match = table.set_index("metric").loc["GroupMatch"]
    assert abs(match["B"] - match["A"] - match["B − A"]) < 1e-9


def test_the_groups_that_only_one_of_them_has_right_open_under_both(app):
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip")
    assert "largest margin first" in text(test)
    first = next(b for b in test.button if b.label.startswith("Compare "))
    fine(first.click().run())
    assert html(test).count("cm-verdicts") == 2
    fine(button(test, "Close").click().run())
    assert html(test).count("cm-verdicts") == 0


def test_a_model_beside_itself_says_so_and_differs_nowhere(app):
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/clip")
    assert "same model" in text(test) and "No group falls into this class" in text(test)
    assert (test.dataframe[0].value["B − A"] == 0).all()


def test_a_link_holds_models_side_and_group(app):
    group = "left-right/test/0003"
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip", side="both right", group=group)
    assert html(test).count("cm-verdicts") == 2
    assert next(c for c in test.selectbox if c.key == "other").value == "builtin/siglip"


def test_an_unknown_model_is_one_sentence(open_page):
    test = open_page(COMPARE, set=SET, model="builtin/clip", other="builtin/clop")
    assert not test.exception and "did you mean" in test.error[0].value
