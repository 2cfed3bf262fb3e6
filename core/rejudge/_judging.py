"""Judging: every metric with chance, interval and ties, paired tests between systems, and what a report got wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, groupby
from pathlib import Path
from typing import Any

import numpy as np

from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.base.text import _KEPT, _pct, counted
from core.metrics.evaluation import Evaluation
from core.metrics.group_metrics import Metric
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, IMAGE_SCORE, TEXT_SCORE
from core.metrics.paired import differences, in_order_of
from core.metrics.statistics import Clusters, Comparison, Estimate, compare, estimate
from core.rejudge import _mteb
from core.rejudge._reading import read_file, read_submissions
from core.rejudge._submission import (
    LM_EVAL,
    LMMS_EVAL,
    MTEB,
    NO_ANSWER,
    SCORES,
    Answers,
    Submission,
    check_same_items,
    told_of_paired,
)

QUESTIONS, GROUPS = "question_accuracy", "group_accuracy"
_MOST_SYSTEMS = 20  # on one benchmark: 190 pairs, some seconds
_MOST_OF_ONE = 0.9  # share of answers that are one letter, from which it is said
# What reports call our metrics.
_SAME = {"text_acc": TEXT_SCORE, "image_acc": IMAGE_SCORE, "accuracy": GROUP_SCORE, "acc": GROUP_SCORE}
_PARTS = (TEXT_SCORE, IMAGE_SCORE)


@dataclass(frozen=True)
class _Judged:
    """One submission, judged. evaluation : of scores; None where there are none."""

    submission: Submission
    evaluation: Evaluation | None

    @cached_property
    def metrics(self) -> dict[str, Estimate]:
        """Metrics of this house: of scores all, of answers the share of right questions and groups, else none."""
        if self.evaluation is not None:
            return self.evaluation.metrics
        found = self.submission.answers
        return {} if found is None else {name: self._of_answers(found, name) for name in self.outcomes}

    @cached_property
    def outcomes(self) -> dict[str, np.ndarray]:
        """Metric -> what each group, or each question, has of it, (n,); empty where there are numbers alone."""
        if self.evaluation is not None:
            return {name: np.asarray(o.value) for name, o in self.evaluation.outcomes.items()}
        found = self.submission.answers
        if found is None:
            return {}
        right = found.chosen == found.own
        if found.groups is None:
            return {QUESTIONS: right}
        return {QUESTIONS: right, GROUPS: _all_right(right, found.groups)}

    def _of_answers(self, found: Answers, name: str) -> Estimate:
        by_chance = pd.Series(1 / found.choices)
        if name == QUESTIONS or found.groups is None:
            return estimate(self.outcomes[name], 100 * by_chance.mean(), None, clusters=self.clusters)
        parts = by_chance.groupby(found.groups, sort=False)
        return estimate(self.outcomes[name], 100 * parts.prod().mean(), None)

    @property
    def clusters(self) -> Clusters | None:
        """Questions of a group hang together."""
        found = self.submission.answers
        if found is None or found.groups is None:
            return None
        return Clusters.of_tag(pd.DataFrame({"group": found.groups}), "group")

    @property
    def findings(self) -> list[str]:
        """What the report got wrong and what the numbers hide, a sentence each."""
        s = self.submission
        if self.evaluation is not None:
            return [*s.findings, *self._about_scores(self.evaluation)]
        return [
            *s.findings,
            *(self._about_answers(s.answers) if s.answers is not None else _about_numbers(s)),
        ]

    @property
    def limits(self) -> list[str]:
        """What cannot be said from this file, a sentence each."""
        if self.evaluation is not None:
            prior = (
                ""
                if self.evaluation.truth_given
                else "The file names no truth: image i is taken to own caption i."
            )
            return [prior] if prior else []
        if self.submission.answers is not None:
            told = "Answers alone say which choice was taken, not by how much: no GroupMatch, no margins, no ties."
            found = self.submission.answers
            if found.groups is not None:
                return [told]
            partly = told_of_paired(found.paired, len(found.ids))
            return [told, partly or "The questions do not divide into groups of the same choices."]
        return [
            "Numbers alone: nothing is counted again, no ties, no paired test; give predictions, logs or scores."
        ]

    def _about_scores(self, found: Evaluation) -> list[str]:
        s, text = self.submission, found.metrics[TEXT_SCORE]
        if s.tool == MTEB:
            told = _mteb.findings(found.scores, s.reported, text)
        elif s.tool in (LM_EVAL, LMMS_EVAL):
            told = _first_wins(found, s.reported)
        else:
            told = []
        match, score = found.metrics[GROUP_MATCH], found.metrics[GROUP_SCORE]
        if found.shape[0] > 1 and match.value - score.value >= 10:
            hides = "" if s.tool == SCORES else "the report hides that "  # scores alone report nothing
            told.append(
                f"GroupScore is {_pct(score.value, 2)} and GroupMatch {_pct(match.value, 2)} "
                f"(chance {_pct(match.chance, 2)}): {hides}the right pairing often has the highest total."
                if match.low > match.chance
                else f"GroupMatch is {_pct(match.value, 2)} where chance is {_pct(match.chance, 2)}: no sign "
                f"of more than GroupScore ({_pct(score.value, 2)}) shows."
            )
        return told

    def _about_answers(self, found: Answers) -> list[str]:
        told, n = [], len(found.ids)
        without = int((found.chosen == NO_ANSWER).sum())
        if without:
            told.append(f"{without} of {counted(n, 'answer')} without a choice that can be read: wrong.")
        taken = found.chosen[found.chosen >= 0]
        if len(taken):
            most = int(np.bincount(taken).argmax())
            share, true = float((taken == most).mean()), float((found.own == most).mean())
            if share >= _MOST_OF_ONE and share - true > 1 - _MOST_OF_ONE:
                told.append(
                    f"{100 * share:.0f} % of the answers are choice {chr(ord('A') + most)}, which is right in "
                    f"{100 * true:.0f} %: this system follows the place of a choice."
                )
        names = ("accuracy", "exact_match", "Overall", "hit", "acc")
        reported = next(
            (v for name in names for key, v in self.submission.reported.items() if key.startswith(name)), None
        )
        ours = self.metrics[QUESTIONS].value
        if reported is not None and abs(reported - ours) > 0.01:
            told.append(
                f"The report says {_pct(reported, 2)} and its own answers give {_pct(ours, 2)}: answers that name "
                "no choice were counted in another way, or it is of another run."
            )
        return told

    def record(self) -> dict[str, Any]:
        """JSON-safe."""
        s, found = self.submission, self.evaluation
        record: dict[str, Any] = {
            "source": s.source.name,
            "tool": s.tool,
            "version": s.version,
            "model": s.model,
            "benchmark": s.benchmark,
        }
        if found is not None:
            record |= {"n_groups": len(found.scores), "shape": "x".join(map(str, found.shape))}
        elif s.answers is not None:
            record |= {"n_questions": len(s.answers.ids)}
            record |= {"n_groups": len(set(s.answers.groups))} if s.answers.groups is not None else {}
        return record | {
            "reported": {name: round(value, _KEPT) for name, value in s.reported.items()},
            "metrics": {name: e.record() for name, e in self.metrics.items()},
            "findings": self.findings,
            "limits": self.limits,
        }


def _first_wins(found: Evaluation, reported: Mapping[str, float]) -> list[str]:
    """What lm-eval's `acc` of log-likelihoods gets wrong: `argmax` gives a tie to the first choice."""
    first = 100 * float((found.scores.argmax(axis=2) == found.truth).mean())
    rows = found.scores
    own = np.take_along_axis(rows, found.truth[:, :, None], 2)
    others = np.arange(rows.shape[2]) != found.truth[:, :, None]
    strict = 100 * float((~((rows >= own) & others).any(axis=2)).mean())
    told = []
    if "acc" in reported and abs(reported["acc"] - first) > 0.01:
        told.append(
            f"The report's acc is {_pct(reported['acc'], 2)}, and these log-likelihoods give {_pct(first, 2)}: they "
            "are not of one run."
        )
    if first > strict:
        told.append(
            f"argmax gives a tie to the first choice: acc is {_pct(first, 2)}, and {_pct(strict, 2)} without ties."
        )
    return told


