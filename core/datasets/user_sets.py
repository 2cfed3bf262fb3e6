"""The user's own sets, `mine/NAME`: brought in by `core.exchange.importing`, kept in the user's folder, read like any
other.

Layout: `mine/NAME/groups.jsonl`, a line per group `{"id", "images", "captions", "truth", "tags"}`, its images in
`mine/NAME/images`, and `set.json` with title, licence, citation and the number of groups of each shape. A set of
several shapes is a benchmark for each: `mine/NAME/2x2`, `mine/NAME/1x4`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from core.base import files
from core.base.errors import InputError, unknown_name
from core.base.paths import home
from core.datasets._file_reading import DatasetFolder, expecting
from core.datasets.base import GROUPS
from core.groups import FileImage, Group, GroupSet

GROUPS_FILE, FACTS_FILE, IMAGES = "groups.jsonl", "set.json", "images"
_FACTS = ("title", "description", "source", "licence", "citation")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def root() -> Path:
    """Where the user's sets are."""
    return home() / "mine"


def sets() -> list[str]:
    """Names of the sets, without `mine/`."""
    try:
        names = sorted(entry.name for entry in os.scandir(root()) if _NAME.fullmatch(entry.name))
    except OSError:  # nobody brought anything yet
        return []
    return [name for name in names if (root() / name / FACTS_FILE).is_file()]


def read_folder(folder: Path, name: str, shape: str = "", most: int | None = None) -> GroupSet:
    """Groups from a folder in this layout; of one shape, and at most so many, if wanted."""
    path = DatasetFolder(folder).require(GROUPS_FILE)
    with expecting(path, "a list of groups"), open(path, encoding="utf-8") as file:
        rows = (json.loads(line) for line in file if line.strip())
        groups = tuple(islice((g for g in (_group(row, folder) for row in rows) if _fits(g, shape)), most))
    facts = _read_facts(folder)
    return GroupSet(name, groups, **{key: str(facts.get(key, "")) for key in _FACTS})


def checked_name(name: str) -> str:
    """A name for a new set: lower case letters, digits, dot, dash and underscore, and not taken."""
    short = name.strip().removeprefix("mine/")
    if not short:
        raise InputError("The set has no name yet; give it one, such as 'kitchen-pairs'.")
    if not _NAME.fullmatch(short):
        raise InputError(
            f"{name!r} is not a valid name for a set; use up to 64 lower-case letters, digits, dots, dashes and "
            "underscores, such as 'kitchen-pairs'."
        )
    if (root() / short).exists():
        raise InputError(f"A set mine/{short} exists already; choose another name, or remove that one first.")
    return short


def install_set(staged: Path, name: str, shapes: Mapping[str, int], facts: Mapping[str, str]) -> list[str]:
    """Give a staged folder its name; returns the names of its benchmarks."""
    unknown = next((key for key in facts if key not in _FACTS), None)
    assert unknown is None, unknown
    record = {key: facts.get(key, "") for key in _FACTS} | {"name": name, "shapes": dict(shapes)}
    with files.storage_errors(root() / name):
        files.write_json(staged / FACTS_FILE, record)
        files.sync_tree(staged)
        try:
            os.rename(staged, root() / name)  # fails where somebody took the name a moment ago
        except OSError:
            checked_name(name)
            raise
    return _benchmarks(name, record)


def remove(name: str) -> None:
    """Delete one of the user's sets and its images."""
    set_name = _split(name)[0]
    if set_name not in sets():
        raise unknown_name("set", name, [f"mine/{each}" for each in sets()])
    with files.storage_errors(root() / set_name):
        files.remove(root() / set_name)


def size(name: str) -> int:
    """Bytes that a set takes on disk."""
    return sum(p.stat().st_size for p in (root() / _split(name)[0]).rglob("*") if p.is_file())


class _UserSets:
    """What the registry of benchmarks asks of them."""

    def names(self, kind: str = GROUPS) -> list[str]:
        """`mine/NAME` for every set, or one name for each of its shapes."""
        return [name for each in sets() for name in _benchmarks(each, _facts(each))] if kind == GROUPS else []

    def state(self, name: str) -> str:
        """Where it lies."""
        return f"found at {root() / _split(name)[0]}"

    def load(
        self,
        name: str,
        split: str | None,
        folder: Path | None = None,
        images: bool = True,
        partial: bool = False,
    ) -> GroupSet:
        """A set's groups; it has the split test alone. Its number of groups is checked."""
        if split not in (None, "test"):
            raise unknown_name("split", split, ("test",))
        set_name, shape = _split(name)
        path = Path(folder).expanduser() if folder is not None else root() / set_name
        facts = _facts(set_name) if folder is None else {}
        groups = read_folder(path, name, shape=shape)
        expected = facts.get("shapes", {}).get(shape) if shape else sum(facts.get("shapes", {}).values())
        if expected and len(groups) != expected and not partial:
            raise InputError(
                f"{path} holds {len(groups)} groups and should hold {expected}; remove the set {set_name!r} and add "
                "it again."
            )
        return groups


SETS = _UserSets()


def _benchmarks(name: str, facts: Mapping[str, Any]) -> list[str]:
    shapes = list(facts.get("shapes", {}))
    return [f"mine/{name}"] if len(shapes) < 2 else [f"mine/{name}/{shape}" for shape in sorted(shapes)]


def _split(name: str) -> tuple[str, str]:
    """The set's own name and the shape, of `mine/NAME/SHAPE`."""
    set_name, _, shape = name.removeprefix("mine/").partition("/")
    if not _NAME.fullmatch(set_name):
        raise unknown_name("set", name, [f"mine/{each}" for each in sets()])
    return set_name, shape


def _facts(name: str) -> dict[str, Any]:
    return _read_facts(root() / name)


def _read_facts(folder: Path) -> dict[str, Any]:
    """What `set.json` says; nothing where it is missing or damaged: the groups are what counts."""
    try:
        facts = json.loads((folder / FACTS_FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    shapes = facts.get("shapes") if isinstance(facts, dict) else None
    return facts if isinstance(shapes, dict) and all(isinstance(n, int) for n in shapes.values()) else {}


def _group(row: Mapping[str, Any], folder: Path) -> Group:
    captions, tags = tuple(row["captions"]), {str(k): str(v) for k, v in dict(row.get("tags") or {}).items()}
    pictures = tuple(FileImage(folder / IMAGES / _plain(name)) for name in row["images"])
    return Group(str(row["id"]), pictures, captions, tuple(int(j) for j in row["truth"]), tags)


def _plain(name: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{32}\.[a-z]{3,4}", name):
        raise ValueError(f"{name!r} is not an image of a set")
    return name


def _fits(group: Group, shape: str) -> bool:
    return not shape or "x".join(map(str, group.shape)) == shape
