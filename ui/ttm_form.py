"""The form of the test-time matching page: what is adapted, and how."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import floor
from os.path import commonprefix
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from core.base.errors import InputError
from core.base.public_mode import is_public
from core.base.text import _pct, counted
from core.datasets.embeddings import read_embeddings
from core.exchange.uploads import Upload
from core.figures.text import escape_markdown, metric_line
from core.groups import GroupSet
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, METRICS
from core.scoring.load import builtin_models, scorer_kind
from core.scoring.weights import weights_bytes
from core.ttm.config import AUGMENTATIONS, PRECISIONS, THRESHOLD_MODES, TrainConfig, TTMConfig, thresholds
from core.ttm.defaults import absolute_name
from core.ttm.run import RUNS, AdaptationRun, store_embeddings
from core.ttm.schedules import SCHEDULES
from core.ttm.transfer import adapted_pool
from ui import ttm_example
from ui.cached import cached_on
from ui.fields import checked_numbers, number, slider
from ui.formatting import touch_help, unbroken
from ui.loaders import evaluate, load_groups, model_source
from ui.page import show_error
from ui.selection import Selection, last_benchmark, offer_nearest, page_button, select
from ui.ttm_preset import ENDS, VARIANTS, pick_preset, preset_source, preset_warning, use_variant, values_of
from ui.ttm_shifts import measured_before, measured_runs
from ui.uploads import PREFIX, new_upload, stored_upload, upload_names

METHODS = {"Test-time matching": "ttm", "SimpleMatch": "simplematch"}
THIS_PAGE = "pages/4_Test-Time_Matching.py"
DEVICES = ("auto", "cpu", "cuda", "mps")
_LORA_FROM_BYTES = 300e6  # bytes of weights from which low-rank adapters are worth looking at
HELP = {
    "variant": "Group: match inside every group. Global: one assignment of all images to all captions. Oracle: "
    "trains on exactly the groups that are matched correctly: an upper bound for comparison, never a "
    "result.",
    "schedule": "How τ changes from its first to its last value. In the paper, constant and ascending schedules "
    "gain nothing; on left-right the built-in CLIP gains with both, half as much with ascending.",
    "mode": "Absolute: pairs whose score reaches τ. Relative: the top 1 − τ of all pairs.",
    "end": "A share is converted to a threshold using the margins before adaptation.",
    "n": "Fewer groups make a faster run.",
    "adapt_on": "Adapt on a share of the groups, and report the others, which training never sees, separately.",
    "optimizer": "Carry AdamW's moments into the next iteration instead of resetting them.",
    "seed": "Fixes the result on one machine. Another machine, or another number of threads, rounds differently, and "
    "the same seed may end as far away there as another seed would.",
    "micro": "How many pairs pass through the model at once; the loss of the batch stays the same.",
    "lora": "Trains small low-rank adapters and leaves the model's weights unchanged: for models too large to train "
    "fully.",
    "contrastive": "Make a pseudo-label likelier than the other captions of its group, in place of likelier by itself.",
    "patience": "Training ends after this many rounds without a rise of GroupScore on the pseudo-labels.",
}


class PlannedRun(NamedTuple):
    """What the form describes: a run of its first seed, and what it is of."""

    job: AdaptationRun
    title: str
    groups: int
    wrong: list[
        str
    ]  # sentences about what was typed and is out of range: there, the run has the preset's value


class AdaptationInput(NamedTuple):
    """What is adapted."""

    title: str
    benchmark: str | None  # None: an embeddings file
    split: str
    model: str
    groups: GroupSet
    evaluation: Evaluation  # before adaptation, all groups
    file: dict[str, Any]  # arguments of `AdaptationRun.of_file`
    shape: str | None = None  # of the groups, where the benchmark mixes several
    tags: tuple[str, ...] = ()  # of the groups, where the sidebar filters them


# ---- what is adapted


def adaptation_input(selection: Selection, place: Any) -> AdaptationInput | None:
    """The selected benchmark and model, or the selected file of embeddings; None where nothing can be adapted."""
    if selection.is_file and stored_upload(selection.benchmark).shape and not is_public():
        return _embeddings(selection, place)
    if selection.file:
        what = "embeddings" if is_public() else "scores"
        line = f"Test-time matching trains a model; {selection.file.removeprefix(PREFIX)} holds {what} alone."
        line += " On this server only built-in models are adapted." if is_public() else ""
        state = {"set": last_benchmark(), "model": next(iter(builtin_models()), None)}
        nearer = None if is_public() else partial(_offer_embeddings, selection.file)
        offer_nearest(line, f"Adapt {state['model']} on {state['set']}", THIS_PAGE, state, nearer)
        return None
    if not is_public():
        _embeddings_field(place)
    model = absolute_name(model_source(selection.model))
    title = f"{selection.benchmark} · {selection.model}"
    mixed = len(load_groups(selection.benchmark, selection.split).shapes) > 1
    shape = "x".join(map(str, selection.groups.shape)) if mixed else None
    if shape is not None:
        title = f"{title} · {shape}"
        st.caption(f"This set mixes shapes; the run takes its groups of {shape}.")
    if selection.tags:
        title = f"{title} · {', '.join(selection.tags)}"
    return AdaptationInput(
        title,
        selection.benchmark,
        selection.split,
        model,
        selection.selected_groups,
        evaluate(selection),
        {},
        shape,
        selection.tags,
    )


MOST_OFFERED = 3  # files of embeddings, beside a file of scores


def _offer_embeddings(entry: str) -> None:
    """Where a file of scores is selected, the way to the visitor's files of embeddings: first those whose names begin
    most like its own, the newest first."""
    files = [(name, shape) for name in upload_names() if (shape := stored_upload(name).shape)]
    files.sort(key=lambda file: -len(commonprefix([file[0], entry])))  # noqa: RUF071  letters are meant
    for name, shape in files[:MOST_OFFERED]:
        label = f"Adapt the embeddings {escape_markdown(name.removeprefix(PREFIX))}"
        state = {"set": name, "shape": shape, "tag": []}
        page_button(label, THIS_PAGE, state, key=f"adapt-{name}", icon=":material/arrow_forward:")


def _embeddings_field(place: Any) -> None:
    """A field for frozen features: one small trainable map per modality, adapted in seconds."""
    entry = None
    with place.popover("Own embeddings", icon=":material/upload_file:"):
        try:
            entry = new_upload("embeddings", only_embeddings=True)
        except InputError as error:  # here: what is refused leaves selection and form as they are
            show_error(error)
        st.caption(
            "NPZ with `img` and `cap`, rows in group order. Image i of a group is assumed to belong to its caption i; "
            "that is used only to measure results."
        )
    if entry is not None:
        select(set=entry, shape=stored_upload(entry).shape, tag=[])


def _embeddings(selection: Selection, place: Any) -> AdaptationInput:
    """The rows of the selected file; a run reads a copy of its own, which stays when the upload is removed."""
    scale = number(place, "Logit scale", 0.01, None, 100.0, key="scale")
    upload, shape = stored_upload(selection.benchmark), "x".join(map(str, selection.groups.shape))
    path, whole = _stored_for_runs(upload.version, upload), evaluate(selection.without_tags())
    file = cached_on(whole, "embeddings", lambda: read_embeddings(path, shape))
    groups = cached_on(whole, "rows", file.groups)
    evaluation = Evaluation.of(scale * file.group_scores(), None, groups.ids)
    arguments = {"path": path, "shape": shape, "scale": scale}
    return AdaptationInput(
        f"{upload.name} · embeddings", None, "test", "embeddings", groups, evaluation, arguments
    )


@st.cache_data(max_entries=16, show_spinner=False)
def _stored_for_runs(version: str, _upload: Upload) -> str:
    return str(store_embeddings(_upload.name, _upload.content()))


TRANSFER = "Transfer check, device"  # the tab

# ---- settings


class _ConfigFields:
    """Widgets whose defaults are a preset's; every one of them is in the address.

    margins : before adaptation, float (n,): of what a threshold is.
    """

    def __init__(self, base: TrainConfig, margins: np.ndarray) -> None:
        self.values, self.margins = values_of(base), margins

    def number(self, place: Any, key: str, label: str, low: Any, high: Any = None, **more: Any) -> Any:
        return number(place, label, low, high, self.values[key], key=key, **more)

    def choice(self, place: Any, key: str, label: str, options: Sequence[str], **more: Any) -> Any:
        index = list(options).index(self.values[key])
        return place.selectbox(label, options, index, key=key, bind="query-params", **more)

    def switch(self, place: Any, key: str, label: str, **more: Any) -> bool:
        with place.container(gap="small"):
            chosen = st.toggle(label, self.values[key], key=key, bind="query-params", **more)
            if "help" in more:
                touch_help(more["help"])
        return chosen

    def names(self, place: Any, key: str, label: str, if_empty: str) -> list[str] | None:
        """Names between commas; None where there are none."""
        more: dict[str, Any] = {"key": key, "bind": "query-params", "placeholder": if_empty}
        text = place.text_input(label, self.values[key], **more)
        return [name.strip() for name in text.split(",") if name.strip()] or None


def basics(kind: str, fields: _ConfigFields, columns: Sequence[Any]) -> dict[str, Any]:
    """The settings that every run is described by; SimpleMatch has five for its three columns."""
    at = lambda i: columns[i % len(columns)]  # noqa: E731
    if kind == "ttm":
        options = {
            "iterations": fields.number(at(0), "T", "Iterations T", 1, 50),
            "epochs": fields.number(at(1), "epochs", "Epochs per iteration", 1, 200),
        }
    else:
        options = {
            "rounds": fields.number(at(0), "rounds", "Maximum rounds", 1, 200),
            "epochs": fields.number(at(1), "epochs", "Epochs per round", 1, 200),
        }
    options["lr"] = fields.number(at(2), "lr", "Learning rate", 1e-7, 1e-1, step=1e-5, format="%.1e")
    options["seed"] = fields.number(at(3), "seed", "Seed", 0, 2**31 - 1, help=HELP["seed"])
    if kind == "simplematch":
        options["patience"] = fields.number(at(4), "patience", "Patience", 1, 50, help=HELP["patience"])
    return options


def threshold_settings(fields: _ConfigFields, second: Any, once: bool) -> tuple[dict[str, Any], bool]:
    """Variant, schedule and both ends of the threshold, `once` the first alone; whether it is the oracle's run."""
    more: dict[str, Any] = {"help": HELP["variant"], "on_change": use_variant}
    variant = fields.choice(second, "variant", "Variant", VARIANTS, **more)
    is_global = variant == "global"
    if variant == VARIANTS[2]:
        # The preset's thresholds stay in the description; nothing reads them.
        return {"variant": "group"}, True
    options: dict[str, Any] = {"variant": variant, "threshold_mode": "absolute"}
    left, middle, right = st.columns(3)
    if not once:
        options["schedule"] = fields.choice(
            left, "schedule", "Threshold schedule", tuple(SCHEDULES), help=HELP["schedule"]
        )
    relative = False
    if is_global:
        mode = fields.choice(left, "mode", "Threshold mode", THRESHOLD_MODES, help=HELP["mode"])
        options["threshold_mode"], relative = mode, mode == "relative"
    for place, keys, name, which in (
        (middle, ("start", "share", "tau1"), "First", "first"),
        (right, ("end", "share_end", "tauT"), "Last", "last"),
    ):
        if which == "last" and (once or options["schedule"] == "constant"):
            break  # it stays at the first one
        options |= _threshold_end(fields, place, keys, name, which, is_global, relative)
    return options, False


