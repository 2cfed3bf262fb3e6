"""Figures: `*_data()` computes a typed tuple, `*_figure(data)` draws it with Plotly. One look for all of them."""

from core.plots.bars import BarsData, bars_data, bars_figure
from core.plots.margins import (
    MarginsData,
    ThresholdData,
    at_threshold,
    margins_data,
    margins_figure,
    threshold_data,
    threshold_figure,
)
from core.plots.style import OUTCOME_COLOURS, OUTCOME_SYMBOLS, SERIES, shade
from core.plots.ttm import (
    TTMData,
    schedule_data,
    ttm_compare_figure,
    ttm_data,
    ttm_metrics_figure,
    ttm_panel_figure,
    ttm_table,
)

__all__ = [
    "OUTCOME_COLOURS",
    "OUTCOME_SYMBOLS",
    "SERIES",
    "BarsData",
    "MarginsData",
    "TTMData",
    "ThresholdData",
    "at_threshold",
    "bars_data",
    "bars_figure",
    "margins_data",
    "margins_figure",
    "schedule_data",
    "shade",
    "threshold_data",
    "threshold_figure",
    "ttm_compare_figure",
    "ttm_data",
    "ttm_metrics_figure",
    "ttm_panel_figure",
    "ttm_table",
]
