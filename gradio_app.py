"""The small demo: two images and two captions of your own, the score matrix, both metrics, the matching; of one model,
or of two beside each other.

`.venv/bin/python gradio_app.py --port 7860` starts it, with an API and MCP tools that answer in JSON. It is a Gradio
Space as it stands: on ZeroGPU the scoring functions borrow a GPU, elsewhere they run on what there is. What makes it
safe on a public server is in `demo_server`.
"""

from __future__ import annotations

import argparse
import errno
import hashlib
import json
import os
import re
import socket
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any


def read_options() -> None:
    """The command's options become the variables that Gradio reads; `--help` and a wrong option end here."""
    parser = argparse.ArgumentParser(
        description="The small demo of Crossmatch in a browser, with an API and MCP tools. It says "
        "its address once all libraries are loaded; Ctrl-C ends it."
    )
    asked = {
        "host": ("GRADIO_SERVER_NAME", "127.0.0.1", str, "address to listen on; 0.0.0.0 for other machines"),
        "port": ("GRADIO_SERVER_PORT", "7860", int, "port of the page"),
    }
    for name, (variable, usual, kind, what) in asked.items():
        default = os.environ.get(variable, usual)
        text = f"{what} (default: {default}; or the variable {variable})"
        parser.add_argument(f"--{name}", type=kind, default=default, help=text)
    given = vars(parser.parse_args())
    was_named = "GRADIO_SERVER_PORT" in os.environ or any(word.startswith("--p") for word in sys.argv[1:])
    if is_taken(given["host"], given["port"]):
        if was_named:
            parser.exit(
                2, f"Port {given['port']} is taken; end what uses it, or name another one by --port.\n"
            )
        sys.stderr.write(f"Port {given['port']} is taken: the demo takes the next free one, named below.\n")
    os.environ |= {variable: str(given[name]) for name, (variable, *_) in asked.items()}


def is_taken(host: str, port: int) -> bool:
    """Whether something listens on a port already; what else is wrong with an address Gradio says."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        return error.errno == errno.EADDRINUSE
    except OverflowError:
        return False
    return False


if __name__ == "__main__":
    read_options()  # before Gradio and torch, which take long: they read the variables, and help needs neither

import gradio as gr
from PIL import Image, ImageOps

from core import datasets
from core.base.errors import InputError
from core.base.image_files import ImageFile
from core.datasets.paper_results import CITATIONS
from core.figures import group_html
from core.groups import Group, ImageRef
from core.metrics.evaluation import Evaluation
from core.metrics.group_metrics import GroupData, _margin_decimals
from core.metrics.groups import GROUP_MATCH, METRICS, headline_metrics, yes_or_no
from core.scorers.vocabulary import _never_read_note, vocabulary_note
from core.scoring.load import lazy_scorer, load_scorer, scorer_names
from core.scoring.scores import score_groups
from core.teaching.single_group import MAX_SIDE, evaluate_group, record, user_group
from demo_server import patch_gradio
from demo_server.sentences import with_sentences
from demo_server.serving import served
from demo_server.turns import queued
from demo_server.uploads import KEPT

APP = Path(__file__).parent / ".streamlit"  # the look of the app, which is the demo's too
EXAMPLES = (  # groups of the test split, a kind each
    ("scenes/left-right", 0),
    ("scenes/front-behind", 2),
    ("scenes/attribute-swap", 2),
    ("scenes/attribute-swap", 10),
)
KINDS = (
    "left and right",
    "front and behind",
    "exchanged colours",
    "easy for builtin/clip",
)
LONGEST = 400  # characters of a caption, also by the API
PICTURE = 320  # pixels a side, of the rendered examples
Given = str | bytes  # an image as Gradio hands it on: a file of its uploads, or what a data address holds
_at_work = threading.Lock()  # one pair of images at a time is in memory
_examples: dict[bytes, ImageRef] = {}  # by the SHA-256 of the file that shows it
_example_captions: set[tuple[str, ...]] = set()  # of each, in the order of its pictures
SAME = (
    "Both captions are the same text, so no metric can be right: caption 1 and caption 2 have equal scores."
)
OWN = (
    "With pictures of your own, mind that the models here know drawn scenes of cubes, spheres and cylinders alone: "
    "their scores of photographs are unreliable."
)
LEFT = "The captions are still those of an example: write what your own pictures show."
PICTURELESS = {"lm", "blind"}  # kinds of scores for which no picture is looked at
INTRO = """
# Which caption belongs to which image?
Image A belongs to caption 1, image B to caption 2. Does a model know it? Choose an example, or bring two images and
two captions of your own; the models know drawn scenes, no photographs.
"""
APP_ADDRESS = "CROSSMATCH_APP_URL"  # the variable with the address of the whole app, where it has one
END = "about"  # where the end of the page begins
PAPER = "[Test-Time Matching](https://arxiv.org/abs/2510.07632)"
ABOUT = """
The built-in models are small and know rendered scenes of cubes, spheres and cylinders, not photographs. The examples
are groups of the app Crossmatch, scored from the same pictures, with the same scores.

