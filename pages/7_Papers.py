"""Papers: every table's numbers beside one's own runs, what is missing for the rest, and running it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

import ui
from core import figures as plots
from core import papers
from core.base.errors import unknown_name
from core.base.public_mode import is_public, shown
from core.base.text import counted, duration
from core.datasets.paper_results import CITATIONS
from core.debiasing.study import TUNED_ON_TEST, TUNED_PER_ROW
from core.exchange.layouts import text_table_latex
from core.figures.text import escape_markdown
from core.metrics.groups import GROUP_MATCH
from core.papers import table_html
from core.papers.background import is_working, start_table, stop_table
from core.runs.store import RunStore
from ui import paper_claims, published, runs, shipped_results, ttm_shifts
from ui.formatting import unbroken
from ui.measured_here import _FIRST_LINES, beside_note, figure_numbers, headline, names_note, record_here
from ui.missing import ways_to_get
from ui.navigation import TRAIN
from ui.views import came_back_to, read_view, view_field
from ui.visitor import on_phone

LEAD = "Three papers' numbers, what is measured of them here, and yours."
SHORT_LEAD = "What three papers claim, and what holds here."  # a line of a phone
CLAIM = {  # what each says, in a sentence
    "TTM": "GroupScore underrates models; their own matchings can teach them more.",
    "VGPT": "A captioner's likelihood ranks captions well; where false ones read well, its prior is in the way.",
    "Cola": "Models miss which attribute belongs to which object; a small multimodal adapter on top helps most.",
}
TERMS = {  # what the sentences on each paper's tables take for known
    "TTM": "Test-time matching (TTM) trains a model on its own best matchings. GroupMatch: a group is matched rightly. "
    "GroupScore: every single comparison is right.",
    "VGPT": "Generative score: how likely a captioner finds a caption.",
    "Cola": "mAP: how near the top the pictures asked for rank.",
}
HERE_NOTE = "“here”: small built-in models on built-in sets, trained on rendered scenes only."
MEMORISED_NOTE = "“If memorised”: after learning random matchings by heart."  # a line of a phone
SMALL_NOTE = (
    "Small: 95 % intervals; those before are over groups, and a little wider by caption, as on Matching."
)
HELD_OUT_GAIN = "held-out α gain"  # begins the head of that column
GAIN_NOTE = "Gain: over α = 0 on the same held-out halves, so not the difference of the columns."
YOURS = "Your own result"  # among those of one set; the other choices are of a paper's tables
NOTE = "The numbers are the papers' own, as printed; assets/papers/results.csv lists each with its table."
# Below the tables in LaTeX.
MEASURED_NOTE = (
    "Percent, where the head of a column says nothing else. Source: paper as printed, shipped as measured for "
    "Crossmatch, yours as measured here. Brackets: 95 % intervals of what was measured, over {over}; a paper prints "
    "none. ±: standard deviation over seeds. –: no number."
)
PRINTED_NOTE = (
    "The paper's numbers as printed, in percent where the head of a column says nothing else. It prints neither "
    "intervals nor chance levels; ±: its standard deviation."
)
STATES = {
    "done": (":material/check:", "blue", "done"),
    "running": (":material/play_arrow:", "violet", "running"),
    "stopped": (":material/stop:", "orange", "interrupted"),
    "ready": (":material/circle:", "gray", "ready to run"),
    "queued": (":material/schedule:", "gray", "waits its turn"),
    "begun": (":material/hourglass_bottom:", "gray", "with some of its seeds"),
    "missing": (":material/download:", "orange", "waiting for data or weights"),
    "served": (":material/cloud:", "orange", "waiting for an endpoint"),
    "printed": (":material/article:", "gray", "published numbers only"),
}
_MANY_ROWS, _TALL = 24, 620  # pixels of a table with more rows, which is scrolled by itself
_FIELD = 52  # letters of a name that a phone's field shows
# Of tables with a long title, what a phone's field shows whole.
_SHORT = {
    "Sets and models": "all built-in sets",
    "Transfer": "adapted on half of the groups",
    "Schedules": "how thresholds fall or rise",
    "Thresholds": "what is selected first",
    "Iterations": "how many are needed",
    "Cola": "strategies, 16 epochs",
    "Cola-64": "strategies, 64 epochs",
    "Alpha": "with and without the prior",
    "Retrieval": "among all captions of a set",
    "Table 3a": "image to text, five sets",
    "Table 3b": "text to image, four sets",
    "Table 6": "priors from more and fewer images",
    "Table 7": "priors from noise or from the set itself",
    "Table 9": "BLIP-2 on ARO, CREPE and two more",
    "Fig. 5": "by the number of attributes",
}
_MANY_SETS = 8  # of our rows, each of which is several lines on a phone
_PHONE_ROW, _PHONE_MARK = 20, 10  # pixels of a figure's row there, at the least, and of each of its marks
_NO_STEP = ("missing", "served", "printed")  # states of lines that no button stands beside
_FEW_SAID = 4  # sentences on your numbers that stand below the table; more are opened
_BESIDE = 5  # choices of columns that stand beside each other
_PHONE_BESIDE = 2  # on a phone, where two rows of them push the figure down
# Where else a paper's numbers are measured, on data that are here.
ELSEWHERE = {
    "vgpt": ("pages/3_Debias.py", "Measure the same on Debias"),
    "cola": ("pages/5_Retrieval.py", "Measure the same on Retrieval"),
}
LINKED = ("title", "eprint", "url")  # of a citation, what a link to its paper is made of
FIRST_OF_WORLD = "Sets and models"  # the table whose lines are counted
FIRST_TABLE = "Iterations"  # of the built-in world: minutes here, with shipped numbers beside it
# Where a run of a kind is opened; the others in the list of all runs.
RUN_PAGES = {
    "ttm": (runs.TTM_PAGE, {}),
    "simplematch": (runs.TTM_PAGE, {}),
    "adapt": ("pages/5_Retrieval.py", {"view": TRAIN}),
}


def choose() -> str:
    """Whose tables: of a paper, of the built-in world, or of all systems on one set. Where the address names a table
    alone, it is the one that has it."""
    names = [*table_html.PAPERS, table_html.WORLD, YOURS]
    asked = st.query_params.get("table", "")
    if st.query_params.get("published", "") == "true":  # an address of when this was a section of its own
        st.session_state["paper"] = YOURS
    st.query_params.pop("published", None)
    of_world = "world" in st.query_params or asked in table_html.table_choices(table_html.WORLD)
    holder = table_html.WORLD if of_world else names[0]
    asked_paper = read_view("paper", names, holder)
    ui.warn_unknown("paper", [asked_paper.unknown], names)
    # Beside each other on a laptop, whose first screen the figure would leave else.
    with st.container(horizontal=True, vertical_alignment="center", key="paper-and-claims"):
        paper = view_field("paper", names, "Tables of", label_visibility="collapsed", width="content")
        if (
            paper == table_html.WORLD or not on_phone()
        ):  # there where no figure follows, which has their lists above it
            paper_claims.section(paper)
    if paper != YOURS and "table" not in st.session_state:
        warn_unknown(paper, asked)
    return paper


def shows_files() -> bool:
    """Whether one's own result is asked for, which may be a file: known before `choose` is drawn."""
    back = came_back_to("paper")
    asked = st.session_state.get("paper") or st.query_params.get("paper", "") if back is None else back
    return asked == YOURS or st.query_params.get("published", "") == "true"


