"""Inspect's own logs with its `mockllm`: run in an environment with `inspect-ai`, not in the tests'.

    python make_inspect.py FOLDER

Twelve questions of two captions each about a picture (none is needed: the mock model does not look), answered by
letters; one answer names no letter.
"""

import sys

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice


def tiny_pairs() -> Task:
    samples = [
        Sample(
            id=f"g{i // 2}-{i % 2}",
            input="Which caption describes the picture?",
            choices=["a red circle above a blue square", "a blue square above a red circle"],
            target="AB"[i % 2],
            metadata={"group": f"g{i // 2}"},
        )
        for i in range(12)
    ]
    return Task(dataset=MemoryDataset(samples), solver=multiple_choice(), scorer=choice(), name="tiny_pairs")


def main(out: str) -> None:
    answers = {
        "stops-early": ["ANSWER: A"] * 4,
        "always-a": ["ANSWER: A"] * 12,
        "some": [f"ANSWER: {letter}" for letter in "ABABABABAAB"] + ["I cannot tell."],
    }
    for name, texts in answers.items():
        outputs = [ModelOutput.from_content("mockllm/" + name, text) for text in texts]
        for output in outputs:
            output.usage = ModelUsage()  # or Inspect downloads a tokenizer to count
        for log_format, limit in (("eval", None), ("json", 2)):  # the other format has everything in full
            if log_format == "json" and name != "some":
                continue
            model = get_model("mockllm/" + name, custom_outputs=outputs)
            eval(
                tiny_pairs(),
                model=model,
                log_dir=f"{out}/{name}",
                log_format=log_format,
                limit=limit,
                max_samples=1,
                max_connections=1,
                display="none",
            )


main(sys.argv[1])
