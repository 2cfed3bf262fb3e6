"""Retrieval: queries for an object with attributes, ranked images side by side, and Cola's adaptation strategies."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

import ui
from core.base.public_mode import is_public
from core.cola.run import StrategyRun
from core.cola.tasks import BENCHMARKS
from core.figures.shared_words import RankedImage, ranked_images
from core.figures.text import escape_markdown
from core.metrics.retrieval import METRICS
from core.papers import missing_data
from core.runs.engine import start
from core.runs.store import Run
from core.scorers.cola_config import FUSIONS, MIXES, STRATEGIES
from core.scoring.load import builtin_models
from ui import forgetting as cost_part
from ui import retrieval as part
from ui import retrieval_table, runs

LEAD = (
    "A query names an object with attributes. A model that only recognises the words also returns images in which "
    "they belong to other objects; Cola adapts it to bind attributes to their objects "
    "([Cola](https://github.com/arijitray1993/COLA))."
)
KINDS = ("adapt",)  # of the runs that this page shows
LOOK, TABLE, TRAIN = "queries", "strategies", "train"  # also in addresses
THIS = "pages/5_Retrieval.py"
SHOWN = (8, 16, 32)
IMAGES = (100, 200, 500, 1000, 2000)


# ---- queries


def pick_query(subset: part.RetrievalSubset) -> int | None:
    """A query of the wanted part, by its number; it is in the address."""
    kinds = {"all": None, "seen in training": False, "unseen in training": True}
    wanted = st.segmented_control("Queries", list(kinds), key="queries", bind="query-params", default="all")
    unseen = kinds[wanted or "all"]
    keep = [i for i in range(len(subset.queries)) if unseen is None or bool(subset.unseen[i]) is unseen] if (
        subset.unseen is not None
    ) else list(range(len(subset.queries)))  # fmt: skip
    words = st.text_input(
        "Only queries with these words", key="words", bind="query-params", placeholder="red cube"
    )
    keep = [i for i in keep if all(w in subset.queries[i] for w in words.lower().split())]
    if not keep:
        st.info("No query has all of these words; remove a word.", icon=":material/filter_alt_off:")
        return None
    labels = {subset.queries[i]: i for i in keep}
    if st.session_state.get("query") not in labels:
        st.session_state.pop("query", None)
    chosen = st.selectbox(
        "Query", list(labels), telling(subset, keep), key="query", bind="query-params",
        help="An object with attributes. Only an image that contains exactly this object is relevant.",
    )  # fmt: skip
    return labels[chosen]


def telling(subset: part.RetrievalSubset, keep: list[int]) -> int:
    """The place in `keep` of the first query with a colour (the built-in models are sure of it) and another attribute
    to confuse; the first one where there is none."""
    if subset.attributes is None:
        return 0
    coloured = [getattr(phrase, "colour", None) for phrase in getattr(subset, "phrases", ())]
    tells = (
        place for place, i in enumerate(keep) if subset.attributes[i] >= 2 and (not coloured or coloured[i])
    )
    return next(tells, 0)


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
    subset = part.load_set(name, int(images))
    query = pick_query(subset)
    if query is None:
        return
    pools = [p for p in part.POOLS if p == "everything" or getattr(subset, p) is not None]
    columns = st.columns([2, 1, 1], vertical_alignment="bottom")
    pool = columns[0].selectbox(
        "Rank among", pools, format_func=part.POOLS.__getitem__, key="pool", bind="query-params"
    )
    most = columns[1].selectbox("Show", SHOWN, key="most", bind="query-params")
    hidden = columns[2].toggle("Predict first", key="rpredict", bind="query-params")
    revealed = not hidden or st.session_state.get("revealed_query") == (name, query)
    count = int(
        (subset.relevant[query] & (subset.any_word[query] if subset.any_word is not None else True)).sum()
    )
    st.caption(
        escape_markdown(
            f"{len(subset)} images, {count} of them relevant. Words in bold are true of an object in the image, "
            "not always of the same one; words struck through are true of none."
        )
    )
    if count == 0:
        st.info(
            "None of these images is relevant to this query, so no metric counts it.", icon=":material/info:"
        )
    chosen = [m for m in (one, other) if m and m != "none"]
    ranked = {}
    for column, model in zip(st.columns(len(chosen), gap="medium"), chosen, strict=True):
        with column:
            ranked[model] = lists(subset, query, model, pool, most, revealed)
    if hidden and not revealed:
        predict(name, query, chosen)
    measured(subset, chosen)
    table = (lambda: part.ranked_table(subset, ranked)) if revealed else None
    ui.export_section("retrieval", table, papers=("Cola",))
    if not [m for m in models if m.startswith("run/")]:
        st.info(
            "No adapted model yet; train one under “train” and compare it with its base here.",
            icon=":material/school:",
        )
    ui.cite(None, ("Cola",))


def lists(
    subset: part.RetrievalSubset, query: int, model: str, pool: str, most: int, revealed: bool
) -> list[RankedImage]:
    """One model's ranked images of a query, with what it costs to have a wrong one there."""
    st.markdown(f"**{escape_markdown(model)}**")
    scores = part.query_scores(subset, query, model)
    rows = ranked_images(subset, query, scores, pool, most)
    if not rows:
        st.info("This list is empty; choose another one.", icon=":material/info:")
        return rows
    if revealed:
        value = part.evaluation(subset.one_query(query), scores[None]).ranking(pool)
        precision = float(value.precision[0]) if value is not None else float("nan")
        expected = float(value.expected[0]) if value is not None else float("nan")
        right = sum(row.right for row in rows)
        text = f"{right} of the first {len(rows)} are relevant"
        if precision == precision:
            text += f"; average precision {100 * precision:.1f} %, chance {100 * expected:.1f} %"
        st.caption(text + ".")
    st.html(part.ranked_html(subset, rows, revealed))
    if revealed:
        part.shared_words_table(subset, query, scores, pool, most)
    return rows


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


