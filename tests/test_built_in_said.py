"""What a built-in model is stands wherever one meets it: its name is that of a well-known model, which it is not."""

from __future__ import annotations

import pytest
from driving import text

from ui.built_in import built_in_said

CLIP = "builtin/clip is a small model of CLIP's kind, trained here on rendered scenes only; it is not OpenAI's CLIP."


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("builtin/clip", CLIP),
        (
            "builtin/siglip",
            "builtin/siglip is a small model of SigLIP's kind, trained here on rendered scenes only; it is not "
            "Google's SigLIP.",
        ),
        (
            "itm:builtin/blip-itm",
            "builtin/blip-itm is a small model of BLIP's kind, trained here on rendered scenes only; it is not "
            "Salesforce's BLIP.",
        ),
        (
            "builtin/blind-lm",
            "builtin/blind-lm is a small language model, trained here on the captions of rendered scenes only.",
        ),
        ("openai/clip-vit-base-patch32", ""),
        ("run/3f2a", ""),
    ],
)
def test_a_built_in_model_is_told_from_the_one_whose_name_it_has(model, said):
    assert built_in_said(model) == said


@pytest.mark.parametrize(
    ("page", "query"),
    [(None, {}), ("pages/0_Lessons.py", {"lesson": "matrix"})],
)
def test_home_and_the_first_lesson_say_what_the_built_in_model_is(app, page, query):
    assert CLIP in text(app(page, **query))


@pytest.mark.parametrize("page", ["1_Groups", "2_Matching", "3_Debias", "4_Test-Time_Matching", "6_Compare"])
def test_the_line_below_the_title_and_the_models_field_say_what_a_built_in_model_is(app, page):
    test = app(f"pages/{page}.py", set="scenes/left-right", model="builtin/clip")
    said = built_in_said(test.session_state["model"])  # Debias chooses another by itself, which has a prior
    assert said and any(said in (caption.proto.help or "") for caption in test.caption)
    assert "none is OpenAI's CLIP" in test.selectbox(key="model").proto.help


def test_papers_say_above_the_claims_and_below_the_figure_what_here_is(app):
    said = text(app("pages/7_Papers.py", paper="Test-Time Matching"))
    assert said.index("may hold with the paper's") < said.index("hold here**")
    assert "“here”: small built-in models on built-in sets" in said
