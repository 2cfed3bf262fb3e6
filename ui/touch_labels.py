"""The label of a point in a figure goes when a finger scrolls the page, as it goes when a mouse leaves the figure.

Plotly hides it when the pointer leaves, and a finger never does: the label of the last tap lay over the figure's other
numbers until something else was tapped.
"""

from __future__ import annotations

import streamlit as st

_SCRIPT = """
<script>
(() => {
  if (window.crossmatchLabels) return;
  window.crossmatchLabels = true;
  let asked = false;
  const leave = () => {
    asked = false;
    for (const label of document.querySelectorAll(".js-plotly-plot .hoverlayer > *"))
      label.closest(".js-plotly-plot").querySelector(".nsewdrag")?.dispatchEvent(new MouseEvent("mouseout"));
  };
  window.addEventListener("touchmove", () => {
    if (!asked) requestAnimationFrame(leave);
    asked = true;
  }, {capture: true, passive: true});
})();
</script>
"""


def drop_labels_on_scroll() -> None:
    """Install the script, once in every browser tab."""
    st.html(_SCRIPT, unsafe_allow_javascript=True)
