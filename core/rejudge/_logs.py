"""lm-eval and lmms-eval: sample logs, and the results beside them.

Source: `lm_eval/loggers/evaluation_tracker.py` of EleutherAI/lm-evaluation-harness 0.4.13, and of lmms-eval 0.6.1 and
0.7.3. Logs of likelihoods are scores (`core.datasets.score_files`); of generated answers the first filter's is taken.
lmms-eval leaves the documents out of its logs: there the questions asked in the same words (`input`) are one group,
where each has another answer. What it calls its version is a commit.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

from core.base.errors import InputError
from core.base.table_formats import open_table
from core.datasets.score_files import read_scores
from core.rejudge._answers import answers, choice_of
from core.rejudge._submission import LM_EVAL, LMMS_EVAL, READ_VERSIONS, Submission, check_version

_NAME = re.compile(r"(?:\d{8}_\d{6}_)?samples_(.+?)(?:_\d{4}-\d\d-\d\dT[\d.-]+)?")
_LABELS = (["yes", "no"], ["true", "false"])


def is_log(cells: dict[str, Any]) -> bool:
    """Whether an object of JSON lines is a document of a sample log."""
    return "doc_id" in cells and not cells.keys().isdisjoint({"filtered_resps", "resps"})


def read_log(path: Path, content: bytes) -> Submission:
    """A sample log, of likelihoods or of answers."""
    row = next(open_table(path, content).sound_rows())
    found = _NAME.fullmatch(path.stem)
    task, tool = found[1] if found else path.stem, LM_EVAL if "arguments" in row.cells else LMMS_EVAL
    first = _first(row.cells)
    if isinstance(first, list):
        return Submission(path, tool, "", task, read_scores(path, content), contents=_contents(path, content))
    return Submission(
        path, tool, "", task, answers=_answers(path, content), contents=_contents(path, content)
    )


def _contents(path: Path, content: bytes) -> dict[str, Hashable]:
    """Document -> its hash by the tool, with the right answer: where a log leaves documents out, all hashes are one."""
    rows = (row.cells for row in open_table(path, content).sound_rows())
    return {
        str(cells["doc_id"]): (cells["doc_hash"], str(cells.get("target")))
        for cells in rows
        if isinstance(cells.get("doc_hash"), str)
    }


def _first(cells: dict[str, Any]) -> Any:
    found = cells.get("filtered_resps", cells.get("resps"))
    return found[0] if isinstance(found, list) and found else found


def _answers(path: Path, content: bytes) -> Any:
    rows = list(open_table(path, content).sound_rows())
    filtered = str(rows[0].cells.get("filter"))
    rows = [row for row in rows if str(row.cells.get("filter")) == filtered]
    targets = [str(row.cells.get("target")) for row in rows]
    fields = [doc if isinstance(doc := row.cells.get("doc"), dict) else {} for row in rows]
    labels = _labels(path, targets, fields)
    own = [choice_of(target, each) for target, each in zip(targets, labels, strict=True)]
    wrong = next((i for i, number in enumerate(own) if number < 0), None)
    if wrong is not None:
        raise InputError(
            f"{path}: line {rows[wrong].number} has the target {targets[wrong][:60]!r}, which is no choice; log a task "
            "whose targets are letters, or yes and no."
        )
    return answers(
        path,
        [str(row.cells["doc_id"]) for row in rows],
        [choice_of(_first(row.cells), each) for row, each in zip(rows, labels, strict=True)],
        own,
        [len(each) for each in labels],
        [str(doc["group"]) for doc in fields] if all("group" in doc for doc in fields) else None,
        [tuple(map(str, doc["choices"])) for doc in fields]
        if all(_choices(doc) for doc in fields)
        else _questions([row.cells for row in rows]),
    )


def _questions(rows: list[dict[str, Any]]) -> list[str] | None:
    """Every question in words, as lmms-eval logs it; None where a log lacks one."""
    asked = [row.get("input") for row in rows]
    return [str(text) for text in asked] if all(isinstance(text, str) and text for text in asked) else None


def _choices(doc: dict[str, Any]) -> int:
    """How many choices a document lists; 0 where it lists none."""
    found = doc.get("choices")
    return len(found) if isinstance(found, list) else 0


def _labels(path: Path, targets: list[str], fields: list[dict[str, Any]]) -> list[list[str]]:
    """What each question may be answered with: letters of its listed choices, yes and no, or the letters that occur."""
    letters = [chr(ord("A") + i) for i in range(26)]
    for labels in _LABELS:
        if all(choice_of(target, labels) >= 0 for target in targets):
            return [labels] * len(targets)
    seen = {choice_of(target, letters) for target in targets}
    if -1 in seen:
        raise InputError(
            f"{path} logs answers in free text, which have no choices to judge; log a task of choices: "
            "multiple_choice, letters, or yes and no."
        )
    return [letters[: max(_choices(doc), max(seen) + 1, 2)] for doc in fields]


def is_result(value: Any) -> bool:
    """Whether a JSON value is a file of results of lm-eval or lmms-eval."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("results"), dict)
        and not value.keys().isdisjoint({"n-shot", "versions"})
    )


def read_result(path: Path, value: dict[str, Any]) -> Iterator[Submission]:
    """One submission of numbers alone per task."""
    if "n-shot" not in value:
        raise InputError(
            f"{path} is of {LM_EVAL} 0.3 or older; {READ_VERSIONS[LM_EVAL][0]} is read here: write it again with such "
            "a version, or give scores as CSV."
        )
    tool, version = (LM_EVAL, value["lm_eval_version"]) if "lm_eval_version" in value else (LMMS_EVAL, "")
    check_version(path, tool, version or value.get("lmms_eval_version", ""))
    for task, found in value["results"].items():
        reported = {
            name.removesuffix(",none"): 100 * float(number)
            for name, number in found.items()
            if isinstance(number, float | int) and "," in name and "stderr" not in name and 0 <= number <= 1
        }
        count = found.get("sample_len", value.get("n-samples", {}).get(task, {}).get("effective"))
        model = str(value.get("model_name") or "")
        if reported:
            yield Submission(path, tool, model, task, reported=reported, count=count, version=str(version))
