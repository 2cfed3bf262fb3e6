"""Settings of a run, their threshold and learning-rate schedules, and named presets: every row of the paper's tables.

Free of torch, so that a page can offer and check settings before it needs a model.
Sources: [TTM] sections 3.2, 3.2.1, appendix C.1 and Tables 3-5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import cos, isnan, pi
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, Strict, model_validator

from core.base.errors import InputError
from core.base.settings import Count, Names, Positive, Seed, Settings, Share, one_of
from core.ttm.schedules import SCHEDULES

AUGMENTATIONS = ("none", "resize-crop", "jitter")  # what each does: core/ttm/_augmentation.py
PRECISIONS = ("float32", "bfloat16")
_VARIANTS = ("group", "global")
THRESHOLD_MODES = ("absolute", "relative")
_Moment = Annotated[float, Field(ge=0, lt=1)]


class TrainConfig(Settings):
    """How to train on matched pairs. Defaults are those of [TTM] C.1."""

    epochs: Count = 20  # passes over the selected groups per iteration
    lr: Positive = 1e-5  # learning rate at the first step of iteration 1
    lr_restart: Share = 0.95  # iteration t starts from lr * lr_restart^(t-1)
    lr_final: Share = (
        0.1  # share of the iteration's first learning rate that its last step uses; 1 = constant
    )
    weight_decay: Annotated[float, Field(ge=0)] = 0.05
    betas: Annotated[tuple[_Moment, _Moment], Strict(False)] = (0.9, 0.999)
    batch: Count | None = None  # groups per batch; None: 50, and 100 where a group has one image
    augmentation: Annotated[str, one_of("augmentation", AUGMENTATIONS)] = "none"
    crop_factor: Annotated[float, Field(gt=1, le=4)] = (
        1.1  # of resize-crop: how far pictures are enlarged first
    )
    keep_optimizer: bool = False  # carry AdamW's moments into the next iteration instead of resetting them
    clip_norm: Positive | None = None  # largest gradient norm; None: no clipping
    # bfloat16: autocast while training; weights and scores stay float32
    precision: Annotated[str, one_of("precision", PRECISIONS)] = "float32"
    parameters: Names = ()  # patterns of parameter names to train, as "*projection*"; (): all
    micro_batch: Count | None = None  # pairs that pass the model at once, same loss; None: as many as fit
    # of a captioner: the pseudo-label against the other captions of its group, not its likelihood alone
    contrastive: bool = False
    lora_rank: Count | None = None  # rank of low-rank adapters, the model itself frozen; None: train it whole
    lora_alpha: Positive | None = None  # their weight is alpha / rank; None: twice the rank
    lora_targets: Names = ()  # names of the layers that get one; (): those of the model's family
    seed: Seed = 0

    @model_validator(mode="after")
    def _check_adapters(self) -> Self:
        if self.lora_rank is None and (self.lora_alpha is not None or self.lora_targets):
            raise InputError("lora_alpha and lora_targets shape low-rank adapters; set lora_rank too.")
        return self

    def units(self, images_per_group: int) -> int:
        """Groups per batch: the chosen number, or the paper's for groups of so many images ([TTM] C.1)."""
        return self.batch or (100 if images_per_group == 1 else 50)

    def learning_rate(self, iteration: int, step: int, steps: int) -> float:
        """Learning rate of one optimizer step ([TTM] C.1: cosine, restarted each iteration with a factor).

        iteration : 1 for the first. step : 0 ... steps - 1 within it. From lr * lr_restart^(iteration - 1) at the
        first step down to lr_final of that at the last.
        """
        start = self.lr * self.lr_restart ** (iteration - 1)
        share = step / (steps - 1) if steps > 1 else 0.0
        return start * (self.lr_final + (1 - self.lr_final) * (1 + cos(pi * share)) / 2)


