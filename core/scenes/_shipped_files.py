"""The shipped files: JSON lines in a gzip, with a header that says what follows."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from core.base import paths
from core.base.errors import InputError

_FORMAT = 1
# The splits that lie in assets/; a training split is drawn when it is needed.
SHIPPED = ("validation", "test")
_REMEDY = "restore the file with git, or rebuild it with core.scenes.sets.write_assets()."


def asset_path(name: str, split: str, folder: Path | None = None) -> Path:
    """Where a shipped split lies: assets/scenes/<name>/<split>.jsonl.gz."""
    return (folder or paths.assets() / "scenes") / name.removeprefix("scenes/") / f"{split}.jsonl.gz"


def write_rows(path: Path, name: str, split: str, rows: Iterable[dict[str, Any]]) -> Path:
    """A header, then one row a line; returns `path`. No time stamp, so equal content is equal bytes."""
    body = list(rows)
    header = {"format": _FORMAT, "name": name, "split": split, "rows": len(body)}
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in [header, *body])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
    return path


def read_rows(path: Path, name: str, split: str) -> list[dict[str, Any]]:
    """The rows that `write_rows` wrote, after checking the header."""
    try:
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        header, *rows = [json.loads(line) for line in lines]
        if header != {"format": _FORMAT, "name": name, "split": split, "rows": len(rows)}:
            raise ValueError(f"its header does not announce {len(rows)} rows of {name} {split}")
    except FileNotFoundError:
        raise InputError(f"The shipped groups {path} are missing; {_REMEDY}") from None
    except (OSError, EOFError, ValueError, TypeError, zlib.error) as error:
        raise damaged(path, error) from None
    return rows


def damaged(path: Path, error: Exception) -> InputError:
    """The error for a shipped file that does not hold what it should."""
    return InputError(f"The shipped groups {path} are damaged ({error}); {_REMEDY}")
