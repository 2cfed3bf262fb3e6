"""Runs: all of them, the seeds of a sweep as one, two laid over each other, and what is done with many at once."""

from __future__ import annotations

import io
import re
import shlex
import tempfile
import zipfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

import ui
from core import figures as plots
from core.base.errors import InputError
from core.base.public_mode import is_public
from core.base.text import (
    _exact_differences,
    _half_up,
    _pct,
    counted,
    duration,
)
from core.exchange.example import EXAMPLE, EXAMPLE_ID, example_run
from core.exchange.paired_files import _comparison_file, _with_origin
from core.exchange.report import ReportSection, report_html
from core.exchange.run_gains import _gains_in_common, _no_gain_said
from core.exchange.run_pairs import (
    _ADAPTED,
    _NO_SHARED_SEED,
    _SCORED,
    _controls_said,
    _ends_by_seed,
    _groups_of,
    _main_metric,
    _one_within,
    _other_groups,
    _outcomes,
    _Pair,
    _steps_on,
    _two_seeds_told,
)
from core.exchange.run_report import _report_of_pair
from core.exchange.run_table import (
    _KIND_PARTS,
    _Ends,
    _ends_of,
    _groups_said,
    _Result,
    _runs_frame,
    _seeds_said,
    _settings_said,
)
from core.exchange.runs import _archive_name, _archives_within, _export_together, export_run
from core.figures.text import escape_markdown, label_and_meaning, metric_line
from core.groups import GroupSet
from core.metrics import groups as metrics
from core.metrics import statistics
from core.metrics.evaluation import Evaluation
from core.metrics.paired import _WHY_ALL, _exact_tests
from core.metrics.retrieval import COLA_MAP
from core.runs.store import Run, RunStore
from core.ttm.records import _next_gain
from core.ttm.run import adaptation
from core.ttm.seeds import SeedGroup, seed_of, summary
from ui import runs as shared
from ui.export import csv_button, pair_name
from ui.formatting import anchor, rounding_note, true_minus
from ui.gains import MAP, gain_text, gains
from ui.metric_cards import table_or_cards
from ui.run_names import COLA, SHIPS, called, cut_within, given_name, kind_of_run
from ui.selection import switch_page
from ui.sweep import draw_sweeps
from ui.ttm_sweep import estimates_over_seeds, spread, with_interval_of_means
from ui.views import came_back_to
from ui.visitor import on_phone

Steps = Sequence[Sequence[dict[str, Any]]]  # the records of the iterations of some runs
LEAD = "Runs on this machine, newest first. They continue when the app is closed and are kept until you delete them."
TABLE = "runs_table"  # the key of the table of runs
COMPARED = "Compared"  # a section's title
LETTERS = "ABCDEFGH"  # of the runs whose curves are laid over each other
FINDABLE = 4  # runs from which on there is a field to find some
MOST_CARDS = 12  # of the newest runs, on a phone
MOST_BARS = 3  # of runs that are working at once
GIVEN_SEEDS = "over groups, for these two seeds"  # what an interval of just two seeds is over
SCORE_GAIN = "GroupScore gain"
GAIN, BEFORE = "gain", "before"  # of the metric of the result
RESULT, SCORE = "result", "GroupScore after"
PAIRED, UNPAIRED, APART = "paired test", "results, no test", "curves only"  # what two runs can be compared by


# --- the table -----------------------------------------------------------------------------------------------------


def table(sweeps: Sequence[SeedGroup], steps: Sequence[Steps]) -> pd.DataFrame:
    """One row per sweep: result, its curve, how long, what, which seeds, how far, the main metrics before and after.

    steps : the records of every run.
    """
    labels = {name: metrics.METRICS[name].label for name in metrics.headline_metrics()}
    if any(run.kind == COLA for sweep in sweeps for run in sweep.runs):
        labels[COLA_MAP] = "mAP"
    loaded: dict[str, GroupSet] = {}
    measured = [gains(*each, loaded) for each in zip(sweeps, steps, strict=True)]
    frame = pd.DataFrame([row(*each, labels) for each in zip(sweeps, steps, measured, strict=True)])
    firsts = [sweep.runs[0] for sweep in sweeps]
    frame["settings"] = own_settings(firsts)
    frame["all settings"] = [" · ".join(_settings_said(run, others=True)) for run in firsts]
    return frame.drop(columns=[name for name in ("settings", "name") if not frame[name].any()])


def row(
    sweep: SeedGroup, steps: Steps, gained: Mapping[str, statistics.Comparison], labels: Mapping[str, str]
) -> dict[str, Any]:
    """A row of the table. gained : by metric. labels : of the metrics that it has before and after."""
    first, ends = sweep.runs[0], _ends_of(sweep, steps, estimates_over_seeds(sweep.runs, steps))
    main = _main_metric(ends)
    # Before training all seeds are one model, which has no deviation.
    began = {key: each._replace(sd=each.sd or None) for key, each in ends.before.items()}
    results = {
        f"{label} {when}": accuracy(found.get(("", name)), len(sweep.runs))
        for name, label in labels.items()
        for when, found in (("after", ends.after), ("before", began))
    }
    results[SCORE] = level_text(ends, metrics.GROUP_SCORE)
    seconds = [record["seconds"] for records in steps for record in records]
    name = called(sweep)
    if first.is_example:  # nobody here has started it; its seed, which would be cut, has its column
        name = f"Example: {name.rpartition(' · seed')[0] or name}"
    return {
        "status": state_text(sweep, ends.complete),
        "groups": _groups_said(first.config, next(filter(None, steps), ()))
        .replace(" groups", "")
        .removeprefix("first "),  # the help says it: a number that the column cuts is another number
        "gain": "–" if main is None else gain_text(gained.get(label_of(main))),
        SCORE_GAIN: gain_text(gained.get(labels[metrics.GROUP_SCORE])),
        "before": "–" if main is None else before_text(began.get(("", main))),
        "result": "–" if main is None else result_text(sweep, ends, main),
        "curve": [] if main is None else curve(steps, main),
        "time": duration(sum(seconds)) if seconds else "–",
        "seed": _seeds_said([seed_of(run) for run in sweep.runs]),
        "set": first.config.get("benchmark", ""),
        "name": given_name(sweep),
        "called": name,
        "model": "/".join(Path(first.config.get("model", "")).parts[-2:]),
        "settings": "",
        "kind": kind_of_run(first),
        "iterations": f"{min(run.done for run in sweep.runs)} of {first.total or '–'}",
        "started": datetime.fromtimestamp(sweep.created),
        **results,
        "all settings": "",
        "id": sweep.id,
        "metric": "" if main is None else f"{ends.queries} {label_of(main)}".strip(),
    }


def state_text(sweep: SeedGroup, complete: int) -> str:
    """The state of a run; of one that has not come to its end also how far it is, or was: `stopped 3/10`.

    complete : how many seeds have come to their end; of several, that is how far they are: `stopped 3/5 seeds`.
    """
    if len(sweep.runs) > 1:
        count = f" {complete}/{len(sweep.runs)} seeds"
        return sweep.status + ("" if sweep.status == "finished" else count)
    total, done = sweep.runs[0].total, min(run.done for run in sweep.runs)
    over = sweep.status in ("finished", "queued") or not total
    return sweep.status if over else f"{sweep.status} {done}/{total}"


def own_settings(runs: Sequence[Run]) -> list[str]:
    """What tells each run apart from some other one of its kind, besides set, groups, model and seed, in one order:
    the kind, where runs of one set and model have several, then what differs between those of one set, model and kind,
    then what is left. "" where nothing does."""
    described = [
        [
            part.replace("learning rate", "lr")
            for part in _settings_said(run, others=True)
            if not part.startswith(_KIND_PARTS)
        ]
        for run in runs
    ]
    for run, parts in zip(runs, described, strict=True):
        if run.config.get("split") not in (None, "", "test"):
            parts.insert(0, f"split {run.config['split']}")
    kinds = {
        run.kind: [set(d) for r, d in zip(runs, described, strict=True) if r.kind == run.kind] for run in runs
    }
    common = {name: set.intersection(*parts) for name, parts in kinds.items()}
    names = [kind_of_run(run) for run in runs]
    of = [(run.config.get("benchmark"), run.config.get("model")) for run in runs]
    alike = _apart_within([*zip(of, names, strict=True)], described)
    is_kind_first = bool(_apart_within(of, [[name] for name in names]))
    told = [[part for part in d if part not in common[r.kind]] for r, d in zip(runs, described, strict=True)]
    several = len({*names}) > 1

    def ordered(parts: Sequence[str], name: str) -> list[str]:
        first, rest = ([part for part in parts if (part in alike) is own] for own in (True, False))
        return [name, *first, *rest] if is_kind_first else [*first, *[name] * several, *rest]

    return [" · ".join(ordered(*each)) for each in zip(told, names, strict=True)]


def _apart_within(named: Sequence[object], described: Sequence[Sequence[str]]) -> set[str]:
    """The parts of descriptions that not all of one name have."""
    found: set[str] = set()
    for name in {*named}:
        own = [{*parts} for of, parts in zip(named, described, strict=True) if of == name]
        found |= set.union(*own) - set.intersection(*own)
    return found


def curve(steps: Sequence[Sequence[dict[str, Any]]], name: str) -> list[float]:
    """A metric after every iteration, the mean over seeds; as far as all records have it."""
    means = [row["metrics"][name]["mean"] for row in summary(steps) if name in row["metrics"]]
    return [_half_up(value, 2) for value in means] if len(means) > 1 else []  # of a measurement there is none


def accuracy(found: _Result | None, seeds: int = 1) -> str:
    """A value with its interval, chance level and ties, or the mean with deviation over seeds; a dash for None.

    seeds : that the run has.
    """
    if found is None:
        return "–"
    inside = [] if found.low is None else [f"{_pct(found.low)}–{_pct(found.high)}"]
    inside.append(f"chance {_pct(found.chance)}")
    if found.ties:
        inside.append(f"{found.ties:.3g} tied")
    if seeds > 1:
        inside.append(f"{seeds} seeds" if found.seeds == seeds else f"{found.seeds} of {seeds} seeds")
    return f"{spread(found)} ({', '.join(inside)})"


def before_text(found: _Result | None) -> str:
    """A value with its interval; a dash for a run that trains nothing."""
    if found is None:
        return "–"
    return spread(found) + ("" if found.low is None else f" ({_pct(found.low)}–{_pct(found.high)})")


def result_text(sweep: SeedGroup, ends: _Ends, name: str) -> str:
    """The result of a run by its main metric, number and interval first, which a phone shows; of one at work as far as
    it is.

    `70.6 ± 2.5 % (56.4–82.3) GroupMatch, chance 50.0`
    """
    of = f" {ends.queries} {label_of(name)}".replace("  ", " ")
    return level_text(ends, name, of) + so_far(sweep, ends.complete)


def level_text(ends: _Ends, name: str, of: str = "") -> str:
    """A metric after the last iteration, `41.7 % (29.1–55.1), chance 16.7`; a dash where there is none.

    of : what it is, before the chance level.
    """
    found = ends.after.get(("", name))
    if found is None:
        return "–"
    ties = f", {found.ties:.3g} tied" if found.ties else ""
    return f"{before_text(found)}{of}, chance {_pct(found.chance)}{ties}"


