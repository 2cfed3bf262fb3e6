"""A model adapted by one of Cola's strategies, as a scorer: base and strategy in one (METHODS 6).

Saved are the strategy's own weights, and which base they belong to; the base is found again by its name and checked by
its hash. It can be adapted further: `core/ttm/loop.py` works on it as on any other model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from copy import copy, deepcopy
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch.nn import functional as F

from core.base.errors import InputError
from core.groups import ImageRef
from core.scorers.base import Prepared
from core.scorers.cola_config import AdaptConfig
from core.scorers.cola_features import FeatureBase, Features, base_of
from core.scorers.cola_heads import EncodedInputs, Head, make_head
from core.scorers.contrastive import IMAGE_BATCH, ContrastiveModel, _used, describe_device
from core.scorers.hub import key_of_unchanged, model_files, read_json, saved_json
from core.scorers.input_loading import image_inputs

KIND = "crossmatch-adapted"
LoadBase = Callable[[str, str], ContrastiveModel]  # (name, device) -> the model of that name
_WEIGHTS, _CONFIG = "model.safetensors", "config.json"
# Pairs that pass a joint head at once.
PAIRS = 1024


class AdaptedModule(torch.nn.Module):
    """The weights: the base's, frozen but for what the strategy tunes, and the head's."""

    takes_adapters = (
        False  # low-rank ones: a strategy trains little as it is, and saves its own weights alone
    )

    def __init__(self, base: torch.nn.Module, head: Head) -> None:
        super().__init__()
        self.base, self.head = base, head


class AdaptedModel:
    """A `Trainable`: score = calibrated score of the strategy's head, float32."""

    def __init__(
        self, name: str, base: FeatureBase, config: AdaptConfig, base_name: str, base_key: str
    ) -> None:
        """base : an own copy, which this model may train. base_name, base_key : what the folder will name."""
        self.name, self.config, self._base = name, config, base
        self.base_name, self.base_key = base_name, base_key
        self.device = base.model.device
        self.module = AdaptedModule(base.module, make_head(base, config).to(self.device)).eval()
        self._key: str | Callable[[], str | None] | None = None
        self._free()

    @classmethod
    def of(cls, loaded: ContrastiveModel, config: AdaptConfig, base_name: str = "") -> Self:
        """A strategy before its first step, on a copy of a model of CLIP, SigLIP or FLAVA class.

        base_name : what `load_scorer` finds that model by; its own name where none is given.
        """
        name = base_name or loaded.name
        return cls(f"{name} + {config.strategy}", base_of(loaded.copy()), config, name, loaded.key)

    def _free(self) -> None:
        """Gradients for what the strategy tunes, and for nothing else."""
        for parameter in self.module.base.parameters():
            parameter.requires_grad_(self.config.strategy == "ft-all")
        if self.config.strategy == "ft-all":  # the head's calibration stands in for it
            for name in ("scale", "bias"):
                own = getattr(self._base.model, name)
                if own is not None:
                    own.requires_grad_(False)
        if self.config.strategy == "prompt-tune":
            self._base.word_table.requires_grad_(True)

    @property
    def head(self) -> Head:
        return self.module.head

    @property
    def frozen(self) -> tuple[bool, bool]:
        """Whether features of images, and of captions, stay the same during training."""
        return self.config.strategy != "ft-all", self.config.strategy not in ("ft-all", "prompt-tune")

    @property
    def parameters(self) -> dict[str, int]:
        """How many numbers the strategy trains, the two of the calibration apart, and how many there are in all."""
        everything = sum(p.numel() for p in self.module.parameters())
        free = sum(p.numel() for p in self.module.parameters() if p.requires_grad)
        return {"trained": free - 2, "calibration": 2, "total": everything}

    @property
    def rate(self) -> float:
        """The learning rate that strategy and base ask for."""
        return self.config.rate(self._base.family, self._base.sizes[2])

    @property
    def key(self) -> str:
        """Content hash (hex): of the folder's files as long as it is what was loaded, else of base and weights."""
        if callable(self._key):
            self._key = self._key()
        if isinstance(self._key, str):
            return self._key
        total = hashlib.sha256(f"{self.base_key} {self.config.to_dict()}".encode())
        for name, tensor in sorted(self._own().items()):
            total.update(name.encode() + tensor.cpu().contiguous().numpy().tobytes())
        return total.hexdigest()

    def describe(self) -> str:
        """One line for people."""
        count = self.parameters["trained"]
        size = f"{count / 1e6:.2f} M" if count >= 1e4 else str(count)
        return (
            f"{self._base.family} + {self.config.strategy}, {size} trained, on {describe_device(self.device)}"
        )

    # ---- features

    def image_features(self, data: Prepared, index: torch.Tensor, augment: Any = None) -> Features:
        """Features of some prepared images, on the device; with gradients where the strategy tunes the encoder."""
        inputs = {name: tensor.to(self.device) for name, tensor in image_inputs(data, index).items()}
        if augment is not None:
            inputs["pixel_values"] = augment(inputs["pixel_values"])
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen[0]):
            return self._base.images(inputs)

    def caption_features(self, data: Prepared, index: torch.Tensor) -> Features:
        """Features of some prepared captions, cut to the longest of them."""
        ids = data.tokens["input_ids"][index]
        ids = ids[:, : int(self._base.model._lengths(ids).max())].to(self.device)
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen[1]):
            return self._base.captions(ids)

    # ---- Scorer and Trainable

    def prepare(self, images: Sequence[ImageRef], captions: Sequence[str]) -> Prepared:
        """Every image preprocessed and every caption tokenised, as the base wants them."""
        return self._base.model.prepare(images, captions)

    def score(self, images: Sequence[ImageRef], captions: Sequence[str], pairs: np.ndarray) -> np.ndarray:
        """Scores of the wanted pairs, float32 (p,); see `Scorer.score`."""
        scores = np.empty(len(pairs), dtype=np.float32)
        for rows, values in self.stream(images, captions, pairs):
            scores[rows] = values
        return scores

    def stream(
        self, images: Sequence[ImageRef], captions: Sequence[str], pairs: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """As `score`, as it goes: (rows of `pairs`, their scores) for one block of images after the other."""
        array = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        order = np.argsort(array[:, 0], kind="stable")
        wanted = np.unique(array[:, 0])
        starts = range(0, len(wanted), IMAGE_BATCH)
        for start in starts:
            block = wanted[start : start + IMAGE_BATCH]
            low, high = np.searchsorted(array[order, 0], [block[0], block[-1] + 1])
            rows = order[low:high]
            texts, second = np.unique(array[rows, 1], return_inverse=True)
            data = self.prepare([images[i] for i in block], [captions[j] for j in texts])
            index = np.column_stack([np.searchsorted(block, array[rows, 0]), second])
            yield rows, self.score_prepared(data, index)

    @torch.no_grad()
    def score_prepared(self, data: Prepared, pairs: np.ndarray, batch: int = 256) -> np.ndarray:
        """As `score`, on prepared input, in evaluation mode without gradients: float32 (p,)."""
        if not len(pairs):
            return np.empty(0, dtype=np.float32)
        wanted, texts, index = _used(pairs, len(data.pixels), len(data.tokens["input_ids"]))
        training = self.module.training
        self.module.eval()
        try:
            seen = self.encode(data, torch.from_numpy(wanted), "image", batch)
            read = self.encode(data, torch.from_numpy(texts), "caption", batch)
            return self.score_encoded(seen, read, index)
        finally:
            self.module.train(training)

    @torch.no_grad()
    def encode(self, data: Prepared, index: torch.Tensor, side: str, batch: int = 256) -> EncodedInputs:
        """Images or captions (`side`) through base and head, in parts."""
        read = self.image_features if side == "image" else self.caption_features
        through = self.head.image if side == "image" else self.head.caption
        return concatenate_encoded([through(read(data, part)) for part in index.split(batch)])

    @torch.no_grad()
    def score_encoded(self, images: EncodedInputs, captions: EncodedInputs, pairs: np.ndarray) -> np.ndarray:
        """Scores of pairs (p, 2) of encoded images and captions, float32 (p,); each pair by itself."""
        parts = []
        for part in torch.from_numpy(np.ascontiguousarray(pairs)).to(self.device).split(PAIRS):
            raw = self.head.pairs(images.rows(part[:, 0]), captions.rows(part[:, 1]))
            parts.append(self.head.calibration(raw).float().cpu())
        return torch.cat(parts).numpy()

    def loss(
        self,
        data: Prepared,
        images: torch.Tensor,
        captions: torch.Tensor,
        augment: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> torch.Tensor:
        """Sigmoid cross-entropy over all b x b pairs of a batch of matched ones, int64 (b,): a scalar ([Cola] 11.1).

        Off the diagonal a pair counts as wrong, but for a repeated image or caption with its own partner.
        """
        seen = self.head.image(self.image_features(data, images, augment))
        read = self.head.caption(self.caption_features(data, captions))
        known = set(zip(images.tolist(), captions.tolist(), strict=True))
        rows = [[float((i, j) in known) for j in captions.tolist()] for i in images.tolist()]
        return self.pair_loss(seen, read, torch.tensor(rows, device=self.device))

    def pair_loss(self, images: EncodedInputs, captions: EncodedInputs, labels: torch.Tensor) -> torch.Tensor:
        """Sigmoid cross-entropy, averaged over all pairs; labels float (a, b), 1 for those that match."""
        logits = self.head.calibration(self.head.table(images, captions).float())
        return F.binary_cross_entropy_with_logits(logits, labels)

    def copy(self) -> Self:
        """An independent copy of all weights."""
        twin = copy(self)
        twin._base = type(self._base)(self._base.model.copy())
        twin.module = AdaptedModule(twin._base.module, deepcopy(self.module.head)).train(self.module.training)
        twin._key = None
        twin._free()
        return twin

    # ---- files

    def _own(self) -> dict[str, torch.Tensor]:
        """The strategy's tensors by name: the head's, and those of the base that it tunes."""
        state = {f"head.{name}": tensor for name, tensor in self.module.head.state_dict().items()}
        if self.config.strategy == "prompt-tune":
            state["base.words"] = self._base.word_table
        elif self.config.strategy == "ft-all":
            state |= {f"base.{name}": tensor for name, tensor in self.module.base.state_dict().items()}
        return {name: tensor.detach() for name, tensor in state.items()}

    def save(self, folder: Path) -> None:
        """Write the strategy's weights and a configuration that names the base; `load_scorer(folder)` reads it."""
        tensors = {name: tensor.cpu().contiguous().clone() for name, tensor in self._own().items()}
        settings = {
            "model_type": KIND,
            "base": self.base_name,
            "base_key": self.base_key,
            "adapt": self.config.to_dict(),
        }
        with saved_json(folder) as aside:
            save_file(tensors, aside / _WEIGHTS)
            (aside / _CONFIG).write_text(json.dumps(settings, indent=1), encoding="utf-8")

    @classmethod
    def load(cls, name: str, folder: Path, load_base: LoadBase, device: str = "auto") -> Self:
        """Read what `save` wrote; `load_base(name, device)` loads the base that it names.

        Raises InputError where it is damaged or its base is another model by now.
        """
        key = key_of_unchanged(model_files(folder))
        settings = read_json(folder / _CONFIG)
        try:
            base_name, base_key = settings["base"], settings["base_key"]
            config = AdaptConfig(**settings["adapt"])
            tensors = load_file(folder / _WEIGHTS)
        except (KeyError, TypeError, OSError, SafetensorError) as error:
            raise InputError(
                f"The adapted model in {folder} does not open ({error}); make it again."
            ) from None
        model = cls.of(load_base(base_name, device), config, base_name)
        if model.base_key != base_key:
            raise InputError(
                f"The model in {folder} was adapted from another {base_name} than the one available now; adapt it "
                f"again."
            )
        model._restore(tensors, folder)
        model.name, model._key = name, key
        return model

    def _restore(self, tensors: dict[str, torch.Tensor], folder: Path) -> None:
        parts: dict[str, dict[str, torch.Tensor]] = {"head": {}, "base": {}}
        for name, tensor in tensors.items():
            part, _, rest = name.partition(".")
            parts.setdefault(part, {})[rest] = tensor
        try:
            self.module.head.load_state_dict(parts["head"])
            if "words" in parts["base"]:
                with torch.no_grad():
                    self._base.word_table.copy_(parts["base"]["words"])
            elif parts["base"]:
                self.module.base.load_state_dict(parts["base"])
        except RuntimeError as error:
            reason = str(error).splitlines()[0]
            raise InputError(
                f"The adapted model in {folder} is incomplete ({reason}); make it again."
            ) from None


def concatenate_encoded(parts: Sequence[EncodedInputs]) -> EncodedInputs:
    """Encoded blocks in a row; captions of different lengths are padded to the longest."""
    width = max(part.mask.shape[1] for part in parts)
    padded = [_padded_to(part, width) for part in parts]
    return EncodedInputs(*(torch.cat(columns) for columns in zip(*padded, strict=True)))


def _padded_to(part: EncodedInputs, width: int) -> EncodedInputs:
    missing = width - part.mask.shape[1]
    if not missing:
        return part
    return EncodedInputs(F.pad(part.tokens, (0, 0, 0, missing)), F.pad(part.mask, (0, missing)), part.anchor)
