"""The doctor and the cache: quick, offline, harmless, and right about what is missing."""

import json
import subprocess
import sys

import numpy as np
import psutil
import pytest
from gates import until
from typer.testing import CliRunner

from core import doctor
from core.base import paths
from core.cli import app
from core.doctor import NOTE, OK, PROBLEM, cache_size, diagnose, human_bytes
from core.scenes.pictures import draw_ahead
from core.scenes.training_data import training_scenes
from core.scoring.cache import ScoreCache
from core.scoring.pairs import Pairs


def found(**more) -> dict:
    return {finding.topic: finding for finding in diagnose(**more)}


def here(*arguments: object):
    return CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)


def test_the_doctor_explains_device_memory_cache_and_missing_data():
    have = found()
    assert {
        "versions",
        "device",
        "memory",
        "home",
        "score cache",
        "benchmarks",
        "missing data",
        "runs",
    } <= set(have)
    assert have["device"].state in (OK, NOTE)
    assert "winoground" in have["missing data"].text
    assert "crossmatch fetch" in have["missing data"].do
    assert str(paths.home()) in have["home"].text
    assert have["runs"].text == "none yet"
    assert all("\n" not in f.text + f.do for f in have.values())


def test_it_loads_no_heavy_library_and_asks_neither_the_network_nor_another_program():
    """What would make it slow or nosy, seen by the interpreter itself: no clock, which a busy machine upsets."""
    code = (
        "import sys\n"
        "asked = []\n"
        "refused = ('socket.', 'subprocess.', 'os.system', 'os.exec', 'os.fork', 'os.posix_spawn', 'urllib.')\n"
        "sys.addaudithook(lambda event, args: event.startswith(refused) and asked.append((event, args)))\n"
        "from core.cli import main\n"
        "sys.argv = ['crossmatch', 'doctor', '--json']\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "heavy = {'torch', 'transformers', 'pandas', 'scipy', 'sklearn', 'plotly', 'streamlit', 'pyarrow'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "assert not asked, asked"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {f["topic"] for f in json.loads(done.stdout)} >= {"device", "score cache"}


def test_it_changes_nothing():
    diagnose()
    assert not paths.home().exists()


def test_little_memory_a_full_disk_and_a_home_that_cannot_be_written_are_told(monkeypatch, tmp_path):
    class Little:
        total, available = 8 << 30, 1 << 30

    monkeypatch.setattr(doctor.psutil, "virtual_memory", lambda: Little)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda place: type("U", (), {"free": 10 << 20}))
    have = found()
    assert have["memory"].state == NOTE
    assert have["home"].state == PROBLEM and "free some space" in have["home"].do
    monkeypatch.setattr(doctor.os, "access", lambda place, mode: False)
    assert "not writable" in found()["home"].text
    assert here("doctor").exit_code == 1


def test_a_card_that_torch_was_not_built_for_is_told(monkeypatch, tmp_path):
    (tmp_path / "0000:01:00.0").mkdir()
    (tmp_path / "0000:01:00.0/information").write_text("Model: \t\t NVIDIA H200\nIRQ: 1\n")
    monkeypatch.setattr(doctor, "_DRIVER", tmp_path)
    monkeypatch.setattr(doctor, "_installed", lambda name: "2.7.0+cpu" if name == "torch" else "1")
    assert "NVIDIA H200, but torch 2.7.0+cpu is a build without CUDA" in found()["device"].text
    monkeypatch.setattr(doctor, "_installed", lambda name: "2.7.0")
    assert found()["device"].state == OK
    monkeypatch.setattr(doctor, "_installed", lambda name: None if name == "torch" else "1")
    assert found()["versions"].state == PROBLEM and "make install" in found()["versions"].do


def test_a_damaged_store_is_a_finding_and_not_an_error():
    path = paths.home() / "runs/runs.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database at all, but long enough to be read as one" * 40)
    assert "cannot be read" in found()["runs"].text
    assert found()["runs"].state == PROBLEM


def test_without_a_browser_figures_have_a_note(monkeypatch):
    monkeypatch.setattr("core.doctor.browser", lambda: None)
    assert found()["figures"].state == NOTE


def test_a_token_of_the_hub_counts_where_the_hub_looks_for_it(monkeypatch, tmp_path):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    assert found()["Hugging Face"].text.endswith("without a token")
    (tmp_path / "token").write_text("hf_x")
    assert found()["Hugging Face"].text.endswith("with a token")


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (12_000_000, "12 MB"), (3.2e12, "3.2 TB")],
)
def test_bytes_are_said_for_people(count, text):
    assert human_bytes(count) == text


