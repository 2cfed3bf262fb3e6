"""Published results of named systems on one set, yours among them: a choice of the page Papers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import figures as plots
from core.base.errors import InputError
from core.base.limits import check
from core.base.public_mode import is_public
from core.base.text import _pct, counted
from core.datasets import benchmark_entry
from core.datasets.packed_tables import _unpacked
from core.datasets.paper_results import CITATIONS
from core.exchange.layouts import _Latex, _latex_cell, text_table_latex
from core.figures.text import escape_markdown
from core.metrics.group_metrics import METRICS
from core.papers.published import _BY_ITSELF, COLUMNS, PublishedSet, _comparable, _higher_said, _places
from core.runs.store import RunStore
from ui.compute_queue import READING
from ui.export import chart, export_section
from ui.formatting import swipe_hint, touch_help
from ui.misplaced import WAY_SCORES, renamed_scores, show_mistakes
from ui.page import show_error
from ui.selection import page_button, shared_parameters
from ui.uploads import PREFIX, stored_upload, upload_limit, upload_names

_LABELS = {"image_choice": "Image choice"}  # of what is no metric of groups
_READING = (
    "Numbers as printed, in percent, the highest first. A source gives no interval, and its preprocessing, prompts and "
    "version of the set may differ from yours. Chance is of scores that know nothing; a metric is compared with itself "
    "alone."
)
_ENDINGS = {".json", ".csv", ".npz", ".npy", ".jsonl", ".parquet"}  # of results and files of scores
_READ_AS = "published_renamed"  # where the session keeps a file of scores whose columns were said
_OWN_COLOUR = "violet"
_SET = "published-set"  # the place of the field for the set
_CITE = "published_cite"  # in the session: whether LaTeX has sources as \\cite
_BIBTEX_KEY = re.compile(r"@\w+\{([^,\s]+),")
_ROWS, _HEIGHT = 12, 520  # a table of more rows scrolls in so many pixels, below its heads
_HEADS = dict(
    zip(
        COLUMNS,
        (
            "Value (%)",
            "95 % from",
            "95 % to",
            "System",
            "Method",
            "What it is",
            "Not comparable because",
            "Source",
            "Year",
            "Read at",
            "Note",
            "Cited",
        ),
        strict=True,
    )
)


def section(store: RunStore, page: Mapping[str, str]) -> None:
    """A set, a metric, one's own file, and the table.

    page : what the page shows above it, for the link.
    """
    st.markdown("What others published of one set, and where yours stands: type a number, or upload a file.")
    sets = PublishedSet.every()
    st.html(f'<div id="{_SET}"></div>')  # to which what is said of one's own leads
    left, right = st.columns(2, vertical_alignment="bottom")
    label = left.selectbox("Set", list(sets), key="published_set", bind="query-params")
    chosen = sets[label]
    metric = right.selectbox(
        "Metric", chosen.metrics, format_func=_label, key="published_metric", bind="query-params"
    )
    sample = st.container()
    own, beside_number = _own(chosen, store, metric)
    if own is None and not _is_given():
        with sample:
            _show_example(chosen, metric)
    table = chosen.standing(metric, own)
    table, marks = table.assign(place=_places(table)), _marks(table)
    _say_own(table, marks, chosen, metric, beside_number)
    drawn = _draw_own(table, metric)
    typed = st.text_input("Filter by system, method or source", key="published_filter", width=400).strip()
    text = table.astype(str).agg(" ".join, axis=1).str.lower()
    table = table[text.str.contains(typed.lower(), regex=False) | table["kind"].eq("yours")]
    marks = {why: mark for why, mark in marks.items() if table["caution"].eq(why).any()}
    _draw(table, marks)
    st.caption(_READING)
    about = f"{label}, {_label(metric)}{f', rows with “{typed}”' if typed else ''}."
    cited = [key for keys in table["cited"] for key in keys.split("; ")]
    export_section(
        f"published-{label}",
        table.drop(columns=["cited", "place"]).rename(columns=_HEADS),
        drawn,
        latex=lambda: _latex(table, marks, about, st.session_state.get(_CITE, True)),
        more=_ask_cite,
        papers=[*dict.fromkeys(filter(None, [*cited, chosen.citation]))],
        title=f"{label}, {_label(metric)}: published, and yours",
        state={**page, "published_set": label, "published_metric": _label(metric)},
    )


def _ask_cite() -> None:
    meaning = "With the keys of the BibTeX below. Without it sources stand in words, as on the page."
    st.checkbox(r"LaTeX: sources as `\cite`", value=True, key=_CITE, help=meaning)
    touch_help(meaning)


def _marks(table: pd.DataFrame) -> dict[str, str]:
    """Why a row is not comparable -> its mark."""
    reasons = dict.fromkeys(filter(None, table["caution"]))
    return {why: f"[{number}]" for number, why in enumerate(reasons, 1)}


def _not_comparable(marks: Mapping[str, str]) -> list[str]:
    """What stands below the table."""
    return [f"{mark} Not comparable: {why}." for why, mark in marks.items()]


def _values(table: pd.DataFrame) -> list[str]:
    """As they are shown: `12.50 [9.40, 16.10]`, without an interval where there is none."""
    rows = table.to_dict("records")
    return [
        f"{_pct(row['value'], 1 if row['kind'] == 'chance' else 2)} {PublishedSet.interval(row)}".strip()
        for row in rows
    ]


def _latex(table: pd.DataFrame, marks: Mapping[str, str], about: str, cite: bool) -> str:
    """The table as it is shown, with its marks and what they say; one's own rows are bold. Where a number of another
    system was read, and what was assumed of one's own, stand below it. cite : sources are `\\cite`, not words."""
    rows = table.to_dict("records")
    elsewhere = [row["source"] for row in rows if row["address"]]
    own = {i: row for i, row in enumerate(rows) if row["kind"] == "yours"}
    assumed = [
        f"{_named(row)[0].removesuffix(_WHOSE['yours'])}: {row['note']}."
        for row in own.values()
        if row["note"]
    ]
    cells = pd.DataFrame(
        {
            "Mark": [marks.get(row["caution"], "") for row in rows],
            _HEADS["system"]: [_named(row)[0] for row in rows],
            _HEADS["method"]: pd.Series([_method_cell(_named(row)[1]) for row in rows], dtype=object),
            _HEADS["value"]: _values(table),
            _HEADS["source"]: pd.Series(
                [_cited(row) if cite and row["cited"] else _short_source(row) for row in rows],
                dtype=object,  # pandas' own texts would forget which of them are LaTeX
            ),
            _HEADS["published"]: table["published"].tolist(),
        }
    )
    read = [f"Read at: {'; '.join(dict.fromkeys(elsewhere))}."] if elsewhere else []
    shown = cells if marks else cells.drop(columns="Mark")
    notes = [
        about,
        *_bold_note(own.values()),
        *_not_comparable(marks),
        *assumed,
        *_noted(rows),
        _READING,
        *read,
    ]
    return text_table_latex(shown, notes, columns=("l" if marks else "") + "llrlr", bold=own)