def _threshold_end(
    fields: _ConfigFields,
    place: Any,
    keys: tuple[str, str, str],
    name: str,
    which: str,
    is_global: bool,
    relative: bool,
) -> dict[str, Any]:
    way, share, tau = keys
    index = ENDS.index(fields.values[way])
    label = f"{name} threshold ({'τ₁' if which == 'first' else 'final τ'}) as"
    more: dict[str, Any] = {"key": way, "horizontal": True, "help": HELP["end"], "bind": "query-params"}
    chosen = place.radio(label, ENDS, index, **more)
    if chosen == ENDS[0]:
        what = "pairs" if is_global else "groups"
        value = slider(place, f"{name}: % of {what} selected", 1, 100, fields.values[share], key=share)
        return {f"coverage_{which}": value / 100}
    low, high = (0.0, 1.0) if relative else (None if is_global else 0.0, None)
    unit = "rank τ, 0 to 1" if relative else "score τ" if is_global else "margin τ"
    text = f"{name}: {unit}"
    usual = fields.values[tau]
    if usual is None and is_global:
        usual = 1.0
    elif usual is None:  # that of the share, so that switching changes nothing
        selected = st.session_state.get(share, fields.values[share]) / 100
        config = TTMConfig(iterations=1, coverage_first=selected)
        usual = floor(1000 * float(thresholds(config, fields.margins)[0])) / 1000
    value = number(place, text, low, high, usual, key=tau, format="%.3f")
    return {f"tau_{which}": value}


