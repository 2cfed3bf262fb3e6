"""Lesson 4: alpha, and why bijective matching does not need it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from core.base.text import _pct
from core.debiasing.curves import _around_text
from core.debiasing.debias import prior_from_scores
from core.debiasing.study import AlphaStudy, pmi_text
from core.figures import group_html
from core.figures.alpha import alpha_data, alpha_figure
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, IMAGE_SCORE, METRICS, TEXT_SCORE
from ui.chart_clicks import clicked_point
from ui.debias import TWO_THINGS
from ui.export import chart
from ui.fields import slider
from ui.formatting import unbroken
from ui.images import draw_group
from ui.lessons import elements
from ui.lessons.matrix import unmatched

if TYPE_CHECKING:
    import plotly.graph_objects as go

MODEL = "builtin/blip-caption"  # its own kind: VisualGPTScore
BLIND = "blind:builtin/blip-caption"
SET = "scenes/attribute-swap"
HELPED = "scenes/triples"  # whose captions differ more as texts: alpha helps
SHOWN = (TEXT_SCORE, IMAGE_SCORE, GROUP_SCORE, GROUP_MATCH)
LOG_P = (
    "Here log P is a mean over the word pieces of the caption. A sum would fall with every piece, so long captions "
    "would lose."
)
ASKED = (TEXT_SCORE, GROUP_SCORE, GROUP_MATCH)


@st.cache_resource(max_entries=2, show_spinner=False)
def load_study(benchmark: str) -> AlphaStudy:
    """The captioner's scores with its own blind ones, for noise instead of the image, as the prior."""
    captioner, blind = elements.evaluate(benchmark, MODEL), elements.evaluate(benchmark, BLIND)
    return AlphaStudy(captioner.scores, prior_from_scores(blind.scores), captioner.truth, captioner.ids)


def show() -> None:
    study = load_study(SET)
    index = flipped_group(study)
    st.markdown(
        f"A captioner, here {MODEL}, {TWO_THINGS}\n\nAlpha-debiasing removes it: log P(t | i) − **α** · log P(t). "
        f"{LOG_P}"
    )
    left, right = st.columns(2, gap="large")
    with right:
        elements.define(*SHOWN)
        place = st.container()
        choice = elements.predict(
            "alpha",
            "on 2×2 groups, which of these cannot change at all, whatever α is?",
            tuple(METRICS[name].label for name in ASKED),
        )
    if choice is None:
        with left:
            elements.draw_pair(elements.load_group(SET, index), study.evaluation(0.0).group(index))
        with place:
            before_alpha(study, index)
        return
    with (
        left
    ):  # in place of the pictures, which stand beside the scores below: slider and curve are on one screen
        alpha = move_alpha(study)
    still = [METRICS[name].label for name in ASKED if np.ptp(study.curve(name).values) == 0]
    ranges = (f"{METRICS[name].label} {range_text(np.asarray(study.curve(name).values))}" for name in ASKED)
    why = "Both matchings use each caption's column once, so α takes as much from either total."
    with right:
        elements.verdict(
            "alpha", choice, " and ".join(still) or "none of them", f"{why} Over all α: {', '.join(ranges)}."
        )
        st.markdown(unbroken(_at_alpha(study, alpha)))
    at_alpha(study, index, alpha)
    elements.question(
        "alpha",
        "A 1×5 group: one image, five captions. Does α change GroupMatch there?",
        {
            "No, never": "That holds on square groups, where every matching uses all columns.",
            "It can": "Each matching uses one column of five, so α subtracts a different amount from each.",
        },
        "It can",
    )
    state = {
        "view": "Move alpha",
        "alpha": st.session_state["lesson_alpha"],
        "metric": METRICS[TEXT_SCORE].label,
    }
    elements.link_to_page(
        "Move α over all groups of this set",
        "pages/3_Debias.py",
        {**elements.selection_state(SET, MODEL), **state},
    )


def before_alpha(study: AlphaStudy, index: int) -> None:
    """What alpha will change: the group's scores, and log P(t) of each caption, which has no image in it."""
    data = unmatched(study.evaluation(0.0).group(index))
    st.html(group_html.matrix_html(data, "The captioner's log scores"), width="content")
    st.markdown(prior_text(study, index, data.digits))


