"""Rules that find the right caption without looking at what is in an image. Each is a check of a set.

A set is sound in this respect where a rule does as well as by guessing. Were the right captions drawn at random among a
group's captions, each rule below would be right in a group with a probability that is known exactly, whatever the
captions are, and independently of the other groups: so its p value needs no assumption. Two rules learn from the groups
before (a prequential test, Dawid, JRSS A 147, 1984), which keeps that true. Groups that share an image or a caption are
not independent: p values are those of clusters whose groups are as alike as they can be. All groups count in the share
that is shown, whatever their order in the file, which matters to the rules alone that look for a pattern in it.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from math import comb, log, perm
from typing import Any, NamedTuple

import numpy as np
import scipy

from core.audit._sequence import foretold
from core.audit._words import in_disguise, is_unseen, words_of
from core.base.text import _pct, counted, p_digits
from core.groups import GroupSet, image_name
from core.matching.groups import match
from core.metrics.statistics import Clusters, Estimate, estimate

SOUND, FAULT, CANNOT_TELL = "sound", "a fault", "cannot tell"
LIMIT = "a limit"  # of what a sound set of this kind or size can show
EVIDENCE = 12  # groups that are named
_HARMLESS = 0.2  # of the way from chance to 100 %, as in `core.debiasing.blind`
_SOLVED = 0.8  # as far
_LEAST = 1e-300  # p value that a float can say
_DRAWS = 20_000
_ORDERS = 5
_OTHERS = 20  # images of other groups that are tried in the place of a group's own
_SMOOTHING = 0.5
_SOUND_IF_YES = {
    "order",
    "captions",
    "images",
    "shared",
    "size",
    "agreement",
}  # checks whose question hopes for a yes
_Pair = tuple[str, str]


class Finding(NamedTuple):
    """What one check found.

    key : of the check. verdict : sound, a fault, a limit, or cannot tell. says : a sentence with the numbers. found :
    percent of groups, with interval and chance. p_value : of a rule; None of a count. p_holm : corrected for all rules
    that were tried. evidence : ids of groups to open. brief : in half a sentence. groups : how many, where
    they are counted. subject : what `found` is the percentage of, as "the longest caption is right in"; "" of a count,
    where `brief` says it.
    """

    key: str
    question: str
    verdict: str
    says: str
    found: Estimate | None = None
    p_value: float | None = None
    p_holm: float | None = None
    evidence: tuple[str, ...] = ()
    brief: str = ""
    groups: int | None = None
    subject: str = ""

    @property
    def reply(self) -> str:
        """What the verdict answers to the question: `Yes`, `No`, or `Mostly`; "" where nobody can tell."""
        if self.verdict not in (SOUND, FAULT, LIMIT):
            return ""
        sound = self.verdict == SOUND
        if self.key == "shared" and sound and self.found is not None:
            return "Mostly"
        return "Yes" if sound == (self.key in _SOUND_IF_YES) else "No"

    @property
    def solves(self) -> bool:
        """Whether a rule other than that of the place does most of what a perfect model does."""
        if self.p_value is None or self.found is None or self.key == "position":
            return False
        return self.found.value - self.found.chance >= _SOLVED * (100 - self.found.chance)

    @property
    def number(self) -> str:
        """`the longest caption is right in 70.0 % (95 % interval 61.0-78.0), chance 50.0 %, no ties`; "" of what has
        no number of groups."""
        if self.found is None:
            return self.brief
        if self.subject:
            return f"{self.subject} {self.found}"
        return f"{self.brief} ({_pct(self.found.value)} %, {self.found.interval})"

    @property
    def in_brief(self) -> str:
        """As `number`, with nothing in brackets but the 95 % interval that the verdict rests on: a list says once what
        it is."""
        found = self.found
        if found is None:
            return self.brief
        low, high = found.bounds
        share = f"{_pct(found.value)} % ({_pct(low)}–{_pct(high)})"
        if self.key == "order":  # its ties are not those of a rule: they are what the check counts
            guessed = counted(self.groups or 0, "group")
            return f"{self.subject} {share}, chance {_pct(found.chance)} %, as it has to guess in {guessed}"
        if self.subject:
            return f"{self.subject} {share}, chance {_pct(found.chance)} %, {found.tied}"
        return f"{self.brief}: {share}"


# --- what every rule shares


class Sample(NamedTuple):
    """Groups of one shape. clusters : which of them hang together; None where each is its own. in_file_order : whether
    a pattern in their order would be one of the set, which it is not of several files."""

    groups: GroupSet
    clusters: Clusters | None = None
    in_file_order: bool = False

    @property
    def labels(self) -> np.ndarray:
        return np.arange(len(self.groups)) if self.clusters is None else self.clusters.labels

    @property
    def size(self) -> str:
        """`30 independent groups`."""
        return counted(len(np.unique(self.labels)), "independent group")

    @property
    def first(self) -> np.ndarray:
        """The place of the first group of each cluster, int (c,), as they come in the file."""
        return np.sort(np.unique(self.labels, return_index=True)[1])

    def estimate(self, hits: np.ndarray, chance: float, ties: int = 0) -> Estimate:
        return estimate(hits, chance, ties, clusters=self.clusters)

    def in_random_orders(self) -> Iterator[list[np.ndarray]]:
        """The clusters in several random orders, each as the places of its groups; the same for any order of the
        file."""
        by_id = np.argsort(self.groups.ids)
        found: dict[int, list[int]] = {}
        for place, label in zip(by_id.tolist(), self.labels[by_id].tolist(), strict=True):
            found.setdefault(label, []).append(place)
        members = [np.array(places) for places in found.values()]
        for seed in range(_ORDERS):
            yield [members[i] for i in np.random.default_rng(seed).permutation(len(members))]


_DESIGN = "By design"  # begins what is said of a rule that the shape of the groups leaves nothing to choose


def _by_design(key: str, question: str, groups: GroupSet) -> Finding:
    m, _ = groups.shape
    says = (
        f"{_DESIGN}: each of a group's {m} captions is true of one of its images, and a rule that sees no image gives "
        "the same answer for every image."
    )
    return Finding(
        key, question, SOUND, says, brief="each caption is true of one of its group's images, by design"
    )


# What a rule that sees no image chooses a caption by, for a line that names several.
_CHOOSES_BY = {
    "length": "length",
    "writing": "the way it is written",
    "frequency": "common words",
    "grammar": "likelihood as text",
    "words": "particular words",
    "training": "pairs of words that training never had",
}


def _folded(findings: Sequence[Finding]) -> list[Finding]:
    """Rules that are sound for the same reason, by design, as one finding that names them, in the place of the first;
    all others as they are."""
    same = [f for f in findings if f.says.startswith(_DESIGN) and f.key in _CHOOSES_BY]
    if len(same) < 2:
        return list(findings)
    *some, last = (_CHOOSES_BY[found.key] for found in same)
    question = f"Does the right caption stand out by {', '.join(some)} or {last}? ({len(same)} checks)"
    one = same[0]._replace(key="design", question=question)
    return [one if f is same[0] else f for f in findings if f is same[0] or all(f is not o for o in same)]


def _brief(subject: str, found: Estimate) -> str:
    """A finding's percentage where there is room for few words."""
    return f"{subject} {found.value:.0f} % (chance {found.chance:.0f} %)"


