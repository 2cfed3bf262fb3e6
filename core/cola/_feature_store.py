"""Features of frozen encoders on disk: half precision, memory-mapped, shared by every run and seed that asks for them.

74,000 images of GQA are 11 GB of float32 patch tokens with CLIP ViT-B/32 and 44 GB with FLAVA: too many to hold. A
folder is named by what the features depend on, the base's weights and every image or caption, and holds plain arrays.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from core.base import files, paths
from core.scorers.cola_features import Features

_FACTS = "features.json"  # written last: a folder without it is not whole
_HALF, _STARTS = np.float16, np.int64
_LARGEST = float(np.finfo(_HALF).max)


class _Shapes(NamedTuple):
    """rows : images or captions. tokens : of all of them together. The rest are widths; `words` is 0 for images."""

    rows: int
    tokens: int
    pooled: int
    token: int
    words: int


class StoredFeatures:
    """Features (`core.scorers.cola_features.Features`) of n images or captions in a folder, read when asked for.

    Files: `pooled` (n, d), `token` (all tokens, h) and `words` (all tokens, w) in float16, `starts` int64 (n + 1,).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shapes = _Shapes(**json.loads((folder / _FACTS).read_text(encoding="utf-8")))

    def rows(self, index: torch.Tensor) -> Features:
        """Some of them in this order, float32 on the CPU, padded to the longest. What was read is not kept mapped."""
        chosen = index.numpy()
        starts = self._map("starts", _STARTS, (self.shapes.rows + 1,))
        begins, lengths = starts[chosen], starts[chosen + 1] - starts[chosen]
        mask = np.arange(lengths.max()) < lengths[:, None]
        places = (begins[:, None] + np.arange(lengths.max()))[mask]
        tokens = self._padded("token", self.shapes.token, mask, places)
        words = self._padded("words", self.shapes.words, mask, places)
        pooled = self._map("pooled", _HALF, (self.shapes.rows, self.shapes.pooled))[chosen].astype(np.float32)
        if not self.shapes.words:
            words = np.empty((len(chosen), 0, self.shapes.pooled), dtype=np.float32)
        return Features(*map(torch.from_numpy, (pooled, tokens, mask, words)))

    def _padded(self, name: str, width: int, mask: np.ndarray, places: np.ndarray) -> np.ndarray:
        """float32 (b, length, width), zero where the mask is False."""
        out = np.zeros((*mask.shape, width), dtype=np.float32)
        if width:
            out[mask] = self._map(name, _HALF, (self.shapes.tokens, width))[places]
        return out

    def _map(self, name: str, kind: type, shape: tuple[int, ...]) -> np.ndarray:
        return np.memmap(self.folder / name, dtype=kind, mode="r", shape=shape)

    @property
    def bytes(self) -> int:
        """On disk."""
        return files.folder_size(self.folder)


def stored_features(key: str, blocks: Iterable[Features]) -> StoredFeatures:
    """The features of this key; where nobody has computed them yet, `blocks` does, in order."""
    folder = paths.home() / "cache" / "features" / key
    if not (folder / _FACTS).is_file():
        with files.storage_errors(folder):
            files.private_folder(folder.parent)
            with files.aside(folder) as part:
                files.private_folder(part)
                files.write_json(part / _FACTS, _write(part, blocks)._asdict())
    return StoredFeatures(folder)


def _write(folder: Path, blocks: Iterable[Features]) -> _Shapes:
    """Append block after block; a block is all that is in memory."""
    lengths: list[np.ndarray] = []
    widths = (0, 0, 0)
    with (
        (folder / "pooled").open("wb") as pooled,
        (folder / "token").open("wb") as token,
        (folder / "words").open("wb") as words,
    ):
        for block in blocks:
            block = block.to(torch.device("cpu"))
            count = block.mask.sum(dim=1)
            assert block.mask.equal(torch.arange(block.mask.shape[1]) < count[:, None]), "padding comes last"
            lengths.append(count.numpy())
            has_words = block.words.shape[1] > 0
            parts = (block.pooled, block.tokens[block.mask], block.words[block.mask] if has_words else None)
            for file, part in zip((pooled, token, words), parts, strict=True):
                if part is not None:
                    part.clamp(-_LARGEST, _LARGEST).numpy().astype(_HALF).tofile(file)
            widths = (block.pooled.shape[1], block.tokens.shape[2], block.words.shape[2] if has_words else 0)
    starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(_STARTS)
    starts.tofile(folder / "starts")
    return _Shapes(len(starts) - 1, int(starts[-1]), *widths)


def features_key(base: str, side: str, contents: Iterable[str]) -> str:
    """What features depend on, as a folder's name. base : weights, and how they are read. contents : of every item."""
    digest = hashlib.sha256(f"{base}\0{side}\0".encode())
    for content in contents:
        digest.update(hashlib.sha256(content.encode()).digest())
    return digest.hexdigest()[:32]


def disk_bytes(sample: Features, count: int) -> int:
    """What `count` images or captions like these will take on disk."""
    tokens = int(sample.mask.sum())
    width = sample.tokens.shape[2] + (sample.words.shape[2] if sample.words.shape[1] else 0)
    each = (2 * (sample.pooled.numel() + tokens * width)) / len(sample.pooled) + 8
    return int(each * count)


def in_blocks(items: Sequence[str], size: int) -> Iterator[list[str]]:
    """Items in order, `size` at a time."""
    return (list(items[start : start + size]) for start in range(0, len(items), size))
