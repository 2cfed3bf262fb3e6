"""Audit: is the selected set sound, before anybody trusts a number on it?"""

from __future__ import annotations

import ui
from ui import audit

LEAD = (
    "Can scores on this set be trusted? Each check looks for one weakness, such as a rule that finds the right "
    "captions without an image, duplicates, contradictions or too few groups. Open a check for its numbers "
    "and its groups."
)


def page(selection: ui.Selection) -> None:
    if selection.is_file:
        audit.of_file(selection, ui.benchmarks(), "test")
    else:
        audit.show(selection)
    ui.cite(selection.selected_groups, ())


selection = ui.open_page("Audit", LEAD, uses_model=False)
with ui.show_errors():
    page(selection)
