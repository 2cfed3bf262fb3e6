"""What comes before a page's elements: the document carries the style; images are named and open large."""

import asyncio

import pytest
from driving import fine, html

from ui import images
from ui.server import StyledDocument

GROUPS = "pages/1_Groups.py"


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
    assert (
        body.startswith(b"<html><head><style>")
        and b".cm-match" in body
        and body.endswith(b"<body></body></html>")
    )
    assert int(headers[b"content-length"]) == len(body)
    assert b"accept-encoding" not in seen  # or it would come back compressed


@pytest.mark.parametrize("accept", [b"text/html", b"*/*"])
def test_what_is_no_document_stays_as_it_is(accept):
    headers, body, seen = answer(b"text/css", b"body {} </head>", accept)
    assert body == b"body {} </head>" and headers[b"content-length"] == b"15"
    assert (b"accept-encoding" in seen) == (accept == b"*/*")


def test_every_image_is_named_by_group_and_caption_unless_it_is_to_be_guessed(app):
    name = "left-right/test/0003"
    shown = html(app(GROUPS, set="scenes/left-right", group=name))
    assert f'alt="Image A of {name}: a picture of a white sphere to the right of a red block"' in shown
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
