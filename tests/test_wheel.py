"""The wheel: one package, `crossmatch`, that works beside somebody else's `core`."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from gates import until

from core.runs.store import RunStore

ROOT = Path(__file__).resolve().parent.parent
COMMAND = (
    "from importlib.metadata import distribution; "
    "distribution('crossmatch').entry_points['crossmatch'].load()()"
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the wheel installs, beside a foreign package named `core`."""
    out = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    folder = out / "installed"
    (wheel,) = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(folder)
    (folder / "core").mkdir()
    (folder / "core" / "__init__.py").write_text("OWNER = 'somebody else'\n")
    return folder


def python(site: Path, folder: Path, code: str, *arguments: str) -> str:
    """What a program prints that finds the installed wheel first, as a user's does."""
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_one_package(site):
    tops = {path.name for path in site.iterdir() if not path.name.endswith(".dist-info")}
    assert tops == {"crossmatch", "core"}  # the foreign one


def test_every_module_imports_from_inside(site, tmp_path):
    """Also those that nothing below imports: an import of `core` left over would meet the foreign one."""
    code = (
        "import importlib, pkgutil, core, crossmatch\n"
        "for found in pkgutil.walk_packages(crossmatch.__path__, 'crossmatch.'):\n"
        "    if not found.name.endswith('__main__'): importlib.import_module(found.name)\n"
        "import sys\n"
        "print(core.OWNER, [name for name in sys.modules if name.startswith('core.')])"
    )
    assert python(site, tmp_path, code).splitlines()[-1] == "somebody else []"


def test_scores_are_evaluated_beside_a_foreign_core(site, tmp_path):
    code = (
        "import core, crossmatch as cm, numpy as np\n"
        "found = cm.evaluate(np.array([[[2.0, 1.9], [1.5, 1.6]]]), np.array([[0, 1]]))\n"
        "print(core.OWNER, found.metrics['group_match'].value)"
    )
    assert python(site, tmp_path, code) == "somebody else 100.0\n"


def test_the_command_evaluates_from_the_wheel(site, tmp_path):
    words = ("evaluate", "--benchmark", "scenes/left-right", "--json")
    record = json.loads(python(site, tmp_path, COMMAND, *words))
    assert record["n_groups"] == 300
    assert record["metrics"]["group_match"]["value"] == pytest.approx(66.67, abs=0.01)


def test_a_background_run_ends_well_from_the_wheel(site, tmp_path):
    words = ("ttm", "--benchmark", "scenes/left-right", "--groups", "4", "--iterations", "1", "--epochs", "1")
    run = json.loads(python(site, tmp_path, COMMAND, *words, "--background", "--json"))["id"]
    until(lambda: not RunStore().get(run).live)
    shown = json.loads(python(site, tmp_path, COMMAND, "runs", "show", run, "--json"))
    assert shown["status"] == "finished", shown
    assert len(shown["steps"]) == 2


def test_processes_that_it_starts_meet_the_foreign_core_too(site, tmp_path):
    (tmp_path / "who.py").write_text("import core, crossmatch.core; print(core.OWNER)")
    code = (
        "import os, time\n"
        "from pathlib import Path\n"
        "from crossmatch.core.base.processes import start_module\n"
        "os.environ['PYTHONPATH'] += os.pathsep + os.getcwd()\n"
        "started = start_module('who', [], Path('log.txt'))\n"
        "while started.is_alive(): time.sleep(0.1)\n"
        "print(Path('log.txt').read_text())"
    )
    assert python(site, tmp_path, code).strip() == "somebody else"
