"""Settings of a run, their threshold and learning-rate schedules, and named presets: every row of the paper's tables.

Free of torch, so that a page can offer and check settings before it needs a model.
Sources: [TTM] sections 3.2, 3.2.1, appendix C.1 and Tables 3-5 (METHODS 3).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import cos, isfinite, isnan, pi
from typing import Any, Self

import numpy as np

from core.base.errors import InputError, unknown_name

AUGMENTATIONS = ("none", "resize-crop", "jitter")  # what each does: core/ttm/train.py
PRECISIONS = ("float32", "bfloat16")
SCHEDULES = ("linear", "cosine", "constant", "ascending")
VARIANTS = ("group", "global")
THRESHOLD_MODES = ("absolute", "relative")


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How to train on matched pairs. Defaults are those of [TTM] C.1."""

    epochs: int = 20  # passes over the selected groups per iteration
    lr: float = 1e-5  # learning rate at the first step of iteration 1
    lr_restart: float = 0.95  # iteration t starts from lr * lr_restart^(t-1)
    lr_final: float = (
        0.1  # share of the iteration's first learning rate that its last step uses; 1 = constant
    )
    weight_decay: float = 0.05
    betas: tuple[float, float] = (0.9, 0.999)
    batch: int | None = None  # groups per batch; None: 50, and 100 where a group has one image
    augmentation: str = "none"  # one of AUGMENTATIONS
    keep_optimizer: bool = False  # carry AdamW's moments into the next iteration instead of resetting them
    clip_norm: float | None = None  # largest gradient norm; None: no clipping
    precision: str = "float32"  # or "bfloat16": autocast while training; weights and scores stay float32
    parameters: tuple[str, ...] = ()  # patterns of parameter names to train, as "*projection*"; (): all
    micro_batch: int | None = None  # pairs that pass the model at once, same loss; None: as many as fit
    lora_rank: int | None = None  # rank of low-rank adapters, the model itself frozen; None: train it whole
    lora_alpha: float | None = None  # their weight is alpha / rank; None: twice the rank
    lora_targets: tuple[str, ...] = ()  # names of the layers that get one; (): those of the model's family
    seed: int = 0

    def validate(self) -> Self:
        """Return self, or raise InputError for the first setting that makes no sense."""
        self._require(_is_whole(self.epochs, 1), "epochs", "a positive whole number")
        self._require(_is_whole(self.seed, 0), "seed", "a whole number, 0 or more")
        self._require(self.batch is None or _is_whole(self.batch, 1), "batch", "a positive whole number")
        self._require(_is_number(self.lr) and self.lr > 0, "lr", "a positive number such as 1e-5")
        for name in ("lr_restart", "lr_final"):
            value = getattr(self, name)
            self._require(_is_number(value) and 0 < value <= 1, name, "above 0 and at most 1")
        decay, clip = self.weight_decay, self.clip_norm
        self._require(_is_number(decay) and decay >= 0, "weight_decay", "0 or more")
        self._require(clip is None or (_is_number(clip) and clip > 0), "clip_norm", "a positive number")
        pair = isinstance(self.betas, tuple) and len(self.betas) == 2
        moments = pair and all(_is_number(b) and 0 <= b < 1 for b in self.betas)
        self._require(moments, "betas", "two numbers, each 0 or more and below 1")
        self._require(isinstance(self.keep_optimizer, bool), "keep_optimizer", "true or false")
        names = isinstance(self.parameters, tuple) and all(isinstance(p, str) for p in self.parameters)
        self._require(names, "parameters", "a list of name patterns")
        self._validate_size()
        _choice("augmentation", self.augmentation, AUGMENTATIONS)
        _choice("precision", self.precision, PRECISIONS)
        return self

    def _validate_size(self) -> None:
        """What makes large models fit."""
        for name in ("micro_batch", "lora_rank"):
            value = getattr(self, name)
            self._require(value is None or _is_whole(value, 1), name, "a positive whole number")
        alpha, targets = self.lora_alpha, self.lora_targets
        self._require(alpha is None or (_is_number(alpha) and alpha > 0), "lora_alpha", "a positive number")
        names = isinstance(targets, tuple) and all(isinstance(t, str) for t in targets)
        self._require(names, "lora_targets", "a list of layer names")
        if self.lora_rank is None and (alpha is not None or targets):
            raise InputError("lora_alpha and lora_targets shape low-rank adapters; set lora_rank too.")

    def updated(self, settings: Mapping[str, Any]) -> Self:
        """These settings in place of mine, validated; None leaves one as it is."""
        return self.from_dict({**self.to_dict(), **{k: v for k, v in settings.items() if v is not None}})

    def to_dict(self) -> dict[str, Any]:
        """Every setting, ready for JSON."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    def changed(self) -> dict[str, Any]:
        """The settings that differ from their defaults, ready for JSON."""
        default = type(self)().to_dict()
        return {k: v for k, v in self.to_dict().items() if v != default[k]}

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Self:
        """The configuration with these settings, validated; the rest at their defaults.

        Raises InputError for an unknown name (with the nearest known one) and for a value out of range.
        """
        known = [f.name for f in fields(cls)]
        for name in settings:
            if name not in known:
                raise unknown_name("setting", str(name), known)
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()}
        return cls(**values).validate()

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

    def _require(self, valid: bool, name: str, wanted: str) -> None:
        if not valid:
            raise InputError(f"The setting {name} is {getattr(self, name)!r}; it must be {wanted}.")


@dataclass(frozen=True, kw_only=True)
class TTMConfig(TrainConfig):
    """One run of test-time matching. Thresholds are in units of the model's own logits ([TTM] C.1)."""

    iterations: int = 10  # T
    variant: str = "group"  # "global": one assignment over all images and captions, thresholds on pairs
    schedule: str = "linear"  # of the threshold over iterations; one of SCHEDULES
    threshold_mode: str = (
        "absolute"  # "relative" (global): iteration t keeps the top 1 - tau_t fraction of pairs
    )
    # tau_1: a number, or the share that the first iteration selects; neither: 20 % of groups, 50 % of pairs
    tau_first: float | None = None
    coverage_first: float | None = None
    # tau_T likewise, resolved against the first iteration's margins; neither: 0 (global and absolute: every pair)
    tau_last: float | None = None
    coverage_last: float | None = None

    def validate(self) -> Self:
        """Return self, or raise InputError for the first setting that makes no sense."""
        super().validate()
        self._require(_is_whole(self.iterations, 1), "iterations", "a positive whole number")
        _choice("variant", self.variant, VARIANTS)
        _choice("schedule", self.schedule, SCHEDULES)
        _choice("threshold_mode", self.threshold_mode, THRESHOLD_MODES)
        if self.threshold_mode == "relative" and self.variant != "global":
            raise InputError(
                "A relative threshold ranks pairs; set variant to 'global', or threshold_mode to 'absolute'."
            )
        for end in ("first", "last"):
            self._validate_end(f"tau_{end}", f"coverage_{end}")
        return self

    def updated(self, settings: Mapping[str, Any]) -> Self:
        """These settings in place of mine, validated; None leaves one as it is, a tau replaces a coverage and back.

        Another variant or threshold mode counts thresholds in other units: mine are then dropped. Another variant
        brings its usual mode, relative where it is global.
        """
        wanted = {k: v for k, v in settings.items() if v is not None}
        variant = wanted.get("variant", self.variant)
        if variant != self.variant:
            wanted = {"threshold_mode": "relative" if variant == "global" else "absolute", **wanted}
        rivals = {f"tau_{end}": f"coverage_{end}" for end in ("first", "last")}
        rivals |= {coverage: tau for tau, coverage in rivals.items()}
        units = any(
            wanted.get(k, getattr(self, k)) != getattr(self, k) for k in ("variant", "threshold_mode")
        )
        cleared = dict.fromkeys(k for k in rivals if units or rivals[k] in wanted)
        return self.from_dict({**self.to_dict(), **cleared, **wanted})

    def _validate_end(self, tau: str, coverage: str) -> None:
        level, share = getattr(self, tau), getattr(self, coverage)
        if level is not None and share is not None:
            raise InputError(f"Both {tau} and {coverage} are set; leave one of them out.")
        self._require(level is None or _is_number(level), tau, "a number")
        fraction = level is None or self.threshold_mode == "absolute" or 0 <= level <= 1
        self._require(fraction, tau, "between 0 and 1 in relative mode")
        self._require(share is None or (_is_number(share) and 0 < share <= 1), coverage, "above 0, at most 1")


