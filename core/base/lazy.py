"""pandas, loaded where it is first used: a command's help and a page without tables do not wait for it.

Import it from here, `from core.base.lazy import pandas as pd`. scipy needs no such help: `import scipy` is quick, and
its parts load themselves.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
else:

    class _LazyModule(ModuleType):
        """Stands for a library until it is asked for one of its names."""

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self.__name__), name)

    pandas = _LazyModule("pandas")

__all__ = ["pandas"]
