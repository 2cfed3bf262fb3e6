"""Image-text models that MTEB wraps: `mteb:NAME`, the cosine of two embeddings by MTEB's own wrapper of the model.

Each is asked as in MTEB's compositional tasks (Winoground), so that scores here are those behind its results. Needs the
library mteb, and what the model's wrapper needs. A wrapper that wants to run code of the model's repository is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
import torch
import transformers
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from core.base.errors import InputError, unknown_name
from core.groups import ImageRef
from core.scorers._memory import memory_errors
from core.scorers.base import ScoredRows, StreamingScorer, by_block, used_inputs
from core.scorers.devices import pick_device

_TASK = "Winoground"  # whose instruction a model with instructions gets
_BATCH = 16
_IMAGES = 256  # that are encoded by one call: their embeddings are all that is kept


class _Column(Dataset):
    """Captions or images as MTEB's wrappers ask for them: rows of one column, which they look up in `features`."""

    def __init__(self, name: str, read: Callable[[int], Any], count: int) -> None:
        self.features, self._read, self._count = {name: None}, read, count
        self._name = name

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {self._name: self._read(index)}

    def loader(self) -> DataLoader:
        """Batches of the column in order, each a list by its name."""

        def together(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
            return {self._name: [row[self._name] for row in rows]}

        return DataLoader(self, batch_size=_BATCH, collate_fn=together)


class MtebModel(StreamingScorer):
    """A model with MTEB's wrapper: score = cosine of the embeddings, as MTEB's tasks compare them, float32."""

    def __init__(self, name: str, wrapper: Any, about: Any, key: str) -> None:
        """`about` : metadata of the task whose instruction it gets."""
        self.name, self.key, self._wrapper, self._about = name, key, wrapper, about
        self._lock = Lock()

    def stream(
        self, images: Sequence[ImageRef], captions: Sequence[str], pairs: np.ndarray
    ) -> Iterator[ScoredRows]:
        """As `score`, as it goes: rows of `pairs` and their scores, one block of images after the other."""
        first, second, index = used_inputs(pairs)
        if not len(index):
            return
        with memory_errors(self.name):
            texts = self._encoded(_Column("text", lambda j: captions[second[j]], len(second)))
            for block, rows, part in by_block(self._blocks([images[i] for i in first]), index):
                yield rows, (block[part[:, 0]] * texts[part[:, 1]]).sum(dim=-1).numpy()

    def caption_similarities(self, captions: Sequence[str], pairs: np.ndarray) -> np.ndarray:
        """Cosines of pairs (p, 2) of captions, float32 (p,); each caption is encoded once."""
        with memory_errors(self.name):
            texts = self._encoded(_Column("text", captions.__getitem__, len(captions)))
        return (texts[pairs[:, 0]] * texts[pairs[:, 1]]).sum(dim=-1).numpy()

    def _blocks(self, images: Sequence[ImageRef]) -> Iterator[tuple[torch.Tensor, int]]:
        for start in range(0, len(images), _IMAGES):
            part = images[start : start + _IMAGES]
            yield self._encoded(_Column("image", partial(_opened, part), len(part))), len(part)

    def _encoded(self, column: _Column) -> torch.Tensor:
        """Normalised embeddings (n, d), float32 on the CPU."""
        with self._lock, torch.no_grad(), _wrapper_errors(self.name):
            found = self._wrapper.encode(
                column.loader(),
                task_metadata=self._about,
                hf_split="test",
                hf_subset="default",
                batch_size=_BATCH,
                show_progress_bar=False,
            )
        embeddings = torch.as_tensor(found).float().cpu()
        if embeddings.ndim != 2 or len(embeddings) != len(column):
            raise InputError(
                f"{self.name} gives embeddings of shape {tuple(embeddings.shape)}, and one vector for each of "
                f"{len(column)} inputs is needed; choose a model with one vector per image and text."
            )
        return F.normalize(embeddings, dim=-1)


def _opened(images: Sequence[ImageRef], index: int) -> Any:
    return images[index].open(None)


@contextmanager
def _wrapper_errors(name: str) -> Iterator[None]:
    """Whatever a wrapper raises, as one sentence about the model; code of its repository is not run."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise InputError(
            f"{name} runs code from its own repository, which Crossmatch never does; write a scorer of your own "
            "(python:NAME), or give its embeddings as a file."
        )

    modules = transformers.dynamic_module_utils
    run, modules.get_class_in_module = modules.get_class_in_module, refuse
    try:
        yield
    except (InputError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # each of hundreds of wrappers fails in its own ways
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")[:300]
        raise InputError(f"MTEB's wrapper of {name} fails ({reason}); choose another model.") from error
    finally:
        modules.get_class_in_module = run


def load(name: str, source: str, device: str = "auto", kind: str | None = None) -> MtebModel:
    """The scorer of a model by the name that MTEB knows it by, which its registry pins to a revision.

    Raises InputError, in one sentence: without the library, for a name that MTEB does not know, for a model that does
    not read both images and texts, and for whatever its wrapper cannot load.
    """
    target = pick_device(device)
    try:
        import mteb
        from mteb.models.model_implementations import MODEL_REGISTRY
    except ImportError:
        raise InputError(f"{name} needs the library mteb; install it with `pip install mteb`.") from None
    if source not in MODEL_REGISTRY:
        raise unknown_name("model of MTEB", source, MODEL_REGISTRY)
    meta = MODEL_REGISTRY[source]
    if not {"image", "text"} <= set(meta.modalities):
        reads = ", ".join(meta.modalities)
        raise InputError(f"{name} reads {reads} and no images beside texts; choose a multimodal model.")
    with _wrapper_errors(name):
        wrapper = meta.load_model(device=str(target))
    settings = f"mteb {mteb.__version__} {meta.name} {meta.revision} {meta.experiment_kwargs}"
    key = hashlib.sha256(settings.encode()).hexdigest()
    return MtebModel(name, wrapper, mteb.get_task(_TASK).metadata, key)
