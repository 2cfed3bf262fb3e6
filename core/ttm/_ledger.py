"""The ledger of a gain: what of it is the metric, what the knowledge that groups are bijections, what training.

Every row is a difference of two measured figures on the same groups, with its paired 95 % interval. From GroupScore of
the frozen model to GroupMatch of the adapted one the rows of `PARTS` add up:

- `metric`: what GroupMatch has over GroupScore if the right matching of every group were drawn at random. The mean
  over all of its matchings is taken exactly; it reads the frozen scores and no truth. It is the gain of scores that
  have nothing to do with what is right, and 0 where GroupScore's test holds for some matching of every group.
- `bijections`: what GroupMatch has over GroupScore of the frozen model beyond that. Nothing is trained: the same scores
  are read with the knowledge that each caption belongs to one image.
- `training`: GroupMatch after the run minus before it. Where halves of the groups were adapted apart, it is itself the
  sum of `task` (groups that the model never saw, minus the frozen model), `set` (the same groups by the model that
  trained on them, minus by the one that did not) and `size` (training on all groups, minus on half of them).

The controls (`_controls.py`) are runs of their own, and do not add up: each is the gain of GroupMatch that is left when
one assumption is taken away, and `beyond` it what the run itself has more.

Identified are these differences, on these groups. Not identified: whether `task` is the relation or the look of the
pictures (what a control without right labels gains is the look alone), whether other sets would gain, and how much
another seed would change: the intervals are over groups, by cluster too where groups share images, with the trained
models as they are. An interval that holds 0 cannot tell; it is no proof that there is nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import perm
from typing import Any, NamedTuple

import numpy as np

from core.base.lazy import pandas as pd
from core.base.text import _KEPT
from core.matching.comparisons import fitted_groups
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS
from core.metrics.statistics import Comparison, Estimate, compare, estimate
from core.ttm._controls import CONTROLS

PARTS = {
    "metric": (
        "An easier metric",
        "What GroupMatch has over GroupScore where the right answers are drawn at random: the frozen model's scores "
        "gain it without knowing anything.",
    ),
    "bijections": (
        "One caption per image",
        "The frozen model, read with the knowledge that every caption belongs to one image; nothing is trained.",
    ),
    "training": (
        "Training on the test set",
        "GroupMatch of the adapted model, minus that of the frozen one.",
    ),
    "task": (
        "of which: on groups never seen",
        "Adapted on one half, measured on the other: what carries over to groups that were not trained on.",
    ),
    "set": (
        "of which: on the trained groups alone",
        "The same groups, by the model that trained on them, minus by the one that did not: memory of the set.",
    ),
    "size": (
        "of which: from twice as many groups",
        "Training on all groups, minus training on half of them.",
    ),
}


class Figure(NamedTuple):
    """A measured number: its value in each group, (n,), and what is shown with their mean."""

    label: str
    values: np.ndarray
    estimate: Estimate

    @classmethod
    def of(cls, label: str, evaluation: Evaluation, metric: str) -> Figure:
        return cls(label, evaluation.outcomes[metric].value.astype(np.float64), evaluation.metrics[metric])


class Row(NamedTuple):
    """A line of the ledger: `after` minus `before`."""

    name: str
    kind: str  # "part", "detail" (of training) or "control"
    label: str
    meaning: str
    before: Figure
    after: Figure
    change: Comparison
    beyond: Comparison | None = None  # of a control: the run itself minus the control


class Ledger(NamedTuple):
    """The evaluations of a set by the frozen model and by the adapted ones, and the rows that they come to.

    adapted : by the run itself, None while it is not over. controls : by name, those that are over. halves : every
    group by the model that trained on the other half, then by that which trained on its own.
    """

    frozen: Evaluation
    adapted: Evaluation | None = None
    controls: Mapping[str, Evaluation] = {}
    halves: tuple[Evaluation, Evaluation] | None = None

    def rows(self) -> list[Row]:
        """Every row that can be measured yet: parts, details of training, controls."""
        score, match = (Figure.of(f"{METRICS[m].label}, frozen model", self.frozen, m) for m in _BOTH)
        luck = [self._drawn(metric) for metric in _BOTH]
        rise = self._rise("random answers", *luck), self._rise("", score, match)
        rows = [self._row("metric", "part", *luck), self._row("bijections", "part", *rise)]
        last = None if self.adapted is None else _match("adapted model", self.adapted)
        if last is not None:
            rows.append(self._row("training", "part", match, last))
        if self.halves is not None:
            names = ("untouched half", "trained half")
            untouched, trained = (_match(*each) for each in zip(names, self.halves, strict=True))
            rows += [
                self._row("task", "detail", match, untouched),
                self._row("set", "detail", untouched, trained),
            ]
            rows += [] if last is None else [self._row("size", "detail", trained, last)]
        for name, evaluation in self.controls.items():
            own = _match(CONTROLS[name].label.lower(), evaluation)
            rows.append(self._row(name, "control", match, own, last))
        return rows

    def _row(self, name: str, kind: str, before: Figure, after: Figure, last: Figure | None = None) -> Row:
        if name in PARTS:
            texts = PARTS[name]
        else:
            control = CONTROLS[name]
            texts = (control.label, f"{control.change} {control.reading}")
        clusters = self.frozen.clusters
        change = compare(before.values, after.values, clusters)
        beyond = None if last is None else compare(after.values, last.values, clusters)
        return Row(name, kind, *texts, before, after, change, beyond)

    def figures(self) -> dict[str, dict[str, Estimate]]:
        """GroupScore and GroupMatch of every model: metric -> estimate, by `frozen`, `adapted`, halves and controls."""
        every = {"frozen": self.frozen, "adapted": self.adapted, **self.controls}
        if self.halves is not None:
            every |= dict(zip(("untouched", "trained"), self.halves, strict=True))
        return {
            name: {metric: each.metrics[metric] for metric in _BOTH}
            for name, each in every.items()
            if each is not None
        }

    def record(self) -> dict[str, Any]:
        """JSON-safe: `figures`, and `rows`, differences in percentage points with their 95 % intervals."""
        m, k = self.frozen.shape
        return {
            "n_groups": len(self.frozen.ids),
            "shape": f"{m}x{k}",
            "figures": {
                name: {metric: e.record() for metric, e in of.items()} for name, of in self.figures().items()
            },
            "rows": [_written(row) for row in self.rows()],
        }

    def table(self) -> pd.DataFrame:
        """One line per row of the record, its figures' numbers beside it."""
        return pd.json_normalize(self.record()["rows"], sep="_")

    def _drawn(self, metric: str) -> Figure:
        """A metric of the frozen scores if the right matching were any of a group's, each as likely: exact, no truth.

        At most one matching of a group passes GroupScore's strict test, and if one does it is the induced one.
        """
        (m, k), matches = self.frozen.shape, self.frozen.matches
        passes = ~matches.tied
        if metric == GROUP_SCORE:
            labels = np.where(matches.tied[:, None], np.arange(m), matches.matching)
            passes &= fitted_groups(self.frozen.scores, labels)
        label, own = f"{METRICS[metric].label} against random answers", self.frozen.metrics[metric]
        share = estimate(passes, own.chance, int(matches.tied.sum()), clusters=self.frozen.clusters)
        return Figure(label, passes / perm(k, m), _divided(share, perm(k, m)))

    def _rise(self, when: str, score: Figure, match: Figure) -> Figure:
        """What GroupMatch has over GroupScore, by group."""
        label = ", ".join(filter(None, ("GroupMatch minus GroupScore", when)))
        a, b = score.estimate, match.estimate
        ties = max(a.ties or 0, b.ties or 0)
        return self._figure(label, match.values - score.values, b.chance - a.chance, ties)

    def _figure(self, label: str, values: np.ndarray, chance: float, ties: int) -> Figure:
        return Figure(label, values, estimate(values, chance, ties, clusters=self.frozen.clusters))


