"""Runs as pages show them: the open one, status, settings, controls, what grows, accuracies before and after."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import streamlit as st

from core.base.errors import InputError
from core.base.public_mode import shown
from core.base.text import _pct, _time_left
from core.exchange.example import EXAMPLE, example_run
from core.exchange.run_table import _groups_said, _settings_said
from core.exchange.runs import _Brought, _import_once
from core.figures import TTMData
from core.figures.text import escape_markdown, label_and_meaning
from core.groups import GroupSet
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, headline_metrics
from core.metrics.statistics import Estimate
from core.runs.engine import launch
from core.runs.store import EXAMPLE_ID, Run, RunStore
from core.ttm.run import RUNS, LedgerRun, adaptation
from core.ttm.seeds import SeedGroup, group_runs, seed_of, sweeps
from core.ttm.time_left import _span, expected_seconds
from ui.formatting import change_text, unbroken
from ui.history import page_is_drawn_again
from ui.navigation import TRAIN
from ui.page import show_errors
from ui.views import came_back_to
from ui.visitor import VisitorStore, on_phone

STOPPABLE, WORKING = ("queued", "running"), ("running", "stopping")
TTM_PAGE = "pages/4_Test-Time_Matching.py"
FIRST_SET = "scenes/left-right"  # of its form, in a visit that asks for nothing
KINDS = (*RUNS, LedgerRun.kind)  # of run that the page of test-time matching shows
UNSEEN = "unseen_run"  # in the session: the run or group that was left while it worked
_NO_POINT = "This ended before its first point was measured, so there are no curves."
NEW = "new"  # in place of a run's id: none is open
Records = Sequence[Mapping[str, Any]]  # of the iterations of a run
Colour = Literal["gray", "violet", "orange", "blue"]
STATUS: dict[str, tuple[str, Colour]] = {
    "queued": (":material/hourglass_empty:", "gray"),
    "running": (":material/play_arrow:", "violet"),
    "stopping": (":material/pause:", "orange"),
    "stopped": (":material/stop:", "orange"),
    "finished": (":material/check:", "blue"),
    "failed": (":material/error:", "orange"),
    "interrupted": (":material/power_off:", "orange"),
}


def all_groups(store: RunStore, kinds: Collection[str] | None = KINDS) -> list[SeedGroup]:
    """Every run of these kinds (None: of all), the newest first, the seeds of one group together."""
    return sweeps([run for run in store.list() if kinds is None or run.kind in kinds])


def open_run_id(store: RunStore, kinds: Collection[str] = KINDS) -> str:
    """The id of the run or group that the address (or the last page) asks for; `NEW` for none."""
    linked = st.query_params.get("run")
    if (
        linked is None and page_is_drawn_again()
    ):  # the browser's Back: a page that shows a run has it in its address
        st.session_state["run"] = NEW
    asked = linked or st.session_state.get("run") or NEW
    if asked in (EXAMPLE, EXAMPLE_ID) and "ttm" in kinds:
        return example_run(store).id
    if asked == NEW or runs_of(store, asked, kinds):
        return asked
    st.session_state["lost_run"] = linked
    return NEW


def lost_run_warning() -> None:
    """One line where the address asked for a run that is not here."""
    lost = st.session_state.pop("lost_run", None)
    if lost:
        st.warning(
            f"There is no run {escape_markdown(lost)} on this page; it was deleted, belongs to another machine or "
            "page, or is mistyped.",
            icon=":material/link_off:",
        )


def runs_of(store: RunStore, name: str, kinds: Collection[str] = KINDS) -> list[Run]:
    """The runs that a run's or a group's id stands for; [] where they are gone, or another page's."""
    try:
        runs = group_runs(store, name) if name.startswith("g-") else [store.get(name)]
    except InputError:
        return []
    return [run for run in runs if run.kind in kinds]


def open_run(name: str) -> None:
    """Show a run, a group of seeds or the form (`NEW`), and say so in the address."""
    if st.session_state.get("run") not in (None, name) and came_back_to("run") is None:
        st.query_params.pop("changed", None)  # a group of the run that was open
    st.session_state["run"] = name
    if name == NEW:
        st.query_params.pop("run", None)
    else:
        st.query_params["run"] = name


