"""A table beside one's own numbers as people read it: cells as markup, what is missing, the papers' other tables."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

from core import datasets
from core.base.lazy import pandas as pd
from core.base.text import _pct, _signed, _true_minus, counted
from core.datasets.paper_results import UNITS, reference
from core.figures.text import _method_and_metric, label_and_meaning
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS
from core.papers._beside import _OUR_NOTES as _OUR_NOTES
from core.papers._beside import _is_of_one_image as _is_of_one_image
from core.papers._beside import _with_ours as _with_ours
from core.papers._findings import _OF_ONE_IMAGE as _OF_ONE_IMAGE
from core.papers._findings import _about as _about
from core.papers._findings import _Finding as _Finding
from core.papers._findings import _findings as _findings
from core.papers._findings import finding
from core.papers._table_rows import GAINS, _is_memorised
from core.papers._tables import TABLES
from core.ttm.records import _one_more

__all__ = [
    "COUNTERPARTS",
    "PAPERS",
    "WORLD",
    "TableChoice",
    "empty_rows",
    "finding",
    "halves",
    "missing_resources",
    "paper_frame",
    "plan_frame",
    "shown_frame",
    "table_choices",
    "table_html",
    "table_notes",
]

PAPERS = {"Test-Time Matching": "TTM", "Language priors": "VGPT", "Cola": "Cola"}
WORLD = "The built-in world"
_SIMPLEMATCH = ", SimpleMatch"  # ends such a line, beside that of test-time matching
_ON_WORLD = "built-in world, "  # begins the lines of a paper's table that are measured there
_BESIDE = 3  # columns that fit a phone with the name of a row beside its numbers
# How many columns a phone has in two or three lines, each number with the name of its column.
_FOLDED = range(5, 10)
_TOP = ' class="cm-highest" title="The highest of its column"'
_IF_MEMORISED = "\u00a0if\u00a0memorised"  # behind the second of two chance levels
_HUMAN = "human"  # a line that no model is compared with
_SOURCES = ("paper", "shipped", "yours")  # of a cell's numbers
# What stands in a cell without a number, and why.
_UNTRAINED = (
    "not trained",
    "The paper has no number here: this model is served by an endpoint, so that nobody can train it.",
)
_NOT_RUN = ("not run yet", "Nobody has measured this yet; “Plan” runs the line.")
_NOT_PRINTED = ("–", "The paper has no number here.")
_GAIN_NAMES = dict(zip(GAINS, ("gain in points", "relative gain", "error reduction"), strict=True))
_HELD_OUT = "held-out α"  # in the heads of what decides whether alpha helps
# The kind of a paper's table, as this is measured on the built-in world: one table, or one for each length of training.
COUNTERPARTS = {
    **dict.fromkeys(("ttm/1", "ttm/6", "ttm/7", "ttm/8"), ("Sets and models",)),
    "ttm/2": ("Global",),
    "ttm/9": ("Iterations",),
    "ttm/fig2": ("Schedules",),
    "ttm/fig4": ("Thresholds",),
    **{name: ("Alpha",) for name in TABLES if name.startswith("vgpt/")},
    **dict.fromkeys(("vgpt/3a", "vgpt/7", "vgpt/8"), ("Retrieval",)),
    **{name: ("Cola", "Cola-64") for name in TABLES if name.startswith("cola/")},
}


class _Step(NamedTuple):
    """One thing to do: in words, and the command for it, "" where there is none."""

    text: str
    command: str


class _MissingResource(NamedTuple):
    """Something that is not here: what, the next step in words, the commands in it, and the ways to get it, of which
    one is enough: the steps of each, in order."""

    what: str
    step: str
    commands: tuple[str, ...]
    lines: int  # of the table, that wait for it
    ways: tuple[tuple[_Step, ...], ...]


class TableChoice(NamedTuple):
    """A table: its key in `TABLES`, or its name in the paper where it is no run of adaptation; and what it shows."""

    key: str
    title: str


def table_choices(paper: str) -> dict[str, TableChoice]:
    """The tables of a paper (a key of `PAPERS`, or `WORLD`) by name."""
    if paper == WORLD:
        world = {name: title for name, (title, _) in TABLES.items() if name.startswith("world")}
        return {_world_name(name): TableChoice(name, title) for name, title in world.items()}
    short, choices = PAPERS[paper], {}
    for table in dict.fromkeys(reference(short)["table"]):
        key = f"{short.lower()}/{table.rpartition(' ')[2]}"
        if key in TABLES and (short != "TTM" or table.startswith("Table")):
            choices[table] = TableChoice(key, TABLES[key][0])
        else:
            data = dict.fromkeys(reference(short, table)["dataset"])
            choices[table] = TableChoice(table, ", ".join(data))
    figures = {f"Fig. {key[-1]}": key for key in TABLES if key.startswith(f"{short.lower()}/fig")}
    return choices | {table: TableChoice(key, TABLES[key][0]) for table, key in figures.items()}


def _world_name(name: str) -> str:
    """`world/schedules` as `Schedules`; the table of everything is `Sets and models`."""
    return name.partition("/")[2].capitalize() or "Sets and models"


def _heading(cell: Mapping[str, Any]) -> str:
    """What a cell's column is headed: its own heading, or method and metric."""
    if cell.get("head") is not None:
        return cell["head"]
    label = _GAIN_NAMES.get(cell["metric"]) or label_and_meaning(cell["metric"])[0]
    return _method_and_metric(cell, label) + (f", {cell['part']}" if cell["part"] else "")


