"""Retrieval: queries for an object with attributes, ranked images side by side, and Cola's adaptation strategies."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

import ui
from core.base.public_mode import is_public, shown
from core.cola.run import StrategyRun
from core.cola.tasks import BENCHMARKS
from core.datasets.published import CITATIONS
from core.figures.shared_words import ranked_images
from core.figures.text import escape_markdown
from core.metrics.retrieval import METRICS
from core.papers import missing_data
from core.runs.engine import launch, start
from core.runs.store import Run
from core.scorers.cola_config import FUSIONS, MIXES, STRATEGIES
from core.scoring.load import builtin_models
from ui import forgetting as cost_part
from ui import retrieval as part
from ui import retrieval_table

LEAD = (
    "A query names an object with attributes. A model that only recognises the words also returns images in which "
    "they belong to other objects; Cola adapts it to bind attributes to their objects "
    "([Cola](https://github.com/arijitray1993/COLA))."
)
LOOK, TABLE, TRAIN = "queries", "strategies", "train"  # also in addresses
THIS = "pages/5_Retrieval.py"
SHOWN = (8, 16, 32)
IMAGES = (100, 200, 500, 1000, 2000)


# ---- queries


def pick_query(found: part.RetrievalSubset) -> int | None:
    """A query of the wanted part, by its number; it is in the address."""
    kinds = {"all": None, "seen in training": False, "unseen in training": True}
    wanted = st.segmented_control("Queries", list(kinds), key="queries", bind="query-params", default="all")
    unseen = kinds[wanted or "all"]
    keep = [i for i in range(len(found.queries)) if unseen is None or bool(found.unseen[i]) is unseen] if (
        found.unseen is not None
    ) else list(range(len(found.queries)))  # fmt: skip
    words = st.text_input("Only queries with", key="words", bind="query-params", placeholder="red cube")
    keep = [i for i in keep if all(w in found.queries[i] for w in words.lower().split())]
    if not keep:
        st.info("No query has all of these words; remove one.", icon=":material/filter_alt_off:")
        return None
    labels = {found.queries[i]: i for i in keep}
    if st.session_state.get("query") not in labels:
        st.session_state.pop("query", None)
    chosen = st.selectbox(
        "Query", list(labels), telling(found, keep), key="query", bind="query-params",
        help="An object with attributes. Only an image that contains exactly this object is relevant.",
    )  # fmt: skip
    return labels[chosen]


def telling(found: part.RetrievalSubset, keep: list[int]) -> int:
    """The place in `keep` of the first query that has attributes to confuse; the first one where none has two."""
    if found.attributes is None:
        return 0
    return next((place for place, i in enumerate(keep) if found.attributes[i] >= 2), 0)


def look() -> None:
    """Pick a query; its ranked images under one model or two."""
    with st.sidebar:
        name = st.selectbox("Set", part.available_sets(), key="rset", bind="query-params")
        sizes, usual = (IMAGES[:2], IMAGES[0]) if is_public() else (IMAGES, 500)
        images = st.select_slider("Images to rank", sizes, usual, key="images", bind="query-params")
        models = ui.model_names()
        one = st.selectbox(
            "Model", models, key="left", bind="query-params", accept_new_options=not is_public()
        )
        other = st.selectbox(
            "Compare with",
            ["none", *models],
            key="right",
            bind="query-params",
            accept_new_options=not is_public(),
        )
    found = part.load_set(name, int(images))
    query = pick_query(found)
    if query is None:
        return
    pools = [p for p in part.POOLS if p == "everything" or getattr(found, p) is not None]
    columns = st.columns([2, 1, 1], vertical_alignment="bottom")
    pool = columns[0].selectbox(
        "Rank among", pools, format_func=part.POOLS.__getitem__, key="pool", bind="query-params"
    )
    most = columns[1].selectbox("Show", SHOWN, key="most", bind="query-params")
    hidden = columns[2].toggle("Predict first", key="rpredict", bind="query-params")
    revealed = not hidden or st.session_state.get("revealed_query") == (name, query)
    count = int(
        (found.relevant[query] & (found.any_word[query] if found.any_word is not None else True)).sum()
    )
    st.caption(
        escape_markdown(
            f"{len(found)} images, {count} of them relevant; words in bold are in the image, words struck "
            "through are not."
        )
    )
    if count == 0:
        st.info(
            "None of these images is relevant to this query, so no metric counts it.", icon=":material/info:"
        )
    chosen = [m for m in (one, other) if m and m != "none"]
    for column, model in zip(st.columns(len(chosen), gap="medium"), chosen, strict=True):
        with column:
            lists(found, query, model, pool, most, revealed)
    if hidden and not revealed:
        predict(name, query, chosen)
    measured(found, chosen)
    ui.export_section("retrieval", None, None)
    if not [m for m in models if m.startswith("run/")]:
        st.info(
            "No adapted model yet; train one under “train” and compare it with its base here.",
            icon=":material/school:",
        )
    with st.expander("Citation", icon=":material/format_quote:"):
        st.text(CITATIONS["Cola"])


def lists(found: part.RetrievalSubset, query: int, model: str, pool: str, most: int, revealed: bool) -> None:
    """One model's ranked images of a query, with what it costs to have a wrong one there."""
    st.markdown(f"**{escape_markdown(model)}**")
    scores = part.query_scores(found, query, model)
    rows = ranked_images(found, query, scores, pool, most)
    if not rows:
        st.info("This list is empty; choose another one.", icon=":material/info:")
        return
    if revealed:
        value = part.evaluation(found.one_query(query), scores[None]).ranking(pool)
        precision = float(value.precision[0]) if value is not None else float("nan")
        expected = float(value.expected[0]) if value is not None else float("nan")
        right = sum(row.right for row in rows)
        text = f"{right} of the first {len(rows)} are relevant"
        if precision == precision:
            text += f"; average precision {100 * precision:.1f} %, chance {100 * expected:.1f} %"
        st.caption(text + ".")
    st.html(part.ranked_html(found, rows, revealed))
    if revealed:
        part.shared_words_table(found, query, scores, pool, most)


