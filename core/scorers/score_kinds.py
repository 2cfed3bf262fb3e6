"""What kinds of score there are, which one a model gives by itself, and how to ask for another. Imports no torch.

A name may say the kind: `itm:Salesforce/blip-itm-base-coco`, `vgpt:builtin/blip-caption`, `lm:openai-community/gpt2`.
Without one, the architecture in the model's config.json decides.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core.base.errors import InputError
from core.scorers.hub import folder_key, locate, read_json
from core.scorers.null_images import NullImage, null_images

if TYPE_CHECKING:
    pass


def _same(scores: np.ndarray) -> np.ndarray:
    return scores


def _sigmoid(scores: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(0.5 * scores))


@dataclass(frozen=True)
class ScoreKind:
    """A kind of score that can explain itself on a page."""

    label: str
    meaning: str
    value: str  # what `shown` gives
    shown: Callable[[np.ndarray], np.ndarray]  # scores as they are ranked -> the paper's value
    reads_image: bool = True
    log_prob: bool = False  # the score is log P(t|i) or log P(t): alpha-debiasing applies


# Kind -> what its scores are. Ranking scores stay where they do not saturate: a logit for a matching head, a log for
# likelihoods. VQAScore is P("Yes") as published, because matchings add up scores; `vqa-log` is its logarithm.
KINDS: dict[str, ScoreKind] = {
    "itc": ScoreKind("ITCScore", "Cosine of the image's and the caption's embedding.", "cosine", _same),
    "itm": ScoreKind(
        "ITMScore", "A matching head reads image and caption together.", "probability of a match", _sigmoid
    ),
    "vgpt": ScoreKind(
        "VisualGPTScore",
        "How likely the model is to write the caption for the image: mean log-likelihood of its tokens.",
        "geometric mean of the token probabilities ([VGPT] Eq. 12)",
        np.exp,
        log_prob=True,
    ),
    "vqa": ScoreKind("VQAScore", "How confidently the model answers yes for the caption.", 'P("Yes")', _same),
    "vqa-log": ScoreKind("log VQAScore", "The logarithm of VQAScore.", 'P("Yes")', np.exp),
    "lm": ScoreKind(
        "Blind language model",
        "How likely the caption is as text: mean log-likelihood of its tokens, no image.",
        "geometric mean of the token probabilities",
        np.exp,
        reads_image=False,
        log_prob=True,
    ),
    "blind": ScoreKind(
        "Blind vision-language model",
        "How likely the model is to write the caption for noise: the P_train(t) of [VGPT] Eq. 13.",
        "mean over noise images of the VisualGPTScore",
        np.exp,
        reads_image=False,
        log_prob=True,
    ),
    "api": ScoreKind("VQAScore of a served model", "As VQAScore, computed by a server.", 'P("Yes")', _same),
}

# Kind that a model gives by itself, by the architecture that its config.json names; by its type where it names none.
NATURAL = {
    "BlipForImageTextRetrieval": "itm",
    "BlipForConditionalGeneration": "vgpt",
    "BlipForQuestionAnswering": "vqa",
    "Blip2ForImageTextRetrieval": "itm",
    "Blip2ForConditionalGeneration": "vgpt",
    "InstructBlipForConditionalGeneration": "vqa",
    "FlavaForPreTraining": "itm",
    "FlavaModel": "itc",
    "BartModel": "lm",
    "GPT2LMHeadModel": "lm",
    "OPTForCausalLM": "lm",
    "T5ForConditionalGeneration": "lm",
    "blip": "vgpt",
    "blip-2": "vgpt",
    "instructblip": "vqa",
    "flava": "itm",
}
# Model types of chat models: asked, unless the name says otherwise. Any other image-text-to-text model of transformers
# with a chat template is reached by `vqa:NAME` and `vgpt:NAME`.
CHAT_TYPES = (
    *("llava", "llava_next", "llava_onevision", "vipllava", "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "smolvlm"),
    *("idefics2", "idefics3", "internvl", "gemma3", "mistral3", "aya_vision", "lfm2_vl"),
)
# Model types of text-only models; any other causal or sequence-to-sequence model is reached by `lm:NAME`.
TEXT_TYPES = ("gpt2", "gpt_neo", "gpt_neox", "opt", "llama", "qwen2", "qwen3", "bart", "t5")

# Mean and standard deviation of null images in the model's normalised pixel space ([VGPT] appendix B; appendix D for
# LLaVA), by model type; a model's config.json may hold its own pair as `null_images`.
NULL_PIXELS = {"blip": (1.0, 0.25), "blip-2": (1.0, 0.25), "instructblip": (1.0, 0.25), "llava": (0.0, 0.25)}
DEFAULT_NULL_PIXELS = (0.0, 0.25)
# Null images per prior ([VGPT] appendix B), by benchmark; 3 elsewhere, 1 for LLaVA in its Table 4.
NULL_COUNTS = {"winoground": 100, "eqben": 30, "imagenet": 1}
DEFAULT_NULL_COUNT = 3

# What VQAScore asks about a caption (METHODS 4; Lin et al. 2024).
QUESTION = 'Does this figure show "{caption}"? Please answer yes or no.'

# Raised when a prompt or a default changes what a kind computes: cached scores of the old one are then left alone.
_VERSION = 1


def natural_kind(folder: Path) -> str:
    """The kind of score that the model in a folder gives by itself."""
    config = read_json(folder / "config.json")
    kind = str(config.get("model_type", ""))
    listed = config.get("architectures")
    for name in (*(listed if isinstance(listed, list) else ()), kind):
        if isinstance(name, str) and name in NATURAL:
            return NATURAL[name]
    if kind in TEXT_TYPES:
        return "lm"
    return "vqa"


# What else a model of a kind can be asked for.
_ALSO = {"itm": ("itm", "itc"), "vgpt": ("vgpt", "blind"), "vqa": ("vqa", "vqa-log"), "lm": ("lm",)}


def kinds_of(folder: Path) -> tuple[str, ...]:
    """The kinds of score that the model in a folder can give, its own first."""
    return _ALSO.get(natural_kind(folder), (natural_kind(folder),))


def null_pixels(config: dict[str, Any]) -> tuple[float, float]:
    """Mean and standard deviation of a model's null images, from its configuration."""
    own = config.get("null_images")
    if own is not None:
        return float(own[0]), float(own[1])
    return NULL_PIXELS.get(str(config.get("model_type", "")), DEFAULT_NULL_PIXELS)


