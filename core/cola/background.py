"""A strategy as a background run: checkpoints after every epoch, and at the end a model that loads as a scorer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.base import files
from core.cola.run import adapt_job, execute, settings_of
from core.runs.checkpoints import (
    drop_checkpoints,
    is_published,
    load_moments,
    load_record,
    newest_checkpoint,
    publish_with,
    save_moments,
    write_checkpoint,
)
from core.runs.models import public
from core.runs.store import launch
from core.scorers.cola_config import KIND

if TYPE_CHECKING:
    from core.cola.run import FinishedEpoch
    from core.cola.training import TrainingState
    from core.runs.attempt import RunAttempt
    from core.runs.store import Run, RunStore

__all__ = ["adapt_job", "launch_adaptation", "run_adapt"]


def launch_adaptation(
    store: RunStore, job: Mapping[str, Any], title: str = "", owner: str | None = None
) -> Run:
    """Write a run down and start its process."""
    settings = settings_of(job)
    name = title or f"{settings.strategy} on {job['model']}, {job['benchmark']}"
    return launch(store, store.create(KIND, name, dict(job), owner).id)


def run_adapt(job: RunAttempt) -> bool:
    """What `core.worker` calls for a run of this kind; True when it came to its end and the model is saved."""
    config, folder = job.run.config, job.folder
    epochs = settings_of(config).epochs
    job.plan(epochs)
    if is_published(folder):  # killed between the model and its last word
        return True
    checkpoint, note = newest_checkpoint(folder)
    done, model, state = 0, None, None
    if checkpoint is not None:  # written before its record: that one may be missing
        job.append(load_record(checkpoint))
        model, state = checkpoint / "model", load_state(checkpoint)
        done = state.epoch
    if done < epochs:
        for epoch in execute(config, model, state, job.stopping, job.progress):
            epoch.record["note"], note = note, ""
            with files.storage_errors(folder):
                files.write_arrays(job.store.arrays_path(job.run.id, epoch.record["iteration"]), epoch.arrays)
                save_checkpoint(folder, epoch)
            job.append(epoch.record)
            done = epoch.record["iteration"]
    if done < epochs:
        return False
    with files.storage_errors(folder):
        publish(folder, config, job.store.steps(job.run.id))
    drop_checkpoints(folder)
    return True


def save_checkpoint(folder: Path, epoch: FinishedEpoch) -> Path:
    """Write `checkpoint-NNNN` into a run's folder, then drop every other one, whole or half."""
    return write_checkpoint(folder, epoch.record, epoch.model, lambda aside: save_state(aside, epoch.state))


def save_state(folder: Path, state: TrainingState) -> None:
    """The optimizer's moments as safetensors, its settings and the losses as JSON: no pickle."""
    kept = state.optimizer
    if kept is not None:
        save_moments(folder, kept)
    groups = None if kept is None else kept["param_groups"]
    files.write_json(
        folder / "training.json", {"epoch": state.epoch, "losses": state.losses, "groups": groups}
    )


def load_state(folder: Path) -> TrainingState:
    """What `save_state` wrote."""
    from core.cola.training import TrainingState  # torch

    found = json.loads((folder / "training.json").read_text())
    optimizer = None
    if found["groups"] is not None:
        optimizer = {"state": load_moments(folder), "param_groups": found["groups"]}
    return TrainingState(found["epoch"], optimizer, found["losses"])


def publish(folder: Path, config: Mapping[str, Any], steps: list[dict[str, Any]]) -> Path:
    """Put the newest checkpoint's model, with a card and a manifest, at `model` in the run's folder."""
    return publish_with(folder, config, lambda model: card(config, steps))


def card(config: Mapping[str, Any], steps: list[dict[str, Any]]) -> str:
    """A model card: which strategy on which base, how many weights, what it measured before and after."""
    shown, settings, last = public(config), settings_of(config), steps[-1]
    rows = ["| metric | part | before | after | chance |", "| --- | --- | --- | --- | --- |"]
    before, after = (step.get("test") for step in (steps[0], last))
    if before and after:
        for name, part, first, now in _pairs(before, after):
            cells = [f"{e['value']:.2f} [{e['low']:.2f}, {e['high']:.2f}]" for e in (first, now)]
            rows.append(f"| {name} | {part} | {cells[0]} | {cells[1]} | {now['chance']:.2f} |")
    table = "\n".join(rows)
    return f"""---
library_name: crossmatch
pipeline_tag: zero-shot-image-classification
tags: [crossmatch, cola]
---

# {shown["model"]} adapted by {settings.strategy}

- base model: `{shown["model"]}`; this folder holds the strategy's weights alone and names the base
- trained on the training scene graphs of `{shown["benchmark"]}`, mix {settings.mix}, seed {settings.seed}
- weights trained: {last["parameters"]["trained"]}
- source: Ray et al., Cola, sections 4 and 11

Test queries, 95 % bootstrap intervals over queries:

{table}

```json
{json.dumps(shown, indent=1, ensure_ascii=False)}
```
"""


def _pairs(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, str, Any, Any]]:
    found = [
        (name, part, before["retrieval"][name][part], now)
        for name, parts in after["retrieval"].items()
        for part, now in parts.items()
        if part in ("all", "seen", "unseen")
    ]
    found += [
        (n, "all", before[n], after[n]) for n in ("multi_object", "crepe") if n in after and n in before
    ]
    return found
