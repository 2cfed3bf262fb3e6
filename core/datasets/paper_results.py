"""Reference results of the papers, as data: every number of their tables, with its source, beside a user's own.

`assets/papers/results.csv` holds one row per printed number:

paper    TTM, VGPT, Cola (the three papers) or Winoground (human figures); a key of `CITATIONS`
table    "Table 1a", "Section 4.2", ...: where in the paper the number stands
dataset  benchmark, by one name across papers; `subset` is its part, "" for all of it
model    "" where the paper names none; "human" and "random" for people and chance
method   "raw", "TTM", "ITM", "MM-Adapter", ...; the paper's alpha is in it ("VisualGPTScore alpha=0")
metric   a key of `UNITS`, by the names of `core.metrics.groups.METRICS` where they apply
value    as printed; fractions are shown in percent, and `note` keeps what was printed
std      the standard deviation the paper gives, else missing
note     what a reader must know: what a gain is over, where two tables of a paper disagree
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from core.base.errors import unknown_name
from core.base.paths import assets

if TYPE_CHECKING:  # names and citations are asked for by commands that wait for no pandas
    import pandas as pd

_COLUMNS = ("paper", "table", "dataset", "subset", "model", "method", "metric", "value", "std", "note")
_NUMBERS = ("value", "std")
KEY = _COLUMNS[:7]  # no two rows share it

UNITS: dict[str, str] = {
    # Names of core.metrics.groups and core.metrics.evaluation
    "text_score": "percent",
    "image_score": "percent",
    "group_score": "percent",
    "group_match": "percent",
    "global_match": "percent",
    "image_to_text_r1": "percent",
    "image_to_text_r5": "percent",
    "text_to_image_r1": "percent",
    "text_to_image_r5": "percent",
    "image_choice": "percent",  # of captions that choose among a few images of their own each
    "accuracy": "percent",  # one question at a time: ImageNet classes, MMVP questions
    "image_to_text_accuracy": "percent",  # VGPT Table 5, which does not name its metric
    "text_to_image_accuracy": "percent",  # likewise
    # TTM against what its row's note names
    "absolute_gain": "percentage points",
    "relative_gain": "percent of the base",
    "error_reduction": "percent of the base's error",
    "coverage": "percent",  # groups whose margin reaches the threshold
    # VGPT
    "alpha": "1",
    "correlation": "1",  # of two curves over alpha: Table 8, a figure without printed numbers
    "groups": "groups",
    # Cola
    "cola_map": "percent",
    "query_all_map": "percent",
    "standard_map": "percent",
    "f1": "percent",
    "mean_rank_relevant": "rank",
    "mean_rank_distractor": "rank",
    "parameters": "million",
}


@cache
def _read() -> pd.DataFrame:
    kinds = {name: float if name in _NUMBERS else str for name in _COLUMNS}
    import pandas as pd

    frame = pd.read_csv(
        assets() / "papers" / "results.csv",
        dtype=kinds,
        keep_default_na=False,
        na_values={name: [""] for name in _NUMBERS},
        float_precision="round_trip",
    )
    assert tuple(frame.columns) == _COLUMNS
    assert frame["value"].notna().all()
    assert not (frame["std"] < 0).any()
    assert not frame.duplicated(list(KEY)).any()
    assert set(frame["metric"]) <= set(UNITS)
    assert set(frame["paper"]) <= set(CITATIONS)
    return frame


def load_results() -> pd.DataFrame:
    """Every reference number, one row each; see the module for the columns.

    `value` and `std` are float64 (`std` is NaN where the paper gives none), the rest strings, never missing. The file
    is read once; the caller owns the copy it gets.
    """
    return _read().copy()


def reference(
    paper: str | None = None,
    table: str | None = None,
    dataset: str | None = None,
    model: str | None = None,
    method: str | None = None,
    metric: str | None = None,
) -> pd.DataFrame:
    """The reference numbers that match every given name exactly; the columns of `load_results`, a new index.

    A name that no row has is an InputError with the nearest known one; `table` is looked up in `paper` where that is
    given. Known names that do not occur together give an empty frame.

    >>> reference("TTM", "Table 1", "Winoground", "SigLIP-B16", "TTM", "group_match")["value"].item()
    72.5
    """
    results = rows = _read()
    names = {
        "paper": paper,
        "table": table,
        "dataset": dataset,
        "model": model,
        "method": method,
        "metric": metric,
    }
    for column, name in names.items():
        if name is None:
            continue
        known = set((rows if column == "table" else results)[column]) - {""}
        if name not in known:
            raise unknown_name(column, name, known)
        rows = rows[rows[column] == name]
    return rows.reset_index(drop=True)


def _citations() -> dict[str, str]:
    text = (assets() / "papers" / "citations.bib").read_text("utf-8")
    named = (entry.strip().partition("\n") for entry in re.split(r"^% ", text, flags=re.MULTILINE)[1:])
    return {name: bibtex for name, _, bibtex in named}


# BibTeX by paper and by data set, as the three papers' reference lists state it; where TTM and Cola themselves
# appeared is from OpenReview and from Cola's project page. KeyComp's is its page of arXiv.
CITATIONS: dict[str, str] = _citations()
