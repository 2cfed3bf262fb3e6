"""Begin from another built-in model: BLIP's three architectures are made of the same towers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from core.base import paths
from core.base.errors import InputError

# A text tower that looks at the picture is the same thing as an encoder and as a decoder, the mask aside.
_SAME = (("text_encoder.", "text_decoder.bert."), ("text_decoder.bert.", "text_encoder."))


def builtin(name: str) -> Path:
    """Folder of a built-in model to begin from. Raises InputError where it is not there."""
    folder = paths.assets() / "models" / name
    if not (folder / "model.safetensors").is_file():
        raise InputError(
            f"This recipe starts from the built-in model {name!r}, which {folder} does not hold; "
            f"make it first: crossmatch pretrain {name} --out {folder}."
        )
    return folder


def initialise_from(module: Any, folder: Path) -> list[str]:
    """Copy into `module` (in place) every weight that the model in `folder` has, and return the names.

    A text encoder's weights serve as a text decoder's and the other way round. Vocabulary and positions may be longer
    in `module`: their first rows are copied. Raises InputError where a tower has another size.
    """
    known, copied = load_file(folder / "model.safetensors"), []
    for name, weight in module.state_dict().items():
        key = _origin(name, known)
        if key is None:
            continue
        rows = known[key]
        if (
            rows.shape[1:] != weight.shape[1:]
            or len(rows) > len(weight)
            or not _extends_vocabulary(name, rows, weight)
        ):
            raise InputError(
                f"{name} has shape {tuple(weight.shape)}, in {folder} it has {tuple(rows.shape)}; "
                "a recipe must have the towers of the model that it starts from."
            )
        with torch.no_grad():
            weight[: len(rows)] = rows.to(weight)
        copied.append(name)
    return copied


def _origin(name: str, known: dict[str, torch.Tensor]) -> str | None:
    """The weight of the earlier model that belongs to `name`, None where it has none."""
    others = (there + name.removeprefix(here) for here, there in _SAME if name.startswith(here))
    return next((key for key in (name, *others) if key in known), None)


def _extends_vocabulary(name: str, rows: torch.Tensor, weight: torch.Tensor) -> bool:
    """Only what is counted by word or by place may have more rows than before."""
    return len(rows) == len(weight) or name.split(".")[-2] in _LISTS or name.endswith("predictions.bias")


_LISTS = ("word_embeddings", "position_embeddings", "decoder")
