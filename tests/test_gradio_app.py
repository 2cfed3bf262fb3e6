"""The Gradio demo over its real HTTP interface: the page's answer, the API, the MCP tools, wrong input."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from core import datasets
from core.base.limits import PUBLIC
from core.groups import GroupSet
from core.metrics.evaluation import Evaluation
from core.scoring.load import load_scorer
from core.scoring.scores import score_groups
from core.teaching.single_group import record, user_group


@pytest.fixture(autouse=True, scope="module")
def _gradio(tmp_path_factory):
    """Two seconds and more, for the workers alone that run some of these tests: `demo_server` imports Gradio, too.

    Each worker keeps its uploads in a folder of its own: one test deletes every file that came while it ran.
    """
    global gradio, gradio_app, serving, turns, uploads
    import gradio

    import gradio_app
    from demo_server import serving, turns, uploads

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("GRADIO_TEMP_DIR", str(tmp_path_factory.mktemp("uploads")))
        yield


@pytest.fixture(scope="module")
def address():
    demo = gradio_app.queued(gradio_app.build())
    _, address, _ = demo.launch(
        **gradio_app.served(), prevent_thread_lock=True, quiet=True, server_name="127.0.0.1"
    )
    yield address
    demo.close()


@pytest.fixture(scope="module")
def client(address):
    from gradio_client import Client

    return Client(address, verbose=False)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    name, place = gradio_app.EXAMPLES[0]
    group = datasets.load(name, "test")[place]
    folder = tmp_path_factory.mktemp("pair")
    for i, ref in enumerate(group.images):
        ref.open(gradio_app.PICTURE).save(folder / f"{i}.png")
    return [folder / "0.png", folder / "1.png"], group.captions


def call(client, files, captions, **more):
    from gradio_client import handle_file

    images = {name: handle_file(file) for name, file in zip(("image_a", "image_b"), files, strict=True)}
    return client.predict(
        **images, caption_1=captions[0], caption_2=captions[1], api_name="/score_group", **more
    )


def test_the_api_answers_as_the_package_does(client, pair, tmp_path):
    captions, files = pair[1], [tmp_path / file.name for file in pair[0]]
    for file, own in zip(pair[0], files, strict=True):  # anybody's pictures, and not the examples
        Image.open(file).resize((300, 300)).save(own)
    answer = call(client, files, captions, model="builtin/clip")
    group = user_group([Image.open(file) for file in files], captions)
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


def test_words_that_a_model_does_not_know_are_said_before_its_verdicts(pair, tmp_path):
    files, captions = pair
    gradio_app.examples(tmp_path)  # whose pictures these are: nothing else is to be said of them
    known, *_ = gradio_app.score(*map(str, files), *captions, "builtin/clip")
    strange, *_ = gradio_app.score(*map(str, files), "a giraffe", captions[1], "builtin/clip")
    assert 'class="remark"' not in known
    said = strange[strange.index('class="remark"') :]
    assert "does not know the word “giraffe” in these captions" in said.partition("cm-match")[0]
    unread, *_ = gradio_app.score(*map(str, files), "a big rubber cube", captions[1], "builtin/clip")
    assert "builtin/clip never read “big” or “rubber” in training." in unread.partition("cm-match")[0]
    assert "#found .remark" in gradio_app.LAYOUT  # it looks like a warning


def test_pictures_that_are_no_examples_have_a_caution_before_their_scores(pair, tmp_path):
    """Photographs were scored without a word: that the models know drawn scenes alone stood at the end of the page."""
    gradio_app.examples(tmp_path)
    (file, other), captions = pair[0], pair[1]
    own = tmp_path / "own.png"
    Image.effect_noise((300, 200), 80).save(own)
    caution = '<p class="remark" role="note">⚠ With pictures of your own, mind'

    def cautions(first, second, *models):
        return gradio_app.score(str(first), str(second), *captions, *models)[0].count(caution)

    assert cautions(file, other, "builtin/clip") == cautions(other, file, "builtin/clip") == 0
    assert cautions(own, other, "builtin/clip") == cautions(file, own, "builtin/clip") == 1
    assert cautions(own, other, "builtin/clip", "builtin/siglip") == 1  # once for both
    for unseeing in ("builtin/blind-lm", "blind:builtin/blip-caption"):  # they look at no picture
        assert cautions(own, other, unseeing) == 0
        assert cautions(own, other, unseeing, "builtin/clip") == 1
    drawn, *_ = gradio_app.score(str(own), str(other), *captions, "builtin/clip")
    assert drawn.index(caution) < drawn.index("cm-match")


def test_own_pictures_with_the_captions_of_an_example_are_told_so(tmp_path):
    """Two pictures of one's own put in place of an example's were scored with its captions, without a word."""
    file, other, *captions = gradio_app.examples(tmp_path)[0]
    own = tmp_path / "own.png"
    Image.effect_noise((300, 200), 80).save(own)

    def told(first, second, *texts):
        return gradio_app.LEFT in gradio_app.score(str(first), str(second), *texts, "builtin/clip")[0]

    assert told(own, own, *captions) and told(own, other, *captions)
    assert not told(file, other, *captions) and not told(own, own, captions[0], "a red cube")


def test_a_picture_that_does_not_open_is_said_with_what_to_do_about_it(pair, tmp_path):
    """A small PNG that was cut short was "an internal error"; another was to have "its group left out" where there are
    no groups; of a huge one Pillow's words stood there."""
    noise = Image.effect_noise((300, 200), 80).convert("RGB")
    noise.save(tmp_path / "own.png")
    noise.save(tmp_path / "own.jpg")
    Image.new("1", (30_000, 12_000)).save(tmp_path / "huge.png")
    contents = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name, said in (
        ("own.png", "replace it."),
        ("own.jpg", "replace it."),
        ("text.png", "save it as PNG."),
    ):
        (tmp_path / name).write_bytes(contents.get(name, b"hello")[:9_000])
        refused, *_ = gradio_app.score_or_say(str(tmp_path / name), str(pair[0][1]), "a", "b", "builtin/clip")
        assert "⚠ The image A does not open" in refused and said in refused and "group" not in refused
    refused, *_ = gradio_app.score_or_say(
        str(pair[0][0]), str(tmp_path / "huge.png"), "a", "b", "builtin/clip"
    )
    limit = f"{PUBLIC.pixels / 1e6:g} megapixels"
    assert f"The image B has too many pixels; the limit is {limit}: make it smaller." in refused


