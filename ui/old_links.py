"""Addresses written before an option was renamed: Streamlit puts an option's words into the address, so they are a
written form. A change to an option of a widget with `bind="query-params"` adds its former name here
(`tests/test_old_samples.py` opens links of an older version).
"""

import streamlit as st

# Query parameter -> former name of an option -> present name.
RENAMED: dict[str, dict[str, str]] = {
    "variant": {"oracle (reads the truth)": "oracle (uses the truth)"},
    "way": {"Kept here": "Stored data"},
}


def read_old_links() -> None:
    """Select an option by its present name where the address has its former one."""
    for key, renamed in RENAMED.items():
        names = st.query_params.get_all(key)
        if any(name in renamed for name in names):
            options = [renamed.get(name, name) for name in names]
            st.session_state[key] = options if len(options) > 1 else options[0]
