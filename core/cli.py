"""The `crossmatch` command: evaluate, ttm, runs, pretrain, list."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from core.errors import InputError, unknown_name

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Compositional image-text matching: metrics, induced matchings, test-time matching.",
)
runs_app = typer.Typer(no_args_is_help=True, help="Background runs: list, show, start, stop, resume, delete.")
app.add_typer(runs_app, name="runs")

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output and nothing else.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]


def main() -> None:
    """Entry point: a user's mistake ends with one sentence on standard error and exit status 2."""
    try:
        app()
    except InputError as error:
        print(f"crossmatch: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(0)


def show_json(record: Any) -> None:
    print(json.dumps(record, allow_nan=False), flush=True)


def note(text: str) -> None:
    """Progress and remarks go to standard error, so that standard output stays clean."""
    print(text, file=sys.stderr, flush=True)


class Announcer:
    """Progress on standard error, a line for every further per cent."""

    def __init__(self) -> None:
        self.last = ""

    def __call__(self, what: str, share: float) -> None:
        line = f"{share:4.0%}  {what}"
        if line != self.last:
            note(line)
        self.last = line


def format_metrics(record: dict[str, Any]) -> str:
    """Metrics as an aligned text table: value, interval, chance level, ties."""
    lines = [f"{'metric':<18}{'value':>8}{'95 % interval':>18}{'chance':>9}{'ties':>6}"]
    for name, e in record["metrics"].items():
        interval = f"[{e['low']:.2f}, {e['high']:.2f}]"
        lines.append(f"{name:<18}{e['value']:>8.2f}{interval:>18}{e['chance']:>9.2f}{e['ties']:>6}")
    return "\n".join(lines)


@app.command(
    epilog="Example: crossmatch evaluate --embeddings clip.npz --shape 2x2 --json",
)
def evaluate(
    embeddings: Annotated[
        Path | None, typer.Option(help="NPZ with `img` and `cap`, rows in group order.")
    ] = None,
    scores: Annotated[Path | None, typer.Option(help="Score file: CSV, Parquet, NPZ or JSONL.")] = None,
    benchmark: Annotated[
        str | None, typer.Option(help="A benchmark by name, such as scenes/left-right.")
    ] = None,
    model: Annotated[
        str, typer.Option(help="Model for --benchmark: a built-in or hub name, or a folder.")
    ] = "builtin/clip",
    split: Annotated[str, typer.Option(help="Split of the benchmark.")] = "test",
    shape: Annotated[str, typer.Option(help="Group shape of --embeddings, images x captions.")] = "2x2",
    tags: Annotated[Path | None, typer.Option(help="CSV with an `id` column; slices the metrics.")] = None,
    by: Annotated[
        str | None, typer.Option(help="The tag column to slice by (default: every column with few values).")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for groups.csv and metrics.json.")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Measure scores, embeddings or a model on a benchmark."""
    found = load_evaluation(embeddings, scores, benchmark, model, split, shape, seed)
    if tags is not None:
        from core.evaluation import align_tags
        from core.scores import read_tags

        found.tags = align_tags(read_tags(tags), found.ids)
    elif by is not None and found.tags is None:
        raise InputError(
            "--by needs tags: give a tag file with --tags, or a benchmark whose groups carry tags."
        )
    record = found.record(by)
    if out is not None:
        write_evaluation(found, record, out)
    if as_json:
        show_json(record)
    else:
        print(
            f"{record['n_groups']} groups of {record['shape']}; truth: {record['truth']}\n{format_metrics(record)}"
        )
        for column, values in record.get("slices", {}).items():
            for value, part in values.items():
                print(f"\n{column} = {value} ({part['n_groups']} groups)\n{format_metrics(part)}")


def load_evaluation(
    embeddings: Path | None,
    scores: Path | None,
    benchmark: str | None,
    model: str,
    split: str,
    shape: str,
    seed: int,
) -> Any:
    """The Evaluation of whichever one source was given."""
    from core.evaluation import Evaluation, tags_frame

    if sum(source is not None for source in (embeddings, scores, benchmark)) != 1:
        raise InputError("Give exactly one of --embeddings FILE, --scores FILE or --benchmark NAME.")
    if embeddings is not None:
        from core.scores import parse_shape, read_embeddings

        file = read_embeddings(embeddings, parse_shape(shape))
        return Evaluation.of(file.group_scores(), None, seed=seed, global_scores=file.global_scores())
    if scores is not None:
        from core.scores import read_scores

        table = read_scores(scores)
        return Evaluation.of(table.scores, table.truth, table.ids, tags=table.tags, seed=seed)
    from core.datasets import load
    from core.scorers import load_scorer
    from core.scores import ScoreCache, score_groups

    groups = load(benchmark or "", split)
    found = score_groups(load_scorer(model), groups, ScoreCache())
    return Evaluation.of(
        found, groups.truth, groups.ids, tags=tags_frame([g.tags for g in groups]), seed=seed
    )


def write_evaluation(found: Any, record: dict[str, Any], out: Path) -> None:
    """groups.csv (one row per group) and metrics.json in a folder that is made if need be."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        found.table().to_csv(out / "groups.csv", index=False)
        (out / "metrics.json").write_text(json.dumps(record, indent=2, allow_nan=False) + "\n")
    except OSError as error:
        raise InputError(
            f"The folder {out} cannot be written ({error.strerror}); choose another --out."
        ) from None
    note(f"wrote {out / 'groups.csv'} and {out / 'metrics.json'}")


@app.command(
    epilog="Example: crossmatch ttm --benchmark scenes/left-right --model builtin/clip --seed 0 --json"
)
def ttm(
    benchmark: Annotated[str, typer.Option(help="A benchmark by name.")],
    model: Annotated[
        str, typer.Option(help="Model to adapt: a built-in or hub name, or a folder.")
    ] = "builtin/clip",
    split: Annotated[str, typer.Option(help="Split of the benchmark.")] = "test",
    groups: Annotated[int | None, typer.Option(help="Use only the first so many groups.")] = None,
    preset: Annotated[
        str, typer.Option(help="Preset to start from (see `crossmatch list presets`).")
    ] = "builtin",
    iterations: Annotated[int | None, typer.Option(help="Number of iterations T.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs per iteration.")] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate of the first iteration.")] = None,
    schedule: Annotated[str | None, typer.Option(help="linear, cosine, constant or ascending.")] = None,
    tau_first: Annotated[float | None, typer.Option(help="First threshold, an absolute margin.")] = None,
    coverage_first: Annotated[
        float | None, typer.Option(help="First threshold as a share of groups, 0 to 1.")
    ] = None,
    tau_last: Annotated[float | None, typer.Option(help="Last threshold, an absolute margin.")] = None,
    oracle: Annotated[
        bool, typer.Option(help="Skyline: train on exactly the right matchings. READS THE TRUTH.")
    ] = False,
    seed: Seed = 0,
    save: Annotated[Path | None, typer.Option(help="Folder for the adapted model.")] = None,
    background: Annotated[bool, typer.Option(help="Start as a background run and print its id.")] = False,
    as_json: Json = False,
) -> None:
    """Adapt a model to a benchmark by test-time matching; one line per iteration, 0 being the model before."""
    from core.worker import execute_ttm, ttm_job

    options = {
        "iterations": iterations,
        "epochs": epochs,
        "lr": lr,
        "schedule": schedule,
        "tau_first": tau_first,
        "coverage_first": coverage_first,
        "tau_last": tau_last,
        "seed": seed,
    }
    job = ttm_job(benchmark, model, split=split, groups=groups, preset=preset, oracle=oracle, options=options)
    if background:
        start_run(job, as_json)
        return
    step = None
    for step in execute_ttm(job):
        show_json(step.record) if as_json else print(format_step(step.record), flush=True)
    if save is not None and step is not None:
        step.model.save(save)
        note(f"wrote the adapted model to {save}")


def start_run(job: dict[str, Any], as_json: bool) -> None:
    from core.runs import RunStore, launch

    store = RunStore()
    run = store.create("ttm", f"{job['model']} on {job['benchmark']}", job)
    launch(store, run.id)
    show_json({"id": run.id}) if as_json else print(
        f"started run {run.id}; see `crossmatch runs show {run.id}`"
    )


def format_step(record: dict[str, Any]) -> str:
    """One line of text for a TTM iteration."""
    parts = [f"iteration {record['iteration']:>2}"]
    if record["threshold"] is not None:
        precision = "-" if record["precision"] is None else f"{100 * record['precision']:.1f} %"
        parts.append(
            f"threshold {record['threshold']:.3f}  coverage {100 * record['coverage']:.1f} %  precision {precision}"
        )
    for name in ("group_score", "group_match"):
        e = record["metrics"][name]
        parts.append(
            f"{name} {e['value']:.2f} [{e['low']:.2f}, {e['high']:.2f}] (chance {e['chance']:.1f}, ties {e['ties']})"
        )
    return "  ".join([*parts, f"{record['seconds']:.1f} s"])


@runs_app.command("list", epilog="Example: crossmatch runs list --json")
def runs_list(as_json: Json = False) -> None:
    """All runs, newest first."""
    from core.runs import RunStore

    runs = RunStore().list()
    if as_json:
        show_json([run.record() for run in runs])
        return
    for run in runs:
        print(f"{run.id}  {run.status:<12}{run.done}/{run.total}  {run.title}")
    if not runs:
        print("no runs yet; start one with `crossmatch ttm --background` or on the test-time matching page")


@runs_app.command("show", epilog="Example: crossmatch runs show RUN --json")
def runs_show(run: Annotated[str, typer.Argument(help="Run id.")], as_json: Json = False) -> None:
    """One run with all its iterations."""
    from core.runs import RunStore

    store = RunStore()
    found, steps = store.get(run), store.steps(run)
    if as_json:
        show_json({**found.record(), "steps": steps})
        return
    print(
        f"{found.id}  {found.status}  {found.done}/{found.total}  {found.title}"
        + (f"\n{found.error}" if found.error else "")
    )
    for step in steps:
        print(format_step(step))


@runs_app.command("stop", epilog="Example: crossmatch runs stop RUN")
def runs_stop(run: Annotated[str, typer.Argument(help="Run id.")]) -> None:
    """Ask a run to stop; it can be resumed."""
    from core.runs import RunStore

    RunStore().request_stop(run)


@runs_app.command("resume", epilog="Example: crossmatch runs resume RUN")
def runs_resume(run: Annotated[str, typer.Argument(help="Run id.")]) -> None:
    """Go on with a stopped, interrupted or failed run after its last finished iteration."""
    from core.runs import RunStore, resume

    resume(RunStore(), run)


@runs_app.command("delete", epilog="Example: crossmatch runs delete RUN")
def runs_delete(run: Annotated[str, typer.Argument(help="Run id.")]) -> None:
    """Delete a run and everything it saved."""
    from core.runs import RunStore

    RunStore().delete(run)


@app.command(epilog="Example: crossmatch pretrain clip --out clip-again --seed 0")
def pretrain(
    name: Annotated[str, typer.Argument(help="A built-in model (see `crossmatch list models`).")],
    out: Annotated[Path, typer.Option(help="Folder for the trained model, its log and its card.")],
    seed: Seed = 0,
    steps: Annotated[int | None, typer.Option(help="Training steps (default: the recipe's).")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
) -> None:
    """Train a built-in model on the built-in world, as the shipped one was."""
    from core.pretrain import pretrain as train
    from core.scorers.contrastive import pick_device

    tell = Announcer()
    note(f"wrote {train(name, out, seed=seed, steps=steps, device=str(pick_device(device)), progress=tell)}")


def list_models() -> list[dict[str, Any]]:
    from core.scorers import builtin_models

    return [{"name": name, "state": "built in"} for name in builtin_models()]


def list_benchmarks() -> list[dict[str, Any]]:
    from core.datasets import names, state

    return [{"name": name, "state": state(name)} for name in names(None)]


def list_metrics() -> list[dict[str, Any]]:
    from core.metrics import METRICS

    return [
        {"name": n, "label": m.label, "meaning": m.meaning, "reference": m.reference}
        for n, m in METRICS.items()
    ]


def list_presets() -> list[dict[str, Any]]:
    from core.presets import PRESETS

    return [{"name": name, **preset.record()} for name, preset in PRESETS.items()]


LISTINGS = {
    "models": list_models,
    "benchmarks": list_benchmarks,
    "metrics": list_metrics,
    "presets": list_presets,
}


@app.command("list", epilog="Example: crossmatch list benchmarks --json")
def list_things(
    what: Annotated[str, typer.Argument(help="models, benchmarks, metrics or presets.")],
    as_json: Json = False,
) -> None:
    """What is at hand here."""
    if what not in LISTINGS:
        raise unknown_name("listing", what, LISTINGS)
    rows = LISTINGS[what]()
    if as_json:
        show_json(rows)
        return
    for row in rows:
        print("  ".join(f"{value}" for value in row.values()))


if __name__ == "__main__":
    main()