def test_a_refusal_looks_like_a_remark():
    """It was plain bold text, and the remark on unknown words a coloured box."""
    said, *_ = gradio_app.score_or_say("a.png", None, "a cube", "a sphere", "builtin/clip")
    assert said == '<p class="remark" role="alert">⚠ Give both images, then score.</p>'


def test_captions_that_are_the_same_text_are_said_and_the_reason_is_a_comparison_that_is_lost(pair):
    """GroupScore's reason was the tie: image A scores -2.71 with caption 2, and -2.71 with its own."""
    files, (caption, _) = pair
    for order in (files, files[::-1]):  # in one of them image A is behind
        asked = (*map(str, order), caption, f" {caption} ", "builtin/clip")
        drawn, verdicts, answer = gradio_app.score(*asked)
        assert "Both captions are the same text" in drawn.partition("cm-match")[0]
        assert answer["verdicts"]["group_score"] == "wrong"
        reason = verdicts.partition("GroupScore")[2].partition("</tr>")[0].replace("\u2060", "")
        reason = re.sub(r"\s", " ", reason)
        numbers = re.search(r"caption \d scores (−?[\d.]+) with image [AB], and (−?[\d.]+)", reason).groups()
        rival, own = (float(number.replace("−", "-")) for number in numbers)
        assert rival > own
    assert "the same text" not in gradio_app.score(*map(str, files), *pair[1], "builtin/clip")[0]


def test_on_a_tie_the_legend_says_that_nothing_is_outlined(pair):
    """It explained an outline that no cell had."""
    files, (caption, other) = pair
    tied = gradio_app.score(*map(str, files), caption, caption, "builtin/clip")
    assert tied[2]["verdicts"]["group_match"] == "tie"
    assert "No pairs are outlined: the best matchings tie, so the model has none. ✓" in tied[0]
    assert "Outlined, with a dot" not in tied[0] and "dashed" not in tied[0]
    assert "Outlined, with a dot" in gradio_app.score(*map(str, files), caption, other, "builtin/clip")[0]


def test_the_examples_are_of_different_kinds_and_every_metric_has_the_last_one_right(tmp_path):
    """All four were left/right pairs, and a card showed caption 1 alone."""
    shown = gradio_app.examples(tmp_path)
    captions = [set(card[2].split()) for card in shown]
    assert [{"left", "front", "and"} & words for words in captions] == [{"left"}, {"front"}, {"and"}, {"and"}]
    *others, last = ({*gradio_app.score_group(*card)["verdicts"].values()} for card in shown)
    assert last == {"right"} and all("wrong" in verdicts for verdicts in others)
    for card, (name, place) in zip(shown, gradio_app.EXAMPLES, strict=True):
        group = datasets.load(name, "test")[place]  # of some, image A belongs to the set's caption 2
        assert card[2:] == [group.captions[j] for j in group.truth]
    hidden = [
        rule
        for rule in gradio_app.LAYOUT.split("}")
        if "#examples" in rule and "display: none" in rule and "::before" not in rule
    ]
    assert len(hidden) == 1 and "thead" in hidden[0] and "td" not in hidden[0]  # each caption is on the card


def test_the_list_of_models_says_in_words_how_each_scores_and_gives_the_api_its_name():
    """`vqa-log:builtin/blip-vqa` said nothing to who sees it first."""
    labels = gradio_app.model_labels()
    assert [name for _, name in labels] == list(gradio_app.list_models())
    assert all(label.startswith(f"{name}: ") for label, name in labels)
    said = {name: label for label, name in labels}
    assert said["builtin/clip"] == "builtin/clip: two towers, trained contrastively"
    assert said["vqa-log:builtin/blip-vqa"].endswith("is asked about the caption; log P(“yes”)")
    assert len({*said.values()}) == len(said)


def test_the_models_are_listed(client):
    assert client.predict(api_name="/list_models")["builtin/clip"] == "itc"


@pytest.mark.parametrize(
    ("captions", "model", "said"),
    [
        (("", "a cube"), "builtin/clip", "Caption 1 is empty; describe image A in it"),
        (("a" * 401, "a cube"), "builtin/clip", "400 characters"),
        (("a", "b"), "somebody/else", "not in the list|Unknown model"),
    ],
)
def test_wrong_input_is_one_sentence(client, pair, captions, model, said):
    with pytest.raises(Exception, match=re.compile(said)):
        call(client, pair[0], captions, model=model)


def answered(address, data):
    """What the API answers to a call with these arguments, as it is sent."""
    import httpx

    with httpx.Client(base_url=address, timeout=600) as visitor:
        event = visitor.post("gradio_api/call/score_group", json={"data": data}).json()["event_id"]
        return visitor.get(f"gradio_api/call/score_group/{event}").text


FOREIGN = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}
TEXT = {"url": "data:image/png;base64,aGVsbG8="}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([FOREIGN, FOREIGN, "a", "b", "builtin/clip"], "no other file of the server is read"),
        ([TEXT, TEXT, "a", "b", "builtin/clip"], "The image A does not open: it is none of PNG"),
        (["x", "y", "a", "b", "builtin/clip"], "An argument has the wrong form; send images as"),
        ([None], "1 of 5 arguments came; give two images, two captions and a model"),
        ([None, None, "a", "b", "builtin/clip"], "Give both images, then score."),
    ],
)
def test_the_api_says_in_one_sentence_what_is_wrong_with_a_call(address, data, said):
    answer = answered(address, data)
    assert answer.startswith("event: error") and said in answer and "passwd" not in answer


def test_a_file_that_is_no_image_is_named_as_such(client, pair, tmp_path):
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(Exception, match=r"image A does not open: it is none of PNG, JPEG"):
        call(client, [tmp_path / "text.png"] * 2, pair[1])


