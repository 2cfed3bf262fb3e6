"""`crossmatch adapt` and `crossmatch cost`: Cola's strategies, and what an adaptation costs elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from core.base.errors import InputError, unknown_name
from core.base.limits import _bound_own_memory
from core.base.table_formats import _result_csv
from core.base.text import _pct, counted, duration
from core.cli import options as o
from core.cli._files import _refuse_file
from core.cli._foreground import _Foreground
from core.cli._given_options import benchmark_argument, refuse_unused
from core.cli._output import ProgressPrinter, make_folder, print_note, show_json, writing
from core.cola.forgetting import cost_table, run_table
from core.cola.rates import find_rate
from core.cola.run import StrategyRun
from core.cola.table import jobs, run_jobs, summary
from core.metrics.retrieval import COLA_MAP
from core.runs.description import Iteration
from core.runs.engine import start
from core.runs.store import RunStore
from core.scorers.cola_config import GROUP_RESULTS, PAPER_SCALE, AdaptConfig

Strategy = Annotated[
    str, typer.Option(help="linear, prompt-tune, ft-all, ft-late, mm-pred, mm-adapter or token-map.")
]
Benchmark = Annotated[
    o.Text,
    typer.Option(
        help="scenes/retrieval (default), gqa, visual-genome, clevr, clevr-attributes, paco, or a published "
        "cola/single-... file."
    ),
]
Base = Annotated[
    str,
    typer.Option(
        help="Model to adapt: a built-in, hub or short name (`siglip-l16`), or a folder.", **o.named
    ),
]
Fusion = Annotated[
    o.Text, typer.Option(help="mdetr, flava, albef, fiber or fiber-mm (MM-Pred and MM-Adapter).")
]
Adapter = Annotated[
    o.Text, typer.Option(help="Form of MM-Adapter: text (the paper's) or readme (its authors' code).")
]
_USUAL = AdaptConfig()
Mix = Annotated[
    o.Text,
    typer.Option(help=f"Training queries: region, single, multi, hard or combined (default: {_USUAL.mix})."),
]
Images = Annotated[
    o.Whole,
    typer.Option(help="Use only this many test images, the first ones (default on the built-in set: 500)."),
]
Folder = Annotated[
    Path | None, typer.Option(help="Folder of the benchmark's files; scenes/retrieval has none.")
]
Preset = Annotated[
    o.Text,
    typer.Option(
        help="paper: ten passes over the training pairs, 32 at a time; other options given count first."
    ),
]
Epochs = Annotated[
    o.Whole,
    typer.Option(
        help=f"Epochs (default: {_USUAL.epochs}); after each one the model is measured and saved, and the last one "
        "trained is the result."
    ),
]
Steps = Annotated[
    o.Whole,
    typer.Option(
        help=f"Steps per epoch (default: {_USUAL.steps}); 0: one pass over the training pairs, each once."
    ),
]
Batch = Annotated[
    o.Whole,
    typer.Option(
        help=f"Images and queries of a step, 2 to 4096 (default: {_USUAL.batch}): batch x batch pairs."
    ),
]
Rate = Annotated[o.Number, typer.Option(help="Learning rate (default: depends on strategy and model).")]
Patience = Annotated[
    o.Whole,
    typer.Option(
        help="Stop after so many epochs without a higher validation mAP (default: never early); the last one trained "
        "is the result."
    ),
]
FindRate = Annotated[
    bool,
    typer.Option(
        "--find-lr",
        help="First choose the learning rate on validation queries: of a bracket that grows until the best has a worse "
        "one on both sides. Takes four trainings or more.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Only say what it will take: disk, memory, time; one batch is timed."),
]
Everything = Annotated[
    bool,
    typer.Option(
        "--all", help="All strategies with three seeds: the whole table, with the other settings as given."
    ),
]


def adapt(
    name: o.Positional = None,
    strategy: Strategy = "mm-adapter",
    benchmark: Benchmark = None,
    model: Base = "builtin/clip",
    fusion: Fusion = None,
    adapter: Adapter = None,
    mix: Mix = None,
    preset: Preset = None,
    epochs: Epochs = None,
    steps: Steps = None,
    batch: Batch = None,
    patience: Patience = None,
    lr: Rate = None,
    find_lr: FindRate = False,
    images: Images = None,
    folder: Folder = None,
    device: o.Device = "auto",
    seed: o.Seed = 0,
    save: o.Save = None,
    background: o.Background = False,
    no_store: o.NoStore = False,
    dry_run: DryRun = False,
    everything: Everything = False,
    as_json: o.Json = False,
) -> None:
    """Adapt a model by one of Cola's strategies; test queries before and after, one line per epoch."""
    where = benchmark_argument(name, benchmark) or "scenes/retrieval"
    _refuse_file(where, "adapt trains a model on the queries of a set, which it takes by name")
    options: dict[str, Any] = {"fusion": fusion, "adapter": adapter, "mix": mix}
    options |= _length(preset, epochs, steps, batch) | {"patience": patience, "lr": lr}
    source: dict[str, Any] = {"images": images, "folder": folder, "device": device}
    _refuse_fusion_of_readme(adapter, fusion)
    if everything:
        refuse_unused("with --all, which has every strategy and its seeds", "strategy", "seed", "no_store")
        refuse_unused("with --all, whose results are cached and not saved elsewhere", "save", "background")
        refuse_unused("with --all: ask for one strategy at a time", "dry_run", "find_lr")
        _table(where, model, options, source, as_json)
        return
    job = StrategyRun.of(where, model, **source, options={**options, "strategy": strategy, "seed": seed})
    if job.shortfall:
        print_note(job.shortfall)
    if find_lr:
        refuse_unused("with --find-lr, which chooses the rate", "lr")
        refuse_unused("with --find-lr: give the rate that it finds with --lr", "background")
    if dry_run:
        refuse_unused("with --dry-run, which trains nothing", "save", "background", "find_lr", "no_store")
        needs = job.forecast()
        show_json(needs) if as_json else print(_format_forecast(needs))
        return
    if background:
        refuse_unused("with --background: get the model with `runs export` when the run has finished", "save")
        refuse_unused("with --background, which stores its run", "no_store")
        run = start(RunStore(), job.title, job)
        text = f"started run {run.id}; see `crossmatch runs show {run.id}`"
        show_json({"id": run.id}) if as_json else print(text)
        return
    _run(_with_found_rate(job) if find_lr else job, save, not no_store, as_json)


