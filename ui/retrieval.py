"""The retrieval page's parts: a query's ranked images, and the run of a strategy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core import datasets
from core.base import public_mode
from core.base.text import (
    _change_in_points,
    _exact_differences,
    _pct,
    _signed,
    _signed_range,
    counted,
)
from core.cola.run import StrategyRun
from core.datasets.base import RETRIEVAL
from core.exchange.layouts import text_table_latex
from core.exchange.run_gains import _strategy_changes
from core.figures import retrieval
from core.figures.shared_words import (
    RankedImage,
    SharedWords,
    _object_counts,
    ranked_images,
    shared_word_counts,
)
from core.figures.text import _part_text, escape_markdown
from core.groups import ImageRef
from core.metrics.retrieval import COLA_MAP, METRICS, RetrievalEvaluation, _questions_of
from core.metrics.statistics import Comparison
from core.runs.store import Run, RunStore
from core.scoring.cache import ScoreCache
from core.scoring.retrieval import RetrievalSubset, first_images, score_retrieval
from ui import choices
from ui.export import chart, export_section
from ui.forgetting import cost_answer
from ui.formatting import progress, swipe_hint, true_minus, unbroken
from ui.images import enlargeable_image
from ui.loaders import LazyScorer, model_source
from ui.three_answers import LUCK, NO, NOT_PROVEN, YES, Answer, three_answers
from ui.trained import in_words, known_models

POOLS = {
    "any_word": "any of the words (Cola mAP)",
    "all_words": "all of the words (QueryAll mAP)",
    "everything": "all images (standard mAP)",
}


_IMAGES = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000)
_BUILT_IN = 2000  # images of the built-in test split


def available_sets() -> list[str]:
    """Retrieval sets with queries over many images, and those whose captions choose among a few; those that are here
    first."""
    known = ("scenes/",) if public_mode.is_public() else ("scenes/", "cola/")
    names = [n for n in datasets.names(RETRIEVAL) if n.startswith(known)] + choices.available_sets()
    return sorted(names, key=lambda name: datasets.state(name).startswith("needs"))


def image_counts(name: str) -> tuple[int, ...]:
    """How many of a set's images may be ranked: a few sizes, and all of them."""
    if public_mode.is_public():
        return _IMAGES[:2]
    entry = datasets.benchmark_entry(name)
    everything = next(iter(entry.counts.get("test", ())), _IMAGES[-1]) if entry else _BUILT_IN
    return (*(count for count in _IMAGES if count < everything), everything)


@st.cache_resource(max_entries=8, show_spinner="Loading queries …")
def load_set(name: str, images: int) -> RetrievalSubset:
    """A retrieval set over its first so many images."""
    found = datasets.load_retrieval(public_mode.check_benchmark(name))
    return first_images(found, min(images, len(found.images)))


def query_scores(found: RetrievalSubset, query: int, model: str) -> np.ndarray:
    """One query's scores over all images, float (n,): from the cache or the model."""
    public_mode.check_model(model, known_models())
    key = (found.name, len(found), found.queries[query], model)
    return _scores(key, found.one_query(query), model_source(model))[0]


def whole_scores(found: RetrievalSubset, model: str) -> np.ndarray:
    """Every query's scores, float (q, n)."""
    public_mode.check_model(model, known_models())
    return _scores((found.name, len(found), -1, model), found, model_source(model))


@st.cache_resource(max_entries=48, show_spinner=False)
def _scores(key: tuple, _subset: RetrievalSubset, _source: str) -> np.ndarray:
    with progress("Scoring") as (container, bar):
        return score_retrieval(LazyScorer(_source, container), _subset, ScoreCache(), bar)