def pick_run(store: RunStore, shown: str, key: str, kinds: Collection[str] = KINDS) -> None:
    """A list of these kinds of run, the seeds of a group as one, with a new one on top; nothing while there is none."""
    listed = all_groups(store, kinds)
    if shown not in (NEW, *(group.id for group in listed)):  # a seed of a group, or somebody else's
        listed.append(SeedGroup(shown, [store.get(shown)]))
    own = labels_in_list(listed)
    labels = {NEW: "+ a new run, or choose one"} | (_on_a_phone(own, listed) if on_phone() else own)
    if len(labels) == 1:
        return
    st.session_state[key] = shown
    st.selectbox(
        "Run",
        list(labels),
        format_func=labels.__getitem__,
        key=key,
        label_visibility="collapsed",  # it stands where the heading of a run would: its title
        on_change=lambda: open_run(st.session_state[key]),
    )


def settings_line(runs: Sequence[Run]) -> None:
    """What was run, on the page."""
    st.caption(f"**What ran:** {escape_markdown(what_ran(runs))}")


def what_ran(runs: Sequence[Run]) -> str:
    """Benchmark, split, groups and how many, model, settings, and of several seeds their number."""
    store = RunStore()
    first = next((steps[0] for run in runs if (steps := store.steps(run.id))), {})
    line = adaptation(runs[0].config).describe(first.get("n_groups"))
    return line if len(runs) == 1 else f"{line.rpartition(' · ')[0]} · {len(runs)} seeds"


def group_label(sweep: SeedGroup) -> str:
    """A run, or the seeds of one, in a list: without its status, which changes while the list stands."""
    return f"{title_of(sweep)} · {datetime.fromtimestamp(sweep.created):%d %b %H:%M:%S}"


def title_of(sweep: SeedGroup) -> str:
    """The title of a run, set before model: commands have named them the other way around."""
    config, title = sweep.runs[0].config, sweep.title
    model, benchmark = (config.get(name, "") for name in ("model", "benchmark"))
    if not (model and benchmark):
        return title
    strategy, named = (config.get("adapt") or {}).get("strategy", ""), f"{benchmark} · {model}"
    title = (
        title.replace(f"{strategy} on {model}, {benchmark}", f"{named} · {strategy}") if strategy else title
    )
    return title.replace(f"{model} on {benchmark}", named).replace(f"{model} · {benchmark}", named)


def whole_label(sweep: SeedGroup) -> str:
    """`group_label` with how many groups there were, and the settings."""
    ran, seed = _ran(sweep)
    return " · ".join(
        [title_of(sweep), *ran, *seed, f"{datetime.fromtimestamp(sweep.created):%d %b %H:%M:%S}"]
    )


def labels_in_list(sweeps: Sequence[SeedGroup]) -> dict[str, str]:
    """The same where a run is chosen, by id: a phone shows the first letters of each. So set and model are without
    the folders of the built-in ones; then comes what tells the runs of one set and model apart, and when they began."""
    titles: dict[str, list[SeedGroup]] = {}
    for sweep in sweeps:
        titles.setdefault(_short_title(sweep), []).append(sweep)
    found: dict[str, str] = {}
    for title, own in titles.items():
        found |= dict(zip((sweep.id for sweep in own), _labels_of(title, own), strict=True))
    return {sweep.id: found[sweep.id] for sweep in sweeps}


_SEED, _BEGAN = re.compile(r"seeds? \d.*"), re.compile(r"\d\d \w+ \d\d:\d\d(:\d\d)?")