def _refuse_fusion_of_readme(adapter: str | None, fusion: str | None) -> None:
    if adapter == "readme" and fusion is not None:
        raise InputError(
            "The adapter `readme` has one encoder and one decoder layer in place of a fusion; leave out --fusion, or "
            "choose --adapter text."
        )


def _with_found_rate(job: StrategyRun) -> StrategyRun:
    """The run with the learning rate that is best on validation queries."""
    best, *_ = find_rate(
        job, say=lambda trial: print_note(f"lr {trial.lr:g}: validation mAP {_pct(trial.value)}")
    )
    print_note(f"lr {best.lr:g} is best; train with it again: --lr {best.lr:g}")
    return job.model_copy(update={"settings": job.settings.updated({"lr": best.lr})})


def _format_forecast(needs: Mapping[str, float]) -> str:
    """What a training will take, in a sentence."""
    return (
        f"{needs['images']:,} images, {needs['queries']:,} queries, {needs['steps']:,} steps: "
        f"{needs['disk'] / 1e9:.1f} GB of features and pixels on disk, shared with other runs, at most "
        f"{needs['memory'] / 1e9:.1f} GB of memory, about {duration(needs['seconds'])} of training on this machine "
        f"where little else runs, and {duration(needs['measured_in'])} to measure it before, after and between."
    )


def _length(preset: str | None, epochs: int | None, steps: int | None, batch: int | None) -> dict[str, Any]:
    """How long a strategy trains: the preset's numbers where none are given."""
    if preset not in (None, "paper"):
        raise unknown_name("preset", str(preset), ("paper",))
    given = {"epochs": epochs, "steps": steps, "batch": batch}
    usual: Mapping[str, int] = {} if preset is None else PAPER_SCALE
    return {name: usual.get(name) if value is None else value for name, value in given.items()}


def _run(job: StrategyRun, save: Path | None, is_stored: bool, as_json: bool) -> None:
    if save is not None:
        make_folder(save, "--save")
    announce, records = ProgressPrinter(), list[Mapping[str, Any]]()
    runs, models = _Foreground.of(job, is_stored=is_stored, title=job.title), list[Any]()
    _bound_own_memory()

    def show(now: Iteration) -> None:
        records.append(now.record)
        models[:] = [now.model]
        show_json(now.record) if as_json else print(_format_epoch(now.record), flush=True)

    stored = runs.carry_out(job, show, lambda share, text: announce(text, share))
    if save is not None and models and models[0] is not None:
        models[0].save(save)
        print_note(f"wrote the adapted model to {save}")
    if records and records[-1]["iteration"] < job.settings.epochs:
        waited = counted(job.settings.patience or 0, "epoch")
        print_note(
            f"training ended after epoch {records[-1]['iteration']} of {job.settings.epochs}: validation mAP has not "
            f"risen for {waited}; the last epoch is the result"
        )
    if not as_json and records:
        print(_format_tests(records[0]["test"], records[-1]["test"]))
    runs.say([stored])


