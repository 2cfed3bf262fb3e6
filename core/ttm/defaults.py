"""What a user's choices come to together: a model by its short name, a preset with the settings beside it.

A choice takes effect or is refused in one sentence: nothing that somebody set is dropped in silence. Free of torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from core.base.errors import InputError, unknown_name
from core.base.paths import is_folder
from core.ttm.config import MODELS, PRESETS, SimpleMatchConfig, TrainConfig, TTMConfig, default_preset

_ELSEWHERE = ("api", "mteb", "open_clip", "python")  # families with names of their own after the colon
_LAST = ("tau_last", "coverage_last")
_THRESHOLDS = ("schedule", "threshold_mode", "tau_first", "coverage_first", *_LAST)


def full_name(model: str) -> str:
    """A model by the name that `load_scorer` takes; short names of the presets stand for the hub's.

    A folder of that name comes first, and a kind of score before a colon stays.

    >>> full_name("itc:siglip-b16")
    'itc:google/siglip-base-patch16-224'
    """
    kind, colon, name = model.rpartition(":")
    if name not in MODELS or is_folder(model) or kind.rpartition(":")[2] in _ELSEWHERE:
        return model
    return f"{kind}{colon}{MODELS[name]}"


def absolute_name(model: str) -> str:
    """As `full_name`, and a folder with its whole path: a run may be resumed from another working directory."""
    return str(Path(model).resolve()) if is_folder(model) else full_name(model)


class _PresetTarget(NamedTuple):
    """The benchmark and the model that a preset is of; None where it is of any, or of several."""

    benchmark: str | None
    model: str | None


def preset_target(preset: str) -> _PresetTarget:
    """Where a preset comes from: what it is run on where nobody names a benchmark or a model."""
    found = _preset(preset)
    benchmark = None if found.dataset == "any" or "*" in found.dataset else found.dataset
    return _PresetTarget(benchmark, None if found.model in ("any", "embeddings file") else found.model)


def _preset(name: str) -> Any:
    if name not in PRESETS:
        raise unknown_name("preset", name, PRESETS)
    return PRESETS[name]


def of_variant(preset: str, variant: str | None) -> str:
    """The preset of the same data and model in this variant, where there is one; else itself.

    >>> of_variant("winoground/siglip-b16", "global"), of_variant("winoground/clip-b16", "global")
    ('winoground/siglip-b16/global', 'winoground/clip-b16')
    """
    own = getattr(_preset(preset).config, "variant", None)
    if variant is None or own is None or variant == own:
        return preset
    other = f"{preset}/global" if variant == "global" else preset.removesuffix("/global")
    return other if other in PRESETS else preset


def _preset_for(
    kind: str, dataset: str | None, model: str, preset: str | None = None, variant: str | None = None
) -> str:
    """The preset to start from: the chosen one, or the one that suits data and model, in the wanted variant.

    kind, dataset, model : as for `default_preset`. Raises InputError for an unknown preset and one of another method.
    """
    chosen = of_variant(preset or default_preset(kind, dataset, model), variant)
    if isinstance(_preset(chosen).config, TTMConfig) != (kind == "ttm"):
        what = "test-time matching" if kind == "ttm" else "SimpleMatch"
        raise InputError(f"The preset {chosen!r} is not one of {what}; choose another (`list presets`).")
    return chosen


def _settings_from(
    preset: str, options: Mapping[str, Any], model: str, oracle: bool = False
) -> TTMConfig | SimpleMatchConfig:
    """A preset's settings with these options in their place, for this model.

    options : None leaves a setting as it is. oracle : whether truth selects, and no threshold.
    Raises InputError for an option that would have no effect, and where the preset's thresholds are those of another
    model: they are in units of its scores.
    """
    config = _preset(preset).config.updated(options)
    given = [name for name, value in options.items() if value is not None]
    _check_used(config, given, oracle)
    if isinstance(config, TTMConfig) and not oracle:
        _check_units(preset, config, given, model)
    return config


class _Configured(NamedTuple):
    """The settings of a run, and the preset that they started from."""

    preset: str
    config: TTMConfig | SimpleMatchConfig


def configured(
    kind: str,
    dataset: str | None,
    model: str,
    preset: str | None,
    options: Mapping[str, Any],
    oracle: bool = False,
) -> _Configured:
    """The settings that a user's choices come to; for embeddings `dataset` is None.

    Arguments and errors as for `_preset_for`, `_settings_from` and `_check_frozen`.
    """
    chosen = _preset_for(kind, dataset, model, preset, options.get("variant"))
    config = _settings_from(chosen, options, model, oracle)
    if dataset is None:
        _check_frozen(config)
    return _Configured(chosen, config)


def _idle(config: TrainConfig, oracle: bool) -> dict[str, str]:
    """The settings that these others leave without effect, each with the reason."""
    found: dict[str, str] = {}
    if config.augmentation != "resize-crop":
        found["crop_factor"] = "Only resize-crop enlarges pictures"
    if not isinstance(config, TTMConfig):
        return found
    if config.schedule == "constant":
        found |= dict.fromkeys(_LAST, "A constant schedule stays at the first threshold")
    if config.iterations == 1:
        why = "One iteration has one threshold and nothing to carry into another"
        found |= dict.fromkeys(("schedule", *_LAST, "keep_optimizer", "lr_restart"), why)
    if oracle:
        found |= dict.fromkeys(
            _THRESHOLDS, "The oracle selects what is matched right, whatever the threshold"
        )
    return found


def _check_used(config: TrainConfig, given: list[str], oracle: bool) -> None:
    idle = _idle(config, oracle)
    for name in given:
        if name in idle:
            raise InputError(f"{idle[name]}, so {name} has no effect; leave it out.")


def _check_units(preset: str, config: TTMConfig, given: list[str], model: str) -> None:
    own = foreign_model(preset, model)
    if own is None or config.threshold_mode != "absolute":
        return
    read = {"tau_first", "tau_last"} - _idle(config, oracle=False).keys() - set(given)
    levels = sorted(name for name in read if getattr(config, name))
    if levels:
        raise InputError(
            f"The preset {preset!r} has thresholds in units of the scores of {own}, which mean nothing for {model}; "
            f"leave the model out, or set {' and '.join(levels)} (or a coverage) yourself."
        )


def _check_frozen(config: TrainConfig) -> None:
    """Raise InputError for a setting that has no use on an embeddings file: it has no pixels and no layers."""
    if config.augmentation != "none":
        raise InputError("An embeddings file has no pixels to augment; set augmentation to 'none'.")
    if config.lora_rank is not None:
        raise InputError(
            "An embeddings file has two small maps and no layers for low-rank adapters; leave lora_rank out."
        )
    if config.contrastive:
        raise InputError(
            "The contrastive loss is for captioners, not an embeddings file; leave contrastive out."
        )


def foreign_model(preset: str, model: str) -> str | None:
    """The model whose scores a preset's absolute thresholds count in, where it is another one than `model`."""
    found = _preset(preset)
    own, config = preset_target(preset).model, found.config
    absolute = isinstance(config, TTMConfig) and config.threshold_mode == "absolute"
    levels = absolute and (config.tau_first or config.tau_last)
    return own if levels and model.rpartition(":")[2] != own else None
