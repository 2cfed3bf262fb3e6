"""VisualGPTScore: how likely a model is to write the caption for the image, and for null images ([VGPT] 3).

Score = mean over the caption's tokens of log P(t_k | t_<k, image), float32, in log space; its exponential is the
paper's value. The tokens are those that the model's tokenizer makes of the caption, without the begin token and with
the end token where it writes one (BLIP, T5), as in the models' own training loss.
Source: [VGPT] Eq. 1, 12 and 13, appendices B and D.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
import torch

from core.base.errors import InputError
from core.groups import ImageRef
from core.scorers import api
from core.scorers._blip import BlipGroups
from core.scorers._chat import ChatLearner
from core.scorers._decoding import Prefix, TokenLogProbs, seq2seq_log_probs, text_log_probs
from core.scorers._groupwise import CaptionLearner
from core.scorers._memory import memory_errors
from core.scorers._pairwise import ImageInput, PairScorer, joining_space, token_log_probs
from core.scorers._pretrained import ModelParts, load_parts
from core.scorers.base import ScoredRows, Scorer, StreamingScorer, used_inputs
from core.scorers.hub import locate
from core.scorers.model_folder import read_config
from core.scorers.null_images import (
    DEFAULT_NULL_COUNT,
    MASS_NULL_COUNT,
    NullImage,
    blind_key,
    null_images,
    null_pixels,
)
from core.scorers.score_options import ScoreOptions

# The released BLIP checkpoints have two tokens more than BERT's vocabulary: [DEC] 30522 and [ENC] 30523.
BLIP_VOCABULARY = 30_524
# What their captioners were fine-tuned to continue, and what InstructBLIP was asked for captions.
BLIP_PROMPT = "a picture of"
_INSTRUCT_PROMPT = "A short image description."


class CaptionScorer(PairScorer):
    """VisualGPTScore of any family: `_token_log_probs` is what a family adds."""

    @abstractmethod
    def _token_log_probs(self, encoded: Any, ids: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """log P of each token given the image, and the mask of those that count, (b, length) each."""

    def take(self, options: ScoreOptions) -> None:
        """Ask for captions by another prompt, or count the end token or not."""
        super().take(options)
        if "prompt" in options:
            self._ask(options["prompt"])
        if options.get("end") == "yes" and not self._end_tokens:
            raise InputError(f"{self.name} has no end token that could count; leave end=yes out.")

    @property
    def _end_tokens(self) -> list[int]:
        """What ends a caption, if the tokenizer has it."""
        return [t for t in (self.tokenizer.eos_token_id, self.tokenizer.sep_token_id) if t is not None]

    def _ask(self, prompt: str) -> None:
        """Have this text before every caption, in place of the family's own; a language model alone has none."""

    def _texts(self, captions: list[str]) -> Sequence[list[int]]:
        """Tokens of captions with the end token, or without: as the option says, or as the tokenizer wrote them."""
        tokens, end, known = self._tokenize(captions), self._options.get("end"), self._end_tokens
        if end is None or not known:
            return tokens
        bare = [ids[:-1] if ids[-1] in known and len(ids) > 1 else ids for ids in tokens]
        return [[*ids, known[0]] for ids in bare] if end == "yes" else bare

    def _score_pairs(self, encoded: Any, captions: list[list[int]]) -> torch.Tensor:
        return mean_log_prob(*self._token_log_probs(encoded, captions))

    def token_log_probs(self, image: ImageRef, caption: str) -> TokenLogProbs:
        """Every token of a caption with its log P given the image: for a token view."""
        opened = image if isinstance(image, NullImage) else image.open(self.side)
        with memory_errors(self.name), self._scoring():
            ids = self._texts([caption])[0]
            values = self._token_log_probs(self._encode_image(opened), [ids])[0][0].float().cpu().numpy()
        return TokenLogProbs([self.tokenizer.decode([token]) for token in ids], values)

    def blind_token_log_probs(
        self, caption: str, count: int = DEFAULT_NULL_COUNT, seed: int = 0
    ) -> TokenLogProbs:
        """The same without an image: what each token adds to log P(t) from `count` null images (`prior`), their mean.

        A token is weighed on every null image by how likely that image made the tokens before it.
        """
        found = [self.token_log_probs(image, caption) for image in self.nulls(count, seed)]
        values = _sequential_log_mean(np.stack([t.log_probs for t in found]))
        return TokenLogProbs(found[0].tokens, values.astype(np.float32))

    def nulls(self, count: int = DEFAULT_NULL_COUNT, seed: int = 0) -> list[NullImage]:
        """This model's null images."""
        mean, std, _ = self._options.nulls(null_pixels(self.config.to_dict()), count)
        return null_images(count, mean, std, seed)

    def null_scores(
        self, captions: Sequence[str], count: int = DEFAULT_NULL_COUNT, seed: int = 0
    ) -> np.ndarray:
        """log P(t | null image), float32 (count, captions): what priors and their stability are made of.

        Each null image is encoded once for all captions.
        """
        pairs = np.indices((count, len(captions))).reshape(2, -1).T
        return self.score(self.nulls(count, seed), captions, pairs).reshape(count, len(captions))

    def prior(self, captions: Sequence[str], count: int = DEFAULT_NULL_COUNT, seed: int = 0) -> np.ndarray:
        """log P_train(t) of each caption from null images, float64 (captions,). Source: [VGPT] Eq. 13, appendix B."""
        return _log_mean(self.null_scores(captions, count, seed))

    def token_prior(self, captions: Sequence[str], nulls: Sequence[ImageInput]) -> np.ndarray:
        """Mean over each caption's tokens of log P(t_k | t_<k) without an image, float32 (captions,).

        nulls : images that show nothing. The mean over them is taken of every token's probability; in `prior` it is of
        the whole caption's.
        """
        with memory_errors(self.name):
            texts, found = self._encode_captions(list(captions)), np.empty(len(captions), dtype=np.float32)
        order = np.argsort([len(ids) for ids in texts], kind="stable")
        with memory_errors(self.name), self._scoring():
            blind = [self._encode_image(image) for image in nulls]
            step = min(self.caption_batch, *map(self._room, blind))
            for start in range(0, len(order), step):
                part = order[start : start + step]
                rows = [self._token_log_probs(encoded, [texts[j] for j in part]) for encoded in blind]
                tokens = torch.stack([values.double() for values, _ in rows]).logsumexp(0) - np.log(
                    len(blind)
                )
                found[part] = mean_log_prob(tokens, rows[0][1]).float().cpu().numpy()
        return found


