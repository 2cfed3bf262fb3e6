"""What a benchmark from outside is: an entry of facts with its reader, and families of entries that share a folder."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from core.base.errors import InputError, unknown_name
from core.base.paths import data_roots
from core.datasets._file_reading import DatasetFolder
from core.datasets.downloads import next_step, sources
from core.datasets.paper_results import CITATIONS
from core.datasets.sets import GraphSet, RetrievalSet, SceneGraph
from core.groups import Group, GroupSet

# read(folder, split): the groups or scene graphs of a folder, or its retrieval set.
_Read = Callable[[DatasetFolder, str], Iterable[Group] | Iterable[SceneGraph] | RetrievalSet]

GROUPS, RETRIEVAL, GRAPHS = "groups", "retrieval", "scene graphs"


@contextmanager
def _collection_paused() -> Iterator[None]:
    """While millions of small objects are made that all stay, Python looks for no garbage among them: of GQA's graphs
    it went through all of them again and again, for two thirds of the time."""
    if not gc.isenabled():  # around this one, or in another thread: whoever paused it ends it
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@dataclass(frozen=True)
class Benchmark:
    """One benchmark: facts about it, and how it is read. Reading never downloads."""

    name: str
    title: str
    source: str  # where upstream describes it
    licence: str
    citation: str  # a key of core.datasets.paper_results.CITATIONS, or BibTeX itself
    metric: str  # the official one: a key of core.datasets.paper_results.UNITS; "" for scene graphs
    read: _Read
    layout: tuple[str, ...]  # what the folder must hold; `|` and `name:path` as in `DatasetFolder`
    # And what the folder must hold for a split alone.
    split_layout: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shape: tuple[int, int] | None = None  # (m, k) of every group; None where it varies
    counts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # split -> right numbers of items
    queries: int | None = None  # of a retrieval set, where published
    note: str = ""  # what a reader of results must know: deviations, corrections, what is left out
    tags: tuple[str, ...] = ()
    splits: tuple[str, ...] = ("test",)
    reference: tuple[str, str] | None = None  # dataset and subset in core.datasets.paper_results' tables
    kind: str = GROUPS
    download: str = ""  # key in the manifest of core.datasets.downloads, where it has one; "" is the family's

    @property
    def family(self) -> str:
        """The first part of the name: its key in the registry and its folder in a data root."""
        return self.name.partition("/")[0]

    def folder(self) -> Path | None:
        """Where its data lie here: the first folder that has everything, else the first that exists."""
        present = [path for root in data_roots() if (path := root / self.family).is_dir()]
        return next((path for path in present if not self.missing(path)), present[0] if present else None)

    def _parts(self, splits: Sequence[str]) -> dict[str, None]:
        """The layout, and that of some splits, each part once."""
        return dict.fromkeys(
            (*self.layout, *(where for s in splits for where in self.split_layout.get(s, ())))
        )

    def missing(self, folder: Path, splits: Sequence[str] = ()) -> list[str]:
        """The parts of the layout, and of that of some splits, that a folder does not have."""
        return [where for where in self._parts(splits) if DatasetFolder(folder).find(where) is None]

    def file_facts(self, folder: Path, splits: Sequence[str] = ()) -> list[tuple[str, int, int]]:
        """Path, size in bytes and time in ns of those parts that are there: what shows that files changed."""
        found = [DatasetFolder(folder).find(where) for where in self._parts(splits)]
        return [(str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in found if p is not None]

    def state(self, splits: Sequence[str] = ()) -> str:
        """`found at PATH`, or `needs: ` and the exact next step; splits : those whose own files are looked for too."""
        folder = self.folder()
        missing = self.missing(folder, splits) if folder else []
        if folder and not missing:
            return f"found at {folder}"
        target = folder or data_roots()[0] / self.family
        what = f"{' and '.join(part.partition('|')[0].strip() for part in missing)}; " if missing else ""
        key = self.download or self.family
        source = sources().get(key)
        if source is None:
            return f"needs: {what}get it from {self.source}, and put it into {target}"
        command = f"run `crossmatch fetch {key}`, or " if source.items or source.hub else ""
        return f"needs: {what}{command}{next_step(key, target)}"

    def load(self, split: str | None, folder: Path | None, images: bool, partial: bool) -> Any:
        """The set from `folder` or where it was found, checked against the published counts, with its facts."""
        split = split or self.splits[0]
        if split not in self.splits:
            raise unknown_name("split", split, self.splits)
        path = self._existing_folder(folder)
        facts: dict[str, Any] = {
            "name": self.name if split == "test" else f"{self.name} ({split})",
            "title": self.title,
            "description": self.note,
            "source": self.source,
            "licence": self.licence,
            "citation": CITATIONS.get(self.citation, self.citation),
        }
        with _collection_paused():
            items: Any = self.read(DatasetFolder(path, images), split)
            if self.kind == RETRIEVAL:
                loaded = replace(items, **facts)
            elif self.kind == GRAPHS:
                loaded = GraphSet(split=split, graphs=tuple(items), **facts)
            else:
                loaded = GroupSet(groups=tuple(items), **facts)
        if not partial:
            self._check(loaded, split, path)
        return loaded

    def check_files(self, folder: Path | None = None, splits: Sequence[str] = ()) -> None:
        """Raise InputError where the folder, or a part of the layout or of that of some splits, is not there."""
        path = self._existing_folder(folder)
        for where in self.missing(path, splits):
            DatasetFolder(path).require(where)

    def _existing_folder(self, folder: Path | None) -> Path:
        """The folder itself, or where the data were found."""
        path = Path(folder).expanduser() if folder else self.folder()
        if path is None:
            raise InputError(f"{self.title} is not here; it {self.state()}")
        if not path.is_dir():
            raise InputError(f"The folder {path} does not exist; check the path.")
        return path

    def _check(self, loaded: GroupSet | RetrievalSet | GraphSet, split: str, path: Path) -> None:
        """Raise InputError where it is not of the published counts and shape."""
        expected = self.counts.get(split, ())
        fault = ""
        if expected and len(loaded) not in expected:
            fault = f"{len(loaded)} items for {self.name} ({split}), upstream has {expected[0]}; complete the folder"
        elif isinstance(loaded, RetrievalSet) and self.queries not in (None, len(loaded.queries)):
            fault = (
                f"{len(loaded.queries)} queries for {self.name}, upstream has {self.queries}; "
                "download its annotation file again"
            )
        elif isinstance(loaded, GroupSet) and self.shape is not None and set(loaded.shapes) != {self.shape}:
            fault = (
                f"groups of shapes {sorted(loaded.shapes)} for {self.name}, upstream has {self.shape} alone; "
                "download its annotation file again"
            )
        if fault:
            raise InputError(f"{path} gives {fault}, or, in Python, load it with partial=True.")


# A set of scene graphs: no groups to score, so no metric; what Cola's queries and swaps are made from.
graph_benchmark = partial(Benchmark, metric="", kind=GRAPHS)


class BenchmarkFamily:
    """Benchmarks that share a folder: what stands in the registry under the first part of their names."""

    def __init__(self, benchmarks: Sequence[Benchmark]) -> None:
        self.benchmarks = {b.name: b for b in benchmarks}
        assert len(self.benchmarks) == len(benchmarks)
        assert len({b.family for b in benchmarks}) == 1

    def names(self, kind: str = GROUPS) -> list[str]:
        """Names of the benchmarks of one kind."""
        return [name for name, b in self.benchmarks.items() if b.kind == kind]

    def state(self, name: str) -> str:
        """`found at PATH`, or `needs: ` and the exact next step."""
        return self.benchmarks[name].state()

    def load(
        self,
        name: str,
        split: str | None,
        folder: Path | None = None,
        images: bool = True,
        partial: bool = False,
    ) -> Any:
        """A set of the benchmark's kind; no split means its first."""
        return self.benchmarks[name].load(split, folder, images, partial)
