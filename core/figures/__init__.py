"""Figures: `*_data()` computes a typed tuple, `*_figure(data)` draws it with Plotly. One look for all of them."""

from core.figures._bars import bars_data, bars_figure, paired_bars_figure
from core.figures._forgetting import cost_data, cost_figure
from core.figures._ladder import ladder_figure
from core.figures._ledger import ledger_figure
from core.figures._margins import (
    at_threshold,
    margins_data,
    margins_figure,
    reliability_figure,
    threshold_data,
    threshold_figure,
    with_threshold_line,
)
from core.figures._papers import _chance_said as _chance_said
from core.figures._papers import papers_data, papers_figure
from core.figures._standing import _Mark as _Mark
from core.figures._standing import _standing_figure as _standing_figure
from core.figures._style import OUTCOME_SYMBOLS, THRESHOLD_LINE
from core.figures._ttm import (
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
