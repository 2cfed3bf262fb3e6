"""A scorer that knows its key, and loads its model, and with it torch, only when a score is in no cache."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from core.scoring.load import load_scorer, scorer_key


class LazyScorer:
    """Stands for `load_scorer(name)`; the model is loaded when more than name and key is asked of it.

    A model whose key takes loading (a served one, a plug-in, a name of open_clip's) is loaded at once.
    """

    def __init__(self, name: str, loading: Callable[[], AbstractContextManager[Any]] = nullcontext) -> None:
        self.name, self._loading = name, loading
        self.key = scorer_key(name) or self.__getattr__("key")

    def __getattr__(self, attribute: str) -> Any:
        # Kept by `load_scorer`, not here: a model that was freed meanwhile is loaded again.
        with self._loading():
            return getattr(load_scorer(self.name), attribute)


def lazy_scorer(name: str, loading: Callable[[], AbstractContextManager[Any]] = nullcontext) -> Any:
    """A scorer by name for scoring through a cache: its model stays on disk while every score is known.

    name : as `load_scorer` takes it. loading : entered around loading, to show that it takes a while.
    A model whose key takes loading is loaded at once, and is then itself what is returned.
    Raises InputError as `load_scorer` does: at once for a name that stands for nothing, later for a damaged model.
    """
    if scorer_key(name) is not None:
        return LazyScorer(name, loading)
    with loading():
        return load_scorer(name)
