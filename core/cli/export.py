"""`crossmatch export ...` and `crossmatch runs import`: what you take away, in formats that come back unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from core import datasets, figures
from core.base.errors import InputError, unknown_name
from core.base.files import storage_errors, write_bytes
from core.cli.evaluate import Shape, check_slices, load_evaluation
from core.cli.given_options import App, refuse_unused, was_given
from core.cli.options import named
from core.cli.output import ProgressPrinter, print_note
from core.exchange.figures import write_figure
from core.exchange.frames import curves_frame, matchings_frame, metrics_frame
from core.exchange.groups import export_groups as export
from core.exchange.layouts import FORMATS, LAYOUTS, Adapted, Result, layout_table, published
from core.exchange.report import evaluate_all
from core.exchange.runs import export_run as write_run
from core.exchange.tables import write_table
from core.metrics.groups import GROUP_MATCH
from core.runs.store import RunStore
from core.scoring.scores import write_scores
from core.ttm.seeds import final_values, group_runs

if TYPE_CHECKING:
    from core.exchange.layouts import Adapted, Result

export_app = App(
    no_args_is_help=True,
    help="Take away: groups, scores, matchings, metrics, curves, a run, a figure, rows of the papers' tables.",
)

Out = Annotated[Path, typer.Option(help="The file; its ending decides the format.")]
Embeddings = Annotated[Path | None, typer.Option(help="NPZ with `img` and `cap`, rows in group order.")]
Scores = Annotated[Path | None, typer.Option(help="Score file: CSV, Parquet, NPZ or JSONL.")]
Name = Annotated[str | None, typer.Option(help="A benchmark by name, such as scenes/left-right.")]
Model = Annotated[str, typer.Option(help="Model for --benchmark.", **named)]
Split = Annotated[str, typer.Option(help="Split of the benchmark.")]
Seed = Annotated[int, typer.Option(help="Seed of the intervals.")]
RunId = Annotated[str, typer.Argument(help="Run id.")]


@dataclass(frozen=True)
class _ScoreSource:
    """What is scored or read before it is exported: the options that `_with_source_options` gives a command."""

    embeddings: Embeddings = None
    scores: Scores = None
    benchmark: Name = None
    model: Model = "builtin/clip"
    split: Split = "test"
    shape: Shape = None

    def evaluation(self, seed: int = 0) -> Any:
        """Scores with truth and metrics; `seed` is that of the intervals."""
        return load_evaluation(**asdict(self), seed=seed)


def _with_source_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose first parameter is a `_ScoreSource`, as one that takes the source's options instead."""
    hints = {
        **get_type_hints(_ScoreSource, include_extras=True),
        **get_type_hints(command, include_extras=True),
    }
    own = list(signature(command).parameters.values())[1:]
    options = [Parameter(f.name, Parameter.KEYWORD_ONLY, default=f.default) for f in fields(_ScoreSource)]

    def run(**given: Any) -> None:
        source = _ScoreSource(**{option.name: given.pop(option.name) for option in options})
        command(source, **given)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    names = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in own]
    told = [p.replace(annotation=hints[p.name]) for p in (*names, *options)]
    run.__signature__ = Signature(told)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in told}
    return run


@export_app.command(
    "groups", epilog="Example: crossmatch export groups --benchmark scenes/swap --out swap.zip"
)
def _groups(
    benchmark: Annotated[str, typer.Option(help="A benchmark by name, such as scenes/left-right.")],
    out: Annotated[
        Path, typer.Option(help="A new folder, or a file in .zip, .parquet, .csv, .jsonl or .npz.")
    ],
    split: Split = "test",
    images: Annotated[
        bool, typer.Option("--images/--no-images", help="With the pixels, where the format holds them.")
    ] = True,
) -> None:
    """Images, captions, answers and tags; folder, zip and Parquet can be added again with `crossmatch add`."""
    if out.suffix.lower() in (".csv", ".jsonl", ".npz"):
        refuse_unused(f"for a {out.suffix} file, which names the images and never holds them", "images")
    tell = ProgressPrinter()
    groups = datasets.load(benchmark, split, images=images)
    export(groups, out, images, lambda done, total: tell(f"{total} groups", done / total))
    print_note(f"wrote {out}; its licence: {groups.licence or 'not given'}")