def _divided(share: Estimate, by: int) -> Estimate:
    """A share of the groups, and its interval over groups, divided by a number that is the same for each."""
    clustered = share.clustered
    if clustered is not None:
        clustered = clustered._replace(low=clustered.low / by, high=clustered.high / by)
    ends = {name: getattr(share, name) / by for name in ("value", "low", "high")}
    return share._replace(**ends, clustered=clustered)


_BOTH = (GROUP_SCORE, GROUP_MATCH)


def _match(label: str, evaluation: Evaluation) -> Figure:
    return Figure.of(f"{METRICS[GROUP_MATCH].label}, {label}", evaluation, GROUP_MATCH)


def _written(row: Row) -> dict[str, Any]:
    sides = {
        side: {"label": figure.label, **figure.estimate.record()}
        for side, figure in (("before", row.before), ("after", row.after))
    }
    found = {"name": row.name, "kind": row.kind, "label": row.label, "meaning": row.meaning}
    return {**found, **_points(row.change), **sides, "beyond": row.beyond and _points(row.beyond)}


def _points(change: Comparison) -> dict[str, Any]:
    return {
        name: round(value, _KEPT) if isinstance(value, float) and name[0] != "p" else value
        for name, value in change.record().items()
    }


def halves(first: Evaluation, second: Evaluation, pool: np.ndarray) -> tuple[Evaluation, Evaluation]:
    """`Ledger.halves` from the models that trained on `pool` (bool (n,)) and on the other groups."""
    return _mixed(second, first, pool), _mixed(first, second, pool)


def _mixed(inside: Evaluation, outside: Evaluation, pool: np.ndarray) -> Evaluation:
    """The groups of `pool` by one model, the others by another."""
    scores = np.where(pool[:, None, None], inside.scores, outside.scores)
    return replace(inside, scores=scores)
