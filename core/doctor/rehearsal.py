"""What a model will take on a benchmark before anybody fetches or starts it: downloads, disk, memory, minutes.

Measured here, in a process of its own, on a few of the set's groups (or pictures of the usual size where the set is
not here), with the model's weights or, where those are not here, random ones of that size; then scaled to the set.
The same code scores and trains as in a run. Memory is what the process held at most.
"""

from __future__ import annotations

import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
import psutil
import torch
from PIL import Image

from core import datasets
from core.base import files, paths
from core.base.errors import InputError
from core.base.limits import _bound_own_memory, memory_left
from core.base.processes import module_command
from core.base.text import counted, duration
from core.groups import BytesImage, Group, GroupSet
from core.scorers.base import Scorer, Trainable, TwoTower
from core.scorers.devices import describe_device, pick_device
from core.scorers.gradient_caching import MicroBatchSearch
from core.scorers.score_kinds import KINDS
from core.scoring.load import load_scorer
from core.scoring.weights import weights_bytes, weights_folder
from core.ttm.config import PRESETS, TTMConfig, default_preset
from core.ttm.defaults import absolute_name
from core.ttm.loop import run_ttm
from core.ttm.time_left import REHEARSALS

_BUILDER = "core.scorers._random_weights"  # a process of its own: its memory is not what is measured
_SECONDS = 20.0  # of processor time that one part of the measurement may take, about
_STEP = 7.0  # a measured step beside one scoring of the same groups: two passes before, training, one after, about
_MOST = (
    900.0  # seconds of processor time that a step may take; where one group's takes longer, none is measured
)
_SHARE = 0.3  # of the memory that is left, for what the measured step keeps for its backward pass
_PICTURE = (500, 375)  # pixels of a picture where the set's own are not here
_SCORED = 256  # images that pass a model at once when test-time matching scores
_WORDS = [f"{a}{b}" for a in ("man", "dog", "tree", "old", "red") for b in ("", "s", "ly", "er")]
_GENERATED = 32  # groups of pictures that are made up where the set's own are not here


class _Cost(NamedTuple):
    """What some work took: seconds on the clock, of processor time, and the most memory that was held (bytes)."""

    seconds: float
    busy: float
    peak: int


class _Counts(NamedTuple):
    """What a set comes to; images, captions and pairs are distinct ones."""

    groups: int
    shape: tuple[int, int]
    images: int
    captions: int
    pairs: int
    assumed: bool  # the set is not here: its published number of groups, every picture and caption once


def rehearse(
    model: str, benchmark: str, device: str = "auto", told: Callable[[str], object] = lambda line: None
) -> dict[str, Any]:
    """A forecast for a model on a benchmark's groups on this machine, as a record for JSON.

    It takes about a minute for a model of CLIP's size, many minutes and 10 to 15 GB for one of a billion weights that
    could be trained. One group and one step are the least that is measured; a step of more than about 15 minutes is
    not.

    model, benchmark : names as everywhere. Test-time matching is that of the preset that a run starts from; its
    iteration is the longest there can be, on all groups. `notes` says what is not known. told : called with a line
    before each part that may take long.
    Raises InputError for a name that stands for nothing, and where neither weights nor the model's size are known.
    """
    name = absolute_name(model)
    source = _source(name)
    counts_known = benchmark in datasets.names() or benchmark.partition("@")[0] in datasets.names()
    if not counts_known:
        datasets.state(benchmark)  # says what there is
    here = weights_folder(name) is not None
    scratch = paths.home() / "cache"
    scratch.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=scratch, prefix="rehearsal-") as place:
        folder, spec = Path(place), {"benchmark": benchmark, "device": device, "model": name, "load": name}
        if not here:
            told(f"making random weights of the size of {source}")
            _build(source, folder, _words(benchmark))
            spec["load"] = _replaced(name, source, folder / "model")
        size = sum(path.stat().st_size for path in folder.rglob("*.safetensors")) if not here else 0
        files.write_json(folder / "spec.json", spec)
        _run("core.doctor.rehearsal", [str(folder / "spec.json"), str(folder / "found.json")], told)
        found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    found["weights"] = {"here": here, "bytes": weights_bytes(name) if here else size}
    found["data"] = datasets.state(benchmark)
    found["disk"] = {
        "needed": (0 if here else size) + found.pop("checkpoint", 0),
        "free": shutil.disk_usage(paths.home()).free,
    }
    found["memory"]["free"] = memory_left()
    if lack := _lacking(found["memory"]):
        found["notes"].append(lack)
    _note(name, benchmark, device, found)
    return found


