"""The gate before a public server: who is refused what, and that one stranger keeps nobody else out."""

import asyncio
from collections import Counter

import pytest

from core.base import gate
from core.base.gate import Gate, Limits, Share

SMALL = Limits(
    requests=Share(3, 4),
    connections=Share(3, 4),
    openings=(1.0, 50),
    uploads=Share(2, 3),
    quota=Share(100, 150),
    file=130,
    body=50,
    marks=8,
    patience=600,
    query=20,
)


class App:
    """Reads every body and answers with its size; a web socket stays until the other side goes."""

    def __init__(self):
        self.working, self.seen, self.received = 0, Counter(), []
        self.free = asyncio.Event()

    async def __call__(self, scope, receive, send):
        self.working += 1
        self.seen[scope["client"][0]] += 1
        try:
            await (self.answer if scope["type"] == "http" else self.talk)(receive, send)
        finally:
            self.working -= 1

    async def answer(self, receive, send):
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError("the visitor has gone")
            size, more = size + len(message["body"]), message["more_body"]
        if not self.free.is_set():
            await self.free.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(size).encode()})

    async def talk(self, receive, send):
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] != "websocket.disconnect":
            self.received.append(message)


class Visit:
    """One request or connection through a gate, and what came of it."""

    def __init__(
        self, door, kind, host, path="/", parts=(b"",), query=b"", headers=(), pause=0.0, server=None
    ):
        method = "PUT" if path.startswith("/up") else "POST"
        self.scope = {"type": kind, "client": (host, 1), "server": server, "path": path, "method": method}
        self.scope |= {"query_string": query, "headers": list(headers)}
        self.parts, self.pause, self.sent = list(parts), pause, []
        self.gone = asyncio.Event()
        self.task = asyncio.create_task(door(self.scope, self.receive, self.send))

    async def receive(self):
        if self.scope["type"] == "websocket" and self.parts:
            part = self.parts.pop(0)
            return {"type": "websocket.receive", "text" if isinstance(part, str) else "bytes": part}
        if not self.parts:
            await self.gone.wait()
            return {"type": f"{self.scope['type']}.disconnect"}
        await asyncio.sleep(self.pause)
        body = self.parts.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(self.parts)}

    async def send(self, message):
        self.sent.append(message)

    @property
    def status(self):
        """Of a request its status; of a connection what it was told last."""
        first = [message.get("status", message.get("code", message["type"])) for message in self.sent]
        return first[0] if self.scope["type"] == "http" else first[-1]


def run(story, limits=SMALL, **more):
    """A story of visits: it gets a function that begins one, and the app."""

    async def play():
        app = App()
        door = Gate(app, uploads="/up", limits=limits, **more)
        await story(lambda kind, host, **look: Visit(door, kind, host, **look), app)

    asyncio.run(play())


async def settle(*visits):
    """Let everything happen that needs nothing from outside."""
    for _ in range(20):
        await asyncio.sleep(0)
    return [visit.task.done() for visit in visits]


def test_what_is_within_the_limits_passes_unchanged():
    async def story(visit, app):
        app.free.set()
        found = visit("http", "1.2.3.4", parts=[b"a" * 20, b"b" * 30])
        await found.task
        assert found.status == 200 and found.sent[1]["body"] == b"50"

    run(story)


@pytest.mark.parametrize(
    ("look", "status"),
    [
        ({"parts": [b"a" * 30, b"b" * 30]}, 413),
        ({"parts": [b"a"] * 10, "pause": 0.1}, 408),
        ({"query": b"q" * 21}, 414),
        ({"path": "/up", "parts": [b"a" * 60, b"b" * 60]}, 429),
        ({"path": "/up", "parts": [b"a" * 131]}, 413),
        ({"path": "/secret"}, 404),
        ({"parts": [b"[[],[", b"],[]]"]}, 413),
        ({"parts": [b"{:,}[]", b"", b"]}:"]}, 413),
    ],
)
def test_a_request_that_goes_too_far_is_refused_with_a_sentence_and_the_app_hears_that_nobody_is_there(
    look, status
):
    async def story(visit, app):
        app.free.set()
        found = visit("http", "1.2.3.4", **look)
        await found.task
        assert found.status == status and len(found.sent) == 2
        assert found.sent[1]["body"].endswith(b".") and app.working == 0

    run(story, SMALL._replace(patience=0.2) if status == 408 else SMALL, closed="/secret")