def training_settings(fields: _ConfigFields, pixels: bool, once: bool, captioner: bool) -> dict[str, Any]:
    """Batch, augmentation of pixels, precision; of several iterations (not `once`) the optimizer's state.

    A captioner is also asked for its loss.
    """
    first, second, third = st.columns(3)
    batch = fields.number(
        first, "batch", "Groups per batch", 1, None, step=1, placeholder="50, or 100 for 1×k"
    )
    micro_batch = fields.number(
        second,
        "micro",
        "Pairs at once",
        1,
        None,
        step=1,
        placeholder="as many as fit",
        help=HELP["micro"],
    )
    options: dict[str, Any] = {"batch": batch, "micro_batch": micro_batch}
    if pixels:
        options["augmentation"] = fields.choice(third, "augmentation", "Augmentation", AUGMENTATIONS)
    options["precision"] = fields.choice(first, "precision", "Precision while training", PRECISIONS)
    if not once:
        options["keep_optimizer"] = fields.switch(
            second, "keep", "Keep the optimizer's state", help=HELP["optimizer"]
        )
    if captioner:
        options["contrastive"] = fields.switch(
            third, "contrastive", "Contrastive loss", help=HELP["contrastive"]
        )
    return options | _optimizer_settings(fields, options.get("augmentation") == "resize-crop", once)


