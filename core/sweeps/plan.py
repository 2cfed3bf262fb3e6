"""A sweep's cells: every model with every benchmark, seed and setting, each with the job that makes it and a key.

The key is a hash of the job's content, so a cell is the same cell in whichever file it is named. What does not change
a result is left out of it: device, preset name (its settings are spelled out), size of shards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from core.base.errors import InputError, unknown_name
from core.datasets import names
from core.runs.description import RunDescription
from core.sweeps.evaluate import SHARD, EvaluationRun
from core.sweeps.yaml_file import check_keys, number, parse_mapping, read_mapping, text, texts
from core.ttm.run import RUNS

KINDS: dict[str, type[RunDescription]] = {EvaluationRun.kind: EvaluationRun, **RUNS}
MAX_CELLS = 10_000  # cells
_COMMON = ("name", "kind", "models", "benchmarks", "split", "groups", "device", "gpus", "cpus", "retries")
_ADAPT = ("seeds", "settings", "grid", "preset", "adapt_on", "split_seed")
_KEYS = {
    "evaluate": (*_COMMON, "shard"),
    "ttm": (*_COMMON, *_ADAPT, "oracle"),
    "simplematch": (*_COMMON, *_ADAPT),
}


class SweepCell(NamedTuple):
    """One thing to compute. `setting` is what people call its settings; `group` is shared by its seeds."""

    kind: str
    model: str
    benchmark: str
    setting: str
    seed: int
    job: RunDescription  # with `group` and `cell`
    key: str
    group: str

    @property
    def title(self) -> str:
        """How a run of this cell is called."""
        parts = [self.model, self.benchmark, *([self.setting] if self.setting else [])]
        head = " · ".join([*parts, self.kind])
        return head if self.kind == "evaluate" else f"{head} · seed {self.seed}"


@dataclass(frozen=True)
class SweepPlan:
    """A sweep: its cells, and what a task of it asks a cluster for."""

    name: str
    cells: tuple[SweepCell, ...]
    gpus: float = 0.0
    cpus: float = 1.0
    retries: int = 8  # times that a task is tried again after its node was lost
    source: Mapping[str, Any] = field(default_factory=dict)  # the file's content, folders named in full


def read_plan(path: Path | str) -> SweepPlan:
    """The sweep in a YAML file. Raises InputError, in one sentence, for whatever is wrong in it.

    Keys: kind (evaluate, ttm, simplematch), models, benchmarks; seeds (a count, or a list), settings (a mapping, or a
    list of mappings, each with an optional label), grid (setting -> list of values; every combination); split, groups,
    preset, adapt_on, split_seed, oracle, device; gpus, cpus and retries of a task; shard (groups of one, evaluate).
    """
    return plan_of(read_mapping(Path(path)), str(path), Path(path).stem)


def parse_plan(data: bytes | str, name: str) -> SweepPlan:
    """As `read_plan`, of a file's content."""
    return plan_of(parse_mapping(data, name), name, name)


def plan_of(found: Mapping[str, Any], where: str, name: str) -> SweepPlan:
    """The sweep that a mapping describes; `where` is what errors call it, `name` the sweep's name if it gives none."""
    kind = text(found.get("kind"), "kind", where) if "kind" in found else "evaluate"
    if kind not in KINDS:
        raise unknown_name("kind of sweep", kind, KINDS)
    check_keys(found, _KEYS[kind], f"{where} (kind {kind})")
    for key in ("models", "benchmarks"):
        if key not in found:
            raise InputError(f"{where} has no {key}; name at least one.")
    models, benchmarks = (texts(found[key], key, where) for key in ("models", "benchmarks"))
    _check_names(benchmarks, where)
    seeds, settings = _seeds(found.get("seeds", 1), where), _settings(found, where)
    _check_count(len(models) * len(benchmarks) * len(seeds) * len(settings), where)
    cells = [
        _cell(kind, model, benchmark, label, seed, options, found, where)
        for benchmark, model, (label, options), seed in product(benchmarks, models, settings, seeds)
    ]
    _check_twice(cells, where)
    asked = {key: number(found[key], key, where, 0) for key in ("gpus", "cpus") if key in found}
    if asked.get("gpus", 0) > 1 and asked["gpus"] % 1:
        raise InputError(f"{where}: gpus is {asked['gpus']}; above 1 it must be a whole number.")
    retries = int(number(found.get("retries", 8), "retries", where, 0, whole=True))
    title = text(found["name"], "name", where) if "name" in found else name
    source = {**found, "name": title, "models": list(dict.fromkeys(cell.job.model for cell in cells))}
    return SweepPlan(title, tuple(cells), **asked, retries=retries, source=source)


