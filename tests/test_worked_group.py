"""Matching works one group through: which one it is, what its numbers say, and when there is none."""

import io
import re

import numpy as np
import pytest
from driving import button, fine, html, text

from core.exchange.uploads import UploadStore
from ui.worked_group import TITLE, worked_example

MATCHING = "pages/2_Matching.py"


def matching_of(app, scores):
    """The page with a file of these scores; caption i is that of image i."""
    data = io.BytesIO()
    np.savez(data, scores=np.array(scores, dtype=float))
    return fine(app(MATCHING, set=f"upload/{UploadStore().add('own.npz', data.getvalue()).name}"))


def worked(test):
    """What the page says of the group in plain text; "" where it shows none."""
    (said,) = [
        body for body in (e.proto.body for e in test.get("html")) if '<div class="cm-worked"' in body
    ] or [""]
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", said).replace("&gt;", ">")).strip()


GROUP_MATCH_ALONE = [[5.0, 3.0], [4.0, 3.5]]  # 8.5 > 7; image B prefers caption 1


def test_matching_shows_the_sums_and_the_comparison_that_groupscore_loses(app):
    test = matching_of(app, [[[2, 1], [1, 2]], GROUP_MATCH_ALONE, [[1, 2], [2, 1]]])
    said = worked(test)
    assert TITLE in text(test)
    assert "✓ GroupMatch total of the true matching against the best other:" in said
    assert "5.00 + 3.50 = 8.50 > 3.00 + 4.00 = 7.00: margin 1.50." in said
    assert (
        "GroupScore TextScore" in said and "image B scores 4.00 with caption 1, and 3.50 with its own" in said
    )
    button(test, "Open Group 1").click().run()
    assert not test.exception


def test_the_group_has_the_median_margin_of_those_that_groupmatch_alone_has_right(app):
    """Margins 0.5, 1.5 and 9.5: the middle one, not the last, nor the one of the mean, nor a group that both have."""
    scores = [[[9, 1], [1, 9]]] + [[[first, 3.0], [4.0, 3.5]] for first in (4, 13, 5)]
    assert "margin 1.50" in worked(matching_of(app, scores))


def test_a_group_whose_shown_numbers_add_up_goes_before_one_nearer_to_the_median(app):
    """5.004 + 3.504 = 8.508 is 0.002 from 8.51, of 5.00 + 3.50 = 8.50; a reader would find another margin."""
    rounded = [[5.0049, 3.0051], [4.0051, 3.5049]]  # shown 5.00 + 3.50 - 3.01 - 4.01 = 1.48, margin 1.4996
    said = worked(matching_of(app, [[[4.9, 3.0], [4.0, 3.5]], rounded, [[5.2, 3.0], [4.0, 3.5]]]))
    assert "margin 1.40" in said or "margin 1.70" in said


def test_every_shown_example_of_the_built_in_sets_adds_up(app):
    for name in ("scenes/left-right", "scenes/attribute-swap"):
        said = worked(fine(app(MATCHING, set=name)))
        first, second, true, third, fourth, rival, margin = map(
            float,
            re.search(
                r"other: ([\d.]+) \+ ([\d.]+) = ([\d.]+) > ([\d.]+) \+ ([\d.]+) = ([\d.]+): margin ([\d.]+)\.",
                said,
            ).groups(),
        )
        assert (first + second, third + fourth, true - rival) == pytest.approx((true, rival, margin))


def test_the_group_is_drawn_with_the_models_matching_as_on_groups(app, monkeypatch):
    """Nothing showed which image goes with which caption, but the outline of a cell; a file has no pictures to join."""
    from ui import images

    drawn = []
    whole = images.group_html.matching_html
    monkeypatch.setattr(
        images.group_html, "matching_html", lambda *args: drawn.append(args[2].matching) or whole(*args)
    )
    test = fine(app(MATCHING, set="scenes/left-right"))
    (said,) = [e.proto.body for e in test.get("html") if 'class="cm-match' in e.proto.body]
    assert (
        said.index("cm-match") < said.index("<table") < said.index("✗ GroupScore")
    )  # beside it, and below both
    assert len(drawn) == 1 and "; all right. Margin" in said  # GroupMatch has it right
    assert not worked(test).count("belongs to image")
    heads = [each.value for each in test.header]
    assert heads.index(TITLE) < heads.index("The same groups under both metrics")
    assert "cm-match" not in html(matching_of(app, [[[2, 1], [1, 2]], GROUP_MATCH_ALONE, [[1, 2], [2, 1]]]))


@pytest.mark.parametrize(
    "scores",
    [
        pytest.param([[[2, 1], [1, 2]], [[1, 2], [2, 1]]], id="both metrics agree everywhere"),
        pytest.param([[[1, 1], [1, 1]]] * 3, id="all tied"),
        pytest.param(
            np.eye(5)[None] * 3 + np.eye(5, k=1)[None] * 5 * (np.arange(5) < 1)[:, None],
            id="wider than half a page",
        ),
    ],
)
def test_matching_has_no_such_heading_where_there_is_no_such_group(app, scores):
    test = matching_of(app, scores)
    assert TITLE not in text(test) and "cm-worked" not in html(test) and not worked(test)


def test_whoever_is_to_guess_sees_no_worked_group(app, monkeypatch):
    """“Guess first” on Groups hides what the model does; a worked group would say it."""
    monkeypatch.setattr("streamlit.session_state", {"predict": True})
    assert worked_example(None) is None
