"""CREPE: a region of a Visual Genome image, its caption, and hard negatives.

Layout: github.com/RAIVNLab/CREPE (crepe_eval_utils.py, crepe_compo_eval_open_clip.py), its folder `data`.
Productivity: `prod_hard_negatives/<atom|swap|negate>/prod_vg_hard_negs_<type>_complexity_<4..12>.csv`, negatives in
`hard_negs`. Systematicity: `syst_hard_negatives/syst_vg_hard_negs_<seen|unseen>_compounds_in_<cc12m|yfcc|laion>.csv`,
negatives in `valid_hard_negs_<atom|comp>`. Columns image_id, caption, x, y, width, height; the negatives are a Python
list in a cell.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from core.datasets._file_reading import DatasetFolder
from core.datasets.base import Benchmark
from core.groups import Group

_COMPLEXITIES = range(4, 13)
_IMAGES = "VG_100K | VG_100K_2 | visual-genome:VG_100K | visual-genome:VG_100K_2"
_COLUMNS = ("image_id", "caption", "x", "y", "width", "height")
_TRAINED_ON = {"cc12m": "CC-12M", "yfcc": "YFCC-15M", "laion": "LAION-400M"}


def _file(name: str) -> str:
    return f"{name} | data/{name} | crepe/{name}"


def _productivity(kind: str, complexity: int) -> str:
    return _file(f"prod_hard_negatives/{kind}/prod_vg_hard_negs_{kind}_complexity_{complexity}.csv")


def _systematicity(seen: str, trained_on: str) -> str:
    return _file(f"syst_hard_negatives/syst_vg_hard_negs_{seen}_compounds_in_{trained_on}.csv")


def _read_productivity(folder: DatasetFolder, split: str, *, kind: str) -> Iterator[Group]:
    """One image region, its caption first, five hard negatives; tag `complexity` (atoms in the caption)."""
    for complexity in _COMPLEXITIES:
        tags, where = {"complexity": str(complexity)}, _productivity(kind, complexity)
        yield from _groups(folder, where, "hard_negs", f"crepe-{kind}-{complexity}", tags)


def _read_systematicity(folder: DatasetFolder, split: str, *, kind: str, trained_on: str) -> Iterator[Group]:
    """One image region, its caption first, its hard negatives (several shapes); tag `compounds`."""
    for seen in ("seen", "unseen"):
        tags, where = {"compounds": seen}, _systematicity(seen, trained_on)
        yield from _groups(folder, where, f"valid_hard_negs_{kind}", f"crepe-{kind}-{seen}", tags)


def _groups(
    folder: DatasetFolder, where: str, column: str, prefix: str, tags: dict[str, str]
) -> Iterator[Group]:
    """A file's groups; a row without negatives asks nothing and is left out."""
    image = folder.images(_IMAGES)
    with folder.table(where, "a CREPE table", (*_COLUMNS, column)) as rows:
        for i, row in enumerate(rows):
            negatives = ast.literal_eval(row[column])  # text, numbers and lists alone: nothing is run
            if not isinstance(negatives, list) or not all(isinstance(n, str) for n in negatives):
                raise ValueError(f"row {i + 1} has no list of texts under {column!r}")
            x, y, width, height = (int(float(row[c])) for c in ("x", "y", "width", "height"))
            region = image(f"{int(row['image_id'])}.jpg", (x, y, x + width, y + height))
            if negatives:
                yield Group(f"{prefix}-{i}", (region,), (row["caption"], *negatives), (0,), tags)


_crepe = partial(
    Benchmark,
    source="https://github.com/RAIVNLab/CREPE",
    licence="none stated; images: Visual Genome, CC BY 4.0",
    citation="CREPE",
    metric="text_score",
)


def _atom(kind: str) -> Benchmark:
    return _crepe(
        name=f"crepe/{kind}",
        title=f"CREPE productivity: {kind}",
        read=partial(_read_productivity, kind=kind),
        layout=(*(_productivity(kind, c) for c in _COMPLEXITIES), _IMAGES),
        shape=(1, 6),
        note="Recall at 1 among the caption and five negatives, complexities 4 to 12 together; upstream publishes no "
        "count per file.",
        tags=("complexity",),
        reference=("CREPE", kind.capitalize()),
    )


def _compound(kind: str, trained_on: str) -> Benchmark:
    return _crepe(
        name=f"crepe/systematicity-{kind}-{trained_on}",
        title=f"CREPE systematicity: {kind}, for models trained on {_TRAINED_ON[trained_on]}",
        read=partial(_read_systematicity, kind=kind, trained_on=trained_on),
        layout=(*(_systematicity(seen, trained_on) for seen in ("seen", "unseen")), _IMAGES),
        note=f"Meant for models trained on {_TRAINED_ON[trained_on]} alone: seen and unseen refer to it. Groups have "
        "different numbers of captions; rows without negatives are left out; upstream publishes no count per file. "
        "None of the three papers reports it.",
        tags=("compounds",),
    )


BENCHMARKS = (
    *(_atom(kind) for kind in ("atom", "swap", "negate")),
    *(_compound(kind, data) for kind in ("atom", "comp") for data in _TRAINED_ON),
)