def test_the_cache_is_shown_and_cleared_by_command():
    assert json.loads(here("cache", "show", "--json").stdout) == {
        "path": str(paths.home() / "cache/scores.sqlite"),
        "scores": 0,
        "bytes": 0,
        "feature_bytes": 0,
        "picture_bytes": 0,
    }
    keys = [("image", f"caption {i}") for i in range(500)]
    ScoreCache().put("model", Pairs.of(keys), np.arange(500, dtype=np.float32))
    shown = json.loads(here("cache", "show", "--json").stdout)
    assert shown["scores"] == 500
    assert (shown["scores"], shown["bytes"]) == tuple(ScoreCache().size()) == cache_size()[1:]
    assert here("cache", "clear").exit_code == 0
    assert json.loads(here("cache", "show", "--json").stdout)["scores"] == 0
    assert np.isnan(ScoreCache().get("model", Pairs.of(keys))).all()


DRAWING = """
import os, signal, sys
from core.scenes import pictures
from core.scenes.training_data import training_scenes
pictures._CHUNK = 4
def tell(what, share):
    if share > 0.5:
        os.kill(os.getpid(), signal.SIGKILL if sys.argv[1] == "killed" else signal.SIGSTOP)
pictures.draw_ahead(training_scenes(12, seed=int(sys.argv[2])), tell)
"""


def test_the_cache_commands_count_and_delete_drawn_pictures_and_what_a_killed_drawing_left():
    def shown():
        return json.loads(here("cache", "show", "--json").stdout)["picture_bytes"]

    folder, one = paths.home() / "cache" / "pictures", 12 * 64 * 64 * 3
    draw_ahead(training_scenes(12, seed=5))
    assert one < shown() < one + 500
    subprocess.run([sys.executable, "-c", DRAWING, "killed", "6"], check=False)
    assert len(list(folder.iterdir())) == 2 and shown() > one + one // 2
    assert "kB of pictures" in here("cache", "clear").stderr
    assert shown() == 0 and not list(folder.iterdir())


def test_the_next_drawing_deletes_what_a_killed_one_left_and_nothing_of_one_at_work():
    folder = paths.home() / "cache" / "pictures"
    subprocess.run([sys.executable, "-c", DRAWING, "killed", "6"], check=False)
    (left,) = folder.iterdir()
    with subprocess.Popen([sys.executable, "-c", DRAWING, "stopped", "7"]) as other:
        try:
            until(lambda: psutil.Process(other.pid).status() == psutil.STATUS_STOPPED)
            draw_ahead(training_scenes(12, seed=5))
            assert not left.exists() and len(list(folder.iterdir())) == 2
            here("cache", "clear")
            (working,) = folder.iterdir()
            assert str(other.pid) in working.name
        finally:
            other.kill()
    here("cache", "clear")
    assert not list(folder.iterdir())


def test_clearing_while_another_process_writes_harms_neither():
    """Twenty times this process clears while another stores three batches; afterwards the cache works."""
    code = (
        "import numpy as np, sys, warnings\n"
        "from core.scoring.pairs import Pairs\n"
        "from core.scoring.cache import ScoreCache\n"
        "warnings.simplefilter('error')\n"
        "for line in sys.stdin:\n"
        "    for i in range(3):\n"
        "        keys = [('i', f'{line} {i} {j}') for j in range(50)]\n"
        "        ScoreCache().put('m', Pairs.of(keys), np.ones(50, np.float32))\n"
        "    print('stored', flush=True)\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    writer = subprocess.Popen([sys.executable, "-c", code], **pipes, text=True, bufsize=1)
    for i in range(20):
        print(i, file=writer.stdin)
        ScoreCache().clear()
        assert writer.stdout.readline() == "stored\n", writer.stderr.read()
    _, trouble = writer.communicate()  # closes its standard input: that ends it
    assert writer.returncode == 0, trouble
    left = ScoreCache().size().scores
    assert 0 <= left <= 150 and left % 50 == 0  # whole batches alone
    ScoreCache().put("m", Pairs.of([("i", "last")]), np.array([7.0], np.float32))
    assert ScoreCache().get("m", Pairs.of([("i", "last")]))[0] == 7.0
