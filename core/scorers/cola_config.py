"""Cola's strategies, fusions and data mixes by name, and the settings of a run. Free of torch, so that pages can offer
and check them before they need a model. Source: [Cola] sections 4, 5.2, 5.3, 10.1 and 11."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple, Self

from pydantic import Field, model_validator

from core.base.errors import InputError
from core.base.settings import Count, Positive, Seed, Settings, one_of

# Pooled features of so few numbers: a base like the built-in ones. The paper's learning rates are for larger ones.
_SMALL_WIDTH = 128
KIND = "adapt"  # of a run, and the key of its settings in the run's description


class _Strategy(NamedTuple):
    """One way to adapt a model, and how it explains itself."""

    label: str
    meaning: str
    lr: float  # for the built-in models; chosen on validation queries (benchmarks/results/cola.py)
    row: str  # the method's name in the paper's tables (assets/papers/results.csv); "" for one that has none
    joint: bool = False  # whether image and query meet before the score


STRATEGIES: dict[str, _Strategy] = {
    "linear": _Strategy(
        "Linear",
        "A linear map behind each encoder, one for pictures and one for queries; the encoders stay as they are.",
        1e-3,
        "Linear",
    ),
    "prompt-tune": _Strategy(
        "Prompt-tune",
        "Only the text encoder's word embeddings, the numbers that stand for words; all else stays as it is.",
        1e-2,
        "Prompt-tune",
    ),
    "ft-all": _Strategy("FT all", "All weights of both encoders.", 3e-4, "FT all"),
    "ft-late": _Strategy(
        "FT late",
        "A new last layer for each encoder: one reads the parts of the picture (patches), the other the words. Of "
        "FLAVA the last two layers of its own multimodal encoder.",
        3e-4,
        "FT late",
    ),
    "mm-pred": _Strategy(
        "MM-Pred", "A small new network reads the picture's parts and the words together, and gives the score itself.",
        1e-3, "MM-Pred", joint=True,
    ),
    "mm-adapter": _Strategy(
        "MM-Adapter",
        "A small new network reads the picture's parts and the words together; what it makes of them is compared with "
        "the query as the model read it before.",
        1e-3,
        "MM-Adapter",
        joint=True,
    ),
    "token-map": _Strategy(
        "Token map",
        "One linear map from the words' space into the patches'; each word is then compared with the patch that it "
        "fits best. Not of the paper: LABCLIP's idea (arXiv 2502.03566), that binding is there and lost in alignment.",
        1e-3,
        "",
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

# The two forms of MM-Adapter. The paper's text and its authors' README disagree; both have 7.8 million weights with
# CLIP ViT-B/32, the number in Table 5.
ADAPTERS: dict[str, str] = {
    "text": "As the paper's sections 4 and 11.1 say: a fusion of two layers; the score is the mean inner product with "
    "every projected word of the last layer.",
    "readme": "As the authors' README has it: one encoder and one whole decoder layer; the score is the mean inner "
    "product with the raw text states of the second-last layer, BOS and EOS left out.",
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


# A training of the paper's size: passes over its data instead of 1,200 steps. The paper prints learning rate and weight
# decay, and neither epochs nor batch nor warm-up (here 5 % of the steps): those are Crossmatch's own.
PAPER_SCALE: dict[str, int] = {"epochs": 10, "steps": 0, "batch": 32}


# What a run on the built-in world measures in groups, besides its queries: the key in its records -> for people.
GROUP_RESULTS: dict[str, str] = {
    "multi_object": "multi-object accuracy",
    "crepe": "CREPE accuracy",
    "forgetting": "GroupMatch on untrained relations",
    "cifar10": "CIFAR-10 accuracy",
}
# The true protocol on the built-in world (`crossmatch reproduce cola/1`): a base that knows every word of the queries,
# swapped queries for every strategy, 4,000 steps or until validation stops improving, three seeds.
PROTOCOL_BASE = "builtin/clip-details"
PROTOCOL: dict[str, int | str] = {"mix": "hard", "epochs": 16, "steps": 250, "batch": 12, "patience": 5}


class AdaptConfig(Settings):
    """One run of a strategy. `lr` None: what suits strategy and base (`rate`)."""

    strategy: Annotated[str, one_of("strategy", STRATEGIES)] = "mm-adapter"
    fusion: Annotated[str, one_of("fusion", FUSIONS)] = "mdetr"
    adapter: Annotated[str, one_of("form of MM-Adapter", ADAPTERS)] = "text"
    mix: Annotated[str, one_of("data mix", MIXES)] = "single"  # of the paper's Table 1
    epochs: Count = 8  # parts of the run after which it is measured and can be stopped
    steps: Annotated[int, Field(ge=0)] = 150  # per epoch; 0: one pass over the training pairs
    # Images and queries of a step: batch x batch pairs, 17 million at the most.
    batch: Annotated[int, Field(ge=2, le=4096)] = 12
    # Epochs without a higher validation mAP after which training ends; None: never before the last. The learning rate
    # falls over all epochs asked for, and the last one trained is the result.
    patience: Count | None = None
    lr: Positive | None = None
    weight_decay: Annotated[float, Field(ge=0)] = 1e-4
    layers: Count = 2  # of the transformers that are added
    width: Count | None = None  # inside them; None: that of the base's pooled features, 64 for small bases
    heads: Count = 4
    seed: Seed = 0

    @model_validator(mode="after")
    def _check_adapter(self) -> Self:
        if self.adapter == "readme" and (self.strategy, self.fusion) != ("mm-adapter", "mdetr"):
            raise InputError(
                "The adapter `readme` is a form of MM-Adapter with a fusion of its own; choose the strategy "
                "mm-adapter, and leave the fusion out."
            )
        return self

    @model_validator(mode="after")
    def _check_width(self) -> Self:
        if (self.width or 0) % self.heads:
            raise InputError(
                f"The setting width is {self.width}; it must be a multiple of heads, {self.heads}."
            )
        return self

    def is_over(self, history: Sequence[float]) -> bool:
        """Whether training ends early: validation mAP before the first epoch and after each so far."""
        if self.patience is None or not history:
            return False
        return len(history) - 1 - max(range(len(history)), key=history.__getitem__) >= self.patience

    def inner(self, size: int) -> int:
        """The width of the added transformers, for a base whose pooled features have `size` numbers.

        As wide as those; 64 for bases as small as the built-in ones, so that they train in minutes on two cores.
        """
        return self.width or (min(64, size) if size <= _SMALL_WIDTH else size)

    def rate(self, family: str, size: int) -> float:
        """The learning rate: the given one; for small bases the tuned one; else the paper's ([Cola] 11.1).

        family : "CLIP", "SigLIP", "FLAVA". size : of the base's pooled features.
        """
        if self.lr is not None:
            return self.lr
        if size <= _SMALL_WIDTH:
            return STRATEGIES[self.strategy].lr
        return 1e-3 if family == "FLAVA" else 1e-5
