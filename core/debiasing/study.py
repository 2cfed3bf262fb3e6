"""One model's scores on one set, debiased: every metric at every alpha, tuned and validated, and what the language
prior knows by itself. The same for command line, page and benchmark.

A member of the metrics family: it passes truth on to them. Sources: [VGPT] sections 4 and 5, Tables 2, 3, 6 and 14.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations
from math import perm
from typing import Any, NamedTuple, TypeVar

import numpy as np
from array_api_compat import array_namespace

from core.base.arrays import Array, as_array, as_float64, like, to_numpy
from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.base.text import _KEPT, _pct, p_digits
from core.debiasing import curves
from core.debiasing.curves import AlphaCurve, BestAlpha, ValidatedAlpha, _mean_and_sd
from core.debiasing.debias import _rounding_of, check_prior, debias, group_prior, prior_from_samples
from core.debiasing.verdicts import _conclusion, _headline
from core.groups import check_truth
from core.matching.groups import MAX_ENUMERATED, check_scores
from core.metrics import statistics
from core.metrics.evaluation import Evaluation
from core.metrics.groups import METRICS, TEXT_SCORE, chance, metrics_of_shape
from core.metrics.statistics import Clusters, Comparison, Estimate, _power_of_bets

# Of one study that stay in memory: at 0, at 1, at the best alphas, and at those last looked at.
_EVALUATIONS = 16
_FEWEST_UNITS = 30  # groups, or clusters of one size: what fewer show of alpha is no verdict
_AS_LIKELY = 60.0  # percent of pairs: up to there true and false captions count as equally likely texts
TUNED_ON_TEST = "tuned on test"  # said beside every optimum that was found on the groups it is reported on
TUNED_PER_ROW = f"{TUNED_ON_TEST}, per row"  # where every metric, or every tag, has an alpha of its own
_Key = TypeVar("_Key", bound=Hashable)

_STATES = {
    "false_less_likely": "Scenario 1: false captions are less likely as text than true ones, so that the prior helps.",
    "false_as_likely": "Scenario 2: as text true captions are no likelier than false ones, or hardly so.",
    "cannot_tell": "These groups cannot tell whether true captions are likelier as text than false ones.",
    "constant_prior": "The prior gives all captions of a group the same log P(t), so that alpha changes nothing.",
    "no_false_captions": "Every caption is true of an image of its group, so true and false captions cannot be "
    "compared as texts; removing the prior can still change which caption an image prefers.",
}


class _CaptionLikelihoods(NamedTuple):
    """log P(t) of captions that belong to an image of their group and of those that belong to none ([VGPT] Table 2).

    true, false : float64, one per caption of a group. likelier : percent of (true, false) pairs within a group where
    the true one is likelier as text, ties half; None where a group has no false caption, as in square groups.
    tied : the prior prefers no caption of any group.
    syntax_bias : float64 (n,), -1 to 1, after the SyntaxBias score of Ma et al. 2024, arXiv 2308.10509, Eq. 4: log P(t)
    of a group's true captions less that of its false ones, mean over all pairs of the two, divided by the set's largest
    such difference. Theirs is of one true and one false sentence, each a weighted sum of its tokens' log P by a
    text-only model, Vicuna-13B (the weights are not given there; in their Eq. 3 they are 1 / length), scaled to [-1, 1]
    without saying how. Ours are the mean over pairs, the divisor, which differs from set to set and from tag to tag,
    and log P(t): that of whichever prior is studied, a mean over tokens where this program made it, else what a file
    holds, such as the sums of lm-eval. 0 in square groups, whose captions are all true of an image; the paper scores
    Winoground's, too.
    """

    true: np.ndarray
    false: np.ndarray
    likelier: Estimate | None
    syntax_bias: np.ndarray
    tied: bool = False

    @property
    def scenario(self) -> int | None:
        """1: false captions are less likely as text, which a prior can use; 2: about as likely, or likelier; 0: there
        are none; None: these groups cannot tell, or the prior prefers no caption. 1 and 2 hold for the whole interval
        of `likelier`, by cluster where there are clusters.
        """
        if self.likelier is None:
            return 0
        if self.tied:
            return None
        low, high = self.likelier.bounds
        return 1 if low > 50 else 2 if high < _AS_LIKELY else None

    @property
    def state(self) -> str:
        """A key of `_STATES`: what `scenario` says, and why where it is none."""
        if self.likelier is None:
            return "no_false_captions"
        known = {1: "false_less_likely", 2: "false_as_likely", None: "cannot_tell"}
        return "constant_prior" if self.tied else known[self.scenario]

    def record(self) -> dict[str, Any]:
        """JSON-safe."""
        return {
            "scenario": self.scenario or None,
            "state": self.state,
            "says": _STATES[self.state],
            "true_caption_likelier": None if self.likelier is None else self.likelier.record(),
            "syntax_bias": round(float(self.syntax_bias.mean()), _KEPT),
        }


class _RatedCaption(NamedTuple):
    """A caption of a set as text. group, place : where it stands first; true, false : in how many groups it belongs to
    an image, and to none."""

    group: int
    place: int
    log_p: float
    true: int
    false: int


class _ChangedGroups(NamedTuple):
    """Groups that alpha changes, bool (n,) each: right at alpha and wrong at 0; wrong at alpha and right at 0."""

    fixed: np.ndarray
    broken: np.ndarray


class _BestGain(NamedTuple):
    """The best alpha against alpha 0 on the groups that it was chosen on.

    gain : points, interval and p at that alpha, which are on the hopeful side: it was chosen for them. p_any : p over
    all alphas at once; units : how many independent clusters of one size, or groups, these are worth; largest : how
    many groups the largest cluster holds; signs : p over all alphas where changes have random signs, at most p_any (all
    four: `Comparison.of_best`). p_holm, signs_holm : p_any and signs after Holm over all verdicts that it is shown
    with, None of one alone.
    """

    gain: Comparison
    p_any: float
    units: float
    largest: int = 1
    signs: float = 1.0
    p_holm: float | None = None
    signs_holm: float | None = None

    @staticmethod
    def holm(found: Mapping[_Key, _BestGain]) -> dict[_Key, _BestGain]:
        """Verdicts shown together, corrected so that with no gain anywhere at most 5 % of outputs show one."""
        if len(found) < 2:
            return dict(found)
        p_values, signs = (
            Comparison.corrected([getattr(gain, name) for gain in found.values()])
            for name in ("p_any", "signs")
        )
        return {
            key: gain._replace(p_holm=p, signs_holm=sign)
            for (key, gain), p, sign in zip(found.items(), p_values, signs, strict=True)
        }

    @property
    def too_few(self) -> bool:
        """Whether there are too few clusters, or groups, for a verdict, whatever these show.

        A kind of clusters that is one in ten, and loses more groups than the others gain, is missing from 30 of them
        in 4.2 % of sets and from 10 in 35 %: no test of those that were drawn can tell. So few groups of which none
        share anything may come from such a set as well.
        """
        return self.units < _FEWEST_UNITS

    @property
    def helps(self) -> bool:
        """Whether some alpha is better than 0, by cluster where there are clusters.

        Wrong in at most 2.5 % of sets where, without a gain, each group's (or cluster's) change is as likely up as
        down, and in at most 5 % whatever the changes of clusters are, if none is larger than the largest one here.
        """
        return self._seen and self.p_value <= 0.05

    @property
    def probably(self) -> bool:
        """Whether that holds only if without a gain each cluster's change is as likely up as down: no test of those
        that were drawn can tell that none of another kind loses much.
        """
        return self._seen and not self.helps and self.sign_p <= 0.05

    @property
    def _seen(self) -> bool:
        return not self.too_few and (self.gain.clustered or self.gain).low > 0

    @property
    def sign_p(self) -> float:
        """`signs`, corrected where there are several verdicts."""
        return self.signs if self.signs_holm is None else self.signs_holm

    @property
    def p_value(self) -> float:
        """p over all alphas, corrected where there are several verdicts: that luck alone gains so much somewhere."""
        return self.p_any if self.p_holm is None else self.p_holm

    def record(self) -> dict[str, Any]:
        """JSON-safe. `better_than_0` : true, false where no alpha was found better, null where there are `too_few`.
        `probably` : true where one is if clusters, or groups, gain and lose alike (`probably`).
        """
        found = {"gain": self.gain.record(), "p_any_alpha": self.p_any, "p_random_signs": self.signs}
        if self.p_holm is not None and self.signs_holm is not None:
            found |= {"p_any_alpha_holm": self.p_holm, "p_random_signs_holm": self.signs_holm}
        found |= {"units": round(self.units, 1), "largest_cluster": self.largest}
        better = None if self.too_few else bool(self.helps)
        return found | {"better_than_0": better, "probably": bool(self.probably), "says": self.says}

    @property
    def says(self) -> str:
        """What the verdict rests on: the p, or what could not be seen."""
        clustered = self.gain.clustered
        if self.too_few:
            what = f"{self.units:.0f} groups or images"
            if clustered is not None:
                what = f"worth {_pct(self.units)} clusters of one size by {clustered.by}"
            return f"{what}, and of fewer than {_FEWEST_UNITS} a kind that loses may be missing"
        if self.helps:
            held = ""
            if clustered is not None:
                held = f", for clusters by {clustered.by} of at most {self.largest} groups"
            after = "" if self.p_holm is None else ", after Holm,"
            return f"p over all alphas{after} {p_digits(self.p_value)}{held}"
        if self.p_any <= 0.05 and self.gain.difference > 0:
            after = "" if self.p_holm is None else ", after Holm,"
            return f"p over all alphas{after} {p_digits(self.p_value)}"
        least = (clustered or self.gain).detectable
        if least is None:
            return "no gain could be told on so few"
        return f"a gain below {_pct(least)} points could not be {'proven' if self.probably else 'told'}"


class PriorStability(NamedTuple):
    """A prior of so many images, drawn several times ([VGPT] Table 6): means and standard deviations (n - 1) over the
    draws.

    value : the metric in percent at its best alpha, tuned on test. alpha : that best alpha. one : the metric at
    alpha = 1. spread : mean over captions of the standard deviation of log P_train(t).
    """

    size: int
    value: tuple[float, float]
    alpha: tuple[float, float]
    one: tuple[float, float]
    spread: float


@dataclass(eq=False)
class AlphaStudy:
    """Scores (n, m, k), log P(t|i), with the prior (n, k), log P_train(t), of each group's captions.

    truth : int (n, m), or (n, t) as `Evaluation` has it. Numpy arrays or torch tensors; held in numpy. Every figure in
    percent. Raises InputError for shapes that do not fit.
    """

    scores: np.ndarray
    prior: np.ndarray
    truth: np.ndarray
    ids: Sequence[str]
    seed: int = 0
    clusters: Clusters | None = None  # groups that hang together

    def __post_init__(self) -> None:
        self.scores = to_numpy(as_float64(check_scores(self.scores, list(self.ids))))
        self.prior = check_prior(self.prior, self.scores)
        n, m, k = self.scores.shape
        self.truth = check_truth(self.truth, n, m, k, ids=self.ids)
        self._evaluate = lru_cache(maxsize=_EVALUATIONS)(self._evaluation)
        self._curves: dict[str, AlphaCurve] = {}
        self._validated: dict[str, ValidatedAlpha] = {}
        self._gains: dict[str, _BestGain] = {}
        self._powers: dict[str, float] = {}

    def __repr__(self) -> str:
        m, k = self.shape
        return f"<alpha study of {len(self.scores)} groups of {m}x{k}>"

    @property
    def shape(self) -> tuple[int, int]:
        """(m, k)."""
        return self.scores.shape[1], self.scores.shape[2]

    def select(self, mask: np.ndarray) -> AlphaStudy:
        """The same study of some of the groups, bool (n,)."""
        ids = [name for name, keep in zip(self.ids, mask, strict=True) if keep]
        clusters = None if self.clusters is None else self.clusters.select(mask)
        return AlphaStudy(self.scores[mask], self.prior[mask], self.truth[mask], ids, self.seed, clusters)

    def evaluation(self, alpha: float) -> Evaluation:
        """Everything at one alpha: metrics with intervals, outcomes, matchings. The last `_EVALUATIONS` are kept."""
        return self._evaluate(float(alpha))

    def _evaluation(self, alpha: float) -> Evaluation:
        found = debias(self.scores, self.prior, alpha)
        more: dict[str, Any] = {"seed": self.seed, "clusters": self.clusters}
        more["rounding"] = _rounding_of(self.scores, self.prior, alpha)
        return Evaluation.of(found, self.truth, list(self.ids), **more)

    def curve(self, metric: str) -> AlphaCurve:
        """The exact curve of a metric, computed once."""
        if metric not in self._curves:
            self._curves[metric] = curves.alpha_curve(self.scores, self.prior, self.truth, metric)
        return self._curves[metric]

    def best(self, metric: str) -> BestAlpha:
        """Where it is highest: `TUNED_ON_TEST`."""
        return self.curve(metric).best()

    def best_gain(self, metric: str) -> _BestGain:
        """The best alpha against alpha 0 on the same groups, `TUNED_ON_TEST`, and whether any alpha is better."""
        if metric not in self._gains:
            spans = curves._intervals(self.scores, self.prior, self.truth, metric)
            before, after = curves._outcomes_over_alpha(spans)
            best = self.evaluation(self.best(metric).alpha).outcomes[metric].value
            found = Comparison.of_best(before, after, best, self.clusters)
            self._gains[metric] = _BestGain(*found)
        return self._gains[metric]

    def verdict(self, metric: str) -> _BestGain:
        """`best_gain` after Holm over all metrics that are tested (`gains`), as `record` has it."""
        return self._corrected(metric, _BestGain.holm(self.gains))

    def _strict_power(self, metric: str) -> float:
        """How often `p_any` would prove a gain like this one on sets of groups of this size, at the level of the first
        of Holm's tests: a share of sets drawn from these clusters, or groups."""
        if metric not in self._powers:
            spans = curves._intervals(self.scores, self.prior, self.truth, metric)
            outcomes, level = curves._outcomes_over_alpha(spans), 0.05 / max(1, len(self.gains))
            self._powers[metric] = _power_of_bets(*outcomes, self.clusters, level)
        return self._powers[metric]

    def validated(self, metric: str) -> ValidatedAlpha:
        """alpha chosen on one half, measured on the other, ten times."""
        if metric not in self._validated:
            self._validated[metric] = curves.validate_alpha(
                self.scores, self.prior, self.truth, metric, seed=self.seed
            )
        return self._validated[metric]

    def _chance(self, metric: str) -> float:
        """Its chance level on these groups, percent."""
        return 100 * chance(metric, *self.shape, self.truth.shape[1])

    def _to_quote(self, metric: str, found: _BestGain | None = None) -> dict[str, Any] | None:
        """The gain in a metric that may be quoted, in points, and the headline with both its ends; None of a single
        group, which has no halves.

        found : as of `_conclusion`.
        """
        if len(self.scores) < 2:
            return None
        held = self.validated(metric)
        quoted = held._to_quote(metric, METRICS[metric].label)
        return {**quoted, "line": _headline(self, metric, found), "held_out": held._gained()}

    @property
    def _movable(self) -> list[str]:
        """The metrics that alpha can change on groups of this shape."""
        return [name for name in metrics_of_shape(*self.shape) if METRICS[name].alpha.moves(*self.shape)]

    def depends(self, metric: str) -> bool:
        """Whether alpha can change a metric at all: not ImageScore, not GroupMatch on square groups, and nothing with a
        prior that is the same for all captions of a group."""
        return METRICS[metric].alpha.moves(*self.shape) and bool(np.ptp(self.prior, axis=1).any())

    def flips(self, alpha: float, metric: str) -> _ChangedGroups:
        """Which groups alpha mends and which it breaks."""
        before, after = (self.evaluation(a).outcomes[metric].value == 1 for a in (0.0, alpha))
        return _ChangedGroups(after & ~before, before & ~after)

    @cached_property
    def frequency(self) -> _CaptionLikelihoods:
        """log P(t) of true and of false captions."""
        n, m, k = self.scores.shape
        belongs = self._belongs
        if m == k:
            return _CaptionLikelihoods(self.prior[belongs], self.prior[~belongs], None, np.zeros(n))
        named = self.truth.shape[1]  # m, or more where several captions are true of one image
        true, false = self.prior[belongs].reshape(n, named, 1), self.prior[~belongs].reshape(n, 1, k - named)
        ahead, level = true > false, true == false
        share = (ahead + level / 2).mean(axis=(1, 2))
        bias = (true - false).mean(axis=(1, 2))
        ties = int(level.any(axis=(1, 2)).sum())
        return _CaptionLikelihoods(
            self.prior[belongs],
            self.prior[~belongs],
            statistics.estimate(share, 50.0, ties, 2 * named * (k - named), self.clusters, alike=True),
            bias / max(np.abs(bias).max(), np.finfo(float).tiny),
            tied=self._is_constant,
        )

    @property
    def _is_constant(self) -> bool:
        """Whether the prior prefers no caption of any group."""
        return not np.ptp(self.prior, axis=1).any()

    @property
    def _belongs(self) -> np.ndarray:
        """Which captions are true of an image of their group, bool (n, k)."""
        n, _, k = self.scores.shape
        belongs = np.zeros((n, k), dtype=bool)
        belongs[np.arange(n)[:, None], self.truth] = True
        return belongs

    def _extremes(self, index: np.ndarray, most: int = 3) -> tuple[list[_RatedCaption], list[_RatedCaption]]:
        """The likeliest captions of the set and the least likely, each from the end; of equally likely ones those that
        stand first. No caption is among both.

        index : int (n, k), the distinct caption of every group's captions, as of `Prior`.
        """
        distinct, first = np.unique(index, return_index=True)
        log_p, belongs = self.prior.ravel()[first], self._belongs
        most = min(most, len(distinct) // 2)

        def rated(one: int) -> _RatedCaption:
            where = index == distinct[one]
            group, place = divmod(int(first[one]), index.shape[1])
            true = int((where & belongs).any(axis=1).sum())
            return _RatedCaption(group, place, float(log_p[one]), true, int(where.any(axis=1).sum()) - true)

        ends = (np.lexsort((first, end)) for end in (-log_p, log_p))
        likeliest, least = ([rated(one) for one in order[:most]] for order in ends)
        return likeliest, least

    def grid(self, metric: str) -> list[float]:
        """The curve at alpha 0, 0.001, ..., 1: what one alpha over several sets is chosen from ([VGPT] section 5)."""
        return self.curve(metric).on_grid().round(4).tolist()

    def curve_table(self, *names: str) -> pd.DataFrame:
        """The exact curves of these metrics, by default of all, each value with its interval, chance and ties: one
        `_sure_table` after the other."""
        names, inputs = names or tuple(metrics_of_shape(*self.shape)), (self.scores, self.prior, self.truth)
        found = [
            curves._sure_table(curves._intervals(*inputs, name), name, self._chance(name)) for name in names
        ]
        return pd.concat(found, ignore_index=True)

    @cached_property
    def alpha(self) -> float:
        """The one alpha of a table: the best for TextScore ([VGPT] Tables 10 to 12), `TUNED_ON_TEST`."""
        return self.best(TEXT_SCORE).alpha

    @property
    def gains(self) -> dict[str, _BestGain]:
        """What is tested: metric -> `best_gain`, of metrics that depend on alpha; of groups of one image, for which all
        metrics are one and the same, of the first alone.
        """
        names = list(filter(self.depends, metrics_of_shape(*self.shape)))
        return {name: self.best_gain(name) for name in (names[:1] if self.shape[0] == 1 else names)}

    def record(
        self, alpha: float | None = None, gains: Mapping[str, _BestGain] | None = None
    ) -> dict[str, Any]:
        """A JSON-safe summary: every metric at 0, at 1, at one alpha, at its optimum and validated; and the prior.

        alpha : the one of the whole table, where these are some of its groups; by default their own. gains : `gains`
        as corrected for all that they are shown with; by default for one another (`_BestGain.holm`).
        """
        alpha = self.alpha if alpha is None else alpha
        gains = _BestGain.holm(self.gains) if gains is None else gains
        ends = {a: self.evaluation(a).metrics for a in (0.0, 1.0)}
        return {
            "n_groups": len(self.scores),
            "shape": "x".join(map(str, self.shape)),
            "to_quote": self._to_quote(self._movable[0], self._corrected(self._movable[0], gains)),
            "metrics": {
                name: self._metric(name, zero, ends[1.0][name], alpha, self._corrected(name, gains))
                for name, zero in ends[0.0].items()
            },
            "language": self.frequency.record(),
        }

    def _corrected(self, name: str, gains: Mapping[str, _BestGain]) -> _BestGain:
        """The verdict on a metric among those that are shown together."""
        if not self.depends(name):
            return self.best_gain(name)
        return next(iter(gains.values())) if self.shape[0] == 1 else gains[name]

    def _metric(
        self, name: str, zero: Estimate, one: Estimate, alpha: float, gain: _BestGain
    ) -> dict[str, Any]:
        best = self.best(name)
        found = self.evaluation(best.alpha).metrics[name]
        tuned = {"label": TUNED_PER_ROW, "alpha": best.alpha, "alpha_low": best.low, "alpha_high": best.high}
        tuned |= gain.record()
        if name in self._movable:
            tuned["verdict"] = _conclusion(self, name, gain)
        of_table = {"label": TUNED_ON_TEST, "alpha": alpha, **self.evaluation(alpha).metrics[name].record()}
        return {
            "depends_on_alpha": self.depends(name),
            "alpha_0": zero.record(),
            "alpha_1": one.record(),
            "one_alpha": of_table,
            "best": {**tuned, "intervals": best.intervals.tolist(), **found.record()},
            "validated": self._protocol(name),
        }

    def _protocol(self, name: str) -> dict[str, Any] | None:
        """alpha of one half on the other half; None for a single group. alpha is None where it changes nothing."""
        if len(self.scores) < 2:
            return None
        found = self.validated(name).record()
        return found if self.depends(name) else found | {"alpha": None}

    def matching_totals(self, index: int, alpha: float) -> list[_MatchingTotal]:
        """Totals of all matchings of one group, the best at alpha 0 first.

        On square groups every matching uses every caption, so that all totals move by the same amount and their order
        stays: why GroupMatch cannot depend on alpha ([VGPT] 3, 4). For groups with at most `MAX_ENUMERATED` matchings.
        """
        scores, prior = self.scores[index], self.prior[index]
        m, k = scores.shape
        if perm(k, m) > MAX_ENUMERATED:
            raise InputError(f"A group of {m}x{k} has too many matchings to list; choose a smaller one.")
        rows = np.arange(m)
        found = [
            _MatchingTotal(
                option,
                float(scores[rows, option].sum()),
                float((scores[rows, option] - alpha * prior[list(option)]).sum()),
            )
            for option in permutations(range(k), m)
        ]
        return sorted(found, key=lambda total: -total.before)

    def transfer_alpha(self, other: AlphaStudy, metric: str) -> dict[str, Any]:
        """The best alpha of these groups, measured on others, none of which has any part in choosing it.

        Returns a JSON-safe record: alpha, the metric there with interval, chance and ties, and `gain`, the paired
        comparison with alpha 0 (points, 95 % interval, McNemar's exact p).
        """
        alpha = self.best(metric).alpha
        before, after = other.evaluation(0.0).outcomes[metric], other.evaluation(alpha)
        gain = statistics.compare(before.value, after.outcomes[metric].value, other.clusters)
        return {"alpha": round(alpha, 4), **after.metrics[metric].record(), "gain": gain.record()}

    def stability(
        self,
        samples: np.ndarray,
        index: np.ndarray,
        sizes: Sequence[int] = (1, 3, 10, 30, 100),
        repeats: int = 5,
    ) -> list[PriorStability]:
        """How far the result depends on which images a prior was sampled from ([VGPT] Table 6).

        samples : float (images, captions), log P(t | image). index : int (n, k), the caption of every group's captions;
        in `core.debiasing.priors.Prior` they are `samples` and `caption_index`. Sizes above the number of images are
        left out; draws are without replacement, so those of all images are one and the same.
        """
        found = []
        for size in (s for s in sizes if s <= len(samples)):
            priors = _sampled_priors(samples, size, repeats, self.seed)
            studies = [AlphaStudy(self.scores, group_prior(p, index), self.truth, self.ids) for p in priors]
            best = [each.best(TEXT_SCORE) for each in studies]
            found.append(
                PriorStability(
                    size,
                    _mean_and_sd([b.value for b in best]),
                    _mean_and_sd([b.alpha for b in best]),
                    _mean_and_sd([float(each.curve(TEXT_SCORE).value(1.0)) for each in studies]),
                    float(priors.std(axis=0, ddof=1).mean()),
                )
            )
        return found


class _MatchingTotal(NamedTuple):
    """One matching's total score at alpha 0 and at another alpha."""

    matching: tuple[int, ...]
    before: float
    after: float


def pmi_text(alpha: float) -> str:
    """What alpha-debiasing equals, in words: `PMI^k with k = 1/alpha`.

    P(t|i) / P(t)^alpha is a monotone function of P(t,i)^k / (P(i) P(t)) for one image. Source: [VGPT] Eq. 9-11.

    >>> pmi_text(0.25)
    'PMI^k with k = 4'
    """
    if not alpha:
        return "the likelihood itself"
    return f"PMI^k with k = {1 / alpha:.3g}" + ", plain pointwise mutual information" * (alpha == 1)


def _sampled_priors(log_probs: Array, size: int, repeats: int = 5, seed: int = 0) -> Array:
    """Priors from `repeats` random draws of `size` images without replacement, float64 (repeats, n_captions).

    log_probs : as in `prior_from_samples`; 1 <= size <= n_images. The spread over the first axis shows how stable a
    prior of that many images is ([VGPT] Table 6: 5 seeds, sizes 3, 10, 100, 1000).
    """
    samples = as_array(log_probs)
    if samples.ndim != 2 or not 1 <= size <= len(samples) or repeats < 1:
        raise InputError(
            f"Cannot draw {size} of the samples of shape {tuple(samples.shape)} {repeats} times; draw fewer images."
        )
    rng = np.random.default_rng(seed)
    draws = (like(rng.choice(len(samples), size, replace=False), samples) for _ in range(repeats))
    return array_namespace(samples).stack([prior_from_samples(samples[chosen]) for chosen in draws])