def table_html(plan: Mapping[str, Any], empty: bool = False) -> str:
    """`core.papers.TablePlan.record()` as markup: in every cell the paper's (or the shipped) number, and yours below,
    with its interval, as soon as the line has any.

    Lines of the built-in world in a paper's table are a table of their own below it. empty : also the rows without
    any number.
    """
    own, built_in = halves(plan, empty)
    if not built_in:
        return own
    if not own:  # of a figure, whose numbers the paper does not print
        return f"<p>{NOT_PRINTED}</p>{built_in}"
    return f"{own}<p><b>The same on the built-in world</b>: {SHIPPED}</p>{built_in}"


SHIPPED = "results that ship with Crossmatch, not the paper's."
NOT_PRINTED = "Results on the built-in world that ship with Crossmatch: the paper prints no numbers here."


def halves(plan: Mapping[str, Any], empty: bool = False) -> tuple[str, str]:
    """The table itself, and its lines of the built-in world as one of their own, as markup; "" without lines."""
    left_out = () if empty else empty_rows(plan)
    of_world = str(plan.get("table", "")).startswith("world")
    own: list[Mapping[str, Any]] = []
    built_in: list[Mapping[str, Any]] = []
    for line in plan["lines"]:
        if _row(line) not in left_out:
            is_below = not of_world and line["line"].startswith(_ON_WORLD)
            (built_in if is_below else own).append(line)
    named = (
        [{**line, "line": line["line"].removeprefix(_ON_WORLD)} for line in of] for of in (own, built_in)
    )
    ranked = _compares_rows(plan)
    return tuple(_one_table(lines, of_world, ranked) if lines else "" for lines in named)  # type: ignore[return-value]


def _compares_rows(plan: Mapping[str, Any]) -> bool:
    """Whether a table's rows are strategies or models measured on the same data, so that the highest of a column means
    something, in table and figure: Cola's, and those of the paper on language priors; the rows of the others are sets
    too."""
    return "cola" in str(plan.get("table", "")) or str(plan.get("table", "")).startswith("vgpt/")


