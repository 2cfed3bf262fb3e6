"""Every page, driven from app.py without a browser: visible content, interactions, no exception and no error box."""

import ast
import io
import json
import re
import runpy
import shlex
import subprocess
from base64 import b64decode
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import streamlit
from driving import button, fine, html, text
from scipy.stats import binomtest
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from streamlit.testing.v1 import AppTest
from typer.testing import CliRunner

import ui
from core import datasets, figures
from core.base.text import _pct
from core.cli import app as commands
from core.datasets import load
from core.datasets.score_files import ScoreFile
from core.exchange.uploads import UploadStore
from core.figures import group_html
from core.figures.group_slide import group_svg
from core.metrics import group_filters
from core.metrics.evaluation import Evaluation
from core.metrics.groups import METRICS
from ui import export, selection
from ui.group_table import group_table, table_of
from ui.images import shades_key
from ui.tag_meanings import tag_meanings

ROOT = Path(__file__).resolve().parent.parent
GROUPS, MATCHING = "pages/1_Groups.py", "pages/2_Matching.py"


# --- home --------------------------------------------------------------------------------------------------------


def test_home_says_what_it_is_and_shows_one_group_with_two_verdicts(app):
    test = app()
    assert test.title[0].value == "Which caption belongs to which image?"
    assert "Where to go from here" in text(test)
    assert "cm-match" in html(test) and "GroupScore" in html(test)
    assert len(test.get("plotly_chart")) == 1
    assert "relations-1x4 have one image each; there both metrics are the same" in text(test).replace(
        "\\", ""
    )


def test_a_link_to_a_page_of_the_gallery_shows_its_groups(app):
    first, third = html(app("pages/1_Groups.py")), html(app("pages/1_Groups.py", page="3"))
    assert "attribute-swap/test/0000" in first and "attribute-swap/test/0024" not in first
    assert "attribute-swap/test/0024" in third and "attribute-swap/test/0000" not in third


def test_cards_say_above_them_what_stands_behind_a_caption_and_what_the_model_matched(app):
    """The letter was explained at a question mark alone, and what the model chose was nowhere."""
    test = app(GROUPS, set="scenes/left-right")
    key = next(part for part in html(test).split("\n") if "cm-behind" in part)
    wide, narrow = (
        " ".join(re.sub("<[^>]*>", "", each).split()) for each in key.split('<span class="cm-narrow">')
    )
    assert wide == (
        "Behind a caption: A it belongs to image A · ✓ the model matches it so · ✗ A the model matches it with image A"
    )
    assert narrow == "A true · ✗ B: model says B"  # of a phone
    assert "letter behind" not in " ".join(each.proto.help for each in test.caption)
    evaluation = ui.evaluate(selection.whole_test_set("scenes/left-right", "builtin/clip"))
    cards = html(test).split('class="cm-card"')[1:]
    assert len(cards) == 12
    for card, matching, truth in zip(cards, evaluation.matches.matching, evaluation.truth, strict=False):
        matched = re.findall(r"<li>.*?matches it with image (.), (right|wrong)", card)
        image_of = {int(caption): "AB"[image] for image, caption in enumerate(matching)}
        assert [letter for letter, _ in matched] == [image_of[0], image_of[1]]
        assert {kind for _, kind in matched} == {"right" if (matching == truth).all() else "wrong"}
    test.session_state["predict"] = True  # then a student would read the answer
    assert "the model matches it" not in html(fine(test.run()))
    assert "cm-behind" not in html(app(GROUPS, set="scenes/left-right", layout="Table"))


def test_a_tie_on_a_card_is_explained_and_its_sign_reads_as_no_equation(app):
    """“✗ GroupScore = GroupMatch” read as one."""
    tied = html(app(GROUPS, set="scenes/left-right", model="builtin/blind-lm"))
    assert tied.count(" tie, counts as wrong") == 2  # wide and narrow
    cards = [" ".join(re.sub("<[^>]*>", "", each).split()) for each in tied.split('class="cm-card"')[1:]]
    assert any(
        "GroupScore · = GroupMatch" in card for card in cards
    ) and "GroupScore = GroupMatch" not in str(cards)
    assert "counts as wrong" not in html(
        app(GROUPS, set="scenes/left-right", q="red cube", verdict="GroupMatch right")
    )


def test_reset_takes_the_tags_out_of_the_address_too_and_says_nothing(app):
    """The first set was asked for the tag of the set before: “Unknown tag 'relation: left of'”."""
    test = app(GROUPS, set="scenes/left-right", tag="relation: left of")
    assert test.multiselect(key="tag").value == ["relation: left of"]
    fine(button(test, "Reset selection").click().run())
    assert not test.warning and "tag" not in test.query_params and not test.multiselect(key="tag").value
    assert test.selectbox(key="set").value == "scenes/attribute-swap"


def test_the_line_of_the_selection_has_a_tag_as_an_opened_group_has_it(app):
    """`held out: none` in the group, `held_out: none` above it."""
    assert "only held out: none" in text(app(GROUPS, set="scenes/left-right", tag="held_out: none")).replace(
        "\\", ""
    )


def test_the_table_of_groups_says_what_a_cross_before_a_margin_is(app):
    said = text(app(GROUPS, set="scenes/left-right", layout="Table"))
    assert "✗ wrong, before a margin: of a wrong matching, = missed by a tie alone" in said


def test_the_name_is_drawn_in_the_logo_and_fits_whatever_fonts_a_machine_has():
    """An image has the fonts of the machine alone: as text the name was cut off, or of a typeface not the headings'."""
    logo = ElementTree.parse(ROOT / ".streamlit/logo.svg").getroot()
    tags = [each.tag.rpartition("}")[2] for each in logo.iter()]
    assert "text" not in tags and logo.find("{*}title").text == "Crossmatch"
    outlines = [each.get("d") for each in logo.findall("{*}path")][-1]
    assert re.fullmatch(r"[MLHVCQZ0-9., -]+", outlines)  # absolute
    ends = [float(x) for x in re.findall(r"[MLQC]([0-9.]+)", outlines)]
    assert min(ends) > 40 and 150 < max(ends) <= float(logo.get("width"))


def test_home_without_a_model_says_what_to_do(app, fresh_pages, monkeypatch):
    monkeypatch.setattr("core.scoring.load.builtin_models", dict)
    assert "crossmatch pretrain" in text(app())


def test_the_first_click_leads_to_a_group_that_is_matched_right_and_scored_wrong(app):
    test = app()
    assert "caption 1 scores 5.488 with image B, and 4.884 with its own, image A" in html(test)
    assert "4.884 + 7.062 = 11.946 &gt; 2.096 + 5.488 = 7.584" in html(test).replace("\u00a0", " ")
    state = button(test, "Open this group").click().run().session_state
    group, name = state["group"], state["set"]
    shown = app(GROUPS, set=name, group=group)
    assert group.replace("/", "") in text(shown).replace("\\", "").replace("/", "")
    rows = html(shown)
    assert "right</span></th><td><b>GroupMatch" in rows and "wrong</span></th><td><b>GroupScore" in rows


# --- groups ------------------------------------------------------------------------------------------------------


def test_the_gallery_filters_by_words_and_verdict_and_sorts(app):
    test = app(GROUPS, set="scenes/left-right")
    assert "300 of 300 groups" in text(test)
    assert not test.multiselect(key="verdict").proto.select_all  # verdicts exclude each other
    fine(test.text_input(key="q").set_value("red cube").run())
    assert "“red cube”" in text(test).replace("\\", "")
    few = next(c.value for c in test.caption if "of 300 groups" in c.value)
    assert 0 < int(few.split()[0]) < 300
    fine(test.multiselect(key="verdict").set_value(["GroupMatch right", "GroupScore wrong"]).run())
    fine(test.selectbox(key="sort").set_value("margin, largest first").run())
    notes = [c.value.replace("\\", "") for c in test.caption if c.value.startswith("margin ")]
    margins = [float(note.split()[1].rstrip(";")) for note in notes]
    assert margins == sorted(margins, reverse=True) and margins
    shares = [float(note.split("; ")[1].split()[0]) for note in notes]
    assert shares == sorted(shares, reverse=True) and 0 <= shares[-1] <= shares[0] <= 100
    assert "Half of these groups have one between" in str([c.help for c in test.caption])


def test_a_margin_is_said_with_the_share_of_groups_below_it_but_not_before_a_prediction(app):
    found = ui.evaluate(ui.whole_test_set("scenes/left-right", "builtin/clip"))
    margins = found.matches.margin
    share = 100 * np.mean(margins < margins[3])
    digits = max(3, found.group(3).digits)  # as the totals beside it
    line = f"margin {margins[3]:.{digits}f}; {share:.0f} % of the groups have a smaller one"
    where = {"set": "scenes/left-right", "group": "left-right/test/0003"}
    assert line in text(app(GROUPS, **where)).replace("\\", "")
    assert "have a smaller one" not in text(app(GROUPS, **where, predict="true"))


def test_the_gallery_keeps_in_its_address_that_a_student_predicts_and_has_the_switch(app):
    """Its address lost it: a reload showed every verdict."""
    for more in ({}, {"layout": "Table"}):
        where = {"set": "scenes/left-right", "group": "left-right/test/0003", "predict": "true"}
        test = app(GROUPS, **where, **more)
        fine(test.button(key="to-gallery").click().run())
        assert test.toggle(key="predict").value and test.query_params["predict"] == "true"
        assert "GroupMatch" not in html(test)


def test_before_a_prediction_neither_the_group_nor_the_table_has_tags_which_say_what_the_true_caption_says(
    app,
):
    """“relation: left of” stood beside four captions of which one says left of."""
    name = "relations-1x4/test/0000"
    where = {"set": "scenes/relations-1x4", "predict": "true"}
    test = app(GROUPS, **where, group=name)
    assert "relation: " not in text(test)
    test.segmented_control(key=f"guess-{name}-0").set_value("1")
    fine(test.run())
    fine(button(test, "Reveal").click().run())
    assert "relation: left of" in text(test).replace("\\", "")
    config = json.loads(app(GROUPS, **where, layout="Table").dataframe[0].proto.columns)
    assert {key for key, each in config.items() if each and each.get("hidden")} >= {
        "margin",
        "kind",
        "relation",
    }


def test_a_filter_that_leaves_nothing_says_so(app):
    test = app(GROUPS, set="scenes/left-right", q="no such words anywhere")
    assert "No group passes these filters" in text(test)
    (clear,) = (each for each in test.button if each.label == "Clear filters")  # once, below that sentence
    assert "300 of 300 groups" in text(fine(clear.click().run()))


@pytest.mark.parametrize(
    "name", ["left-right", "relations-1x4", "triples", "two-of-four", "word-order", "replace"]
)
def test_one_group_of_every_shape_in_detail(app, name):
    test = app(GROUPS, set=f"scenes/{name}", group=f"{name}/test/0003")
    shown = html(test)
    for metric in METRICS.values():
        assert (metric.label in shown) == metric.applies(*load(f"scenes/{name}", "test").shape)
    fine(test.selectbox(key="pair").set_value("A–2").run())
    assert "Image A with caption 2" in text(test)
    before = test.session_state["group"]
    fine(button(test, "Next").click().run())
    assert test.session_state["group"] != before


