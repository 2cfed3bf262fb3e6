"""`crossmatch export ...`: groups, scores and results as files whose formats are read back unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import numpy as np
import typer

from core import datasets, figures
from core.base.errors import InputError, unknown_name
from core.base.files import storage_errors, write_bytes
from core.base.table_formats import WRITTEN, write_table
from core.base.text import counted
from core.cli import options
from core.cli._evaluation import check_slices, load_evaluation
from core.cli._files import _scores_or_embeddings
from core.cli._given_options import (
    App,
    _benchmarks_argument,
    benchmark_argument,
    refuse_unused,
    require_benchmark,
    was_given,
)
from core.cli._output import ProgressPrinter, print_note
from core.cli._report import sections_of_files
from core.cli._score_options import takes_score_options
from core.cli.runs import _ends
from core.datasets.score_files import write_scores
from core.exchange.figures import write_figure
from core.exchange.frames import curves_frame, matchings_frame, metrics_frame
from core.exchange.groups import export_groups
from core.exchange.layouts import FORMATS, LAYOUTS, Adapted, Result, layout_table, published
from core.exchange.report import evaluate_all
from core.exchange.run_pairs import _controls_said
from core.exchange.run_table import _groups_said, _settings_said
from core.exchange.runs import _export_group, export_run
from core.exchange.seeds import SeedResult
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH
from core.rejudge import write_results
from core.runs.store import RunStore
from core.ttm.defaults import absolute_name
from core.ttm.run import RUNS, AdaptationRun, adaptation
from core.ttm.seeds import final_values, group_runs

if TYPE_CHECKING:
    from core.exchange.report import ReportSection
    from core.groups import GroupSet

export_app = App(no_args_is_help=True)
_ENDING = "The file; its ending decides the format"
Out = Annotated[Path, typer.Option(help=f"{_ENDING}.")]
TableOut = Annotated[Path, typer.Option(help=f"{_ENDING}: {', '.join(WRITTEN)}.")]
_FIGURES = ("metrics", "margins", "curves")


@dataclass(frozen=True)
class _ScoreSource:
    """What is scored or read before it is exported: the options that `_with_source_options` gives a command."""

    name: options._SetOrFile = None
    embeddings: options.Embeddings = None
    scores: options.Scores = None
    benchmark: options.Benchmark = None
    model: options.Model = "builtin/clip"
    split: options.Split = "test"
    shape: options.Shape = None

    def evaluation(self, text_only: bool = False) -> Evaluation:
        """Scores with truth and metrics."""
        source = {name: value for name, value in asdict(self).items() if name != "name"}
        return load_evaluation(**source, text_only=text_only)

    def by_options(self) -> _ScoreSource:
        """The same with what was named first in the option for it."""
        name, scores, embeddings = _scores_or_embeddings(self.name, self.scores, self.embeddings)
        benchmark = benchmark_argument(name, self.benchmark)
        return replace(self, name=None, scores=scores, embeddings=embeddings, benchmark=benchmark)


def _with_source_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose first parameter is a `_ScoreSource`, as one that has the source's options instead."""
    hints = {
        **get_type_hints(_ScoreSource, include_extras=True),
        **get_type_hints(command, include_extras=True),
    }
    source_options = [
        Parameter(f.name, Parameter.KEYWORD_ONLY, default=f.default) for f in fields(_ScoreSource)
    ]

    def run(**given: Any) -> None:
        source = _ScoreSource(**{option.name: given.pop(option.name) for option in source_options})
        command(source.by_options(), **given)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    command_options = [
        p.replace(kind=Parameter.KEYWORD_ONLY) for p in [*signature(command).parameters.values()][1:]
    ]
    parameters = [p.replace(annotation=hints[p.name]) for p in (*command_options, *source_options)]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


