"""Multimodal models of sentence-transformers: `st:NAME`, the similarity of two embeddings as the library computes it.

Where the library does nothing but call the two towers of a CLIP or a SigLIP, our own classes read the same weights.
Those can be adapted, and pad SigLIP's captions as it was trained: the library pads them to the longest of a batch, so
that a caption's embedding depends on its neighbours. Needs the extra `sentence`. Remote code is never run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import torch
import transformers
from PIL import Image

from core.base.errors import InputError
from core.groups import ImageRef
from core.scorers._huggingface import CLASSES, TransformersModel
from core.scorers._input_loading import prefetch, warn_of_cut_captions
from core.scorers._memory import memory_errors
from core.scorers._model_io import (
    check_weights,
    key_while_unchanged,
    load_errors,
    replaced_files,
    weight_counts,
)
from core.scorers._pretrained import ModelParts
from core.scorers.base import ModelScorer
from core.scorers.devices import check_memory, pick_device
from core.scorers.gradient_caching import ScoringBatchSearch
from core.scorers.hub import snapshot
from core.scorers.model_folder import SENTENCE_MODULES, VOCABULARIES, model_files
from core.scorers.score_kinds import kind_key
from core.scorers.score_options import ScoreOptions

_FETCHED = ("*.json", "*.safetensors", "*.txt", "*.model", "*.jinja")
# modality -> method of a model of two towers
_TOWERS = {"text": "get_text_features", "image": "get_image_features"}
_TASKS = ("query", "document")  # prompts that a model with several routes takes as the route, too


class _Prompted(ModelScorer):
    """What both classes share: the model's own prompts, by name or word for word, as options of the score."""

    _own_key: Callable[[], str | None]  # without options
    sentence: Any
    prompts: dict[str, str]  # option -> what was asked for

    def take(self, options: ScoreOptions) -> None:
        """Change a twin by the options of its score: `prompt`, `image_prompt` and `batch`."""
        self.prompts = {name: options[name] for name in ("prompt", "image_prompt") if name in options}
        if options.batch is not None:
            self.caption_batch = self.image_batch = options.batch
        own = self._own_key

        def key() -> str | None:
            found = own()
            return found and options.key(found)

        self._key = key

    def _prompt(self, option: str) -> str | None:
        """The text that an option asks for; None for the model's default."""
        asked = self.prompts.get(option)
        return None if asked is None else self.sentence.prompts.get(asked) or asked