def test_the_details_of_a_pair_say_how_far_it_is_from_the_best_of_its_row_and_its_column(app):
    """By hand, on scores that are drawn; it was announced as an explanation."""
    test = app(GROUPS, set="scenes/triples", group="triples/test/0003")
    field = test.selectbox(key="pair")
    assert (field.label, field.placeholder) == ("Details of a pair", "details of a pair")
    assert "explain" not in text(test).lower()
    data = ui.evaluate(ui.whole_test_set("scenes/triples", "builtin/clip")).group(3)
    shown = data.scores.round(data.digits)
    for i, j in ((0, 0), (0, 1), (2, 1)):
        said = text(fine(test.selectbox(key="pair").set_value(f"{'ABC'[i]}–{j + 1}").run()))
        for line, index in ((shown[i], j), (shown[:, j], i)):
            distance = line[index] - np.delete(line, index).max()
            way = "above" if distance > 0 else "below"
            assert f"**{abs(distance):.{data.digits}f} {way} " in said


def test_the_cell_whose_details_are_shown_has_a_ring_and_they_stand_directly_below(app):
    """A pressed cell looked like the others, and on a phone what it opened stood below the screen."""

    def ringed(test) -> list[str]:
        cells = convert_arrow_bytes_to_pandas_df(test.get("vega_lite_chart")[0].proto.data.data)
        return [f"{cell.image}–{cell.caption}" for cell in cells.itertuples() if cell.ring != "transparent"]

    test = app(GROUPS, set="scenes/left-right", group="left-right/test/0003")
    assert ringed(test) == []
    assert ringed(fine(test.selectbox(key="pair").set_value("B–1").run())) == ["B–1"]
    opened = app(GROUPS, set="scenes/left-right", group="left-right/test/0003", pair="A–2")
    assert ringed(opened) == ["A–2"]
    drawn = [str(getattr(element, "value", "")) for element in opened.main]
    of_the_pair, how_to = (
        next(at for at, said in enumerate(drawn) if words in said)
        for words in ("Image A with caption 2", "Press a cell")
    )
    assert of_the_pair < how_to
    fine(button(opened, "Next").click().run())
    assert ringed(opened) == []  # another group's cell was marked, and stood in its address
    lost = app(GROUPS, set="scenes/left-right", group="left-right/test/0003", pair="C–2")
    assert ringed(fine(lost)) == []


@pytest.mark.parametrize(
    ("scores", "index", "said"),
    [
        ([3.0, 1.0, 2.5], 0, "**0.50 above caption 3**, the next best caption of image A,"),
        ([3.0, 1.0, 2.5], 1, "**2.00 below caption 1**, the best caption of image A,"),
        ([3.0, 3.0, 2.5], 0, "**the same as caption 2**, the best other caption of image A,"),
        ([3.0, 3.0, 2.5], 2, "**0.50 below caption 1 and caption 2**, the best caption of image A,"),
        ([3.0], 0, ""),  # a caption of the only image of a group has no other image
    ],
)
def test_the_distance_of_a_score_from_the_best_of_the_others(scores, index, said):
    distance = runpy.run_path(str(ROOT / GROUPS), run_name="groups")["_distance"]
    names = [f"caption {c + 1}" for c in range(len(scores))]
    assert distance(np.array(scores), index, 2, names, "caption of image A") == said


def test_predict_first_hides_the_matching_until_it_is_revealed(app):
    name = "left-right/test/0003"
    test = app(GROUPS, set="scenes/left-right", group=name, predict="true")
    assert "hidden until you reveal" in html(test) and "cm-verdicts" not in html(test)
    assert button(test, "Reveal").disabled
    for i, choice in enumerate("21"):
        test.segmented_control(key=f"guess-{name}-{i}").set_value(choice)
    fine(test.run())
    fine(button(test, "Reveal").click().run())
    assert "cm-verdicts" in html(test) and "**You:**" in text(test)
    line = next(m.value for m in test.markdown if m.value.startswith("**You:**"))
    assert re.fullmatch(
        r"\*\*You:\*\* . (right|wrong) \(the wide pink lines\) · \*\*The model:\*\* . \w+", line
    )
    assert "over the groups that you revealed" not in line  # one group is no score
    drawn = [str(getattr(each, "value", "")) for each in test.main]
    answer, reveals = (
        next(i for i, said in enumerate(drawn) if part in said) for part in ("**You:**", "Scores: ")
    )
    assert answer < reveals  # where Reveal was, above the pictures and the matrix


def test_after_reveal_the_main_verdicts_and_the_margin_are_there_as_without_predicting(app):
    """They did not come back: with the switch off they were shown."""
    name = "left-right/test/0001"
    where = {"set": "scenes/left-right", "verdict": "GroupMatch wrong", "group": name}
    plain, test = app(GROUPS, **where), app(GROUPS, **where, predict="true")
    assert "cm-marks" not in html(test) and "have a smaller one" not in text(test)
    assert "filtered by verdict, which says how the model did here" in text(test)
    assert "filtered by verdict, which" not in text(plain)
    for i, choice in enumerate("12"):
        test.segmented_control(key=f"guess-{name}-{i}").set_value(choice)
    fine(test.run())
    fine(button(test, "Reveal").click().run())
    assert "filtered by verdict, which" not in text(test)
    for said, part in ((html, "cm-marks"), (text, "have a smaller one")):
        (shown,) = [line for line in said(test).split("\n") if part in line]
        assert shown in said(plain)


def test_a_prediction_in_a_gallery_that_is_filtered_by_words_alone_gives_nothing_away(app):
    where = {"set": "scenes/left-right", "q": "cube", "predict": "true"}
    test = app(GROUPS, **where)
    fine(next(each for each in test.main.button if each.key and each.key.startswith("open-")).click().run())
    assert "Which caption belongs" in text(test) and "filtered by verdict, which" not in text(test)


def test_you_and_the_model_are_counted_over_the_groups_that_were_revealed(app):
    """The model's ✗ stood under the captions alone, and nothing was counted."""
    test, right, models = app(GROUPS, set="scenes/left-right", predict="true"), 0, 0
    for number, choices in (("0003", "12"), ("0004", "21")):
        name = f"left-right/test/{number}"
        test.session_state["group"] = name
        fine(test.run())
        for i, choice in enumerate(choices):
            test.segmented_control(key=f"guess-{name}-{i}").set_value(choice)
        fine(test.run())
        fine(button(test, "Reveal").click().run())
        line = next(m.value for m in test.markdown if m.value.startswith("**You:**"))
        right += line.startswith("**You:** ✓")
        models += "**The model:** ✓" in line
    assert line.endswith(f"You {right} of 2, the model {models} of 2, over the groups that you revealed.")


def test_the_question_stands_above_the_choices_and_in_a_2x2_group_the_other_choice_follows(app):
    """It stood below the pictures on a phone; the same caption for both images left "Reveal" grey without a word."""
    name = "left-right/test/0003"
    test = app(GROUPS, set="scenes/left-right", group=name, predict="true")
    drawn = [str(getattr(each, "value", "") or getattr(each, "label", "")) for each in test.main]
    places = [
        next(i for i, said in enumerate(drawn) if part in said)
        for part in ("Which caption belongs to which image?", "Image A belongs to caption", "cm-match")
    ]
    assert places == sorted(places) and "and the other follows" in text(test) and not test.info
    for image, value, other in ((0, "2", "1"), (1, "2", "1"), (0, "2", "1")):
        fine(test.segmented_control(key=f"guess-{name}-{image}").set_value(value).run())
        assert test.segmented_control(key=f"guess-{name}-{1 - image}").value == other
        assert not button(test, "Reveal").disabled
    fine(button(test, "Reveal").click().run())
    assert "Which caption belongs" not in text(test)


def test_a_caption_chosen_for_two_images_is_named_where_the_question_stands(app):
    name = load("scenes/triples", "test").ids[0]
    test = app(GROUPS, set="scenes/triples", group=name, predict="true")
    for i, value in enumerate("221"):
        test.segmented_control(key=f"guess-{name}-{i}").set_value(value)
    fine(test.run())
    assert button(test, "Reveal").disabled and "you chose caption 2 more than once" in text(test)
    fine(test.segmented_control(key=f"guess-{name}-0").set_value("3").run())
    assert not button(test, "Reveal").disabled and "more than once" not in text(test)


def test_the_filters_button_counts_the_conditions_that_are_named_beside_it(app, monkeypatch):
    """Two words and a verdict were "Filters (2)", and of a link none at all."""
    labels, popover = [], streamlit.popover
    monkeypatch.setattr(
        "streamlit.popover", lambda label, **more: labels.append(label) or popover(label, **more)
    )
    test = app(GROUPS, set="scenes/left-right", q="left cube", verdict="GroupMatch right")
    assert "“left” · “cube” · GroupMatch right" in text(test).replace("\\", "")
    assert "Filters (3)" in labels


FILTERED = {
    "set": "scenes/left-right", "q": "left", "verdict": ["GroupMatch right", "GroupScore wrong"],
    "sort": "margin, largest first", "page": "2",
}  # fmt: skip


def test_an_opened_group_leaves_the_filters_of_the_gallery_in_the_address(app):
    """They left it with the gallery: a reload and “Gallery” showed all 300 groups."""
    line = lambda test: [c.value for c in test.caption if "of 300 groups" in c.value][-1]  # noqa: E731
    address = lambda test: {key: test.query_params[key] for key in FILTERED if key in test.query_params}  # noqa: E731
    test = app(GROUPS, **FILTERED)
    filtered, before = line(test), address(test)
    assert not filtered.startswith("300 ") and len(before["verdict"]) == 2
    fine(next(b for b in test.button if (b.key or "").startswith("open-")).click().run())
    assert test.query_params["group"] and address(test) == before
    assert address(fine(button(test, "Next").click().run())) == before  # on the runs after the first one, too
    reloaded = app(GROUPS, **dict(test.query_params))
    assert address(reloaded) == before
    fine(reloaded.button(key="to-gallery").click().run())
    assert line(reloaded) == filtered and reloaded.session_state["page"] == 2
    assert reloaded.selectbox(key="sort").value == "margin, largest first"
    fine(next(b for b in reloaded.button if b.label == "Clear filters").click().run())
    fine(next(b for b in reloaded.button if (b.key or "").startswith("open-")).click().run())
    assert {*address(reloaded)} == {"set", "sort"}  # what was taken out stays out
    assert line(fine(reloaded.button(key="to-gallery").click().run())).startswith("300 of 300")


