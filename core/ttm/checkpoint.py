"""Checkpoints of test-time matching: the model and what `run_ttm` needs besides, and the final model with its card."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.base import files
from core.runs.checkpoints import load_moments, publish_with, save_moments, write_checkpoint
from core.ttm.model_card import card

if TYPE_CHECKING:  # a queued worker waits without numpy and torch
    from core.ttm.loop import TTMState, TTMStep

_ADAPTER = "adapter.safetensors"
_STATE_PREFIX = "kept."  # before the names of `TTMState.kept`


def save_checkpoint(folder: Path, step: TTMStep, record: Mapping[str, Any]) -> Path:
    """Write `checkpoint-NNNN` into a run's folder, then drop every other one, whole or half."""
    return write_checkpoint(folder, record, step.model, lambda aside: _save_state(aside, step.state))


def _save_state(folder: Path, state: TTMState) -> None:
    """TTMState as NPZ and, for AdamW's moments, safetensors: no pickle, so nothing in a folder can run."""
    arrays = {"thresholds": state.thresholds, "scores": state.scores}
    if state.global_scores is not None:
        arrays["global_scores"] = state.global_scores
    arrays |= {_STATE_PREFIX + name: value for name, value in state.kept.items()}
    files.write_arrays(folder / "state.npz", arrays)
    if state.adapter is not None:
        from safetensors.torch import save_file

        save_file(state.adapter, folder / _ADAPTER)
    if state.optimizer is not None:
        save_moments(folder, state.optimizer)
        files.write_json(folder / "optimizer.json", state.optimizer["param_groups"])


def load_state(folder: Path) -> TTMState:
    """What `save_checkpoint` wrote beside the model."""
    import numpy as np

    from core.ttm.loop import TTMState  # torch

    optimizer, adapter = None, None
    if (folder / _ADAPTER).exists():
        from safetensors.torch import load_file

        adapter = load_file(folder / _ADAPTER)
    if (folder / "optimizer.json").exists():
        groups = json.loads((folder / "optimizer.json").read_text())
        optimizer = {"state": load_moments(folder), "param_groups": groups}
    iteration = json.loads((folder / files.MANIFEST).read_text())["iteration"]
    with np.load(folder / "state.npz", allow_pickle=False) as found:
        arrays = {name: found[name] for name in found.files}
    kept = {
        name.removeprefix(_STATE_PREFIX): arrays.pop(name)
        for name in list(arrays)
        if name.startswith(_STATE_PREFIX)
    }
    return TTMState(iteration, **arrays, optimizer=optimizer, adapter=adapter, kept=kept)


def publish_model(folder: Path, config: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]) -> Path:
    """Put the newest checkpoint's model, with a card and a manifest, at `model` in the run's folder."""
    return publish_with(folder, config, lambda model: card(config, steps, _library(model)))


def _library(folder: Path) -> str:
    """What loads a model folder without Crossmatch; Crossmatch where nothing does."""
    if (folder / "open_clip_config.json").is_file():
        return "open_clip"
    known = ("processor_config.json", "preprocessor_config.json")
    return "transformers" if any((folder / name).is_file() for name in known) else "crossmatch"
