"""The page Audit, driven without a browser: verdicts, groups that open, what it is not for."""

from __future__ import annotations

from urllib.parse import parse_qs

import numpy as np
import pytest
from driving import fine, text

from core.audit import Audit
from core.base.public_mode import MAX_SETTINGS
from core.datasets import load
from core.datasets.score_files import write_scores
from core.exchange.uploads import UploadStore

AUDIT = "pages/10_Audit.py"


def plain(text: str) -> str:
    """Without the escapes of Markdown and the spaces that keep a number and its unit together."""
    return text.replace("\\", "").replace("\u00a0", " ")


def test_the_answer_comes_first_and_a_row_opens_on_its_evidence(app):
    test = app(AUDIT, set="scenes/word-order")
    assert plain(test.subheader[0].value) == "Not sound: it can be solved without its images."
    assert "4 faults: the caption with the likeliest word pairs is right in 100 % (chance 20 %)" in plain(
        text(test)
    )
    rows = [plain(row.label) for row in test.expander if "badge" in row.label]
    assert "a fault" in rows[0] and "sound" in rows[-1]
    assert all("chance 20.0 %" in row for row in rows[:4])  # with its interval and ties
    assert not group_links(test)  # closed rows are not drawn
    test.session_state["check-blind builtin/blind-lm"] = True
    label, query = group_links(fine(test.run()))[0]
    there = app("pages/1_Groups.py", **{key: value for key, (value,) in parse_qs(query).items()})
    assert there.selectbox("group").value == label and there.selectbox("set").value == "scenes/word-order"


def test_above_the_groups_of_a_check_stands_what_they_have_in_common(app):
    """Twelve buttons stood without a word under a check that had found nothing."""
    for name, told in (
        (
            "scenes/relations-1x4",
            {
                "order": "12 groups to look at: in each no other caption has the words of the right one.",
                "agreement": "3 groups to look at: none of the models solves them.",
                "pictures": "12 groups to look at: the rule is right in each of them.",
            },
        ),
        (
            "scenes/attribute-swap",
            {
                "contradictions": "12 groups to look at: each has a right caption that is right of another image too."
            },
        ),
    ):
        test = app(AUDIT, set=name)
        for key in told:
            test.session_state[f"check-{key}"] = True
        lines = [each.value for each in fine(test.run()).caption]
        assert all(line in lines for line in told.values())


def group_links(test) -> list[tuple[str, str]]:
    """Label and query of every link to a group: links, which a phone can open in another tab."""
    found = [link.proto for link in test.get("page_link")]
    return [(plain(link.label), link.query_string) for link in found if "word" in link.label]