def _check_names(benchmarks: list[str], where: str) -> None:
    known = names()
    for name in benchmarks:
        if name not in known:
            raise InputError(f"{where}: {unknown_name('benchmark', name, known)}")


def _seeds(value: Any, where: str) -> list[int]:
    if isinstance(value, list):
        found = [int(number(each, "seeds", where, 0, whole=True)) for each in value]
        if not found or len(set(found)) < len(found):
            raise InputError(f"{where}: seeds is {value!r}; list different whole numbers, or say how many.")
        return found
    count = int(number(value, "seeds", where, 1, whole=True))
    _check_count(count, where)
    return list(range(count))


def _check_count(cells: int, where: str) -> None:
    """Raise InputError for more cells than a sweep may have, before they are listed."""
    if cells > MAX_CELLS:
        raise InputError(f"{where} asks for {cells:,} cells; a sweep has at most {MAX_CELLS:,}; split it.")


def _settings(found: Mapping[str, Any], where: str) -> list[tuple[str, dict[str, Any]]]:
    """(label, settings) of every setting, each with every combination of the grid."""
    given = found.get("settings") or {}
    listed = given if isinstance(given, list) else [given]
    grid = found.get("grid") or {}
    if not all(isinstance(each, dict) for each in listed):
        raise InputError(f"{where}: settings must be a mapping such as epochs: 5, or a list of mappings.")
    if not isinstance(grid, dict) or not all(isinstance(v, list) and v for v in grid.values()):
        raise InputError(f"{where}: grid must give every setting a list of values, such as lr: [1e-5, 1e-4].")
    _check_count(len(listed) * prod(map(len, grid.values())), where)
    combinations = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    named = []
    for each, combination in product(listed, combinations):
        options = {**each, **combination}
        label = options.pop("label", None)
        # A label names the listed setting; the grid's values always show.
        shown = combination if label is not None else options
        parts = [*([str(label)] if label is not None else []), *(f"{k} {v}" for k, v in shown.items())]
        named.append((", ".join(parts), options))
    return named


def _cell(
    kind: str,
    model: str,
    benchmark: str,
    label: str,
    seed: int,
    options: Mapping[str, Any],
    found: Mapping[str, Any],
    where: str,
) -> SweepCell:
    groups = found.get("groups")
    if groups is not None:
        groups = int(number(groups, "groups", where, 1, whole=True))
    source: dict[str, Any] = {"split": found.get("split") or "test", "groups": groups}
    source["device"] = found.get("device") or "auto"
    run: RunDescription
    try:
        if kind == EvaluationRun.kind:
            shard = int(number(found.get("shard", SHARD), "shard", where, 1, whole=True))
            run = EvaluationRun.of(benchmark, model, **source, shard=shard)
        else:
            if "seed" in options:
                raise InputError("the seed is not a setting; give seeds.")
            more = {k: found[k] for k in ("preset", "adapt_on", "split_seed", "oracle") if k in found}
            run = RUNS[kind].of(benchmark, model, **source, **more, options={**options, "seed": seed})
    except (InputError, TypeError) as error:
        raise InputError(f"{where}: {error}") from None
    group, key = "g-" + run.with_seed(0).key[:8], run.key
    job = run.model_copy(update={"group": group, "cell": key})
    return SweepCell(kind, model, benchmark, label, seed, job, key, group)


def _check_twice(cells: list[SweepCell], where: str) -> None:
    seen: dict[str, SweepCell] = {}
    for cell in cells:
        other = seen.setdefault(cell.key, cell)
        if other is not cell:
            raise InputError(f"{where} has a cell twice ({cell.title}): two of its settings are equivalent.")