@export_app.command("groups", epilog="Example: crossmatch export groups scenes/swap --out swap.zip")
def _groups(
    name: options.Positional = None,
    *,
    benchmark: options.Benchmark = None,
    out: Annotated[Path, typer.Option(help=f"A new folder, or a file in .zip, {', '.join(WRITTEN)}.")],
    split: options.Split = "test",
    images: Annotated[
        bool, typer.Option("--images/--no-images", help="With the pixels, where the format holds them.")
    ] = True,
) -> None:
    """Images, captions, answers and tags; folder, zip and Parquet can be added again with `crossmatch add`."""
    if out.suffix.lower() in (".csv", ".jsonl", ".npz"):
        refuse_unused(f"for a {out.suffix} file, which names the images and never holds them", "images")
    progress = ProgressPrinter()
    groups = datasets.load(require_benchmark(name, benchmark), split, images=images)
    export_groups(groups, out, images, lambda done, total: progress(counted(total, "group"), done / total))
    print_note(f"wrote {out}; its licence: {groups.licence or 'not given'}")


@export_app.command("scores", epilog="Example: crossmatch export scores scenes/swap --out s.parquet")
@takes_score_options
@_with_source_options
def _scores(source: _ScoreSource, out: Out, text_only: options.TextOnly = False) -> None:
    """The score matrix of every group: CSV, Parquet, JSONL or NPZ, as `evaluate --scores` reads them."""
    evaluation = source.evaluation(text_only)
    truth = evaluation.truth if evaluation.truth_given else None
    write_scores(out, evaluation.scores, evaluation.ids, truth, evaluation.tags)
    print_note(f"wrote {out}")


@export_app.command("matchings", epilog="Example: crossmatch export matchings scenes/swap --out m.csv")
@_with_source_options
def _matchings(source: _ScoreSource, out: TableOut) -> None:
    """One row per group: tags, each metric's outcome, induced matching, margin, tie."""
    write_table(out, matchings_frame(source.evaluation()))
    print_note(f"wrote {out}")


@export_app.command("metrics", epilog="Example: crossmatch export metrics scenes/swap --out m.jsonl")
@_with_source_options
def _metrics(
    source: _ScoreSource,
    out: TableOut,
    by: Annotated[
        options.Text, typer.Option(help="Tag column to slice by (default: all with few values).")
    ] = None,
) -> None:
    """Every metric with its 95 % interval, chance level and ties, for all groups and by tag."""
    evaluation = source.evaluation()
    check_slices(evaluation, by)
    write_table(out, metrics_frame(evaluation, by))
    print_note(f"wrote {out}")


@export_app.command(
    "results",
    epilog="Example: crossmatch export results scenes/swap --format model-index --out README.md",
)
@_with_source_options
def _results(
    source: _ScoreSource,
    out: Annotated[
        Path, typer.Option(help="The file: .json, or .yaml of eval-results, or .md of model-index.")
    ],
    style: Annotated[
        str, typer.Option("--format", help="every-eval-ever, eval-results, mteb or model-index.")
    ] = "every-eval-ever",
    system: Annotated[
        options.Text, typer.Option(help="Name of what was measured (default: the model's, or the file's).")
    ] = None,
    on: Annotated[options.Text, typer.Option(help="Name of the set (default: the benchmark's).")] = None,
) -> None:
    """Every metric in a format by which others exchange results; `rejudge` reads all of them back."""
    if style == "mteb":
        refuse_unused("in a result of MTEB, which names no model", "system")
    file = source.scores or source.embeddings
    names = system or (source.model if file is None else file.stem), on or source.benchmark or "unknown"
    split = source.split if file is None else "unknown"  # a file names none
    write_results(out, style, source.evaluation(), *names, split)
    print_note(f"wrote {out}")


@export_app.command("curves", epilog="Example: crossmatch export curves RUN --out curves.csv")
def _curves(run: options.RunId, out: TableOut) -> None:
    """One row per iteration of a run: thresholds, coverage, precision, loss, and all metrics with intervals."""
    write_table(out, curves_frame(_steps(run), RunStore().get(run)))
    print_note(f"wrote {out}")


def _steps(run_id: str) -> list[dict[str, Any]]:
    """The iterations of a run, where it has any."""
    store = RunStore()
    store.get(run_id)  # raises InputError where there is no such run
    steps = store.steps(run_id)
    if not steps:
        raise InputError(f"Run {run_id} has not finished an iteration yet; wait for one.")
    return steps