def ranked_html(
    found: RetrievalSubset,
    rows: Sequence[RankedImage],
    revealed: bool | None,
    unjudged: Sequence[str] | None = None,
) -> str:
    """Images in order; with their verdict, and the query's words that each of them shares, once revealed.

    revealed : None where nobody knows which images are right; then the score stands there, or what `unjudged` says of
    each image.
    """
    cells = []
    for place, row in enumerate(rows):
        image = found.images[row.image]
        name = f"Rank {row.place}"
        kind = "tie" if row.tied else "right" if row.right else "wrong"
        symbol, said = ("✓", "right") if row.right else ("✗", "wrong")
        told = f'<span class="cm-mark cm-{kind}">{symbol} {said}{", tied" if row.tied else ""}</span>'
        words = (
            _words_html(row)
            if found.asked is None
            else _objects_html(
                found.asked.judged(getattr(image, "scene", None)), _apart_said(found) * row.apart
            )
        )
        note = f"{told}<div>{words}</div>" if revealed else '<span class="cm-mark">?</span>'
        if revealed is None:
            note = unjudged[place] if unjudged else f"score {row.score:z.2f}".replace("-", "−")
        alt = (f"{name}, {said}" if revealed else name) + _objects(image)
        cells.append(
            f'<figure class="cm-ranked">{enlargeable_image(image, alt, 320)}'
            f"<figcaption>{row.place}. {note}</figcaption></figure>"
        )
    # So that rank 3 stands beside another model's rank 3: its place, an object a line, and what is apart.
    most = max((len(row.shared) + len(row.missing) for row in rows), default=0)
    lines = (2 if most < 3 else 3) if found.asked is None else len(found.asked.nouns) + 2
    return f'<div class="cm-list" style="--cm-lines: {lines}">{"".join(cells)}</div>'


def ranks_of(scores: np.ndarray) -> np.ndarray:
    """The rank of every picture, from 1; pictures that tie share the first of theirs. scores : (n,)."""
    return np.asarray(1 + (scores > scores[:, None]).sum(axis=1))


def ranks_compared(first: Sequence[RankedImage], second: Sequence[RankedImage]) -> str:
    """What can be compared of words that nobody can judge: ranks, as each model has its own scale of scores."""
    both = {row.image for row in first} & {row.image for row in second}
    return (
        "The two models score on different scales, so ranks are compared, not scores: below each picture stands its "
        f"rank under the other model. {len(both)} of the first {len(first)} pictures are the same."
    )


def _apart_said(found: RetrievalSubset) -> str:
    """Where a picture has the words of a query, if not as it asks: `on the wrong objects`, of one object `on different
    objects`."""
    several = found.asked is not None and len(found.asked.nouns) > 1
    return f"on {'the wrong' if several else 'different'} objects"


def _objects_html(judged: Sequence[tuple[str, bool | None]], apart: str = "") -> str:
    """`red cube ✓` and in the next line `blue ball ✗`: which of the objects that were asked for a picture shows.

    apart : where it has all of their words, which is marked as of a query for one object; "" where it lacks one.
    """
    marks = {True: "✓", False: "✗", None: "unclear"}
    shown = "<br>".join(  # a dot between them stood alone at the end of a line
        f'<span style="white-space:nowrap"><b>{escape(what)}</b> {marks[shown]}</span>'
        for what, shown in judged
    )
    return f'{shown}<br><span class="cm-apart">every word, {apart}</span>' if apart else shown


def _words_html(row: RankedImage) -> str:
    """Which of the query's words a picture has, and how: `has green, lacks sphere`."""
    has, lacks = (" and ".join(f"<b>{escape(w)}</b>" for w in words) for words in (row.shared, row.missing))
    if row.right and has:
        return f"{has} on one object"
    if row.apart:
        return f'<span class="cm-apart">{has} on different objects</span>'
    return ", ".join([f"has {has}"] * bool(has) + [f"lacks {lacks}"] * bool(lacks))


def _objects(image: ImageRef) -> str:
    """What a picture of the built-in world shows, for its alternative text: `: large red rubber cube, ...`."""
    scene = getattr(image, "scene", None)
    if scene is None:
        return ""
    return ": " + ", ".join(f"{o.size} {o.colour} {o.material} {o.shape}" for o in scene.objects)


