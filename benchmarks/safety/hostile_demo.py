"""A stranger who takes what he can get of the Gradio demo: `python -m benchmarks.safety.hostile_demo`.

Bounded in count and time, and for a server that it starts itself on this machine. Strangers have addresses of their own
on the loopback network; beside them a visitor at another one asks for the scores of two small images, again and again.
One JSON line an attack: what the strangers were told, how long the visitor waited, and how the memory went.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
from PIL import Image

from benchmarks.safety.load import FIRST_PATIENCE, PATIENCE, ROOT, free_port

VISITOR, STRANGERS = "127.0.0.2", tuple(f"127.0.0.{i}" for i in range(3, 8))
MODEL = "builtin/clip"


class Person:
    """Somebody at an address of their own."""

    def __init__(self, server: str, host: str, answers: Counter[str]) -> None:
        self.server, self.host, self.answers = server, host, answers

    def client(self) -> httpx.AsyncClient:
        most = httpx.Limits(max_connections=400, max_keepalive_connections=0)
        transport = httpx.AsyncHTTPTransport(local_address=self.host, limits=most)
        return httpx.AsyncClient(transport=transport, base_url=self.server, timeout=PATIENCE)

    async def call(self, client: httpx.AsyncClient, images: list[str]) -> str:
        """The scores of two images, by the API: what the demo says."""
        files = [{"url": image, "meta": {"_type": "gradio.FileData"}} for image in images]
        asked = {"data": [*files, "a red cube", "a blue sphere", MODEL]}
        begun = await client.post("gradio_api/call/score_group", json=asked)
        if begun.status_code != 200:
            return f"{begun.status_code}"
        found = await client.get(f"gradio_api/call/score_group/{begun.json()['event_id']}")
        return found.text[found.text.rfind("event: ") :].partition("\n")[
            0
        ]  # the last one: others keep it open

    async def tool(self, client: httpx.AsyncClient, images: list[str], **claims: str) -> str:
        """The same by the tool; claims : headers."""
        given = {
            "image_a": images[0],
            "image_b": images[1],
            "caption_1": "a",
            "caption_2": "b",
            "model": MODEL,
        }
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        asked |= {"params": {"name": "score_group", "arguments": given}}
        accepted = {"Accept": "application/json, text/event-stream", "X-Forwarded-For": VISITOR, **claims}
        found = await client.post("gradio_api/mcp/", json=asked, headers=accepted)
        said = re.search(r'"text":"(.{0,60})', found.text)
        return f"error: {said and said[1]}" if '"isError":true' in found.text else f"{found.status_code}"

    async def count(self, what: str, asked: Awaitable[Any]) -> None:
        """Note what came of something."""
        try:
            self.answers[f"{what} {await asked}"] += 1
        except Exception as error:
            self.answers[f"{what} {type(error).__name__}"] += 1

    # --- what is tried

    async def streams(self) -> None:
        """300 streams of events, held open."""
        await self.hold("stream", "gradio_api/queue/data?session_hash=x")

    async def heartbeats(self) -> None:
        """300 signs of life of sessions that nobody opened, held open."""
        await self.hold("heartbeat", "gradio_api/heartbeat/x")

    async def hold(self, what: str, where: str) -> None:
        """300 requests whose answers do not end, for 20 seconds; where : to which a number is added."""

        async def hold(client: httpx.AsyncClient, i: int) -> int:
            async with client.stream("GET", f"{where}{i}") as answer:
                with suppress(TimeoutError):
                    async with asyncio.timeout(20):
                        async for _ in answer.aiter_bytes():
                            pass
                return answer.status_code

        async with self.client() as client:
            await asyncio.gather(*(self.count(what, hold(client, i)) for i in range(300)))

    async def gets(self) -> None:
        """2,000 requests that bring nothing, fifty at a time, of what takes the server longest."""

        async def get(client: httpx.AsyncClient) -> int:
            return (await client.get("config")).status_code

        async with self.client() as client:
            for _ in range(40):
                await asyncio.gather(*(self.count("get", get(client)) for _ in range(50)))

    async def uploads(self) -> None:
        """1,300 uploads of one byte, ten files in each tenth."""

        async def send(client: httpx.AsyncClient, i: int) -> int:
            files = [("files", (f"{i}-{k}.txt", b"x")) for k in range(10 if i % 10 == 0 else 1)]
            return (await client.post("gradio_api/upload", files=files)).status_code

        async with self.client() as client:
            for first in range(0, 1300, 50):
                every = range(first, first + 50)
                await asyncio.gather(*(self.count("upload", send(client, i)) for i in every))

    async def calls(self) -> None:
        """Thirty calls with the largest images at once."""
        async with self.client() as client:
            for content in large().values():
                asked = (self.call(client, [content] * 2) for _ in range(6))
                await asyncio.gather(*(self.count("call", one) for one in asked))

    async def tools(self) -> None:
        """Thirty calls of the tool at once under another's address, one as another visitor, and thirty given up."""
        image, claim = [small()] * 2, {"X-Crossmatch-Visitor": f"{VISITOR} 0"}
        async with self.client() as client:
            await asyncio.gather(*(self.count("tool", self.tool(client, image)) for _ in range(30)))
            await self.count("tool as another", self.tool(client, image, **claim))
            gone = [asyncio.create_task(self.tool(client, image)) for _ in range(30)]
            await asyncio.sleep(1)
            for one in gone:
                one.cancel()
            await asyncio.gather(*gone, return_exceptions=True)


