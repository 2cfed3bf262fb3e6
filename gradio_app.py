"""The small demo: two images and two captions of your own, the score matrix, both metrics, the matching.

`python gradio_app.py` starts it on port 7860, with an API and MCP tools that answer in JSON. It is a Gradio Space as
it stands: on ZeroGPU the scoring functions borrow a GPU, elsewhere they run on what there is.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import os
import socket
import tempfile
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs
from weakref import WeakKeyDictionary

import gradio as gr
import gradio.mcp
import httpx
from gradio import http_server, route_utils
from gradio.data_classes import ImageData
from gradio.exceptions import ComponentProcessingError, InvalidPathError
from gradio.mcp import GradioMCPServer
from gradio.utils import get_upload_folder
from gradio_client import Client
from gradio_client.utils import is_http_url_like
from PIL import Image, ImageOps
from pydantic import ValidationError
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse

from core import datasets
from core.base.errors import InputError
from core.base.gate import Gate, Limits, Share
from core.base.image_files import ImageFile
from core.base.processes import limit_malloc
from core.figures import group_html
from core.groups import Group, ImageRef
from core.metrics.evaluation import Evaluation
from core.metrics.groups import headline_metrics, yes_or_no
from core.scorers.vocabulary import vocabulary_note
from core.scoring.load import lazy_scorer, load_scorer, scorer_names
from core.scoring.scores import score_groups
from core.teaching.single_group import MAX_SIDE, evaluate_group, record, user_group

log = logging.getLogger("crossmatch.demo")

STYLE = Path(__file__).parent / ".streamlit" / "style.css"
SET = "scenes/left-right"
LONGEST = 400  # characters of a caption, also by the API
PICTURE = 320  # pixels a side, of the rendered examples
Given = (
    str | bytes
)  # an image as Gradio hands it on: a file of its upload folder, or what a data address holds
FILE_MB, FILES = 10, 10  # one uploaded image, and how many one request brings
KEPT = 600  # seconds that uploads stay on the disk
INNER_SECONDS = 120.0  # that a request of the server to itself, for a tool call, may wait
# Of strangers. Whatever is sent counts as an upload: images also come as text, inside of a call.
LIMITS = Limits(
    uploads=Share(20, 100),
    quota=Share(100 << 20, 400 << 20),
    window=KEPT,
    file=16 << 20,
    body=4 << 20,  # a call, with its images as text
    patience=120.0,
)
# Calls in the queue, of pages, of the API and of tools.
WAITING = Share(12, 60)
_at_work = threading.Lock()  # one pair of images at a time is in memory
_examples: dict[bytes, ImageRef] = {}  # by the SHA-256 of the file that shows it
# What no page of this demo asks for: it would write to the disk, or fetch from elsewhere for anybody.
_UNUSED = (
    "component_server",
    "process_recording",
    "run-history",
    "runs",
    "deep_link",
    "proxy=",
    "stream/",
    "dev/",
    "monitoring",
)
CLOSED = f"(/gradio_api)?/({'|'.join(_UNUSED)}|file[=/](?i:https?):)"
INTRO = """
# Which caption belongs to which image?
Image A belongs to caption 1, image B to caption 2: does a model know it? **GroupMatch** asks whether the true
matching has the highest total score (by chance 50 %), **GroupScore** whether each image also scores highest with its
own caption, and each caption with its own image (by chance 16.7 %). Choose an example below, or your own images.
"""
ABOUT = """
The built-in models are small and know rendered scenes of cubes, spheres and cylinders, not photographs. The examples
are groups of the app Crossmatch, scored from the same pictures, with the same scores.
"""
TABLE = """
.prose .cm-verdicts, .prose .cm-verdicts :is(tbody, tr, th, td), .prose .cm-scroll :is(table, th, td)
  {border: 0 !important;}
