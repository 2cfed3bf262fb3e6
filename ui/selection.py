"""The one selection of all pages: benchmark or file, split, shape, model, tags; in the sidebar and in the address."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import streamlit as st
from streamlit.errors import StreamlitAPIException
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core import datasets
from core.base.errors import InputError, unknown_name
from core.base.public_mode import check_benchmark, check_source, is_public, may_be_shifted
from core.base.text import counted
from core.datasets import SHIFTS
from core.figures.text import escape_markdown
from core.groups import GroupSet
from core.metrics import group_filters
from core.runs.models import of_same_kind
from core.scorers.plugins import plugins
from core.scorers.score_kinds import KINDS
from core.scoring.load import builtin_models
from ui.built_in import SMALL_MODELS, built_in_said
from ui.cached import cached_on
from ui.history import STEPS
from ui.loaders import load_groups, scorer_list
from ui.missing import missing_set
from ui.navigation import WITH_SELECTION
from ui.run_names import began, run_names, run_of
from ui.score_options import score_options
from ui.uploads import PREFIX, is_upload, pick_shape, upload_groups, upload_names
from ui.visitor import VisitorStore

_SPLITS = ("test", "validation", "train")  # scores of the built-in models ship for the first
# The sidebar's parameters; bound to the address, so every link carries them.
_SHARED = ("set", "split", "shape", "model", "tag")
_TWO_TOWERS = ("builtin/siglip", "builtin/clip")
_OF_BENCHMARKS = ("split", "model")  # a file has neither


_INSTEAD_OF = (
    "instead_of"  # in the address: whose place the model has taken, on a page that cannot use that one
)

OPENED_BY_ITSELF = "opened_by_itself"  # in the session: the set that a page chose while nobody had chosen one
_GOES_ALONG = "goes_along"  # in the session: the same set, where an address that was opened names it
_GLOBAL, _SHIFT = "@global", "~"  # ends of a set's name
_PLAIN = "as they are"
_ROOM = 17  # letters of a file's name for which its field in the sidebar has room
_WAS_OPEN = "group_was_open"  # in the session: the group that the page was last drawn with
_TAGS_FIELD = "Only groups with"
_GROUP_FIELD = "open by id"  # some pages show no label, and this alone; phones have room for no more


class NearestModel(NamedTuple):
    """The model that a page can use where it cannot use the selected one, and why in one line; "" where it can.

    said : by the page itself, where nobody chose the model that it replaces.
    """

    name: str
    why: str = ""
    said: bool = False


class Selection(NamedTuple):
    """What the sidebar has selected; `groups` are of one shape.

    A file takes the place of a benchmark (`upload/NAME`; its groups have neither images nor captions, and `model` is
    the file as well) or of a model, whose scores of the benchmark it then holds.
    """

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
    def is_file(self) -> bool:
        """Whether a file is selected in place of a benchmark."""
        return is_upload(self.benchmark)

    @property
    def file(self) -> str | None:
        """The file that the scores are from, as an entry of the selection; None where a model gives them."""
        return self.model if is_upload(self.model) else None

    @property
    def description(self) -> str:
        """The selection in one line, with what kind of scores it has: of what stands alone, as an export."""
        return self.described(kind=True)

    def described(self, first: int = 0, kind: bool = False) -> str:
        """The selection in one line. first : how many of its groups are used, from the first on; 0 for all. kind :
        whether to name the kind of scores, which a page has in its “?” (`score_meaning`)."""
        m, k = self.groups.shape
        tags = f" · only {', '.join(map(_shown_tag, self.tags))}" if self.tags else ""
        total = int(self.mask.sum())
        some = f"{first} of " if 0 < first < total else ""
        groups = f"{some}{counted(total, 'group')} of {m}×{k}"
        if self.is_file:
            return f"{self.benchmark.removeprefix(PREFIX)} (your file) · {groups}{tags}"
        scores = scorer_list().get(self.model)
        label = "your file" if self.file else KINDS[scores].label if kind and scores else ""
        name = model_said(self.model).removeprefix(PREFIX)
        model = f"{name} ({label})" if label else name
        return f"{self.benchmark} · {self.split} · {groups} · {model}{tags}"

    @property
    def score_meaning(self) -> str | None:
        """What the model's scores are, and what a built-in model is; None where neither is known, as of a file."""
        kind = None if self.file else scorer_list().get(self.model)
        scores = f"{KINDS[kind].label}: {KINDS[kind].meaning}" if kind else ""
        said = "" if self.file else built_in_said(self.model)
        return "\n\n".join(filter(None, (said, scores))) or None

    @property
    def address(self) -> dict[str, Any]:
        """The query parameters of this selection, as `page_button` takes them."""
        shape = "x".join(map(str, self.groups.shape))
        if self.is_file:
            return {"set": self.benchmark, "shape": shape, "tag": list(self.tags)}
        return {"set": self.benchmark, "split": self.split, "model": self.model, "tag": list(self.tags)}

    def without_tags(self) -> Selection:
        """The same with all groups."""
        return self._replace(mask=np.ones(len(self.groups), bool), tags=())


