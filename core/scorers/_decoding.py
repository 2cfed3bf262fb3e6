"""Decoder-only models: what is read once is kept as keys and values, and continued by any number of texts."""

from __future__ import annotations

import inspect
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from itertools import chain, takewhile
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image
from transformers.modeling_outputs import BaseModelOutput

from core.base.errors import InputError
from core.groups import ImageRef
from core.scorers._input_loading import prefetch
from core.scorers._memory import is_out_of_memory
from core.scorers._pairwise import ImageInput, PairScorer, token_log_probs
from core.scorers._pretrained import ModelParts
from core.scorers.gradient_caching import ScoringBatchSearch
from core.scorers.null_images import NullImage

# Bytes that the repeated keys and values of one batch may take.
_CACHE_BUDGET = 1 << 30
# How far cached and plain scoring of one text may differ before the cache is given up, by type of the weights.
_TOLERANCE = {torch.float32: 1e-3, torch.float16: 0.1, torch.bfloat16: 0.3}


class Prefix(NamedTuple):
    """What a model has read: keys and values or states (n images), logits of the next token (n, vocabulary).

    positions : parts of the module that keep how far the image moved the positions of the text after it (Qwen-VL and
    its kin), and that. inputs : the tensors that were read of each image, for plain scoring. asked : what follows is
    still the question, not the answer. rows : int64 (b,), the image that each text of a batch continues; None for a
    prefix of one image.
    """

    cache: Any
    logits: torch.Tensor
    positions: list[tuple[Any, torch.Tensor]]
    inputs: list[dict[str, torch.Tensor]]
    asked: bool = False
    rows: torch.Tensor | None = None

    def chosen(self, count: int) -> torch.Tensor:
        """The image of each of `count` texts, int64 (count,)."""
        return self.logits.new_zeros(count, dtype=torch.long) if self.rows is None else self.rows


def read_prefix(module: Any, inputs: list[dict[str, torch.Tensor]], asked: bool = False) -> Prefix:
    """Read inputs of images, of the same shapes, at once and keep what later tokens attend to."""
    whole = (
        inputs[0]
        if len(inputs) == 1
        else {name: _stacked([one[name] for one in inputs]) for name in inputs[0]}
    )
    out = module(**whole, use_cache=True, **last_logits(module, 1))
    moved = ((part, getattr(part, "rope_deltas", None)) for part in module.modules())
    positions = [(part, tensor) for part, tensor in moved if isinstance(tensor, torch.Tensor)]
    return Prefix(out.past_key_values, out.logits[:, -1].float(), positions, inputs, asked)


def _stacked(parts: list[Any]) -> Any:
    """One input of several images: tensors one after the other, and so lists."""
    return torch.cat(parts) if isinstance(parts[0], torch.Tensor) else list(chain(*parts))


def last_logits(module: Any, count: int) -> dict[str, int]:
    """The argument that spares all but the last so many logits; none for a model that knows no such argument."""
    known = inspect.signature(module.forward).parameters
    return {"logits_to_keep": count} if "logits_to_keep" in known else {}


def next_logits(module: Any, prefix: Prefix, ids: torch.Tensor) -> torch.Tensor:
    """Logits of what follows each token of `ids` int64 (b, length) after a prefix, (b, length, vocabulary).

    `ids` are padded on the right and get no mask: attention is causal, so nothing that counts sees the padding behind.
    """
    rows = prefix.chosen(len(ids))
    cache = _taken(prefix.cache, rows)
    for part, moved in prefix.positions:
        part.rope_deltas = moved[rows]
    more = {}
    if (
        "cross_attention_mask" in prefix.inputs[0]
    ):  # which tiles a token sees: those that the one before it does
        last = torch.cat([one["cross_attention_mask"][:, -1:] for one in prefix.inputs])[rows]
        more["cross_attention_mask"] = last.expand(-1, ids.shape[1], *last.shape[2:])
    return module(input_ids=ids, past_key_values=cache, use_cache=True, **more).logits


def _taken(cache: Any, rows: torch.Tensor) -> Any:
    """A cache of the images `rows` of another, which stays as it is: no tensor is copied twice."""
    own = copy(cache)
    own.layers = [copy(layer) for layer in cache.layers]
    for layer in own.layers:  # states of convolutions and of linear attention are kept by number
        vars(layer).update(
            {name: dict(value) for name, value in vars(layer).items() if isinstance(value, dict)}
        )
    own.reorder_cache(rows)
    return own


