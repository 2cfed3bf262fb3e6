"""lmms-eval's own logs of a tiny random LLaVA: run in an environment with `lmms-eval`, not in the tests'.

    python make_lmms_eval.py FOLDER

Its command line with `llava_hf` on three tasks of twelve questions, six groups of two pictures with the same two
captions: choices by likelihood, the same with pictures of noise (a language prior), and answers in words. Since 0.7
lmms-eval turns a likelihood into text (`unwrap_generation_output`) and ends with an error in every task of choices by
likelihood: run it with 0.6.1, too, which makes all three. `llava_hf` finds likelihoods with transformers 4 alone.
"""

import json
import os
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import torch
import yaml
from lmms_eval.__main__ import cli_evaluate
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    CLIPImageProcessor,
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)

COLOURS, SHAPES = ("red", "blue", "green", "white"), ("circle", "square", "star", "ring")
WORDS = ["a", "above", "below", "USER", "ASSISTANT", "Answer", "A", "B", ":", ".", *COLOURS, *SHAPES]
TASKS = ("tiny_pairs", "tiny_pairs_noise", "tiny_words")

# Task files name functions of a file beside them: the picture of a question is drawn, and nothing is loaded.
FUNCTIONS = """
import numpy as np
from PIL import Image

COLOURS = {"red": (255, 0, 0), "blue": (0, 0, 255), "green": (0, 160, 0), "white": (255, 255, 255)}


def picture(doc):
    image = np.zeros((16, 16, 3), dtype=np.uint8)
    image[:8], image[8:] = COLOURS[doc["above"]], COLOURS[doc["below"]]
    return [Image.fromarray(image)]


def noise(doc):
    return [Image.fromarray(np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8))]
"""


def tiny_llava(folder: Path, seed: int) -> None:
    torch.manual_seed(seed)
    special = ["<pad>", "</s>", "<image>"]
    vocabulary = {word: i for i, word in enumerate([*special, *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        additional_special_tokens=["<image>"],
        model_input_names=["input_ids", "attention_mask"],
    )
    size = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    text = LlamaConfig(**size, vocab_size=len(vocabulary), pad_token_id=0, bos_token_id=1, eos_token_id=1)
    vision = CLIPVisionConfig(**size, image_size=16, patch_size=8)
    model = LlavaForConditionalGeneration(
        LlavaConfig(vision_config=vision, text_config=text, image_token_index=vocabulary["<image>"])
    )
    for weight in model.parameters():  # so small at first that it would answer every question alike
        torch.nn.init.normal_(weight)
    head = model.lm_head.weight.data
    head[vocabulary["A"]] *= 8  # its answers are to be letters, one or the other
    head[vocabulary["B"]] = -head[vocabulary["A"]]
    model.save_pretrained(folder)
    images = CLIPImageProcessor(size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16})
    LlavaProcessor(
        images,
        fast,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
    ).save_pretrained(folder)


def questions() -> list[dict]:
    """Two pictures with the same two captions are a group, as in Winoground."""
    rows = []
    for i in range(6):
        colours = COLOURS[i % 4], COLOURS[(i + 1 + i // 4) % 4]
        captions = [f"a {c} {SHAPES[i % 4]} above a {d} {SHAPES[i % 4]}" for c, d in (colours, colours[::-1])]
        for label in (0, 1):
            above, below = colours if label == 0 else colours[::-1]
            rows.append(
                {"scene": f"g{i}", "above": above, "below": below, "choices": captions, "label": label}
            )
    return rows


def write_tasks(work: Path) -> None:
    (work / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in questions()))
    (work / "functions.py").write_text(FUNCTIONS)
    common = {
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(work / "pairs.jsonl")}},
        "test_split": "test",
        "doc_to_visual": "PICTURE",
        "metadata": {"version": 1.0},
    }
    pairs = common | {
        "output_type": "multiple_choice",
        "doc_to_text": "Answer :",
        "doc_to_choice": "choices",
        "doc_to_target": "label",
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
    }
    words = common | {
        "output_type": "generate_until",
        "doc_to_text": "A : {{choices[0]}} . B : {{choices[1]}} . Answer :",
        "doc_to_target": "{{['A', 'B'][label]}}",
        "generation_kwargs": {"until": ["."], "max_new_tokens": 1},
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    }
    for name, task in zip(TASKS, (pairs, pairs, words), strict=True):
        text = yaml.safe_dump({"task": name, **task})
        function = "noise" if name.endswith("noise") else "picture"
        (work / f"{name}.yaml").write_text(text.replace("PICTURE", f"!function functions.{function}"))


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    os.chdir(out)  # lmms-eval writes the paths that it was given into its results
    work = Path("work")
    work.mkdir()
    write_tasks(work)
    tasks = TASKS if version("lmms-eval").startswith("0.6") else TASKS[2:]
    for seed in (0, 1):
        tiny_llava(work / f"random-llava-{seed}", seed)
        sys.argv = [
            "lmms_eval",
            "--model",
            "llava_hf",
            "--force_simple",
            "--log_samples",
            "--output_path",
            ".",
        ]
        sys.argv += [
            "--model_args",
            f"pretrained={work}/random-llava-{seed},device=cpu,device_map=cpu,dtype=float32",
        ]
        sys.argv += ["--tasks", ",".join(tasks), "--include_path", str(work), "--timezone", "UTC"]
        cli_evaluate()
    shutil.rmtree(work)


main(Path(sys.argv[1]))