@pytest.mark.parametrize(
    ("key", "value"),
    [("q", "left"), ("verdict", ["GroupScore wrong"]), ("margin", "0..100"), ("sort", "margin, largest first"),
     ("set", "scenes/attribute-swap")],
)  # fmt: skip
def test_what_changes_the_groups_of_the_gallery_leads_to_its_first_page(app, key, value):
    """Sorted by the largest margin on page 2, the first card was number 13."""
    opened = lambda test: [b.key for b in test.button if (b.key or "").startswith("open-")]  # noqa: E731
    test = app(GROUPS, set="scenes/left-right", page="2")
    kept = opened(test)
    assert test.session_state["page"] == 2 and kept != opened(app(GROUPS, set="scenes/left-right"))
    assert opened(fine(test.run())) == kept
    fields = [each for kind in ("text_input", "multiselect", "selectbox") for each in test.get(kind)]
    fine(next(each for each in fields if each.key == key).set_value(value).run())
    asked = {"set": "scenes/left-right", key: value}
    assert test.session_state["page"] == 1 and opened(test) == opened(app(GROUPS, **asked))
    assert opened(app(GROUPS, **asked, page="2")) != opened(test)  # a link's is kept


@pytest.mark.parametrize("more", [{}, {"sort": "margin, largest first", "compact": "true", "page": "2"}])
def test_a_group_opened_by_a_link_keeps_the_filters_of_its_gallery_over_a_visit_to_home(app, more):
    """“Gallery (1 of 10)” had become “Gallery (8 of 300)”."""
    said = {"q": "red cube", "verdict": "ImageScore wrong", **more}
    test = app(GROUPS, **said, group="attribute-swap/test/0007")
    before = test.button(key="to-gallery").label
    assert before.endswith(" of 10)")
    for key in [*test.query_params]:  # the menu's link to Home has none
        del test.query_params[key]
    fine(test.switch_page("app.py").run())
    fine(test.switch_page(GROUPS).run())
    assert test.button(key="to-gallery").label == before
    assert {key: "".join(test.query_params[key]) for key in said} == said
    fine(test.button(key="to-gallery").click().run())
    assert any(c.value.startswith("10 of 300 groups") for c in test.caption)


@pytest.mark.parametrize(("asked", "counted"), [(["foo"], ""), (["foo", "tied"], " (1)")])
def test_an_unknown_verdict_or_order_in_the_address_is_said_and_not_counted(app, monkeypatch, asked, counted):
    """`verdict=foo` was dropped without a word, and counted by the button."""
    labels, popover = [], streamlit.popover
    monkeypatch.setattr(
        "streamlit.popover", lambda label, **more: labels.append(label) or popover(label, **more)
    )
    test = app(GROUPS, set="scenes/left-right", verdict=asked, sort="bar")
    said = [w.value.replace("\\", "") for w in test.warning]
    assert (
        sum("verdict 'foo'" in each for each in said) == 1
        and sum("order 'bar'" in each for each in said) == 1
    )
    assert len(said) == 2 and f"Filters{counted}" in labels


def test_an_opened_group_has_its_main_verdicts_above_its_matrix_as_its_card_has_and_not_for_a_student(app):
    """They stood below the pictures alone, off the first screen."""
    asked = {"set": "scenes/attribute-swap", "group": "attribute-swap/test/0151"}
    marks = [part for part in html(app(GROUPS, **asked)).split("\n") if "cm-marks" in part]
    (shown,) = marks
    assert re.findall(r">(. \w+)</span>", shown) == ["✗ GroupScore", "✗ GroupMatch"]
    assert "cm-marks" not in html(app(GROUPS, **asked, predict="true"))


def test_the_line_of_the_count_names_an_order_that_is_not_that_of_the_set(app):
    """No text of the page said it."""
    line = lambda test: [c.value for c in test.caption if " of 300 groups" in c.value][-1].replace("\\", "")  # noqa: E731
    assert line(app(GROUPS, set="scenes/left-right")) == "300 of 300 groups"
    test = app(GROUPS, set="scenes/left-right", sort="margin, smallest first")
    assert line(test) == "300 of 300 groups · sorted by margin, smallest first"
    assert "Clear filters" not in [b.label for b in test.button]  # an order is no filter


def test_surprise_me_opens_a_group_of_its_kind(app):
    test = app(GROUPS, set="scenes/left-right")
    label = next(b.label for b in test.button if b.label.startswith("GroupMatch right, GroupScore wrong"))
    fine(button(test, label).click().run())
    rows = html(test)
    assert "right</span></th><td><b>GroupMatch" in rows and "wrong</span></th><td><b>GroupScore" in rows


def test_surprise_me_opens_a_group_that_passes_the_filters_and_one_that_is_matched_wrong(app):
    """A lecturer who had filtered the failing groups was offered none of them."""
    test = app(GROUPS, set="scenes/left-right", verdict="GroupMatch wrong")
    labels = [b.label for b in test.button]
    count = next(c.value for c in test.caption if " of 300 groups" in c.value).split()[0]
    assert f"passes the filters ({count})" in labels and f"GroupMatch wrong ({count})" in labels
    fine(button(test, f"passes the filters ({count})").click().run())
    assert "wrong</span></th><td><b>GroupMatch" in html(test)
    assert not any(b.label.startswith("passes") for b in app(GROUPS, set="scenes/left-right").button)


def test_surprise_me_offers_a_student_any_group_as_a_kind_says_how_the_model_did(app):
    kinds = ("near tie", "GroupMatch", "any group", "passes", "tie")
    for where in ({}, {"group": "left-right/test/0003"}):
        test = app(GROUPS, set="scenes/left-right", verdict="GroupMatch wrong", predict="true", **where)
        assert [b.label for b in test.button if b.label.startswith(kinds)] == ["any group (300)"]
        assert "Near tie: " not in text(test)
    assert "Near tie: one of the tenth with the smallest margins" in text(
        app(GROUPS, set="scenes/left-right")
    )


def test_tags_narrow_every_page_and_an_unknown_name_in_a_link_is_ignored(app):
    test = app(GROUPS, set="scenes/left-right", tag="relation: left of", group="nowhere")
    assert "only relation: left of" in text(test).replace("\\", "")
    assert "300 groups" not in text(test).replace("\\", "").split("only")[0]
    fine(test.switch_page(MATCHING).run())


def test_surprises_include_what_a_blind_model_solves_and_what_alpha_flips(app):
    test = app(GROUPS, set="scenes/word-order", model="builtin/clip")
    assert any(b.label.startswith("solved by a text-only model (3") for b in test.button)
    test = app(GROUPS, set="scenes/attribute-swap", model="builtin/blip-caption")
    flipped = next(b for b in test.button if b.label.startswith("flipped by α"))
    assert not flipped.disabled
    fine(flipped.click().run())
    assert "cm-verdicts" in html(test)


def test_a_pinned_model_is_compared_on_the_same_group(app):
    test = app(GROUPS, set="scenes/left-right", group="left-right/test/0003", model="builtin/siglip")
    fine(button(test, "Compare with builtin/clip").click().run())
    assert test.title[0].value == "Compare" and test.session_state["other"] == "builtin/clip"
    assert test.session_state["group"] == "left-right/test/0003"


# --- matching ----------------------------------------------------------------------------------------------------


def test_matching_shows_every_metric_with_interval_chance_and_ties(app):
    test = app(MATCHING, set="scenes/left-right")
    assert {m.label for m in test.metric} == {m.label for m in METRICS.values()}
    cards = [c.value for c in test.caption if "chance" in c.value and c.value.startswith("95 %")]
    assert len(cards) >= len(METRICS) and all("tied" in c or "no ties" in c for c in cards)
    assert "are matched correctly although GroupScore counts them as wrong" in text(test)


def test_the_table_by_tag_has_both_main_metrics_first_and_then_how_sure_they_are(app):
    """On a phone GroupScore was in sight, and GroupMatch below a swipe of five columns."""
    test = app(MATCHING, set="scenes/left-right", by="objects")
    (table,) = (each.value for each in test.dataframe if "groups" in each.value.columns)
    assert list(table.columns)[:4] == ["objects", "groups", "GroupScore", "GroupMatch"]
    # Chance levels and ties, the same in every row, took the last column off a laptop's screen.
    assert list(table.columns)[4:] == ["GroupScore 95 %", "GroupMatch 95 %"]
    evaluation = ui.evaluate(ui.whole_test_set("scenes/left-right", "builtin/clip"))
    for value, own in evaluation.slices("objects")["objects"].items():
        (row,) = table[table["objects"] == value].to_dict("records")
        assert row["groups"] == len(own.ids) and f"{row['GroupMatch']:.1f}" == _pct(
            own.metrics["group_match"].value
        )
        assert not own.metrics["group_score"].ties
    assert "In every row: chance GroupScore 16.7 %, GroupMatch 50.0 %; no ties." in text(test)


def test_the_table_by_tag_is_exported_with_every_metric_and_how_sure_it_is(app, monkeypatch):
    files = {}
    monkeypatch.setattr(
        "ui.export._file_button", lambda label, data, file, *_, **__: files.update({file: data})
    )
    app(MATCHING, set="scenes/left-right")
    table = pd.read_csv(io.BytesIO(files["matching-left-right-clip-by-tag.csv"]()))
    evaluation = ui.evaluate(ui.whole_test_set("scenes/left-right", "builtin/clip"))
    assert list(table)[:5] == ["model", "tag", "value", "groups", "metric"]
    own = evaluation.slices("objects")["objects"]
    for value, subset in own.items():
        rows = table[(table["tag"] == "objects") & (table["value"].astype(str) == value)].set_index("metric")
        found = subset.metrics["group_match"]
        row = rows.loc["GroupMatch"]
        assert row["groups"] == len(subset.ids)
        figures = (found.value, found.low, found.high, 50)
        assert tuple(row[["percent", "low", "high", "chance"]]) == pytest.approx(figures, rel=5e-10)
        assert row["ties"] == found.ties and len(rows) == len(subset.metrics)


def test_the_threshold_slider_selects_exactly(app):
    test = app(MATCHING, set="scenes/left-right", tau="0")
    everything = next(m.value for m in test.markdown if "selected (coverage" in m.value)
    slider = test.slider(key="tau")
    fine(slider.set_value(slider.max / 2).run())
    some = next(m.value for m in test.markdown if "selected (coverage" in m.value)
    assert int(some.split()[0].strip("*")) < int(everything.split()[0].strip("*"))
    fine(test.slider(key="tau").set_value(test.slider(key="tau").max).run())
    fine(test.selectbox(key="by").set_value("unseen").run())


