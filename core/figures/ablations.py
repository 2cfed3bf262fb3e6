"""What was measured of test-time matching on the built-in world: schedules, tau_1, T, and where it helps.

The numbers are those of `benchmarks/results/ablations.py`, in assets/results/ttm_ablations.csv; the result of a run is
its last iteration. Source of the questions: [TTM] Figures 2 and 4, Table 9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.base.paths import assets
from core.figures._style import MARKS, OUTCOME_COLOURS, SERIES, _closest, band, faint, layout, line, rows_axis
from core.figures._ttm import steps_axis
from core.figures.text import label_and_meaning
from core.metrics.groups import GROUP_MATCH, METRICS, description_of, headline_metrics, metrics_of_shape

# Settings as the file names them -> words.
_SCHEDULE_NAMES = {
    "preset": "linear",
    "schedule=cosine": "cosine",
    "schedule=constant": "constant",
    "schedule=ascending": "ascending",
}
_ORACLE, _PRESET = "oracle=1", "preset"
# Of the preset "builtin": percent of the groups at tau_1, and T.
_PRESET_COVERAGE, _PRESET_ITERATIONS = (20.0, 10)
# In this order, and each with the same look in every figure, whichever of them were measured.
_MODELS = (
    "builtin/clip",
    "builtin/siglip",
    "itc:builtin/blip-itm",
    "builtin/blip-itm",
    "builtin/clip-early",
)
_HEIGHT = 310  # pixels, of which a laptop's first screen has as many below what is said of a table
_RUN = ["kind", "model", "benchmark", "setting", "seed"]
_WHERE = {"kind": "ttm", "model": "builtin/clip", "benchmark": "scenes/left-right"}


def ablations(path: Path | None = None) -> pd.DataFrame:
    """Every iteration of every run: a row each, metrics in percent, coverage and precision as shares.

    Raises InputError where the file is not there.
    """
    file = path or assets() / "results" / "ttm_ablations.csv"
    if not file.is_file():
        raise InputError(f"{file.name} is missing; `python -m benchmarks.results.ablations` creates it.")
    return pd.read_csv(file, keep_default_na=False, na_values=[""])


class _CurvesData(NamedTuple):
    """A metric over iterations in percent by setting; arrays are (settings, iterations), NaN past a run's end."""

    names: list[str]
    metric: str
    mean: np.ndarray
    std: np.ndarray  # over seeds; NaN for one seed
    coverage: np.ndarray  # percent of the groups that were selected, mean over seeds
    precision: np.ndarray  # percent of those that were right, mean over seeds
    seeds: list[int]
    chance: float


def curves_data(
    table: pd.DataFrame,
    where: Mapping[str, str] = _WHERE,
) -> _CurvesData:
    """GroupMatch of each schedule of thresholds that was measured, means over seeds."""
    own = _pick(table, where)
    found = {name: own[own.setting == setting] for setting, name in _SCHEDULE_NAMES.items()}
    found = {name: rows for name, rows in found.items() if rows[GROUP_MATCH].notna().any()}
    length = 1 + max((int(rows.iteration.max()) for rows in found.values()), default=0)

    def over_seeds(column: str, how: str, factor: float = 1.0) -> np.ndarray:
        values = [
            rows.groupby("iteration")[column].agg(how).reindex(range(length)) for rows in found.values()
        ]
        return factor * np.array(values, dtype=float).reshape(len(found), length)

    spreads = over_seeds(GROUP_MATCH, "mean"), over_seeds(GROUP_MATCH, "std")
    shares = over_seeds("coverage", "mean", 100.0), over_seeds("precision", "mean", 100.0)
    seeds = [rows.seed.nunique() for rows in found.values()]
    return _CurvesData(list(found), GROUP_MATCH, *spreads, *shares, seeds, _chance(own))


