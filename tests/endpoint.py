"""A real HTTP server on this machine that answers as an OpenAI-compatible endpoint with log-probabilities."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
from PIL import Image


def true_probability(image_url: str, question: str) -> float:
    """What the fake model believes: any number that depends on the pixels and on the question alone."""
    data = base64.b64decode(image_url.split(",", 1)[1])
    pixels = np.asarray(Image.open(io.BytesIO(data))).tobytes()
    return int.from_bytes(hashlib.sha256(pixels + question.encode()).digest()[:4], "big") / 2**32


def word_log_prob(image_url: str, word: str) -> float:
    """log P of a word given an image: any number that depends on both."""
    return math.log(true_probability(image_url, word))


class Endpoint(ThreadingHTTPServer):
    """An OpenAI-compatible endpoint whose behaviour a test sets; it notes what it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[dict] = []
        self.keys: set[str | None] = set()
        self.failures: list[tuple[int, str]] = []  # sent before any answer
        self.after: tuple[int, int] | None = None  # (answers, status): fails for good after so many
        self.now, self.most = 0, 0
        self.together = threading.Barrier(1)  # so many requests must be here at once before any is answered
        self.answer = self.listing
        self.lock = threading.Lock()
        self.without_prompts = False  # as servers other than vLLM
        self.change_prompt: Callable[[list], list] = list  # of the tokens of a prompt

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    @staticmethod
    def listing(image_url: str, question: str) -> list[dict]:
        p = true_probability(image_url, question)
        return [
            {"token": "Yes", "logprob": math.log(p * 0.75)},
            {"token": " yes", "logprob": math.log(p * 0.25)},
            {"token": "No", "logprob": math.log(1 - p)},
        ]


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            server.now += 1
            server.most = max(server.most, server.now)
            server.keys.add(self.headers.get("Authorization"))
            failure = server.failures.pop(0) if server.failures else None
            if failure is None and server.after and len(server.requests) >= server.after[0]:
                failure = (server.after[1], "no more")
            if failure is None:
                server.requests.append(body)
        server.together.wait(600)
        with server.lock:
            server.now -= 1
        if failure is None:
            self.reply(200, self.completion(body))
        else:
            # An endpoint that repeats the caller's headers must not get the key into our messages.
            self.reply(failure[0], {"error": {"message": f"{failure[1]} {self.headers['Authorization']}"}})

    def completion(self, body: dict) -> dict:
        if "prompt_logprobs" in body:
            return self.prompt(body)
        picture, text = body["messages"][0]["content"]
        listed = self.server.answer(picture["image_url"]["url"], text["text"])
        logprobs = None
        if listed is not None:
            content = [{**listed[0], "bytes": None, "top_logprobs": [{**t, "bytes": None} for t in listed]}]
            logprobs = {"content": content, "refusal": None}
        message = {"role": "assistant", "content": "Yes"}
        choice = {"index": 0, "finish_reason": "length", "message": message, "logprobs": logprobs}
        return {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}

    def prompt(self, body: dict) -> dict:
        """As vLLM repeats its prompt: a token per word, with its log-probability; none for the first."""
        url = body["messages"][0]["content"][0]["image_url"]["url"]
        words = ["<s>", "USER:", "<image>", "ASSISTANT:"]
        if len(body["messages"]) == 2:
            assert body["continue_final_message"] and not body["add_generation_prompt"]
            words += body["messages"][1]["content"].split()
        listed = [
            {
                str(zlib.crc32(word.encode())): {
                    "logprob": word_log_prob(url, word),
                    "rank": 1,
                    "decoded_token": word,
                }
            }
            for word in words
        ]
        found = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": []}
        return (
            found
            if self.server.without_prompts
            else {
                **found,
                "prompt_logprobs": self.server.change_prompt([None, *listed[1:]]),
            }
        )

    def reply(self, status: int, body: dict) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("retry-after-ms", "5")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving() -> Iterator[Endpoint]:
    """The server while it is up."""
    server = Endpoint()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
