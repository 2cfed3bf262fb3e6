"""The page of the binding ladder: the shipped record, a model without two towers, a set without scenes, ways to it."""

import json
import re

import pytest
from driving import button, fine, text
from written import read_latex

from core.figures import ladder_figure
from core.ladder.ladder import RUNGS, SETS, Ladder
from core.metrics.groups import GROUP_MATCH
from ui.ladder import _command, _signs, shipped

MATCHING, LADDER = "pages/2_Matching.py", "pages/11_Ladder.py"


def test_the_verdict_comes_first_in_one_sentence_then_the_figure_then_the_words(app):
    test = app(LADDER, set="scenes/left-right", model="builtin/clip")
    elements = [*test.main]
    said = next(
        i
        for i, e in enumerate(elements)
        if "he binding is lost where picture and" in str(getattr(e, "value", ""))
    )
    more = next(
        i for i, e in enumerate(elements) if "inding is in the image tokens" in str(getattr(e, "value", ""))
    )
    assert said < [each.type for each in elements].index("plotly_chart") < more
    shown = text(test).replace("\\", "")
    assert (
        "GroupMatch falls from 92.5 to 66.7 %" in shown
        and "only loss that is shown is in the alignment" in shown
    )
    assert (
        "chance is 50.0 %" in shown
        and "by 25.9 points (95 % interval 20.1 to 31.4)" in shown
        and "-31.4" not in shown
    )
    # It stood under every rung, also under one without ties.
    assert "no ties" in shown and "stored no count of ties" not in shown
    fine(test.pills(key="rung").set_value("ttm").run())
    assert "stored no count of ties, so none is given" in text(test)
    fine(test.selectbox(key="model").set_value("builtin/blip-itm").run())
    assert "This model has no ladder" in text(test)


def test_the_signs_are_explained_below_the_figure_whose_legend_names_them_and_a_rung_opens_in_words(app):
    test = app(LADDER, set="scenes/left-right", model="builtin/clip")
    kinds = [(each.type, str(getattr(each, "value", ""))) for each in test.main]
    signs = next(i for i, (_, said) in enumerate(kinds) if "◆ GroupScore" in said)
    assert "no training picture had" in kinds[signs][1] and "before any training" in kinds[signs][1]
    assert signs == [kind for kind, _ in kinds].index("plotly_chart") + 1
    assert "**The model's own scores.**" in text(test)
    fine(test.get("button_group")[-1].set_value("image-tokens").run())
    assert "**Image tokens.** A linear probe of every image patch" in text(test)


@pytest.mark.parametrize("model", ["builtin/blip-caption", "builtin/blind-lm"])
def test_a_model_without_two_towers_gets_a_sentence_and_the_way_to_one_with_a_ladder(app, model):
    """A nearly empty figure stood there, with “Both vectors as they are” and a sign in the caption that it lacked."""
    test = app(LADDER, set="scenes/attribute-swap", model=model)
    assert "has no ladder" in text(test) and "oth vectors" not in text(test)
    assert not test.get("plotly_chart") and not test.get("button_group")
    there = fine(button(test, "Show the ladder of builtin/clip").click().run())
    assert there.selectbox(key="model").value == "builtin/clip" and there.get("plotly_chart")
    assert there.selectbox(key="set").value == "scenes/attribute-swap"


def test_the_line_of_signs_names_those_that_the_figure_has(app, monkeypatch):
    assert _signs([{"combinations": {"unseen": {}}}]).startswith("Bars and ○: GroupMatch")
    assert _signs([{"controls": {"untrained": {}}, "combinations": {"unseen": {}}}]).startswith(
        "Bars, ○ and ✕:"
    )
    assert _signs([{}]).startswith("Bars: GroupMatch")