_ALPHA = re.compile(r"alpha=(?:(alpha\*)(?:_(\w+))?|([\d.]+))")


def _method_cell(method: str) -> str:
    """A method in LaTeX, with its alpha as a formula; a dash where there is none."""
    if not _ALPHA.search(method):
        return method or "–"
    cell, end = "", 0
    for hit in _ALPHA.finditer(method):
        of = rf"_{{\mathrm{{{hit[2]}}}}}" if hit[2] else ""
        right = rf"\alpha^*{of}" if hit[1] else hit[3]
        cell += f"{_latex_cell(method[end : hit.start()])} $\\alpha={right}$"
        end = hit.end()
    return _Latex(f"{cell} {_latex_cell(method[end:])}".strip())


def _noted(rows: Sequence[Mapping[Any, Any]]) -> list[str]:
    """What is noted of published numbers, each note once with the systems and methods that it is of."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row["note"] and row["kind"] != "yours":
            found.setdefault(row["note"], []).append(f"{row['system']} {row['method']}".strip())
    return [f"{', '.join(dict.fromkeys(names))}: {note}." for note, names in found.items()]


def _named(row: Mapping[Any, Any]) -> tuple[str, str]:
    """System and method of a row in LaTeX: whose it is; of a typed number that nobody named no words of this page."""
    if row["kind"] == "yours" and (row["system"], row["method"]) == _UNNAMED:
        return "Ours", "–"
    method = "–" if row["kind"] == "yours" and row["method"] == _UNNAMED[1] else row["method"]
    return f"{row['system']}{_WHOSE.get(row['kind'], '')}", method


_UNNAMED = ("your number", "as typed")  # what a typed number is called on the page as long as nobody names it
_WHOSE = {"yours": " (yours)", "people": " (people)"}


def _bold_note(own: Collection[Mapping[Any, Any]]) -> list[str]:
    """Which rows are bold, and the place of each among the comparable published results; [] without one."""
    places = [
        f"{row['system']} {row['place']}" if len(own) > 1 else row["place"] for row in own if row["place"]
    ]
    among = f", {'; '.join(places)} comparable results" if places else ""
    return [f"Bold: yours{among}."] if own else []


def _cited(row: Mapping[Any, Any]) -> _Latex:
    r"""`\cite[Table 1]{zhu2026ttm}`, by the keys of the BibTeX; without where where that is no place of the paper."""
    keys = {name: _BIBTEX_KEY.search(CITATIONS[name])[1] for name in row["cited"].split("; ")}  # type: ignore[index]
    named = [part.partition(", ") for part in row["source"].split("; ")]
    if row["address"] or any(name not in keys or not where for name, _, where in named):
        return _Latex(rf"\cite{{{','.join(keys.values())}}}")
    places = {where: f"[{_latex_cell(where)}]" if re.search(r"\d", where) else "" for _, _, where in named}
    return _Latex(", ".join(rf"\cite{places[where]}{{{keys[name]}}}" for name, _, where in named))


def _short_source(row: Mapping[Any, Any]) -> str:
    """Who published a number; of another system without where it was read, which is long."""
    return re.split(r"(?<=\d{4}), ", row["source"])[0] if row["address"] else row["source"]


def _draw(table: pd.DataFrame, marks: Mapping[str, str]) -> None:
    """The table, one's own rows coloured, and why some of its rows are not comparable: a mark at the head of
    a row stands where a phone shows it, and the reasons are below. A plain table, whose lines break: no cell is cut."""
    heads = table.drop(columns=["caution", "address", "low", "high", "cited", "place"])
    heads = heads.assign(value=_values(table)).map(lambda cell: escape_markdown(str(cell)))
    heads["source"] = [
        f"[{source}]({address})" if address else source
        for source, address in zip(heads["source"], table["address"], strict=True)
    ]
    own = table["kind"].eq("yours")
    if marks or own.any():
        shown = table["caution"].map(lambda why: escape_markdown(marks.get(why, "")))
        yours = ("**yours** " + table["place"] + " " + shown).str.split().str.join(" ")
        heads.insert(0, "Mark", shown.where(~own, f":{_OWN_COLOUR}-background[" + yours + "]"))
    heads = heads.loc[:, (heads != "").any(axis=0)].rename(columns=_HEADS)
    with st.container(key="published-table"):
        swipe_hint("for method, source and year")
        st.table(
            heads, hide_index=True, border="horizontal", height=_HEIGHT if len(heads) > _ROWS else "content"
        )
    for line in _not_comparable(marks):
        st.caption(escape_markdown(line))


def _not_counted(table: pd.DataFrame, value: float, marks: Mapping[str, str]) -> str:
    """` Not counted above you: human, 3 × GPT-4V [1].`, what is higher and not compared; "" for none."""
    higher = table[table["value"].gt(value) & table["kind"].ne("yours")]
    higher = higher[higher["kind"].ne("published") | higher["caution"].ne("")]
    named = Counter(
        f"{row['system']} {marks.get(row['caution'], '')}".strip() for row in higher.to_dict("records")
    )
    said = ", ".join(f"{count} × {name}" if count > 1 else name for name, count in named.items())
    return f" Not counted above you: {escape_markdown(said)}." if said else ""


class _Example(NamedTuple):
    """The middle one of the comparable published numbers, as if somebody typed it as their own."""

    value: str
    groups: str
    system: str
    method: str

    @classmethod
    def of(cls, chosen: PublishedSet, metric: str) -> _Example | None:
        """Of all groups of the set where their number is known and the value is a share of it; None where nothing can
        be compared."""
        table = chosen.standing(metric)
        comparable = table[table["kind"].eq("published") & table["caution"].eq("")]
        if comparable.empty:
            return None
        row = comparable.iloc[len(comparable) // 2]
        found = cls(f"{row['value']:g}", "", str(row["system"]), str(row["method"]) or "as published")
        entry = benchmark_entry(chosen.benchmark(metric)) if chosen.benchmark(metric) else None
        if entry is None or not entry.counts.get(entry.splits[0]):
            return found
        whole = found._replace(groups=str(entry.counts[entry.splits[0]][0]))
        try:
            chosen._typed(metric, *whole)
        except InputError:  # a mean over seeds, or of an average
            return found
        return whole

    def fill(self) -> None:
        """Into the fields, as what it is."""
        for name, said in zip(self._fields, self, strict=True):
            st.session_state[f"published_{name}"] = f"example: {said}"[:40] if name == "system" else said[:40]


_FILES = ("published_own", "published_stored")


def _is_given() -> bool:
    """Whether anybody gives a result, be it one that cannot be: beside what is wrong with it stands no example."""
    typed = (st.session_state.get(key) or "" for key in ("published_value", "published_groups"))
    return any(map(str.strip, typed)) or any(map(st.session_state.get, _FILES))


def _show_example(chosen: PublishedSet, metric: str) -> None:
    """Before anybody gives a result: where a published number would stand, as one of one's own does."""
    example = _Example.of(chosen, metric)
    if example is None:
        return
    row = chosen._typed(metric, *example)
    table = chosen.standing(metric, row)
    own = table.assign(place=_places(table))[table["kind"].eq("yours")].iloc[0]
    would = f"{escape_markdown(example.system)}'s {_pct(own['value'], 2)} % would be {own['place']}."
    with st.container(key="published-example"):
        st.caption(f"**Example**: {would}")
        st.button("Fill in this example", on_click=example.fill)


