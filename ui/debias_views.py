"""The other views of the page on language priors: the prior itself, the blind check, words, samples, training set."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

from core import figures as plots
from core.base import public_mode
from core.base.paths import assets
from core.base.text import _change_in_points, _pct, _signed, _signed_range
from core.datasets.paper_results import reference
from core.debiasing.blind import METRIC, blind_baseline
from core.debiasing.curves import _around_text, _span_text
from core.debiasing.priors import PRIORS
from core.debiasing.study import TUNED_ON_TEST, TUNED_PER_ROW, AlphaStudy, PriorStability
from core.exchange.layouts import latex_table
from core.figures import alpha, group_html
from core.figures.text import escape_markdown, metric_line
from core.figures.tokens import TokenView, _gain_text
from core.groups import GroupSet
from core.metrics.groups import IMAGE_TO_TEXT, METRICS, TEXT_SCORE, TEXT_TO_IMAGE, headline_metrics
from core.metrics.statistics import Clusters
from ui.debias import (
    CAPTIONER,
    PAGE,
    DebiasInputs,
    alpha_command,
    blind_models,
    open_group_in_view,
    shipped_retrieval,
    solved_blind,
    tokens,
)
from ui.debias_alpha import _alpha_at, _is_of_a_built_in_set, scenario_text
from ui.export import bars_note, chart, export_section, measured_name
from ui.formatting import exact_differences_once, interval_text, p_text, true_minus, unbroken, wide_table
from ui.images import image_tags
from ui.loaders import evaluate
from ui.selection import group_line, model_said, page_button, pick_group, set_state
from ui.uploads import PREFIX

if TYPE_CHECKING:
    from core.debiasing.study import _RatedCaption
    from ui.selection import Selection

_FEWEST_SAMPLES, _SAMPLES = 10, 30  # of a prior, to tell its sizes apart, and what its button samples


def prior_view(inputs: DebiasInputs, groups: GroupSet) -> None:
    """log P(t) of true and false captions, and which of the two cases this is."""
    likelihoods = inputs.study.frequency
    st.header("How likely the captions are as text", anchor=False)
    st.markdown(
        "A captioner favours the likeliest captions before it sees an image. Where those are no truer than the others, "
        "alpha takes that out."
    )
    figure = alpha.frequency_figure(alpha.frequency_data(likelihoods.true, likelihoods.false))
    named, drawn = st.columns(2, gap="large")
    with named:
        _extremes(inputs, groups)
    with drawn:
        chart(
            figure,
            "Histograms of log P(t) of true and of false captions; the text below says how they lie.",
            "prior-histogram",
        )
    if likelihoods.likelier is not None:
        st.markdown(
            f"Pairs of a true and a false caption, the true one being likelier as text: "
            f"{metric_line(likelihoods.likelier)}."
        )
        _scenarios(likelihoods.scenario, inputs.study)
    elif not inputs.study._is_constant:  # else that stands in place of the captions
        st.markdown(
            "**Here true and false captions are the same texts.** In a square group the false caption of one image is "
            "the true caption of another. Over all pairs, being common therefore does not help to tell a true caption "
            "from a false one. Within a group one caption can still be more common than another, and win for several "
            "images because of it: that is what alpha takes away."
        )
    export_section(
        f"language-prior-{inputs.name}",
        None,
        {"log P(t)": figure},
        command=inputs.command,
        papers=("VGPT",),
        title=inputs.title,
        note=f"log P(t): {inputs.prior.line}.",
    )


def _extremes(inputs: DebiasInputs, groups: GroupSet) -> None:
    """The captions that the prior favours most and least, as text; that it favours none where it is constant."""
    source = f"log P(t) from {escape_markdown(inputs.prior.line)}"
    if inputs.study._is_constant:
        st.info(scenario_text(inputs.study), icon=":material/balance:")
        st.caption(f"{source}.")
        return
    ends = inputs.study._extremes(inputs.prior.caption_index)
    m, k = inputs.study.shape
    names = Counter(groups[each.group].captions[each.place] for rated in ends for each in rated)
    rows = [
        {
            "as text": end if place == 0 else "",
            "caption": escape_markdown(_caption_text(groups, each, names)),
            "log P(t)": true_minus(f"{each.log_p:.3f}"),
            **({} if m == k else {"in its group": _in_its_group(each)}),
        }
        for end, rated in zip(("likeliest", "least likely"), ends, strict=True)
        for place, each in enumerate(rated)
    ]
    st.table(pd.DataFrame(rows).set_index("as text"))
    per_token = "" if inputs.prior.kind == "file" else ", per token"
    st.caption(f"{source}{per_token}: how likely a caption is without its picture. Near 0 is likely.")


def _caption_text(groups: GroupSet, rated: _RatedCaption, names: Mapping[str, int]) -> str:
    """A caption; of a file that only counts them, or names several alike, with its group. names : how often each
    name is in the table."""
    group = groups[rated.group]
    text, number = group.captions[rated.place], f"caption {rated.place + 1}"
    return f"{group.id}, {text}" if text == number or names[text] > 1 else text


def _in_its_group(rated: _RatedCaption) -> str:
    """`true`, `false`, or in how many groups it is which."""
    if rated.true and rated.false:
        return f"true in {rated.true}, false in {rated.false}"
    return "true" if rated.true else "false"


def _scenarios(scenario: int | None, study: AlphaStudy) -> None:
    """Both cases, this one marked, with the effect of alpha on this set."""
    zero, one = (float(study.curve(TEXT_SCORE).value(a)) for a in (0.0, 1.0))
    best = study.best(TEXT_SCORE)
    effect = (
        f"TextScore: {_pct(zero)} % at α = 0, {_pct(one)} % at α = 1, highest ({_pct(best.value)} %, "
        f"{TUNED_ON_TEST}) at {_alpha_at(_around_text(best.intervals))}.{_held_out_text(study)}"
    )
    texts = {
        1: "**Scenario 1, keep the prior (α near 0).** False captions read oddly, like shuffled words. A captioner "
        "gives such texts a low likelihood whatever the image, and is right to do so. Removing the prior "
        "discards that.",
        2: "**Scenario 2, remove the prior (α towards 1).** False captions read as well as true ones. Then how "
        "common a text is says nothing about the image, and the prior misleads the model.",
    }
    columns = st.columns(2, gap="large")
    for column, (number, text) in zip(columns, texts.items(), strict=True):
        with column.container(border=True):
            st.markdown(text)
            if number == scenario:
                st.success(f"This set. {effect}", icon=":material/check:")
    if scenario is None:
        st.info(f"{scenario_text(study)} {effect}", icon=":material/help:")


def _held_out_text(study: AlphaStudy) -> str:
    """What an alpha chosen on one half gives on the other; nothing for a single group."""
    if len(study.scores) < 2:
        return ""
    summary = study.validated(TEXT_SCORE).summary
    texts = {name: f"{_pct(mean)} ± {_pct(std)}" for name, (mean, std) in summary.items()}
    return (
        f" Chosen on one half (α = {summary['alphas'][0]:.2f} ± {summary['alphas'][1]:.2f}) it gives "
        f"{texts['values']} % "
        f"on the other, where α = 0 gives {texts['zero']} % (mean ± standard deviation, n − 1, over halvings; no "
        "interval)."
    )


# --- the blind check ---------------------------------------------------------------------------------------------


def blind_view(selection: Selection) -> None:
    """How far a text-only model gets, beside the selected model."""
    st.header("Can this benchmark be solved without the image?", anchor=False)
    models = blind_models()
    model = st.selectbox("Text-only model", models, key="blind", bind="query-params")
    if model is None:
        st.info("No text-only model is built in; train one with `crossmatch pretrain blind-lm`.")
        return
    blind = evaluate(selection, model)
    captions = [group.captions for group in selection.selected_groups]
    clusters = Clusters.joined(blind.clusters, Clusters.of_captions(captions))
    check = blind_baseline(blind.scores, blind.truth, clusters)
    show = {"solved": st.error, "partly": st.warning, "unclear": st.info, "tied": st.info}.get(
        check.verdict, st.success
    )
    show(escape_markdown(check.explain(model, selection.groups.shape)), icon=":material/visibility_off:")
    if check.verdict == "design" and _is_of_a_built_in_set():
        _offer_solved(model)
    rows = {model: check.metrics, model_said(selection.model): evaluate(selection).metrics}
    data = plots.bars_data(rows, (METRIC, TEXT_SCORE, *headline_metrics(check.metrics)))
    first = data.metrics.index(METRIC)
    values = "; ".join(
        f"{row}: {METRICS[METRIC].label} {_pct(data.value[first, i])} %" for i, row in enumerate(data.rows)
    )
    figure = plots.paired_bars_figure(data)
    chart(figure, f"Metrics of the text-only and of the selected model; {values}.", "blind-bars")
    st.caption(
        f"Percent. {bars_note(data.metrics, *rows.values())} With several images in a group a "
        "text-only model can only get single images right: every other comparison is a tie."
    )
    export_section(
        f"blind-{measured_name([selection.benchmark, model, selection.model])}",
        None,
        {"blind": figure},
        latex=lambda: latex_table(list(rows.items())),
        command=alpha_command(selection, "blind", model),
        groups=selection.groups,
        papers=("VGPT",),
        title=selection.description,
        note=bars_note(data.metrics, *rows.values()),
    )


def _offer_solved(model: str) -> None:
    """From a set that no text-only model can solve the way to one that this model solves, as its stored scores say."""
    solved = solved_blind(model)
    if solved:
        page_button(
            f"Where it can be solved: {solved[0].rpartition('/')[2]}",
            PAGE,
            {"set": solved[0], "view": "Without the image", "blind": model},
            icon=":material/arrow_forward:",
            key="where-solved-blind",
        )


# --- word by word ------------------------------------------------------------------------------------------------


def tokens_view(model: str, groups: GroupSet) -> None:
    """Each word's log P with and without the image."""
    st.header("What does the image add to each word?", anchor=False)
    st.markdown(
        "Blue words (▲) became likelier because of the image, orange ones (▼) less likely. A word near 0 is as likely "
        "without it: there the captioner only continues a sentence."
    )
    ids = list(groups.ids)
    open_group_in_view(groups)
    bar = st.container(horizontal=True, vertical_alignment="bottom")
    with bar:
        chosen = pick_group(ids, width=420)
    group = groups[ids.index(chosen) if chosen else 0]
    names = [group_html.image_name(i) for i in range(len(group.images))]
    shown = names[0]
    if len(names) > 1:
        if st.session_state.get("image") not in (None, *names):
            st.session_state["image"] = names[0]
        shown = bar.segmented_control(
            "Image that the words are scored with", names, default=names[0], key="image", required=True
        )
    left, right = st.columns([11, 10], gap="medium")
    with left:
        st.markdown(group_line(group.id, ids))
        pictures = st.grid(min(len(names), 3), min_column_width=150)
        for name, picture in zip(names, image_tags(group), strict=True):
            with pictures.cell():
                st.html(picture)
                st.markdown(f"**Image {name}**, scored" if name == shown else f"Image {name}")
    views = [tokens(model, group.images[names.index(shown)], caption) for caption in group.captions]
    with right:
        for j, (caption, view) in enumerate(zip(group.captions, views, strict=True)):
            st.markdown(f"**Caption {j + 1}**: {escape_markdown(caption)}")
            st.caption(
                true_minus(
                    f"log P(t | image {shown}) {view.seeing.mean():z.3f} · log P(t) {view.blind.mean():z.3f} · "
                    f"debiased at alpha 1: {_gain_text(view.gain.mean(), 3)}"
                )
            )
            st.html(view.html())
    st.caption(
        "▲ the image makes the word likelier, ▼ less likely, = neither; the number is the difference in log P, and "
        "below it log P with | without the image. The mean over a caption's tokens is log P(t | image) with it, and "
        "log P(t) without: the log of the mean over three noise images of the whole caption's probability, each token "
        "adding its part given the tokens before it. The mean of the differences is the debiased score at alpha 1."
    )
    if note := punctuation_note(views, model):
        st.caption(escape_markdown(note))