def test_where_no_step_loses_anything_but_the_tokens_lack_it_already_that_is_said_and_a_loss_is_offered(app):
    """“No step of this model is shown to lose anything”, of image tokens with 81.7 % beside captions' 100 %."""
    test = app(LADDER, set="scenes/attribute-swap", model="builtin/clip")
    assert "finds less in the image tokens than in the caption tokens" in text(test)
    there = fine(button(test, "Show a set where a step loses much: scenes/left-right").click().run())
    assert there.selectbox(key="set").value == "scenes/left-right" and "GroupMatch falls" in text(there)
    assert not [each for each in there.button if each.label.startswith("Show a set where")]


def test_where_both_towers_begin_alike_nothing_is_missing_before_the_first_step():
    record = next(
        r
        for r in Ladder.shipped()
        if (r["benchmark"], r["model"]) == ("scenes/attribute-swap", "builtin/clip")
    )
    image = next(row for row in record["rungs"] if row["name"] == "image-tokens")
    alike = [
        {**row, GROUP_MATCH: image[GROUP_MATCH]} if row["name"] == "caption-tokens" else row
        for row in record["rungs"]
    ]
    said = Ladder.headline({**record, "rungs": alike})
    assert said.startswith("No step of this model is shown to lose anything.")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("scenes/relations-1x4", "A group of scenes/relations-1x4 has 1 picture and 4 captions."),
        ("scenes/word-order", "A group of scenes/word-order has 1 picture and 5 captions."),
        ("scenes/two-of-four", "has 2 pictures and 4 captions."),
        ("scenes/left-right~fog", "scenes/left-right~fog is made of one of them."),
        ("scenes/size-swap", "inding is "),
    ],
)
def test_a_set_without_a_ladder_says_why(app, name, said):
    """“It needs to know what every picture shows” was said of drawn scenes, of which just that is known."""
    shown = text(app(LADDER, set=name, model="builtin/clip")).replace("\\", "")
    assert said in shown and "scene graphs" not in shown


def test_a_visit_that_asks_for_nothing_shows_a_set_with_a_loss_and_says_so_as_long_as_that_holds(app):
    """“Chosen here: the binding is lost there” stayed beside a model that has no ladder."""
    test = app(LADDER)
    assert test.selectbox(key="set").value == "scenes/left-right" and "GroupMatch falls" in text(test)
    why = (
        "Chosen here: builtin/clip loses the binding there; the other pages begin with scenes/attribute-swap."
    )
    assert why in text(test)
    fine(test.selectbox(key="model").set_value("builtin/blip-itm").run())
    assert "This model has no ladder" in text(test) and "Chosen here" not in text(test)
    fine(test.selectbox(key="model").set_value("builtin/clip").run())
    assert why in text(test)
    fine(test.selectbox(key="set").set_value("scenes/size-swap").run())
    assert "Chosen here" not in text(test)


def test_matching_leads_to_the_ladder_near_its_top_and_an_old_link_still_does(app):
    test = app(MATCHING, set="scenes/size-swap")
    kinds = [(each.type, getattr(each, "label", "")) for each in test.main]
    assert kinds.index(("button", "Where is the binding lost?")) < [kind for kind, _ in kinds].index("metric")
    there = fine(button(test, "Where is the binding lost?").click().run())
    assert (
        there.title[0].value == "Ladder: where is the binding lost?"
        and there.selectbox(key="set").value == "scenes/size-swap"
    )
    old = app(MATCHING, set="scenes/size-swap", ladder="true")
    assert (
        old.title[0].value == "Ladder: where is the binding lost?"
        and old.selectbox(key="set").value == "scenes/size-swap"
    )


def test_the_shipped_ladders_are_of_the_shipped_models():
    found = Ladder.shipped()
    assert {record["benchmark"] for record in found} <= set(SETS)
    assert len({(record["benchmark"], record["model"]) for record in found}) == len(found) >= 21
    for record in found:
        assert Ladder.stored(record["benchmark"], record["model"]) == record
        assert Ladder.headline(record).endswith(".")


