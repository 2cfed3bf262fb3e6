"""The alpha slider and what moves with it: metrics, curves, the group in view, and what alpha cannot move."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

from core import datasets
from core import figures as plots
from core.base.text import (
    _change_in_points,
    _file_columns,
    _p_said,
    _pct,
    _signed,
    _signed_end,
    _signed_range,
    counted,
)
from core.debiasing.curves import _alpha_text, _around_text, _edge_text, _spans_text
from core.debiasing.priors import _caption_known_by
from core.debiasing.study import TUNED_ON_TEST, TUNED_PER_ROW, AlphaStudy, pmi_text
from core.debiasing.verdicts import _cannot_decide, _harm, _headline, _leans
from core.exchange.layouts import _Latex, _raised, latex_table, text_table_latex
from core.figures import alpha as figures
from core.figures import group_html
from core.figures.text import escape_markdown
from core.groups import Group, GroupSet, _pairs_said
from core.metrics.group_metrics import GroupData
from core.metrics.groups import GROUP_MATCH, IMAGE_SCORE, METRICS, TEXT_SCORE, metrics_of_shape
from core.metrics.paired import _moved_end
from core.metrics.statistics import _SETS, Comparison
from ui.cached import cached_on
from ui.chart_clicks import clicked_point
from ui.debias import (
    CAPTIONER,
    FIRST_SET,
    PAGE,
    PER_TOKEN,
    RETRIEVAL,
    TWO_THINGS,
    DebiasInputs,
    keep_in_view,
    shipped_retrieval,
)
from ui.export import chart, export_section
from ui.fields import warn_number
from ui.formatting import (
    estimate_columns,
    exact_differences_once,
    interval_text,
    interval_to_quote,
    metric_card,
    metric_grid,
    rounding_note,
    true_minus,
    unbroken,
)
from ui.images import draw_group, file_card, has_captions, row_pictures, shades_bar, strip
from ui.moving_line import axis_position, moving_lines
from ui.old_links import warn_without_effect
from ui.page import show_errors
from ui.selection import (
    group_line,
    group_title,
    open_group,
    page_button,
    pick_group,
    switch_page,
    warn_unknown_group,
)
from ui.uploads import PREFIX, is_upload
from ui.visitor import on_phone

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from streamlit.delta_generator import DeltaGenerator

# Folded below the verdict; the view of the language prior explains more.
_SCENARIOS = {
    1: "**The prior helps here:** as text alone, the false captions of this set are less likely than the true ones. "
    "The curve falls where alpha takes away more of that help than it corrects.",
    2: "**The prior does not help here:** as text alone, the true captions of this set are no likelier than the false "
    "ones, or hardly so (in fewer than 60 % of pairs). Where the prior misleads, the curve rises with alpha, until "
    "noise in the prior outweighs the correction.",
    None: "**Too few groups to tell whether the prior helps:** the true captions may or may not be likelier as text "
    "than the false ones.",
}
_ORDERS = {-1: ("behind", "<"), 0: ("level with", "="), 1: ("ahead of", ">")}
_TIED = "**This prior changes nothing:** it gives all captions of a group the same log P(t)."
_ALPHAS = (
    "Captions are ranked by log P(t | image) − α · log P(t){unit}. 0 leaves the captioner's own scores; 1 removes all "
    "of the prior. “Best here” is the alpha of 0 to 1, the paper's range, with the most {label} on these very "
    "groups ({tuned}): {where}. The slider starts there, or at 0 where no alpha gains. The curves are "
    "exact: a metric changes only where two scores cross, and all crossings are computed."
)
_HALVES = (
    "**Which number to quote?** The held-out one in the sentence above: alpha is chosen on one random half of the "
    "groups and measured on the other, ten times."
)
_HELD_OUT_IS = "Held out: on groups that α was not chosen on."
_SPLITS = (
    "**What is ±?** The standard deviation (n − 1) of ten paired gains over α = 0, no interval. On the groups that it "
    "is chosen on, the best alpha gains too much."
)
_NEAR_END = 0.02  # of alpha: six pixels of a phone
_LITTLE = (
    0.6  # the spread of log P(t) in a group over that of an image's scores, where alpha has little to remove
)
_LARGE = 3.0  # the same, where log P(t) hardly has the unit of the scores, which hold it
_KEPT = "group-while-alpha-moves"  # in the session: set with model, metric, and the group that the page chose for them
_AT_BEST = "alpha-at-the-best"  # in the session: a set that opens at its best alpha
_START = "alpha-at-the-start"  # in the session: where the slider stands until somebody moves it
_FOLDED = "Its images and captions, before and after"  # what a phone opens
# Pixels of a picture above both matrices, by images: with them and its captions a group stays on a laptop's screen.
_PICTURES = {1: 112, 2: 96, 3: 64}
_MOST_CAPTIONS = 5  # of more, or of more images, each picture is small beside its letter
_HEIGHT = 318  # of the figure: on a laptop it ends above the fold

_PMI = (
    "Captions are ranked by log P(t | image) − α · log P(t). At α = 0 a caption is as good as it is likely "
    "for this image. At α = 1 it is as good as the image makes it "
    "likelier than it is on its own, which is pointwise mutual information (PMI). Between the two the order of an "
    "image's captions is that of PMI^k, where the image and the caption together count k = 1 / α times: the smaller "
    "α, the more of the likelihood is left."
)


def _set_alpha(value: float) -> None:
    """Move the slider (from a callback)."""
    st.session_state["alpha"] = min(max(value, 0.0), 1.0)


@st.fragment
def alpha_section(inputs: DebiasInputs, groups: GroupSet) -> None:
    """The slider and everything that moves with it; moving it redraws this alone."""
    with show_errors():
        _draw_at_alpha(inputs, groups)


def _draw_at_alpha(inputs: DebiasInputs, groups: GroupSet) -> None:
    study = inputs.study
    # On a phone the style puts the controls right below the figure, then the group, then the notes.
    verdict = st.container(key="alpha-verdict", gap="xxsmall")
    controls = st.container(key="alpha-controls", gap="small")
    with st.container(horizontal=True, gap="medium", key="alpha-row"):  # beside each other on a laptop
        drawn = st.container(key="alpha-figure", gap="xsmall")
        matrices = st.container(key="alpha-matrices", gap="xxsmall")
    notes = st.container(key="alpha-notes")
    with controls:
        alpha, metric, others = _controls(study, notes)
    with verdict:
        _verdict(study, metric)
    figure = _curve_figure(study, metric)
    with drawn:
        _curve_section(study, figure, alpha, metric, others)
        _below_figure(study, metric, others)
    why = _why_no_gain(study, metric)
    if on_phone() and why:
        notes.caption(unbroken(why))
    gain = _gain_here(study, metric)
    # Beside the verdict it took the slider's line; where another way stands there, a second one would be too many.
    if on_phone() and _is_of_a_built_in_set() and _is_only_way(gain):
        with notes:
            _offer_retrieval(gain)
    best = study.best(metric)
    edge = _edge_text(best.value, best.intervals)
    if _scales_differ(study, metric) and _OTHER_SCALE not in why and _MEAN_OR_SUM not in why:
        edge += f" {_MEAN_OR_SUM}"
    reads = [*filter(None, (edge, _which_sentences_win(study, metric)))]
    for line in reads if not on_phone() else ():  # a phone has them in “How alpha works”
        notes.caption(unbroken(line))
    index = _one_group(inputs, groups, alpha, metric, matrices)
    # Open or not, it stays so while alpha moves: its label has no alpha in it.
    with st.expander("Every metric at this α", key="every-metric"):
        st.markdown(f"**α = {_alpha_text(alpha)}**")
        with st.container(key="metric-cards"):
            _cards(study, alpha, metric)
    _formula(study, alpha, index, reads if on_phone() else ())
    export_section(
        f"alpha-{inputs.name}",
        study.curve_table,
        _for_files(study, metric, others, alpha),
        latex=lambda: _curves_latex(inputs, alpha),
        command=inputs.command,
        groups=groups,
        papers=("VGPT",),
        moved={"alpha": alpha},
        table_label="Whole curves (CSV)",
        title=inputs.title,
        note=f"Vertical line: α = {_alpha_text(alpha)}. log P(t): {inputs.prior.line}. Strip below: where "
        f"{METRICS[metric].label} is highest. Shaded: its 95 % band.",
    )


def _below_figure(study: AlphaStudy, metric: str, others: Sequence[str]) -> None:
    """How the figure is read, and in a tip what there is no room for. others : as in `_curve_section`."""
    said, levels, more = _drawn(study, metric, others)
    flat = _why_flat(study, [metric, *others])
    start, is_above = _curve_at_zero(study, metric)
    if on_phone() and not is_above:  # no room for what is not needed
        seen, tip = [said], [start, levels, flat, more]
    elif on_phone():
        seen, tip = [said, start], [levels, flat, more]
    else:
        seen, tip = ([said, start], [levels, more]) if start else ([said, levels], [more])
    st.container(key="alpha-key").caption(_sentences(seen), help=_sentences(tip))
    if flat and not on_phone():
        st.container(key="alpha-flat").caption(unbroken(flat))


def _sentences(lines: Sequence[str]) -> str:
    return unbroken(" ".join(filter(None, lines)))


def _verdict(study: AlphaStudy, metric: str) -> None:
    """Whether alpha helps, in one sentence with the number to quote, on groups that did not choose alpha; below it its
    reasons, and where there are no others what it gains on these."""
    found = study.verdict(metric)
    elsewhere, is_built_in = not (found.helps or found.probably), _is_of_a_built_in_set()
    p = f" ({_p_said(found.sign_p)})"  # beside the held-out value it seemed to be of that: “How sure is that?” has it
    said = _headline(study, metric).replace(p, "")
    said = said.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")  # no line ends there
    st.markdown(f"**{unbroken(said)}**")
    if on_phone():
        st.container(key="alpha-plain").caption(unbroken(_plain(study, metric)))
    if len(study.scores) < 2:
        st.caption(unbroken(_tuned_text(study, metric)))
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="alpha-reasons"):
        _reasons(study, metric)
        if elsewhere:
            _offer_gain()
        if on_phone():  # `_draw_at_alpha` has the rest below its slider
            return
        gain, why = _gain_here(study, metric), _why_no_gain(study, metric)
        if why:
            st.caption(unbroken(why))
        if is_built_in and (_is_only_way(gain) or not why):  # one way is enough: it leads on to the other
            _offer_retrieval(gain)
        if gain and not why and len(study.scores) > 1:  # where it is not, a reason and two ways fill the line
            said = unbroken(f"{_HELD_OUT_IS} P(t): the prior.")
            st.caption(said, width="content", help=unbroken(_of_halves(study, metric).strip()) or None)


def _plain(study: AlphaStudy, metric: str) -> str:
    """What the verdict's metric is and what held out means, in plain words."""
    meaning = METRICS[metric].meaning_for(*study.shape).partition(";")[0].removesuffix(".")
    said = f"{meaning[0].lower()}{meaning[1:]}".replace(" strictly", "")
    for each in ("image", "true caption"):
        said = said.replace(f"for every {each}, its", f"every {each}’s")
    said = said if METRICS[metric].share else f"share of groups in which {said}"
    held_out = f" {_HELD_OUT_IS}" * (len(study.scores) > 1)
    return f"{METRICS[metric].label}: {said}.{held_out}"


