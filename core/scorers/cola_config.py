"""Cola's strategies, fusions and data mixes by name, and the settings of a run. Free of torch, so that pages can offer
and check them before they need a model. Source: [Cola] sections 4, 5.2, 5.3, 10.1 and 11 (METHODS 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import isfinite
from typing import Any, NamedTuple, Self

from core.base.errors import InputError, unknown_name

# Pooled features of so few numbers: a base like the built-in ones. The paper's learning rates are for larger ones.
SMALL_WIDTH = 128
KIND = "adapt"  # of a run, and the key of its settings in the run's description


class Strategy(NamedTuple):
    """One way to adapt a model, and how it explains itself."""

    label: str
    meaning: str
    lr: float  # for the built-in models; chosen on validation queries (benchmarks/cola.py --tune)
    row: str  # the method's name in the paper's tables (assets/papers/results.csv)
    joint: bool = False  # whether image and query meet before the score


STRATEGIES: dict[str, Strategy] = {
    "linear": Strategy(
        "Linear", "One d x d map for pooled image features and one for pooled query features.", 1e-3, "Linear"
    ),
    "prompt-tune": Strategy(
        "Prompt-tune", "The text encoder's table of word embeddings, everything else frozen.", 1e-2, "Prompt-tune"
    ),
    "ft-all": Strategy("FT all", "Both encoders, whole.", 3e-4, "FT all"),
    "ft-late": Strategy(
        "FT late",
        "A transformer encoder on the second-last layer's patch tokens and another on its text tokens.",
        3e-4,
        "FT late",
    ),
    "mm-pred": Strategy(
        "MM-Pred", "A transformer over patches and words together; a linear layer scores its CLS token.",
        1e-3, "MM-Pred", joint=True,
    ),
    "mm-adapter": Strategy(
        "MM-Adapter",
        "A transformer over patches and words together; its CLS token is compared with the frozen word features.",
        1e-3,
        "MM-Adapter",
        joint=True,
    ),
}  # fmt: skip

# How MM-Pred and MM-Adapter let patches and words meet ([Cola] 10.1).
FUSIONS: dict[str, str] = {
    "mdetr": "Self-attention over patches and words, then a CLS token attends to both. The paper's choice.",
    "flava": "A CLS token inside the self-attention over patches and words.",
    "albef": "Self-attention of each modality, then words and a CLS token attend to patches.",
    "fiber": "Self-attention of each modality, then both ways across; cosine of two CLS tokens.",
    "fiber-mm": "Self-attention over patches and words together, then both ways across; cosine of two CLS tokens.",
}

# What the queries of a batch are ([Cola] 5.3, Table 2b).
MIXES: dict[str, str] = {
    "region": "Region captions: people's descriptions of a part of an image; only that image counts as right.",
    "single": "Single-object queries: attributes and a noun.",
    "multi": "Single-object and multi-object queries.",
    "hard": "Single-object and multi-object queries, the latter with the swapped query and an image of it in the "
    "batch.",
    "combined": "Region captions, single-object, multi-object queries and hard negatives.",
}


@dataclass(frozen=True, kw_only=True)
class AdaptConfig:
    """One run of a strategy. `lr` None: what suits strategy and base (`rate`)."""

    strategy: str = "mm-adapter"
    fusion: str = "mdetr"
    mix: str = "multi"
    epochs: int = 8  # parts of the run after which it is measured and can be stopped
    steps: int = 150  # per epoch
    batch: int = 12  # images and queries of a step: batch x batch pairs
    lr: float | None = None
    weight_decay: float = 1e-4
    layers: int = 2  # of the transformers that are added
    width: int | None = None  # inside them; None: that of the base's pooled features, 64 for small bases
    heads: int = 4
    seed: int = 0

    def validate(self) -> Self:
        """Return self, or raise InputError for the first setting that makes no sense."""
        for name, value, known in (
            ("strategy", self.strategy, STRATEGIES),
            ("fusion", self.fusion, FUSIONS),
            ("data mix", self.mix, MIXES),
        ):
            if value not in known:
                raise unknown_name(name, str(value), known)
        for name in ("epochs", "steps", "layers", "heads"):
            self._require(_whole(getattr(self, name), 1), name, "a positive whole number")
        width = self.width is None or _whole(self.width, self.heads)
        self._require(width and not (self.width or 0) % self.heads, "width", "a multiple of heads")
        self._require(_whole(self.batch, 2), "batch", "a whole number, 2 or more")
        self._require(_whole(self.seed, 0), "seed", "a whole number, 0 or more")
        self._require(
            self.lr is None or (_number(self.lr) and self.lr > 0), "lr", "a positive number such as 1e-3"
        )
        self._require(_number(self.weight_decay) and self.weight_decay >= 0, "weight_decay", "0 or more")
        return self

    def _require(self, valid: bool, name: str, wanted: str) -> None:
        if not valid:
            raise InputError(f"The setting {name} is {getattr(self, name)!r}; it must be {wanted}.")

    def updated(self, settings: Mapping[str, Any]) -> Self:
        """These settings in place of mine, validated; None leaves one as it is."""
        return self.from_dict({**asdict(self), **{k: v for k, v in settings.items() if v is not None}})

    def to_dict(self) -> dict[str, Any]:
        """Every setting, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Self:
        """The configuration with these settings, validated; the rest at their defaults."""
        known = [f.name for f in fields(cls)]
        for name in settings:
            if name not in known:
                raise unknown_name("setting", str(name), known)
        return cls(**settings).validate()

    def inner(self, size: int) -> int:
        """The width of the added transformers, for a base whose pooled features have `size` numbers.

        As wide as those; 64 for bases as small as the built-in ones, so that they train in minutes on two cores.
        """
        return self.width or (min(64, size) if size <= SMALL_WIDTH else size)

    def rate(self, family: str, size: int) -> float:
        """The learning rate: the given one; for small bases the tuned one; else the paper's ([Cola] 11.1).

        family : "CLIP", "SigLIP", "FLAVA". size : of the base's pooled features.
        """
        if self.lr is not None:
            return self.lr
        if size <= SMALL_WIDTH:
            return STRATEGIES[self.strategy].lr
        return 1e-3 if family == "FLAVA" else 1e-5


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _whole(value: object, low: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= low
