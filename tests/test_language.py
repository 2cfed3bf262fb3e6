"""Blind language models on small random models, against transformers' own losses."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tiny_models import counted

from core.base.errors import InputError
from core.scorers import score_kinds
from core.scorers.null_images import NullImage
from core.scoring.load import load_scorer

CAPTIONS = [
    "a red cube",
    "a blue ball and a green cone in front of the yellow cube",
    "the ball",
    "cone left of the ball",
]
MODELS = ["gpt2", "gpt2-framed", "opt", "t5", "bart"]


def load(make, name):
    return load_scorer(f"lm:{make(name)}", "cpu")


def log_probs(scorer, captions=CAPTIONS):
    return scorer.score([None], captions, np.array([(0, j) for j in range(len(captions))]))


def transformers_loss(scorer, name, caption):
    words, module = scorer.tokenizer, scorer.module
    with torch.no_grad():
        if name in ("gpt2", "gpt2-framed", "opt"):
            ids = words(caption)["input_ids"]
            ids = torch.tensor([[words.bos_token_id, *ids[ids[0] == words.bos_token_id :]]])
            return module(input_ids=ids, labels=ids).loss  # the begin token is a label that nothing predicts
        source = words("", return_tensors="pt")["input_ids"].long()
        return module(input_ids=source, labels=words(caption, return_tensors="pt")["input_ids"]).loss


@pytest.mark.parametrize("name", MODELS)
def test_the_score_is_minus_transformers_own_loss(make, name):
    scorer = load(make, name)
    scores = log_probs(scorer)
    assert scores == pytest.approx([-float(transformers_loss(scorer, name, c)) for c in CAPTIONS], abs=1e-5)
    assert scores.dtype == np.float32


@pytest.mark.parametrize("name", MODELS)
def test_token_log_probs_average_to_the_score(make, name):
    scorer = load(make, name)
    tokens = scorer.token_log_probs(None, CAPTIONS[0])
    assert tokens.log_probs.mean() == pytest.approx(log_probs(scorer)[0], abs=1e-5)
    words = tokens.tokens[1:] if name == "bart" else tokens.tokens  # BART's own loss counts its begin token
    assert words[:3] == ["a", "red", "cube"]


def test_the_empty_source_is_encoded_once(make):
    scorer = load(make, "t5")
    scorer._begun = None
    with counted(scorer.module.get_encoder()) as calls:
        log_probs(scorer, CAPTIONS * 40)
        log_probs(scorer)
    assert sum(calls) == 1


def test_each_distinct_caption_is_scored_once(make):
    scorer = load(make, "gpt2")
    log_probs(scorer)
    with counted(scorer.module) as calls:
        scorer.score([None] * 9, CAPTIONS, np.array([[i, j] for i in range(9) for j in (0, 2)]))
    assert sum(calls) == 2


def test_many_captions_come_in_blocks(make):
    captions = [f"a red cube {'left of ' * (i % 9)}the ball" for i in range(9)] * 300
    scorer = load(make, "gpt2")
    pairs = np.column_stack([np.zeros(2700, dtype=int), np.arange(2700)])
    blocks = list(scorer.stream([None], captions, pairs))
    assert len(blocks) > 1
    assert sorted(np.concatenate([rows for rows, _ in blocks]).tolist()) == list(range(2700))


def test_language_models_are_known_by_their_type(make):
    assert {score_kinds.natural_kind(make(name)) for name in MODELS} == {"lm"}
    assert load_scorer(str(make("gpt2")), "cpu").key == load(make, "gpt2").key
    assert not score_kinds.KINDS["lm"].reads_image


def test_a_model_without_a_begin_token_is_refused(make):
    from core.scorers._language import CausalScorer
    from core.scorers._pairwise import ModelParts

    scorer = load(make, "gpt2")
    words = SimpleNamespace(bos_token_id=None, eos_token_id=None)
    parts = ModelParts("nobody", scorer.module, words, scorer.device, lambda: "")
    with pytest.raises(InputError, match="no begin token"):
        CausalScorer(parts)


def test_a_batch_is_the_most_captions_that_pass_a_language_model_at_once(monkeypatch):
    scorer, sizes = load_scorer("builtin/blind-lm?batch=2"), []
    passed = scorer._score_pairs
    monkeypatch.setattr(scorer, "_score_pairs", lambda read, ids: sizes.append(len(ids)) or passed(read, ids))
    captions = [f"a red ball left of {i} cubes" for i in range(5)]
    scorer.score([NullImage(0.0, 1.0)], captions, np.array([[0, j] for j in range(5)]))
    assert sizes == [2, 2, 1]