def _say_own(
    table: pd.DataFrame,
    marks: Mapping[str, str],
    chosen: PublishedSet,
    metric: str,
    beside_number: DeltaGenerator,
) -> None:
    """What `_own_lines` says, in a box right below what one's rows come from: the table may lie below the screen, and
    is filtered by whoever looks. beside_number : where that stands of a number alone, which on a phone has a screen of
    fields for a file below it."""
    rows = table[table["kind"].eq("yours")].to_dict("records")
    taken = [_taken_for(chosen, metric, row) for row in rows]
    if lines := _own_lines(table, marks, taken):
        is_number = all(map(_is_typed, rows))
        with beside_number if is_number else st.container(), st.container(key="published-yours"):
            st.markdown("  \n".join(lines))


def _is_typed(row: Mapping[Any, Any]) -> bool:
    return bool(row["source"].startswith("typed"))


def _taken_for(chosen: PublishedSet, metric: str, row: Mapping[Any, Any]) -> str:
    """`, taken for Winoground, as it has 400 groups of 2×2 (choose another set ↑)` of a file that does not say itself
    of which set it is; `; 400 groups, as Winoground has: compared with it` of a number that somebody typed, who knows;
    "" of a run, and of a file that names its benchmark."""
    is_typed = _is_typed(row)
    if not is_typed and "names no benchmark" not in row["note"]:
        return ""
    groups = re.search(r"([\d,]+) groups?\b", row["note"])
    entry = benchmark_entry(chosen.benchmark(metric)) if chosen.benchmark(metric) else None
    has_as_many = entry is not None and groups and not row["caution"] and any(entry.counts.values())
    of = f" of {chosen._shape[0]}×{chosen._shape[1]}" if chosen._shape else ""
    way = f"([choose another set ↑](#{_SET}))"
    if is_typed:
        said = f"{groups[0]}, as {chosen.title} has: compared with it" if has_as_many and groups else ""
        return f"; {escape_markdown(said or f'compared with {chosen.title}')} {way}"
    why = f", as it has {groups[0]}{of}" if has_as_many and groups else ""
    return f", taken for {escape_markdown(chosen.title + why)} {way}"


