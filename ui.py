"""The only shared page code: page start, the one selection of all pages, cached loaders, formats, downloads."""

from __future__ import annotations

import base64
import io
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

import numpy as np
import streamlit as st
from streamlit.errors import StreamlitAPIException

from core import browse, datasets, drawing
from core.errors import InputError, unknown_name
from core.evaluation import Evaluation, tags_frame
from core.groups import Group, GroupSet, ImageRef
from core.metrics import METRICS, Estimate
from core.papers import CITATIONS
from core.scorers import builtin_models, scorer_key
from core.scores import ScoreCache, score_groups
from core.texts import duration, name_and_meaning, plain, ties

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from core.runs import Run

log = logging.getLogger("crossmatch.pages")

PAGES = {
    "app.py": ("Home", ":material/home:"),
    "pages/1_Groups.py": ("Groups", ":material/grid_view:"),
    "pages/2_Matching.py": ("Matching", ":material/join_inner:"),
    "pages/3_Test-Time_Matching.py": ("Test-time matching", ":material/trending_up:"),
    "pages/4_Runs.py": ("Runs", ":material/list_alt:"),
}
SPLITS = ("test", "validation", "train")
# What the sidebar picks; bound to the address, so every link carries it.
SHARED = ("set", "split", "shape", "model", "tag")

LOOK = Path(__file__).parent / ".streamlit"


class Selection(NamedTuple):
    """What the sidebar has picked; `groups` are the picked groups, of one shape, with images."""

    benchmark: str
    split: str
    model: str
    tags: tuple[str, ...]
    groups: GroupSet  # before the tag filter
    mask: np.ndarray  # bool (n,), the tag filter

    @property
    def line(self) -> str:
        m, k = self.groups.shape
        tags = f" · only {', '.join(self.tags)}" if self.tags else ""
        return (
            f"{self.benchmark} · {self.split} · {int(self.mask.sum())} groups of {m}×{k} · {self.model}{tags}"
        )


# --- page start, errors ------------------------------------------------------------------------------------------


def start(title: str, lead: str = "", pick: bool = True) -> Selection | None:
    """Open a page: browser title, look, navigation, heading and, with `pick`, the shared selection."""
    name = "Crossmatch" if title == "Crossmatch" else f"{title} · Crossmatch"
    st.set_page_config(page_title=name, page_icon=str(LOOK / "icon.svg"), layout="wide")
    st.html(LOOK / "style.css")
    st.logo(str(LOOK / "logo.svg"), size="large")
    with st.container(key="nav", horizontal=True, gap="xxsmall"):
        for page, (label, icon) in PAGES.items():
            st.page_link(page, label=label, icon=icon)
    st.title(title, anchor=False)
    if lead:
        st.markdown(lead)
    if not pick:
        return None
    with guard():
        _restore(title)
        for key, kind, known in (("set", "benchmark", benchmarks()), ("split", "split", SPLITS)):
            if (asked := st.query_params.get(key, known[0])) not in known:  # the widget falls back by itself
                st.warning(plain(str(unknown_name(kind, asked, known))), icon=":material/link_off:")
        selection = _pick()
    st.caption(plain(selection.line))
    return selection


@contextmanager
def guard() -> Iterator[None]:
    """A user's mistake becomes one sentence; a mistake of ours too, and its traceback goes to the terminal alone."""
    try:
        yield
    except InputError as error:
        st.error(plain(str(error)), icon=":material/error:")
        st.stop()
    except Exception:
        log.exception("a page failed")
        st.error(
            "Something went wrong on our side; the terminal has the details. Reload the page, or reset the selection."
        )
        st.stop()


def jump(label: str, page: str, state: Mapping[str, Any], **look: Any) -> None:
    """A button that opens a page with these widget values set (also those that the address holds)."""
    if st.button(label, on_click=_set, args=(state,), **look):
        # Never query_params=None: that clears the sidebar's parameters too, which Streamlit refuses.
        own = {k: v if isinstance(v, list) else str(v) for k, v in state.items() if k not in SHARED and v}
        st.switch_page(page, query_params=own)


def _set(state: Mapping[str, Any]) -> None:
    st.session_state.update(state)
    st.session_state.setdefault("kept", {}).update({k: v for k, v in state.items() if k in SHARED})


# --- the one selection -------------------------------------------------------------------------------------------


def _restore(page: str) -> None:
    """On another page than before: picks come along, into widgets and address.

    Streamlit does so by itself for bound widgets, but not from a page that was left before it was done.
    """
    kept = st.session_state.setdefault("kept", {})
    if st.session_state.get("picked_on") != page:
        for key in kept.keys() - st.query_params.keys():
            with suppress(StreamlitAPIException):  # a parameter that a widget holds already
                st.query_params[key] = kept[key]
            st.session_state[key] = kept[key]
    st.session_state["picked_on"] = page


