"""What one address, and all addresses together, may take of a web server at a time: plain ASGI, around any app.

Counted are requests and connections at work, messages over a connection, bytes that are uploaded in a while, and how
large and how slow a request may be. Where a total is full, whoever holds most gives up the oldest for one who holds
less; so one stranger never keeps everybody else out. Addresses are told apart by a hash whose salt lives and dies with
the process. Where a proxy stands in front, uvicorn's `FORWARDED_ALLOW_IPS` names it; without that variable no forwarded
header is believed. Where an app asks itself for a visitor and hands on the headers of the visitor's request, as Gradio
does for tools, a header of the gate's own says which request that is: it was counted when it came from outside. The
header serves once, while that request is being answered, and on this machine alone.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import re
import secrets
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager, nullcontext, suppress
from hashlib import blake2b
from typing import Any, NamedTuple

Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_App = Callable[[Scope, _Receive, _Send], Awaitable[None]]

log = logging.getLogger("crossmatch.gate")

LOCAL = "127.0.0.1"
_PROXIED = (
    "0.0.0.0"  # whoever comes by a proxy on this machine that nobody named; no visitor has this address
)
_PROXIES = "FORWARDED_ALLOW_IPS"  # uvicorn's
_MARKS = (b"[", b"]", b"{", b"}", b",", b":")  # of JSON
_SALT = secrets.token_bytes(16)
_VISITOR = b"x-crossmatch-visitor"  # the request for which the app asks itself, by a name that nobody guesses


class Share(NamedTuple):
    """The most that one address and that everybody together may have."""

    each: int
    together: int


class Limits(NamedTuple):
    """All of a gate's numbers; SECURITY.md lists them."""

    requests: Share = Share(200, 1000)  # answered at the same time
    pace: tuple[float, int] = (30.0, 1000)  # requests of one address: per second, and at once; a page has 100
    connections: Share = Share(50, 200)  # web sockets
    openings: tuple[float, int] = (1.0, 120)  # web sockets of one address: per second, and at once
    messages: tuple[float, int] = (10.0, 60)  # over one web socket: per second, and at once
    message: int = 128 << 10  # bytes of one of them: the widest, of a field with 200 files, has 60 kB
    states: int = 500  # values of fields in it: each costs the app what a hundred bytes do not show
    uploads: Share = Share(4, 12)  # at the same time
    sendings: tuple[float, int] = (3.0, 100)  # uploads of one address: per second, and at once
    quota: Share = Share(100 << 20, 600 << 20)  # bytes uploaded within `window`
    window: float = 600.0  # seconds
    file: int = 21 << 20  # bytes of an upload
    body: int = 1 << 20  # bytes of a request that brings no file
    marks: int = 10_000  # brackets, braces, commas and colons in it: of JSON each may become a hundred bytes
    patience: float = 300.0  # seconds until a request has been sent whole
    query: int = 4096  # characters of an address's query


def hashed(host: str) -> str:
    """An address as it is kept: who knows the hash cannot tell the address. Of IPv6, a subscriber's whole /64."""
    with suppress(ValueError):
        known = ipaddress.ip_address(host)
        if isinstance(known, ipaddress.IPv6Address):
            host = str(known.ipv4_mapped or ipaddress.ip_network((known, 64), strict=False))
    return blake2b(host.encode(), key=_SALT, digest_size=8).hexdigest()


def _client(scope: Scope) -> str:
    """Who asks. uvicorn puts a forwarded address there for any peer on this machine: it counts only if that was asked
    for, as else every visitor could name a new one.
    """
    host, port = scope.get("client") or (LOCAL, 0)
    forwarded = _header(scope, b"x-forwarded-for").decode("latin1")
    if _PROXIES not in os.environ and forwarded and _is_written(host, port, forwarded):
        return _PROXIED
    return host


def _is_written(host: str, port: int, forwarded: str) -> bool:
    """Whether uvicorn has written this client from a header: with port 0, which no peer has, where that names none."""
    return port == 0 or any(
        (name.strip().strip("[]"), number) == (host, str(port))
        for name, _, number in (entry.strip().rpartition(":") for entry in forwarded.split(","))
    )


def _is_here(scope: Scope) -> bool:
    """Whether a request comes from this machine."""
    host = (scope.get("client") or (LOCAL, 0))[0]
    with suppress(ValueError):
        known = ipaddress.ip_address(host)
        if (getattr(known, "ipv4_mapped", None) or known).is_loopback:
            return True
    return host == (scope.get("server") or (LOCAL, 0))[0]