def _gain_here(study: AlphaStudy, metric: str) -> float:
    """What alpha gains on these groups in points; 0 where it is not known to help."""
    found = study.verdict(metric)
    return found.gain.difference if found.helps or found.probably else 0.0


def _reasons(study: AlphaStudy, metric: str) -> None:
    """Why the verdict is so sure and which number is to be quoted; the rest folded, as on a phone it filled the screen.
    As a line of its own it took the figure's height."""
    panel = st.popover("How sure is that?", icon=":material/help:", key="how-sure")
    with panel, st.container(key="how-sure-said"):
        if len(study.scores) < 2:
            _more_reasons(study, metric)
            return
        halves = f"{study.validated(metric)._gained()}{_of_halves(study, metric)}"
        quote = f"{_HALVES} {halves}{_too_high(study, metric)}"
        first = _why_only_probably(study, metric) or _why_not_clear(study, metric)
        st.markdown(unbroken("\n\n".join(filter(None, (first, quote)))))
        with st.expander("More", key="how-sure-more"):
            _more_reasons(study, metric)


def _of_halves(study: AlphaStudy, metric: str) -> str:
    """Why alpha 0 has one value on the halves and another on all groups; "" where both are written alike."""
    held, whole = study.validated(metric).summary["zero"][0], study.evaluation(0.0).metrics[metric].value
    if _pct(held) == _pct(whole):
        return ""
    return (
        f" At α = 0 these halves have {_pct(held)} %, all {len(study.scores)} groups {_pct(whole)} %: which groups are "
        "drawn into a half is luck, but before and after are of the same ones."
    )


def _too_high(study: AlphaStudy, metric: str) -> str:
    """Why the number beside the slider is not the one to quote; "" where no alpha gains."""
    if not _gains(study, metric):
        return ""
    best = study.best(metric)
    if best.value <= study.validated(metric).summary["values"][0]:  # too high is its gain, but not the value
        return f" Not {_pct(best.value)} % at α = {_alpha_text(best._written)}: that α was tuned on these very groups."
    return (
        f" Not the {_pct(best.value)} % at α = {_alpha_text(best._written)}: that α was tuned on the very groups that "
        "it is measured on, so its value is too high to quote."
    )


def _more_reasons(study: AlphaStudy, metric: str) -> None:
    """What was tested, the gain on the very groups that chose alpha, and how the figure is read."""
    little, is_halved = _little_prior(study, metric), len(study.scores) > 1
    sure = (
        _SPLITS if is_halved else "",
        _tuned_text(study, metric) if is_halved else "",  # else it is in sight already
        _why_harm(study, metric),
        _how_sure(study, metric),
        "" if _why_not_clear(study, metric) else _power_text(study, metric),
    )
    if any(sure):
        st.markdown(unbroken("\n\n".join(filter(None, sure))))
    if little:
        _why_so_little(*little, _scales_differ(study, metric))
    if study.frequency.likelier is not None:
        st.markdown(scenario_text(study))
    read = _ALPHAS.format(
        label=METRICS[metric].label,
        tuned=TUNED_ON_TEST,
        where=_where_highest(study, metric),
        # A file may have either.
        unit="; a captioner's are means over a sentence's tokens, not sums" * (not _is_of_a_file()),
    )
    st.caption(f"{read}{exact_differences_once('curve')}{_quoted_by(study)}")


def _quoted_by(study: AlphaStudy) -> str:
    """Which interval is to be quoted, and how a caption that groups share is known; "" where they share nothing."""
    if study.clusters is None:
        return ""
    known = ""
    if "caption" in study.clusters.by:
        known = f" A caption is known by {_caption_known_by(_is_of_a_file())}."
    return f" {interval_to_quote(study.clusters.by)}{known}"


def _curves_latex(inputs: DebiasInputs, alpha: float) -> str:
    """Every metric in LaTeX at alpha 0, at 1 and where the slider is, at the alpha of the other half, and tuned."""
    study = inputs.study
    rows = [(f"α = {a:g}", study.evaluation(a).metrics) for a in sorted({0.0, alpha, 1.0})]
    (m, k), name = study.shape, inputs.model.removeprefix(PREFIX)
    groups = f"{counted(len(study.scores), 'group')} of {m}×{k}"  # as the selection says them, too
    about = (
        inputs.title if groups in inputs.title else f"{inputs.title}, {groups}",
        "" if name in inputs.title else f"Scores: {name}",
        "The file has no ground truth: image i is assumed to belong to caption i" * inputs.truth_assumed,
        f"log P(t): {inputs.prior.line}",
    )
    return latex_table(rows, about=". ".join(filter(None, about)), more=_chosen_alphas(study))


