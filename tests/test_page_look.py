"""What comes before a page's elements: the document carries the style; images are named and open large."""

import asyncio
import re
import tomllib
from pathlib import Path

import plotly.graph_objects as go
import pytest
from driving import button, fine, html

from ui import export, images
from ui.server import PageNames, StyledDocument

GROUPS = "pages/1_Groups.py"
ROOT = Path(__file__).resolve().parent.parent


def contrast(one, other):
    """Of two colours `#rrggbb`, by WCAG 2."""

    def luminance(colour):
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = (x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
        return sum(weight * x for weight, x in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def answer(kind, body, accept=b"text/html"):
    """Headers and body that a browser gets from a server behind `StyledDocument`, and the headers the server saw."""
    seen, sent = [], []

    async def server(scope, receive, send):
        seen.extend(scope["headers"])
        headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for part in (body[:5], body[5:]):
            await send({"type": "http.response.body", "body": part, "more_body": part == body[:5]})

    async def keep(message):
        sent.append(message)

    asked = [(b"accept", accept), (b"accept-encoding", b"gzip")]
    scope = {"type": "http", "method": "GET", "path": "/", "headers": asked}
    asyncio.run(StyledDocument(server)(scope, None, keep))
    return dict(sent[0]["headers"]), b"".join(m.get("body", b"") for m in sent[1:]), dict(seen)


def test_the_document_holds_the_style_before_anything_is_drawn():
    headers, body, seen = answer(b"text/html; charset=utf-8", b"<html><head></head><body></body></html>")
    # in the body: rules that Streamlit adds to the head would win over ours of the same weight
    assert body.startswith(b"<html><head></head><body><style>") and body.endswith(b"</body></html>")
    assert b".cm-match" in body
    assert body.index(b"<script>") > body.index(b"</style>") and b"stSidebarCollapsed-" in body
    assert int(headers[b"content-length"]) == len(body)
    assert b"accept-encoding" not in seen  # or it would come back compressed


def test_letters_on_pictures_and_behind_captions_have_at_least_12_pixels():
    """With "Compact" they had 11.2 and 10."""
    style = (ROOT / ".streamlit/style.css").read_text()
    rules = re.findall(r"([^{}]*\.cm-badge[^{}]*)\{([^}]*)\}", style)
    sizes = [float(each) * 16 for _, body in rules for each in re.findall(r"font-size: ([\d.]+)rem", body)]
    assert len(sizes) >= 3 and min(sizes) >= 12
    (own,) = re.findall(r"\n\.cm-own \{[^}]*font-size: ([^;]*);", style)
    assert own == "max(.75rem, .78em)"


def test_the_style_is_not_sent_again_with_a_page(app):
    """67 KB each time, which the document that the browser loads first holds already."""
    assert not [each for each in app(GROUPS).get("html") if "<style>" in each.proto.body]


def asked(path, query=b"", accept=b"text/html"):
    """Where a browser is led that asks for a path; None where it gets what it asked for."""
    sent = []

    async def server(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def keep(message):
        sent.append(message)

    headers = [(b"accept", accept)]
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query, "headers": headers}
    asyncio.run(PageNames(server)(scope, None, keep))
    return dict(sent[0]["headers"]).get(b"location")


@pytest.mark.parametrize(("path", "leads_to"), [
    ("/lessons", b"./Lessons"),
    ("/your-data", b"./Your_Data"),
    ("/Test-time matching", b"./Test-Time_Matching"),
    ("/behind/a/proxy/LESSONS/", b"../Lessons"),  # relative, as the server does not know what stands before its path
    ("/home", b"./"),
    ("/Lessons", None),
    ("/", None),
    ("/static/media/font", None),  # of the server's own
    ("/app.css", None),
])  # fmt: skip
def test_a_page_in_other_letters_leads_to_that_page(path, leads_to):
    """`/lessons` opened Home with “Page not found”."""
    assert asked(path) == leads_to
    assert asked(path, accept=b"*/*") is None  # no document
    if leads_to:
        assert asked(path, b"lesson=alpha&x=%2F") == leads_to + b"?lesson=alpha&x=%2F"


def test_the_address_of_no_page_leads_home_which_says_so_and_names_the_nearest(app):
    """A dialog of Streamlit's covered Home, of which nothing led on."""
    assert asked("/Lesson", b"lesson=alpha") == b"./?no_page=Lesson" and asked("/x/", b"") == b"../?no_page=x"
    test = app("app.py", no_page="Lesson")
    assert "There is no page “Lesson”; this is Home" in test.warning[0].value
    assert fine(button(test, "Open Lessons").click().run()).title[0].value == "Lessons"
    test = app("app.py", no_page="*Nonsense*")
    assert r"There is no page “\*Nonsense\*”" in test.warning[0].value
    assert not [
        each for each in test.button if each.label.startswith("Open ") and each.label != "Open this group"
    ]


@pytest.mark.parametrize("accept", [b"text/html", b"*/*"])
def test_what_is_no_document_stays_as_it_is(accept):
    headers, body, seen = answer(b"text/css", b"body {} <body>", accept)
    assert body == b"body {} <body>" and headers[b"content-length"] == b"14"
    assert (b"accept-encoding" in seen) == (accept == b"*/*")


def test_every_image_is_named_by_group_and_caption_unless_it_is_to_be_guessed(app):
    name = "left-right/test/0003"
    shown = html(app(GROUPS, set="scenes/left-right", group=name))
    described = f"Image A of {name}: a picture of a white sphere to the right of a red block"
    assert f'alt="{described}; the model gives it caption ' in shown
    guessed = html(app(GROUPS, set="scenes/left-right", group=name, predict="true"))
    assert f'alt="Image A of {name}"' in guessed and "red block" not in guessed.split("cm-middle")[0]


def test_buttons_that_open_a_group_are_named_after_it(app):
    labels = [b.label.replace("\\", "") for b in app(GROUPS, set="scenes/left-right").button]
    opening = [label for label in labels if label.startswith("Open ")]
    assert len(opening) == len(set(opening)) == 12 and "Open left-right/test/0000" in opening


def test_the_large_image_is_one_that_the_page_has_drawn(app):
    test = app(GROUPS, set="scenes/left-right", group="left-right/test/0003")
    drawn = list(test.session_state["drawn_images"])
    assert len(drawn) == 2
    test.session_state["large_image"] = "no image of this page"
    fine(test.run())
    assert images._LARGE > 2 * 240


def test_text_in_the_colours_of_the_theme_can_be_read():
    """4.5 : 1, as WCAG asks of text: on buttons, of code, of links."""
    theme = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]
    for colours in (theme["light"], theme["dark"]):
        for ground in (colours["backgroundColor"], colours["secondaryBackgroundColor"]):
            for text in ("textColor", "codeTextColor", "linkColor"):
                assert contrast(colours[text], ground) >= 4.5, (text, ground)
        assert contrast(colours["primaryColor"], "#ffffff") >= 4.5  # a button's


def test_figures_are_saved_as_pictures_but_on_a_public_server(monkeypatch):
    monkeypatch.setattr(export, "_has_browser", lambda: True)
    assert export._figure_endings() == [".png", ".svg", ".html"]
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    assert export._figure_endings() == [".html"]
    figure = go.Figure(go.Bar(x=["a"], y=[1]))
    assert export._figure_bytes(lambda: figure, ".html").startswith(b"<!doctype html>")


def test_a_share_is_written_with_a_space_before_its_sign_everywhere_in_the_app():
    """`20% selected` stood beside `50.0 %`: Python's own format of a share has no space. A terminal's bars keep it."""
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for folder in ("core", "ui", "pages")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "cli" not in path.parts
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r":\.\d%}", line)
    ]
    assert found == []


def test_every_block_of_the_style_is_closed_once():
    """A brace too many made the browser leave out the next block, all of Debias' rules for a laptop."""
    style = re.sub(r'/\*.*?\*/|"[^"]*"', "", (ROOT / ".streamlit/style.css").read_text(), flags=re.DOTALL)
    depth = 0
    for brace in re.findall("[{}]", style):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
