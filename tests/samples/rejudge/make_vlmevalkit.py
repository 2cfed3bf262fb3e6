"""VLMEvalKit's own judging of twelve answers: run where VLMEvalKit can be imported, not in the tests' environment.

    python make_vlmevalkit.py FOLDER

Its functions for sets of choices (`mcq_vanilla_eval`, `report_acc`, without a judge model) and its own way of writing
tables (`dump`), with answers of our own: one names no choice, one hides it in a sentence.
"""

import sys
from pathlib import Path

import pandas as pd
from vlmeval.dataset.utils.multiple_choice import mcq_vanilla_eval, report_acc
from vlmeval.smp import dump

ANSWERS = ["A", "B.", "A", "A", "(A)", "B", "The answer is B.", "A", "A", "B", "I cannot tell.", "B"]


def main(out: Path) -> None:
    for model, answers in {"tiny-vlm": ANSWERS, "always-a": ["A"] * 12}.items():
        folder = out / model
        folder.mkdir(parents=True, exist_ok=True)
        rows = [
            {
                "index": i,
                "question": "Which caption fits?",
                "A": f"a {first} above a {second}",
                "B": f"a {second} above a {first}",
                "answer": "AB"[i % 2],
            }
            for i in range(12)
            for first, second in [(f"ring {i // 2}", "star")]
        ]
        table = pd.DataFrame(rows)
        meta = table.copy()
        table["prediction"] = answers
        dump(table, str(folder / f"{model}_TinyPairs.tsv"))
        found = mcq_vanilla_eval(None, table, meta, 1, str(folder / "memory.pkl"), "TinyPairs")
        dump(found, str(folder / f"{model}_TinyPairs_exact_matching_result.tsv"))
        dump(report_acc(found), str(folder / f"{model}_TinyPairs_acc.csv"))
        (folder / "memory.pkl").unlink()


main(Path(sys.argv[1]))
