"""An adapted model to take along: as a folder or zip, or pushed to the hub where that is asked for."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from core.base.errors import InputError
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
    from huggingface_hub import HfApi, constants, errors

    if constants.HF_HUB_OFFLINE:
        raise InputError("Nothing can be pushed while HF_HUB_OFFLINE is set; unset it and try again.")
    api = HfApi(token=token)
    try:
        address = api.create_repo(repository, private=private, exist_ok=True)
        api.upload_folder(
            folder_path=folder, repo_id=repository, commit_message="Model adapted with Crossmatch"
        )
    except errors.HFValidationError:
        raise InputError(
            f"{repository!r} is not the name of a hub repository; write USER/NAME, such as ada/clip-adapted."
        ) from None
    except errors.HfHubHTTPError as error:
        status = getattr(error.response, "status_code", "no answer")
        raise InputError(
            f"The Hugging Face hub refused the upload to {repository!r} ({status}); check the name, and that the "
            "token may write there."
        ) from None
    except Exception as error:  # every HTTP library has its own family of network errors
        raise InputError(
            f"The Hugging Face hub cannot be reached ({type(error).__name__}); nothing was pushed, try again later."
        ) from None
    return str(address)
