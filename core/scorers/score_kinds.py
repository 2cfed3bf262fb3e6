"""What kinds of score there are, which one a model gives by itself, and how to ask for another. Imports no torch.

A name may say the kind: `itm:Salesforce/blip-itm-base-coco`, `vgpt:builtin/blip-caption`, `lm:openai-community/gpt2`.
Without one, the architecture in the model's config.json decides.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.scorers.model_folder import files_key, read_config


def _same(scores: np.ndarray) -> np.ndarray:
    return scores


def _sigmoid(scores: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(0.5 * scores))


@dataclass(frozen=True)
class _ScoreKind:
    """A kind of score that can explain itself on a page."""

    label: str
    meaning: str
    value: str  # what `shown` gives
    shown: Callable[[np.ndarray], np.ndarray]  # scores as they are ranked -> the paper's value
    reads_image: bool = True
    log_prob: bool = False  # the score is log P(t|i) or log P(t): alpha-debiasing applies


# Kind -> what its scores are. Ranking scores stay where they do not saturate: a logit for a matching head, a log for
# likelihoods. VQAScore is P("Yes") as published, because matchings add up scores; `vqa-log` is its logarithm.
KINDS: dict[str, _ScoreKind] = {
    "itc": _ScoreKind(
        "ITCScore",
        "Cosine of the image's and the caption's embedding, times the model's scale.",
        "cosine",
        _same,
    ),
    "itm": _ScoreKind(
        "ITMScore", "A matching head reads image and caption together.", "probability of a match", _sigmoid
    ),
    "vgpt": _ScoreKind(
        "VisualGPTScore",
        "How likely the model is to write the caption for the image: mean log-likelihood of its tokens.",
        "geometric mean of the token probabilities ([VGPT] Eq. 12)",
        np.exp,
        log_prob=True,
    ),
    "mass": _ScoreKind(
        "MASS",
        "How much likelier the image makes the caption's words: mean log-likelihood of its tokens, less that for an "
        "image of noise.",
        "mean pointwise mutual information of the caption's tokens with the image (arXiv 2501.11469)",
        _same,
    ),
    "vqa": _ScoreKind(
        "VQAScore", "How confidently the model answers yes for the caption.", 'P("Yes")', _same
    ),
    "vqa-log": _ScoreKind("log VQAScore", "The logarithm of VQAScore.", 'P("Yes")', np.exp),
    "lm": _ScoreKind(
        "Blind language model",
        "How likely the caption is as text: mean log-likelihood of its tokens, no image.",
        "geometric mean of the token probabilities",
        np.exp,
        reads_image=False,
        log_prob=True,
    ),
    "blind": _ScoreKind(
        "Blind vision-language model",
        "How likely the model is to write the caption for an image of noise: its language prior.",
        "mean over noise images of the VisualGPTScore",
        np.exp,
        reads_image=False,
        log_prob=True,
    ),
    "st": _ScoreKind(
        "Embedding similarity",
        "How alike the image's and the caption's embedding are, as sentence-transformers compares them.",
        "similarity",
        _same,
    ),
    "mteb": _ScoreKind(
        "Embedding similarity in MTEB",
        "How alike the image's and the caption's embedding are, by MTEB's wrapper of the model.",
        "similarity",
        _same,
    ),
    "api": _ScoreKind(
        "VQAScore of a served model",
        "VQAScore of a model that a server runs: how likely it is to answer yes when asked for the caption.",
        'P("Yes")',
        _same,
    ),
}

# Kind that a model gives by itself, by the architecture that its config.json names; by its type where it names none.
_NATURAL = {
    **dict.fromkeys(
        ("BlipForImageTextRetrieval", "Blip2ForImageTextRetrieval", "FlavaForPreTraining"), "itm"
    ),
    "FlavaModel": "itc",
    **dict.fromkeys(("BlipForConditionalGeneration", "Blip2ForConditionalGeneration"), "vgpt"),
    **dict.fromkeys(("BlipForQuestionAnswering", "InstructBlipForConditionalGeneration"), "vqa"),
    **dict.fromkeys(("BartModel", "GPT2LMHeadModel", "OPTForCausalLM", "T5ForConditionalGeneration"), "lm"),
    **dict.fromkeys(("blip", "blip-2"), "vgpt"),
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
# What else a model of a kind can be asked for.
_ALSO = {"itm": ("itm", "itc"), "vgpt": ("vgpt", "blind"), "vqa": ("vqa", "vqa-log")}

# Model types of which Crossmatch gives an adaptable kind of score without adapting it.
FIXED_TYPES = {
    "itc": ("blip-2",),
    "itm": ("blip-2", "flava"),
    "st": (),
    **dict.fromkeys(("vgpt", "vqa", "vqa-log"), ("blip-2", "instructblip")),
}

# What VQAScore asks about a caption (Lin et al. 2024).
QUESTION = 'Does this figure show "{caption}"? Please answer yes or no.'


def natural_kind(folder: Path) -> str:
    """The kind of score that the model in a folder gives by itself."""
    config = read_config(folder)
    kind = str(config.get("model_type", ""))
    listed = config.get("architectures")
    for name in (*(listed if isinstance(listed, list) else ()), kind):
        if isinstance(name, str) and name in _NATURAL:
            return _NATURAL[name]
    return "lm" if kind in TEXT_TYPES else "vqa"


def kinds_of(folder: Path) -> tuple[str, ...]:
    """The kinds of score that the model in a folder can give, its own first."""
    kind = natural_kind(folder)
    return _ALSO.get(kind, (kind,))


def kind_key(kind: str, files: Sequence[Path]) -> str:
    """Content hash (hex) of a model's files and the kind of score: the scorer's `key`.

    The 1 is raised when a prompt or a default changes what a kind computes: cached scores of before are left alone.
    """
    return hashlib.sha256(f"1 {kind}  {files_key(files)}".encode()).hexdigest()
