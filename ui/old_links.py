"""Addresses written before an option was renamed: Streamlit puts an option's words into the address, so they are a
written form. A change to an option of a widget with `bind="query-params"` adds its former name here
(`tests/test_old_samples.py` opens links of an older version). A new query parameter of any page is added to
`_PARAMETERS`; one that is not there is named to the reader, and leaves the address.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress

import streamlit as st
from streamlit.errors import StreamlitAPIException
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core import datasets
from core.figures.text import escape_markdown
from ui.navigation import ASK, CHANGES, TRAIN
from ui.selection import set_of_page_alone, shifted_names
from ui.uploads import upload_names

# What some page reads or has read, by what it is about.
_NAMES = """
    by_every_metric
    set selection benchmark split shape model instead_of tag group pair margin q verdict sort page compact predict
    layout file_layout
    lesson term answers firsts drawn explain_by round side share_kept shape_drawn lesson_alpha rung trained_on ladder
    lesson_scores changed_query changed_by mistake mistake_group
    add_image add_caption
    alpha n samples split_seed blind blind_group prior noise_mean noise_std metric method by tau view other
    run runs preset variant mode schedule start share tau1 end share_end tauT T rounds epochs lr seed seeds patience
    more_seeds
    batch micro augmentation crop_factor precision layers weight_decay beta1 beta2 lr_restart lr_final clip_norm keep
    contrastive lora rank lora_alpha targets device transfer adapt_on ledger ledger_set trained changed shifts
    shifts_model sweep
    source scale
    rset images left right queries query words pool most rpredict measure rmetric trainon strategy fusion base mix
    outcome aseed asteps abatch alr adapter paperbase costmetric
    paper table column all_rows empty world world_set published published_set published_metric published_value
    published_groups published_system published_method
    way hub try_model
    together columns find compared_metric differ points in_order
    no_page swapped
    """
_PARAMETERS = frozenset(_NAMES.split())
_OF_OTHERS = ("__", "utm_")  # begin what hosts and mailing lists add to an address

# Query parameter -> former name of an option -> present name.
RENAMED: dict[str, dict[str, str]] = {
    "variant": {"oracle (reads the truth)": "oracle (uses the truth)"},
    "side": {
        "only A right": "only the first right",
        "only B right": "only the second right",
        "both wrong": "neither right",
        "the first alone": "only the first right",
        "the second alone": "only the second right",
        "both": "both right",
        "neither": "neither right",
    },
    "trained_on": {
        "Captions of other groups": "No right caption",
        "Each image's own best caption": "Labels without the bijection",
        "The other half of the groups": "On groups never seen",
    },
    "way": {"Kept here": "Stored data"},
    "view": {
        "alpha": "Move alpha",
        "language prior": "Language prior",
        "blind check": "Without the image",
        "words": "Word by word",
        "samples": "Images needed",
        **dict.fromkeys(("retrieval", "Retrieval"), "Among all captions"),
        "training set": "Training set",
        "queries": ASK,
        "strategies": CHANGES,
        "train": TRAIN,
    },
}


def present_name(key: str, name: str) -> str:
    """What an option is called now."""
    return RENAMED.get(key, {}).get(name, name)


def read_old_links() -> None:
    """Select an option by its present name where the address has its former one, and the set where it is left out."""
    query = st.query_params
    named = query.get("benchmark", "")  # as the field and the commands say
    asked = named or _set_of_group(query.get("group", ""))
    if asked and "set" not in query and "set" not in st.session_state:
        query["set"] = asked
        # The page says of any other that it is unknown, or no longer stored.
        if asked in (*datasets.names(), *shifted_names(), *upload_names()):
            st.session_state["set"] = asked
    if named and ("set" in query or named != st.session_state.get("set")):  # else it is what is selected
        del query["benchmark"]
    for key, renamed in RENAMED.items():
        names = st.query_params.get_all(key)
        if any(name in renamed for name in names):
            options = [present_name(key, name) for name in names]
            st.session_state[key] = options if len(options) > 1 else options[0]
            with suppress(StreamlitAPIException):  # a widget of this page does so by itself
                query[key] = options
                seed_widgets_from_address()


def seed_widgets_from_address() -> None:
    """The address as it is now is what widgets begin with: a former name they would take out of it."""
    context = get_script_run_ctx()
    if context is not None:
        with context.session_state.query_params() as parameters:
            parameters.set_initial_query_params_from_current()


def own_parameters() -> list[str]:
    """What the address says, without what hosts and mailing lists add to it."""
    return [name for name in st.query_params if not name.startswith(_OF_OTHERS)]


def known_parameters() -> list[str]:
    """What the address says and some page knows."""
    return [name for name in own_parameters() if name in _PARAMETERS]


def is_first_visit(without_set: Collection[str] = ()) -> bool:
    """Whether nothing was selected yet and the address says nothing: a page may then open a set of its own.

    without_set : as of `mark_address`.
    """
    state = st.session_state  # what is carried from a page that chooses no set says nothing of one either
    asked = [name for name in known_parameters() if name not in without_set]
    sets = {state.get("set"), state.get("selected", {}).get("set")} - {None, set_of_page_alone()}
    return not (asked or sets or {*state.get("carried", {})} - {*without_set})


def mark_address(without_set: Collection[str] = ()) -> None:
    """Of a page whose first visit opens another set than the others: an address that would be empty, as of the first
    set and model, names that set; else it would open a first visit.

    without_set : parameters that do not choose a set either, when they stand alone.
    """
    query = st.query_params
    query.pop("selection", None)  # of links made before: it said `first`, which names no set
    if set(own_parameters()) <= {"benchmark", *without_set}:
        query["benchmark"] = st.session_state["set"]
    else:
        query.pop("benchmark", None)


def warn_unknown_parameters() -> None:
    """Name in one sentence what the address has and no page knows, and take it out."""
    unknown = [name for name in own_parameters() if name not in _PARAMETERS]
    for name in unknown:
        del st.query_params[name]
    if unknown:
        names = ", ".join(f"“{name[:40]}”" for name in unknown[:3]) + (
            " and others" if len(unknown) > 3 else ""
        )
        st.warning(
            escape_markdown(f"The address had {names}, which no page knows; it is left out."),
            icon=":material/link_off:",
        )


def warn_without_effect(why: Mapping[str, str]) -> None:
    """Name what the address has and this page does not use. why : query parameter -> the reason, as a clause."""
    for name in (name for name in own_parameters() if name in why):
        line = f"“{name}” in the address changes nothing here: {why[name]}."
        st.warning(escape_markdown(line), icon=":material/link_off:")


def _set_of_group(group: str) -> str:
    """The built-in set of a group's id, `swap/test/0003`; "" for any other id."""
    name, _, rest = group.partition("/")
    known = f"scenes/{name}" in datasets.names() and rest.startswith("test/")
    return f"scenes/{name}" if known else ""
