"""Results by the name of a metric, however it is spelt."""

from __future__ import annotations

from typing import TypeVar

from core.base.errors import InputError, unknown_name

_T = TypeVar("_T")


class _UnknownMetric(InputError, KeyError):
    """A KeyError too, for whoever catches that; its text is the sentence."""

    __str__ = ValueError.__str__


class ByName(dict[str, _T]):
    """A dict whose names may be asked for as they are printed: `GroupMatch`, `group-match`, `groupmatch`.

    Only asking with brackets forgives; the names that it holds are the exact ones.
    """

    def __missing__(self, name: object) -> _T:
        wanted = _bare(str(name))
        for known in self:
            if _bare(known) == wanted:
                return self[known]
        raise _UnknownMetric(str(unknown_name("metric", str(name), self)))


def _bare(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())