class SentenceModel(_Prompted):
    """Any model of the library that reads images and texts: score = its own similarity of their embeddings, float32."""

    image_batch = 16
    caption_batch = 64

    def __init__(self, name: str, sentence: Any, device: torch.device, key: Callable[[], str | None]) -> None:
        """`sentence` : the SentenceTransformer."""
        self.name, self.device, self._key, self._own_key = name, device, key, key
        self.module = self.sentence = sentence.eval()
        self.context = sentence.max_seq_length
        self.prompts = {}
        self._lock = Lock()  # fast tokenizers fail when two threads use one at once

    def _settings(self) -> str:
        return f"{super()._settings()} {sorted(self.prompts.items())}"

    def _encode_captions(self, captions: list[str]) -> torch.Tensor:
        if self.context is not None:
            longer = sum(self._is_longer(caption, self.context) for caption in captions)
            warn_of_cut_captions(self.name, longer, len(captions), self.context)
        # As dictionaries: the library takes a text that looks like the address of an image for that image.
        return self._embeddings([{"text": caption} for caption in captions], "prompt", self.caption_batch)

    def _is_longer(self, caption: str, limit: int) -> bool:
        if len(caption.encode("utf-8", "replace")) + 4 <= limit:  # no tokenizer makes more tokens than bytes
            return False
        with self._lock:
            return len(self.sentence.tokenizer(caption, verbose=False)["input_ids"]) > limit

    def _encode_images(self, images: Sequence[ImageRef]) -> Iterator[tuple[torch.Tensor, int]]:
        def opened(part: Sequence[ImageRef]) -> list[Image.Image]:
            return [image.open(None) for image in part]

        for block in prefetch(images, opened, self.image_batch):
            inputs = [{"image": picture} for picture in block]
            yield self._embeddings(inputs, "image_prompt", self.image_batch), len(block)

    def _embeddings(self, inputs: list[dict[str, Any]], option: str, size: int) -> torch.Tensor:
        """Embeddings (n, d), float32 on the CPU."""
        asked = self.prompts.get(option)
        more = {"task": asked} if asked in _TASKS else {}

        def encoded(step: int | None) -> torch.Tensor:
            with self._lock, self._scoring(), _reading(self.name):
                return self.sentence.encode(
                    inputs,
                    prompt=self._prompt(option),
                    batch_size=step or len(inputs),
                    show_progress_bar=False,
                    convert_to_tensor=True,
                    device=str(self.device),
                    **more,
                )

        found = ScoringBatchSearch(option, size).run(encoded, len(inputs))
        return found.float().cpu().clone()

    @torch.no_grad()
    def caption_similarities(self, captions: Sequence[str], pairs: np.ndarray) -> np.ndarray:
        """The library's similarities of pairs (p, 2) of captions, float32 (p,); each caption is encoded once."""
        with memory_errors(self.name):
            texts = self._encode_captions(list(captions))
        return self.sentence.similarity_pairwise(texts[pairs[:, 0]], texts[pairs[:, 1]]).float().numpy()

    @torch.no_grad()
    def _score_block(self, images: torch.Tensor, captions: torch.Tensor, index: np.ndarray) -> np.ndarray:
        pairs = torch.from_numpy(index)
        return self.sentence.similarity_pairwise(images[pairs[:, 0]], captions[pairs[:, 1]]).float().numpy()


class SentenceTowers(_Prompted, TransformersModel):
    """A model of the library that is two towers and nothing else; a class of the towers' family follows this one."""

    def of(self, sentence: Any, key: Callable[[], str | None]) -> SentenceTowers:
        """Itself with the library's model, whose prompts and settings it keeps."""
        self._own_key = key
        self.sentence, self.prompts = sentence, {}
        self.context = min(self.context, sentence.max_seq_length or self.context)
        return self

    def tokens(self, captions: list[str]) -> torch.Tensor:
        """As for any model of two towers, after the prompt."""
        prompt = self._prompt("prompt")
        if prompt is None:
            prompt = self.sentence.prompts.get(self.sentence.default_prompt_name, "")
        return super().tokens([f"{prompt}{caption}" for caption in captions])

    def take(self, options: ScoreOptions) -> None:
        """As for any model of the library; images of towers have no prompt."""
        if "image_prompt" in options:
            raise InputError(f"{self.name} has no image_prompt= to choose; its image tower reads no words.")
        super().take(options)

    def _settings(self) -> str:
        return f"{super()._settings()} {sorted(self.prompts.items())}"

    def save(self, folder: Path) -> None:
        """Write a model that the library reads, and transformers too."""
        super().save(folder)
        first = self.sentence[0]
        module = {"idx": 0, "name": "0", "path": "", "type": _class_path(first)}
        settings = {
            "model_type": "SentenceTransformer",
            "prompts": self.sentence.prompts,
            "default_prompt_name": self.sentence.default_prompt_name,
            "similarity_fn_name": self.sentence.similarity_fn_name,
        }
        with replaced_files(folder) as staging:
            first.save_config(str(staging))
            for file, value in (
                (SENTENCE_MODULES, [module]),
                ("config_sentence_transformers.json", settings),
            ):
                (staging / file).write_text(json.dumps(value, indent=2), encoding="utf-8")


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """What the library says of an input that it does not take, as one sentence."""
    try:
        yield
    except ValueError as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise InputError(f"{name} cannot read one of the inputs ({reason}); leave that one out.") from error


