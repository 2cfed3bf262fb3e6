"""The model card: how a built-in model was made, what it measures, where it fails."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from core.pretrain.recipes import Recipe

_HEAD = """---
license: apache-2.0
library_name: transformers
---

# {title}

A `{kind}` of {millions:.2f} million parameters, trained from scratch on rendered scenes of coloured solids by
`crossmatch pretrain {name}`. It is a teaching and testing model for Crossmatch: it knows {words} words and nothing of
the world outside the scenes.

## Use

```python
{use}
```

## How it was made

{steps} steps of {batch} scenes, seed {seed}, {minutes:.0f} minutes on {machine}. {images} rendered 64 px pictures of
the train split with {captions} captions each; {share:.0f} % of a batch are twins, two scenes that differ in one
exchange of {kinds}. Training follows steps, never the clock. All of the recipe (`core/pretrain/recipes.py`):

```json
{recipe}
```
{notes}
## What it measures

Validation groups, {groups} of each set, in percent with 95 % bootstrap intervals; `training_log.jsonl` holds the
same for every {every} steps, and its last line these numbers of the stored weights.

{table}

Training curve ({curve_of}):

{curve}

## Limits

{limits}
"""


def write_card(
    name: str,
    recipe: Recipe,
    out: Path,
    module: torch.nn.Module,
    records: Sequence[dict[str, Any]],
    seed: int,
    seconds: float,
) -> None:
    """Write README.md; every number of it comes from `records`, the lines of the log."""
    data, last = recipe.data, records[-1]
    parameters = sum(p.numel() for p in module.parameters())
    text = _HEAD.format(
        title=recipe.title,
        kind=type(module).__name__,
        millions=parameters / 1e6,
        name=name,
        words=module.config.get_text_config().vocab_size,
        use=recipe.use,
        steps=last["step"],
        batch=recipe.batch,
        seed=seed,
        minutes=seconds / 60,
        machine=_machine(module),
        images=data.singles + 2 * data.twins,
        captions=data.captions,
        share=200 * recipe.pairs / recipe.batch,
        kinds=" / ".join(data.kinds),
        recipe=json.dumps(asdict(recipe) | {"notes": None, "use": None, "limits": None}, indent=1),
        notes=f"\n{recipe.notes}\n" if recipe.notes else "",
        groups=recipe.groups,
        every=recipe.every,
        table=metrics_table(last["validation"]),
        curve_of="GroupScore / GroupMatch",
        curve=curve_table(records[:-1]),
        limits=recipe.limits,
    )
    (out / "README.md").write_text(text)


def _machine(module: torch.nn.Module) -> str:
    device = next(module.parameters()).device
    return (
        torch.cuda.get_device_name(device)
        if device.type == "cuda"
        else f"{torch.get_num_threads()} CPU threads"
    )


def metrics_table(found: dict[str, dict[str, list[float]]]) -> str:
    """One row per set; value [low, high]."""
    names = list(next(iter(found.values())))
    rows = [f"| set | {' | '.join(names)} |", "| --- |" + " --- |" * len(names)]
    for name, metrics in found.items():
        cells = (f"{value} [{low}, {high}]" for value, low, high in (metrics[n] for n in names))
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def curve_table(records: Sequence[dict[str, Any]], most: int = 16) -> str:
    """GroupScore / GroupMatch of every set against steps; about `most` rows of the log."""
    kept = list(records[:: max(1, len(records) // most)])
    if records and kept[-1] is not records[-1]:
        kept.append(records[-1])
    sets = list(kept[0]["validation"])
    rows = ["| step | loss | " + " | ".join(s.removeprefix("scenes/") for s in sets) + " |"]
    rows.append("| --- | --- |" + " --- |" * len(sets))
    for record in kept:
        cells = [" / ".join(f"{m[0]:.0f}" for m in record["validation"][s].values()) for s in sets]
        rows.append(f"| {record['step']} | {record['loss']} | {' | '.join(cells)} |")
    return "\n".join(rows)
