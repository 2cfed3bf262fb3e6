"""Scorers from other packages: ten lines of Python, found by entry point, scored by the name `python:NAME`.

A package names its scorer in the group `crossmatch.scorers` of its pyproject.toml

    [project.entry-points."crossmatch.scorers"]
    word-count = "my_package:WordCount"

and that is a class (or a function without arguments that makes one) with two things:

    import numpy as np

    class WordCount:
        key = "1"  # change it when the scores change: cached scores go by it

        def score(self, images, captions, pairs):
            # images: open lazily, image.open() is RGB (PIL); captions: str; pairs: int (p, 2), image and caption
            light = [np.asarray(image.open().convert("L")).mean() for image in images]
            return np.array([light[i] * len(captions[j].split()) for i, j in pairs], dtype=np.float32)  # (p,)

It sees images, captions and pairs, never groups, and so never what is right. Only installed packages are asked:
no file that somebody uploads is ever loaded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import numpy as np

from core.base.errors import InputError, unknown_name
from core.groups import ImageRef

_GROUP = "crossmatch.scorers"
PREFIX = "python"


def plugins() -> dict[str, EntryPoint]:
    """Scorers of installed packages, by name; nothing of them is imported."""
    return {entry.name: entry for entry in sorted(entry_points(group=_GROUP), key=lambda e: e.name)}


class _PluginScorer:
    """A package's scorer with its answers checked."""

    def __init__(self, name: str, inner: Any, origin: str) -> None:
        self.name, self._inner = name, inner
        self.key = hashlib.sha256(f"plugin\0{origin}\0{inner.key}".encode()).hexdigest()

    def score(self, images: Sequence[ImageRef], captions: Sequence[str], pairs: np.ndarray) -> np.ndarray:
        """Scores of the wanted pairs, float32 (p,); InputError where the package fails or gives something else."""
        try:
            scores = np.asarray(self._inner.score(images, captions, pairs))
        except InputError:
            raise
        except Exception as error:  # whatever a package raises
            raise InputError(
                f"The scorer {self.name!r} failed ({type(error).__name__}: {error}); fix it."
            ) from error
        if (
            scores.shape != (len(pairs),)
            or not np.issubdtype(scores.dtype, np.number)
            or np.iscomplexobj(scores)
        ):
            raise InputError(
                f"The scorer {self.name!r} gave {scores.dtype} of shape {scores.shape} for {len(pairs)} pairs; its "
                "`score` must return one number per pair."
            )
        return scores.astype(np.float32)


def load(name: str, source: str, device: str = "auto", kind: str | None = None) -> _PluginScorer:
    """The scorer that an installed package registers as `source`; `name` is what the user wrote.

    Raises InputError for a name that no package registers, and for one that cannot be imported or is no scorer.
    """
    known = plugins()
    if source not in known:
        raise unknown_name("scorer", source, known)
    entry = known[source]
    try:
        inner = entry.load()()
    except Exception as error:  # whatever a package raises
        raise InputError(
            f"The scorer {name!r} ({entry.value}) cannot be loaded ({type(error).__name__}: {error}); fix or "
            "reinstall its package."
        ) from error
    if not callable(getattr(inner, "score", None)) or not isinstance(getattr(inner, "key", None), str):
        raise InputError(
            f"The scorer {name!r} ({entry.value}) needs a method `score(images, captions, pairs)` and a text `key`."
        )
    version = entry.dist.version if entry.dist is not None else ""
    return _PluginScorer(name, inner, f"{entry.value} {version}")
