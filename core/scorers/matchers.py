"""BLIP's, BLIP-2's and FLAVA's models with a matching head: which class scores which kind (METHODS 4)."""

from __future__ import annotations

from pathlib import Path

from core.base.errors import InputError
from core.scorers.blip import BlipTowers, TrainableMatcher
from core.scorers.flava import FlavaModel
from core.scorers.hub import read_json
from core.scorers.matching_head import Blip2Matcher, BlipMatcher, ContrastiveHead, FlavaMatcher, Matcher
from core.scorers.pairwise import load_parts

# Model type -> its matching head, and the class of transformers that has both.
_CLASSES: dict[str, tuple[type[Matcher], str]] = {
    "blip": (BlipMatcher, "BlipForImageTextRetrieval"),
    "blip-2": (Blip2Matcher, "Blip2ForImageTextRetrieval"),
    "flava": (FlavaMatcher, "FlavaForPreTraining"),
}


def load_matcher(
    name: str, folder: Path, device: str = "auto", kind: str = "itm"
) -> Matcher | BlipTowers | FlavaModel:
    """ITM (`kind` "itm") or ITC ("itc") of the BLIP, BLIP-2 or FLAVA model in a folder.

    Raises InputError where the model has no matching head, does not fit into memory or does not load.
    """
    config = read_json(folder / "config.json")
    model = str(config.get("model_type", ""))
    if model not in _CLASSES:
        raise InputError(
            f"The model in {folder} is of type {model!r} without a matching head; choose a BLIP, BLIP-2 or FLAVA one."
        )
    made, auto = _CLASSES[model]
    if model == "flava" and "FlavaModel" in (config.get("architectures") or ()):
        auto = "FlavaModel"
        if kind == "itm":
            raise InputError(f"The FLAVA model in {folder} has no matching head; use itc:{name} instead.")
    parts = load_parts(name, folder, device, kind, auto)
    if model == "blip":  # the ones that can be adapted
        return BlipTowers(parts) if kind == "itc" else TrainableMatcher(parts)
    if (model, kind) == ("flava", "itc"):
        return FlavaModel(parts, parts.key)
    return (ContrastiveHead if kind == "itc" else made)(parts)