def predict(name: str, query: int, models: list[str]) -> None:
    """How many are right? Then the answer."""
    st.segmented_control(
        "Which model returns more relevant images?" if len(models) > 1 else "How many are relevant?",
        models if len(models) > 1 else ["few", "about half", "most"],
        key="rguess",
    )
    if st.button(
        "Reveal", type="primary", disabled=st.session_state.get("rguess") is None, help="Guess first."
    ):
        st.session_state["revealed_query"] = (name, query)
        st.rerun()


def measured(found: part.RetrievalSubset, models: list[str]) -> None:
    """Metrics over every query, on demand: a joint strategy needs a while for them."""
    asked = st.toggle("Evaluate all queries", key="measure", bind="query-params")
    if not asked:
        st.caption(
            "Scores every query with every image; up to a minute for MM-Pred and MM-Adapter, then cached."
        )
        return
    names = list(METRICS)
    metric = st.selectbox(
        "Metric", names, format_func=lambda n: METRICS[n].label, key="rmetric", bind="query-params"
    )
    st.caption(METRICS[metric].meaning)
    for column, model in zip(st.columns(len(models), gap="medium"), models, strict=True):
        with column:
            result = part.evaluation(found, part.whole_scores(found, model))
            st.markdown(f"**{escape_markdown(model)}**")
            for line in part.metric_lines(result, metric) or ["This set has no lists for this metric."]:
                st.caption(escape_markdown(line))


# ---- adapt


def train(store: ui.VisitorStore) -> None:
    """Start a strategy as a background run, or open one."""
    runs = {run.id: run for run in store.list("adapt")}
    asked = st.query_params.get("run", "new")
    options = ["new", *runs]
    st.session_state["arun"] = asked if asked in options else "new"
    names = {"new": "+ a new run", **{i: ui.run_label(run) for i, run in runs.items()}}
    chosen = st.selectbox("Run", options, format_func=names.__getitem__, key="arun", on_change=choose_run)
    if chosen == "new":
        form(store)
    else:
        run = runs[chosen]
        st.fragment(live, run_every=2.0 if run.live else None)(chosen, run.live)
        if run.status == "finished":
            after(run)


def choose_run() -> None:
    open_run(st.session_state["arun"])


def open_run(name: str) -> None:
    if name == "new":
        st.query_params.pop("run", None)
    else:
        st.query_params["run"] = name


