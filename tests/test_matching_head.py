"""ITM and ITC of BLIP, BLIP-2 and FLAVA on small random models, against transformers' own outputs pair by pair."""

import numpy as np
import pytest
import torch
from conftest import COLOURS, draw
from tiny_models import counted, everything

from core.base.errors import InputError
from core.scorers import score_kinds
from core.scorers.score_kinds import KINDS
from core.scoring.load import load_scorer

CAPTIONS = [
    "a red cube",
    "a blue ball and a green cone in front of the yellow cube",
    "the ball",
    "cone left of the ball",
]
MODELS = ["blip-itm", "blip2-itm", "flava"]


@pytest.fixture(scope="module")
def images():
    names = list(COLOURS)
    return [
        draw((names[i], "cube"), (names[i - 1], "ball"), size) for i, size in enumerate([(48, 40), (40, 64)])
    ]


def load(make, name, kind):
    return load_scorer(f"{kind}:{make(name)}", "cpu")


def transformers_score(scorer, name, kind, image, caption):
    """transformers' own output for one pair without padding."""
    module = scorer.module
    values = scorer.processor.image_processor(image.open(), return_tensors="pt")["pixel_values"]
    words = scorer.tokenizer(caption, return_tensors="pt")
    text = {"input_ids": words["input_ids"], "attention_mask": words["attention_mask"]}
    with torch.no_grad():
        if name == "blip-itm":
            out = module(pixel_values=values, **text, use_itm_head=kind == "itm").itm_score
        elif name == "blip2-itm":
            out = module(
                pixel_values=values, **text, use_image_text_matching_head=kind == "itm"
            ).logits_per_image
        else:
            out = module(pixel_values=values, **text, input_ids_masked=text["input_ids"], return_loss=False)
            out = out.itm_logits if kind == "itm" else out.contrastive_logits_per_image
    return float(out[0, 1] - out[0, 0]) if kind == "itm" else float(out.flatten()[0])


@pytest.mark.parametrize("kind", ["itm", "itc"])
@pytest.mark.parametrize("name", MODELS)
def test_scores_are_transformers_own_pair_by_pair(make, images, name, kind):
    scorer = load(make, name, kind)
    scores = scorer.score(images, CAPTIONS, everything(images, CAPTIONS)).reshape(len(images), -1)
    expected = [[transformers_score(scorer, name, kind, i, c) for c in CAPTIONS] for i in images]
    assert scores == pytest.approx(np.array(expected), abs=1e-5)
    assert scores.std(axis=0).min() > 1e-4 and scores.std(axis=1).min() > 1e-4


@pytest.mark.parametrize(
    ("name", "tower"),
    [("blip-itm", "vision_model"), ("blip2-itm", "vision_model"), ("flava", "flava.image_model")],
)
def test_each_image_is_encoded_once(make, images, monkeypatch, name, tower):
    for kind in ("itm", "itc"):
        scorer = load(make, name, kind)
        monkeypatch.setattr(scorer, "caption_batch", 2)
        with counted(scorer.module.get_submodule(tower)) as calls:
            scorer.score(images, CAPTIONS, everything(images, CAPTIONS))
        assert sum(calls) == len(images)


def test_each_caption_is_encoded_once_where_the_image_does_not_matter(make, images):
    scorer = load(make, "flava", "itm")
    with counted(scorer.module.flava.text_model) as calls:
        scorer.score(images, CAPTIONS, everything(images, CAPTIONS))
    assert sum(calls) == len(CAPTIONS)


def test_released_blip_models_read_captions_with_their_own_first_token(make, images, monkeypatch):
    from core.scorers import _matching_head

    scorer = load(make, "blip-itm", "itm")
    plain = scorer.score(images, CAPTIONS, everything(images, CAPTIONS))
    token = scorer.tokenizer.convert_tokens_to_ids("<begin>")
    monkeypatch.setattr(_matching_head, "BLIP_VOCABULARY", scorer.config.text_config.vocab_size)
    monkeypatch.setattr(_matching_head, "BLIP_ENC", token)
    found = scorer.score(images[:1], CAPTIONS[:1], np.array([[0, 0]]))
    ids = scorer.tokenizer(CAPTIONS[0], return_tensors="pt")["input_ids"]
    ids[:, 0] = token
    values = scorer.processor.image_processor(images[0].open(), return_tensors="pt")["pixel_values"]
    with torch.no_grad():
        logits = scorer.module(pixel_values=values, input_ids=ids, use_itm_head=True).itm_score[0]
    assert found[0] == pytest.approx(float(logits[1] - logits[0]), abs=1e-5)
    assert abs(found[0] - plain[0]) > 1e-3


def test_the_logit_keeps_apart_what_the_probability_ties():
    scores = np.array([30.0, 40.0], dtype=np.float32)
    shown = KINDS["itm"].shown(scores)
    assert shown[0] == shown[1] == 1.0 and scores[0] < scores[1]
    assert KINDS["itm"].shown(np.array([0.0, np.log(3)])) == pytest.approx([0.5, 0.75])


def test_a_flava_model_without_heads_has_its_contrastive_score_alone(make, images):
    scorer = load(make, "flava-model", "itc")
    assert scorer.score(images, CAPTIONS, everything(images, CAPTIONS)).shape == (8,)
    with pytest.raises(InputError, match="itc:"):
        load(make, "flava-model", "itm")


def test_a_model_without_a_matching_head_is_refused_in_one_sentence(make):
    with pytest.raises(InputError) as error:
        load(make, "gpt2", "itm")
    assert "gpt2" in str(error.value) and "\n" not in str(error.value)
    with pytest.raises(InputError, match="no weights for"):
        load(make, "blip-caption", "itm")


def test_keys_tell_the_two_scores_of_a_model_apart(make):
    assert load(make, "blip-itm", "itm").key != load(make, "blip-itm", "itc").key
    assert (
        score_kinds.natural_kind(make("flava")) == "itm"
        and score_kinds.natural_kind(make("flava-model")) == "itc"
    )
