"""Results as rows in the layout of the papers' tables, in Markdown or LaTeX, with the papers' own rows beside them.

| layout | rows | columns |
| --- | --- | --- |
| `ttm/1` | a model under its data set | Raw (GroupScore), SimpleMatch (GroupMatch), TTM, gain, error reduction |
| `ttm/6` | a data set, for 1xk groups | the model (GroupScore), TTM, gain, error reduction |
| `vgpt/1` | a model | TextScore of each data set |
| `vgpt/4` | a model | Text, Image and Group of each data set |
| `cola/2` | a model | ImageScore of each data set (Cola's multi-object accuracy) |

What was measured here has its 95 % interval in its cell, and every table a row of chance levels; ties, and what a
reader must know besides, stand below it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core import datasets
from core.base.errors import InputError, unknown_name
from core.base.lazy import pandas as pd
from core.base.text import (
    _change_in_points,
    _exact_differences,
    _pct,
    _signed,
    _signed_end,
    counted,
    p_digits,
)
from core.datasets.paper_results import load_results
from core.exchange._latex_width import _fits, _fitted
from core.exchange.run_table import _software_version
from core.metrics.groups import (
    GROUP_MATCH,
    GROUP_SCORE,
    IMAGE_SCORE,
    METRICS,
    TEXT_SCORE,
    yes_or_no,
)
from core.metrics.paired import _PAIRED_INTERVALS, _exact_tests, _interval_note
from core.metrics.statistics import Comparison, Estimate

_PAPERS = {"ttm": "TTM", "vgpt": "VGPT", "cola": "Cola"}


class Adapted(NamedTuple):
    """GroupMatch after test-time matching: mean and, over several seeds, standard deviation, in percent.

    interval : 95 %, over groups, and over seeds where there are several; None where nothing measured it. settings : in
    a few words, "" where they are not known.
    """

    mean: float
    std: float | None
    seeds: int
    interval: tuple[float, float] | None = None
    settings: str = ""


@dataclass(frozen=True)
class Result:
    """One model on one benchmark.

    part : which of its groups, in a few words, "" of all. What was adapted has both of its ends on the same groups.
    """

    model: str
    benchmark: str
    title: str
    metrics: dict[str, Estimate]
    n_groups: int
    shape: tuple[int, int]
    adapted: Adapted | None = None
    part: str = ""

    @property
    def label(self) -> str:
        """The head of its row: the model, and which of the groups."""
        return f"{self.model}, {self.part}" if self.part else self.model


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
    measured = any(result.adapted and result.adapted.std is not None for result in results)
    spread = _SPREAD if measured else ""
    # Of means over seeds it rests on Clopper and Pearson's, too; no paper's layout has a metric of shares.
    reading = (
        f"In percent. Brackets: 95 % intervals ({_method(())}){spread}. –: not measured, or not printed."
    )
    printed = (
        ["The paper prints no intervals for its rows."]
        if any("paper)" in " ".join(row) for row in rows)
        else []
    )
    if layout.startswith("ttm/"):
        reading += f" {_TTM_HEADS}"
    notes = [reading, *printed, *(_note(result) for result in results), *_software_note()]
    return _TextTable(head, rows, notes)


_TTM_HEADS = (
    "Raw: GroupScore of the model as it is. SimpleMatch: its GroupMatch. TTM: GroupMatch after test-time matching. Δ "
    "and error reduction: of TTM over the column before."
)
_SPREAD = "; ±: standard deviation over seeds"


def _markdown_table(table: _TextTable) -> str:
    """The table in Markdown; texts from data are escaped."""
    lines = [table.head, ["---"] * len(table.head), *table.rows]
    body = "\n".join("| " + " | ".join(_markdown(cell) for cell in line) + " |" for line in lines)
    return body + "\n\n" + "\n".join(_markdown(note) + "  " for note in table.notes) + "\n"


def _latex_table(table: _TextTable) -> str:
    """The table in LaTeX (booktabs), its remarks below it; texts from data are escaped."""
    return "\n".join(_tabular(table.head, _lines(table.head, table.rows), table.notes)) + "\n"


def _lines(
    head: Sequence[str], rows: Sequence[Sequence[str]], columns: str = "", bold: Collection[int] = ()
) -> list[str]:
    """The rows of a table in LaTeX; intervals stand below their values where it would not fit beside them.

    bold : as of `text_table_latex`.
    """
    beside = [_latex_line(_bold(row) if i in bold else row) for i, row in enumerate(rows)]
    if _fits([_latex_line(head), *beside], columns or _letters_of(head)):
        return beside
    return [line for i, row in enumerate(rows) for line in _stacked_line(row, i in bold)]


def _tabular(
    head: Sequence[str], rows: Iterable[str], notes: Sequence[str] = (), columns: str = ""
) -> list[str]:
    """Lines of a whole table from its rows, which are LaTeX already, and of the remarks below it, which are texts.

    columns : as of `text_table_latex`.
    """
    lines, first = [*rows], _latex_line(head)
    columns = columns or _letters_of(head)
    if not _fits([first, *lines], columns, r"\footnotesize"):
        first = _latex_line([head[0], *map(_in_two_lines, head[1:])])
    fit = _fitted([first, *lines], columns)
    return [
        _PACKAGE,
        *filter(None, [fit.opening]),
        rf"\begin{{tabular}}{{{fit.columns}}}",
        r"\toprule",
        first,
        r"\midrule",
        *lines,
        r"\bottomrule",
        r"\end{tabular}",
        *(["}"] if fit.opening else []),
        *([r"\par\smallskip", f"{{\\footnotesize {_escaped(' '.join(notes))}\\par}}"] if notes else []),
    ]


def _letters_of(head: Sequence[str]) -> str:
    """A letter for each column: the first, and that of models, at the left, the others at the right."""
    return "l" + "".join("l" if name == "Model" else "r" for name in head[1:])


def _in_two_lines(name: str) -> str:
    """The head of a column, `MMVP-VLM Text`, in LaTeX with its last word below."""
    first, _, last = name.rpartition(" ")
    return _Latex(rf"\shortstack{{{_escaped(first)}\\{_escaped(last)}}}") if first else name


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
    "·": r"$\cdot$",
    "α": r"$\alpha$",
    "τ": r"$\tau$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "→": r"$\rightarrow$",
    "\N{NO-BREAK SPACE}": "~",
    "\N{WORD JOINER}": "",
}
_INTERVAL = re.compile(r"(\[[-−+.\d]+, [-−+.\d]+\])")  # [1] is the number of a remark


def _latex_line(cells: Sequence[str]) -> str:
    line = " & ".join(map(_latex_cell, cells)) + r" \\"
    return f"{{}}{line}" if line[0] in "[*" else line  # both would belong to the end of the line above


def _stacked_line(cells: Sequence[str], bold: bool = False) -> list[str]:
    """The line of a table with a column per metric: intervals stand below their values, so that it fits on a page."""
    is_made = [isinstance(cell, _Latex) for cell in cells]
    pairs = [*zip(cells, is_made, strict=True)]
    values = [cell if made else _INTERVAL.sub("", cell).strip() for cell, made in pairs]
    intervals = ["" if made else " ".join(_INTERVAL.findall(cell)) for cell, made in pairs]
    alone = not any(intervals) or not any(values[1:])
    own = _bold if bold else lambda row: [*row]
    return [_latex_line(own(cells))] if alone else [_latex_line(own(values)), _latex_line(intervals)]


def _latex_cell(cell: str) -> str:
    """A text in LaTeX; the interval in it is small."""
    if isinstance(cell, _Latex):
        return cell
    parts = _INTERVAL.split(cell.strip())
    small = (
        f"{{\\scriptsize {_escaped(part)}}}" if i % 2 else _escaped(part) for i, part in enumerate(parts)
    )
    return " ".join(filter(None, small))


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in re.sub(r"[ \t\r\n\f\v]+", " ", text.strip()))


def latex_table(
    results: Sequence[tuple[str, Mapping[str, Estimate]]],
    compared: Mapping[str, Comparison] | None = None,
    about: str = "",
    holm: str = "",
    more: tuple[Mapping[str, Mapping[str, str]], Sequence[str]] = ({}, ()),
) -> str:
    """Named results as a whole table in LaTeX (booktabs): a column per metric, every value with its 95 % interval, and
    the chance levels as a row; ties, and what a dash is, below it.

    compared : of two results, the second against the first: below them the difference in points with its interval, and
    its p values, which a metric that is not in it lacks. about : what was measured, how many groups, with which
    settings. holm : what p is corrected for, where that is not all of `compared` together. more : rows below all
    others, their cells by metric, and what is to be said of them.
    """
    names, (below, said_below) = _shown_metrics(results), more
    rows, notes = _latex_rows(results, compared), _latex_notes(results, names, compared, holm)
    if below:
        rows.append(r"\midrule")
        for label, cells in below.items():
            rows += _stacked_line([label, *(cells.get(name, "–") for name in names)])
        *notes, software = notes if _software_note() else [*notes, ""]
        notes += [*said_below, *filter(None, [software])]
    said = [f"{about.rstrip('.')}."] if about else []
    return "\n".join(_tabular(["In percent", *(METRICS[name].label for name in names)], rows, said + notes))


def _latex_rows(
    results: Sequence[tuple[str, Mapping[str, Estimate]]], compared: Mapping[str, Comparison] | None = None
) -> list[str]:
    """The rows of `latex_table`, one column per metric."""
    names, lines = _shown_metrics(results), []
    for label, metrics in results:
        found = [metrics.get(name) for name in names]
        lines += _stacked_line([label, *map(_estimate_cell, found)])
        lines += _by_cluster(found)
    lines += _chance_rows(results, names)
    if compared:
        (first, _), (second, _) = results
        both = [[metrics.get(name) for _, metrics in results] for name in names]
        points = [_points(a, b) for a, b in both]
        lines += [r"\midrule", *_difference_rows(f"{second} − {first}", names, points, compared)]
    return lines


def _estimate_cell(e: Estimate | None) -> str:
    """`41.25 [36.00, 46.50]`"""
    return "–" if e is None else f"{_pct(e.value, 2)} [{_pct(e.low, 2)}, {_pct(e.high, 2)}]"


def _by_cluster(found: Sequence[Estimate | None]) -> list[str]:
    """A row of the intervals with groups that hang together as one; none where no group does."""
    known = [e and e.clustered for e in found]
    by = next((c.by for c in known if c), "")
    if not by:
        return []
    return [
        _latex_line([f"by {by}", *(f"[{_pct(c.low, 2)}, {_pct(c.high, 2)}]" if c else "–" for c in known)])
    ]


def _chance_rows(results: Sequence[tuple[str, Mapping[str, Estimate]]], names: Sequence[str]) -> list[str]:
    """The chance levels as a row; one for each result where they differ."""
    levels = {
        label: [_pct(metrics[name].chance, 2) if name in metrics else None for name in names]
        for label, metrics in results
    }
    common = [
        [level for level in column if level is not None] for column in zip(*levels.values(), strict=True)
    ]
    if all(len(set(column)) == 1 for column in common):
        return [_latex_line(["chance", *(column[0] for column in common)])]
    return [
        _latex_line([f"chance, {label}", *("–" if level is None else level for level in of)])
        for label, of in levels.items()
    ]


def _latex_notes(
    results: Sequence[tuple[str, Mapping[str, Estimate]]],
    names: Sequence[str],
    compared: Mapping[str, Comparison] | None,
    holm: str = "",
) -> list[str]:
    """What the cells of `latex_table` leave out."""
    missing = any(name not in metrics for _, metrics in results for name in names)
    found = [each for _, metrics in results for each in metrics.values()]
    method = _method(names, next((each.clustered.by for each in found if each.clustered), ""))
    if compared:
        method += f"; of differences {_PAIRED_INTERVALS}"
    notes = [f"Brackets: 95 % intervals ({method})."] + ["–: not measured."] * missing + [_ties_note(results)]
    return notes + (_difference_notes(names, compared, holm) if compared else []) + _software_note()


def _method(names: Iterable[str], by: str = "") -> str:
    """How core/metrics/statistics.py makes the intervals of these metrics, and of groups that share something.

    by : what they share, "" where each stands by itself.
    """
    shares = [METRICS[name].label for name in names if METRICS[name].share]
    of = " and ".join(filter(None, [f"of {', '.join(shares)}" if shares else "", f"by {by}" if by else ""]))
    worth = f"; {of} for as many independent answers as these, which depend on each other, are worth"
    return f"Clopper-Pearson{worth if of else ''}"


def _software_note() -> list[str]:
    """The version of Crossmatch that made a table; [] where it is not known."""
    found = _software_version()
    return [f"Made with Crossmatch {found}."] if found else []


def _ties_note(results: Sequence[tuple[str, Mapping[str, Estimate]]]) -> str:
    """`Ties, which count as wrong: none.`, or which metric of which result has how many."""
    found = []
    for label, metrics in results:
        tied = [
            f"{METRICS[name].label} {'not counted' if metrics[name].ties is None else metrics[name].ties}"
            for name in METRICS
            if name in metrics and metrics[name].ties != 0
        ]
        if tied:
            found.append(f"{label}: {', '.join(tied)}")
    return f"Tied groups, which count as wrong: {'; '.join(found) or 'none'}."


def _difference_notes(names: Sequence[str], compared: Mapping[str, Comparison], holm: str = "") -> list[str]:
    """How differences and p are read, and what a dash for p is."""
    corrected = f" {holm}" * bool(holm) or (
        f" Holm: p corrected for {counted(len(compared), 'metric')} tested together; the intervals are uncorrected."
        if len(compared) > 1
        else ""
    )
    untested = [METRICS[name].label for name in names if name not in compared]
    dash = (
        f" – for p: {', '.join(untested)} {'is' if len(untested) == 1 else 'are'} not tested."
        if untested
        else ""
    )
    return [
        f"Differences in points, p by {_exact_tests(compared, deciding=True)}. "
        f"{_interval_note(compared, deciding=True)}{corrected}{dash}",
        _exact_differences(2),
    ]


def text_table_latex(
    table: pd.DataFrame, notes: Sequence[str] = (), *, columns: str = "", bold: Collection[int] = ()
) -> str:
    """A table of texts and numbers as it is shown, as a whole table in LaTeX (booktabs), with its remarks below it.

    columns : LaTeX's letter for each, `lrl`; by default the first is at the left and the others at the right. bold :
    the rows that are, counted from 0. A cell that is a `_Latex` stands as it is.
    """
    cells = table.astype(object).where(table.notna(), "–")
    rows = [
        [each if isinstance(each, str) else str(each) for each in row] for row in cells.to_numpy().tolist()
    ]
    head = [*map(str, cells.columns)]
    return "\n".join(_tabular(head, _lines(head, rows, columns, bold), notes, columns))


class _Latex(str):
    """A text that is LaTeX already."""


def _bold(cells: Sequence[str]) -> list[str]:
    return [_Latex(rf"\textbf{{{_latex_cell(cell)}}}") if cell.strip() else cell for cell in cells]


def _shown_metrics(results: Sequence[tuple[str, Mapping[str, Estimate]]]) -> list[str]:
    return [name for name in METRICS if any(name in metrics for _, metrics in results)]


def _points(before: Estimate | None, after: Estimate | None) -> str:
    if before is None or after is None:
        return "–"
    return _signed(_change_in_points(before.value, after.value, digits=2), 2).replace("-", "−")


def _difference_rows(
    label: str, names: Sequence[str], points: Sequence[str], compared: Mapping[str, Comparison]
) -> list[str]:
    """Points with their intervals, p, and p corrected for all that are compared; by cluster where groups hang together.

    names : the metric of each column; one that is not compared has neither interval nor p.
    """
    tested = {name: compared[name].clustered or compared[name] for name in names if name in compared}
    by = next((f"by {c.clustered.by}" for c in compared.values() if c.clustered), "")
    intervals = {
        n: f" [{_signed_end(t.low, 2)}, {_signed_end(t.high, 2)}]".replace("-", "−")
        for n, t in tested.items()
    }
    cells = [f"{value}{intervals.get(name, '')}" for name, value in zip(names, points, strict=True)]
    alone, corrected = ({n: getattr(t, key) for n, t in tested.items()} for key in ("p_value", "p_holm"))
    rows = {"p": alone} | ({"Holm": corrected} if len(compared) > 1 else {})
    lines = _stacked_line([f"{label}, {by}" if by else label, *cells])
    for name, of in rows.items():
        head = ", ".join(filter(None, [by, name if name != "p" else ""]))
        cells = [_raised(of.get(n)) for n in names]
        lines.append(" & ".join([_escaped(f"p ({head})" if head else "p"), *cells]) + r" \\")
    return lines


def _with_raised_powers(text: str) -> str:
    """HTML in which small numbers, such as p values, have a raised exponent in place of `1.3e-05`; names that end like
    one, as `lr-1e-05`, stay."""
    return re.sub(r"(?<![\w.-])(\d+(?:\.\d+)?)e-0*(\d+)\b", r"\1×10<sup>−\2</sup>", text)


def _raised(p: float | None) -> str:
    """A p value for print, ready for LaTeX: 5.0e-10 with a raised exponent."""
    number, _, power = p_digits(p).partition("e")
    return f"${number} \\times 10^{{{int(power)}}}$" if power else _escaped(number)


def _interval(name: str, e: Estimate) -> str:
    ties = e.tied if e.ties is None else f"{e.ties} tied"
    return f"{METRICS[name].label} {_estimate_cell(e)} (chance {_pct(e.chance, 2)}, {ties})"


def _note(result: Result) -> str:
    m, k = result.shape
    parts = [_interval(name, result.metrics[name]) for name in yes_or_no(result.metrics)]
    head = f"{result.model} on {result.title}, {counted(result.n_groups, 'group')} of {m}×{k}"
    head += f" ({result.part})" if result.part else ""
    more = _adaptation_note(result.adapted) if result.adapted else ""
    return f"{head}, with 95 % intervals: {', '.join(parts)}{more}."


def _adaptation_note(adapted: Adapted) -> str:
    settings = f" ({adapted.settings})" if adapted.settings else ""
    return f"; TTM over {counted(adapted.seeds, 'seed')}{settings}, on these same groups"


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
    return _pct(value, 2) + ("" if std is None or np.isnan(std) else f" ± {_pct(std, 2)}")


def _adapted_cell(adapted: Adapted | None) -> str:
    """`74.67 ± 1.12 [70.21, 79.02]`"""
    if adapted is None:
        return "–"
    interval = "" if adapted.interval is None else f" [{', '.join(_pct(end, 2) for end in adapted.interval)}]"
    return _cell(adapted.mean, adapted.std) + interval


def _value(rows: pd.DataFrame, metric: str, method: str | None = None) -> tuple[float | None, float | None]:
    found = rows[rows["metric"] == metric]
    found = found if method is None else found[found["method"] == method]
    return (None, None) if found.empty else (float(found["value"].iloc[0]), float(found["std"].iloc[0]))


def _chance(results: Sequence[Result], metric: str) -> str:
    """The chance level of a metric on one data set, whose groups all models share; all of them where they differ."""
    return " / ".join(dict.fromkeys(_pct(r.metrics[metric].chance, 2) for r in results))


# --- TTM


def _gain(base: float | None, after: float | None) -> list[str]:
    """Δ with the relative gain, and the error reduction, as TTM's tables print them."""
    if base is None or after is None:
        return ["–", "–"]
    relative = "–" if base == 0 else f"{_pct(100 * (after - base) / base)} %"
    reduced = "–" if base == 100 else f"{_pct(100 * (after - base) / (100 - base))} %"
    return [text.replace("-", "−") for text in (f"{_signed(after - base)} ({relative})", reduced)]


