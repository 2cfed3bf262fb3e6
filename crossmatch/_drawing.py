"""Figures of what the other functions return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from core import figures
from core.base.errors import InputError, unknown_name
from core.debiasing.study import AlphaStudy
from core.figures.alpha import alpha_data, alpha_figure
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_SCORE, ThresholdCurve, chance, headline_metrics, metrics_of_shape
from core.ttm.records import step_record

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from core.ttm.loop import TTMStep


def figure(
    result: Any,
    *,
    metrics: Sequence[str] | None = None,
    truth: np.ndarray | None = None,
    height: int = 360,
) -> go.Figure:
    """A Plotly figure of a result, in the colours and with the chance levels of the app.

    Parameters
    ----------
    result : what to draw.
        an evaluation, or a dict from name to evaluation (`evaluate`) : metrics as bars, with their intervals.
        a threshold curve (`threshold_curve`) : coverage and precision over the threshold, in exact steps.
        a study (`alpha_study`) : metrics over alpha; the best interval of the first one is shaded.
        the steps of a run (`run_ttm`, `simple_match`) : metrics over iterations, with their intervals.
    metrics : names to draw; by default GroupScore and GroupMatch as bars, and all of them over alpha and iterations.
    truth : int (n, m), for the steps of a run, which have none.
    height : in pixels.

    Returns
    -------
    plotly.graph_objects.Figure, values in percent. `.show()` it, or `.write_html(path)`.

    Raises
    ------
    InputError : anything else to draw, an unknown metric, steps without truth.

    Examples
    --------
    >>> import crossmatch as cm
    >>> groups = cm.load_benchmark("scenes/left-right")
    >>> names = "builtin/clip", "builtin/siglip"
    >>> figure = cm.figure({name: cm.evaluate(cm.score(name, groups), groups.truth) for name in names})
    >>> [bar.name for bar in figure.data if bar.type == "bar"]
    ['GroupScore', 'GroupMatch']
    """
    if isinstance(result, Evaluation):
        return _bars({"": result}, metrics, height)
    if isinstance(result, Mapping) and result and all(isinstance(e, Evaluation) for e in result.values()):
        return _bars(result, metrics, height)
    if isinstance(result, ThresholdCurve):
        return figures.threshold_figure(figures.threshold_data(result), height=height)
    if isinstance(result, AlphaStudy):
        return _alpha(result, metrics, height)
    steps = list(result) if isinstance(result, Iterable) else []
    if steps and all(hasattr(step, "iteration") for step in steps):
        return _steps(steps, truth, metrics, height)
    raise InputError(
        f"There is no figure of a {type(result).__name__}; give an evaluation, a dict of evaluations, a threshold "
        "curve, an alpha study, or the steps of a run."
    )


def _bars(evaluations: Mapping[str, Evaluation], names: Sequence[str] | None, height: int) -> go.Figure:
    rows = {name: evaluation.metrics for name, evaluation in evaluations.items()}
    common = [name for name in next(iter(rows.values())) if all(name in row for row in rows.values())]
    chosen = headline_metrics(common) if names is None else _known(names, common)
    return figures.bars_figure(figures.bars_data(rows, chosen), height)


def _alpha(study: AlphaStudy, names: Sequence[str] | None, height: int) -> go.Figure:
    chosen = _known(names or (GROUP_SCORE, *metrics_of_shape(*study.shape)), metrics_of_shape(*study.shape))
    curves = {name: study.curve(name) for name in chosen}
    levels = {name: 100 * chance(name, *study.shape, study.truth.shape[1]) for name in chosen}
    return alpha_figure(alpha_data(curves, len(study.scores), levels, chosen[0]), height=height)


def _steps(
    steps: Sequence[TTMStep], truth: np.ndarray | None, names: Sequence[str] | None, height: int
) -> go.Figure:
    if truth is None:
        raise InputError("The steps of a run hold no truth; give it, as truth=groups.truth, to draw metrics.")
    records = [step_record(step, truth) for step in steps]
    chosen = _known(names or list(records[0]["metrics"]), list(records[0]["metrics"]))
    drawn = [{**record, "metrics": {name: record["metrics"][name] for name in chosen}} for record in records]
    return figures.ttm_metrics_figure(figures.ttm_data(drawn, steps[-1].iteration), height)


def _known(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """The names without repetition; InputError for one that the result has not."""
    for name in names:
        if name not in known:
            raise unknown_name("metric", name, known)
    return list(dict.fromkeys(names))
