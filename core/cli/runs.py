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
from core.base.table_formats import _result_csv
from core.base.text import _pct, counted
from core.cli import options
from core.cli._given_options import App, refuse_unused
from core.cli._latex import _refuse_two_forms
from core.cli._output import format_spread, format_step, print_note, show_json, writing
from core.exchange.model import export_model, push_model
from core.exchange.run_gains import (
    _gain_line,
    _gain_said,
    _gains_in_common,
    _Measured,
    _metric_label,
    _no_gain_said,
    _truth_for,
    _whole,
)
from core.exchange.run_pairs import _ends_now, _groups_of, _main_metric, _Pair
from core.exchange.run_table import (
    _groups_said,
    _model_said,
    _Result,
    _seeds_said,
    _settings_said,
)
from core.exchange.runs import _import_runs
from core.exchange.seeds import SeedResult, _below_lines
from core.groups import GroupSet
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE
from core.runs.engine import launch
from core.runs.models import adapted_model
from core.runs.store import Run, RunStore
from core.ttm.explain import changed_ids, explain
from core.ttm.explain import rows as group_rows
from core.ttm.explain import summary as change_summary
from core.ttm.run import adaptation
from core.ttm.seeds import SeedGroup, final_values, group_runs, seed_of, summary, sweeps

runs_app = App(no_args_is_help=True, epilog="Example: crossmatch runs list")
_RunOrGroup = Annotated[str, typer.Argument(help="Id of a run, or of a group of seeds (g-...).")]


def _ids(store: RunStore, name: str) -> list[str]:
    """The runs that a run's or a group's id stands for."""
    return [run.id for run in group_runs(store, name)] if name.startswith("g-") else [name]


