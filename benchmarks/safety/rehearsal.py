"""Models and data of real size in the layouts that users have them in, with random weights: a rehearsal before them.

    python -m benchmarks.safety.rehearsal FOLDER [MODEL ...]

writes FOLDER/hub (a cache as `huggingface_hub` makes it: blobs, refs, snapshots; set HF_HUB_CACHE to it), where the
models are found by their names without a network, and FOLDER/data (set CROSSMATCH_DATA) with 400 groups of 500 px as
Winoground's Parquet, among them pictures as users have them: progressive, CMYK, turned by EXIF, grey, with a palette,
very large.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from benchmarks.safety.samples import winoground_rows

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


def main() -> None:
    """Write what is asked for, the data always."""
    folder, *names = sys.argv[1:]
    winoground(Path(folder) / "data" / "winoground")
    for name in names or MODELS:
        with TemporaryDirectory() as made:
            MODELS[name](Path(made))
            into_cache(Path(made), name, Path(folder) / "hub")
        print(name, flush=True)


# Models


def clip(vision: dict[str, Any], text: dict[str, Any], projection: int) -> Callable[[Path], None]:
    """A CLIP of transformers, with the vocabulary of all CLIP models (open_clip carries it)."""

    def build(folder: Path) -> None:
        import torch
        from open_clip.tokenizer import default_bpe
        from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPProcessor, CLIPTokenizer

        merges = (
            gzip.decompress(Path(default_bpe()).read_bytes()).decode().split("\n")[1 : 49152 - 256 - 2 + 1]
        )
        pieces = [*byte_letters(), *(f"{letter}</w>" for letter in byte_letters())]
        pieces += ["".join(merge.split()) for merge in merges] + ["<|startoftext|>", "<|endoftext|>"]
        (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}))
        (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]) + "\n")
        tokenizer = CLIPTokenizer.from_pretrained(folder, model_max_length=77)
        side = vision.get("image_size", 224)
        reader = CLIPImageProcessor(size={"shortest_edge": side}, crop_size={"height": side, "width": side})
        torch.manual_seed(0)
        config = CLIPConfig(vision_config=vision, text_config=text, projection_dim=projection)
        CLIPModel(config).save_pretrained(folder, max_shard_size="500MB")
        CLIPProcessor(reader, tokenizer).save_pretrained(folder)

    return build


def byte_letters() -> list[str]:
    """The letter of each byte, in the order of the vocabulary (GPT-2's table, as OpenAI wrote it)."""
    own = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    rest = [byte for byte in range(256) if byte not in own]
    return [chr(byte) for byte in own] + [chr(256 + i) for i in range(len(rest))]


def siglip(vision: dict[str, Any]) -> Callable[[Path], None]:
    """A SigLIP of transformers, with a sentencepiece vocabulary of 32,000 entries."""

    def build(folder: Path) -> None:
        import torch
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
        from transformers import (
            PreTrainedTokenizerFast,
            SiglipConfig,
            SiglipImageProcessor,
            SiglipModel,
            SiglipProcessor,
        )

        pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
        pieces += (
            [(f"▁{word}", -5.0) for word in WORDS] + [(chr(i), -9.0) for i in range(33, 127)] + [("▁", -7.0)]
        )
        pieces += [(f"<extra_{i}>", -20.0) for i in range(32_000 - len(pieces))]
        words = Tokenizer(models.Unigram(pieces, unk_id=2))
        words.normalizer = normalizers.Lowercase()
        words.pre_tokenizer = pre_tokenizers.Metaspace()
        words.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=words, eos_token="</s>", pad_token="</s>", unk_token="<unk>", model_max_length=64
        )
        side = vision.get("image_size", 224)
        torch.manual_seed(0)
        SiglipModel(SiglipConfig(vision_config=vision)).save_pretrained(folder, max_shard_size="500MB")
        reader = SiglipImageProcessor(size={"height": side, "width": side})
        SiglipProcessor(reader, tokenizer).save_pretrained(folder)

    return build


def blip_itm(vision: dict[str, Any]) -> Callable[[Path], None]:
    """A BLIP with a matching head, with BERT's kind of vocabulary."""

    def build(folder: Path) -> None:
        import torch
        from transformers import (
            BertTokenizer,
            BlipConfig,
            BlipForImageTextRetrieval,
            BlipImageProcessor,
            BlipProcessor,
        )

        pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *map(chr, range(97, 123))]
        pieces += [f"##{chr(i)}" for i in range(97, 123)]
        pieces += [f"[unused{i}]" for i in range(30_524 - 2 - len(pieces))]
        (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
        tokenizer = BertTokenizer.from_pretrained(folder)
        tokenizer.add_special_tokens({"bos_token": "[DEC]"})
        torch.manual_seed(0)
        side = vision.get("image_size", 384)
        config = BlipConfig(
            vision_config=vision, text_config={"encoder_hidden_size": vision.get("hidden_size", 768)}
        )
        BlipForImageTextRetrieval(config).save_pretrained(folder, max_shard_size="500MB")
        BlipProcessor(BlipImageProcessor(size={"height": side, "width": side}), tokenizer).save_pretrained(
            folder
        )

    return build


_LARGE = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}
MODELS = {
    "openai/clip-vit-base-patch32": clip({}, {}, 512),
    "openai/clip-vit-large-patch14": clip(
        {**_LARGE, "patch_size": 14, "projection_dim": 768},
        {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12, "projection_dim": 768},
        768,
    ),
    "google/siglip-base-patch16-224": siglip({}),
    "Salesforce/blip-itm-base-coco": blip_itm({"image_size": 384}),
    "Salesforce/blip-itm-large-coco": blip_itm({**_LARGE, "image_size": 384}),
}


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
