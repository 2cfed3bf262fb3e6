"""Where things live: shipped assets (read only) and the user's data (runs, caches)."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import platformdirs

_PACKAGE = Path(__file__).resolve().parent.parent  # core/


@cache
def assets() -> Path:
    """The shipped models and groups: `assets/` in a checkout, beside this package's code in a wheel."""
    packaged = _PACKAGE / "assets"
    return packaged if packaged.is_dir() else _PACKAGE.parent / "assets"


def is_folder(name: str | Path) -> bool:
    """Whether what somebody typed names a folder; a text that no file system could hold does not."""
    try:
        return Path(name).is_dir()
    except (OSError, ValueError):  # too long, or not even text
        return False


def is_file(name: str | Path) -> bool:
    """As `is_folder`, of a file."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False


def home() -> Path:
    """The user's data folder: `$CROSSMATCH_HOME`, else the platform's usual place."""
    chosen = os.environ.get("CROSSMATCH_HOME")
    return Path(chosen) if chosen else Path(platformdirs.user_data_dir("crossmatch", appauthor=False))


def data_roots() -> list[Path]:
    """Folders that hold data sets, one folder each: `$CROSSMATCH_DATA`, then `data` in the user's own folder."""
    chosen = os.environ.get("CROSSMATCH_DATA")
    return [*([Path(chosen).expanduser()] if chosen else []), home() / "data"]
