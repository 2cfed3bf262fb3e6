"""Scores of a model behind an OpenAI-compatible endpoint that returns log-probabilities.

VQAScore of GPT-4.1 or of a local vLLM server (`api:MODEL`), VisualGPTScore of a server that gives the log-probabilities
of its prompt's tokens, as vLLM does (`vgpt:api:MODEL`). Needs the extra `api` (the official client). The key goes to
the client and nowhere else: it is in no attribute of the scorer, no cache key, no log line and no error.
"""

from __future__ import annotations

import base64
import hashlib
import io
import math
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import takewhile
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

import numpy as np
from PIL import Image

from core.base.errors import InputError
from core.groups import ImageRef
from core.scorers.base import ScoredRows, StreamingScorer
from core.scorers.score_kinds import QUESTION
from core.scorers.score_options import ScoreOptions

PUBLIC = "https://api.openai.com/v1"
# Read where no argument is given: first Crossmatch's own name, then the official client's.
_KEY_VARIABLES = ("CROSSMATCH_API_KEY", "OPENAI_API_KEY")
_BASE_VARIABLES = ("CROSSMATCH_API_BASE", "OPENAI_BASE_URL")
_TOP = 20  # alternatives asked for; the most that OpenAI and vLLM give by default
_MOST_LOG_PROB = 1e-3  # that a log-probability may be, for the sake of rounding
_LARGEST_SIDE = 2048  # pixels; endpoints shrink larger images anyway
_LOCAL = {"localhost", "127.0.0.1", "::1"}


def endpoint_state() -> str:
    """`found at ADDRESS`, or `needs: ` and the next step, as the environment says; nothing is called."""
    base = _from_environment(_BASE_VARIABLES)
    if base or _from_environment(_KEY_VARIABLES):
        return f"found at {urlsplit(base or PUBLIC).hostname}"
    return f"needs: set {_KEY_VARIABLES[1]}, or {_BASE_VARIABLES[0]} for a server of your own"


class CallEstimate(NamedTuple):
    """What scoring will take. cost : in the prices' currency; None without prices. Tokens are rough (4 bytes each)."""

    calls: int
    tokens_in: int
    tokens_out: int
    cost: float | None


