"""Accuracies, runs and progress as they are shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.base.text import (
    _change_in_points,
    _exact_differences,
    _half_up,
    _p_text,
    _pct,
    _signed,
    _time_left,
    _true_minus,
    p_digits,
)
from core.figures.text import _unbroken, label_and_meaning
from core.metrics.group_metrics import Metric
from core.metrics.groups import METRICS
from core.metrics.statistics import Estimate

if TYPE_CHECKING:
    import pandas as pd
    from pandas.io.formats.style import Styler

EXACT_SAID = (
    "exact_differences"  # in the session: per number of digits the part of the page that has the sentence
)


def p_text(p: float | None) -> str:
    """A p value as it is read: two digits (more beside 0.05), or that it is below 0.001."""
    return _p_text(p)


def p_exact(p: float | None) -> str:
    """A p value to two digits (more beside 0.05), however small, with a raised power.

    >>> p_exact(0.0317), p_exact(2.34e-7), p_exact(None)
    ('0.032', '2.3×10⁻⁷', '–')
    """
    number, _, power = p_digits(p).partition("e")
    return f"{number}×10{str(int(power)).translate(_RAISED)}" if power else number


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

true_minus = _true_minus


def unbroken(text: str) -> str:
    """A text in which no line ends between a number and its unit, between a sign or a p and its number, or within an
    interval.

    >>> unbroken("p < 0.001, 95 % interval 7.4–14.7").replace("\u00a0", "_").replace("\u2060", "+")
    'p_<_0.001, 95_% interval 7.4–+14.7'
    """
    return _unbroken(text)


def anchor(title: str) -> str:
    """The name of a section in an address.

    >>> anchor("Where does the gain come from?")
    'where-does-the-gain-come-from'
    """
    return "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split())


def contents_line(titles: Sequence[str]) -> None:
    """A link to each section that stands below, on one line; on a phone each is a button, and all are in sight."""
    with st.container(key="contents"):
        st.markdown("On this page: " + " · ".join(f"[{title}](#{anchor(title)})" for title in titles))


def metric_card(name: str, estimate: Estimate, change: str | None = None) -> None:
    """An accuracy as a card; the tooltip is the glossary.

    change : below the value.
    """
    label, meaning = label_and_meaning(name)
    if name in METRICS:
        meaning += f"\n\n$${METRICS[name].formula}$$\n\n{METRICS[name].reference}."
    over, by = f"{_pct(estimate.low)}–{_pct(estimate.high)}", by_shared(estimate)
    kind, rest = f"by shared {estimate.clustered.by}" if by and estimate.clustered else "over groups", ""
    if by:  # one interval on the card, the one to quote; two on each of five cards were ten ranges in grey
        rest = f" Over groups alone, the exact 95 % interval is {over}."
    if estimate.clustered is not None:
        rest += f" {interval_to_quote(estimate.clustered.by, f'{estimate.clustered.clusters} clusters')}"
    exact = "" if by else "exact "
    note = f"Below: {exact}95 % interval {kind}, chance level, tied groups (a tie counts as wrong).{rest}"
    interval = f"95 % {by}" if by else f"95 %: {over}"
    with st.container(border=True, gap="xxsmall"):
        st.metric(
            label,
            f"{_pct(estimate.value)} %",
            change,
            delta_color="off",
            delta_arrow="off",
            help=f"{meaning}\n\n{note}",
        )
        st.caption(f"{interval}  \nchance {_pct(estimate.chance)} · {estimate.tied}")


def by_shared(estimate: Estimate) -> str:
    """`by shared caption: 36.6–48.2`; "" where it is the interval over groups, as both are printed."""
    c = estimate.clustered
    ends = "" if c is None else f"{_pct(c.low)}–{_pct(c.high)}{c.dominated}"
    same = c is None or ends == f"{_pct(estimate.low)}–{_pct(estimate.high)}"
    return "" if c is None or same else f"by shared {c.by}: {ends}"


def interval_to_quote(by: str, clusters: str = "") -> str:
    """What “by caption” says of an interval, and which of the two is quoted: that of `Estimate.bounds`.

    clusters : how many there are.

    >>> interval_to_quote("caption", "299 clusters")
    'Quote the interval by caption, where groups that share one count as one (299 clusters).'
    """
    of = f" ({clusters})" if clusters else ""
    return f"Quote the interval by {by}, where groups that share one count as one{of}."


def say_interval_to_quote(found: Iterable[Estimate]) -> None:
    """Below accuracies, once, what their second interval is and why, where any of them has one that is another."""
    by = next((e.clustered.by for e in found if e.clustered is not None and by_shared(e)), "")
    if by:
        st.caption(
            f"{interval_to_quote(by)} Why: a model tends to be right or wrong on all groups of one {by} together."
        )


def of_groups(found: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """The metrics of groups, each once."""
    own = {name: estimate for name, estimate in found.items() if name in METRICS}
    return {name: own[name] for name in Metric.same(own)}


def against_chance(found: Mapping[str, Estimate], small: bool = False) -> str:
    """In a sentence by which metrics scores are better than chance, by their 95 % intervals: by cluster, where groups
    hang together. Of several metrics it says that no interval is corrected for the others.

    small : as Markdown whose remark on the intervals is small.
    """
    by: dict[str, list[str]] = {}
    for name, estimate in of_groups(found).items():
        low, high = estimate.bounds
        how = _BETTER if low > estimate.chance else _WORSE if high < estimate.chance else _NEITHER
        by.setdefault(how, []).append(METRICS[name].label)
    kinds = [how for how in (_BETTER, _NEITHER, _WORSE) if how in by]
    alike = len(kinds) == 1
    which = {how: _every(by[how], how) if alike else _listed(by[how], how) for how in kinds}
    verdict = " ".join(f"{how} chance by {which[how]}." for how in kinds)
    if alike and len(by[kinds[0]]) == 1:
        return verdict
    remark = "Each by its own 95 % interval, uncorrected."
    return f"{verdict} :small[{remark}]" if small else f"{verdict} {remark}"


_BETTER, _NEITHER, _WORSE = "Better than", "Not distinguishable from", "Worse than"


_COUNTS = {3: "three", 4: "four", 5: "five", 6: "six"}


def _every(names: list[str], how: str) -> str:
    """`all five metrics`; names where they are few. Of what is not distinguishable `any of the five metrics`: “not by
    all five” could be by some of them."""
    if len(names) < 3:
        return _listed(names, how)
    each = "any of the" if how == _NEITHER else "all"
    return f"{each} {_COUNTS.get(len(names), len(names))} metrics"


def _listed(names: list[str], how: str) -> str:
    """As `_and`; with “or” after “not”."""
    return _and(names, "or" if how == _NEITHER else "and")


def _and(names: list[str], word: str = "and") -> str:
    """`TextScore, ImageScore and GroupMatch`."""
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def exact_differences_once(owner: str, digits: int = 1) -> str:
    """`_exact_differences` with a space before it, once on a page; "" where another part has said it.

    owner : the part of the page that says it, which may be drawn again alone, as what a run does while it works.
    """
    said = st.session_state.setdefault(EXACT_SAID, {})
    return f" {_exact_differences(digits)}" if said.setdefault(digits, owner) == owner else ""


def rounding_note(ends: Iterable[tuple[float, float]]) -> str:
    """`_exact_differences` where one of the differences, as it is printed, is not that of its two printed ends; ""
    elsewhere.

    >>> rounding_note([(82.0 + 2 / 3, 71.0 + 1 / 3)])[:43], rounding_note([(50.0, 60.0)])  # 82.7, 71.3, -11.3
    ('Differences are of the unrounded values, so', '')
    """
    off = (_half_up(_half_up(b) - _half_up(a)) != _change_in_points(a, b) for a, b in ends)
    return _exact_differences() if any(off) else ""


def change_text(before: float, now: float) -> dict[str, Any]:
    """How `st.metric` shows a change in points: with an arrow up or down, or none where nothing changed."""
    difference = _change_in_points(before, now)
    if difference == 0:
        return {"delta": "no change", "delta_arrow": "off", "delta_color": "off"}
    arrow = "up" if difference > 0 else "down"  # Streamlit knows a hyphen alone as a sign
    return {
        "delta": true_minus(f"{_signed(difference)} points"),
        "delta_arrow": arrow,
        "delta_color": "off",
    }


def metric_grid(count: int) -> Any:
    """Places for so many cards: rows of five at most, each as full as the others."""
    rows = -(-count // 5)
    return st.grid(-(-count // rows), min_column_width=150)


def accuracy_cards(found: Mapping[str, Estimate]) -> None:
    """The metrics of one file's groups, a card each, and which of two intervals is the one to quote."""
    found = of_groups(found)
    with st.container(key="metric-cards"):
        grid = metric_grid(len(found))
        for name, estimate in found.items():
            with grid.cell():
                metric_card(name, estimate)
        say_interval_to_quote(filter(by_shared, found.values()))


