"""The same scorer in half precision or compiled: `bfloat16:NAME`, `float16:NAME`, `compiled:NAME`. Imports no torch.

What ranks stays in float32: cosines and their scale, the last layer of a matching head or language model, softmaxes.
Scores still differ in their last digits, so each way has a key of its own, and the cache keeps them apart.
How far rankings agree is measured in `python -m benchmarks precision`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from copy import copy, deepcopy
from typing import Any

from core.base.errors import InputError

HALF_PRECISIONS = ("bfloat16", "float16")
INFERENCE_MODES = (*HALF_PRECISIONS, "compiled")


def split_prefix(name: str) -> tuple[tuple[str, ...], str]:
    """The ways that a name begins with, and the scorer's own name.

    >>> split_prefix("compiled:bfloat16:itc:builtin/blip-itm")
    (('compiled', 'bfloat16'), 'itc:builtin/blip-itm')
    """
    ways: list[str] = []
    while (way := name.partition(":"))[1] and way[0] in INFERENCE_MODES:
        ways.append(way[0])
        name = way[2]
    if len(set(ways)) < len(ways) or set(HALF_PRECISIONS) <= set(ways):
        raise InputError(
            f"The name {':'.join([*ways, name])!r} asks for one thing twice; write at most one precision and "
            f"one compiled before {name}."
        )
    return tuple(ways), name


def key_of(key: str, ways: tuple[str, ...]) -> str:
    """The key of a scorer that is run in these ways, from its own key (hex)."""
    return hashlib.sha256(f"{' '.join(sorted(ways))} {key}".encode()).hexdigest() if ways else key


def converted_copy(scorer: Any, ways: tuple[str, ...], name: str) -> Any:
    """A twin of a scorer that runs in these ways, made once and kept with it.

    Raises InputError for a scorer that has no such way, and where this machine cannot run it.
    """
    owner, kept = scorer.__dict__.get("_twins", (None, {}))
    if owner is not scorer:  # a copy of one that has twins: its own weights may change
        kept = {}
        scorer._twins = (scorer, kept)
    if ways not in kept:
        kept[ways] = _converted(scorer, ways, name)
    return kept[ways]


def _converted(scorer: Any, ways: tuple[str, ...], name: str) -> Any:
    from core.scorers.contrastive import ContrastiveModel  # torch
    from core.scorers.pairwise import PairScorer  # torch

    if isinstance(scorer, ContrastiveModel):
        _check_device(scorer.device.type, ways)
        return _towers(scorer, ways, name)
    if not isinstance(scorer, PairScorer):
        raise InputError(f"{scorer.name} has no precision to choose; leave {ways[0]}: out of its name.")
    if "compiled" in ways:
        raise InputError(
            f"Only two-tower models can be compiled, and {scorer.name} is none; leave compiled: out of its name."
        )
    _check_device(scorer.device.type, ways)
    return _pairs(scorer, ways, name)


def _towers(scorer: Any, ways: tuple[str, ...], name: str) -> Any:
    """A two-tower model with the same weights, cast as they are used."""
    twin = copy(scorer)
    twin.name = name
    twin._key = lambda: key_of(scorer.key, ways)
    twin.precision = next((way for way in ways if way in HALF_PRECISIONS), "float32")
    if "compiled" in ways:
        import torch

        # Captions come in many lengths, and each would be compiled by itself; images all look the same.
        twin._embed_images = torch.compile(scorer._embed_images, dynamic=True)
    return twin


def _pairs(scorer: Any, ways: tuple[str, ...], name: str) -> Any:
    """A model that reads pairs with weights of its own in half precision."""
    from core.scorers.pairwise import ModelParts  # torch

    half = _halved(scorer.module, ways[0])
    twin = type(scorer)(
        ModelParts(name, half, scorer.processor, scorer.device, lambda: key_of(scorer.key, ways))
    )
    if hasattr(scorer, "log"):  # VQAScore or its logarithm
        twin.log = scorer.log
    return twin


def _halved(module: Any, precision: str) -> Any:
    """A copy of a module with half-precision weights, its last layers in float32."""
    import torch

    from core.scorers.pairwise import exact_heads  # torch

    own = deepcopy(module).to(getattr(torch, precision))
    exact_heads(own)
    return own


def _check_device(device: str, ways: tuple[str, ...]) -> None:
    if "float16" in ways and device == "cpu":
        raise InputError("float16 is slower than float32 on a CPU; use bfloat16, or a GPU.")
    compiler = os.environ.get("CXX") or next(filter(shutil.which, ("g++", "clang++", "cl")), None)
    if "compiled" in ways and device == "cpu" and compiler is None:
        raise InputError("Compiling needs a C++ compiler and this machine has none; leave compiled: out.")
