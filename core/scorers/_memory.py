"""Running out of memory, the GPU's or the machine's: told from other errors, and told to the user. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from core.base.errors import InputError

SMALLER = "choose a smaller model, or put bfloat16: before its name"  # what to do where one does not fit


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error, or one that it was raised for, means that the GPU's or the machine's memory is used up."""
    import torch

    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    # The CPU's allocator and Apple's raise plain RuntimeErrors.
    if any(words in str(error) for words in ("DefaultCPUAllocator", "MPS backend out of memory")):
        return True
    return error.__context__ is not None and is_out_of_memory(error.__context__)


@contextmanager
def memory_errors(name: str) -> Iterator[None]:
    """Turn running out of memory inside into one sentence about the model of this name."""
    failed = False
    try:
        yield
    except Exception as error:
        if isinstance(error, InputError) or not is_out_of_memory(error):
            raise
        failed = True
    if failed:  # outside the handler: the error holds every tensor of the attempt
        raise InputError(f"{name} needs more memory than is free here; {SMALLER}.")
