"""The browser's back button: one step per page, and per group, run or lesson that was opened on it.

Streamlit adds a step for every message about the address, also for those that it sends while a page is left or drawn.
The script puts such a message in place of the step before; a page that is left keeps the address that it had.
"""

from __future__ import annotations

import streamlit as st

STEPS = ("group", "run", "lesson")  # query parameters whose change is a step of its own
_SCRIPT = """
<script>
(() => {
  if (window.crossmatchHistory) return;
  window.crossmatchHistory = true;
  const push = history.pushState.bind(history), replace = history.replaceState.bind(history);
  let last = null;  // the latest message about the address of the page that is shown
  history.pushState = (state, title, url) => {
    const now = new URL(location.href), next = new URL(url, now), time = performance.now();
    const recent = last !== null && time - last.time < 1500 ? last : null;
    if (next.pathname === now.pathname) {
      const step = STEPS.some(name => now.searchParams.get(name) !== next.searchParams.get(name));
      last = {time, before: recent?.before ?? now.href, pushed: Boolean(recent?.pushed || step)};
      return (step && !recent?.pushed ? push : replace)(state, title, url);
    }
    last = null;
    if (recent?.pushed) return replace(state, title, url);  // that step led away
    if (recent) replace(state, title, recent.before);
    return push(state, title, url);
  };
})();
</script>
"""


def tidy_history() -> None:
    """Install the script, once in every browser tab."""
    st.html(_SCRIPT.replace("STEPS", str(list(STEPS))), unsafe_allow_javascript=True)
