"""A report of models on benchmarks: one HTML file that opens without network and without running anything.

Charts are static SVG, pictures are inside, and the numbers lie in it once more as JSON.
"""

from __future__ import annotations

import json
import platform
import re
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.metadata import PackageNotFoundError, version
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from core import datasets
from core.base.errors import InputError
from core.base.files import storage_errors, write_bytes
from core.base.text import (
    _exact_differences,
    _pct,
    _signed,
    _signed_end,
    _signed_range,
    _true_minus,
    counted,
    p_digits,
    tie_count,
)
from core.datasets.embeddings import RowImage
from core.datasets.paper_results import load_results
from core.exchange.layouts import _with_raised_powers
from core.exchange.seeds import SeedResult, _labelled
from core.figures import TTMData, bars_data, group_html, margins_data
from core.figures.group_html import _matching_text
from core.figures.svg import _curves_svg, bars_svg, margins_svg
from core.figures.text import label_and_meaning
from core.groups import Group, GroupSet
from core.metrics import group_filters
from core.metrics.evaluation import Evaluation, tags_frame
from core.metrics.group_metrics import GroupData, Metric
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS, description_of, headline_metrics
from core.metrics.paired import (
    _PAIRED_INTERVALS,
    _ahead_said,
    _counted_said,
    _exact_tests,
    _interval_head,
    _interval_note,
    _interval_rule,
    _is_unproven,
    _moved_said,
    differences,
)
from core.metrics.statistics import Clusters, Comparison, Estimate
from core.runs.models import run_source
from core.scorers.vocabulary import vocabulary_note
from core.scoring.cache import ScoreCache
from core.scoring.load import lazy_scorer
from core.scoring.scores import score_groups
from core.ttm.records import _changes_told

_THUMBNAIL = 256  # pixels
_MAX_REFERENCES = 40
_OWN = "groups of the file"  # in place of a benchmark


@dataclass(frozen=True)
class ReportSection:
    """One model on one benchmark, of one shape."""

    model: str
    groups: GroupSet
    evaluation: Evaluation
    benchmark: str  # "" of a file with groups of its own
    split: str


def evaluate_all(
    models: Sequence[str],
    benchmarks: Sequence[str],
    split: str = "test",
    device: str = "auto",
    progress: Callable[[str, float], None] | None = None,
) -> list[ReportSection]:
    """Every model on every benchmark, from the score cache where it knows the scores; one section per shape."""
    if not models or not benchmarks:
        raise InputError("A report needs at least one model and one benchmark.")

    sections = []
    loaded = {name: datasets.load(name, split) for name in dict.fromkeys(benchmarks)}
    for model in dict.fromkeys(models):
        scorer = lazy_scorer(model, device=device)
        for name, whole in loaded.items():
            for part in whole.buckets().values():
                what = f"{model} on {name}"
                tell = None if progress is None else lambda d, t, w=what: progress(w, d / t)
                scores = score_groups(scorer, part, ScoreCache(), tell)
                tags = tags_frame([g.tags for g in part])
                found = Evaluation.of(
                    scores, part.truth, part.ids, tags=tags, clusters=Clusters.of_groups(part)
                )
                sections.append(ReportSection(model, part, found, name, split))
    return sections


def write_report(
    sections: Sequence[ReportSection], out: Path, examples: int = 6, pictures: bool | None = None
) -> Path:
    """Write the report; returns `out`.

    examples : groups shown per section. pictures : whether they are shown with their images; None shows those that
    are built in or the user's own, as the licences of others mostly forbid to pass their images on.
    """
    return write_page(out, report_html(sections, examples, pictures))


