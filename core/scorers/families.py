"""The families of models by name, and the module that loads each. Imports no torch."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.scorers._memory import memory_errors
from core.scorers.score_kinds import CHAT_TYPES, KINDS, TEXT_TYPES, natural_kind

if TYPE_CHECKING:
    from core.scorers.base import Scorer

# A family is the `model_type` of a model's config.json, or a prefix of the name
# (`open_clip:ViT-B-32/laion2b_s34b_b79k`). Each has its module in this folder, with a function
# `load(name, source, device, kind)`; "" stands for the module of the kind of score that the architecture gives.
FAMILIES: dict[str, str] = {
    **dict.fromkeys(("clip", "siglip", "siglip2"), "_huggingface"),
    "open_clip": "_openclip",
    "crossmatch-embedding": "embedding",
    "crossmatch-adapted": "cola_adapted",  # one of Cola's strategies on its base
    "st": "_sentence",  # models of sentence-transformers
    "mteb": "_mteb",  # models that MTEB wraps
    "python": "plugins",  # scorers of installed packages
    "api": "api",  # endpoints that return log-probabilities
    # Models that read image and caption together, or caption alone: a prefix for every kind ...
    **dict.fromkeys(("itm", "itc"), "_matching_head"),
    **dict.fromkeys(("vgpt", "blind", "mass"), "_generative"),
    **dict.fromkeys(("vqa", "vqa-log"), "_vqa"),
    "lm": "_language",
    # ... and the model types that are known without one.
    **dict.fromkeys(("blip", "blip-2", "instructblip", "flava", *CHAT_TYPES, *TEXT_TYPES), ""),
}


def kind_by_family(family: str, source: str) -> str | None:
    """The kind of score (a key of `KINDS`) of a family's model in a folder; None for families that give one alone."""
    if family in KINDS:
        return family
    return None if FAMILIES.get(family) else natural_kind(Path(source).expanduser())


def load_family(family: str, name: str, source: str, device: str, **more: Any) -> Scorer:
    """The scorer `name` by its family's module; `more` is what one family alone asks for."""
    kind = kind_by_family(family, source)
    module = import_module(f"core.scorers.{FAMILIES[family] or FAMILIES[kind or family]}")
    with memory_errors(name):
        return module.load(name, source, device, kind, **more)