def test_a_call_that_counts_as_an_upload_is_no_file():
    """Gradio's images come as text inside of a call as well: it is counted, and bounded as a call is."""

    async def story(visit, app):
        app.free.set()
        told = {}
        for path in ("/up/file", "/up/call"):
            for what, content in (("values", b"[],[],[],[],"), ("size", b"a" * 60), ("small", b"[a]")):
                found = visit("http", "1.2.3.4", path=path, parts=[content])
                await found.task
                told[path, what] = found.status
        assert told.pop(("/up/call", "values")) == told.pop(("/up/call", "size")) == 413
        assert set(told.values()) == {200}

    run(story, SMALL._replace(quota=Share(1000, 1000)), files="/up/file")


def test_one_address_has_a_share_and_others_have_theirs():
    async def story(visit, app):
        mine = [visit("http", "1.1.1.1") for _ in range(5)]
        yours = visit("http", "2.2.2.2")
        assert await settle(*mine, yours) == [False] * 3 + [True] * 2 + [False]
        assert [one.status for one in mine[3:]] == [429, 429]
        app.free.set()
        await asyncio.gather(*(one.task for one in [*mine, yours]))
        assert [one.status for one in [*mine[:3], yours]] == [200] * 4

    run(story)


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_where_all_is_full_whoever_holds_most_gives_up_the_oldest_for_one_who_holds_less(kind):
    async def story(visit, app):
        many = [visit(kind, "1.1.1.1", parts=[] if kind == "websocket" else [b""]) for _ in range(3)]
        few = [
            visit(kind, host, parts=[] if kind == "websocket" else [b""]) for host in ("2.2.2.2", "3.3.3.3")
        ]
        assert await settle(*many, *few) == [True, False, False, False, False]
        assert many[0].status == (503 if kind == "http" else 1013) and app.working == 4
        last = visit(kind, "4.4.4.4", parts=[] if kind == "websocket" else [b""])
        await settle(last)
        assert many[1].task.done() and not last.task.done()  # 1, 1, 1 and 1
        late = visit(kind, "5.5.5.5")
        assert await settle(late) == [True] and app.working == 4  # nobody holds clearly more than another
        for one in (*many, *few, last):
            one.task.cancel()

    run(story)


def test_a_place_that_was_left_is_free_again():
    async def story(visit, app):
        for _ in range(9):
            found = visit("websocket", "1.1.1.1", parts=[])
            await settle()
            assert found.status == "websocket.accept"
            found.gone.set()
            await found.task

    run(story)