class ApiScorer(StreamingScorer):
    """P("Yes") of a served model, float32 in [0, 1]. Answers come as a stream, so a cache can resume a broken run.

    P sums the listed first tokens that read "yes" in any case. Where none of the 20 listed ones does, P is only known
    to be at most the smallest listed one and at most the unlisted rest: that bound is taken, and a warning counts them.
    """

    label = "VQAScore of a served model"
    form = QUESTION  # what is sent with the image; {caption} stands for the caption

    def __init__(
        self,
        name: str,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        concurrency: int = 8,
        retries: int = 6,
        timeout: float = 60.0,
    ) -> None:
        """`base_url` and `api_key` default to the environment's; a server on this machine needs no key.

        retries : of one call, after time-outs, lost connections, rate limits and server errors, with growing pauses.
        Raises InputError where the client is not installed, the key is missing, or it would travel unencrypted.
        """
        self.name, self.model, self.concurrency = name, model, concurrency
        self.base_url = (base_url or _from_environment(_BASE_VARIABLES) or PUBLIC).rstrip("/")
        # A key that is kept for one provider is not sent to another, say to a server on this machine.
        known = self.base_url in (PUBLIC, os.environ.get(_BASE_VARIABLES[1], "").rstrip("/"))
        secret = api_key or _from_environment(_KEY_VARIABLES if known else _KEY_VARIABLES[:1])
        self._ask, self._safe = _client(self.base_url, secret, retries, timeout)
        self.bounded = 0  # answers of the last run that list no "yes"

    def take(self, options: ScoreOptions) -> None:
        """Have a twin ask another question, the one option of its score."""
        self.form = options["question"]

    def _text(self, caption: str) -> str:
        """What is sent with an image about a caption."""
        return self.form.replace("{caption}", caption)

    @property
    def host(self) -> str:
        """The endpoint's host and port, without anything secret."""
        parts = urlsplit(self.base_url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)

    @property
    def key(self) -> str:
        """Hash of endpoint, model and question. A provider may change a model behind its name: prefer dated names."""
        path = urlsplit(self.base_url).path
        return hashlib.sha256(f"api 1 {self.host}{path} {self.model} {self.form}".encode()).hexdigest()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r} at {self.host})"

    def __reduce__(self) -> Any:
        raise TypeError(
            f"An {type(self).__name__} holds a connection and is not pickled; create a new one from the environment."
        )

    def __copy__(self) -> Self:
        """A twin over the same connection."""
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        return twin

    def describe(self) -> str:
        """One line for people."""
        return f"{self.model} at {self.host}, {self.concurrency} calls at a time"

    def estimate(
        self,
        images: Sequence[ImageRef],
        captions: Sequence[str],
        pairs: np.ndarray,
        price_in: float | None = None,
        price_out: float | None = None,
    ) -> CallEstimate:
        """Calls, tokens and, with prices per million tokens, the cost of `score` with the same arguments.

        Retries come on top; pairs that a cache holds already do not. Images count as in OpenAI's rule for GPT-4o and
        GPT-4.1 (85 + 170 for each tile of 512 pixels, the shorter side shrunk to 768), from a sample of 20.
        """
        index = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        text = sum(len(self._text(captions[j]).encode()) / 4 + 10 for j in index[:, 1])
        sample = np.unique(index[:, 0])[:20]
        picture = np.mean([_image_tokens(images[i].open().size) for i in sample]) if len(sample) else 0
        tokens_in, tokens_out = round(text + len(index) * float(picture)), len(index)
        cost = None
        if price_in is not None and price_out is not None:
            cost = (tokens_in * price_in + tokens_out * price_out) / 1e6
        return CallEstimate(len(index), tokens_in, tokens_out, cost)

    def stream(
        self, images: Sequence[ImageRef], captions: Sequence[str], pairs: np.ndarray
    ) -> Iterator[ScoredRows]:
        """As `score`, as answers come; after a failure, those in flight still come, and then the endpoint's refusal."""
        index = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        self.bounded = 0
        failure: Exception | None = None
        with ThreadPoolExecutor(self.concurrency) as pool:
            calls = self._calls(images, captions, index)
            waiting: dict[Future, int] = {}
            while True:
                while failure is None and len(waiting) < 2 * self.concurrency and (call := next(calls, None)):
                    waiting[pool.submit(self._answer, *call[1:])] = call[0]
                if not waiting:
                    break
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    row = waiting.pop(future)
                    if error := future.exception():
                        failure = failure or error  # type: ignore[assignment]
                        continue
                    value, exact = future.result()
                    self.bounded += not exact
                    yield np.array([row]), np.array([value], dtype=np.float32)
        if failure is not None:
            raise failure
        if self.bounded:
            warnings.warn(
                f'{self.bounded} of {len(index)} answers of {self.model} do not list "yes" among their {_TOP} '
                "likeliest tokens; their score is an upper bound.",
                stacklevel=2,
            )

    def _calls(
        self, images: Sequence[ImageRef], captions: Sequence[str], index: np.ndarray
    ) -> Iterator[tuple[int, str, str]]:
        """Row, image and text of every pair; each image is encoded once."""
        for i in np.unique(index[:, 0]):
            picture = _data_url(images[i].open())
            for row in np.flatnonzero(index[:, 0] == i):
                yield int(row), picture, self._text(captions[index[row, 1]])

    def _answer(self, picture: str, question: str) -> tuple[float, bool]:
        """P("Yes"), and whether it is exact rather than a bound."""
        content = [_shown(picture), {"type": "text", "text": question}]
        answer = self._asked([{"role": "user", "content": content}], logprobs=True, top_logprobs=_TOP)
        try:
            listed = {
                top.token: float(top.logprob) for top in answer.choices[0].logprobs.content[0].top_logprobs
            }
        except (AttributeError, IndexError, TypeError, ValueError):
            listed = {}
        if not listed:
            raise InputError(
                f"{self.model} at {self.host} returns no log-probabilities; choose a model that does."
            )
        for value in listed.values():
            if not value <= _MOST_LOG_PROB:  # NaN is not, either
                raise InputError(
                    f"{self.model} at {self.host} gives {value} as a log-probability; it is a number, at most 0: see "
                    "what serves the model."
                )
        return _yes_probability(listed)

    def _asked(self, messages: list[dict[str, Any]], **more: Any) -> Any:
        """What the endpoint replies to a conversation; raises its refusal as one sentence."""
        try:
            return self._ask(
                model=self.model, messages=messages, max_completion_tokens=1, temperature=0, **more
            )
        except Exception as error:  # the client's own families of errors, and those of its HTTP library
            raise InputError(self._sentence(error)) from None

    def _sentence(self, error: Exception) -> str:
        """What went wrong, without anything secret."""
        status = getattr(error, "status_code", None)
        where = f"{self.model} at {self.host}"
        if status in (401, 403):
            return f"{self.host} refused the key for {self.model}; check {_KEY_VARIABLES[0]} and what it may use."
        if status == 404:
            return f"{self.host} has no model {self.model!r}; check its name and the address ({_BASE_VARIABLES[0]})."
        if status == 429:
            return (
                f"{where} still refuses after several tries (rate limit or no credit left); try again later."
            )
        if status is None:
            return f"{where} cannot be reached ({type(error).__name__}); check {_BASE_VARIABLES[0]} and the connection."
        return f"{where} answered with error {status} ({self._safe(str(error))}); see the endpoint's documentation."


