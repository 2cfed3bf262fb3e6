"""What the page on language priors loads once: the captioner's scores, its prior, blind scores, tokens."""

from __future__ import annotations

import json
import shlex
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
import streamlit as st

from core.base import public_mode
from core.base.errors import InputError
from core.base.paths import assets
from core.debiasing.priors import PRIORS, Prior, default_count, estimate_prior
from core.debiasing.study import AlphaStudy
from core.figures.text import escape_markdown
from core.figures.tokens import TokenView
from core.scorers.score_kinds import KINDS
from core.scoring.cache import ScoreCache
from core.scoring.load import scorer_key, scorer_kind, scorer_names
from ui.cached import cached_on
from ui.export import selection_name, tag_words
from ui.fields import number
from ui.formatting import progress
from ui.history import page_is_drawn_again
from ui.loaders import LazyScorer, evaluate, model_source
from ui.old_links import is_first_visit, known_parameters, warn_without_effect
from ui.page import ask_beside, quoted
from ui.selection import (
    OPENED_BY_ITSELF,
    NearestModel,
    _default,
    benchmarks,
    chosen_by_page,
    last_benchmark,
    model_said,
    offer_nearest,
    open_by_itself,
    open_group,
    page_button,
)
from ui.uploads import (
    PREFIX,
    PRIOR,
    TAGS,
    is_upload,
    remove_prior,
    stored_upload,
    upload_prior,
    why_no_prior,
)

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.groups import GroupSet, ImageRef
    from ui.selection import Selection

CAPTIONER = "builtin/blip-caption"
PAGE = "pages/3_Debias.py"
RETRIEVAL = "Among all captions"  # the name of its view of a set of retrieval
_IN_VIEW = "group-in-view"  # in the session: a set's name and the group that was last on screen
_MAX_IMAGES = 100  # images of a prior that a page samples ...
_MAX_IMAGES_PUBLIC = 5  # ... and for a visitor of a public instance
_MOST_NOISE = 100.0  # that mean and deviation of noise may be

# What a captioner is, and why it has to be corrected, in the words of the lesson and of the page.
TWO_THINGS = (
    "scores a caption by how likely it would write it for the image. That mixes two things: whether it fits the image, "
    "and whether it is likely English anyway. The second part is the **language prior** P(t)."
)
PER_TOKEN = "Each is the mean log probability of a word piece, not the log probability of the whole caption."

WITHOUT_SET = ("alpha", "samples", "noise_mean", "noise_std")  # numbers of an address, which choose no set
FIRST_SET = "scenes/triples"  # what a first visit without an address shows: alpha changes most there


def first_visit() -> None:
    """Where nothing was selected yet and the address says nothing: a set on which alpha does something visible. So it
    is again where this address is opened, as by a reload, and with this set alone."""
    is_first = is_first_visit(WITHOUT_SET) or _is_opened_again()
    if is_first and benchmarks().get(FIRST_SET) == "" and CAPTIONER in scorer_names():
        open_by_itself(FIRST_SET)


def _is_opened_again() -> bool:
    """Whether a session begins with what the address of a first visit became: its set, and nothing else selected."""
    asked = set(known_parameters()) - {*WITHOUT_SET, "metric", "group", "view"}
    replaced = st.query_params.get("instead_of"), st.query_params.get("model")
    if replaced == (_default("model"), CAPTIONER):  # which the page put there; any other one somebody chose
        asked -= {"instead_of", "model"}
    is_new = not ({"set", "carried"} & st.session_state.keys() or st.session_state.get("selected"))
    return is_new and asked == {"set"} and st.query_params["set"] == FIRST_SET


def keep_first_set() -> None:
    """After a view that shows no selection: the set that the page chose by itself is still its own."""
    is_own = st.session_state.get(OPENED_BY_ITSELF) == FIRST_SET
    if is_own and page_is_drawn_again() and "set" not in st.query_params:
        open_by_itself(FIRST_SET)


