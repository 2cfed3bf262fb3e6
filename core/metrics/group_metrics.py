"""The group metrics: one entry each, with everything that a page, a curve, a report or an export asks of it.

A member of the metrics family: it reads truth. Sources: [TTM] Eq. 1, sections 3.1 and 4.5, appendix B; Winoground
(Thrush et al. 2022) for the text and image scores. To add a metric, add an entry to `METRICS`: nothing else anywhere
names metrics one by one, and an entry that lacks a part is refused when this module is imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from math import factorial, floor, log10, perm
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from core.base.errors import InputError, unknown_name
from core.groups import image_name
from core.matching import comparisons
from core.matching.comparisons import Found, View
from core.metrics.alpha_intervals import AlphaInputs, AlphaIntervals, _decimals, all_of

# For pages and lessons that speak about one metric in particular.
TEXT_SCORE, IMAGE_SCORE, GROUP_SCORE = "text_score", "image_score", "group_score"
GROUP_MATCH, INDIVIDUAL_MATCH = "group_match", "individual_match"
GLOBAL_MATCH, IMAGE_TO_TEXT, TEXT_TO_IMAGE = "global_match", "image_to_text_r1", "text_to_image_r1"

SYMBOLS = {"right": "✓", "wrong": "✗", "tie": "="}

Rule = Callable[[View], Found]
_MOST_TERMS = 4  # of a sum that is written out
_LEAST_DIGITS, _MOST_DIGITS = 2, 6  # decimals of a score that is shown
_MOST_OFF = 0.1  # of the shown margin, what the shown totals may be further apart or nearer


class GroupData(NamedTuple):
    """One group as it is drawn and as the metrics compare it. Arrays are float64 (m,) unless said; NaN: no rival.

    Where several captions are true of a group's one image, `truth` and the arrays beside it have an entry for each.
    """

    scores: np.ndarray  # (m, k)
    matching: list[int] | None  # the induced one; None where two matchings tie
    truth: list[int]
    true: np.ndarray  # score of each image with its own caption
    row_rival: np.ndarray  # best other caption of that image
    column_rival: np.ndarray  # best other image of that caption
    true_total: float  # where several captions are true, of the best
    rival_total: float  # of the best other matching
    margin: float
    kinds: dict[str, str]  # each metric's verdict, a key of `SYMBOLS`
    # The caption of each image in the best other matching; of one image, its best other caption.
    rival: list[int]
    shares: Mapping[str, float] = MappingProxyType({})  # by metric: how much of the group is right, in [0, 1]
    decimals: int | None = None  # with which it is shown beside others; None: as many as it takes by itself
    usual: int | None = None  # decimals of its set, so that groups can be compared; None: it is alone

    def beside(self, others: Iterable[GroupData], *, totals: bool = True, exact: bool = True) -> GroupData:
        """Itself, shown with as many decimals as it takes for all of these: they are read side by side.

        totals : whether totals or margins are read beside the scores; without them fewer decimals are enough.
        exact : whether sums and margin have to be right as they are printed; else some sums say ≈.
        """
        every = [self, *others]
        settled = [each.decimals for each in every if each.decimals is not None]
        if len(settled) == len(every):
            return self._replace(decimals=max(settled))
        return self._replace(decimals=_fewest_decimals(every, totals, exact))

    def _told(self, name: str) -> str:
        """A metric's verdict: `right`, `wrong` or `tie`; of one that counts parts, `1 of 2 right`."""
        parts = METRICS[name].parts(len(self.scores))
        if parts == 1 or name not in self.shares:
            return self.kinds[name]
        return f"{round(self.shares[name] * parts)} of {parts} right"

    @property
    def truth_pairs(self) -> list[tuple[int, int]]:
        """The true pairs: image, caption."""
        several = len(self.truth) > len(self.scores)
        return [(0 if several else i, j) for i, j in enumerate(self.truth)]

    @property
    def digits(self) -> int:
        """Decimals with which its scores are shown: those of its set, up to two more where all that is shown then adds
        up, or where different scores would look alike or the margin wrong, the fewest up to six with which they do
        not. A group alone has the fewest, from two, with which all adds up. Where rounding spoils a sum it says ≈."""
        return _fewest_decimals([self]) if self.decimals is None else self.decimals

    def _decides_right(self, digits: int) -> bool:
        """Whether with so many decimals different scores look different, and add up to what decides as they do."""
        true, rival = (float(np.round(terms, digits).sum()) for terms in self.terms)
        same = len(np.unique(self.scores.round(digits))) == len(np.unique(self.scores))
        return same and self._is_in_order(true, rival, digits)

    def _is_in_order(self, true: float, rival: float, digits: int) -> bool:
        """Whether these totals decide as the group's own do."""
        order = 0 if self.kinds.get(GROUP_MATCH) == "tie" else np.sign(self.true_total - self.rival_total)
        return bool(np.sign(round(true - rival, digits)) == order)

    def _margin_agrees(self, digits: int) -> bool:
        """Whether with so many decimals the totals decide right, the margin is not 0, and they are as far apart to
        within a tenth of it: what rounding moves is then the last digit of a margin of two or more."""
        (true, rival), margin = self._totals(digits), round(self.margin, digits)
        if self.matching is None:
            return self._is_in_order(true, rival, digits)
        off = abs(abs(true - rival) - margin) if self._is_margin_of_totals else 0.0
        return self._is_in_order(true, rival, digits) and margin > 0 and off <= _MOST_OFF * margin + 1e-12

    def _totals_agree(self, digits: int, exact: bool) -> bool:
        """Whether with so many decimals the totals decide right, and if `exact` the margin is theirs."""
        return self._margin_agrees(digits) if exact else self._is_in_order(*self._totals(digits), digits)

    @property
    def _is_margin_of_totals(self) -> bool:
        """Of three matchings or more, the two best may both be wrong: then the margin is not that of these totals."""
        return bool(np.isclose(abs(self.true_total - self.rival_total), self.margin, rtol=1e-6, atol=0))

    def _totals(self, digits: int) -> tuple[float, float]:
        """Totals of the true and of the best other matching, rounded after they are added."""
        true, rival = self.true_total, self.rival_total
        return round(float(true), digits), round(float(rival), digits)

    @property
    def shown_totals(self) -> tuple[float, float]:
        """Totals of the true and of the best other matching, as they are shown."""
        return self._totals(self.digits)

    @property
    def adds_up(self) -> bool:
        """Whether a reader who adds and subtracts what is shown finds the totals and the margin that are shown."""
        return self._adds_up(self.digits)

    def _adds_up(self, digits: int) -> bool:
        totals, margin = self._totals(digits), round(self.margin, digits)
        if not all(_is_shown_sum(*of, digits) for of in zip(self.terms, totals, strict=True)):
            return False
        if self.matching is None or not self._is_margin_of_totals:
            return True
        return abs(abs(totals[0] - totals[1]) - margin) < 0.5 * 10.0**-digits

    @property
    def shown_margin(self) -> str:
        """The margin with as many decimals as the scores; one for which these are too few to two digits."""
        text = _number(self.margin, self.digits)
        return text if self.matching is None or float(text) else f"{self.margin:.1e}"

    @property
    def terms(self) -> tuple[np.ndarray, np.ndarray]:
        """The scores that the totals of the true and of the best other matching add up, (m,) each."""
        images = np.arange(len(self.scores))
        several = len(self.truth) > len(self.scores)
        return self.true.max(keepdims=True) if several else self.true, self.scores[images, self.rival]


