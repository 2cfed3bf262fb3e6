"""A tiny architecture among open_clip's, with both activation functions, and checkpoints of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from conftest import build_open_clip

TINY = "tiny-clip"  # and tiny-clip-quickgelu


def add_architecture(model: Path, folder: Path) -> None:
    """Teach open_clip the architecture of a model folder; written to `folder`, which has to stay."""
    import open_clip

    folder.mkdir(exist_ok=True)
    config = json.loads((model / "open_clip_config.json").read_text())["model_cfg"]
    (folder / f"{TINY}.json").write_text(json.dumps(config))
    (folder / f"{TINY}-quickgelu.json").write_text(json.dumps({**config, "quick_gelu": True}))
    open_clip.add_model_config(folder)


def write_checkpoint(path: Path, seed: int = 0) -> Path:
    """The weights of the tiny architecture as a safetensors file."""
    model = build_open_clip(path.with_name(f"{path.stem}-model"), seed)
    add_architecture(model, path.with_name("architectures"))
    shutil.copy(model / "open_clip_model.safetensors", path)
    return path
