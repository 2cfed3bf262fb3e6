"""A sweep's file, checked, and its cells: every model with every benchmark, seed and setting, each with its description
and a key.

The key is a hash of the description's content, so a cell is the same cell in whichever file it is named. What does not
change a result is left out of it: device, preset name (its settings are spelled out), size of shards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, Strict, StringConstraints, ValidationInfo

from core.base.errors import InputError, unknown_name
from core.base.settings import Count, Seed, Settings
from core.datasets import names
from core.runs.description import RunDescription
from core.sweeps._yaml_file import parse_mapping, read_mapping
from core.sweeps.evaluate import SHARD, EvaluationRun
from core.ttm.run import RUNS

KINDS: dict[str, type[RunDescription]] = {EvaluationRun.kind: EvaluationRun, **RUNS}
_MAX_CELLS = 10_000  # cells


def _check_count(cells: int) -> None:
    """Raise InputError for more cells than a sweep may have, before they are listed."""
    if cells > _MAX_CELLS:
        raise InputError(f"it asks for {cells:,} cells; a sweep has at most {_MAX_CELLS:,}; split it.")


def _listed(value: Any) -> Any:
    """One of something is a list of one."""
    return value if isinstance(value, list) else [value]


def _counted(value: Any) -> Any:
    """A number of seeds stands for those from 0 on."""
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    _check_count(value)
    return list(range(value))


def _different(values: tuple[Any, ...], info: ValidationInfo) -> tuple[Any, ...]:
    if not values:
        raise InputError(f"The setting {info.field_name} is empty; name at least one.")
    twice, count = Counter(values).most_common(1)[0]
    if count > 1:
        raise InputError(f"The setting {info.field_name} names {twice!r} twice; leave one out.")
    return values


def _known(benchmarks: tuple[str, ...]) -> tuple[str, ...]:
    known = names()
    for name in benchmarks:
        if name not in known:
            raise unknown_name("benchmark", name, known)
    return benchmarks


def _whole_above_one(gpus: float) -> float:
    if gpus > 1 and gpus % 1:
        raise InputError(f"The setting gpus is {gpus}; above 1 it must be a whole number.")
    return gpus


_Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_Names = Annotated[tuple[_Name, ...], Strict(False), BeforeValidator(_listed), AfterValidator(_different)]
_Seeds = Annotated[tuple[Seed, ...], Strict(False), BeforeValidator(_counted), AfterValidator(_different)]
_Amount = Annotated[float, Field(ge=0)]


class _SweepFile(Settings):
    """The keys that a sweep's file may have, whatever its kind."""

    kind: str = EvaluationRun.kind
    name: _Name | None = None  # None: the file's
    models: _Names
    benchmarks: Annotated[_Names, AfterValidator(_known)]
    split: str = "test"
    groups: Count | None = None  # only so many, the first ones
    device: str = "auto"
    # What a task asks a cluster for, and how often it is tried again after its node was lost.
    gpus: Annotated[_Amount, AfterValidator(_whole_above_one)] = 0.0
    cpus: _Amount = 1.0
    retries: Annotated[int, Field(ge=0)] = 8

    def variants(self) -> list[tuple[str, dict[str, Any]]]:
        """(label, settings) of every run of a model on a benchmark, but for its seed."""
        return [("", {})]

    def describe(self, benchmark: str, model: str, settings: Mapping[str, Any], seed: int) -> RunDescription:
        """The description of a cell."""
        raise NotImplementedError

    def _source(self) -> dict[str, Any]:
        return {"split": self.split, "groups": self.groups, "device": self.device}


class _EvaluationFile(_SweepFile):
    shard: Count = SHARD  # groups that are scored at a time

    def describe(self, benchmark: str, model: str, settings: Mapping[str, Any], seed: int) -> RunDescription:
        return EvaluationRun.of(benchmark, model, **self._source(), shard=self.shard)


class _SimpleMatchFile(_SweepFile):
    seeds: _Seeds = (0,)  # a count, or a list
    # Each with an optional label.
    settings: Annotated[tuple[dict[str, Any], ...], Strict(False), BeforeValidator(_listed)] = ({},)
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(default_factory=dict)
    preset: str | None = None
    adapt_on: float | None = None
    split_seed: int = 0

    def variants(self) -> list[tuple[str, dict[str, Any]]]:
        """Every setting with every combination of the grid."""
        listed = self.settings or ({},)
        _check_count(len(listed) * prod(map(len, self.grid.values())))
        combinations = [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]
        named = []
        for each, combination in product(listed, combinations):
            options = {**each, **combination}
            label = options.pop("label", None)
            # A label names the listed setting; the grid's values always show.
            shown = combination if label is not None else options
            parts = [*([str(label)] if label is not None else []), *(f"{k} {v}" for k, v in shown.items())]
            named.append((", ".join(parts), options))
        return named

    def describe(self, benchmark: str, model: str, settings: Mapping[str, Any], seed: int) -> RunDescription:
        if "seed" in settings:
            raise InputError("the seed is not a setting; give seeds.")
        # What the file leaves out is for the description to choose.
        given = self.model_fields_set & {"preset", "adapt_on", "split_seed", "oracle"}
        chosen = {name: getattr(self, name) for name in given}
        return RUNS[self.kind].of(
            benchmark, model, **self._source(), **chosen, options={**settings, "seed": seed}
        )


class _TTMFile(_SimpleMatchFile):
    oracle: bool = False


FILES: dict[str, type[_SweepFile]] = {
    "evaluate": _EvaluationFile,
    "ttm": _TTMFile,
    "simplematch": _SimpleMatchFile,
}


class SweepCell(NamedTuple):
    """One thing to compute. `setting` is what people call its settings; `group` is shared by its seeds."""

    kind: str
    model: str
    benchmark: str
    setting: str
    seed: int
    job: RunDescription  # with `group`, `cell` and `sweep`
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


def plan_of(content: Mapping[str, Any], where: str, name: str) -> SweepPlan:
    """The sweep that a mapping describes; `where` is what errors call it, `name` the sweep's name if it gives none."""
    given = {key: value for key, value in content.items() if value is not None}
    kind = given.get("kind", EvaluationRun.kind)
    try:
        if not isinstance(kind, str) or kind not in FILES:
            raise unknown_name("kind of sweep", str(kind), FILES)
        return _plan(FILES[kind](**given), given, name)
    except InputError as error:
        raise InputError(f"{where} (kind {kind}): {error}") from None


def _plan(file: _SweepFile, given: Mapping[str, Any], name: str) -> SweepPlan:
    variants, seeds, title = file.variants(), getattr(file, "seeds", (0,)), file.name or name
    _check_count(len(file.models) * len(file.benchmarks) * len(variants) * len(seeds))
    cells: dict[str, SweepCell] = {}
    for benchmark, model, (label, settings), seed in product(file.benchmarks, file.models, variants, seeds):
        run = file.describe(benchmark, model, settings, seed)
        group, key = "g-" + run.with_seed(0).key[:8], run.key
        job = run.model_copy(update={"group": group, "cell": key, "sweep": title})
        cell = SweepCell(file.kind, model, benchmark, label, seed, job, key, group)
        if key in cells:
            raise InputError(f"a cell is there twice ({cell.title}): two of its settings are equivalent.")
        cells[key] = cell
    source = {
        **given,
        "name": title,
        "models": list(dict.fromkeys(cell.job.model for cell in cells.values())),
    }
    return SweepPlan(title, tuple(cells.values()), file.gpus, file.cpus, file.retries, source)
