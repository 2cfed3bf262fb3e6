"""How each family of models is loaded, by the family's name. Imports torch only to load one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from core.scorers.api import load_api
from core.scorers.device_memory import fits_in_memory
from core.scorers.hub import locate
from core.scorers.plugins import load_plugin
from core.scorers.score_kinds import CHAT_TYPES, KINDS, TEXT_TYPES, natural_kind

if TYPE_CHECKING:
    from core.scorers.base import Scorer
    from core.scorers.embedding import EmbeddingModel
    from core.scorers.huggingface import TransformersModel
    from core.scorers.openclip import OpenClipModel

# (name as the user wrote it, what follows the family's prefix or a folder, device) -> the scorer
Loader = Callable[[str, str, str], Any]

# Every import below keeps torch and transformers out of whoever only asks for names and keys.


def _transformers(name: str, source: str, device: str) -> TransformersModel:
    from core.scorers.huggingface import load_transformers  # torch

    return load_transformers(name, locate(source), device)


def _open_clip(name: str, source: str, device: str) -> OpenClipModel:
    from core.scorers.openclip import load_open_clip  # torch

    return load_open_clip(name, source, device)


def _embedding(name: str, source: str, device: str) -> EmbeddingModel:
    from core.scorers.contrastive import pick_device  # torch
    from core.scorers.embedding import EmbeddingModel  # torch

    model = EmbeddingModel.load(locate(source), pick_device(device))
    model.name = name
    return model


def _api(name: str, source: str, device: str) -> Scorer:
    return load_api(name, source)


def _kind(kind: str) -> Loader:
    return lambda name, source, device: load_kind(kind, name, source, device)


def _natural(name: str, source: str, device: str) -> Scorer:
    return load_kind(natural_kind(locate(source)), name, source, device)


def load_kind(kind: str, name: str, source: str, device: str) -> Scorer:
    """The scorer of a kind (a key of `KINDS` but `api`) from a folder, a built-in name or a hub name."""
    fits_in_memory(source, device)
    folder = locate(source)
    if kind == "lm":
        from core.scorers.language import load_language  # torch

        return load_language(name, folder, device)
    if kind in ("itc", "itm"):
        from core.scorers.matchers import load_matcher  # torch

        return load_matcher(name, folder, device, kind)
    if kind in ("vqa", "vqa-log"):
        from core.scorers.vqa import load_answerer  # torch

        return load_answerer(name, folder, device, kind)
    from core.scorers.generative import load_blind, load_captioner  # torch

    return (load_blind if kind == "blind" else load_captioner)(name, folder, device)


# Families that read image and caption together, or caption alone: a prefix for every kind, and the model types that are
# known without one.
PAIRWISE: dict[str, Loader] = {
    **{kind: _kind(kind) for kind in KINDS},
    **dict.fromkeys(("blip", "blip-2", "instructblip", "flava", *CHAT_TYPES, *TEXT_TYPES), _natural),
    "api": _api,  # endpoints that return log-probabilities
}
# A family is the `model_type` of a model's config.json, or a prefix of the name
# (`open_clip:ViT-B-32/laion2b_s34b_b79k`).
FAMILIES: dict[str, Loader] = {
    "clip": _transformers,
    "siglip": _transformers,
    "siglip2": _transformers,
    "open_clip": _open_clip,
    "crossmatch-embedding": _embedding,
    "python": load_plugin,  # scorers of installed packages
    **PAIRWISE,
}
