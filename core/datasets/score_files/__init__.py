"""Score files in and out: CSV and Parquet in long form, NPZ, JSONL; and tables of tags.

| format | content |
| --- | --- |
| .csv, .parquet | one row per cell: `group`, `image`, `caption`, `score`; optional `match`; further columns are tags |
| .npz | `scores` (n, m, k); optional `truth` (n, m), `ids` (n,), and one text array (n,) `tag_NAME` per tag |
| .jsonl | one object per group: `c0_i0`, `c1_i0`, ... (caption, image), optional `id` and `truth`; others are tags |

In the long form, images and captions are numbered where a group's labels are 0, 1, ... or 1, 2, ..., and otherwise
counted as they first appear in the group. `match` is 1 (or true, yes) where the caption belongs to the image and 0
elsewhere, exactly one 1 per image. A column counts as a tag if it has one value per group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from core.base.errors import InputError
from core.base.files import storage_errors, write_bytes
from core.base.lazy import pandas as pd
from core.datasets.score_files import jsonl, long_format, npz
from core.datasets.score_files.common import ScoreFile, parquet_frame, read_bytes
from core.datasets.score_files.long_format import read_tags
from core.datasets.score_files.npz import load_npz
from core.groups import check_truth
from core.matching.groups import check_scores

__all__ = ["ScoreFile", "load_npz", "parquet_frame", "read_bytes", "read_scores", "read_tags", "write_scores"]

# Ending -> reader of (path, bytes), writer to bytes
_FORMATS: dict[str, tuple[Callable[[Path | str, bytes], ScoreFile], Callable[[ScoreFile], bytes]]] = {
    ".csv": (long_format.read_csv, long_format.write_csv),
    ".parquet": (long_format.read_parquet, long_format.write_parquet),
    ".npz": (npz.read, npz.write),
    ".jsonl": (jsonl.read, jsonl.write),
}


def read_scores(path: Path | str, data: bytes | None = None) -> ScoreFile:
    """Scores of groups from a file in one of the formats above; its name's ending decides which.

    `data` : the file's bytes, where it is an upload. Raises InputError, in one sentence, for anything wrong in it.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _FORMATS:
        raise InputError(f"{path} is not a score file; its name must end in {', '.join(_FORMATS)}.")
    found = _FORMATS[suffix][0](path, read_bytes(path, data))
    repeated = pd.Index(found.ids)[pd.Index(found.ids).duplicated()]
    if len(repeated):
        raise InputError(f"{path} has several groups with id {repeated[0]!r}; make ids distinct.")
    try:
        scores = check_scores(found.scores, found.ids)
        n, m, k = scores.shape
        truth = None if found.truth is None else check_truth(found.truth, n, m, k, ids=found.ids)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return ScoreFile(scores, truth, found.ids, found.tags)


def write_scores(
    path: Path | str,
    scores: np.ndarray,
    ids: Sequence[str] | None = None,
    truth: np.ndarray | None = None,
    tags: pd.DataFrame | None = None,
) -> None:
    """Write scores (n, m, k) so that `read_scores` gives back the same numbers; see there for the formats."""
    suffix = Path(path).suffix.lower()
    if suffix not in _FORMATS:
        raise InputError(f"Scores cannot be written to {path}; its name must end in {', '.join(_FORMATS)}.")
    array = check_scores(scores)
    names = [str(i) for i in range(len(array))] if ids is None else [str(name) for name in ids]
    assert len(names) == len(array) and (tags is None or len(tags) == len(array))
    file = ScoreFile(array, truth, names, None if tags is None else tags.astype(str))
    with storage_errors(Path(path)):
        write_bytes(Path(path), _FORMATS[suffix][1](file))
