"""A report of a run, or of the seeds of one, or of two of these compared: one HTML file that opens without network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from typing import Any

from core import figures
from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.base.text import _exact_differences
from core.exchange.layouts import _with_raised_powers
from core.exchange.report import ReportSection, report_html, report_page
from core.exchange.run_gains import _evaluations, _gain_line, _gains_in_common, _Measured, _trained_ends
from core.exchange.run_pairs import _ends_now, _groups_of, _other_groups, _Pair
from core.exchange.run_table import _pair_said, _settings_said
from core.exchange.seeds import SeedResult
from core.figures.svg import _curves_svg
from core.groups import GroupSet
from core.metrics.evaluation import Evaluation
from core.metrics.groups import headline_metrics
from core.runs.store import RunStore
from core.ttm.records import _one_seed_told
from core.ttm.run import adaptation
from core.ttm.seeds import SeedGroup, _is_seedless, seed_of, summary


def _report_of_runs(runs: Sequence[SeedGroup], store: RunStore, **shown: Any) -> str:
    """The page of one run or of the seeds of one, before and after; or of two compared.

    shown : `examples` and `pictures`, as `report_html` takes them. Raises InputError where there is nothing to show.
    """
    if len(runs) == 1:
        return _of_one(runs[0], store, shown)
    first, second = runs
    pair = _Pair.of(first, second, store, partial(_ends_now, store=store, others=(first, second)))
    if not pair.measured:
        raise InputError(f"{first.id} and {second.id} cannot be compared. {pair._refusal}")
    if pair.ends and pair.in_common is None:
        return _of_two_results(pair, shown)
    return _report_of_pair(pair, store)


def _shows_groups(runs: Sequence[SeedGroup]) -> bool:
    """Whether the page of these shows groups one by one: not where seeds, or different groups, are compared."""
    alone = all(len(of.runs) == 1 for of in runs)
    return len(runs) == 1 or (alone and not _other_groups(*runs))


def _of_one(of: SeedGroup, store: RunStore, shown: Mapping[str, Any]) -> str:
    """Before and after on the same groups: of a single run as a comparison, of several seeds also their means."""
    steps = [store.steps(run.id) for run in of.runs]
    ends = _trained_ends(of, steps)
    if not ends or of.runs[0].kind not in ("ttm", "simplematch"):
        raise InputError(
            f"{of.id} has no result to report yet, or trains nothing; name a finished run of test-time matching or "
            "SimpleMatch."
        )
    job = adaptation(of.runs[0].config)
    groups = job.load_groups()
    if groups.truth is None:
        raise InputError(f"{groups.name} has no ground truth, so there is no result to report.")
    before, after = _evaluations(ends, store, groups.truth)
    several = len(ends) > 1
    named = [("before", before[0])] + [
        (f"after, seed {seed_of(run)}" if several else "after", found)
        for (run, _), found in zip(ends, after, strict=True)
    ]
    split = "" if job.embeddings else job.split
    sections = [
        ReportSection(f"{job.model}, {when}", groups, _with_ids(found, groups), job.benchmark, split)
        for when, found in named
    ]
    missing = (
        f"{len(ends)} of {len(of.runs)} seeds have come to their end." if len(ends) < len(of.runs) else ""
    )
    tested = headline_metrics(after[0].outcomes)[-1 if after[0].shape[0] == 1 else 0 :]
    seedless = of.runs[0].status != "finished" or _is_seedless(job, len(groups))
    return report_html(
        sections,
        left_open="" if several or seedless else _one_seed_told(),
        seeds=SeedResult.of_job(job, groups, before, after) if several else (),
        title=f"{of.title} ({of.id})",
        note=missing,
        about=" · ".join(_settings_said(of.runs[0], others=True)),
        tested=tested,
        curves={"": _curve_of(of, store)},
        **shown,
    )


def _with_ids(found: Evaluation, groups: GroupSet) -> Evaluation:
    return Evaluation.of(found.scores, groups.truth, groups.ids)


def _of_two_results(pair: _Pair, shown: Mapping[str, Any]) -> str:
    """Two single runs on the same groups, each with its groups."""
    sections = [
        ReportSection(
            f"{side}: {of.title}",
            _groups_of(of.runs[0], *(each.runs[0] for each in pair.runs)),
            found,
            of.runs[0].config.get("benchmark", ""),
            of.runs[0].config.get("split") or "test",
        )
        for side, of, found in zip("AB", pair.runs, pair.ends, strict=True)
    ]
    return report_html(sections, about=_about(pair), **shown)


def _about(pair: _Pair) -> str:
    main = next(iter(pair.in_order), "")
    named = [f"{side}: {of.title} ({of.id})." for side, of in zip("AB", pair.runs, strict=True)]
    seeds = pair._seeds_line, pair._one_seed_line, pair._all_seeds_line(main)
    return " ".join([*named, pair.differing, *filter(None, seeds)])


def _report_of_pair(pair: _Pair, store: RunStore) -> str:
    """Two runs of which one at least has several seeds, or which have different groups: what the tests say, every
    metric of both, what each has gained, and their curves."""
    own = [_own(of, store) for of in pair.runs]
    told = [pair.verdict(name).replace("**", "") for name in headline_metrics(pair.tested)]
    so_far = pair._so_far(next(iter(pair.in_order), ""))
    head = [*told, *filter(None, [so_far, pair.groups_line]), *_gains_in_common(pair, store)] or [
        "There is no paired test of these two."
    ]
    gains = [_gain_line(measured) for measured, _ in own]
    each = "".join(_part(*side, store) for side in zip("AB", pair.runs, own, gains, strict=True))
    said = _with_raised_powers("<br>".join(map(escape, head)))
    body = f"<p><b>{said}</b></p><p>{escape(_about(pair))}</p>{_both_table(pair)}{each}"
    title = " compared with ".join(f"{side}: {of.title}" for side, of in zip("AB", pair.runs, strict=True))
    seeds = [[result.record() for result in results] for _, results in own]
    numbers = {"comparison": pair.record(), "seeds": dict(zip("ab", seeds, strict=True)), "conclusions": head}
    return report_page(title, body, numbers)


def _own(of: SeedGroup, store: RunStore) -> tuple[_Measured, list[SeedResult]]:
    """What a side has come to; of several seeds also every metric before and after."""
    steps, loaded = [store.steps(run.id) for run in of.runs], dict[str, GroupSet]()
    measured, ends = _Measured.of(of, steps, store, loaded), _trained_ends(of, steps)
    if len(ends) < 2 or not loaded:
        return measured, []
    (groups,) = loaded.values()
    return measured, SeedResult.of_job(
        adaptation(of.runs[0].config), groups, *_evaluations(ends, store, groups.truth)
    )


def _part(
    side: str, of: SeedGroup, own: tuple[_Measured, list[SeedResult]], gain: str, store: RunStore
) -> str:
    """A side by itself: its gain, of several seeds its means, and its curve."""
    curve = _curve_of(of, store)
    bands = "one standard deviation to either side of the mean over seeds" if curve.seeds is not None else (
        "95 % intervals"
    )  # fmt: skip
    drawn = (
        f'<h3>Accuracy by iteration</h3><p class="quiet">Bands: {bands}. Dotted: chance levels.</p>{_curves_svg(curve)}'
        if curve.metrics and len(curve.iteration) > 1
        else ""
    )
    gained = f"<p>Gain, after minus before in points [95 % interval]: {escape(gain)}.</p>" if gain else ""
    settings = " · ".join(_settings_said(of.runs[0], others=True))
    about = f'<p class="quiet">{escape(settings)}</p>' if settings else ""
    head = f"<h2>{escape(f'{side}: {of.title}')}</h2>"
    return f"<section>{head}{about}{gained}{SeedResult.html(own[1])}{drawn}</section>"


def _both_table(pair: _Pair) -> str:
    """Every metric of both, and the paired differences."""
    frame = _pair_said(pair.frame).rename(columns={"metric": "Metric", "chance": "Chance"})
    note = f"{pair.note} {_exact_differences(2)}" if pair.tested else pair.note
    return f'<h3>Every metric</h3><p class="quiet">{escape(note)}</p>{_table(frame)}'


def _table(frame: pd.DataFrame) -> str:
    head = "".join(f"<th>{escape(str(name))}</th>" for name in frame)
    rows = "".join(
        f"<tr><th>{escape(row[0])}</th>"
        + "".join(f"<td>{_with_raised_powers(escape(cell))}</td>" for cell in row[1:])
        + "</tr>"
        for row in frame.astype(str).to_numpy().tolist()
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _curve_of(of: SeedGroup, store: RunStore) -> figures.TTMData:
    """Accuracy by iteration, of several seeds their mean."""
    steps = [store.steps(run.id) for run in of.runs]
    total = max(run.done for run in of.runs) or 1
    if len(steps) == 1:
        return figures.ttm_data(steps[0], total)
    return figures.spread_data(summary(steps), total)
