"""Two scorers on the same groups: what differs, by how much, and on which groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.base.text import _p_text, counted
from core.metrics._by_name import ByName
from core.metrics.evaluation import Evaluation
from core.metrics.group_metrics import Metric
from core.metrics.groups import METRICS
from core.metrics.statistics import Comparison, _ClusteredComparison, compare

# How core/metrics/statistics.py makes the intervals of differences on the same groups.
_PAIRED_INTERVALS = "Bonett and Price's, paired, with Student's t"
# Why p is corrected for so many: the same difference has another p where more or fewer metrics are tested.
_WHY_MAIN = (
    "A run is judged by these, which were chosen before it began; a comparison of two models tests every metric, so "
    "its p of the same difference can be larger."
)
_WHY_ALL = (
    "Any of them could be picked afterwards, so all count; a run of test-time matching is judged by its main metrics "
    "alone, so its p of the same difference can be smaller."
)
_AT_ZERO = 1e-3  # points: an end of an interval that is as near to 0 was moved there
SIDES = {
    "only B right": (False, True),
    "only A right": (True, False),
    "both right": (True, True),
    "both wrong": (False, False),
}


def _check_same_groups(a: Evaluation, b: Evaluation) -> None:
    """Raises InputError unless both evaluations measure the same groups in the same order by the same truth."""
    if list(a.ids) != list(b.ids) or a.shape != b.shape:
        raise InputError("A and B measure different groups; choose two models on one set, split and filter.")
    _check_same_truth(a.truth, b.truth, a.ids)


def _check_same_truth(a: np.ndarray, b: np.ndarray, ids: Sequence[str]) -> None:
    other = np.flatnonzero((a != b).any(axis=1))
    if len(other):
        raise InputError(
            f"A and B differ in what is right for the group {ids[other[0]]!r}; a score file without truth takes "
            "image i to belong to caption i: name its truth, or the benchmark that it was made on."
        )


def in_order_of(evaluation: Evaluation, ids: Sequence[str]) -> Evaluation:
    """B's evaluation with its groups in the order of `ids`, A's; an error says how many groups only one has."""
    place = {name: i for i, name in enumerate(evaluation.ids)}
    others = (("A", "B", ids, place), ("B", "A", evaluation.ids, set(ids)))
    only = {(side, other): [n for n in own if n not in known] for side, other, own, known in others}
    lacking = [
        f"{other} lacks {len(n)} of {side}'s groups, the first {n[0]!r}"
        for (side, other), n in only.items()
        if n
    ]
    if lacking:
        common = len(ids) - len(only["A", "B"])
        raise InputError(
            f"A and B must measure the same groups: {'; '.join(lacking)}; {common} are in both. Compare files with the "
            "same groups, by the same names."
        )
    order = np.array([place[name] for name in ids])
    tags = None if evaluation.tags is None else evaluation.tags.iloc[order].reset_index(drop=True)
    clusters = None if evaluation.clusters is None else evaluation.clusters.select(order)
    return replace(
        evaluation,
        scores=evaluation.scores[order],
        truth=evaluation.truth[order],
        ids=list(ids),
        tags=tags,
        clusters=clusters,
        global_scores=None,  # over all pairs the order does not matter, and nothing here is paired over them
    )


def common_groups(a: Evaluation, b: Evaluation) -> tuple[Evaluation, Evaluation]:
    """Both on the groups that both have, in A's order. Raises InputError where they have none in common."""
    in_b = np.isin(a.ids, b.ids)
    if not in_b.any():
        raise InputError(
            f"A and B have no group in common: A's first is {a.ids[0]!r}, B's {b.ids[0]!r}. Compare files of one "
            "benchmark, with its names of groups."
        )
    first = a if in_b.all() else a.select(in_b)
    return first, in_order_of(b.select(np.isin(b.ids, a.ids)), first.ids)


def _completed_by(own: Evaluation, other: Evaluation, name: str) -> Evaluation:
    """An evaluation that was given no truth, by that of the other on the same groups. name : of the other."""
    if own.truth_given or not other.truth_given or own.truth.shape != other.truth.shape:
        return own
    return replace(own, truth=other.truth, truth_given=True, truth_of=name)


def without_names(name: str, ids: Sequence[str], is_embeddings: bool) -> str:
    """How the groups of a file that only numbers them get names, as a sentence; "" for one that has names.

    name : of the file.
    """
    if list(ids) != [str(i) for i in range(len(ids))]:
        return ""
    numbered = f"{name} only numbers its groups, 0 to {len(ids) - 1}"
    if is_embeddings:
        return (
            f"{numbered}, as embeddings do: name the groups of the other file by these numbers, or store the scores of "
            "the embeddings with names: numpy.savez('named.npz', scores=..., ids=...)."
        )
    if not name.lower().endswith((".npz", ".npy")):
        return f"{numbered}: give it the names of groups that the other file has."
    return (
        f"{numbered}: add an array 'ids' with the name of each group, in the order of its scores: "
        "numpy.savez('named.npz', scores=..., ids=...)."
    )