@dataclass(frozen=True, kw_only=True)
class SimpleMatchConfig(TrainConfig):
    """Overfitting to one set of matchings at a constant learning rate ([TTM] 3.1)."""

    epochs: int = 5  # per round; GroupScore on the pseudo-labels is looked at after each round
    rounds: int = 30  # at most
    patience: int = 3  # rounds without a rise before it ends
    lr_final: float = 1.0
    lr_restart: float = 1.0
    keep_optimizer: bool = True

    def validate(self) -> Self:
        """Return self, or raise InputError for the first setting that makes no sense."""
        super().validate()
        for name in ("rounds", "patience"):
            self._require(_is_whole(getattr(self, name), 1), name, "a positive whole number")
        return self

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


def _choice(name: str, value: object, options: Iterable[str]) -> None:
    if value not in tuple(options):
        raise unknown_name(name, str(value), options)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _is_whole(value: object, low: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= low


def thresholds(config: TTMConfig, first: np.ndarray) -> np.ndarray:
    """tau_t of every iteration, float64 (T,).

    first : confidences before adaptation: margins (n,), 0 where tied; in the global variant scores of matched pairs.

    linear, cosine (half a period), constant tau_1, ascending (linear, reversed); T = 1 uses tau_1. A coverage becomes
    the confidence of the last group within that share, so that exactly so many are selected (more where confidences
    are equal, fewer where too many groups are tied). Source: [TTM] 3.2, C.1.

    >>> thresholds(TTMConfig(iterations=3, tau_first=2.0), np.array([1.0, 3.0]))
    array([2., 1., 0.])
    """
    wide, count = config.variant == "global", config.iterations
    start = _level(config, config.tau_first, config.coverage_first or (0.5 if wide else 0.2), first)
    # Pair scores may be negative, so only the coverage says what "all" is; margins and ranks end at 0.
    bottom = None if config.coverage_last or (wide and config.threshold_mode == "absolute") else 0.0
    last = bottom if config.tau_last is None else config.tau_last
    end = _level(config, last, config.coverage_last or 1.0, first)
    if config.schedule == "constant" or count == 1:
        return np.full(count, start)
    tau = np.linspace(start, end, count)
    if config.schedule == "cosine":
        tau = end + (start - end) * (1 + np.cos(np.pi * np.arange(count) / (count - 1))) / 2
    tau[0], tau[-1] = start, end  # exactly: a rounding would lose the group whose margin is the threshold
    return tau[::-1].copy() if config.schedule == "ascending" else tau


def _level(config: TTMConfig, tau: float | None, coverage: float, first: np.ndarray) -> float:
    if tau is not None:
        return float(tau)
    if config.threshold_mode == "relative":
        return 1.0 - coverage
    usable = np.sort(first[first > 0] if config.variant == "group" else first.ravel())[::-1]
    if not len(usable):
        return 0.0  # everything is tied, and tied groups are never selected
    return float(usable[min(max(share_of(coverage, first.size), 1), len(usable)) - 1])


def share_of(share: float, total: int) -> int:
    """How many of `total` a share is, rounded down; 0.2 of 5 is 1 whatever the binary fraction says."""
    return int(share * total + 1e-6)


@dataclass(frozen=True)
class Preset:
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


def _paper_presets() -> dict[str, Preset]:
    found = {}
    for table, dataset, model, tau_first, tau_last, schedule, lr, more in _ROWS:
        settings = {"tau_first": tau_first, "tau_last": tau_last, "schedule": schedule, "lr": lr, **more}
        if dataset == "winoground":
            settings["epochs"] = 30
        name = f"{dataset}/{model}"
        if table == _GLOBAL_TABLE:
            settings |= {"variant": "global", "threshold_mode": "relative"}
            name += "/global"
        found[name] = Preset(dataset, MODELS[model], TTMConfig(**settings), f"[TTM] Table {table}, C.1")
    return found


_BUILTIN = TTMConfig(epochs=5, lr=3e-4, coverage_first=0.2, tau_last=0.0, batch=50, augmentation="jitter")
_GLOBAL: dict[str, Any] = {
    "variant": "global",
    "threshold_mode": "relative",
    "tau_first": 0.5,
    "tau_last": 0.0,
}

# "builtin" holds for every built-in set of scenes; "default" is a start for any other data and model.
PRESETS: dict[str, Preset] = {
    "default": Preset("any", "any", TTMConfig(), "[TTM] C.1; 20 % of the groups at first, all at the end"),
    "simplematch": Preset("any", "any", SimpleMatchConfig(), "[TTM] section 3.1"),
    "builtin": Preset("scenes/*", "builtin/clip", _BUILTIN, "prototype runs on fresh scenes"),
    "builtin/global": Preset(
        "scenes/*@global", "builtin/clip", _BUILTIN.updated(_GLOBAL), "[TTM] 3.2.1, on pairs"
    ),
    "default/global": Preset("any", "any", TTMConfig(**_GLOBAL), "[TTM] 3.2.1, on pairs"),
    "embeddings": Preset(
        "any", "embeddings file", TTMConfig(lr=1e-3, epochs=5), "frozen features, one map each"
    ),
    "simplematch/builtin": Preset(
        "scenes/*", "builtin/clip", SimpleMatchConfig(lr=3e-4, batch=50), "[TTM] section 3.1"
    ),
    "simplematch/embeddings": Preset(
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
    if model.partition("builtin/")[0] in ("", "itc:", "itm:"):
        return f"{prefix}builtin{wide}"
    rows = (name for name, p in PRESETS.items() if (p.dataset, p.model) == (dataset, model))
    own = next((name for name in rows if not name.endswith("/global")), None) if kind == "ttm" else None
    return own or (f"default{wide}" if kind == "ttm" else kind)
