"""What the settings of the test-time matching form would do today, before anything is trained."""

from __future__ import annotations

from math import isnan

import streamlit as st

from core import figures
from core.figures.text import escape_markdown
from core.metrics import groups as metrics
from core.metrics.evaluation import Evaluation
from core.ttm.config import _unreached, thresholds
from core.ttm.forecast import Forecast
from core.ttm.run import AdaptationRun, SimpleMatchRun, TTMRun
from ui.export import chart
from ui.formatting import true_minus
from ui.loaders import evaluate
from ui.selection import Selection


def forecast_line(job: AdaptationRun, selection: Selection, is_measured: bool) -> str:
    """What the run is likely to change, before it is started; "" where the page shows what such runs on this set did
    (is_measured): those are the one expectation, before the run and after it."""
    found = Forecast.of(job, lambda model: evaluate(selection, model).scores)
    if not is_measured or isnan(found.gain):  # or with other settings than those that were measured
        return true_minus(found._replace(runs=0).sentence() if is_measured else found.sentence())
    return ""


def unreached_line(job: AdaptationRun, evaluation: Evaluation) -> str:
    """Which iterations would select no group, as the margins are now; "" where all select some, and where thresholds
    are no margins.

    evaluation : of the groups that may be trained on.
    """
    if not isinstance(job, TTMRun) or job.oracle or job.settings.variant != "group":
        return ""
    margin = evaluation.matches.margin
    return _unreached(thresholds(job.settings, margin), margin)


def preview(job: AdaptationRun, evaluation: Evaluation) -> None:
    """The thresholds that the first scores resolve to, and what they would select today."""
    total = len(evaluation.ids)
    if isinstance(job, SimpleMatchRun):
        tied = int(evaluation.matches.tied.sum())
        st.markdown(
            f"Overfits to the induced matchings of **{total - tied}** groups; {tied} are tied and left out."
        )
        return
    config = job.settings
    if job.oracle:
        hits = int((evaluation.outcomes[metrics.GROUP_MATCH].value == 1).sum())
        st.markdown(
            f"The oracle **uses the truth**: it trains on the {hits} of {total} groups that are matched correctly now."
        )
        return
    if config.variant == "global" and config.threshold_mode == "absolute":
        st.caption(
            "When the run starts, all images are matched with all captions at once; the thresholds are computed then."
        )
        return
    taus = thresholds(config, evaluation.matches.margin)
    if config.variant == "global":
        st.markdown(f"Starts with the best {100 * (1 - taus[0]):.0f} % of all pairs.")
        alt = f"The rank threshold goes from {taus[0]:.2f} to {taus[-1]:.2f} over {len(taus)} iterations."
        chart(
            figures.ttm_panel_figure(figures.schedule_data(taus, None), "threshold", 210),
            alt,
            "preview-threshold",
        )
        return
    data = figures.schedule_data(taus, metrics.threshold_curve(evaluation.matches, evaluation.truth))
    chosen = round(data.coverage[0] * total / 100)
    st.markdown(
        escape_markdown(f"The first threshold τ₁ is {taus[0]:.3g} and selects {chosen} of {total} groups.")
    )
    left, right = st.columns(2, gap="large")
    with left:
        alt = f"The threshold goes from {taus[0]:.3g} to {taus[-1]:.3g} over {len(taus)} iterations."
        st.caption("Threshold per iteration")
        chart(figures.ttm_panel_figure(data, "threshold", 210), alt, "preview-threshold")
    with right:
        alt = f"With the current margins coverage goes from {data.coverage[0]:.0f} to {data.coverage[-1]:.0f} %."
        st.caption("Share of groups whose margin is above the threshold, as the margins are now")
        chart(figures.ttm_panel_figure(data, "selection", 210), alt, "preview-coverage")
