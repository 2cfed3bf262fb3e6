"""What this machine has for Crossmatch and what it lacks: device, memory, disk, caches, data, extras.

Answers in well under two seconds, offline, without importing torch; `deep` asks torch itself which device it sees.
"""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import psutil

from core import datasets
from core.base import paths
from core.base.errors import InputError
from core.datasets import user_sets
from core.datasets.file_reading import data_roots
from core.exchange.figures import browser
from core.scorers.plugins import plugins

OK, NOTE, PROBLEM = "ok", "note", "problem"
_LITTLE_MEMORY, _LITTLE_DISK = 2 << 30, 1 << 30
_DRIVER = Path("/proc/driver/nvidia/gpus")
# Extra of pyproject.toml -> its package, and what it is for.
_EXTRAS = {
    "api": ("openai", "scoring through an endpoint (GPT-4.1, vLLM)"),
    "gradio": ("gradio", "the small demo, gradio_app.py"),
    "lora": ("peft", "adapting large models by low-rank adapters"),
}


class Diagnosis(NamedTuple):
    """One thing that was looked at. `do` is empty where there is nothing to do."""

    topic: str
    state: str  # ok, note, problem
    text: str
    do: str = ""


def diagnose(deep: bool = False) -> list[Diagnosis]:
    """Everything, in the order of importance; a check that fails is a finding, never an error."""
    checks: list[Callable[[], list[Diagnosis]]] = [
        _versions,
        _torch_device if deep else _device,
        _memory,
        _home,
        _cache,
        _models,
        _data,
        _runs,
        _extras,
        _network,
    ]
    found: list[Diagnosis] = []
    for check in checks:
        try:
            found += check()
        except (InputError, OSError, ValueError) as error:
            found.append(Diagnosis(check.__name__.strip("_"), PROBLEM, str(error), "see the message"))
    return found


def human_bytes(count: float) -> str:
    """Bytes for people: 512 B, 1.5 MB, 12 GB."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _versions() -> list[Diagnosis]:
    names = ("crossmatch", "torch", "transformers", "open_clip_torch", "streamlit")
    have = {name: _installed(name) for name in names}
    shown = ", ".join(f"{name} {found}" for name, found in have.items() if found)
    line = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}; {shown}"
    lacking = [name for name in ("torch", "transformers", "streamlit") if have[name] is None]
    if lacking:
        return [
            Diagnosis("versions", PROBLEM, f"{line}; missing: {', '.join(lacking)}", "run `make install`")
        ]
    return [Diagnosis("versions", OK, line)]


def _device() -> list[Diagnosis]:
    """What the system shows of accelerators, without torch."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cpu = f"CPU with {cores} core{'s' * (cores != 1)}"
    cards = _cards()
    build = _installed("torch") or ""
    if cards and build.endswith("+cpu"):
        what = f"{', '.join(cards)}, but torch {build} is a build without CUDA"
        return [
            Diagnosis("device", NOTE, what, "install torch's CUDA build; until then Crossmatch uses the CPU")
        ]
    if cards:
        return [
            Diagnosis(
                "device", OK, f"{', '.join(cards)}, chosen by itself (`crossmatch doctor --deep` asks torch)"
            )
        ]
    if sys.platform == "darwin" and platform.machine() == "arm64":
        return [Diagnosis("device", OK, "Apple GPU (MPS), chosen by itself")]
    hint = "enough for the built-in models; adapting a CLIP-B takes hours: use a machine with a GPU, or embeddings"
    return [Diagnosis("device", NOTE, f"{cpu}, no GPU", hint)]


def _cards() -> list[str]:
    """Names of the NVIDIA cards the driver lists."""
    found = []
    for card in sorted(_DRIVER.glob("*/information")) if _DRIVER.is_dir() else []:
        lines = card.read_text(errors="replace").splitlines()
        found += [line.partition(":")[2].strip() for line in lines if line.startswith("Model")]
    return found


def _torch_device() -> list[Diagnosis]:
    import torch

    from core.scorers.contrastive import describe_device, pick_device  # torch

    device = pick_device("auto")
    text = f"{describe_device(device)}, seen by torch {torch.__version__}"
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        text += f"; {human_bytes(free)} of {human_bytes(total)} free"
    if device.type == "cpu" and _cards():
        return [
            Diagnosis(
                "device", PROBLEM, f"torch does not see {', '.join(_cards())}", "install its CUDA build"
            )
        ]
    return [Diagnosis("device", OK, text)]


def _memory() -> list[Diagnosis]:
    memory = psutil.virtual_memory()
    text = f"{human_bytes(memory.available)} of {human_bytes(memory.total)} free"
    if memory.available < _LITTLE_MEMORY:
        return [Diagnosis("memory", NOTE, text, "close other programs before you load a large model")]
    return [Diagnosis("memory", OK, text)]