def _lacking(memory: dict[str, int]) -> str | None:
    """What does not fit into the memory that is free, and what makes it smaller."""
    names = {"scoring": "Scoring", "ttm": "Test-time matching", "simplematch": "SimpleMatch"}
    first = next((name for key, name in names.items() if memory.get(key, 0) > memory["free"]), None)
    if first is None:
        return None
    smaller = (
        "a smaller model" if first == "Scoring" else "--micro-batch, --batch, --lora-rank or a smaller model"
    )
    return f"{first} needs more memory than is free: close other programs, or take {smaller}."


def _source(name: str) -> str:
    """A model's name without modes, kind of score and options."""
    plain = name.partition("?")[0]
    if plain.startswith(("api:", "python:", "st:", "mteb:", "lm:")):
        raise InputError(
            f"{name} cannot be rehearsed: only models of images and captions on this machine can."
        )
    while ":" in plain and not plain.startswith("open_clip:"):
        plain = plain.partition(":")[2]
    return plain


def _replaced(name: str, source: str, folder: Path) -> str:
    """The same name with a folder of random weights in the place of the model."""
    if source.startswith("open_clip:"):
        architecture = source.removeprefix("open_clip:").partition("/")[0]
        return name.replace(source, f"open_clip:{architecture}/{folder / 'open_clip_model.safetensors'}")
    return name.replace(source, str(folder))


def _words(benchmark: str) -> list[str]:
    """The words of a set's captions: entries of a vocabulary that is made up, so that captions keep their length."""
    try:
        captions = datasets.load(benchmark, images=False).unique_captions()[0]
    except InputError:  # not here
        return _WORDS
    return list(dict.fromkeys(word for caption in captions for word in re.findall(r"\w+", caption.lower())))


def _build(source: str, folder: Path, words: list[str]) -> None:
    (folder / "model").mkdir()
    (folder / "words.txt").write_text("\n".join(words), encoding="utf-8")
    try:
        _run(_BUILDER, [source, str(folder / "model"), str(folder / "words.txt")])
    except InputError as error:
        raise InputError(
            f"The weights of {source} are not here, and no model of its size can be made "
            f"({error}); fetch it with `hf download {source}`, then rehearse with it."
        ) from None


def _run(module: str, arguments: list[str], told: Callable[[str], object] = lambda line: None) -> None:
    """Run a module to its end in a process of its own, whose lines on standard output are told. Raises InputError with
    the last line of its errors."""
    command, environment = module_command(module, arguments)
    with TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process:
            for line in process.stdout or ():
                told(line.rstrip())
        if process.returncode:
            errors.seek(0)
            lines = errors.read().strip().splitlines() or [f"it ended with {process.returncode}"]
            raise InputError(" ".join(lines[-1].split()).removeprefix("core.base.errors.InputError: "))


def _note(model: str, benchmark: str, device: str, found: dict[str, Any]) -> None:
    """Keep what a run will be forecast by: pages and `--estimate` read it (core/ttm/time_left.py)."""
    path = paths.home() / "cache" / REHEARSALS
    known: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        known = dict(json.loads(path.read_text(encoding="utf-8")))
    known[" ".join((model, benchmark, device, platform.node()))] = {
        "ttm": found["ttm"],
        "memory": found["memory"],
    }
    files.write_json(path, known)


# In the process that measures