def test_every_difference_is_that_of_the_unrounded_ends():
    """The headline said 92.5 to 66.7, by 25.8, where 92.533 less 66.667 is 25.87."""
    said = r"falls from ([\d.]+) to ([\d.]+) %, by ([\d.]+) points"
    for record in Ladder.shipped():
        exact = {row["name"]: row[GROUP_MATCH]["value"] for row in record["rungs"] if GROUP_MATCH in row}
        falls = [exact[step["before"]] - exact[step["after"]] for step in record["steps"]]
        for _, _, by in re.findall(said, Ladder.headline(record)):
            assert by in {f"{round(fall, 4):.1f}" for fall in falls}
        for step, fall in zip(record["steps"], falls, strict=True):
            assert Ladder.points(record, step) == pytest.approx(-fall, abs=0.0501)
            if step["where"] in " ".join(record["verdict"]):
                assert f"{Ladder.points(record, step):+.1f} points of GroupMatch" in " ".join(
                    record["verdict"]
                )


def test_the_table_is_exported_as_numbers_alone(app, monkeypatch):
    given = {}
    monkeypatch.setattr(
        "ui.ladder.export_section", lambda name, table, *args, **more: given.update({name: table()})
    )
    app(LADDER, set="scenes/left-right", model="builtin/clip")
    table, record = given["ladder"], Ladder.shipped()
    own = next(r for r in record if (r["benchmark"], r["model"]) == ("scenes/left-right", "builtin/clip"))
    first = next(row for row in own["rungs"] if GROUP_MATCH in row)
    row = table.set_index("rung").loc[first["label"]]
    found = first[GROUP_MATCH]
    read = [row[f"group_match{of}"] for of in ("", "_low", "_high", "_chance", "_ties")]
    assert read == [found[of] for of in ("value", "low", "high", "chance", "ties")]
    assert {str(kind) for kind in table.drop(columns="rung").dtypes} <= {"Float64", "Int64", "object"}
    assert not table.drop(columns="rung").map(lambda cell: isinstance(cell, str)).any().any()


def test_every_rung_is_read_on_a_phone_and_minus_signs_and_p_have_one_form(app):
    """A column “rung” took most of a phone, GroupScore was cut on a laptop; “-25.9” stood beside “−25.9”."""
    test = app(LADDER, set="scenes/left-right", model="builtin/clip")
    tables = [each.proto.body for each in test.get("html") if 'aria-label="Every ' in each.proto.body]
    rungs, steps = tables
    assert not test.dataframe and all("scroll it sideways" in table for table in tables)
    first = rungs.partition('<th scope="row">Image tokens</th>')[2]
    assert first.startswith("<td><div>95.9 %<small>93.8–97.5</small>")  # value and interval beside the rung
    assert '<th scope="row">chance</th><td><div>50.0</div></td><td><div>16.7</div></td>' in rungs
    assert "−25.9<small>−31.4 to −20.1</small>" in steps and "&lt; 0.001" in steps
    shown = text(test) + rungs + steps
    assert not re.search(r"(?<![\w–-])-\d", re.sub(r"<[^>]*>", " ", shown)) and "p < 0.001" in unbroken_back(
        shown
    )


def unbroken_back(shown):
    return shown.replace("\\", "").replace("\N{NO-BREAK SPACE}", " ").replace("\N{WORD JOINER}", "")


def test_a_ladder_is_exported_in_latex_with_its_command(app, monkeypatch):
    given = {}
    monkeypatch.setattr("ui.ladder.export_section", lambda *args, **more: given.update(more))
    app(LADDER, set="scenes/left-right", model="builtin/siglip")
    assert given["command"] == "crossmatch ladder scenes/left-right --model builtin/siglip"
    rungs, steps = given["latex"]().split("\n\n")
    head, *rows = read_latex(rungs)
    assert head[:3] == ["rung", "GroupMatch", "GroupScore"]
    assert rows[-1][:3] == ["chance", "50.0", "16.7"]
    assert re.fullmatch(r"94\.4 \{\\scriptsize \[\d+\.\d, \d+\.\d\]\}", rows[0][1])
    record = next(
        r for r in Ladder.shipped() if (r["benchmark"], r["model"]) == ("scenes/left-right", "builtin/siglip")
    )
    assert len(read_latex(steps)) == 1 + len(record["steps"]) + 1
    assert _command({**record, "runs": 2, "seed": 3}).endswith("builtin/siglip --runs 2 --seed 3")


