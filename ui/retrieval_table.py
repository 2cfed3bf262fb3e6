"""The retrieval page's table of strategies: what was measured, beside the paper's, its claim, and what it costs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.base import paths
from core.figures import retrieval
from core.metrics.retrieval import COLA_MAP
from core.scorers.cola_config import STRATEGIES
from ui import forgetting
from ui.export import chart, export_section

UNSEEN, PAIRS = 2, 4  # places in `StrategiesData.measures`
# Measures of the claim as the file names them -> for people.
MEASURES = {
    f"{COLA_MAP} all": "Cola mAP, all",
    f"{COLA_MAP} seen": "seen",
    f"{COLA_MAP} unseen": "unseen",
    "lead on unseen": "unseen minus seen",
    "multi_object": "multi-object accuracy",
    "crepe": "CREPE accuracy",
}


def table() -> None:
    """Measured strategies beside the paper's."""
    path = paths.assets() / "results" / "cola.csv"
    if path.is_file():
        rows = pd.read_csv(path)
        data = retrieval.strategies_data(rows)
        seeds = int(rows.loc[rows["strategy"] != "base", "seed"].nunique())
        _measured_strategies(data, seeds)
        _paired_differences()
        _verdicts()
        _forgetting()
        _paper_table()
        export_section("cola", rows, {"strategies": retrieval.strategies_figure(data)})
    else:
        st.info(
            "No results yet: run `python -m benchmarks.results.cola` (about an hour on two cores).",
            icon=":material/table:",
        )
        _forgetting()
        _paper_table()


def _paper_table() -> None:
    """The paper's own numbers of one base."""
    with st.expander("The paper's table", icon=":material/article:"):
        base = st.segmented_control(
            "Base", ["CLIP", "FLAVA"], default="CLIP", key="paperbase", bind="query-params"
        )
        st.caption(
            "Ray et al., Tables 1 and 2a, in percent. Data and models are others than here: compare the order, not "
            "the level."
        )
        st.dataframe(retrieval.paper_table(base or "CLIP"), hide_index=True)


def _measured_strategies(data: retrieval.StrategiesData, seeds: int) -> None:
    """The measured strategies beside the paper's: in one sentence, at a glance, as figures and as one table."""
    paper = retrieval.paper_data("CLIP")
    st.markdown(
        f"""**Ways to teach a model which attribute belongs to which object.** \
Percent is mean average precision (mAP), 100 where every right picture stands before every wrong one, or accuracy.
- Combinations that training never showed: {_best(paper, UNSEEN, "in the paper")}; \
{_best(data, UNSEEN, "on the built-in world")}.
- Two objects that exchange their attributes: {_best(paper, PAIRS, "in the paper")}; \
{_best(data, PAIRS, "on the built-in world")}.
- Data, models and length of training differ: compare the order of the strategies, not their level."""
    )
    st.html(_glance(data, paper))
    left, right = st.columns(2, gap="medium")
    said = "Cola mAP on unseen combinations by strategy"
    with left:
        _bars("On the built-in world", f"Means of {seeds} seeds (dots).", data, paper, said, "strategies")
    with right:
        said = "The paper's Cola mAP on unseen combinations"
        _bars(
            "In the paper",
            "CLIP on GQA; the paper prints no intervals.",
            paper,
            data,
            said,
            "strategies-paper",
        )
    st.caption(
        "“Seen” and “unseen”: mAP for combinations of words that training showed or did not show. Multi-object "
        "accuracy: how often the right one of two pictures with exchanged attributes is found. "
        "Thin lines are 95 % intervals over queries, dotted lines chance levels. The built-in world was "
        f"measured with {retrieval.BUDGET}."
    )
    with st.expander("All numbers, and how they were measured", icon=":material/table:"):
        st.dataframe(retrieval.strategies_table(data, paper), hide_index=True)
        st.caption(
            "Learning rates were chosen on validation queries. "
            "`python -m benchmarks.results.cola` prints these numbers again. The paper's: Ray et al., Tables 1 and 2a."
        )


def _best(data: retrieval.StrategiesData, measure: int, where: str) -> str:
    """`in the paper MM-Adapter comes out highest (48.9 %, before 39.1 %)`"""
    values = data.value[measure]
    if np.isnan(values).all():
        return f"{where} nothing is measured"
    best, before = int(np.nanargmax(values)), values[data.strategies.index("base")]
    if data.strategies[best] == "base" or round(values[best], 1) <= round(before, 1):
        return f"{where} no strategy is better than the model before ({before:.1f} %)"
    name = retrieval.label(data.strategies[best])
    return f"{where} {name} comes out highest ({values[best]:.1f} %, before {before:.1f} %)"