def _measure(spec: dict[str, str]) -> dict[str, Any]:
    """Load, score and train a few groups; everything scaled to the set."""
    own = psutil.Process()
    _tell("loading the model")
    scorer: Any = load_scorer(spec["load"], spec["device"])
    assert scorer.key  # a run hashes the weights
    groups, counts = _groups(spec["benchmark"])
    start = _Cost(0.0, process_time(), _peak())
    start = start._replace(seconds=max(0.0, _age(own)))
    record: dict[str, Any] = {"model": spec["model"], "benchmark": spec["benchmark"]}
    device = getattr(scorer, "device", None) or pick_device("cpu")
    record["machine"] = f"{describe_device(device)}, load {os.getloadavg()[0]:.1f}"
    record["counts"] = counts._asdict()
    scoring, sampled = _scoring(scorer, groups, counts)
    record["scoring"] = {
        "seconds": round(start.seconds + scoring.seconds, 1),
        "processor_seconds": round(start.busy + scoring.busy, 1),
        "start_seconds": round(start.seconds, 1),
        "measured_groups": sampled,
    }
    record["memory"] = {"scoring": max(start.peak, scoring.peak)}
    record["ttm"], record["notes"] = None, []
    if counts.assumed:
        record["notes"].append("The set is not here: its published size, with pictures of 500 x 375 pixels.")
    if not isinstance(scorer, Trainable):
        record["notes"].append("This kind of score cannot be adapted.")
        return record
    try:
        each = scoring.busy / counts.groups
        trained = _training(scorer, groups, counts, spec["benchmark"], _plain_name(spec["model"]), each)
    except InputError as error:
        record["notes"].append(f"Test-time matching was not measured: {error}")
        return record
    peaks = trained.pop("memory")
    record["memory"] |= peaks
    trained["start_seconds"] = round(start.seconds, 1)
    trained["seconds_before"] = round(start.seconds + trained["seconds_before"], 1)
    trained["processor_seconds"] = round(start.busy + trained["processor_seconds"], 1)
    record["ttm"] = trained
    record["checkpoint"] = 2 * sum(
        p.numel() * 4 for p in scorer.module.parameters()
    )  # the last one and its successor
    return record


def _plain_name(name: str) -> str:
    head, colon, rest = name.partition(":")
    return rest if colon and head in KINDS else name


def _groups(benchmark: str) -> tuple[GroupSet, _Counts]:
    """The groups of the most frequent shape without their truth, or some that are made up; and what they come to."""
    try:
        loaded = datasets.load(benchmark)
    except InputError:
        entry = datasets.benchmark_entry(benchmark)
        if entry is None or not datasets.state(benchmark).startswith("needs"):
            raise
        (m, k), n = entry.shape or (2, 2), next(iter(entry.counts.get("test", ())), 400)
        return _made_up(min(n, _GENERATED), m, k), _Counts(n, (m, k), n * m, n * k, n * m * k, True)
    blind = max(loaded.buckets().values(), key=len).blind()
    (images, first), (captions, second) = blind.unique_images(), blind.unique_captions()
    m, k = blind.shape
    pairs = len(np.unique(first[:, :, None] * len(captions) + second[:, None, :]))
    return blind, _Counts(len(blind), (m, k), len(images), len(captions), pairs, False)


def _made_up(count: int, m: int, k: int) -> GroupSet:
    """Groups of smooth noise as JPEG and of captions of twelve words."""
    rng, found = np.random.default_rng(0), []
    for i in range(count):
        images = []
        for _ in range(m):
            made = io.BytesIO()
            noise = rng.integers(0, 256, size=(12, 16, 3), dtype=np.uint8)
            Image.fromarray(noise).resize(_PICTURE, Image.Resampling.BICUBIC).save(made, "JPEG", quality=90)
            images.append(BytesImage(made.getvalue()))
        captions = tuple(" ".join([*rng.choice(_WORDS, 11), str(i * k + j)]) for j in range(k))
        found.append(Group(str(i), tuple(images), captions))
    return GroupSet(groups=tuple(found), name="made up")


def _scoring(scorer: Scorer, groups: GroupSet, counts: _Counts) -> tuple[_Cost, int]:
    """Scoring of the whole set after loading, from a few groups; and from how many."""
    score, most = partial(_scored, scorer, groups), _block(scorer)
    _tell("scoring one group")
    cost, some, chosen = score(range(1)), 1, np.array([0])  # and what is done once per process
    if cost.busy > _SECONDS:
        base, chosen = _held(), np.array([min(1, len(groups) - 1)])
        _tell(f"scoring another one, at most {duration(cost.busy)} of processor")
        cost = score(chosen)
    else:
        base, one = _held(), score(range(1, min(3, len(groups))))
        wanted = ceil(2 * most / counts.shape[0])
        some = int(min(len(groups), max(2, wanted), max(2, _SECONDS / max(one.busy / 2, 1e-6))))
        chosen = np.linspace(0, len(groups) - 1, some).astype(int)
        _tell(f"scoring {some} groups, about {duration(some * one.busy / 2)}")
        cost = score(chosen)
    images, captions, pairs = _distinct(groups, chosen)
    extra = cost.peak - base
    if len(images) < most:  # the activations of a block; that the next one's pixels lie ready adds little
        extra = int(extra * min(most, counts.images) / len(images))
    if isinstance(scorer, TwoTower):  # its captions are encoded apart
        texts = _scored_pairs(scorer, images[:1], captions, np.array([(0, j) for j in range(len(captions))]))
        shares = (counts.images / len(images), counts.captions / len(captions))
        seconds, busy = (
            shares[0] * max(0.0, whole - text) + shares[1] * text
            for whole, text in ((cost.seconds, texts.seconds), (cost.busy, texts.busy))
        )
    else:
        seconds, busy = (counts.pairs / len(pairs) * taken for taken in (cost.seconds, cost.busy))
    return _Cost(seconds, busy, base + extra), some