def list_result(
    found: RetrievalSubset,
    query: int,
    model: str,
    scores: np.ndarray,
    pool: str,
    rows: Sequence[RankedImage],
    beside: str = "",
) -> str:
    """What a list says, in Markdown, a sentence each: how many of its first images are right, how many have every word
    on different objects, average precision. beside : what another wording gives, in sentences that come last."""
    asked, right = as_object(found, query), int(found.relevant[query].sum())
    if not right:
        return f"None of these {len(found)} pictures shows **{asked}**: no metric counts this query."
    first = sum(row.right for row in rows)
    said = [f"**{first} of the first {len(rows)} show{'s' * (first == 1)} {asked}.**"]
    apart = sum(row.apart for row in rows)
    if apart:
        others = len(rows) - first
        whose = _of_others(apart, others)
        whose = whose[0].upper() + whose[1:]
        said.append(f"**{whose} {'has' if apart == 1 else 'have'} every word, but {_apart_said(found)}.**")
    said.append(f"{right} of all {len(found)} pictures {'is' if right == 1 else 'are'} right.")
    measured, words = average_precision(found, query, scores, pool), in_words(model)
    if measured is None:
        said += [f"Ranked by `{words}`.", *_nothing_measured(found, query, pool)]
    else:
        precision, chance = measured
        levels = f"{_pct(precision)}\u00a0% (chance {_pct(chance)}\u00a0%{_ranked_alone(found, query, pool)})"
        said.append(f"Average precision of `{words}`: {levels}.")
    return " ".join([*said, beside]).rstrip()


def _of_others(count: int, others: int) -> str:
    """Which of the other pictures.

    >>> _of_others(1, 1), _of_others(2, 2), _of_others(6, 6), _of_others(2, 6)
    ('the other one', 'both others', 'all 6 others', '2 of the other 6')
    """
    every = {1: "the other one", 2: "both others"}.get(others, f"all {others} others")
    return every if count == others else f"{count} of the other {others}"


def _nothing_measured(found: RetrievalSubset, query: int, pool: str) -> list[str]:
    """Of a list with right pictures alone that no order of it is better than another, in a sentence; else none."""
    if not _is_all_right(found, query, pool):
        return []
    if pool == "everything":
        return ["Every picture is right, so that every order is as good: nothing is measured."]
    return [
        "The others are left out, so that every ranked picture is right and every order as good: nothing is measured; "
        f"choose “{POOLS['everything']}” under “Options”."
    ]


def _is_all_right(found: RetrievalSubset, query: int, pool: str) -> bool:
    """Whether every picture that is ranked is right."""
    ranked = None if pool == "everything" else getattr(found, pool)
    right = found.relevant[query]
    return bool(right.all() if ranked is None else right[ranked[query]].all())


def _ranked_alone(found: RetrievalSubset, query: int, pool: str) -> str:
    """Among how many pictures a query's chance level is, where not all of them are ranked; else ""."""
    ranked = None if pool == "everything" else getattr(found, pool)
    if ranked is None or ranked[query].all():
        return ""
    words = POOLS[pool].partition(" (")[0]
    as_there = ", as in Cola" if pool == "any_word" else ""  # whose list is this one
    return f" among the {int(ranked[query].sum())} with {words}; the others are left out{as_there}"


def as_object(found: RetrievalSubset, query: int) -> str:
    """What a query asks for within a sentence, as Markdown: in quotation marks where it has no article, and its objects
    where nothing else of it is judged, with what is not."""
    asked = found.queries[query]
    said = escape_markdown(asked)
    if found.asked is not None and found.asked.not_judged:
        return f"the objects of “{said}” (not judged: “{escape_markdown(found.asked.not_judged)}”)"
    return said if asked.lower().startswith(("a ", "an ", "the ")) else f"“{said}”"


def average_precision(
    found: RetrievalSubset, query: int, scores: np.ndarray, pool: str
) -> tuple[float, float] | None:
    """Average precision of one query and its chance level, in percent; None where the list has no right picture, or no
    other one, so that nothing is measured."""
    if _is_all_right(found, query, pool):
        return None
    value = RetrievalEvaluation.of(found.one_query(query), scores[None]).ranking(pool)
    if value is None or np.isnan(value.precision[0]):
        return None
    return 100 * float(value.precision[0]), 100 * float(value.expected[0])


def why_precision_differs(
    sides: Sequence[tuple[str, Sequence[RankedImage], tuple[float, float] | None]],
) -> str:
    """Why of two rankings of a query that with fewer right pictures among the first has the higher average precision;
    "" where that is not so. sides : of each what it is called, its first pictures, and its average precision."""
    if len(sides) != 2 or any(precision is None for _, _, precision in sides):
        return ""
    found = [
        (sum(row.right for row in rows), round(p[0], 1), name) for name, rows, p in sides if p is not None
    ]
    (fewer, higher, name), (more, lower, _) = sorted(found)
    if fewer == more or higher <= lower:
        return ""
    shown = min(len(rows) for _, rows, _ in sides)
    return (
        f"{name}: fewer right pictures among the first {shown}, {fewer} against {more}, and still the higher average "
        "precision. It counts the place of every right picture in the whole list, the first places most."
    )