def test_the_quota_of_uploads_is_free_again_after_its_window(monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(gate.time, "monotonic", lambda: clock[0])
    quota = gate._Quota(Share(100, 150), window=60)
    quota.take("a", 100)
    for who, count in (("a", 1), ("b", 51)):
        with pytest.raises(gate._Refused):
            quota.take(who, count)
    quota.take("b", 50)
    clock[0] += 61
    quota.take("a", 100)


def test_only_a_file_that_came_in_whole_is_told_of():
    told = []

    async def story(visit, app):
        app.free.set()
        for parts in ([b"a" * 60], [b"a" * 60]):  # the second one is over the quota
            await visit("http", "1.1.1.1", path="/up/x", parts=parts).task
        await visit("http", "1.1.1.1", path="/other").task

    run(story, brought=lambda scope, who: told.append((scope["path"], who)))
    assert told == [("/up/x", gate.hashed("1.1.1.1"))]


def test_messages_that_come_faster_than_anybody_clicks_wait():
    limits = SMALL._replace(messages=(1000.0, 5))

    async def story(visit, app):
        found = visit("websocket", "1.1.1.1", parts=[b"x"] * 30)
        began = asyncio.get_running_loop().time()
        while len(app.received) < 30:
            await asyncio.sleep(0.001)
        assert asyncio.get_running_loop().time() - began >= 0.02  # 25 of them, a thousandth of a second each
        found.gone.set()
        await found.task

    run(story, limits)


@pytest.mark.parametrize("wide", [b"x" * 31, b"." * 6])
def test_after_a_message_that_no_page_sends_the_connection_is_closed(wide):
    """Too many bytes, or few with too many values of fields: 90 of 865 kB let everybody wait for a minute."""

    async def story(visit, app):
        found = visit("websocket", "1.1.1.1", parts=[b"x" * 30, b"." * 5, wide, b"late"])
        await found.task
        assert [message["bytes"] for message in app.received] == [b"x" * 30, b"." * 5]
        assert found.status == 1009 and app.working == 0

    run(story, SMALL._replace(message=30, states=5), states=lambda message: message.count(b"."))


@pytest.mark.parametrize("text", ["", "x"])
def test_after_text_the_connection_is_closed(text):
    """No page sends any; Streamlit looks for bytes, and an empty text wrote a traceback."""

    async def story(visit, app):
        found = visit("websocket", "1.1.1.1", parts=[b"x", text, b"late"])
        await found.task
        assert [message["bytes"] for message in app.received] == [b"x"] and found.status == 1003

    run(story)


def test_uploads_of_one_address_come_at_a_bounded_pace():
    async def story(visit, app):
        app.free.set()
        found = [visit("http", host, path="/up", parts=[b"x"]) for host in ["1.1.1.1"] * 4 + ["2.2.2.2"]]
        for one in found:
            await one.task
        assert [one.status for one in found] == [200] * 3 + [429, 200]

    run(story, SMALL._replace(sendings=(0.001, 3), uploads=Share(9, 9)))


def test_requests_of_one_address_that_come_too_fast_wait_and_nobody_elses_do():
    """The demo's settings, read again and again: 85 a second keep its one core busy."""

    async def story(visit, app):
        app.free.set()
        found = [visit("http", "1.1.1.1") for _ in range(6)]
        assert (await settle(*found)).count(True) == 3
        other = visit("http", "2.2.2.2")
        await other.task
        assert other.status == 200 and not found[-1].task.done()
        began = asyncio.get_running_loop().time()
        for one in found:
            await one.task
        assert asyncio.get_running_loop().time() - began > 0.2  # 3 of them, a tenth of a second each
        assert {one.status for one in found} == {200}

    run(story, SMALL._replace(pace=(10.0, 3), requests=Share(9, 9)))


def test_connections_of_one_address_open_at_a_bounded_pace():
    async def story(visit, app):
        found = []
        for _ in range(5):
            one = visit("websocket", "1.1.1.1", parts=[])
            one.gone.set()
            await one.task
            found.append(one.status)
        assert found == ["websocket.accept"] * 3 + [1013] * 2

    run(story, SMALL._replace(openings=(0.001, 3)))


# --- who it is


def request(host, port=1, **headers):
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"client": (host, port), "headers": named}


@pytest.mark.parametrize("port", [0, 77])
def test_a_forwarded_address_counts_only_where_that_is_asked_for(monkeypatch, port):
    """uvicorn believes any peer on this machine; whoever reaches the port there could name a new address each time."""
    from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

    def client(peer, claim):
        async def keep(scope, receive, send):
            seen.append(gate._client(scope))

        seen = []
        asyncio.run(
            ProxyHeadersMiddleware(keep)(request(*peer, x_forwarded_for=claim) | {"type": "http"}, 0, 0)
        )
        return seen[0]

    monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)
    claim = "9.9.9.9" + (f":{port}" if port else "")
    forged = client(("127.0.0.1", 5), claim)
    assert forged == client(("127.0.0.1", 5), claim.replace("9.9.9.9", "8.8.8.8"))  # no new one each time
    assert forged not in ("9.9.9.9", "127.0.0.1")  # nor one of those who are there
    for peer in (
        "9.9.9.9",
        "9.9.9.91",
        "9.9.9.8",
    ):  # not believed by uvicorn: each is itself, whatever it claims
        assert client((peer, 5), "9.9.9.9, 9.9.9.91") == peer
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "10.0.0.0/8")
    assert client(("127.0.0.1", 5), claim) == "9.9.9.9"