def _draw_own(table: pd.DataFrame, metric: str) -> dict[str, Any]:
    """One's own numbers with their intervals among the published ones that they are compared with, and chance; returns
    the figure by name, for the export, {} where nothing can be compared."""
    own = table[table["kind"].eq("yours") & table["caution"].eq("")]
    others = table[table["kind"].eq("published") & table["caution"].eq("")]
    if own.empty or others.empty:
        return {}
    chances = table[table["kind"].eq("chance")]["value"]
    theirs, mine = ([_mark(row) for row in rows.to_dict("records")] for rows in (others, own))
    figure = plots._standing_figure(theirs, mine, chances.min() if chances.size else None)
    interval = " with its 95 % interval" if own["low"].ne("").any() else ""
    alt = (
        f"{_label(metric)} in percent: yours{interval} among the "
        f"{counted(len(others), 'comparable published result')}, and chance."
    )
    chart(figure, alt, "standing")
    return {"standing": figure}


def _mark(row: Mapping[Any, Any]) -> plots._Mark:
    ends = [None if row[end] == "" else float(row[end]) for end in ("low", "high")]
    return plots._Mark(", ".join(filter(None, (row["system"], row["method"]))), float(row["value"]), *ends)


def _own_lines(table: pd.DataFrame, marks: Mapping[str, str], taken: Sequence[str] = ()) -> list[str]:
    """Where one's own rows stand among what can be compared, and what is above them and cannot, or why one of them
    cannot be compared; a line for each. taken : for which set each was taken, and why."""
    others, lines = _comparable(table), []
    chances = table[table["kind"].eq("chance")]["value"]
    own = table[table["kind"].eq("yours")].to_dict("records")
    for row, of in zip(own, taken or [""] * len(own), strict=True):
        value = " ".join(filter(None, (f"{_pct(row['value'], 2)} %", PublishedSet.interval(row))))
        what = escape_markdown(f"{value} ({', '.join(filter(None, (row['system'], row['method'])))})") + of
        if row["caution"]:  # then nothing is above or below it
            lines.append(f"**Yours is not comparable**: {escape_markdown(row['caution'])}. It is {what}.")
            continue
        place = f", {row['place']}" if row["place"] else ""
        place += _beside_chance(chances, row)
        lines.append(
            f"**Yours{place}**: {what}; {_higher_said(others, row)}."
            f"{_not_counted(table, row['value'], marks)}"
        )
    return lines


