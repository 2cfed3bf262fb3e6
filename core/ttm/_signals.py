"""What can be seen of a model and a set before any label: what the forecast of test-time matching reads.

Everything is a share or a ratio, so that models whose scores have other units are comparable. Source of the
agreement corrected for chance: Cohen's kappa with equal shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import nan, perm

import numpy as np

from core.matching.comparisons import fitted_groups
from core.matching.groups import Matches, match

_SUREST = 0.2  # of the groups, those with the largest margins: what the first iteration trains on


def first_signals(
    scores: np.ndarray,
    views: tuple[np.ndarray, np.ndarray] | None = None,
    others: Mapping[str, np.ndarray] | None = None,
) -> dict[str, float]:
    """Of the scores (n, m, k) before adaptation; NaN where something is not known.

    views : scores of two augmented views. others : scores of other models by a name, each (n, m, k). Gives

    - chance : that a random matching is a group's right one.
    - consistency : share of groups whose induced matching passes GroupScore's strict test against itself.
    - tied : share of groups without an induced matching.
    - margin, margin_low, margin_high : median, 10 % and 90 % quantile of the margins, in standard deviations of
      scores within groups.
    - NAME, NAME_sure : agreement with `views` (of the two with each other) or with another model, corrected for chance
      (1 always, 0 as two random ones), in all groups and in the fifth of them with the largest margins.
    """
    matches = match(scores)
    _, m, k = scores.shape
    spread = float(np.sqrt(scores.astype(np.float64).var(axis=(1, 2)).mean())) or 1.0
    low, middle, high = np.quantile(matches.margin, (0.1, 0.5, 0.9)) / spread
    pairs = {name: (matches, match(other)) for name, other in (others or {}).items()}
    if views is not None:
        pairs["views"] = (match(views[0]), match(views[1]))
    found = {
        "chance": 1 / perm(k, m),
        "consistency": _consistency(scores, matches),
        "tied": float(matches.tied.mean()),
        "margin": float(middle),
        "margin_low": float(low),
        "margin_high": float(high),
    }
    surest = np.argsort(-matches.margin, kind="stable")[: max(1, int(_SUREST * len(scores)))]
    for name, (one, other) in pairs.items():
        same = _same(one, other)
        found[name] = _beyond_chance(same, found["chance"])
        found[f"{name}_sure"] = _beyond_chance(same[surest], found["chance"])
    return found


def _consistency(scores: np.ndarray, matches: Matches) -> float:
    """Share of groups whose induced matching passes GroupScore's strict test against itself; a tie fails it."""
    clear = ~matches.tied
    passed = fitted_groups(scores[clear], matches.matching[clear]) if clear.any() else np.zeros(0)
    return float(passed.sum() / len(scores))


def moved(before: Matches, after: Matches) -> float:
    """Share of groups whose induced matching is another one than before; a group that is tied either time counts."""
    return float(1 - _same(before, after).mean())


def _same(one: Matches, other: Matches) -> np.ndarray:
    """Where two induced matchings are equal, bool (n,); never where one is tied."""
    return (one.matching == other.matching).all(axis=1) & ~one.tied & ~other.tied


def _beyond_chance(same: np.ndarray, chance: float) -> float:
    return float((same.mean() - chance) / (1 - chance)) if len(same) else nan
