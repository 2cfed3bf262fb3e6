"""The figures of the site, drawn by the app's own code from the scores and the run that ship."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import plotly

import crossmatch as cm
from core import figures
from core.exchange.example import example_run
from core.figures import group_html
from core.figures.svg import bars_svg, margins_svg
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, TEXT_SCORE
from core.runs.store import RunStore

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from core.metrics.evaluation import Evaluation

SET, GROUP = "scenes/left-right", "left-right/test/0123"  # the group of README's picture


def plotly_script() -> Path:
    """Plotly's own script, as the installed library ships it."""
    return Path(plotly.__file__).parent / "package_data" / "plotly.min.js"


@cache
def _measured(name: str = SET, model: str = "builtin/clip") -> Evaluation:
    groups = cm.load_benchmark(name)
    return cm.evaluate(cm.score(model, groups), groups.truth, ids=groups.ids)


def _group() -> str:
    """A group, its score matrix, and the matching that follows from it."""
    groups = cm.load_benchmark(SET)
    index = groups.ids.index(GROUP)
    group, data = groups[index], _measured().group(index)
    names = group_html.image_descriptions(group)
    pictures = [
        group_html.picture_html(image.open(), 320, name)
        for image, name in zip(group.images, names, strict=True)
    ]
    return _block(
        group_html.matching_html(pictures, group.captions, data)
        + group_html.matrix_html(data, "Scores")
        + group_html.verdicts_html(data, (GROUP_SCORE, GROUP_MATCH)),
        f"Group {GROUP} and its scores under builtin/clip. Outlined, with a dot: the induced matching. Ticked: the "
        "true pairs.",
    )


def _bars(rows: dict[str, Evaluation], metrics: tuple[str, ...], text: str) -> str:
    data = figures.bars_data({name: found.metrics for name, found in rows.items()}, metrics)
    return _block(bars_svg(data), f"{text} Whiskers: 95 % intervals. Dashed: chance.")


def _both() -> str:
    found = _measured()
    return _bars(
        {"": found}, (GROUP_SCORE, GROUP_MATCH), "builtin/clip on left-right, the same scores twice."
    )


def _blind() -> str:
    rows = {
        f"{model} on {name}": _measured(f"scenes/{name}", model)
        for name in ("word-order", "relations-1x4")
        for model in ("builtin/clip", "builtin/blind-lm")
    }
    return _bars(rows, (TEXT_SCORE,), "A model that sees pictures, and one that sees none.")


def _margins() -> str:
    found = _measured()
    data = figures.margins_data(found.matches, found.outcomes[GROUP_MATCH])
    return _block(
        margins_svg(data), "Margins of 300 groups. Blue: the induced matching is right. Hatched: it is wrong."
    )


def _threshold() -> str:
    found = _measured()
    return _interactive(
        cm.figure(cm.threshold_curve(found.scores, found.truth)),
        "Coverage and precision of the matchings whose margin is above the threshold; builtin/clip on left-right.",
    )


def _ttm() -> str:
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore(Path(folder))
        steps = store.steps(example_run(store).id)
    return _interactive(
        figures.ttm_metrics_figure(figures.ttm_data(steps, len(steps) - 1)),
        "The run that ships: builtin/clip adapted to left-right without labels. Bands: 95 % intervals.",
    )


def _alpha() -> str:
    groups = cm.load_benchmark("scenes/swap")
    prior = cm.estimate_prior("builtin/blip-caption", groups)
    study = cm.alpha_study(cm.score("builtin/blip-caption", groups), prior, groups.truth)
    return _interactive(
        cm.figure(study, metrics=(TEXT_SCORE, GROUP_MATCH)),
        "Every alpha from 0 to 1, exactly: builtin/blip-caption on swap.",
    )


def _interactive(figure: go.Figure, text: str) -> str:
    """A Plotly figure, which assets/figures.js draws in the page's colours."""
    data = figure.to_json().replace("</", "<\\/")
    height = figure.layout.height
    return _block(
        f'<div class="cm-plotly" role="img" aria-label="{escape(text, quote=True)}" style="min-height:{height}px">'
        f'<script type="application/json">{data}</script></div>',
        text,
    )


def _block(markup: str, text: str) -> str:
    return f'<figure class="cm-figure">{markup}<figcaption>{escape(text)}</figcaption></figure>'


DRAWN: dict[str, Callable[[], str]] = {
    "figure group": _group,
    "figure both metrics": _both,
    "figure blind": _blind,
    "figure margins": _margins,
    "figure threshold": _threshold,
    "figure ttm": _ttm,
    "figure alpha": _alpha,
}
