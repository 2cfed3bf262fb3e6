"""Checkpoints of papers as model folders: what is read, what is refused, which activation function goes with them."""

from __future__ import annotations

import json
import os
import pickle
import socket
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from checkpoints import TINY, add_architecture
from safetensors.torch import load_file, save_file
from test_scorer_contract import ALL, CAPTIONS, IMAGES
from typer.testing import CliRunner

from core.base.errors import InputError
from core.base.processes import module_command
from core.cli import app
from core.metrics.evaluation import Evaluation
from core.scorers import _checkpoint
from core.scorers.conversion import Checkpoint
from core.scoring.load import load_scorer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trained(make, tmp_path_factory) -> Path:
    """The folder whose weights every checkpoint here has; its architecture is known to open_clip."""
    add_architecture(make("open_clip"), tmp_path_factory.mktemp("architectures"))
    return make("open_clip")


@pytest.fixture
def weights(trained) -> dict[str, torch.Tensor]:
    return load_file(trained / "open_clip_model.safetensors")


def scored(model) -> np.ndarray:
    return model.score(IMAGES, CAPTIONS, ALL)


def converted(path: Path, out: Path, *more: str):
    command = ["convert", str(path), "--arch", TINY, "--out", str(out), *more]
    return CliRunner().invoke(app, [*command, "--benchmark", "scenes/attribute-swap"])


def test_a_training_checkpoint_becomes_a_folder_with_the_same_scores(weights, trained, tmp_path, monkeypatch):
    wrapped = {f"module.{name}": tensor for name, tensor in weights.items()}
    optimizer = {
        "state": {0: {"exp_avg": torch.zeros(3)}},
        "param_groups": [{"lr": 0.1, "betas": (0.9, 0.98)}],
    }
    checkpoint = {"epoch": 3, "name": "run", "state_dict": wrapped, "optimizer": optimizer, "ema": weights}
    torch.save(checkpoint, tmp_path / "epoch_3.pt")
    few(monkeypatch)
    done = converted(tmp_path / "epoch_3.pt", tmp_path / "out", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["prefix"], told["left_out"]) in {
        ("state_dict.module.", len(weights)),
        ("ema.", len(weights)),
    }
    assert told["tensors"] == len(weights) and told["activation"] == told["named"] == "GELU"
    assert not told["doubtful"] and set(told["metrics"]) == {"GELU", "QuickGELU"}
    expected = scored(load_scorer(str(trained), "cpu"))
    for name in (str(tmp_path / "out"), f"open_clip:{tmp_path / 'out'}"):
        np.testing.assert_allclose(scored(load_scorer(name, "cpu")), expected, rtol=1e-5)


@pytest.mark.parametrize("prefix", ["", "module.", "model.clip_model.", "_orig_mod.module."])
def test_whatever_a_training_put_before_the_names_is_taken_away(weights, tmp_path, prefix):
    path = tmp_path / "weights.safetensors"
    save_file({f"{prefix}{name}": t for name, t in weights.items()} | {"head.weight": torch.zeros(2)}, path)
    found = Checkpoint.read(path, TINY)
    assert found.prefix == prefix and found.left_out == 1
    assert all(torch.equal(found.weights[name], tensor) for name, tensor in weights.items())


def test_the_activation_function_is_the_names_unless_one_is_given_and_a_folder_keeps_it(weights, tmp_path):
    save_file(weights, tmp_path / "weights.safetensors")
    for architecture, quick in ((TINY, False), (f"{TINY}-quickgelu", True)):
        found = Checkpoint.read(tmp_path / "weights.safetensors", architecture)
        assert found.named_quick == quick
        for chosen in (False, True):
            model = found.model("folder", chosen, "cpu")
            assert {type(b.mlp.gelu).__name__ for b in model.module.transformer.resblocks} == {
                "QuickGELU" if chosen else "GELU"
            }
            model.save(tmp_path / "out")
            np.testing.assert_allclose(
                scored(load_scorer(str(tmp_path / "out"), "cpu")), scored(model), rtol=1e-6
            )
    # QuickGELU as OpenAI wrote it
    x = torch.linspace(-3, 3, 7)
    torch.testing.assert_close(
        model.module.transformer.resblocks[0].mlp.gelu(x), x * torch.sigmoid(1.702 * x)
    )


