"""MTEB's own results for tiny random models on tiny sets: run in an environment with `mteb[image]`, not in the tests'.

    python make_mteb.py FOLDER

MTEB does the measuring: `mteb.evaluate` with `prediction_folder`, on tasks of its own class for compositionality.
"""

import shutil
import sys
from pathlib import Path

import mteb
import numpy as np
import torch
from datasets import Dataset, DatasetDict, Image
from mteb.abstasks.image.image_text_pair_classification import AbsTaskImageTextPairClassification
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.cache import ResultCache
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_implementations.clip_models import CLIPModel
from mteb.models.model_meta import ModelMeta
from PIL import Image as Pictures
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import CLIPConfig, CLIPImageProcessor, CLIPProcessor, PreTrainedTokenizerFast
from transformers import CLIPModel as RandomClip

COLOURS, SHAPES = ("red", "blue", "green", "white"), ("circle", "square", "star", "ring")
WORDS = ["a", "above", "below", *COLOURS, *SHAPES]
N = 12


def tiny_clip(folder: Path, seed: int) -> Path:
    """A CLIP with random weights."""
    torch.manual_seed(seed)
    vocabulary = {word: i for i, word in enumerate(["<pad>", *WORDS, "<end>"])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A <end>", special_tokens=[("<end>", vocabulary["<end>"])]
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<end>")
    size = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    text = dict(
        **size, vocab_size=len(vocabulary), max_position_embeddings=16, eos_token_id=len(vocabulary) - 1
    )
    text |= {"bos_token_id": 0, "pad_token_id": 0}
    vision = dict(**size, image_size=16, patch_size=8)
    model = RandomClip(CLIPConfig(text_config=text, vision_config=vision, projection_dim=8))
    for weight in model.parameters():  # CLIP begins so small that every sentence would be embedded alike
        torch.nn.init.normal_(weight, std=0.5)
    model.save_pretrained(folder)
    images = CLIPImageProcessor(size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16})
    CLIPProcessor(images, fast).save_pretrained(folder)
    return folder


class Constant(AbsEncoder):
    """Every picture and every caption has the same embedding: it knows nothing."""

    def __init__(self, *_args, **_kwargs):
        pass

    def encode(self, inputs, **_kwargs):
        return np.ones((len(inputs.dataset), 4), dtype=np.float32)


def about(name: str, main_score: str) -> TaskMetadata:
    return TaskMetadata(
        name=name,
        description="Coloured shapes.",
        reference=None,
        dataset={"path": "local/" + name, "revision": "1"},
        type="Compositionality",
        category="i2t",
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score=main_score,
        date=("2026-11-22", "2026-11-22"),
        domains=["Constructed"],
        task_subtypes=["Caption Pairing"],
        license="cc0-1.0",
        annotations_creators="derived",
        dialect=[],
        modalities=["text", "image"],
        sample_creation="created",
        bibtex_citation="",
    )


def picture(rng) -> Pictures.Image:
    return Pictures.fromarray(rng.integers(0, 256, (16, 16, 3), dtype=np.uint8))


def two_by_two() -> Dataset:
    """Groups as Winoground's: the words of one caption in another order in the other."""
    rng, rows = np.random.default_rng(0), []
    for _ in range(N):
        (c1, c2), (s1, s2) = rng.choice(COLOURS, 2, replace=False), rng.choice(SHAPES, 2, replace=False)
        first, second = rng.permutation(["above", "below"])
        rows.append(
            {
                "image_0": picture(rng),
                "image_1": picture(rng),
                "caption_0": f"a {c1} {s1} {first} a {c2} {s2}",
                "caption_1": f"a {c2} {s2} {second} a {c1} {s1}",
            }
        )
    return Dataset.from_list(rows).cast_column("image_0", Image()).cast_column("image_1", Image())


def one_by_two() -> Dataset:
    """Groups as SugarCrepe's: a picture, its caption, a false one."""
    table = two_by_two()
    columns = {"image_0": "images", "caption_0": "caption", "caption_1": "negative_caption"}
    return table.select_columns(list(columns)).rename_columns(columns)


class TinyWinoground(AbsTaskImageTextPairClassification):
    images_column_names = ("image_0", "image_1")
    texts_column_names = ("caption_0", "caption_1")
    metadata = about("TinyWinoground", "accuracy")
    rows = staticmethod(two_by_two)

    def load_data(self, num_proc=None, **_kwargs):
        self.dataset, self.data_loaded = DatasetDict({"test": self.rows()}), True


class TinySugarCrepe(TinyWinoground):
    images_column_names = ("images",)
    texts_column_names = ("caption", "negative_caption")
    metadata = about("TinySugarCrepe", "text_acc")
    rows = staticmethod(one_by_two)


def meta(name: str) -> ModelMeta:
    return ModelMeta.create_empty({"name": name, "revision": "1", "modalities": ["image", "text"]})


def main(out: Path) -> None:
    work = out / "work"
    systems = {}
    for seed in (0, 1):
        folder = tiny_clip(work / f"clip-{seed}", seed)
        systems[f"random-clip-{seed}"] = CLIPModel(str(folder), revision=None, device="cpu")
    systems["constant"] = Constant()
    for name, system in systems.items():
        system.mteb_model_meta = meta(f"tiny/{name}")
        for task in (TinyWinoground(), TinySugarCrepe()):
            cache = ResultCache(work / "cache")
            mteb.evaluate(
                system,
                task,
                cache=cache,
                overwrite_strategy="always",
                prediction_folder=out / name,
                encode_kwargs={"batch_size": 8},
                co2_tracker=False,
            )
    for found in (work / "cache").rglob("Tiny*.json"):
        system = next(name for name in systems if name in str(found))
        shutil.copy(found, out / system / found.name)


main(Path(sys.argv[1]))