class TTMConfig(TrainConfig):
    """One run of test-time matching. Thresholds are in units of the model's own logits ([TTM] C.1)."""

    iterations: Count = 10  # T
    # global: one assignment over all images and captions, thresholds on pairs
    variant: Annotated[str, one_of("variant", _VARIANTS)] = "group"
    schedule: Annotated[str, one_of("schedule", SCHEDULES)] = "linear"  # of the threshold over iterations
    # relative (global): iteration t keeps the top 1 - tau_t fraction of pairs
    threshold_mode: Annotated[str, one_of("threshold_mode", THRESHOLD_MODES)] = "absolute"
    # tau_1: a number, or the share that the first iteration selects; neither: 20 % of groups, 50 % of pairs
    tau_first: float | None = None
    coverage_first: Share | None = None
    # tau_T likewise, resolved against the first iteration's margins; neither: 0 (global and absolute: every pair)
    tau_last: float | None = None
    coverage_last: Share | None = None

    @model_validator(mode="after")
    def _check_thresholds(self) -> Self:
        relative = self.threshold_mode == "relative"
        if relative and self.variant != "global":
            raise InputError(
                "A relative threshold ranks pairs; set variant to 'global', or threshold_mode to 'absolute'."
            )
        for end in ("first", "last"):
            level, share = getattr(self, f"tau_{end}"), getattr(self, f"coverage_{end}")
            if level is not None and share is not None:
                raise InputError(f"Both tau_{end} and coverage_{end} are set; leave one of them out.")
            if relative and level is not None and not 0 <= level <= 1:
                raise InputError(f"The setting tau_{end} is {level}; in relative mode it must be 0 to 1.")
            if self.variant == "group" and level is not None and level < 0:
                raise InputError(
                    f"The setting tau_{end} is {level:g}, and no margin is below 0; 0 selects every group without a "
                    "tie."
                )
        return self

    def updated(self, values: Mapping[str, Any]) -> Self:
        """These values in place of mine; None leaves one as it is, a tau replaces a coverage and back.

        Another variant or threshold mode counts thresholds in other units: mine are then dropped. Another variant
        brings its usual mode, relative where it is global.
        """
        wanted = {k: v for k, v in values.items() if v is not None}
        variant = wanted.get("variant", self.variant)
        if variant != self.variant:
            wanted = {"threshold_mode": "relative" if variant == "global" else "absolute", **wanted}
        rivals = {f"tau_{end}": f"coverage_{end}" for end in ("first", "last")}
        rivals |= {coverage: tau for tau, coverage in rivals.items()}
        units = any(
            wanted.get(k, getattr(self, k)) != getattr(self, k) for k in ("variant", "threshold_mode")
        )
        cleared = dict.fromkeys(k for k in rivals if units or rivals[k] in wanted)
        return super(TTMConfig, self.model_copy(update=cleared)).updated(wanted)

    @staticmethod
    def count_of(share: float, total: int) -> int:
        """How many of `total` a share is, rounded down; 0.2 of 5 is 1 whatever the binary fraction says."""
        return int(share * total + 1e-6)


class SimpleMatchConfig(TrainConfig):
    """Overfitting to one set of matchings at a constant learning rate ([TTM] 3.1)."""

    epochs: Count = 5  # per round; GroupScore on the pseudo-labels is looked at after each round
    rounds: Count = 30  # at most
    patience: Count = 3  # rounds without a rise before it ends
    lr_final: Share = 1.0
    lr_restart: Share = 1.0
    keep_optimizer: bool = True

    def is_over(self, history: Sequence[float | None]) -> bool:
        """Whether SimpleMatch has ended, from the share of pseudo-labels that passed the strict test after each round.

        It ends when all pass, when nothing could be trained (None or NaN), when the share has not risen for `patience`
        rounds, and after `rounds`. None of it needs to know which matchings are right.
        """
        best, waited = -1.0, 0
        for share in history:
            if share is None or isnan(share) or share == 1.0:
                return True
            best, waited = (share, 0) if share > best else (best, waited + 1)
        return waited >= self.patience or len(history) >= self.rounds


def thresholds(config: TTMConfig, first: np.ndarray) -> np.ndarray:
    """tau_t of every iteration, float64 (T,).

    first : confidences before adaptation: margins (n,), 0 where tied; in the global variant scores of matched pairs.

    By the schedule, one of `SCHEDULES`; T = 1 uses tau_1. A coverage becomes the confidence of the last group within
    that share, so that exactly so many are selected (more where confidences are equal, fewer where too many groups are
    tied). Source: [TTM] 3.2, C.1.

    >>> thresholds(TTMConfig(iterations=3, tau_first=2.0), np.array([1.0, 3.0]))
    array([2., 1., 0.])
    """
    count, ends = config.iterations, _whole_thresholds(config.to_dict())
    start, end = (
        _level(config, ends[f"tau_{at}"], ends[f"coverage_{at}"], first) for at in ("first", "last")
    )
    if count == 1:
        return np.array([start])
    share = SCHEDULES[config.schedule](np.linspace(0.0, 1.0, count))
    tau = start + (end - start) * share
    tau[share == 1] = end  # exactly: a rounding would lose the group whose margin is the threshold
    return tau


def _whole_thresholds(own: Mapping[str, Any]) -> dict[str, float | None]:
    """Both ends of the threshold with what a default stands for: of each end a tau or a coverage, the other None.

    own : the settings of a run. A relative threshold is a tau, whichever of the two it was given as.
    """
    wide, relative = own["variant"] == "global", own["threshold_mode"] == "relative"
    found = {name: own[name] for name in ("tau_first", "coverage_first", "tau_last", "coverage_last")}
    if found["tau_first"] is None and found["coverage_first"] is None:
        found["coverage_first"] = 0.5 if wide else 0.2
    if found["tau_last"] is None and found["coverage_last"] is None:
        # Pair scores may be negative, so only the coverage says what "all" is; margins and ranks end at 0.
        found |= {"coverage_last": 1.0} if wide and not relative else {"tau_last": 0.0}
    for end in ("first", "last"):
        share = found[f"coverage_{end}"]
        if relative and share is not None:
            found |= {f"tau_{end}": 1.0 - share, f"coverage_{end}": None}
    return found