def label_of(name: str) -> str:
    return MAP if name == COLA_MAP else metrics.description_of(name).label


def so_far(sweep: SeedGroup, complete: int) -> str:
    """That a value is no result: the last iteration is, which is still to come or was never reached.

    complete : how many of its seeds have come to their end; the value is theirs where any has.
    """
    if any(run.live for run in sweep.runs):
        return ", so far"
    return "" if complete or sweep.status == "finished" else ", not finished"


COLUMNS: dict[str, Any] = {
    "status": st.column_config.TextColumn(
        width=112,
        help="Of a run that has not come to its end: iterations done, of how many; of several seeds how many are "
        "complete, which the result is the mean of.",
    ),
    "gain": st.column_config.TextColumn(
        width=140,
        help="The metric of the result after adaptation minus before, in points, with the 95 % interval of the pairs, "
        "as the run’s page has it: an interval that holds 0 shows no change. A dash: not come to its end, nothing "
        "trained, or no ground truth.",
    ),
    SCORE_GAIN: st.column_config.TextColumn(
        width=140,
        help="The same of GroupScore, which rises towards GroupMatch as the model memorises its own matchings.",
    ),
    "before": st.column_config.TextColumn(
        width=132,
        help="The same metric before adaptation with its 95 % interval; its chance level is that of the result. "
        "A dash: this run trains nothing.",
    ),
    "result": st.column_config.TextColumn(
        width=302,
        help="After the last iteration. In brackets the 95 % interval; the chance level, and ties. Of several seeds: "
        "mean ± standard deviation (n − 1) of those that are complete; the interval is over seeds and groups.",
    ),
    SCORE: st.column_config.TextColumn(
        metrics.METRICS[metrics.GROUP_SCORE].label,
        width=230,
        help="The stricter metric beside GroupMatch, as the column of the result has that. A dash: not measured.",
    ),
    "set": st.column_config.TextColumn(
        "run",
        width=164,
        help="The name that somebody gave it, else set, method and seed; after it what tells apart runs that are "
        "called alike: model, groups, settings or time. “All columns” has the whole name of the set.",
    ),
    "groups": st.column_config.TextColumn(
        width=90,
        help="How many of the set’s groups the run had, where not all the first ones of it; of Cola’s strategies the "
        "test images.",
    ),
    "model": st.column_config.TextColumn(width=93),
    "settings": st.column_config.TextColumn(
        width=300,
        help="What not all the runs in this table share, in one order; “All columns” has all settings.",
    ),
    "all settings": st.column_config.TextColumn(width=420),
    "seed": st.column_config.TextColumn(width=48),
    "time": st.column_config.TextColumn(width=78),
    "GroupMatch before": st.column_config.TextColumn(width=230),
    "started": st.column_config.DatetimeColumn(width=150, format="D MMM YYYY, HH:mm"),
}
_LETTERS = {"set": 40, "model": 14}  # that a column has room for on a laptop
_APART = 22  # letters of what tells a run apart from others of its name: the settings have the rest
_ROOM = 1366 - 40 - 15 - 35  # pixels of the columns on a laptop, without margins, scroll bar, ticks and frame
_PADDING = 17  # of a cell
_SETTINGS = 190  # pixels of the settings, where other columns ask for room
# Pixels of a letter, rather too many than too few; of all others `_LETTER`.
_LETTER, _CAPITAL = 7.1, 8.3
_PIXELS = {
    **dict.fromkeys(" ", 3.0),
    **dict.fromkeys("ijl.,:;·", 3.6),
    **dict.fromkeys("frt()[]/-", 4.9),
    **dict.fromkeys("mwMW%…", 11.6),
}
# Pixels of a row, below the rows of a table that scrolls sideways, below those of another one, of a table at most.
_ROW, _SCROLL_BAR, _EDGE, _MOST_HEIGHT = 35, 11, 2, 400
# Columns that stand there whatever is listed, as nobody looks for one that moves: which run, and what came out.
FIXED = ("set", "result", "gain", SCORE, SCORE_GAIN, "started", "status")
# Behind them as many of these as a laptop has room for, the first ones first; “All columns” has the others.
FITTING = (*FIXED, "groups", "model", "time", "iterations", "curve", "seed", "before", "settings")
# What all runs share of these has no column: a line below the table says it.
ONCE = ("status", "model", "seed")
_OWN_LETTERS = 44  # of the settings in the heading of a card
_GIVEN_LETTERS = 40  # of a run's given name in the legend of a figure
_CURVE = 70
_MARK = 18  # pixels of the letter of a ticked run


def curve_column(curves: Sequence[Sequence[float]], metric: str = "") -> Any:
    """Curves on one scale, so that rows compare: whole tens below the lowest and above the highest value.

    metric : that all of them are of; "" where they are of several.
    """
    values = [value for curve in curves for value in curve] or [0.0, 100.0]
    low, high = 10 * int(min(values) // 10), min(10 * int(max(values) // 10 + 1), 100)
    return st.column_config.LineChartColumn(
        "curve",
        width=_CURVE,
        y_min=low,
        y_max=high,
        help=f"{metric or 'The metric of the result'} after every iteration; of Cola’s strategies on validation "
        "queries, from the untrained strategy on. "
        f"In every row the lower edge is {low} %, the upper edge {high} %.",
    )


def fitted(frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, int]]:
    """The table as it fits a laptop, and the pixels of each column that is shown: as many as its cells need, of the
    settings what is left. What other columns say too gives way where the room asks.

    Names that their columns have no room for are cut short, which says that they go on.
    """
    short = frame.assign(set=begun(frame), started=frame["started"].dt.strftime("%d %b %H:%M"))
    if metric := shared_metric(frame):  # its head says it
        short["result"] = short["result"].str.replace(f" {metric},", ",", regex=False)
    else:
        short = named_cells(short)
    for name in (RESULT, SCORE):
        if chance := shared_chance(frame, name):
            short[name] = short[name].str.replace(f", chance {chance}", "", regex=False)
    if "settings" in short:  # what the name says, too, took the room of what differs
        short["settings"] = [
            _without_words(*each) for each in zip(short["settings"], short["set"], strict=True)
        ]
    if "model" in short:
        short["model"] = [_cut(name, _LETTERS["model"]) for name in short["model"]]
    said = {name for name in ONCE if _is_said_once(frame, name)}
    if all(model in name for model, name in zip(frame["model"], short["set"], strict=True)):
        said.add("model")
    need = {name: _needed(short, name) for name in FITTING if name in short and name not in said}
    heads = result_heads(frame)
    need |= {name: max(need[name], int(_pixels(heads[name])) + _PADDING) for name in heads if name in need}
    need["set"] += _MARK  # also without one, so that no column moves once two runs are ticked
    if "settings" in need:  # no other column gives way for all that they say
        need["settings"] = min(need["settings"], _SETTINGS)
    finished = (frame["status"] == "finished").all()  # else “so far” stands at the end of a result
    if finished:
        need["result"] = min(need["result"], COLUMNS["result"]["width"])
    widths = dict[str, int]()
    for name, width in need.items():
        if name not in FIXED and sum(widths.values()) + width > _ROOM:
            break
        widths[name] = width
    if "settings" in widths:
        widths["settings"] += _ROOM - sum(widths.values())
        short["settings"] = [_cut_at(said, widths["settings"] - _PADDING) for said in short["settings"]]
    return short.assign(set=marked(frame, short["set"])), widths


def _without_words(said: str, name: str) -> str:
    """Settings without those that a run's name has."""
    parts = (", ".join(word for word in part.split(", ") if word not in name) for part in said.split(" · "))
    return " · ".join(filter(None, parts))


def _is_shared(frame: pd.DataFrame, name: str) -> bool:
    """Whether all runs have one value in a column."""
    return len(frame) > 1 and frame[name].nunique() == 1


def _is_said_once(frame: pd.DataFrame, name: str) -> bool:
    """Whether a line says it in place of a column, whose room others need; a status that is not over keeps its own."""
    return _is_shared(frame, name) and (name != "status" or frame[name].iloc[0] == "finished")


def said_once(frame: pd.DataFrame, shown: Collection[str]) -> str:
    """What all runs of the table share, which has no column there; "" where nothing. shown : the columns."""
    heads = {"status": "", "model": "model ", "seed": "seed ", "set": "set "}
    without = [name for name in heads if name == "set" or name not in shown]
    shared_of_all = [f"{heads[name]}{frame[name].iloc[0]}" for name in without if _is_shared(frame, name)]
    return f"All of them: {', '.join(shared_of_all)}." if shared_of_all else ""


def shared_metric(frame: pd.DataFrame) -> str:
    """The metric that every result in the table is of, which its head says; "" where there are several, or none."""
    found = {*frame["metric"]} - {""}
    return found.pop() if len(found) == 1 else ""


def _needed(frame: pd.DataFrame, name: str) -> int:
    """Pixels in which a column's head and all of its cells can be read."""
    if name == "curve":
        return _CURVE
    label = (COLUMNS[name]["label"] or name) if name in COLUMNS else name
    return int(max(map(_pixels, [label, *frame[name]]))) + _PADDING


def _pixels(text: str) -> float:
    return sum(_PIXELS.get(each, _CAPITAL if each.isupper() else _LETTER) for each in text)


def _cut_at(text: str, most: float) -> str:
    """A text without what has no room in so many pixels."""
    if _pixels(text) <= most:
        return text
    while text and _pixels(f"{text}…") > most:
        text = text[:-1]
    return f"{text}…"