def _ttm_main(results: Sequence[Result], paper: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    rows: list[list[str]] = []
    for title in dict.fromkeys(r.title for r in results):
        rows.append([title, "", "", "", "", ""])
        rows += _ttm_paper(paper, title)
        own = [r for r in results if r.title == title]
        for r in own:
            raw, match = r.metrics[GROUP_SCORE], r.metrics[GROUP_MATCH]
            gain = _gain(match.value, None if r.adapted is None else r.adapted.mean)
            rows.append(
                [r.label, _estimate_cell(raw), _estimate_cell(match), _adapted_cell(r.adapted), *gain]
            )
        rows.append(
            ["chance", *(_chance(own, name) for name in (GROUP_SCORE, GROUP_MATCH, GROUP_MATCH)), "", ""]
        )
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
        own = [r for r in results if r.title == title]
        for r in own:
            before = r.metrics[GROUP_SCORE]
            gain = _gain(before.value, None if r.adapted is None else r.adapted.mean)
            rows.append([title, r.label, _estimate_cell(before), _adapted_cell(r.adapted), *gain])
        rows.append([title, "chance", *(_chance(own, name) for name in (GROUP_SCORE, GROUP_MATCH)), "", ""])
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
                _estimate_cell(None if r is None else r.metrics[m]) for r in found_here for m in metrics
            ]
        chance = [_chance([r for r in results if r.title == t], m) for t in titles for m in metrics]
        return head, [*([name, *cells] for name, cells in rows.items()), ["chance", *chance]]

    return build


LAYOUTS: dict[str, Callable[[Sequence[Result], pd.DataFrame], tuple[list[str], list[list[str]]]]] = {
    "ttm/1": _ttm_main,
    "ttm/6": _ttm_single,
    "vgpt/1": _pivoted(TEXT_SCORE),
    "vgpt/4": _pivoted(TEXT_SCORE, IMAGE_SCORE, GROUP_SCORE),
    "cola/2": _pivoted(IMAGE_SCORE),
}
