"""The retrieval page's sets of choices: each caption with its own few images, driven from app.py."""

import json

import numpy as np
import pytest
from conftest import COLOURS, draw
from driving import html, text
from typer.testing import CliRunner

from core.cli import app as command
from core.datasets.sets import RetrievalSet
from core.scorers.cola_config import PROTOCOL_BASE
from ui import choices

PAGE = "pages/5_Retrieval.py"
SET = "spec/count-text-to-image"


@pytest.fixture
def spec(tmp_path, monkeypatch, fresh_pages) -> str:
    """Twelve captions in SPEC's layout, each with three images of its own; every third shares its images."""
    folder = tmp_path / "data/spec/data/count"
    folder.mkdir(parents=True)
    names, rows = list(COLOURS), []
    for i in range(12):
        keys = []
        for j in range(3):
            file = f"{3 * (i - i % 3 // 2) + j}.png"
            picture = draw(
                (names[(i + j) % 4], "cube"), (names[(i + 2 * j + 1) % 4], "ball"), (60 + i, 50 + j)
            )
            if not (folder / file).is_file():
                (folder / file).write_bytes(picture.data)
            keys.append(file)
        rows.append({"query": f"a {names[i % 4]} cube & a <b>ball</b> {i}", "keys": keys, "label": i % 3})
    (folder / "text2image.json").write_text(json.dumps(rows))
    monkeypatch.setenv("CROSSMATCH_DATA", str(tmp_path / "data"))
    return SET


def measured(name: str, *more: str) -> dict:
    done = CliRunner().invoke(command, ["recall", name, "--json", *more])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["metrics"]["image_choice"]


def test_the_page_shows_what_the_command_measures_and_each_caption_with_its_candidates(app, spec):
    test = app(PAGE, rset=spec)
    found = measured(spec, "--model", PROTOCOL_BASE)
    assert test.metric[0].value == f"{found['value']:.1f} %"
    shown = text(test)
    assert f"95 %: {found['low']:.1f}–{found['high']:.1f}" in shown and "chance 33.3" in shown
    by = found["clustered"]
    assert f"by image {by['low']:.1f}–{by['high']:.1f}" in shown
    assert "12 captions over" in shown and f"as {by['clusters']} clusters" in shown
    page = html(test)
    assert page.count("<h3") == 5 and page.count("cm-ranked") == 15 and page.count("✓ right image") == 5
    assert "<b>ball</b>" not in page and "&lt;b&gt;ball" in page  # a caption is text
    assert "<h3" in page and "distractors" not in shown


def test_candidates_stand_by_score_and_the_right_one_is_the_sets(app, spec):
    found = choices.load_set(spec)
    each = choices.scored(found, "builtin/clip")
    for query in range(len(found.queries)):
        order = each.order(query)
        assert list(each.scores[query, order]) == sorted(each.scores[query], reverse=True)
        (right,) = np.flatnonzero(found.right_choices[query])
        assert right == query % 3
        assert (each.outcomes()[query] == "right") == (order[0] == right)
    table = choices.choice_table({"builtin/clip": each})
    assert len(table) == 36 and table["right"].sum() == 12
    first = table[table["rank"] == 1]
    assert (first["right"] == (first["outcome"] == "right")).all()


def test_among_equal_scores_the_right_image_comes_last_and_the_caption_is_tied():
    found = RetrievalSet.of_choices("toy", "test", [("a", "xyz", 0), ("b", "xy", 0), ("c", "yz", 1)])
    scores = np.array([[1.0, 1.0, 0.0], [2.0, 1.0, 0.0], [3.0, 1.0, 0.0]])
    each = choices.Choices(found, scores)
    assert [each.order(i) for i in range(3)] == [[1, 0, 2], [0, 1], [0, 1]]
    assert each.outcomes().tolist() == ["tied", "right", "wrong"]
    assert "no image scores higher" in choices._verdict(each, 0)
    assert "is number 2 of 2" in choices._verdict(each, 2)


def test_filters_and_pages_are_in_the_address(app, spec):
    told = choices.scored(choices.load_set(spec), PROTOCOL_BASE).outcomes()
    for outcome in ("right", "wrong"):
        count = int((told == outcome).sum())
        test = app(PAGE, rset=spec, outcome=outcome)
        assert f"{count} of 12 captions" in text(test) or "No caption passes" in text(test)
        assert html(test).count("<h3") == min(count, 5)
    assert html(app(PAGE, rset=spec, words="CUBE 7")).count("<h3") == 1
    assert html(app(PAGE, rset=spec, page="3")).count("<h3") == 2
    assert html(app(PAGE, rset=spec, page="9")).count("<h3") == 5
    assert "No caption passes" in text(app(PAGE, rset=spec, words="zebra"))


def test_two_models_are_compared_pair_by_pair(app, spec):
    test = app(PAGE, rset=spec, right="builtin/siglip")
    assert len(test.metric) == 2 and html(test).count("cm-few") == 10
    assert "points (95 % interval" in text(test) and ", by image " in text(test)


def test_where_all_captions_hang_together_no_interval_by_image_is_shown(app, spec, monkeypatch):
    whole = choices.load_set(spec)
    pool = [(query, whole.images[i : i + 3], 0) for i, query in enumerate(whole.queries)]
    monkeypatch.setattr(choices, "load_set", lambda *_: RetrievalSet.of_choices("pool", "test", pool))
    shown = text(app(PAGE, rset=spec, right="builtin/siglip"))
    assert "holds 100 % of them" in shown and "by image " not in shown.replace("interval by image can", "")


def test_a_set_that_is_not_here_says_how_to_get_it_and_other_sets_are_as_before(
    open_page, app, tmp_path, monkeypatch
):
    monkeypatch.setenv("CROSSMATCH_DATA", str(tmp_path / "none"))
    test = open_page(PAGE, rset="svo-probes/verb")
    assert not test.exception and "is not here" in test.error[0].value
    assert "distractors" in text(app(PAGE))


def test_no_set_of_choices_is_offered_on_a_public_server(monkeypatch):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    assert choices.available_sets() == []


def test_the_split_that_has_answers_is_measured_and_is_in_the_command(monkeypatch, fresh_pages):
    asked = []
    toy = RetrievalSet.of_choices(
        "imagecode/full (validation)", "validation", [("a", "xyz", 0), ("b", "xw", 1)]
    )
    monkeypatch.setattr(choices.datasets, "load_retrieval", lambda *given: asked.append(given) or toy)
    whole = choices.load_set("imagecode/full")
    assert asked == [("imagecode/full", "validation")]
    words = "crossmatch recall imagecode/full --model builtin/clip --split validation"
    assert choices._command(whole, "builtin/clip") == words
    assert choices._command(choices.load_set("imagecode/full", 3), "builtin/clip") == f"{words} --items 3"