def on_groups(
    evaluation: Evaluation,
    ids: Sequence[str],
    truth: np.ndarray | None,
    name: str = "",
    captions: tuple[np.ndarray | None, Sequence[Sequence[str]]] = (None, ()),
) -> Evaluation:
    """The evaluation of a file as one of a benchmark's groups: in their order, measured by their truth, int64 (n, m).

    A file without truth takes theirs, and its record says whose it is.

    name : of the benchmark. captions : of the file, in its own order, text (n, k), None where it numbers them; and of
    the benchmark's groups. Raises InputError where the file has other groups, other captions or another truth.
    """
    _check_same_names(evaluation.ids, ids)
    found = evaluation if list(evaluation.ids) == list(ids) else in_order_of(evaluation, ids)
    if truth is not None and not evaluation.truth_given and name:
        own, theirs = captions
        if own is not None:
            _check_same_captions(dict(zip(evaluation.ids, own.tolist(), strict=True)), ids, theirs, name)
        return replace(found, truth=truth, truth_given=True, truth_of=name)
    if truth is not None:
        if found.truth.shape != truth.shape and found.shape[0] == 1:
            raise InputError(
                f"The file names {found.truth.shape[1]} of a group's captions as true, the benchmark {truth.shape[1]}; "
                "give the file the benchmark's truth."
            )
        if found.truth.shape != truth.shape:
            raise InputError(
                f"The file has groups of {found.shape[0]} images, the benchmark of {truth.shape[1]}."
            )
        other = np.flatnonzero((found.truth != truth).any(axis=1))
        if len(other) and evaluation.truth_given:
            raise InputError(
                f"The file and {name or 'the benchmark'} differ in what is right for {counted(len(other), 'group')}, "
                f"the first {ids[other[0]]!r}; mend the file's truth, or leave it out to take the benchmark's."
            )
        _check_same_truth(found.truth, truth, ids)
    return found


def _check_same_captions(
    own: dict[str, list[str]], ids: Sequence[str], theirs: Sequence[Sequence[str]], name: str
) -> None:
    """Raises InputError where a file's captions are not the benchmark's in their order: its truth counts them."""
    texts = ({" ".join(text.split()) for row in rows for text in row} for rows in (own.values(), theirs))
    mine, known = texts
    if not mine & known and not any(" " in text for text in mine):
        return  # labels such as `c0`, which are no captions
    for group, row in zip(ids, theirs, strict=True):
        pairs = zip(own[group], row, strict=False)
        for i, (one, other) in enumerate(pairs):
            if one.split() != other.split():
                raise InputError(
                    f"Caption {i + 1} of group {group!r} is {one!r:.80} in the file and {other!r:.80} in {name}, whose "
                    "truth so does not fit; say what is right in the file itself, in a column `match`."
                )


def _check_same_names(own: Sequence[str], ids: Sequence[str]) -> None:
    """Raises InputError unless a file's groups are those of the benchmark, in any order."""
    known, asked = set(own), set(ids)
    if known == asked:
        return
    common = len(known & asked)
    if not common:
        raise InputError(
            f"The file has none of these groups: its first is {own[0]!r}, theirs {ids[0]!r}. Choose the benchmark that "
            "it was made on, or the file in place of a benchmark."
        )
    missing = f", without {next(n for n in ids if n not in known)!r} for one" if asked - known else ""
    more = f" and {counted(len(known - asked), 'other')}" if known - asked else ""
    raise InputError(
        f"The file has {common} of these {len(ids)} groups{missing}{more}. Compare measures on the groups that both "
        "sides have; here choose the file in place of the benchmark."
    )


def differences(a: Evaluation, b: Evaluation, metrics: Sequence[str] | None = None) -> dict[str, Comparison]:
    """B minus A for every metric, or for those named: interval, exact McNemar test, detectable difference.

    Where groups hang together also by cluster; p values also corrected for so many metrics.
    """
    _check_same_groups(a, b)
    found = {
        name: compare(a.outcomes[name].value, b.outcomes[name].value, a.clusters or b.clusters)
        for name in metrics or a.outcomes
    }
    if a.shape[0] == 1:  # of one image the metrics are one, which is one test
        kept = Metric.same(found)
        once = Comparison.holm({name: found[name] for name in kept})
        return ByName({name: once[first] for first, names in kept.items() for name in names})
    return ByName(Comparison.holm(found))