def test_an_example_is_compared_at_once_and_an_edit_takes_the_result_away():
    demo = gradio_app.build()
    drawn = {block._id for block in demo.blocks.values() if isinstance(block, gradio.HTML | gradio.JSON)}
    edits, followers, clicks = [], [], []
    for event in demo.fns.values():
        for _, trigger in event.targets:
            if {block._id for block in event.outputs} == drawn:
                {"input": edits, "then": followers, "click": clicks}.get(trigger, []).append(event)
    # Of two images and two models; of the captions the page's own button, which `test_demo_look.py` sees pressed.
    texts = [event for event in clicks if event.fn.__name__ == edits[0].fn.__name__]
    said = {event.fn() for event in [*edits, *texts]}
    assert len(edits) == 4 and len(texts) == 1 and len(said) == 1
    assert "Press <b>Score</b>" in min(said)[0] and min(said)[1:] == ("", None)
    (after_example,) = followers
    assert demo.fns[after_example.trigger_after].targets[0][1] == "click"
    assert len(clicks) == 1 + len(
        texts
    )  # one answer to a click: two errors would be folded into a bare "Error (2)"


def test_the_chance_levels_stand_below_the_verdicts_and_no_line_ends_between_a_number_and_its_unit(pair):
    verdicts = gradio_app.score(*map(str, pair[0]), *pair[1], "builtin/clip")[1]
    levels = verdicts.partition("Right by chance")[2]
    assert "GroupMatch 50\u00a0%" in levels and "GroupScore 16.7\u00a0%" in levels and " %" not in levels


def test_the_first_example_is_compared_before_anybody_asks(pair):
    demo = gradio_app.build()
    first = [b.value for b in demo.blocks.values() if isinstance(b, gradio.HTML | gradio.JSON)]
    shown = gradio_app.score(*map(str, pair[0]), *pair[1], "builtin/clip")
    assert first[:2] == list(shown[:2])
    assert first[2]["verdicts"] == shown[2]["verdicts"]
    assert np.array(first[2]["scores"]) == pytest.approx(np.array(shown[2]["scores"]), abs=1e-4)


def test_the_api_names_no_file_of_the_web_and_asks_for_images_and_captions(client, address):
    import httpx

    info = httpx.get(address.rstrip("/") + "/gradio_api/info").text
    assert "bus.png" not in info and "raw.githubusercontent" not in info and "image_a.png" in info
    with pytest.raises(Exception, match="image_a"):
        client.predict(api_name="/score_group")


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


def test_the_result_shows_both_pictures_under_their_letters_and_the_scores_before_the_verdicts(pair):
    """Two letters without pictures had to be looked up among the fields, which are off the screen of a phone."""
    images = [Image.open(file) for file in pair[0]]
    drawn, verdicts, _ = gradio_app.score(*images, *pair[1], "builtin/clip")
    assert drawn.count("image/webp") == 2 and 'alt="Image A"' in drawn and 'alt="Image B"' in drawn
    assert drawn.index("cm-match") < drawn.index("caption 1</th>")
    assert "cm-verdicts" not in drawn
    assert verdicts.index("<b>GroupMatch") < verdicts.index("<b>TextScore")


def test_captions_are_never_markup(pair):
    images = [Image.open(file) for file in pair[0]]
    drawn, *_ = gradio_app.score(*images, "<script>alert(1)</script>", "a <b>cube</b>", "builtin/clip")
    assert "<script>" not in drawn and "<b>cube" not in drawn and "&lt;script&gt;" in drawn


def test_a_mistake_on_the_page_is_said_where_the_result_was(pair):
    images = [Image.open(file) for file in pair[0]]
    said, matrix, answer = gradio_app.score_or_say(*images, "a cube", "<i> </i>" * 200, "builtin/clip")
    assert "at most 400 characters" in said and (matrix, answer) == ("", None)


def test_an_example_has_the_scores_of_the_app_and_the_same_picture_in_another_file_nearly(pair):
    """A model of the app is given pictures of 64 pixels, which are drawn so; a file of 320 is made small."""
    (name, place), scorer = gradio_app.EXAMPLES[0], load_scorer("builtin/clip")
    groups = datasets.load(name, "test").select([place])
    asked = (*map(str, pair[0]), *pair[1], "builtin/clip")
    gradio_app.build()
    shown = gradio_app.score_group(*asked)["scores"]
    assert shown == pytest.approx(score_groups(scorer, groups)[0], abs=1e-6)
    pixels = gradio_app.score_group(*(Image.open(file) for file in pair[0]), *asked[2:])["scores"]
    assert pixels != shown and pixels == pytest.approx(np.array(shown), abs=0.5)


def test_the_examples_come_first_and_the_result_after_the_button():
    """On a phone columns stand below each other, in this order."""
    demo = gradio_app.build()
    order = [block.elem_id or getattr(block, "value", None) for block in demo.blocks.values()]
    assert order.index("examples") < order.index("score") < order.index("found")


def test_a_field_that_gradio_makes_anew_fetches_no_address_and_decodes_nothing(tmp_path):
    """Once an example is chosen: `postprocess_data` makes `block.__class__(**kwargs)` for this visitor."""
    import anyio

    (tmp_path / "text.png").write_text("no picture")
    fields = [block for block in gradio_app.build().blocks.values() if isinstance(block, gradio.Image)]
    for field in fields:
        again = field.__class__(**{**field.constructor_args, "value": None, "render": False})
        with pytest.raises(gradio.Error, match="not fetched"):
            anyio.run(again.async_move_resource_to_block_cache, "http://127.0.0.1:1/picture.png")
        sent = gradio.data_classes.ImageData(path=str(tmp_path / "text.png"))
        assert again.preprocess(sent) == str(tmp_path / "text.png")
    assert len(fields) == 4  # the page's own, and those of its API