def _chosen_alphas(study: AlphaStudy) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Rows of every metric that alpha moves at an alpha that was chosen, on the other half and on all groups, and how
    they are read; none where it moves none."""
    rows: dict[str, dict[str, str]] = {}
    for name in filter(study.depends, metrics_of_shape(*study.shape)):
        if len(study.scores) > 1:
            held = study.validated(name).summary
            rows.setdefault("held out, α = 0", {})[name] = _plus_minus(held["zero"])
            rows.setdefault("held out", {})[name] = _plus_minus(held["values"])
            rows.setdefault("its α", {})[name] = _plus_minus(held["alphas"])
        for label, cell in _tuned_cells(study, name).items():
            rows.setdefault(label, {})[name] = cell
    if not rows:
        return {}, []
    by = "" if study.clusters is None else f" by {study.clusters.by}"
    parts = [METRICS[name].label for name in study.gains if METRICS[name].share]
    shares = f"; of {', '.join(parts)} that of a mean" if parts else ""
    still = [METRICS[name].label for name in metrics_of_shape(*study.shape) if not study.depends(name)]
    notes = [
        *[_HELD_OUT] * (len(study.scores) > 1),
        f"Tuned: each metric at the α, the middle of the widest span, at which it is highest on these very groups, so "
        f"that it is too high ({TUNED_ON_TEST}); gain: over α = 0 on the same groups, in points, with its 95 % interval"
        f"{by} at this α (Bonett and Price's, paired{shares}). p: of a gain at any α, which allows for that choice"
        f"{' and is after Holm over the metrics' if len(study.gains) > 1 else ''}.",
        *[f"– below chance: no α changes {', '.join(still)}."] * bool(still),
        *["– for p: too few groups to test."] * any("–" in cell for cell in rows["p, any α"].values()),
    ]
    return rows, notes


_HELD_OUT = (
    "Held out: α chosen on a random half of the groups in steps of 0.001, measured on the other half, ten times: mean "
    "± standard deviation (n − 1), which is no interval."
)


def _tuned_cells(study: AlphaStudy, metric: str) -> dict[str, str]:
    """A metric at its best alpha on all groups: value with interval, alpha, gain over alpha 0 with interval, and p."""
    best, found = study.best(metric), study.verdict(metric)
    at, gain = study.evaluation(best._written).metrics[metric], found.gain.clustered or found.gain
    points = f"{_signed(found.gain.difference, 2)} [{_signed_end(gain.low, 2)}, {_signed_end(gain.high, 2)}]"
    return {
        "tuned": f"{_pct(at.value, 2)} [{_pct(at.low, 2)}, {_pct(at.high, 2)}]",
        "its α, tuned": _alpha_text(best._written),
        "gain, tuned": points.replace("-", "−"),
        "p, any α": "–" if found.too_few else _Latex(_raised(found.p_value)),
    }


def _plus_minus(mean_and_sd: tuple[float, float]) -> str:
    return " ± ".join(_pct(each, 2) for each in mean_and_sd)


def _curve_figure(study: AlphaStudy, metric: str) -> go.Figure:
    """Every metric over alpha, without the line at alpha: drawn once for all visitors."""

    data = _curve_data(study, metric)
    return cached_on(study, f"figure of {metric}", lambda: figures.alpha_figure(data, height=_HEIGHT))


def _for_files(
    study: AlphaStudy, metric: str, others: Sequence[str], alpha: float
) -> dict[str, Callable[[], go.Figure]]:
    """The figure with a line at alpha, for files: with the curves that the page has, and with all where these are more.
    others : as in `_curve_section`."""
    data, names = _curve_data(study, metric), (metric, *others)
    whole = lambda: plots.with_threshold_line(_curve_figure(study, metric), alpha)  # noqa: E731
    if set(names) == set(data.y):
        return {"alpha": whole}
    some = data._replace(y={name: values for name, values in data.y.items() if name in names})
    return {"alpha": lambda: figures.alpha_figure(some, alpha, _HEIGHT), "alpha-every-metric": whole}


def _curve_data(study: AlphaStudy, metric: str) -> figures._AlphaData:
    """What the figure is drawn from."""

    def made() -> figures._AlphaData:
        curves = {name: study.curve(name) for name in _apart(study, metric)}
        levels = {name: study._chance(name) for name in curves}
        held = study.validated(metric).summary["values"][0] if len(study.scores) > 1 else None
        return figures.alpha_data(curves, len(study.scores), levels, metric)._replace(held=held)

    return cached_on(study, f"curves of {metric}", made)


def _apart(study: AlphaStudy, metric: str) -> list[str]:
    """The metrics that can differ: of one image with one true caption they all ask the same, and this one is shown."""
    names = metrics_of_shape(*study.shape)
    return [metric] if study.shape[0] == 1 and study.truth.shape[1] == 1 else list(names)


def _curve_section(
    study: AlphaStudy, figure: go.Figure, alpha: float, metric: str, others: Sequence[str]
) -> None:
    """The figure with a line at alpha; a click moves alpha there. others : metrics that are drawn beside the chosen
    one."""
    moving_lines("alpha-line", {"alpha-curve": axis_position(alpha, figure.layout.xaxis.range)})
    label = METRICS[metric].label
    drawn = " and ".join([label, *(METRICS[name].label for name in others)])
    chart(
        cached_on(
            study, f"figure of {metric}, {others} on the page", lambda: _on_the_page(study, metric, others)
        ),
        f"{drawn} over alpha as steps. {label} is highest, {_where_highest(study, metric)}.",
        "alpha-curve",
        height="stretch",
    )
    low, high = figure.layout.xaxis.range
    clicked_point(
        "alpha-curve", lambda point: _set_alpha(_pressed(low + point.share * (high - low))), beside=True
    )


def _pressed(alpha: float) -> float:
    """The alpha of a press on the figure: near an end, which no finger meets, the end itself."""
    if min(alpha, 1 - alpha) <= _NEAR_END:
        return float(round(alpha))
    return round(alpha, 3)


def _on_the_page(study: AlphaStudy, metric: str, others: Sequence[str]) -> go.Figure:
    """The figure as the page has it, with the curves that are asked for, and which says above what alpha is and below
    what band and strip are: the plot has the height of the axis's title, and the chance level its name where no curve
    is."""
    figure = _curve_figure(study, metric)
    drawn = type(figure)(figure).update_xaxes(title_text=None, tickprefix="α = ")
    drawn.update_traces(showlegend=False, selector={"fill": "tonexty"})
    left_out = {METRICS[name].label for name in _apart(study, metric) if name not in (metric, *others)}
    drawn.data = [trace for trace in drawn.data if trace.name not in left_out]
    _meet(drawn, {METRICS[name].label for name in (metric, *others)})
    drawn.update_layout({"shapes": [shape.update(showlegend=False) for shape in drawn.layout.shapes]})
    figures._name_chance(drawn, _curve_data(study, metric), _HEIGHT, (metric, *others))
    # From the edge of the figure, in letters that are read on a phone; “Curves” chooses, not a press on a name.
    edge = {"xref": "container", "x": 0, "yref": "container", "y": 1, "yanchor": "top"}
    press = {"itemclick": False, "itemdoubleclick": False}
    return drawn.update_layout(showlegend=True, legend={"font": {"size": 12}, **edge, **press})


def _meet(figure: go.Figure, labels: set[str]) -> None:
    """Points of every curve wherever one has some: the label of a flat one, of two points, was on no other's."""
    curves = [trace for trace in figure.data if trace.name in labels]
    every = np.unique(np.concatenate([trace.x for trace in curves]))
    for trace in curves:
        trace.update(x=every, y=np.asarray(trace.y)[np.searchsorted(trace.x, every, "right") - 1])


def _pick_others(study: AlphaStudy, metric: str, place: DeltaGenerator) -> list[str]:
    """The metrics that are drawn beside the chosen one, as five curves cross one another: first GroupMatch, or where
    that is chosen TextScore; in a panel."""
    names = {METRICS[name].label: name for name in _apart(study, metric) if name != metric}
    if not names:
        return []
    usual = METRICS[TEXT_SCORE if metric == GROUP_MATCH else GROUP_MATCH].label
    with place.popover("Curves", key="alpha-curves"):
        picked = st.pills(
            f"Drawn beside {METRICS[metric].label}",
            list(names),
            selection_mode="multi",
            default=[usual] if usual in names else [],
            key=f"drawn-beside-{metric}",
        )
    return [name for label, name in names.items() if label in picked]


def _where_highest(study: AlphaStudy, metric: str) -> str:
    """`49.7 %, at α around 0.21`"""
    best = study.best(metric)
    return f"{_pct(best.value)} %, at {_alpha_at(_around_text(best.intervals))}"


def _alpha_at(where: str) -> str:
    return f"α {where}" if where.startswith("around") else f"α = {where}"


def _at_alpha(study: AlphaStudy, alpha: float, metric: str) -> str:
    """What the alpha of the slider does: `α = 1, on all 300 groups: 23 fixed, 61 broken; TextScore 29.7 % (95 %
    interval ...), chance 3.7 %, no ties.`; of alpha 0 that it removes nothing. In one line of a laptop: with a second
    one the figure below would jump while the slider moves.

    Without the value at alpha 0, which is another than that of the held-out halves above: two pairs of numbers for one
    effect stood three lines apart."""
    label, value = METRICS[metric].label, study.evaluation(alpha).metrics[metric]
    count = len(study.scores)
    whole = f"on all {count} groups" if count > 1 else "on this group"
    if not alpha and on_phone():  # the nearly equal number of the verdict is the one to read
        return "α = 0: no debiasing."
    if not alpha:
        # Of one alpha two values: here they meet.
        held = study.validated(metric).summary["zero"][0] if count > 1 else value.value
        other = " (above: on halves)" * (_pct(held) != _pct(value.value))
        return unbroken(f"α = 0, no debiasing, {whole}{other}: {label} {value}.")
    was, is_now = (study.evaluation(a).outcomes[metric].value for a in (0.0, alpha))
    words = ("better", "worse") if METRICS[metric].share else ("fixed", "broken")
    better, worse = (int(moved.sum()) for moved in (is_now > was, is_now < was))
    if alpha == study.best(metric)._written and _gains(study, metric):
        whole = f"tuned {whole.replace('all', 'these')}"  # “How sure is that?” says what follows from that
    changed = f"{better} {words[0]}, {worse} {words[1]}"
    return unbroken(f"α = {_short(alpha)}, {whole}: {changed}; {label} {value}.")


def _curve_at_zero(study: AlphaStudy, metric: str) -> tuple[str, bool]:
    """`At α = 0: 41.9 % held out (halves), 42.3 % on all groups.`, where the two differ, else ""; and whether the
    held-out value is above the tuned one, which without that sentence looks impossible."""
    if len(study.scores) < 2:
        return "", False
    held, value = study.validated(metric).summary, study.evaluation(0.0).metrics[metric].value
    if _pct(held["zero"][0]) == _pct(value):
        return "", False
    said = f"At α = 0: {_pct(held['zero'][0])} % held out (halves), {_pct(value)} % on all groups."
    return said, held["values"][0] > study.best(metric).value


