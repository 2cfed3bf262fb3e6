"""`crossmatch ledger`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from core.base.errors import InputError
from core.base.files import storage_errors, write_json
from core.base.limits import _bound_own_memory
from core.base.table_formats import write_table
from core.base.text import _exact_differences, _pct, _signed, _signed_end, counted, tie_count
from core.cli import options
from core.cli._adaptation import comma_list, described, start_in_background
from core.cli._foreground import _Foreground
from core.cli._given_options import refuse_unused
from core.cli._output import ProgressPrinter, print_note, show_json
from core.runs.store import RunStore
from core.ttm.run import AdaptationRun, LedgerRun, adaptation


def ledger(
    name: Annotated[
        options.Text,
        typer.Argument(
            metavar="BENCHMARK | run/ID", help="The benchmark, or a finished run of test-time matching."
        ),
    ] = None,
    benchmark: options.Benchmark = None,
    embeddings: options.Embeddings = None,
    shape: options.Shape = None,
    scale: options.Scale = 100.0,
    model: options.AdaptedModel = None,
    split: options.Split = "test",
    groups: options.Groups = None,
    preset: options.Preset = None,
    controls: Annotated[
        options.Text,
        typer.Option(help="Only these controls, separated by commas (default: all; `none` for none)."),
    ] = None,
    iterations: options.Iterations = None,
    coverage_first: options.CoverageFirst = None,
    epochs: options.Epochs = None,
    lr: options.Rate = None,
    batch: options.Batch = None,
    device: options.Device = "auto",
    seed: options.Seed = 0,
    out: Annotated[
        Path | None, typer.Option(help="File for the result: .json with everything, .csv with its rows.")
    ] = None,
    background: options.Background = False,
    no_store: options.NoStore = False,
    as_json: options.Json = False,
) -> None:
    """How much of a gain of test-time matching comes from the metric, from one-to-one groups, and from training."""
    runs, stored = None, None
    if name is not None and name.startswith("run/"):
        refuse_unused("with a run, which has its settings", *_LEDGER, "background", "no_store")
        found, head = _stored_ledger(name.removeprefix("run/"))
    else:
        chosen = None if controls is None else comma_list(controls)
        more = {} if chosen is None else {"controls": [each for each in chosen if each != "none"]}
        settings = ("iterations", "coverage_first", "epochs", "lr", "batch", "seed")
        job = described(LedgerRun, locals(), settings, more)
        if background:
            refuse_unused("with --background: give `ledger run/ID` it when the run has finished", "out")
            start_in_background(job, 1, as_json)
            return
        runs = _Foreground.of(job, is_stored=not no_store)
        (found, stored), head = _run_ledger(job, runs), job.describe()
    record = {"run": head, **found.record()}
    if out is not None:
        if out.suffix.lower() == ".json":
            with storage_errors(out):
                write_json(out, record)
        else:
            write_table(out, found.table())
        print_note(f"wrote {out}")
    show_json(record) if as_json else print(_format_ledger(record))
    if runs is not None:
        runs.say([stored])


_LEDGER = (
    *("benchmark", "embeddings", "shape", "scale", "model", "split", "groups", "preset", "controls"),
    *("iterations", "coverage_first", "epochs", "lr", "batch", "device", "seed"),
)


def _run_ledger(job: AdaptationRun, runs: _Foreground) -> tuple[Any, str | None]:
    """One ledger in the foreground, a remark for every iteration; and its id among the runs, None where it has none."""
    announce, scores = ProgressPrinter(), list[Any]()
    _bound_own_memory()
    stored = runs.carry_out(
        job,
        lambda each: scores.append(each.arrays["scores"]),
        lambda share, text: announce(text.partition(":")[0], share),
    )
    return job.ledger(job.load_groups(), scores.__getitem__, len(scores) - 1), stored


def _stored_ledger(run_id: str) -> tuple[Any, str]:
    """What is known of a stored run of test-time matching, SimpleMatch or a ledger."""
    store = RunStore()
    run = store.get(run_id)
    if run.kind not in ("ttm", "simplematch", LedgerRun.kind):
        raise InputError(f"Run {run_id} adapts nothing at test time, so there is no gain to explain.")
    if not store.steps(run_id):
        raise InputError(f"Run {run_id} has not finished an iteration yet; wait for one.")
    job = adaptation(run.config)
    return job.ledger(job.load_groups(), lambda i: store.scores(run_id, i), run.done), job.describe()


def _format_ledger(record: Mapping[str, Any]) -> str:
    """A ledger as text: every row, and both metrics of every model."""
    lines = [f"{record['run']}\n{counted(record['n_groups'], 'group')} of {record['shape']}\n"]
    lines.append(f"{'points':>44}{'95 % interval':>18}  {'of':<28}{'run beyond it':>16}")
    for row in record["rows"]:
        interval = f"[{_signed_end(row['low'])}, {_signed_end(row['high'])}]"
        sides = f"{_pct(row['before']['value'])} -> {_pct(row['after']['value'])} %"
        more = row["beyond"]
        beyond = (
            f"{_signed(more['difference'])} [{_signed_end(more['low'])}, {_signed_end(more['high'])}]"
            if more
            else ""
        )
        lines.append(
            f"{row['label']:<37}{_signed(row['difference']):>7}{interval:>18}  {sides:<22}{beyond:>22}"
        )
    lines.append(_exact_differences())
    lines.append(f"\n{'model':<20}{'GroupScore':>34}{'GroupMatch':>36}")
    for name, figures in record["figures"].items():
        cells = [
            f"{_pct(e['value'])} [{_pct(e['low'])}, {_pct(e['high'])}], chance {_pct(e['chance'])}, "
            f"ties {tie_count(e['ties'])}"
            for e in figures.values()
        ]
        lines.append(f"{name:<20}" + "".join(f"{cell:>36}" for cell in cells))
    return "\n".join(lines)