@runs_app.command("list", epilog="Example: crossmatch runs list --json")
def _list(
    every: Annotated[
        bool, typer.Option("--all", help="Every seed by itself (default: the seeds of one run together).")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """All runs, newest first: the result of each, with its interval and chance level, and its gain over the model
    before; of several seeds their mean. Below it what ran, on which groups, with which settings and seeds."""
    store, loaded = RunStore(), dict[str, GroupSet]()
    if as_json:
        refuse_unused("with --json, which has every seed by itself", "every")
        show_json([_run_record(_Listed.of(SeedGroup(run.id, [run]), store, loaded)) for run in store.list()])
        return
    runs = store.list()
    shown = [SeedGroup(run.id, [run]) for run in runs] if every else sweeps(runs)
    for line in _aligned([_Listed.of(each, store, loaded) for each in shown]):
        print(line)
    if not runs:
        print(
            "no runs yet; start one with `crossmatch ttm` or on the test-time matching page. Two ship as examples, a "
            "finished run and its controls: “See a finished run” on the app's page Runs lists both."
        )


_WIDTH = 100  # columns of a terminal that the list of runs fits
_HEADS = ("run", "before", "result", "chance", "gain")
_TO_THE_RIGHT = ("before", "chance")
_LIST_NOTE = (
    "In percent, of the last iteration; brackets: 95 % intervals; ±: standard deviation over seeds. Gain: in points, "
    "paired over the same groups; – where there is none yet, or none that is tested. Stopped at: the iteration at "
    "which a run ended early; what it had by then is no result."
)


class _Listed(NamedTuple):
    """A run in the list, or the seeds of one."""

    sweep: SeedGroup
    steps: list[list[dict[str, Any]]]  # of every run
    measured: _Measured

    @classmethod
    def of(cls, sweep: SeedGroup, store: RunStore, loaded: dict[str, GroupSet]) -> _Listed:
        """loaded : groups that were loaded for other runs of the list."""
        steps = [store.steps(run.id) for run in sweep.runs]
        return cls(sweep, steps, _Measured.of(sweep, steps, store, loaded))

    @property
    def main(self) -> str | None:
        """The metric that the run is about."""
        return _main_metric(self.measured.ends)

    @property
    def cells(self) -> tuple[str, ...]:
        """What stands below `_HEADS`."""
        ends, name = self.measured.ends, self.main
        before = None if name is None else ends.before.get(("", name))
        after = None if name is None else ends.after["", name]
        numbers = (
            "–" if before is None else _pct(before.value),
            "–" if after is None else f"{self._stopped_at}{_accuracy(after)}",
        )
        chance = "–" if after is None else _pct(after.chance)
        return (self.sweep.id, *numbers, chance, _gain_said(self.measured.gain))

    @property
    def _stopped_at(self) -> str:
        """`stopped at 1: ` before the accuracy of a run that ended early, which is no result; "" of any other."""
        run, *more = self.sweep.runs
        over = more or run.live or run.status == "finished" or not run.total or run.done >= run.total
        return "" if over else f"{run.status} at {run.done}: "

    @property
    def title(self) -> str:
        """Without its seeds; of one seed with the group that it belongs to."""
        seeds, group = [seed_of(run) for run in self.sweep.runs], self.sweep.runs[0].config.get("group")
        title = self.sweep.title.partition(" · seeds ")[0].removesuffix(f" · seed {seeds[0]}")
        return f"{title} · one of {group}" if len(seeds) == 1 and group else title

    @property
    def about(self) -> list[str]:
        """State, and what the numbers are of: metric, GroupScore, set and model, groups, settings, seeds."""
        first, ends, name = self.sweep.runs[0], self.measured.ends, self.main
        found = None if name is None else ends.after["", name]
        ties = f", {found.ties:.3g} tied" if found is not None and found.ties else ""
        metric = [] if name is None else [f"{ends.queries} {_metric_label(name)}{ties}".strip()]
        score = None if name == GROUP_SCORE else ends.after.get(("", GROUP_SCORE))
        if score is not None:
            metric.append(f"{_metric_label(GROUP_SCORE)} {_accuracy(score)}, chance {_pct(score.chance)}")
        seeds = [seed_of(run) for run in self.sweep.runs]
        named = [first.config.get("benchmark"), _model_said(first.config)]
        ran = [
            *(named if self.sweep.given_name else self.title.split(" · ")),
            _groups_said(first.config, next(filter(None, self.steps), ())),
            *_settings_said(first),
        ]
        own = f"seed{'s' * (len(seeds) > 1)} {_seeds_said(seeds)}"
        ran = [part.replace("learning rate", "lr") for part in filter(None, ran)]
        return list(filter(None, [self.state, *metric, *ran, own]))

    @property
    def state(self) -> str:
        """`running, 3 of 10 iterations`; of several seeds `stopped, 3 of 5 seeds complete`."""
        status = self.sweep.status
        if status == "finished":
            return status
        if len(self.sweep.runs) > 1:
            return (
                f"{status}, {self.measured.ends.complete} of {counted(len(self.sweep.runs), 'seed')} complete"
            )
        (run,) = self.sweep.runs  # one that waits does not know its total yet
        return f"{status}, {run.done} of {counted(run.total, 'iteration')}" if run.total else status


def _accuracy(found: _Result) -> str:
    """`79.6 ± 1.5 [74.6, 84.6]`"""
    over = "" if found.sd is None else f" ± {_pct(found.sd)}"
    return f"{_pct(found.value)}{over}" + (
        "" if found.low is None else f" [{_pct(found.low)}, {_pct(found.high)}]"
    )


def _run_record(listed: _Listed) -> dict[str, Any]:
    """A run as it is stored, its main metric before and after, its GroupScore after, and its gain."""
    ends, name, gain = listed.measured.ends, listed.main, listed.measured.gain
    before, after = (None if name is None else of.get(("", name)) for of in (ends.before, ends.after))
    results = {
        when: None if of is None else of._asdict() for when, of in (("before", before), ("after", after))
    }
    score = ends.after.get(("", GROUP_SCORE))
    return {
        **listed.sweep.runs[0].record(),
        "metric": name,
        **results,
        GROUP_SCORE: None if score is None else score._asdict(),
        "gain": None if gain is None else gain.record(),
    }


def _aligned(runs: Sequence[_Listed]) -> list[str]:
    """Runs in columns as wide as their longest cell; below each, indented, what ran, as far as not all runs share it,
    which stands once below all of them. A name that somebody gave comes first there. Nothing is cut."""
    if not runs:
        return []
    rows = [_HEADS, *(run.cells for run in runs)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    names = [[run.title] if run.sweep.given_name else [] for run in runs]
    every, states = [run.about for run in runs], {run.state for run in runs} - {"finished"}
    shared = [part for part in every[0] if all(part in each for each in every)] if len(runs) > 1 else []
    shared = [part for part in shared if part not in states]  # of one that has not ended its own line says so
    told = [
        " · ".join([*name, *(part for part in each if part not in shared)])
        for name, each in zip(names, every, strict=True)
    ]
    for cells, about in zip(rows, ["", *told], strict=True):
        placed = (
            f"{cell:>{width}}" if head in _TO_THE_RIGHT else f"{cell:<{width}}"
            for head, cell, width in zip(_HEADS, cells, widths, strict=True)
        )
        lines += [
            "  ".join(placed).rstrip(),
            *(f"    {line}" for line in _wrapped(about, _WIDTH - 4)),
        ]
    several = [_ALL_SEEDS] if any(len(run.sweep.runs) > 1 for run in runs) else []
    several += [_OPEN_YET] if any(run.measured.two_seeds for run in runs) else []
    common = ["", *_wrapped(" · ".join([f"All of them: {shared[0]}", *shared[1:]]), _WIDTH)] if shared else []
    return [*lines, *common, "", *textwrap.wrap(" ".join([_LIST_NOTE, *several]), _WIDTH)]


_ALL_SEEDS = "`--all` lists every seed by itself; `crossmatch runs seeds GROUP` has every metric."

_OPEN_YET = (
    "Two seeds cannot decide whether a run gains, so their intervals are wide; `crossmatch runs seeds GROUP` has what "
    "holds over the groups alone."
)


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of a text whose parts " · " joins; a part that fits a line is not divided."""
    parts = [part if len(part) + 2 > width else part.replace(" ", "\xa0") for part in text.split(" · ")]
    lines = textwrap.wrap("\xa0· ".join(parts), width, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\xa0", " ") for line in lines]


@runs_app.command("show", epilog="Example: crossmatch runs show RUN --json")
def _show(run: _RunOrGroup, as_json: options.Json = False) -> None:
    """One run with all its iterations; a group of seeds as `runs seeds` shows it."""
    if run.startswith("g-"):
        _seeds(run, as_json)
        return
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
    if not group.startswith("g-"):
        raise InputError(
            f"{group} is no group of seeds, whose id begins with g-; `crossmatch runs show {group}` shows one run, and "
            "`crossmatch runs list` lists all."
        )
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
    for line in [*(each.line() for each in found), *_below_lines(found)]:
        print(line)


def _seed_results(
    store: RunStore, runs: Sequence[Run], steps: Sequence[Sequence[Mapping[str, Any]]]
) -> list[SeedResult]:
    """Every metric of the complete seeds, of a transfer check of each part; nothing where there is no truth."""
    job, first = adaptation(runs[0].config), runs[0]
    if first.config.get("embeddings") and job.adapt_on is None:  # its file need not be here
        ends = _ends(store, runs, steps, _truth_for(first, store, {}))
        return SeedResult.of_seeds(*ends, _whole(ends[1])) if ends[1] else []
    try:
        groups = _groups_of(*runs)
    except InputError as error:  # data that are not on this machine, as of runs that were imported
        print_note(f"Without intervals and gain. {error}")
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
    latex: options._Latex = False,
    as_json: options.Json = False,
) -> None:
    """Two runs, or the seeds of each, as the page Runs compares them: whether B is ahead of A, then every metric of
    both with its interval, chance level and ties, and the paired difference with p where their groups are the same, or
    on those of both where one has the first groups of the other."""
    _refuse_two_forms(latex, as_json)
    store = RunStore()
    if a == b:
        raise InputError(f"{a} beside itself is no comparison; give another run for one of the two.")
    both = SeedGroup.named(store, a), SeedGroup.named(store, b)
    pair = _Pair.of(*both, store, partial(_ends_now, store=store, others=both))
    if not pair.measured:
        raise InputError(f"{a} and {b} cannot be compared. {pair._refusal}")
    if as_json:
        show_json(pair.record())
        return
    named = [f"{letter}: {_side_line(each)}." for letter, each in zip("AB", pair.runs, strict=True)]
    if latex:
        print(pair.latex(named))
        return
    main = pair.in_order[0]
    tested = pair.verdict(main).replace("**", "") if main in pair.tested else ""
    first = tested or "\n".join(filter(None, [pair._so_far(main), pair.other_groups]))
    own = ["", *shared] if (shared := _gains_in_common(pair, store)) else []
    own += _own_gains(pair, store) if pair.groups_line else []
    for line in [
        first or "There is no paired test of these two.",
        *filter(None, [pair._seeds_line, pair._one_seed_line, pair._all_seeds_line(main)]),
        *filter(None, [pair.in_common and pair.in_common.line, pair.two_seeds(main)]),
        *own,
        "",
        *named,
        pair.differing,
        "",
    ]:
        print(line)
    print(pair.table.to_string(index=False))
    print(f"\n{pair._table_note}")


def _own_gains(pair: _Pair, store: RunStore) -> list[str]:
    """What each of two runs on different groups has gained by itself; [] where neither is measured. Of a run whose
    groups are those of both its gain on these, which stands above, says it."""
    loaded, lines = dict[str, GroupSet](), {}
    for side, sweep in pair._on_more_groups.items():
        lines[side] = _gain_line(_Listed.of(sweep, store, loaded).measured)
    if not any(lines.values()):
        return []
    head = f"Gains, after minus before in points, {pair._own_groups_said} (brackets: 95 % intervals, paired):"
    told = (f"{side}  {line or _no_gain_said(pair._on_more_groups[side])}" for side, line in lines.items())
    return ["", head, *told]


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
            out.write_bytes(_result_csv(table))
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
    if run_id.startswith("g-"):
        runs = ", ".join(f"{run.id} (seed {seed_of(run)})" for run in group_runs(store, run_id))
        raise InputError(
            f"{run_id} is a group of seeds, and one run is explained at a time; name one of {runs}."
        )
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
    SeedGroup(run, [store.get(each) for each in _ids(store, run)]).rename(store, name)
    print_note(f"renamed: {SeedGroup.named(store, run).title} ({run})")


@runs_app.command("stop", epilog="Example: crossmatch runs stop RUN")
def _stop(run: _RunOrGroup) -> None:
    """Ask a run (or a group's) to stop; it can be resumed."""
    store = RunStore()
    was = [store.get(run_id) for run_id in _ids(store, run)]
    for each in was:
        store.request_stop(each.id)
    if any(each.live for each in was):
        print_note(f"{run} is asked to stop; `crossmatch runs resume {run}` lets it go on afterwards")
    else:
        print_note(f"{run} is not at work: it is {', '.join(dict.fromkeys(each.status for each in was))}")


@runs_app.command("resume", epilog="Example: crossmatch runs resume RUN")
def _resume(run: _RunOrGroup) -> None:
    """Resume a stopped, interrupted or failed run after its last finished iteration."""
    store = RunStore()
    # of a group those that can go on; a single run says why it cannot
    found = [each for each in _ids(store, run) if each == run or store.get(each).resumable]
    for run_id in found:
        launch(store, run_id)
    said = "goes on in the background; `crossmatch runs list` says how far it is"
    print_note(f"{run} {said}" if found else f"no run of {run} was stopped or interrupted: none is resumed")


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
    """Only a finished run's adapted model, with its card, as a folder or zip that a model can be loaded from.

    The whole run, with its results, or all seeds of a group: `crossmatch export run`.
    """
    if run.startswith("g-"):
        runs = ", ".join(f"{each.id} (seed {seed_of(each)})" for each in group_runs(RunStore(), run))
        raise InputError(
            f"{run} is a group of seeds, and one model is written at a time; name one of {runs}, or take all runs with "
            f"`crossmatch export run {run} --out FILE.zip`."
        )
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
    """Open a run from another machine, or several that were exported together: each appears among the runs here, under
    a new id; seeds form a group of their own. One that is here already is not imported a second time."""
    for run, is_new in _import_runs(RunStore(), source):
        print(run.id)
        if not is_new:
            print_note(f"already here as {run.id}, nothing imported")