def paper_link(short: str) -> None:
    """The paper whose tables are shown, as its entry among the citations names it, with its code where that says it; on
    a phone what it says, as there its claims are folded."""
    entry = CITATIONS[short]
    found = {name: re.search(rf"^  {name} = {{(.+?)}},?$", entry, re.MULTILINE) for name in LINKED}
    title, number, code = (each and each[1] for each in found.values())
    ways = [f"[{escape_markdown(title or short)}](https://arxiv.org/abs/{number})"] if number else []
    ways += [f"[code and data]({code})"] if code else []
    if on_phone():
        st.caption(f"{CLAIM[short]} [Read {named(entry)}](https://arxiv.org/abs/{number}).")
        return
    st.caption(f"Paper: {', '.join(ways)}", width="content")


def named(entry: str) -> str:
    """A paper by its first author and its year, from its entry among the citations: Zhu et al., 2026."""
    author, year = (re.search(rf"^  {each} = {{(\w+)", entry, re.MULTILINE) for each in ("author", "year"))
    assert author is not None and year is not None  # every entry has both
    return f"{author[1]} et al., {year[1]}"


def choose_table(paper: str) -> table_html.TableChoice:
    """The field says of each table what it is of; the address has its name alone."""
    asked = st.query_params.get("table", "")
    tables = table_html.table_choices(paper)
    opening = opening_table(paper, tables)
    chosen = st.session_state.get("table", asked)
    st.session_state["table"] = chosen if chosen in tables else opening
    table = st.selectbox(
        "Table",
        list(tables),
        key="table",
        format_func=lambda name: short_name(f"{name}: {tables[name].title}"),
        label_visibility="collapsed",
        width=460 if paper in table_html.PAPERS else 520,  # beside a paper's title and the way to the plan
    )
    if table != (asked or opening):
        st.query_params["table"] = table
    return tables[table]


def short_name(name: str) -> str:
    """A table's name as a phone's field shows it: its own short one, or the first parts of its title, or words of it;
    the whole one stands below the choice."""
    if len(name) <= _FIELD:
        return name
    label = name.partition(":")[0]
    if label in _SHORT:
        return f"{label}: {_SHORT[label]}"
    start = name[: _FIELD - 1]
    parts = start.rpartition(", ")[0]
    return f"{parts if len(parts) > _FIELD // 2 else start.rpartition(' ')[0]} …"


def warn_unknown(paper: str, asked: str) -> None:
    """Name in one sentence a table of the address that this paper does not have, one that it has, and what is shown."""
    tables = table_html.table_choices(paper)
    if asked and asked not in tables:
        said = f"{unknown_name('table', asked, tables)} Shown: {opening_table(paper, tables)}."
        st.warning(escape_markdown(said), icon=":material/link_off:")


def opening_table(paper: str, tables: Mapping[str, table_html.TableChoice]) -> str:
    return world_table(tables) if paper == table_html.WORLD else next(iter(tables))


def world_table(tables: Mapping[str, table_html.TableChoice]) -> str:
    """The table of the built-in world to open: that of the figure in the address, where it names one."""
    figure = st.query_params.get("world", "")
    holders = [
        label for label, each in tables.items() if figure in shipped_results.OF_TABLE.get(each.key, ())
    ]
    return holders[0] if holders else FIRST_TABLE


# --- tables that can be run ----------------------------------------------------------------------------------------


def runnable(name: str, way: Any) -> None:
    """A table of runs: what it says, what can be done now, its figure, its numbers beside yours, every line with its
    next step. way : the place for the way down to them."""
    whole, folds = st.container(key="paper-table"), st.container()
    tail = st.container(horizontal=True, key="paper-tail")  # the setting stands below, beside Export
    seeds, wrong = 1, list[str]()
    if any(line.job is not None and line.seeds is None for line in papers.lines(name)):
        with tail.popover("Seeds per measurement", width="content"), ui.checked_numbers(whole) as wrong:
            seeds = int(
                ui.number(st, "Seeds per measurement", 1, 64, papers.SEEDS, key="seeds") or papers.SEEDS
            )
            st.caption(
                "Every measurement that trains is run with so many seeds; its number is their mean. Those with a "
                "number of their own, as those of Cola's protocol (3), keep it."
            )
    store = ui.VisitorStore()
    plan = papers.table_plan(store, name, seeds)
    with way:
        st.markdown(way_to_plan(plan), width="content")
    busy = under_way(store, name, plan)
    asked, poll = (name, seeds, busy, " ".join(wrong)), 3.0 if busy else None
    with whole:
        record = plan.record()
        found = verdict(store, record)
        is_beside = has_figure(record) and paper_claims.has_claims(st.session_state["paper"])
        if on_phone() and not is_beside and st.session_state["paper"] != table_html.WORLD:
            paper_claims.section(st.session_state["paper"])
        say_lead(name, record, found)
        above, below = ("", "table-actions") if is_beside else ("table-actions", "")
        act = partial(st.fragment(acting, run_every=poll), *asked, [plan])
        actions_at(above, act)
        counted_of = lines_counted(store, name)
        with st.container(key="figure-beside-claims" if is_beside else None):  # on a laptop; see the style
            figure, claims = st.container(), st.container()
            with claims:  # first: on a phone its lists stand above the figure, and pushed it down
                paper_claims.each_claim(st.session_state["paper"], found, is_beside)
            with figure:
                about_above(name)
                figures = figures_of(name, seeds, plan, poll)
            paper_claims.evidence(st.session_state["paper"], counted_of)
        actions_at(below, act)
        if counted_of is not None and st.session_state["paper"] not in table_html.PAPERS:
            with st.expander("How measurements are counted"):  # of a paper it stands with its claims
                paper_claims.how_counted(counted_of)
        st.fragment(standing, run_every=poll)(*asked, [plan])
        folded = folded_label(name, record)
    if folded:
        with folds:
            st.fragment(folded_figure, run_every=poll)(name, seeds, folded, [plan])
    with tail:
        ui.export_section(
            f"table-{name.replace('/', '-')}",
            table_html.plan_frame(record),
            figures,
            latex=lambda: text_table_latex(table_html.shown_frame(record), [measured_note(record)]),
            command=f"crossmatch reproduce {name}",
            title=f"{name}: published, and measured here",
            state=view_state(),
        )