.prose .cm-verdicts tbody > tr {border-bottom: 1px solid rgba(134,140,155,.28) !important;}
/* fields and examples on the left, the result on the right; on a phone the result comes directly after the button */
@media (min-width: 641px) {
  #all {display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); grid-template-rows: auto 1fr;}
  #found {grid-column: 2; grid-row: 1 / span 2;}
}
#examples {min-width: 100%;}
/* four columns fit a phone where their texts wrap */
#examples table {table-layout: fixed; width: 100%;}
#examples :is(th, td) {white-space: normal; overflow-wrap: anywhere; hyphens: auto;}
#examples td :is(img, .container) {width: 100%; height: auto; max-width: 5rem; margin: 0 auto;}
/* on a phone both images stand side by side, so that the result is not far */
@media (max-width: 640px) {
  #examples :is(th, td) {padding: .3rem .2rem; font-size: .78rem; line-height: 1.25;}
  #images {flex-wrap: nowrap;}
  #images > * {min-width: 0 !important;}
}
/* the app's look: its typeface, its headings, and letters in place of the images, which stand in their fields */
.gradio-container :is(h1, h2) {font-family: "Source Serif 4", "Source Serif Pro", Georgia, serif; font-weight: 600;}
#found {min-height: 9rem;} /* room for the progress of a model that is being loaded */
#found .cm-match {max-width: 34rem;}
#found .cm-side:first-child .cm-badge {background: #1d1b3a; color: #fff;}
#found .cm-side:first-child .cm-cell {min-height: 2.2rem;}
"""

# On a phone the examples stand below the result: once one is compared, the page goes there.
_TO_RESULT = "() => innerWidth > 640 || document.getElementById('found').scrollIntoView({behavior: 'smooth'})"


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
    return record(_answer(image_a, image_b, caption_1, caption_2, model)[1])


def list_models() -> dict[str, str]:
    """The built-in scorers that score_group takes, and the kind of score that each gives."""
    return scorer_names()


def _answer(
    image_a: Given | None, image_b: Given | None, caption_1: str, caption_2: str, model: str
) -> tuple[Group, Evaluation]:
    try:
        if image_a is None or image_b is None:
            raise InputError("Give both images, then compare.")
        if not (isinstance(caption_1, str) and isinstance(caption_2, str)):
            raise InputError("Give both captions as text, then compare.")
        if max(len(caption_1), len(caption_2)) > LONGEST:
            raise InputError(f"A caption may have at most {LONGEST} characters; shorten it.")
        with _at_work:
            group = user_group((_opened(image_a, "A"), _opened(image_b, "B")), (caption_1, caption_2))
            return group, _scored(group, model)
    except InputError as error:
        raise gr.Error(str(error), print_exception=False) from None


def _opened(image: Given, name: str) -> Image.Image | ImageRef:
    """The pixels of an image that somebody brought, upright and no more of them than are kept; an example as it is."""
    if isinstance(image, Image.Image):
        return image
    content = image if isinstance(image, bytes) else Path(image).read_bytes()
    known = _examples.get(hashlib.sha256(content).digest())
    return known or ImageOps.exif_transpose(ImageFile(content, stranger=True).decode(name, MAX_SIDE))


def compare(
    image_a: Given | None, image_b: Given | None, caption_1: str, caption_2: str, model: str
) -> tuple[str, str, dict[str, Any]]:
    """For the page: the drawn matching with the score matrix, the verdicts, and what the API answers."""
    return _drawn(*_answer(image_a, image_b, caption_1, caption_2, model), model)


def _drawn(group: Group, evaluation: Evaluation, model: str) -> tuple[str, str, dict[str, Any]]:
    data = evaluation.group(0)
    drawn = group_html.matching_html(
        [""] * len(group.images), group.captions, data
    )  # the fields show the images
    unknown = vocabulary_note(model, model, "", group.captions, even_if_known=False)
    before = "" if unknown is None else f"<p><b>{escape(unknown)}</b></p>"
    matrix = group_html.matrix_html(data, "Scores of images, down, with captions, across")
    note = "<p>Scores. Outlined, with a dot: the model's matching. ✓: the true pairs.</p>"
    names = sorted(yes_or_no(data.kinds), key=lambda name: name not in headline_metrics())  # these first
    return before + drawn + matrix + note, group_html.verdicts_html(data, names), record(evaluation)


def _first_answer(model: str) -> tuple[str, str, dict[str, Any]]:
    """`compare` of the first example as the page opens, from the scores that ship: nobody waits for a model."""
    groups = datasets.load(SET, "test").select([0])
    scores = score_groups(lazy_scorer(model), groups)
    return _drawn(groups[0], Evaluation.of(scores, groups.truth, groups.ids), model)


def compare_or_say(*given: Any) -> tuple[str, str, dict[str, Any] | None]:
    """`compare` for the page: what is wrong stands where the result would, and no earlier result stays."""
    try:
        return compare(*given)
    except gr.Error as error:
        return f'<p role="alert"><b>{escape(error.message)}</b></p>', "", None


def _to_compare() -> tuple[str, str, None]:
    """In place of a result of what has been changed since."""
    return "<p>Changed. Press <b>Compare</b> to see the scores.</p>", "", None


def examples(folder: Path, count: int = 4) -> list[list[Any]]:
    """Groups of the built-in world, their pictures as files of a folder. A file is known again by its content, so that
    a model is given the picture that it is given in the app, and not one of 320 pixels made small."""
    groups = [datasets.load(SET, "test")[i] for i in range(count)]
    return [[*(_written(ref, folder) for ref in group.images), *group.captions] for group in groups]


def _written(ref: ImageRef, folder: Path) -> str:
    path = folder / f"{ref.key}.png"
    ref.open(PICTURE).save(path)
    _examples[hashlib.sha256(path.read_bytes()).digest()] = ref
    return str(path)


def picture(value: str | None, label: str, visible: bool = True) -> gr.Image:
    """A field for an image."""
    return gr.Image(value, type="filepath", image_mode=None, label=label, height=220, visible=visible)


def _of_data_address(address: str) -> bytes:
    """The file that an address holds itself; nobody decodes it before its call is at work."""
    try:
        return base64.b64decode(address.partition(",")[2], validate=False)
    except ValueError as error:
        raise gr.Error(
            f"The data address of an image is no base64 ({error}).", print_exception=False
        ) from None


def _take_files_alone() -> None:
    """No `gr.Image` of this process decodes what it is given, or fetches it from an address that somebody names.

    Of the class, not of a field: once an example is chosen, Gradio makes a visitor new fields from the class. A class
    of its own it would write a stub for, into this folder.
    """
    keep = gr.Image.async_move_resource_to_block_cache

    async def keep_uploads(self: gr.Image, path: str | Path | None) -> str | None:
        if path is not None and is_http_url_like(str(path)):
            raise gr.Error("Send the image itself; web addresses are not fetched.", print_exception=False)
        return await keep(self, path)

    def as_file(self: gr.Image, payload: ImageData | None) -> Any:
        if payload is None:
            return None
        if (payload.url or "").startswith("data:"):
            return _of_data_address(str(payload.url))
        return payload.path  # not even looked at here

    def own_picture(self: gr.Image) -> dict[str, Any]:
        """What the API's page names in its examples: a file of the reader's, where Gradio has one of the web."""
        name = f"{str(self.label or 'image').lower().replace(' ', '_')}.png"
        return {"path": name, "url": name, "orig_name": name, "meta": {"_type": "gradio.FileData"}}

    gr.Image.example_payload = own_picture  # type: ignore[method-assign]
    gr.Image.example_value = lambda self: own_picture(self)["path"]  # type: ignore[method-assign]
    gr.Image.preprocess = as_file  # type: ignore[method-assign]
    gr.Image.async_move_resource_to_block_cache = keep_uploads  # type: ignore[method-assign, assignment]


class _FewFiles(route_utils.GradioMultiPartParser):
    """Gradio's reader of uploads, with fewer files a request: it holds every one of them open until the last."""

    def __init__(self, headers: Any, stream: Any, *, max_files: float, **more: Any) -> None:
        super().__init__(headers, stream, max_files=min(max_files, FILES), **more)


