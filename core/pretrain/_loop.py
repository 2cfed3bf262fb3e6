"""The training loop of the recipes: it follows steps, never the clock, so a seed decides the weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import cos, log, pi
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch

from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, evaluate
from core.pretrain._heads import SceneHeads
from core.pretrain._layers import Batch, ForwardResult, Score
from core.pretrain._recipes import Recipe
from core.pretrain._tokens import pixels, token_ids
from core.pretrain.families import FAMILIES
from core.scenes.render import SceneImage, render_many
from core.scenes.sets import build
from core.scenes.training_data import TrainingData
from core.scenes.world import RELATIVE

Record = dict[str, Any]
Progress = Callable[[str, float], None]  # what is being done, and the share done in [0, 1]
_SCORED = 100  # groups scored at once


class _ValidationSet:
    """Groups of a set of the built-in world as a model's own tensors."""

    def __init__(self, name: str, count: int, tokenizer: Any) -> None:
        groups = build(name, "validation", count)
        m, k = groups.shape
        scenes = [i.scene for g in groups for i in g.images if isinstance(i, SceneImage)]
        pictures = render_many(scenes)
        self.images = pictures.reshape(count, m, *pictures.shape[1:])
        texts = [caption for g in groups for caption in g.captions]
        self.ids = token_ids(tokenizer, texts).reshape(count, k, -1)
        self.truth = groups.truth

    def scores(self, score: Score, module: torch.nn.Module) -> np.ndarray:
        """float32 (n, m, k)."""
        device, found = next(module.parameters()).device, []
        module.eval()
        with torch.no_grad():
            for start in range(0, len(self.images), _SCORED):
                images, ids = self.images[start : start + _SCORED], self.ids[start : start + _SCORED]
                flat = pixels(images.reshape(-1, *images.shape[2:])).to(device)
                views = flat.view(*images.shape[:2], *flat.shape[1:])
                found.append(score(module, views, torch.from_numpy(ids).to(device)).cpu())
        return torch.cat(found).float().numpy()

    def metrics(self, score: Score, module: torch.nn.Module) -> Record:
        """Each metric as value, low, high in percent."""
        assert self.truth is not None
        estimates = evaluate(self.scores(score, module), self.truth, (GROUP_SCORE, GROUP_MATCH))
        return {n: [round(x, 2) for x in (e.value, e.low, e.high)] for n, e in estimates.items()}


class Validation:
    """The recipe's validation groups, drawn once and scored again and again."""

    def __init__(self, recipe: Recipe, tokenizer: Any) -> None:
        self._scores = FAMILIES[recipe.family].scores
        self._sets = {name: _ValidationSet(name, recipe.groups, tokenizer) for name in recipe.sets}

    def __call__(self, module: torch.nn.Module) -> Record:
        """Metrics by kind of score and by set."""
        return {
            kind: {name: groups.metrics(score, module) for name, groups in self._sets.items()}
            for kind, score in self._scores.items()
        }


def train(
    recipe: Recipe,
    module: torch.nn.Module,
    data: TrainingData,
    tokenizer: Any,
    seed: int,
    steps: int,
    progress: Progress,
) -> Iterator[Record]:
    """Train `module` in place; yields a record at step 0, every `recipe.every` steps and at the last step."""
    validate = Validation(recipe, tokenizer)
    batches = _Batches(recipe, data, tokenizer, seed, next(module.parameters()).device)
    pooled = FAMILIES[recipe.family].pooled(recipe)
    heads = SceneHeads(pooled, recipe.vision.width, recipe.text.width, recipe.details_loss > 0)
    heads = heads.to(batches.device)
    adam = _adamw(module, heads, recipe)
    parameters = [p for group in adam.param_groups for p in group["params"]]
    started, losses = perf_counter(), []
    yield _record(validate(module), 0, [], started)
    for step in range(1, steps + 1):
        module.train()
        for group in adam.param_groups:
            group["lr"] = _learning_rate(recipe, step) * group["times"]
        batch, labels = batches.draw(step >= recipe.relations_from)
        forward = FAMILIES[recipe.family].loss(module, batch)
        losses.append(forward.loss.item())
        adam.zero_grad(set_to_none=True)
        (forward.loss + _auxiliary(recipe, heads, forward, labels)).backward()
        torch.nn.utils.clip_grad_norm_(parameters, recipe.clip_norm)
        adam.step()
        _limit_scale(module)
        progress(f"step {step} of {steps}, loss {losses[-1]:.3f}", step / steps)
        if step % recipe.every == 0 or step == steps:
            yield _record(validate(module), step, losses, started)
            losses = []


def _learning_rate(recipe: Recipe, step: int) -> float:
    """Linear warm-up, then half a cosine that would end at `recipe.horizon`; step counts from 1."""
    share = min(1.0, step / recipe.horizon)
    fall = recipe.lr_final + (1 - recipe.lr_final) * (1 + cos(pi * share)) / 2
    return recipe.lr * fall * min(1.0, step / recipe.warmup)


class _Labels(NamedTuple):
    """What the auxiliary losses want to know of a batch, float32."""

    objects: torch.Tensor  # (b, colours, 6)
    caption_objects: torch.Tensor  # (b, colours, 6)
    cells: torch.Tensor  # (b, patches, labels)
    details: torch.Tensor  # (b, colours, 2)
    caption_details: torch.Tensor  # (b, colours, 2)


