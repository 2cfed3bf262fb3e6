"""The files of the built-in sets: every group and query of a shipped split, into assets/scenes.

    python -m benchmarks.results.shipped_scenes

Equal bytes as long as sampler and templates are unchanged.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from core.base.paths import assets
from core.groups import Group
from core.scenes._shipped_files import FORMAT, SHIPPED
from core.scenes.render import SceneImage
from core.scenes.retrieval import NAME as RETRIEVAL
from core.scenes.retrieval import build_retrieval
from core.scenes.sets import FLAT, GLOBAL_SUFFIX, SETS, _draw_groups, _independent


def write_assets(folder: Path | None = None) -> list[Path]:
    """Write all shipped files anew, into `folder` instead of assets/scenes/ if one is given."""
    root = folder or assets() / "scenes"
    return [
        write_rows(root / name.removeprefix("scenes/") / f"{file}.jsonl.gz", title, split, rows)
        for split in SHIPPED
        for name, file, title, rows in _shipped_files(split)
    ]


def _shipped_files(split: str) -> Iterator[tuple[str, str, str, Iterable[dict[str, Any]]]]:
    """Set, file without its ending, name in the header, and rows of every shipped file of a split."""
    yield RETRIEVAL, split, RETRIEVAL, _query_rows(split)
    for name in SETS:
        drafts, groups = zip(*_draw_groups(name, split), strict=True)
        yield name, split, name, map(_to_row, groups)
        if name + GLOBAL_SUFFIX in FLAT:
            rows = ({"id": groups[i].id} for i in _independent(drafts))
            yield name, f"global-{split}", name + GLOBAL_SUFFIX, rows


def write_rows(path: Path, name: str, split: str, rows: Iterable[dict[str, Any]]) -> Path:
    """A header, then one row a line; returns `path`. No time stamp, so equal content is equal bytes."""
    body = list(rows)
    header = {"format": FORMAT, "name": name, "split": split, "rows": len(body)}
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in [header, *body])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
    return path


def _query_rows(split: str) -> list[dict[str, Any]]:
    """As plain data: what the queries ask, how they say it, then one scene a row."""
    found = build_retrieval(split)
    phrases = [[value for _, value in phrase.attributes()] for phrase in found.phrases]
    scenes = (image.scene.to_dict() for image in found.images)
    return [{"phrases": phrases}, {"queries": list(found.queries)}, *scenes]


def _to_row(group: Group) -> dict[str, Any]:
    """A group of scenes as plain data."""
    return {
        "id": group.id,
        "scenes": [image.scene.to_dict() for image in group.images if isinstance(image, SceneImage)],
        "captions": list(group.captions),
        "truth": list(group.truth or ()),
        "tags": dict(group.tags),
    }


if __name__ == "__main__":
    for written in write_assets():
        print(written)