def _shown_tag(tag: str) -> str:
    """`held out: none` of the tag `held_out: none`, as an opened group has it."""
    name, colon, value = tag.partition(":")
    return name.replace("_", " ") + colon + value


def whole_test_set(benchmark: str, model: str) -> Selection:
    """All test groups of a set of one shape, with a model."""
    return whole_set(benchmark, "test", model)


def whole_set(benchmark: str, split: str, model: str) -> Selection:
    """All groups of a split of a set of one shape, with a model."""
    groups = load_groups(benchmark, split)
    return Selection(benchmark, split, model, (), groups, np.ones(len(groups), bool))


# --- from page to page


def page_button(label: str, page: str, state: Mapping[str, Any], **button: Any) -> None:
    """A button that opens a page with these widget values set (also those that the address holds).

    They are set on that page: here the sidebar would write them into the address that Back returns to.
    """
    if st.button(label, **button):
        switch_page(page, state)


def switch_page(page: str, state: Mapping[str, Any]) -> None:
    """Open a page with these values in its widgets and its address, with the selection where that page shows it."""
    st.session_state["carried"] = dict(state)
    try:
        shared = shared_parameters() if page in WITH_SELECTION else {}
        st.switch_page(page, query_params=_parameters({**shared, **state}))
    except StreamlitAPIException:  # this page has a widget of one of these names; its value is carried
        st.switch_page(page, query_params={})  # None would clear what widgets of this page hold: refused, too


def _parameters(state: Mapping[str, Any]) -> dict[str, Any]:
    """Values of widgets as query parameters; the defaults of the sidebar's fields are in no address."""
    said = {key: value for key, value in state.items() if value and value != _default(key)}
    return {key: value if isinstance(value, list) else str(value) for key, value in said.items()}


def offer_nearest(
    line: str, label: str, page: str, state: Mapping[str, Any], nearer: Callable[[], None] | None = None
) -> None:
    """Say in one line why this view cannot use the selection, with a button to the nearest that can. nearer : draws the
    ways to what is nearer still, between the two."""
    st.info(escape_markdown(line), icon=":material/swap_horiz:")
    if nearer is not None:
        nearer()
    page_button(label, page, state, icon=":material/arrow_forward:")


def select(**state: Any) -> None:
    """Run this page again with these values of widgets that it has drawn already."""
    _remember(state)
    st.session_state["carried"] = state
    st.rerun()


def select_on_opening(**state: Any) -> None:
    """`select` where the page has just been opened: what its address has would win over these values."""
    _unbind(state)
    st.query_params.update(_parameters(state))
    select(**state)


def restore_carried_state() -> None:
    """On the page that a `page_button` or `select` opened: the values of its widgets, also in the address."""
    carried = st.session_state.pop("carried", {})
    set_state(carried)
    _write_address(carried)


def open_by_itself(name: str) -> None:
    """Select a set that nobody asked for: of a first visit, whose page shows more on it. It is of this page alone: the
    menu does not carry it to the others, unless an address that somebody opened names it."""
    st.session_state[_GOES_ALONG] = name if st.query_params.get("set") == name else ""
    seed("set", name)
    st.session_state[OPENED_BY_ITSELF] = name


def set_of_page_alone() -> str | None:
    """The set that a page chose by itself and keeps to itself; None where there is none."""
    state = st.session_state
    name = state.get(OPENED_BY_ITSELF)
    return None if name == state.get(_GOES_ALONG) else name


def chosen_by_page(name: str, why: str) -> str:
    """After the line of the selection that the page chose this set by itself, and why; "" where somebody chose one."""
    state = st.session_state
    is_own = state.get(OPENED_BY_ITSELF) == name and state.get("set", name) == name
    return f". Chosen here: {why}." if is_own else ""


def seed(key: str, value: Any) -> None:
    """Give a widget that is not drawn yet its value, also in the address."""
    st.session_state[key] = value
    _write_address({key: value})


def _write_address(state: Mapping[str, Any]) -> None:
    """Add values of widgets to the address, all at once, as far as no widget has them there already."""
    missing = {key: value for key, value in _parameters(state).items() if key not in st.query_params}
    if not missing:
        return  # even an update with nothing is sent to the browser, and a step back would lose its address
    try:
        st.query_params.update(missing)
    except StreamlitAPIException:  # a widget of this page writes one of them by itself
        for key, value in missing.items():
            with suppress(StreamlitAPIException):
                st.query_params[key] = value


