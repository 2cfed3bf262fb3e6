"""Results as rows in the layout of the papers' tables, in Markdown or LaTeX, with the papers' own rows beside them.

| layout | rows | columns |
| --- | --- | --- |
| `ttm/1` | a model under its data set | Raw (GroupScore), SimpleMatch (GroupMatch), TTM, gain, error reduction |
| `ttm/6` | a data set, for 1xk groups | the model (GroupScore), TTM, gain, error reduction |
| `vgpt/1` | a model | TextScore of each data set |
| `vgpt/4` | a model | Text, Image and Group of each data set |
| `cola/2` | a model | ImageScore of each data set (Cola's multi-object accuracy) |

Below each table stand what its cells leave out: intervals, chance levels, ties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core import datasets
from core.base.errors import InputError, unknown_name
from core.base.lazy import pandas as pd
from core.base.text import _change_in_points, _exact_differences, counted, p_digits
from core.datasets.paper_results import load_results
from core.metrics.groups import (
    GROUP_MATCH,
    GROUP_SCORE,
    IMAGE_SCORE,
    METRICS,
    TEXT_SCORE,
    yes_or_no,
)
from core.metrics.statistics import Comparison, Estimate

_PAPERS = {"ttm": "TTM", "vgpt": "VGPT", "cola": "Cola"}


class Adapted(NamedTuple):
    """GroupMatch after test-time matching: mean and, over several seeds, standard deviation, in percent."""

    mean: float
    std: float | None
    seeds: int


@dataclass(frozen=True)
class Result:
    """One model on one benchmark."""

    model: str
    benchmark: str
    title: str
    metrics: dict[str, Estimate]
    n_groups: int
    shape: tuple[int, int]
    adapted: Adapted | None = None


@dataclass(frozen=True)
class _TextTable:
    """A table of texts, and the remarks below it."""

    head: list[str]
    rows: list[list[str]]
    notes: list[str]


def layout_table(results: Sequence[Result], layout: str, paper: bool = True) -> _TextTable:
    """Results in a paper's layout. paper : the paper's own rows for the same data sets come first.

    Raises InputError for an unknown layout and for no results.
    """
    if layout not in LAYOUTS:
        raise unknown_name("layout", layout, LAYOUTS)
    if not results:
        raise InputError("A table needs at least one result; name a model and a benchmark.")
    head, rows = LAYOUTS[layout](results, published(results, layout) if paper else pd.DataFrame())
    return _TextTable(head, rows, [_note(result) for result in results])


def _markdown_table(table: _TextTable) -> str:
    """The table in Markdown; texts from data are escaped."""
    lines = [table.head, ["---"] * len(table.head), *table.rows]
    body = "\n".join("| " + " | ".join(_markdown(cell) for cell in line) + " |" for line in lines)
    return body + "\n\n" + "\n".join(_markdown(note) + "  " for note in table.notes) + "\n"


def _latex_table(table: _TextTable) -> str:
    """The table in LaTeX (booktabs); texts from data are escaped."""
    notes = [f"% {' '.join(note.split())}" for note in table.notes]
    return "\n".join([*_tabular(table.head, map(_latex_line, table.rows)), *notes]) + "\n"


def _tabular(head: Sequence[str], rows: Iterable[str]) -> list[str]:
    """Lines of a whole table from its rows, which are LaTeX already."""
    return [
        _PACKAGE,
        r"\begin{tabular}{l" + "r" * (len(head) - 1) + "}",
        r"\toprule",
        _latex_line(head),
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
    ]


_PACKAGE = r"% The document needs \usepackage{booktabs}."


FORMATS: dict[str, Callable[[_TextTable], str]] = {"markdown": _markdown_table, "latex": _latex_table}


def _markdown(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "Δ": r"$\Delta$",
    "–": "--",
    "−": "$-$",
    "×": r"$\times$",
}


def _latex_line(cells: Sequence[str]) -> str:
    return " & ".join(map(_escaped, cells)) + r" \\"


def _escaped(cell: str) -> str:
    return "".join(_LATEX.get(c, c) for c in " ".join(cell.split()))


def _latex_rows(
    results: Sequence[tuple[str, Mapping[str, Estimate]]], compared: Mapping[str, Comparison] | None = None
) -> str:
    """Named results as rows for a table of one's own, one column per metric; the first line names them.

    compared : of two results, the second against the first: two more rows, the difference in points and its p value,
    which a metric that is not in it lacks. Intervals, chance levels and ties stand in a comment below each row.
    """
    names = _shown_metrics(results)
    lines = ["% " + ", ".join(["model", *(METRICS[name].label for name in names)])]
    for label, metrics in results:
        found = [metrics.get(name) for name in names]
        lines.append(_latex_line([label, *("–" if e is None else f"{e.value:.2f}" for e in found)]))
        lines.append("% " + "; ".join(_interval(name, metrics[name]) for name in names if name in metrics))
    if compared:
        (first, _), (second, _) = results
        both = [[metrics.get(name) for _, metrics in results] for name in names]
        points = [_points(a, b) for a, b in both]
        lines += _difference_rows(f"{second} − {first}", names, points, compared)
    return "\n".join(lines)


def latex_table(
    results: Sequence[tuple[str, Mapping[str, Estimate]]], compared: Mapping[str, Comparison] | None = None
) -> str:
    """`_latex_rows` as a whole table with its header, which compiles as it is (booktabs)."""
    head = ["In percent", *(METRICS[name].label for name in _shown_metrics(results))]
    _, *rows = _latex_rows(results, compared).splitlines()
    return "\n".join(_tabular(head, rows))


def text_table_latex(table: pd.DataFrame) -> str:
    """A table of texts and numbers as it is shown, as a whole table in LaTeX (booktabs)."""
    cells = table.astype(object).where(table.notna(), "–").astype(str)
    return "\n".join(_tabular([*map(str, cells.columns)], map(_latex_line, cells.to_numpy().tolist())))


def _shown_metrics(results: Sequence[tuple[str, Mapping[str, Estimate]]]) -> list[str]:
    return [name for name in METRICS if any(name in metrics for _, metrics in results)]


def _points(before: Estimate | None, after: Estimate | None) -> str:
    if before is None or after is None:
        return "–"
    return f"{_change_in_points(before.value, after.value, digits=2):+.2f}".replace("-", "−")


def _difference_rows(
    label: str, names: Sequence[str], points: Sequence[str], compared: Mapping[str, Comparison]
) -> list[str]:
    """Points with their intervals, and p corrected for all that are compared; by cluster where groups hang together.

    names : the metric of each column; one that is not compared has a dash for p.
    """
    tested = {name: compared[name].clustered or compared[name] for name in names if name in compared}
    by = next((f"by {c.clustered.by}, " for c in compared.values() if c.clustered), "")
    intervals = (f"{METRICS[n].label} {by}[{t.low:+.2f}, {t.high:+.2f}]" for n, t in tested.items())
    corrected = {n: t.p_value if t.p_holm is None else t.p_holm for n, t in tested.items()}
    alone = (f"{METRICS[n].label} {p_digits(t.p_value)}" for n, t in tested.items())
    return [
        _latex_line([label, *points]),
        f"% 95 % {'; '.join(intervals)}. {_exact_differences(2)}",
        " & ".join([_escaped(f"p ({by}Holm)"), *(_raised(corrected.get(n)) for n in names)]) + r" \\",
        "% p of each metric alone: " + "; ".join(alone),
    ]


def _raised(p: float | None) -> str:
    """A p value for print, ready for LaTeX: 5.0e-10 with a raised exponent."""
    number, _, power = p_digits(p).partition("e")
    return f"${number} \\times 10^{{{int(power)}}}$" if power else _escaped(number)


def _interval(name: str, e: Estimate) -> str:
    ties = e.tied if e.ties is None else f"{e.ties} tied"
    return f"{METRICS[name].label} [{e.low:.2f}, {e.high:.2f}] (chance {e.chance:.2f}, {ties})"


def _note(result: Result) -> str:
    m, k = result.shape
    parts = [_interval(name, result.metrics[name]) for name in yes_or_no(result.metrics)]
    more = f"; TTM over {result.adapted.seeds} seeds" if result.adapted else ""
    head = f"{result.model} on {result.title}, {counted(result.n_groups, 'group')} of {m}×{k}"
    return f"{head}, 95 % intervals: {', '.join(parts)}{more}."


# --- the papers' own numbers


def published(results: Sequence[Result], layout: str) -> pd.DataFrame:
    """Rows of `core.datasets.paper_results`, of the layout's paper, for the data sets of these results, with
    their `title`."""
    table, found = load_results(), []
    table = table[table["paper"] == _PAPERS[layout.partition("/")[0]]]
    known = set(datasets.names(None))
    for name, title in {r.benchmark: r.title for r in results}.items():
        entry = datasets.benchmark_entry(name) if name in known else None
        if entry is not None and entry.reference is not None:
            dataset, subset = entry.reference
            rows = table[(table["dataset"] == dataset) & (table["subset"] == subset)]
            found.append(rows.assign(title=title))
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def _cell(value: float | None, std: float | None = None) -> str:
    if value is None or np.isnan(value):
        return "–"
    return f"{value:.2f}" + ("" if std is None or np.isnan(std) else f" ± {std:.2f}")


def _value(rows: pd.DataFrame, metric: str, method: str | None = None) -> tuple[float | None, float | None]:
    found = rows[rows["metric"] == metric]
    found = found if method is None else found[found["method"] == method]
    return (None, None) if found.empty else (float(found["value"].iloc[0]), float(found["std"].iloc[0]))


# --- TTM


def _gain(base: float | None, after: float | None) -> list[str]:
    """Δ with the relative gain, and the error reduction, as TTM's tables print them."""
    if base is None or after is None:
        return ["–", "–"]
    relative = "–" if base == 0 else f"{100 * (after - base) / base:.1f} %"
    reduced = "–" if base == 100 else f"{100 * (after - base) / (100 - base):.1f} %"
    return [f"{after - base:+.1f} ({relative})", reduced]


