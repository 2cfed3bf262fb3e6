"""Audit: is the selected set sound, before anybody trusts a number on it?"""

from __future__ import annotations

import ui
from ui import audit

LEAD = (
    "Can numbers on this set be trusted? Each check looks for one weakness: a rule that solves it without an image, "
    "equal words, duplicates, contradictions, too few groups. Every verdict comes with its numbers and its groups, and "
    "may be that nobody can tell."
)


def page(selection: ui.Selection) -> None:
    if selection.is_file:
        audit.of_file(selection, [name for name, needs in ui.benchmarks().items() if not needs], "test")
    else:
        audit.show(selection)
    ui.cite(selection.selected_groups, ())


selection = ui.open_page("Audit", LEAD)
with ui.show_errors():
    page(selection)