def set_state(state: Mapping[str, Any]) -> None:
    """Give widgets of any page their values (from a callback)."""
    st.session_state.update(state)
    _remember(state)


def _remember(state: Mapping[str, Any]) -> None:
    """What is selected, beyond pages that do not show it."""
    st.session_state.setdefault("selected", {}).update({k: v for k, v in state.items() if k in _SHARED})


def selected_set() -> str:
    """The benchmark or file that the menu's pages open, of a page that shows another one by a field of its own."""
    return str(st.session_state.get("selected", {}).get("set") or _default("set"))


def forget_set(entry: str) -> None:
    """Of a file that has been removed (from a callback): neither a field nor the address has it any more. The address
    alone would select it once more for the other pages (`put_off_selection`)."""
    for place in (st.session_state, st.session_state.get("selected", {})):
        if place.get("set") == entry:
            place.pop("set")
    if st.query_params.get("set") == entry:
        _unbind(["set"])
        st.query_params.pop("set", None)


def selected_model() -> str:
    """The model that the field in the sidebar shows, before it is drawn, too."""
    state = st.session_state
    before = state.get("selected", {}).get("model")
    return str(state.get("model") or st.query_params.get("model") or before or _default("model"))


def shared_parameters(chosen: bool = False) -> dict[str, Any]:
    """The selection as query parameters of a link to another page, without what is the default.

    chosen : without a set that a page chose by itself."""
    selected = dict(st.session_state.get("selected", {}))
    for key in _SHARED:
        if key in st.session_state:
            selected[key] = st.session_state[key]
        elif key in st.query_params:
            selected[key] = st.query_params.get_all(key)
    wanted, nearest = st.session_state.get("replaced_model", (None, None))
    if nearest is not None and selected.get("model") == nearest.name:
        selected["model"] = wanted
    if chosen and selected.get("set") == set_of_page_alone():
        selected.pop("set", None)
    named = selected.get("set") or ""
    if is_upload(
        named if isinstance(named, str) else named[-1]
    ):  # a file has neither; the session keeps them for a benchmark
        selected = {key: value for key, value in selected.items() if key not in _OF_BENCHMARKS}
    return _parameters(selected)


def shown_selection() -> dict[str, str]:
    """What this page's fields of the selection show, defaults too, as parameters of its address; empty on a page that
    draws none."""
    if st.session_state.get("picked_on") is None:
        return {}
    fields = ("set",) if is_upload(str(st.session_state.get("set", ""))) else ("set", *_OF_BENCHMARKS)
    return {key: str(st.session_state[key]) for key in fields if st.session_state.get(key)}


def _default(key: str) -> str | None:
    """What a field of the sidebar shows, and no address says."""
    if key == "set":
        return next(iter(benchmarks()))
    return {"split": _SPLITS[0], "model": next(iter(builtin_models()), None)}.get(key)


def keep_in_address(fields: Mapping[str, Any]) -> None:
    """On a view that does not draw these fields of its page: the address has them for when the page draws them again.

    fields : each with the value that no address says.
    """
    context = get_script_run_ctx()
    if context is None:
        return
    if context.is_history_navigation:  # what the address has is what the fields get
        for key in fields:
            st.session_state.pop(key, None)
        return
    _unbind(fields)
    for key, default in fields.items():
        if key not in st.session_state:
            continue
        value = st.session_state[key]
        said = (
            [*value]
            if isinstance(value, list | tuple)
            else [str(value).lower() if isinstance(value, bool) else str(value)]
        )
        if value in (default, None):
            st.query_params.pop(key, None)
        elif st.query_params.get_all(key) != said:
            st.query_params[key] = said
    with context.session_state.query_params() as parameters:
        parameters.set_initial_query_params_from_current()


def _unbind(keys: Iterable[str]) -> None:
    """Fields of the view before that had these in the address have them no more: Streamlit takes out what a field had
    there that is drawn no more, and lets nobody else do so."""
    context = get_script_run_ctx()
    if context is not None:
        with context.session_state.query_params() as parameters:
            for key in keys:
                if (binding := parameters.get_binding_for_param(key)) is not None:
                    parameters.unbind_widget(binding.widget_id)


