"""What test-time matching costs besides the model: `make bench` part `overhead`, on the built-in CLIP.

The model's own time is taken from outside: around its towers, its loss, `backward` and the optimizer's step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import perf_counter
from typing import Any

import torch

from core.groups import ImageRef
from core.scorers._huggingface import TransformersModel
from core.scoring.load import load_scorer
from core.ttm.run import TTMRun

# Together they are forward, backward and optimizer step; none of them calls another.
MODEL = (
    *((TransformersModel, name) for name in ("_embed_images", "_embed_captions", "contrast")),
    *((torch.Tensor, "backward"), (torch.optim.AdamW, "step")),
)


def measure(
    benchmark: str = "scenes/left-right", iterations: int = 3, **options: Any
) -> Iterator[dict[str, object]]:
    """One row per iteration, evaluation included: seconds, those outside the model, their share.

    The last row says what was done once per run: `opened` images, `_tokenize` calls, and a scoring pass per iteration.
    """
    job = TTMRun.of(benchmark, "builtin/clip", options={"iterations": iterations, **options})
    images = job.load_groups().unique_images()[0]
    load_scorer(job.model)  # kept from now on; to check its tokenizer it reads a caption of its own
    with (
        counted(TransformersModel, "_tokenize") as tokenized,
        counted(TransformersModel, "score_prepared") as passes,
        opened(images) as found,
        timed(*MODEL) as inside,
    ):
        began, before = perf_counter(), 0.0
        for done in job.execute():
            seconds, own = perf_counter() - began, inside["seconds"] - before
            row = {"seconds": round(seconds, 3), "outside": round(seconds - own, 3)}
            # Before iteration 1 images are decoded and captions tokenised for the whole run.
            yield {"iteration": done.record["iteration"], **row, "share": round(1 - own / seconds, 4)}
            began, before = perf_counter(), inside["seconds"]
    yield {"images": len(images), "opened": sum(found.values()), **tokenized, **passes}


@contextmanager
def replaced(owner: type, name: str, method: Callable) -> Iterator[None]:
    """Another method in its place, for a while."""
    inner = getattr(owner, name)
    setattr(owner, name, method)
    try:
        yield
    finally:
        setattr(owner, name, inner)


@contextmanager
def timed(*methods: tuple[type, str]) -> Iterator[Counter]:
    """Sums the seconds inside these methods, under `seconds`."""
    total: Counter = Counter()

    def around(inner: Callable) -> Callable:
        def call(*args: Any, **kwargs: Any) -> Any:
            started = perf_counter()
            try:
                return inner(*args, **kwargs)
            finally:
                total["seconds"] += perf_counter() - started

        return call

    with ExitStack() as stack:
        for owner, name in methods:
            stack.enter_context(replaced(owner, name, around(getattr(owner, name))))
        yield total


@contextmanager
def counted(owner: type, name: str) -> Iterator[Counter]:
    """Counts the calls of a method, under its name."""
    calls: Counter = Counter({name: 0})
    inner = getattr(owner, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        calls[name] += 1
        return inner(*args, **kwargs)

    with replaced(owner, name, call):
        yield calls


@contextmanager
def opened(images: list[ImageRef]) -> Iterator[Counter]:
    """Counts how often each image is opened."""
    calls: Counter = Counter({image.key: 0 for image in images})
    kinds = {type(image) for image in images}

    def around(inner: Callable) -> Callable:
        def call(self: ImageRef, *args: Any, **kwargs: Any) -> Any:
            calls[self.key] += 1
            return inner(self, *args, **kwargs)

        return call

    with ExitStack() as stack:
        for kind in kinds:
            stack.enter_context(replaced(kind, "open", around(kind.open)))
        yield calls