@export_app.command("run", epilog="Example: crossmatch export run RUN --out run.zip")
def _run(
    run: Annotated[str, typer.Argument(help="Id of a run, or of a group of seeds (g-...).")],
    out: Annotated[
        Path | None,
        typer.Option(help="A new folder, or a file that ends in .zip; RUN.zip in this folder if left out."),
    ] = None,
    model: Annotated[bool, typer.Option("--model/--no-model", help="With the adapted model.")] = True,
) -> None:
    """A whole run, or all seeds of a group: results, settings, model; `crossmatch runs import` opens it.
    The adapted model alone: `crossmatch runs export`."""
    write = _export_group if run.startswith("g-") else export_run
    written = write(RunStore(), run, Path(f"{Path(run).name}.zip") if out is None else out, model)
    print_note(f"wrote {written}")


@export_app.command("figure", epilog="Example: crossmatch export figure margins scenes/swap --out m.svg")
@_with_source_options
def _figure(
    source: _ScoreSource,
    what: Annotated[str, typer.Argument(help="metrics, margins, or curves (of --run).")],
    out: Annotated[Path, typer.Option(help="File in .svg, .png, .html or .json.")],
    run: Annotated[options.Text, typer.Option(help="Id of the run, for `curves`.")] = None,
    width: Annotated[int, typer.Option(min=10, help="Width in CSS pixels.")] = 900,
    height: Annotated[int, typer.Option(min=10, help="Height in CSS pixels.")] = 420,
) -> None:
    """A figure as SVG or PNG (rendered by an installed browser), HTML or JSON."""
    if what not in _FIGURES:
        raise unknown_name("figure", what, _FIGURES)
    if what == "curves":
        refuse_unused("on `curves`, which shows a run", *(f.name for f in fields(_ScoreSource)))
        if run is None:
            raise InputError("The figure `curves` shows a run; name it with --run ID.")
        steps = _steps(run)
        figure = figures.ttm_metrics_figure(figures.ttm_data(steps, RunStore().get(run)._axis_end or 1))
    else:
        refuse_unused(f"on `{what}`, which shows scores", "run")
        evaluation = source.evaluation()
        if what == "margins":
            right = evaluation.outcomes[GROUP_MATCH]
            figure = figures.margins_figure(figures.margins_data(evaluation.matches, right))
        else:
            rows = {source.model: evaluation.metrics}
            figure = figures.bars_figure(figures.bars_data(rows, list(evaluation.outcomes)))
    print_note(f"wrote {write_figure(figure, out, width, height)}")


@export_app.command(
    "row",
    epilog="Example: crossmatch export row --layout ttm/1 --model builtin/clip --benchmark scenes/left-right",
)
def _row(
    name: options.Positional = None,
    *,
    model: options.Models = None,
    benchmark: options.Benchmarks = None,
    scores: Annotated[
        list[Path] | None,
        typer.Option(help="A score file, as of `evaluate`, in place of a model; repeat for more."),
    ] = None,
    layout: Annotated[str, typer.Option(help="ttm/1, ttm/6, vgpt/1, vgpt/4 or cola/2.")] = "ttm/1",
    style: Annotated[str, typer.Option("--format", help="markdown or latex.")] = "markdown",
    run: Annotated[
        list[str] | None,
        typer.Option(help="Run, or group of seeds (g-...): before and after, on its own groups."),
    ] = None,
    paper: Annotated[bool, typer.Option("--paper/--no-paper", help="With the paper's own rows.")] = True,
    split: options.Split = "test",
    out: Annotated[Path | None, typer.Option(help="A file; by default it is printed.")] = None,
) -> None:
    """Results as rows in the layout of the papers' tables, in Markdown or LaTeX."""
    if style not in FORMATS:
        raise unknown_name("format", style, FORMATS)
    if layout not in LAYOUTS:
        raise unknown_name("layout", layout, LAYOUTS)
    benchmark = _benchmarks_argument(name, benchmark)
    if not layout.startswith("ttm/"):
        refuse_unused(f"in the layout {layout}, which has no column for what is adapted", "run")
    if scores:
        refuse_unused("with --scores", "model", "run")
        sections, ran = sections_of_files(scores, benchmark or [], split), []
    elif run or (model and benchmark):
        ran = [_of_run(name, model, benchmark, split) for name in run or ()]
        known = {(each.model, each.benchmark) for each in ran}
        sections = [] if not (model and benchmark) else _unadapted(model, benchmark, split, known)
    else:
        raise InputError("Give --model NAME and --benchmark NAME, or --run ID, or --scores FILE.")
    results = [*map(_result, sections), *ran]
    if paper and was_given("paper") and published(results, layout).empty:
        refuse_unused(f"in the layout {layout} of these benchmarks: the paper has no rows of them", "paper")
    text = FORMATS[style](layout_table(results, layout, paper))
    if out is None:
        print(text, end="")
        return
    with storage_errors(out):
        write_bytes(out, text.encode())
    print_note(f"wrote {out}")


