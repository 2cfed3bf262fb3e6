"""The retrieval page's table of strategies: what was measured, beside the paper's, its claim, and what it costs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from core.base import paths
from core.base.text import _half_up, _p_said, _pct, _signed, _signed_range
from core.exchange.layouts import text_table_latex
from core.figures import retrieval
from core.scorers.cola_config import STRATEGIES
from ui import forgetting
from ui.export import chart, export_section
from ui.formatting import true_minus, unbroken
from ui.retrieval_rankings import Notes, before_and_after
from ui.visitor import on_phone

READING = (  # of the figure of strategies
    "“Seen” and “unseen”: mAP for combinations of words that training showed or did not show. Multi-object accuracy: "
    "how often each of two captions with exchanged attributes scores highest with its own of the two pictures "
    "(ImageScore; two coin flips are right in 25 %)."
)
_MAP = (
    "mAP is mean average precision over all queries: 100 % where every right picture stands before every wrong one. "
    "Chance is what a random order gives."
)
# How assets/results/cola_cost.csv was made.
_COST_BUDGET = (
    "Measured after a shorter training than above: builtin/clip, which never read sizes or materials, 1,200 steps "
    "without exchanged attributes, one seed."
)
_COST_IN_SHORT = "Measured: builtin/clip, shorter training, one seed."
_IN_WORDS = {  # what the paper's short names stand for
    "linear": "linear probe",
    "prompt-tune": "prompt tuning",
    "ft-all": "fine-tuning of all layers",
    "ft-late": "fine-tuning of late layers",
    "mm-pred": "multimodal prediction",
    "mm-adapter": "multimodal adapter",
}
ALL, UNSEEN, PAIRS = 0, 2, 4  # places in `StrategiesData.measures`
_RECORDED = {
    ALL: "cola_map all",
    UNSEEN: "cola_map unseen",
    PAIRS: "multi_object",
}  # what the verdict calls them


class Measured(NamedTuple):
    """Rows of every strategy's shipped runs: the longest of which there are as many seeds as of the protocol's."""

    rows: pd.DataFrame
    epochs: dict[str, int]  # by strategy
    improving: list[str]  # strategies that were still improving when their epochs ended

    @classmethod
    def shipped(cls) -> Measured | None:
        """None where none are shipped."""
        path, longer = (paths.assets() / "results" / f"cola{more}.csv" for more in ("", "_longer"))
        if not path.is_file():
            return None
        rows = pd.read_csv(path)
        every = pd.concat([rows, pd.read_csv(longer)]) if longer.is_file() else rows
        counts = every.groupby(["strategy", "epochs"])["seed"].nunique()
        wanted = rows.groupby("strategy")["seed"].nunique()
        epochs = {name: int(counts[name][counts[name] >= wanted[name]].index.max()) for name in wanted.index}
        kept = every[every["epochs"] == every["strategy"].map(epochs)].reset_index(drop=True)
        late = set(kept.loc[kept["improving"] > 0, "strategy"])
        trained = {name: epochs[name] for name in STRATEGIES if name in epochs}
        return cls(kept, trained, [name for name in trained if name in late])

    @property
    def most(self) -> int:
        return max(self.epochs.values(), default=0)

    @property
    def base(self) -> str:
        """The model that every strategy began with."""
        return str(self.rows["model"].iloc[0])

    @property
    def said(self) -> str:
        """` After 64 epochs, FT all after 32. Still improving then: FT late, MM-Adapter.`"""
        fewer = [f"{retrieval.label(name)} after {n}" for name, n in self.epochs.items() if n < self.most]
        text = f" After {self.most} epochs{''.join(f', {each}' for each in fewer)}."
        improving = ", ".join(map(retrieval.label, self.improving))
        return f"{text} Still improving then: {improving}." if improving else text


def table() -> None:
    """Measured strategies beside the paper's."""
    measured = Measured.shipped()
    if measured is None:
        st.info(
            "No results yet: run `crossmatch reproduce cola/1 --row 'built-in world' --run`.",
            icon=":material/table:",
        )
        _forgetting()
        _numbers(None)
        return
    rows = measured.rows
    data = retrieval.strategies_data(rows)
    _measured_strategies(data, measured)
    export_section(
        "cola",
        rows,
        {"strategies": retrieval.strategies_figure(data)},
        title=f"Cola's strategies on {measured.base}",
        note=f"{_seeds(data)} Thin lines: 95 % intervals. Dotted: chance levels.{measured.said}",
        latex=lambda: text_table_latex(
            retrieval.strategies_table(data, retrieval.paper_data("CLIP")),
            [_LATEX_NOTE, _ties(data).strip()],
        ),
    )