def punctuation_note(views: Sequence[TokenView], model: str) -> str:
    """What a large number at a comma or at the end says, with what the image adds there in these captions; "" where
    they have neither. model : of the built-in captioner it is known why: no caption that it learned from has a comma.
    """
    gains = np.concatenate([view.gain[view.punctuation] for view in views])
    if not gains.size:
        return ""
    learned = " (its training captions have no comma)" if model == CAPTIONER else ""
    return true_minus(
        "A comma or end far below zero with and without the image is unusual to the model whatever the picture"
        f"{learned}. The image adds {_gain_text(gains.min())} to {_gain_text(gains.max())}."
    )


# --- samples -----------------------------------------------------------------------------------------------------


def samples_view(inputs: DebiasInputs, groups: GroupSet) -> None:
    """How many images a prior needs: on the selected groups where it is sampled from enough images, and as shipped."""
    st.header("How many images does a prior need?", anchor=False)
    st.markdown(
        "P(t) is what a captioner gives a caption on average over images that do not show it, such as noise. From "
        "where TextScore and the best alpha stay within their bars, more images change little."
    )
    path = assets() / "results" / "alpha_stability.json"
    stored = json.loads(path.read_text()) if path.is_file() else None
    samples = inputs.prior.samples
    if samples is not None and len(samples) >= _FEWEST_SAMPLES:
        sizes = inputs.study.stability(samples, inputs.prior.caption_index)
        # Five draws of all images are one: a point without a bar read as if more images changed nothing.
        drawn = [each for each in sizes if each.size < len(samples)]
        left_out = f"; all {len(samples)} are one draw, which has no bar and no point" * (
            len(drawn) < len(sizes)
        )
        st.markdown(
            f"**{escape_markdown(_measured_on(inputs, groups))}**, measured now: TextScore at its best alpha "
            f"({TUNED_PER_ROW}). Prior: {escape_markdown(inputs.prior.line)}, five draws of each size (mean ± standard "
            f"deviation, n − 1){left_out}."
        )
        _draw_stability({_SAMPLED_FROM[inputs.prior.kind]: drawn}, "live", _measured_on(inputs, groups))
    elif stored is None or (inputs.model, groups.name) != (stored["model"], stored["benchmark"]):
        _offer_samples(inputs, groups, stored)
    if stored is not None:
        st.markdown(
            f"**{escape_markdown(' on '.join((stored['model'], stored['benchmark'])))}**, as shipped: TextScore at its "
            f"best alpha ({TUNED_PER_ROW}) with "
            f"priors from {stored['draws']} draws out of {stored['drawn_from']} images (mean ± standard "
            "deviation, n − 1)."
        )
        rows = {kind: [PriorStability(**row) for row in sizes] for kind, sizes in stored["rows"].items()}
        of_kinds = {_SAMPLED_FROM[kind]: sizes for kind, sizes in rows.items()}
        _draw_stability(of_kinds, "stored", f"{stored['model']} on {stored['benchmark']}")
    paper = reference("VGPT", "Table 6")
    with st.expander("The paper's numbers (Table 6, BLIP on Winoground)"):
        st.dataframe(paper[["method", "metric", "value", "std"]], hide_index=True)


