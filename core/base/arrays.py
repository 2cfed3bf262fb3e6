"""One text for numpy arrays and torch tensors, on a CPU or a GPU: the array API. Imports no torch itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj

# A numpy array or a torch tensor; what comes out is of the library and on the device of what went in.
Array = Any


def as_array(values: Any) -> Array:
    """An array as it is, of a tensor its numbers alone; anything else, such as a list, as a numpy array."""
    if not is_array_api_obj(values):
        return np.asarray(values)
    return values.detach() if hasattr(values, "detach") else values


def like(values: Any, array: Array) -> Array:
    """Any array in the library and on the device of another one, its type kept; the same one where it is so already."""
    xp = array_namespace(array)
    if xp is array_namespace(np.empty(0)):
        return to_numpy(values)
    return xp.asarray(as_array(values), device=device(array))


def to_numpy(array: Any) -> np.ndarray:
    """Any array in numpy; the same memory where it lies in that of the CPU."""
    return np.asarray(array.detach().cpu() if hasattr(array, "detach") else array)


def _divisor(number: int, array: Array) -> Array:
    """A whole number to divide float64 by, rounded as numpy does: a GPU would multiply by its reciprocal, and 3 / 5
    would be 0.6000000000000001.
    """
    return like(np.array(float(number)), array)


def as_float64(array: Array) -> Array:
    """The same numbers in float64; the same array where they are."""
    xp = array_namespace(array)
    return xp.astype(array, xp.float64, copy=False)