def touch_help(text: str) -> None:
    """What the question mark of a switch says, below it on a touch screen alone: a finger on the mark would move it."""
    st.html(f'<p class="cm-touch">{escape(text)}</p>')


def swipe_hint(more: str = "") -> None:
    """Say above a table, on a phone alone, that it goes on. more : what is there, "for …"."""
    st.html(
        f'<p class="cm-swipe">Swipe the table sideways{f" {more}" if more else ": it has more columns"}. →</p>'
    )


def wide_table(table: pd.DataFrame | Styler, more: str = "", **how: Any) -> Any:
    """A table without its index, with a dash where a value is missing. On a phone a line above it says that it goes on.

    more : what a phone's visitor finds to the right, "for …". how : what else `st.dataframe` takes, whose answer is
    returned.
    """
    swipe_hint(more)
    return st.dataframe(table, hide_index=True, placeholder="–", **how)


def interval_text(record: Mapping[str, Any]) -> str:
    """`66.7 (61.3–72.0)` of a stored estimate."""
    return f"{_pct(record['value'])} ({_pct(record['low'])}–{_pct(record['high'])})"


def estimate_columns(name: str, record: Mapping[str, Any] | None) -> dict[str, Any]:
    """A stored estimate as columns of numbers, for a file that is plotted: value, low, high, chance, tied; by cluster
    too, where groups hang together. Empty cells where there is none."""
    found = record or {}
    columns = {name: found.get("value")}
    columns |= {f"{name}: {end}": found.get(end) for end in ("low", "high", "chance")}
    columns[f"{name}: tied"] = found.get("ties")
    if clustered := found.get("clustered"):
        columns |= {f"{name} by {clustered['by']}: {end}": clustered[end] for end in ("low", "high")}
    return columns


def progress_bar(container: Any, what: str) -> Callable[[float], None]:
    """A progress callback (fraction done) that draws into `container` and says how much time is left."""
    started = time.monotonic()

    def show(fraction: float) -> None:
        spent = time.monotonic() - started
        left = f", {_time_left(spent / fraction * (1 - fraction))}" if fraction > 0.02 else ""
        container.progress(min(fraction, 1.0), text=f"{what}: {100 * fraction:.0f} %{left}")

    return show


@contextmanager
def progress(what: str) -> Iterator[tuple[Any, Callable[[float], None]]]:
    """A place on the page and a `progress_bar` in it, which is empty again at the end."""
    container = st.empty()
    yield container, progress_bar(container, what)
    container.empty()  # not after an error or a stop: the page ends there