def _drawn(study: AlphaStudy, metric: str, others: Sequence[str] = ()) -> tuple[str, str, str]:
    """What the figure's band, line, star and strip are, of those that it has; the chance level of the curves beside the
    chosen one, whose own stands above; and what can be pressed, for the tip beside it. others : these metrics."""
    data = _curve_data(study, metric)
    dotted = "; dotted: chance" * figures._chance_is_on_axis(data)  # else the figure has an arrow to it
    best = ""
    if figures._has_star(data):
        best = " Star and strip: the best α here."
    elif figures._has_strip(data):
        best = " Strip: the best α here."
    more = " “Curves” draws other metrics, too." * (len(data.y) > 1)
    press = f"Press the figure to move α; beside it, or near an end, for α = 0 or 1.{more}"
    levels = ", ".join(f"{METRICS[name].label} {_pct(study._chance(name))} %" for name in others)
    return f"Band: 95 % interval{dotted}.{best}", f"Chance of {levels}." if others else "", press


def _why_flat(study: AlphaStudy, drawn: Sequence[str]) -> str:
    """Why alpha leaves metrics of the figure as they are, whatever the prior; "" where it moves all that are drawn."""
    names = [name for name in drawn if not METRICS[name].alpha.moves(*study.shape)]
    if not names:
        return ""
    stay = "stays" if len(names) == 1 else "stay"
    said = f"{' and '.join(METRICS[name].label for name in names)} {stay} flat: α takes one number off a whole column"
    if names == [IMAGE_SCORE]:
        return f"{said}, whose images keep their order."
    return f"{said}, and every matching uses each column once."


def scenario_text(study: AlphaStudy) -> str:
    """Which of the two scenarios a set with false captions is, or that its groups cannot tell; of a prior that is the
    same for all captions of a group, that it changes nothing."""
    return _TIED if study._is_constant else _SCENARIOS[study.frequency.scenario]


def _controls(study: AlphaStudy, notes: DeltaGenerator) -> tuple[float, str, list[str]]:
    """The slider, what it gives, its shortcuts, the metric whose best interval is shown, and those drawn beside it, on
    a phone among the notes: the group comes first there."""
    names = study._movable
    movable = {METRICS[name].label: name for name in names}
    if st.query_params.get("metric", names[0]) not in {*movable, *names}:
        why = f"alpha moves {', '.join(movable)} on these groups"
        warn_without_effect({"metric": f"{why}, not “{st.query_params['metric'][:40]}”"})
    warn_number("alpha", "Alpha", 0, 1)  # above the row, which has no room for it
    asked = st.session_state.get("metric") or st.query_params.get("metric", "")
    start = _start(study, movable.get(asked, names[0]))
    digits = len(_alpha_text(st.session_state.get("alpha", start)).partition(".")[2])
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    with row:
        alpha = st.slider(  # its default is in no address, so that α = 0 is in one
            "Alpha", 0.0, 1.0, start, step=0.005, format=f"α = %.{digits}f", key="alpha", bind="query-params",
            label_visibility="collapsed",
        )  # fmt: skip
        says = st.container(key="alpha-says")  # on a laptop the style has it below the whole row
        buttons = st.container(horizontal=True, gap="small", width="content", key="alpha-shortcuts")
        # One block, so that no line ends between the word and its field.
        with st.container(
            horizontal=True, vertical_alignment="center", gap="small", width="content", key="alpha-metric"
        ):
            st.caption("Metric", width="content")
            metric = movable[
                st.selectbox(
                    "Metric",
                    list(movable),
                    key="metric",
                    bind="query-params",
                    label_visibility="collapsed",
                    width=150,
                )
            ]
    others = _pick_others(study, metric, notes if on_phone() else row)
    for name, value in _shortcuts(study, metric).items():
        buttons.button(f"α = {name}", on_click=_set_alpha, args=(value,), key=f"at-{name}")
    says.markdown(_at_alpha(study, alpha, metric))
    return alpha, metric, others


def _start(study: AlphaStudy, metric: str) -> float:
    """Where the slider opens: at the alpha that the figure and the matrices speak of, or at 0 where none gains. As long
    as nobody has moved it, it goes along with another set or metric; an address has the last word."""
    start = study.best(metric)._written if _gains(study, metric) else 0.0
    before = st.session_state.get(_START)
    unmoved = before is not None and st.session_state.get("alpha") == before
    if st.session_state.pop(_AT_BEST, None) == st.session_state.get("set") or unmoved:
        _set_alpha(start)
    st.session_state[_START] = start
    return start


def _short(alpha: float) -> str:
    """An alpha in a sentence or on a button: the ends without decimals."""
    return f"{alpha:g}" if alpha in (0, 1) else _alpha_text(alpha)


def _shortcuts(study: AlphaStudy, metric: str) -> dict[str, float]:
    """The alphas that have a button, the one where a metric is highest among them."""
    best = study.best(metric)._written
    highest = 0.0 if study.verdict(metric).gain.difference == 0 else best
    alphas = sorted({0.0, highest, 1.0})
    names = [*map(_short, alphas)]
    return {
        f"{name}, best here" if value == highest else name: value
        for name, value in zip(names, alphas, strict=True)
    }


def _why_harm(study: AlphaStudy, metric: str) -> str:
    """Where all of the prior removed harms, and clearly makes rare sentences win, that it does, as counts; else ""."""
    found = _common_and_rare(study, metric)
    if found is None or _leans(found[1][1], found[1][0]) < 1:
        return ""
    (wrong, rare), (wrong_all, rare_all) = found
    before = f", against {rare} of {wrong} at α = 0" if wrong else ""
    return (
        f"**Why does all of it harm?** It makes rare sentences win. At α = 1 a false caption is ahead of an image’s "
        f"own or level with it {counted(wrong_all, 'time')}; {rare_all} of these are less likely as text than the true "
        f"one{before}."
    )


def _which_sentences_win(study: AlphaStudy, metric: str) -> str:
    """Where all of the prior removed harms, whether the false captions that win at both ends of the slider are commoner
    or rarer than the true ones, in a sentence that is in sight; that there is a pattern only where luck hardly explains
    the count. Of captions as common as the true ones nothing is counted."""
    found = _common_and_rare(study, metric)
    if found is None:
        return ""
    said: list[str] = []
    for alpha, (wrong, rare) in enumerate(found):
        if not wrong:
            continue
        lean = _leans(rare, wrong)
        count, which = (wrong - rare, "commoner one") if lean < 0 else (rare, "rarer one")
        of = f"{wrong} the" if said else f"{counted(wrong, 'error')} the false caption is the"
        said.append(f"α = {alpha}: in {count} of {of} {which}{'' if lean else ', no clear pattern'}")
    return f"{'; '.join(said)}." if said else ""


def _common_and_rare(study: AlphaStudy, metric: str) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """`_rare_choices` at alpha 0 and 1 where all of the prior removed harms; else None."""
    if _harm(study, metric) is None or study.truth.shape[1] != study.shape[0]:
        return None
    return _rare_choices(study, 0.0), _rare_choices(study, 1.0)


def _rare_choices(study: AlphaStudy, alpha: float) -> tuple[int, int]:
    """For how many images a false caption scores at least as high as the true one, and for how many of these the
    highest false caption is less likely as text than the true one. Captions that are equally likely are left out."""
    scores, prior = study.scores - alpha * study.prior[:, None], study.prior
    own = np.take_along_axis(scores, study.truth[..., None], 2)[..., 0]
    others = scores.copy()
    np.put_along_axis(others, study.truth[..., None], -np.inf, 2)
    wrong = others.max(2) >= own
    false, true = (np.take_along_axis(prior, each, 1) for each in (others.argmax(2), study.truth))
    return int((wrong & (false != true)).sum()), int((wrong & (false < true)).sum())


def _tuned_text(study: AlphaStudy, metric: str) -> str:
    """What the best alpha gains on the very groups that it was chosen on, or that none gains anything."""
    best, label, gain = study.best(metric), METRICS[metric].label, study.verdict(metric).gain
    zero, most = (study.evaluation(alpha).metrics[metric].value for alpha in (0.0, best._written))
    if gain.difference == 0:
        also = [span for span in best.intervals.tolist() if span[0] > 0]
        same = f"; as much at {_alpha_at(_around_text(also, most=2))}" if also else ""
        lost = f"; α = 1 changes it by {_interval(change)}" if (change := _harm(study, metric)) else ""
        none = f"No alpha of 0 to 1 gives more {label} than α = 0 on all groups, {_pct(zero)} %"
        return f"{none}{same} ({TUNED_ON_TEST}){lost}."
    rise = f"{_pct(zero)} → {_pct(most)} % at α = {_alpha_text(best._written)}, {_interval(gain)}"
    lost = (
        f" All of the prior removed, α = 1: {_interval(change)}." if (change := _harm(study, metric)) else ""
    )
    chosen = "This α was chosen on the same groups: too high to quote."
    return f"{TUNED_ON_TEST.capitalize()}: {rise}. {chosen}{lost}"


