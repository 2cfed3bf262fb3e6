"""A run over several seeds as one thing: started together, reported as mean and standard deviation.

Each seed is a run of its own in the store; `config["group"]` says which belong together. The result of a seed is its
last iteration, never its best one: choosing that would read the truth.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from core.base.errors import InputError
from core.base.text import _KEPT, counted
from core.datasets.embeddings import parse_shape
from core.runs.description import RunDescription
from core.runs.engine import runs_that_count, start
from core.runs.store import Run, RunStore
from core.ttm.run import RUNS, AdaptationRun, adaptation

if TYPE_CHECKING:
    import numpy as np

_MAX_SEEDS = 64  # seeds of a group
_Described = TypeVar("_Described", bound=RunDescription)
# Columns of a record that are numbers of the run itself, besides the metrics.
_PER_SEED = ("threshold", "coverage", "precision", "fitted", "loss", "seconds")


class SeedSpread(NamedTuple):
    """Mean and standard deviation (None for one seed) over `seeds` seeds; which deviation is up to `spread`."""

    mean: float
    std: float | None
    seeds: int


def seeded(run: _Described, count: int, group: str | None = None) -> list[_Described]:
    """A description with its own seed and those that follow, `count` in all; `group` is noted in each."""
    if not 1 <= count <= _MAX_SEEDS:
        raise InputError(f"{count} seeds were asked for; choose 1 to {_MAX_SEEDS}.")
    return [run.with_seed(run.seed + i, group) for i in range(count)]


def launch_seeds(store: RunStore, title: str, run: RunDescription, count: int) -> tuple[str, list[Run]]:
    """Start a description over `count` seeds in the background; the group's id and its runs, which queue up."""
    group = _new_group()
    every = seeded(run, count, group)
    run.check_ready()
    return group, [start(store, f"{title} · seed {each.seed}", each, check=False) for each in every]


_SEEDLESS = (
    "**Nothing in this run depends on the seed:** every iteration trains on one batch that holds all its groups, and "
    "embeddings have neither augmentation nor dropout. Several seeds would be copies of one run, their scores the same "
    "to rounding; a batch of fewer groups is what makes seeds differ."
)


def _is_seedless(job: RunDescription, groups: int) -> bool:
    """Whether every seed of a run on so many groups is known to be the same but for rounding: on embeddings, where a
    seed does nothing but order the batches, all groups fit one."""
    if not isinstance(job, AdaptationRun) or job.kind not in RUNS or not job.embeddings:
        return False
    from core.ttm._train import batch_size  # torch

    images, _ = parse_shape(job.shape or "2x2")
    return batch_size(groups, job.settings.units(images)) >= groups


def _warning_of_copies(job: RunDescription, count: int, groups: int) -> str:
    """That so many seeds would be copies of one run, without marks; "" where they would not be, or are one."""
    return _SEEDLESS.replace("**", "") if count > 1 and _is_seedless(job, groups) else ""


_GROUP = "g-"  # begins a group's id; the rest is that of a run, where seeds were added to it


def _named_groups(runs: Sequence[Run]) -> set[str]:
    return {run.config["group"] for run in runs if run.config.get("group")}


def _new_group() -> str:
    """An id that no group has."""
    return _GROUP + secrets.token_hex(4)