def _on_a_phone(labels: Mapping[str, str], sweeps: Sequence[SeedGroup]) -> dict[str, str]:
    """The same as short as a phone's field, which cut the seed: what a run is called, its seed and when it began.
    Without a model that all have, and without settings, which the run's own page has."""
    models = {sweep.runs[0].config.get("model", "") for sweep in sweeps}
    same = {model.removeprefix("builtin/") for model in models} | models if len(models) == 1 else set()
    found = {}
    for sweep in sweeps:
        own = {*_short_title(sweep).split(" · ")}
        first, *parts = labels[sweep.id].split(" · ")
        kept = (part for part in parts if part in own or _SEED.fullmatch(part) or _BEGAN.fullmatch(part))
        ordered = sorted(kept, key=lambda part: bool(_BEGAN.fullmatch(part)))  # when it began last
        found[sweep.id] = " · ".join(part for part in [first, *ordered] if part not in same)
    return found


_SEEN_IN_LIST = 50  # letters, on a phone


def _labels_of(title: str, sweeps: Sequence[SeedGroup]) -> list[str]:
    """Labels of runs of one title. What not all of them have comes first, as far as they still differ within what is
    seen: else their groups alone, else when they began. The seed is never behind what a phone cuts."""
    ran = [_ran(sweep) for sweep in sweeps]
    parts = [[_few_groups(groups), *seed, *settings] for (groups, *settings), seed in ran]
    apart = set().union(*parts) - set(parts[0]).intersection(*parts)
    minutes = [f"{datetime.fromtimestamp(sweep.created):%d %b %H:%M}" for sweep in sweeps]
    began = [
        f"{datetime.fromtimestamp(sweep.created):%d %b %H:%M:%S}" if minutes.count(minute) > 1 else minute
        for sweep, minute in zip(sweeps, minutes, strict=True)
    ]
    labels: list[str] = []
    for first in (apart, apart & {each[0] for each in parts}, set()):
        labels = [
            " · ".join([
                title, *(part for part in own if part in first), *(part for part in seed if part not in first), at,
                *(part for part in own if part in apart - first and part not in seed),
                *(part for part in own if part not in apart and part not in seed),
            ])
            for own, (_, seed), at in zip(parts, ran, began, strict=True)
        ]  # fmt: skip
        if len({label[:_SEEN_IN_LIST] for label in labels}) == len(labels):
            break
    return labels


def _few_groups(said: str) -> str:
    """`100 groups` in place of `first 100 of 300 groups`: the run's page has both."""
    return re.sub(r"^first (\d+) of \d+ groups", r"\1 groups", said)


def _short_title(sweep: SeedGroup) -> str:
    title, config = title_of(sweep), sweep.runs[0].config
    for name, folder in (("benchmark", "scenes/"), ("model", "builtin/")):
        if not sweep.given_name and (known := config.get(name) or "").startswith(folder):
            title = title.replace(known, known.removeprefix(folder))
    return title


def _ran(sweep: SeedGroup) -> tuple[list[str], list[str]]:
    """How many groups a run had, and its settings; and its seed, [] where its title has that, or there are several."""
    first = sweep.runs[0]
    ran = [_groups_in(first.id, any(run.done for run in sweep.runs), first.config), *_settings_said(first)]
    seed = f"seed {seed_of(first)}"
    return ran, [seed] * (len(sweep.runs) == 1 and not title_of(sweep).endswith(seed))


@st.cache_data(max_entries=4096, show_spinner=False)
def _groups_in(run_id: str, known: bool, _config: Mapping[str, Any]) -> str:
    """How many groups a run has. known : whether an iteration has counted them; they stay as many."""
    return _groups_said(_config, RunStore().steps(run_id)[:1] if known else ())


def status_badge(status: str) -> None:
    icon, colour = STATUS[status]
    st.badge(status, icon=icon, color=colour)


def kind_badges(config: Mapping[str, Any]) -> None:
    """What makes a run another thing than test-time matching of all groups."""
    if config.get("oracle"):
        st.badge("oracle: uses the truth", icon=":material/visibility:", color="orange")
    if LedgerRun.kind in config:
        st.badge("ledger of controls", icon=":material/balance:", color="gray")
    if "simplematch" in config:
        st.badge("SimpleMatch", icon=":material/join_inner:", color="gray")
    elif config.get("ttm", {}).get("variant") == "global":
        st.badge("global", icon=":material/public:", color="gray")
    if config.get("adapt_on"):
        st.badge(
            f"transfer check, {100 * config['adapt_on']:.0f} %", icon=":material/call_split:", color="gray"
        )


