"""The documentation: every block of code runs, or its command is in `NOT_RUN` with the reason; every page, link and
figure is there. `make docs` builds the site itself, which asks for MkDocs."""

import re
import shlex
from pathlib import Path

import pytest
import typer
import yaml
from commands import crossmatch

import crossmatch as cm
from core.cli import app
from docs import build, drawn, made

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs").rglob("*.md"))
_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', re.M | re.S)
# What a command begins with, and why no test runs it. Those of `crossmatch` are parsed, so that their options are real.
NOT_RUN = {
    "crossmatch adapt --strategy linear --model builtin/clip --epochs": "trains for minutes",
    "crossmatch adapt --strategy linear --model builtin/clip --dry-run": "draws thousands of training pictures",
    "crossmatch audit scenes/word-order": "takes seconds; test_audit.py runs it",
    "crossmatch audit sugarcrepe": "needs a benchmark that is not here",
    "crossmatch convert": "needs a paper's checkpoint",
    "crossmatch cost run/ID": "ID stands for a run",
    "crossmatch evaluate scenes/left-right --model vgpt:api:MODEL": "needs an endpoint",
    "crossmatch evaluate scenes/word-order --model python:word-count": "needs a package; test_plugins.py has one",
    "crossmatch evaluate sugarcrepe-pp": "needs a benchmark and a model that are not here; test_text_only.py",
    "crossmatch evaluate winoground": "needs a benchmark and a model that are not here",
    "crossmatch export run RUN": "RUN stands for a run",
    "crossmatch fetch": "downloads",
    "crossmatch published winoground mine": "needs the file of the line before",
    "crossmatch reproduce": "takes seconds, and its runs need more; test_reproduce.py and test_reproduce_papers.py",
    "crossmatch runs import": "its file is a run of the reader's",
    "crossmatch sweep study.yaml --watch": "starts processes; test_sweep.py runs one",
    "crossmatch sweep ttm.yaml --on ray": "needs a cluster; test_sweep_ray.py starts one",
    "crossmatch ttm scenes/left-right --model builtin/clip --dry-run": "measures for seconds; test_forecast.py does",
    "crossmatch ttm scenes/left-right --model builtin/clip --seed": "starts processes; test_worker.py does",
    "crossmatch ttm winoground": "needs a benchmark and a model that are not here",
    "CROSSMATCH_PUBLIC=1 make app": "starts the app; test_public_server.py does",
    "make app": "starts the app; test_browser.py does",
    "pip install": "asks the registry",
    "python -m benchmarks.release.space": "exports the whole project, as git has it",
    "python gradio_app.py": "starts the demo; test_gradio_app.py does",
    "docker": "needs Docker",
}


def reason(line: str) -> str | None:
    return next((why for begins, why in NOT_RUN.items() if line.startswith(begins)), None)


def blocks(path: Path) -> list[tuple[str, str, str]]:
    """Language, title and content of each block of a page."""
    return _BLOCK.findall(path.read_text())


def lines_of(content: str) -> list[str]:
    return [line for line in content.splitlines() if line.strip() and not line.startswith("#")]


def is_understood(words: list[str]) -> bool:
    """Parse a command of `crossmatch`, with that of a group of commands."""
    name, *rest = words
    context = typer.main.get_command(app).get_command(None, name).make_context(name, rest)
    if hasattr(context.command, "list_commands"):
        context.command.get_command(context, rest[0]).make_context(rest[0], rest[1:])
    return True


def exists(words: list[str]) -> bool:
    """What a command of another program names is in the project."""
    match [word for word in words if "=" not in word]:
        case ["make", target]:
            return f"\n{target}:" in (ROOT / "Makefile").read_text()
        case ["python", "-m", module, *_]:
            return (ROOT / f"{module.replace('.', '/')}.py").is_file()
        case ["python", file]:
            return (ROOT / file).is_file()
        case ["pip", "install", package]:
            return f"\n{package.partition('[')[2].rstrip(']')} = [" in (ROOT / "pyproject.toml").read_text()
        case ["docker", *_]:
            return (ROOT / "Dockerfile").is_file()
    return False


def run_line(line: str) -> str:
    """What a line of a shell prints; parsed alone where it is not run."""
    words = shlex.split(line, comments=True)
    if words[0] != "crossmatch":
        assert reason(line) and exists(words), line
        return ""
    if reason(line):
        assert is_understood(words[1:])
        return ""
    done = crossmatch(*words[1:])
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    return done.stdout