def _format_epoch(record: Mapping[str, Any]) -> str:
    """One line of text for an epoch."""
    parts = [f"epoch {record['iteration']:>2}"]
    if record["loss"] is not None:
        parts.append(f"loss {record['loss']:.4f}")
    for name, e in record["validation"].get(COLA_MAP, {}).items():
        if name in ("all", "seen", "unseen"):
            parts.append(f"validation mAP {name} {_pct(e['value'])} [{_pct(e['low'])}, {_pct(e['high'])}]")
    if record["iteration"] == 0:
        counts = record["parameters"]
        parts.append(f"{counts['trained']} of {counts['total']} weights are trained")
    return "  ".join([*parts, f"{record['seconds']:.1f} s"])


def _format_tests(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Test results before and after as an aligned table."""
    head = f"{'metric':<22}{'part':<14}{'before':>24}{'after':>24}{'chance':>8}"
    lines = [f"{head}{'queries':>9}{'skipped':>9}{'ties':>6}"]
    rows = [
        (name, part, before["retrieval"][name][part], now)
        for name, parts in after["retrieval"].items()
        for part, now in parts.items()
    ]
    rows += [(n, "all", before[n], after[n]) for n in GROUP_RESULTS if n in after and n in before]
    for name, part, first, now in rows:
        cells = [f"{_pct(e['value'], 2)} [{_pct(e['low'], 2)}, {_pct(e['high'], 2)}]" for e in (first, now)]
        count = now.get("queries", now.get("groups"))
        lines.append(
            f"{name:<22}{part:<14}{cells[0]:>24}{cells[1]:>24}{_pct(now['chance'], 2):>8}{count:>9}"
            f"{now.get('skipped', 0):>9}{now['ties']:>6}"
        )
    lines.append(
        "intervals: over queries, each wording for itself, or groups; of this seed and these pictures"
    )
    return "\n".join(lines)


def _table(
    benchmark: str, model: str, options: dict[str, Any], source: dict[str, Any], as_json: bool
) -> None:
    """Every strategy with three seeds, one after the other; results that are there already are kept."""
    every = jobs(benchmark, model, options=options, **source)
    for shortfall in dict.fromkeys(filter(None, (job.shortfall for job in every))):
        print_note(shortfall)
    rows = run_jobs(every, say=print_note)
    means = summary(rows)
    if as_json:
        show_json(
            {
                name: json.loads(t.to_json(orient="records"))
                for name, t in (("rows", rows), ("summary", means))
            }
        )
    else:
        print(means.to_string(index=False))


def cost(
    model: Annotated[str, typer.Argument(help="The adapted model: run/ID or a folder.")],
    base: Annotated[
        o.Text,
        typer.Option(
            help="The model it was adapted from, by name (default: as its folder says).",
            **o.named,
        ),
    ] = None,
    sets: Annotated[
        o.Text,
        typer.Option(
            help="Sets to measure on, separated by commas (default: all that it was not adapted on)."
        ),
    ] = None,
    groups: o.Groups = None,
    device: o.Device = "auto",
    out: Annotated[Path | None, typer.Option(help="CSV file for the table.")] = None,
    as_json: o.Json = False,
) -> None:
    """What an adaptation costs: an adapted model and its base on sets it was not adapted on, with paired intervals."""
    if groups is not None and groups < 1:
        raise InputError(f"{groups} groups were asked for; ask for 1 or more.")
    names = None if sets is None else [name.strip() for name in sets.split(",")]
    if model.startswith("run/") and base is None and names is None and groups is None:
        # Kept, for the pages too.
        table = run_table(model.removeprefix("run/"), say=print_note, device=device)
    else:
        table = cost_table(model, base, names, groups=groups, device=device, say=print_note)
    if out is not None:
        with writing(out):
            out.write_bytes(_result_csv(table))
        print_note(f"wrote {out}")
    if as_json:
        show_json(json.loads(table.to_json(orient="records")))
    else:
        print(table.round(2).to_string(index=False))
