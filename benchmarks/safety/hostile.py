"""A stranger who takes what he can get of a public server: `python -m benchmarks.safety.load --hostile 5`.

Bounded in count and time, and for this machine's own server alone. Every stranger has an address of his own on the
loopback network (127.0.0.2 and so on), and a new cookie for every connection. What he tries is in `ATTACKS`.
"""

from __future__ import annotations

import asyncio
import ipaddress
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

MB = 1 << 20


class Session:
    """A connection with a cookie of its own."""

    def __init__(self, line: ClientConnection, cookie: str) -> None:
        self.line, self.cookie, self.id = line, cookie, ""
        self.pages: dict[str, str] = {}  # name -> hash
        self.elements: list[Any] = []  # of the last page

    async def open(self, page: str = "", query: str = "", states: tuple[WidgetState, ...] = ()) -> None:
        """Run a page's script to its end."""
        message = BackMsg()
        message.rerun_script.page_script_hash = self.pages.get(page, "")
        message.rerun_script.query_string = query
        message.rerun_script.widget_states.widgets.extend(states)
        self.elements = []
        await self.line.send(message.SerializeToString())
        async with asyncio.timeout(120):
            while not self._take(ForwardMsg.FromString(bytes(await self.line.recv(decode=False)))):
                pass

    def _take(self, message: ForwardMsg) -> bool:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self.id = message.new_session.initialize.session_id
        elif kind == "navigation":
            self.pages = {page.page_name: page.page_script_hash for page in message.navigation.app_pages}
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self.elements.append(message.delta.new_element)
        return kind == "script_finished" and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN

    def widgets(self, kind: str) -> dict[str, Any]:
        """Widgets of a kind on the last page, by label."""
        found = [getattr(e, kind) for e in self.elements if e.WhichOneof("type") == kind]
        return {widget.label: widget for widget in found}

    def said(self) -> list[str]:
        """The sentences in boxes on the last page."""
        return [e.alert.body for e in self.elements if e.WhichOneof("type") == "alert"]


