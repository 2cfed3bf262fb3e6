"""The line below a page's title, which says what is selected, opens the fields of it when it is pressed.

On a phone these fields are out of sight, behind “Set, model” above.
"""

from __future__ import annotations

import streamlit as st

KEY = "selected-line"  # of the container of the line
_SCRIPT = """
<script>
(() => {
  if (window.crossmatchSelectionLine) return;
  window.crossmatchSelectionLine = true;
  window.addEventListener("click", event => {
    if (!event.target.closest?.(".st-key-KEY p")) return;
    if (event.target.closest("button, [data-testid=stTooltipIcon]")) return;
    document.querySelector('[data-testid="stExpandSidebarButton"]')?.click();
  });
})();
</script>
""".replace("KEY", KEY)


def open_selection_when_pressed() -> None:
    """Install the script, once in every browser tab."""
    st.html(_SCRIPT, unsafe_allow_javascript=True)
