"""Writes a folder that can be pushed to Hugging Face as a Space.

    python -m benchmarks.release.space streamlit|gradio OUT

Tracked files only, the Space's front matter on top of the README, and for Gradio the requirements that its builder
reads (the base and the `gradio` extra of pyproject.toml, pinned as in requirements.lock).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tarfile
import tomllib
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def requirements(extra: str) -> list[str]:
    """The direct requirements of the base and one extra, each pinned as the lock has it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lock = dict(re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", (ROOT / "requirements.lock").read_text(), re.M))
    pins = {name.lower().replace("_", "-"): version for name, version in lock.items()}
    found = []
    for line in [*project["dependencies"], *project["optional-dependencies"][extra]]:
        name, extras = re.match(r"([A-Za-z0-9._-]+)(\[[^]]*\])?", line).groups()  # type: ignore[union-attr]
        if name.lower() != "gradio":  # the Space's own setting installs it; its extra still has to be named
            found.append(f"{name}{extras or ''}=={pins[name.lower().replace('_', '-')]}")
        elif extras:
            found.append(f"{name}{extras}")
    return found


def export(kind: str, out: Path) -> None:
    """Refuses a folder that holds anything but an earlier export's `.git`."""
    out.mkdir(parents=True, exist_ok=True)
    if [path for path in out.iterdir() if path.name != ".git"]:
        raise SystemExit(f"{out} is not empty; give a new folder, or empty it but for .git.")
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        tar.extractall(out, filter="data")
    front = (ROOT / "hf_spaces" / kind / "README.md").read_text()
    (out / "README.md").write_text(front + "\n" + (ROOT / "README.md").read_text())
    if kind == "gradio":
        (out / "requirements.txt").write_text("\n".join(requirements("gradio")) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=("streamlit", "gradio"))
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    export(options.kind, options.out)
    print(f"{options.out} is ready: create the Space, then push this folder to its repository.")


if __name__ == "__main__":
    main()