class Hostile:
    """One stranger at one address."""

    def __init__(self, number: int, address: str, answers: Counter[str] | None = None) -> None:
        """answers : where what came of everything is counted."""
        self.server, self.host = address, str(ipaddress.ip_address("127.0.0.2") + number)
        if not ipaddress.ip_address(address.rpartition(":")[0]).is_loopback:
            raise SystemExit("only a server on this machine is attacked")
        self.random = random.Random(number)
        self.answers: Counter[str] = Counter() if answers is None else answers

    async def attack(self, until: float) -> None:
        """Everything, in an order of one's own, again and again until the time is over."""
        while time.monotonic() < until:
            for try_it in self.random.sample(ATTACKS, len(ATTACKS)):
                try:
                    async with asyncio.timeout(max(0.1, until - time.monotonic())):
                        await try_it(self)
                except TimeoutError:
                    self.answers[f"{try_it.__name__} out of time"] += 1
                except Exception as error:
                    self.answers[f"{try_it.__name__} {type(error).__name__}"] += 1

    def cookie(self) -> str:
        """A new one, as a browser has it."""
        mask, token = self.random.randbytes(4), self.random.randbytes(16)
        masked = bytes(b ^ mask[i % 4] for i, b in enumerate(token))
        return f"2|{mask.hex()}|{masked.hex()}|{int(time.time())}"

    @asynccontextmanager
    async def patient_session(self) -> AsyncIterator[Session]:
        """`session`, tried again each second for a minute where it is refused."""
        for _ in range(60):
            with suppress(InvalidStatus):
                async with self.session() as session:
                    yield session
                return
            await asyncio.sleep(1)

    @asynccontextmanager
    async def session(self, **headers: str) -> AsyncIterator[Session]:
        """A connection of a browser that nobody has seen before."""
        cookie = self.cookie()
        more = {"Origin": f"http://{self.server}", "Cookie": f"_streamlit_xsrf={cookie}", **headers}
        where = f"ws://{self.server}/_stcore/stream"
        look: dict[str, Any] = {"subprotocols": ["streamlit"], "additional_headers": more, "max_size": None}
        async with connect(where, **look, local_addr=(self.host, 0), proxy=None) as line:
            yield Session(line, cookie)

    def client(self) -> httpx.AsyncClient:
        """Plain requests."""
        transport = httpx.AsyncHTTPTransport(local_address=self.host)
        return httpx.AsyncClient(transport=transport, base_url=f"http://{self.server}", timeout=60)

    async def upload(self, client: httpx.AsyncClient, session: Session, name: str, content: bytes) -> int:
        """Bring a file that no widget asked for; the status of the answer."""
        headers = {"X-Xsrftoken": session.cookie, "Cookie": f"_streamlit_xsrf={session.cookie}"}
        where = f"/_stcore/upload_file/{session.id}/{name}"
        try:
            answer = await client.put(where, files={name: (name, content)}, headers=headers)
        except httpx.HTTPError:  # the server has hung up before all was sent
            return 0
        return answer.status_code

    # --- what is tried

    async def uploads(self) -> None:
        """Sixty files of 20 MB in one session, and as many over many sessions."""
        async with self.patient_session() as session, self.client() as client:
            await session.open()
            for i in range(60):
                self.answers[f"upload {await self.upload(client, session, str(i), bytes(19 * MB))}"] += 1

    async def connections(self) -> None:
        """A hundred connections at once, every one with a page."""
        held = []
        try:
            for _ in range(100):
                held.append(entered := self.session())
                try:
                    session = await entered.__aenter__()
                    await session.open()
                    self.answers["connection open"] += 1
                except Exception as error:
                    held.pop()
                    self.answers[f"connection {type(error).__name__}"] += 1
        finally:
            for entered in held:
                with suppress(Exception):
                    await entered.__aexit__(None, None, None)

    async def runs(self) -> None:
        """Thirty runs, each with a new cookie."""
        for _ in range(30):
            with suppress(OSError):
                async with self.patient_session() as session:
                    await session.open()
                    await session.open("Test-Time Matching", "run=new")
                    start = session.widgets("button").get("Start the run")
                    if start is None:
                        continue
                    press = WidgetState(id=start.id, trigger_value=True)
                    await session.open("Test-Time Matching", "run=new", (press,))
                    told = [text for text in session.said() if "queue" in text or "waiting" in text]
                    self.answers[f"run {told[0][:60] if told else 'started'}"] += 1

    async def scores(self) -> None:
        """Ten sessions at once, each with a page that has to compute."""

        async def one(number: int) -> None:
            async with self.patient_session() as session:
                await session.open()
                await session.open("Debias", f"prior=noise&samples={1 + number % 5}&set=scenes/front-behind")
                self.answers["page that computes"] += 1

        await asyncio.gather(*(one(number) for number in range(10)), return_exceptions=True)

    async def messages(self) -> None:
        """As many messages as go, and some that are none or too large."""
        async with self.patient_session() as session:
            await session.open()
            message = BackMsg()
            message.rerun_script.query_string = "set=scenes/left-right"
            for _ in range(300):
                await session.line.send(message.SerializeToString())
            self.answers["messages taken"] += 300
        for content in (bytes(4 * MB), bytes(40 * MB), b"no message at all"):
            with suppress(Exception):
                async with self.patient_session() as session:
                    await session.open()
                    await session.line.send(content)
                    await asyncio.wait_for(session.line.wait_closed(), 5)
                    self.answers["connection ended"] += 1

    async def slow_uploads(self) -> None:
        """Twenty uploads that send a little now and then."""

        async def drip() -> AsyncIterator[bytes]:
            for _ in range(30):
                yield b"x" * 1000
                await asyncio.sleep(0.5)

        async with self.patient_session() as session, self.client() as client:
            await session.open()
            headers = {"X-Xsrftoken": session.cookie, "Cookie": f"_streamlit_xsrf={session.cookie}"}
            where = f"/_stcore/upload_file/{session.id}/"
            asked = [client.put(f"{where}{i}", content=drip(), headers=headers) for i in range(20)]
            for answer in await asyncio.gather(*asked, return_exceptions=True):
                status = getattr(answer, "status_code", type(answer).__name__)
                self.answers[f"slow upload {status}"] += 1

    async def addresses(self) -> None:
        """Pages with endless and senseless addresses, and fields with senseless values."""
        async with self.client() as client:
            for query in ("x=" + "a" * 5000, "run=" + "%2e%2e%2f" * 300):
                self.answers[f"page {(await client.get('/?' + query)).status_code}"] += 1
        async with self.patient_session() as session:
            await session.open()
            for query in ("T=nan&run=new", "set=" + "x" * 100_000, "model=%2Fetc%2Fpasswd"):
                await session.open("Test-Time Matching", query)
                self.answers[f"address {'said' if session.said() else 'taken'}"] += 1


ATTACKS: tuple[Callable[[Hostile], Awaitable[None]], ...] = (
    Hostile.uploads,
    Hostile.connections,
    Hostile.runs,
    Hostile.scores,
    Hostile.messages,
    Hostile.slow_uploads,
    Hostile.addresses,
)
