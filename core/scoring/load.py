"""Scorers: anything that turns images and captions into scores. Imports torch only to load one."""

from __future__ import annotations

import gc
import os
import sys
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from core.base.errors import InputError
from core.base.paths import is_folder
from core.base.public_mode import check_source
from core.runs.models import run_source
from core.scorers.families import FAMILIES, kind_by_family, load_family
from core.scorers.hub import builtin_models, family, locate
from core.scorers.inference_modes import converted_copy, key_of, split_prefix
from core.scorers.model_folder import file_states, files_key, model_files, read_config
from core.scorers.null_images import DEFAULT_NULL_COUNT, MASS_NULL_COUNT, blind_key, null_images, null_pixels
from core.scorers.score_kinds import KINDS, kind_key, kinds_of
from core.scorers.score_options import ScoreOptions

if TYPE_CHECKING:
    from core.scorers.base import Scorer
    from core.scorers.contrastive import ContrastiveModel

LOCAL = ("builtin/", "~", ".", os.sep)  # how names begin that are of no hub and of no run
# Models kept in memory; the one that was used longest ago goes first. Beside one that is being loaded only small ones
# stay: a large one is freed before, so that two never have to fit.
MAX_CACHED_MODELS = 8
SMALL_MODEL_BYTES = 500_000_000  # bytes of weights, all kept models together
_cached: OrderedDict[tuple, Any] = OrderedDict()
_lock = RLock()  # an adapted model loads its base


def load_scorer(name: str, device: str = "auto") -> Scorer:
    """A scorer by name, kept in memory for the next call; never train it, train its copy.

    name : `builtin/NAME`, a model folder, `run/ID` (what a finished run adapted), a Hugging Face name, or
        `open_clip:ARCHITECTURE/PRETRAINED`, where PRETRAINED is one of open_clip's tags or a safetensors file, or
        `st:NAME`, a folder or a name of the hub that sentence-transformers reads. A kind
        of score before a colon asks for another score than the model's own: `itc:NAME`, `vgpt:NAME`, ...
        (`kinds.KINDS`); `bfloat16:`, `float16:` and `compiled:` before all of it run the same scorer faster
        (`faster.py`); options of the score follow a question mark: `vgpt:NAME?prompt=a photo of&end=yes`
        (`score_options.py`). device : `auto`, `cpu`, `cuda`, `cuda:1`, `mps`.
    Raises InputError, in one sentence, for whatever cannot be loaded.
    """
    plain, options = ScoreOptions.split(name)
    if options:
        check_source(name)
        options.check(scorer_kind(plain), name)
        return options.applied(load_scorer(plain, options.get("device", device)), name)
    modes, plain = split_prefix(name)
    if modes:
        return converted_copy(load_scorer(plain, device), modes, name)
    chosen, source = _resolve(name)
    # A served model has no weights to cache, and its address is the environment's of this moment.
    if "api" in (chosen, source.partition(":")[0]):
        return _load(chosen, name, source, device)
    files = _files(chosen, Path(source)) if is_folder(source) else []
    state = (name, chosen, device, file_states(files))
    with _lock:
        if state not in _cached:
            _evict_models()
            _cached[state] = _load(chosen, name, source, device)
        _cached.move_to_end(state)
        return _cached[state]


def _files(chosen: str, folder: Path) -> list[Path]:
    """The files by which a model that was loaded from a folder is known again."""
    return (
        model_files(folder, modules=True)
        if chosen == "st"
        else sorted(filter(Path.is_file, folder.iterdir()))
    )


def _load(chosen: str, name: str, source: str, device: str) -> Scorer:
    if (chosen in ("api", "python") or source.startswith("api:")) and device not in ("auto", "cpu"):
        raise InputError(f"{name} chooses by itself where it runs; leave the device {device} out.")
    more = {"load_base": load_base} if chosen == "crossmatch-adapted" else {}
    return load_family(chosen, name, source, device, **more)