def _moved_end(found: Any) -> str:
    """How the exact test moved an end of a paired interval, which then lies at 0: "stretched to hold 0" or "shortened
    to exclude 0"; "" where it moved none. found : a Comparison, or its part by cluster."""
    return _moved_to_zero(found.low, found.high)


def _moved_to_zero(low: float, high: float) -> str:
    """`_moved_end` of an interval by its ends."""
    if low == high or min(abs(low), abs(high)) > _AT_ZERO:
        return ""
    return "stretched to hold 0" if low <= 0 <= high else "shortened to exclude 0"


def _counts_parts(name: str) -> bool:
    """Whether a metric, by its key, counts parts of a group."""
    return name in METRICS and METRICS[name].share


def _label_of(name: str) -> str:
    return METRICS[name].label if name in METRICS else name


def _exact_test(is_share: bool, by: str = "") -> str:
    """The test that p is of. by : what the groups of a cluster share, "" where each is its own."""
    if by:
        return f"the test that flips the signs of all groups of one {by} at once"
    return "the exact sign test" if is_share else "McNemar's exact test"


def _test_named(name: str, by: str = "") -> str:
    """The test of a metric, by its key, in a column: `exact sign test`. by : as of `_exact_test`."""
    return _exact_test(_counts_parts(name), by).removeprefix("the ")


def _interval_named(name: str, images: int = 2) -> str:
    """How the 95 % interval of a metric, by its key, is made, in a column: `95 % Clopper-Pearson`. images : of each
    group, of which a metric may count parts."""
    parts = images > 1 and (name not in METRICS or METRICS[name].share)
    return f"95 % Clopper-Pearson{', of effective answers' if parts else ''}"


def _paired_interval(low: float, high: float, of: str = "") -> str:
    """How the 95 % interval of a paired difference is made, in a column: `95 % Bonett-Price, Student's t`; and whether
    its test moved an end of it to 0. of : what it is of, where there are two."""
    moved = _moved_to_zero(low, high)
    return f"95 % Bonett-Price, Student's t{of}{f', {moved} by its test' if moved else ''}"


def _exact_tests(found: Mapping[str, Comparison], deciding: bool = False) -> str:
    """The tests that p values are of: `McNemar's exact test, of IndividualMatch the exact sign test`. deciding : as of
    `_interval_note`."""
    by = next((each.clustered.by for each in found.values() if each.clustered), "")
    if by and deciding:
        return _exact_test(False, by)
    shares = [_label_of(name) for name in found if _counts_parts(name)]
    parts = [_exact_test(len(shares) == len(found))]
    if 0 < len(shares) < len(found):
        parts.append(f"of {', '.join(shares)} {_exact_test(True)}")
    return ", ".join([*parts, *[f"by {by} {_exact_test(False, by)}"] * bool(by)])


def _moved_said(found: Mapping[str, Comparison], deciding: bool = False) -> str:
    """Of which metrics an exact test moved an end of the interval to 0, how and which test, in a sentence; "" where
    of none. found, deciding : as of `_interval_note`."""
    moved: dict[tuple[str, str], list[str]] = {}
    for name, each in found.items():
        parts = [each.clustered or each] if deciding else filter(None, (each, each.clustered))
        for part in parts:
            by = part.by if isinstance(part, _ClusteredComparison) else ""
            if way := _moved_end(part):
                of = moved.setdefault((way, _exact_test(_counts_parts(name), by)), [])
                of.append(f"{_label_of(name)}{f' by {by}' if by and not deciding else ''}")
    told = [f"{', '.join(of)} is {way} by {test}" for (way, test), of in moved.items()]
    return f"The interval of {', that of '.join(told)}." if told else ""


def _interval_head(tests: int, by: str = "") -> str:
    """What an interval is called before its ends: beside a p that is corrected for several tests, that it is not.

    by : what the groups of a cluster share.
    """
    name = f"95 % interval{f' by {by}' if by else ''}"
    return f"{name}, uncorrected:" if tests > 1 else name


def _after_holm(tests: int) -> str:
    """What a corrected p is, behind its number: by whose method, and for how many tests."""
    return f"after Holm's correction for {counted(tests, 'metric')}"


def _is_unproven(found: Comparison) -> bool:
    """Whether a difference is there by its interval and its p alone, and not any more once p is corrected."""
    tested = found.clustered or found
    holds_0 = tested.low <= 0 <= tested.high
    return tested.p_holm is not None and not holds_0 and tested.p_value <= 0.05 < tested.p_holm


