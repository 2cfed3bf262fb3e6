"""Test-time matching in one file: the whole algorithm in plain torch and transformers. Read this first.

    python examples/mini_ttm.py            # the built-in CLIP on scenes/left-right, half a minute on two quiet cores

A group holds m images and k captions, m <= k; which belongs to which is hidden from the model. Only few matchings are
possible inside a group, so the likeliest is right more often than single scores are, and the more so the wider its
margin. Test-time matching trains the model on its own surest matchings, scores everything again, and goes on with a
lower threshold, without a label (Zhu, Zhang, Tang: "Test-Time Matching", section 3 and Algorithm 1).

`core/ttm/loop.py` selects and learns the same (`tests/test_mini_ttm.py`) with every shape, model and variant, and can
be resumed. Of Crossmatch only `core.datasets` is used here, in `main`: the built-in scenes must be drawn.
"""

import argparse
from collections.abc import Iterator
from itertools import permutations
from math import ceil, cos, pi
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image
from transformers import AutoModel, AutoProcessor


class Step(NamedTuple):  # what one iteration did; iteration 0 is the model before
    iteration: int
    threshold: float
    selected: np.ndarray  # (n,) bool, the groups that were trained on
    matching: np.ndarray  # (n, m) the pseudo-labels: the caption of every image
    losses: list[float]
    scores: np.ndarray  # (n, m, k) after training


def prepare(processor: Any, images: list[list[Image.Image]], captions: list[Any]) -> tuple[Any, Any]:
    """Pixels (n, m, 3, H, W) and token ids (n, k, length) of n groups, made once."""
    pictures = [image for group in images for image in group]
    pixels = processor.image_processor(pictures, return_tensors="pt")["pixel_values"]
    # SigLIP was trained on captions that are padded to one length; of CLIP's, nothing after their end matters.
    padding = "max_length" if "siglip" in type(processor).__name__.lower() else True
    texts = [text for group in captions for text in group]
    ids = processor.tokenizer(texts, padding=padding, truncation=True, return_tensors="pt")["input_ids"]
    return pixels.unflatten(0, (-1, len(images[0]))), ids.unflatten(0, (-1, len(captions[0])))


@torch.no_grad()
def score(model: Any, pixels: torch.Tensor, ids: torch.Tensor, at_once: int = 32) -> np.ndarray:
    """Every image with every caption of its group, by the model's own logits: (n, m, k)."""
    model.eval()
    parts = []
    for p, c in zip(pixels.split(at_once), ids.split(at_once), strict=True):
        logits = model(pixel_values=p.flatten(0, 1), input_ids=c.flatten(0, 1)).logits_per_image
        own = torch.arange(len(p))
        parts.append(
            logits.unflatten(1, c.shape[:2]).unflatten(0, p.shape[:2])[own, :, own]
        )  # of (b, m, b, k)
    return torch.cat(parts).numpy()


