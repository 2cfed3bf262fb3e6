"""From a recipe to a model folder: weights, configuration, processor, training log, card."""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

from core.base.errors import InputError
from core.pretrain.families import FAMILIES
from core.pretrain.initial_weights import builtin, initialise_from
from core.pretrain.loop import Progress, remeasure, seeded, train
from core.pretrain.model_card import LOG, write_card
from core.pretrain.recipes import Recipe
from core.pretrain.tokens import word_tokenizer
from core.scenes.training_data import training_data


def pretrain_to_folder(
    name: str, recipe: Recipe, out: Path, seed: int, steps: int | None, device: str, progress: Progress
) -> Path:
    """Train and write everything; see `core.pretrain.pretrain`."""
    count = recipe.steps if steps is None else steps
    if count < 1:
        raise InputError(f"A model cannot be trained for {count} steps; ask for at least one.")
    if seed < 0:
        raise InputError(f"The seed is {seed}; it must be a whole number, 0 or more.")
    where = _device(device)
    earlier = builtin(recipe.start) if recipe.start else None
    out.mkdir(parents=True, exist_ok=True)
    family = FAMILIES[recipe.family]
    tokenizer = word_tokenizer(recipe.length, family.asks)
    data = training_data(recipe.data, seed, progress, pictures=family.sees)
    started = perf_counter()
    with seeded(seed):
        module = family.build(recipe, len(tokenizer)).to(where)
        if earlier is not None:
            initialise_from(module, earlier)
        with (out / LOG).open("w") as log:
            for record in train(recipe, module, data, tokenizer, seed, count, progress):
                log.write(json.dumps(record) + "\n")
                log.flush()
        save(module, family.processor(tokenizer), out)
        # The stored weights are rounded: they are read again and measured, and the card tells those numbers.
        stored = type(module).from_pretrained(out).to(where)
        last = remeasure(recipe, stored, tokenizer, count)
    last |= {"seed": seed, "total_seconds": round(perf_counter() - started), "machine": _machine(where)}
    with (out / LOG).open("a") as log:
        log.write(json.dumps(last) + "\n")
    write_card(name, recipe, out)
    return out


def _machine(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    count = torch.get_num_threads()
    return f"{count} CPU thread{'s' if count > 1 else ''}"


def save(module: Any, processor: Any, out: Path) -> None:
    """Weights in half precision, which is plenty for storage; the configuration says to compute in float32."""
    halved = {key: value.detach().cpu().half().contiguous() for key, value in module.state_dict().items()}
    module.config.dtype = torch.float32
    module.save_pretrained(out, state_dict=halved)
    config = json.loads((out / "config.json").read_text())
    (out / "config.json").write_text(json.dumps(_float32(config), indent=2, sort_keys=True) + "\n")
    processor.save_pretrained(out)
    (out / "model.safetensors").chmod(0o644)  # safetensors writes it for its owner alone


def _float32(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration with every named data type set to float32: what from_pretrained then loads."""
    found = {key: _float32(value) if isinstance(value, dict) else value for key, value in config.items()}
    return {key: "float32" if key in ("dtype", "torch_dtype") else value for key, value in found.items()}


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"Training cannot run on {name!r} ({reason}); use 'cpu'.") from None
    return device
