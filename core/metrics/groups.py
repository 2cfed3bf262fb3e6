"""Metrics on groups: scores measured against truth, with chance levels, tie counts and intervals.

Every "correct" test is strict: a tie counts as wrong, and is counted. What each metric is says
`core.metrics.group_metrics`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb
from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace, device

from core.base.arrays import Array, _divisor, like, to_numpy
from core.base.errors import InputError
from core.base.text import _pct, counted
from core.groups import check_truth
from core.matching import comparisons
from core.matching.blocks import map_blocks
from core.matching.comparisons import View, labels_of
from core.matching.global_match import AllPairs, match_global
from core.matching.groups import Matches, check_form, match_block
from core.metrics.group_metrics import (
    GLOBAL,
    GLOBAL_MATCH,
    GROUP_MATCH,
    GROUP_SCORE,
    IMAGE_SCORE,
    IMAGE_TO_TEXT,
    INDIVIDUAL_MATCH,
    METRICS,
    TEXT_SCORE,
    TEXT_TO_IMAGE,
    Rule,
    description_of,
    headline_metrics,
    metric_entry,
    metrics_of_shape,
    yes_or_no,
)
from core.metrics.statistics import Clusters, Estimate, estimate


class Outcome(NamedTuple):
    """A metric's outcome per group, and bool (n,) where only a tie made it less.

    value : bool (n,) where a metric holds or not, float64 (n,) in [0, 1] where it is a share. Metrics that coincide on
    a shape (all of them on groups of one image) may share their arrays: read them, do not write to them.
    """

    value: Array
    tied: Array

    def __repr__(self) -> str:
        mean, tied = 100 * to_numpy(self.value).mean(), int(to_numpy(self.tied).sum())
        return f"<{_pct(mean)} % of {len(self.value)} groups, {tied} tied>"

    def kind(self, index: int) -> str:
        """`right`, `wrong` or `tie`: whether it holds for a group, or misses only by a tie."""
        if self.value[index] == 1:
            return "right"
        return "tie" if self.tied[index] else "wrong"


def chance(name: str, m: int, k: int, named: int = 1) -> float:
    """Probability in [0, 1] that a metric holds for uniform i.i.d. scores ([TTM] Propositions 1-4).

    named : captions that truth names of a group. Where several are true of one image, a matching may give it any of
    them; other metrics ask that they score highest together.
    """
    entry = metric_entry(name, m, k)
    if named <= m:
        return entry.chance(m, k)
    return named / k if entry.rule(m, k) is comparisons.matched else 1 / comb(k, named)


def outcomes(scores: Array, truth: Array, names: Sequence[str] | None = None) -> dict[str, Outcome]:
    """Each metric's outcome for every group; arguments and errors as of `match_and_evaluate`."""
    return match_and_evaluate(scores, truth, names)[1]


def match_and_evaluate(
    scores: Array, truth: Array, names: Sequence[str] | None = None, rounding: Array | None = None
) -> tuple[Matches, dict[str, Outcome]]:
    """Induced matchings, exact margins and each metric's outcome in one pass over the scores.

    Parameters
    ----------
    scores : float (n, m, k), a numpy array or a torch tensor. truth : int (n, m), the caption of each image. Of groups
    of one image also (n, t): where t captions are true, the matching is right with any of them, and every other metric
    asks that each beats each caption that is not.
    names : of metrics; by default all that groups of this shape have. rounding : float64 (n,), of debiased scores how
    far two equal ones of a group may differ.

    Raises InputError for a wrong shape, a non-finite score or a wrong truth (naming the group), an unknown metric or
    one that groups of this shape do not have.
    """
    array = check_form(scores)
    xp, where, (n, m, k) = array_namespace(array), device(array), array.shape
    truth = like(truth, array)
    if truth.shape != (n, m) or not xp.isdtype(truth.dtype, "integral"):
        check_truth(truth, n, m, k)  # raises
    known = metrics_of_shape(m, k)
    rules = {name: metric_entry(name, m, k).rule(m, k) for name in (known if names is None else names)}
    held = {METRICS[name].rule(m, k) for name in yes_or_no(known)}  # or not: no shares
    matches, none = Matches.empty(array), xp.broadcast_to(xp.asarray(False, device=where), (n,))
    room = {
        rule: Outcome(xp.empty(n, dtype=xp.bool if rule in held else xp.float64, device=where), none)
        for rule in rules.values()
    }
    ties: list[tuple[Rule, slice, Array]] = []  # few blocks hold one

    def work(part: slice, columns: Array) -> None:
        found, place = match_block(array, part, columns, matches, rounding)
        own = labels_of(truth[part], k)
        if own is None:
            check_truth(truth, n, m, k)  # raises
        assert own is not None
        near = None if rounding is None else rounding[part]
        if len(own) > m:
            view = View.of_one_image(columns, own, near)
        else:
            view = View.of(array[part], columns, truth[part], own, found, place, near)
        for rule, outcome in room.items():
            value, tied = rule(view)
            into = outcome.value[part]
            into[...] = value
            if xp.isdtype(value.dtype, "unsigned integer"):
                into /= _divisor(m, into)
            if tied is not None:
                ties.append((rule, part, tied))

    map_blocks(array, work)
    for rule, part, tied in ties:
        if room[rule].tied is none:
            room[rule] = room[rule]._replace(tied=xp.zeros_like(none))
        room[rule].tied[part] = tied
    return matches, {name: room[rule] for name, rule in rules.items()}


