"""Retrieval: queries for an object with attributes, ranked images side by side, and Cola's adaptation strategies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import streamlit as st

import ui
from core import datasets
from core.base.errors import InputError
from core.base.public_mode import is_public
from core.base.text import _pct
from core.cola.run import StrategyRun
from core.cola.tasks import BENCHMARKS, BUILTIN
from core.figures.shared_words import RankedImage, ranked_images
from core.figures.text import escape_markdown
from core.metrics.retrieval import METRICS, RetrievalEvaluation
from core.papers import missing_data
from core.runs.engine import start
from core.runs.store import Run
from core.scenes.world import MATERIALS, SIZES
from core.scorers.cola_config import ADAPTERS, FUSIONS, MIXES, PROTOCOL_BASE, STRATEGIES, AdaptConfig
from core.scoring.load import builtin_models
from ui import choices, models_ready, retrieval_table, runs
from ui import forgetting as cost_part
from ui import retrieval as part
from ui import retrieval_own as own
from ui.formatting import touch_help
from ui.navigation import ASK, CHANGES, DEBIAS_VIEWS, RETRIEVAL_VIEWS, TRAIN
from ui.selection import shifted_names
from ui.strategy_time import time_line
from ui.trained import base_of, check_listed, in_words, is_unlisted_word, trained_models, trained_name
from ui.uploads import upload_names
from ui.views import read_view, view_field
from ui.visitor import on_phone

_COLA = "https://github.com/arijitray1993/COLA"
_OF_COLA = f"[Cola]({_COLA})"
LEAD = (  # of two or three lines on a phone, as those below
    "Ask for “a green sphere”: does a green cube beside a red sphere come first, too? "
    f"[The benchmark Cola]({_COLA}) measures how models rank such **distractors**."
)
LEADS = {  # of the other views
    CHANGES: "A model was trained to tell which attribute belongs to which object, in the ways of "
    f"{_OF_COLA} and one more, on newly drawn scenes. What changes?",
    TRAIN: f"Teach a model which attribute belongs to which object, in one of the ways of {_OF_COLA}.",
}
_CHOSEN = f"{PROTOCOL_BASE}. Chosen by this page: builtin/clip never read sizes or materials, and this query names one."
_OPENS_WITH = (
    f"The page opens with {PROTOCOL_BASE}, which read words for sizes and materials in training. builtin/clip, the "
    "first model of the other pages, never read such words."
)
KINDS = ("adapt",)  # of the runs that this page shows
THIS = "pages/5_Retrieval.py"
SHOWN = (8, 16, 32)
SAME = "the same"  # of two models that have equally many right pictures
FEW = 4  # pictures of each of two models that a phone shows first; its style hides as many as are more


# ---- queries


def pick_query(
    subset: part.RetrievalSubset, place: Any, filters: Any
) -> tuple[part.RetrievalSubset, int] | None:
    """A query of the wanted part, or one of the visitor's own: the pictures with it, and its number; it is in the
    address."""
    kinds = {"all": None, "seen in training": False, "unseen in training": True}
    ui.warn_unknown("kind of queries", st.query_params.get_all("queries"), kinds)
    wanted = filters.segmented_control(
        "Queries", list(kinds), key="queries", bind="query-params", default="all"
    )
    unseen = kinds[wanted or "all"]
    keep = [i for i in range(len(subset.queries)) if unseen is None or bool(subset.unseen[i]) is unseen] if (
        subset.unseen is not None
    ) else list(range(len(subset.queries)))  # fmt: skip
    words = filters.text_input(
        "Only queries with these words", key="words", bind="query-params", placeholder="red cube"
    )
    keep = [i for i in keep if all(w in subset.queries[i] for w in words.lower().split())]
    if not keep:
        st.info(
            "No query has all of these words; remove a word under “Options”.",
            icon=":material/filter_alt_off:",
        )
        return None
    labels = {subset.queries[i]: i for i in keep}
    first = own.telling(subset, keep)
    own.answer_typed("query", subset.queries, list(labels), first)
    chosen = place.selectbox(
        "Query: choose one, or type your own", list(labels), first, key="query",
        bind="query-params", accept_new_options=True,
        help="An object with attributes. Only a picture that contains exactly this object is right. Of your own words "
        "too, where they name objects of the built-in world; any other words are ranked without a verdict.",
    )  # fmt: skip
    if chosen in labels:
        return subset, labels[chosen]
    return own.own_query(subset, str(chosen)), 0


def pick_image_count(name: str) -> int:
    """How many images are ranked."""
    sizes = part.image_counts(name)
    if "images" not in st.session_state:  # else it may be the number of another set
        ui.warn_unknown("number of images", st.query_params.get_all("images"), [*map(str, sizes)])
    if st.session_state.get("images", sizes[0]) not in sizes:
        st.session_state.pop("images")  # of another set
    usual = sizes[0] if is_public() else min(500, sizes[-1])
    return int(st.select_slider("Images to rank", sizes, usual, key="images", bind="query-params"))


def pick_models(models: Sequence[str]) -> list[str]:
    """The model, and the one that it is compared with, where there is one. First the one that every strategy of the
    page began with, so that a query has one and the same result before training in all views."""
    trained = trained_models()

    def words(model: str) -> str:
        return trained.get(model, model)

    names = [*models, *trained]
    first = names.index(PROTOCOL_BASE) if PROTOCOL_BASE in names else 0
    one = ui.model_field("Model", names, "left", index=first, format_func=words)
    other = ui.model_field("Compare with", ["none", *names], "right", format_func=words)
    return list(dict.fromkeys(m for m in (one, other) if m and m != "none"))


def look() -> None:
    """Pick a set: its captions with the images that each chooses among, or a query and its ranked images."""
    with st.sidebar:
        ui.warn_unknown("set", st.query_params.get_all("rset"), part.available_sets())
        name = st.selectbox("Set", part.available_sets(), key="rset", bind="query-params")
        among_few = choices.pick_images(name) if choices.is_choice_set(name) else None
        images = 0 if among_few else pick_image_count(name)
        models = ui.model_names()
        chosen = pick_models(models)
    say_unknown_selection(models, name, chosen[0])
    if among_few is None:
        ask(name, images, models, chosen)
        models_ready.prepare(chosen)  # words of one's own need the model itself
    else:
        choices.look(among_few, chosen)


def say_unknown_selection(models: Sequence[str], name: str, model: str) -> None:
    """Of an address with the model or the set of the other pages: that nobody has it, and what is shown; it leaves the
    address. name, model : what is shown."""
    sets = [*datasets.names(None), *shifted_names(), *upload_names(), *part.available_sets()]
    for key, known, shown in (("model", [*models, *trained_models()], model), ("set", sets, name)):
        asked = st.query_params.get(key, "")
        is_ours = key == "set" or asked.startswith(("builtin/", "run/")) or is_unlisted_word(asked, models)
        if asked and asked not in known and is_ours:
            del st.query_params[key]
            st.warning(
                escape_markdown(f"Unknown {key} {asked!r}; shown: {shown}."), icon=":material/link_off:"
            )


def ask(name: str, images: int, models: Sequence[str], chosen: Sequence[str]) -> None:
    """Pick a query; its ranked images under one model or two."""
    subset = part.load_set(name, images)
    asked, query, pool, most, hidden = pick_list(subset)
    if asked is None:
        return
    if chosen[0] == PROTOCOL_BASE and names_size_or_material(asked.queries[query]):
        st.caption(_CHOSEN)  # not in the sidebar, which a phone folds
    revealed: bool | None = not hidden or st.session_state.get("revealed_query") == (
        name,
        asked.queries[query],
    )
    if asked.phrases is None and asked.asked is None and asked is not subset:
        revealed = None
    wording = own.wording_of_set(subset, asked) if asked is not subset and revealed else ""
    ranked: dict[str, list[RankedImage]] = {}
    with st.container(key="answer"):
        if asked is not subset:
            others = own.say_what_is_known(subset, asked, chosen)
            own.ask_buttons(others, own.wording_of_set(subset, asked), "query")
        other_base_lines(chosen)
        ranks = ranks_beside(asked, query, chosen, pool, most) if revealed is None else {}
        question = st.container(key="predict-query")  # above the pictures, which fill a laptop's first screen
        both = st.container(key="both-precisions")  # of a phone, where one list stands below the other
        why = st.container(key="why-precisions")  # before one wonders: it stood below two lists of pictures
        for column, model in zip(st.columns(len(chosen), gap="medium"), chosen, strict=True):
            with column:
                try:
                    check_listed(model, models)
                    beside = part.wording_result(subset, wording, model, pool, most)
                    is_few = len(chosen) > 1
                    notes = ranks.get(model)
                    ranked[model] = lists(asked, query, model, pool, most, revealed, beside, is_few, notes)
                except InputError as error:  # in its own half: below the other one's pictures nobody sees it
                    ui.show_error(error)
        if revealed:
            in_the_way(asked, query, ranked, len(chosen), pool, most)
            both.markdown(both_precisions(asked, query, list(ranked), pool))
            if note := differing_precision(asked, query, ranked, pool):
                why.caption(escape_markdown(note))
    if not ranked:
        return
    if revealed is False:
        with question:
            predict(name, asked.queries[query], list(ranked))
    elif revealed and hidden:
        question.markdown(escape_markdown(answered(ranked, str(st.session_state.get("revealed_guess", "")))))
    measured(subset, list(ranked))
    part.words_section(subset)
    next_steps(models, chosen)
    table = (lambda: part.ranked_table(asked, ranked)) if revealed else None
    # Models and number of pictures too, whose defaults may be others elsewhere: no `recall`, as it knows no one query.
    state = {"rset": name, "images": str(images), "query": asked.queries[query], "left": chosen[0]}
    state |= {"right": chosen[1]} if len(chosen) > 1 else {}
    ui.export_section("retrieval", table, papers=("Cola",), state=state)
    ui.cite(None, ("Cola",))


def names_size_or_material(query: str) -> bool:
    """Whether a query has a word that builtin/clip never read."""
    return not {*SIZES, *MATERIALS}.isdisjoint(re.findall(r"[a-z]+", query.lower()))


def pick_list(
    subset: part.RetrievalSubset,
) -> tuple[part.RetrievalSubset | None, int, str, int, bool]:
    """The pictures with the query, its number, the list that is ranked, how many are shown, and whether to predict
    first; None where there is no query."""
    row = st.container(horizontal=True, vertical_alignment="bottom", key="list-of")
    place = row.container(width=460)
    options = row.popover("Options", icon=":material/tune:", key="list-options")
    picked = pick_query(subset, place, options)
    asked, query = picked or (None, 0)
    pools = [p for p in part.POOLS if p == "everything" or getattr(asked or subset, p) is not None]
    ui.warn_unknown("list to rank among", st.query_params.get_all("pool"), [*part.POOLS.values()])
    ui.warn_unknown("number of pictures", st.query_params.get_all("most"), [*map(str, SHOWN)])
    # Where there is but one list nobody has chosen it: it stays out of the address, and of the next query's choice.
    field = (
        {"key": "pool", "bind": "query-params"} if len(pools) > 1 else {"key": "only-pool", "disabled": True}
    )
    pool = options.selectbox("Rank among", pools, format_func=part.POOLS.__getitem__, **field)
    most = options.selectbox("Show", SHOWN, key="most", bind="query-params")
    hidden = row.toggle("Predict first", key="rpredict", bind="query-params")
    return asked, query, pool, most, hidden


def next_steps(models: Sequence[str], chosen: Sequence[str]) -> None:
    """Where to go from a list of pictures. models : all that there are; chosen : those that are shown."""
    with st.container(horizontal=True, vertical_alignment="center"):
        ui.page_button("See what training changes", THIS, {"view": CHANGES}, icon=":material/leaderboard:")
        trained = trained_name("mm-pred")
        if trained in trained_models() and not {*chosen} & {*trained_models()}:
            # Beside the model and the question that are shown, so by no link to this page, which forgets both.
            label = "Ask a trained model, too"
            if st.button(label, icon=":material/compare:", key="to-top-ask-trained"):
                ui.select(right=trained)
        if not [m for m in models if m.startswith("run/")]:
            ui.page_button("Train a model yourself", THIS, {"view": TRAIN}, icon=":material/school:")


def lists(
    subset: part.RetrievalSubset,
    query: int,
    model: str,
    pool: str,
    most: int,
    revealed: bool | None,
    beside: str = "",
    is_few: bool = False,
    notes: Sequence[str] | None = None,
) -> list[RankedImage]:
    """One model's ranked images of a query. beside : what another wording of the query gives. is_few : a phone shows a
    few of them first, so that the list of another model is near. notes : what stands below pictures that nobody can
    judge, in place of their scores."""
    scores = part.query_scores(subset, query, model)
    rows = ranked_images(subset, query, scores, pool, most)
    if not rows:
        st.info("This list is empty; choose another one under “Options”.", icon=":material/filter_alt_off:")
        return rows
    more, why = "", _OPENS_WITH if model == PROTOCOL_BASE else None
    if revealed:
        said = part.list_result(subset, query, model, scores, pool, rows, beside)
        if on_phone():  # how many are right, then the pictures: all of it took half a screen above them
            said, more = first_sentence(said)
        st.markdown(said, help=None if more else why)
    else:
        words = f" of “{escape_markdown(subset.queries[query])}”" if revealed is None else ""
        st.markdown(
            f"The first {len(rows)} of {len(subset)} pictures for **{escape_markdown(in_words(model))}**{words}"
        )
    is_few = is_few and len(rows) > FEW and not st.session_state.get(f"whole-{model}", False)
    with st.container(key=f"drawn-few-{model}" if is_few else f"drawn-{model}"):
        st.html(part.ranked_html(subset, rows, revealed, notes))
    if more:
        st.markdown(more, help=why)
    if is_few:
        with st.container(key=f"more-pictures-{model}"):
            st.button(
                f"Show {len(rows) - FEW} more", icon=":material/expand_more:", key=f"more-{model}",
                on_click=ui.set_state, args=({f"whole-{model}": True},),
            )  # fmt: skip
    if revealed:
        further_down(subset, query, model, scores, pool, most)
    return rows


def first_sentence(said: str) -> tuple[str, str]:
    """The first sentence of what a list says, which is bold, and the others."""
    head, end, rest = said.partition(".** ")
    return f"{head}{end}".rstrip(), rest


def ranks_beside(
    subset: part.RetrievalSubset, query: int, models: Sequence[str], pool: str, most: int
) -> dict[str, list[str]]:
    """Of two models and words that nobody can judge: that ranks are compared, and below each model's first pictures
    their rank under the other one, by model; {} of one model, and where one of them cannot score."""
    if len(models) < 2:
        return {}
    try:
        scores = {model: part.query_scores(subset, query, model) for model in models}
    except InputError:
        return {}  # its half of the page says why
    rows = {model: ranked_images(subset, query, scores[model], pool, most) for model in models}
    st.caption(part.ranks_compared(*rows.values()))
    found = {}
    for model, other in zip(models, reversed(models), strict=True):
        ranks, name = part.ranks_of(scores[other]), escape(in_words(other))
        found[model] = [f"rank {ranks[row.image]} with {name}" for row in rows[model]]
    return found


def in_the_way(
    subset: part.RetrievalSubset, query: int, models: Sequence[str], halves: int, pool: str, most: int
) -> None:
    """Below the pictures of all models: what having a wrong one among them costs, each in its half of the page."""
    for column, model in zip(st.columns(halves, gap="medium"), models, strict=False):
        with column:
            scores = part.query_scores(subset, query, model)
            part.shared_words_table(subset, query, model, scores, pool, most, halves > 1)


def both_precisions(subset: part.RetrievalSubset, query: int, models: Sequence[str], pool: str) -> str:
    """`Average precision: builtin/clip 40.1 %, MM-Pred, trained 41.5 % (chance 19.9 %).`, of two models, in Markdown;
    "" of one, and where the list has no right picture."""
    found = {
        m: part.average_precision(subset, query, part.query_scores(subset, query, m), pool) for m in models
    }
    known = {model: each for model, each in found.items() if each is not None}
    if len(known) < 2:
        return ""
    said = ", ".join(f"`{in_words(m)}`\u00a0**{_pct(value)}\u00a0%**" for m, (value, _) in known.items())
    (chance,) = {level for _, level in known.values()}  # that of the list, which is one and the same
    return f"Average precision: {said} (chance {_pct(chance)}\u00a0%)."


def differing_precision(
    subset: part.RetrievalSubset, query: int, ranked: dict[str, list[RankedImage]], pool: str
) -> str:
    """Of two models, where the one with fewer right pictures in sight has the higher average precision, why; else
    ""."""
    if len(ranked) < 2:
        return ""
    scores = {m: part.query_scores(subset, query, m) for m in ranked}
    sides = [
        (in_words(m), rows, part.average_precision(subset, query, scores[m], pool))
        for m, rows in ranked.items()
    ]
    return part.why_precision_differs(sides)


def other_base_lines(models: Sequence[str]) -> None:
    """Of a trained model which other model it was trained from, where that one does not stand beside it."""
    for model in models:
        base = base_of(model) if model in trained_models() else None
        if base is None or base in models:
            continue
        beside = [each for each in models if each != model]
        differs = f", not from {beside[0]}: the lists differ by more than the training" if beside else ""
        name = in_words(model).removesuffix(", trained")
        st.caption(escape_markdown(f"{name} was trained from {base}{differs}."))


def further_down(
    subset: part.RetrievalSubset, query: int, model: str, scores: np.ndarray, pool: str, most: int
) -> None:
    """The right pictures that are not among the first ones, the best placed first, once it is opened."""
    missed = ranked_images(subset, query, scores, pool, most, right_after=most)
    if not missed:
        return
    label = "The next right pictures, further down"
    box = st.expander(label, key=f"further-{model}", on_change="rerun")
    if box.open:
        with box, st.container(key=f"drawn-further-{model}"):
            st.html(part.ranked_html(subset, missed, True))


def predict(name: str, query: str, models: list[str]) -> None:
    """How many are right? Then the answer."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control(
            "Which model has more right pictures?" if len(models) > 1 else "How many are right?",
            [*models, SAME] if len(models) > 1 else ["few", "about half", "most"],
            key="rguess",
            width="content",
        )
        if st.button(
            "Reveal", type="primary", disabled=st.session_state.get("rguess") is None, help="Guess first."
        ):
            st.session_state["revealed_query"] = (name, query)
            st.session_state["revealed_guess"] = st.session_state["rguess"]
            st.rerun()