def write_page(out: Path, page: str) -> Path:
    """Write a page, whole or not at all; returns `out`."""
    with storage_errors(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(out, page.encode())
    return out


def report_html(
    sections: Sequence[ReportSection],
    examples: int = 6,
    pictures: bool | None = None,
    seeds: Sequence[SeedResult] = (),
    title: str = "",
    note: str = "",
    about: str = "",
    command: str = "",
    tested: Sequence[str] | None = None,
    curves: Mapping[str, TTMData] | None = None,
    left_open: str = "",
) -> str:
    """The whole page. Every text from data is escaped, and the page's own policy forbids it to load or run anything.

    seeds : what the sections are the seeds of, which comes first; each section is then folded. title : by default the
    models on the benchmarks. note : what a reader has to know first. about, command : what was run with which settings,
    and the command line that does it again. tested : the metrics whose differences are tested and corrected together,
    by default all. curves : what was adapted by iteration, at the top: one, or one for each part of the groups by name.
    left_open : what the tests of a run do not say, as the page of the run has it.
    """
    records, pairs = [_record(s) for s in sections], _pairs(sections, tested)
    body = "".join(_section(i, s, examples, pictures, folded=bool(seeds)) for i, s in enumerate(sections))
    said = {"note": note, "about": about, "command": command}
    numbers: dict[str, Any] = {name: text for name, text in said.items() if text}
    numbers |= {"sections": records, "differences": [_pair_record(p) for p in pairs]}
    if seeds:
        numbers["seeds"] = [each.record() for each in seeds]
    told = f"<p><b>{escape(note)}</b></p>" if note else ""
    again = f"<p>The same again:</p><pre>{escape(command)}</pre>" if command else ""
    told += (f"<p>{escape(about)}</p>" if about else "") + again
    concluded = _conclusions(pairs, seeds, adapted=curves is not None)
    if concluded:
        concluded += [_true_minus(left_open)] * bool(left_open)
        numbers["conclusions"] = concluded
    first = _with_raised_powers("<br>".join(map(escape, concluded)))
    told = f"<p>{first}</p>{told}" if concluded else told
    head = f"{told}{_curves(curves or {})}{SeedResult.html(seeds)}{_overview(sections)}{_difference_table(pairs)}"
    return report_page(title or _title(sections, pairs), f"{head}{body}{_how_to_read()}", numbers)


def _conclusions(pairs: Sequence[_Pair], seeds: Sequence[SeedResult], adapted: bool) -> list[str]:
    """What the tests of the main metrics say, a sentence each, as the pages say it; [] where nothing is tested.

    adapted : whether a pair is one model before and after a run.
    """
    if seeds:
        changes = {_labelled(r.metric, r.part): r.change for r in seeds if r.change}
        means = {label: change.mean for label, change in changes.items()}
        return _sentences(_changes_told(means, {label: each._told(label) for label, each in changes.items()}))
    told, changed = [], dict[str, Comparison]()
    for pair in pairs:
        main = {name: pair.metrics[name] for name in headline_metrics(pair.metrics) if name in pair.tests}
        if adapted:
            _, where, _ = _told_apart(pair.first.model, pair.second.model)
            part = f", {where}" if len(pairs) > 1 else ""
            changed |= {f"{METRICS[name].label}{part}": found for name, found in main.items()}
        else:
            tests = sum(len(each.tests) for each in pairs)
            told += [_ahead_told(pair, name, found, tests) for name, found in main.items()]
            told += _others_told(pair, main, tests)
    return told + _sentences(_changes_told(changed))


def _others_told(pair: _Pair, main: Mapping[str, Comparison], tests: int) -> list[str]:
    """Where a main metric cannot tell a pair apart, which others do, a sentence per side, as the page on comparisons
    has it; [] where none does. tests : of the report."""
    if all(found._ahead for found in main.values()):
        return []
    second, first = pair.names
    told = []
    for ahead, side, other in ((1, second, first), (-1, first, second)):
        found = [n for n in pair.tests if n not in main and pair.metrics[n]._ahead == ahead]
        if found:
            labels = ", ".join(METRICS[name].label for name in found)
            told.append(
                f"Corrected for {tests} comparisons of this page, {side} is ahead of {other} in {labels}."
            )
    return told


def _sentences(told: Sequence[tuple[str, str]]) -> list[str]:
    """Each of its head and its rest."""
    return [_true_minus(" ".join(filter(None, each))) for each in told]


def _ahead_told(pair: _Pair, name: str, found: Comparison, tests: int) -> str:
    """Whether the second of a pair is ahead of the first: where both interval and p say so. tests : of the page."""
    second, first = pair.names
    y, x = (f"{_pct(side.evaluation.metrics[name].value, 2)} %" for side in (pair.second, pair.first))
    tested = found.clustered or found
    p = tested.p_value if tested.p_holm is None else tested.p_holm
    said = _ahead_said(found, first, second, tests, of="comparisons of this page")
    is_unproven = _is_unproven(found)
    said += f", {y} against {x}" if found._ahead or is_unproven else f", {x} and {y}"
    by = "" if found.clustered is None else found.clustered.by
    interval = f"{_interval_head(tests, by)} {_signed_range(tested.low, tested.high)}"
    # The interval is of this metric alone, so beside a corrected p that of the metric alone has to stand.
    alone = (
        "" if tested.p_holm in (None, tested.p_value) else f" after Holm, {p_digits(tested.p_value)} alone"
    )
    said_p = f"{p_digits(tested.p_value)} alone" if is_unproven else f"{p_digits(p)}{alone}"
    return _true_minus(
        f"{METRICS[name].label}: {said} ({_signed(found.difference, 2)} points, {interval}, p {said_p})."
    )


def _curves(curves: Mapping[str, TTMData]) -> str:
    """Accuracy by iteration; "" of what has no iterations."""
    blocks = [
        f"<h3>Accuracy by iteration{f', {escape(part)} groups' if part else ''}</h3>"
        f'<p class="quiet">Bands: {_CURVE_BANDS[data.seeds is not None]}. Dotted: chance levels. The last iteration is '
        f"the result.</p>{_curves_svg(data)}"
        for part, data in curves.items()
        if data.metrics
    ]
    return "".join(blocks)


_CURVE_BANDS = {False: "95 % intervals", True: "one standard deviation to either side of the mean over seeds"}


def _title(sections: Sequence[ReportSection], pairs: Sequence[_Pair]) -> str:
    """Models on benchmarks; of two files on the same groups `a.csv compared with b.csv, 400 groups`."""
    models = list(dict.fromkeys(s.model for s in sections))
    where = [name for name in dict.fromkeys(s.benchmark for s in sections) if name]
    if len(sections) == 2 and pairs:
        both = _compared(*(section.model for section in sections))
        known = not where or any(where[0] in section.model for section in sections)
        return (
            both
            if where and known
            else _on(both, where[0])
            if where
            else f"{both}, {counted(len(sections[0].groups), 'group')}"
        )
    return _on(", ".join(models), ", ".join(where))


def _told_apart(first: str, second: str) -> tuple[str, str, str]:
    """What two names share, up to a comma, and what is left of each: `clip, before`, `clip, after` have `clip`."""
    parts = first.split(", "), second.split(", ")
    shared = len(
        [*takewhile(lambda pair: pair[0] == pair[1], zip(parts[0][:-1], parts[1][:-1], strict=False))]
    )
    short, other = (", ".join(names[shared:]) for names in parts)
    return ", ".join(parts[0][:shared]), short, other


def _compared(first: str, second: str) -> str:
    """`a.csv compared with b.csv`; of one model twice its name once: `clip: before compared with after`."""
    stem, *parts = _told_apart(first, second)
    return f"{stem}: {' compared with '.join(parts)}" if stem else " compared with ".join(parts)


def report_page(title: str, body: str, numbers: Mapping[str, Any]) -> str:
    """A page that opens without network and runs nothing.

    body : HTML. numbers : what is in it; they lie in it once more as JSON, with when and by what it was made.
    """
    # "<" inside the data would end its element; JSON may spell it otherwise.
    data = json.dumps({"made": _provenance(), **numbers}, allow_nan=False).replace("<", "\\u003c")
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{escape(title)} · Crossmatch report</title><style>{_STYLE}</style></head><body>
<h1>{escape(title)}</h1><p class="quiet">{escape(_provenance_line())}</p>
{_with_cell_heads(body)}
<script type="application/json" id="crossmatch">{data}</script></body></html>
"""


def _with_cell_heads(body: str) -> str:
    """HTML in which every cell of a table has the head of its column as `data-head`, which a narrow screen shows beside
    it: there each row stands as a block (`_STYLE`). An interval stays on one line."""
    return re.sub(r"<table\b.*?</table>", lambda found: _cells_with_heads(found[0]), body, flags=re.DOTALL)


def _cells_with_heads(table: str) -> str:
    head, mark, rows = table.partition("</thead>")
    names = [re.sub(r"<[^>]+>", "", name) for name in re.findall(r"<th\b[^>]*>(.*?)</th>", head, re.DOTALL)]
    if not mark or "colspan" in table or "rowspan" in table:
        return table

    def row_with_heads(row: re.Match[str]) -> str:
        left = iter(names)
        quoted = lambda: next(left, "").replace('"', "&quot;")  # noqa: E731
        return re.sub(r"<t([dh])\b", lambda cell: f'<t{cell[1]} data-head="{quoted()}"', row[0])

    rows = re.sub(r"\[[^][<>]{3,24}\](?=[^<>]*<)", lambda ends: f'<span class="whole">{ends[0]}</span>', rows)
    return head + mark + re.sub(r"<tr\b.*?</tr>", row_with_heads, rows, flags=re.DOTALL)


def _record(section: ReportSection) -> dict[str, Any]:
    head = {"model": section.model, "benchmark": section.benchmark, "split": section.split}
    return {**head, **section.evaluation.record()}


class _Pair(NamedTuple):
    """Two models on the same groups, and by metric how far the second is ahead of the first."""

    first: ReportSection
    second: ReportSection
    metrics: dict[str, Comparison]
    tests: dict[str, list[str]]  # metrics that are one, as on groups of one image, are one test

    @property
    def names(self) -> tuple[str, str]:
        """The second and the first, without what both names begin with."""
        _, first, second = _told_apart(self.first.model, self.second.model)
        return second, first


def _pairs(sections: Sequence[ReportSection], tested: Sequence[str] | None = None) -> list[_Pair]:
    """The first model on some groups with every other one on them; p values corrected for all of the page (Holm)."""
    pairs, first = list[_Pair](), dict[tuple[str, str, tuple[str, ...]], ReportSection]()
    for section in sections:
        base = first.setdefault((section.benchmark, section.split, tuple(section.evaluation.ids)), section)
        if base is not section:
            compared = differences(base.evaluation, section.evaluation, tested)
            pairs.append(_Pair(base, section, compared, Metric.same(compared)))
    corrected = Comparison.holm(
        {f"{i} {n}": pair.metrics[n] for i, pair in enumerate(pairs) for n in pair.tests}
    )
    return [
        pair._replace(
            metrics={n: corrected[f"{i} {test}"] for test, names in pair.tests.items() for n in names}
        )
        for i, pair in enumerate(pairs)
    ]


def _pair_record(pair: _Pair) -> dict[str, Any]:
    head = {"benchmark": pair.first.benchmark, "split": pair.first.split}
    sides = {"first": pair.first.model, "second": pair.second.model}
    return {**head, **sides, "metrics": {name: found.record() for name, found in pair.metrics.items()}}


def _provenance() -> dict[str, str]:
    found = {"time": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "python": platform.python_version()}
    for name in ("crossmatch", "torch", "transformers", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # a checkout on the path
            continue
    return found


def _provenance_line() -> str:
    made = _provenance()
    rest = ", ".join(f"{name} {value}" for name, value in made.items() if name != "time")
    return f"Made {made['time']} with {rest}."


# --- parts of the page


def _overview(sections: Sequence[ReportSection]) -> str:
    rows = "".join(
        f'<tr><td class="name">{escape(s.model)}</td>'
        f'<td class="name"><a href="#s{i}">{escape(s.benchmark or _OWN)}</a></td>'
        f"<td>{len(s.evaluation.scores)} of {_shape(s)}</td>"
        + "".join(_cell(s.evaluation.metrics.get(name)) for name in headline_metrics())
        + "</tr>"
        for i, s in enumerate(sections)
    )
    head = f"<tr><th>Model</th><th>Benchmark</th><th>Groups</th>{_heads()}</tr>"
    return f'<div class="wide"><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>'


def _difference_table(pairs: Sequence[_Pair]) -> str:
    """Second minus first in points, paired over the groups; "" where no two models share their groups."""
    rows = "".join(
        f'<tr><td class="name">{" − ".join(map(escape, pair.names))}</td>'
        f'<td class="name">{escape(pair.first.benchmark or _OWN)}</td>'
        f"<td>{escape(', '.join(METRICS[each].label for each in names))}</td>"
        f'<td class="num"><b>{_true_minus(_signed(found.difference, 2))}</b> '
        f"{_interval_of(found)}{_by_cluster(found)}</td><td>{found.fixed}</td>"
        f"<td>{found.broken}</td>{_p_cell(found.p_value)}{_p_cell(found.p_holm)}</tr>"
        for pair in pairs
        for name, names in pair.tests.items()
        for found in [pair.metrics[name]]
    )
    if not rows:
        return ""
    head = (
        "<tr><th>Second − first</th><th>Benchmark</th><th>Metric</th><th>Points [95 %]</th><th>Only the second right"
        "</th><th>Only the first right</th><th>p</th><th>Holm</th></tr>"
    )
    tests = sum(len(pair.tests) for pair in pairs)
    said = _counted_said(pairs[0].tests, "that one")
    counted_so = f" ({said})" if said else ""
    corrected = (
        f"; Holm: its p corrected for all {tests} comparisons of this page, the intervals are uncorrected"
        if tests > 1
        else ""
    )
    note = (
        "The same groups under both models: percentage points with their 95 % interval "
        f"({_PAIRED_INTERVALS}), the groups that only one of them has right{counted_so}, and p on these by "
        f"{_exact_tests(pairs[0].metrics)}{corrected}. {_moved_in(pairs)} {_exact_differences(2)}"
    )
    return (
        f'<h3>Differences</h3><p class="quiet">{note}</p>'
        f'<div class="wide"><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>'
    )


def _moved_in(pairs: Sequence[_Pair]) -> str:
    """What decides whether the intervals of these pairs hold 0, and which were moved for that; of several, whose."""
    tested = [{name: pair.metrics[name] for name in pair.tests} for pair in pairs]
    if len(pairs) == 1:
        return escape(_interval_note(tested[0]))
    moved = [
        f"{' − '.join(pair.names)}{f' on {pair.first.benchmark}' if pair.first.benchmark else ''}: {said}"
        for pair, found in zip(pairs, tested, strict=True)
        if (said := _moved_said(found))
    ]
    return escape(" ".join([_interval_rule(tested[0]), *moved]))


def _p_cell(p: float | None) -> str:
    """A p value on one line."""
    return f'<td class="num">{_with_raised_powers(p_digits(p))}</td>'


def _by_cluster(found: Comparison) -> str:
    """The interval once more where groups hang together."""
    c = found.clustered
    if c is None:
        return ""
    return f'<br><span class="quiet">by {escape(c.by)} {_interval_of(c)}{c.dominated}</span>'


def _interval_of(found: Any) -> str:
    """`[−1.20, +3.40]`"""
    return _true_minus(f"[{_signed_end(found.low, 2)}, {_signed_end(found.high, 2)}]")


def _shape(section: ReportSection) -> str:
    return "×".join(map(str, section.evaluation.shape))


def _heads() -> str:
    return "".join(f"<th>{escape(description_of(name).label)}</th>" for name in headline_metrics())


def _cell(found: Estimate | None) -> str:
    if found is None:
        return "<td>–</td>"
    tied = f", {found.ties} tied" if found.ties else ""
    return (
        f"<td><span><b>{_pct(found.value, 2)}</b> [{_pct(found.low, 2)}, {_pct(found.high, 2)}]</span>"
        f'<br><span class="quiet">chance {_pct(found.chance)}{tied}</span></td>'
    )


def _section(
    index: int, section: ReportSection, examples: int, pictures: bool | None, folded: bool = False
) -> str:
    found, groups = section.evaluation, section.groups
    names = list(found.outcomes)
    chart = bars_svg(bars_data({"all": found.metrics}, names))
    ties = int(found.matches.tied.sum())
    verb = "is" if ties == 1 else "are"
    tied = f"{counted(ties, 'group')} {verb} tied and in no bar." if ties else ""
    margins = margins_svg(margins_data(found.matches, found.outcomes[GROUP_MATCH]), f"cm-hatch-{index}")
    where = section.benchmark and (groups.title or section.benchmark)
    source = _source(groups) if section.benchmark else ""  # a file says nothing of its own
    opened, closed, end = ("<details><summary>", "</summary>", "</details>") if folded else ("", "", "")
    # The link to a section leads inside its fold, which opens it.
    return f"""<section>{opened}<h2>{escape(_on(section.model, where))}</h2>{closed}<div id="s{index}">
<p>{escape(_source_line(section))}: {counted(len(groups), "group")} of {_shape(section)} (images ×
captions). {escape(groups.description)}{_assumed(found)}</p>{_vocabulary(section)}
{_metric_table(found)}{chart}
<h3>Margins</h3><p class="quiet">How far the induced matching is ahead of the next best; hatched: it is wrong.
{tied}</p>{margins}
{_slices(found)}{_published(section)}{_examples(section, examples, pictures)}{source}</div>{end}</section>
"""


def _on(model: str, where: str) -> str:
    """`builtin/clip on scenes/swap`; a file with groups of its own by itself."""
    return model if where in ("", model) else f"{model} on {where}"


def _assumed(found: Evaluation) -> str:
    """That the data give no truth, and what stands in its place; "" where they do."""
    if found.truth_given or found.truth_of:
        return ""
    return " The data give no ground truth: image A is assumed to belong to caption 1, image B to caption 2, and so on."


def _vocabulary(section: ReportSection) -> str:
    """Words that a built-in model does not know; "" for any other model, and on built-in sets."""
    captions = (caption for group in section.groups for caption in group.captions)
    try:
        source = run_source(section.model)
    except InputError:  # not a model's name but what was done with one
        return ""
    note = vocabulary_note(section.model, source, section.benchmark, captions)
    return "" if note is None else f"<p><b>{escape(note)}</b></p>"


def _source_line(section: ReportSection) -> str:
    """`scenes/left-right, split test`; of a file with groups of its own its name."""
    named = section.benchmark or section.model
    return f"{named}, split {section.split}" if section.split else named


def _metric_table(found: Evaluation) -> str:
    rows = "".join(
        f"<tr><th>{escape(label_and_meaning(name)[0])}</th><td>{_pct(e.value, 2)}</td>"
        f'<td class="num">[{_pct(e.low, 2)}, {_pct(e.high, 2)}]{_by_shared(e)}</td>'
        f"<td>{_pct(e.chance, 2)}</td><td>{tie_count(e.ties)}</td><td>{escape(label_and_meaning(name)[1])}</td></tr>"
        for name, e in found.metrics.items()
    )
    head = (
        "<tr><th>Metric</th><th>%</th><th>95 % interval</th><th>Chance</th><th>Ties</th><th>Meaning</th></tr>"
    )
    return f'<div class="wide"><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>'


def _by_shared(found: Estimate) -> str:
    """The interval once more where groups hang together: the one to quote, which the chart draws."""
    c = found.clustered
    if c is None:
        return ""
    ends = f"[{_pct(c.low, 2)}, {_pct(c.high, 2)}]"
    return f'<br><span class="quiet">by {escape(c.by)} {ends}{c.dominated}</span>'


def _slices(found: Evaluation) -> str:
    blocks = []
    for tag, parts in found.slices().items():
        rows = "".join(
            f"<tr><th>{escape(value or '(none)')}</th><td>{len(part.scores)}</td>"
            + "".join(_cell(part.metrics.get(name)) for name in headline_metrics())
            + "</tr>"
            for value, part in parts.items()
        )
        head = f"<tr><th>{escape(tag)}</th><th>Groups</th>{_heads()}</tr>"
        blocks.append(f'<div class="wide"><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>')
    return f"<details><summary>By tag</summary>{''.join(blocks)}</details>" if blocks else ""


def _published(section: ReportSection) -> str:
    entry = datasets.benchmark_entry(section.benchmark) if section.benchmark in datasets.names(None) else None
    if entry is None or entry.reference is None:
        return ""
    dataset, subset = entry.reference
    table = load_results()
    table = table[(table["dataset"] == dataset) & (table["subset"] == subset)]
    table = table[table["metric"].isin(list(section.evaluation.metrics))].head(_MAX_REFERENCES)
    cells = [
        (
            f"{r['paper']}, {r['table']}",
            r["model"],
            r["method"],
            label_and_meaning(r["metric"])[0],
            _number(r),
        )
        for r in table.to_dict("records")
    ]
    rows = "".join(f"<tr>{''.join(f'<td>{escape(str(c))}</td>' for c in row)}</tr>" for row in cells)
    head = "<tr><th>Where</th><th>Model</th><th>Method</th><th>Metric</th><th>%</th></tr>"
    body = f'<div class="wide"><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>'
    return f"<details><summary>Published results</summary>{body}</details>" if rows else ""


def _number(row: Mapping[Hashable, Any]) -> str:
    return _pct(row["value"], 2) + ("" if np.isnan(row["std"]) else f" ± {_pct(row['std'], 2)}")


def _chosen_groups(found: Evaluation, count: int) -> list[tuple[str, int]]:
    """Notable groups with the reason: matched right though GroupScore fails, nearly tied, wrong by far, right."""
    margin = found.matches.margin
    kinds = group_filters.notable_groups(found)
    matched = found.outcomes[GROUP_MATCH]
    kinds = {
        **{kind: kinds[kind] for kind in (group_filters._DISAGREEING, "near tie")},
        "matched wrong by a wide margin": (matched.value < 1) & ~matched.tied,
        "right under both": found.outcomes[GROUP_SCORE].value == 1,
    }
    queues = [
        (
            why,
            [int(i) for i in np.argsort(margin if why == "near tie" else -margin, kind="stable") if mask[i]],
        )
        for why, mask in kinds.items()
    ]
    picked: dict[int, str] = {}
    while len(picked) < count and any(queue for _, queue in queues):
        for why, queue in queues:
            while queue and queue[0] in picked:
                queue.pop(0)
            if queue and len(picked) < count:
                picked[queue.pop(0)] = why
    return [(why, index) for index, why in picked.items()]


def _examples(section: ReportSection, count: int, pictures: bool | None) -> str:
    shown = section.benchmark.startswith(("scenes/", "mine/")) if pictures is None else pictures
    blocks, longest = [], 0
    for why, index in _chosen_groups(section.evaluation, count):
        group, data = section.groups[index], section.evaluation.group(index)
        longest = max(longest, *(len(cell.score) for row in group_html.matrix_cells(data) for cell in row))
        drawn = _in_pictures(group, data) if shown and not _is_of_rows(group) else _in_numbers(group, data)
        blocks.append(
            f"<article><h4>{escape(group.id)}: {escape(why)}</h4>{drawn}<details><summary>Verdicts</summary>"
            f"{group_html.verdicts_html(data)}</details></article>"
        )
    note = (
        ""
        if shown or any(map(_is_of_rows, section.groups))
        else '<p class="quiet">Images are left out of this report: their licence may forbid it.</p>'
    )
    side_by_side = any(
        "cm-scroll" in block for block in blocks
    )  # matrices are small, pictures take the whole width
    # In rem: a score and its signs, or the head of a column; else they are cut.
    column = 3.75 + 0.6 * max(longest, 5)
    width = (
        f' class="cm-groups" style="--width:{6 + column * section.groups.shape[1]:g}rem"'
        if side_by_side
        else ""
    )
    return f"<h3>Notable groups</h3>{note}<div{width}>{''.join(blocks)}</div>" if blocks else ""


def _is_of_rows(group: Group) -> bool:
    """Whether a file of scores or embeddings has no pictures of this group."""
    return any(isinstance(ref, RowImage) for ref in group.images)


def _in_pictures(group: Group, data: GroupData) -> str:
    names = [f"Image {group_html.image_name(i)}" for i in range(len(group.images))]
    images = [
        group_html.picture_html(ref.open(_THUMBNAIL), _THUMBNAIL, name)
        for name, ref in zip(names, group.images, strict=True)
    ]
    return group_html.matching_html(images, group.captions, data)


def _in_numbers(group: Group, data: GroupData) -> str:
    """The score matrix, what the matching is, and what images and captions are called where that says something."""
    images = [ref.label if isinstance(ref, RowImage) else "" for ref in group.images]
    named = [
        f"<b>{head}</b> {escape(text)}"
        for head, text in [
            *((group_html.image_name(i), text) for i, text in enumerate(images)),
            *((str(j + 1), text) for j, text in enumerate(group.captions)),
        ]
        if not re.fullmatch(r"|(image |caption )?\w", text)  # a number or a letter alone is in the matrix
    ]
    names = f'<p class="cm-names">{"<br>".join(named)}</p>' if named else ""
    matrix = group_html.matrix_html(data, escape(f"Scores of {group.id}"))
    return f'{matrix}<p class="quiet">{escape(_matching_text(data, True))}</p>{names}'


def _source(groups: GroupSet) -> str:
    lines = (
        ("Source", groups.source),
        ("Licence", groups.licence),
        ("Cite as", groups.citation or groups.name),
    )
    rows = "".join(
        f"<dt>{label}</dt><dd><pre>{escape(text or 'not given')}</pre></dd>" for label, text in lines
    )
    return f"<details><summary>Source, licence, citation</summary><dl>{rows}</dl></details>"


def _how_to_read() -> str:
    return """<section><h2>How to read this</h2><p>Percentages over groups, each with its 95 % interval
(Clopper-Pearson) and the level that random scores reach (in a chart: thin whiskers, dashed mark). Where groups share an
image or a caption, a second interval counts those that share one as one: quote that one; charts draw it. A tie counts
as wrong and is counted.
GroupMatch asks for less than GroupScore, and its chance level is higher: of two images and two captions 50 % against
17 %.</p><p>In the drawing of a group a line joins an image with the caption that the model matches it with: blue and
solid where that is right, orange and dashed where it is wrong. Thin, grey and dotted: the true caption, where the model
matches another one or its matchings tie.</p><p>A group without pictures is drawn by its score matrix, images down and
captions across: outlined, with ●, what the model matches; with ✓ the true pairs; the more a cell stands out from the
page, the higher its score within the group.</p></section>"""


_STYLE = """:root{color-scheme:light dark;--ink:#1c1e26;--paper:#fff;--line:rgba(134,140,155,.35)}
h1{font-size:1.6rem;line-height:1.25;overflow-wrap:anywhere}thead th{vertical-align:bottom}p{max-width:72rem}
@media(prefers-color-scheme:dark){:root{--ink:#e8e8ee;--paper:#14151b}}
body{max-width:1340px;margin:2rem auto;padding:0 1rem;font:16px/1.5 system-ui,sans-serif;color:var(--ink);
background:var(--paper)}h2{margin-top:2.5rem;border-top:1px solid var(--line);padding-top:1.2rem}
h4{margin:1.4rem 0 .4rem}table{border-collapse:collapse;width:100%;margin:.6rem 0}.wide{overflow-x:auto}
th,td{text-align:left;padding:.35rem .5rem;border-bottom:1px solid var(--line);vertical-align:top}
td{font-variant-numeric:tabular-nums}svg{width:100%;max-width:52rem;height:auto;margin:.4rem 0;display:block}
summary h2{display:inline;border:0;margin:0;padding:0;font-size:1.15rem}.num{white-space:nowrap}
.whole{white-space:nowrap}.name{overflow-wrap:anywhere;min-width:9rem}.quiet{opacity:.75;font-size:.9em}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:0;font-size:.85em}summary{cursor:pointer;margin:.6rem 0}
dd{margin:0 0 .5rem}a{color:inherit}.none{opacity:.7;font-style:italic}
.cm-match{display:grid;grid-template-columns:fit-content(34%) minmax(40px,18%) minmax(120px,1fr);max-width:60rem}
.cm-side{display:grid;grid-auto-rows:1fr;min-width:0}.cm-cell{display:flex;align-items:center;gap:8px;min-height:56px;
padding:5px 0;min-width:0}.cm-cell img{min-width:0;max-width:100%;max-height:170px;object-fit:contain;border-radius:8px}
.cm-middle{position:relative;min-width:0}.cm-lines{position:absolute;inset:0;width:100%;height:100%}
.cm-beside{grid-template-columns:minmax(0,1fr);grid-template-rows:auto 2.5rem auto;max-width:720px}
.cm-beside .cm-side{grid-auto-flow:column;grid-auto-columns:minmax(0,1fr);grid-auto-rows:auto}
.cm-beside .cm-cell{flex-direction:column;padding:0 4px;gap:4px;min-height:0;text-align:center}
.cm-beside .cm-cell img{max-width:100%;max-height:320px}
.cm-text{overflow-wrap:anywhere;line-height:1.3}.cm-badge{flex:none;width:1.75em;height:1.75em;line-height:1.6em;
border-radius:1em;text-align:center;font-weight:600;border:1.5px solid currentColor;font-size:.85rem}
.cm-groups{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,var(--width)),1fr));gap:0 1.5rem}
article{min-width:0}h4{overflow-wrap:anywhere}.cm-groups .quiet{margin:.2rem 0}.cm-names{margin:.2rem 0;font-size:.9em;
overflow-wrap:anywhere}.cm-scroll{overflow-x:auto;padding:2px}.cm-scroll table{width:auto;margin:.2rem 0}
.cm-scroll th,.cm-scroll td{border:0;vertical-align:middle;print-color-adjust:exact;-webkit-print-color-adjust:exact}
.cm-mark{font-weight:600;white-space:nowrap;margin-right:.5em}.cm-hidden{position:absolute;width:1px;height:1px;overflow:hidden;
clip-path:inset(50%)}
@media screen and (max-width:84rem){.wide .num{white-space:normal}}
@media screen and (max-width:44rem){body{margin:1rem auto}.wide thead{display:none}
.wide table,.wide tbody,.wide tr{display:block}.wide tr{border-bottom:1px solid var(--line);padding:.5rem 0}
.wide th,.wide td{display:table;width:100%;border:0;padding:.1rem 0;overflow-wrap:anywhere}
.wide .num{white-space:normal}.cm-scroll td{padding:.3rem!important;font-size:.82em}
.wide td::before{content:attr(data-head);display:table-cell;width:40%;padding-right:.7rem;opacity:.75;font-size:.85em}}
@media print{:root{color-scheme:light;--ink:#000;--paper:#fff}@page{margin:14mm}body{max-width:none;margin:0;padding:0;
font-size:10px}h1{font-size:17px}h2{font-size:14px;break-after:avoid}h3,h4{font-size:11.5px;break-after:avoid}
.wide,.cm-scroll{overflow:visible}.cm-groups{grid-template-columns:repeat(auto-fill,minmax(min(100%,calc(var(--width)*.7)),1fr));
gap:0 .8rem}th,td{padding:.25em .4em;overflow-wrap:break-word}.num{white-space:normal}.name{min-width:0;
overflow-wrap:anywhere}tr,svg,article,.cm-scroll{break-inside:avoid}svg{max-width:130mm}.cm-cell img{max-height:110px}
thead{display:table-header-group}}"""