def keep_in_view(groups: GroupSet, group: str) -> None:
    """Remember the group that a view shows, for the view that is opened next."""
    st.session_state[_IN_VIEW] = groups.name, group


def open_group_in_view(groups: GroupSet) -> None:
    """Open what the view before showed, once: so the field can still be emptied; nothing where a group is open."""
    name, group = st.session_state.pop(_IN_VIEW, (None, None))
    if st.session_state.get("group") is None and name == groups.name and group in groups.ids:
        open_group(group)


class DebiasInputs(NamedTuple):
    """A captioner's scores on the selected groups, its prior there, and the command that prints the same numbers."""

    model: str
    study: AlphaStudy
    prior: Prior
    command: str = ""
    title: str = ""  # the selection in one line, above exported figures
    truth_assumed: bool = False
    name: str = ""  # in the names of downloads


def nearest_captioner(model: str) -> NearestModel:
    """The model where it gives log P(t | image), else the built-in captioner and why."""
    if is_upload(model):
        return NearestModel(model)
    try:
        kind = KINDS[scorer_kind(model_source(model))]
    except InputError:  # the page says what is wrong with it
        return NearestModel(model)
    if (kind.log_prob and kind.reads_image) or CAPTIONER not in scorer_names():
        return NearestModel(model)
    why = (
        f"{model_said(model)} is no captioner ({kind.label}): this page shows {CAPTIONER}, the others keep "
        f"{model_said(model)}."
    )
    return NearestModel(CAPTIONER, why, said=bool(opening_line()) and model == _default("model"))


def other_views_line(model: str) -> str:
    """Why the view that needs no captioner shows another model than the others; "" where they show the same."""
    nearest = nearest_captioner(model).name
    if nearest == model:
        return ""
    return (
        f"This view needs no log P(caption | image) and shows {model_said(model)}; the other views show {nearest}, "
        "a captioner, in its place."
    )


def opening_line() -> str:
    """What a page that nobody asked anything of chose by itself; "" where somebody chose."""
    return chosen_by_page(FIRST_SET, "alpha changes most")


def captioner(selection: Selection) -> str:
    """The selected model, or where it gives no log P(t | image) the built-in captioner.

    A link names its model once more after `nearest_captioner` has replaced it, so that one run of the page may see it.
    """
    kind = KINDS[scorer_kind(model_source(selection.model))]
    if kind.log_prob and kind.reads_image:
        return selection.model
    if CAPTIONER not in scorer_names():
        raise InputError(
            f"{model_said(selection.model)} gives the score “{kind.label}”, not log P(t | image), and no captioner is "
            "built in: choose one, such as Salesforce/blip-image-captioning-base."
        )
    return CAPTIONER


def captioner_state() -> dict[str, str]:
    """The built-in captioner on the benchmark that was selected last."""
    return {"set": last_benchmark(), "model": CAPTIONER}


def file_inputs(selection: Selection, bar: DeltaGenerator) -> DebiasInputs | None:
    """The scores of a file and the prior beside it; without one, the field for it and None.

    bar : where the prior can be changed.
    """
    entry = str(selection.file)
    if (stored := stored_upload(entry).beside(PRIOR)) is not None:  # also one that cannot be read
        with bar.popover("Source of log P(t)", icon=":material/tune:"):
            _change_prior(entry, stored[0])
    evaluation = evaluate(selection.without_tags())
    found = upload_prior(entry, evaluation)
    if found is None:
        _ask_for_prior(entry)
        return None
    warn_without_effect({"samples": "the prior is a file", "prior": "the prior is a file"})
    prior, command = found, _file_command(selection, entry)
    if not selection.mask.all():
        mask = selection.mask
        prior = prior._replace(values=prior.values[mask], caption_index=prior.caption_index[mask])
        evaluation = evaluate(selection)
    st.caption(
        escape_markdown(
            f"log P(t): {prior.line}. The scores are taken to be log P(t | image), means or sums over "
            "tokens as the file has them."
        )
    )
    study = cached_on(evaluation, stored_upload(entry).version, lambda: _study_of(evaluation, prior))
    assumed = not evaluation.truth_given
    return DebiasInputs(
        entry, study, prior, command, selection.description, assumed, selection_name(selection)
    )


