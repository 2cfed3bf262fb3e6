"""Audit: is the selected set sound, before anybody trusts a number on it?"""

from __future__ import annotations

import ui
from ui import audit

LEAD = (
    "Is this set sound, before anybody trusts a number on it? Rules that see no image, equal words, duplicates, "
    "contradictions, size: each check with its interval, its groups, and a verdict that may say that it cannot tell."
)


def page(selection: ui.Selection) -> None:
    if selection.is_file:
        line = f"An audit looks at captions and images, and {selection.groups.title} has neither."
        ui.offer_nearest(line, "Show its metrics on Matching", "pages/2_Matching.py", {})
    else:
        audit.show(selection)
    ui.cite(selection.selected_groups, ())


selection = ui.open_page("Audit", LEAD)
with ui.show_errors():
    page(selection)