def null_count(benchmark: str) -> int:
    """How many null images the paper takes for a benchmark, by its name (`winoground/all` counts as `winoground`)."""
    name = benchmark.lower().replace("-", "")
    return next((n for key, n in NULL_COUNTS.items() if name.startswith(key)), DEFAULT_NULL_COUNT)


def kind_key(kind: str, folder: Path, settings: str = "") -> str:
    """Content hash (hex) of a model's files, the kind of score and its settings: the scorer's `key`."""
    return hashlib.sha256(f"{_VERSION} {kind} {settings} {folder_key(folder)}".encode()).hexdigest()


def blind_key(captioner: str, nulls: Sequence[NullImage]) -> str:
    """The key of a captioner on null images: a hash (hex) of its own key and of theirs."""
    return hashlib.sha256(f"{captioner} {' '.join(image.key for image in nulls)}".encode()).hexdigest()


def key_without_loading(family: str, source: str) -> str | None:
    """The key of a scorer of `core.scoring.families.PAIRWISE` without loading it; None where its files are
    not at hand."""
    if family == "api":
        return None
    try:
        folder = locate(source) if source.startswith("builtin/") else Path(source).expanduser()
        kind = family if family in KINDS else natural_kind(folder)
        own = kind_key(kind, folder)
        if kind != "blind":
            return own
        pixels = null_pixels(read_json(folder / "config.json"))
        return blind_key(own, null_images(DEFAULT_NULL_COUNT, *pixels))
    except (InputError, OSError):
        return None
