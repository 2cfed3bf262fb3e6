"""The only shared page code: pages say `import ui` and use these names."""

from ui.cached import cached_on
from ui.chart_clicks import ChartPoint, clicked_point
from ui.export import chart, cite, evaluation_exports, export_section, group_exports, link
from ui.fields import checked_numbers, number, slider, warn_number
from ui.formatting import metric_card, metric_grid, progress_bar, true_minus, unbroken, wide_table
from ui.images import card_key, draw_group, group_card, image_tags
from ui.loaders import evaluate, load_groups, model_source
from ui.moving_line import axis_position, moving_lines
from ui.navigation import PAGES
from ui.page import open_page, show_error, show_errors
from ui.selection import (
    Selection,
    another_model,
    benchmark_of,
    benchmarks,
    group_title,
    keep_in_address,
    model_field,
    model_names,
    offer_nearest,
    open_group,
    page_button,
    pick_group,
    pick_model,
    restore_carried_state,
    seed,
    select,
    set_state,
    switch_page,
    warn_unknown,
    warn_unknown_group,
    whole_test_set,
)
from ui.visitor import VisitorStore

__all__ = [
    "PAGES",
    "ChartPoint",
    "Selection",
    "VisitorStore",
    "another_model",
    "axis_position",
    "benchmark_of",
    "benchmarks",
    "cached_on",
    "card_key",
    "chart",
    "checked_numbers",
    "cite",
    "clicked_point",
    "draw_group",
    "evaluate",
    "evaluation_exports",
    "export_section",
    "group_card",
    "group_exports",
    "group_title",
    "image_tags",
    "keep_in_address",
    "link",
    "load_groups",
    "metric_card",
    "metric_grid",
    "model_field",
    "model_names",
    "model_source",
    "moving_lines",
    "number",
    "offer_nearest",
    "open_group",
    "open_page",
    "page_button",
    "pick_group",
    "pick_model",
    "progress_bar",
    "restore_carried_state",
    "seed",
    "select",
    "set_state",
    "show_error",
    "show_errors",
    "slider",
    "switch_page",
    "true_minus",
    "unbroken",
    "warn_number",
    "warn_unknown",
    "warn_unknown_group",
    "whole_test_set",
    "wide_table",
]
