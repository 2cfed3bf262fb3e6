"""`crossmatch list` and `crossmatch pretrain`."""

from __future__ import annotations

from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any

import typer

from core.base.errors import InputError, unknown_name
from core.cli._output import ProgressPrinter, print_note, show_json
from core.cli.options import Device, Json, Seed
from core.datasets import DATASETS, SHIFTS, benchmark_entry, state
from core.datasets.base import GRAPHS, GROUPS, RETRIEVAL
from core.scenes.sets import GLOBAL_SUFFIX, SETS
from core.scoring.load import builtin_models, scorer_names
from core.scoring.weights import weights_bytes, weights_folder, weights_state
from core.ttm.config import MODELS, PRESETS


def pretrain(
    name: Annotated[str, typer.Argument(help="A built-in model (see `crossmatch list models`).")],
    out: Annotated[Path, typer.Option(help="Folder for the trained model, its log and its card.")],
    seed: Seed = 0,
    steps: Annotated[int | None, typer.Option(help="Training steps (default: the recipe's).")] = None,
    device: Device = "auto",
) -> None:
    """Train a built-in model on the built-in world, as the shipped one was."""
    from core.pretrain.model_folder import pretrain as train  # numpy, torch
    from core.scorers.devices import pick_device  # torch

    progress = ProgressPrinter()
    print_note(
        f"wrote {train(name, out, seed=seed, steps=steps, device=str(pick_device(device)), progress=progress)}"
    )


def _models() -> list[dict[str, Any]]:
    """The built-in models, with every kind of score each gives, and the models of the paper's tables."""
    scores = scorer_names()
    rows = []
    for name in [*builtin_models(), *MODELS.values()]:
        kinds = [kind for each, kind in scores.items() if each.rpartition(":")[2] == name] or ["itc"]
        folder = weights_folder(name)
        count = None if folder is None else _parameters(folder)
        size = weights_bytes(name)
        rows.append(
            {"name": name, "kinds": kinds, "parameters": count, "bytes": size, "state": weights_state(name)}
        )
    return rows


def _parameters(folder: Path) -> int | None:
    """Number of weights in a folder's safetensors files, from their headers; None where one does not read."""
    from math import prod

    from safetensors import SafetensorError, safe_open

    count = 0
    try:
        for path in folder.glob("*.safetensors"):
            with safe_open(path, "np") as weights:
                count += sum(prod(weights.get_slice(key).get_shape()) for key in list(weights.keys()))
    except (OSError, SafetensorError):
        return None
    return count


def _benchmarks() -> list[dict[str, Any]]:
    """Every benchmark: kind, shape of its groups where that is one and known, and what it needs."""
    rows = []
    for kind in (GROUPS, RETRIEVAL, GRAPHS):
        for name in [name for source in DATASETS.values() for name in source.names(kind)]:
            known = benchmark_entry(name)
            shape = known.shape if known is not None else _built_in_shape(name)
            shape_text = "x".join(map(str, shape)) if shape else ""
            rows.append({"name": name, "kind": kind, "shape": shape_text, "state": state(name)})
    return rows


def _benchmark_facts(name: str) -> dict[str, Any]:
    """What the list of all has no room for: title, usual metric, source, licence and what a reader must know."""
    known = benchmark_entry(name)
    names = ("title", "metric", "source", "licence", "note")
    return {} if known is None else {key: value for key in names if (value := getattr(known, key))}


def _built_in_shape(name: str) -> tuple[int, int] | None:
    spec = SETS.get(name.removesuffix(GLOBAL_SUFFIX))
    if spec is None:
        return None
    first, _, second = spec.description.partition(":")[0].partition("x")
    return int(first), int(second)


def _metrics() -> list[dict[str, Any]]:
    from core.metrics.groups import GLOBAL, METRICS  # scipy

    return [
        {"name": n, "label": m.label, "meaning": m.meaning, "reference": m.reference}
        for n, m in {**METRICS, **GLOBAL}.items()
    ]