def _rule(
    key: str, question: str, who: tuple[str, ...], sample: Sample, values: Sequence[np.ndarray]
) -> Finding:
    """The rule that chooses the caption with the largest value of a group; with two names also the one that chooses
    the smallest, and of a file one that chooses now this one and now that, as the groups before foretell it.

    The best of them is shown, and its p value is multiplied by their number.

    who : their names, as in "the longest caption". values : float (k,) of every group.
    """
    m, k = sample.groups.shape
    if m == k:
        return _by_design(key, question, sample.groups)
    sides = [_Chosen.of(sample, values, sign) for sign in (1, -1)[: len(who)]]
    if (sides[0].tied == k).all():
        says = f"{_capital(who[0])} is no choice: all captions of every group are equal in this."
        return Finding(key, question, SOUND, says, brief="the captions of a group do not differ in this")
    tried = [
        _fixed(key, question, name, sample, values, side) for name, side in zip(who, sides, strict=False)
    ]
    if sample.in_file_order and len(who) > 1 and sides[0].named == 1:
        ranks = [_rank(v, group.truth or ()) for v, group in zip(values, sample.groups, strict=True)]
        tried.append(_in_turn(key, question, " or ".join(who), sample, ranks, k))
    return _best(tried)


def _fixed(
    key: str, question: str, name: str, sample: Sample, values: Sequence[np.ndarray], side: _Chosen
) -> Finding:
    """The rule that makes the same choice in every group."""
    groups = sample.groups
    found = sample.estimate(side.hits, 100 * side.named / groups.shape[1], int((side.tied > 1).sum()))
    says = f"{_capital(name)} is right in {found}; {sample.size}."
    won = np.flatnonzero((side.hits == 1) & (side.tied == 1))
    surest = won[np.argsort(-np.ptp(np.array(values)[won], axis=1), kind="stable")].tolist()
    ids = tuple(groups[i].id for i in surest[:EVIDENCE])
    subject = f"{name} is right in"
    return Finding(
        key, question, "", says, found, side.p_value,
        evidence=ids, brief=_brief(subject, found), subject=subject,
    )  # fmt: skip