def test_a_second_model_is_scored_beside_the_first(pair):
    """The button said "Compare", and there was nothing to compare a model with."""
    files, captions = [str(file) for file in pair[0]], pair[1]
    models = ("builtin/clip", "builtin/blip-itm")
    drawn, levels, answer = gradio_app.score(*files, *captions, *models)
    assert answer == {name: gradio_app.score_group(*files, *captions, name) for name in models}
    sides = drawn.split("<section")[1:]
    assert len(sides) == 2
    for name, side in zip(models, sides, strict=True):
        alone = gradio_app.score(*files, *captions, name)
        assert f"<h2>{name}</h2>" in side and side.count("image/webp") == 2
        assert alone[1].partition("<p>")[0] in side  # its own verdicts
        assert all(
            cell in side for cell in re.findall(r"<td[^>]*>[^<]*</td>", alone[0].partition("<table")[2])
        )
        assert levels == alone[1][alone[1].index("<p>") :]  # chance is the same for both
    assert drawn.count("does not know") == 0
    drawn, *_ = gradio_app.score(*files, captions[0], captions[0], *models)
    assert drawn.count("Both captions are the same text") == 1
    said, *_ = gradio_app.score_or_say(*files, *captions, "builtin/clip", "builtin/clip")
    assert "Both models are builtin/clip; choose another one as the second, or none." in said


def test_the_second_model_is_optional_and_of_the_page_alone():
    demo = gradio_app.build()
    label = "Second model, beside it (optional)"
    (field,) = [block for block in demo.blocks.values() if getattr(block, "label", None) == label]
    assert field.value == "" and field.choices[0] == ("none", "")
    assert field.choices[1:] == gradio_app.model_labels()
    (asked,) = [event for event in demo.fns.values() if event.api_name == "score_group"]
    assert len(asked.inputs) == 5 and field not in asked.inputs


def test_the_demo_has_the_palette_of_the_app():
    """In dark, slate-blue panels stood on the app's violet-black."""
    import tomllib

    settings = Path(gradio_app.__file__).parent / ".streamlit" / "config.toml"
    theme = tomllib.loads(settings.read_text(encoding="utf-8"))["theme"]
    css = gradio_app.theme()._get_theme_css()
    before, _, after = css.partition(".dark")
    for mode, colours in (("light", before), ("dark", after)):
        own = theme[mode]
        assert f"--body-background-fill: {own['backgroundColor']}" in colours
        assert f"--body-text-color: {own['textColor']}" in colours
    greys = [re.search(rf"--neutral-{n}: (#\w+)", css)[1] for n in (50, 200, 700, 800, 950)]
    light, dark = theme["light"], theme["dark"]
    wanted = [light["backgroundColor"], light["borderColor"]]
    wanted += [dark[name] for name in ("borderColor", "secondaryBackgroundColor", "backgroundColor")]
    assert greys == wanted
    panels = re.findall(r"--(?:block-background-fill|border-color-primary): var\(--neutral-(\d+)\)", css)
    assert {"700", "800"} <= set(panels)


def test_a_missing_image_is_one_sentence():
    with pytest.raises(gradio.Error, match="both images"):
        gradio_app.score(None, None, "a", "b", "builtin/clip")


# --- strangers


def grown(act):
    """MB that the largest memory so far grew by while `act` was done."""
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    act()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


@pytest.mark.parametrize("side", [7050, 20_000])
def test_an_image_of_too_many_pixels_is_one_sentence_before_it_is_decoded(client, pair, tmp_path, side):
    """Some hundred kilobytes that stand for 150 MB of pixels, or for more than a gigabyte."""
    Image.new("1", (side, side)).save(tmp_path / "huge.png")
    assert (tmp_path / "huge.png").stat().st_size < 200_000

    def send():
        for _ in range(3):
            with pytest.raises(Exception, match=r"megapixels|bomb"):
                call(client, [tmp_path / "huge.png"] * 2, pair[1])

    assert grown(send) < 100


@pytest.mark.slow
def test_the_largest_images_take_bounded_memory_one_pair_at_a_time_and_give_it_back(client, pair, tmp_path):
    """Each of forty threads had a heap of its own, and kept in it what it had decoded: 1.9 GB after 30 calls."""
    from concurrent.futures import ThreadPoolExecutor

    import psutil

    side = int(PUBLIC.pixels**0.5)
    Image.new("RGBA", (side, side), (1, 2, 3, 4)).save(tmp_path / "large.png")
    Image.new("RGB", (side, side), (1, 90, 90)).save(tmp_path / "large.jpg")
    large = [tmp_path / "large.png", tmp_path / "large.jpg"]
    call(client, *pair, model="builtin/clip")  # what loading a model takes is not the pictures'
    before = psutil.Process().memory_info().rss

    def send():
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda _: call(client, large, pair[1], model="builtin/clip"), range(6)))

    assert grown(send) < 600  # the PNG of one pair alone is 100 decoded; six pairs at once would be beyond
    assert psutil.Process().memory_info().rss - before < 150 << 20


def test_a_photograph_is_seen_as_it_was_held(pair, tmp_path):
    image = Image.open(pair[0][0]).convert("RGB")
    exif = Image.Exif()
    exif[0x0112] = 6  # turn it by a quarter to see it upright
    image.rotate(90, expand=True).save(tmp_path / "turned.png", exif=exif)
    assert gradio_app._opened(str(tmp_path / "turned.png"), "A").tobytes() == image.tobytes()


@pytest.mark.slow
def test_a_machine_that_starts_slowly_still_starts():
    """Gradio gave up after five seconds, began the same app on the next port, and that could not be begun twice."""
    import asyncio
    from contextlib import asynccontextmanager

    served = gradio_app.served()

    @asynccontextmanager
    async def slow(_app):
        await asyncio.sleep(7)
        yield

    served["app_kwargs"] = {**served["app_kwargs"], "lifespan": slow}
    demo = gradio_app.queued(gradio_app.build())
    _, address, _ = demo.launch(**served, prevent_thread_lock=True, quiet=True, server_name="127.0.0.1")
    try:
        import httpx

        assert httpx.get(f"{address}config", timeout=60).status_code == 200
    finally:
        demo.close()