def run_action(action: Callable[[], Any]) -> None:
    """Stop, resume or delete, from a callback; a refusal is shown like any other error."""
    with show_errors():
        action()


def controls(store: VisitorStore, runs: Sequence[Run]) -> None:
    """Status, stop, resume and progress of a run or of several seeds."""
    with st.container(horizontal=True, vertical_alignment="center"):
        for status in STATUS:
            count = sum(run.status == status for run in runs)
            if count and len(runs) == 1:
                status_badge(status)
            elif count:
                icon, colour = STATUS[status]
                st.badge(f"{count} {status}", icon=icon, color=colour)
        kind_badges(runs[0].config)
        mine = [run for run in runs if store.owns(run)]
        # A place that is emptied at once: a button that only fell away stood beside "finished" till all was drawn.
        stopping = st.empty()
        if any(run.status in STOPPABLE for run in mine):
            with stopping:
                stop_button(store, mine)
        still_stops = any(run.status == "stopping" for run in mine)
        if (
            any(run.resumable for run in mine) and not still_stops
        ):  # else it resumes some of those that shall stop
            resume_button(store, mine, type="primary")
    before = runs_before(store, runs)
    progress(runs, before=before)
    for run in before:
        page, state = page_of(run)
        label = escape_markdown(f"Open {run.title}")
        st.page_link(page, label=label, icon=":material/open_in_full:", query_params=state)
    for run in runs:
        if run.error:
            st.error(escape_markdown(shown(run.error)), icon=":material/error:")


def stop_button(store: VisitorStore, runs: Sequence[Run], label: str = "Stop", **button: Any) -> None:
    """Asks those of the runs that wait or work to stop."""
    stop = lambda: [store.request_stop(run.id) for run in runs if run.status in STOPPABLE]  # noqa: E731
    st.button(label, icon=":material/stop:", on_click=run_action, args=(stop,), **button)


def resume_button(store: VisitorStore, runs: Sequence[Run], label: str = "Resume", **button: Any) -> None:
    """Goes on with those of the runs that were stopped or interrupted, or have failed."""
    resume = lambda: [launch(store, run.id) for run in runs if run.resumable]  # noqa: E731
    st.button(label, icon=":material/play_arrow:", on_click=run_action, args=(resume,), **button)


def live_section(
    runs: Sequence[Run],
    draw: Callable[[Sequence[Run], Sequence[Records]], None],
    waiting: str,
    before: Callable[[Sequence[Run], str], None] | None = None,
    verdict: Callable[[Sequence[Run]], None] | None = None,
) -> None:
    """Status, controls and whatever grows of some runs, as long as one of them lives; and after that, until one of them
    is resumed in another tab or by a command.

    draw : gets the runs and the records of each. waiting : what is said before any of them has one.
    before : shows that in a place of its own, among what will grow.
    verdict : draws what came out below status and controls, and while a run works what will come there.
    """
    ids, live = [run.id for run in runs], any(run.live for run in runs)
    st.fragment(_live_section, run_every=1.0 if live else None)(ids, live, draw, waiting, before, verdict)
    if not live and any(run.resumable for run in runs):
        st.fragment(_watch_for_resumption, run_every=3.0)(ids)


def _live_section(
    ids: Sequence[str],
    polled: bool,
    draw: Callable[..., None],
    waiting: str,
    before: Callable[..., None] | None,
    verdict: Callable[..., None] | None,
) -> None:
    with show_errors():
        store = VisitorStore()
        runs, steps = [store.get(run_id) for run_id in ids], [store.steps(run_id) for run_id in ids]
        if polled != any(run.live for run in runs):
            st.rerun()
        # At work a phone has the curves before the questions, a laptop the bar beside “Stop”. A run that is over stands
        # as it does for who opens it later.
        with st.container(key="watched-controls" if polled and verdict is not None else None):
            with st.container(key="at-work"):
                controls(store, runs)
            if verdict is not None:
                verdict(runs)
        if all(run.status == "queued" for run in runs) and runs_before(store, runs):
            waiting = f"This run begins when the one before it has ended. {waiting}"
        elif not any(run.live for run in runs):
            waiting = _NO_POINT
        if any(steps):
            draw(runs, steps)
        elif before is not None:
            before(runs, waiting)
        else:
            waiting_hint(waiting)