def _in_turn(
    key: str, question: str, what: str, sample: Sample, answers: Sequence[Hashable | None], possible: int
) -> Finding:
    """The rule that foretells each group's answer from the groups before it in the file (None: no answer), of each
    cluster the first."""
    first, groups = sample.first, sample.groups
    told = foretold([answers[i] for i in first], first.tolist(), possible)
    hits = np.where(told.certain, told.right, 1 / possible)
    found = estimate(hits, 100 / possible, int((~told.certain).sum()))
    p = float(scipy.stats.binom.sf(told.right.sum() - 1, told.certain.sum(), 1 / possible))
    says = f"Choosing {what} in turn, by {told.pattern} in the file, is right in {found}; {sample.size}"
    says += "." if len(first) == len(groups) else ", of those that share the first alone."
    ids = tuple(groups[int(i)].id for i in first[told.right][-EVIDENCE:])
    subject = f"guessing by {told.pattern} in the file is right in"
    return Finding(
        key, question, "", says, found, min(1.0, p),
        evidence=ids, brief=_brief(subject, found), subject=subject,
    )  # fmt: skip


def _best(tried: Sequence[Finding]) -> Finding:
    """The one with the least p value, which is multiplied by how many were tried."""
    best = min(
        tried, key=lambda finding: max(finding.p_value or 0.0, 1 / _DRAWS)
    )  # where all are sure the plainest
    return best._replace(p_value=min(1.0, len(tried) * (best.p_value or 0.0)))


def _rank(values: np.ndarray, truth: tuple[int, ...]) -> int | None:
    """The place of the right caption by value; None where two captions are equal, which leaves no places."""
    return None if len({*values.tolist()}) < len(values) else int((values < values[truth[0]]).sum())


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


class _Chosen(NamedTuple):
    """hits : float (n,), the share of the chosen captions that are true. tied : int (n,), how many are chosen.
    named : how many captions of a group are true, m or (of one image) more."""

    hits: np.ndarray
    tied: np.ndarray
    p_value: float
    named: int

    @classmethod
    def of(cls, sample: Sample, values: Sequence[np.ndarray], sign: int) -> _Chosen:
        groups = sample.groups
        (_, k), array = groups.shape, sign * np.array(values, dtype=np.float64)
        chosen = array == array.max(axis=1, keepdims=True)  # (n, k)
        right = np.array([[j in (g.truth or ()) for j in range(k)] for g in groups])
        tied = chosen.sum(axis=1)
        hits = (chosen & right).sum(axis=1) / tied
        named = int(right[0].sum())
        return cls(hits, tied, _p_value(hits, tied, named, k, sample.labels), named)


def _p_value(hits: np.ndarray, tied: np.ndarray, m: int, k: int, labels: np.ndarray) -> float:
    """How often a rule does as well where the m right captions are any m of the k, and groups of one cluster are right
    together; simulated, and never below its own error."""
    order = np.lexsort((tied, labels))
    parts = np.split(tied[order], np.flatnonzero(np.diff(labels[order])) + 1)
    clusters = Counter(tuple(part.tolist()) for part in parts)
    drawn = _simulated(tuple(sorted(clusters.items())), m, k)
    return float((1 + (drawn >= hits.sum() - 1e-9).sum()) / (1 + _DRAWS))


