"""A file where a command takes a benchmark: taken for what it holds where the command can use it, else refused with the
command that can."""

from __future__ import annotations

import shlex
from pathlib import Path

from core import datasets
from core.base.errors import InputError
from core.datasets.packed_tables import _unpacked

_ENDINGS = (".csv", ".parquet", ".npz", ".npy", ".jsonl", ".json", ".zip")


def _is_file(name: str) -> bool:
    """Whether this is a file, or is called like one: by its ending, or as a path."""
    return Path(name).suffix.lower() in _ENDINGS or Path(name).is_file() or _is_missing_path(name)


def _is_missing_path(name: str) -> bool:
    """Whether this names a place where nothing is, and no set: it begins as a path does, or its folder exists and is
    called like no family of sets."""
    path, (folder, slash, _) = Path(name), name.rpartition("/")
    if path.expanduser().exists():
        return False
    if name.startswith(("/", "./", "../", "~")):
        return True
    sets = any(known.startswith(f"{folder}/") for known in datasets.names(None))
    return bool(slash) and not sets and Path(folder).is_dir()


def _is_embeddings(name: str) -> bool:
    from core.teaching.single_group import holds_embeddings  # scipy, which no listing needs

    path = Path(name)
    # The ending first: of any other file the content tells nothing, and it may be large.
    if path.suffix.lower() == ".zip" and path.is_file():
        try:
            packed, content = _unpacked(path)
        except InputError:  # whoever reads it as scores says what it is
            return False
        return content is not None and holds_embeddings(packed.name, content)
    return path.suffix.lower() == ".npz" and path.is_file() and holds_embeddings(path.name, path.read_bytes())


def _is_file_and_no_benchmark(name: str | None) -> bool:
    return name is not None and _is_file(name) and name not in datasets.names(None)


def _scores_or_embeddings(
    name: str | None, scores: Path | None, embeddings: Path | None
) -> tuple[str | None, Path | None, Path | None]:
    """The three with a file that was named first in its place; InputError where an option names another file."""
    if name is None or not _is_file_and_no_benchmark(name):
        return name, scores, embeddings
    if _is_missing_path(name):
        _refuse_missing(name)
    for flag, other in (("--scores", scores), ("--embeddings", embeddings)):
        if other is not None:
            raise InputError(f"{name} is a file, and {flag} names another, {other}; give one of them.")
    return (None, None, Path(name)) if _is_embeddings(name) else (None, Path(name), None)


def _refuse_file(name: str | None, takes: str) -> None:
    """InputError where this is a file, with the command that measures it. takes : what the command asked for takes."""
    if name is not None and _is_file_and_no_benchmark(name):
        _refuse_missing(name)
        raise InputError(
            f"{name} is a file, and {takes}; `{_measuring(name)}` measures scores or embeddings."
        )


def _refuse_missing(name: str) -> None:
    """InputError where there is no such file."""
    if not Path(name).is_file():
        raise InputError(f"There is no file {name}; check the path, or name a benchmark.")


def _measuring(name: str) -> str:
    return shlex.join(["crossmatch", "evaluate", name])
