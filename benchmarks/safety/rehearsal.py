"""Models and data of real size in the layouts that users have them in, with random weights: a rehearsal before them.

    python -m benchmarks.safety.rehearsal FOLDER [MODEL ...]

writes FOLDER/hub (a cache as `huggingface_hub` makes it: blobs, refs, snapshots; set HF_HUB_CACHE to it), where the
models are found by their names without a network, and FOLDER/data (set CROSSMATCH_DATA) with 400 groups of 500 px as
Winoground's Parquet, among them pictures as users have them: progressive, CMYK, turned by EXIF, grey, with a palette,
very large.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from benchmarks.safety.samples import winoground_rows
from core.scorers._random_weights import build

GROUPS, SIDE, LARGE = 400, 500, (6000, 4000)  # groups, pixels
COMMIT = "0123456789abcdef0123456789abcdef01234567"
WORDS = (
    *(
        "a",
        "the",
        "big",
        "small",
        "red",
        "blue",
        "green",
        "yellow",
        "dog",
        "cat",
        "man",
        "woman",
        "tree",
        "house",
    ),
    *("sits", "stands", "on", "under", "beside", "and", "runs"),
)
MODELS = (
    "openai/clip-vit-base-patch32",
    "openai/clip-vit-large-patch14",
    "google/siglip-base-patch16-224",
    "google/siglip2-base-patch16-224",
    "Salesforce/blip-itm-base-coco",
    "Salesforce/blip-itm-large-coco",
    "HuggingFaceTB/SmolVLM-256M-Instruct",
)


def main() -> None:
    """Write what is asked for, the data always."""
    folder, *names = sys.argv[1:]
    winoground(Path(folder) / "data" / "winoground")
    for name in names or MODELS:
        with TemporaryDirectory() as made:
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
        blob = hashlib.sha256(path.read_bytes()).hexdigest()
        shutil.move(path, folder / "blobs" / blob)
        (folder / "snapshots" / COMMIT / path.name).symlink_to(Path("../../blobs") / blob)


# Data


def winoground(folder: Path, groups: int = GROUPS, large: tuple[int, int] = LARGE) -> None:
    """Winoground's Parquet; captions are of few words, swapped within a group. `large` : pixels of one picture."""
    rng, first, rows = np.random.default_rng(0), winoground_rows()[0], []
    for i in range(groups):
        one, other = rng.permutation(WORDS[6:14])[:2]
        row = {
            **first,
            "id": i,
            "caption_0": f"a {one} sits on the {other}",
            "caption_1": f"a {other} sits on the {one}",
        }
        for j in range(2):
            row[f"image_{j}"] = {"bytes": picture(rng, 2 * i + j, large), "path": None}
        rows.append(row)
    (folder / "data").mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_parquet(folder / "data" / "test-00000-of-00001.parquet", row_group_size=100)


def picture(rng: np.random.Generator, number: int, large: tuple[int, int]) -> bytes:
    """A JPEG of smooth noise; of every forty some are as photographs on people's disks are."""
    kind = {0: "progressive", 1: "cmyk", 2: "turned", 3: "grey", 4: "palette", 5: "alpha", 6: "large"}.get(
        number % 40
    )
    width, height = (SIDE, int(rng.integers(300, SIDE + 1)))
    small = rng.integers(0, 256, size=(12, 16, 3), dtype=np.uint8)
    side = large if kind == "large" and number < 40 else (width, height)
    image, made = Image.fromarray(small).resize(side, Image.Resampling.BICUBIC), io.BytesIO()
    if kind in ("palette", "alpha"):
        (image.quantize(64) if kind == "palette" else image.convert("RGBA")).save(made, "PNG")
        return made.getvalue()
    more: dict[str, Any] = {"progressive": kind == "progressive"}
    if kind == "turned":
        exif = Image.Exif()
        exif[0x0112] = 6
        more["exif"] = exif
    image = image.convert({"cmyk": "CMYK", "grey": "L"}.get(str(kind), "RGB"))
    image.save(made, "JPEG", quality=90, **more)
    return made.getvalue()


if __name__ == "__main__":
    main()