def wording_result(found: RetrievalSubset, wording: str, model: str, pool: str, most: int) -> str:
    """What the set's query for the same object gives, in sentences that follow what a visitor's wording gives; "" where
    `wording` is none."""
    if not wording:
        return ""
    query = found.queries.index(wording)
    scores = query_scores(found, query, model)
    rows = ranked_images(found, query, scores, pool, most)
    first = f"{sum(row.right for row in rows)} of the first {len(rows)} are right"
    text = f"**With the set’s wording “{escape_markdown(wording)}”, {first}.**"
    measured = average_precision(found, query, scores, pool)
    return text if measured is None else f"{text} Its average precision is {_pct(measured[0])}\u00a0%."


def ranked_table(subset: RetrievalSubset, ranked: Mapping[str, Sequence[RankedImage]]) -> pd.DataFrame:
    """The images that are shown, one row each. ranked : by model."""
    return pd.DataFrame(
        [
            {
                "model": model,
                "rank": row.place,
                "image": subset.images[row.image].key,
                "score": row.score,
                "relevant": row.right,
                "tied": row.tied,
                "shared words": " ".join(row.shared),
                "missing words": " ".join(row.missing),
            }
            for model, rows in ranked.items()
            for row in rows
        ]
    )


def words_section(found: RetrievalSubset) -> None:
    """Which objects and attributes the queries of a set name, on demand ([Cola] Figure 6)."""
    part = st.expander("What the queries name", key="query-words", on_change="rerun")
    if not part.open:
        return
    with part:
        figure, says = retrieval.words_figure(found.queries)
        st.caption(says)
        chart(figure, f"Queries for each word. {says}", "query-words-figure")


def shared_words_table(
    found: RetrievalSubset,
    query: int,
    model: str,
    scores: np.ndarray,
    pool: str,
    most: int,
    is_named: bool = False,
) -> None:
    """What the distractors share with the query, and how far up that brings them under this model. is_named : the
    heading says which model that is, as there is another one's."""
    if found.phrases is None:  # a query in one's own words, for several objects
        shares, everything = _object_counts(found, query, scores, pool, most), None
    else:
        shares = shared_word_counts(found, query, scores, pool, most)
        everything = sum(value is not None for _, value in found.phrases[query].attributes())
    if not shares:
        return
    unranked = len(scores) - sum(s.images for s in shares)
    whose = f" of {escape_markdown(in_words(model))}" if is_named else ""
    st.header(f"What gets in the way{whose}", anchor=False)
    ranked = (
        f" Only the {len(scores) - unranked} with {POOLS[pool].partition(' (')[0]} are ranked (“Options”)."
    )
    what = "objects" if everything is None else "words"
    st.caption(
        f"All {len(scores)} pictures by the {what} of the query that they have: the right ones, then the wrong ones, "
        f"the best placed first.{ranked if unranked else ''}"
    )
    rows = [
        {
            "the picture has": f"{'✓' if s.right else '✗'} {_shared_words(s, everything)}",
            "pictures": s.images,
            "mean rank": round(s.place, 1),
            f"among the first {most}": s.first,
        }
        for s in shares
    ]
    if unranked:
        what = "none of the words" if pool == "any_word" else "not all of the words"
        rows.append({"the picture has": f"✗ {what}", "pictures": unranked, f"among the first {most}": 0})
    table = pd.DataFrame(rows).style.format({"mean rank": "{:.1f}"}, na_rep="–")
    with st.container(
        key=f"in-the-way-{model}"
    ):  # whose words break on a phone, so that every column is in sight
        st.table(table, hide_index=True, border="horizontal")


def _shared_words(share: SharedWords, everything: int | None) -> str:
    """`cube, rubber on one object`; everything : how many words the query has, None of one for several objects, of
    which `_object_counts` says it all."""
    if everything is None:
        return share.words[0]
    if not share.words:
        return "none of the words"
    apart = ", on different objects" if len(share.words) == everything else " only"
    return ", ".join(share.words) + (", on one object" if share.right else apart)