def test_a_threshold_can_be_typed_beside_the_slider_and_both_and_the_address_follow_each_other(app):
    test = app(MATCHING, set="scenes/left-right", model="builtin/clip", tau="0.5")
    typed = lambda: test.number_input(key="tau-typed")  # noqa: E731
    assert typed().value == 0.5
    fine(typed().set_value(0.3).run())
    assert test.slider(key="tau").value == typed().value == 0.3 and test.query_params["tau"] in (
        "0.3",
        ["0.3"],
    )
    assert any("selected (coverage" in m.value for m in test.markdown)
    fine(test.slider(key="tau").set_value(1.0).run())
    assert typed().value == 1.0
    test = typed().set_value(99.0).run()
    (said,) = [each.value for each in test.error]
    assert said.startswith("The threshold τ takes a number from 0 up to ")
    assert said.endswith("; 99 is not used, and τ is still 1.00.")
    assert typed().value == test.slider(key="tau").value == 1.0
    fine(typed().set_value(0.5).run())  # and is said once
    fine(test.selectbox(key="set").set_value("scenes/triples").run())
    assert typed().value == test.slider(key="tau").value


def test_on_a_phone_the_table_by_tag_has_intervals_below_values_and_folds_stand_at_the_end(app, monkeypatch):
    """The intervals were beyond the screen's edge, and three folds stood before the first chart of the margins."""
    monkeypatch.setattr("ui.visitor.on_phone", lambda: True)
    test = app(MATCHING, set="scenes/left-right", model="builtin/clip")
    (table,) = (each.value for each in test.dataframe if "groups" in each.value.columns)
    assert list(table) == ["relation", "groups", "GroupScore", "GroupMatch"]
    # 101 of 139 and 99 of 161 groups; Clopper and Pearson's intervals.
    for cell, right, of in zip(table["GroupMatch"], (101, 99), (139, 161), strict=True):
        low, high = binomtest(right, of).proportion_ci(method="exact")
        assert cell == f"{100 * right / of:.1f}\u00a0% ({100 * low:.1f}–{100 * high:.1f})"
    assert {m.label for m in test.metric} == {m.label for m in METRICS.values()}  # folded by the style sheet
    heads = [each.value for each in test.header]
    assert heads[-2:] == ["Margins, and what a threshold selects", "By tag"]
    assert "Use your own embeddings or scores" in [each.label for each in test.expander][-2:]


def test_the_threshold_opens_where_about_half_of_the_groups_are_selected_and_follows_the_set(app):
    """It opened at 0, which selects all 300: a case in which nothing happens. The address has it once it is moved."""
    test = app(MATCHING, set="scenes/left-right", model="builtin/clip")
    for name in ("scenes/left-right", "scenes/triples"):
        fine(test.selectbox(key="set").set_value(name).run())
        margin = ui.evaluate(ui.whole_test_set(name, "builtin/clip")).matches.margin
        tau = test.slider(key="tau").value
        assert (
            150 <= (margin >= tau).sum() <= 165
            and abs(tau - np.median(margin)) <= test.slider(key="tau").step
        )
        assert "tau" not in test.query_params


def test_the_exported_command_says_of_the_threshold_what_the_page_says(app, monkeypatch):
    """The command did not have the threshold, so it did not print what the page says of it."""
    given = []
    monkeypatch.setattr("ui.export_section", lambda *args, **more: given.append(more))
    plain = app(MATCHING, set="scenes/left-right", model="builtin/clip", tau="0")
    assert "--threshold" not in given.pop()["command"]  # at 0 the table says it all
    for test in (plain, fine(plain.slider(key="tau").set_value(0.3).run())):
        (shown,) = (m.value for m in test.markdown if "selected (coverage" in m.value)
    (more,) = given
    words = shlex.split(more["command"])
    assert words[:2] == ["crossmatch", "evaluate"] and words[-2:] == ["--threshold", "0.3"]
    said = CliRunner().invoke(commands, words[1:]).stdout
    seen = re.sub("[*\u2060]", "", shown).replace("\u00a0", " ")
    assert said.splitlines()[-1] == f"threshold 0.3: {seen}"


def test_cards_with_an_interval_by_caption_say_once_what_that_is_and_that_it_is_the_one_to_quote(app):
    said = "Quote the interval by caption, where groups that share one count as one{}."
    test = app(MATCHING, set="scenes/triples", model="builtin/blip-caption")
    # The interval to quote alone: the other one stood beside it, ten ranges on five cards.
    assert "95 % by shared caption: 36.6–48.2  \nchance " in text(test)
    assert text(test).count(said.format("")) == 1
    assert "over groups: " not in text(test)
    first = next(metric.help for metric in test.metric if "Over groups alone" in metric.help)
    assert "Below: 95 % interval by shared caption, chance level" in first
    assert "Over groups alone, the exact 95 % interval is 36.7–48.1." in first
    assert [said.format(" (228 clusters)") in metric.help for metric in test.metric] == [True] * 5
    without = app(MATCHING, set="scenes/left-right", model="builtin/clip")  # as printed both are the same
    assert "by shared" not in text(without) and said.format("") not in text(without)
    assert all("Below: exact 95 % interval over groups, chance" in metric.help for metric in without.metric)


def test_every_cell_of_the_table_of_outcomes_opens_its_groups(app):
    test = app(MATCHING, set="scenes/left-right")
    cells = [b for b in test.button if "GroupMatch" in b.label and "**" in b.label]
    counts = [int(b.label.split("**")[1].split()[0]) for b in cells]
    assert len(cells) == 4 and sum(counts) == 300
    assert "✓ GroupMatch right" in cells[1].label and "✗ GroupScore wrong" in cells[1].label
    shown = fine(cells[1].click().run())
    assert shown.title[0].value == "Groups"
    assert f"{counts[1]} of 300 groups" in text(shown).replace("\\", "")
    assert shown.session_state["verdict"] == ["GroupMatch right", "GroupScore wrong"]


@pytest.mark.parametrize(
    ("page", "name", "query"),
    [(MATCHING, "tau", {"model": "builtin/clip"}), ("pages/3_Debias.py", "alpha", {})],
)
def test_the_link_to_the_view_has_the_value_of_the_slider_where_the_address_has_one_before(
    app, monkeypatch, page, name, query
):
    """Thirty quick presses: page and command said 0.3, the link 0.25 or 0.29."""
    links, link = [], ui.export.link

    def noted(state, moved):
        if moved:  # of the export below the slider
            links.append(link(state, moved))
        return link(state, moved)

    monkeypatch.setattr("ui.export.link", noted)
    test = app(page, set="scenes/left-right", **query, **{name: "0.25"})
    asked = lambda: parse_qs(urlsplit(links[-1]).query).get(name)  # noqa: E731
    assert asked() == ["0.25"]
    for value, said in ((0.3, ["0.3"]), (0.0, ["0.0"])):
        fine(test.slider(key=name).set_value(value).run())
        test.query_params[name] = "0.25"  # what the browser had sent
        links.clear()
        fine(test.run())
        assert asked() == said and test.slider(key=name).value == value


def test_the_groups_that_a_threshold_selects_open_and_the_filter_can_be_cleared(app):
    test = app(MATCHING, set="scenes/left-right", tau="0.3")
    opening = next(b for b in test.button if b.label.endswith("selected groups"))
    count = opening.label.split()[2]
    shown = fine(opening.click().run())
    assert f"{count} of 300 groups · margin 0.3 or larger" in text(shown).replace("\\", "")
    again = app(GROUPS, set="scenes/left-right", margin="0.3..")
    assert f"{count} of 300 groups · margin 0.3 or larger" in text(again).replace("\\", "")
    fine(button(again, "Clear filters").click().run())
    assert "300 of 300 groups" in text(again)


def test_a_score_matrix_says_which_end_of_its_shades_is_high_in_either_theme(app, monkeypatch):
    """On a dark page bright cells are high, on a light one dark ones, and nothing said so."""
    data = ui.evaluate(ui.whole_test_set("scenes/triples", "builtin/clip")).group(3)
    top, least = (np.unravel_index(find(data.scores), data.scores.shape) for find in (np.argmax, np.argmin))
    for theme, end in (("light", "darker"), ("dark", "brighter")):
        context = SimpleNamespace(theme=SimpleNamespace(type=theme))
        monkeypatch.setattr("ui.images.st.context", context)
        assert shades_key() == f"Scores: the {end}, the higher."
        cells = group_html.matrix_cells(data, theme == "dark")
        bright = [sum(bytes.fromhex(cells[i][j].fill[1:])) for i, j in (top, least)]
        assert (bright[0] > bright[1]) == (end == "brighter")
    monkeypatch.undo()
    shown = app(GROUPS, set="scenes/triples", group="triples/test/0003")
    assert any(c.value.startswith("Scores: the darker, the higher.") for c in shown.caption)


def test_margins_are_a_filter_like_the_others(app):
    """They were in the address alone: what set another filter by the session left them, or lost them."""
    line = lambda test: [c.value for c in test.caption if "of 300 groups" in c.value][-1]  # noqa: E731
    test = app(GROUPS, set="scenes/left-right", verdict="GroupMatch right", margin="0.2..0.4")
    field, both = test.text_input(key="margin"), line(test)
    assert field.value == "0.2..0.4" and both.replace("\\", "").endswith("margin 0.2 to 0.4")
    fine(next(b for b in test.button if (b.key or "").startswith("open-")).click().run())
    fine(button(test, "Next").click().run())
    assert test.query_params["margin"] == "0.2..0.4"
    assert line(fine(test.button(key="to-gallery").click().run())) == both
    fine(test.text_input(key="q").set_value("left").run())
    assert "margin 0.2 to 0.4" in line(test).replace("\\", "")
    fine(test.text_input(key="margin").set_value("0.4").run())
    assert "margin 0.4 or larger" in line(test).replace("\\", "")
    fine(button(test, "Clear filters").click().run())
    assert line(test).startswith("300 of 300") and not test.text_input(key="margin").value


def test_matching_answers_its_question_first_and_says_then_what_can_be_told_from_chance(app):
    """“Better than chance by all five metrics” was bold and first; why GroupScore underestimates came after it."""
    said = [m.value for m in app(MATCHING).markdown]
    answer = "**105 of 300 groups are matched correctly although GroupScore counts them as wrong.**"
    chance = "Better than chance by all five metrics. :small[Each by its own 95 % interval, uncorrected.]"
    assert said.index(answer) < said.index(chance)


@pytest.mark.parametrize(
    ("match", "score", "said"),
    [
        ([1, 1], [1, 0], "1 of 2 groups is matched correctly although GroupScore counts it as wrong."),
        ([1, 0], [1, 0], "GroupScore and GroupMatch agree on every group."),
        (
            [1, 0],
            [1, 1],
            "No group that GroupScore counts as wrong is matched correctly.",
        ),  # it leads by a hair
    ],
)
def test_what_the_two_metrics_disagree_about_reads_well_of_one_group_and_of_none(match, score, said):
    page = runpy.run_path(str(ROOT / MATCHING), run_name="page")
    values = {"group_match": match, "group_score": score}
    outcomes = {name: SimpleNamespace(value=np.array(value)) for name, value in values.items()}
    assert page["disagreement"](SimpleNamespace(outcomes=outcomes)) == said