def few(monkeypatch, groups: int = 20) -> None:
    """Few groups of the built-in set, for speed."""
    from core import datasets

    whole = datasets.load
    monkeypatch.setattr("core.datasets.load", lambda *of, **more: whole(*of, **more).select(range(groups)))


def test_weights_that_score_better_with_the_other_function_are_warned_of(weights, tmp_path, monkeypatch):
    """Scores stand in for a model of twelve layers, where the wrong function costs points; in two it costs none."""
    save_file(weights, tmp_path / "weights.safetensors")
    truth = np.tile([0, 1], (20, 1))

    def answers(_embeddings, _scores, _benchmark, model, *_):
        quick = load_scorer(model, "cpu").config["quick_gelu"]
        return Evaluation.of(np.tile(np.eye(2)[:: 1 if quick else -1], (20, 1, 1)), truth)

    monkeypatch.setattr("core.cli._convert.load_evaluation", answers)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = converted(tmp_path / "weights.safetensors", tmp_path / "a")
        fine = converted(tmp_path / "weights.safetensors", tmp_path / "b", "--quick-gelu")
    assert "has GELU, and scores better with QuickGELU" in done.stderr and "--quick-gelu" in done.stderr
    assert "scores better" not in fine.stderr and fine.exit_code == done.exit_code == 0
    for metric in ("group_score", "group_match", "individual_match"):
        assert metric in done.stdout
    settings = json.loads((tmp_path / "b/open_clip_config.json").read_text())
    assert settings["model_cfg"]["quick_gelu"] is True


class Code:
    """What runs a program as soon as it is unpickled."""

    def __reduce__(self):
        return os.system, (f"touch {self.mark}",)


def test_a_pickle_with_code_in_it_is_one_sentence_and_nothing_is_loaded_or_written(trained, tmp_path):
    evil = Code()
    evil.mark = tmp_path / "ran"
    torch.save({"state_dict": evil}, tmp_path / "evil.pt")
    done = converted(tmp_path / "evil.pt", tmp_path / "out")
    said = str(done.exception)
    assert (
        isinstance(done.exception, InputError) and "which could run code, so nothing of it was loaded" in said
    )
    assert "\n" not in said and "system" in said
    assert not (tmp_path / "ran").exists() and not (tmp_path / "out").exists()


def read_here(path, _out):
    """As the process that reads does it, without a process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _checkpoint._tensors_of(path)


# Protocol 4 in the process itself, too: there torch's warning came out.
@pytest.mark.parametrize(
    ("plain", "protocol", "read"),
    [
        *((plain, protocol, read_here) for plain in (True, False) for protocol in (3, 4, 5)),
        (False, 4, _checkpoint.unpickled),
    ],
)
def test_a_pickle_with_code_of_any_protocol_is_one_sentence_of_ours(tmp_path, plain, protocol, read):
    """Protocol 4 gave a warning of torch's, with the path of a file of this machine."""
    evil, path = Code(), tmp_path / "evil.pt"
    evil.mark = tmp_path / "ran"
    if plain:
        path.write_bytes(pickle.dumps(evil, protocol))
    else:
        torch.save({"state_dict": evil}, path, pickle_protocol=protocol)
    with pytest.raises(InputError) as caught:
        read(path, tmp_path / "out.safetensors")
    said = str(caught.value)
    assert said.startswith(f"{path} ") and said.count(str(path)) == 1 and "\n" not in said
    assert ("protocol 4" if protocol > 3 else "system, which could run code") in said
    assert "nothing of it was loaded" in said and "Warning" not in said and ".py" not in said
    assert not (tmp_path / "ran").exists() and not (tmp_path / "out.safetensors").exists()