def prior_text(study: AlphaStudy, index: int, digits: int) -> str:
    """log P(t) of both captions of a group."""
    first, second = (signed(value, digits) for value in study.prior[index])
    return f"log P(t) is {first} for caption 1 and {second} for caption 2, the same for both images."


def range_text(values: np.ndarray) -> str:
    """From the lowest to the highest percentage, or the one that there is."""
    low, high = (f"{_pct(value)} %" for value in (values.min(), values.max()))
    return f"{low} everywhere" if low == high else f"{low[:-2]} to {high}"


def flipped_group(study: AlphaStudy) -> int:
    """The first group whose TextScore differs between α = 0 and α = 1."""
    flips = study.flips(1.0, TEXT_SCORE)
    return int((flips.fixed | flips.broken).argmax())


def move_alpha(study: AlphaStudy) -> float:
    """The slider and, directly below it, every metric over alpha; the alpha that is chosen."""
    alpha = slider(st, "α", 0.0, 1.0, 0.5, step=0.01, key="lesson_alpha")
    curves = {name: study.curve(name) for name in SHOWN}
    chances = {name: study.evaluation(0.0).metrics[name].chance for name in SHOWN}
    figure = alpha_figure(alpha_data(curves, len(study.ids), chances, TEXT_SCORE), alpha)
    chart(figure, f"Metrics over alpha, exact. {_at_alpha(study, alpha)}", "lesson-alpha")
    low, high = figure.layout.xaxis.range
    clicked_point("lesson-alpha", lambda point: _set_alpha(low + point.share * (high - low)))
    best, label = study.best(TEXT_SCORE), METRICS[TEXT_SCORE].label
    st.caption(
        f"{SET}, {len(study.ids)} groups. Strip below: where {label} is highest, {_pct(best.value)} %, at α "
        f"{_where_highest(best.intervals)}. Shaded: its 95 % band. Press the figure to move α there."
    )
    return float(alpha)


def _where_highest(intervals: np.ndarray) -> str:
    """`around 0.21`, or of several ranges, which the strip shows, from where to where they lie."""
    if len(intervals) < 2:
        return _around_text(intervals)
    return f"from {intervals[0][0]:.2f} to {intervals[-1][1]:.2f}, in {len(intervals)} parts"


def _at_alpha(study: AlphaStudy, alpha: float) -> str:
    """Every metric at an alpha, with its interval."""
    estimates = {METRICS[name].label: study.evaluation(alpha).metrics[name] for name in SHOWN}
    values = "; ".join(
        f"{label} {_pct(e.value)} % ({_pct(e.low)}–{_pct(e.high)})" for label, e in estimates.items()
    )
    return f"At α = {alpha:.2f}, with 95 % intervals: {values}."


def at_alpha(study: AlphaStudy, index: int, alpha: float) -> None:
    """One group's scores at the alpha that is chosen, why bijective matching needs none, and where one helps."""
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.markdown(
            "α · log P(t) takes the **same** amount from every score in a caption's column. Both totals fall equally, "
            "so **GroupMatch never needed debiasing**.\n\nNor does ImageScore: it compares within a column."
        )
        group_scores(study, index, alpha)
    with right, st.container(width=330):
        draw_group(elements.load_group(SET, index), study.evaluation(alpha).group(index))
    where_it_helps(study, alpha)
    with st.expander("What PMI is, and how α goes with it"):
        st.markdown(
            "PMI, pointwise mutual information, is how much likelier the image makes a caption than it is on its own. "
            f"At α = 1 it alone counts; a smaller α keeps more of the likelihood: at {alpha:.2f} captions are ranked "
            f"by {pmi_text(alpha)}."
        )


