"""Where a model runs, and whether it fits there, before it is loaded or fetched. Imports torch when asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil

from core.base.errors import InputError

if TYPE_CHECKING:
    import torch

_HALF = {"F16": "float16", "BF16": "bfloat16"}
# Models with more numbers than this stay in the half precision that they are stored in; others run in float32.
_HALF_FROM = 1_500_000_000
# What running takes on top of the weights: activations, keys and values, the processor's pixels.
_OVERHEAD = 1.2


def pick_device(name: str = "auto") -> torch.device:
    """A device by name; `auto` takes cuda, then mps, then cpu. Raises InputError for one that is not here."""
    import torch

    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    if name == "auto":
        return torch.device("cuda" if cuda else "mps" if mps else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f"Unknown device {name!r}; use auto, cpu, cuda, cuda:1 or mps.") from None
    here = {"cpu": True, "cuda": cuda and (device.index or 0) < torch.cuda.device_count(), "mps": mps}
    if not here.get(device.type, False):
        raise InputError(f"This machine has no device {name!r}; use auto or cpu.")
    return device


def describe_device(device: torch.device) -> str:
    """A device for people: `CPU (2 threads)`, `NVIDIA H200`."""
    import torch

    if device.type == "cpu":
        count = torch.get_num_threads()
        return f"CPU ({count} thread{'s' if count > 1 else ''})"
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "Apple GPU"


def check_memory(name: str, counts: dict[str, int], device: str = "auto") -> str:
    """The type, by torch's name for it, that a model is loaded in, from the numbers of each type in its files.

    Raises InputError where the model does not fit into the free memory of the device (of the GPU for `auto` with one;
    for `any` of no device).

    >>> check_memory("tiny", {"F16": 100}), check_memory("none", {})
    ('float32', 'float32')
    """
    total = sum(counts.values())
    main = max(counts, key=lambda kind: counts[kind], default="F32")
    dtype = _HALF.get(main, "float32") if total > _HALF_FROM else "float32"
    need, free = int(total * (4 if dtype == "float32" else 2) * _OVERHEAD), _free_bytes(device)
    if need > free:
        raise InputError(
            f"The model {name} needs about {need / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB are free here; "
            "choose a smaller model or a machine with more memory."
        )
    return dtype


def _free_bytes(device: str) -> int:
    if device == "any":
        return max(_free_bytes("auto"), _free_bytes("cpu"))
    if device == "auto" or device.startswith("cuda"):
        import torch

        if torch.cuda.is_available():
            return torch.cuda.mem_get_info(None if device == "auto" else torch.device(device))[0]
    return psutil.virtual_memory().available