def answered(ranked: dict[str, list[RankedImage]], said: str) -> str:
    """`You said builtin/clip: wrong, 2 against 3.`, the right pictures of that model against the other's; of one model
    how many are right. "" of a guess that is not about these models."""
    rights = {model: sum(row.right for row in rows) for model, rows in ranked.items()}
    if len(rights) < 2:
        ((model, count),) = rights.items()
        return f"You said {said}: {count} of {len(ranked[model])}." if said not in ("", SAME, model) else ""
    if said not in (*rights, SAME):
        return ""
    own, other = sorted(rights, key=lambda model: model != said)  # of “the same” in the order of the page
    is_right = rights[own] == rights[other] if said == SAME else rights[own] > rights[other]
    return f"You said {said}: {'right' if is_right else 'wrong'}, {rights[own]} against {rights[other]}."


def measured(subset: part.RetrievalSubset, models: Sequence[str]) -> None:
    """Metrics over every query, on demand: a joint strategy needs a while for them."""
    meaning = (
        "Scores every query with every picture. MM-Pred and MM-Adapter need up to a minute the first time."
    )
    asked = st.toggle(
        f"Measure all {len(subset.queries)} queries", key="measure", bind="query-params", help=meaning
    )
    touch_help(meaning)
    if not asked:
        return
    names = list(METRICS)
    metric = st.selectbox(
        "Metric", names, format_func=lambda n: METRICS[n].label, key="rmetric", bind="query-params"
    )
    results = {m: RetrievalEvaluation.of(subset, part.whole_scores(subset, m)) for m in models}
    st.caption(f"{METRICS[metric].meaning} {part.how_measured(subset, results[models[0]], metric)}")
    for column, (model, result) in zip(st.columns(len(models), gap="medium"), results.items(), strict=True):
        with column:
            st.markdown(f"**{escape_markdown(in_words(model))}**")
            table = part.metric_table(result, metric, subset.phrases)
            if table.empty:
                st.caption("This set has no lists for this metric.")
                continue
            with st.container(key=f"queries-measured-{model}"):
                st.table(table.map(lambda cell: ui.unbroken(str(cell))), hide_index=True, border="horizontal")


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
    part.result(running[0], steps[0])
    part.curves(running[0], steps[0])
    part.tests(running[0], steps[0])