def _fewest_decimals(groups: Sequence[GroupData], totals: bool = True, exact: bool = True) -> int:
    """With how many decimals all of these groups are shown right. totals, exact : as of `GroupData.beside`."""
    found, usual = _MOST_DIGITS, [g.usual for g in groups if g.usual is not None]
    for digits in range(_MOST_DIGITS, max([_LEAST_DIGITS, *usual]) - 1, -1):
        if all(g._decides_right(digits) and (not totals or g._totals_agree(digits, exact)) for g in groups):
            found = digits
    # A reader adds them up by hand: 7.79 + 6.82 is 14.61, and the ≈ before 14.60 looked like a mistake. Of a set that
    # took six decimals in one group and two in the next: two more are worth it.
    most = min([_MOST_DIGITS, *(each + 2 for each in usual)])
    more = range(found, most + 1) if totals and exact else ()
    return next((digits for digits in more if all(g._adds_up(digits) for g in groups)), found)


def _margin_decimals(margins: np.ndarray, digits: int = 3) -> int:
    """Decimals that give the median of a set's margins, (n,), so many digits."""
    middle = float(np.median(margins))
    return max(0, digits - 1 - floor(log10(middle))) if middle > 0 else 2


def _usual_decimals(scores: np.ndarray, margins: np.ndarray) -> int | None:
    """Those with which all scores of a set, (n, m, k), are shown, by its margins, (n,), and no more than they are
    written with; None of a group alone, which has no next one."""
    if len(margins) < 2:
        return None
    written = _decimals(scores)
    most = _MOST_DIGITS if written is None else written
    return max(min(_margin_decimals(margins, 2), most), _LEAST_DIGITS)


