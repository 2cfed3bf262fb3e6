"""`crossmatch list` and `crossmatch pretrain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core.cli.options import Json, Seed
from core.cli.say import Announcer, note, show_json
from core.errors import unknown_name


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


def list_tables() -> list[dict[str, Any]]:
    from core.reproduce.tables import TABLES

    return [{"name": name, "shows": title} for name, (title, _) in TABLES.items()]


LISTINGS = {
    "models": list_models,
    "benchmarks": list_benchmarks,
    "metrics": list_metrics,
    "presets": list_presets,
    "tables": list_tables,
}


def list_things(
    what: Annotated[str, typer.Argument(help="models, benchmarks, metrics, presets or tables.")],
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