def test_a_server_that_cannot_start_says_so_at_once():
    served = gradio_app.served()

    def broken(_app):
        raise RuntimeError("no disk")

    served["app_kwargs"] = {**served["app_kwargs"], "lifespan": broken}
    demo = gradio_app.queued(gradio_app.build())
    with pytest.raises(RuntimeError, match="did not start"):
        demo.launch(**served, prevent_thread_lock=True, quiet=True, server_name="127.0.0.1")


def test_a_port_that_is_taken_in_between_is_given_up_before_the_app_begins():
    import socket

    from gradio.http_server import Server
    from uvicorn import Config

    begun = []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        config = Config(lambda *given: begun.append(given), port=taken.getsockname()[1])
        with pytest.raises(OSError, match="in use"):  # on which Gradio takes the next port
            Server(config).run_in_thread()
    assert begun == []


@pytest.mark.slow
def test_what_an_address_uploads_within_some_minutes_is_bounded_and_soon_deleted(tmp_path_factory):
    """On a server of its own: the quota would be felt by all other tests."""
    import httpx

    demo = gradio_app.build()
    assert demo.delete_cache == (60, gradio_app.KEPT)
    _, address, _ = demo.launch(
        **gradio_app.served(), prevent_thread_lock=True, quiet=True, server_name="127.0.0.1"
    )
    folder, statuses = Path(gradio.utils.get_upload_folder()), []
    before = {path for path in folder.rglob("*") if path.is_file()}
    with httpx.Client(base_url=address, timeout=600) as visitor:
        for i in range(14):
            part = {"files": (f"{i}.png", os.urandom(9_000_000))}
            try:
                statuses.append(visitor.post("gradio_api/upload", files=part).status_code)
            except httpx.HTTPError:  # hung up before all was sent
                statuses.append(0)
    demo.close()
    assert statuses[:11] == [200] * 11 and set(statuses[11:]) <= {429, 0}
    new = [path for path in folder.rglob("*") if path.is_file() and path not in before]
    assert sum(path.stat().st_size for path in new) <= serving.LIMITS.quota.each
    for path in new:
        path.unlink()


def test_one_request_brings_few_files(address):
    """All of them are open at once: a few requests of 900 took every file that the server may open."""
    import httpx

    for count, status in ((10, 200), (11, 400)):
        files = [("files", (f"{i}.txt", b"x")) for i in range(count)]
        assert httpx.post(f"{address}gradio_api/upload", files=files, timeout=600).status_code == status
    assert httpx.post(f"{address}gradio_api/process_recording", timeout=600).status_code == 404


def test_uploads_that_broke_off_are_deleted_and_whole_ones_are_not(tmp_path):
    (tmp_path / "0123abcd").mkdir()
    whole, fresh, old = tmp_path / "0123abcd/tmp.png", tmp_path / "tmpfresh", tmp_path / "tmpold"
    for path in (whole, fresh, old):
        path.write_bytes(b"x")
    for path in (whole, old):
        os.utime(path, (0, 0))
    uploads.drop_broken_uploads(tmp_path, 600)
    assert whole.exists() and fresh.exists() and not old.exists()


@pytest.mark.parametrize(
    ("captions", "status"), [(("a" * 300_000, "b"), 200), (("a" * 20_000_000, "b"), 413)]
)
def test_a_very_long_caption_is_refused_however_it_comes(address, captions, status):
    import httpx

    files = [{"path": "x.png", "meta": {"_type": "gradio.FileData"}}] * 2
    with httpx.Client(base_url=address, timeout=600) as visitor:
        answer = visitor.post(
            "gradio_api/call/score_group", json={"data": [*files, *captions, "builtin/clip"]}
        )
        assert answer.status_code == status


def asked(address, images):
    """What the tool says of two images by its own interface, MCP; and the server's requests elsewhere."""
    import anyio
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async def ask():
        where = streamablehttp_client(f"{address}gradio_api/mcp/")
        async with where as (reader, writer, _), ClientSession(reader, writer) as session:
            await session.initialize()
            (name,) = [t.name for t in (await session.list_tools()).tools if t.name.endswith("score_group")]
            given = dict(zip(("image_a", "image_b"), images, strict=True))
            given |= {"caption_1": "a", "caption_2": "b", "model": "builtin/clip"}
            return await session.call_tool(name, given)

    return anyio.run(ask)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["call/score_group", "queue/join", "mcp/", "call/upload"])
def test_a_call_of_many_empty_lists_is_refused_before_anybody_parses_it(address, where):
    """15 MB of them took 2.6 GB."""
    import httpx

    call = f'{{"data": [{"[]," * 10_000}[]]}}'.encode()
    found = httpx.post(f"{address}gradio_api/{where}", content=call, timeout=600)
    assert found.status_code == 413 and "too many values" in found.text


def test_the_tool_takes_images_as_text(address, pair):
    import base64

    images = [f"data:image/png;base64,{base64.b64encode(file.read_bytes()).decode()}" for file in pair[0]]
    answer = asked(address, images)
    assert not answer.isError and "group_match" in str(answer.content)


def test_a_call_of_the_tool_is_its_visitors_and_its_refusal_names_no_address(address, monkeypatch):
    """In the queue it came from the server's own address, whoever asked; the refusal was httpx's text."""
    from core.base import gate

    async def watched(self, scope, receive, send):
        if scope.get("path") == "/gradio_api/queue/join" and refusing:
            await gate._Answer(send).refuse(gate._Refused(429, "No."))
            return
        await serve(self, scope, receive, send)
        seen.add((scope.get("path"), (scope.get("client") or " ")[0]))

    serve, seen, refusing = gate.Gate.__call__, set(), False
    monkeypatch.setattr(gate.Gate, "__call__", watched)
    monkeypatch.setattr(gate, "_client", lambda scope: "203.0.113.7")
    monkeypatch.setattr(turns, "WAITING", gate.Share(0, 0))
    images = ["data:image/png;base64,AAAA"] * 2
    full = asked(address, images)
    assert ("/gradio_api/queue/join", "203.0.113.7") in seen
    refusing = True
    for answer in (full, asked(address, images)):
        assert answer.isError and "try again" in answer.content[0].text
        assert "http" not in answer.content[0].text and "127.0.0.1" not in answer.content[0].text