def _change_prior(entry: str, name: str) -> None:
    """Another prior in place of the one beside a file, or none."""
    st.markdown(f"Your file **{escape_markdown(name)}**")
    if st.button("Remove it", icon=":material/delete:", key="remove-prior"):
        remove_prior(entry)
        st.rerun()
    st.markdown("Replace the file")
    ask_beside(entry, PRIOR)


def _ask_for_prior(entry: str) -> None:
    """The field for a file's prior; where its scores can have none, why, and the nearest page."""
    name, reason = entry.removeprefix(PREFIX), why_no_prior(entry)
    line, way = "Alpha takes log P(t) out of log P(t | image)", "Show its metrics on Matching"
    if reason:
        offer_nearest(f"{line}, which {name} does not hold. {quoted(reason)}", way, "pages/2_Matching.py", {})
        return
    asks = f"{line}. If {name} holds log P(t | image), add log P(t) beside it."
    st.info(escape_markdown(asks), icon=":material/tune:")
    ask_beside(entry, PRIOR)  # first what leads on, then the way elsewhere
    page_button(way, "pages/2_Matching.py", {}, icon=":material/arrow_forward:", type="tertiary")


def _study_of(evaluation: Any, prior: Prior) -> AlphaStudy:
    ids, clusters = list(evaluation.ids), prior.clusters(evaluation.clusters)
    return AlphaStudy(evaluation.scores, prior.values, evaluation.truth, ids, clusters=clusters)


def _file_command(selection: Selection, entry: str) -> str:
    """`crossmatch debias` of a file of scores with its prior, as both were named; "" for embeddings."""
    file = stored_upload(entry)
    prior, tags = file.beside(PRIOR), file.beside(TAGS)
    if file.shape or prior is None:
        return ""
    words = ["crossmatch", "debias", "--scores", file.name, "--prior", prior[0]]
    words += [] if tags is None else ["--tags", tags[0]]
    return shlex.join([*words, *tag_words(selection.tags)])


class PickedPrior(NamedTuple):
    """Where log P(t) comes from, how many images it is sampled from, and the mean and standard deviation of noise; None
    for the default."""

    kind: str
    samples: int | None = None
    pixels: tuple[float | None, float | None] = (None, None)


def pick_prior(benchmark: str) -> PickedPrior:
    """The prior's fields, one below the other: they stand in a popover."""
    options = [name for name in PRIORS if name != "train" or benchmark.startswith("scenes/")]
    kind = st.selectbox(
        "Source of log P(t)",
        options,
        key="prior",
        bind="query-params",
        help="\n\n".join(f"**{name}**, {p.label}: {p.meaning}" for name, p in PRIORS.items()),
    )
    if not PRIORS[kind].sampled:
        warn_without_effect({"samples": f"the prior {kind} is sampled from no images"})
        return PickedPrior(kind)
    count = number(
        st,
        "Images",
        1,
        _MAX_IMAGES_PUBLIC if public_mode.is_public() else _MAX_IMAGES,
        None,
        key="samples",
        placeholder=str(_default_images(kind, benchmark)),
        help="Empty: the paper's number of noise images (100 for Winoground, 30 for EqBen, 1 for ImageNet, 3 "
        "elsewhere); 30 for other images.",
    )
    if count is None and public_mode.is_public():
        return PickedPrior(kind, _default_images(kind, benchmark))
    mean = std = None
    if kind == "gaussian" and not public_mode.is_public():
        mean = _noise_number(st, "Noise mean", -_MOST_NOISE, "noise_mean")
        std = _noise_number(st, "Noise deviation", 0.001, "noise_std")
    return PickedPrior(kind, None if count is None else int(count), (mean, std))


def _noise_number(place: Any, label: str, low: float, key: str) -> float | None:
    """The mean or the standard deviation of noise images' pixels."""
    about = "Of the noise, in the model's normalised pixels. Empty: the model's own."
    return number(place, label, low, _MOST_NOISE, None, key=key, placeholder="own", help=about)