class _PatientServer(http_server.Server):
    """Gradio's server, waited for while it starts, however slow the machine: after five seconds Gradio began the same
    app on the next port, which cannot be begun twice. Its port is its own before the app begins, for the same reason.

    Raises OSError: the port is not free; Gradio takes the next. RuntimeError: the app itself did not start.
    """

    def run_in_thread(self) -> None:
        host = self.config.host
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        port = socket.create_server((host, self.config.port), family=family)
        self.thread = threading.Thread(target=self._run, args=([port],), daemon=True)
        self.thread.start()
        while not self.started:
            self.thread.join(0.01)
            if not self.thread.is_alive():
                port.close()
                raise RuntimeError("The demo's server did not start; the lines above say why.")

    def _run(self, sockets: list[socket.socket]) -> None:
        with suppress(SystemExit):  # uvicorn's word for an app that did not start, which it has printed
            self.run(sockets=sockets)


def _refuse_tools_in_a_sentence() -> None:
    """A tool call that does not come through has no text of httpx, which names an address of this machine."""

    def with_sentence(keep: Callable) -> Callable:
        async def execute(*given: Any) -> Any:
            try:
                return await keep(*given)
            except httpx.HTTPError as error:
                log.error("a tool call did not come through: %s", error)
                raise gr.Error("The server refused this call; try again in a minute.") from None

        return execute

    for name in ("_execute_tool_without_progress", "_execute_tool_with_progress"):
        setattr(GradioMCPServer, name, with_sentence(getattr(GradioMCPServer, name)))


