"""Models and data of real size in the layouts that users have them in, with random weights: a rehearsal before them.

    python -m benchmarks.safety.rehearsal FOLDER [MODEL or SET ...]

writes FOLDER/hub (a cache as `huggingface_hub` makes it: blobs, refs, snapshots; set HF_HUB_CACHE to it), where the
models are found by their names without a network, and FOLDER/data (set CROSSMATCH_DATA) with benchmarks in upstream's
layouts (`rehearsal_data`), among their pictures such as users have (`rehearsal_pictures`).
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.safety.rehearsal_data import WORDS, WRITTEN, write_all
from core.scorers._random_weights import build

COMMIT = "0123456789abcdef0123456789abcdef01234567"
MODELS = (
    "openai/clip-vit-base-patch32",
    "openai/clip-vit-large-patch14",
    "google/siglip-base-patch16-224",
    "google/siglip-large-patch16-256",
    "google/siglip2-base-patch16-224",
    "Salesforce/blip-itm-base-coco",
    "Salesforce/blip-itm-large-coco",
    "Salesforce/blip2-itm-vit-g",
    "HuggingFaceTB/SmolVLM-256M-Instruct",
    "HuggingFaceTB/SmolVLM-500M-Instruct",
    "Qwen/Qwen2-VL-2B-Instruct",
)


def main() -> None:
    """Write what is asked for; everything where nothing is."""
    folder, *names = sys.argv[1:]
    sets = [name for name in names if name in WRITTEN]
    models = [name for name in names if name not in WRITTEN]
    if sets or not names:
        write_all(Path(folder) / "data", sets)
    for name in models if names else MODELS:
        with TemporaryDirectory(dir=folder) as made:
            build(name, Path(made), WORDS)
            into_cache(Path(made), name, Path(folder) / "hub")
        print(name, flush=True)


def into_cache(made: Path, name: str, hub: Path) -> None:
    """Move a model's files into a hub cache: contents by their hashes, names as links to them."""
    folder = hub / f"models--{name.replace('/', '--')}"
    shutil.rmtree(folder, ignore_errors=True)
    for part in ("blobs", "refs", f"snapshots/{COMMIT}"):
        (folder / part).mkdir(parents=True)
    (folder / "refs" / "main").write_text(COMMIT)
    for path in sorted(made.iterdir()):
        with path.open("rb") as file:
            blob = hashlib.file_digest(file, "sha256").hexdigest()
        shutil.move(path, folder / "blobs" / blob)
        (folder / "snapshots" / COMMIT / path.name).symlink_to(Path("../../blobs") / blob)


if __name__ == "__main__":
    main()
