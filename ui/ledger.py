"""Where the gain of a run comes from: its ledger, part by part, and the controls beside it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import figures
from core.base.errors import InputError
from core.base.paths import assets
from core.base.public_mode import is_public
from core.base.text import _half_up, _pct, _signed, _signed_range, counted
from core.exchange.example import _controls_config, _import_controls, _shipped_with, example_run
from core.figures.text import escape_markdown, metric_line
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS
from core.metrics.statistics import Estimate
from core.runs.engine import start
from core.runs.store import _EXAMPLE_CONTROLS_ID, Run, RunStore
from core.ttm.run import LedgerRun, TTMRun, adaptation
from core.ttm.time_left import _span, expected_seconds
from ui.chart_clicks import ChartPoint, clicked_point
from ui.export import chart, export_section
from ui.formatting import anchor, exact_differences_once, interval_to_quote, true_minus, unbroken
from ui.runs import live_section, open_run, run_groups, settings_line
from ui.three_answers import CONTROLS as QUESTION
from ui.three_answers import NO, NOT_MEASURED, NOT_PROVEN, YES, Answer

TITLE = "Where does the gain come from?"
_LOSS = "Where does the change come from?"  # of a run that has lost
PARTS = "Part by part, and what no part says"
_OPEN = "Open the controls"
NOT_IDENTIFIED = (
    "Every part is a difference of two measured figures on the same groups, with its paired 95 % interval over groups; "
    "the trained models are taken as they are, so another seed may move a part by more. What carries over to untouched "
    "groups may be the task or the look of the pictures: what a control gains without a right label is the look alone. "
    "Whether another set would gain is not known from this one."
)
CONTROLS = (
    "Which part of it is knowledge? The controls train by the same code with one assumption taken away: random "
    "matchings, captions of other groups, images dealt anew, labels without the bijection, groups never trained on."
)


# The controls by the name of their figures, from no right label to the run's own, as their bars are called.
CONTROL_LABELS = {
    "random-matchings": "Random matchings",
    "no-right-caption": "No right caption",
    "other-images": "Images dealt anew",
    "one-right-caption": "One right caption at most",
    "per-image": "Labels without the bijection",
    "untouched": "On groups never seen",
}


def gain_section(store: RunStore, run: Run) -> None:
    """Of a run with results: its parts; nothing where a ledger does not explain it. The box of answers leads to the
    controls."""
    found = gain_record(run)
    if found is not None:
        title = gain_title(found)
        st.header(title, anchor=anchor(title))
        draw(found, f"ledger-{run.id}")


def gain_title(record: Mapping[str, Any]) -> str:
    """What the section of a run's parts is called; of one whose GroupMatch fell “gain” was a riddle."""
    return _LOSS if any(r["name"] == "training" and r["difference"] < 0 for r in record["rows"]) else TITLE


def gain_record(run: Run) -> dict[str, Any] | None:
    """What is known of a run's gain; None where a ledger does not explain it: an oracle, a transfer check, the global
    variant, no truth."""
    try:
        return _record(run.id, run.done, run.attempt, run)
    except InputError:
        return None


def no_controls(run: Run) -> list[Answer]:
    """The answer of a run whose method has no controls; [] of one that may have some."""
    said = "SimpleMatch has no controls."
    return [] if run.kind == "ttm" else [Answer(QUESTION, NOT_MEASURED, said)]


