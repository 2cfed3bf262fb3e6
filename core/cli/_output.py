"""What the commands print: JSON or text on standard output, remarks on standard error."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.base.errors import InputError
from core.base.text import _pct, _signed, _signed_end, p_digits, tie_count

if TYPE_CHECKING:
    from core.metrics.statistics import Comparison

_EVERY = 60.0  # seconds between lines of progress where nobody watches


def show_json(record: Any) -> None:
    print(json.dumps(record, allow_nan=False), flush=True)


def print_note(text: str) -> None:
    """Progress and remarks go to standard error, so that standard output stays clean."""
    print(text, file=sys.stderr, flush=True)


@contextmanager
def writing(path: Path, flag: str = "--out") -> Iterator[None]:
    """Raises InputError where a result cannot be written; it names the option that gave the path."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{path} cannot be written ({error.strerror or error}); choose another {flag}."
        ) from None


def make_folder(folder: Path, flag: str) -> None:
    """Make the folder of a result before the work that would be lost without it."""
    with writing(folder, flag):
        folder.mkdir(parents=True, exist_ok=True)


class ProgressPrinter:
    """Progress on standard error: at a terminal a line for every further tenth of a piece of work, in a file or a pipe
    at most one a minute, so that quick work leaves none there."""

    def __init__(self) -> None:
        self.last, self.at = ("", -1), time.monotonic()

    def __call__(self, what: str, share: float) -> None:
        tenth = (what, int(10 * share + 1e-9))
        if tenth != self.last and (sys.stderr.isatty() or time.monotonic() - self.at > _EVERY):
            print_note(f"{share:4.0%}  {what}")
            self.at = time.monotonic()
        self.last = tenth


def count_progress(what: str) -> Callable[[int, int], None]:
    """As `ProgressPrinter`, for work that says how many things are done, of how many."""
    progress = ProgressPrinter()
    return lambda done, total: progress(what, done / total)


def _headline_names(metrics: Mapping[str, Any]) -> list[str]:
    """The metrics that have room on a line."""
    from core.metrics.group_metrics import Metric, headline_metrics  # scipy
    from core.metrics.retrieval import COLA_MAP  # scipy

    headline = headline_metrics(metrics)
    kept = [[name for name in names if name in headline][-1:] for names in Metric.same(metrics).values()]
    return [*(n for n in headline if [n] in kept), *(n for n in (COLA_MAP,) if n in metrics)]


def format_metrics(record: dict[str, Any]) -> str:
    """Metrics as an aligned text table: value, interval, chance level, ties; the interval by cluster where it is."""
    from core.metrics.group_metrics import Metric  # scipy
    from core.metrics.statistics import Estimate  # scipy

    lines = [f"{'metric':<18}{'value':>8}{'95 % interval':>18}{'chance':>9}{'ties':>6}"]
    names = Metric.same(record["metrics"])
    dominated: dict[str, None] = {}  # said once, below the lines
    for name in names:
        e = record["metrics"][name]
        interval = f"[{_pct(e['low'], 2)}, {_pct(e['high'], 2)}]"
        ties = tie_count(e["ties"])
        estimate = Estimate.of_record(e)
        why = estimate.clustered.dominated if estimate.clustered is not None else ""
        known = estimate._by_cluster(2, "[{}, {}]").removesuffix(why)
        dominated |= {why: None} if why else {}
        by_cluster = f"  {known}" if known else ""
        lines.append(
            f"{name:<18}{_pct(e['value'], 2):>8}{interval:>18}{_pct(e['chance'], 2):>9}{ties:>6}{by_cluster}"
        )
    lines += [f"{why.strip(' ()')}." for why in dominated]
    lines += [_left_out(name, what) for name, what in record.get("left_out", {}).items() if what]
    return "\n".join([*lines, *_other_names(names)])


def _other_names(names: Mapping[str, list[str]]) -> list[str]:
    """What else the metrics of a table are called, where groups have one image."""
    return [
        f"A group has one image, so that {', '.join(others)} are {name} by other names."
        for name, (_, *others) in names.items()
        if others
    ]


def _left_out(name: str, what: str | int) -> str:
    """What is missing from a metric: all of it, and why; or so many queries."""
    if isinstance(what, str):
        return f"{name}: not computed. {what}"
    return f"{name}: {what} {'query' if what == 1 else 'queries'} left out, to which nothing belongs"