def _wait_without_a_thread() -> None:
    """A tool call that waits for its result holds no thread: forty of them held all there were, for good, as the call
    at work needs one to end."""

    async def result(self: GradioMCPServer, job: Any) -> list[Any]:
        return [await asyncio.wrap_future(job.future)]

    GradioMCPServer._execute_tool_without_progress = result  # type: ignore[method-assign]


def _make_one_client() -> None:
    """Gradio's client, by which a server asks itself for tool calls, is made once, in one thread, while the calls that
    wait for it hold none: each of the first calls made one of its own, in threads that these needed to be answered."""
    in_a_thread = gradio.mcp.run_sync
    making: WeakKeyDictionary[GradioMCPServer, asyncio.Lock] = WeakKeyDictionary()

    async def made(make: Callable[[], Client]) -> Client:
        server: GradioMCPServer = make.__self__  # type: ignore[attr-defined]
        async with making.setdefault(server, asyncio.Lock()):
            if server._client_instance is not None:
                return server._client_instance
            try:
                return await in_a_thread(make)
            except Exception as error:
                log.error("the client for tool calls could not be made: %s", error)
                raise gr.Error("The server has just started; try again in a minute.") from None

    gradio.mcp.run_sync = made  # type: ignore[assignment]  # called for this alone
    gradio.mcp.Client = partial(Client, httpx_kwargs={"timeout": INNER_SECONDS})  # type: ignore[assignment, misc]


def _hand_on_images_as_text() -> None:
    """An image that a tool call holds stays text until its call is at work: Gradio uploaded it to itself, as a visitor
    of this machine whose share of uploads all tool calls had together."""
    keep = GradioMCPServer.convert_strings_to_filedata

    def handed_on(
        self: GradioMCPServer, value: dict[str, Any], filedata_positions: list[list[str | int]]
    ) -> dict[str, Any]:
        texts = {
            name: {"url": given, "meta": {"_type": "gradio.FileData"}}
            for name, given in value.items()
            if [name] in filedata_positions and isinstance(given, str) and given.startswith("data:")
        }
        others = {name: given for name, given in value.items() if name not in texts}
        return {**keep(self, others, filedata_positions), **texts}

    GradioMCPServer.convert_strings_to_filedata = handed_on  # type: ignore[method-assign]


_take_files_alone()
_make_one_client()
_hand_on_images_as_text()
_wait_without_a_thread()
_refuse_tools_in_a_sentence()
route_utils.GradioMultiPartParser = _FewFiles  # type: ignore[misc, assignment]
http_server.Server = _PatientServer  # type: ignore[misc]


def build() -> gr.Blocks:
    """The page, its API and its tools."""
    names = list(scorer_names())
    with tempfile.TemporaryDirectory() as folder:  # Gradio copies what it shows
        return _build(names, examples(Path(folder)))


