"""The command line as a shell meets it: exit status, standard output and standard error."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys

import pytest

from core.cli import main


def in_a_shell(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "core.cli", *map(str, arguments)], capture_output=True, text=True, check=False
    )


def crossmatch(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The same by its entry point in this process, which has torch at hand already."""
    out, error = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setattr(sys, "argv", ["crossmatch", *map(str, arguments)])
        with contextlib.redirect_stderr(error), pytest.raises(SystemExit) as end:
            main()
    return subprocess.CompletedProcess(arguments, end.value.code, out.getvalue(), error.getvalue())
