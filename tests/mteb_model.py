"""A tiny CLIP among the models that MTEB wraps."""

from __future__ import annotations

from pathlib import Path


def wrap_for_mteb(name: str, folder: Path, **about: object) -> None:
    """Make MTEB know a CLIP's folder by a name of its own, with its own wrapper of CLIP."""
    from mteb.models.model_implementations import MODEL_REGISTRY
    from mteb.models.model_implementations.clip_models import CLIPModel
    from mteb.models.model_meta import ModelMeta

    def load(_name, revision=None, device=None, **_):
        return CLIPModel(str(folder), revision=None, device=device)

    known = {"name": name, "revision": "1", "modalities": ["image", "text"], "loader": load, **about}
    MODEL_REGISTRY[name] = ModelMeta.create_empty(known)