def _presets() -> list[dict[str, Any]]:
    return [{"name": name, **preset.record()} for name, preset in PRESETS.items()]


def _tables() -> list[dict[str, Any]]:
    from core.papers import TABLES  # pandas

    return [{"name": name, "shows": title} for name, (title, _) in TABLES.items()]


def _shifts() -> list[dict[str, Any]]:
    return [{"name": name, "pictures": shift.description} for name, shift in SHIFTS.items()]


_HEADERS = {"bytes": "size"}
_MAX_PADDING = 45  # characters up to which a column is filled up
_STEP_WIDTH = 40  # characters of the first step towards what is not here

_LISTINGS = {
    "models": _models,
    "benchmarks": _benchmarks,
    "metrics": _metrics,
    "presets": _presets,
    "tables": _tables,
    "shifts": _shifts,
}


def list_command(
    what: Annotated[str, typer.Argument(help="models, benchmarks, metrics, presets, tables or shifts.")],
    name: Annotated[
        str | None, typer.Argument(help="One of them: everything about it, such as what it still needs.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Models, benchmarks, metrics, presets, tables or shifts: all by name, or with a NAME everything about one."""
    if what not in _LISTINGS:
        for listing in ("benchmarks", "models"):  # without the word before it
            if name is None and what in {row["name"] for row in _LISTINGS[listing]()}:
                raise InputError(
                    f"{what!r} is one of the {listing}; write `crossmatch list {listing} {what}`."
                )
        raise unknown_name("listing", what, _LISTINGS)
    rows = _LISTINGS[what]()
    if name is not None:
        known = {row["name"]: row for row in rows}
        if name not in known:
            raise unknown_name(what.removesuffix("s"), name, known)
        rows = [known[name] | (_benchmark_facts(name) if what == "benchmarks" else {})]
    if as_json:
        show_json(rows if name is None else rows[0])
    elif name is not None:
        print("\n".join(f"{key}: {_described(key, value)}" for key, value in rows[0].items()))
    else:
        print("\n".join(_table_lines(rows)) or "nothing")
        if any(str(row.get("state", "")).startswith("needs") for row in rows):
            print_note(f"what is missing, and the next step: `crossmatch list {what} NAME`")


def _table_lines(rows: list[dict[str, Any]]) -> list[str]:
    """A head and the rows as aligned columns; a column with long texts is not filled up."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    common = [key for key in keys if all(key in row for row in rows)]
    head = [[_HEADERS.get(key, key) for key in common]] if rows else []
    cells = [*head, *([_short(key, row[key]) for key in common] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    # What only some rows have, such as the settings of a preset, stands behind with its name.
    rest = ["", *(" ".join(f"{k}={v}" for k, v in row.items() if k not in common) for row in rows)]
    lines = []
    for row, more in zip(cells, rest, strict=False):
        filled = (cell.ljust(w) if w <= _MAX_PADDING else cell for cell, w in zip(row, widths, strict=True))
        lines.append("  ".join([*filled, more]).rstrip())
    return lines


def _short(key: str, value: Any) -> str:
    """As `_described`, but of what is needed the first step alone; naming one entry tells all of it."""
    described = _described(key, value)
    if key != "state" or not described.startswith("needs: "):
        return described
    first = shorten(described.split(", ")[0].split("; ")[0], _STEP_WIDTH, placeholder="")
    return first if first == described else f"{first} …"


def _described(key: str, value: Any) -> str:
    """A value for people: lists with commas, numbers of weights and bytes in millions, nothing as a dash."""
    if value is None:
        return "-"
    if key == "kinds":
        return ",".join(value)
    if key == "parameters":
        return f"{value / 1e6:.2f} M" if value < 1e8 else f"{value / 1e6:.0f} M"
    if key == "bytes":
        return f"{value / 1e6:.1f} MB"
    return str(value)
