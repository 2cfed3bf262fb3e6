"""VLMEvalKit's tables of predictions, and of results with `hit` and `log`.

Source: `vlmeval/dataset/image_mcq.py` and `vlmeval/dataset/utils/multiple_choice.py` of open-compass/VLMEvalKit
e8e78f05: columns `index`, `question`, the choices `A`, `B`, ..., `answer`, `prediction`, after judging `hit` and `log`.
An answer from which no choice can be read is drawn at random there where a judge model fails too; its `log` says so.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.base.text import counted
from core.rejudge._answers import answers, choice_of
from core.rejudge._submission import NO_ANSWER, VLM_EVAL_KIT, Submission

_COLUMNS = ("index", "answer", "prediction")
_DRAWN = "randomly generate"
_JUDGED = re.compile(r"_acc$|_(?:exact_matching|openai|gpt4|chatgpt-0125|gpt-4-0125)_result$")


def is_table(columns: Any) -> bool:
    """Whether a table's columns are those of VLMEvalKit."""
    return {*_COLUMNS} <= {str(name) for name in columns}


def read_table(path: Path, table: pd.DataFrame) -> Submission:
    """A table of questions with choices, or of yes and no."""
    letters = [c for c in map(str, table.columns) if len(c) == 1 and c.isupper()]
    rows = table.to_dict("records")
    labels = [[c for c in letters if _text(row[c])] or ["Yes", "No"] for row in rows]
    own = [choice_of(row["answer"], each) for row, each in zip(rows, labels, strict=True)]
    wrong = next((i for i, number in enumerate(own) if number < 0), None)
    if wrong is not None:
        raise InputError(
            f"{path}: item {rows[wrong]['index']!r} has the answer {_text(rows[wrong]['answer'])[:60]!r}, which is "
            f"none of {', '.join(labels[wrong])}; give the table of a set of choices."
        )
    chosen = [choice_of(row["prediction"], each) for row, each in zip(rows, labels, strict=True)]
    reported, findings = {}, []
    if "hit" in table:
        hits = [_text(row["hit"]) in ("1", "1.0", "True") for row in rows]
        reported["hit"] = 100 * sum(hits) / len(hits)
        drawn = [i for i, row in enumerate(rows) if _DRAWN in _text(row.get("log"))]
        if drawn:
            lucky = sum(hits[i] for i in drawn)
            findings.append(
                f"VLMEvalKit drew {counted(len(drawn), 'answer')} at random because it could read no choice, and "
                f"counted {lucky} of them right; here they are no answers."
            )
        for i, hit in enumerate(hits):
            if i not in drawn:  # the judge read a choice where letters alone do not tell it
                chosen[i] = own[i] if hit else NO_ANSWER if chosen[i] == own[i] else chosen[i]
    keys = [(row.get("question"), *(_text(row[c]) for c in letters)) for row in rows] if letters else None
    return Submission(
        path,
        VLM_EVAL_KIT,
        *_names(path),
        answers=answers(
            path,
            [_text(row["index"]) for row in rows],
            chosen,
            own,
            [len(each) for each in labels],
            [_text(row["group"]) for row in rows] if "group" in table else None,
            keys,
        ),
        reported=reported,
        findings=tuple(findings),
    )


def is_accuracy(columns: Any) -> bool:
    """Whether a table's columns are those of `MODEL_SET_acc.csv`."""
    return "Overall" in columns and "split" in columns


def read_accuracy(path: Path, table: pd.DataFrame) -> Submission:
    """The accuracy that VLMEvalKit reports of a set."""
    if len(table) != 1:
        raise InputError(
            f"{path} has the accuracies of {len(table)} splits; give the table of answers of one."
        )
    value = 100 * float(table["Overall"].iloc[0])
    return Submission(path, VLM_EVAL_KIT, *_names(path), reported={"Overall": value})


def _names(path: Path) -> tuple[str, str]:
    """Model and set of `MODEL/MODEL_SET.tsv`; of other names the file's."""
    plain = _JUDGED.sub("", path.stem)
    model = path.parent.name
    found = plain.startswith(f"{model}_") and bool(model)
    return (model, plain[len(model) + 1 :]) if found else (plain, "")


def _text(value: object) -> str:
    """A cell as text; "" where it is missing."""
    return "" if value is None or value != value else str(value)