def _header(scope: Scope, name: bytes) -> bytes:
    return b", ".join(value for key, value in scope["headers"] if key == name)


class _Asking:
    """Requests that are being answered. While one is, the app may ask itself, once, for whoever sent it."""

    def __init__(self) -> None:
        self._hosts: dict[bytes, str] = {}

    @contextmanager
    def name(self, host: str) -> Iterator[bytes]:
        """A name for a request of this address, good while the block lasts."""
        name = secrets.token_hex(16).encode()
        self._hosts[name] = host
        try:
            yield name
        finally:
            self._hosts.pop(name, None)

    def take(self, name: bytes) -> str | None:
        """Whose request it is; None for one that is over, was taken before, or never was."""
        return self._hosts.pop(name, None)


class _Refused(Exception):
    """A request goes too far: the status and the sentence that it is answered with."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


_FULL = 503, "This server is full; try again in a few minutes."
_CROWDED = 429, "Too many requests from your address; close a tab, or try again in a minute."


class _Room:
    """Who is inside. The room of one address and of all together is bounded."""

    def __init__(self, share: Share) -> None:
        self.share = share
        self._inside: dict[_Stay, str] = {}  # in the order in which they came

    @contextmanager
    def stay(self, who: str) -> Iterator[_Stay]:
        """A place while the block lasts, or until it is given up; then the block ends early and in silence.

        Raises `_Refused` where there is no place.
        """
        self._make_room(who)
        stay = _Stay()
        self._inside[stay] = who
        try:
            yield stay
        except asyncio.CancelledError:
            if not stay.over:
                raise
            stay.forgive()
        finally:
            self._inside.pop(stay, None)

    def _make_room(self, who: str) -> None:
        held = Counter(self._inside.values())
        if held[who] >= self.share.each:
            raise _Refused(*_CROWDED)
        if len(self._inside) < self.share.together:
            return
        most, count = held.most_common(1)[0]
        if count < held[who] + 2:  # nobody holds clearly more than the one who comes
            raise _Refused(*_FULL)
        oldest = next(stay for stay, name in self._inside.items() if name == most)
        del self._inside[oldest]
        oldest.end()


class _Stay:
    """A task that is inside a room."""

    def __init__(self) -> None:
        self._task, self.over = asyncio.current_task(), False

    def end(self) -> None:
        """Give the place up."""
        self.over = True
        assert self._task is not None
        self._task.cancel()

    def forgive(self) -> None:
        """The task goes on."""
        assert self._task is not None
        self._task.uncancel()


class _Bucket:
    """So many per second for each name, after so many at once."""

    def __init__(self, rate: float, burst: int) -> None:
        self._pace, self._ahead = 1 / rate, burst / rate
        self._due: dict[str, float] = {}  # when all that was let through would have come at that rate

    def wait(self, who: str = "") -> float:
        """Seconds until one more is in time; 0.0 for most."""
        now = time.monotonic()
        return max(0.0, round(max(self._due.get(who, now), now) + self._pace - now - self._ahead, 6))

    def take(self, who: str = "") -> None:
        """Let one through."""
        now = time.monotonic()
        self._due[who] = max(self._due.get(who, now), now) + self._pace
        if len(self._due) > 1000:
            self._due = {name: due for name, due in self._due.items() if due > now}


class _Quota:
    """Bytes within a window of time."""

    def __init__(self, share: Share, window: float) -> None:
        self.share, self.window = share, window
        self._taken: deque[tuple[float, str, int]] = deque()
        self._of: Counter[str] = Counter()
        self._all = 0

    def take(self, who: str, count: int) -> None:
        """Count some bytes. Raises `_Refused` for those beyond the quota."""
        now = time.monotonic()
        while self._taken and self._taken[0][0] < now - self.window:
            _, name, size = self._taken.popleft()
            self._add(name, -size)
        if self._of[who] + count > self.share.each or self._all + count > self.share.together:
            raise _Refused(429, "Your uploads have reached this server's limit; try again in a few minutes.")
        self._taken.append((now, who, count))
        self._add(who, count)

    def _add(self, who: str, count: int) -> None:
        self._all += count
        self._of[who] += count
        if not self._of[who]:
            del self._of[who]


class Gate:
    """An app that refuses what goes beyond its limits, and hands on everything else."""

    def __init__(
        self,
        app: _App,
        uploads: str,
        limits: Limits | None = None,
        closed: str = "(?!)",
        files: str | None = None,
        brought: Callable[[Scope, str], object] = lambda scope, who: None,
        states: Callable[[bytes], int] = lambda message: 0,
        asks_itself: bool = False,
    ) -> None:
        """uploads, closed : regular expressions; the paths where something is brought, and those that nobody gets.
        files : those of `uploads` where it is a whole file, by default all. brought : called with a request that has
        brought something, and who sent it. states : how many values of fields a message over a web socket holds.
        asks_itself : whether the app sends itself requests with the headers of a visitor's, to whom they count.
        """
        self.app, self.limits, self.brought, self.states = app, limits or Limits(), brought, states
        self._uploads, self._closed = re.compile(uploads), re.compile(closed)
        self._files = re.compile(uploads if files is None else files)
        self._requests, self._connections = _Room(self.limits.requests), _Room(self.limits.connections)
        self._at_upload = _Room(self.limits.uploads)
        self._openings, self._sendings = _Bucket(*self.limits.openings), _Bucket(*self.limits.sendings)
        self._pace = _Bucket(*self.limits.pace)
        self._warned, self._asking = False, _Asking() if asks_itself else None
        self._quota = _Quota(self.limits.quota, self.limits.window)

    async def __call__(self, scope: Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        asked_for = _header(scope, _VISITOR)
        if self._asking is not None and asked_for and _is_here(scope):
            await self._ask(scope, receive, send, self._asking.take(asked_for))
            return
        self._warn(scope)
        host = _client(scope)
        scope["client"] = (host, 0)
        # A forwarded address goes no further: with it an app that asks itself would seem to be asked from elsewhere.
        others = [pair for pair in scope["headers"] if pair[0] not in (_VISITOR, b"x-forwarded-for")]
        serve = self._request if scope["type"] == "http" else self._connection
        with nullcontext() if self._asking is None else self._asking.name(host) as name:
            scope["headers"] = others if name is None else [*others, (_VISITOR, name)]
            await serve(scope, receive, send, hashed(host))

    async def _ask(self, scope: Scope, receive: _Receive, send: _Send, host: str | None) -> None:
        """The app asks itself for the visitor of another request, of this address."""
        if host is None:
            refused = _Refused(403, "The request that this one was made for is over; try again.")
            await (_Answer(send).refuse(refused) if scope["type"] == "http" else _close(send))
            return
        scope["client"] = (host, 0)
        await self.app(scope, receive, send)

    def _warn(self, scope: Scope) -> None:
        if not self._warned and _PROXIES not in os.environ and _header(scope, b"x-forwarded-for"):
            self._warned = True
            log.warning(
                "Requests name a proxy: set %s to its address, or all visitors share one's limits.", _PROXIES
            )

    async def _request(self, scope: Scope, receive: _Receive, send: _Send, who: str) -> None:
        upload = scope["method"] in ("PUT", "POST") and bool(self._uploads.match(scope["path"]))
        take = (lambda count: self._quota.take(who, count)) if upload else None
        answer = _Answer(send)
        body = _Body(receive, answer, self.limits, take, upload and bool(self._files.match(scope["path"])))
        try:
            self._check(scope)
            if upload:
                _pass(self._sendings, who)
            with (self._at_upload if upload else self._requests).stay(who) as stay:
                if not upload:
                    await self._wait(who)
                await self.app(scope, body, answer)
        except _Refused as refused:
            await answer.refuse(refused)
        except Exception:
            if not answer.refused:  # what an app makes of a request that has been cut off is nobody's concern
                raise
        else:
            if stay.over:
                await answer.refuse(_Refused(*_FULL))
            elif upload and answer.status < 300:
                self.brought(scope, who)

    async def _wait(self, who: str) -> None:
        """Requests that come faster than pages ask wait in their place, one after the other."""
        seconds = self._pace.wait(who)
        self._pace.take(who)
        if seconds:
            await asyncio.sleep(seconds)

    def _check(self, scope: Scope) -> None:
        if len(scope["query_string"]) > self.limits.query:
            raise _Refused(
                414, "The address is too long; open the page without the part after the question mark."
            )
        if self._closed.match(scope["path"]):
            raise _Refused(404, "Page not found.")

    async def _connection(self, scope: Scope, receive: _Receive, send: _Send, who: str) -> None:
        try:
            self._check(scope)
            _pass(self._openings, who)
            messages = _Messages(receive, self.limits, self.states)
            with self._connections.stay(who) as stay:
                await self.app(scope, messages, send)
        except _Refused:
            await _close(send)
        else:
            if stay.over or messages.refused:
                await _close(send, messages.refused or _LATER)


def _pass(bucket: _Bucket, who: str) -> None:
    if bucket.wait(who):
        raise _Refused(*_CROWDED)
    bucket.take(who)


class _Messages:
    """`receive`, of messages that take their time where they come faster than anybody clicks. After one that is larger
    than any page's, holds more values, or is text, the app is told that its visitor has gone.
    """

    def __init__(self, receive: _Receive, limits: Limits, states: Callable[[bytes], int]) -> None:
        self._receive, self._limits, self._states = receive, limits, states
        self._bucket, self.refused = _Bucket(*limits.messages), 0  # or why

    async def __call__(self) -> MutableMapping[str, Any]:
        message = await self._receive()
        self.refused = self.refused or self._refusal(message)
        if self.refused:
            return {"type": "websocket.disconnect", "code": self.refused}
        await asyncio.sleep(self._bucket.wait())
        self._bucket.take()
        return message

    def _refusal(self, message: MutableMapping[str, Any]) -> int:
        """Why the connection ends with this message; 0 where it does not."""
        content = message.get("bytes") or b""
        if message.get("text") is not None:
            return _TEXT
        if len(content) > self._limits.message or self._states(content) > self._limits.states:
            return _TOO_BIG
        return 0


# Why a web socket is closed: try again later; message too big; a kind of message that is not read.
_LATER, _TOO_BIG, _TEXT = 1013, 1009, 1003


async def _close(send: _Send, code: int = _LATER) -> None:
    """Refuse or end a web socket."""
    with suppress(Exception):  # it is closed already
        await send({"type": "websocket.close", "code": code})


class _Body:
    """`receive`, of a body that is neither too large nor too slow. One that is has been refused; the app is told that
    its visitor has gone.
    """

    def __init__(
        self,
        receive: _Receive,
        answer: _Answer,
        limits: Limits,
        take: Callable[[int], None] | None,
        is_file: bool,
    ) -> None:
        self._receive, self._answer, self._take = receive, answer, take
        self._left = limits.file if is_file else limits.body
        self._marks = None if is_file else limits.marks  # that are left
        self._end, self._whole = time.monotonic() + limits.patience, False

    async def __call__(self) -> MutableMapping[str, Any]:
        if self._whole:  # what may come now is that the visitor has gone
            return await self._receive()
        try:
            return await self._next()
        except TimeoutError:
            await self._answer.refuse(_Refused(408, "The request took too long to arrive; try again."))
        except _Refused as refused:
            await self._answer.refuse(refused)
        return {"type": "http.disconnect"}

    async def _next(self) -> MutableMapping[str, Any]:
        message = await asyncio.wait_for(self._receive(), self._end - time.monotonic())
        content, self._whole = message.get("body", b""), not message.get("more_body", False)
        count = len(content)
        self._left -= count
        if self._left < 0:
            raise _Refused(413, "The request is too large.")
        if self._marks is not None:
            self._marks -= sum(map(content.count, _MARKS))
            if self._marks < 0:
                raise _Refused(413, "The request holds too many values.")
        if self._take is not None:
            self._take(count)
        return message


class _Answer:
    """`send`, until the request is refused; from then on what the app says goes nowhere."""

    def __init__(self, send: _Send) -> None:
        self._send, self.status, self.refused = send, 0, False

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if not self.refused:
            self.status = message.get("status", self.status)
            await self._send(message)

    async def refuse(self, why: _Refused) -> None:
        """Answer with one sentence, unless an answer has begun, and hang up."""
        begun, self.refused = self.status, True
        if begun:
            return
        log.info("refused with %s: %s", why.status, why.sentence)
        text = why.sentence.encode()
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(text))]
        start = {"type": "http.response.start", "status": why.status}
        with suppress(OSError):  # nobody there any more
            await self._send({**start, "headers": [*headers, (b"connection", b"close")]})
            await self._send({"type": "http.response.body", "body": text})