@pytest.mark.parametrize("is_skewed", [False, True])
def test_the_groups_of_a_bar_are_those_that_the_histogram_counts(is_skewed):
    page = runpy.run_path(str(ROOT / MATCHING), run_name="page")
    rng = np.random.default_rng(0)
    scores = np.round(rng.normal(size=(200, 2, 2)), 1)  # with ties
    scores[:3] *= 20 if is_skewed else 1  # the last bar holds what is far above
    found = Evaluation.of(scores, None)
    data = figures.margins_data(found.matches, found.outcomes["group_match"])
    assert data.has_rest == is_skewed
    drawn = figures.margins_figure(data).data[0].x
    options = group_filters.verdict_options(found)
    for counts, name in ((data.right, "✓ matching right"), (data.wrong, "✗ matching wrong")):
        for place, count in enumerate(counts):
            bar = ui.ChartPoint(float(drawn[place]), float(count), name)
            state = page["groups_of_bar"](found, bar)
            held = group_filters.MarginRange.parse(state["margin"]).holds(found.matches.margin)
            assert (held & options[state["verdict"][0]]).sum() == count
    assert page["groups_of_bar"](found, ui.ChartPoint(-1.0, 1.0, "= tie")) == {"verdict": ["tied"]}


def plain(test):
    return text(test).replace("\\", "")


def upload(test, name, data):
    test.get("file_uploader")[0].upload(name, data)
    return test.run()


def npz(tmp_path, **arrays):
    np.savez(tmp_path / "file.npz", **arrays)
    return (tmp_path / "file.npz").read_bytes()


def test_an_uploaded_score_file_is_measured_and_its_missing_truth_is_said(app):
    rows = ["group,image,caption,score"]
    rows += [f"{g},{i},{j},{2 if i == j else g % 3}" for g in range(6) for i in range(2) for j in range(2)]
    test = fine(upload(app(MATCHING), "mine.csv", "\n".join(rows).encode()))
    assert "mine.csv (your file)" in plain(test) and "The file has no ground truth" in text(test)
    assert not [box for box in test.selectbox if box.key == "shape"]  # the file says it
    # the others score g % 3: 2 in groups 2 and 5, which tie; 0 or 1 elsewhere: 4 of 6 right
    assert next(m.value for m in test.metric if m.label == "GroupMatch") == "66.7 %"
    fine(button(test, "Back to the benchmark").click().run())
    assert "mine" not in text(test)


def test_groups_of_a_file_are_cards_with_their_scores_and_not_with_names_of_pictures(app):
    rows = ["group,image,caption,score"]
    rows += [f"{g},{i},{j},{10 * g + 2 * i + j}" for g in range(3) for i in range(2) for j in range(2)]
    fine(upload(app(MATCHING), "cards.csv", "\n".join(rows).encode()))
    test = app(GROUPS, set="upload/cards.csv", file_layout="Cards")
    assert html(test).count("cm-card") == 3 and ">23.00 " in html(test) and "<li>" not in html(test)
    fine(button(test, "Open Group 1").click().run())
    assert list(test.query_params["group"]) == ["1"]


def test_matching_links_to_its_parts(app):
    """The margins begin two screens down on a laptop. Of a set without tags there is no part by tag."""
    said = text(app(MATCHING, set="scenes/left-right"))
    for name in ("margins-and-what-a-threshold-selects", "by-tag"):
        assert f"](#{name})" in said
    rows = [f"g{g},{i},{j},{i == j:d}" for g in range(2) for i in range(2) for j in range(2)]
    UploadStore().add("plain.csv", "\n".join(["group,image,caption,score", *rows]).encode())
    assert "](#by-tag)" not in text(app(MATCHING, set="upload/plain.csv"))


def of_groups(test):
    """The table of the groups, where there is one."""
    return next((each.value for each in test.dataframe if {"id", "margin"} <= {*each.value.columns}), None)


def test_groups_without_pictures_are_a_table_first_with_verdicts_margin_and_totals_of_each(app):
    """They were 12 cards a page, fewer than two rows of them in sight. Totals by hand: the first group is right by
    5 + 4 against 1 + 2, the second wrong by 1 + 2 against 5 + 4, the third ties."""
    matrices = {"a": (5, 1, 2, 4), "b": (1, 5, 4, 2), "c": (3, 3, 3, 3)}
    rows = ["group,image,caption,score"]
    rows += [
        f"{g},{at // 2},{at % 2},{score}" for g, each in matrices.items() for at, score in enumerate(each)
    ]
    fine(upload(app(MATCHING), "table.csv", "\n".join(rows).encode()))
    test = app(GROUPS, set="upload/table.csv")
    assert "cm-card" not in html(test)
    table = of_groups(test)
    assert list(table.columns)[:6] == [
        "id", "TextScore", "ImageScore", "GroupScore", "GroupMatch", "IndividualMatch"
    ]  # fmt: skip
    assert table["GroupMatch"].tolist() == ["✓", "✗", "="]
    assert table["margin"].tolist() == [6, 6, 0]
    assert table["true pairs"].tolist() == [9, 3, 6] and table["best other"].tolist() == [3, 9, 6]
    test = fine(test.segmented_control(key="file_layout").set_value("Cards").run())
    assert html(test).count("cm-card") == 3 and of_groups(test) is None
    opened = fine(button(test, "Open a").click().run())
    assert opened.query_params["file_layout"] in ("Cards", ["Cards"])
    assert html(fine(opened.button(key="to-gallery").click().run())).count("cm-card") == 3


def test_the_table_of_groups_has_the_filters_and_the_order_of_the_gallery(app):
    """The order by hand: margins of the groups that are matched right. With pictures cards come first."""
    state = {"set": "scenes/left-right", "verdict": "GroupMatch right", "sort": "margin, largest first"}
    assert of_groups(app(GROUPS, **state)) is None
    table = of_groups(app(GROUPS, **state, layout="Table"))
    found = ui.evaluate(ui.whole_test_set("scenes/left-right", "builtin/clip"))
    right = np.flatnonzero(found.outcomes["group_match"].value == 1)
    right = right[np.argsort(-found.matches.margin[right], kind="stable")]
    assert len(table) > 40 and table["id"].tolist() == [found.ids[i] for i in right]
    assert table["objects"].tolist() == found.tags["objects"].iloc[right].tolist()


def test_a_total_below_0_has_the_minus_that_stands_everywhere_else(monkeypatch):
    """`-25.37` stood in the table of an uploaded file, `−25.37` in every matrix."""
    shown = []
    monkeypatch.setattr("ui.group_table.wide_table", lambda table, **how: shown.append((table, how)))
    found = Evaluation.of(np.array([[[-12.5, -14.25], [-15.0, -12.87]]]), None)
    file = ScoreFile(found.scores, None, ["0"])
    group_table(found, np.arange(1), file.groups("file"))
    ((styled, how),) = shown
    # -12.5 - 12.87 and -14.25 - 15, as strings of the cells; the browser writes no number of its own.
    assert all(cell in styled.to_html() for cell in (">−25.37<", ">−29.25<", ">3.88<"))
    assert all(
        how["column_config"][n]["type_config"]["format"] is None
        for n in ("margin", "true pairs", "best other")
    )


def shown_table(monkeypatch, tags, *, captions=("a dog on a cat", "a cat on a dog")):
    """The table of two groups, of which the second is matched wrong, and the widths of its columns."""
    shown = []
    monkeypatch.setattr("ui.group_table.wide_table", lambda table, **how: shown.append((table, how)))
    scores = np.array([[[2.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [1.5, 0.0]]])
    found = Evaluation.of(scores, np.array([[0, 1], [0, 1]]), ["a", "b"], tags=tags)
    file = ScoreFile(scores, None, ["a", "b"], tags, None, np.array([captions, captions]))
    group_table(found, np.arange(2), file.groups("file"))
    ((table, how),) = shown
    return table, {name: each["width"] for name, each in how["column_config"].items()}


def test_the_margin_of_a_wrong_matching_is_marked_and_sorts_as_a_number(monkeypatch):
    """By hand: the second group leads by 1 + 1.5 with the wrong matching; it read like a right one."""
    styled, _ = shown_table(monkeypatch, None)
    assert ">4.00<" in styled.to_html() and ">✗ 2.50<" in styled.to_html()
    assert styled.data["margin"].tolist() == [4.0, 2.5]


def test_tags_have_the_width_of_their_texts_beside_captions(monkeypatch):
    """The second of two tags stood out of a laptop's screen, 1074 pixels, and a long one was cut."""
    tags = pd.DataFrame({"phenomenon": ["Determiner-Numeral", "x"], "kind": ["new", "old"]})
    styled, widths = shown_table(monkeypatch, tags)
    assert widths["phenomenon"] >= 8 * len("Determiner-Numeral") and widths["kind"] < 70
    assert set(widths) >= {*styled.data.columns} and sum(widths[n] for n in styled.data.columns) <= 1074


@pytest.mark.parametrize("shape", [(2, 2), (1, 4), (3, 3), (2, 4), (7, 7)])
def test_the_totals_of_the_table_are_those_of_each_group(shape):
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 4, (60, *shape)).astype(float)  # whole numbers tie often
    found = Evaluation.of(scores, None)
    table = table_of(found, np.arange(60)[::-1])
    for row, index in zip(table.to_dict("records"), range(59, -1, -1), strict=True):
        group = found.group(index)
        assert (row["true pairs"], row["best other"]) == pytest.approx((group.true_total, group.rival_total))


@pytest.mark.parametrize("shape", [(2, 2), (2, 4), (3, 3)])
def test_the_table_of_groups_has_the_shares_whose_mean_is_the_metric(shape):
    """ "1 of 2 images" was ✗, and the column looked as if its mean were another one."""
    found = Evaluation.of(np.random.default_rng(3).normal(size=(40, *shape)), None)
    column = table_of(found, np.arange(40))["IndividualMatch"]
    parts = column.str.split("/", expand=True).astype(int)
    assert set(column) == {f"{right}/{shape[0]}" for right in range(shape[0] + 1)}
    assert 100 * (parts[0] / parts[1]).mean() == pytest.approx(found.metrics["individual_match"].value)


def test_the_share_of_a_group_that_misses_by_a_tie_says_so():
    """By hand: image A ties with caption 2, image B is right."""
    found = Evaluation.of(np.array([[[1.0, 1.0], [0.0, 1.0]]]), None)
    assert table_of(found, np.arange(1))["IndividualMatch"].tolist() == ["1/2 ="]


def test_the_totals_of_groups_with_several_true_captions_are_of_the_best_of_them():
    found = Evaluation.of(np.array([[[1.0, 5.0, 3.0]], [[1.0, 2.0, 9.0]]]), np.array([[0, 1], [0, 1]]))
    table = table_of(found, np.arange(2))
    assert table["true pairs"].tolist() == [5, 2] and table["best other"].tolist() == [3, 9]


