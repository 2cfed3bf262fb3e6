"""Which image-text-to-text classes of the installed transformers score exactly.

    python -m benchmarks.results.model_classes

Every class is built small with random weights and its real processor (`chat_models.py`), saved as the hub has it,
loaded by name and held to what `check` states. The table goes to benchmarks/MODEL_CLASSES.md.
"""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageDraw

from benchmarks.results import chat_models
from core.base.errors import InputError
from core.groups import BytesImage
from core.scorers._decoding import longer
from core.scorers._pairwise import joining_space
from core.scoring.load import load_scorer

TABLE = Path(__file__).parents[1] / "MODEL_CLASSES.md"
# How far a log-probability may be from that of a plain forward pass, float32.
CLOSE = 1e-5
# Scored by modules of their own and tested beside them: an encoder of questions, a Q-Former.
OWN = {"blip": "BLIP", "blip-2": "BLIP-2", "instructblip": "InstructBLIP"}
# What no small model can be made of here.
NOT_BUILT = {
    "evolla": "reads proteins, not images",
    "instructblipvideo": "reads videos, not images",
    "pi0": "moves a robot: it needs a state besides image and text",
    "mistral4": "reads no image",
    "vision-encoder-decoder": "any image encoder with any text decoder, without a processor of its own",
    "diffusion_gemma": "writes all tokens of a block at once, so no token has a probability of its own",
    "gemma3n": "its image tower has no small form in timm",
}
CAPTIONS = ("a red cube and a blue ball", "a blue ball")


def _picture(size: tuple[int, int], left: str, right: str) -> BytesImage:
    image, data = Image.new("RGB", size, (200, 200, 195)), BytesIO()
    ImageDraw.Draw(image).rectangle((4, 8, 18, 30), fill=left)
    ImageDraw.Draw(image).ellipse((22, 10, 38, 30), fill=right)
    image.save(data, "PNG")
    return BytesImage(data.getvalue(), f"{left} {right}")


IMAGES = (_picture((48, 40), "red", "blue"), _picture((40, 64), "green", "yellow"))


@dataclass(frozen=True)
class Checked:
    """What came out for a class: exact or not, and how it is scored or why it is not."""

    exact: bool
    remark: str


def check(folder: Path) -> Checked:
    """Hold the small model in a folder to the contract of a chat scorer.

    Every caption token's log P and every answer's log P("Yes") is that of a plain forward pass over the whole sequence,
    to `CLOSE`; no caption token sees a later one; the image matters, and so does which null image it is.
    """
    captioner: Any = load_scorer(f"vgpt:{folder}", "cpu")
    blind, asked = load_scorer(f"blind:{folder}", "cpu"), load_scorer(f"vqa-log:{folder}", "cpu")
    apart = max(_token_error(captioner, image, caption) for image in IMAGES for caption in CAPTIONS)
    answers = max(_answer_error(asked, image, caption) for image in IMAGES for caption in CAPTIONS)
    first, second = (
        captioner.token_log_probs(IMAGES[0], f"a red cube and a {shape}").log_probs
        for shape in ("ball", "cone")
    )
    common = len(captioner._tokenize(["a red cube and a"])[0])
    leak = float(np.abs(first[:common] - second[:common]).max())
    one, other = captioner.score(IMAGES, CAPTIONS, np.array([(0, 0), (1, 0)]))
    nulls = captioner.null_scores(CAPTIONS[:1], 2)[:, 0]
    prior = blind.score(IMAGES, CAPTIONS, np.array([(0, 0), (0, 1)]))
    failed = [
        name
        for name, fine in {
            f"caption tokens off by {apart:.1e}": apart <= CLOSE,
            f"answers off by {answers:.1e}": answers <= CLOSE,
            f"captions see later tokens ({leak:.1e})": leak <= CLOSE,
            "the image does not matter": abs(one - other) > CLOSE,
            "null images do not matter": nulls[0] != nulls[1],
            "no prior": bool(np.isfinite(prior).all()),
        }.items()
        if not fine
    ]
    if failed:
        return Checked(False, "; ".join(failed))
    kept = {(True, True): "prefix kept", (True, False): "prefix kept for captions, questions read whole"}
    return Checked(True, kept.get((captioner.cached, asked.cached), "read whole"))


