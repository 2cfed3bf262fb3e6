"""Frozen embeddings with one small trainable map per modality: adaptation in seconds, from an embeddings file alone.

Source: [TTM] section 3.1 (SimpleMatch) applied to features instead of a whole model; METHODS 3, "Beyond the paper" (d).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch.nn import functional as F

from core.base.errors import InputError
from core.datasets.embeddings import EmbeddingFile, RowImage
from core.groups import ImageRef
from core.scorers.base import Batch, Prepared

__all__ = ["EmbeddingModel", "LinearMaps", "RowImage"]

_WEIGHTS, _CONFIG = "model.safetensors", "config.json"
_KIND = "crossmatch-embedding"


class LinearMaps(torch.nn.Module):
    """One d x d map for image features and one for caption features; at the identity they change nothing."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.image = torch.nn.Parameter(torch.eye(size))
        self.caption = torch.nn.Parameter(torch.eye(size))


class EmbeddingModel:
    """A `Trainable` over given embeddings: score = scale * cosine(image map @ x, caption map @ y).

    Images are looked up by `ImageRef.key`, captions by their text: the reader of an embeddings file gives every row
    a `RowImage(key)` or a caption, and the same names here.
    """

    module: LinearMaps
    device: torch.device

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
        self.module = LinearMaps(self._images.shape[1]).to(self.device)

    @classmethod
    def of(
        cls, file: EmbeddingFile, scale: float = 100.0, name: str = "embeddings", device: str = "cpu"
    ) -> Self:
        """The model of an embeddings file, whose groups are `file.groups()`; arguments as for the class."""
        return cls(file.images, file.captions, file.image_keys, file.caption_keys, scale, name, device=device)

    @property
    def key(self) -> str:
        """Hash of embeddings, maps and scale."""
        digest = hashlib.sha256(repr(self.scale).encode())
        for tensor in (self._images, self._captions, *self.module.state_dict().values()):
            digest.update(tensor.detach().cpu().numpy().tobytes())
        return digest.hexdigest()

    def prepare(self, images: Sequence[ImageRef], captions: Sequence[str]) -> Prepared:
        """The rows of these images (u, d) as `pixels`, those of these captions (v, d) as tokens["features"]."""
        image_rows = _find(self._image_row, [image.key for image in images], "image")
        caption_rows = _find(self._caption_row, captions, "caption")
        return Prepared(self._images[image_rows], {"features": self._captions[caption_rows]})

    def score(self, images: Sequence[ImageRef], captions: Sequence[str], pairs: np.ndarray) -> np.ndarray:
        """Scores of the wanted pairs, float32 (p,); see `Scorer.score`."""
        return self.score_prepared(self.prepare(images, captions), pairs)

    @torch.no_grad()
    def score_prepared(self, data: Prepared, pairs: np.ndarray, batch: int = 65_536) -> np.ndarray:
        """Scores of the wanted pairs of prepared rows, float32 (p,), `batch` pairs at a time."""
        images = _mapped(data.pixels.to(self.device), self.module.image)
        captions = _mapped(data.tokens["features"].to(self.device), self.module.caption)
        wanted = torch.from_numpy(np.ascontiguousarray(pairs)).to(self.device)
        found = [(images[p[:, 0]] * captions[p[:, 1]]).sum(dim=1) for p in wanted.split(batch)]
        return (self.scale * torch.cat(found)).cpu().numpy()

    def loss(
        self,
        data: Prepared,
        images: torch.Tensor,
        captions: torch.Tensor,
        augment: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> torch.Tensor:
        """Symmetric cross-entropy over the matched pairs (images[b], captions[b]), as in CLIP: a scalar."""
        return self.contrast(*self.embed(self.batch(data, images, captions, augment)))

    def batch(
        self,
        data: Prepared,
        images: torch.Tensor,
        captions: torch.Tensor,
        augment: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> Batch:
        """The rows of these pairs on the device; see `TwoTower.batch`."""
        features = data.pixels[images]
        chosen = (augment(features) if augment else features).to(self.device)
        texts = data.tokens["features"][captions].to(self.device)
        return Batch({"features": chosen}, {"features": texts})

    def embed(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Mapped rows of length 1, (b, d) each."""
        images, captions = batch.images["features"], batch.captions["features"]
        return _mapped(images, self.module.image), _mapped(captions, self.module.caption)

    def contrast(self, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        """Symmetric cross-entropy of rows (b, d) and (b, d), as in CLIP: a scalar."""
        with torch.autocast(self.device.type, enabled=False):
            logits = self.scale * images.float() @ captions.float().T  # (b, b)
        target = torch.arange(len(logits), device=self.device)
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2

    def copy(self) -> Self:
        """The same embeddings with maps of its own."""
        other = object.__new__(type(self))
        other.__dict__ = {**self.__dict__, "module": deepcopy(self.module)}
        return other

    def save(self, folder: Path) -> None:
        """Write maps, embeddings and keys; `EmbeddingModel.load(folder)` reads them again."""
        folder.mkdir(parents=True, exist_ok=True)
        tensors = {f"map.{name}": value.cpu() for name, value in self.module.state_dict().items()}
        save_file({**tensors, "images": self._images, "captions": self._captions}, folder / _WEIGHTS)
        settings = {"model_type": _KIND, "name": self.name, "scale": self.scale, "keys": self._keys}
        (folder / _CONFIG).write_text(json.dumps(settings, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, device: str | torch.device = "cpu") -> Self:
        """Read what `save` wrote. Raises InputError where the folder holds something else."""
        settings, tensors = _read(folder)
        try:
            keys, scale, name = settings["keys"], settings["scale"], settings["name"]
            model = cls(
                tensors["images"].numpy(),
                tensors["captions"].numpy(),
                keys["images"],
                keys["captions"],
                scale,
                name,
                device,
            )
            model.module.load_state_dict({n: tensors[f"map.{n}"] for n in ("image", "caption")})
            # As they were saved: normalised once more they could differ in the last bit, and so a resumed run.
            model._images, model._captions = tensors["images"], tensors["captions"]
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RuntimeError) as error:
            raise InputError(f"The model in {folder} is incomplete ({error}); save it again.") from None
        return model


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    try:
        settings = json.loads((folder / _CONFIG).read_text(encoding="utf-8"))
        tensors = load_file(folder / _WEIGHTS)
    except (OSError, ValueError, RecursionError, SafetensorError) as error:
        raise InputError(f"The model in {folder} does not open ({error}); check the folder.") from None
    if not isinstance(settings, dict) or settings.get("model_type") != _KIND:
        raise InputError(f"The folder {folder} holds no embedding model; choose one that Crossmatch saved.")
    return settings, tensors


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
    if len(keys) != count:
        raise InputError(
            f"There are {count} {kind} embeddings and {len(keys)} names for them; give one name per row."
        )
    places: dict[str, int] = {}
    for row, key in enumerate(keys):
        places.setdefault(key, row)
    return places


def _find(places: dict[str, int], keys: Sequence[str], kind: str) -> list[int]:
    missing = next((key for key in keys if key not in places), None)
    if missing is not None:
        raise InputError(
            f"The embeddings hold no {kind} {missing!r}; use the groups that belong to this file."
        )
    return [places[key] for key in keys]