def metric_table(
    found: RetrievalEvaluation, metric: str, phrases: Sequence[Any] | None = None
) -> pd.DataFrame:
    """A row for every part of the queries: value, interval, chance, queries, and where any are, tied ones; a phone has
    no room for those that are skipped, which `how_measured` says.

    phrases : what each query asks for; queries for one colour and shape are then one question, as in the table of all
    strategies.
    """
    spec, parts = METRICS[metric], found.parts()
    unit = " %" if spec.unit == "percent" else ""
    rows: list[dict[str, Any]] = []
    for part, value in found.metrics().get(metric, {}).items():
        e = value.estimate
        if by := _over_questions(found, metric, parts[part], phrases):
            e = e._replace(low=by.low, high=by.high)
        row: dict[str, Any] = {"": _part_text(part), spec.label: f"{_pct(e.value)}{unit}"}
        row |= {"95 % interval": f"{_pct(e.low)}–{_pct(e.high)}", "chance": f"{_pct(e.chance)}{unit}"}
        rows.append(row | {"queries": value.queries, "tied": e.ties})
    table = pd.DataFrame(rows)
    return table if table.empty or table["tied"].any() else table.drop(columns="tied")


def _over_questions(found: RetrievalEvaluation, metric: str, mask: np.ndarray, phrases: Any) -> Any:
    """The interval over questions, of a metric that has one; else None."""
    return None if phrases is None else found._over_questions(metric, mask, _questions_of(phrases))


def how_measured(subset: RetrievalSubset, found: RetrievalEvaluation, metric: str) -> str:
    """What the words of `metric_table` are, once for all models: seen, unseen, question, skipped."""
    said = []
    if subset.unseen is not None:
        named = "colour and shape" if subset.phrases is not None else "attribute and object"
        said.append(f"Unseen: no object in training has the query’s {named} together; seen: some have.")
    if _over_questions(found, metric, np.ones(len(subset.queries), dtype=bool), subset.phrases):
        said.append(
            "Intervals are over questions: queries for one colour and shape are one question, as in “What training "
            "changes”."
        )
    else:
        said.append("Intervals are over queries.")
    everything = found.metrics().get(metric, {}).get("all")
    if everything and everything.skipped:
        few = "query is" if everything.skipped == 1 else "queries are"
        said.append(f"{everything.skipped} {few} skipped: no picture of the list is right.")
    return " ".join(said)


def result(run: Run, steps: Sequence[dict[str, Any]]) -> None:
    """What a run has done to Cola mAP on the test queries, and what it costs elsewhere; nothing before that is
    measured. It was trained with labels, so that there is no control of pseudo-labels to ask for."""
    first, last = _test_ends(steps)
    if not first or not last:
        if run.status == "finished":
            three_answers([cost_answer(RunStore(), run)])
        return
    was, now = (each["retrieval"][COLA_MAP]["all"] for each in (first, last))
    change = paired_changes(run.id, run.done, run.attempt, run).get((COLA_MAP, "all"))
    points, interval = (
        f"{_signed(_change_in_points(was['value'], now['value']))} points",
        "no paired interval",
    )
    word = NOT_PROVEN
    if change is not None:
        word = YES if change.low > 0 else NO if change.high < 0 else NOT_PROVEN
        interval = f"paired 95 % interval {_signed_range(change.low, change.high)}"
    said = f"Cola mAP {points} ({interval}) on {counted(last['queries'], 'test query')}."
    three_answers([Answer(LUCK, word, said), cost_answer(RunStore(), run)])
    sentence = (
        f"Cola mAP {_pct(now['value'])} % after training, {_pct(was['value'])} % before; chance "
        f"{_pct(now['chance'])} %; {counted(now['ties'], 'query')} tied after, {was['ties']} before. Before is "
    )
    st.caption(unbroken(true_minus(sentence)) + f"{escape_markdown(run.config['model'])} as it was.")


def _test_ends(steps: Sequence[dict[str, Any]]) -> tuple[Any, Any]:
    """What was measured on test queries before and after; None each until it is."""
    return (steps[0].get("test"), steps[-1].get("test")) if len(steps) > 1 else (None, None)