def test_two_kinds_of_marks_wait_until_they_are_asked_for(app):
    """Three marks below each bar, six kinds in one figure, were a lot at once; what is taken away has all of them. The
    legend, which shows them, too, has rows that are too low for a finger."""
    test = app(LADDER, set="scenes/left-right", model="builtin/clip")
    traces = json.loads(test.get("plotly_chart")[0].proto.spec)["data"]
    waiting = [trace["name"] for trace in traces if trace.get("visible") == "legendonly"]
    assert waiting == ["GroupScore, stricter", "GroupMatch, unseen combinations"]
    toggle = test.toggle(key="ladder-signs")
    assert toggle.label == "Show “GroupScore, stricter” and “GroupMatch, unseen combinations”, too"
    fine(toggle.set_value(True).run())
    traces = json.loads(test.get("plotly_chart")[0].proto.spec)["data"]
    assert not [trace["name"] for trace in traces if trace.get("visible") == "legendonly"]
    record = shipped()["scenes/left-right", "builtin/clip"]
    assert not any(trace.visible == "legendonly" for trace in ladder_figure(record).data)


def test_the_address_keeps_the_set_that_is_the_usual_one_elsewhere_and_names_an_unknown_rung(app):
    """attribute-swap left the address bare, and a reload opened left-right: another figure, another conclusion."""
    test = app(LADDER)
    assert test.selectbox(key="set").value == "scenes/left-right"
    fine(test.selectbox(key="set").set_value("scenes/attribute-swap").run())
    address = dict(test.query_params)
    again = app(LADDER, **address)
    assert address and again.selectbox(key="set").value == "scenes/attribute-swap"
    opened = app(LADDER, set="scenes/attribute-swap")
    assert app(LADDER, **dict(opened.query_params)).selectbox(key="set").value == "scenes/attribute-swap"
    assert "foo" in " ".join(each.value for each in app(LADDER, rung="foo").warning)
    again = app(LADDER, set="scenes/left-right", rung="Pooled caption vector")  # as the page writes it
    assert again.pills(key="rung").value == "caption-pooled" and not again.warning


def test_the_first_lines_say_what_a_rung_is_and_whose_result_follows(app):
    """A stranger read “rung” and “binding” without either being said."""
    said = text(app(LADDER, set="scenes/size-swap", model="builtin/siglip")).replace("\\", "")
    assert "Every bar is a **rung**" in said and "**binding**: which property belongs to which object" in said
    assert (
        "**builtin/siglip on scenes/size-swap: most of the binding is lost where the caption becomes" in said
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_every_address_of_a_ladder_opens_its_set_its_model_and_its_rung(app, name):
    """Each rung of each shipped ladder is chosen by hand, and by its address (as `test_browser.py` finds it there)."""
    for record in (each for each in Ladder.shipped() if each["benchmark"] == name):
        chosen = app(LADDER, set=name, model=record["model"])
        rungs = [row["name"] for row in record["rungs"] if "missing" not in row] if record["steps"] else []
        for rung in rungs:
            fine(chosen.pills(key="rung").set_value(rung).run())
            opened = app(LADDER, set=name, model=record["model"], rung=RUNGS[rung].label)
            read = [opened.selectbox(key=key).value for key in ("set", "model")]
            assert [*read, opened.pills(key="rung").value] == [name, record["model"], rung]
            assert not opened.warning and text(opened) == text(chosen)
        if not rungs:  # nor a choice of them
            opened = app(LADDER, set=name, model=record["model"], rung="Image tokens")
            assert "has no ladder" in text(opened) and text(opened) == text(chosen)