def test_a_margin_of_cosines_agrees_with_the_totals_beside_it(app):
    """ "0.36 > 0.35" stood beside "margin 0.00", and the totals of the file are 0.3526 and 0.3480."""
    rows = ["group,image,caption,score"]
    for group, scores in {"a": (0.0955, 0.242963, 0.105089, 0.25714), "b": (0.3, 0.1, 0.1, 0.3)}.items():
        rows += [f"{group},{at // 2},{at % 2},{score}" for at, score in enumerate(scores)]
    fine(upload(app(MATCHING), "cosines.csv", "\n".join(rows).encode()))
    gallery = app(GROUPS, set="upload/cosines.csv", file_layout="Cards")
    assert "margin 0.005; 0 % of the groups" in text(gallery).replace("\\", "")
    test = app(GROUPS, set="upload/cosines.csv", group="a")
    assert "0.096 + 0.257 = 0.353 &gt; 0.243 + 0.105 = 0.348" in html(test).replace("\u00a0", " ")
    assert "margin 0.005; 0 %" in text(test).replace("\\", "")


def test_cards_of_a_file_have_its_own_names(app):
    """They said "caption 1" and "image A" of a file that calls them ca0 and im0."""
    rows = ["group,image,caption,score"]
    rows += [f"{g},im{i},ca{j},{10 * g + 2 * i + j}" for g in range(2) for i in range(2) for j in range(2)]
    fine(upload(app(MATCHING), "named.csv", "\n".join(rows).encode()))
    shown = html(app(GROUPS, set="upload/named.csv", file_layout="Cards"))
    assert shown.count("<li>ca0</li><li>ca1</li>") == 2 and shown.count("A: im0 · B: im1") == 2


def test_uploaded_embeddings_bring_retrieval_along(app, tmp_path):
    rng = np.random.default_rng(0)
    images = rng.normal(size=(18, 8))
    test = fine(upload(app(MATCHING, tau="0"), "e.npz", npz(tmp_path, img=images, cap=images + 0.01)))
    assert next(m.value for m in test.metric if m.label == "Image to text R@1") == "100.0 %"
    assert "9 of 9" in text(test)
    fine(test.selectbox(key="shape").set_value("3x3").run())
    assert "6 of 6" in text(test)
    reloaded = app(MATCHING, set="upload/e.npz", shape="6x6", tau="0")
    assert "3 of 3" in text(reloaded) and "3 groups of 6×6" in plain(reloaded)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("empty.csv", b""),
        ("columns.csv", b"group,image,score\n0,0,1\n"),
        ("nan.csv", b"group,image,caption,score\n0,0,0,nan\n0,0,1,1\n"),
        ("cut.npz", b"PK\x03\x04 half of it"),
        ("pickle.npz", b"\x80\x04\x95 not a zip"),
        ("broken.jsonl", b"{"),
    ],
)
def test_a_bad_file_gives_one_sentence_and_keeps_the_page(app, name, data):
    test = upload(app(MATCHING), name, data)
    assert not test.exception and len(test.error) == 1
    assert "Traceback" not in test.error[0].value and "internal error" not in test.error[0].value
    assert len(test.metric) == len(METRICS)  # the benchmark is still there


def test_a_link_to_a_set_that_is_not_there_says_so_and_falls_back(app):
    page = app("pages/1_Groups.py", set="scenes/left-rihgt")
    said = [warning.value.replace("\\", "") for warning in page.warning]
    assert said == ["Unknown benchmark 'scenes/left-rihgt'; did you mean 'scenes/left-right'?"]
    assert page.selectbox(key="set").value == "scenes/attribute-swap"


def test_another_set_beside_an_open_group_shows_its_gallery_without_a_word_on_that_group(app):
    """“Unknown group 'attribute-swap/test/0007'; did you mean …”, of a group that nobody had asked this set for."""
    name = "attribute-swap/test/0007"
    test = app(GROUPS, set="scenes/attribute-swap", group=name)
    fine(test.selectbox(key="set").set_value("scenes/left-right").run())
    assert "300 of 300 groups" in text(test) and not test.warning
    link = app(GROUPS, set="scenes/left-right", group=name)
    assert [each.value for each in link.warning if name in each.value.replace("\\", "")]


def test_pictures_are_shifted_by_a_choice_beside_the_set(app, open_page, monkeypatch):
    page = app("pages/1_Groups.py", set="scenes/left-right~fog")
    field, shift = page.selectbox(key="set"), page.selectbox(key="shift")
    assert (field.value, shift.value) == ("scenes/left-right~fog", "fog") and not page.warning
    assert [name for name in field.options if "~" in name] == [field.value] and len(shift.options) == 25
    fine(shift.select_index(2).run())  # AppTest knows options by what is shown
    assert page.selectbox(key="set").value == page.query_params["set"] == "scenes/left-right~tinted"
    fine(page.selectbox(key="shift").select_index(0).run())
    assert page.selectbox(key="set").value == "scenes/left-right"
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    public = app("pages/1_Groups.py", set="scenes/left-right~fog-strong")  # whose scores do not ship
    assert public.selectbox(key="set").value == "scenes/attribute-swap" and len(public.warning) == 1
    assert len(public.selectbox(key="shift").options) == 9
    public = app("pages/1_Groups.py", set="scenes/replace~fog")
    assert public.selectbox(key="set").value == "scenes/attribute-swap" and len(public.warning) == 1
    public = app("pages/1_Groups.py", set="scenes/left-right~fog", model="builtin/siglip")
    assert not public.error and public.selectbox(key="set").value == "scenes/left-right~fog"
    public = open_page("pages/1_Groups.py", set="scenes/left-right~fog", model="builtin/blip-itm")
    assert [e.value for e in public.error if "scored by builtin/clip and builtin/siglip" in e.value]


@pytest.mark.parametrize("base", ["scenes/left-right", "scenes/left-right@global", "mine/kitchen"])
def test_a_sets_name_is_taken_apart_and_put_together(base):
    assert selection._shift_of(base) == (base, "")
    assert selection._shift_of(selection._shifted(base, "fog-weak")) == (base, "fog-weak")
    assert selection._shifted("scenes/left-right@global", "fog") == "scenes/left-right~fog@global"


@pytest.mark.parametrize("asked", [{"benchmark": "scenes/swap"}, {"group": "swap/test/0003"}])
def test_a_link_that_names_the_benchmark_otherwise_or_its_group_alone_opens_it(app, asked):
    page = app("pages/1_Groups.py", **asked)
    assert page.selectbox(key="set").value == "scenes/swap" and not page.warning
    assert "benchmark" not in page.query_params


@pytest.mark.parametrize("page", ["pages/1_Groups.py", "pages/2_Matching.py"])
def test_export_offers_a_report_a_latex_row_and_the_command_of_what_is_shown(app, monkeypatch, page):
    given = []
    monkeypatch.setattr("ui.export_section", lambda *args, **more: given.append(more))
    app(page, set="scenes/left-right", model="builtin/siglip", tau="0")
    exported = next(each for each in given if "report" in each)
    measured = "crossmatch evaluate scenes/left-right --split test --model builtin/siglip"
    # Matching has a table by tag, which the command left out.
    assert exported["command"] == measured + " --by relation" * (page == "pages/2_Matching.py")
    assert "siglip" in exported["latex"]() and b"scenes/left-right" in exported["report"]()
    assert exported["title"].startswith(
        "scenes/left-right · test · "
    )  # above the figure, which a slide has alone
    assert "groups of 2×2 · builtin/siglip" in exported["title"]
    assert "Dotted lines: chance" in str(exported["note"])


def test_matching_has_one_export_with_groups_metrics_and_every_figure_at_the_threshold(app, monkeypatch):
    """There were three buttons, one of them in the middle of the page."""
    given = []
    monkeypatch.setattr("ui.export_section", lambda *args, **more: given.append((args, more)))
    page = app("pages/2_Matching.py", set="scenes/left-right", model="builtin/clip", tau="0.3")
    ((_, table, drawn), more), *others = given
    assert not others and not page.get("download_button")
    assert len(table()) == 300 and len(more["metrics"]()) >= 4
    assert [*drawn] == ["metrics", "margins", "threshold"] == [*more["note"]]
    assert any(shape.x0 == 0.3 for shape in drawn["margins"]().layout.shapes)
    assert "τ = 0.3." in more["note"]["margins"] and "τ" not in more["note"]["metrics"]


def test_matching_says_the_area_under_risk_and_coverage_with_its_interval_and_that_of_a_random_order(app):
    page = app("pages/2_Matching.py", set="scenes/left-right", model="builtin/clip")
    (element,) = (e for e in page.markdown if "(AURC)" in e.help)
    plain = str(element.value).replace("\u2060", "").replace("\xa0", " ")
    number = r"(\d+\.\d)"
    found = re.search(
        rf"\*\*{number} %\*\* of the selected groups are matched wrong "
        rf"\(95 % interval {number}–{number}\).*order \*\*{number} %\*\*",
        plain,
    )
    area, low, high, chance = map(float, found.groups())
    assert low < area < high and area < chance
    # Names were in the midst of the sentence, which nobody could say to a student.
    assert (
        "AURC" not in plain
        and plain.count(".") < 8
        and "area under the risk-coverage curve (AURC)" in element.help
    )
    assert "the excess AURC" in element.help


@pytest.mark.parametrize(("right", "area", "which"), [(True, "0.0", "wrong"), (False, "100.0", "right")])
def test_matching_gives_no_interval_of_the_area_that_no_resample_can_vary(app, tmp_path, right, area, which):
    """It was "0.0 % (95 % interval 0.0-0.0)" beside 100 % (91.2-100)."""
    scores = np.tile(np.eye(2) if right else 1 - np.eye(2), (40, 1, 1)) * np.arange(1, 41)[:, None, None]
    name = UploadStore().add("all.npz", npz(tmp_path, scores=scores)).name
    page = app("pages/2_Matching.py", set=f"upload/{name}")
    (element,) = (e for e in page.markdown if "(AURC)" in e.help)
    plain = str(element.value).replace("\u2060", "").replace("\xa0", " ")
    assert (
        f"On average **{area} %** of the selected groups are matched wrong" in plain
        and "95 % interval" not in plain
    )
    assert f"no interval: no group is matched {which}, so resampling cannot vary it" in plain
    assert "Every order of these groups has the same." in plain and "excess" not in plain


def test_the_export_of_one_group_has_that_groups_numbers_and_picture(app, monkeypatch):
    given = []
    monkeypatch.setattr("ui.export_section", lambda *args, **more: given.append(more))
    test = app("pages/1_Groups.py", group="left-right/test/0003")
    (exported,) = given
    assert exported["table"]()["id"].tolist() == ["left-right/test/0003"]
    assert exported["report_name"] == "left-right-clip"  # it is about all groups
    scores, matchings, found = exported["command"].splitlines()
    assert scores.startswith(
        "crossmatch export scores --benchmark scenes/left-right --split test --model builtin/"
    )
    assert matchings.startswith("crossmatch export matchings ") and "left-right/test/0003" in found
    assert button(test, "Compare with builtin/siglip")