def holds_in_order(text: str, lines: list[str]) -> bool:
    found = iter([" ".join(line.split()) for line in text.splitlines()])
    return all(any(" ".join(line.split()) == other for other in found) for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [p for p in PAGES if blocks(p)], ids=lambda p: str(p.relative_to(ROOT / "docs"))
)
def test_every_block_of_a_page_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch, capsys):
    """From top to bottom in one folder, as a reader types them. A titled block is a file; a block `text` behind
    commands is what they print, in part; a comment behind a `print` that begins with a number is what it prints."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    names: dict = {"__name__": "page"}
    printed = ""
    for language, title, content in blocks(page):
        if title:
            Path(title).write_text(content)
        if language == "python":
            capsys.readouterr()
            exec(compile(content, f"{page.name}", "exec"), names)
            out = capsys.readouterr().out
            said = re.findall(r"^print\(.*\)  # (\d.*)$", content, re.M)
            assert holds_in_order(out, said), out
        elif language == "bash":
            printed = "\n".join(map(run_line, lines_of(content)))
        elif language == "text" and printed:
            assert holds_in_order(printed, content.splitlines()), printed
        else:
            assert title or language in ("toml", "text"), f"{page}: nothing tests a block of {language}"


def test_every_reason_not_to_run_a_command_is_of_one_that_a_page_has():
    typed = [line for p in PAGES for kind, _, text in blocks(p) if kind == "bash" for line in lines_of(text)]
    assert not [begins for begins in NOT_RUN if not any(line.startswith(begins) for line in typed)]


# ---- the site


@pytest.fixture(scope="module")
def gathered(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    build.gather(folder)
    return folder


def without_code(text: str) -> str:
    return re.sub(r"^ *```.*?^ *```|`[^`\n]*`", "", text, flags=re.M | re.S)


def test_everything_that_pages_leave_to_be_made_is_made_and_shown_once_at_least(gathered):
    asked = [name for p in PAGES for name in re.findall(r"<!-- made: (.+?) -->", p.read_text())]
    assert set(asked) == {*made.MADE, *drawn.DRAWN}
    assert not [p for p in gathered.rglob("*.md") if build._MADE.search(p.read_text())]


def test_every_link_and_picture_leads_to_a_page_or_a_file(gathered):
    broken = []
    for page in gathered.rglob("*.md"):
        text = without_code(page.read_text())
        targets = re.findall(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"", text)
        for where in (a or b for a, b in targets):
            if where.startswith(("http", "data:", "#", "mailto:")):
                continue
            if not (page.parent / where.partition("#")[0]).exists():
                broken.append(f"{page.relative_to(gathered)}: {where}")
    assert not broken


def test_the_menu_holds_every_page(gathered):
    def leaves(entry):
        if isinstance(entry, str):
            return [entry]
        values = entry.values() if isinstance(entry, dict) else entry
        return [leaf for value in values for leaf in leaves(value)]

    menu = leaves(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    assert sorted(menu) == sorted(str(p.relative_to(gathered)) for p in gathered.rglob("*.md"))


def test_the_reference_has_every_name_of_the_package_and_every_command(gathered):
    python = (gathered / "reference" / "python.md").read_text()
    assert not [n for n in cm.__all__ if f"::: crossmatch.{n}\n" not in python and n != "InputError"]
    heads = re.findall(
        r"^## crossmatch (\S+)$", "".join(p.read_text() for p in gathered.glob("reference/*.md")), re.M
    )
    assert sorted(heads) == sorted(typer.main.get_command(app).list_commands(None))


def test_a_table_of_the_code_is_one_whatever_its_texts_hold():
    assert made._table(["a"], [["x | y\n z"]]).splitlines()[-1] == "| x \\| y z |"


def test_files_of_the_project_keep_their_links_and_lists_on_the_site():
    assert build._linked("[x](LOG.md#a) [y](../README.md) [z](../core/cli)", "benchmarks/RESULTS.md") == (
        "[x](log.md#a) [y](../index.md) z (`core/cli`)"
    )
    assert build._for_mkdocs("text:\n- a\n  b\n  - c") == "text:\n\n- a\n  b\n    - c"


def test_docstrings_become_lists_with_examples_as_code():
    pytest.importorskip("griffe", reason="the extra `docs`")
    from docs.docstrings import as_markdown

    text = (
        "One line.\n\nParameters\n----------\na : int, the\n    first.\n\nReturns\n-------\nA thing.\n"
        "    x : its x.\n\nExamples\n--------\n>>> 1\n1\n"
    )
    assert as_markdown(text) == (
        "One line.\n\n**Parameters**\n\n- `a`: int, the first.\n\n**Returns**\n\nA thing.\n\n- `x`: its x.\n\n"
        "**Examples**\n\n```pycon\n>>> 1\n1\n```"
    )


def test_the_site_asks_no_other_host():
    """The build refuses a page that loads something from elsewhere; links to papers are no loads."""
    assert build.loads_from_elsewhere(
        '<script src="https://x.org/a.js"></script><a href="https://arxiv.org">'
    )
    assert build.loads_from_elsewhere('<link rel="stylesheet" href="//fonts.example/css">')
    assert not build.loads_from_elsewhere('<script src="../a.js"></script><a href="https://arxiv.org">x</a>')
