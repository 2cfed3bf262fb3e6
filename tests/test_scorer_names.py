"""Every kind of score by one name and one path, to the same page; large models are freed before others are loaded."""

import weakref

import numpy as np
import pytest
from driving import whole_app

from core.base.errors import InputError
from core.scorers.score_kinds import KINDS, kinds_of
from core.scoring import load as scorers
from core.scoring.load import builtin_models, load_scorer, model_folder, scorer_kind, scorer_names


@pytest.mark.parametrize(
    ("kind", "name"), [("itm", "blip-itm"), ("vgpt", "llava"), ("vqa", "blip-vqa"), ("lm", "gpt2")]
)
def test_every_kind_of_score_is_shown_by_the_same_groups_page(fresh_pages, make, monkeypatch, kind, name):
    from core.datasets import load

    asked, whole = f"{kind}:{make(name)}", load
    monkeypatch.setattr("core.datasets.load", lambda *args, **more: whole(*args, **more).select(range(4)))
    monkeypatch.setattr("ui.selection.scorer_list", lambda: {asked: kind})
    test = whole_app()
    for key, value in {"set": "scenes/left-right", "model": asked}.items():
        test.query_params[key] = value
    test.switch_page("pages/1_Groups.py")
    test.query_params["group"] = whole("scenes/left-right", "test").ids[0]
    test.run()
    assert not test.exception and not test.error
    shown = "\n".join(e.proto.body for e in test.get("html"))
    assert "GroupMatch" in shown and "cm-match" in shown


def test_the_built_in_models_are_listed_with_every_score_they_give():
    found = scorer_names()
    assert set(builtin_models()) <= set(found)
    assert set(found.values()) <= set(KINDS)
    for name, kind in found.items():
        assert scorer_kind(name) == kind
        assert model_folder(name) in builtin_models().values()


def test_a_model_is_listed_by_its_own_kind_and_others_by_prefix(make, monkeypatch):
    monkeypatch.setattr("core.scoring.load.builtin_models", lambda: {str(make("blip-itm")): make("blip-itm")})
    name = str(make("blip-itm"))
    assert scorer_names() == {name: "itm", f"itc:{name}": "itc"}
    assert kinds_of(make("blip-caption")) == ("vgpt", "blind")
    assert kinds_of(make("blip-vqa")) == ("vqa", "vqa-log")
    with pytest.raises(InputError, match="no folder"):
        scorer_kind("/nowhere/at/all")


def test_a_large_model_is_freed_before_the_next_is_loaded_and_small_ones_stay(make, monkeypatch):
    monkeypatch.setattr(scorers, "_cached", type(scorers._cached)())
    first = weakref.ref(load_scorer(str(make("blip-caption")), "cpu").module)
    held = []
    plain = scorers._load
    monkeypatch.setattr(scorers, "_load", lambda *args: held.append(first() is None) or plain(*args))
    load_scorer(str(make("blip-itm")), "cpu")
    assert held == [False]  # small: both stay
    monkeypatch.setattr(scorers, "SMALL_MODEL_BYTES", 1000)  # bytes: now every model is large
    load_scorer(str(make("blip-vqa")), "cpu")
    assert held == [False, True] and len(scorers._cached) == 1


def test_a_blind_scorers_weights_count(make):
    captioner = load_scorer(f"vgpt:{make('blip-caption')}", "cpu")
    blind = load_scorer(f"blind:{make('blip-caption')}", "cpu")
    size = 4 * sum(np.prod(p.shape) for p in captioner.module.parameters())
    assert scorers._weight(blind) == scorers._weight(captioner) == size
