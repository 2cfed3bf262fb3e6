"""The retrieval page's table of strategies: what was measured, beside the paper's, its claim, and what it costs."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.base import paths
from core.figures import retrieval
from core.metrics.retrieval import COLA_MAP
from ui import forgetting
from ui.export import chart, export_section

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
        export_section("cola", rows, {"strategies": retrieval.strategies_figure(data)})
    else:
        st.info(
            "No results yet: run `python -m benchmarks.results.cola` (about an hour on two cores).",
            icon=":material/table:",
        )
    _forgetting()
    st.header("The paper's table", anchor=False)
    base = st.segmented_control(
        "Base", ["CLIP", "FLAVA"], default="CLIP", key="paperbase", bind="query-params"
    )
    st.caption(
        "Ray et al., Tables 1 and 2a, percent. Other data and models: compare the order, not the level."
    )
    st.dataframe(retrieval.paper_table(base or "CLIP"), hide_index=True)


def _measured_strategies(data: retrieval.StrategiesData, seeds: int) -> None:
    """The measured strategies beside the paper's, as figures and as one table."""
    paper = retrieval.paper_data("CLIP")
    left, right = st.columns(2, gap="medium")
    with left:
        caption = (
            f"Bars: mean of {seeds} seeds (dots), lines: 95 % interval over queries, dotted: chance. "
            f"{retrieval.BUDGET}. `python -m benchmarks.results.cola` reproduces it; learning rates were chosen on "
            "validation queries."
        )
        said = "Cola mAP on unseen combinations by strategy"
        _bars("On the built-in world", caption, data, said, "strategies")
    with right:
        caption = (
            "Ray et al., Tables 1 and 2a: CLIP on GQA, no intervals. Other data and another model: compare the order "
            "of strategies, not the level."
        )
        said = "The paper's Cola mAP on unseen combinations"
        _bars("In the paper", caption, paper, said, "strategies-paper")
    st.dataframe(retrieval.strategies_table(data, paper), hide_index=True)


def _bars(title: str, caption: str, data: retrieval.StrategiesData, said: str, key: str) -> None:
    """One side: the strategies as bars, and in words for who cannot see them."""
    st.header(title, anchor=False)
    st.caption(caption)
    values = ", ".join(
        f"{retrieval.label(n)} {v:.1f} %" for n, v in zip(data.strategies, data.value[2], strict=True)
    )
    chart(retrieval.strategies_figure(data), f"{said}: {values}.", key)


def _paired_differences() -> None:
    """MM-Adapter minus every other strategy, with paired intervals."""
    path = paths.assets() / "results" / "cola_claims.csv"
    if not path.is_file():
        return
    rows = pd.read_csv(path)
    st.markdown("**The paper's claim:** a multimodal adapter on frozen features beats tuning the encoders.")
    st.caption(
        "MM-Adapter minus the other, points; queries are paired, outcomes averaged over seeds, 95 % bootstrap "
        "intervals over queries. An interval that contains 0 is inconclusive; any other gives the sign of the "
        "difference under the conditions named below the figure. The claim remains open: with swapped queries and "
        "3,600 steps the adapter goes from 22 to 57 % multi-object accuracy (chance 25; one seed)."
    )
    shown = rows.assign(
        versus=[retrieval.label(n) for n in rows["versus"]],
        measure=[MEASURES.get(n, n) for n in rows["measure"]],
        difference=[
            f"{d:+.1f} ({a:+.1f} to {b:+.1f})" for d, a, b in rows[["difference", "low", "high"]].to_numpy()
        ],
    )
    wide = shown.pivot(index="versus", columns="measure", values="difference").reset_index()
    order = [name for name in ("versus", *MEASURES.values()) if name in wide]
    st.dataframe(wide[order], hide_index=True)


def _forgetting() -> None:
    """What each strategy does to the model on sets it was not trained on."""
    path = paths.assets() / "results" / "cola_cost.csv"
    if not path.is_file():
        return
    rows = pd.read_csv(path)
    st.header("What adaptation costs", anchor=False)
    st.caption("Of every strategy, here. For your own runs the same is measured below their results.")
    rows["strategy"] = [retrieval.label(name) for name in rows["strategy"]]
    forgetting.show(rows, "cola-cost", "strategy")