def test_a_checkpoint_far_larger_than_its_file_is_refused_before_it_fills_the_memory(tmp_path):
    torch.save({"visual.proj": torch.zeros(1).expand(10**6, 10**6)}, tmp_path / "bomb.pt")  # 4 TB in 1.5 kB
    with pytest.raises(InputError, match="far more memory than its size says"):
        _checkpoint.unpickled(tmp_path / "bomb.pt", tmp_path / "out.safetensors")
    assert not (tmp_path / "out.safetensors").exists()


ISOLATED = """
import socket, subprocess, sys
from pathlib import Path
from core.scorers._checkpoint import _isolate
_isolate(Path(sys.argv[1]))
for act in (
    lambda: socket.create_connection(("127.0.0.1", int(sys.argv[2])), 2),
    lambda: subprocess.run(["true"]),
    lambda: bytearray(8 << 30),
):
    try:
        act()
    except (OSError, MemoryError) as error:
        print(type(error).__name__)
    else:
        print("done")
"""


def test_the_process_that_reads_has_no_network_no_programs_and_a_bounded_memory(tmp_path):
    _, environment = module_command("core", [])
    (tmp_path / "small").write_bytes(b"1")
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = [sys.executable, "-c", ISOLATED, str(tmp_path / "small"), str(server.getsockname()[1])]
        told = (
            subprocess.run(command, capture_output=True, env=environment, check=True).stdout.decode().split()
        )
    assert told == ["PermissionError", "PermissionError", "MemoryError"]


def write_half(path: Path) -> None:
    torch.save({"a": torch.zeros(1000)}, path)
    path.write_bytes(path.read_bytes()[:2000])


def write_program(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.trace(torch.nn.Linear(2, 2), torch.zeros(1, 2)).save(str(path))


@pytest.mark.parametrize(
    ("write", "says"),
    [
        (write_half, "no complete checkpoint"),
        (write_program, "TorchScript archive, which is code"),
        (lambda path: path.write_text("weights"), "no complete checkpoint"),
        (lambda path: path.write_bytes(b""), "no complete checkpoint"),
        (lambda path: torch.save([1, 2], path), None),
    ],
)
def test_what_is_no_checkpoint_is_one_sentence(tmp_path, write, says):
    write(tmp_path / "file.pt")
    try:
        found = _checkpoint._tensors_of(tmp_path / "file.pt")
    except InputError as error:
        assert says in str(error) and "\n" not in str(error)
    else:
        assert says is None and found == {}


def test_weights_of_another_architecture_and_names_of_none_are_one_sentence(weights, trained, tmp_path):
    path = tmp_path / "weights.safetensors"
    for change, says in (
        (
            {"ln_final.weight": torch.zeros(3)},
            r"ln_final.weight is of shape \(3,\), where tiny-clip has \(32,\)",
        ),
        ({"ln_final.weight": None}, "lacks 1 of the .* tensors of tiny-clip, such as ln_final.weight"),
        (dict.fromkeys(weights), "lacks .* tensors of tiny-clip"),
    ):
        save_file(
            {n: t for n, t in (weights | change).items() if t is not None} | {"x": torch.zeros(1)}, path
        )
        with pytest.raises(InputError, match=says):
            Checkpoint.read(path, TINY)
    with pytest.raises(InputError, match=r"open_clip architecture 'ViT-B-33'.*ViT-B-32"):
        Checkpoint.read(path, "ViT-B-33")
    with pytest.raises(InputError, match="There is no file"):
        Checkpoint.read(tmp_path / "none.pt", TINY)
    path.write_bytes(b"no weights")
    with pytest.raises(InputError, match="no complete checkpoint"):
        Checkpoint.read(path, TINY)
