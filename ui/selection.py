"""The one selection of all pages: benchmark, split, shape, model and tags, in the sidebar and in the address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import streamlit as st
from streamlit.errors import StreamlitAPIException

from core import datasets
from core.base.errors import InputError
from core.base.public_mode import is_public
from core.groups import GroupSet
from core.metrics import group_filters
from core.runs.models import run_model
from core.scorers.plugins import plugins
from core.scorers.score_kinds import KINDS
from core.scoring.load import builtin_models
from ui.cached import cached_on
from ui.loaders import load_groups, scorer_list
from ui.visitor import VisitorStore

_SPLITS = ("test", "validation", "train")  # scores of the built-in models ship for the first
# The sidebar's parameters; bound to the address, so every link carries them.
_SHARED = ("set", "split", "shape", "model", "tag")


class Selection(NamedTuple):
    """What the sidebar has selected; `groups` are of one shape, with images."""

    benchmark: str
    split: str
    model: str
    tags: tuple[str, ...]
    groups: GroupSet  # before the tag filter
    mask: np.ndarray  # bool (n,), the tag filter

    @property
    def selected_groups(self) -> GroupSet:
        """The groups that pass the tag filter."""
        return self.groups if self.mask.all() else self.groups.select(self.mask)

    @property
    def description(self) -> str:
        """The selection in one line."""
        m, k = self.groups.shape
        tags = f" · only {', '.join(self.tags)}" if self.tags else ""
        kind = scorer_list().get(self.model)
        model = f"{self.model} ({KINDS[kind].label})" if kind else self.model
        return f"{self.benchmark} · {self.split} · {int(self.mask.sum())} groups of {m}×{k} · {model}{tags}"

    def without_tags(self) -> Selection:
        """The same with all groups."""
        return self._replace(mask=np.ones(len(self.groups), bool), tags=())


def whole_test_set(benchmark: str, model: str) -> Selection:
    """All test groups of a set of one shape, with a model."""
    groups = load_groups(benchmark, "test")
    return Selection(benchmark, "test", model, (), groups, np.ones(len(groups), bool))


def page_button(label: str, page: str, state: Mapping[str, Any], **button: Any) -> None:
    """A button that opens a page with these widget values set (also those that the address holds)."""
    if st.button(label, on_click=set_state, args=(state,), **button):
        switch_page(page, state)


def switch_page(page: str, state: Mapping[str, Any]) -> None:
    """Open a page with these values in its address; those of the sidebar are set before, by `set_state`."""
    # Never query_params=None: that clears the sidebar's parameters too, which Streamlit refuses.
    parameters = {k: v if isinstance(v, list) else str(v) for k, v in state.items() if k not in _SHARED and v}
    st.session_state["carried"] = {k: state[k] for k in parameters}
    try:
        st.switch_page(page, query_params=parameters)
    except StreamlitAPIException:  # this page has a widget of one of these names; its value is carried
        st.switch_page(page, query_params={})


def restore_carried_state() -> None:
    """On the page that a `page_button` opened: the values of widgets that both pages have."""
    for key, value in st.session_state.pop("carried", {}).items():
        st.session_state[key] = value


def set_state(state: Mapping[str, Any]) -> None:
    """Give widgets of any page their values (from a callback)."""
    st.session_state.update(state)
    st.session_state.setdefault("kept", {}).update({k: v for k, v in state.items() if k in _SHARED})


def restore_selection(page: str) -> None:
    """On another page than before: the selection comes along, into widgets and address.

    Streamlit does so by itself for bound widgets, but not from a page that was left before its script had ended.
    """
    selected = st.session_state.setdefault("kept", {})
    if st.session_state.get("picked_on") != page:
        for key in selected.keys() - st.query_params.keys():
            with suppress(StreamlitAPIException):  # a parameter that a widget holds already
                st.query_params[key] = selected[key]
            st.session_state[key] = selected[key]
    st.session_state["picked_on"] = page


def open_group(group: str | None) -> None:
    """Show a group, or none, in the page's list of groups (from a callback)."""
    st.session_state["group"] = group


