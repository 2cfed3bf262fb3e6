"""Light or dark as it was chosen last, whatever page is opened next by its address.

Streamlit keeps the choice of its menu for the path by which the tab was opened, and every other page forgets it. The
script writes it down for all pages.
"""

from __future__ import annotations

import streamlit as st

_SCRIPT = """
<script>
(() => {
  if (window.crossmatchTheme) return;
  window.crossmatchTheme = true;
  const name = path => `stActiveTheme-${path}-v2`;
  const write = Storage.prototype.setItem;
  let touched = 0;  // else it is Streamlit that writes, while a page loads
  for (const action of ["pointerdown", "keydown"])
    window.addEventListener(action, () => { touched = Date.now(); }, {capture: true, passive: true});
  Storage.prototype.setItem = function (key, value) {
    write.call(this, key, value);
    if (this !== localStorage || !/^stActiveTheme-.*-v2$/.test(key) || Date.now() - touched > 3000) return;
    for (const link of document.querySelectorAll(".st-key-nav a")) {
      const page = link.getAttribute("href") || "./";  // Home's is empty, which would be the page that is open
      write.call(this, name(new URL(page, location.href).pathname), value);
    }
  };
})();
</script>
"""


def keep_one_theme() -> None:
    """Install the script, once in every browser tab."""
    st.html(_SCRIPT, unsafe_allow_javascript=True)
