"""Models of sentence-transformers: the same numbers as the library's, its prompts, and what is never opened or run."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
import torch
from test_scorer_contract import ALL, CAPTIONS, IMAGES

from core.base.errors import InputError
from core.datasets import load
from core.scorers.base import Trainable
from core.scoring.load import load_scorer, scorer_key
from core.scoring.scores import score_groups
from core.ttm.run import TTMRun


def scored(name: str, captions=CAPTIONS) -> np.ndarray:
    return load_scorer(name, "cpu").score(IMAGES, captions, ALL).reshape(4, 4)


def library(folder, captions=CAPTIONS, **prompt) -> np.ndarray:
    """Cosines as a user of the library computes them, one caption and one image at a time: nothing is padded."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    images = torch.stack([model.encode(image.open(None), convert_to_tensor=True) for image in IMAGES])
    texts = torch.stack([model.encode({"text": c}, convert_to_tensor=True, **prompt) for c in captions])
    return model.similarity(images, texts).cpu().numpy()


def test_without_the_library_a_name_of_its_models_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(InputError, match=r"needs the library sentence-transformers.*crossmatch\[sentence\]"):
        load_scorer(f"st:{tmp_path}", "cpu")


@pytest.mark.parametrize("model", ["st-dense", "st-qwen2-vl"])
def test_scores_are_the_librarys_similarities(sentence_transformers, make, model):
    folder = make(model)
    np.testing.assert_allclose(scored(f"st:{folder}"), library(folder), atol=1e-5)


def test_two_towers_score_as_the_library_does_times_the_models_own_scale(sentence_transformers, make):
    folder = make("st-clip")
    scale = float(load_scorer(f"st:{folder}", "cpu").scale.detach().exp())
    np.testing.assert_allclose(scored(f"st:{folder}"), scale * library(folder), rtol=1e-4)


def test_siglips_captions_are_padded_as_in_its_training_and_not_to_a_batchs_longest(
    sentence_transformers, make
):
    from sentence_transformers import SentenceTransformer

    np.testing.assert_allclose(scored(f"st:{make('st-siglip')}"), scored(str(make("siglip"))), rtol=1e-5)
    # The library's own embedding of a caption depends on what else is in the batch: why it is not asked.
    library = SentenceTransformer(str(make("st-siglip")), device="cpu", local_files_only=True)
    alone, beside = library.encode([CAPTIONS[0]])[0], library.encode([CAPTIONS[0], CAPTIONS[2]])[0]
    assert np.abs(alone - beside).max() > 0.01


@pytest.mark.parametrize("model", ["st-clip", "st-dense"])
def test_a_prompt_by_its_name_or_word_for_word_stands_before_the_captions(sentence_transformers, make, model):
    name = f"st:{make(model)}"
    expected = scored(name, [f"the cube : {caption}" for caption in CAPTIONS])
    for prompt in ("query", "the cube : "):
        asked = load_scorer(f"{name}?prompt={prompt}", "cpu")
        np.testing.assert_allclose(asked.score(IMAGES, CAPTIONS, ALL).reshape(4, 4), expected, rtol=1e-4)
        assert asked.key == scorer_key(f"{name}?prompt={prompt}") != scorer_key(name)
    assert np.abs(expected - scored(name)).max() > 1e-3


def test_a_chat_models_images_take_an_instruction_and_towers_refuse_one(sentence_transformers, make):
    name = f"st:{make('st-qwen2-vl')}"
    assert np.abs(scored(f"{name}?image_prompt=the+ball") - scored(name)).max() > 1e-4
    with pytest.raises(InputError, match="image tower reads no words"):
        load_scorer(f"st:{make('st-clip')}?image_prompt=the+ball", "cpu")


def test_a_caption_that_looks_like_an_images_address_is_text(sentence_transformers, make, tmp_path):
    picture = tmp_path / "secret.png"
    IMAGES[0].open(None).save(picture)
    strange = [str(picture), "http://127.0.0.1:9/a.png", "data:image/png;base64,AAAA", "the ball"]
    for model in ("st-dense", "st-clip"):
        assert np.isfinite(scored(f"st:{make(model)}", strange)).all()


def test_what_was_adapted_opens_in_the_library_with_the_same_scores(sentence_transformers, make, tmp_path):
    model = load_scorer(f"st:{make('st-clip')}", "cpu").copy()
    with torch.no_grad():
        model.module.text_projection.weight.mul_(torch.rand(32, 1, generator=torch.manual_seed(0)))
    model.save(tmp_path / "adapted")
    ours = model.score(IMAGES, CAPTIONS, ALL).reshape(4, 4)
    np.testing.assert_allclose(
        ours, float(model.scale.detach().exp()) * library(tmp_path / "adapted"), rtol=1e-4, atol=1e-4
    )
    np.testing.assert_allclose(scored(str(tmp_path / "adapted")), ours, rtol=1e-5)  # and in transformers


def test_a_built_in_set_is_scored_and_towers_can_be_adapted_to_it(sentence_transformers, make):
    groups = load("scenes/attribute-swap", "test").select(range(3))
    for model, adaptable in (("st-clip", True), ("st-dense", False)):
        scorer = load_scorer(f"st:{make(model)}", "cpu")
        assert score_groups(scorer, groups).shape == (3, 2, 2) and isinstance(scorer, Trainable) == adaptable
    assert TTMRun.of("scenes/attribute-swap", f"st:{make('st-clip')}").model == f"st:{make('st-clip')}"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"type": "custom_st.Transformer"}, "does not load"),
        ({"path": 3}, "no tokenizer|does not load"),
        (None, "no list of modules"),
    ],
)
def test_modules_that_are_no_modules_or_run_code_of_their_own_are_one_sentence(
    sentence_transformers, make, tmp_path, change, says
):
    import shutil

    shutil.copytree(make("st-clip"), tmp_path / "model")
    listed = tmp_path / "model/modules.json"
    (tmp_path / "model/custom_st.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Transformer: pass\n"
    )
    modules = json.loads(listed.read_text())
    listed.write_text("{" if change is None else json.dumps([modules[0] | change]))
    with pytest.raises(InputError, match=says) as caught:
        load_scorer(f"st:{tmp_path / 'model'}", "cpu")
    assert "\n" not in str(caught.value) and not (tmp_path / "ran").exists()


def test_a_folder_of_another_library_and_a_model_of_texts_alone_are_one_sentence(
    sentence_transformers, make, tmp_path
):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    with pytest.raises(InputError, match=r"has no modules.json, so it is no model of sentence-transformers"):
        load_scorer(f"st:{make('clip')}", "cpu")
    words = load_scorer(str(make("clip")), "cpu").tokenizer.backend_tokenizer
    SentenceTransformer(modules=[StaticEmbedding(words, embedding_dim=4)], device="cpu").save_pretrained(
        str(tmp_path), create_model_card=False
    )
    with pytest.raises(InputError, match="reads text and no images beside texts"):
        load_scorer(f"st:{tmp_path}", "cpu")


def test_a_pickle_beside_the_first_module_is_never_opened(sentence_transformers, make, tmp_path):
    import shutil

    shutil.copytree(make("st-dense"), tmp_path / "model")
    (tmp_path / "model/1_Dense/model.safetensors").unlink()
    (tmp_path / "model/1_Dense/pytorch_model.bin").write_bytes(b"no weights")
    with pytest.raises(InputError, match="never loaded, because they can run code"):
        load_scorer(f"st:{tmp_path / 'model'}", "cpu")
