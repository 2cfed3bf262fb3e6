"""Frozen embeddings with one small trainable map per modality: adaptation in seconds, from an embeddings file alone.

Source: [TTM] section 3.1 (SimpleMatch) applied to features instead of a whole model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import torch
from torch.nn import functional as F

from core.base.errors import InputError
from core.datasets.embeddings import EmbeddingFile
from core.groups import ImageRef
from core.scorers._model_io import read_model, write_model
from core.scorers._similarity import symmetric_cross_entropy
from core.scorers.base import Batch, Prepared, TwoTower
from core.scorers.devices import pick_device
from core.scorers.hub import locate

_KIND = "crossmatch-embedding"
_PAIR_BLOCK = 65_536


class _LinearMaps(torch.nn.Module):
    """One d x d map for image features and one for caption features; at the identity they change nothing."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.image = torch.nn.Parameter(torch.eye(size))
        self.caption = torch.nn.Parameter(torch.eye(size))


class EmbeddingModel(TwoTower):
    """Two towers over given embeddings: score = scale * cosine(image map @ x, caption map @ y).

    Images are looked up by `ImageRef.key`, captions by their text: the reader of an embeddings file gives every row
    a `RowImage(key)` or a caption, and the same names here.
    """

    module: _LinearMaps

    def __init__(
        self,
        images: np.ndarray,
        captions: np.ndarray,
        image_keys: Sequence[str],
        caption_keys: Sequence[str],
        scale: float = 100.0,
        name: str = "embeddings",
        device: str | torch.device = "cpu",
    ) -> None:
        """`images` (a, d) and `captions` (b, d), float, any length but 0; one key per row. Equal keys: the first row.

        `scale` multiplies the cosine, as exp(logit_scale) does in CLIP (100 in the released models).
        """
        self.name, self.scale, self.device = name, float(scale), torch.device(device)
        self._images, self._captions = _unit_rows(images, "image"), _unit_rows(captions, "caption")
        if self._images.shape[1] != self._captions.shape[1]:
            raise InputError(
                f"Image embeddings have {self._images.shape[1]} numbers, caption embeddings "
                f"{self._captions.shape[1]}; both must come from the same model."
            )
        self._keys = {"images": list(image_keys), "captions": list(caption_keys)}
        self._image_row = _places(image_keys, len(self._images), "image")
        self._caption_row = _places(caption_keys, len(self._captions), "caption")
        self.module = _LinearMaps(self._images.shape[1]).to(self.device).eval()

    @classmethod
    def of(
        cls, file: EmbeddingFile, scale: float = 100.0, name: str = "embeddings", device: str = "cpu"
    ) -> Self:
        """The model of an embeddings file, whose groups are `file.groups()`; arguments as for the class."""
        return cls(file.images, file.captions, file.image_keys, file.caption_keys, scale, name, device=device)

    def _settings(self) -> str:
        return repr(self.scale)

    def _weights(self) -> dict[str, torch.Tensor]:
        maps = {f"map.{name}": value for name, value in self.module.state_dict().items()}
        return {**maps, "images": self._images, "captions": self._captions}

    def prepare(
        self, images: Sequence[ImageRef], captions: Sequence[str], crop_factor: float | None = None
    ) -> Prepared:
        """The rows of these images (u, d) as `pixels`, those of these captions (v, d) as tokens["features"]."""
        image_rows = _find(self._image_row, [image.key for image in images], "image")
        caption_rows = _find(self._caption_row, captions, "caption")
        return Prepared(self._images[image_rows], {"features": self._captions[caption_rows]})

    def _encode_captions(self, captions: list[str]) -> torch.Tensor:
        return self.prepare([], captions).tokens["features"]

    def _encode_images(self, images: list[ImageRef]) -> Iterator[tuple[torch.Tensor, int]]:
        yield self.prepare(images, []).pixels, len(images)

    @torch.no_grad()
    def _score_block(self, images: torch.Tensor, captions: torch.Tensor, index: np.ndarray) -> np.ndarray:
        return self._products(images, captions, index, _PAIR_BLOCK)

    @torch.no_grad()
    def caption_similarities(self, captions: Sequence[str], pairs: np.ndarray) -> np.ndarray:
        """Cosines of pairs (p, 2) of captions through the caption map, float32 (p,), without the scale."""
        texts = _mapped(self._encode_captions(list(captions)).to(self.device), self.module.caption)
        return (texts[pairs[:, 0]] * texts[pairs[:, 1]]).sum(dim=1).cpu().numpy()

    @torch.no_grad()
    def score_prepared(self, data: Prepared, pairs: np.ndarray, batch: int = _PAIR_BLOCK) -> np.ndarray:
        """Scores of the requested pairs of prepared rows, float32 (p,), `batch` pairs at a time."""
        return self._products(data.pixels, data.tokens["features"], pairs, batch)

    def _products(
        self, images: torch.Tensor, captions: torch.Tensor, pairs: np.ndarray, batch: int
    ) -> np.ndarray:
        first = _mapped(images.to(self.device), self.module.image)
        second = _mapped(captions.to(self.device), self.module.caption)
        index = torch.from_numpy(np.ascontiguousarray(pairs)).to(self.device)
        products = [(first[p[:, 0]] * second[p[:, 1]]).sum(dim=1) for p in index.split(batch)]
        return (self.scale * torch.cat(products)).cpu().numpy()

    def batch(self, data: Prepared, images: torch.Tensor, captions: torch.Tensor) -> Batch:
        chosen = data.images(images)["pixel_values"].to(self.device)
        texts = data.tokens["features"][captions].to(self.device)
        return Batch({"features": chosen}, {"features": texts})

    def embed(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        images, captions = batch.images["features"], batch.captions["features"]
        return _mapped(images, self.module.image), _mapped(captions, self.module.caption)

    def contrast(self, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        """Symmetric cross-entropy of rows (b, d) and (b, d), as in CLIP: a scalar."""
        with torch.autocast(self.device.type, enabled=False):
            return symmetric_cross_entropy(self.scale * images.float() @ captions.float().T)

    def save(self, folder: Path) -> None:
        """Write maps, embeddings and keys; `load_scorer(folder)` reads them again."""
        settings = {"model_type": _KIND, "name": self.name, "scale": self.scale, "keys": self._keys}
        write_model(folder, settings, self._weights())


def load(name: str, source: str, device: str = "auto", kind: str | None = None) -> EmbeddingModel:
    """Read what `EmbeddingModel.save` wrote. Raises InputError where the folder holds something else."""
    folder = locate(source)
    with read_model(folder) as (settings, tensors):
        images, captions = tensors["images"], tensors["captions"]
        keys, scale = settings["keys"], settings["scale"]
        model = EmbeddingModel(
            images.numpy(),
            captions.numpy(),
            keys["images"],
            keys["captions"],
            scale,
            name,
            pick_device(device),
        )
        model.module.load_state_dict({n: tensors[f"map.{n}"] for n in ("image", "caption")})
        # As they were saved: normalised once more they could differ in the last bit, and so a resumed run.
        model._images, model._captions = images, captions
    return model


def _mapped(features: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Unit rows of features @ weight.T, (b, d)."""
    return F.normalize(F.linear(features, weight), dim=-1)


def _unit_rows(array: np.ndarray, kind: str) -> torch.Tensor:
    """Rows of length 1 in float32; InputError for a wrong shape, a non-finite number or a row of zeros."""
    rows = np.asarray(array)
    if rows.ndim != 2 or not rows.size or not np.issubdtype(rows.dtype, np.floating):
        raise InputError(
            f"The {kind} embeddings have shape {rows.shape} and type {rows.dtype}; need numbers (rows, d)."
        )
    length = np.linalg.norm(rows.astype(np.float64), axis=1)
    bad = ~np.isfinite(length) | (length == 0)
    if bad.any():
        raise InputError(
            f"Row {int(bad.argmax())} of the {kind} embeddings is zero or not finite; compute it again."
        )
    return torch.from_numpy((rows / length[:, None]).astype(np.float32))


def _places(keys: Sequence[str], count: int, kind: str) -> dict[str, int]:
    """The first row of every key."""
    if len(keys) != count:
        raise InputError(
            f"There are {count} {kind} embeddings and {len(keys)} names for them; give one name per row."
        )
    return {key: row for row, key in reversed(list(enumerate(keys)))}


def _find(places: dict[str, int], keys: Sequence[str], kind: str) -> list[int]:
    missing = next((key for key in keys if key not in places), None)
    if missing is not None:
        raise InputError(
            f"The embeddings hold no {kind} {missing!r}; use the groups that belong to this file."
        )
    return [places[key] for key in keys]
