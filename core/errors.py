"""One sentence for bad input: what, where, what to do."""

from __future__ import annotations

from collections.abc import Iterable

from rapidfuzz import fuzz, process


class InputError(ValueError):
    """The user's file or argument is at fault; the message says what, where and what to do."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a name that is in no registry, with the nearest known one as a suggestion."""
    options = sorted(known)
    match = process.extractOne(name, options, scorer=fuzz.ratio, score_cutoff=60)
    some = ", ".join(options[:12]) + (" …" if len(options) > 12 else "")
    hint = f"did you mean {match[0]!r}?" if match else f"known: {some or 'none'}."
    return InputError(f"Unknown {kind} {name!r}; {hint}")