def lines_counted(store: RunStore, name: str) -> dict[str, Any] | None:
    """The table of all sets and models, where its lines are counted beside this one; else None."""
    if not counts_lines(name):
        return None
    return record_here(store, table_html.table_choices(table_html.WORLD)[FIRST_OF_WORLD].key)


def counts_lines(key: str) -> bool:
    """Whether the lines of all sets and models are counted beside this table."""
    of_world = table_html.table_choices(table_html.WORLD)[FIRST_OF_WORLD].key
    return key == of_world or FIRST_OF_WORLD in table_html.COUNTERPARTS.get(key, ())


def how_counted(key: str) -> str:
    """` [How this is counted ↓](#...).`, the way from a count to how it is counted, beside that of another page, which
    looked like another finding. "" where another table is shown."""
    counted_too = counts_lines(key) and ttm_shifts.every_rise()
    return f" [How this is counted ↓](#{ttm_shifts.COUNTED})." if counted_too else ""


def measured_note(record: dict[str, Any]) -> str:
    cells = [cell for line in record["lines"] for cell in line["cells"]]
    over = intervals_over(cells)
    if not over or any(cell["yours_low"] is not None for cell in cells):
        over = [*over, *(["groups"] if "groups" not in over else [])]  # those of one's own runs
    return MEASURED_NOTE.format(over=" (shipped), or over ".join(over))


def figures_of(name: str, seeds: int, plan: papers.TablePlan, poll: float | None) -> dict[str, Any]:
    """Draws what a table says as a figure, the shipped one where there is one; returns the figures by name, for the
    export. poll : seconds after which that of the numbers is drawn anew."""
    record = plan.record()
    data = figure_numbers(ui.VisitorStore(), record)
    choices = columns_of(record)
    if name in shipped_results.OF_TABLE:
        numbers = {"numbers": lambda: plots.papers_figure(data)}
        with st.container(gap="xxsmall"):
            return numbers | shipped_results.section(shipped_results.OF_TABLE[name])
    chosen = ""
    with st.container(gap="xxsmall"):  # on a laptop both are on the first screen
        if choices:
            chosen = choose_column(list(choices))
        if choices or (data.has_numbers and data.has_few):
            st.fragment(as_figure, run_every=poll)(name, seeds, [plan], chosen)
    drawn = choices.get(chosen, data)
    return {"numbers": lambda: plots.papers_figure(drawn, table_html._compares_rows(record))}


def columns_of(record: dict[str, Any]) -> dict[str, Any]:
    """What the figure of a table may show, by name: of the papers and of strategies each data set; else the columns are
    what is compared, and all are shown."""
    by_method = record["table"].startswith("world") and not table_html._compares_rows(record)
    return {} if by_method else figure_numbers(ui.VisitorStore(), record)._choices()


def has_figure(record: dict[str, Any]) -> bool:
    """Whether the numbers of a table stand in a figure above it."""
    data = plots.papers_data(record)
    is_drawn = bool(columns_of(record)) or (data.has_numbers and data.has_few)
    return is_drawn and record["table"] not in shipped_results.OF_TABLE


def choose_column(names: Sequence[str]) -> str:
    """Which columns the figure shows: a few choices beside each other, many in a field."""
    asked = st.query_params.get("column", "")
    if "column" not in st.session_state:
        ui.warn_unknown("column", [asked], names)
    elif st.session_state["column"] not in names:  # chosen at another table
        del st.session_state["column"]
        st.query_params.pop("column", None)
    label: dict[str, Any] = {"key": "column", "bind": "query-params", "label_visibility": "collapsed"}
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="figure-of"):
        st.caption("Figure of", width="content")
        if len(names) <= (_PHONE_BESIDE if on_phone() else _BESIDE):
            return str(
                st.segmented_control("Figure of", names, default=names[0], required=True, **label) or names[0]
            )
        return str(st.selectbox("Figure of", names, width=320, **label))


def folded_label(name: str, record: dict[str, Any]) -> str:
    """What the figure that is opened below the table is called: that of many columns, or of your numbers beside a
    shipped one; "" where there is none."""
    data = plots.papers_data(record)
    if name in shipped_results.OF_TABLE:
        return "" if data.is_one_sided else "The same with your numbers"
    is_shown = data.has_few or bool(columns_of(record))
    return "" if is_shown or not data.has_numbers else "As a figure"


def view_state() -> dict[str, str]:
    """Paper and table, which the address leaves out where they are the first ones."""
    return {key: st.session_state[key] for key in ("paper", "table") if key in st.session_state}


def under_way(store: RunStore, name: str, plan: papers.TablePlan) -> bool:
    """Whether its numbers may change: this table is being run, or a run that somebody began elsewhere is of it."""
    return is_working(store, name) or any(status.state == "running" for status in plan.lines)


def plan_now(store: RunStore, name: str, seeds: int, made: list[papers.TablePlan]) -> papers.TablePlan:
    """The table's plan. made : the one that the page has just made, for its parts; a part that draws itself anew makes
    another."""
    return made.pop() if made else papers.table_plan(store, name, seeds)