def note_on_screen(name: str, runs: Sequence[Run]) -> None:
    """A run, or a group by its name, is shown: one at work is missed when something else is opened meanwhile."""
    if any(run.live for run in runs):
        st.session_state[UNSEEN] = name
    elif st.session_state.get(UNSEEN) == name:
        del st.session_state[UNSEEN]


def unseen_line(store: RunStore) -> None:
    """Where another run is set up: how the one that was left at work is, and the way to it."""
    name = str(st.session_state.get(UNSEEN, ""))
    runs = runs_of(store, name)
    if not runs:
        return
    status = SeedGroup(name, runs).status
    how = "is still at work" if any(run.live for run in runs) else f"has {_ENDED.get(status, 'ended')}"
    with st.container(horizontal=True, vertical_alignment="center", key="unseen-run"):
        of = escape_markdown(str(runs[0].config.get("benchmark", "")))
        st.markdown(f"Your run on **{of}** {how}.", width="content")
        st.button("See it", on_click=open_run, args=(name,), icon=":material/visibility:", key="see-unseen")


_ENDED = {
    "finished": "finished",
    "failed": "failed",
    "stopped": "been stopped",
    "interrupted": "been interrupted",
}


def waiting_hint(text: str) -> None:
    """What will appear, and when."""
    st.info(text, icon=":material/hourglass_top:")


def _watch_for_resumption(ids: Sequence[str]) -> None:
    """Draws nothing; a status that has changed elsewhere has the page drawn anew."""
    store = VisitorStore()
    with suppress(InputError):  # deleted meanwhile: the page says so when it is drawn next
        if any(store.get(run_id).live for run_id in ids):
            st.rerun()


def progress(runs: Sequence[Run], title: str = "", before: Sequence[Run] = ()) -> None:
    """How far a run is, or the seeds of one, as a bar; nothing where none is working.

    title : begins its text. before : of a run that waits, those that work (`runs_before`).
    """
    live = [run for run in runs if run.live]
    if not live:
        return
    share = sum(1.0 if run.status == "finished" else min(max(run.fraction, 0.0), 1.0) for run in runs) / len(
        runs
    )
    working = [run for run in live if run.status != "queued"]
    name = f"{title}: " if title else ""
    several = f"{len(runs) - len(live)} of {len(runs)} seeds have ended; " if len(runs) > 1 else ""
    said = _waiting_line((working or live)[0], before) or _working_line(runs, working or live[:1])
    st.progress(share, text=escape_markdown(f"{name}{several}{said}"))


def _working_line(runs: Sequence[Run], working: Sequence[Run]) -> str:
    """Where a run is and how long it still takes; of several seeds each that is at work, and the time of all."""
    if len(runs) == 1:
        run = working[0]
        known = run.seconds_left is not None or run.done or run.kind not in RUNS
        return f"{run.message or 'starting'}{_left(run.seconds_left) if known else _takes(run.id, run)}"
    places = (f"seed {seed_of(run)}: {run.message.partition(':')[0] or 'starting'}" for run in working)
    return f"{'; '.join(places)}{_left(SeedGroup('', list(runs)).seconds_left, ' for all')}"


@st.cache_data(max_entries=256, show_spinner=False)
def _takes(run_id: str, _run: Run) -> str:
    """`; it takes about 30 s to 2 min`, or `; it takes under a minute`, of a run that has only begun; "" where nobody
    knows. Kept: a page that watches it asks every second."""
    with suppress(InputError):  # its data are gone: the run itself says so
        job = adaptation(_run.config)
        seconds, _ = expected_seconds(RunStore(), job, len(run_groups(run_id, _run.config)))
        return "" if seconds is None else f"; it takes {_span(seconds)}"
    return ""