def load_base(name: str, device: str = "auto") -> ContrastiveModel:
    """The model that one of Cola's strategies adapts; FLAVA as its two contrastive towers.

    Raises InputError as `load_scorer` does, and for a model of another family than CLIP, SigLIP and FLAVA.
    """
    from core.scorers.cola_features import base_of  # torch

    folder = locate(name) if ":" not in check_source(name) else None
    is_flava = (
        folder and (folder / "config.json").is_file() and read_config(folder).get("model_type") == "flava"
    )
    model: Any = load_scorer(f"itc:{name}" if is_flava else name, device)
    if folder and is_flava:  # the key that folders of adapted models name
        model = copy(model)
        model.name, model._key = name, files_key(model_files(folder), "contrastive towers")
    base_of(model)
    return model


def _evict_models() -> None:
    """Free kept models until another may be loaded."""
    freed = 0
    while len(_cached) >= MAX_CACHED_MODELS or sum(map(_weight, _cached.values())) > SMALL_MODEL_BYTES:
        freed += _weight(_cached.popitem(last=False)[1])
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
    own, options = ScoreOptions.split(name)
    modes, plain = split_prefix(own)
    chosen, source = _resolve(plain)
    folder = builtin_models().get(source) or Path(source).expanduser()
    if chosen in ("api", "python", "crossmatch-embedding", "mteb") or not is_folder(folder):
        return None
    try:
        kind = kind_by_family(chosen, str(folder))
        files = model_files(folder, modules=kind == "st")
        key = key_of(kind_key(kind, files) if kind else files_key(files), modes)
        key = options.key(key)
        if kind in ("blind", "mass"):
            most = DEFAULT_NULL_COUNT if kind == "blind" else MASS_NULL_COUNT
            mean, std, count = options.nulls(null_pixels(read_config(folder)), most)
            key = blind_key(key, null_images(count, mean, std))
        return key
    except (InputError, OSError):  # a damaged folder: loading says what is wrong
        return None


def scorer_kind(name: str) -> str:
    """The kind of score (a key of `KINDS`) that `load_scorer(name)` gives, without loading it.

    `itc` for every contrastive model. Raises InputError as `load_scorer` does for a name that stands for nothing.
    """
    name = split_prefix(ScoreOptions.split(name)[0])[1]
    prefix, colon, _ = name.partition(":")
    if colon and prefix in KINDS:
        return prefix
    chosen, source = _resolve(name)
    return kind_by_family(chosen, source) or "itc"


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
    name = split_prefix(ScoreOptions.split(name)[0])[1]
    if name.startswith("run/") or ":run/" in name:
        name = run_source(name)
    check_source(name)
    prefix, colon, rest = name.partition(":")
    if colon and prefix in FAMILIES:
        return prefix, rest
    folder = locate(name)
    return family(folder, FAMILIES.keys() - KINDS.keys()), str(folder)


class LazyScorer:
    """Stands for `load_scorer(name)`, and loads the model, and with it torch, when more than name and key is asked.

    A model whose key takes loading (a served one, a plug-in, a name of open_clip's) is loaded at once.
    """

    def __init__(
        self,
        name: str,
        loading: Callable[[], AbstractContextManager[Any]] = nullcontext,
        device: str = "auto",
    ) -> None:
        """`loading` : entered around loading, to show that it takes a while."""
        self.name, self._loading, self._device = name, loading, device
        self.key = scorer_key(name) or self.__getattr__("key")

    def __getattr__(self, attribute: str) -> Any:
        # Cached by `load_scorer`, not here: a model that was freed meanwhile is loaded again.
        with self._loading():
            return getattr(load_scorer(self.name, self._device), attribute)


def lazy_scorer(
    name: str, loading: Callable[[], AbstractContextManager[Any]] = nullcontext, device: str = "auto"
) -> Any:
    """A scorer by name for scoring through a cache: its model stays on disk while every score is known.

    A model whose key takes loading is loaded at once, and is then itself what is returned.
    Raises InputError as `load_scorer` does: at once for a name that stands for nothing, later for a damaged model.
    """
    if scorer_key(name) is not None:
        return LazyScorer(name, loading, device)
    with loading():
        return load_scorer(name, device)