def _level(config: TTMConfig, tau: float | None, coverage: float | None, first: np.ndarray) -> float:
    if tau is not None:
        return float(tau)
    usable = np.sort(first[first > 0] if config.variant == "group" else first.ravel())[::-1]
    if not len(usable):
        return 0.0  # everything is tied, and tied groups are never selected
    return float(usable[min(max(TTMConfig.count_of(coverage or 1.0, first.size), 1), len(usable)) - 1])


def _unreached(taus: np.ndarray, first: np.ndarray) -> str:
    """Which iterations would select no group, and why, if margins stayed as they are; "" where all select some.

    taus : the threshold of every iteration. first : margins before adaptation (n,), 0 where tied; of the group variant.
    """
    most = float(first.max(initial=0.0))
    if most <= 0:
        return "No iteration selects a group: every group is tied, and nothing would be trained."
    empty = np.flatnonzero(taus > most) + 1
    if not len(empty):
        return ""
    reason, count = f"above every margin (largest {most:.3g})", len(taus)
    if len(empty) == count:
        rest = "nothing would be trained"
        return f"No iteration selects a group: τ {taus.min():.4g} is {reason}, and {rest}."
    if empty[0] > 1:  # τ ascends; margins may grow, too
        when = "In the last iteration" if empty[0] == count else f"From iteration {empty[0]} on"
        return f"{when} no group is selected, as the margins are now: τ {taus[empty[0] - 1]:.4g} is {reason}."
    when = "In iteration 1" if len(empty) == 1 else f"In iterations 1 to {empty[-1]}"
    return f"{when} no group is selected, and nothing is trained: τ {taus[empty[-1] - 1]:.4g} is {reason}."


@dataclass(frozen=True)
class _Preset:
    """Settings under a name: for this data set and model."""

    dataset: str
    model: str
    config: TTMConfig | SimpleMatchConfig
    source: str

    def record(self) -> dict[str, Any]:
        """One flat row for listings: what it is for, and the settings that differ from the defaults."""
        return {"dataset": self.dataset, "model": self.model, "source": self.source, **self.config.changed()}


MODELS = {
    "clip-b32": "openai/clip-vit-base-patch32",
    "clip-b16": "openai/clip-vit-base-patch16",
    "siglip-b16": "google/siglip-base-patch16-224",
    "siglip-l16": "google/siglip-large-patch16-256",
}

# Tables 3, 4 and 5 of [TTM]: table, data set, model, tau_1, tau_T, schedule, lr, and what C.1 says besides.
_CROP = {"augmentation": "resize-crop"}
_ROWS: tuple[tuple[int, str, str, float, float, str, float, dict[str, Any]], ...] = (
    (3, "winoground", "clip-b16", 0.9, 0.0, "linear", 2e-5, {}),
    (3, "winoground", "siglip-b16", 2.0, 0.0, "linear", 1e-5, {"keep_optimizer": True}),
    (3, "winoground", "siglip-l16", 2.0, 0.1, "cosine", 4e-5, _CROP),
    (3, "mmvp-vlm", "clip-b16", 2.0, 0.0, "linear", 1e-5, {}),
    (3, "mmvp-vlm", "siglip-b16", 2.0, 0.1, "cosine", 2e-5, _CROP),
    (3, "colorswap", "clip-b16", 2.3, 0.0, "cosine", 4e-5, {}),
    (3, "colorswap", "siglip-b16", 1.0, 0.0, "cosine", 4e-5, _CROP),
    (3, "colorswap", "siglip-l16", 2.5, 0.0, "cosine", 4e-5, {}),
    (4, "sugarcrepe/replace_rel", "siglip-b16", 2.1, 0.0, "cosine", 1e-5, {}),
    (4, "sugarcrepe/swap_att", "siglip-b16", 1.8, 0.0, "cosine", 1e-5, {}),
    (4, "sugarcrepe/swap_obj", "siglip-b16", 2.0, 0.0, "cosine", 1e-5, {}),
    (4, "sugarcrepe/add_att", "siglip-b16", 2.5, 0.0, "cosine", 1e-5, {}),
    (4, "whatsup/a-1x4", "clip-b32", 0.55, 0.0, "linear", 1e-5, {}),
    (4, "whatsup/b-1x4", "clip-b32", 0.80, 0.0, "linear", 1e-5, {}),
    (4, "whatsup/a-left-right", "clip-b32", 0.25, 0.0, "linear", 1e-5, _CROP),
    (4, "whatsup/a-on-under", "clip-b32", 0.85, 0.0, "linear", 1e-5, {}),
    (4, "whatsup/b-left-right", "clip-b32", 0.50, 0.0, "cosine", 2e-5, {}),
    (4, "whatsup/b-front-behind", "clip-b32", 1.30, 0.0, "cosine", 2e-5, {}),
    (5, "winoground", "siglip-b16", 0.50, 0.0, "linear", 1e-5, {}),
    (5, "mmvp-vlm", "siglip-b16", 0.55, 0.0, "linear", 2e-5, _CROP),
    (5, "colorswap", "siglip-b16", 0.50, 0.0, "linear", 4e-5, {}),
)
_GLOBAL_TABLE = 5


