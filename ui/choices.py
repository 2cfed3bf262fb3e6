"""The retrieval page's sets of choices: each caption chooses among a few images of its own.

ImageCoDe, SVO-Probes and SPEC's text to image, as `crossmatch recall` measures them.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

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
    p_digits,
)
from core.datasets.base import RETRIEVAL
from core.datasets.sets import RetrievalSet
from core.figures.text import escape_markdown
from core.metrics.recall import RecallResult
from core.metrics.statistics import Clusters, compare
from core.scoring.cache import ScoreCache
from core.scoring.scores import _score_choices
from ui.export import export_section
from ui.formatting import progress
from ui.images import enlargeable_image
from ui.loaders import LazyScorer, model_source
from ui.trained import known_models

LEAD = (
    "Each caption has a few pictures of its own, and one of them is right. The model chooses the one that it scores "
    "highest; a tie is lost."
)
METRIC = "image_choice"
OUTCOMES = ("all", "right", "wrong", "tied")
_IMAGES = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000)
_USUAL = 500  # images that a page scores unless it is asked for more
_PER_PAGE = 5


class Choices(NamedTuple):
    """Captions, the images that each chooses among, and one model's scores of them, float (q, c)."""

    found: RetrievalSet
    scores: np.ndarray

    @property
    def offered(self) -> np.ndarray:
        """Which places hold an image, bool (q, c)."""
        assert self.found.choices is not None
        return self.found.choices >= 0

    def result(self) -> RecallResult:
        """The share of captions whose right image scores above the others."""
        return RecallResult.of_choices(self.scores, self.found.right_choices, self.offered, self.clusters())

    def clusters(self) -> Clusters | None:
        """Captions that share images."""
        assert self.found.choices is not None
        return Clusters.of_choices(self.found.choices)

    def ranks(self) -> tuple[np.ndarray, np.ndarray]:
        """The right image's rank, int (q,), and where only a tie keeps it from the first, bool (q,)."""
        return RecallResult.choice_ranks(self.scores, self.found.right_choices, self.offered)

    def outcomes(self) -> np.ndarray:
        """`right`, `wrong` or `tied` for every caption, text (q,)."""
        ranks, tied = self.ranks()
        return np.where(ranks == 1, "right", np.where(tied, "tied", "wrong"))

    def order(self, query: int) -> list[int]:
        """The places of a caption's images, the best score first; among equal scores the right image last."""
        places = np.flatnonzero(self.offered[query])
        right = self.found.right_choices[query]
        return sorted(places.tolist(), key=lambda place: (-self.scores[query, place], right[place]))


def available_sets() -> list[str]:
    """Sets of choices, by name; none on a public server, which shows what ships alone."""
    return [] if public_mode.is_public() else [n for n in datasets.names(RETRIEVAL) if is_choice_set(n)]


def is_choice_set(name: str) -> bool:
    """Whether the captions of a retrieval set choose among a few images of their own."""
    if name not in datasets.names(RETRIEVAL):
        return False
    entry = datasets.benchmark_entry(name)
    return entry is not None and entry.metric == METRIC


@st.cache_resource(max_entries=8, show_spinner="Loading captions …")
def load_set(name: str, images: int | None = None) -> RetrievalSet:
    """The captions that choose among the first so many images (None: all) of the split that is measured."""
    entry = datasets.benchmark_entry(public_mode.check_benchmark(name))
    assert entry is not None
    if images is not None:
        return load_set(name).first_choices(images)
    found = datasets.load_retrieval(name, entry.splits[0])
    assert isinstance(found, RetrievalSet)
    return found


def scored(found: RetrievalSet, model: str) -> Choices:
    """One model's scores of every caption with its own images: from the cache or the model."""
    public_mode.check_model(model, known_models())
    key = (found.name, found.split, len(found), model)
    return Choices(found, _scores(key, found, model_source(model)))


@st.cache_resource(max_entries=16, show_spinner=False)
def _scores(key: tuple, _found: RetrievalSet, _source: str) -> np.ndarray:
    assert _found.choices is not None
    with progress("Scoring") as (container, bar):
        scorer, asked = LazyScorer(_source, container), (_found.images, _found.queries, _found.choices)
        return _score_choices(scorer, *asked, ScoreCache(), lambda done, total: bar(done / total))