def _left(seconds: float | None, of: str = "") -> str:
    """`, about 2 min left`: to five seconds, as it is no more exact; "" where nobody knows."""
    if seconds is None:
        return ""
    rounded = 5.0 * round(seconds / 5) if seconds > 12 else seconds
    return f", {'about ' if round(seconds) else ''}{_time_left(rounded)}{of}"


def runs_before(store: RunStore, runs: Sequence[Run]) -> list[Run]:
    """Those of this visitor's runs that work where these wait; [] where one of these works or none waits."""
    waiting = [run for run in runs if run.status == "queued"]
    if not waiting or any(run.status in WORKING for run in runs):
        return []
    return [run for run in store.list() if run.status in WORKING and run.device == waiting[0].device]


def _waiting_line(run: Run, before: Sequence[Run]) -> str:
    """`waiting for mm-adapter on builtin/clip, about 2 min left`; "" where it is not known what a run waits for."""
    if run.status != "queued" or not run.message.startswith("waiting") or not before:
        return ""
    first, *_ = before
    several = "" if run.message == "waiting for 1 run to end" else f"{run.message}; at work: "
    return f"{several or 'waiting for '}{first.title}{_left(first.seconds_left)}"


def page_of(run: Run, name: str = "") -> tuple[str, dict[str, str]]:
    """The page that shows a run, or by `name` its group, and the widgets there."""
    state = {"run": name or run.id}
    if run.kind == "adapt":
        return "pages/5_Retrieval.py", {**state, "view": TRAIN}
    return TTM_PAGE, state


# ---- accuracies

_INTERVAL = "95 % interval "  # as `Estimate.interval` begins


def accuracy_card(
    label: str, metric: str, now: Estimate, before: Estimate | None = None, memorised: float | None = None
) -> None:
    """An accuracy of a run with interval, chance level and ties; and what it was before. memorised : the chance level
    of a model that has memorised the matchings of scores at random, where that is another one."""
    with st.container(border=True, gap="xxsmall"):
        change = {} if before is None else change_text(before.value, now.value)
        meaning = label_and_meaning(metric)[1]
        st.metric(label, f"{_pct(now.value)} %", help=memorised_meaning(meaning, memorised), **change)
        shown = _below(now) if before is None else _beside_before(now, before)
        st.caption(shown + memorised_words(memorised))


def memorised_words(chance: float | None) -> str:
    """The line of a card with the chance level of GroupScore once a model has memorised its matchings; "" of None."""
    return "" if chance is None else unbroken(f"  \nChance with matchings learned by heart: {_pct(chance)} %")


def memorised_meaning(meaning: str, chance: float | None) -> str:
    """The "?" of such a card: its metric's meaning, and what that chance level is."""
    if chance is None:
        return meaning
    said = without_knowledge(f"{_pct(chance)} %")
    return f"{meaning} {said[0].upper()}{said[1:]}."


def without_knowledge(level: str) -> str:
    """What a GroupScore is worth that memory alone can give, in the words of all pages. level : as `50.0 %`."""
    return f"random matchings learned by heart lift GroupScore up to {level} without knowledge"


def _below(now: Estimate) -> str:
    """What an accuracy has below its number; Markdown, a line each."""
    lines = (now.interval, f"chance {_pct(now.chance)} % · {now.tied}")
    return unbroken("  \n".join(line[0].upper() + line[1:] for line in lines))


def _beside_before(now: Estimate, before: Estimate) -> str:
    """The interval of an accuracy whose number stands above, the accuracy before it, and what both have: chance level
    and ties; Markdown, a line each."""
    was = f"Before {_pct(before.value)} %: {before.interval.removeprefix(_INTERVAL)}"
    rest, was_rest = (f"chance {_pct(each.chance)} % · {each.tied}" for each in (now, before))
    lines = (
        [now.interval, was, rest] if rest == was_rest else [now.interval, rest, was, f"before: {was_rest}"]
    )
    return unbroken("  \n".join(line[0].upper() + line[1:] for line in lines))