def curves_figure(data: _CurvesData) -> go.Figure:
    """One line per setting, bands of one standard deviation over seeds, the chance level dotted."""
    figure = go.Figure()
    x = np.arange(data.mean.shape[1])
    looks = [*SERIES, (OUTCOME_COLOURS["tie"], "longdash")]
    for i, name in enumerate(data.names):
        colour, dash = looks[i % len(looks)]
        mean, std = data.mean[i], np.nan_to_num(data.std[i])
        known = ~np.isnan(mean)
        band(figure, x[known], (mean - std)[known], (mean + std)[known], colour)
        hover = (
            f"%{{y:.1f}} ± %{{customdata[0]:.1f}} % ({data.seeds[i]} seeds), selected "
            "%{customdata[1]:.0f} %, of them right %{customdata[2]:.0f} %"
        )
        more = np.column_stack([std, data.coverage[i], data.precision[i]])[known]
        line(figure, x[known], mean[known], name, colour, hover, dash=dash, marker={}, customdata=more)
    level, grey = np.full(len(x), data.chance), OUTCOME_COLOURS["tie"]
    label = label_and_meaning(data.metric)[0]
    named = _chance_name(label, data.chance)
    line(figure, x, level, named, grey, "chance %{y:.1f} %", dash="dot", width=1.5)
    steps_axis(figure, len(x) - 1, _HEIGHT, label, percent=True)
    return _zoom(
        figure, [data.mean - np.nan_to_num(data.std), data.mean + np.nan_to_num(data.std), data.chance]
    )


def _chance_name(label: str, level: float) -> str:
    """`chance: GroupMatch 50 %`, as in the figures of the papers' tables."""
    return f"chance: {label} {level:.1f}".removesuffix(".0") + " %"


class FinalResultsData(NamedTuple):
    """Results against one setting, percent; arrays are over `x`, ascending."""

    label: str  # of x
    x: np.ndarray
    metrics: dict[str, np.ndarray]  # name -> (x, 2): mean and standard deviation over seeds
    seeds: np.ndarray
    before: dict[str, float]
    # What training on exactly the right groups ends at; {} where not measured.
    skyline: dict[str, tuple[float, float]]
    chance: dict[str, float]  # of each metric, as far as it is known


def first_threshold_data(
    table: pd.DataFrame, where: Mapping[str, str] = _WHERE, shape: tuple[int, int] = (2, 2)
) -> FinalResultsData:
    """Results by the share of the groups that tau_1 selects, and the oracle's ([TTM] Fig. 4).

    shape : images and captions of the groups, which say what chance gives.
    """
    x = {s: 100 * float(s.partition("=")[2]) for s in _settings(table, where, "coverage_first=")}
    data = _ends(table, where, {_PRESET: _PRESET_COVERAGE, **x}, "groups selected at first, %", shape)
    ends = _last(_pick(table, where))
    oracle = ends[ends.setting == _ORACLE]
    skyline = {name: _spread(oracle[name]) for name in data.metrics} if len(oracle) else {}
    return data._replace(skyline=skyline)


def iterations_data(
    table: pd.DataFrame, where: Mapping[str, str] = _WHERE, shape: tuple[int, int] = (2, 2)
) -> FinalResultsData:
    """Results by the number of iterations T ([TTM] Table 9); shape as above."""
    x = {s: float(s.partition("=")[2]) for s in _settings(table, where, "iterations=")}
    return _ends(table, where, {_PRESET: _PRESET_ITERATIONS, **x}, "iterations T", shape)


def _settings(table: pd.DataFrame, where: Mapping[str, str], start: str) -> list[str]:
    return [s for s in _pick(table, where).setting.unique() if s.startswith(start)]


def _ends(
    table: pd.DataFrame,
    where: Mapping[str, str],
    places: Mapping[str, float],
    label: str,
    shape: tuple[int, int],
) -> FinalResultsData:
    own = _pick(table, where)
    ends = _last(own)
    measured = sorted((x, s) for s, x in places.items() if (ends.setting == s).any())
    metrics = {
        name: np.array([_spread(ends[ends.setting == s][name]) for _, s in measured]).reshape(-1, 2)
        for name in headline_metrics()
        if name in ends
    }
    before = {name: float(own[own.iteration == 0][name].mean()) for name in metrics}
    seeds = np.array([(ends.setting == s).sum() for _, s in measured])
    chance = {
        name: 100 * METRICS[name].chance(*shape) for name in metrics_of_shape(*shape) if name in metrics
    }
    return FinalResultsData(label, np.array([x for x, _ in measured]), metrics, seeds, before, {}, chance)