def _measured_on(inputs: DebiasInputs, groups: GroupSet) -> str:
    """A captioner and a set, or the file that stands for both."""
    name = model_said(inputs.model).removeprefix(PREFIX)
    return name if inputs.model == groups.name else f"{name} on {groups.name}"


def _offer_samples(inputs: DebiasInputs, groups: GroupSet, stored: Mapping[str, Any] | None) -> None:
    """That this was not measured on the selected groups, what is shown instead, and the button that measures it."""
    shown = "" if stored is None else f"; shown: {stored['benchmark']}"
    line = f"Not measured for {_measured_on(inputs, groups)}{shown}."
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{escape_markdown(line)}**", width="content")
        if inputs.prior.kind == "file":
            st.caption(
                f"A prior file with {_FEWEST_SAMPLES} null images or more measures it: a table with columns "
                "log_prob_1, log_prob_2, … or an NPZ file with “samples” (docs/howto/priors.md).",
                width="content",
            )
        elif not public_mode.is_public():  # whose visitors sample fewer images than it needs
            kind = inputs.prior.kind if PRIORS[inputs.prior.kind].sampled else "gaussian"
            st.button(
                f"Measure it with {_SAMPLES} images",
                on_click=set_state,
                args=({"prior": kind, "samples": _SAMPLES},),
                icon=":material/play_arrow:",
            )


