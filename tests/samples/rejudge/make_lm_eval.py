"""lm-eval's own logs of a tiny random language model: run in an environment with `lm-eval[hf]`, not in the tests'.

    python make_lm_eval.py FOLDER

Three tasks on the same twelve questions: choices by likelihood, the same with the likelihoods without context
(`acc_mutual_info`), and answers in words. The model is saved to disk and run by `lm_eval.simple_evaluate`.
"""

import json
import os
import sys
from pathlib import Path

import lm_eval
import torch
import yaml
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

COLOURS, SHAPES = ("red", "blue", "green", "white"), ("circle", "square", "star", "ring")
WORDS = ["a", "above", "below", "Picture", "Answer", "A", "B", ":", ".", *COLOURS, *SHAPES]


def tiny_model(folder: Path, seed: int) -> Path:
    torch.manual_seed(seed)
    vocabulary = {word: i for i, word in enumerate(["<pad>", "<end>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<end>", bos_token="<end>"
    )
    config = GPT2Config(
        vocab_size=len(vocabulary),
        n_positions=64,
        n_embd=16,
        n_layer=1,
        n_head=2,
        bos_token_id=1,
        eos_token_id=1,
    )
    model = GPT2LMHeadModel(config)
    for weight in model.parameters():  # GPT-2 begins so small that it would answer every question alike
        torch.nn.init.normal_(weight, std=0.5)
    letters = [vocabulary["A"], vocabulary["B"]]
    model.transformer.wte.weight.data[letters] *= 4  # it is to answer with a letter now and then
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def questions() -> list[dict]:
    """Two pictures (described in words) with the same two captions are a group, as in Winoground."""
    rows = []
    for i in range(6):
        first, second = f"{COLOURS[i % 4]} {SHAPES[i % 3]}", f"{COLOURS[(i + 1) % 4]} {SHAPES[3 - i % 3]}"
        captions = [f"a {first} above a {second}", f"a {second} above a {first}"]
        for label in (0, 1):
            picture = (
                f"Picture : a {second if label == 0 else first} below a {first if label == 0 else second} ."
            )
            rows.append({"scene": f"g{i}", "picture": picture, "choices": captions, "label": label})
    return rows


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    os.chdir(out)  # lm-eval writes the paths that it was given into its results
    work, out = Path("work"), Path()
    work.mkdir()
    (work / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in questions()))
    common = {
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(work / "pairs.jsonl")}},
        "test_split": "test",
        "metadata": {"version": 1.0},
    }
    by_likelihood = common | {
        "output_type": "multiple_choice",
        "doc_to_text": "{{picture}}",
        "doc_to_choice": "choices",
        "doc_to_target": "label",
    }
    tasks = {
        "tiny_pairs": by_likelihood | {"metric_list": [{"metric": "acc"}]},
        "tiny_pairs_prior": by_likelihood
        | {"metric_list": [{"metric": "acc"}, {"metric": "acc_mutual_info"}]},
        "tiny_words": common
        | {
            "output_type": "generate_until",
            "doc_to_text": "{{picture}} A : {{choices[0]}} . B : {{choices[1]}} . Answer :",
            "doc_to_target": "{{['A', 'B'][label]}}",
            "generation_kwargs": {"until": ["."], "max_gen_toks": 4},
            "filter_list": [
                {
                    "name": "letter",
                    "filter": [
                        {"function": "regex", "regex_pattern": "\\b([AB])\\b"},
                        {"function": "take_first"},
                    ],
                }
            ],
            "metric_list": [{"metric": "exact_match"}],
        },
    }
    for name, task in tasks.items():
        (work / f"{name}.yaml").write_text(yaml.safe_dump({"task": name, **task}))
    for seed in (0, 1):
        folder = tiny_model(work / f"random-gpt-{seed}", seed)
        tracker = EvaluationTracker(output_path=str(out / f"random-gpt-{seed}"))
        found = lm_eval.simple_evaluate(
            model="hf",
            model_args=f"pretrained={folder},dtype=float32",
            tasks=list(tasks),
            task_manager=TaskManager(include_path=str(work)),
            batch_size=4,
            device="cpu",
            log_samples=True,
            evaluation_tracker=tracker,
            bootstrap_iters=0,
        )
        samples = found.pop("samples")
        tracker.save_results_aggregated(found, samples)
        for name in tasks:
            tracker.save_results_samples(name, samples[name])


main(Path(sys.argv[1]))
