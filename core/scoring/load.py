"""Scorers: anything that turns images and captions into scores (METHODS 4). Imports torch only to load one."""

from __future__ import annotations

import gc
import sys
from collections import OrderedDict
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from core.base.paths import is_folder
from core.base.public_mode import check_source
from core.runs.models import run_source
from core.scorers.hub import builtin_models, family, file_stamp, folder_key, locate, read_json
from core.scorers.inference_modes import converted_copy, key_of, split_prefix
from core.scorers.score_kinds import KINDS, key_without_loading, kinds_of, natural_kind
from core.scoring.families import FAMILIES, PAIRWISE, Loader

if TYPE_CHECKING:
    from core.scorers.base import Scorer
    from core.scorers.cola_adapted import AdaptedModel
    from core.scorers.contrastive import ContrastiveModel

__all__ = [
    "SCORERS",
    "builtin_models",
    "load_scorer",
    "model_folder",
    "scorer_key",
    "scorer_kind",
    "scorer_names",
]


def _adapted(name: str, source: str, device: str) -> AdaptedModel:
    from core.scorers.cola_adapted import AdaptedModel  # torch

    return AdaptedModel.load(name, locate(source), load_base, device)


SCORERS: dict[str, Loader] = {
    **FAMILIES,
    "crossmatch-adapted": _adapted,
}  # one of Cola's strategies on its base

# Models kept in memory; the one that was used longest ago goes first. Beside one that is being loaded only small ones
# stay: a large one is freed before, so that two never have to fit.
MAX_CACHED_MODELS = 8
SMALL_MODEL_BYTES = 500_000_000  # bytes of weights, all kept models together
_kept: OrderedDict[tuple, Any] = OrderedDict()
_lock = RLock()  # an adapted model loads its base


def load_scorer(name: str, device: str = "auto") -> Scorer:
    """A scorer by name, kept in memory for the next call; never train it, train its copy.

    name : `builtin/NAME`, a model folder, `run/ID` (what a finished run adapted), a Hugging Face name, or
        `open_clip:ARCHITECTURE/PRETRAINED`, where PRETRAINED is one of open_clip's tags or a safetensors file. A kind
        of score before a colon asks for another score than the model's own: `itc:NAME`, `vgpt:NAME`, ...
        (`kinds.KINDS`); `bfloat16:`, `float16:` and `compiled:` before all of it run the same scorer faster
        (`faster.py`). device : `auto`, `cpu`, `cuda`, `cuda:1`, `mps`.
    Raises InputError, in one sentence, for whatever cannot be loaded.
    """
    ways, plain = split_prefix(name)
    if ways:
        return converted_copy(load_scorer(plain, device), ways, name)
    chosen, source = _resolve(name)
    folder = Path(source)
    state = (name, chosen, device, file_stamp(folder) if is_folder(folder) else ())
    with _lock:
        if state not in _kept:
            _evict_models()
            _kept[state] = SCORERS[chosen](name, source, device)
        _kept.move_to_end(state)
        return _kept[state]


def load_base(name: str, device: str = "auto") -> ContrastiveModel:
    """The model that one of Cola's strategies adapts; FLAVA as its two contrastive towers.

    Raises InputError as `load_scorer` does, and for a model of another family than CLIP, SigLIP and FLAVA.
    """
    from core.scorers.cola_features import base_of  # torch
    from core.scorers.flava import load_flava  # torch

    folder = locate(name) if ":" not in check_source(name) else None
    if (
        folder
        and (folder / "config.json").is_file()
        and read_json(folder / "config.json").get("model_type") == "flava"
    ):
        return load_flava(name, folder, device)
    model: Any = load_scorer(name, device)
    base_of(model)
    return model


def _evict_models() -> None:
    """Free kept models until another may be loaded."""
    freed = 0
    while len(_kept) >= MAX_CACHED_MODELS or sum(map(_weight, _kept.values())) > SMALL_MODEL_BYTES:
        freed += _weight(_kept.popitem(last=False)[1])
    if freed > SMALL_MODEL_BYTES // 10:  # a collection stops every visitor's page for a tenth of a second
        gc.collect()
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_available():
            torch.cuda.empty_cache()


def _weight(scorer: Any) -> int:
    """Bytes of a scorer's weights; 0 for one without any, such as a served model."""
    module = getattr(getattr(scorer, "captioner", scorer), "module", None)
    return 0 if module is None else sum(p.numel() * p.element_size() for p in module.parameters())


def scorer_key(name: str) -> str | None:
    """The key of `load_scorer(name)` without loading it, where the name stands for a folder; None elsewhere.

    With it a page finds cached scores before anything imports torch.
    """
    ways, plain = split_prefix(name)
    chosen, source = _resolve(plain)
    if chosen in PAIRWISE:
        key = key_without_loading(chosen, source)
    else:
        hashed = is_folder(source) and chosen != "crossmatch-embedding"
        key = folder_key(Path(source)) if hashed else None
    return None if key is None else key_of(key, ways)


def scorer_kind(name: str) -> str:
    """The kind of score (a key of `KINDS`) that `load_scorer(name)` gives, without loading it.

    `itc` for every contrastive model. Raises InputError as `load_scorer` does for a name that stands for nothing.
    """
    name = split_prefix(name)[1]
    prefix, colon, _ = name.partition(":")
    if colon and prefix in KINDS:
        return prefix
    chosen, source = _resolve(name)
    return natural_kind(Path(source)) if chosen in PAIRWISE else "itc"


def scorer_names() -> dict[str, str]:
    """Every score that the built-in models give: name for `load_scorer` -> its kind; for a picker.

    A model's own kind goes by its plain name, any other by a prefix: `builtin/blip-itm`, `itc:builtin/blip-itm`.
    """
    found: dict[str, str] = {}
    for name, folder in builtin_models().items():
        own = scorer_kind(name)
        found[name] = own
        if own != "itc":
            found |= {f"{kind}:{name}": kind for kind in kinds_of(folder) if kind != own}
    return found


def model_folder(name: str) -> Path:
    """The folder of the model that a name stands for; raises InputError as `load_scorer` does."""
    return locate(_resolve(name)[1])


def _resolve(name: str) -> tuple[str, str]:
    """Family and source of a name."""
    name = split_prefix(name)[1]
    if name.startswith("run/") or ":run/" in name:
        name = run_source(name)
    check_source(name)
    prefix, colon, rest = name.partition(":")
    if colon and prefix in SCORERS:
        return prefix, rest
    folder = locate(name)
    return family(folder, SCORERS.keys() - KINDS.keys()), str(folder)