def _block(scorer: Any) -> int:
    """Pictures whose activations are held at once."""
    if isinstance(scorer, TwoTower):
        return int(scorer.image_batch)
    return 1 if isinstance(scorer, Trainable) else min(int(getattr(scorer, "image_batch", 1)), 8)


def _distinct(groups: GroupSet, chosen: Any) -> tuple[list, list[str], np.ndarray]:
    some = groups.select(chosen)
    (images, first), (captions, second) = some.unique_images(), some.unique_captions()
    codes = np.unique(first[:, :, None] * len(captions) + second[:, None, :])
    return images, captions, np.column_stack(np.divmod(codes, len(captions)))


def _scored(scorer: Scorer, groups: GroupSet, chosen: Any) -> _Cost:
    return _scored_pairs(scorer, *_distinct(groups, np.array(list(chosen))))


def _scored_pairs(scorer: Scorer, images: list, captions: list[str], pairs: np.ndarray) -> _Cost:
    with _watched() as taken:
        scorer.score(images, captions, pairs)
    return taken.cost


def _training(
    model: Trainable, groups: GroupSet, counts: _Counts, benchmark: str, name: str, each_group: float
) -> dict[str, Any]:
    """Test-time matching: its first scoring and one iteration on all groups, from one step on few groups each.

    each_group : seconds of processor time that a group's scoring takes."""
    preset = default_preset("ttm", benchmark, name)
    config = PRESETS[preset].config
    assert isinstance(config, TTMConfig)
    m = counts.shape[0]
    batch = min(counts.groups, config.units(m))
    weights = sum(p.numel() * 4 for p in model.module.parameters())
    _check_fits(weights)
    _check_time(each_group)
    base = _held()
    some, first, one, more = _two_steps(model, groups, config, batch, each_group)
    pixels = more.pixels / some
    prepared = (
        pixels * counts.groups if pixels * counts.groups < 0.5 * psutil.virtual_memory().available else 0
    )
    # One step: what it takes whatever the batch, and what each group of the batch adds; where one was measured, each
    # group's part of it.
    span = max(1, some - first)
    slope = [max(0.0, (b - a) / span) for a, b in zip(one.train[:2], more.train[:2], strict=True)]
    if one is more:
        slope = [b / some for b in more.train[:2]]
    fixed = [max(0.0, b - some * part) for b, part in zip(more.train[:2], slope, strict=True)]
    steps = ceil(counts.groups / batch)
    epoch = [steps * a + counts.groups * b for a, b in zip(fixed, slope, strict=True)]
    scored, prepare = (counts.groups / some * np.array(part) for part in (more.score, more.prepare))
    # What the backward pass needs is counted, not seen: an allocator keeps what was freed before.
    training = more.train.peak - more.pixels - more.kept + batch * more.kept / some + prepared
    # Scoring holds no gradients, but more pictures at once.
    each = max(0.0, more.scored_peak - more.scored_base) / (some * m)
    looking = base + weights + prepared + each * min(_SCORED, counts.images)
    iteration = np.array(epoch) * config.epochs + scored
    return {
        "preset": preset,
        "epochs": config.epochs,
        "iterations": config.iterations,
        "seconds_before": float(prepare[0] + scored[0]),
        "processor_seconds": float(prepare[1] + scored[1]),  # before the first iteration, loading included
        "seconds_per_iteration": round(float(iteration[0]), 1),
        "processor_seconds_per_iteration": round(float(iteration[1]), 1),
        "processor_seconds_per_epoch": round(float(epoch[1]), 1),
        "processor_seconds_per_scoring": round(float(scored[1]), 1),
        "seconds_per_group_and_epoch": float(epoch[0] / counts.groups),
        "seconds_per_group_and_scoring": float(scored[0] / counts.groups),
        "seconds_per_group_before": float((prepare[0] + scored[0]) / counts.groups),
        "measured_groups": some,
        "memory": {
            "ttm": int(max(training, looking)),
            "simplematch": int(max(training + 2 * weights, looking)),
        },
    }