def _is_shown_sum(terms: np.ndarray, total: float, digits: int) -> bool:
    """Whether terms that are rounded before they are added give the total; so does a sum that is not written out."""
    if not _is_written_out(terms):
        return True
    return abs(sum(round(float(term), digits) for term in terms) - total) < 0.5 * 10.0**-digits


def _is_written_out(terms: np.ndarray) -> bool:
    """A sum whose terms are read: there is something to add, and not too much to read."""
    return 1 < len(terms) <= _MOST_TERMS


def _always(m: int, k: int) -> bool:
    return True


def _several_images(m: int, k: int) -> bool:
    """One image alone has no rival in its column: such a test would hold whatever the scores are."""
    return m > 1


@dataclass(frozen=True, kw_only=True)
class _MetricDescription:
    """What a reader needs of any accuracy: names, meaning, its look in figures."""

    label: str
    short: str  # where the data set or the column says the rest, as in the papers' tables
    meaning: str  # one sentence
    reference: str
    colour: str  # "#rrggbb", a middle tone: a contrast of 3:1 or more on the light and on the dark page
    marker: str  # Plotly's names of a marker and of a dash, so that no metric is told by colour alone
    dash: str
    headline: bool  # shown where there is room for few metrics: cards, overviews, runs

    def __post_init__(self) -> None:
        for field in fields(self):
            _check_part(self, field.name, str(field.type))


@dataclass(frozen=True)
class _AlphaRule:
    """How a metric depends on alpha: where each of its units is right, and on which shapes alpha moves it at all."""

    spans: Callable[[AlphaInputs], AlphaIntervals]
    moves: Callable[[int, int], bool] = _always  # (m, k) -> whether alpha can change the metric


@dataclass(frozen=True, kw_only=True)
class Metric(_MetricDescription):
    """A group metric; every part but `square` is required.

    A metric holds for a group or does not; with `share` its outcome is a share of the group's parts instead.
    """

    formula: str  # LaTeX
    share: bool
    applies: Callable[[int, int], bool]  # (m, k) -> whether groups of m images and k captions have it
    rule: Callable[[int, int], Rule]  # (m, k) -> its outcome from the comparisons of a block of groups
    chance: Callable[[int, int], float]  # (m, k) -> its mean in [0, 1] for i.i.d. continuous scores
    alpha: _AlphaRule
    verdict: Callable[[GroupData], str]  # what it compares, with the numbers of one group
    square: str | None = None  # its meaning for as many images as captions, where that is shorter to say

    def meaning_for(self, m: int, k: int) -> str:
        """Its meaning for groups of m images and k captions."""
        return self.square if self.square is not None and m == k else self.meaning

    def parts(self, m: int) -> int:
        """Of how many yes-or-no answers its outcome on a group of m images is the mean."""
        return m if self.share else 1

    @staticmethod
    def same(figures: Mapping[str, Any]) -> dict[str, list[str]]:
        """Metrics that are one, by the first of their names, from anything that is known of each.

        On groups of one image, which have no ImageScore, those with equal figures are; elsewhere each is by itself.
        """
        found: dict[str, list[str]] = {}
        for name, figure in figures.items():
            alone = IMAGE_SCORE in figures or name not in METRICS
            first = None if alone else next((n for n in found if n in METRICS and figures[n] == figure), None)
            found.setdefault(first or name, []).append(name)
        return found


