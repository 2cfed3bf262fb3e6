"""What is measured on the built-in world beside a paper's own figure: lines in its columns, or a column of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from core.base.lazy import pandas as pd
from core.base.paths import assets
from core.metrics.groups import TEXT_SCORE
from core.metrics.retrieval import COLA_MAP
from core.papers._cola import LENGTHS
from core.scorers.cola_config import STRATEGIES

# Of Cola's first table, the longest training.
_WORLD_COLUMN = f"here, after {LENGTHS[-1]['epochs']} epochs unseen, Cola mAP"
_ARO, _STRATEGIES = "vgpt/1a", "cola/1"  # the tables whose figures have numbers of ours
# What our marks are, below those figures.
_OUR_NOTES = {
    _ARO: "“here”: built-in models, each in the row of the same kind of score, on the built-in set whose wrong "
    "captions are made as those of this column, as shipped; its chance level is its own.",
    _STRATEGIES: "“here”: the same strategies, trained from the built-in model clip-details for 64 epochs, as shipped; "
    "the paper has no Token map.",
}
# What the two claims of Table 1a of the paper on language priors are of: a model that sees no image, ITC, and the
# generative score.
_COMPARED = ("builtin/blind-lm", "itc:builtin/blip-itm", "builtin/blip-caption")
# Its rows -> what scores in the same way on the built-in world.
_ROWS = {
    "BLIP, blind VLM": "blind:builtin/blip-caption",
    "BLIP, ITC": "itc:builtin/blip-itm",
    "BLIP, ITM": "builtin/blip-itm",
    "BLIP, VisualGPTScore α=0": "builtin/blip-caption",
}
# The built-in set of one image a group whose wrong captions are made as those of a part of ARO: another relation,
# exchanged attributes, shuffled words.
_OF_ARO = {
    "VG-Relation": "relations-1x4",
    "VG-Attribution": "swap",
    "COCO-Order": "word-order",
    "Flickr30k-Order": "word-order",
}


class _TextScore(NamedTuple):
    """TextScore of all groups of a built-in set in percent, as shipped; images : of each group."""

    value: float
    low: float
    high: float
    chance: float
    images: int


@cache
def _text_scores() -> dict[tuple[str, str], _TextScore]:
    """By built-in set and model."""
    path = assets() / "results" / "builtin.csv"
    table = pd.read_csv(path) if path.is_file() else pd.DataFrame(columns=["metric", "part"])
    rows = table[(table["metric"] == TEXT_SCORE) & (table["part"] == "all")]
    names = _TextScore._fields[:-1]
    return {
        (str(row["benchmark"]), str(row["model"])): _TextScore(
            **{name: float(row[name]) for name in names}, images=int(str(row["shape"]).partition("x")[0])
        )
        for row in rows.to_dict("records")
    }


def _is_of_one_image(line: Mapping[str, Any]) -> bool:
    """Whether a line of the built-in world is of a set whose groups have one image, where all metrics are one."""
    name = line["line"].partition(",")[0]
    return any(of == name and found.images == 1 for (of, _), found in _text_scores().items())


def _compared_here() -> dict[str, tuple[_TextScore, ...]]:
    """Built-in set -> what the model that sees no image, ITC and the generative score reach there."""
    found = _text_scores()
    wanted = {
        name: [found.get((name, model)) for model in _COMPARED]
        for name in dict.fromkeys(name for name, _ in found)
    }
    return {name: tuple(e for e in of if e is not None) for name, of in wanted.items() if None not in of}


def _with_ours(record: Mapping[str, Any], world: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The record of a table whose figure has numbers of ours, with these. world : lines of the table of the built-in
    world that answers the same question."""
    return _with_scores(record) if record["table"] == _ARO else _with_strategies(record, world)


def _with_scores(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record of Table 1a with a column more beside each of its own: what the built-in models reach, each in the row
    of the same kind of score."""
    found = _text_scores()
    lines = []
    for line in record["lines"]:
        model = _ROWS.get(line["line"], "")
        ours = [
            _beside_aro(part, name, found[f"scenes/{name}", model])
            for part, name in _OF_ARO.items()
            if (f"scenes/{name}", model) in found
        ]
        lines.append({**line, "cells": [*line["cells"], *ours]})
    return {**record, "lines": lines}


def _beside_aro(part: str, name: str, estimate: _TextScore) -> dict[str, Any]:
    """A cell; its part is the heading of the column that it stands beside."""
    shipped = {"shipped": estimate.value, "chance": estimate.chance}
    head = f"here, {name} beside {part}"
    own = {"method": "", "metric": TEXT_SCORE, "head": head, "part": f"ARO {part} TextScore"}
    return {**_EMPTY, **own, **shipped}


_EMPTY = dict.fromkeys(("paper", "paper_std", "shipped", "shipped_std", "yours", "yours_std", "chance"))


def _with_strategies(record: Mapping[str, Any], world: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The record of Cola's first table with one column more: unseen combinations of the built-in world, in the row of
    the same strategy trained from CLIP, below them what has no such row.

    world : lines of the built-in world with the longest training.
    """
    rows = {s.label: s.row for s in STRATEGIES.values()} | {"before": "zero-shot"}
    measured = {
        str(cell["method"]): {**cell, "head": _WORLD_COLUMN, "yours": None, "yours_std": None}
        for line in world
        for cell in line["cells"]
        if (cell["metric"], cell["part"]) == (COLA_MAP, "unseen") and cell["shipped"] is not None
    }
    of_row = {f"CLIP, {rows[method]}": cell for method, cell in measured.items() if rows.get(method)}
    lines = [
        {**line, "cells": [*line["cells"], of_row[line["line"]]]} if line["line"] in of_row else line
        for line in record["lines"]
    ]
    known = {line["line"] for line in record["lines"]}
    others = [m for m in measured if f"CLIP, {rows.get(m)}" not in known]
    more = [{"line": f"here: {method}", "cells": [measured[method]]} for method in others]
    return {**record, "lines": [*lines, *more]}