@export_app.command(
    "scores", epilog="Example: crossmatch export scores --benchmark scenes/swap --out s.parquet"
)
@_with_source_options
def _scores(
    source: _ScoreSource,
    out: Out,
) -> None:
    """The score matrix of every group: CSV, Parquet, JSONL or NPZ, as `evaluate --scores` reads them."""
    found = source.evaluation()
    truth = found.truth if found.truth_given else None
    write_scores(out, found.scores, found.ids, truth, found.tags)
    print_note(f"wrote {out}")


@export_app.command(
    "matchings", epilog="Example: crossmatch export matchings --benchmark scenes/swap --out m.csv"
)
@_with_source_options
def _matchings(
    source: _ScoreSource,
    out: Out,
) -> None:
    """One row per group: tags, each metric's outcome, induced matching, margin, tie. CSV, Parquet, JSONL or NPZ."""
    write_table(out, matchings_frame(source.evaluation()))
    print_note(f"wrote {out}")


@export_app.command(
    "metrics", epilog="Example: crossmatch export metrics --benchmark scenes/swap --out m.jsonl"
)
@_with_source_options
def _metrics(
    source: _ScoreSource,
    out: Out,
    by: Annotated[
        str | None, typer.Option(help="Tag column to slice by (default: all with few values).")
    ] = None,
    seed: Seed = 0,
) -> None:
    """Every metric with its 95 % interval, chance level and ties, for all groups and by tag."""
    found = source.evaluation(seed)
    check_slices(found, by)
    write_table(out, metrics_frame(found, by))
    print_note(f"wrote {out}")


@export_app.command("curves", epilog="Example: crossmatch export curves RUN --out curves.csv")
def _curves_table(run: RunId, out: Out) -> None:
    """One row per iteration of a run: thresholds, coverage, precision, loss, and all metrics with intervals."""
    steps = RunStore().steps(run)
    if not steps:
        RunStore().get(run)  # says so where there is no such run
        raise InputError(f"Run {run} has not finished an iteration yet; wait for one.")
    write_table(out, curves_frame(steps))
    print_note(f"wrote {out}")


@export_app.command("run", epilog="Example: crossmatch export run RUN --out run.zip")
def _run(
    run: RunId,
    out: Annotated[Path, typer.Option(help="A new folder, or a file that ends in .zip.")],
    model: Annotated[bool, typer.Option("--model/--no-model", help="With the adapted model.")] = True,
) -> None:
    """A whole run that another machine opens with `crossmatch runs import`."""
    print_note(f"wrote {write_run(RunStore(), run, out, model)}")


_FIGURES = ("metrics", "margins", "curves")


@export_app.command(
    "figure", epilog="Example: crossmatch export figure margins --benchmark scenes/swap --out m.svg"
)
@_with_source_options
def _figure_file(
    source: _ScoreSource,
    what: Annotated[str, typer.Argument(help="metrics, margins, or curves (of --run).")],
    out: Annotated[Path, typer.Option(help="File in .svg, .png, .html or .json.")],
    run: Annotated[str | None, typer.Option(help="Run id, for `curves`.")] = None,
    width: Annotated[int, typer.Option(min=10, help="Width in CSS pixels.")] = 900,
    height: Annotated[int, typer.Option(min=10, help="Height in CSS pixels.")] = 420,
) -> None:
    """A figure as SVG or PNG (drawn by a browser that is installed here), HTML or JSON."""
    if what not in _FIGURES:
        raise unknown_name("figure", what, _FIGURES)
    if what == "curves":
        refuse_unused("on `curves`, which shows a run", *(f.name for f in fields(_ScoreSource)))
    else:
        refuse_unused(f"on `{what}`, which shows scores", "run")
    figure = _curves(run) if what == "curves" else _figure(what, source.evaluation(), source.model)
    print_note(f"wrote {write_figure(figure, out, width, height)}")