# Key, label, least, most, step and what an empty field stands for: [TTM] C.1's settings of the optimizer.
_OPTIMIZER = (
    ("weight_decay", "Weight decay", 0.0, 10.0, 0.01, None),
    ("beta1", "Beta 1", 0.0, 0.9999, 0.01, None),
    ("beta2", "Beta 2", 0.0, 0.9999, 0.001, None),
    ("lr_restart", "Restart: × per iteration", 0.01, 1.0, 0.01, None),
    ("lr_final", "Last rate, × the first", 0.001, 1.0, 0.05, None),
    ("clip_norm", "Largest gradient norm", 1e-4, None, 0.1, "not clipped"),
    ("crop_factor", "Enlarged before the crop, ×", 1.01, 4.0, 0.05, None),
)


def _optimizer_settings(fields: _ConfigFields, crops: bool, once: bool) -> dict[str, Any]:
    """The optimizer's settings and the layers that are trained; what would have no effect is not asked for."""
    unused = {"lr_restart": once, "crop_factor": not crops}
    shown = [field for field in _OPTIMIZER if not unused.get(field[0])]
    columns, options = st.columns(3), {}
    for i, (key, label, low, high, step, empty) in enumerate(shown):
        more: dict[str, Any] = {"step": step, "format": "%g", "placeholder": empty}
        options[key] = fields.number(columns[i % 3], key, label, low, high, **more)
    options["betas"] = [options.pop("beta1"), options.pop("beta2")]
    place = columns[len(shown) % 3]
    return options | {"parameters": fields.names(place, "layers", "Layers to train", "all of them")}


def _adapters_label(model: str) -> str:
    size = None if model == "embeddings" else weights_bytes(model)
    large = size is not None and size > _LORA_FROM_BYTES
    return f"LoRA ({size / 1e9:.1f} GB of weights)" if size and large else "LoRA"