def test_what_the_tags_of_a_built_in_set_say_is_explained_where_they_stand(app):
    """“unseen: yes · held out: colour-pair” was said of a group, and nowhere what that is."""
    for name in (each for each in datasets.names(None) if each.startswith("scenes/")):
        if name != "scenes/retrieval":
            groups = load(name)
            said = tag_meanings(groups, {tag for group in groups for tag in group.tags})
            assert all(f"**{tag.replace('_', ' ')}**: " in said for group in groups for tag in group.tags), (
                name
            )
    group = fine(app("pages/1_Groups.py", set="scenes/left-right", group="left-right/test/0003"))
    (helped,) = (each.help for each in group.caption if "unseen: " in each.value.replace("\\", ""))
    assert "no training picture of the built-in models had" in helped
    assert "**held out**: " in app(MATCHING, set="scenes/left-right").selectbox(key="by").help


def test_tags_of_other_sets_are_not_explained_and_a_file_is_compared_with_a_file_or_a_model(app):
    lines = [f"g{g},{i},{c},{int(i == c)},new" for g in range(4) for i in range(2) for c in range(2)]
    data = "\n".join(["group,image,caption,score,kind", *lines]).encode()
    test = fine(app("pages/1_Groups.py", set=f"upload/{UploadStore().add('own.csv', data).name}", group="g1"))
    (about,) = (each for each in test.caption if "kind: new" in each.value.replace("\\", ""))
    assert not about.help and button(test, "Compare with another file or model")


def test_the_picture_of_a_group_stands_alone_with_lines_scores_and_verdicts():
    group = load("scenes/left-right")[0]
    truth = np.array([group.truth])
    evaluation = Evaluation(np.array([[[2.0, 1.0], [3.0, 2.5]]]), truth, [group.id])
    svg = ElementTree.fromstring(group_svg(group, evaluation.group(0), "<m>"))
    kinds = [element.tag.rpartition("}")[2] for element in svg.iter()]
    assert kinds.count("image") == 2 and kinds.count("path") == 3  # two lines, and one in the legend
    told = " ".join("".join(element.itertext()) for element in svg.iter() if element.tag.endswith("text"))
    assert "2.50 ●✓" in told and "Scores of <m>" in told
    assert "✓ GroupMatch right" in told and "2.00 + 2.50 = 4.50 > 1.00 + 3.00 = 4.00" in told
    assert "✗ GroupScore wrong" in told and "right, and yet GroupScore counts the group as wrong." in told
    assert "caption 2" in told and "image B" in told  # the axes
    assert "● and outlined: the model's matching" in told and "✓ a true pair" in told  # the signs


def test_the_margin_below_an_opened_group_has_the_decimals_of_its_totals():
    """“margin 0.60” stood below −0.499 > −1.097, which are 0.598 apart; the scores as in the verdict's own test."""
    scores = np.array([[[-0.7949, -1.1591], [0.0624, 0.2959]]])
    margin_text = runpy.run_path(str(Path(__file__).parents[1] / GROUPS), run_name="groups")["margin_text"]
    found = Evaluation(scores, np.array([[0, 1]]), ["a"])
    assert (
        margin_text(found, 0, found.group(0).digits) == "margin 0.598; 0 % of the groups have a smaller one"
    )


def test_one_group_is_offered_as_png_and_svg_where_a_browser_draws(app, monkeypatch):
    monkeypatch.setattr(export, "_has_browser", lambda: True)
    labels = [b.label for b in app("pages/1_Groups.py", group="left-right/test/0003").get("download_button")]
    assert {"Picture of this group (PNG)", "Picture of this group (SVG)"} <= {*labels}
    monkeypatch.setattr(export, "_has_browser", lambda: False)
    labels = [b.label for b in app("pages/1_Groups.py", group="left-right/test/0003").get("download_button")]
    assert "Picture of this group (SVG)" in labels and "Picture of this group (PNG)" not in labels


def test_the_exported_command_of_one_group_prints_its_rows_below_the_names_of_their_columns(
    app, monkeypatch, tmp_path
):
    """`grep` alone left numbers without a word."""
    given = []
    monkeypatch.setattr("ui.export_section", lambda *_, **more: given.append(more.get("command", "")))
    monkeypatch.setattr("ui.export.export_section", lambda *_, **more: given.append(more.get("command", "")))
    fine(app(GROUPS, set="scenes/left-right", group="left-right/test/0003"))
    line = next(each for each in given if "grep" in str(each)).splitlines()[-1]
    (tmp_path / "scores.csv").write_text("group,score\nleft-right/test/0003,1\nleft-right/test/0004,2\n")
    (tmp_path / "matchings.csv").write_text("id,margin\nleft-right/test/0003,5\n")
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "group,score", "left-right/test/0003,1", "id,margin", "left-right/test/0003,5"
    ]  # fmt: skip


def test_next_and_previous_walk_the_groups_of_the_gallery_in_its_order(app):
    """They walked the whole set, whatever was filtered. The order by hand: margins of all groups."""
    found = ui.evaluate(ui.whole_test_set("scenes/left-right", "builtin/clip"))
    right = np.flatnonzero(found.outcomes["group_match"].value == 1)
    right = right[np.argsort(-found.matches.margin[right], kind="stable")]
    state = {"set": "scenes/left-right", "verdict": "GroupMatch right", "sort": "margin, largest first"}
    test = app(GROUPS, **state, group=found.ids[right[3]])
    assert test.button(key="to-gallery").label == f"Gallery (4 of {len(right)})"
    for key, place in (("next", 4), ("next-below", 5), ("previous-below", 4), ("previous", 3)):
        fine(test.button(key=key).click().run())
        assert test.session_state["group"] == found.ids[right[place]]
    wrong = int(np.flatnonzero(found.outcomes["group_match"].value == 0)[0])
    other = app(GROUPS, **state, group=found.ids[wrong])  # opened by its id: one of all
    fine(other.button(key="next").click().run())
    assert other.session_state["group"] == found.ids[wrong + 1]


def test_previous_ends_at_the_first_group_and_next_at_the_last_and_the_place_is_said(app):
    """From the first Previous led to the last without a word. The order by hand: the built-in set's own."""
    ids = ui.whole_test_set("scenes/left-right", "builtin/clip").selected_groups.ids
    for at, ends in ((0, "previous"), (len(ids) - 1, "next"), (1, None)):
        test = app(GROUPS, set="scenes/left-right", group=ids[at])
        assert test.button(key="to-gallery").label == f"Gallery ({at + 1} of {len(ids)})"
        for key in ("previous", "next"):
            found = {test.button(key=each).disabled for each in (key, f"{key}-below")}
            assert found == {key == ends}


def test_matching_says_that_no_selected_group_is_matched_wrong_in_place_of_offering_to_open_0(app):
    """A button said “Open the 0 of them matched wrong”. From the largest margins of the set on, all are right."""
    test = app("pages/2_Matching.py", set="scenes/attribute-swap", tau="9.0")
    labels = {each.label: each.disabled for each in test.main.button}
    assert labels["None of them is matched wrong"] and not any("the 0 of" in each for each in labels)


def test_the_panel_of_filters_says_how_many_groups_they_leave(app):
    """On a phone it covered the line that says so."""
    test = app(GROUPS, set="scenes/left-right", q="red cube")
    (panel,) = [each for each in test.get("popover") if each.proto.popover.label.startswith("Filters")]
    (count,) = [each.value for each in panel.caption]
    assert re.fullmatch(r"\d+ of 300 groups", count) and count in text(test).replace(f"{count} ·", count)
    assert int(count.split()[0]) < 300


def test_on_a_phone_a_page_of_the_gallery_has_half_as_many_cards_and_as_large_pictures(app, monkeypatch):
    """Twelve cards were 4,863 pixels long there; of compact ones the pictures were 74 pixels wide."""
    monkeypatch.setattr("ui.visitor.on_phone", lambda: True)
    test = app(GROUPS, set="scenes/left-right")
    assert not test.toggle(key="compact").value and "compact" not in test.query_params
    assert html(test).count("cm-card") == 6
    test = fine(test.toggle(key="compact").set_value(True).run())
    assert html(test).count("cm-card") == 12
    opened = next(each for each in test.main.button if each.key and each.key.startswith("open-"))
    fine(opened.click().run())
    assert test.query_params["compact"] in ("true", ["true"])
    fine(test.button(key="to-gallery").click().run())
    assert test.toggle(key="compact").value and html(test).count("cm-card") == 12


def test_a_browser_that_calls_itself_mobile_or_has_a_narrow_window_is_a_phone_s(monkeypatch):
    """A narrow window of a browser that does not call itself mobile had a laptop's figures, 15 pixels to a row."""
    from ui import visitor

    for agent, narrow, phone in (
        ("Mozilla/5.0 (iPhone) Mobile/15E148 Safari", {}, True),
        ("Mozilla/5.0 (iPhone) Mobile/15E148 Safari", {"crossmatch_narrow": "0"}, True),
        ("Mozilla/5.0 (X11) Chrome", {}, False),
        ("Mozilla/5.0 (X11) Chrome", {"crossmatch_narrow": "0"}, False),
        ("Mozilla/5.0 (X11) Chrome", {"crossmatch_narrow": "1"}, True),
    ):
        context = SimpleNamespace(headers={"User-Agent": agent}, cookies=narrow)
        monkeypatch.setattr(visitor.st, "context", context)
        assert visitor.on_phone() == phone


def test_a_compact_gallery_has_twice_as_many_cards_and_is_kept_behind_a_group(app):
    """Two groups of 300 stood on a laptop's screen."""
    test = app(GROUPS, set="scenes/left-right")
    assert html(test).count("cm-card") == 12
    test = fine(test.toggle(key="compact").set_value(True).run())
    assert html(test).count("cm-card") == 24
    test = fine(button(test, r"Open left\-right/test/0003").click().run())
    assert test.query_params["compact"] in ("true", ["true"])
    assert html(fine(test.button(key="to-gallery").click().run())).count("cm-card") == 24


def test_a_page_of_the_gallery_that_is_not_there_is_said(app):
    """page=999 showed the first page without a word."""
    test = app(GROUPS, set="scenes/left-right", page="999")
    assert "Page takes a whole number from 1 up to 25; the address has '999'" in text(test).replace("\\", "")
    assert "Page takes" not in text(app(GROUPS, set="scenes/left-right", page="3"))


def test_margins_that_are_no_range_are_said_by_the_gallery_and_hide_no_group(open_page):
    """They took the gallery with them, and a group that the address named, too."""
    shown = open_page(GROUPS, set="scenes/left-right", group="left-right/test/0003", margin="abc")
    assert not shown.error and "cm-verdicts" in html(shown)
    gallery = open_page(GROUPS, set="scenes/left-right", margin="abc")
    assert "no range of margins" in gallery.error[0].value and "300 of 300 groups" in text(gallery)


def test_the_link_of_a_group_is_that_of_the_group_that_is_shown(app):
    test = app(GROUPS, set="scenes/left-right", group="left-right/test/0003")
    fine(button(test, "Next").click().run())
    assert any("group=left-right/test/0004" in code.value for code in test.code)
    assert not any("group=left-right/test/0003" in code.value for code in test.code)