def measured(subset: part.RetrievalSubset, models: list[str]) -> None:
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
            result = part.evaluation(subset, part.whole_scores(subset, model))
            st.markdown(f"**{escape_markdown(model)}**")
            for line in part.metric_lines(result, metric) or ["This set has no lists for this metric."]:
                st.caption(escape_markdown(line))


# ---- adapt


def train(store: ui.VisitorStore) -> None:
    """Start a strategy as a background run, or open one."""
    shown = runs.open_run_id(store, KINDS)
    runs.lost_run_warning()
    runs.open_run(shown)
    runs.pick_run(store, shown, "arun", KINDS)
    if shown == runs.NEW:
        form(store)
        return
    run = store.get(shown)
    runs.live_section([run], growing, "The curves appear once the base model has been evaluated.")
    steps = store.steps(shown)
    if steps:
        part.export_run(run, steps)
    if run.status == "finished":
        after(run)


def growing(running: Sequence[Run], steps: Sequence[runs.Records]) -> None:
    """Everything that grows while a strategy is trained."""
    part.curves(running[0], steps[0])
    part.tests(steps[0])


def form(store: ui.VisitorStore) -> None:
    """Strategy, fusion, mix, base, seed; and what the strategy trains."""
    benchmark, missing = pick_benchmark()
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
    for what in missing:
        st.warning(escape_markdown(what), icon=":material/download:")
    if st.button(
        "Start the run", type="primary", icon=":material/play_arrow:", disabled=not base or bool(missing)
    ):
        options = {"strategy": strategy, "mix": mix, "epochs": epochs, "seed": seed}
        options |= {"fusion": fusion} if joint else {}
        job = StrategyRun.of(benchmark, ui.model_source(base), options=options)
        run = start(store, job.title, job)
        runs.open_run(run.id)
        st.rerun()


def pick_benchmark() -> tuple[str, tuple[str, ...]]:
    """What to train on and measure, and which of its data are missing; available sets come first."""
    known = ["scenes/retrieval"] if is_public() else list(BENCHMARKS)
    missing = {name: missing_data(name, True) for name in known}
    names = sorted(known, key=lambda name: bool(missing[name]))
    name = st.selectbox("Train on", names, key="trainon", bind="query-params")
    return name, missing[name]


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