_LATEX_NOTE = (
    "Percent. In parentheses: 95 % intervals over seeds and questions or pairs; ±: standard deviation over seeds. The "
    "paper prints neither intervals nor chance levels, and its data and models are others. –: not measured. Chance: "
    "pictures in random order."
)


def _seeds(data: retrieval.StrategiesData) -> str:
    """`Means of 3 seeds (dots)`, and which strategies have fewer or none yet."""
    counts = {
        name: int((~np.isnan(data.seeds[0, j])).sum())
        for j, name in enumerate(data.strategies)
        if name in STRATEGIES
    }
    most = max(counts.values(), default=0)
    fewer = [f"{retrieval.label(n)} {counts.get(n, 0)}" for n in STRATEGIES if counts.get(n, 0) < most]
    return f"Means of {most} seeds (dots)" + (f"; so far {', '.join(fewer)}." if fewer else ".")


def _measured_strategies(data: retrieval.StrategiesData, measured: Measured) -> None:
    """The measured strategies beside the paper's: in one sentence, at a glance, and folded how sure that is and all
    else that was measured."""
    paper = retrieval.paper_data("CLIP")
    is_below = on_phone()  # whose first picture would be nine lines further down
    with st.container(gap="xsmall", key="training-result"):
        st.markdown(unbroken(f"**{_result(data, measured)}**"), help=_MAP)
        if is_below and (costs := _cost_said(data, in_short=True)):  # it is in full further down
            st.markdown(unbroken(costs))
    beside = f"{_ahead_of_next(data, measured)} In the paper {_result_there(paper)}."
    if not is_below:
        _cost_and_next(data, beside)
    notes = before_and_after(measured.rows)
    if is_below:
        _cost_and_next(data, beside)
    st.header("Every way of training", anchor=False)
    with st.container(gap="xsmall"):
        st.html(_glance(data, paper, measured))
        st.caption(
            unbroken(
                "mAP of all queries. Bold: the highest of a column. Small: its 95 % interval over seeds and questions; "
                f"the paper prints none, and no chance level.{_ties(data)}"
            )
        )
        _how_sure(data, measured, notes)
        _unseen_and_two_objects(data, paper, measured)
        _verdicts()
        _forgetting()
        _numbers(data)


def _cost_and_next(data: retrieval.StrategiesData, beside: str) -> None:
    """What the best strategy costs on other sets, and how it stands beside the next one and the paper's."""
    if costs := _cost_said(data):
        st.markdown(unbroken(costs))
    st.caption(unbroken(beside))


def _how_sure(data: retrieval.StrategiesData, measured: Measured, notes: Notes | None) -> None:
    """What limits the result, once it is opened. notes : of the pictures, where there are some."""
    with st.expander("How sure is this?"):
        st.markdown(
            f"{_counted()}Data, models and length of training are not the paper's: compare the order, not the level."
            f"{measured.said}"
        )
        st.caption(unbroken(_all_behind(data, measured)))
        st.caption(f"{_MAP} In its intervals, queries for one colour and shape are one question.")
        if notes is not None:
            st.caption(unbroken(notes.said), help=notes.explained)


def _unseen_and_two_objects(
    data: retrieval.StrategiesData, paper: retrieval.StrategiesData, measured: Measured
) -> None:
    """What was measured beside all queries, in a sentence each and, once it is opened, as figures."""
    name = "Unseen combinations, and two objects"
    box = st.expander(name, key="strategy-figures", on_change="rerun")
    with box:
        for what, measure in (
            ("Combinations that training never showed, four here", UNSEEN),
            ("Two objects that exchange their attributes", PAIRS),
        ):
            here = _best(data, measure, "on the built-in world")
            # Only of a strategy that is better than the model before is there something to be ahead of.
            tested = f" {_ahead_of_next(data, measured, measure)}" if " is highest" in here else ""
            there = _best(paper, measure, "in the paper")
            st.markdown(unbroken(f"**{what}:** {here}.{tested} {there[0].upper()}{there[1:]}."))
        if not box.open:
            return
        left, right = st.columns(2, gap="medium")
        said = "Cola mAP on unseen combinations by strategy"
        with left:
            _bars("On the built-in world", _seeds(data), data, paper, said, "strategies")
        with right:
            said, note = (
                "The paper's Cola mAP on unseen combinations",
                "CLIP on GQA; the paper prints no intervals.",
            )
            _bars("In the paper", note, paper, data, said, "strategies-paper")
        st.caption(
            f"{READING} "
            "Thin lines are 95 % intervals over seeds and questions or pairs, dotted lines chance levels. The built-in "
            f"world was measured with {retrieval.BUDGET}."
        )