def test_tool_calls_that_wait_hold_no_thread():
    """Forty, of four addresses, held every thread there was: the call at work could not end, and nobody was answered
    any more."""
    import asyncio
    from concurrent.futures import Future
    from types import SimpleNamespace as Job

    import anyio
    from gradio.mcp import GradioMCPServer

    async def story():
        waiting = [Future() for _ in range(50)]
        jobs = [Job(future=one, result=one.result) for one in waiting]
        wait = GradioMCPServer._execute_tool_without_progress
        calls = [asyncio.create_task(wait(None, job)) for job in jobs]
        await asyncio.sleep(0.1)
        assert await anyio.to_thread.run_sync(lambda: "at work") == "at work"
        for i, one in enumerate(waiting):
            one.set_result(i)
        return await asyncio.gather(*calls)

    assert asyncio.run(asyncio.wait_for(story(), 600)) == [[i] for i in range(50)]


@pytest.mark.slow
def test_the_first_calls_of_the_tool_are_answered_however_many_come_at_once(monkeypatch):
    """Each made a client of this very server, in threads that the server needed to answer it: "timed out"."""
    import asyncio

    import httpx

    from core.base import gate

    client = gate._client
    monkeypatch.setattr(gate, "_client", lambda scope: gate._header(scope, b"who").decode() or client(scope))
    image = data_address(Image.new("RGB", (5, 4)))
    given = {"image_a": image, "image_b": image, "caption_1": "a", "caption_2": "b", "model": "builtin/clip"}
    load_scorer("builtin/clip")

    async def ask(visitor, who):
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        call |= {"params": {"name": "score_group", "arguments": given}}
        accepted = {"Accept": "application/json, text/event-stream", "who": who}
        return (await visitor.post("gradio_api/mcp/", json=call, headers=accepted)).text

    async def ask_all(address):
        async with httpx.AsyncClient(base_url=address, timeout=600) as visitor:
            # of each address as many as the gate lets in; of all together more than there are threads
            return await asyncio.gather(*(ask(visitor, f"10.0.0.{i % 3}") for i in range(60)))

    demo = gradio_app.queued(gradio_app.build())
    _, address, _ = demo.launch(
        **gradio_app.served(), prevent_thread_lock=True, quiet=True, server_name="127.0.0.1"
    )
    try:
        said = asyncio.run(ask_all(address))
    finally:
        demo.close()
    answered = [text for text in said if "group_match" in text]
    assert len(answered) >= 36  # twelve of each address may wait
    refused = [text for text in said if "group_match" not in text]
    assert [text for text in refused if "try again" not in text] == []


@pytest.mark.parametrize(
    "where", ["{web}", "file:///etc/passwd", "/etc/passwd", "{server}gradio_api/file=/etc/passwd"]
)
def test_the_tool_fetches_no_address_and_reads_no_file_of_the_server(address, web, where):
    place, requests = web
    answer = asked(address, [where.format(web=place, server=address)] * 2)
    assert answer.isError and "root:" not in str(answer.content) and not requests


def test_the_api_fetches_no_address(client, pair, web):
    from gradio_client import Client

    place, requests = web
    file = {"path": place, "meta": {"_type": "gradio.FileData"}, "orig_name": "x.png"}
    assert isinstance(client, Client)
    with pytest.raises(Exception, match="not fetched"):
        client.predict(
            image_a=file,
            image_b=file,
            caption_1="a",
            caption_2="b",
            model="builtin/clip",
            api_name="/score_group",
        )
    assert not requests


@pytest.fixture
def web(pair, monkeypatch):
    """An address with a picture that Gradio takes for a public one, and the requests that came for it."""
    import threading
    from http.server import BaseHTTPRequestHandler, HTTPServer

    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(pair[0][0].read_bytes())

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr("gradio.processing_utils.PUBLIC_HOSTNAME_WHITELIST", ["127.0.0.1"])
    yield f"http://127.0.0.1:{server.server_port}/picture.png", requests
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("path", ["/etc/passwd", "../../../../etc/passwd", "gradio_app.py"])
def test_no_file_of_the_server_is_read_for_a_visitor(address, pair, path):
    import json
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    with pytest.raises(HTTPError) as refused:
        urlopen(f"{address}gradio_api/file={path}", timeout=600)
    assert refused.value.code in (403, 404)
    images = [{"path": path, "meta": {"_type": "gradio.FileData"}}] * 2
    body = json.dumps({"data": [*images, "one", "two", "builtin/clip"]}).encode()
    ask = Request(f"{address}gradio_api/call/score_group", body, {"Content-Type": "application/json"})
    try:
        event = json.load(urlopen(ask, timeout=600))["event_id"]
        with urlopen(f"{address}gradio_api/call/score_group/{event}", timeout=600) as answer:
            told = answer.read().decode()
    except HTTPError as error:
        told = f"event: error {error.code}"
    assert "event: error" in told and "root:" not in told and "import" not in told


@pytest.mark.parametrize(
    "path",
    [
        "gradio_api/file=http://example.com/",
        "gradio_api/file/HTTPS://example.com/",
        "gradio_api/proxy=https://x.hf.space/",
        "gradio_api/run-history/buckets",
        "gradio_api/runs",
        "gradio_api/deep_link?session_hash=x",
        "gradio_api/heartbeat/x",
        "heartbeat/x",
        "monitoring/summary",
    ],
)
def test_what_the_demo_has_no_use_for_is_closed(address, path):
    """With a path that is an address Gradio fetches it for anybody; with a key it asks the hub; a sign of life of
    anybody's has no end, and behind a thousand of them a visitor waited for 20 s."""
    import httpx

    with httpx.stream("GET", f"{address}{path}", timeout=600) as found:
        assert found.status_code == 404 and found.read() == b"Page not found."


def test_no_page_and_no_client_of_the_demo_sends_signs_of_life(client):
    """Gradio asks for them where a demo has something to unload, a state or a stream; then they have to be open."""
    assert client.config["connect_heartbeat"] is False


