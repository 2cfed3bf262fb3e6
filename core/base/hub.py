"""What the Hugging Face hub and the network refuse, in one sentence each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from core.base.errors import InputError


@contextmanager
def hub_request(name: str, otherwise: str, kind: str = "model") -> Iterator[None]:
    """Turn what goes wrong in a request for a repository into one sentence.

    kind : "model" or "data set". otherwise : what else to do, after "or". Raises InputError without asking anything
    where HF_HUB_OFFLINE is set.
    """
    from huggingface_hub import constants, errors

    if constants.HF_HUB_OFFLINE:
        raise InputError(
            f"The Hugging Face hub cannot be asked for {name!r} while HF_HUB_OFFLINE is set; unset it, or {otherwise}."
        )
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if isinstance(error, errors.GatedRepoError):  # a RepositoryNotFoundError too
            page = f"https://huggingface.co/{'datasets/' if kind == 'data set' else ''}{name}"
            sentence = f"{name!r} is gated: accept its conditions at {page} and run `hf auth login`"
        elif isinstance(error, errors.RepositoryNotFoundError):
            sentence = (
                f"The hub has no {kind} {name!r}, or it is private; check its spelling, run `hf auth login`"
            )
        elif isinstance(error, errors.HFValidationError):
            sentence = f"{name!r} is not the name of a {kind} of the hub; write USER/NAME"
        elif isinstance(error, errors.HfHubHTTPError):
            status = getattr(error.response, "status_code", "no answer")
            sentence = (
                f"The hub refused {name!r} ({status}); check the name and what your token may do, try later"
            )
        else:  # every HTTP library has its own family of network errors
            sentence = f"The hub cannot be reached for {name!r} ({type(error).__name__}); check the network"
        raise InputError(f"{sentence}, or {otherwise}.") from None
