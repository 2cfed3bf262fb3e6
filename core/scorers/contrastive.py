"""Two-tower models, scored by scaled cosine: what the families share (METHODS 4, contrastive).

The families are `huggingface.py` (CLIP, SigLIP, SigLIP 2 of transformers) and `openclip.py` (open_clip's models).
"""

from __future__ import annotations

import hashlib
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy, deepcopy
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Self

import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F

from core.base.errors import InputError
from core.groups import ImageRef
from core.scorers.base import Batch, Prepared
from core.scorers.gradient_caching import MicroBatchSearch
from core.scorers.input_loading import PreparedInputs, Vision, blocks_of, image_inputs, prefetch, prepare

__all__ = ["ContrastiveModel", "PreparedInputs", "Vision", "describe_device", "image_inputs", "pick_device"]

# Images per block of `score`: what is decoded, preprocessed and encoded at once, and all that is held of the pixels.
IMAGE_BATCH = 64
CAPTION_BATCH = 256
_PAIR_BLOCK = 65_536
# What helps where not even one image fits.
SMALLER = "choose a smaller model, or put bfloat16: before its name"


class ContrastiveModel(ABC):
    """A model with an image tower and a text tower: score = exp(logit_scale) * cosine (+ logit_bias), float32.

    A model with a bias was trained with SigLIP's pairwise sigmoid loss, one without with CLIP's softmax loss.
    """

    label: str  # the family, for people
    context: int  # tokens of a caption at most
    side: int | None  # pixels of an image's side; None where the model takes any
    precision = "float32"  # of the towers when they score; cosines are float32 whatever it is (`faster.py`)

    def __init__(
        self, name: str, module: torch.nn.Module, device: torch.device, key: Callable[[], str | None]
    ) -> None:
        """`key` : computes the key, called when first asked for; None stands for "hash the weights in memory"."""
        self.name = name
        self.device = device
        self.module = module.float().to(device).eval()
        self._key: str | Callable[[], str | None] | None = key
        # Fast tokenizers keep their padding as state and fail when two threads use one at once.
        self._tokenizing = Lock()

    @abstractmethod
    def _preprocess(self, images: list[Image.Image]) -> Vision:
        """RGB images -> the vision tower's inputs, each (images, ...), on the CPU."""

    @abstractmethod
    def _tokenize(self, captions: list[str]) -> torch.Tensor:
        """Captions -> token ids, int64 (captions, length), cut at the context."""

    @abstractmethod
    def _token_count(self, caption: str) -> int:
        """Tokens of a caption before it is cut."""

    @abstractmethod
    def _lengths(self, ids: torch.Tensor) -> torch.Tensor:
        """How many leading tokens of each caption decide its embedding, int64 (captions,)."""

    @abstractmethod
    def _embed_images(self, inputs: Vision) -> torch.Tensor:
        """Pooled, projected image embeddings (b, d), not normalised."""

    @abstractmethod
    def _embed_captions(self, ids: torch.Tensor) -> torch.Tensor:
        """Pooled, projected caption embeddings (b, d), not normalised."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the model in its own format, weights as safetensors; `load_scorer(folder)` reads it again."""

    @property
    def key(self) -> str:
        """Content hash (hex) of weights and settings. A copy's is that of its weights at this moment."""
        if callable(self._key):
            self._key = self._key() or self._live_key()
        return self._live_key() if self._key is None else self._key

    def _live_key(self) -> str:
        total = hashlib.sha256(f"{self.label} {self.context} {self.side}".encode())
        for name, tensor in sorted(self.module.state_dict().items()):
            total.update(f"{name} {tuple(tensor.shape)}".encode())
            total.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return total.hexdigest()

    @property
    def scale(self) -> torch.Tensor:
        """Logarithm of the factor on the cosine; a parameter."""
        return getattr(self.module, "logit_scale")  # noqa: B009 - typed as a module or a tensor

    @property
    def bias(self) -> torch.Tensor | None:
        """The logit bias of a SigLIP-like model; None for a CLIP-like one."""
        return getattr(self.module, "logit_bias", None)

    def describe(self) -> str:
        """One line for people: family, size, where it runs."""
        count = sum(p.numel() for p in self.module.parameters())
        size = f"{count / 1e6:.1f} M" if count < 1e9 else f"{count / 1e9:.1f} B"
        return f"{self.label}, {size} parameters, on {describe_device(self.device)}"

    def copy(self) -> Self:
        """An independent copy of the weights; tokenizer and preprocessing are shared."""
        twin = copy(self)
        twin.module = deepcopy(self.module)
        twin._key = None  # its weights may change at any time
        return twin

    def score(self, images: Sequence[ImageRef], captions: Sequence[str], pairs: np.ndarray) -> np.ndarray:
        """Scores of the wanted pairs, float32 (p,).

        images, captions : distinct ones; those that a pair names are encoded, once. pairs : int (p, 2), indices.
        Memory does not grow with the number of images. Captions longer than the context are cut, with a warning.
        Raises InputError for an image that does not open.
        """
        scores = np.empty(len(pairs), dtype=np.float32)
        for rows, values in self.stream(images, captions, pairs):
            scores[rows] = values
        return scores

    def stream(
        self, images: Sequence[ImageRef], captions: Sequence[str], pairs: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """As `score`, as it goes: (rows of `pairs`, their scores) for one block of images after the other."""
        wanted, texts, index = _used(pairs, len(images), len(captions))
        blocks = prefetch([images[i] for i in wanted], self._read, IMAGE_BATCH, self.device)
        ids = self._checked_tokens([captions[j] for j in texts])
        yield from self._scored(blocks, ids, index, fits=True)

    def rows(self, images: Sequence[ImageRef], captions: Sequence[str]) -> Callable[[slice], np.ndarray]:
        """Scores of all pairs without a table of them: from a slice of the images to scores float32 (b, captions).

        Everything is encoded now, once; what stays are embeddings. The same slice gives the same numbers; those of
        `score` differ from them by rounding.
        """
        ids = self._checked_tokens(list(captions))
        texts = _fitted("captions", True)(
            lambda size: self._caption_features(ids, size or CAPTION_BATCH), min(CAPTION_BATCH, len(ids))
        )
        fit = _fitted("images", True)
        blocks = prefetch(images, self._read, IMAGE_BATCH, self.device)
        seen = torch.cat([fit(partial(self._image_features, b), len(b["pixel_values"])) for b in blocks])
        scaled = self._scaled

        @torch.no_grad()
        def block(part: slice) -> np.ndarray:
            return scaled((seen[part] @ texts.T).to(self.device)).cpu().numpy()

        return block

    def prepare(self, images: Sequence[ImageRef], captions: Sequence[str]) -> Prepared:
        """Every image preprocessed and every caption tokenised, in the order given.

        More images than memory holds are read again whenever they are needed; few are kept on the GPU.
        """
        ids = self._checked_tokens(list(captions))
        return prepare(images, self._read, IMAGE_BATCH, self.device, {"input_ids": ids})

    def score_prepared(self, data: Prepared, pairs: np.ndarray, batch: int = 256) -> np.ndarray:
        """As `score`, on prepared input: float32 (p,)."""
        wanted, texts, index = _used(pairs, len(data.pixels), len(data.tokens["input_ids"]))
        blocks = blocks_of(data, torch.from_numpy(wanted), batch)
        scores = np.empty(len(pairs), dtype=np.float32)
        ids = data.tokens["input_ids"][torch.from_numpy(texts)]
        for rows, values in self._scored(blocks, ids, index, captions=min(batch, CAPTION_BATCH)):
            scores[rows] = values
        return scores

    def loss(
        self,
        data: Prepared,
        images: torch.Tensor,
        captions: torch.Tensor,
        augment: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> torch.Tensor:
        """The model's own contrastive loss over matched pairs (images[b], captions[b]), int64 (b,): a scalar.

        CLIP: mean of the cross-entropies over rows and columns (Radford et al. 2021). SigLIP: sigmoid loss over all
        b*b pairs, summed and divided by b (Zhai et al. 2023, Algorithm 1). Only the batch moves to the device; an
        image or caption that occurs twice in a batch is encoded twice and is a negative of its other copy.
        """
        return self.contrast(*self.embed(self.batch(data, images, captions, augment)))

    def batch(
        self,
        data: Prepared,
        images: torch.Tensor,
        captions: torch.Tensor,
        augment: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> Batch:
        """The inputs of these pairs on the device, captions cut to the batch's longest; see `TwoTower.batch`."""
        inputs = self._to_device(image_inputs(data, images))
        if augment is not None:
            inputs["pixel_values"] = augment(inputs["pixel_values"])
        ids = data.tokens["input_ids"][captions]
        return Batch(inputs, {"input_ids": ids[:, : int(self._lengths(ids).max())].to(self.device)})

    def embed(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Pooled, projected embeddings of a batch's images and captions, (b, d) each, not normalised."""
        return self._embed_images(batch.images), self._embed_captions(batch.captions["input_ids"])

    def contrast(self, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        """The loss of embeddings (b, d) and (b, d) that belong together row by row: a scalar; see `loss`."""
        logits = self._logits(images, captions)  # (b, b)
        if self.bias is not None:
            signs = 2 * torch.eye(len(logits), device=logits.device) - 1
            return -F.logsigmoid(signs * logits).sum() / len(logits)
        own = torch.arange(len(logits), device=logits.device)
        return (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2

    def _logits(self, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        """Scores of all pairs (a, b) with gradients; float32 even where the towers ran in lower precision."""
        with torch.autocast(self.device.type, enabled=False):
            cosine = F.normalize(images.float(), dim=-1) @ F.normalize(captions.float(), dim=-1).T
            return self._scaled(cosine)

    def _scaled(self, cosine: torch.Tensor) -> torch.Tensor:
        logits = cosine * self.scale.float().exp()
        return logits if self.bias is None else logits + self.bias.float()

    def _scored(
        self,
        blocks: Iterable[Vision],
        ids: torch.Tensor,
        index: np.ndarray,
        captions: int = CAPTION_BATCH,
        fits: bool = False,
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Scores of pairs `index` (p, 2) into the images of `blocks` and the captions of `ids`, block by block.

        captions : how many pass the model at once. fits : whether images and captions pass in smaller parts where
        memory runs out; otherwise the error goes to the caller.
        """
        if not len(index):
            return
        fit = _fitted("captions", fits)
        texts = fit(lambda size: self._caption_features(ids, size or captions), min(captions, len(ids)))
        fit = _fitted("images", fits)
        order = np.argsort(index[:, 0], kind="stable")
        ranked = index[order, 0]
        start = 0
        for block in blocks:
            images = fit(partial(self._image_features, block), len(block["pixel_values"]))
            stop = start + len(images)
            rows = order[np.searchsorted(ranked, start) : np.searchsorted(ranked, stop)]
            yield rows, self._products(images, texts, index[rows] - [start, 0])
            start = stop

    @torch.no_grad()
    def _products(self, images: torch.Tensor, captions: torch.Tensor, index: np.ndarray) -> np.ndarray:
        """Scores of pairs of normalised features, each by its own dot product: no pair depends on the others."""
        parts = [
            (images[part[:, 0]] * captions[part[:, 1]]).sum(dim=-1)
            for part in torch.from_numpy(index).split(_PAIR_BLOCK)
        ]
        return self._scaled(torch.cat(parts).to(self.device)).cpu().numpy()

    @torch.no_grad()
    def _image_features(self, block: Vision, size: int | None = None) -> torch.Tensor:
        """Normalised features (b, d) of a block of images, `size` of them at a time."""
        step, parts = size or len(block["pixel_values"]), []
        with self._scoring():
            for start in range(0, len(block["pixel_values"]), step):
                part = self._to_device({name: t[start : start + step] for name, t in block.items()})
                parts.append(F.normalize(self._embed_images(part).float(), dim=-1).cpu())
        return torch.cat(parts)

    @torch.no_grad()
    def _caption_features(self, ids: torch.Tensor, size: int) -> torch.Tensor:
        """Normalised features (c, d); captions of like length share a batch, so that short ones stay cheap."""
        lengths = self._lengths(ids)
        order = lengths.argsort(stable=True)
        parts = []
        with self._scoring():
            for part in order.split(size):
                trimmed = ids[part, : int(lengths[part].max())].to(self.device)
                parts.append(F.normalize(self._embed_captions(trimmed).float(), dim=-1).cpu())
        features = torch.cat(parts)
        return torch.empty_like(features).index_copy_(0, order, features)

    @contextmanager
    def _scoring(self) -> Iterator[None]:
        """Evaluation mode, in the precision asked for; a module that was training goes back to it."""
        training, reduced = self.module.training, self.precision != "float32"
        if training:
            self.module.eval()
        try:
            dtype = getattr(torch, self.precision) if reduced else torch.bfloat16
            with torch.autocast(self.device.type, dtype, enabled=reduced):
                yield
        finally:
            if training:
                self.module.train()

    def _to_device(self, block: Vision) -> Vision:
        return {name: tensor.to(self.device, non_blocking=True) for name, tensor in block.items()}

    def _read(self, images: Sequence[ImageRef]) -> Vision:
        """The vision tower's inputs of some images, opened and preprocessed."""
        return self._preprocess([image.open(self.side) for image in images])

    def _checked_tokens(self, captions: list[str]) -> torch.Tensor:
        """Token ids of captions, with a warning that says how many of them are too long for the model."""
        if not captions:
            return torch.empty((0, 0), dtype=torch.int64)
        with self._tokenizing:
            # No tokenizer makes more tokens than bytes, up to a few special ones.
            suspects = [c for c in captions if len(c.encode("utf-8", "replace")) + 4 > self.context]
            cut = sum(self._token_count(caption) > self.context for caption in suspects)
            ids = self._tokenize(captions)
        if cut:
            warnings.warn(
                f"{cut} of {len(captions)} captions are longer than the {self.context} tokens that {self.name} reads; "
                "the rest of them was cut off.",
                stacklevel=4,
            )
        return ids


def pick_device(name: str = "auto") -> torch.device:
    """A device by name; `auto` takes cuda, then mps, then cpu. Raises InputError for one that is not here."""
    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    if name == "auto":
        return torch.device("cuda" if cuda else "mps" if mps else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f"Unknown device {name!r}; use auto, cpu, cuda, cuda:1 or mps.") from None
    here = {"cpu": True, "cuda": cuda and (device.index or 0) < torch.cuda.device_count(), "mps": mps}
    if not here.get(device.type, False):
        raise InputError(f"This machine has no device {name!r}; use auto or cpu.")
    return device


def describe_device(device: torch.device) -> str:
    """A device for people: `CPU (2 threads)`, `NVIDIA H200`."""
    if device.type == "cpu":
        count = torch.get_num_threads()
        return f"CPU ({count} thread{'s' if count > 1 else ''})"
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "Apple GPU"


def _fitted(what: str, fits: bool) -> Callable[[Callable[[int | None], torch.Tensor], int], torch.Tensor]:
    """A function that does work in smaller parts from when memory runs out, and warns; plain work for `fits` False."""
    fitting = MicroBatchSearch(what, advice=SMALLER)

    def fit(work: Callable[[int | None], torch.Tensor], total: int) -> torch.Tensor:
        if not fits:
            return work(None)
        before = fitting.note
        done = fitting.run(work, total)
        if fitting.note != before:
            warnings.warn(fitting.note, stacklevel=2)
        return done

    return fit


def _used(pairs: np.ndarray, images: int, captions: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The images and captions that pairs (p, 2) name, and the pairs as indices into those."""
    array = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    assert not len(array) or ((array >= 0) & (array < [images, captions])).all()
    wanted, first = np.unique(array[:, 0], return_inverse=True)
    texts, second = np.unique(array[:, 1], return_inverse=True)
    return wanted, texts, np.column_stack([first, second])
