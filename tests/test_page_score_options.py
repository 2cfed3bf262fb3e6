"""Options of a model's score on the pages: below the field that names the model, closed at first, part of its name."""

import pytest
from driving import PATIENCE, whole_app

from core.datasets import load
from core.metrics.evaluation import Evaluation
from core.scorers.score_options import ScoreOptions
from core.scoring.load import load_scorer, scorer_kind

PLACE = ["Device", "Batch"]
FIELDS = {
    "builtin/clip": [],
    "builtin/blip-itm": PLACE,
    "builtin/blip-caption": ["Caption prompt", "End token counts", *PLACE],
    "builtin/blip-vqa": ["VQA question", *PLACE],
    "vqa-log:builtin/blip-vqa": ["VQA question", *PLACE],
    "blind:builtin/blip-caption": [
        *("Caption prompt", "End token counts", "Mean of noise images", "Standard deviation of noise images"),
        *("Noise images", *PLACE),
    ],
}


@pytest.fixture
def opened(fresh_pages, monkeypatch):
    """Opens a page on three groups of the built-in world."""
    whole = load
    monkeypatch.setattr("core.datasets.load", lambda *args, **more: whole(*args, **more).select(range(3)))

    def start(page="2_Matching", **query):
        test = whole_app()
        for name, value in {"set": "scenes/left-right", **query}.items():
            test.query_params[name] = value
        return fine(test.switch_page(f"pages/{page}.py").run())

    return start


def fine(test):
    assert not test.exception and not [e.value for e in test.error]
    return test


def fields(test):
    """The fields of the options by their labels."""
    known = {label for labels in FIELDS.values() for label in labels}
    return {f.label: f for f in (*test.text_input, *test.selectbox) if f.label in known}


def use(test):
    return next(b for b in test.button if b.label == "Use these options").click().run(timeout=PATIENCE)


def with_form(test, key="model"):
    assert not fields(test)  # what is closed is not drawn
    test.session_state[f"{key}-options"] = True
    return fine(test.run())


@pytest.mark.parametrize("model", FIELDS)
def test_a_score_shows_exactly_the_options_that_change_it(opened, model):
    test = opened(model=model)
    if not FIELDS[model]:
        assert "Score options" not in [e.label for e in test.expander]
        return
    labels = list(fields(with_form(test)))
    kind = scorer_kind(model)
    assert sorted(labels) == sorted(FIELDS[model])
    assert len(labels) == sum(
        ScoreOptions.changes(name, kind)
        for name in ("prompt", "image_prompt", "end", "question", "mean", "std", "count", "device", "batch")
    )


def test_the_vqa_question_is_asked_and_stands_in_the_address(opened, monkeypatch):
    model, scored, whole = "builtin/blip-vqa?question=is+there+{caption}+in+it%3F&batch=2", {}, Evaluation.of
    # AppTest knows no value of a select box that is not among its options, as a name with options is not.
    monkeypatch.setattr(
        "ui.selection.scorer_list", lambda: dict.fromkeys((*FIELDS, model, "builtin/blip-vqa?batch=2"), "vqa")
    )
    monkeypatch.setattr(
        "ui.loaders.Evaluation.of",
        lambda found, *a, **more: scored.update(now=found) or whole(found, *a, **more),
    )
    test = with_form(opened(model="builtin/blip-vqa"))
    plain = scored["now"]
    fields(test)["VQA question"].set_value("is there {caption} in it?")
    fields(test)["Batch"].set_value("2")
    fine(use(test))
    assert test.session_state["model"] == model
    groups = load("scenes/left-right", "test").select(range(3))
    images, captions = list(groups.groups[0].images), list(groups.groups[0].captions)
    expected = load_scorer(model).score(images, captions, [(0, 0), (0, 1), (1, 0), (1, 1)])
    assert scored["now"][0].ravel() == pytest.approx(expected, abs=1e-6)
    assert abs(scored["now"] - plain).max() > 1e-4
    assert fields(fine(test.run()))["VQA question"].value == "is there {caption} in it?"
    fields(test)["VQA question"].set_value("")
    fine(use(test))
    assert test.session_state["model"] == "builtin/blip-vqa?batch=2"


def test_a_question_without_its_caption_is_one_sentence(opened):
    test = with_form(opened(model="builtin/blip-vqa"))
    fields(test)["VQA question"].set_value("is it?")
    assert [e.value.replace("\\", "") for e in use(test).error] == [
        "The question of builtin/blip-vqa?question=is+it%3F needs {caption} where the caption stands."
    ]


def test_the_options_of_a_captioner_stand_on_debias_and_in_its_command(opened, monkeypatch):
    given = {}
    monkeypatch.setattr("ui.debias_alpha.export_section", lambda name, *a, **more: given.update({name: more}))
    test = with_form(opened("3_Debias", model="builtin/blip-caption", samples="1"))
    fields(test)["Caption prompt"].set_value("a view of")
    fields(test)["End token counts"].set_value("no")
    fine(use(test))
    model = "builtin/blip-caption?prompt=a+view+of&end=no"
    assert test.session_state["model"] == model
    curves = [more for more in given.values() if "label" not in more][-1]
    assert curves["command"].endswith(f"--model '{model}' --prior gaussian --samples 1")


def test_the_second_model_of_compare_has_options_too(opened):
    test = opened("6_Compare", model="builtin/clip", other="builtin/blip-vqa")
    fields(with_form(test, "other"))["VQA question"].set_value("is it {caption}?")
    fine(use(test))
    assert test.session_state["other"] == "builtin/blip-vqa?question=is+it+{caption}%3F"
    assert test.session_state["model"] == "builtin/clip"


def test_visitors_see_no_options_of_a_score(opened, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    assert "Score options" not in [e.label for e in opened(model="builtin/blip-vqa").expander]
