"""Whether this machine can hold a model, said before anything is loaded or fetched. Imports no torch by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

from core.base.errors import InputError

# Bytes of one number in a safetensors file.
_SIZES = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2, "I16": 2, "F8_E4M3": 1, "F8_E5M2": 1}
_HALF = {"F16": "float16", "BF16": "bfloat16"}
# Models with more numbers than this stay in the half precision that they are stored in; others run in float32.
HALF_FROM = 1_500_000_000
# What running takes on top of the weights: activations, keys and values, the processor's pixels.
_OVERHEAD = 1.2


class LoadPlan(NamedTuple):
    """How a model is loaded: the name of torch's type for its weights, and the bytes that it takes in memory."""

    dtype: str
    bytes: int


def plan(counts: dict[str, int]) -> LoadPlan:
    """The type and the memory for weights of `counts` numbers per safetensors type.

    >>> plan({"F32": 100})
    LoadPlan(dtype='float32', bytes=480)
    >>> plan({"F16": 7_000_000_000}).dtype
    'float16'
    """
    total = sum(counts.values())
    main = max(counts, key=lambda kind: counts[kind], default="F32")
    dtype = _HALF.get(main, "float32") if total > HALF_FROM else "float32"
    return LoadPlan(dtype, int(total * (4 if dtype == "float32" else 2) * _OVERHEAD))


def weight_bytes(folder: Path) -> dict[str, int]:
    """How many numbers of each type the safetensors files of a folder hold; their headers alone are read."""
    counts: dict[str, int] = {}
    for path in sorted(folder.glob("model*.safetensors")):
        try:
            for kind, size in _tensors(path):
                counts[kind] = counts.get(kind, 0) + size // _SIZES.get(kind, 1)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path} cannot be read ({error}); fetch the model again.") from None
    return counts


def _tensors(path: Path) -> Iterator[tuple[str, int]]:
    """Type and bytes of every tensor in a safetensors file."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > path.stat().st_size:
            raise ValueError("its header is longer than the file")
        header = json.loads(file.read(length))
    for name, tensor in header.items():
        if name != "__metadata__":
            start, stop = tensor["data_offsets"]
            yield tensor["dtype"], stop - start


def weights_on_hub(name: str) -> dict[str, int] | None:
    """The same for a hub model, without fetching it; None where the hub cannot tell."""
    from huggingface_hub import HfApi

    try:
        known = HfApi().model_info(name, timeout=HUB_TIMEOUT, expand=["safetensors"]).safetensors
    except Exception:  # offline, unknown or gated: `locate` says which, in its own sentence
        return None
    return dict(known.parameters) if known else None


def free_bytes(device: str) -> int:
    """Free memory where a model would run: of the GPU for `cuda...` and for `auto` with a GPU, else of the machine."""
    if device == "auto" or device.startswith("cuda"):
        import torch

        if torch.cuda.is_available():
            return torch.cuda.mem_get_info(None if device == "auto" else torch.device(device))[0]
    return psutil.virtual_memory().available


def check_free_memory(name: str, need: LoadPlan, free: int) -> None:
    """Raise InputError where a model of this plan does not fit into `free` bytes."""
    if need.bytes > free:
        raise InputError(
            f"The model {name} needs about {need.bytes / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB are free here; "
            "choose a smaller model or a machine with more memory."
        )


def fits_in_memory(name: str, device: str) -> None:
    """Check a hub model's memory before it is fetched; what is on this disk already is checked as it is loaded.

    Raises InputError with the memory that it would need. Says nothing where the hub cannot be asked.
    """
    if name.startswith("builtin/") or Path(name).expanduser().exists() or _cached(name):
        return
    counts = weights_on_hub(name)
    if counts:
        check_free_memory(name, plan(counts), free_bytes(device))


def _cached(name: str) -> bool:
    from huggingface_hub import errors, try_to_load_from_cache

    try:
        return any(
            isinstance(try_to_load_from_cache(name, file), str)
            for file in ("model.safetensors", "model.safetensors.index.json")
        )
    except errors.HFValidationError:  # no possible hub name: `locate` says so
        return True


# Seconds to wait for the hub's first answer: a firewall that swallows packets must not look like a hang.
HUB_TIMEOUT = 5
