"""Test-time matching against a direct implementation of Algorithm 1, and against what the model alone costs.

`direct` is that implementation, kept as the baseline: it decodes and transforms images every epoch, pads captions to
the model's maximum, matches and evaluates in separate passes, in float32, with plain AdamW. Groups, thresholds'
schedule, learning rates, epochs, batches and augmentation are the same. The limit is the time inside the model's
towers, loss, backward and optimizer step (`overhead.py`). Every figure is a ratio of times measured in one run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.stats import t
from torch.utils.data import DataLoader

from benchmarks.speed.overhead import MODEL, timed
from benchmarks.speed.sized import JPEG, SET, clip_b32, on_disk
from core.datasets import load
from core.groups import GroupSet
from core.matching.groups import Matches, match
from core.metrics import groups as metrics
from core.scorers._huggingface import TransformersModel
from core.scoring.load import load_scorer
from core.ttm._augmentation import jittered
from core.ttm._train import batch_size, batches, generator_for
from core.ttm.config import PRESETS, TTMConfig, thresholds
from core.ttm.loop import run_ttm

_FOLD = 16  # images or captions that the baseline scores at once


class Result(NamedTuple):
    """A run: its seconds and processor seconds, its last scores, its optimizer steps, and the model's own seconds."""

    seconds: float
    busy: float
    scores: np.ndarray
    steps: int
    inside: float = float("nan")


def measure() -> Iterator[dict[str, object]]:
    """Rows on CPU for the built-in CLIP (300 groups, from files and drawn) and for a CLIP-B/32 of random weights."""
    builtin: Any = PRESETS["builtin"].config.updated({"iterations": 3})
    model = load_scorer("builtin/clip", "cpu")
    with on_disk(300) as groups:
        yield from compare("builtin/clip, PNG files", model, groups, builtin)
    yield from compare("builtin/clip, scenes drawn on demand", model, load(SET, "test"), builtin)
    with on_disk(20, 224, JPEG) as groups:
        config = TTMConfig(iterations=1, epochs=5, batch=20, coverage_first=1.0)
        yield from compare("CLIP-B/32, random weights", clip_b32(), groups, config)


def rounds(count: int = 10) -> Iterator[dict[str, object]]:
    """The two beside each other in pairs of runs, alternating which goes first: how many times as fast, with interval.

    Two optimizer steps of 40 pairs at CLIP-B/32 size on JPEGs of 224 px, and 100 groups at the built-in size, T = 3,
    each in bfloat16 (opt-in) against the direct float32; below ten minutes on two quiet cores.
    """
    builtin: Any = PRESETS["builtin"].config.updated({"iterations": 3, "precision": "bfloat16"})
    with on_disk(100) as groups:
        yield paired("builtin/clip, PNG files", load_scorer("builtin/clip", "cpu"), groups, builtin, count)
    config = TTMConfig(iterations=1, epochs=2, batch=20, coverage_first=1.0, precision="bfloat16")
    with on_disk(20, 224, JPEG) as groups:
        yield paired("CLIP-B/32, random weights", clip_b32(), groups, config, count)


def paired(name: str, model: Any, groups: GroupSet, config: TTMConfig, count: int) -> dict[str, object]:
    """One row: the ratio of times over pairs of runs, its geometric mean and 95 % t interval, and both accuracies."""
    warm_up(model, groups)
    pairs = []
    for number in range(count):
        order = (direct, ours) if number % 2 == 0 else (ours, direct)
        runs = {run: run(model, groups, config) for run in order}
        pairs.append((runs[direct], runs[ours]))
    row: dict[str, object] = {"model": name, "rounds": count}
    for label, field in (("times as fast", "seconds"), ("times as fast by processor time", "busy")):
        row[label] = ratio_interval([getattr(a, field) / getattr(b, field) for a, b in pairs])
    plain, own = pairs[-1]
    shares = [run.inside / run.seconds for _, run in pairs]
    row["share inside the model"] = round(float(np.mean(shares)), 3)
    return row | {"direct": found(plain, groups), "crossmatch": found(own, groups)}


def ratio_interval(ratios: Sequence[float]) -> str:
    """Geometric mean of ratios with its 95 % t interval on the logarithms: `2.00 [1.90, 2.10]`."""
    logs = np.log(ratios)
    half = t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs))
    middle, low, high = np.exp([logs.mean(), logs.mean() - half, logs.mean() + half])
    return f"{middle:.2f} [{low:.2f}, {high:.2f}]"


def compare(name: str, model: Any, groups: GroupSet, config: TTMConfig) -> Iterator[dict[str, object]]:
    """One row for the baseline, and one for `run_ttm` in float32 and in bfloat16."""
    warm_up(model, groups)
    plain = direct(model, groups, config)
    yield {"model": name, "what": "direct Algorithm 1"} | times(plain) | found(plain, groups)
    for precision in ("float32", "bfloat16"):
        own = ours(model, groups, config.updated({"precision": precision}))
        # A GPU works on while the clock around a call has stopped; its limit is measured in `gpu.py`.
        on_cpu = model.device.type == "cpu"
        share = {"share of the limit": round(own.inside / own.seconds, 3)} if on_cpu else {}
        row = {"model": name, "what": f"crossmatch, {precision}"} | times(own, plain)
        yield row | share | found(own, groups)


