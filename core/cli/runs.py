"""`crossmatch runs ...`."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from core.base.errors import InputError
from core.cli import options
from core.cli._given_options import App
from core.cli._output import format_spread, format_step, print_note, show_json, writing
from core.exchange.model import export_model, push_model
from core.exchange.run_pairs import _ends_now, _no_metric_in_common, _Pair
from core.exchange.run_table import _groups_said, _judged, _pair_said, _settings_said
from core.exchange.runs import import_run
from core.exchange.seeds import SeedResult, _cautions
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GLOBAL, GROUP_MATCH, description_of, headline_metrics
from core.metrics.retrieval import COLA_MAP
from core.runs.engine import launch
from core.runs.models import adapted_model
from core.runs.store import Run, RunStore
from core.ttm.explain import changed_ids, explain
from core.ttm.explain import rows as group_rows
from core.ttm.explain import summary as change_summary
from core.ttm.run import adaptation
from core.ttm.seeds import SeedGroup, final_values, group_runs, seed_of, summary

runs_app = App(no_args_is_help=True)
_RunOrGroup = Annotated[str, typer.Argument(help="Id of a run, or of a group of seeds (g-...).")]


def _ids(store: RunStore, name: str) -> list[str]:
    """The runs that a run's or a group's id stands for."""
    return [run.id for run in group_runs(store, name)] if name.startswith("g-") else [name]


@runs_app.command("list", epilog="Example: crossmatch runs list --json")
def _list(as_json: options.Json = False) -> None:
    """All runs, newest first, each with its result (its main metric before and after); indented below it its groups,
    its settings and its seed."""
    store = RunStore()
    runs = store.list()
    if as_json:
        show_json([run.record() for run in runs])
        return
    for line in _aligned([_told(run, store.steps(run.id)) for run in runs]):
        print(line)
    if not runs:
        print("no runs yet; start one with `crossmatch ttm --background` or on the test-time matching page")


_WIDTH = 120  # columns of a terminal that the list of runs fits
_HEADS = ("run", "status", "done", "result", "what")


class _Told(NamedTuple):
    """A run in the list: the cells of its first line, and its groups, settings and seed below it."""

    cells: tuple[str, str, str, str, str]
    ran: str


def _told(run: Run, steps: Sequence[Mapping[str, Any]]) -> _Told:
    group = run.config.get("group")
    what = f"{run.title} of {group}" if group else run.title
    done = f"{run.done}/{run.total or '–'}"  # one that waits does not know its own yet
    ran = [_groups_said(run.config, steps), *_settings_said(run), f"seed {seed_of(run)}"]
    return _Told((run.id, run.status, done, _result(run, steps), what), " · ".join(ran))


def _aligned(runs: Sequence[_Told]) -> list[str]:
    """Runs in columns as wide as their longest cell. What is long goes on in lines of its own, below its column; so do
    groups, settings and seed of each run, indented. Nothing is cut, and no line is longer than `_WIDTH` unless a word
    is."""
    if not runs:
        return []
    rows = [_HEADS, *(run.cells for run in runs)]
    *widths, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    lines = []
    for cells, ran in zip(rows, ["", *(run.ran for run in runs)], strict=True):
        start = "".join(f"{cell:<{width}}  " for cell, width in zip(cells, widths, strict=False))
        room = max(_WIDTH - len(start), 24)
        first, *more = _wrapped(cells[-1], room) or [""]
        lines += [f"{start}{first}".rstrip(), *(" " * len(start) + line for line in more)]
        lines += [f"    {line}" for line in _wrapped(ran, _WIDTH - 4)]
    return lines


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of a text whose parts " · " joins; a part that fits a line is not divided."""
    parts = [part if len(part) + 2 > width else part.replace(" ", "\xa0") for part in text.split(" · ")]
    lines = textwrap.wrap("\xa0· ".join(parts), width, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\xa0", " ") for line in lines]


def _result(run: Run, steps: Sequence[Mapping[str, Any]]) -> str:
    """A run's first and last value of the metric that it is about, in percent: `GroupMatch 61.0 -> 74.3`; of a strategy
    of Cola also which queries they are of, `test mAP 26.1 -> 29.2`."""
    queries, (ends,) = _judged(run.kind, [steps])
    known = ends[-1]["metrics"] if ends else {}
    name = next(
        (name for name in (GROUP_MATCH, *headline_metrics(known), COLA_MAP, *GLOBAL) if name in known), None
    )
    if name is None:
        return "-"
    label = f"{queries} mAP" if name == COLA_MAP else description_of(name).label
    values = " -> ".join(f"{end['metrics'][name]['value']:.1f}" for end in ends if name in end["metrics"])
    return f"{label} {values}"


@runs_app.command("show", epilog="Example: crossmatch runs show RUN --json")
def _show(run: options.RunId, as_json: options.Json = False) -> None:
    """One run with all its iterations."""
    store = RunStore()
    record, steps = store.get(run), store.steps(run)
    if as_json:
        show_json({**record.record(), "steps": steps})
        return
    print(
        f"{record.id}  {record.status}  {record.done}/{record.total}  {record.title}"
        + (f"\n{record.error}" if record.error else "")
    )
    for step in steps:
        print(format_step(step))


@runs_app.command("seeds", epilog="Example: crossmatch runs seeds GROUP --json")
def _seeds(
    group: Annotated[str, typer.Argument(help="Group id (g-...).")], as_json: options.Json = False
) -> None:
    """A group of seeds: every run's state, mean and standard deviation per iteration, and the result of those that are
    complete, with interval, chance level and ties, and its gain with interval and p."""
    store = RunStore()
    runs = group_runs(store, group)
    steps = [store.steps(run.id) for run in runs]
    rows, result = summary(steps), final_values(steps, [run.config for run in runs])
    if as_json:
        results = [each.record() for each in _seed_results(store, runs, steps)]
        known = {"runs": [run.record() for run in runs], "summary": rows, "final": result}
        show_json({**known, "results": results})
        return
    for run in runs:
        print(f"seed {seed_of(run):>3}  {run.id}  {run.status:<12}{run.done}/{run.total}")
    for row in rows:
        print(format_spread(row))
    if result is not None:
        print(f"result of {result['seeds']} complete seeds:  {format_spread(result)}")
    found = _seed_results(store, runs, steps)
    for line in [*(each.line() for each in found), *_cautions(found)]:
        print(line)


def _seed_results(
    store: RunStore, runs: Sequence[Run], steps: Sequence[Sequence[Mapping[str, Any]]]
) -> list[SeedResult]:
    """Every metric of the complete seeds, of a transfer check of each part; nothing where there is no truth."""
    job = adaptation(runs[0].config)
    try:
        groups = job.load_groups()
    except InputError:  # data that are not on this machine, as of runs that were imported
        return []
    return SeedResult.of_job(job, groups, *_ends(store, runs, steps, groups.truth))


def _ends(
    store: RunStore,
    runs: Sequence[Run],
    steps: Sequence[Sequence[Mapping[str, Any]]],
    truth: Any,
) -> tuple[list[Evaluation], list[Evaluation]]:
    """Before and after of those runs on the same groups that have come to their end; nothing without a truth."""
    ended = [
        (run.id, records[-1]["iteration"])
        for run, records in zip(runs, steps, strict=True)
        if truth is not None and not run.live and adaptation(run.config).is_over(records)
    ]
    before, after = (
        [Evaluation.of(store.scores(run, end if last else 0), truth) for run, end in ended]
        for last in (False, True)
    )
    return before, after


@runs_app.command("compare", epilog="Example: crossmatch runs compare RUN GROUP --latex")
def _compare(
    a: _RunOrGroup,
    b: _RunOrGroup,
    latex: Annotated[
        bool, typer.Option("--latex", help="Print the table in LaTeX and nothing else.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Two runs, or the seeds of each, as the page Runs compares them: whether B is ahead of A, then every metric of
    both with its interval, chance level and ties, and where their groups are the same the paired difference with p."""
    if latex and as_json:
        raise InputError("--json and --latex are two forms of one table; give one of them.")
    store = RunStore()
    if a == b:
        raise InputError(f"{a} beside itself is no comparison; give another run for one of the two.")
    pair = _Pair.of(_side(store, a), _side(store, b), store, partial(_ends_now, store=store))
    if not pair.measured:
        raise InputError(f"{a} and {b} cannot be compared. {_no_metric_in_common(pair.sides)}")
    if as_json:
        show_json(pair.record())
        return
    named = [f"{letter}: {_side_line(each)}." for letter, each in zip("AB", pair.runs, strict=True)]
    if latex:
        print(pair.latex(named))
        return
    main = pair.in_order[0]
    first = pair.verdict(main).replace("**", "") if main in pair.tested else pair.other_groups
    seeds = filter(None, [pair._seeds_line])
    for line in [first or "There is no paired test of these two.", "", *named, pair.differing, *seeds, ""]:
        print(line)
    print(_pair_said(pair.frame).to_string(index=False))
    print(f"\n{pair.note}")


def _side(store: RunStore, name: str) -> SeedGroup:
    """A run, or the seeds of a group."""
    return SeedGroup(name, [store.get(run_id) for run_id in _ids(store, name)])


def _side_line(of: SeedGroup) -> str:
    """`scenes/left-right · builtin/clip · seeds 0–1 (g-0123abcd)`."""
    return f"{of.title} ({of.id})"


@runs_app.command("explain", epilog="Example: crossmatch runs explain RUN --json")
def _explain(
    run: options.RunId,
    metric: Annotated[
        str, typer.Option(help="What counts as right: one of `crossmatch list metrics`.")
    ] = GROUP_MATCH,
    out: Annotated[Path | None, typer.Option(help="CSV file for the table, one row per group.")] = None,
    as_json: options.Json = False,
) -> None:
    """Which groups a run fixed and broke, when it trained on them, and with which pseudo-label."""
    table = _explained(run, metric)
    if out is not None:
        with writing(out):
            table.to_csv(out, index=False)
        print_note(f"wrote {out}")
    record: dict[str, Any] = {"metric": metric, **change_summary(table)}
    record |= {"fixed_ids": changed_ids(table, "fixed"), "broken_ids": changed_ids(table, "broken")}
    if as_json:
        show_json({**record, "groups": group_rows(table)})
        return
    unchanged = f"{record['right']} right and {record['wrong']} wrong before and after"
    print(f"{metric}: {record['fixed']} fixed, {record['broken']} broken, {unchanged}")
    for name in ("fixed", "broken"):
        print(f"\n{name}:")
        print(table[table["change"] == name].to_string(index=False) if record[name] else "none")


def _explained(run_id: str, metric: str) -> Any:
    store = RunStore()
    run = store.get(run_id)
    if not store.steps(run_id):
        raise InputError(f"Run {run_id} has not finished an iteration yet; wait for one.")
    groups = adaptation(run.config).load_groups()
    if groups.truth is None:
        raise InputError(f"{groups.name} has no ground truth, so no group can be called fixed or broken.")
    arrays = [store.arrays(run_id, i) for i in range(run.done + 1)]
    return explain(arrays, groups.truth, groups.ids, metric)


@runs_app.command("rename", epilog="Example: crossmatch runs rename RUN 'lower learning rate'")
def _rename(
    run: _RunOrGroup, name: Annotated[str, typer.Argument(help="What lists and figures call it.")]
) -> None:
    """Give a run (or a group's) a name of your own, in place of its set and model."""
    store = RunStore()
    SeedGroup(run, [store.get(name) for name in _ids(store, run)]).rename(store, name)


@runs_app.command("stop", epilog="Example: crossmatch runs stop RUN")
def _stop(run: _RunOrGroup) -> None:
    """Ask a run (or a group's) to stop; it can be resumed."""
    store = RunStore()
    for run_id in _ids(store, run):
        store.request_stop(run_id)


@runs_app.command("resume", epilog="Example: crossmatch runs resume RUN")
def _resume(run: _RunOrGroup) -> None:
    """Resume a stopped, interrupted or failed run after its last finished iteration."""
    store = RunStore()
    for run_id in _ids(store, run):  # of a group those that can go on; a single run says why it cannot
        if run_id == run or store.get(run_id).resumable:
            launch(store, run_id)


@runs_app.command("delete", epilog="Example: crossmatch runs delete RUN")
def _delete(run: _RunOrGroup) -> None:
    """Delete a run (or a group's) and everything it saved."""
    store = RunStore()
    for run_id in _ids(store, run):
        store.delete(run_id)


@runs_app.command("export", epilog="Example: crossmatch runs export RUN --out adapted.zip")
def _export(
    run: options.RunId,
    path: Annotated[
        Path | None, typer.Argument(help="New folder, or a file that ends in .zip; --out says the same.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="New folder, or a file that ends in .zip.")] = None,
) -> None:
    """Write a finished run's adapted model, with its card, to a folder or zip."""
    where = path or out
    if where is None or (path and out):
        raise InputError("Say once where the model is to be written: --out FOLDER, or --out FILE.zip.")
    print_note(f"wrote {export_model(RunStore(), run, where)}")


@runs_app.command("push", epilog="Example: HF_TOKEN=... crossmatch runs push RUN ada/clip-adapted")
def _push(
    run: options.RunId,
    repository: Annotated[str, typer.Argument(help="Repository on the Hugging Face hub: USER/NAME.")],
    public: Annotated[bool, typer.Option(help="Make a new repository public (default: private).")] = False,
) -> None:
    """Upload a finished run's adapted model to the Hugging Face hub, with the token in HF_TOKEN."""
    folder = adapted_model(RunStore(), run)
    print(push_model(folder, repository, os.environ.get("HF_TOKEN"), private=not public))


@runs_app.command("import", epilog="Example: crossmatch runs import run.zip")
def _import(
    source: Annotated[Path, typer.Argument(help="Folder or zip from `crossmatch export run`.")],
) -> None:
    """Open a run from another machine: it appears among the runs here, under a new id."""
    print(import_run(RunStore(), source).id)
