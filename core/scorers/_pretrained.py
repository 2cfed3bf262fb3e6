"""A model of `transformers` with its processor: read from a folder in its own format, and written to one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.nn import functional as F

from core.base.errors import InputError
from core.scorers._model_io import (
    check_weights,
    key_while_unchanged,
    load_errors,
    replaced_files,
    weight_counts,
)
from core.scorers.devices import check_memory, pick_device
from core.scorers.lora import merged_state
from core.scorers.model_folder import VOCABULARIES, files_key, model_files
from core.scorers.score_kinds import kind_key


class ModelParts(NamedTuple):
    """A model as loaded: the module on its device, its processor (or tokenizer), and what gives its cache key."""

    name: str
    module: Any
    processor: Any
    device: torch.device
    key: Callable[[], str | None]
    kind: str | None = None  # of score


def load_parts(
    name: str, folder: Path, device: str, kind: str | None, auto: str, processor: str = "AutoProcessor"
) -> ModelParts:
    """A model of transformers from a folder: safetensors alone, no remote code, its memory checked before.

    kind : of score, which the key depends on; None for a model of two towers alone, which is loaded in float32.
    auto, processor : names of transformers' classes, such as `BlipForImageTextRetrieval`, `AutoModelForCausalLM`.
    Raises InputError where the model does not fit into memory, or weights are missing, incomplete or damaged.
    """
    target = pick_device(device)
    check_weights(folder)
    # Without one, transformers makes an empty tokenizer and says nothing.
    if not any((folder / file).is_file() for file in VOCABULARIES):
        raise InputError(f"{folder} has no tokenizer ({', '.join(VOCABULARIES)}); fetch the model again.")
    dtype = check_memory(name, weight_counts(folder), str(target)) if kind else "float32"
    key = key_while_unchanged(model_files(folder), partial(kind_key, kind) if kind else files_key)
    with load_errors(folder):
        import transformers

        transformers.utils.logging.disable_progress_bar()
        logging.getLogger("transformers.configuration_utils").addFilter(_about_this_model)
        local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        module, report = getattr(transformers, auto).from_pretrained(
            folder, dtype=getattr(torch, dtype), use_safetensors=True, output_loading_info=True, **local
        )
        if report["missing_keys"]:
            raise ValueError(f"no weights for {min(report['missing_keys'])}")
        reader = getattr(transformers, processor).from_pretrained(folder, **local)
        for part in ("image_processor", "tokenizer") if processor == "AutoProcessor" else ():
            if not hasattr(reader, part):
                raise ValueError(f"no files of its {part.replace('_', ' ')}")
    module = module.to(target).eval()
    if dtype != "float32":
        keep_heads_exact(module)
    return ModelParts(name, module, reader, target, key, kind)


def _about_this_model(record: logging.LogRecord) -> bool:
    """Not what transformers says of its own defaults: it makes a SigLIP text configuration of them to compare each
    SigLIP with, and warns that their ends of text (49406, 49407) lie outside their vocabulary of 32,000."""
    said = record.getMessage()
    return not ("between 0 and 31999" in said and said.partition("got ")[2].startswith(("49406", "49407")))


def save_parts(module: Any, processor: Any, folder: Path) -> None:
    """Write config, safetensors (adapters merged), preprocessing and tokenizer as `from_pretrained` reads them."""
    with replaced_files(folder) as staging:
        module.save_pretrained(staging, state_dict=merged_state(module))
        processor.save_pretrained(staging)


def keep_heads_exact(module: Any) -> None:
    """Let a half-precision model's last product run in float32, so that its logits do not tie by rounding."""

    def exact(layer: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
        bias = None if layer.bias is None else layer.bias.float()
        return F.linear(inputs[0].float(), layer.weight.float(), bias)

    for head in (module.get_output_embeddings(), getattr(module, "itm_head", None)):
        if isinstance(head, torch.nn.Linear):
            head.register_forward_hook(exact)