def _interval(change: Comparison) -> str:
    """`+7.3 points (95 % interval by caption +2.9 to +11.6)`"""
    tested, by = (
        (change, "") if change.clustered is None else (change.clustered, f" by {change.clustered.by}")
    )
    ends = _signed_range(tested.low, tested.high)
    moved = f", {way} by the exact test" if (way := _moved_end(tested)) else ""
    return true_minus(f"{_signed(change.difference)} points (95 % interval{by} {ends}{moved})")


def _why_only_probably(study: AlphaStudy, metric: str) -> str:
    """How a verdict that is not proven and a small p go together, in a sentence; "" of other verdicts."""
    found = study.verdict(metric)
    if not found.probably:
        return ""
    luck = f"luck hardly explains the gain ({_p_said(found.sign_p)}), but the test that says so knows only the kinds "
    stricter = "of groups that were drawn. A stricter one, which allows for other kinds,"
    if _cannot_decide(study, metric):
        return f"**Why only probably?** L{luck[1:]}{stricter} cannot decide with these groups."
    return f"**Probably, but not proven:** {luck}{stricter} does not prove it."


def _why_not_clear(study: AlphaStudy, metric: str) -> str:
    """Why a gain on enough groups for a verdict is not called one, in a sentence; "" of other verdicts."""
    found = study.verdict(metric)
    if found.helps or found.probably or found.too_few or not _gains(study, metric):
        return ""
    least = (found.gain.clustered or found.gain).detectable
    unseen = "" if least is None else (
        f" With {len(study.scores)} groups a gain below {_pct(least)} points mostly goes unnoticed."
    )  # fmt: skip
    return f"**Why not clear?** {_luck(study, metric)[:-1]} ({_p_said(found.sign_p)}).{unseen}"


def _how_sure(study: AlphaStudy, metric: str) -> str:
    """Of a gain what was tested, what the test finds and how far that goes. Markdown; "" where there is no gain, or too
    few groups to test one."""
    found = study.verdict(metric)
    if found.too_few or not _gains(study, metric):
        return ""
    by = found.gain.clustered
    counted_as = "" if by is None else f" Groups that share their {by.by} count as one."
    several = f" p is corrected for the {len(study.gains)} metrics tested." if len(study.gains) > 1 else ""
    asked = (
        "**Is it luck?** Without a gain a group gets better or worse as a coin falls. The test throws a coin for every "
        "group that α changes, and again takes the best of all alphas. p is how often luck gains as much: "
        f"{_p_said(found.sign_p)}.{counted_as}{several}"
    )
    return "\n\n".join(filter(None, (f"{asked} **{_luck(study, metric)}**", _stricter(study, metric))))


def _luck(study: AlphaStudy, metric: str) -> str:
    """What the test with coins finds, in a sentence, together with the interval."""
    found = study.verdict(metric)
    if found.sign_p > 0.05:
        return f"Luck may explain the {_gain_or_change(study, metric)}."
    low = (found.gain.clustered or found.gain).low
    if low > 0:
        return "Luck hardly explains the gain."
    return f"The interval reaches 0: luck may explain the {_gain_or_change(study, metric)}."


def _gain_or_change(study: AlphaStudy, metric: str) -> str:
    """What the verdict's held-out values are: beside 86.0 → 85.4 % no gain is seen."""
    return "gain" if len(study.scores) < 2 or study.validated(metric)._gain[0] > 0 else "change"


def _stricter(study: AlphaStudy, metric: str) -> str:
    """What a test says that trusts no coin; "" where it is the same test, or the first one has found nothing. Where it
    would rarely find a gain that is there, its p tells nothing, and is not shown."""
    found = study.verdict(metric)
    if found.p_any == found.signs or not (found.helps or found.probably):
        return ""
    worst = f"at worst {found.largest} groups at once" if found.largest > 1 else "at worst a whole group"
    doubt = (
        "The test with coins knows only the kinds of groups that were drawn. A rare kind, of which none was drawn, "
        f"might get much worse with α ({worst}). A stricter test allows for that"
    )
    if found.helps:
        return f"**Even then?** {doubt}, and does not find luck either: {_p_said(found.p_value)}."
    often = study._strict_power(metric)
    drawn = f"{_SETS} sets of this size that are drawn from these groups and gain as much"
    finds = f"Of {drawn}, it proves {_SETS * often:.0f}"
    here = f"Here it does not: {_p_said(found.p_value)}."
    title = "Why not proven?"
    if _cannot_decide(study, metric):
        title = "Why can it not decide?"
        here = "So it could hardly prove this gain, and that it does not says little. More groups would tell."
    return f"**{title}** {doubt}. {finds}. {here}"


def _spreads(study: AlphaStudy) -> tuple[float, float]:
    """By how much on average the captions of a group differ in log P(t), and in an image's scores."""
    texts, scores = (float(np.ptp(each, axis=-1).mean()) for each in (study.prior, study.scores))
    return texts, scores


def _little_prior(study: AlphaStudy, metric: str) -> tuple[float, float] | None:
    """Of groups on which alpha is not known to help, because their captions hardly differ as texts: by how much they
    differ on average in log P(t), and in an image's scores; else None."""
    found = study.verdict(metric)
    if found.helps or found.probably or found.too_few or study.frequency.tied:
        return None
    texts, scores = _spreads(study)
    return (texts, scores) if texts < _LITTLE * scores else None


_MEAN_OR_SUM = "Is one of log P(t) and the scores a mean over tokens, the other a sum?"
_OTHER_SCALE = (
    "log P(t) differs little beside the scores, and more than α = 1 may help: is one a mean over tokens, the other "
    "a sum?"
)


def _scales_differ(study: AlphaStudy, metric: str) -> bool:
    """Whether somebody's own log P(t) may have another scale than the scores: the best alpha reaches 1. Of a built-in
    captioner both are means."""
    best = study.best(metric)
    return "above 1" in _edge_text(best.value, best.intervals) and not _is_of_a_built_in_set()


def _why_no_gain(study: AlphaStudy, metric: str) -> str:
    """Of groups on which alpha is not known to help, in a sentence why; and wherever somebody's own prior is so large
    beside the scores that its unit may be another one, the question. "" where nothing tells."""
    texts, scores = _spreads(study)
    if texts > _LARGE * scores > 0 and not _is_of_a_built_in_set():
        return f"log P(t) differs {texts / scores:.0f} times as much within a group as the scores. {_MEAN_OR_SUM}"
    if _gain_here(study, metric):
        return ""
    if study._is_constant:
        return _TIED.replace("**", "")
    if _little_prior(study, metric):
        if _scales_differ(study, metric):
            return f"Why: {_OTHER_SCALE}"
        return "Why: as text, the captions of a group are about equally likely: little language prior to take out."
    likelier = study.frequency.likelier
    if likelier is None or study.verdict(metric).too_few:
        return ""
    if study.frequency.scenario == 1:
        return "Why: as text, the true captions are likelier than the false ones: alpha takes that help away."
    if likelier.low <= 50 <= likelier.high:
        return "Why: as text, false captions are as often the likelier ones as true captions: the prior takes no side."
    return ""


_PROVEN = (
    "On triples it probably helps; on relations-1x4 it is proven to help, with log P(t) from training images."
)


def _offer_gain() -> None:
    """Where alpha is not known to help: the way to a set and a captioner with which it probably does, at the alpha that
    is best there. The slider's own would show what it loses there."""
    if st.session_state.get("set") == FIRST_SET:
        return
    label = f"Where it probably helps: {FIRST_SET.rpartition('/')[2]}"
    if st.button(label, icon=":material/arrow_forward:", key="where-alpha-helps", help=_PROVEN):
        st.session_state[_AT_BEST] = FIRST_SET
        switch_page(PAGE, {"set": FIRST_SET, "model": CAPTIONER, "alpha": 0.0})


def _is_only_way(here: float) -> bool:
    """Whether `_offer_gain` offers nothing beside the way to retrieval. here : what alpha gains on these groups."""
    return bool(here) or st.session_state.get("set") == FIRST_SET


def _is_of_a_built_in_set() -> bool:
    """Whether the groups and their scores are of the product's own, not of somebody's file or benchmark: what another
    built-in set gains says nothing about those."""
    return not _is_of_a_file() and datasets.state(st.session_state.get("set", "")) == "built in"


def _is_of_a_file() -> bool:
    """Whether the groups or their scores are of a file of somebody's own."""
    return any(is_upload(st.session_state.get(key, "")) for key in ("set", "model"))


def _offer_retrieval(here: float) -> None:
    """The way to where alpha gains much. here : what it gains in points on these groups, 0 where it is not known to
    help; where that is as much, there is no better place to show."""
    stored = shipped_retrieval()
    if stored is None:
        return
    gain = stored["from_validation"]["gain"]["difference"]
    if here >= gain:
        return
    # for which there is no room beside `_offer_gain`
    unit = " of R@1 (first caption right)" * _is_only_way(here)
    label = f"Where alpha helps{' more' * bool(here)}: all captions, {_signed(gain)} points{unit}"
    page_button(
        label,
        PAGE,
        {"view": RETRIEVAL},
        icon=":material/arrow_forward:",
        type="tertiary",
        key=f"alpha-retrieves{'-more' * bool(here)}",
    )


