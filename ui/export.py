"""Charts, and what a view lets you take away: figure, table, LaTeX table, report, command line, link and citations."""

from __future__ import annotations

import html
import re
import shlex
import shutil
import tempfile
import textwrap
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode, urlsplit, urlunsplit
from xml.etree import ElementTree

import streamlit as st

from core.base.public_mode import is_public
from core.base.table_formats import _result_csv
from core.base.text import _file_columns, counted
from core.datasets.paper_results import CITATIONS
from core.exchange.figures import browser, write_figure
from core.exchange.uploads import TAGS
from core.figures.text import escape_markdown, label_and_meaning
from core.groups import GroupSet
from core.metrics.group_metrics import METRICS
from ui.formatting import by_shared
from ui.navigation import PAGES
from ui.selection import benchmark_of, shown_selection
from ui.uploads import PREFIX, is_upload, stored_upload, upload_store

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from core.metrics.evaluation import Evaluation
    from core.metrics.statistics import Estimate
    from ui.selection import Selection

MARGIN_NOTE = "Margin: how far the total of the model's matching leads the next best one's."
# In a line of an exported figure, which is 900 pixels wide: characters of its title and its note, names of its legend.
_TITLE_LINE, _NOTE_LINE, _LEGEND_ENTRIES = 100, 130, 5
# One look for all charts: no logo, a camera that saves an SVG, no zoom that a finger triggers by accident.
CHART = {"displaylogo": False, "modeBarButtons": [["toImage"]], "toImageButtonOptions": {"format": "svg"}}
_FIGURES = {  # by ending: type, icon
    ".png": ("image/png", "image"),
    ".svg": ("image/svg+xml", "draw"),
    ".html": ("text/html", "bar_chart"),
}
OWN = "Crossmatch"  # the key of its own entry in `CITATIONS`


def bars_note(names: Iterable[str], *rows: Mapping[str, Estimate]) -> str:
    """How bars of these metrics are read, said below them on a page and in the figure that is exported: in short what
    the note of a LaTeX table says. rows : what is drawn, a row of bars each."""
    names = list(names)
    shares = [METRICS[name].label for name in names if METRICS[name].share]
    dependent = f"; {', '.join(shares)}: of dependent answers" if shares else ""
    how = by_shared_where([row[name] for row in rows for name in names]) or f" (Clopper-Pearson{dependent})"
    return f"Thin lines: 95 % intervals{how}. Dotted lines: chance levels."


def by_shared_where(drawn: Sequence[Estimate]) -> str:
    """` by shared caption`, with “where groups share one” if some rows have no such groups; "" where none has."""
    kinds = dict.fromkeys(e.clustered.by for e in drawn if e.clustered is not None)
    if not any(map(by_shared, drawn)):
        return ""
    some = "" if all(e.clustered is not None for e in drawn) else ", where groups share one"
    return f" by shared {' or '.join(kinds)}{some}"


def chart(
    figure: go.Figure, alt: str, key: str | None = None, height: Literal["content", "stretch"] = "content"
) -> None:
    """A figure of the page. height : `stretch` where the style has it, which may give a phone less."""
    config = {**CHART, "toImageButtonOptions": {"format": "svg", "filename": key or "crossmatch"}}
    st.plotly_chart(figure, height=height, config=config, alt=alt, key=key)