def format_differences(
    title: str,
    found: Mapping[str, Comparison],
    sides: tuple[str, str],
    tests: int | None = None,
    why: str = "",
) -> str:
    """Paired differences as aligned text, by cluster too where groups hang together, and in a short line each what the
    columns are; the help of `compare` says how they are read.

    title : of what is subtracted from what. sides : heads of the groups that the first, the second alone has right.
    tests : for how many p is corrected, where that is more than these. why : the reason for that number, a sentence.
    """
    from core.metrics.group_metrics import Metric  # scipy
    from core.metrics.paired import _PAIRED_INTERVALS, _exact_tests, _moved_said  # scipy

    names = Metric.same(found)
    width = max(18, *(len(name) + 2 for name in names))
    lines = [
        f"{title:<{width}}{'points':>8}{'95 % interval':>18}{sides[0]:>10}{sides[1]:>10}{'exact p':>9}{'Holm':>9}"
        f"{'detectable':>12}"
    ]
    for name in names:
        each = found[name]
        counts = f"{each.broken:>10}{each.fixed:>10}"
        lines.append(f"{name:<{width}}{_signed(each.difference, 2):>8}{_test(each, counts)}")
        if each.clustered is not None:
            by = f"  by {each.clustered.by}"
            test = f"{_test(each.clustered, ' ' * 20)}{each.clustered.dominated}"
            same = test == _test(each, " " * 20)  # as printed
            lines.append(f"  also by {each.clustered.by}" if same else f"{by:<{width}}{'':>8}{test}")
    count, of = len(names), f"these {len(names)} metrics"
    if tests is not None and tests > count:
        count, of = tests, f"all {tests} tests of this output"
    if count > 1:
        lines.append(f"Holm: p corrected for {of}; the intervals are uncorrected.{' ' * bool(why)}{why}")
    shown = {name: found[name] for name in names}
    lines += [
        f"Intervals: {_PAIRED_INTERVALS}; exact p: {_exact_tests(shown)}.",
        *filter(None, [_moved_said(shown)]),
        "Detectable: with 80 % power, uncorrected. Differences are of unrounded values. "
        "More: `crossmatch compare --help`.",
    ]
    return "\n".join(lines)


def _test(found: Any, counts: str) -> str:
    """The interval, the groups where either is better, p values and the detectable difference."""
    interval = f"[{_signed_end(found.low, 2)}, {_signed_end(found.high, 2)}]"
    detectable = "none" if found.detectable is None else _pct(found.detectable, 2)
    return f"{interval:>18}{counts}{p_digits(found.p_value):>9}{p_digits(found.p_holm):>9}{detectable:>12}"


def format_step(record: Mapping[str, Any]) -> str:
    """One line of text for an iteration."""
    columns = [f"iteration {record['iteration']:>2}"]
    if record["threshold"] is not None:
        columns.append(f"threshold {record['threshold']:.3f}")
    if record["coverage"] is not None:
        precision = "-" if record["precision"] is None else f"{_pct(100 * record['precision'])} %"
        columns.append(f"coverage {_pct(100 * record['coverage'])} %  precision {precision}")
    for name in _headline_names(record["metrics"]):
        e = record["metrics"][name]
        interval, ties = f"[{_pct(e['low'], 2)}, {_pct(e['high'], 2)}]", tie_count(e["ties"])
        columns.append(f"{name} {_pct(e['value'], 2)} {interval} (chance {_pct(e['chance'])}, ties {ties})")
    for part, step in record.get("parts", {}).items():
        values = step["metrics"]
        columns += [f"{part} {name} {_pct(values[name]['value'], 2)}" for name in _headline_names(values)]
    return "  ".join([*columns, f"{record['seconds']:.1f} s", *filter(None, [record["note"]])])


def format_spread(row: Mapping[str, Any]) -> str:
    """One line of text for an iteration over several seeds: mean ± standard deviation."""
    columns = [f"iteration {row['iteration']:>2}"]
    for part, metrics in {"": row["metrics"], **row.get("parts", {})}.items():
        for name in _headline_names(metrics):
            e = metrics[name]
            std = "" if e["std"] is None else f" ± {_pct(e['std'], 2)}"
            columns.append(f"{part} {name} {_pct(e['mean'], 2)}{std}".strip())
    return "  ".join([*columns, f"({row['seeds']} seeds)"])
