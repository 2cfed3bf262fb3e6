"""Bring your own: groups from a folder, a zip or a Parquet data set, checked row by row, then a benchmark `mine/NAME`.

`stage_import` reads and checks everything into a folder aside, `preview` shows groups from it, `add_benchmark` gives
it its name. What is understood:

| manifest | one row is | columns |
| --- | --- | --- |
| wide | a group | `image_0`, `image_1`, ..., `caption_0`, `caption_1`, ...; or lists `images`, `captions` |
| long | an image with its caption | `group`, `image`, `caption`; without an image: a caption of none of them |

Both may be CSV, JSON lines or Parquet.

Optional: `id`, and `truth`, the caption of each image counted from 0 (`1 0`); without it image i belongs to caption i.
Every other column is a tag. Images are named by their place beside the manifest, or stored in the Parquet file.
Nothing that is read is ever run.
"""

from core.exchange.import_columns import ColumnMapping, guess_columns
from core.exchange.import_problems import Problem, problem_rows
from core.exchange.import_staging import (
    Staged,
    add_benchmark,
    check_addable,
    discard_staged,
    preview,
    stage_import,
)
from core.exchange.import_tables import ImportTable, open_table

__all__ = [
    "ColumnMapping",
    "ImportTable",
    "Problem",
    "Staged",
    "add_benchmark",
    "check_addable",
    "discard_staged",
    "guess_columns",
    "open_table",
    "preview",
    "problem_rows",
    "stage_import",
]