def form(store: ui.VisitorStore) -> None:
    """Strategy, fusion, mix, base, seed; and what the strategy trains."""
    benchmark, lacks = pick_benchmark()
    left, right = st.columns(2, gap="medium")
    with left:
        strategy = st.selectbox(
            "Strategy",
            list(STRATEGIES),
            index=list(STRATEGIES).index("mm-adapter"),
            format_func=lambda n: STRATEGIES[n].label,
            key="strategy",
            bind="query-params",
        )
        st.caption(STRATEGIES[strategy].meaning)
        joint = STRATEGIES[strategy].joint
        fusion = st.selectbox("Fusion", list(FUSIONS), key="fusion", bind="query-params", disabled=not joint)
        st.caption(FUSIONS[fusion] if joint else "Only MM-Pred and MM-Adapter fuse image and text.")
    with right:
        known = (*builtin_models(), *ui.model_names(strategies=False))
        bases = [n for n in known if "siglip" in n or "clip" in n or "run/" in n]
        base = st.selectbox(
            "Base", list(dict.fromkeys(bases)), key="base", bind="query-params", accept_new_options=not is_public(),
            help="CLIP, SigLIP or FLAVA: built in, a run's model, a Hugging Face name or a folder.",
        )  # fmt: skip
        mixes = list(MIXES)
        mix = st.selectbox("Training queries", mixes, mixes.index("multi"), key="mix", bind="query-params")
        st.caption(MIXES[mix])
        epochs = int(ui.number(st, "Epochs", 1, 100, 8, key="epochs") or 8)
        seed = int(ui.number(st, "Seed", 0, 10_000, 0, key="aseed") or 0)
    st.caption(
        "Trains on newly generated scenes (for other sets, on their training scene graphs), never on test images. "
        "Combinations that count as unseen occur in none of them."
    )
    for what in lacks:
        st.warning(escape_markdown(what), icon=":material/download:")
    if st.button(
        "Start the run", type="primary", icon=":material/play_arrow:", disabled=not base or bool(lacks)
    ):
        options = {"strategy": strategy, "mix": mix, "epochs": epochs, "seed": seed}
        options |= {"fusion": fusion} if joint else {}
        job = StrategyRun.of(benchmark, ui.model_source(base), options=options)
        run = start(store, job.title, job)
        open_run(run.id)
        st.rerun()


def pick_benchmark() -> tuple[str, tuple[str, ...]]:
    """What to train on and measure, and what of it is not here; sets that are here come first."""
    known = ["scenes/retrieval"] if is_public() else list(BENCHMARKS)
    lacks = {name: missing_data(name, True) for name in known}
    names = sorted(known, key=lambda name: bool(lacks[name]))
    name = st.selectbox("Train on", names, key="trainon", bind="query-params")
    return name, lacks[name]


def live(run_id: str, polled: bool) -> None:
    """Everything that grows, polled while the run lives."""
    with ui.show_errors():
        store = ui.VisitorStore()
        run, steps = store.get(run_id), store.steps(run_id)
        if polled != run.live:
            st.rerun()
        controls(store, run)
        if not steps:
            st.info(
                "The curves appear once the base model has been evaluated.", icon=":material/hourglass_top:"
            )
            return
        part.curves(run, steps)
        part.tests(steps)


def controls(store: ui.VisitorStore, run: Run) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(run.status)
        if run.status in ("queued", "running") and store.owns(run):
            st.button(
                "Stop", icon=":material/stop:", on_click=act, args=(partial(store.request_stop, run.id),)
            )
        if run.resumable and store.owns(run):
            st.button(
                "Resume", icon=":material/play_arrow:", on_click=act, args=(partial(launch, store, run.id),)
            )
    if run.live:
        st.progress(run.fraction, text=escape_markdown(run.message or run.status))
    if run.error:
        st.error(escape_markdown(shown(run.error)), icon=":material/error:")


def act(action: Callable[[], object]) -> None:
    """Stop or resume from a callback; a refusal is shown like any other error."""
    with ui.show_errors():
        action()


def after(run: Run) -> None:
    """Where a finished strategy goes from here."""
    name = f"run/{run.id}"
    st.caption(
        escape_markdown(f"The adapted model is available on every page as {name}; it can be adapted further.")
    )
    with st.container(horizontal=True):
        state = {"view": LOOK, "left": "builtin/clip", "right": name}
        ui.page_button("See its ranked images", THIS, state, icon=":material/image_search:", type="primary")
        ui.page_button(
            "Adapt it by test-time matching",
            "pages/4_Test-Time_Matching.py",
            {"model": name, "run": "new"},
            icon=":material/trending_up:",
        )
    cost_part.forgetting_section(ui.VisitorStore(), run)


def page(store: ui.VisitorStore) -> None:
    view = st.segmented_control(
        "View",
        [LOOK, TABLE, TRAIN],
        key="view",
        bind="query-params",
        default=LOOK,
        label_visibility="collapsed",
    )
    if view == TABLE:
        retrieval_table.table()
    elif view == TRAIN:
        train(store)
    else:
        look()


ui.open_page("Retrieval", LEAD, pick=False, sidebar=st.query_params.get("view", LOOK) == LOOK)
with ui.show_errors():
    page(ui.VisitorStore())