def _beside_chance(chances: pd.Series, row: Mapping[Any, Any]) -> str:
    """`, below chance (16.7 %)` of a number that is under the lowest chance level, and of one whose interval holds it
    that it cannot be told from it; "" of others. chances : those that were published."""
    if not chances.size:
        return ""
    level, is_sure = chances.min(), row["low"] != ""
    if is_sure and row["low"] <= level <= row["high"]:
        return f", not distinguishable from chance ({_pct(level)} %)"
    return f", below chance ({_pct(level)} %)" if row["value"] < level else ""


def _label(metric: str) -> str:
    return METRICS[metric].label if metric in METRICS else _LABELS[metric]


def _own(chosen: PublishedSet, store: RunStore, metric: str) -> tuple[pd.DataFrame | None, DeltaGenerator]:
    """Rows of the number that is typed and of the result file that is given here, and of the finished runs; a file of
    something else, or a number that cannot be, is said. With them the place for what is said of the number."""
    typed, given = st.columns([1, 1])
    is_file = any(map(st.session_state.get, _FILES))
    with typed:
        rows, named, place = _of_number(chosen, metric, beside_file=is_file)
    with given:
        file = st.file_uploader(
            "Your own result: a file of scores or embeddings, or what `crossmatch evaluate` or `recall` writes with "
            "`--json` or `--out`",
            key="published_own",  # of any ending: what a browser refuses, it refuses without a next step
            max_upload_size=upload_limit(),
        )
        held = _stored_file(file is not None)
        assumed = (
            "A file that names no benchmark, as none of scores or embeddings does, is taken as one of "
            f"{chosen.title}, if it has as many groups of its shape."
        )
        beside_file = st.container()  # what is wrong with the file, right below it
        st.caption(escape_markdown(assumed))
    own = _GivenFile.uploaded(file) if file is not None else _GivenFile.stored(held) if held else None
    if own is not None:
        with beside_file:
            found = _of_file(chosen, own, metric, "; the number that is typed counts" if rows else "")
        rows += found if rows else [each.assign(**named) for each in found]
    rows.append(chosen.runs(store, metric))
    found = [each for each in rows if len(each)]
    return pd.concat(found, ignore_index=True) if found else None, place


