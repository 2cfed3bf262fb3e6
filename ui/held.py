"""What an object holds in memory, about: of long lists some entries are asked, and what is shared counts once."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

import numpy as np
import pandas as pd

_ASKED = 100  # entries of a long list
_ATOMS = (int, float, complex, bool, str, bytes, type(None), type, ModuleType)


def held_bytes(value: Any) -> int:
    """Bytes of an object and of all that it leads to: arrays, tables and texts to the byte, the rest about."""
    return int(_held(value, set()))


def _held(value: Any, seen: set[int]) -> float:
    if id(value) in seen:
        return 0
    seen.add(id(value))
    size = sys.getsizeof(value, 64)
    if isinstance(value, _ATOMS):
        return size if isinstance(value, str | bytes) else 32
    if isinstance(value, np.ndarray):
        return value.nbytes + (_of_many(value.ravel().tolist(), seen) if value.dtype == object else 0)
    if isinstance(value, pd.DataFrame):
        return _held(value.index, seen) + sum(
            _of_column(value.iloc[:, i], seen) for i in range(value.shape[1])
        )
    if isinstance(value, pd.Series):
        return _held(value.index, seen) + _of_column(value, seen)
    if isinstance(value, pd.Index):
        return _of_column(value, seen)
    if isinstance(value, dict | MappingProxyType):  # one of another kind holds what its fields hold
        entries = list(value.items())
        return size + _of_many([k for k, _ in entries], seen) + _of_many([v for _, v in entries], seen)
    if isinstance(value, list | tuple | set | frozenset):
        return size + _of_many(list(value), seen)
    return size + sum(_held(each, seen) for each in _parts(value))


def _of_column(column: pd.Series | pd.Index, seen: set[int]) -> float:
    """Of a table's column without its index; Arrow's texts are among its bytes."""
    found = float(column.array.nbytes)
    return found + _of_many(column.tolist(), seen) if column.dtype == object else found


def _of_many(values: list[Any], seen: set[int]) -> float:
    """Of texts all, of anything else what some of them say."""
    if len(values) <= _ASKED:
        return sum(_held(each, seen) for each in values)
    if all(isinstance(each, str) for each in values):
        texts = {id(each): each for each in values if id(each) not in seen}
        seen.update(texts)
        return float(sum(map(sys.getsizeof, texts.values())))
    first = _held(values[0], seen)  # with what all share
    step = (len(values) - 1) / _ASKED
    return first + step * sum(_held(values[1 + int(i * step)], seen) for i in range(_ASKED))


def _parts(value: Any) -> Iterable[Any]:
    """What an object refers to by its fields; of a function what it closes over."""
    if isinstance(value, MethodType):
        return [value.__self__]
    if isinstance(value, FunctionType):
        return [cell.cell_contents for cell in value.__closure__ or ()]
    slots = (name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ()))
    found = [getattr(value, name, None) for name in slots if not name.startswith("__")]
    return [*found, *list(getattr(value, "__dict__", {}).values())]