def _about_numbers(s: Submission) -> list[str]:
    """What numbers alone tell: shares that no count gives, and a whole that is larger than its parts."""
    told = []
    named = {_SAME.get(name, name): (name, value) for name, value in s.reported.items()}
    for name, (theirs, value) in named.items():
        if name == GROUP_SCORE:
            for part in _PARTS:
                if part in named and value > named[part][1] + 0.01:
                    told.append(
                        f"{theirs} ({_pct(value, 2)}) is larger than {named[part][0]} ({_pct(named[part][1], 2)}), of "
                        "which it is a part."
                    )
        if s.count and name in (*_PARTS, GROUP_SCORE, GROUP_MATCH) and not _is_count(value, s.count):
            told.append(
                f"No number of {s.count} groups is {value:g} %: {theirs} or the number of groups is wrong."
            )
    shares = {name: value for name, (_, value) in named.items()}
    if (
        s.tool == MTEB
        and shares.get(IMAGE_SCORE) == 0 == shares.get(GROUP_SCORE)
        and shares.get(TEXT_SCORE, 0) > 0
    ):
        told.append(
            "image_acc and accuracy are exactly 0: where a group has one image MTEB's definition makes them so "
            "whatever a model does, and a tie counts as right in text_acc; the predictions would tell."
        )
    return told


