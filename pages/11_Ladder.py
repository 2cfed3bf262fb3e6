"""Ladder: where the selected model loses which attribute belongs to which object."""

from __future__ import annotations

import ui
from ui import ladder
from ui.old_links import mark_address

LEAD = (
    "Every bar is a **rung**: one part of the model is asked which caption belongs to which picture; first picture and "
    "caption apart, then both together. Where the bars drop, the model loses the **binding**: which property belongs "
    "to which object."
)


def page(selection: ui.Selection) -> None:
    why_not = ladder.why_not(selection)
    if why_not:
        ui.offer_nearest(why_not, f"Show {ladder.FIRST_SET}", ladder.PAGE, {"set": ladder.FIRST_SET})
        return
    ladder.section(selection.benchmark, selection.model)
    ui.cite(selection.groups, ())


ladder.first_visit()
selection = ui.open_page(
    "Ladder",
    LEAD,
    heading=ladder.HEADING,
    chosen_why=ladder.opening_line(),
)
with ui.show_errors():
    page(selection)
    mark_address()