class _ApiCaptioner(ApiScorer):
    """VisualGPTScore of a served model: mean log P of the caption's tokens as its answer to the image, float32.

    The server repeats its prompt with the log-probability of each token; the tokens that the same prompt has without
    the caption do not count. One call per image besides one per pair.
    """

    label = "VisualGPTScore of a served model"
    form = "{caption}"

    def take(self, options: ScoreOptions) -> None:
        """Refuse: a server prompts its model by itself."""
        raise InputError(
            f"{self.model} is served, so its VisualGPTScore has no {next(iter(options))}= to choose."
        )

    @property
    def key(self) -> str:
        """Hash of endpoint, model and kind of score."""
        return hashlib.sha256(f"vgpt {super().key}".encode()).hexdigest()

    def _calls(
        self, images: Sequence[ImageRef], captions: Sequence[str], index: np.ndarray
    ) -> Iterator[tuple[int, str, str]]:
        # Image -> the tokens of its prompt without a caption; kept while calls with it may be under way.
        self._before: dict[str, list[tuple[str, float]]] = {}
        for row, picture, caption in super()._calls(images, captions, index):
            if picture not in self._before:
                self._before[picture] = self._prompt_tokens(picture, None)
            if len(self._before) > 2 * self.concurrency + 2:
                del self._before[next(iter(self._before))]
            yield row, picture, caption

    def _answer(self, picture: str, caption: str) -> tuple[float, bool]:
        """Mean log P of the caption's tokens, always exact."""
        before, whole = self._before[picture], self._prompt_tokens(picture, caption)
        same = sum(
            1 for _ in takewhile(lambda pair: pair[0][0] == pair[1][0], zip(before, whole, strict=False))
        )
        log_probs = [log_prob for _, log_prob in whole[same:]]
        if not log_probs:
            raise InputError(f"{self.model} has no token for the caption {caption!r}; give it other words.")
        return sum(log_probs) / len(log_probs), True

    def _prompt_tokens(self, picture: str, caption: str | None) -> list[tuple[str, float]]:
        """Each token of the prompt but the first, with its log P."""
        messages: list[dict[str, Any]] = [{"role": "user", "content": [_shown(picture)]}]
        more: dict[str, Any] = {"prompt_logprobs": 0}
        if caption is not None:
            messages.append({"role": "assistant", "content": caption})
            more |= {"add_generation_prompt": False, "continue_final_message": True}
        found = self._asked(messages, extra_body=more)
        where, instead = (
            f"{self.model} at {self.host}",
            f"serve it with vLLM, or ask api:{self.model} for VQAScore.",
        )
        try:
            listed = [
                [(name, float(each["logprob"])) for name, each in token.items()]
                for token in found.prompt_logprobs[1:]
            ]
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            listed = []
        if not all(listed) or not listed:
            raise InputError(f"{where} returns no log-probabilities of its prompt; {instead}")
        if any(len(token) > 1 for token in listed):
            raise InputError(
                f"{where} lists several candidates for a token of its prompt, and not which one it is; {instead}"
            )
        tokens = [token for (token,) in listed]
        for _, value in tokens:
            if not math.isfinite(value) or value > _MOST_LOG_PROB:
                raise InputError(
                    f"{where} gives {value} as a log-probability; it is a finite number, at most 0: see what serves "
                    "the model."
                )
        return tokens


