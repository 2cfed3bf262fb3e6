"""CLIP_benchmark's own results for a tiny random model: run in an environment with `clip-benchmark`, not in the tests'.

    python make_clip_benchmark.py FOLDER

Its command line on SugarCrepe's layout, with twelve pictures and captions of our own in place of COCO's.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
import open_clip
import torch
from clip_benchmark import cli
from PIL import Image

CONFIG = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
}


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    os.chdir(out)
    Path("data/val2017").mkdir(parents=True, exist_ok=True)
    Path("tiny-random.json").write_text(json.dumps(CONFIG))
    open_clip.add_model_config("tiny-random.json")
    rng, rows = np.random.default_rng(0), {}
    for i in range(12):
        Image.fromarray(rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)).save(f"data/val2017/{i}.jpg")
        first, second = rng.permutation(["red circle", "blue square", "green star", "white ring"])[:2]
        captions = [f"a {first} above a {second}", f"a {second} above a {first}"]
        rows[i] = {"filename": f"{i}.jpg", "caption": captions[0], "negative_caption": captions[1]}
    Path("data/swap_obj.json").write_text(json.dumps(rows))
    torch.manual_seed(0)
    options = (
        "--dataset sugar_crepe/swap_obj --dataset_root data --model tiny-random --task image_caption_selection "
        "--batch_size 4 --num_workers 0 --no_amp --output result.json"
    )
    sys.argv = ["clip_benchmark", "eval", *options.split(), "--pretrained", ""]
    cli.main()


main(Path(sys.argv[1]))