def acting(name: str, seeds: int, polled: bool, wrong: str, made: list[papers.TablePlan]) -> None:
    """What can be done with the table now; polled while it is worked on. wrong : about the number of seeds: nothing
    starts then."""
    with ui.show_errors():
        store = ui.VisitorStore()
        plan = plan_now(store, name, seeds, made)
        if polled != under_way(store, name, plan):
            st.rerun()
        if wrong:
            st.caption(escape_markdown(f"To start, change “Seeds per measurement”: {wrong}"))
        actions(store, plan, bool(wrong))


def standing(name: str, seeds: int, polled: bool, wrong: str, made: list[papers.TablePlan]) -> None:
    """How far the table is: as `acting`."""
    with ui.show_errors():
        store = ui.VisitorStore()
        plan = plan_now(store, name, seeds, made)
        record = plan.record()
        empty = len(table_html.empty_rows(record))
        rows = len({line["line"] for line in record["lines"]}) - empty
        ours, more = tables(store, record, rows, bool(empty) and st.session_state.get("empty", False))
        both = table_html._both_chances(cell for line in record["lines"] for cell in line["cells"])
        if both:
            st.caption(both)
        if empty:
            st.toggle(
                f"Also the {counted(empty, 'row')} without any number", key="empty", bind="query-params"
            )
        with st.expander(f"How to read the numbers{', and more on ours' * bool(more)}"):
            for said in more:
                st.markdown(said)
            st.caption(f"{reading(record, ours, plan.deviation)} {plan.remark}")
        plan_of_lines(store, plan, bool(wrong))
        elsewhere(plan)


class Ours(NamedTuple):
    """A table of the built-in world below a paper's: what stands above it, its markup, its first lines and the others
    where it is long, the name by which it is opened, "" where it is on this page already, and what it says of the
    paper's claim."""

    head: str
    note: str
    markup: str
    first: str = ""
    others: str = ""
    opens: str = ""
    said: str = ""
    is_folded: bool = False  # on a phone, where the figure above has our numbers


def tables(
    store: RunStore, record: dict[str, Any], rows: int, empty: bool
) -> tuple[list[Mapping[str, Any]], list[str]]:
    """The table, and below a paper's what is measured here of the same kind: its lines of the built-in world, or the
    tables there that answer the same question, one for each length of training. Returns the cells of those tables, and
    what is said of them beyond a sentence each, in Markdown."""
    own, built_in = table_html.halves(record, empty)
    yours = table_html._on_yours(record)
    names = table_html.COUNTERPARTS.get(record["table"], ())
    choices = table_html.table_choices(table_html.WORLD)
    ours, cells, more = [], [], list[str]()
    if built_in:
        note = f"{table_html.SHIPPED[0].upper()}{table_html.SHIPPED[1:]}"
        ours.append(Ours(ours_head("", choices[names[0]].title if names else ""), note, built_in))
    for name in names[bool(built_in) :]:
        title = choices[name].title
        measured = record_here(store, choices[name].key)
        whole, first, others = (
            table_html.halves({**measured, "lines": measured["lines"][of]})[0]
            for of in (slice(None), slice(_first_lines(measured)), slice(_first_lines(measured), None))
        )
        note = f"{title[0].upper()}{title[1:]}."
        said = "" if record["table"].startswith("cola/") else finding_of(choices[name].key, measured, record)
        if table_html._compares_rows(measured):  # whose highest would be of each part
            first = others = ""
        in_figure = table_html._compares_rows(record) and has_figure(record)
        ours.append(Ours(ours_head(name, title), note, whole, first, others, name, said, in_figure))
        cells += [cell for line in measured["lines"] for cell in line["cells"]]
        yours += table_html._on_yours(measured)
    if not own:
        st.caption(table_html.NOT_PRINTED)
    if not ours or (not own and len(ours) == 1):
        markup_table(own or ours.pop(0).markup, rows)
    elif own:  # one above the other: beside each other, each would show half of its columns
        own_table(record, own)
        st.html('<div id="ours-here"></div>')  # to which what is said above the table leads
        for said in findings(record["table"], record)[1:]:
            first, rest = in_short(said)
            st.markdown(first)
            more.append(rest)
    for each in ours[:-1]:  # of several the longest training decides; the others are opened
        with st.expander(each.head.strip("*")):
            more.append(ours_table(each._replace(is_folded=False)))
    for each in ours[-1:]:
        more.append(ours_table(each))
    if len(yours) <= _FEW_SAID:  # a number far outside of the ± above it stood there without a word
        if yours:
            st.caption("\n".join(f"- {escape_markdown(said)}" for said in yours))
        yours = []
    return cells, [*filter(None, more), *on_yours(yours)]


def on_yours(said: Sequence[str]) -> list[str]:
    """What the cells of your numbers have no room for, in Markdown; nothing where there is nothing."""
    items = "\n".join(f"- {escape_markdown(each)}" for each in said)
    return [f"**On your numbers**\n\n{items}"] if said else []


def _first_lines(record: dict[str, Any]) -> int:
    """How many lines of ours are in sight of many: those of four rows, of which some have a second one of
    SimpleMatch."""
    has_two = any(line["line"].endswith(table_html._SIMPLEMATCH) for line in record["lines"])
    return _FIRST_LINES if has_two else _FIRST_LINES // 2


def own_table(record: dict[str, Any], own: str) -> None:
    """A paper's table with its head; on a phone, where the figure above it says most of it, folded (see the style)."""
    with st.container(key="printed"):
        if has_figure(record):
            yours = any(cell["yours"] is not None for line in record["lines"] for cell in line["cells"])
            beside = ", with yours" if yours else ""
            rows = counted(_rows_of(own), "row")
            fold(f"Published, as the paper prints it{beside}: {rows}")
        st.markdown(published_head(record))
        st.html(own)


def fold(title: str) -> None:
    """What a phone has closed of what stands beside it; see the style."""
    st.html(f'<details class="cm-fold"><summary>{title}</summary></details>')


def fold_ours(lines: int) -> None:
    """On a phone our table is closed, as the paper's: the figure above has its numbers."""
    fold(f"Ours: {lines} measurements, with intervals and chance")


def published_head(record: dict[str, Any]) -> str:
    """Above a paper's table: of a figure its lines are there alone, until one of them has been run."""
    cells = [cell for line in record["lines"] for cell in line["cells"]]
    if any(cell["paper"] is not None for cell in cells):
        return "**Published**, as the paper prints it"
    return "**The paper's rows**, of which it prints no numbers: yours stand here once you have run one"