def times(run: Result, against: Result | None = None) -> dict[str, object]:
    """Wall-clock and processor seconds, and how many times as fast as another run by each.

    Processor time hardly depends on what else the machine does; with several threads that wait for each other it does.
    """
    taken: dict[str, object] = {"seconds": round(run.seconds, 2), "processor seconds": round(run.busy, 2)}
    if against is None:
        return taken | {"threads": torch.get_num_threads()}
    fast = {"times as fast": round(against.seconds / run.seconds, 2)}
    return taken | fast | {"times as fast by processor time": round(against.busy / run.busy, 2)}


def found(run: Result, groups: GroupSet) -> dict[str, object]:
    """Accuracies of a run's last scores with 95 % intervals, chance and ties."""
    assert groups.truth is not None
    measured = metrics.evaluate(run.scores, groups.truth)
    return {
        key: f"{e.value:.1f} [{e.low:.1f}, {e.high:.1f}], chance {e.chance:.1f}, {e.ties} ties"
        for key, e in measured.items()
        if key in ("group_score", "group_match")
    } | {"steps": run.steps}


def warm_up(model: Any, groups: GroupSet) -> None:
    """What is done once per process (imports, threads, memory) is no part of either run."""
    few = groups.select(range(4))
    for precision in ("float32", "bfloat16"):
        ours(model, few, TTMConfig(iterations=1, epochs=1, batch=4, precision=precision))
    direct(model, few, TTMConfig(iterations=1, epochs=1, batch=4))


def ours(model: Any, groups: GroupSet, config: TTMConfig) -> Result:
    """`core.ttm.loop` as every command runs it."""
    started, busy, steps = perf_counter(), process_time(), 0
    with timed(*MODEL) as inside:
        for step in run_ttm(model, groups, config):
            steps += 0 if step.report is None else len(step.report.losses)
    taken = perf_counter() - started, process_time() - busy
    return Result(*taken, step.scores, steps, inside["seconds"])


# The baseline


class Pictures(torch.utils.data.Dataset):
    """Groups as a data set that opens and transforms its images whenever they are asked for."""

    def __init__(self, model: TransformersModel, groups: GroupSet, labels: np.ndarray | None) -> None:
        self.model, self.groups, self.labels = model, groups, labels

    def __len__(self) -> int:
        return len(self.groups)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Pixels (m, 3, H, W) of one group, and its captions (m or k, context), in the order of the labels if any."""
        group = self.groups[index]
        opened = [image.open(self.model.side) for image in group.images]
        pixels = self.model.processor.image_processor(opened, return_tensors="pt")["pixel_values"]
        order = range(len(group.captions)) if self.labels is None else self.labels[index]
        return pixels, tokens(self.model, [group.captions[j] for j in order])


def tokens(model: TransformersModel, captions: list[str]) -> torch.Tensor:
    settings: dict[str, Any] = {"padding": "max_length", "truncation": True, "max_length": model.context}
    return model.processor.tokenizer(captions, padding_side="right", return_tensors="pt", **settings)[
        "input_ids"
    ]


def direct(model: TransformersModel, groups: GroupSet, config: TTMConfig) -> Result:
    """Algorithm 1 of [TTM] as it is written: per iteration match all groups, train on those selected, evaluate all."""
    started, busy, steps = perf_counter(), process_time(), 0
    own, taus = model.copy(), None
    for iteration in range(1, config.iterations + 1):
        _, matches = induced(own, groups)  # match
        taus = thresholds(config, matches.margin) if taus is None else taus
        chosen = np.flatnonzero(~matches.tied & (matches.margin >= taus[iteration - 1]))
        steps += trained(own, groups, matches, chosen, config, iteration)  # train
        scores, _ = induced(own, groups)  # evaluate
    return Result(perf_counter() - started, process_time() - busy, scores, steps)


@torch.no_grad()
def induced(model: TransformersModel, groups: GroupSet) -> tuple[np.ndarray, Matches]:
    """Scores (n, m, k) of every group and the matchings that they induce."""
    model.module.eval()
    rows = []
    for pixels, ids in DataLoader(Pictures(model, groups, None), batch_size=_FOLD):
        (n, m), k = pixels.shape[:2], ids.shape[1]
        seen, read = pixels.flatten(0, 1).to(model.device), ids.flatten(0, 1).to(model.device)
        out = model.module(input_ids=read, pixel_values=seen)
        logits = out.logits_per_image.reshape(n, m, n, k)
        rows.append(logits[torch.arange(n), :, torch.arange(n)].float().cpu())
    scores = torch.cat(rows).numpy()
    return scores, match(scores)


def trained(
    model: TransformersModel,
    groups: GroupSet,
    matches: Matches,
    chosen: np.ndarray,
    config: TTMConfig,
    iteration: int,
) -> int:
    """One iteration's training; returns its optimizer steps."""
    model.module.train()
    done, size = 0, batch_size(len(groups), config.units(2))
    total = config.epochs * -(-len(chosen) // size)
    adam = torch.optim.AdamW(
        model.module.parameters(), lr=config.lr, betas=config.betas, weight_decay=config.weight_decay
    )
    data = Pictures(model, groups, matches.matching)
    for epoch in range(config.epochs):
        generator = generator_for(config.seed, iteration, epoch)
        order = batches(chosen, size, generator)
        for pixels, ids in DataLoader(data, batch_sampler=[part.tolist() for part in order]):
            for group in adam.param_groups:
                group["lr"] = config.learning_rate(iteration, done, total)
            seen, read = pixels.flatten(0, 1).to(model.device), ids.flatten(0, 1).to(model.device)
            if config.augmentation == "jitter":
                seen = jittered(seen, generator)
            model.module(input_ids=read, pixel_values=seen, return_loss=True).loss.backward()
            adam.step()
            adam.zero_grad()
            done += 1
    return done
