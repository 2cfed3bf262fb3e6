"""The adapted model to take away: folder, zip, card, and a hub that is only asked on request."""

import json
import zipfile

import numpy as np
import pytest
from adapted import finish
from commands import crossmatch

from core import datasets
from core.base import files
from core.base.errors import InputError
from core.exchange import model as model_files
from core.runs import models
from core.runs.store import RunStore
from core.scoring.load import load_scorer
from core.scoring.scores import score_groups
from core.ttm import _model_card
from core.ttm.run import TTMRun
from core.ttm.seeds import seeded


@pytest.fixture
def finished(tmp_path):
    """A store with one finished run on an embeddings file."""
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(24, 8))
    np.savez(tmp_path / "small.npz", img=shared + 0.9 * rng.normal(size=(24, 8)), cap=shared)
    job = TTMRun.of_file(tmp_path / "small.npz", options={"iterations": 2, "epochs": 1}, adapt_on=0.5)
    store = RunStore(tmp_path / "runs")
    return store, finish(store, "small", job), job


def test_a_folder_loads_as_the_adapted_model(finished, tmp_path):
    store, run, job = finished
    out = model_files.export_model(store, run, tmp_path / "taken" / "model")
    found = score_groups(load_scorer(str(out)), job.load_groups().blind())
    np.testing.assert_array_equal(found, store.scores(run, 2))
    assert files.verify_manifest(out)["benchmark"] == "small.npz"


def test_a_zip_holds_the_same_files_and_the_same_bytes_each_time(finished, tmp_path):
    store, run, _ = finished
    one, two = (model_files.export_model(store, run, tmp_path / f"{name}" / "m.zip") for name in "ab")
    assert one.read_bytes() == two.read_bytes()
    with zipfile.ZipFile(one) as archive:
        archive.extractall(tmp_path / "out")
    assert {p.name for p in (tmp_path / "out" / "m").iterdir()} == {
        "README.md", "config.json", "manifest.json", "model.safetensors",
    }  # fmt: skip
    files.verify_manifest(tmp_path / "out" / "m")
    assert list(tmp_path.glob("*/.*")) == []


def test_nothing_is_overwritten(finished, tmp_path):
    store, run, _ = finished
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        model_files.export_model(store, run, tmp_path / "there")
    assert (tmp_path / "there" / "file").read_text() == "mine"


def test_a_run_without_a_final_model_says_what_to_do(finished, tmp_path):
    store, run, job = finished
    other = store.create("ttm", "not started", job.written())
    with pytest.raises(InputError, match="has no final model yet; wait until it finishes"):
        model_files.export_model(store, other.id, tmp_path / "x")
    weights = store.folder(run) / "model" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(InputError, match="damaged"):
        model_files.export_model(store, run, tmp_path / "y")
    assert not (tmp_path / "y").exists()


def test_the_card_tells_both_parts_of_a_transfer_check_and_no_path_of_this_machine(finished, tmp_path):
    store, run, _ = finished
    folder = store.folder(run) / "model"
    text = (folder / "README.md").read_text() + (folder / "manifest.json").read_text()
    assert "On the 6 groups it was adapted to" in text
    assert "On the 6 groups it never trained on" in text
    assert str(tmp_path) not in text
    assert text.startswith("---\nlibrary_name: crossmatch\n")


def record(**more):
    estimate = {"value": 50.0, "low": 40.0, "high": 60.0, "chance": 50.0, "ties": 0}
    metrics = {"metrics": {"group_match": estimate}}
    return {"iteration": 3, "n_groups": 10, "shape": "2x2", **metrics, **more}


@pytest.mark.parametrize(
    ("model", "line"),
    [
        ("openai/clip-vit-base-patch32", "base_model: openai/clip-vit-base-patch32"),
        ("builtin/clip", None),
        ("/home/ada/model", None),
        ("open_clip:ViT-B-32/laion2b", None),
    ],
)
def test_the_front_matter_names_a_base_only_where_the_hub_has_it(model, line):
    text = _model_card.card(
        {"model": model, "benchmark": "b", "ttm": {}}, [record(), record()], "transformers"
    )
    head = text.split("---")[1]
    assert (line in head) if line else ("base_model" not in head)
    assert "library_name: transformers" in head


def test_the_card_of_an_oracle_says_so_and_that_of_others_says_no_label_was_used():
    made = {"model": "m", "benchmark": "b", "simplematch": {}}
    plain, oracle = (_model_card.card({**made, "oracle": o}, [record(), record()]) for o in (False, True))
    assert "no label was used\n" in plain and "by SimpleMatch" in plain and "rounds: 3" in plain
    assert "**Oracle run: it was trained with knowledge of the truth.**" in oracle


# The hub


class Hub:
    """What `push_model` asks of `HfApi`, written down; no network."""

    calls: list

    def __init__(self, token):
        self.calls.append(("token", token))

    def create_repo(self, name, private, exist_ok):
        self.calls.append(("create", name, private))
        return f"https://huggingface.co/{name}"

    def upload_folder(self, folder_path, repo_id, commit_message):
        self.calls.append(("upload", folder_path, repo_id))


def online(monkeypatch, hub):
    import huggingface_hub
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub, "HfApi", hub)