@pytest.mark.parametrize(
    "path", ["queue/data?session_hash=guessed", "queue/data?session_hash=", "call/score_group/guessed"]
)
def test_a_stream_of_events_that_nobody_waits_for_does_not_begin(address, caplog, path):
    """It began, and failed with two tracebacks in the server's log, 5 kB a request."""
    import httpx

    found = httpx.get(f"{address}gradio_api/{path}", timeout=600)
    assert (found.status_code, found.text) == (404, "Nothing waits under this name; send the call again.")
    assert "Traceback" not in caplog.text


def test_a_call_of_anothers_is_not_read_stopped_or_deleted_by_a_guess(address, pair):
    """Its name is 32 letters by chance; what others send in place of it, from elsewhere, changes nothing."""
    import httpx
    from gradio.utils import get_upload_folder

    other = httpx.Client(
        base_url=address, transport=httpx.HTTPTransport(local_address="127.0.0.3"), timeout=600
    )
    mine, folder = httpx.Client(base_url=address, timeout=600), get_upload_folder()
    file = mine.post("gradio_api/upload", files={"files": ("mine.png", pair[0][0].read_bytes())}).json()[0]
    image = {"path": file, "meta": {"_type": "gradio.FileData"}}
    with gradio_app._at_work:
        asked = {"data": [image, image, "a", "b", "builtin/clip"]}
        event = mine.post("gradio_api/call/score_group", json=asked).json()["event_id"]
        guesses = ("0" * 32, "", "None", "null", event[:-1], event[:-1] + ("0" if event[-1] != "0" else "1"))
        answers = []
        for guess in guesses:
            for index in range(4):
                given = {"session_hash": guess, "fn_index": index, "event_id": guess}
                other.post("gradio_api/cancel", json=given)
                other.post("gradio_api/reset", json={"event_id": guess})
            answers += [other.get(f"gradio_api/call/score_group/{guess}")]
            answers += [other.get("gradio_api/queue/data", params={"session_hash": guess})]
            answers += [other.get(f"gradio_api/heartbeat/{guess or 'x'}")]
        paths = (
            folder,
            f"{folder}/",
            f"{folder}/mine.png",
            f"{folder}/{'0' * 64}/mine.png",
            str(Path(file).parent),
        )
        answers += [other.get(f"gradio_api/file={path}") for path in paths]
        answers += [other.request("DELETE", f"gradio_api/file={file}")]
    assert not [answer.url for answer in answers if answer.status_code < 400]
    assert "event: complete" in mine.get(f"gradio_api/call/score_group/{event}").text and len(event) == 32
    assert Path(file).is_file()


def test_no_call_goes_around_the_queue(address):
    import httpx

    found = httpx.post(f"{address}gradio_api/run/score_group", json={"data": [None] * 5}, timeout=600)
    assert found.status_code == 404 and "join the queue" in found.text


def test_an_address_has_its_share_of_the_queue(monkeypatch):
    """One could fill it for everybody."""
    import asyncio
    from types import SimpleNamespace as Named

    demo = gradio.Blocks()
    pushed = []

    async def push(queue, body, request, username):
        queue.event_queue_per_concurrency_id["all"].queue.append(Named(request=request))
        pushed.append(request.client.host)
        return True, "event", "success"

    monkeypatch.setattr("gradio.queueing.Queue.push", push)
    queue = gradio_app.queued(demo)._queue
    queue.event_queue_per_concurrency_id["all"] = Named(queue=[])
    answers = []
    for host in ["10.0.0.1"] * 14 + ["10.0.0.2"]:
        answers.append(asyncio.run(queue.push(None, Named(client=Named(host=host)), None)))
    assert pushed == ["10.0.0.1"] * 12 + ["10.0.0.2"]
    assert answers[12] == (
        False,
        "12 calls from your address wait already; try again in a minute.",
        "queue_full",
    )
    waiting = [event.request.client.host for event in queue.event_queue_per_concurrency_id["all"].queue]
    assert waiting == ["10.0.0.1", "10.0.0.2", *["10.0.0.1"] * 11]


def test_addresses_take_turns_in_the_queue_each_with_its_oldest_call_first():
    """Behind five strangers with twelve calls of large images each, a visitor waited for 94 s."""
    from types import SimpleNamespace as Named

    def call_of(name):
        return Named(name=name, request=Named(client=Named(host=name[0])))

    waiting = [call_of(name) for name in ("a1", "a2", "a3", "b1", "b2", "c1")]
    turns._take_turns(waiting)
    assert [event.name for event in waiting] == ["a1", "b1", "c1", "a2", "b2", "a3"]
    del waiting[0]  # it is at work; one more of the same comes, and one of somebody else
    waiting += [call_of("a4"), call_of("d1")]
    turns._take_turns(waiting)
    assert [event.name for event in waiting] == ["b1", "c1", "a2", "d1", "b2", "a3", "a4"]


def test_the_models_that_the_tool_names_are_models_that_it_takes():
    named = re.findall(r"[\w:-]*builtin/[\w-]+", gradio_app.score_group.__doc__)
    assert len(named) == 2 and set(named) <= set(gradio_app.list_models())


def data_address(image):
    import base64
    import io

    made = io.BytesIO()
    image.save(made, "PNG")
    return "data:image/png;base64," + base64.b64encode(made.getvalue()).decode()


def test_pixels_of_an_address_that_holds_its_image_are_counted_before_they_are_decoded():
    """20 kB of PNG stand for 169 megapixels: three requests at once took 6 GB."""
    from gradio.data_classes import ImageData

    def preprocessed(image):
        return gradio.Image(type="filepath", image_mode=None).preprocess(ImageData(url=data_address(image)))

    huge, small = Image.new("1", (13000, 13000)), Image.new("RGB", (5, 4), (1, 2, 3))
    with pytest.raises(gradio.Error, match="has 13000 x 13000 pixels"):
        gradio_app.score_group(preprocessed(huge), preprocessed(small), "a", "b")
    assert gradio_app._opened(preprocessed(small), "A").tobytes() == small.tobytes()


