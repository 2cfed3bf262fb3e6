"""Addresses written before an option was renamed: Streamlit puts an option's words into the address, so they are a
written form. Whoever renames one of a widget with `bind="query-params"` adds its old words here
(`tests/test_old_samples.py` opens links of an older version).
"""

import streamlit as st

# Parameter -> words that it once held -> the option of today.
RENAMED: dict[str, dict[str, str]] = {
    "variant": {"oracle (reads the truth)": "oracle (uses the truth)"},
}


def read_old_links() -> None:
    """Choose the option of today where the address has the words of an older version."""
    for key, renamed in RENAMED.items():
        given = st.query_params.get_all(key)
        if any(words in renamed for words in given):
            chosen = [renamed.get(words, words) for words in given]
            st.session_state[key] = chosen if len(chosen) > 1 else chosen[0]