def _is_count(percent: float, n: int) -> bool:
    """Whether a percentage, rounded as it is printed, is a count of n; of a number beyond all data sets it is."""
    if n > 10**12:
        return True
    decimals = len(f"{percent:.4f}".rstrip("0").partition(".")[2])
    return abs(round(percent * n / 100) * 100 / n - percent) <= 0.5 * 10.0**-decimals + 1e-9


_Pair = tuple[_Judged, _Judged, dict[str, Comparison]]


@dataclass(frozen=True)
class _Judgement:
    """Submissions judged, and the paired tests between systems on the same benchmark.

    differences : (first, second, metric -> second minus first), every two on one benchmark, in the order in which they
    were read; p values corrected together. left_out : a sentence for each unfinished log of a folder.
    """

    judged: list[_Judged]
    differences: list[_Pair]
    left_out: list[str]

    def record(self) -> dict[str, Any]:
        """JSON-safe: `submissions`, `differences` and `left_out`."""
        return {
            "submissions": [each.record() for each in self.judged],
            "differences": [
                {
                    "first": a.submission.title,
                    "second": b.submission.title,
                    "metrics": {name: found.record() for name, found in each.items()},
                }
                for a, b, each in self.differences
            ],
            "left_out": self.left_out,
        }


def rejudge(paths: Sequence[Path], data: bytes | None = None) -> _Judgement:
    """A second opinion on files and folders of results, or on one upload (its name and `data`).

    Raises InputError, in one sentence, for a file that is unknown, damaged, unfinished or a pickle, and for two systems
    on different items of one benchmark. An unfinished log of a folder that has others is left out, and told.
    """
    found, left_out = read_submissions(paths) if data is None else (read_file(paths[0], data), [])
    judged = [_Judged(s, _evaluation(s)) for s in found]
    pairs: list[_Pair] = []
    with_items = sorted(
        (j for j in judged if j.submission.ids is not None), key=lambda j: j.submission.benchmark
    )
    for _, group in groupby(with_items, key=lambda j: j.submission.benchmark):
        systems = list(group)
        if len(systems) > _MOST_SYSTEMS:
            raise InputError(
                f"{len(systems)} systems on {systems[0].submission.benchmark or 'one benchmark'} are too many, as "
                f"every two are compared; name {_MOST_SYSTEMS} at most."
            )
        pairs += [(a, b, _compared(a, b)) for a, b in combinations(systems, 2)]
    return _Judgement(judged, _corrected(pairs), left_out)


def _corrected(pairs: list[_Pair]) -> list[_Pair]:
    """p values of everything that is shown, corrected together; metrics that are one on their groups are one test."""
    same = [Metric.same(metrics) for *_, metrics in pairs]
    tests = {(i, first): pairs[i][2][first] for i, found in enumerate(same) for first in found}
    once = Comparison.holm({f"{i} {name}": c for (i, name), c in tests.items()})
    return [
        (a, b, {name: once[f"{i} {first}"] for first, names in same[i].items() for name in names})
        for i, (a, b, _) in enumerate(pairs)
    ]


def _evaluation(s: Submission) -> Evaluation | None:
    if s.scores is None:
        return None
    return Evaluation.of(s.scores.scores, s.scores.truth, s.scores.ids, tags=s.scores.tags)


def _all_right(right: np.ndarray, groups: Sequence[str]) -> np.ndarray:
    """Whether every question of each group is right, bool (groups,), in the order in which they first occur."""
    return pd.Series(right).groupby(list(groups), sort=False).all().to_numpy()


def _groups_of_both(a: Answers | None, b: Answers | None, order: np.ndarray) -> list[str] | None:
    """A's groups, where B has the same ones under whatever names. order : where B has each of A's questions."""
    if a is None or b is None or a.groups is None or b.groups is None:
        return None
    both = set(zip(a.groups, (b.groups[i] for i in order), strict=True))
    return a.groups if len(both) == len(set(a.groups)) == len(set(b.groups)) else None


def _compared(a: _Judged, b: _Judged) -> dict[str, Comparison]:
    ids_a, ids_b = a.submission.ids or [], b.submission.ids or []
    check_same_items(a.submission, b.submission)
    if a.evaluation is not None and b.evaluation is not None:
        return differences(a.evaluation, in_order_of(b.evaluation, ids_a))
    order = np.array([ids_b.index(name) for name in ids_a])
    second = {QUESTIONS: b.outcomes[QUESTIONS][order]}
    groups = _groups_of_both(a.submission.answers, b.submission.answers, order)
    if groups is not None:
        second[GROUPS] = _all_right(second[QUESTIONS], groups)
    return {
        name: compare(a.outcomes[name], value, a.clusters if name == QUESTIONS else None)
        for name, value in second.items()
    }