def export_section(
    name: str,
    table: pd.DataFrame | Callable[[], pd.DataFrame] | None = None,
    figures: Mapping[str, go.Figure | Callable[[], go.Figure]] | None = None,
    *,
    latex: str | Callable[[], str] = "",
    report: Callable[[], bytes] | None = None,
    report_name: str = "",
    command: str = "",
    groups: GroupSet | None = None,
    papers: Sequence[str] = ("TTM",),
    more: Callable[[], None] | None = None,
    then: Callable[[], None] | None = None,
    label: str = "Export",
    title: str = "",
    note: str | Mapping[str, str] = "",
    state: Mapping[str, str] | None = None,
    moved: Mapping[str, float] | None = None,
    table_label: str = "Table (CSV)",
    metrics: Callable[[], pd.DataFrame] | None = None,
) -> None:
    """Downloads of a view, the link to it, and what reproduces and cites it; texts have a button that copies them.

    Files are made when they are asked for; so are tables and figures that are given as functions. latex : a whole
    table. report : a page that opens without network; report_name : of its file, where that is not `name`. command :
    what prints the same numbers. groups, papers : whose BibTeX it takes besides Crossmatch's own (keys of `CITATIONS`).
    more : draws what else there is; then : what stands below all files. label : of the button, where a page has two.
    title, note : above an exported figure, what it was measured on (model, set, number of groups) and how its marks are
    read (one note, or one by the figure's name): a slide has nothing else. state : what the link has besides, where the
    address leaves it out. moved : its sliders, as they stand on the page. metrics : of
    `metrics_table`, where `table` has other rows.
    """
    with st.popover(label, icon=":material/download:"):
        if more is not None:
            more()
        if table is not None:
            csv_button(table_label, table, name)
        if metrics is not None:
            csv_button("Metrics (CSV)", metrics, f"{name}-metrics")
        with_head = bool(figures) and _with_head(name, title or "".join(note))
        for each, figure in (figures or {}).items():
            own = note if isinstance(note, str) else note.get(each, "")
            head = (title, own) if with_head else ("", "")
            _figure_buttons(f"{name}-{each}", each, partial(_titled, figure, *head))
        if figures and len(_figure_endings()) == 1:
            st.caption("For an SVG, point at the figure on the page and press the camera at its upper right.")
        if report is not None:
            file = f"{report_name or name}-report.html"
            _file_button("Report (HTML)", report, file, "text/html", "description")
        if then is not None:
            then()
        _copied("Link to exactly this view", link(state, moved))
        _copied(f"Command that prints the same numbers{_where_to_run(command)}", command, "bash")
        _copied("LaTeX table (needs the package booktabs)", latex() if callable(latex) else latex, "latex")
        _copied("BibTeX", bibtex(groups, papers), "latex")


def _with_head(name: str, head: str) -> bool:
    """Whether exported pictures have their title and note: a slide needs them, a paper has its own below the figure.

    head : "" where there is neither, and so no choice.
    """
    return bool(head) and st.checkbox("Pictures with title and note", value=True, key=f"with-head-{name}")


def _figure_buttons(name: str, title: str, figure: go.Figure | Callable[[], go.Figure]) -> None:
    """A figure as a file for a slide, a paper or a browser."""
    with st.container(horizontal=True, gap="small", key=f"drawn-files-{name}"):
        for ending in _figure_endings():
            data = partial(_figure_bytes, figure, ending)
            mime, icon = _FIGURES[ending]
            _file_button(f"{title}{ending}", data, f"{name}{ending}", mime, icon)


def _titled(figure: go.Figure | Callable[[], go.Figure], title: str, note: str) -> go.Figure:
    """A figure with its title, a note below that, and as much more height; the one that is given stays."""
    drawn = figure() if callable(figure) else figure
    if not title and not note:
        return drawn
    lines = {
        part: [
            html.escape(line, quote=False) for line in textwrap.wrap(text, width)
        ]  # Plotly acts on some tags
        for part, text, width in (("title", title, _TITLE_LINE), ("note", note, _NOTE_LINE))
    }
    above = 14 + 32 * len(lines["title"]) + 18 * len(lines["note"]) + 22 * _legend_lines(drawn)
    head = {
        "text": "<br>".join(lines["title"]),
        "subtitle": {"text": "<br>".join(lines["note"]), "font": {"size": 12}},
        "font": {"size": 16},
        "x": 0,
        "xanchor": "left",
        "xref": "paper",
        "y": 1,
        "yanchor": "top",
        "yref": "container",
        "pad": {"t": 12 * len(lines["title"])},
    }
    height = (drawn.layout.height or 400) + above - (drawn.layout.margin.t or 0)
    return type(drawn)(drawn).update_layout(title=head, margin={"t": above}, height=height)


