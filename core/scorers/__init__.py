"""Scorers: anything that turns images and captions into scores (METHODS 4). Imports torch only to load one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from core.scorers.hub import builtin_models, family, folder_key, locate, stamp
from core.scorers.kinds import FAMILIES, KINDS, named_key

if TYPE_CHECKING:
    from core.scorers.base import Scorer
    from core.scorers.embedding import EmbeddingModel
    from core.scorers.huggingface import TransformersModel
    from core.scorers.openclip import OpenClipModel

__all__ = ["SCORERS", "builtin_models", "load_scorer", "scorer_key"]


def _transformers(name: str, source: str, device: str) -> TransformersModel:
    from core.scorers.huggingface import load_transformers

    return load_transformers(name, locate(source), device)


def _open_clip(name: str, source: str, device: str) -> OpenClipModel:
    from core.scorers.openclip import load_open_clip

    return load_open_clip(name, source, device)


def _embedding(name: str, source: str, device: str) -> EmbeddingModel:
    from core.scorers.contrastive import pick_device
    from core.scorers.embedding import EmbeddingModel

    model = EmbeddingModel.load(locate(source), pick_device(device))
    model.name = name
    return model


# Family -> loader(name as the user wrote it, source, device). A family is the `model_type` of a model's config.json, or
# a prefix of the name (`open_clip:ViT-B-32/laion2b_s34b_b79k`); the source is what follows the prefix, or a folder.
SCORERS: dict[str, Callable[[str, str, str], Any]] = {
    "clip": _transformers,
    "siglip": _transformers,
    "siglip2": _transformers,
    "open_clip": _open_clip,
    "crossmatch-embedding": _embedding,
    **FAMILIES,  # matching heads, generative models, VQA, blind language models, endpoints
}

# Models kept in memory; the one that was used longest ago goes first.
KEPT = 2
_kept: OrderedDict[tuple, Any] = OrderedDict()
_lock = Lock()


def load_scorer(name: str, device: str = "auto") -> Scorer:
    """A scorer by name, kept in memory for the next call; never train it, train its copy.

    name : `builtin/NAME`, a model folder, a Hugging Face name, or `open_clip:ARCHITECTURE/PRETRAINED`, where PRETRAINED
        is one of open_clip's tags or a safetensors file. A kind of score before a colon asks for another score than the
        model's own: `itc:NAME`, `vgpt:NAME`, ... (`kinds.KINDS`). device : `auto`, `cpu`, `cuda`, `cuda:1`, `mps`.
    Raises InputError, in one sentence, for whatever cannot be loaded.
    """
    chosen, source = _resolve(name)
    folder = Path(source)
    state = (name, chosen, device, stamp(folder) if folder.is_dir() else ())
    with _lock:
        if state not in _kept:
            _kept[state] = SCORERS[chosen](name, source, device)
        _kept.move_to_end(state)
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
        return _kept[state]


def scorer_key(name: str) -> str | None:
    """The key of `load_scorer(name)` without loading it, where the name stands for a folder; None elsewhere.

    With it a page finds cached scores before anything imports torch.
    """
    chosen, source = _resolve(name)
    if chosen in FAMILIES:
        return named_key(chosen, source)
    hashed = Path(source).is_dir() and chosen != "crossmatch-embedding"
    return folder_key(Path(source)) if hashed else None


def _resolve(name: str) -> tuple[str, str]:
    """Family and source of a name."""
    prefix, colon, rest = name.partition(":")
    if colon and prefix in SCORERS:
        return prefix, rest
    folder = locate(name)
    return family(folder, SCORERS.keys() - KINDS.keys()), str(folder)