def _numbers(data: retrieval.StrategiesData | None) -> None:
    """Every number that was measured beside the paper's, and how (None: nothing was); the paper's own of one base."""
    with st.expander("All numbers, here and in the paper"):
        if data is not None:
            st.dataframe(retrieval.strategies_table(data, retrieval.paper_data("CLIP")), hide_index=True)
            st.caption(
                "Learning rates were chosen on validation queries after 1,000 steps. CREPE accuracy of the built-in "
                "world is that of 268 pairs of captions in CREPE's manner. `crossmatch reproduce cola/1 --row "
                "'built-in world' --run` makes the protocol's runs again, `python -m benchmarks.results.cola --longer` "
                "those of more epochs, which are shown. The paper's: Ray et al., Tables 1 and 2a."
            )
            st.subheader("The paper's table", anchor=False)
        base = st.segmented_control(
            "Base", ["CLIP", "FLAVA"], default="CLIP", key="paperbase", bind="query-params"
        )
        st.caption(
            "Ray et al., Tables 1 and 2a, in percent. Data and models are others than here: compare the order, not "
            "the level."
        )
        st.dataframe(retrieval.paper_table(base or "CLIP"), hide_index=True)


def _result(data: retrieval.StrategiesData, measured: Measured) -> str:
    """`MM-Pred ranks best here, not clearly ahead of Token map: mAP 38.7 → 51.7 % (95 % intervals 35.8–41.7 and
    46.5–56.9; chance 11.9 %).`"""
    found = _highest(data, ALL)
    if found is None:
        return "Nothing is measured yet."
    name, value, before = found
    if not name:
        return f"No strategy is better than {measured.base} before training, {_pct(before)} % mAP of all queries."
    ahead = ""
    if others := _others_behind(data, measured):
        clearly = "clearly" if _is_clear(others[0]) else "not clearly"
        ahead = f", {clearly} ahead of {_whose(others[0]['second'], measured)}"
    change = f"mAP {_pct(before)} → {_pct(value)} %"
    return f"{name} ranks best here{ahead}: {change} ({_intervals_and_chance(data)})."


def _intervals_and_chance(data: retrieval.StrategiesData) -> str:
    """`95 % intervals 35.8–41.7 and 46.5–56.9; chance 11.9 %` of the model before and the highest strategy."""
    low, high = data.low[ALL], data.high[ALL]
    before, best = (
        f"{_pct(low[j])}–{_pct(high[j])}" for j in map(data.strategies.index, ("base", _first(data)))
    )
    return f"95 % intervals {before} and {best}; chance {_pct(float(np.nanmean(data.chance[ALL])))} %"


def _ahead_of_next(data: retrieval.StrategiesData, measured: Measured, measure: int = ALL) -> str:
    """`MM-Pred is ahead of Token map, the next, by 2.9 points (paired 95 % interval -1.0 to +6.5, p = 0.066), which
    cannot be told from 0.`; that two intervals overlap would be no test."""
    others = _others_behind(data, measured, measure)
    if not others:
        return "Its difference from the others is not tested."
    next_one = others[0]
    clear = "" if _is_clear(next_one) else ", which cannot be told from 0"
    whose, points = _whose(next_one["second"], measured), _pct(next_one["difference"])
    return (
        f"{retrieval.label(_first(data, measure))} is ahead of {whose}, the next, by {points} points "
        f"({_tested(next_one)}){clear}."
    )