def _check_part(entry: _MetricDescription, name: str, kind: str) -> None:
    """Raises ValueError for a part that is empty or no such thing."""
    value = getattr(entry, name)
    wrong = {
        "str": not isinstance(value, str) or not value.strip(),
        "str | None": value is not None and not (isinstance(value, str) and value.strip()),
        "bool": not isinstance(value, bool),
        "_AlphaRule": not isinstance(value, _AlphaRule),
    }.get(kind, not callable(value))
    if wrong or (name == "colour" and not re.fullmatch("#[0-9a-f]{6}", value)):
        of = type(entry).__name__
        raise ValueError(
            f"The metric {entry.label!r} has {value!r} as its {name}; `{of}` says what it takes."
        )


# --- the parts of the entries below


def _number(value: float, digits: int) -> str:
    """With so many decimals and a minus sign; 0 has none, as the `z` says."""
    return f"{value:z.{digits}f}".replace("-", "−")


def _compared(left: float, right: float, digits: int) -> str:
    """`24.13 > 23.90`, with as many digits as the group's scores are shown with."""
    ahead, behind = (bool(_ahead(*pair)) for pair in ((left, right), (right, left)))
    sign = ">" if ahead else "<" if behind else "="
    return f"{_number(left, digits)} {sign} {_number(right, digits)}"


def _all_compared(data: GroupData, rivals: np.ndarray) -> str:
    """`A–1: 24.13 > 23.90 · B–2: ...`: every true score against its rival (m,)."""
    compared, digits = zip(data.truth_pairs, data.true, rivals, strict=True), data.digits
    return " · ".join(f"{image_name(i)}–{j + 1}: {_compared(t, r, digits)}" for (i, j), t, r in compared)


def _sum(terms: np.ndarray, total: float, digits: int) -> str:
    """`4.88 + 7.06 = 11.94`; with ≈ where rounded terms add up to another total; the total alone of what is not
    written out."""
    if not _is_written_out(terms):
        return _number(total, digits)
    first, *others = terms
    signed = "".join(f" {'−' if other < 0 else '+'} {_number(abs(other), digits)}" for other in others)
    equals = "=" if _is_shown_sum(terms, total, digits) else "≈"
    return f"{_number(first, digits)}{signed} {equals} {_number(total, digits)}"


def _ahead(own: Any, rivals: Any) -> np.ndarray:
    """Whether scores win against their rivals by the tie rule, bool of their shape."""
    return comparisons.wins(np.asarray(own), np.asarray(rivals))[0]


def _symbol(data: GroupData, rivals: np.ndarray) -> str:
    """Whether every true score is ahead of its rival (m,)."""
    if _ahead(data.true, rivals).all():
        return SYMBOLS["right"]
    return SYMBOLS["wrong" if _ahead(rivals, data.true).any() else "tie"]


def _text_verdict(data: GroupData) -> str:
    return f"true caption against the best other: {_all_compared(data, data.row_rival)}"


def _image_verdict(data: GroupData) -> str:
    return f"true image against the best other: {_all_compared(data, data.column_rival)}"


def _group_verdict(data: GroupData) -> str:
    m, k = data.scores.shape
    if m < k:
        rows = _all_compared(data, data.row_rival)
        return f"rows alone, as there are fewer images than captions: {rows}"
    rows, columns = _symbol(data, data.row_rival), _symbol(data, data.column_rival)
    return f"TextScore {rows} and ImageScore {columns}{_stumbling_block(data)}"


def _stumbling_block(data: GroupData) -> str:
    """In words the first comparison that a true score loses in its row and the first in its column; where none is lost,
    those that it ties; "" where it wins all."""
    halves = ((data.row_rival, _said_of_row), (data.column_rival, _said_of_column))
    for stands in (lambda own, rival: _ahead(rival, own), lambda own, rival: ~_ahead(own, rival)):
        said = []
        for rivals, say in halves:
            held = ~np.isnan(rivals) & stands(data.true, rivals)
            said += [say(data, *data.truth_pairs[at]) for at in np.flatnonzero(held)[:1]]
        if said:
            return f": {'; '.join(said)}"
    return ""


def _said_of_row(data: GroupData, i: int, j: int) -> str:
    """Image i with its best other caption and with its own, j."""
    scores, image = data.scores[i], image_name(i)
    other = next(c for c in np.argsort(-scores, kind="stable") if c != j)
    rival, own = (_number(scores[c], data.digits) for c in (other, j))
    return f"image {image} scores {rival} with caption {other + 1}, and {own} with its own, caption {j + 1}"