def where_it_helps(study: AlphaStudy, alpha: float) -> None:
    """Why alpha costs TextScore on this set, and another set on which it gains; both with the same slider."""
    helped, label = load_study(HELPED), METRICS[TEXT_SCORE].label
    here, there = (spreads(each) for each in (study, helped))
    ends, best = [study.evaluation(a).metrics[TEXT_SCORE].value for a in (0.0, 1.0)], helped.best(TEXT_SCORE)
    other = helped.validated(TEXT_SCORE)  # alpha of one half of the groups, on the other
    # 49.7 % of either set, a line apart, read as a mistake.
    same = " (it happens to be the same number as above)" * (_pct(best.value) == _pct(ends[1]))
    left, right = st.columns([3, 2], gap="large")
    with right:
        st.markdown(
            unbroken(
                f"**Why does {label} fall above?** The captions of a group are about equally likely as texts: their "
                f"log P(t) differs by {here[0]:.2f} on average, an image's scores by {here[1]:.2f}.\n\n"
                f"So α takes out mostly noise ({_pct(ends[0])} % at α = 0, {_pct(ends[1])} % at 1).\n\n"
                f"**Where does it help?** Where captions differ more as texts: on {HELPED} by {there[0]:.2f}, scores "
                f"by {there[1]:.2f}.\n\n"
                f"{label} rises there from {_pct(helped.evaluation(0.0).metrics[TEXT_SCORE].value)} % to "
                f"{_pct(best.value)} %{same} at α\u00a0=\u00a0{best.alpha:.2f}, chosen on these very groups.\n\n"
                f"With an α chosen on one half of them, it rises on the other half from {_pct(other.zero.mean())} % to "
                f"{_pct(other.values.mean())} % (mean of ten splits)."
            )
        )
    with left:
        st.caption(f"{HELPED}, {len(helped.ids)} groups")
        value = helped.evaluation(alpha).metrics[TEXT_SCORE].value
        chart(
            text_figure(helped, alpha),
            f"{label} over alpha. At {alpha:.2f}: {_pct(value)} %.",
            "lesson-helped",
        )


def spreads(study: AlphaStudy) -> tuple[float, float]:
    """By how much the captions of a group differ on average in log P(t), and in an image's scores."""
    texts, scores = (float(np.ptp(each, axis=-1).mean()) for each in (study.prior, study.scores))
    return texts, scores


def text_figure(study: AlphaStudy, alpha: float) -> go.Figure:
    """TextScore alone over alpha."""
    chances = {TEXT_SCORE: study.evaluation(0.0).metrics[TEXT_SCORE].chance}
    curves = {TEXT_SCORE: study.curve(TEXT_SCORE)}
    return alpha_figure(alpha_data(curves, len(study.ids), chances, TEXT_SCORE), alpha, height=280)


def _set_alpha(value: float) -> None:
    """Move the slider (from a callback)."""
    st.session_state["lesson_alpha"] = round(min(max(value, 0.0), 1.0), 2)


def group_scores(study: AlphaStudy, index: int, alpha: float) -> None:
    """The group's scores at this alpha, one of them worked out, and the totals of its two matchings.

    Sums have a digit less than the scores, and the difference one less again, so that what is shown adds up.
    """
    data = study.evaluation(alpha).group(index)._replace(decimals=4)
    scores = data.scores
    st.markdown(f"**{elements.load_group(SET, index).id}** at α = {alpha:.2f}")
    st.html(group_html.matrix_html(data, f"Debiased log scores at alpha {alpha:.2f}"), width="content")
    # What the answer replaced: without it, nothing said where the scores come from.
    score, prior = (signed(float(each), 4) for each in (study.scores[index, 0, 0], study.prior[index, 0]))
    st.markdown(
        f"{prior_text(study, index, 4)}  \nA–1: {score} − {alpha:.2f} × ({prior}) = {signed(float(scores[0, 0]), 3)}"
    )
    straight, crossed = float(scores.trace()), float(scores[0, 1] + scores[1, 0])
    st.markdown(
        f"A–1 and B–2: {signed(straight, 3)}  \nA–2 and B–1: {signed(crossed, 3)}  \n"
        f"Difference: **{signed(straight - crossed, 2)}**, whatever α is."
    )


def signed(value: float, digits: int) -> str:
    """A number with a proper minus sign."""
    return f"{value:.{digits}f}".replace("-", "−")
