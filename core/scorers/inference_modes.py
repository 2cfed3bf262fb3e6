"""The same scorer in half precision or compiled: `bfloat16:NAME`, `float16:NAME`, `compiled:NAME`. Imports no torch.

What ranks stays in float32: cosines and their scale, the last layer of a matching head or language model, softmaxes.
Scores still differ in their last digits, so each mode has a key of its own, and the cache keeps them apart.
How far rankings agree is measured in `python -m benchmarks precision`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from copy import copy, deepcopy
from typing import Any

from core.base.errors import InputError

_HALF_PRECISIONS = ("bfloat16", "float16")
_MODES = (*_HALF_PRECISIONS, "compiled")


def split_prefix(name: str) -> tuple[tuple[str, ...], str]:
    """The modes that a name begins with, and the scorer's own name.

    >>> split_prefix("compiled:bfloat16:itc:builtin/blip-itm")
    (('compiled', 'bfloat16'), 'itc:builtin/blip-itm')
    """
    modes: list[str] = []
    while (mode := name.partition(":"))[1] and mode[0] in _MODES:
        modes.append(mode[0])
        name = mode[2]
    if len(set(modes)) < len(modes) or set(_HALF_PRECISIONS) <= set(modes):
        raise InputError(
            f"The name {':'.join([*modes, name])!r} asks for one thing twice; write at most one precision and "
            f"one compiled before {name}."
        )
    return tuple(modes), name


def key_of(key: str, modes: tuple[str, ...]) -> str:
    """The key of a scorer that is run in these modes, from its own key (hex)."""
    return hashlib.sha256(f"{' '.join(sorted(modes))} {key}".encode()).hexdigest() if modes else key


def converted_copy(scorer: Any, modes: tuple[str, ...], name: str) -> Any:
    """A twin of a scorer that runs in these modes, made once and cached with it.

    Raises InputError for a scorer that has no such mode, and where this machine cannot run it.
    """
    owner, twins = scorer.__dict__.get("_twins", (None, {}))
    if owner is not scorer:  # a copy of one that has twins: its own weights may change
        twins = {}
        scorer._twins = (scorer, twins)
    if modes not in twins:
        twins[modes] = _converted(scorer, modes, name)
    return twins[modes]


def _converted(scorer: Any, modes: tuple[str, ...], name: str) -> Any:
    from core.scorers._pairwise import PairScorer  # torch
    from core.scorers._pretrained import ModelParts  # torch
    from core.scorers.contrastive import ContrastiveModel  # torch

    has_towers = isinstance(scorer, ContrastiveModel)
    if not has_towers and not isinstance(scorer, PairScorer):
        raise InputError(f"{scorer.name} has no precision to choose; leave {modes[0]}: out of its name.")
    if "compiled" in modes and not has_towers:
        raise InputError(
            f"Only two-tower models can be compiled, and {scorer.name} is none; leave compiled: out of its name."
        )
    _check_device(scorer.device.type, modes)

    def key() -> str:
        return key_of(scorer.key, modes)

    if not has_towers:  # weights of its own in half precision
        half = _halved(scorer.module, modes[0])
        return type(scorer)(ModelParts(name, half, scorer.processor, scorer.device, key, scorer.kind))
    twin = copy(scorer)  # the same weights, cast as they are used
    twin.name, twin._key = name, key
    twin.precision = next((mode for mode in modes if mode in _HALF_PRECISIONS), "float32")
    if "compiled" in modes:
        import torch

        # Captions come in many lengths, and each would be compiled by itself; images all look the same.
        twin._embed_images = torch.compile(scorer._embed_images, dynamic=True)
    return twin


def _halved(module: Any, precision: str) -> Any:
    """A copy of a module with half-precision weights, its last layers in float32."""
    import torch

    from core.scorers._pretrained import keep_heads_exact  # torch

    copy = deepcopy(module).to(getattr(torch, precision))
    keep_heads_exact(copy)
    return copy


def _check_device(device: str, modes: tuple[str, ...]) -> None:
    if "float16" in modes and device == "cpu":
        raise InputError("float16 is slower than float32 on a CPU; use bfloat16, or a GPU.")
    compiler = os.environ.get("CXX") or next(filter(shutil.which, ("g++", "clang++", "cl")), None)
    if "compiled" in modes and device == "cpu" and compiler is None:
        raise InputError("Compiling needs a C++ compiler and this machine has none; leave compiled: out.")