def pick_images(name: str) -> RetrievalSet:
    """The slider of how many images to take, where there are many; the captions that choose among them."""
    whole = len(load_set(name))
    sizes = (*(count for count in _IMAGES if count < whole), whole)
    if len(sizes) == 1:
        return load_set(name)
    if st.session_state.get("images", sizes[0]) not in sizes:
        st.session_state.pop("images")  # of another set
    usual = max(count for count in sizes if count <= max(_USUAL, sizes[0]))
    count = st.select_slider("Images", sizes, usual, key="images", bind="query-params")
    return load_set(name, None if count == whole else int(count))


def look(found: RetrievalSet, models: Sequence[str]) -> None:
    """How many captions choose their image, and the captions with their candidates, under one model or two."""
    choices = {model: scored(found, model) for model in models}
    headline(found, choices)
    captions(found, choices)
    export_section(
        "choices",
        lambda: choice_table(choices),
        command=_command(found, models[0]),
        papers=(),
    )
    _cite(found)


def headline(found: RetrievalSet, choices: Mapping[str, Choices]) -> None:
    """The accuracy of each model with its interval, chance and ties; of two, their paired difference."""
    for column, (model, each) in zip(st.columns(len(choices), gap="medium"), choices.items(), strict=True):
        e = each.result().recall[METRIC]
        with column, st.container(border=True, gap="xxsmall"):
            st.metric(
                f"Captions that choose their image · {escape_markdown(model)}",
                f"{_pct(e.value)} %",
                help="The share of captions whose right image scores above all the others of its own. A tie is lost.",
            )
            by, c = "", e.clustered
            if c is not None and not c.dominated:
                by = f" · by image {_pct(c.low)}–{_pct(c.high)}"
            st.caption(f"95 %: {_pct(e.low)}–{_pct(e.high)}{by} · chance {_pct(e.chance)} · {e.tied}")
    what = (
        f"{counted(len(found.queries), 'caption')} over {counted(len(found), 'image')}, split {found.split}."
    )
    if c is not None:
        what += (
            f" Captions share images so widely (the largest cluster holds {c.largest:.0f} % of them) that no interval "
            "by image can be told: these take captions for independent, and are too short."
            if c.dominated
            else f" By image: captions that share one count together, as {counted(c.clusters, 'cluster')}."
        )
    if len(choices) > 1:
        what += f" {_difference(choices)} {_exact_differences()}"
    st.caption(what)


def _difference(choices: Mapping[str, Choices]) -> str:
    """The second model's accuracy less the first one's, caption by caption, in Markdown."""
    (one, other), each = map(escape_markdown, choices), list(choices.values())
    first, second = ((c.outcomes() == "right").astype(float) for c in each)
    alone = compare(first, second, each[0].clusters())
    points = _change_in_points(*(c.result().recall[METRIC].value for c in each))
    by, tested = "", alone.clustered
    if tested is not None and not tested.dominated:
        by = f", by image {_signed_range(tested.low, tested.high)}, p {p_digits(tested.p_value)}"
    return (
        f"{other} less {one}: {_signed(points)} points (95 % interval {_signed_range(alone.low, alone.high)}, "
        f"p {p_digits(alone.p_value)}{by}); {counted(alone.fixed, 'caption')} right with {other} alone, "
        f"{alone.broken} with {one} alone."
    )