def read_history() -> None:
    """Where the browser went back: all of the address counts.

    Streamlit takes out what a field of the same name on the page that was left had there: all of the selection.
    """
    context = get_script_run_ctx()
    if context is not None and context.is_history_navigation:
        with context.session_state.query_params() as parameters:
            parameters.populate_from_query_string(context.query_string)
            parameters.set_initial_query_params_from_current()
            parameters.update({})  # tells the browser
        for key in STEPS:  # pages ask for these before their widget is drawn
            if key in st.query_params:
                st.session_state[key] = st.query_params[key]
            else:
                st.session_state.pop(key, None)


def put_off_selection() -> None:
    """On a page, or a view, that draws no fields of the selection: what the address has of it is for the next one."""
    st.session_state["picked_on"] = None
    # What is in the state is newer. It is asked for by name: a stranger's message may have ids that no widget has.
    said = [key for key in _SHARED if key in st.query_params and key not in st.session_state]
    asked = {key: st.query_params.get_all(key) for key in said}
    state = {key: names if key == "tag" else names[0] for key, names in asked.items()}
    if "model" in state:
        state["model"] = _model_before() or state["model"]
    st.session_state.update(state)
    _remember(state)


def leave_selection_out() -> None:
    """Of a view that is of one set whatever is selected, as of a run: its address names no other one. What it said is
    remembered (`put_off_selection`)."""
    said = [key for key in (*_SHARED, _INSTEAD_OF, "benchmark") if key in st.query_params]
    _unbind(said)
    for key in said:
        del st.query_params[key]


def _restore_selection(page: str) -> None:
    """The selection comes along from another page, or from fields that were not drawn, into widgets and address."""
    context, state = get_script_run_ctx(), st.session_state
    came, state["picked_on"] = state.get("picked_on") != page, page
    selected = state.setdefault("selected", {})
    if context is not None and context.is_history_navigation:
        return
    alone = set_of_page_alone()
    if came and "set" not in st.query_params:
        state.pop(OPENED_BY_ITSELF, None)
    if came and "set" not in st.query_params and selected.get("set") == alone:
        selected.pop("set", None)
        state.pop("set", None)
    if came and "model" in st.query_params:  # its field may not be bound to the address (`model_field`)
        state["model"] = st.query_params["model"]
    named = st.query_params.get("set", selected.get("set", "") if came else state.get("set", ""))
    for key, value in selected.items():
        if key in st.query_params or (is_upload(named) and key in _OF_BENCHMARKS):
            continue
        if came or key not in state:
            state[key] = value
    left_out = _OF_BENCHMARKS if is_upload(named) else ()  # a file has no model: none stands in its address
    _write_address({key: state[key] for key in _SHARED if key in state and key not in left_out})


# --- the groups of a page


def open_group(group: str | None) -> None:
    """Show a group, or none, in the page's list of groups (from a callback)."""
    st.session_state["group"] = group
    if st.session_state.get("pair"):  # of the group before
        st.session_state["pair"] = None


def warn_unknown_group(ids: Sequence[str]) -> None:
    """Say which group of the address is not among these; not of one that was open until other groups were selected."""
    asked = [name for name in st.query_params.get_all("group") if name != st.session_state.get(_WAS_OPEN)]
    warn_unknown("group", asked, ids, _GROUP_FIELD)


def pick_group(ids: Sequence[str], warn: bool = True, **look: Any) -> str | None:
    """The group that is open on this page, if any: chosen from a list, by a button or by the address.

    warn : whether to say above the field that the address has an unknown one; a row of fields has no room for it, and
    says so before it begins (`warn_unknown_group`). look : what else `st.selectbox` takes.
    """
    if warn:
        warn_unknown_group(ids)
    if st.session_state.get("group") not in (None, *ids):
        open_group(None)
    opened = st.selectbox(
        "Group",
        ids,
        index=None,
        key="group",
        bind="query-params",
        placeholder=_GROUP_FIELD,
        **look,
    )
    st.session_state[_WAS_OPEN] = opened
    return opened


def group_title(group: str) -> str:
    """A group's name where nothing beside it says what it is: `Group 310` of one that is a number alone."""
    return f"Group {group}" if group.isdecimal() else group


def group_line(group: str, ids: Sequence[str]) -> str:
    """Which group is shown where a page opens one by itself; Markdown."""
    return f"**{escape_markdown(group_title(group))}**, group {ids.index(group) + 1} of {len(ids)}"


def warn_unknown(kind: str, asked: Iterable[str], known: Collection[str], field: str = "") -> None:
    """Say in one line which values of the address a field does not have: it falls back to its default by itself.

    field : what it is known by on the page, of one with many values: their number is said in place of a list that
    nobody can read.
    """
    for name in asked:
        if name and name not in known:
            elsewhere = _elsewhere(kind, name)
            said = elsewhere or str(unknown_name(kind, name, known))
            if field and not elsewhere and "did you mean" not in said:
                said = f"{said.partition(';')[0]}; choose one of {len(known)} in the field “{field}”."
            if field and not known:
                said = f"These groups carry no {kind}s, so {name!r} is left out."
            st.warning(escape_markdown(said), icon=":material/link_off:")


