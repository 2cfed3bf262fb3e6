"""What `run_ttm` needs to go on, beside the model of a checkpoint: NPZ and safetensors, nothing in which can run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from core.base import files
from core.runs.resume import load_moments, save_moments

if TYPE_CHECKING:
    from core.ttm.loop import TTMState

_ADAPTER = "adapter.safetensors"
_STATE_PREFIX = "kept."  # before the names of `TTMState.kept`


def save_state(folder: Path, state: TTMState) -> None:
    """Write a state into the folder of a checkpoint."""
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
    """What `save_state` wrote, once the checkpoint is complete."""
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
