"""What every score file has in common: its content, and bytes from a path or an upload."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from core.errors import InputError


@dataclass(frozen=True)
class ScoreFile:
    """What a score file holds.

    scores : float32 or float64 (n, m, k), finite. truth : int64 (n, m), or None where the file has none.
    ids : n distinct names. tags : one row per group, text; or None.
    """

    scores: np.ndarray
    truth: np.ndarray | None
    ids: list[str]
    tags: pd.DataFrame | None = None


def read_bytes(path: Path | str, data: bytes | None = None) -> bytes:
    """A file's bytes; InputError where it cannot be read or is empty."""
    try:
        content = Path(path).read_bytes() if data is None else data
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the path.") from None
    if not content.strip():
        raise InputError(f"{path} is empty; choose another file.")
    return content