def _build(names: list[str], shown: list[list[Any]]) -> gr.Blocks:
    with gr.Blocks(title="Crossmatch", analytics_enabled=False, delete_cache=(60, KEPT)) as demo:
        gr.Markdown(INTRO)
        with gr.Row(elem_id="all"):
            with gr.Column():
                with gr.Row(elem_id="images"):
                    first, second = (picture(shown[0][i], f"Image {name}") for i, name in enumerate("AB"))
                one = gr.Textbox(shown[0][2], label="Caption 1, of image A", max_length=LONGEST)
                two = gr.Textbox(shown[0][3], label="Caption 2, of image B", max_length=LONGEST)
                model = gr.Dropdown(names, value=names[0], label="Model and kind of score")
                button = gr.Button("Compare", variant="primary")
            with gr.Column(elem_id="found"):
                first_drawn, first_verdicts, first_record = _first_answer(names[0])
                drawn, verdicts = gr.HTML(first_drawn), gr.HTML(first_verdicts)
                with gr.Accordion("As JSON", open=False):
                    answer = gr.JSON(first_record, show_label=False)
            given = gr.Examples(
                shown,
                [first, second, one, two],
                label="From the built-in world",
                cache_examples=False,
                elem_id="examples",
            )
        gr.Markdown(ABOUT)
        fields, results = [first, second, one, two, model], [drawn, verdicts, answer]
        # An example is compared as soon as it is there; a change takes away the result of what was there before.
        for event in (button.click, given.load_input_event.then):
            event(compare_or_say, fields, results, api_visibility="private").then(None, js=_TO_RESULT)
        for field in fields:
            field.input(  # type: ignore[attr-defined]  # Gradio adds it to its components
                _to_compare,
                None,
                results,
                queue=False,
                show_progress="hidden",
                api_visibility="private",
            )
        # Fields of the API alone, and empty: the page's own would give it files of this server as defaults.
        images = [picture(None, f"Image {name}", visible=False) for name in "AB"]
        texts = [gr.Textbox(label=field.label, max_length=LONGEST, visible=False) for field in (one, two)]
        asked = [*images, *texts, model]
        gr.Button(visible=False).click(score_group, asked, answer, api_name="score_group")
        gr.api(list_models, api_name="list_models")
    demo.process_api = _with_sentences(demo.process_api, len(fields))  # type: ignore[method-assign]
    return demo


def _with_sentences(process: Callable, arguments: int) -> Callable:
    """Gradio's `process_api`, which says in one sentence what was wrong with a call: by itself it answers `null`."""

    async def process_api(block_fn: Any, inputs: list[Any], *args: Any, **more: Any) -> dict[str, Any]:
        try:
            return await process(block_fn, inputs, *args, **more)
        except gr.Error:
            raise
        except Exception as error:
            raise gr.Error(_sentence(error, len(inputs), arguments), print_exception=False) from error

    return process_api


def _sentence(error: Exception, count: int, arguments: int) -> str:
    if count < arguments and not isinstance(error, ComponentProcessingError | InvalidPathError):
        return f"{count} of {arguments} arguments came; give two images, two captions and a model, in this order."
    if isinstance(error, InvalidPathError):
        return "Upload the image first and send the path that the upload returns; no other file of the server is read."
    if isinstance(error, ComponentProcessingError | ValidationError):
        return (
            "An argument has the wrong form; send images as uploaded files or as `data:image/png;base64,…`."
        )
    log.error("a call failed", exc_info=error)
    return "An internal error occurred; the server's log has the details."


def queued(demo: gr.Blocks) -> gr.Blocks:
    """The demo, whose calls all wait in one queue, in which an address has its share, and addresses take turns."""
    demo.queue(default_concurrency_limit=1, max_size=WAITING.together, api_open=False)
    queue, push = demo._queue, demo._queue.push

    async def push_share(body: Any, request: Any, username: str | None) -> tuple[bool, Any, Any]:
        who = _address(request)
        waiting = (event for each in queue.event_queue_per_concurrency_id.values() for event in each.queue)
        count = sum(_address(event.request) == who for event in waiting)
        if count >= WAITING.each:
            said = f"{count} calls from your address wait already; try again in a minute."
            return False, said, "queue_full"
        pushed = await push(body, request, username)
        for each in queue.event_queue_per_concurrency_id.values():
            _take_turns(each.queue)
        return pushed

    queue.push = push_share  # type: ignore[method-assign]
    return demo


def _address(request: Any) -> str:
    return request.client.host if request.client else ""


def _take_turns(waiting: list[Any]) -> None:
    """Order calls so that addresses take turns, each with its oldest call first."""
    seen: Counter[str] = Counter()
    turns = []
    for event in waiting:
        who = _address(event.request)
        seen[who] += 1
        turns.append(seen[who])
    waiting[:] = [waiting[i] for i in sorted(range(len(waiting)), key=turns.__getitem__)]