def pick_group(ids: Sequence[str], **look: Any) -> str | None:
    """The group that is open on this page, if any: chosen from a list, by a button or by the address.

    look : what else `st.selectbox` takes.
    """
    if st.session_state.get("group") not in (None, *ids):
        open_group(None)
    return st.selectbox(
        "Group",
        ids,
        index=None,
        key="group",
        bind="query-params",
        placeholder="open a group by its id",
        **look,
    )


def pick_selection() -> Selection:
    with st.sidebar:
        benchmark = st.selectbox(
            "Benchmark", benchmarks(), key="set", bind="query-params", help="Available benchmarks come first."
        )
        split = st.selectbox("Split", available_splits(), key="split", bind="query-params")
        groups = load_groups(benchmark, split)
        if len(groups.shapes) > 1:
            buckets = cached_on(groups, "shapes", groups.buckets)
            by_shape = {f"{m}x{k}": bucket for (m, k), bucket in buckets.items()}
            label = "Shape (images x captions)"
            groups = by_shape[st.selectbox(label, list(by_shape), key="shape", bind="query-params")]
        model = st.selectbox(
            "Model",
            model_names(),
            key="model",
            bind="query-params",
            accept_new_options=not is_public(),
            help="Built in, adapted by one of your runs (`run/…`), a Hugging Face or open_clip name, or a folder. A "
            "prefix selects another of its scores: `itc:`, `itm:`, `vgpt:`, `blind:`, `vqa:`, `lm:`.",
        )
        options = cached_on(groups, "tags", lambda: group_filters.tag_options(groups))
        if options:
            if "tag" in st.session_state:  # of another set, perhaps
                st.session_state["tag"] = [t for t in st.session_state["tag"] if t in options]
            st.multiselect(
                "Only groups with", list(options), key="tag", bind="query-params", placeholder="all groups"
            )
        st.session_state["kept"] |= {key: st.session_state[key] for key in _SHARED if key in st.session_state}
        st.button("Reset selection", on_click=_reset, icon=":material/restart_alt:", type="tertiary")
    if model is None:
        raise InputError(
            "No model is available: train the built-in one with `crossmatch pretrain clip`, or type a name."
        )
    tags = tuple(st.session_state.get("tag", ())) if options else ()
    return Selection(
        benchmark, split, model, tags, groups, group_filters.tag_mask(options, tags, len(groups))
    )


def _reset() -> None:
    """Every widget at its default; removing its value is not enough."""
    set_state(
        {
            "set": datasets.names()[0],
            "split": _SPLITS[0],
            "model": next(iter(builtin_models()), None),
            "tag": [],
        }
    )
    for key in ("shape", "group", "upload"):
        st.session_state.pop(key, None)


@st.cache_data(ttl=30, max_entries=1, show_spinner=False)
def benchmarks() -> list[str]:
    """All of them, the available ones first. Choosing another one says what it needs."""
    names = [name for name in datasets.names() if name.startswith("scenes/") or not is_public()]
    return sorted(names, key=lambda name: datasets.state(name).startswith("needs"))


def available_splits() -> tuple[str, ...]:
    """In public mode only the split whose scores ship, or visitors would wait for each other's models."""
    return _SPLITS[:1] if is_public() else _SPLITS


def model_names(strategies: bool = True) -> list[str]:
    """Every score that the built-in models give, and the models that finished runs have adapted.

    strategies : also those that Cola's strategies (runs of kind `adapt`) made: they score, but cannot be adapted again.
    """
    store = VisitorStore()
    adapted = [
        run_model(run.id, run.config)
        for run in store.list()
        if run.status == "finished"
        and (strategies or run.kind != "adapt")
        and (store.folder(run.id) / "model").is_dir()
    ]
    return [*scorer_list(), *adapted[:12], *([] if is_public() else _plugin_scorers())]


@st.cache_resource(ttl=60, max_entries=1, show_spinner=False)
def _plugin_scorers() -> list[str]:
    """Scorers of installed packages; finding them reads every package's metadata."""
    return [f"python:{name}" for name in plugins()]
