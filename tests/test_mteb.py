"""Models that MTEB wraps: the numbers of its own wrapper, and what is refused."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from mteb_model import wrap_for_mteb
from test_scorer_contract import ALL, CAPTIONS, IMAGES

from core.base.errors import InputError
from core.base.public_mode import check_source
from core.scoring.load import load_scorer


def test_without_the_library_and_on_a_public_server_a_name_of_its_models_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "mteb", None)
    with pytest.raises(InputError, match="needs the library mteb; install it"):
        load_scorer("mteb:openai/clip-vit-base-patch32", "cpu")
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    with pytest.raises(InputError, match="not available on this server"):
        check_source("mteb:openai/clip-vit-base-patch32")


def test_scores_are_cosines_of_the_models_embeddings(mteb, make):
    wrap_for_mteb("tiny/clip", make("clip"))
    clip = load_scorer(str(make("clip")), "cpu")
    found = load_scorer("mteb:tiny/clip", "cpu").score(IMAGES, CAPTIONS, ALL)
    np.testing.assert_allclose(
        found * float(clip.scale.detach().exp()), clip.score(IMAGES, CAPTIONS, ALL), rtol=1e-4
    )


def test_what_mteb_does_not_know_and_a_model_of_texts_are_one_sentence(mteb, make):
    with pytest.raises(InputError, match=r"model of MTEB 'openai/clip-vit-base-patch33'.*patch32"):
        load_scorer("mteb:openai/clip-vit-base-patch33", "cpu")
    wrap_for_mteb("tiny/words", make("clip"), modalities=["text"])
    with pytest.raises(InputError, match="reads text and no images beside texts"):
        load_scorer("mteb:tiny/words", "cpu")


def test_a_wrapper_that_runs_code_of_a_repository_or_fails_is_one_sentence(mteb, make, tmp_path):
    from transformers import dynamic_module_utils

    run = dynamic_module_utils.get_class_in_module

    def own_code(*_, **__):
        return dynamic_module_utils.get_class_in_module("Model", "modeling.py")

    def fails(*_, **__):
        raise KeyError("a\nb")

    for loader, says in (
        (own_code, "runs code from its own repository"),
        (fails, "wrapper of mteb:tiny/bad fails"),
    ):
        wrap_for_mteb("tiny/bad", make("clip"), loader=loader)
        with pytest.raises(InputError, match=says) as caught:
            load_scorer("mteb:tiny/bad", "cpu")
        assert "\n" not in str(caught.value)
    assert dynamic_module_utils.get_class_in_module is run


def test_a_model_with_several_vectors_for_an_input_is_refused(mteb, make):
    class Many:
        def encode(self, inputs, **_):
            return torch.ones(len(inputs.dataset), 3, 4)  # as ColPali's

    wrap_for_mteb("tiny/many", make("clip"), loader=lambda *_, **__: Many())
    with pytest.raises(InputError, match=r"embeddings of shape \(4, 3, 4\)"):
        load_scorer("mteb:tiny/many", "cpu").score(IMAGES, CAPTIONS, ALL)
