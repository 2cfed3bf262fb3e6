"""How each built-in model is made: one dataclass per recipe, chosen on validation groups (see the model cards)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from core.scenes.training_data import DataRecipe

RELATION_SETS = ("scenes/attribute-swap", "scenes/left-right", "scenes/front-behind", "scenes/relations-1x4")


@dataclass(frozen=True)
class TowerSize:
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
    vision: TowerSize = TowerSize(128, 4)
    text: TowerSize = TowerSize(96, 3)
    patch: int = 16  # pixels a side
    length: int = 24  # tokens at most
    projection: int = 128  # width of the shared space
    batch: int = 128  # scenes
    pairs: int = 32  # of them in twins: hard negatives, two scenes each
    start: str = ""  # a built-in model whose weights it starts from, where both have them
    relations_from: int = 0  # first step with relations in captions and twins: things first, then places
    lr: float = 1e-3
    lr_final: float = 0.1  # share of lr at the horizon
    warmup: int = 100  # steps
    weight_decay: float = 0.1  # on matrices
    betas: tuple[float, float] = (0.9, 0.98)
    clip_norm: float = 1.0
    scale_lr: float = 10.0  # the temperature learns this many times faster than the weights
    table_loss: float = 1.0  # weights of the auxiliary losses (core/pretrain/_heads.py), ...
    told_loss: float = 1.0
    words_loss: float = 1.0
    agrees_loss: float = 0.0
    details_loss: float = 0.0
    cell_loss: float = 1.0  # ... whose heads are thrown away
    null_images: tuple[float, float] | None = None  # pixels' mean and deviation, for estimating priors
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

_CAPTION = '"a red cube left of a blue sphere"'
_QUESTION = f"'Does this figure show {_CAPTION}? Please answer yes or no.'"

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

_EARLY = """

The same run, 50 steps before `clip`. Left and right are just being learned: GroupMatch is above chance, but large
margins are hardly more often right than small ones, so test-time matching has nothing to start from (validation, one
seed: 62.7 before, 62.3 after; `clip`: 71.7 before, 89.3 after)."""

_DETAILS = """ (2) Captions say sizes and materials, a third of the twins exchange one of them, and two more heads
that are thrown away tell size and material of each colour, from the picture and from the caption. It is what Cola's
strategies are compared on (`crossmatch reproduce cola/1`): 216 of the 240 queries name a size or a material, which
`clip` was never told."""
_DETAILS_LIMITS = """A caption of more than two objects is new to it."""

_CAPTIONS = """Without help a captioner of this size learns how captions sound within a hundred steps and then hardly
looks: after 2,400 steps it told attributes in part (GroupScore 23, GroupMatch 67) and no relation. So linear heads
that are thrown away are trained with it. Those of `clip` tell from the pooled picture and the patch tokens what is
where; another one is asked of every colour word, once it has seen the picture, for the shape and place of the object
of that colour. Things first, then places, as for `clip`: relations only from step `relations_from` on. The step to
stop at was chosen on validation groups, where nothing rose much after step 1,300.