**The whole app** measures models on whole benchmarks, with intervals and chance levels, compares them, takes out what
captions alone give away, and lets models learn without being told the answers.
"""
# What Gradio says to screen readers when an answer is there, and has in none of its languages.
MISSING = {"common.complete": "Complete"}
LAYOUT = """
/* what light-dark() in a score matrix goes by: Gradio sets its own theme by a class alone */
.prose {color-scheme: light;}
.dark .prose {color-scheme: dark;}
.dark .cm-light, :root:not(.dark) body:not(.dark) .cm-dark {display: none;} /* which end of the shades is high */
.form > .block:last-child {padding-bottom: .7rem !important;} /* its select touched the lower edge of the panel */
.prose .cm-verdicts, .prose .cm-verdicts :is(tbody, tr, th, td), .prose .cm-scroll :is(table, th, td)
  {border: 0 !important;}
.prose .cm-verdicts tbody > tr {border-bottom: 1px solid rgba(134,140,155,.28) !important;}
.gradio-container {overflow: clip !important;} /* hidden, as Gradio has it, nothing inside can stay in view */
/* gaps so small that the button is on a laptop's first screen, and on a phone's both captions are */
main > .column {gap: .6rem;}
#images img {background: white;} /* what is transparent is scored on white, and so it is shown */
#all > .column:first-child {gap: .5rem;}
/* fields on the left, the result on the right; on a phone the result comes directly after the button */
@media (min-width: 641px) {
  #all {display: grid; grid-template-columns: minmax(0, 7fr) minmax(0, 13fr);}
}
/* the examples are cards in one row, on a phone in two: each picture with its caption beside it */
#examples thead {display: none;}
#examples .table-wrap, #examples table {display: block; width: 100%; border: 0; margin: 0; padding: 0;}
#examples > .label {height: 0; margin: 0; overflow: hidden;} /* each card says what it is */
#examples tbody {display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: .5rem .6rem;}
#examples tr {display: grid; grid-template-columns: 2.1rem minmax(0, 1fr); gap: .25rem .5rem; align-items: center;
  padding: .35rem; margin: 0; border: 1px solid rgba(134,140,155,.4); border-radius: .5rem; cursor: pointer;
  background: var(--block-background-fill);}