def _elsewhere(kind: str, name: str) -> str:
    """What a public server says of a benchmark or a model that one's own installation has; "" of any other name."""
    try:
        if kind == "benchmark" and name in datasets.names(None):
            check_benchmark(name)
        elif kind == "model" and re.fullmatch(r"[\w.-]+/[\w.-]+", name):
            check_source(name)
    except InputError as error:
        return str(error)
    return ""


# --- the sidebar


def _use_nearest(nearest_model: Callable[[str], NearestModel] | None, came: bool) -> None:
    """Put the nearest model that a page can use in place of the selected one; take it back on another page.

    came : from another page or view, not by a field of this one, in which somebody chooses a model.
    """
    state = st.session_state
    # A file takes the model's place; of one that is not stored any more the field falls back to a benchmark.
    if state.get("set", st.query_params.get("set")) in upload_names():
        nearest_model = None
    now = state.get("model", st.query_params.get("model", _default("model")))
    wanted, nearest = state.get("replaced_model") or _replaced_by_link(now, nearest_model)
    is_other = wanted is not None and now != nearest.name  # another one was chosen meanwhile
    if is_other:
        wanted = None
    elif wanted is not None and nearest_model is None:
        state["model"], wanted = wanted, None
    if wanted is None:
        state.pop("replaced_model", None)
        nearest = NearestModel(now or "") if nearest_model is None or not now else nearest_model(now)
        if not nearest.why:
            return
        nearest = nearest._replace(said=nearest.said and (came or not is_other))
        state["replaced_model"], state["model"] = (now, nearest), nearest.name
    else:
        state["replaced_model"] = wanted, nearest
    if not nearest.said:
        st.caption(f":material/swap_horiz: {escape_markdown(nearest.why)}")


def _replaced_by_link(
    now: str | None, nearest_model: Callable[[str], NearestModel] | None
) -> tuple[str | None, NearestModel]:
    """The model whose place the address says that its model has taken, as after a reload, and what stands there now."""
    wanted = _model_before()
    if wanted is None or nearest_model is None:
        return None, NearestModel("")
    nearest = nearest_model(wanted)
    return (wanted, nearest) if nearest.why and nearest.name == now else (None, NearestModel(""))


def _model_before() -> str | None:
    """The model whose place the address says that its model has taken; of a visitor's link only a known one."""
    said = st.query_params.get(_INSTEAD_OF)
    return said if said and (not is_public() or said in model_names()) else None


def _mark_replaced_model() -> None:
    """Say in the address whose place its model has taken: a reload knows then what other pages get back."""
    wanted, nearest = st.session_state.get("replaced_model", (None, None))
    said = wanted if nearest is not None and st.query_params.get("model") == nearest.name else None
    if said is None:
        st.query_params.pop(_INSTEAD_OF, None)
    elif st.query_params.get(_INSTEAD_OF) != said:
        st.query_params[_INSTEAD_OF] = said


def pick_selection(page: str, nearest_model: Callable[[str], NearestModel] | None = None) -> Selection:
    """The sidebar's fields.

    page : its title. nearest_model : of a page that cannot use every model; what it puts in place of the selected one
    is selected on that page alone.
    """
    came = st.session_state.get("picked_on") != page
    _restore_selection(page)
    _use_nearest(nearest_model, came)
    needs, files, tags = benchmarks(), upload_names(), st.query_params.get_all("tag")
    shifted = shifted_names()  # each beside the set that it is made of
    ready = [
        each
        for name in needs
        if not needs[name]
        for each in (name, *(other for other in shifted if _shift_of(other)[0] == name))
    ]
    names = [*ready, *files, *(name for name in needs if needs[name])]
    with st.sidebar:
        benchmark = st.selectbox(
            "Benchmark or file",
            names,
            key="set",
            bind="query-params",
            help="Available benchmarks first, then your files, then benchmarks whose data are not on this machine.",
        )
        if benchmark != st.session_state.get(OPENED_BY_ITSELF):  # from now on somebody chose
            st.session_state.pop(OPENED_BY_ITSELF, None)
        selection: Selection | None
        if is_upload(benchmark):
            selection = _pick_of_file(benchmark)
        else:
            selection = _pick_of_benchmark(benchmark, files, needs.get(benchmark, ""))
        st.button("Reset selection", on_click=_reset, icon=":material/restart_alt:", type="tertiary")
    _mark_replaced_model()
    if selection is None:
        here = next(iter(needs))
        missing_set(benchmark, needs[benchmark], here, lambda: set_state({"set": here}))
        st.stop()
    if not selection.model:
        raise InputError(
            "No model is available: train the built-in one with `crossmatch pretrain clip`, or type a name."
        )
    warn_unknown("tag", tags, _tag_options(selection.groups), _TAGS_FIELD)
    return selection