def ends_figure(data: FinalResultsData) -> go.Figure:
    """Means with bars of one standard deviation; dashed: before adaptation; dash-dotted: the oracle; dotted, in each
    metric's colour: its chance level."""
    figure = go.Figure()
    for name, values in data.metrics.items():
        colour, label = description_of(name).colour, description_of(name).label
        std = np.nan_to_num(values[:, 1])
        line(
            figure, data.x, values[:, 0], label, colour,
            "%{y:.1f} ± %{customdata[0]:.1f} % (%{customdata[1]:.0f} seeds)",
            marker={"symbol": description_of(name).marker, "size": 10}, error=std,
            customdata=np.column_stack([std, data.seeds]),
        )  # fmt: skip
        lines = [("before", data.before[name], "dash")]
        if name in data.skyline:
            lines.append(("oracle (uses the truth)", data.skyline[name][0], "dashdot"))
        if name in data.chance:
            lines.append(("chance", data.chance[name], "dot"))
        for what, level, dash in lines:
            y, hover = np.full(len(data.x), level), f"{what} %{{y:.1f}} %"
            named = _chance_name(label, level) if what == "chance" else f"{label}, {what}"
            line(figure, data.x, y, named, colour, hover, dash=dash, width=1.6)
    layout(figure, _HEIGHT, data.label, "", percent=True)
    figure.update_xaxes(tickvals=data.x)
    skylines = [mean for mean, _ in data.skyline.values()]
    drawn = [values[:, 0] for values in data.metrics.values()]
    return _zoom(figure, [*drawn, *data.before.values(), *skylines, *data.chance.values()])


class GainsData(NamedTuple):
    """What a method changes, by model and set: arrays (models, sets) in percent or points, NaN where not measured."""

    models: list[str]
    sets: list[str]  # by mean gain, the largest first
    metric: str
    before: np.ndarray  # (models, sets, 3): value and 95 % interval over groups
    after: np.ndarray  # mean over seeds
    std: np.ndarray  # over seeds; the gain's too, as all seeds start from the same model
    chance: np.ndarray
    precision: np.ndarray  # of the first selection: how right the most confident groups are
    seeds: np.ndarray

    @property
    def gain(self) -> np.ndarray:
        return self.after - self.before[..., 0]


def gains_data(table: pd.DataFrame, kind: str = "ttm", metric: str = GROUP_MATCH) -> GainsData:
    """Before and after with the preset, on every set and model that was measured. kind : `ttm` or `simplematch`."""
    own = table[(table.kind == kind) & (table.setting == _PRESET) & (table.part == "all")]
    models, sets = sorted(own.model.unique(), key=_place), list(own.benchmark.unique())
    fields = np.full((len(models), len(sets), 8), np.nan)
    for (model, name), rows in own.groupby(["model", "benchmark"], sort=False):
        fields[models.index(model), sets.index(name)] = _gain(rows, metric)
    before, after, std = fields[..., :3], fields[..., 3], fields[..., 4]
    gain = after - before[..., 0]
    known = ~np.isnan(gain)
    order = np.argsort(
        -np.where(known, gain, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1), kind="stable"
    )
    arrays = [a[:, order] for a in (before, after, std, fields[..., 5], fields[..., 6], fields[..., 7])]
    return GainsData(models, [sets[i] for i in order], metric, *arrays)


def _place(model: str) -> int:
    return _MODELS.index(model) if model in _MODELS else len(_MODELS)


def _marker_style(model: str) -> tuple[str, str]:
    """Symbol and colour."""
    return MARKS[_place(model) % len(MARKS)]


def _gain(rows: pd.DataFrame, metric: str) -> list[float]:
    start = rows[rows.iteration == 0].iloc[0]
    ends, first = _last(rows), rows[rows.iteration == 1].precision
    before = [start[metric], start[f"{metric}_low"], start[f"{metric}_high"]]
    precision = 100 * first.mean() if first.notna().any() else np.nan
    return [*before, *_spread(ends[metric]), start.chance, precision, len(ends)]