# The images of a prior, in a figure's legend.
_SAMPLED_FROM = {
    "gaussian": "Gaussian noise",
    "train": "training images",
    "test": "the set's own images",
    "file": "your null images",
}


def _draw_stability(rows: dict, key: str, measured_on: str) -> None:
    """Metric and alpha over the number of images, each below what it is measured on: the selection may be another."""
    left, right = st.columns(2, gap="large")
    for column, what in ((left, "value"), (right, "alpha")):
        with column:
            values = "; ".join(
                f"{name}: "
                + ", ".join(f"{row.size} images {getattr(row, what)[0]:.2f}" for row in stabilities)
                for name, stabilities in rows.items()
            )
            st.caption(escape_markdown(measured_on))
            chart(alpha.stability_figure(rows, what), values, f"stability-{key}-{what}")


# --- the training set --------------------------------------------------------------------------------------------


def trainset_view() -> None:
    """Appendix A: retrieval inside the built-in captioner's own training set."""
    st.header("On its own training set", anchor=False)
    path = assets() / "results" / "alpha_trainset.json"
    if not path.is_file():
        st.info(
            "Not measured yet: run `python -m benchmarks.results.alpha trainset`.",
            icon=":material/hourglass_empty:",
        )
        return
    stored = json.loads(path.read_text())
    data = alpha.trainset_data(stored["rows"])
    st.markdown(f"**{unbroken(_gain_in_training(stored['rows'][-1]))}**{exact_differences_once('bias')}")
    st.markdown(
        f"**{escape_markdown(stored['model'])}** retrieves captions for images that it was trained on, from sets of "
        "growing size. R@1 is the share of images whose first caption is right; a caption may be true of several "
        "images. Captions are then as common in the test as in training, so an unbiased model would need no debiasing: "
        "its best alpha would be 0."
    )
    about = f"{stored['model']}: captions of its own training images, R@1 from image to text"
    note = f"Stars: the best alpha of 0 to 1 ({TUNED_PER_ROW}). Sets of growing size."
    best = "; ".join(f"{size} pairs: best alpha {a:.3f}, {_pct(v)} %" for size, (a, v) in data.best.items())
    chart(alpha.trainset_figure(data), f"R@1 over alpha by size of the set. {best}.", "trainset-curve")
    table = _trainset_table(stored["rows"])
    wide_table(table)
    st.caption(
        f"Stars: the best alpha of 0 to 1 ({TUNED_PER_ROW}, step 0.001); span: where R@1 is as high. "
        f"{_doubtful_betas(stored['rows'])}From text to image alpha changes nothing: it "
        "subtracts the same from all images of a caption."
    )
    _bias_interpretation(stored["rows"])
    with st.expander("The paper's numbers (Table 5, BLIP on LAION)"):
        paper = reference("VGPT", "Table 5a")
        st.dataframe(paper[["subset", "method", "metric", "value"]], hide_index=True)
    drawn = {"trainset": alpha.trainset_figure(data)}
    name = f"training-set-{measured_name([stored['model']])}"
    export_section(name, table, drawn, papers=("VGPT",), title=about, note=note)


