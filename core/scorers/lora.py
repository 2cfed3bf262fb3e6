"""Low-rank adapters (LoRA) on a model that is too large to train whole; saved merged, as if it had been.

Source: Hu et al. 2022 (arXiv 2106.09685), through the library peft, which is imported only here and when it is needed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from core.base.errors import InputError
from core.scorers.score_kinds import CHAT_TYPES

_ADAPTER = "crossmatch"
# Model family -> which layers get adapters: attention's query, key and value, and the MLP. A pooling head's
# `out_proj` and open_clip's packed attention are left out: their classes read weights past the adapter.
_TARGETS: dict[str, str] = {
    **dict.fromkeys(("clip", "siglip", "siglip2"), r".*\.(q_proj|k_proj|v_proj|fc1|fc2)"),
    # A vision tower like CLIP's with one packed layer for query, key and value; a text tower like BERT's, with the
    # cross-attention that the matching head reads.
    "blip": r".*(self_attn\.qkv|mlp\.fc[12]|attention\.self\.(query|key|value)|(intermediate|output)\.dense)",
    # The language model of an image-text-to-text model: what reads images stays as it is, and is computed once.
    **dict.fromkeys(CHAT_TYPES, r".*(language_model|text_model)\..*\.([qkvo]_proj|(gate|up|down)_proj)"),
    "flava": r".*(attention\.attention\.(query|key|value)|layer\.\d+\.(intermediate|output)\.dense)",
    "open_clip": r".*(resblocks\.\d+\.mlp\.(c_fc|c_proj)|trunk\..*\.(qkv|fc1|fc2))",
}


def attach(
    module: torch.nn.Module, rank: int, alpha: float | None = None, targets: Sequence[str] = (), seed: int = 0
) -> int:
    """Freeze a model and give its layers adapters that change nothing yet; returns how many layers got one.

    rank, alpha : the change of a weight is alpha / rank * B A with A of `rank` rows; alpha None: twice the rank.
    targets : last parts of layer names (`q_proj`); (): those of the model's family, see `_TARGETS`. seed : draws A.
    Raises InputError where peft is missing, the family is unknown, or no layer has such a name.
    """
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError:
        raise InputError(
            "Low-rank adapters need the library peft; install it with `pip install crossmatch[lora]`."
        ) from None
    if not getattr(module, "takes_adapters", True):
        raise InputError(
            "A model that one of Cola's strategies adapted takes no low-rank adapters; leave lora_rank out."
        )
    pattern = _pattern(module, targets)
    _check_layers(module, pattern)
    config = LoraConfig(r=rank, lora_alpha=2 * rank if alpha is None else alpha, target_modules=pattern)  # type: ignore[arg-type]
    devices = [p.device for p in module.parameters() if p.device.type == "cuda"][:1]
    module.requires_grad_(False)
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        try:
            for part in _carriers(module):
                inject_adapter_in_model(config, part, adapter_name=_ADAPTER)
        except ValueError as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise InputError(
                f"These layers take no low-rank adapter ({reason}); change lora_targets."
            ) from None
    return len(_layers(module))


def _carriers(module: torch.nn.Module) -> list[torch.nn.Module]:
    """The parts that get adapters: the model, or FLAVA's two towers (peft asks the whole for embeddings it has not)."""
    flava: Any = getattr(module, "flava", module)
    if str(getattr(getattr(module, "config", None), "model_type", "")) == "flava":
        return [flava.image_model, flava.text_model]
    return [module]


def _pattern(module: torch.nn.Module, targets: Sequence[str]) -> str:
    if targets:
        return rf"(.*\.)?({'|'.join(map(re.escape, targets))})"
    family = str(getattr(getattr(module, "config", None), "model_type", ""))
    if type(module).__module__.partition(".")[0] == "open_clip":
        family = "open_clip"
    if family not in _TARGETS:
        raise InputError(
            f"For a {family or type(module).__name__} model Crossmatch has no default layers for low-rank adapters; "
            "name them with lora_targets."
        )
    return _TARGETS[family]


def _check_layers(module: torch.nn.Module, pattern: str) -> None:
    named = [part.named_modules() for part in _carriers(module)]
    linear = [name for names in named for name, m in names if isinstance(m, torch.nn.Linear)]
    if not any(re.fullmatch(pattern, name) for name in linear):
        endings = ", ".join(sorted({name.rpartition(".")[2] for name in linear})) or "none at all"
        raise InputError(f"No linear layer of this model fits lora_targets; their names end in {endings}.")


def _layers(module: torch.nn.Module) -> dict[str, Any]:
    """The layers that carry an adapter, by name."""
    layers = {}
    for name, m in module.named_modules():
        if _ADAPTER in getattr(m, "lora_A", ()):
            layers[name] = m
    return layers


def adapter_state(module: torch.nn.Module) -> dict[str, torch.Tensor] | None:
    """The adapters' weights by name, a copy on the CPU; None for a model without adapters."""
    state = {n: t.detach().cpu().clone() for n, t in module.state_dict().items() if ".lora_" in n}
    return state or None


def load_adapter(module: torch.nn.Module, state: Mapping[str, torch.Tensor]) -> None:
    """Put weights of `adapter_state` into a model with the same adapters; InputError where they differ."""
    expected = {n: t.shape for n, t in module.state_dict().items() if ".lora_" in n}
    if expected != {n: t.shape for n, t in state.items()}:
        raise InputError(
            "The saved adapters belong to another model or rank; resume the run with its original settings."
        )
    module.load_state_dict(dict(state), strict=False)


@torch.no_grad()
def merged_state(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The weights as the model's own architecture has them, every adapter's change added; the module is left alone."""
    layers = _layers(module)
    if not layers:
        return dict(module.state_dict())
    state = {n: t for n, t in module.state_dict().items() if ".lora_" not in n}
    for name, layer in layers.items():
        weight = f"{name}.base_layer.weight"
        state[weight] = state[weight] + layer.get_delta_weight(_ADAPTER).to(state[weight])
    return {n.replace(".base_layer.", "."): t for n, t in state.items()}