def verdict(store: RunStore, record: dict[str, Any]) -> str:
    """`**Here, with small models on rendered scenes, GroupMatch rises in 6 of 49 ...** (below).`, under
    what a paper's table says; "" where nothing here tests its claim."""
    key = record["table"]
    names = [] if key.startswith("cola/") else table_html.COUNTERPARTS.get(key, ())[-1:]
    said = table_html._findings(key, record)
    for name in names:
        world = table_html.table_choices(table_html.WORLD)[name].key
        said += table_html._findings(world, record_here(store, world), key)
    verdicts = [escape_markdown(each.verdict) for each in said if each.verdict]
    return " ".join(f"**{each}** ([below ↓](#ours-here))." for each in verdicts)


def way_to_plan(plan: papers.TablePlan) -> str:
    """A link down to the measurements of the table and what runs them."""
    can_run = any(status.state in ("ready", "stopped") for status in plan.lines) and not is_public()
    return f"[{'Run a measurement' if can_run else 'What each measurement needs'} ↓](#plan-of-lines)"


def finding_of(key: str, measured: dict[str, Any], record: dict[str, Any]) -> str:
    """What our table says of the paper's claim, in Markdown."""
    return "\n\n".join(in_markdown(each) for each in table_html._findings(key, measured, record["table"]))


def in_markdown(said: table_html._Finding) -> str:
    """A finding without its verdict on the paper's claim, which stands above the table."""
    text = said._replace(verdict="").whole
    return escape_markdown(unbroken(text).replace("α = ", "α\u00a0=\u00a0"))


def ours_head(name: str, title: str) -> str:
    """Whose a table is, with its length of training where its title says that, else with its name."""
    epochs = re.search(r"\d+ epochs", title)
    where = f", after {epochs[0]}" if epochs else f": {name}" if name else ""
    return f"**Ours, on the built-in world{where}**"


def ours_table(ours: Ours) -> str:
    """One of our tables below its head and what it says in a sentence; returns what it says beyond that."""
    side_head(ours.head, ours.note, ours.opens)
    first, more = in_short(ours.said)
    if first:
        st.markdown(first)
    lines = _rows_of(ours.markup)
    if lines <= (_MANY_SETS if ours.first else _MANY_ROWS):
        with st.container(key="ours-on-phone" if ours.is_folded else None):
            if ours.is_folded:
                fold_ours(lines)
            ours_markup(ours.opens, ours.markup)
        return more
    if not ours.first:
        with st.expander(f"All {lines} rows"):  # what is below it is soon there
            ours_markup(ours.opens, ours.markup)
        return more
    of_gains = ours.opens == FIRST_OF_WORLD
    with st.container(key="ours-on-phone" if ours.is_folded else "ours-gains" if of_gains else None):
        if ours.is_folded:  # on a phone; see the style
            fold_ours(lines)
        ours_markup(ours.opens, ours.first)
        if of_gains:  # there GroupMatch alone, before and after, until it is opened
            fold("Every number: GroupScore, too")
        with st.expander(f"The other {lines - _rows_of(ours.first)} measurements"):
            st.html(ours.others)
    return more


def ours_markup(name: str, markup: str) -> None:
    """One of our tables, and in a line below it what “if memorised” means, where it says that: it stood in a fold."""
    st.html(markup)
    if table_html._IF_MEMORISED in markup:
        with st.container(key=f"if-memorised-{name}"):  # on a phone once these numbers are in sight
            st.caption(MEMORISED_NOTE if on_phone() else f"{MEMORISED_NOTE} {SMALL_NOTE}")
    gain_note(markup)


def gain_note(markup: str) -> None:
    """Right below a table with held-out gains what they are over: 60.00, 59.87 and −0.53 looked like a slip."""
    if HELD_OUT_GAIN in markup:
        st.caption(GAIN_NOTE)


def in_short(said: str) -> tuple[str, str]:
    """What our table says, in Markdown, as its first sentence and the others: a phone has the table in sight then."""
    found = re.search(r"(?<=\\\.)\s+(?=[A-Z])", said)
    return (said, "") if found is None else (said[: found.start()], said[found.end() :])


def _rows_of(markup: str) -> int:
    """The rows of a table with numbers, without its head and that of the chance levels."""
    return markup.count("<tr") - 1 - markup.count('"cm-chance"')


def side_head(label: str, note: str, opens: str = "") -> None:
    """Above one of two tables: whose it is, and the way to it where it is another one."""
    with st.container(horizontal=True, vertical_alignment="center", key=f"side-{opens or label[2:6]}"):
        st.markdown(f"{label}  \n{escape_markdown(note)}")
        if opens:
            state = {"paper": table_html.WORLD, "table": opens}
            icon = ":material/arrow_forward:"
            ui.page_button("Open our table", "pages/7_Papers.py", state, icon=icon, key=f"open-{opens}")


def markup_table(markup: str, rows: int) -> None:
    with st.container(height=_TALL if rows > _MANY_ROWS else "content"):  # what is below it is soon there
        st.html(markup)
    gain_note(markup)


def folded_figure(name: str, seeds: int, label: str, made: list[papers.TablePlan]) -> None:
    """The table as a figure, once it is opened; drawn anew while the table is worked on."""
    box = st.expander(label, key="as-figure", on_change="rerun")
    if box.open:
        with box:
            as_figure(name, seeds, made)


def as_figure(name: str, seeds: int, made: list[papers.TablePlan], chosen: str = "") -> None:
    """The numbers of a table, one row per line. chosen : the columns to show, of `columns_of`."""
    with ui.show_errors():
        plan = plan_now(ui.VisitorStore(), name, seeds, made)
        record = plan.record()
        data, ranked = figure_numbers(ui.VisitorStore(), record), table_html._compares_rows(record)
        whole = columns_of(record).get(chosen, data)
        shown_data, who = headline(record, whole, ranked)
        if who and st.session_state.get("all_rows", st.query_params.get("all_rows") == "true"):
            shown_data = whole
        side = "" if shown_data.is_one_sided else ", the reference hollow and yours filled"
        of = f", {chosen}" if chosen else ""
        part = "" if shown_data is whole else f", {len(shown_data.lines)} of {len(whole.lines)} lines"
        alt = f"Numbers of the table {plan.title}{of}{side}, one row per line{part}."
        marks = len(shown_data.results) if shown_data.has_few else 0
        least = max(_PHONE_ROW, _PHONE_MARK * marks) if on_phone() else 0
        ui.chart(plots.papers_figure(shown_data, ranked, least), alt, "papers-figure")
        if who:
            choose_rows(len(whole.lines), who)
        levels = plots._chance_said(shown_data) if least else ""  # its legend would be of five lines
        if said := " ".join(filter(None, (levels, names_note(record, shown_data)))):
            st.caption(said)
        if any(line.startswith("here: ") for line in shown_data.lines):
            st.caption(HERE_NOTE)
        if ranked:
            note = highest_note(shown_data, len(shown_data.results) < len(data.results))
            st.caption(f"{note} {beside_note(record)}")


