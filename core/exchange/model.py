"""An adapted model to take along: as a folder or zip, or pushed to the hub where that is asked for."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from core.base.errors import InputError
from core.base.hub import hub_request
from core.exchange._packing import packed
from core.runs.models import adapted_model

if TYPE_CHECKING:
    from core.runs.store import RunStore


def export_model(store: RunStore, run_id: str, out: Path) -> Path:
    """Write a run's final model to `out`, a new folder, or a file where it ends in `.zip`; returns it.

    The folder is the model in its own format with card and manifest, and loads as a scorer (`load_scorer(out)`).
    Raises InputError for a run without a final model, and where something is at `out` already.
    """
    model = adapted_model(store, run_id)
    if out.is_dir() and not any(out.iterdir()):
        out.rmdir()
    with packed(out) as folder:
        shutil.copytree(model, folder, dirs_exist_ok=True)
    return out


def push_model(folder: Path, repository: str, token: str | None, private: bool = True) -> str:
    """Upload a model folder to a repository of the Hugging Face hub, made if need be; returns its address.

    Happens on explicit request alone, with the user's own token, which is stored nowhere. Raises InputError, in one
    sentence, without a token, offline, and for whatever the hub refuses.
    """
    if not token:
        raise InputError(
            "Pushing a model needs your token of the Hugging Face hub with the right to write; set HF_TOKEN."
        )
    from huggingface_hub import HfApi

    api = HfApi(token=token)
    with hub_request(repository, "export the model to a file"):
        address = api.create_repo(repository, private=private, exist_ok=True)
        api.upload_folder(
            folder_path=folder, repo_id=repository, commit_message="Model adapted with Crossmatch"
        )
    return str(address)
