"""VQAScore on small random models, against transformers' own answers to one whole question at a time."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from conftest import COLOURS, draw
from tiny_models import counted, everything

from core.base.errors import InputError
from core.scorers._vqa import Answerer
from core.scoring.load import load_scorer

CAPTIONS = [
    "a red cube",
    "a blue ball and a green cone in front of the yellow cube",
    "the ball",
    "cone left of the ball",
]
MODELS = [
    "blip-vqa",
    "blip2-opt",
    "blip2-t5",
    "instructblip-t5",
    "instructblip-llama",
    "llava",
    "qwen2-vl",
    "smolvlm",
]


@pytest.fixture(scope="module")
def images():
    names = list(COLOURS)
    return [
        draw((names[i], "cube"), (names[i - 1], "ball"), size) for i, size in enumerate([(48, 40), (40, 64)])
    ]


def load(make, name, kind="vqa"):
    return load_scorer(f"{kind}:{make(name)}", "cpu")


def transformers_answer(scorer, name, image, caption):
    """P(yes) by transformers, one question, no padding, nothing kept."""
    module, processor, pixels, asked = scorer.module, scorer.processor, image.open(), scorer.question(caption)
    yes = scorer.tokenizer.convert_tokens_to_ids("yes")
    with torch.no_grad():
        if name == "blip-vqa":
            inputs = processor(images=pixels, text=asked, return_tensors="pt")
            answer = torch.tensor([[module.config.text_config.bos_token_id, yes]])
            return float(torch.exp(-module(**inputs, labels=answer).loss))
        if name.startswith(("blip2", "instructblip")):
            text = asked if name.startswith("instruct") else f"Question: {asked} Answer:"
            inputs = processor(images=pixels, text=text, return_tensors="pt")
            if name.endswith("t5"):
                inputs["decoder_input_ids"] = torch.tensor(
                    [[module.language_model.config.decoder_start_token_id]]
                )
            logits = module(**inputs).logits[0, -1]
        else:
            inputs = processor(images=pixels, text=[scorer.prompt(asked)], return_tensors="pt")
            logits = module(**inputs).logits[0, -1]
    return float(logits.softmax(dim=-1)[yes])


@pytest.mark.parametrize("name", MODELS)
def test_the_score_is_transformers_own_probability_of_yes(make, images, name):
    scorer = load(make, name)
    scores = scorer.score(images, CAPTIONS, everything(images, CAPTIONS)).reshape(len(images), -1)
    expected = [[transformers_answer(scorer, name, i, c) for c in CAPTIONS] for i in images]
    assert scores == pytest.approx(np.array(expected), abs=1e-6, rel=1e-5)
    assert scores.std(axis=0).min() > 1e-6 and scores.std(axis=1).min() > 1e-6


@pytest.mark.parametrize("name", ["llava", "qwen2-vl", "smolvlm"])
def test_the_prefix_up_to_the_image_is_kept(make, images, name):
    scorer = load(make, name)
    pairs = everything(images, CAPTIONS)
    scorer.cached = None
    kept = scorer.score(images, CAPTIONS, pairs)
    assert scorer.cached is True
    scorer.cached = False
    assert scorer.score(images, CAPTIONS, pairs) == pytest.approx(kept, rel=1e-4, abs=1e-7)
    scorer.cached = None


@pytest.mark.parametrize(
    ("name", "tower"),
    [
        ("blip-vqa", "vision_model"),
        ("blip2-t5", "vision_model"),
        ("instructblip-llama", "vision_model"),
        ("llava", "model.vision_tower"),
    ],
)
def test_each_image_is_encoded_once(make, images, monkeypatch, name, tower):
    scorer = load(make, name)
    # The first use of a chat model compares a kept prefix with plain reading, and images read together with each alone.
    scorer.score(images, CAPTIONS, everything(images, CAPTIONS))
    monkeypatch.setattr(scorer, "caption_batch", 2)
    with counted(scorer.module.get_submodule(tower)) as calls:
        scorer.score(images, CAPTIONS, everything(images, CAPTIONS))
    assert sum(calls) == len(images)


def test_the_logarithm_keeps_apart_what_the_probability_ties(make, images):
    pairs = everything(images, CAPTIONS)
    sure = load(make, "blip-vqa", "vqa-log")
    assert np.exp(sure.score(images, CAPTIONS, pairs)) == pytest.approx(
        load(make, "blip-vqa").score(images, CAPTIONS, pairs), rel=1e-5
    )
    head = sure.module.text_decoder.cls.predictions
    head.decoder.bias.data[sure.yes] += 40.0  # P is 1 to the last bit of float32 now
    logs = sure.score(images, CAPTIONS, pairs)
    assert (np.exp(logs) == 1).all() and len(set(logs.tolist())) == len(pairs)
    assert sure.key != load(make, "blip-vqa").key


def test_the_question_quotes_the_caption(make):
    assert (
        load(make, "blip-vqa").question("a red cube")
        == 'Does this figure show "a red cube"? Please answer yes or no.'
    )


@pytest.mark.parametrize(
    ("kind", "before", "token"),
    [
        ("bytes", "Question: is it? Answer:", "\u0120Yes"),
        ("bytes", "assistant\n", "Yes"),
        ("bytes", "", "Yes"),
        ("pieces", "USER: is it? ASSISTANT:", "\u2581Yes"),
        ("pieces", "", "\u2581Yes"),
    ],
)
def test_the_answer_is_the_token_that_would_follow_the_prompt(kind, before, token):
    """GPT-2 and OPT write " Yes" after a colon and "Yes" on a new line; Llama and T5 have one piece for both."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE(unk_token="<unk>"))
    split = (
        pre_tokenizers.ByteLevel(add_prefix_space=False) if kind == "bytes" else pre_tokenizers.Metaspace()
    )
    made.pre_tokenizer, made.decoder = split, decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet() if kind == "bytes" else []
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=["<unk>"], initial_alphabet=alphabet)
    made.train_from_iterator(
        ["Yes\nYes it is Yes", "USER: is it? ASSISTANT: Yes", "Question: Answer: Yes"] * 9, trainer
    )
    words = PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>")
    fake = SimpleNamespace(tokenizer=words, before=before, name="fake", _ended=str)
    assert words.convert_ids_to_tokens(Answerer._answer_token(fake, "Yes")) == token