def _members(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """The runs of every group by its id, in the order of their seeds, and every other run by its own.

    Two runs of one seed in a group are one result: the one that counts stays, the other stands by itself. runs : the
    newest first, as a store lists them.
    """
    named, together = _named_groups(runs), dict[str, list[Run]]()
    for run in runs:
        added = _GROUP + run.id
        together.setdefault(run.config.get("group") or (added if added in named else run.id), []).append(run)
    found: dict[str, list[Run]] = {}
    for name, own in together.items():
        counting = runs_that_count(reversed(own), seed_of).values() if len(own) > 1 else own
        found[name] = sorted(counting, key=seed_of)
        found |= {run.id: [run] for run in own if run not in found[name]}
    return {name: own for name, own in found.items() if own}


def group_runs(store: RunStore, group: str) -> list[Run]:
    """The runs of a group, by seed, each seed once; InputError where there are none."""
    runs = store.list()
    if group not in _named_groups(runs):
        raise InputError(
            f"There is no group of runs {group!r} here; `crossmatch runs list` has those that are."
        )
    return _members(runs)[group]


class SeedGroup(NamedTuple):
    """What is shown as one: the seeds of a group, or a run that belongs to none."""

    id: str  # of the group or of the run
    runs: list[Run]  # by seed

    @classmethod
    def named(cls, store: RunStore, name: str) -> SeedGroup:
        """A run by its id, or the seeds of a group (`g-...`). InputError where it is not here."""
        return cls(name, group_runs(store, name) if name.startswith(_GROUP) else [store.get(name)])

    @property
    def seconds_left(self) -> float | None:
        """Until the last seed has ended; None where nobody knows yet, or where none is at work.

        One that waits is expected to take as long as those take that have ended or are at work. As many as are at work
        now are taken to share what is left.
        """
        own, lengths = [], []
        for run in self.runs:
            if run.live and run.status != "queued":
                if run.seconds_left is None:
                    return None
                own.append(run.seconds_left)
                lengths.append(time.time() - (run.started or time.time()) + run.seconds_left)
            elif run.status == "finished" and run.started and run.ended:
                lengths.append(run.ended - run.started)
        if not own:
            return None
        waiting = sum(run.status == "queued" for run in self.runs)
        return max(*own, (sum(own) + waiting * sum(lengths) / len(lengths)) / len(own))

    @property
    def given_name(self) -> str:
        """The title without its seed where it is a person's own, that is where set and model are not both in it; else
        ""."""
        first = self.runs[0]
        title = first.title.removesuffix(f" · seed {seed_of(first)}")
        named = [str(first.config.get(key) or "") for key in ("benchmark", "model")]
        return "" if all(named) and all(name in title for name in named) else title

    def rename(self, store: RunStore, name: str) -> None:
        """Give all its runs a title, each with its seed where there are several. InputError for an empty one."""
        for run in self.runs:
            seed = f" · seed {seed_of(run)}" if len(self.runs) > 1 and name.strip() else ""
            store.rename(run.id, f"{name}{seed}")

    @property
    def title(self) -> str:
        """The title without its seed, and how many seeds there are."""
        if len(self.runs) == 1:
            return self.runs[0].title
        seeds = sorted(seed_of(run) for run in self.runs)
        consecutive = seeds[-1] - seeds[0] == len(seeds) - 1
        numbers = f"{seeds[0]}–{seeds[-1]}" if consecutive else ", ".join(map(str, seeds))
        return f"{self.runs[0].title.removesuffix(f' · seed {seeds[0]}')} · seeds {numbers}"

    @property
    def status(self) -> str:
        """The status of the run that needs the most attention; "finished" when all are."""
        return min((run.status for run in self.runs), key=_ATTENTION.index)

    @property
    def created(self) -> float:
        """When the newest of them was created, seconds since the epoch."""
        return max(run.created for run in self.runs)

    @staticmethod
    def of_run(store: RunStore, run: Run) -> str:
        """The id of the group that a run belongs to; "" where it has none."""
        every = _members(store.list())
        mine = (name for name, own in every.items() if name != run.id and run.id in [each.id for each in own])
        return next(mine, "")

    @staticmethod
    def extend(store: RunStore, name: str, count: int) -> tuple[str, list[Run]]:
        """Start the seeds that follow those of a group, or of a single run, which becomes the first of a group.

        name : id of a group or of a run. Returns the group's id and the new runs, which queue up.
        """
        own = group_runs(store, name) if name.startswith(_GROUP) else [store.get(name)]
        if not 1 <= count <= _MAX_SEEDS - len(own):
            raise InputError(
                f"{counted(count, 'more seed')} cannot be added to {counted(len(own), 'seed')}: "
                f"{_MAX_SEEDS} is the most that one group has."
            )
        after = max(map(seed_of, own)) + 1
        return SeedGroup._add(store, own, range(after, after + count))

    @staticmethod
    def _add(store: RunStore, own: Sequence[Run], seeds: Sequence[int]) -> tuple[str, list[Run]]:
        """Start these seeds of a run, or of a group, whose runs are `own`; as `extend` returns them."""
        first = own[0]
        group = SeedGroup.of_run(store, first) or _GROUP + first.id
        every = [adaptation(first.config).with_seed(seed, group) for seed in seeds]
        every[0].check_ready()
        title = first.title.removesuffix(f" · seed {seed_of(first)}")
        return group, [start(store, f"{title} · seed {each.seed}", each, check=False) for each in every]


_ATTENTION = ("running", "stopping", "queued", "failed", "interrupted", "stopped", "finished")


def sweeps(runs: Sequence[Run]) -> list[SeedGroup]:
    """Runs as they are shown, the newest first: seeds of one group together, every other run by itself."""
    groups = [SeedGroup(name, own) for name, own in _members(runs).items()]
    return sorted(groups, key=lambda group: group.created, reverse=True)


def seed_of(run: Run) -> int:
    """The seed of a run of any kind; 0 for one that has none."""
    return run.config.get(run.kind, {}).get("seed", 0)


def summary(records: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Mean and standard deviation over seeds, one row per iteration that any seed has finished. JSON-safe.

    records : per seed the records of its iterations, from 0 on. A row has `iteration`, `seeds` (how many have finished
    it), `metrics` and, of a transfer check, `parts` (name -> metrics), each a dict of name -> mean, std (percentage
    points), seeds, chance, and the run's own numbers (coverage, precision, loss, ...) likewise, None where no seed has
    any. Standard deviations are of a sample (n - 1), None for one seed.
    """
    longest = max((len(steps) for steps in records), default=0)
    return [_row([steps[i] for steps in records if i < len(steps)]) for i in range(longest)]


def final_values(
    records: Sequence[Sequence[Mapping[str, Any]]], configs: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """`summary`'s row for the results: every complete seed's last iteration; None while no seed is complete.

    configs : the runs' written descriptions, which say when a run is complete.
    """
    ended = [s[-1] for s, config in zip(records, configs, strict=True) if adaptation(config).is_over(s)]
    return _row(ended) if ended else None


def _row(steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    row: dict[str, Any] = {"iteration": max(step["iteration"] for step in steps), "seeds": len(steps)}
    for name in _PER_SEED:
        values = [step[name] for step in steps if step.get(name) is not None]
        row[name] = spread(values)._asdict() if values else None
    row["metrics"] = _metrics([step["metrics"] for step in steps])
    if all("parts" in step for step in steps):
        parts = steps[0]["parts"]
        row["parts"] = {part: _metrics([step["parts"][part]["metrics"] for step in steps]) for part in parts}
    return row


def _metrics(seeds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = [name for name in seeds[0] if all(name in metrics for metrics in seeds)]
    values = {name: [metrics[name]["value"] for metrics in seeds] for name in names}
    return {name: {**spread(values[name])._asdict(), "chance": seeds[0][name]["chance"]} for name in names}


def spread(values: Sequence[float] | np.ndarray, population: bool = False) -> SeedSpread:
    """Mean and standard deviation of one value per seed.

    population : divide by n, as the paper on test-time matching does (all 13 of its Table 1 fit only that); else the
    deviation of a sample, n - 1.

    >>> spread([1.0, 2.0, 3.0]), spread([1.0, 3.0], population=True).std
    (SeedSpread(mean=2.0, std=1.0, seeds=3), 1.0)
    """
    import numpy as np

    array = np.asarray(values, dtype=np.float64)
    std = round(float(array.std(ddof=0 if population else 1)), _KEPT) if len(array) > 1 else None
    return SeedSpread(round(float(array.mean()), _KEPT), std, len(array))