def _shown(picture: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": picture}}


def _yes_probability(listed: dict[str, float]) -> tuple[float, bool]:
    """P("Yes") from the listed log-probabilities of first tokens, and whether it is exact; else an upper bound.

    >>> _yes_probability({"Yes": -0.5, " yes": -2.0, "No": -1.5})[0] == math.exp(-0.5) + math.exp(-2.0)
    True
    """
    chances = [math.exp(min(logprob, 0.0)) for logprob in listed.values()]
    yes = [p for token, p in zip(listed, chances, strict=True) if token.strip().lower() == "yes"]
    if yes:
        return min(1.0, sum(yes)), True
    return max(0.0, min(*chances, 1.0, 1.0 - sum(chances))), False


def _client(
    base_url: str, secret: str | None, retries: int, timeout: float
) -> tuple[Callable[..., Any], Callable[[str], str]]:
    """The call that asks a model, and a function that takes the key out of a text."""
    try:
        import openai
    except ImportError:
        raise InputError(
            'Scoring with a served model needs the official client; install it with pip install "crossmatch[api]".'
        ) from None
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(
            "The endpoint needs an address such as http://localhost:8000/v1; check the one that is set."
        )
    if secret and parts.scheme == "http" and parts.hostname not in _LOCAL:
        raise InputError(
            f"The key would travel unencrypted to {parts.hostname}; use an https address or no key."
        )
    if not secret and base_url == PUBLIC:
        raise InputError(f"Scoring with {PUBLIC} needs a key; set {_KEY_VARIABLES[0]}.")
    client = openai.OpenAI(api_key=secret or "none", base_url=base_url, max_retries=retries, timeout=timeout)

    def safe(text: str) -> str:
        line = " ".join(text.split())
        return (line.replace(secret, "***") if secret else line)[:200]

    return (lambda **request: client.chat.completions.create(**request)), safe


def address_from_environment() -> str | None:
    """The endpoint that the environment names, if any."""
    return _from_environment(_BASE_VARIABLES)


def _from_environment(names: Sequence[str]) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)


def _data_url(image: Image.Image) -> str:
    """An image as a lossless data address."""
    picture = image.convert("RGB")
    picture.thumbnail((_LARGEST_SIDE, _LARGEST_SIDE))
    data = io.BytesIO()
    picture.save(data, "PNG")
    return "data:image/png;base64," + base64.b64encode(data.getvalue()).decode()


def _image_tokens(size: tuple[int, int]) -> int:
    width, height = size
    shrink = min(1.0, _LARGEST_SIDE / max(width, height))
    shrink = min(shrink, 768 / (min(width, height) * shrink) * shrink)
    return 85 + 170 * math.ceil(width * shrink / 512) * math.ceil(height * shrink / 512)


def load(name: str, source: str, device: str = "auto", kind: str | None = None) -> ApiScorer:
    """The scorer of a served model with endpoint and key from the environment; raises InputError without them.

    kind : "vgpt" for VisualGPTScore, else VQAScore.
    """
    if not source:
        raise InputError("Give the served model's name after the colon, such as api:gpt-4.1-2025-04-14.")
    return (_ApiCaptioner if kind == "vgpt" else ApiScorer)(name, source)
