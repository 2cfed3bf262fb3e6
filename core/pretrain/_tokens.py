"""The word-level tokenizer and the image processor that every built-in model shares."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from core.scenes.captions import VOCABULARY
from core.scenes.render import MODEL_SIZE

# The end token must not have id 2: transformers' CLIP takes a configured 2 for its old, wrong default and
# pools at the largest id instead of the end token.
_SPECIAL = ("<pad>", "<unk>", "<mask>", "<start>", "<end>")
PAD, BOS, EOS = 0, 3, 4
_QUESTION = 'does this figure show "{caption}"? please answer yes or no.'  # VQAScore's, lower-cased
_QUESTION_WORDS = ('"', "?", ".", "does", "this", "figure", "show", "please", "answer", "yes", "or", "no")
_LENGTH = 24  # tokens, begin and end included; the longest caption of the world has fewer
_MEAN = _STD = 0.5  # pixels in [0, 1] become (x - mean) / deviation


def vocabulary(asks: bool = False) -> dict[str, int]:
    """Every token and its id; `asks` adds the words of the question."""
    tokens = (*_SPECIAL, *VOCABULARY, *(w for w in _QUESTION_WORDS if asks and w not in VOCABULARY))
    return {token: index for index, token in enumerate(tokens)}


YES, NO = (vocabulary(True)[word] for word in ("yes", "no"))


def word_tokenizer(length: int = _LENGTH, asks: bool = False) -> PreTrainedTokenizerFast:
    """Lower-cased words and marks of the built-in world, framed by begin and end."""
    ids = vocabulary(asks)
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Lowercase()
    split = [pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation()]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(split)
    frame = [(name, ids[name]) for name in ("<start>", "<end>")]
    tokenizer.post_processor = processors.TemplateProcessing(single="<start> $A <end>", special_tokens=frame)
    special = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<start>", "eos_token": "<end>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=length, **special)


def questions(ids: torch.Tensor) -> torch.Tensor:
    """Captions as yes-or-no questions: int64 (n, length) -> (n, longer), framed and padded like captions."""
    known = vocabulary(True)
    before, after = (
        [known[mark] for mark in re.findall(r"[a-z]+|[^a-z\s]", part)]
        for part in _QUESTION.split("{caption}")
    )
    rows = [[BOS, *before, *row[1 : row.index(EOS)], *after, EOS] for row in ids.tolist()]
    longest = max(map(len, rows))
    padded = [row + [PAD] * (longest - len(row)) for row in rows]
    return torch.tensor(padded, dtype=torch.int64, device=ids.device)


def image_settings() -> dict[str, Any]:
    """What a transformers image processor needs to do the same as `pixels`."""
    square = {"height": MODEL_SIZE, "width": MODEL_SIZE}
    return {"do_center_crop": False, "size": square, "image_mean": [_MEAN] * 3, "image_std": [_STD] * 3}


def pixels(images: np.ndarray) -> torch.Tensor:
    """uint8 (n, H, W, 3) -> float32 (n, 3, H, W), normalised."""
    scaled = torch.from_numpy(np.array(images)).permute(0, 3, 1, 2).float()
    return (scaled / 255 - _MEAN) / _STD


def token_ids(tokenizer: PreTrainedTokenizerFast, texts: list[str]) -> np.ndarray:
    """int64 (n, length), padded on the right."""
    return np.asarray(
        tokenizer(texts, padding="max_length", truncation=True, max_length=_LENGTH)["input_ids"],
        dtype=np.int64,
    )