def _one_table(lines: Sequence[Mapping[str, Any]], of_world: bool, ranked: bool = False) -> str:
    """Lines of a plan's record as a table; of a paper's without the columns that have no number at all. ranked : the
    highest of each column is marked."""
    rows: dict[str, dict[str, Mapping[str, Any]]] = {}
    served = {line["line"] for line in lines if line.get("served")}
    for line in lines:  # SimpleMatch of a model stands in the model's own row
        row = rows.setdefault(_row(line), {})
        more = {"wanted": line.get("wanted", 0), "sampled": of_world}
        row |= {_heading(cell): {**cell, **more} for cell in line["cells"]}
    digits = _printed_digits(lines)
    heads, none = _headings(lines), _NOT_RUN if of_world else _NOT_PRINTED
    known = [head for head in heads if any(head in row and _is_known(row[head]) for row in rows.values())]
    if known and not of_world:
        heads = known
    chances = _common_chances(rows.values(), heads)
    columns = {head: digits[head] for head in heads}
    compared = [row for name, row in rows.items() if name != _HUMAN]
    tops = _highest(compared, heads) if ranked else {}
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        f"{_row_html(row, columns, _UNTRAINED if name in served else none, not chances, tops)}</tr>"
        for name, row in rows.items()
    )
    if chances:
        cells = "".join(
            f"<td{_named(head)}><div><span>{_pct(chances[head])}</span></div></td>"
            if head in chances
            else "<td></td>"
            for head in heads
        )
        body = f'<tr class="cm-chance"><th scope="row">{_chance_name(rows.values())}</th>{cells}</tr>{body}'
    top = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    phone = f" cm-pairs{' cm-listed' if of_world else ''}" if len(heads) in _FOLDED else ""
    fits = f" cm-fits{phone}" if len(heads) > _BESIDE else ""
    head = f"<thead><tr><td></td>{top}</tr></thead>"
    markup = (
        f'<table class="cm-cells{fits}" style="--columns:{len(heads)}">{head}<tbody>{body}</tbody></table>'
    )
    return _scrolling(len(heads), markup)


def _highest(rows: Iterable[Mapping[str, Any]], heads: Sequence[str]) -> dict[str, float]:
    """The highest printed or shipped number of each column in percent; without columns that have but one."""
    known: dict[str, list[float]] = {}
    for head, cell in ((head, row[head]) for row in rows for head in heads if head in row):
        if UNITS.get(cell["metric"], "percent") == "percent" and (number := _reference(cell)) is not None:
            known.setdefault(head, []).append(number)
    return {head: max(of) for head, of in known.items() if len(of) > 1}


def _reference(cell: Mapping[str, Any]) -> float | None:
    """The paper's number of a cell, of one that it does not print the shipped one."""
    return cell["shipped"] if cell["paper"] is None else cell["paper"]


def _common_chances(rows: Iterable[Mapping[str, Any]], heads: Sequence[str]) -> dict[str, float]:
    """Chance levels by column, as far as all lines have the same; {} where the sets of a column differ in it."""
    found = {head: {row[head].get("chance") for row in rows if head in row} for head in heads}
    known = {head: next(iter(of)) for head, of in found.items() if len(of) == 1 and None not in of}
    return known if all(len(of) == 1 for of in found.values()) else {}


def _chance_name(rows: Iterable[Mapping[str, Mapping[str, Any]]]) -> str:
    """What the row of the chance levels is called: of a model that is trained they are of what it may have learnt."""
    trained = any(_is_memorised(cell["method"], cell["metric"]) for row in rows for cell in row.values())
    return f"by chance{'<br><small>trained: random matchings, memorised</small>' if trained else ''}"


def _both_chances(cells: Iterable[Mapping[str, Any]]) -> str:
    """Why GroupScore has two chance levels, in one sentence with both where all sets have the same; "" where it has but
    one."""
    levels: dict[bool, set[float]] = {False: set(), True: set()}
    for cell in (each for each in cells if each["metric"] == GROUP_SCORE and each.get("chance") is not None):
        levels[_is_memorised(cell["method"], cell["metric"])].add(cell["chance"])
    if not levels[True] or levels[True] <= levels[False]:
        return ""
    scored, learnt = (
        f" ({_pct(next(iter(levels[trained])))} %)" if len(levels[trained]) == 1 else ""
        for trained in (False, True)
    )
    return (
        f"GroupScore has two chance levels, and both are right: of random scores{scored}, as the figure has it, and of "
        f"a model that has memorised random matchings{learnt}. In such a model each image scores highest with "
        "the caption it was trained with, so that a group with the right matching passes GroupScore, too."
    )


