"""The blind check: how far a model gets on a benchmark without looking at an image, and what that means (METHODS 4).

A member of the metrics family: it passes truth on to them. [VGPT] section 5 and Tables 1 and 2: benchmarks whose false
captions are unlikely as text are solved blind; in groups whose captions are all true of some image a scorer that sees
none ties, and a tie is wrong.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from core.base.errors import InputError
from core.metrics.evaluation import Evaluation
from core.metrics.groups import INDIVIDUAL_MATCH, Estimate
from core.scorers.score_kinds import KINDS
from core.scoring.load import scorer_kind

# A blind model that gets so much of the way from chance to everything has solved a benchmark.
_SOLVED_SHARE = 0.8
METRIC = INDIVIDUAL_MATCH  # on 1xk it is TextScore; on every other shape the one that counts single images

VERDICTS = {
    "design": "By design it cannot be solved without the image.",
    "solved": "It can be solved without the image.",
    "partly": "Part of it can be solved without the image.",
    "no": "No sign that it can be solved without the image.",
    "against": "This model does not solve it without the image: it finds the false captions likelier than the true "
    "ones.",
}


class _BlindCheck(NamedTuple):
    """A blind model's result on a set.

    verdict : a key of `VERDICTS`. metrics : every metric. found : share of single images whose caption it finds.
    way : how much of the way from chance to 100 % that is, with its interval; negative below chance.
    """

    verdict: str
    metrics: dict[str, Estimate]
    found: Estimate
    way: tuple[float, float, float]

    def record(self) -> dict[str, Any]:
        """JSON-safe."""
        way = dict(zip(("value", "low", "high"), (round(w, 4) for w in self.way), strict=True))
        return {
            "verdict": self.verdict,
            "says": VERDICTS[self.verdict],
            "way_from_chance": way,
            "metrics": {name: e.record() for name, e in self.metrics.items()},
        }

    def explain(self, model: str, shape: tuple[int, int]) -> str:
        """The verdict in plain language, with interval and chance level."""
        e = self.found
        numbers = f"{e.value:.1f} % of the captions (95 % interval {e.low:.1f}–{e.high:.1f}, chance {e.chance:.1f} %)"
        if self.verdict == "design":
            m, k = shape
            return (
                f"{VERDICTS['design']} Each of a group's {k} captions is true of one of its {m} images, and a "
                "blind model scores all images alike: every comparison between images is a tie, and a tie is wrong."
            )
        what = {
            "solved": f"{model} finds {numbers} from the words alone. A high score here is no evidence that a model "
            f"uses the image.",
            "partly": f"{model} finds {numbers} from the words alone. Compare the scores of image-text models with "
            "that.",
            "no": f"{model} finds {numbers} from the words alone, which is no better than guessing.",
            "against": f"{model} finds {numbers} from the words alone, fewer than by guessing: its language prior "
            f"misleads it here.",
        }[self.verdict]
        return f"{VERDICTS[self.verdict]} {what}"


def blind_baseline(scores: np.ndarray, truth: np.ndarray, seed: int = 0) -> _BlindCheck:
    """What a blind model's scores make of a set.

    scores : float (n, m, k), equal for all images of a group, as of any model that sees none. truth : int (n, m).
    The verdict compares the 95 % interval of IndividualMatch with its chance level 1/k. On square groups every caption
    is true of one image, so that a blind model finds exactly one caption of k whatever it prefers.
    Raises InputError for scores that differ between the images of a group.
    """
    array = np.asarray(scores)
    if array.ndim == 3 and (array != array[:, :1]).any():
        raise InputError(
            "The scores differ between images of one group, so this model uses the image; choose a text-only one."
        )
    evaluation = Evaluation.of(array, truth, seed=seed)
    found = evaluation.metrics
    single, (m, k) = found[METRIC], evaluation.shape
    return _BlindCheck(_verdict(single, m == k), found, single, _share_above_chance(single))


def check_blind(name: str) -> None:
    """Raise InputError unless a model by this name sees no image."""
    kind = KINDS[scorer_kind(name)]
    if kind.reads_image:
        raise InputError(
            f"{name} gives {kind.label}, which uses the image; choose a text-only model such as builtin/blind-lm, "
            "lm:NAME, or blind:NAME for a captioner."
        )


def _share_above_chance(found: Estimate) -> tuple[float, float, float]:
    low, middle, high = (
        (x - found.chance) / (100 - found.chance) for x in (found.low, found.value, found.high)
    )
    return middle, low, high


def _verdict(found: Estimate, square: bool) -> str:
    if square:
        return "design"
    if found.high < found.chance:
        return "against"
    if found.low <= found.chance:
        return "no"
    return "solved" if _share_above_chance(found)[0] >= _SOLVED_SHARE else "partly"
