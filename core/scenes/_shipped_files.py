"""The shipped files: JSON lines in a gzip, with a header that says what follows."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from core.base import paths
from core.base.errors import InputError

FORMAT = 1
# The splits that lie in assets/; a training split is drawn when it is needed.
SHIPPED = ("validation", "test")
_REMEDY = "restore the file with git, or install Crossmatch again."


def asset_path(name: str, split: str) -> Path:
    """Where a shipped split lies: assets/scenes/<name>/<split>.jsonl.gz."""
    return paths.assets() / "scenes" / name.removeprefix("scenes/") / f"{split}.jsonl.gz"


def read_rows(path: Path, name: str, split: str) -> list[dict[str, Any]]:
    """The rows of a file, after checking its header."""
    try:
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        header, *rows = [json.loads(line) for line in lines]
        if header != {"format": FORMAT, "name": name, "split": split, "rows": len(rows)}:
            raise ValueError(f"its header does not announce {len(rows)} rows of {name} {split}")
    except FileNotFoundError:
        raise InputError(f"The shipped groups {path} are missing; {_REMEDY}") from None
    except (OSError, EOFError, ValueError, TypeError, zlib.error) as error:
        raise damaged(path, error) from None
    return rows


def damaged(path: Path, error: Exception) -> InputError:
    """The error for a shipped file that does not hold what it should."""
    return InputError(f"The shipped groups {path} are damaged ({error}); {_REMEDY}")