def test_the_link_to_a_view_names_what_is_selected_even_where_that_is_the_default(app):
    (link,) = (code.value for code in app(GROUPS).code if "set=" in code.value)
    picked = link.partition("?")[2].split("&")
    assert {"set=scenes/attribute-swap", "split=test", "model=builtin/clip"} <= {*picked}
    (link,) = (code.value for code in app(GROUPS, set="scenes/left-right").code if "set=" in code.value)
    assert link.count("set=") == 1 and "set=scenes/left-right" in link


def test_a_picture_becomes_a_figure_of_its_own_size():
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" width="320" height="200.4"><rect width="9" height="9"/></svg>'
    figure = export._svg_figure(svg)
    assert (figure.layout.width, figure.layout.height) == (320, 200)
    (image,) = figure.layout.images
    assert b64decode(image.source.partition(",")[2]) == svg and (image.sizex, image.sizey) == (1, 1)


def test_the_gallery_promises_what_its_cards_and_its_table_have(app):
    told = text(app("pages/1_Groups.py", set="scenes/left-right"))
    assert "Every group, with verdicts. Open one for its scores." in told


def test_a_button_to_another_page_changes_nothing_of_its_own(monkeypatch):
    """Its sidebar would write the other page's set into the address that Back returns to."""

    def page():
        import streamlit as st

        from ui.selection import page_button

        st.session_state.setdefault("set", "scenes/left-right")
        page_button("Go", "pages/1_Groups.py", {"set": "scenes/word-order", "tag": []})

    monkeypatch.setattr("streamlit.switch_page", lambda page, query_params: streamlit.stop())
    test = AppTest.from_function(page).run()
    test.button[0].click().run()
    assert test.session_state["set"] == "scenes/left-right"
    assert test.session_state["carried"] == {"set": "scenes/word-order", "tag": []}


def test_every_figure_that_is_exported_says_what_it_was_measured_on():
    """Those of runs, the ladder and Compare had neither title nor note: a slide has nothing else."""
    places = [path for folder in ("ui", "pages") for path in sorted((ROOT / folder).rglob("*.py"))]
    calls = [
        (f"{path.name}:{node.lineno}", node)
        for path in places
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("export_section")
    ]
    named = {where: {word.arg for word in node.keywords} for where, node in calls}
    without = [
        where
        for where, node in calls
        if (len(node.args) > 2 or "figures" in named[where]) and not {"title", None} & named[where]
    ]
    assert len(calls) > 12 and not without


def test_the_threshold_has_as_many_digits_as_its_step(app, monkeypatch):
    """On scores of the size of cosines 0.012 was shown as 0.01."""
    small = ui.evaluate(ui.whole_test_set("scenes/left-right", "builtin/clip"))
    scores = small.scores / small.scores.max() / 10
    monkeypatch.setattr("ui.evaluate", lambda selection: Evaluation.of(scores, small.truth, small.ids))
    slider = app(MATCHING, set="scenes/left-right").slider(key="tau")
    digits = int(re.fullmatch(r"%\.(\d+)f", slider.proto.format)[1])
    assert slider.step == pytest.approx(10.0**-digits) and slider.step < 0.01


def test_one_margin_far_above_the_others_leaves_the_slider_of_the_threshold_to_them(app, monkeypatch):
    """The slider ended at 2000 where 299 of 300 margins are at most 2: all that it could tell apart was one pixel."""
    scores = np.zeros((300, 2, 2))
    scores[:, 0, 0] = np.r_[np.linspace(0.01, 2, 299), 2000]  # the margin of each group
    found = Evaluation.of(scores, np.tile([0, 1], (300, 1)), [f"g{i}" for i in range(300)])
    monkeypatch.setattr("ui.evaluate", lambda selection: found)
    test = app(MATCHING, set="scenes/left-right")
    assert 1.9 < test.slider(key="tau").max <= 2.1 and test.slider(key="tau").step < 0.1
    (whole,) = [each for each in test.toggle if each.label == "Up to the largest margin, 2,000"]
    assert not whole.value
    fine(whole.set_value(True).run())
    assert test.slider(key="tau").max == 2000
    linked = app(MATCHING, set="scenes/left-right", tau="500")
    assert linked.slider(key="tau").max == 2000 and linked.slider(key="tau").value == 500
    assert "1 of 300 groups" in plain(linked)


def test_pages_that_buttons_set_are_no_warning_in_the_log():
    """Each first page of Groups that a button had opened logged a stack of Streamlit's `check_session_state_rules`."""
    assert streamlit.config.get_option("global.disableWidgetStateDuplicationWarning")


def test_on_a_phone_the_table_by_tag_ends_between_two_columns(app):
    """Its interval was cut within a number: the table has 356 pixels there."""
    (table,) = app(MATCHING, set="scenes/left-right", model="builtin/clip").dataframe
    widths = {name: column.get("width") for name, column in json.loads(table.proto.columns).items()}
    assert sum(widths[name] for name in ("relation", "groups", "GroupScore", "GroupMatch")) == 356


def test_the_table_by_tag_begins_with_one_that_every_group_has_and_names_groups_without_a_value(app):
    """It began with a tag that 299 of 400 groups do not have, whose largest row had no name."""
    lines = ["group,image,caption,score,match,seldom,kind"]
    for i in range(40):
        seldom = {0: "rare", 1: "scarce"}.get(i, "")
        lines += [
            f"g{i},{m},{k},{int(m == k)},{int(m == k)},{seldom},{'ab'[i % 2]}" for m in (0, 1) for k in (0, 1)
        ]
    UploadStore().add("s.csv", "\n".join([*lines, ""]).encode(), "")
    test = app(MATCHING, set="upload/s.csv")
    assert test.selectbox(key="by").value == "kind"
    test = fine(test.selectbox(key="by").set_value("seldom").run())
    (shown,) = [each.value for each in test.dataframe if "seldom" in each.value]
    assert shown["seldom"].tolist() == ["rare", "scarce", "(none)"] and shown["groups"].tolist() == [1, 1, 38]
    assert "38 groups" in plain(app(MATCHING, set="upload/s.csv", tag="seldom: (none)"))


def test_the_table_by_tag_shows_every_metric_on_request(app):
    """The command printed five, the page two."""
    test = app(MATCHING, set="scenes/left-right", model="builtin/clip")
    (table,) = [each.value for each in test.dataframe if "groups" in each.value]
    assert [name for name in table if name in SHOWN_BY_TAG] == ["GroupScore", "GroupMatch"]
    test = fine(test.toggle(key="by_every_metric").set_value(True).run())
    (table,) = [each.value for each in test.dataframe if "groups" in each.value]
    assert [name for name in table if name in SHOWN_BY_TAG] == SHOWN_BY_TAG
    assert {f"{name} 95 %" for name in SHOWN_BY_TAG} <= {*table}
    evaluation = ui.evaluate(ui.whole_test_set("scenes/left-right", "builtin/clip"))
    part = evaluation.slices(table.columns[0])[table.columns[0]][table.iloc[0, 0]]
    assert table["TextScore"].iloc[0] == pytest.approx(part.metrics["text_score"].value, abs=0.051)


def test_the_table_by_tag_rounds_a_half_as_the_cards_do(app):
    """23 of 80 groups are 28.75 %: the browser, which has it a hair below, made 28.7 of it, beside a card of 28.8."""
    lines = ["group,image,caption,score,match,kind"]
    for i in range(160):
        lines += [
            f"g{i},{m},{k},{int(m == k) * (i < 23)},{int(m == k)},{'ab'[i // 80]}"
            for m in (0, 1)
            for k in (0, 1)
        ]
    UploadStore().add("halves.csv", "\n".join([*lines, ""]).encode(), "")
    test = app(MATCHING, set="upload/halves.csv")
    (table,) = [each.value for each in test.dataframe if "groups" in each.value]
    assert table["GroupScore"].tolist() == [28.8, 0.0] and _pct(28.75) == "28.8"


SHOWN_BY_TAG = ["TextScore", "ImageScore", "GroupScore", "GroupMatch", "IndividualMatch"]


def test_the_table_of_groups_has_their_captions(app):
    table = app("pages/1_Groups.py", set="scenes/left-right", layout="Table").dataframe[0].value
    first = load("scenes/left-right")[0]
    assert table["captions"].iloc[0] == " / ".join(first.captions)
    assert [*table.columns].index("captions") == [*table.columns].index("margin") - 1


def test_what_is_wrong_with_margins_is_said_below_their_field(open_page):
    """It stood above the panel, which covered what it was about."""
    test = open_page("pages/1_Groups.py", set="scenes/left-right", margin="wide")
    (panel,) = [each for each in test.get("popover") if each.proto.popover.label.startswith("Filters")]
    (error,) = test.error
    assert error.value in [each.value for each in panel.error] and panel.proto.popover.icon.endswith("error:")


@pytest.mark.parametrize("page", ["1", "2", "3"])
def test_margins_of_all_cards_in_view_have_the_same_decimals(app, page):
    """One had a decimal more where its own totals took one."""
    test = app("pages/1_Groups.py", set="scenes/left-right", page=page)
    found = re.findall(r"margin \d+\\?\.(\d+)", text(test))
    assert len(found) == 12 and {len(each) for each in found} == {3}  # on every page, not the most in view


def test_the_line_of_what_is_selected_has_the_kind_of_scores_in_its_help_alone(app):
    """“(ITCScore)” behind the model's name says nothing to whoever comes first."""
    line = next(
        each
        for each in app("pages/1_Groups.py", set="scenes/left-right").caption
        if " · test · " in each.value
    )
    assert line.value.endswith("builtin/clip") and "ITCScore: " in line.help


def test_while_a_student_predicts_the_gallery_hides_what_the_model_makes_of_groups_not_yet_revealed(app):
    """Its cards had every verdict: the answer to the question in the group that they open."""
    test = fine(
        app(GROUPS, set="scenes/left-right", group="left-right/test/0003")
        .toggle(key="predict")
        .set_value(True)
        .run()
    )
    test = fine(test.button(key="to-gallery").click().run())
    assert "Verdicts are hidden" in text(test) and test.toggle(key="predict").value
    assert "GroupMatch" not in html(test) and "have a smaller one" not in text(test)
    config = fine(test.segmented_control(key="layout").set_value("Table").run()).dataframe[0].proto.columns
    assert '"GroupMatch": {"hidden": true' in config and '"margin": {"hidden": true' in config
    assert "right, ✗ wrong" not in text(test)


def test_a_group_says_which_of_its_words_the_model_never_read(app):
    where = {"set": "scenes/attribute-swap", "group": "attribute-swap/test/0240"}
    assert "builtin/clip never read “rubber” in training" in text(app(GROUPS, **where))
    assert "never read" not in text(app(GROUPS, **where, model="builtin/blip-itm"))