def _pick_of_file(entry: str) -> Selection:
    """The fields below a file, whose whole name stands there where its own field has no room for it."""
    name = entry.removeprefix(PREFIX)
    if len(name) > _ROOM:
        st.caption(escape_markdown(name))
    shape = pick_shape(entry)
    if not shape:
        _forget_shape()
    groups = _with_pictures(upload_groups(entry, shape))
    tags, mask = _pick_tags(groups)
    _leave_out_of_file()
    _remember_fields("set", "tag", *(["shape"] if shape else []))
    return Selection(entry, "", entry, tags, groups, mask)


def _leave_out_of_file() -> None:
    """A model and a split that came along in a link say nothing of a file: they are kept for the next benchmark, and no
    address of this view has them."""
    for key in _OF_BENCHMARKS:
        if key in st.query_params:
            if key not in st.session_state:
                st.session_state[key] = st.query_params[key]
            with suppress(StreamlitAPIException):  # a field of the run before: Streamlit takes it out
                del st.query_params[key]


def _forget_shape() -> None:
    """Nothing that is selected has a choice of shapes: what was chosen for another is in no link and no command."""
    st.session_state.pop("shape", None)
    if "shape" in st.query_params:
        del st.query_params["shape"]


def _with_pictures(groups: GroupSet) -> GroupSet:
    """A file's groups with the images and captions of the benchmark that it was made on, where that is here."""
    return cached_on(groups, ("pictures", last_benchmark()), lambda: _drawn(groups))


def _drawn(groups: GroupSet) -> GroupSet:
    where = benchmark_of(groups)
    if where is None:
        return groups
    there = {group.id: group for group in load_groups(where["set"], where["split"])}
    if any(group.shape != there[group.id].shape for group in groups):
        return groups
    drawn = (replace(g, images=there[g.id].images, captions=there[g.id].captions) for g in groups)
    some = "its" if len(groups) == len(there) else f"{len(groups)} of its {len(there)}"
    line = f"Pictures and captions are those of {where['set']}, split {where['split']}: the file has {some} groups."
    return replace(groups, groups=tuple(drawn), description=line)


def _pick_of_benchmark(benchmark: str, files: Sequence[str], needs: str) -> Selection | None:
    """The fields below a benchmark; None where its data are not here."""
    st.session_state["last_benchmark"] = benchmark
    if not needs:
        _pick_shift(benchmark)
    split, fields = st.selectbox("Split", available_splits(), key="split", bind="query-params"), list(_SHARED)
    groups = None if needs else load_groups(benchmark, split)
    if groups is not None and len(groups.shapes) > 1:
        buckets = cached_on(groups, "shapes", groups.buckets)
        by_shape = {f"{m}x{k}": bucket for (m, k), bucket in buckets.items()}
        label = "Shape (images x captions)"
        groups = by_shape[st.selectbox(label, list(by_shape), key="shape", bind="query-params")]
    else:
        fields.remove("shape")
        if groups is not None:
            _forget_shape()
    names = [*model_names(), *files]
    chosen = st.session_state.get("model") or st.query_params.get("model")
    model = pick_model(
        "Model",
        names,
        "model",
        run_names([*names, chosen] if chosen else names) or None,
        help=f"{SMALL_MODELS} Others are adapted by one of your runs (`run/…`), or a Hugging Face or open_clip name, a "
        "folder, or a file with scores of this benchmark. Part of a name and Enter choose the first name that has it. "
        "A prefix selects another of a model's scores: `itc:`, `itm:`, `vgpt:`, `blind:`, `vqa:`, `lm:`.",
    )
    if groups is None:
        _remember_fields("set", "split", "model")
        return None
    tags, mask = _pick_tags(groups)
    _remember_fields(*fields)
    return Selection(benchmark, split, model or "", tags, groups, mask)


def model_said(model: str) -> str:
    """What a model is called in a sentence: as its field has it where one of the visitor's runs has adapted it, and by
    its own name else. Addresses and commands keep the name."""
    return run_names([*model_names(), model]).get(model, model) if run_of(model) else model


