"""Whether a model's weights are on this machine, without loading them and without the network. Imports no torch."""

from __future__ import annotations

from pathlib import Path

from core.base.errors import InputError
from core.scorers.api import endpoint_state
from core.scorers.hub import _trained_strategies, builtin_models
from core.scorers.model_folder import has_weights
from core.scorers.score_kinds import KINDS

# Download in GB of the models in the paper's tables, for the next step's text.
_GIGABYTES = {
    "openai/clip-vit-base-patch32": 0.6,
    "openai/clip-vit-base-patch16": 0.6,
    "google/siglip-base-patch16-224": 0.8,
    "google/siglip-large-patch16-256": 2.6,
}


# Where open_clip fetches the weights of the papers' tables from.
_OPEN_CLIP = {
    "ViT-bigG-14/laion2b_s39b_b160k": "laion/CLIP-ViT-bigG-14-laion2B-39B-b160k",
    "xlm-roberta-large-ViT-H-14/frozen_laion5b_s13b_b90k": (
        "laion/CLIP-ViT-H-14-frozen-xlm-roberta-large-laion5B-s13B-b90k"
    ),
}
_FILES = ("model.safetensors", "model.safetensors.index.json", "open_clip_model.safetensors")


def _source(name: str) -> str:
    """A model's name without the kind of score before it (`itm:NAME`), an open_clip name as its place on the hub."""
    kind, colon, rest = name.partition("?")[0].partition(":")
    if kind == "open_clip":
        return _OPEN_CLIP.get(rest, rest)
    return rest if colon and kind in KINDS else name.partition("?")[0]


def weights_folder(name: str) -> Path | None:
    """The folder that holds a model's safetensors here: built in, a path, or in the hub's cache; None where nowhere.

    name : as `load_scorer` takes it, with or without a kind of score before it; None for a served model or a plug-in.
    """
    if name.startswith("mteb:"):
        return None
    name = _source(name)
    if name.startswith(("api:", "python:")):
        return None
    if name.startswith("builtin/"):
        return (builtin_models() | _trained_strategies()).get(name)
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder if has_weights(folder) or any(folder.glob("open_clip_*.safetensors")) else None
    from huggingface_hub import errors, try_to_load_from_cache

    try:
        for file in _FILES:
            found = try_to_load_from_cache(name, file)
            if isinstance(found, str):
                return Path(found).parent
    except errors.HFValidationError:
        raise InputError(
            f"{name!r} is neither an existing folder nor a valid hub name; check its spelling."
        ) from None
    return None


def weights_bytes(name: str) -> int | None:
    """Bytes of a model's weights here; None where they are not."""
    folder = weights_folder(name)
    return None if folder is None else sum(path.stat().st_size for path in folder.glob("*.safetensors"))


def weights_state(name: str) -> str:
    """`built in`, `found at PATH`, or `needs: ` and the exact next step; as `core.datasets.state`.

    Of a served model (`api:NAME`) the same of its endpoint.
    """
    if name.startswith("api:"):
        return endpoint_state()
    folder, name = weights_folder(name), _source(name)
    if folder is not None:
        return "built in" if name.startswith("builtin/") else f"found at {folder}"
    if name.startswith("builtin/"):
        return f"needs: {name}, which this version does not have; train it with `crossmatch pretrain`"
    size = f" (about {_GIGABYTES[name]} GB)" if name in _GIGABYTES else ""
    return f"needs: run `hf download {name}`{size}"