def _said_of_column(data: GroupData, i: int, j: int) -> str:
    """Caption j with its best other image and with its own, i."""
    scores = data.scores[:, j]
    other = next(r for r in np.argsort(-scores, kind="stable") if r != i)
    rival, own = (_number(scores[r], data.digits) for r in (other, i))
    of = image_name(other)
    return f"caption {j + 1} scores {rival} with image {of}, and {own} with its own, image {image_name(i)}"


def _match_verdict(data: GroupData) -> str:
    which = "true matching" if len(data.truth) == len(data.scores) else "best true matching"
    digits, totals = data.digits, data.shown_totals
    true, rival = (_sum(*of, digits) for of in zip(data.terms, totals, strict=True))
    sign = ">" if totals[0] > totals[1] else "<" if totals[0] < totals[1] else "="
    rounded = " (the parts are rounded)" if "≈" in true + rival else ""
    return f"total of the {which} against the best other: {true} {sign} {rival}{rounded}"


def _individual_verdict(data: GroupData) -> str:
    ahead = _ahead(data.true, data.row_rival)
    if len(data.truth) > len(data.scores):
        return f"{int(ahead.sum())} of its {len(data.truth)} true captions; all have to be ahead"
    return f"{int(ahead.sum())} of {len(data.truth)} right"


def _group_chance(m: int, k: int) -> float:
    return factorial(k - 1) / factorial(2 * k - 1) if m == k else k**-m


# For m < k GroupScore asks for the rows alone ([TTM] B.2); the columns of its images are then an extension.
METRICS: dict[str, Metric] = {
    TEXT_SCORE: Metric(
        label="TextScore",
        short="Text",
        formula=r"\forall i:\; s_{i\pi^*(i)} > \max_{j\neq\pi^*(i)} s_{ij}",
        meaning="For every image, its true caption scores strictly highest.",
        reference="Winoground text score; [TTM] B.2 for m < k",
        colour="#c0569f",
        marker="triangle-up",
        dash="dash",
        headline=False,
        share=False,
        applies=_always,
        rule=lambda m, k: comparisons.rows,
        chance=lambda m, k: k**-m,
        alpha=_AlphaRule(lambda v: all_of(v.rows)),
        verdict=_text_verdict,
    ),
    IMAGE_SCORE: Metric(
        label="ImageScore",
        short="Image",
        formula=r"\forall i:\; s_{i\pi^*(i)} > \max_{l\neq i} s_{l\pi^*(i)}",
        meaning="For every true caption, its true image scores strictly highest.",
        reference="Winoground image score = Cola multi-object accuracy; an extension for 1 < m < k",
        colour="#93801c",
        marker="triangle-down",
        dash="dot",
        headline=False,
        share=False,
        applies=_several_images,
        rule=lambda m, k: comparisons.columns,
        chance=lambda m, k: m**-m,
        alpha=_AlphaRule(lambda v: all_of(v.columns), moves=lambda m, k: False),
        verdict=_image_verdict,
    ),
    GROUP_SCORE: Metric(
        label="GroupScore",
        short="Group",
        formula=r"\text{TextScore} \wedge \text{ImageScore}",
        meaning="Each true score is strictly the largest of its row and of its column; with fewer images than "
        "captions, of its row.",
        square="Each true score is strictly the largest of its row and of its column.",
        reference="[TTM] Eq. 1; Winoground group score",
        colour="#1a9382",
        marker="square",
        dash="solid",
        headline=True,
        share=False,
        applies=_always,
        rule=lambda m, k: comparisons.rows if m < k else comparisons.both,
        chance=_group_chance,
        alpha=_AlphaRule(lambda v: all_of(v.rows) if v.shape[0] < v.shape[1] else all_of(v.rows, v.columns)),
        verdict=_group_verdict,
    ),
    GROUP_MATCH: Metric(
        label="GroupMatch",
        short="Match",
        formula=r"\sum_i s_{i\pi^*(i)} > \sum_i s_{i\pi(i)} \;\; \forall \pi\neq\pi^*",
        meaning="The true matching has the strictly highest total of all matchings.",
        reference="[TTM] section 3.1",
        colour="#6c63e0",
        marker="circle",
        dash="solid",
        headline=True,
        share=False,
        applies=_always,
        rule=lambda m, k: comparisons.matched,
        chance=lambda m, k: 1 / perm(k, m),
        alpha=_AlphaRule(lambda v: v.matching, moves=lambda m, k: m < k),
        verdict=_match_verdict,
    ),
    INDIVIDUAL_MATCH: Metric(
        label="IndividualMatch",
        short="Individual",
        formula=r"\tfrac1m\sum_i [\, s_{i\pi^*(i)} > \max_{j\neq\pi^*(i)} s_{ij} \,]",
        meaning="Share of single images whose true caption scores strictly highest.",
        reference="[TTM] section 4.5",
        colour="#b5513f",
        marker="diamond",
        dash="dashdot",
        headline=False,
        share=True,
        applies=_always,
        rule=lambda m, k: comparisons.rows if m == 1 else comparisons.single,
        chance=lambda m, k: 1 / k,
        alpha=_AlphaRule(lambda v: v.rows),
        verdict=_individual_verdict,
    ),
}