def _why_so_little(texts: float, scores: float, is_other_scale: bool) -> None:
    """Why alpha gains little on these groups."""
    if is_other_scale:
        st.caption(
            f"**Why so little?** Within a group {texts:.2f} of log P(t) on average, where an image's scores differ by "
            f"{scores:.2f}: {_OTHER_SCALE}"
        )
        return
    st.caption(
        "**Why so little?** As texts, the captions of a group are about equally likely. Alpha removes what makes one "
        f"likelier than another, here {texts:.2f} of log P(t) on average, where an image's scores differ by "
        f"{scores:.2f}. Texts differ more where an image chooses among all captions of a set."
    )


def _power_text(study: AlphaStudy, metric: str) -> str:
    """How large a gain must be for these groups to show it, or what their verdict rests on."""
    found = study.verdict(metric)
    least = (found.gain.clustered or found.gain).detectable
    if found.too_few:
        return f"{found.says[0].upper()}{found.says[1:]}."
    return (
        ""
        if least is None
        else f"On these groups a gain below {_pct(least)} points would mostly go unnoticed."
    )


def _cards(study: AlphaStudy, alpha: float, metric: str) -> None:
    """Every metric at alpha, and its change from alpha = 0."""
    now, before = study.evaluation(alpha).metrics, study.evaluation(0.0).metrics
    names = _apart(study, metric)
    grid = metric_grid(len(names))
    for name in names:
        estimate = now[name]
        difference = _change_in_points(before[name].value, estimate.value)
        with grid.cell():
            moved = true_minus(f"{_signed(difference)} against α = 0") if alpha else "at α = 0"
            change = moved if study.depends(name) else "the same at every α"
            metric_card(name, estimate, change=change)
    if note := rounding_note((before[name].value, now[name].value) for name in names):
        st.caption(note)
    if len(names) < len(now):
        *labels, last = (METRICS[name].label for name in now)
        st.caption(
            f"With one image, {', '.join(labels)} and {last} are one: its true caption scores strictly highest."
        )


def _one_group(
    inputs: DebiasInputs, groups: GroupSet, alpha: float, metric: str, place: DeltaGenerator
) -> int:
    """The shown group, at alpha 0 and at alpha, its matrices in a place beside the figure; returns its index."""
    study = inputs.study
    at_zero, gains, alpha = not alpha, _gains(study, metric), _changing_alpha(study, alpha, metric)
    notes = [_instead_of_zero(alpha, metric, gains)] if at_zero else []
    index, why = _shown_group(study, (groups.title, inputs.model), alpha, metric)
    group = groups[index]
    keep_in_view(groups, group.id)
    line = " ".join(filter(None, [f"{group_line(group.id, list(study.ids))}.", escape_markdown(why), *notes]))
    if not on_phone():
        st.caption(line)
    before, after = shown = [study.evaluation(value).group(index) for value in (0.0, alpha)]
    st.html(f'<details class="cm-fold"><summary>{_FOLDED}</summary></details>')  # on a phone; see the style
    with st.container(key="alpha-drawings"):
        _draw_before_and_after(study, group, index, alpha, metric, shown)
    with place:
        at = f"the slider's α = {_alpha_text(alpha)}"
        if at_zero:
            at = f"the best α = {_alpha_text(alpha)}" if gains else "at α = 1 (all of the prior removed)"
        beside = f"**{escape_markdown(group_title(group.id))}** at α = 0 and {at}"
        pictures = strip(group)
        if not on_phone():  # which has `line`; on a laptop the style hides it where pictures stand
            st.container(key="alpha-beside").caption(beside)
        if pictures:
            st.container(key="alpha-strip").html(_beside_captions(group, pictures))
        if on_phone():
            st.caption(line)
        names = _apart(study, metric)
        ends, widths = zip((0.0, alpha), shown, strict=True), _widths(shown, alpha)
        st.html("".join(_matrix(group, data.beside(shown), at, names, widths) for at, data in ends))
        what = f"α = {_short(alpha)}" if at_zero else "α"  # which is not the slider's then
        st.markdown(_turned_short(before, after, what))
        if not pictures and has_captions(group):  # else what 1 and 2 are stood a screen below
            st.container(key="alpha-captions").html(file_card(group))
        if on_phone():  # a laptop has it in sight below the drawings, which it would push down
            shades_bar(_signs_said(shown))
        _offer_changed(study, alpha, metric, index)
    return index


def _beside_captions(group: Group, pictures: str) -> str:
    """The strip of a phone as a laptop has it, too: once above both matrices, whose columns are numbers alone, its
    pictures beside the captions. Of larger groups it would push the matrices off the screen."""
    size = _PICTURES.get(len(group.images))
    if size is None or len(group.captions) > _MOST_CAPTIONS:
        return pictures
    return f'<div class="cm-pictured" style="--picture: {size}px">{pictures}</div>'


def _offer_changed(study: AlphaStudy, alpha: float, metric: str, index: int) -> None:
    """Beside a group in which alpha turns nothing, the way to the next one that it fixes or breaks."""
    before, after = (study.evaluation(value).group(index) for value in (0.0, alpha))
    if [lead.split()[0] for lead in _leads(before)] != [lead.split()[0] for lead in _leads(after)]:
        return
    changed = np.flatnonzero(np.logical_or(*study.flips(alpha, metric)))
    if not len(changed):
        st.caption(f"No group changes at α = {_alpha_text(alpha)}, by {METRICS[metric].label}.")
    elif index not in changed:
        following = study.ids[
            changed[np.searchsorted(changed, index) % len(changed)]
        ]  # after the last the first
        label = f"Next group that changes ({len(changed)} of {len(study.ids)})"
        st.button(
            label, on_click=open_group, args=(following,), icon=":material/arrow_forward:", type="tertiary",
            key="next-changed",
        )  # fmt: skip


def _draw_before_and_after(
    study: AlphaStudy, group: Group, index: int, alpha: float, metric: str, shown: Sequence[GroupData]
) -> None:
    """Both drawings of a group, which scores decide, and its log P(t)."""
    for column, value, data in zip(st.columns(2, gap="large"), (0.0, alpha), shown, strict=True):
        with column:
            st.markdown(f"### α = {_alpha_text(value)}")
            draw_group(group, data, metric=metric)
    st.caption(_lines_said(shown, metric))
    before, after = shown
    st.markdown(_turned(before.beside(shown), after.beside(shown), alpha))
    values = (f"caption {j + 1}: {p:.4f}" for j, p in enumerate(study.prior[index]))
    prior = true_minus(" · ".join(values))
    signs = "" if on_phone() else f"{_signs_said(shown)} "
    shades_bar(
        f"{signs}log P(t) of this group's captions: {prior}. Alpha subtracts the same number from a whole column."
    )


def _signs_said(shown: Sequence[GroupData]) -> str:
    """What the signs of both matrices are. Of a tie in both that there is no matching; alpha may break one."""
    data = next((each for each in shown if each.matching is not None), shown[0])
    return (
        f"{group_html._matching_key(data)} ✓: the true pairs. Underlined: each image's highest score, on which "
        "TextScore depends."
    )


def _lines_said(shown: Sequence[GroupData], metric: str) -> str:
    """What the lines of both drawings are; of ties, where either has some."""
    return max((group_html._judged_said(data, metric) for data in shown), key=len)


def _widths(shown: Sequence[GroupData], alpha: float) -> str:
    """Style of the columns of these matrices, of which the second is at alpha: as wide as their longest alpha and, with
    the signs of its pair, their longest score, so that they line up."""
    pairs = [each.beside(shown) for each in shown]
    longest = max(len(f"{score:z.{data.digits}f}") for data in pairs for score in data.scores.ravel())
    return f"--corner: {len(_corner(alpha))}ch; --cell: {longest + 4}ch"


def _corner(alpha: float) -> str:
    """What stands in the empty corner of a matrix."""
    return f"α = {_alpha_text(alpha)}"


def _matrix(group: Group, data: GroupData, alpha: float, names: Sequence[str], widths: str) -> str:
    """The scores of the shown group at alpha, its images small beside their letters where the screen has no larger ones
    above; and its verdict by each metric of `names`. widths : `_widths` of this matrix and the other."""
    title, corner = f"Debiased log scores at alpha {_alpha_text(alpha)}", _corner(alpha)
    seen: dict[str, Any] = {"pictures": row_pictures(group), "captions": group.captions}
    table = group_html.matrix_html(data, title, row_highest=True, corner=corner, **seen)
    verdicts = "".join(
        f'<li>{group_html._named_mark(data, name)}<span class="cm-hidden"> {data._told(name)}</span></li>'
        for name in names
    )
    wide = " cm-is-wide" * (len(group.captions) > 3)  # its verdicts stand below it
    return f'<div class="cm-at-alpha{wide}" style="{widths}">{table}<ul>{verdicts}</ul></div>'


