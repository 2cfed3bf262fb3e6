"""The page Audit, driven without a browser: verdicts, groups that open, what it is not for."""

from __future__ import annotations

from driving import fine, text

from core.base.public_mode import MAX_SETTINGS
from core.datasets import load

AUDIT = "pages/10_Audit.py"


def test_it_shows_faults_first_and_opens_their_groups(app):
    test = app(AUDIT, set="scenes/word-order")
    shown = text(test)
    assert test.header[0].value.startswith("4 faults, ")
    assert "Does builtin/blind\\-lm solve it without looking?" in shown
    assert "Does the length of a caption give it away?" not in shown  # sound, and closed
    first = next(b for b in test.button if b.label.startswith("word\\-order/test"))
    fine(first.click().run())
    assert test.title[0].value == "Groups"
    assert test.selectbox("group").value == first.label.replace("\\", "")


def test_a_public_server_audits_built_in_sets_from_shipped_scores(app, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    assert "1 fault, " in app(AUDIT, set="scenes/relations-1x4").header[0].value
    assert MAX_SETTINGS["groups"] >= 300  # or no built-in set could be audited


def test_a_filter_by_tags_audits_the_groups_that_it_leaves(app):
    count = len(load("scenes/relations-1x4").where(relation="behind"))
    shown = text(app(AUDIT, set="scenes/relations-1x4", tag="relation: behind"))
    assert count < 300 and f"split test: {count} groups of 1x4" in shown.replace("\\", "")