def choose_rows(count: int, who: str) -> None:
    """Below a figure of a part of its rows: the way to all of them, and who the part is."""
    with st.container(horizontal=True, vertical_alignment="center", key="figure-rows"):
        st.toggle(f"All {count} rows", key="all_rows", bind="query-params", width="content")
        if not st.session_state["all_rows"]:
            st.caption(f"Shown: {who}.", width="content")


def highest_note(shown_data: Any, has_more: bool) -> str:
    """Below a figure: how it and the table mark the highest, and that there are more columns than it shows."""
    apart = ", humans apart" if "human" in shown_data.lines else ""
    rest = " All columns stand in the tables below." if has_more else ""
    return f"The highest of each column{apart}: a number in the figure, shaded in the table.{rest}"


def reading(record: dict[str, Any], ours: Sequence[Mapping[str, Any]], deviation: str) -> str:
    """How to read the table's cells. ours : those of the tables below it."""
    cells = [cell for line in record["lines"] for cell in line["cells"]]
    is_printed = any(cell["paper"] is not None for cell in cells)
    source = "The paper's numbers" if is_printed else "Shipped results"
    text = f"{source}, in percent; a gain in points is in percentage points."
    if any(cell["yours"] is not None for cell in cells):
        several = f"of several the mean ± standard deviation, {deviation}"
        text += f" Below, in bold: yours, of one seed its number, {several}."
    else:
        text += " Yours stand below them once you have run one."
    if table_html._compares_rows(record) and not has_figure(record):  # else its caption says so
        text += " Shaded: the highest of its column, humans apart."
    both = table_html._both_chances(ours)  # of the table's own it stands below it
    return text + in_words([*cells, *ours]) + intervals([*cells, *ours]) + (f" {both}" if both else "")