`null_images` in its configuration says which Gaussian noise stands for "no picture" when the prior log P(t) is
estimated: the mean and deviation of the training pictures' normalised pixels. On validation groups the prior of three
such images correlates with the log-likelihoods of `blind-lm` at 0.97 (word-order) and 0.60 (left-right); with BLIP's
own noise (1.0, 0.25) at 0.97 and 0.47."""
_CAPTION_LIMITS = """It has no ITC score of its own: compare it with `clip`, `siglip` or the ITC of `blip-itm`.
Sizes and materials occur in one caption of seven. Captions of more than two objects are new to it."""

_MATCHING = """It starts from the weights of `blip-caption`: its vision tower, and its decoder as the text tower (BLIP
itself shares all but self-attention between the two). The ITC projections and the matching head are new. One bit a
pair does not teach such a head to bind: from random weights it stayed at chance for 1,300 steps while ITC learned. The
heads of `blip-caption` did not help either, because an encoder, unlike a decoder, reads on in the true caption and
need not look. So colour words are asked beside wrong pictures too, those of the matching head's own hard negatives
(drawn by ITC similarity, so mostly a twin's): for shape and place of the object of that colour, and whether what the
caption tells of it holds. All of these heads are thrown away. The matching token starts to read it after some 500
steps, at once for all sets; the step to stop at was chosen on validation groups."""
_MATCHING_LIMITS = """Its ITC is a bare cosine: the architecture has no temperature."""
_ASKING = """It starts from the weights of `blip-itm`: its vision tower, and its text tower both as question encoder
and as answer decoder. It is asked what VQAScore asks: "does this figure show ..., please answer yes or no". Half of
the questions quote the picture's own caption, half a twin's or another scene's. As for `blip-itm`, colour words are
asked beside wrong pictures too for shape and place of the object of that colour, and whether what the question tells
of it holds; these heads are thrown away. The step to stop at was chosen on validation groups."""
_ASKING_LIMITS = """It answers this one question about captions, with yes or no, and no other."""

_CLIP = Recipe(
    "A small CLIP",
    "clip",
    steps=950,
    horizon=2000,
    relations_from=700,
    every=50,
    use=_LOAD.format("CLIPModel", "clip", ", padding=True"),
    notes=_AUXILIARY + _CURRICULUM,
    limits=_LIMITS + _CLIP_LIMITS,
)

RECIPES: dict[str, Recipe] = {
    "clip": _CLIP,
    "clip-early": replace(
        _CLIP,
        title="A small CLIP, stopped too early",
        steps=900,
        use=_LOAD.format("CLIPModel", "clip-early", ", padding=True"),
        notes=_CLIP.notes + _EARLY,
    ),
    "clip-details": replace(
        _CLIP,
        title="A small CLIP that was told sizes and materials",
        steps=1400,
        relations_from=600,
        every=100,
        details_loss=1.0,
        # Of a caption's two objects each has size and material said every other time, and one in seven lacks its colour
        # or shape.
        data=DataRecipe(
            kinds=("attribute", "left-right", "size", "attribute", "front-behind", "material"),
            detail=0.5,
            omit=0.15,
        ),
        sets=(*RELATION_SETS, "scenes/size-swap", "scenes/material-swap"),
        use=_LOAD.format("CLIPModel", "clip-details", ", padding=True"),
        notes=_AUXILIARY + _DETAILS,
        limits=_LIMITS + _DETAILS_LIMITS,
    ),
    "siglip": replace(
        _CLIP,
        title="A small SigLIP",
        family="siglip",
        use=_LOAD.format("SiglipModel", "siglip", ', padding="max_length"'),
    ),
    "blip-itm": Recipe(
        "A small BLIP for retrieval",
        "blip-retrieval",
        steps=1000,
        horizon=1600,
        batch=64,
        pairs=16,
        start="blip-caption",
        lr=7e-4,
        agrees_loss=1.0,
        data=_DETAILED,
        text=TowerSize(128, 3),
        sets=RELATION_SETS + PLAUSIBLE,
        use=_LOAD.format("BlipForImageTextRetrieval", "blip-itm", ""),
        notes=_MATCHING,
        limits=_LIMITS + _MATCHING_LIMITS,
    ),
    "blip-caption": Recipe(
        "A small BLIP that captions",
        "blip-captioner",
        steps=1500,
        horizon=1600,
        relations_from=400,
        data=_DETAILED,
        text=TowerSize(128, 3),
        told_loss=0.0,
        null_images=(0.31, 0.25),
        sets=RELATION_SETS + PLAUSIBLE + ("scenes/word-order",),
        use=_LOAD.format("BlipForConditionalGeneration", "blip-caption", ""),
        notes=_CAPTIONS,
        limits=_LIMITS + _CAPTION_LIMITS,
    ),
    "blind-lm": Recipe(
        "A language model that sees no picture",
        "language",
        steps=400,
        horizon=800,
        text=TowerSize(128, 2),
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
        steps=400,
        horizon=1600,
        batch=64,
        pairs=16,
        start="blip-itm",
        lr=5e-4,
        told_loss=0.0,
        agrees_loss=1.0,
        data=_DETAILED,
        length=40,
        text=TowerSize(128, 3),
        sets=RELATION_SETS + PLAUSIBLE,
        use=_LOAD.format("BlipForQuestionAnswering", "blip-vqa", "").replace(_CAPTION, _QUESTION),
        notes=_ASKING,
        limits=_LIMITS + _ASKING_LIMITS,
    ),
}
