"""Figures: `*_data()` computes a typed tuple, `*_figure(data)` draws it with Plotly. One look for all of them."""

from core.figures.bars import BarsData, bars_data, bars_figure
from core.figures.forgetting import CostData, cost_data, cost_figure
from core.figures.margins import (
    MarginsData,
    ThresholdData,
    at_threshold,
    margins_data,
    margins_figure,
    threshold_data,
    threshold_figure,
    with_threshold_line,
)
from core.figures.papers import PapersData, papers_data, papers_figure, result_name
from core.figures.style import OUTCOME_COLOURS, OUTCOME_SYMBOLS, SERIES, score_colour
from core.figures.ttm import (
    TTMData,
    schedule_data,
    spread_data,
    step_margins_figure,
    transfer_data,
    ttm_compare_figure,
    ttm_data,
    ttm_metrics_figure,
    ttm_panel_figure,
    ttm_table,
)