@lru_cache(maxsize=16)
def _simulated(clusters: tuple[tuple[tuple[int, ...], int], ...], m: int, k: int) -> np.ndarray:
    """All hits of a rule by chance, float (draws,); not to be changed: most rules of a set, without ties, share it.

    clusters : how many captions are chosen in each group of a cluster, and how many such clusters there are.
    """
    rng, drawn = np.random.default_rng(0), np.zeros(_DRAWS)
    for kinds, count in clusters:
        values, chances = _together(kinds, m, k)
        drawn += rng.multinomial(count, chances, _DRAWS) @ values
    drawn.flags.writeable = False
    return drawn


def _together(kinds: tuple[int, ...], m: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The hits of a cluster whose groups are as alike as can be, and how likely each number of them is.

    kinds : how many captions are chosen in each group. All are the same quantile of what a group does by chance.
    """
    reached: list[tuple[int, np.ndarray, np.ndarray]] = []
    for t, count in Counter(kinds).items():
        x = np.arange(min(t, m) + 1)
        chances = np.array([comb(m, i) * comb(k - m, t - i) for i in x], dtype=np.float64) / comb(k, t)
        reached.append((count, x / t, np.round(np.cumsum(chances), 12)))
    ends = np.unique(np.concatenate([up_to for _, _, up_to in reached]))
    chances = np.diff(ends, prepend=0.0)
    inside = ends - chances / 2
    values = sum((n * x[np.searchsorted(up_to, inside)] for n, x, up_to in reached), np.zeros(len(ends)))
    return values[chances > 0], chances[chances > 0] / chances.sum()


def _tail(right: int, sizes: np.ndarray, chance: float) -> float:
    """How often at least so many are right where the groups of a cluster are right together, exactly.

    sizes : of every cluster, int (c,).
    """
    chances = np.ones(1)  # of every number
    for size, count in zip(*np.unique(sizes[sizes > 0], return_counts=True), strict=True):
        steps = np.zeros(size * count + 1)
        steps[::size] = scipy.stats.binom.pmf(np.arange(count + 1), count, chance)
        chances = np.convolve(chances, steps)
    return float(min(1.0, chances[right:].sum()))


def _tail_of(right: int, sizes: np.ndarray, chances: np.ndarray) -> float:
    """As `_tail`, where each cluster has a chance of its own: float (c,)."""
    found = np.zeros(int(sizes.sum()) + 1)
    found[0], upto = 1.0, 1
    for size, chance in zip(sizes.tolist(), chances.tolist(), strict=True):
        moved = found[:upto] * chance
        found[:upto] *= 1 - chance
        found[size : size + upto] += moved
        upto += size
    return float(min(1.0, found[right:].sum()))


def judged(finding: Finding) -> Finding:
    """The finding with its verdict, once its p value is corrected.

    A fault where the rule is better than guessing, or what the rule itself has called it; sound where it is at most a
    fifth of the way from chance to 100 %, with the whole interval; else nobody can tell.
    """
    if finding.p_holm is None or finding.found is None:
        return finding
    found = finding.found
    most = (found.bounds[1] - found.chance) / (100 - found.chance)
    verdict = (
        (finding.verdict or FAULT) if finding.p_holm < 0.05 else SOUND if most <= _HARMLESS else CANNOT_TELL
    )
    p, corrected = (_shown(p) for p in (finding.p_value or 0.0, finding.p_holm))
    after = "also after correction" if corrected == p else f"corrected {corrected}"
    return finding._replace(verdict=verdict, says=f"{finding.says} p\u00a0{p}, {after}.")


def _shown(p: float) -> str:
    return p_digits(p) if p > _LEAST else f"below {_LEAST:.0e}"


# --- the rules


def _by_place(order: Sequence[int], m: int) -> str:
    """`always choosing caption 2`; `always pairing image A with caption 2, B with 1`."""
    if m == 1:
        listed = " and ".join(str(j + 1) for j in order)
        return f"always choosing caption{'s' * (len(order) > 1)} {listed}"
    (first, *rest) = [f"{image_name(i)} with {{}}{j + 1}" for i, j in enumerate(order)]
    return ", ".join(
        [f"always pairing image {first.format('caption ')}", *(each.format("") for each in rest)]
    )


def position(sample: Sample) -> Finding:
    """Whether the right captions stand at the same index, or in the same order, or take turns.

    A limit where captions are in the order of their images throughout, as files of groups usually are.
    """
    question = "Does the place of the right caption follow a pattern?"
    groups = sample.groups
    (m, k), n = groups.shape, len(groups)
    # Several captions of one image have no order.
    answers = [tuple(sorted(g.truth or ())) if m == 1 else g.truth or () for g in groups]
    order, count = max(sorted(Counter(answers).items()), key=lambda item: item[1])
    possible = comb(k, len(order)) if m == 1 else perm(k, m)
    p = min(1.0, possible * _tail(count, np.bincount(sample.labels), 1 / possible))
    found = sample.estimate(np.array([answer == order for answer in answers]), 100 / possible)
    rule = _by_place(order, m)
    says = f"{_capital(rule)} is right in {found}; {sample.size}."
    as_laid_out = count == n and m == k > 1 and order == tuple(range(m))
    if count == n:
        says += " Whatever breaks ties by place, or is shown the captions in this order, looks right."
    if as_laid_out:
        says += " Files of groups usually list captions in the order of their images; nothing else is wrong with that."
    ids = [g.id for g, answer in zip(groups, answers, strict=True) if answer == order]
    subject = f"{rule} is right in"
    same = Finding(
        "position", question, LIMIT if as_laid_out else "", says, found, p,
        evidence=tuple(ids[:EVIDENCE]), brief=_brief(subject, found), subject=subject,
    )  # fmt: skip
    if not sample.in_file_order:
        return same
    return _best([same, _in_turn("position", question, "places", sample, answers, possible)])


def length(sample: Sample) -> Finding:
    """In words, and in letters."""
    question = "Does the length of a caption give it away?"
    of_words = _of_captions(sample, lambda c: len(words_of(c)))
    of_letters = _of_captions(sample, lambda c: sum(map(str.isalnum, c)))
    letters = ("the caption with most letters", "the caption with fewest letters")
    tried = [
        _rule("length", question, ("the longest caption", "the shortest caption"), sample, of_words),
        _rule("length", question, letters, sample, of_letters),
    ]
    return _best_of_rules(tried)


# What of the writing, but for the words, may mark a caption: how much of it there is, with the names of the captions
# that have most and least of it.
_WRITING: tuple[tuple[Callable[[str], int], tuple[str, str]], ...] = (
    (
        lambda c: unicodedata.category((c.rstrip(" \"'\u201d\u2019)") or " ")[-1]).startswith("P"),
        ("the caption that ends with punctuation", "the caption that ends without punctuation"),
    ),
    (
        lambda c: sum(map(str.isupper, c)),
        ("the caption with most capitals", "the caption with fewest capitals"),
    ),
    (
        lambda c: sum(unicodedata.category(sign).startswith("P") for sign in c),
        ("the caption with most punctuation", "the caption with least punctuation"),
    ),
    (lambda c: c.count(","), ("the caption with most commas", "the caption with fewest commas")),
    (
        lambda c: sum(s.isspace() or is_unseen(s) for s in c) - max(len(c.split()) - 1, 0),
        (
            "the caption with most spaces beside those between words, or signs that nobody sees",
            "the caption with fewest such spaces and signs",
        ),
    ),
    (
        in_disguise,
        (
            "the caption with most letters that look Latin and are not",
            "the caption with fewest letters that look Latin and are not",
        ),
    ),
    (
        lambda c: sum(sign in "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u00ab\u00bb\u00b4`" for sign in c),
        ("the caption with most curly quotes", "the caption with fewest curly quotes"),
    ),
)


def writing(sample: Sample) -> Finding:
    """By what is no word: punctuation at the end or anywhere, capitals, commas, spaces, curly quotes, signs that nobody
    sees, letters of another alphabet that look Latin."""
    question = "Does the way a caption is written give it away?"
    tried = [_rule("writing", question, who, sample, _of_captions(sample, count)) for count, who in _WRITING]
    found = _best_of_rules(tried)
    if found.p_value is not None or sample.groups.shape[0] == sample.groups.shape[1]:
        return found
    says = (
        "The captions of every group have as much punctuation, as many capitals, commas, spaces and curly quotes, and "
        "as many signs that nobody sees or that look like others."
    )
    return found._replace(says=says)


def _of_captions(sample: Sample, count: Callable[[str], int]) -> list[np.ndarray]:
    return [np.array([int(count(c)) for c in group.captions]) for group in sample.groups]


def _best_of_rules(tried: Sequence[Finding]) -> Finding:
    """The best of those that have a choice, which captions alone decide; the first where none has."""
    having = [found for found in tried if found.p_value is not None]
    return _best(having) if having else tried[0]


def frequency(sample: Sample) -> Finding:
    """By the mean log frequency of its words in the captions of the other groups, without those that share."""
    question = "Do common words give it away?"
    names = ("the caption with the commonest words", "the caption with the rarest words")
    texts = [[words_of(c) for c in g.captions] for g in sample.groups]
    counts, own = _counted(texts, sample.labels)
    values = [
        np.array([_mean(np.log(1 + counts[w] - own[label][w]) for w in words) for words in group])
        for group, label in zip(texts, sample.labels.tolist(), strict=True)
    ]
    return _rule("frequency", question, names, sample, [np.round(v, 9) for v in values])


def grammar(sample: Sample) -> Finding:
    """By a language prior that the set itself teaches: pairs of words in the captions of the other groups."""
    question = "Is the right caption the likelier text?"
    names = ("the caption with the likeliest word pairs", "the caption with the least likely word pairs")
    texts = [[_chain(c) for c in g.captions] for g in sample.groups]
    pairs, own_pairs = _counted(texts, sample.labels)
    firsts, own_firsts = _firsts(pairs), {label: _firsts(own) for label, own in own_pairs.items()}
    size = len({second for _, second in pairs})

    def likely(pair: _Pair, label: int) -> float:
        others = pairs[pair] - own_pairs[label][pair] + _SMOOTHING
        return others / (firsts[pair[0]] - own_firsts[label][pair[0]] + _SMOOTHING * size)

    values = [
        np.array([_mean(np.log(likely(pair, label)) for pair in chain) for chain in group])
        for group, label in zip(texts, sample.labels.tolist(), strict=True)
    ]
    return _rule("grammar", question, names, sample, [np.round(v, 9) for v in values])


def _counted(
    texts: Sequence[Sequence[Sequence[Any]]], labels: np.ndarray
) -> tuple[Counter, dict[int, Counter]]:
    """How often what captions are made of is there, in all groups and in each cluster."""
    own: dict[int, Counter] = {}
    for group, label in zip(texts, labels.tolist(), strict=True):
        own.setdefault(label, Counter()).update(part for parts in group for part in parts)
    counts: Counter = Counter()
    for each in own.values():
        counts.update(each)
    return counts, own


def _chain(caption: str) -> list[_Pair]:
    """Its pairs of words one after the other, with its ends."""
    return list(pairwise(["", *words_of(caption), ""]))


def _firsts(pairs: Counter[_Pair]) -> Counter[str]:
    """How often each word is the first of a pair."""
    counts: Counter[str] = Counter()
    for (first, _), count in pairs.items():
        counts[first] += count
    return counts


def _mean(values: Iterable[float]) -> float:
    array = np.fromiter(values, dtype=np.float64)
    return float(array.mean()) if len(array) else 0.0


def _in_several_orders(sample: Sample, rule: Callable[[list[np.ndarray]], Finding]) -> Finding:
    """A rule that learns from the clusters before, with these in several random orders: the median finding.

    Twice the median of p values is a p value, however they hang together (Rüger, Metrika 25, 1978).
    """
    tried = [rule(order) for order in sample.in_random_orders()]
    found = sorted(tried, key=lambda f: f.p_value or 0.0)[_ORDERS // 2]
    return found if found.p_value is None else found._replace(p_value=min(1.0, 2 * found.p_value))


def learned_words(sample: Sample) -> Finding:
    """By words and pairs of words that marked right captions in the groups before (naive Bayes)."""
    parts = [[_parts(caption) for caption in group.captions] for group in sample.groups]
    return _in_several_orders(sample, lambda order: _learned_words(sample, parts, order))


def _learned_words(sample: Sample, parts: list[list[set[object]]], order: list[np.ndarray]) -> Finding:
    question = "Do particular words mark the right caption?"
    seen = {True: Counter[object](), False: Counter[object]()}
    totals = {True: 0, False: 0}
    values: list[np.ndarray] = [np.zeros(0)] * len(parts)
    for members in order:
        for i in members:
            values[i] = np.round([_evidence(p, seen, totals) for p in parts[i]], 9)
        for i in members:
            for j, found in enumerate(parts[i]):
                right = j in (sample.groups[int(i)].truth or ())
                seen[right].update(found)
                totals[right] += 1
    return _rule("words", question, ("the caption with words typical of right captions",), sample, values)


def _parts(caption: str) -> set[object]:
    words = words_of(caption)
    return {*words, *pairwise(words)}


def _evidence(parts: set[object], seen: dict[bool, Counter[object]], totals: dict[bool, int]) -> float:
    a, b = totals[True] + 2 * _SMOOTHING, totals[False] + 2 * _SMOOTHING
    return sum(log((seen[True][p] + _SMOOTHING) / a) - log((seen[False][p] + _SMOOTHING) / b) for p in parts)


def blind_model(sample: Sample, name: str, scores: np.ndarray) -> Finding:
    """By a model that sees no image. scores : float (n, m, k), equal for all images of a group."""
    question = f"Does {name}, which sees no image, find the right caption?"
    names = (f"the caption that {name} finds likeliest", f"the caption that {name} finds least likely")
    return _rule(f"blind {name}", question, names, sample._replace(in_file_order=False), list(scores[:, 0]))


def seen_pairs(sample: Sample, training: Sequence[str]) -> Finding:
    """By how many of a caption's pairs of neighbouring words (as `red cube`) no caption of the training list has."""
    question = "Do compositions seen in training give the right caption away?"
    groups, known = sample.groups, {p for caption in training for p in _pairs(caption)}
    new = [np.array([len(_pairs(c) - known) for c in g.captions]) for g in groups]
    unseen = sample.estimate(
        np.array([any(v[j] for j in g.truth or ()) for v, g in zip(new, groups, strict=True)]), 0.0
    )
    about = (
        f"{_pct(unseen.value)} % of groups ({unseen.interval}) have a right caption with a pair of words that the "
        f"{len(training)} captions of the training list lack."
    )
    names = ("the caption with most unseen pairs of words", "the caption with fewest unseen pairs of words")
    found = _rule("training", question, names, sample._replace(in_file_order=False), new)
    if not unseen.value and found.p_value is None:
        return found._replace(
            verdict=CANNOT_TELL,
            says=f"{about} This set cannot say whether a model binds what it never saw together.",
        )
    return found._replace(says=f"{found.says} {about}")


# Words between the attributes and objects that captions compose.
_SMALL_WORDS = frozenset(
    words_of("a an the and or of to in on at by with from for is are was be there it its this that as")
)


def _pairs(caption: str) -> set[tuple[str, str]]:
    words = words_of(caption)
    return {(a, b) for a, b in pairwise(words) if a not in _SMALL_WORDS and b not in _SMALL_WORDS}


# --- pictures, by their statistics


_OF_PICTURES = "Do colours, size or file format of the images give the right caption away?"


def pictures(sample: Sample, statistics: np.ndarray | None, unseen: str = "") -> Finding:
    """By mean colours, contrast, size, file size and file format of the images, matched with place and length of
    the captions: a logistic model that learns from the groups before.

    It is a fault of the images where they choose better than guessing, and better than those of other groups in their
    place: what place or length alone give away, any image does. statistics : float (n, m, d), standardised; None where
    the images are not opened, for which `unseen` is the reason.
    """
    if statistics is None:
        return Finding("pictures", _OF_PICTURES, CANNOT_TELL, unseen)
    return _in_several_orders(sample, lambda order: _pictures(sample, statistics, order))


def _pictures(sample: Sample, statistics: np.ndarray, order: list[np.ndarray]) -> Finding:
    groups = sample.groups
    (m, k), n = groups.shape, len(groups)
    possible = k / len(groups[0].truth or (0,)) if m == 1 else perm(k, m)
    texts = np.array([[len(words_of(c)) for c in g.captions] for g in groups], dtype=np.float64)
    texts = (texts - texts.mean(axis=1, keepdims=True)) / max(float(texts.std()), 1e-9)
    about = np.concatenate(
        [np.broadcast_to(np.eye(k), (n, k, k)), texts[:, :, None]], axis=2
    )  # (n, k, k + 1)
    truth = np.array([g.truth for g in groups])
    weights = _learned_weights(statistics, about, truth, order)
    right, certain = _choices(statistics, weights, about, truth)
    found = sample.estimate(np.where(certain, right, 1 / possible), 100 / possible, int((~certain).sum()))
    others = _by_other_images(statistics, weights, about, truth, sample.labels)
    hits, sizes = int(right.sum()), np.bincount(sample.labels)
    by_any = np.bincount(sample.labels, weights=others) / sizes  # of every cluster
    p = max(
        _tail(hits, np.bincount(sample.labels[certain], minlength=1), 1 / possible),
        _tail_of(hits, sizes, by_any),
    )
    says = (
        f"Mean colours, contrast, size, file size and file format of the images choose the right caption in {found}; "
        f"those of other groups in their place in {_pct(100 * others.mean())} %; {sample.size}."
    )
    ids = [groups[i].id for i in np.flatnonzero(right).tolist()][-EVIDENCE:]
    subject = "colours, sizes and file formats of the images choose right in"
    return Finding(
        "pictures", _OF_PICTURES, "", says, found, p,
        evidence=tuple(ids), brief=_brief(subject, found), subject=subject,
    )  # fmt: skip


def _learned_weights(
    images: np.ndarray, captions: np.ndarray, truth: np.ndarray, order: list[np.ndarray]
) -> np.ndarray:
    """What the clusters before each group teach, float (n, d, e): how statistics go with place and length."""
    n, _, d = images.shape
    found = np.zeros((n, d, captions.shape[2]))
    weight, squares = np.zeros(found.shape[1:]), np.zeros(found.shape[1:])
    for members in order:
        slopes = []
        for i in members:
            found[i] = weight
            scores = images[i] @ weight @ captions[i].T  # (m, k)
            own = captions[i][truth[i]]
            expected = scipy.special.softmax(scores, axis=1) @ captions[i]  # (m, e)
            own = own.mean(axis=0, keepdims=True) if len(own) > len(scores) else own
            slopes.append(images[i].T @ (own - expected))
        for slope in slopes:
            squares += slope**2
            weight += 0.5 * slope / np.sqrt(squares + 1e-9)
    return found


def _choices(
    images: np.ndarray, weights: np.ndarray, captions: np.ndarray, truth: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Whether each group's best matching by its weights is right, and whether one was best: bool (n,)."""
    found = match(images @ weights @ captions.transpose(0, 2, 1))
    if images.shape[1] == 1:
        return (found.matching == truth).any(axis=1), ~found.tied
    return (found.matching == truth).all(axis=1), ~found.tied


def _by_other_images(
    images: np.ndarray, weights: np.ndarray, captions: np.ndarray, truth: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    """How often each group's matching is right, and no tie, by its own images or those of other clusters, drawn at
    random: float (n,)."""
    rng, n = np.random.default_rng(0), len(images)
    right, tried = _choices(images, weights, captions, truth)[0].astype(np.float64), np.ones(n)
    for _ in range(_OTHERS):
        drawn = rng.integers(n, size=n)
        other = labels[drawn] != labels
        right += other & _choices(images[drawn], weights, captions, truth)[0]
        tried += other
    return right / tried


Rule = Callable[[Sample], Finding]
RULES: tuple[Rule, ...] = (position, length, writing, frequency, grammar, learned_words)
