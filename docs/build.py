"""The documentation site: `python -m docs.build`, which `make docs` runs; it opens from build/site/index.html.

Pages are the Markdown files of this folder. Where one says `<!-- made: NAME -->`, the build puts what `docs.made` or
`docs.drawn` gives by that name; the files of `INCLUDED` become pages as they stand, with their links turned to the
site's. All of it is put together in build/docs, and MkDocs makes HTML of that; a broken link, a missing figure or a
page that nothing leads to ends the build. Nothing asks the network.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path

from docs import drawn, made

ROOT = Path(__file__).resolve().parent.parent
HERE, GATHERED, SITE = ROOT / "docs", ROOT / "build" / "docs", ROOT / "build" / "site"
# Files of the project that are pages of the site too.
INCLUDED = {
    "benchmarks/README.md": "measured/index.md",
    "benchmarks/RESULTS.md": "measured/results.md",
    "benchmarks/ABLATIONS.md": "measured/ablations.md",
    "benchmarks/SHIFTS.md": "measured/shifts.md",
    "benchmarks/GENERATIVE.md": "measured/generative.md",
    "benchmarks/LADDER.md": "measured/ladder.md",
    "benchmarks/COLA.md": "measured/cola.md",
    "benchmarks/BASELINES.md": "measured/baselines.md",
    "benchmarks/AUDITS.md": "measured/audits.md",
    "benchmarks/COVERAGE.md": "measured/coverage.md",
    "benchmarks/MODEL_CLASSES.md": "measured/model-classes.md",
    "benchmarks/SCALE.md": "measured/scale.md",
    "benchmarks/SPEED.md": "measured/speed.md",
    "benchmarks/LOG.md": "measured/log.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
}
_ELSEWHERE = {"README.md": "index.md"}  # what links to these means
_MADE = re.compile(r"^<!-- made: (.+?) -->$", re.M)
_LINK = re.compile(r"(!?)\[([^\]\n]*)\]\(([^)\s]+)\)")
_FENCE = re.compile(r"(^```.*?^```\s*?$)", re.M | re.S)


def gather(target: Path) -> None:
    """Put the pages and what they show together in a folder, which is emptied first."""
    shutil.rmtree(target, ignore_errors=True)
    for path in sorted(HERE.rglob("*")):
        copy = target / path.relative_to(HERE)
        if path.suffix in (".css", ".js"):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        elif path.suffix == ".md":
            _write(copy, filled(path.read_text()))
    for name, page in INCLUDED.items():
        _write(target / page, included(name))
    shutil.copytree(ROOT / "assets" / "figures", target / "assets", dirs_exist_ok=True)
    shutil.copy(ROOT / ".streamlit" / "icon.svg", target / "assets" / "logo.svg")
    shutil.copy(drawn.plotly_script(), target / "assets" / "plotly.min.js")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def filled(text: str) -> str:
    """A page with everything that it leaves to be made."""
    known = {**made.MADE, **drawn.DRAWN}
    return _MADE.sub(lambda found: known[found[1]](), text)


def included(name: str) -> str:
    """A file of the project as a page: its links lead to pages of the site, or name a file that has none."""
    parts = _FENCE.split((ROOT / name).read_text())
    return "".join(part if part.startswith("```") else _for_mkdocs(_linked(part, name)) for part in parts)


def _linked(text: str, name: str) -> str:
    page = INCLUDED[name]

    def link(found: re.Match[str]) -> str:
        mark, label, where = found.groups()
        if where.startswith(("http", "#", "mailto:")):
            return found[0]
        path, _, anchor = where.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        to = {**INCLUDED, **_ELSEWHERE}.get(path)
        if to is None:
            return label if path in label or label == f"`{path}`" else f"{label} (`{path}`)"
        relative = posixpath.relpath(to, posixpath.dirname(page))
        return f"{mark}[{label}]({relative}{'#' * bool(anchor)}{anchor})"

    return _LINK.sub(link, text)


def _for_mkdocs(text: str) -> str:
    """Lists as Python-Markdown wants them: an empty line before them, four spaces for each level."""
    lines: list[str] = []
    for line in text.split("\n"):
        item = re.match(r"( *)([-*]|\d+\.) ", line)
        if item and lines and lines[-1].strip() and not re.match(r" *([-*]|\d+\.) |  ", lines[-1]):
            lines.append("")
        lines.append(re.sub(r"^( +)(?=[-*] )", lambda found: 2 * found[1], line) if item else line)
    return "\n".join(lines)


def loads_from_elsewhere(page: str) -> list[str]:
    """What a browser that opens this HTML would fetch from another host; links to follow are none of it."""
    return re.findall(r"""<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)="((?:https?:)?//[^"]+)\"""", page)


def main() -> None:
    """Gather, then build; ends with MkDocs' own status, or with what pages would load from elsewhere."""
    gather(GATHERED)
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--clean"]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    for page in sorted(SITE.rglob("*.html")):
        if found := loads_from_elsewhere(page.read_text()):
            sys.exit(f"{page} loads {found[0]}; everything must be local.")


if __name__ == "__main__":
    main()