def intervals_over(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the intervals of shipped numbers are over, each once."""
    return list(dict.fromkeys(cell["shipped_over"] for cell in cells if cell["shipped_low"] is not None))


def intervals(cells: Sequence[Mapping[str, Any]]) -> str:
    """What the small intervals are over, and which shipped numbers have none; "" where none is shown."""
    over = intervals_over(cells)
    is_yours = any(cell["yours_low"] is not None for cell in cells)
    if not over and not is_yours:
        return ""
    bounds = "the mean of the seeds' bounds: how far seeds differ is not in it, but in the ± beside"
    several = any(cell["shipped_seeds"] > 1 for cell in cells)
    said = [f"{each} ({bounds})" if several and "seeds" not in each else each for each in over]
    text = f" Small: the 95 % interval over {', or over '.join(said)}." if said else ""
    if is_yours and "groups" not in over:  # else said already
        text += " Small, of yours: the 95 % interval over groups (the mean of the seeds' bounds)."
    without = dict.fromkeys(
        cell["head"] or cell["method"]
        for cell in cells
        if cell["shipped"] is not None and cell["shipped_low"] is None
    )
    tuned = [head for head in without if TUNED_ON_TEST in head]
    lacking = [head for head in without if head not in tuned]
    for heads, why in (
        (tuned, "which is chosen on the groups that it is measured on"),
        (lacking, "of which the shipped results hold none"),
    ):
        if heads:
            text += f" No interval: {', '.join(f'“{head}”' for head in heads)}, {why}."
    if any(cell["paper"] is not None for cell in cells):
        text += " The paper prints none."
    return text


def in_words(cells: Sequence[Mapping[str, Any]]) -> str:
    """What the heads of columns say in the papers' own short words, as far as they do; "" where none does."""
    heads = [cell.get("head") or "" for cell in cells]
    said = ""
    if any(cell["method"] == "raw" and cell.get("head") is None for cell in cells):
        said += " “raw”: the model as it is, before anything is trained."
    if any((cell["method"], cell["metric"]) == ("SimpleMatch", GROUP_MATCH) for cell in cells):
        said += (
            " “GroupMatch before TTM”: the raw model's GroupMatch, before anything is trained, which the paper heads "
            "“SimpleMatch”; a model that learns its own matchings can reach it in GroupScore."
        )
    if any(head.startswith(HELD_OUT_GAIN) for head in heads):
        said += (
            " “held-out α gain”: what an α chosen on one half of the groups gains over α = 0 on "
            "the other half, in points of TextScore: the number to quote; α = 0 beside it is of all groups."
        )
    if any(TUNED_ON_TEST in head for head in heads):
        whose = ", for every row anew" if any(TUNED_PER_ROW in head for head in heads) else ""
        said += (
            f" “best α ({TUNED_ON_TEST})”: the α that is best on the very test groups it is reported on{whose}; an "
            "upper bound, which nobody reaches without their labels."
        )
    return said


def served_note(plan: papers.TablePlan) -> None:
    """What lines of a served model wait for; nothing where none does."""
    waiting = [status for status in plan.lines if state_of(status) == "served"]
    if waiting:
        names = dict.fromkeys(job.model.removeprefix("api:") for s in waiting for job in s.line.jobs)
        st.caption(
            escape_markdown(
                f"{counted(len(waiting), 'measurement')} of {', '.join(names)}: it has no weights to download, and "
                "nobody can train it. Its scores come from an endpoint, whose key “Plan” tells how to set; a file with "
                "its scores can be measured on “Your data”."
            )
        )


def state_of(status: papers.LineStatus) -> str:
    """A key of `STATES`: a model that an endpoint serves waits for that, and for no weights; a line that can run may
    have some of its seeds."""
    if status.state == "ready" and status.complete:
        return "begun"
    return "served" if status.state == "missing" and status.is_served else status.state


def say_lead(key: str, record: dict[str, Any], found: str) -> None:
    """Two paragraphs: what the sets ask and the paper found, then what came out here. found : the latter, or ""."""
    with st.container(key="paper-lead", gap="xxsmall"):
        st.markdown(told(key, record, said_above(key) if on_phone() else ""))
        if found:
            st.markdown(f"{found}{how_counted(key)}")


def told(key: str, record: dict[str, Any] | None = None, above: str = "") -> str:
    """The table's title, what its sets ask and the words mean, and what it says, in Markdown. above : what of it stands
    above the figure."""
    title = f"**{escape_markdown(st.session_state['table'])}: {escape_markdown(chosen.title)}.**"
    explained = (escape_markdown(each) for each in (table_html._about(key), terms()) if each not in above)
    head = " ".join(filter(None, (title, *explained)))
    says = "".join(findings(key, record)[:1])  # of the built-in world what came out here, and so by itself
    between = "\n\n" if st.session_state["paper"] == table_html.WORLD else " "
    return f"{head}{between}{says}".strip()


def about_above(key: str) -> None:
    """On a phone, where all else that is said of a table stands below its figure: what its sets ask and what the words
    in it mean, above that."""
    if on_phone() and (about := said_above(key)):
        with st.container(key="paper-about"):
            st.caption(escape_markdown(about))


def said_above(key: str) -> str:
    """What a phone has above a figure: what its sets ask, and what the words of the paper mean."""
    return " ".join(filter(None, (table_html._about(key), terms())))


def terms() -> str:
    """What the words of the paper whose tables are shown mean; "" of the built-in world."""
    return TERMS.get(table_html.PAPERS.get(st.session_state["paper"], ""), "")


def actions_at(key: str, act: Callable[[], None]) -> None:
    """What can be done with a table, at one of two places: below a figure that is to end on the first screen, else
    above it; on a phone below all else. key : "" at the other place."""
    if key:
        with st.container(key=key):
            act()


def findings(key: str, record: dict[str, Any] | None = None) -> list[str]:
    """What a table says, and what is measured here of the same where that is something else, in Markdown."""
    return [in_markdown(each) for each in table_html._findings(key, record)]


def actions(store: RunStore, plan: papers.TablePlan, blocked: bool) -> None:
    """Run or stop everything that can run, and the time it takes. blocked : nothing may start."""
    states = [state_of(status) for status in plan.lines]
    ready = [status for status in plan.lines if status.state in ("ready", "stopped")]
    working = is_working(store, plan.name)
    with st.container(horizontal=True, vertical_alignment="center"):
        if working and not is_public():
            stop = lambda: stop_table(store, plan.name, plan.seeds)  # noqa: E731
            help_text = "What is finished is kept, to the last whole iteration; the rest can be resumed here."
            button: dict[str, Any] = {"icon": ":material/stop:", "help": help_text}
            st.button("Stop running this table", on_click=runs.run_action, args=(stop,), **button)
        elif ready and not is_public():
            begin = lambda: start_table(store, plan.name, plan.seeds)  # noqa: E731
            label = "Resume what was interrupted" if "stopped" in states else "Run all available"
            short = (
                plan.seconds is not None and plan.seconds <= 3600
            )  # else no click that the page recommends
            st.button(
                label,
                type="primary" if short else "secondary",
                icon=":material/play_arrow:",
                on_click=runs.run_action,
                args=(begin,),
                disabled=blocked,
            )
        if ready and is_public():
            st.caption(
                f"{counted(len(ready), 'measurement')} can run on your own installation.", width="content"
            )
        elif ready:
            seconds = plan.seconds
            left = "no time estimate yet" if seconds is None else f"about {duration(seconds)}"
            beside = f", {plan.at_once} runs at a time" if plan.at_once > 1 and seconds is not None else ""
            lines = (
                f"{counted(len(ready), 'measurement')}{' to go' if working else ''}, {seeds_text(ready)} each"
            )
            st.caption(f"{lines}: {left}{beside}. It continues when you close this page.", width="content")


def seeds_text(lines: Sequence[papers.LineStatus]) -> str:
    """`4 seeds`, of lines with several numbers of their own `1 or 3 seeds`, of lines that train nothing `once`."""
    *more, last = sorted({status.seeds_needed for status in lines})
    if (*more, last) == (1,):
        return "once"
    return f"{', '.join(map(str, more))}{' or ' if more else ''}{counted(last, 'seed')}"


def states_line(plan: papers.TablePlan) -> None:
    """How many lines are in which state."""
    states = [state_of(status) for status in plan.lines]
    with st.container(horizontal=True, vertical_alignment="center"):
        for name, (icon, colour, label) in STATES.items():
            if name in states:
                st.badge(f"{states.count(name)} {label}", icon=icon, color=colour)  # type: ignore[arg-type]


def elsewhere(plan: papers.TablePlan) -> None:
    """The page on which the same is measured of other sets and models."""
    page = ELSEWHERE.get(plan.name.partition("/")[0])
    if page is not None:
        ui.page_button(page[1], page[0], {}, icon=":material/straighten:")


def plan_of_lines(store: RunStore, plan: papers.TablePlan, blocked: bool) -> None:
    """How many lines are in which state; once it is opened, every line with its next step, then what the table waits
    for, each once."""
    needs = table_html.missing_resources(text for status in plan.lines for text in status.missing)
    more = f"{counted(len(needs), 'thing')} to get first" if needs else "each with its next step"
    label = f"Plan: {counted(len(plan.lines), 'measurement')}, {more}"
    st.html('<div id="plan-of-lines"></div>')
    box = st.expander(label, key="plan", on_change="rerun")
    with box:
        states_line(plan)
        if plan.name == "world":
            st.caption("A row of the table is two measurements here: test-time matching, and SimpleMatch.")
        served_note(plan)
    if not box.open:
        return
    with box:
        rest = [status for status in plan.lines if state_of(status) not in _NO_STEP]
        with st.container(key="plan-rows"):
            for status in rest:
                queued = is_working(store, plan.name)
                line_row(store, status, f"line-{plan.lines.index(status)}", queued, blocked)
        lines_without_step(plan)
        if needs:
            st.markdown(
                "**Not on this machine.** A measurement can be run once all that it waits for is here."
            )
        for item in needs:
            resource(item)


def lines_without_step(plan: papers.TablePlan) -> None:
    """The lines that nothing can be done with now, in few words: what each waits for, once it is opened, and the names
    of those that are printed alone."""
    waiting = [status for status in plan.lines if state_of(status) in ("missing", "served")]
    printed_alone = [status.line.label for status in plan.lines if state_of(status) == "printed"]
    if printed_alone:
        st.caption(escape_markdown(f"Published numbers only: {'; '.join(printed_alone)}."))
    if not waiting:
        return
    verb = "waits" if len(waiting) == 1 else "wait"
    with st.expander(f"{counted(len(waiting), 'measurement')} {verb}, and for what"):
        st.markdown("\n".join(map(waits_for, waiting)))


def waits_for(status: papers.LineStatus) -> str:
    """A line that waits as an item of a list, by the names that stand below."""
    needs = "; ".join(text.partition(": ")[0] for text in status.missing)
    some = f" ({len(status.complete)} of {counted(status.seeds_needed, 'seed')})" if status.complete else ""
    return f"- **{escape_markdown(status.line.label)}**{some}: {escape_markdown(needs)}"


def line_row(store: RunStore, status: papers.LineStatus, key: str, queued: bool, blocked: bool) -> None:
    """A line by itself: state, seeds, time, and one button with its next step.

    queued : the whole table is being run, this line in its turn.
    """
    what, state, seeds, step = st.columns([4, 3, 3, 3], vertical_alignment="center")
    waits = queued and status.state in ("ready", "stopped")
    icon, colour, label = STATES["queued" if waits else state_of(status)]
    what.markdown(f"**{escape_markdown(status.line.label)}**")
    state.badge(label, icon=icon, color=colour)  # type: ignore[arg-type]
    if status.line.jobs:
        timed = status.seconds is not None and status.state != "done"
        time = f", {duration(status.seconds)} ({status.time_source})" if timed else ""
        seeds.caption(
            escape_markdown(f"{len(status.complete)} of {counted(status.seeds_needed, 'seed')}{time}")
        )
    with step:
        if not waits:
            next_step(store, status, key, blocked)


def next_step(store: RunStore, status: papers.LineStatus, key: str, blocked: bool) -> None:
    """One button: open its runs, or run it."""
    if status.state in ("ready", "stopped") and not is_public():
        begin = lambda: status.start(store)  # noqa: E731
        icon = ":material/play_arrow:"
        st.button("Run", key=key, icon=icon, on_click=runs.run_action, args=(begin,), disabled=blocked)
    elif status.runs:
        newest = store.get(next(iter(status.runs)))
        page, state = RUN_PAGES.get(newest.kind, ("pages/9_Runs.py", {}))
        # Only the page of test-time matching shows the seeds of a group as one.
        name = newest.config.get("group") if page == runs.TTM_PAGE else None
        parameter = "run" if newest.kind in RUN_PAGES else "runs"
        state = {**state, parameter: name or newest.id}
        ui.page_button("Open its runs", page, state, icon=":material/open_in_full:", key=key)


def resource(item: Any) -> None:
    """Data or weights that are not here, with the ways to get them once it is opened."""
    label = f"**{escape_markdown(item.what)}**, for {counted(item.lines, 'measurement')}"
    with st.expander(label):
        ways_to_get(item.ways)


# --- tables of other kinds -----------------------------------------------------------------------------------------


def printed(paper: str, table: str) -> None:
    """A table that is no run of adaptation: its numbers, its notes, and how to measure the same."""
    frame = table_html.paper_frame(paper, table)
    if on_phone():
        paper_claims.section(st.session_state["paper"])
    st.markdown(told(table))
    about = [name for name in ("subset", "model", "method") if name in frame]
    numbers_first = frame[
        [name for name in frame if name not in about] + about
    ]  # a phone shows three columns
    st.dataframe(numbers_first, hide_index=True, key="printed")
    for number, note in enumerate(table_html.table_notes(paper, table), 1):
        st.caption(escape_markdown(f"[{number}] {note}"))
    paper_claims.each_claim(st.session_state["paper"])
    paper_claims.evidence(st.session_state["paper"])
    ui.page_button(
        "Measure the same on Matching",
        "pages/2_Matching.py",
        {},
        icon=":material/straighten:",
    )
    known = table_html.data_states(paper, table)
    if known:
        st.header("Its data", anchor=False)
        for name, found in known.items():
            with st.expander(f"{name}: {'available' if not found.startswith('needs') else 'not available'}"):
                st.caption(escape_markdown(shown(found)))
                st.code(f"crossmatch evaluate --benchmark {name} --model MODEL", language="bash")
    ui.export_section(
        f"{paper}-{table}",
        frame,
        latex=lambda: text_table_latex(frame, printed_notes(paper, table)),
        papers=(paper,),
        state=view_state(),
    )


def printed_notes(paper: str, table: str) -> list[str]:
    """What stands below a table of printed numbers in LaTeX: how it is read, and the notes that its cells number."""
    notes = enumerate(table_html.table_notes(paper, table), 1)
    return [PRINTED_NOTE, *(f"[{number}] {note}" for number, note in notes)]


def page(paper: str, way: Any) -> None:
    if paper == YOURS:
        with st.container(key="own-result"):
            published.section(ui.VisitorStore(), {"paper": YOURS})
        ui.cite(None, ("TTM", "Winoground"), NOTE)
        return
    short = table_html.PAPERS.get(paper, "TTM")
    if chosen.key in papers.TABLES:
        runnable(chosen.key, way)
    else:
        printed(short, chosen.key)
    ui.cite(None, (short, "Winoground"), NOTE)


ui.open_page("Papers", SHORT_LEAD if on_phone() else LEAD, pick=False, shows_files=shows_files)
with ui.show_errors():
    paper = choose()
    chosen, way = table_html.TableChoice("", ""), None
    if paper != YOURS:
        with st.container(horizontal=True, vertical_alignment="center", key="table-and-paper"):
            short = table_html.PAPERS.get(paper, "")
            if short and on_phone():  # there what the paper says comes first
                paper_link(short)
            chosen = choose_table(paper)
            if short and not on_phone():
                paper_link(short)
            way = st.container(width="content") if chosen.key in papers.TABLES else None
    page(paper, way)
