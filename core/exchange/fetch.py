"""`crossmatch fetch`: from a benchmark's name to its files in the data folder. Readers never come here."""

from __future__ import annotations

import re
from pathlib import Path

from core import datasets
from core.base.errors import InputError, unknown_name
from core.base.hub import hub_request
from core.base.paths import data_roots
from core.datasets.downloads import Progress, fetch, next_step, sources

_ABOUT = ("README.md", "LICENSE*", "license*")  # beside the data of a set of the hub: whose it is, its terms


_HERE = ("scenes", "mine")  # families of which nothing has to be fetched


def _download_keys(name: str) -> list[str]:
    """The manifest's keys for a benchmark (`sugarcrepe/swap_obj`), a family (`aro`), or a key itself (`aro/vg`).

    Raises InputError for an unknown name, and for sets that need no fetching.
    """
    found = datasets.benchmark_entry(name) if name in datasets.names(None) else None
    if found is not None:
        key = found.download or found.family
        if key not in sources():
            raise InputError(f"{name} cannot be fetched from here; it {found.state()}.")
        return [key]
    family = [key for key in sources() if key == name or key.partition("/")[0] == name]
    if family:
        return family
    if name.partition("/")[0] in _HERE:
        raise InputError(f"{name} is already available; there is nothing to download.")
    known = [n for n in (*sources(), *datasets.names(None)) if n.partition("/")[0] not in _HERE]
    raise unknown_name("benchmark", name, known)


def fetch_benchmark(name: str, folder: Path | None = None, progress: Progress | None = None) -> list[Path]:
    """Fetch what is public of a benchmark or family; returns what is there now.

    folder : the data set's folder; by default the family's in the first data folder. Raises InputError for what cannot
    be fetched: every step that only a person can do, then what failed. What could be fetched is there then, too.
    """
    have: list[Path] = []
    steps: list[str] = []
    failures: list[str] = []
    for key in _download_keys(name):
        place = (folder or data_roots()[0] / key.partition("/")[0]).expanduser()
        source = sources()[key]
        for attempt in (_from_addresses, _from_hub):
            try:
                have += attempt(key, place, progress)
            except InputError as error:  # the others may come, and have steps
                failures.append(str(error).removesuffix("."))
        if source.step and source.hub is None:
            steps.append(f"{key}: {next_step(key, place)}")
    if steps:
        rest = "The rest of " if have else ""
        steps = [f"{rest}{name} has to be downloaded manually: {'; '.join(steps)}"]
        failures[:1] = [f"and this failed: {failure}" for failure in failures[:1]]
    if steps or failures:
        sentence = re.sub(r"(?<=[;:] )The ", "the ", "; ".join([*steps, *failures]))
        raise InputError(f"{sentence}.")
    return have


def _from_addresses(key: str, folder: Path, progress: Progress | None) -> list[Path]:
    """The files of a data set whose addresses are known."""
    return fetch(key, folder, progress) if sources()[key].items else []


def _from_hub(key: str, folder: Path, progress: Progress | None) -> list[Path]:
    """A data set of the hub with the user's own login; resumed and verified by huggingface_hub."""
    hub = sources()[key].hub
    if hub is None:
        return []
    target = folder / hub.into
    if progress is not None:
        progress(hub.repo, 0.0)
    from huggingface_hub import snapshot_download

    wanted = [*hub.files, *_ABOUT] if hub.files else None
    with hub_request(hub.repo, f"download it manually: {next_step(key, folder)}", "data set"):
        snapshot_download(
            hub.repo, repo_type="dataset", revision=hub.revision, local_dir=target, allow_patterns=wanted
        )
    for pattern in hub.files:
        if not any(target.glob(pattern)):
            raise InputError(
                f"{hub.repo!r} on the hub has no {pattern} any more; look at "
                f"https://huggingface.co/datasets/{hub.repo} for what took its place."
            )
    return [target]