def evaluate(scores: Array, truth: Array, names: Sequence[str] | None = None) -> dict[str, Estimate]:
    """Every metric over all groups with interval, chance level and tie count, in percent.

    >>> evaluate(np.array([[[2.0, 1.9], [1.5, 1.6]]]), np.array([[0, 1]]))["group_match"].value
    100.0
    """
    _, m, k = check_form(scores).shape
    found = outcomes(scores, truth, names)
    return {
        name: estimate(
            o.value,
            100 * chance(name, m, k, truth.shape[1]),
            int(o.tied.sum()),
            metric_entry(name, m, k).parts(m),
        )
        for name, o in found.items()
    }


class ThresholdCurve(NamedTuple):
    """Selection by margin, exact at every threshold (no grid): four arrays, one entry per distinct margin.

    threshold : descending margins. coverage : share of groups with margin >= threshold.
    precision : share of those whose induced matching is the true one. selected : how many groups those are.
    """

    threshold: Array
    coverage: Array
    precision: Array
    selected: Array

    def __repr__(self) -> str:
        if not len(self.threshold):
            return "<no threshold: every group is tied>"
        ends = ((float(column[0]), float(column[-1])) for column in self[:3])
        (first, last), (least, most), (surest, precision) = ends
        coverage = f"coverage {_pct(100 * least)} to {_pct(100 * most)} %"
        return (
            f"<{counted(len(self.threshold), 'threshold')}, {first:.4g} to {last:.4g}: {coverage}, "
            f"precision {_pct(100 * surest)} to {_pct(100 * precision)} %>"
        )


def threshold_curve(matches: Matches, truth: Array) -> ThresholdCurve:
    """Coverage and precision of the pseudo-labels over every threshold; tied groups are never selected."""
    xp, right = array_namespace(matches.margin), _is_true(matches.matching, truth)
    order = xp.argsort(matches.margin, descending=True, stable=False)
    order = order[~matches.tied[order]]
    margin, hits = matches.margin[order], xp.cumulative_sum(xp.astype(right[order], xp.int64))
    (last,) = xp.nonzero(xp.concat([margin[1:] != margin[:-1], xp.ones_like(order[:1], dtype=xp.bool)]))
    chosen = xp.astype(last + 1, xp.float64)
    return ThresholdCurve(margin[last], chosen / len(right), hits[last] / chosen, last + 1)


def precision(matching: Array, selected: Array, truth: Array) -> float | None:
    """Share of the selected groups (bool (n,)) whose matching (n, m) is the true one; None if none is selected."""
    right = _is_true(matching, truth)[selected]
    return float(to_numpy(right).mean()) if len(right) else None


def oracle_mask(truth: Array) -> Callable[[Matches], Array]:
    """The skyline's selector: exactly the groups whose induced matching is right ([TTM] section 4.5).

    The only way in which test-time matching learns anything from truth; pages label it so.
    """
    return lambda matches: _is_true(matches.matching, truth)


def _is_true(matching: Array, truth: Array) -> Array:
    """Where a matching int (n, m) is the true one, bool (n,); of one image, where its caption is a true one."""
    xp, same = array_namespace(matching), matching == like(truth, matching)
    return xp.any(same, axis=1) if matching.shape[1] == 1 else xp.all(same, axis=1)


def global_match(
    scores: Array | AllPairs,
    truth: Array,
    per_group: int = 1,
    seed: int = 0,
    clusters: Clusters | None = None,
) -> Estimate:
    """Share of images that the one global assignment gives their own caption, in percent ([TTM] 3.2.1).

    scores : float (N, M), N <= M, or `AllPairs`; truth : int (N,), the column that belongs to each image. `per_group`
    consecutive images form one group, the unit of the interval. Chance level 1/M. Columns are shuffled
    (seeded) before they are assigned, so that ties fall at random and never to the file's order; they are not counted
    (finding them means solving N further assignments).
    """
    pairs = AllPairs.of(scores)
    order = np.random.default_rng(seed).permutation(pairs.captions)
    right = order[to_numpy(match_global(pairs.permute_captions(order)))] == to_numpy(truth)
    per = right.reshape(-1, per_group).mean(axis=1)
    return estimate(per, 100 / pairs.captions, None, per_group, clusters)
