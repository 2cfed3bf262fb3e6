"""A small world for the commands: toy benchmarks, tiny models, files and runs, and what an invocation leaves behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import pytest
from adapted import finish
from checkpoints import write_checkpoint
from conftest import SHAPES, build_clip, relation_group, swap_group
from tiny_models import BUILDERS
from typer.testing import CliRunner

from core import datasets, papers
from core.base import processes
from core.base.errors import InputError, unknown_name
from core.cli import COMMANDS, app
from core.cola import forgetting, rates
from core.cola import run as cola_run
from core.cola import table as cola_table
from core.datasets.sets import RetrievalSet
from core.doctor import rehearsal
from core.exchange import fetch, model
from core.exchange.runs import export_run
from core.groups import BytesImage, Group, GroupSet
from core.ladder.ladder import Ladder
from core.pretrain.model_folder import pretrain
from core.runs import store as runs
from core.runs.description import Iteration
from core.runs.engine import ThisMachine
from core.scoring.load import load_scorer
from core.sweeps.cells import run_sweep
from core.sweeps.ray import run_on_ray
from core.ttm import run as ttm_run
from core.ttm.seeds import seeded

SPLITS = ("test", "validation")
CAPTIONS, MANY = 8, 40  # queries of a retrieval set; with many, intervals differ from seed to seed
PAIRS, SINGLE = 15, 35  # groups of 2x2 and of 1x4

# What `doctor --rehearse` is told, of a model that cannot be adapted.
REHEARSED = {
    "model": "m",
    "machine": "CPU",
    "counts": {"groups": 15, "shape": [2, 2], "images": 30, "captions": 30, "pairs": 60, "assumed": False},
    "scoring": {"seconds": 60.0, "processor_seconds": 50.0, "start_seconds": 5.0, "measured_groups": 4},
    "memory": {"scoring": 2e9, "free": 8e9},
    "ttm": None,
    "notes": ["This kind of score cannot be adapted."],
    "weights": {"here": False, "bytes": 600_000_000},
    "data": "built in",
    "disk": {"needed": 6e8, "free": 9e9},
}


class Toys:
    """A source of benchmarks, as `core.datasets.DATASETS` holds them: groups of one shape, of two, and queries."""

    KINDS: ClassVar = {
        "groups": ("toy/pairs", "toy/others", "toy/relations", "toy/mixed", "toy/two-true"),
        "retrieval": ("toy/captions", "toy/more-captions", "toy/many-captions"),
    }

    def names(self, kind: str = "groups") -> list[str]:
        return list(self.KINDS.get(kind, ()))

    def state(self, name: str) -> str:
        return "built in"

    def load(self, name: str, split: str | None, *_: Any, **__: Any) -> Any:
        if split not in SPLITS:
            raise unknown_name("split", str(split), SPLITS)
        return _drawn(name, split)

    def draw(self, name: str, split: str) -> Any:
        first = 12 * (
            2 * sorted(n for names in self.KINDS.values() for n in names).index(name) + SPLITS.index(split)
        )
        if name in self.KINDS["retrieval"]:
            return self._queries(name, split, first)
        pairs = [swap_group(i, (1, 0) if i % 3 else (0, 1)) for i in range(first, first + PAIRS)]
        single = [relation_group(i, (3 * i + 1) % 4) for i in range(first, first + SINGLE)]
        sets = {
            "toy/relations": single,
            "toy/mixed": [*pairs, *single[:7]],
            "toy/two-true": [two_true(g, SHAPES[i % 3]) for i, g in enumerate(single)],
        }
        groups = sets.get(name, pairs)
        found = [replace(g, images=tuple(of_split(image, split) for image in g.images)) for g in groups]
        return GroupSet(name, tuple(found), licence="none")

    def _queries(self, name: str, split: str, first: int) -> RetrievalSet:
        count = MANY if name == "toy/many-captions" else CAPTIONS
        groups = [swap_group(i, (0, 1)) for i in range(first, first + count)]
        images, queries = (
            [of_split(g.images[i % 2], split) for i, g in enumerate(groups)],
            [g.captions[i % 2] for i, g in enumerate(groups)],
        )
        own = np.stack([np.arange(count), np.arange(count)], axis=1)
        return RetrievalSet(name, split, tuple(images), tuple(f"{q} {i}" for i, q in enumerate(queries)), own)


@cache
def _drawn(name: str, split: str) -> Any:
    """A toy benchmark; nobody changes what is loaded."""
    return Toys().draw(name, split)


def two_true(group: Group, shape: str) -> Group:
    """A 1x3 group of which the first two captions are true."""
    return replace(group, captions=group.captions[:3], truth=(0, 1), tags={**group.tags, "shape": shape})


def of_split(image: Any, split: str | None) -> BytesImage:
    """The same picture in another file: no two splits share one."""
    return BytesImage(image.data + (b"" if split == SPLITS[0] else str(split).encode()))


class Outcome(NamedTuple):
    """What an invocation leaves behind; two of them are equal where nobody could tell them apart."""

    code: int
    refusal: str  # the sentence of the InputError, or Click's own
    said: str  # standard output and error, without times and ids
    files: dict[str, bytes]  # in the working directory, and sets of the user's own
    runs: tuple[str, ...]  # kind, title, description and status of every run in the store
    calls: tuple[str, ...]  # what was handed to the work itself: descriptions, devices, arguments

    @property
    def seen(self) -> tuple[Any, ...]:
        """What a user sees, without the descriptions that went to work."""
        return self[:-1]

    @property
    def left(self) -> tuple[Any, ...]:
        """What is there afterwards."""
        return self.files, self.runs


def write_embeddings(path: Path, seed: int, rows: int = 24) -> None:
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(rows, 8))
    np.savez(path, img=shared + 0.9 * rng.normal(size=(rows, 8)), cap=shared)


def write_scores(path: Path, seed: int) -> None:
    """Sixty 2x2 groups."""
    rng = np.random.default_rng(seed)
    rows = ["group,image,caption,score"]
    rows += [f"{g},{i},{c},{rng.normal() + (i == c):.4f}" for g in range(60) for i in (0, 1) for c in (0, 1)]
    path.write_text("\n".join(rows) + "\n")


def write_log_probs(path: Path, prior: Path, seed: int) -> None:
    """log P(t | image) of sixty 1x2 groups with a tag, and log P(t) of their captions."""
    rng = np.random.default_rng(seed)
    rows, priors = ["group,image,caption,score,side"], ["group,caption,log_prob"]
    for group, caption in ((g, c) for g in range(60) for c in (0, 1)):
        rows.append(f"{group},0,{caption},{-9 + rng.normal():.4f},{'left' if group % 3 else 'right'}")
        priors.append(f"{group},{caption},{-9 + rng.normal():.4f}")
    path.write_text("\n".join(rows) + "\n")
    prior.write_text("\n".join(priors) + "\n")


def write_retrieval(path: Path, prior: Path, seed: int) -> None:
    """log P(t | image) of twenty images with all of their captions, with a tag, and log P(t) of the captions."""
    rng = np.random.default_rng(seed)
    rows = ["image,caption,score,match,side"]
    for i, j in np.ndindex(20, 20):
        rows.append(
            f"{i},c{j},{-9 + (i == j) + rng.normal():.4f},{int(i == j)},{'left' if i % 3 else 'right'}"
        )
    priors = ["caption,log_prob", *(f"c{j},{-9 + rng.normal():.4f}" for j in range(20))]
    path.write_text("\n".join(rows) + "\n")
    prior.write_text("\n".join(priors) + "\n")


def write_tags(path: Path) -> None:
    names = [*map(str, range(60)), *(f"swap-{i}" for i in range(200)), *(f"relation-{i}" for i in range(300))]
    rows = [f"{name},{'even' if i % 3 else 'odd'},{i % 2}" for i, name in enumerate(names)]
    path.write_text("id,parity,half\n" + "\n".join(rows) + "\n")


def write_set(folder: Path, manifests: tuple[str, ...] = ("manifest.csv",)) -> None:
    """A folder of 2x2 groups for `crossmatch add`; with one row that cannot be used."""
    (folder / "images").mkdir(parents=True)
    for number, manifest in enumerate(manifests):
        rows = ["id,image_0,image_1,caption_0,caption_1,truth,turned,topic"]
        for i in range(4 * number, 4 * number + 4):
            group = swap_group(i, (0, 1))
            for j, image in enumerate(group.images):
                (folder / f"images/{i}-{j}.png").write_bytes(image.data)
            rows.append(
                f"{i},images/{i}-0.png,images/{i}-1.png,{group.captions[0]},{group.captions[1]},0 1,1 0,x"
            )
        rows.append("9,images/none.png,images/none.png,a,b,0 1,1 0,x")
        (folder / manifest).write_text("\n".join(rows) + "\n")


def write_long_set(folder: Path) -> None:
    """The same with a row for every image, its caption and its group; `turned` groups them otherwise."""
    (folder / "images").mkdir(parents=True)
    rows = ["image,caption,pair,turned,truth"]
    for i in range(4):
        group = swap_group(i, (0, 1))
        for j, image in enumerate(group.images):
            (folder / f"images/{i}-{j}.png").write_bytes(image.data)
            rows.append(f"images/{i}-{j}.png,{group.captions[j]} {i},{i},{i // 2},{j}")
    rows.append("images/none.png,a,9,9,0")
    (folder / "manifest.csv").write_text("\n".join(rows) + "\n")


def write_photos(folder: Path, first: int) -> None:
    folder.mkdir()
    for i in range(first, first + 6):
        (folder / f"{i}.png").write_bytes(swap_group(i, (0, 1)).images[0].data)


SWEEP = """
name: {name}
kind: ttm
models: [builtin/clip]
benchmarks: [scenes/left-right]
settings: {{epochs: {epochs}}}
"""


class World:
    """The places of everything, by the names that cases use in braces; a home to start every invocation from.

    calls : what the last invocation handed to the work itself. trains : whether test-time matching really runs; if not
    `canned` stands in for what it gives.
    """

    def __init__(self, root: Path) -> None:
        self.root, self.home = root, root / "home"
        self.names: dict[str, str] = {}
        self.calls: list[str] = []
        self.trains, self.canned = True, dict[str, list[Any]]()
        self.fresh, self.blank = frozenset[tuple[Any, ...]](), tuple[Any, ...]()
        self.home.mkdir()
        (root / "data" / "winoground").mkdir(parents=True)
        for number, end in enumerate(("", "_2")):
            self._write_twins(number, end)
        write_set(self._at("set"))
        write_set(self._at("tables"), ("a.csv", "b.csv"))
        write_long_set(self._at("long"))
        self.names["table"] = str(root / "set" / "manifest.csv")

    def _write_twins(self, number: int, end: str) -> None:
        """Of everything there are two, so that one can stand in place of the other."""
        write_embeddings(self._at(f"embeddings{end}", ".npz"), number)
        write_scores(self._at(f"scores{end}", ".csv"), number)
        write_log_probs(self._at(f"log_probs{end}", ".csv"), self._at(f"prior{end}", ".csv"), number)
        write_retrieval(self._at(f"all_pairs{end}", ".csv"), self._at(f"all_prior{end}", ".csv"), number)
        write_photos(self._at(f"photos{end}"), 6 * number)
        build_clip(self._at(f"clip{end}"), number)
        write_checkpoint(self._at(f"checkpoint{end}", ".safetensors"), number)
        for kind, builder in (("captioner", "blip-caption"), ("lm", "gpt2")):
            BUILDERS[builder](self._at(f"{kind}{end}"), seed=number)
        text = SWEEP.format(name=f"sweep{number}", epochs=number + 1)
        self._at(f"sweep{end}", ".yaml").write_text(text)
        write_tags(self._at(f"tags{end}", ".csv"))

    def _at(self, name: str, ending: str = "") -> Path:
        path = self.root / f"{name}{ending}"
        self.names[name] = str(path)
        return path

    def fill(self, scored: Iterable[tuple[str, ...]] = ()) -> None:
        """Sets and runs that commands list, show, stop, resume, export and delete; canned runs.

        scored : commands whose scores are in the cache afterwards: most options change only what is made of them.
        """
        for name in ("have", "other"):
            more = ["--name", name, "--manifest", "a.csv", "--skip-bad"]
            done = CliRunner().invoke(app, ["add", self.names["tables"], *more])
            assert done.exit_code == 0, done.output
        store = runs.RunStore()
        small = {"iterations": 1, "epochs": 1, "coverage_first": 0.9, "lr": 0.05, "batch": 4}
        job = ttm_run.TTMRun.of("toy/pairs", self.names["clip"], device="cpu", options=small)
        finished = [finish(store, f"run {i}", each) for i, each in enumerate(seeded(job, 2, "g-0123abcd"))]
        file = finish(store, "of a file", ttm_run.TTMRun.of_file(self.names["embeddings"], options=small))
        live, stopped = (store.create("ttm", title, job.written()).id for title in ("waits", "stopped"))
        store.queue_up(live)
        store.conclude(stopped, store.queue_up(stopped), "stopped")
        archive = export_run(store, file, self.root / "archive.zip")
        other = export_run(store, finished[0], self.root / "archive_2.zip")
        self.names |= {"archive": str(archive), "archive_2": str(other)}
        self.names |= {"run": finished[0], "run_2": finished[1], "file_run": file, "live": live}
        self.names |= {"stopped": stopped, "group": "g-0123abcd"}
        # Groups as a benchmark has: what is canned is compared group by group.
        as_many = self.root / "as_many.npz"
        write_embeddings(as_many, 0, 2 * PAIRS)
        for kind, own in (("ttm", {"iterations": 1}), ("simplematch", {"rounds": 1})):
            made = ttm_run.RUNS[kind].of_file(str(as_many), options={**own, "epochs": 1})
            self.canned[kind] = list(made.execute())
        scores = np.random.default_rng(0).normal(size=(3, PAIRS, 2, 2))
        last = self.canned["ttm"][-1]
        self.canned["ledger"] = [
            last._replace(record={**last.record, "iteration": i}, arrays={"scores": each})
            for i, each in enumerate(scores)
        ]
        for words in scored:
            done = CliRunner().invoke(app, [part.format(**self.names) for part in words])
            assert done.exit_code == 0, done.output

    def run(self, arguments: list[str], monkeypatch: pytest.MonkeyPatch, trains: bool) -> Outcome:
        """One command in this process, on a copy of the home and in an empty working directory."""
        self.trains = trains
        place = self.root / "now"
        # Copying the home is most of the work of many a command: it is kept for the next one where nothing was written.
        if not self.fresh or _state(place) != self.fresh:
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(self.home, place / "home")
            (place / "work").mkdir()
            self.fresh = _state(place)
        monkeypatch.setenv("CROSSMATCH_HOME", str(place / "home"))
        monkeypatch.setenv("CROSSMATCH_DATA", str(self.root / "data"))
        monkeypatch.chdir(place / "work")
        self.calls.clear()
        done = CliRunner().invoke(app, [part.format(**self.names) for part in arguments])
        error, refusal = done.exception, ""
        if isinstance(error, InputError):
            refusal = str(error)
        elif done.exit_code == 2:
            refusal = done.stderr.strip().splitlines()[-1]
        elif error is not None and not isinstance(error, SystemExit):
            raise error
        code = 2 if refusal else done.exit_code
        said = self._plain(f"{done.stdout}\n--\n{done.stderr}")
        return Outcome(
            code, refusal, said, self._files(place), self._runs(), tuple(map(self._plain, self.calls))
        )

    def _files(self, place: Path) -> dict[str, bytes]:
        roots = (place / "work", place / "home" / "mine")
        found = sorted(p for root in roots for p in root.rglob("*") if p.is_file())
        return {p.relative_to(place).as_posix(): _content(p) for p in found}

    def _runs(self) -> tuple[str, ...]:
        found = runs.RunStore().list()
        rows = [(r.kind, r.title, r.status, json.dumps(r.config, sort_keys=True)) for r in found]
        return tuple(sorted(self._plain(str(row)) for row in rows))

    def _plain(self, text: str) -> str:
        """Without what differs from one moment to the next; what has a name is called by it."""
        for name in ("run", "run_2", "file_run", "live", "stopped"):
            text = text.replace(self.names.get(name, "?"), f"<{name}>")
        text = re.sub(r"\b[\d.]+ ([kMG]?B|GiB|MiB)\b", "SIZE", text)
        text = re.sub(r"\d{8}-\d{9}-[0-9a-f]+", "RUN", text)
        text = re.sub(r"[\w/]*/tmp\w{8}\b", "TEMPORARY", text)
        text = re.sub(r"g-(?!0123abcd)[0-9a-f]{8,}", "GROUP", text)
        text = re.sub(
            r'"(seconds\w*|measured_in|created|started|ended|heartbeat)": [\d.e+-]+', r'"\1": 0', text
        )
        return re.sub(r"\b\d+(\.\d+)? (s|min)\b", "TIME", text)


def _state(folder: Path) -> frozenset[tuple[Any, ...]]:
    """Every file below, with what changes when it is written, and every folder."""
    found: list[tuple[Any, ...]] = []
    for at, _, names in os.walk(folder):
        files = ((name, os.lstat(f"{at}/{name}")) for name in names)
        found += [(at,), *((at, name, stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in files)]
    return frozenset(found)


def _content(path: Path) -> bytes:
    """A file's bytes without times; of weights and archives that they are there, and how large."""
    data = path.read_bytes()
    if path.suffix in (".zip", ".safetensors", ".npz"):
        return f"{len(data)} bytes".encode()
    return re.sub(rb'"(seconds\w*|created|started|ended)": [\d.e+-]+|\d{4}-\d{2}-\d{2}[T ][\d:]+', b"", data)


