"""Tensors of a checkpoint that is a pickle: read in a process apart, with `weights_only`, and written as safetensors.

The process has no network (where the system can take it away), starts no other, and has a bounded memory. It is run as
`python -m core.scorers._checkpoint`, and nothing of it but a safetensors file and one sentence comes back.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from core.base.errors import InputError
from core.base.processes import module_command
from core.scorers._memory import is_out_of_memory

_SECONDS = 600
_REFUSED = 2  # the exit status with a sentence
_BYTES = 1 << 30  # memory beyond three times the file's own size
_DEPTH = 4  # of dictionaries in dictionaries
_LATER_PICKLE = r"Unsupported operand 1(4\d|5[0-2])\b"  # torch's words for what protocols 4 and 5 brought
_TOO_LARGE = "{} takes far more memory than its size says; do not trust it."
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_FORBIDDEN = ("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "ctypes.")


def unpickled(path: Path, out: Path) -> None:
    """Write every tensor of a checkpoint into the safetensors file `out`, by its name with dots between levels.

    Raises InputError, in one sentence, for a file that is no checkpoint, holds code or anything but tensors and plain
    values, or is larger than it says; then nothing is written.
    """
    command, environment = module_command("core.scorers._checkpoint", [json.dumps([str(path), str(out)])])
    try:
        done = subprocess.run(command, capture_output=True, env=environment, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise InputError(
            f"{path} took longer than {_SECONDS // 60} minutes to read; do not trust it."
        ) from None
    if done.returncode == _REFUSED:
        raise InputError(done.stderr.decode("utf-8", "replace"))
    if done.returncode:
        raise InputError(_TOO_LARGE.format(path))


def _isolate(path: Path) -> None:
    """Take from this process what reading tensors does not need: network, other programs, memory without bound."""
    with suppress(Exception):  # a system without user namespaces: then the hook below has to do
        import ctypes

        ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
    with suppress(ImportError, OSError, ValueError):
        import resource

        import psutil

        most = psutil.Process().memory_info().vms + 3 * path.stat().st_size + _BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        written = 2 * path.stat().st_size + _BYTES
        resource.setrlimit(resource.RLIMIT_FSIZE, (written, written))

    def refuse(event: str, _: Any) -> None:
        if event.startswith(_FORBIDDEN):
            raise PermissionError(event)

    sys.addaudithook(refuse)


def _tensors_of(path: Path) -> dict[str, torch.Tensor]:
    """Every tensor of the file; InputError, in one sentence, for what is none."""
    try:
        if _is_program(path):
            raise InputError(
                f"{path} is a TorchScript archive, which is code and no checkpoint; save the model's state_dict()."
            )
        return dict(_tensors(torch.load(path, map_location="cpu", weights_only=True), ""))
    except InputError:
        raise
    except Exception as error:  # a damaged file fails in torch's many ways
        # So torch names what a pickle asks for beside tensors.
        if named := re.search(r"GLOBAL ([\w.]+)", str(error)):
            raise InputError(
                f"{path} holds {named[1]}, which could run code, so nothing of it was loaded; save the model's "
                "state_dict() alone."
            ) from None
        if re.search(_LATER_PICKLE, str(error)):
            raise InputError(
                f"{path} is a pickle of protocol 4 or later, which cannot be read without running what it holds, so "
                "nothing of it was loaded; save the model's state_dict() with torch.save's own protocol, 2."
            ) from None
        if is_out_of_memory(error):
            raise InputError(_TOO_LARGE.format(path)) from None
        reason = str(error).strip().partition("\n")[0].partition(". ")[0].rstrip(".")
        why = f" ({reason[:200]})" if " " in reason and not re.search("weights.only", reason, re.I) else ""
        raise InputError(f"{path} is no complete checkpoint{why}; save or fetch it again.") from None


def _is_program(path: Path) -> bool:
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as file:
        return any(name.endswith("/constants.pkl") for name in file.namelist())


def _tensors(found: Any, name: str, depth: int = 0) -> Iterator[tuple[str, torch.Tensor]]:
    """Tensors in dictionaries, by their names with dots between."""
    if isinstance(found, torch.Tensor):
        yield name, found
    elif isinstance(found, dict) and depth < _DEPTH:
        for key, value in found.items():
            if isinstance(key, str):
                yield from _tensors(value, f"{name}.{key}" if name else key, depth + 1)


def _main() -> None:
    from safetensors.torch import save_file

    warnings.simplefilter("ignore")  # what comes back is one sentence
    path, out = map(Path, json.loads(sys.argv[1]))
    _isolate(path)
    try:
        tensors = _tensors_of(path)
        save_file({name: t.detach().contiguous().clone() for name, t in tensors.items()}, out)
    except InputError as error:
        told = str(error)
    except (MemoryError, RuntimeError):  # an address space that is used up, by whatever name
        told = _TOO_LARGE.format(path)
    else:
        return
    sys.stderr.write(told)
    sys.exit(_REFUSED)


if __name__ == "__main__":
    _main()
