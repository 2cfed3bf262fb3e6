"""A stranger who takes what he can get of a public server: `python -m benchmarks.safety.load --hostile 5`.

Bounded in count and time, and for this machine's own server alone. Every stranger has an address of his own on the
loopback network (127.0.0.2 and so on), and a new cookie for every connection. What he tries is in `ATTACKS`.
"""

from __future__ import annotations

import asyncio
import io
import ipaddress
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import httpx
import numpy as np
from PIL import Image
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

MB = 1 << 20
PATIENCE = 600.0  # seconds until an answer counts as missing, on a machine that has much else to do


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
        async with asyncio.timeout(PATIENCE):
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
        return httpx.AsyncClient(transport=transport, base_url=f"http://{self.server}", timeout=PATIENCE)

    async def upload(self, client: httpx.AsyncClient, session: Session, name: str, content: bytes) -> int:
        """Bring a file that no widget asked for; the status of the answer."""
        headers = {"X-Xsrftoken": session.cookie, "Cookie": f"_streamlit_xsrf={session.cookie}"}
        where = f"/_stcore/upload_file/{session.id}/{name}"
        try:
            answer = await client.put(where, files={name: (name, content)}, headers=headers)
        except httpx.HTTPError:  # the server has hung up before all was sent
            return 0
        return answer.status_code

    async def bring(
        self, client: httpx.AsyncClient, session: Session, name: str, content: bytes
    ) -> list[str]:
        """Put a file into the field of Your data, as a browser does; what the page says to it."""
        await session.open("Your Data")
        fields = session.widgets("file_uploader")
        field = next(fields[label] for label in fields if label.startswith("File of scores"))
        await self.upload(client, session, name, content)
        value = WidgetState(id=field.id)
        value.file_uploader_state_value.uploaded_file_info.add(file_id=name, name=name, size=len(content))
        await session.open("Your Data", "", (value,))
        return session.said()

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
        """As many messages as go, some that are none or too large, and text, which Streamlit does not read."""
        async with self.patient_session() as session:
            await session.open()
            message = BackMsg()
            message.rerun_script.query_string = "set=scenes/left-right"
            for _ in range(300):
                await session.line.send(message.SerializeToString())
            self.answers["messages taken"] += 300
        for content in (bytes(4 * MB), bytes(40 * MB), b"no message at all", ""):
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

    async def values(self) -> None:
        """Messages of 85,000 values of fields that are no page's, over three connections."""
        message = BackMsg()
        for i in range(85_000):
            message.rerun_script.widget_states.widgets.add(id=f"{i}")
        content = message.SerializeToString()
        for _ in range(3):
            with suppress(Exception):
                async with self.patient_session() as session:
                    await session.open()
                    for _ in range(10):
                        await session.line.send(content)
                    await asyncio.wait_for(session.line.wait_closed(), 5)
                    self.answers["connection with many values ended"] += 1

    async def files(self) -> None:
        """Small files that stand for much, and pages that stay open on what could be read."""
        async with AsyncExitStack() as opened, self.client() as client:
            for name, content in small_files(self.random.randrange(1 << 30)).items():
                session = await opened.enter_async_context(self.patient_session())
                await session.open()
                said = [text for text in await self.bring(client, session, name, content) if name[:4] in text]
                self.answers[f"file {name}: {said[0][:60] if said else 'read'}"] += 1
                await session.open("Groups", f"set=upload/{name}")

    async def tiny_files(self) -> None:
        """Thirty files of a few bytes, each of them stored."""
        async with self.patient_session() as session, self.client() as client:
            await session.open()
            for i in range(30):
                text = f"group,image,caption,score\na,0,0,{i}\na,0,1,0\na,1,0,0\na,1,1,1\n"
                await self.bring(client, session, f"tiny-{self.host}-{i}.csv", text.encode())
                self.answers["tiny file brought"] += 1

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


def small_files(seed: int) -> dict[str, bytes]:
    """Files of strangers that cost a server most while no limit was on what they unfold to; by name.

    The tags alone are within every limit: 10,000 groups with 195 tags each, about 100 MB in memory.
    """
    rng, texts = np.random.default_rng(seed), np.array([f"{i:07}" for i in range(3000)])
    tags = {f"tag_{i}": texts[rng.integers(0, len(texts), 10_000)] for i in range(195)}
    return {
        "tags.npz": _npz(scores=rng.normal(size=(10_000, 2, 2)).astype(np.float32), **tags),
        "ones.npz": _npz(img=np.ones((20_000, 1), np.int8), cap=np.ones((20_000, 1), np.int8)),
        "ties.npz": _npz(scores=np.zeros((1, 2000, 2000), np.int8)),
        "wide.npz": _npz(
            scores=np.zeros((2, 2, 2)), **{f"tag_{i}": np.array(["a", "b"]) for i in range(5000)}
        ),
        "list.json": b"[" + b"[]," * 3_000_000 + b"[]]",
        "deep.jsonl": b'{"id":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "quotes.csv": b"group,image,caption,score\n" + b'"' * 200_000,
        "same.jsonl": b"{" + b",".join(b'"k%d":0' % (i // 2) for i in range(60_000)) + b"}",
        "scans.csv": many_scans(2000),
    }


def _npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def many_scans(count: int) -> bytes:
    """A JPEG that has its last scan so many times: every one is decoded over the whole picture."""
    file = io.BytesIO()
    Image.new("L", (64, 64)).save(file, "JPEG", progressive=True)
    content = file.getvalue()
    last = content.rindex(b"\xff\xda")
    return content[:-2] + content[last:-2] * count + content[-2:]


ATTACKS: tuple[Callable[[Hostile], Awaitable[None]], ...] = (
    Hostile.uploads,
    Hostile.connections,
    Hostile.runs,
    Hostile.scores,
    Hostile.messages,
    Hostile.values,
    Hostile.files,
    Hostile.tiny_files,
    Hostile.slow_uploads,
    Hostile.addresses,
)