def test_a_push_makes_a_private_repository_and_uploads_the_folder(monkeypatch, tmp_path):
    Hub.calls = []
    online(monkeypatch, Hub)
    assert model_files.push_model(tmp_path, "ada/m", "secret") == "https://huggingface.co/ada/m"
    assert Hub.calls == [("token", "secret"), ("create", "ada/m", True), ("upload", tmp_path, "ada/m")]


def test_without_a_token_or_a_network_a_push_is_refused_politely(monkeypatch, tmp_path):
    for token in (None, ""):
        with pytest.raises(InputError, match="needs your token"):
            model_files.push_model(tmp_path, "ada/m", token)
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match="while HF_HUB_OFFLINE is set"):
        model_files.push_model(tmp_path, "ada/m", "secret")


def test_a_hub_that_cannot_be_reached_or_a_name_that_cannot_be_is_one_sentence(monkeypatch, tmp_path):
    class Away(Hub):
        def create_repo(self, *_, **__):
            raise ConnectionError("no route to host")

    Hub.calls = []
    online(monkeypatch, Away)
    with pytest.raises(InputError, match=r"cannot be reached for 'ada/m' \(ConnectionError\)") as caught:
        model_files.push_model(tmp_path, "ada/m", "secret")
    assert "secret" not in str(caught.value)
    import huggingface_hub

    class Picky(Hub):
        def create_repo(self, *_, **__):
            raise huggingface_hub.errors.HFValidationError("bad")

    online(monkeypatch, Picky)
    with pytest.raises(InputError, match="write USER/NAME"):
        model_files.push_model(tmp_path, "a/b/c", "secret")


def test_settings_in_the_card_are_the_run_s(finished):
    store, run, job = finished
    text = (store.folder(run) / "model" / "README.md").read_text()
    shown = json.loads(text.split("```json")[1].split("```")[0])
    assert shown["ttm"] == job.settings.to_dict()


def test_a_run_on_a_runs_model_starts_from_the_preset_that_suits_where_it_all_began(tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path))
    store = RunStore()
    first = store.create("adapt", "a strategy", {"model": "builtin/siglip"})
    second = store.create("ttm", "on top", {"model": f"run/{first.id}"})
    assert models.origin(f"itc:run/{second.id}") == "builtin/siglip"
    assert TTMRun.of("scenes/left-right", f"run/{second.id}").preset == "builtin"
    # A name of no run, and of a run that is gone, stays what it is.
    assert [models.origin(n) for n in ("openai/clip", "run/20200101-000000000-000000")] == [
        "openai/clip",
        "run/20200101-000000000-000000",
    ]


# --- a row of a table from a run


PART = TTMRun.of(
    "scenes/attribute-swap", "builtin/clip", groups=12, options={"iterations": 1, "epochs": 1, "lr": 1e-3}
)


@pytest.fixture(scope="module")
def seeds_of_a_part(tmp_path_factory):
    """A home with two seeds on the first 12 of 300 groups, as `ttm --groups 12 --seeds 2 --background` leaves it."""
    home = tmp_path_factory.mktemp("part")
    store = RunStore(home / "runs")
    return home, store, [finish(store, "part", job) for job in seeded(PART, 2, "g-part")]


def share(scores, truth):
    """GroupMatch of 2 x 2 groups in percent, by hand: the true pairs have the larger total."""
    right = [
        s[0, t[0]] + s[1, t[1]] > s[0, 1 - t[0]] + s[1, 1 - t[1]] for s, t in zip(scores, truth, strict=True)
    ]
    return 100 * sum(right) / len(right)


@pytest.mark.parametrize("named", [(), ("--model", "builtin/clip", "--benchmark", "scenes/attribute-swap")])
def test_a_row_of_a_run_has_both_ends_on_the_run_s_own_groups(seeds_of_a_part, named, monkeypatch):
    home, store, runs = seeds_of_a_part
    monkeypatch.setenv("CROSSMATCH_HOME", str(home))
    text = crossmatch("export", "row", "--run", "g-part", *named).stdout
    truth = datasets.load("scenes/attribute-swap").truth[:12]
    before = share(store.scores(runs[0], 0), truth)
    after = sum(share(store.scores(run, 1), truth) for run in runs) / 2
    row = next(line for line in text.splitlines() if line.startswith("| builtin/clip"))
    label, _, match, adapted, gain, reduced = [cell.strip() for cell in row.strip("| ").split("|")]
    assert label == "builtin/clip, first 12 of 300 groups"
    assert match.startswith(f"{before:.2f} [") and adapted.startswith(f"{after:.2f} ± ")
    assert gain.startswith(f"{after - before:+.1f}".replace("-", "−"))
    assert reduced == f"{100 * (after - before) / (100 - before):.1f} %".replace("-", "−")
    assert "on Attribute swap, 12 groups of 2×2 (first 12 of 300 groups)" in text
    assert "TTM over 2 seeds (T = 1, 1 epoch, learning rate 0.001," in text and "300 groups of" not in text


def test_a_run_is_not_put_beside_a_model_or_set_that_is_not_its_own(seeds_of_a_part, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_HOME", str(seeds_of_a_part[0]))
    named = {"--model": "builtin/siglip", "--benchmark": "scenes/left-right", "--split": "train"}
    for option, other in named.items():
        found = crossmatch("export", "row", "--run", "g-part", option, other)
        own = "g-part adapted builtin/clip on scenes/attribute-swap, split test, and"
        assert found.returncode == 2 and f"{own} {option} names {other}; leave {option} out" in found.stderr
