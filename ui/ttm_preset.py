"""The preset of the test-time matching form: which one suits, what it puts into the fields, and what it is of."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.errors import StreamlitAPIException

from core.figures.text import escape_markdown
from core.runs.models import origin
from core.ttm.config import PRESETS, SimpleMatchConfig, TrainConfig, TTMConfig, default_preset
from core.ttm.defaults import foreign_model, of_variant, preset_target
from ui.old_links import seed_widgets_from_address

if TYPE_CHECKING:
    from ui.ttm_form import AdaptationInput

VARIANTS = ("group", "global", "oracle (uses the truth)")
ENDS = ("share selected", "value")
# Fields that count in a variant's units.
UNITS = ("mode", "start", "share", "tau1", "end", "share_end", "tauT")
_SEEN_ON_PHONE = 15  # letters of a name in a field of half the width
HELP = (
    "Rows of the paper's Tables 3 to 5, and starting points for other data. Choosing one resets the fields."
)


def values_of(config: TrainConfig) -> dict[str, Any]:
    """Every field of the form, by key, as this configuration has it; `tau1` is None where it names a share instead."""
    values = {
        name: getattr(config, name) for name in ("epochs", "lr", "seed", "batch", "augmentation", "precision")
    }
    values |= {
        "micro": config.micro_batch,
        "keep": config.keep_optimizer,
        "contrastive": config.contrastive,
        "lora": config.lora_rank is not None,
    }
    values |= {
        "rank": config.lora_rank or 8,
        "lora_alpha": config.lora_alpha,  # not `alpha`, which is a slider on Debias
        "targets": ",".join(config.lora_targets),
    }
    optimizer = ("weight_decay", "lr_restart", "lr_final", "clip_norm", "crop_factor")
    values |= {name: getattr(config, name) for name in optimizer}
    values |= {"beta1": config.betas[0], "beta2": config.betas[1], "layers": ",".join(config.parameters)}
    if isinstance(config, TTMConfig):
        is_global = config.variant == "global"
        values |= {"T": config.iterations, "schedule": config.schedule, "mode": config.threshold_mode}
        values |= {
            "variant": config.variant,
            "start": ENDS[config.tau_first is not None],
            "share": round(100 * (config.coverage_first or (0.5 if is_global else 0.2))),
            "tau1": config.tau_first,
            "end": ENDS[config.coverage_last is None],
            "share_end": round(100 * (config.coverage_last or 1.0)),
            "tauT": config.tau_last or 0.0,
        }
    if isinstance(config, SimpleMatchConfig):
        values |= {"rounds": config.rounds, "patience": config.patience}
    return values


def use_preset() -> None:
    """Another preset: its values in every field of the form, not mine."""
    chosen = PRESETS.get(st.session_state["preset"])  # of a message made by hand it may be any word
    if chosen is not None:
        _put_into_fields(values_of(chosen.config))


def _put_into_fields(values: Mapping[str, Any]) -> None:
    """A threshold that is not given leaves its field to the form, which knows the margins."""
    if values.get("tau1", 0) is None:
        st.session_state.pop("tau1", None)
        values = {key: value for key, value in values.items() if key != "tau1"}
    st.session_state.update(values)


def use_variant() -> None:
    """Another variant counts thresholds in other units: its own preset, or its usual thresholds, in the fields."""
    chosen, preset = st.session_state["variant"], st.session_state["preset"]
    if chosen == VARIANTS[2]:
        return
    other = of_variant(preset, chosen)
    values = values_of(PRESETS[other].config.updated({"variant": chosen}))
    if other == preset:
        values = {key: values[key] for key in UNITS}
    _put_into_fields({**values, "preset": other})


def presets_of(kind: str, subject: AdaptationInput) -> tuple[list[str], str]:
    """Names of the presets of a kind, and the one that suits data and model; that and its neighbours come first."""
    suited = default_preset(kind, subject.benchmark, origin(subject.model))
    names = [n for n, p in PRESETS.items() if isinstance(p.config, TTMConfig) == (kind == "ttm")]

    def distance(name: str) -> tuple[bool, bool]:
        preset = PRESETS[name]
        return name != suited, subject.benchmark != preset.dataset and subject.model != preset.model

    return sorted(names, key=distance), suited


def _shown(name: str) -> str:
    """A preset's name beside its method, which the longer one repeats: `builtin` of `simplematch/builtin`. A phone cut
    that to `simplematch/bui…`."""
    method, _, rest = name.partition("/")
    return (rest or "default") if method == "simplematch" else name


def _read_stored_name(names: list[str]) -> None:
    """An address that has a preset's stored name, as those made before have, with the shown one: that is an option."""
    linked = st.query_params.get("preset", "")
    if linked in names and linked != _shown(linked):
        with suppress(StreamlitAPIException):  # a widget of this page has it already
            st.query_params["preset"] = _shown(linked)
            seed_widgets_from_address()


def pick_preset(place: Any, kind: str, subject: AdaptationInput) -> TrainConfig:
    """The chosen preset's settings; another data set, model or method brings the one that suits it."""
    names, suited = presets_of(kind, subject)
    known = st.session_state.get("suited")
    st.session_state["suited"] = suited
    if st.session_state.get("preset", suited) not in names or known not in (None, suited):
        st.session_state["preset"] = suited
        use_preset()
    more: dict[str, Any] = {"on_change": use_preset, "help": HELP, "bind": "query-params"}
    _read_stored_name(names)
    name = place.selectbox("Preset", names, key="preset", format_func=_shown, **more)
    # On a phone the field of a long name takes the whole width (`style.css`), or the end of it was cut.
    about = place.container(key="preset-long" if len(_shown(name)) > _SEEN_ON_PHONE else "preset-short")
    about.caption(escape_markdown(_made_for(name)))
    config = PRESETS[name].config
    linked = st.session_state.get("variant", st.query_params.get("variant"))
    return config.updated({"variant": linked}) if kind == "ttm" and linked in VARIANTS[:2] else config


def _made_for(name: str) -> str:
    """What a preset is for, as its name alone does not tell: `Chosen for the built-in sets and builtin/clip`."""
    preset = PRESETS[name]
    if preset.dataset == preset.model == "any":
        return "A start for any set and any model"
    sets = {"any": "any set", "scenes/*": "the built-in sets"}
    flat = "/*@global" in preset.dataset
    of = "the built-in sets, all pairs at once" if flat else sets.get(preset.dataset, preset.dataset)
    return f"Chosen for {of} and {preset.model}"


def preset_source() -> str:
    """Where the preset comes from."""
    name = st.session_state["preset"]
    return f"Source of the preset {_shown(name)}: {PRESETS[name].source}."


def preset_warning(model: str, benchmark: str | None) -> str:
    """What of the preset was chosen for other data or another model; "" where nothing was."""
    name = st.session_state["preset"]
    shown = _shown(name)
    tuned_model, tuned_benchmark = foreign_model(name, origin(model)), preset_target(name).benchmark
    if tuned_model is not None:
        return f"The thresholds of {shown} are in units of the scores of {tuned_model}: set your own for {model}."
    if tuned_benchmark not in (None, benchmark):
        return f"The preset {shown} was chosen for {tuned_benchmark}; this is {benchmark or 'a file'}."
    return ""