def _glance(data: retrieval.StrategiesData, paper: retrieval.StrategiesData) -> str:
    """Every strategy on one line: what it trains, and its unseen mAP here and in the paper."""
    lines = []
    for name in data.strategies:
        meaning = STRATEGIES[name].meaning if name in STRATEGIES else "Nothing: the model as it was."
        here = data.value[UNSEEN, data.strategies.index(name)]
        printed = name in paper.strategies
        there = paper.value[UNSEEN, paper.strategies.index(name)] if printed else np.nan
        numbers = "".join(f"<td><div>{_percent(value)}</div></td>" for value in (here, there))
        lines.append(
            f'<tr><th scope="row">{retrieval.label(name)}</th><td class="cm-words">{escape(meaning)}</td>{numbers}</tr>'
        )
    return (
        '<div class="cm-scroll"><table class="cm-cells"><thead><tr><th scope="col" class="cm-words">strategy</th>'
        '<th scope="col" class="cm-words">what is trained</th><th scope="col">unseen combinations, here</th>'
        f'<th scope="col">unseen combinations, paper</th></tr></thead><tbody>{"".join(lines)}</tbody></table></div>'
    )


def _percent(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.1f} %"


def _bars(
    title: str,
    caption: str,
    data: retrieval.StrategiesData,
    beside: retrieval.StrategiesData,
    said: str,
    key: str,
) -> None:
    """One side: the strategies as bars on the scale of the other side, and in words for who cannot see them."""
    st.header(title, anchor=False)
    st.caption(caption)
    values = ", ".join(
        f"{retrieval.label(n)} {v:.1f} %" for n, v in zip(data.strategies, data.value[2], strict=True)
    )
    chart(retrieval.strategies_figure(data, beside=beside), f"{said}: {values}.", key)


def _paired_differences() -> None:
    """MM-Adapter minus every other strategy, with paired intervals."""
    path = paths.assets() / "results" / "cola_claims.csv"
    if not path.is_file():
        return
    rows = pd.read_csv(path)
    shown = rows.assign(
        versus=[retrieval.label(n) for n in rows["versus"]],
        measure=[MEASURES.get(n, n) for n in rows["measure"]],
        difference=[
            f"{d:+.1f} ({a:+.1f} to {b:+.1f})" for d, a, b in rows[["difference", "low", "high"]].to_numpy()
        ],
    )
    wide = shown.pivot(index="versus", columns="measure", values="difference").reset_index()
    order = [name for name in ("versus", *MEASURES.values()) if name in wide]
    with st.expander("The paper's claim, tested: MM-Adapter minus every other", icon=":material/balance:"):
        st.markdown("The paper says that a multimodal adapter on frozen features beats tuning the encoders.")
        st.dataframe(wide[order], hide_index=True)
        st.caption(
            "Differences in points with paired 95 % bootstrap intervals over queries, results averaged over seeds. An "
            "interval that contains 0 does not tell which is better. Under the conditions above, the claim remains "
            "open: with swapped queries and 3,600 steps, one seed of the adapter goes from 22 to 57 % multi-object "
            "accuracy (chance 25 %); there a swapped query came with any picture true of it."
        )


def _verdicts() -> None:
    """What the true protocol says of each of the paper's claims, and how much of it is measured."""
    path = paths.assets() / "results" / "cola_verdict.json"
    if not path.is_file():
        return
    record = json.loads(path.read_text(encoding="utf-8"))
    with st.expander("Each claim by the true protocol", icon=":material/gavel:"):
        st.markdown(
            f"**{record['runs']} of {record['wanted']} runs are measured so far**: a base that knows sizes and "
            f"materials ({record['base']}), the same queries with swaps for every strategy, 4,000 steps or until "
            "validation stops improving, three seeds. A claim is left open until three seeds and the interval agree."
        )
        st.markdown("\n".join(map(_claim_line, record["claims"])))
        st.caption(
            "`crossmatch reproduce cola/1 --row 'built-in world' --run` goes on with it; written from the records."
        )


def _claim_line(claim: Mapping[str, Any]) -> str:
    """A claim, its verdict with the difference, and what decided it, as an item of a list."""
    number = ""
    if "difference" in claim:
        number = f", {claim['difference']:+.1f} ({claim['low']:+.1f} to {claim['high']:+.1f}) points"
    return f"- {claim['says']} **{claim['verdict'].capitalize()}**{number}. {claim['decided_by']}"


def _forgetting() -> None:
    """What each strategy does to the model on sets it was not trained on."""
    path = paths.assets() / "results" / "cola_cost.csv"
    if not path.is_file():
        return
    costs = st.expander(
        "What training costs on other sets",
        icon=":material/trending_down:",
        key="strategy-costs",
        on_change="rerun",
    )
    if not costs.open:
        return
    with costs:
        rows = pd.read_csv(path)
        rows["strategy"] = [retrieval.label(name) for name in rows["strategy"]]
        forgetting.show(rows, "cola-cost", "strategy")