def _pick_shift(benchmark: str) -> None:
    """How the pictures of a set are changed: another choice selects another set, whose name is in the address."""
    base, shift = _shift_of(benchmark)
    st.session_state["shift"] = shift or _PLAIN
    st.selectbox(
        "Pictures",
        [_PLAIN, *_shifts(base)],
        key="shift",
        on_change=_use_shift,
        args=(base,),
        format_func=lambda name: f"{name}: {SHIFTS[name].description}" if name in SHIFTS else name,
        help="Every picture as another lamp, weather, camera or file would show it; captions and groups stay. "
        "Test-time matching gains most where pictures differ from those that a model was trained on.",
    )


def _use_shift(base: str) -> None:
    chosen = st.session_state["shift"]
    set_state({"set": _shifted(base, chosen) if chosen in SHIFTS else base})


def _shift_of(name: str) -> tuple[str, str]:
    """A set's name without its shift, and the shift: `a/b~fog@global` -> (`a/b@global`, `fog`)."""
    base, _, shift = name.removesuffix(_GLOBAL).partition(_SHIFT)
    return base + (_GLOBAL if name.endswith(_GLOBAL) else ""), shift


def _shifted(base: str, shift: str) -> str:
    return base.removesuffix(_GLOBAL) + _SHIFT + shift + (_GLOBAL if base.endswith(_GLOBAL) else "")


def _shifts(base: str) -> list[str]:
    """Of a set; in public mode only those whose scores ship, as of splits."""
    return [name for name in SHIFTS if may_be_shifted(_shifted(base, name))]


def shifted_names() -> list[str]:
    """The shifted set that is selected, and the one that the address names; there are too many for a list."""
    asked = dict.fromkeys((st.session_state.get("set", ""), st.query_params.get("set", "")))
    needs = benchmarks()
    parts = {name: _shift_of(name) for name in asked if name}
    return [name for name, (base, shift) in parts.items() if needs.get(base) == "" and shift in _shifts(base)]


def _remember_fields(*drawn: str) -> None:
    """Keep the fields that were drawn for other pages; a file leaves the last benchmark's split and model."""
    for key in {*_SHARED} - {*drawn, *_OF_BENCHMARKS}:
        st.session_state["selected"].pop(key, None)
    _remember({key: st.session_state[key] for key in drawn if key in st.session_state})
    if "replaced_model" in st.session_state:
        _remember({"model": st.session_state["replaced_model"][0]})


def _tag_options(groups: GroupSet) -> dict[str, np.ndarray]:
    return cached_on(groups, "tags", lambda: group_filters.tag_options(groups))


def _pick_tags(groups: GroupSet) -> tuple[tuple[str, ...], np.ndarray]:
    """The tags that groups are filtered by, and the mask, bool (n,)."""
    options = _tag_options(groups)
    if not options:
        return (), np.ones(len(groups), bool)
    if "tag" in st.session_state:  # of another set, perhaps
        st.session_state["tag"] = [tag for tag in st.session_state["tag"] if tag in options]
    st.multiselect(_TAGS_FIELD, list(options), key="tag", bind="query-params", placeholder="all groups")
    tags = tuple(st.session_state.get("tag", ()))
    return tags, group_filters.tag_mask(options, tags, len(groups))


def pick_model(
    label: str, names: Sequence[str], key: str, written: Mapping[str, str] | None = None, **more: Any
) -> str | None:
    """`model_field`, and below it the options of the model's score."""
    model = model_field(label, names, key, written, **more)
    model_options(model, key)
    return model


def model_options(model: str | None, key: str) -> None:
    """The options of a model's score. key : of the field that names the model, which gets those that are chosen."""
    with_options = score_options(model, key)
    if with_options is not None:
        select(**{key: with_options})


def model_field(
    label: str, names: Sequence[str], key: str, written: Mapping[str, str] | None = None, **more: Any
) -> str | None:
    """A model from a list or, outside public mode, any other name; part of a listed one stands for the first that has
    it. Below it which run the name is of.

    written : what stands on the screen in place of names, which the address keeps: the page writes it then, as a field
    that is bound to it would write there what is on the screen. With it a field has no default but `_default`.
    """
    if written is not None:
        _read_model(key)
        more["format_func"] = lambda name: written.get(name, name)
    model = st.selectbox(
        label,
        names,
        key=key,
        bind=None if written is not None else "query-params",
        accept_new_options=not is_public(),
        filter_mode="contains",  # the first name in the list is the one that `_complete_name` takes
        on_change=_complete_name,
        args=(key, tuple(names), written or {}),
        **more,
    )
    if written is not None:
        _write_model(key, model)
    _run_line(model)
    return model