def _result(section: ReportSection) -> Result:
    evaluation = section.evaluation
    title = _title(section.benchmark, section.groups) if section.benchmark else "Own groups"
    count = len(evaluation.scores)
    return Result(section.model, section.benchmark, title, evaluation.metrics, count, evaluation.shape)


def _title(benchmark: str, groups: GroupSet) -> str:
    return groups.title or benchmark


def _unadapted(
    models: list[str], benchmarks: list[str], split: str, known: set[tuple[str, str]]
) -> list[ReportSection]:
    """Every model on every benchmark, but for those that a run has measured before it trained."""
    names = {absolute_name(name): name for name in models}
    wanted = {
        written: [name for name in benchmarks if (model, name) not in known]
        for model, written in names.items()
    }
    progress = ProgressPrinter()
    return [
        section
        for model, on in wanted.items()
        if on
        for section in evaluate_all([model], on, split, progress=progress)
    ]


def _of_run(name: str, models: list[str] | None, benchmarks: list[str] | None, split: str) -> Result:
    """A run, or a group of seeds, before and after: both on the groups that it was given.

    models, benchmarks : what the rows are of, where that is said.
    """
    store = RunStore()
    runs = group_runs(store, name) if name.startswith("g-") else [store.get(name)]
    if said := _controls_said(runs[0]):
        raise InputError(f"{name} is not one result. {said}")
    if runs[0].kind not in RUNS:
        raise InputError(f"{name} adapted nothing, it is of the kind {runs[0].kind}; name a run of ttm.")
    steps = [store.steps(run.id) for run in runs]
    final = final_values(steps, [run.config for run in runs])
    if final is None or GROUP_MATCH not in final["metrics"]:
        raise InputError(f"{name} has no result yet; wait until it finishes, or resume it.")
    job = adaptation(runs[0].config)
    _check_named(name, job, models, benchmarks, split)
    groups = job.load_groups()
    before, after = _ends(store, runs, steps, groups.truth)
    if not after:
        raise InputError(f"{name} adapted to {job.benchmark}, which has no ground truth to measure by.")
    whole = {"": np.ones(len(groups), bool)}
    found = {each.metric: each for each in SeedResult.of_seeds(before, after, whole)}
    match, said = found[GROUP_MATCH], _groups_said(runs[0].config, steps[0])
    interval = match.after.low, match.after.high
    settings = ", ".join(_settings_said(runs[0]))
    return Result(
        job.model,
        job.benchmark,
        _title(job.benchmark, groups),
        {metric: each.before for metric, each in found.items()},
        len(groups),
        before[0].shape,
        Adapted(match.spread.mean, match.spread.std, match.spread.seeds, interval, settings),
        said if job.groups or job.tags else "",
    )


def _check_named(
    name: str, job: AdaptationRun, models: list[str] | None, benchmarks: list[str] | None, split: str
) -> None:
    """Raise InputError where the model, the benchmark or the split that is named is not the run's."""
    options_of = {
        "model": (job.model, [absolute_name(each) for each in models or ()]),
        "benchmark": (job.benchmark, benchmarks or []),
        "split": (job.split, [split] if was_given("split") else []),
    }
    for option, (own, given) in options_of.items():
        if given and own not in given:
            raise InputError(
                f"{name} adapted {job.model} on {job.benchmark}, split {job.split}, and --{option} names "
                f"{', '.join(given)}; leave --{option} out, or add --{option} {own}."
            )
