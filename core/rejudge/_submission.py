"""What one system did on one benchmark, as files tell it: scores, or answers, or numbers alone."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from core.base.errors import InputError
from core.datasets.score_files import ScoreFile

MTEB, LM_EVAL, LMMS_EVAL, INSPECT = "MTEB", "lm-eval", "lmms-eval", "Inspect"
VLM_EVAL_KIT, CLIP_BENCHMARK, SCORES, TABLE = "VLMEvalKit", "CLIP_benchmark", "scores", "table"
NO_ANSWER = -1
# The versions whose files were read here: a number stands for every version that begins with it.
READ_VERSIONS = {MTEB: ("1", "2"), LM_EVAL: ("0.4",), LMMS_EVAL: ("0",), f"{INSPECT}'s log": ("2",)}


class UnfinishedError(InputError):
    """A log whose run has not ended: it is left out where a folder has others."""


@dataclass(frozen=True)
class Answers:
    """Which choice a system took in every question, where nothing tells how much it preferred it.

    ids : n names. chosen, own : int64 (n,), the choice taken (`NO_ANSWER` where the answer names none) and the right
    one. choices : int64 (n,), how many there are. groups : n names, the same for questions that belong together; None
    where each is its own. paired : of ungrouped questions, how many share their choices with another one.
    """

    ids: list[str]
    chosen: np.ndarray
    own: np.ndarray
    choices: np.ndarray
    groups: list[str] | None = None
    paired: int = 0


@dataclass(frozen=True)
class Submission:
    """One system on one benchmark.

    source : the file. tool : which one wrote it, with its version where it tells. model, benchmark : "" where the file
    does not name them. scores, answers : of each item, at most one of both; a file of numbers alone has neither.
    reported : what the tool says, in percent, by its own names. count : items it says it measured. findings : what
    reading has shown already, as sentences. contents : name of an item -> what it is, equal for equal items; empty
    where the file does not tell. revision : of the benchmark; "" where the file does not tell.
    """

    source: Path
    tool: str
    model: str = ""
    benchmark: str = ""
    scores: ScoreFile | None = None
    answers: Answers | None = None
    reported: Mapping[str, float] = field(default_factory=dict)
    count: int | None = None
    version: str = ""
    findings: tuple[str, ...] = ()
    contents: Mapping[str, Hashable] = field(default_factory=dict)
    revision: str = ""

    @property
    def title(self) -> str:
        """`random-clip on Winoground (MTEB 2.26.24, x.json)`."""
        what = " on ".join(filter(None, (self.model, self.benchmark)))
        where = f"{self.tool} {self.version}".strip()
        return f"{what} ({where}, {self.source.name})" if what else f"{self.source.name} ({where})"

    @property
    def ids(self) -> list[str] | None:
        """Names of the groups or questions; None where there are numbers alone."""
        if self.scores is not None:
            return self.scores.ids
        return None if self.answers is None else self.answers.ids


def shared_groups(keys: Sequence[Hashable], own: Sequence[int]) -> list[list[int]] | None:
    """Questions with the same choices and different right ones, as groups: lists of their places.

    Groups are in the order of their first questions, and the questions of a group in the order of their right choices:
    a group is the same one, however its questions were ordered.
    None where the questions do not divide into groups of one size, two at least.
    """
    groups = _by_key(keys)
    size = len(groups[0])
    if not all(_is_group(g, own) and len(g) == size for g in groups):
        return None
    return [sorted(g, key=lambda i: own[i]) for g in groups]


def count_paired(keys: Sequence[Hashable], own: Sequence[int]) -> int:
    """How many questions share their choices with another one, whose right one is another."""
    return sum(len(g) for g in _by_key(keys) if _is_group(g, own))


def told_of_paired(paired: int, n: int) -> str:
    """A sentence on questions that are judged one by one though most of them would make groups; "" otherwise."""
    if 2 * paired < n:
        return ""
    return (
        f"{paired} of {n} questions share their choices with another one, but they do not divide into groups of one "
        "size, so each is judged alone; if the file was cut, give all of it."
    )


def _by_key(keys: Sequence[Hashable]) -> list[list[int]]:
    found: dict[Hashable, list[int]] = defaultdict(list)
    for place, key in enumerate(keys):
        found[key].append(place)
    return list(found.values())


def _is_group(places: Sequence[int], own: Sequence[int]) -> bool:
    return len(places) > 1 and len({own[i] for i in places}) == len(places)


def grouped(submission: Submission) -> Submission:
    """Questions of one image each as groups, where several have the same captions and another one right."""
    file = submission.scores
    if file is None or file.truth is None or file.captions is None or file.scores.shape[1] != 1:
        return submission
    keys, own = [tuple(row) for row in file.captions], [int(row[0]) for row in file.truth]
    groups = shared_groups(keys, own)
    if groups is None or len(groups[0]) > file.scores.shape[2]:
        told = told_of_paired(count_paired(keys, own), len(keys))
        return replace(submission, findings=(*submission.findings, told)) if told else submission
    first = [g[0] for g in groups]
    merged = ScoreFile(
        file.scores[groups, 0, :],
        file.truth[groups, 0],
        ["+".join(file.ids[i] for i in g) for g in groups],
        None,
        None,
        file.captions[first],
    )
    n, m, k = merged.scores.shape
    told = (
        f"Its {n * m} questions have the same choices {m} by {m}, another one right in each: they are judged as {n} "
        f"groups of {m}x{k}."
    )
    return replace(submission, scores=merged, findings=(*submission.findings, told))


def name_of_part(task: str, subset: str, split: str) -> str:
    """What one of several subsets and splits of a task is called: `Winoground, default/test`."""
    return f"{task}, {subset}/{split}"


def check_version(path: Path, what: str, stated: object) -> None:
    """Raise InputError where a file states a version of `READ_VERSIONS`' formats that is not read here.

    A file that states none, or one that is no number (lmms-eval names a commit), passes: its layout decides.
    """
    number = re.match(r"v?(\d+(?:\.\d+)*)", str(stated))
    known = READ_VERSIONS[what]
    if number and not any(f"{number[1]}.".startswith(f"{each}.") for each in known):
        raise InputError(
            f"{path} is of {what} {str(stated)[:20]}; {' and '.join(known)} {'are' if len(known) > 1 else 'is'} read "
            "here: write it again with such a version, or give scores as CSV."
        )


def check_same_items(a: Submission, b: Submission) -> None:
    """Raise InputError for two submissions on different items of one benchmark: by revision, by content or by name."""
    what = f"items of {a.benchmark or 'the same benchmark'}"
    advice = "give two systems on the same items, or one of them."
    if a.revision and b.revision and a.revision != b.revision:
        raise InputError(
            f"{a.source} and {b.source} hold different {what}, of revisions {a.revision} and {b.revision}; {advice}"
        )
    common = [name for name in a.contents if name in b.contents]
    other = [name for name in common if a.contents[name] != b.contents[name]]
    if other:
        raise InputError(
            f"{a.source} and {b.source} hold different {what} under the same names, {len(other)} of {len(common)} "
            f"(the first is {other[0]!r}); {advice}"
        )
    ids_a, ids_b = a.ids or [], b.ids or []
    if set(ids_a) != set(ids_b) or (a.scores is None) != (b.scores is None):
        raise InputError(
            f"{a.source.name} and {b.source.name} hold different {what}, {len(ids_a)} and {len(ids_b)}; {advice}"
        )


def check_count(submission: Submission, measured: int) -> None:
    """Raise InputError where a report speaks of other items than the file holds: half a log, or another run's."""
    if submission.count is not None and submission.count != measured:
        raise InputError(
            f"{submission.source} holds {measured} of the {submission.count} items that the report beside it measured; "
            "give the complete file, or the report of the same run."
        )
