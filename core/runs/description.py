"""What a run computes: its description, checked when it is made and written as JSON, and how it is carried out.

A kind of run is one class: a `RunDescription` with its own fields, `settings` and `execute`, named in
`core.run_kinds`; nothing else has to know it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import AfterValidator, field_validator

from core.base import files
from core.base.errors import InputError
from core.base.settings import Settings
from core.runs.models import adapted_model
from core.runs.store import RunStore

if TYPE_CHECKING:  # a description is read, compared and written without numpy and torch
    import numpy as np

    from core.scorers.base import Trainable

Stop = Callable[[], bool]  # asked often: whether to end now
Progress = Callable[[float, str], None]  # share done, in [0, 1], and what is being done


class _Share(float):
    """A share done as a bar shows it, of finished iterations and of the one at work, that knows the share of the time
    that it stands for: some iterations take longer than others."""

    work: float

    @classmethod
    def of(cls, shown: float, work: float) -> _Share:
        share = cls(shown)
        share.work = work
        return share


# Fields that no result depends on.
_FREE = ("device", "preset", "group", "cell", "sweep", "embeddings_content")
# Fields that are written where they are set.
_RARE = ("shape", "tags", "embeddings", "embeddings_content", "scale", "group", "cell", "sweep")


class Iteration(NamedTuple):
    """One finished iteration (epoch, round) of a run; 0 is the state before, and all there is of a measurement."""

    record: dict[str, Any]  # JSON-safe: iteration, seconds, note, metrics, and what its kind has besides
    arrays: dict[str, np.ndarray]  # for the run's folder
    model: Trainable | None = None  # as it is now; it changes with the next iteration
    save_state: Callable[[Path], None] | None = None  # writes what else it takes to go on from here


class Remains(NamedTuple):
    """What earlier attempts have left of a run."""

    folder: Path
    checkpoint: Path | None = None
    records: Sequence[Mapping[str, Any]] = ()  # of the iterations up to the checkpoint's


def check_device(name: str) -> str:
    """The name itself; InputError for what can be no device, before anybody waits for one. Imports no torch."""
    if not re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", name):
        raise InputError(f"Unknown device {name!r}; use auto, cpu, cuda, cuda:1 or mps.")
    return name


class RunDescription(Settings):
    """What every kind of run has in common. `settings` are written under the name of the kind."""

    kind: ClassVar[str]

    benchmark: str
    split: str = "test"
    model: str
    device: Annotated[str, AfterValidator(check_device)] = "auto"
    group: str | None = None  # of the seeds that it belongs to
    cell: str | None = None  # its key in the sweep that started it
    sweep: str | None = None
    settings: Any

    @field_validator("settings", mode="before")
    @classmethod
    def _read_settings(cls, value: Any) -> Any:
        made = cls.model_fields["settings"].annotation
        return made(**value) if made is not None and isinstance(value, Mapping) else value

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> Self:
        """The description that a stored run has; what other versions have written besides is passed over."""
        found = {"settings": config.get(cls.kind, {}), **config}
        return cls(**{name: found[name] for name in cls.model_fields if found.get(name) is not None})

    def written(self) -> dict[str, Any]:
        """As it is stored, ready for JSON."""
        found = {n: v for n, v in self.to_dict().items() if n not in _RARE or v is not None}
        found[self.kind] = found.pop("settings")
        return found

    @property
    def seed(self) -> int:
        return self.settings.seed

    def with_seed(self, seed: int, group: str | None = None) -> Self:
        """The same with another seed; one of a `group` of seeds, if given."""
        settings = self.settings.updated({"seed": seed})
        return self.model_copy(update={"settings": settings, "group": group or self.group})

    def same(self, config: Mapping[str, Any]) -> bool:
        """Whether a written description is of the same computation, whatever the seed."""
        if self.kind not in config or any(config.get(n) != getattr(self, n) for n in ("benchmark", "model")):
            return False
        with suppress(InputError):  # of another version, or imported
            free = ("seed", "micro_batch")
            return self.read(config)._decisive(*free) == self._decisive(*free)
        return False

    @property
    def key(self) -> str:
        """sha256 (hex) of what decides the result: equal keys mean the same computation.

        A model that is a folder counts by the content of its files, so that training it anew makes another key.
        """
        folder, content = Path(self.model), self._decisive()
        if folder.is_absolute() and folder.is_dir():
            content["model"] = _content(folder, _stamp(folder))
        written = json.dumps({"kind": self.kind, **content}, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(written.encode()).hexdigest()

    def _decisive(self, *free: str) -> dict[str, Any]:
        """What is written, without what the result does not depend on; of the settings also without `free`."""
        found = {
            n: v for n, v in self.written().items() if n not in _FREE and v is not None and v is not False
        }
        found[self.kind] = {n: v for n, v in found[self.kind].items() if n not in ("shard", *free)}
        return found

    # ---- carried out

    @property
    def total(self) -> int:
        """How many iterations follow iteration 0, at most; 0 of a measurement, which trains nothing."""
        return 0

    def is_over(self, records: Sequence[Mapping[str, Any]]) -> bool:
        """Whether these records of finished iterations, from iteration 0 on, are those of a complete run."""
        return len(records) > self.total

    def check_ready(self) -> None:
        """Raise InputError where data or a model are not on this machine, in the sentence that `execute` would say.

        Nothing is downloaded or computed. The model of a run that still works may be waited for.
        """
        _, is_run, run_id = self.model.rpartition("run/")
        if is_run and not Path(self.model).is_absolute():
            store = RunStore()
            if not store.get(run_id).live:
                adapted_model(store, run_id)

    def execute(
        self, remains: Remains | None = None, stop: Stop | None = None, progress: Progress | None = None
    ) -> Iterator[Iteration]:
        """Load what is described and compute, one item per finished iteration; from 0 on, or where `remains` end.

        stop : asked often; when it says so the iterator ends, and drops an iteration that was begun.
        """
        raise NotImplementedError

    def card(self, model: Path, records: Sequence[Mapping[str, Any]]) -> str:
        """The README of the final model in this folder, from the records of all iterations."""
        raise NotImplementedError


def _stamp(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Names, sizes and times of the files: what shows that they changed."""
    found = sorted(p for p in folder.rglob("*") if p.is_file())
    return tuple((p.relative_to(folder).as_posix(), p.stat().st_size, p.stat().st_mtime_ns) for p in found)


@lru_cache(maxsize=256)
def _content(folder: Path, stamp: tuple[tuple[str, int, int], ...]) -> str:
    """A hash of a folder's files by name and content."""
    sums = {name: files.checksum(folder / name) for name, _, _ in stamp}
    return hashlib.sha256(json.dumps(sums, sort_keys=True).encode()).hexdigest()