def captions(found: RetrievalSet, choices: Mapping[str, Choices]) -> None:
    """The captions that pass the filters, a page of them, each with its candidates."""
    first = next(iter(choices.values()))
    with st.container(horizontal=True, vertical_alignment="bottom", key="choice-filters"):
        words = st.text_input(
            "Only captions with these words",
            key="words",
            bind="query-params",
            placeholder="two cups",
            width=260,
        )
        outcome = st.segmented_control(
            f"Outcome with {next(iter(choices))}" if len(choices) > 1 else "Outcome",
            OUTCOMES,
            key="outcome",
            bind="query-params",
            default="all",
        )
        told = st.container(width="content")
    kept = [
        i for i, query in enumerate(found.queries) if all(w in query.lower() for w in words.lower().split())
    ]
    if outcome not in (None, "all"):
        outcomes = first.outcomes()
        kept = [i for i in kept if outcomes[i] == outcome]
    told.caption(f"{len(kept)} of {counted(len(found.queries), 'caption')}")
    if not kept:
        st.info(
            "No caption passes these filters; remove a word or choose all.", icon=":material/filter_alt_off:"
        )
        return
    pages = -(-len(kept) // _PER_PAGE)
    if st.session_state.get("page", 1) > pages:
        st.session_state["page"] = 1
    shown = st.container()
    start = (st.pagination(pages, key="page", bind="query-params") - 1) * _PER_PAGE
    for query in kept[start : start + _PER_PAGE]:
        with shown.container(border=True):
            st.html(caption_html(found, query, choices))


def caption_html(found: RetrievalSet, query: int, choices: Mapping[str, Choices]) -> str:
    """A caption, and under each model its candidates, the best score first, with the right one marked."""
    parts = [f'<h3 class="cm-caption">{escape(found.queries[query])}</h3>']
    for model, each in choices.items():
        name = f"<b>{escape(model)}</b> · " if len(choices) > 1 else ""
        parts.append(f'<p class="cm-said">{name}{_verdict(each, query)}</p>')
        parts.append(f'<div class="cm-list cm-few">{"".join(_candidates(each, query))}</div>')
    return "".join(parts)


def _verdict(each: Choices, query: int) -> str:
    """`✓ right`, or where the right image stands."""
    (ranks, tied), count = each.ranks(), int(each.offered[query].sum())
    if ranks[query] == 1:
        return '<span class="cm-mark cm-right">✓ right</span>'
    if tied[query]:
        return '<span class="cm-mark cm-tie">= tied</span>no image scores higher than the right one'
    return f'<span class="cm-mark cm-wrong">✗ wrong</span>the right image is number {ranks[query]} of {count}'


def _candidates(each: Choices, query: int) -> list[str]:
    """A caption's images as figures, in the order of their scores."""
    assert each.found.choices is not None
    figures, right = [], each.found.right_choices[query]
    for rank, place in enumerate(each.order(query), 1):
        image = each.found.images[each.found.choices[query, place]]
        score = f"{each.scores[query, place]:.4g}".replace("-", "−")
        mark = '<span class="cm-mark cm-right">✓ right image</span>' if right[place] else ""
        said = f"Number {rank}{', the right image' if right[place] else ''}, score {score}"
        kind = " cm-true" if right[place] else ""
        figures.append(
            f'<figure class="cm-ranked{kind}">{enlargeable_image(image, said, 320)}'
            f"<figcaption>{rank}. {score} {mark}</figcaption></figure>"
        )
    return figures


def choice_table(choices: Mapping[str, Choices]) -> pd.DataFrame:
    """A row for each candidate of each caption, by model, in the order of the scores."""
    rows = []
    for model, each in choices.items():
        assert each.found.choices is not None
        told = each.outcomes()
        for query, caption in enumerate(each.found.queries):
            for rank, place in enumerate(each.order(query), 1):
                rows.append(
                    {
                        "model": model,
                        "caption": caption,
                        "outcome": told[query],
                        "rank": rank,
                        "image": each.found.images[each.found.choices[query, place]].key,
                        "score": float(each.scores[query, place]),
                        "right": bool(each.found.right_choices[query, place]),
                    }
                )
    return pd.DataFrame(rows)


def _command(found: RetrievalSet, model: str) -> str:
    """What prints the same accuracy."""
    name = found.name.partition(" (")[0]
    given = ["crossmatch", "recall", name, "--model", model_source(model)]
    if found.split != "test":
        given += ["--split", found.split]
    if len(found) < len(load_set(name)):
        given += ["--items", str(len(found))]
    return shlex.join(given)


def _cite(found: RetrievalSet) -> None:
    """Where the set comes from."""
    with st.expander("Source, licence, citation"):
        st.markdown(f"{escape_markdown(found.title)}: <{found.source}>")
        st.text(f"Licence: {found.licence}")
        st.caption(escape_markdown(found.description))
        st.code(found.citation, language="latex", wrap_lines=True)