def _bias_interpretation(rows: list[dict]) -> None:
    """The biased-estimator reading, with these numbers."""
    last = rows[-1]
    beta = "" if last["beta"] is None else f" {_beta_said(last)}"
    st.markdown(
        "**The biased estimator.** The paper explains a best alpha above 0 on training data by a model "
        "that overrates common captions: its P(t | image) is the true one times P(t) to the power β. Then the best "
        "alpha is β / (1 + β), and β = α / (1 − α)." + beta
    )


def _gain_in_training(row: Mapping[str, Any]) -> str:
    """What alpha gains on pairs that the captioner was trained on, in a sentence that is read first."""
    gain = row["gain"]
    size = "larger than its resampling error" if gain["low"] > 0 else "not distinguishable from zero"
    points = _change_in_points(row["alpha_0"]["value"], row["best"]["value"])
    interval = true_minus(
        f"{_signed(points)} points, 95 % interval {_signed_range(gain['low'], gain['high'])}, {TUNED_ON_TEST}"
    )
    best = f"With {row['size']} pairs the best alpha is {row['alpha']:.3f}"
    return f"{best}; its gain over alpha 0 is {size} ({interval})."


def _beta_said(row: Mapping[str, Any]) -> str:
    """`Here β = 1.73.`, with the doubt where the gain over alpha 0 may be none."""
    if row["gain"]["low"] > 0:
        return f"Here β = {row['beta']:.2f}."
    return f"A β of {row['beta']:.2f} would follow, but alpha 0 fits as well."


