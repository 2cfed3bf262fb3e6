"""Sample logs of lm-evaluation-harness and lmms-eval: JSON lines, one document with its choices each.

Source: `lm_eval/loggers/evaluation_tracker.py` and `lm_eval/evaluator.py` of EleutherAI/lm-evaluation-harness 4e7e0d4
(`samples_TASK_TIME.jsonl`), and the files of the same names of EvolvingLMMs-Lab/lmms-eval 0.6.1
(`TIME_samples_TASK.jsonl`), both with `--log_samples`. lmms-eval 0.7.0 to 0.7.3 write no logs of likelihoods: they turn
each into text (`unwrap_generation_output`) and end with an error. What is read of a multiple-choice document:

| field | lm-eval | lmms-eval |
| --- | --- | --- |
| `doc_id` | the group's name | the same |
| `filtered_resps` | per request [log-likelihood, is greedy], as texts | the same, but most models log the loss there |
| `target` | the true choice, its number or its text | the same |
| `arguments` | per request `gen_args_N`: `arg_0` the context, `arg_1` the choice | none |
| `doc` | the document's fields; short ones are tags | none in today's logs |

Log-likelihoods of lm-eval are sums over a choice's tokens. lmms-eval's models return the mean loss of its tokens
("we return the actual loss in many model loglikelihood", `lmms_eval/api/task.py`): a log without any number below 0 is
taken to hold losses, and log P is minus them. A task of lm-eval with the metric `acc_mutual_info` asks for every choice
once more without context: those requests are the language prior.
A document's field `group` puts it into one group with others, as one of its images; without one it is a group 1 x k.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from core.base.errors import InputError
from core.base.interrupt import between_blocks
from core.base.lazy import pandas as pd
from core.base.limits import check, check_shape
from core.base.table_formats import open_table

_LONGEST_TAG = 60  # characters of a field that may be a tag


class SampleLog(NamedTuple):
    """What a log of multiple-choice documents holds, by group.

    log_probs : float64 (n, m, k), log P of every choice given the image. own : int64 (n, m), the true choice, or None
    where no document names one. ids : n names. captions : text (n, k), or None where the log has no choices.
    prior : float64 (n, m, k), log P of every choice without context, or None. tags : text, a row per group, or None.
    """

    log_probs: np.ndarray
    own: np.ndarray | None
    ids: list[str]
    captions: np.ndarray | None
    prior: np.ndarray | None
    tags: pd.DataFrame | None


class _Document(NamedTuple):
    """One line of a log: its choices' numbers with and without context, texts (where it has them), target and tags.

    of_lmms : whether lmms-eval wrote it, so that its numbers may be losses.
    """

    group: str
    of_lmms: bool
    log_probs: list[float]
    prior: list[float]
    choices: tuple[str, ...]
    own: int | None
    tags: dict[str, str]


def is_sample_log(cells: dict[str, Any]) -> bool:
    """Whether the first object of a file of JSON lines is a document of a sample log."""
    return "doc_id" in cells and not cells.keys().isdisjoint({"filtered_resps", "resps"})


def read_sample_log(path: Any, content: bytes) -> SampleLog:
    """A sample log's groups. InputError, in one sentence, for a log of generated text, for choices that differ within a
    group, and for documents of different shapes."""
    groups: dict[str, list[_Document]] = {}
    seen: dict[str, set[str]] = {}
    for row in open_table(path, content).sound_rows():
        where, document_id = f"{path}: line {row.number}", str(row.cells.get("doc_id"))
        filters = seen.setdefault(document_id, set())
        if str(row.cells.get("filter")) in filters:
            raise InputError(f"{where} has document {document_id} again; a log takes one run of one task.")
        filters.add(str(row.cells.get("filter")))
        if len(filters) > 1:  # a task with several filters logs every document for each: the first counts
            continue
        document = _document(where, row.cells)
        groups.setdefault(document.group, []).append(document)
        if row.number % 1000 == 1:
            between_blocks()
            check(path, groups=len(groups), scores=row.number * len(document.log_probs))
    (first, documents), *_ = groups.items()
    shape = len(documents), len(documents[0].log_probs)
    for name, members in groups.items():
        _check_group(path, name, members, shape, first)
    check_shape(path, len(groups), *shape)
    return _log(path, groups)


def _log(path: Any, groups: dict[str, list[_Document]]) -> SampleLog:
    members, sign = list(groups.values()), 1.0
    first = members[0][0]
    values = np.array([[d.log_probs for d in group] for group in members])
    if first.of_lmms and (values > 0).any():
        if (values < 0).any():
            raise InputError(
                f"{path} has numbers above and below 0 for its choices: neither log-likelihoods nor losses; "
                "log the task again with one model."
            )
        sign = -1.0
    own = None
    if all(d.own is not None for group in members for d in group):
        own = np.array([[d.own for d in group] for group in members], dtype=np.int64)
    captions = np.array([group[0].choices for group in members]) if first.choices else None
    prior = np.array([[d.prior for d in group] for group in members]) if first.prior else None
    return SampleLog(sign * values, own, list(groups), captions, prior, _tags(path, members))


def _tags(path: Any, members: list[list[_Document]]) -> pd.DataFrame | None:
    """The fields that have one value per group. InputError for more of them than a table may have columns."""
    names = dict.fromkeys(name for group in members for d in group for name in d.tags)
    check(path, columns=len(names), cells=len(names) * len(members))
    rows = [{name: {d.tags.get(name, "") for d in group} for name in names} for group in members]
    single = [name for name in names if all(len(row[name]) == 1 for row in rows)]
    if not single:
        return None
    return pd.DataFrame([{name: next(iter(row[name])) for name in single} for row in rows])


def _document(where: str, cells: dict[str, Any]) -> _Document:
    resps, fields = cells.get("filtered_resps"), cells.get("doc")
    fields = fields if isinstance(fields, dict) else {}
    if (
        not isinstance(resps, list)
        or not resps
        or not all(isinstance(r, list) and len(r) == 2 for r in resps)
    ):
        raise InputError(
            f"{where} has no log-likelihood for each of its choices in `filtered_resps`; log a task of the type "
            "multiple_choice."
        )
    try:
        values = [float(value) for value, _ in resps]
    except (TypeError, ValueError):
        raise InputError(
            f"{where} has text where the log-likelihoods of its choices belong; log a task of the type multiple_choice."
        ) from None
    contexts, choices = _arguments(where, cells.get("arguments"), len(values))
    blind = [not text for text in contexts]
    plain = (
        [i for i, alone in enumerate(blind) if not alone]
        if any(blind) and not all(blind)
        else range(len(values))
    )
    count = len(plain)
    prior = values[count:]
    if prior and (len(prior) != count or list(plain) != list(range(count))):
        raise InputError(f"{where} asks for other choices without context than with it; log the task again.")
    texts = tuple(choices[:count])
    if count > 1 and len(set(texts)) == 1:
        raise InputError(
            f"{where} has its choices in the question, so its numbers are no likelihoods of captions; log a task whose "
            "choices are answers."
        )
    tags = {name: str(v) for name, v in fields.items() if isinstance(v, str | int | bool) and name != "group"}
    tags = {name: text for name, text in tags.items() if len(text) <= _LONGEST_TAG}
    name, of_lmms = str(fields.get("group", cells.get("doc_id"))), "arguments" not in cells
    own = _own(where, cells.get("target"), texts, count)
    return _Document(name, of_lmms, values[:count], prior, texts, own, tags)


def _arguments(where: str, arguments: Any, count: int) -> tuple[list[str], list[str]]:
    """Contexts and choices of the requests, as lm-eval logs them; [] where a log has none."""
    if not isinstance(arguments, dict):
        return [], []
    try:
        pairs = [arguments[f"gen_args_{i}"] for i in range(count)]
        return [str(pair["arg_0"]) for pair in pairs], [str(pair["arg_1"]).strip() for pair in pairs]
    except (KeyError, TypeError):
        raise InputError(
            f"{where} has {count} log-likelihoods and other `arguments`; log the task again."
        ) from None


def _own(where: str, target: Any, choices: tuple[str, ...], count: int) -> int | None:
    """The number of the true choice; None where the document names none."""
    text = "" if target is None else str(target).strip()
    if not text or text == "None":
        return None
    if text in choices:
        return choices.index(text)
    if text.isdecimal() and int(text) < count:
        return int(text)
    raise InputError(
        f"{where} has the target {text[:60]!r}, which is none of its {count} choices; log a task whose target is the "
        "number or the text of a choice."
    )


def _check_group(path: Any, name: str, members: list[_Document], shape: tuple[int, int], first: str) -> None:
    m, k = len(members), len(members[0].log_probs)
    if (m, k) != shape:
        raise InputError(
            f"{path}: {name!r} has {m} images and {k} choices, {first!r} {shape[0]} and {shape[1]}; put groups of "
            "different shapes into separate files."
        )
    for other in members[1:]:
        if other.choices != members[0].choices or len(other.log_probs) != k:
            raise InputError(
                f"{path}: the documents of group {name!r} have other choices; give them the same, in order."
            )
