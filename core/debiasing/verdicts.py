"""Whether removing the language prior helps, in one sentence: the same on the page and of the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import scipy

from core.base.text import _p_said, _pct
from core.metrics.groups import METRICS
from core.metrics.statistics import Comparison, compare

if TYPE_CHECKING:
    from core.debiasing.study import AlphaStudy, _BestGain

_WELL_BELOW_1 = 0.9  # an alpha up to there leaves a part of the prior in
_LARGE = 10.0  # points of a held-out gain that nobody reads as no difference


def _conclusion(study: AlphaStudy, metric: str, found: _BestGain | None = None, gained: str = "") -> str:
    """One sentence: removing the prior helps, makes no difference or harms, or these groups cannot tell; where a part
    of it and all of it do different things, both.

    found : the gain as corrected for all that it is shown with; by default `AlphaStudy.verdict`. gained : from what to
    what, as `_headline` has it.
    """
    found = study.verdict(metric) if found is None else found
    few = f"These {len(study.scores)} groups are too few to tell whether removing the language prior helps"
    if found.too_few:
        return f"{few}{gained}."
    harms = _harm(study, metric) is not None
    and_all = "; removing all of it harms" * harms
    if not found.gain.difference > 0:
        if not harms:
            best = study.best(metric)
            does = "makes no difference" if (best.low, best.high) == (0, 1) else "does not help"
            return f"Removing the language prior {does} here{gained}."
        all_of_it = f"{f'{gained};' if gained else ', and'} removing all of it (α = 1) harms"
        return f"Removing the language prior does not help here{all_of_it}."
    here = "" if harms else " here"
    does = f"makes no clear difference{here}"
    if not (found.helps or found.probably) and _is_large(study, metric):
        return f"{few}{gained}{and_all}."
    if found.helps or found.probably:
        # “Not proven” by a test that could hardly prove such a gain says nothing of the gain.
        sure = "not proven"
        if found.probably and _cannot_decide(study, metric):
            sure = _p_said(found.sign_p)
        does = "helps here" if found.helps else f"probably helps here ({sure})"
    is_part = harms or study.best(metric).intervals.max() < _WELL_BELOW_1
    part = "part of " if is_part else ""
    return f"Removing {part}the language prior {does}{gained}{and_all}."


def _headline(study: AlphaStudy, metric: str, found: _BestGain | None = None) -> str:
    """`_conclusion` with the one number that may be quoted, on groups that did not choose alpha, as `: held-out
    TextScore 41.9 → 46.2 % (chance 3.7 %)`, from alpha 0 to the chosen one; of a single group, which has no halves,
    without it.

    p stays beside what it is a test of: whether any alpha helps.
    """
    if len(study.scores) < 2:
        return _conclusion(study, metric, found)
    held = study.validated(metric).summary
    ends = f"{_pct(held['zero'][0])} → {_pct(held['values'][0])} %"
    level = f"chance {_pct(study._chance(metric))} %"
    return _conclusion(study, metric, found, f": held-out {METRICS[metric].label} {ends} ({level})")


def _harm(study: AlphaStudy, metric: str) -> Comparison | None:
    """All of the prior removed against none of it, where that loses more than luck alone would; else None."""
    none, whole = (study.evaluation(alpha).outcomes[metric].value for alpha in (0.0, 1.0))
    change = compare(none, whole, study.clusters)
    return change if (change.clustered or change).high < 0 else None


def _is_large(study: AlphaStudy, metric: str) -> bool:
    """Whether the held-out gain is so large that “no clear difference” would contradict it."""
    return len(study.scores) > 1 and study.validated(metric)._gain[0] >= _LARGE


def _cannot_decide(study: AlphaStudy, metric: str) -> bool:
    """Whether the stricter test would prove a gain like this one on less than half of such sets."""
    return study._strict_power(metric) < 0.5


def _leans(count: int, of: int) -> int:
    """Whether a count differs from half by more than luck: 1 above it, -1 below it, 0 where an exact two-sided binomial
    test does not tell (p of 0.05 or more).

    >>> _leans(22, 49), _leans(3, 10), _leans(59, 232), _leans(262, 304)
    (0, 0, -1, 1)
    """
    if not of or scipy.stats.binomtest(count, of, 0.5).pvalue >= 0.05:
        return 0
    return 1 if 2 * count > of else -1