@st.cache_resource(max_entries=16, show_spinner=False)
def paired_changes(run_id: str, done: int, attempt: int, _run: Run) -> dict[tuple[str, str], Comparison]:
    """Cola mAP of each part of the built-in test queries, and the groups' metrics, after training minus before, paired
    over queries or groups; without what the run's arrays do not hold."""
    return _strategy_changes(_run, done, RunStore(), load_set)


def curves(run: Run, steps: Sequence[dict[str, Any]]) -> None:
    """Validation mAP and loss of a run, as far as it is."""
    data = retrieval.curve_data(steps, run.total or len(steps))
    left, right = st.columns(2, gap="medium")
    with left:
        if data.parts:
            st.caption(
                "Cola mAP on **validation** queries, fewer and other ones than the test’s. Epoch 0 is the strategy "
                "before training, not the model as it was: a new network knows nothing yet."
            )
            ends = ", ".join(
                f"{name} {_pct(v[0, 0])} to {_pct(v[-1, 0])} %" for name, v in data.parts.items()
            )
            chart(
                retrieval.curve_figure(data),
                f"Cola mAP on validation queries over {len(steps) - 1} epochs: {ends}.",
                "adapt-map",
            )
        else:
            st.caption("This set has no validation queries; the test queries are measured at the end.")
    with right:
        st.caption("Mean training loss of each epoch")
        chart(retrieval.loss_figure(data), "Mean training loss per epoch.", "adapt-loss")


def tests(run: Run, steps: Sequence[dict[str, Any]]) -> None:
    """Test results before and after, once they are there: Cola mAP and the groups' metrics, the others on demand."""
    first, last = _test_ends(steps)
    counts = steps[0]["parameters"]
    st.caption(
        escape_markdown(
            f"{counts['trained']:,} of {counts['total']:,} weights are trained, and 2 more for scale and bias."
        )
    )
    if not first or not last:
        return
    table = retrieval.results_table(first, last, paired_changes(run.id, run.done, run.attempt, run))
    st.markdown(
        f"**Test queries, before and after** ({last['queries']} queries over {last['images']} images)"
    )
    ours = table["metric"] == METRICS[COLA_MAP].label
    others = table["metric"].isin([spec.label for spec in METRICS.values()]) & ~ours
    _results(table[~others], "test-results")
    st.caption(
        unbroken(
            "Percent, in brackets 95 % intervals over queries (groups), of the change paired. A tie never favours the "
            "relevant image. Queries without a relevant image in their list are skipped and counted. "
            f"{_exact_differences()}"
        )
    )
    with st.expander("Other metrics of the same queries"):
        _results(table[others], "other-results")
        st.caption("Percent, or ranks, of which 1 is best.")


def _results(table: pd.DataFrame, key: str) -> None:
    """A plain table, whose lines break: the whole name of a metric is read on a phone, where the table is scrolled."""
    swipe_hint()
    with st.container(key=key):
        st.table(
            table.map(lambda cell: escape_markdown(unbroken(str(cell)))), hide_index=True, border="horizontal"
        )


def export_run(run: Run, steps: Sequence[dict[str, Any]]) -> None:
    """Test results, curves and the command of a run."""
    first, last = _test_ends(steps)
    data = retrieval.curve_data(steps, run.total or len(steps))
    drawn = {"validation mAP": retrieval.curve_figure} if data.parts else {}
    drawn["loss"] = retrieval.loss_figure
    table = None
    if first and last:
        changes = paired_changes(run.id, run.done, run.attempt, run)
        table = retrieval.results_table(first, last, changes)
    export_section(
        f"run-{run.id}",
        table,
        {name: partial(draw, data) for name, draw in drawn.items()},
        command="" if public_mode.is_public() else StrategyRun.read(run.config).command_line,
        papers=("Cola",),
        title=run.title,
        note="Cola mAP of validation queries after each epoch; training loss: its mean over the epoch.",
        latex="" if table is None else lambda: text_table_latex(table, [run.title, _LATEX_NOTE]),
    )


_LATEX_NOTE = (
    "Percent, ranks where the metric says so; in parentheses 95 % intervals over queries (groups), of the change "
    "paired. Skipped: queries to which nothing belongs. A tie never favours the relevant image."
)