def _trainset_table(rows: list[dict]) -> pd.DataFrame:
    """One row per size, as in the paper's table; β in brackets where alpha 0 fits as well."""
    return pd.DataFrame(
        [
            {
                "pairs": row["size"],
                "α = 0": interval_text(row["alpha_0"]),
                "α = 1": interval_text(row["alpha_1"]),
                f"best ({TUNED_PER_ROW})": interval_text(row["best"]),
                "best α (span)": _alpha_and_span(row),
                "β": _beta_cell(row),
                "chance": _pct(row["alpha_0"]["chance"]),
                "text to image": interval_text(row["text_to_image"]),
            }
            for row in rows
        ]
    )


def _alpha_and_span(row: Mapping[str, Any]) -> str:
    """`0.712 (0.698–0.726)`, or an alpha alone, in the same digits."""
    span = _span_text(row["alpha_low"], row["alpha_high"])
    return f"{row['alpha']:.3f}" + f" ({span})" * ("–" in span)


def _doubtful_betas(rows: Sequence[Mapping[str, Any]]) -> str:
    """What β in brackets is, where one is."""
    doubtful = any(row["gain"]["low"] <= 0 for row in rows)
    return "β in brackets: alpha 0 fits as well (the gain’s interval holds 0). " if doubtful else ""


def _beta_cell(row: Mapping[str, Any]) -> str:
    beta = "∞" if row["beta"] is None else f"{row['beta']:.2f}"
    return beta if row["gain"]["low"] > 0 else f"({beta})"


# --- retrieval ---------------------------------------------------------------------------------------------------


def other_methods() -> None:
    """MASS and the SyntaxBias score, and how they fare on the built-in sets (benchmarks/BASELINES.md)."""
    box = st.expander(
        "Other methods: MASS and SyntaxBias",
        key="other-methods",
        on_change="rerun",
    )
    if box.open:
        box.markdown(
            "**MASS** ([Chung et al. 2025](https://arxiv.org/abs/2501.11469)) takes from every token's log-"
            "likelihood that for a null image, and averages; select it as `mass:NAME`. Choose it to reproduce that "
            "paper, not to gain: with noise as the null image it is below the plain score of builtin/blip-caption on "
            "all twelve built-in sets, by 4 to 54 points of GroupScore, on 8 of them by more than chance explains.\n\n"
            "**SyntaxBias** ([Ma et al. 2024](https://arxiv.org/abs/2308.10509), Eq. 4) measures the groups, not the "
            "model: how much likelier the true captions are as text, from −1 to 1. Look at it before you trust a score "
            "on a new set. By builtin/blind-lm it is +0.73 on word-order, whose shuffled captions give themselves away "
            "without the image, and within 0.03 of 0 on the other sets with false captions. `crossmatch debias` prints "
            "it.\n\n"
            "All numbers, with intervals, and how both are computed here: benchmarks/BASELINES.md."
        )