def _headings(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns as they first appear, those of one method beside each other: before, SimpleMatch, TTM."""
    methods: dict[str, list[str]] = {}
    for line in lines:
        for cell in line["cells"]:
            head = _heading(cell)
            own = "" if cell.get("head") is not None else cell["method"]
            if not any(head in heads for heads in methods.values()):
                methods.setdefault(own, []).append(head)
    heads = [head for heads in methods.values() for head in heads]
    if f"TTM {METRICS[GROUP_MATCH].label}" in heads:
        score = METRICS[GROUP_SCORE].label  # which after training comes behind what the table is about
        heads.sort(key=lambda head: head.endswith(f" {score}") and head != f"raw {score}")
    if any(_HELD_OUT in head for head in heads[1:]):  # beside what it is compared with, on a phone too
        heads[1:] = sorted(heads[1:], key=lambda head: _HELD_OUT not in head)
    return heads


def _scrolling(columns: int, table: str) -> str:
    """A table's markup in a place of its own, which says that it can be scrolled where it is wider than the page."""
    return (
        f'<div class="cm-wide"><p class="cm-more">This table has {columns} columns: scroll it sideways.</p>'
        f'<div class="cm-scroll" tabindex="0" role="region" aria-label="Table">{table}</div></div>'
    )


def _row_html(
    row: Mapping[str, Mapping[str, Any]],
    heads: Mapping[str, int],
    none: tuple[str, str],
    with_chance: bool,
    tops: Mapping[str, float],
) -> str:
    """The cells of a row. heads : the columns, with the decimals of what is printed there. none : what stands where it
    has no number, and why. with_chance : each beside its own. tops : the numbers to mark as the highest."""
    says = {head: _chance_said(cell, row) if with_chance else "" for head, cell in row.items()}
    measured = any(cell["yours"] is not None for cell in row.values())
    empty = f'<div><span class="cm-none" title="{none[1]}">{none[0]}</span></div>'
    known = {head for head in heads if head in row and _is_known(row[head])}
    cells = {
        head: _cell_html(row[head], measured, says[head], digits) if head in known else empty
        for head, digits in heads.items()
    }
    for head, following in pairwise(heads):
        if head in known and following in known and row[following]["metric"] == GAINS[0]:
            cells[head] += _gain_html(row[following], heads[following])
    tops_here = {head for head in known & tops.keys() if _reference(row[head]) == tops[head]}
    return "".join(
        f"<td{_named(head)}{_TOP if head in tops_here else ''}>{cell}</td>" for head, cell in cells.items()
    )


def _chance_said(cell: Mapping[str, Any], row: Mapping[str, Mapping[str, Any]]) -> str:
    """A cell's chance level, of a trained model's GroupScore both: beside 16.7 of the model before 50.0 looks like
    a mistake."""
    chance = cell.get("chance")
    if chance is None:
        return ""
    untrained = (
        {
            c.get("chance")
            for c in row.values()
            if c["metric"] == GROUP_SCORE and not _is_memorised(c["method"], GROUP_SCORE)
        }
        if _is_memorised(cell["method"], cell["metric"])
        else set()
    )
    scored = next(iter(untrained), None) if len(untrained) == 1 else None
    if scored is None or scored == chance:
        return f", chance\u00a0{_pct(chance)}"
    return f", chance\u00a0{_pct(scored)}; {_pct(chance)}{_IF_MEMORISED}"


def _named(head: str) -> str:
    """The name of a cell's column as an attribute: a phone has it beside each number where a row is several lines."""
    return f' data-head="{escape(head, quote=True)}"'


def _gain_html(cell: Mapping[str, Any], digits: int) -> str:
    """A gain in points below the value that it leads to, for a phone, where its own column is out of sight."""
    printed = _reference(cell)
    said = [] if printed is None else [f"{_signed(printed, digits)} points"]
    if cell["yours"] is not None:
        said.append(f"yours {_signed(cell['yours'], 2)} points")
    return f'<div class="cm-gain"><small>{"<br>".join(map(_true_minus, said))}</small></div>'


def _is_known(cell: Mapping[str, Any]) -> bool:
    return any(cell[name] is not None for name in _SOURCES)


def _row(line: Mapping[str, Any]) -> str:
    """The row of the table in which a line of the plan stands: SimpleMatch of a model in the model's own."""
    return line["line"].removesuffix(_SIMPLEMATCH)


def empty_rows(plan: Mapping[str, Any]) -> list[str]:
    """Rows without any number yet, by name; [] where no row has one."""
    known = dict.fromkeys(map(_row, plan["lines"]), False)
    for line in plan["lines"]:
        known[_row(line)] |= any(map(_is_known, line["cells"]))
    return [row for row, is_known in known.items() if not is_known] if any(known.values()) else []


def _interval_html(cell: Mapping[str, Any], whose: str, more: str) -> str:
    """The 95 % interval of a cell's number, and more; "" where it has neither."""
    low, high = (cell.get(f"{whose}_{end}") for end in ("low", "high"))
    if low is None:
        return f"<small>{more.removeprefix(', ')}</small>" if more else ""
    over = cell.get(f"{whose}_over") or "groups"
    return f'<small title="95 % interval over {over}">{_pct(low)}–{_pct(high)}{more}</small>'


def _printed_digits(lines: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Decimals of each column's numbers of the paper: one where no number of three or more has a second, else two."""
    printed: dict[str, list[float]] = {}
    for line in lines:
        for cell in line["cells"]:
            of = printed.setdefault(_heading(cell), [])
            of += [each for each in (cell["paper"], cell["paper_std"]) if each is not None]
    return {
        head: 1 if len(of) > 2 and all(abs(each - round(each, 1)) < 1e-9 for each in of) else 2
        for head, of in printed.items()
    }


def _cell_html(cell: Mapping[str, Any], measured: bool, chance: str, digits: int) -> str:
    signed = cell["metric"] == GAINS[0]
    if (
        cell["method"] == "chance"
    ):  # with one decimal as everywhere: it is no measurement, and 16.70 none of theirs
        digits = 1
    printed = "" if cell["paper"] is None else _number(cell["paper"], cell["paper_std"], digits, signed)
    upper = printed and f"<span>{printed}</span>"
    if cell["shipped"] is not None:
        title = f"measured over {counted(cell['shipped_seeds'], 'seed')}, shipped"
        upper += (
            f'<span title="{title}">{_number(cell["shipped"], cell["shipped_std"], signed=signed)}</span>'
        )
        upper += _interval_html(cell, "shipped", chance)
    yours = '<b class="cm-none">–</b>' if measured else ""
    if cell["yours"] is not None:
        number = f"<small>yours</small> {_number(cell['yours'], cell['yours_std'], signed=signed)}"
        yours = f'<b title="{"; ".join(_apart(cell)) or counted(cell["seeds"], "seed")}">{number}</b>'
        yours += _interval_html(cell, "yours", "")
    note = f' title="{escape(cell["note"], quote=True)}"' if cell["note"] else ""
    return f"<div{note}>{upper}{yours}</div>"


def _on_yours(plan: Mapping[str, Any]) -> list[str]:
    """What a cell has no room for: of which of your numbers seeds are missing, and where one more seed would be.

    Of a cell with value, deviation and interval it made up to five small lines.
    """
    of_world, said = str(plan.get("table", "")).startswith("world"), []
    for line in plan["lines"]:
        for cell in line["cells"]:
            apart = _apart({**cell, "wanted": line.get("wanted", 0), "sampled": of_world})
            if cell["yours"] is not None and apart:
                number = _number(cell["yours"], cell["yours_std"], signed=cell["metric"] == GAINS[0])
                said.append(f"{line['line']}, {_heading(cell)}: yours {number}, {'; '.join(apart)}.")
    return said


def _apart(cell: Mapping[str, Any]) -> list[str]:
    """`inside 74.2–85.0, where one more seed would probably be`, and `1 of 4 seeds`, as far as they are so."""
    is_part = cell["seeds"] < cell.get("wanted", 0)
    seeds = f"{cell['seeds']} of {counted(cell['wanted'], 'seed')}" if is_part else ""
    return [each for each in (_one_more_said(cell), seeds) if each]


def _one_more_said(cell: Mapping[str, Any]) -> str:
    """Whether a number of one seed lies where one more of the shipped seeds would; "" of several, and where the
    deviation is not the sample's, as the papers have it."""
    n, mean, std = cell["shipped_seeds"], cell["shipped"], cell["shipped_std"]
    if not cell.get("sampled") or cell["seeds"] != 1 or mean is None or std is None or cell["yours"] is None:
        return ""
    if UNITS.get(cell["metric"], "percent") != "percent" or (found := _one_more(mean, std, n)) is None:
        return ""
    low, high = max(found[0], 0.0), min(found[1], 100.0)
    where = "inside" if low <= cell["yours"] <= high else "outside"
    return f"{where} {_pct(low)}–{_pct(high)}, where one more seed would probably be"


def _number(mean: float, std: float | None, digits: int = 2, signed: bool = False) -> str:
    """`72.50 ± 0.64`, as the papers print it; the sign stays with its number where a phone breaks the line. signed : a
    gain in points, `+5.4` or `−0.53`; 0 has no sign."""
    shown = f"{mean:.{digits}f}"
    if signed and float(shown):
        shown = _signed(mean, digits)
    return _true_minus(shown) + ("" if std is None else f" ±\N{NO-BREAK SPACE}{std:.{digits}f}")


def plan_frame(plan: Mapping[str, Any]) -> pd.DataFrame:
    """A plan's record as a table to take away, one row per cell."""
    rows = [
        {"table": plan["table"], "line": line["line"], "state": line["state"], **cell, "head": _heading(cell)}
        for line in plan["lines"]
        for cell in line["cells"]
    ]
    return pd.DataFrame(rows)


def shown_frame(plan: Mapping[str, Any]) -> pd.DataFrame:
    """A plan's record as people read it, for a paper: a row per line and source, a column per heading, a dash without.
    Numbers have their 95 % interval where they were measured; chance levels stand in the last row, or below each line
    where its columns differ in them."""
    heads, digits = _headings(plan["lines"]), _printed_digits(plan["lines"])
    rows: dict[tuple[str, str], dict[str, str]] = {}
    by_line: dict[str, dict[str, Mapping[str, Any]]] = {}
    for line in plan["lines"]:
        for cell in line["cells"]:
            by_line.setdefault(_row(line), {})[_heading(cell)] = cell
            for source in (name for name in _SOURCES if cell[name] is not None):
                row = rows.setdefault((_row(line), source), {})
                decimals = digits[_heading(cell)] if source == "paper" else 2
                number = _number(cell[source], cell[f"{source}_std"], decimals)
                row[_heading(cell)] = number + _bracketed(cell, source)
    common = _common_chances(by_line.values(), heads)
    if not common:
        rows |= {(line, "chance"): levels for line, of in by_line.items() if (levels := _levels(of))}
    order = {line: at for at, line in enumerate(by_line)}
    known = sorted(rows, key=lambda key: (order[key[0]], (*_SOURCES, "chance").index(key[1])))
    cells = [[line, source, *(rows[line, source].get(h, "–") for h in heads)] for line, source in known]
    if common:
        cells.append(["chance", "", *(_pct(common[head], 2) if head in common else "–" for head in heads)])
    return pd.DataFrame(cells, columns=["Row", "Source", *heads])


def _bracketed(cell: Mapping[str, Any], source: str) -> str:
    """` [70.21, 79.02]`, the 95 % interval of a cell's number; "" where there is none."""
    low, high = (cell.get(f"{source}_{end}") for end in ("low", "high"))
    return "" if low is None else f" [{_pct(low, 2)}, {_pct(high, 2)}]"


def _levels(cells: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The chance levels of a line, by heading, as far as they are known."""
    found = {head: cell.get("chance") for head, cell in cells.items() if _is_known(cell)}
    return {head: _pct(level, 2) for head, level in found.items() if level is not None}


def missing_resources(missing: Iterable[str]) -> list[_MissingResource]:
    """What is waited for, each once, with the ways to get it.

    missing : `data of winoground: run ...` for each line that waits, as `LineStatus.missing` has them; the same may
    come more than once.
    """
    steps_by_name: dict[str, list[str]] = {}
    for text in missing:
        what, _, step = text.partition(": ")
        steps_by_name.setdefault(what, []).append(step)
    return [_missing(what, steps) for what, steps in steps_by_name.items()]


def _missing(what: str, steps: list[str]) -> _MissingResource:
    text = "; ".join(dict.fromkeys(steps))
    commands = tuple(dict.fromkeys(re.findall(r"`([^`]+)`", text)))
    return _MissingResource(what, text.replace("`", ""), commands, len(steps), _ways(text))


def _ways(text: str) -> tuple[tuple[_Step, ...], ...]:
    """The ways in a sentence. What ends it in words alone, such as which images are needed besides, or how large they
    are, holds of its first way too."""
    ways = [[_step(step) for step in _STEPS.split(way)] for way in _WAYS.split(text)]
    last = ways[-1]
    besides = len(last)
    while besides > 1 and not last[besides - 1].command and "download http" not in last[besides - 1].text:
        besides -= 1
    if len(ways) > 1:
        ways[0] += last[besides:]
    return tuple(map(tuple, ways))


# What stands between two ways to have the same, and between two steps of one.
_WAYS = re.compile(r", or (?=run `|download |accept |save |ask |clone |register )")
_STEPS = re.compile(r"; |, then |, (?=run `)")
_ONE_FILE = re.compile(r"download (https?://[^\s,?]+/[^\s,?/]+\.\w+) into (\S+)")


def _step(text: str) -> _Step:
    """A step of a sentence: its command apart, also that for a file at an address."""
    found, file = re.findall(r"`([^`]+)`", text), _ONE_FILE.fullmatch(text)
    if file is not None:
        return _Step("", shlex.join(["curl", "-L", "--create-dirs", "-O", "--output-dir", file[2], file[1]]))
    if len(found) != 1:
        return _Step(text.replace("`", ""), "")
    return _Step(re.sub(r"(\brun )?`[^`]+`", "", text).strip(), found[0])


def paper_frame(paper: str, table: str) -> pd.DataFrame:
    """A paper's table as it is read: one row per data set, model and method, one column per metric.

    Numbers are text, with their deviation and the number of the note (see `table_notes`) where the paper says more.
    """
    rows, notes = reference(paper, table), table_notes(paper, table)

    def printed(row: pd.Series) -> str:
        text = _number(row["value"], None if pd.isna(row["std"]) else row["std"])
        if round(row["value"], 2) != row["value"]:  # an alpha of 0.855
            text = f"{row['value']:g}" + ("" if pd.isna(row["std"]) else f" ± {row['std']:g}")
        return f"{text} [{notes.index(row['note']) + 1}]" if row["note"] else text

    keys = ["dataset", "subset", "model", "method"]
    texts, heads = [printed(row) for _, row in rows.iterrows()], [_metric_heading(m) for m in rows["metric"]]
    cells = rows.assign(text=texts, head=heads)
    order = list(dict.fromkeys(zip(*(cells[key] for key in keys), strict=True)))
    frame = cells.pivot(index=keys, columns="head", values="text").reindex(order)
    frame = frame[list(dict.fromkeys(heads))].fillna("")
    frame = frame.reset_index()
    frame.columns.name = None
    return frame.loc[:, (frame != "").any(axis=0)]


def _metric_heading(metric: str) -> str:
    """A metric of the papers with its unit, where that is not percent."""
    try:
        label = label_and_meaning(metric)[0]
    except KeyError:
        label = _GAIN_NAMES.get(metric) or metric.replace("_", " ").replace("map", "mAP")
    unit = UNITS[metric]
    return label if unit in ("percent", "1") or metric in GAINS else f"{label} ({unit})"


def table_notes(paper: str, table: str) -> list[str]:
    """What a reader of a paper's table must know, each note once."""
    return [note for note in dict.fromkeys(reference(paper, table)["note"]) if note]


def data_states(paper: str, table: str) -> dict[str, str]:
    """The benchmarks that a paper's table is about, as far as Crossmatch reads them: name -> state."""
    printed = set(reference(paper, table)["dataset"])
    states = {}
    for name in datasets.names(None):
        entry = datasets.benchmark_entry(name)
        if entry is not None and (entry.reference or (entry.title, ""))[0] in printed:
            states[name] = datasets.state(name)
    return states