def _cut(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def begun(frame: pd.DataFrame) -> list[str]:
    """What each row begins with: what the run is called whatever stands beside it, and behind that what tells it apart
    from those that are called alike."""
    # “Example: left-right · Controls of TTM” took the room of the time; on a card the name stays whole.
    called_here = frame["called"].str.replace("Controls of TTM", "controls", regex=False)
    return [
        f"{cut_within(name, _LETTERS['set'])} · {end}" if end else cut_within(name, _LETTERS["set"])
        for name, end in zip(called_here, _ends_apart(frame, called_here), strict=True)
    ]


def _ends_apart(frame: pd.DataFrame, called: pd.Series) -> list[str]:
    """Of each row the first of model, groups, seed, settings, minute and second in which no two that are called alike
    are alike; "" of one that no other is called like. Runs of one second are numbered."""
    groups = _groups_named(frame)
    seeds = _seeds_named(frame)
    both = [f"{said}, {seed}" for said, seed in zip(groups, seeds, strict=True)]
    ways = [frame["model"], groups, seeds, both]
    own = [""] * len(frame)
    for name in dict.fromkeys(called):
        rows = np.flatnonzero(called == name)
        if len(rows) < 2:
            continue
        known = [[_cut(list(way)[row], _APART) for row in rows] for way in ways]
        if "settings" in frame:
            settings = _without_shared([frame["settings"][row] for row in rows])
            known.append([_cut(said, _APART) for said in settings])
        known += _times([frame["started"][row] for row in rows])
        apart = next((each for each in known if len({*each}) == len(each)), _numbered(known[-1]))
        for row, said in zip(rows, apart, strict=True):
            own[row] = said
    return own


def headings(frame: pd.DataFrame) -> list[str]:
    """What the cards of runs begin with: what each is called; how many groups where not all, or not as many as another
    run of that set and model; the settings in which these differ; model, and seeds of one with a given name; when it
    began, where another one has all of these."""
    apart = _apart_on_cards(frame, list(zip(frame["set"], frame["model"], strict=True)))
    parts = zip(frame["called"], *apart, frame["model"], _seeds_named(frame), strict=True)
    found = [
        " · ".join([name, *(_without_words(part, name) for part in rest if part and part not in name)])
        for name, *rest in parts
    ]
    return [
        f"{name} · {at:%d %b %H:%M:%S}" if found.count(name) > 1 else name
        for name, at in zip(found, frame["started"], strict=True)
    ]


def _apart_on_cards(
    frame: pd.DataFrame, of: Sequence[tuple[str, str]]
) -> tuple[Sequence[str], Sequence[str]]:
    """Of each run its groups and its settings, as far as they tell it apart from those of one set and model; "" else.

    of : set and model of each.
    """
    groups, settings = _groups_named(frame), [""] * len(frame)
    for name in {*of}:
        rows = [row for row, each in enumerate(of) if each == name]
        if len({groups[row] for row in rows}) == 1 and frame["groups"].iloc[rows[0]].startswith("all"):
            groups = ["" if row in rows else said for row, said in enumerate(groups)]
        if len(rows) > 1 and "settings" in frame:
            own = _without_shared([frame["settings"].iloc[row] for row in rows])
            for row, said in zip(rows, own, strict=True):
                settings[row] = _cut(said.removeprefix("TTM, "), _OWN_LETTERS)
    return [said if said[:1].isdecimal() else "" for said in groups], [
        "" if said == "TTM" else said for said in settings
    ]


def _groups_named(frame: pd.DataFrame) -> list[str]:
    """`40 groups` of each row."""
    counts = [re.fullmatch(r"(?:first |all )?(\d+)(?: of \d+)?", name) for name in frame["groups"]]
    return [_with_word(n[1]) if n else name for n, name in zip(counts, frame["groups"], strict=True)]


def _seeds_named(frame: pd.DataFrame) -> list[str]:
    """`seed 0` or `seeds 0–3` of each row."""
    return [f"seed{'' if said.isdecimal() else 's'} {said}" for said in frame["seed"]]


def _numbered(names: Sequence[str]) -> list[str]:
    """Names that are there several times with a number from the second on, as of runs of one second."""
    return [f"{name} #{n}" if (n := names[: i + 1].count(name)) > 1 else name for i, name in enumerate(names)]


def _times(started: Sequence[datetime]) -> list[list[str]]:
    """When runs began, to the minute and to the second; without the day, which takes room, where it is one."""
    day = "%d %b " if len({at.date() for at in started}) > 1 else ""
    return [[f"{at:{day}%H:%M{end}}" for at in started] for end in ("", ":%S")]


def every_column(frame: pd.DataFrame) -> list[str]:
    """All columns in the order of the screen: set and result first; and no value twice."""
    after = f"{metrics.METRICS[metrics.GROUP_MATCH].label} after"
    fitting = [name for name in FITTING if name in frame]
    return [
        *fitting,
        *(str(name) for name in frame if name not in (*fitting, after, "letter", "metric", "called")),
    ]


def shared_chance(frame: pd.DataFrame, column: str) -> str:
    """The chance level, `16.7`, of all values of a column of results; "" where they have several, or none."""
    found = {*frame.loc[frame[column] != "–", column].str.extract(r", chance ([\d.]+)", expand=False)}
    only = found.pop() if len(found) == 1 else ""
    return only if isinstance(only, str) else ""


def result_heads(frame: pd.DataFrame) -> dict[str, str]:
    """What stands above the results: their metric and their chance level where all have one; their metric also above
    the gains, and what was before."""
    metric = shared_metric(frame)
    named = {RESULT: metric or RESULT, SCORE: metrics.METRICS[metrics.GROUP_SCORE].label}
    chances = {name: shared_chance(frame, name) for name in named if name in frame}
    heads = {name: f"{named[name]}, chance {each}" if each else named[name] for name, each in chances.items()}
    return heads | {name: f"{metric} {name}" for name in (GAIN, BEFORE) if metric and name in frame}


def named_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with the metric in every cell of gains and of what was before, as the results have it, where no head
    says it."""
    cells = {name: frame[name] for name in (GAIN, BEFORE)}
    return frame.assign(
        **{name: of.where(of == "–", of + " " + frame["metric"]) for name, of in cells.items()}
    )


def columns_of(widths: Mapping[str, int]) -> dict[str, Any]:
    """How the columns are shown: in so many pixels, or without any in those that they have where all are shown."""
    if not widths:
        return {name: column for name, column in COLUMNS.items() if name not in _LETTERS}
    config = {**COLUMNS, "started": st.column_config.TextColumn()}  # to the minute, without the year
    return {name: {**config.get(name, {}), "width": width} for name, width in widths.items()}


def marked(frame: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """What each row begins with, of several ticked runs behind the letter of each."""
    letters = frame["letter"] if "letter" in frame else [""] * len(frame)
    return [f"{letter}: {name}" if letter else name for letter, name in zip(letters, names, strict=True)]


def newest_cards(frame: pd.DataFrame, sweeps: Sequence[SeedGroup], chosen: Sequence[str]) -> None:
    """On a phone, where a table shows two columns of ten, the newest runs in its place: a card opens its run, and its
    tick chooses it; of several that are ticked each has its letter. Wider screens hide them, narrow
    ones the table (`style.css`)."""
    frame = with_letters(frame, {sweep.id: sweep for sweep in sweeps}, chosen)
    for name, (_, said), sweep in zip(
        marked(frame, headings(frame)), frame.iterrows(), sweeps[:MOST_CARDS], strict=False
    ):
        status = "–" if said["status"] == "finished" else said["status"]
        own = _without_words(said.get("settings", ""), name)
        settings = _cut(own, _OWN_LETTERS) or "–"  # what the heading does not have
        groups = _with_word(said["groups"]) if said["groups"] != "–" else "–"
        began = f"{said['started']:%d %b %H:%M:%S}"  # as what asks before it deletes has it
        parts = ("–" if began in name else began, status, groups, settings)
        # Two lines: the accuracies before, their gains and the time are on the run's own page.
        score = "" if said[SCORE] == "–" else f"GroupScore {said[SCORE]}"
        of = [score, " · ".join(part for part in parts if part != "–")]
        with st.container(border=True, gap=None, key=f"card-{sweep.id}"):
            button: dict[str, Any] = {"type": "tertiary", "icon": ":material/arrow_forward:"}
            page, state = page_of(sweep)
            ui.page_button(f"**{escape_markdown(name)}**", page, state, key=f"open-{sweep.id}", **button)
            st.session_state[f"tick-{sweep.id}"] = sweep.id in chosen
            st.checkbox(f"Choose {escape_markdown(name)}", key=f"tick-{sweep.id}", on_change=tick, args=(sweep.id,),
                        label_visibility="collapsed")  # fmt: skip
            none = "Several trainings, on its page" if is_controls(sweep) else "No result yet"
            st.markdown(none if said["result"] == "–" else escape_markdown(said["result"]))
            if said["gain"] != "–":
                st.markdown(f"{said['metric']} gain **{escape_markdown(said['gain'])}** points")
            st.caption("  \n".join(escape_markdown(line) for line in of if line))
    if len(sweeps) > MOST_CARDS:
        st.caption(f"The {MOST_CARDS} newest of {len(sweeps)}; “Find” has the others.")


def tick(name: str) -> None:
    """From a callback: the tick of a run's card was set, or taken away."""
    chosen = [each for each in st.session_state.get("chosen_runs", []) if each != name]
    st.session_state["chosen_runs"] = chosen + [name] * bool(st.session_state[f"tick-{name}"])
    st.session_state.pop("listed_runs", None)  # the table's ticks are set anew


# --- choosing and acting -------------------------------------------------------------------------------------------


def choose(
    frame: pd.DataFrame, sweeps: dict[str, SeedGroup], grouped: Sequence[SeedGroup]
) -> list[SeedGroup]:
    """The table; a click on a run opens it, a tick chooses it. What is chosen is in the address, so that a comparison
    can be linked. grouped : all runs with their seeds, by which a tick on a run is one on its seeds where each has a
    row of its own, and the other way round."""
    ids = list(frame["id"])
    asked = asked_runs({name for sweep in grouped for name in (sweep.id, *(run.id for run in sweep.runs))})
    if (back := came_back_to("runs")) is not None:  # a step back unticks what the step before it ticked
        st.session_state["chosen_runs"] = back.split(",")
        st.session_state.pop("listed_runs", None)  # the table's ticks are set anew
    chosen = _as_listed(st.session_state.get("chosen_runs", asked), ids, grouped)
    if TABLE not in st.session_state or st.session_state.get("listed_runs") != ids:
        # Rows are known by their place, which a new run changes.
        st.session_state["listed_runs"] = ids
        st.session_state[TABLE] = {"selection": {"rows": [ids.index(name) for name in chosen]}}
    frame = with_letters(frame, sweeps, _ticked(ids, chosen))
    everything = bool(st.session_state.get("columns"))
    whole = named_cells(frame.assign(set=marked(frame, frame["set"])))
    shown, widths = (whole, {}) if everything else fitted(frame)
    config, scrolls = columns_of(widths), everything or sum(widths.values()) > _ROOM
    if widths:
        config |= {
            name: {**config[name], "label": head}
            for name, head in result_heads(frame).items()
            if name in config
        }
    with st.container(key="all-runs"):
        event = ui.wide_table(
            shown,
            column_config={**config, "curve": curve_column(list(frame["curve"]), shared_metric(frame))},
            column_order=every_column(frame) if everything else list(widths),
            key=TABLE,
            height=min(_ROW * (len(frame) + 1), _MOST_HEIGHT) + (_SCROLL_BAR if scrolls else _EDGE),
            on_select="rerun",
            selection_mode=["multi-row", "single-cell"],
            alt=f"{len(ids)} runs, the newest first",
        )
        if not everything and (line := said_once(frame, widths)):
            st.caption(escape_markdown(line))
    chosen = [ids[row] for row in event["selection"]["rows"] if row < len(ids)]
    st.session_state["chosen_runs"] = chosen
    if chosen:
        st.query_params["runs"] = ",".join(chosen)
    else:
        st.query_params.pop("runs", None)
    for row, _ in event["selection"].get("cells", [])[:1]:
        open_page_of(sweeps[ids[row]])
    return [sweeps[name] for name in chosen]


def _with_word(groups: str) -> str:
    """`1 group`, `20 groups`, `first 20 of 300 groups`."""
    return f"{groups} group" if groups == "1" else f"{groups} groups"


def _as_listed(chosen: Sequence[str], ids: Sequence[str], grouped: Sequence[SeedGroup]) -> list[str]:
    """The rows of these runs, seeds and groups of seeds, each once: a seed's group where it has no row of its own, and
    the seeds of a group that has none."""
    rows: dict[str, list[str]] = {}
    for sweep in grouped:
        seeds = [run.id for run in sweep.runs]
        rows[sweep.id] = [sweep.id] if sweep.id in ids else seeds
        for seed in seeds:
            rows[seed] = [seed] if seed in ids else [sweep.id]
    return list(dict.fromkeys(row for name in chosen for row in rows.get(name, []) if row in ids))


def with_letters(frame: pd.DataFrame, sweeps: Mapping[str, SeedGroup], ticked: Sequence[str]) -> pd.DataFrame:
    """The table with the letter of each run that is compared, where several are."""
    compared = [sweeps[name] for name in ticked if not is_controls(sweeps[name])]
    if not 2 <= len(compared) <= len(LETTERS):
        return frame
    letters = zip((each.id for each in by_age(compared)), LETTERS, strict=False)
    return frame.assign(letter=frame["id"].map(dict(letters)).fillna(""))


def _ticked(ids: Sequence[str], chosen: Sequence[str]) -> list[str]:
    """The runs that are ticked, also those of the click that this script answers."""
    rows = st.session_state.get(TABLE, {}).get("selection", {}).get("rows")
    return list(chosen) if rows is None else [ids[row] for row in rows if row < len(ids)]


_OF_CONTROLS = "Controls are several trainings and are compared with no run."


def _told_of_ticks(
    sweeps: Sequence[SeedGroup], chosen: Sequence[SeedGroup], results: Sequence[SeedGroup]
) -> str:
    """What the next tick does, and of controls that they are compared with no run: before they are ticked, too.
    results : those of the chosen ones that are no controls."""
    is_told = len(results) > 1 or len(results) == len(chosen)
    line = _what_to_tick(len(results), len(sweeps)) if is_told else ""
    has_controls = any(map(is_controls, sweeps if len(results) < 2 else chosen))
    return f"{line} {_OF_CONTROLS}".lstrip() if has_controls else line


def _what_to_tick(count: int, of: int) -> str:
    """What the next tick does."""
    if not count:
        return (
            "Press a run to open it; tick one or more to compare, stop, resume, export or delete them. Results are "
            "those of the last iteration, with their 95 % intervals."
        )
    if count == 1 and of > 1:
        return f"Tick a second run to compare the two; “Compare with …” says with which there is a {PAIRED}."
    if count <= len(LETTERS):
        oldest = "newest of the ticked runs, the first" if st.session_state.get("swapped") else (
            "oldest of the ticked runs, the last"
        )  # fmt: skip
        return f"A is the {oldest} in this list." if count > 1 else ""
    return f"The curves of at most {len(LETTERS)} runs are laid over each other; {count} are ticked."


def by_age(runs: Sequence[SeedGroup]) -> list[SeedGroup]:
    """Runs in the order of their letters: A is the oldest, so that B minus A is what a later one gained; the other way
    round where they are swapped."""
    found = sorted(runs, key=lambda sweep: sweep.created, reverse=bool(st.session_state.get("swapped")))
    return sorted(found, key=is_controls)  # which have no letter


def is_controls(sweep: SeedGroup) -> bool:
    """Whether this is a run with its controls: several trainings, which are never compared as one result."""
    return bool(_controls_said(sweep.runs[0]))


def comparable(first: SeedGroup, second: SeedGroup, results: Mapping[str, str]) -> str:
    """What two runs can be compared by, in a few words. results : of each, as the table has them."""
    if "–" in (results[first.id], results[second.id]):
        return "no result yet"
    if _other_groups(first, second) and not _one_within(first, second):
        return APART
    both = (first, second)
    single, kinds = all(len(each.runs) == 1 for each in both), {each.runs[0].kind for each in both}
    if single:
        return PAIRED if kinds <= {*_SCORED} else UNPAIRED
    complete = [{seed_of(run) for run in each.runs if run.status == "finished"} for each in both]
    return PAIRED if kinds <= {*_ADAPTED} and complete[0] & complete[1] else UNPAIRED


def asked_runs(known: Collection[str]) -> list[str]:
    """The runs that the address names; those that are not here are named in one line, once."""
    asked = [name for key in ("runs", "run") for name in st.query_params.get(key, "").split(",") if name]
    gone = [name for name in asked if name not in (*known, shared.NEW, EXAMPLE, EXAMPLE_ID)]
    if gone and "chosen_runs" not in st.session_state:
        what = "run of this link is" if len(gone) == 1 else "runs of this link are"
        names = ", ".join(name[:40] for name in gone[:3]) + ("" if len(gone) <= 3 else " and others")
        st.warning(
            escape_markdown(f"{len(gone)} {what} not here (any more): {names}."), icon=":material/link_off:"
        )
    return asked


def is_linked(chosen: Sequence[SeedGroup]) -> bool:
    """Whether the address that this visit began with is of these runs: it is there for their comparison."""
    return {sweep.id for sweep in chosen} == {*st.session_state.get("linked_runs", "").split(",")}


def open_page_of(sweep: SeedGroup) -> None:
    """Leave for the page that shows a run."""
    page, state = page_of(sweep)
    del st.session_state[TABLE]  # or coming back would open it again
    switch_page(page, state)


def page_of(sweep: SeedGroup) -> tuple[str, dict[str, str]]:
    """The page of a run, and its widgets there."""
    return shared.page_of(sweep.runs[0], sweep.id)


def pick_second(sweep: SeedGroup, others: Sequence[SeedGroup], results: Mapping[str, str]) -> None:
    """Tick a second run, so that the two are compared; those with which there is a paired test come first."""
    if is_controls(sweep):
        return
    others = [each for each in others if not is_controls(each)]
    said = {each.id: comparable(sweep, each, results) for each in others if each.id != sweep.id}
    order = sorted((each for each in others if each.id in said), key=lambda each: said[each.id] != PAIRED)
    names = {name: f"{label} · {said[name]}" for name, label in shared.labels_in_list(order).items()}
    if not names:
        return
    with st.popover("Compare with …", icon=":material/compare:"):
        st.selectbox(
            "Its curves and its result beside those of",
            list(names),
            index=None,
            format_func=names.__getitem__,
            key="second_run",
            placeholder="another run",
            on_change=tick_second,
            args=(sweep.id,),
        )


def rename(sweep: SeedGroup, store: RunStore) -> None:
    """A name of one's own in place of set and model."""
    opened = f"rename-opened-{sweep.id}"
    if st.session_state.pop(f"renamed-{sweep.id}", False):
        st.session_state[opened] = False  # the name is saved: there is nothing more to do in it
    with (
        st.popover("Rename", icon=":material/edit:", key=opened, on_change="rerun"),
        st.form(f"rename-{sweep.id}", border=False),
    ):
        name = st.text_input(
            "Name", sweep.given_name, max_chars=80, placeholder="lower learning rate", key=f"name-{sweep.id}"
        )
        if st.form_submit_button("Save", icon=":material/check:"):
            with ui.show_errors():
                sweep.rename(store, name)
                st.session_state[f"renamed-{sweep.id}"] = True
                st.rerun()


def tick_second(first: str) -> None:
    """From a callback: the run that was picked is chosen beside the first."""
    second = st.session_state.pop("second_run", None)
    if second is not None:
        st.session_state["chosen_runs"] = [first, second]
        st.session_state.pop("listed_runs", None)  # the table's ticks are set anew


def before_and_after(runs: Sequence[Run], store: RunStore) -> None:
    """The page Compare with the model before and after a run, group by group; nothing for a run on embeddings, whose
    model scores the rows of its file alone."""
    (run, *more), config = runs, runs[0].config
    compared = run.kind in ("ttm", "simplematch") and run.status == "finished" and not more
    compared = compared and not config.get("embeddings")
    if not compared or "benchmark" not in config or not (store.folder(run.id) / "model").is_dir():
        return
    state = {"set": config["benchmark"], "split": config.get("split", "test"), "model": config["model"]}
    state |= {"other": f"run/{run.id}", "tag": list(config.get("tags") or [])}
    label, icon = "Before and after, group by group", ":material/difference:"
    ui.page_button(label, "pages/6_Compare.py", state, icon=icon, key="before-and-after")


def actions(
    chosen: Sequence[SeedGroup],
    store: ui.VisitorStore,
    others: Sequence[SeedGroup],
    results: Mapping[str, str],
    said: str = "",
) -> None:
    """What can be done with the chosen ones, all at once; a phone has it at the lower edge of the screen as long as it
    lies below the list (`style.css`). others : all runs of the table; results : of each, as it has them; said : what
    stands before the buttons."""
    if not chosen:
        return
    runs = [run for sweep in chosen for run in sweep.runs]
    stoppable = sum(run.status in shared.STOPPABLE for run in runs)
    resumable = sum(run.resumable for run in runs)
    stopping = any(run.status == "stopping" for run in runs)
    with st.container(horizontal=True, vertical_alignment="center", key="run-actions"):
        if said:
            st.caption(said, width="content")
        if len(chosen) == 1:
            page, state = page_of(chosen[0])
            ui.page_button(
                "Open", page, state, icon=":material/open_in_full:", type="primary", key="open-chosen"
            )
            pick_second(chosen[0], others, results)
            before_and_after(chosen[0].runs, store)
            rename(chosen[0], store)
        elif len(chosen) <= len(LETTERS):
            with st.container(key="to-comparison", width="content"):
                if sum(not is_controls(sweep) for sweep in chosen) > 1:
                    st.markdown(f"[See them compared ↓](#{anchor(COMPARED)})")
                else:
                    st.markdown(f"[Why these cannot be compared ↓](#{anchor(COMPARED)})")
        if len(runs) == 1:
            archive_button(runs[0], "Export (ZIP)" if on_phone() else "Export this whole run (ZIP)")
        else:
            archives_button(chosen, _export_label(runs), "row")
        if stoppable:
            shared.stop_button(store, runs, f"Stop ({stoppable})")
        if resumable and not stopping:  # else it resumes some of those that were asked to stop
            shared.resume_button(store, runs, f"Resume ({resumable})")
        st.space("small")  # it looked like the one beside it
        with st.container(key="delete-runs", width="content"):
            deletes = st.button("Delete", icon=":material/delete:")
        if deletes:
            confirm([*chosen])


def taken_away(tables: Mapping[str, pd.DataFrame], of: str) -> None:
    """The tables of a comparison. of : which runs these are, at the end of their files' names."""
    for label, found in tables.items():
        csv_button(label, found, label.partition(" (")[0].lower().replace(" ", "-") + of)


def run_archives(chosen: Sequence[SeedGroup]) -> None:
    """One archive of a run: its settings, iterations, scores and model; of several runs one file that holds those."""
    if not chosen:
        st.caption(
            "Tick runs in the table for more: the whole runs with their models; of two, also figures, a LaTeX table "
            "and a report."
        )
        return
    runs = [run for sweep in chosen for run in sweep.runs]
    if len(runs) == 1:
        st.caption(
            "The run as one file, with everything it recorded and its model; import it on any machine."
        )
        archive_button(runs[0], f"{lettered(chosen)[0]} ({runs[0].status})", "list")
        return
    count = len(_archive_names(chosen))
    archives_button(chosen, f"Archives of {counted(count, 'run')}, one file (ZIP)", "all")
    left = len(runs) - count
    without = (
        f" Without {counted(left, 'run')} that {'is' if left == 1 else 'are'} still at work." if left else ""
    )
    said = (
        "Each run with everything it recorded and its model. “Import runs” reads this file on any machine; unpacked, "
        f"each archive in it is one run.{without}"
    )
    st.caption("  \n".join([said, *map(escape_markdown, lettered(chosen))]))


def archives_button(chosen: Sequence[SeedGroup], label: str, where: str) -> None:
    """Downloads those of several runs that have ended as one file."""
    names = _archive_names(chosen)
    st.download_button(
        label,
        partial(packed_together, names),
        f"crossmatch-{len(names)}-runs.zip",
        "application/zip",
        key=f"export-{where}",
        on_click="ignore",
        icon=":material/folder_zip:",
        disabled=not names,
    )


def _export_label(runs: Sequence[Run]) -> str:
    """`Export 11 whole runs (ZIP)`, or `Export 9 of 11 whole runs (2 still at work)`, which have no archive yet; on a
    phone `Export 11 (ZIP)`."""
    live = sum(run.live for run in runs)
    if on_phone():  # whose bar of actions then has one row
        return f"Export {f'{len(runs) - live} of ' if live else ''}{len(runs)} (ZIP)"
    if not live:
        return f"Export {counted(len(runs), 'whole run')} (ZIP)"
    return f"Export {len(runs) - live} of {len(runs)} whole runs ({live} still at work)"


def _archive_names(chosen: Sequence[SeedGroup]) -> dict[str, str]:
    """The runs that have ended, by the name of their archive: `A-seed-0-crossmatch-run-….zip`, the letter and seed as
    far as there are several."""
    letters = [f"{letter}-" for letter in LETTERS] if len(chosen) > 1 else []
    return {
        f"{letter}{_archive_name(run, len(sweep.runs) > 1)}": run.id
        for letter, sweep in zip([*letters, *[""] * len(chosen)], chosen, strict=False)
        for run in sweep.runs
        if not run.live
    }


def lettered(chosen: Sequence[SeedGroup]) -> list[str]:
    """The chosen runs by title; of several each with its letter, as far as these go, and what tells it apart."""
    titles = [shared.title_of(sweep) for sweep in chosen]
    if len(chosen) < 2:
        return titles
    letters = [f"{letter}: " for letter in LETTERS] + [""] * len(chosen)
    own = set_apart(*chosen)
    return [
        letter + _with_own(title, apart) for letter, title, apart in zip(letters, titles, own, strict=False)
    ]


def _with_own(label: str, own: str) -> str:
    """A label of a run, and what sets it apart from others as far as the label does not say that; a name that the label
    cuts stands whole in its place, and not a second time."""
    said, more = label.split(" · "), []
    for part in own.split(", "):
        head, cut, tail = next((each.partition("…") for each in said if "…" in each), ("", "", ""))
        if cut and part.startswith(head) and part.endswith(tail):
            said[said.index(f"{head}…{tail}")] = part
        elif part.removeprefix("scenes/") not in label:
            more.append(part)
    return " · ".join([*said, *more])


def archive_button(run: Run, label: str, where: str = "row") -> None:
    """Downloads a run as one file."""
    st.download_button(
        escape_markdown(label),
        partial(packed, run.id),
        f"crossmatch-run-{run.id}.zip",
        "application/zip",
        key=f"export-{where}-{run.id}",
        on_click="ignore",
        icon=":material/folder_zip:",
        disabled=run.live,
        help="One file with settings, iterations, scores and model; “Import runs” reads it on any machine.",
    )


def packed(run_id: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return export_run(RunStore(), run_id, Path(folder) / f"crossmatch-run-{run_id}.zip").read_bytes()


def packed_together(names: Mapping[str, str]) -> bytes:
    """Several archives in one file. names : of each, and the run that it is of."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / f"crossmatch-{len(names)}-runs.zip"
        return _export_together(RunStore(), names, out).read_bytes()


def archives_in(name: str, content: bytes) -> list[tuple[str, bytes]]:
    """The archives, by name, that a visitor's file is: itself, or those of several runs that were exported together."""
    with suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(content)) as whole:
        if inside := _archives_within(whole, len(content)):
            return [(Path(each.filename).name, whole.read(each)) for each in inside]
    return [(name, content)]


def bring_in(store: RunStore) -> None:
    """Runs of another machine; nobody brings files to a public server."""
    if is_public():
        return
    with (
        st.popover("Import runs", icon=":material/unarchive:"),
        st.form("import", clear_on_submit=True, border=False),
    ):
        uploads = st.file_uploader(
            "Archives exported from a Runs page", type="zip", accept_multiple_files=True, key="archives"
        )
        if st.form_submit_button("Import", icon=":material/unarchive:"):
            with ui.show_errors():
                archives = [each for file in uploads for each in archives_in(file.name, file.getvalue())]
            groups: dict[str, str] = {}  # seeds of one group are one here, too, in several files
            for name, content in archives:
                with ui.show_errors():
                    run, is_new = shared.imported(store, name, content, groups)
                said = f"Imported {run.title}" if is_new else f"Already here as {run.title}, nothing imported"
                st.toast(escape_markdown(said), icon=":material/check:" if is_new else ":material/info:")
            if uploads:
                st.rerun()


@st.dialog("Delete permanently?", on_dismiss="rerun")
def confirm(chosen: list[SeedGroup]) -> None:
    st.session_state["confirming"] = True  # until the page is drawn again
    runs = [run for sweep in chosen for run in sweep.runs]
    st.write(f"{counted(len(runs), 'run')} with all curves, scores and the adapted model:")
    letters = {sweep.id: letter for letter, sweep in zip(LETTERS, by_age(chosen), strict=False)}
    for sweep in chosen:
        letter = f"{letters[sweep.id]}: " if 1 < len(chosen) <= len(LETTERS) else ""
        for run in sweep.runs:
            label = f"{letter}{shared.whole_label(SeedGroup(run.id, [run]))} · {run.status}"
            st.text(label + (" (still running; it will be stopped)" if run.live else ""))
    with st.container(horizontal=True):
        button: dict[str, Any] = {"type": "primary", "icon": ":material/delete_forever:", "key": "really"}
        deleted = st.button("Delete", on_click=delete, args=([run.id for run in runs],), **button)
        if st.button("Cancel") or deleted:
            st.rerun()


def delete(ids: list[str]) -> None:
    """From a callback, so that the list is drawn again without them."""
    with ui.show_errors():
        for run_id in ids:
            ui.VisitorStore().delete(run_id)
    if st.session_state.get("run") in ids:
        st.session_state["run"] = shared.NEW
    st.session_state["chosen_runs"] = []


# --- two of them ---------------------------------------------------------------------------------------------------


def curves(sweep: SeedGroup, store: RunStore, pair: _Pair | None = None) -> plots.TTMData:
    """A run's curves, or the means over the seeds of a sweep; where it is compared on some groups alone, those of
    these, as headline and table are."""
    common = None if pair is None else pair.in_common
    if pair is None or common is None:
        steps = [store.steps(run.id) for run in sweep.runs]
    else:
        steps = [
            steps_on(run.id, run.done, run.attempt, common.size, run, (sweep, *pair.runs))
            for run in sweep.runs
        ]
    total = max(run._axis_end for run in sweep.runs) or 1
    if len(steps) == 1:
        return plots.ttm_data(steps[0], total)
    return plots.spread_data(summary(steps), total)


@st.cache_resource(max_entries=64, show_spinner="Measuring every iteration …")
def steps_on(
    run_id: str, done: int, attempt: int, count: int, _run: Run, _same: Sequence[SeedGroup]
) -> list[dict[str, Any]]:
    """The records of a run's iterations, measured on its first `count` groups."""
    return _steps_on(_run, RunStore(), _same, count)


def legend(*sweeps: SeedGroup) -> list[str]:
    """Runs in a figure: by what each is called in the list, and what sets it apart; one with a given name by that
    alone, unless two would be called alike, or have other seeds."""
    given, apart = [given_name(sweep) for sweep in sweeps], set_apart(*sweeps)
    seeds = [seeds_text(sweep) for sweep in sweeps]
    found = []
    for name, own, seed, sweep in zip(given, apart, seeds, sweeps, strict=True):
        more = own if given.count(name) > 1 else seed * (len({*seeds}) > 1)
        cut = cut_within(name, _GIVEN_LETTERS)
        found.append(", ".join(filter(None, [cut, more])) if name else _with_own(called(sweep), own))
    return found


def set_apart(*sweeps: SeedGroup) -> list[str]:
    """What tells runs apart: set and model, as far as they differ in these, else the first of kind, groups and settings
    in which they do, and as many more of these as it takes to tell all apart; the seeds wherever they differ: a curve
    of one seed is not a mean over four."""
    settings = _without_shared(own_settings([sweep.runs[0] for sweep in sweeps]))
    own = dict(zip((sweep.id for sweep in sweeps), settings, strict=True))
    columns: tuple[Callable[[SeedGroup], str], ...] = (
        lambda sweep: sweep.runs[0].config.get("benchmark", ""),
        lambda sweep: "/".join(Path(sweep.runs[0].config.get("model", "")).parts[-2:]),
        lambda sweep: kind_of_run(sweep.runs[0]).removesuffix(f", {SHIPS}"),
        lambda sweep: _groups_said(sweep.runs[0].config),
        lambda sweep: own[sweep.id],
        seeds_text,
        lambda sweep: f"{datetime.fromtimestamp(sweep.created):%d %b %H:%M:%S}",
        lambda sweep: sweep.id,
    )
    found = [[of(sweep) for sweep in sweeps] for of in columns]
    *found, seeds, began, names = found
    apart = [said for said in found[:2] if len({*said}) > 1]
    for said in [*found[2:], seeds, began, names]:
        if len({*said}) > 1 and (said is seeds or len({*zip(*apart, strict=True)}) < len(sweeps)):
            apart.append(said)
    told = [", ".join(filter(None, names)).split(", ") for names in zip(*apart, strict=True)]
    return [", ".join(dict.fromkeys(parts)) for parts in told]  # a kind is among the settings, too


def _without_shared(settings: Sequence[str]) -> list[str]:
    """Settings without what all of them have within a part: `linear threshold` of `linear threshold, 20 % selected`."""
    parts = [re.split(r", | · ", said) for said in settings]
    shared_parts = set.intersection(*map(set, parts))
    return [", ".join(part for part in each if part not in shared_parts) for each in parts]


class _Shown(NamedTuple):
    """What a comparison shows that can be taken away, and how its figures are read."""

    figures: dict[str, Any]
    tables: dict[str, pd.DataFrame]
    note: str
    latex: str = ""
    report: Callable[[], bytes] | None = None
    command: str = ""  # that prints the same numbers


NOTHING = _Shown({}, {}, "")


def beside(chosen: Sequence[SeedGroup], has_header: bool) -> None:
    """Of each run of controls among the ticked ones what it is, and the way to its page: it is compared with none."""
    for n, sweep in enumerate(filter(is_controls, chosen)):
        if not (has_header or n):
            st.header(COMPARED, anchor=anchor(COMPARED))
        st.markdown(_controls_said(sweep.runs[0]))
        page, state = page_of(sweep)
        button: dict[str, Any] = {"icon": ":material/balance:", "key": f"controls-{sweep.id}"}
        ui.page_button("Open the controls", page, state, **button)


def overlay(chosen: Sequence[SeedGroup], store: RunStore) -> _Shown:
    """The curves of three runs and more laid over each other, the uppermost as A; what of it can be taken away."""
    st.header(COMPARED, anchor=anchor(COMPARED))
    untick = "one" if len(chosen) == 3 else f"all but two of the {len(chosen)}"
    st.markdown(f"Curves only: a paired comparison takes two runs. For one, untick {untick}.")
    sweeps = by_age(chosen)
    of = {
        f"{letter}: {name}": sweep
        for letter, name, sweep in zip(LETTERS, legend(*sweeps), sweeps, strict=False)
    }
    every = {name: curves(sweep, store) for name, sweep in of.items()}
    metric = pick_metric([name for data in every.values() for name in data.metrics])
    if metric is None:
        st.info("None of these runs has an iteration with a metric yet.", icon=":material/hourglass_top:")
        return NOTHING
    data = {name: each for name, each in every.items() if metric in each.metrics}
    label = label_and_meaning(metric)[0]
    shown = {name: with_intervals(each, of[name]) for name, each in data.items()}
    figure = plots.ttm_compare_figure(shown, metric)
    ends = ", ".join(f"{name} ends at {_pct(d.metrics[metric][-1, 0])} %" for name, d in data.items())
    ui.chart(figure, f"{label} per iteration of {len(data)} runs: {ends}.", "compare")
    without = [name for name in every if name not in data]
    lacking = f" Without this metric: {'; '.join(without)}." if without else ""
    last = "; ".join(f"{name} {_pct(d.metrics[metric][-1, 0])} %" for name, d in data.items())
    line = f"Last iterations: {last}. Dotted: chance levels.{shared.chance_below(figure, shown, metric)}"
    st.caption(escape_markdown(f"{line}{lacking}"))
    return _Shown({label: figure}, {"All curves (CSV)": curve_table(data, shown)}, line)


def pick_metric(known: Sequence[str]) -> str | None:
    """Which of some metrics is drawn, GroupMatch first; None where there are none."""
    order = sorted(
        dict.fromkeys(known), key=lambda name: (name != metrics.GROUP_MATCH, not _is_headline(name))
    )
    if not order:
        return None
    return st.selectbox(
        "Metric",
        order,
        format_func=lambda name: label_and_meaning(name)[0],
        key="compared_metric",
        bind="query-params",
        label_visibility="collapsed",
        width=280,
    )


def _is_headline(name: str) -> bool:
    return name == COLA_MAP or metrics.description_of(name).headline


def compare(chosen: Sequence[SeedGroup], store: RunStore) -> _Shown:
    """Two laid over each other, the older as A, and the difference on the same groups; what of it can be taken away."""
    bar = st.container(horizontal=True, vertical_alignment="center")
    with bar:
        st.header(COMPARED, anchor=anchor(COMPARED), width="content")
        st.toggle("Swap A and B", key="swapped", bind="query-params")
    first, second = by_age(chosen)
    pair = _Pair.of(first, second, store, partial(ends_now, store=store))
    sides, both = pair.sides, compared_runs(pair, legend(first, second))
    lines = [_line(*each) for each in zip("AB", set_apart(first, second), (first, second), strict=True)]
    differing = escape_markdown(pair.differing)
    data = {name: curves(sweep, store, pair) for name, sweep in both.items()}
    one, other = data.values()
    with bar:
        metric = pick_metric([name for name in one.metrics if name in other.metrics])
    answer(pair, metric, store)
    if metric is None:
        st.markdown("  \n".join([*with_results(lines, sides), differing]))
        st.info(no_curves(pair), icon=":material/info:")
        return NOTHING._replace(command=command_of(pair))
    common = pair.in_common
    count, on = (None, "") if common is None else (common.size, f" {common.where}")
    shown = {name: with_intervals(data[name], sweep, count) for name, sweep in both.items()}
    if metric in pair.tested:
        groups_warning(pair)
    figure, bands = drawn_over(both, data, shown, metric, on)
    if pair.ends and metric in metrics.METRICS:
        results = (metric_line(e.metrics[metric]) for e in pair.ends)
        named = (
            f"{line}{on and f' ({on[1:]})'}: {escape_markdown(result)}"
            for line, result in zip(lines, results, strict=True)
        )
        st.markdown("  \n".join([*named, differing]))
        with behind(pair, metric, store):
            difference(pair, metric)
    elif (
        pair.other_groups or pair._at_work or not {first.runs[0].kind, second.runs[0].kind} <= {*shared.KINDS}
    ):
        st.markdown("  \n".join([*with_results(lines, sides, metric), differing]))
    else:
        st.markdown("  \n".join([*lines, differing]))
        with behind(pair, metric, store):
            means(both, pair, metric, store)
    every_metric(pair.table, f"{pair._table_note} {off_by_rounding(pair)}".strip())
    names = [shared.whole_label(sweep) for sweep in (first, second)]
    tables = {"All metrics of both (CSV)": _with_origin(pair.frame, names, pair.n_groups)}
    tables[f"Both curves{on} (CSV)"] = curve_table(data, shown)
    if pair.ends:
        tables["Paired differences (CSV)"] = _comparison_file(pair.ends[0], pair.ends[1], names)
    about = [f"{side}: {shared.whole_label(s)}." for side, s in zip("AB", (first, second), strict=True)]
    said = " ".join([*about, pair.differing])
    report = (
        partial(report_of_both, both, pair.ends, said)
        if pair.ends and pair.in_common is None
        else lambda: _report_of_pair(pair, store).encode()
    )
    files = pair.latex(about), report, command_of(pair)
    return _Shown({f"{label_and_meaning(metric)[0]}{on}": figure}, tables, bands, *files)


def answer(pair: _Pair, metric: str | None, store: RunStore) -> None:
    """What came out, above the figure: whether B is ahead of A, and of which seeds that is; where nothing is tested why
    not, and what each has gained on its own groups."""
    if metric is not None and metric in pair.tested:
        st.markdown(ui.unbroken(pair.verdict(metric, *_letters_and_names(pair))))
        lines = pair._seeds_line, pair._one_seed_line
        if seeds := [*filter(None, lines)]:
            st.markdown(ui.unbroken("  \n".join(map(escape_markdown, seeds))))
        run_missing_seeds(pair, store)
        return
    groups_warning(pair)
    so_far = "" if metric is None else pair._so_far(metric)
    lines = escape_markdown(so_far), gains_in_common(pair, store), own_gains(pair, store)
    for said in (*lines, escape_markdown(pair._seeds_line)):
        if said:
            st.markdown(said)
    run_missing_seeds(pair, store)


def _letters_and_names(pair: _Pair) -> list[str]:
    """`A (seed 0)` and `B (seed 1)`: in the verdict letters alone sent the eye to the list; `B` of a run that nothing
    sets apart but the other's name. Markdown."""
    told = set_apart(*pair.runs)
    if (
        pair.in_common is not None and pair.in_common.adapted
    ):  # the number of groups alone tells them apart, and may not be all that differs
        lengths = [max(run.total for run in sweep.runs) for sweep in pair.runs]
        differ = len({*lengths}) > 1
        told = [f"{said}, T = {n}" if differ else said for said, n in zip(told, lengths, strict=True)]
    own = [name or apart for name, apart in zip(map(given_name, pair.runs), told, strict=True)]
    return [
        f"{side} ({escape_markdown(cut_within(said, _GIVEN_LETTERS))})" if said else side
        for side, said in zip("AB", own, strict=True)
    ]


def run_missing_seeds(pair: _Pair, store: RunStore) -> None:
    """A button for each side that lacks seeds of the other one, where its set and model are here."""
    offered = {side: seeds for side, seeds in pair._missing_seeds.items() if _can_run(pair, side)}
    if not offered:
        return
    with st.container(horizontal=True, key="missing-seeds"):
        for side, seeds in offered.items():
            label = f"Run seed{'s' * (len(seeds) > 1)} {_seeds_said(seeds)} of {side}"
            own = pair.runs["AB".index(side)].runs
            st.button(label, on_click=start_seeds, args=(store, own, seeds), icon=":material/play_arrow:")


def _can_run(pair: _Pair, side: str) -> bool:
    """Whether the data and the model of a side are on this machine."""
    with suppress(InputError):
        adaptation(pair.runs["AB".index(side)].runs[0].config).check_ready()
        return True
    return False


def start_seeds(store: RunStore, own: Sequence[Run], seeds: Sequence[int]) -> None:
    """From a callback: these seeds are queued; what is ticked stays ticked, a run as the group that it becomes."""
    with ui.show_errors():
        group, _ = SeedGroup._add(store, own, seeds)
        chosen = st.session_state.get("chosen_runs", [])
        st.session_state["chosen_runs"] = [group if name == own[0].id else name for name in chosen]
        st.session_state.pop("listed_runs", None)  # the table's ticks are set anew


def groups_warning(pair: _Pair) -> None:
    """That two runs have different groups, or on which the two are compared; nothing of the same groups."""
    if pair.groups_line:
        st.warning(escape_markdown(pair.groups_line), icon=":material/difference:")


def behind(pair: _Pair, metric: str, store: RunStore) -> Any:
    """The place of what stands behind the answer, folded where there is one, with what each of the two has gained."""
    if metric not in pair.tested:
        return st.container()
    gained = [said for said in (gains_in_common(pair, store), own_gains(pair, store)) if said]
    title = "How each of the two gained, and how B − A was tested" if gained else "How B − A was tested"
    place = st.expander(title)
    if pair.tests > 1:
        place.caption(f"p is corrected for {pair.tests} metrics. {_WHY_ALL}")
    for said in gained:
        place.markdown(said)
    if every := pair._all_seeds_line(
        metric
    ):  # a second difference above, of other seeds, contradicted the tested one
        place.markdown(ui.unbroken(escape_markdown(every)))
    return place


def compared_runs(pair: _Pair, names: Sequence[str]) -> dict[str, SeedGroup]:
    """What chart, text and table of a comparison are of, by its name there: of seeds those alone that both have
    complete, which the name says where a side has more.

    names : of A and B, as a chart calls them.
    """
    found = {}
    for side, name, whole, sweep in zip("AB", names, pair.runs, pair.compared, strict=True):
        only = f" (here {seeds_text(sweep)})" if len(sweep.runs) < len(whole.runs) else ""
        found[f"{side}: {name}{only}"] = sweep
    return found


def seeds_text(sweep: SeedGroup) -> str:
    """`seed 0`, `seeds 0–1`."""
    return f"seed{'s' * (len(sweep.runs) > 1)} {_seeds_said([seed_of(run) for run in sweep.runs])}"


def command_of(pair: _Pair) -> str:
    """What prints the table of all metrics in a terminal; "" where there is none, and where visitors have none."""
    ids = (sweep.id for sweep in pair.runs)
    return "" if is_public() or not pair.measured else f"crossmatch runs compare {shlex.join(ids)}"


def gains_in_common(pair: _Pair, store: RunStore) -> str:
    """What each of two runs has gained on the groups that both have, which is the fair gain; "" where there is none."""
    lines = _gains_in_common(pair, store, gain_text)
    return "  \n".join([*lines[:1], *(f"**{line[0]}**{escape_markdown(line[1:])}" for line in lines[1:])])


def own_gains(pair: _Pair, store: RunStore) -> str:
    """What each of two runs on different groups has gained by itself, side by side; "" where neither is measured. Of
    a run whose groups are those of both its gain on these says it."""
    if not pair.groups_line:
        return ""
    lines, measured = [], False
    for side, sweep in pair._on_more_groups.items():
        ends = pair.sides["AB".index(side)]
        found, main = gains(sweep, [store.steps(run.id) for run in sweep.runs]), _main_metric(ends)
        labels = dict.fromkeys([] if main is None else [label_of(main), *found])
        told = [f"{label} {gain_text(found[label])}" for label in labels if label in found]
        measured |= bool(told)
        lines.append(f"**{side}** {'; '.join(told) or _no_gain_said(sweep)}")
    if not measured:
        return ""
    head = (
        f"Gains, after minus before in points, {pair._own_groups_said} (in brackets: 95 % intervals, paired):"
    )
    return "  \n".join([head, *lines])


def drawn_over(
    both: Mapping[str, SeedGroup],
    data: Mapping[str, plots.TTMData],
    shown: Mapping[str, plots.TTMData],
    metric: str,
    on: str = "",
) -> tuple[Any, str]:
    """The curves of two runs laid over each other, and what their bands are.

    shown : the curves as they are drawn, with intervals. on : of which groups, where not of all; the title says it.
    """
    label = label_and_meaning(metric)[0]
    if on:
        st.markdown(f"**{label} by iteration{on}**")
    figure = plots.ttm_compare_figure(shown, metric)
    last = ", ".join(f"{name} ends at {_pct(d.metrics[metric][-1, 0])} %" for name, d in data.items())
    ui.chart(figure, f"{label} per iteration of both{on}: {last}.", "compare")
    bands = f"{_bands(both, shown, metric)}{shared.chance_below(figure, shown, metric)}"
    st.caption(escape_markdown(bands))
    return figure, bands


def ends_now(sweep: SeedGroup, store: RunStore) -> _Ends:
    """What a run has come to so far."""
    steps = [store.steps(run.id) for run in sweep.runs]
    return _ends_of(sweep, steps, estimates_over_seeds(sweep.runs, steps))


def off_by_rounding(pair: _Pair) -> str:
    """That differences are of the unrounded values, where one of the table is not that of its printed ends."""
    if not pair.ends:
        return ""
    a, b = (each.metrics for each in pair.ends)
    return rounding_note((a[name].value, b[name].value) for name in a if name in b)


def every_metric(said: pd.DataFrame, note: str) -> None:
    """All metrics of two runs in one table. said : its cells. note : how it is read."""
    names, cards = [*said["metric"]], [_on_a_card(row) for row in said.to_dict("records")]
    said["metric"] = "**" + said["metric"] + "**"
    for column in {"A before", "A", "B before", "B", "B − A", "before"} & {*said}:
        # A line of a narrow cell ends before an interval, not within it.
        said[column] = said[column].str.replace(" to ", "\u00a0to\u00a0").map(ui.unbroken)
    with table_or_cards("both-results", dict(zip(names, cards, strict=True))):
        st.table(said.rename(columns={name: name.title() for name in ("metric", "chance", "before")}),
                 hide_index=True, border="horizontal")  # fmt: skip
    st.caption(escape_markdown(note))


def _on_a_card(row: Mapping[Any, str]) -> list[tuple[str, str]]:
    """A metric of two runs as a phone reads it: the results, their difference, one line of p, chance, and what was
    before."""
    p = f"{row['p (Holm)']} after Holm’s correction, {row['p']} alone" if row.get("p", "–") != "–" else ""
    told = {**row, "p": p, "B − A": row.get("B − A", "").strip("–")}
    order = ("A", "B", "B − A", "p", "chance", "before", "A before", "B before")
    return [
        (name.capitalize() if name in ("chance", "before") else name, told.get(name, "")) for name in order
    ]


def report_of_both(both: Mapping[str, SeedGroup], ends: Sequence[Evaluation], about: str) -> bytes:
    """Two results on the same groups as a page that opens without network."""
    runs = [sweep.runs[0] for sweep in both.values()]
    sections = [
        ReportSection(
            name,
            _groups_of(run, *runs),
            result,
            run.config.get("benchmark", ""),
            run.config.get("split") or "test",
        )
        for name, result, run in zip(both, ends, runs, strict=True)
    ]
    return report_html(sections, about=about).encode()


def with_results(lines: Sequence[str], sides: Sequence[_Ends], metric: str = "") -> list[str]:
    """The lines of A and B, each with its result. metric : "" chooses the main one of each."""
    named = []
    for line, ends in zip(lines, sides, strict=False):
        name = metric or _main_metric(ends)
        found = ends.after.get(("", name or ""))
        value = accuracy(found, 1 if found is None else found.seeds)
        said = "" if name is None else f"{label_and_meaning(name)[0]} {value}"
        named.append(f"{line}: {escape_markdown(f'{ends.queries} {said}'.strip())}" if said else line)
    return named


def no_curves(pair: _Pair) -> str:
    """Why two runs have no common curve."""
    if pair.measured:
        return (
            "There is no common curve of these two, and no paired test: the page Retrieval has those of each."
        )
    return pair._refusal


def with_intervals(data: plots.TTMData, sweep: SeedGroup, count: int | None = None) -> plots.TTMData:
    """Curves whose ends are 95 % intervals, of several seeds those of the mean over seeds and groups; as they are, one
    standard deviation apart, where the groups have no ground truth."""
    if data.seeds is None or not _has_truth(sweep):
        return data
    return data._replace(metrics=with_interval_of_means(sweep.runs, data, count))


def _has_truth(sweep: SeedGroup) -> bool:
    first = sweep.runs[0]
    return first.kind in shared.KINDS and shared.run_groups(first.id, first.config).truth is not None


def _bands(both: Mapping[str, SeedGroup], data: Mapping[str, plots.TTMData], metric: str) -> str:
    """What the bands and the dotted line of two curves are."""
    known = {name: len(s.runs) == 1 or _has_truth(s) for name, s in both.items()}
    bands = {
        name: f"95 % interval over {'seeds and groups' if len(both[name].runs) > 1 else 'groups'}"
        if is_interval
        else "standard deviation over seeds"
        for name, is_interval in known.items()
    }
    same = len({*bands.values()}) == 1
    said = next(iter(bands.values())) if same else ", ".join(f"{band} ({n})" for n, band in bands.items())
    chances = " and ".join(dict.fromkeys(f"{_pct(d.metrics[metric][-1, 3])} %" for d in data.values()))
    two = [name for name, s in both.items() if len(s.runs) == 2]
    wide = " Two seeds cannot tell how much seeds matter, so their band is wide." if two else ""
    return f"Bands: {said}; dotted: the chance level, {chances}.{wide}"


def _line(side: str, own: str, sweep: SeedGroup) -> str:
    """Which run a side is, and what sets it apart from the other one where its title does not say that."""
    return f"**{side}** {escape_markdown(_with_own(shared.group_label(sweep), own))}"


def curve_table(data: Mapping[str, plots.TTMData], shown: Mapping[str, plots.TTMData]) -> pd.DataFrame:
    """Every metric after every iteration of both, a row each, in percent: the value, of several seeds their mean, with
    its 95 % interval where it is known (`low`, `high`), and of several seeds their standard deviation (`sd`).

    shown : the curves as they are drawn, with intervals.
    """
    rows: list[dict[str, Any]] = []
    for name, each in data.items():
        for metric, values in each.metrics.items():
            drawn, with_sd = shown[name].metrics.get(metric), each.seeds is not None
            is_interval = not with_sd or (drawn is not None and shown[name] is not each)
            for place, at in enumerate(each.iteration.tolist()):
                row = {"run": name, "iteration": at, "metric": metric, "value": values[place, 0]}
                low, high = drawn[place, 1:3] if is_interval and drawn is not None else (None, None)
                sd = values[place, 2] - values[place, 0] if with_sd else None
                seeds = 1 if each.seeds is None else int(each.seeds[place])
                row |= {"low": low, "high": high, "sd": sd, "chance": values[place, 3], "seeds": seeds}
                rows.append(row)
    return pd.DataFrame(rows)


def difference(pair: _Pair, metric: str) -> None:
    """What the paired test on the last iterations of two runs counts; the answer above the figure has its numbers."""
    ends = pair.ends
    paired = statistics.compare(*(e.outcomes[metric].value for e in ends))
    what = "better" if metrics.METRICS[metric].share else "right"
    st.markdown(
        f"**B minus A** is of the last iterations, on the same {counted(len(ends[0].ids), 'group')}: "
        f"{counted(paired.fixed, 'group')} {what} with B alone, {paired.broken} with A alone; "
        f"p is of {_exact_tests({metric: paired})}.{could_show(paired)} {_exact_differences()}"
    )


def could_show(found: statistics.Comparison) -> str:
    """Where nothing was shown, what would have been."""
    if found.p_value <= 0.05 or found.detectable is None:
        return ""
    return (
        f" These groups cannot tell: a true difference of {_pct(found.detectable)} points is found four times in "
        "five, a smaller one less often."
    )


def mean_over_seeds(side: _Ends, ends: Mapping[int, Evaluation], metric: str) -> str:
    """The interval of the mean over complete seeds as the table has it, seeds and groups being two sources of variance.

    ends : the results of a run by seed.
    """
    found = side.after["", metric]
    if found.low is None or metric not in metrics.METRICS:
        return ""
    over = "seeds and groups" if len(ends) > 1 else "groups"
    said = f"95 % interval {_pct(found.low)}–{_pct(found.high)}, over {over}"
    if len(ends) == 2:
        whole = np.stack([*_outcomes(ends, metric).values()])
        parts = metrics.METRICS[metric].parts(next(iter(ends.values())).shape[0])
        given = statistics.estimate(whole.mean(axis=0), np.nan, parts=parts * 2)
        said += f"; {given.interval}, {GIVEN_SEEDS}"
    return f" ({said})"


def difference_over_seeds(ends: Sequence[Mapping[int, Evaluation]], metric: str) -> str:
    """What the paired difference of the seeds that both have complete is over, and where one run stands among several;
    the answer above the figure has its numbers. ends : of A and of B, by seed."""
    first, second = (_outcomes(side, metric) for side in ends)
    shared_seeds = sorted({*first} & {*second})
    among = one_beside_several([first, second])
    if not shared_seeds:
        return f"They have {_NO_SHARED_SEED}.{among}"
    one, other = (np.stack([side[seed] for seed in shared_seeds]).astype(float) for side in (first, second))
    paired = statistics.Comparison.over_seeds(one, other)
    of = (
        f"seed {shared_seeds[0]} alone, which both have"
        if len(shared_seeds) == 1
        else f"the mean over the {len(shared_seeds)} seeds that both have"
    )
    over = "groups" if len(shared_seeds) == 1 else "seeds and groups"
    given = given_two_seeds(one, other, paired, metric) if len(shared_seeds) == 2 else ""
    return true_minus(
        f"**B minus A** is of the last iterations of {of}, on the same {counted(one.shape[1], 'group')}; its interval "
        f"and p are over {over}.{'' if given else could_show(paired)} {_exact_differences()}{given}{among}"
    )


def given_two_seeds(one: np.ndarray, other: np.ndarray, paired: statistics.Comparison, metric: str) -> str:
    """What two seeds leave open, and what holds for these two: the paired difference over groups alone.

    one, other : outcomes (2, n) of A and of B after the same seeds. paired : their difference over seeds and groups.
    """
    found = statistics.compare(np.zeros(one.shape[1]), (other - one).mean(axis=0))
    head, rest = _two_seeds_told(metrics.METRICS[metric].label, paired, found)
    return f"  \n**{head}** {rest} Add seeds to learn how they differ."


def one_beside_several(sides: Sequence[Mapping[int, np.ndarray]]) -> str:
    """Where a single run stands among seeds of the other, all of them counted; "" unless it is one against three or
    more, since fewer say nothing of one more seed.

    sides : of A and of B, outcomes (n,) by seed, of the same groups.
    """
    (few, single), (many, several) = sorted(zip(sides, "AB", strict=True), key=lambda side: len(side[0]))
    ends = np.array([100 * outcomes.mean() for outcomes in many.values()])
    reach = _next_gain(ends, 0.0) if len(few) == 1 else None
    if reach is None:
        return ""
    (value,) = (100 * outcomes.mean() for outcomes in few.values())
    is_inside = reach[0] <= value <= reach[1]
    says = "inside: the seed may explain" if is_inside else "outside: the seed alone hardly explains"
    return (
        f"  \n**All {len(many)} seeds counted:** one more seed of {several} would likely end at {_pct(reach[0])} to "
        f"{_pct(reach[1])} % on these groups (95 % prediction); {single} ended at {_pct(value)} %, {says} the "
        "difference."
    )


def means(both: Mapping[str, SeedGroup], pair: _Pair, metric: str, store: RunStore) -> None:
    """The results of sweeps beside each other, and the paired difference of the seeds that both have.

    both : by name, with the seeds that are compared.
    """
    ends = [_ends_by_seed(sweep, store, *pair.runs, count=pair.n_groups) for sweep in pair.runs]
    on = "" if pair.in_common is None else f", {pair.in_common.where}"
    for (name, sweep), whole, side, known in zip(both.items(), pair.runs, pair.sides, ends, strict=True):
        if not side.complete:
            st.markdown(f"**{escape_markdown(name)}** has no complete seed yet.")
            continue
        end = side.after["", metric]
        std = "" if end.sd is None else f" ± {_pct(end.sd)}"
        own = {seed: known[seed] for seed in map(seed_of, sweep.runs) if seed in known}
        shared_alone = " that both have" if len(sweep.runs) < len(whole.runs) else ""
        st.markdown(
            f"**{escape_markdown(name)}, last iterations{on}:** "
            f"{_pct(end.value)}{std} %{mean_over_seeds(side, own, metric)}, "
            f"{counted(end.seeds, 'complete seed')}{shared_alone}, chance {_pct(end.chance)} %."
        )
    st.markdown(difference_over_seeds(ends, metric))


def nothing_yet(store: RunStore) -> None:
    """Where there are no runs: the ways to some."""
    asked_runs(())
    st.info(
        "No runs yet. Start one: it takes about a minute with the built-in model.",
        icon=":material/directions_run:",
    )
    with st.container(horizontal=True):
        button: dict[str, Any] = {"type": "primary", "icon": ":material/trending_up:"}
        ui.page_button("Run test-time matching", shared.TTM_PAGE, {"run": shared.NEW}, **button)
        button = {"icon": ":material/visibility:"}
        ui.page_button("See a finished run", shared.TTM_PAGE, {"run": EXAMPLE}, **button)
        bring_in(store)


def page() -> None:
    st.session_state["confirming"] = False
    store = ui.VisitorStore()
    sweeps = shared.all_groups(store, None)
    if not sweeps:
        nothing_yet(store)
        return
    st.session_state.setdefault("linked_runs", st.query_params.get("runs", ""))
    grouped, sweeps = sweeps, listed(sweeps)
    steps = [[store.steps(run.id) for run in sweep.runs] for sweep in sweeps]
    frame = table(sweeps, steps)
    found = matching(frame)
    if not found.any():
        st.info("No run has all of these words; shorten what to find.", icon=":material/search_off:")
        return
    sweeps, steps = ([each for each, ok in zip(of, found, strict=True) if ok] for of in (sweeps, steps))
    frame = frame[found].reset_index(drop=True)
    cards = st.container(key="newest-runs")
    chosen = choose(frame, {sweep.id: sweep for sweep in sweeps}, grouped)
    with cards:
        newest_cards(frame, sweeps, [sweep.id for sweep in chosen])
    results = [sweep for sweep in chosen if not is_controls(sweep)]
    line = _told_of_ticks(sweeps, chosen, results)
    is_covered = on_phone() and len(chosen) == 1  # by the bar of actions, whose “Compare with …” says as much
    # In the row of the buttons: a line of its own put the comparison further down.
    is_in_row = len(chosen) > 1 and not on_phone()
    if line and not (is_covered or is_in_row):  # after the cards, which would push it down
        st.caption(line)
    results_said = dict(zip(frame["id"], frame["result"], strict=True))
    actions(chosen, store, sweeps, results_said, line * is_in_row)
    runs = [run for sweep in sweeps for run in sweep.runs]
    if any(run.live or run.resumable for run in runs):
        st.fragment(watch, run_every=2.0)(states(runs))
    shown = NOTHING
    # In one place, whether just ticked or opened by a link: that is shown from here on, by the history's script.
    with st.container(key="opened-runs" if is_linked(chosen) else None):
        if len(results) == 2:
            shown = compare(results, store)
        elif 2 < len(results) <= len(LETTERS):
            shown = overlay(results, store)
        if len(chosen) > 1:
            beside(chosen, has_header=1 < len(results) <= len(LETTERS))
    with st.container(horizontal=True):
        of = f"-{pair_name([sweep.id for sweep in by_age(chosen)])}" if len(chosen) == 2 else ""
        more, then = partial(taken_away, shown.tables, of), partial(run_archives, by_age(chosen))
        title = lettered_names(results)
        numbers = partial(numbers_of, sweeps, steps)
        files: dict[str, Any] = {
            "latex": shown.latex,
            "report": shown.report,
            "report_name": f"compared-runs{of}",
            "command": shown.command,
            "label": "Export table and figures",
        }
        ui.export_section(
            "runs", numbers, shown.figures, more=more, then=then, title=title, note=shown.note, **files
        )
        bring_in(store)
    if not is_public():
        live_sweeps()


def lettered_names(results: Sequence[SeedGroup]) -> str:
    """`A: ...; B: ...`, the compared runs by age, as a title of what is exported."""
    named = zip(LETTERS, by_age(results), strict=False)
    return "; ".join(f"{letter}: {shared.group_label(sweep)}" for letter, sweep in named)


def numbers_of(sweeps: Sequence[SeedGroup], steps: Sequence[Steps]) -> pd.DataFrame:
    """The table as numbers, for a file that is computed with."""
    known = [estimates_over_seeds(*each) for each in zip((s.runs for s in sweeps), steps, strict=True)]
    return _runs_frame(sweeps, steps, known)


def listed(sweeps: list[SeedGroup]) -> list[SeedGroup]:
    """The rows of the table, by the switches above it: a run with all its seeds, or each seed by itself."""
    with st.container(horizontal=True, vertical_alignment="center"):
        ui.page_button("New run", shared.TTM_PAGE, {"run": shared.NEW}, icon=":material/add:")
        several = any(len(sweep.runs) > 1 for sweep in sweeps)
        together = not several or st.toggle(
            "Group the seeds of one run", True, key="together", bind="query-params"
        )
        st.toggle("All columns", key="columns", bind="query-params", help="The table then scrolls sideways.")
        if len(sweeps) >= FINDABLE or st.query_params.get("find"):
            st.text_input(
                "Find runs", key="find", bind="query-params", label_visibility="collapsed", width=280,
                placeholder="Find: set, model, setting, name …",
            )  # fmt: skip
        if not is_public() and not any(run.is_example for sweep in sweeps for run in sweep.runs):
            st.button(
                "List the shipped example",
                on_click=partial(example_run, RunStore()),
                icon=":material/playlist_add:",
                help="A finished run and its controls that come with Crossmatch, to compare yours with.",
            )
    if together:
        return sweeps
    single = [SeedGroup(run.id, [run]) for sweep in sweeps for run in sweep.runs]
    return sorted(single, key=lambda sweep: sweep.created, reverse=True)


def matching(frame: pd.DataFrame) -> np.ndarray:
    """Which rows have every word that is looked for, in set, name, model, kind, settings, status, time, or in what the
    list shows of groups and seeds; bool (n,). A number there goes with its word: “seed 0” finds no 0 of a time."""
    asked = str(st.session_state.get("find") or "").casefold().replace("-", "–")
    words = [" ".join(word.split()) for word in re.findall(r"\bseeds?\s+\d\S*|\b\d+\s+groups?\b|\S+", asked)]
    columns = ["set", "model", "kind", "all settings", "status", "groups", "called"]
    columns += ["name"] * ("name" in frame)
    started = frame["started"].dt.strftime("%d %b %Y %H:%M")
    known = frame[columns].assign(at=started, of=_groups_named(frame), seeds=_seeds_named(frame))
    rows = known.astype(str).agg(" ".join, axis=1).str.casefold().str.replace("-", "–")
    return np.array([all(f" {w}" in row if " " in w else w in row for w in words) for row in rows], bool)


def states(runs: Sequence[Run]) -> frozenset[tuple[str, str, int]]:
    """What of runs the table shows and time changes."""
    return frozenset((run.id, run.status, run.done) for run in runs)


def watch(drawn: frozenset[tuple[str, str, int]]) -> None:
    """How far the runs are that are working; has the page drawn again when one is further, or in another state, than
    the table says: it has ended, or was stopped or resumed, here or elsewhere."""
    with ui.show_errors():
        runs = ui.VisitorStore().list()
        known = {name for name, _, _ in drawn}
        if states([run for run in runs if run.id in known]) != drawn and not st.session_state["confirming"]:
            st.rerun()
        live = sorted((run for run in runs if run.live), key=lambda run: run.status == "queued")
        for run in live[:MOST_BARS]:  # those at work before those that wait for them, which are newer
            shared.progress([run], shared.title_of(SeedGroup(run.id, [run])))


@st.fragment(run_every=5)
def live_sweeps() -> None:
    """What `crossmatch sweep` has started, filling while it works."""
    with ui.show_errors():
        draw_sweeps(RunStore())


ui.open_page("Runs", LEAD, pick=False)
with ui.show_errors():
    page()
