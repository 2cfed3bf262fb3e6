"""The blind check: how far a model gets on a benchmark without looking at an image, and what that means.

A member of the metrics family: it passes truth on to them. [VGPT] section 5 and Tables 1 and 2: benchmarks whose false
captions are unlikely as text are solved blind; in groups whose captions are all true of some image a scorer that sees
none ties, and a tie is wrong.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from core.base.errors import InputError
from core.base.text import _KEPT, _pct
from core.metrics.evaluation import Evaluation
from core.metrics.groups import INDIVIDUAL_MATCH
from core.metrics.statistics import Clusters, Estimate, estimate
from core.scorers.score_kinds import KINDS
from core.scoring.load import scorer_kind

# How much of the way from chance to its ceiling a blind model must get to have solved a benchmark, and may get at most
# to have got nowhere. Verdicts hold for the whole 95 % interval, so that each is wrong in at most 5 % of sets.
_SOLVED_SHARE, _NOWHERE_SHARE = 0.8, 0.2
METRIC = INDIVIDUAL_MATCH  # on 1xk it is TextScore; on every other shape the one that counts single images

VERDICTS = {
    "design": "By design it cannot be solved without the image.",
    "solved": "It can be solved without the image.",
    "partly": "Part of it can be solved without the image.",
    "no": "This model gets next to nowhere without the image.",
    "against": "This model does not solve it without the image: it finds the false captions likelier than the true "
    "ones.",
    "unclear": "These groups cannot tell whether it can be solved without the image.",
    "tied": "This model prefers no caption at all, so that the check says nothing.",
}


class _BlindCheck(NamedTuple):
    """A blind model's result on a set.

    verdict : a key of `VERDICTS`. metrics : every metric. found : share of single images whose caption it finds.
    way : how much of the way from chance to `ceiling` that is, with its interval; negative below chance.
    ceiling : the most that a model can find blind, percent: it gives all m images of a group the same caption.
    """

    verdict: str
    metrics: dict[str, Estimate]
    found: Estimate
    way: tuple[float, float, float]
    ceiling: float

    def record(self) -> dict[str, Any]:
        """JSON-safe."""
        way = dict(zip(("value", "low", "high"), (round(w, _KEPT) for w in self.way), strict=True))
        return {
            "verdict": self.verdict,
            "says": VERDICTS[self.verdict],
            "way_from_chance": way,
            "ceiling": round(self.ceiling, _KEPT),
            "metrics": {name: e.record() for name, e in self.metrics.items()},
        }

    def explain(self, model: str, shape: tuple[int, int]) -> str:
        """The verdict in plain language, with interval and chance level."""
        e, (m, k) = self.found, shape
        most = f", at most {_pct(self.ceiling)} %: one of a group's {m} images" if 1 < m < k else ""
        numbers = f"{_pct(e.value)} % of the captions ({e.interval}, chance {_pct(e.chance)} %{most})"
        what = {
            "design": f"Each of a group's {k} captions is true of one of its {m} images, and a blind model scores all "
            "images alike: every comparison between images is a tie, and a tie is wrong.",
            "solved": f"{model} finds {numbers} from the words alone. A high score here is no evidence that a model "
            f"uses the image.",
            "partly": f"{model} finds {numbers} from the words alone. Compare the scores of image-text models with "
            "that.",
            "no": f"{model} finds {numbers} from the words alone, hardly more than by guessing.",
            "against": f"{model} finds {numbers} from the words alone, fewer than by guessing: its language prior "
            f"misleads it here.",
            "unclear": f"{model} finds {numbers} from the words alone. The interval holds the chance level and much "
            "better results as well: measure more groups.",
            "tied": f"{model} gives all {k} captions of every group the same score, and a tie is wrong: choose another "
            "text-only model.",
        }[self.verdict]
        return f"{VERDICTS[self.verdict]} {what}"


def blind_baseline(scores: np.ndarray, truth: np.ndarray, clusters: Clusters | None = None) -> _BlindCheck:
    """What a blind model's scores make of a set.

    scores : float (n, m, k), equal for all images of a group, as of any model that sees none. truth : int (n, m).
    clusters : groups that hang together; the verdict then takes their interval.
    The verdict compares the 95 % interval of IndividualMatch with its chance level 1/k and its ceiling 1/m: the caption
    preferred in a group belongs to one of its images at most. Ties count as wrong where the verdict is that a model
    does well, and as right where it is that it does badly. Groups with the same captions are one question asked
    again, and the interval by cluster counts them so. On square groups every caption is true of one image, so that
    a blind model finds exactly one caption of k whatever it prefers.
    Raises InputError for scores that differ between the images of a group.
    """
    array = np.asarray(scores)
    if array.ndim == 3 and (array != array[:, :1]).any():
        raise InputError(
            "The scores differ between images of one group, so this model uses the image; choose a text-only one."
        )
    evaluation = Evaluation.of(array, truth, clusters=clusters)
    m, k = evaluation.shape
    found, preferred = evaluation.metrics, array[:, 0] == array[:, 0].max(axis=1, keepdims=True)
    if m == k:
        return _BlindCheck("design", found, found[METRIC], (0.0, 0.0, 0.0), 100 / m)
    # A group is right or wrong: it finds one of its m captions or none, which makes the interval exact.
    if evaluation.truth.shape[1] > m:  # several captions of one image have to score highest together
        outcome = evaluation.outcomes[METRIC]
        strict, won, level = outcome.value == 1, (outcome.value == 1) | outcome.tied, found[METRIC].chance
    else:
        won = np.take_along_axis(preferred, evaluation.truth, axis=1).any(axis=1)
        strict, level = won & (preferred.sum(axis=1) == 1), 100 * m / k
    right, loose = (
        estimate(hits, level, int((won & ~strict).sum()), 1, clusters, alike=True) for hits in (strict, won)
    )
    single = _per_image(right, m)
    low, high = right.bounds[0], loose.bounds[1]
    way, at_least, at_most = ((x - right.chance) / (100 - right.chance) for x in (right.value, low, high))
    verdict = "tied" if preferred.all() else _verdict(at_least, at_most)
    return _BlindCheck(verdict, found | {METRIC: single}, single, (way, at_least, at_most), 100 / m)


def _per_image(found: Estimate, m: int) -> Estimate:
    """Of the m images of a group a blind model finds the caption of one at most."""
    clustered = found.clustered
    if clustered is not None:
        clustered = clustered._replace(low=clustered.low / m, high=clustered.high / m)
    scaled = {name: getattr(found, name) / m for name in ("value", "low", "high", "chance")}
    return found._replace(**scaled, clustered=clustered)


def check_blind(name: str) -> None:
    """Raise InputError unless a model by this name sees no image."""
    kind = KINDS[scorer_kind(name)]
    if kind.reads_image:
        raise InputError(
            f"{name} gives {kind.label}, which uses the image; choose a text-only model such as builtin/blind-lm, "
            "lm:NAME, or blind:NAME for a captioner."
        )


def _verdict(low: float, high: float) -> str:
    """From the way that a blind model gets, with its interval."""
    if low >= _SOLVED_SHARE:
        return "solved"
    if low > 0:
        return "partly"
    if high < 0:
        return "against"
    return "no" if high <= _NOWHERE_SHARE else "unclear"
