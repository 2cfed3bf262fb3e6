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
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import psutil

from core import datasets
from core.base import paths
from core.base.errors import InputError
from core.base.paths import data_roots
from core.datasets import user_sets
from core.exchange.figures import browser
from core.scorers.plugins import plugins

OK, NOTE, PROBLEM = "ok", "note", "problem"
_LITTLE_MEMORY, _LITTLE_DISK = 2 << 30, 1 << 30
_DRIVER = Path("/proc/driver/nvidia/gpus")
# Extra of pyproject.toml -> its package, and what it is for.
_EXTRAS = {
    "api": ("openai", "scoring through an endpoint (GPT-4.1, vLLM)"),
    "gradio": ("gradio", "the small demo, gradio_app.py"),
    "sentence": ("sentence-transformers", "scores of its multimodal models (`st:NAME`)"),
    "lora": ("peft", "adapting large models by low-rank adapters"),
}


class _Diagnosis(NamedTuple):
    """One thing that was checked. `do` is empty where there is nothing to do."""

    topic: str
    state: str  # ok, note, problem
    text: str
    do: str = ""


def diagnose(deep: bool = False) -> list[_Diagnosis]:
    """Everything, in the order of importance; a check that fails is a diagnosis, never an error."""
    device = _torch_device if deep else _device
    diagnoses: list[_Diagnosis] = []
    for check in (_versions, device, _memory, _home, _cache, _models, _data, _runs, _extras, _network):
        try:
            diagnoses += check()
        except (InputError, OSError, ValueError) as error:
            diagnoses.append(_Diagnosis(check.__name__.strip("_"), PROBLEM, str(error), "see the message"))
    return diagnoses


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


def _versions() -> Iterator[_Diagnosis]:
    names = ("crossmatch", "torch", "transformers", "open_clip_torch", "streamlit")
    have = {name: _installed(name) for name in names}
    shown = ", ".join(f"{name} {number}" for name, number in have.items() if number)
    text = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}; {shown}"
    missing = [name for name in ("torch", "transformers", "streamlit") if have[name] is None]
    if missing:
        yield _Diagnosis("versions", PROBLEM, f"{text}; missing: {', '.join(missing)}", "run `make install`")
    else:
        yield _Diagnosis("versions", OK, text)


def _device() -> Iterator[_Diagnosis]:
    """What the system shows of accelerators, without torch."""
    cards, build = ", ".join(_cards()), _installed("torch") or ""
    if cards and build.endswith("+cpu"):
        text = f"{cards}, but torch {build} is a build without CUDA"
        yield _Diagnosis(
            "device", NOTE, text, "install torch's CUDA build; until then Crossmatch uses the CPU"
        )
    elif cards:
        text = f"{cards}, chosen by itself (`crossmatch doctor --deep` asks torch)"
        yield _Diagnosis("device", OK, text)
    elif sys.platform == "darwin" and platform.machine() == "arm64":
        yield _Diagnosis("device", OK, "Apple GPU (MPS), chosen by itself")
    else:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        hint = "enough for the built-in models; adapting a CLIP-B takes hours: use a machine with a GPU, or embeddings"
        yield _Diagnosis("device", NOTE, f"CPU with {cores} core{'s' * (cores != 1)}, no GPU", hint)


def _cards() -> list[str]:
    """Names of the NVIDIA cards the driver lists."""
    cards = sorted(_DRIVER.glob("*/information")) if _DRIVER.is_dir() else []
    lines = [line for card in cards for line in card.read_text(errors="replace").splitlines()]
    return [line.partition(":")[2].strip() for line in lines if line.startswith("Model")]


def _torch_device() -> Iterator[_Diagnosis]:
    import torch

    from core.scorers.devices import describe_device, pick_device  # torch

    device, cards = pick_device("auto"), ", ".join(_cards())
    if device.type == "cpu" and cards:
        yield _Diagnosis("device", PROBLEM, f"torch does not see {cards}", "install its CUDA build")
        return
    text = f"{describe_device(device)}, seen by torch {torch.__version__}"
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        text += f"; {human_bytes(free)} of {human_bytes(total)} free"
    yield _Diagnosis("device", OK, text)


def _memory() -> Iterator[_Diagnosis]:
    memory = psutil.virtual_memory()
    text = f"{human_bytes(memory.available)} of {human_bytes(memory.total)} free"
    if memory.available < _LITTLE_MEMORY:
        yield _Diagnosis("memory", NOTE, text, "close other programs before you load a large model")
    else:
        yield _Diagnosis("memory", OK, text)


