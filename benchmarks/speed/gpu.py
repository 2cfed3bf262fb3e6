"""The GPU part of the speed benchmarks: `python -m benchmarks gpu`. Says in one sentence where there is no GPU.

Test-time matching at the size of SigLIP-B/16 against the direct baseline, the share of the limit and of the device's
peak, and scoring from files against the bare model. The peak is the rate of large matrix products in the same run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.speed.scoring import throughput
from benchmarks.speed.sized import JPEG, on_disk, siglip_b16
from benchmarks.speed.ttm import compare
from core.scorers import gradient_caching
from core.ttm._train import _adamw
from core.ttm.config import TTMConfig

PAIRS = 100  # of a step, as in [TTM] C.1
NONE = "This machine has no CUDA GPU, so nothing was measured."


def measure(groups: int = 100, images: int = 4096, product: int = 8192) -> Iterator[dict[str, object]]:
    """Rows of the GPU part; a single row with a sentence where there is no GPU."""
    if not torch.cuda.is_available():
        yield {"note": NONE}
        return
    yield {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cores": os.cpu_count()}
    model = siglip_b16("cuda")
    with on_disk(groups, 224, JPEG) as found:
        config = TTMConfig(iterations=2, epochs=5, coverage_first=1.0)
        rows = list(compare("SigLIP-B/16, random weights", model, found, config))
        yield from rows
        for reduced, row in zip((False, True), rows[1:], strict=True):
            step: Any = step_rate(model, found, reduced, product)
            # All else a run does, scoring included, counts as overhead here.
            limit = step["milliseconds"] / 1000 * float(str(row["steps"]))
            yield step | {"share of the limit": round(limit / float(str(row["seconds"])), 3)}
    for precision in ("float32", "bfloat16"):
        model.precision = precision
        yield from throughput(f"SigLIP-B/16, {precision}, JPEG files of 224 px", model, 224, JPEG, images)


def step_rate(model: Any, groups: Any, reduced: bool, product: int, repeats: int = 20) -> dict[str, object]:
    """One training step on preloaded tensors: its seconds, floating-point operations, and their share of the peak."""
    own = model.copy()
    own.module.train()
    data = own.prepare(groups.unique_images()[0], groups.unique_captions()[0])
    index = torch.arange(min(PAIRS, len(data.pixels)))
    batch = own.batch(data, index, index)
    adam = _adamw(list(own.module.parameters()), TTMConfig(), own.device, None)

    def step() -> None:
        gradient_caching.backward(own, batch, None, reduced)
        adam.step()
        adam.zero_grad(set_to_none=True)

    with FlopCounterMode(display=False) as counter:
        step()
    taken = seconds(step, own.device, repeats)
    rate, peak = counter.get_total_flops() / taken, peak_rate(own.device, reduced, product)
    return {
        "what": f"one step of {len(index)} pairs, {'bfloat16' if reduced else 'float32'}",
        "milliseconds": round(1000 * taken, 2),
        "TFLOP": round(counter.get_total_flops() / 1e12, 3),
        "TFLOP per second": round(rate / 1e12, 2),
        "share of the peak": round(rate / peak, 3),
    }


def peak_rate(device: torch.device, reduced: bool, side: int) -> float:
    """Operations per second of a product of two square matrices."""
    dtype = torch.bfloat16 if reduced else torch.float32
    one, other = (torch.randn(side, side, device=device, dtype=dtype) for _ in range(2))
    return 2 * side**3 / seconds(lambda: one @ other, device, 10)


def seconds(work: Any, device: torch.device, repeats: int) -> float:
    """Mean seconds of some work, after two rounds that do not count."""
    for _ in range(2):
        work()
    wait(device)
    started = perf_counter()
    for _ in range(repeats):
        work()
    wait(device)
    return (perf_counter() - started) / repeats


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
