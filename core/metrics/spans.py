"""Intervals of alpha on which the parts of a metric are right: what the alpha rule of a metric is made of.

A member of the metrics family: it reads truth. A metric's rule (`Metric.alpha` in `core.metrics.table`) takes an
`AlphaView` of many groups and combines its parts with `every` and `beside`; `core.debiasing.curves` makes the curve
of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np


@dataclass(frozen=True)
class Spans:
    """Where each unit is right: on the open interval (low, high) of alpha. Arrays (n, u), all float64.

    A unit is a group (u = 1), or a part of a group that counts by itself, such as an image (IndividualMatch, u = m): a
    group's outcome is the share of its units that are right. The interval is empty where low >= high. On the closed
    interval [tied_low, tied_high] the unit is right or misses only by a tie.
    """

    low: np.ndarray
    high: np.ndarray
    tied_low: np.ndarray
    tied_high: np.ndarray

    @property
    def parts(self) -> tuple[np.ndarray, ...]:
        """The four fields, in order."""
        return self.low, self.high, self.tied_low, self.tied_high

    def select(self, groups: np.ndarray) -> Spans:
        """The spans of some groups."""
        return Spans(*(part[groups] for part in self.parts))


# How each of the four fields combines where two spans must both hold.
NARROWER = (np.maximum, np.minimum, np.maximum, np.minimum)


def every(*spans: Spans) -> Spans:
    """Right where all units of all of these are right: (n, u) each -> (n, 1)."""
    fields = zip(*(s.parts for s in spans), strict=True)
    # Unit by unit: a few times faster than numpy's reduction along a short last axis.
    units = ((unit for part in field for unit in part.T) for field in fields)
    return Spans(*(reduce(keep, each)[:, None] for keep, each in zip(NARROWER, units, strict=True)))


def beside(*spans: Spans) -> Spans:
    """Each unit counts by itself, with the same weight: (n, u) each -> (n, sum of u)."""
    if len(spans) == 1:
        return spans[0]
    return Spans(*(np.hstack(part) for part in zip(*(s.parts for s in spans), strict=True)))


def constant(right: np.ndarray, loose: np.ndarray) -> Spans:
    """Spans of units that alpha cannot change. right, loose : bool (n, u), the unit is right, it is right or ties."""
    low, tied_low = (np.where(x, -np.inf, np.inf) for x in (right, loose))
    return Spans(low, -low, tied_low, -tied_low)


def half_lines(d: np.ndarray, q: np.ndarray) -> Spans:
    """Where all differences are positive, over the last axis: the intersection of { alpha : d > alpha * q }.

    d : lead of the true side at alpha = 0. q : what alpha = 1 takes from that lead.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        crossing = d / q
    low = np.where(q < 0, crossing, -np.inf).max(axis=-1)
    high = np.where(q > 0, crossing, np.inf).min(axis=-1)
    flat = q == 0
    lost, drawn = (flat & (d < 0)).any(axis=-1), (flat & (d == 0)).any(axis=-1)
    tied_low = np.where(lost, np.inf, low)
    return Spans(np.where(lost | drawn, np.inf, low), high, tied_low, high)


@dataclass(frozen=True)
class AlphaView:
    """What the alpha rules of metrics combine, over n groups of m images and k captions; computed when asked for.

    scores : float64 (n, m, k), log P(t|i). prior : float64 (n, k), log P_train(t). truth : int (n, m).
    """

    scores: np.ndarray
    prior: np.ndarray
    truth: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """(m, k)."""
        return self.scores.shape[1], self.scores.shape[2]

    @property
    def rows(self) -> Spans:
        """Each image's own caption against its other captions, (n, m)."""
        raise NotImplementedError

    @property
    def columns(self) -> Spans:
        """Each true caption's own image against the other images, (n, m): alpha moves none of them."""
        raise NotImplementedError

    @property
    def matching(self) -> Spans:
        """The total of the true matching against every other matching's, (n, 1)."""
        raise NotImplementedError