class _KnownStreams:
    """An app whose streams of events begin for what waits alone: Gradio begins one for anybody, then fails inside."""

    def __init__(self, app: Callable) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["method"] == "GET" and not _has_events(scope):
            answer = PlainTextResponse("Nothing waits under this name; send the call again.", 404)
            await answer(scope, receive, send)
            return
        await self.app(scope, receive, send)


def _has_events(scope: Any) -> bool:
    """Whether a request asks for anything but a stream of events of a session, or of a call, that does not exist."""
    path = scope["path"].removeprefix("/gradio_api").rstrip("/")
    queue = scope["app"].get_blocks()._queue
    if path == "/queue/data":
        named = parse_qs(scope["query_string"].decode("latin1"), keep_blank_values=True)
        names = named.get("session_hash", [])
        return all(name in queue.pending_messages_per_session for name in names[-1:])
    if path.startswith("/call/"):
        event = path.rpartition("/")[2]
        return (
            event in queue.event_ids_to_events
            or event in queue.pending_messages_per_session
            or any(event in events for events in list(queue.pending_event_ids_session.values()))
        )
    return True


def served() -> dict[str, Any]:
    """How the demo is launched: with an API, tools, and limits for strangers."""
    gate = Middleware(
        Gate,
        uploads=".*",
        limits=LIMITS,
        closed=CLOSED,
        files="/gradio_api/upload$",
        asks_itself=True,
    )
    return {
        "mcp_server": True,
        "max_file_size": f"{FILE_MB}mb",
        "run_history": False,  # of the hub, with a visitor's key
        "state_session_capacity": 500,
        "_frontend": False,  # or a page that takes three seconds, on a slow machine, ends what has just started
        "app_kwargs": {"middleware": [gate, Middleware(_KnownStreams)], "lifespan": _sweeping},
    }


@asynccontextmanager
async def _sweeping(_app: Any) -> AsyncIterator[None]:
    """While the server runs: Gradio deletes uploads when they are old, and forgets those that broke off; and what the
    last calls freed goes back to the machine."""
    trim = limit_malloc(2)  # or images that were decoded stay in the heaps of Gradio's forty threads

    async def sweep() -> None:
        while True:
            await asyncio.sleep(60)
            await asyncio.to_thread(drop_broken_uploads, Path(get_upload_folder()), KEPT)
            await asyncio.to_thread(trim)

    task = asyncio.create_task(sweep())
    try:
        yield
    finally:
        task.cancel()


def drop_broken_uploads(folder: Path, age: float) -> None:
    """Delete what is left of uploads that were not sent to their end, once nothing has been added for `age` seconds.

    Whole ones lie in folders that are named for their content.
    """
    for path in folder.glob("tmp*"):
        with suppress(OSError):  # Gradio may have come first
            if path.is_file() and time.time() - path.stat().st_mtime > age:
                path.unlink()


def theme() -> gr.themes.Base:
    """The app's typeface and colours."""
    # Of what Gradio ships, this file alone has all letters; bold is made of it.
    typeface = gr.themes.LocalFont("Source Sans Pro", weights=(400,))
    fonts = (typeface, "system-ui", "sans-serif")
    return gr.themes.Default(primary_hue="indigo", neutral_hue="slate", font=fonts).set(
        body_background_fill="#fcfbf8",
        body_background_fill_dark="#12111f",
        body_text_color="#1d1b3a",
        button_primary_background_fill="#4a3fb5",
        button_primary_background_fill_hover="#5a4fc5",
        button_primary_background_fill_dark="#4a3fb5",
    )


def main() -> None:
    if "SPACE_ID" not in os.environ:  # there a GPU is lent to calls alone
        threading.Thread(target=load_scorer, args=("builtin/clip",), daemon=True).start()
    os.umask(0o077)  # what strangers upload is nobody else's
    if "SPACE_ID" in os.environ:  # there proxies with private addresses say whom they ask for
        os.environ.setdefault("FORWARDED_ALLOW_IPS", "10.0.0.0/8")
    queued(build()).launch(
        server_name=os.environ.get("GRADIO_SERVER_NAME", "127.0.0.1"),
        **served(),
        css=STYLE.read_text() + TABLE,
        theme=theme(),
    )


if __name__ == "__main__":
    main()
