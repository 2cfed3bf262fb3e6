"""How functions over groups become machine code: numba where it is installed (`crossmatch[fast]`), else as they are."""

from __future__ import annotations

from typing import Any

try:
    from numba import uint64 as unsigned
except ImportError:
    unsigned = int  # type: ignore[assignment,misc]


def jit(function: Any = None, **how: Any) -> Any:
    """Compiled when first called for a type of scores, and kept on disk where any folder for it can be written.

    how : what `numba.njit` takes besides. Nothing that changes results, such as fastmath, is asked for.
    """
    if function is None:
        return lambda function: jit(function, **how)
    try:
        from numba import njit
    except ImportError:
        return function
    how = {"nogil": True, "error_model": "numpy", **how}
    try:
        return njit(cache=True, **how)(function)
    except RuntimeError:  # no folder to keep it in: compiled anew by each process
        return njit(**how)(function)