def plain_logits(module: Any, prefix: Prefix, ids: torch.Tensor) -> torch.Tensor:
    """The same without the kept prefix, one text at a time: everything is read again."""
    found = []
    for row, image in zip(ids, prefix.chosen(len(ids)).tolist(), strict=True):
        before = prefix.inputs[image]
        start = before["input_ids"].shape[1]
        inputs = {name: longer(name, tensor, start, row, not prefix.asked) for name, tensor in before.items()}
        found.append(module(**inputs, use_cache=False).logits[:, start:])
    return torch.cat(found)


# How logits after a prefix are computed: `next_logits` or `plain_logits`.
Follow = Callable[[Any, Prefix, torch.Tensor], torch.Tensor]


def text_log_probs(
    module: Any, prefix: Prefix, ids: torch.Tensor, follow: Follow = next_logits
) -> torch.Tensor:
    """log P of each token of `ids` (b, length), padded on the right, after a prefix: float32 (b, length)."""
    first = token_log_probs(prefix.logits[prefix.chosen(len(ids))][:, None], ids[:, :1])
    if ids.shape[1] == 1:
        return first
    return torch.cat([first, token_log_probs(follow(module, prefix, ids[:, :-1]), ids[:, 1:])], dim=1)


def longer(
    name: str, tensor: torch.Tensor, start: int, row: torch.Tensor, answer: bool = True
) -> torch.Tensor:
    """A tensor of the prefix, longer by the tokens of a text where it has a place for each token.

    answer : the text is what the model writes, not what it is asked.
    """
    if not isinstance(tensor, torch.Tensor) or tensor.shape[:2] != (1, start) or "pixel" in name:
        return tensor
    if name == "input_ids":
        more = row[None]
    elif tensor.ndim > 2:  # which images a token sees: those that the one before it does
        more = tensor[:, -1:].expand(-1, len(row), *tensor.shape[2:])
    else:
        # Where types mark no image they tell what is asked, which PaliGemma reads in both directions, from the answer.
        ones = name == "attention_mask" or (
            name == "token_type_ids" and answer and reads_both_ways({name: tensor})
        )
        more = torch.full_like(row, int(ones))[None]
    return torch.cat([tensor, more.to(tensor.dtype)], dim=1)


def _cache_bytes(cache: Any) -> int:
    """Bytes of the keys and values of a cache."""
    layers = getattr(cache, "layers", ())
    tensors = [t for layer in layers for t in (getattr(layer, "keys", None), getattr(layer, "values", None))]
    return sum(t.numel() * t.element_size() for t in tensors if isinstance(t, torch.Tensor))


