"""Ladder: where the selected model loses which attribute belongs to which object."""

from __future__ import annotations

import ui
from core.ladder.ladder import SETS
from ui import ladder
from ui.old_links import mark_address

LEAD = (
    "Every bar is a **rung**: one part of the model is asked which caption belongs to which picture; first picture and "
    "caption apart, then both together. Where the bars drop, the model loses the **binding**: which property belongs "
    "to which object."
)


def page(selection: ui.Selection) -> None:
    if selection.is_file or selection.benchmark not in SETS:
        line = (
            f"The ladder needs to know what every picture shows, as on {', '.join(SETS)}. For other sets it needs "
            "scene graphs, which Crossmatch does not read yet."
        )
        ui.offer_nearest(line, f"Show {ladder.FIRST_SET}", ladder.PAGE, {"set": ladder.FIRST_SET})
        return
    ladder.section(selection.benchmark, selection.model)
    ui.cite(selection.groups, ())


ladder.first_visit()
selection = ui.open_page(
    "Ladder",
    LEAD,
    heading=ladder.HEADING,
    chosen_why=ui.chosen_by_page(ladder.FIRST_SET, "the binding is lost there"),
)
with ui.show_errors():
    page(selection)
    mark_address()
