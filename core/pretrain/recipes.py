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
    length: int = 24  # tokens at most
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
    words_loss: float = 1.0
    cell_loss: float = 1.0  # ... whose heads are thrown away
    data: DataRecipe = field(default_factory=DataRecipe)
    sets: tuple[str, ...] = RELATION_SETS  # measured on their validation split
    groups: int = 300  # of each
    every: int = 100  # steps between two measurements
    use: str = ""  # for the card: three lines that load the model
    notes: str = ""  # for the card: what was chosen and why
    limits: str = ""  # for the card


_DETAILED = DataRecipe(detail=0.15)  # some captions say size or material
PLAUSIBLE = ("scenes/replace", "scenes/swap", "scenes/add")

_LOAD = """from transformers import AutoProcessor, {0}
model, processor = {0}.from_pretrained("assets/models/{1}"), AutoProcessor.from_pretrained("assets/models/{1}")
inputs = processor(images=image, text=["a red cube left of a blue sphere"], return_tensors="pt"{2})"""

_AUXILIARY = """Two things that web-scale training does not need. (1) Besides the contrastive loss, linear heads on the
pooled picture, the caption and the patch tokens predict from the scene graph which colours are there, with which
shape and where; the heads are thrown away. Without them a model of this size learned colours and nothing else for
more than a thousand steps, and never "left of": its text tower cannot tell the first object from the second unless
something rewards it."""
_CURRICULUM = """ (2) Things first, then places: captions and twins tell relations only from step
`relations_from` on, so that attribute binding and relations are half learned at the same time. The step to stop at
was chosen on validation groups, as one where all three swap sets lie between a GroupMatch of 60 and 90."""
_LIMITS = """Synthetic scenes of two to four solids, eight colours, three shapes, templates of English: nothing here
says anything about photographs. """
_CLIP_LIMITS = """Like its large cousins it is weak at GroupScore and clearly above chance at GroupMatch. It was never
told sizes or materials in captions, and a caption of more than two objects is new to it."""
_BLIND = """It learns the training captions' words alone. So it finds the one English sentence among shuffled ones
without a picture (`scenes/word-order`, chance 20 %), and is at chance where both captions are plausible
(`scenes/replace`, `scenes/swap`, `scenes/add`, chance 50 %): what a benchmark has to be tested with."""

RECIPES: dict[str, Recipe] = {
    "clip": Recipe(
        "A small CLIP",
        "clip",
        steps=950,
        horizon=2000,
        relations_from=700,
        every=50,
        use=_LOAD.format("CLIPModel", "clip", ", padding=True"),
        notes=_AUXILIARY + _CURRICULUM,
        limits=_LIMITS + _CLIP_LIMITS,
    ),
    "siglip": Recipe(
        "A small SigLIP",
        "siglip",
        steps=950,
        horizon=2000,
        relations_from=700,
        every=50,
        use=_LOAD.format("SiglipModel", "siglip", ', padding="max_length"'),
        notes=_AUXILIARY + _CURRICULUM,
        limits=_LIMITS + _CLIP_LIMITS,
    ),
    "blip-itm": Recipe(
        "A small BLIP for retrieval",
        "blip-retrieval",
        steps=2400,
        horizon=2400,
        batch=64,
        pairs=16,
        data=_DETAILED,
        text=Tower(128, 3),
        sets=RELATION_SETS + PLAUSIBLE,
        use=_LOAD.format("BlipForImageTextRetrieval", "blip-itm", ""),
    ),
    "blip-caption": Recipe(
        "A small BLIP that captions",
        "blip-captioner",
        steps=2400,
        horizon=2400,
        batch=64,
        pairs=16,
        data=_DETAILED,
        text=Tower(128, 3),
        told_loss=0.0,
        sets=RELATION_SETS + PLAUSIBLE + ("scenes/word-order",),
        use=_LOAD.format("BlipForConditionalGeneration", "blip-caption", ""),
    ),
    "blind-lm": Recipe(
        "A language model that sees no picture",
        "language",
        steps=400,
        horizon=800,
        text=Tower(128, 2),
        table_loss=0.0,
        told_loss=0.0,
        cell_loss=0.0,
        data=_DETAILED,
        sets=PLAUSIBLE + ("scenes/word-order",),
        use="""from transformers import AutoTokenizer, GPT2LMHeadModel
model, tokenizer = (c.from_pretrained("assets/models/blind-lm") for c in (GPT2LMHeadModel, AutoTokenizer))
logits = model(**tokenizer("a red cube left of a blue sphere", return_tensors="pt")).logits""",
        notes=_BLIND,
        limits=_LIMITS + "It knows the captions of these scenes and no other English.",
    ),
    "blip-vqa": Recipe(
        "A small BLIP that answers yes or no",
        "blip-vqa",
        steps=2400,
        horizon=2400,
        batch=64,
        pairs=16,
        data=_DETAILED,
        length=40,
        text=Tower(128, 2),
        sets=RELATION_SETS + PLAUSIBLE,
        use=_LOAD.format("BlipForQuestionAnswering", "blip-vqa", ""),
    ),
}