def _memorised_chance(step: Mapping[str, Any], metric: str, part: str) -> float | None:
    """The chance level of an adapted model's GroupScore once it has memorised its matchings: of the groups that they
    are right in. None of other metrics, and of groups that were not adapted."""
    level = estimate_of(step, GROUP_MATCH, part) if metric == GROUP_SCORE and part != "untouched" else None
    return None if level is None else level.chance


def estimate_of(step: Mapping[str, Any], metric: str, part: str = "") -> Estimate | None:
    """A metric of a step's record, or of a part of it; None where it has none."""
    metrics = step["parts"][part]["metrics"] if part else step["metrics"]
    return Estimate.of_record(metrics[metric]) if metric in metrics else None


def before_and_after(steps: Sequence[Mapping[str, Any]]) -> None:
    """The cards of a run, of a transfer check those of both parts. On a phone two stand beside each other."""
    if not steps[-1]["metrics"]:
        st.caption("These groups have no ground truth, so there is no accuracy to show.")
        return
    first, last = steps[0], steps[-1]
    for part, groups in (
        {name: f", {name} groups ({p['n_groups']})" for name, p in last["parts"].items()}
        if "parts" in last
        else {"": ""}
    ).items():
        with st.container(key=f"run-cards-{part}"):
            _cards(first, last, part, groups)


def _cards(first: Any, last: Any, part: str, groups: str) -> None:
    names = headline_metrics(last["parts"][part]["metrics"] if part else last["metrics"])
    if not names:  # of an imported run, measured by metrics that are not known here
        return
    grid = st.grid(len(names), min_column_width=200)  # beside a figure one stands below the other
    for name in names:
        now, label = estimate_of(last, name, part), f"{label_and_meaning(name)[0]}{groups}"
        if now is not None:
            with grid.cell():
                if last["iteration"] == first["iteration"]:
                    accuracy_card(f"{label}, before training", name, now)
                else:
                    memorised = _memorised_chance(last, name, part)
                    accuracy_card(label, name, now, estimate_of(first, name, part), memorised)


def chance_below(figure: Any, data: Mapping[str, TTMData], metric: str) -> str:
    """That a chance level has no line, as the axis fits the curves and begins above it; "" of one that is in view."""
    bottom = figure.layout.yaxis.range[0]
    below = dict.fromkeys(
        f"{_pct(d.metrics[metric][-1, 3])} %" for d in data.values() if d.metrics[metric][-1, 3] < bottom
    )
    if not below:
        return ""
    return f" The axis begins at {bottom:.0f} %: the chance level, {' and '.join(below)}, is below it."


# ---- groups and scores of a run


@st.cache_resource(max_entries=16, show_spinner="Loading groups …")
def run_groups(run_id: str, _config: Mapping[str, Any]) -> GroupSet:
    """The groups of a run, with their truth."""
    return adaptation(_config).load_groups()


@st.cache_resource(max_entries=32, show_spinner=False)
def evaluation_at(run_id: str, iteration: int, attempt: int, _run: Run) -> Evaluation:
    """The run's groups with the scores after an iteration."""
    groups = run_groups(run_id, _run.config)
    return Evaluation.of(RunStore().scores(run_id, iteration), groups.truth, groups.ids)


# What the sentences of `_import_once` ask for, which are the command's, too.
_BY_COMMAND = "the folder or zip that `crossmatch export run` wrote"


def imported(store: RunStore, name: str, content: bytes, groups: dict[str, str]) -> _Brought:
    """The run of a visitor's archive, or the same one that was here already.

    groups : of `_import_once`, the same for all archives that are imported together. InputError names that file, and
    nothing of this machine or the command line.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.zip"
        path.write_bytes(content)
        try:
            return _import_once(store, path, groups)
        except InputError as error:
            said = str(error).replace(str(path), name)
            said = re.sub(rf"{re.escape(tempfile.gettempdir())}\S*/", "", said)  # where it was unpacked
            said = said.replace(_BY_COMMAND, "an archive that the page Runs exported")
            raise InputError(said if name in said else f"{name} cannot be imported: {said}") from None