# ---- what stands in for the work itself


class Saver:
    """A model that writes itself down."""

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text("{}")


def epoch(iteration: int) -> Any:
    record = {"iteration": iteration, "loss": None, "validation": {}, "seconds": 0.0, "note": ""}
    record |= {"parameters": {"trained": 1, "total": 2}, "test": {"retrieval": {}}}
    return Iteration(record, {}, Saver(), lambda folder: None)


def ladder_record(benchmark: str, model: str, device: str, seed: int, runs: int, *_: Any) -> dict[str, Any]:
    found = {
        "benchmark": benchmark,
        "model": model,
        "seed": seed,
        "runs": runs,
        "n_groups": 300,
        "shape": "2x2",
    }
    return found | {"rungs": [], "steps": [], "verdict": []}


def noting(calls: list[str], name: str, answer: Any = None) -> Any:
    """A function that notes how it was called."""

    def called(*given: Any, **more: Any) -> Any:
        shown = [
            g for g in given if isinstance(g, str | int | float | Path | dict | list | ThisMachine | None)
        ]
        named = {k: v for k, v in more.items() if not callable(v)}
        calls.append(f"{name} {json.dumps([shown, named], default=str, sort_keys=True)}")
        return answer(*given, **more) if callable(answer) else answer

    return called