def _pick() -> Selection:
    with st.sidebar:
        benchmark = st.selectbox(
            "Benchmark", benchmarks(), key="set", bind="query-params", help="Those at hand come first."
        )
        split = st.selectbox("Split", SPLITS, key="split", bind="query-params")
        groups = load_groups(benchmark, split)
        if len(groups.shapes) > 1:
            shapes = {f"{m}x{k}": part for (m, k), part in groups.buckets().items()}
            groups = shapes[
                st.selectbox("Shape (images x captions)", list(shapes), key="shape", bind="query-params")
            ]
        model = st.selectbox(
            "Model",
            model_names(),
            key="model",
            bind="query-params",
            accept_new_options=True,
            help="Built in, adapted by one of your runs (`run/…`), a Hugging Face or open_clip name, or a folder.",
        )
        options = browse.tag_options(groups)
        if options:
            if "tag" in st.session_state:  # of another set, perhaps
                st.session_state["tag"] = [t for t in st.session_state["tag"] if t in options]
            st.multiselect(
                "Only groups with", list(options), key="tag", bind="query-params", placeholder="all groups"
            )
        st.session_state["kept"] |= {key: st.session_state[key] for key in SHARED if key in st.session_state}
        st.button("Reset selection", on_click=_reset, icon=":material/restart_alt:", type="tertiary")
    if model is None:
        raise InputError(
            "No model is at hand: train the built-in one with `crossmatch pretrain clip`, or type a name."
        )
    tags = tuple(st.session_state.get("tag", ())) if options else ()
    return Selection(benchmark, split, model, tags, groups, browse.tag_mask(options, tags, len(groups)))


def _reset() -> None:
    """Every pick at its default; the widgets want to be told, not only forgotten."""
    _set(
        {
            "set": datasets.names()[0],
            "split": SPLITS[0],
            "model": next(iter(builtin_models()), None),
            "tag": [],
        }
    )
    for key in ("shape", "group", "upload"):
        st.session_state.pop(key, None)


@st.cache_data(ttl=30, max_entries=1, show_spinner=False)
def benchmarks() -> list[str]:
    """All of them; those whose data are here first. Choosing another says what it needs."""
    return sorted(datasets.names(), key=lambda name: datasets.state(name).startswith("needs"))


def model_names() -> list[str]:
    """Built-in models and the adapted ones of finished runs."""
    from core.runs import RunStore

    finished = [run for run in RunStore().list("ttm") if run.status == "finished"]
    return [*builtin_models(), *(f"run/{run.id}" for run in finished[:10])]


# --- loaders -----------------------------------------------------------------------------------------------------


@st.cache_resource(max_entries=16, show_spinner="Loading groups …")
def load_groups(benchmark: str, split: str) -> GroupSet:
    return datasets.load(benchmark, split)


def evaluate(selection: Selection) -> Evaluation:
    """The picked model's evaluation on the picked groups: from memory, the score cache, or the model itself."""
    groups, source = selection.groups, model_source(selection.model)
    address = (selection.benchmark, selection.split, groups.shape, selection.model, scorer_key(source))
    found = _score(address, groups, source)
    if selection.mask.all():
        return found
    if not selection.mask.any():
        raise InputError("No group carries all of these tags; take one of them out of the sidebar's filter.")
    return _filter((*address, selection.tags), found, selection.mask)


class LazyScorer:
    """Knows its key; loads its model, and with it torch, only when a score is in no cache."""

    def __init__(self, source: str, place: Any) -> None:
        self.name, self._place = source, place
        self.key = scorer_key(source) or self.__getattr__("key")

    def __getattr__(self, name: str) -> Any:
        from core.scorers import load_scorer

        with self._place, st.spinner(f"Loading {plain(self.name)} …"):
            return getattr(load_scorer(self.name), name)


@st.cache_resource(max_entries=24, show_spinner=False)
def _score(address: tuple, _groups: GroupSet, _source: str) -> Evaluation:
    place = st.empty()
    bar = progress_bar(place, "Scoring")
    found = score_groups(
        LazyScorer(_source, place), _groups, ScoreCache(), lambda done, total: bar(done / total)
    )
    place.empty()
    return Evaluation.of(found, _groups.truth, _groups.ids, tags=tags_frame([g.tags for g in _groups]))


@st.cache_resource(max_entries=24, show_spinner=False)
def _filter(address: tuple, _evaluation: Evaluation, _mask: np.ndarray) -> Evaluation:
    return _evaluation.select(_mask)


def model_source(name: str) -> str:
    """What `load_scorer` takes: the name itself, or the folder of a run's adapted model."""
    if not name.startswith("run/"):
        return name
    from core.runs import RunStore

    folder = RunStore().folder(name.removeprefix("run/")) / "model"
    if not folder.is_dir():
        raise InputError(f"There is no finished {name}; choose another model.")
    return str(folder)


@st.cache_data(max_entries=4000, show_spinner=False)
def image_uri(key: str, size: int, _image: ImageRef) -> str:
    """A picture as a data address, at most `size` pixels on a side; `key` is its content hash."""
    picture = _image.open(size)
    picture.thumbnail((size, size))
    buffer = io.BytesIO()
    picture.save(buffer, "WEBP", quality=88)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode()


