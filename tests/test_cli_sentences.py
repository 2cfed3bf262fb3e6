"""What the commands say on the way: progress in ten lines, refusals before the work and with the way out."""

import pytest
from typer.testing import CliRunner

from core.base.errors import InputError
from core.base.files import storage_errors
from core.cli import app
from core.cli._output import ProgressPrinter
from core.cola.forgetting import cost_table
from core.scorers import devices


def test_progress_takes_ten_lines_not_a_hundred(capsys):
    progress = ProgressPrinter()
    for done in range(1, 301):
        progress("300 groups", done / 300)
    progress("another piece", 0.0)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "  0%  300 groups" and lines[-2:] == ["100%  300 groups", "  0%  another piece"]
    assert len(lines) == 12


def test_a_path_of_the_users_own_is_not_answered_with_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path / "home"))
    out = tmp_path / "none" / "row.md"
    with (
        pytest.raises(InputError, match=r"make the folder first, or choose another path\.$"),
        storage_errors(out),
    ):
        out.write_text("x")
    kept = tmp_path / "home" / "none" / "runs.json"
    with pytest.raises(InputError, match="or set CROSSMATCH_HOME to another folder"), storage_errors(kept):
        kept.write_text("x")


def test_the_cost_of_a_model_without_a_base_says_how_to_name_one():
    with pytest.raises(InputError, match=r"name its base with `--base NAME`"):
        cost_table("builtin/clip")


@pytest.mark.parametrize("command", ["ttm", "simplematch"])
def test_parts_of_a_batch_are_refused_for_a_matching_head_before_anything_loads(command, monkeypatch):
    def work(*_, **__):
        pytest.fail("the work began")

    monkeypatch.setattr("core.ttm.run.AdaptationRun.execute", work)
    words = [command, "--benchmark", "scenes/swap", "--model", "builtin/blip-itm", "--micro-batch", "4"]
    with pytest.raises(
        InputError, match="matching head, depends on all pairs of a batch; leave out --micro-batch"
    ):
        CliRunner().invoke(app, words, catch_exceptions=False)


def test_a_download_is_refused_only_where_no_device_has_room(monkeypatch):
    """16 GB in float32: too much for the GPU of 8 GB, not for the machine's 64; `--device cpu` may ask for it."""
    free = {"auto": 8e9, "cpu": 64e9}
    whole = devices._free_bytes
    monkeypatch.setattr(devices, "_free_bytes", lambda device: free.get(device) or whole(device))
    counts = {"F32": 4_000_000_000}
    assert devices.check_memory("m", counts, "any")
    with pytest.raises(InputError, match=r"8\.0 GB are free"):
        devices.check_memory("m", counts, "auto")


@pytest.mark.parametrize("command", [[], ["evaluate"], ["export", "figure"], ["runs"]])
def test_the_help_of_a_flag_names_no_value(command):
    text = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200"}).stdout
    assert "--help" in text and "<bool>" not in text


def test_ttm_ends_with_what_changed_paired_over_the_groups():
    command = ["ttm", "scenes/left-right", "--groups", "24", "--iterations", "1", "--epochs", "1"]
    text = CliRunner().invoke(app, command).stdout
    heading, columns, *rows = text.split("\n\n")[1].splitlines()
    assert heading == "iteration 1, which is the result, minus iteration 0, on the same 24 groups"
    assert columns.split() == [
        "after",
        "minus",
        "before",
        "points",
        "95",
        "%",
        "interval",
        "broken",
        "fixed",
        "exact",
        "p",
        "Holm",
        "detectable",
    ]
    for row, label in zip(rows, ("GroupScore", "GroupMatch"), strict=False):
        name, points, _low, _high, broken, fixed = row.split()[:6]
        assert name == label and float(points) == pytest.approx(
            100 * (int(fixed) - int(broken)) / 24, abs=0.005
        )