class BlipCaptioner(CaptionScorer, BlipGroups, CaptionLearner):
    """BlipForConditionalGeneration: a text decoder with cross-attention to the image."""

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts)
        self._ask(BLIP_PROMPT if self.config.text_config.vocab_size == BLIP_VOCABULARY else "")

    def _ask(self, prompt: str) -> None:
        text, self.prompt = self.config.text_config, prompt
        prompt_ids = self.tokenizer(prompt)["input_ids"][1:-1] if prompt else []
        # The decoder was trained to begin with its own token, which transformers' `generate` puts in place, too.
        self.start = [text.bos_token_id, *prompt_ids]
        self.context = text.max_position_embeddings - len(self.start)

    def _tokenize(self, captions: list[str]) -> list[list[int]]:
        """Tokens after the begin token; the end token is one of them."""
        special = set(self.tokenizer.all_special_ids)
        return [ids[1:] if ids[0] in special and len(ids) > 1 else ids for ids in self._ids(captions)]

    def _token_log_probs(
        self, encoded: torch.Tensor, ids: list[list[int]]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        rows, mask = self._padded(ids)
        return self._row_log_probs(encoded, rows), mask

    def _paired_scores(self, states: torch.Tensor, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return mean_log_prob(self._row_log_probs(states, ids), mask)

    _read = _paired_scores

    def _row_log_probs(self, states: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """log P of each token of captions (b, length) given image states (1 or b, t, d): (b, length)."""
        inputs = torch.cat([torch.tensor([self.start] * len(rows), device=self.device), rows[:, :-1]], dim=1)
        # A batch of one image: its keys and values are computed once and broadcast over the captions.
        out = self.module.text_decoder(input_ids=inputs, encoder_hidden_states=states, use_cache=False)
        return token_log_probs(out.logits[:, len(self.start) - 1 :], rows)


class QueryScorer(PairScorer):
    """BLIP-2 and InstructBLIP: query features of an image, which a language model reads."""

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts)
        self.language = self.module.language_model
        self.decoder_only = self.config.use_decoder_only_language_model
        self.instructed = self.config.model_type == "instructblip"

    def _query_features(self, states: torch.Tensor, instructions: list[str]) -> torch.Tensor:
        """The Q-Former's queries, projected for the language model, (b, queries, d): one row per instruction.

        BLIP-2's Q-Former reads no instruction: one row for all of them.
        """
        b, inputs = len(instructions) if self.instructed else 1, {}
        queries = self.module.query_tokens.expand(b, -1, -1)
        if self.instructed:
            ids, mask = self._padded(self.processor.qformer_tokenizer(instructions)["input_ids"])
            ones = torch.ones(queries.shape[:2], dtype=mask.dtype, device=mask.device)
            inputs = {"input_ids": ids, "attention_mask": torch.cat([ones, mask], dim=1)}
        states = states.expand(b, -1, -1)
        out = self.module.qformer(query_embeds=queries, encoder_hidden_states=states, **inputs)
        found = out.last_hidden_state[:, : queries.shape[1]]
        return self.module.language_projection(found.to(self.module.language_projection.weight.dtype))


class _Blip2Captioner(QueryScorer, CaptionScorer):
    """Blip2ForConditionalGeneration and InstructBlipForConditionalGeneration."""

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts)
        self.prompt = _INSTRUCT_PROMPT if self.instructed else ""
        limit = getattr(self.language.config, "max_position_embeddings", None)
        self.context = limit - self.config.num_query_tokens - 32 if limit else None

    def _ask(self, prompt: str) -> None:
        self.prompt = prompt

    def _tokenize(self, captions: list[str]) -> list[list[int]]:
        """T5 gets its end token; OPT and Vicuna continue the prompt, so no begin token."""
        return self._ids(captions, add_special_tokens=not self.decoder_only)

    def _encode_image(self, image: ImageInput) -> Any:
        features = self._query_features(super()._encode_image(image), [self.prompt])
        ids = self.tokenizer(self.prompt)["input_ids"]
        prompt = torch.tensor([ids], dtype=torch.long, device=self.device)
        words = self.language.get_input_embeddings()(prompt)
        embeds = torch.cat([features.to(words.dtype), words], dim=1)
        if not self.decoder_only:
            return self.language.get_encoder()(inputs_embeds=embeds).last_hidden_state
        out = self.language(inputs_embeds=embeds, use_cache=True)
        return Prefix(out.past_key_values, out.logits[:, -1].float(), [], [{}])

    def _token_log_probs(self, encoded: Any, ids: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        rows, mask = self._padded(ids)
        if self.decoder_only:
            return text_log_probs(self.language, encoded, rows), mask
        return seq2seq_log_probs(self.language, encoded, rows), mask


class _ChatCaptioner(ChatLearner, CaptionScorer, CaptionLearner):
    """Any image-text-to-text model: the caption as the answer to an image without a question ([VGPT] appendix D)."""

    asked_for: str | None = None  # what the user asks, if anything

    def _ask(self, prompt: str) -> None:
        self.asked_for, self._begun = prompt, None

    def _tokenize(self, captions: list[str]) -> list[list[int]]:
        prompt = self._ended(self.prompt(self.asked_for))
        special = self._special([prompt])
        before = self.tokenizer(prompt, verbose=False, **special)["input_ids"]
        texts = [f"{prompt}{joining_space(prompt, self.tokenizer)}{caption}" for caption in captions]
        whole = self.tokenizer(texts, verbose=False, **special)["input_ids"]
        # Where prompt and caption share a token, the caption is taken by itself.
        alone = self._ids(captions, add_special_tokens=False)
        return [
            ids[len(before) :] if ids[: len(before)] == before and len(ids) > len(before) else own
            for ids, own in zip(whole, alone, strict=True)
        ]

    def _head(self, image: ImageInput) -> dict[str, torch.Tensor]:
        return self._beginning(image, self.prompt(self.asked_for), 0)

    def _learned(self, logits: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
        return token_log_probs(logits[None, :-1], row[None]).mean()

    def _token_log_probs(self, encoded: Prefix, ids: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        rows, mask = self._padded(ids)
        return text_log_probs(self.module, encoded, rows, self._follow), mask


class _NullImageScorer(StreamingScorer):
    """A score for which a captioner reads null images, each encoded once."""

    def __init__(self, captioner: CaptionScorer, name: str, count: int, seed: int = 0) -> None:
        self.captioner, self.name, self.count, self.seed = captioner, name, count, seed

    def take(self, options: ScoreOptions) -> None:
        """Change a twin by the options of its score: what its captioner is asked, and the null images."""
        self.captioner = copy(self.captioner)
        self.captioner.take(options)
        self.count = options.nulls((0.0, 1.0), self.count)[2]

    @property
    def key(self) -> str:
        """Hash of the captioner and of its null images."""
        return blind_key(self.captioner.key, self.captioner.nulls(self.count, self.seed))


class _BlindScorer(_NullImageScorer):
    """P_train(t): a captioner on null images. The image of a pair is never opened."""

    def stream(
        self, images: Sequence[ImageRef], captions: Sequence[str], pairs: np.ndarray
    ) -> Iterator[ScoredRows]:
        """log P_train(t) of each pair's caption: all rows at once."""
        _, texts, index = used_inputs(pairs)
        if len(index):
            found = self.captioner.prior([captions[j] for j in texts], self.count, self.seed)
            yield np.arange(len(index)), found[index[:, 1]].astype(np.float32)


class _MassScorer(_NullImageScorer):
    """MASS: (1/l) sum_t log p(x_t | x_<t, image) / p(x_t | x_<t), the mean PMI of a caption's tokens with the image.

    The denominator is what the captioner gives for a null image. Source: Chung et al. 2025, arXiv 2501.11469; the
    formula, the null image and the division by the length l as published summaries of the paper quote them. Which null
    image they take could not be verified here: it is one Gaussian image of this model's ([VGPT] appendix B), more by
    `?count=`; benchmarks/BASELINES.md measures grey, black, and black with white (of which the authors' earlier code,
    github.com/JiwanChung/vlis, averages the tokens' probabilities). With one it equals alpha-debiasing by that image at
    alpha = 1 ([VGPT] Eq. 7).
    """

    def stream(
        self, images: Sequence[ImageRef], captions: Sequence[str], pairs: np.ndarray
    ) -> Iterator[ScoredRows]:
        """VisualGPTScore less the tokens' mean log-likelihood without the image, block by block."""
        _, texts, index = used_inputs(pairs)
        if len(index):
            nulls = self.captioner.nulls(self.count, self.seed)
            prior = self.captioner.token_prior([captions[j] for j in texts], nulls)
            for rows, values in self.captioner.stream(images, captions, pairs):
                yield rows, values - prior[index[rows, 1]]


# Kind of score -> what makes it of a captioner, and its null images by default.
_ON_NULL_IMAGES = {"blind": (_BlindScorer, DEFAULT_NULL_COUNT), "mass": (_MassScorer, MASS_NULL_COUNT)}
_CLASSES: dict[str, tuple[type[CaptionScorer], str]] = {
    "blip": (BlipCaptioner, "BlipForConditionalGeneration"),
    "blip-2": (_Blip2Captioner, "Blip2ForConditionalGeneration"),
    "instructblip": (_Blip2Captioner, "InstructBlipForConditionalGeneration"),
}


def load(name: str, source: str, device: str = "auto", kind: str = "vgpt") -> Scorer:
    """VisualGPTScore of BLIP, BLIP-2, InstructBLIP, or any image-text-to-text model; source as `locate` takes it.

    kind : "vgpt", "blind" for the same on the paper's default of 3 null images, or "mass". Raises InputError where the
    model does not fit into memory or does not load.
    """
    if source.startswith("api:"):
        return _served(name, source.partition(":")[2], kind)
    folder = locate(source)
    model = str(read_config(folder).get("model_type", ""))
    made, auto = _CLASSES.get(model, (_ChatCaptioner, "AutoModelForImageTextToText"))
    captioner = made(load_parts(name, folder, device, kind, auto))
    if kind not in _ON_NULL_IMAGES:
        return captioner
    scorer, count = _ON_NULL_IMAGES[kind]
    return scorer(captioner, name, count)


def _served(name: str, model: str, kind: str) -> Scorer:
    if kind != "vgpt":
        raise InputError(
            f"A served model takes images as files, not as noise; score null images with vgpt:api:{model}."
        )
    return api.load(name, model, kind=kind)


def mean_log_prob(values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Mean over the tokens that count, (b,), of values (b, length)."""
    return (values * mask).sum(dim=1) / mask.sum(dim=1)


def _log_mean(log_probs: np.ndarray) -> np.ndarray:
    """The log of the mean of probabilities over images, float64: (images, ...) -> (...), [VGPT] Eq. 13."""
    return np.logaddexp.reduce(np.asarray(log_probs, dtype=np.float64), axis=0) - np.log(len(log_probs))


def _sequential_log_mean(log_probs: np.ndarray) -> np.ndarray:
    """What each token adds to log P(t) of its caption, float64 (m,), from tokens' log P given each image (images, m).

    P(t) is the mean over images of exp(mean over tokens) ([VGPT] Eq. 12, 13); the same of the first j tokens, still
    divided by m, is S_j, with S_0 = 0, and token j adds m (S_j - S_(j-1)). So the mean of all is log P(t) itself, and
    with one image every number is the token's own. None is above 0: no image makes a token likelier than certain.
    """
    log_probs = np.asarray(log_probs, dtype=np.float64)
    m = log_probs.shape[1]
    return m * np.diff(_log_mean(log_probs.cumsum(axis=1) / m), prepend=0.0)