def _home() -> list[Diagnosis]:
    home = paths.home()
    there = next(path for path in (home, *home.parents) if path.exists())
    free = shutil.disk_usage(there).free
    text = f"{home}, {human_bytes(free)} free on its disk"
    if not os.access(there, os.W_OK):
        return [
            Diagnosis("home", PROBLEM, f"{text}, not writable", "set CROSSMATCH_HOME to a folder that is")
        ]
    if free < _LITTLE_DISK:
        return [Diagnosis("home", PROBLEM, text, "free some space, or set CROSSMATCH_HOME to another disk")]
    return [Diagnosis("home", OK, text)]


def cache_size() -> tuple[Path, int, int]:
    """The score cache without what it takes to use it: its file, number of scores, bytes on disk."""
    path = paths.home() / "cache" / "scores.sqlite"
    files = [path.with_name(path.name + end) for end in ("", "-wal", "-shm")]
    rows = _read(path, "SELECT count(*) FROM scores") if path.is_file() else [(0,)]
    return path, int(rows[0][0]), sum(file.stat().st_size for file in files if file.exists())


def _read(path: Path, query: str) -> list[tuple]:
    """Rows of a database that exists; `rw` creates nothing, and tidies up after itself where `ro` leaves files."""
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=1.0)
        ) as database:
            return database.execute(query).fetchall()
    except sqlite3.Error as error:
        raise InputError(f"{path} cannot be read ({error}); close other programs, or move it away.") from None


def _cache() -> list[Diagnosis]:
    path, scores, size = cache_size()
    text = f"{scores} scores, {human_bytes(size)} in {path}"
    return [
        Diagnosis("score cache", OK, text, "`crossmatch cache clear` empties it" if size > 1 << 30 else "")
    ]


def _models() -> list[Diagnosis]:
    folders = sorted(p.name for p in (paths.assets() / "models").glob("*") if (p / "config.json").is_file())
    if not folders:
        return [Diagnosis("built-in models", PROBLEM, "none", "train one with `crossmatch pretrain clip`")]
    return [Diagnosis("built-in models", OK, ", ".join(folders))]


def _data() -> list[Diagnosis]:
    states = {name: datasets.state(name) for name in datasets.names(None) if not name.startswith("mine/")}
    kinds = Counter("built in" if s == "built in" else s.partition(" ")[0] for s in states.values())
    roots = " and ".join(map(str, data_roots()))
    text = f"{kinds['built in']} built in, {kinds['found']} found, {kinds['needs:']} not available (searched {roots})"
    found = [Diagnosis("benchmarks", OK, text, "`crossmatch list benchmarks` shows what each needs")]
    lacking = sorted({name.partition("/")[0] for name, state in states.items() if state.startswith("needs")})
    if lacking:
        found.append(
            Diagnosis("missing data", NOTE, ", ".join(lacking), "`crossmatch fetch NAME` gets what is public")
        )
    own = user_sets.sets()
    if own:
        found.append(Diagnosis("your sets", OK, ", ".join(f"mine/{name}" for name in own)))
    return found


def _runs() -> list[Diagnosis]:
    """How many runs there are, read without touching the store."""
    path = paths.home() / "runs" / "runs.db"
    if not path.is_file():
        return [Diagnosis("runs", OK, "none yet")]
    rows = _read(path, "SELECT status, count(*) FROM runs GROUP BY status")
    return [
        Diagnosis("runs", OK, ", ".join(f"{count} {status}" for status, count in sorted(rows)) or "none yet")
    ]


def _extras() -> list[Diagnosis]:
    found = []
    for extra, (package, use) in _EXTRAS.items():
        have = _installed(package)
        do = "" if have else f"`pip install 'crossmatch[{extra}]'` if you want it"
        found.append(
            Diagnosis(
                extra, OK if have else NOTE, f"{use}: {f'{package} {have}' if have else 'not installed'}", do
            )
        )
    program = browser()
    text = f"SVG and PNG drawn by {program}" if program else "no Chromium, Chrome or Edge to draw SVG and PNG"
    found.append(
        Diagnosis("figures", OK if program else NOTE, text, "" if program else "install one, or save HTML")
    )
    if plugins():
        found.append(Diagnosis("scorers", OK, ", ".join(f"python:{name}" for name in plugins())))
    return found


def _network() -> list[Diagnosis]:
    """What decides whether the hub is asked; nothing is sent."""
    offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")
    token = bool(os.environ.get("HF_TOKEN")) or (Path.home() / ".cache/huggingface/token").is_file()
    text = (
        "offline (HF_HUB_OFFLINE is set)"
        if offline
        else "models and data sets are downloaded from the hub when you name them"
    )
    return [Diagnosis("Hugging Face", OK, f"{text}; {'with' if token else 'without'} a token")]
