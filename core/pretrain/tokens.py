"""The word-level tokenizer and the image processor that every built-in model shares."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from core.scenes.captions import VOCABULARY

# The end token must not have id 2: transformers' CLIP takes a configured 2 for its old, wrong default and
# pools at the largest id instead of the end token.
SPECIAL = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<start>", "eos_token": "<end>"}
PAD, BOS, EOS = 0, 3, 4
_IDS = {"<pad>": 0, "<unk>": 1, "<mask>": 2, "<start>": 3, "<end>": 4}
LENGTH = 24  # tokens, begin and end included; the longest caption of the world has fewer
MEAN = STD = 0.5  # pixels in [0, 1] become (x - MEAN) / STD


def word_tokenizer(length: int = LENGTH) -> PreTrainedTokenizerFast:
    """Lower-cased words and commas of the built-in world, framed by begin and end."""
    vocabulary = dict(_IDS)
    for word in VOCABULARY:
        vocabulary[word] = len(vocabulary)
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    frame = [(name, vocabulary[name]) for name in ("<start>", "<end>")]
    tokenizer.post_processor = processors.TemplateProcessing(single="<start> $A <end>", special_tokens=frame)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=length, **SPECIAL)


def image_settings(side: int = 64) -> dict[str, Any]:
    """What a transformers image processor needs to do the same as `pixels`."""
    square = {"height": side, "width": side}
    return {"do_center_crop": False, "size": square, "image_mean": [MEAN] * 3, "image_std": [STD] * 3}


def pixels(images: np.ndarray) -> torch.Tensor:
    """uint8 (n, H, W, 3) -> float32 (n, 3, H, W), normalised."""
    scaled = torch.from_numpy(np.ascontiguousarray(images)).permute(0, 3, 1, 2).float()
    return (scaled / 255 - MEAN) / STD


def token_ids(tokenizer: PreTrainedTokenizerFast, texts: list[str], length: int = LENGTH) -> np.ndarray:
    """int64 (n, length), padded on the right."""
    return np.asarray(
        tokenizer(texts, padding="max_length", truncation=True, max_length=length)["input_ids"],
        dtype=np.int64,
    )
