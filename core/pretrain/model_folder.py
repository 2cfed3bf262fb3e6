"""From a recipe to a model folder: weights, configuration, processor, training log, card."""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from safetensors.torch import load_file

from core.base import paths
from core.base.errors import InputError, unknown_name
from core.base.files import storage_errors
from core.pretrain._loop import Progress, Validation, seeded, train
from core.pretrain._model_card import LOG, write_card
from core.pretrain._recipes import RECIPES, Recipe
from core.pretrain._tokens import word_tokenizer
from core.pretrain.families import FAMILIES
from core.scenes.training_data import TrainingData

# A text tower that looks at the picture is the same thing as an encoder and as a decoder, the mask aside.
_SAME = (("text_encoder.", "text_decoder.bert."), ("text_decoder.bert.", "text_encoder."))
_BY_WORD_OR_PLACE = ("word_embeddings", "position_embeddings", "decoder")


def pretrain(
    name: str,
    out: Path,
    seed: int = 0,
    steps: int | None = None,
    device: str = "cpu",
    progress: Progress = lambda what, share: None,
    recipe: Recipe | None = None,
) -> Path:
    """Train the built-in model `name` from scratch and write its folder to `out`, which is returned.

    steps : fewer (or more) than the recipe's. device : as torch names it. progress : called with what is being done and
    the share done. recipe : your own instead of `RECIPES[name]`; `name` appears in the card. The weights depend on
    recipe, seed and steps alone, never on the clock (on one machine and device; another processor rounds differently).
    Raises InputError for an unknown name or a bad setting.
    """
    if recipe is None and name not in RECIPES:
        raise unknown_name("recipe", name, RECIPES)
    recipe = recipe or RECIPES[name]
    count = recipe.steps if steps is None else steps
    if count < 1:
        raise InputError(f"A model cannot be trained for {count} steps; ask for at least one.")
    if seed < 0:
        raise InputError(f"The seed is {seed}; it must be a whole number, 0 or more.")
    where = _device(device)
    earlier = _builtin(recipe.start) if recipe.start else None
    with storage_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    family = FAMILIES[recipe.family]
    tokenizer = word_tokenizer(recipe.length, family.asks)
    data = TrainingData.of(recipe.data, seed, progress, pictures=family.sees)
    started = perf_counter()
    with seeded(seed):
        module = family.build(recipe, len(tokenizer)).to(where)
        if earlier is not None:
            _initialise_from(module, earlier)
        with (out / LOG).open("w") as log:
            for record in train(recipe, module, data, tokenizer, seed, count, progress):
                log.write(json.dumps(record) + "\n")
                log.flush()
        _save(module, family.processor(tokenizer), out)
        # The stored weights are rounded: they are read again and measured, and the card tells those numbers.
        stored = type(module).from_pretrained(out).to(where)
        last = {"step": count, "stored": True, "validation": Validation(recipe, tokenizer)(stored)}
    last |= {"seed": seed, "total_seconds": round(perf_counter() - started), "machine": _machine(where)}
    with (out / LOG).open("a") as log:
        log.write(json.dumps(last) + "\n")
    write_card(name, recipe, out)
    return out


def _builtin(name: str) -> Path:
    """Folder of a built-in model to start from. Raises InputError where it is not there."""
    folder = paths.assets() / "models" / name
    if not (folder / "model.safetensors").is_file():
        raise InputError(
            f"This recipe starts from the built-in model {name!r}, which {folder} does not hold; "
            f"make it first: crossmatch pretrain {name} --out {folder}."
        )
    return folder


def _initialise_from(module: Any, folder: Path) -> None:
    """Copy into `module` (in place) every weight that the model in `folder` has.

    BLIP's three architectures are made of the same towers: a text encoder's weights serve as a text decoder's and the
    other way round. Vocabulary and positions may be longer in `module`: their first rows are copied. Raises InputError
    where a tower has another size.
    """
    stored = load_file(folder / "model.safetensors")
    for name, weight in module.state_dict().items():
        others = (there + name.removeprefix(here) for here, there in _SAME if name.startswith(here))
        rows = next((stored[key] for key in (name, *others) if key in stored), None)
        if rows is None:
            continue
        may_grow = name.split(".")[-2] in _BY_WORD_OR_PLACE or name.endswith("predictions.bias")
        fits = len(rows) <= len(weight) if may_grow else len(rows) == len(weight)
        if not fits or rows.shape[1:] != weight.shape[1:]:
            raise InputError(
                f"{name} has shape {tuple(weight.shape)}, in {folder} it has {tuple(rows.shape)}; "
                "a recipe must have the towers of the model that it starts from."
            )
        with torch.no_grad():
            weight[: len(rows)] = rows.to(weight)


def _machine(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    count = torch.get_num_threads()
    return f"{count} CPU thread{'s' if count > 1 else ''}"


def _save(module: Any, processor: Any, out: Path) -> None:
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