def _ahead_said(
    found: Comparison, first: str, second: str, tests: int, of: str = "metrics", what: str = "these groups"
) -> str:
    """Whether the second of two is ahead of the first, in words that the interval beside them does not contradict:
    where only the correction leaves it open, on which side the second is, and that this is not proven.

    tests, of : for how many tests p is corrected, and what these are. what : what cannot tell them apart otherwise.
    """
    side = f"{second} is {'ahead of' if found.difference > 0 else 'behind'} {first}"
    if found._ahead:
        return side
    if _is_unproven(found):
        p = _p_text((found.clustered or found).p_holm)
        return f"{side} on these groups, not proven after correction for {tests} {of} (p {p})"
    return f"{what} cannot tell {first} and {second} apart"


def _counted_said(names: Iterable[str], side: str) -> str:
    """After the groups that one side alone has right: what they are by a metric of parts, of whose points they are no
    share, as a group may have one part more right or several; "" where no metric is one. names : keys of metrics."""
    shares = [_label_of(name) for name in names if _counts_parts(name)]
    return f"by {', '.join(shares)} those of which {side} has more images right" if shares else ""


def _interval_rule(found: Mapping[str, Comparison]) -> str:
    """What decides whether intervals of paired differences hold 0, as a sentence. found : by the key of the metric."""
    shares = [_label_of(name) for name in found if _counts_parts(name)]
    apart = (
        f"; that of {', '.join(shares)}, whose p counts groups and whose interval is of points, may hold 0 there too"
        if shares
        else ""
    )
    return f"An interval holds 0 where its p, before any correction, is above 0.05, and elsewhere does not{apart}."


def _interval_note(found: Mapping[str, Comparison], deciding: bool = False) -> str:
    """What decides whether intervals of paired differences hold 0, and of which metrics a test has moved one for that:
    the sentences of page, report, LaTeX and commands.

    found : by the key of the metric, or by another name. deciding : only the interval by cluster is shown where groups
    hang together.
    """
    moved = _moved_said(found, deciding) or "None of these intervals had to be moved for that."
    return f"{_interval_rule(found)} {moved}"


def groups_by_winner(a: Evaluation, b: Evaluation, metric: str) -> dict[str, np.ndarray]:
    """Which of the two has each group right by a metric: side of `SIDES` -> bool (n,)."""
    _check_same_groups(a, b)
    right = [e.outcomes[metric].value == 1 for e in (a, b)]
    return {name: (right[0] == left) & (right[1] == second) for name, (left, second) in SIDES.items()}


def comparison_table(a: Evaluation, b: Evaluation, names: Sequence[str]) -> pd.DataFrame:
    """One row per metric: both values with interval, chance level and ties, the paired difference and its p value.

    Metrics that are one, as on groups of one image, have one row with all their names.

    names : of A and B, as column heads. All accuracies in percent, differences in percentage points, intervals as two
    numbers in columns that end in `low` and `high`. `test` names the test that p is of. Where groups hang together, the
    difference, p and test by cluster come last, named after what the groups share.
    """
    rows, compared = [], differences(a, b)
    for name, same in Metric.same(compared).items():
        found = compared[name]
        row: dict[str, object] = {"metric": ", ".join(METRICS[each].label for each in same)}
        for title, evaluation in zip(names, (a, b), strict=True):
            e = evaluation.metrics[name]
            row |= {
                title: e.value,
                f"{title}: low": e.low,
                f"{title}: high": e.high,
                f"{title}: tied": e.ties,
            }
        row |= {"chance": a.metrics[name].chance, "B − A": found.difference}
        row |= {"B − A: low": found.low, "B − A: high": found.high, "only B right": found.fixed}
        row |= {"only A right": found.broken, "p": found.p_value, "p (Holm)": found.p_holm}
        row |= {"test": _test_named(name), "detectable": found.detectable}
        if found.clustered is not None:
            by = found.clustered.by
            row |= {f"B − A by {by}: low": found.clustered.low, f"B − A by {by}: high": found.clustered.high}
            row |= {f"p by {by}": found.clustered.p_value, f"p by {by} (Holm)": found.clustered.p_holm}
            row |= {f"test by {by}": _test_named(name, by), f"detectable by {by}": found.clustered.detectable}
        rows.append(
            {key: value if key.startswith("p") else _without_noise(value) for key, value in row.items()}
        )
    return pd.DataFrame(rows)


def _without_noise(value: object) -> object:
    """A number to 12 digits: 13.75, not the 13.750000000000002 that a sum in another order gives."""
    return float(f"{value:.12g}") if isinstance(value, float) else value