def induce(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The matching (n, m) with the highest total score of each group, and its margin (n,) over the second best."""
    _, m, k = scores.shape
    candidates = np.array(list(permutations(range(k), m)))  # every injective map from images to captions
    totals = scores[:, np.arange(m), candidates].sum(axis=2, dtype=np.float64)  # (n, candidates)
    second, best = np.sort(totals, axis=1)[:, -2:].T
    return candidates[totals.argmax(axis=1)], best - second


def train(model: Any, pixels: Any, ids: Any, matching: Any, groups: Any, how: Any, t: int) -> list[float]:
    """Fit the model to the matchings of some groups with its own contrastive loss; the loss of every step."""
    start = how.lr * 0.95 ** (t - 1)
    adam = torch.optim.AdamW(model.parameters(), lr=start, betas=(0.9, 0.999), weight_decay=0.05)
    steps, losses = how.epochs * ceil(len(groups) / how.batch), []
    model.train()
    for epoch in range(how.epochs):
        seed = np.random.SeedSequence((how.seed, t, epoch + 1)).generate_state(1)[0]
        order = torch.randperm(len(groups), generator=torch.Generator().manual_seed(int(seed)))
        for part in order.split(how.batch):
            part = groups[part.numpy()]  # whole groups: both images of a pair share a batch
            done = len(losses) / max(steps - 1, 1)
            adam.param_groups[0]["lr"] = start * (0.1 + 0.9 * (1 + cos(pi * done)) / 2)  # down to a tenth
            captions = ids[part[:, None], matching[part]]  # (b, m, length): the caption of each image
            inputs = {"pixel_values": pixels[part].flatten(0, 1), "input_ids": captions.flatten(0, 1)}
            loss = model(**inputs, return_loss=True).loss
            loss.backward()
            adam.step()
            adam.zero_grad()
            losses.append(loss.item())
    return losses


def test_time_matching(model: Any, pixels: torch.Tensor, ids: torch.Tensor, how: Any) -> Iterator[Step]:
    """Algorithm 1: match, keep the surest, train on them, and again with a lower threshold. `model` is adapted.

    how : iterations, coverage (share of the groups that the first threshold selects), epochs, lr, batch, seed.
    """
    scores = score(model, pixels, ids)
    matching, margin = induce(scores)
    yield Step(0, np.nan, np.zeros(len(margin), bool), matching, [], scores)
    first = np.sort(margin)[-max(int(how.coverage * len(margin)), 1)]
    for t, threshold in enumerate(np.linspace(first, 0, how.iterations), start=1):
        # A margin of 0 is a tie: it says nothing, and to pick one of the two could favour the order of the file.
        selected = (margin >= threshold) & (margin > 0)
        rows = np.flatnonzero(selected)
        losses = train(model, pixels, ids, matching, rows, how, t) if len(rows) else []
        scores, labels = score(model, pixels, ids), matching
        matching, margin = induce(scores)
        yield Step(t, float(threshold), selected, labels, losses, scores)


def accuracies(scores: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """GroupScore and GroupMatch in percent: the only place that knows what is right. Ties count as wrong.

    GroupScore: every image's own caption is its highest and, in square groups, every caption's own image too.
    """
    m, k = scores.shape[1:]
    own = np.take_along_axis(scores, truth[:, :, None], axis=2)  # (n, m, 1)
    strict = ((scores >= own).sum(axis=2) == 1).all(axis=1)
    if m == k:
        columns = np.take_along_axis(scores, truth[:, None, :], axis=2)  # (n, m, m): of image i's caption
        strict &= ((columns >= np.swapaxes(own, 1, 2)).sum(axis=1) == 1).all(axis=1)
    matching, margin = induce(scores)
    matched = (matching == truth).all(axis=1) & (margin > 0)
    return 100 * float(strict.mean()), 100 * float(matched.mean())


def main() -> None:
    ask = argparse.ArgumentParser(description="Test-time matching of a CLIP or SigLIP model.")
    defaults: dict[str, Any] = {"model": str(Path(__file__).parents[1] / "assets/models/clip")}
    defaults |= {"benchmark": "scenes/left-right", "iterations": 5, "epochs": 5, "batch": 50, "seed": 0}
    defaults |= {"lr": 3e-4, "coverage": 0.2}
    for name, value in defaults.items():
        ask.add_argument(f"--{name}", type=type(value), default=value, help=f"default: {value}")
    how = ask.parse_args()
    from core.datasets import load

    groups = load(how.benchmark)
    images = [[image.open() for image in group.images] for group in groups.groups]
    captions = [group.captions for group in groups.groups]
    pixels, ids = prepare(AutoProcessor.from_pretrained(how.model), images, captions)
    model = AutoModel.from_pretrained(how.model, dtype=torch.float32)
    for step in test_time_matching(model, pixels, ids, how):
        strict, matched = accuracies(step.scores, groups.truth)
        trained = f"iteration {step.iteration}, trained on {step.selected.sum()} groups:"
        print(f"{trained} GroupScore {strict:.1f} %, GroupMatch {matched:.1f} %", flush=True)


if __name__ == "__main__":
    main()