def test_a_public_server_audits_built_in_sets_from_shipped_scores(app, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    test = app(AUDIT, set="scenes/relations-1x4")
    assert plain(test.subheader[0].value).startswith("Sound enough to compare models that differ by ")
    assert "No fault found. One limit: a model that is blind to word order reaches" in plain(text(test))
    assert MAX_SETTINGS["groups"] >= 300  # or no built-in set could be audited


@pytest.mark.slow
def test_the_benchmark_of_an_uploaded_file_is_offered_and_its_size_is_said(app, tmp_path):
    groups = load("scenes/left-right").select(np.arange(50))
    file = tmp_path / "mine.csv"
    write_scores(file, np.random.default_rng(0).normal(size=(50, 2, 2)), groups.ids, groups.truth)
    test = app()
    UploadStore().add("mine.csv", file.read_bytes())
    test = app(AUDIT, set="upload/mine.csv")
    assert test.selectbox("home-upload/mine.csv").value == "scenes/left-right"
    assert "On 50 independent groups" not in text(test)  # closed
    assert "No: only models that differ by 15.4 points or more are told apart" in plain(
        test.expander[0].label
    )
    fine(next(b for b in test.button if b.label == "Audit scenes/left-right").click().run())
    assert test.selectbox("set").value == "scenes/left-right"
    assert test.selectbox("model").value == "upload/mine.csv"
    assert test.subheader[0].value.startswith("Sound enough")


def test_the_benchmark_of_a_file_may_be_one_that_is_not_here_and_one_of_other_groups_is_not_audited(
    app, tmp_path
):
    file = tmp_path / "wino.csv"
    ids = [f"{i}" for i in range(400)]
    write_scores(file, np.random.default_rng(0).normal(size=(400, 2, 2)), ids)
    test = app()
    UploadStore().add("wino.csv", file.read_bytes())
    test = app(AUDIT, set="upload/wino.csv")
    assert "winoground has as many: 400 groups of 2×2." in plain(test.info[0].value)
    box = test.selectbox("home-upload/wino.csv")
    assert box.value is None and box.options[0] == "winoground" and "scenes/left-right" in box.options
    box.set_value("winoground").run()
    assert "winoground is not on this machine." in plain(fine(test).info[1].value)
    assert test.code[0].value == "crossmatch fetch winoground"
    test.selectbox("home-upload/wino.csv").set_value("scenes/left-right").run()
    said = plain(fine(test).warning[0].value)
    assert said.startswith(
        "These do not match: scenes/left-right has 300 groups and, by their ids, none of the 400"
    )
    assert "Audit scenes/left-right" not in [each.label for each in test.button]


def test_a_filter_by_tags_audits_the_groups_that_it_leaves(app):
    count = len(load("scenes/relations-1x4").where(relation="behind"))
    shown = text(app(AUDIT, set="scenes/relations-1x4", tag="relation: behind"))
    assert count < 300 and f"{count} groups of 1×4" in shown.replace("\\", "")


def test_every_row_answers_its_question_and_no_line_has_the_name_of_a_check(app):
    test = app(AUDIT, set="scenes/word-order")
    rows = [plain(row.label) for row in test.expander if "badge" in row.label]
    assert all(": " in row.partition("** ")[2] for row in rows)
    (order,) = [row for row in rows if "need word order?" in row]
    assert "?** Yes: a model that is blind to word order reaches up to 20.0 % (" in order
    assert not any("95 % interval" in row for row in rows)  # said once, above them
    assert plain(text(test)).count("In brackets: 95 % intervals.") == 1
    lines = plain(" ".join(each.value for each in test.caption))
    assert "blind builtin" not in lines and "1x5" not in lines and "nobody can tell" not in text(test)


def test_a_file_of_scores_with_a_group_twice_is_said_to_have_it(app):
    scores = np.random.default_rng(0).normal(size=(40, 2, 2))
    scores[[38, 39]] = scores[[3, 5]]
    rows = [
        f"g{i},{j},{k},{float(scores[i, j, k])!r},{int(j == k)}"
        for i in range(40) for j in range(2) for k in range(2)
    ]  # fmt: skip
    app()
    content = "\n".join(["group,image,caption,score,match", *rows]).encode()
    UploadStore().add("mine.csv", content)
    test = app(AUDIT, set="upload/mine.csv")
    (row,) = [each for each in test.expander if "there twice" in each.label]
    assert "a fault" in row.label and "Yes: 2 of 40 groups repeat another group" in plain(row.label)
    assert "Of the file itself only its scores and the number of groups can be checked:" in text(test)


@pytest.mark.slow
def test_what_the_verdicts_mean_is_a_closed_list_and_not_a_paragraph(app):
    test = app(AUDIT, set="scenes/attribute-swap")
    (about,) = [each for each in test.expander if each.label == "What the verdicts mean"]
    said = plain(about.markdown[0].value)
    assert not about.proto.expanded and "A limit: something that a score" in said
    assert any("232 independent groups of 300" in plain(each.value) for each in test.caption)
    assert not any("Holm" in each.value for each in test.caption)


@pytest.mark.slow
def test_where_groups_are_not_independent_the_line_of_the_intervals_says_how_many_are(app):
    """100.0 % (54.1–100.0) of 12 groups was an interval for 6, which nothing on the page said."""
    test = app(AUDIT, set="scenes/relations-1x4")
    found = Audit.of(load("scenes/relations-1x4"))
    (said,) = [plain(each.value) for each in test.caption if "95 % intervals" in plain(each.value)]
    assert found.independent < found.n and f"independent groups of {found.n}" in said


@pytest.mark.slow
def test_an_audit_says_nothing_of_the_words_that_a_model_knows(app, monkeypatch, fresh_pages):
    """It depends on no model."""
    monkeypatch.setattr("ui.page.vocabulary_note", lambda *args: "builtin/clip does not know the word zebra")
    assert "does not know the word zebra" in text(app("pages/2_Matching.py", set="scenes/left-right"))
    assert "does not know the word zebra" not in text(app(AUDIT, set="scenes/left-right"))