def _turned_short(before: GroupData, after: GroupData, what: str = "α") -> str:
    """`What α turns: The true caption of image B was behind another and is now ahead of all.`"""
    places = {"behind": "behind another", "level": "level with another", "ahead": "ahead of all"}
    ends = ([lead.split()[0] for lead in _leads(data)] for data in (before, after))
    turned: dict[tuple[str, str], list[str]] = {}
    for (i, _), was, now in zip(before.truth_pairs, *ends, strict=True):
        if was != now:
            turned.setdefault((was, now), []).append(group_html.image_name(i))
    said = [_turned_alike(images, places[was], places[now]) for (was, now), images in turned.items()]
    return f"**What {what} turns:** {' '.join(said) or 'Nothing changes in this group.'}"


def _turned_alike(images: Sequence[str], was: str, now: str) -> str:
    """A sentence of the images whose own captions were and are now in the same place."""
    if len(images) == 1:
        return f"The true caption of image {images[0]} was {was} and is now {now}."
    return (
        f"The true captions of images {', '.join(images[:-1])} and {images[-1]} were {was} and are now {now}."
    )


def _turned(before: GroupData, after: GroupData, alpha: float) -> str:
    """Which images' own captions get ahead of all others, or fall behind, with the scores that are compared."""
    lines = [
        f"Image {group_html.image_name(i)}: its own caption {j + 1} is {was}; at α = {_alpha_text(alpha)} it is {now}."
        for (i, j), was, now in zip(before.truth_pairs, _leads(before), _leads(after), strict=True)
        if was.split()[0] != now.split()[0]
    ]
    said = " ".join(lines) or "nothing; no image's own caption gets ahead of the others or falls behind them."
    return true_minus(f"**What α turns in this group:** {said}")


def _leads(data: GroupData) -> list[str]:
    """Of each true pair how its score stands to that of the best false caption of its image, both as they are shown:
    `behind caption 2, -1.97 < -1.94`, `ahead of all others, the closest is caption 2, -1.80 > -1.94`."""
    others, found = data.scores.copy(), []
    # “Behind caption 2, ahead of caption 3” were two rivals in a sentence.
    is_one_of_many = data.scores.shape[1] > 2
    others[tuple(zip(*data.truth_pairs, strict=True))] = -np.inf
    for i, j in data.truth_pairs:
        rival = int(others[i].argmax())
        how, sign = _ORDERS[int(np.sign(data.scores[i, j] - others[i, rival]))]
        own, other = (f"{score:z.{data.digits}f}" for score in (data.scores[i, j], others[i, rival]))
        whom = f"{how} caption {rival + 1}"
        if sign == ">" and is_one_of_many:
            whom = f"{how} all others, the closest is caption {rival + 1}"
        found.append(f"{whom}, {own} {sign} {other}")
    return found


def _shown_group(study: AlphaStudy, shown: tuple[str, str], alpha: float, metric: str) -> tuple[int, str]:
    """The buttons of groups that alpha changes and the field of all, in a row; which is shown, and why where nobody
    chose one. shown : the set and the model."""
    flips, ids = study.flips(alpha, metric), list(study.ids)
    warn_unknown_group(ids)
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key="in-place"
    ):  # see ui.history
        st.header("One group, before and after", anchor=False, width="content")
        for label, mask in (("fixes", flips.fixed), ("breaks", flips.broken)):
            flipped = [ids[i] for i in _clearest_first(study, alpha, mask, label)]
            st.button(
                f"one that α {label} ({len(flipped)})",
                on_click=lambda flipped=flipped: open_group(_following(flipped)),
                disabled=not flipped,
                key=f"flip-{label}",
            )
        field = st.container(width="content") if not on_phone() else None
    # On a phone below the group, whose pictures began a screen and a half down.
    with field or st.container(key="group-field"):
        chosen = pick_group(ids, warn=False, label_visibility="collapsed", width=340)
    if chosen is None:
        return _kept_group(study, shown, alpha, metric)
    index = ids.index(chosen)
    return (
        index,
        f"α = {_alpha_text(alpha)} {_done_to(study, index, alpha, metric)}, by {METRICS[metric].label}.",
    )


def _clearest_first(study: AlphaStudy, alpha: float, mask: np.ndarray, verb: str) -> list[int]:
    """The groups of a mask, which alpha fixes or breaks, first the one with the largest lead at alpha of own captions
    over others, or of others over own ones; those with the same lead by name. Which came first was luck: one turned by
    0.0006."""
    scores = study.scores - alpha * study.prior[:, None]
    # A caption per image, or of a single image all that are true of it.
    truth = study.truth[:, None] if study.shape[0] == 1 else study.truth[..., None]
    own = np.take_along_axis(scores, truth, 2).max(2)
    np.put_along_axis(scores, truth, -np.inf, 2)
    lead = own - scores.max(2)
    # All images of a group have to be right: of each group its weakest.
    weakest = lead.min(1).round(9) * (-1 if verb == "breaks" else 1)
    return sorted(map(int, np.flatnonzero(mask)), key=lambda i: (-weakest[i], study.ids[i]))


def _following(flipped: Sequence[str]) -> str:
    """The first of these groups, or where one of them is open the one after it."""
    group = st.session_state.get("group")
    return flipped[(flipped.index(group) + 1) % len(flipped)] if group in flipped else flipped[0]


def _kept_group(study: AlphaStudy, shown: tuple[str, str], alpha: float, metric: str) -> tuple[int, str]:
    """`_first_group`, and from then on the same one while alpha moves, to either end, so that the alpha is seen that
    turns it. shown : the set and the model."""
    kept = st.session_state.get(_KEPT)
    if kept is None or kept[:2] != (shown, metric) or kept[2] not in study.ids:
        index, why = _first_group(study, alpha, metric)
        st.session_state[_KEPT] = (shown, metric, study.ids[index])
        return index, why
    index = list(study.ids).index(kept[2])
    does = _done_to(study, index, alpha, metric, it="")
    return index, f"Shown: a group that α = {_alpha_text(alpha)} {does}, by {METRICS[metric].label}."


def _done_to(study: AlphaStudy, index: int, alpha: float, metric: str, it: str = " it") -> str:
    """`breaks it`: what alpha does to a group. it : that group, where no word before stands for it."""
    flips = study.flips(alpha, metric)
    if flips.fixed[index] or flips.broken[index]:
        return f"{'fixes' if flips.fixed[index] else 'breaks'}{it}"
    return f"leaves{it} as it is"


def _first_group(study: AlphaStudy, alpha: float, metric: str) -> tuple[int, str]:
    """The group that is shown before one is chosen, and why: one that this alpha fixes or breaks, whichever it does
    more often, else the first; where it does both as often, one that it fixes where any alpha gains, so that the
    example is one of what the headline says. Where the alpha beside 0 changes some of them in the same way, one of
    these: so it stays while the slider moves."""
    beside, now = (study.flips(each, metric) for each in (_changing_alpha(study, 0.0, metric), alpha))
    label = METRICS[metric].label
    changed = [("fixes", now.fixed, beside.fixed), ("breaks", now.broken, beside.broken)]
    more = int(now.fixed.sum()) - int(now.broken.sum())
    is_gain = more > 0 or (more == 0 and _gains(study, metric))
    for verb, mask, steady in changed if is_gain else changed[::-1]:
        if mask.any():
            kept = mask & steady if (mask & steady).any() else mask
            clearest = _clearest_first(study, alpha, kept, verb)[0]
            return clearest, f"Shown: a group that α = {_alpha_text(alpha)} {verb}, by {label}."
    return 0, f"Shown: the first group. No group changes at α = {_alpha_text(alpha)}, by {label}."


def _changing_alpha(study: AlphaStudy, alpha: float, metric: str) -> float:
    """What α = 0 is compared with: alpha, or where it is 0 the best one, or 1 where none has more than 0."""
    return alpha or (study.best(metric)._written if _gains(study, metric) else 1.0)


def _gains(study: AlphaStudy, metric: str) -> bool:
    """Whether any alpha has more of a metric than alpha 0, on the very groups that it is chosen on."""
    return study.verdict(metric).gain.difference > 0


def _instead_of_zero(alpha: float, metric: str, gains: bool) -> str:
    """Where the alpha comes from that is compared with 0 while the slider is at 0."""
    label = METRICS[metric].label
    if not gains:
        return f"No α gives more {label} than α = 0; beside it: α = 1."
    return f"Beside α = 0 stands α = {_alpha_text(alpha)}, which has the most {label} on all of these groups."


def _formula(study: AlphaStudy, alpha: float, index: int, reads: Sequence[str]) -> None:
    """What alpha does, first in plain words with the shown group, then for those who know mutual information, and which
    metrics it cannot change. reads : what the curve tells, where it stands nowhere else."""
    with st.expander("How alpha works"):
        st.markdown(f"A captioner {TWO_THINGS} Alpha takes it out, from none (0) to all of it (1).")
        # A file may have what its maker likes.
        of_what = f" {PER_TOKEN}" if _is_of_a_built_in_set() else ""
        st.markdown(unbroken(f"{_example(study.prior[index], alpha)}{of_what}"))
        if reads:
            st.markdown(_sentences(reads))
        st.markdown(f"{_PMI} Now: {pmi_text(alpha)}.")
        if study.shape[0] > 1:  # else alpha can change every metric
            _invariance(study, alpha, index)