def _paper_presets() -> dict[str, _Preset]:
    found = {}
    for table, dataset, model, tau_first, tau_last, schedule, lr, more in _ROWS:
        settings = {"tau_first": tau_first, "tau_last": tau_last, "schedule": schedule, "lr": lr, **more}
        if dataset == "winoground":
            settings["epochs"] = 30
        name = f"{dataset}/{model}"
        if table == _GLOBAL_TABLE:
            settings |= {"variant": "global", "threshold_mode": "relative"}
            name += "/global"
        found[name] = _Preset(dataset, MODELS[model], TTMConfig(**settings), f"[TTM] Table {table}, C.1")
    return found


_BUILTIN = TTMConfig(epochs=5, lr=3e-4, coverage_first=0.2, tau_last=0.0, batch=50, augmentation="jitter")
# Generative models: what differs, by the name of the preset.
_GENERATIVE: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("builtin/vqa", "builtin/blip-vqa", {"iterations": 8, "epochs": 4, "lr": 1e-4}),
    ("builtin/caption", "builtin/blip-caption", {"iterations": 8, "epochs": 4, "lr": 2e-4}),
)
_GLOBAL: dict[str, Any] = {
    "variant": "global",
    "threshold_mode": "relative",
    "tau_first": 0.5,
    "tau_last": 0.0,
}

# "builtin" holds for every built-in set of scenes; "default" is a start for any other data and model.
PRESETS: dict[str, _Preset] = {
    "default": _Preset("any", "any", TTMConfig(), "[TTM] C.1; 20 % of the groups at first, all at the end"),
    "simplematch": _Preset("any", "any", SimpleMatchConfig(), "[TTM] section 3.1"),
    "builtin": _Preset(
        "scenes/*", "builtin/clip", _BUILTIN, "chosen on the validation split, plain and tinted"
    ),
    **{
        name: _Preset("scenes/*", model, _BUILTIN.updated(changed), "chosen on the validation split, tinted")
        for name, model, changed in _GENERATIVE
    },
    "builtin/global": _Preset(
        "scenes/*@global", "builtin/clip", _BUILTIN.updated(_GLOBAL), "[TTM] 3.2.1, on pairs"
    ),
    "default/global": _Preset("any", "any", TTMConfig(**_GLOBAL), "[TTM] 3.2.1, on pairs"),
    "embeddings": _Preset(
        "any", "embeddings file", TTMConfig(lr=1e-3, epochs=5), "frozen features, one map each"
    ),
    "simplematch/builtin": _Preset(
        "scenes/*", "builtin/clip", SimpleMatchConfig(lr=3e-4, batch=50), "[TTM] section 3.1"
    ),
    "simplematch/embeddings": _Preset(
        "any", "embeddings file", SimpleMatchConfig(lr=3e-4), "[TTM] section 3.1 on frozen features"
    ),
    **_paper_presets(),
}


def default_preset(kind: str, dataset: str | None, model: str) -> str:
    """The preset to start from where nobody names one.

    kind : "ttm" or "simplematch". dataset : a benchmark, or None for an embeddings file. The paper's own row where it
    has this model on this data set, else what suits the built-in models, embeddings, or any model; for a flattened
    set (`scenes/left-right@global`) the global variant.
    """
    prefix = "" if kind == "ttm" else f"{kind}/"
    if dataset is None:
        return f"{prefix}embeddings"
    wide = "/global" if kind == "ttm" and dataset.endswith("@global") else ""
    source = model.rpartition(":")[2]
    if source.startswith("builtin/"):
        own = {model: name for name, model, _ in _GENERATIVE} if kind == "ttm" and not wide else {}
        return own.get(source, f"{prefix}builtin{wide}")
    of_set = (dataset.removesuffix("@global"), model)
    rows = (name for name, p in PRESETS.items() if (p.dataset, p.model) == of_set)
    row = (
        next((name for name in rows if name.endswith("/global") == bool(wide)), None)
        if kind == "ttm"
        else None
    )
    return row or (f"default{wide}" if kind == "ttm" else kind)
