"""A built-in model that is loaded before anybody asks for a score that no cache has: words of one's own on Retrieval.

What takes its time is the import of torch and transformers, once per server. It begins in the background a moment after
the page that may need the model has been drawn, so that its pictures come first; only while a server runs, and only
where memory allows it, as for the worker on standby. Commands and tests load what they ask for, as ever.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock, Timer

from core.base import limits
from core.base.public_mode import is_public
from core.runs.standby import _LEAST_MEMORY
from core.scoring.load import builtin_models, load_scorer

log = logging.getLogger("crossmatch.server")

_AFTER_SECONDS = 1.0  # the browser fetches the page's pictures from the same process first


class _ModelsReady:
    """Loads models in the background, each of them once; safe from any thread."""

    def __init__(self, after_seconds: float = _AFTER_SECONDS) -> None:
        self._after, self._lock, self._asked = after_seconds, Lock(), set[str]()

    def prepare(self, models: Sequence[str]) -> None:
        """Begin to load those of these models that ship with Crossmatch, where memory allows it."""
        with self._lock:
            new = [model for model in models if model in builtin_models() and model not in self._asked]
            if not new or limits.memory_left() < _LEAST_MEMORY[is_public()]:
                return
            self._asked.update(new)
        timer = Timer(self._after, self._load, [new])
        timer.daemon = True  # a server that ends waits for no import
        timer.start()

    @staticmethod
    def _load(models: Sequence[str]) -> None:
        for model in models:
            try:
                load_scorer(model)
            except Exception:  # whoever asks for a score is told what is wrong
                log.exception("%s could not be loaded before it was asked for", model)
            limit_threads()


def limit_threads() -> None:
    """On a public server torch takes one thread, so that a visitor's model and everybody's pages have a core each."""
    torch = sys.modules.get("torch")
    if is_public() and torch is not None and torch.get_num_threads() > 1:
        torch.set_num_threads(1)


_servers: list[_ModelsReady] = []  # of this process: one while a server runs


@contextmanager
def models_ready(own: _ModelsReady | None = None) -> Iterator[None]:
    """While a server runs: `prepare` below loads models."""
    one = own or _ModelsReady()
    _servers.append(one)
    try:
        yield
    finally:
        _servers.remove(one)


def prepare(models: Sequence[str]) -> None:
    """Begin to load these models in the background; nothing where no server runs."""
    for own in _servers[-1:]:
        own.prepare(models)