def _read(scorer: Any, image: BytesImage, text: str) -> dict[str, Any]:
    """What the processor makes of an image and a whole text."""
    more = scorer._special([text])
    if "mm_token_type_ids" in inspect.signature(scorer.module.forward).parameters:
        more["return_mm_token_type_ids"] = True
    found = dict(scorer.processor(images=image.open(), text=[text], return_tensors="pt", **more))
    found.pop("labels", None)
    return {
        k: v.float() if isinstance(v, torch.Tensor) and v.is_floating_point() else v for k, v in found.items()
    }


def _token_error(captioner: Any, image: BytesImage, caption: str) -> float:
    """How far the furthest of a caption's tokens is from a plain forward pass."""
    ids, prompt = captioner._tokenize([caption])[0], captioner.prompt()
    whole = _read(captioner, image, f"{prompt}{joining_space(prompt, captioner.tokenizer)}{caption}")
    if whole["input_ids"][0, -len(ids) :].tolist() != ids:  # a processor that ends every prompt by itself
        before = _read(captioner, image, prompt)
        start = before["input_ids"].shape[1]
        whole = {name: longer(name, tensor, start, torch.tensor(ids)) for name, tensor in before.items()}
    with torch.no_grad():
        found = captioner.module(**whole).logits[0].log_softmax(-1)[-len(ids) - 1 : -1]
    expected = found.gather(-1, torch.tensor(ids)[:, None])[:, 0].numpy()
    return float(np.abs(captioner.token_log_probs(image, caption).log_probs - expected).max())


def _answer_error(answerer: Any, image: BytesImage, caption: str) -> float:
    """How far log P of "Yes", as it is written after what the processor made, is from a plain forward pass."""
    words, inputs = answerer.tokenizer, _read(answerer, image, answerer.prompt(answerer.question(caption)))
    last = int(inputs["input_ids"][0, -1])
    bare = last in words.all_special_ids or words.decode([last])[-1:].isspace()
    yes = words("Yes" if bare else " Yes", add_special_tokens=False)["input_ids"][-1]
    with torch.no_grad():
        logits = answerer.module(**inputs).logits[0, -1]
    expected = float(logits.double().log_softmax(-1)[yes])
    return abs(float(answerer.score([image], [caption], np.array([(0, 0)]))[0]) - expected)


def classes() -> dict[str, str]:
    """Model type -> class, of the installed transformers."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

    return dict(MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES)


def checked(model_type: str, folder: Path) -> Checked:
    """Build the small model of a type in a folder and check it."""
    if model_type in OWN:
        return Checked(True, f"scored as {OWN[model_type]}, see tests/test_generative.py")
    if model_type in NOT_BUILT:
        return Checked(False, NOT_BUILT[model_type])
    try:
        chat_models.build(model_type, folder)
    except Exception as error:  # each class has its own ways to be impossible
        return Checked(False, f"not built small: {_line(error)}")
    try:
        return check(folder)
    except InputError as error:
        return Checked(False, "refused: " + re.sub(r"(\S+:)?" + re.escape(str(folder)), "NAME", _line(error)))
    except Exception as error:  # of the plain forward pass: the small model itself does not run
        return Checked(False, f"not built small: {_line(error)}")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200].replace("|", "\\|")


def rows() -> Iterator[tuple[str, str, Checked]]:
    """Type, class and what came out, for every class."""
    with TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model_type, name in classes().items():
            yield model_type, name, checked(model_type, Path(place) / model_type)


def main() -> None:
    """Write the table."""
    import transformers

    transformers.utils.logging.set_verbosity_error()
    torch.set_num_threads(1)
    found = []
    for row in rows():
        found.append(row)
        print(row[0], row[2], file=sys.stderr, flush=True)
    exact = sum(row[2].exact for row in found)
    lines = [
        "# Image-text-to-text models of transformers",
        "",
        f"What `vgpt:`, `vqa:` and `blind:` make of each of the {len(found)} classes of transformers "
        f"{transformers.__version__}: **{exact} are exact**. Every class is built small with random weights and its "
        "real processor, saved as the hub has it and loaded by name. Exact means, in float32: the log-probability of "
        "every caption token and of the answer is that of a plain forward pass of the whole sequence to "
        f"{CLOSE:g}, no caption token sees a later one, and the image and the null image matter. Written by "
        "`python -m benchmarks.results.model_classes`; the suite is `tests/test_vlm_contract.py`. SmolVLM's processor "
        "needs the package num2words, which is not installed with Crossmatch; with it SmolVLM is exact, too (prefix "
        "kept).",
        "",
        "| Model type | Class | Exact | How, or why not |",
        "|---|---|---|---|",
        *(f"| {kind} | {name} | {'yes' if c.exact else 'no'} | {c.remark} |" for kind, name, c in found),
    ]
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
