"""The command that starts the same run again: `crossmatch ttm` or `crossmatch simplematch` with every option that its
preset does not set."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from core.ttm.config import PRESETS, TTMConfig
from core.ttm.run import AdaptationRun

# Settings with an option of their name.
_OPTIONS = (
    *("iterations", "rounds", "patience", "schedule", "keep_optimizer"),
    *("epochs", "lr", "batch", "micro_batch", "augmentation", "precision"),
    *("contrastive", "lora_rank", "lora_alpha", "lora_targets"),
)


def command_line(run: AdaptationRun) -> str:
    """One line for a shell; of a file of embeddings by its bare name, below a comment that says where it is to be: a
    path of this machine, or that of the copy that was kept of an upload, is of no use to anyone else."""
    words, where = ["crossmatch", run.kind], ""
    if run.embeddings:
        name = Path(run.embeddings).name
        where = f"# in the folder of {name}\n"
        words += ["--embeddings", name, "--scale", f"{run.scale or 100.0:g}"]
    else:
        words += [run.benchmark, "--model", run.model, "--split", run.split]
    for name in ("shape", "groups", "adapt_on"):
        words += _option(name, getattr(run, name))
    for tag in run.tags or ():
        words += ["--tag", tag]
    if run.adapt_on is not None:
        words += _option("split_seed", run.split_seed)
    words += ["--preset", run.preset] if run.preset in PRESETS else []
    words += ["--oracle"] if run.oracle else []
    for name, value in _changes(run).items():
        words += _option(name, value)
    words += ["--device", run.device] if run.device != "auto" else []
    return where + shlex.join([*words, "--seed", str(run.seed)])


def _changes(run: AdaptationRun) -> dict[str, Any]:
    """The settings in which a run differs from its preset, and its thresholds: a preset's hold for its own model."""
    own, changes = run.settings, {}
    preset: Any = PRESETS[run.preset].config if run.preset in PRESETS else None
    if isinstance(own, TTMConfig):
        changes = {n: getattr(own, n) for n in ("variant", "threshold_mode") if _differs(own, preset, n)}
        if not run.oracle:
            ends = ("first",) if own.schedule == "constant" or own.iterations == 1 else ("first", "last")
            names = [f"{unit}_{end}" for end in ends for unit in ("tau", "coverage")]
            changes |= {name: getattr(own, name) for name in names}
    known = [name for name in _OPTIONS if hasattr(own, name)]
    return changes | {name: getattr(own, name) for name in known if _differs(own, preset, name)}


def _differs(own: Any, preset: Any, name: str) -> bool:
    return preset is None or getattr(own, name) != getattr(preset, name)


def _option(name: str, value: Any) -> list[str]:
    flag = f"--{name.replace('_', '-')}"
    if value is None or value == ():
        return []
    if isinstance(value, bool):
        return [flag if value else f"--no-{flag[2:]}"]
    if isinstance(value, tuple | list):
        return [flag, ",".join(value)]
    return [flag, f"{value:.10g}" if isinstance(value, float) else str(value)]