def form(store: ui.VisitorStore) -> None:
    """What is trained, on what and by which strategy; how long that takes, the start, and every setting."""
    place, start_place = st.container(), st.container()
    with place:
        left, middle, right = st.columns(3, gap="medium")
        with left:
            strategy = st.selectbox(
                "Strategy",
                list(STRATEGIES),
                index=list(STRATEGIES).index("mm-adapter"),
                format_func=lambda n: STRATEGIES[n].label,
                key="strategy",
                bind="query-params",
            )
        with middle:
            base = pick_base()
        with right:
            benchmark, missing = pick_benchmark()
        st.caption(f"**{STRATEGIES[strategy].label}.** What is trained: {STRATEGIES[strategy].meaning}")
    with st.expander("Settings"), ui.checked_numbers() as wrong:
        options = {"strategy": strategy, **settings(strategy, benchmark)}
    with start_place:
        for what in missing:
            st.warning(escape_markdown(what), icon=":material/download:")
        job = StrategyRun.of(benchmark, ui.model_source(base or "builtin/clip"), options=options)
        if job.shortfall:
            st.info(job.shortfall, icon=":material/hourglass_bottom:")
        ready = bool(base) and not missing and not wrong
        started = st.button("Start the run", type="primary", icon=":material/play_arrow:", disabled=not ready)
        line = f"{time_line(store, job)} The run continues when you close this page."
        st.caption(escape_markdown(f"To start, change the settings: {' '.join(wrong)}" if wrong else line))
        st.caption(
            "Trains on newly drawn scenes (for other sets, on their training pictures), never on the pictures that it "
            "is tested with. Combinations that count as unseen occur in none of them."
        )
    if started:
        run = start(store, job.title, job)
        runs.open_run(run.id)
        st.rerun()