def test_an_image_in_an_address_is_decoded_while_its_call_is_at_work_and_no_other(address, monkeypatch):
    """Twelve calls with images of 25 megapixels took 1.8 GB at once: Gradio prepares what all of them bring."""
    image_file, at_work = gradio_app.ImageFile, []

    def watched(*given, **more):
        at_work.append(gradio_app._at_work.locked())
        return image_file(*given, **more)

    monkeypatch.setattr(gradio_app, "ImageFile", watched)
    image = {"url": data_address(Image.new("RGB", (5, 4))), "meta": {"_type": "gradio.FileData"}}
    with gradio_app._at_work:  # somebody else's call
        from gradio.data_classes import ImageData

        field = gradio.Image(type="filepath", image_mode=None)
        assert isinstance(field.preprocess(ImageData(url=image["url"])), bytes) and not at_work
    assert "group_match" in answered(address, [image, image, "a", "b", "builtin/clip"])
    assert at_work == [True, True]


def test_help_and_a_wrong_option_are_answered_before_anything_large_is_imported():
    """`--help` printed nothing in a minute: it started the demo."""
    root = Path(gradio_app.__file__).parent
    loaded = "import runpy, sys; sys.argv = ['gradio_app.py', *sys.argv[1:]]\n"
    loaded += "try: runpy.run_path('gradio_app.py', run_name='__main__')\n"
    loaded += "finally: print('loaded:', *({'gradio', 'torch', 'numpy'} & {*sys.modules}))"
    for words, said in ((["--help"], "--port"), (["--port", "many"], "invalid int value")):
        found = subprocess.run(
            [sys.executable, "-c", loaded, *words], cwd=root, capture_output=True, text=True
        )
        assert said in found.stdout + found.stderr and "loaded:\n" in found.stdout
        assert found.returncode == (0 if words == ["--help"] else 2)


def test_the_demo_leads_to_the_paper_the_app_and_how_to_cite_and_its_examples_say_what_they_are(monkeypatch):
    """It named the app Crossmatch, and had no link but Gradio's own."""
    for variable in (gradio_app.APP_ADDRESS, "SPACE_ID"):
        monkeypatch.delenv(variable, raising=False)
    assert "arxiv.org/abs/2510.07632" in gradio_app.links()
    # A visitor read "The whole app: make app", and neither what it can do nor where that is to be typed; and another
    # pressed "The whole app, and how to cite", which led to no app; who runs the demo and its folder helped neither.
    assert f"[About, and how to cite](#{gradio_app.END})" in gradio_app.links()
    assert gradio_app.about().rstrip().endswith("answers. It is not open to visitors here.")
    assert "measures models on whole benchmarks" in gradio_app.about() and "make" not in gradio_app.about()
    monkeypatch.setenv("SPACE_ID", "somebody/two-by-two")
    assert "(https://huggingface.co/spaces/somebody/two-by-two/tree/main)" in gradio_app.about()
    monkeypatch.setenv("SPACE_ID", "x) [y](javascript:alert(1)")
    assert "javascript" not in gradio_app.about()
    monkeypatch.setenv(gradio_app.APP_ADDRESS, "https://crossmatch.example/app")
    assert "[The whole app](https://crossmatch.example/app)" in gradio_app.links()
    assert (
        "[Open it](https://crossmatch.example/app)" in gradio_app.about() and "make" not in gradio_app.about()
    )
    monkeypatch.setenv(gradio_app.APP_ADDRESS, "javascript:alert(1)")
    assert "javascript" not in gradio_app.links() + gradio_app.about()
    assert len(gradio_app.KINDS) == len(gradio_app.EXAMPLES)
    assert all(kind in gradio_app.kinds_css() for kind in gradio_app.KINDS)


def test_a_file_that_is_no_picture_is_said_as_soon_as_it_is_there(tmp_path):
    """It had a broken icon, and “Changed. Press Score”."""
    (tmp_path / "bad.png").write_text("no picture")
    Image.new("RGB", (8, 8)).save(tmp_path / "good.png")
    bad, good = (str(tmp_path / name) for name in ("bad.png", "good.png"))
    said, _, _ = gradio_app.score_or_say(good, bad, "one", "two", "builtin/clip")
    assert gradio_app._to_score(good, bad)[0] == said and 'role="alert"' in said and "B" in said
    for fine in ((), (good, None), (None, None)):
        assert "Press <b>Score</b>" in gradio_app._to_score(*fine)[0]


def test_a_picture_of_ones_own_has_no_more_decimals_than_the_examples():
    """1.448537 and −0.336182 stood where examples have two to four."""
    from core.metrics.evaluation import Evaluation

    truth = np.array([[0, 1]])
    six = Evaluation.of(np.array([[[1.448537, -0.336182], [0.712345, 0.998766]]]), truth, ["a"])
    assert six.group(0).digits == 6 and gradio_app._shown(six).digits <= 4
    close = Evaluation.of(np.array([[[0.40002, 0.3], [0.3, 0.2]]]), truth, ["a"])
    assert gradio_app._shown(close).digits >= 5  # totals that differ never look equal


def test_what_is_transparent_is_scored_and_drawn_on_white(tmp_path):
    """Such a picture was scored with what is stored below its transparent pixels: red here."""
    pixels = np.zeros((32, 32, 4), np.uint8)
    pixels[:, :16], pixels[:, 16:] = (255, 0, 0, 0), (0, 0, 255, 255)
    picture = Image.fromarray(pixels)
    picture.save(tmp_path / "clear.png")
    for given in (picture, gradio_app._opened(str(tmp_path / "clear.png"), "A")):
        group = user_group((given, given), ("one", "two"))
        found = np.asarray(group.images[0].open())
        assert (found[:, 0] == 255).all() and (found[:, -1] == (0, 0, 255)).all()


def test_a_port_that_was_named_and_is_taken_is_refused_in_one_sentence():
    """Gradio took the next one, and whoever had named the first looked at another program."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        for words, more in ((["--port", port], {}), ([], {"GRADIO_SERVER_PORT": port})):
            command = [sys.executable, str(Path(__file__).parent.parent / "gradio_app.py"), *words]
            env = {**os.environ, **more}
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
            said = f"Port {port} is taken; end what uses it, or name another one by --port.\n"
            assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
