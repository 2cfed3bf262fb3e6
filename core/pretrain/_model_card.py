"""The model card: how a built-in model was made, what it measures, where it fails."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from safetensors import safe_open

from core.pretrain._recipes import Recipe

LOG = "training_log.jsonl"
_PROSE = ("title", "use", "notes", "limits")
# Kind of score -> set -> metric -> value, low, high in percent.
_Measured = dict[str, dict[str, dict[str, list[float]]]]

_CARD = """---
license: apache-2.0
library_name: transformers
---

# {title}

A `{kind}` of {millions:.2f} million parameters, trained {origin} on rendered scenes of coloured solids by
`crossmatch pretrain {name}`. It is a teaching and testing model for Crossmatch: it knows {words} words and nothing of
the world outside the scenes.

## Use

```python
{use}
```

## How it was made

{steps} steps of {batch} scenes, seed {seed}, {minutes:.0f} minutes on {machine}. {images} rendered 64 px pictures of
the train split with {captions} captions each; {share:.0f} % of a batch are twins, two scenes that differ in one
exchange of {kinds}. Training follows steps, never the clock. All of the recipe (`core/pretrain/_recipes.py`):

```json
{recipe}
```
{notes}
## What it measures

Validation groups, {groups} of each set, in percent with 95 % intervals; `training_log.jsonl` holds the
same for every {every} steps, and its last line these numbers of the stored weights.

{table}

GroupScore / GroupMatch during training:

{curve}

## Limits

{limits}
"""


def write_card(name: str, recipe: Recipe, folder: Path) -> None:
    """Write README.md of a model folder; every measured number of it comes from the training log beside it."""
    records = [json.loads(line) for line in (folder / LOG).read_text().splitlines()]
    config = json.loads((folder / "config.json").read_text())
    data, last = recipe.data, records[-1]
    text = _CARD.format(
        title=recipe.title,
        kind=config["architectures"][0],
        millions=_parameters(folder) / 1e6,
        name=name,
        origin=f"from the weights of the built-in model `{recipe.start}`" if recipe.start else "from scratch",
        words=config.get("text_config", config)["vocab_size"],
        use=recipe.use,
        steps=last["step"],
        batch=recipe.batch,
        seed=last["seed"],
        minutes=last["total_seconds"] / 60,
        machine=last["machine"],
        images=data.singles + 2 * data.twins,
        captions=data.captions,
        share=200 * recipe.pairs / recipe.batch,
        kinds=" / ".join(dict.fromkeys(data.kinds)),
        recipe=json.dumps({k: v for k, v in asdict(recipe).items() if k not in _PROSE}),
        notes=f"\n{recipe.notes}\n" if recipe.notes else "",
        groups=recipe.groups,
        every=recipe.every,
        table=_metrics_table(last["validation"]),
        curve=_curve_table(records[:-1]),
        limits=recipe.limits,
    )
    (folder / "README.md").write_text(text)


def _parameters(folder: Path) -> int:
    with safe_open(folder / "model.safetensors", "np") as weights:
        return sum(math.prod(weights.get_slice(key).get_shape()) for key in weights.keys())  # noqa: SIM118


def _metrics_table(found: _Measured) -> str:
    """One row per set; value [low, high] for every kind of score and metric."""
    columns = [(kind, metric) for kind, sets in found.items() for metric in next(iter(sets.values()))]
    rows = ["| set | " + " | ".join(f"{metric} ({kind})" for kind, metric in columns) + " |"]
    rows.append("| --- |" + " --- |" * len(columns))
    for name in next(iter(found.values())):
        cells = (f"{v} [{low}, {high}]" for v, low, high in (found[k][name][m] for k, m in columns))
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _curve_table(records: Sequence[dict[str, Any]], most: int = 16) -> str:
    """GroupScore / GroupMatch of every set against steps, for the first kind of score; about `most` rows."""
    kept = list(records[:: max(1, len(records) // most)])
    if kept[-1] is not records[-1]:
        kept.append(records[-1])
    kind, sets = next(iter(kept[0]["validation"].items()))
    rows = ["| step | loss | " + " | ".join(name.removeprefix("scenes/") for name in sets) + " |"]
    rows.append("| --- | --- |" + " --- |" * len(sets))
    for record in kept:
        measured = record["validation"][kind]
        cells = [" / ".join(f"{m[0]:.0f}" for m in measured[name].values()) for name in sets]
        rows.append(f"| {record['step']} | {record['loss']} | {' | '.join(cells)} |")
    return "\n".join(rows)