def _default_images(kind: str, benchmark: str) -> int:
    """How many images a prior is sampled from by default; in public mode no more than a visitor may use."""
    count = default_count(kind, benchmark)
    return min(count, _MAX_IMAGES_PUBLIC) if public_mode.is_public() else count


def debias_inputs(selection: Selection, model: str, picked: PickedPrior) -> DebiasInputs:
    """Scores and prior of the selected groups: from memory, the score cache, or the model itself."""
    evaluation, source = evaluate(selection, model), model_source(model)
    key = (selection.benchmark, selection.split, selection.groups.shape, model, scorer_key(source))
    prior = _prior(key, picked, selection.groups, source)
    prior = prior._replace(
        values=prior.values[selection.mask], caption_index=prior.caption_index[selection.mask]
    )
    options = {"--samples": picked.samples, "--null-mean": picked.pixels[0], "--null-std": picked.pixels[1]}
    given = [w for flag, value in options.items() if value is not None for w in (flag, f"{value:g}")]
    command = alpha_command(selection, "debias", model, "--prior", picked.kind, *given)
    study = _study((*key, picked, selection.tags), evaluation, prior)
    name = selection_name(selection._replace(model=model))
    return DebiasInputs(model, study, prior, command, selection.description, name=name)


@cache
def shipped_retrieval() -> dict[str, Any] | None:
    """What alpha does where an image chooses among all captions of a set; None where it was not measured."""
    path = assets() / "results" / "alpha_retrieval.json"
    return json.loads(path.read_text()) if path.is_file() else None


def alpha_command(selection: Selection, name: str, model: str, *words: str) -> str:
    """`crossmatch debias` or `crossmatch blind` of a model on the selected groups."""
    shape = ["--shape", "x".join(map(str, selection.groups.shape))] if st.session_state.get("shape") else []
    source = [selection.benchmark, "--split", selection.split, *shape, "--model", model]
    return shlex.join(["crossmatch", name, *source, *words, *tag_words(selection.tags)])


@st.cache_resource(max_entries=24, show_spinner=False)
def _prior(key: tuple, picked: PickedPrior, _groups: Any, _source: str) -> Prior:
    with progress("Sampling the prior") as (container, bar):
        scorer, report = LazyScorer(_source, container), lambda done, total: bar(done / total)
        return estimate_prior(
            scorer,
            _groups,
            picked.kind,
            picked.samples,
            cache=ScoreCache(),
            progress=report,
            pixels=picked.pixels,
        )


@st.cache_resource(max_entries=24, show_spinner=False)
def _study(key: tuple, _evaluation: Any, _prior: Prior) -> AlphaStudy:
    return AlphaStudy(
        _evaluation.scores,
        _prior.values,
        _evaluation.truth,
        list(_evaluation.ids),
        clusters=_prior.clusters(_evaluation.clusters),
    )


def blind_models() -> list[str]:
    """Built-in scores that no image has a part in."""
    return [name for name, kind in scorer_names().items() if not KINDS[kind].reads_image]


@cache
def solved_blind(model: str) -> list[str]:
    """The built-in sets that a text-only model solves, by its stored scores."""
    path = assets() / "results" / "alpha.csv"
    if not path.is_file():
        return []
    table = pd.read_csv(path)
    return [*table[(table.model == model) & (table.setting == "blind: solved")].benchmark.unique()]


def tokens(model: str, image: ImageRef, caption: str) -> TokenView:
    """The tokens of a caption, with and without the image."""
    name = public_mode.check_model(model, scorer_names())
    source = model_source(name)
    return _tokens((name, scorer_key(source), image.key, caption), source, image, caption)


@st.cache_data(max_entries=500, show_spinner=False)
def _tokens(key: tuple, _source: str, _image: ImageRef, _caption: str) -> TokenView:
    return TokenView.of(LazyScorer(_source, st.empty()), _image, _caption)