def pictures(group: Group, size: int) -> list[str]:
    """The group's images as markup; the alternative text names them and gives nothing away."""
    names = [f"Image {drawing.image_name(i)}" for i in range(len(group.images))]
    return [
        f'<img src="{image_uri(ref.key, size, ref)}" alt="{n}">'
        for n, ref in zip(names, group.images, strict=True)
    ]


def draw_group(
    group: Group,
    data: drawing.GroupData,
    revealed: bool = True,
    student: Sequence[int | None] | None = None,
    size: int = 320,
) -> None:
    """Images, captions and the lines between them."""
    lines = drawing.edges(data, revealed, student)
    alt = drawing.matching_alt(data, revealed)
    st.html(drawing.matching_html(pictures(group, size), group.captions, lines, alt))


# --- formats -----------------------------------------------------------------------------------------------------


def metric_card(name: str, estimate: Estimate) -> None:
    """An accuracy as a card; the tooltip is the glossary."""
    label, meaning = name_and_meaning(name)
    more = f"\n\n$${METRICS[name].formula}$$\n\n{METRICS[name].reference}." if name in METRICS else ""
    with st.container(border=True, gap="xxsmall"):
        note = "Below: 95 % interval over groups, chance level, tied groups (a tie is wrong)."
        st.metric(label, f"{estimate.value:.1f} %", help=f"{meaning}{more}\n\n{note}")
        st.caption(
            f"95 %: {estimate.low:.1f}–{estimate.high:.1f}  \nchance {estimate.chance:.1f} · {ties(estimate)}"
        )


def run_label(run: Run) -> str:
    return f"{run.title} · {datetime.fromtimestamp(run.created):%d %b %H:%M:%S} · {run.status}"


def progress_bar(place: Any, what: str) -> Callable[[float], None]:
    """A progress callback (fraction done) that draws into `place` and says how long is left."""
    started = time.monotonic()

    def show(fraction: float) -> None:
        spent = time.monotonic() - started
        left = f", {duration(spent / fraction * (1 - fraction))} left" if fraction > 0.02 else ""
        place.progress(min(fraction, 1.0), text=f"{what}: {fraction:.0%}{left}")

    return show


# --- take it away ------------------------------------------------------------------------------------------------

# One look for all charts: no logo, a camera that saves an SVG, no zoom that a finger triggers by accident.
CHART = {"displaylogo": False, "modeBarButtons": [["toImage"]], "toImageButtonOptions": {"format": "svg"}}


def chart(figure: go.Figure, alt: str, key: str | None = None) -> None:
    config = {**CHART, "toImageButtonOptions": {"format": "svg", "filename": key or "crossmatch"}}
    st.plotly_chart(figure, config=config, alt=alt, key=key)


def take_away(
    name: str, table: pd.DataFrame | None = None, figures: Mapping[str, go.Figure] | None = None
) -> None:
    """Downloads of a view and the link to it. Files are made when they are asked for."""
    with st.popover("Take it away", icon=":material/download:"):
        if table is not None:
            data = lambda: table.to_csv(index=False).encode()  # noqa: E731
            st.download_button(
                "Table (CSV)", data, f"{name}.csv", "text/csv", on_click="ignore", icon=":material/table:"
            )
        for title, figure in (figures or {}).items():
            file = f"{name}-{title}.html".replace(" ", "-")
            page = lambda f=figure: _figure_page(f)  # noqa: E731
            st.download_button(
                f"Figure: {title} (HTML)",
                page,
                file,
                "text/html",
                on_click="ignore",
                icon=":material/bar_chart:",
            )
        if figures:
            st.caption("As SVG: the camera at the upper right of a figure.")
        st.caption("Link to exactly this view:")
        st.code(link(), language=None, wrap_lines=True)


def link() -> str:
    """The address of this view: page and every picked value."""
    base = (st.context.url or "").split("?")[0]
    query = urlencode([(k, v) for k in st.query_params for v in st.query_params.get_all(k)], safe="/: ")
    return f"{base}?{query}".replace(" ", "%20") if query else base


def _figure_page(figure: go.Figure) -> bytes:
    """A figure as a page of its own, on white."""
    page = {
        **figure.to_dict(),
        "layout": {**figure.to_dict()["layout"], "paper_bgcolor": "#fff", "template": "plotly_white"},
    }
    return type(figure)(page).to_html(include_plotlyjs=True, config={"displaylogo": False}).encode()


def cite(groups: GroupSet | None) -> None:
    """Where the data and the methods come from."""
    with st.expander("Source, licence, citation", icon=":material/format_quote:"):
        if groups is not None:
            for label, text in (("Data", groups.title or groups.name), ("Source", groups.source)):
                st.text(f"{label}: {text or 'not given'}")
            st.text(f"Licence: {groups.licence or 'not given'}")
            st.text(f"Cite as: {groups.citation or groups.name}")
        for name in ("TTM", "Winoground"):
            st.text(CITATIONS[name])