def controls_answer(store: RunStore, run: Run, of: str = "") -> Answer:
    """Whether a run gains more than its controls do, for the box of answers. of : which of several seeds it is.

    It has to beat each of them, so that no p is corrected: the one that it beats by the least decides.
    """
    if never := no_controls(run):
        return never[0]
    if gain_record(run) is None:
        return Answer(QUESTION, NOT_MEASURED, "there are none for this kind of run.")
    if run.status != "finished":
        return Answer(QUESTION, NOT_MEASURED, "the run has not finished, so there is no result to compare.")
    job = _controls_of(run)
    there = _controls_there(store, run)
    runs = counted(job.total // job.settings.iterations, "run")
    if there is not None:
        whose = _whose(job, there.is_example, bool(of))
        found = _record(there.id, there.done, there.attempt, there) if there.done else None
        word, said = _UNKNOWN if found is None else _beyond(found, *whose)
        return Answer(QUESTION, word, f"{of}{said}", lambda: _open_controls(there))
    if LedgerRun.read(_controls_config()).key == job.key:
        word, said = _beyond(_shipped_controls(), *_whose(job, True, bool(of)))
        return Answer(QUESTION, word, f"{of}{said} {_SAME_AS_SHIPPED}", _open_shipped_controls)
    if is_public():
        said = f"{runs}, too many for this server; those of built-in sets are shown where a run is set up."
        return Answer(QUESTION, NOT_MEASURED, said)
    # Each of them is as long as the run itself.
    seconds, _ = expected_seconds(store, adaptation(run.config), store.steps(run.id)[0]["n_groups"])
    about = "" if seconds is None else f", {_span(seconds, job.total // job.settings.iterations)} here"
    said = f"{of}it takes {runs} on other labels{about}.{_where_measured(run)}"
    return Answer(QUESTION, NOT_MEASURED, said, lambda: _start_controls(store, run, job))


def are_measured(store: RunStore, run: Run) -> bool:
    """Whether the controls of a run are here or ship, so that their answer will be a number and not an offer."""
    if no_controls(run):
        return False
    with suppress(InputError):  # there are none for its settings
        shipped = LedgerRun.read(_controls_config()).key == _controls_of(run).key
        return shipped or _controls_there(store, run) is not None
    return False


def _controls_of(run: Run) -> LedgerRun:
    return LedgerRun.read({**run.config, "ledger": run.config["ttm"], "group": None})


def _controls_there(store: RunStore, run: Run) -> Run | None:
    """The run of its controls, where it is here."""
    key = _controls_of(run).key
    measured = [*store.list(LedgerRun.kind), *_shipped_with(store, run)]
    return next((each for each in measured if LedgerRun.read(each.config).key == key), None)


def _whose(job: LedgerRun, is_shipped: bool, is_seed_said: bool) -> tuple[str, str]:
    """What stands before and after `controls`: `shipped ` or `own `, and of which seed they are."""
    return "shipped " if is_shipped else "own ", "" if is_seed_said else f" (seed {job.settings.seed})"


def _where_measured(run: Run) -> str:
    """` Those of left-right, tinted are measured.`, of the run's own set where such ship; "" where none do, or
    where the run is of somebody's own file, of which those of another set tell nothing."""
    names = list(dict.fromkeys(map(_shipped_name, _shipped())))
    own = str(run.config.get("benchmark")).partition("~")[0]
    if not names or not own.startswith("scenes/"):
        return ""
    name = next((each for each in names if each.split("~")[0].split(",")[0] == own), names[0])
    link = f"Test-Time_Matching?{urlencode({'run': 'new', 'ledger': 'true', 'ledger_set': name})}"
    which = name.removeprefix("scenes/").replace("~", ", ")
    return f" Those of [{escape_markdown(which)}]({link}) are measured."


_SAME_AS_SHIPPED = "This run repeats the example that ships, so these are the example's controls."


@st.cache_data(show_spinner=False)
def _shipped_controls() -> dict[str, Any]:
    """What the controls that ship measured; nobody's list of runs has them before somebody opens them."""
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore(Path(folder))
        return _record_in(store, _import_controls(store))


def _open_shipped_controls() -> None:
    if st.button(_OPEN, icon=":material/balance:", help=CONTROLS):
        example_run(RunStore())
        open_run(_EXAMPLE_CONTROLS_ID)
        st.rerun()


_UNKNOWN = NOT_MEASURED, "the controls have not come to their end."


def _beyond(record: Mapping[str, Any], whose: str = "", of: str = "") -> tuple[str, str]:
    """Word and number of the run against the control that leaves it the least. whose, of : see `_whose`."""
    found = _closest(record)
    if found is None:
        return _UNKNOWN
    word, least, count = found
    closest = f"against the closest of {counted(count, f'{whose}control')}{of}, “{least['label']}”"
    return word, f"{points_text(least['beyond'])} {closest}."


def _closest(record: Mapping[str, Any]) -> tuple[str, Mapping[str, Any], int] | None:
    """The control that leaves the run the least, what that proves, and of how many it is; None without any."""
    rows = [row for row in record["rows"] if row["kind"] == "control" and row["beyond"]]
    if not rows:
        return None
    ends = {row["name"]: row["beyond"].get("clustered") or row["beyond"] for row in rows}
    least = min(rows, key=lambda row: ends[row["name"]]["low"])
    clearly = all(each["low"] > 0 for each in ends.values())
    word = YES if clearly else NO if any(each["high"] < 0 for each in ends.values()) else NOT_PROVEN
    if word == NO:
        least = min(rows, key=lambda row: ends[row["name"]]["high"])
    return word, least, len(rows)


def _verdict(record: Mapping[str, Any]) -> str:
    """What TTM gained, how much of that the closest control gives, and whether the rest is beyond chance; "" as long as
    no control has ended. Markdown."""
    found, own = _closest(record), next((r for r in record["rows"] if r["name"] == "training"), None)
    if found is None or own is None:
        return ""
    word, least, count = found
    return (
        f"**{QUESTION} {word}:** of test-time matching's {points_text(own)} of {METRICS[GROUP_MATCH].label} the "
        f"control “{least['label']}” gives {points_text(least)}. What test-time matching has beyond it, the closest of "
        f"{counted(count, 'control')}, is {points_text(least['beyond'])}."
    )


def _open_controls(there: Run) -> None:
    # No callback: the box stands in a fragment, which alone a callback would draw anew.
    if st.button(_OPEN, icon=":material/balance:", help=CONTROLS):
        open_run(there.id)
        st.rerun()


def _start_controls(store: RunStore, run: Run, job: LedgerRun) -> None:
    if st.button("Run the controls", icon=":material/balance:", help=CONTROLS):
        open_run(start(store, f"Ledger: {run.title}", job).id)
        st.rerun()


def explained_run(store: RunStore, ledger: Run) -> Run | None:
    """The run whose gain these controls explain, where it is here."""
    key = TTMRun.read({**ledger.config, "ttm": ledger.config["ledger"]}).key
    runs = [*store.list(TTMRun.kind), *_shipped_with(store, ledger)]
    return next((each for each in runs if TTMRun.read({**each.config, "group": None}).key == key), None)


def view(store: RunStore, run_id: str, files: DeltaGenerator) -> None:
    """A ledger: live or over. files : the place of what is taken away."""
    run = store.get(run_id)
    st.header(TITLE, anchor=False)
    st.markdown(CONTROLS)
    live_section([run], _growing, "The first parts appear once the frozen model has been evaluated.")
    if not store.steps(run_id):
        return
    found = _record(run_id, run.done, run.attempt, run)
    with files:
        export_section(
            f"ledger-{run_id}",
            lambda: pd.json_normalize(found["rows"], sep="_"),
            {"ledger": figures.ledger_figure(found)},
            command="" if is_public() else f"crossmatch ledger run/{run_id}",
            groups=run_groups(run_id, run.config),
            title=run.title,
            note=_reading(found),
        )


def _growing(runs: Sequence[Run], steps: Sequence[Sequence[Mapping[str, Any]]]) -> None:
    (run,), (records,) = runs, steps
    draw(_record(run.id, records[-1]["iteration"], run.attempt, run), "ledger")
    settings_line(runs)


@st.cache_data(max_entries=64, show_spinner=False)
def _record(run_id: str, done: int, attempt: int, _run: Run) -> dict[str, Any]:
    """What is known of a run's gain after an iteration."""
    return _record_in(RunStore(), _run, done)


def _record_in(store: RunStore, run: Run, done: int | None = None) -> dict[str, Any]:
    groups = run_groups(run.id, run.config)
    end = run.done if done is None else done
    return adaptation(run.config).ledger(groups, lambda i: store.scores(run.id, i), end).record()


def shipped_section() -> None:
    """The ledgers that ship with Crossmatch, of the built-in sets."""
    records = _shipped()
    if not records:
        return
    section = st.container(key="opened-ledger").expander(
        f"{TITLE} Measured on built-in sets", key="ledger", bind="query-params"
    )
    if not section.open:  # its figure costs more than the form above
        return
    with section:
        names = list(dict.fromkeys(map(_shipped_name, records)))
        name = st.selectbox("Set", names, key="ledger_set", bind="query-params", width=320)
        chosen = shipped_record(name)
        st.caption(escape_markdown(chosen["settings"]))
        draw(chosen, "ledger-shipped")


def shipped_record(name: str) -> dict[str, Any]:
    """The shipped ledger of a set, of the first seed: of the whole model, with `, frozen features` of maps on those."""
    return next(record for record in _shipped() if _shipped_name(record) == name)


def _shipped_name(record: Mapping[str, Any]) -> str:
    return record["benchmark"] + (", frozen features" if record["model"].startswith("frozen:") else "")


@cache
def _shipped() -> list[dict[str, Any]]:
    path = assets() / "results" / "ledger.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


# ---- a ledger, drawn


def draw(record: Mapping[str, Any], key: str) -> None:
    """The figure, one part after the other in words and numbers, and what none of them says."""
    rows = {row["name"]: row for row in record["rows"]}
    summary = "; ".join(f"{row['label']}: {_signed(row['difference'])} points" for row in rows.values())
    figure = figures.ledger_figure(record)
    if verdict := _verdict(record):
        st.markdown(verdict)
    chart(figure, f"{TITLE} {summary}.", f"{key}-figure")
    st.caption(_reading(record))
    with st.container(key=f"gain-meanings-{key}"):  # a phone has them part by part alone
        st.caption(_meanings(rows))

    opened = f"{key}-parts"

    def open_clicked(point: ChartPoint) -> None:
        label = min(figure.layout.annotations, key=lambda each: abs(each.y + 0.42 - point.y)).text
        name = next((name for name, row in rows.items() if label.startswith(f"{row['label']}:")), None)
        if name is not None:
            st.session_state[f"{key}-part"] = name
            st.session_state[opened] = True

    clicked_point(f"{key}-figure", open_clicked)
    with st.expander(PARTS, key=opened, on_change="rerun"):
        name = st.pills(
            "Choose a part here or press its bar",
            list(rows),
            default="metric",
            format_func=lambda each: rows[each]["label"].removeprefix("of which: "),
            key=f"{key}-part",
            required=True,
        )
        _part(rows[name or "metric"])
        st.markdown("**GroupScore and GroupMatch of every model**")
        st.dataframe(_models(record), hide_index=True)
        hanging = next(filter(None, (row.get("clustered") for row in rows.values())), None)
        st.caption(f"{interval_to_quote(hanging['by'])} {NOT_IDENTIFIED}" if hanging else NOT_IDENTIFIED)


def _reading(record: Mapping[str, Any]) -> str:
    """How the figure is read: with what stands below, as soon as there is a control."""
    parts = "from GroupScore of the frozen model to GroupMatch of the adapted one"
    controlled = any(row["kind"] == "control" for row in record["rows"])
    shown = f"Above, {parts}; below, GroupMatch under each control." if controlled else f"F{parts[1:]}."
    return (
        f"{shown} Dashed: GroupMatch of the frozen model; dotted: its chance level; whiskers: 95 % intervals."
        f"{_sums_note(record)}{exact_differences_once('ledger')}"
    )


def _sums_note(record: Mapping[str, Any]) -> str:
    """That the parts are rounded, with a space before it, where they do not add up as printed: 10.7 + 44.2 + 11.8 +
    16.7 stood beside 83.3. "" elsewhere."""
    rows = {row["name"]: row for row in record["rows"]}
    if not all(name in rows for name in _MAIN_PARTS):
        return ""
    parts, end = [rows[name]["difference"] for name in _MAIN_PARTS], rows["training"]["after"]["value"]
    printed = sum(map(_half_up, [end - sum(parts), *parts]))
    off = _half_up(printed) != _half_up(end)
    return " The parts are rounded: as printed they do not add up exactly." if off else ""


_MAIN_PARTS = ("metric", "bijections", "training")  # of training the others are parts


def _meanings(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """What the bars above are, in a line each, as the names alone do not say it; Markdown."""
    shown = [rows[name] for name in _MAIN_PARTS if name in rows]
    return "\n".join(f"- **{row['label']}:** {row['meaning']}" for row in shown)


def _part(row: Mapping[str, Any]) -> None:
    """What a part is, the two figures that it is the difference of, and of a control what the run has beyond it."""
    with st.container(border=True):
        st.markdown(f"**{row['label'].removeprefix('of which: ')}: {points_text(row)}**  \n{row['meaning']}")
        lines = [
            f"- {row[side]['label']}: {metric_line(Estimate.of_record(row[side]))}"
            for side in ("after", "before")
        ]
        if row["name"] == "metric" and (most := _most_by_chance(row["after"])):
            lines.append(most)
        if row["beyond"]:
            lines.append(f"- The run itself has {points_text(row['beyond'])} beyond it.")
        st.markdown("\n".join(lines))


def _most_by_chance(match: Mapping[str, Any]) -> str:
    """Why the interval of GroupMatch against random answers ends where its estimate stands; "" where it does not."""
    most = match["chance"]  # one matching of all that a group has
    if round(match["high"] - most, 3) < 0:
        return ""
    return unbroken(
        f"- {_pct(most)} % is the most there can be, and the interval ends there: a random answer is one of a group's "
        f"{round(100 / most)} matchings. Only tied scores bring it below."
    )


def _models(record: Mapping[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "model": CONTROL_LABELS.get(name, name),
                **{METRICS[m].label: str(Estimate.of_record(of[m])) for m in (GROUP_SCORE, GROUP_MATCH)},
            }
            for name, of in record["figures"].items()
        ]
    )


def points_text(row: Mapping[str, Any]) -> str:
    """`+7.7 points (95 % interval +1.7 to +13.7)` of a row; with clusters also `, by caption +1.5 to +13.9`, or `, also
    by caption` where that is the same, as `Estimate.interval` has it."""
    ends = _signed_range(row["low"], row["high"])
    interval = f"95 % interval {ends}"
    if hanging := row.get("clustered"):
        apart = _signed_range(hanging["low"], hanging["high"])
        interval += f", also by {hanging['by']}" if apart == ends else f", by {hanging['by']} {apart}"
    return unbroken(true_minus(f"{_signed(row['difference'])} points ({interval})"))