def adapters(fields: _ConfigFields, model: str) -> dict[str, Any]:
    """Low-rank adapters; none where there are no layers."""
    if model == "embeddings":
        st.caption(
            "An embeddings file is adapted by one small map per modality; it has no layers for adapters."
        )
        return {}
    if not fields.switch(st, "lora", "Train low-rank adapters instead of the whole model", help=HELP["lora"]):
        return {}
    first, second, third = st.columns(3)
    rank = fields.number(first, "rank", "Rank", 1, 512)
    alpha = fields.number(second, "lora_alpha", "Alpha", 0.1, None, step=1.0, placeholder="twice the rank")
    targets = fields.names(third, "targets", "Layers, separated by commas", "those of the model's family")
    return {"lora_rank": rank, "lora_alpha": alpha, "lora_targets": targets}


FEW_GROUPS = (40, 100)  # of a quick try


def group_count(place: Any, total: int) -> int:
    """How many groups a run has: beside the preset, as fewer of them are the quickest try. A number is typed, or
    chosen below it; an empty field is all, and so is more than there are, which is said."""
    label, more = "Number of groups", {"help": HELP["n"], "placeholder": f"all {total}"}
    field = place.container(key="group-count", gap="xxsmall")
    count = number(field, label, 1, None, None, key="n", **more)
    if count is not None and count > total:
        field.caption(f"The set has {counted(total, 'group')}; all are taken.")
        count = None
    names = {str(few): few for few in FEW_GROUPS if few < total} | {f"all {total}": None}
    st.session_state["few_groups"] = next((name for name, few in names.items() if few == count), None)
    field.pills(
        "Groups",
        list(names),
        key="few_groups",
        label_visibility="collapsed",
        on_change=lambda: choose_count(names),
    )
    return int(count or total)


def choose_count(names: dict[str, int | None]) -> None:
    """From a callback: a number of groups was chosen, or taken back, which leaves all."""
    st.session_state["n"] = names.get(st.session_state["few_groups"] or "")


def data_settings(subject: AdaptationInput, count: int, grouped: bool) -> tuple[dict[str, Any], np.ndarray]:
    """The transfer check and the device, of so many groups; and which groups may be trained on, bool (n,)."""
    total = len(subject.groups)
    bind: dict[str, Any] = {"bind": "query-params"}
    first, second, third = st.columns(3)
    device = first.selectbox("Device", DEVICES, key="device", accept_new_options=True, **bind)
    allowed = np.arange(total) < count
    options = {"groups": None if count == total else count, "device": device}
    is_transfer = grouped and second.toggle("Transfer check", key="transfer", help=HELP["adapt_on"], **bind)
    if grouped:
        with second:
            touch_help(HELP["adapt_on"])
    if is_transfer:
        share = second.slider("Adapt on … % of the groups", 5, 95, 50, 5, key="adapt_on", **bind)
        seed = number(third, "Seed of the split", 0, 2**31 - 1, 0, key="split_seed")
        options |= {"adapt_on": share / 100, "split_seed": int(seed)}
        chosen = subject.groups if count == total else subject.groups.select(range(count))
        allowed[:count] = adapted_pool(chosen.blind(), share / 100, int(seed))
        size = int(allowed.sum())
        st.caption(
            f"Adapts on {size} groups; {len(chosen) - size} stay untouched. Groups that share an image stay on "
            "the same side."
        )
    return options, allowed


def plan(selection: Selection, choices: Any, settings: Any) -> tuple[PlannedRun, Evaluation] | None:
    """The whole form, and the evaluation of the groups that would be trained on; None while nothing is adapted.

    choices : the place of method, data and preset. settings : of everything that the preset has set.
    """
    with checked_numbers(choices) as wrong:
        return _plan(selection, choices, settings, wrong)