def _home() -> Iterator[_Diagnosis]:
    home = paths.home()
    there = next(path for path in (home, *home.parents) if path.exists())
    free = shutil.disk_usage(there).free
    text = f"{home}, {human_bytes(free)} free on its disk"
    if not os.access(there, os.W_OK):
        yield _Diagnosis("home", PROBLEM, f"{text}, not writable", "set CROSSMATCH_HOME to a folder that is")
    elif free < _LITTLE_DISK:
        yield _Diagnosis("home", PROBLEM, text, "free some space, or set CROSSMATCH_HOME to another disk")
    else:
        yield _Diagnosis("home", OK, text)


def cache_size() -> tuple[Path, int, int]:
    """The score cache without what it takes to use it: its file, number of scores, bytes on disk."""
    path = paths.home() / "cache" / "scores.sqlite"
    files = [path.with_name(path.name + end) for end in ("", "-wal", "-shm")]
    counts = {"blocks": "coalesce(sum(count), 0)", "scores": "count(*)"}  # as now, and a row each as of old
    there = [name for (name,) in _read(path, "SELECT name FROM sqlite_master")] if path.is_file() else []
    scores = sum(_read(path, f"SELECT {counts[name]} FROM {name}")[0][0] for name in there if name in counts)
    return path, scores, sum(file.stat().st_size for file in files if file.exists())


def _read(path: Path, query: str) -> list[tuple]:
    """Rows of a database that exists; `rw` creates nothing, and tidies up after itself where `ro` leaves files."""
    address = f"{path.absolute().as_uri()}?mode=rw"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=1.0)) as database:
            return database.execute(query).fetchall()
    except sqlite3.Error as error:
        raise InputError(f"{path} cannot be read ({error}); close other programs, or move it away.") from None


def _cache() -> Iterator[_Diagnosis]:
    path, scores, size = cache_size()
    do = "`crossmatch cache clear` empties it" if size > 1 << 30 else ""
    yield _Diagnosis("score cache", OK, f"{scores} scores, {human_bytes(size)} in {path}", do)


def _models() -> Iterator[_Diagnosis]:
    folders = sorted(p.name for p in (paths.assets() / "models").glob("*") if (p / "config.json").is_file())
    if folders:
        yield _Diagnosis("built-in models", OK, ", ".join(folders))
    else:
        yield _Diagnosis("built-in models", PROBLEM, "none", "train one with `crossmatch pretrain clip`")


def _data() -> Iterator[_Diagnosis]:
    states = {name: datasets.state(name) for name in datasets.names(None) if not name.startswith("mine/")}
    kinds = Counter("built in" if s == "built in" else s.partition(" ")[0] for s in states.values())
    roots = " and ".join(map(str, data_roots()))
    text = f"{kinds['built in']} built in, {kinds['found']} found, {kinds['needs:']} not available (searched {roots})"
    yield _Diagnosis("benchmarks", OK, text, "`crossmatch list benchmarks` shows what each needs")
    missing = sorted({name.partition("/")[0] for name, state in states.items() if state.startswith("needs")})
    if missing:
        do = "`crossmatch fetch NAME` gets what is public"
        yield _Diagnosis("missing data", NOTE, ", ".join(missing), do)
    if user_sets.sets():
        yield _Diagnosis("your sets", OK, ", ".join(f"mine/{name}" for name in user_sets.sets()))


def _runs() -> Iterator[_Diagnosis]:
    """How many runs there are, read without touching the store."""
    path = paths.home() / "runs" / "runs.db"
    rows = _read(path, "SELECT status, count(*) FROM runs GROUP BY status") if path.is_file() else []
    text = ", ".join(f"{count} {status}" for status, count in sorted(rows))
    yield _Diagnosis("runs", OK, text or "none yet")


def _extras() -> Iterator[_Diagnosis]:
    for extra, (package, use) in _EXTRAS.items():
        have = _installed(package)
        if have:
            yield _Diagnosis(extra, OK, f"{use}: {package} {have}")
        else:
            do = f"`pip install 'crossmatch[{extra}]'` if you want it"
            yield _Diagnosis(extra, NOTE, f"{use}: not installed", do)
    program = browser()
    if program:
        yield _Diagnosis("figures", OK, f"SVG and PNG drawn by {program}")
    else:
        text = "no Chromium, Chrome or Edge to draw SVG and PNG"
        yield _Diagnosis("figures", NOTE, text, "install one, or save HTML")
    if plugins():
        yield _Diagnosis("scorers", OK, ", ".join(f"python:{name}" for name in plugins()))


def _network() -> Iterator[_Diagnosis]:
    """What decides whether the hub is asked; nothing is sent. By hand: importing the hub's library takes a while."""
    offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")
    settings = Path(os.environ.get("HF_HOME") or Path.home() / ".cache/huggingface")
    token = os.environ.get("HF_TOKEN") or (settings / "token").is_file()
    text = "models and data sets are downloaded from the hub when you name them"
    text = "offline (HF_HUB_OFFLINE is set)" if offline else text
    yield _Diagnosis("Hugging Face", OK, f"{text}; {'with' if token else 'without'} a token")