# Of a set whose images are scored with all captions: over everything, regardless of groups (`core.metrics.evaluation`).
GLOBAL: dict[str, _MetricDescription] = {
    GLOBAL_MATCH: _MetricDescription(
        label="Global match",
        short="Global",
        meaning="One assignment over all images and captions gives an image its true caption.",
        reference="[TTM] 3.2.1",
        colour="#5a9a32",
        marker="star",
        dash="solid",
        headline=True,
    ),
    IMAGE_TO_TEXT: _MetricDescription(
        label="Image to text R@1",
        short="i→t R@1",
        meaning="An image's true caption scores highest among all captions.",
        reference="Recall at 1",
        colour="#c0569f",
        marker="triangle-up",
        dash="longdash",
        headline=False,
    ),
    TEXT_TO_IMAGE: _MetricDescription(
        label="Text to image R@1",
        short="t→i R@1",
        meaning="A caption's true image scores highest among all images.",
        reference="Recall at 1",
        colour="#93801c",
        marker="triangle-down",
        dash="longdashdot",
        headline=False,
    ),
}


def _check_table(table: Mapping[str, _MetricDescription]) -> None:
    """Raises ValueError where two entries share a label, or look the same in a figure."""
    for parts in (("label",), ("colour", "marker", "dash")):
        seen: dict[tuple[str, ...], str] = {}
        for name, entry in table.items():
            look = tuple(getattr(entry, part) for part in parts)
            if seen.setdefault(look, name) != name:
                raise ValueError(
                    f"The metrics {seen[look]!r} and {name!r} have the same {' and '.join(parts)}; change one of them."
                )


_check_table({**METRICS, **GLOBAL})


# --- reading the table


def metric_entry(name: str, m: int, k: int) -> Metric:
    """A metric of groups of m images and k captions.

    Raises InputError for an unknown name, and for a metric that groups of this shape do not have.
    """
    if name not in METRICS:
        raise unknown_name("metric", name, METRICS)
    if not METRICS[name].applies(m, k):
        known = ", ".join(metrics_of_shape(m, k))
        raise InputError(f"Groups of {m}x{k} have no {METRICS[name].label}; choose one of {known}.")
    return METRICS[name]


def metrics_of_shape(m: int, k: int) -> tuple[str, ...]:
    """The metrics of groups of m images and k captions, in the table's order."""
    return tuple(name for name, metric in METRICS.items() if metric.applies(m, k))


def description_of(name: str) -> _MetricDescription:
    """The entry of a group metric or of a global one; KeyError for any other name."""
    return METRICS[name] if name in METRICS else GLOBAL[name]


def headline_metrics(known: Collection[str] | None = None) -> tuple[str, ...]:
    """The metrics to show where there is room for few: of `known` ones (then a global one first), or all of groups."""
    found = METRICS if known is None else [name for name in (*GLOBAL, *METRICS) if name in known]
    return tuple(name for name in found if description_of(name).headline)


def yes_or_no(known: Collection[str]) -> tuple[str, ...]:
    """Those of some group metrics that hold for a group or do not, in the table's order."""
    return tuple(name for name, metric in METRICS.items() if name in known and not metric.share)
