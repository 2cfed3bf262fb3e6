"""Addresses written before an option was renamed: Streamlit puts an option's words into the address, so they are a
written form. A change to an option of a widget with `bind="query-params"` adds its former name here
(`tests/test_old_samples.py` opens links of an older version).
"""

import streamlit as st

from core import datasets

# Query parameter -> former name of an option -> present name.
RENAMED: dict[str, dict[str, str]] = {
    "variant": {"oracle (reads the truth)": "oracle (uses the truth)"},
    "way": {"Kept here": "Stored data"},
}


def read_old_links() -> None:
    """Select an option by its present name where the address has its former one, and the set where it is left out."""
    query = st.query_params
    asked = query.pop("benchmark", "") or _set_of_group(
        query.get("group", "")
    )  # as the field and the commands say
    if asked and "set" not in query and "set" not in st.session_state:
        query["set"] = asked
        if asked in datasets.names():  # the page says of any other that it is unknown
            st.session_state["set"] = asked
    for key, renamed in RENAMED.items():
        names = st.query_params.get_all(key)
        if any(name in renamed for name in names):
            options = [renamed.get(name, name) for name in names]
            st.session_state[key] = options if len(options) > 1 else options[0]


def _set_of_group(group: str) -> str:
    """The built-in set of a group's id, `swap/test/0003`; "" for any other id."""
    name, _, rest = group.partition("/")
    known = f"scenes/{name}" in datasets.names() and rest.startswith("test/")
    return f"scenes/{name}" if known else ""