def _others_behind(
    data: retrieval.StrategiesData, measured: Measured, measure: int = ALL
) -> list[dict[str, Any]]:
    """What the highest strategy of a measure is ahead of, the next one first, from the record of paired differences; []
    where that is of other runs than the table."""
    records = (_verdict_record() or {}).get("ahead", {})
    record = records.get(_RECORDED[measure])
    if record is None or record["first"] != _first(data, measure):
        return []
    names = {record["first"], *(each["second"] for each in record["others"])}
    is_same = names == {*data.strategies} and {*measured.epochs.values()} == {record["epochs"]}
    return list(record["others"]) if is_same else []


def _is_clear(found: Mapping[str, Any]) -> bool:
    """Whether a difference can be told from 0, by both its interval and p."""
    return found["low"] > 0 and found["p"] <= 0.05


def _tested(found: Mapping[str, Any]) -> str:
    return true_minus(
        f"paired 95 % interval {_signed_range(found['low'], found['high'])}, {_p_said(found['p'])}"
    )


def _whose(name: str, measured: Measured) -> str:
    return retrieval.label(name) if name in STRATEGIES else f"{measured.base} before"


def _result_there(paper: retrieval.StrategiesData) -> str:
    found = _highest(paper, ALL)
    if found is None:
        return "it is not printed"
    return (
        f"{found[0]} ranks best, {_pct(found[1])} % against {_pct(found[2])} % before (no intervals printed)"
    )


def _highest(data: retrieval.StrategiesData, measure: int) -> tuple[str, float, float] | None:
    """The best strategy ("" where none is better than before), its value, and that before; None where nothing is
    measured."""
    values = data.value[measure]
    if np.isnan(values).all():
        return None
    best, base = int(np.nanargmax(values)), data.strategies.index("base")
    is_better = best != base and _half_up(values[best]) > _half_up(values[base])
    return retrieval.label(data.strategies[best]) if is_better else "", values[best], values[base]


def _counted() -> str:
    """`Of 35 claims of the papers, which stand below one by one, 16 hold here, 3 do not hold here, 16 cannot be told
    yet. `; "" where no verdict is shipped."""
    record = _verdict_record()
    if record is None:
        return ""
    claims = f"{len(record['claims'])} claims of the papers, which stand below one by one"
    return f"Of {claims}, {_counted_verdicts(record['claims'])}. "


def _best(data: retrieval.StrategiesData, measure: int, where: str) -> str:
    """`in the paper MM-Adapter, 48.9 % (before 39.1 %, no intervals printed)`, or with both intervals and the chance
    level."""
    values = data.value[measure]
    if np.isnan(values).all():
        return f"{where} nothing is measured"
    best, base = int(np.nanargmax(values)), data.strategies.index("base")
    before, name = values[base], retrieval.label(data.strategies[best])
    if best == base or _half_up(values[best]) <= _half_up(before):
        return f"{where} no strategy is better than the model before ({_pct(before)} %)"
    low, high = data.low[measure], data.high[measure]
    if np.isnan(low[[best, base]]).any():
        return f"{where} {name}, {_pct(values[best])} % (before {_pct(before)} %, no intervals printed)"
    both = (f"{_pct(values[j])} % ({_pct(low[j])}–{_pct(high[j])})" for j in (best, base))
    level = _pct(float(np.nanmean(data.chance[measure])))
    return f"{where} {name} is highest, {', before '.join(both)}, chance {level} %"


def _ties(data: retrieval.StrategiesData) -> str:
    """` Queries with a tie, mean over seeds: Token map 0.3.`"""
    counts = zip(data.strategies, data.ties[ALL], strict=True)
    tied = [f"{retrieval.label(name)} {_pct(count)}" for name, count in counts if count > 0]
    return f" Queries with a tie, mean over seeds: {', '.join(tied)}." if tied else " No query is tied."