def _plan(
    selection: Selection, choices: Any, settings: Any, wrong: list[str]
) -> tuple[PlannedRun, Evaluation] | None:
    with choices:
        # On a phone the style has preset and number of groups in one line: what came out begins on the first screen.
        with st.container(key="ttm-fields"):
            left, middle, few, right = st.columns([27, 27, 21, 25])
        method = left.segmented_control(
            "Method",
            list(METHODS),
            default=next(iter(METHODS)),
            key="method",
            required=True,
            bind="query-params",
        )
        kind = METHODS[method or "Test-time matching"]
        subject = adaptation_input(selection, right.container(key="beside-fields"))
        if subject is None:
            return None
        fields = _ConfigFields(pick_preset(middle, kind, subject), subject.evaluation.matches.margin)
        count = group_count(few, len(subject.groups))
        few_place = st.container()
        short = st.container(key="measured-short")  # for phones: the figure of it is a screen further down
        if warning := preset_warning(subject.model, subject.benchmark):
            st.caption(escape_markdown(warning))
    with settings:
        st.caption(escape_markdown(preset_source()))
        options, oracle, common, allowed = _all_settings(kind, fields, subject, count)
    job = _job(kind, subject, options, common, oracle)
    title = (
        f"{subject.title}{' · SimpleMatch' if kind == 'simplematch' else ''}{' · oracle' if oracle else ''}"
    )
    evaluation = subject.evaluation if allowed.all() else subject.evaluation.select(allowed)
    if line := ttm_example.few_groups_line(job, evaluation):
        few_place.markdown(unbroken(line))
    if line := _measured_short(job, evaluation):
        short.caption(line)
    return PlannedRun(job, title, count, wrong), evaluation


def _measured_short(job: AdaptationRun, evaluation: Evaluation) -> str:
    """What runs that ship of the same set and model made of GroupMatch, `Measured: GroupMatch 82.7 → 79.7 %`, and what
    it was before, as pages show it; "" where none ship. Markdown."""
    if not ttm_example.is_measured(job, evaluation):
        return ""
    runs = measured_runs(job.model, job.benchmark or "", evaluation.shape)
    ends = ttm_example.group_match_ends(runs)[:, 1]
    before, groups = measured_before(job.model, job.benchmark or "") or (None, 0)
    assert before is not None  # where runs ship, the scores before them do too
    spread = f" ± {_pct(np.std(ends, ddof=1))}" if len(ends) > 1 else ""
    said = f"{METRICS[GROUP_MATCH].label} {_pct(before.value)} → {_pct(float(np.mean(ends)))}{spread} %"
    number = counted(len(ends), "run")
    if job.groups:  # of fewer this is no promise
        return unbroken(f"With all {groups} groups: {said} ({number}). Before: {metric_line(before)}.")
    of = f"{number} of all {groups} groups, shown below"
    return unbroken(f"**Measured: {said}** ({of}). Before: {metric_line(before)}.")


def _all_settings(
    kind: str, fields: _ConfigFields, subject: AdaptationInput, count: int
) -> tuple[dict[str, Any], bool, dict[str, Any], np.ndarray]:
    """Options of the method, whether it is the oracle's run, what every method has, and which groups may be trained on,
    bool (n,)."""
    schedule, training, low_rank, groups = st.tabs(
        ["Schedule", "Training", _adapters_label(subject.model), TRANSFER],
        default=TRANSFER if st.session_state.get("settings_open") else None,
    )
    with schedule:
        columns = st.columns(5 if kind == "ttm" else 3)
        options, oracle = basics(kind, fields, columns[-4:] if kind == "ttm" else columns), False
        once = options.get("iterations") == 1
        if kind == "ttm":
            more, oracle = threshold_settings(fields, columns[0], once)
            options |= more
    with training:
        captioner = subject.benchmark is not None and scorer_kind(subject.model) == "vgpt"
        options |= training_settings(fields, subject.benchmark is not None, once, captioner)
    with low_rank:
        options |= adapters(fields, subject.model)
    with groups:
        common, allowed = data_settings(subject, count, options.get("variant") != "global")
    return options, oracle, common, allowed


def _job(
    kind: str, subject: AdaptationInput, options: dict[str, Any], common: dict[str, Any], oracle: bool
) -> AdaptationRun:
    arguments = {**common, "preset": st.session_state["preset"], "options": options}
    if kind == "ttm":
        arguments["oracle"] = oracle
    if subject.benchmark is None:
        return RUNS[kind].of_file(**subject.file, **arguments)
    where: dict[str, Any] = {
        "split": subject.split,
        "shape": subject.shape,
        "tags": list(subject.tags) or None,
    }
    return RUNS[kind].of(subject.benchmark, subject.model, **where, **arguments)