#examples tr::before {grid-column: 1 / -1; font-size: .85rem; font-weight: 600;}
#examples tr:is(:hover, :focus-within) {border-color: #4a3fb5; outline: 1px solid #4a3fb5;}
#examples td {padding: 0; border: 0; white-space: normal; font-size: .78rem; line-height: 1.25; text-align: left;}
#examples td:nth-child(n+3) {grid-column: 2;}
#examples td:is(:nth-child(1), :nth-child(3)) {grid-row: 2;}
#examples td .container {width: 100%; height: auto; max-width: none; border: 0; border-radius: .3rem;}
#examples td img {width: 100%; height: auto;}
@media (max-width: 900px) {
  #examples tbody {grid-template-columns: repeat(2, minmax(0, 1fr));}
}
@media (max-width: 640px) {
  /* both images stand side by side, so that the result is not far; the button is always at hand */
  #images {flex-wrap: nowrap;}
  #images > * {min-width: 0 !important;}
  /* so low that both captions stand above the button, and what each example is above its pictures */
  main > .column {gap: .4rem;}
  #examples tr {row-gap: .15rem; padding-block: .2rem .3rem;}
  #examples tr::before {font-size: .78rem; line-height: 1.2;}
  .prose h1 {font-size: 1.15rem; line-height: 1.25;}
  .prose p {line-height: 1.4;}
  /* with the page's colour around it, as a bar: no field shows from behind it */
  #score {position: sticky; bottom: .5rem; z-index: 1000; box-shadow: 0 .25rem 0 .6rem var(--body-background-fill);}
}
/* the name of a field above its picture, not on it */
#images [data-testid="block-label"] {position: static; width: auto; border: 0; box-shadow: none; background: none;}
#images [data-testid="image"] {height: calc(100% - 1.9rem);}
/* the ways to bring another picture have a low row of their own below it */
#images .source-selection {height: 1.75rem;}
#images .source-selection button {margin-block: .125rem;}
#images [data-testid="image"] > .upload-container {height: calc(100% - 1.75rem);}
/* what a finger presses is 40 pixels high and wide; the name of a field is as high as the signs beside it */
@media (max-width: 640px), (pointer: coarse) {
  #images > .block {height: 184px !important;}
  #images [data-testid="block-label"] {height: 40px;}
  #images [data-testid="image"] {height: calc(100% - 40px);}
  #images .source-selection {height: 40px;}
  #images .source-selection button {width: 40px; height: 40px; margin: 0; padding: 9px;}
  #images [data-testid="block-label"] svg {display: none;} /* else its name and the two signs need more than there is */
  #images .icon-button-wrapper {padding: 0; gap: 0; border: 0; background: none; box-shadow: none;}
  #images .icon-button-wrapper button {width: 40px; height: 40px;}
  #images [data-testid="image"] > .upload-container {height: calc(100% - 40px);}
  button.label-wrap {min-height: 40px; margin-block: -10px; align-items: center;}
}
/* what an empty field says has its height */
#images [data-testid="upload-text"] {padding: 0; min-height: 0; font-size: .85rem; line-height: 1.25;}
#images [data-testid="upload-icon"] {width: 1.4rem; margin-bottom: .2rem;}
/* a long name ends before the arrow of its list, not below it */
.gradio-container .wrap-inner input[role="combobox"] {padding-right: 1.75rem !important; text-overflow: ellipsis;}
#all .form > .block {padding-block: .12rem;}
#all .form > .block:first-child {padding-top: .45rem;}
#all .form [data-testid="block-info"] {margin-bottom: .25rem;}
#found .remark {padding: .5rem .75rem; margin-bottom: .75rem; border-left: .25rem solid #c77700;
  border-radius: .3rem; background: rgba(199,119,0,.14); font-weight: 600;}