def _glance(data: retrieval.StrategiesData, paper: retrieval.StrategiesData, measured: Measured) -> str:
    """Every strategy on one line: what it trains, and its mAP here and in the paper; the chance level first."""
    level = _cell(float(np.nanmean(data.chance[ALL])))
    first = [_first(each) for each in (data, paper)]
    lines = [_glance_line("chance level", "Pictures in random order.", level + _cell(np.nan))]
    for name in data.strategies:
        j = data.strategies.index(name)
        known = name in STRATEGIES
        # The paper's 36.5 % was read as that of the model here.
        untrained = f"Nothing: here {measured.base} as it was, in the paper CLIP."
        meaning = STRATEGIES[name].meaning if known else untrained
        epochs = measured.epochs.get(name, measured.most)
        notes = [_IN_WORDS[name]] if name in _IN_WORDS else []
        notes += [f"{epochs} epochs"] * (epochs < measured.most)
        mark = f"<div><small>{', '.join(notes)}</small></div>" if notes else ""
        there = paper.value[ALL, paper.strategies.index(name)] if name in paper.strategies else np.nan
        value, low, high = (array[ALL, j] for array in (data.value, data.low, data.high))
        head = escape(retrieval.label(name) if known else "before training")
        cells = _cell(value, low, high, name == first[0]) + _cell(there, best=name == first[1])
        lines.append(_glance_line(f"{head}{mark}", meaning, cells))
    return (
        '<div class="cm-scroll"><table class="cm-cells"><thead><tr><th scope="col" class="cm-words">strategy</th>'
        '<th scope="col" class="cm-words">what is trained</th><th scope="col">mAP here</th>'
        f'<th scope="col">mAP, paper</th></tr></thead><tbody>{"".join(lines)}</tbody></table></div>'
    )


def _glance_line(head: str, meaning: str, numbers: str) -> str:
    return f'<tr><th scope="row">{head}</th><td class="cm-words">{escape(meaning)}</td>{numbers}</tr>'


def _cell(value: float, low: float = np.nan, high: float = np.nan, best: bool = False) -> str:
    """A value, bold where it is the highest of its column, and below it its interval where it has one."""
    interval = "" if np.isnan(low) else f"<small>{_pct(low)}–{_pct(high)}</small>"
    said = "–" if np.isnan(value) else f"{_pct(value)} %"
    return f"<td><div>{f'<b>{said}</b>' if best else said}{interval}</div></td>"


def _first(data: retrieval.StrategiesData, measure: int = ALL) -> str:
    """The strategy that a measure is highest of; "" where nothing is measured."""
    values = data.value[measure]
    return "" if np.isnan(values).all() else data.strategies[int(np.nanargmax(values))]


def _all_behind(data: retrieval.StrategiesData, measured: Measured) -> str:
    """By how much the highest is ahead of each of the others, and how sure that is."""
    others = _others_behind(data, measured)
    if not others:
        return "The differences between the ways of training are not tested."
    whose = retrieval.label(_first(data))
    each = "; ".join(
        f"{_whose(other['second'], measured)} by {_pct(other['difference'])} points ({_tested(other)})"
        for other in others
    )
    return (
        f"{whose} is ahead of {each}. Intervals are over seeds and questions, paired; p is corrected for these "
        f"{len(others)} comparisons after Holm. Only where the interval is above 0 and p is at most 0.05 can a "
        "difference be told from 0."
    )


def _bars(
    title: str,
    caption: str,
    data: retrieval.StrategiesData,
    beside: retrieval.StrategiesData,
    said: str,
    key: str,
) -> None:
    """One side: the strategies as bars on the scale of the other side, and in words for who cannot see them."""
    st.subheader(title, anchor=False)
    st.caption(caption)
    values = ", ".join(
        f"{retrieval.label(n)} {_pct(v)} %" for n, v in zip(data.strategies, data.value[2], strict=True)
    )
    chart(retrieval.strategies_figure(data, beside=beside), f"{said}: {values}.", key)


def _verdicts() -> None:
    """What the runs say of each of the paper's claims, and how much of it is measured."""
    record = _verdict_record()
    if record is None:
        return
    others = [claim for claim in record["claims"] if not claim.get("source", "Cola,").startswith("Cola,")]
    of_cola = [claim for claim in record["claims"] if claim not in others]
    said, more = _counted_verdicts(of_cola), "".join(map(_of_another_paper, others))
    with st.expander(f"Cola's claims one by one: {said}{more}"):
        st.markdown(
            f"Cola's claims on the built-in world: **{said}**{more} ({record['runs']} of {record['wanted']} runs are "
            "measured). A claim holds here, or does not, only where the difference is clear, every seed agrees and "
            "longer training would not undo it."
        )
        st.markdown(f"**The whole rule.** {record['rule']}{_turned(record)}")
        for verdict in _VERDICTS:
            lines = [
                _claim_line(c, record["protocol"]["epochs"])
                for c in record["claims"]
                if c["verdict"] == verdict
            ]
            if lines:
                st.subheader(_verdict_in_words(verdict, len(lines)).capitalize(), anchor=False)
                st.markdown("\n".join(lines))
        st.caption(record.get("history", ""))
        st.caption(record.get("limits", ""))
        st.caption(
            "Differences in points, means over seeds, intervals over seeds and questions or groups. Written from the "
            "records of the runs by `python -m benchmarks.results.cola`."
        )