def test_what_an_app_asks_itself_counts_for_its_visitor():
    """Gradio calls a tool with the headers of the visitor's request, from the server's own address."""

    async def story(visit, app):
        outer = visit("http", "1.2.3.4", path="/up", parts=[b"a" * 60], headers=FORWARDED)
        await settle(outer)
        headers = outer.scope["headers"]
        # The rest uvicorn would believe its own machine.
        assert dict(headers).keys() == {gate._VISITOR, b"other"}
        inner = visit("http", "127.0.0.1", path="/up", parts=[b"a" * 60], headers=headers)  # beyond the quota
        await settle(inner)
        app.free.set()
        await asyncio.gather(outer.task, inner.task)
        assert inner.status == outer.status == 200 and app.seen == {"1.2.3.4": 2}

    run(story, asks_itself=True)


FORWARDED = [(b"x-forwarded-for", b"9.9.9.9"), (b"other", b"x")]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "6.6.6.6", "10.0.0.7"])
@pytest.mark.parametrize("what", ["again", "over", "forged", "twice"])
def test_nobody_is_somebody_else_by_a_header_seen_before(what, host):
    """It serves once, while its request is being answered, and from this machine alone; before, it served any peer for
    as long as the process lived."""

    async def story(visit, app):
        outer = visit("http", "1.2.3.4")
        await settle(outer)
        headers = [pair for pair in outer.scope["headers"] if pair[0] == gate._VISITOR]
        here = host != "6.6.6.6"
        if what == "over":
            app.free.set()
            await outer.task
        elif what == "again":
            await settle(visit("http", "127.0.0.1", headers=headers))
            assert app.seen == {"1.2.3.4": 2}
        elif what == "twice":
            headers = headers * 2
        else:
            headers = [(name, value[:-1] + b"?") for name, value in headers]
        app.seen.clear()
        late = visit("http", host, headers=headers, server=("10.0.0.7", 80))
        await settle(late)
        app.free.set()
        await late.task
        assert app.seen == ({} if here else {"6.6.6.6": 1}) and late.status == (403 if here else 200)

    run(story, asks_itself=True)


def test_an_app_that_never_asks_itself_hears_of_no_header():
    async def story(visit, app):
        app.free.set()
        headers = [(gate._VISITOR, b"1.2.3.4")]
        found = visit("http", "127.0.0.1", headers=headers)
        await found.task
        assert found.status == 200 and app.seen == {"127.0.0.1": 1} and not found.scope["headers"]

    run(story)


def test_whoever_runs_the_server_hears_once_of_a_proxy_that_is_not_named(monkeypatch, caplog):
    async def story(visit, app):
        app.free.set()
        for number in range(3):
            headers = [(b"x-forwarded-for", b"8.8.8.%d" % number)]
            assert await visit("http", "10.0.0.1", headers=headers).task is None

    monkeypatch.setattr(gate.log, "disabled", False)  # import-linter, in another test, turns every logger off
    monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)
    run(story)
    assert [record.levelname for record in caplog.records].count("WARNING") == 1
    caplog.clear()
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "10.0.0.1")
    run(story)
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


def test_an_address_is_kept_as_a_hash_that_names_a_subscriber():
    one = gate.hashed("203.0.113.7")
    assert one == gate.hashed("::ffff:203.0.113.7") != gate.hashed("203.0.113.8")
    assert "203" not in one and len(one) == 16
    assert gate.hashed("2001:db8::1") == gate.hashed("2001:db8::ffff:1") != gate.hashed("2001:db8:0:1::1")
    assert gate.hashed("no address at all")


def test_the_salt_of_the_hash_is_another_in_every_process():
    import subprocess
    import sys

    code = "from core.base.gate import hashed; print(hashed('203.0.113.7'))"
    found = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in "ab"
    }
    assert len(found) == 2
