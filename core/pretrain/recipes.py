"""How each built-in model is made: one dataclass per recipe, chosen on validation groups (see the model cards)."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.pretrain.data import DataRecipe

RELATION_SETS = ("scenes/attribute-swap", "scenes/left-right", "scenes/front-behind", "scenes/relations-1x4")


@dataclass(frozen=True)
class Tower:
    """Size of one transformer."""

    width: int
    layers: int
    heads: int = 4


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the weights, besides the seed."""

    title: str
    family: str  # a key of `core.pretrain.families.FAMILIES`
    steps: int  # training stops here ...
    horizon: int  # ... on a learning-rate cosine that would end here
    vision: Tower = Tower(128, 4)
    text: Tower = Tower(96, 3)
    patch: int = 16  # pixels a side
    projection: int = 128  # width of the shared space
    batch: int = 128  # scenes
    pairs: int = 32  # of them in twins: hard negatives, two scenes each
    relations_from: int = 0  # first step with relations in captions and twins: things first, then places
    lr: float = 1e-3
    lr_final: float = 0.1  # share of lr at the horizon
    warmup: int = 100  # steps
    weight_decay: float = 0.1  # on matrices
    betas: tuple[float, float] = (0.9, 0.98)
    clip_norm: float = 1.0
    scale_lr: float = 10.0  # the temperature learns this many times faster than the weights
    table_loss: float = 1.0  # weights of the auxiliary losses (core/pretrain/heads.py), ...
    told_loss: float = 1.0
    cell_loss: float = 1.0  # ... whose heads are thrown away
    data: DataRecipe = field(default_factory=DataRecipe)
    sets: tuple[str, ...] = RELATION_SETS  # measured on their validation split
    groups: int = 300  # of each
    every: int = 100  # steps between two measurements
    use: str = ""  # for the card: three lines that load the model
    notes: str = ""  # for the card: what was chosen and why
    limits: str = ""  # for the card


RECIPES: dict[str, Recipe] = {
    "clip": Recipe("A small CLIP", "clip", steps=1000, horizon=2000),
}