def toy_winoground() -> Any:
    """Winoground's own facts, with toy groups in place of its data."""

    def read(folder: Any, split: str) -> Iterable[Group]:
        return Toys().load("toy/pairs", split).groups

    known = datasets.benchmark_entry("winoground")
    assert known is not None
    return replace(known, read=read, layout=(), counts={})


def everywhere(monkeypatch: pytest.MonkeyPatch, original: Any, stand_in: Any) -> None:
    """Put something in the place of a function wherever a module has imported it."""
    modules = [m for name, m in sys.modules.items() if name.partition(".")[0] == "core"]
    places = [(m, name) for m in modules for name, value in vars(m).items() if value is original]
    assert places, original
    for module, name in places:
        monkeypatch.setattr(module, name, stand_in)


def canned_of(job: Any, steps: Iterable[Any]) -> Iterator[Any]:
    """Steps that stand in for a run's, with scores of as many groups as the run has."""
    if job.kind not in ("ttm", "simplematch"):
        return iter(steps)
    count = len(job.load_groups())
    return (
        each._replace(arrays={**each.arrays, "scores": each.arrays["scores"][:count]})
        if "scores" in each.arrays
        else each
        for each in steps
    )


def stand_ins(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    """No run gets a process, nothing is fetched or uploaded, and where the world does not train it answers at once."""
    for command in COMMANDS.values():
        import_module(f"core.cli.{command.module}")
    monkeypatch.setitem(datasets.DATASETS, "toy", Toys())
    monkeypatch.setitem(datasets.DATASETS["winoground"].benchmarks, "winoground", toy_winoground())
    monkeypatch.setattr(
        runs, "HEARTBEAT_TIMEOUT", 1e9
    )  # a run that waits has no worker here, and is not dead for that

    def noted(real: Any) -> Any:
        def execute(job: Any, *given: Any, **more: Any) -> Iterator[Any]:
            world.calls.append(json.dumps(job.written(), sort_keys=True))
            return real(job, *given, **more) if world.trains else canned_of(job, world.canned[job.kind])

        return execute

    def planned(store: Any, table: str, seeds: int, **_: Any) -> Any:
        return papers.table_plan(store, table, seeds)

    def epochs(job: Any, *_: Any, **__: Any) -> Iterator[Any]:
        world.calls.append(json.dumps(job.written(), sort_keys=True))
        return iter([epoch(0), epoch(1)])

    def ended(real: Any) -> Any:  # what is canned has one iteration, whatever was asked for
        return lambda job, records: real(job, records) if world.trains else len(records) > 1

    for kind in (ttm_run.AdaptationRun, ttm_run.LedgerRun):
        monkeypatch.setattr(kind, "execute", noted(kind.execute))
    for kind in (ttm_run.TTMRun, ttm_run.SimpleMatchRun, cola_run.StrategyRun):
        monkeypatch.setattr(kind, "is_over", ended(kind.is_over))
    monkeypatch.setattr(cola_run.StrategyRun, "execute", epochs)
    monkeypatch.setattr(rates, "_trial", lambda job, lr: rates._RateTrial(lr, -abs(lr - 3e-3), {}, None))
    monkeypatch.setattr(Ladder, "measured", noting(world.calls, "measured", ladder_record))
    needs = {
        "images": 9,
        "queries": 9,
        "steps": 9,
        "disk": 1e9,
        "memory": 1e9,
        "seconds": 60.0,
        "measured_in": 9.0,
    }
    monkeypatch.setattr(cola_run.StrategyRun, "forecast", lambda job: needs)
    everywhere(monkeypatch, forgetting.unadapted_sets, lambda benchmark: ["toy/others"])
    for original, answer in (
        (processes.start_module, processes.ProcessIdentity(1, 0.0, "of no machine")),
        (cola_table.run_jobs, pd.DataFrame({"strategy": []})),
        (load_scorer, load_scorer),
        (papers.run_table, planned),
        (run_sweep, None),
        (run_on_ray, None),
        (pretrain, "a folder"),
        (fetch.fetch_benchmark, []),
        (rehearsal.rehearse, REHEARSED),
        (model.push_model, "https://hub"),
    ):
        everywhere(monkeypatch, original, noting(world.calls, original.__name__, answer))
    trials = noting(world.calls, "with_trials", lambda plan, **_: plan)
    monkeypatch.setattr(papers.TablePlan, "with_trials", trials)