def _two_steps(
    model: Trainable, groups: GroupSet, config: TTMConfig, batch: int, each_group: float
) -> tuple[int, int, _Step, _Step]:
    """Two steps on more and on fewer groups, after how many each had; where these take long the same one twice."""
    first = min(2, len(groups))
    if _STEP * each_group * first > _SECONDS * 3:
        _tell(f"one step of training on one group, about {duration(_STEP * each_group)} of processor")
        only = _step(model, groups.select(range(1)), config)
        return 1, 1, only, only
    _tell(f"a step of training on {counted(first, 'group')}, about {duration(_STEP * each_group * first)}")
    one = _step(model, groups.select(range(first)), config)
    wanted = max(4, _SECONDS / max(one.train.busy / first, 1e-6))
    fitting = max(first + 1, _SHARE * memory_left() / max(one.kept / first, 1))  # a second step, or none
    some = int(min(len(groups), batch, wanted, fitting))
    _tell(f"a step of training on {counted(some, 'group')}, about {duration(some * one.train.busy / first)}")
    return (
        some,
        first,
        one,
        _step(model, groups.select(np.linspace(0, len(groups) - 1, some).astype(int)), config),
    )


def _check_time(each_group: float) -> None:
    """Raise InputError where a step on one group would take too long to measure."""
    if (expected := _STEP * each_group) > _MOST:
        raise InputError(f"a step on a single group would take about {duration(expected)} of processor here")


def _check_fits(weights: int) -> None:
    """Raise InputError where no step could be measured; weights : bytes in float32, of which the model holds some."""
    left = memory_left()
    if 3 * weights > left:
        raise InputError(
            f"gradients and AdamW's two moments alone take {3 * weights / 1e9:.1f} GB, {left / 1e9:.1f} GB of memory "
            "are left"
        )


class _Step(NamedTuple):
    """One step on some groups: training, one scoring pass and preparing, with the bytes of the prepared pictures and
    those that are kept for the backward pass."""

    train: _Cost
    score: tuple[float, float]
    prepare: tuple[float, float]
    pixels: int
    kept: int
    scored_base: int
    scored_peak: int


def _step(model: Trainable, groups: GroupSet, config: TTMConfig) -> _Step:
    """An iteration of one epoch in one batch, as `run_ttm` does it."""
    short = {"iterations": 1, "epochs": 1, "coverage_first": 1.0, "batch": len(groups), "variant": "group"}
    images, captions, pairs = _distinct(groups, np.arange(len(groups)))
    with _watched() as preparing:
        data = model.prepare(images, captions)
    pixels = sum(t.numel() * t.element_size() for t in (data.pixels, *data.extra.values()))
    base = _held()
    with _watched() as scoring:
        model.score_prepared(data, pairs)
    del data
    run: Any = run_ttm(model, groups, config.updated(short), stop=lambda: False)
    trained = next(run).model.module
    with _watched() as training, MicroBatchSearch.kept(trained) as kept:
        step = next(run)
    run.close()
    scored, whole = scoring.cost, training.cost
    if step.report is None:
        raise InputError("with random weights every group is tied")
    train = _Cost(
        step.report.seconds, max(0.0, whole.busy - scored.busy), whole.peak
    )  # the iteration scores once more
    return _Step(train, scored[:2], preparing.cost[:2], pixels, sum(kept.values()), base, scored.peak)


def _tell(line: str) -> None:
    """To the process that waits (`_run`)."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class _watched:
    """`with _watched() as taken:` measures what is inside; `taken.cost` says it."""

    cost: _Cost

    def __enter__(self) -> _watched:
        _reset_peak()
        self._before = perf_counter(), process_time()
        return self

    def __exit__(self, *_: object) -> None:
        seconds, busy = self._before
        self.cost = _Cost(perf_counter() - seconds, process_time() - busy, _peak())


def _reset_peak() -> None:
    with suppress(OSError):  # Linux alone
        Path("/proc/self/clear_refs").write_text("5")
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()


def _peak() -> int:
    """The most memory that this process held since the last reset; on a GPU the GPU's."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    with suppress(OSError, ValueError):
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return psutil.Process().memory_info().rss


def _held() -> int:
    """Memory that this process holds now."""
    return torch.cuda.memory_allocated() if torch.cuda.is_available() else psutil.Process().memory_info().rss


def _age(process: psutil.Process) -> float:
    """Seconds since a process began."""
    import time

    return time.time() - process.create_time()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    _bound_own_memory()
    given, out = map(Path, sys.argv[1:])
    files.write_json(out, _measure(json.loads(given.read_text(encoding="utf-8"))))