def _legend_lines(figure: go.Figure) -> int:
    """How many lines a figure's legend takes above it."""
    named = sum(trace.showlegend is not False for trace in figure.data)
    if named < 2 or figure.layout.showlegend is False:
        return 0
    named += sum(shape.showlegend is True for shape in figure.layout.shapes)
    return -(-named // _LEGEND_ENTRIES)


def _figure_endings() -> list[str]:
    """The formats a figure can be saved in: pictures are drawn by a browser of this machine, on no public server."""
    return [ending for ending in _FIGURES if ending == ".html" or (not is_public() and _has_browser())]


@cache
def _has_browser() -> bool:
    return browser() is not None


def _figure_bytes(figure: go.Figure | Callable[[], go.Figure], ending: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"figure{ending}"
        return write_figure(figure() if callable(figure) else figure, path).read_bytes()


def csv_button(
    label: str, table: pd.DataFrame | Callable[[], pd.DataFrame], name: str, **button: Any
) -> None:
    """Download a table as `NAME.csv`."""

    def data() -> bytes:
        return _result_csv(table() if callable(table) else table)

    _file_button(label, data, f"{name}.csv", "text/csv", "table", **button)


def _file_button(
    label: str, data: Callable[[], bytes], file: str, mime: str, icon: str, **button: Any
) -> None:
    file = file_name(file)
    st.download_button(
        label,
        data,
        file,
        mime,
        on_click="ignore",
        icon=f":material/{icon}:",
        key=f"download-{file}",
        **button,
    )


def file_name(name: str) -> str:
    """A name of a file that needs no quotes in any shell.

    >>> file_name("VGPT-Table 2, (3).csv")
    'VGPT-Table-2-3.csv'
    """
    stem, dot, ending = name.rpartition(".")
    return re.sub(r"[^\w.@~+-]+", "-", stem).strip("-") + dot + ending


_SHORT = 60  # letters of a model's, a file's or a set's name in the name of a download
_OWN = ("builtin/", "scenes/")  # what Crossmatch brings: in the name of a download it is known without


def selection_name(selection: Selection) -> str:
    """What downloads of a selection are called: by the file, or by the set and the model."""
    return measured_name([selection.model] if selection.is_file else [selection.benchmark, selection.model])


def measured_name(entries: Sequence[str]) -> str:
    """What downloads of one result are called. entries : sets, models and files (`upload/NAME`) that it is of."""
    return "-".join(_names_in_files(entries))


def pair_name(entries: Sequence[str]) -> str:
    """What downloads of two sides are called. entries : models, files (`upload/NAME`) or ids of runs."""
    return "-vs-".join(_names_in_files(entries))


def _names_in_files(entries: Sequence[str]) -> list[str]:
    """Sets, models and files as parts of a download's name: a file without its ending, where that tells all apart."""
    plain = [_plain_name(entry) for entry in entries]
    stems = [
        Path(name).stem if is_upload(entry) else name for entry, name in zip(entries, plain, strict=True)
    ]
    names = stems if len({*stems}) == len(stems) else plain
    for own in _OWN:
        names = [name.removeprefix(own) for name in names]
    return [re.sub(r"[^\w@~+-]+", "-", name)[:_SHORT].strip("-") for name in names]


def _where_to_run(command: str) -> str:
    """After what a command does, where it has to be pasted: it names files as they were uploaded, whose folder no
    browser tells, and `crossmatch` as a terminal of this installation knows it."""
    stored = upload_store().list() if command else []
    known = {file.name for file in stored} | {
        found["name"] for u in stored for found in u.facts["beside"].values()
    }
    named = [word for word in dict.fromkeys(_words(command)) if word in known]
    is_said = command.startswith("#")  # by the command of a run, in a comment of its own
    where = (
        f", in the folder with {' and '.join(map(escape_markdown, named))}" if named and not is_said else ""
    )
    own = not is_public() and shutil.which("crossmatch") is None
    return f"{where}. If the shell does not find it: `source .venv/bin/activate`" if own else where


def _words(command: str) -> list[str]:
    """A command's words, without the files that it writes."""
    words = shlex.split(command)
    return [word for before, word in zip(["", *words], words, strict=False) if before != "--out"]


def _copied(label: str, text: str, language: str | None = None) -> None:
    """A text with a button that copies it; nothing where there is none."""
    if text:
        st.caption(label)
        st.code(text, language=language, wrap_lines=True, height=160 if text.count("\n") > 8 else "content")


def evaluation_exports(
    selection: Selection, evaluations: Mapping[str, Evaluation], assumed: str = "", by: str = ""
) -> dict[str, Any]:
    """What `export_section` takes of one model or file, or of two, on the selected groups.

    evaluations : by model or file (`upload/NAME`). assumed : what a reader of the numbers has to know first.
    by : the tag whose table the page shows, which the command prints, too.
    """
    from core.exchange.layouts import latex_table
    from core.exchange.report import ReportSection, report_html
    from core.metrics.paired import differences

    named = {_plain_name(model): evaluation for model, evaluation in evaluations.items()}
    groups = selection.selected_groups
    own = {"set": "" if selection.is_file else selection.benchmark, "split": selection.split}
    where = (benchmark_of(selection.groups) if selection.is_file else None) or own

    pair, rows = list(named.values()), row_names(list(evaluations))
    command = _measuring_command(selection, list(evaluations)) + (f" --by {shlex.quote(by)}" if by else "")
    m, k = groups.shape
    about = f"{' and '.join(rows)} on {where['set'] or 'own groups'}, {counted(len(pair[0].ids), 'group')} of {m}×{k}"
    unknown = [name for name, each in zip(rows, pair, strict=True) if not each.truth_given]
    has = f"{' and '.join(unknown)} {'has' if len(unknown) == 1 else 'have'} no ground truth"
    truth = f"{has}: image i is assumed to belong to caption i." if unknown else ""
    about = ". ".join(filter(None, [about, assumed.rstrip("."), truth]))

    def report() -> bytes:
        of_one = [ReportSection(model, groups, e, where["set"], where["split"]) for model, e in named.items()]
        again = "" if assumed else command  # which makes no such assumption
        files = [
            name for name in _words(again) if any(name == _plain_name(e) for e in evaluations if is_upload(e))
        ]
        again = f"# in the folder with {' and '.join(files)}\n{again}" if files else again
        return report_html(of_one, command=again, note=assumed).encode()

    alone = (
        partial(metrics_table, rows[0], pair[0]) if len(pair) == 1 else None
    )  # of two the page has one of its own
    return {
        "title": selection.description if len(pair) == 1 else "",
        "metrics": alone,
        "latex": lambda: latex_table(
            [(name, e.metrics) for name, e in zip(rows, pair, strict=True)],
            differences(pair[0], pair[1]) if len(pair) == 2 else None,
            about,
        ),
        "report": report,
        "command": command,
        "groups": selection.groups,
        "more": partial(_ask_row_names, list(evaluations)) if any(map(is_upload, evaluations)) else None,
    }


def groups_table(model: str, evaluation: Evaluation) -> pd.DataFrame:
    """A row per group: verdicts, matching and margin, with the model's or file's name and the version."""
    from core.exchange.frames import _groups_file

    return _groups_file(evaluation, row_names([model])[0])


def metrics_table(name: str, evaluation: Evaluation) -> pd.DataFrame:
    """A row per metric, in percent: value, 95 % interval, chance level, tied groups; the interval by cluster too, where
    groups hang together. name : of the model or file."""
    import pandas as pd

    from core.exchange.run_table import _software_version
    from core.metrics.paired import _interval_named

    base = {"model": name, "groups": len(evaluation.ids)}
    rows = []
    for metric, found in evaluation.metrics.items():
        numbers = {"percent": found.value, "low": found.low, "high": found.high, "chance": found.chance}
        if found.clustered is not None:
            by = f"by {found.clustered.by}"
            numbers |= {f"{by}: low": found.clustered.low, f"{by}: high": found.clustered.high}
        label = label_and_meaning(metric)[0]
        how = _interval_named(metric, evaluation.shape[0])
        rows.append({**base, "metric": label, **numbers, "tied": found.ties, "interval": how})
    table = pd.DataFrame(rows).astype({"tied": "Int64"}).assign(crossmatch_version=_software_version())
    return _file_columns(table)


def tags_table(name: str, evaluation: Evaluation, tags: Sequence[str]) -> pd.DataFrame:
    """`metrics_table` of the groups with each value of each of these tags, one below the other."""
    import pandas as pd

    parts = [
        metrics_table(name, subset).assign(tag=tag, value=value)
        for tag in tags
        for value, subset in evaluation.slices(tag)[tag].items()
    ]
    found = pd.concat(parts, ignore_index=True)
    return found[["model", "tag", "value", *found.columns.drop(["model", "tag", "value"])]]


def row_names(entries: Sequence[str]) -> list[str]:
    """What models or files are called in exported tables: as somebody typed; else a file by its name without its
    ending, where that tells all apart."""
    plain = [_plain_name(entry) for entry in entries]
    stems = [
        Path(name).stem if is_upload(entry) else name for entry, name in zip(entries, plain, strict=True)
    ]
    names = stems if len({*stems}) == len(stems) else plain
    typed = [str(st.session_state.get(f"{_ROW_NAME}{entry}") or "").strip() for entry in entries]
    return [own or name for own, name in zip(typed, names, strict=True)]


_ROW_NAME = "row-name-"  # in the session, before a model or file: what somebody calls it


def _ask_row_names(entries: Sequence[str]) -> None:
    with st.container(horizontal=True, key="row-names"):
        for entry, name in zip(entries, row_names(entries), strict=True):
            st.text_input(
                f"{escape_markdown(_plain_name(entry))} in tables",
                key=f"{_ROW_NAME}{entry}", placeholder=name, max_chars=60, width=220,
            )  # fmt: skip


def _plain_name(entry: str) -> str:
    """A model, a benchmark, or the name of a file without what marks it as one."""
    return entry.removeprefix(PREFIX)


def group_exports(selection: Selection, evaluation: Evaluation, index: int) -> dict[str, Any]:
    """What `export_section` takes of one group: its own row, its picture for a slide, and what prints its numbers."""
    group = selection.selected_groups[index]
    name = group.id.replace("/", "-")

    def picture() -> bytes:
        from core.figures.group_slide import group_svg

        return group_svg(group, evaluation.group(index), _plain_name(selection.model)).encode()

    def button() -> None:
        picture_buttons("Picture of this group", name, picture)
        st.caption("Its images, the matching, scores and verdicts, for a slide or a paper.")

    whole = evaluation_exports(selection, {selection.model: evaluation})
    source = _source(selection, selection.model)
    commands = [
        shlex.join(["crossmatch", "export", what, *source, "--out", f"{what}.csv"])
        for what in ("scores", "matchings")
    ]
    of_group = (
        f'head -n 1 "$file"; grep -F -- {shlex.quote(group.id)} "$file"'  # below the names of its columns
    )
    found = f"for file in scores.csv matchings.csv; do {of_group}; done"
    return {
        "table": lambda: groups_table(selection.model, evaluation).iloc[[index]],
        "more": button,
        "command": "\n".join([*commands, found]),
        "report": whole["report"],
        "report_name": selection_name(selection),
        "groups": whole["groups"],
    }


def picture_buttons(label: str, name: str, picture: Callable[[], bytes]) -> None:
    """A picture that is drawn as SVG, as files for a slide or a paper.

    name : of the files.
    """
    with st.container(horizontal=True, gap="small", key=f"drawn-files-{name}"):
        if ".png" in _figure_endings():
            pixels = lambda: _figure_bytes(_svg_figure(picture()), ".png")  # noqa: E731
            _file_button(f"{label} (PNG)", pixels, f"{name}.png", "image/png", "image")
        _file_button(f"{label} (SVG)", picture, f"{name}.svg", "image/svg+xml", "draw")


def _svg_figure(svg: bytes) -> go.Figure:
    """A figure that is nothing but a picture, in its size: what draws figures draws it, too."""
    import plotly.graph_objects as go

    root = ElementTree.fromstring(svg)
    wide, high = (round(float(root.attrib[name])) for name in ("width", "height"))
    picture = {"source": f"data:image/svg+xml;base64,{b64encode(svg).decode()}", "sizing": "stretch"}
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "sizex": 1, "sizey": 1}
    bare = {"visible": False}
    figure = go.Figure(layout={"images": [{**picture, **place}], "xaxis": bare, "yaxis": bare})
    return figure.update_layout(width=wide, height=high, margin={"l": 0, "r": 0, "t": 0, "b": 0})


def _measuring_command(selection: Selection, models: Sequence[str]) -> str:
    """`crossmatch evaluate` of one model or file, `crossmatch compare` of two."""
    files = [stored_upload(model) for model in models if is_upload(model)]
    if len(models) > 1:
        words = ["compare", *map(_plain_name, models)]
        if len(files) < len(models):
            words += ["--benchmark", selection.benchmark, "--split", selection.split]
        words += _shape_words(selection, models)
    else:
        words = ["evaluate", *(word for word in _source(selection, models[0]) if word != "--benchmark")]
    # Of two files the tags are those of the first, and the command takes a table of them for a filter alone.
    has_tags = len(models) == 1 or (selection.is_file and selection.tags)
    beside = files[0].beside(TAGS) if has_tags and files else None
    words += [] if beside is None else ["--tags", beside[0]]
    return shlex.join(["crossmatch", *words, *tag_words(selection.tags)])


def _source(selection: Selection, model: str) -> list[str]:
    """The options that name what is measured: a file, or a model on a benchmark."""
    shape = _shape_words(selection, [model])
    if is_upload(model):
        file = stored_upload(model)
        return ["--embeddings" if file.shape else "--scores", file.name, *shape]
    return ["--benchmark", selection.benchmark, "--split", selection.split, "--model", model, *shape]


def _shape_words(selection: Selection, models: Sequence[str]) -> list[str]:
    """The groups' shape as an option, where a set or a file has more than one."""
    asked = any(is_upload(model) and stored_upload(model).shape for model in models)
    has_shape = asked or bool(st.session_state.get("shape"))
    return ["--shape", "x".join(map(str, selection.groups.shape))] if has_shape else []


def tag_words(tags: Sequence[str]) -> list[str]:
    """The filter by tags as options of a command."""
    return [word for tag in tags for word in ("--tag", tag)]


def link(state: Mapping[str, str] | None = None, moved: Mapping[str, float] | None = None) -> str:
    """The address of this view: page and every picked value. It names what is selected even where that is the default,
    which may be another one tomorrow, or on another machine.

    state : what the page shows besides, as far as the address does not say it. moved : sliders, by name;
    while one moves quickly, the address that came with its value is of a value before.
    """
    address = page_address(st.context.url or "")
    now = {name: [repr(value)] for name, value in (moved or {}).items()}
    had = {name: st.query_params.get_all(name) for name in st.query_params}
    picked = [(name, value) for name, values in {**had, **now}.items() for value in values]
    shown = {**shown_selection(), **(state or {})}
    defaults = [(k, v) for k, v in shown.items() if k not in st.query_params]
    query = urlencode([*defaults, *picked], safe="/: ")
    return f"{address}?{query}".replace(" ", "%20") if query else address


def page_address(url: str) -> str:
    """The address of a page, without its query, from what Streamlit says that it is.

    Streamlit cuts a page's name off the end of the address and puts the present page's there. A name that ends with
    another one (`Test-Time_Matching`, `Matching`) is cut in two, and the rest stays in between.

    >>> page_address("https://example.org/app/Test-Time_/Compare?set=x")
    'https://example.org/app/Compare'
    """
    names = [Path(page).stem.partition("_")[2] for page in PAGES if page.startswith("pages/")]
    rests = {
        name.removesuffix(other)
        for name in names
        for other in names
        if name != other and name.endswith(other)
    }
    parts = urlsplit(url)
    path = "/".join(part for part in parts.path.split("/") if part not in rests)
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def bibtex(groups: GroupSet | None, papers: Sequence[str]) -> str:
    """The entries of Crossmatch, of these papers (keys of `CITATIONS`) and of the data, each once."""
    data = [groups.citation] if groups is not None and groups.citation.startswith("@") else []
    return "\n\n".join(dict.fromkeys([CITATIONS[OWN], *(CITATIONS[name] for name in papers), *data]))


def cite(groups: GroupSet | None, papers: Sequence[str] = ("TTM", "Winoground"), note: str = "") -> None:
    """Where the data and the methods come from; papers : keys of `CITATIONS`."""
    with st.expander("Source, licence, citation"):
        if note:
            st.caption(note)
        if groups is not None:
            for label, text in (
                ("Data", groups.title or groups.name),
                ("Source", groups.source),
                ("Licence", groups.licence),
            ):
                st.text(f"{label}: {text or 'not given'}")
            if not groups.citation.startswith("@"):
                st.text(f"Cite the data as: {groups.citation or groups.name}")
        st.code(bibtex(groups, papers), language="latex", wrap_lines=True)
