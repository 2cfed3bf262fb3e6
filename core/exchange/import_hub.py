"""A data set of the Hugging Face hub: its Parquet files alone, so that no script of it ever runs.

Hub data sets are kept as Parquet, by their authors or by the hub itself (the branch `refs/convert/parquet`). Fetching
needs `huggingface_hub`, which transformers brings along, and no `datasets` library.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from core.base.errors import InputError, unknown_name
from core.base.hub import hub_request
from core.exchange.importing import MAX_UPLOAD, split_of

_CONVERTED = "refs/convert/parquet"
_OTHERWISE = "add a folder with its Parquet files"


class _ParquetPart(NamedTuple):
    """One split of one configuration."""

    config: str
    split: str
    revision: str
    files: tuple[str, ...]
    bytes: int

    @property
    def name(self) -> str:
        """`test`, or `config/test` where there are several configurations."""
        return f"{self.config}/{self.split}" if self.config not in ("", "default", "data") else self.split


def list_parts(name: str, token: str | None = None) -> list[_ParquetPart]:
    """The splits of a data set that are there as Parquet.

    Raises InputError, in one sentence, offline, for an unknown name, for one whose conditions must be accepted first,
    and for one that holds no Parquet.
    """
    with hub_request(name, _OTHERWISE, "data set"):
        from huggingface_hub import HfApi
        from huggingface_hub.errors import RevisionNotFoundError

        api = HfApi(token=token)
        for revision in (None, _CONVERTED):
            try:
                info = api.dataset_info(name, revision=revision, files_metadata=True, timeout=20)
            except RevisionNotFoundError:
                continue
            found = _parts(info, revision or info.sha or "main")
            if found:
                return found
    raise InputError(
        f"The data set {name!r} holds no Parquet files; download it, write a manifest.csv, and add the folder."
    )


def _parts(info: Any, revision: str) -> list[_ParquetPart]:
    grouped: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for file in info.siblings or ():
        path = PurePosixPath(file.rfilename)
        if path.suffix == ".parquet":
            split = split_of(path)
            config = path.parts[0] if len(path.parts) > 1 and path.parts[0] != split else ""
            grouped.setdefault((config, split), []).append((file.rfilename, int(file.size or 0)))
    return [
        _ParquetPart(
            config, split, revision, tuple(sorted(name for name, _ in files)), sum(size for _, size in files)
        )
        for (config, split), files in sorted(grouped.items())
    ]


def fetch_parts(
    name: str,
    split: str,
    progress: Callable[[str, float], None] | None = None,
) -> list[Path]:
    """Fetch a split's Parquet files into the hub's own cache; returns their paths, for `open_table`.

    split : a `_ParquetPart.name`. Raises InputError as `list_parts` does, for an unknown split, and for more than
    MOST_UPLOAD bytes.
    """
    known = {part.name: part for part in list_parts(name)}
    if split not in known:
        raise unknown_name("split", split, known)
    part = known[split]
    if part.bytes > MAX_UPLOAD:
        raise InputError(
            f"The split {split!r} of {name} takes {part.bytes >> 20} MiB, more than the {MAX_UPLOAD >> 20} allowed; "
            "download a part of it and add the folder."
        )
    paths = []
    with hub_request(name, _OTHERWISE, "data set"):
        from huggingface_hub import hf_hub_download

        for done, file in enumerate(part.files):
            if progress is not None:
                progress(file, done / len(part.files))
            paths.append(Path(hf_hub_download(name, file, repo_type="dataset", revision=part.revision)))
    return paths
