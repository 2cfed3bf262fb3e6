"""What a built-in model is, in one sentence: their names are those of well-known models, which they are not."""

from __future__ import annotations

import re

_NAMED = re.compile(r"(?:^|:)(builtin/([\w/-]+))")  # what loads it, behind a prefix of its scores
# What the name begins with -> whose kind it is of, and which model it is taken for.
_KINDS = {
    "clip": ("CLIP", "OpenAI's CLIP"),
    "siglip": ("SigLIP", "Google's SigLIP"),
    "blip": ("BLIP", "Salesforce's BLIP"),
    "cola": ("CLIP", "OpenAI's CLIP"),
}
SMALL_MODELS = "Built-in models are small ones, trained here on rendered scenes only; none is OpenAI's CLIP."


def built_in_said(model: str) -> str:
    """What a model that ships with Crossmatch is; "" for any other.

    >>> built_in_said("builtin/clip")
    "builtin/clip is a small model of CLIP's kind, trained here on rendered scenes only; it is not OpenAI's CLIP."
    >>> built_in_said("openai/clip-vit-base-patch32")
    ''
    """
    found = _NAMED.search(model)
    if found is None:
        return ""
    name = found[2]
    kind = next((of for start, of in _KINDS.items() if name.startswith(start)), None)
    trained = "trained here on rendered scenes only"
    if kind is None:  # it sees no image
        return f"{found[1]} is a small language model, trained here on the captions of rendered scenes only."
    return f"{found[1]} is a small model of {kind[0]}'s kind, {trained}; it is not {kind[1]}."