def retrieval_view() -> None:
    """Queries and images among all of a set: where texts differ most in how common they are."""
    st.header("Among all captions of a set", anchor=False)
    stored = shipped_retrieval()
    if stored is None:
        st.info(
            "Not measured yet: run `python -m benchmarks.results.alpha retrieval`.",
            icon=":material/hourglass_empty:",
        )
        return
    best = stored["best"]
    sizes = f"{stored['images']} images, {stored['captions']} captions, several of them true of one image"
    st.markdown(
        "Every image chooses among all captions of a set, which differ in length and wording: here the language prior "
        "matters most. **R@1** is the share of images whose first caption is right. "
        f"**{escape_markdown(stored['model'])}** on {escape_markdown(stored['benchmark'])}: {sizes}."
    )
    st.markdown(unbroken(_held_out_retrieval(stored)))
    r1 = best["metrics"][IMAGE_TO_TEXT]
    figure = alpha._retrieval_figure(alpha._retrieval_data(stored))
    chart(
        figure,
        f"R@1 from image to text over alpha with its 95 % band; best {_pct(r1['value'])} % at {best['alpha']:.3f}, "
        f"{TUNED_ON_TEST}; chance {_pct(r1['chance'])} %.",
        "retrieval-curve",
    )
    table = _retrieval_table(stored)
    wide_table(table)
    note = (
        f"Star: the best alpha of 0 to 1, chosen on these same images ({TUNED_ON_TEST}): too high to quote. Diamond: "
        "the alpha that the validation split chose. Band: 95 % interval over the images at each alpha."
    )
    st.caption(
        f"{note} Percent with 95 % intervals.{exact_differences_once('retrieval')} From text to image nothing changes. "
        "For another set, run `crossmatch debias --benchmark coco`; for any model, `crossmatch recall`."
    )
    with st.expander("The paper's numbers (Table 7, BLIP on COCO and Flickr30k)"):
        st.dataframe(reference("VGPT", "Table 7")[["dataset", "method", "metric", "value"]], hide_index=True)
    about = f"{stored['model']} on {stored['benchmark']}, R@1 from image to text: {sizes}"
    name = f"retrieval-{measured_name([stored['benchmark'], stored['model']])}"
    export_section(name, table, {"retrieval": figure}, papers=("VGPT",), title=about, note=note)


def _held_out_retrieval(stored: dict) -> str:
    """What an alpha gains on images that did not choose it, both ends with the interval of the gain; and of random
    halves of these images, as of groups."""
    chosen, halves = stored["from_validation"], stored["validated"]
    gain, zero = chosen["gain"], stored["alpha_0"]["metrics"][IMAGE_TO_TEXT]
    value = chosen["metrics"][IMAGE_TO_TEXT]
    interval = (
        f"95 % interval {_signed_range(gain['low'], gain['high'])}, McNemar's p {p_text(gain['p_value'])}"
    )
    gained = f"{_signed(_change_in_points(zero['value'], value['value']))} points of R@1 ({interval})"
    ties = f"{zero['ties']} and {value['ties']} ties" if zero["ties"] or value["ties"] else "no ties"
    return true_minus(
        f"**Held out: R@1 {_pct(zero['value'])} % at α = 0 → {_pct(value['value'])} % at α = {chosen['alpha']:.3f}, "
        f"which the validation split chose: {gained}**; chance {_pct(value['chance'])} %, {ties}. Chosen on one half "
        f"of these images and measured on the other, {halves['repeats']} times: {_pct(halves['alpha_0']['mean'])} → "
        f"{_pct(halves['value']['mean'])} % (± {_pct(halves['value']['std'])} SD over splits)."
    )


def _retrieval_table(stored: dict) -> pd.DataFrame:
    """One row per choice of alpha and of prior."""
    rows = {
        "α = 0": stored["alpha_0"],
        "α = 1, prior: the set's own images": stored["alpha_1"],
        f"best α ({TUNED_ON_TEST})": stored["best"],
        "α from the validation split": stored["from_validation"],
        "α = 1, prior: noise images": stored["gaussian"]["alpha_1"],
        f"best α ({TUNED_ON_TEST}), prior: noise images": stored["gaussian"]["best"],
    }
    return pd.DataFrame(
        [
            {
                "": name,
                "α": f"{row['alpha']:.3f}",
                **{
                    label: interval_text(row["metrics"][metric])
                    for metric, label in (
                        (IMAGE_TO_TEXT, "image to text R@1"),
                        ("image_to_text_r5", "image to text R@5"),
                        (TEXT_TO_IMAGE, "text to image R@1"),
                        ("text_to_image_r5", "text to image R@5"),
                    )
                },
                "chance R@1": _pct(row["metrics"][IMAGE_TO_TEXT]["chance"]),
            }
            for name, row in rows.items()
        ]
    )