def _example(prior: np.ndarray, alpha: float) -> str:
    """What alpha takes from the lead that the likeliest caption of a group has over the least likely as a sentence.
    prior : log P(t) of the group's captions, (k,)."""
    lead, (most, least) = float(np.ptp(prior)), (int(prior.argmax()), int(prior.argmin()))
    if not lead:
        return "**In the group shown:** its captions are all as likely as sentences, so alpha changes nothing in it."
    share = alpha or 1.0
    said = (
        f"**In the group shown:** as a sentence, caption {most + 1} is the likeliest (log P(t) = {prior[most]:.3f}) "
        f"and caption {least + 1} the least likely ({prior[least]:.3f}). That alone puts caption {most + 1} ahead by "
        f"{lead:.3f}, whatever the image shows. α = {_short(share)} takes {share * lead:.3f} of it away, on every image"
    )
    return true_minus(f"{said}{'' if alpha else '; α = 0 takes nothing'}.")


def _invariance(study: AlphaStudy, alpha: float, index: int) -> None:
    """Why some metrics do not change, with the numbers of the shown group."""
    m, k = study.shape
    st.markdown(
        "Alpha subtracts the same number from a whole column, so the images of one caption keep their order: "
        "**ImageScore never changes.**"
    )
    if m != k:
        st.markdown(
            f"GroupMatch does change here: with {m} images and {k} captions a matching leaves captions out, and "
            "which ones depends on alpha."
        )
        return
    lost = true_minus(f"{alpha * study.prior[index].sum():.3f}")
    st.markdown(
        f"On square groups every matching uses all {k} captions, so every total loses α · Σ log P(t), here "
        f"{lost}: **GroupMatch does not change either.** That holds for log scores only, not after exp()."
    )
    rows = study.matching_totals(index, alpha) if k <= 4 else []
    table = [
        {
            "matching": _pairs_said(row.matching),
            "total at α = 0": row.before,
            f"total at α = {_alpha_text(alpha)}": row.after,
            "difference": row.after - row.before,
        }
        for row in rows
    ]
    totals = pd.DataFrame(table).round(4)
    # The display alone: numbers stay numbers, to the right and sorted as such.
    shown = totals.style.format(lambda cell: cell if isinstance(cell, str) else true_minus(f"{cell:.4f}"))
    st.dataframe(shown, hide_index=True)


def protocol(inputs: DebiasInputs, groups: GroupSet) -> None:
    """The exact optimum and the validation protocol, side by side."""
    study = inputs.study
    record = _protocol_record(study)
    table = _protocol_table(record, _one_alpha(study), interval_text)
    if table.empty:  # of a prior that is the same for all captions of a group, which the verdict says
        return
    with st.expander("Tuned and validated: α = 0, 1, and chosen", key="alpha-protocol"):
        # No grid, of which by keyboard every cell is a stop.
        shown = table.set_index("metric").map(_whole_numbers)
        if on_phone():  # a table per metric: seven columns are twice its width
            for name in shown.index:
                st.table(shown.loc[[name]].T)
        else:
            st.table(shown)
        st.caption(f"Percent with {_intervals_named(study)}. {_PROTOCOL}")
        export_section(
            f"alpha-protocol-{inputs.name}",
            lambda: _protocol_numbers(record, _one_alpha(study)),
            latex=lambda: _protocol_latex(inputs, record),
            command=inputs.command,
            groups=groups,
            papers=("VGPT",),
            label="Export the table",
        )


def _one_alpha(study: AlphaStudy) -> float:
    """`study.alpha` as it is written."""
    return study.best(TEXT_SCORE)._written


def _protocol_record(study: AlphaStudy) -> dict[str, dict[str, Any]]:
    """What `study.record` has of the metrics, each best alpha as it is written."""

    def made() -> dict[str, dict[str, Any]]:
        metrics = study.record(_one_alpha(study))["metrics"]
        of_best = {name: row["best"] | {"alpha": study.best(name)._written} for name, row in metrics.items()}
        return {name: row | {"best": of_best[name]} for name, row in metrics.items()}

    return cached_on(study, "record", made)


_PROTOCOL = (
    "Alpha is chosen from 0 to 1. One α: the middle of the widest span with the most TextScore, for the whole table, "
    "as in the paper's; per row: each metric's own spans. An alpha chosen on the groups it is reported on is too "
    "optimistic; the paper's protocol chooses it on a random half and measures it on the other, ten times, in steps of "
    "0.001 (mean ± standard deviation, n − 1, over the ten, which is no interval; ties are not counted, as each has an "
    "α of its own)."
)


def _protocol_table(
    record: Mapping[str, Any], alpha: float, cell: Callable[[Mapping[str, Any]], str]
) -> pd.DataFrame:
    """Tuned beside held out, a row for each metric that alpha moves; cell : of a value with its interval."""
    rows = []
    for name, row in record.items():
        if not row["depends_on_alpha"]:
            continue
        best, held_out = row["best"], row["validated"]
        rows.append(
            {
                "metric": METRICS[name].label,
                "α = 0": cell(_to_quote(row["alpha_0"])),
                "α = 1": cell(_to_quote(row["alpha_1"])),
                f"one α = {_alpha_text(alpha)} ({TUNED_ON_TEST})": cell(_to_quote(row["one_alpha"])),
                f"best ({TUNED_PER_ROW})": f"{cell(_to_quote(best))} at {_spans_text(best['intervals'], most=2)}",
                "held out": f"{_spread(held_out['value'], 1)} at {_spread(held_out['alpha'], 2)}"
                if held_out
                else "–",
                "held out, α = 0": _spread(held_out["alpha_0"], 1) if held_out else "–",
                "chance": _pct(row["alpha_0"]["chance"]),
            }
        )
    return pd.DataFrame(rows)


def _to_quote(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """A value with the interval that the cards beside it quote: by cluster where groups hang together."""
    return {**record, **{end: record.get("clustered", record)[end] for end in ("low", "high")}}


def _intervals_named(study: AlphaStudy) -> str:
    """`95 % intervals by shared caption`"""
    return f"95 % intervals{'' if study.clusters is None else f' by shared {study.clusters.by}'}"


def _protocol_latex(inputs: DebiasInputs, record: Mapping[str, Any]) -> str:
    """The same table in LaTeX, and below it what it is of, how it is read, and its ties."""
    table = _protocol_table(record, _one_alpha(inputs.study), _bracketed)
    ends = ("alpha_0", "alpha_1", "one_alpha", "best")
    tied = [METRICS[name].label for name, row in record.items() if any(row[end]["ties"] for end in ends)]
    ties = f"Some groups tie by {', '.join(tied)}, which counts as wrong." if tied else "No group ties."
    dash = " –: too few groups for two halves." if "–" in set(table["held out"]) else ""
    return text_table_latex(
        table,
        [f"{inputs.title}. Percent; brackets: {_intervals_named(inputs.study)}.{dash} {ties}", _PROTOCOL],
    )


def _bracketed(record: Mapping[str, Any]) -> str:
    return f"{_pct(record['value'], 2)} [{_pct(record['low'], 2)}, {_pct(record['high'], 2)}]"


def _protocol_numbers(record: Mapping[str, Any], alpha: float) -> pd.DataFrame:
    """The same as numbers alone, for a file: every value with interval or deviation, and the alpha that it is at."""
    rows = []
    for name, row in record.items():
        if not row["depends_on_alpha"]:
            continue
        best, held_out = row["best"], row["validated"] or {}
        columns: dict[str, Any] = {"metric": METRICS[name].label}
        columns |= estimate_columns("alpha 0", row["alpha_0"]) | estimate_columns("alpha 1", row["alpha_1"])
        one, tuned = f"one alpha ({TUNED_ON_TEST})", f"best ({TUNED_PER_ROW})"
        columns |= {**estimate_columns(one, row["one_alpha"]), f"{one}: alpha": alpha}
        columns |= {**estimate_columns(tuned, best), f"{tuned}: alpha": best["alpha"]}
        columns |= {f"{tuned}: alpha {end}": best[f"alpha_{end}"] for end in ("low", "high")}
        columns |= _spread_columns("held out", held_out.get("value"))
        columns |= _spread_columns("held out: alpha", held_out.get("alpha"))
        columns |= _spread_columns("held out, alpha 0", held_out.get("alpha_0"))
        rows.append(columns)
    return _file_columns(pd.DataFrame(rows))


def _spread_columns(name: str, spread: Mapping[str, float] | None) -> dict[str, float | None]:
    found = spread or {}
    return {name: found.get("mean"), f"{name}: sd": found.get("std")}


def _whole_numbers(text: str) -> str:
    """A cell whose lines break between numbers alone, not within an interval or before a deviation."""
    joined = text.replace(" (", "\N{NO-BREAK SPACE}(").replace("–", "\N{WORD JOINER}–\N{WORD JOINER}")
    return joined.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")


def _spread(row: dict, digits: int) -> str:
    return f"{_pct(row['mean'], digits)} ± {_pct(row['std'], digits)}"
