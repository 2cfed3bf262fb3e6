"""A model adapted by one of Cola's strategies, as a scorer: base and strategy in one ([Cola] 5).

Saved are the strategy's own weights, and which base they belong to; the base is found again by its name and checked by
its hash. It can be adapted further: `core/ttm/loop.py` works on it as on any other model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy, deepcopy
from pathlib import Path
from typing import Self

import numpy as np
import torch

from core.base.errors import InputError
from core.groups import ImageRef
from core.scorers._cola_heads import Head, make_head
from core.scorers._input_loading import prefetch
from core.scorers._model_io import key_while_unchanged, read_model, write_model
from core.scorers.base import Prepared, Trainable, used_inputs
from core.scorers.cola_config import AdaptConfig
from core.scorers.cola_features import FeatureBase, Features, base_of
from core.scorers.contrastive import ContrastiveModel
from core.scorers.hub import locate
from core.scorers.model_folder import model_files

_KIND = "crossmatch-adapted"


class _AdaptedModule(torch.nn.Module):
    """The weights: the base's, frozen but for what the strategy tunes, and the head's."""

    # Low-rank ones: a strategy trains little as it is, and saves its own weights alone.
    takes_adapters = False

    def __init__(self, base: torch.nn.Module, head: Head) -> None:
        super().__init__()
        self.base, self.head = base, head


def _reading_copy(loaded: ContrastiveModel) -> ContrastiveModel:
    """The model with modules and parameters of its own, whose numbers are the loaded ones: to be read, not trained."""
    twin, module = copy(loaded), loaded.module
    same = {id(p): torch.nn.Parameter(p.data, requires_grad=False) for p in module.parameters()}
    twin.module = deepcopy(module, same | {id(b): b for b in module.buffers()}).float()
    twin._key = None
    return twin


class AdaptedModel(Trainable):
    """A strategy on its base: score = calibrated score of the strategy's head, float32."""

    def __init__(
        self, name: str, base: FeatureBase, config: AdaptConfig, base_name: str, base_key: str
    ) -> None:
        """base : an own copy, which this model may train. base_name, base_key : what the folder will name."""
        self.name, self.config, self._base = name, config, base
        self.base_name, self.base_key = base_name, base_key
        self.device = base.model.device
        self.module = _AdaptedModule(base.module, make_head(base, config).to(self.device)).eval()
        self._free()

    @classmethod
    def of(
        cls, loaded: ContrastiveModel, config: AdaptConfig, base_name: str = "", towers: bool = False
    ) -> Self:
        """A strategy before its first step, on a copy of a model of CLIP, SigLIP or FLAVA class.

        base_name : what `load_scorer` finds that model by; its own name where none is given. towers : FT late with new
        layers on FLAVA's two towers, as it was once done and saved, instead of its multimodal encoder.
        """
        name = base_name or loaded.name
        base = base_of(loaded, "" if towers else config.strategy)
        own = type(base)(loaded.copy() if base.is_tuned_by(config.strategy) else _reading_copy(loaded))
        return cls(f"{name} + {config.strategy}", own, config, name, loaded.key)

    def _free(self) -> None:
        """Gradients for what the strategy tunes, and for nothing else."""
        tunes_all = self.config.strategy == "ft-all"
        self.module.base.requires_grad_(tunes_all)
        if tunes_all:  # the head's calibration stands in for it
            for parameter in (self._base.model.scale, self._base.model.bias):
                if parameter is not None:
                    parameter.requires_grad_(False)
        if self.config.strategy == "prompt-tune":
            self._base.word_table.requires_grad_(True)

    @property
    def head(self) -> Head:
        return self.module.head

    @property
    def frozen(self) -> dict[str, bool]:
        """Whether features of images ("image"), and of captions ("caption"), stay the same during training."""
        strategy = self.config.strategy
        return {"image": strategy != "ft-all", "caption": strategy not in ("ft-all", "prompt-tune")}

    @property
    def parameters(self) -> dict[str, int]:
        """How many numbers the strategy trains, the two of the calibration apart, and how many there are in all."""
        total = sum(p.numel() for p in self.module.parameters())
        free = sum(p.numel() for p in self.module.parameters() if p.requires_grad)
        return {"trained": free - 2, "calibration": 2, "total": total}

    @property
    def rate(self) -> float:
        """The learning rate that strategy and base ask for."""
        return self.config.rate(self._base.family, self._base.sizes[2])

    # ---- features

    def features(self, data: Prepared, index: torch.Tensor, side: str) -> Features:
        """The base's features of some prepared images or captions (`side`: "image" or "caption"), on the device.

        With gradients where the strategy tunes the encoder; captions are cut to the longest of them.
        """
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen[side]):
            if side == "image":
                inputs = {name: tensor.to(self.device) for name, tensor in data.images(index).items()}
                return self._base.images(inputs)
            ids = data.tokens["input_ids"][index]
            longest = int(self._base.model._lengths(ids).max())
            return self._base.captions(ids[:, :longest].to(self.device))

    def encode(self, data: Prepared, index: torch.Tensor, side: str, batch: int = 256) -> Features:
        """The same through the head, without gradients, `batch` at a time."""
        through = self.head.image if side == "image" else self.head.caption
        with self._scoring():
            return Features.concatenate(
                [through(self.features(data, part, side)) for part in index.split(batch)]
            )

    # ---- Scorer and Trainable

    def prepare(
        self, images: Sequence[ImageRef], captions: Sequence[str], crop_factor: float | None = None
    ) -> Prepared:
        """Every image preprocessed and every caption tokenised, as the base wants them."""
        return self._base.model.prepare(images, captions, crop_factor)

    @property
    def image_side(self) -> int:
        """Pixels of a side of the images that the base reads; 224 where its configuration does not say."""
        return getattr(self._base.model, "side", None) or 224

    def image_blocks(self, images: Sequence[ImageRef], size: int | None = None) -> Iterator[Prepared]:
        """Images preprocessed, `size` at a time (None: as when it scores), the next ones read meanwhile."""
        for block in prefetch(images, self._base.model._open, size or self.image_batch):
            yield Prepared(block.pop("pixel_values"), {}, block)

    def caption_block(self, captions: list[str]) -> Prepared:
        """Captions tokenised."""
        return Prepared(torch.empty(0), {"input_ids": self._base.model.tokens(captions)})

    @property
    def features_key(self) -> str:
        """What the base's features depend on besides images and captions: its weights, and how they are read."""
        return f"{self.base_key} {type(self._base).__name__}"

    def _encode_captions(self, captions: list[str]) -> Features:
        data = self.caption_block(captions)
        return self.encode(data, torch.arange(len(captions)), "caption", self.caption_batch)

    def _encode_images(self, images: list[ImageRef]) -> Iterator[tuple[Features, int]]:
        for data in self.image_blocks(images):
            yield self.encode(data, torch.arange(len(data.pixels)), "image"), len(data.pixels)

    def _score_block(self, images: Features, captions: Features, index: np.ndarray) -> np.ndarray:
        with self._scoring():
            pairs = torch.from_numpy(np.ascontiguousarray(index)).to(self.device)
            return self.head.scores(images, captions, pairs).numpy()

    def score_prepared(self, data: Prepared, pairs: np.ndarray, batch: int = 256) -> np.ndarray:
        if not len(pairs):
            return np.empty(0, dtype=np.float32)
        first, second, index = used_inputs(pairs)
        images = self.encode(data, torch.from_numpy(first), "image", batch)
        captions = self.encode(data, torch.from_numpy(second), "caption", batch)
        return self._score_block(images, captions, index)

    def loss(self, data: Prepared, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        """The strategy's loss over all b x b pairs of a batch of matched ones, int64 (b,): a scalar ([Cola] 11.1).

        Off the diagonal a pair counts as wrong, but for a repeated image or caption with its own partner.
        """
        first = self.head.image(self.features(data, images, "image"))
        second = self.head.caption(self.features(data, captions, "caption"))
        known = set(zip(images.tolist(), captions.tolist(), strict=True))
        rows = [[float((i, j) in known) for j in captions.tolist()] for i in images.tolist()]
        return self.pair_loss(first, second, torch.tensor(rows, device=self.device))

    def pair_loss(self, images: Features, captions: Features, labels: torch.Tensor) -> torch.Tensor:
        """The head's loss over all pairs; labels float (a, b), 1 for those that match."""
        return self.head.loss(self.head.calibration(self.head.table(images, captions).float()), labels)

    def copy(self) -> Self:
        """An independent copy of all weights."""
        twin = copy(self)
        twin._base = type(self._base)(self._base.model.copy())
        twin.module = _AdaptedModule(twin._base.module, deepcopy(self.module.head)).train(
            self.module.training
        )
        twin._key = None
        twin._free()
        return twin

    # ---- files

    def _settings(self) -> str:
        return f"{self.base_key} {self.config.to_dict()}"

    def _weights(self) -> dict[str, torch.Tensor]:
        """The strategy's tensors by name: the head's, and those of the base that it tunes."""
        state = {f"head.{name}": tensor for name, tensor in self.module.head.state_dict().items()}
        if self.config.strategy == "prompt-tune":
            state["base.words"] = self._base.word_table
        elif self.config.strategy == "ft-all":
            state |= {f"base.{name}": tensor for name, tensor in self.module.base.state_dict().items()}
        return state

    def save(self, folder: Path) -> None:
        """Write the strategy's weights and a configuration that names the base; `load_scorer(folder)` reads it."""
        base = {"model_type": _KIND, "base": self.base_name, "base_key": self.base_key}
        write_model(folder, {**base, "adapt": self.config.to_dict()}, self._weights())

    def _restore(self, tensors: dict[str, torch.Tensor]) -> None:
        head = {name[5:]: tensor for name, tensor in tensors.items() if name.startswith("head.")}
        self.module.head.load_state_dict(head)
        if self.config.strategy == "prompt-tune":
            with torch.no_grad():
                self._base.word_table.copy_(tensors["base.words"])
        elif self.config.strategy == "ft-all":
            base = {name[5:]: tensor for name, tensor in tensors.items() if name.startswith("base.")}
            self.module.base.load_state_dict(base)


def load(
    name: str,
    source: str,
    device: str = "auto",
    kind: str | None = None,
    *,
    load_base: Callable[[str, str], ContrastiveModel],
) -> AdaptedModel:
    """Read what `AdaptedModel.save` wrote; `load_base(name, device)` loads the base that it names.

    Raises InputError where it is damaged or its base is another model by now.
    """
    folder = locate(source)
    key = key_while_unchanged(model_files(folder))
    with read_model(folder) as (settings, tensors):
        base_name, base_key = settings["base"], settings["base_key"]
        config = AdaptConfig(**settings["adapt"])
        towers = "head.image_in.weight" in tensors
        model = AdaptedModel.of(load_base(base_name, device), config, base_name, towers)
        if model.base_key != base_key:
            raise InputError(
                f"The model in {folder} was adapted from another {base_name} than the one available now; adapt it "
                f"again."
            )
        model._restore(tensors)
    model.name, model._key = name, key
    return model
