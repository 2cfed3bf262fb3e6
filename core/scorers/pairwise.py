"""Models that read image and caption together, or caption alone: what they share (METHODS 4).

Each image is encoded once and meets its captions in batches; each caption is tokenised once. Streams image by image.
"""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F

from core.base.errors import InputError
from core.groups import ImageRef
from core.scorers.contrastive import SMALLER, describe_device, pick_device
from core.scorers.device_memory import check_free_memory, free_bytes, plan, weight_bytes
from core.scorers.gradient_caching import MicroBatchSearch
from core.scorers.hub import check_weights, first_sentence
from core.scorers.null_images import NullImage
from core.scorers.score_kinds import kind_key

# Captions of one image that are scored at once.
CAPTION_BATCH = 32
_DECODERS = min(4, os.cpu_count() or 1)
# An image as a model gets it: opened, or null and thus drawn as pixels.
ImageInput = Image.Image | NullImage


class ModelParts(NamedTuple):
    """A model of transformers as loaded: the module on its device, its processor (or tokenizer), its cache key."""

    name: str
    module: Any
    processor: Any
    device: torch.device
    key: Callable[[], str]


class PairScorer(ABC):
    """A `Scorer` that reads pairs. A family says how captions and images are read and how a pair is scored."""

    label: str  # the family, for people
    context: int | None = None  # tokens of a caption at most; None: no limit
    batch = CAPTION_BATCH

    def __init__(self, parts: ModelParts) -> None:
        self.name, self.module, self.processor, self.device, self._key = parts
        self.config = self.module.config
        self.tokenizer = getattr(self.processor, "tokenizer", self.processor)
        size = getattr(getattr(self.config, "vision_config", None), "image_size", None)
        self.side = size if isinstance(size, int) else None
        self._grey: dict[str, torch.Tensor] | None = None
        self._found_key = ""
        # Tokenizers keep their padding as state, and some models the last image's positions: one thread at a time.
        self._lock = Lock()

    @abstractmethod
    def _read(self, captions: list[str]) -> Sequence[Any]:
        """What the model needs of each caption, in order; called once for all of them."""

    @abstractmethod
    def _look(self, image: ImageInput) -> Any:
        """The image's encoding, whatever the captions."""

    @abstractmethod
    def _match(self, seen: Any, read: list[Any]) -> torch.Tensor:
        """Scores of one encoded image with a batch of captions, float (b,)."""

    @property
    def key(self) -> str:
        """Content hash (hex) of weights, kind of score and settings."""
        if not self._found_key:
            self._found_key = self._key()
        return self._found_key

    def describe(self) -> str:
        """One line for people: family, size, where it runs."""
        count = sum(p.numel() for p in self.module.parameters())
        size = f"{count / 1e6:.1f} M" if count < 1e9 else f"{count / 1e9:.1f} B"
        return f"{self.label}, {size} parameters, on {describe_device(self.device)}"

    def score(self, images: Sequence[ImageRef], captions: Sequence[str], pairs: np.ndarray) -> np.ndarray:
        """Scores of the wanted pairs, float32 (p,).

        images, captions : distinct ones; those that a pair names are read, once. pairs : int (p, 2), indices.
        Neither the order of pairs nor what else is in them changes a score. Captions longer than the model reads are
        cut, with a warning. Raises InputError for an image that does not open.
        """
        scores = np.empty(len(pairs), dtype=np.float32)
        for rows, values in self.stream(images, captions, pairs):
            scores[rows] = values
        return scores

    def stream(
        self, images: Sequence[ImageRef], captions: Sequence[str], pairs: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """As `score`, as it goes: (rows of `pairs`, their scores) for one image after the other."""
        wanted, texts, index = used_inputs(pairs, len(images), len(captions))
        if not len(index):
            return
        with self._lock, torch.no_grad():
            read = self._read([captions[j] for j in texts])
        order = np.argsort(index[:, 0], kind="stable")
        bounds = np.searchsorted(index[order, 0], np.arange(len(wanted) + 1))
        for i, image in enumerate(self._opened([images[i] for i in wanted])):
            rows = order[bounds[i] : bounds[i + 1]]
            with self._lock, torch.no_grad():
                values = self._scored(image, read, index[rows, 1])
            yield rows, values

    def _scored(self, image: ImageInput | None, read: Sequence[Any], texts: np.ndarray) -> np.ndarray:
        """Scores of one image with some captions; captions of like length share a batch."""
        seen = self._look(image)  # type: ignore[arg-type]
        order = np.argsort([_length(read[j]) for j in texts], kind="stable")

        def match(size: int | None) -> np.ndarray:
            values, rows = np.empty(len(texts), dtype=np.float32), min(size or self.batch, self._rows(seen))
            for start in range(0, len(order), rows):
                part = order[start : start + rows]
                values[part] = self._match(seen, [read[texts[p]] for p in part]).float().cpu().numpy()
            return values

        fitting = MicroBatchSearch("captions", advice=SMALLER)
        values = fitting.run(match, min(self._rows(seen), max(1, len(order))))
        if fitting.size is not None:  # for the images to come, too
            self.batch = fitting.size
            warnings.warn(fitting.note, stacklevel=2)
        return values

    def _rows(self, seen: Any) -> int:
        """Captions per batch for this image."""
        return self.batch

    def _opened(self, images: list[ImageRef]) -> Iterator[ImageInput]:
        """Images in order, decoded while the ones before them are scored."""
        with ThreadPoolExecutor(_DECODERS) as pool:
            waiting: deque = deque()
            for image in images:
                waiting.append(image if isinstance(image, NullImage) else pool.submit(image.open, self.side))
                if len(waiting) > _DECODERS:
                    yield _image_of_future(waiting.popleft())
            while waiting:
                yield _image_of_future(waiting.popleft())

    def _pixels(self, image: ImageInput, **more: Any) -> dict[str, torch.Tensor]:
        """The processor's tensors for one image (and more of its arguments), on the device, in the model's type."""
        if isinstance(image, NullImage):
            grey = Image.new("RGB", (self.side or 336, self.side or 336), (128, 128, 128))
            found = self._process(grey, **more)
            found["pixel_values"] = image.draw(found["pixel_values"].shape)
        else:
            found = self._process(image, **more)
        return {name: self._placed(tensor) for name, tensor in found.items()}

    def _process(self, image: Image.Image, **more: Any) -> dict[str, Any]:
        call = self.processor if more else self.processor.image_processor
        return dict(call(images=image, return_tensors="pt", **more))

    def _placed(self, tensor: torch.Tensor) -> torch.Tensor:
        dtype = self.module.dtype if tensor.is_floating_point() else tensor.dtype
        return tensor.to(self.device, dtype)

    def _ids(self, captions: list[str], **settings: Any) -> list[list[int]]:
        """Token ids of each caption, cut at the context, with a warning that says how many were cut."""
        found = self.tokenizer(captions, verbose=False, **settings)["input_ids"] if captions else []
        limit = self.context or max(map(len, found), default=0)
        cut = sum(len(ids) > limit for ids in found)
        if cut:
            warnings.warn(
                f"{cut} of {len(captions)} captions are longer than the {limit} tokens that {self.name} reads; the "
                "rest of them was cut off.",
                stacklevel=4,
            )
        empty = next((c for c, ids in zip(captions, found, strict=True) if not ids), None)
        if empty is not None:
            raise InputError(
                f"{self.name} has no token for anything in the caption {empty!r}; give it other words."
            )
        return [list(ids[:limit]) for ids in found]

    def _padded(self, ids: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Token ids and mask, int64 (b, length) each, padded on the right, on the device.

        Rows are padded with their own last token: a pad token would make some models guess a mask where none is due.
        """
        length = max(map(len, ids))
        rows = torch.tensor([[*row, *row[-1:] * (length - len(row))] for row in ids], device=self.device)
        sizes = torch.tensor([len(row) for row in ids], device=self.device)
        return rows, (torch.arange(length, device=self.device) < sizes[:, None]).long()


def joining_space(before: str, tokenizer: Any) -> str:
    """What stands between a text and its continuation: nothing after white space or a special token, else a space."""
    bare = not before or before[-1].isspace() or before.endswith(tuple(tokenizer.all_special_tokens))
    return "" if bare else " "


def used_inputs(pairs: np.ndarray, images: int, captions: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The images and captions that pairs (p, 2) name, and the pairs as indices into those."""
    array = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    assert not len(array) or ((array >= 0) & (array < [images, captions])).all()
    wanted, first = np.unique(array[:, 0], return_inverse=True)
    texts, second = np.unique(array[:, 1], return_inverse=True)
    return wanted, texts, np.column_stack([first, second])


def _image_of_future(item: Any) -> ImageInput:
    return item if isinstance(item, NullImage) else item.result()


def _length(read: Any) -> int:
    return len(read) if hasattr(read, "__len__") else 0


def token_log_probs(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """log P of each token, float32 (b, length), from the logits (b, length, vocabulary) that predict it.

    The softmax runs in float32 whatever the model's type: half precision would make ties of near equal captions.
    """
    flat = F.cross_entropy(logits.float().flatten(0, 1), ids.flatten(), reduction="none")
    return -flat.view(ids.shape)


def masked_mean(values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Mean over the places of each row that the mask keeps, (b,)."""
    return (values * mask).sum(dim=1) / mask.sum(dim=1)


def load_parts(
    name: str, folder: Path, device: str, kind: str, auto: str, processor: str = "AutoProcessor"
) -> ModelParts:
    """A model of transformers from a folder: safetensors alone, no remote code, its memory checked before.

    auto, processor : names of transformers' classes, such as `BlipForImageTextRetrieval`, `AutoModelForCausalLM`.
    Raises InputError where the model does not fit into memory, or weights are missing, incomplete or damaged.
    """
    place = pick_device(device)
    check_weights(folder)
    need = plan(weight_bytes(folder))
    check_free_memory(name, need, free_bytes(str(place)))
    with first_sentence(folder):
        import transformers

        transformers.utils.logging.disable_progress_bar()
        local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        module, report = getattr(transformers, auto).from_pretrained(
            folder,
            dtype=getattr(torch, need.dtype),
            use_safetensors=True,
            output_loading_info=True,
            **local,
        )
        if report["missing_keys"]:
            raise ValueError(f"no weights for {min(report['missing_keys'])}")
        reader = getattr(transformers, processor).from_pretrained(folder, **local)
    module = module.to(place).eval()
    if need.dtype != "float32":
        exact_heads(module)
    return ModelParts(name, module, reader, place, lambda: kind_key(kind, folder))


def exact_heads(module: Any) -> None:
    """Let a half-precision model's last product run in float32, so that its logits do not tie by rounding."""
    for head in (module.get_output_embeddings(), getattr(module, "itm_head", None)):
        if isinstance(head, torch.nn.Linear):
            head.register_forward_hook(
                lambda layer, inputs, output: F.linear(
                    inputs[0].float(),
                    layer.weight.float(),
                    None if layer.bias is None else layer.bias.float(),
                )
            )