.gradio-container :is(h1, h2) {font-weight: 600;}
#changed {display: none;} /* pressed by the page itself */
#found {min-height: 9rem;} /* room for the progress of a model that is being loaded */
/* pictures of 240 pixels with the scores beside them, smaller in a low window: GroupScore and GroupMatch are on a
laptop's first screen */
#found .cm-match {max-width: 38rem; grid-template-rows: auto 2rem auto;}
#found .cm-cell img {max-height: 240px; width: auto; margin: 0 auto;}
@media (min-width: 641px) and (max-height: 820px) {
  #found {gap: .25rem;}
  #found .cm-cell img {max-height: 188px;}
}
#found .cm-scores p {font-size: .9rem;}
@media (min-width: 1100px) {
  /* as wide as the scores are: they are never scrolled; the note below them takes the width that they have */
  #found .cm-drawn {display: grid; grid-template-columns: minmax(0, 1fr) max-content; gap: .75rem; align-items: start;}
  #found .cm-scores p {width: 0; min-width: 100%;}
}
/* two models: beside each other, each with its scores below its pictures; on a phone below each other */
#found .cm-two {display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 1.5rem;}
#found .cm-two > section {min-width: 0;}
#found .cm-two h2 {margin: 0; font-size: 1.05rem; overflow-wrap: anywhere;}
#found .cm-two .cm-kind {margin: 0 0 .4rem; font-size: .85rem; opacity: .8;}
#found .cm-two .cm-drawn {display: block;}
#found .cm-two .cm-cell img {max-height: 170px;}
#found .cm-two .cm-text {font-size: .9rem;}
#found .cm-two .cm-scores {margin-top: .5rem;}
#found .cm-two .cm-verdicts {font-size: .92rem;}
@media (min-width: 641px) {
  /* rows of both start at one height, however long a caption, a note or a verdict is */
  #found .cm-two {grid-template-rows: repeat(8, auto);}
  #found .cm-two > section {display: grid; grid-row: span 8; grid-template-rows: subgrid; align-content: start;}
  #found .cm-two .cm-verdicts {display: grid; grid-row: span 4; grid-template-rows: subgrid;}
  #found .cm-two .cm-verdicts tbody {display: grid; grid-row: 1 / -1; grid-template-rows: subgrid;}
  #found .cm-two .cm-verdicts tr {display: grid; grid-template-columns: 5.2em minmax(0, 1fr); padding: 0;}
}
@media (max-width: 640px) {
  #found .cm-two {grid-template-columns: minmax(0, 1fr);}
  #found .cm-two > section + section {margin-top: 1.25rem; padding-top: 1rem;
    border-top: 1px solid rgba(134,140,155,.4);}
}
"""

# What a kind of score does, in the list of models; the kinds are those of `list_models`.
KIND_WORDS = {
    "itc": "two towers, trained contrastively",
    "itm": "a matching head reads image and caption together",
    "vgpt": "a captioner; log P(caption | image)",
    "vqa": "is asked about the caption; P(“yes”)",
    "vqa-log": "is asked about the caption; log P(“yes”)",
    "lm": "reads the caption alone, no image",
    "blind": "a captioner that sees noise in place of the image",
}
MODEL_WORDS = {  # of models whose kind another one has too
    "builtin/clip-details": "two towers, also trained on sizes and materials",
    "builtin/clip-early": "two towers, from early in training",
    "builtin/siglip": "two towers, trained with a sigmoid loss",
    "itc:builtin/blip-itm": "the two towers of BLIP, without its matching head",
}

# A result that stands off the screen, as on a phone, is brought into view.
_TO_RESULT = """() => {
  const found = document.getElementById('found'), top = found.getBoundingClientRect().top;
  if (top < 0 || top > innerHeight / 2) found.scrollIntoView({behavior: 'smooth'});
}"""

# What is wrong with a picture that was just brought, once it is drawn: on a phone it stands a screen below.
_TO_TROUBLE = """() => setTimeout(() => {
  document.querySelector('#found [role=alert]')?.scrollIntoView({block: 'center', behavior: 'smooth'});
}, 100)"""

# Gradio's own event of a text field comes with typed letters alone: not with a paste, a deletion, a phone's suggestion.
_WATCH = """() => document.getElementById('all').addEventListener('input', event => {
  const text = event.target.matches('textarea, input[type=text]:not([role=combobox])');
  if (text) document.getElementById('changed').click();
})"""

# Gradio's page has a base, by which a link to a place of its own would load it anew: it goes there instead.
_TO_PLACE = """() => document.addEventListener('click', event => {
  const link = event.target.closest('a[href^="#"]');
  const place = link && document.getElementById(link.hash.slice(1));
  if (!place) return;
  event.preventDefault();
  place.scrollIntoView();
})"""


def borrow_gpu(function: Callable) -> Callable:
    """On ZeroGPU a function asks for the GPU while it runs; elsewhere nothing changes."""
    try:
        import spaces
    except ImportError:
        return function
    return spaces.GPU(function)


@borrow_gpu
def _scored(group: Group, model: str) -> Evaluation:
    if model not in scorer_names():  # nobody's name reaches a disk or a hub from here
        raise InputError(f"Unknown model {model!r}; choose one of {', '.join(scorer_names())}.")
    return evaluate_group(group, load_scorer(model))


def score_group(
    image_a: Given, image_b: Given, caption_1: str, caption_2: str, model: str = "builtin/clip"
) -> dict[str, Any]:
    """Score two images against two captions and say whether the model gets the group right.

    Args:
        image_a: the image that belongs to caption 1.
        image_b: the image that belongs to caption 2.
        caption_1: text that describes image A and not image B.
        caption_2: text that describes image B and not image A.
        model: a built-in scorer, such as builtin/clip or itc:builtin/blip-itm.

    Returns:
        scores (2 rows of 2), matching (caption index per image, null for a tie), margin, verdict of every metric
        (right, wrong or tie), chance levels in percent.
    """
    _, (evaluation,) = _answer(image_a, image_b, caption_1, caption_2, [model])
    return record(evaluation)


def list_models() -> dict[str, str]:
    """The built-in scorers that score_group takes, and the kind of score that each gives."""
    return scorer_names()


def model_labels() -> list[tuple[str, str]]:
    """Every scorer as the list of the page has it, and its name."""
    words = {name: MODEL_WORDS.get(name, KIND_WORDS.get(kind, kind)) for name, kind in scorer_names().items()}
    return [(f"{name}: {said}", name) for name, said in words.items()]


def _answer(
    image_a: Given | None, image_b: Given | None, caption_1: str, caption_2: str, models: Sequence[str]
) -> tuple[Group, list[Evaluation]]:
    """The group, and what each model makes of it."""
    try:
        if image_a is None or image_b is None:
            raise InputError("Give both images, then score.")
        if not (isinstance(caption_1, str) and isinstance(caption_2, str)):
            raise InputError("Give both captions as text, then score.")
        if max(len(caption_1), len(caption_2)) > LONGEST:
            raise InputError(f"A caption may have at most {LONGEST} characters; shorten it.")
        if len(set(models)) < len(models):
            raise InputError(f"Both models are {models[0]}; choose another one as the second, or none.")
        with _at_work:
            group = user_group((_opened(image_a, "A"), _opened(image_b, "B")), (caption_1, caption_2))
            return group, [_scored(group, model) for model in models]
    except InputError as error:
        raise gr.Error(str(error), print_exception=False) from None


def _opened(image: Given, name: str) -> Image.Image | ImageRef:
    """The pixels of an image that somebody brought, upright and no more of them than are kept; an example as it is."""
    if isinstance(image, Image.Image):
        return image
    content = image if isinstance(image, bytes) else Path(image).read_bytes()
    known = _examples.get(hashlib.sha256(content).digest())
    return known or ImageOps.exif_transpose(
        ImageFile(content, stranger=True).decode(name, MAX_SIDE, alone=True)
    )


def score(
    image_a: Given | None, image_b: Given | None, caption_1: str, caption_2: str, model: str, second: str = ""
) -> tuple[str, str, dict[str, Any]]:
    """For the page: the drawn matching with the score matrix, the verdicts, and what the API answers.

    second : another model, beside the first; then the answer is one of each, by the model's name. "" for none.
    """
    models = [model, second] if second else [model]
    group, evaluations = _answer(image_a, image_b, caption_1, caption_2, models)
    if not second:
        return _drawn(group, evaluations[0], model)
    return _drawn_beside(group, dict(zip(models, evaluations, strict=True)))


def _drawn(group: Group, evaluation: Evaluation, model: str) -> tuple[str, str, dict[str, Any]]:
    before = "".join(map(_remark, _remarks_on_all(group, [model]))) + _vocabulary_remark(group, model)
    drawn = f'{before}<div class="cm-drawn">{_matching(group, evaluation)}{_scores(evaluation)}</div>'
    verdicts = group_html.verdicts_html(_shown(evaluation), _metric_names(evaluation))
    return drawn, verdicts + _chance(evaluation), record(evaluation)


def _drawn_beside(group: Group, found: Mapping[str, Evaluation]) -> tuple[str, str, dict[str, Any]]:
    """Two models on the same group: matching, scores and verdicts of each; the chance levels, which are the same."""
    kinds, sides = scorer_names(), []
    for model, evaluation in found.items():
        said = MODEL_WORDS.get(model, KIND_WORDS.get(kinds[model], kinds[model]))
        head = f'<div><h2>{escape(model)}</h2><p class="cm-kind">{escape(said)}</p></div>'
        remarks = f"<div>{_vocabulary_remark(group, model)}</div>"
        verdicts = group_html.verdicts_html(_shown(evaluation), _metric_names(evaluation))
        parts = (head, remarks, _matching(group, evaluation), _scores(evaluation), verdicts)
        sides.append(f'<section aria-label="{escape(model)}">{"".join(parts)}</section>')
    first = next(iter(found.values()))
    before = "".join(map(_remark, _remarks_on_all(group, found)))
    answer = {model: record(evaluation) for model, evaluation in found.items()}
    return f'{before}<div class="cm-two">{"".join(sides)}</div>', _chance(first), answer


def _shown(evaluation: Evaluation) -> GroupData:
    """The group with as few decimals as if it stood in a set of such margins: alone it had six to add up exactly."""
    usual = max(_margin_decimals(evaluation.matches.margin, 2), 2)
    return evaluation.group(0)._replace(usual=min(usual, 6))


def _same_captions(group: Group) -> bool:
    first, second = group.captions
    return first == second


def _remarks_on_all(group: Group, models: Iterable[str]) -> list[str]:
    """What is to be known before the scores of any model: of the captions, and of pictures that are looked at."""
    kinds, known = scorer_names(), {image.key for image in _examples.values()}
    strange = any(image.key not in known for image in group.images)
    said = {
        SAME: _same_captions(group),
        LEFT: strange and tuple(group.captions) in _example_captions,
        OWN: strange and not {kinds[model] for model in models} <= PICTURELESS,
    }
    return [remark for remark, holds in said.items() if holds]


def _vocabulary_remark(group: Group, model: str) -> str:
    """Which words a model does not know, or never read; "" where there are none."""
    unknown = vocabulary_note(model, model, "", group.captions, even_if_known=False)
    unread = _never_read_note(model, group.captions)
    return "".join(_remark(said) for said in (unknown, unread and f"{unread}.") if said)


def _matching(group: Group, evaluation: Evaluation) -> str:
    return group_html.matching_html(_pictures(group), group.captions, _shown(evaluation))


def _scores(evaluation: Evaluation) -> str:
    matrix = group_html.matrix_html(_shown(evaluation), "Scores of images, down, with captions, across")
    shades = '<span class="cm-light">darker</span><span class="cm-dark">brighter</span>'
    kind = evaluation.group(0).kinds.get(GROUP_MATCH)
    missed = {"right": "", "tie": " Dotted lines: the true pairs."}
    lines = missed.get(
        kind or "", " Lines: the matching, dashed where wrong; dotted: the true pairs that it misses."
    )
    matching = group_html._matching_key(evaluation.group(0))
    note = f"Scores: the {shades}, the higher. {matching} ✓: the true pairs.{lines}"
    return f'<div class="cm-scores">{matrix}<p>{note}</p></div>'


def _metric_names(evaluation: Evaluation) -> list[str]:
    """Metrics that are right or wrong of a group, the headline ones first."""
    names = yes_or_no(evaluation.group(0).kinds)
    return sorted(names, key=lambda name: name not in headline_metrics())


def _chance(evaluation: Evaluation) -> str:
    chance = record(evaluation)["chance"]
    levels = (f"{METRICS[n].label} {chance[n]:.3g}\u00a0%" for n in _metric_names(evaluation))
    return f"<p>Right by chance: {', '.join(levels)}.</p>"


def _remark(said: str, role: str = "note") -> str:
    """What is to be known before a result, or why there is none: one look for both."""
    return f'<p class="remark" role="{role}">⚠ {escape(said)}</p>'


def _pictures(group: Group) -> list[str]:
    with _at_work:
        return [
            group_html.picture_html(image.open(PICTURE), PICTURE, f"Image {name}")
            for image, name in zip(group.images, "AB", strict=True)
        ]


def _first_answer(model: str) -> tuple[str, str, dict[str, Any]]:
    """`score` of the first example as the page opens, from the scores that ship: nobody waits for a model."""
    name, place = EXAMPLES[0]
    groups = datasets.load(name, "test").select([place])
    scores = score_groups(lazy_scorer(model), groups)
    return _drawn(groups[0], Evaluation.of(scores, groups.truth, groups.ids), model)


def score_or_say(*given: Any) -> tuple[str, str, dict[str, Any] | None]:
    """`score` for the page: what is wrong stands where the result would, and no earlier result stays."""
    try:
        return score(*given)
    except gr.Error as error:
        return _remark(error.message, "alert"), "", None


def _to_score(image_a: Given | None = None, image_b: Given | None = None) -> tuple[str, str, None]:
    """In place of a result of what has been changed since; of an image that has been changed at once what is wrong."""
    try:
        for image, name in ((image_a, "A"), (image_b, "B")):
            if image is not None:
                with _at_work:
                    _opened(image, name)
    except InputError as error:
        return _remark(str(error), "alert"), "", None
    return "<p>Changed. Press <b>Score</b> to see the scores.</p>", "", None


def examples(folder: Path) -> list[list[Any]]:
    """Groups of the built-in world, their pictures as files of a folder. A file is known again by its content, so that
    a model is given the picture that it is given in the app, and not one of 320 pixels made small."""
    groups = [datasets.load(name, "test")[place] for name, place in EXAMPLES]
    # Each caption in the field of its image, in whichever order the set has them.
    captions = [[group.captions[j] for j in group.truth or ()] for group in groups]
    _example_captions.update(map(tuple, captions))
    return [
        [*(_written(ref, folder) for ref in group.images), *own]
        for group, own in zip(groups, captions, strict=True)
    ]


def _written(ref: ImageRef, folder: Path) -> str:
    path = folder / f"{ref.key}.png"
    ref.open(PICTURE).save(path)
    _examples[hashlib.sha256(path.read_bytes()).digest()] = ref
    return str(path)


def picture(value: str | None, label: str, **more: Any) -> gr.Image:
    """A field for an image."""
    return gr.Image(value, type="filepath", image_mode=None, label=label, height=162, **more)


def links() -> str:
    """Where more is: the paper, the whole app, how to cite; Markdown."""
    address = _app_address()
    whole, cite = (f"[The whole app]({address}) · ", "How") if address else ("", "About, and how")
    return f"<br>{whole}The paper: {PAPER} · [{cite} to cite](#{END})\n"


def about() -> str:
    """What the models here know, what the whole app can do, and where it is; Markdown."""
    address, space = _app_address(), os.environ.get("SPACE_ID", "")
    start = "It is not open to visitors here."
    if re.fullmatch(r"[\w.-]+/[\w.-]+", space):
        files = f"[the files of this demo](https://huggingface.co/spaces/{space}/tree/main)"
        start = f"It comes with {files}: download them, and `make app` in their folder starts it."
    where = f"[Open it]({address})." if address else start
    return f"{ABOUT.rstrip()} {where}\n"


def _app_address() -> str:
    """Where the whole app is open to visitors; "" where no such address is set."""
    address = os.environ.get(APP_ADDRESS, "")
    return address if re.fullmatch(r"https?://\S+", address) else ""


def kinds_css() -> str:
    """What each example is, above its pictures."""
    return "".join(
        f"#examples tbody tr:nth-child({n})::before {{content: {json.dumps(kind)};}}\n"
        for n, kind in enumerate(KINDS, 1)
    )


patch_gradio()


def build() -> gr.Blocks:
    """The page, its API and its tools."""
    names = list(scorer_names())
    with tempfile.TemporaryDirectory() as folder:  # Gradio copies what it shows
        return _build(names, examples(Path(folder)))


def _build(names: list[str], shown: list[list[Any]]) -> gr.Blocks:
    with gr.Blocks(title="Crossmatch", analytics_enabled=False, delete_cache=(60, KEPT)) as demo:
        gr.Markdown(INTRO.rstrip() + links())
        first, second = (picture(shown[0][i], f"Image {name}", render=False) for i, name in enumerate("AB"))
        one = gr.Textbox(shown[0][2], label="Caption 1, of image A", max_length=LONGEST, render=False)
        two = gr.Textbox(shown[0][3], label="Caption 2, of image B", max_length=LONGEST, render=False)
        given = gr.Examples(
            shown,
            [first, second, one, two],
            label="Examples",
            cache_examples=False,
            elem_id="examples",
        )
        with gr.Row(elem_id="all"):
            with gr.Column():
                with gr.Row(elem_id="images"):
                    first.render()
                    second.render()
                one.render()
                two.render()
                model = gr.Dropdown(model_labels(), value=names[0], label="Model and kind of score")
                second_model = gr.Dropdown(
                    [("none", ""), *model_labels()], value="", label="Second model, beside it (optional)"
                )
                button = gr.Button("Score", variant="primary", elem_id="score")
            with gr.Column(elem_id="found"):
                first_drawn, first_verdicts, first_record = _first_answer(names[0])
                drawn, verdicts = gr.HTML(first_drawn), gr.HTML(first_verdicts)
                with gr.Accordion("As JSON", open=False):
                    answer = gr.JSON(first_record, show_label=False)
        gr.Markdown(about(), elem_id=END)
        with gr.Accordion("How to cite", open=False):
            gr.Code(CITATIONS["TTM"], show_label=False, language=None, lines=1)
        fields, results = [first, second, one, two, model, second_model], [drawn, verdicts, answer]
        # What is pressed while Gradio works is done afterwards: by itself it drops the press, and an example's pictures
        # stood beside another one's scores.
        demo.fns[given.load_input_event["id"]].trigger_mode = "always_last"
        _score_when((button.click, given.load_input_event.then), fields, results)
        for script in (_WATCH, _TO_PLACE):
            demo.load(None, js=script, api_visibility="private")
        # Fields of the API alone, and empty: the page's own would give it files of this server as defaults.
        images = [picture(None, f"Image {name}", visible=False) for name in "AB"]
        texts = [gr.Textbox(label=field.label, max_length=LONGEST, visible=False) for field in (one, two)]
        asked = [*images, *texts, model]
        gr.Button(visible=False).click(score_group, asked, answer, api_name="score_group")
        gr.api(list_models, api_name="list_models")
    demo.process_api = with_sentences(demo.process_api, len(asked))  # type: ignore[method-assign]
    return demo


def _score_when(events: Iterable[Any], fields: Sequence[Any], results: Sequence[Any]) -> None:
    """Score what the fields hold on each of these events, such as an example that is there; a change of a field takes
    away the result of what was there before, also one that is still to come."""
    scored = [
        event(score_or_say, fields, results, trigger_mode="always_last", api_visibility="private")
        for event in events
    ]
    for event in scored:
        event.then(None, js=_TO_RESULT)
    watched = gr.Button("Changed", elem_id="changed")
    images = [field for field in fields if isinstance(field, gr.Image)]
    others = (field.input for field in fields if isinstance(field, gr.Dropdown))  # texts are watched
    quietly: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
    for event in (watched.click, *others):
        event(_to_score, None, results, cancels=scored, **quietly)
    for field in images:
        field.input(_to_score, images, results, cancels=scored, **quietly).then(None, js=_TO_TROUBLE)


def theme() -> gr.themes.Base:
    """The app's typeface and colours, from its settings: panels and borders are shades of the page, in both themes."""
    # Of what Gradio ships, this file alone has all letters; bold is made of it.
    typeface = gr.themes.LocalFont("Source Sans Pro", weights=(400,))
    fonts = (typeface, "system-ui", "sans-serif")
    colours = tomllib.loads((APP / "config.toml").read_text(encoding="utf-8"))["theme"]
    light, dark = colours["light"], colours["dark"]
    page, panel, border = "backgroundColor", "secondaryBackgroundColor", "borderColor"
    greys = gr.themes.Color(
        *(light[page], light[panel], light[border], "#c3bfc2", dark["grayColor"], light["grayColor"]),
        *("#504c74", dark[border], dark[panel], colours["dark"]["sidebar"][page], dark[page]),
        name="crossmatch",
    )
    return gr.themes.Default(primary_hue="indigo", neutral_hue=greys, font=fonts).set(
        body_background_fill=light[page],
        body_background_fill_dark=dark[page],
        body_text_color=light["textColor"],
        body_text_color_dark=dark["textColor"],
        block_label_text_color=light["textColor"],
        block_label_text_color_dark=dark["textColor"],
        block_title_text_color=light["textColor"],
        block_title_text_color_dark=dark["textColor"],
        block_label_background_fill_dark=dark[panel],
        input_background_fill_dark=dark[page],
        button_primary_background_fill=light["primaryColor"],
        button_primary_background_fill_hover=dark["primaryColor"],
        button_primary_background_fill_dark=light["primaryColor"],
        button_primary_background_fill_hover_dark=dark["primaryColor"],
    )


def look() -> dict[str, Any]:
    """What the page is launched with: the app's styles and its own."""
    css = (APP / "style.css").read_text() + LAYOUT + kinds_css()
    return {"css": css, "theme": theme(), "i18n": gr.I18n(en=MISSING)}


def main() -> None:
    if "SPACE_ID" not in os.environ:  # there a GPU is lent to calls alone
        threading.Thread(target=load_scorer, args=("builtin/clip",), daemon=True).start()
    os.umask(0o077)  # what strangers upload is nobody else's
    if "SPACE_ID" in os.environ:  # there proxies with private addresses say whom they ask for
        os.environ.setdefault("FORWARDED_ALLOW_IPS", "10.0.0.0/8")
    queued(build()).launch(
        server_name=os.environ.get("GRADIO_SERVER_NAME", "127.0.0.1"),
        **served(),
        **look(),
    )


if __name__ == "__main__":
    main()