class _Batches:
    """Random scenes and twins with one of their captions each."""

    def __init__(
        self, recipe: Recipe, data: TrainingData, tokenizer: Any, seed: int, device: torch.device
    ) -> None:
        self.data, self.device = data, device
        self.rng = np.random.default_rng([seed, 2])
        self.pairs = recipe.pairs
        self.singles = recipe.batch - 2 * recipe.pairs
        variants = [
            token_ids(tokenizer, [texts[v] for texts in data.captions]) for v in range(recipe.data.captions)
        ]
        self.ids = np.stack(variants, axis=1)  # (images, variants, length)
        self.twins = np.arange(data.twins)
        plain = [i for i, kind in enumerate(recipe.data.kinds) if kind not in RELATIVE]
        # Those that keep their places.
        self.plain = self.twins[np.isin(self.twins % len(recipe.data.kinds), plain)]
        cells, side = data.maps.shape[1], 64 // recipe.patch
        self.fold = (side, cells // side)  # label cells are pooled to one per patch

    def draw(self, relations: bool) -> tuple[Batch, _Labels]:
        """A batch and its labels. Rows: singles, first twins, second twins. Without `relations` none tells one."""
        twins = self.twins if relations else self.plain
        first = self.data.singles + 2 * self.rng.choice(twins, self.pairs, replace=False)
        rows = np.concatenate(
            [self.rng.choice(self.data.singles, self.singles, replace=False), first, first + 1]
        )
        variants = self.ids.shape[1]
        variant = self.rng.integers(variants if relations else max(1, variants // 2), size=self.singles)
        words = self.rng.integers(variants, size=self.pairs)  # both twins in the same words
        variant = np.concatenate([variant, words, words])
        side, cell = self.fold
        maps = self.data.maps[rows].reshape(len(rows), side, cell, side, cell, -1).max(axis=(2, 4))
        cells = maps.reshape(len(rows), side * side, -1)
        data = self.data
        told = (data.details[rows], data.caption_details[rows, variant])
        labels = _Labels(
            *map(self._floats, (data.objects[rows], data.caption_objects[rows, variant], cells, *told))
        )
        ids = torch.from_numpy(self.ids[rows, variant]).to(self.device)
        return Batch(pixels(self.data.images[rows]).to(self.device), ids, self.pairs), labels

    def _floats(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array).to(self.device).float()


def _auxiliary(
    recipe: Recipe, heads: SceneHeads, forward: ForwardResult, labels: _Labels
) -> torch.Tensor | float:
    loss: torch.Tensor | float = 0.0
    if recipe.table_loss and forward.pooled is not None:
        loss = loss + recipe.table_loss * heads.table_loss(forward.pooled, labels.objects)
    if recipe.told_loss and forward.caption is not None:
        loss = loss + recipe.told_loss * heads.caption_object_loss(forward.caption, labels.caption_objects)
    if recipe.details_loss and forward.pooled is not None and forward.caption is not None:
        loss = loss + recipe.details_loss * heads.details_loss(
            forward.pooled, labels.details, forward.caption, labels.caption_details
        )
    if recipe.cell_loss and forward.patches is not None:
        loss = loss + recipe.cell_loss * heads.cell_loss(forward.patches, labels.cells)
    if recipe.words_loss and forward.words is not None:
        loss = loss + recipe.words_loss * heads.words_loss(forward.words, labels.objects)
    if recipe.agrees_loss and forward.words is not None:
        loss = loss + recipe.agrees_loss * heads.agrees_loss(
            forward.words, labels.objects, labels.caption_objects
        )
    return loss


def _adamw(module: torch.nn.Module, heads: SceneHeads, recipe: Recipe) -> torch.optim.AdamW:
    """Weight decay on matrices alone; the temperature has its own learning rate."""
    named = [*module.named_parameters(), *heads.named_parameters()]
    scales = [p for name, p in named if name in ("logit_scale", "logit_bias")]
    matrices = [p for name, p in named if p.ndim > 1]
    others = [p for name, p in named if p.ndim <= 1 and name not in ("logit_scale", "logit_bias")]
    groups = [
        {"params": matrices, "weight_decay": recipe.weight_decay, "times": 1.0},
        {"params": others, "weight_decay": 0.0, "times": 1.0},
        {"params": scales, "weight_decay": 0.0, "times": recipe.scale_lr},
    ]
    kept = [group for group in groups if group["params"]]
    return torch.optim.AdamW(kept, lr=recipe.lr, betas=recipe.betas, fused=True)


def _limit_scale(module: torch.nn.Module) -> None:
    """CLIP's rule: the scale of the cosine stays below 100."""
    scale = getattr(module, "logit_scale", None)
    if scale is not None:
        with torch.no_grad():
            scale.clamp_(max=log(100))


def _record(validation: Record, step: int, losses: list[float], started: float) -> Record:
    """One line of the training log."""
    loss = round(float(np.mean(losses)), 4) if losses else None
    seconds = round(perf_counter() - started, 1)
    return {"step": step, "loss": loss, "seconds": seconds, "validation": validation}


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """torch's own randomness (initial weights, dropout) from a seed, and back to what it was afterwards."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