def pick_base() -> str | None:
    """The model that is trained; first the one that the table of strategies began with."""
    known = (PROTOCOL_BASE, *builtin_models(), *ui.model_names(strategies=False))
    bases = [n for n in known if "siglip" in n or "clip" in n or "run/" in n]
    return ui.model_field(
        "Model to train",
        list(dict.fromkeys(bases)),
        "base",
        help="CLIP, SigLIP or FLAVA: built in, a run's model, a Hugging Face name or a folder.",
    )


def settings(strategy: str, benchmark: str) -> dict[str, Any]:
    """Fusion, queries, length and seed of a run."""
    left, middle, right = st.columns(3, gap="medium")
    with left:
        joint = STRATEGIES[strategy].joint
        fusion = st.selectbox("Fusion", list(FUSIONS), key="fusion", bind="query-params", disabled=not joint)
        st.caption(FUSIONS[fusion] if joint else "Only MM-Pred and MM-Adapter fuse image and text.")
    with middle:
        mixes = list(MIXES)
        usual = mixes.index(AdaptConfig().mix)
        mix = st.selectbox("Training queries", mixes, usual, key="mix", bind="query-params")
        st.caption(MIXES[mix])
    with right:
        epochs = int(ui.number(st, "Epochs", 1, 100, 8, key="epochs") or 8)
        seed = int(ui.number(st, "Seed", 0, 10_000, 0, key="aseed") or 0)
        patience = None
        if benchmark == BUILTIN:
            label = "End early after … epochs without gain"
            about = "Without a higher mAP on validation queries; 0: never early."
            patience = int(ui.number(st, label, 0, 100, 0, key="patience", help=about) or 0) or None
    fused = {"fusion": fusion} if joint else {}
    own = {"mix": mix, "epochs": epochs, "seed": seed, "patience": patience, **fused}
    return own | advanced(strategy, fusion)


