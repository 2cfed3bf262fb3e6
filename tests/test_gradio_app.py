"""The Gradio demo over its real HTTP interface: the page's answer, the API, the MCP tools, wrong input."""

import re

import gradio
import pytest
from PIL import Image

import gradio_app
from core import datasets
from core.groups import GroupSet
from core.metrics.evaluation import Evaluation
from core.scoring.load import load_scorer
from core.scoring.scores import score_groups
from core.teaching.quick import own_group, record


@pytest.fixture(scope="module")
def address():
    usual = Image.MAX_IMAGE_PIXELS
    demo = gradio_app.build()
    _, address, _ = demo.launch(
        mcp_server=True, prevent_thread_lock=True, quiet=True, server_name="127.0.0.1"
    )
    yield address
    demo.close()
    Image.MAX_IMAGE_PIXELS = usual


@pytest.fixture(scope="module")
def client(address):
    from gradio_client import Client

    return Client(address, verbose=False)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    group = datasets.load(gradio_app.SET, "test")[0]
    folder = tmp_path_factory.mktemp("pair")
    for i, ref in enumerate(group.images):
        ref.open(320).save(folder / f"{i}.png")
    return [folder / "0.png", folder / "1.png"], group.captions


def call(client, files, captions, **more):
    from gradio_client import handle_file

    images = {name: handle_file(file) for name, file in zip(("image_a", "image_b"), files, strict=True)}
    return client.predict(
        **images, caption_1=captions[0], caption_2=captions[1], api_name="/score_group", **more
    )


def test_the_api_answers_as_the_package_does(client, pair):
    files, captions = pair
    answer = call(client, files, captions, model="builtin/clip")
    group = own_group([Image.open(file) for file in files], captions)
    scorer = load_scorer("builtin/clip")
    groups = GroupSet("mine", (group,))
    assert answer == record(Evaluation.of(score_groups(scorer, groups), groups.truth, groups.ids))
    assert set(answer["verdicts"].values()) <= {"right", "wrong", "tie"}
    assert answer["chance"]["group_match"] == 50 and answer["chance"]["group_score"] == pytest.approx(16.6667)


def test_swapping_the_images_swaps_the_rows_of_the_scores(client, pair):
    files, captions = pair
    answer, swapped = (
        call(client, f, captions, model="builtin/clip")["scores"] for f in (files, files[::-1])
    )
    assert swapped == answer[::-1]


def test_the_models_are_listed(client):
    assert client.predict(api_name="/list_models")["builtin/clip"] == "itc"


@pytest.mark.parametrize(
    ("captions", "model", "said"),
    [
        (("", "a cube"), "builtin/clip", "empty"),
        (("a" * 401, "a cube"), "builtin/clip", "400 characters"),
        (("a", "b"), "somebody/else", "not in the list|Unknown model"),
    ],
)
def test_wrong_input_is_one_sentence(client, pair, captions, model, said):
    with pytest.raises(Exception, match=re.compile(said)):
        call(client, pair[0], captions, model=model)


def test_the_tools_are_served_over_mcp(address):
    import anyio
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async def names():
        async with (
            streamablehttp_client(f"{address}gradio_api/mcp/") as (reader, writer, _),
            ClientSession(reader, writer) as session,
        ):
            await session.initialize()
            return {tool.name: tool.description for tool in (await session.list_tools()).tools}

    tools = anyio.run(names)
    assert any(name.endswith("score_group") for name in tools) and any(
        n.endswith("list_models") for n in tools
    )
    assert any("gets the group right" in (text or "") for text in tools.values())


def test_captions_are_never_markup(pair):
    images = [Image.open(file) for file in pair[0]]
    drawn, _ = gradio_app.compare(*images, "<script>alert(1)</script>", "a <b>cube</b>", "builtin/clip")
    assert "<script>" not in drawn and "<b>cube" not in drawn and "&lt;script&gt;" in drawn


def test_a_missing_image_is_one_sentence():
    with pytest.raises(gradio.Error, match="both images"):
        gradio_app.compare(None, None, "a", "b", "builtin/clip")


def test_an_image_of_too_many_pixels_is_refused_before_it_is_decoded(client, pair, tmp_path):
    import resource

    files, captions = pair
    Image.new("1", (20_000, 5_000)).save(tmp_path / "huge.png")  # 12 kB, a hundred megapixels
    assert (tmp_path / "huge.png").stat().st_size < 50_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(Exception, match=r"(?i)error|bomb|pixels"):
        call(client, [tmp_path / "huge.png", files[1]], captions)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB; its pixels are 300 MB


@pytest.mark.parametrize("path", ["/etc/passwd", "../../../../etc/passwd", "gradio_app.py"])
def test_no_file_of_the_server_is_read_for_a_visitor(address, pair, path):
    import json
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    with pytest.raises(HTTPError) as refused:
        urlopen(f"{address}gradio_api/file={path}", timeout=300)
    assert refused.value.code in (403, 404)
    images = [{"path": path, "meta": {"_type": "gradio.FileData"}}] * 2
    body = json.dumps({"data": [*images, "one", "two", "builtin/clip"]}).encode()
    ask = Request(f"{address}gradio_api/call/score_group", body, {"Content-Type": "application/json"})
    try:
        event = json.load(urlopen(ask, timeout=300))["event_id"]
        with urlopen(f"{address}gradio_api/call/score_group/{event}", timeout=300) as answer:
            told = answer.read().decode()
    except HTTPError as error:
        told = f"event: error {error.code}"
    assert "event: error" in told and "root:" not in told and "import" not in told