class ChatScorer(PairScorer):
    """A model of transformers that reads an image inside a text with a placeholder, mostly from a chat template.

    The text up to the captions is read once for an image, then any number of continuations.
    """

    _begun: tuple[list[int], str] | None = None
    together: bool | None = None  # may several images be read at once? None until that was compared
    image_batch = 8  # images of one shape that are read at once
    asked = False  # does a caption stand in the question, or is it the answer?
    cached: bool | None = None  # may the kept prefix be used? None until it was compared with plain scoring

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts)
        found = (
            getattr(holder, field, None)
            for holder in (self.config, self.processor)
            for field in ("image_token_id", "image_token_index", "image_patch_id")
        )
        self.placeholders = {token for token in found if token is not None}
        self._check_kind()

    def _check_kind(self) -> None:
        """Raise InputError for a model that is no decoder over an image and a text."""
        known = inspect.signature(self.module.forward).parameters
        needed = [n for n, p in known.items() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
        if self.config.is_encoder_decoder or "decoder_input_ids" in known:
            why = "writes with an encoder and a decoder"
        elif needed:
            why = f"needs more than an image and a text ({', '.join(needed)})"
        elif not any("pixel" in name or "patches" in name for name in known):
            why = "reads no image"
        else:
            return
        raise InputError(
            f"{self.name} ({self.config.model_type}) {why}, which Crossmatch cannot score; choose a chat model."
        )

    def _encode_images(self, images: Sequence[ImageRef]) -> Iterator[tuple[list[ImageInput], int]]:
        """The images opened, in blocks that are read together as far as their inputs are of one shape."""

        def opened(part: Sequence[ImageRef]) -> list[ImageInput]:
            return [image if isinstance(image, NullImage) else image.open(self.side) for image in part]

        return ((block, len(block)) for block in prefetch(images, opened, self.image_batch))

    def _score_block(
        self, images: list[ImageInput], captions: Sequence[Any], index: np.ndarray
    ) -> np.ndarray:
        """Scores of a block of images with some captions."""
        with self._scoring(), self._prompted():
            heads = [self._head(image) for image in images]
        return self._score_heads(heads, captions, index)

    def _score_heads(
        self, heads: list[dict[str, torch.Tensor]], captions: Sequence[Any], index: np.ndarray
    ) -> np.ndarray:
        """The same of images as they are read; pairs of any images share a batch, by length of the text."""
        values = np.empty(len(index), dtype=np.float32)
        search = ScoringBatchSearch("images", self.image_batch)
        with self._scoring():
            groups = _of_one_shape(heads)
            alone = [[i] for i in range(len(heads))]
            for group in search.run(
                lambda size: groups if size != 1 and self._read_together(heads, groups) else alone, len(heads)
            ):

                def score(size: int | None, group: list[int] = group) -> None:
                    step = size or len(group)
                    for start in range(0, len(group), step):
                        part = group[start : start + step]
                        self._score_together([heads[i] for i in part], part, captions, index, values)

                search.run(score, len(group))
        self.image_batch = search.size or self.image_batch  # what fits is kept for the images to come
        return values

    def _read_together(self, heads: list[dict[str, torch.Tensor]], groups: list[list[int]]) -> bool:
        """Whether several images may be read at once: compared with each alone, once per model, on two of one shape."""
        pair = next(([heads[i] for i in group[:2]] for group in groups if len(group) > 1), None)
        if self.together is None and pair is not None:
            alone = torch.cat([self._read([head]).logits for head in pair]).log_softmax(-1)
            try:
                both = read_prefix(self.module, pair, self.asked).logits.log_softmax(-1)
                close = float((both - alone).abs().max()) <= _TOLERANCE.get(self.module.dtype, 1e-3)
            except (RuntimeError, ValueError, TypeError, IndexError) as error:
                if is_out_of_memory(error):
                    raise
                close = False  # a model that reads one image at a time
            self.together = close
        return self.together is not False

    def _score_together(
        self,
        heads: list[dict[str, torch.Tensor]],
        images: list[int],
        captions: Sequence[Any],
        index: np.ndarray,
        values: np.ndarray,
    ) -> None:
        """Fill in the scores of the pairs of some images, whose inputs are of one shape."""
        prefix = self._read(heads)
        pairs = np.flatnonzero(np.isin(index[:, 0], images))
        order = pairs[np.argsort([len(captions[j]) for j in index[pairs, 1]], kind="stable")]
        place = {image: row for row, image in enumerate(images)}
        search = ScoringBatchSearch("captions", self.caption_batch)

        def score(size: int | None) -> None:
            step = min(size or len(order), self._room(prefix))
            for start in range(0, len(order), step):
                part = order[start : start + step]
                rows = torch.tensor([place[i] for i in index[part, 0]], device=self.device)
                texts = [captions[j] for j in index[part, 1]]
                scores = self._score_pairs(prefix._replace(rows=rows), texts)
                values[part] = scores.float().cpu().numpy()

        search.run(score, min(self._room(prefix), len(order)))
        self.caption_batch = search.size or self.caption_batch

    def _read(self, heads: list[dict[str, torch.Tensor]]) -> Prefix:
        with self._prompted():
            return read_prefix(self.module, heads, self.asked)

    def _room(self, encoded: Prefix) -> int:
        each = _cache_bytes(encoded.cache) // len(encoded.inputs)
        return max(1, min(self.caption_batch, _CACHE_BUDGET // max(1, each)))

    def _follow(self, module: Any, encoded: Prefix, ids: torch.Tensor) -> torch.Tensor:
        """`next_logits`, or `plain_logits` for a model that does not continue a cache as it should."""
        if self.cached is None:
            self.cached = self._agrees(encoded, ids)
        return (next_logits if self.cached else plain_logits)(module, encoded, ids)

    def _agrees(self, encoded: Prefix, ids: torch.Tensor) -> bool:
        """Compare the two, once per model, on the first and the last of some texts."""
        if encoded.asked and reads_both_ways(encoded.inputs[0]):
            return False
        ends = torch.tensor(sorted({0, len(ids) - 1}), device=ids.device)
        ids, encoded = ids[ends], encoded._replace(rows=encoded.chosen(len(ids))[ends])
        other = plain_logits(self.module, encoded, ids).float().log_softmax(-1)
        chosen = other.argmax(dim=-1, keepdim=True)
        try:
            one = next_logits(self.module, encoded, ids).float().log_softmax(-1)
            apart = float((one - other).gather(-1, chosen).abs().max())
        except (
            RuntimeError,
            ValueError,
            TypeError,
            AttributeError,
            IndexError,
            KeyError,
            NotImplementedError,
        ) as error:
            if is_out_of_memory(error):  # fewer texts at a time
                raise
            apart = float("inf")  # a cache that cannot be repeated or continued
        if apart <= _TOLERANCE.get(self.module.dtype, 1e-3):
            return True
        warnings.warn(
            f"{self.name} gives other scores with a kept prefix than without; it is scored without, which is slower.",
            stacklevel=2,
        )
        return False

    def prompt(self, question: str | None = None) -> str:
        """The text around the image: the model's chat template, or the image alone for a model without one.

        question : what the user asks; None leaves the answer to begin right after the image ([VGPT] appendix D).
        """
        content: list[dict[str, str]] = [{"type": "image"}]
        if question is not None:
            content.append({"type": "text", "text": question})
        messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
        if system := _SYSTEMS.get(self.config.model_type):
            messages.insert(0, {"role": "system", "content": [{"type": "text", "text": system}]})
        if template := getattr(self.processor, "chat_template", None):
            # transformers warns of an argument that the template does not know
            silent = {"enable_thinking": False} if "enable_thinking" in str(template) else {}
            text = self.processor.apply_chat_template(
                messages, add_generation_prompt=True, tokenize=False, **silent
            )
            return _thought_through(text)
        token = getattr(self.processor, "image_token", None) or getattr(self.tokenizer, "image_token", None)
        if not token:
            raise InputError(
                f"{self.name} has neither a chat template nor a placeholder for images, so it cannot be prompted; "
                "choose a chat model, or put its chat_template.jinja into its folder."
            )
        return f"{token}{'' if question is None else question}"

    def _tail(self, texts: list[str]) -> list[list[int]]:
        """Token ids of prompts after all that comes before their first difference and depends on the image."""
        head, end = self._beginning_of_all(texts[0])
        found = self.tokenizer([text + end for text in texts], verbose=False, **self._special(texts))[
            "input_ids"
        ]
        if any(list(ids[: len(head)]) != head for ids in found):
            raise InputError(
                f"{self.name} puts its question before the image, so it cannot be asked; use vgpt: instead."
            )
        return [list(ids[len(head) :]) for ids in found]

    def _ended(self, text: str) -> str:
        """A prompt with what the processor adds to its end, which the model's answer follows."""
        return text + self._beginning_of_all(text)[1]

    def _beginning_of_all(self, prompt: str) -> tuple[list[int], str]:
        """`_beginning_of` any one of the prompts that are alike but for the caption, found once."""
        if self._begun is None:
            self._begun = self._beginning_of(prompt)
        return self._begun

    def _beginning_of(self, prompt: str) -> tuple[list[int], str]:
        """The tokens of a prompt up to its image, and what the processor adds to its end.

        The processor says where the image ends: it may write more than one token for it, put others around them, and
        end the prompt by itself (PaliGemma, Chameleon).
        """
        grey, special = Image.new("RGB", (self.side or 336,) * 2, (128, 128, 128)), self._special([prompt])
        with self._prompted():
            whole = self._process(grey, text=[prompt], **special)["input_ids"][0].tolist()
        images = [i for i, token in enumerate(whole) if token in self.placeholders]
        longest = len(whole) - 1 - images[-1] if images else len(whole)
        for end in ("", "\n", self.tokenizer.sep_token or ""):
            ids = list(self.tokenizer(prompt + end, verbose=False, **special)["input_ids"])
            if count := _common_end(ids, whole, longest):
                return ids[: len(ids) - count], end
        raise InputError(f"{self.name} does not end its prompt as it was written, so it cannot be asked.")

    def _process(self, image: Image.Image, **more: Any) -> dict[str, Any]:
        """As for any; with the marks of image tokens for a model that asks for them."""
        if "mm_token_type_ids" in inspect.signature(self.module.forward).parameters:
            more["return_mm_token_type_ids"] = True
        return super()._process(image, **more)

    def _special(self, texts: list[str]) -> dict[str, bool]:
        """Templates mostly write the begin token themselves; a second one is not wanted."""
        begin = self.tokenizer.bos_token
        return {"add_special_tokens": not (begin and texts and texts[0].startswith(begin))}

    @abstractmethod
    def _head(self, image: ImageInput) -> dict[str, torch.Tensor]:
        """What is read of an image before anything that depends on a caption: inputs of batch size one."""

    def _encode_image(self, image: ImageInput) -> Prefix:
        with self._prompted():
            head = self._head(image)
        return self._read([head])

    @contextmanager
    def _prompted(self) -> Iterator[None]:
        """What a processor or model says against our prompt becomes one sentence."""
        try:
            yield
        except (ValueError, TypeError, KeyError, AttributeError, IndexError, RuntimeError) as error:
            if isinstance(error, InputError) or is_out_of_memory(error):
                raise
            reason = " ".join(str(error).split())[:160].rstrip(".")
            raise InputError(
                f"{self.name} ({self.config.model_type}) does not take an image in Crossmatch's prompt: {reason}."
            ) from error

    def _beginning(self, image: ImageInput, prompt: str, tail: int) -> dict[str, torch.Tensor]:
        """The inputs of a prompt with its image, without its last `tail` tokens."""
        found = self._pixels(image, text=[prompt], **self._special([prompt]))
        found.pop("labels", None)
        length = found["input_ids"].shape[1]
        return {
            name: tensor[:, : length - tail]
            if isinstance(tensor, torch.Tensor) and tensor.shape[:2] == (1, length) and "pixel" not in name
            else tensor
            for name, tensor in found.items()
        }


def _thought_through(prompt: str) -> str:
    """A prompt whose open block of thoughts, if its template leaves one, is closed without any."""
    for begin, end in _THOUGHTS.items():
        if prompt.rstrip().endswith(begin):
            return f"{prompt.rstrip()}\n\n{end}\n\n"
    return prompt


def _of_one_shape(heads: list[dict[str, Any]]) -> list[list[int]]:
    """Places of inputs that can be read together: all their tensors have one shape but for what is stacked."""
    groups: dict[Any, list[int]] = {}
    for i, head in enumerate(heads):
        shapes = tuple(
            (name, tuple(t.shape) if isinstance(t, torch.Tensor) else i) for name, t in head.items()
        )
        groups.setdefault(shapes, []).append(i)
    return list(groups.values())


def _common_end(one: Sequence[int], other: Sequence[int], longest: int) -> int:
    """How many last tokens two texts share, at most `longest`."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return min(longest, sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)))


def reads_both_ways(inputs: dict[str, torch.Tensor]) -> bool:
    """Whether a model reads its whole question in both directions, as PaliGemma does by its token types."""
    types = inputs.get("token_type_ids")
    return types is not None and not types.any()


# What templates open and close thoughts with.
_THOUGHTS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "[THINK]": "[/THINK]",
    "\u25c1think\u25b7": "\u25c1/think\u25b7",
}

# What the model was told before every conversation of its training; [VGPT] appendix D keeps LLaVA's.
_SYSTEMS = {
    "llava": (
        "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, "
        "detailed, and polite answers to the user's questions."
    )
}


class TokenLogProbs(NamedTuple):
    """A caption token by token: their texts and their log P, float32 (m,), whose mean is the score."""

    tokens: list[str]
    log_probs: np.ndarray


def seq2seq_log_probs(language: Any, states: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """log P of each token of `ids` (b, length) by a decoder over encoder states (1, source, d): (b, length)."""
    start = language.config.decoder_start_token_id
    inputs = torch.cat([torch.full_like(ids[:, :1], start), ids[:, :-1]], dim=1)
    source = BaseModelOutput(last_hidden_state=states.expand(len(ids), -1, -1))
    out = language(encoder_outputs=source, decoder_input_ids=inputs, use_cache=False)
    return token_log_probs(out.logits, ids)