def _read_model(key: str) -> None:
    """Before its field is drawn, what the address says of a model: where nothing was chosen yet, and after a step back
    or forward."""
    context, state = get_script_run_ctx(), st.session_state
    _unbind([key])  # of a list without runs the address had the field
    asked = st.query_params.get(key)
    if context is not None and context.is_history_navigation:
        state[key] = asked or _default(key)
    elif asked and key not in state:
        state[key] = asked
    elif key in state:
        state[key] = state[key]  # of the field of another page, which this one would not begin with


def _write_model(key: str, model: str | None) -> None:
    if not model or model == _default(key):
        st.query_params.pop(key, None)
    elif st.query_params.get(key) != model:
        st.query_params[key] = model


def _run_line(model: str | None) -> None:
    """Below the name of a model that a run has adapted: which run that is."""
    run = run_of(model)
    if run is not None:
        st.caption(escape_markdown(f"{run.title}, run of {began(run)}"))


def _complete_name(key: str, names: Iterable[str], written: Mapping[str, str] = MappingProxyType({})) -> None:
    """Replace a part of a name that was typed by the first name that has it, or is written with it."""
    typed = st.session_state[key]
    if typed is not None and typed not in names:
        part = typed.strip().lower()
        found = (name for name in names if part in name.lower() or part in written.get(name, "").lower())
        st.session_state[key] = next(found, typed.strip())


def _reset() -> None:
    """Every widget at its default; removing its value is not enough."""
    set_state({"set": _default("set"), "split": _default("split"), "model": _default("model"), "tag": []})
    for key in ("shape", "group"):
        st.session_state.pop(key, None)
        st.session_state["selected"].pop(key, None)
    _unbind(["tag"])
    st.query_params.pop("tag", None)  # else the first set was asked for a tag of the set before


@st.cache_data(ttl=30, max_entries=1, show_spinner=False)
def benchmarks() -> dict[str, str]:
    """All of them, each with what it needs ("" for one that is available), the available ones first."""
    names = [name for name in datasets.names() if name.startswith("scenes/") or not is_public()]
    states = {name: datasets.state(name) for name in names}
    needs = {name: state if state.startswith("needs") else "" for name, state in states.items()}
    return dict(sorted(needs.items(), key=lambda item: bool(item[1])))


def another_model(selection: Selection) -> str | None:
    """What a selection is compared with by default: a quick model of two towers, or for a file the only other one of
    the same groups; None where there is none, or where nobody but the visitor can choose."""
    if selection.is_file:
        ids = {*selection.groups.ids}
        others = (name for name in upload_names() if name != selection.benchmark)
        same = [name for name in others if {*upload_groups(name).ids} == ids]
        return same[0] if len(same) == 1 else None
    return model_beside(selection.model)


def model_beside(model: str | None) -> str | None:
    """What a model, not a file, is compared with by default; None where there is no other one."""
    known = {*model_names()}
    return next((n for n in (*_TWO_TOWERS, *known) if n != model and n in known), None)


def benchmark_of(groups: GroupSet) -> dict[str, str] | None:
    """The benchmark on this machine that a file was made on, as parameters of the address: the one that was selected
    last, a built-in or an own one, if its groups have the same ids, of a built-in one also some of them; else None."""
    return cached_on(groups, ("benchmark", last_benchmark()), lambda: _benchmark_of(set(groups.ids)))


def _benchmark_of(ids: set[str]) -> dict[str, str] | None:
    first, needs = min(ids), benchmarks()
    for name in (last_benchmark(), *needs):
        built_in = name.startswith("scenes/")
        for split in available_splits() if built_in else available_splits()[:1]:
            if built_in and not first.startswith(f"{_shift_of(name)[0].removeprefix('scenes/')}/{split}/"):
                continue  # ids of the built-in groups say where they are from
            if needs.get(name) or not (built_in or name.startswith("mine/") or name == last_benchmark()):
                continue
            known = set(load_groups(name, split).ids)
            if ids == known or (built_in and ids <= known):
                return {"set": name, "split": split}
    return None


def last_benchmark() -> str:
    """The benchmark that was selected last; where none was, the first."""
    return st.session_state.get("last_benchmark") or next(iter(benchmarks()))


def available_splits() -> tuple[str, ...]:
    """In public mode only the split whose scores ship, or visitors would wait for each other's models."""
    return _SPLITS[:1] if is_public() else _SPLITS


def model_names(strategies: bool = True) -> list[str]:
    """Every score that the built-in models give, and the models that finished runs have adapted.

    strategies : also those that Cola's strategies (runs of kind `adapt`) made: they score, but cannot be adapted again.
    """
    store = VisitorStore()
    adapted = [
        of_same_kind(f"run/{run.id}", run.config["model"])
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
