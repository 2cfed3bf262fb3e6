"""The tables of the site that come from the code: commands, benchmarks, models, formats, terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import click
import typer

from core.base import table_formats
from core.cli import app
from core.datasets import DATASETS, SHIFTS
from core.datasets.base import GROUPS, Benchmark, BenchmarkFamily
from core.datasets.downloads import sources
from core.datasets.paper_results import CITATIONS
from core.datasets.score_files import _FORMATS as SCORES
from core.metrics.groups import GLOBAL, METRICS
from core.papers import TABLES
from core.rejudge._results import RESULT_FORMATS
from core.scenes.sets import SETS
from core.scorers.score_kinds import KINDS
from core.scoring.load import scorer_names
from core.teaching.glossary import glossary
from core.ttm.config import MODELS

_PAGES = {
    "Measure": "commands measure",
    "Look inside a benchmark or a model": "commands look",
    "Adapt, and what it brings and costs": "commands adapt",
    "Many runs, and what came out": "commands runs",
    "Data and this machine": "commands data",
}


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    def line(cells: Sequence[object]) -> str:
        return "| " + " | ".join(" ".join(str(cell).split()).replace("|", "\\|") for cell in cells) + " |"

    return "\n".join([line(head), line(["---"] * len(head)), *map(line, rows)])


def _code(text: object) -> str:
    return f"`{text}`" if str(text) else ""


def _plain(text: str) -> str:
    """A text of the code as Markdown shows it: word for word."""
    return text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


# ---- commands


def _commands(section: str) -> str:
    root: Any = typer.main.get_command(app)
    parts = []
    for name in root.sections[section]:
        found = root.get_command(click.Context(root), name)
        parts += _command(found.load() if hasattr(found, "load") else found, f"crossmatch {name}", 2)
    return "\n\n".join(parts)


def _command(command: Any, name: str, level: int) -> Iterator[str]:
    context = typer.Context(command, info_name=name)
    yield f"{'#' * level} {name}"
    yield _plain(" ".join((command.help or "").split()))
    if hasattr(command, "list_commands"):
        for each in command.list_commands(context):
            yield from _command(command.get_command(context, each), f"{name} {each}", level + 1)
        return
    yield f"```text\n{name} {' '.join(command.collect_usage_pieces(context))}\n```"
    for head, rows in _parameters(command, context).items():
        yield _table(
            [head, "what it is"], [(_code(option), _plain(text.replace("  ", " "))) for option, text in rows]
        )
    if command.epilog:
        example = command.epilog.removeprefix("Example: ")
        yield f"```bash\n{example}\n```"


def _parameters(command: Any, context: Any) -> dict[str, list[tuple[str, str]]]:
    """Arguments and options with their help, under the heads of `--help`."""
    found: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None or record[0] == "--help":
            continue
        argument = parameter.param_type_name == "argument"
        head = "Arguments" if argument else getattr(parameter, "rich_help_panel", None) or "Options"
        found.setdefault(head, []).append(record)
    return dict(sorted(found.items(), key=lambda item: item[0] != "Arguments"))


# ---- benchmarks


def _built_in() -> str:
    rows = [(_code(name), entry.title, entry.description) for name, entry in SETS.items()]
    return _table(["name", "title", "groups"], rows)


def _shifts() -> str:
    return _table(["add", "what it does"], [(_code(f"~{n}"), s.description) for n, s in SHIFTS.items()])


def _benchmarks() -> str:
    families = {name: family for name, family in DATASETS.items() if isinstance(family, BenchmarkFamily)}
    return "\n\n".join(part for name, family in families.items() for part in _family(name, family))


def _family(name: str, family: BenchmarkFamily) -> Iterator[str]:
    entries = list(family.benchmarks.values())
    first = entries[0]
    yield f"### {name}"
    title, source = _plain(first.title.partition(":")[0]), _source(first.source)
    yield f"{title}. Source: {source}. Licence: {_plain(first.licence)}. {_get(name)}"
    yield _table(
        ["name", "items", "shape", "splits"],
        [(_code(b.name), _items(b), _shape(b), ", ".join(b.splits)) for b in entries],
    )
    for note in dict.fromkeys(b.note for b in entries if b.note):
        yield _plain(note)
    citations = dict.fromkeys(CITATIONS.get(b.citation, b.citation) for b in entries)
    text = "\n\n".join(each.strip() for each in citations)
    indented = "\n".join(f"    {line}".rstrip() for line in f"```bibtex\n{text}\n```".split("\n"))
    yield f'??? quote "Citation"\n\n{indented}'


def _source(text: str) -> str:
    return " ".join(f"<{word}>" if word.startswith("http") else _plain(word) for word in text.split())


def _get(name: str) -> str:
    source = sources().get(name)
    if source is None:
        return "Get it by hand; `crossmatch list benchmarks NAME` says how."
    fetched = bool(source.items or source.hub)
    return f"`crossmatch fetch {name}`{' gets it' if fetched else ' says how to get it'}."


def _items(entry: Benchmark) -> str:
    counts = [entry.counts[split][0] for split in entry.splits if entry.counts.get(split)]
    kind = "" if entry.kind == GROUPS else f" ({entry.kind})"
    return (" + ".join(f"{count:,}" for count in counts) or "–") + kind


def _shape(entry: Benchmark) -> str:
    return "×".join(map(str, entry.shape)) if entry.shape else "varies" if entry.kind == GROUPS else "–"


# ---- models, metrics, formats, terms


def _models() -> str:
    rows = [(_code(name), KINDS[kind].label, KINDS[kind].meaning) for name, kind in scorer_names().items()]
    return _table(["name", "score", "what it is"], rows)


def _short_names() -> str:
    return _table(["short name", "model"], [(_code(short), _code(name)) for short, name in MODELS.items()])


def _metrics() -> str:
    rows = [
        (_code(name), m.label, _plain(m.meaning), m.reference) for name, m in {**METRICS, **GLOBAL}.items()
    ]
    return _table(["name", "label", "when it is right", "source"], rows)


def _formats() -> str:
    both = {
        **dict.fromkeys(SCORES),
        **dict.fromkeys(table_formats.READ),
        **dict.fromkeys(table_formats.WRITTEN),
    }

    def mark(known: bool) -> str:
        return "yes" if known else "–"

    rows = [
        (
            _code(ending),
            mark(ending in SCORES),
            mark(ending in SCORES and SCORES[ending][1] is not None),
            mark(ending in table_formats.READ),
            mark(ending in table_formats.WRITTEN),
        )
        for ending in both
    ]
    return _table(["ending", "scores read", "scores written", "tables read", "tables written"], rows)


def _results() -> str:
    rows = [(_code(name), ", ".join(map(_code, endings))) for name, (_, endings) in RESULT_FORMATS.items()]
    return _table(["`export results --format`", "file"], rows)


def _paper_tables() -> str:
    return _table(["name", "what it shows"], [(_code(name), title) for name, (title, _) in TABLES.items()])


def _glossary() -> str:
    return "\n\n".join(f"{_plain(term)}\n:   {_plain(text)}" for term, text in glossary().items())


MADE: dict[str, Callable[[], str]] = {
    **{page: partial(_commands, section) for section, page in _PAGES.items()},
    "built-in sets": _built_in,
    "shifts": _shifts,
    "benchmarks": _benchmarks,
    "models": _models,
    "short names": _short_names,
    "metrics": _metrics,
    "formats": _formats,
    "formats of results": _results,
    "tables of papers": _paper_tables,
    "glossary": _glossary,
}