def advanced(strategy: str, fusion: str) -> dict[str, Any]:
    """The settings that a first run does without: steps, batch and learning rate, form of MM-Adapter."""
    usual = AdaptConfig()
    left, middle, right = st.columns(3, gap="medium")
    one_pass, suited = "0: one pass over the training pairs.", "Empty: what suits strategy and base."
    steps = ui.number(left, "Steps of an epoch", 0, 100_000, usual.steps, key="asteps", help=one_pass)
    batch = ui.number(middle, "Images and queries of a step", 2, 4096, usual.batch, key="abatch")
    found: dict[str, Any] = {
        "steps": usual.steps if steps is None else steps,
        "batch": usual.batch if batch is None else batch,
        "lr": ui.number(right, "Learning rate", 1e-8, 1.0, None, key="alr", format="%.2g", help=suited),
    }
    if strategy == "mm-adapter" and fusion == usual.fusion:
        names = list(ADAPTERS)
        found["adapter"] = st.selectbox(
            "Form of MM-Adapter", names, names.index(usual.adapter), key="adapter", bind="query-params"
        )
        st.caption(ADAPTERS[found["adapter"]])
    return found


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
        state = {"view": ASK, "left": run.config["model"], "right": name}
        ui.page_button("See its ranked images", THIS, state, icon=":material/image_search:", type="primary")
        ui.page_button(
            "Adapt it by test-time matching",
            "pages/4_Test-Time_Matching.py",
            {"model": name, "run": "new"},
            icon=":material/trending_up:",
        )
    cost_part.forgetting_section(ui.VisitorStore(), run)


def page(store: ui.VisitorStore) -> None:
    ui.warn_unknown("view", [asked.unknown], RETRIEVAL_VIEWS)
    with st.container(key="retrieval-views"):  # which the style keeps in one line on a phone
        view = view_field("view", RETRIEVAL_VIEWS, label_visibility="collapsed")
    if view == CHANGES:
        retrieval_table.table()
    elif view == TRAIN:
        train(store)
    else:
        look()


ui.restore_carried_state()  # by a button of another view: the lead is that of the view which it opens
asked = read_view("view", RETRIEVAL_VIEWS, elsewhere=DEBIAS_VIEWS)
chosen_set = st.session_state.get("rset") or st.query_params.get("rset", "")
lead = (
    choices.LEAD if asked.name == ASK and choices.is_choice_set(chosen_set) else LEADS.get(asked.name, LEAD)
)
ui.open_page("Retrieval", lead, pick=False, sidebar=asked.name not in (CHANGES, TRAIN))
with ui.show_errors():
    page(ui.VisitorStore())