_VERDICTS = ("same", "different", "open")  # of a claim, as the records say it, in the order of every page


_IN_A_SENTENCE = {  # of one claim, and of several
    "same": ("holds here", "hold here"),
    "different": ("does not hold here", "do not hold here"),
    "open": ("cannot be told yet", "cannot be told yet"),
}


def _verdict_in_words(verdict: str, count: int = 1) -> str:
    """What a verdict of the records is called on every page, of one claim or of so many."""
    return _IN_A_SENTENCE[verdict][count != 1]


def _counted_verdicts(claims: Sequence[Mapping[str, Any]]) -> str:
    """`16 hold here, 3 do not hold here, 17 cannot be told yet`."""
    counts = Counter(claim["verdict"] for claim in claims)
    return ", ".join(
        f"{counts[name]} {_verdict_in_words(name, counts[name])}" for name in _VERDICTS if counts[name]
    )


def _of_another_paper(claim: Mapping[str, Any]) -> str:
    """`; one of LABCLIP cannot be told yet`, of a claim that the papers' page does not count."""
    return f"; one of {claim['source'].partition(',')[0]} {_verdict_in_words(claim['verdict'])}"


def _turned(record: Mapping[str, Any]) -> str:
    """How many verdicts say the opposite of what the protocol's own epochs said; "" where none does."""
    count = sum(claim.get("turned", False) for claim in record["claims"])
    epochs = record["protocol"]["epochs"]
    say = "says" if count == 1 else "say"
    return (
        f" {count} of the verdicts {say} the opposite of what {epochs} epochs said clearly, marked below."
        if count
        else ""
    )


def _verdict_record() -> dict[str, Any] | None:
    """What `benchmarks.results.cola` wrote of the claims; None where it is not shipped."""
    path = paths.assets() / "results" / "cola_verdict.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def _claim_line(claim: Mapping[str, Any], epochs: int) -> str:
    """A claim, its verdict with the difference, and what decided it, as an item of a list. epochs : the protocol's,
    which some verdicts turned."""
    number = ""
    if "difference" in claim:
        number = f", {_signed(claim['difference'])} ({_signed_range(claim['low'], claim['high'])}) points"
        number += f" after {claim['epochs']} epochs" if "epochs" in claim else ""
    if claim.get("turned"):
        number += f" (**{epochs} epochs clearly said the opposite**)"
    source = f" ({claim['source']})" if "source" in claim else ""
    said = _verdict_in_words(claim["verdict"]).capitalize()
    return f"- {claim['says'].rstrip('.')}{source}. **{said}**{number}. {claim['decided_by']}"


def _costs() -> pd.DataFrame | None:
    """What each strategy does to the model on sets it was not trained on; None where that is not shipped."""
    path = paths.assets() / "results" / "cola_cost.csv"
    return pd.read_csv(path) if path.is_file() else None


def _cost_said(data: retrieval.StrategiesData, in_short: bool = False) -> str:
    """`**What it costs:** after MM-Pred a model is clearly worse on 7 of 12 other sets, most on triples: …`; "" where
    that is not measured of the highest strategy.

    in_short : for right below the gain on a phone, which has the rest further down: on how many sets alone.
    """
    rows, name = _costs(), _first(data)
    if rows is None or name not in {*rows["strategy"]}:
        return ""
    _, said = forgetting.worse_elsewhere(rows[rows["strategy"] == name])
    if in_short:
        return f"**What it costs:** {said.replace(';', ',').partition(',')[0]}."
    return f"**What it costs:** after {retrieval.label(name)} a model is {true_minus(said)} {_COST_IN_SHORT}"


def _forgetting() -> None:
    """What each strategy costs, set by set, once it is opened."""
    rows = _costs()
    if rows is None:
        return
    costs = st.expander(
        "What training costs on other sets",
        key="strategy-costs",
        on_change="rerun",
    )
    if not costs.open:
        return
    with costs:
        st.caption(_COST_BUDGET)
        rows["strategy"] = [retrieval.label(name) for name in rows["strategy"]]
        forgetting.show(rows, "cola-cost", "strategy")