def _stored_file(beside_upload: bool) -> str | None:
    """The name of a file that was uploaded before, on any page, and is chosen here; no field where there is none. It
    offers the selected file first.

    beside_upload : a file is given in the field above. That counts, so that what was chosen before goes: the field
    named one file, and the result was the other's.
    """
    selected = shared_parameters().get("set", "")
    entries = sorted(upload_names(), key=lambda entry: entry != selected)
    stored = [entry.removeprefix(PREFIX) for entry in entries]
    if not stored:
        return None
    if beside_upload:
        st.session_state["published_stored"] = None
    label = "Or a file that you have uploaded before"
    hint = "first remove the file above" if beside_upload else "choose a file"
    state: dict[str, Any] = {"key": "published_stored", "disabled": beside_upload}
    return st.selectbox(label, stored, index=None, placeholder=hint, **state)


def _of_number(
    chosen: PublishedSet, metric: str, *, beside_file: bool
) -> tuple[list[pd.DataFrame], dict[str, str], DeltaGenerator]:
    """The row of a number that is typed, which is in the address, or none of one that cannot be, which is said; what
    one's result is called, as far as somebody says it; and the place for what is said of the number.

    beside_file : a file is chosen, which says itself of how many groups it is: a number of them that was left without a
    value is nothing then.
    """
    field: dict[str, Any] = {"bind": "query-params", "max_chars": 40}
    with st.container(horizontal=True, key="published-number"):
        value = st.text_input(
            "Your value (%)", key="published_value", placeholder="31.5", width=130, **field,
            help=f"{_label(metric)} of {chosen.title}, in percent with the decimals that you have.",
        )  # fmt: skip
        groups = st.text_input(
            "Of how many groups", key="published_groups", placeholder="optional", width=150, **field,
            help="With it the value has its exact 95 % interval (Clopper and Pearson).",
        )  # fmt: skip
        place = st.container(key="published-answer")
        of = "Of the value that is typed here, or of the file where none is, as the table and its exports call it."
        system, method = (
            st.text_input(
                label, key=f"published_{label.lower()}", placeholder="optional", width=150, help=of, **field
            ).strip()
            for label in ("System", "Method")
        )
    named = {name: said for name, said in (("system", system), ("method", method)) if said}
    with place:
        _ask_of_share(value)
    try:
        if value.strip():
            return [chosen._typed(metric, value, groups, system, method)], named, place
        if groups.strip() and not beside_file:
            raise InputError("A number of groups alone is no result; type your value in percent beside it.")
    except InputError as error:
        with place:
            show_error(error)
    return [], named, place