def gains_figure(data: GainsData) -> go.Figure:
    """Gain in points per set, a mark per model, bars of one standard deviation over seeds; the line is no change.

    Models are named without `builtin/`: so two of them fit a line of a phone's legend, which takes its room from the
    rows."""
    figure = go.Figure()
    y = np.arange(len(data.sets), dtype=float)
    for i, model in enumerate(data.models):
        known = ~np.isnan(data.gain[i])
        (symbol, colour), std = _marker_style(model), np.nan_to_num(data.std[i])
        more = [data.before[i], data.after[i][:, None], std[:, None], data.chance[i][:, None]]
        figure.add_scatter(
            x=data.gain[i][known],
            y=y[known] + 0.84 * ((i + 0.5) / len(data.models) - 0.5),
            error_x={"array": std[known], "thickness": 1.6, "width": 2, "color": colour},
            name=model.replace("builtin/", ""),
            mode="markers",
            marker={"symbol": symbol, "size": 8, "color": colour},
            text=[name for name, keep in zip(data.sets, known, strict=True) if keep],
            customdata=np.column_stack([*more, data.seeds[i][:, None]])[known],
            hovertemplate="%{text}: %{customdata[0]:.1f} (%{customdata[1]:.1f}–%{customdata[2]:.1f}) → "
            "%{customdata[3]:.1f} ± %{customdata[4]:.1f} %, chance %{customdata[5]:.1f}, %{customdata[6]:.0f} seeds",
        )
    for row in y[::2]:  # every other row has a ground of its own: marks of one lie close to those of the next
        ground = faint(OUTCOME_COLOURS["tie"], 0.14)
        figure.add_hrect(y0=row - 0.5, y1=row + 0.5, fillcolor=ground, line_width=0, layer="below")
    figure.add_vline(x=0, line={"color": OUTCOME_COLOURS["tie"], "width": 2})
    label = f"change of {label_and_meaning(data.metric)[0]}, points"
    layout(figure, 74 + 24 * len(data.sets), label, "")
    figure.update_layout(margin={"t": 2, "b": 2}, legend={"y": 1, "itemwidth": 30})
    return rows_axis(figure, data.sets)


_MUCH = 7.0  # points of gain or loss from which a set is named


def precision_gain_figure(data: GainsData) -> go.Figure:
    """The gain against how much more often than average the first selection is right.

    Sets are named where much changes, and everywhere under the pointer.
    """
    figure = go.Figure()
    lift = data.precision - data.before[..., 0]
    for i, model in enumerate(data.models):
        known = ~np.isnan(lift[i] + data.gain[i])
        symbol, colour = _marker_style(model)
        names = [name.removeprefix("scenes/") for name in np.array(data.sets)[known]]
        figure.add_scatter(
            x=lift[i][known],
            y=data.gain[i][known],
            name=model,
            mode="markers+text",
            marker={"symbol": symbol, "size": 11, "color": colour},
            text=[n if abs(g) > _MUCH else "" for n, g in zip(names, data.gain[i][known], strict=True)],
            textposition="middle right",
            customdata=names,
            hovertemplate="%{customdata}: first selection %{x:+.1f} points above all groups, gain %{y:+.1f} points",
        )
    figure.add_hline(y=0, line={"color": OUTCOME_COLOURS["tie"], "width": 2})
    layout(figure, _HEIGHT, "first selection right above average, points", "gain, points")
    _closest(figure)
    figure.update_yaxes(rangemode="normal")
    return figure


def _zoom(figure: go.Figure, values: Sequence[float | np.ndarray]) -> go.Figure:
    """The part of 0 to 100 % that holds the numbers and the chance level: a few points are the subject."""
    known = np.concatenate([np.ravel(v) for v in values])
    known = known[~np.isnan(known)]
    if len(known):
        low, high = max(0.0, known.min() - 4), min(104.0, known.max() + 4)
        figure.update_yaxes(range=[low, high], rangemode="normal", dtick=10 if high - low > 30 else 5)
    return figure


def _pick(table: pd.DataFrame, where: Mapping[str, str], part: str = "all") -> pd.DataFrame:
    keep = table.part == part
    for column, value in where.items():
        keep &= table[column] == value
    return table[keep]


def _last(rows: pd.DataFrame) -> pd.DataFrame:
    """The last iteration of every run."""
    return rows.loc[rows.groupby(_RUN)["iteration"].idxmax()]


def _spread(values: Sequence[float] | pd.Series) -> tuple[float, float]:
    """Mean and standard deviation (n - 1) over seeds; NaN for one."""
    series = pd.Series(values, dtype=float)
    return float(series.mean()), float(series.std())


def _chance(rows: pd.DataFrame) -> float:
    return float(rows.chance.iloc[0]) if len(rows) else np.nan
