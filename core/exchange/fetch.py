"""`crossmatch fetch`: from a benchmark's name to its files in the data folder. Readers never come here."""

from __future__ import annotations

from pathlib import Path

from core import datasets
from core.base.errors import InputError, unknown_name
from core.base.hub import hub_request
from core.base.paths import data_roots
from core.datasets.downloads import Hub, Progress, fetch, next_step, sources

_ABOUT = ("README.md", "LICENSE*", "license*")  # beside the data of a set of the hub: whose it is, its terms


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
    if name.partition("/")[0] in ("scenes", "mine"):
        raise InputError(f"{name} is already available; there is nothing to download.")
    raise unknown_name("benchmark", name, [*sources(), *datasets.names(None)])


def fetch_benchmark(name: str, folder: Path | None = None, progress: Progress | None = None) -> list[Path]:
    """Fetch what is public of a benchmark or family; returns what is there now.

    folder : the data set's folder; by default the family's in the first data folder. Raises InputError for what cannot
    be fetched, with the step that only a person can do; what was fetched before stays.
    """
    have: list[Path] = []
    left: list[str] = []
    for key in _download_keys(name):
        place = (folder or data_roots()[0] / key.partition("/")[0]).expanduser()
        source = sources()[key]
        if source.items:
            have += fetch(key, place, progress)
        if source.hub is not None:
            have.append(_from_hub(source.hub, place, progress, next_step(key, place)))
        elif source.step:
            left.append(f"{key}: {next_step(key, place)}")
    if left:
        raise InputError(
            f"{'The rest of ' if have else ''}{name} has to be downloaded manually: {'; '.join(left)}."
        )
    return have


def _from_hub(hub: Hub, folder: Path, progress: Progress | None, step: str) -> Path:
    """A data set of the hub with the user's own login; resumed and verified by huggingface_hub."""
    target = folder / hub.into
    if progress is not None:
        progress(hub.repo, 0.0)
    from huggingface_hub import snapshot_download

    wanted = [*hub.files, *_ABOUT] if hub.files else None
    with hub_request(hub.repo, f"download it manually: {step}", "data set"):
        snapshot_download(
            hub.repo, repo_type="dataset", revision=hub.revision, local_dir=target, allow_patterns=wanted
        )
    for pattern in hub.files:
        if not any(target.glob(pattern)):
            raise InputError(
                f"{hub.repo!r} on the hub has no {pattern} any more; look at "
                f"https://huggingface.co/datasets/{hub.repo} for what took its place."
            )
    return target
