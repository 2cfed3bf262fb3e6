"""The only shared page code: pages say `import ui` and use these names."""

from ui.cached import kept
from ui.export import chart, cite, link, take_away
from ui.fields import number
from ui.formatting import metric_card, metric_grid, progress_bar, run_label
from ui.images import draw_group, image_uri, pictures
from ui.loaders import evaluate, load_groups, model_source
from ui.moving_line import marker, share
from ui.page import PAGES, guard, start
from ui.selection import Selection, benchmarks, jump, model_names
from ui.visitor import VisitorStore

__all__ = [
    "PAGES",
    "Selection",
    "VisitorStore",
    "benchmarks",
    "chart",
    "cite",
    "draw_group",
    "evaluate",
    "guard",
    "image_uri",
    "jump",
    "kept",
    "link",
    "load_groups",
    "marker",
    "metric_card",
    "metric_grid",
    "model_names",
    "model_source",
    "number",
    "pictures",
    "progress_bar",
    "run_label",
    "share",
    "start",
    "take_away",
]