def _ask_of_share(value: str) -> None:
    """Of a value such as 0.31, which may be a share of 1: as what it is taken, and a button that makes it a percentage;
    nothing of one that says its percent sign."""
    typed = value.strip().replace(",", ".")
    if not re.fullmatch(r"0?\.\d*[1-9]\d*", typed):
        return
    meant = f"{Decimal(typed).scaleb(2).normalize():f}"
    with st.container(horizontal=True, vertical_alignment="center", key="published-share"):
        st.caption(f"Taken as {typed} %.", width="content")
        st.button(f"I mean {meant} %", on_click=_type_value, args=(meant,))


def _type_value(value: str) -> None:
    st.session_state["published_value"] = value


class _GivenFile(NamedTuple):
    """A file of one's own result: of this page's field, or one that was uploaded before, on any page."""

    name: str
    content: bytes
    id: str  # of its content, under which the form for its columns is kept
    place: Mapping[str, str]  # where Your data has it; none of one that it has not

    @classmethod
    def uploaded(cls, file: Any) -> _GivenFile:
        return cls(file.name, file.getvalue(), file.file_id, {})

    @classmethod
    def stored(cls, name: str) -> _GivenFile:
        upload = stored_upload(f"{PREFIX}{name}")
        place = {"set": f"{PREFIX}{name}", "shape": upload.shape}
        return cls(upload.name, upload.content(), str(upload.facts["sha256"]), place)


def _of_file(chosen: PublishedSet, file: _GivenFile, metric: str, instead: str) -> list[pd.DataFrame]:
    """The row of a given file; of one that cannot be read a form for its columns, or that it is not used, and why.
    instead : what counts in its place, after that."""
    name, content = file.name, file.content
    read_as: dict[str, bytes] = st.session_state.setdefault(_READ_AS, {})
    if file.id in read_as:
        name, content = f"{Path(name).stem}.csv", read_as[file.id]
    try:
        check(name, file=len(file.content))  # browsers are told, but whoever is not one can send more
        packed, table = _unpacked(Path(name), content)
        name, content = (name, content) if table is None else (packed.name, table)
        _check_ending(name)
        with READING.one():
            return [chosen.result(Path(name), metric, content)]
    except InputError as error:
        shown, renamed_now = renamed_scores(name, content, file.id)
        if renamed_now is not None:
            read_as[file.id] = renamed_now
            st.rerun()
        if not shown:
            why = re.sub(rf"^{re.escape(file.name)}(?=\s)", "it", str(error))
            said = InputError(f"{file.name} is not used{instead}: {why}")
            show_mistakes(said, name, content, "Mend")
            if _BY_ITSELF in str(error):
                label, icon = "Measure it on Your data", ":material/arrow_forward:"
                way = {} if is_public() else {"way": WAY_SCORES}
                state = {**way, **file.place}
                page_button(label, "pages/8_Your_Data.py", state, icon=icon, key="measure-by-itself")
    return []


def _check_ending(name: str) -> None:
    ending = Path(name).suffix.lower()
    if ending not in _ENDINGS:
        raise InputError(
            f"{name} is neither a result nor a file of scores; give a file that ends in {', '.join(sorted(_ENDINGS))}."
        )