def _figure(what: str, found: Any, model: str) -> Any:
    if what == "margins":
        return figures.margins_figure(figures.margins_data(found.matches, found.outcomes[GROUP_MATCH]))
    return figures.bars_figure(figures.bars_data({model: found.metrics}, list(found.outcomes)))


def _curves(run: str | None) -> Any:
    if run is None:
        raise InputError("The figure `curves` shows a run; name it with --run ID.")
    store = RunStore()
    found, steps = store.get(run), store.steps(run)
    if not steps:
        raise InputError(f"Run {run} has not finished an iteration yet; wait for one.")
    return figures.ttm_metrics_figure(figures.ttm_data(steps, found.total))


@export_app.command(
    "row",
    epilog="Example: crossmatch export row --layout ttm/1 --model builtin/clip --benchmark scenes/left-right",
)
def _row(
    model: Annotated[list[str], typer.Option(help="A model; repeat for more.", **named)],
    benchmark: Annotated[list[str], typer.Option(help="A benchmark; repeat for more.")],
    layout: Annotated[str, typer.Option(help="ttm/1, ttm/6, vgpt/1, vgpt/4 or cola/2.")] = "ttm/1",
    style: Annotated[str, typer.Option("--format", help="markdown or latex.")] = "markdown",
    run: Annotated[list[str] | None, typer.Option(help="Run, or group of seeds (g-...): its result.")] = None,
    paper: Annotated[bool, typer.Option("--paper/--no-paper", help="With the paper's own rows.")] = True,
    split: Split = "test",
    out: Annotated[Path | None, typer.Option(help="A file; by default it is printed.")] = None,
) -> None:
    """Results as rows in the layout of the papers' tables, in Markdown or LaTeX."""
    if style not in FORMATS:
        raise unknown_name("format", style, FORMATS)
    if layout not in LAYOUTS:
        raise unknown_name("layout", layout, LAYOUTS)
    if not layout.startswith("ttm/"):
        refuse_unused(f"in the layout {layout}, which has no column for what is adapted", "run")
    adapted = dict(_adapted(name, model, benchmark) for name in run or ())
    results = [_result(s, adapted) for s in evaluate_all(model, benchmark, split, progress=ProgressPrinter())]
    if was_given("paper") and published(results, layout).empty:
        refuse_unused(f"in the layout {layout} of these benchmarks: the paper has no rows of them", "paper")
    text = FORMATS[style](layout_table(results, layout, paper))
    if out is None:
        print(text, end="")
        return

    with storage_errors(out):
        write_bytes(out, text.encode())
    print_note(f"wrote {out}")


def _result(section: Any, adapted: dict[tuple[str, str], Adapted]) -> Result:
    found = section.evaluation
    title = section.groups.title or section.benchmark
    after = adapted.get((section.model, section.benchmark))
    return Result(
        section.model, section.benchmark, title, found.metrics, len(found.scores), found.shape, after
    )


def _adapted(name: str, models: list[str], benchmarks: list[str]) -> tuple[tuple[str, str], Adapted]:
    """Model and benchmark of a run or group of seeds, and what GroupMatch was at its end; they are among the rows."""
    store = RunStore()
    runs = group_runs(store, name) if name.startswith("g-") else [store.get(name)]
    row = final_values([store.steps(run.id) for run in runs], [run.config for run in runs])
    if row is None or GROUP_MATCH not in row["metrics"]:
        raise InputError(f"{name} has no result yet; wait until it finishes, or resume it.")
    spread = row["metrics"][GROUP_MATCH]
    model, benchmark = (str(runs[0].config[key]) for key in ("model", "benchmark"))
    if model not in models or benchmark not in benchmarks:
        raise InputError(
            f"{name} adapted {model} on {benchmark}, which is not a row here; add --model {model} --benchmark "
            f"{benchmark}."
        )
    return (model, benchmark), Adapted(spread["mean"], spread["std"], spread["seeds"])