Attack = Callable[[Person], Coroutine[Any, Any, None]]
ATTACKS: tuple[Attack, ...] = (
    Person.streams,
    Person.heartbeats,
    Person.gets,
    Person.uploads,
    Person.calls,
    Person.tools,
)


def _address(image: Image.Image, kind: str, **how: Any) -> str:
    file = io.BytesIO()
    image.save(file, kind, **how)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(file.getvalue()).decode()}"


def small() -> str:
    return _address(Image.new("RGB", (64, 64), (200, 30, 30)), "PNG")


def large() -> dict[str, str]:
    """Images of few bytes and as many pixels as may be, or more, or many times over; by kind."""
    dots, colours = Image.new("1", (5000, 5000)), Image.new("RGB", (5000, 5000))
    grey = Image.new("L", (3000, 3000))
    return {
        "TIFF": _address(dots, "TIFF", compression="group4", save_all=True, append_images=[dots] * 50),
        "GIF": _address(
            grey, "GIF", save_all=True, append_images=[Image.new("L", grey.size, i) for i in (1, 2)]
        ),
        "PNG": _address(colours, "PNG"),
        "JPEG": _address(colours, "JPEG", quality=1),
        "WEBP": _address(grey.convert("RGB"), "WEBP", quality=0),
    }


@contextmanager
def demo() -> Iterator[tuple[str, psutil.Process]]:
    """The demo on a port of its own: its address and its process."""
    port = free_port()
    with (
        tempfile.TemporaryDirectory(prefix="crossmatch-demo-") as folder,
        open(Path(folder) / "log", "wb") as log,
    ):
        environment = {
            **os.environ,
            "CROSSMATCH_PUBLIC": "1",
            "HF_HUB_OFFLINE": "1",
            "CROSSMATCH_HOME": folder,
        }
        environment |= {"GRADIO_SERVER_PORT": str(port), "GRADIO_TEMP_DIR": f"{folder}/files"}
        command = [sys.executable, "gradio_app.py"]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        try:
            _wait(f"http://127.0.0.1:{port}/", process)
            yield f"http://127.0.0.1:{port}/", psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE)


def _wait(server: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + FIRST_PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with suppress(httpx.HTTPError):
            httpx.get(server, timeout=PATIENCE)
            return
        time.sleep(0.3)
    raise SystemExit("the demo did not start")


async def _attack(server: str, process: psutil.Process, attack: Attack) -> dict[str, Any]:
    """One attack of all strangers: their answers, the visitor's waits, and MB of memory before and at most."""
    answers: Counter[str] = Counter()
    visitor, waits = Person(server, VISITOR, Counter()), []
    async with visitor.client() as client:
        await visitor.call(client, [small()] * 2)  # the model is loaded
        memory = [process.memory_info().rss >> 20]
        at_work = [asyncio.create_task(attack(Person(server, host, answers))) for host in STRANGERS]
        while not waits or not all(one.done() for one in at_work):
            began = time.monotonic()
            said = await visitor.call(client, [small()] * 2)
            waits.append(round(time.monotonic() - began, 2) if said == "event: complete" else said)
            memory.append(process.memory_info().rss >> 20)
            await asyncio.sleep(0.5)
        await asyncio.gather(*at_work)
    return {
        "attack": attack.__name__,
        "answers": dict(answers),
        "waits": waits,
        "mb": [memory[0], max(memory)],
    }


def main() -> None:
    """Attack, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [attack.__name__ for attack in ATTACKS]
    parser.add_argument("attacks", nargs="*", default=names, metavar="ATTACK", help=", ".join(names))
    args = parser.parse_args()
    with demo() as (server, process):
        for attack in ATTACKS:
            if attack.__name__ in args.attacks:
                print(json.dumps(asyncio.run(_attack(server, process, attack))), flush=True)


if __name__ == "__main__":
    main()