def test_an_answer_of_two_tokens_is_refused_in_one_sentence():
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE(vocab={"Y": 0, "es": 1, "e": 2, "s": 3}, merges=[("e", "s")]))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    fake = SimpleNamespace(tokenizer=PreTrainedTokenizerFast(tokenizer_object=made), before="", name="fake")
    with pytest.raises(InputError, match=r"no single token for 'Yes'.* use vgpt: instead"):
        Answerer._answer_token(fake, "Yes")


def test_llava_is_told_what_it_was_told_in_training(make):
    prompt = load(make, "llava").prompt("Is it?")
    assert prompt.startswith("A chat between a curious user and an artificial intelligence assistant.")
    assert prompt.endswith("USER: <image>\nIs it? ASSISTANT:")
    assert load(make, "llava").prompt().endswith("USER: <image>\nASSISTANT:")
    assert "curious" not in load(make, "qwen2-vl").prompt()


def test_a_model_without_a_prompt_is_refused_in_one_sentence(make, monkeypatch):
    scorer = load(make, "qwen2-vl")
    bare = SimpleNamespace(image_token="<image>")
    monkeypatch.setattr(scorer, "processor", bare)
    monkeypatch.setattr(scorer, "tokenizer", SimpleNamespace())
    assert scorer.prompt("Is it?") == "<image>Is it?"
    del bare.image_token
    with pytest.raises(InputError, match=r"neither a chat template nor .* chat_template\.jinja"):
        scorer.prompt("Is it?")