def load(name: str, source: str, device: str = "auto", kind: str | None = None) -> Any:
    """The scorer of a model of sentence-transformers, from a folder or the hub.

    Raises InputError, in one sentence: without the extra, for a folder without modules.json, for weights other than
    safetensors, for a model that runs code of its own, and for one that does not read both images and texts.
    """
    try:
        import sentence_transformers
    except ImportError:
        raise InputError(
            f'{name} needs the library sentence-transformers; install it with `pip install "crossmatch[sentence]"`.'
        ) from None
    folder = _folder(name, source)
    target = pick_device(device)
    places = _module_folders(folder)
    dtype = check_memory(name, _counts(places), str(target))
    key = key_while_unchanged(model_files(folder, modules=True), partial(kind_key, "st"))
    with load_errors(folder):
        transformers.utils.logging.disable_progress_bar()
        sentence = sentence_transformers.SentenceTransformer(
            str(folder),
            device=str(target),
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True, "dtype": getattr(torch, dtype)},
        )
    if not (sentence.supports("text") and sentence.supports("image")):
        reads = ", ".join(map(str, sentence.modalities))
        raise InputError(f"{name} reads {reads} and no images beside texts; choose a multimodal model.")
    family = _tower_class(sentence)
    if family is None:
        return SentenceModel(name, sentence, target, key)
    first = sentence[0]
    parts = ModelParts(name, first.auto_model, first.processor, target, key, "st")
    model = type("SentenceTowers", (SentenceTowers, family), {})(parts).of(sentence, key)
    model.check(folder)
    return model


def _folder(name: str, source: str) -> Path:
    """Where the model's files are; raises InputError for a folder of another library's model."""
    folder = Path(source).expanduser()
    if not folder.is_dir():
        folder = snapshot(source, _FETCHED, SENTENCE_MODULES)
    if not (folder / SENTENCE_MODULES).is_file():
        raise InputError(
            f"{source} has no {SENTENCE_MODULES}, so it is no model of sentence-transformers; leave st: out of {name}."
        )
    return folder


def _module_folders(folder: Path) -> list[Path]:
    """The folders of a model's modules; raises InputError for weights that could run code, and for missing words."""
    try:
        listed = json.loads((folder / SENTENCE_MODULES).read_text(encoding="utf-8"))
        places = list(dict.fromkeys(folder / str(module["path"]) for module in listed))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            f"{folder / SENTENCE_MODULES} is no list of modules; fetch the model again."
        ) from None
    for place in places:
        if any(place.glob("*.bin")) or any(place.glob("*.safetensors.index.json")):
            check_weights(place)
    if not any((place / file).is_file() for place in (folder, *places) for file in VOCABULARIES):
        raise InputError(f"{folder} has no tokenizer ({', '.join(VOCABULARIES)}); fetch the model again.")
    return places


def _counts(places: Sequence[Path]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for place in places:
        for dtype, count in weight_counts(place).items():
            counts[dtype] = counts.get(dtype, 0) + count
    return counts


def _tower_class(sentence: Any) -> type[TransformersModel] | None:
    """Our class for a model that is two towers and nothing that changes a cosine; None for any other."""
    first, rest = sentence[0], [type(module).__name__ for module in list(sentence)[1:]]
    methods = {
        modality: settings.get("method")
        for modality, settings in getattr(first, "modality_config", {}).items()
    }
    cosine = sentence.similarity_fn_name in (None, "cosine") and sentence.truncate_dim is None
    if methods != _TOWERS or set(rest) - {"Normalize"} or not cosine:
        return None
    found = CLASSES.get(str(getattr(first.config, "model_type", "")))
    return found and found[0]


def _class_path(module: Any) -> str:
    return f"{type(module).__module__}.{type(module).__qualname__}"