def _ttm_main(results: Sequence[Result], paper: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    rows: list[list[str]] = []
    for title in dict.fromkeys(r.title for r in results):
        rows.append([title, "", "", "", "", ""])
        rows += _ttm_paper(paper, title)
        for r in (r for r in results if r.title == title):
            raw, match = r.metrics[GROUP_SCORE].value, r.metrics[GROUP_MATCH].value
            after = None if r.adapted is None else r.adapted.mean
            spread = None if r.adapted is None else r.adapted.std
            rows.append([r.model, _cell(raw), _cell(match), _cell(after, spread), *_gain(match, after)])
    return ["Dataset / Model", "Raw", "SimpleMatch", "TTM", "Δ", "Error Red."], rows


def _ttm_paper(paper: pd.DataFrame, title: str) -> list[list[str]]:
    if paper.empty:
        return []
    part = paper[(paper["title"] == title) & paper["table"].isin(["Table 1", "Table 8"])]
    rows = []
    for model, found in part.groupby("model", sort=False):
        raw, match = _value(found, GROUP_SCORE, "raw"), _value(found, GROUP_MATCH, "SimpleMatch")
        after = _value(found, GROUP_MATCH, "TTM")
        cells = [_cell(*raw), _cell(*match), _cell(*after), *_gain(match[0], after[0])]
        rows.append([f"{model} (TTM paper)", *cells])
    return rows


def _ttm_single(results: Sequence[Result], paper: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    rows = []
    for title in dict.fromkeys(r.title for r in results):
        part = paper[paper["title"] == title] if len(paper) else paper
        for model, found in part.groupby("model", sort=False) if len(part) else ():
            raw, after = _value(found, GROUP_SCORE, "raw"), _value(found, GROUP_MATCH, "TTM")
            if raw[0] is not None:
                after = after if after[0] is not None else _value(found, GROUP_SCORE, "TTM")
                rows.append(
                    [title, f"{model} (TTM paper)", _cell(*raw), _cell(*after), *_gain(raw[0], after[0])]
                )
        for r in (r for r in results if r.title == title):
            raw_value = r.metrics[GROUP_SCORE].value
            mean, std = (None, None) if r.adapted is None else (r.adapted.mean, r.adapted.std)
            rows.append([title, r.model, _cell(raw_value), _cell(mean, std), *_gain(raw_value, mean)])
    return ["Datasets", "Model", "Raw", "TTM", "Δ", "Error Reduction"], rows


# --- one row per model, columns by data set


def _pivoted(*metrics: str) -> Callable[..., tuple[list[str], list[list[str]]]]:
    """A layout with a column for each of these metrics of each data set, as VGPT's and Cola's tables are."""
    shorts = [METRICS[name].short for name in metrics] if len(metrics) > 1 else [""]

    def build(results: Sequence[Result], paper: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
        titles = list(dict.fromkeys(r.title for r in results))
        head = ["Method", *(f"{t} {short}".strip() for t in titles for short in shorts)]
        rows: dict[str, list[str]] = {}
        if len(paper):
            # VGPT prints the same number in several tables; the first is taken.
            for (model, method), found in paper.groupby(["model", "method"], sort=False):
                cells = [_cell(*_value(found[found["title"] == t], m)) for t in titles for m in metrics]
                if any(cell != "–" for cell in cells):
                    rows[f"{model} {method}".strip() + " (paper)"] = cells
        by_model = {(r.model, r.title): r for r in results}
        for model in dict.fromkeys(r.model for r in results):
            found_here = [by_model.get((model, t)) for t in titles]
            rows[model] = [
                _cell(None if r is None else r.metrics[m].value) for r in found_here for m in metrics
            ]
        return head, [[name, *cells] for name, cells in rows.items()]

    return build


LAYOUTS: dict[str, Callable[[Sequence[Result], pd.DataFrame], tuple[list[str], list[list[str]]]]] = {
    "ttm/1": _ttm_main,
    "ttm/6": _ttm_single,
    "vgpt/1": _pivoted(TEXT_SCORE),
    "vgpt/4": _pivoted(TEXT_SCORE, IMAGE_SCORE, GROUP_SCORE),
    "cola/2": _pivoted(IMAGE_SCORE),
}
